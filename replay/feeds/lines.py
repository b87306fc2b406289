"""Two lines that carry the same feed, taken as one (decoders/README.md 5).

Each line is a stream of its own; here is what a receiver of both gets. A number counts as arrived
if either line brings it, or a repair does; what neither brings is the only real loss. Lines are
compared from the higher of their first numbers to the lower of their last ones: before and behind
that, only one of them speaks.

A gap of the pair is revealed by the first row that skips numbers which no line had brought: a row
begins at every gap of its line, so that does not depend on where runs were cut.
"""

from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.feeds.holes import FeedHole
from seqaudit.replay.feeds.notes import MAX_RANGES, Noted, StreamSettings, TakenRow
from seqaudit.replay.feeds.numbering import Numbering
from seqaudit.replay.feeds.rows import FeedRow
from seqaudit.replay.feeds.stream import FeedStream
from seqaudit.replay.feeds.times import Leads
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.gaps import Mark, Outcome
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.sequence.unwrap import unwrap

LINES: Final = ("A", "B")
#: Gaps of a pair that get a row in the report.
MAX_LISTED: Final = 1_000


@dataclass(slots=True)
class LineLoss:
    """What one line lost that the other brought; ``by_numbering``: the same by its numbering."""

    count: int = 0
    ranges: RangeSet = field(default_factory=RangeSet)
    by_numbering: dict[int, RangeSet] = field(default_factory=dict)

    def add(self, numbering: int, part: Range) -> None:
        if len(self.ranges) < MAX_RANGES:
            self.ranges.add(*part)
            self.by_numbering.setdefault(numbering, RangeSet()).add(*part)


