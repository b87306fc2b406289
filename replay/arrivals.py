"""What arrived of a stream at the member it is for: gaps, how they ended, copies (design 4.5).

This is about arrivals only; what the member's window made of them is the window's business. How the
part of a gap that an arrival fills has ended, where the wire does not mark repairs, first row that
fits (the same rows as in ``mcast_receiver``, which has one more):

    #   arrival                                                          outcome
    A2  not asked for, and nobody can have asked yet                     reordered
    A3  IP id older than that of the message which revealed the gap      reordered (sent before it)
    A4  asked for                                                        recovered
    A5  IP id newer than that of the revealing message                   recovered
    A6  none of these                                                    recovered or late
"""

import heapq
from collections import deque
from itertools import count, pairwise
from typing import Final, NamedTuple

from seqaudit.decoders.events import Flag
from seqaudit.replay.event import Event
from seqaudit.replay.gaps import (
    BY_ACK,
    BY_REQUEST,
    BY_SEQNO,
    MAX_KEPT_GAPS,
    Arrival,
    Gap,
    GapTracker,
    Mark,
    Outcome,
    Part,
)
from seqaudit.replay.ip_ids import IpIds
from seqaudit.replay.measures import Durations
from seqaudit.replay.notes import Note
from seqaudit.replay.ranges import DeliveryOrder, Range, RangeSet

#: Answered requests that are remembered, to see a second copy for the same request.
ANSWERED: Final = 256


class _Answered(NamedTuple):
    """A resend that filled a part of a gap."""

    part: Range
    gap: Gap
    fresh_id: int | None


