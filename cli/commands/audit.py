"""``seqaudit audit``: captures in, a report out."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import (
    judging_options,
    limit_option,
    reading_options,
    time_option,
)
from seqaudit.cli.options.selection import selection_of, selection_options
from seqaudit.cli.output.baseline import baseline_of, new_in, read_baseline
from seqaudit.cli.output.outcomes import FAILED, NEVER, SEVERITIES, failing, unjudged
from seqaudit.cli.output.points import EventsOfStreams
from seqaudit.cli.output.selection import Selection
from seqaudit.cli.output.terminal import note
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import TimeStyle
from seqaudit.cli.output.writers import MORE, TABLE, Shown, outputs_of, write, write_file
from seqaudit.cli.run import audited

_SELECTION = ("systems", "members", "streams", "since", "until", "select", "ignore")


@click.command("audit")
@reading_options
@judging_options
@click.option(
    "--format",
    "formats",
    type=click.Choice([TABLE, "json", *MORE]),
    multiple=True,
    help="Tables for people, the report seqaudit/report/1 for programs, or what a CI reads. May be "
    "repeated; --limit applies to what is for people.  [default: table]",
)
@click.option(
    "-o",
    "--output",
    "files",
    type=click.Path(dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Write a format to a file instead of printing it. May be repeated: files take the "
    "formats in their order. Without --format the name's ending says the format.",
)
@click.option(
    "--rules-url",
    metavar="URL",
    help="Where replay/rules.md is published, for links from SARIF to the rules.",
)
@time_option
@selection_options
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, NEVER]),
    default="error",
    show_default=True,
    help="Exit with 1 for findings of this severity or worse; those are failures in JUnit XML.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even with findings.")
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Findings that are in this file are known: only new ones count for the exit code.",
)
@click.option(
    "--write-baseline",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the findings of this audit as a baseline. They outlive another recording of the "
    "same test: by rule, system, names and subject, not by frames, times or counts.",
)
@click.option(
    "--metrics",
    is_flag=True,
    help="The JSON report says what the run took as well: bytes, frames, events, memory, spill, "
    "skew. Two runs differ in it.",
)
@limit_option(100)
@click.option(
    "-v",
    "--verbose",
    "everything",
    is_flag=True,
    help="Tables of gaps, connections and rules as well.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict alone, and no notes.")
def command(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool | None,
    formats: tuple[str, ...],
    files: tuple[str, ...],
    rules_url: str | None,
    style: TimeStyle,
    fail_on: str,
    exit_zero: bool,
    baseline: str | None,
    write_baseline: str | None,
    metrics: bool,
    limit: int,
    everything: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Replay captures and report what was lost, repeated, repaired and given up.

    CAPTURE is a pcap or pcapng file, also compressed (gz, zst, lz4), - for standard input, a folder
    or a pattern, or a file of events that seqaudit decode made. Several captures are vantages of
    their own.

    \b
    Examples:
      seqaudit audit receiver.pcap
      seqaudit audit --at a.pcap=A --at b.pcap=B --names names.yaml a.pcap b.pcap
      seqaudit audit -o report.json -o report.html recordings/
      seqaudit audit --member B --since +2 --until +5 --select MC receiver.pcap
      zstdcat big.pcapng.zst | seqaudit audit --format json -
      seqaudit audit --master spark://head:7077 /shared/captures/*.pcap.zst

    \b
    Exit codes: 0 clean, 1 findings, 2 could not judge, 130 interrupted.
    """
    known = frozenset[str]() if baseline is None else read_baseline(baseline)
    selection = selection_of(**{name: given.pop(name) for name in _SELECTION})
    outputs = outputs_of(formats, files)
    given_limit = None if _is_default("limit") else limit
    address = _absolute(rules_url)
    drawn = EventsOfStreams() if any(name == "html" for name, _ in outputs) else None
    shown = Shown(outputs, style, limit, fail_on, everything, quiet, address, given_limit, drawn)
    from seqaudit.pipeline.shared.progress import StoppedError

    try:
        report = audited(
            captures, at, one_capture, given, quiet=quiet, look=drawn, measured=metrics
        )
    except StoppedError as stopped:
        if stopped.report is not None:
            write(*_selected(stopped.report, selection, shown))
        note(str(stopped))
        return ExitCode.INTERRUPTED
    chosen, shown = _selected(report, selection, shown)
    write(chosen, shown)
    if not quiet:
        tell_unknown_vantages(report)
    if write_baseline is not None:
        write_file(write_baseline, [baseline_of(chosen)])
    counted = chosen["findings"] if baseline is None else new_in(chosen, known)
    if baseline is not None and not quiet:
        old = len(chosen["findings"]) - len(counted)
        note(f"Baseline: {old:,} of {len(chosen['findings']):,} findings are known.")
    return exit_code(report, counted, fail_on, exit_zero)


def _absolute(url: str | None) -> str | None:
    """Where the rules are; what reads SARIF takes absolute addresses alone."""
    if url is None or re.fullmatch(r"https?://[^\s/?#\"<>]+[^\s#\"<>]*", url):
        return url
    raise click.UsageError(f"--rules-url {safe(url)}: give an address with http:// or https://")


def _is_default(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT


def _selected(
    report: Mapping[str, Any], selection: Selection, shown: Shown
) -> tuple[Mapping[str, Any], Shown]:
    """What is to be shown; what is left out is said."""
    if not selection:
        return report, shown
    chosen = selection.of(report)
    left_out = selection.left_out(report, chosen)
    note(left_out)
    return chosen, replace(shown, left_out=left_out)


def exit_code(
    report: Mapping[str, Any],
    findings: Iterable[Mapping[str, Any]],
    fail_on: str,
    exit_zero: bool,
) -> ExitCode:
    """1 if any of these findings counts, else 2 if any capture could not be judged, else 0."""
    counted = failing(fail_on)
    found = any(f["severity"] in counted and f["rule"] != FAILED for f in findings)
    if found and not exit_zero:
        return ExitCode.FINDINGS
    return ExitCode.NOT_JUDGED if tell_unjudged(report) else ExitCode.CLEAN


def tell_unknown_vantages(report: Mapping[str, Any]) -> None:
    """Say on stderr where --at names nobody: delivery and loss are not judged there."""
    for capture in report["captures"]:
        vantage = capture["vantage"]
        if vantage["kind"] == "unknown" and vantage["origin"] == "given":
            note(f"note: {safe(capture['path'])}: {safe(vantage['why'])}; not judged as a member's")


def tell_unjudged(report: Mapping[str, Any]) -> bool:
    """Say on stderr which captures could not be judged; whether there are any."""
    problems = list(unjudged(report))
    for _, problem in problems:
        note(f"error: {problem}")
    return bool(problems)
