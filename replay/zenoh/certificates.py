"""What captured frames of a zenoh session show by themselves, whatever else is missing.

A request ``_sn=a..`` shows that its subscriber had passed a-1 and lacked a; of what lies above a it
shows nothing, except after a heartbeat, where ``a..h`` is all that is missing. Whether something
did *not* pass is shown by a stretch of one transport counter without a hole: neither the link nor
the capture lost a frame of that counter there. Contiguity on another priority or channel shows
nothing, and numbers of 16 bits or less may hide a whole turn.
"""

from collections.abc import Callable, Iterable

from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.asking import Asking
from seqaudit.replay.zenoh.hops import HopCounter, Stretch
from seqaudit.replay.zenoh.lives import SubscriberLife
from seqaudit.replay.zenoh.query import Had, Miss, Query, Sort
from seqaudit.replay.zenoh.sources import Jump, Source


def asked_for(queries: Iterable[Query]) -> dict[int, Query]:
    """Samples that a request shows its subscriber to have lacked, and the last such request."""
    found: dict[int, Query] = {}
    for query in queries:
        if query.shared:
            continue
        if query.first is not None and query.sort in (Sort.RECOVERY, Sort.HEARTBEAT):
            found[query.first] = query
    return found


def recovered(
    source: Source,
    came_back: RangeSet,
    queries: Iterable[Query],
    *,
    in_order: bool,
    crossing: bool,
    stays: Callable[[Query], bool],
) -> RangeSet:
    """Samples that were lacked, as requests say, and came by a reply, no live copy between.

    Args:
        came_back: what only replies brought.
        in_order: the transport keeps order (TCP).
        crossing: samples do not leave in the order of their sns.
        stays: whether the subscriber was there still when a query ended.
    """
    found = RangeSet()
    for query in queries:
        if query.first is None or query.ended is None or not query.replied or query.timed_out:
            continue
        if query.shared or query.gap is None:  # it is not where this subscriber lacks something
            continue
        if query.sort not in (Sort.RECOVERY, Sort.HEARTBEAT):
            continue
        if not nothing_live_between(source, query.unread(crossing=crossing), query.ended.frame):
            continue
        if not stays(query) or not (in_order or _not_overtaken(query)):
            continue
        stop = query.first + 1
        if query.sort is Sort.HEARTBEAT and query.last is not None and _alone(query, queries):
            stop = query.last + 1
        for a, b in query.replied.within(query.first, stop):
            for part in came_back.within(a, b):
                found.add(*part)
    return found


def _not_overtaken(query: Query) -> bool:
    """No newer frame that was not captured can have come before a reply, which the subscriber's
    transport would have dropped then: their counter has no hole up to the final and soon behind."""
    stretch = answered_whole(query)
    return stretch is not None and query.settled is not None and query.settled.by(stretch.end)


def stays(
    query: Query,
    source: Source,
    life: SubscriberLife,
    asking: Asking,
    *,
    alone: bool,
    in_order: bool,
) -> bool:
    """Whether a subscriber was there still when an answer came: it asked for more later, it is seen
    to be undeclared, or samples come on that would not without it. Else that it was undeclared may
    be missing here, which nothing shows where it was the last frame of its counter.

    Args:
        alone: nobody else at its endpoint subscribes to the source.
        in_order: the transport keeps order (TCP), and shows what is missing.
    """
    if in_order or life.left or asking.went_past(query):
        return True
    if query.ended is None or query.settled is None or source.live_at is None or not alone:
        return False
    # The publisher hears of it within the time that an answer takes, there and back.
    soon = 2 * (query.ended.at_ns - query.asked.at_ns) <= query.settled.span_ns
    return soon and query.settled.by(source.live_at)


def _alone(query: Query, queries: Iterable[Query]) -> bool:
    """No other query of the source was open when a heartbeat made it ask: nothing was pending."""
    return query.preceded and not any(
        other is not query and other.asked <= query.asked and other.open_at(query.asked)
        for other in queries
    )


def nothing_live_between(source: Source, begin: int, end: int) -> bool:
    """The counter of the live samples has no hole from one job frame to another."""
    if source.hop is None or source.mixed:
        return False
    return source.hop.counter.stretch_over(begin, end) is not None


