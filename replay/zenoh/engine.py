"""zenoh: one session leg in one capture, hop by hop and end to end (zenoh.md 8, 9, 11).

Comes in: the events of conversation ``zenoh|udp|a|b``, ``zenoh|tcp|a|b`` or ``zenoh|udp|group`` of
one capture, in capture order; runs need not be joined. Goes out: transport counters, sources with
what was published, the subscribers behind this leg, their queries (``replay.zenoh.findings``).

    event             what it does here
    InitSyn           a new session: key tables, counters, fragments start anew (2.4)
    Init, Open, Join  resolution, initial sns, patch, who the ends are (3.1, 3.2, 8.6)
    Frame, Fragment   one counter a direction, priority, channel: accepted or not (8.3)
    push with sn      a sample: of its source, to every subscriber it matches, if it was accepted
    request           a query: recovery, periodic, heartbeat, history, late publisher
    response          a sample of a reply to that query
    response_final    the query ended; so does its timeout, and the end of the session
    push of 4 bytes   on a token key: a heartbeat
    declare.*         key tables, subscribers, queryables (caches), tokens
    cut               what is cut off here, or cannot be read, may have said anything

The engine knows no bytes: a fragmented message whose first piece does not say what it is has to be
put together by the rules for its counter, and is then read by the reader that is handed in.

A batch that only might be zenoh (``doubt``) counts if the session proves to be one.
"""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from seqaudit.decoders.contract.events import FRAME_BITS, Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.settings import MEMBER, Read, Vantage
from seqaudit.replay.contract.worth import BEGINNING, END, Doubt, Span, Worth
from seqaudit.replay.sequence.elapsed import Elapsed, Watch
from seqaudit.replay.sequence.gaps import Arrival, Mark
from seqaudit.replay.sequence.notes import Note, Times
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.sequence.unwrap import SAMPLE_MASK, unwrap
from seqaudit.replay.zenoh.both_ends import SAMPLES, Ends, kind_of
from seqaudit.replay.zenoh.cache import evicted
from seqaudit.replay.zenoh.document import DocumentSettings, DocumentWorld, passed_on
from seqaudit.replay.zenoh.hops import Held, Hop, HopCounter, Message, Taken, initial_sn
from seqaudit.replay.zenoh.keys import (
    UNRESOLVED,
    Advanced,
    KeyTables,
    Parameters,
    advanced,
    document_query,
    matches,
    parameters,
)
from seqaudit.replay.zenoh.lanes import Lanes
from seqaudit.replay.zenoh.parameters import PARAMETERS
from seqaudit.replay.zenoh.subscriber import (
    Cause,
    DocumentSubscriber,
    Query,
    Sort,
    Subscriber,
)
from seqaudit.replay.zenoh.timers import SETTLED_NS, OpenQueries, Timers

MASKS: Final = {0: 0x7F, 1: 0x3FFF, 2: 0x0FFF_FFFF, 3: 0xFFFF_FFFF}
#: Sources, subscribers and queries kept apart; a hostile capture may name millions.
MAX_SOURCES: Final = 20_000
MAX_QUERIES: Final = 100_000
#: Subscribers or queryables of one side; each is matched against each new source.
MAX_DECLARED: Final = 2_000
MAX_COUNTERS: Final = 10_000
#: An end that has nothing to say says that it lives, four times a lease: ns of silence a ms of
#: lease, and so much later at most.
KEEP_ALIVE_NS: Final = 250_000
LATE_NS: Final = 20_000_000
#: Samples of a source in frames that were thrown away, kept one by one.
MAX_KEPT_SNS: Final = 10_000
#: Stretches of doubt of one kind that are kept; the last goes on to the end.
MAX_SPANS: Final = 1_000
#: So long behind a query rows begin at the first frame of each tick of 2 ** TICK_BITS ns at least,
#: however a capture was cut (``decoders.zenoh.kernels``): these moments tell how much time passed.
TIMED_NS: Final = 16_000_000_000
TICK_BITS: Final = 24
#: Runs: elsewhere these begin where the capture was cut.
RUNS: Final = frozenset({"Frame", "push", "batches"})
#: Records do not overtake each other by more: a clock was set.
STEP_NS: Final = 1_000_000_000
#: zids tried for an end whose handshake was not captured, and how far behind its initial sn a
#: counter may be found: by chance one in 2,000 tries is (28 bits).
MAX_NAMED: Final = 8
NEAR: Final = 1 << 17
WIDE: Final = 0x0FFF_FFFF
#: End of the name of a source that is numbered in attachments (zenoh.md 9.7).
ROS: Final = "/ros"
#: End of the key expression of a subscriber to heartbeats (zenoh.md 9.1).
HEARTBEATS: Final = "/@adv/pub/**"
ROUTER: Final = "router"
BLOCK: Final = 8  # bit D of the QoS extension (zenoh.md 4)

#: What a declaration is known by: its id, and to a group its key expression.
Declared = tuple[int, str | None]


@dataclass(slots=True)
class End:
    """One end of the session."""

    zid: str | None = None
    whatami: str | None = None
    initial: int | None = None
    silent_ns: int | None = None  # before a KeepAlive
    said: Mark | None = None  # its last frame


class Jump(NamedTuple):
    """Live samples [first, stop) that are passed over between two frames of one counter.

    Attributes:
        before, after: sns of the frames of the samples around them.
        at: when the second of these came.
        settled: tells when samples that only are late would have come.
    """

    first: int
    stop: int
    counter: HopCounter
    before: int
    after: int
    at: Mark
    settled: Watch


@dataclass(slots=True)
class Source:
    """One publisher entity in one direction (S25); sns wrap at 2^32 (S24)."""

    sender: str
    receiver: str
    source: str  # zid/eid
    key: str | None = None
    near: int | None = None
    live: RangeSet = field(default_factory=RangeSet)
    replied: RangeSet = field(default_factory=RangeSet)
    accepted: RangeSet = field(default_factory=RangeSet)
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
    hop: Hop | None = None  # of its last accepted live sample
    mixed: bool = False  # its samples use several counters
    jumps: list[Jump] = field(default_factory=list)
    depth: int | None = None  # of its cache, at least, as replies show; null: no reply
    fragmented: int = 0

    def unwrapped(self, raw: int) -> int:
        """The sn as a growing integer."""
        self.near = raw if self.near is None else unwrap(raw, self.near, SAMPLE_MASK)
        return self.near

    def placed(self, raw: int) -> int:
        """The same for a number that says nothing about where the source is now."""
        return raw if self.near is None else unwrap(raw, self.near, SAMPLE_MASK)


