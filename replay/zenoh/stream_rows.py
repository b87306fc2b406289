"""Rows of zenoh streams, gaps and queries (replay/README.md 5)."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, cast

from seqaudit.replay.contract.report_rows import (
    Directions,
    QueryFigures,
    Role,
    Side,
    receipt_unknown,
)
from seqaudit.replay.contract.reporter import listed, parts_of
from seqaudit.replay.contract.results import Row
from seqaudit.replay.contract.story import placed
from seqaudit.replay.sequence.gap_rows import GapFigures
from seqaudit.replay.sequence.gaps import Gap, Outcome, between, shown_by
from seqaudit.replay.sequence.ranges import RangeSet, half_open, inclusive
from seqaudit.replay.zenoh import certificates
from seqaudit.replay.zenoh.causes import Why, by_cause, cause_rows, in_words, within
from seqaudit.replay.zenoh.document_subscriber import DocumentSubscriber
from seqaudit.replay.zenoh.doubts import Untold
from seqaudit.replay.zenoh.engine import ZenohEngine
from seqaudit.replay.zenoh.explaining import unheard
from seqaudit.replay.zenoh.floods import Floods
from seqaudit.replay.zenoh.hops import HopCounter, HopGap
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.query import Query
from seqaudit.replay.zenoh.reasons import (
    BLIND,
    FIGURES,
    FIRST,
    HANDED,
    LEFT_BEFORE,
    MAY_HAVE_LEFT,
    NOBODY,
    RECOVERED,
    ROUTED,
    UNHEARD,
    UNHEARD_THEN,
)
from seqaudit.replay.zenoh.report_rows import (
    ALL,
    ONE,
    ControlRow,
    MissRow,
    SamplesStreamRow,
    TransportStreamRow,
    UnnumberedStreamRow,
)
from seqaudit.replay.zenoh.reporting import SYSTEM, ZenohReporter, ZenohSubject
from seqaudit.replay.zenoh.sources import ROS, Source, Unnumbered
from seqaudit.replay.zenoh.story import HOP_PLACES, lost_where, query_end
from seqaudit.replay.zenoh.subscriber import Subscriber
from seqaudit.replay.zenoh.untold import before_the_first, untold
from seqaudit.replay.zenoh.untold import lacking as why_lacking

MAX_WAITS: Final = 100
#: Why nothing is said about delivery.
REFUSED: Final = "no sample that its receiver accepts passed here"
UNMATCHED: Final = "no subscriber that it matches was declared here when its samples came"
BEGAN_LATER: Final = "the capture began after the session: earlier samples are unknown"
#: What a subscriber had, missed and got back, which nobody sees where its samples leave.
UNSEEN_AT_SENDER: Final = (
    "delivered", "delivered_unsure", "misses", "reordered", "recovered", "unrecovered", "open",
    "not_captured", "lost", "lost_seqnos", "unrecovered_seqnos", "not_captured_seqnos", "repeats",
    "longest_wait_ns", "held_max",
)  # fmt: skip
#: Why other subscribers of a node are not told of.
ONE_DECLARATION: Final = (
    "a node declares a key expression once, however many subscribers it has there: whether one "
    "without recovery missed what another got back is on no wire"
)
#: Why nothing is said about delivery where not all bytes are here, or can be read.
CUT_OFF: Final = "samples may be among what is cut off or could not be read"
#: The direction of requests that a capture at an end of the samples' way shows.
_SIDES: Final[dict[Role, Side]] = {"receiver": "sent", "sender": "arrived", "between": "passed"}
UNSEEN: Final = {
    "sender": "what arrived is not visible at the sender",
    "between": "it is not known at whose interface the capture was taken",
}


def summary(
    report: ZenohReporter, source: Source, subscriber: Subscriber | None
) -> SamplesStreamRow:
    """A stream of numbered samples to one subscriber; null: to nobody that is known."""
    engine = report.engine
    mine = report.queries_of(subscriber)
    row = _that_passed(report, source, subscriber, mine)
    if not engine.link.session_starts:
        row["unknown"]["earlier_seqnos"] = BEGAN_LATER
    if subscriber is None:
        came = source.replied or source.live - source.discarded.ranges
        nobody = UNMATCHED if came else REFUSED
        row["unknown"] |= receipt_unknown(source.untold) if source.untold else {"delivered": nobody}
        return row
    quiet = subscriber.quiet.control(mine)
    row["control"] |= {
        "while_nothing_is_missing": quiet[0],
        "samples_while_nothing_is_missing": quiet[1],
    }
    _outcomes(row, source, subscriber)
    _in_document(report, row, subscriber)
    cut = engine.moments.cut_from.get(source.sender)
    if cut is not None and not subscriber.life.meets(*cut):
        cut = None  # not in its life
    if row["role"] != "receiver" or cut is not None:
        why = UNSEEN.get(row["role"], CUT_OFF)
        _untold(row, UNSEEN_AT_SENDER, why)
        row["retransmissions"] = {"useful": None, "needless": None, "undecidable": None}
    else:
        _handed_on(report, row, subscriber)
        lanes, crossing = engine.audience.lanes_of(subscriber), engine.sources.crossing
        doubts = list(
            untold(subscriber, lanes, source, engine.link, crossing=source.node in crossing)
        )
        unknown = subscriber.subject is None
        if unknown and engine.declared.nobody(source, subscriber.first_at, asked=bool(mine)):
            doubts.insert(0, Untold(NOBODY))
        if mine and _left_before(engine, source, subscriber):
            doubts.append(Untold(LEFT_BEFORE))
        proven = sum(found.total() for found in report.proven(source, subscriber))
        link, moments = engine.link, engine.moments
        if any(unheard(link, moments, source, miss) for miss in subscriber.misses):
            doubts.append(Untold(UNHEARD_THEN))
        row["lost_proven"] = proven if engine.world is None else None
        told = not any(one.figures == FIGURES for one in doubts)
        if told and engine.world is None and subscriber.unseen:
            _lacking(row, proven, BLIND, subscriber.unseen.total())
        elif told and engine.world is None and proven < (row["lost"] or 0):
            had = bool(report.had(source, subscriber)[1])
            lack = why_lacking(subscriber, report.worth, had=had, others_had=report.lacks_frames)
            _lacking(row, proven, lack)
        for one in reversed(doubts if engine.world is None else ()):
            _untold(row, one.figures, one.why)
        if engine.link.multicast and row["delivered"]:
            row["unknown"]["later_seqnos"] = MAY_HAVE_LEFT
        alone = unknown and not mine and not engine.link.session_starts
        if alone and row["delivered"] is not None:
            _untold(row, ("misses", *HANDED), UNHEARD)
        if engine.link.is_router(source.receiver) and engine.world is None:
            _untold(row, ("misses", *HANDED), ROUTED)
        early = before_the_first(subscriber, source)
        if row["lost"] is not None and early and engine.world is None:
            why = f"{proven} or more, {row['lost'] + early} at most: {FIRST}"
            _untold(row, ("lost", "lost_seqnos"), why)
    return row


def _left_before(engine: ZenohEngine, source: Source, subscriber: Subscriber) -> bool:
    """Whether its subscriber may have been undeclared just before the capture began: only samples
    that were on their way came live, and its requests go on (zenoh.md 9.4)."""
    if engine.link.session_starts or engine.link.multicast:
        return False
    if engine.declared.since(source.receiver, subscriber.subject) is not None:
        return False
    begun_ns, live = engine.moments.first_ns, source.live_at
    return live is None or (begun_ns is not None and live.at_ns - begun_ns < LAG_NS)


def _lacking(row: SamplesStreamRow, proven: int, why: str | None, more: int = 0) -> None:
    """What no frame proves to be lost may be among what the capture is shown to lack.

    Args:
        more: of which nobody knows whether they were lost before the capture.
    """
    if why is not None:
        names = FIGURES if row["unrecovered"] else RECOVERED
        most = (row["lost"] or 0) + more
        _untold(row, names, f"{proven} or more, {most} at most: {why}")


def _untold(row: SamplesStreamRow, figures: Sequence[str], why: str) -> None:
    """Figures that cannot be told become null."""
    cast(Row, row).update(dict.fromkeys(figures))
    row["unknown"] |= dict.fromkeys(figures, why)


def _that_passed(
    report: ZenohReporter, source: Source, subscriber: Subscriber | None, mine: list[Query]
) -> SamplesStreamRow:
    """What frames show of a source, whoever they are for, and what kind its ends are; the rest is
    null."""
    engine, one = report.engine, subscriber
    role = engine.link.role(source.sender, source.receiver)
    everything = source.live | source.replied
    arrivals = source.arrivals + source.replies
    asked: Directions = {"sent": None, "arrived": None}
    asked[_SIDES[role]] = len(mine)
    unheard = not (engine.link.closed or source.receiver in engine.link.shut)
    return {
        "kind": "samples",
        "publisher": "ros" if source.source.endswith(ROS) else "advanced",
        "cache": _cache_seen(engine, source),
        "subscriber_recovers": None if one is None else one.recovery_shown(),
        "subscriber_gone": one is not None and one.life.over and one.life.node_gone,
        "receiver_silent_ns": engine.moments.spoke_ns(source.receiver) if unheard else None,
        "receiver_due_ns": engine.moments.due_ns(source.receiver) if unheard else None,
        "flooded_ns": engine.link.floods[source.receiver].span_ns,
        "held_max": None if one is None else one.held_back.most,
        "queries_max": None if one is None else one.queries_max,
        "leg": engine.conversation,
        "transport": engine.link.transport,
        "source": source.source,
        "key": source.key,
        "subscriber": None if subscriber is None else subscriber.subject,
        "stands_for": None if one is None else ONE if mine or one.history_asked else ALL,
        "sender": source.node,
        "sender_endpoint": source.sender,
        "sender_node": engine.link.zid(source.sender),
        "receiver": engine.link.zid(source.receiver),
        "receiver_endpoint": source.receiver,
        "conn_id": None,
        "role": role,
        "session_start_captured": bool(engine.link.session_starts),
        "first_seqno": everything.first() if everything else None,
        "last_seqno": everything.stop() - 1 if everything else None,
        "first_frame": source.first.frame if source.first else None,
        "last_frame": source.last.frame if source.last else None,
        "first_ns": source.first.at_ns if source.first else None,
        "last_ns": source.last.at_ns if source.last else None,
        "messages": everything.total(),
        "arrivals": arrivals,
        "copies": arrivals - everything.total(),
        "bytes": source.bytes,
        "network_duplicates": source.network_duplicates,
        "live": inclusive(listed(source.live)),
        "replied": inclusive(listed(source.replied)),
        "replies": source.replies,
        "discarded": source.discarded.ranges.total(),
        "heartbeats": source.heartbeats.count,
        "heartbeat_highest": source.heard,
        "block": source.unblocked == 0,
        "reliable": source.unreliable == 0,
        "fragmented": source.fragmented,
        "cache_depth_seen": source.depth,
        "delivered": None,
        "delivered_unsure": None,
        "misses": None,
        "gaps": 0,
        "reordered": 0,
        "recovered": None,
        "unrecovered": None,
        "lost": None,
        "lost_seqnos": None,
        "unrecovered_seqnos": None,
        "lost_proven": None,
        "requests": asked,
        "requested_seqnos": {"sent": None, "arrived": None},
        "acks": {"sent": None, "arrived": None},
        "syncs": None,
        "retransmissions": {"useful": None, "needless": None, "undecidable": None},
        "recovery_ns": {"p50": None, "p99": None, "max": None},
        "repeats": 0,
        "longest_wait_ns": None,
        "control": _control(source, mine),
        "unknown": {},
    }


def _cache_seen(engine: ZenohEngine, source: Source) -> str | None:
    if source.replies:
        return "answered"
    if not engine.link.session_starts:
        return None
    known = engine.audience.cached(source)
    return None if known is None else "declared" if known else "none"


def _control(source: Source, mine: list[Query]) -> ControlRow:
    return {
        "queries": len(mine),
        "replies": sum(query.replies for query in mine),
        "finals": sum(query.final for query in mine),
        "heartbeats": source.heartbeats.count,
        "while_nothing_is_missing": None,
        "samples_while_nothing_is_missing": None,
    }


def _outcomes(row: SamplesStreamRow, source: Source, subscriber: Subscriber) -> None:
    """What became of what was missing."""
    counts = subscriber.counts
    row |= {
        "gaps": subscriber.gap_count,
        "reordered": counts[Outcome.REORDERED],
        "recovered": counts[Outcome.RECOVERED],
        "unrecovered": counts[Outcome.UNRECOVERED],
        "open": counts[Outcome.GONE],
        "not_captured": counts[Outcome.UNCAPTURED],
        "not_captured_seqnos": inclusive(
            listed(RangeSet(parts_of(subscriber.gaps, Outcome.UNCAPTURED)))
        ),
        "lost": counts[Outcome.RECOVERED] + counts[Outcome.UNRECOVERED],
        "lost_seqnos": inclusive(listed(subscriber.recovered | subscriber.unrecovered)),
        "unrecovered_seqnos": inclusive(listed(subscriber.unrecovered)),
        "lost_proven": None,
        "recovery_ns": subscriber.recovery.percentiles(),
        "repeats": subscriber.repeat_count,
        "forgotten": subscriber.forgotten,
        "longest_wait_ns": max(
            (w.released.at_ns - w.held.at_ns for w in subscriber.held_back.waits), default=None
        ),
        "retransmissions": {
            "useful": counts[Outcome.RECOVERED],
            "needless": source.replies - min(source.replies, counts[Outcome.RECOVERED]),
            "undecidable": 0,
        },
    }


def _handed_on(report: ZenohReporter, row: SamplesStreamRow, subscriber: Subscriber) -> None:
    """What its application was handed and told, and what had to wait."""
    row["delivered"] = inclusive(subscriber.delivery.ranges)
    floods = report.engine.link.floods[row["receiver_endpoint"]]
    row["delivered_unsure"] = _unsure(subscriber, floods)
    row["misses"] = _misses(report, subscriber)
    row["waits"] = [
        {
            "seqnos": [[wait.first, wait.stop - 1]],
            "count": wait.count,
            "held_frame": wait.held.frame,
            "released_frame": shown_by(wait.released),
            "waited_ns": wait.released.at_ns - wait.held.at_ns,
        }
        for wait in subscriber.held_back.waits[:MAX_WAITS]
        if wait.released.at_ns > wait.held.at_ns
    ]
    lanes = report.engine.audience.lanes_of(subscriber).all
    row["subscribers"] = [
        {
            "delivered": inclusive(lane.delivery.ranges),
            "delivered_unsure": _unsure(lane, floods),
            "misses": _misses(report, lane),
        }
        for lane in lanes
    ]
    if not lanes and subscriber.counts[Outcome.RECOVERED]:
        row["subscribers"] = None
        row["unknown"]["subscribers"] = ONE_DECLARATION


def _unsure(one: Subscriber, floods: Floods) -> list[list[int]]:
    """What nothing shows that it was handed: nothing does where it may have been dropped."""
    if floods.tight(one.first_at, one.touched):
        return inclusive(listed(RangeSet(one.delivery.ranges)))
    return inclusive(listed(one.delivery.unsure(one.asking.passed)))


def _in_document(report: ZenohReporter, row: SamplesStreamRow, subscriber: Subscriber) -> None:
    """What the document's machine would have done with what came here."""
    world = report.engine.world
    if world is None or not isinstance(subscriber, DocumentSubscriber):
        return
    asked, settings = world.asked(subscriber), world.settings
    row["recovery_ns"] = {"p50": None, "p99": None, "max": None}
    row["unknown"]["recovery_ns"] = "how fast the document's cache would have answered"
    row["document"] = {
        "cache": report.document_cache(),
        "cache_history": settings.history if settings.enabled else None,
        "queries": asked.count + asked.idle,
        "empty_periodic_queries": asked.idle,
        "replies": asked.replies,
        "control_messages": asked.control,
        "source_ids_shared_by": len(asked.entities),
        "taken_for_repeats": inclusive(listed(asked.collided.ranges)),
    }


