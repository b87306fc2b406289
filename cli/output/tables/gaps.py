"""The table of gaps (replay/README.md 5)."""

from collections.abc import Sequence
from typing import Final

from rich.console import RenderableType

from seqaudit.cli.output.cells import (
    count_of,
    feed_stream,
    frame,
    frames_of,
    gap_seqnos,
    sentence,
)
from seqaudit.cli.output.listing import Column, Field, listing
from seqaudit.cli.output.times import duration
from seqaudit.cli.output.verdict import plural
from seqaudit.replay.contract.report_rows import GapRow, Report, StoryRow

_NUMERIC: Final = "right"


def render_gaps(report: Report, limit: int) -> RenderableType:
    """Every gap: where it was lost, revealed, requested, repaired and delivered, and how fast."""
    gaps = report["gaps"]
    if not gaps:
        streams = len(report["streams"])
        return sentence("Gaps", f"no gaps in {plural(streams, 'stream')}, {frames_of(report)}")
    senders = {
        (stream["capture"], stream["id"]): feed_stream(stream)
        if "feed" in stream
        else stream.get("sender_name")
        for stream in report["streams"]
    }
    numbered = "number" in gaps[0]
    systems = len({gap["system"] for gap in gaps}) > 1
    several = len(report["captures"]) > 1
    fields: Sequence[Field[GapRow] | bool] = [
        numbered and (Column("gap", _NUMERIC, 9), lambda gap: str(gap["number"])),
        several and (Column("capture", _NUMERIC, 7), lambda gap: str(gap["capture"])),
        systems and (Column("system", worth=7), lambda gap: gap["system"]),
        (
            Column("sender", worth=9, keeps_end=any("feed" in row for row in report["streams"])),
            lambda gap: senders.get((gap["capture"], gap["stream"])) or gap["stream"] or "-",
        ),
        (Column("seqnos", _NUMERIC, 8), lambda gap: gap_seqnos(gap, short=True)),
        (Column("count", _NUMERIC, 5), count_of),
        (Column("outcome", worth=9), lambda gap: gap["outcome"]),
        (Column("lost after frame", _NUMERIC, 3), lambda gap: frame(gap, "lost_after_frame")),
        (Column("revealed at frame", _NUMERIC, 7), lambda gap: frame(gap, "revealed_frame")),
        (Column("by", worth=2), lambda gap: gap.get("revealed_by") or "-"),
        (Column("requested", _NUMERIC, 4), lambda gap: frame(gap, "requested_frame")),
        (Column("repaired", _NUMERIC, 6), lambda gap: frame(gap, "repaired_frame")),
        (Column("delivered", _NUMERIC, 2), lambda gap: frame(gap, "delivered_frame")),
        (Column("requested after", _NUMERIC, 1), lambda gap: duration(gap["requested_after_ns"])),
        (Column("repaired after", _NUMERIC, 2), lambda gap: duration(gap["repaired_after_ns"])),
        (Column("delivered after", _NUMERIC, 5), lambda gap: duration(gap["delivered_after_ns"])),
        numbered and (Column("where lost", worth=4), lambda gap: _where(gap["story"])),
    ]
    return listing("Gaps", gaps, limit, fields)


def _where(story: StoryRow) -> str:
    return "-" if story["where"] == "nothing was lost" else story["where"]
