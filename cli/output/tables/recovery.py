"""The table of recovery queries (zenoh.md 9)."""

from rich.console import RenderableType
from rich.text import Text

from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.table import Report, seqno_ranges
from seqaudit.cli.output.times import TimeStyle, duration, time_formatter

COLUMNS = (
    Column("#", "right"),
    Column("frame", "right"),
    Column("at"),
    Column("for"),
    Column("source"),
    Column("parameters"),
    Column("replies", "right"),
    Column("sns", "right"),
    Column("recovered", "right"),
    Column("cache"),
    Column("took", "right"),
    Column("outcome"),
)


def render_recovery(report: Report, style: TimeStyle, limit: int) -> RenderableType:
    """Every query in the order of the capture."""
    queries = sorted(report["queries"], key=lambda query: (query["capture"], query["frame"]))
    if not queries:
        return Text(f"no recovery query in {report['totals']['frames']:,} frames")
    stamps = {n: time_formatter(style, c["first_ns"]) for n, c in enumerate(report["captures"])}
    rows = [
        [
            str(query["capture"]),
            str(query["frame"]),
            stamps[query["capture"]](query["at_ns"]),
            query["sort"],
            query["source"] or "all",
            query["parameters"],
            str(query["replies"]),
            seqno_ranges(query["reply_seqnos"]) if query["reply_seqnos"] else "-",
            str(query["recovered"]),
            ", ".join(query["caches"]) or "-",
            duration(query["duration_ns"]),
            query["outcome"],
        ]
        for query in queries
    ]
    shown = rows[:limit] if limit else rows
    return Listing("Recovery", list(COLUMNS), shown, len(rows) - len(shown))
