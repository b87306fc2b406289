"""Figures of raims daemons in a spoiled capture's report beside those of the whole one.

What a daemon counted, told and dropped, how its streams fared and what it remembered: never more
than in the whole capture, the same where both have the same, and at the same times.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

#: Counters of ``show loss``.
COUNTERS: Final = ("null_rte", "repeat", "not_sub", "msg_loss", "ibx_loss")
#: Further figures of its rows that a spoiled capture can only have less of.
_LESS: Final = ("told_loss", "false_loss")
#: And of a stream.
_OF_STREAMS: Final = ("unwanted", "ignored", "false_loss", "zero_seqnos")
#: A clock's tick of a daemon, and how long a datagram waits to be read.
TIME_NS: Final = 100_000_000

Row = Mapping[str, Any]
#: Takes a figure, what it is of, its value, and the least and the most that it can be.
Count = Callable[[str, str, int, int, int | None], None]


def of_streams(row: Row, of: Row, count: Count) -> None:
    """Messages of a stream that did not come through, or not for once."""
    for name in _OF_STREAMS:
        if None not in (row.get(name), of.get(name)):
            count(name, row["id"], row[name], 0, of[name])
    known = of.get("lost_by_subject")
    for subject, (least, _) in (row.get("lost_by_subject") or {}).items():
        if known is not None:
            most = known.get(subject, (0, 0))[1]
            count("lost_by_subject", f"{row['id']} {subject}", least, 0, most)


def of_daemons(
    whole: Row, other: Row, same: Mapping[str, bool], count: Count, *, timed: bool
) -> None:
    """Rows of ``show loss`` and of what was joined late.

    Args:
        same: publishers whose streams have the same numbers in both.
        timed: whether both were written by one clock.
    """
    known = _by(whole, "loss", "observer", "bridge")
    to_end = timed and _last_ns(whole) == _last_ns(other)
    for at, row in _by(other, "loss", "observer", "bridge").items():
        of, name_of = known.get(at), " of ".join(at)
        if of is None:
            continue
        for name in (*COUNTERS, *_LESS):
            here, most = row.get(name), of.get(name)
            if name == "told_loss":
                most = most or 0  # null: it told it nothing
            if here is not None and most is not None:
                least = most if name == "msg_loss" and same.get(at[1]) else 0
                count(name, name_of, here, least, most)
        for name in COUNTERS if timed else ():
            if row.get(name) == of.get(name) and None not in (
                row.get(f"{name}_ns"),
                of.get(f"{name}_ns"),
            ):
                _timed(f"{name}_ns", name_of, row, of, count)
        if None not in (row.get("lost_lower"), of.get("lost_upper")):
            count("lost_lower", name_of, row["lost_lower"], 0, of["lost_upper"])
        if same.get(at[1]) and None not in (row.get("lost_upper"), of.get("lost_lower")):
            count("lost_upper", name_of, row["lost_upper"], of["lost_lower"], None)
        if to_end and not {*row["unknown"], *of["unknown"]} & {"dropped_ns"}:
            _timed("dropped_ns", name_of, row, of, count)
    joins = "subscriber", "publisher", "subject", "seqno"
    verdicts = _by(whole, "convergence", *joins)
    for at, row in _by(other, "convergence", *joins).items():
        of = verdicts.get(at)
        if of is not None and {row["verdict"], of["verdict"]} >= {"yes", "no"}:
            count(f"convergence: {row['verdict']}, not {of['verdict']}", " ".join(at), 1, 0, 0)


def _timed(name: str, name_of: str, row: Row, of: Row, count: Count) -> None:
    """A time is that of the whole capture, or in both there is none."""
    here, there = row.get(name), of.get(name)
    if (here is None) != (there is None):
        count(name, name_of, here or 0, there or 0, there or 0)
    elif here is not None and there is not None:
        count(name, name_of, here, there - TIME_NS, there + TIME_NS)


def _last_ns(report: Row) -> int:
    return max((one["last_ns"] or 0 for one in report.get("captures", ())), default=0)


def _by(report: Row, table: str, *names: str) -> dict[tuple[str, ...], Row]:
    rows: Iterator[Row] = iter(report.get("tables", {}).get("raims", {}).get(table, ()))
    return {tuple(str(row[name]) for name in names): row for row in rows}
