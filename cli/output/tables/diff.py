"""Differences of two runs as tables, and as Markdown: what matters first."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from seqaudit.cli.output.differences import Change, Grade, is_worse
from seqaudit.cli.output.listing import Column, Listing
from seqaudit.cli.output.markdown import plain
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.verdict import plural

_PARTS: Final = {"budget": "Budget", "system": "By system", "stream": "By stream",
                 "rule": "By rule"}  # fmt: skip
_HEADER: Final = ("", "what", "figure", "good", "bad", "why")


def render_diff(changes: Sequence[Change], runs: Sequence[str], limit: int) -> list[RenderableType]:
    """The verdict, what got worse and counts, then all changes a part each."""
    parts: list[RenderableType] = [Text(safe(sentence(changes, runs)), style="bold"), Text("")]
    for title, rows in _sections(changes):
        shown = rows[:limit] if limit else rows
        columns = [
            Column("", worth=9),
            Column("what", worth=9),
            Column("figure", worth=9),
            Column("good", "right", 9),
            Column("bad", "right", 9),
            Column("why", worth=3, folds=True),
        ]
        parts.append(Listing(title, columns, [_cells(c) for c in shown], len(rows) - len(shown)))
    return parts


def diff_as_markdown(changes: Sequence[Change], runs: Sequence[str], limit: int) -> Iterator[str]:
    """The same for a pull request."""
    yield f"**{plain(sentence(changes, runs))}**\n"
    for title, rows in _sections(changes):
        shown = rows[:limit] if limit else rows
        yield f"\n{title}\n\n| {' | '.join(_HEADER)} |\n|{'---|' * len(_HEADER)}\n"
        for change in shown:
            yield f"| {' | '.join(plain(cell) for cell in _cells(change))} |\n"
        if len(rows) > len(shown):
            yield f"\n… and {len(rows) - len(shown):,} more\n"


def sentence(changes: Sequence[Change], runs: Sequence[str]) -> str:
    """What to know in one line."""
    from_to = f"From {runs[0]} to {runs[1]}"
    if not changes:
        return f"{from_to}: no difference."
    counted = sum(change.counts and change.grade is Grade.WORSE for change in changes)
    worse = f"{plural(counted, 'difference')} that matter" + ("s" if counted == 1 else "")
    grades = [
        f"{number:,} {grade}"
        for grade in Grade
        if (number := sum(change.grade is grade for change in changes))
    ]
    says = worse if is_worse(changes) else "nothing that matters is worse"
    return f"{from_to}: {says}; {plural(len(changes), 'difference')} in all ({', '.join(grades)})."


def _sections(changes: Sequence[Change]) -> Iterator[tuple[str, list[Change]]]:
    matter = [c for c in changes if c.counts and c.grade is Grade.WORSE and c.part != "system"]
    if matter:
        yield "What matters", matter
    for part, title in _PARTS.items():
        of_part = [change for change in changes if change.part == part]
        if of_part:
            yield title, of_part


def _cells(change: Change) -> list[str]:
    return [
        str(change.grade), change.about, change.figure, change.good, change.bad, change.why or "-",
    ]  # fmt: skip
