"""How full windows were over time: what their pictures are called, and the terminal's own."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seqaudit.cli.output.plot import picture_width
from seqaudit.cli.output.short_names import explained, short_names
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import duration
from seqaudit.replay.contract.capture_rows import CaptureRow
from seqaudit.replay.contract.report_rows import StreamRow, WindowRow

#: Lines of a picture.
HEIGHT: Final = 6


def fullest_first(rows: Iterable[WindowRow]) -> list[WindowRow]:
    """By capture, those that were filled most by their limit, then those that held most."""

    def rank(row: WindowRow) -> tuple[int, float, int]:
        share = row["most"] / row["limit"] if row["limit"] else 0.0
        return row["capture"], -share, -row["most"]

    return sorted(rows, key=rank)


def window_title(row: WindowRow, stream: StreamRow | None) -> str:
    """``Unacknowledged messages of B to A``."""
    title = row["what"][0].upper() + row["what"][1:]
    member = row["member_name"] or row["member"]
    receiver = None if stream is None else stream.get("receiver_name")
    if row["what"].startswith("packets"):  # the window is the receiver's
        sender = None if stream is None else stream.get("sender_name")
        return f"{title}, of {sender or row['stream']} at {member}"
    to = f" to {receiver}" if receiver and receiver != member else ""
    return f"{title} of {member or 'an unknown member'}{to}"


class WindowPlot:
    """Columns of time, as high as the most that was there in each."""

    def __init__(self, row: WindowRow, stream: StreamRow | None, capture: CaptureRow) -> None:
        self._row = row
        self._title = window_title(row, stream)
        self._begin, self._end = capture["first_ns"] or 0, capture["last_ns"] or 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names: dict[str, str] = {}
        limit, most = self._row["limit"], self._row["most"]
        top = most if limit is None or limit > 8 * most else max(limit, most)
        capacity = "" if limit is None else f"; room for {limit:,}"
        title = short_names(safe(f"{self._title}: up to {most:,}{capacity}"), names)
        label = len(f"{top:,}")
        columns = max(picture_width(options) - label - 2, 10)
        highs = self._highs(columns)
        yield Text(title, style="bold")
        for line in reversed(range(HEIGHT)):
            number = f"{top:,}" if line == HEIGHT - 1 else "0" if not line else ""
            cells = "".join(_cell(high, line, top) for high in highs)
            yield Text(f"{number:>{label}} |{cells.rstrip()}", no_wrap=True)
        yield Text(f"{'':{label}} +{'-' * columns}", no_wrap=True)
        length = duration(self._end - self._begin)
        yield Text(f"{'':{label}}  0{length:>{columns - 1}}", no_wrap=True)
        for line_of_name in explained(names):
            yield Text(line_of_name, style="dim")
        yield Text("")

    def _highs(self, columns: int) -> list[int]:
        """The most in each column."""
        span = max(self._end - self._begin, 1)
        highs = [0] * columns
        points = self._row["points"]
        for index, (at_ns, value) in enumerate(points):
            until_ns = points[index + 1][0] if index + 1 < len(points) else self._end
            first, last = (
                min(max((moment - self._begin) * columns // span, 0), columns - 1)
                for moment in (at_ns, until_ns)
            )
            for column in range(first, last + 1):
                highs[column] = max(highs[column], value)
        return highs


def _cell(high: int, line: int, top: int) -> str:
    """``#`` where a column is so high, ``.`` where it begins to be."""
    filled = high * 2 * HEIGHT - line * 2 * top
    return "#" if filled >= 2 * top else "." if filled > 0 else " "
