"""``seqaudit infer``: find the sequence number of traffic that nothing recognises
(decoders/README.md 5)."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import (
    capture_argument,
    decode_settings,
    engine_of,
    engine_options,
    format_option,
    limit_option,
    recognition_options,
)
from seqaudit.cli.options.paths import expanded
from seqaudit.cli.output.terminal import ShownProgress, emit, note, render
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.writers import write_file

if TYPE_CHECKING:
    from seqaudit.cli.output.feed_file import InferredFeed
    from seqaudit.pipeline.shared.infer_samples import Inferred, Reading


@click.command("infer")
@capture_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the feed found here; a second one is FILE-2, and so on.",
)
@engine_options
@recognition_options
@format_option("Tables for people, or seqaudit/infer/1 for programs.")
@limit_option(50)
def command(
    captures: tuple[str, ...],
    output: str | None,
    decode_as: tuple[str, ...],
    no_decode: tuple[str, ...],
    shape: str,
    limit: int,
    **given: object,
) -> int:
    """Find the sequence number in UDP traffic that nothing recognises, and write a feed file.

    Every offset, width from 1 to 8 bytes and byte order is tested as the number of the datagrams to
    a destination; also for each source, and for streams told apart by another field, and with a
    field that says how many messages a datagram holds. What counts as a sequence number is dense:
    most datagrams follow the one before, and the others are lost, late or duplicate ones.
    Destinations that bring the same numbers at the same time are said to be lines A and B.

    It is a look at the beginning: the first 10,000 datagrams of a destination and
    their first 128 bytes, of at most a million datagrams or five million frames of a capture.
    Bits within bytes, and numbers that count bytes, are not found.

    \b
    Examples:
      seqaudit infer unknown.pcap
      seqaudit infer -o feed.yaml unknown.pcap
      seqaudit audit --feed feed.yaml unknown.pcap

    \b
    Exit codes: 0 a number was found, 2 none was, 130 interrupted.
    """
    from seqaudit.cli.output.feed_file import feed_text, feeds_of
    from seqaudit.pipeline.shared.events_file import is_events_file
    from seqaudit.pipeline.shared.infer_samples import look
    from seqaudit.pipeline.shared.plan import CaptureInput
    from seqaudit.pipeline.shared.progress import StoppedError
    from seqaudit.pipeline.spark.infer import look_on_spark

    files = expanded(captures)
    settings = decode_settings(decode_as, no_decode)
    if events := next(filter(is_events_file, files), None):
        raise click.UsageError(f"{safe(events)}: holds events, no datagrams; name the capture")
    if output is not None and any(_same_file(output, path) for path in files):
        raise click.UsageError(f"{safe(output)}: is a capture to be read; name another file")
    choice, _ = engine_of(files, **cast(Any, given))
    elsewhere = partial(look_on_spark, choice.place) if choice.engine == "spark" else None
    inputs = [CaptureInput(path) for path in files]
    try:
        with ShownProgress(choice.line) as progress:
            readings, findings, problems = look(inputs, settings, progress, elsewhere)
    except StoppedError as stopped:
        note(str(stopped))
        return ExitCode.INTERRUPTED
    feeds = feeds_of(findings)
    written = _files(output, len(feeds)) if output else []
    for path, feed in zip(written, feeds, strict=False):
        write_file(path, [feed_text(feed)])
    if shape == "json":
        emit(_to_json(readings, findings, problems, feeds, written))
    else:
        from seqaudit.cli.output.tables.infer import render_infer

        render(render_infer(readings, findings, feeds, limit))
    for _, problem in problems:
        note(f"error: {problem}")
    if output and feeds:
        for path, feed in zip(written, feeds, strict=True):
            places = len(feed.places)
            noun = "destination" if places == 1 else "destinations"
            note(f"note: {path} has the feed of {places} {noun}; try seqaudit audit --feed {path}")
    elif output:
        note(f"note: nothing to write to {output}")
    return ExitCode.CLEAN if feeds else ExitCode.NOT_JUDGED


def _files(output: str, number: int) -> list[str]:
    path = Path(output)
    more = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, number + 1))
    return [output, *map(str, more)][:number]


def _same_file(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False


def _to_json(
    readings: "Sequence[Reading]",
    findings: "Sequence[Inferred]",
    problems: Sequence[tuple[str, str]],
    feeds: "Sequence[InferredFeed]",
    files: Sequence[str],
) -> str:
    from seqaudit.cli.output.feed_file import as_values, layout_values

    captures = [
        {
            "path": reading.path,
            "frames_read": reading.frames,
            "whole": reading.whole,
            "recognised": reading.recognised,
            "unrecognised": reading.unrecognised,
        }
        for reading in readings
    ]
    destinations: list[dict[str, object]] = [
        {
            "path": finding.path,
            "destination": finding.destination,
            "port": finding.port,
            "datagrams": finding.datagrams,
            "examined": finding.answer.examined,
            "examined_bytes": finding.answer.depth,
            "sources": finding.sources,
            "reason": finding.answer.reason or None,
            "layouts": [layout_values(layout) for layout in finding.answer.layouts],
        }
        for finding in findings
    ]
    document = {
        "schema": "seqaudit/infer/1",
        "captures": captures,
        "destinations": destinations,
        "feeds": as_values(feeds, files),
        "unreadable": [{"path": path, "problem": problem} for path, problem in problems],
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True)
