"""The story of a gap: typed steps, and where the messages were lost, made from its row.

An engine says with the row what only it knows: who asked and when (``heard``), where the messages
were lost and by what it says so (``placed``), and which doubts lie over the stretch. The rest is in
the row's own figures. What a capture does not show is never proven by what is not in it, so a place
is likely at best, and cannot be told where the capture has holes of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, cast

from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.contract.report_rows import Certainty as CertaintyText
from seqaudit.replay.contract.report_rows import EvidenceRow, GapRow, LossPlace, StepRow, WhereLost
from seqaudit.replay.contract.results import GapDetail
from seqaudit.replay.contract.worth import BEGINNING, MISSING, Worth
from seqaudit.replay.sequence.gap_rows import GapFigures, PlacedGap, Step, StepName
from seqaudit.replay.sequence.gaps import Outcome

#: Which end of a stream is at the place of capture.
SENDER, RECEIVER, BETWEEN = "sender", "receiver", "between"


#: What an engine hands on with a gap for its story alone.
_OF_STORY: Final = frozenset({
    "heard", "heard_more", "placed", "doubts", "receiver", "never_asked", "loss", "waited_ns",
    "handed_on",
})  # fmt: skip


class Where(StrEnum):
    """Where the messages of a gap were lost, seen from the place of capture."""

    BEFORE = "before this point"
    AFTER = "after this point"
    HERE = "in this capture itself"  # they reached the receiver: only the capture lacks them
    NOWHERE = "nothing was lost"
    UNTOLD = "cannot be told"


def placed(where: Where, why: str) -> PlacedGap:
    """What an engine hands on with a row of a gap."""
    return {"where": str(where), "why": why}


_LATE: Final = (Where.NOWHERE, "the original came late")
_NOBODY_ASKED: Final = (
    Where.UNTOLD,
    "it is not here and nobody was seen to ask for it: lost, or not captured",
)

#: By outcome, for the receiver's own interface.
_AT_RECEIVER: Final[Mapping[str, tuple[Where, str]]] = {
    Outcome.REORDERED: _LATE,
    Outcome.EITHER: (Where.UNTOLD, "what came is a repair or the late original"),
    Outcome.GONE: (Where.UNTOLD, "it was still missing at the end, and may have been on its way"),
    Outcome.CUT_OFF: (Where.UNTOLD, "the capture ended too early to tell whether it came"),
    Outcome.UNCAPTURED: (
        Where.HERE,
        "the receiver shows that it has it, and did not ask for it: the capture missed it",
    ),
    Outcome.UNASKED: (
        Where.UNTOLD,
        "no request for it is in this capture: the receiver had it and the capture missed it, or "
        "the capture missed the request",
    ),
    Outcome.REPAIRED: (
        Where.UNTOLD,
        "the receiver asked for it and had it later, but no repair is here: the capture misses "
        "frames, maybe the original as well",
    ),
    Outcome.STOPPED: (
        Where.UNTOLD,
        "the receiver stopped asking: it came and was not captured, or was given up",
    ),
    Outcome.OTHER_LINE: (
        Where.UNTOLD,
        "the other line brought it: this one lost it, or the capture missed it here",
    ),
    Outcome.BEFORE: (
        Where.UNTOLD,
        "it was sent before the capture, or its receiver's window, began; it may have come then",
    ),
}

#: How the outcomes of a loss are called where they are explained.
_LOST: Final = (Outcome.RECOVERED, Outcome.UNRECOVERED)


def by_outcome(outcome: str, role: str, requests: int) -> tuple[Where, str]:
    """Where messages of a gap with one of ``Outcome`` were lost, and what says so."""
    if outcome == Outcome.REORDERED:
        return _LATE
    if role == SENDER:
        return (
            Where.UNTOLD,
            "its sender's own interface did not show it: dropped inside the sender, or not "
            "captured",
        )
    if outcome in _LOST and requests:
        who = "its receiver" if role == RECEIVER else "a receiver"
        return Where.BEFORE, f"{who} asked for it, and it had not come here"
    if outcome == Outcome.RECOVERED and role == BETWEEN:
        return Where.BEFORE, "its repair came here, and the original had not"
    if outcome == Outcome.RECOVERED:
        return (
            Where.UNTOLD,
            "it came as a repair, and no request for it is in this capture, which may have missed "
            "the original as well",
        )
    return _AT_RECEIVER.get(outcome, _NOBODY_ASKED)


def doubts_over(row: GapFigures, worth: Worth, stream: str | None) -> list[str]:
    """Why the capture may have missed what was there from the last frame before a gap until it was
    asked for, or had come. Frames are job frames."""
    first = row["lost_after_frame"]
    ends = (row["revealed_frame"], row["requested_frame"], row["repaired_frame"])
    last = max((frame for frame in ends if frame is not None), default=first)
    begin = BEGINNING if first is None else first
    spans = worth.over(begin, begin if last is None else last, stream, MISSING)
    return list(dict.fromkeys(span.why for span in spans))


def with_story(
    row: GapDetail,
    worth: Worth | None,
    called: Callable[[str | None], str | None],
    end_ns: int | None,
) -> GapRow:
    """A row of ``gaps`` with its story; frames are job frames, and stay so.

    Args:
        worth: of the capture; null: nothing was noticed.
        called: the name of an identity.
        end_ns: when the capture ended; null: not known.
    """
    gap = cast(GapRow, {key: told for key, told in row.items() if key not in _OF_STORY})
    receiver, place, heard = row.get("receiver"), row.get("placed"), row.get("heard", [])
    thrown_away = place is not None and place["where"] == Where.AFTER
    steps = _steps(
        gap, heard, receiver, row.get("handed_on") or "handed on in order",
        thrown_away=thrown_away, end_ns=end_ns, called=called,
    )  # fmt: skip
    if heard:
        steps = _in_order(steps)
    waited = row.get("waited_ns")
    waited = row["delivered_after_ns"] if waited is None else waited
    unknown: dict[str, str] = {}
    verdict = _verdict(row, worth)
    if gap["requests"] == 0 and verdict["where"] != str(Where.NOWHERE):
        unknown["asked"] = row.get("never_asked") or "no request for it is in this capture"
    elif any(step["step"] == "asked" and step["by"] is None for step in steps):
        unknown["asked_by"] = "several receivers, or one that nothing names"
    if waited is None:
        unknown["waited"] = "this capture does not show when what came behind it was handed on"
    gap["story"] = {
        "steps": steps,
        "steps_more": row.get("heard_more", 0),
        "waited_by": None if waited is None else receiver,
        "waited_by_name": None if waited is None else called(receiver),
        "waited_ns": waited,
        **verdict,
        "unknown": unknown,
    }
    return gap


def _verdict(row: GapDetail, worth: Worth | None) -> WhereLost:
    place = row.get("placed")
    if place is not None:
        where, why = Where(place["where"]), place["why"]
    else:
        where, why = by_outcome(row["outcome"], BETWEEN, row["requests"])
    doubts = row.get("doubts", [])
    if worth is not None:
        doubts = doubts + doubts_over(row, worth, row["stream"])
    certainty = Certainty.LIKELY
    if where is Where.BEFORE and doubts:
        where, why = Where.UNTOLD, "; ".join(dict.fromkeys([*doubts, why]))
    if where is Where.UNTOLD:
        certainty = Certainty.UNDECIDABLE
    evidence: list[EvidenceRow] = [
        {"frame": frame, "shows": shows}
        for frame, shows in (
            (row["lost_after_frame"], "the last before it"),
            (row["revealed_frame"], f"{row['revealed_by'] or 'this'} shows that it exists"),
            (row["requested_frame"], "it is asked for, so it had not come to who asks"),
        )
        if frame is not None
    ]
    return {
        "where": cast(LossPlace, str(where)),
        "where_certainty": cast(CertaintyText, str(certainty)),
        "where_why": why,
        "where_evidence": evidence,
    }


def _steps(
    row: GapRow, heard: Iterable[Step], receiver: str | None, handed_on: str, *, thrown_away: bool,
    end_ns: int | None, called: Callable[[str | None], str | None],
) -> list[StepRow]:  # fmt: skip
    revealed_ns = row["revealed_at_ns"]
    asked_ns = _later(revealed_ns, row["requested_after_ns"])
    steps: list[StepRow] = []

    def add(
        step: StepName, frame: int | None, at_ns: int | None, by: str | None, says: str
    ) -> None:
        after_ns = None if at_ns is None or revealed_ns is None else at_ns - revealed_ns
        steps.append({
            "step": step, "frame": frame, "at_ns": at_ns, "after_ns": after_ns, "by": by,
            "by_name": None if by is None else called(by), "says": says,
        })  # fmt: skip

    if row["lost_after_frame"] is not None:
        before_ns = row["revealed_after_ns"]
        at_ns = None if before_ns is None or revealed_ns is None else revealed_ns - before_ns
        add("last before", row["lost_after_frame"], at_ns, None, "the last that came before it")
    if row["revealed_frame"] is not None:
        by = row["revealed_by"] or "nothing known"
        add("revealed", row["revealed_frame"], revealed_ns, None, f"{by} shows that it is missing")
    asked = False
    heard = list(heard)
    first = next((step["frame"] for step in heard if step["step"] == "first came"), None)
    for step in heard:
        if step["step"] == "asked":
            some_came = first is not None and first < (step["frame"] or 0)
            says = _asked(step.get("some"), again=asked, some_came=some_came)
            asked = True
            by_whom = step.get("by") or receiver
        else:
            says, by_whom = _SAYS.get(step["step"], ""), step.get("by")
            by_whom = by_whom or (receiver if step["step"] == "handed on" else None)
        says = step.get("says") or says
        add(step["step"], step["frame"], step["at_ns"], by_whom, says)
    if not asked and row["requested_frame"] is not None:
        add("asked", row["requested_frame"], asked_ns, receiver, "asked for")
    came_ns = _later(asked_ns if asked_ns is not None else revealed_ns, row["repaired_after_ns"])
    if row["repaired_frame"] is None:
        why, ended_ns = row.get("why"), row.get("ended_at_ns")
        says = f"never came here: {why}" if why else "never came here"
        if thrown_away:
            says = "came too late, and was thrown away"
        elif row["outcome"] == Outcome.OTHER_LINE:
            says = "came on the other line only"
        elif not why and ended_ns is None:
            says, ended_ns = "never came here, to the end of the capture", end_ns
        add("never came", None, ended_ns, None, says)
    elif row["outcome"] in (Outcome.UNCAPTURED, Outcome.REPAIRED):
        add("had", row["repaired_frame"], came_ns, receiver, "the receiver shows that it has it")
    else:
        ended_ns = row.get("ended_at_ns")
        came_ns = ended_ns if ended_ns is not None else came_ns
        how = _CAME.get(row["outcome"], "")
        says = f"it came{how}" if row["count"] == 1 else f"all of it had come{how}"
        add("came", row["repaired_frame"], came_ns, None, says)
    if row["delivered_frame"] is not None:
        at_ns = _later(revealed_ns, row["delivered_after_ns"])
        add("handed on", row["delivered_frame"], at_ns, receiver, handed_on)
    return steps


#: What steps say that engines hand on without words.
_SAYS: Final = {"first came": "the first of it came"}


#: How it came, by outcome.
_CAME: Final[Mapping[str, str]] = {Outcome.RECOVERED: " as a repair", Outcome.REORDERED: " late"}


def _asked(some: Sequence[int] | None, *, again: bool, some_came: bool) -> str:
    """What a request was for; ``some``: how many of how many."""
    if some:
        return f"asked for {some[0]:,} of {some[1]:,}"
    if not again:
        return "asked for"
    return f"asked for again: {'not all' if some_came else 'nothing'} had come"


def _in_order(steps: list[StepRow]) -> list[StepRow]:
    """Steps by their frames; what no frame shows stands behind what had happened by then."""
    ordered = [step for step in steps if step["frame"] is not None]
    ordered.sort(key=lambda step: step["frame"] or 0)
    unseen = [step for step in steps if step["frame"] is None]
    for step in sorted(unseen, key=lambda step: step["step"] == "handed on"):
        at_ns = step["at_ns"]
        later = (
            place
            for place, other in enumerate(ordered)
            if at_ns is not None and other["at_ns"] is not None and other["at_ns"] > at_ns
        )
        ordered.insert(next(later, len(ordered)), step)
    return ordered


def _later(start_ns: int | None, after_ns: int | None) -> int | None:
    return None if start_ns is None or after_ns is None else start_ns + after_ns
