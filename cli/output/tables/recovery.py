"""The table of recovery queries (zenoh.md 9)."""

from rich.console import RenderableType
from rich.text import Text

from seqaudit.cli.output.cells import seqno_ranges
from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.times import TimeStyle, duration, time_formatter
from seqaudit.replay.contract.report_rows import Report

COLUMNS = (
    Column("capture", "right", 6),
    Column("frame", "right", 7),
    Column("at", worth=4, whole=True),
    Column("for", worth=8),
    Column("source", worth=6),
    Column("parameters", worth=2),
    Column("replies", "right", 7),
    Column("sns", "right", 5),
    Column("recovered", "right", 8),
    Column("cache", worth=3),
    Column("took", "right", 6),
    Column("outcome", worth=9),
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
    more = len(rows) - len(shown)
    if len(report["captures"]) == 1:
        return Listing("Recovery", COLUMNS[1:], [row[1:] for row in shown], more)
    return Listing("Recovery", COLUMNS, shown, more)
