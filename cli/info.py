"""``seqaudit info``: what is in a capture, and so why something cannot be judged."""

from typing import Any

import click

from seqaudit.cli.audit import tell_unjudged
from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.inputs import (
    format_option,
    inputs_of,
    judging_options,
    limit_option,
    options_of,
    reading_options,
)
from seqaudit.cli.show import ShownProgress, emit, note, render


@click.command("info")
@reading_options
@judging_options
@format_option("Tables for people, or captures, members and rules of the report for programs.")
@limit_option(20)
def command(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool,
    shape: str,
    limit: int,
    **given: Any,
) -> int:
    """Say what is in captures: systems, members, ports, what is undecoded, what was dropped.

    Below, each rule that could not be judged says why.

    \b
    Example:
      seqaudit info --engine direct receiver.pcapng
    """
    from seqaudit.pipeline.without_pandas import keep_pandas_out

    keep_pandas_out()
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

        kept = ("schema", "captures", "unreadable", "members", "rules", "totals")
        emit(to_json({key: report[key] for key in kept}))
    else:
        from seqaudit.cli.info_tables import render_info

        render(render_info(report, limit))
    return ExitCode.NOT_JUDGED if tell_unjudged(report) else ExitCode.CLEAN