def gap_row(
    report: ZenohReporter, subscriber: Subscriber, gap: Gap, row: GapFigures, where: str | None
) -> GapFigures:
    """A row of samples that were missing, with why they did not come back."""
    causes = report.causes(subscriber)
    place = bisect_right(causes, gap.first, key=lambda told: told[0].stop)
    parts: list[Why] = []
    while place < len(causes) and causes[place][0].first < gap.stop:
        parts += causes[place][1]
        place += 1
    told = []
    if row["outcome"] == Outcome.UNRECOVERED:
        told = [str(cause) for cause in by_cause(within(parts, half_open(row["seqnos"])))]
    return {**row, "system": SYSTEM, "causes": told, "where": where}


def tell(
    report: ZenohReporter, source: Source, subscriber: Subscriber, gap: Gap, row: GapFigures
) -> None:
    """Add what became of the queries for a gap, and where it was lost."""
    role = report.engine.link.role(source.sender, source.receiver)
    row["placed"] = placed(*lost_where(row["where"], row["outcome"], role, row["requests"]))
    if not gap.asks:
        return
    marks = {ask.mark for ask in gap.asks}
    ends = [
        query_end(query, row["seqnos"])
        for query in report.queries_of(subscriber)
        if query.asked in marks and query.ended is not None
    ]
    for step in row.get("heard", ()):
        if by := step.get("by"):
            step["by"] = report.engine.link.zid(by) or by
    row["heard"] = [*row.get("heard", ()), *ends]


