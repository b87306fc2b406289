"""The raims engine: one observing daemon with all its publishers (raims.md 15; decoders/README.md
3, replay/README.md 2).

Events of all links come in the order of the capture. Messages go through the order of their link
(``replay.raims.links``), then through the observer's subscription window
(``replay.raims.subscriber``), whose counters are those of ``show loss``; beside it ``Truth`` keeps
what really was lost. What the observer itself sends goes to its publisher window. Where no observer
is known, nothing is counted for anybody: the windows run as if somebody here had subscribed to
everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.pgm.parameters import PARAMETERS as PGM_PARAMETERS
from seqaudit.replay.pgm.window import WindowSettings
from seqaudit.replay.raims import learned
from seqaudit.replay.raims.advisories import Advisories, Outbound
from seqaudit.replay.raims.clients import Clients
from seqaudit.replay.raims.convergence import Convergence
from seqaudit.replay.raims.fast_path import SteadyStreams
from seqaudit.replay.raims.links import (
    BYTES_MISSING,
    BYTES_WHOLE,
    OTHER_LINK,
    RECONNECTED,
    SECRET,
    InboxLink,
    Missing,
    PgmLink,
    Ready,
)
from seqaudit.replay.raims.notices import SENT_NS, Notice, Notices
from seqaudit.replay.raims.parameters import PARAMETERS
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.publisher import PublisherWindow, Why
from seqaudit.replay.raims.releases import (
    APRIL_2024,
    AUGUST_2022,
    DECEMBER_2024,
    OCTOBER_2023,
    WORDS,
)
from seqaudit.replay.raims.rotation import (
    PUBLISHER_CODE,
    PUBLISHER_DOCUMENT,
    SUBSCRIBER_CODE,
    SUBSCRIBER_DOCUMENT,
    RotationSettings,
)
from seqaudit.replay.raims.seqno import base_of, key
from seqaudit.replay.raims.streams import MAX_NOTES, Repeat, Stream
from seqaudit.replay.raims.subscriber import Status, SubscriptionWindow, Verdict
from seqaudit.replay.raims.truth import BY_END, Loss
from seqaudit.replay.sequence.gaps import Mark

#: The observer's timer ticks so often in a heartbeat interval (raims.md 8).
TICKS: Final = 250
#: Bytes of IP, UDP and the largest PGM header around a TSDU (raims.md 2).
PGM_OVERHEAD: Final = 72
#: Inbox words whose numbers are not counted as loss (raims.md 9.2).
UNCOUNTED: Final = frozenset({"AUTH", "ACK", "TRACE", "CONSOLE"})
#: Words of messages that go point to point.
INBOX_WORDS: Final = frozenset(
    {
        "AUTH", "SUBS", "PING", "PONG", "REM", "RESUB", "REPSUB", "ADD_RTE", "SYNC_REQ",
        "SYNC_RPY", "BLOOM_REQ", "BLOOM_RPY", "ADJ_REQ", "ADJ_RPY", "MESH_REQ", "MESH_RPY",
        "UCAST_REQ", "UCAST_RPY", "TRACE", "ACK", "SYNC", "LOSS", "CONSOLE", "ANY_RTE", "INBOX",
    }
)  # fmt: skip
#: Default sizes of the windows by the document (raims.md 9.3), and in its time (raims.md 14.1).
DOCUMENT_BYTES: Final = 4 << 20
#: Words that go only to a daemon that is authenticated; an ADJ_REQ comes before (tcp-partition-1).
TO_PEERS: Final = frozenset({"PING", "PONG", "LOSS"})
MAX_NOTICES: Final = 10_000
#: A daemon says nothing in its first moments.
STARTED_NS: Final = 5_000_000_000
#: Clocks of two daemons may differ by so much before anything is said.
SKEW_NS: Final = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A message in pieces before whose end another one began.

    Attributes:
        missing: what did not come on the link in between.
    """

    publisher: str
    subject: str | None
    mark: Mark
    next: Mark
    missing: Missing


@dataclass(frozen=True, slots=True)
class Said:
    """A stretch of point-to-point messages that the capture holds whole, and its end."""

    mark: Mark | None
    says: str


class Observer:
    """The observing daemon of one start: its subscriptions, window, peers and counters."""

    def __init__(self, bridge: str | None, start_ns: int, window: SubscriptionWindow) -> None:
        self.bridge = bridge
        self.start_ns = start_ns
        self.window = window
        self.peers: dict[str, Peer] = {}
        self.streams: dict[tuple[str, str], Stream] = {}
        self.earlier_changes: int | None = (
            None  # of its subscriptions, before the first that is seen
        )
        self.stated = 0  # subscriptions that the user states; they have the first ids
        self.active = bridge is None
        self.user: str | None = None
        self.advisories = Advisories()
        self.notices = Notices()  # that it must have sent
        self.outbound: list[Outbound] = []
        self.last_change: int | None = None  # number of its last change of subscriptions
        self.unseen: list[tuple[Mark, int, int]] = []  # where its numbers step: from, to
        self.start_told = False  # its heartbeats said when it started

    def counts_change(self, event: Event) -> None:
        """Its changes of subscriptions are numbered, one by one (raims.md 6)."""
        if event.seqno is None:
            return
        last, self.last_change = self.last_change, max(event.seqno, self.last_change or 0)
        if last is not None and event.seqno > last + 1 and len(self.unseen) < MAX_NOTES:
            self.unseen.append((event.first_mark(), last, event.seqno))

    @property
    def unseen_changes(self) -> int:
        """Changes that were made while the capture ran and are not in it."""
        return sum(to - last - 1 for _, last, to in self.unseen)

    def knows_subscriptions(self, mark: Mark) -> bool:
        """Is no change unseen by then?"""
        return not self.unseen or mark.frame < self.unseen[0][0].frame


