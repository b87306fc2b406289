"""Late rows of a feed's stream: held until they are complete, then judged (F1 to F4 of
``stream``)."""

from typing import Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.feeds.holes import Filled
from seqaudit.replay.feeds.numbering import (
    BY_END,
    BY_HEARTBEAT,
    BY_NUMBER,
    Numbering,
)
from seqaudit.replay.feeds.rows import FeedRow
from seqaudit.replay.feeds.stream_state import MAX_LISTED, StreamState
from seqaudit.replay.sequence.gaps import Mark, Outcome, Part

DUPLICATE: Final = int(Flag.NETWORK_DUPLICATE)
ALIKE: Final = int(Flag.ALIKE)
REPAIR: Final = int(Kind.RETRANSMISSION)


class LateRows(StreamState):
    """What comes below the highest number."""

    __slots__ = ()

    def _behind(self, row: FeedRow, known: tuple[int, int] | None = None) -> None:
        """Hold a late row until it is complete.

        Args:
            known: highest number and holes revealed when it came; null: those of now.
        """
        assert self._held is None, "one row is held at a time"
        self._held = row
        if known is None:
            known = self._known(), 0 if self.now is None else self.now.holes.revealed
        self._held_high, self._held_revealed = known

    def _end_held(self) -> None:
        """Judge the late row that was held until it was complete.

        It came when it began: its last moment may be that of a heartbeat long after it, or of a
        part above the highest number.
        """
        row, self._held = self._held, None
        if row is None:
            return
        first, stop, mark = row.first, row.stop, row.mark()
        now = self.now
        repair = row.kind == REPAIR
        shown = now is not None and not repair and first < stop == now.high
        if now is not None and shown and row.last_frame >= now.before_frame:
            now.before_frame, now.before_ns = row.last_frame, row.last_ns
        if row.flags & DUPLICATE and stop <= self._held_high:
            self.duplicates.add(first, stop, mark)
            return
        assert now is not None, "something is late only after the numbering began"
        late = now.late(first, stop, self._held_revealed)
        if self.sink is not None:
            self._taken(first, stop, *mark, BY_NUMBER)
        if late.filled:
            for part in late.filled:
                self._fill(now, part, mark, repair=repair)
            depth = self._held_high - first
            if depth > self.deepest and not repair:
                self.deepest = depth
        self.forgotten += late.forgotten
        for part in late.given_up:
            self.counts[Outcome.UNRECOVERED] += part.stop - part.first
            hole = now.holes.hole(part.hole)
            self._never_came(now, hole._replace(first=part.first, stop=part.stop))
        if late.copies and repair:
            self._not_needed(row, late.copies, mark)
        elif late.copies:
            self.copies.add(first, first + late.copies, mark)
            self.alike += late.copies if row.flags & ALIKE else 0

    def _not_needed(self, row: FeedRow, copies: int, mark: Mark) -> None:
        if self.asked.within(row.first, row.stop):
            self.undecidable += copies  # another receiver may have asked for it
        else:
            self.needless.add(row.first, row.first + copies, mark)

    def _fill(self, now: Numbering, part: Filled, mark: Mark, *, repair: bool) -> None:
        hole, first, stop, revealed_ns, by = part
        size = stop - first
        after = mark.at_ns - revealed_ns
        if repair:  # F1
            outcome = Outcome.RECOVERED
            self.recovered.add(first, stop, mark)
            self.useful += size
        elif self.asked and "repair" not in self.declares and self.asked.within(first, stop):  # F2
            outcome = Outcome.EITHER
            self.either.add(first, stop, mark)
        elif after <= self.settings.late_ns:  # F3
            outcome = Outcome.REORDERED
            if after >= 0:  # else the capture's records are out of order, or its clock was set
                self.reordered.add(first, stop, mark)
                self.late.add(after, size)
            outage = self.outages.get((now.number, hole)) if self.outages else None
            if outage is not None:  # overtaken, not cut off
                outage.lost.remove(first, stop)
            if by in (BY_HEARTBEAT, BY_END):
                self.tails.retract(first, stop)
        else:  # F4
            outcome = Outcome.EITHER
            self.either.add(first, stop, mark)
        if outcome is not Outcome.REORDERED:
            self.recovery.add(after, size)
        self.counts[outcome] += size
        if hole >= MAX_LISTED:
            return
        gap = self._gap(now, hole)
        if gap is not None:
            ended = gap.parts.get(outcome)
            if ended is None:
                ended = gap.parts[outcome] = Part()
            ended.ranges.add(first, stop)
            ended.first = ended.first or mark
            ended.last = mark
