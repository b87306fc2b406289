"""Findings as people read them: the gravest first, each with what shows it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from seqaudit.cli.output.cells import capture_name, frames_of, limited, sentence
from seqaudit.cli.output.listing import Column, Lines, Listing
from seqaudit.cli.output.outcomes import gravest_first
from seqaudit.cli.output.several import findings_by_rule, numbers
from seqaudit.cli.output.text import filter_of, frame_at, safe
from seqaudit.cli.output.times import TimeStyle, time_formatter
from seqaudit.cli.output.verdict import plural
from seqaudit.replay.contract.report_rows import EvidenceRow, Report

_SEVERITY_STYLE: Final = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_NUMERIC: Final = "right"


def render_findings(report: Report, style: TimeStyle, limit: int) -> RenderableType:
    """Findings, the gravest first: what, how sure, where, the evidence, and the display filter."""
    findings = report["findings"]
    if not findings:
        streams = len(report["streams"])
        return sentence(
            "Findings", f"no findings in {plural(streams, 'stream')}, {frames_of(report)}"
        )
    starts = {capture["capture"]: capture["first_ns"] for capture in report["captures"]}
    names = {capture["capture"]: capture_name(capture) for capture in report["captures"]}
    shown, more = limited(gravest_first(findings), limit)
    lines: list[tuple[Text | str, int]] = [(Text("Findings", style="bold"), 0)]
    for finding in shown:
        show_time = time_formatter(style, starts.get(finding["capture"]))
        head = Text(f"{finding['number']}. " if "number" in finding else "")
        head.append(f"{finding['rule']} ", style="bold")
        head.append(finding["severity"], style=_SEVERITY_STYLE.get(finding["severity"], ""))
        head.append(f" {safe(finding['name'])} ({finding['certainty']})", style="")
        lines.append((head, 0))
        where = safe(names[finding["capture"]])
        if finding["frame"] is not None:
            # Where a wait ended or nothing answered, its time is behind that of its frame.
            where += f" at {show_time(finding['at_ns'])}, frame {frame_at(finding)}"
        if "subject" in finding:
            where += f", on {safe(finding['subject'])}"
        lines.append((Text(where), 2))
        lines.append((finding["text"], 2))
        lines += [(line, 4) for line in _shown(finding["evidence"])]
        lines.append((Text(f"filter: {filter_of(finding)}"), 2))
    if more:
        lines.append((Text(f"... and {more:,} more; --limit 0 shows all", style="dim"), 0))
    parts: list[RenderableType] = [Lines(lines), Text("")]
    if more:
        columns = [
            Column("rule", worth=9),
            Column("name", worth=7),
            Column("severity", worth=8),
            Column("findings", _NUMERIC, 8),
            Column("captures", _NUMERIC, 5),
        ]
        parts.append(Listing("Findings by rule", columns, findings_by_rule(report)))
    return Group(*parts)


def _shown(evidence: Sequence[EvidenceRow]) -> Iterator[str]:
    """A line for each thing that frames show, with those that show it one after the other."""
    for (shows, file), alike in groupby(evidence, lambda e: (e["shows"], e.get("file"))):
        frames = {entry["frame"] for entry in alike if entry["frame"] is not None}
        where = f" of {file}" if file is not None else ""
        yield f"frame{'s' if len(frames) > 1 else ''} {numbers(frames)}{where}: {shows}"
