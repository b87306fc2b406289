"""``seqaudit show timeline`` and ``sequence``: pictures of losses and of one gap."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import judging_options, limit_option, reading_options
from seqaudit.cli.output.terminal import emit, render
from seqaudit.cli.output.text import safe
from seqaudit.cli.run import audited_whole, decoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqaudit.cli.output.plot import Point

#: Seqnos drawn below and above a gap, seqnos of it that are drawn, and events that are looked at.
_AROUND: Final = 4
_MOST: Final = 64
_EVENTS: Final = 20_000


@click.command("timeline")
@reading_options
@judging_options
@limit_option(40)
def timeline(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool | None,
    limit: int,
    **given: Any,
) -> int:
    """A line a stream: when something was missing, when it came, and what never came.

    Streams with gaps come first, and those alone if there are any.

    \b
    Example:
      seqaudit show timeline receiver.pcap
    """
    from rich.text import Text

    from seqaudit.cli.commands.audit import tell_unjudged
    from seqaudit.cli.output.budget import named
    from seqaudit.cli.output.plot import Timeline

    report = audited_whole(captures, at, one_capture, given)
    with_gaps = {(gap["capture"], gap["stream"]) for gap in report["gaps"]}
    parts: list[Any] = []
    for capture in report["captures"]:
        own = [s for s in report["streams"] if s["capture"] == capture["capture"]]
        chosen = [s for s in own if (s["capture"], s["id"]) in with_gaps] or own
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
    return ExitCode.NOT_JUDGED if tell_unjudged(report) else ExitCode.CLEAN


@click.command("sequence")
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
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool | None,
    number: int,
    **given: Any,
) -> int:
    """Seqnos against time round one gap: data, copies and repairs, requests, ACKs.

    \b
    Example:
      seqaudit show sequence --gap 3 receiver.pcap
    """  # fmt: skip
    from rich.text import Text

    from seqaudit.cli.output.plot import SequencePlot
    from seqaudit.cli.output.story import gap_named
    from seqaudit.cli.output.table import seqno_ranges

    report = audited_whole(captures, at, one_capture, given)
    if not report["gaps"]:
        emit("no gaps")
        return ExitCode.CLEAN
    gap = gap_named(report, number)
    reading = {key: given[key] for key in _READING}
    events = decoded(captures, one_capture, reading).events
    points = [*_of_events(gap, events), *_of_story(gap)]
    title = f"Gap {number}: {gap['system']} {seqno_ranges(gap['seqnos'])}, {gap['outcome']}"
    left_out = max(gap["count"] - _MOST, 0)
    plot = SequencePlot(points, gap["revealed_at_ns"] or 0, left_out)
    render([Text(safe(title), style="bold"), plot])
    return ExitCode.CLEAN


_READING: Final = (
    "engine", "spark_above", "master", "remote", "decode_as", "no_decode", "feeds", "lines",
)  # fmt: skip


def _bounds(gap: "Mapping[str, Any]") -> tuple[int, int, int, int]:
    """Seqnos [low, high] and times [begin, end] that are drawn."""
    first = gap["seqnos"][0][0]
    last = min(gap["seqnos"][-1][1], first + _MOST - 1)
    times = [s["at_ns"] for s in gap["story"]["steps"] if s["at_ns"] is not None]
    begin, end = min(times, default=0), max(times, default=0)
    margin = max((end - begin) // 10, 1_000_000)
    return first - _AROUND, last + _AROUND, begin - margin, end + margin


def _of_events(gap: "Mapping[str, Any]", events: Any) -> Iterator["Point"]:
    """What the events of the gap's stream show in its neighbourhood."""
    import pyarrow.compute as pc

    from seqaudit.cli.output.plot import Point
    from seqaudit.decoders.contract.events import Kind

    low, high, begin, end = _bounds(gap)
    marks = {Kind.DATA: "+", Kind.RETRANSMISSION: "o", Kind.ACK: "a"}
    streams = [
        stream
        for stream in pc.unique(events["stream"]).to_pylist()
        if stream and (gap["stream"] == stream or gap["stream"].startswith(f"{stream}|"))
    ]
    chosen = events.filter(
        (pc.field("capture") == gap["capture"])
        & pc.field("stream").isin(streams)
        & (pc.field("last_at_ns") >= begin)
        & (pc.field("at_ns") <= end)
        & (pc.field("seqno") <= high)
        & (pc.field("stop_seqno") > low)
    ).slice(0, _EVENTS)
    seen: set[int] = set()
    for row in chosen.select(["at_ns", "last_at_ns", "kind", "seqno", "stop_seqno"]).to_pylist():
        mark = marks.get(row["kind"])
        if mark is None:
            continue
        numbers = row["stop_seqno"] - row["seqno"]
        length = row["last_at_ns"] - row["at_ns"]
        for seqno in range(max(row["seqno"], low), min(row["stop_seqno"], high + 1)):
            at_ns = row["at_ns"] + length * (seqno - row["seqno"]) // max(numbers - 1, 1)
            again = mark == "+" and seqno in seen
            if mark != "a":
                seen.add(seqno)
            if begin <= at_ns <= end:
                yield Point(at_ns, seqno, "o" if again else mark)


def _of_story(gap: "Mapping[str, Any]") -> Iterator["Point"]:
    """What the gap's story says of its own seqnos: requests, and where nothing came."""
    from seqaudit.cli.output.plot import Point

    low, high, _, end = _bounds(gap)
    numbers = [n for a, b in gap["seqnos"] for n in range(max(a, low), min(b, high) + 1)]
    steps = gap["story"]["steps"]
    came = any(step["step"] in ("came", "had") for step in steps)
    for step in steps:
        mark = {"asked": "?", "came": "o"}.get(step["step"])
        if mark is not None and step["at_ns"] is not None:
            yield from (Point(step["at_ns"], number, mark) for number in numbers)
    if not came:
        yield from (Point(end, number, "x") for number in numbers)
