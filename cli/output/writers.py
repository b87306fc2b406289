"""Formats of an audit, and where they go: standard output, or files that are whole or not there."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from seqaudit.cli.output.terminal import OutputError, emit_all, render
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import TimeStyle

if TYPE_CHECKING:
    from seqaudit.cli.output.points import EventsOfStreams

Report = Mapping[str, Any]

TABLE: Final = "table"
#: Formats beside tables and JSON.
MORE: Final = ("jsonl", "csv", "markdown", "junit", "sarif", "github", "gitlab", "html")
#: What the name of a file says of its format.
BY_SUFFIX: Final = {
    ".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".xml": "junit",
    ".sarif": "sarif", ".html": "html", ".txt": TABLE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """How an audit is shown.

    Attributes:
        outputs: format and file of each; null is standard output.
        rules_url: where the page of the rules is published; null: nobody says.
        page_limit: rows of a table of a page; null: as many as a browser has no trouble with.
        events: what a page draws beside the report; null, or empty: the report alone.
        left_out: one line on what filters leave out; null: nothing is filtered.
    """

    outputs: Sequence[tuple[str, str | None]]
    style: TimeStyle
    limit: int
    fail_on: str
    everything: bool = False
    quiet: bool = False
    rules_url: str | None = None
    page_limit: int | None = None
    events: "EventsOfStreams | None" = None
    left_out: str | None = None


def outputs_of(formats: Sequence[str], files: Sequence[str]) -> list[tuple[str, str | None]]:
    """Which format goes where: files take the formats in their order, the rest is printed.

    Raises:
        click.UsageError: more than one would be printed, or a file's format is not known.
    """
    if not formats:
        formats = [_format_of(file) for file in files] or [TABLE]
    if len(files) > len(formats):
        raise click.UsageError(
            f"-o {safe(files[len(formats)])}: has no --format; give one for each -o, in their order"
        )
    to_screen = formats[len(files) :]
    if len(to_screen) > 1:
        raise click.UsageError(
            f"--format {to_screen[0]} and {to_screen[1]} would both be printed; give -o FILE for "
            "all but one, in the order of --format"
        )
    return [
        (name, files[place] if place < len(files) else None) for place, name in enumerate(formats)
    ]


def _format_of(file: str) -> str:
    known = BY_SUFFIX.get(Path(file).suffix.lower())
    if known is None:
        raise click.UsageError(
            f"-o {safe(file)}: its name does not say the format; add --format, or end it in "
            f"{', '.join(BY_SUFFIX)}"
        )
    return known


def write(report: Report, shown: Shown) -> None:
    """Every output.

    Raises:
        OutputError: a file, or standard output, cannot be written.
    """
    for name, file in shown.outputs:
        if file is not None:
            write_file(file, _text(name, report, shown))
        elif name == TABLE:
            from seqaudit.cli.output.table import render_audit

            everything = shown.everything
            render(
                render_verdict(report)
                if shown.quiet
                else render_audit(report, shown.style, shown.limit, everything=everything)
            )
        else:
            emit_all(_without_last_line_end(_text(name, report, shown)))


def render_verdict(report: Report) -> list[Any]:
    """The verdict alone."""
    from rich.text import Text

    from seqaudit.cli.output.verdict import verdict

    return [Text(safe(line)) for line in verdict(report)]


def _text(name: str, report: Report, shown: Shown) -> Iterable[str]:
    """A format as pieces of text, with a line end at the end."""
    makers: Mapping[str, Callable[[], Iterable[str]]] = {
        TABLE: lambda: _plain_tables(report, shown),
        "json": lambda: _json(report),
        "jsonl": lambda: _module("rows").jsonl(report),
        "csv": lambda: _module("rows").table(report),
        "markdown": lambda: _module("markdown").markdown(report, shown.limit),
        "junit": lambda: [_module("junit").junit(report, shown.fail_on)],
        "sarif": lambda: [_module("sarif").sarif(report, shown.rules_url)],
        "github": lambda: _module("ci").github(report),
        "gitlab": lambda: _module("ci").gitlab(report),
        "html": lambda: _page(report, shown),
    }
    return makers[name]()


def _page(report: Report, shown: Shown) -> Iterator[str]:
    from seqaudit.cli.output.page import page

    return page(report, shown.style, shown.page_limit, shown.events, shown.left_out)


def _module(name: str) -> Any:
    import importlib

    return importlib.import_module(f"seqaudit.cli.output.{name}")


def _json(report: Report) -> Iterator[str]:
    from seqaudit.pipeline.report.json_text import chunks

    yield from chunks(dict(report))


def _plain_tables(report: Report, shown: Shown) -> Iterator[str]:
    import io

    from seqaudit.cli.output.listing import sharing
    from seqaudit.cli.output.table import render_audit
    from seqaudit.cli.output.terminal import console

    page = io.StringIO()
    names: dict[str, str] = {}
    for part in render_audit(report, shown.style, shown.limit, everything=shown.everything):
        console(page).print(sharing(part, names))
    for line in page.getvalue().splitlines():
        yield line.rstrip() + "\n"


def _without_last_line_end(chunks: Iterable[str]) -> Iterator[str]:
    """``emit_all`` ends with one of its own."""
    held = ""
    for chunk in chunks:
        if held:
            yield held
        held = chunk
    yield held.removesuffix("\n")


def write_file(name: str, chunks: Iterable[str]) -> None:
    """Write beside the file, then put it in its place: nobody sees half of it.

    Raises:
        OutputError: it cannot be written.
    """
    target = Path(name)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:50]}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.writelines(_ended(chunks))
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as problem:
        raise OutputError(f"{safe(name)}: cannot be written: {problem.strerror}") from problem


def _ended(chunks: Iterable[str]) -> Iterator[str]:
    yield from _without_last_line_end(chunks)
    yield "\n"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
