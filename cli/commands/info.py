"""``seqaudit info``: what is in a capture, and so why something cannot be judged."""

import click

from seqaudit.cli.options.captures import (
    format_option,
    judging_options,
    limit_option,
    reading_options,
)
from seqaudit.cli.output.terminal import show
from seqaudit.cli.run import audited_whole, judged_or_not


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
    from seqaudit.cli.output.tables.info import render_info

    report = audited_whole(given)
    sections = ("schema", "captures", "unreadable", "members", "rules", "totals")
    rows = {key: part for key, part in report.items() if key in sections}
    show(shape, rows, render_info, report, limit)
    return judged_or_not(report)
