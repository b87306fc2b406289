"""What subscribers missed, got back and had."""

from collections.abc import Iterator
from itertools import product
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed, parts_of
from seqaudit.replay.contract.worth import END, LIKELY, ORDERED, PLACED, UNDECIDABLE, Claim
from seqaudit.replay.sequence.durations import slowest
from seqaudit.replay.sequence.gaps import Gap, Outcome
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.causes import Cause, Why, by_cause
from seqaudit.replay.zenoh.query import Miss, Query
from seqaudit.replay.zenoh.reporting import (
    OR_LEFT,
    OR_NOT_CAPTURED,
    UNRESOLVED,
    ZenohReporter,
    ZenohSubject,
    rests,
    touches,
)
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.subscriber import Subscriber
from seqaudit.replay.zenoh.untold import differs_by_release

#: Of the samples above the first of a gap.
ASKED_FROM: Final = "a request names the first missing sample only"
#: What else is possible of samples that no frame shows to have been missed.
OR_CAME: Final = "or {count|it|they} came and {count|is|are} not in this capture"
OR_LIVE: Final = "or {count|it|they} had come live, which is not in this capture"
#: Why samples are not certainly missed.
_UNSURE: Final = (ASKED_FROM, OR_NOT_CAPTURED, OR_LEFT)
#: Of those above the first that a query of before all samples here asks for.
UNSEEN: Final = (
    "; {unseen:other} came by the same answer, and nobody knows whether {unseen|it|they} had come "
    "live before the capture"
)

#: Causes that nothing here tells.
_UNKNOWN: Final = (Cause.CUT, Cause.UNHEARD)
#: Causes that lie in the transport of the subscriber.
_THROWN: Final = (Cause.REFUSED, Cause.THROWN_AWAY)
#: Of samples that came live before its history was there, and of which that brings not all.
BY_RELEASE: Final = Claim(
    Certainty.UNDECIDABLE,
    why="since zenoh 1.10 a subscriber waits for its history and misses what that does not bring; "
    "before that it goes on from what comes live, and misses none of these",
)

#: Of what a subscriber passed over, by why it cannot be told whether it had that.
_PASSED_OVER: Final = {
    Outcome.STOPPED: "{count:sample} of {sender_member} {count|is|are} not in this capture, and "
    "{receiver_member} asks for what lies above {count|it|them} since one of its queries may have "
    "ended: {count|it|they} came and the capture missed {count|it|them}, or {count|was|were} "
    "missed; which of both cannot be told.",
    Outcome.UNASKED: "{count:sample} of {sender_member} {count|is|are} not in this capture, and no "
    "request of {receiver_member} for {count|it|them} either, which asks for what it misses: it "
    "had {count|it|them} and the capture missed {count|it|them}, or the capture missed the "
    "request, or who asks came later; whether {count|it was|they were} lost cannot be told.",
}


def findings(
    report: ZenohReporter, stream: ZenohSubject, source: Source, subscriber: Subscriber
) -> Iterator[Finding]:
    """What a subscriber missed and got back, or had without its being here."""
    role = report.engine.link.role(source.sender, source.receiver)
    at_receiver = role == "receiver" and report.engine.world is None
    gaps = sorted(subscriber.gaps, key=lambda gap: gap.first)
    back, missed = report.proven(source, subscriber)
    yield from _recovered(report, stream, source, subscriber, gaps, back)
    if role != "sender":
        misses = report.causes(subscriber)
        yield from _missed(report, stream, source, subscriber, misses, missed)
        yield from _missed_by_some(report, stream, source, subscriber)
        yield from _tail(report, stream, source, subscriber)
    if at_receiver:
        yield from _not_captured(report, stream, source, subscriber, gaps)
    yield from _in_holes(report, stream, subscriber, gaps)
    still_open = [gap for gap in gaps if Outcome.GONE in gap.parts]
    queries = report.queries_of(subscriber)
    for asked in (True, False):
        some = [gap for gap in still_open if any(_of(one, gap) for one in queries) is asked]
        if some:
            yield report.gap_finding(
                stream, "ZN018", some, parts_of(some, Outcome.GONE),
                "{count:sample} of {sender_member} {count|was|were} asked for and missing when the "
                "capture ended." if asked else
                "{count:sample} of {sender_member} {count|is|are} missing, and its subscriber or "
                "what is here of its session ends so soon behind that, that it may have been about "
                "to ask for {count|it|them}.",
                claim=UNDECIDABLE,
            )  # fmt: skip


