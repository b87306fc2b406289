"""Where frames do not tell what a subscriber was handed: its figures are null, and why."""

from typing import Final

from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.lanes import Lanes
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.subscriber import Subscriber

#: What is null then.
FIGURES: Final = (
    "delivered", "misses", "recovered", "unrecovered", "lost", "lost_seqnos", "unrecovered_seqnos",
    "subscribers",
)  # fmt: skip
LATE: Final = (
    "samples came late, and nothing shows whether their subscriber has recovery: it is handed "
    "them, or they come in vain"
)
SEVERAL: Final = (
    "queries of this node at one key expression may be of several subscribers, and do not tell "
    "whose each is; they need not have the same samples"
)
READS_LATE: Final = (
    "it asked for what it should have given up long before: it reads what came later than it came"
)
CUT_SHORT: Final = (
    "it ended soon behind a gap: nothing shows whether it had gone on or was about to ask"
)
SHARED: Final = (
    "a reply to a query that several subscribers of this node may have sent, or that one sent when "
    "samples had come"
)
LAPSED: Final = (
    "samples came when an end had been silent for longer than its lease and no sign of the session "
    "followed: the other end drops it then, and hands nobody what comes"
)


def why(one: Subscriber, lanes: Lanes, source: Source) -> str | None:
    """Null: frames tell it."""
    if source.lapsed:
        return LAPSED
    passed_over = one.recovery_shown() is None and one.at_once.count
    if passed_over and RangeSet(one.at_once.delivery.ranges) != RangeSet(one.delivery.ranges):
        return LATE
    if lanes.several and not lanes.all and one.gap_count:
        return SEVERAL
    if one.reads_late:
        return READS_LATE
    if one.cut_short:
        return CUT_SHORT
    return SHARED if one.shared else None
