"""The observing daemon of one start: what it subscribes to, counts, and says of losses."""

from collections.abc import Iterable, Mapping
from typing import Final

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.advisories import Advisories, Outbound
from seqaudit.replay.raims.changes import Changes
from seqaudit.replay.raims.links import TCP
from seqaudit.replay.raims.message import MessageRun
from seqaudit.replay.raims.notices import Notices
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.seqno import base_of, key
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.raims.subscriber import SubscriptionWindow
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

SECOND_NS: Final = 1_000_000_000
#: A daemon says nothing in its first moments.
STARTED_NS: Final = 5 * SECOND_NS

#: A peer is dropped for want of heartbeats behind two intervals and this (``Peer.limit_ns``); the
#: last one before a daemon was paused is not older than one interval.
LATE_NS: Final = 2 * SECOND_NS
#: What came within this may be what the daemon answers.
WOKE_NS: Final = SECOND_NS

#: The stage of authentication that says that a peer is dropped for want of heartbeats.
SILENT: Final = 4
#: Streams of others of which it is kept what the daemon passed on.
MAX_HANDED_ON: Final = 10_000
#: Heartbeats of a peer behind which routes agree again: two whole intervals.
ROUTED_BEATS: Final = 3


class Observer:
    """The observing daemon of one start: its subscriptions, window, peers and counters."""

    def __init__(self, bridge: str | None, start_ns: int, window: SubscriptionWindow) -> None:
        self.bridge = bridge
        self.start_ns = start_ns
        self.window = window
        self.peers: dict[str, Peer] = {}
        self.met: dict[str, Peer] = {}  # those that left as well
        self.streams: dict[tuple[str, str], RaimsStream] = {}
        self.changes = Changes()  # of its subscriptions
        #: Numbers that it passed on, by publisher and subject.
        self.handed_on: dict[tuple[str, str], RangeSet] = {}
        self.stated = 0  # subscriptions that the user states; they have the first ids
        self.active = bridge is None
        self.user: str | None = None
        self.advisories = Advisories()
        self.notices = Notices()  # that it must have sent
        self.outbound: list[Outbound] = []
        self.rerouted: int | None = None  # the frame in which one said last that it starts or ends
        self.last_of_peers: int | None = None  # number of its last word about its peers
        self.start_told = False  # its heartbeats said when it started
        self.from_start = False  # its first word was captured
        self.spoke: int = -1  # the frame of its last word
        self.ran: Mark | None = None  # when its host last sent what only the daemon sends
        self.ran_from: int | None = None  # the frame of the first of these
        self.heard: Mark | None = None  # when something came first since then
        self.left = False  # that was BYE
        self.beat_ns: int | None = None  # its last heartbeat
        self.interval_ns = 10 * SECOND_NS  # from one to the next
        #: Since which frame nobody can tell what it read, and why; null: it can be told.
        self.unread: tuple[int, str] | None = None

    def speaks(self, event: Event) -> None:
        """A word of its own; behind BYE it reads nothing."""
        self.spoke = event.last_mark().frame
        self.left = event.wire_kind == "BYE"
        self.active = not self.left

    def was_not_yet(self, mark: Mark) -> bool:
        """Had it not started when something came to its host? It says when it did; what it sent
        before says that it had, whatever the clock."""
        ran = self.ran_from is not None and self.ran_from < mark.frame
        return self.start_told and mark.at_ns < self.start_ns and not ran

    def hears(self, mark: Mark) -> None:
        """Something came to its host."""
        self.heard = self.heard or mark

    def runs(self, first: Mark, last: Mark) -> int | None:
        """Its host sent something that only the daemon sends.

        Returns:
            the last frame before a silence in which something came, for so long that the daemon may
            have dropped its peers as it went on, whose heartbeats had waited as well; null: none.
        """
        ran, heard = self.ran, self.heard
        self.ran, self.heard = last, None
        self.ran_from = first.frame if self.ran_from is None else self.ran_from
        if ran is None or heard is None or first.at_ns - heard.at_ns < WOKE_NS:
            return None
        return ran.frame if first.at_ns - ran.at_ns > self.interval_ns + LATE_NS else None

    def beats(self, at_ns: int, interval: object) -> None:
        """A heartbeat of its own, which says in how many seconds the next one comes."""
        self.beat_ns = at_ns
        if isinstance(interval, int) and 0 < interval < 1 << 20:
            self.interval_ns = interval * SECOND_NS

    def is_overdue(self, end_ns: int) -> bool:
        """Has the next heartbeat of its own not come, and it has not said that it ends?"""
        if self.beat_ns is None or self.left:
            return False
        return end_ns - self.beat_ns > self.interval_ns + self.interval_ns // 10

    @staticmethod
    def may_pass_by(peer: Peer) -> bool:
        """May what a peer says to it alone come by way of another daemon, over TCP? That one may be
        joined to both of them, and a capture of these two hosts has nothing of it."""
        return not peer.alone and any(link.startswith(TCP) for link in peer.inbox_links)

    def counts_daemons(self, said_by: str | None, uid_csum: object) -> None:
        """Its heartbeat, or one of a peer, has the bridges of all daemons that its sender knows, by
        exclusive or (in mesh-plain-1 of three, in tcp-partition-1 of two)."""
        if self.bridge is None or not isinstance(uid_csum, str):
            return
        for peer in self.peers.values():
            if said_by in (self.bridge, peer.bridge):
                both = int(self.bridge, 16) ^ int(peer.bridge, 16)
                if uid_csum == f"{both:032x}":
                    peer.alone = peer.alone is not False
                elif uid_csum not in (self.bridge, peer.bridge):
                    peer.alone = False

    def ignores(self, peer: Peer) -> bool:
        """Did it seem to take no messages of a peer, or not all?"""
        return any(x.ignored for x in self.streams.values() if x.publisher == peer.bridge)

    def tells_of_peers(self, event: Event, detail: Mapping[str, object]) -> None:
        """It takes a peer up, or drops it, perhaps as it has taken no heartbeat of it for too long;
        or it may have done so in a word that is not captured: they are numbered."""
        added = self.peers.get(str(detail.get("sync_bridge"))) if event.wire_kind == "ADD" else None
        if added is not None:
            added.seems_back(event.first_mark())
        if event.seqno is None:
            return
        last, self.last_of_peers = self.last_of_peers, event.seqno
        whole = last is None or event.seqno == last + 1
        anew = last is not None and event.seqno > last
        dropped = detail.get("sync_bridge") if event.wire_kind == "DEL" else None
        for peer in self.peers.values():
            if not whole or peer.bridge == dropped:
                peer.met_frame = event.frame
        gone = self.peers.get(str(dropped))
        if gone is None:
            return
        if detail.get("auth_stage") == SILENT and detail.get("time"):
            gone.dropped_though_heard |= gone.seems_heard(event.at_ns)
        # it was a peer until now: what had seemed to come too late was perhaps taken
        gone.doubted |= gone.by_clock and self.ignores(gone)
        gone.by_clock = False
        if gone.dropped_told and anew:  # it was taken up in between, where nothing says so
            gone.doubted, gone.dropped_ns = True, event.at_ns
        elif not gone.dropped_told:
            gone.dropped_ns, gone.dropped_told = event.at_ns, True
        for peer in self.peers.values():  # to one that had gone it may have passed messages on
            peer.rerouted |= peer.null_route.frame > gone.heard_frame
        if not gone.dropped:
            gone.dropped, gone.heard_ns = True, None

    def passes_on(self, event: Event) -> None:
        """It sends a message of another daemon over TCP."""
        peer = self.peers.get(event.source or "")
        if peer is not None and event.kind is Kind.DATA:
            peer.passed_on = True
        self.had(event)

    def had(self, event: Event) -> None:
        """It sends a message of another daemon: it had come to it."""
        message = MessageRun.of(event)
        if message is not None and event.kind is Kind.DATA and base_of(message.seqno):
            at = message.source, message.subject
            if at in self.handed_on or len(self.handed_on) < MAX_HANDED_ON:
                had = self.handed_on.setdefault(at, RangeSet())
                had.add(key(message.seqno), key(message.stop))

    def learns_routes(self, peers: Iterable[Peer]) -> None:
        """A daemon that had been joined to this one alone says that it is to others as well; or
        this one has asked who is joined to whom, and the answer has nothing new. Since a daemon
        came or went its routes from these have not agreed, and which of their messages that nobody
        wanted it counted then is not known: it may have passed them on to those that did, as far as
        it knew. Heartbeats of each end that."""
        if self.rerouted is None:
            return
        for peer in peers:
            if peer.beats_since(self.rerouted) < ROUTED_BEATS:
                peer.rerouted |= peer.null_route.frame > self.rerouted
