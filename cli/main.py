"""The command ``seqaudit``: which commands there are, and how every one of them ends.

Commands are loaded when they are called, so that ``--help`` needs neither pyarrow nor Spark.
"""

import contextlib
import errno
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from seqaudit.cli.exit_codes import STOPPED, ExitCode
from seqaudit.cli.output.terminal import drop, note, writing
from seqaudit.cli.output.text import safe
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.kernels import signals as interrupts

#: Command, its module, and its line in ``seqaudit --help``.
COMMANDS: Final = {
    "audit": (
        "seqaudit.cli.commands.audit",
        "Replay captures and report what was lost, repeated, repaired.",
    ),
    "check": (
        "seqaudit.cli.commands.check",
        "Hold captures to a budget, for CI.",
    ),
    "info": (
        "seqaudit.cli.commands.info",
        "Say what is in captures, and so what cannot be judged.",
    ),
    "decode": ("seqaudit.cli.commands.decode", "Keep the decoded events of captures in a file."),
    "show": (
        "seqaudit.cli.commands.show",
        "Show one thing of an audit: gaps, streams, connections, rules, recovery, loss.",
    ),
    "diff": (
        "seqaudit.cli.commands.diff",
        "Compare a good run with a bad one: what changed, what matters first.",
    ),
    "slice": (
        "seqaudit.cli.commands.slice",
        "Write the frames that show a gap or a finding, with comments, for Wireshark.",
    ),
    "infer": (
        "seqaudit.cli.commands.infer",
        "Find the sequence number of traffic that nothing recognises; write a feed file.",
    ),
    "feeds": ("seqaudit.cli.commands.feeds", "List shipped feeds, show one, or check a feed file."),
    "spark": ("seqaudit.cli.commands.spark", "Pack what workers of a Spark cluster need."),
    "schema": ("seqaudit.cli.commands.schema", "Print the JSON schema of the report."),
    "rules": ("seqaudit.cli.commands.rules", "List the rules, or explain one."),
    "config": ("seqaudit.cli.commands.config", "Show which options are in force, and where from."),
}

#: New objects until Python looks for garbage in cycles. There is next to none here, and at its own
#: 700 the looking takes a tenth of a long audit, and more of a report with many rows. Imports alone
#: make 150,000.
COLLECT_AFTER: Final = 500_000

#: What an operating system says where it has no more of something, or gives none to this user.
_LACKS: Final = frozenset(
    {
        errno.EACCES, errno.EAGAIN, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE,
        errno.ENAMETOOLONG, errno.ENFILE, errno.ENOLCK, errno.ENOMEM, errno.ENOSPC, errno.EPERM,
        errno.EROFS, errno.ESTALE,
    }
)  # fmt: skip


#: Packages whose version can matter for a result, a speed or a fault.
_RESTS_ON: Final = ("numpy", "numba", "pyarrow", "pyspark")

#: Options of the command without a command.
_OWN_OPTIONS: Final = frozenset({"-h", "--help", "--version", "--config", "--no-config"})


