"""Queries for missing samples, and what they cost."""

from collections.abc import Iterable, Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests
from seqaudit.replay.contract.reporter import MAX_EVIDENCE
from seqaudit.replay.contract.results import Result
from seqaudit.replay.contract.worth import END, LIKELY, Claim
from seqaudit.replay.sequence.durations import shown
from seqaudit.replay.sequence.gaps import MarkOfTimer
from seqaudit.replay.zenoh import certificates
from seqaudit.replay.zenoh.lanes import BESIDE_NS
from seqaudit.replay.zenoh.query import Query, Sort
from seqaudit.replay.zenoh.reporting import ZenohReporter, ZenohSubject
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.subscriber import Subscriber

WAIT_NS: Final = 1_000_000_000
STORM_QUERIES: Final = 20
STORM_PER_GAP: Final = 3


def findings(
    report: ZenohReporter, stream: ZenohSubject, source: Source, subscriber: Subscriber
) -> Iterator[Finding]:
    """Queries that ended in vain, and what waiting for them cost."""
    mine = report.queries_of(subscriber)
    recovery = [q for q in mine if q.sort in (Sort.RECOVERY, Sort.HEARTBEAT)]
    storm = _side_by_side(recovery)
    if len(storm) >= STORM_QUERIES and len(storm) >= STORM_PER_GAP * max(subscriber.gap_count, 1):
        yield report.about(
            stream, "ZN009", storm,
            "{times:query} for {gaps:gap} of {sender_member}: each is asked for again and "
            "again." if subscriber.gap_count else
            "{times:query} for samples of {sender_member}, again and again; no gap shows here.",
            gaps=subscriber.gap_count,
        )  # fmt: skip
    empty = [q for q in mine if q.sort is Sort.PERIODIC and q.final and not q.replies]
    if empty:
        yield report.about(
            stream, "ZN010", empty,
            "{times:periodic query} for {sender_member} {times|was|were} answered without a "
            "sample.",
        )  # fmt: skip
    messages, samples = subscriber.quiet.control(mine)
    counters = report.counters(source)
    begun = bool(report.engine.link.session_starts) and all(c.known_start for c in counters)
    at_sender = report.engine.link.role(source.sender, source.receiver) == "sender"
    lost = any(counter.lost for counter in counters) or (at_sender and bool(recovery))
    if messages and begun and not lost:
        marks = [q.asked for q in mine if q.idle][:1] + source.heartbeats.marks[:1]
        yield report.make(
            stream, "ZN011", LIKELY,
            "{messages:control message} (queries, replies, finals, heartbeats) passed for "
            "{sender_member} while nothing was missing, beside {samples:sample}.",
            mark=min(marks, key=lambda mark: mark.at_ns, default=None),
            facts={"messages": messages, "samples": samples},
        )  # fmt: skip
    finals = list(report.engine.link.finals(source.sender, source.receiver))
    for sure in (True, False):
        late = [q for q in mine if q.timed_out and certificates.unanswered(q, finals) is sure]
        if late:
            yield report.about(
                stream, "ZN013", late,
                "{times:query} for {sender_member} {times|was|were} never ended; {replied} "
                "{replied|has|have} replies.",
                claim=Claim(rests=Rests(timed=True, ordered=True)) if sure else
                Claim(Certainty.LIKELY, Rests((late[0].asked.frame, END), timed=True),
                      why="or its end is not in this capture"),
                replied=sum(bool(q.replies) for q in late),
            )  # fmt: skip
    if report.engine.link.role(source.sender, source.receiver) != "sender":
        yield from _waits(report, stream, subscriber)


def _side_by_side(queries: Iterable[Query]) -> list[Query]:
    """Those that say the same as another of about the same time: of several subscribers. One asks
    in the same words again when its next period ends, and not before."""
    last: dict[tuple[str, str], Query] = {}
    found: dict[int, Query] = {}
    for query in queries:
        before = last.get((query.key, query.text))
        if before is not None and query.asked.at_ns - before.asked.at_ns <= BESIDE_NS:
            found |= {before.number: before, query.number: query}
        last[query.key, query.text] = query
    return [found[number] for number in sorted(found)]


def _waits(
    report: ZenohReporter, stream: ZenohSubject, subscriber: Subscriber
) -> Iterator[Finding]:
    waits = [w for w in subscriber.held_back.waits if w.released.at_ns - w.held.at_ns >= WAIT_NS]
    if waits:
        longest = max(waits, key=lambda w: w.released.at_ns - w.held.at_ns)
        begin = min(longest.held.frame, longest.released.frame)  # of a query that lapsed
        yield report.make(
            stream, "ZN014",
            Claim(Certainty.LIKELY, Rests(
                (begin, max(longest.held.frame, longest.released.frame)), timed=True,
                ordered=True)),
            "Samples of {sender_member} waited {times:time} behind missing ones, {waited} in all, "
            "the longest for {wait}.",
            seqnos=[(w.first, w.stop) for w in waits[:MAX_EVIDENCE]],
            mark=longest.held,
            evidence=[
                (longest.held, "held back"),
                (longest.released, "the query whose time was up when they were handed on"
                 if isinstance(longest.released, MarkOfTimer) else "handed on"),
            ],
            facts={
                "times": len(waits),
                "waited": sum(w.count for w in waits),
                "wait": shown(longest.released.at_ns - longest.held.at_ns),
            },
        )  # fmt: skip


def histories(report: ZenohReporter) -> Iterator[Result]:
    """Queries for historical samples are about no one source."""
    late = [q for q in report.engine.queries.all if q.sort is Sort.HISTORY and q.timed_out]
    if late:
        stream = report.stream("", "", "", None)
        yield report.finding(
            report.about(
                stream, "ZN013", late,
                "{times:query} for historical samples {times|was|were} never ended: what came "
                "live waited for {times|it|them}.",
                claim=Claim(Certainty.LIKELY, Rests((late[0].asked.frame, END), timed=True),
                            why="or its end is not in this capture"),
            ),
            None,
        )  # fmt: skip
