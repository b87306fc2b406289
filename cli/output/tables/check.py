"""A check as tables: what was exceeded first, and a verdict last."""

from collections.abc import Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from seqaudit.cli.output.budget import Line, Result, verdict_of
from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.verdict import plural

_ORDER: Final = (Result.EXCEEDED, Result.UNKNOWN, Result.KEPT)


def render_check(lines: Sequence[Line]) -> list[RenderableType]:
    """Budget lines by how they ended, then how many of each there are."""
    columns = [
        Column("result", worth=9),
        Column("capture", worth=8, keeps_end=True),
        Column("stream", worth=9),
        Column("budget", worth=9),
        Column("limit", "right", 8),
        Column("measured", "right", 9),
        Column("why", worth=4, folds=True),
    ]
    rows = [
        [line.result, line.path, line.about or "-", line.figure, line.limit, line.measured,
         line.why or "-"]
        for line in sorted(lines, key=lambda line: _ORDER.index(line.result))
    ]  # fmt: skip
    parts: list[RenderableType] = [Listing("Budget", columns, rows)] if rows else []
    return [*parts, Text(safe(sentence(lines)), style="bold")]


def sentence(lines: Sequence[Line]) -> str:
    """``12 budget lines: 10 kept, 1 exceeded, 1 too little to judge.``"""
    if not lines:
        return "No stream and no finding is under this budget: nothing was exceeded."
    counts = [
        f"{sum(line.result is result for line in lines):,} {result}"
        for result in reversed(_ORDER)
        if any(line.result is result for line in lines)
    ]
    return f"{plural(len(lines), 'budget line')}: {', '.join(counts)}: {verdict_of(lines)}."
