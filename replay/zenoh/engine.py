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

A batch that only might be zenoh (``doubt``) counts if the session proves to be one: by another
batch, or on zenoh's port by the order of its frames (``recognition``).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, cast

from seqaudit.decoders.contract.events import END as ENDED
from seqaudit.decoders.contract.events import FRAME_BITS, HOLE, Ending, Flag, Kind
from seqaudit.decoders.contract.zenoh_detail import Detail, Key
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.settings import Read, Vantage
from seqaudit.replay.contract.worth import BEGINNING, END, Doubt, Span
from seqaudit.replay.sequence.gaps import Arrival, Mark
from seqaudit.replay.zenoh.audience import Audience
from seqaudit.replay.zenoh.both_ends import SAMPLES, SessionEnds, kind_of
from seqaudit.replay.zenoh.declarations import Declarations
from seqaudit.replay.zenoh.document import DocumentSettings, DocumentWorld, passed_on
from seqaudit.replay.zenoh.explaining import Explaining
from seqaudit.replay.zenoh.hops import AcceptedFrames, FragmentedMessage
from seqaudit.replay.zenoh.in_document import InDocument
from seqaudit.replay.zenoh.keys import UNRESOLVED, advanced
from seqaudit.replay.zenoh.link import HANDSHAKE, Link, first_hop, last_hop
from seqaudit.replay.zenoh.moments import ASKS_NS, Moments
from seqaudit.replay.zenoh.parameters import PARAMETERS
from seqaudit.replay.zenoh.queries import Queries
from seqaudit.replay.zenoh.reasons import LAPSED, LINKS, UNDECLARED, UNJOINED
from seqaudit.replay.zenoh.recognition import Recognition
from seqaudit.replay.zenoh.sources import MAX_SOURCES, Jump, Source, Sources, UnnumberedSamples
from seqaudit.replay.zenoh.subscriber import Subscriber
from seqaudit.replay.zenoh.timers import SETTLED_NS, Timers

#: Jumps in the sns of one source that are kept.
MAX_JUMPS: Final = 100_000
#: Reason of a Close that a node sends whose application closes its session (zenoh.md 3.3); others
#: end the link alone, and its subscribers stay.
BY_ITSELF: Final = 0
#: Id of the interest that every peer has in what the other declares (zenoh.md 4.5).
INITIAL_INTEREST: Final = 0
#: Samples of a source in frames that were thrown away, kept one by one.
MAX_KEPT_SNS: Final = 10_000


