"""Why missed samples did not come back, sample by sample (zenoh.md 9.4 consequences, 11).

A sample may have been asked for several times. Its cause is how far the furthest of these queries
got: to the cache, into the cache's queue, back on the way, into a frame that the transport threw
away. What one capture leaves open the cause leaves open as well; the capture at the cache's end may
close it (``replay.zenoh.far_end``).

A cache is a queue of the newest samples, and answers with the oldest first. So what is newer than a
reply was in the cache with it, and what is older than the first reply of a whole answer was not.
Where a router passes the answer on, its links to the caches may have lost some of that.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

from seqaudit.replay.sequence.ranges import Range, RangeSet, inclusive
from seqaudit.replay.zenoh.certificates import answered_whole, unanswered
from seqaudit.replay.zenoh.hops import HopCounter
from seqaudit.replay.zenoh.query import Query
from seqaudit.replay.zenoh.report_rows import THIS, CauseRow, ShownBy


class Cause(StrEnum):
    """Why a sample did not come back; of those that it was asked for in vain, the further the
    later here."""

    NOT_ASKED = "not asked"
    REFUSED = "not asked, after the transport threw their frames away"
    NOBODY = "numbered by ROS 2: nothing asks for them"  # S29
    LATER = "not asked: an earlier query stayed open"
    QUERY_LOST = "query lost"
    UNANSWERED = "not answered in time"
    NOT_THERE = "query lost or not answered in time"
    NO_ANSWER = "query lost, reply lost, or not answered in time"
    GONE = "publisher gone"
    NO_CACHE = "no cache"
    EMPTY = "no cache had them"
    LOST_OR_EMPTY = "reply lost, or no cache had them"
    EMPTY_OR_LOST = "reply lost before it came to this link, or no cache had them"
    EVICTED = "evicted: the cache is too small"
    REPLY_OR_EVICTED = "reply lost, or evicted"
    REPLY_LOST = "reply lost"
    THROWN_AWAY = "reply lost: the transport threw its frame away"
    LATE = "they came too late for a subscriber without recovery"
    UNHEARD = "not known: nothing that their receiver sent is here at that time"
    CUT = "not known: what was asked or answered is cut off or could not be read"


#: By how far the samples got on their way back; where something cannot be read, nobody knows.
_FAR: Final = {cause: place for place, cause in enumerate(Cause)}


class Why(NamedTuple):
    """Samples [first, stop) and why they did not come back; ``shown_by`` as in ``CauseRow``."""

    first: int
    stop: int
    cause: Cause
    shown_by: ShownBy | None = None


def furthest(parts: Iterable[Why]) -> list[Why]:
    """Of several causes of a sample the furthest; in order, neighbours of one cause together."""
    given = list(parts)
    edges = sorted({edge for part in given for edge in part[:2]})
    found: list[Why] = []
    for first, stop in pairwise(edges):
        over = [part for part in given if part.first <= first and stop <= part.stop]
        if not over:
            continue
        best = max(over, key=lambda part: (_FAR[part.cause], part.shown_by is not None))
        if found and found[-1].stop == first and found[-1][2:] == best[2:]:
            first = found.pop().first
        found.append(best._replace(first=first, stop=stop))
    return found


def cause_rows(parts: Iterable[Why]) -> list[CauseRow]:
    found: dict[tuple[Cause, ShownBy | None], RangeSet] = {}
    for part in parts:
        found.setdefault(part[2:], RangeSet()).add(part.first, part.stop)
    return [
        CauseRow(seqnos=inclusive(list(ranges)), cause=str(cause), shown_by=shown_by)
        for (cause, shown_by), ranges in found.items()
    ]


def in_words(causes: Iterable[CauseRow]) -> str:
    return "; ".join(dict.fromkeys(row["cause"] for row in causes))


def by_cause(parts: Iterable[Why]) -> dict[Cause, RangeSet]:
    """The samples of each cause, the nearest first."""
    found: dict[Cause, RangeSet] = {}
    for part in parts:
        found.setdefault(part.cause, RangeSet()).add(part.first, part.stop)
    return dict(sorted(found.items(), key=lambda item: _FAR[item[0]]))


def answered(
    query: Query,
    first: int,
    stop: int,
    *,
    cached: bool | None,
    cut: bool,
    relayed: bool,
    finals: Iterable[HopCounter],
) -> Iterator[Why]:
    """What became of [first, stop) in the answer to a query, one end of which was captured.

    Args:
        cached: a cache of the source was known; null: nobody had told of any.
        cut: not all of request and answer can be read.
        relayed: a router passes the answer on, and ends it when it has heard of all caches.
        finals: counters in which finals travel.
    """
    yield Why(first, stop, Cause.LATER)  # unless this query asks for them
    first = first if query.first is None else max(first, query.first)
    stop = stop if query.last is None else min(stop, query.last + 1)
    if first >= stop:
        return
    if cut or (query.gone and not query.lived):
        yield Why(first, stop, Cause.CUT if cut else Cause.GONE)
        return
    for a, b in query.thrown.within(first, stop):
        yield Why(a, b, Cause.THROWN_AWAY)
    came = query.replied | query.thrown
    all_here = answered_whole(query) is not None
    whole = all_here and not relayed
    nothing = Cause.EMPTY_OR_LOST if relayed else Cause.EMPTY
    by: ShownBy | None = THIS if whole else None
    if query.newest is not None:  # what was published when it had been asked may not be in it
        later = max(query.newest + 1, came.stop() if came else 0)
        yield Why(max(first, later), max(stop, later), Cause.LATER, by)
        stop = min(stop, later)
    if first >= stop:
        return
    if came:
        middle = max(first, min(stop, came.first()))
        lost = query.reply_gap and not whole
        older = Cause.REPLY_OR_EVICTED if lost or relayed else Cause.EVICTED
        newer = query.timed_out or query.gone or lost
        yield Why(first, middle, older, by)
        yield Why(middle, stop, Cause.REPLY_LOST if newer else nothing, by)
    else:
        why = _without_replies(query, cached, finals, whole=whole)
        if why is Cause.NO_CACHE:  # a router tells of those behind it
            by = THIS if all_here else None
        yield Why(first, stop, nothing if why is Cause.EMPTY else why, by)


def _without_replies(
    query: Query, cached: bool | None, finals: Iterable[HopCounter], *, whole: bool
) -> Cause:
    if query.gone:
        return Cause.NO_ANSWER
    if query.timed_out:
        return Cause.NOT_THERE if unanswered(query, finals) else Cause.NO_ANSWER
    if cached is False:
        return Cause.NO_CACHE
    if whole or not query.reply_gap:
        return Cause.EMPTY
    return Cause.REPLY_OR_EVICTED if cached else Cause.LOST_OR_EMPTY


def within(parts: Iterable[Why], ranges: Iterable[Range]) -> list[Why]:
    """The parts of causes that some samples have."""
    wanted = RangeSet(ranges)
    return [
        part._replace(first=a, stop=b)
        for part in parts
        for a, b in wanted.within(part.first, part.stop)
    ]


def samples(parts: Iterable[Why]) -> RangeSet:
    """All samples whose cause is told."""
    return RangeSet(part[:2] for part in parts)
