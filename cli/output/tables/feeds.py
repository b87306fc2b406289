"""Two lines that carry the same feed, as a table: values in, rich renderables out."""

from collections.abc import Mapping

from rich.console import RenderableType

from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.times import duration
from seqaudit.replay.contract.report_rows import Report


def render_lines(report: Report, limit: int) -> RenderableType:
    """What each line lost, what was lost on both, and which line brings numbers first."""
    columns = [
        Column("capture", "right", 6),
        Column("lines", worth=9, keeps_end=True),
        Column("compared", "right", 5),
        Column("lost on both", "right", 9),
        Column("recovered", "right", 7),
        Column("lost on A only", "right", 8),
        Column("lost on B only", "right", 8),
        Column("measured", "right", 3),
        Column("A first", "right", 4),
        Column("B first", "right", 4),
        Column("A leads by p50/p99/max", "right", 2),
        Column("B leads by p50/p99/max", "right", 2),
    ]
    rows = [
        [
            str(pair["capture"]),
            str(pair["id"]),
            *(str(pair[key]) for key in ("compared", "lost_on_both", "recovered")),
            *(str(pair[line]["lost_only_here"]) for line in ("line_a", "line_b")),
            str(pair["measured"]),
            *(_share(pair[line]["first"], pair["measured"]) for line in ("line_a", "line_b")),
            *(_lead(pair[line]["lead_ns"]) for line in ("line_a", "line_b")),
        ]
        for pair in report["tables"]["feed"]["lines"]
    ]
    shown = rows[:limit] if limit > 0 else rows
    return Listing("Lines", columns, shown, len(rows) - len(shown))


def _share(first: int, measured: int) -> str:
    return f"{100 * first / measured:.3g} %" if measured else "-"


def _lead(lead: Mapping[str, int | None]) -> str:
    if lead["max"] is None:
        return "-"
    return "/".join(duration(lead[key]) for key in ("p50", "p99", "max"))
