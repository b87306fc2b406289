"""One numbering of a feed's stream: from a start, upwards, until it is reset or restarted.

What arrives at or above ``high`` reveals what it skips; what arrives below fills a hole, or had
arrived before, or was sent before the capture began. Two ways in, one answer: a row at a time, its
reader moves ``high`` and ``before``; or ``ahead_many``. Numbers are unwrapped by then.
"""

from typing import Final, NamedTuple

from seqaudit.replay.feeds.holes import Filled, GivenUp, Holes, Int64s
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: What reveals a hole, as the report says it; holes keep the place in this list.
BY: Final = ("a higher number", "a heartbeat", "the end of the session", "a repair")
BY_NUMBER: Final = 0
BY_HEARTBEAT: Final = 1
BY_END: Final = 2
BY_REPAIR: Final = 3

#: Ranges from before the numbering's first number that are remembered.
MAX_EARLY: Final = 10_000


class Late(NamedTuple):
    """What became of a row behind the highest number."""

    filled: list[Filled]
    early: int  # numbers below the start that had not been seen: sent before it
    copies: int  # numbers that had arrived
    forgotten: int  # numbers too old to tell which of these they are
    given_up: list[Filled]  # parts of holes that were given up before this row came


class Numbering:
    """Numbers [start, high), less the holes, have arrived.

    Up to (``before_frame``, ``before_ns``) nothing was missing beyond the holes.
    """

    __slots__ = (
        "before_frame", "before_ns", "began_ns", "early", "given_up", "high", "holes", "number",
        "start",
    )  # fmt: skip

    def __init__(self, start: int, before_frame: int, before_ns: int, number: int = 0) -> None:
        self.start = start
        self.high = start
        self.before_frame = before_frame
        self.before_ns = self.began_ns = before_ns
        self.number = number  # of this numbering in its stream
        self.holes = Holes()
        self.early = RangeSet()
        self.given_up = 0  # numbers of holes that are no longer remembered

    def reveal(self, stop: int, frame: int, at_ns: int, by: int) -> None:
        """Everything below ``stop`` exists."""
        self.holes.add(self.high, stop, self.before_frame, self.before_ns, frame, at_ns, by)
        self.high = stop

    def ahead_many(self, holes: list[Int64s], high: int) -> None:
        """Rows that skipped ``holes`` (as ``feed_holes.COLUMNS``) and ended below ``high``."""
        if len(holes[0]):
            self.holes.add_many(holes)
        self.high = high

    def late(self, first: int, stop: int, revealed: int) -> Late:
        """[first, stop), below high, came when so many holes had been revealed."""
        filled = self.holes.fill(first, stop)
        oldest = self.holes.oldest(revealed)
        forgotten = 0
        below: list[Filled] = []
        if oldest is not None and first < oldest:
            below = [f for f in filled if f.first < oldest]
            self.given_up += sum(f.stop - f.first for f in below)
            filled = filled[len(below) :]
            forgotten = min(stop, oldest) - first
            first = min(stop, oldest)
        early = early_new = 0
        if first < self.start:
            early = min(stop, self.start) - first
            if len(self.early) < MAX_EARLY:
                new = self.early.add(first, first + early)
                early_new = sum(b - a for a, b in new)
            else:
                forgotten += early
                first += early
        taken = 0
        for part in filled:
            taken += part.stop - part.first
        return Late(filled, early_new, stop - first - taken - early_new, forgotten, below)

    def not_here(self, first: int, stop: int) -> list[Range]:
        """What of [first, stop), below high, has not arrived: it is missing, or the capture began
        behind it."""
        below = self.early.missing(first, min(stop, self.start)) if first < self.start else []
        return [*below, *self.holes.within(max(first, self.start), min(stop, self.high))]

    def messages(self) -> int:
        """Distinct numbers that arrived."""
        return self.high - self.start - self.holes.open - self.given_up + self.early.total()

    def lowest(self) -> int:
        """The lowest number that arrived or was missed."""
        return self.early.first() if self.early else self.start

    def forget(self) -> list[GivenUp]:
        """Give up holes that are too old."""
        ended = self.holes.give_up()
        self.given_up += sum(block.numbers for block in ended)
        return ended
