"""A report, or a check, as rows for other tools: JSON lines, and CSV."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from seqaudit.replay.contract.report_rows import Report

#: Parts of a report that are rows, in the order of the report's own keys.
PARTS: Final = (
    "captures", "unreadable", "members", "views", "streams", "connections", "both_ends", "gaps",
    "queries", "windows", "findings", "parameters",
)  # fmt: skip

_COLUMNS: Final = (
    "capture", "path", "file", "rule", "name", "severity", "certainty", "system", "stream", "frame",
    "at_ns", "seqnos", "text", "filter",
)  # fmt: skip

_OF_CHECK: Final = ("result", "capture", "path", "stream", "about", "figure", "limit", "measured",
                    "why")  # fmt: skip


def jsonl(report: Report) -> Iterator[str]:
    """One JSON object a line: each row with the part it is of, the totals last."""
    for part in PARTS:
        for row in report[part]:
            yield json.dumps({"part": part, **row}, sort_keys=True) + "\n"
    yield json.dumps({"part": "totals", **report["totals"]}, sort_keys=True) + "\n"


def table(report: Report) -> Iterator[str]:
    """Findings as CSV (RFC 4180), with a header; no cell is one that a spreadsheet computes."""
    paths = {capture["capture"]: capture["path"] for capture in report["captures"]}
    rows = (
        {
            **finding,
            "path": paths[finding["capture"]],
            "seqnos": " ".join(f"{a}-{b}" for a, b in finding["seqnos"]),
        }
        for finding in report["findings"]
    )
    yield from _csv(_COLUMNS, rows)  # file: of captures of several only


def jsonl_of_check(check: Mapping[str, Any]) -> Iterator[str]:
    """One JSON object a line: each budget line, the result last."""
    for line in check["lines"]:
        yield json.dumps({"part": "lines", **line}, sort_keys=True) + "\n"
    yield json.dumps({"part": "result", "result": check["result"]}, sort_keys=True) + "\n"


def table_of_check(check: Mapping[str, Any]) -> Iterator[str]:
    """Budget lines as CSV."""
    yield from _csv(_OF_CHECK, check["lines"])


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    yield _line(columns)
    for row in rows:
        values = (row.get(column) for column in columns)
        yield _line(["" if value is None else value for value in values])


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(_plain(cell) for cell in cells)
    return text.getvalue()


def _plain(cell: object) -> object:
    formula = (
        isinstance(cell, str) and len(cell) > 1 and cell[0] in ("=", "+", "-", "@", "\t", "\r")
    )
    return f"'{cell}" if formula else cell
