"""``seqaudit spark``: what makes local Spark start faster (design 3.5)."""

import time
from typing import Final

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.output.terminal import ShownProgress, emit

_MINUTES: Final = 60.0


@click.group("spark")
def command() -> None:
    """Make local Spark start faster, or keep one running.

    \b
    Examples:
      seqaudit spark prepare
      seqaudit spark start
    """


@command.command("prepare")
def prepare() -> int:
    """Make the start-up cache of local Spark and compile the decoders, once per machine.

    Takes half a minute and about 200 MB in your cache folder; a cold audit then takes about 4 s in
    place of 8. Nothing depends on the cache: an audit without it is only slower.
    """
    from seqaudit.pipeline.spark.startup_cache import prepare_spark

    with ShownProgress() as progress:
        made = prepare_spark(progress)
    emit(f"{made.path}: {made.megabytes} MB, for Java {made.java}")
    return ExitCode.CLEAN


@command.command("start")
@click.option(
    "--idle",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="MINUTES",
    help="The server ends itself when no command has used it for so long.",
)
def start(idle: float) -> int:
    """Keep a warm Spark running, which audits then use by themselves.

    audit, info, decode and show use it with --engine spark, unless --master or --remote says
    otherwise; a small capture then takes about a second. It listens on this machine only, to
    processes of yours that can read its token. One with other code of seqaudit is replaced.
    """
    from seqaudit.pipeline.spark.startup_cache import start_server

    with ShownProgress() as progress:
        state, started = start_server(progress, idle * _MINUTES)
    word = "started" if started else "runs already"
    emit(f"{word}: process {state.pid}, port {state.port}")
    return ExitCode.CLEAN


@command.command("stop")
def stop() -> int:
    """End the warm Spark and all its processes."""
    from seqaudit.pipeline.spark import server

    emit("stopped" if server.stop() else "no Spark server runs")
    return ExitCode.CLEAN


@command.command("status")
def status() -> int:
    """Say whether a warm Spark runs: its version, age, memory and port, and whose code it has.

    \b
    Exit codes: 0 it runs, 1 it does not.
    """
    from seqaudit.pipeline.spark import server

    state = server.running()
    if state is None:
        emit("no Spark server runs")
        return ExitCode.FINDINGS
    memory = server.memory_bytes(state)
    uptime = int(time.time() - state.started_at)
    rows = (
        ("process", str(state.pid)),
        ("port", str(state.port)),
        ("version", f"seqaudit {state.version}, Java {state.java}"),
        ("code", "current" if state.current else "other than this command's; start replaces it"),
        ("up", f"{uptime // 3600} h {uptime // 60 % 60} min {uptime % 60} s"),
        ("memory", "-" if memory is None else f"{memory // 1_000_000} MB"),
        ("ends after", f"{state.idle_seconds / _MINUTES:g} min without use"),
    )
    emit("\n".join(f"{name:<10}  {value}" for name, value in rows))
    return ExitCode.CLEAN
