"""What the observing daemon gets: messages that their links have handed on, in their order.

They go through its subscription window (``replay.raims.subscriber``), whose counters are those of
``show loss``; beside it ``Truth`` keeps what really was lost.
"""

from collections.abc import Mapping
from typing import Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.engine import Row
from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims import own_words
from seqaudit.replay.raims.advisories import Outbound
from seqaudit.replay.raims.link_table import link_of
from seqaudit.replay.raims.links import Ready
from seqaudit.replay.raims.message import MessageRun
from seqaudit.replay.raims.missing import Missing
from seqaudit.replay.raims.observer import STARTED_NS, Observer
from seqaudit.replay.raims.peer_clock import SKEW_NS
from seqaudit.replay.raims.peers import Peer
from seqaudit.replay.raims.pieces import Pieces
from seqaudit.replay.raims.releases import DECEMBER_2024
from seqaudit.replay.raims.state import MAX_NOTICES, RaimsState, stream_of
from seqaudit.replay.raims.streams import RaimsStream, RepeatedMessage
from seqaudit.replay.raims.subscriber import Ruling, Status
from seqaudit.replay.sequence.gaps import Mark

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


class Receiving:
    """Messages on their way into the observer."""

    def __init__(self, state: RaimsState) -> None:
        self._state = state
        self.pieces = Pieces(state.links)

    def deliver_all(self, ready: list[Ready]) -> None:
        """Messages that their link has handed on."""
        for message, mark, waited in ready:
            if isinstance(message, Row):
                came = Mark(message.frame, message.at_ns)
                started = not self._state.observer.was_not_yet(came)
                if started and self._state.steady.takes(message, mark):
                    continue
                message = message.event()
            self.deliver(message, mark, waited=waited)

    def deliver(self, event: Event, mark: Mark, *, waited: bool) -> None:
        """A message that its link has handed on."""
        if event.kind is Kind.DATA and event.flags & Flag.PARTIAL:
            self.pieces.begin(event)
        elif event.wire_kind == "PIECE":
            whole = self.pieces.goes_on(event)
            if whole is not None:
                self._data(whole, mark, waited=True, sqn=event.fresh_id)
        elif event.kind is Kind.DATA:
            self._data(event, mark, waited=waited)
        elif event.wire_kind in ("UNREAD", "DATA"):  # data that has no number
            self._state.links.could_not_read(event)
        elif event.kind is Kind.SUBSCRIBE:
            self._state.convergence.subscribed(event, event.details())
        else:
            self._control(event, mark)

    def _data(self, event: Event, mark: Mark, *, waited: bool, sqn: int | None = None) -> None:
        observer = self._state.observer
        message = MessageRun.of(event)
        if message is None:
            self._state.links.could_not_read(event)
            return
        link = self._state.links.pgm.get(link_of(event))
        if link is not None and (event.frame, event.index) in link.repeating:
            link.repeating.discard((event.frame, event.index))
            for part in message.beyond(stream_of(observer.streams, message).seen):
                self._data(part, mark, waited=waited, sqn=sqn)
            return
        if link is not None and link.came_late(event):
            self._came_late(message, mark)
            return
        if self._state.members.said_goodbye(message.source):
            stream_of(observer.streams, message).ignored += event.count
            return
        peer = self._state.members.peer(message.source)
        repairs = link is not None and link.repairing  # a repair has the time of its original
        if event.stamp is not None and not (waited or repairs) and event.first_mark() == mark:
            self._steps(event, peer)
            peer.clock.hears(event.at_ns - event.stamp)
            self._state.clocks.heard(event)
            if abs(event.at_ns - event.stamp) > SKEW_NS:
                peer.clock.off = peer.clock.off or mark
        last = event.last_mark() if not waited else mark
        stream = stream_of(observer.streams, message)
        missing = self._state.links.before(event, stream)
        if missing is not None and stream.glsno:
            stream.skipped(message, missing, mark)
        before = stream.last
        fresh = stream.sees(message, mark, last)
        if fresh:
            self._state.published(message, stream)
            self._state.passed(event, stream, observer.bridge)
        if waited and observer.was_not_yet(event.first_mark()):
            stream.before_words = True
            return
        if not observer.active:
            return
        if not self._takes_from(peer, mark, link_of(event)):
            stream.ignored += event.count
            stream.untaken = last.frame
            if waited and not peer.by_clock and event.at_ns < (peer.dropped_ns or 0):
                stream.unread = stream.unread or (event.frame, own_words.WAITED)
            peer.goes_by(event.stamp)
            peer.rerouted |= peer.revived
            return
        if not stream.link and observer.window.subscriptions.routed(str(event.destination)):
            self._begins(event, stream)
        if message.is_glsno:
            self._glsno(message, peer, stream, mark, last, known=not fresh)
        else:
            verdicts = self._decide(message, peer, mark, last, stream, known=not fresh)
            status = verdicts[0].status if verdicts else Status.NOT_SUBSCRIBED
            first = status is Status.FIRST and not verdicts[0].rotated
            wanted = status is not Status.NOT_SUBSCRIBED
            changed = missing is not None and self._has_changed(stream, before, mark)
            stream.is_wanted(missing, wanted=wanted, changed=first or changed)
            if wanted:
                self._judge(message, stream, verdicts, missing, mark, before, known=not fresh)
                if self._joins(observer, message.subject):
                    self._state.convergence.delivered(observer.bridge, stream, event, verdicts[0])
        self._state.links.remember(event, stream, sqn)
        self._state.steady.fed(event, stream, observer.window, peer)

    def _came_late(self, message: MessageRun, mark: Mark) -> None:
        """Messages that came, as those behind them had been handed on: to the daemon they came
        before these, or never, which their gap leaves open."""
        stream = stream_of(self._state.observer.streams, message)
        if stream.sees(message, mark, mark):
            self._state.published(message, stream)
            self._state.passed(message.event, stream, self._state.observer.bridge)

    def _has_changed(self, stream: RaimsStream, before: Mark | None, mark: Mark) -> bool:
        """Did the observer tell of a change of what it wants of a stream between two messages?"""
        since = -1 if before is None else before.frame
        changes = self._state.observer.changes.told_of(stream.subjects)
        return any(since <= change.mark.frame <= mark.frame for change in changes)

    def _begins(self, event: Event, stream: RaimsStream) -> None:
        """A stream's first message; since the observer has wanted it there may have been others."""
        observer, subject = self._state.observer, str(event.destination)
        told = (change.mark.frame for change in observer.changes.told_of([subject]))
        since = next(told, -1) if self._joins(observer, subject) else -1
        self._state.links.begins(event, stream, since)

    def _steps(self, event: Event, peer: Peer) -> None:
        """Was the capture's clock set in a long silence? The sender's own clock says that no such
        time has passed; so nobody was silent for as long."""
        before_ns = peer.clock.skew[1] if peer.clock.skew else peer.clock.beat_ns
        if self._state.silence is None or before_ns is None or event.stamp is None:
            return
        ended_ns, silent_ns = self._state.silence
        if event.at_ns - event.stamp - before_ns < silent_ns // 2:
            return
        for other in self._state.observer.peers.values():
            if other.heard_ns is not None and other.heard_ns < ended_ns:
                other.heard_ns += silent_ns
        self._state.silence = None

    def _takes_from(self, peer: Peer, mark: Mark, link: str) -> bool:
        """Does the observer still take messages of a peer? Not if it has heard nothing for too
        long; where the capture may have missed what it heard, it does."""
        now_ns = mark.at_ns
        if peer.is_strange and own_words.began_here(self._state, self._state.observer):
            peer.met = False
        peer.came_unmet |= peer.met is False
        if peer.is_silent(now_ns) and self._state.links.may_lack(peer.heard_frame):
            peer.heard_ns = now_ns
            peer.heard_frame = peer.kept_frame = mark.frame
            peer.doubted = True
        return peer.is_known(now_ns, link)

    @staticmethod
    def _joins(observer: Observer, subject: str) -> bool:
        """Is a first message one that somebody joins with? Not where it is only the first that was
        captured: of a daemon that nobody knows, or that had subscribed before."""
        if observer.bridge is None:
            return False
        found = observer.window.subscriptions.matching(subject)
        return bool(found) and found[0] > observer.stated

    def _decide(
        self, message: MessageRun, peer: Peer, mark: Mark, last: Mark, stream: RaimsStream,
        *, known: bool,
    ) -> list[Ruling]:  # fmt: skip
        observer, event = self._state.observer, message.event
        if not observer.window.subscriptions.routed(message.subject):
            peer.unrouted = peer.unrouted or mark
            peer.rerouted |= peer.met_frame < 0 and observer.start_told
            peer.null_route.add(event.count, last)
            stream.unwanted += event.count
            return []
        verdicts = observer.window.arrive(
            message.subject, message.source, message.seqno, message.stop, chain=event.conn_id,
            time_ns=event.stamp, at_ns=mark.at_ns, skew_ns=peer.clock.ahead_ns,
        )  # fmt: skip
        for verdict in verdicts:
            count = verdict.stop - verdict.seqno
            if verdict.status is Status.NOT_SUBSCRIBED:
                peer.unmatched = peer.unmatched or mark
                peer.not_subscribed.add(count, last)
                peer.null_route.add(count, last)
                stream.unwanted += count
            elif verdict.status is Status.REPEAT:
                peer.repeat.add(count, last)
                stream.repeats.append(RepeatedMessage(verdict, mark, known))
            else:
                stream.deliver(verdict.seqno, verdict.stop)
            if verdict.counted:
                peer.msg_loss.add(verdict.counted, mark)
        return verdicts

    def _judge(
        self, message: MessageRun, stream: RaimsStream, verdicts: list[Ruling],
        missing: Missing | None, mark: Mark, before: Mark | None, *, known: bool,
    ) -> None:  # fmt: skip
        """Beside the daemon's verdict, the truth."""
        state, verdict = self._state, verdicts[0]
        if verdict.status is Status.FIRST and not verdict.rotated:
            stream.truth.high = None  # what passed while nobody had subscribed is no loss
        copies = stream.truth.copies
        loss = stream.truth.step(
            message.seqno, message.stop, message.event.conn_id, missing,
            state.settings.room(stream), mark, before, stream.untaken_before(message.seqno),
        )  # fmt: skip
        for part in verdicts:  # messages are counted: where a run was cut does not matter
            stream.rows[part.row] += max(part.stop - part.seqno, 1)
        if verdict.status in (Status.SKIP, Status.CYCLE) or loss is not None:
            copy = stream.truth.copies > copies
            came = message.event.first_mark()
            stream.note(verdict, loss, mark, came, copy=copy, known=known)
        if verdict.status is Status.SKIP and state.observer.bridge is not None:
            count = verdict.counted if verdict.value < 0x8000 else None
            total = state.members.peer(stream.publisher).msg_loss.count
            state.observer.notices.lost(
                stream.publisher, message.subject, count, total, message.seqno, mark
            )
        if verdict.status is Status.SKIP and state.observer.user is not None:
            sender = state.members.users.get(stream.publisher)
            state.observer.advisories.lost(
                message.subject,
                verdict.counted if verdict.value < 0x8000 else None,
                stream.publisher,
                None if sender is None else sender.user,
                None if sender is None else sender.address,
                mark,
            )

    def _glsno(
        self, message: MessageRun, peer: Peer, stream: RaimsStream, mark: Mark, last: Mark, *,
        known: bool,
    ) -> None:  # fmt: skip
        observer, event = self._state.observer, message.event
        subject = str(event.destination)
        if not observer.window.subscriptions.routed(subject):
            peer.null_route.add(event.count, last)
            stream.unwanted += event.count
            return
        path = int(message.subject.removeprefix("#") or 0)
        for verdict in observer.window.glsno(message.source, path, message.seqno, message.stop):
            if verdict.status is Status.REPEAT:
                peer.repeat.add(verdict.stop - verdict.seqno, last)
                stream.repeats.append(RepeatedMessage(verdict, mark, known))
            else:
                stream.deliver(verdict.seqno, verdict.stop)
                stream.subject_delivered(subject, verdict.stop - verdict.seqno)

    def _control(self, event: Event, mark: Mark) -> None:
        """Any other message from a peer; behind its goodbye nobody takes any."""
        if event.source is None or self._state.members.said_goodbye(event.source):
            return
        detail = event.details()
        peer = self._state.members.peer(event.source)
        word = event.wire_kind
        peer.first = peer.first or mark
        peer.introduced_on = peer.introduced_on or link_of(event)
        if word in ("HELO", "BYE"):
            self._state.observer.rerouted = mark.frame
        here = event.destination == self._state.observer.bridge
        if word == "ADJ" and peer.joined_frame > (self._state.observer.rerouted or 0):
            self._state.observer.learns_routes([peer])
        elif word == "ADJ_RPY" and here and "link_state" not in detail:
            self._state.observer.learns_routes(self._state.observer.peers.values())
        start = detail.get("start")
        if word in ("HELO", "HB", "AUTH") and isinstance(start, int):
            self._state.members.users.setdefault(event.source, Peer(event.source)).start_ns = start
        if word == "HB":
            self._state.observer.counts_daemons(event.source, detail.get("uid_csum"))
            self._state.convergence.heartbeat(event, detail)
            if event.stamp is not None and event.first_mark() == mark:
                self._steps(event, peer)
                peer.clock.beats(event.at_ns - event.stamp)
                self._state.clocks.heard(event)
        elif word == "BYE":  # dropped at once, with its counters
            self._state.members.users.setdefault(event.source, Peer(event.source)).ended = mark
            self._state.observer.peers.pop(event.source, None)
            self._state.steady.forget()
        elif word == "ADD" and peer.is_known(mark.at_ns):  # a peer answers for another daemon
            added = self._state.observer.peers.get(str(detail.get("sync_bridge")))
            if added is not None:
                added.is_introduced()
                added.is_taken_up(mark)
        elif word == "ADJ_RPY" and here and peer.is_known(mark.at_ns):
            named = self._state.observer.peers.get(str(detail.get("sync_bridge")))
            if named is not None and named is not peer:
                named.is_taken_up(mark)
        elif word == "MCAST" and self._state.observer.active:
            self._multicast(event, peer, mark)
        elif word == "PING" and event.destination == self._state.observer.bridge:
            self._outbound(event, peer, detail)
        elif word == "PONG" and here and not peer.dropped:
            peer.pinged.pongs(detail)
        elif word == "LOSS":
            self._state.note(event, detail)
            window = self._state.publishers.get(event.destination or "")
            if window is not None and detail.get("idl_restart"):
                window.rotation.scale(mark.at_ns)
        told = detail.get("session_bridge")
        # an answer with a stage says why the daemon that was asked for is gone
        if word == "SYNC_RPY" and here and told and "auth_stage" not in detail:
            self._state.members.learn(str(told), detail, event.frame, link_of(event))
        if word == "HELO" and _begins(detail) and peer.heard_ns is None and peer.met_frame < 0:
            peer.met = False
        elif word == "AUTH" and here:
            peer.is_met(surely=event.seqno == 1)
            peer.joined_frame = mark.frame
        if word != "AUTH" or event.destination == self._state.observer.bridge:
            link = link_of(event)
            peer.heard(word, detail.get("interval"), mark, link, event.stamp)
        if word in INBOX_WORDS and here and peer.dropped:
            peer.inbox_untaken = mark.frame
        elif word in INBOX_WORDS and here:
            self._inbox_number(event, peer, mark)

    def _multicast(self, event: Event, peer: Peer, mark: Mark) -> None:
        """raims-10.1-multicast: what a daemon asks all others has no subscriber behind any of them,
        so it counts as a null rte unless it is passed on."""
        if event.seqno is None or event.seqno <= peer.inbox.get("MCAST", 0) or peer.dropped:
            return
        peer.inbox["MCAST"] = event.seqno
        peer.null_route.add(1, mark)
        peer.passed_on |= self._state.links.speaks_tcp

    def reset(self, link: str, since: object) -> None:
        """A connection was reset: what came on it since its receiver's last word there may have
        been discarded unread, acknowledged or not.

        Args:
            since: the capture frame of that word.
        """
        if not isinstance(since, int) or self._state.links.leaves(link):
            return
        for observer in self._state.members.observers:
            for stream in observer.streams.values():
                if stream.came_on.get(link, -1) > since and stream.unread is None:
                    stream.unread = since, own_words.UNREAD
                    if stream.publisher in observer.peers:
                        observer.peers[stream.publisher].not_read = -1, own_words.UNREAD
            for peer in observer.peers.values():
                peer.unread |= peer.inbox_links.get(link, -1) > since

    def _inbox_number(self, event: Event, peer: Peer, mark: Mark) -> None:
        """raims-9.2-inbox: numbers per peer and type."""
        if event.seqno is None:
            return
        # raims-14.1-inbox: one counter of all types
        word = event.wire_kind if self._state.settings.release >= DECEMBER_2024 else ""
        last = peer.inbox.get(word, 0)
        if event.seqno <= last:
            return
        before = peer.inbox_marks.get(word, mark)
        link = link_of(event)
        moves = peer.inbox_links and link not in peer.inbox_links
        unseen = moves and self._state.links.border_unseen(link, peer.inbox_links)
        peer.inbox[word], peer.inbox_marks[word] = event.seqno, mark
        peer.inbox_links[link] = event.last_mark().frame
        if last and event.seqno != last + 1 and event.wire_kind not in UNCOUNTED:
            lost = event.seqno - last - 1
            links = self._state.links
            peer.border_unseen |= bool(unseen)
            if unseen or any(links.inbox_lacks(name, before.frame) for name in peer.inbox_links):
                peer.inbox_uncaptured.append((mark, lost))
                return
            peer.inbox_loss.add(lost, mark)
            peer.inbox_steps.append((before, mark, word, last, event.seqno))

    def _outbound(self, event: Event, peer: Peer, detail: Mapping[str, object]) -> None:
        """raims-11.5: a peer's clients lost messages of the observer."""
        service, lost = detail.get("idl_service"), detail.get("idl_msg_loss")
        if type(service) is not int or type(lost) is not int:
            return
        if len(self._state.observer.outbound) < MAX_NOTICES:
            unknown = bool(detail.get("idl_restart"))
            self._state.observer.outbound.append(
                Outbound(service, lost, unknown, peer.address, peer.user, event.first_mark())
            )


def _begins(detail: Mapping[str, object]) -> bool:
    """Has a daemon only just started, by its HELO?"""
    uptime_ns = detail.get("uptime")
    return isinstance(uptime_ns, int) and uptime_ns < STARTED_NS
