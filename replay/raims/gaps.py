"""Losses of raims' own numbers as gaps of the report, with what their stories need
(replay/README.md 5; raims.md 9).

raims asks for nothing itself: what its link asks for and does not get (PGM), or what its link never
carried (TCP), shows as a step in a publisher's numbers, which the daemon hands on at once. So a gap
is told by both: the packets of the link that did not come, who asked for them and when they were
given up, and the message whose number stepped. Numbers below which nobody can say how many there
were have a lower bound alone, and a row counts that.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.contract.story import Where, placed
from seqaudit.replay.pgm.holes import Hole
from seqaudit.replay.raims.missing import Missing
from seqaudit.replay.raims.reporting import RaimsReporter
from seqaudit.replay.raims.seqno import base_of, frame_of, seqno, shown
from seqaudit.replay.raims.streams import ELSEWHERE, NumberGap, RaimsStream
from seqaudit.replay.raims.truth import BY_CHAIN, BY_CHAIN_FRAME, BY_NUMBERS, Loss
from seqaudit.replay.sequence.gap_rows import GapFigures, PlacedGap, Step
from seqaudit.replay.sequence.gaps import MAX_ASKS, Mark, MarkOfTimer, Outcome, between

#: Inclusive ranges of seqnos.
Ranges = list[list[int]]

_HANDED_ON: Final = "the next message, whose number shows what is missing"
#: Nothing is asked for where a link has no numbers of its own.
_NO_NAKS: Final = "raims itself asks for nothing again, and TCP has nothing to ask for"
_NOT_ASKED: Final = "no NAK for the packets in between is in this capture"


def rows(report: RaimsReporter, stream: RaimsStream) -> Iterator[GapFigures]:
    """Gap rows of one stream at its observer, in the order in which they showed."""
    if not report.known:
        return
    for gap in stream.gaps if stream.glsno else ():
        if gap.missing.count:  # else none was sent here
            yield _of_numbers(report, stream, gap)
    for place, loss in enumerate(() if stream.glsno else stream.truth.losses):
        if loss.lower:
            row = _of_loss(report, stream, loss)
            row["loss"] = place, loss.mark.at_ns
            yield row


def count(stream: RaimsStream) -> int:
    if stream.glsno:
        return sum(bool(gap.missing.count) for gap in stream.gaps)
    return sum(bool(loss.lower) for loss in stream.truth.losses)


def known_seqnos(loss: Loss) -> Ranges:
    """The numbers of a loss that are known to have been used, as inclusive ranges.

    ``after`` and ``before`` are the numbers on both sides. What lay in time frames of which nothing
    is known is not among them.
    """
    after, before, chain = loss.after, loss.before, loss.chain
    assert after is not None and before is not None, "a loss with a lower bound has two sides"
    frame = frame_of(before)
    if loss.known_by == BY_NUMBERS or frame_of(after) == frame:
        return [[after + 1, before - 1]]
    if chain is None:
        return [[before - loss.lower, before - 1]]
    own = [[seqno(frame, 1), before - 1]] if base_of(before) > 1 else []
    if frame_of(chain) == frame_of(after):
        return ([[after + 1, chain]] if chain > after else []) + own
    return [[seqno(frame_of(chain), 1), chain], *own] if base_of(chain) else own


def told(ranges: Ranges) -> str:
    """``2022-07-29T21:54:01.513Z #5-7``, a part a time frame."""
    parts = []
    for first, last in ranges:
        text = shown(first)
        parts.append(text if first == last else f"{text}-{base_of(last)}")
    return ", ".join(parts)


def _of_loss(report: RaimsReporter, stream: RaimsStream, loss: Loss) -> GapFigures:
    sure, why = report.sure(loss)
    if taken := report.unsure_of_taking(stream, report.observer):
        sure, why = Certainty.UNDECIDABLE, taken
    ranges = known_seqnos(loss)
    row = _row(
        loss.missing, loss.last, loss.mark, _REVEALS.get(loss.known_by, "its number"),
        report.observer.bridge, ranges, loss.lower, sure,
    )  # fmt: skip
    if loss.told is not None:
        row["heard"].append({
            "step": "told", "frame": loss.told.frame, "at_ns": loss.told.at_ns,
            "by": report.observer.bridge, "says": "it tells the publisher of the loss",
        })  # fmt: skip
    row["shown"], row["count_upper"] = told(ranges), loss.upper
    row["placed"] = _where(loss.missing, sure, why, is_told=loss.told is not None)
    return row


