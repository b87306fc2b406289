"""``seqaudit show``: one thing of an audit as a table of its own."""

from typing import Any

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.inputs import (
    format_option,
    inputs_of,
    judging_options,
    limit_option,
    options_of,
    reading_options,
    time_option,
)
from seqaudit.cli.show import ShownProgress, emit, note, render
from seqaudit.cli.show_raims import advisories, convergence, loss, windows
from seqaudit.cli.times import TimeStyle


@click.group("show")
def command() -> None:
    """Show one thing of an audit as a table of its own."""


command.add_command(loss)
command.add_command(convergence)
command.add_command(advisories)
command.add_command(windows)


@command.command("recovery")
@reading_options
@judging_options
@format_option("A table for people, or the queries of the report for programs.")
@time_option
@limit_option(100)
def recovery(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool,
    shape: str,
    style: TimeStyle,
    limit: int,
    **given: Any,
) -> int:
    """List the recovery queries of zenoh: range, replies, cache, duration, outcome.

    \b
    Example:
      seqaudit show recovery --engine direct subscriber.pcap
    """
    from seqaudit.pipeline.without_pandas import keep_pandas_out

    keep_pandas_out()
    from seqaudit.cli.audit import tell_unjudged
    from seqaudit.pipeline.audit import StoppedError, audit

    inputs, shared_at = inputs_of(captures, at, one_capture)
    try:
        with ShownProgress() as progress:
            report = audit(inputs, options_of(at=shared_at, **given), progress)
    except StoppedError as stopped:
        note(str(stopped))
        return ExitCode.INTERRUPTED
    if shape == "json":
        from seqaudit.pipeline.report import to_json

        emit(to_json({"queries": report["queries"]}))
    else:
        from seqaudit.cli.recovery_table import render_recovery

        render([render_recovery(report, style, limit)])
    return ExitCode.NOT_JUDGED if tell_unjudged(report) else ExitCode.CLEAN
