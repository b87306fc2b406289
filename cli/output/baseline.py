"""A baseline: findings that are known, so that an audit fails on new ones only."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from seqaudit.cli.output.ci import kinds
from seqaudit.cli.output.text import safe
from seqaudit.replay.contract.report_rows import FindingRow, Report

SCHEMA: Final = "seqaudit/baseline/1"


def baseline_of(report: Report) -> str:
    """The findings of a report as a baseline file: a line a kind, with rule and text of one."""
    known: dict[str, str] = {}
    for kind, finding in zip(kinds(report), report["findings"], strict=True):
        known.setdefault(kind, f"{finding['rule']} {safe(finding['text'])}")
    return json.dumps({"schema": SCHEMA, "findings": known}, indent=1, sort_keys=True) + "\n"


def read_baseline(path: str) -> frozenset[str]:
    """The kinds of findings in a baseline file.

    Raises:
        click.UsageError: it is none; one line.
    """
    advice = "seqaudit audit --write-baseline FILE makes one"
    try:
        loaded = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise click.UsageError(f"{safe(path)}: is no baseline; {advice}") from problem
    if not isinstance(loaded, Mapping) or loaded.get("schema") != SCHEMA:
        raise click.UsageError(f"{safe(path)}: is no {SCHEMA}; {advice}")
    findings = loaded.get("findings")
    if not isinstance(findings, Mapping):
        raise click.UsageError(f"{safe(path)}: has no findings; {advice}")
    return frozenset(map(str, findings))


def new_in(report: Report, known: frozenset[str]) -> list[FindingRow]:
    """The findings of kinds that a baseline does not have, in the report's order."""
    return [
        finding
        for kind, finding in zip(kinds(report), report["findings"], strict=True)
        if kind not in known
    ]
