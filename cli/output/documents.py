"""What an audit and a check show, in every format."""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from seqaudit.cli.output.budget import BudgetLine, as_findings, check_of
from seqaudit.cli.output.text import safe
from seqaudit.cli.output.times import TimeStyle
from seqaudit.cli.output.writers import Document
from seqaudit.replay.contract.report_rows import Report

if TYPE_CHECKING:
    from rich.console import RenderableType

    from seqaudit.cli.output.points import EventsOfStreams


@dataclass(frozen=True, slots=True)
class Shown:
    """How an audit is shown.

    Attributes:
        rules_url: where the page of the rules is published; null: nobody says.
        page_limit: rows of a table of a page; null: as many as a browser has no trouble with.
        events: what a page draws beside the report; null, or empty: the report alone.
        left_out: one line on what filters leave out; null: nothing is filtered.
    """

    style: TimeStyle = "utc"
    limit: int = 0
    fail_on: str = "error"
    everything: bool = False
    quiet: bool = False
    rules_url: str | None = None
    page_limit: int | None = None
    events: "EventsOfStreams | None" = None
    left_out: str | None = None


def of_audit(report: Report, shown: Shown) -> Document:
    """A report."""

    def tables() -> "list[RenderableType]":
        from seqaudit.cli.output.table import render_audit

        return render_audit(report, shown.style, shown.limit, everything=shown.everything)

    return Document(
        tables,
        {
            "json": lambda: _json(report),
            "jsonl": lambda: _module("rows").jsonl(report),
            "csv": lambda: _module("rows").table(report),
            "markdown": lambda: _module("markdown").markdown(report, shown.limit),
            "junit": lambda: [_module("junit").junit(report, shown.fail_on)],
            **_for_ci(report, shown.rules_url),
            "html": lambda: _module("page").page(
                report, shown.style, shown.page_limit, shown.events, shown.left_out
            ),
        },
        (lambda: _verdict(report)) if shown.quiet else None,
    )


def of_check(lines: Sequence[BudgetLine], report: Report, budget: str, shown: Shown) -> Document:
    """Budget lines, and the report that they are of.

    Args:
        budget: the file that has them.
    """

    def tables() -> "list[RenderableType]":
        return list(_module("tables.check").render_check(lines, shown.limit))

    def printed() -> "list[RenderableType]":
        return tables()[-1:]

    return Document(
        tables,
        {
            "json": lambda: [json.dumps(check_of(lines), indent=1, sort_keys=True) + "\n"],
            "jsonl": lambda: _module("rows").jsonl_of_check(check_of(lines)),
            "csv": lambda: _module("rows").table_of_check(check_of(lines)),
            "markdown": lambda: _module("markdown").markdown_of_check(lines, shown.limit),
            "junit": lambda: [_module("junit").junit_of_check(lines, report, budget)],
            **_for_ci(as_findings(lines, report), shown.rules_url),
            "html": lambda: _module("page").page(
                report, shown.style, shown.page_limit, shown.events, first=tables()[::-1]
            ),
        },
        printed if shown.quiet else None,
    )


def _for_ci(report: Report, rules_url: str | None) -> Mapping[str, Callable[[], Iterable[str]]]:
    """Formats that are about findings alone."""
    return {
        "sarif": lambda: [_module("sarif").sarif(report, rules_url)],
        "github": lambda: _module("ci").github(report),
        "gitlab": lambda: _module("ci").gitlab(report),
    }


def _verdict(report: Report) -> "list[RenderableType]":
    from rich.text import Text

    from seqaudit.cli.output.verdict import verdict

    return [Text(safe(line)) for line in verdict(report)]


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"seqaudit.cli.output.{name}")


def _json(report: Report) -> Iterator[str]:
    from seqaudit.pipeline.report.json_text import chunks

    yield from chunks(dict(report))
