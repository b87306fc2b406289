"""The totals of a report, and the captures of which nobody can tell what was lost (replay/README.md
4)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, get_args

from seqaudit.replay.contract.capture_rows import OUTCOMES, CaptureRow, FramesBy
from seqaudit.replay.contract.report_rows import (
    GapRow,
    Problem,
    StreamRow,
    more_lost,
    unproven_lost,
)
from seqaudit.replay.contract.results import Row
from seqaudit.replay.contract.settings import BETWEEN, MEMBER, UNKNOWN, Vantage
from seqaudit.replay.contract.totals_rows import CountTotals, LossTotals, SeverityCounts

#: Sums over streams that are null where one of them cannot be told.
LossFigure = Literal["lost", "recovered", "unrecovered"]
LOSSES: Final[tuple[LossFigure, ...]] = get_args(LossFigure)

#: The part of a line of two that carry the same: what a receiver of both gets is counted instead.
_LINE: Final = "line"


class Losses:
    """What the rows of streams say of loss, noted as they go by.

    What a member sent and its own capture holds is lost elsewhere, so at a member's interface only
    what it received counts: of a capture's totals nothing else is a part.

    Args:
        vantages: of each capture.
    """

    def __init__(self, vantages: Sequence[Vantage]) -> None:
        self._vantages = vantages
        self._hidden: Counter[int] = Counter()  # by capture: streams that say why nobody can tell
        self._silent: Counter[int] = Counter()  # streams that say nothing of loss
        self._judged: set[int] = set()  # captures with a stream whose loss is known
        self._messages: set[int] = set()
        self._numbered: set[int] = set()  # captures with a stream
        self._known: set[int] = set()  # hashes of streams whose loss is known in some capture
        self._own: dict[int, set[int]] = {}  # of those whose loss is not, by capture

    def each(self, streams: Iterable[StreamRow]) -> Iterator[StreamRow]:
        for stream in streams:
            capture = stream["capture"]
            self._numbered.add(capture)
            if stream.get("messages"):
                self._messages.add(capture)
            name = hash((stream["system"], stream["id"]))
            if stream.get("lost") is not None:
                self._judged.add(capture)
                self._known.add(name)
                yield stream
                continue
            self._own.setdefault(capture, set()).add(name)
            if "lost" in (stream.get("unknown") or ()):
                self._hidden[capture] += 1
            else:
                self._silent[capture] += 1
            yield stream

    def hidden(self, capture: int) -> int:
        """Streams of a capture of which nobody can tell what was lost, because it is not known
        where it was taken."""
        if self._vantages[capture].kind != UNKNOWN:
            return 0
        others = 0 if capture in self._judged else self._silent[capture]
        return self._hidden[capture] + others

    def unjudged(self, captures: Iterable[CaptureRow]) -> Iterator[Problem]:
        """Captures of a known system whose loss could not be judged, in them or in another, and
        why."""
        for number, capture in enumerate(captures):
            vantage = self._vantages[number]
            by = capture["frames_by"]
            unread = by["undecodable"] + by["malformed"] + by["truncated"]
            if number not in self._numbered and by["decoded"] and (unread or not self._judged):
                why = "it shows no numbered stream"
                if unread:
                    why += f", and {unread:,} of its frames could not be decoded"
                yield _problem(capture, f"{why}; seqaudit info says what it holds")
                continue
            if self._own.get(number, set()) <= self._known:  # another capture tells
                continue
            if number in self._judged or number not in self._messages or vantage.kind == MEMBER:
                continue
            if vantage.kind == BETWEEN:
                advice = (
                    "loss shows at a member's interface: give a capture of one, or --at NAME if "
                    "this is one"
                )
            else:
                advice = vantage.advice
            yield _problem(capture, f"{vantage.why or 'captured between members'}; {advice}")


def _problem(capture: CaptureRow, why: str) -> Problem:
    """That no loss could be judged in a capture."""
    path = capture["path"]
    problem = f"{path}: no loss could be judged: {why}"
    return {"capture": capture["capture"], "path": path, "problem": problem}


def sent_here(stream: StreamRow, vantages: Sequence[Vantage]) -> bool:
    """Whether the member at whose interface it was captured is the stream's sender."""
    return stream.get("role") == "sender" and vantages[stream["capture"]].kind == MEMBER


def totals_of(
    captures: Sequence[CaptureRow],
    streams: Sequence[StreamRow],
    gaps: Sequence[GapRow],
    findings: SeverityCounts,
    unreadable: Sequence[Problem],
) -> CountTotals:
    """Totals of all but messages."""
    frames_by: FramesBy = {
        "decoded": 0,
        "other": 0,
        "malformed": 0,
        "truncated": 0,
        "undecodable": 0,
    }
    for capture in captures:
        for outcome in OUTCOMES:
            frames_by[outcome] += capture["frames_by"][outcome]
    return {
        "captures": len(captures),
        "unreadable": len(unreadable),
        "frames": sum(capture["frames"] for capture in captures),
        "frames_by": frames_by,
        "streams": len(streams),
        "gaps": len(gaps),
        "findings": findings,
    }


def messages_of(
    streams: Iterable[StreamRow], pairs: Sequence[Row], vantages: Sequence[Vantage], *, whole: bool
) -> LossTotals:
    """What became of messages: of two lines that carry the same, what a receiver of both gets.

    A sum is null where one of its parts is, or where messages were captured and none of them tells.
    A stream that several captures of one place show counts once.

    Args:
        whole: no capture is one in which no loss could be judged.
    """
    messages = 0
    sums: Counter[str] = Counter()
    known: set[str] = set()
    null: set[str] = set() if whole else set(LOSSES)
    more: int | None = 0  # that may have been lost beside what was at least
    unproven = 0  # of what was lost, what was lost, or not captured
    for stream in streams:
        if stream.get("kind") == _LINE:
            continue
        if "again" in stream:
            if stream["again"]["beyond"]:
                more = _sum(more, stream["lost"])
            continue
        messages += stream.get("messages") or 0
        for key in LOSSES:
            if (count := stream[key]) is not None:
                sums[key] += count
                known.add(key)
            elif key in (stream.get("unknown") or ()) and not sent_here(stream, vantages):
                null.add(key)
        more = _sum(more, more_lost(stream))
        unproven += unproven_lost(stream)
    for pair in pairs:
        messages += pair["messages"]
        sums["recovered"] += pair["recovered"]
        sums["unrecovered"] += pair["lost_on_both"]
        sums["lost"] += pair["recovered"] + pair["lost_on_both"]
        known.update(LOSSES)

    def figure(key: LossFigure) -> int | None:
        return None if key in null or (messages and key not in known) else sums[key]

    lost = figure("lost")
    return {
        "messages": messages,
        "lost": lost,
        "lost_upper": None if lost is None else _sum(lost, more),
        "lost_proven": None if lost is None else lost - unproven,
        "recovered": figure("recovered"),
        "unrecovered": figure("unrecovered"),
    }


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
