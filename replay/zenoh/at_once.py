"""A subscriber without recovery: it goes on at once, and what comes late is dropped (zenoh.md 9.4).

Rows S8 and S9, and S4 while its history is open: what that keeps back behind a gap is too old when
the next sample comes. It runs beside the machine that waits for a query, because no capture says
which of the two a subscriber is before it has asked, or has let several gaps pass.
"""

from typing import Final

from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.zenoh.handed import Handed, Signs
from seqaudit.replay.zenoh.query import Miss

#: Gaps that a subscriber with recovery does not let pass without a query: it asks in the same
#: callback, a millisecond later at most as a rule.
MANY_GAPS: Final = 3
MAX_KEPT: Final = 10_000


class AtOnce:
    """What such a subscriber was handed, and which misses it was told of, when."""

    def __init__(self, signs: Signs) -> None:
        self.last: int | None = None
        self.delivery = Handed(signs)
        self.missed: list[tuple[Range, Mark]] = []
        self.count = 0  # of misses, kept or not
        self.handed_at: Mark | None = None  # when the last sample was handed on
        self.passed = 0  # of these, at which one with recovery would have asked
        self._kept = RangeSet()  # back, while its history is open

    def came(self, first: int, stop: int, mark: Mark, kept: int = 0, *, idle: bool) -> None:
        """Samples [first, stop) came.

        Args:
            kept: of the first ones that come so many wait for its history; 0: it waits for none.
            idle: no query was open.
        """
        if self.last is None and kept:
            room = min(stop - first, max(kept - self._kept.total(), 1))
            self._kept.add(first, first + room)
            if self._kept.total() < kept:
                return
            self._goes_on(*next(iter(self._kept)), mark, idle=False)
            first += room
        if first < stop:
            self._goes_on(first, stop, mark, idle=idle)

    def history_ended(self, mark: Mark) -> None:
        """What it kept back is handed on, but for what is old by now."""
        kept, self._kept = self._kept, RangeSet()
        for first, stop in kept:
            self._goes_on(first, stop, mark, idle=False)

    def _goes_on(self, first: int, stop: int, mark: Mark, *, idle: bool) -> None:
        if self.last is not None and first > self.last + 1:  # S8
            self.count += 1
            self.passed += idle
            if len(self.missed) < MAX_KEPT:
                self.missed.append(((self.last + 1, first), mark))
        elif self.last is not None:  # S9
            first = max(first, self.last + 1)
        if first < stop:
            self.delivery.deliver(first, stop)
            self.last, self.handed_at = stop - 1, mark

    def misses(self, *, cached: bool | None) -> list[Miss]:
        """The callbacks that were due."""
        return [Miss(a, b, mark, mark.at_ns, (), cached) for (a, b), mark in self.missed]

    def was_not_handed(self, first: int) -> None:
        """What came from this sample on came to nobody, and so did what told of a gap before it."""
        if not self.delivery.ranges:
            return
        self.delivery.retract(first)
        if self.missed and self.missed[-1][0][1] == first:
            self.missed.pop()
            self.count, self.passed = self.count - 1, max(self.passed - 1, 0)
