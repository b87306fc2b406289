"""The table of recovery queries (zenoh.md 9)."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from seqaudit.cli.output.cells import seqno_ranges
from seqaudit.cli.output.listing import Column, Field, listing
from seqaudit.cli.output.times import TimeStyle, duration, time_formatter
from seqaudit.replay.contract.report_rows import QueryRow, Report


def render_recovery(report: Report, style: TimeStyle, limit: int) -> list[RenderableType]:
    """Every query in the order of the capture."""
    queries = sorted(report["queries"], key=lambda query: (query["capture"], query["frame"]))
    if not queries:
        return [Text(f"no recovery query in {report['totals']['frames']:,} frames")]
    stamps = {n: time_formatter(style, c["first_ns"]) for n, c in enumerate(report["captures"])}
    fields: Sequence[Field[QueryRow] | bool] = [
        len(stamps) > 1 and (Column("capture", "right", 6), lambda query: str(query["capture"])),
        (Column("frame", "right", 7), lambda query: str(query["frame"])),
        (Column("at", worth=4, whole=True), lambda q: stamps[q["capture"]](q["at_ns"])),
        (Column("for", worth=8), lambda query: query["sort"]),
        (Column("source", worth=6), lambda query: query["source"] or "all"),
        (Column("parameters", worth=2), lambda query: query["parameters"]),
        (Column("replies", "right", 7), lambda query: str(query["replies"])),
        (Column("sns", "right", 5), lambda query: seqno_ranges(query["reply_seqnos"])),
        (Column("recovered", "right", 8), lambda query: str(query["recovered"])),
        (Column("cache", worth=3), lambda query: ", ".join(query["caches"]) or "-"),
        (Column("took", "right", 6), lambda query: duration(query["duration_ns"])),
        (Column("outcome", worth=9), lambda query: query["outcome"]),
    ]
    return [listing("Recovery", queries, limit, fields)]
