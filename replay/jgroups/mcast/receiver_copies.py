"""Copies of what had arrived at a multicast window, and its requests for it (jgroups.md 5.4)."""

from collections import deque

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.acked_copies import OwnLevel
from seqaudit.replay.jgroups.answered import Answered
from seqaudit.replay.jgroups.arrivals import JudgedStream
from seqaudit.replay.jgroups.evidence import CROSSING_NS, read_between
from seqaudit.replay.jgroups.inner_loss import InnerLoss
from seqaudit.replay.jgroups.mcast.terms import WindowTerms
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ip_ids import sent_later
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet, total


class CopiesOfArrived(JudgedStream):
    """What one receive window had got, by its member's own requests and by copies.

    Args:
        terms: on which it begins.

    Attributes:
        two_members: nobody but this member can ask the sender.
        own: up to where it said that it has delivered, since its window began.
        undecided: asked for after its arrival; no ACK or digest tells.
        waited: for the join or a view: it may have dropped them.
        moved: a merge has moved the window, or may have, before this.
    """

    def __init__(self, terms: WindowTerms) -> None:
        super().__init__(
            terms.low + 1,
            known=terms.known,
            interval_ns=terms.interval_ns,
            beginning=terms.beginning,
            elapsed=terms.elapsed,
        )
        self.two_members = False
        self.inner_loss = InnerLoss()
        self.undecided = Note()
        self.origin = terms.origin
        self.own = OwnLevel(terms.low if terms.known else 0)
        self.moved: Mark | None = None

    def _begin(self, start: int) -> None:
        super()._begin(start)
        self.waited = RangeSet()
        self._asked_had = RangeSet()  # own requests for what had arrived
        self._asked_had_highest = RangeSet()  # the same, in answer to a HIGHEST_SEQNO
        self._in_order = RangeSet()  # came when nothing had told of them or of higher ones
        self._asked_there = RangeSet()  # of these: asked for by the window that they came to
        self._asked_late = RangeSet()  # of these: well after they came
        self._recent: deque[tuple[int, int, Mark]] = deque(maxlen=1000)  # first, stop, last

    def _copies(self, first: int, stop: int, new: list[Range], event: Event) -> None:
        """Copies of what had arrived (R3, R5): network duplicates (V8), needless (V3, V9), or not
        decidable."""
        mark = event.first_mark()
        rest = RangeSet(RangeSet(new).missing(first, stop))
        if event.flags & Flag.NETWORK_DUPLICATE:
            return
        for part in self._asked_had.within(first, stop):
            # Asked for by the tick rule, so a tick after it should have been read, and no ACK or
            # digest covered it before this copy: the receiver had dropped it [ipv6-discard-1].
            for asked in (self._asked_had, self._asked_had_highest, rest):
                asked.remove(*part)
            self.inner_loss.found.add(*part, mark)
            for shown in self._asked_there.within(*part):
                self.inner_loss.lacked.add(*shown, mark)
            for shown in self._asked_late.within(*part):
                self.inner_loss.dropped.add(*shown, mark)
            self.useful += part[1] - part[0]
        for part in self._asked_had_highest.within(first, stop):
            self._asked_had_highest.remove(*part)
            rest.remove(*part)
            self.undecided.add(*part, mark)
            self.undecidable += part[1] - part[0]
        for part in rest.remove(self.start, (self.origin.floor or 0) + 1):
            self.undecidable += part[1] - part[0]
        for part in list(rest):
            self._original_came(part, event)
            size = part[1] - part[0]
            in_doubt = total(self.inner_loss.found.ranges.within(*part))
            in_doubt += total(self.waited.within(*part))
            if event.fresh_id is None and not self.spurious.ranges.within(*part):
                in_doubt = size  # without an IP id it may be a network duplicate as well
            self.undecidable += in_doubt
            self.needless_count += size - in_doubt
            if size > in_doubt:
                self.needless.add(*part, mark)
                repair = event.arrival().repair  # its IP ids are of another count
                if not repair and self.own.long_before(part, event, self._elapsed):
                    self.came_acked.came(part, mark, self.tracker.unseen)

    def _is_late_original(self, answered: Answered, event: Event) -> bool:
        """Two copies for one request of the only member that can ask: the first was no answer. Nor
        is this one, if it was sent before it."""
        older = not event.arrival().repair and sent_later(answered.fresh_id, event.fresh_id)
        return older or (self.two_members and answered.gap.requests == 1)

    def _asked_for_what_had_arrived(
        self, had: Range, mark: Mark, *, for_highest: bool, at_tick: bool
    ) -> None:
        rest = RangeSet([had])
        for part in rest.remove(self.start, self.own.level + 1):
            self.spurious.add(*part, mark)  # it had said itself that it has them
        for first, stop, last in self._recent:
            if last.at_ns >= mark.at_ns - CROSSING_NS:
                for part in rest.remove(first, stop):
                    self.spurious.add(*part, mark)  # the request had left before it was read
            elif at_tick and not for_highest:
                self._asked_after(rest.within(first, stop), last, mark)
        target = self._asked_had_highest if for_highest else self._asked_had
        for part in rest:
            target.add(*part)

    def _asked_after(self, had: list[Range], came: Mark, mark: Mark) -> None:
        """Asked for after it came, and what told of it came later: that was read, this not. What
        came before the window is known to be there may have come from no member, and what came
        before a merge to a window that was replaced, or to none."""
        moved = self.moved is not None and came.frame <= self.moved.frame
        there = self.origin.there_before(came) and not moved
        late = read_between(self._elapsed, came, mark)
        for piece in (RangeSet(had) & self._in_order) - self.ways.by_rebuilt if there else ():
            self._asked_there.add(*piece)
            if late:
                self._asked_late.add(*piece)
