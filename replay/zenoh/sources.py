"""What publishers sent over one leg: their samples, numbered or not (zenoh.md 5.2, 9.2)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from seqaudit.decoders.contract.zenoh_detail import Detail
from seqaudit.replay.contract.event import Event
from seqaudit.replay.sequence.elapsed import Watch
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.notes import Note, Times
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.sequence.unwrap import SAMPLE_MASK, unwrap
from seqaudit.replay.zenoh.hops import Hop, HopCounter

#: Sources kept apart; a hostile capture may name millions.
MAX_SOURCES: Final = 20_000
#: Sources that are remembered as the last ones.
MAX_RECENT: Final = 1_000
#: Frames of replies in front of missing ones that are kept.
MAX_EDGES: Final = 100_000
#: End of the name of a source that is numbered in attachments (zenoh.md 9.7).
ROS: Final = "/ros"
BLOCK: Final = 8  # bit D of the QoS extension (zenoh.md 4)


class Jump(NamedTuple):
    """Live samples [first, stop) that are passed over between two frames of one counter.

    Attributes:
        before, after: sns of the frames of the samples around them.
        at: when the second of these came.
        early: no frame of the counter is missing in which they may have come before; put() calls
            of several threads send out of the order of sns.
        settled: tells when samples that only are late would have come.
    """

    first: int
    stop: int
    counter: HopCounter
    before: int
    after: int
    at: Mark
    early: bool
    settled: Watch


@dataclass(slots=True)
class Source:
    """One publisher entity in one direction (S25); sns wrap at 2^32 (S24)."""

    sender: str
    receiver: str
    source: str  # zid/eid
    key: str | None = None
    unnamed: bool = False  # its samples came with the number of a key that is not known here
    near: int | None = None
    live: RangeSet = field(default_factory=RangeSet)
    replied: RangeSet = field(default_factory=RangeSet)
    discarded: Note = field(default_factory=Note)
    refused: dict[int, Mark] = field(default_factory=dict)  # each of these, and when first
    arrivals: int = 0
    replies: int = 0
    bytes: int = 0
    network_duplicates: int = 0
    unblocked: int = 0  # samples that may be dropped under congestion
    unreliable: int = 0  # on the best-effort channel
    heartbeats: Times = field(default_factory=Times)
    heard: int | None = None
    first: Mark | None = None
    last: Mark | None = None
    before: Mark | None = None  # when the one before its last came, at the latest
    hop: Hop | None = None  # of its last accepted live sample
    live_at: Mark | None = None  # when that came
    mixed: bool = False  # its samples use several counters
    session: int = 0  # in which its highest live sample came
    again: bool = False  # in a later session its numbers are lower: it began again under its id
    untold: str | None = None  # why frames do not tell what any subscriber was handed of it
    jumps: list[Jump] = field(default_factory=list)
    edges: list[Hop] = field(default_factory=list)  # of replies, right behind which one is missing
    replied_by: Hop | None = None  # the frame of its last reply
    depth: int | None = None  # of its cache, at least, as replies show; null: no reply
    fragmented: int = 0

    @property
    def node(self) -> str:
        """ZenohId of its publisher's node."""
        return self.source.partition("/")[0]

    def unwrapped(self, raw: int) -> int:
        """The sn as a growing integer."""
        self.near = raw if self.near is None else unwrap(raw, self.near, SAMPLE_MASK)
        return self.near

    def placed(self, raw: int) -> int:
        """The same for a number that says nothing about where the source is now."""
        return raw if self.near is None else unwrap(raw, self.near, SAMPLE_MASK)

    def told(self, raw: int) -> int | None:
        """The last sn, as a heartbeat of it tells; null: nothing was published yet.

        zenoh sends no heartbeat then; zenoh-pico's counter stands one below 0 (zenoh.md 9.2).
        """
        unborn = self.near is None and raw == SAMPLE_MASK
        told = -1 if unborn else self.placed(raw)
        return None if told < 0 else told

    def came(self, event: Event) -> Mark | None:
        """Samples came, live or by a reply; returns when the last before them did."""
        self.first = self.first or event.first_mark()
        before, self.last = self.last, event.last_mark()
        self.before = before if event.count == 1 else self.last
        return before

    def replied_in(self, hop: Hop | None) -> None:
        """A frame that seems to be accepted has a reply."""
        before, self.replied_by = self.replied_by, hop
        if before is not None and before.next_is_lost() and len(self.edges) < MAX_EDGES:
            self.edges.append(before)

    def replies_in_vain(self) -> bool:
        """Frames overtake each other, and one that had a reply was not accepted if the next, which
        is not here, came before it (zenoh.md 8.3): nobody asks again then, as for a live sample."""
        last = [] if self.replied_by is None else [self.replied_by]
        return any(hop.counter.late.ranges and hop.next_is_lost() for hop in self.edges + last)

    def note_qos(self, detail: Detail, event: Event, count: int) -> None:
        """Whether samples may be dropped: congestion control and their channel (zenoh.md 4)."""
        if not detail["qos"] & BLOCK:
            self.unblocked += count
        if event.conn_id is not None and event.conn_id >= 0 and not event.conn_id & 1:
            self.unreliable += count


