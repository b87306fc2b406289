"""One receive window of a multicast stream, at the interface of the member that owns it.

Replays jgroups.md 5.4, and 5.5 for NAKACK2, which has the same exchange (N1, N9); the rows are
those of ``tests.replay.jgroups.mcast.rows``. How the part of a gap that an arrival fills has
ended say the rows A1 to A6 of ``seqaudit.replay.jgroups.arrivals``; XMIT_RSP marks repairs (A1),
and what is newer than what revealed the gap another member may have asked for (A5).

"Nobody can have asked yet" (A2): a gap is requested at the second tick that sees it (5.4, 4.4), so
not within one xmit_interval of the last arrival before it; only HIGHEST_SEQNO makes a member ask
at once. A fill by A4 turns into *reordered* when a second copy answers the only request of the
only member that could ask: then the first was the original, sent out of order (design document,
"Misc").
"""

from collections import deque
from typing import Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.acked_copies import OwnLevel
from seqaudit.replay.jgroups.evidence import HORIZON_NS, SECOND_NS, two_ticks_ns
from seqaudit.replay.jgroups.mcast.removal import SENDER_LEFT, Removal
from seqaudit.replay.jgroups.mcast.spoken import SpokenWindow
from seqaudit.replay.jgroups.mcast.terms import WindowTerms
from seqaudit.replay.jgroups.windows import Window
from seqaudit.replay.sequence.gaps import (
    BY_HIGHEST,
    BY_MERGE,
    BY_REQUEST,
    BY_SEQNO,
    Arrival,
    Gap,
    Mark,
    Outcome,
    Part,
)
from seqaudit.replay.sequence.ip_ids import newest
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet, total

#: Values of HIGHEST_SEQNO that are remembered, to know the requests that they cause.
LAST_TOLD: Final = 16
#: No member's ticks are closer.
BUSY_NS: Final = 100_000_000


