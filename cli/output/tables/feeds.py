"""Two lines that carry the same feed, as a table: values in, rich renderables out."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from seqaudit.cli.output.listing import Column, Field, listing
from seqaudit.cli.output.times import duration
from seqaudit.replay.contract.report_rows import Report


def render_lines(report: Report, limit: int) -> RenderableType:
    """What each line lost, what was lost on both, and which line brings numbers first."""
    fields: Sequence[Field[Any]] = [
        (Column("capture", "right", 6), lambda pair: str(pair["capture"])),
        (Column("lines", worth=9, keeps_end=True), lambda pair: str(pair["id"])),
        (Column("compared", "right", 5), lambda pair: str(pair["compared"])),
        (Column("lost on both", "right", 9), lambda pair: str(pair["lost_on_both"])),
        (Column("recovered", "right", 7), lambda pair: str(pair["recovered"])),
        (Column("lost on A only", "right", 8), lambda pair: str(pair["line_a"]["lost_only_here"])),
        (Column("lost on B only", "right", 8), lambda pair: str(pair["line_b"]["lost_only_here"])),
        (Column("measured", "right", 3), lambda pair: str(pair["measured"])),
        (Column("A first", "right", 4), lambda pair: _share(pair, "line_a")),
        (Column("B first", "right", 4), lambda pair: _share(pair, "line_b")),
        (Column("A leads by p50/p99/max", "right", 2), lambda p: _lead(p["line_a"]["lead_ns"])),
        (Column("B leads by p50/p99/max", "right", 2), lambda p: _lead(p["line_b"]["lead_ns"])),
    ]
    return listing("Lines", report["tables"]["feed"]["lines"], limit, fields)


def _share(pair: Any, line: str) -> str:
    measured = pair["measured"]
    return f"{100 * pair[line]['first'] / measured:.3g} %" if measured else "-"


def _lead(lead: Mapping[str, int | None]) -> str:
    if lead["max"] is None:
        return "-"
    return "/".join(duration(lead[key]) for key in ("p50", "p99", "max"))
