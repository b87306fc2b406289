"""``seqaudit audit``: captures in, a report out (design 4.5)."""

from collections.abc import Mapping
from typing import Any, Final

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import (
    begin,
    format_option,
    inputs_of,
    judging_options,
    limit_option,
    options_of,
    reading_options,
    time_option,
)
from seqaudit.cli.output.outcomes import FAILED, NEVER, SEVERITIES, failing, unjudged
from seqaudit.cli.output.terminal import ShownProgress, emit, emit_all, note, render
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import TimeStyle

_MORE_FORMATS: Final = ("junit", "sarif", "html")


@click.command("audit")
@reading_options
@judging_options
@format_option(
    "Tables for people, or one HTML page; the report seqaudit/report/1 for programs, or JUnit XML "
    "or SARIF 2.1.0 for CI. --limit applies to what is for people.",
    _MORE_FORMATS,
)
@time_option
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, NEVER]),
    default="error",
    show_default=True,
    help="Exit with 1 for findings of this severity or worse; those are failures in JUnit XML.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even with findings.")
@limit_option(100)
@click.option(
    "-v",
    "--verbose",
    "everything",
    is_flag=True,
    help="Tables of gaps, connections and rules as well.",
)
def command(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool | None,
    shape: str,
    style: TimeStyle,
    fail_on: str,
    exit_zero: bool,
    limit: int,
    everything: bool,
    **given: Any,
) -> int:
    """Replay captures and report what was lost, repeated, repaired and given up.

    CAPTURE is a pcap or pcapng file, also compressed (gz, zst, lz4), - for standard input, or a
    file of events that seqaudit decode made. Several captures are vantages of their own.

    \b
    Examples:
      seqaudit audit receiver.pcap
      seqaudit audit --at a.pcap=A --at b.pcap=B --names names.yaml a.pcap b.pcap
      zstdcat big.pcapng.zst | seqaudit audit --engine direct --format json -
      seqaudit audit --param mcast.capacity=64 --fail-on warning mirror.pcap

    \b
    Exit codes: 0 clean, 1 findings, 2 could not judge, 130 interrupted.
    """
    begin(given)
    from seqaudit.pipeline.audit import StoppedError, audit

    inputs, shared_at = inputs_of(captures, at, one_capture)
    options = options_of(at=shared_at, **given)
    try:
        with ShownProgress() as progress:
            report = audit(inputs, options, progress)
    except StoppedError as stopped:
        if stopped.report is not None:
            _print(stopped.report, shape, style, limit, fail_on, everything)
        note(str(stopped))
        return ExitCode.INTERRUPTED
    _print(report, shape, style, limit, fail_on, everything)
    tell_unknown_vantages(report)
    return exit_code(report, fail_on, exit_zero)


def exit_code(report: Mapping[str, Any], fail_on: str, exit_zero: bool) -> ExitCode:
    """1 if any capture has findings that count, else 2 if any could not be judged, else 0."""
    counted = failing(fail_on)
    found = any(f["severity"] in counted and f["rule"] != FAILED for f in report["findings"])
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


def _print(
    report: Mapping[str, Any],
    shape: str,
    style: TimeStyle,
    limit: int,
    fail_on: str,
    everything: bool,
) -> None:
    if shape == "json":
        from seqaudit.pipeline.report.build import json_chunks

        emit_all(json_chunks(report))
    elif shape == "junit":
        from seqaudit.cli.output.junit import junit

        emit(junit(report, fail_on))
    elif shape == "sarif":
        from seqaudit.cli.output.sarif import sarif

        emit(sarif(report))
    elif shape == "html":
        from seqaudit.cli.output.page import page

        emit(page(report, style, limit))
    else:
        from seqaudit.cli.output.table import render_audit

        render(render_audit(report, style, limit, everything=everything))
