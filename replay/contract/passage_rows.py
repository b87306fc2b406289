"""What went from one end of a stream to the other, as rows of the report and in findings.

Two captures of one conversation, at its two ends: ``replay.sequence.passages`` counts what each
holds. Here that is settled by what only the whole of the captures tells: when they began and ended,
and whether they are known to lack something. No row says which system it is of.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding, PlacedFinding
from seqaudit.replay.contract.report_rows import (
    PassageKind,
    PassageRow,
    StreamSide,
)
from seqaudit.replay.contract.reporter import listed
from seqaudit.replay.contract.results import (
    JUDGED,
    EndsDetail,
    LackDetail,
    PathDetail,
    Result,
    ResultRow,
)
from seqaudit.replay.sequence.clocks import Clocks
from seqaudit.replay.sequence.passages import Lack, Passed
from seqaudit.replay.sequence.ranges import inclusive

#: What is in one capture and not in the other: lost, or not captured; and certainly not captured.
MISSING: Final = "CP031"
UNSENT: Final = "CP032"
ONE_END: Final = "the capture at the other end is not given"
TOO_MUCH: Final = "the captures hold more than is remembered"
NO_CLOCKS: Final = "how far the clocks of the captures are apart is not known"
HAS_HOLE: Final = "the capture at the {} has a hole: {}"
TOO_SHORT: Final = "the capture at the {} begins after, or ends before, {} of the missing ones"
HOLE_SENT: Final = "{} that its member sent are in the other capture only"
HOLE_HAD: Final = "its member had {} that it does not hold"
NEVER_CAME: Final = (
    "{named} of {source_member} for {target_member} are not in the capture at {target_member}: "
    "lost on the way, or not captured there."
)
NOT_SENT: Final = (
    "{named} of {source_member} came to {target_member} and are not in the capture at "
    "{source_member}, so that capture has a hole."
)
#: The end that something goes to, and the other one.
THERE_AND_BACK: Final[tuple[StreamSide, StreamSide]] = ("receiver", "sender")
OTHER: Final[Mapping[StreamSide, StreamSide]] = {"receiver": "sender", "sender": "receiver"}


def passage(
    kind: PassageKind,
    word: str,
    own: Passed,
    *,
    back: bool = False,
    numbered: bool = False,
    hidden: int = 0,
    hides: str = HOLE_HAD,
    why: str | None = None,
) -> PathDetail:
    """Numbers of what went one way; ``settled_path`` says what they come to.

    Args:
        kind: what it is, in the report; ``word`` is what the wire calls one of it.
        back: it goes from the receiver of the stream to its sender.
        numbered: its numbers are the stream's own.
        hidden: so many the receiver had that its capture does not hold; ``hides`` says so.
        why: why nobody can tell how many were lost.
    """
    return {
        "kind": kind,
        "word": word,
        "end": THERE_AND_BACK[back],
        "sent": own.sent,
        "arrived": own.came,
        "lost": _lack(own.lost, numbered=numbered),
        "unsent": _lack(own.unsent, numbered=numbered),
        "hidden": hidden,
        "hides": hides,
        "why": why,
    }


def ends_row(
    sender: str,
    receiver: str,
    captures: tuple[int, int],
    path: list[PathDetail],
    clocks: Clocks,
    first_ns: int,
    why: str | None = None,
) -> EndsDetail:
    """The detail of a BOTH_ENDS row: numbers, of which ``both_ends.BothEnds`` says what they come
    to. Copies sent after their message had arrived are not judged.

    Args:
        captures: at the sender and at the receiver.
        clocks: of the two; ``first_ns`` is the time of the stream's first message at its sender.
        why: they are not; null: said nowhere.
    """
    offset = clocks.at(first_ns)
    return {
        "sender": sender,
        "receiver": receiver,
        "conn_id": None,
        "sender_capture": captures[0],
        "receiver_capture": captures[1],
        "path": path,
        "copies_sent": None,
        "after": 0,
        "after_seqnos": [],
        "undecided": 0,
        "late": 0,
        "late_ns": 0,
        "begin_ns": None,
        "why": why,
        "examples": [],
        "clock_offset_ns": None if offset is None else [offset.below, offset.above],
        "datagrams_matched": {"out": clocks.out, "back": clocks.back},
    }


def judged_at(
    capture: int,
    judged: Container[int],
    conversation: str,
    system: str,
    rules: Iterable[str],
) -> Iterator[Result]:
    """The rules about both ends at one capture, which are judged if it is one of ``judged``."""
    why = None if capture in judged else ONE_END
    for rule in rules:
        detail = {"rule": rule, "judged": why is None, "why": why}
        yield Result(capture, JUDGED, conversation, system, detail, rule=rule)


def settled_path(
    row: EndsDetail,
    spans: Sequence[tuple[int | None, int | None]],
    holes: Mapping[int, str],
) -> list[PassageRow]:
    """What became of everything that went either way, each as the report has it.

    Args:
        spans: first and last time of each capture.
        holes: captures that are known to lack something, and what tells it.
    """
    rows: list[PassageRow] = []
    at = _captures(row)
    for told in row["path"]:
        end = told["end"]
        to, back = at[end], OTHER[end]
        lost, not_captured = told["lost"], _certain(told["unsent"], spans[at[back]])
        missing, certain = lost["missing"], _certain(lost, spans[to])
        why = told["why"]
        if missing and why is None:
            if to in holes:
                why = HAS_HOLE.format(end, holes[to])
            elif lost["untimed"]:
                why = NO_CLOCKS
            elif certain < missing:
                why = TOO_SHORT.format(end, missing - certain)
        if not_captured and why is None:
            why = HAS_HOLE.format(back, HOLE_SENT.format(_number(not_captured, "datagram")))
        rows.append(
            {
                "kind": told["kind"],
                "sent": told["sent"],
                "arrived": told["arrived"],
                "missing": missing,
                "lost_on_path": missing if why is None else None,
                "not_captured": not_captured,
                "seqnos": lost["seqnos"],
                "why": why,
            }
        )
    return rows


def _captures(row: EndsDetail) -> Mapping[StreamSide, int]:
    return {"sender": row["sender_capture"], "receiver": row["receiver_capture"]}


def holes_in(
    rows: Sequence[ResultRow[EndsDetail]],
    spans: Iterable[Sequence[tuple[int | None, int | None]]],
) -> dict[int, str]:
    """Captures that lack what their members sent or had, and what tells it.

    Args:
        spans: of each row, as ``settled_path`` takes them.
    """
    unsent: dict[int, dict[tuple[str | None, str], list[int]]] = {}
    hidden: dict[tuple[str, str], Counter[int]] = {}
    for row, own in zip(rows, spans, strict=True):
        at = _captures(row["detail"])
        for told in row["detail"]["path"]:
            lacking = at[OTHER[told["end"]]]
            if count := _certain(told["unsent"], own[lacking]):
                ways = unsent.setdefault(lacking, {})
                ways.setdefault((row["stream"], told["kind"]), []).append(count)
            said = hidden.setdefault((told["hides"], told["word"]), Counter())
            said[at[told["end"]]] += told["hidden"]
    had = {
        n: hides.format(_number(k, word))
        for (hides, word), counts in sorted(hidden.items())
        for n, k in counts.items()
        if k
    }
    return had | {n: HOLE_SENT.format(_least(ways.values())) for n, ways in unsent.items()}


def _least(ways: Iterable[Sequence[int]]) -> str:
    """How many datagrams a capture lacks, by what each one that they came to shows of each way:
    what was sent to several may be the same."""
    told = list(ways)
    least = "at least " if any(len(of_each) > 1 for of_each in told) else ""
    return least + _number(sum(max(of_each) for of_each in told), "datagram")


def of_path(
    row: ResultRow[EndsDetail],
    spans: Sequence[tuple[int | None, int | None]],
    unread: Mapping[int, str],
) -> Iterator[PlacedFinding]:
    """Details of findings about what one capture has and the other lacks though it spans its time.

    Args:
        spans: as ``settled_path`` takes them.
        unread: captures of which some packets were not read to their end, and what tells it.
    """
    detail = row["detail"]
    for end in THERE_AND_BACK:
        source, target = detail[OTHER[end]], detail[end]
        here, there = _captures(detail)[OTHER[end]], _captures(detail)[end]
        told = [own for own in detail["path"] if own["end"] == end]
        ways: tuple[tuple[str, Literal["lost", "unsent"], int, int, str], ...] = (
            (MISSING, "lost", here, there, NEVER_CAME),
            (UNSENT, "unsent", there, here, NOT_SENT),
        )
        for rule, lacks, at, other, text in ways:
            found = [
                (own, own[lacks], count)
                for own in told
                if (count := _certain(own[lacks], spans[other])) and own["why"] is None
            ]
            if not found:
                continue
            named = [
                f"{count} of {_number(own['sent' if lacks == 'lost' else 'arrived'], own['word'])}"
                for own, _, count in found
            ]
            marks = sorted({tuple(mark) for _, lack, _ in found for mark in lack["marks"]})
            sure, because = Certainty.PROVEN, unread.get(other)
            if because is not None:
                sure, text = Certainty.LIKELY, f"{text} ({because}.)"
            yield Finding(
                rule, sure, text, system=row["system"], stream=row["stream"],
                frame=marks[0][0] if marks else None, at_ns=marks[0][1] if marks else None,
                evidence=[Evidence(frame, "in this capture only") for frame, _ in marks],
                seqnos=[(a, b + 1) for _, lack, _ in found for a, b in lack["seqnos"]],
                facts={
                    "named": _and(named), "source_member": source, "target_member": target
                },
            ).seen_at(at)  # fmt: skip


def _certain(lack: LackDetail, span: tuple[int | None, int | None]) -> int:
    """Copies that a capture lacks, though it went on from ``span[0]`` to ``span[1]``."""
    begins, ends = span
    spans_all = (
        not lack["untimed"]
        and begins is not None
        and ends is not None
        and begins <= lack["from_ns"]
        and lack["to_ns"] <= ends
    )
    return lack["missing"] if spans_all else lack["missing"] - lack["outside"]


def _lack(lack: Lack, *, numbered: bool) -> LackDetail:
    return {
        "missing": lack.missing,
        "outside": lack.outside,
        "from_ns": lack.from_ns,
        "to_ns": lack.to_ns,
        "untimed": lack.untimed,
        "seqnos": inclusive(listed(lack.numbers)) if numbered else [],
        "marks": list(lack.marks),
    }


def _number(count: int, word: str) -> str:
    if count == 1:
        return f"{count} {word}"
    return f"{count} {word[:-1]}ies" if word.endswith("y") else f"{count} {word}s"


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
