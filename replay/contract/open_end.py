"""What was missing when a capture ended: lost, or still on its way, as only the report can tell.

An engine knows the end of its own conversation, which may be long before that of the capture. So it
says until when what is missing counts as open, and its rows are settled here.
"""

from collections.abc import Mapping
from typing import Final, cast

from seqaudit.replay.contract.results import D, Row
from seqaudit.replay.sequence.gap_rows import GapFigures
from seqaudit.replay.sequence.gaps import Outcome
from seqaudit.replay.sequence.ranges import RangeSet, inclusive

#: What a row of a stream, or of two lines, says otherwise if the capture ended before its
#: ``open_until_ns``: without it, it says that all that was missing then is lost.
IF_OPEN: Final = "if_open"


def unless_open(row: D, open_: RangeSet, count: int, until_ns: int | None, **instead: object) -> D:
    """A row, with what it says otherwise if the capture ended before ``until_ns``.

    Args:
        open_, count: what is open then.
        until_ns: null: nothing is.
        instead: figures that it changes.
    """
    if until_ns is None:
        return row
    told = {"open_at_end": count, "open_at_end_seqnos": inclusive(open_), "open_until_ns": until_ns}
    return with_open(row, instead | told)


def with_open(row: D, if_open: Mapping[str, object]) -> D:
    """A row, with what it says otherwise under a key that its type does not have: ``settled`` takes
    it off again."""
    return cast(D, {**row, IF_OPEN: if_open})


def settled(row: D, end_ns: int | None) -> D:
    """A stream, or two lines, of a capture that ended then: what is open is not lost, or is lost.

    Args:
        row: with ``if_open`` where something is open; others are as they were.
        end_ns: of the capture; null: it has no time.
    """
    if_open = cast(Row | None, row.get(IF_OPEN))
    if if_open is None:
        return row
    told = {key: value for key, value in row.items() if key != IF_OPEN}
    return cast(D, told | if_open if _open(if_open["open_until_ns"], end_ns) else told)


def settled_gap(gap: GapFigures, end_ns: int | None) -> GapFigures:
    """A gap of a capture that ended then: what had not come may come yet, and the original of what
    was repaired."""
    until = gap.get("open_until_ns")
    if until is None:
        return gap
    told = gap.copy()
    del told["open_until_ns"]
    if _open(until, end_ns):
        came = told["outcome"] == Outcome.RECOVERED
        told["outcome"] = str(Outcome.EITHER if came else Outcome.CUT_OFF)
        told.pop("placed", None)  # nobody can tell where it was lost, if it was
    return told


def _open(until_ns: int, end_ns: int | None) -> bool:
    return (end_ns or 0) < until_ns
