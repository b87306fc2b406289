"""A check as tables: what was exceeded first, and a verdict last."""

from collections.abc import Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from seqaudit.cli.output.budget import BudgetLine, BudgetResult
from seqaudit.cli.output.cells import limited
from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.verdict import plural

HEADER: Final = ("result", "capture", "stream", "budget", "limit", "measured", "why")
_ORDER: Final = (BudgetResult.EXCEEDED, BudgetResult.UNKNOWN, BudgetResult.KEPT)
_HEAD: Final = {
    BudgetResult.EXCEEDED: "Budget exceeded",
    BudgetResult.UNKNOWN: "Too little to judge the budget",
    BudgetResult.KEPT: "Budget kept",
}


def render_check(lines: Sequence[BudgetLine], limit: int) -> list[RenderableType]:
    """Budget lines by how they ended, then how many of each there are.

    Args:
        limit: rows, 0 for all.
    """
    columns = [
        Column("result", worth=9),
        Column("capture", worth=8, keeps_end=True),
        Column("stream", worth=9),
        Column("budget", worth=9),
        Column("limit", "right", 8),
        Column("measured", "right", 9),
        Column("why", worth=4, folds=True),
    ]
    shown, more = limited([cells(line) for line in by_result(lines)], limit)
    parts: list[RenderableType] = [Listing("Budget", columns, shown, more)] if lines else []
    return [*parts, Text(safe(sentence(lines)), style="bold")]


def by_result(lines: Sequence[BudgetLine]) -> list[BudgetLine]:
    """What was exceeded first, what was kept last."""
    return sorted(lines, key=lambda line: _ORDER.index(line.result))


def cells(line: BudgetLine) -> list[str]:
    """A line below ``HEADER``."""
    return [
        line.result, line.path, line.about or "-", line.figure, line.limit, line.measured,
        line.why or "-",
    ]  # fmt: skip


def sentence(lines: Sequence[BudgetLine]) -> str:
    """``Budget exceeded: 1 of 12 lines exceeded, 1 too little to judge, 10 kept.``"""
    if not lines:
        return "No stream and no finding is under this budget: nothing was exceeded."
    counts = {result: sum(line.result is result for line in lines) for result in _ORDER}
    (worst, number), *others = [(result, number) for result, number in counts.items() if number]
    share = f"{number:,} of {plural(len(lines), 'line')} {worst}"
    more = [f"{number:,} {result}" for result, number in others]
    return f"{_HEAD[worst]}: {', '.join([share, *more])}."
