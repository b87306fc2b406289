"""What the script of a page draws and lists, as one block of JSON.

Texts are made safe to show and nothing in the block can end it: it is ASCII, and "<", ">" and "&"
are written as escapes. Texts that come again and again stand in the block once, in its last part.
Times are ns after the first frame of their capture, seqnos of a picture count from the first of
their gap: a browser's numbers have 53 bits.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from seqaudit.cli.output.budget import named
from seqaudit.cli.output.cells import capture_name
from seqaudit.cli.output.listing import Listing
from seqaudit.cli.output.plot import came_at
from seqaudit.cli.output.points import Point
from seqaudit.cli.output.story import step_frame, story_lines, who
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.verdict import UNITS
from seqaudit.cli.output.windows import fullest_first, window_title
from seqaudit.replay.contract.capture_rows import CaptureRow
from seqaudit.replay.contract.report_rows import GapRow, Report, StreamRow

Key = tuple[int, str]

#: Marks of the sequence plot that a step of a gap's story is drawn as.
_MARKS: Final = {"asked": "?", "came": "o", "never came": "x"}


class Texts:
    """Texts by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: object) -> int:
        """The number that stands for a text."""
        return self._numbers.setdefault(safe(text), len(self._numbers))

    def all(self) -> list[str]:
        return list(self._numbers)


def block(
    report: Report,
    tables: Sequence[Listing],
    gaps: Sequence[GapRow],
    findings: Mapping[int, list[int]],
    points: Mapping[int, Sequence[Point]],
    names: Mapping[str, str],
) -> Iterator[str]:
    """The text of the block, piece by piece.

    Args:
        tables: in the order of their places on the page.
        gaps: those that the page shows, with their numbers, in the order of their table's rows.
        findings: numbers of the findings about each of them, by its number.
        points: what events show round some of them, by its number.
        names: whole identities by what is shown of them.
    """
    starts = {capture["capture"]: capture["first_ns"] or 0 for capture in report["captures"]}
    texts = Texts()
    yield '{"captures":'
    yield _json([_capture(capture) for capture in report["captures"]])
    yield ',"tables":['
    for index, table in enumerate(tables):
        yield ("," if index else "") + "\n" + _json(_table(table))
    yield '],"streams":['
    places: dict[Key, int] = {}
    for index, stream in enumerate(report["streams"]):
        places[stream["capture"], stream["id"]] = index
        yield ("," if index else "") + "\n" + _json(_stream(stream, starts[stream["capture"]]))
    yield '],"gaps":['
    paths = {capture["capture"]: capture["path"] for capture in report["captures"]}
    for index, gap in enumerate(gaps):
        start = starts[gap["capture"]]
        row = _gap(gap, start, texts, paths[gap["capture"]])
        row["stream"] = places.get((gap["capture"], gap["stream"]))
        row["findings"] = findings.get(gap["number"], [])
        seen = points.get(gap["number"])
        first = gap["seqnos"][0][0]
        marks = [[p.at_ns - start, p.seqno - first, p.mark] for p in seen or ()]
        row["points"] = marks or None
        yield ("," if index else "") + "\n" + _json(row)
    yield '],"windows":'
    yield _json(list(_windows(report, starts)))
    yield ',"names":'
    yield _json(names)
    yield ',"texts":'
    yield _json(texts.all()) + "}"


def _capture(capture: CaptureRow) -> dict[str, object]:
    start = capture["first_ns"]
    return {
        "name": safe(capture_name(capture)),
        "start": None if start is None else str(start),
        "length": None if start is None else (capture["last_ns"] or start) - start,
    }


def _table(table: Listing) -> dict[str, object]:
    return {
        "title": table.title,
        "columns": [
            [column.header, column.align == "right", column.worth] for column in table.columns
        ],
        "rows": [[safe(cell) for cell in row] for row in table.rows],
        "more": table.more,
    }


def _stream(stream: StreamRow, start: int) -> list[object]:
    first, last = stream.get("first_ns"), stream.get("last_ns")
    return [
        stream["capture"],
        safe(named(stream)),
        None if first is None else first - start,
        None if last is None else last - start,
    ]


def _gap(gap: GapRow, start: int, texts: Texts, path: str) -> dict[str, object]:
    def after(at_ns: int | None) -> int | None:
        return None if at_ns is None else at_ns - start

    steps = gap["story"]["steps"]
    return {
        "number": gap["number"],
        "capture": gap["capture"],
        "system": texts.number(gap["system"]),
        "unit": texts.number(UNITS.get(gap["system"], "message")),
        "outcome": texts.number(gap["outcome"]),
        "first": str(gap["seqnos"][0][0]),
        "count": gap["count"],
        "shown": after(gap["revealed_at_ns"]),
        "came": after(came_at(gap)),
        "steps": [
            [
                after(step["at_ns"]),
                step["after_ns"],
                texts.number(step["step"]),
                texts.number("" if step["frame"] is None else step_frame(step)),
                texts.number(who(step)),
                texts.number(step["says"]),
                _MARKS.get(step["step"]),
            ]
            for step in steps
        ],
        "lines": [texts.number(line) for line in story_lines(gap, path)],
        "ranges": [[a - gap["seqnos"][0][0], b - gap["seqnos"][0][0]] for a, b in gap["seqnos"]],
    }


def _windows(report: Report, starts: Mapping[int, int]) -> Iterator[dict[str, object]]:
    """How full windows were, in steps [when, how much]; the fullest of a capture first."""
    streams = {(stream["capture"], stream["id"]): stream for stream in report["streams"]}
    for row in fullest_first(report["windows"]):
        start = starts[row["capture"]]
        yield {
            "capture": row["capture"],
            "title": safe(window_title(row, streams.get((row["capture"], row["stream"] or "")))),
            "limit": row["limit"],
            "most": row["most"],
            "steps": [[at_ns - start, value] for at_ns, value in row["points"]],
        }


def _json(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
