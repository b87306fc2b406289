"""``seqaudit show timeline`` and ``sequence``: pictures of losses and of one gap."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

from seqaudit.cli.options.captures import judging_options, limit_option, reading_options
from seqaudit.cli.options.selection import selected, selection_from, selection_options
from seqaudit.cli.output.terminal import emit, render
from seqaudit.cli.output.text import safe
from seqaudit.cli.run import audited_whole, judged_or_not


@click.command("timeline", short_help="When each stream lacked something, as a picture.")
@reading_options
@judging_options
@limit_option(40)
@selection_options
def timeline(
    limit: int,
    **given: object,
) -> int:
    """A line a stream: when something was missing, when it came, and what never came.

    Streams with gaps come first, and those alone if there are any.

    \b
    Example:
      seqaudit show timeline receiver.pcap
    """
    from rich.text import Text

    from seqaudit.cli.output.budget import named
    from seqaudit.cli.output.plot import Timeline

    selection = selection_from(given)
    whole = audited_whole(given)
    report, _ = selected(whole, selection)
    with_gaps = {(gap["capture"], gap["stream"]) for gap in report["gaps"]}
    parts: list[RenderableType] = []
    for capture in report["captures"]:
        streams = [s for s in report["streams"] if s["capture"] == capture["capture"]]
        chosen = [s for s in streams if (s["capture"], s["id"]) in with_gaps] or streams
        if not chosen:
            continue
        shown = chosen[:limit] if limit else chosen
        gaps = [gap for gap in report["gaps"] if gap["capture"] == capture["capture"]]
        parts.append(Text(safe(capture["path"]), style="bold"))
        labels = [(stream, named(stream)) for stream in shown]
        parts += [Timeline(labels, gaps, len(chosen) - len(shown)), Text("")]
    if parts:
        render(parts)
    else:
        emit("no numbered stream in these captures")
    return judged_or_not(whole)


@click.command("sequence", short_help="Seqnos against time round one gap, as a picture.")
@reading_options
@judging_options
@click.option(
    "--gap",
    "number",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Which gap, as seqaudit show gaps numbers them.",
)
def sequence(
    number: int,
    **given: object,
) -> int:
    """Seqnos against time round one gap: data, copies and repairs, requests, ACKs.

    \b
    Example:
      seqaudit show sequence --gap 3 receiver.pcap
    """  # fmt: skip
    from rich.text import Text

    from seqaudit.cli.output.cells import gap_seqnos
    from seqaudit.cli.output.plot import SequencePlot
    from seqaudit.cli.output.points import MOST, EventsOfStreams, of_story
    from seqaudit.cli.output.story import gap_named

    events = EventsOfStreams()
    report = audited_whole(given, events)
    if not report["gaps"]:
        emit("no gaps")
        return judged_or_not(report)
    gap = gap_named(report, number)
    ((_, seen),) = events.points([gap])
    points = [*seen, *of_story(gap, seen)]
    title = f"Gap {number}: {gap['system']} {gap_seqnos(gap)}, {gap['outcome']}"
    left_out = max(gap["count"] - MOST, 0)
    plot = SequencePlot(points, gap["revealed_at_ns"] or 0, left_out, gap["seqnos"][0][0])
    render([Text(safe(title), style="bold"), plot])
    return judged_or_not(report)
