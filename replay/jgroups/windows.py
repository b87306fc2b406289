"""The receive window of a numbered stream: what is accepted, delivered, dropped (CONTRIBUTING.md
2).

low = highest delivered; high = highest received; a seqno is storable iff
low < seqno <= low + capacity (jgroups.md 5.2; without a capacity, any above low).
"""

from typing import NamedTuple

from seqaudit.replay.sequence.ranges import Range, RangeSet


class Accepted(NamedTuple):
    """What a window did with [first, stop)."""

    stored: list[Range]  # new in the window (delivered ones included)
    duplicates: int  # at or below low, or stored already
    dropped: list[Range]  # outside the window
    delivered: Range | None  # what became deliverable in order by it


class Window:
    """A window over plain growing seqnos (R3-R6). ``document``: the MCAST document's bounds (D2).

    The shipped code accepts low < s <= low + capacity; the document drops s < low or
    s >= low + capacity, with low meaning the highest delivered (jgroups.md 5.6).
    """

    __slots__ = ("_beyond", "capacity", "document", "high", "low")

    def __init__(self, low: int, capacity: int | None = None, *, document: bool = False) -> None:
        self.low = low
        self.high = low
        self.capacity = capacity
        self.document = document
        self._beyond = RangeSet()  # stored, not yet deliverable

    def limit(self) -> int | None:
        """One past the highest seqno that can be stored now; null if unbounded."""
        if self.capacity is None:
            return None
        return self.low + self.capacity + (0 if self.document else 1)

    def accept(self, first: int, stop: int) -> Accepted:
        """[first, stop) arrived in this order, one message after the other.

        A window that is full moves as it delivers, so a run that continues at low + 1 is never
        dropped in its middle.
        """
        duplicates = 0
        dropped: list[Range] = []
        if first <= self.low:
            duplicates = min(stop, self.low + 1) - first
            first = min(stop, self.low + 1)
        if first >= stop:
            return Accepted([], duplicates, dropped, None)
        before = self.low
        limit = self.limit()
        if limit is not None and stop > limit and first > self.low + 1:
            stop_inside = max(first, limit)
            dropped.append((stop_inside, stop))
            stop = stop_inside
            if first >= stop:
                return Accepted([], duplicates, dropped, None)
        if first == self.low + 1 and not self._beyond:  # the common case: in order
            self.low = stop - 1
            self.high = max(self.high, self.low)
            return Accepted([(first, stop)], duplicates, dropped, (before + 1, stop))
        stored = self._beyond.add(first, stop)
        duplicates += (stop - first) - sum(b - a for a, b in stored)
        self.high = max(self.high, stop - 1)
        end = self._beyond.end_of_run(self.low + 1)
        if end == self.low + 1:
            return Accepted(stored, duplicates, dropped, None)
        self._beyond.remove(self.low + 1, end)
        self.low = end - 1
        return Accepted(stored, duplicates, dropped, (before + 1, end))

    def has(self, seqno: int) -> bool:
        """Delivered or stored."""
        return seqno <= self.low or seqno in self._beyond

    def waiting(self) -> int:
        """How many messages are stored and not deliverable yet."""
        return self._beyond.total()

    def deliverable(self, more: RangeSet) -> int:
        """How far it would have delivered with these as well."""
        return (self._beyond | more).end_of_run(self.low + 1) - 1

    def drop(self, first: int, stop: int) -> None:
        """[first, stop), not delivered yet, is not there after all."""
        self._beyond.remove(first, stop)

    def skip_to(self, low: int) -> Range | None:
        """The receiver is known to have delivered up to ``low``; returns what that skips."""
        if low <= self.low:
            return None
        before = self.low
        end = max(self._beyond.end_of_run(low + 1), low + 1)
        self._beyond.remove(before + 1, end)
        self.low = end - 1
        self.high = max(self.high, self.low)
        return before + 1, end
