"""Samples that came again, carry no number, or have a key that is not known."""

from collections.abc import Iterator

from seqaudit.replay.contract.finding import Certainty, Finding
from seqaudit.replay.contract.worth import ORDERED, SHOWN, Claim
from seqaudit.replay.zenoh.keys import UNRESOLVED
from seqaudit.replay.zenoh.reasons import LINKS
from seqaudit.replay.zenoh.reporting import ZenohReporter, ZenohSubject
from seqaudit.replay.zenoh.sources import Unnumbered
from seqaudit.replay.zenoh.subscriber import Subscriber


def unknown_keys(report: ZenohReporter) -> Finding:
    """Key expressions that only numbers stand for, as many as are kept apart (ZN017)."""
    claim = Claim(Certainty.UNDECIDABLE, why=LINKS) if report.engine.link.several else SHOWN
    return report.make(
        report.stream("", "", "", None), "ZN017", claim,
        "{count:key expression} {count|is a number|are numbers} whose declaration is "
        "not in this capture.",
        facts={"count": len(report.engine.declared.keys.unresolved)},
    )  # fmt: skip


def repeated(
    report: ZenohReporter, stream: ZenohSubject, subscriber: Subscriber
) -> Iterator[Finding]:
    """What a subscriber had already (ZN008)."""
    if subscriber.repeat_count:
        yield from report.note(
            stream, "ZN008", subscriber.repeats, Claim(Certainty.LIKELY, ORDERED.rests),
            "{times:sample} of {sender_member} came again; who has {times|it|them} ignores "
            "{times|it|them}.",
            "a sample that was there already", times=subscriber.repeat_count,
        )  # fmt: skip


def without_numbers(report: ZenohReporter, stream: ZenohSubject, found: Unnumbered) -> Finding:
    """Samples of which nobody notices that one is missing (ZN012)."""
    claim = ORDERED
    if found.key.startswith(UNRESOLVED):
        why = "its key is not known: these may be heartbeats"
        claim = Claim(Certainty.UNDECIDABLE, why=why)
    elif (found.sender, found.key) in report.numbered:
        why = "others of this key carry one: of another publisher, or these are damaged"
        claim = Claim(Certainty.LIKELY, ORDERED.rests, why=why)
    return report.make(
        stream, "ZN012", claim,
        "{count:sample} of {key} {count|carries|carry} no SourceInfo: a missing one "
        "cannot be noticed.",
        mark=found.first, facts={"count": found.count, "key": found.key},
    )  # fmt: skip