class Commands(click.Group):
    """A group that loads its commands late and turns every ending into an exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """``seqaudit -q FILE``: an option that is not the group's own is one of audit."""
        if args and args[0].startswith("-") and args[0].partition("=")[0] not in _OWN_OPTIONS:
            args = ["audit", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """``seqaudit FILE`` is ``seqaudit audit FILE``; a word that is nearly a command is asked
        about."""
        word = args[0]
        if word in COMMANDS or (word.startswith("-") and word != "-"):
            return super().resolve_command(ctx, args)
        if _is_capture(word):
            return "audit", self.get_command(ctx, "audit"), args
        import difflib

        near = difflib.get_close_matches(word, COMMANDS, 1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
        raise click.UsageError(f"no command and no file is called {safe(word)}; {advice}")

    def invoke(self, ctx: click.Context) -> Any:
        """The exit code of the command; of one that was interrupted what says so."""
        code = super().invoke(ctx)
        return ExitCode.INTERRUPTED if ctx.meta.get(STOPPED) else code

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of use, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in ``--help``, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def main(  # type: ignore[override]  # click's overloads differ in what they return only
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> None:
        """Run a command and exit with its code."""
        extra.pop("standalone_mode", None)
        own_process = args is None  # not called by another program
        if own_process:
            _hold_standard_streams()
            # numpy would start threads that nothing here uses, and interrupt us where it cannot
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.set_threshold(COLLECT_AFTER)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        code = _run(super().main, args, prog_name or "seqaudit", extra, own_process)
        if own_process:
            interrupts.no_more()
        gc.freeze()  # the last look of Python at everything, as it ends, would find nothing
        sys.exit(code)


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, asked: _tell_versions(ctx) if asked else None,
    help="Show the versions of seqaudit and of what its results rest on.",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Options from this file instead of the nearest seqaudit.yaml or pyproject.toml.",
)
@click.option("--no-config", is_flag=True, help="Read no configuration file.")
@click.pass_context
def main(ctx: click.Context, config_file: Path | None, no_config: bool) -> None:
    """Replay packet captures of reliable messaging through the protocols' own windows.

    seqaudit says what was lost, repeated, repaired and given up, whether each sender and receiver
    behaved as its protocol says, and which frames show it.

    \b
    Examples:
      seqaudit receiver.pcap
      seqaudit audit --format json a.pcapng.zst b.pcapng.zst
      seqaudit rules MC001
    """
    from seqaudit.cli.options.configuration import NOTHING, nearest, read_configuration

    if config_file is not None and no_config:
        raise click.UsageError("--config and --no-config say opposite things; give one")
    file = config_file or (None if no_config else nearest(Path.cwd()))
    ctx.obj = NOTHING if file is None else read_configuration(file, all_commands())
    called = ctx.invoked_subcommand
    if file is not None and called is not None:
        ctx.default_map = {called: ctx.obj.given(called, all_commands()[called])}


def _tell_versions(ctx: click.Context) -> None:
    """seqaudit's version, and those of what reads, compiles and runs for it; nothing is imported
    for that."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    lines = [f"seqaudit {version('seqaudit')}", f"Python {platform.python_version()}"]
    for package in _RESTS_ON:
        try:
            lines.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            lines.append(f"{package} is not installed")
    click.echo("\n".join(lines))
    ctx.exit()


def all_commands() -> dict[str, click.Command]:
    """Every command by its words, imported now: ``audit``, ``show``, ``show gaps``."""
    found: dict[str, click.Command] = {}
    for name, (module, _) in COMMANDS.items():
        command: click.Command = importlib.import_module(module).command
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": member for inner, member in command.commands.items()}
    return found


def _is_capture(word: str) -> bool:
    """Whether a word names a file, or could only be meant to."""
    return word == "-" or "/" in word or "." in word or "*" in word or Path(word).exists()


def _run(
    command: Any, args: Sequence[str] | None, prog_name: str, extra: dict[str, Any], alone: bool
) -> int:
    try:
        if alone:
            interrupts.ask_alike(note)
        code = command(args, prog_name, standalone_mode=False, **extra)
        if sys.stdout is not None:
            with writing():
                sys.stdout.flush()
    except BrokenPipeError:
        drop(sys.stdout)
        return ExitCode.CLEAN
    except click.exceptions.NoArgsIsHelpError as problem:  # its message is the help
        click.echo(problem.format_message(), err=True)
        return ExitCode.NOT_JUDGED
    except click.ClickException as problem:
        note(f"error: {problem.format_message()}{_help_of(problem)}")
        return ExitCode.NOT_JUDGED
    except KeyboardInterrupt:
        note("interrupted")
        return ExitCode.INTERRUPTED
    except click.Abort as problem:  # what click makes of an interrupt, and of the end of any file
        if isinstance(problem.__cause__, EOFError):
            return _fault()
        note("interrupted")
        return ExitCode.INTERRUPTED
    except SeqauditError as problem:
        several = getattr(problem, "problems", None)  # of several captures, one line each
        for line in [text for _, text in several] if several else [str(problem)]:
            note(f"error: {line}")
        return ExitCode.NOT_JUDGED
    except Exception as problem:
        if lacking := _lacking(problem):
            drop(sys.stdout)  # it may be what lacks room
            note(f"error: {lacking}")
            return ExitCode.NOT_JUDGED
        return _fault()
    return code if isinstance(code, int) else ExitCode.CLEAN


def _help_of(problem: click.ClickException) -> str:
    """Where what is missing or not there is explained; nothing for what explains itself."""
    if isinstance(problem, click.MissingParameter | click.NoSuchOption) and problem.ctx is not None:
        end = "" if problem.format_message().endswith((".", "?")) else "."
        return f"{end} {problem.ctx.command_path} --help says what there is."
    return ""


def _fault() -> int:
    """A fault of ours: say so, and never with the exit code of a finding."""
    for line in traceback.format_exc().splitlines():
        note(line)
    note("error: this is a fault of seqaudit; please report the lines above")
    return ExitCode.NOT_JUDGED


def _lacking(problem: Exception) -> str | None:
    """What the machine has not got, if that is what happened: room, memory, processes, a right."""
    if isinstance(problem, MemoryError):
        return "there is not enough memory"
    if isinstance(problem, OSError) and problem.errno in _LACKS:
        where = f": {problem.filename}" if problem.filename else ""
        return f"{problem.strerror}{where}"
    if isinstance(problem, RuntimeError) and "start new thread" in str(problem):
        return "no more processes or threads can be started here"
    return None


def _hold_standard_streams() -> None:
    """Have something where stdin, stdout or stderr is closed: a file or socket opened later would
    take its number, and what others write there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
