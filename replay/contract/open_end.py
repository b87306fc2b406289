"""What was missing when a capture ended: lost, or still on its way, as only the report can tell.

An engine knows the end of its own conversation, which may be long before that of the capture. So it
says until when what is missing counts as open, and its rows are settled here.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from seqaudit.replay.sequence.gaps import GapFigures, Outcome
from seqaudit.replay.sequence.ranges import RangeSet, inclusive

#: The figures of rows that count what is missing, of streams and of pairs of lines.
_COUNTS: Final = ("lost", "unrecovered", "lost_on_both")

#: Those that list it.
_SEQNOS: Final = ("unrecovered_seqnos", "lost_on_both_seqnos")


def settled(row: Mapping[str, Any], end_ns: int | None) -> Mapping[str, Any]:
    """A stream, or two lines, of a capture that ended then: what is open is not lost, or is lost.

    Args:
        row: with ``open_until_ns`` where something is open; others are as they were.
        end_ns: of the capture; null: it has no time.
    """
    until = row.get("open_until_ns")
    if until is None:
        return row
    if not _open(until, end_ns):
        return {**row, "open_at_end": 0, "open_at_end_seqnos": [], "open_until_ns": None}
    told: dict[str, Any] = {key: row[key] - row["open_at_end"] for key in _COUNTS if key in row}
    for key in _SEQNOS:
        if key in row:
            lost = RangeSet((first, last + 1) for first, last in row[key])
            for first, last in row["open_at_end_seqnos"]:
                lost.remove(first, last + 1)
            told[key] = inclusive(lost)
    return {**row, **told}


def settled_gap(gap: GapFigures, end_ns: int | None) -> GapFigures:
    """A gap of a capture that ended then."""
    until = gap.get("open_until_ns")
    if until is None:
        return gap
    outcome = Outcome.CUT_OFF if _open(until, end_ns) else Outcome.UNRECOVERED
    told = {key: value for key, value in gap.items() if key != "open_until_ns"}
    return cast(GapFigures, told | {"outcome": str(outcome)})


def _open(until_ns: int, end_ns: int | None) -> bool:
    return (end_ns or 0) < until_ns
