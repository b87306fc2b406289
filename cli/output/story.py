"""The story of one gap for people: its steps, who waited, and where it was lost."""

from collections.abc import Mapping

import click
from rich.console import Group, RenderableType

from seqaudit.cli.output.cells import count_of, gap_seqnos
from seqaudit.cli.output.listing import Column, Lines, Listing
from seqaudit.cli.output.short_names import short_names
from seqaudit.cli.output.text import frame_at
from seqaudit.cli.output.times import TimeStyle, duration, time_formatter
from seqaudit.replay.contract.report_rows import GapRow, Report, StepRow


def gap_named(report: Report, number: int) -> GapRow:
    """The gap that tables give this number, from 1.

    Raises:
        click.UsageError: there are not so many.
    """
    count = len(report["gaps"])
    if number > count:
        there = "is 1 gap" if count == 1 else f"are {count} gaps"
        raise click.UsageError(
            f"--gap {number}: there {there}; seqaudit show gaps lists and numbers them"
        )
    return report["gaps"][number - 1]


def who(step: StepRow) -> str:
    """Who did a step: a name, else a short identity; nothing where nobody is known."""
    name = step["by_name"] or step["by"]
    if name is None:
        return ""
    return short_names(str(name), {})


def step_text(step: StepRow) -> str:
    """One step as a clause."""
    by = who(step)
    return f"{step['says']}, by {by}" if by else str(step["says"])


def render_story(report: Report, number: int, style: TimeStyle) -> list[RenderableType]:
    """Gap ``number`` (from 1) of a report, step by step."""
    gap = gap_named(report, number)
    story = gap["story"]
    capture = report["captures"][gap["capture"]]
    show_time = time_formatter(style, capture["first_ns"])
    title = f"Gap {number}: {gap['system']} {gap_seqnos(gap)}, {gap['outcome']}"
    rows = [
        [
            _after(step["after_ns"]),
            step["step"],
            "" if step["frame"] is None else step_frame(step),
            str(step["by_name"] or step["by"] or ""),
            step["says"],
            show_time(step["at_ns"]) if step["at_ns"] is not None else "",
        ]
        for step in story["steps"]
    ]
    columns = [
        Column("after", "right", 9),
        Column("step", worth=9),
        Column("frame", "right", 9),
        Column("by", worth=7),
        Column("what", worth=8, folds=True),
        Column("time", worth=3, whole=True),
    ]
    lines = [(line, 0) for line in story_lines(gap, capture["path"])]
    return [Group(Listing(title, columns, rows), Lines(lines))]


def story_lines(gap: GapRow, path: str) -> list[str]:
    """What is said of a gap beside its steps: who waited, where it was lost, what is not known."""
    story = gap["story"]
    lines = [f"stream {gap['stream']} in {path}"]
    if gap["count"] != gap.get("count_upper", gap["count"]):
        lines.append(f"How many were lost is not known: {count_of(gap)}.")
    if story["steps_more"]:
        more = story["steps_more"]
        lines.append(f"{more} more {'request is' if more == 1 else 'requests are'} not listed.")
    if story["waited_ns"] == 0:
        lines.append("What came behind it was handed on at once.")
    elif story["waited_ns"] is not None:
        waiter = story["waited_by_name"] or story["waited_by"] or "The receiver"
        lines.append(
            f"{waiter} could hand on nothing behind it for {duration(story['waited_ns'])}."
        )
    where = story["where"]
    sure = "" if where == "cannot be told" else f" ({story['where_certainty']})"
    lines.append(f"Where: {where}{sure}, because {story['where_why']}.")
    if story["where_evidence"]:
        frames = ", ".join(f"{step_frame(e)} ({e['shows']})" for e in story["where_evidence"])
        lines.append(f"Frames that show it: {frames}.")
    unknown = [f"{figure}: {why}" for figure, why in sorted(story["unknown"].items())]
    if unknown:
        lines.append(f"Not known: {'; '.join(unknown)}.")
    return lines


def _after(after_ns: int | None) -> str:
    if after_ns is None:
        return ""
    if after_ns == 0:
        return "0"
    return f"+{duration(after_ns)}" if after_ns > 0 else duration(after_ns)


def step_frame(step: Mapping[str, object]) -> str:
    """The frame of a step or of an evidence, and of which file where there are several."""
    if step.get("file") is not None:
        return frame_at(step)
    number = step.get("frame_file")
    return f"{step['frame']}" + (f" of file {number + 1}" if isinstance(number, int) else "")