def query_row(report: ZenohReporter, query: Query) -> QueryFigures:
    """A row of ``seqaudit show recovery``."""
    outcome = "open at the end of the capture"
    if query.gone:
        outcome = "session ended"
    elif query.timed_out:
        outcome = "timed out" + (" after replies" if query.replies else "")
    elif query.ended is not None:
        outcome = "answered" if query.replies else "answered empty"
    return {
        "requester": report.engine.link.zid(query.requester) or query.requester,
        "key": query.key,
        "parameters": query.text,
        "sort": str(query.sort),
        "source": query.source,
        "first_seqno": query.first,
        "last_seqno": query.last,
        "frame": query.asked.frame,
        "at_ns": query.asked.at_ns,
        "request_id": query.request_id,
        "requester_endpoint": query.requester,
        "newest_seqno": query.newest,
        "whole": certificates.answered_whole(query) is not None,
        "ended_frame": None if query.ended is None or query.timed_out else query.ended.frame,
        "duration_ns": None if query.ended is None else query.ended.at_ns - query.asked.at_ns,
        "replies": query.replies,
        "reply_seqnos": inclusive(listed(query.replied)),
        "reply_bytes": query.reply_bytes,
        "discarded_replies": query.refused,
        "recovered": query.filled,
        "caches": sorted(report.engine.link.zid(cache) or cache for cache in query.responders),
        "evicted_seqnos": None if query.evicted is None else inclusive(listed(query.evicted)),
        "outcome": outcome,
    }


