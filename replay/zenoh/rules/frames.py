"""Frames and fragments of the transport: missing, thrown away, given up."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, listed
from seqaudit.replay.contract.rule import Rule, warning
from seqaudit.replay.contract.worth import (
    BEGINNING,
    END,
    ORDERED,
    Claim,
)
from seqaudit.replay.zenoh.hops import HopCounter
from seqaudit.replay.zenoh.reporting import (
    OR_NOT_CAPTURED,
    Stream,
    ZenohReporter,
)

RULES: Final[tuple[Rule, ...]] = (
    warning(
        "ZN005", "frames-missing-on-link",
        "Transport sns are missing: frames were lost on the link, or by the capture.",
        "A jump of a counter by more than one, less the number that is skipped after every "
        "fragmented message and after an abandoned one. Not over TCP, where only the sender or the "
        "capture can leave a hole (then it is likely a hole in the capture).",
        "Look at the link; zenoh does not send a frame again.",
        "zenoh.md 8.3, 8.4, 11"),
    warning(
        "ZN006", "frames-discarded",
        "Frames arrived and the receiving transport threw them away: their sn was not newer than "
        "the last one.",
        "Replay of the counter: equal or older sns, by the resolution of the session.",
        "Look for reordering or duplication on the path; a long loss with a small resolution does "
        "it as well. What a late frame carried is lost as if it had been dropped.",
        "zenoh.md 8.3"),
    warning(
        "ZN015", "fragments-abandoned",
        "The sender gave up a fragmented message half way.",
        "Fragments that stop, one sn skipped, then a new message; or a fragment with the Drop "
        "mark.",
        "Look for congestion on the link: ZN004 says what helps against it.",
        "zenoh.md 8.4, 8.5"),
    warning(
        "ZN016", "fragmented-message-lost",
        "A fragment was lost, and with it the whole message.",
        "Replay of the reassembly: a piece that does not follow, or a message that never ends.",
        "See ZN005; smaller messages lose less.",
        "zenoh.md 8.5"),
)  # fmt: skip


def findings(
    report: ZenohReporter, stream: Stream, counter: HopCounter, *, at_sender: bool
) -> Iterator[Finding]:
    """Frames of a counter that are missing, came in vain, or were given up."""
    best = Certainty.LIKELY
    if report.engine.transport == "tcp":
        why = ": over TCP that is the sender's doing, or a hole in the capture."
    elif at_sender:  # no network lies before its own interface
        best = Certainty.UNDECIDABLE
        why = " where they are sent: they were not, or this capture missed them."
    else:
        why = ": lost on the link, or not captured; zenoh sends no frame again."
    if counter.lost:
        gaps = counter.gaps
        first = gaps[0].before.frame if gaps and gaps[0].before else BEGINNING
        yield report.make(
            stream, "ZN005",
            Claim(best, Rests((first, gaps[-1].revealed.frame if gaps else END))),
            "{count:frame} from {sender_member} to {receiver_member} {count|is|are} missing"
            + why,
            seqnos=listed(counter.lost),
            mark=counter.gaps[0].revealed if counter.gaps else None,
            evidence=[(gap.revealed, "the next frame that came")
                      for gap in counter.gaps[:MAX_EVIDENCE]],
            facts={"count": counter.lost.total()},
        )  # fmt: skip
    copies = counter.network_duplicates
    yield from report.times(
        stream, "ZN006", counter.discarded,
        Claim(Certainty.LIKELY, ORDERED.rests),
        "{times:frame} from {sender_member} {times|is|are} thrown away by the transport of "
        "{receiver_member}: {late} late, {repeated} repeated"
        + ("; {copies} came twice in identical datagrams, from the network or from the "
           "capturing machine, and of the latter the transport knows nothing." if copies
           else "."),
        "a frame whose sn is not newer than the last",
        late=counter.late.ranges.total(), repeated=counter.repeated, copies=copies,
    )  # fmt: skip
    yield from report.times(
        stream, "ZN015", counter.abandoned, Certainty.LIKELY,
        "{sender_member} gave up {times:fragmented message} half way.",
        "the next message begins",
    )  # fmt: skip
    yield from report.times(
        stream, "ZN016", counter.broken,
        Claim(Certainty.LIKELY, Rests((BEGINNING, END), ordered=True), why=OR_NOT_CAPTURED),
        "{times:fragmented message} of {sender_member} lost a piece and with it everything.",
        "a piece that does not follow",
    )  # fmt: skip
