"""Frames and fragments of the transport: missing, thrown away, given up."""

from collections.abc import Iterator

from seqaudit.replay.contract.finding import Certainty, Finding, Rests
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed
from seqaudit.replay.contract.worth import BEGINNING, END, Claim
from seqaudit.replay.zenoh.hops import HopCounter
from seqaudit.replay.zenoh.reporting import (
    OR_NOT_CAPTURED,
    ZenohReporter,
    ZenohSubject,
)


def findings(
    report: ZenohReporter, stream: ZenohSubject, counter: HopCounter, *, at_sender: bool
) -> Iterator[Finding]:
    """Frames of a counter that are missing, came in vain, or were given up."""
    best = Certainty.LIKELY
    if report.engine.link.transport == "tcp":
        why = ": over TCP that is the sender's doing, or a hole in the capture."
    elif at_sender:  # no network lies before its own interface
        best = Certainty.UNDECIDABLE
        why = " where they are sent: they were not, or this capture missed them."
    else:
        why = ": lost on the link, or not captured; zenoh sends no frame again."
    lost = counter.lost - report.brought(counter)
    if lost:
        gaps = [gap for gap in counter.gaps if lost.within(gap.first, gap.stop)]
        first = gaps[0].before.frame if gaps and gaps[0].before else BEGINNING
        yield report.make(
            stream, "ZN005",
            Claim(best, Rests((first, gaps[-1].revealed.frame if gaps else END))),
            "{count:frame} from {sender_member} to {receiver_member} {count|is|are} missing"
            + why,
            seqnos=listed(lost),
            mark=gaps[0].revealed if gaps else None,
            evidence=[(gap.revealed, "the next frame that came") for gap in gaps[:MAX_EVIDENCE]],
            facts={"count": lost.total()},
        )  # fmt: skip
    copies = counter.network_duplicates
    yield from report.note(
        stream, "ZN006", counter.discarded,
        report.thrown_away(resolved=counter.resolved),
        "{times:frame} from {sender_member} {times|is|are} thrown away by the transport of "
        "{receiver_member}, if they came in the order of this capture: {late} late, {repeated} "
        "repeated"
        + ("; {copies} came twice in identical datagrams, from the network or from the "
           "capturing machine, and of the latter the transport knows nothing." if copies
           else "."),
        "a frame whose sn is not newer than the last",
        late=counter.late.ranges.total(), repeated=counter.repeated, copies=copies,
    )  # fmt: skip
    yield from report.note(
        stream, "ZN015", counter.abandoned, Certainty.LIKELY,
        "{sender_member} gave up {times:fragmented message} half way.",
        "the next message begins",
    )  # fmt: skip
    yield from report.note(
        stream, "ZN016", counter.broken,
        Claim(Certainty.LIKELY, Rests((BEGINNING, END), ordered=True), why=OR_NOT_CAPTURED),
        "{times:fragmented message} of {sender_member} {times|lacks|lack} a piece here, which was "
        "lost, and with it everything, or is not in this capture.",
        "a piece that does not follow",
    )  # fmt: skip
