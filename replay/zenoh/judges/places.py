"""Where samples were lost, as one leg shows it."""

from collections.abc import Iterator
from itertools import product

from seqaudit.replay.contract.finding import Certainty, Finding, Rests, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed, parts_of
from seqaudit.replay.contract.worth import PLACED, Claim
from seqaudit.replay.sequence.gaps import Gap, Outcome
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh import certificates
from seqaudit.replay.zenoh.query import Query
from seqaudit.replay.zenoh.reporting import (
    OR_NOT_CAPTURED,
    ZenohReporter,
    ZenohSubject,
    rests,
)
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.story import BEFORE, BETWEEN_SESSIONS
from seqaudit.replay.zenoh.subscriber import Subscriber


def findings(
    report: ZenohReporter, stream: ZenohSubject, source: Source, subscriber: Subscriber
) -> Iterator[Finding]:
    """Where what is missing was lost, and what came in vain."""
    mine = report.queries_of(subscriber)
    gaps = sorted(subscriber.gaps, key=lambda gap: gap.first)
    yield from _where(report, stream, source, subscriber, gaps, mine)
    role = report.engine.link.role(source.sender, source.receiver)
    sure = role == "receiver" and report.engine.world is None and not source.again
    sure = sure and report.engine.link.asks_for_itself(source.receiver)
    yield from _discarded(report, stream, source, mine, sure=sure)


def _where(
    report: ZenohReporter,
    stream: ZenohSubject,
    source: Source,
    subscriber: Subscriber,
    gaps: list[Gap],
    mine: list[Query],
) -> Iterator[Finding]:
    """Whether missing samples left a hole in the transport sns as well (zenoh.md 11)."""
    counters = report.counters(source)
    if not counters:
        return
    losses = [g for g in gaps if g.parts.keys() - {Outcome.REORDERED, Outcome.UNCAPTURED}]
    places = {gap.first: report.place(source, subscriber, gap, counters) for gap in losses}
    yield from _came_back(
        report, stream, [gap for gap in losses if places[gap.first] == BETWEEN_SESSIONS]
    )
    losses = [gap for gap in losses if places[gap.first] != BETWEEN_SESSIONS]
    unexplained = [gap for gap in losses if places[gap.first] == BEFORE]
    if unexplained:
        link = report.engine.link
        at_sender = link.role(source.sender, source.receiver) == "sender"
        by_publisher = at_sender and link.zid(source.sender) == source.node
        proven = certificates.dropped(source, mine)
        for sure, (some, _) in product((True, False), report.apart(unexplained)):
            chosen = [
                gap
                for gap in some
                if (proven.within(gap.first, gap.stop) == [(gap.first, gap.stop)]) is sure
            ]
            if not chosen:
                continue
            yield report.gap_finding(
                stream, "ZN004", chosen, [(gap.first, gap.stop) for gap in chosen],
                "{count:sample} of {sender_member} {count|is|are} missing while no transport "
                "sn is: {where}" + ("." if sure else
                                    ", or {count|it|they} came and {count|is|are} not in this "
                                    "capture."),
                claim=PLACED if sure else
                Claim(Certainty.LIKELY, rests(chosen), why=OR_NOT_CAPTURED),
                where="dropped by the publisher's transport" if by_publisher
                else "dropped or lost before this link, or never sent on it",
            )  # fmt: skip
    promised = source.arrivals and not source.unblocked and not source.unreliable
    stable = not report.engine.link.closed and report.engine.link.session_starts <= 1
    if losses and promised and stable:
        yield report.gap_finding(
            stream, "ZN007", losses, [(gap.first, gap.stop) for gap in losses],
            "{count:sample} of {sender_member} {count|was|were} missing although all are "
            "reliable and "
            "Block and no session ended; the loss is {where}.",
            claim=Certainty.LIKELY,
            where="before this link" if len(unexplained) == len(losses) else "on this link",
        )  # fmt: skip


def _came_back(report: ZenohReporter, stream: ZenohSubject, gaps: list[Gap]) -> Iterator[Finding]:
    """What passed between two sessions and a cache brought (ZN022)."""
    found = [gap for gap in gaps if Outcome.RECOVERED in gap.parts]
    if found:
        yield report.gap_finding(
            stream, "ZN022", found, parts_of(found, Outcome.RECOVERED),
            "{count:sample} of {sender_member} passed while {receiver_member} had lost its "
            "session, and came back from a cache when it had one again.",
            claim=Claim(Certainty.LIKELY, rests(found)),
            severity=Severity.WARNING,
        )  # fmt: skip


def _discarded(
    report: ZenohReporter, stream: ZenohSubject, source: Source, mine: list[Query], *, sure: bool
) -> Iterator[Finding]:
    """Samples in frames that came and were thrown away; some were asked for later (ZN006)."""
    asked = certificates.asked_for(mine)
    lacked = RangeSet(  # of one tick of the clock, they may have come in either order
        (sn, sn + 1)
        for sn, mark in sorted(source.refused.items())
        if sure and sn in asked and asked[sn].asked.at_ns > mark.at_ns
    )
    rest = source.discarded.ranges - lacked
    for ranges, claim in (
        (lacked, Claim(rests=Rests(ordered=True, here=True))),
        (rest, report.thrown_away(resolved=report.resolved(source))),
    ):
        if ranges:
            known = {at for sn, at in source.refused.items() if ranges.within(sn, sn + 1)}
            marks = sorted(known) or source.discarded.marks
            yield report.make(
                stream, "ZN006", claim,
                "{count:sample} of {sender_member} arrived in frames that the receiving "
                "transport throws away"
                + (", and its subscriber asked for {count|it|them} later."
                   if ranges is lacked else ", if they came in the order of this capture."),
                seqnos=listed(ranges),
                mark=marks[0] if marks else None,
                evidence=[(mark, "a frame whose sn is not newer than the last")
                          for mark in marks[:MAX_EVIDENCE]],
                facts={"count": ranges.total()},
            )  # fmt: skip
