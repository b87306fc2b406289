"""A multicast stream at its sender's interface, or between members: what was sent and asked.

At the sender every first send is seen before any loss, so a seqno that comes after a higher one was
*sent* out of order (S15, D10; design document, "Misc": 1 -> 3 -> 4 -> 2 -> 5), and one that never
comes was never sent (S2). Between members it may also have been lost before this point and
repaired, or overtaken on the path (V16).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.evidence import Beginning
from seqaudit.replay.jgroups.kept_gaps import KeptGaps
from seqaudit.replay.jgroups.repeats import ENDLESS_REQUESTS
from seqaudit.replay.sequence.gaps import (
    BY_HIGHEST,
    BY_SEQNO,
    Arrival,
    Gap,
    GapTracker,
    Mark,
    Outcome,
    Part,
)
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet

MAX_KEPT_UNANSWERED: Final = 100


@dataclass(slots=True)
class Unanswered:
    """One member's request that was repeated while no copy was sent."""

    member: str
    ranges: tuple[Range, ...]
    first: Mark
    last: Mark
    requests: int = 1  # endless from ENDLESS_REQUESTS on (V7)
    answered: bool = False  # a copy came in the end


class PassingModel(KeptGaps):
    """What passed of one stream where no receive window can be replayed.

    Args:
        beginning: what of it was sent before the capture began.
        at_sender: the capture is at the sender's own interface.
    """

    def __init__(self, first_seqno: int, beginning: Beginning, *, at_sender: bool) -> None:
        super().__init__()
        self.at_sender = at_sender
        self._beginning = beginning
        self.tracker = GapTracker(first_seqno, self._judge, self._closed, self._part_ended)
        self.counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        self.out_of_order = Note()
        self.needless = Note()  # resent though all who had asked had acknowledged it
        self.needless_count = 0
        self.undecidable = 0
        self.spurious = Note()  # asked for by a member that had acknowledged it, or too soon
        self.unanswered: list[Unanswered] = []
        self._levels: dict[str, int] = {}
        self._spoke: set[str] = set()  # of the stream, since a window may have begun
        self._installing: set[str | None] = set()  # see ``let_in``
        self._regular_high = 0  # highest seqno that passed and was not OOB
        self._out_of_order_by_design = False  # what passes now is OOB (6, traps)
        self.asked: dict[str, Note] = {}  # by member
        self.lacked: dict[str, Note] = {}  # of it, what passed while the member had its window
        self._had_before: dict[str | None, int] = {}  # up to which earlier windows may have had all
        self._asked_unsent = RangeSet()  # asked for when it had not passed yet
        self._pending: dict[str, Unanswered] = {}

    def passed(self, event: Event, first_sends: Iterable[Range] = ()) -> None:
        """MSG or XMIT_RSP passed (S10: repairs are copies).

        ``first_sends``: parts that went to their destination for the first time.
        """
        assert event.seqno is not None and event.stop_seqno is not None
        first, stop = event.seqno, event.stop_seqno
        self._beginning.arrived(event)
        self._out_of_order_by_design = bool(event.flags & Flag.OOB)
        new = self.tracker.arrive(first, stop, event.arrival(), BY_SEQNO)
        if not self._out_of_order_by_design:
            self._regular_high = max(self._regular_high, stop - 1)
        for part in RangeSet([*new, *first_sends]).missing(first, stop):
            self._copy(part, event)

    def highest(self, seqno: int, mark: Mark, fresh_id: int | None) -> None:
        self.tracker.reveal(seqno + 1, mark, BY_HIGHEST, fresh_id)

    def requested(self, member: str, ranges: Iterable[Range], mark: Mark) -> None:
        """A member's XMIT_REQ passed (S11: what it acknowledged is skipped by the sender)."""
        wanted = tuple(ranges)
        level = self._levels.get(member, 0)
        self.speaks(member)
        asked = self.asked.setdefault(member, Note())
        for first, stop in wanted:
            self.tracker.request(first, stop, mark, member)
            self._lacked(member, first, stop, mark)
            for part in self.tracker.open_within(first, stop):
                self._asked_unsent.add(*part)
            if first <= level:
                self.spurious.add(first, min(stop, level + 1), mark)
            asked.add(first, stop, mark)
            self._beginning.named(stop, mark)
        if not wanted:
            return
        pending = self._pending.get(member)
        if pending is not None and pending.ranges == wanted:
            pending.requests += 1
            pending.last = mark
        else:
            self._end_pending(member)
            self._pending[member] = Unanswered(member, wanted, mark, mark)

    def acked(self, member: str, seqno: int) -> None:
        """A member's ACK passed."""
        self._beginning.acknowledged(seqno)
        self.speaks(member)
        self._levels[member] = max(seqno, self._levels.get(member, 0))

    def heard_of(self, member: str) -> bool:
        """Whether a member has spoken of the stream since its window may have begun."""
        return member in self._spoke

    def may_begin(self, member: str | None) -> None:
        """A member's window (null: every member's) may be a new one from here on: an earlier one
        may have had, or none was there for, what passed so far."""
        self._had_before[member] = self.tracker.known_stop - 1
        self._spoke = set() if member is None else self._spoke - {member}

    def let_in(self, elders: set[str] | None) -> None:
        """A view let the sender in. Who was there before (null: anybody may) installs it in its own
        time, and drops what comes before (R2): until it speaks its window may not be there."""
        self.may_begin(None)
        self._installing = {None} if elders is None else {*elders}

    def speaks(self, member: str) -> None:
        """A member says something of the stream, or casts the view: its window is there."""
        if member not in self._spoke and not self._installing.isdisjoint((member, None)):
            self.may_begin(member)
        self._spoke.add(member)

    def _lacked(self, member: str, first: int, stop: int, mark: Mark) -> None:
        """What of a request is certain to have passed to the window that asks. At its sender it has
        to be seen: it may be sent only later."""
        bound = self._beginning.bound
        if bound is None:
            return
        had_before = (self._had_before.get(of, 0) for of in (member, None))
        first = max(first, bound + 1, *(level + 1 for level in had_before))
        certain = RangeSet([(first, min(stop, self.tracker.known_stop))] if first < stop else [])
        if self.at_sender:
            for part in self.tracker.open_within(first, stop):
                certain.remove(*part)
        for part in certain:
            self.lacked.setdefault(member, Note()).add(*part, mark)

    def finish(self) -> None:
        """What has not passed by now never does."""
        self.tracker.close(self.tracker.known_stop, Outcome.UNRECOVERED, None)
        for member in sorted(self._pending):
            self._end_pending(member)

    def _copy(self, part: Range, event: Event) -> None:
        size = part[1] - part[0]
        mark = event.first_mark()
        if event.flags & Flag.NETWORK_DUPLICATE:
            return
        for member, pending in list(self._pending.items()):
            if any(first < part[1] and part[0] < stop for first, stop in pending.ranges):
                pending.answered = True
                self._end_pending(member)
        askers = [
            member
            for member, asked in self.asked.items()
            if asked.ranges.within(*part) and (event.destination in (None, member))
        ]
        if askers and all(self._levels.get(member, 0) >= part[1] - 1 for member in askers):
            self.needless_count += size
            self.needless.add(*part, mark)
        else:
            self.undecidable += size

    def _end_pending(self, member: str) -> None:
        pending = self._pending.pop(member, None)
        if (
            pending is not None
            and pending.requests >= ENDLESS_REQUESTS
            and len(self.unanswered) < MAX_KEPT_UNANSWERED
        ):
            self.unanswered.append(pending)

    def _judge(self, gap: Gap, piece: Range, arrival: Arrival) -> Outcome:
        if self.at_sender:  # D10; a repair of what never passed: the capture missed it
            return Outcome.UNCAPTURED if arrival.repair else Outcome.REORDERED
        if arrival.repair:
            return Outcome.RECOVERED
        if gap.requested is not None or gap.revealed_by == BY_HIGHEST:
            return Outcome.EITHER
        return Outcome.REORDERED

    def _part_ended(self, gap: Gap, piece: Range, outcome: Outcome, part: Part) -> None:
        self.counts[outcome] += piece[1] - piece[0]
        if outcome is Outcome.REORDERED and part.last is not None:
            if not self._out_of_order_by_design and piece[0] < self._regular_high:  # V15
                self.out_of_order.add(*piece, part.last)
            if self.at_sender and gap.requested is not None:
                for first, stop in self._asked_unsent.remove(*piece):
                    self.spurious.add(first, stop, gap.requested)  # it was only late (D10)
