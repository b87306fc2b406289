"""What one member sent another, seen at both: which copies never came (jgroups.md 6, "S+R").

A lane is what goes one way and is numbered together: the messages of a stream, or its ACKs. A copy
is told by its number and by how often the number was captured, so a resend is a further copy, and a
network duplicate (same IP id and bytes) none. The capture at the sender has every copy before the
path; what it has more often than the capture at the receiver did not get there, or was not
captured.

    at the sender   at the receiver     of this number
    n times         n times             all came
    n times         m < n times         n - m copies are missing at the receiver
    n times         m > n times         m - n copies are missing at the sender: a hole there

Copies that may have come before the receiver's capture began, or after it had ended, are counted
apart, with the times that it would have to begin and to end at.
"""

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from seqaudit.replay.sequence.clocks import Clocks
from seqaudit.replay.sequence.ranges import RangeSet

#: Rows that all lanes of a capture may have: 64 bytes each.
MAX_ROWS: Final = 1_000_000
#: What is missing at the end of a capture may still have been on the way for so long.
UNDER_WAY_NS: Final = 1_000_000_000
#: The same of what was overtaken by something that was sent later the same way.
OVERTAKEN_NS: Final = 50_000_000

#: Missing copies that are named.
MAX_MARKS: Final = 8

#: In place of an IP id: an end of a row lies inside a run, of which only the ends have moments.
INSIDE: Final = -2

LaneKey = tuple[Hashable, ...]


class NumberRun(NamedTuple):
    """Numbers [first, stop), captured once each, in this order, from ``frame`` to ``last_frame``
    and ``from_ns`` to ``to_ns``; a frame is below zero where nobody knows that of its number.
    The IP ids are of the first and the last datagram; -1: not known, INSIDE: the moment is
    another's."""

    first: int
    stop: int
    frame: int
    last_frame: int
    from_ns: int
    to_ns: int
    from_id: int = -1
    to_id: int = -1

    def mark(self, number: int) -> tuple[int, int] | None:
        """Frame and time of a number; null inside, where nobody knows."""
        if number == self.first and self.frame >= 0:
            return self.frame, self.from_ns
        if number == self.stop - 1 and self.last_frame >= 0:
            return self.last_frame, self.to_ns
        return None

    def narrowed(self, first: int, stop: int) -> "NumberRun":
        """[first, stop) of it; only of a run's first and its last message the moment is known."""
        frame, last_frame, from_ns, to_ns, from_id, to_id = self[2:]
        if first > self.first:
            if first == self.stop - 1 and self.to_id != INSIDE:
                frame, from_ns, from_id = self.last_frame, self.to_ns, self.to_id
            else:
                frame, from_id = -1, INSIDE
        if stop < self.stop:
            if stop == self.first + 1 and self.from_id != INSIDE:
                last_frame, to_ns, to_id = self.frame, self.from_ns, self.from_id
            else:
                last_frame, to_id = -1, INSIDE
        return NumberRun(first, stop, frame, last_frame, from_ns, to_ns, from_id, to_id)

    def since(self, first: int) -> "NumberRun | None":
        """What of it is from a number on; null: nothing."""
        if first >= self.stop:
            return None
        if first <= self.first:
            return self
        if first == self.stop - 1:
            return self._replace(first=first, frame=self.last_frame, from_ns=self.to_ns)
        return self._replace(first=first, frame=-1)

    def moved(self, by: int) -> "NumberRun":
        """With numbers so much higher."""
        return self._replace(first=self.first + by, stop=self.stop + by)

    def times(self, first: int, stop: int) -> tuple[int, int]:
        """Between which times a part of it was captured: known are those of its ends."""
        return (
            self.to_ns if first == self.stop - 1 else self.from_ns,
            self.from_ns if stop == self.first + 1 else self.to_ns,
        )


WIDTH: Final = len(NumberRun._fields)


