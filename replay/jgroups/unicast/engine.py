"""UNICAST3 and UNICAST4: all pairs of one cluster in one capture.

Comes in: the events of conversation ``unicast|<cluster>`` of one capture, in capture order. Goes
out: a summary of every connection in each direction, its states, gaps and findings. Replays
jgroups.md 4.3 (``replay.jgroups.unicast.sender``) and 4.4 (``replay.jgroups.unicast.receiver``), or
what the two design documents say where ``unicast.rules`` asks for it
(``replay.jgroups.unicast.rule_sets``).

    where                        streams of this member          streams to this member
    at a member's interface      sender machine                  receiver machine
    between members              only what passes is counted     the same (P8)

Nothing here depends on the transport.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from seqaudit.decoders.contract.events import BETWEEN_FRAMES, Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.contract.worth import BEGINNING, END
from seqaudit.replay.jgroups.arrivals import Arrivals
from seqaudit.replay.jgroups.both_ends import RECEIVER, SENDER, MemberEnds
from seqaudit.replay.jgroups.evidence import Beginning, Life, Stamps, two_ticks_ns
from seqaudit.replay.jgroups.holes import LinkHoles
from seqaudit.replay.jgroups.mcast.passing import PassingModel
from seqaudit.replay.jgroups.members import Members, View
from seqaudit.replay.jgroups.unicast.acks import AcksAtOnce
from seqaudit.replay.jgroups.unicast.connection_states import (
    FIRST_TICK_NS,
    ConnectionLives,
    EntryTimers,
    Timeouts,
)
from seqaudit.replay.jgroups.unicast.parameters import PARAMETERS
from seqaudit.replay.jgroups.unicast.receiver import ReceiverMachine
from seqaudit.replay.jgroups.unicast.receiver_facts import Timing
from seqaudit.replay.jgroups.unicast.rule_sets import CODE, Release
from seqaudit.replay.jgroups.unicast.sender import SenderMachine
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark

MS: Final = 1_000_000
#: Requests that wait for a frame which names their connection.
MAX_NAMELESS: Final = 1_000


class Pair:
    """One direction between two members: its connections, one after the other."""

    def __init__(self, sender: str, receiver: str) -> None:
        self.sender = sender
        self.receiver = receiver
        self.streams: dict[int | None, Stream] = {}
        self.current: Stream | None = None  # that requests are for, by the frames before them
        self.nameless: list[Event] = []  # came before any frame that names its connection
        self.stamps = Stamps()  # of its receiver's own messages, as far as they are to its sender
        self.unnamed_syncs = 0  # SEND_FIRST_SEQNO since the last frame that does
        self.sending: SenderMachine | None = None
        self.receiving: ReceiverMachine | None = None


class UnicastEngine:
    """All unicast connections of one cluster in one capture. See the module's docstring.

    Args:
        ends: what only captures of both ends show is written there; null if there are not two.
    """

    def __init__(
        self,
        conversation: str,
        given: Mapping[str, Given],
        vantage: Vantage,
        ends: MemberEnds | None = None,
    ) -> None:
        self.ends = ends
        self.conversation = conversation
        self.cluster = conversation.partition("|")[2]
        self.parameters = EngineParameters("unicast", PARAMETERS, given)
        self.vantage = vantage
        self.members = Members(vantage)
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.holes = LinkHoles()
        self.view: View | None = None
        self.last: Mark | None = None
        self.left: dict[str, Mark] = {}  # members here -> when they were told that they may go
        self._known_views: dict[tuple[str, int], View] = {}
        self._lives: dict[str, Life] = {}  # of members here
        self._timers: dict[tuple[str, str], EntryTimers] = {}  # of their entries
        self.stamps: dict[str, Stamps] = {}  # of members here: their ACKs and SEND_FIRST_SEQNO
        self._lacking = False  # messages that members here had, when closed
        self._joined: set[str] = set()  # members here that joined while they were captured
        self._began: Mark | None = None
        self._elapsed = Elapsed()

    def streams(self) -> Iterator[tuple[Pair, Stream]]:
        """Every connection, by pair in order of names, then in the order of their use."""
        for key in sorted(self.pairs):
            pair = self.pairs[key]
            for stream in pair.streams.values():
                yield pair, stream

    def stamps_of(self, member: str) -> Stamps:
        """The numbers of a member's own messages."""
        found = self.stamps.get(member)
        if found is None:
            found = self.stamps[member] = Stamps()
        return found

    def one_window(self, stream: Stream, since: Mark | None, until: Mark | None) -> bool:
        """Do the receiver's own numbers leave no SEND_FIRST_SEQNO out between two moments, so that
        no window which had more was lost there unseen? Null: open on that side."""
        own = self.stamps_of(stream.receiver)
        return own.none_missing(since or Mark(BEGINNING, 0), until or Mark(END, 0))

    # -- events ----------------------------------------------------------------------------------

    def feed(self, event: Event) -> None:
        kind = event.kind
        if self._began is None:
            self._began = event.first_mark()
            self._elapsed.saw(self._began)
        if kind is Kind.MEMBER:
            self.members.saw(event)
            return
        self.holes.saw(event)
        if event.wire_kind in BETWEEN_FRAMES:
            return
        self._elapsed.saw(event.first_mark())
        self.members.heard(event)
        last = event.last_mark()
        if self.last is None or last.at_ns > self.last.at_ns:
            self.last = last
        if event.stream is None:
            if kind is Kind.VIEW:
                self._view(event)
                if event.wire_kind == "JOIN_RSP" and self.members.is_local(event.destination):
                    self._joined.add(str(event.destination))
            elif event.wire_kind == "LEAVE_RSP" and self.members.local in (event.destination,):
                self.left[str(event.destination)] = event.first_mark()
            elif self.members.takes_over(event):
                self.members.begun_anew(str(event.source), event.frame)
            return
        if event.source is None or event.destination is None:
            return
        self.members.learn(event)
        if self.members.captured_twice(event):
            return
        if event.flags & Flag.REFUSED and self.members.comes_here(event):
            return  # the member had closed the connection
        if self.ends is not None:
            self.ends.saw(event)
        if self.members.is_local(event.source):
            self._life(event.source).spoke(last)
            if event.stamp is not None:
                self.stamps_of(event.source).saw(event.stamp, event.first_mark())
            self.stamps_of(event.source).met(event.destination, event.frame, own=True)
        elif self.members.is_local(event.destination):
            self.stamps_of(event.destination).met(event.source, event.frame, own=False)
        if kind is Kind.DATA:
            self._data(event)
        elif kind is Kind.ACK:
            self._ack(event)
        elif kind is Kind.REQUEST:
            self._request(event)
        elif kind is Kind.SYNC:
            self._sync(event)
        elif kind is Kind.CLOSE:
            self._close(event)

    def close(self) -> None:
        """The capture is over."""
        if self.last is None:
            return
        for pair in self.pairs.values():
            if pair.nameless:  # no frame names a connection
                self._flush(pair, self._stream(pair, pair.nameless[0]))
        for pair in self.pairs.values():
            if pair.receiving is not None:
                pair.receiving.finish(self.last.at_ns, self._last_own_ns(pair.receiver))
            if pair.sending is not None:
                own = self._life(pair.sender).last
                if own is not None:
                    pair.sending.alive(own)
                pair.sending.finish(self.last)
        for pair, stream in self.streams():
            receiving = pair.receiving
            stream.tell_states(
                reaped_silently=receiving is not None,
                goes_on=receiving is None or receiving.stopped is None,
            )
            if stream.received is not None:
                if pair.receiving is not None and pair.receiving.stopped is not None:
                    stream.received.gone(self._last_own_ns(stream.receiver))
                removed_ns = self._removed_ns(stream)
                stream.received.end_missing(self.last.at_ns, over=True, removed_ns=removed_ns)
                self._settle(stream, stream.received)
                self._lacking |= stream.received.lacks_messages()
            if stream.passing is not None:
                stream.passing.finish()
        if self.ends is not None:
            self.ends.local = self.members.local
            for _, stream in self.streams():
                if stream.received is not None and stream.received.left_out:
                    self.ends.hidden[stream.key] = stream.received.left_out

    def _removed_ns(self, stream: Stream) -> int | None:
        """When its receiver removed its window: all of them when it left. Null: never."""
        gone = [stream.removed_at()]
        if (left := self.left.get(stream.receiver)) is not None:
            gone.append(left.at_ns)
        return min((at_ns for at_ns in gone if at_ns is not None), default=None)

    def lacks_messages(self, member: str) -> bool:
        """Is the capture shown to lack messages that members here had, or words of this one?"""
        return self._lacking or not self._last_own_ns(member) or bool(self.stamps_of(member).holes)

    def _life(self, member: str) -> Life:
        found = self._lives.get(member)
        if found is None:
            found = self._lives[member] = Life(self._elapsed)
        return found

    def last_own(self, member: str) -> Mark | None:
        """The last unicast that a member sent, to anybody."""
        return self._life(member).last

    def _last_own_ns(self, member: str) -> int:
        own = self.last_own(member)
        return 0 if own is None else own.at_ns

    def _settle(self, stream: Stream, received: Arrivals) -> None:
        """A connection began in the capture if its first message came in it, to a member that
        began in it too or had been captured for longer than an unacknowledged message rests.
        """
        assert self.last is not None, "a stream has events"
        began, to = stream.first, stream.receiver
        begins = stream.first_message and received.start == 1
        if begins and (
            self._was_quiet(began) or to in self._joined or self.stamps_of(to).first == 1
        ):
            received.beginning.bound = 0
        received.settle(self.last)
        self.holes.lie_over(received, stream.sender)
        # a release without timestamps numbers none of its words: doubt is where others are missing
        numbered = self._release().timestamps
        for gap in received.gaps if numbered or received.lacks_messages() else ():
            if gap.requested and not self.one_window(stream, gap.before, gap.requested):
                received.ways.by_rebuilt.add(gap.first, gap.stop)
                before = gap.before or Mark(BEGINNING, 0)
                if not numbered or self.stamps_of(to).lacks(before, gap.requested):
                    received.ways.had.add(gap.first, gap.stop)

    def _was_quiet(self, mark: Mark | None) -> bool:
        """Had the capture gone on for longer than an unacknowledged message rests?"""
        if self._began is None or mark is None:
            return False
        quiet_ns = two_ticks_ns(self.parameters.value("xmit_interval_ms") * MS)
        return self._elapsed.at_least(self._began, mark) >= quiet_ns

    def _beginning(self, bound: int | None = None) -> Beginning:
        assert self._began is not None, "a stream has events"
        return Beginning(self._began, self._elapsed, bound)

    # -- messages ----------------------------------------------------------------------------------

    def _data(self, event: Event) -> None:
        assert event.source is not None and event.destination is not None
        assert event.seqno is not None
        pair = self._pair(event.source, event.destination, event)
        stream = self._stream(pair, event)
        self._names(pair, stream, event)
        fresh = stream.count(event)
        self._passed(stream, event)
        if self.ends is not None and not event.flags & Flag.NETWORK_DUPLICATE:
            role = SENDER if pair.sending is not None else RECEIVER
            if role == SENDER or pair.receiving is not None:
                self.ends.has_end(role, stream.key, event, event.destination, stream.conn_id)
        if pair.receiving is not None:
            self._received(pair, stream, event.seqno, known=bool(event.flags & Flag.FIRST))
            pair.receiving.arrive(event, stream)
            return
        if stream.passing is None:
            start = 1 if event.flags & Flag.FIRST else event.seqno
            begins = stream.first_message and self._was_quiet(event.first_mark())
            stream.passing = PassingModel(
                start, self._beginning(0 if begins else None), at_sender=pair.sending is not None
            )
        if event.flags & Flag.FIRST and event.seqno > 1:
            stream.passing.may_begin(event.destination)  # it answers SEND_FIRST_SEQNO
        stream.passing.passed(event)
        if pair.sending is not None:
            pair.sending.sent(event, stream, fresh)

    def _ack(self, event: Event) -> None:
        assert event.source is not None and event.destination is not None
        assert event.seqno is not None
        pair = self._pair(event.destination, event.source, event)
        stream = self._stream(pair, event)
        if event.stamp is not None:
            pair.stamps.saw(event.stamp, event.first_mark())
        if pair.receiving is not None or pair.current is None or _is_later(stream, pair.current):
            self._names(pair, stream, event)
        self._settle_syncs(pair, stream)
        stream.saw(event)
        stream.highest_ack = max(event.seqno, stream.highest_ack or 0)
        self._passed(stream, event)
        if stream.passing is not None:
            stream.passing.acked(event.source, event.seqno)
        if pair.receiving is not None:
            self._received(pair, stream, event.seqno + 1, known=False)
            pair.receiving.own_ack(event, stream)
        elif pair.sending is not None:
            pair.sending.ack(event, stream)

    def _request(self, event: Event) -> None:
        assert event.source is not None and event.destination is not None
        pair = self._pair(event.destination, event.source, event)
        if pair.current is None and len(pair.nameless) < MAX_NAMELESS:
            pair.nameless.append(event)
            return
        self._request_for(pair, pair.current or self._stream(pair, event), event)

    def _request_for(self, pair: Pair, stream: Stream, event: Event) -> None:
        assert event.source is not None
        stream.saw_request(event)
        self._passed(stream, event)
        if stream.passing is not None and not event.flags & Flag.NETWORK_DUPLICATE:
            stream.passing.requested(event.source, event.ranges(), event.first_mark())
        if pair.receiving is not None:
            if event.seqno is not None:
                self._received(pair, stream, event.seqno, known=False)
            if stream.received is not None:
                pair.receiving.own_request(event, stream)
        elif pair.sending is not None:
            pair.sending.request(event, stream)

    def _sync(self, event: Event) -> None:
        assert event.source is not None and event.destination is not None
        pair = self._pair(event.destination, event.source, event)
        if event.stamp is not None:
            pair.stamps.saw(event.stamp, event.first_mark())
        if pair.current is None and len(pair.nameless) < MAX_NAMELESS:
            pair.nameless.append(event)
            return
        self._sync_for(pair, pair.current or self._stream(pair, event), event)

    def _sync_for(self, pair: Pair, stream: Stream, event: Event) -> None:
        stream.saw(event)
        self._passed(stream, event)
        stream.syncs.add(event.first_mark())
        pair.unnamed_syncs += pair.current is stream
        if stream.passing is not None:
            stream.passing.may_begin(stream.receiver)
        if pair.receiving is not None:
            pair.receiving.own_sync(event, stream)
        elif pair.sending is not None:
            pair.sending.sync(event, stream)

    def _close(self, event: Event) -> None:
        assert event.source is not None and event.destination is not None
        pair = self._pair(event.source, event.destination, event)
        stream = self._stream(pair, event)
        stream.saw(event)
        self._passed(stream, event)
        if pair.receiving is not None:
            pair.receiving.close(event, stream)
        elif pair.sending is not None:
            pair.sending.close(event, stream)

    def _names(self, pair: Pair, stream: Stream, event: Event) -> None:
        """The event names the connection: requests before any such event belong to it, unless it
        begins with this message and they named others.
        """
        if pair.nameless:
            of = stream
            if event.kind is Kind.DATA and event.seqno == 1 and event.flags & Flag.FIRST:
                firsts = [e.seqno for e in pair.nameless if e.seqno is not None]
                asked = any(e.kind is Kind.SYNC for e in pair.nameless)
                if firsts and min(firsts) > 1 and not asked:
                    of = self._stream(pair, pair.nameless[0])
            self._flush(pair, of)
        self._settle_syncs(pair, stream)
        pair.current = stream

    def _settle_syncs(self, pair: Pair, stream: Stream) -> None:
        """The frame before SEND_FIRST_SEQNO named one connection, the frame behind them names this
        one: if they are two, the first message of the second may not be in the capture.
        """
        if pair.current is not None and pair.current is not stream:
            pair.current.syncs_of_another += pair.unnamed_syncs
        pair.unnamed_syncs = 0

    def _flush(self, pair: Pair, stream: Stream) -> None:
        waiting, pair.nameless = pair.nameless, []
        for event in waiting:
            if event.kind is Kind.REQUEST:
                self._request_for(pair, stream, event)
            else:
                self._sync_for(pair, stream, event)

    def _passed(self, stream: Stream, event: Event) -> None:
        if self.ends is not None:
            self.ends.passed(stream.key, event)

    # -- pairs and streams -------------------------------------------------------------------------

    def _pair(self, sender: str, receiver: str, event: Event) -> Pair:
        pair = self.pairs.get((sender, receiver))
        if pair is None:
            pair = self.pairs[sender, receiver] = Pair(sender, receiver)
            if self.vantage.kind == MEMBER:
                if self.members.is_local(sender):
                    pair.sending = self._sender(event, sender)
                elif self.members.is_local(receiver):
                    pair.receiving = self._receiver(event, receiver)
        return pair

    def _stream(self, pair: Pair, event: Event) -> Stream:
        stream = pair.streams.get(event.conn_id)
        if stream is None:
            number = "" if event.conn_id is None else str(event.conn_id)
            key = f"{self.cluster}|{pair.sender}|{pair.receiver}|{number}"
            stream = Stream(key, event.system, pair.sender, pair.receiver, event.conn_id)
            pair.streams[event.conn_id] = stream
        return stream

    def _received(self, pair: Pair, stream: Stream, start: int, *, known: bool) -> None:
        if stream.received is None:
            stream.received = Arrivals(
                start,
                known=known,
                interval_ns=self.parameters.value("xmit_interval_ms") * MS,
                beginning=self._beginning(),
                elapsed=self._elapsed,
            )

    def _release(self) -> Release:
        return Release.of(self.members.versions.get(self.members.local or ""))

    def _sender(self, event: Event, member: str) -> SenderMachine:
        given = self.parameters
        return SenderMachine(
            tick_ns=given.value("xmit_interval_ms") * MS,
            sync_ns=given.value("sync_min_interval_ms") * MS,
            rules=given.value("rules"),
            timestamps=self._release().timestamps,
            capacity=given.value("capacity"),
            unicast4=event.system == "unicast4",
            proof_ns=given.value("block_proof_ms") * MS,
            lives=self._lives_of(event, member),
            elapsed=self._elapsed,
            life=self._life(member),
        )

    def _lives_of(self, event: Event, member: str) -> ConnectionLives:
        timers = self._timers.get((member, event.system))
        if timers is None:
            names = ("conn_expiry_timeout_ms", "conn_close_timeout_ms")
            given = all(self.parameters.is_given(name) for name in names)
            timers = EntryTimers(self._timeouts(event.system), given=given)
            self._timers[member, event.system] = timers
        return ConnectionLives(timers, partial(self._early, member))

    def _early(self, member: str, mark: Mark) -> bool:
        """May the clock of a member's entries not have ticked yet then?"""
        heard_ns = self.members.first_heard.get(member)
        return heard_ns is None or mark.at_ns - heard_ns <= FIRST_TICK_NS

    def _timeouts(self, system: str) -> Timeouts:
        """By release, if nobody says (4.1)."""
        expiry = self.parameters.value("conn_expiry_timeout_ms")
        close = self.parameters.value("conn_close_timeout_ms")
        defaults = (120_000, 240_000) if system == "unicast3" else (10_000, 10_000)
        return Timeouts(
            (defaults[0] if expiry is None else expiry) * MS,
            (defaults[1] if close is None else close) * MS,
        )

    def _receiver(self, event: Event, member: str) -> ReceiverMachine:
        given = self.parameters
        timing = Timing(
            given.value("xmit_interval_ms") * MS,
            given.value("sync_min_interval_ms") * MS,
            given.value("min_ack_interval_ms") * MS,
            *self._timeouts(event.system),
            given.is_given("xmit_interval_ms") and given.value("rules") == CODE,
            given.value("rules"),
        )
        return ReceiverMachine(
            timing,
            unicast4=event.system == "unicast4",
            capacity=given.value("capacity"),
            release=self._release(),
            max_xmit_req_size=given.value("max_xmit_req_size"),
            at_once=AcksAtOnce(self._ack_threshold(event), unicast4=event.system == "unicast4"),
            lives=self._lives_of(event, member),
            elapsed=self._elapsed,
        )

    def _ack_threshold(self, event: Event) -> int | None:
        """Of UNICAST3 by release, of UNICAST4 a quarter of the capacity, if nobody says (4.1)."""
        given: int | None = self.parameters.value("ack_threshold")
        if self.parameters.value("rules") != CODE:
            return None  # the documents have none
        if given is not None:
            return given
        if event.system == "unicast3":
            return self._release().ack_threshold
        capacity: int | None = self.parameters.value("capacity")
        return None if capacity is None else capacity // 4

    # -- views -------------------------------------------------------------------------------------

    def _view(self, event: Event) -> None:
        view = View.of(event, self._known_views)
        if view is None:
            return
        self._known_views[view.creator, view.number] = view
        successor = self.members.begins_anew(view)
        if successor is not None:
            self.members.begun_anew(successor, event.frame)
        local = self.members.local
        if local is None or local not in view.members:
            return
        if self.view is not None and view.number <= self.view.number:
            return
        self.view = view
        mark = event.first_mark()
        for pair in self.pairs.values():
            if pair.sending is not None:
                pair.sending.view(with_peer=pair.receiver in view.members, mark=mark)
            if pair.receiving is not None:
                pair.receiving.view(with_peer=pair.sender in view.members, mark=mark)


def _is_later(stream: Stream, than: Stream) -> bool:
    """Was a connection opened after another one of its member (4.2)?"""
    one, other = stream.conn_id, than.conn_id
    return one is not None and other is not None and one > other
