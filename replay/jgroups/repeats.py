"""Requests that are repeated while no copy comes (V7; jgroups.md 6, "endless retransmission")."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: The same request this often in a row without a copy: a copy lost five times is not believable
#: (jgroups.md 6).
ENDLESS_REQUESTS: Final = 5
MAX_KEPT: Final = 100


@dataclass(slots=True)
class RepeatedRequest:
    """Seqnos that were asked for in every one of several requests in a row, with no copy since."""

    first: Mark
    last: Mark
    ranges: RangeSet = field(default_factory=RangeSet)
    requests: int = 1
    answered: bool = False  # a copy came in the end, or was had
    others: int = 0  # other messages of the sender that came meanwhile: it lives, the path works


class Repeats:
    """One requester of one stream: two requests in a row are worth keeping."""

    __slots__ = ("current", "kept")

    def __init__(self) -> None:
        self.current: RepeatedRequest | None = None
        self.kept: list[RepeatedRequest] = []

    def requested(self, ranges: Iterable[Range], mark: Mark) -> RepeatedRequest | None:
        """A request; returns what it repeats, null if nothing."""
        wanted = list(ranges)
        if not wanted:
            return None
        current = self.current
        if current is not None:
            again = [part for first, stop in wanted for part in current.ranges.within(first, stop)]
            if again:
                current.ranges = RangeSet(again)
                current.requests += 1
                current.last = mark
                return current
            # a request names all that is missing below its last: what it leaves out was had
            current.answered = wanted[-1][1] > current.ranges.stop()
            self.finish()
        self.current = RepeatedRequest(mark, mark, RangeSet(wanted))
        return None

    def came(self, first: int, stop: int, mark: Mark | None = None) -> None:
        """A copy of [first, stop) was seen. What stands behind a request, and came before it by the
        clock, did not come meanwhile: a file of what was sent is before one of what came.

        Args:
            mark: when it came; null: as it stands.
        """
        current = self.current
        if current is None:
            return
        if not current.ranges.within(first, stop):
            if mark is None or mark.at_ns >= current.first.at_ns:
                current.others += stop - first
        else:
            if current.requests > 1:
                left = RepeatedRequest(current.first, current.last, RangeSet(current.ranges))
                left.requests, left.others = current.requests, current.others
                left.answered = True
                self._keep(left)
            current.ranges.remove(first, stop)
            current.requests, current.others = 1, 0
            if not current.ranges:
                self.current = None

    def had(self, first: int, stop: int) -> None:
        """The requester shows that it has [first, stop), however that came."""
        if self.current is not None:
            for part in self.current.ranges.within(first, stop):
                self.came(*part)

    def finish(self) -> None:
        """Nothing more comes."""
        if self.current is not None and self.current.requests > 1:
            self._keep(self.current)
        self.current = None

    def _keep(self, repeat: RepeatedRequest) -> None:
        if len(self.kept) < MAX_KEPT:
            self.kept.append(repeat)
