"""``seqaudit diff``: what changed from a good run to a bad one."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, cast

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.budget import read_budget
from seqaudit.cli.options.captures import judging_options, limit_option, reading_options
from seqaudit.cli.options.outputs import output_options
from seqaudit.cli.options.paths import expanded
from seqaudit.cli.output.differences import Change, differences, is_worse
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.writers import Document, outputs_of, write
from seqaudit.cli.run import audited_whole, tell_unjudged
from seqaudit.replay.contract.report_rows import Report

SCHEMA: Final = "seqaudit/diff/1"
_REPORT: Final = "seqaudit/report/1"


@click.command("diff")
@reading_options
@judging_options
@click.option(
    "--budget",
    "budget_file",
    type=click.Path(exists=True, dir_okay=False),
    help="YAML file as for seqaudit check: lines that were kept and are exceeded count as worse.",
)
@output_options("Tables for people, JSON for programs, or Markdown.", ["json", "markdown"])
@limit_option(10)
def command(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    budget_file: str | None,
    formats: tuple[str, ...],
    files: tuple[str, ...],
    limit: int,
    **given: object,
) -> int:
    """Compare two runs: GOOD and BAD are captures, folders of captures, or JSON reports.

    What got worse and matters comes first, then what changed by system, stream and rule. Streams
    are matched by system, role, names and subject, so another recording of the same test matches.
    Recovery times count as changed from twice and 10 ms on.

    \b
    Examples:
      seqaudit diff monday.pcap tuesday.pcap
      seqaudit diff good.json bad.json -o changes.md -o changes.json

    \b
    Exit codes: 0 nothing that matters is worse; 1 more messages lost or
    unrecovered, more errors or warnings, or a budget line exceeded that was
    kept; 2 one of them could not be judged.
    """
    if len(captures) != 2:
        raise click.UsageError(f"diff takes two runs, GOOD and BAD; {len(captures)} given")
    outputs = outputs_of(formats, files, ["json", "markdown"])
    budget = None if budget_file is None else read_budget(budget_file)
    reports = [
        _report(path, other, at, given)
        for path, other in zip(captures, reversed(captures), strict=True)
    ]
    changes = differences(reports[0], reports[1], budget)
    write(_document(changes, captures, limit), outputs)
    unjudged = [tell_unjudged(report) for report in reports]
    if is_worse(changes):
        return ExitCode.FINDINGS
    return ExitCode.NOT_JUDGED if any(unjudged) else ExitCode.CLEAN


def _document(changes: Sequence[Change], runs: Sequence[str], limit: int) -> Document:
    from seqaudit.cli.output.tables.diff import diff_as_markdown, render_diff

    document = {"schema": SCHEMA, "worse": is_worse(changes), "changes": [*map(_row, changes)]}
    return Document(
        lambda: render_diff(changes, runs, limit),
        {
            "json": lambda: [json.dumps(document, indent=1, sort_keys=True) + "\n"],
            "markdown": lambda: diff_as_markdown(changes, runs, limit),
        },
    )


def _row(change: Change) -> dict[str, object]:
    return asdict(change) | {"grade": str(change.grade)}


def _report(path: str, other: str, at: Sequence[str], given: dict[str, object]) -> Report:
    """The report of a run.

    Raises:
        click.UsageError: a JSON file that is no report; one line.
    """
    if not _is_json(path):
        return audited_whole({**given, "captures": (path,), "at": _of_run(at, path, other)})
    try:
        report: object = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise click.UsageError(f"{safe(path)}: is no JSON report") from problem
    if not isinstance(report, dict) or report.get("schema") != _REPORT:
        raise click.UsageError(
            f"{safe(path)}: is no {_REPORT}; seqaudit audit --format json makes one"
        )
    return cast(Report, report)


def _is_json(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(64).lstrip()[:1] == b"{"
    except OSError:
        return False  # reading it as a capture says what is wrong


def _of_run(at: Sequence[str], path: str, other: str) -> tuple[str, ...]:
    """The places that are not about files of the other run."""
    mine, others = (_names(run) for run in (path, other))
    return tuple(
        text
        for text in at
        if "=" not in text or (file := text.partition("=")[0]) in mine or file not in others
    )


def _names(run: str) -> set[str]:
    paths = [] if _is_json(run) else expanded([run])
    return {*paths, *(Path(path).name for path in paths)}
