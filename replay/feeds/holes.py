"""Numbers of a feed that are known to exist and have not arrived, in bounded memory
(pipeline/README.md 2).

At 50 % loss every second number is a hole and nearly all stay one, at 20 % late ones nearly all are
filled, each by one row. So holes are appended to columns that never change, with a state each; only
of a hole that is filled in part its open ranges are kept beside. Blocks hold ``BLOCK`` holes by
their ids (numbers in the order of revelation), so that nothing depends on how rows share calls and
a capture cut anywhere gives the same answer. The oldest holes are given up once ``MAX_REMEMBERED``
newer ones have been revealed: counted as lost, and what arrives so late cannot be told from a copy.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet

Int64s = np.ndarray[tuple[int], np.dtype[np.int64]]

#: Holes of one numbering that an arrival can still fill.
MAX_REMEMBERED: Final = 1 << 17
#: Holes in a block.
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
_FIRST, _STOP, _REVEALED_NS, _BY = 0, 1, 5, 6

# States of a hole.
_OPEN, _IN_PART, _FILLED = 0, 1, 2


class FeedHole(NamedTuple):
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
        return Mark(self.revealed_frame, self.revealed_ns)


class Filled(NamedTuple):
    """A part of a hole that an arrival fills."""

    hole: int  # its id
    first: int
    stop: int
    revealed_ns: int
    by: int


class GivenUp(NamedTuple):
    """A block of holes that are too old: lost."""

    numbers: int
    first_id: int
    newest_ns: int  # when the last of them was revealed
    holes: Iterator[FeedHole]  # open parts, in order


class _Block:
    """Holes with consecutive ids."""

    __slots__ = ("columns", "first_id", "open", "parts", "states")

    def __init__(self, first_id: int) -> None:
        self.first_id = first_id
        self.columns = tuple(array("q") for _ in COLUMNS)
        self.states = bytearray()
        self.parts: dict[int, RangeSet] = {}  # what is left of holes that are filled in part
        self.open = 0  # numbers

    def last_id(self) -> int:
        return self.first_id + len(self.states) - 1

    def hole(self, place: int) -> FeedHole:
        first, stop, before_frame, before_ns, revealed_frame, revealed_ns, by = self.columns
        return FeedHole(
            self.first_id + place, first[place], stop[place], before_frame[place],
            before_ns[place], revealed_frame[place], revealed_ns[place], by[place],
        )  # fmt: skip

    def place(self, number: int) -> int:
        """Of the last hole that begins at the number or below; the first one if none does."""
        return max(bisect_right(self.columns[_FIRST], number) - 1, 0)

    def fill(self, first: int, stop: int, found: list[Filled]) -> None:
        """[first, stop) arrived."""
        firsts, stops, states = self.columns[_FIRST], self.columns[_STOP], self.states
        place = bisect_right(firsts, first) - 1
        if place < 0:
            place = 0
        count = len(states)
        while place < count and (begin := firsts[place]) < stop:
            state, end = states[place], stops[place]
            if state != _FILLED and end > first:
                if state == _OPEN and begin >= first and end <= stop:
                    states[place] = _FILLED
                    parts = [(begin, end)]
                else:
                    left = self.parts.setdefault(place, RangeSet([(begin, end)]))
                    states[place] = _IN_PART
                    parts = left.remove(first, stop)
                    if not left:
                        states[place] = _FILLED
                        del self.parts[place]
                for a, b in parts:
                    self.open -= b - a
                    found.append(
                        Filled(
                            self.first_id + place, a, b,
                            self.columns[_REVEALED_NS][place], self.columns[_BY][place],
                        )
                    )  # fmt: skip
            place += 1

    def within(self, first: int, stop: int, found: list[Range]) -> None:
        """What of [first, stop) is missing."""
        if not self.open:
            return
        firsts, stops, states = self.columns[_FIRST], self.columns[_STOP], self.states
        place = self.place(first)
        while place < len(states) and (begin := firsts[place]) < stop:
            state = states[place]
            if state == _OPEN:
                end = stops[place]
                if end > first:
                    found.append((max(begin, first), min(end, stop)))
            elif state == _IN_PART:
                found += self.parts[place].within(first, stop)
            place += 1

    def misses(self, number: int) -> bool:
        """Is this number, which the block begins at or below, missing?"""
        place = bisect_right(self.columns[_FIRST], number) - 1
        state = self.states[place]
        if state == _OPEN:
            return number < self.columns[_STOP][place]
        return state == _IN_PART and number in self.parts[place]

    def all(self) -> GivenUp:
        """What is left of the block."""
        return GivenUp(self.open, self.first_id, max(self.columns[_REVEALED_NS]), self.holes())

    def holes(self) -> Iterator[FeedHole]:
        """Open parts, in order, each with the id and the marks of its hole."""
        for place, state in enumerate(self.states):
            if state == _OPEN:
                yield self.hole(place)
            elif state == _IN_PART:
                for first, stop in list(self.parts[place]):
                    yield self.hole(place)._replace(first=first, stop=stop)


class Holes:
    """The holes of one numbering."""

    __slots__ = ("_blocks", "_lows", "open", "remembered", "revealed")

    def __init__(self, remembered: int = MAX_REMEMBERED) -> None:
        self.revealed = 0  # holes ever; the next id
        self.open = 0  # numbers
        self.remembered = remembered  # so many of the youngest
        self._blocks: list[_Block] = []
        self._lows: list[int] = []  # the first number of each block

    # -- revealing -------------------------------------------------------------------------------

    def add(
        self,
        first: int,
        stop: int,
        before_frame: int,
        before_ns: int,
        revealed_frame: int,
        revealed_ns: int,
        by: int,
    ) -> None:
        """[first, stop) is missing, above all holes so far."""
        if self.revealed % BLOCK == 0:
            self._begin(first)
        block = self._blocks[-1]
        firsts, stops, before_frames, befores_ns, frames, times, bys = block.columns
        firsts.append(first)
        stops.append(stop)
        before_frames.append(before_frame)
        befores_ns.append(before_ns)
        frames.append(revealed_frame)
        times.append(revealed_ns)
        bys.append(by)
        block.states.append(_OPEN)
        block.open += stop - first
        self.open += stop - first
        self.revealed += 1

    def add_many(self, columns: list[Int64s]) -> None:
        """Several holes, ascending, as ``COLUMNS``."""
        count = len(columns[0])
        start = 0
        while start < count:
            if self.revealed % BLOCK == 0:
                self._begin(int(columns[0][start]))
            block = self._blocks[-1]
            taken = min(BLOCK - self.revealed % BLOCK, count - start)
            picked = slice(start, start + taken)
            for own, column in zip(block.columns, columns, strict=True):
                own.frombytes(column[picked].tobytes())
            block.states.extend(bytes(taken))
            numbers = int(np.sum(columns[_STOP][picked]) - np.sum(columns[_FIRST][picked]))
            block.open += numbers
            self.open += numbers
            self.revealed += taken
            start += taken

    # -- arrivals --------------------------------------------------------------------------------

    def fill(self, first: int, stop: int) -> list[Filled]:
        """[first, stop) arrived; the parts of holes that it fills, in order."""
        found: list[Filled] = []
        if not self.open or first >= stop:
            return found
        place = max(bisect_right(self._lows, first) - 1, 0)
        while place < len(self._lows) and self._lows[place] < stop:
            block = self._blocks[place]
            if block.open:
                before = block.open
                block.fill(first, stop, found)
                self.open -= before - block.open
            place += 1
        return found

    def misses(self, number: int) -> bool:
        if not self.open:
            return False
        place = bisect_right(self._lows, number) - 1
        return place >= 0 and self._blocks[place].misses(number)

    def within(self, first: int, stop: int) -> list[Range]:
        """The missing numbers of [first, stop), in order."""
        found: list[Range] = []
        for block in self._touched(first, stop):
            block.within(first, stop, found)
        return found

    def ids_within(self, first: int, stop: int, limit: int) -> list[int]:
        """Ids below ``limit`` of holes that miss some of [first, stop), in order."""
        found: list[int] = []
        for block in self._touched(first, stop):
            if block.first_id >= limit:
                break
            parts: list[Range] = []
            block.within(first, stop, parts)
            found += [block.first_id + block.place(begin) for begin, _ in parts]
        return [hole for hole in dict.fromkeys(found) if hole < limit]

    def hole(self, hole: int) -> FeedHole:
        """The hole with this id, which is remembered."""
        block = self._blocks[(hole - self._blocks[0].first_id) // BLOCK]
        return block.hole(hole - block.first_id)

    def oldest(self, revealed: int) -> int | None:
        """The lowest number that was remembered when so many holes had been revealed.

        Null if none had been given up by then.
        """
        forgotten = revealed - self.remembered
        if forgotten <= 0:
            return None
        for block in self._blocks:
            if block.last_id() >= forgotten:
                return block.columns[_FIRST][max(forgotten - block.first_id, 0)]
        return None

    # -- the end ---------------------------------------------------------------------------------

    def give_up(self) -> list[GivenUp]:
        """Blocks all of whose holes are too old."""
        ended = []
        forgotten = self.revealed - self.remembered
        while self._blocks and self._blocks[0].last_id() < forgotten:
            ended.append(self._blocks.pop(0).all())
            del self._lows[0]
            self.open -= ended[-1].numbers
        return ended

    def remaining(self) -> Iterator[GivenUp]:
        """What is still open, block by block, in order."""
        for block in self._blocks:
            yield block.all()

    # -- inside ----------------------------------------------------------------------------------

    def _touched(self, first: int, stop: int) -> list[_Block]:
        """Blocks with open numbers that may have some of [first, stop)."""
        if not self.open or first >= stop:
            return []
        lows = self._lows
        if len(lows) == 1:
            return self._blocks if lows[0] < stop else []
        low = max(bisect_right(lows, first) - 1, 0)
        high = bisect_right(lows, stop - 1, low)
        return [block for block in self._blocks[low:high] if block.open]

    def _begin(self, low: int) -> None:
        self._blocks.append(_Block(self.revealed))
        self._lows.append(low)
