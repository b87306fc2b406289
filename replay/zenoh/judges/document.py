"""What the design document's machine would have done."""

from collections.abc import Iterator

from seqaudit.replay.contract.finding import Certainty, Finding
from seqaudit.replay.contract.reporter import MAX_EVIDENCE
from seqaudit.replay.contract.worth import ORDERED, Claim
from seqaudit.replay.sequence.gaps import Outcome
from seqaudit.replay.zenoh.document_subscriber import DocumentSubscriber
from seqaudit.replay.zenoh.reporting import ZenohReporter, ZenohSubject
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.subscriber import Subscriber


def findings(
    report: ZenohReporter, stream: ZenohSubject, source: Source, subscriber: Subscriber
) -> Iterator[Finding]:
    """What the design document's machine would have done for a subscriber."""
    world = report.engine.world
    if world is None or not isinstance(subscriber, DocumentSubscriber):
        return
    asked = world.asked(subscriber)
    if asked.control and report.engine.link.role(source.sender, source.receiver) != "sender":
        counts = subscriber.counts
        first = asked.queries[0].asked if asked.queries else subscriber.first_at
        yield report.make(
            stream, "ZN023", Certainty.LIKELY,
            "The design document's machine, its cache {cache}, would have sent "
            "{queries:query}, got {recovered} of {missing:missing sample} of {sender_member} back, "
            "and cost {control:control message} beside {samples:sample}.",
            mark=first,
            evidence=[(q.asked, f"query {q.key}?{q.text}")
                      for q in asked.queries[:MAX_EVIDENCE]],
            facts={
                "cache": report.document_cache(),
                "queries": asked.count + asked.idle,
                "recovered": counts[Outcome.RECOVERED],
                "missing": counts[Outcome.RECOVERED] + counts[Outcome.UNRECOVERED],
                "control": asked.control,
                "samples": source.live.total(),
            },
            default="cache_history" if world.settings.enabled else None,
        )  # fmt: skip
    yield from report.note(
        stream, "ZN024", asked.collided, Claim(Certainty.LIKELY, ORDERED.rests),
        "{count:sample} would have been dropped as repeats: {publishers} publishers of one "
        "session share the source id {sender_member}.",
        "a sample whose sn another publisher has used",
        publishers=len(asked.entities),
    )  # fmt: skip
