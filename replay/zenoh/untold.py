"""Where frames do not tell what a subscriber was handed: its figures are null, and why."""

from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.lanes import Lanes
from seqaudit.replay.zenoh.reasons import LATE, SEVERAL
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.subscriber import Subscriber


def why(one: Subscriber, lanes: Lanes, source: Source) -> str | None:
    """Null: frames tell it."""
    if source.untold is not None:
        return source.untold
    passed_over = one.recovery_shown() is None and one.at_once.count
    if passed_over and RangeSet(one.at_once.delivery.ranges) != RangeSet(one.delivery.ranges):
        return LATE
    if lanes.several and not lanes.all and one.gap_count:
        return SEVERAL
    return one.untold
