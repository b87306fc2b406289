"""Late joins, and whether their streams were uninterrupted (raims.md 9.1)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from seqaudit.replay.contract.finding import ON_NOTHING, Certainty, Finding
from seqaudit.replay.contract.worth import SHOWN, UNDECIDABLE, Claim
from seqaudit.replay.raims.convergence import Contradiction, Convergence, Join, Uninterrupted
from seqaudit.replay.raims.gaps import known_seqnos
from seqaudit.replay.raims.notices import Notice
from seqaudit.replay.raims.reporting import About, RaimsReporter
from seqaudit.replay.raims.seqno import base_of, frame_of, shown
from seqaudit.replay.raims.truth import Loss
from seqaudit.replay.sequence.gaps import Mark

_GIVEN_UP: Final = "packets behind messages of it did not come; they may have held some"
_NO_JOIN: Final = Claim(
    Certainty.LIKELY,
    why="no message of it from before the subscription was captured, so it may have begun there",
)


#: Why a late join is not known to be uninterrupted.
_WHY: Final = {
    Uninterrupted.NOT_PROVABLE: "its time frame had begun before the network converged",
    Uninterrupted.UNKNOWN: "when the network converged is not known",
    Uninterrupted.NO_HEARTBEAT: "no heartbeat of the subscriber behind it tells of convergence",
}


def contradictions(report: RaimsReporter) -> None:
    """Losses and loss notices against joins of the same stream and frame."""
    convergence = report.engine.convergence
    for observer in report.engine.observers:
        report.observer = observer
        for stream in observer.streams.values():
            changes = [*observer.changes.told_of(stream.subjects)] if stream.truth.losses else []
            for loss in stream.truth.losses:
                sure = report.sure(loss)[0]
                near = loss.told is None and report.engine.links.waits_over(
                    stream, changes, loss.mark
                )
                if not loss.lower or sure is not Certainty.PROVEN or near:
                    if loss.missing_sqns or loss.lower:
                        convergence.doubt(
                            observer.bridge, stream.publisher, stream.subject,
                            frame_of(loss.after or 0), _GIVEN_UP,
                        )  # fmt: skip
                    continue
                if loss.before is None:
                    continue
                frames = _frames_of(loss)
                rests = report.rests_of(stream, [loss])
                if frame_of(loss.after or 0) not in frames and loss.upper != loss.lower:
                    convergence.doubt(
                        observer.bridge, stream.publisher, stream.subject,
                        frame_of(loss.after or 0), _GIVEN_UP,
                    )  # fmt: skip
                for frame in frames:
                    convergence.contradict(
                        observer.bridge, stream.publisher, stream.subject, frame,
                        Contradiction(loss.mark, "messages of it were lost", rests),
                    )  # fmt: skip
    for notice in report.engine.notices:
        if notice.publisher and notice.subject and notice.seqno is not None:
            told = _frame_lost(report, notice)
            if told is not None:
                convergence.contradict(
                    notice.receiver, notice.publisher, notice.subject, told,
                    Contradiction(notice.mark, "its receiver reports loss", ON_NOTHING),
                )  # fmt: skip


def _frame_lost(report: RaimsReporter, notice: Notice) -> int | None:
    """The time frame of what a notice says was lost: where the number behind begins a frame,
    the one that its chain names; null: not known."""
    if notice.seqno is None:
        return None
    if base_of(notice.seqno) != 1:
        # an unknown number may be a late copy's, which is no loss; it counts 1, and that it is
        # unknown is told only where no other since the last notice is known
        unknown = notice.restart or (notice.count == 1 and notice.total != 1)
        return None if unknown else frame_of(notice.seqno)
    for observer in report.engine.observers:
        stream = observer.streams.get((notice.publisher or "", notice.subject or ""))
        if stream is not None and frame_of(notice.seqno) in stream.chains:
            return frame_of(stream.chains[frame_of(notice.seqno)])
    return None


def findings(report: RaimsReporter) -> Iterator[Finding]:
    convergence = report.engine.convergence
    yield from _beyond(report, convergence)
    for join in convergence.joins:
        about = About(f"{join.publisher}|{join.subject}", join.publisher)
        verdict = convergence.verdict(join)
        if verdict is Uninterrupted.CONTRADICTED:
            found = join.contradicted_by
            mark, why, rests = next((one for one in found if one.rests is ON_NOTHING), found[0])
            yield report.say(
                about, "RA013",
                "{subject} of {sender_member} was joined at {seqno}, and {why}.",
                {"subject": join.subject, "seqno": shown(join.seqno), "why": why},
                mark, replace(SHOWN if join.late else _NO_JOIN, rests=rests, certified=True),
                [(join.mark, "the first message for it"), (mark, why)],
            )  # fmt: skip
        elif verdict is not Uninterrupted.YES:
            yield report.say(
                about, "RA014",
                "Whether {subject} of {sender_member} is complete since it was joined at {seqno} "
                "cannot be told: {why}.",
                {
                    "subject": join.subject, "seqno": shown(join.seqno), "why": _WHY[verdict],
                },
                join.mark, UNDECIDABLE, _of_join(convergence, join),
            )  # fmt: skip


def _beyond(report: RaimsReporter, convergence: Convergence) -> Iterator[Finding]:
    """What is more than is kept."""
    if convergence.unfollowed is not None:
        mark, more = convergence.unfollowed
        yield report.say(
            About("", ""), "RA014",
            "{count:subscription} of other daemons {count|is|are} not followed, as there are more "
            "than are kept: which streams they joined late is not told.",
            {"count": more + 1}, mark, UNDECIDABLE, [(mark, "the first that is not followed")],
        )  # fmt: skip
    if convergence.unlisted:
        last = convergence.joins[-1].mark
        yield report.say(
            About("", ""), "RA014",
            "{count:late join} behind the last one listed {count|is|are} not judged.",
            {"count": convergence.unlisted}, last, UNDECIDABLE, [(last, "the last that is listed")],
        )  # fmt: skip


def _of_join(convergence: Convergence, join: Join) -> list[tuple[Mark, str]]:
    """The first message of a join, and the heartbeat that its frame is held against."""
    evidence = [(join.mark, "the first message for it")]
    told = convergence.told_by(join)
    if told is not None:
        evidence.append((told, "a heartbeat tells when the network had converged"))
    return evidence


def _frames_of(loss: Loss) -> set[int]:
    """Time frames of which messages are lost: of the one before it may have been the last."""
    return {frame_of(first) for first, _ in known_seqnos(loss)}
