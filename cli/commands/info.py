"""``seqaudit info``: what is in a capture, and so why something cannot be judged."""

import click

from seqaudit.cli.commands.audit import tell_unjudged
from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import (
    format_option,
    judging_options,
    limit_option,
    reading_options,
)
from seqaudit.cli.output.terminal import emit, render
from seqaudit.cli.run import audited_whole


@click.command("info")
@reading_options
@judging_options
@format_option("Tables for people, or captures, members and rules of the report for programs.")
@limit_option(20)
def command(
    shape: str,
    limit: int,
    **given: object,
) -> int:
    """Say what is in captures: systems, members, ports, what is undecoded, what was dropped.

    Below, each rule that could not be judged says why.

    \b
    Example:
      seqaudit info receiver.pcapng
    """
    report = audited_whole(given)
    if shape == "json":
        from seqaudit.pipeline.report.json_text import to_json

        kept = ("schema", "captures", "unreadable", "members", "rules", "totals")
        emit(to_json({key: part for key, part in report.items() if key in kept}))
    else:
        from seqaudit.cli.output.tables.info import render_info

        render(render_info(report, limit))
    return ExitCode.NOT_JUDGED if tell_unjudged(report) else ExitCode.CLEAN
