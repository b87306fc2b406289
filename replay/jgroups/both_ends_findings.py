"""What the report says of streams whose sender's and receiver's captures are both given."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding
from seqaudit.replay.contract.reporter import listed
from seqaudit.replay.contract.results import BOTH_ENDS, FINDING, JUDGED, Result
from seqaudit.replay.jgroups.both_ends import (
    BACK,
    Judged,
    Meeting,
    Met,
    clocks_of,
    judge,
    passed,
)
from seqaudit.replay.sequence.clocks import Clocks
from seqaudit.replay.sequence.passages import Lack, Passed
from seqaudit.replay.sequence.ranges import inclusive

#: The rule that needs both ends, and why it is not judged where there are not two.
NEEDLESS: Final = "UC043"
ONE_END: Final = "the capture at the other end is not given"
#: What is in one capture and not in the other: lost, or not captured; and certainly not captured.
MISSING: Final = "CP031"
UNSENT: Final = "CP032"

NO_MATCH: Final = "no datagram from its {} to its {} is in both captures to compare their clocks by"
CLOCK_SET: Final = "the clock of a capture was set meanwhile"
OF_UNICASTS: Final = "copies of multicasts are not judged by both ends"
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
THERE_AND_BACK: Final = ("receiver", "sender")
OTHER: Final = {"receiver": "sender", "sender": "receiver"}
#: What the wire calls it.
WORDS: Final = {
    "messages": "message",
    "highest": "HIGHEST_SEQNO",
    "closes": "CLOSE",
    "acks": "ACK",
    "requests": "request",
    "syncs": "SEND_FIRST_SEQNO",
}
TOO_MUCH: Final = "the captures hold more than is remembered"
BEGINS_LATE: Final = "the receiver's capture begins after the stream does at its sender"
CROSSING: Final = (
    "{} of the copies were sent within the uncertainty of the clocks around the arrival, or after "
    "the receiver's capture had ended"
)


def results(meeting: Meeting) -> Iterator[Result]:
    """A row for every stream with both ends, what is proven of it, and where that was judged."""
    judged: set[int] = set()
    for met in meeting.met():
        clocks = clocks_of(met)
        told = judge(met, clocks)
        sender, receiver = met.at_sender.capture, met.at_receiver.capture
        end = met.end
        judged |= {sender, receiver}
        detail = _row(met, told, clocks, full=meeting.full)
        came = passed(met)
        detail["path"] = [_passage(met, word, own) for word, own in came.items()]
        frame, at_ns = end.first
        yield Result(
            sender, BOTH_ENDS, meeting.conversation, end.system, detail, met.stream, frame, at_ns
        )
        if told.after:
            found = _needless(met, told)
            yield Result(
                sender, FINDING, meeting.conversation, end.system, found.detail(), met.stream,
                found.frame, found.at_ns, found.rule,
            )  # fmt: skip
    for ends in meeting.captures:
        rules = [MISSING, UNSENT]
        if any(end.receiver is not None for end in ends.streams.values()):
            rules.append(NEEDLESS)
        for rule in rules if ends.streams else ():
            why = None if ends.capture in judged else ONE_END
            detail = {"rule": rule, "judged": why is None, "why": why}
            system = min(end.system for end in ends.streams.values())
            yield Result(ends.capture, JUDGED, meeting.conversation, system, detail, rule=rule)


def settled(
    row: Mapping[str, Any], begins_ns: int | None, ends_ns: int | None
) -> tuple[int | None, str | None]:
    """How many copies were sent after their message had arrived; null, and why nobody can tell.

    Args:
        row: of BOTH_ENDS.
        begins_ns, ends_ns: of the receiver's capture, which may hold more than the conversation.
    """
    if row["why"] is not None:
        return None, row["why"]
    if row["copies_sent"] == row["after"]:
        return row["after"], None
    if begins_ns is None or row["begin_ns"] is None or begins_ns > row["begin_ns"]:
        return None, BEGINS_LATE
    undecided = row["undecided"]
    if row["late"] and (ends_ns is None or ends_ns < row["late_ns"]):
        undecided += row["late"]
    return (None, CROSSING.format(undecided)) if undecided else (row["after"], None)


def settled_path(
    row: Mapping[str, Any],
    spans: Sequence[tuple[int | None, int | None]],
    holes: Mapping[int, str],
) -> list[dict[str, Any]]:
    """What became of everything that went either way, each as the report has it.

    Args:
        row: of BOTH_ENDS.
        spans: first and last time of each capture.
        holes: captures that are known to lack something, and what tells it.
    """
    rows = []
    for told in row["path"]:
        end = told["end"]
        to, back = row[f"{end}_capture"], OTHER[end]
        lost, not_captured = told["lost"], _certain(told["unsent"], spans[row[f"{back}_capture"]])
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


def holes_in(
    rows: Iterable[Mapping[str, Any]], spans: Sequence[tuple[int | None, int | None]]
) -> dict[int, str]:
    """Captures that lack what their members sent or had, and what tells it.

    Args:
        rows: of BOTH_ENDS.
    """
    unsent: Counter[int] = Counter()
    hidden: Counter[int] = Counter()
    for row in rows:
        for told in row["path"]:
            lacking = row[f"{OTHER[told['end']]}_capture"]
            unsent[lacking] += _certain(told["unsent"], spans[lacking])
            hidden[row[f"{told['end']}_capture"]] += told["hidden"]
    had = {n: HOLE_HAD.format(_number(k, "message")) for n, k in hidden.items() if k}
    return had | {n: HOLE_SENT.format(_number(k, "datagram")) for n, k in unsent.items() if k}


def of_path(
    row: Mapping[str, Any], spans: Sequence[tuple[int | None, int | None]]
) -> Iterator[dict[str, Any]]:
    """Details of findings about what one capture has and the other lacks though it spans its time.

    Args:
        row: as ``settled_path`` takes it, with ``system`` and ``stream``.
    """
    for end in THERE_AND_BACK:
        source, target = row[OTHER[end]], row[end]
        here, there = row[f"{OTHER[end]}_capture"], row[f"{end}_capture"]
        told = [own for own in row["path"] if own["end"] == end]
        for rule, lacks, at, other, text in (
            (MISSING, "lost", here, there, NEVER_CAME), (UNSENT, "unsent", there, here, NOT_SENT)
        ):  # fmt: skip
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
            marks = sorted(tuple(mark) for _, lack, _ in found for mark in lack["marks"])
            yield Finding(
                rule, Certainty.PROVEN, text, system=row["system"], stream=row["stream"],
                frame=marks[0][0] if marks else None, at_ns=marks[0][1] if marks else None,
                evidence=[Evidence(frame, "in this capture only") for frame, _ in marks],
                facts={
                    "named": _and(named), "source_member": source, "target_member": target
                },
            ).detail() | {
                "capture": at, "system": row["system"], "stream": row["stream"],
                "seqnos": [part for _, lack, _ in found for part in lack["seqnos"]],
            }  # fmt: skip


def _certain(lack: Mapping[str, Any], span: tuple[int | None, int | None]) -> int:
    """Copies that a capture lacks, though it went on from ``span[0]`` to ``span[1]``."""
    begins, ends = span
    spans_all = (
        not lack["untimed"]
        and begins is not None
        and ends is not None
        and begins <= lack["from_ns"]
        and lack["to_ns"] <= ends
    )
    missing: int = lack["missing"]
    return missing if spans_all or not lack["outside"] else missing - lack["outside"]


def _passage(met: Met, word: str, own: Passed) -> dict[str, Any]:
    """Numbers of what went one way; ``settled_path`` says what they come to."""
    back = word in BACK.values()
    hidden = None if back else met.at_receiver.hidden.get(met.stream)
    full = met.at_sender.passages.full or met.at_receiver.passages.full
    return {
        "kind": word,
        "word": WORDS[word],
        "end": THERE_AND_BACK[back],
        "sent": own.sent,
        "arrived": own.came,
        "lost": _lack(word, own.lost),
        "unsent": _lack(word, own.unsent),
        "hidden": 0 if hidden is None else hidden.total(),
        "why": TOO_MUCH if full else None,
    }


def _lack(word: str, lack: Lack) -> dict[str, Any]:
    return {
        "missing": lack.missing,
        "outside": lack.outside,
        "from_ns": lack.from_ns,
        "to_ns": lack.to_ns,
        "untimed": lack.untimed,
        "seqnos": inclusive(listed(lack.numbers)) if word == "messages" else [],
        "marks": [list(mark) for mark in lack.marks],
    }


def _number(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _row(met: Met, told: Judged, clocks: Clocks, *, full: bool) -> dict[str, Any]:
    """Numbers of one stream; ``settled`` says what they come to."""
    matched = clocks.matched()
    why = None
    if met.end.receiver is None:
        why = OF_UNICASTS
    elif full:
        why = TOO_MUCH
    elif told.copies and not matched["out"]:
        why = NO_MATCH.format("sender", "receiver")
    elif told.copies and not matched["back"]:
        why = NO_MATCH.format("receiver", "sender")
    elif told.clock_set:
        why = CLOCK_SET
    end = met.end
    offset = clocks.at(end.first.at_ns)
    return {
        "sender": end.sender,
        "receiver": met.receiver,
        "conn_id": end.conn_id,
        "sender_capture": met.at_sender.capture,
        "receiver_capture": met.at_receiver.capture,
        "copies_sent": None if full or end.receiver is None else told.copies,
        "after": told.after,
        "after_seqnos": inclusive(listed(told.seqnos)),
        "undecided": told.undecided,
        "late": told.late,
        "late_ns": told.late_ns,
        "begin_ns": told.begin_ns,
        "why": why,
        "clock_offset_ns": None if offset is None else [offset.below, offset.above],
        "datagrams_matched": matched,
        "examples": [
            {"seqno": seqno, "copy": copy._asdict(), "arrival": arrival._asdict()}
            for seqno, copy, arrival in told.examples
        ],
    }


def _needless(met: Met, told: Judged) -> Finding:
    end = met.end
    least = "At least " if told.undecided or told.late else ""
    return Finding(
        NEEDLESS,
        Certainty.PROVEN,
        least
        + "{count:copy} of {messages:message} of {sender_member} {count|was|were} sent after the "
        "message had arrived at {receiver_member}, as the captures of both show.",
        system=end.system,
        stream=met.stream,
        frame=told.examples[0][1].frame,
        at_ns=told.examples[0][1].at_ns,
        seqnos=listed(told.seqnos),
        evidence=[
            Evidence(copy.frame, f"{seqno} is sent again, after its arrival")
            for seqno, copy, _ in told.examples
        ],
        facts={
            "count": told.after,
            "messages": told.seqnos.total(),
            "sender_member": end.sender,
            "receiver_member": met.receiver,
        },
    )