class LinePair:
    """The two lines of one feed."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.streams: dict[str, FeedStream] = {}
        self.leads = Leads()
        self.compared = 0  # numbers in the range of both
        self.messages = 0  # distinct numbers that came at all
        self.lost_only = {line: LineLoss() for line in LINES}
        self.lost = 0  # on both, for good
        self.lost_ranges = RangeSet()
        self.lost_holes: list[FeedHole] = []
        self.young: list[FeedHole] = []  # lost on both, a moment before the end
        self.young_count = 0
        self.recovered = Noted()
        self.recovery = Durations()
        self.needless = 0
        self.disagree = 0  # numberings that only one line had
        self._latest: dict[str, FeedRow] = {}  # of each line, its numbers unwrapped
        self._numberings: dict[int, Numbering] = {}
        self._repaired: dict[int, int] = {}

    def has_begun(self, line: str) -> bool:
        """Whether a row of the line has come."""
        return line in self._latest

    def unwrapped(self, line: str, row: FeedRow, space: int) -> int:
        """The first number of a row of a line; of both lines they come in order. A line begins
        where the other one is at that time: what it sends in a row it sends evenly."""
        before, other = self._latest.get(line), self._latest.get(LINES[1 - LINES.index(line)])
        near = row.first
        if before is not None:
            near = before.stop - 1
        elif other is not None:
            took_ns = max(other.last_ns - other.at_ns, 1)
            passed_ns = min(max(row.at_ns - other.at_ns, 0), took_ns)
            near = other.first + (other.stop - 1 - other.first) * passed_ns // took_ns
        first = unwrap(row.first, near, space - 1)
        self._latest[line] = row._replace(first=first, stop=first + row.stop - row.first)
        return first

    def take(self, rows: list[TakenRow]) -> None:
        """Rows of both lines, sorted."""
        for _, frame, number, first, stop, at_ns, before_frame, before_ns, by in rows:
            merged = self._numberings.get(number)
            if merged is None:
                merged = self._numberings[number] = Numbering(first, frame, at_ns, number)
            high = merged.high
            if first > high:
                merged.before_frame, merged.before_ns = before_frame, before_ns
                merged.reveal(first, frame, at_ns, by)
                merged.forget()
            elif first < high and first < stop:
                merged.late(first, min(stop, high), merged.holes.revealed)
            if stop > high:
                merged.high = max(first, stop)

    def standing(self, first: int, stop: int) -> tuple[list[Range], int]:
        """As of a stream: what neither line has brought, and one past the highest number."""
        merged = self._now()
        if merged is None:
            return [], first
        return merged.not_here(first, stop), merged.high

    def repair(self, row: FeedRow) -> int:
        """A repair, unwrapped; returns how many numbers of it had been missing."""
        merged = self._now()
        if merged is None or row.first >= merged.high:
            return 0
        late = merged.late(row.first, min(row.stop, merged.high), merged.holes.revealed)
        filled = 0
        for _, first, stop, revealed_ns, _ in late.filled:
            self.recovered.add(first, stop, row.mark())
            self.recovery.add(row.at_ns - revealed_ns, stop - first)
            filled += stop - first
        self.needless += late.copies
        self._repaired[merged.number] = self._repaired.get(merged.number, 0) + filled
        return filled

    def was_asked(self, first: int, stop: int, mark: Mark, by: str | None) -> None:
        """Somebody asked for [first, stop); the pair's gaps do not tell requests."""

    def nearest(self, raw: int) -> int:
        """The number that a raw one of a request or repair stands for."""
        return min(self.streams.items())[1].nearest(raw)

    def close(self, end_ns: int, settings: StreamSettings) -> None:
        """Both lines have been closed."""
        self.leads.close()
        ended = {line: stream.ended_numberings for line, stream in self.streams.items()}
        for number, merged in sorted(self._numberings.items()):
            self.messages += merged.messages()
            spans = [ended.get(line, {}).get(number) for line in LINES]
            first, second = spans
            if first is None or second is None:
                self.disagree += 1
                continue
            low = max(first.start, second.start)
            high = min(first.high, second.high)
            if low >= high:
                self.disagree += 1
                continue
            self.compared += high - low
            both = merged.given_up
            settled = settings.settled_after(
                merged.messages(),
                max(stream.deepest for stream in self.streams.values()),
                min(self.streams.items())[1].declares,
            )
            left = [hole for block in merged.holes.remaining() for hole in block.holes]
            for hole in left:
                begin, stop = max(hole.first, low), min(hole.stop, high)
                if begin >= stop:
                    continue
                both += stop - begin
                near = high - hole.stop < settled  # of the line that is behind
                if near and end_ns - hole.revealed_ns < settings.late_ns:
                    self.young_count += stop - begin
                    self.young.append(hole._replace(first=begin, stop=stop))
                    continue
                if len(self.lost_ranges) < MAX_RANGES:
                    self.lost_ranges.add(begin, stop)
                if len(self.lost_holes) < MAX_LISTED:
                    self.lost_holes.append(hole._replace(first=begin, stop=stop))
            self.lost += both
            repaired = self._repaired.get(number, 0)
            other = RangeSet((*self.lost_ranges, *self.recovered.ranges))
            for hole in self.young:
                other.add(hole.first, hole.stop)
            listed = len(other) < MAX_RANGES  # else some of both would be listed as of one
            for line, span in zip(LINES, (first, second), strict=True):
                own = self.lost_only[line]
                own.count += span.missing_within(low, high) - both - repaired
                for a, b in span.missing.within(low, high) if listed else ():
                    for part in other.missing(a, b):
                        own.add(number, part)
        self.lost -= self.young_count
        for line, stream in self.streams.items():
            came = self.lost_only[line].by_numbering
            for (number, _), gap in stream.gaps.items():
                if number in came:
                    here = came[number].within(gap.first, gap.stop)
                    gap.turn(here, Outcome.UNRECOVERED, Outcome.OTHER_LINE)

    def silent(self, line: str, silence_ns: int) -> Mark | None:
        """When a line fell silent while the other went on; null if it did not."""
        other = self.streams.get(LINES[1 - LINES.index(line)])
        own = self.streams.get(line)
        if own is None or other is None or own.last is None or other.last is None:
            return None
        return own.last if other.last.at_ns - own.last.at_ns > silence_ns else None

    def _now(self) -> Numbering | None:
        return self._numberings[max(self._numberings)] if self._numberings else None
