"""What the observing daemon sends: its subscriptions, its publisher window, what it tells peers."""

from collections.abc import Mapping
from typing import Final

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.changes import STARTING_NS, TELLING_NS
from seqaudit.replay.raims.clocks import ahead_of
from seqaudit.replay.raims.link_table import link_of
from seqaudit.replay.raims.message import MessageRun
from seqaudit.replay.raims.observer import Observer
from seqaudit.replay.raims.peer_clock import SKEW_NS, spread
from seqaudit.replay.raims.seqno import base_of, key
from seqaudit.replay.raims.state import RaimsState, stream_of
from seqaudit.replay.raims.streams import RaimsStream

#: Words that go only to a daemon that is authenticated; an ADJ_REQ comes before (tcp-partition-1).
TO_PEERS: Final = frozenset({"PING", "PONG", "LOSS"})
#: Words that say when their daemon started.
STARTS: Final = frozenset({"HELO", "HB", "AUTH"})
#: Words about peers, which have one counter; who is dropped is in one of them.
OF_PEERS: Final = frozenset({"ADD", "DEL", "BLM", "ADJ"})
#: A daemon that is heard so soon after its start has done nothing before.
FRESH_NS: Final = 60_000_000_000


class Sending:
    """Messages of the observer.

    Attributes:
        streams: what it published.
    """

    def __init__(self, state: RaimsState) -> None:
        self._state = state
        self.streams: dict[tuple[str, str], RaimsStream] = {}

    def sent(self, event: Event) -> None:
        """One message of the observer, in any of its starts."""
        observer = self._state.observer
        if event.source == observer.bridge:
            observer.speaks(event)
            if observer.left:
                self._state.steady.forget()
        else:
            self._state.members.together = True
        detail = event.details() if event.detail else {}
        if event.source == observer.bridge:
            observer.changes.hears(event, detail, self._state.links.elapsed)
        if event.destination is not None and event.kind is Kind.NOTICE:
            link = link_of(event)
            observer.notices.told(event.destination, link, event.first_mark())
            peer = observer.peers.get(event.destination)
            if peer is not None and event.wire_kind in TO_PEERS:
                peer.is_spoken_to(event.frame)
                peer.seems_back(event.first_mark())
                if event.wire_kind == "PING":
                    peer.pinged.pings(event.seqno, detail, event.first_mark())
        if event.wire_kind in OF_PEERS and event.source == observer.bridge:
            observer.tells_of_peers(event, detail)
        if event.kind is Kind.SUBSCRIBE:
            made_ns = self._state.links.elapsed.just_before(event.first_mark(), TELLING_NS)
            recent = [
                (stream, stream.last, self._routed(stream))
                for stream in observer.streams.values()
                if stream.last is not None and stream.last.at_ns > made_ns
            ]
            self._subscription(event, detail)
            for stream, last, routed in recent:
                if self._routed(stream) != routed:
                    clock = self._state.members.peer(stream.publisher).clock
                    stream.behind = clock.told_behind(event.at_ns - last.at_ns, stream.behind)
            self._state.convergence.subscribed(event, detail)
            return
        if event.kind is Kind.DATA:
            self._publish(event, observer)
            return
        start = detail.get("start")
        if event.wire_kind in STARTS and isinstance(start, int) and event.source == observer.bridge:
            self._started(observer, start, event)
        if event.wire_kind in ("HELO", "HB"):
            self._state.clocks.heard(event)
            if event.source == observer.bridge:
                observer.beats(event.at_ns, detail.get("interval"))
                observer.counts_daemons(event.source, detail.get("uid_csum"))
            if event.wire_kind == "HB" and event.stamp is not None:
                spread(self._state.own_skew, event.at_ns - event.stamp)
            self._state.convergence.heartbeat(event, detail)
        if event.wire_kind == "LOSS":
            self._state.note(event, detail)

    def _routed(self, stream: RaimsStream) -> list[bool]:
        subscriptions = self._state.observer.window.subscriptions
        return [subscriptions.routed(subject) for subject in stream.subjects]

    def _publish(self, event: Event, observer: Observer) -> None:
        message = MessageRun.of(event)
        if message is None:
            return
        stream = stream_of(self.streams, message)
        stream.link = stream.link or link_of(event)
        if not base_of(message.seqno):
            self._sends_first(event, stream, observer)
            return
        if base_of(message.seqno) == 1 and key(message.seqno) in stream.seen:
            stream.begins_again(message, event.first_mark())
        # of a run some may have been sent before on another link, and others not
        first = list(message.beyond(stream.seen))
        for part in first:
            self._sends_first(part, stream, observer)
        before = event.count - sum(part.count for part in first)
        stream.leaves_on(link_of(event), key(message.seqno), key(message.stop), before)

    def _sends_first(self, event: Event, stream: RaimsStream, observer: Observer) -> None:
        """Messages that it had not sent on any link, or that have no number."""
        message = MessageRun.of(event)
        if message is None:
            return
        stream.sees(message, event.first_mark(), event.last_mark())
        if event.stamp is not None:
            spread(self._state.own_skew, event.at_ns - event.stamp)
            self._state.clocks.heard(event)
        self._state.published(message, stream)
        self._state.passed(event, stream, observer.bridge)
        self._state.steady.fed(event, stream, observer.window, None)

    def _started(self, observer: Observer, start_ns: int, event: Event) -> None:
        """The daemon says when it started: its timer ticks from then on."""
        if not observer.start_told:  # what it counts of daemons that it has not met rests on it
            observer.start_told = True
            self._state.steady.forget()
        if observer.bridge in self._state.members.users:
            self._state.members.users[observer.bridge].start_ns = start_ns
        off_ns = ahead_of(event)
        began_ns = start_ns + off_ns
        if event.wire_kind == "HELO" and event.at_ns - began_ns < STARTING_NS:
            if not observer.from_start:
                for waited in self._state.links.begin_anew():
                    self._state.came_in_vain(waited)
            observer.from_start = True
        if abs(observer.start_ns - began_ns) <= (SKEW_NS if off_ns else 0):
            return
        fresh = abs(event.at_ns - began_ns) < FRESH_NS and not observer.streams
        if fresh:
            self._state.steady.forget()
            subscriptions = observer.window.subscriptions
            observer.window = self._state.settings.subscription_window(began_ns)
            observer.window.subscriptions = subscriptions
        observer.start_ns = began_ns

    def _subscription(self, event: Event, detail: Mapping[str, object]) -> None:
        subscriptions = self._state.observer.window.subscriptions
        word = event.wire_kind
        wildcard = word in ("PSUB", "STOP")
        subject = detail.get("pattern" if wildcard else "subject")
        if not isinstance(subject, str):
            return
        if word in ("JOIN", "PSUB"):
            subscriptions.start(subject, wildcard=wildcard)
        else:
            subscriptions.stop(subject, wildcard=wildcard)
