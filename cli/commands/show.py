"""``seqaudit show``: one thing of an audit as a table of its own."""

from typing import Final

import click

from seqaudit.cli.commands.show_pictures import sequence, timeline
from seqaudit.cli.commands.show_raims import advisories, convergence, loss, windows
from seqaudit.cli.exit_codes import Command, Decorator
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
from seqaudit.cli.output.terminal import show
from seqaudit.cli.output.times import TimeStyle
from seqaudit.cli.run import audited_whole, judged_or_not


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
_OF_STREAMS: Final = ("streams", "connections", "findings", "gaps")

_ONE_GAP: Final[Decorator] = click.option(
    "--gap",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="The story of this gap alone: each step, who waited, and where it was lost.",
)


def _as_it_is(function: Command) -> Command:
    return function


def _part(
    name: str, short: str, keys: tuple[str, ...], text: str = "", more: tuple[str, ...] = ()
) -> None:
    """``seqaudit show NAME``: one table of the report, or its rows as JSON; one gap's story.

    Args:
        text: the first line of its help, if that is not ``short``.
        more: examples beside that without options.
    """
    examples = [f"  seqaudit show {name} {options}receiver.pcap" for options in ("", *more)]
    head = "Examples" if more else "Example"
    explained = "\n".join([f"{text or short}\n\n\b\n{head}:", *examples])

    @command.command(name, short_help=short, help=explained)
    @reading_options
    @judging_options
    @(_ONE_GAP if name == "gaps" else _as_it_is)
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
        number: int | None = None,
        **given: object,
    ) -> int:
        from seqaudit.cli.output.several import rows_of
        from seqaudit.cli.output.story import gap_named, render_story
        from seqaudit.cli.output.table import numbered, render_part

        selection = selection_from(given) if name in _OF_STREAMS else Selection()
        whole = audited_whole(given)
        if number is not None:
            show(shape, {name: [gap_named(whole, number)]}, render_story, whole, number, style)
            return judged_or_not(whole)
        report, _ = selected(numbered(whole, name), selection)
        rows = {key: in_order(key, rows_of(report, key), order) for key in keys}
        show(shape, rows, render_part, name, report, style, limit, order)
        return judged_or_not(whole)


_part("streams", "Every numbered stream, and why something of it cannot be told.", ("streams",))
_part("connections", "Connections: their states and what was left unacked.", ("connections",))
_part("findings", "Findings with their evidence, the gravest first.", ("findings",))
_part("rules", "Which rules were judged, and why others could not be.", ("rules",))
_part("captures", "What was read: frames, times, vantages.", ("captures", "unreadable"))
_part(
    "gaps",
    "Every gap, or the story of one.",
    ("gaps",),
    "Every gap: revealed, asked for, repaired, delivered, and when.",
    ("--sort slowest ", "--gap 3 "),
)


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
    from seqaudit.cli.output.tables.recovery import render_recovery

    report = audited_whole(given)
    show(shape, {"queries": report["queries"]}, render_recovery, report, style, limit)
    return judged_or_not(report)