@dataclass(slots=True)
class Unnumbered:
    """Samples without SourceInfo of one key expression and direction."""

    sender: str
    receiver: str
    key: str
    count: int = 0
    discarded: int = 0
    stamped: int = 0
    out_of_order: int = 0  # timestamp not newer than the last one of its clock
    first: Mark | None = None
    last: Mark | None = None
    clocks: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Caches:
    """The caches that one end has declared.

    Attributes:
        any: one of them does not say of what, or is no advanced one.
        stamped: zids of publishers whose samples are told apart by timestamps.
    """

    any: bool
    sources: frozenset[str]
    stamped: frozenset[str]

    @classmethod
    def of(cls, declared: Iterable[str]) -> "_Caches":
        told = [advanced(key) for key in declared]
        names = [one.source for one in told if one is not None and one.source is not None]
        stamped = (name.partition("/")[0] for name in names if name.endswith("/uhlc"))
        return cls(len(names) < len(told), frozenset(names), frozenset(stamped))


class ZenohEngine:
    """One session leg in one capture. See the module's docstring."""

    def __init__(
        self,
        conversation: str,
        given: Mapping[str, Given],
        vantage: Vantage,
        read: Read,
        passing: Ends | None = None,
    ) -> None:
        self.conversation = conversation
        #: What goes over, for the capture at the other end; null: there is none.
        self.passing = passing
        self.transport = conversation.split("|")[1]
        self.multicast = len(conversation.split("|")) == 3
        self.parameters = EngineParameters("zenoh", PARAMETERS, given)
        self.vantage = vantage
        self.recognised = False
        self.ends: dict[str, End] = {}
        self.counters: dict[tuple[str, str, int], HopCounter] = {}
        self.retired: list[tuple[tuple[str, str, int], HopCounter]] = []
        self.keys = KeyTables()
        self.sources: dict[tuple[str, str, str], Source] = {}
        self._tokens: dict[str, dict[Declared, str]] = {}  # sender -> id -> source
        self.unnumbered: dict[tuple[str, str, str], Unnumbered] = {}
        self.subscriptions: dict[str, dict[Declared, str]] = {}
        self.queryables: dict[str, dict[Declared, str]] = {}
        self.subscribers: dict[tuple[str, str | None, str], Subscriber] = {}
        self.ended: list[tuple[tuple[str, str | None, str], Subscriber]] = []
        self._unsubscribed: dict[tuple[str, str], Mark] = {}  # endpoint, key expression
        #: Endpoint and key expression of subscribers that recover: they subscribe to heartbeats.
        self.recovering: set[tuple[str, str]] = set()
        self.lanes: dict[int, Lanes] = {}  # of subscribers, which live as long as the engine
        self.queries: list[Query] = []
        self.unlisted_queries = 0
        self.session_starts = 0  # InitSyn or first Join captured
        self.closed: list[tuple[Mark, str]] = []
        self.messages: Counter[str] = Counter()
        self.doubted: dict[int, Counter[str]] = {}
        self.doubted_frames: Counter[int] = Counter()
        self.cut_frames: Counter[int] = Counter()  # of these, what is cut off
        self.cut_from: dict[str, tuple[int, int]] = {}  # sender -> first and last frame cut off
        self.whole: dict[int, Counter[str]] = {}  # messages that were fragmented
        self.unreadable = 0
        self.patch = 0
        self._mask = MASKS[2]
        self._open = OpenQueries()
        self._early_finals: dict[tuple[str, int], Mark] = {}  # of queries that were not open
        self.timers = Timers()
        self._by_name: dict[str, list[Source]] = {}  # by source, and by the zid of it
        self._cached_at: dict[str, _Caches] = {}  # by sender
        self._matched: dict[tuple[str, str, str, str | None], list[Subscriber]] = {}
        self._asked_by: dict[int, list[Subscriber]] = {}
        self._histories: dict[tuple[str, str], Query] = {}
        self._grace_ns = self.parameters.value("query_grace_ms") * 1_000_000
        self._document = self.parameters.value("rules") == "document"
        #: Null: the shipped machine, or the document's own traffic (D22).
        self.world: DocumentWorld | None = None
        if self._document:
            self.world = DocumentWorld(DocumentSettings.of(self.parameters))
        self._next_due = 2**63
        self.worth = Worth()
        self._doubts: Counter[Doubt] = Counter()
        self._fed = Mark(BEGINNING, 0)
        self._last_ns = 0
        self._elapsed = Elapsed()
        self._tick = -1
        self._timed_until = BEGINNING
        self._held = Held()
        self._read = read
        self._named: dict[str, set[str]] = {}  # endpoint -> zids that may be its node's
        self._cookies: set[str] = set()  # of InitAcks, each of which has its own (zenoh.md 3.1)
        self._cuts: list[int] = []  # when frames came that are not whole, never falling

    # -- events --------------------------------------------------------------------------------

    def feed(self, event: Event) -> None:
        """Replay one event."""
        if event.kind is Kind.MEMBER:
            return
        self._note_order(event)
        self._note_time(event)
        self.advance(event.at_ns)
        self._last_ns = max(self._last_ns, event.last_mark().at_ns)
        detail = json.loads(event.detail) if event.detail else {}
        word = event.wire_kind
        if word == "cut":
            if detail.get("unread"):
                why = "a batch could not be read to its end"
                self._doubt(Doubt.UNDECODED, event.frame, event.frame, why)
            self._cut_off(event, doubt=bool(detail.get("doubt")))
            return
        if word == "batches":
            self.doubted_frames[event.frame >> FRAME_BITS] += event.count
            return
        if detail.get("doubt"):
            self.doubted.setdefault(event.frame >> FRAME_BITS, Counter())[word] += event.count
        else:
            self.recognised = True
        self.messages[word] += event.count
        assert event.source is not None and event.destination is not None
        if self.passing is not None:
            self._note_passing(self.passing, event, detail)
        if event.flags & Flag.REFUSED and self.role(event.source, event.destination) == "receiver":
            return  # its node had closed the connection
        if word == "Frame":
            assert event.seqno is not None and event.stop_seqno is not None
            if event.flags & Flag.NETWORK_DUPLICATE:
                self._counter(event).network_duplicates += event.count
            taken = self._counter(event).frames_came(
                event.seqno, event.stop_seqno, event.first_mark(), event.last_mark()
            )
            self._note_turn(taken)
        elif word == "Fragment":
            self._fragment(event, detail)
        elif word == "push" and event.seqno is not None:
            self._samples(event, detail)
        else:
            self._message(word, detail, event, self._accepted(event))

    def _note_turn(self, taken: Taken) -> None:
        """A frame whose sn is not newer than that before it, over TCP: bytes are not those that
        were sent, or they are of a session whose beginning is not here."""
        if self.transport != "tcp" or taken.accepted_from == taken.first:
            return
        why = "a frame stands behind a newer one, which over TCP none does: bytes may be damaged"
        self._doubt(Doubt.DAMAGED, BEGINNING, END, why)

    def _note_passing(self, passing: Ends, event: Event, detail: Mapping[str, Any]) -> None:
        """What is compared with the capture at the other end."""
        word = event.wire_kind
        if word in ("Frame", "Fragment"):
            passing.frames(event, self._mask)
        elif word == "push" and event.seqno is not None:
            passing.message(SAMPLES, event, f"{detail['zid']}/{detail['eid']}", event.seqno)
        elif event.stamp is None and word[:1].isupper():
            passing.sign(event)
        elif (kind := self._kind_passing(word, event, detail)) is not None:
            passing.message(kind, event)

    def _kind_passing(self, word: str, event: Event, detail: Mapping[str, Any]) -> str | None:
        if word != "push":
            return kind_of(word)
        if "value" not in detail or detail.get("source"):
            return SAMPLES if detail.get("source") else None
        assert event.source is not None and event.destination is not None
        told = advanced(self.keys.resolve(event.source, event.destination, detail["key"]))
        return "heartbeats" if told is not None and told.role == "pub" else None

    def _cut_off(self, event: Event, *, doubt: bool) -> None:
        """What a frame said behind its beginning is cut off or cannot be read: it may be all."""
        assert event.source is not None
        if self.passing is not None:
            self.passing.cut = True
        if doubt:
            self.cut_frames[event.frame >> FRAME_BITS] += 1
        first, _ = self.cut_from.get(event.source, (event.frame, 0))
        if event.source in self.cut_from or len(self.cut_from) < MAX_COUNTERS:
            self.cut_from[event.source] = first, event.frame
        if len(self._cuts) < MAX_QUERIES:
            self._cuts.append(max(event.at_ns, self._cuts[-1] if self._cuts else 0))
        for counter in self.counters.values():
            counter.cut_at(event.frame)

    def _note_order(self, event: Event) -> None:
        """Time goes back: records stand in another order than on the wire, or the clock was set."""
        back_ns, frame = self._fed.at_ns - event.at_ns, self._fed.frame
        self._fed = event.first_mark()
        if back_ns <= 0:
            return
        why = "time goes back from one record of this session to the next"
        self._doubt(Doubt.OUT_OF_ORDER, frame, event.frame, why)
        if back_ns > STEP_NS:
            self._doubt(Doubt.CLOCK_STEPPED, frame, event.frame, why)

    def _doubt(self, doubt: Doubt, first: int, last: int, why: str) -> None:
        """A stretch of doubt; the last that is kept of one kind lasts to the end."""
        number = self._doubts[doubt] = self._doubts[doubt] + 1
        if number <= MAX_SPANS:
            self.worth.add(Span(doubt, first, END if number == MAX_SPANS else last, why))

    def _note_time(self, event: Event) -> None:
        """The first event of a tick, where every capture shows it, whatever its pieces.

        A KeepAlive that comes as soon as it is due shows that the clock was not set before it.
        """
        if event.wire_kind == "request":
            self._timed_until = event.at_ns + TIMED_NS
        assert event.source is not None
        end, tick = self._end(event.source), event.at_ns >> TICK_BITS
        since, end.said = end.said, event.last_mark()
        if tick == self._tick or (event.wire_kind in RUNS and event.at_ns >= self._timed_until):
            return
        self._tick = tick
        sure = False
        if event.wire_kind == "KeepAlive" and since is not None and end.silent_ns is not None:
            sure = abs(event.at_ns - since.at_ns - end.silent_ns) < LATE_NS
        self._elapsed.saw(event.first_mark(), sure=sure)

    def advance(self, at_ns: int) -> None:
        """Timeouts up to this time."""
        while self.timers.next_ns <= at_ns and (due := self.timers.due(at_ns)) is not None:
            what, query = due
            if isinstance(what, Subscriber):
                what.advance(at_ns)
                self.lanes_of(what).advance(at_ns)
                self._watch(what)
            elif query is not None and self._open.get(what) is query:
                query.timed_out = True
                query.reply_gap = self._gap_since(query, query.deadline_ns)
                self._open.lapse(what)
                self._end_query(query, Mark(query.asked.frame, query.deadline_ns))
        if self.world is not None and at_ns >= self._next_due:
            self.world.advance(at_ns)
            self._next_due = self.world.next_ns()

    def close(self) -> None:
        """The capture is over."""
        if self.world is not None:
            self.world.advance(self._last_ns)  # within the last run as well
        for subscriber in self.subscribers.values():
            if self.worth.spans or subscriber.history_asked:
                subscriber.learns = False  # records out of order look like late samples
            subscriber.finish()
        if self.world is not None:
            self.world.finish()

    def _watch(self, subscriber: Subscriber) -> None:
        """It waits for a query, which comes soon or not at all."""
        lanes = self.lanes.get(id(subscriber))
        for one in (subscriber, *(lanes.living if lanes is not None and lanes.all else ())):
            if one.waiting is not None:
                due_ns = one.waiting.at_ns + self._grace_ns + 1
                self.timers.add_subscriber(subscriber, due_ns)

    # -- sessions ------------------------------------------------------------------------------

    def _end(self, endpoint: str) -> End:
        if endpoint not in self.ends and len(self.ends) >= MAX_COUNTERS:
            return End()
        return self.ends.setdefault(endpoint, End())

    def _new_session(self) -> None:
        self.keys.clear()
        self._early_finals.clear()
        self._matched.clear()
        self.retired += [*self.counters.items()][: max(0, MAX_COUNTERS - len(self.retired))]
        self.counters.clear()
        self.subscriptions.clear()
        self.queryables.clear()
        self._cached_at.clear()
        self._tokens.clear()
        for end in self.ends.values():
            end.initial = None

    def _transport(self, word: str, detail: Mapping[str, Any], event: Event) -> None:
        assert event.source is not None
        end = self._end(event.source)
        if word in ("InitSyn", "InitAck"):
            if word == "InitSyn":
                self._new_session()
                self.session_starts += 1
            elif detail["cookie"] in self._cookies:
                why = "a handshake of this session stands in the capture twice"
                self.worth.add(Span(Doubt.TWICE, BEGINNING, END, why))
            elif len(self._cookies) < MAX_DECLARED:
                self._cookies.add(detail["cookie"])
            if end.zid not in (None, detail["zid"]):
                self._node_gone(event.source, event.first_mark())
            end.zid, end.whatami = detail["zid"], detail["whatami"]
            self._mask = MASKS[detail["resolution"]]
            self.patch = detail["patch"]
        elif word in ("OpenSyn", "OpenAck"):
            end.initial = detail["sn"]
            end.silent_ns = detail["lease_ms"] * KEEP_ALIVE_NS
        elif word == "Join":
            if end.zid is None:
                self.session_starts += 1
                end.zid, end.whatami = detail["zid"], detail["whatami"]
                self.patch = detail["patch"]
                self._join(event, detail)
        elif word == "Close":
            if len(self.closed) < MAX_DECLARED:
                self.closed.append((event.first_mark(), event.source))
            for identity in self._open.all():
                query = self._open.pop(identity)
                assert query is not None
                query.gone = True
                query.reply_gap = self._gap_since(query, event.at_ns)
                self._end_query(query, event.first_mark())

    def _join(self, event: Event, detail: Mapping[str, Any]) -> None:
        """Initial sns of a member of the group (8.6)."""
        assert event.source is not None and event.destination is not None
        pairs = detail["sns"]
        for priority in range(8):
            if len(pairs) == 1 and priority != 5:
                continue
            pair = pairs[0] if len(pairs) == 1 else pairs[priority]
            for reliable in (1, 0):
                key = (event.source, event.destination, priority * 2 + reliable)
                self.counters[key] = HopCounter(
                    self._mask,
                    pair[1 - reliable],
                    self.patch,
                    reliable=bool(reliable),
                    read=self._read,
                    held=self._held,
                )

    # -- transport -----------------------------------------------------------------------------

    def _counter(self, event: Event) -> HopCounter:
        assert event.source is not None and event.destination is not None
        code = event.conn_id or 0
        key = (event.source, event.destination, code)
        counter = self.counters.get(key)
        if counter is None:
            counter = HopCounter(
                self._mask,
                self._initial(event.source, event.destination),
                self.patch,
                reliable=bool(code & 1),
                read=self._read,
                held=self._held,
            )
            if len(self.counters) < MAX_COUNTERS:  # a group may have any number of senders
                self.counters[key] = counter
        return counter

    def _initial(self, sender: str, receiver: str) -> int | None:
        """The sender's first sn; by both zids where its Init was captured and its Open was not."""
        end, peer = self._end(sender), self._end(receiver)
        if end.initial is not None or self.multicast or not self.session_starts:
            return end.initial
        if end.zid is None or peer.zid is None:
            return None
        return initial_sn(end.zid, peer.zid, self._mask)

    def before_the_capture(self, sender: str, receiver: str, counter: HopCounter) -> int | None:
        """Frames that a counter had sent before its first one here, if its initial sn is known.

        Without a handshake the zids are guessed: of those that messages of either end name, the
        two that give a number shortly below the first one (H16).
        """
        if counter.known_start or self.multicast or not counter.seen or counter.mask < WIDE:
            return None
        found = {
            (counter.seen.first() - initial_sn(one, other, counter.mask)) & counter.mask
            for one in self._named.get(sender, ())
            for other in self._named.get(receiver, ())
            if one != other
        }
        near = min(found, default=NEAR)
        return near if near < NEAR else None

    def _names(self, endpoint: str, zid: str) -> None:
        named = self._named.setdefault(endpoint, set())
        if len(named) < MAX_NAMED and len(self._named) < MAX_COUNTERS:
            named.add(zid)

    def _accepted(self, event: Event) -> bool:
        """Whether the receiver took the frame that this message is in."""
        if event.stamp is None:
            return True
        taken = self._counter(event).taken
        return taken is None or self._place(event.stamp, event) >= taken.accepted_from

    def _hop(self, event: Event, raw: int | None) -> Hop | None:
        """Where a message travelled; null without a transport sn (low latency)."""
        if raw is None:
            return None
        counter = self._counter(event)
        return None if counter.taken is None else Hop(counter, self._place(raw, event))

    def _place(self, raw: int, event: Event) -> int:
        """The frame of a message, by its sn: one of the run of frames that was taken just now.

        A run may be longer than half the sn space, so its frames are counted from its first.
        """
        counter = self._counter(event)
        assert counter.taken is not None
        return counter.taken.first + (raw - counter.taken.first & counter.mask)

    def _fragment(self, event: Event, detail: dict[str, Any]) -> None:
        assert event.seqno is not None
        mark = event.first_mark()
        taken, message = self._counter(event).fragment_came(
            event.seqno, mark, detail, said_drop=bool(detail["drop"])
        )
        self._note_turn(taken)
        if message is not None:
            self._reassembled(message, event)
        elif taken.accepted_from >= taken.stop and detail.get("message"):
            self._reassembled(Message(detail["message"], mark), event, accepted=False)

    def _reassembled(self, message: Message, event: Event, *, accepted: bool = True) -> None:
        if message.told is None:
            self.unreadable += 1
            return
        word, detail = message.told
        if self.passing is not None and accepted:
            kind = self._kind_passing(word, event, detail)
            if kind is not None:
                sn = detail["source"][2] if kind == SAMPLES else None
                self.passing.put_together(kind, event, message.pieces, self._mask, sn)
        if accepted:
            self.whole.setdefault(event.frame >> FRAME_BITS, Counter())[word] += 1
            self.messages[word] += 1
        if word == "push" and detail.get("source"):
            zid, eid, sn = detail["source"]
            source = self._source(event, f"{zid}/{eid}", detail["key"])
            if source is not None:
                source.fragmented += 1
                _note_qos(source, detail, event, 1)
                self._arrived(source, sn, sn + 1, event, accepted=accepted)
        else:
            self._message(word, detail, event, accepted)

    # -- samples -------------------------------------------------------------------------------

    def _add(self, source: Source) -> Source:
        self.sources[source.sender, source.receiver, source.source] = source
        for name in {source.source, source.source.partition("/")[0]}:
            self._by_name.setdefault(name, []).append(source)
        return source

    def _source(self, event: Event, name: str, key: list[Any]) -> Source | None:
        assert event.source is not None and event.destination is not None
        identity = (event.source, event.destination, name)
        source = self.sources.get(identity)
        if source is None:
            if len(self.sources) >= MAX_SOURCES:
                return None
            source = self._add(Source(event.source, event.destination, name))
            self._names(event.source, name.partition("/")[0])
        if source.key is None or source.key.startswith(UNRESOLVED):
            source.key = self.keys.resolve(event.source, event.destination, key)
        return source

    def _samples(self, event: Event, detail: Mapping[str, Any]) -> None:
        """A run of samples; its transport refuses it as a whole or from its beginning."""
        assert event.seqno is not None and event.stop_seqno is not None
        source = self._source(event, f"{detail['zid']}/{detail['eid']}", detail["key"])
        if source is None:
            return
        _note_qos(source, detail, event, event.count)
        refused = 0
        if event.stamp is not None and self._counter(event).taken is not None:
            taken = self._counter(event).taken
            assert taken is not None
            first, last = self._place(event.stamp, event), self._place(detail["last_hop"], event)
            if last < taken.accepted_from:
                refused = event.count
            elif first < taken.accepted_from and last - first + 1 == event.count:
                refused = taken.accepted_from - first
        middle = event.seqno + refused
        if refused:
            self._arrived(source, event.seqno, middle, event, accepted=False)
        if middle < event.stop_seqno:
            self._arrived(source, middle, event.stop_seqno, event, accepted=True)

    def _arrived(
        self, source: Source, raw: int, raw_stop: int, event: Event, *, accepted: bool
    ) -> None:
        """Live samples [raw, raw_stop) of a source."""
        count = raw_stop - raw
        first = source.unwrapped(raw)
        stop = first + count
        if accepted:
            self._came_by(source, first, event)
        source.near = stop - 1
        source.first = source.first or event.first_mark()
        before, source.last = source.last, event.last_mark()
        source.arrivals += count
        source.bytes += event.size
        if event.flags & Flag.NETWORK_DUPLICATE:
            source.network_duplicates += count
        source.live.add(first, stop)
        if self.world is not None:
            self._passed(self.world, source, first, event, before)
        if not accepted:
            source.discarded.add(first, stop, event.first_mark())
            for sn in range(first, min(stop, first + MAX_KEPT_SNS - len(source.refused))):
                source.refused.setdefault(sn, event.first_mark())
            self._publish(source, first, stop)
            return
        source.accepted.add(first, stop)
        arrival = event.arrival()
        arrival = Arrival(arrival.first, arrival.last, False, arrival.fresh_id, None)
        for subscriber in self._subscribers_of(source):
            if self.world is not None:
                self._in_the_document(self.world, source, subscriber, (first, stop), arrival)
                continue
            subscriber.sample(first, stop, arrival, None)
            self.lanes_of(subscriber).sample(first, stop, arrival, None)
            self._watch(subscriber)

    def _came_by(self, source: Source, first: int, event: Event) -> None:
        """Notes by which counter live samples came, and what was passed over before them."""
        here, last = self._hop(event, _first_hop(event)), self._hop(event, _last_hop(event))
        before, source.hop = source.hop, last
        if here is None or before is None:
            return
        if before.counter is not here.counter:
            source.mixed = True
        elif source.live and first > source.live.stop() and len(source.jumps) < MAX_QUERIES:
            source.jumps.append(
                Jump(
                    source.live.stop(), first, here.counter, before.sn, here.sn,
                    event.first_mark(), self._elapsed.watch(event.first_mark(), SETTLED_NS),
                )
            )  # fmt: skip

    # -- the document's machine ------------------------------------------------------------------

    def _passed(
        self, world: DocumentWorld, source: Source, first: int, event: Event, before: Mark | None
    ) -> None:
        """A sample of a source passes: what is missing below it was published as well (D21)."""
        zid, _, entity = source.source.partition("/")
        since = 0 if before is None else before.at_ns
        on_link = any(
            counter.gaps_between(since, event.at_ns)
            or any(since <= mark.at_ns <= event.at_ns for mark in counter.discarded.marks)
            for (sender, receiver, _), counter in self.counters.items()
            if sender == source.sender and receiver == source.receiver
        )
        world.missing(source.sender, zid, entity, source.key or "", first, on_link=on_link)

    def _publish(self, source: Source, first: int, stop: int) -> None:
        if self.world is not None:
            zid, _, entity = source.source.partition("/")
            self.world.publish(source.sender, zid, entity, source.key or "", first, stop)

    def _in_the_document(
        self,
        world: DocumentWorld,
        source: Source,
        subscriber: Subscriber,
        run: tuple[int, int],
        came: Arrival,
    ) -> None:
        """A run to a subscriber; the first of it is in the cache when it is asked (D4)."""
        assert isinstance(subscriber, DocumentSubscriber)
        first, stop = run
        entity, key = source.source.partition("/")[2], source.key or ""
        for a, b in ((first, first + 1), (first + 1, stop)):
            if a < b:
                self._publish(source, a, b)
                world.live(subscriber, source.receiver, entity, key, (a, b), came)
        self._next_due = min(self._next_due, world.next_ns())

    def _subscribers_of(self, source: Source) -> list[Subscriber]:
        """The logical subscribers that get this source's samples here: one a key expression.

        On one session samples come only because somebody subscribed; to a group they are sent
        whether anybody did or not, so there a member with other subscribers than these gets none.
        """
        identity = (source.sender, source.receiver, source.source, source.key)
        matched = self._matched.get(identity)
        if matched is not None:
            return matched
        told = [
            subject
            for endpoint, declared in self.subscriptions.items()
            if endpoint != source.sender
            and (self._listens_here(endpoint) if self.multicast else endpoint == source.receiver)
            for subject in declared.values()
            if "@adv" not in subject
        ]
        subjects = sorted(
            {
                subject
                for subject in told
                if source.key is not None
                and (subject == source.key or ("*" in subject and matches(subject, source.key)))
            }
        )
        names: list[str | None] = list(subjects)
        unknown = (source.receiver, None, self._machine(source))
        if unknown in self.subscribers or not (names or (told and self.multicast)):
            names = [] if not names and self._left(source) else [None]
        if len(self._matched) >= MAX_SOURCES:
            self._matched.clear()
        found = self._matched[identity] = [self._subscriber(source, name) for name in names]
        return found

    def _left(self, source: Source) -> bool:
        """Its subscriber was undeclared; samples may still be on their way to it."""
        return any(
            endpoint == source.receiver and source.key is not None and matches(subject, source.key)
            for endpoint, subject in self._unsubscribed
        )

    def lanes_of(self, subscriber: Subscriber) -> Lanes:
        """The subscribers that a machine stands for, where their queries tell them apart (S28)."""
        found = self.lanes.get(id(subscriber))
        if found is None:
            found = self.lanes[id(subscriber)] = Lanes(subscriber)
        return found

    def _machine(self, source: Source) -> str:
        """What a subscriber knows a source by; the document's by its session alone (D11)."""
        return source.source.partition("/")[0] if self._document else source.source

    def _subscriber(self, source: Source, subject: str | None) -> Subscriber:
        identity = (source.receiver, subject, self._machine(source))
        found = self.subscribers.get(identity)
        if found is None:
            sort = DocumentSubscriber if self._document else Subscriber
            history = self._histories.get((source.receiver, subject or ""))
            limit = None if history is None else parameters(history.text).newest
            found = self.subscribers[identity] = sort(
                subject,
                self._machine(source),
                self._grace_ns,
                lambda who, a, b, query, since: self._cause(who, source, a, b, query, since),
                history=history is not None,
                history_max=limit,
                retention_ns=self.parameters.value("retention_ms") * 1_000_000,
                kept=lambda: source.source in self._tokens.get(source.sender, {}).values(),
            )
            found.recovers = lambda: (
                not self.multicast and (source.receiver, subject) in self.recovering
            )
            before = [one.until for known, one in self.ended if known == identity]
            if before:
                found.life, found.since = len(before) + 1, max(before)
        return found

    def _cause(
        self,
        who: Subscriber,
        source: Source,
        first: int,
        stop: int,
        query: Query | None,
        since_ns: int,
    ) -> Cause:
        """Why [first, stop) did not come back (zenoh.md 11)."""
        if self.world is not None:
            assert isinstance(who, DocumentSubscriber)
            return self.world.cause(who, first, stop)
        if source.source.endswith(ROS):
            return Cause.NOBODY
        if query is None:
            if source.live.within(first, stop) == [(first, stop)]:
                return Cause.LATE
            if self._cut(since_ns, since_ns + self._grace_ns):
                return Cause.CUT  # a query may have been among it
            if not self.multicast and self.session_starts and not self.has_cache(source):
                return Cause.NO_CACHE
            return Cause.NOT_ASKED
        until = query.deadline_ns if query.ended is None else query.ended.at_ns
        if self._cut(query.asked.at_ns, until):
            return Cause.CUT
        if query.gone:
            return Cause.GONE
        answered = query.replied.stop() if query.replied else 0
        if query.newest is not None and first > max(query.newest, answered - 1):
            return Cause.LATER  # published when it had been asked, and it stayed open
        if query.timed_out:
            return Cause.REPLY_LOST if query.reply_gap or query.replies else Cause.QUERY_LOST
        if query.replied and stop <= query.replied.first():
            return Cause.REPLY_OR_EVICTED if query.reply_gap else Cause.EVICTED
        if query.reply_gap:  # what is newer than a reply was in the cache with it
            held = bool(query.replied) and first >= query.replied.first()
            return Cause.REPLY_LOST if held else Cause.REPLY_OR_EVICTED
        if not query.replies and not self.has_cache(source):
            return Cause.NO_CACHE
        return Cause.EMPTY

    def _cut(self, start_ns: int, stop_ns: int) -> bool:
        """Whether messages in this span of time are cut off, or cannot be read."""
        place = bisect_left(self._cuts, start_ns)
        return place < len(self._cuts) and self._cuts[place] <= stop_ns

    def has_cache(self, source: Source) -> bool:
        """Whether a cache of this source is declared at the sender's side, or has answered."""
        if source.replies:
            return True
        caches = self._cached_at.get(source.sender)
        if caches is None:
            declared = self.queryables.get(source.sender, {}).values()
            caches = self._cached_at[source.sender] = _Caches.of(declared)
        zid = source.source.partition("/")[0]
        return caches.any or source.source in caches.sources or zid in caches.stamped

    # -- everything else -----------------------------------------------------------------------

    def _message(self, word: str, detail: dict[str, Any], event: Event, accepted: bool) -> None:
        if event.stamp is None and word[:1].isupper():
            self._transport(word, detail, event)
        elif not accepted:
            if word == "response" and detail.get("source") and event.destination is not None:
                query = self._open.get((event.destination, detail["id"]))
                if query is not None:
                    query.refused += 1
        elif word == "push":
            self._push(detail, event)
        elif word == "request":
            self._request(detail, event)
        elif word == "response":
            self._response(detail, event)
        elif word == "response_final":
            self._final(detail, event)
        elif word.startswith("declare."):
            self._declare(word.removeprefix("declare."), detail, event)
        elif word[:1].isupper():
            self._transport(word, detail, event)

    def _push(self, detail: dict[str, Any], event: Event) -> None:
        """A Put or Del without SourceInfo: a heartbeat, or a sample nobody can count (S1, D1)."""
        assert event.source is not None and event.destination is not None
        zid, eid, sn = detail.get("source") or (None, None, None)
        if not passed_on(zid, sn):
            assert sn is not None
            source = self._source(event, f"{zid}/{eid}", detail["key"])
            if source is not None:
                _note_qos(source, detail, event, 1)
                self._arrived(source, sn, sn + 1, event, accepted=True)
            return
        key = self.keys.resolve(event.source, event.destination, detail["key"])
        told = advanced(key)
        if told is not None and told.role == "pub" and told.source and "value" in detail:
            identity = (event.source, event.destination, told.source)
            source = self.sources.get(identity)
            if source is None:
                source = self._add(
                    Source(event.source, event.destination, told.source, told.subject)
                )
            source.heartbeats.add(event.first_mark())
            value = source.placed(detail["value"])
            source.heard = value if source.heard is None else max(value, source.heard)
            if self.world is not None:  # not of that machine
                return
            for subscriber in self._subscribers_of(source):
                subscriber.heartbeat(value, event.first_mark())
            return
        self._unnumbered(key, detail, event)

    def _unnumbered(self, key: str, detail: Mapping[str, Any], event: Event) -> None:
        assert event.source is not None and event.destination is not None
        identity = (event.source, event.destination, key)
        found = self.unnumbered.get(identity)
        if found is None:
            if len(self.unnumbered) >= MAX_SOURCES:
                return
            found = self.unnumbered[identity] = Unnumbered(event.source, event.destination, key)
        found.count += event.count
        found.first = found.first or event.first_mark()
        found.last = event.last_mark()
        stamp = detail.get("stamp")
        if stamp is not None:  # S2: ordered by clock
            found.stamped += 1
            if stamp[0] <= found.clocks.get(stamp[1], -1):
                found.out_of_order += 1
            elif len(found.clocks) < MAX_SOURCES:
                found.clocks[stamp[1]] = stamp[0]

    def _declare(self, what: str, detail: Mapping[str, Any], event: Event) -> None:
        assert event.source is not None and event.destination is not None
        sender, receiver = event.source, event.destination
        if what in ("subscriber", "u_subscriber"):
            self._matched.clear()
        elif what in ("queryable", "u_queryable"):
            self._cached_at.pop(sender, None)
        if what == "keyexpr":
            key = detail["key"]
            self.keys.declare(sender, detail["id"], self.keys.resolve(sender, receiver, key))
        elif what == "u_keyexpr":
            self.keys.forget(sender, detail["id"])
        elif what in ("subscriber", "queryable"):
            table = self.subscriptions if what == "subscriber" else self.queryables
            declared = table.setdefault(sender, {})
            if self._document and self._of_document(detail["key"], sender, receiver):
                self.world = None
            name = self._declared(sender, receiver, detail)
            if len(declared) < MAX_DECLARED:
                declared[name] = self.keys.resolve(sender, receiver, detail["key"])
                if what == "subscriber":
                    self._unsubscribed.pop((sender, declared[name]), None)
                    of, heartbeats, _ = declared[name].partition(HEARTBEATS)
                    if heartbeats:
                        self.recovering.add((sender, of))
                if what == "subscriber" and self.multicast and self._listens_here(sender):
                    self._subscribes_now(declared[name])
        elif what in ("token", "u_token"):
            self._token(what == "token", detail, sender, receiver)
        elif what in ("u_subscriber", "u_queryable"):
            table = self.subscriptions if what == "u_subscriber" else self.queryables
            subject = table.get(sender, {}).pop(self._declared(sender, receiver, detail), None)
            if what == "u_subscriber" and subject is not None:
                self._unsubscribes(sender, subject, event.first_mark())

    def _declared(self, sender: str, receiver: str, detail: Mapping[str, Any]) -> Declared:
        """How a declaration is told from others: to a group all of them have id 0.

        Not in zenoh.md; recorded with two subscribers of one node on a multicast link.
        """
        key = detail.get("key") if self.multicast else None
        return detail["id"], None if key is None else self.keys.resolve(sender, receiver, key)

    def _listens_here(self, endpoint: str) -> bool:
        """Whether what a member of the group receives is what was captured."""
        here = self.vantage.address if self.vantage.kind == MEMBER else None
        return here is None or _address(endpoint) == here

    def _subscribes_now(self, subject: str) -> None:
        """A member of the group subscribes: what came before was for nobody that is known."""
        for (_, receiver, _), source in self.sources.items():
            if source.key is not None and matches(subject, source.key):
                self.subscribers.pop((receiver, None, self._machine(source)), None)

    def _unsubscribes(self, endpoint: str, subject: str, mark: Mark) -> None:
        """The last subscriber of a node at a key expression is gone; a later one begins anew."""
        if subject in self.subscriptions.get(endpoint, {}).values():
            return
        if len(self._unsubscribed) < MAX_SOURCES:
            self._unsubscribed[endpoint, subject] = mark
        for identity in list(self.subscribers):
            if identity[0] == endpoint and identity[1] == subject:
                self._end_subscriber(identity, mark)

    def _end_subscriber(self, identity: tuple[str, str | None, str], mark: Mark) -> None:
        subscriber = self.subscribers.pop(identity)
        subscriber.end(mark)
        if subscriber.start is not None and len(self.ended) < MAX_SOURCES:
            self.ended.append((identity, subscriber))

    def _node_gone(self, endpoint: str, mark: Mark) -> None:
        """Another node is at this endpoint now: the subscribers of the one before are gone."""
        for identity in list(self.subscribers):
            if identity[0] == endpoint:
                self._end_subscriber(identity, mark)

    def _token(self, declared: bool, detail: Mapping[str, Any], sender: str, receiver: str) -> None:
        """A publisher or subscriber says that it lives; the token keeps what is known of it."""
        tokens = self._tokens.setdefault(sender, {})
        name = self._declared(sender, receiver, detail)
        if not declared:
            tokens.pop(name, None)
            return
        told = advanced(self.keys.resolve(sender, receiver, detail["key"]))
        if told is not None and told.source is not None and len(tokens) < MAX_DECLARED:
            tokens[name] = told.source
            self._names(sender, told.source.partition("/")[0])

    def _of_document(self, key: list[Any], sender: str, receiver: str) -> bool:
        """Whether a queryable is a cache of the document's own system (D22)."""
        return key[2] != "" and document_query(self.keys.resolve(sender, receiver, key)) is not None

    # -- queries -------------------------------------------------------------------------------

    def _request(self, detail: Mapping[str, Any], event: Event) -> None:
        assert event.source is not None and event.destination is not None
        requester = event.source
        key = self.keys.resolve(requester, event.destination, detail["key"])
        told = advanced(key)
        asked = parameters(detail["parameters"])
        if told is None and (asked.has_range or self._document):
            told = document_query(key)  # D19
        if told is None or told.role == "sub" or self.world is not None:
            return  # not of missed-samples recovery, or of another machine than is replayed
        subscribers = self._asking(requester, event.destination, told, asked)
        place = next((s for s in self._sources_of(requester, told.source)), None)
        sort = self._sort(told, asked, subscribers, requester, key, place)
        hop = self._hop(event, _first_hop(event))
        depth = self.parameters.value("cache_depth")
        number = len(self.queries) + self.unlisted_queries
        timeout_ns = 1_000_000 * detail.get("timeout_ms", self.parameters.value("query_timeout_ms"))
        query = Query(
            number, requester, key, detail["parameters"], sort, told.source,
            _placed(place, asked.first), _placed(place, asked.last), event.first_mark(),
            event.at_ns + timeout_ns,
            lasted=self._elapsed.watch(event.first_mark(), timeout_ns),
            newest=place.live.stop() - 1 if place is not None and place.live else None,
            asked_by=hop,
            shared=len(subscribers) > 1 or (
                told.role == "pub"
                and place is not None
                and len(_hear_heartbeats(self._subscribers_of(place))) > 1
            ),
        )  # fmt: skip
        if depth is not None and place is not None and asked.has_range:
            stop = 2**63 if query.last is None else query.last + 1
            query.evicted = evicted(place.live, depth, query.first or 0, stop)
        if len(self.queries) < MAX_QUERIES:
            self.queries.append(query)
        else:
            self.unlisted_queries += 1
        before = self._open.pop((requester, detail["id"]))
        if before is not None:
            before.timed_out = True
            self._end_query(before, event.first_mark())
        answered = self._early_finals.pop((requester, detail["id"]), None)
        if answered is not None:  # no id is used twice in a session
            why = "an answer stands before its request"
            self.worth.add(Span(Doubt.OUT_OF_ORDER, answered.frame, event.frame, why))
        self._open.add((requester, detail["id"]), query)
        self.timers.add_query((requester, detail["id"]), query)
        if sort is Sort.HISTORY:
            self._histories[requester, told.subject] = query
            for (who, subject, _), subscriber in self.subscribers.items():
                if who == requester and subject in (None, told.subject) and not subscriber.last:
                    subscriber.history_asked = True
                    subscriber.history = subscriber.last is None
            return
        self._asked_by[number] = subscribers
        for subscriber in subscribers:
            if len(subscribers) == 1:  # else nobody says whose query it is
                self.lanes_of(subscriber).query(query)
            subscriber.query(query)
        if answered is not None:
            self._open.pop((requester, detail["id"]))
            self._end_query(query, event.first_mark())

    def _sources_of(self, requester: str, name: str | None) -> list[Source]:
        return [
            source
            for source in ([] if name is None else self._by_name.get(name, []))
            if source.sender != requester
            and (source.receiver == requester or self.multicast)
            and (source.source == name or self._document)
        ]

    def _asking(
        self, requester: str, responder: str, told: Advanced, asked: Parameters
    ) -> list[Subscriber]:
        """Whose query this is: the subscriber of that key expression, or all it may be."""
        if told.source is None:
            return []
        found = []
        sources = self._sources_of(requester, told.source)
        if not sources:
            source = self._add(Source(responder, requester, told.source))
            if told.role == "pub":
                source.key = told.subject
            sources = [source]
        for source in sources:
            mine = self._subscribers_of(source)
            if told.role == "pub":
                found += _told_by_heartbeat(mine, _placed(source, asked.first))
                continue
            exact = [s for s in mine if s.subject == told.subject]
            if told.role == "*" and not exact and not told.subject.startswith(UNRESOLVED):
                exact = [s for s in mine if s.subject is None]
                if not exact and mine:
                    exact = [self._subscriber(source, told.subject)]
            found += exact or mine
        return found

    def _sort(
        self,
        told: Advanced,
        asked: Parameters,
        subscribers: list[Subscriber],
        requester: str,
        key: str,
        source: Source | None,
    ) -> Sort:
        if told.role == "":
            return Sort.HISTORY
        if told.role == "pub":
            return Sort.HEARTBEAT if asked.has_range else Sort.LATE
        if any(s.waiting is not None or s.last is None for s in subscribers):
            return Sort.RECOVERY
        first = _placed(source, asked.first)
        if source is not None and source.live and first is not None and first < source.live.stop():
            return Sort.RECOVERY  # it lacks what has passed here
        if self._open.recovering(requester, key):
            return Sort.RECOVERY
        return Sort.PERIODIC

    def _response(self, detail: Mapping[str, Any], event: Event) -> None:
        assert event.source is not None and event.destination is not None
        query = self._open.get((event.destination, detail["id"]))
        if query is not None:
            query.replies += 1
            query.reply_bytes += event.size
            if "responder" in detail:
                query.responders.add("{}/{}".format(*detail["responder"]))
        told = detail.get("source")
        if told is None:
            return
        source = self._source(event, f"{told[0]}/{told[1]}", detail["key"])
        if source is None:
            return
        sn = source.placed(told[2])
        if source.near is None:
            source.near = sn
        source.replies += 1
        source.replied.add(sn, sn + 1)
        source.first = source.first or event.first_mark()
        source.last = event.last_mark()
        if self.world is not None:
            zid = source.source.partition("/")[0]
            self.world.shown(zid, sn, sn + 1)
            self._publish(source, sn, sn + 1)
            return
        arrival = Arrival(event.first_mark(), event.first_mark(), True, event.fresh_id, None)
        if query is None:
            subscribers = self._subscribers_of(source)
            query = Query(
                -1, event.destination, "", "", Sort.RECOVERY, source.source, None, None,
                event.first_mark(), event.at_ns,
            )  # fmt: skip
        else:
            query.replied.add(sn, sn + 1)
            query.all_lost = self._all_lost(source, query)
            if query.sort is not Sort.HISTORY:  # history may be limited, and of several sources
                newest = max(query.replied.stop() - 1, sn if query.newest is None else query.newest)
                source.depth = max(source.depth or 0, newest - query.replied.first() + 1)
            subscribers = self._asked_by.get(query.number, [])
            if query.sort is Sort.HISTORY:
                subject = (
                    advanced(query.key) or document_query(query.key) or Advanced("", "", None)
                ).subject
                subscribers = [
                    s
                    for s in self._subscribers_of(source)
                    if s.subject in (None, subject) or subject.startswith(UNRESOLVED)
                ]
        for subscriber in subscribers:
            if subscriber.source == self._machine(source):
                subscriber.sample(sn, sn + 1, arrival, query)
                self.lanes_of(subscriber).sample(sn, sn + 1, arrival, query)

    def _all_lost(self, source: Source, query: Query) -> bool:
        """A heartbeat's query for a source of which nothing came: its samples were lost.

        A late joiner sends the same query; but then no frames are missing since the session began.
        """
        if query.sort is not Sort.HEARTBEAT or query.first is not None or query.last is None:
            return False
        missing = sum(
            counter.lost.total()
            for (sender, receiver, _), counter in self.counters.items()
            if (sender, receiver) == (source.sender, source.receiver) and counter.known_start
        )
        return not source.live and missing > query.last - query.replied.first()

    def _final(self, detail: Mapping[str, Any], event: Event) -> None:
        assert event.destination is not None
        identity, mark = (event.destination, detail["id"]), event.first_mark()
        query, lapsed = self._open.pop(identity), self._open.lapsed(identity)
        if lapsed is not None:
            lapsed.late_final = mark
        elif query is None and len(self._early_finals) < MAX_DECLARED:
            self._early_finals[identity] = mark
        if query is not None:
            query.settled = self._elapsed.watch(mark, SETTLED_NS)
            query.answered_by = self._hop(event, _first_hop(event))
            query.reply_gap = self._gap_since(query, event.at_ns)
            self._end_query(query, mark)

    def _end_query(self, query: Query, mark: Mark) -> None:
        query.ended = mark
        if query.sort is Sort.HISTORY:
            for identity, open_query in list(self._histories.items()):
                if open_query is query:
                    del self._histories[identity]
            for (who, _, _), subscriber in self.subscribers.items():
                if who == query.requester and subscriber.history:
                    subscriber.history_ended(mark)
            return
        for subscriber in self._asked_by.pop(query.number, []):
            subscriber.query_ended(query, mark)
            self.lanes_of(subscriber).query_ended(query, mark)

    def _gap_since(self, query: Query, stop_ns: int) -> bool:
        """Transport sns are missing on the way to the requester since it asked."""
        return any(
            counter.gaps_between(query.asked.at_ns, stop_ns)
            for (_, receiver, _), counter in self.counters.items()
            if receiver == query.requester
        )

    # -- where ---------------------------------------------------------------------------------

    def zid(self, endpoint: str) -> str | None:
        """The node at an endpoint, if its handshake was captured."""
        end = self.ends.get(endpoint)
        return None if end is None else end.zid

    def asks_for_itself(self, endpoint: str) -> bool:
        """Whether what a node asks for it lacks itself; a router asks for others."""
        end = self.ends.get(endpoint)
        return end is not None and end.whatami not in (None, ROUTER)

    def role(self, sender: str, receiver: str) -> str:
        """What this capture sees of a direction: "receiver", "sender" or "between"."""
        if self.vantage.kind != MEMBER or self.vantage.address is None:
            return "between"
        here = self.vantage.address
        if _address(receiver) == here or (self.multicast and _address(sender) != here):
            return "receiver"
        return "sender" if _address(sender) == here else "between"


