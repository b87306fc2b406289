"""Sets of seqnos as sorted, disjoint, half-open ranges, found by bisection (pipeline/README.md 2).

A capture may open hundreds of thousands of gaps; a plain list scanned for each late run is
quadratic (pipeline/README.md 3: 30 s for 20,302 events). Every gap, window and request here is one
of these.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

Range = tuple[int, int]  # half-open: [first, stop)


class RangeSet:
    """Sorted disjoint half-open ranges; touching ranges are joined."""

    __slots__ = ("_firsts", "_stops")

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self._firsts: list[int] = []
        self._stops: list[int] = []
        for first, stop in ranges:
            self.add(first, stop)

    @classmethod
    def of_sorted(cls, firsts: list[int], stops: list[int]) -> "RangeSet":
        """Ranges that are ascending and disjoint already; touching ones are not joined."""
        made = cls()
        made._firsts, made._stops = list(firsts), list(stops)
        return made

    def halves(self) -> tuple["RangeSet", "RangeSet"]:
        """The lower and the upper half of the ranges."""
        middle = len(self._firsts) // 2
        return (
            RangeSet.of_sorted(self._firsts[:middle], self._stops[:middle]),
            RangeSet.of_sorted(self._firsts[middle:], self._stops[middle:]),
        )

    def __iter__(self) -> Iterator[Range]:
        return zip(self._firsts, self._stops, strict=True)

    def __len__(self) -> int:
        """The number of ranges (not of seqnos, see ``total``)."""
        return len(self._firsts)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeSet) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RangeSet({list(self)})"

    def __or__(self, other: Iterable[Range]) -> "RangeSet":
        both = RangeSet.of_sorted(self._firsts, self._stops)
        for first, stop in other:
            both.add(first, stop)
        return both

    def __and__(self, other: Iterable[Range]) -> "RangeSet":
        if isinstance(other, RangeSet) and len(other._firsts) > len(self._firsts):
            return other & self
        return RangeSet(part for first, stop in other for part in self.within(first, stop))

    def __sub__(self, other: Iterable[Range]) -> "RangeSet":
        if isinstance(other, RangeSet) and len(other._firsts) > len(self._firsts):
            parts = [part for first, stop in self for part in other.missing(first, stop)]
            return RangeSet.of_sorted([first for first, _ in parts], [stop for _, stop in parts])
        left = RangeSet.of_sorted(self._firsts, self._stops)
        for first, stop in other:
            left.remove(first, stop)
        return left

    def __contains__(self, seqno: int) -> bool:
        place = bisect_right(self._firsts, seqno) - 1
        return place >= 0 and seqno < self._stops[place]

    def total(self) -> int:
        """How many seqnos are in the set."""
        return sum(self._stops) - sum(self._firsts)

    def first(self) -> int:
        """The lowest seqno. The set must not be empty."""
        return self._firsts[0]

    def stop(self) -> int:
        """One past the highest seqno. The set must not be empty."""
        return self._stops[-1]

    def add(self, first: int, stop: int) -> list[Range]:
        """Add [first, stop); returns the parts that were not in the set before, in order."""
        if first >= stop:
            return []
        if not self._firsts or first > self._stops[-1]:  # the common case: past the end
            self._firsts.append(first)
            self._stops.append(stop)
            return [(first, stop)]
        if first == self._stops[-1]:  # and the other one: on from the end
            self._stops[-1] = stop
            return [(first, stop)]
        low = bisect_left(self._stops, first)  # first range that touches or overlaps
        high = bisect_right(self._firsts, stop)  # one past the last that does
        new: list[Range] = []
        cursor = first
        for a, b in zip(self._firsts[low:high], self._stops[low:high], strict=True):
            if cursor < a:
                new.append((cursor, a))
            cursor = max(cursor, b)
        if cursor < stop:
            new.append((cursor, stop))
        if low < high:
            first = min(first, self._firsts[low])
            stop = max(stop, self._stops[high - 1])
        self._firsts[low:high] = [first]
        self._stops[low:high] = [stop]
        return new

    def remove(self, first: int, stop: int) -> list[Range]:
        """Remove [first, stop); returns the parts that were in the set, in order."""
        if first >= stop or not self._firsts:
            return []
        low = bisect_right(self._stops, first)  # first range that ends after ``first``
        high = bisect_left(self._firsts, stop)  # one past the last that begins before ``stop``
        if low >= high:
            return []
        taken = [
            (max(a, first), min(b, stop))
            for a, b in zip(self._firsts[low:high], self._stops[low:high], strict=True)
        ]
        keep_firsts, keep_stops = [], []
        if self._firsts[low] < first:
            keep_firsts.append(self._firsts[low])
            keep_stops.append(first)
        if self._stops[high - 1] > stop:
            keep_firsts.append(stop)
            keep_stops.append(self._stops[high - 1])
        self._firsts[low:high] = keep_firsts
        self._stops[low:high] = keep_stops
        return taken

    def within(self, first: int, stop: int) -> list[Range]:
        """The parts of [first, stop) that are in the set, in order."""
        if first >= stop:
            return []
        low = bisect_right(self._stops, first)
        high = bisect_left(self._firsts, stop)
        return [
            (max(a, first), min(b, stop))
            for a, b in zip(self._firsts[low:high], self._stops[low:high], strict=True)
        ]

    def missing(self, first: int, stop: int) -> list[Range]:
        """The parts of [first, stop) that are not in the set, in order."""
        parts: list[Range] = []
        cursor = first
        for a, b in self.within(first, stop):
            if cursor < a:
                parts.append((cursor, a))
            cursor = b
        if cursor < stop:
            parts.append((cursor, stop))
        return parts

    def end_of_run(self, seqno: int) -> int:
        """One past the last seqno that follows without a gap from ``seqno``; itself if absent."""
        place = bisect_right(self._firsts, seqno) - 1
        if place >= 0 and seqno < self._stops[place]:
            return self._stops[place]
        return seqno


def half_open(spans: Iterable[Sequence[int]]) -> RangeSet:
    """Ranges that were printed as ``[first, last]``."""
    return RangeSet((first, last + 1) for first, last in spans)


def total(ranges: Iterable[Range]) -> int:
    """How many seqnos some disjoint ranges hold."""
    return sum(stop - first for first, stop in ranges)


def inclusive(ranges: Iterable[Range]) -> list[list[int]]:
    """Ranges as the report prints them: ``[first, last]``, both inside (replay/README.md 5)."""
    return [[first, stop - 1] for first, stop in ranges]


class DeliveryOrder:
    """Seqnos in the order of their delivery, as half-open ranges; a redelivery starts a new one.

    Bounded: at most ``limit`` ranges are kept, further seqnos are only counted.
    """

    __slots__ = ("_limit", "count", "ranges", "unlisted")

    def __init__(self, limit: int = 100_000) -> None:
        self._limit = limit
        self.ranges: list[Range] = []
        self.count = 0
        self.unlisted = 0  # seqnos delivered after the limit was reached

    def deliver(self, first: int, stop: int) -> None:
        """[first, stop) was delivered in this order."""
        if first >= stop:
            return
        self.count += stop - first
        if not self.unlisted and self.ranges and self.ranges[-1][1] == first:
            self.ranges[-1] = (self.ranges[-1][0], stop)
        elif len(self.ranges) < self._limit:
            self.ranges.append((first, stop))
        else:
            self.unlisted += stop - first

    def retract(self, first: int) -> None:
        """What was delivered last was not, from ``first`` on."""
        began, stop = self.ranges[-1]
        if self.unlisted or not began <= first < stop:
            return
        self.count -= stop - first
        self.ranges[-1:] = [(began, first)] if began < first else []