def _of(query: Query, gap: Gap) -> bool:
    """Whether a query may ask for samples of a gap."""
    below = query.first is None or query.first < gap.stop
    return below and query.asked >= gap.revealed


def _recovered(
    report: ZenohReporter,
    stream: ZenohSubject,
    source: Source,
    subscriber: Subscriber,
    gaps: list[Gap],
    proven: RangeSet,
) -> Iterator[Finding]:
    """What was missed and came back; of each gap a request proves the first sample (ZN001)."""
    found = [gap for gap in gaps if Outcome.RECOVERED in gap.parts]
    parts = RangeSet(parts_of(found, Outcome.RECOVERED))
    sure = proven & parts
    claims = [(sure, PLACED)] + [
        (
            (parts - sure) & theirs,
            Claim(Certainty.LIKELY, rests(some), why=ASKED_FROM if sure else ""),
        )
        for some, theirs in report.apart(found)
    ]
    more = subscriber.unseen
    for ranges, claim in claims:
        mine = [gap for gap in found if touches(gap, Outcome.RECOVERED, ranges)]
        if not ranges:
            continue
        unseen = UNSEEN if more and ranges.within(more.first() - 1, more.first()) else ""
        yield report.gap_finding(
            stream, "ZN001", mine, ranges,
            "{count:sample} of {sender_member} {count|was|were} missed and came back from "
            "{caches}{slowest}" + unseen + ("." if ranges is sure else f"; {OR_LIVE}.")
            if report.engine.world is None else
            "{count:sample} of {sender_member} {count|was|were} missed and would have come "
            "back from "
            "the design document's cache {caches}.",
            claim=claim,
            unseen=more.total(),
            slowest=slowest(subscriber.recovery.percentiles()["max"]),
            caches=report.caches(source, subscriber),
        )  # fmt: skip


def _not_captured(
    report: ZenohReporter,
    stream: ZenohSubject,
    source: Source,
    subscriber: Subscriber,
    gaps: list[Gap],
) -> Iterator[Finding]:
    """What the subscriber had, or may have had, and the capture does not hold. By another link of
    its session it may have had any."""
    if report.engine.link.several:
        return
    passed, certain, others = report.had(source, subscriber)
    for sure, holes in ((True, certain), (False, others)):
        if holes:
            yield report.make(
                stream, "CP007", ORDERED if sure else LIKELY,
                "{receiver_member} had {count:sample} of {sender_member} that "
                "{count|is|are} not in this capture: its next request begins above "
                + ("{count|it|them}, and it sent none between." if sure else
                   "{count|it|them}. Or it asked, in vain, and that is not in this capture."),
                seqnos=[(hole.first, hole.stop) for hole in holes],
                mark=holes[0].query.asked,
                evidence=[(h.query.asked, f"query {h.query.text}")
                          for h in holes[:MAX_EVIDENCE]],
                facts={"count": sum(hole.stop - hole.first for hole in holes)},
            )  # fmt: skip
    had = [gap for gap in gaps if Outcome.REPAIRED in gap.parts]
    if had:
        yield report.gap_finding(
            stream, "CP007", had, parts_of(had, Outcome.REPAIRED),
            "{count:sample} of {sender_member} {count|is|are} not in this capture, and {beats} "
            "heartbeats in a row that tell of {count|it|them} made {receiver_member} ask for "
            "nothing: it had {count|it|them}, or the capture missed its requests.",
            claim=LIKELY, beats=subscriber.asking.passed_beats,
        )  # fmt: skip
    for outcome, text in _PASSED_OVER.items():
        mine = [
            gap for gap in gaps if outcome in gap.parts and not passed.within(gap.first, gap.stop)
        ]
        if mine:
            yield report.gap_finding(
                stream, "CP007", mine, parts_of(mine, outcome), text, claim=UNDECIDABLE
            )


