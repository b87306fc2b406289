"""``seqaudit check``: captures against a budget, for CI."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.budget import EXAMPLE, read_budget
from seqaudit.cli.options.captures import format_option, judging_options, reading_options
from seqaudit.cli.output.budget import Line, Result, judged, verdict_of
from seqaudit.cli.output.terminal import emit, render
from seqaudit.cli.run import audited_whole

SCHEMA: Final = "seqaudit/check/1"

_CODES: Final = {
    Result.KEPT: ExitCode.CLEAN,
    Result.EXCEEDED: ExitCode.FINDINGS,
    Result.UNKNOWN: ExitCode.NOT_JUDGED,
}


@click.command(
    "check",
    epilog="\b\nA budget file:\n" + "".join(f"  {line}\n" for line in EXAMPLE.splitlines()),
)
@reading_options
@judging_options
@click.option(
    "--budget",
    "budget_file",
    type=click.Path(exists=True, dir_okay=False),
    required=True,
    help="YAML file: limits of lost, loss_share, unrecovered, repeats, repeat_share, requests, "
    "recovery_p50, recovery_p99, recovery_max; rules that may or must not fire.",
)
@format_option(
    "Tables for people, JSON for programs, or JUnit XML: a case a budget line.", ["junit"]
)
def command(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool | None,
    budget_file: str,
    shape: str,
    **given: Any,
) -> int:
    """Hold captures to a budget: what of loss, repair and delay is put up with.

    A figure that cannot be told from the captures is "too little to judge", never kept.

    \b
    Example:
      seqaudit check --budget budget.yaml recordings/

    \b
    Exit codes: 0 kept, 1 exceeded, 2 too little to judge, or nothing could be judged.
    """
    budget = read_budget(budget_file)
    report = audited_whole(captures, at, one_capture, given)
    lines = judged(report, budget)
    if shape == "json":
        import json

        emit(json.dumps(_as_json(lines), indent=1, sort_keys=True))
    elif shape == "junit":
        from seqaudit.cli.output.junit import junit_of_check

        emit(junit_of_check(lines, report, budget_file))
    else:
        from seqaudit.cli.output.tables.check import render_check

        render(render_check(lines))
    from seqaudit.cli.commands.audit import tell_unjudged

    code = _CODES[verdict_of(lines)]
    if tell_unjudged(report) and code is ExitCode.CLEAN:
        return ExitCode.NOT_JUDGED
    return code


def _as_json(lines: Sequence[Line]) -> Mapping[str, Any]:
    return {
        "schema": SCHEMA,
        "result": str(verdict_of(lines)),
        "lines": [asdict(line) | {"result": str(line.result)} for line in lines],
    }