def _of_numbers(report: RaimsReporter, stream: RaimsStream, gap: NumberGap) -> GapFigures:
    sure, why = gap.missing.certainty, gap.missing.reason
    if stream.elsewhere:
        sure, why = Certainty.UNDECIDABLE, ELSEWHERE
    row = _row(
        gap.missing, gap.last, gap.mark, "a higher number of its path", report.observer.bridge,
        [[gap.first, gap.stop - 1]], gap.stop - gap.first, sure,
    )  # fmt: skip
    row["placed"] = _where(gap.missing, sure, why, is_told=False)
    return row


_REVEALS: Final = {
    BY_NUMBERS: "a higher seqno",
    BY_CHAIN: "a later time frame's chain_seqno",
    BY_CHAIN_FRAME: "a later time frame's chain_seqno",
}


def _row(
    missing: Missing | None, last: Mark | None, mark: Mark, reveals: str, observer: str | None,
    seqnos: Ranges, least: int, sure: Certainty,
) -> GapFigures:  # fmt: skip
    """What the link shows of a loss: its first packet that is missing, NAKs, when it gave up."""
    if isinstance(last, MarkOfTimer):  # the message before was handed on then; it came elsewhere
        last = None
    holes = sorted(() if missing is None else missing.holes, key=attrgetter("revealed"))
    revealed, by = mark, reveals
    if holes and holes[0].revealed < mark:
        revealed, by = holes[0].revealed, f"{holes[0].revealed_by} of its link"
    heard, more = _naks(holes)
    by_timer = isinstance(mark, MarkOfTimer)
    if by_timer:  # the link's wait ended then, perhaps for packets before those of this loss
        heard.append({
            "step": "handed on", "frame": None, "at_ns": mark.at_ns, "by": observer,
            "says": _HANDED_ON,
        })  # fmt: skip
    asked = min((hole.asked for hole in holes if hole.asked is not None), default=None)
    ended = max((hole.ended for hole in holes if hole.ended is not None), default=None)
    return {
        "seqnos": seqnos,
        "count": least,
        "outcome": _outcome(sure),
        "why": None if sure is Certainty.UNDECIDABLE else _why(missing),
        "lost_after_frame": None if last is None else last.frame,
        "revealed_frame": revealed.frame,
        "revealed_at_ns": revealed.at_ns,
        "revealed_by": by,
        "revealed_after_ns": between(last, revealed),
        "requests": sum(hole.naks for hole in holes),
        "requested_frame": None if asked is None else asked.frame,
        "requested_after_ns": between(revealed, asked),
        "repaired_frame": None,
        "repaired_after_ns": None,
        "ended_at_ns": None if ended is None else ended.at_ns,
        "delivered_frame": None if by_timer else mark.frame,
        "delivered_after_ns": None if by_timer else between(revealed, mark),
        # what comes behind a hole waits in its link; behind a step of numbers nothing waits
        "waited_ns": between(revealed, ended) if revealed != mark else 0,
        "handed_on": _HANDED_ON,
        "heard": heard,
        "heard_more": more,
        "never_asked": _NOT_ASKED if holes else _NO_NAKS,
    }


def _naks(holes: list[Hole]) -> tuple[list[Step], int]:
    """NAKs of the observer's own link for packets of a loss, as steps; and how many more."""
    asks = sorted((ask.mark, hole.sqn, ask) for hole in holes for ask in hole.asks)
    steps = [
        ask.step() | {"says": f"NAK for packet {sqn} of the link"}
        for _, sqn, ask in asks[:MAX_ASKS]
    ]
    return steps, sum(hole.naks for hole in holes) - len(steps)


def _outcome(sure: Certainty) -> str:
    told = Outcome.UNTOLD if sure is Certainty.UNDECIDABLE else Outcome.UNRECOVERED
    return str(told)


def _why(missing: Missing | None) -> str | None:
    """How the link ended what was missing on it."""
    fates = {str(hole.fate) for hole in (() if missing is None else missing.holes) if hole.fate}
    return f"the link {' and '.join(sorted(fates))}" if fates else None


def _where(missing: Missing | None, sure: Certainty, why: str, *, is_told: bool) -> PlacedGap:
    """Where messages were lost, and what says so."""
    holes = () if missing is None else missing.holes
    if is_told:
        return placed(Where.BEFORE, "the daemon itself tells the publisher that it lost them")
    if sure is Certainty.UNDECIDABLE:
        return placed(Where.UNTOLD, f"lost, or not captured: {why}")
    if any(hole.naks for hole in holes):
        return placed(
            Where.BEFORE, "the daemon asked for packets that lie in between, and they never came"
        )
    if holes:
        return placed(Where.BEFORE, "packets that lie in between never came here")
    if why:
        return placed(Where.BEFORE, why)
    return placed(
        Where.BEFORE, "no byte of the connection is missing in between: they were not sent on it"
    )
