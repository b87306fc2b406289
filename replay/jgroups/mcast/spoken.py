"""Whether a member speaks of the receive window of a multicast stream that it spoke of before."""

from seqaudit.replay.jgroups.mcast.doubts import DeliveryDoubts
from seqaudit.replay.jgroups.mcast.owed import OwedAcks
from seqaudit.replay.jgroups.mcast.receiver_copies import CopiesOfArrived
from seqaudit.replay.jgroups.mcast.terms import WindowTerms
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet


class SpokenWindow(CopiesOfArrived):
    """A receive window of which its member's ACKs, digests and requests speak.

    Args:
        terms: on which it begins.

    Attributes:
        acks: those that it owes.
        doubts: what of its deliveries no frame of the capture tells.
    """

    def __init__(self, terms: WindowTerms) -> None:
        super().__init__(terms)
        self._life, self._merges = terms.life, terms.merges
        self._merge_ns = terms.merge_ns
        self._asks_from = (terms.low, terms.began)  # where its requests begin, and since when
        self._was_silent = False  # its sender, since this member's last word, for long enough
        self.acks = OwedAcks(terms.acks, self.own.level, terms.elapsed)
        self.doubts = DeliveryDoubts()

    def _begin(self, start: int) -> None:
        super()._begin(start)
        self._may_be_skipped = RangeSet()  # see ``_had``

    def _shows(self, level: int, mark: Mark, *, all_below: bool = True) -> bool:
        """This member says something of its window: is it the one that it spoke of before? A merge
        that the capture lacks may have moved it.

        The first word of a window that nothing told of: it begins no later, and of what is below
        nobody can tell whether it was for it, where the member or messages of this window may have
        come in between, or where a window that was there would have spoken before.

        Args:
            all_below: it has them, or would have asked for them.
        """
        before, since = self.origin.spoken_at, self.origin.since
        if self.origin.spoke(level, mark):
            self.beginning.begins(level)
            lacks = level >= self.tracker.known_stop or any(
                self.tracker.open_within(self.start, level)
            )
            first = self.tracker.first
            late = first is not None and self.acks.was_due(first.first, mark)
            if lacks or late or self._life.began_behind(self.tracker):
                self.doubts.unsure.add(min(self.start, level), level + 1)
        may_lack = before is None or self._merges.may_lack(before)
        same = not may_lack and before is not None and mark.at_ns - before.at_ns <= self._merge_ns
        if not same:
            jumps = may_lack and any(
                all_below or (self._is_long(part[0], mark.at_ns) and not self.asked.within(*part))
                for part in self.tracker.open_within(self.start, level + 1)
            )
            for part in self.tracker.missing():
                self._may_be_skipped.add(*part)
            if level >= (unseen := self.tracker.known_stop):
                self._may_be_skipped.add(unseen, level + 1)
            heard = self.tracker.last or since
            unheard = heard is None or mark.at_ns - heard.at_ns >= self._merge_ns
            if jumps:
                self.window_lost(mark)
            elif (unheard or self._was_silent) and level >= self.own.level:
                self.moved = mark
        self._was_silent = False
        return same

    def _asked_long(self, mark: Mark) -> bool:
        """It has asked in vain for so long that a merge may have come instead: one way is cut, and
        the window was never removed."""
        seqno, since = self._asks_from
        return mark.at_ns - since.at_ns > self._merge_ns and bool(
            self.tracker.open_within(seqno, seqno + 1)
        )

    def _had(self, first: int, stop: int, mark: Mark, *, same: bool) -> list[Range]:
        """See ``JudgedStream``. What was missing when a merge may have come in between, and was not
        asked for since, may have been skipped, whatever the member says later."""
        doubtful = self._may_be_skipped.remove(first, stop) if same else []
        had: list[Range] = []
        for part in doubtful:
            had += super()._had(*part, mark, same=False)
        return had + super()._had(first, stop, mark, same=same)

    def window_lost(self, since: Mark) -> None:
        """See ``JudgedStream``: a merge has moved it."""
        self.moved = since
        super().window_lost(since)
