"""The receive entry of one peer, at the interface of the member that owns it (jgroups.md 4.4).

Arrivals are facts and counted at once; what the member's window made of them is not visible until
the member gives a *sign of life*, so they wait until then (P1):

    sign of life            what it says
    ACK(n) of this member   everything that waits was read, up to what makes n deliverable
    XMIT_REQ                everything was read but what it asks for: that was dropped inside
    SEND_FIRST_SEQNO        there is no window for the last message (B2, B5). If the replay has
                            one, the member lost it: before what arrived just now, or, if the
                            SEND_FIRST_SEQNO was held back, before the first message that waits
    view, end of capture    nothing: the member may have died (P2)

What is read is replayed by the rows of 4.4:

    entry        first  UNICAST3                       UNICAST4
    none         1      B1 new window                  B1
    none         0      B2 kept for later              B2
    same id      any    B3 accepted                    B3
    other id     1      B4 window replaced             B4 if greater, else B6
    other id     0      B5 kept for later              B5 if greater, else B6
    CLOSE        -      B21 removed, B22 ignored       same
    event                       rows                            here
    no window, other id         B2 B5 B6 B7, S1 S2 U16          _keep
    a first message             B1 B4, U15                      _open
    accepted                    B9 B10 B11 B12, P7              _accept, _duplicates
    window exists               B8                              _use_cache
    own ACK                     B13 B14, U3 U8                  own_ack, unicast_acks
    own XMIT_REQ                B15 B16 B17 B18 B19, U6, P6     own_request
    own SEND_FIRST_SEQNO        B20, S3 U17                     own_sync
    CLOSE                       B21 B22, U13                    _read
    idle, views, lost windows   B23 B24 B25, P1 P5, S11         _lose_window, view, _hand_on
    started late                P3                              _adopt
"""

from collections import deque
from dataclasses import replace
from typing import Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.acked_copies import OwnLevel
from seqaudit.replay.jgroups.evidence import CROSSING_NS, in_order, overdue
from seqaudit.replay.jgroups.unicast.acks import PATIENCE_NS, AcksAtOnce
from seqaudit.replay.jgroups.unicast.connection_states import REPLACED, ConnectionLives
from seqaudit.replay.jgroups.unicast.last_word import came_behind, unread
from seqaudit.replay.jgroups.unicast.receiver_copies import ReplayedEntry
from seqaudit.replay.jgroups.unicast.receiver_facts import Facts, ReceiveEntry, Timing, WindowLoss
from seqaudit.replay.jgroups.unicast.rule_sets import CODE, Release, newer
from seqaudit.replay.jgroups.unicast.sent_by_rule_set import WouldSend
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.jgroups.windows import Window
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ip_ids import newest as newest_id
from seqaudit.replay.sequence.notes import Times
from seqaudit.replay.sequence.ranges import Range, RangeSet, total

MAX_WAITING: Final = 50_000
MAX_CACHED: Final = 10_000
MAX_LISTED: Final = 100
#: What arrived longer than this before a SEND_FIRST_SEQNO was read before it was decided on.
READING_NS: Final = 100_000_000


