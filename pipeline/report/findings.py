"""Findings as the report has them: frames and names in place, in their order."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, Protocol

from seqaudit.pipeline.report.frames import FrameNumbers
from seqaudit.pipeline.report.names import Names
from seqaudit.pipeline.report.order import text_of
from seqaudit.pipeline.report.texts import filled, shown_fact
from seqaudit.replay.captures.doubts import weighed
from seqaudit.replay.contract.results import Row
from seqaudit.replay.contract.worth import Worth
from seqaudit.replay.stages.systems import RULES


class Streams(Protocol):
    """What findings need of streams, by (capture, stream): job frames of the first and the last
    message, and the subject or key."""

    spans: dict[tuple[int, str | None], tuple[int, int]]
    subjects: dict[tuple[int, str | None], str]


#: The rule that incomplete IP datagrams show for, and how many of them it names.
INCOMPLETE: Final = "CP005"
EVIDENCE: Final = 8


def with_fragments(details: Iterable[Row], problems: Iterable[Row]) -> Iterator[Row]:
    """Findings about captures, with the frames of the datagrams that stayed incomplete."""
    frames: dict[int, list[Row]] = {}
    for row in problems:
        told = row["detail"]
        shows = f"first fragment of {told['source']} > {told['destination']}: {told['what']}"
        shown = frames.setdefault(row["capture"], [])
        if len(shown) < EVIDENCE:
            shown.append({"frame": row["frame"], "shows": shows})
    for detail in details:
        if detail["rule"] == INCOMPLETE:
            yield detail | {"evidence": frames.get(detail["capture"], [])}
        else:
            yield detail


def finding_row(
    detail: Row, frames: FrameNumbers, called: Names, streams: Streams, worth: Mapping[int, Worth]
) -> Row:
    """A finding as the report prints it; ``detail`` still has job frames and an unfilled text."""
    finding = dict(detail)
    if finding["capture"] in worth:
        finding |= weighed(finding, worth[finding["capture"]])
    finding["order"] = -1 if finding.get("frame") is None else finding["frame"]
    rule = RULES[finding["rule"]]
    facts = finding.pop("facts", None) or {}
    for key in ("holds", "rests", "conversation"):
        finding.pop(key, None)
    shown = [e["frame"] for e in finding.get("evidence") or [] if e.get("frame") is not None]
    if finding.get("frame") is not None:
        shown.insert(0, finding["frame"])
    place = finding["capture"], finding.get("stream")
    finding["filter"] = (
        frames.display_filter(shown) if shown else frames.span_filter(streams.spans.get(place))
    )
    if place in streams.subjects:
        finding["subject"] = streams.subjects[place]
    finding["name"] = rule.name
    finding["severity"] = str(finding.get("severity") or rule.severity)
    for key in ("stream", "frame", "at_ns"):
        finding.setdefault(key, None)
    capture = finding["capture"]
    finding = frames.resolved(finding, capture)
    if shown and (name := frames.named(capture, frames.file(shown[0]))) is not None:
        finding["filter_file"] = name
    finding = _of_file(finding, frames, capture)
    facts = frames.resolved(facts, capture)
    told = {key: shown_fact(key, value, called) for key, value in facts.items()}
    for key in facts:
        if (name := frames.named(capture, facts.get(f"{key}_file"))) is not None:
            told[key] += f" of {name}"
    finding["text"] = filled(finding["text"], told)
    finding["evidence"] = [
        _of_file(evidence, frames, capture) | {"shows": filled(evidence["shows"], told)}
        for evidence in finding.get("evidence") or []
    ]
    return finding


def _of_file(row: Row, frames: FrameNumbers, capture: int) -> Row:
    """A row with the name of the file that its frame is in, in a capture of several."""
    name = frames.named(capture, row.get("frame_file"))
    return row if name is None else row | {"file": name}


def holds(conditions: Mapping[str, int] | None, end_ns: int | None) -> bool:
    """Is a finding true of a capture that ended then? (``Finding.holds``)"""
    wanted = conditions or {}
    end = end_ns or 0
    return end < wanted.get("end_before_ns", end + 1) and end >= wanted.get("end_from_ns", end)


class Counts:
    """Findings by rule and by severity, counted as they go by."""

    def __init__(self) -> None:
        self.rules: Counter[str] = Counter()
        self.severities = dict.fromkeys(("error", "warning", "info"), 0)

    def each(self, findings: Iterable[Row]) -> Iterator[Row]:
        for finding in findings:
            self.rules[finding["rule"]] += 1
            severity = finding["severity"]
            self.severities[severity] = self.severities.get(severity, 0) + 1
            del finding["order"]
            yield finding


def merged(*sources: Iterator[Row]) -> Iterator[Row]:
    """Findings of several sources, each in the order of findings, as one."""
    before: tuple[object, ...] = (-1,)
    for key, same in groupby(heapq.merge(*sources, key=finding_order), key=finding_order):
        assert before < key, "findings come in the order of their frames"
        before = key
        findings = list(same)
        yield from findings if len(findings) == 1 else sorted(findings, key=text_of)


def by_capture(findings: Iterable[Row]) -> Iterator[Row]:
    """Findings that come by capture, in the order of findings."""
    for _, own in groupby(findings, key=lambda finding: int(finding["capture"])):
        yield from sorted(own, key=finding_order)


def reported_order(finding: Row) -> tuple[object, ...]:
    """The order of findings in the report, by what it says."""
    frame = -1 if finding["frame"] is None else finding["frame"]
    return finding["capture"], finding.get("frame_file", 0), frame, text_of(finding)


def finding_order(finding: Row) -> tuple[object, ...]:
    return (
        finding["capture"],
        finding["order"],
        finding["rule"],
        finding["stream"] or "",
    )
