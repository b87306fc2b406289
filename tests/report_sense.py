"""What a report says twice has to be the same: what ``tests/conftest.py`` does with every report.

Types say that a figure is there (``tests/report_types.py``); this says that figures, rows and
findings of one report do not contradict each other.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from seqaudit.replay.contract.report_rows import GapRow, Report, StreamRow

#: Figures that are null with a reason of their own, or because nobody was handed anything.
_LOSSES: Final = ("lost", "recovered", "unrecovered")

#: A figure's parts have its name and one of these behind it. Numbers that are listed, and how many
#: are proven, say how much it is at least.
_PART: Final = re.compile(r"(?P<whole>\w+)_(by_subject|unsure|upper)")
#: And those that have names of their own.
_PARTS: Final = {
    "rows": "delivered", "unwanted": "delivered", "ignored": "delivered",
    "subscribers": "delivered",
}  # fmt: skip

#: What has no rows inside.
_NO_ROWS: Final = frozenset({str, int, float, bool, type(None)})

Ranges = Sequence[Sequence[int]]


def contradictions(report: Report) -> list[str]:
    """Where a report is not at one with itself, a line each; nothing is said of one with parts
    missing because seqaudit failed there."""
    if any("exception" in finding for finding in report["findings"]):
        return []
    gaps: dict[tuple[int, str, str], list[GapRow]] = defaultdict(list)
    for gap in report["gaps"]:
        gaps[gap["capture"], gap["system"], gap["stream"]].append(gap)
    places = [(row["capture"], row["system"], row["id"]) for row in report["streams"]]
    found = [f"two streams are called {place}" for place, n in Counter(places).items() if n > 1]
    named = {*places, *_of_tables(report)}
    found += [f"gaps of {place}, which is no stream" for place in gaps.keys() - named]
    for place, stream in zip(places, report["streams"], strict=True):
        found += [f"{place}: {what}" for what in _of_stream(stream, len(gaps[place]))]
    found += [f"a gap of {place}: {what}" for place in gaps for what in _of_gaps(gaps[place])]
    found += _of_findings(report, named)
    return [*found, *_of_parts(report)]


@cache
def _whole_of(name: str) -> str | None:
    """The figure of which one of this name is a part; null: of none."""
    part = _PART.fullmatch(name)
    return _PARTS.get(name) if part is None else part["whole"]


def _of_parts(report: Report) -> list[str]:
    """Of what cannot be told its parts cannot either, in every row; a list of none says nothing.

    Every report of every test is walked through, so what holds no rows is passed over.
    """
    found: list[str] = []
    left: list[tuple[Any, str]] = [(report, "")]
    while left:
        value, place = left.pop()
        if not isinstance(value, dict):
            left += [(one, place) for one in value if type(one) not in _NO_ROWS]
            continue
        for name, part in value.items():
            whole = _whole_of(name)
            if whole is not None and part not in (None, []) and value.get(whole, 0) is None:
                found.append(f"{place}: {name} is {part}, and {whole} cannot be told")
            if type(part) not in _NO_ROWS and part:
                left.append((part, f"{place}/{name}"))
    return found


def _of_tables(report: Report) -> Iterator[tuple[int, str, str]]:
    """What has a name and is no stream of its own: two lines that carry the same numbers."""
    for system, tables in report.get("tables", {}).items():
        for row in (row for table in tables.values() for row in table if "id" in row):
            yield row["capture"], system, row["id"]


def _of_stream(stream: StreamRow, rows: int) -> Iterator[str]:
    row: dict[str, Any] = {**stream}
    if row["copies"] != row["arrivals"] - row["messages"] - row.get("further_sends", 0):
        yield f"{row['arrivals']} arrivals, {row['messages']} messages, {row['copies']} copies"
    if row["gaps"] > rows + row.get("unlisted_gaps", 0) or (rows and not row["gaps"]):
        yield f"{row['gaps']} gaps, {rows} rows of gaps"
    lost, recovered, unrecovered = (row[name] for name in _LOSSES)
    if None not in (lost, recovered, unrecovered) and lost != recovered + unrecovered:
        yield f"lost {lost} is not {recovered} + {unrecovered}"
    why: dict[str, str] = row.get("unknown", {})
    for name in _LOSSES if "unknown" in row else ():
        if row[name] is None and not {name, "lost", "delivered"} & why.keys():
            yield f"{name} is null, and nothing says why"
        if row[name] is not None and name in why:
            yield f"{name} is {row[name]}, and cannot be told: {why[name]}"
    for name in ("lost", "unrecovered"):
        listed = row.get(f"{name}_seqnos")
        if listed is not None and row[name] is not None and _size(listed) > row[name]:
            yield f"{name} {row[name]}, of which {_size(listed)} are listed"
    if row.get("delivered") and isinstance(row["delivered"][0][0], int):
        for first, last in row.get("unrecovered_seqnos") or ():
            if any(low <= last and first <= high for low, high in row["delivered"]):
                yield f"delivered, and not recovered: {first} to {last}"


def _of_gaps(gaps: Sequence[GapRow]) -> Iterator[str]:
    for gap in gaps:
        if gap["count"] < 1:
            yield f"{gap['count']} seqnos"
        if (gap["requests"] > 0) != (gap["requested_frame"] is not None):
            yield f"{gap['requests']} requests, the first in frame {gap['requested_frame']}"
        if gap["outcome"] == "unrecovered" and gap["repaired_frame"] is not None:
            yield f"unrecovered, and repaired in frame {gap['repaired_frame']}"


def _of_findings(report: Report, streams: set[tuple[int, str, str]]) -> Iterator[str]:
    rules = Counter(finding["rule"] for finding in report["findings"])
    for row in report["rules"]:
        if row["findings"] != rules[row["rule"]]:
            yield f"{row['rule']} has {rules[row['rule']]} findings, not {row['findings']}"
    severities = Counter(finding["severity"] for finding in report["findings"])
    for severity, number in report["totals"]["findings"].items():
        if severities[severity] != number:  # type: ignore[index]
            yield f"{severities[severity]} findings are {severity}, not {number}"  # type: ignore[index]
    lost, upper = report["totals"]["lost"], report["totals"]["lost_upper"]
    if upper is not None and (lost is None or upper < lost):
        yield f"{lost} lost in all, at most {upper}"
    frames = report["totals"]["frames"]  # a file of several networks is a capture for each
    ends = {(row["system"], row["id"]) for row in report["both_ends"]}
    for finding in report["findings"]:
        place = finding["capture"], finding["system"], finding["stream"]
        if finding["stream"] is not None and place not in streams and place[1:] not in ends:
            yield f"{finding['rule']} is of {place}, which is no stream"
        for shown in (finding, *finding["evidence"]):
            if shown["frame"] is not None and not 1 <= shown["frame"] <= frames:
                yield f"{finding['rule']} names frame {shown['frame']}"


def _size(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)
