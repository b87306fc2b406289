"""A titled table as rich renderable: cells in, nothing is printed here (design 7.2).

A table that does not fit a terminal is shown as one block a row, so that 40 columns are enough.
"""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from seqaudit.cli.output.text import safe

Cells = Sequence[str]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its header and on which side it is aligned."""

    header: str
    align: Any = "left"


@dataclass(frozen=True, slots=True)
class Listing:
    """A titled table that turns into blocks where it does not fit."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Cells]
    more: int = 0  # rows left out by --limit

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
        rows = [[safe(cell) for cell in row] for row in self.rows]
        for place, column in enumerate(self.columns):
            width = max((len(row[place]) for row in rows), default=0)
            header = _folded(column.header, width)
            table.add_column(header, justify=column.align, no_wrap=True, vertical="bottom")
        for row in rows:
            table.add_row(*map(Text, row))
        yield Text(self.title, style="bold")
        wide = options.update(width=100_000)
        if Measurement.get(console, wide, table).maximum <= options.max_width:
            yield table
        else:
            yield from self._blocks(options.max_width)
        if self.more:
            yield Text(f"... and {self.more} more; --limit 0 shows all", style="dim")
        yield Text("")

    def _blocks(self, width: int) -> Iterable[Text]:
        """Each row as ``header: cell`` pairs, as many on a line as fit."""
        for row in self.rows:
            line = "-"
            for column, cell in zip(self.columns, row, strict=True):
                pair = f"{column.header}: {safe(cell)}"
                if line not in ("-", " ") and len(line) + 2 + len(pair) > width:
                    yield Text(line)
                    line = " "
                line += f" {pair}" if line in ("-", " ") else f"  {pair}"
            yield Text(line)


def _folded(header: str, width: int) -> Text:
    """A header on as many lines as its words need to be no wider than the cells."""
    longest = max(map(len, header.split()))
    return Text("\n".join(textwrap.wrap(header, max(width, longest))))