def unnumbered(
    report: ZenohReporter, stream: ZenohSubject, found: Unnumbered
) -> UnnumberedStreamRow:
    """A stream of samples without SourceInfo: of a classic publisher."""
    why = "samples carry no sn"
    return {
        "kind": "samples without SourceInfo",
        "publisher": "classic",
        "leg": report.conversation,
        "transport": report.engine.link.transport,
        "source": None,
        "key": found.key,
        "sender": stream.sender,
        "receiver": report.engine.link.zid(found.receiver),
        "conn_id": None,
        "role": report.engine.link.role(found.sender, found.receiver),
        "first_seqno": None,
        "last_seqno": None,
        "first_frame": found.first.frame if found.first else None,
        "last_frame": found.last.frame if found.last else None,
        "messages": found.count,
        "arrivals": found.count,
        "copies": 0,
        "stamped": found.stamped,
        "out_of_order": found.out_of_order,
        "delivered": None,
        "lost": None,
        "recovered": None,
        "unrecovered": None,
        "gaps": 0,
        "unknown": receipt_unknown(why),
    }


def hop(
    report: ZenohReporter,
    stream: ZenohSubject,
    identity: tuple[str, str, int],
    counter: HopCounter,
    session: int,
) -> TransportStreamRow:
    """A stream of transport sns: frames from one end to the other."""
    sender, receiver, code = identity
    return {
        "kind": "transport",
        "leg": report.conversation,
        "transport": report.engine.link.transport,
        "session": session,
        "priority": code >> 1,
        "reliable": bool(code & 1),
        "sender": stream.sender,
        "receiver": stream.receiver,
        "conn_id": None,
        "role": report.engine.link.role(sender, receiver),
        "resolution_mask": counter.mask,
        "initial_seqno": counter.initial,
        "start_known": counter.known_start,
        "frames_before_capture": report.engine.link.before_the_capture(sender, receiver, counter),
        "first_seqno": counter.seen.first(),
        "last_seqno": counter.seen.stop() - 1,
        "first_ns": counter.first.at_ns if counter.first else None,
        "last_ns": counter.end.at_ns if counter.end else None,
        "first_frame": counter.first.frame if counter.first else None,
        "last_frame": counter.end.frame if counter.end else None,
        "messages": counter.seen.total(),
        "arrivals": counter.frames,
        "copies": counter.repeated,
        "network_duplicates": counter.network_duplicates,
        "delivered": None,
        "gaps": len(counter.gaps) + counter.unlisted_gaps,
        "unlisted_gaps": counter.unlisted_gaps,
        "missing": counter.lost.total(),
        "missing_seqnos": inclusive(listed(counter.lost)),
        "discarded": counter.discarded.count,
        "late": counter.late.ranges.total(),
        "skipped_after_fragments": counter.skips,
        "abandoned_messages": counter.abandoned.count,
        "lost": None,
        "recovered": None,
        "unrecovered": None,
        "unknown": {"delivered": "frames are not handed to an application"},
    }


