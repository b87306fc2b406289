"""The table of gaps (replay/README.md 5)."""

from typing import Final

from rich.console import RenderableType

from seqaudit.cli.output.cells import (
    count_of,
    feed_stream,
    frame,
    frames_of,
    gap_seqnos,
    limited,
    sentence,
)
from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.times import duration
from seqaudit.cli.output.verdict import plural
from seqaudit.replay.contract.report_rows import Report, StoryRow

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
    columns = [
        *([Column("gap", _NUMERIC, 9)] if numbered else []),
        *([Column("capture", _NUMERIC, 7)] if several else []),
        *([Column("system", worth=7)] if systems else []),
        Column("sender", worth=9, keeps_end=any("feed" in stream for stream in report["streams"])),
        Column("seqnos", _NUMERIC, 8),
        Column("count", _NUMERIC, 5),
        Column("outcome", worth=9),
        Column("lost after frame", _NUMERIC, 3),
        Column("revealed at frame", _NUMERIC, 7),
        Column("by", worth=2),
        Column("requested", _NUMERIC, 4),
        Column("repaired", _NUMERIC, 6),
        Column("delivered", _NUMERIC, 2),
        Column("requested after", _NUMERIC, 1),
        Column("repaired after", _NUMERIC, 2),
        Column("delivered after", _NUMERIC, 5),
        *([Column("where lost", worth=4)] if numbered else []),
    ]
    rows = [
        [
            *([str(gap["number"])] if numbered else []),
            *([str(gap["capture"])] if several else []),
            *([gap["system"]] if systems else []),
            senders.get((gap["capture"], gap["stream"])) or gap["stream"] or "-",
            gap_seqnos(gap, short=True),
            count_of(gap),
            gap["outcome"],
            frame(gap, "lost_after_frame"),
            frame(gap, "revealed_frame"),
            gap.get("revealed_by") or "-",
            frame(gap, "requested_frame"),
            frame(gap, "repaired_frame"),
            frame(gap, "delivered_frame"),
            duration(gap.get("requested_after_ns")),
            duration(gap.get("repaired_after_ns")),
            duration(gap.get("delivered_after_ns")),
            *([_where(gap["story"])] if numbered else []),
        ]
        for gap in gaps
    ]
    shown, more = limited(rows, limit)
    return Listing("Gaps", columns, shown, more)


def _where(story: StoryRow) -> str:
    return "-" if story["where"] == "nothing was lost" else story["where"]
