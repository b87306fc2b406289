"""Ways by which a message comes, or is asked for, that make no loss of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import (
    BY_HIGHEST,
    BY_REQUEST,
    Gap,
    Mark,
    Outcome,
)
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.sequence.repairs import repaired_after

#: How gaps end that a repair filled.
REPAIRS: Final = (Outcome.RECOVERED, Outcome.REPAIRED)
#: An original may come so many times later than any other did.
LATER: Final = 2


@dataclass(slots=True)
class OtherWays:
    """What of one stream its receiver may have had, or been sent, in another way than the capture
    shows.

    Attributes:
        behind_word: never asked for by a member that said nothing more when it had to ask: it had
            died, or had it.
        by_others: repaired without an own request, and older than its copy by no IP id.
        by_rebuilt: asked for by no window but one built anew: the one before may have had it.
        had: of these, where the capture is shown to lack words of the receiver in between.
        for_no_window: came when no window was there.
        late: repaired, and the original may come later still, as others of the stream did; or it
            may be what came and is not in the capture, which lacks others as well, or one of more
            copies than were asked for.
        yet: repaired, and the original may come behind the end of a capture that ends just then.
        in_holes: may have come in bytes of a TCP connection that the capture lacks.
        answered: asked for, and not for three ticks before its window was removed, or for once, as
            no tick asks for it: that no copy is in the capture does not say that none came.
        unread: asked for at no tick, and the capture may lack that it had come: what HIGHEST_SEQNO
            names a member asks for at once, also if it is just reading it.
    """

    by_others: RangeSet = field(default_factory=RangeSet)
    behind_word: RangeSet = field(default_factory=RangeSet)
    by_rebuilt: RangeSet = field(default_factory=RangeSet)
    had: RangeSet = field(default_factory=RangeSet)
    for_no_window: RangeSet = field(default_factory=RangeSet)
    late: RangeSet = field(default_factory=RangeSet)
    yet: RangeSet = field(default_factory=RangeSet)
    in_holes: RangeSet = field(default_factory=RangeSet)
    answered: RangeSet = field(default_factory=RangeSet)
    unread: RangeSet = field(default_factory=RangeSet)
    _idle: RangeSet = field(default_factory=RangeSet)  # unread, if its sender was not idle
    _shown_without: list[Gap] = field(default_factory=list)  # by what found no window

    def window_lost(self, gap: Gap, unasked: Iterable[Range], since: Mark) -> None:
        """The window was gone from then on: what of a gap it had not asked for a new one may ask
        for, whether or not it had come."""
        if gap.revealed.at_ns == since.at_ns:
            self._shown_without.append(gap)
        elif gap.revealed.at_ns < since.at_ns:
            for part in unasked:
                self.by_rebuilt.add(*part)

    def found_no_window(self) -> None:
        """What came just before the message that found none may have found none as well. If all of
        a gap was sent as the answer to SEND_FIRST_SEQNO, no request says that it was lacked."""
        for gap in self._shown_without:
            if not gap.requests:
                self.by_rebuilt.add(gap.first, gap.stop)

    def asked_at_once(self, gap: Gap, piece: Range, outcome: Outcome, *, idle: bool) -> None:
        """It was asked for alone, and had. Only a request shows it, or HIGHEST_SEQNO, and only one:
        no tick need have seen that it was missing.

        If a copy came, the original may have come just before, where its sender was sending: who
        has been idle for a tick sends HIGHEST_SEQNO, and who is just sending the next message.

        Args:
            idle: no new message had come for a tick when it was asked for, which shows its sender
                idle in a capture that lacks nothing.
        """
        if gap.requests > 1 or gap.revealed_by not in (BY_REQUEST, BY_HIGHEST):
            return
        ranges = self.unread if outcome is Outcome.REPAIRED or not idle else self._idle
        ranges.add(*piece)

    def came_outside(self, ranges: RangeSet) -> None:
        """Came when no window was there for it: if it was asked for later, it was not lost."""
        self.for_no_window = ranges
        self.by_rebuilt |= ranges

    def may_come_late(self, gaps: Iterable[Gap], latest_ns: int) -> None:
        """The originals of what was repaired may come later still, or where the capture has a hole.

        Args:
            latest_ns: so long after they showed to be missing others surely came.
        """
        for gap in gaps:
            asked, shown_ns = gap.requested, gap.revealed.at_ns
            for outcome, after_ns in (
                (Outcome.RECOVERED, repaired_after(gap)),
                # what came then is not in the capture: the repair, or the original
                (Outcome.REPAIRED, None if asked is None else asked.at_ns - shown_ns),
            ):
                part = gap.parts.get(outcome)
                if part is not None and after_ns is not None and 0 <= after_ns < LATER * latest_ns:
                    self.late |= part.ranges

    def may_have_come(self, gaps: Iterable[Gap]) -> None:
        """What filled a gap and is not in the capture, which lacks others as well, may be the
        original: how late these come is not seen, nor whether the sender was idle."""
        parts = (gap.parts.get(Outcome.REPAIRED) for gap in gaps)
        self.late |= RangeSet(piece for part in parts if part for piece in part.ranges)
        self.unread |= self._idle

    def may_come_yet(self, gaps: Iterable[Gap], elapsed: Elapsed, end: Mark, late_ns: int) -> int:
        """Of what was repaired the original may come behind the end of the conversation, if its gap
        showed less than ``late_ns`` before that: returns until when; 0: none does. Nobody asks
        sooner, or one that came late shows that another may come later still."""
        until_ns = 0
        for gap in gaps:
            repaired = [gap.parts[outcome] for outcome in REPAIRS if outcome in gap.parts]
            left_ns = late_ns - elapsed.passed(gap.revealed, end) if repaired else 0
            if left_ns > 0:
                self.yet |= RangeSet(piece for part in repaired for piece in part.ranges)
                until_ns = max(until_ns, end.at_ns + left_ns)
        return until_ns

    def repaired(self, *, unasked: bool) -> RangeSet:
        """Whose repair shows no loss.

        Args:
            unasked: nor does one that was not asked for.
        """
        repaired = self.by_rebuilt | self.late | self.unread
        return repaired | self.by_others if unasked else repaired

    def no_loss(self) -> RangeSet:
        """That it was asked for shows no loss."""
        return self.by_rebuilt | self.in_holes | self.unread

    def came(self) -> RangeSet:
        """May have come to the receiver, whose window lacked it when it asked."""
        return self.for_no_window | self.in_holes | self.may_have_had()

    def may_have_had(self) -> RangeSet:
        """Though no copy is in the capture, and it was asked for."""
        return self.had | self.answered