@dataclass(slots=True)
class Unnumbered:
    """Samples without SourceInfo of one key expression and direction."""

    sender: str
    receiver: str
    key: str
    count: int = 0
    stamped: int = 0
    out_of_order: int = 0  # timestamp not newer than the last one of its clock
    first: Mark | None = None
    last: Mark | None = None
    clocks: dict[str, int] = field(default_factory=dict)

    def came(self, detail: Detail, event: Event) -> None:
        self.count += event.count
        self.first = self.first or event.first_mark()
        self.last = event.last_mark()
        stamp = detail.get("stamp")
        if stamp is not None:  # S2: ordered by clock
            self.stamped += 1
            if stamp[0] <= self.clocks.get(stamp[1], -1):
                self.out_of_order += 1
            elif len(self.clocks) < MAX_SOURCES:
                self.clocks[stamp[1]] = stamp[0]


class UnnumberedSamples:
    """All of one leg, by sender, receiver and key expression."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str, str], Unnumbered] = {}

    def came(self, key: str, detail: Detail, event: Event) -> None:
        """One that names no source, or no number of one."""
        assert event.source is not None and event.destination is not None
        identity = (event.source, event.destination, key)
        found = self.all.get(identity)
        if found is None:
            if len(self.all) >= MAX_SOURCES:
                return
            found = self.all[identity] = Unnumbered(event.source, event.destination, key)
        found.came(detail, event)

    def since_last_of(self, source: Source) -> bool:
        """Did one come with the key of a source since its last live sample?"""
        found = self.all.get((source.sender, source.receiver, source.key or ""))
        if found is None or found.last is None or source.live_at is None:
            return False
        return found.last.frame >= source.live_at.frame


class Sources:
    """All of one leg, by sender, receiver and name.

    Attributes:
        crossing: nodes whose samples leave in another order than that of their sns.
    """

    def __init__(self) -> None:
        self.crossing: set[str] = set()
        #: Those whose samples came last, and when, the last one at the end.
        self._recent: dict[tuple[str, str, str], tuple[Source, int]] = {}
        self.all: dict[tuple[str, str, str], Source] = {}
        self._by_name: dict[str, list[Source]] = {}  # by source, and by the zid of it

    def add(self, source: Source) -> Source:
        self.all[source.sender, source.receiver, source.source] = source
        for name in {source.source, source.node}:
            self._by_name.setdefault(name, []).append(source)
        return source

    def came(self, source: Source, at_ns: int) -> None:
        """Samples of a source came live."""
        identity = source.sender, source.receiver, source.source
        self._recent.pop(identity, None)
        self._recent[identity] = source, at_ns
        if len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]

    def since(self, at_ns: int) -> Iterator[Source]:
        """Those that came last, back to the first of which none came since then."""
        for source, last_ns in reversed(self._recent.values()):
            if last_ns <= at_ns:
                return
            yield source

    def named(self, name: str | None) -> Iterable[Source]:
        """Those of that name, zid/eid or the zid alone."""
        return () if name is None else self._by_name.get(name, ())


def placed(source: Source | None, raw: int | None) -> int | None:
    """The sn of a query as a growing integer, beside those of its source; null: an open end, as one
    is below which there is nothing (``told``)."""
    if raw is None:
        return None
    found = raw if source is None else source.placed(raw)
    return None if found < 0 else found
