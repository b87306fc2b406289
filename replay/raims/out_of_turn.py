"""Where a daemon stands still at packets that it had given up out of turn (raims.md 2)."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.pgm.holes import LAST_FRAME
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: With so many packets of the sender what a hole stops goes on, each that was given up out of turn
#: (recorded: one hole with one packet, two with three).
PACKETS_A_HOLE: Final = 2


class OutOfTurnStop:
    """Of one link.

    OpenPGM takes a packet that was given up out of its window each time that it is called again,
    and hands on nothing behind it until then (recorded: 0.1 s, 0.4 s and 1.7 s later).

    Attributes:
        most: so many frames are remembered.
        began: frames at which what seems to go on stood still at others; whether it is known that
            it went on then.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.began: dict[int, bool] = {}
        self._over = RangeSet()  # frames up to which it stood still
        self._since = -1
        self._left = 0  # packets of the sender, until it does no more

    def __bool__(self) -> bool:
        """Does it last?"""
        return self._left > 0

    def packet(self, frame: int) -> None:
        """One of the sender's."""
        if self._left:
            self._left -= 1
            self._over.add(self._since, frame + 1)

    def begins(self, holes: int, frame: int, *, sure: bool) -> None:
        """What was missed has ended, and behind it were so many that had been given up before."""
        if holes <= 0:
            return
        self._since = self._since if self._left else frame
        self._left += PACKETS_A_HOLE * holes
        if len(self.began) < self.most:
            self.began[frame] = sure and self.began.get(frame, True)

    def frames(self) -> Iterator[Range]:
        """Those in which it may have stood still."""
        yield from self._over
        if self._left:
            yield self._since, LAST_FRAME
