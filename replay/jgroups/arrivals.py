"""What came of a stream to the member it is for: gaps, how they ended, copies (replay/README.md 5).

This is about arrivals only; what the member's window made of them is the window's business.
``JudgedStream`` is what the engines share, ``Arrivals`` the unicast stream; the multicast window is
in ``replay.jgroups.mcast.receiver``. How the part of a gap that an arrival fills has ended, first
row that fits (A1 only where the wire marks repairs):

    #   arrival                                                          outcome
    A1  marked as a repair                                               recovered
    A2  not asked for, and nobody can have asked yet                     reordered
    A3  IP id older than that of the message which revealed the gap      reordered (sent before it)
    A4  asked for                                                        recovered
    A5  IP id newer than that of the revealing message                   recovered
    A6  none of these                                                    recovered or late
"""

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import count, pairwise
from typing import Final

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.acked_copies import AckedCopies
from seqaudit.replay.jgroups.answered import ANSWERED, Answered
from seqaudit.replay.jgroups.evidence import HORIZON_NS, LATEST_NS, Beginning
from seqaudit.replay.jgroups.kept_gaps import KeptGaps
from seqaudit.replay.jgroups.lateness import Filling, Lateness
from seqaudit.replay.jgroups.other_ways import OtherWays
from seqaudit.replay.jgroups.own_requests import OwnRequests
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import (
    BY_ACK,
    BY_HIGHEST,
    BY_REQUEST,
    BY_SEQNO,
    WENT_ON,
    Arrival,
    Gap,
    GapTracker,
    Mark,
    Outcome,
    Part,
    as_told,
)
from seqaudit.replay.sequence.ip_ids import IpIds, sent_later
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import DeliveryOrder, Range, RangeSet

#: A gap that was asked for, or revealed, this many ticks before the end of the capture is not open.
TICKS_TO_LOSE: Final = 3
#: How gaps end by what comes.
_CAME: Final = (Outcome.RECOVERED, Outcome.EITHER, Outcome.REORDERED)
#: How a gap may end in the capture that says nothing of what was sent before it.
_OPEN_TO_DOUBT: Final = (
    Outcome.RECOVERED,
    Outcome.EITHER,
    Outcome.UNRECOVERED,
    Outcome.UNCAPTURED,
    Outcome.UNASKED,
    Outcome.REPAIRED,
    Outcome.STOPPED,
    *WENT_ON,
)


