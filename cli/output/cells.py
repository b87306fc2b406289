"""Cells of tables: what several tables show alike (cli/README.md 2)."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast

from seqaudit.cli.output.verdict import plural
from seqaudit.replay.contract.capture_rows import CaptureRow
from seqaudit.replay.contract.report_rows import GapRow, Report, StreamRow, more_lost, unproven_lost

if TYPE_CHECKING:
    from rich.console import RenderableType

T = TypeVar("T")

#: Ranges of seqnos shown in one cell; the rest is counted.
RANGES_SHOWN: Final = 4
#: The day of a time frame.
_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\dT")


def count_of(gap: GapRow) -> str:
    """How many are missing; where only bounds are known, these."""
    return _bounds(gap["count"], gap.get("count_upper", gap["count"]))


def counted(stream: StreamRow, name: str) -> str:
    """A count of a stream; of what was lost where only bounds are known, these."""
    told = cast("int | None", stream.get(name))
    if name not in ("lost", "unrecovered") or told is None:
        return count(told)
    more = more_lost(stream)
    least = max(told - unproven_lost(stream), 0)
    return _bounds(least, None if more is None else told + more)


def _bounds(least: int, most: int | None) -> str:
    if least == most:
        return f"{least}"
    return f"{least} or more" if most is None else f"{least} to {most}"


def gap_seqnos(gap: GapRow, *, short: bool = False) -> str:
    """What is missing: in the protocol's own words where it has some.

    Args:
        short: of time frames without their day.
    """
    shown: str | None = gap.get("shown")
    if shown is None:
        return seqno_ranges(gap["seqnos"])
    return without_day(shown) if short else shown


def without_day(text: str) -> str:
    """Time frames without their day."""
    return _DAY.sub("", text)


def seqno_ranges(ranges: Sequence[Sequence[int]]) -> str:
    """``3, 5-9, 12`` and how many ranges more."""
    shown = [f"{a}" if a == b else f"{a}-{b}" for a, b in ranges[:RANGES_SHOWN]]
    more = len(ranges) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or "-"


def sentence(title: str, text: str) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    return Group(Text(title, style="bold"), Text(text), Text(""))


def limited(rows: Sequence[T], limit: int) -> tuple[Sequence[T], int]:
    if limit <= 0 or len(rows) <= limit:
        return rows, 0
    return rows[:limit], len(rows) - limit


def frames_of(report: Report) -> str:
    return plural(report["totals"]["frames"], "frame")


def count(value: object) -> str:
    return "-" if value is None else f"{value}"


def frame(gap: Mapping[str, object], key: str) -> str:
    number = gap.get(f"{key}_file")
    return count(gap.get(key)) + (f" of file {number + 1}" if isinstance(number, int) else "")


def feed_stream(stream: StreamRow) -> str:
    """What tells a stream of a feed from others: its key and its line."""
    return " ".join(part for part in str(stream["id"]).split("|") if part)


def hop_lane(stream: StreamRow) -> str:
    """What tells the streams of two zenoh nodes' transport apart; nothing for others."""
    if stream.get("kind") != "transport":
        return ""
    return f"(priority {stream['priority']}{'' if stream['reliable'] else ', best effort'})"


def subject_of(stream: StreamRow) -> str | None:
    """The subject of a stream of raims; of a path that numbers all its subjects, that."""
    subject = stream.get("subject")
    return f"all (path {subject[1:]})" if subject and subject.startswith("#") else subject


def capture_name(capture: CaptureRow) -> str:
    """The path of a capture; of a rotated one its first file and how many follow."""
    more = len(capture["files"]) - 1
    return str(capture["path"]) + (f" (+{more})" if more else "")
