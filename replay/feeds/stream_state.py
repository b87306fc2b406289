"""What is known of a stream of a feed, and its numberings as they are revealed and end."""

from typing import Final

from seqaudit.replay.feeds.holes import FeedHole
from seqaudit.replay.feeds.notes import (
    MAX_RANGES,
    Ended,
    Noted,
    Outage,
    Pause,
    Restart,
    StreamSettings,
    TakenRow,
    Trial,
)
from seqaudit.replay.feeds.numbering import (
    BY,
    Numbering,
)
from seqaudit.replay.feeds.rows import FeedRow
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome, Part
from seqaudit.replay.sequence.notes import Times
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.sequence.unwrap import unwrap

#: Gaps of a stream that get a row in the report; the rest is counted.
MAX_LISTED: Final = 1_000
#: Senders that are named.
MAX_SENDERS: Final = 16
#: A feed keeps what is missing elsewhere, so its gaps share this; it stays empty.
_NOTHING: Final = RangeSet()
_NO_COUNTS: Final[dict[Outcome, int]] = dict.fromkeys(Outcome, 0)


class StreamState:
    """One numbered stream: what was seen of it, and what is missing."""

    __slots__ = (
        "_held", "_held_high", "_held_revealed", "_near", "_numberings", "_order", "_silent",
        "_source", "_trial",
        "after_end", "alike", "arrivals", "asked", "bits", "bytes", "copies", "counts", "declares",
        "deepest", "destination", "duplicates", "either", "ended", "ended_numberings", "first",
        "forgotten", "gap_count", "gaps", "highest", "key", "last_frame", "last_ns", "late",
        "lowest", "messages", "needless", "now", "odd_counts", "open_at_end", "open_count",
        "outages", "past", "pauses", "recovered", "recovery", "reordered", "restarts", "sender",
        "senders", "settings", "sink", "space", "strays", "switches", "tails", "undecidable",
        "unlisted_pauses", "unrecovered", "useful", "wraps",
    )  # fmt: skip

    def __init__(self, key: str, settings: StreamSettings) -> None:
        self.key = key
        self.settings = settings
        self.bits = 64
        self.space = 0  # as the engine's
        self.declares: frozenset[str] = frozenset()
        self.sender: str | None = None
        self.destination: str | None = None
        self.senders: list[str] = []
        self.now: Numbering | None = None
        self.past: Numbering | None = None  # left by a restart that may be none
        self.restarts: list[Restart] = []
        self.switches = Times()
        self.strays = Noted()
        self.arrivals = 0
        self.bytes = 0
        self.first: Mark | None = None
        self.last_frame = -1  # of the last moment, none before ``first``
        self.last_ns = 0
        self.lowest: int | None = None
        self.highest: int | None = None
        self.messages = 0  # of numberings that have ended
        self.gap_count = 0
        self.gaps: dict[tuple[int, int], Gap] = {}  # (numbering, id) -> gap, the first ones
        self.counts = _NO_COUNTS.copy()
        self.unrecovered = RangeSet()  # the first ones
        self.open_at_end: list[FeedHole] = []
        self.open_count = 0
        self.tails = Noted()
        self.outages: dict[tuple[int, int], Outage] = {}  # (numbering, id) of a hole
        self.recovered = Noted()
        self.either = Noted()
        self.reordered = Noted()
        self.late = Durations()
        self.deepest = 0
        self.recovery = Durations()
        self.duplicates = Noted()
        self.copies = Noted()
        self.alike = 0  # of those, byte for byte and without IP ids; at least so many
        self.forgotten = 0
        self.useful = 0
        self.needless = Noted()
        self.undecidable = 0
        self.asked = RangeSet()
        self.ended: tuple[int, Mark] | None = None
        self.after_end = Noted()
        self.pauses: list[Pause] = []
        self.unlisted_pauses = 0
        self.wraps = 0
        self.odd_counts = 0  # datagrams whose message blocks do not show their count
        self.sink: list[TakenRow] | None = None  # of a line: what it takes, for the pair
        self.ended_numberings: dict[int, Ended] = {}
        self._numberings = 0
        self._near: int | None = None  # last number seen, for unwrapping
        self._held: FeedRow | None = None
        self._held_high = 0
        self._held_revealed = 0
        self._trial: Trial | None = None
        self._source = ""  # of the last row; it is known
        self._silent = False  # whether a silence is before that row
        self._order = 0  # frame of the row that is looked at

    @property
    def last(self) -> Mark | None:
        """The last moment; null before the first."""
        return None if self.first is None else Mark(self.last_frame, self.last_ns)

    def _sent_by(self, source: str) -> None:
        if source and source not in self.senders and len(self.senders) < MAX_SENDERS:
            self.sender = self.sender or source
            self.senders.append(source)
        self._source = source

    def _pause(self, pause: Pause) -> None:
        if len(self.pauses) < MAX_LISTED:
            self.pauses.append(pause)
        else:
            self.unlisted_pauses += 1

    def _unwrapped(self, raw: int) -> int:
        if not self.space or self._near is None:
            return raw
        return unwrap(raw, self._near, self.space - 1)

    def _known(self) -> int:
        """One past the highest number that can have been seen before."""
        high = -1 if self.now is None else self.now.high
        return high if self._trial is None else max(high, self._trial.next)

    def _begin(self, start: int, mark: Mark) -> None:
        self.now = Numbering(start, *mark, self._numberings)
        self._numberings += 1

    def _taken(self, first: int, stop: int, frame: int, at_ns: int, by: int) -> None:
        now = self.now
        if self.sink is not None and now is not None:
            self.sink.append(
                TakenRow(
                    self._order, frame, now.number, first, stop, at_ns, now.before_frame,
                    now.before_ns, by,
                )
            )  # fmt: skip

    def _reveal(self, now: Numbering, stop: int, frame: int, at_ns: int, by: int) -> None:
        holes = now.holes
        if at_ns - now.before_ns > self.settings.silence_ns:
            before = now.before_frame, now.before_ns
            self._outage(now, FeedHole(holes.revealed, now.high, stop, *before, frame, at_ns, by))
        now.reveal(stop, frame, at_ns, by)
        self.gap_count += 1
        if holes.revealed > holes.remembered:
            self._forget(now)

    def _outage(self, numbering: Numbering, hole: FeedHole) -> None:
        if len(self.outages) < MAX_LISTED:
            lost = RangeSet([(hole.first, hole.stop)])
            self.outages[numbering.number, hole.id] = Outage(hole, lost)

    def _forget(self, now: Numbering) -> None:
        for block in now.forget():
            self.counts[Outcome.UNRECOVERED] += block.numbers
            if block.first_id < MAX_LISTED or len(self.unrecovered) < MAX_RANGES:
                for hole in block.holes:
                    self._never_came(now, hole)

    def _never_came(self, numbering: Numbering, hole: FeedHole) -> None:
        if len(self.unrecovered) < MAX_RANGES:
            self.unrecovered.add(hole.first, hole.stop)
        if hole.id >= MAX_LISTED:
            return
        gap = self._gap(numbering, hole.id, hole)
        if gap is not None:
            gap.parts.setdefault(Outcome.UNRECOVERED, Part()).ranges.add(hole.first, hole.stop)

    def _retire(self, numbering: Numbering, end_ns: int | None = None) -> None:
        """A numbering is over: what is missing never comes.

        Args:
            end_ns: the capture's conversation ended then; null: the stream went on behind it.
        """
        if self.sink is not None:
            missing = RangeSet(
                (hole.first, hole.stop)
                for block in numbering.holes.remaining()
                for hole in block.holes
            )
            self.ended_numberings[numbering.number] = Ended(
                numbering.start, numbering.high, missing, numbering.given_up
            )
        young_ns = None if end_ns is None else end_ns - self.settings.late_ns
        settled = self.settings.settled_after(
            self.messages + numbering.messages(), self.deepest, self.declares
        )
        for block in numbering.holes.remaining():
            self.counts[Outcome.UNRECOVERED] += block.numbers
            young = young_ns is not None and block.newest_ns > young_ns
            if young or block.first_id < MAX_LISTED or len(self.unrecovered) < MAX_RANGES:
                for hole in block.holes:
                    self._never_came(numbering, hole)
                    if young_ns is not None and self._is_open(numbering, hole, young_ns, settled):
                        self.open_count += hole.stop - hole.first
                        if len(self.open_at_end) < MAX_LISTED:
                            self.open_at_end.append(hole)
        self.messages += numbering.messages()
        if numbering.high > numbering.start:
            low, high = numbering.lowest(), numbering.high - 1
            self.lowest = low if self.lowest is None else min(self.lowest, low)
            self.highest = high if self.highest is None else max(self.highest, high)
            if self.space:
                self.wraps += high // self.space - numbering.start // self.space

    def _is_open(self, numbering: Numbering, hole: FeedHole, young_ns: int, settled: int) -> bool:
        """Is it too early to call a hole lost?"""
        if hole.revealed_ns <= young_ns:
            return False
        near = numbering.high - hole.stop < settled
        return near or bool(self.asked.within(hole.first, hole.stop))

    def _note_restart(self, restart: Restart) -> None:
        if len(self.restarts) < MAX_LISTED:
            self.restarts.append(restart)

    def _gap(self, numbering: Numbering, number: int, hole: FeedHole | None = None) -> Gap | None:
        """Where the report lists how a hole ended; null if it lists no more.

        Args:
            number: its id.
            hole: null: as it was revealed.
        """
        key = (numbering.number, number)
        gap = self.gaps.get(key)
        if gap is None:
            if number >= MAX_LISTED or len(self.gaps) >= MAX_LISTED:
                return None
            hole = hole or numbering.holes.hole(number)
            gap = Gap(
                hole.first,
                hole.stop,
                hole.before(),
                hole.revealed(),
                BY[hole.by],
                None,
                0,
                _NOTHING,
            )
            self.gaps[key] = gap
        return gap