class ReceiverMachine(ReplayedEntry):
    """What one member does with the messages of one peer.

    Args:
        capacity: of the window (UNICAST4); null: not known or unbounded.
        unicast4: the rules of UNICAST4.
        at_once: when an ACK does not wait for the tick.
        lives: of its entries.
        elapsed: of the cluster's conversation.
    """

    def __init__(
        self,
        timing: Timing,
        *,
        unicast4: bool,
        capacity: int | None,
        release: Release,
        max_xmit_req_size: int | None,
        at_once: AcksAtOnce,
        lives: ConnectionLives,
        elapsed: Elapsed,
    ) -> None:
        super().__init__(timing, elapsed, lives)
        self.losses: list[WindowLoss] = []
        self.syncs = Times()
        self.close_syncs: list[tuple[Mark, Mark]] = []  # sooner than the interval allows
        self.close_sync_count = 0
        self.unanswered_syncs = Times()
        self.synced: Stream | None = None  # the last for which it sent one
        self.redundant_syncs = Times()  # what they ask for had arrived
        self.oversized: list[tuple[Mark, int]] = []
        self.stopped: Mark | None = None  # the member read nothing after this
        self.spoke = False  # it had sent something before
        self.goes_on_behind = False  # a run that had begun before: how much of it was read?
        self.would = WouldSend(timing.tick_ns, timing.sync_ns, timing.min_ack_ns)
        self._unicast4 = unicast4
        self._capacity = capacity
        self._release = release
        self._max_size = max_xmit_req_size
        self._at_once = at_once
        self._waiting: deque[tuple[Event, Stream]] = deque()
        self._cache: list[tuple[Event, Stream]] = []
        self._known = False  # whether there is an entry is known
        self._flag_since: Mark | None = None  # the oldest arrival that no ACK answers yet
        self._last_ack: Mark | None = None
        self._last_acked: Stream | None = None
        self._asked_again: Facts | None = None  # for what it had acknowledged, since then
        self._open_sync: Mark | None = None  # no first message came since
        self._sync_stamp: int | None = None
        self._answer: Mark | None = None  # the first message that came last
        self._view_without: Mark | None = None

    # -- what arrives ----------------------------------------------------------------------------

    def arrive(self, event: Event, stream: Stream) -> None:
        """DATA from the peer."""
        assert event.seqno is not None and event.stop_seqno is not None
        received = stream.received
        assert received is not None
        facts = self.facts_of(stream)
        view = self._view_without
        if view is not None and event.at_ns - view.at_ns > self._timing.tick_ns:
            facts.after_view.add(event.seqno, event.stop_seqno, event.first_mark())
            facts.after_view_of = view
        if event.flags & Flag.FIRST:
            if event.seqno < received.start and self._last_sync is not None:
                start = received.start
                received.expect_from(event.seqno)
                received.request(event.seqno, min(event.seqno + 1, start), self._last_sync)
            received.beginning.acknowledged(event.seqno - 1)  # else it were not the lowest
            self._open_sync = None
            self._answer = event.first_mark()
            received.start_known = True
        if event.seqno >= received.tracker.known_stop:
            facts.in_order.add(event.seqno, event.stop_seqno)
        new = received.arrive(event)
        facts.named = event.last_mark()
        facts.arrivals.append((event.seqno, event.stop_seqno, event.last_mark()))
        facts.last_id = newest_id(event.arrival().last_fresh_id, facts.last_id)
        for part in new:
            facts.came(part, event.last_mark())
        if total(new) < event.stop_seqno - event.seqno:
            for part in RangeSet(new).missing(event.seqno, event.stop_seqno):
                facts.came(part, event.last_mark())
        self._waiting.append((event, stream))
        if len(self._waiting) > MAX_WAITING:
            self._read(*self._waiting.popleft())

    def close(self, event: Event, stream: Stream) -> None:
        """CLOSE from the peer: in order with the messages before it."""
        self._waiting.append((event, stream))

    def view(self, *, with_peer: bool, mark: Mark) -> None:
        """A view is installed at this member (B24)."""
        self._view_without = None if with_peer else mark
        self._lives.view(mark, with_peer=with_peer)

    # -- signs of life ---------------------------------------------------------------------------

    def own_ack(self, event: Event, stream: Stream) -> None:
        """ACK(n) sent by this member."""
        assert event.seqno is not None
        mark, level = event.first_mark(), event.seqno
        facts = self.facts_of(stream)
        facts.named = mark
        facts.rebuilt_shown |= self._asked_again is facts  # as no other connection came between
        self._asked_again, self._last_acked = None, stream
        self._read_up_to(level, stream)
        self._fell_back(event, stream, facts)
        facts.first_ack = facts.first_ack or mark
        if self.entry is None or self.entry.stream is not stream:
            self._adopt(stream, level, mark)
            facts.delivered.add(1, level + 1)
        since, self._flag_since = self._flag_since, None
        at_once = self._at_once.acked()
        late = overdue(self._elapsed, since, mark, self._timing.ack_due_ns())
        late = late or overdue(self._elapsed, at_once, mark, PATIENCE_NS)
        if late is not None:
            facts.late_ack_count += 1
            if len(facts.late_acks) < MAX_LISTED:
                facts.late_acks.append(late)
        if level > facts.own.level:
            facts.own = OwnLevel(level, mark, facts.last_id)
            facts.highest_ack_stamp = event.stamp
        least = self._timing.min_ack_ns * 8 // 10 - 50_000_000
        if (
            self._timing.rules != CODE
            and facts.last_ack is not None
            and mark.at_ns - facts.last_ack.at_ns < least
        ):
            facts.early_acks.add(mark)  # U3
        facts.last_ack = self._last_ack = mark
        received = stream.received
        assert received is not None
        received.level(level, mark)
        facts.had(0, level + 1)
        entry = self.entry
        assert entry is not None
        skipped = entry.window.skip_to(level)
        if skipped is not None:
            self._deliver(entry, skipped, mark)

    def _fell_back(self, event: Event, stream: Stream, facts: Facts) -> None:
        """An ACK below an earlier one, and sent after it, by its number or, in a release that has
        none, its time: the window is another one."""
        assert event.seqno is not None
        earlier, since = facts.highest_ack_stamp, facts.own.since
        mark, entry = event.first_mark(), self.entry
        if event.seqno >= facts.own.level or since is None:
            return
        if event.stamp is None or earlier is None:
            if not in_order(self._elapsed, since, mark):
                return
        elif newer(event.stamp, earlier):
            facts.rebuilt_shown = True
        else:
            return
        if stream.received is not None:
            stream.received.window_lost(mark)
        if entry is not None and entry.stream is stream and entry.window.low > event.seqno:
            if len(self.losses) < MAX_LISTED:
                why, low = "its ACK fell back", entry.window.low
                self.losses.append(WindowLoss(stream, since, mark, low, why, "a lower ACK"))
            self.entry = None

    def own_request(self, event: Event, stream: Stream) -> None:
        """XMIT_REQ sent by this member (B15 to B19)."""
        mark = event.first_mark()
        ranges = event.ranges()
        facts = self.facts_of(stream)
        self._read_but(ranges, mark)
        if not ranges:
            return  # B18
        oversized = self._max_size is not None and event.count > self._max_size
        if oversized and len(self.oversized) < MAX_LISTED:
            self.oversized.append((mark, event.count))
        if self.entry is None or self.entry.stream is not stream:
            self._adopt(stream, ranges[0][0] - 1, mark)
        received = stream.received
        assert received is not None
        again = ranges[0][0] <= facts.own.level
        if again and not (facts.rebuilt_shown or facts.asked_again):
            received.window_lost(mark)
        received.reveal_from(ranges[0][0], ranges[-1][1], mark)
        for part in received.had_others(ranges, mark):
            facts.had(*part)
            self._had(part, stream, mark)
        for first, stop in ranges:
            had = RangeSet([(first, stop)])
            for part in received.tracker.open_within(first, stop):
                had.remove(*part)
            self._too_early(stream, first, stop, mark)
            received.request(first, stop, mark)
            for part in had:
                self._asked_for_what_it_had(part, stream, mark)
        facts.requests.requested(ranges, mark)
        if again:
            facts.asked_again = True
            self._asked_again = facts if self._last_acked is stream else None
        acked = [(a, min(b, facts.own.level + 1)) for a, b in ranges if a <= facts.own.level]
        facts.after_ack.requested(acked, mark)

    def _had(self, part: Range, stream: Stream, mark: Mark) -> None:
        """This member shows that it has what the capture does not hold."""
        entry = self.entry
        if entry is None or entry.stream is not stream:
            return
        done = entry.window.accept(*part)
        if done.delivered is not None:
            self._deliver(entry, done.delivered, mark)

    def own_sync(self, event: Event, stream: Stream | None) -> None:
        """SEND_FIRST_SEQNO sent by this member (B2, B5, B20)."""
        mark, last = event.first_mark(), self._last_sync
        again, self._sync_stamp = event.stamp == self._sync_stamp, event.stamp
        if again and event.stamp is not None:
            return  # the same message, captured twice
        self.syncs.add(mark)
        if last is not None:
            if mark.at_ns - last.at_ns < self._timing.between_syncs_ns(
                entry=self.entry is not None
            ):
                self.close_sync_count += 1
                if len(self.close_syncs) < MAX_LISTED:
                    self.close_syncs.append((last, mark))
            if self._open_sync is not None:
                self.unanswered_syncs.add(self._open_sync)
            answer = self._answer
            if answer is not None and last <= answer and mark.at_ns - answer.at_ns < CROSSING_NS:
                self.redundant_syncs.add(mark)
        self._last_sync = mark
        if self.entry is None:  # none is known: a first message that waits has opened one
            self._read_before_loss(mark, last)
        if not self._explains_sync(mark):
            self._read_before_loss(mark, last)
            self._lose_window(mark)
        self._open_sync = mark
        self._known = True
        while self._waiting:
            self._read(*self._waiting.popleft())
        if self.entry is not None and self.entry.opened.at_ns >= mark.at_ns - CROSSING_NS:
            self._open_sync = None
        if stream is not None:
            self.synced, facts = stream, self.facts_of(stream)
            if facts.first_missing is None and not facts.delivered and self._cache:
                facts.first_missing = (self._cache[0][0].first_mark(), mark)

    def finish(self, end_ns: int, last_own_ns: int) -> None:
        """The capture is over.

        Args:
            end_ns: of the capture of this cluster's unicasts; last_own_ns: of what it sent of them.
        """
        if entry := self.entry:
            facts = self.facts_of(entry.stream)
            facts.unread = unread(self._waiting, entry, last_own_ns, CROSSING_NS)
        behind = came_behind(self._waiting, last_own_ns)
        if behind and behind.last_mark().at_ns < end_ns - 3 * self._timing.tick_ns:
            self.goes_on_behind = behind.at_ns <= last_own_ns
            self.stopped = behind.last_mark() if self.goes_on_behind else behind.first_mark()
            self.spoke = last_own_ns > 0  # P2: it reads no more
        while self._waiting:
            event, stream = self._waiting.popleft()
            if self.stopped is None or event.last_mark().at_ns <= last_own_ns:
                self._read(event, stream)
            elif event.first_mark().at_ns > last_own_ns:
                stream.outside_membership += event.count
            else:
                assert event.seqno is not None, "a run has numbers"
                stream.outside_membership += 1
                self._read(_part(event, (event.seqno, event.seqno + 1)), stream)
        for facts in self.facts.values():
            facts.requests.finish()
            facts.after_ack.finish()

    def tells_nothing_of(self, stream: Stream) -> bool:
        """Came there what no word of this member and no first message shows a window for?"""
        waits = self.stopped is not None or any(of is stream for _, of in self._cache)
        return waits and not self._known

    # -- reading ---------------------------------------------------------------------------------

    def _read_up_to(self, level: int, stream: Stream) -> None:
        """Everything that waits was read, but not what would make more than ``level`` deliverable.

        A message may also wait because the member dropped it inside; its XMIT_REQ tells.
        """
        while self._waiting:
            event, of = self._waiting[0]
            if event.kind is Kind.DATA and of is stream:
                assert event.seqno is not None and event.stop_seqno is not None
                low = self._level_before(event, of)
                if low is not None and event.stop_seqno - 1 > level and event.seqno <= low + 1:
                    if event.seqno <= level:
                        head = replace(event, stop_seqno=level + 1, count=level + 1 - event.seqno)
                        last = event.last_mark()  # what was not read came last
                        tail = replace(
                            event,
                            seqno=level + 1,
                            count=event.stop_seqno - level - 1,
                            frame=last.frame,
                            at_ns=last.at_ns,
                        )
                        self._waiting[0] = (tail, of)
                        self._read(head, of)
                    return
            self._waiting.popleft()
            self._read(event, of)

    def _level_before(self, event: Event, stream: Stream) -> int | None:
        """What is deliverable before the event is read; null if it opens no window."""
        if self.entry is not None and self.entry.stream is stream:
            return self.entry.window.low
        if event.flags & Flag.FIRST:
            assert event.seqno is not None
            return event.seqno - 1
        return None

    def _read_but(self, ranges: list[Range], mark: Mark) -> None:
        """Everything that waits was read, except what the member asks for now."""
        asked = RangeSet(ranges)
        later: list[tuple[Event, Stream]] = []
        while self._waiting:
            event, stream = self._waiting.popleft()
            if event.kind is not Kind.DATA:
                self._read(event, stream)
                continue
            assert event.seqno is not None and event.stop_seqno is not None
            wanted = asked.within(event.seqno, event.stop_seqno)
            if not wanted:
                self._read(event, stream)
                continue
            crossing = event.last_mark().at_ns >= mark.at_ns - CROSSING_NS
            facts = self.facts_of(stream)
            for part in wanted:
                if crossing:
                    later.append((_part(event, part), stream))
                else:
                    self._dropped_inside(facts, part, event.last_mark(), mark)
            for part in RangeSet(wanted).missing(event.seqno, event.stop_seqno):
                self._read(_part(event, part), stream)
        self._waiting.extend(later)

    def _explains_sync(self, mark: Mark) -> bool:
        """Does something that waits lead to a SEND_FIRST_SEQNO by the rows of 4.4?"""
        entry = self.entry
        if entry is None:
            return True
        if mark.at_ns - entry.opened.at_ns < CROSSING_NS:
            return True  # it had left before the window opened
        for event, stream in self._waiting:
            if event.kind is Kind.CLOSE and stream is entry.stream:
                return True
            if stream is not entry.stream:
                return True
        return False

    def _read_before_loss(self, mark: Mark, last: Mark | None) -> None:
        """What waits and was still read by the window that is gone now (P1).

        SEND_FIRST_SEQNO goes out at once, unless the last one was too recent (B20). So what came
        well before it, and not so soon after the last one, had a window, and all before it too.
        """
        free_ns = 0
        if last is not None and self._release.throttled:
            free_ns = last.at_ns + self._timing.sync_ns + READING_NS
        read = 0
        for place, (event, _) in enumerate(self._waiting):
            if free_ns <= event.last_mark().at_ns < mark.at_ns - READING_NS:
                read = place + 1
        for _ in range(min(read, len(self._waiting) - 1)):
            self._read(*self._waiting.popleft())

    def _lose_window(self, mark: Mark) -> None:
        entry = self.entry
        assert entry is not None
        before = self._waiting[0][0].first_mark() if self._waiting else mark
        why = "its SEND_FIRST_SEQNO shows it"
        idle_ns = before.at_ns - entry.used.at_ns
        reaped_ns = self._timing.reaped_after_ns()
        if self._view_without is not None:
            why = "it followed a view without the sender"
        elif reaped_ns is not None and idle_ns >= reaped_ns:
            why = f"it was reaped after {idle_ns // 1_000_000} ms without a message"
        if entry.stream.received is not None:
            entry.stream.received.window_lost(before)
        if len(self.losses) < MAX_LISTED:
            self.losses.append(WindowLoss(entry.stream, before, mark, entry.window.low, why))
        entry.stream.life_in(self._lives).closed(before, "the window is gone: " + why)
        self.entry = None

    def _read(self, event: Event, stream: Stream) -> None:
        """The rows of 4.4."""
        entry = self.entry
        if event.kind is Kind.CLOSE:
            if entry is not None and entry.stream is stream:  # B21
                stream.life_in(self._lives).closed(event.first_mark(), "CLOSE")
                self.entry = None
            return  # B22
        assert event.seqno is not None
        first = bool(event.flags & Flag.FIRST)
        if entry is None:
            if not first:  # B2
                self._keep(event, stream)
                return
            self._open(stream, event.seqno - 1, event.first_mark(), "first message")  # B1
        elif entry.stream is not stream:
            assert stream.conn_id is not None
            greater = entry.stream.conn_id is None or stream.conn_id > entry.stream.conn_id
            if (self._unicast4 and not greater) or not first:  # B5, B6
                self._keep(event, stream)
                return
            entry.stream.life_in(self._lives).closed(event.first_mark(), REPLACED)
            self.facts_of(entry.stream).closed_without_close = event.first_mark()
            self._open(stream, event.seqno - 1, event.first_mark(), "first message")  # B4
        self._accept(event, stream)
        self._use_cache()

    def _keep(self, event: Event, stream: Stream) -> None:
        self.would.no_window(event, entry=self.entry is not None)
        if event.flags & Flag.LISTED and self.entry is not None and not self._unicast4:  # B7
            assert event.seqno is not None and event.stop_seqno is not None
            self.facts_of(stream).in_lists.add(event.seqno, event.stop_seqno, event.first_mark())
            return
        if not self._release.cached and (self._known or self.entry is not None):
            self.facts_of(stream).found_no_window(event, stream.received)
            return
        if len(self._cache) < MAX_CACHED:
            self._cache.append((event, stream))

    def _use_cache(self) -> None:
        """B8: what waited for the window is accepted, of other connections dropped."""
        if not self._cache:
            return
        kept, self._cache = self._cache, []
        assert self.entry is not None
        for event, stream in kept:
            if stream is self.entry.stream:
                self._accept(event, stream)

    def _open(self, stream: Stream, low: int, mark: Mark, why: str) -> None:
        facts, received = self.facts_of(stream), stream.received
        window = Window(low, self._capacity if self._unicast4 else None)
        self.entry = ReceiveEntry(stream, window, mark, RangeSet(facts.delivered))
        if received is not None:  # what it begins behind an earlier one had, captured or not
            for piece in facts.delivered.missing(received.start, low + 1):
                self._hand_on(self.entry, piece, mark)
        self._known = True
        stream.life_in(self._lives).opened(mark, why)

    def _adopt(self, stream: Stream, level: int, mark: Mark) -> None:
        """The member shows that it has a window here that the replay has not (P3)."""
        firsts = [event.seqno for event, of in self._cache if of is stream and event.seqno]
        low = min([level, *(first - 1 for first in firsts)])
        if self.entry is not None:
            self.entry.stream.life_in(self._lives).closed(mark, REPLACED)
        self._open(stream, low, mark, "shown by its own ACK or request")
        self._use_cache()

    def _accept(self, event: Event, stream: Stream) -> None:
        """Accept(seqno) of 4.4."""
        entry = self.entry
        received = stream.received
        assert entry is not None and received is not None
        assert event.seqno is not None and event.stop_seqno is not None
        if self._flag_since is None and self._after_last_ack(event):
            self._flag_since = max(event.first_mark(), entry.opened, key=lambda m: m.at_ns)
        self.would.accepted(event)
        entry.used = event.last_mark()  # B12
        for mark in (event.first_mark(), event.last_mark()):
            if mark.frame >= entry.opened.frame:  # else it was kept for the window
                stream.life_in(self._lives).used(mark, "a message")
        done = entry.window.accept(event.seqno, event.stop_seqno)
        if self._after_last_ack(event):
            self._at_once.accepted(event, done.delivered)
        for part in done.dropped:  # B10
            self.facts_of(stream).outside_window.add(*part, event.first_mark())
        if done.duplicates:  # B9
            self._duplicates(event, stream, done.stored, done.dropped)
        elif entry.before:
            self._rebuilt(event, stream, done.stored)
        if event.flags & Flag.OOB:  # B11
            for part in done.stored:
                self._hand_on(entry, part, event.last_mark())
                entry.out_of_band.add(*part)
        if done.delivered is not None:
            received.delivering(done.delivered, event)
            self._deliver(entry, done.delivered, event.last_mark())
        stream.highest_acked = entry.window.low
        stream.highest_sent = entry.window.high

    def _after_last_ack(self, event: Event) -> bool:
        """Has no ACK of this member answered it yet? (It may be read here long after it was.)"""
        last = self._last_ack
        return last is None or event.first_mark().at_ns >= last.at_ns - CROSSING_NS

    def _deliver(self, entry: ReceiveEntry, part: Range, mark: Mark) -> None:
        """In order; what was delivered out of band by this window is not delivered again."""
        done = RangeSet(entry.out_of_band.remove(*part))
        for piece in done.missing(*part):
            self._hand_on(entry, piece, mark)

    def _hand_on(self, entry: ReceiveEntry, part: Range, mark: Mark) -> None:
        received = entry.stream.received
        assert received is not None
        facts = self.facts_of(entry.stream)
        for piece in entry.before.within(*part):  # B25
            facts.redelivered.add(*piece, mark)
            facts.redelivered_since_ack.add(*piece)
            facts.redelivered_count += piece[1] - piece[0]
        facts.delivered.add(*part)
        received.deliver(part[0], part[1], mark)


def _part(event: Event, part: Range) -> Event:
    return replace(event, seqno=part[0], stop_seqno=part[1], count=part[1] - part[0])
