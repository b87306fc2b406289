"""Samples that came behind a request of their subscriber for higher ones: they are in this capture.

A request shows that its subscriber had gone past them. So it had them by an earlier run of a source
that began again under its id, or the request is another subscriber's; or records are not in order.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome
from seqaudit.replay.sequence.ranges import Range, RangeSet, total
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.query import Had

MAX_KEPT: Final = 10_000
#: How a gap ended that a request passed over.
PASSED_OVER: Final = (Outcome.UNCAPTURED, Outcome.UNASKED, Outcome.STOPPED)


class CameLate:
    """Of one subscriber and source.

    Attributes:
        ahead: a request was that far ahead of one that records are not only out of order.
    """

    def __init__(self) -> None:
        self.ahead = False
        self._awaited = RangeSet()  # passed over, and not here yet
        self._asked: Mark | None = None  # the last request that passed over some
        self._came: list[tuple[Range, Mark]] = []

    def passed(self, first: int, stop: int, asked: Mark) -> None:
        """A request names a higher one than these, which are not here."""
        self._awaited.add(first, stop)
        self._asked = asked

    def again(self, first: int, stop: int, mark: Mark) -> list[Range]:
        """What of samples that its subscriber is past came before, too."""
        if not self._awaited:
            return [(first, stop)]
        late = self._awaited.remove(first, stop)
        if late and self._asked is not None:
            self.ahead |= mark.at_ns - self._asked.at_ns > LAG_NS
        self._came += [(part, mark) for part in late[: MAX_KEPT - len(self._came)]]
        return RangeSet(late).missing(first, stop)

    def settle(self, gaps: Iterable[Gap], counts: dict[Outcome, int]) -> None:
        """Gaps that seemed not to be here ended as these came."""
        self._came.sort()
        for gap in gaps if self._came else ():
            place = bisect_left(self._came, gap.first, key=lambda one: one[0][1] - 1)
            while place < len(self._came) and self._came[place][0][0] < gap.stop:
                span, mark = self._came[place]
                place += 1
                for outcome in PASSED_OVER:
                    before = gap.parts.get(Outcome.REORDERED)
                    if turned := gap.turn([span], outcome, Outcome.REORDERED):
                        counts[outcome] -= total(turned)
                        counts[Outcome.REORDERED] += total(turned)
                        part = gap.parts[Outcome.REORDERED]
                        part.first, part.last = part.first if before else mark, mark
                        part.delivered = part.delivered if before else None

    def left_of(self, holes: Iterable[Had]) -> list[Had]:
        """What of these never came."""
        came = RangeSet(span for span, _ in self._came)
        return [
            replace(hole, first=a, stop=b)
            for hole in holes
            for a, b in came.missing(hole.first, hole.stop)
        ]