class ZenohEngine:
    """One session leg in one capture. See the module's docstring.

    Attributes:
        passing: what goes over, for the capture at the other end; null: there is none.
        recognition: whether this is zenoh at all.
        cut_frames: of pieces, frames that only might be zenoh and are cut off.
        whole: of pieces, messages that were fragmented.
    """

    def __init__(
        self,
        conversation: str,
        given: Mapping[str, Given],
        vantage: Vantage,
        read: Read,
        passing: SessionEnds | None = None,
    ) -> None:
        self.conversation = conversation
        self.passing = passing
        self.parameters = EngineParameters("zenoh", PARAMETERS, given)
        document = self.parameters.value("rules") == "document"
        self.recognition = Recognition()
        self.cut_frames: Counter[int] = Counter()
        self.whole: dict[int, Counter[str]] = {}
        self.unreadable = 0
        self.unnumbered = UnnumberedSamples()
        self.timers = Timers()
        self._grace_ns = self.parameters.value("query_grace_ms") * 1_000_000
        self.moments = Moments()
        self.link = Link(conversation, vantage, read)
        self.declared = Declarations(self.link)
        self.sources = Sources()
        self.document = InDocument(
            DocumentWorld(DocumentSettings.of(self.parameters)) if document else None, self.link
        )
        self.audience = Audience(
            self.link, self.declared, self.sources,
            grace_ns=self._grace_ns,
            retention_ns=self.parameters.value("retention_ms") * 1_000_000,
            document=document,
            signs=self.moments.signs,
            why=Explaining(self.link, self.moments, self.document, self._grace_ns).why,
        )  # fmt: skip
        self.queries = Queries(
            self.link, self.moments, self.declared, self.audience, self.timers, self.parameters
        )

    @property
    def world(self) -> DocumentWorld | None:
        """Null: the shipped machine, or the document's own traffic (D22)."""
        return self.document.world

    # -- events --------------------------------------------------------------------------------

    def feed(self, event: Event) -> None:
        if event.kind is Kind.MEMBER:
            return
        if event.wire_kind == HOLE:
            self.link.hole(event)
            self.moments.hole(event)
            return
        if event.wire_kind == ENDED:
            self._connection_ended(event, Ending(str(event.details()["how"])))
            return
        if event.flags & Flag.REFUSED and self.link.transport == "udp":
            self._reached_nobody(event)
            return
        if event.wire_kind == "batches":  # what is in them has rows of its own
            self.recognition.counts(event, event.details().get("doubt", 0))
            return
        sign = self.link.sent(event)
        if self.link.heard_from(event):
            self.audience.changed()
        self.moments.came(event, sign=sign, under_way=self.link.under_way)
        self.advance(event.at_ns)
        self.moments.last_ns = max(self.moments.last_ns, event.last_mark().at_ns)
        detail = cast(Detail, event.details())
        word = event.wire_kind
        if word == "cut":
            self._cut_off(event, detail)
            return
        self.recognition.takes(event, detail.get("doubt", 0))
        assert event.source is not None and event.destination is not None
        if self.passing is not None:
            self._note_passing(self.passing, event, detail)
        if (
            event.flags & Flag.REFUSED
            and self.link.role(event.source, event.destination) == "receiver"
        ):
            return  # its node had closed the connection
        if word in ("Frame", "Fragment"):
            self._frames(event, detail)
        elif word == "push" and event.seqno is not None:
            self._samples(event, detail)
        else:
            self._message(word, detail, event, self.link.accepted(event))

    def _reached_nobody(self, event: Event) -> None:
        """The host of an end says that nobody listens there, and quotes what came last (ICMP)."""
        assert event.source is not None and event.destination is not None
        end, mark = event.destination, event.first_mark()
        if event.source == self.link.opener and self.link.role(event.source, end) == "sender":
            self.queries.close(mark)  # its socket is for this session alone: its node drops that
        if self.world is not None or self.link.role(event.source, end) != "receiver":
            return
        if event.wire_kind == "Frame":
            return  # what was in it says more
        detail, count = cast(Detail, event.details()), event.count
        zid, eid, sn = detail.get("source") or (detail.get("zid"), detail.get("eid"), event.seqno)
        source = self.audience.source(event.source, end, f"{zid}/{eid}")
        if source is not None and sn is not None:
            first = source.placed(sn)
            self.audience.came_to_nobody(source, first, first + count)
        self._note_silence(mark)
        self.audience.shut(end, mark, source)

    def _connection_ended(self, event: Event, how: Ending) -> None:
        """What one end sent over TCP is over; no Close says who ended the session, or why."""
        assert event.source is not None
        if how is Ending.UNSEEN or self.link.closed or self.world is not None:
            return
        mark, said = event.first_mark(), self.moments.spoke(event.source)
        if how is Ending.SILENT and said is not None:
            self.audience.silent(event.source, said.frame)
        for endpoint in (event.source, event.destination):
            self.audience.broke_off(str(endpoint), mark, unread=how is Ending.RESET)
        self.queries.close(mark)

    def _cut_off(self, event: Event, detail: Detail) -> None:
        """What a frame said behind its beginning is cut off or cannot be read: it may be all."""
        if detail.get("unread"):
            why = "a batch could not be read to its end"
            self.moments.doubt(Doubt.UNDECODED, event.frame, event.frame, why)
        if self.passing is not None:
            self.passing.cut = True
        if detail.get("doubt"):
            self.cut_frames[event.frame >> FRAME_BITS] += 1
        elif not detail.get("unread"):
            self.recognition.cut_off(event)
        self.moments.cut_off(event)
        self.link.cut_at(event.frame)

    def _note_turn(self, taken: AcceptedFrames) -> None:
        """A frame whose sn is not newer than that before it, over TCP: bytes are not those that
        were sent, or they are of a session whose beginning is not here."""
        if self.link.transport != "tcp" or taken.accepted_from == taken.first:
            return
        self.moments.damaged("a frame stands behind a newer one, which over TCP none does")

    def _note_passing(self, passing: SessionEnds, event: Event, detail: Detail) -> None:
        """What is compared with the capture at the other end."""
        word = event.wire_kind
        if word in ("Frame", "Fragment"):
            passing.frames(event, self.link.mask)
        elif word == "push" and event.seqno is not None:
            passing.message(SAMPLES, event, f"{detail['zid']}/{detail['eid']}", event.seqno)
        elif event.stamp is None and word[:1].isupper():
            passing.sign(event)
        elif (kind := self._kind_passing(word, event, detail)) is not None:
            passing.message(kind, event)

    def _kind_passing(self, word: str, event: Event, detail: Detail) -> str | None:
        if word != "push":
            return kind_of(word)
        if "value" not in detail or detail.get("source"):
            return SAMPLES if detail.get("source") else None
        assert event.source is not None and event.destination is not None
        told = advanced(self.declared.keys.resolve(event.source, event.destination, detail["key"]))
        return "heartbeats" if told is not None and told.role == "pub" else None

    def advance(self, at_ns: int) -> None:
        """Timeouts up to this time."""
        while self.timers.next_ns <= at_ns and (due := self.timers.due(at_ns)) is not None:
            what, query = due
            if isinstance(what, Subscriber):
                what.advance(at_ns)
                self.audience.lanes_of(what).advance(at_ns)
                self._watch(what)
            elif query is not None:
                self.queries.lapse(what, query)
        self.document.advance(at_ns)

    def close(self) -> None:
        """The capture is over."""
        self._lapse()
        if self.world is not None:
            self.world.advance(self.moments.last_ns)  # within the last run as well
        for source in self.sources.all.values():
            if self.audience.may_not_know(source):
                source.untold = source.untold or UNDECLARED
        self.link.several &= not self.queries.by_this_link(self.sources.all.values())
        if self.link.several:
            self.moments.worth.add(Span(Doubt.UNDECODED, BEGINNING, END, LINKS))
            for source in self.sources.all.values():
                source.untold = LINKS
        asks_ns = END if self.link.multicast else self.moments.last_ns - ASKS_NS
        for subscriber in self.audience.subscribers.values():
            if self.moments.worth.spans or subscriber.history_asked:
                subscriber.learns = False  # records out of order look like late samples
            subscriber.stops(asks_ns)
            self.audience.lanes_of(subscriber).finish()
        self.audience.settle()
        if self.world is not None:
            self.world.finish()
        self.moments.close()

    def _watch(self, subscriber: Subscriber) -> None:
        """It waits for a query, which comes soon or not at all."""
        lanes = self.audience.lanes.get(id(subscriber))
        for one in (subscriber, *(lanes.living if lanes is not None and lanes.all else ())):
            if one.waiting is not None:
                due_ns = one.waiting.at_ns + self._grace_ns + 1
                self.timers.add_subscriber(subscriber, due_ns)

    # -- sessions ------------------------------------------------------------------------------

    def _transport(self, word: str, detail: Detail, event: Event) -> None:
        assert event.source is not None
        mark = event.first_mark()
        if word in HANDSHAKE and self.link.begins(word, event, detail.get("cookie")):
            self.link.began(mark)
            self._note_silence(mark)
            self._lapse()
            self.queries.close(mark)
            self.declared.clear()
            self.audience.began(mark)
            self.queries.began()
        if word in ("InitSyn", "InitAck"):
            if word == "InitAck" and self.link.known(detail["cookie"]):
                why = "a handshake of this session stands in the capture twice"
                self.moments.worth.add(Span(Doubt.TWICE, BEGINNING, END, why))
            if word == "InitAck":
                self.link.several, self.link.qos = detail["multilink"], bool(detail["qos"])
            if self.link.introduced(event.source, detail):
                self.audience.node_gone(event.source, mark)
        elif word in ("OpenSyn", "OpenAck"):
            self.link.opened(event.source, detail["sn"])
            self.moments.opened(event.source, detail["lease_ms"])
        elif word == "Join":
            self.link.joined(event, detail)
        elif word == "Close":
            self.link.close(event)
            self._note_silence(mark)
            self.queries.close(mark)
            if detail["reason"] == BY_ITSELF:
                self.audience.node_gone(event.source, mark)

    def _note_silence(self, mark: Mark) -> None:
        """A session ends: who had said nothing for too long may have ended before."""
        if self.link.multicast or self.link.transport == "tcp":
            return
        for endpoint in self.link.ends:
            since = self.moments.unheard_since(endpoint, mark)
            if since is not None:
                self.audience.silent(endpoint, since)

    def _lapse(self) -> None:
        """A session is over: what waited, and what came behind an end that was silent for longer
        than its lease."""
        since, self.moments.lapsed = self.moments.lapsed, None
        if since is None:
            return
        waiting = {
            (to, one.source) for (to, *_), one in self.audience.subscribers.items() if one.pending
        }
        for source in self.sources.all.values():
            came = source.last is not None and source.last > since
            if came or (source.receiver, self.audience.machine(source)) in waiting:
                source.untold = LAPSED

    # -- frames --------------------------------------------------------------------------------

    def _frames(self, event: Event, detail: Detail) -> None:
        """A run of frames, or a fragment: both are of one counter (8.1)."""
        assert event.seqno is not None and event.stop_seqno is not None
        counter, copy = self.link.counter(event), bool(event.flags & Flag.NETWORK_DUPLICATE)
        counter.network_duplicates += event.count * copy
        mark = event.first_mark()
        if event.wire_kind == "Frame":
            self._note_turn(
                counter.frames_came(
                    event.seqno, event.stop_seqno, mark, event.last_mark(), copy=copy
                )
            )
            return
        taken, message = counter.fragment_came(
            event.seqno, mark, detail, said_drop=bool(detail["drop"]), copy=copy
        )
        self._note_turn(taken)
        if message is not None:
            self._reassembled(message, event)

    def _reassembled(self, message: FragmentedMessage, event: Event) -> None:
        if message.told is None:
            self.unreadable += 1
            return
        accepted = message.accepted
        word, detail = message.told
        if self.passing is not None and accepted:
            kind = self._kind_passing(word, event, detail)
            if kind is not None:
                sn = detail["source"][2] if kind == SAMPLES else None
                self.passing.put_together(kind, event, message.pieces, self.link.mask, sn)
        if accepted:
            self.whole.setdefault(event.frame >> FRAME_BITS, Counter())[word] += 1
        if word == "push" and detail.get("source"):
            zid, eid, sn = detail["source"]
            source = self._source(event, f"{zid}/{eid}", detail["key"])
            if source is not None:
                source.fragmented += 1
                source.note_qos(detail, event, 1)
                self._arrived(source, sn, sn + 1, event, accepted=accepted)
        else:
            self._message(word, detail, event, accepted)

    # -- samples -------------------------------------------------------------------------------

    def _source(self, event: Event, name: str, key: Key) -> Source | None:
        assert event.source is not None and event.destination is not None
        identity = (event.source, event.destination, name)
        source = self.sources.all.get(identity)
        if source is None:
            if len(self.sources.all) >= MAX_SOURCES:
                return None
            source = self.sources.add(Source(event.source, event.destination, name))
            self.link.names(event.source, name.partition("/")[0])
        named = self.declared.keys.resolve(event.source, event.destination, key)
        if named.startswith(UNRESOLVED):
            source.unnamed = True
            source.untold = UNDECLARED if self.link.session_starts else source.untold
        if source.key is None or source.key.startswith(UNRESOLVED):
            source.key = named
        return source

    def _samples(self, event: Event, detail: Detail) -> None:
        """A run of samples; its transport refuses it as a whole or from its beginning."""
        assert event.seqno is not None and event.stop_seqno is not None
        source = self._source(event, f"{detail['zid']}/{detail['eid']}", detail["key"])
        if source is None:
            return
        source.note_qos(detail, event, event.count)
        refused = 0
        if event.stamp is not None and self.link.counter(event).taken is not None:
            taken = self.link.counter(event).taken
            assert taken is not None
            first = self.link.place(event.stamp, event)
            last = self.link.place(detail["last_hop"], event)
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
        before = source.came(event)
        source.arrivals += count
        source.bytes += event.size
        if event.flags & Flag.NETWORK_DUPLICATE:
            source.network_duplicates += count
        if not source.live or stop > source.live.stop():
            source.session = self.link.session_starts
        elif accepted and source.session < self.link.session_starts:
            source.again = True
        elif accepted and source.live.missing(first, stop):
            self.sources.crossing.add(source.node)
        source.live.add(first, stop)
        self.document.passed(source, first, event, before)
        if not accepted:
            source.discarded.add(first, stop, event.first_mark())
            for sn in range(first, min(stop, first + MAX_KEPT_SNS - len(source.refused))):
                source.refused.setdefault(sn, event.first_mark())
            self.document.publish(source, first, stop)
            return
        if self.link.unjoined(source.sender):
            source.untold = UNJOINED
        source.live_at = event.last_mark()
        self.sources.came(source, source.live_at.at_ns)
        arrival = Arrival(event.first_mark(), event.last_mark(), False, event.fresh_id, None)
        for subscriber in self.audience.of(source):
            if self.world is not None:
                self.document.live(source, subscriber, (first, stop), arrival)
                continue
            subscriber.sample(first, stop, arrival, None)
            self.audience.lanes_of(subscriber).sample(first, stop, arrival, None)
            self._watch(subscriber)

    def _came_by(self, source: Source, first: int, event: Event) -> None:
        """Notes by which counter live samples came, and what was passed over before them."""
        here, last = self.link.hop(event, first_hop(event)), self.link.hop(event, last_hop(event))
        before, source.hop = source.hop, last
        if here is None or before is None:
            return
        if before.counter is not here.counter:
            source.mixed = True
        elif source.live and first > source.live.stop() and len(source.jumps) < MAX_JUMPS:
            if self.unnumbered.since_last_of(source):
                self.moments.damaged("a sample without a number stands where one is missing")
            mark = event.first_mark()
            source.jumps.append(
                Jump(
                    source.live.stop(), first, here.counter, before.sn, here.sn, mark,
                    self.moments.whole_since(here, mark, SETTLED_NS),
                    self.moments.elapsed.watch(mark, SETTLED_NS),
                )
            )  # fmt: skip

    # -- everything else -----------------------------------------------------------------------

    def _message(self, word: str, detail: Detail, event: Event, accepted: bool) -> None:
        if event.stamp is None and word[:1].isupper():
            self._transport(word, detail, event)
        elif not accepted:
            if word == "response" and detail.get("source") and event.destination is not None:
                self.queries.thrown_away(detail, event)
        elif word == "push":
            self._push(detail, event)
        elif word == "request":
            if self.world is None:  # else another machine is replayed
                self.queries.request(detail, event)
        elif word == "response":
            self._response(detail, event)
        elif word == "response_final":
            self.queries.final(detail, event)
        elif word == "interest":
            self.declared.interest(detail, event.source or "", event.destination or "")
        elif word.startswith("declare."):
            self._declare(word.removeprefix("declare."), detail, event)
        elif word[:1].isupper():
            self._transport(word, detail, event)

    def _push(self, detail: Detail, event: Event) -> None:
        """A Put or Del without SourceInfo: a heartbeat, or a sample nobody can count (S1, D1)."""
        assert event.source is not None and event.destination is not None
        zid, eid, sn = detail.get("source") or (None, None, None)
        if not passed_on(zid, sn):
            assert sn is not None
            source = self._source(event, f"{zid}/{eid}", detail["key"])
            if source is not None:
                source.note_qos(detail, event, 1)
                self._arrived(source, sn, sn + 1, event, accepted=True)
            return
        key = self.declared.keys.resolve(event.source, event.destination, detail["key"])
        told = advanced(key)
        if told is not None and told.role == "pub" and told.source and "value" in detail:
            identity = (event.source, event.destination, told.source)
            source = self.sources.all.get(identity)
            if source is None:
                source = self.sources.add(
                    Source(event.source, event.destination, told.source, told.subject)
                )
            source.heartbeats.add(event.first_mark())
            value = source.told(detail["value"])
            if value is None:
                return
            source.heard = value if source.heard is None else max(value, source.heard)
            if self.world is not None:  # not of that machine
                return
            for subscriber in self.audience.of(source):
                subscriber.heartbeat(value, event.first_mark())
            return
        self.unnumbered.came(key, detail, event)

    def _response(self, detail: Detail, event: Event) -> None:
        query = self.queries.replied(detail, event)
        told = detail.get("source")
        source = None if told is None else self._source(
            event, f"{told[0]}/{told[1]}", detail["key"]
        )  # fmt: skip
        if told is None or source is None:
            return
        sn = source.placed(told[2])
        if source.near is None:
            source.near = sn
        source.replies += 1
        source.replied.add(sn, sn + 1)
        source.came(event)
        source.replied_in(self.link.hop(event, first_hop(event)))
        if self.world is not None:
            self.document.shown(source, sn)
        else:
            self.queries.brought(source, sn, query, event)

    def _declare(self, what: str, detail: Detail, event: Event) -> None:
        assert event.source is not None and event.destination is not None
        sender, receiver, declared = event.source, event.destination, self.declared
        if what in ("keyexpr", "u_keyexpr"):
            declared.key(what, detail, sender, receiver)
        elif what in ("token", "u_token"):
            subject = declared.token(what == "token", detail, sender, receiver)
            if subject is not None:
                self.audience.one_more(sender, subject, event.first_mark())
        elif what in ("subscriber", "queryable"):
            if self.world is not None and declared.of_document(detail["key"], sender, receiver):
                self.document.world = None
            if what == "queryable":
                declared.queryable(detail, sender, receiver)
                return
            self.audience.changed()
            subject = declared.subscriber(detail, sender, receiver, event.first_mark())
            if subject is not None:
                self.audience.begins(sender, subject, event.first_mark())
        elif what == "final" and detail.get("interest") == INITIAL_INTEREST:
            declared.said_all.add(sender)
        elif what == "u_queryable":
            declared.queryable_gone(detail, sender, receiver)
        elif what == "u_subscriber":
            self.audience.changed()
            if not declared.knows(detail, sender, receiver):
                self.audience.somebody_left(sender, event.first_mark())
            subject = declared.subscriber_gone(detail, sender, receiver)
            if subject is not None:
                self.audience.unsubscribes(sender, subject, event.first_mark())
