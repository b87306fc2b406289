"""The raims engine: one observing daemon with all its publishers (raims.md 15; design 4.1, 5.1).

Events of all links come in the order of the capture. Messages go through the order of their link
(``replay.raims.links``), then through the observer's subscription window
(``replay.raims.subscriber``), whose counters are those of ``show loss``; beside it ``Truth`` keeps
what really was lost. What the observer itself sends goes to its publisher window. Where no observer
is known, nothing is counted for anybody: the windows run as if somebody here had subscribed to
everything.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.pgm.parameters import PARAMETERS as PGM_PARAMETERS
from seqaudit.replay.pgm.window import WindowSettings
from seqaudit.replay.raims.advisories import Advisories, Outbound
from seqaudit.replay.raims.clients import Clients
from seqaudit.replay.raims.convergence import Convergence
from seqaudit.replay.raims.fast_path import SteadyStreams
from seqaudit.replay.raims.links import InboxLink, PgmLink, Ready
from seqaudit.replay.raims.notices import Notice, Notices
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
from seqaudit.replay.raims.streams import MAX_NOTES, Stream
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
MAX_NOTICES: Final = 10_000
#: A daemon says nothing in its first moments.
STARTED_NS: Final = 5_000_000_000
#: Clocks of two daemons may differ by so much before anything is said.
SKEW_NS: Final = 2_000_000_000


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
        self.messages = 0
        self.unread = 0
        self.incomplete: list[tuple[str, str | None, Mark]] = []
        self._pieces: dict[str, list[Any]] = {}
        self._starts: dict[tuple[str, str | None], str] = {}  # who and where -> its first bridge
        self._uids: dict[str, int] = {}  # address -> uid, by the observer's own inbox headers
        self._settings = self._window_settings()
        self.tick_ns = self.parameters.value("heartbeat_ms") * 1_000_000 // TICKS
        self.first_ns: int | None = None
        self.last_ns = 0
        self._waiting: set[str] = set()  # PGM links on which something may be missing
        self._steady = SteadyStreams(self.links, self.publishers, self.convergence)

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
        self._give_up(self.last_ns)
        for observer in self.observers:
            observer.window.rotation.advance(self.last_ns)
            observer.advisories.close(self.last_ns)
            for stream in observer.streams.values():
                self._trailing(stream)
            self._number_peers(observer)
        for publisher in self.publishers.values():
            publisher.rotation.advance(self.last_ns)
        for event, *_ in self._pieces.values():
            self.incomplete.append((str(event.source), event.destination, event.first_mark()))

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
        elif event.kind is Kind.ACK:
            link.acks += event.count
        else:
            link.packets += event.count
            link.repairs += event.count if event.kind is Kind.RETRANSMISSION else 0

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
            observer.notices.told(event.destination, event.at_ns)
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
        if before is not None:
            self.incomplete.append(
                (str(before[0].source), before[0].destination, before[0].first_mark())
            )
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
            _spread(peer.skew, event.at_ns - event.stamp)
        last = event.last_mark() if not waited else mark
        stream = self._stream_of(observer.streams, event)
        fresh = stream.sees(event, mark, last)
        if fresh:
            self._check_publisher(event, stream)
            self._passed(event, stream, observer.bridge)
        if not observer.active or event.seqno is None or event.stop_seqno is None:
            return
        if not peer.is_known(mark.at_ns, (event.stream or "").split("|", 1)[0]):
            stream.ignored += event.count
            return
        subject = _subject(event)
        missing = self._missing(event, stream, sqn)
        if event.wire_kind == "GLSNO":
            self._glsno(event, peer, stream, mark, last)
        else:
            verdicts = self._decide(event, peer, subject, mark, last, stream)
            if verdicts and verdicts[0].status is not Status.NOT_SUBSCRIBED:
                self._judge(event, stream, verdicts, missing, mark)
                if self._joins(observer, subject):
                    self.convergence.delivered(observer.bridge, stream, event, verdicts[0])
        self._remember(event, stream, sqn)
        self._steady.fed(event, stream, observer.window, peer)

    @staticmethod
    def _joins(observer: Observer, subject: str) -> bool:
        """Is a first message one that somebody joins with? Not where it is only the first that was
        captured: of a daemon that nobody knows, or that had subscribed before."""
        if observer.bridge is None:
            return False
        found = observer.window.subscriptions.matching(subject)
        return bool(found) and found[0] > observer.stated

    def _decide(
        self, event: Event, peer: Peer, subject: str, mark: Mark, last: Mark, stream: Stream
    ) -> list[Verdict]:
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
                stream.repeats.append((verdict, mark))
            else:
                stream.deliver(verdict.seqno, verdict.stop)
            if verdict.counted:
                peer.msg_loss.add(verdict.counted, mark.at_ns)
        return verdicts

    def _judge(
        self, event: Event, stream: Stream, verdicts: list[Verdict], missing: int | None,
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

    def _glsno(self, event: Event, peer: Peer, stream: Stream, mark: Mark, last: Mark) -> None:
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
                stream.repeats.append((verdict, mark))
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
        peer.inbox[word] = event.seqno
        if last and event.seqno != last + 1 and event.wire_kind not in UNCOUNTED:
            peer.inbox_loss.add(event.seqno - last - 1, mark.at_ns)

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

    # -- truth -----------------------------------------------------------------------------------

    def _missing(self, event: Event, stream: Stream, sqn: int | None) -> int | None:
        """Sqns given up between the stream's last message and this one; null without PGM."""
        name = (event.stream or "").split("|", 1)[0]
        link = self.links.get(name)
        if link is None or stream.link != name or stream.last_sqn is None:
            return None
        first = link.window.unwrap(event.fresh_id if event.fresh_id is not None else 0)
        return link.lost_between(stream.last_sqn, first)

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
        missing = link.open_after(stream.last_sqn)
        if missing and stream.last is not None:
            room = missing * self._room(stream)
            stream.truth.add(Loss(stream.truth.high, None, 0, room, BY_END, stream.last, missing))

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
