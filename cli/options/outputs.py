"""Options that say in which formats a command answers, where it writes them, and what is known."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import click

from seqaudit.cli.exit_codes import Command, Decorator
from seqaudit.cli.output.baseline import baseline_of, new_in, read_baseline
from seqaudit.cli.output.terminal import note
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.verdict import plural
from seqaudit.cli.output.writers import FORMATS, TABLE, write_file
from seqaudit.replay.contract.report_rows import FindingRow, Report


def output_options(text: str, formats: Sequence[str] = FORMATS) -> Decorator:
    """``--format`` and ``-o``, as ``formats`` and ``files``; ``text`` says of what."""

    def decorated(function: Command) -> Command:
        function = click.option(
            "-o",
            "--output",
            "files",
            type=click.Path(dir_okay=False),
            multiple=True,
            metavar="FILE",
            help="Write a format to a file instead of printing it. May be repeated: files take the "
            "formats in their order. Without --format the name's ending says the format.",
        )(function)
        return click.option(
            "--format",
            "formats",
            type=click.Choice([TABLE, *formats]),
            multiple=True,
            help=f"{text} May be repeated; --limit applies to what is for people.  "
            f"[default: {TABLE}]",
        )(function)

    return decorated


rules_url_option: Final = click.option(
    "--rules-url",
    metavar="URL",
    callback=lambda _, __, url: _absolute(url),
    help="Where replay/rules.md is published, for links from SARIF to the rules.",
)


def _absolute(url: str | None) -> str | None:
    """Where the rules are; what reads SARIF takes absolute addresses alone."""
    if url is None or re.fullmatch(r"https?://[^\s/?#\"<>]+[^\s#\"<>]*", url):
        return url
    raise click.UsageError(f"--rules-url {safe(url)}: give an address with http:// or https://")


def baseline_options(function: Command) -> Command:
    """``--baseline``, as the fingerprints ``known`` or null, and ``--write-baseline``."""
    function = click.option(
        "--write-baseline",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the findings of this run as a baseline. They outlive another recording of the "
        "same test: by rule, system, names and subject, not by frames, times or counts.",
    )(function)
    return click.option(
        "--baseline",
        "known",
        type=click.Path(exists=True, dir_okay=False),
        callback=lambda _, __, path: None if path is None else read_baseline(path),
        metavar="FILE",
        help="Findings that are in this file are known: only new ones count for the exit code.",
    )(function)


def told_new(
    report: Report,
    known: frozenset[str] | None,
    write_baseline: str | None,
    *,
    quiet: bool,
) -> Sequence[FindingRow]:
    """The findings that count; the baseline is written, and what is known and what is new is said.

    Raises:
        OutputError: the baseline cannot be written.
    """
    if write_baseline is not None:
        write_file(write_baseline, [baseline_of(report)])
    findings = report["findings"]
    if known is None:
        return findings
    counted = new_in(report, known)
    if not quiet:
        old = len(findings) - len(counted)
        rules = Counter(finding["rule"] for finding in counted).items()
        new = ", ".join(rule if count == 1 else f"{rule} ({count:,})" for rule, count in rules)
        share = f"{old:,} of {plural(len(findings), 'finding')} {'is' if old == 1 else 'are'} known"
        note(f"Baseline: {share if findings else 'no findings'}{f'; new: {new}' if new else ''}.")
    return counted
