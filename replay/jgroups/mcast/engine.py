"""MCAST (shipped as NAKACK4, with NAKACK3 and NAKACK2 beside it): one cluster in one capture.

Comes in: the events of conversation ``mcast|<cluster>`` of one capture, in capture order. Goes out:
a summary of every multicast stream, its gaps, findings, and the views that were seen. Replays
jgroups.md 5.3 (sender), 5.4 (receiver), 5.5 (NAKACK2) and 5.6 (the design document's rules, as
``mcast.rules=document``); what a capture can prove at which point is section 6.

Which part is replayed depends on where the capture was taken: at a member's interface its own
stream is replayed as a sender and every other stream as a receiver; between members only what
passes is known.

Life of this member's windows (5.4):

    #   event                               windows
    W1  JOIN_RSP to this member, first one  all new, each at the digest's delivered seqno (R17);
                                            what arrived before waits in a queue of 50 (R1)
    W2  VIEW delivered: P is new, or P is   a window at 0 (R16), unless there is one (R18)
        told JOIN_RSP by this member
    W3  VIEW delivered: P is gone           P's window is removed (R15)
    W4  MergeView with digest               a window behind the digest is replaced (R19)
    W5  VIEW without this member            all end there if it is dead or has left (V12); one that
                                            lives discards such a view, and nothing changes

The rows are those of ``tests.replay.jgroups.mcast.rows``.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from seqaudit.decoders.contract.events import BETWEEN_FRAMES, Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.jgroups.both_ends import RECEIVER, SENDER, MemberEnds
from seqaudit.replay.jgroups.evidence import CROSSING_NS, SECOND_NS
from seqaudit.replay.jgroups.holes import LinkHoles
from seqaudit.replay.jgroups.mcast.ending import ends, silent_ends
from seqaudit.replay.jgroups.mcast.epoch import Epoch
from seqaudit.replay.jgroups.mcast.models import Models
from seqaudit.replay.jgroups.mcast.parameters import PARAMETERS
from seqaudit.replay.jgroups.mcast.receiver import ReceiverModel
from seqaudit.replay.jgroups.mcast.streams import (
    LATEST,
    OF_WINDOWS,
    McastStream,
    doubt_ends,
    doubt_left,
    names_nobody,
    nothing_tells,
    numbered_by,
)
from seqaudit.replay.jgroups.members import ASKS_TO_JOIN, Members, SeenViews, View
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

MOST_ASIDE: Final = 50_000  # rows until a member speaks again that a view had excluded
#: One that leaves has gone by then: it waits 2 s for an answer (GMS.leave_timeout).
LEAVING_NS: Final = 3_000_000_000


class McastEngine:
    """One cluster in one capture. See the module's docstring.

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
        self.parameters = EngineParameters("mcast", PARAMETERS, given)
        self.vantage = vantage
        self.streams: dict[str, McastStream] = {}
        self.members = Members(vantage)
        self.view: View | None = None  # installed at this member; between members: last one seen
        self.holes = LinkHoles()
        self.seen = SeenViews()
        self.epoch = Epoch()
        self.excluded: tuple[Mark, str] | None = None
        self._excluding: Event | None = None  # the view that did: does this member live?
        self._aside: list[Event] = []  # what its windows got since then
        self.leaving: Mark | None = None
        self.last: Mark | None = None  # of all events
        self._models = Models(self.parameters, vantage, self.seen)
        self.reports_interval: dict[str, tuple[int, int, str]] = {}  # at least, at most, and why
        self._at = self._installed_at = Mark(-1, 0)  # of this event, and with which a view came in
        self._cast = False  # that view, by this member

    # -- events --------------------------------------------------------------------------------

    def feed(self, event: Event) -> None:
        self._at = event.first_mark()
        self._models.begins(event.first_mark())
        if event.kind is Kind.MEMBER:
            self.members.saw(event)
            self.holes.others_repair |= self.members.others_repair
            return
        self.holes.saw(event)
        if event.wire_kind in BETWEEN_FRAMES:
            return
        self.members.heard(event)
        self._models.saw(event, self.members.local)
        last = event.last_mark()
        if self.last is None or last.frame >= self.last.frame:
            self.last = last
        self.members.learn(event)
        if self.members.captured_twice(event):
            return
        refused = event.flags & Flag.REFUSED and self.members.comes_here(event)
        if refused or names_nobody(event):
            return  # the member had closed the connection; no member has a window for it
        if self.ends is not None:
            self.ends.saw(event)
        if self._excluding is not None and self._shows_life(event):
            self._lives()
        if event.kind in (Kind.DATA, Kind.RETRANSMISSION):
            self._numbered(event)
        elif event.kind is Kind.VIEW:
            if event.seqno is None:
                self._told_view(event)
            else:
                self._numbered(event)
        elif event.kind is Kind.ACK:
            self._ack(event)
        elif event.kind is Kind.REQUEST:
            self._request(event)
        elif event.kind is Kind.HIGHEST:
            self._highest(event)
        elif event.kind is Kind.DIGEST:  # what it has delivered: as good as an ACK (N5, not N6)
            if self._from_local(event) and event.wire_kind != "STABILITY":
                self._here(event)
        elif event.wire_kind == "LEAVE_RSP" and self.members.local in (event.destination,):
            self.leaving = event.first_mark()
        elif event.wire_kind in ASKS_TO_JOIN:
            if self.members.takes_over(event):
                self._begin_anew(str(event.source), event)
            self.epoch.asks(event, self.members.local)

    def close(self) -> None:
        """The capture is over."""
        view, life, local = self._excluding, self._models.life, self.members.local
        if view and any(stream.acked_behind(view, local) for stream in self.streams.values()):
            self._lives()
            nothing_tells(self.streams.values())  # it goes on behind the view: for how long?
        self._is_gone()
        if life.ended_before(self.members.another):
            self.reports_interval |= ends(self.streams, local)
        elif self.excluded is None and self.last is not None:
            self.reports_interval |= silent_ends(self.streams, life, local, self.last)
        for stream in self.streams.values():
            if (receiver := stream.receiver) is not None:
                assert self.last is not None, "a stream has events"
                receiver.finish(self.last.at_ns, life.until(self.last.at_ns))
                if self.view is None and 1 in receiver.tracker.seen:  # all of it is in the capture
                    receiver.doubts.untold |= life.began_behind(receiver.tracker)
                receiver.settle(self.last)
                self.holes.lie_over(receiver, stream.sender)
                receiver.ways.came_outside(stream.came_outside)
            if stream.passing is not None:
                stream.passing.finish()
            if stream.sender_model is not None:
                stream.sender_model.finish()
        doubt_ends(self.streams.values(), self.seen, local)
        if self.ends is not None:
            self.ends.local = self.members.local
            for stream in self.streams.values():
                if stream.receiver is not None and stream.receiver.left_out:
                    self.ends.hidden[stream.key] = stream.receiver.left_out

    def _passed(self, stream: McastStream, event: Event) -> None:
        if self.ends is None:
            return
        self.ends.passed(stream.key, event, several=True)
        if event.kind in (Kind.DATA, Kind.RETRANSMISSION, Kind.VIEW):
            role = SENDER if self.members.is_local(stream.sender) else RECEIVER
            self.ends.has_end(role, stream.key, event, None, None)

    def is_member(self) -> bool:
        """Is this one in a view that was seen, or does it multicast, if its join was not?"""
        return self._casts() or self.seen.names_any(self.members.local)

    def _casts(self) -> bool:
        return any(s.arrivals > 0 and s.sender == self.members.local for s in self.streams.values())

    def _has_joined(self) -> None:
        """It has by now: of what came before nobody can tell whether its windows took it, unless a
        digest still tells."""
        if not (self.epoch.joined or self._casts()):
            nothing_tells(self.streams.values())

    def _from_local(self, event: Event) -> bool:
        return event.source is not None and event.source == self.members.local

    # -- numbered messages -----------------------------------------------------------------------

    def _stream(self, sender: str, event: Event) -> McastStream:
        key = f"{self.cluster}|{sender}"
        stream = self.streams.get(key)
        if stream is None:
            as_sender = self.vantage.kind != MEMBER or self.members.is_local(sender)
            stream = self._models.stream(key, sender, event, self.view, as_sender=as_sender)
            self.streams[key] = stream
        return stream

    def _open(self, stream: McastStream, low: int, *, known: bool, based: bool) -> ReceiverModel:
        skip = self.epoch.skipped.pop(stream.sender, None)
        stream.receiver = self._models.receiver(
            stream.system,
            low if skip is None else skip.low,
            known=known,
            based=self.epoch.based_at if based else None,
            exact=self.epoch.tells_all(stream.sender, self._models.long_before),
            let_in=self._installed_at if stream.sender in self.epoch.let_in else None,
        )
        stream.receiver.beginning.begins(stream.told)
        if skip is not None:
            stream.receiver.merge(skip.level, skip.mark, RangeSet(), self._installed_at)
        self._came_meanwhile(stream, stream.receiver)
        return stream.receiver

    def _before_join(self, stream: McastStream, seqno: int) -> None:
        """What is heard of a stream before the join tells what was sent before it."""
        if not (self.epoch.joined or stream.sender in self.epoch.bases or stream.arrivals):
            stream.told = max(stream.told, seqno)

    def _numbered(self, event: Event) -> None:
        assert event.source is not None and event.seqno is not None
        stream = self._stream(event.source, event)
        if event.kind is Kind.VIEW and self._from_local(event):
            self._install_from(event)  # the sender installs it before it is on the wire (S8)
        self._before_join(stream, event.seqno - 1)
        fresh = stream.count(event)
        self._passed(stream, event)
        if self.vantage.kind == MEMBER and not self.members.is_local(event.source):
            self._here(event)
            return
        if stream.passing is None:
            stream.passing = self._models.passing(event)
            stream.passing.let_in(self.seen.elders(stream.sender))
        stream.passing.passed(event, stream.sent_first(event, fresh))
        if stream.sender_model is not None:
            for first, stop in fresh:
                stream.sender_model.sent(first, stop, event.first_mark(), event.last_mark())
        if event.kind is Kind.VIEW and self.vantage.kind != MEMBER:
            self._install_from(event)

    def _here(self, event: Event) -> None:
        """What comes to this member's windows, or it says of them."""
        if self._excluding is not None:
            self._note_view(event)
        if self._excluding is not None:
            self._aside.append(event)
            if len(self._aside) >= MOST_ASIDE:
                self._is_gone()
            return
        mark = event.first_mark()
        if event.kind is not Kind.DIGEST:
            stream = self._stream(numbered_by(event), event)
            if event.kind not in OF_WINDOWS:
                self._arrive(stream, event)
                return
        if self.excluded is not None:
            return
        if event.kind is Kind.DIGEST:
            for member, levels in (event.details().get("digest") or {}).items():
                told = self.streams.get(f"{self.cluster}|{member}")
                if told is not None and told.receiver is not None:
                    self._window(told, int(levels[0]), mark).level(int(levels[0]), mark)
                    self._install_delivered(told)
        elif event.kind is Kind.HIGHEST:
            self._told_highest(stream, event)
        else:
            assert event.seqno is not None
            self.epoch.joined = True
            if event.kind is Kind.ACK:
                self._window(stream, event.seqno, mark).level(event.seqno, mark)
                self._install_delivered(stream)
            else:
                window = self._window(stream, event.seqno - 1, mark)
                window.own_request(event, self.parameters.value("max_xmit_req_size"))

    def _shows_life(self, event: Event) -> bool:
        """Does this member speak, well after a view without it? What it had sent before others may
        send again in its name (5.5)."""
        assert self.excluded is not None
        if not self._from_local(event):
            return False
        own = self.streams.get(f"{self.cluster}|{event.source}")
        new = (event.stop_seqno or 0) - 1 > (0 if own is None else own.last_seqno or 0)
        if event.kind is Kind.VIEW:
            return new  # it is the coordinator
        late = event.last_mark().at_ns - self.excluded[0].at_ns > LEAVING_NS
        return late and (new or event.kind in OF_WINDOWS)

    def _lives(self) -> None:
        """The view was none of its own: its windows are what they were."""
        aside, self._aside, at = self._aside, [], self._at
        self._excluding = self.excluded = None
        for event in aside:
            self._at = event.first_mark()
            self._here(event)
        self._at = at

    def _is_gone(self) -> None:
        """It has not spoken again since a view that excluded it, if one did."""
        if self._excluding is None:
            return
        view, self._excluding, aside, self._aside = self._excluding, None, self._aside, []
        self._end_windows(view)
        for event in aside:
            self._here(event)

    def _arrive(self, stream: McastStream, event: Event) -> None:
        if event.destination is not None and self.members.local not in (None, event.destination):
            return  # a repair for somebody else
        if self.holes.others_repair:  # IP ids are of whichever member sent it
            event = replace(event, fresh_id=None, last_fresh_id=None)
        assert event.seqno is not None
        if self.excluded is not None or not self.epoch.joined:
            self.epoch.waiting.add(event)  # what a process that begins here may take with its join
        if self.excluded is not None or stream.has_ended(event):
            self._outside(stream, event)
            return
        if stream.receiver is None:
            if (
                self.epoch.joined
                and stream.sender not in self.epoch.bases
                and self.view is not None
                and stream.sender not in self.view.members
            ):
                self._outside(stream, event)  # R2
                return
            base = self.epoch.bases.get(stream.sender)
            low = event.seqno - 1 if base is None else base
            known = base is not None or event.seqno == 1
            self._open(stream, low, known=known, based=base is not None)
        receiver = stream.receiver
        assert receiver is not None
        receiver.two_members = self.view is not None and len(self.view.members) == 2
        receiver.arrive(event)
        self._note_view(event)
        if event.kind is Kind.VIEW:
            stream.pending_views.append((event.seqno, event))
        self._install_delivered(stream)

    def _outside(self, stream: McastStream, event: Event) -> None:
        stream.came_for_no_window(event)
        self._note_view(event)

    def _came_meanwhile(self, stream: McastStream, receiver: ReceiverModel) -> None:
        """A new window. Rows are in order within a stream only, so some that came behind the view
        may have been replayed before it. A run that had begun before it belongs to the window in
        part, and no row says in which; nor what came just before this member cast it (S8)."""
        latest, stream.outsiders = stream.outsiders, deque(maxlen=LATEST)
        since_ns = self._installed_at.at_ns - (CROSSING_NS if self._cast else 0)
        for run in latest:
            last = run.last_mark()
            if last.frame > self._installed_at.frame or last.at_ns > since_ns:
                stream.outside_membership -= run.count
                receiver.arrive(run, sure=last.frame > self._installed_at.frame)

    def _note_view(self, event: Event) -> None:
        if event.kind is Kind.VIEW:
            self._see_view(event)

    # -- views -----------------------------------------------------------------------------------

    def _see_view(self, event: Event) -> View | None:
        """Note a view (V11); one without this member ends its windows, delivered or not (W5)."""
        view, first = self.seen.see(event)
        caster = self.seen.caster(view, event)
        for stream in self.streams.values() if first or caster is not None else ():
            stream.viewed(self.seen if first else None, caster)
        left, own = self.leaving is not None, self.view or self.seen.latest_of(self.members.local)
        if first and self.excluded is None and self.members.put_out(event, view, own, left=left):
            self.excluded = (event.first_mark(), "it had left" if left else "a view without it")
            if left or self._from_local(event):
                self._end_windows(event)
            else:
                self._excluding = event
        if view is None:
            doubt_left(self.streams.values(), event)
            return None
        successor = self.members.begins_anew(view)
        if successor is not None:
            self._begin_anew(successor, event)
        return view

    def _begin_anew(self, member: str, event: Event) -> None:
        """Another process at the same host: its windows are its own."""
        self._is_gone()
        self.excluded = (event.first_mark(), "it began anew")
        self._end_windows(event)
        self.members.begun_anew(member, event.frame)
        self.excluded = self.leaving = self.view = None
        self.epoch = Epoch(event.first_mark())
        self._installed_at, self._cast = event.first_mark(), False

    def _end_windows(self, event: Event) -> None:
        """A view ends them: this member has gone."""
        assert self.excluded is not None and self.members.local is not None
        mark, why = self.excluded
        self.reports_interval |= ends(self.streams, self.members.local, event)
        for stream in self.streams.values():
            if stream.receiver is not None:
                stream.receiver.end(mark, why)

    def _install_delivered(self, stream: McastStream) -> None:
        for view in stream.delivered_views():
            self._install_from(view)

    def _install_from(self, event: Event) -> None:
        view = self._see_view(event)
        if view is not None and self.excluded is None:
            self._install(view, event)

    def _install(self, view: View, event: Event) -> None:
        """This member installs a view (5.4 "view", "digest"; 5.3 "view")."""
        if self.vantage.kind == MEMBER and self.members.local not in (None, *view.members):
            return
        current = self.view
        if (
            current is not None
            and (self.vantage.kind == MEMBER or current.creator == view.creator)
            and view.number <= current.number
        ):
            return  # a copy, or older than the one it has, whoever made it (2.6)
        if current is None and self.vantage.kind == MEMBER:
            self._forget_outsiders(view, event)
            if view.members[0] != self.members.local:  # who is not the eldest may be new in it
                self._has_joined()
        self.view, self._installed_at, self._cast = view, self._at, self._from_local(event)
        self.seen.installed(view)
        detail, mark = event.details(), event.first_mark()
        self.epoch.based_at = mark
        digest, part = detail.get("digest") or {}, self.members.own_part(event)
        unseen = self.members.had_another(event, current)
        caster = self.streams.get(f"{self.cluster}|{event.source}")
        held_up = caster is not None and caster.lacks_messages()
        for stream in self.streams.values():
            if stream.sender_model is not None:
                stream.sender_model.members_are(frozenset(view.members), stream.sender, mark)
            receiver = stream.receiver
            if receiver is None:
                continue
            if stream.sender not in view.members:
                receiver.sender_left(mark, self._installed_at, held_up=held_up)  # R15, W3
                continue
            back = receiver.removed is not None
            if unseen if back else part is not None and stream.sender not in part:
                receiver.doubts.untold = True  # a view that let its sender in or out is not here
                if not back:
                    receiver.was_removed(mark, self._installed_at)
            low = int(digest[stream.sender][0]) if stream.sender in digest else None
            if detail.get("merge") and low is not None:
                receiver.merge(low, mark, stream.ever, self._installed_at)
            elif back:  # no window, so R17, or R16 without digest
                joins = event.seqno is None and (low is None or stream.sender == event.source)
                receiver.begin_again(low or 0, self._installed_at, sent_to_it=joins)
            if back:
                self._came_meanwhile(stream, receiver)
        new = set() if current is None else set(view.members) - {*current.members, *digest}
        if self.epoch.joined or self._cast or self._casts():  # else it may not have joined yet
            self.epoch.lets_in(event, view, new, part)

    def _forget_outsiders(self, view: View, event: Event) -> None:
        """The first view that this member installs without having joined: it founded its cluster,
        or a part that merges, and had no windows for others."""
        local, own = self.members.local, self.members.own_part(event)
        if local is not None and view.number == 1 and view.creator == local:
            own = {local}
        if own is None or self.epoch.joined:
            return
        self.epoch.joined = True
        for stream in self.streams.values():
            if stream.receiver is not None and stream.sender not in own:
                stream.forget()
                stream.outsiders.extend(self.epoch.waiting.of(stream.sender))
        self.epoch.waiting.take()

    def _told_view(self, event: Event) -> None:
        """JOIN_RSP and its like: a view told to one member, not multicast."""
        view, local = self._see_view(event), self.members.local
        if event.wire_kind != "JOIN_RSP":
            return
        if view is not None and self._from_local(event) and event.destination is not None:
            self.epoch.tells(event)  # its coordinator is a member (R16)
        if self.vantage.kind != MEMBER or local is None or event.destination != local:
            return
        if self.epoch.joined or (view is not None and local not in view.members):
            return  # only the first one counts (2.6)
        if view is None or event.details().get("digest") is None:  # not read
            self._has_joined()
            self.epoch.joined = True
            if view is not None:
                self._install(view, event)
            return
        self.view = None
        self.epoch.begins(event, view)
        for stream in self.streams.values():
            if stream.receiver is not None and stream.receiver.removed is None:
                stream.forget()
        self._install(view, event)
        full = self.epoch.waiting.may_exceed(self.parameters.value("become_server_queue_size"))
        for queued in self.epoch.waiting.take():
            assert queued.seqno is not None and queued.source is not None
            stream = self._stream(queued.source, queued)
            stream.outside_membership -= queued.count
            self._arrive(stream, queued)
            if full and stream.receiver is not None:
                stream.receiver.may_have_dropped(queued.seqno, queued.seqno + queued.count)

    # -- control messages --------------------------------------------------------------------------

    def _ack(self, event: Event) -> None:
        assert event.source is not None and event.seqno is not None
        if event.destination is None:
            return
        stream = self._stream(event.destination, event)
        peer = stream.peer(event.source)
        peer.acks += event.count
        peer.highest_ack = max(event.seqno, peer.highest_ack or event.seqno)
        self._passed(stream, event)
        if stream.sender_model is not None:
            stream.sender_model.acked(event.source, event.seqno, event.first_mark())
        if stream.passing is not None:
            stream.passing.acked(event.source, event.seqno)
        if self._from_local(event) and not self.members.is_local(stream.sender):
            self._here(event)

    def _request(self, event: Event) -> None:
        assert event.source is not None and event.stream is not None
        sender = numbered_by(event)  # N8: whoever was asked
        stream = self._stream(sender, event)
        self.holes.others_repair |= event.destination != sender
        peer = stream.peer(event.source)
        peer.requests += 1
        peer.requested_seqnos += event.count
        self._passed(stream, event)
        mark = event.first_mark()
        if stream.sender_model is not None:
            stream.sender_model.requested(event.source, mark)
        if stream.passing is not None and not event.flags & Flag.NETWORK_DUPLICATE:
            is_in = self.seen.names(event.source)
            if not (stream.passing.heard_of(event.source) if is_in is None else is_in):
                stream.passing.may_begin(event.source)
            stream.passing.requested(event.source, event.ranges(), mark)
        local = self._from_local(event) and not self.members.is_local(sender)
        if local and event.seqno is not None:
            self._here(event)
        elif local and event.flags & Flag.CUT and stream.receiver is not None:
            stream.receiver.doubts.lacks_below = stream.receiver.tracker.known_stop

    def _window(self, stream: McastStream, low: int, mark: Mark) -> ReceiverModel:
        """The window that this member's own message shows; a new one has delivered ``low``, if no
        view or digest says what. One that speaks of a sender which had left its view has let it in
        again, by a view that this capture lacks."""
        known, window = stream.sender in self.epoch.bases, stream.receiver
        begins = self.epoch.bases.get(stream.sender, low)
        if window is None:
            return self._open(stream, begins, known=known, based=known)
        if window.removed is not None and window.removed.at.frame <= self.epoch.since.frame:
            window.begin_again(begins, mark)
            self._came_meanwhile(stream, window)
        elif window.removed is not None and mark.at_ns - window.removed.at.at_ns > SECOND_NS:
            window.begin_again(low, mark)
            window.moved, window.doubts.untold = mark, True
        return window

    def _highest(self, event: Event) -> None:
        assert event.source is not None and event.seqno is not None
        stream = self._stream(event.source, event)
        stream.saw(event)
        self._before_join(stream, event.seqno)
        self._passed(stream, event)
        mark = event.first_mark()
        if stream.sender_model is not None:
            stream.sender_model.highest_told(event.seqno, mark)
        if stream.passing is not None:
            stream.passing.highest(event.seqno, mark, event.fresh_id)
        if self.vantage.kind == MEMBER and not self.members.is_local(event.source) and event.seqno:
            self._here(event)

    def _told_highest(self, stream: McastStream, event: Event) -> None:
        assert event.source is not None and event.seqno is not None
        if stream.receiver is None and event.source in self.epoch.bases:
            self._open(stream, self.epoch.bases[event.source], known=True, based=True)
        if stream.receiver is not None:
            stream.receiver.highest(event.seqno, event.first_mark(), event.fresh_id)
