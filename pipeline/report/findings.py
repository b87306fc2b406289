"""Findings as the report has them: frames and names in place, in their order."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple, Protocol, TypeVar, cast

from seqaudit.pipeline.report.frames import FrameNumbers
from seqaudit.pipeline.report.names import Names
from seqaudit.pipeline.report.order import text_of
from seqaudit.pipeline.report.texts import filled, shown_fact
from seqaudit.replay.captures.doubts import weighed
from seqaudit.replay.contract.finding import Certainty as Sureness
from seqaudit.replay.contract.finding import EvidenceDetail, FailedFinding, PlacedFinding
from seqaudit.replay.contract.report_rows import (
    Certainty,
    EvidenceRow,
    FindingRow,
    Severity,
)
from seqaudit.replay.contract.results import ProblemDetail, ResultRow
from seqaudit.replay.contract.totals_rows import SeverityCounts
from seqaudit.replay.contract.worth import Worth
from seqaudit.replay.stages.systems import RULES

R = TypeVar("R", bound=Mapping[str, object])


class Streams(Protocol):
    """What findings need of streams, by (capture, stream): job frames of the first and the last
    message, and the subject or key."""

    spans: dict[tuple[int, str | None], tuple[int, int]]
    subjects: dict[tuple[int, str | None], str]


#: The rules that incomplete IP datagrams show for, and missing bytes of TCP.
INCOMPLETE: Final = "CP005"
MISSING: Final = "CP012"
#: So many of them are named.
EVIDENCE: Final = 8


def with_problems(
    details: Iterable[PlacedFinding], problems: Iterable[ResultRow[ProblemDetail]]
) -> Iterator[PlacedFinding]:
    """Findings about captures, with the frames of what is incomplete."""
    frames: dict[tuple[int, bool | None], list[EvidenceDetail]] = {}
    for row in problems:
        told = row["detail"]
        shows = f"{told['source']} > {told['destination']}: "
        if (acked := told.get("acked")) is None:
            shows = f"first fragment of {shows}{told['what']}"
        else:
            shows += f"{told['bytes']:,} {told['what']}"
        shown = frames.setdefault((row["capture"], acked), [])
        if len(shown) < EVIDENCE:
            shown.append({"frame": row["frame"], "shows": shows})
    for detail in details:
        if detail["rule"] in (INCOMPLETE, MISSING):
            proven = Sureness(detail["certainty"]) is Sureness.PROVEN
            of = None if detail["rule"] == INCOMPLETE else proven
            yield {**detail, "evidence": frames.get((detail["capture"], of), [])}
        else:
            yield detail


class OrderedFinding(NamedTuple):
    """A finding of the report, and the job frame by which it is ordered; -1: it has none."""

    order: int
    row: FindingRow


def finding_row(
    detail: PlacedFinding,
    frames: FrameNumbers,
    called: Names,
    streams: Streams,
    worth: Mapping[int, Worth],
) -> OrderedFinding:
    """A finding as the report prints it; ``detail`` still has job frames and an unfilled text."""
    capture = detail["capture"]
    if capture in worth:
        detail = weighed(detail, worth[capture])
    rule, place = RULES[detail["rule"]], (capture, detail["stream"])
    shown = [
        frame
        for frame in (detail["frame"], *(one["frame"] for one in detail["evidence"]))
        if frame is not None
    ]
    facts = frames.resolved(detail["facts"], capture)
    told = {key: shown_fact(key, value, called) for key, value in facts.items()}
    for key in detail["facts"]:
        if (name := _file_named(facts, f"{key}_file", frames, capture)) is not None:
            told[key] += f" of {name}"
    evidence = [
        _of_file(frames.resolved(shows, capture), frames, capture)
        for one in detail["evidence"]
        for shows in [EvidenceRow(frame=one["frame"], shows=filled(one["shows"], told))]
    ]
    finding: FindingRow = {
        "capture": capture,
        "rule": rule.code,
        "name": rule.name,
        "severity": cast(Severity, str(detail["severity"] or rule.severity)),
        "certainty": cast(Certainty, detail["certainty"]),
        "system": detail["system"],
        "stream": detail["stream"],
        "text": filled(detail["text"], told),
        "seqnos": detail["seqnos"],
        "frame": detail["frame"],
        "at_ns": detail["at_ns"],
        "evidence": [],
        "filter": (
            frames.display_filter(shown) if shown else frames.span_filter(streams.spans.get(place))
        ),
    }
    if place in streams.subjects:
        finding["subject"] = streams.subjects[place]
    if "exception" in detail:
        finding["exception"] = cast(FailedFinding, detail)["exception"]
    finding = _of_file(frames.resolved(finding, capture), frames, capture)
    finding["evidence"] = evidence
    if shown and (name := frames.named(capture, frames.file(shown[0]))) is not None:
        finding["filter_file"] = name
    return OrderedFinding(-1 if detail["frame"] is None else detail["frame"], finding)


def _of_file(row: R, frames: FrameNumbers, capture: int) -> R:
    """A row with the name of the file that its frame is in, in a capture of several."""
    name = _file_named(row, "frame_file", frames, capture)
    return row if name is None else cast(R, {**row, "file": name})


def _file_named(
    row: Mapping[str, object], key: str, frames: FrameNumbers, capture: int
) -> str | None:
    """The name of the file that a row has a number of; null in a capture of one."""
    return frames.named(capture, cast("int | None", row.get(key)))


def holds(wanted: Mapping[str, int], end_ns: int | None) -> bool:
    """Is a finding true of a capture that ended then? (``Finding.holds``)"""
    end = end_ns or 0
    return end < wanted.get("end_before_ns", end + 1) and end >= wanted.get("end_from_ns", end)


class Counts:
    """Findings by rule and by severity, counted as they go by."""

    def __init__(self) -> None:
        self.rules: Counter[str] = Counter()
        self.severities: SeverityCounts = {"error": 0, "warning": 0, "info": 0}

    def each(self, findings: Iterable[OrderedFinding]) -> Iterator[FindingRow]:
        for _, finding in findings:
            self.rules[finding["rule"]] += 1
            self.severities[finding["severity"]] += 1
            yield finding


def merged(*sources: Iterator[OrderedFinding]) -> Iterator[OrderedFinding]:
    """Findings of several sources, each in the order of findings, as one."""
    before: tuple[object, ...] = (-1,)
    for key, same in groupby(heapq.merge(*sources, key=finding_order), key=finding_order):
        assert before < key, "findings come in the order of their frames"
        before = key
        findings = list(same)
        yield from findings if len(findings) == 1 else sorted(findings, key=text_of)


def by_capture(findings: Iterable[OrderedFinding]) -> Iterator[OrderedFinding]:
    """Findings that come by capture, in the order of findings."""
    for _, own in groupby(findings, key=lambda finding: finding.row["capture"]):
        yield from sorted(own, key=finding_order)


def reported_order(finding: FindingRow) -> tuple[object, ...]:
    """The order of findings in the report, by what it says."""
    frame = -1 if finding["frame"] is None else finding["frame"]
    return finding["capture"], finding.get("frame_file", 0), frame, text_of(finding)


def finding_order(finding: OrderedFinding) -> tuple[object, ...]:
    row = finding.row
    return row["capture"], finding.order, row["rule"], row["stream"] or ""
