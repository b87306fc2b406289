"""``--sort``: in which order a listing shows the rows of a report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Row = Mapping[str, Any]

#: As the report has them.
REPORT: Final = "report"


def _took(gap: Row) -> int | None:
    """From when a gap showed until all of it had come and was handed on; null if it never did."""
    ends = [s["after_ns"] for s in gap["story"]["steps"] if s["step"] in ("came", "handed on")]
    return max((after for after in ends if after is not None), default=None)


#: Of each listing its orders: the most of the figure first. Null, which cannot be told, is last.
_ORDERS: Final[Mapping[str, Mapping[str, Callable[[Row], int | None]]]] = {
    "streams": {
        "lost": lambda row: row["lost"],
        "unrecovered": lambda row: row["unrecovered"],
        "messages": lambda row: row["messages"],
        "copies": lambda row: row["copies"],
        "gaps": lambda row: row["gaps"],
        "slowest": lambda row: (row.get("recovery_ns") or {}).get("max"),
    },
    "gaps": {
        "count": lambda row: row["count"],
        "requests": lambda row: row["requests"],
        "slowest": _took,
        "time": lambda row: None if row["revealed_at_ns"] is None else -row["revealed_at_ns"],
    },
}


def orders(part: str) -> Sequence[str]:
    """What ``--sort`` takes for a listing; none for one that has its own order."""
    return [REPORT, *_ORDERS[part]] if part in _ORDERS else []


def in_order(part: str, rows: Sequence[Row], order: str) -> Sequence[Row]:
    """The rows in an order; those that are alike stay as the report has them."""
    if order == REPORT:
        return rows
    figure = _ORDERS[part][order]

    def rank(row: Row) -> tuple[bool, int]:
        value = figure(row)
        return value is None, -(value or 0)

    return sorted(rows, key=rank)