def _in_holes(
    report: ZenohReporter, stream: ZenohSubject, subscriber: Subscriber, gaps: list[Gap]
) -> Iterator[Finding]:
    """What lay in bytes of its TCP connection that are missing here."""
    mine = [gap for gap in gaps if subscriber.in_holes.within(gap.first, gap.stop)]
    if mine:
        yield report.gap_finding(
            stream, "CP007", mine, subscriber.in_holes,
            "{count:sample} of {sender_member} lay in {bytes:byte} of the connection that "
            "{bytes|is|are} not in this capture, or could not be read; {receiver_member} had "
            "{count|it|them}, unless {count|it was|they were} not sent.",
            claim=LIKELY,
            bytes=sum(subscriber.around.in_hole(gap) for gap in mine),
        )  # fmt: skip


def _missed_by_some(
    report: ZenohReporter, stream: ZenohSubject, source: Source, subscriber: Subscriber
) -> Iterator[Finding]:
    """Of several subscribers with one key expression, some got less than others (S28)."""
    lanes = report.engine.audience.lanes_of(subscriber).all
    all_miss = {(miss.first, miss.stop) for miss in subscriber.misses}
    for number, lane in enumerate(lanes, 1):
        misses = report.causes(lane)
        own = [(miss, why) for miss, why in misses if (miss.first, miss.stop) not in all_miss]
        yield from _missed(
            report, stream, source, subscriber, own, RangeSet(), (number, len(lanes))
        )


def _missed(
    report: ZenohReporter,
    stream: ZenohSubject,
    source: Source,
    subscriber: Subscriber,
    missed: list[tuple[Miss, list[Why]]],
    proven: RangeSet,
    lane: tuple[int, int] | None = None,
) -> Iterator[Finding]:
    """Misses, by cause; those that captured frames prove apart from the others (ZN002)."""
    between = report.between_sessions(source, subscriber)
    released = differs_by_release(subscriber)
    apart = report.apart(subscriber.gaps)
    misses = [miss for miss, _ in missed]
    for cause, everything in by_cause(why for _, parts in missed for why in parts).items():
        sure = everything & proven
        for ranges in (sure, everything - sure):
            lost = ranges & between
            for (some, theirs), part in product(apart, (ranges - lost, lost)):
                both = part & theirs
                mine = [miss for miss in misses if both.within(miss.first, miss.stop)]
                if mine:
                    claim = BY_RELEASE
                    if cause in _THROWN and not report.resolved(source):
                        claim = UNRESOLVED
                    elif not released or cause is not Cause.LATE:
                        claim = _missed_claim(
                            some, cause, ASKED_FROM if sure else report.or_not, sure=ranges is sure
                        )
                    yield _miss_finding(
                        report, stream, mine, cause, both, claim, lane, session_lost=part is lost
                    )


def _missed_claim(gaps: list[Gap], cause: Cause, why: str, *, sure: bool) -> Claim:
    """How sure misses are, and ``why`` not surer."""
    if cause in _UNKNOWN:
        return UNDECIDABLE
    if sure:
        return PLACED
    if cause in (Cause.NOBODY, Cause.LATE):
        why = ""
    return Claim(Certainty.LIKELY, rests(gaps), why=why)