class Passages:
    """What one capture holds of lanes.

    Attributes:
        full: there was more than is remembered.
    """

    def __init__(self) -> None:
        self._lanes: dict[LaneKey, array[int]] = {}
        self._rows = 0
        self.full = False

    def saw(self, lane: LaneKey, row: NumberRun) -> None:
        """Copies of numbers were captured."""
        if self._rows >= MAX_ROWS:
            self.full = True
            return
        self._rows += 1
        self._lanes.setdefault(lane, array("q")).extend(row)

    def rows(self, lane: LaneKey) -> list[NumberRun]:
        """Everything of a lane, by number."""
        return sorted(self._captured(lane))

    def firsts(self, lane: LaneKey) -> Iterator[NumberRun]:
        """What of a lane had not been captured before, in the order of the capture."""
        seen = RangeSet()
        for row in self._captured(lane):
            for part in seen.add(row.first, row.stop):
                yield row.narrowed(*part)

    def again(self, lane: LaneKey) -> Iterator[NumberRun]:
        """What of a lane had been captured before, in the order of the capture."""
        seen = RangeSet()
        for row in self._captured(lane):
            for part in RangeSet(seen.add(row.first, row.stop)).missing(row.first, row.stop):
                yield row.narrowed(*part)

    def _captured(self, lane: LaneKey) -> Iterator[NumberRun]:
        values = iter(self._lanes.get(lane, ()))
        return (NumberRun(*row) for row in zip(*[values] * WIDTH, strict=True))

    def lanes(self) -> Iterator[LaneKey]:
        """All lanes of which anything was captured."""
        return iter(self._lanes)


@dataclass(slots=True)
class Lack:
    """Copies that one capture holds and the other does not.

    Attributes:
        missing: all of them; those of which the other capture may have begun too late, or ended too
            early, are in ``outside`` as well.
        from_ns, to_ns: times of the other's clock that it has to span for it to have had those.
        untimed: nobody can tell how far the clocks are apart.
        numbers: of the copies.
        marks: frame and time of the first ones, of those whose are known.
    """

    missing: int = 0
    outside: int = 0
    from_ns: int = 0
    to_ns: int = 0
    untimed: bool = False
    numbers: RangeSet = field(default_factory=RangeSet)
    marks: list[tuple[int, int]] = field(default_factory=list)

    @property
    def inside(self) -> int:
        """Those that the other capture certainly went on for."""
        return self.missing - self.outside

    def add(self, part: tuple[int, int], count: int, had: list[NumberRun], other: "Other") -> None:
        """Copies of a stretch of numbers that all have the same rows."""
        times = [row.times(*part) for row in had]
        begin, end = min(at for at, _ in times), max(at for _, at in times)
        early, late = other.clocks.at(begin), other.clocks.at(end)
        below = 0 if other.first_ns is None else None if early is None else early.below
        if late is None or late.above is None or below is None:
            self._note(part, count, had)
            self.outside += count
            self.untimed = True
            return
        begin += below - other.before_ns
        self.add_between(part, count, had, (begin, end + late.above + other.after_ns), other)

    def add_between(
        self,
        part: tuple[int, int],
        count: int,
        had: list[NumberRun],
        span: tuple[int, int],
        other: "Other",
    ) -> None:
        """The same, where it is known when the other capture would have had them."""
        self._note(part, count, had)
        begin, end = span
        if (other.first_ns is not None and begin < other.first_ns) or end > other.last_ns:
            known = self.outside and not self.untimed
            self.from_ns = min(self.from_ns, begin) if known else begin
            self.to_ns = max(self.to_ns, end) if known else end
            self.outside += count

    def _note(self, part: tuple[int, int], count: int, had: list[NumberRun]) -> None:
        self.missing += count
        self.numbers.add(*part)
        marks = {mark for row in had if (mark := row.mark(part[0])) is not None}
        self.marks = sorted(marks.union(self.marks))[:MAX_MARKS]


