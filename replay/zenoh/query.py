"""Queries of missed-samples recovery, and what they leave missing (zenoh.md 9.1, 9.4)."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from seqaudit.replay.sequence.elapsed import Watch
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.hops import Hop


class Sort(StrEnum):
    """What a query is for (zenoh.md 9.1)."""

    RECOVERY = "recovery"
    PERIODIC = "periodic"
    HEARTBEAT = "heartbeat"
    HISTORY = "history"
    LATE = "late publisher"


#: Queries for what is missing; a sample that only their replies bring was lost.
FOR_MISSING: Final = frozenset({Sort.RECOVERY, Sort.PERIODIC, Sort.HEARTBEAT})


@dataclass(slots=True)
class Query:
    """One query on the wire: from its Request to its ResponseFinal, or its timeout."""

    number: int
    requester: str
    key: str
    text: str  # its parameters
    sort: Sort
    source: str | None
    first: int | None  # sns asked for, unwrapped, inclusive; null: open
    last: int | None
    asked: Mark
    deadline_ns: int
    #: Job frames of the sample before a gap at its first sn, -1: of none, and of what showed it.
    gap: tuple[int, int] | None = None
    request_id: int | None = None  # null: not on the wire
    lasted: Watch | None = None  # its timeout, as far as it certainly passed; null: not on the wire
    newest: int | None = None  # highest sn of its source that had come live when it was asked
    asked_by: Hop | None = None  # the frame of the Request, where it travelled
    #: The last Request of its node that seems nobody's who lives here: for what nothing here is
    #: known of, or of one that was undeclared.
    stray: Mark | None = None
    preceded: bool = False  # no request is missing that may have been open when it was asked
    shared: bool = False  # nothing on the wire says whose of several subscribers it is
    beside: int = 0  # others of these, each of whom may have sent one like it
    answered_by: Hop | None = None  # that of the ResponseFinal
    settled: Watch | None = None  # behind the ResponseFinal
    ended: Mark | None = None
    timed_out: bool = False
    late_final: Mark | None = None  # a ResponseFinal that came behind its timeout
    replies: int = 0
    replied: RangeSet = field(default_factory=RangeSet)
    refused: int = 0  # replies that the transport threw away
    thrown: RangeSet = field(default_factory=RangeSet)  # samples of these
    responders: set[str] = field(default_factory=set)
    reply_bytes: int = 0
    reply_gap: bool = False  # transport sns are missing on the way of the replies
    gone: bool = False  # the session ended first
    lived: bool = False  # and the other end went on for long before that
    filled: int = 0  # samples it recovered
    all_lost: bool = False  # nothing of its source had come, and frames are missing
    blind: bool = False  # nothing of its source had come here when it was asked
    quiet: bool = False  # asked while nothing was missing
    evicted: RangeSet | None = None  # what the cache no longer had; null: its depth is not known

    def follows(self, gap: Gap | None) -> None:
        """A gap of a subscriber that it may be of begins at its first sn."""
        if gap is not None:
            found = -1 if gap.before is None else gap.before.frame, gap.revealed.frame
            self.gap = found if self.gap is None else min(found, self.gap)

    def unread(self, *, crossing: bool) -> int:
        """The first job frame that its subscriber may not have read yet when it lacked the first
        sn: it asks when it reads what shows the gap, however much has come since.

        Args:
            crossing: samples do not leave in the order of their sns, so that what is missing
                before that may hold another sample that showed it, and what it asks for.
        """
        if self.gap is None:
            return self.asked.frame
        if crossing and self.gap[1] >= self.asked.frame:  # what showed it to it is not here
            return 0
        return min(self.gap[not crossing] + 1, self.asked.frame)

    @property
    def final(self) -> bool:
        """A ResponseFinal ended it."""
        return self.ended is not None and not self.timed_out and not self.gone

    def open_at(self, mark: Mark) -> bool:
        """Whether it may have been open then, whatever the clock says of its timeout."""
        if not self.timed_out or self.lasted is None:
            return self.ended is None or self.ended >= mark
        until = self.late_final or self.lasted.reached
        return until is None or until >= mark

    def asks_for(self, source: str, sn: int) -> bool:
        """Whether a cache may answer it with this sample (C2 to C4)."""
        low, high = (sn if end is None else end for end in (self.first, self.last))
        return self.source in (None, source) and low <= sn <= high

    def waits_for(self, last: int | None) -> bool:
        """Whether it asks from a sample on that has not come by it, though all up to ``last`` seems
        handed on."""
        first = self.first
        known = first is not None and last is not None and first <= last
        return known and not (first is not None and self.replied.within(first, first + 1))

    def begins_below(self, start: int | None) -> bool:
        """Whether it asks for samples before the first that came here; null: none did."""
        return self.first is not None and start is not None and self.first < start

    def begins_at(self, sn: int) -> bool:
        """Whether it says that its subscriber had not handed on this sample, or any above it."""
        return not self.shared and self.sort in FOR_MISSING and (self.first or 0) <= sn

    @property
    def recovers(self) -> bool:
        """A gap made its subscriber ask."""
        return self.sort is Sort.RECOVERY

    @property
    def idle(self) -> bool:
        """Asked while nothing was missing, and that was so."""
        return self.quiet and not self.filled


class Miss(NamedTuple):
    """A miss callback that was due: [first, stop) of the source.

    Attributes:
        since_ns: since when they were known to be missing.
        asked: queries that ended while they were, the last of them with the callback; none: no
            query followed the gap.
        cached: a cache of the source was known then; null: nobody had told.
    """

    first: int
    stop: int
    due: Mark
    since_ns: int
    asked: tuple[Query, ...]
    cached: bool | None


@dataclass(frozen=True, slots=True)
class Had:
    """Samples [first, stop) that are not here and below what a query asks for.

    Attributes:
        since: when the last sample before them came.
        asks_from: job frame from which on it is known to ask; null: from the query on.
        asking: another query was open since then, whose end may have passed over them.
        followed: an earlier request says that it had not come so far yet: of a source that began
            again under its id it may have had higher numbers before.
    """

    first: int
    stop: int
    query: Query
    since: Mark | None
    asks_from: int | None
    asking: bool
    followed: bool

    @property
    def outcome(self) -> Outcome:
        """It had them, unless it is not known to have asked yet when they were due, as who asks may
        have come later and another one with its key expression missed them; or another query
        ended, at which it may have gone on without them."""
        if not begun_by(self.asks_from, self.since):
            return Outcome.UNASKED
        return Outcome.STOPPED if self.asking else Outcome.UNCAPTURED


def begun_by(frame: int | None, mark: Mark | None) -> bool:
    """Whether what is known since a job frame was so before a mark."""
    return frame is not None and mark is not None and frame < mark.frame