def _miss_finding(
    report: ZenohReporter,
    stream: ZenohSubject,
    misses: list[Miss],
    cause: Cause,
    ranges: RangeSet,
    claim: Claim,
    lane: tuple[int, int] | None,
    *,
    session_lost: bool,
) -> Finding:
    """Misses of one cause: ZN022 if their subscriber had no session, else ZN002."""
    told = claim.best is not Certainty.UNDECIDABLE
    certain = cause is not Cause.NOBODY and claim.why not in _UNSURE
    return report.make(
        stream, "ZN022" if session_lost else "ZN002", claim,
        _missed_text(report, cause, lane, told=told, certain=certain, session_lost=session_lost),
        seqnos=listed(ranges),
        mark=misses[0].due,
        evidence=[(miss.due, f"a miss callback was due: {miss.stop - miss.first}")
                  if certain else
                  (miss.due, f"{miss.stop - miss.first} missing")
                  for miss in misses[:MAX_EVIDENCE]],
        facts={
            "count": ranges.total(),
            "cause": str(cause),
            "lane": lane and lane[0],
            "callbacks": f"{len(misses)} miss callbacks"
            if len(misses) > 1 else "a miss callback",
        },
        default="query_grace_ms" if cause in (Cause.NOT_ASKED, Cause.REFUSED) else None,
        severity=None if told else Severity.INFO,
    )  # fmt: skip


def _missed_text(
    report: ZenohReporter,
    cause: Cause,
    lane: tuple[int, int] | None,
    *,
    told: bool,
    certain: bool,
    session_lost: bool,
) -> str:
    """Of samples that were not ``certain``ly missed it is said as well that they may have come."""
    who = "" if lane is None else " (subscriber {} of {} with one key expression)".format(*lane)
    text = (
        "{count:sample} of {sender_member} {count|was|were} missed and did not come back "
        f"({{cause}}); due: {{callbacks}}{who}."
    )
    if session_lost:
        text = text.replace(
            "{count|was|were} missed",
            "that passed while {receiver_member} had lost its session {count|was|were} missed",
        )
    if cause is Cause.NOBODY:
        text = (
            "{count:message} of {sender_member} did not come, by the numbers that ROS 2 "
            "puts into their attachments; nothing asks for them, and no callback tells of "
            "them."
        )
    if not told:
        text = text.replace("due: {callbacks}", "if so, due: {callbacks}")
    elif not certain:
        text = text.replace("; due: {callbacks}", ", with {callbacks} due")
        text = text.removesuffix(".") + f", {OR_CAME}."
    if cause in _UNKNOWN:
        text = text.replace("and did not come", "and {count|was|were} not seen to come")
    if report.engine.parameters.value("rules") == "document":
        text = text.replace("due: {callbacks}", "an error is due in its log")
        text = text.replace("with {callbacks} due", "with an error due in its log")
    if report.engine.world is not None:
        text = text.replace("did not come back", "would not have come back")
        text = text.replace("is due", "would have been due")
    return text


def _tail(
    report: ZenohReporter, stream: ZenohSubject, source: Source, subscriber: Subscriber
) -> Iterator[Finding]:
    if (
        subscriber.heard is None
        or subscriber.last is None
        or subscriber.heard <= subscriber.last
        or subscriber.queries
    ):
        return
    assert subscriber.heard_at is not None
    lost = RangeSet([(subscriber.last + 1, subscriber.heard + 1)]) - subscriber.in_holes
    lost -= RangeSet(parts_of(subscriber.gaps, Outcome.REPAIRED))
    if not lost:
        return
    unheard = report.engine.moments.unheard(source.receiver, subscriber.heard_at)
    asks = subscriber.asks_from is not None or unheard
    asked = any(q.asked >= subscriber.heard_at for q in report.queries_of(subscriber))
    silent = asks and not asked  # it lacks nothing, or its request is not here
    claim = Claim(
        Certainty.LIKELY, Rests((subscriber.heard_at.frame, END), ordered=True),
        why=report.or_not,
    )  # fmt: skip
    yield report.make(
        stream, "ZN003", UNDECIDABLE if silent else claim,
        "A heartbeat of {sender_member} says {heard}, and nothing after {last} was handed on"
        + ("; nothing here asks for {count|it|them}: {receiver_member} had {count|it|them}, or its "
           "request is not in this capture either." if silent else f", {OR_CAME}."),
        seqnos=listed(lost),
        mark=subscriber.heard_at,
        evidence=[(subscriber.heard_at, "the heartbeat")],
        facts={"heard": subscriber.heard, "last": subscriber.last, "count": lost.total()},
        severity=Severity.INFO if silent else None,
    )  # fmt: skip