class JudgedStream(KeptGaps):
    """One stream's gaps at its receiver, how they ended, and the copies.

    Args:
        start: the first seqno expected.
        known: by the stream's first message; else the capture began in mid-stream.
        interval_ns: nobody asks sooner than this after a gap arose (A2).
        beginning: up to where it may have been sent before the capture.
        elapsed: of the conversation.

    Attributes:
        before: what was sent before the capture, by how its gap ended in it.
        ways: by which it may have come, and been no loss.
        left_out: not captured, and an own request for others shows that it was had.
        passed_over: not captured, and acknowledged by a window that may have begun behind them.
        silent: not captured, and had in all likelihood, as nobody asked when its sender named it.
        open_at_end, open_until_ns: missing, and a capture that ends by then does not tell whether
            it is lost; by how its gaps end if it goes on.
    """

    def __init__(
        self, start: int, *, known: bool, interval_ns: int, beginning: Beginning, elapsed: Elapsed
    ) -> None:
        super().__init__()
        self.start_known = known
        self.beginning = beginning
        self._elapsed = elapsed
        self.before: dict[Outcome, RangeSet] = {}
        self._settled = dict.fromkeys(Outcome, 0)  # how many of these had ended which way
        self.ways = OtherWays()
        self.silent = RangeSet()
        self._had_below = 0  # by its ACKs
        self.left_out = RangeSet()
        self.passed_over = RangeSet()
        self._begin(start)
        self.delivery = DeliveryOrder()
        self.recovery = Durations()
        self.counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        self.lost = RangeSet()
        self.unrecovered = RangeSet()
        self.open_at_end = {outcome: RangeSet() for outcome in WENT_ON}
        self.open_until_ns: int | None = None
        self.useful = 0
        self.undecidable = 0
        self.needless_count = 0
        self.needless = Note()
        self.came_acked = AckedCopies()  # of these
        self.reordered = Note()
        self.overtaken = Note()  # of these by IP id, and by more than a capture may exchange
        self.spurious = Note()  # asked for although it had arrived
        self.skipped = Note()  # by a merge digest
        self.unasked_long = False  # should have been asked for; it may have been delivered
        self._interval_ns = interval_ns
        self._ids = IpIds()
        self._by_design = False  # what arrives now is OOB: no reordering (6, traps)
        self._waiting: list[tuple[int, int, Part]] = []
        self._ticket = count()
        self._filling: Filling | None = None  # a gap, now
        self._lateness = Lateness(interval_ns)

    def _begin(self, start: int) -> None:
        """A new window that expects ``start``; what was counted stays."""
        self.start = start
        self.tracker = GapTracker(start, self._judge, self._closed, self._part_ended)
        self.asked = RangeSet()  # own requests that nothing has answered
        self._requests = OwnRequests()
        self._regular_high = start - 1  # highest seqno that arrived and was not OOB
        self._answered: deque[Answered] = deque(maxlen=ANSWERED)

    # -- events ----------------------------------------------------------------------------------

    def _take(self, event: Event, arrival: Arrival, first: int, stop: int) -> list[Range]:
        """[first, stop) of a message or run came; returns what had not arrived before."""
        assert event.seqno is not None and event.stop_seqno is not None
        high, run = self.tracker.known_stop, (event.seqno, event.stop_seqno)
        self._by_design = bool(event.flags & Flag.OOB)
        if first >= high and not self.asked:  # the common case: all of it is new
            new = self.tracker.arrive(first, stop, arrival, BY_SEQNO)
        else:
            new = [
                part
                for a, b in pairwise(sorted(self._cuts(first, stop)))
                for part in self.tracker.arrive(a, b, arrival.of((a, b), run), BY_SEQNO)
            ]
        if new and first >= high and not arrival.repair:
            self._ids.note(arrival)
        if not self._by_design:
            self._regular_high = max(self._regular_high, stop - 1)
        for part in new:
            self.asked.remove(*part)
        return new

    def _cuts(self, first: int, stop: int) -> set[int]:
        """Where [first, stop) falls into parts that are judged as a whole."""
        cuts = {first, min(first + 1, stop), max(stop - 1, first), stop}
        for part in self.asked.within(first, stop):
            cuts.update(part)
        return cuts

    def request(self, first: int, stop: int, mark: Mark) -> list[Range]:
        """The receiver asked for [first, stop); returns what of it is missing."""
        self._requests.asked(first, stop, mark)
        self.beginning.named(stop, mark)
        missing = self.tracker.open_within(first, stop)
        if missing:
            self.tracker.request(first, stop, mark)
            for part in missing:
                self.asked.add(*part)
        return missing

    def window_lost(self, since: Mark) -> None:
        """The window was gone from then on; what it had not asked for by then a new one may ask
        for, whether or not it had come.
        """
        for first, stop in self.tracker.missing():
            gap = self.tracker.gap_of(first)
            if gap is not None:
                self.ways.window_lost(gap, self.asked.missing(first, stop), since)

    def _had_all(self, seqno: int, mark: Mark, *, same: bool = True) -> list[Range]:
        """The receiver has everything up to ``seqno``; returns what was not captured."""
        self.tracker.reveal(seqno + 1, mark, BY_ACK)
        self.beginning.acknowledged(seqno)
        return self._had(-(2**63), seqno + 1, mark, same=same)

    def had_others(self, named: list[Range], mark: Mark, *, same: bool = True) -> list[Range]:
        """The receiver asked for ``named`` at a tick, which is all that it missed below the last of
        them (jgroups.md 4.4, 5.4): it had the others. Returns what of these was not captured.
        """
        had = [
            part
            for first, stop in RangeSet(named).missing(self.start, named[-1][0])
            for part in self._had(first, stop, mark, same=same or first > named[0][0])
        ]
        for part in had:
            for piece in self.passed_over.missing(*part):
                self.left_out.add(*piece)
        return had

    def _had(self, first: int, stop: int, mark: Mark, *, same: bool) -> list[Range]:
        """What is missing of [first, stop) had come: if it was asked for, as a repair.

        Args:
            same: by the window that asked; else another one may begin behind it.
        """
        had = self.tracker.open_within(first, stop)
        for part in had:
            for piece in self.asked.remove(*part):
                outcome = Outcome.REPAIRED if same else Outcome.STOPPED
                self.tracker.close_within(*piece, outcome, mark if same else None)
                if same:
                    self.lost.add(*piece)
            outcome = Outcome.UNCAPTURED if same else Outcome.UNASKED
            for piece in self.tracker.close_within(*part, outcome, mark if same else None):
                if not same:
                    self.passed_over.add(*piece)
                    self.unasked_long = True
        return had

    def _passed(self, stop: int, mark: Mark) -> None:
        """Everything below ``stop`` has been handed to the application."""
        while self._waiting and self._waiting[0][0] <= stop:
            heapq.heappop(self._waiting)[2].delivered = mark

    def early(self, first: int, stop: int, mark: Mark, least_ns: int) -> Iterator[Range]:
        """What of [first, stop) is asked for before a tick has seen that it is missing (T2, T3,
        B16, B17)."""
        for part in self.tracker.open_within(first, stop):
            gap = self.tracker.gap_of(part[0])
            if (
                gap is not None
                and gap.requested is None
                and gap.revealed_by in (BY_SEQNO, BY_HIGHEST)
                and mark.at_ns - gap.revealed.at_ns < least_ns
            ):
                yield part

    def delivering(self, delivered: Range, event: Event) -> None:
        """``delivered`` is handed on as a run comes: its first message, when that came."""
        if delivered[0] == event.seqno:
            self._passed(delivered[0] + 1, event.first_mark())

    def gone(self, last_ns: int | None = None) -> None:
        """The member is gone: what it lacks is no loss, and what it asked for no more it had."""
        if last_ns:
            self._end_no_longer_asked(last_ns)
        self._end_below(self.tracker.known_stop, Outcome.GONE)

    def end_missing(
        self, end_ns: int, *, over: bool, removed_ns: int | None = None,
        dropped: RangeSet | None = None,
    ) -> None:  # fmt: skip
        """What is missing now never comes.

        Args:
            end_ns: the last that was captured, or when the window was removed.
            over: the capture is; if it goes on, what it does not tell yet may come.
            removed_ns: when the window was; null: never.
            dropped: captured, but the member had no room for it: that never came.
        """
        unasked = RangeSet(self.tracker.missing()) - self.asked
        self._end_unasked(end_ns, dropped or RangeSet(), over=over)
        self._end_no_longer_asked(end_ns if removed_ns is None else min(removed_ns, end_ns))
        missing, lately = RangeSet(self.tracker.missing()), self._asked_lately(end_ns)
        self.ways.answered |= RangeSet() if over else missing & lately
        lacks = self.lacks_messages() or bool(unasked)
        for part in missing if lacks else ():
            once = RangeSet(self.asked.within(*part)) - RangeSet(self._asked_at_ticks(*part))
            self.ways.answered |= once
        for part in lately if lacks and not over else ():  # the repair as well, it may be
            self.tracker.close_within(*part, Outcome.STOPPED, None)
        for first, stop in self.tracker.missing() if over else ():  # by gap: each has its time
            asked = RangeSet(self.asked.within(first, stop))
            late = not self._is_long(first, end_ns)
            open_ = RangeSet([(first, stop)]) - asked if late else RangeSet()
            for part in asked & lately:
                for piece in self._asked_at_ticks(*part):
                    self._cut_off(*piece, Outcome.ASKED)
                    asked.remove(*piece)
                open_ |= asked.within(*part)
            for part in open_:
                self._cut_off(*part, Outcome.CUT_OFF)
        self._end_below(self.tracker.known_stop, Outcome.UNRECOVERED)

    def _asked_lately(self, end_ns: int) -> RangeSet:
        """Asked for, and not for three ticks before a time."""
        return self.asked - self._requests.until(end_ns - self._to_lose_ns())

    def _is_long(self, seqno: int, end_ns: int) -> bool:
        """Has it been missing for so long that it should have been asked for, and answered?"""
        return end_ns - self._revealed_ns(seqno) >= self._to_lose_ns()

    def _tick_ns(self) -> int:
        """How far ticks are apart at least: further than we were told, if own requests are."""
        return max(self._interval_ns, self._requests.spacing_ns)

    def _to_lose_ns(self) -> int:
        return TICKS_TO_LOSE * self._tick_ns()

    def _revealed_ns(self, seqno: int) -> int:
        gap = self.tracker.gap_of(seqno)
        assert gap is not None, "what is missing lies in a gap"
        return gap.revealed.at_ns

    def _lost_from(self, seqno: int) -> int:
        asked_ns = self._requests.first_named(seqno)
        since_ns = self._revealed_ns(seqno) if asked_ns is None else asked_ns
        return since_ns + self._to_lose_ns()

    def _cut_off(self, first: int, stop: int, outcome: Outcome) -> None:
        self.open_until_ns = max(self.open_until_ns or 0, self._lost_from(first))
        for part in self.tracker.close_within(first, stop, outcome, None):
            self.open_at_end[outcome].add(*part)

    def _end_unasked(self, end_ns: int, dropped: RangeSet, *, over: bool) -> None:
        """A receiver asks for what it misses at every tick. Where no request for it was captured,
        the capture may have missed the message, or the request: nothing proves a loss.
        """
        for first, stop in self.tracker.missing():
            long = self._is_long(first, end_ns)
            if not (long or over):
                continue
            others = RangeSet([*self.asked.within(first, stop), *dropped.within(first, stop)])
            for a, b in others.missing(first, stop):
                if long:
                    self.tracker.close_within(a, b, Outcome.UNASKED, None)
                    self.unasked_long = True
                else:
                    self._cut_off(a, b, Outcome.NOT_YET)

    def _end_no_longer_asked(self, end_ns: int) -> None:
        """A tick asks for all that is missing, so what the last ones before the end did not name
        had come, or was given up, or the receiver had died.
        """
        recent = self._asked_since(end_ns)
        for first, stop in self.tracker.missing():
            for asked in self._asked_at_ticks(first, stop):
                for part in recent.missing(*asked):
                    self.tracker.close_within(*part, Outcome.STOPPED, None)

    def _asked_since(self, end_ns: int) -> RangeSet:
        """What was asked for to the end: by the last tick before it, if that is not long ago."""
        return self._requests.to_the_end(end_ns, self._tick_ns())

    def _asked_at_ticks(self, first: int, stop: int) -> list[Range]:
        """What of [first, stop) ticks ask for as long as it is missing."""
        return self.asked.within(first, stop)

    def lacks_messages(self) -> bool:
        """Does the capture lack some that the member had, by its own words?"""
        return bool(self.left_out) or self.unasked_long or self.counts[Outcome.UNCAPTURED] > 0

    def may_have_had_more(self, *, over: bool) -> bool:
        """Were messages not, or no longer, asked for that the capture lacks, whenever they were
        sent? See ``as_told``."""
        told = (as_told(self.counts, over=over), as_told(self._settled, over=over))
        return self.unasked_long or any(n[Outcome.UNASKED] or n[Outcome.STOPPED] for n in told)

    def asked_though_come(self) -> RangeSet:
        """What the receiver asked for though it had come, dropped inside it or not."""
        return self.spurious.ranges

    def of_unknown_fate(self, ended: Mapping[Outcome, int]) -> int:
        """Messages of which it cannot be told whether they were lost; zero if there are none."""
        doubted = (Outcome.UNCAPTURED, Outcome.UNASKED, Outcome.STOPPED, Outcome.UNTOLD)
        asked = (Outcome.RECOVERED, Outcome.REPAIRED, Outcome.EITHER, Outcome.UNRECOVERED)
        earlier = sum(self.before[o].total() for o in asked if o in self.before)
        return sum(ended[outcome] for outcome in doubted) + earlier

    def gaps_by_seqno(self) -> list[Gap]:
        """The ended gaps that are kept."""
        return sorted(self.gaps, key=lambda gap: gap.first)

    def settle(self, end: Mark) -> None:
        """What was sent before the capture began is neither lost nor repaired for certain, nor what
        showed just before the conversation's ``end``: the original may come behind that."""
        bound = self.beginning.bound
        stop = self.tracker.known_stop if bound is None else bound + 1
        self.left_out.remove(-(2**63), stop)
        self.ways.found_no_window()
        for gap in self.gaps:
            if gap.first < stop:
                self._settle(gap, stop)
        open_ = any(self.open_at_end.values()) or any(self._settled[early] for early in WENT_ON)
        until_ns = self.open_until_ns if open_ else None
        late_ns = LATEST_NS if self._lateness.latest_ns > HORIZON_NS else self._interval_ns  # A2
        yet_ns = self.ways.may_come_yet(self.gaps, self._elapsed, end, late_ns)
        self.open_until_ns = max(until_ns or 0, yet_ns) or None
        if self.lacks_messages():
            self.ways.may_have_come(self.gaps)
        self.ways.may_come_late(self.gaps, self._lateness.surely_ns)

    def _settle(self, gap: Gap, stop: int) -> None:
        for outcome in _OPEN_TO_DOUBT:
            part = gap.parts.get(outcome)
            taken = part.ranges.remove(gap.first, stop) if part is not None else []
            if part is None or not taken:
                continue
            earlier = gap.parts.setdefault(Outcome.BEFORE, Part())
            earlier.first = earlier.first or part.first
            earlier.last = part.last or earlier.last
            earlier.requests, earlier.pieces = part.requests, part.pieces
            earlier.delivered = part.delivered or earlier.delivered
            for piece in taken:
                size = piece[1] - piece[0]
                earlier.ranges.add(*piece)
                ended = WENT_ON.get(outcome, outcome)
                self.before.setdefault(ended, RangeSet()).add(*piece)
                for open_ in self.open_at_end.values():
                    open_.remove(*piece)
                self.lost.remove(*piece)
                self.unrecovered.remove(*piece)
                self.counts[outcome] -= size
                self._settled[outcome] += size
                self.counts[Outcome.BEFORE] += size
            if not part.ranges:
                del gap.parts[outcome]

    def _end_below(self, stop: int, outcome: Outcome) -> list[Range]:
        ended = self.tracker.close(stop, outcome, None)
        if outcome is Outcome.UNRECOVERED:
            for part in ended:
                self.unrecovered.add(*part)
                self.lost.add(*part)
        return ended

    # -- judging ---------------------------------------------------------------------------------

    def _judge(self, gap: Gap, piece: Range, arrival: Arrival) -> Outcome:
        self._filling = Filling(arrival, resent=arrival.repair)
        if arrival.repair:
            return Outcome.RECOVERED  # A1
        asked = bool(self.asked.within(*piece))
        first = self._newer(gap, arrival.fresh_id, arrival.first)
        last = self._newer(gap, arrival.last_fresh_id, arrival.last)
        newer, older = bool(first and last), first is False and last is False
        self._filling = Filling(arrival, resent=newer)
        too_soon = not asked and self._nobody_can_have_asked(gap, piece, arrival, newer=newer)
        if too_soon or older:  # A2, A3
            long = self._elapsed.at_least(gap.revealed, arrival.first) > HORIZON_NS
            since = gap.before if gap.before is not None else gap.revealed
            soon = arrival.last.at_ns - since.at_ns <= LATEST_NS
            self._filling = Filling(
                arrival, original=older, overtaken=older and long and soon, resent=newer
            )
            return Outcome.REORDERED
        if asked:
            return Outcome.RECOVERED  # A4
        if newer:
            self.ways.by_others.add(*piece)
            return Outcome.RECOVERED  # A5
        return Outcome.EITHER  # A6

    def _nobody_can_have_asked(
        self, gap: Gap, piece: Range, arrival: Arrival, *, newer: bool
    ) -> bool:
        """A2. ``newer``: by its IP ids it was sent after the message that revealed the gap: threads
        of its sender exchange two, or somebody's ticks are closer than we were told."""
        if newer and arrival.first.at_ns - gap.revealed.at_ns > HORIZON_NS:
            return False
        since = gap.before if gap.before is not None else gap.revealed
        return arrival.last.at_ns - since.at_ns < self._interval_ns

    def _newer(self, gap: Gap, fresh_id: int | None, mark: Mark) -> bool | None:
        return self._ids.is_newer(gap, fresh_id, mark, self.tracker.arrived)

    def _part_ended(self, gap: Gap, piece: Range, outcome: Outcome, part: Part) -> None:
        size = piece[1] - piece[0]
        self.counts[outcome] += size
        if part.last is None:
            return
        heapq.heappush(self._waiting, (piece[1], next(self._ticket), part))
        if outcome not in _CAME:
            return
        took_ns, filling = part.last.at_ns - gap.revealed.at_ns, self._filling
        assert filling is not None, "what came was judged"
        if outcome in (Outcome.RECOVERED, Outcome.EITHER):
            self.recovery.add(took_ns, size)  # V10
        if outcome is Outcome.RECOVERED:
            self.lost.add(*piece)  # V1
            self.useful += size
            arrival = filling.arrival
            fresh_id = None if arrival.repair else arrival.fresh_id  # it counts by itself
            self._answered.append(Answered(piece, gap, fresh_id, took_ns, filling.resent))
        elif outcome is Outcome.EITHER:
            self.undecidable += size
        elif outcome is Outcome.REORDERED:
            self._lateness.came(took_ns, sure=filling.original)
            if self._is_overtaken(piece):
                self.reordered.add(*piece, part.last)
                if filling.overtaken:
                    self.overtaken.add(*piece, part.last)

    def _is_overtaken(self, piece: Range) -> bool:
        """OOB messages, and what only they overtook, are out of order by design (V15)."""
        return not self._by_design and piece[0] <= self._regular_high

    def _original_came(self, part: Range, event: Event) -> None:
        """A copy of what a resend had filled: was the original only late, after all?"""
        for answered in list(self._answered):
            (first, stop), gap = answered.part, answered.gap
            first, stop = max(first, part[0]), min(stop, part[1])
            if first >= stop or Outcome.RECOVERED not in gap.parts:
                continue
            more = answered.copied((first, stop), self._requests.times_named(first))
            if self._is_late_original(answered, event):
                self._lateness.came(event.at_ns - gap.revealed.at_ns, sure=True)
                self._was_late(gap, first, stop, answered.took_ns)
            elif more and not answered.resent:
                self.ways.late.add(first, stop)

    def _is_late_original(self, answered: Answered, event: Event) -> bool:
        """It is, if the copy is older than the resend by its IP id; without ids, if the two are
        one more than was asked for, one of them was the original.
        """
        older = sent_later(answered.fresh_id, event.fresh_id)
        return answered.gap.requests == 1 if older is None else older

    def _was_late(self, gap: Gap, first: int, stop: int, took_ns: int) -> None:
        taken = gap.parts[Outcome.RECOVERED]
        moved = taken.ranges.remove(first, stop)
        late = gap.parts.setdefault(Outcome.REORDERED, Part())
        late.first, late.last, late.delivered = taken.first, taken.last, taken.delivered
        late.requests, late.pieces = taken.requests, taken.pieces
        for piece in moved:
            size = piece[1] - piece[0]
            late.ranges.add(*piece)
            self.lost.remove(*piece)
            self.recovery.remove(took_ns, size)
            self.useful -= size
            self.counts[Outcome.RECOVERED] -= size
            self.counts[Outcome.REORDERED] += size
            if late.last is not None:
                self.reordered.add(*piece, late.last)
        if not taken.ranges:
            del gap.parts[Outcome.RECOVERED]


