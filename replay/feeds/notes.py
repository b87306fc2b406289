"""What a feed's stream writes down: numbers noticed, trials, restarts, pauses; its settings."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from seqaudit.replay.feeds.holes import FeedHole
from seqaudit.replay.feeds.rows import FeedRow, alike, joined
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.notes import MAX_KEPT_MARKS
from seqaudit.replay.sequence.ranges import RangeSet

#: Ranges of numbers that a stream lists.
MAX_RANGES: Final = 10_000
#: A restart is this many numbers in the new place, or more.
RESTART_NUMBERS: Final = 64
#: A trial with so many rows is one without waiting longer (bounded memory).
MAX_TRIAL_ROWS: Final = 1 << 16
#: RFC 3550 A.1: so many numbers at once are no ordinary loss in a space of 16 bits, and so large a
#: part of them in a smaller one.
MAX_DROPOUT: Final = 3_000
SMALL: Final = 1 << 16
#: A sender that skips so many in less than this part of the time that it took for as many counts on
#: elsewhere.
SOONER: Final = 4
#: A stream of so many messages has shown how late its messages are …
LEARNED_FROM: Final = 1_000
#: … and one that comes so many times later than any before is lost.
LATER_THAN_ANY: Final = 4


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """What a stream is judged by; times in ns."""

    late_ns: int = 1_000_000_000
    late_numbers: int = 1_000
    restart_distance: int = 100
    restart_ns: int = 1_000_000_000
    max_jump: int = 10_000_000
    silence_ns: int = 3_000_000_000
    learns: bool = True

    def leap(self, space: int) -> int:
        """A jump further ahead than this, in a space of so many numbers, may be no loss."""
        part = MAX_DROPOUT * space // SMALL - 1
        small = space <= SMALL and part > self.restart_distance
        return min(part, self.max_jump) if small else self.max_jump

    def settled_after(self, messages: int, deepest: int, declares: frozenset[str]) -> int:
        """So many numbers above it a gap is lost, though the capture ends soon after it showed.

        A second is 8,000 packets of a video stream: there nothing comes so late. Where nobody has
        given ``feed.late_numbers`` and nobody can ask for messages again, the stream itself says
        how many others overtake one.

        Args:
            messages: that arrived.
            deepest: by how many numbers the latest of them was overtaken.
            declares: sorts of messages that the layout describes.
        """
        if not self.learns or messages < LEARNED_FROM or declares & {"request", "repair"}:
            return self.late_numbers
        return max(self.restart_distance, LATER_THAN_ANY * deepest)


class Noted:
    """Numbers that something was noticed about: all counted, the first ones listed.

    A stream has many of these and a capture has many streams, so lists are made when needed.
    """

    __slots__ = ("_marks", "_ranges", "count")

    def __init__(self) -> None:
        self.count = 0
        self._marks: list[Mark] | None = None
        self._ranges: RangeSet | None = None

    @property
    def ranges(self) -> RangeSet:
        """The first ones."""
        if self._ranges is None:
            self._ranges = RangeSet()
        return self._ranges

    @property
    def marks(self) -> list[Mark]:
        """The first moments of it."""
        return self._marks or []

    def add(self, first: int, stop: int, mark: Mark) -> None:
        """[first, stop) was noticed."""
        self.count += stop - first
        ranges = self._ranges
        if ranges is None:
            ranges = self._ranges = RangeSet()
        if len(ranges) < MAX_RANGES:
            ranges.add(first, stop)
        if self._marks is None:
            self._marks = [mark]
        elif len(self._marks) < MAX_KEPT_MARKS:
            self._marks.append(mark)

    def retract(self, first: int, stop: int) -> None:
        """Of [first, stop), noted before, nothing is to be said."""
        self.count -= stop - first
        self.ranges.remove(first, stop)

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass(slots=True)
class Trial:
    """Rows that may be a new numbering."""

    start: int
    next: int
    began: Mark
    last_ns: int
    rows: list[FeedRow]
    after_silence: bool = False
    numbers: int = 0
    behind: int = 0  # numbers that came below the highest of the trial
    interrupted: bool = False  # by a row that was none of it: its last one goes on no more

    def continues(self, row: FeedRow) -> bool:
        """Is this a part of the last row?"""
        last = self.rows[-1] if self.rows and not self.interrupted else None
        return last is not None and last.stop == row.first and alike(last, row)

    def in_order(self) -> bool:
        """Did the numbers come as a sender counts? Old copies by chance are few of their span, or
        come in any order."""
        if not self.numbers:
            return True
        ahead = self.numbers - self.behind
        return 4 * self.behind <= self.numbers and 3 * ahead >= self.next - self.start

    def alive(self, following: int, last: Mark) -> bool:
        """Something says that nothing beyond ``following`` had been sent by then: was it news
        of the last row?"""
        if self.rows and self.rows[-1].stop == following:
            self.rows[-1] = self.rows[-1]._replace(last_frame=last.frame, last_ns=last.at_ns)
            self.last_ns = max(self.last_ns, last.at_ns)
            return True
        return False

    def holds(self, row: FeedRow) -> bool:
        """A repair of what may have come in the trial before it waits there for what that was."""
        if not self.start <= row.first < self.next or len(self.rows) >= MAX_TRIAL_ROWS:
            return False
        self.rows.append(row)
        return True

    def extend(self, row: FeedRow) -> None:
        """The next row; one that continues the last becomes part of it."""
        if self.continues(row):
            self.rows[-1] = joined(self.rows[-1], row)
        else:
            self.rows.append(row)
        self.interrupted = False
        self.numbers += row.stop - row.first
        self.behind += max(min(row.stop, self.next) - row.first, 0)
        self.next = max(self.next, row.stop)
        self.last_ns = max(self.last_ns, row.last_ns)


class Restart(NamedTuple):
    """Where a numbering ended and the next began.

    Attributes:
        expected: the number that would have come.
        back: the capture's time goes back there: its records may be out of order.
        used: the numbering that ended had passed its first number.
        alike: declared in the bytes of a datagram shortly before, and without an IP id: the network
            may have brought that one again.
    """

    mark: Mark
    expected: int | None
    start: int
    declared: bool
    back: bool = False
    used: bool = False
    alike: bool = False

    @property
    def silent(self) -> bool:
        """Did a sender begin anew without a word?"""
        return not (self.declared or self.back)


class TakenRow(NamedTuple):
    """A row that a stream took into one of its numberings, or a number it was told of.

    A pair takes those of both lines by ``order``: the first frame of the row at which it was known
    to be one (a late row is complete only then), which no cut changes.
    """

    order: int
    frame: int
    numbering: int
    first: int
    stop: int
    at_ns: int
    before_frame: int
    before_ns: int
    by: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A numbering that is over: [start, high) less what was missing."""

    start: int
    high: int
    missing: RangeSet
    given_up: int  # missing as well, too old to be listed

    def missing_within(self, first: int, stop: int) -> int:
        """How many of [first, stop) were missing; what is not listed is taken to be inside."""
        return self.given_up + sum(b - a for a, b in self.missing.within(first, stop))


class Outage(NamedTuple):
    """A hole whose revelation followed a silence; ``lost``: what of it did not come by itself."""

    hole: FeedHole
    lost: RangeSet


class Pause(NamedTuple):
    """A time without any datagram of the stream."""

    before: Mark
    after: Mark

    def length(self) -> int:
        return self.after.at_ns - self.before.at_ns
