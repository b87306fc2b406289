"""What the observing daemon itself said of losses, and what its silence says, against the replay.

A capture may lack what the daemon had; what it told publishers is what it counted (raims.md 10.3).
"""

from dataclasses import dataclass
from typing import Final

from seqaudit.replay.raims import learned
from seqaudit.replay.raims.links import TCP
from seqaudit.replay.raims.missing import OTHERS_LACK, RECONNECTED
from seqaudit.replay.raims.notices import SENT_NS, Notice
from seqaudit.replay.raims.observer import STARTED_NS, Observer
from seqaudit.replay.raims.state import RaimsState
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

UNREAD: Final = (
    "the connection was reset just behind messages of it: whether the daemon had read them by then "
    "cannot be told"
)
BY_OTHERS: Final = (
    "over TCP another daemon may have passed them on, on a connection of its own; no heartbeat "
    "says that there is none"
)
TOGETHER: Final = (
    "several daemons speak at the interface of this capture: which of them had what cannot be told"
)
LATE: Final = (
    "the first words of this start are not in this capture: which messages came to it, and which "
    "to the one before, cannot be told"
)
ENDED: Final = (
    "messages of it came behind the last word of this start, which did not say that it ended: "
    "whether it took them cannot be told"
)
OVERDUE: Final = (
    "messages of it came behind the last word of this daemon, whose next heartbeat did not come: "
    "whether it still ran and took them cannot be told"
)
NOT_HEARD: Final = (
    "its heartbeats had ended when those of this daemon had as well: whether it still ran and "
    "dropped it cannot be told"
)
WAITED: Final = (
    "messages of it came before this daemon said that it dropped their publisher, and waited here "
    "for packets that it may have had: whether it took them cannot be told"
)
LAPSED: Final = (
    "messages of it came while this daemon said nothing for longer than its heartbeats are apart: "
    "whether it took them when it went on cannot be told"
)
HEARD_SINCE: Final = (
    "this daemon had dropped it, and its heartbeats went on: whether it was taken up again, in "
    "words that are not in this capture, cannot be told"
)
TAKEN_UP: Final = (
    "this daemon had dropped it and took it up again: which of the messages that it sent to this "
    "daemon alone were taken in between cannot be told"
)
PAUSED: Final = (
    "its source ended while this daemon said nothing for long: whether it ran then, and what it "
    "read of what came, cannot be told"
)


@dataclass(frozen=True, slots=True)
class Said:
    """A stretch of point-to-point messages that the capture holds whole, and its end."""

    mark: Mark | None
    says: str


def weigh(state: RaimsState, observer: Observer) -> None:
    """At the end: what it told, what it did not, and whom it dropped."""
    for peer in observer.met.values():
        peer.is_met()
        peer.doubted |= (peer.by_clock or peer.may_be_back) and observer.ignores(peer)
    _read(state, observer)
    _paused(state, observer)
    _told(state, observer)
    _passed_on(state, observer)
    _learn_window(state, observer)
    _drop_silent(state, observer)


def _read(state: RaimsState, observer: Observer) -> None:
    """What of all that came to its host the observer may not have read: behind the last word of a
    start that nobody saw end, where another follows or its heartbeats ended."""
    starts = [one for one in state.members.observers if one.bridge is not None]
    if state.members.together:
        observer.unread = -1, TOGETHER
    elif observer in starts[1:] and not observer.from_start:
        observer.unread = -1, LATE
    elif observer in starts[:-1] and not observer.left:
        observer.unread = observer.spoke, ENDED
    elif observer in starts and observer.is_overdue(state.last_ns):
        packet = state.links.lapses.last
        observer.unread = max(observer.spoke, -1 if packet is None else packet.frame), OVERDUE
    if observer.unread is None:
        return
    for stream in observer.streams.values():
        if stream.last is not None and stream.last.frame > observer.unread[0]:
            stream.unread = observer.unread


def went_on(observer: Observer, since: int) -> None:
    """The observer speaks again: what came since a frame it read only now, if it had not dropped
    who sent it."""
    for stream in observer.streams.values():
        if stream.last is not None and stream.last.frame > since:
            stream.unread = stream.unread or (since, LAPSED)
    for peer in observer.peers.values():
        peer.lapsed |= peer.heard_frame > since


def _paused(state: RaimsState, observer: Observer) -> None:
    """Of sources that ended while the observer's host sent nothing, and may not have read."""
    for link in state.links.pgm.values():
        since = None if link.own or link.heard is None else state.links.lapses.since(link.heard)
        if since is None:
            continue
        for stream in observer.streams.values():
            if stream.link == link.name and stream.last is not None and stream.last.frame > since:
                stream.unread = stream.unread or (since, PAUSED)
                peer = observer.peers.get(stream.publisher)
                if peer is not None:
                    peer.not_read = since, PAUSED


def began_before(state: RaimsState, observer: Observer) -> bool:
    """Did the daemon run before the capture began? Its heartbeats say when it started."""
    return observer.start_ns < (state.members.first_ns or 0) - STARTED_NS


def began_here(state: RaimsState, observer: Observer) -> bool:
    """Did it begin while the capture ran? Then it knows nobody but by what came since."""
    return observer.start_told and not began_before(state, observer)


