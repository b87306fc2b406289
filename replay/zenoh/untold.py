"""Where frames do not tell what a subscriber was handed: its figures are null, and why."""

from collections.abc import Iterator

from seqaudit.replay.contract.worth import MISSING, Worth
from seqaudit.replay.sequence.gaps import Outcome
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh import certificates
from seqaudit.replay.zenoh.doubts import Untold
from seqaudit.replay.zenoh.lanes import Lanes
from seqaudit.replay.zenoh.link import Link
from seqaudit.replay.zenoh.reasons import (
    AHEAD,
    AS_THEY_COME,
    BEHIND,
    FIGURES,
    FLOODED,
    HAD,
    HOLE,
    IN_VAIN,
    LATE,
    OTHERS_HAD,
    OVERTAKEN,
    OWN_FRAMES,
    PASSED,
    RELEASED,
    SEVERAL,
    SHARED_OUT,
    UNASKED,
)
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.subscriber import Subscriber


def lacking(one: Subscriber, worth: Worth, *, had: bool, others_had: bool) -> str | None:
    """What shows that frames of its session are not in the capture, as others may not be; null:
    nothing does.

    Args:
        had: its own requests show it, ``others_had``: those of somebody on its link.
    """
    if had:
        return HAD
    if others_had:
        return OTHERS_HAD
    spans = worth.over(one.life.since, one.life.until, None, MISSING)
    return spans[0].why if spans else None


def before_the_first(one: Subscriber, source: Source) -> int:
    """Samples, at most, that may have been lost before the first that came: it is none of the first
    numbers, and frames are missing between the beginning of the session and it. Nothing asks for
    these, and no callback tells of them (zenoh.md 9.4 rule 5)."""
    if source.hop is None or source.mixed or one.history_asked or one.resumed is not None:
        return 0
    counter, first = source.hop.counter, one.first_at
    if first is None or one.start is None or not counter.known_start or not counter.gaps:
        return 0
    since = max(one.life.since, counter.since.frame)
    return one.start if counter.passed_over(since, first.frame) else 0


def untold(
    one: Subscriber, lanes: Lanes, source: Source, link: Link, *, crossing: bool
) -> Iterator[Untold]:
    """None: frames tell everything. Of two of the same figures the first is the nearer.

    Args:
        crossing: samples do not leave in the order of their sns.
    """
    why = _by_what_came(one, lanes, source, link, crossing=crossing)
    if why is not None:
        yield Untold(why)
    at = max(filter(None, (one.handed_at, one.at_once.handed_at)), default=None)
    yield from one.untold.standing(RangeSet(one.delivery.ranges), at)
    if differs_by_release(one):
        late = one.unrecovered & source.live
        yield Untold(AS_THEY_COME, figures=FIGURES if late else RELEASED)


def differs_by_release(one: Subscriber) -> bool:
    """Whether nobody knows what it was handed of what came live before its history was there."""
    return one.shipped and one.ahead.untold(history=one.history)


def _by_what_came(
    one: Subscriber, lanes: Lanes, source: Source, link: Link, *, crossing: bool
) -> str | None:
    if source.untold is not None:
        return source.untold
    asks = one.recovery_shown() is True
    if source.last and link.may_lack_behind(source.sender, source.receiver, source.last.frame):
        return HOLE
    overtaken = crossing and link.lacks(source.sender, source.receiver)
    if overtaken and one.asking.since is None:  # who asks waits for what comes late
        return OVERTAKEN
    if not asks and link.overtakes(source.sender, source.receiver):
        return PASSED
    if link.floods[source.receiver].full(one.first_at, one.touched):
        return FLOODED
    if source.replies_in_vain():
        return IN_VAIN
    if one.asking.by_one:
        return SHARED_OUT
    if one.asking.late.ahead:
        return AHEAD
    if one.asking.behind or one.asking.may_have_left:
        return BEHIND
    passed_over = one.recovery_shown() is None and one.at_once.count and not one.pending
    if passed_over and RangeSet(one.at_once.delivery.ranges) != RangeSet(one.delivery.ranges):
        return LATE
    if lanes.several and not lanes.all and one.gap_count:
        return SEVERAL
    if any(not certificates.had(hole) for hole in one.asking.had):
        return UNASKED
    if any(
        gap.parts.keys() & {Outcome.RECOVERED, Outcome.UNRECOVERED} and one.around.in_hole(gap)
        for gap in one.gaps
    ):
        return HOLE
    if link.lacks_own(source.receiver, source.sender):
        return OWN_FRAMES
    return None
