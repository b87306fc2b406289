"""``seqaudit show``: one thing of an audit as a table of its own."""

from typing import Final

import click

from seqaudit.cli.commands.show_pictures import sequence, timeline
from seqaudit.cli.commands.show_raims import advisories, convergence, loss, windows
from seqaudit.cli.exit_codes import Command, Decorator, ExitCode
from seqaudit.cli.options.captures import (
    format_option,
    judging_options,
    limit_option,
    reading_options,
    time_option,
)
from seqaudit.cli.options.selection import selected, selection_from, selection_options
from seqaudit.cli.output.selection import Selection
from seqaudit.cli.output.sorting import REPORT, in_order, orders
from seqaudit.cli.output.terminal import emit, render
from seqaudit.cli.output.times import TimeStyle
from seqaudit.cli.run import audited_whole


@click.group("show")
def command() -> None:
    """Show one thing of an audit as a table of its own."""


command.add_command(loss)
command.add_command(convergence)
command.add_command(advisories)
command.add_command(windows)
command.add_command(timeline)
command.add_command(sequence)


def _sort_option(part: str) -> Decorator:
    """``--sort``: the orders of a listing; of one that has its own order it takes no other."""
    return click.option(
        "--sort",
        "order",
        type=click.Choice(orders(part) or [REPORT]),
        default=REPORT,
        show_default=True,
        hidden=not orders(part),
        help="Most of a figure first; what cannot be told is last.",
    )


#: Parts that filters are for.
_OF_STREAMS: Final = ("streams", "connections", "findings")


def _as_it_is(function: Command) -> Command:
    return function


def _part(name: str, text: str, keys: tuple[str, ...]) -> None:
    """``seqaudit show NAME``: one table of the report, or its rows as JSON."""

    example = f"\b\nExample:\n  seqaudit show {name} receiver.pcap"

    @command.command(name, short_help=text, help=f"{text}\n\n{example}")
    @reading_options
    @judging_options
    @format_option("A table for people, or these rows of the report for programs.")
    @time_option
    @_sort_option(name)
    @limit_option(100)
    @(selection_options if name in _OF_STREAMS else _as_it_is)
    def part(
        shape: str,
        style: TimeStyle,
        order: str,
        limit: int,
        **given: object,
    ) -> int:
        from seqaudit.cli.commands.audit import tell_unjudged
        from seqaudit.cli.output.several import rows_of
        from seqaudit.cli.output.table import numbered, render_part

        selection = selection_from(given) if name in _OF_STREAMS else Selection()
        whole = audited_whole(given)
        report, _ = selected(numbered(whole, name), selection)
        if shape == "json":
            from seqaudit.pipeline.report.json_text import to_json

            emit(to_json({key: in_order(key, rows_of(report, key), order) for key in keys}))
        else:
            render(render_part(name, report, style, limit, order))
        return ExitCode.NOT_JUDGED if tell_unjudged(whole) else ExitCode.CLEAN


_part("streams", "Every numbered stream, and why something of it cannot be told.", ("streams",))
_part("connections", "Connections: their states and what was left unacked.", ("connections",))
_part("findings", "Findings with their evidence, the gravest first.", ("findings",))
_part("rules", "Which rules were judged, and why others could not be.", ("rules",))
_part("captures", "What was read: frames, times, vantages.", ("captures", "unreadable"))


@command.command("gaps", short_help="Every gap, or the story of one.")
@reading_options
@judging_options
@click.option(
    "--gap",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="The story of this gap alone: each step, who waited, and where it was lost.",
)
@format_option("A table for people, or these rows of the report for programs.")
@time_option
@_sort_option("gaps")
@limit_option(100)
@selection_options
def gaps(
    number: int | None,
    shape: str,
    style: TimeStyle,
    order: str,
    limit: int,
    **given: object,
) -> int:
    """Every gap: revealed, asked for, repaired, delivered, and when.

    \b
    Examples:
      seqaudit show gaps receiver.pcap
      seqaudit show gaps --sort slowest receiver.pcap
      seqaudit show gaps --gap 3 receiver.pcap
    """
    from seqaudit.cli.commands.audit import tell_unjudged
    from seqaudit.cli.output.story import gap_named, render_story
    from seqaudit.cli.output.table import numbered, render_part
    from seqaudit.pipeline.report.json_text import to_json

    selection = selection_from(given)
    whole = audited_whole(given)
    if number is not None:
        if shape == "json":
            emit(to_json({"gaps": [gap_named(whole, number)]}))
        else:
            render(render_story(whole, number, style))
    else:
        report, _ = selected(numbered(whole, "gaps"), selection)
        if shape == "json":
            emit(to_json({"gaps": in_order("gaps", report["gaps"], order)}))
        else:
            render(render_part("gaps", report, style, limit, order))
    return ExitCode.NOT_JUDGED if tell_unjudged(whole) else ExitCode.CLEAN


@command.command("recovery", short_help="Recovery queries of zenoh, and their answers.")
@reading_options
@judging_options
@format_option("A table for people, or the queries of the report for programs.")
@time_option
@limit_option(100)
def recovery(
    shape: str,
    style: TimeStyle,
    limit: int,
    **given: object,
) -> int:
    """List the recovery queries of zenoh: range, replies, cache, duration, outcome.

    \b
    Example:
      seqaudit show recovery subscriber.pcap
    """
    from seqaudit.cli.commands.audit import tell_unjudged

    report = audited_whole(given)
    if shape == "json":
        from seqaudit.pipeline.report.json_text import to_json

        emit(to_json({"queries": report["queries"]}))
    else:
        from seqaudit.cli.output.tables.recovery import render_recovery

        render([render_recovery(report, style, limit)])
    return ExitCode.NOT_JUDGED if tell_unjudged(report) else ExitCode.CLEAN
