"""A titled table as rich renderable: cells in, nothing is printed here.

A table that does not fit a terminal leaves out columns, those of least worth first, and says which;
what then is still too wide is cut at the end of its longest texts, never in a number or a time. A
row is one line, but where a column's texts are to be read whole. Long identities are short, and
explained below the first table that has them.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from seqaudit.cli.output.short_names import explained, short_names
from seqaudit.cli.output.text import safe

Cells = Sequence[str]
T = TypeVar("T")
#: A column, and what it has of a row.
Field = tuple["Column", Callable[[T], str]]

#: Between two columns.
GAP: Final = 2
#: A text is cut to no fewer characters, and before columns are left out to so many.
LEAST_TEXT: Final = 8
LONG_TEXT: Final = 22
#: A column of this worth is never left out.
ALWAYS: Final = 9


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        worth: how long a narrow table keeps it, 0 to 9.
        keeps_end: of a text that is too long the end is shown, as of a path.
        whole: is never cut, as it has times or numbers.
        folds: a text that is too long goes on in the next line.
    """

    header: str
    align: Literal["left", "right"] = "left"
    worth: int = 5
    keeps_end: bool = False
    whole: bool = False
    folds: bool = False

    @property
    def may_be_cut(self) -> bool:
        return self.align == "left" and not self.whole


@dataclass(frozen=True, slots=True)
class Listing:
    """A titled table that keeps what matters where it does not fit."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Cells]
    more: int = 0  # rows left out by --limit
    names: dict[str, str] = field(default_factory=dict, compare=False)  # short to whole identity

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        known = frozenset(self.names)
        rows = [[short_names(safe(cell), self.names) for cell in row] for row in self.rows]
        headers = [
            _folded(column.header, max((cell_len(row[index]) for row in rows), default=0))
            for index, column in enumerate(self.columns)
        ]
        widths = [
            max([*map(len, header.splitlines()), *(cell_len(row[index]) for row in rows)])
            for index, header in enumerate(headers)
        ]
        places, left_out = self._shown(widths, options.max_width)
        self._shrink(widths, places, options.max_width)
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="underline")
        for index in places:
            table.add_column(
                Text(headers[index]),
                justify=self.columns[index].align,
                no_wrap=True,
                vertical="bottom",
                width=widths[index],
            )
        for row in rows:
            table.add_row(*map(Text, _as_high([self._cut(row[p], p, widths[p]) for p in places])))
        yield Text(self.title, style="bold")
        yield table
        if left_out:
            names = ", ".join(self.columns[index].header for index in left_out)
            yield Text(f"(not in this width: {names})", style="dim")
        if self.more:
            yield Text(f"... and {self.more:,} more; --limit 0 shows all", style="dim")
        for line in explained(self.names, known):
            yield Text(line, style="dim")
        yield Text("")

    def _shown(self, widths: Sequence[int], width: int) -> tuple[list[int], list[int]]:
        """Columns that are shown, and those left out, both in their order; a long text counts as
        far as it will not be cut."""
        needed = [
            min(wide, LONG_TEXT) if self.columns[index].may_be_cut else wide
            for index, wide in enumerate(widths)
        ]
        shown = list(range(len(self.columns)))
        left_out: list[int] = []
        for index in sorted(shown, key=lambda index: (self.columns[index].worth, -index)):
            if _total(needed, shown) <= width or self.columns[index].worth >= ALWAYS:
                break
            shown.remove(index)
            left_out.append(index)
        for index in reversed(left_out[:]):  # a wide one may have gone for what now has room
            if _total(needed, [*shown, index]) <= width:
                shown.append(index)
                left_out.remove(index)
        return sorted(shown), sorted(left_out)

    def _shrink(self, widths: list[int], places: Sequence[int], width: int) -> None:
        """Cut the widest texts until the table fits, as far as that is possible."""
        texts = [index for index in places if self.columns[index].may_be_cut]
        while texts and (over := _total(widths, places) - width) > 0:
            widest = max(texts, key=lambda index: widths[index])
            if widths[widest] <= LEAST_TEXT:
                return
            second = max((widths[p] for p in texts if p != widest), default=LEAST_TEXT)
            least = max(LEAST_TEXT, widths[widest] - over)
            widths[widest] = max(least, min(second, widths[widest] - 1))

    def _cut(self, text: str, index: int, width: int) -> str:
        if cell_len(text) <= width:
            return text
        if self.columns[index].folds:
            return "\n".join(textwrap.wrap(text, width))
        if self.columns[index].keeps_end:
            return "…" + text[len(text) - width + 1 :]
        return text[: width - 1] + "…"


def listing(
    title: str, rows: Sequence[T], limit: int, fields: "Sequence[Field[T] | bool]"
) -> Listing:
    """A table of ``limit`` rows, 0 for all, each cell beside its column; false: a column that
    these rows do not need."""
    chosen = [field for field in fields if not isinstance(field, bool)]
    shown = rows[:limit] if limit > 0 else rows
    cells = [[cell(row) for _, cell in chosen] for row in shown]
    return Listing(title, [column for column, _ in chosen], cells, len(rows) - len(shown))


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of text, each so far from the left; in plain ones long identities are short."""

    lines: Sequence[tuple[Text | str, int]]
    names: dict[str, str] = field(default_factory=dict, compare=False)  # short to whole identity

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        known = frozenset(self.names)
        for line, spaces in self.lines:
            text = line if isinstance(line, Text) else Text(short_names(safe(line), self.names))
            yield Padding(text, (0, 0, 0, spaces), expand=False)
        for line in explained(self.names, known):
            yield Text(line, style="dim")


def _as_high(cells: Sequence[str]) -> list[str]:
    """Cells of one row, each as high as the highest, its text at the top."""
    high = max((cell.count("\n") for cell in cells), default=0)
    return [cell + "\n" * (high - cell.count("\n")) for cell in cells]


def sharing(renderable: RenderableType, names: dict[str, str]) -> RenderableType:
    """The same, whose tables explain an identity once, by what ``names`` has and gets."""
    if isinstance(renderable, Group):
        return Group(*(sharing(part, names) for part in renderable.renderables))
    return (
        replace(renderable, names=names) if isinstance(renderable, Listing | Lines) else renderable
    )


def _total(widths: Sequence[int], places: Sequence[int]) -> int:
    return sum(widths[index] for index in places) + GAP * (len(places) - 1)


def _folded(header: str, width: int) -> str:
    """A header on as many lines as its words need to be no wider than the cells."""
    longest = max(map(len, header.split()), default=1)
    return "\n".join(textwrap.wrap(header, max(width, longest)))
