"""How long the repair of a gap took."""

from seqaudit.replay.sequence.gaps import Gap, Outcome
from seqaudit.replay.sequence.ranges import RangeSet


def repaired_after(gap: Gap, ranges: RangeSet | None = None) -> int | None:
    """From the moment when a gap showed to the last of its repairs, in ns; null without any.

    Args:
        ranges: the last repair of these; null: of all.
    """
    part = gap.parts.get(Outcome.RECOVERED)
    if part is None:
        return None
    last = part.last if ranges is None else part.last_of(ranges & part.ranges)
    return None if last is None else last.at_ns - gap.revealed.at_ns
