"""One sender's multicasts in one capture, and what each member says of them."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.mcast.receiver import ReceiverModel
from seqaudit.replay.jgroups.mcast.sender import SenderModel
from seqaudit.replay.jgroups.members import SeenViews
from seqaudit.replay.jgroups.report_rows import McastPeer
from seqaudit.replay.jgroups.stream import NumberedStream
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: What is said of windows. A member says it of its own, and nobody in its name.
OF_WINDOWS: Final = frozenset({Kind.ACK, Kind.REQUEST, Kind.HIGHEST, Kind.DIGEST})
#: Runs of one sender that may go on while a view waits for a message of another.
LATEST: Final = 64


class PeerTraffic:
    """What one member asked of a stream and acknowledged, as far as it passed the capture (V17)."""

    __slots__ = ("acks", "highest_ack", "repairs", "requested_seqnos", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.requested_seqnos = 0
        self.acks = 0
        self.highest_ack: int | None = None
        self.repairs = 0  # XMIT_RSP messages to it

    def row(self) -> McastPeer:
        """As the report's stream shows it."""
        return {
            "requests": self.requests,
            "requested_seqnos": self.requested_seqnos,
            "acks": self.acks,
            "highest_ack": self.highest_ack,
            "repairs": self.repairs,
        }


class McastStream(NumberedStream):
    """One sender's messages in this capture.

    Attributes:
        told: up to that was sent before the join, by HIGHEST_SEQNO or the first message before it.
        further_sends: first sends to one more member: over TCP each gets its own.
        receiver, sender_model: the window of the end that is replayed here.
        outsiders: the latest that came from outside the membership.
    """

    def __init__(self, key: str, sender: str, system: str) -> None:
        super().__init__(key, system, sender)
        self.peers: dict[str, PeerTraffic] = {}
        self.told = 0
        self.further_sends = 0
        self.sent_to: dict[str, RangeSet] = {}
        self.receiver: ReceiverModel | None = None
        self.sender_model: SenderModel | None = None
        self.pending_views: deque[tuple[int, Event]] = deque()
        self.outsiders: deque[Event] = deque(maxlen=LATEST)
        self.came_outside = RangeSet()  # in runs that came for no window

    def viewed(self, newest: SeenViews | None, caster: str | None) -> None:
        """A view passed.

        If it is a new one, its new members, or all if the sender is one, may have a new window.

        Args:
            newest: with it, if it was not seen before.
            caster: who multicast it, and has installed it.
        """
        passing = self.passing
        if passing is None:
            return
        if newest is not None:
            new = newest.newcomers
            if new is None or self.sender in new:
                passing.let_in(newest.elders(self.sender))
            for member in new or ():
                passing.may_begin(member)
        if caster is not None:
            passing.speaks(caster)

    def peer(self, member: str) -> PeerTraffic:
        found = self.peers.get(member)
        if found is None:
            found = self.peers[member] = PeerTraffic()
        return found

    def count(self, event: Event) -> list[Range]:
        """Count a message or run; returns the seqnos that were never captured before."""
        if event.wire_kind == "XMIT_RSP" and event.destination is not None:
            self.peer(event.destination).repairs += event.count
        return super().count(event)

    def came_for_no_window(self, event: Event) -> None:
        """A message or run, when none was there."""
        assert event.seqno is not None and event.stop_seqno is not None
        self.outside_membership += event.count
        self.outsiders.append(event)
        self.came_outside.add(event.seqno, event.stop_seqno)

    def has_ended(self, event: Event) -> bool:
        """Had its window been removed when a message or run came for it?"""
        window = self.receiver
        return window is not None and window.removed is not None and not window.came_behind(event)

    def lacks_messages(self) -> bool:
        """Does the capture lack some that a member here had of it?"""
        return self.receiver is not None and self.receiver.lacks_messages()

    def forget(self) -> None:
        """It had no window yet."""
        self.outside_membership += self.arrivals
        self.receiver = None
        self.pending_views.clear()

    def delivered_views(self) -> Iterator[Event]:
        """Those whose turn it is since its window was asked last; one may end that."""
        asked = self.receiver
        while asked is self.receiver and asked is not None and self.pending_views:
            if self.pending_views[0][0] > asked.window.low:
                return
            yield self.pending_views.popleft()[1]

    def delivered_until(
        self, receiver: ReceiverModel, member: str, view: Event | None
    ) -> tuple[int, int]:
        """At least, and at most, how far a member had delivered that is no longer there.

        Args:
            view: that puts it out; null: none is in the capture.
        """
        peer, low, high = self.peers.get(member), receiver.start - 1, receiver.window.low
        if peer is not None and peer.highest_ack is not None:
            low = max(low, peer.highest_ack)
        if view is not None and self.sender == view.source and view.seqno is not None:
            high = min(high, view.seqno - 1)
        return low, high

    def acked_behind(self, view: Event, member: str | None) -> bool:
        """Does a member acknowledge more than the view without it, which this sender cast? Then it
        goes on with its window, for now or because it has discarded that view."""
        peer = self.peers.get(member or "") if self.sender == view.source else None
        return peer is not None and view.seqno is not None and (peer.highest_ack or 0) > view.seqno

    def sent_first(self, event: Event, fresh: list[Range]) -> list[Range]:
        """What went to its destination for the first time: no copies (jgroups.md 1.9).

        Over UDP a message to all has no destination, and this is ``fresh``.
        """
        assert event.seqno is not None and event.stop_seqno is not None
        if event.destination is None or event.kind is Kind.RETRANSMISSION:
            return fresh
        to = self.sent_to.setdefault(event.destination, RangeSet())
        first = to.add(event.seqno, event.stop_seqno)
        self.further_sends += RangeSet(first).total() - RangeSet(fresh).total()
        return first


