"""When the observing host sent nothing for long: its daemon may not have run.

What comes to a daemon that is paused waits at its socket, which holds some of it; the rest is
dropped inside, and shown by NAKs once the daemon runs again. Of a source that has ended by then
nothing follows that could show it.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import Final

from seqaudit.replay.sequence.gaps import Mark

#: Longer silences in which data came and their source ended are in no recording; a daemon sends
#: SPMs 4 s behind its last data at the latest, and every 5 s (raims.md 2).
LAPSE_NS: Final = 3_000_000_000
#: The last ones are kept.
MAX_LAPSES: Final = 100_000


class Lapses:
    """Stretches between two packets of one host."""

    def __init__(self) -> None:
        self.last: Mark | None = None  # of its packets
        self._from: list[Mark] = []
        self._until: list[Mark] = []

    def speaks(self, first: Mark, last: Mark) -> None:
        """It sent some packets."""
        before = self.last
        if before is not None and first.at_ns - before.at_ns > LAPSE_NS:
            if len(self._from) == MAX_LAPSES:
                del self._from[: MAX_LAPSES // 2], self._until[: MAX_LAPSES // 2]
            self._from.append(before)
            self._until.append(first)
        if before is None or last.frame > before.frame:
            self.last = last

    def since(self, mark: Mark) -> int | None:
        """The last frame before one that lies in such a stretch; null: it lies in none."""
        place = bisect_left(self._from, mark.frame, key=attrgetter("frame")) - 1
        if place < 0 or self._until[place].frame <= mark.frame:
            return None
        return self._from[place].frame
