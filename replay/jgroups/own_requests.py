"""The latest requests of one window, to see what was asked for to the end, and how often.

Sixty-four are remembered, so that looking at them takes no longer the more there were. Where ticks
are so short that these span fewer than three of those that we were told, what is asked for to the
end counts as open then, not as lost.
"""

from collections import deque
from typing import Final

from seqaudit.replay.jgroups.evidence import two_ticks_ns
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

#: Requests that are remembered.
LAST_REQUESTS: Final = 64


class OwnRequests:
    """The latest requests of one window.

    Attributes:
        spacing_ns: the least time between two in a row that name the same message; 0: none did. A
            tick asks for all that is missing, so ticks are not closer, unless one in between is not
            in the capture.
    """

    __slots__ = ("_latest", "spacing_ns")

    def __init__(self) -> None:
        self._latest: deque[tuple[Mark, RangeSet]] = deque(maxlen=LAST_REQUESTS)
        self.spacing_ns = 0

    def asked(self, first: int, stop: int, mark: Mark) -> None:
        """A request named [first, stop), in order."""
        if not self._latest or self._latest[-1][0] != mark:
            if self._latest and first in self._latest[-1][1]:
                apart_ns = mark.at_ns - self._latest[-1][0].at_ns
                self.spacing_ns = min(self.spacing_ns or apart_ns, apart_ns)
            self._latest.append((mark, RangeSet()))
        self._latest[-1][1].add(first, stop)

    def first_named(self, seqno: int) -> int | None:
        """When a message was named first; null: it was not."""
        return min((mark.at_ns for mark, named in self._latest if seqno in named), default=None)

    def times_named(self, seqno: int) -> int:
        """How often a message was named."""
        return sum(seqno in named for _, named in self._latest)

    def until(self, until_ns: int) -> RangeSet:
        """What was named until then."""
        return RangeSet(p for mark, named in self._latest if mark.at_ns <= until_ns for p in named)

    def to_the_end(self, end_ns: int, tick_ns: int) -> RangeSet:
        """What the last tick named, if the one after it would have come later than then. If it
        seems to be later itself the clock was set back, and nothing tells how long ago it was."""
        latest_ns = self._latest[-1][0].at_ns if self._latest else 0
        if latest_ns > end_ns + tick_ns:
            return RangeSet()
        since_ns = max(latest_ns - tick_ns // 2, end_ns - two_ticks_ns(tick_ns))
        return RangeSet(p for mark, named in self._latest if mark.at_ns >= since_ns for p in named)