def _hear_heartbeats(mine: list[Subscriber]) -> list[Subscriber]:
    """Those that subscribe to heartbeats; all, where no declaration says it of any."""
    return [one for one in mine if one.recovers()] or mine


def _told_by_heartbeat(mine: list[Subscriber], first: int | None) -> list[Subscriber]:
    """Who asks for ``first`` and what follows because of a heartbeat (S14, S16).

    The key expression of that query is the publisher's. Whoever asks subscribes to heartbeats, has
    no query open, and asks for what follows the last that it handed on.
    """
    found = _hear_heartbeats(mine)
    found = [one for one in found if not one.queries] or found
    return [one for one in found if one.last is None or first == one.last + 1] or found


def _note_qos(source: Source, detail: Mapping[str, Any], event: Event, count: int) -> None:
    """Whether samples may be dropped, by congestion control or by their channel (zenoh.md 4)."""
    if not detail["qos"] & BLOCK:
        source.unblocked += count
    if event.conn_id is not None and event.conn_id >= 0 and not event.conn_id & 1:
        source.unreliable += count


def _address(endpoint: str) -> str:
    return endpoint.rpartition(":")[0].strip("[]")


def _first_hop(event: Event) -> int | None:
    """The transport sn of the frame of a message, or of the last piece of one."""
    return event.seqno if event.wire_kind == "Fragment" else event.stamp


def _last_hop(event: Event) -> int | None:
    """The same for the last message of a run."""
    if event.wire_kind == "Fragment" or event.stamp is None:
        return _first_hop(event)
    last: int = event.details().get("last_hop", event.stamp)
    return last


def _placed(source: Source | None, raw: int | None) -> int | None:
    if raw is None:
        return None
    return raw if source is None else source.placed(raw)