class RaimsEngine:
    """Replays the raims conversation of one capture."""

    def __init__(self, conversation: str, given: Mapping[str, Given], vantage: Vantage) -> None:
        self.conversation = conversation
        self.parameters = EngineParameters("raims", PARAMETERS, given)
        self.pgm = EngineParameters("pgm", PGM_PARAMETERS, given)
        self.vantage = vantage
        self.address = vantage.address if vantage.kind == MEMBER else None
        self.document = self.parameters.value("rules") == "document"
        self.release = WORDS[self.parameters.value("release")]
        self.links: dict[str, PgmLink] = {}
        self.inboxes: dict[str, InboxLink] = {}
        self.users: dict[str, Peer] = {}  # every daemon that said who it is
        self.observers: list[Observer] = []
        self.publishers: dict[str, PublisherWindow] = {}
        self.sent: dict[tuple[str, str], Stream] = {}
        self.notices: list[Notice] = []  # that were captured
        self.clients = Clients()
        self.convergence = Convergence(_time(self.parameters.value("converged_at")))
        self.encrypted: list[tuple[str, Mark]] = []
        self.tcp_links: set[str] = set()
        self.own_skew: list[int] = []  # capture time less the observer's own, of what it publishes
        self.holes: dict[str, Mark] = {}  # TCP link -> the last place where bytes of it are missing
        self.messages = 0
        self.unread = 0
        self.incomplete: list[Incomplete] = []
        self.incomplete_at_end = 0
        self._pieces: dict[str, list[Any]] = {}
        self._starts: dict[tuple[str, str | None], str] = {}  # who and where -> its first bridge
        self._uids: dict[str, int] = {}  # address -> uid, by the observer's own inbox headers
        self._settings = self._window_settings()
        self.tick_ns = self.parameters.value("heartbeat_ms") * 1_000_000 // TICKS
        self.first_ns: int | None = None
        self.last_ns = 0
        self._before_ns: int | None = None  # of the event before
        self._silence: tuple[int, int] | None = None  # the last long one: its end, and how long
        self._waiting: set[str] = set()  # PGM links on which something may be missing
        self._steady = SteadyStreams(self.links, self.publishers, self.convergence, self.own_skew)

    # -- events ----------------------------------------------------------------------------------

    def takes(self, row: Any) -> bool:
        """A row of which no event need be made; false: it has to be fed
        (``replay.raims.fast_path``).

        Args:
            row: as ``stage`` has it.
        """
        if self._waiting and not self._is_waiting_after(row[4]):
            return False
        if row[6] == "raims":
            if not self._steady.takes(row):
                return False
            self.messages += row[15]
        elif row[6] == "pgm":
            link = self.links.get(row[8][:-1])
            if link is None or not link.goes_on(row):
                return False
        else:
            return False
        self._before_ns = max(row[4], row[5])
        self.last_ns = max(self.last_ns, row[4], row[5])
        return True

    def _is_waiting_after(self, now_ns: int) -> bool:
        """Is nothing due to be given up by now?"""
        for name in list(self._waiting):
            due_ns = self.links[name].next_due_ns()
            if due_ns is None:
                self._waiting.remove(name)
            elif due_ns <= now_ns:
                return False
        return True

    def feed(self, event: Event) -> None:
        """One event, in the order of the capture."""
        if self.first_ns is None:
            self.first_ns = event.at_ns
        silent_ns = event.at_ns - self._before_ns if self._before_ns is not None else 0
        self._before_ns = max(event.at_ns, event.last_at_ns)
        for name in self._waiting:
            self.links[name].window.pause(silent_ns)
        if silent_ns > STARTED_NS:
            self._silence = event.at_ns, silent_ns
        self.last_ns = max(self.last_ns, event.at_ns, event.last_at_ns)
        if event.system == "rv":
            self.clients.feed(event)
            return
        self._give_up(event.at_ns)
        if event.kind is Kind.MEMBER:
            self._member(event)
        elif event.system == "pgm":
            assert event.stream is not None
            link = self._pgm_link(event.stream[:-1])
            ready = link.packet(event)
            if link.window.holes:
                self._waiting.add(link.name)
            self._deliver_all(ready)
        elif event.system == "inbox":
            self._inbox(event)
        else:
            self._message(event)

    def close(self) -> None:
        """Nothing follows: what is due by the last event is given up."""
        self._flush()
        for link in self.links.values():
            link.window.resume()
        self._give_up(self.last_ns)
        for observer in self.observers:
            observer.window.rotation.advance(self.last_ns)
            observer.advisories.close(self.last_ns)
            for stream in observer.streams.values():
                self._trailing(stream)
            self._number_peers(observer)
            self._told(observer)
            self._learn_window(observer)
            self._drop_silent(observer)
        for publisher in self.publishers.values():
            publisher.rotation.advance(self.last_ns)
        self.incomplete_at_end = len(self._pieces)

    @property
    def observer(self) -> Observer:
        """The daemon observed now; where none is known, a nobody who wants everything."""
        if not self.observers:
            self._observe(None, self.first_ns or 0)
        return self.observers[-1]

    # -- links -----------------------------------------------------------------------------------

    def _pgm_link(self, name: str) -> PgmLink:
        link = self.links.get(name)
        if link is None:
            link = self.links[name] = PgmLink(name, self._settings, self.address)
        return link

    def _flush(self) -> None:
        for link in list(self.links.values()):
            self._deliver_all(link.flush())

    def _give_up(self, now_ns: int) -> None:
        """Holes that are due by now, in the order of their times."""
        while True:
            due = [(d, n) for n, link in self.links.items() if (d := link.next_due_ns())]
            first = min(due, default=None)
            if first is None or first[0] > now_ns:
                return
            self._deliver_all(self.links[first[1]].give_up(first[0]))

    def _inbox(self, event: Event) -> None:
        assert event.stream is not None
        if event.source == self.address and event.conn_id is not None and event.conn_id >> 10:
            assert event.destination is not None
            self._uids.setdefault(f"{event.destination}|{event.stream}", (event.conn_id >> 10) - 1)
            self._name_uids(event.destination, (event.conn_id >> 10) - 1)
        link = self._inbox_link(event.stream[:-1])
        if event.destination == self.address or self.address is None:
            self._deliver_all(link.packet(event))
            return
        if event.kind is Kind.ACK:
            link.acks += event.count
        else:
            link.count(event)
        other = self.inboxes.get(link.reverse())
        if other is not None and event.stamp is not None and other.waits(event):
            # what the observer says it had, it had, captured or not
            self._deliver_all(other.acknowledged(event.stamp, event.first_mark()))

    def _inbox_link(self, name: str) -> InboxLink:
        link = self.inboxes.get(name)
        if link is None:
            link = self.inboxes[name] = InboxLink(name)
        return link

    def _message(self, event: Event) -> None:
        """A raims message: sent by the observer, or on its way through its link."""
        self.messages += event.count
        if event.kind is Kind.SUBSCRIBE:
            self._flush()
        if event.wire_kind == "ENCRYPTED":
            self.encrypted.append((str(event.stream), event.first_mark()))
            return
        if event.wire_kind == "HOLE":
            self.holes[(event.stream or "").split("|", 1)[0]] = event.first_mark()
            return
        own = event.source is not None and event.source == self._own_bridge(event)
        if own:
            self._sent(event)
            return
        name = (event.stream or "").split("|", 1)[0]
        if name.startswith("pgm:"):
            link = self._pgm_link(name)
            if link.own:
                return
            self._deliver_all(link.message(event))
        elif name.startswith("inbox:"):
            if self.address is None or event.destination == self.observer.bridge:
                self._deliver_all(self._inbox_link(name).message(event))
        else:
            if name.startswith("tcp:"):
                self.tcp_links.add(name)
            self._deliver(event, event.first_mark(), waited=False)

    def _deliver_all(self, ready: list[Ready]) -> None:
        for event, mark, waited in ready:
            self._deliver(event, mark, waited=waited)

    # -- who is who ------------------------------------------------------------------------------

    def _own_bridge(self, event: Event) -> str | None:
        if self.address is None or not self.observers:
            return None
        if event.source is not None and any(o.bridge == event.source for o in self.observers):
            return event.source
        return None

    def _member(self, event: Event) -> None:
        assert event.source is not None
        self._steady.forget()
        detail = event.details()
        address = str(detail.get("address") or "").rpartition(":")[0].strip("[]")
        known = self.users.setdefault(event.source, Peer(event.source))
        known.user = str(detail.get("name") or "") or known.user
        known.address = address or known.address
        known.first = known.first or event.first_mark()
        if known.user is not None:
            self._starts.setdefault((known.user, known.address), event.source)
        if self.address is not None and address == self.address:
            if not any(o.bridge == event.source for o in self.observers):
                self._observe(event.source, event.at_ns)
            self.observer.user = known.user
        elif self.observers:
            self._peer(event.source)

    def _observe(self, bridge: str | None, at_ns: int) -> None:
        """The observer has started, or is first seen."""
        self._steady.forget()
        before: dict[tuple[str, str], Stream] = {}
        if self.observers and self.observers[-1].bridge is None:
            before = self.observers.pop().streams  # stood in until the daemon said who it is
        self.observers.append(Observer(bridge, at_ns, self._subscription_window(at_ns)))
        for name, stream in before.items():
            stream.forget_judgement()
            self.observers[-1].streams[name] = stream
        stated = self.parameters.value("subscribed")
        if bridge is None:
            self.observers[-1].window.subscriptions.start(">", wildcard=True)
        elif stated and len(self.observers) == 1:
            for pattern in str(stated).split(","):
                text = pattern.strip()
                self.observers[-1].stated += 1
                self.observers[-1].window.subscriptions.start(
                    text, wildcard=any(part in ("*", ">") for part in text.split("."))
                )

    def _peer(self, bridge: str) -> Peer:
        observer = self.observer
        peer = observer.peers.get(bridge)
        if peer is None:
            peer = observer.peers[bridge] = Peer(bridge)
        known = self.users.get(bridge)
        if known is not None:
            peer.user, peer.address = known.user, known.address
        return peer

    @staticmethod
    def _number_peers(observer: Observer) -> None:
        """Peers that no inbox header numbers, as over TCP: in the order in which they were met."""
        taken = {peer.uid for peer in observer.peers.values()}
        free = (uid for uid in range(1, 1 << 16) if uid not in taken)
        for peer in observer.peers.values():
            if peer.uid is None:
                peer.uid = next(free)

    def _name_uids(self, address: str, uid: int) -> None:
        """The observer's inbox headers say what it calls the daemon at an address."""
        for peer in self.observer.peers.values():
            known = self.users.get(peer.bridge)
            if (
                known is not None
                and known.address == address
                and peer.uid is None
                and all(p.uid != uid for p in self.observer.peers.values())
            ):
                peer.uid = uid

    # -- what the observer sends -----------------------------------------------------------------

    def _sent(self, event: Event) -> None:
        observer = self.observer
        if event.source == observer.bridge and not observer.active:
            observer.active = True
        detail = event.details() if event.detail else {}
        if observer.earlier_changes is None and event.source == observer.bridge:
            self._count_earlier(observer, event, detail)
        if event.destination is not None and event.kind is Kind.NOTICE:
            link = (event.stream or "").split("|", 1)[0]
            observer.notices.told(event.destination, link, event.first_mark())
            peer = observer.peers.get(event.destination)
            if peer is not None and peer.dropped and event.wire_kind in TO_PEERS:
                peer.dropped, peer.dropped_ns, peer.doubted = (
                    False,
                    None,
                    True,
                )  # it is asked nothing before its AUTH
                peer.closed.clear()
                peer.inbox.clear()  # its numbers were not followed
        if event.kind is Kind.SUBSCRIBE and event.source == observer.bridge:
            observer.counts_change(event)
        if event.kind is Kind.SUBSCRIBE:
            self._subscription(event, detail)
            self.convergence.subscribed(event, detail)
            return
        if event.kind is Kind.DATA:
            if self._copy_of_own(event):
                return
            stream = self._stream_of(self.sent, event)
            stream.link = stream.link or (event.stream or "").split("|", 1)[0]
            stream.sees(event, event.first_mark(), event.last_mark())
            if event.stamp is not None:
                _spread(self.own_skew, event.at_ns - event.stamp)
            self._check_publisher(event, stream)
            self._passed(event, stream, observer.bridge)
            self._steady.fed(event, stream, observer.window, None)
            return
        if event.wire_kind in ("HELO", "HB"):
            start = detail.get("start")
            if isinstance(start, int) and event.source == observer.bridge:
                self._started(observer, start, event)
            self.convergence.heartbeat(event, detail)
        if event.wire_kind == "LOSS":
            self._notice(event, detail)

    @staticmethod
    def _count_earlier(observer: Observer, event: Event, detail: Mapping[str, Any]) -> None:
        """Subscriptions are numbered, and other messages tell the last number (raims.md 6)."""
        told = detail.get("sub_seqno")
        if event.kind is Kind.SUBSCRIBE and event.seqno is not None:
            observer.earlier_changes = max(event.seqno - 1, 0)
        elif isinstance(told, int):
            observer.earlier_changes = told

    def began_before(self, observer: Observer) -> bool:
        """Did the daemon run before the capture began? Its heartbeats say when it started."""
        return observer.start_ns < (self.first_ns or 0) - STARTED_NS

    def inbox_span(self, observer: Observer, peer: str, at_ns: int) -> "Said | None":
        """What the observer said to a peer from a moment to a second later, if the capture has all
        of it; null: it does not, or nobody can tell."""
        link, mark = observer.notices.last_told.get(peer, ("", None))
        if mark is None or mark.at_ns < at_ns + SENT_NS:
            return None
        inbox = self.inboxes.get(link)
        if inbox is not None:
            numbers = inbox.whole(at_ns, at_ns + SENT_NS)
            return (
                None if numbers is None else Said(mark, f"in numbers {numbers[0]} to {numbers[1]}")
            )
        if self.holes or not link.startswith("tcp:"):
            return None
        return Said(mark, "in what it has said since")

    def is_whole(self, observer: Observer) -> str | None:
        """Why the capture does not hold all that the observer had, from its start on; null: as far
        as can be seen, it does."""
        if not observer.start_told or self.began_before(observer):
            return "the capture began after the daemon"
        if observer.unseen:
            return "changes of its subscriptions are not in this capture"
        if self._may_lack(0) or any(link.uncaptured for link in self.inboxes.values()):
            return "packets that it may have had are not in this capture"
        if any(peer.doubted for peer in observer.peers.values()):
            return "heartbeats that it may have had are not in this capture"
        return None

    def _copy_of_own(self, event: Event) -> bool:
        """RDATA of one's own, or the same message on another link."""
        stream = self.sent.get((str(event.source), _subject(event)))
        if stream is None or event.seqno is None:
            return False
        if key(event.seqno) in stream.seen and base_of(event.seqno):
            stream.copies += event.count
            if base_of(event.seqno) == 1:
                stream.begins_again(event, event.first_mark())
            if (event.stream or "").split("|", 1)[0] != stream.link:
                stream.arrivals += event.count  # sent on another link; RDATA counts as PGM's
            return True
        return False

    def _started(self, observer: Observer, start_ns: int, event: Event) -> None:
        """The daemon says when it started: its timer ticks from then on."""
        observer.start_told = True
        if observer.bridge in self.users:
            self.users[observer.bridge].start_ns = start_ns
        if observer.start_ns == start_ns:
            return
        fresh = abs(event.at_ns - start_ns) < 60_000_000_000 and not observer.streams
        if fresh:
            self._steady.forget()
            subscriptions = observer.window.subscriptions
            observer.window = self._subscription_window(start_ns)
            observer.window.subscriptions = subscriptions
        observer.start_ns = start_ns

    def _subscription(self, event: Event, detail: Mapping[str, Any]) -> None:
        subscriptions = self.observer.window.subscriptions
        word = event.wire_kind
        wildcard = word in ("PSUB", "STOP")
        subject = detail.get("pattern" if wildcard else "subject")
        if not isinstance(subject, str):
            return
        if word in ("JOIN", "PSUB"):
            subscriptions.start(subject, wildcard=wildcard)
        else:
            subscriptions.stop(subject, wildcard=wildcard)

    def _check_publisher(self, event: Event, stream: Stream) -> None:
        """The publisher window of whoever sent it (raims-8.1 to raims-8.7)."""
        if event.wire_kind != "DATA" or event.seqno is None:
            return
        stamp = event.stamp
        if stamp is None:  # raims-14.1-0: only the first message of a frame has a time
            if self.release >= AUGUST_2022:
                return
            stamp = event.at_ns
        assert event.source is not None and event.stop_seqno is not None
        window = self.publishers.get(event.source)
        if window is None:
            start = self._start_of(event.source)
            window = self.publishers[event.source] = PublisherWindow(
                self._rotation(publisher=True),
                start if start is not None else stamp,
                complete=start is not None and start >= (self.first_ns or 0) - STARTED_NS,
                restarted=self._restarted(event.source),
                ages=self.release >= APRIL_2024,
            )
        why = window.published(
            _subject(event), event.seqno, event.stop_seqno, event.conn_id, stamp,
            self.convergence.at_ns,
        )  # fmt: skip
        if why in (Why.UNEXPLAINED, Why.OVERDUE):
            stream.unexplained[why] += 1
            if len(stream.odd) < MAX_NOTES:
                stream.odd.append((why, event.seqno, event.first_mark()))
        if base_of(event.seqno) == 1:
            forgotten = window.rotation.forgotten.get(_subject(event))
            stream.began(event, why, forgotten if why is Why.ROTATED else None)

    def _passed(self, event: Event, stream: Stream, own: str | None) -> None:
        """A message for all on a PGM segment."""
        link = (event.stream or "").split("|", 1)[0]
        if link.startswith("pgm:") and event.wire_kind == "DATA" and base_of(event.seqno or 0):
            self.convergence.passed(stream, event, own)

    def _restarted(self, bridge: str) -> bool:
        """Was another start of the same daemon captured before?"""
        known = self.users.get(bridge)
        if known is None or known.user is None:
            return False
        return self._starts.get((known.user, known.address)) not in (None, bridge)

    def _start_of(self, bridge: str) -> int | None:
        for observer in self.observers:
            if observer.bridge == bridge:
                return observer.start_ns
        known = self.users.get(bridge)
        return None if known is None else known.start_ns

    # -- what the observer gets ------------------------------------------------------------------

    def _deliver(self, event: Event, mark: Mark, *, waited: bool) -> None:
        """A message that its link has handed on."""
        if event.kind is Kind.DATA and event.flags & Flag.PARTIAL:
            self._first_piece(event)
        elif event.wire_kind == "PIECE":
            self._piece(event, mark)
        elif event.wire_kind == "UNREAD":
            self.unread += 1
        elif event.kind is Kind.DATA:
            self._data(event, mark, waited=waited)
        elif event.kind is Kind.SUBSCRIBE:
            self.convergence.subscribed(event, event.details())
        else:
            self._control(event, mark)

    def _first_piece(self, event: Event) -> None:
        name = (event.stream or "").split("|", 1)[0]
        before = self._pieces.pop(name, None)
        if before is not None and len(self.incomplete) < MAX_NOTICES:
            one = before[0]
            self.incomplete.append(
                Incomplete(
                    str(one.source), one.destination, one.first_mark(), event.first_mark(),
                    self._between(name, one.fresh_id, event.fresh_id),
                )
            )  # fmt: skip
        detail = event.details()
        self._pieces[name] = [
            event,
            int(detail.get("piece", 0)),
            int(detail.get("total", 0)),
            detail.get("hash"),
        ]

    def _piece(self, event: Event, mark: Mark) -> None:
        """Pieces must come in order; the last one completes the message (raims.md 2)."""
        name = (event.stream or "").split("|", 1)[0]
        waiting = self._pieces.get(name)
        detail = event.details()
        if waiting is None or waiting[1] != detail.get("offset"):
            return
        if waiting[3] != detail.get("hash"):  # of another message
            return
        waiting[1] += int(detail.get("piece", 0))
        if waiting[1] >= waiting[2]:
            del self._pieces[name]
            self._data(waiting[0], mark, waited=True, sqn=event.fresh_id)

    def _data(self, event: Event, mark: Mark, *, waited: bool, sqn: int | None = None) -> None:
        observer = self.observer
        assert event.source is not None
        peer = self._peer(event.source)
        if event.stamp is not None and not waited and event.first_mark() == mark:
            link = self.links.get((event.stream or "").split("|", 1)[0])
            if link is None or not link.repairing:  # a repair has the time of its original
                self._steps(event, peer)
                _spread(peer.skew, event.at_ns - event.stamp)
                peer.clock_pairs += 1
        last = event.last_mark() if not waited else mark
        stream = self._stream_of(observer.streams, event)
        missing = self._missing(event, stream)
        if missing is not None and stream.glsno:
            stream.skipped(event, missing, mark)
        fresh = stream.sees(event, mark, last)
        if fresh:
            self._check_publisher(event, stream)
            self._passed(event, stream, observer.bridge)
        if not observer.active or event.seqno is None or event.stop_seqno is None:
            return
        if not self._takes_from(peer, mark.at_ns, (event.stream or "").split("|", 1)[0]):
            stream.ignored += event.count
            return
        subject = _subject(event)
        if event.wire_kind == "GLSNO":
            self._glsno(event, peer, stream, mark, last, known=not fresh)
        else:
            verdicts = self._decide(event, peer, subject, mark, last, stream, known=not fresh)
            if verdicts and verdicts[0].status is not Status.NOT_SUBSCRIBED:
                self._judge(event, stream, verdicts, missing, mark)
                if self._joins(observer, subject):
                    self.convergence.delivered(observer.bridge, stream, event, verdicts[0])
        self._remember(event, stream, sqn)
        self._steady.fed(event, stream, observer.window, peer)

    def _steps(self, event: Event, peer: Peer) -> None:
        """Was the capture's clock set in a long silence? The sender's own clock says that no such
        time has passed; so nobody was silent for as long."""
        if self._silence is None or not peer.skew or event.stamp is None:
            return
        ended_ns, silent_ns = self._silence
        if event.at_ns - ended_ns > SKEW_NS or event.at_ns - event.stamp - peer.skew[1] < (
            silent_ns // 2
        ):
            return
        for other in self.observer.peers.values():
            if other.heard_ns is not None and other.heard_ns < ended_ns:
                other.heard_ns += silent_ns
        self._silence = None

    def _takes_from(self, peer: Peer, now_ns: int, link: str) -> bool:
        """Does the observer still take messages of a peer? Not if it has heard nothing for too
        long; where the capture may have missed what it heard, it does."""
        if peer.is_silent(now_ns) and self._may_lack(peer.heard_ns or 0):
            peer.heard_ns = now_ns
            peer.doubted = True
        return peer.is_known(now_ns, link)

    def _may_lack(self, since_ns: int) -> bool:
        """May messages have come since then that the capture does not hold?"""
        return any(link.doubtful_since(since_ns) for link in self.links.values()) or any(
            mark.at_ns >= since_ns for mark in self.holes.values()
        )

    @staticmethod
    def _joins(observer: Observer, subject: str) -> bool:
        """Is a first message one that somebody joins with? Not where it is only the first that was
        captured: of a daemon that nobody knows, or that had subscribed before."""
        if observer.bridge is None:
            return False
        found = observer.window.subscriptions.matching(subject)
        return bool(found) and found[0] > observer.stated

    def _decide(
        self, event: Event, peer: Peer, subject: str, mark: Mark, last: Mark, stream: Stream,
        *, known: bool,
    ) -> list[Verdict]:  # fmt: skip
        observer = self.observer
        assert event.seqno is not None and event.stop_seqno is not None
        assert event.source is not None
        if not observer.window.subscriptions.routed(subject):
            peer.null_route.add(event.count, last.at_ns)
            stream.unwanted += event.count
            return []
        verdicts = observer.window.arrive(
            subject,
            event.source,
            event.seqno,
            event.stop_seqno,
            chain=event.conn_id,
            time_ns=event.stamp,
            at_ns=mark.at_ns,
            skew_ns=peer.clock_ns,
        )
        for verdict in verdicts:
            count = verdict.stop - verdict.seqno
            if verdict.status is Status.NOT_SUBSCRIBED:
                peer.not_subscribed.add(count, last.at_ns)
                peer.null_route.add(count, last.at_ns)
                stream.unwanted += count
            elif verdict.status is Status.REPEAT:
                peer.repeat.add(count, last.at_ns)
                stream.repeats.append(Repeat(verdict, mark, known))
            else:
                stream.deliver(verdict.seqno, verdict.stop)
            if verdict.counted:
                peer.msg_loss.add(verdict.counted, mark.at_ns)
        return verdicts

    def _judge(
        self, event: Event, stream: Stream, verdicts: list[Verdict], missing: Missing | None,
        mark: Mark,
    ) -> None:  # fmt: skip
        """Beside the daemon's verdict, the truth."""
        verdict = verdicts[0]
        assert event.seqno is not None and event.stop_seqno is not None
        if verdict.status is Status.FIRST and not verdict.rotated:
            stream.truth.high = None  # what passed while nobody had subscribed is no loss
        copies = stream.truth.copies
        loss = stream.truth.step(
            event.seqno, event.stop_seqno, event.conn_id, missing, self._room(stream), mark
        )
        for part in verdicts:  # messages are counted: where a run was cut does not matter
            stream.rows[part.row] += max(part.stop - part.seqno, 1)
        if verdict.status in (Status.SKIP, Status.CYCLE) or loss is not None:
            copy = stream.truth.copies > copies
            stream.note(verdict, loss, mark, copy=copy)
        if verdict.status is Status.SKIP and self.observer.bridge is not None:
            count = verdict.counted if verdict.value < 0x8000 else None
            total = self._peer(stream.publisher).msg_loss.count
            self.observer.notices.lost(
                stream.publisher, _subject(event), count, total, event.seqno, mark
            )
        if verdict.status is Status.SKIP and self.observer.user is not None:
            known = self.users.get(stream.publisher)
            self.observer.advisories.lost(
                _subject(event),
                verdict.counted if verdict.value < 0x8000 else None,
                stream.publisher,
                None if known is None else known.user,
                None if known is None else known.address,
                mark,
            )

    def _glsno(
        self, event: Event, peer: Peer, stream: Stream, mark: Mark, last: Mark, *, known: bool
    ) -> None:
        observer = self.observer
        subject = str(event.destination)
        assert event.seqno is not None and event.stop_seqno is not None
        if not observer.window.subscriptions.routed(subject):
            peer.null_route.add(event.count, last.at_ns)
            return
        assert event.source is not None and event.stream is not None
        path = int(event.stream.rpartition("#")[2] or 0)
        for verdict in observer.window.glsno(event.source, path, event.seqno, event.stop_seqno):
            if verdict.status is Status.REPEAT:
                peer.repeat.add(verdict.stop - verdict.seqno, last.at_ns)
                stream.repeats.append(Repeat(verdict, mark, known))
            else:
                stream.deliver(verdict.seqno, verdict.stop)
                stream.subject_delivered(subject, verdict.stop - verdict.seqno)

    def _control(self, event: Event, mark: Mark) -> None:
        """Any other message from a peer."""
        assert event.source is None or isinstance(event.source, str)
        if event.source is None:
            return
        detail = event.details()
        peer = self._peer(event.source)
        word = event.wire_kind
        peer.first = peer.first or mark
        start = detail.get("start")
        if word in ("HELO", "HB", "AUTH") and isinstance(start, int):
            self.users.setdefault(event.source, Peer(event.source)).start_ns = start
        if word == "HB":
            self.convergence.heartbeat(event, detail)
            if event.stamp is not None and event.first_mark() == mark:
                peer.clock_ns = event.at_ns - event.stamp
        elif word == "BYE":  # dropped at once, with its counters
            peer.ended = mark
            self.observer.peers.pop(event.source, None)
            self._steady.forget()
        elif word == "PING" and event.destination == self.observer.bridge:
            self._outbound(event, peer, detail)
        elif word == "LOSS":
            self._notice(event, detail)
            window = self.publishers.get(event.destination or "")
            if window is not None and detail.get("idl_restart"):
                window.rotation.scale(mark.at_ns)
        told = detail.get("session_bridge")
        if word == "SYNC_RPY" and event.destination == self.observer.bridge and told:
            self._learn(str(told), detail)
        if word != "AUTH" or event.destination == self.observer.bridge:
            link = (event.stream or "").split("|", 1)[0]
            peer.heard(word, detail.get("interval"), mark.at_ns, link)
        if word in INBOX_WORDS and event.destination == self.observer.bridge and not peer.dropped:
            self._inbox_number(event, peer, mark)

    def _learn(self, bridge: str, detail: Mapping[str, Any]) -> None:
        """A peer answers for a daemon that the observer does not know itself."""
        self._steady.forget()
        known = self.users.setdefault(bridge, Peer(bridge))
        known.user = known.user or str(detail.get("user") or "") or None
        if bridge != self.observer.bridge:
            self._peer(bridge)

    def _inbox_number(self, event: Event, peer: Peer, mark: Mark) -> None:
        """raims-9.2-inbox: numbers per peer and type."""
        if event.seqno is None:
            return
        # raims-14.1-inbox: one counter of all types
        word = event.wire_kind if self.release >= DECEMBER_2024 else ""
        last = peer.inbox.get(word, 0)
        if event.seqno <= last:
            return
        before_ns = peer.inbox_ns.get(word, 0)
        peer.inbox[word], peer.inbox_ns[word] = event.seqno, mark.at_ns
        if last and event.seqno != last + 1 and event.wire_kind not in UNCOUNTED:
            lost = event.seqno - last - 1
            name = (event.stream or "").split("|", 1)[0]
            if self._inbox_lacks(name, before_ns):
                peer.inbox_uncaptured.append((mark, lost))
                return
            peer.inbox_loss.add(lost, mark.at_ns)
            peer.inbox_steps.append((mark, word, last, event.seqno))

    def _inbox_lacks(self, name: str, since_ns: int) -> bool:
        """Does the capture lack packets of a point-to-point link that came since then?"""
        link = self.inboxes.get(name)
        if link is not None:
            return link.lacks or (link.doubted_ns is not None and link.doubted_ns >= since_ns)
        hole = self.holes.get(name)
        return hole is not None and hole.at_ns >= since_ns

    def _notice(self, event: Event, detail: Mapping[str, Any]) -> None:
        if len(self.notices) < MAX_NOTICES and event.source is not None:
            self.notices.append(Notice.of(event, detail))

    def _outbound(self, event: Event, peer: Peer, detail: Mapping[str, Any]) -> None:
        """raims-11.5: a peer's clients lost messages of the observer."""
        service, lost = detail.get("idl_service"), detail.get("idl_msg_loss")
        if type(service) is not int or type(lost) is not int:
            return
        if len(self.observer.outbound) < MAX_NOTICES:
            unknown = bool(detail.get("idl_restart"))
            self.observer.outbound.append(
                Outbound(service, lost, unknown, peer.address, peer.user, event.first_mark())
            )

    def _learn_window(self, observer: Observer) -> None:
        """What the observer's silence says of its window, whose size nobody has given."""
        if all(self.parameters.is_given(name) for name in learned.SUB_WINDOW):
            return

        def silence(peer: str, at_ns: int) -> str | None:
            span = self.inbox_span(observer, peer, at_ns)
            return None if span is None else span.says

        own = [notice for notice in self.notices if notice.receiver == observer.bridge]
        told = learned.Told(observer.notices, own, observer.advisories, silence)
        learned.learn(observer.peers.values(), observer.streams, told)

    def _drop_silent(self, observer: Observer) -> None:
        """Peers whose heartbeats have ended are dropped with their counters, unless the capture may
        lack what they said."""
        later = [o.start_ns for o in self.observers if o.start_ns > observer.start_ns]
        end_ns = min(later, default=self.last_ns)
        for peer in observer.peers.values():
            if peer.is_silent(end_ns) and not self._may_lack(peer.heard_ns or 0):
                peer.dropped_ns = (peer.heard_ns or 0) + peer.limit_ns

    def _told(self, observer: Observer) -> None:
        """What the observer itself told publishers of losses is what it counted, whatever the
        capture lacks (raims.md 10.3)."""
        for notice in self.notices:
            if notice.receiver != observer.bridge or notice.seqno is None:
                continue
            peer = observer.peers.get(notice.publisher or "")
            if peer is not None and notice.total is not None:
                peer.told_loss = max(peer.told_loss or 0, notice.total)
            stream = observer.streams.get((notice.publisher or "", notice.subject or ""))
            if stream is not None:
                stream.truth.tell(
                    notice.seqno, None if notice.restart else notice.count, notice.mark
                )

    # -- truth -----------------------------------------------------------------------------------

    def _between(self, name: str, sqn: int | None, other: int | None) -> Missing:
        """What did not come between two packets of a link."""
        link = self.links.get(name)
        if link is None or sqn is None or other is None:
            return BYTES_MISSING if name in self.holes else BYTES_WHOLE
        return link.between(link.window.unwrap(sqn), link.window.unwrap(other))

    def _missing(self, event: Event, stream: Stream) -> Missing | None:
        """What did not come on the link between the stream's last message and this one; null where
        this one follows it, or is its first."""
        high = stream.truth.high
        if stream.glsno:
            high = stream.seen.stop() - 1 if stream.seen else None
        if high is None or event.seqno is None or event.seqno == high + 1:
            return None
        name = (event.stream or "").split("|", 1)[0]
        if self.encrypted:
            return SECRET
        link = self.links.get(name)
        if link is not None and stream.link == name and stream.last_sqn is not None:
            first = link.window.unwrap(event.fresh_id if event.fresh_id is not None else 0)
            return link.between(stream.last_sqn, first)
        if not name.startswith("tcp:") or not stream.link.startswith("tcp:"):
            return OTHER_LINK
        since = -1 if stream.last is None else stream.last.frame
        if any(name in (hole, stream.link) and mark.frame > since
               for hole, mark in self.holes.items()):  # fmt: skip
            return BYTES_MISSING
        return BYTES_WHOLE if stream.link == name else RECONNECTED

    def _remember(self, event: Event, stream: Stream, sqn: int | None) -> None:
        name = (event.stream or "").split("|", 1)[0]
        link = self.links.get(name)
        if link is None or event.fresh_id is None:
            stream.link, stream.last_sqn = name, None
            return
        if stream.link not in ("", name):
            return  # a copy of it on another link does not say where the stream is
        last = event.fresh_id if event.last_fresh_id is None else event.last_fresh_id
        stream.link = name
        stream.last_sqn = max(stream.last_sqn or 0, link.window.unwrap(sqn or last))

    def _trailing(self, stream: Stream) -> None:
        """What may have been lost behind the stream's last message."""
        link = self.links.get(stream.link)
        if link is None or stream.last_sqn is None or stream.truth.high is None or stream.glsno:
            return
        missing = link.behind(stream.last_sqn)
        if missing.count and stream.last is not None:
            room = missing.count * self._room(stream)
            stream.truth.add(
                Loss(stream.truth.high, None, 0, room, BY_END, stream.last, missing.count,
                     missing=missing)
            )  # fmt: skip

    def _room(self, stream: Stream) -> int:
        """Messages of a stream in one PGM packet at most."""
        size = max(stream.smallest or 54, 54)
        mtu: int = self.pgm.value("mtu")
        return max(1, (mtu - PGM_OVERHEAD) // size)

    # -- settings --------------------------------------------------------------------------------

    def _stream_of(self, table: dict[tuple[str, str], Stream], event: Event) -> Stream:
        assert event.source is not None
        at = (event.source, _subject(event))
        stream = table.get(at)
        if stream is None:
            stream = table[at] = Stream(event.source, at[1], glsno=event.wire_kind == "GLSNO")
        return stream

    def _window_settings(self) -> WindowSettings:
        value = self.pgm.value
        return WindowSettings(
            value("rxw_sqns"),
            value("nak_data_retries"),
            value("nak_ncf_retries"),
            value("nak_rdata_wait_ms") * 1_000_000,
            value("nak_repeat_ms") * 1_000_000,
            value("nak_back_off_ms") * 1_000_000,
        )

    def _rotation(self, *, publisher: bool) -> RotationSettings:
        side = "pub" if publisher else "sub"
        value = self.parameters.value
        return RotationSettings(
            self.in_force(f"{side}_window_size"),
            self.in_force(f"{side}_window_count"),
            value(f"{side}_window_time_ms") * 1_000_000,
            value("heartbeat_ms") * 1_000_000 // TICKS,
            PUBLISHER_CODE if publisher else SUBSCRIBER_CODE,
            PUBLISHER_DOCUMENT if publisher else SUBSCRIBER_DOCUMENT,
            self.document,
            value("pub_window_autoscale") if publisher else 0,
        )

    def in_force(self, name: str) -> Any:
        """A parameter's value; where nobody states it, the default of the rules replayed."""
        if not self.parameters.is_given(name):
            if self.document and name in ("pub_window_size", "sub_window_size"):
                return DOCUMENT_BYTES
            if not self.document and self.release < OCTOBER_2023:  # raims-14.1-defaults
                if name in ("pub_window_count", "sub_window_count"):
                    return -1
                if name == "pub_window_size":
                    return DOCUMENT_BYTES
        return self.parameters.value(name)

    def _subscription_window(self, start_ns: int) -> SubscriptionWindow:
        return SubscriptionWindow(
            self._rotation(publisher=False),
            start_ns,
            document=self.document,
            release=self.release,
        )


def _subject(event: Event) -> str:
    """What a stream is called by: its subject, or the path of GLSNO numbers."""
    if event.wire_kind == "GLSNO":
        return "#" + (event.stream or "").rpartition("#")[2]
    return str(event.destination)


def _spread(extremes: list[int], value: int) -> None:
    if not extremes:
        extremes += [value, value]
    else:
        extremes[0], extremes[1] = min(extremes[0], value), max(extremes[1], value)


def _time(text: str | None) -> int | None:
    """A time as a parameter states it."""
    if text is None:
        return None
    if text.isdecimal():
        return int(text)
    stated = datetime.fromisoformat(text)
    if stated.tzinfo is None:
        stated = stated.replace(tzinfo=UTC)
    return round(stated.timestamp() * 1000) * 1_000_000