class ReceiverModel(SpokenWindow):
    """One receive window.

    Args:
        terms: on which it begins.
    """

    def __init__(self, terms: WindowTerms) -> None:
        super().__init__(terms)
        self.window = Window(terms.low, terms.capacity, document=terms.document)
        self.before_start = 0  # messages below the first expected seqno
        self.outside_window = Note()
        self.early_requests = Note()
        self.oversized_requests: list[tuple[Mark, int]] = []
        self.highest_told: int | None = None
        self.lacked_highest = Note()  # asked for as soon as HIGHEST_SEQNO named it
        self._highest_at: Mark | None = None
        self._highest_first: Mark | None = None  # the first that named it
        self._told: deque[int] = deque(maxlen=LAST_TOLD)  # by HIGHEST_SEQNO
        self._last_id: int | None = None  # the newest of the datagrams so far
        self._newest: Mark | None = None  # the last message above all others: no repair
        self.removed: Removal | None = None
        self._any_oob = False
        self._interval_given = terms.interval_given
        self._at_once = terms.document  # its scan asks for every gap that it finds (D11)
        self._for_highest = RangeSet()  # asked for as HIGHEST_SEQNO named it
        self._told_once = terms.acks is None  # by HIGHEST_SEQNO of NAKACK2 (N9)
        self._shown_high = 0  # it had received one so high: a tick asks for what is below that

    def _begin(self, start: int) -> None:
        super()._begin(start)
        self._sent_from = start  # what is sure to be sent to it begins no sooner
        self._asked_alone = RangeSet()  # by its last request, as HIGHEST_SEQNO and STABILITY cause
        self._asked_idle = RangeSet()  # of these, when no new one had come for a tick
        self._out_of_band = RangeSet()  # delivered on arrival, not yet passed by the window

    # -- messages --------------------------------------------------------------------------------

    def arrive(self, event: Event, *, sure: bool = True) -> None:
        """MSG or XMIT_RSP for this member (R3-R6, R14, R20; D8: either is a repair).

        Args:
            sure: the window was there.
        """
        assert event.seqno is not None and event.stop_seqno is not None
        if not sure:
            self.doubts.unsure.add(event.seqno, event.stop_seqno)
        first, stop, arrival = event.seqno, event.stop_seqno, event.arrival()
        self.acks.see(arrival.first)
        heard = self.tracker.last or self.origin.since
        if heard is not None and arrival.first.at_ns - heard.at_ns >= self._merge_ns:
            self._was_silent = True
        if first < self.start:
            self.before_start += min(stop, self.start) - first
            first = min(stop, self.start)
            if first >= stop:
                return
        if self.beginning.bound is None:
            self.beginning.arrived(event)
        if not self.origin.all_sent and self.origin.since is not None:
            self._first_sent(self.origin.since, event, first, stop)
        limit = self.window.limit()
        end = stop
        if limit is not None and stop > limit and first > self.window.low + 1:
            stop = max(first, limit)  # R4, D2: what is above is dropped
        if first < stop:
            self._accept(event, first, stop, arrival)
        if stop < end:
            self.outside_window.add(stop, end, arrival.first)
            self.tracker.reveal(end, arrival.first, BY_SEQNO, arrival.fresh_id)

    def _first_sent(self, there: Mark, event: Event, first: int, stop: int) -> None:
        """What came before the window was there was dropped (R2), and who is let in by a view may
        have sent before that is installed here. So what is sure to be sent to it begins with the
        first message that is above all others and came later; of a run that had begun before that
        is known of its last message only.
        """
        if event.last_frame <= there.frame:
            return
        if event.frame < there.frame:
            if self.origin.let_in:
                self.may_have_dropped(first, stop)
            first = stop - 1
        if event.kind is not Kind.RETRANSMISSION and first >= self.tracker.known_stop:
            self._sent_before(first)

    def _sent_before(self, stop: int) -> None:
        """What is below may have been sent before the window was there, and have come then."""
        self.ways.by_rebuilt.add(self._sent_from, max(self._sent_from, stop))
        self.origin.all_sent = True

    def _accept(self, event: Event, first: int, stop: int, arrival: Arrival) -> None:
        """[first, stop) fits into the window: duplicates and new messages."""
        last_id = None if arrival.repair else arrival.last_fresh_id  # a repair counts by itself
        self._last_id = newest(last_id, self._last_id)
        if first >= self.tracker.known_stop:
            self._in_order.add(first, stop)
            self._newest = arrival.last
        new = self._take(event, arrival, first, stop)
        if total(new) < stop - first:
            self._copies(first, stop, new, event)
        self._recent.append((first, stop, arrival.last))
        self._deliver(event, first, stop, new, arrival.last)

    def _cuts(self, first: int, stop: int) -> set[int]:
        """In parts that are asked for, or told by HIGHEST_SEQNO, as a whole."""
        cuts = super()._cuts(first, stop)
        if self.highest_told is not None:
            told = (self.highest_told, self.highest_told + 1)
            cuts.update(cut for cut in told if first < cut < stop)
        return cuts

    def highest(self, seqno: int, mark: Mark, fresh_id: int | None) -> None:
        """HIGHEST_SEQNO(h): everything up to it exists (R11, V6, D9); again is no news (N4)."""
        self._finish_removed()
        if self.highest_told is None or seqno > self.highest_told:
            self.highest_told, self._highest_first = seqno, mark
        if seqno not in self._told:
            self._told.append(seqno)
        self._highest_at = mark
        self.tracker.reveal(seqno + 1, mark, BY_HIGHEST, fresh_id)

    def own_request(self, event: Event, max_size: int | None) -> None:
        """XMIT_REQ sent by this member (R10, T1-T4; N7: it reveals what it names)."""
        self._finish_removed()
        mark = event.first_mark()
        ranges = [(max(a, self.start), b) for a, b in event.ranges() if b > self.start]
        self.doubts.behind = event.seqno is not None and event.seqno < self.start
        if max_size is not None and event.count > max_size and len(self.oversized_requests) < 100:
            self.oversized_requests.append((mark, event.count))
        if not ranges:
            return  # T4: it had become empty
        at_tick = self._at_a_tick(ranges)
        same = self._shows(ranges[0][0] - 1, mark, all_below=at_tick)
        self._may_be_skipped.remove(ranges[0][0], self.tracker.known_stop)  # its window lacks this
        if ranges[0][0] != self._asks_from[0]:
            self._asks_from = (ranges[0][0], mark)
        for_highest = event.count == 1 and ranges[0][0] == self.highest_told
        self.tracker.reveal(ranges[-1][1], mark, BY_REQUEST)
        if at_tick:
            self._shown_high = max(self._shown_high, ranges[-1][1])
            self.waited.remove(self.start, ranges[-1][1])  # what it lost it asks for
            for part in RangeSet(ranges).missing(self.start, ranges[-1][0]):
                for had in self._asked_had.remove(*part):
                    self.undecided.add(*had, mark)  # it has them now
            for had in self.had_others(ranges, mark, same=same):
                accepted = self.window.accept(*had)
                if accepted.delivered is not None:
                    self._hand_on(accepted.delivered, mark)
        for first, stop in ranges:
            if for_highest:
                self._for_highest.add(first, stop)
                told = self._highest_at
                if told is not None and mark.at_ns - told.at_ns <= HORIZON_NS:
                    for part in self.tracker.open_within(first, stop):
                        self.lacked_highest.add(*part, mark)
            self._asked_idle.remove(first, stop)
            if event.count == 1:
                self._asked_alone.add(first, stop)
                if self._newest is not None and mark.at_ns - self._newest.at_ns >= BUSY_NS:
                    self._asked_idle.add(first, stop)
            else:
                self._asked_alone.remove(first, stop)
            self._too_early(first, stop, mark, for_highest=for_highest)
            self.request(first, stop, mark)
            for had in self.tracker.seen.within(first, stop):
                self._asked_for_what_had_arrived(
                    had, mark, for_highest=for_highest, at_tick=at_tick
                )

    def _at_a_tick(self, ranges: list[Range]) -> bool:
        """Is it the tick's request for all that is missing, and not one for the last seqno only,
        which HIGHEST_SEQNO and STABILITY cause (5.4, 5.5)?"""
        first, stop = ranges[0][0], ranges[-1][1]
        limit = self.window.limit()
        if limit is not None and stop > limit:
            return False  # the window as we know it cannot ask for this
        if stop - first > 1:
            return True
        # what is higher in our window the member may have dropped, so HIGHEST_SEQNO was news to it
        by_stability = self.acks.schedule is None
        return first < self.window.high and first not in self._told and not by_stability

    def level(self, seqno: int, mark: Mark) -> None:
        """This member has delivered everything up to ``seqno``, says its ACK or digest (V18, N5).

        The same level again (R12, D5) says nothing new.
        """
        self._finish_removed()
        self.acks.see(mark)
        self.doubts.behind = seqno < self.start - 1
        same = self._shows(seqno, mark) and not self._asked_long(mark)
        if seqno <= self.own.level:
            return
        self.own = OwnLevel(seqno, mark, self._last_id)
        stop = seqno + 1
        self.waited.remove(self.start, stop)
        self.doubts.had(self.origin.floor or 0, stop)
        for pending in (self._asked_had, self._asked_had_highest):
            for part in pending.remove(self.start, stop):
                self.spurious.add(*part, mark)
        self._had_all(seqno, mark, same=same)
        skipped = self.window.skip_to(seqno)
        if skipped is not None:
            self._hand_on(skipped, mark)
        self.acks.acked(seqno, self.window.low, mark)

    def merge(self, low: int, mark: Mark, captured: RangeSet, installed: Mark) -> None:
        """A merge digest: a window that is behind it, or was removed, is replaced; what is between
        is skipped (R19). Of that nobody can tell what came, but for what is in the capture: for the
        window or while its sender was out of the view.
        """
        self._finish_removed()
        if self.removed is None:
            self.doubts.end()  # it was moved past what it lacked from before the capture
            if self.window.low >= low:
                return
            self.doubts.untold |= self.origin.since is None
            self._take_back(mark.at_ns)
            self._end_unasked(mark.at_ns, self.outside_window.ranges, over=False)
            self._end_no_longer_asked(mark.at_ns)
            for part in self._asked_lately(mark.at_ns) if self.lacks_messages() else ():
                self.tracker.close_within(*part, Outcome.STOPPED, None)  # repaired unseen, perhaps
        for part in RangeSet(self.delivery.ranges).missing(self.window.low + 1, low + 1):
            self.skipped.add(*part, mark)
        for first, stop in captured.within(self.tracker.known_stop, low + 1):
            self.tracker.reveal(first, mark, BY_MERGE)
            self.tracker.known_stop = stop
        self.tracker.reveal(low + 1, mark, BY_MERGE)
        self._end_below(low + 1, Outcome.UNRECOVERED)
        if self.removed is not None:
            self.window_lost(mark)
            self.begin_again(low, installed)
            return
        self.tracker.seen.remove(low + 1, self.tracker.known_stop)  # stored, and not in the new one
        self.window = Window(low, self.window.capacity, document=self.window.document)
        self._replaced(mark, installed)

    def was_removed(self, mark: Mark, there: Mark) -> None:
        """A view that merges says that this member had another one than is known, without the
        sender, and nobody knows since when: whatever it asked for may have come to no window."""
        self.ways.by_rebuilt.add(self.start, self.tracker.known_stop)
        self._replaced(mark, there)

    def _replaced(self, mark: Mark, there: Mark) -> None:
        """Its window is another one since then: what came before may have met the one before, or
        none."""
        self.window_lost(mark)
        self._sent_from = self.window.low + 1
        self.origin.moved(there)

    def _end_below(self, stop: int, outcome: Outcome) -> list[Range]:
        """What never came is lost if this member asked for it or had no room. What nobody asked for
        the capture may have missed, however much it is: a part of it may lie in a hole next to the
        time when its sender was cut off. Then it was delivered, and what had waited for it."""
        untold = RangeSet()
        for part in self.tracker.open_within(-(2**63), stop):
            if outcome is Outcome.UNRECOVERED:
                told = [*self.asked.within(*part), *self.outside_window.ranges.within(*part)]
                for unasked in RangeSet(told).missing(*part):
                    self.tracker.close_within(*unasked, Outcome.UNTOLD, None)
                    untold.add(*unasked)
        if untold:
            high = self.window.deliverable(untold)
            self.doubts.may_have.add(self.window.low + 1, min(high + 1, stop))
            self.doubts.may_have |= untold  # they may be OOB, whatever it lacked below
        return super()._end_below(stop, outcome)

    def end(self, mark: Mark, why: str) -> None:
        """The window is removed, as this member has gone: what it misses is nobody's loss."""
        if self.removed is None:
            self.gone()
            self.removed = Removal(mark, why)
            self._finish_removed()

    def sender_left(self, mark: Mark, installed: Mark, *, held_up: bool) -> None:
        """The window is removed by a view without its sender, which came at ``mark``; see
        ``Removal``."""
        if self.removed is None:
            self.removed = Removal(mark, SENDER_LEFT, installed, held_up)

    def came_behind(self, event: Event) -> bool:
        """A message or run for this window, when it had been removed; true: it came before."""
        assert event.seqno is not None and event.stop_seqno is not None and self.removed is not None
        if self.removed.was_there_at(event.last_mark()):
            return True
        if event.at_ns == self.removed.at.at_ns:  # or just before
            self.doubts.may_have.add(event.seqno, event.stop_seqno)
        return False

    def _finish_removed(self) -> None:
        """All that came before the window was removed has been replayed."""
        removed = self.removed
        if removed is None or removed.finished:
            return
        removed.finished = True
        self._finish(removed.at.at_ns, removed.at.at_ns, over=False)
        for first, stop, last in self._recent:
            if removed.may_precede(last):
                self.doubts.unsure.add(first, stop)

    def begin_again(self, low: int, there: Mark, *, sent_to_it: bool = False) -> None:
        """The sender is back in the view: a new window at ``low`` (R16, R17).

        Args:
            sent_to_it: all that is not captured from there on was sent to it: it joins (W1).
        """
        self._finish_removed()
        self.tracker.give_up()
        self._begin(low + 1)
        self.origin.again(low, there, all_sent=sent_to_it)
        self.start_known, self.doubts.behind = True, False
        self.window = Window(low, self.window.capacity, document=self.window.document)
        self.removed = self.highest_told = None
        self._was_silent = False
        self.own = OwnLevel(low)
        self.acks.begin(low)

    def owes_ack(self, word: Mark, end_ns: int) -> bool:
        """Has it owed an ACK for three ticks at the end, for what came behind its member's last
        word and was deliverable (R8)?"""
        schedule = self.acks.schedule
        if schedule is None or self.removed is not None:
            return False
        due_ns = end_ns - 3 * schedule.tick_ns
        return any(
            word.frame < last.frame and last.at_ns < due_ns and self.own.level < stop - 1
            for first, stop, last in self._recent
            if first <= self.window.low
        )

    def finish(self, end_ns: int, until_ns: int, *, over: bool = True) -> None:
        """What is missing now never comes (V2); see ``end_missing``."""
        self._finish_removed()
        if self.removed is not None:
            return
        self._finish(end_ns, until_ns, over=over)
        # the second tick from then on asks, and ticks may be a second apart by default (5.1)
        to_ask_ns = two_ticks_ns(max(self._tick_ns(), SECOND_NS))
        for gap in self.gaps:
            if until_ns < min(end_ns, gap.revealed.at_ns + to_ask_ns):
                part = gap.parts.get(Outcome.UNASKED)
                self.ways.behind_word |= RangeSet() if part is None else part.ranges

    def _finish(self, end_ns: int, until_ns: int, *, over: bool) -> None:
        if not self.origin.all_sent:
            self._sent_before(self.tracker.known_stop)
        if self.origin.floor is None:  # nothing tells that it was there
            self.doubts.unsure.add(self.start, self.tracker.known_stop)
        self._take_back(until_ns)
        self.doubts.end()
        self.end_missing(end_ns, over=over, dropped=self.outside_window.ranges)
        for part in (*self._asked_had, *self._asked_had_highest):
            self.undecided.ranges.add(*part)

    def _take_back(self, end_ns: int) -> None:
        """What had come and was asked for to the end it did not have, nor handed on what is behind
        it.

        Args:
            end_ns: the member's last own frame, or when the window was removed.
        """
        if not self._asked_had or self._asked_had.first() > self.window.low:
            return
        first, (began, stop) = self._asked_had.first(), (self.delivery.ranges or [(0, 0)])[-1]
        asked = first in self._asked_since(end_ns)
        if asked and not self._any_oob and began <= first < stop:
            self.delivery.retract(first)
            self.window.low = first - 1
        else:
            self.doubts.undelivered = True

    def may_have_dropped(self, first: int, stop: int) -> None:
        """These came about when this member joined or its sender did. A queue that was full dropped
        some (the first since 5.2.13, before that the last) and nobody sees when it was opened (R1);
        of a run that goes on behind a view the messages before it were dropped (R2). So may have
        been what lies between these, and is not in the capture."""
        first = max(first, self.start)
        if first >= stop:
            return
        for part in self.tracker.open_within(self.waited.stop(), first) if self.waited else ():
            self.ways.by_rebuilt.add(*part)
        self.waited.add(first, stop)

    def asked_though_come(self) -> RangeSet:
        """See ``JudgedStream``."""
        return super().asked_though_come() | self.undecided.ranges

    # -- requests --------------------------------------------------------------------------------

    def _too_early(self, first: int, stop: int, mark: Mark, *, for_highest: bool) -> None:
        """The two-tick rule: a tick must see a gap before the next may ask for it (T2, T3)."""
        if for_highest or not self._interval_given:
            return
        least_ns = self._interval_ns * 8 // 10 - 50_000_000  # jitter: V14
        for part in self.early(first, stop, mark, least_ns):
            self.early_requests.add(*part, mark)

    # -- gaps ------------------------------------------------------------------------------------

    def _judge(self, gap: Gap, piece: Range, arrival: Arrival) -> Outcome:
        told = self.highest_told
        if (
            not arrival.repair
            and gap.revealed_by == BY_HIGHEST
            and told is not None
            and piece == (told, told + 1)
            and not self.asked.within(*piece)
            and self._highest_first is not None
            and self._life.read(self._highest_first, arrival.first)
        ):
            self.silent.add(*piece)  # asked for at once, had it been missing [n2-last-lost-1]
            return Outcome.UNCAPTURED
        return super()._judge(gap, piece, arrival)

    def _nobody_can_have_asked(
        self, gap: Gap, piece: Range, arrival: Arrival, *, newer: bool
    ) -> bool:
        if self.highest_told is not None and piece[0] <= self.highest_told < piece[1]:
            return False
        if self._at_once:
            return False
        return super()._nobody_can_have_asked(gap, piece, arrival, newer=newer)

    def _part_ended(self, gap: Gap, piece: Range, outcome: Outcome, part: Part) -> None:
        """What may have come to the window before a merge, though it shows after it, the new one
        asks for as well."""
        moved, before = self.moved, gap.before
        if (
            moved is not None
            and moved.frame <= gap.revealed.frame
            and (before is None or before.frame <= moved.frame)
        ):
            self.ways.by_rebuilt.add(*piece)
        if outcome in (Outcome.REPAIRED, Outcome.RECOVERED) and self._asked_alone.within(*piece):
            idle = bool(self._asked_idle.within(*piece))
            self.ways.asked_at_once(gap, piece, outcome, idle=idle)
        super()._part_ended(gap, piece, outcome, part)

    def _asked_at_ticks(self, first: int, stop: int) -> list[Range]:
        """And what HIGHEST_SEQNO has it ask for, where that comes with every tick until all is
        acknowledged (S13), or a higher one was received: then ticks ask for it as well."""
        ticks = RangeSet(self.asked.within(first, stop))
        high = max(self.window.high, self._shown_high)
        for part in self._for_highest.within(high + 1, stop) if self._told_once else ():
            ticks.remove(*part)
        return list(ticks)

    # -- delivery --------------------------------------------------------------------------------

    def _deliver(self, event: Event, first: int, stop: int, new: list[Range], mark: Mark) -> None:
        if event.flags & Flag.OOB:  # R20
            self._any_oob |= bool(new)
            for begin, end in new:
                begin = max(begin, self.window.low + 1)  # below, it had it without a frame here
                if begin < end:
                    self.delivery.deliver(begin, end)
                    self._out_of_band.add(begin, end)
        accepted = self.window.accept(first, stop)
        if accepted.delivered is not None:
            self.delivering(accepted.delivered, event)
            self._hand_on(accepted.delivered, mark)

    def _hand_on(self, delivered: Range, mark: Mark) -> None:
        if self.origin.floor is not None:
            self.acks.delivered(self.window.low, mark)
        done = RangeSet(self._out_of_band.remove(*delivered))
        for part in done.missing(*delivered):
            self.delivery.deliver(*part)
        self._passed(delivered[1], mark)