class Arrivals:
    """One stream's arrivals at its receiver.

    Args:
        start: the first seqno expected.
        known: by the stream's first message; else the capture began in mid-stream.
        interval_ns: nobody asks sooner than this after a gap arose (A2).
    """

    def __init__(self, start: int, *, known: bool, interval_ns: int) -> None:
        self.start_known = known
        self.tracker = GapTracker(start, self._judge, self._closed, self._part_ended)
        self.delivery = DeliveryOrder()
        self.recovery = Durations()
        self.gaps: list[Gap] = []
        self.unlisted_gaps = 0
        self.gap_count = 0
        self.counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        self.lost = RangeSet()
        self.unrecovered = RangeSet()
        self.network_duplicates = 0
        self.duplicated = Note()
        self.useful = 0
        self.undecidable = 0
        self.needless_count = 0
        self.needless = Note()
        self.reordered = Note()
        self.spurious = Note()  # asked for although it had arrived
        self.asked = RangeSet()  # own requests that nothing has answered
        self.start = start
        self._interval_ns = interval_ns
        self._ids = IpIds()
        self._by_design = False  # what arrives now is OOB: no reordering (6, traps)
        self._regular_high = start - 1
        self._waiting: list[tuple[int, int, Part]] = []
        self._ticket = count()
        self._filling: Arrival | None = None
        self._answered: deque[_Answered] = deque(maxlen=ANSWERED)

    # -- events ----------------------------------------------------------------------------------

    def arrive(self, event: Event) -> list[Range]:
        """A message or run; returns the seqnos that had not arrived before."""
        assert event.seqno is not None and event.stop_seqno is not None
        first, stop, arrival = event.seqno, event.stop_seqno, event.arrival()
        if first < self.start:
            self.expect_from(first)
        high = self.tracker.known_stop
        self._by_design = bool(event.flags & Flag.OOB)
        if first >= high and not self.asked:  # the common case: all of it is new
            new = self.tracker.arrive(first, stop, arrival, BY_SEQNO)
            self._ids.note(arrival)
        else:
            cuts = {first, stop}
            for part in self.asked.within(first, stop):
                cuts.update(part)
            new = [
                part
                for a, b in pairwise(sorted(cuts))
                for part in self.tracker.arrive(a, b, arrival, BY_SEQNO)
            ]
            if new and first >= high:
                self._ids.note(arrival)
        if not self._by_design:
            self._regular_high = max(self._regular_high, stop - 1)
        for part in new:
            self.asked.remove(*part)
        return new

    def expect_from(self, first: int) -> None:
        """The stream is known to go back to ``first``, below what was expected so far."""
        if first < self.start:
            self.tracker.expect_from(first)
            self.start = first

    def reveal_from(self, first: int, stop: int, mark: Mark, by: str = BY_REQUEST) -> None:
        """The receiver says that [first, stop) exists."""
        self.expect_from(first)
        self.tracker.reveal(stop, mark, by)

    def request(self, first: int, stop: int, mark: Mark) -> list[Range]:
        """The receiver asked for [first, stop); returns what of it is missing."""
        missing = self.tracker.open_within(first, stop)
        if missing:
            self.tracker.request(first, stop, mark)
            for part in missing:
                self.asked.add(*part)
        return missing

    def level(self, seqno: int, mark: Mark) -> list[Range]:
        """The receiver says that it has everything up to ``seqno``; returns what was not captured.

        Nothing below ``start`` counts: it was before the capture.
        """
        if seqno < self.start:
            return []
        self.tracker.reveal(seqno + 1, mark, BY_ACK)
        return self.tracker.close(seqno + 1, Outcome.UNCAPTURED, mark)

    def deliver(self, first: int, stop: int, mark: Mark) -> None:
        """[first, stop) is handed to the application in this order."""
        self.delivery.deliver(first, stop)
        while self._waiting and self._waiting[0][0] <= stop:
            heapq.heappop(self._waiting)[2].delivered = mark

    def copy(self, part: Range, event: Event, *, needed: bool) -> None:
        """A copy of what had arrived; ``needed``: the receiver's window did not have it."""
        size = part[1] - part[0]
        if event.flags & Flag.NETWORK_DUPLICATE:
            self.network_duplicates += size
            self.duplicated.add(*part, event.first_mark())
        elif needed:
            self.useful += size
        else:
            self._original_came(part, event)
            self.needless_count += size
            self.needless.add(*part, event.first_mark())

    def end(self, outcome: Outcome) -> None:
        """What is missing now never comes."""
        for first, stop in self.tracker.close(self.tracker.known_stop, outcome, None):
            if outcome is Outcome.UNRECOVERED:
                self.unrecovered.add(first, stop)
                self.lost.add(first, stop)

    # -- judging ---------------------------------------------------------------------------------

    def _judge(self, gap: Gap, piece: Range, arrival: Arrival) -> Outcome:
        self._filling = arrival
        asked = bool(self.asked.within(*piece))
        first = self._newer(gap, arrival.fresh_id, arrival.first)
        last = self._newer(gap, arrival.last_fresh_id, arrival.last)
        if first is False and last is False:
            return Outcome.REORDERED  # A3
        if not asked and not (first and last) and self._too_soon(gap, arrival):
            return Outcome.REORDERED  # A2
        if asked or (first and last):
            return Outcome.RECOVERED  # A4, A5
        return Outcome.EITHER  # A6

    def _too_soon(self, gap: Gap, arrival: Arrival) -> bool:
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
        if outcome in (Outcome.RECOVERED, Outcome.EITHER):
            self.recovery.add(part.last.at_ns - gap.revealed.at_ns, size)
        if outcome is Outcome.RECOVERED:
            self.lost.add(*piece)
            self.useful += size
            assert self._filling is not None
            self._answered.append(_Answered(piece, gap, self._filling.fresh_id))
        elif outcome is Outcome.EITHER:
            self.undecidable += size
        elif outcome is Outcome.REORDERED and self._is_overtaken(piece):
            self.reordered.add(*piece, part.last)

    def _is_overtaken(self, piece: Range) -> bool:
        """OOB messages, and what only they overtook, are out of order by design (6, traps)."""
        return not self._by_design and piece[0] <= self._regular_high

    def _original_came(self, part: Range, event: Event) -> None:
        """A copy of what a resend had filled: was the original only late, after all?

        It is, if the copy is older than the resend by its IP id; without ids, if the two are one
        more than was asked for, one of them was the original.
        """
        for (first, stop), gap, fresh_id in list(self._answered):
            first, stop = max(first, part[0]), min(stop, part[1])
            if first >= stop or Outcome.RECOVERED not in gap.parts:
                continue
            if fresh_id is None or event.fresh_id is None:
                late_original = gap.requests == 1
            else:
                late_original = 0 < (fresh_id - event.fresh_id) % 65536 < 32768
            if late_original:
                self._was_late(gap, first, stop)

    def _was_late(self, gap: Gap, first: int, stop: int) -> None:
        taken = gap.parts[Outcome.RECOVERED]
        moved = taken.ranges.remove(first, stop)
        late = gap.parts.setdefault(Outcome.REORDERED, Part())
        late.first, late.last, late.delivered = taken.first, taken.last, taken.delivered
        for piece in moved:
            size = piece[1] - piece[0]
            late.ranges.add(*piece)
            self.lost.remove(*piece)
            self.useful -= size
            self.counts[Outcome.RECOVERED] -= size
            self.counts[Outcome.REORDERED] += size
            if late.last is not None:
                self.reordered.add(*piece, late.last)
        if not taken.ranges:
            del gap.parts[Outcome.RECOVERED]

    def _closed(self, gap: Gap) -> None:
        self.gap_count += 1
        if len(self.gaps) < MAX_KEPT_GAPS:
            self.gaps.append(gap)
        else:
            self.unlisted_gaps += 1