class Arrivals(JudgedStream):
    """One unicast stream's arrivals at its receiver."""

    def arrive(self, event: Event) -> list[Range]:
        """A message or run; returns the seqnos that had not arrived before."""
        assert event.seqno is not None and event.stop_seqno is not None
        self.expect_from(event.seqno)
        if self.beginning.bound is None:
            self.beginning.arrived(event)
        return self._take(event, event.arrival(), event.seqno, event.stop_seqno)

    def expect_from(self, first: int) -> None:
        """The stream is known to go back to ``first``, below what was expected so far.

        What was acknowledged before that showed, the receiver had: an earlier window of it.
        """
        first = max(first, self._had_below)
        if first < self.start:
            self.tracker.expect_from(first)
            self.start = first

    def reveal_from(self, first: int, stop: int, mark: Mark) -> None:
        """The receiver says that [first, stop) exists."""
        self.expect_from(first)
        self.tracker.reveal(stop, mark, BY_REQUEST)

    def level(self, seqno: int, mark: Mark) -> list[Range]:
        """The receiver says that it has everything up to ``seqno``; returns what was not captured.

        Nothing below ``start`` counts: it was before the capture.
        """
        self._had_below = max(self._had_below, seqno + 1)
        if seqno < self.start:
            self.beginning.acknowledged(seqno)
            return []
        return self._had_all(seqno, mark)

    def deliver(self, first: int, stop: int, mark: Mark) -> None:
        """[first, stop) is handed to the application in this order."""
        self.delivery.deliver(first, stop)
        self._passed(stop, mark)

    def copy(self, part: Range, event: Event, *, needed: bool) -> None:
        """Another datagram with what had arrived; ``needed``: the receiver's window lacked it."""
        size = part[1] - part[0]
        if event.flags & Flag.NETWORK_DUPLICATE:
            return
        if needed:
            self.useful += size
        else:
            self._original_came(part, event)
            self.needless_count += size
            self.needless.add(*part, event.first_mark())