def inbox_span(state: RaimsState, observer: Observer, peer: str, at_ns: int) -> "Said | None":
    """What the observer said to a peer from a moment to a second later, if the capture has all
    of it; null: it does not, or nobody can tell."""
    link, mark = observer.notices.last_told.get(peer, ("", None))
    if mark is None or mark.at_ns < at_ns + SENT_NS:
        return None
    inbox = state.links.inboxes.get(link)
    if inbox is not None:
        numbers = inbox.whole(at_ns, at_ns + SENT_NS)
        return None if numbers is None else Said(mark, f"in numbers {numbers[0]} to {numbers[1]}")
    if state.links.holes or not link.startswith(TCP):
        return None
    return Said(mark, "in what it has said since")


def is_whole(state: RaimsState, observer: Observer) -> str | None:
    """Why the capture does not hold all that the observer had, from its start on; null: as far
    as can be seen, it does."""
    if observer.unread is not None and observer.unread[0] < 0:
        return observer.unread[1]
    if not observer.start_told or began_before(state, observer):
        return "the capture began after the daemon"
    if observer.changes.unseen:
        return "changes of its subscriptions are not in this capture"
    if state.links.may_lack() or any(link.uncaptured for link in state.links.inboxes.values()):
        return "packets that it may have had are not in this capture"
    if any(peer.doubted for peer in observer.peers.values()):
        return "heartbeats that it may have had are not in this capture"
    if any(link.reader.stands for link in state.links.pgm.values()):
        return "it may have stopped at packets that it gave up"
    return None


def _learn_window(state: RaimsState, observer: Observer) -> None:
    """What the observer's silence says of its window, whose size nobody has given."""
    if all(state.settings.parameters.is_given(name) for name in learned.SUB_WINDOW):
        return
    if state.more_notices:  # which may be those that seem not to have been sent
        return

    def silence(peer: str, at_ns: int) -> str | None:
        span = inbox_span(state, observer, peer, at_ns)
        return None if span is None else span.says

    own = [notice for notice in state.notices if notice.receiver == observer.bridge]
    told = learned.Announced(observer.notices, own, observer.advisories, silence)
    learned.learn(observer.peers.values(), observer.streams, told)


def _drop_silent(state: RaimsState, observer: Observer) -> None:
    """Peers whose heartbeats have ended are dropped with their counters, by the clock alone."""
    later = [o.start_ns for o in state.members.observers if o.start_ns > observer.start_ns]
    end_ns = min(later, default=state.last_ns)
    for peer in observer.peers.values():
        if peer.is_silent(end_ns) and not peer.dropped:
            peer.dropped_ns = (peer.heard_ns or 0) + peer.limit_ns
            peer.by_clock = True


def _told(state: RaimsState, observer: Observer) -> None:
    """What the observer itself told publishers of losses is what it counted, whatever the
    capture lacks (raims.md 10.3)."""
    told: dict[str | None, Notice] = {}
    for notice in state.notices:
        if notice.receiver != observer.bridge or notice.seqno is None:
            continue
        peer = observer.peers.get(notice.publisher or "")
        if peer is not None and notice.total is not None:
            peer.told_loss = max(peer.told_loss or 0, notice.total)
        stream = observer.streams.get((notice.publisher or "", notice.subject or ""))
        if stream is not None:
            count = None if notice.restart else notice.count
            loss = stream.truth.tell(notice.seqno, count, notice.mark)
            if loss is not None and peer is not None:
                peer.msg_loss.count += stream.counts_as_told(loss)
        if peer is not None:
            told_of = [x.mark.frame for x in (stream.truth.losses if stream else ())
                       if x.told == notice.mark]  # fmt: skip
            peer.went_on = max(peer.went_on, notice.mark.frame, *told_of)
        if peer is not None and _is_more(observer, notice, told.get(notice.publisher)):
            peer.told_more = True
        told[notice.publisher] = notice
    from_before = not began_here(state, observer)
    for peer in observer.peers.values():
        if peer.pinged.told:
            dues = [due for due in observer.notices.losses if due.publisher == peer.bridge]
            more = peer.pinged.exceed(dues, peer.msg_loss.count, from_before=from_before)
            peer.told_more |= more


def _passed_on(state: RaimsState, observer: Observer) -> None:
    """What it passed on it had: where that did not come in this capture a connection of its
    publisher, or of others on the way, is not in it."""
    for at, had in observer.handed_on.items():
        peer = observer.met.get(at[0])
        seen = [one.streams[at].seen for one in state.members.observers if at in one.streams]
        for low, high in had if peer is not None else ():
            came = RangeSet(part for some in seen for part in some.within(low, high))
            if peer is not None and came.missing(low, high):
                peer.came_unseen = True
    for (publisher, _), stream in observer.streams.items():
        peer = observer.met.get(publisher)
        for loss in stream.truth.losses if peer is not None and peer.came_unseen else ():
            if loss.missing is RECONNECTED:
                loss.missing = OTHERS_LACK


def is_told(observer: Observer, notice: Notice) -> bool:
    """Is it of a loss that the capture shows, though the replay does not count it?"""
    stream = observer.streams.get((notice.publisher or "", notice.subject or ""))
    losses = () if stream is None else stream.truth.losses
    return any(loss.told == notice.mark for loss in losses)


def _is_more(observer: Observer, notice: Notice, before: Notice | None) -> bool:
    """Does a notice tell of losses that the replay does not have: itself, or by its total since the
    notice before? The daemon lost what had arrived then."""
    due = observer.notices.of(notice)
    if due is None:
        return not (observer.notices.unlisted or is_told(observer, notice))
    if (notice.count or 0) > (due.count or notice.count or 0):
        return True
    since = None if before is None else observer.notices.of(before)
    if before is None or since is None or notice.total is None or before.total is None:
        return False
    return notice.total - before.total > due.total - since.total
