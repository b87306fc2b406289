"""``seqaudit audit``: captures in, a report out."""

from collections.abc import Iterable
from dataclasses import replace

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import (
    judging_options,
    limit_option,
    reading_options,
    time_option,
)
from seqaudit.cli.options.outputs import (
    baseline_options,
    output_options,
    rules_url_option,
    told_new,
)
from seqaudit.cli.options.selection import selected, selection_from, selection_options
from seqaudit.cli.output.documents import Shown, of_audit
from seqaudit.cli.output.outcomes import FAILED, NEVER, SEVERITIES, failing
from seqaudit.cli.output.points import EventsOfStreams
from seqaudit.cli.output.terminal import note
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import TimeStyle
from seqaudit.cli.output.writers import outputs_of, write
from seqaudit.cli.run import audited, judged_or_not
from seqaudit.replay.contract.report_rows import FindingRow, Report


@click.command("audit")
@reading_options
@judging_options
@output_options("Tables for people, the report seqaudit/report/1 for programs, or what a CI reads.")
@rules_url_option
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
@baseline_options
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
    formats: tuple[str, ...],
    files: tuple[str, ...],
    rules_url: str | None,
    style: TimeStyle,
    fail_on: str,
    exit_zero: bool,
    known: frozenset[str] | None,
    write_baseline: str | None,
    metrics: bool,
    limit: int,
    everything: bool,
    quiet: bool,
    **given: object,
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
    selection = selection_from(given)
    outputs = outputs_of(formats, files)
    given_limit = None if _is_default("limit") else limit
    drawn = EventsOfStreams() if any(name == "html" for name, _ in outputs) else None
    shown = Shown(style, limit, fail_on, everything, quiet, rules_url, given_limit, drawn)
    from seqaudit.pipeline.shared.progress import StoppedError

    try:
        report = audited(given, quiet=quiet, look=drawn, measured=metrics)
    except StoppedError as stopped:
        if stopped.report is not None:
            known_rows, left_out = selected(stopped.report, selection, whole=False)
            write(of_audit(known_rows, replace(shown, left_out=left_out)), outputs)
        note(str(stopped))
        return ExitCode.INTERRUPTED
    chosen, left_out = selected(report, selection)
    write(of_audit(chosen, replace(shown, left_out=left_out)), outputs)
    if not quiet:
        tell_unknown_vantages(report)
    counted = told_new(chosen, known, write_baseline, quiet=quiet)
    return exit_code(report, counted, fail_on, exit_zero)


def _is_default(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT


def exit_code(
    report: Report,
    findings: Iterable[FindingRow],
    fail_on: str,
    exit_zero: bool,
) -> ExitCode:
    """1 if any of these findings counts, else 2 if any capture could not be judged, else 0."""
    counted = failing(fail_on)
    found = any(f["severity"] in counted and f["rule"] != FAILED for f in findings)
    if found and not exit_zero:
        return ExitCode.FINDINGS
    return judged_or_not(report)


def tell_unknown_vantages(report: Report) -> None:
    """Say on stderr where --at names nobody: delivery and loss are not judged there."""
    for capture in report["captures"]:
        vantage = capture["vantage"]
        if vantage["kind"] == "unknown" and vantage["origin"] == "given":
            note(f"note: {safe(capture['path'])}: {safe(vantage['why'])}; not judged as a member's")