def nothing_before(source: Source, mark: Mark) -> bool:
    """The counter of the live samples has no hole from the beginning of the session to a frame."""
    if source.hop is None or source.mixed:
        return False
    counter = source.hop.counter
    return counter.stretch_over(counter.since.frame + 1, mark.frame) is not None


def answered_whole(query: Query) -> Stretch | None:
    """Request, final and all frames of the replies' counter between them were captured."""
    if query.answered_by is None or not query.final:
        return None
    stretch = query.answered_by.counter.stretch_of(query.answered_by.sn)
    if stretch is None or stretch.begin.frame >= query.asked.frame:
        return None
    return stretch


def missed(
    source: Source,
    misses: Iterable[Miss],
    queries: Iterable[Query],
    *,
    crossing: bool,
    stays: Callable[[Query], bool],
) -> RangeSet:
    """Samples that were lacked, were not among the whole answer, and did not come live either."""
    every = list(queries)
    jumps = {(jump.first, jump.stop) for jump in dropped_jumps(source)}
    found = RangeSet()
    for miss in misses:
        query = miss.asked[-1] if miss.asked else None
        if query is None or query.first != miss.first or query.ended is None or query.shared:
            continue
        if answered_whole(query) is None or not _alone(query, every) or not stays(query):
            continue
        if not nothing_live_between(source, query.unread(crossing=crossing), query.ended.frame):
            continue
        stop = miss.stop if (miss.first, miss.stop) in jumps else miss.first + 1
        found.add(miss.first, stop)
    return found


def dropped_jumps(source: Source) -> list[Jump]:
    """Jumps in the sns of a source across frames none of which is missing, then or soon after."""
    found: list[Jump] = []
    for jump in () if source.again else source.jumps:
        stretch = jump.counter.stretch_of(jump.after)
        if stretch is None or stretch.first > jump.before:
            continue
        if (
            jump.early
            and jump.settled.by(stretch.end)
            and not source.live.within(jump.first, jump.stop)
        ):
            found.append(jump)
    return found


def dropped(source: Source, queries: Iterable[Query]) -> RangeSet:
    """Samples that were dropped before the transport: their subscriber asked for the first."""
    asked = asked_for(queries)
    return RangeSet(
        (jump.first, jump.stop)
        for jump in dropped_jumps(source)
        if jump.first in asked and asked[jump.first].asked.frame >= jump.at.frame
    )


def unanswered(query: Query, finals: Iterable[HopCounter]) -> bool:
    """No final passed until its time was up.

    Args:
        finals: counters of the direction in which finals travel, at their priority and channel.
    """
    if not query.timed_out or query.late_final is not None or query.lasted is None:
        return False
    stretches = [c.stretch_over(query.asked.frame, query.asked.frame) for c in finals]
    return any(s is not None and query.lasted.by(s.end) for s in stretches)


def not_asked_for(gap: Gap, queries: Iterable[Query], asks_from: int | None) -> Had | None:
    """A gap that its subscriber did not ask for, though it asked for something above it later.

    Args:
        asks_from: job frame from which on it is known to ask.
    """
    if gap.before is None:
        return None
    open_then = followed = False
    for query in sorted(queries, key=lambda query: query.asked):
        if query.asked > gap.revealed and query.first is not None and query.first >= gap.stop:
            return Had(gap.first, gap.stop, query, gap.before, asks_from, open_then, followed)
        open_then |= query.open_at(gap.before)
        followed |= query.begins_at(gap.first)
    return None


def not_here(hole: Had, source: Source) -> bool:
    """Whether frames that are missing here may have brought what a subscriber passed over; where
    none is, it had that by another session, in which the source began under the same id."""
    since = hole.since
    return since is None or not nothing_live_between(source, since.frame, hole.query.asked.frame)


def had(hole: Had) -> bool:
    """A subscriber passed over a hole without asking: its own counter shows that it sent none.

    It must have been known to ask before: another one with its key expression may have come since;
    and to have had none of it in an earlier session, in which the source began under the same id.
    A request for what nobody here has may have been for them, its bytes damaged.
    """
    if hole.query.asked_by is None or hole.since is None or hole.query.shared:
        return False
    if not hole.followed or hole.outcome is not Outcome.UNCAPTURED:
        return False
    if hole.query.stray is not None and hole.query.stray >= hole.since:
        return False
    stretch = hole.query.asked_by.counter.stretch_of(hole.query.asked_by.sn)
    return stretch is not None and stretch.begin.frame < hole.since.frame
