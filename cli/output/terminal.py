"""Printing: data to stdout, notes and progress to stderr (cli/README.md 2)."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Final, ParamSpec

import click

from seqaudit.cli.output.text import safe
from seqaudit.decoders.contract.errors import SeqauditError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

P = ParamSpec("P")

#: Width of everything that does not go to a terminal: tables are as wide as their content.
UNBOUND: Final = 100_000


def emit(text: str) -> None:
    """Print to stdout; a reader that has gone (``| head``) is no error."""
    emit_all([text.removesuffix("\n")])


def emit_all(chunks: Iterable[str]) -> None:
    """Print parts of one text, and a line end behind the last.

    Raises:
        OutputError: stdout takes no more, such as a file on a full disk.
    """
    with writing():
        for chunk in chunks:
            sys.stdout.write(chunk)
        sys.stdout.write("\n")
        sys.stdout.flush()


class OutputError(SeqauditError):
    """What was to be printed could not be."""


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Around what writes to stdout; a reader that has gone is no error.

    Raises:
        OutputError: stdout takes no more.
    """
    _stdout()
    try:
        yield
    except BrokenPipeError:
        drop(sys.stdout)
    except OSError as problem:
        if problem.filename is not None:  # of another file
            raise
        drop(sys.stdout)
        raise OutputError(f"standard output cannot be written: {problem.strerror}") from problem


def _stdout() -> IO[str]:
    if sys.stdout is None:  # so says Python of one that was closed before it began
        raise OutputError("standard output is closed")
    return sys.stdout


def note(text: str) -> None:
    """Print a line to stderr; if nobody takes it, there is nobody to tell."""
    try:
        click.echo(safe(text), err=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: IO[str]) -> None:
    """Send what is left to nowhere, as Python flushes its streams once more at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def render(renderables: "list[RenderableType]") -> None:
    """Print renderables to stdout: coloured and fitted on a terminal, plain otherwise."""
    from seqaudit.cli.output.listing import sharing

    target = console(_stdout())
    names: dict[str, str] = {}
    with writing(), target.capture() as captured:
        for renderable in renderables:
            target.print(sharing(renderable, names))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    emit("\n".join(lines))


def show(
    shape: str,
    rows: Mapping[str, object],
    tables: "Callable[P, list[RenderableType]]",
    *of: P.args,
    **named: P.kwargs,
) -> None:
    """Print rows of a report as JSON, or what makes tables of them."""
    if shape == "json":
        from seqaudit.pipeline.report.json_text import to_json

        emit(to_json(rows))
    else:
        render(tables(*of, **named))


def console(file: IO[str]) -> "Console":
    """A console that guesses nothing where nobody looks."""
    from rich.console import Console

    terminal = file.isatty()
    return Console(
        file=file,
        width=None if terminal else UNBOUND,
        no_color=not terminal or bool(os.environ.get("NO_COLOR")),
        color_system="auto" if terminal else None,
        force_terminal=terminal,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


class ShownProgress:
    """A run's progress on stderr: a bar on a terminal, only notes otherwise."""

    def __init__(self, first: str = "", *, quiet: bool = False) -> None:
        """``first``: a line that says what runs, for a terminal."""
        self._quiet = quiet
        self._first = first
        self._bar: Any = None
        self._task: Any = None
        self._total, self._bytes, self._began = 0, False, 0.0
        if not quiet and sys.stderr is not None and sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[shown]}"),
                Elapsed(),
                console=console(sys.stderr),
                transient=True,
            )

    def __enter__(self) -> "ShownProgress":
        if self._bar is not None:
            if self._first:
                self._bar.console.print(safe(self._first))
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, what: str, total: int, *, bytes_read: bool = False) -> None:
        """A new piece of work of ``total`` steps, or bytes of captures; 0: not known."""
        self._total, self._bytes, self._began = total, bytes_read, time.monotonic()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=total or None, shown=self._shown(0))

    def done(self, steps: int, also: str = "") -> None:
        """So many steps of it are done; ``also`` says it another way: 3/40 tasks."""
        if self._bar is not None and self._task is not None:
            shown = ", ".join(filter(None, (also, self._shown(steps))))
            self._bar.update(self._task, completed=steps, shown=shown)

    def _shown(self, steps: int) -> str:
        """How far it is; of bytes how fast as well, and how long the rest takes at that rate."""
        if not self._bytes:
            return f"{steps}/{self._total}" if self._total else ""
        from rich.filesize import decimal as amount

        shown = f"{amount(steps)}/{amount(self._total) if self._total else '?'}"
        passed = time.monotonic() - self._began
        if not steps or passed < 0.5:
            return shown
        rate = steps / passed
        left = f", {(self._total - steps) / rate:.0f} s left" if self._total > steps else ""
        return f"{shown}, {amount(int(rate))}/s{left}"

    def note(self, text: str) -> None:
        """One line for the reader."""
        if self._bar is not None:
            self._bar.console.print(safe(text))
        elif not self._quiet:
            note(f"note: {text}")