def hop_gap(gap: HopGap, counter: HopCounter) -> GapFigures:
    """A row of frames that are missing."""
    late = counter.late.ranges.within(gap.first, gap.stop)
    missing = gap.stop - gap.first
    came = sum(b - a for a, b in late)
    outcome = (
        str(Outcome.UNTOLD)
        if not came
        else "late and thrown away"
        if came == missing
        else "lost or late"
    )
    return {
        "seqnos": [[gap.first, gap.stop - 1]],
        "count": missing,
        "outcome": outcome,
        "lost_after_frame": gap.before.frame if gap.before else None,
        "revealed_frame": gap.revealed.frame,
        "revealed_at_ns": gap.revealed.at_ns,
        "revealed_by": "a newer transport sn",
        "revealed_after_ns": between(gap.before, gap.revealed),
        "requested_frame": None,
        "requested_after_ns": None,
        "requests": 0,
        "repaired_frame": None,
        "repaired_after_ns": None,
        "delivered_frame": None,
        "delivered_after_ns": None,
        "placed": placed(*HOP_PLACES[outcome]),
        "never_asked": "a transport's frames are not asked for again",
    }


def _misses(report: ZenohReporter, subscriber: Subscriber) -> list[MissRow]:
    return [
        MissRow(
            seqnos=[[miss.first, miss.stop - 1]],
            nb=miss.stop - miss.first,
            cause=in_words(causes := cause_rows(parts)),
            causes=causes,
            request_ids=[q.request_id for q in miss.asked if q.request_id is not None],
            frame=shown_by(miss.due),
            at_ns=miss.due.at_ns,
        )
        for miss, parts in report.causes(subscriber)
    ]