class Other(NamedTuple):
    """The capture that lacks copies: the clocks to it, from when (null: numbers say that it had
    begun) to when it certainly went on, and how much earlier and later than by the clocks it may
    have seen them."""

    clocks: Clocks
    first_ns: int | None
    last_ns: int
    before_ns: int
    after_ns: int


@dataclass(slots=True)
class Passed:
    """What of some lanes came from one end to the other.

    Attributes:
        sent, came: copies that the captures at the sender and at the receiver hold.
        lost: those that the receiver's lacks: lost on the path, or not captured.
        unsent: those that the sender's lacks, so it has a hole.
    """

    sent: int = 0
    came: int = 0
    lost: Lack = field(default_factory=Lack)
    unsent: Lack = field(default_factory=Lack)

    def add(
        self,
        sent: list[NumberRun],
        came: list[NumberRun],
        clocks: Clocks,
        at_sender: tuple[int, int],
        at_receiver: tuple[int | None, int],
        overtaken_ns: int | None = None,
        *,
        growing: bool = False,
    ) -> None:
        """The rows of one lane at both ends.

        Args:
            clocks: from the sender's to the receiver's.
            at_sender, at_receiver: from when to when the captures certainly went on; null: the
                rows are those since then.
            overtaken_ns: by the sender's clock, when the last was sent that came; null: not known.
            growing: whatever is sent has a number above all that were sent before.
        """
        self.sent += sum(row.stop - row.first for row in sent)
        self.came += sum(row.stop - row.first for row in came)
        differ = list(_together(sent, came))
        if not differ:
            return
        there = Other(clocks, *at_receiver, 0, UNDER_WAY_NS)
        overtaken = Other(clocks, *at_receiver, 0, OVERTAKEN_NS)
        here = Other(clocks.reversed(), *at_sender, UNDER_WAY_NS, 0)
        for first, stop, had, got in differ:
            count = abs(len(had) - len(got)) * (stop - first)
            if len(had) > len(got):
                between = _between(first, stop, came) if growing else None
                if between is not None:
                    self.lost.add_between((first, stop), count, had, between, there)
                    continue
                sent_ns = max(row.times(first, stop)[1] for row in had)
                early = overtaken_ns is not None and sent_ns < overtaken_ns
                self.lost.add((first, stop), count, had, overtaken if early else there)
            else:
                self.unsent.add((first, stop), count, got, here)


def grows(rows: list[NumberRun]) -> bool:
    """Whether numbers were captured in their order, each once; rows are by number."""
    return all(
        one.stop <= other.first and one.to_ns <= other.from_ns for one, other in pairwise(rows)
    )


def _between(first: int, stop: int, came: list[NumberRun]) -> tuple[int, int] | None:
    """Since when, and until when, growing numbers would have come, as those around them did."""
    place = bisect_left(came, first, key=lambda row: row.first)
    if not 0 < place < len(came) or came[place].first < stop:
        return None
    return came[place - 1].from_ns, came[place].from_ns + OVERTAKEN_NS


def _together(
    sent: list[NumberRun], came: list[NumberRun]
) -> Iterator[tuple[int, int, list[NumberRun], list[NumberRun]]]:
    """Stretches of numbers that all have the same rows at each end, where their counts differ."""
    points: list[
        tuple[int, int, int, NumberRun]
    ] = []  # number, what ends first, which end, its row
    for end, rows in enumerate((sent, came)):
        for row in rows:
            points.append((row.first, 1, end, row))
            points.append((row.stop, 0, end, row))
    points.sort()
    live: tuple[list[NumberRun], list[NumberRun]] = ([], [])
    at = points[0][0] if points else 0
    for number, begins, end, row in points:
        if number > at:
            if len(live[0]) != len(live[1]):
                yield at, number, list(live[0]), list(live[1])
            at = number
        if begins:
            live[end].append(row)
        else:
            live[end].remove(row)
