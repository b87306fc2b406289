"""Numbers of a feed that are known to exist and have not arrived, in bounded memory (design 3.4).

At 50 % loss every second number is a hole and nearly all stay one, so holes are appended as columns
and stay columns. Only a block that an arrival reaches into becomes a set of ranges, found by
bisection; a set that grows is split. The oldest holes are given up once ``MAX_REMEMBERED`` newer
ones have been revealed: counted as lost, and what arrives so late cannot be told from a copy.
Which holes are remembered is decided by their numbers (ids in the order of revelation) and never by
how rows share calls, so that a capture cut anywhere gives the same answer.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from seqaudit.replay.gaps import Mark
from seqaudit.replay.ranges import Range, RangeSet

Int64s = np.ndarray[tuple[int], np.dtype[np.int64]]

#: Holes of one numbering that an arrival can still fill.
MAX_REMEMBERED: Final = 1 << 17
#: Holes in a block; half as much again as ranges, and its set is split.
BLOCK: Final = 4096

#: Columns of a hole, in this order.
COLUMNS: Final = (
    "first",
    "stop",
    "before_frame",
    "before_ns",
    "revealed_frame",
    "revealed_ns",
    "by",
)


class Hole(NamedTuple):
    """One stretch of numbers as it was revealed; ``by``: an index into the words of the engine."""

    id: int
    first: int
    stop: int
    before_frame: int
    before_ns: int
    revealed_frame: int
    revealed_ns: int
    by: int

    def before(self) -> Mark:
        """The last moment before it."""
        return Mark(self.before_frame, self.before_ns)

    def revealed(self) -> Mark:
        """When it showed."""
        return Mark(self.revealed_frame, self.revealed_ns)


class Filled(NamedTuple):
    """A part of a hole that an arrival fills."""

    hole: Hole
    first: int
    stop: int


class GivenUp(NamedTuple):
    """A block of holes that are too old: lost."""

    numbers: int
    first_id: int
    newest_ns: int  # when the last of them was revealed
    holes: Iterator[Hole]  # open parts, in order


class _Block:
    """Consecutive holes; columns are never changed, ``open`` is what is left of them."""

    __slots__ = ("columns", "first_id", "low", "open")

    def __init__(self, first_id: int, columns: list[Any], low: int, open_: RangeSet | None) -> None:
        self.first_id = first_id
        self.columns = columns
        self.low = low  # lowest number of the block
        self.open = open_  # null: all of it

    def last_id(self) -> int:
        return self.first_id + len(self.columns[0]) - 1

    def touched(self) -> RangeSet:
        """The open ranges as a set."""
        if self.open is None:
            self.columns = [_listed(column) for column in self.columns]
            self.open = RangeSet.of_sorted(self.columns[0], self.columns[1])
        return self.open

    def hole(self, number: int) -> Hole:
        """The hole that a number lies in; the block has been touched."""
        first, stop, before_frame, before_ns, revealed_frame, revealed_ns, by = self.columns
        place = bisect_right(first, number) - 1
        return Hole(
            self.first_id + place, first[place], stop[place], before_frame[place],
            before_ns[place], revealed_frame[place], revealed_ns[place], by[place],
        )  # fmt: skip

    def total(self) -> int:
        if self.open is not None:
            return self.open.total()
        return int(np.sum(self.columns[1]) - np.sum(self.columns[0]))

    def all(self) -> GivenUp:
        """What is left of the block."""
        return GivenUp(self.total(), self.first_id, int(max(self.columns[5])), self.holes())

    def holes(self) -> Iterator[Hole]:
        """Open parts, in order, each with the id and the marks of its hole."""
        for a, b in list(self.touched()):
            yield self.hole(a)._replace(first=a, stop=b)


class Holes:
    """The holes of one numbering."""

    def __init__(self, remembered: int = MAX_REMEMBERED) -> None:
        self.revealed = 0  # holes ever; the next id
        self.open = 0  # numbers
        self._remembered = remembered
        self._blocks: list[_Block] = []
        self._lows: list[int] = []

    # -- revealing -------------------------------------------------------------------------------

    def add(self, first: int, stop: int, *rest: int) -> None:
        """[first, stop) is missing, above all holes so far; ``rest`` as ``COLUMNS``."""
        block = self._blocks[-1] if self._blocks else None
        if block is None or block.open is None or len(block.columns[0]) >= BLOCK:
            columns: list[Any] = [[] for _ in COLUMNS]
            block = _Block(self.revealed, columns, first, RangeSet())
            self._append(block)
        for column, value in zip(block.columns, (first, stop, *rest), strict=True):
            column.append(value)
        assert block.open is not None, "the youngest block is a set"
        block.open.append_apart(first, stop)
        self.revealed += 1
        self.open += stop - first

    def add_many(self, columns: list[Int64s]) -> None:
        """Several holes, ascending, as ``COLUMNS``."""
        count = len(columns[0])
        if count < BLOCK // 4:
            for row in zip(*(column.tolist() for column in columns), strict=True):
                self.add(*row)
            return
        for start in range(0, count, BLOCK):
            part = [column[start : start + BLOCK].copy() for column in columns]
            self._append(_Block(self.revealed, part, int(part[0][0]), None))
            self.revealed += len(part[0])
        self.open += int(np.sum(columns[1]) - np.sum(columns[0]))

    # -- arrivals --------------------------------------------------------------------------------

    def fill(self, first: int, stop: int) -> list[Filled]:
        """[first, stop) arrived; the parts of holes that it fills, in order."""
        found: list[Filled] = []
        if not self.open:
            return found
        place = max(bisect_right(self._lows, first) - 1, 0)
        while place < len(self._blocks) and self._lows[place] < stop:
            block = self._blocks[place]
            ranges = block.touched()
            for a, b in ranges.remove(first, stop):
                found.append(Filled(block.hole(a), a, b))
                self.open -= b - a
            if len(ranges) > BLOCK + BLOCK // 2:
                self._split(place)
                place += 1
            place += 1
        return found

    def within(self, first: int, stop: int) -> list[Range]:
        """The missing numbers of [first, stop), in order."""
        if not self.open:
            return []
        found: list[Range] = []
        place = max(bisect_right(self._lows, first) - 1, 0)
        while place < len(self._blocks) and self._lows[place] < stop:
            found += self._blocks[place].touched().within(first, stop)
            place += 1
        return found

    def hole_at(self, number: int) -> Hole | None:
        """The hole with this number, if it is missing."""
        if not self.within(number, number + 1):
            return None
        return self._blocks[bisect_right(self._lows, number) - 1].hole(number)

    def oldest(self, revealed: int) -> int | None:
        """The lowest number that was remembered when so many holes had been revealed.

        Null if none had been given up by then.
        """
        forgotten = revealed - self._remembered
        if forgotten <= 0:
            return None
        for block in self._blocks:
            if block.last_id() >= forgotten:
                return int(block.columns[0][max(forgotten - block.first_id, 0)])
        return None

    # -- the end ---------------------------------------------------------------------------------

    def give_up(self) -> list[GivenUp]:
        """Blocks all of whose holes are too old."""
        ended = []
        while self._blocks and self._blocks[0].last_id() < self.revealed - self._remembered:
            ended.append(self._take(0))
        return ended

    def remaining(self) -> Iterator[GivenUp]:
        """What is still open, block by block, in order."""
        for block in self._blocks:
            yield block.all()

    # -- inside ----------------------------------------------------------------------------------

    def _take(self, place: int) -> GivenUp:
        ended = self._blocks.pop(place).all()
        del self._lows[place]
        self.open -= ended.numbers
        return ended

    def _append(self, block: _Block) -> None:
        self._blocks.append(block)
        self._lows.append(block.low)

    def _split(self, place: int) -> None:
        block = self._blocks[place]
        assert block.open is not None, "only a set that has been touched grows"
        left, right = block.open.halves()
        block.open = left
        # Both keep the columns; the second is reached by its lowest number.
        self._blocks.insert(place + 1, _Block(block.first_id, block.columns, right.first(), right))
        self._lows.insert(place + 1, right.first())


def _listed(column: Any) -> list[int]:
    listed: list[int] = column if isinstance(column, list) else column.tolist()
    return listed
