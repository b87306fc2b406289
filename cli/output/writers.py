"""Formats and where they go: standard output, or files that are whole or not there."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from seqaudit.cli.output.terminal import OutputError, emit_all, render
from seqaudit.cli.output.text import safe

if TYPE_CHECKING:
    from rich.console import RenderableType

TABLE: Final = "table"
#: Formats beside tables.
FORMATS: Final = ("json", "jsonl", "csv", "markdown", "junit", "sarif", "github", "gitlab", "html")
#: What the name of a file says of its format.
BY_SUFFIX: Final = {
    ".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".xml": "junit",
    ".sarif": "sarif", ".html": "html", ".txt": TABLE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """What a command has to show.

    Attributes:
        tables: what a terminal gets, and a text file.
        texts: every other format as pieces of text, with a line end at the end.
        printed: what is printed instead of the tables; null: these.
    """

    tables: Callable[[], "list[RenderableType]"]
    texts: Mapping[str, Callable[[], Iterable[str]]]
    printed: "Callable[[], list[RenderableType]] | None" = None


def outputs_of(
    formats: Sequence[str], files: Sequence[str], known: Sequence[str] = FORMATS
) -> list[tuple[str, str | None]]:
    """Which format goes where: files take the formats in their order, the rest is printed.

    Args:
        known: the formats beside tables that a file's name may mean.

    Raises:
        click.UsageError: more than one would be printed, a file's format is not known, or it is
            given twice.
    """
    if not formats:
        formats = [_format_of(file, (TABLE, *known)) for file in files] or [TABLE]
    if len(files) > len(formats):
        raise click.UsageError(
            f"-o {safe(files[len(formats)])}: has no --format; give one for each -o, in their order"
        )
    if again := next((file for n, file in enumerate(files) if file in files[:n]), None):
        raise click.UsageError(f"-o {safe(again)}: is given twice; name a file for each format")
    to_screen = formats[len(files) :]
    if len(to_screen) > 1:
        raise click.UsageError(
            f"--format {to_screen[0]} and {to_screen[1]} would both be printed; give -o FILE for "
            "all but one, in the order of --format"
        )
    return [
        (name, files[index] if index < len(files) else None) for index, name in enumerate(formats)
    ]


def _format_of(file: str, known: Sequence[str]) -> str:
    suffixes = {suffix: name for suffix, name in BY_SUFFIX.items() if name in known}
    name = suffixes.get(Path(file).suffix.lower())
    if name is None:
        raise click.UsageError(
            f"-o {safe(file)}: its name does not say the format; add --format, or end it in "
            f"{', '.join(suffixes)}"
        )
    return name


def write(document: Document, outputs: Sequence[tuple[str, str | None]]) -> None:
    """Every output: format and file of each; null is standard output.

    Raises:
        OutputError: a file, or standard output, cannot be written.
    """
    for name, file in outputs:
        texts = _plain_tables(document.tables) if name == TABLE else document.texts[name]()
        if file is not None:
            write_file(file, texts)
        elif name == TABLE:
            render((document.printed or document.tables)())
        else:
            emit_all(_without_last_line_end(texts))


def _plain_tables(tables: "Callable[[], list[RenderableType]]") -> Iterator[str]:
    import io

    from seqaudit.cli.output.listing import sharing
    from seqaudit.cli.output.terminal import console

    page = io.StringIO()
    names: dict[str, str] = {}
    for part in tables():
        console(page).print(sharing(part, names))
    for line in page.getvalue().splitlines():
        yield line.rstrip() + "\n"


def _without_last_line_end(chunks: Iterable[str]) -> Iterator[str]:
    """``emit_all`` ends with one of its own."""
    pending = ""
    for chunk in chunks:
        if pending:
            yield pending
        pending = chunk
    yield pending.removesuffix("\n")


def write_file(name: str, chunks: Iterable[str]) -> None:
    """Write a text file, which is whole or not there.

    Raises:
        OutputError: it cannot be written.
    """
    with (
        file_for(name) as path,
        path.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        file.writelines(_ended(chunks))


@contextlib.contextmanager
def file_for(name: str) -> Iterator[Path]:
    """What to write a file to, so that it is whole or not there.

    Raises:
        OutputError: it cannot be written.
    """
    from seqaudit.pipeline.shared.whole_file import in_place_of

    try:
        with in_place_of(name) as path:
            yield path
    except OSError as problem:
        raise OutputError(f"{safe(name)}: cannot be written: {problem.strerror}") from problem


def _ended(chunks: Iterable[str]) -> Iterator[str]:
    yield from _without_last_line_end(chunks)
    yield "\n"
