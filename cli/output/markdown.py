"""The report, or a check, as Markdown for the comment of a pull request: what matters first."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from seqaudit.cli.output.budget import BudgetLine
from seqaudit.cli.output.cells import counted
from seqaudit.cli.output.outcomes import gravest_first
from seqaudit.cli.output.text import finding_text, frame_at, safe
from seqaudit.cli.output.verdict import verdict
from seqaudit.replay.contract.report_rows import Report, StreamRow

#: A comment has a limit, and nobody reads more.
_MOST: Final = 50

STREAM: Final = (
    "system", "sender", "receiver", "messages", "lost", "recovered", "unrecovered",
)  # fmt: skip


def markdown(report: Report, limit: int) -> Iterator[str]:
    """The document.

    Args:
        limit: rows a table; never more than fits a comment.
    """
    most = min(limit or _MOST, _MOST)
    for line in verdict(report):
        yield f"**{plain(line)}**\n\n"
    paths = {capture["capture"]: capture["path"] for capture in report["captures"]}
    findings = gravest_first(report["findings"])
    if findings:
        rows = (
            (
                finding["rule"],
                finding["severity"],
                finding["certainty"],
                paths[finding["capture"]],
                "" if finding["frame"] is None else frame_at(finding),
                finding_text(finding),
            )
            for finding in findings[:most]
        )
        header = ("rule", "severity", "certainty", "capture", "frame", "finding")
        yield from _table(header, rows, len(findings) - most)
    streams = report["streams"]
    if streams:
        yield from _table(STREAM, map(_stream, streams[:most]), len(streams) - most)


def markdown_of_check(lines: Sequence[BudgetLine], limit: int) -> Iterator[str]:
    """A check: how it ended, and its lines, what was exceeded first; limited as above."""
    from seqaudit.cli.output.tables.check import HEADER, by_result, cells, sentence

    yield f"**{plain(sentence(lines))}**\n\n"
    if lines:
        most = min(limit or _MOST, _MOST)
        rows = map(cells, by_result(lines)[:most])
        yield from _table(HEADER, rows, len(lines) - most)


def _stream(stream: StreamRow) -> Sequence[str]:
    return [
        stream["system"],
        stream.get("sender_name") or "-",
        stream.get("receiver_name") or "all",
        *(counted(stream, key) for key in STREAM[3:]),
    ]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], more: int) -> Iterator[str]:
    yield f"| {' | '.join(header)} |\n|{'---|' * len(header)}\n"
    for row in rows:
        yield f"| {' | '.join(plain(cell) for cell in row)} |\n"
    if more > 0:
        yield f"\n… and {more:,} more\n"
    yield "\n"


def plain(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    written = safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~@])", r"\\\1", written)
