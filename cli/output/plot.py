"""Pictures of plain characters: when streams lacked something; one gap's seqnos against time."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seqaudit.cli.output.points import Point
from seqaudit.cli.output.short_names import explained, short_names
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import duration
from seqaudit.replay.contract.report_rows import GapRow, StreamRow

#: A picture is no wider than this, and so wide where nobody says how wide the paper is.
WIDEST: Final = 160
PLAIN: Final = 80
#: Rows of a sequence plot.
HEIGHT: Final = 16
#: Seqnos from here on are told by their distance from the gap's first.
LONG: Final = 10**10
#: A label so wide stands beside its line, or one of a third of the picture.
_LABEL: Final = 32
#: What a column of the timeline shows, the weakest first: a stronger one is drawn over it.
_TIMELINE: Final = "-=o!x"
TIMELINE_KEY: Final = (
    "- the stream is seen  ! a gap shows  = something is missing  o it came"
    "  x a gap shows, and nothing comes"
)
#: What a place of the sequence plot shows, the weakest first.
_SEQUENCE: Final = "a+o?x"
SEQUENCE_KEY: Final = "+ data  o copy or repair  ? asked for  a ACK  x missing to the end"


class Timeline:
    """A line a stream: when it was seen, when something was missing, and what became of it."""

    def __init__(
        self, streams: Sequence[tuple[StreamRow, str]], gaps: Iterable[GapRow], more: int
    ) -> None:
        """
        Args:
            streams: rows of streams with a label each.
            gaps: rows of their gaps, with stories.
        """
        self._streams = streams
        self._more = more
        self._gaps: dict[tuple[int, str], list[GapRow]] = {}
        for gap in gaps:
            self._gaps.setdefault((gap["capture"], gap["stream"]), []).append(gap)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = picture_width(options)
        names: dict[str, str] = {}
        labels = [short_names(text, names) for _, text in self._streams]
        begin, end = _span([stream for stream, _ in self._streams])
        labels = [safe(text) for text in labels]
        widest = max((cell_len(text) for text in labels), default=0)
        above = widest > max(_LABEL, width // 3)  # a line of its own for each, and not cut
        label = 0 if above else widest
        columns = max(width - label - 2, 10)
        for (stream, _), text in zip(self._streams, labels, strict=True):
            gaps = self._gaps.get((stream["capture"], stream["id"]), [])
            line = _line(stream, gaps, begin, end, columns)
            if above:
                yield Text(text)
            yield Text(f"{set_cell_size('' if above else text, label)}  {line}", no_wrap=True)
        length = duration(end - begin)
        yield Text(f"{'':{label}}  0{length:>{columns - 1}}", no_wrap=True)
        for part in TIMELINE_KEY.split("  "):
            yield Text(f"{'':{label}}  {part}", style="dim")
        for line in explained(names):
            yield Text(line, style="dim")
        if self._more:
            yield Text(f"... and {self._more} more streams; --limit 0 shows all", style="dim")


def _span(streams: Iterable[StreamRow]) -> tuple[int, int]:
    firsts = [at for s in streams if (at := s.get("first_ns")) is not None]
    lasts = [at for s in streams if (at := s.get("last_ns")) is not None]
    begin = min(firsts, default=0)
    return begin, max([*lasts, begin + 1])


def _line(stream: StreamRow, gaps: Iterable[GapRow], begin: int, end: int, columns: int) -> str:
    cells = [" "] * columns

    def column(at_ns: int) -> int:
        return min(max((at_ns - begin) * columns // max(end - begin, 1), 0), columns - 1)

    def draw(cell: int, mark: str) -> None:
        if cells[cell] == " " or _TIMELINE.index(mark) > _TIMELINE.index(cells[cell]):
            cells[cell] = mark

    first_ns, last_ns = stream.get("first_ns"), stream.get("last_ns")
    if first_ns is not None and last_ns is not None:
        for cell in range(column(first_ns), column(last_ns) + 1):
            draw(cell, "-")
    for gap in gaps:
        shown_ns = gap["revealed_at_ns"]
        if shown_ns is None:
            continue
        came_ns = came_at(gap)
        start = column(shown_ns)
        if came_ns is None:
            draw(start, "x")
            continue
        stop = column(max(came_ns, shown_ns))
        for cell in range(start, stop):
            draw(cell, "=")
        draw(stop, "o")
        draw(start, "!")
    return "".join(cells).rstrip()


def came_at(gap: GapRow) -> int | None:
    """When the last of a gap came, as its story has it; null: it did not, or nobody knows when."""
    came = [s["at_ns"] for s in gap["story"]["steps"] if s["step"] in ("came", "had")]
    return next((at for at in reversed(came) if at is not None), None)


class SequencePlot:
    """Seqnos against time round one gap."""

    def __init__(
        self, points: Sequence[Point], begin_ns: int, left_out: int, first: int = 0
    ) -> None:
        """
        Args:
            first: the gap's first seqno: long ones are told from there.
            begin_ns: when the gap was revealed: times are told from there.
            left_out: seqnos of the gap that have no line of their own, and are not drawn.
        """
        self._points = points
        self._begin = begin_ns
        self._left_out = left_out
        self._first = first
        self._long = any(point.seqno >= LONG for point in points)

    def _name(self, seqno: int) -> str:
        return f"{seqno - self._first:+}" if self._long else str(seqno)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self._points:
            yield Text("nothing of it is in the events of this capture")
            return
        width = picture_width(options)
        seqnos = [point.seqno for point in self._points]
        times = [point.at_ns for point in self._points]
        low, high, first, last = min(seqnos), max(seqnos), min(times), max(times)
        rows = min(high - low + 1, HEIGHT)
        label = max(len(self._name(low)), len(self._name(high)))
        columns = max(width - label - 2, 10)
        cells = [[" "] * columns for _ in range(rows)]
        for point in self._points:
            row = (point.seqno - low) * rows // (high - low + 1)
            cell = min((point.at_ns - first) * columns // max(last - first, 1), columns - 1)
            here = cells[row][cell]
            if {here, point.mark} == {"?", "o"} and cell:  # asked for and answered at once
                cells[row][cell - 1], cells[row][cell] = "?", "o"
            elif here == " " or _SEQUENCE.index(point.mark) > _SEQUENCE.index(here):
                cells[row][cell] = point.mark
        for row in reversed(range(rows)):
            number = low + -(-row * (high - low + 1) // rows)
            line = f"{self._name(number):>{label}} |{''.join(cells[row]).rstrip()}"
            yield Text(line, no_wrap=True)
        yield Text(f"{'':{label}} +{'-' * columns}", no_wrap=True)
        start, stop = (_after(at - self._begin) for at in (first, last))
        yield Text(f"{'':{label}}  {start}{stop:>{max(columns - len(start), 1)}}", no_wrap=True)
        yield Text(f"{'':{label}}  {SEQUENCE_KEY}", style="dim")
        if self._long:
            yield Text(f"{'':{label}}  +0 is the first seqno of the gap", style="dim")
        if self._left_out:
            yield Text(f"{'':{label}}  {self._left_out:,} more seqnos are not drawn", style="dim")


def picture_width(options: ConsoleOptions) -> int:
    return PLAIN if options.max_width > 10_000 else min(options.max_width, WIDEST)


def _after(after_ns: int) -> str:
    return f"+{duration(after_ns)}" if after_ns > 0 else duration(after_ns) if after_ns else "0"