def doubt_ends(streams: Collection[McastStream], seen: SeenViews, local: str | None) -> None:
    """Of windows which a view may have ended that is not in this capture, or waits here for what
    the capture lacks and the member may have had, nothing tells what they took."""
    lacking = [caster for caster in streams if caster.lacks_messages()]
    waiting = [seen.of(event) for caster in lacking for _, event in caster.pending_views]
    for stream in streams:
        if stream.receiver is not None and stream.receiver.removed is None:
            stream.receiver.doubts.untold |= seen.left_out(stream.sender, local, waiting)


def doubt_left(streams: Iterable[McastStream], event: Event) -> None:
    """A view that is told by what it changes in one that was not seen names those who left it: if
    this member has it, it ends their windows. One that was not read may end any."""
    stated = event.details().get("view")
    if stated:
        left = stated.get("left", ())
        nothing_tells(stream for stream in streams if stream.sender in left)
    elif event.seqno is not None:
        nothing_tells(streams)


def nothing_tells(streams: Iterable[McastStream]) -> None:
    """Which of the messages that came their windows took."""
    for stream in streams:
        if stream.receiver is not None:
            stream.receiver.doubts.untold = True


def numbered_by(event: Event) -> str:
    """Whose numbers a row is about."""
    if event.kind is Kind.REQUEST:
        assert event.stream is not None
        return event.stream.rpartition("|")[2]
    sender = event.destination if event.kind is Kind.ACK else event.source
    assert sender is not None
    return sender


def names_nobody(event: Event) -> bool:
    """Does it say nothing of a sender that windows could be kept for? The wire may leave the
    source's address out, which no member of a cluster does, and anybody can send to a group."""
    if event.kind in (Kind.DATA, Kind.RETRANSMISSION, Kind.ACK, Kind.HIGHEST):
        return event.source is None or event.seqno is None
    if event.kind is Kind.REQUEST:
        return event.source is None or event.stream is None
    return event.kind is Kind.VIEW and event.seqno is not None and event.source is None
