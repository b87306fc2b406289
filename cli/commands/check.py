"""``seqaudit check``: captures against a budget, for CI."""

from typing import Final

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.budget import EXAMPLE, read_budget
from seqaudit.cli.options.captures import judging_options, limit_option, reading_options
from seqaudit.cli.options.outputs import (
    baseline_options,
    output_options,
    rules_url_option,
    told_new,
)
from seqaudit.cli.output.budget import BudgetResult, judged, verdict_of
from seqaudit.cli.output.documents import Shown, of_check
from seqaudit.cli.output.points import EventsOfStreams
from seqaudit.cli.output.writers import outputs_of, write
from seqaudit.cli.run import audited_whole, tell_unjudged

_CODES: Final = {
    BudgetResult.KEPT: ExitCode.CLEAN,
    BudgetResult.EXCEEDED: ExitCode.FINDINGS,
    BudgetResult.UNKNOWN: ExitCode.NOT_JUDGED,
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
@output_options("Tables for people, JSON for programs, or what a CI reads, a case a budget line.")
@rules_url_option
@baseline_options
@limit_option(100)
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict alone, and no notes.")
def command(
    budget_file: str,
    formats: tuple[str, ...],
    files: tuple[str, ...],
    rules_url: str | None,
    known: frozenset[str] | None,
    write_baseline: str | None,
    limit: int,
    quiet: bool,
    **given: object,
) -> int:
    """Hold captures to a budget: what of loss, repair and delay is put up with.

    A figure that cannot be told from the captures is "too little to judge", never kept; so are
    limits of a name that no stream has. A baseline excuses findings that it knows, and no figure:
    what is put up with is in the budget.

    \b
    Examples:
      seqaudit check --budget budget.yaml recordings/
      seqaudit check --budget budget.yaml -o check.xml -o check.md recordings/

    \b
    Exit codes: 0 kept, 1 exceeded, 2 too little, or nothing, to judge.
    """
    budget = read_budget(budget_file)
    outputs = outputs_of(formats, files)
    drawn = EventsOfStreams() if any(name == "html" for name, _ in outputs) else None
    report = audited_whole(given, look=drawn, quiet=quiet)
    lines = judged(report, budget, known or frozenset())
    shown = Shown(limit=limit, quiet=quiet, rules_url=rules_url, events=drawn)
    write(of_check(lines, report, budget_file, shown), outputs)
    told_new(report, known, write_baseline, quiet=quiet)
    code = _CODES[verdict_of(lines)]
    if tell_unjudged(report) and code is ExitCode.CLEAN:
        return ExitCode.NOT_JUDGED
    return code
