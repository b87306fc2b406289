"""Reports of more captures than a table has rows: what to look at comes first (cli/README.md 2)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, cast

from seqaudit.cli.output.outcomes import SEVERITIES
from seqaudit.replay.contract.report_rows import Report

#: Parts of a report whose rows are about one capture each.
_OF_CAPTURES: Final = ("captures", "streams", "connections", "gaps")

#: Names and ranges of numbers shown in a line; the rest is counted.
SHOWN: Final = 6


def gravest_captures_first(report: Report, limit: int) -> Report:
    """The report with the captures that have the gravest findings first in every table, if there
    are more than ``limit`` (0: all are shown, and in their order)."""
    if limit <= 0 or len(report["captures"]) <= limit:
        return report
    worst = worst_of(report)

    def rank(row: Mapping[str, object]) -> tuple[int, int]:
        capture = cast(int, row["capture"])
        return worst.get(capture, len(SEVERITIES)), capture

    ranked: dict[str, Sequence[Mapping[str, object]]] = {
        part: sorted(rows_of(report, part), key=rank) for part in _OF_CAPTURES
    }
    return with_parts(report, ranked)


def with_parts(report: Report, parts: Mapping[str, Sequence[object]]) -> Report:
    """The report with other rows in some of its parts."""
    return cast(Report, {**report, **parts})


def rows_of(report: Report, part: str) -> Sequence[Mapping[str, object]]:
    """The rows of a part that is known by its name alone."""
    return cast(Mapping[str, Sequence[Mapping[str, object]]], report)[part]


def worst_of(report: Report) -> dict[int, int]:
    """Of each capture with findings the gravest one's place in ``SEVERITIES``."""
    worst: dict[int, int] = {}
    for finding in report["findings"]:
        rank = SEVERITIES.index(finding["severity"])
        capture = finding["capture"]
        worst[capture] = min(rank, worst.get(capture, rank))
    return worst


def captures_by_worst(report: Report) -> str:
    """``10,000 captures: 12 with errors, 300 with warnings, 9,688 with neither``."""
    worst = list(worst_of(report).values())
    errors, warnings = worst.count(0), worst.count(1)
    total = len(report["captures"])
    return (
        f"{total:,} captures: {errors:,} with errors, {warnings:,} with warnings only,"
        f" {total - errors - warnings:,} with neither"
    )


def findings_by_rule(report: Report) -> list[list[str]]:
    """Rule, name, severity, findings, captures that have them: the gravest and most first."""
    counts: dict[tuple[int, str, str], list[int]] = {}
    captures: dict[tuple[int, str, str], set[int]] = {}
    for finding in report["findings"]:
        key = (SEVERITIES.index(finding["severity"]), finding["rule"], finding["name"])
        counts.setdefault(key, [0])[0] += 1
        captures.setdefault(key, set()).add(finding["capture"])
    order = sorted(counts, key=lambda key: (key[0], -counts[key][0], key[1]))
    return [
        [key[1], key[2], SEVERITIES[key[0]], f"{counts[key][0]:,}", f"{len(captures[key]):,}"]
        for key in order
    ]


def numbers(values: Iterable[int]) -> str:
    """``1, 5-9, 12``; of many the first ranges, and how many numbers more."""
    ordered = sorted(set(values))
    breaks = [(a, b) for a, b in pairwise(ordered) if b != a + 1]
    starts = ordered[:1] + [b for _, b in breaks]
    stops = [a for a, _ in breaks] + ordered[-1:]
    ranges = list(zip(starts, stops, strict=True))
    text = ", ".join(_range(*ends) for ends in ranges[:SHOWN])
    left = sum(stop - start + 1 for start, stop in ranges[SHOWN:])
    return text + (f" and {left:,} more" if left else "")


def _range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}, {last}" if last == first + 1 else f"{first}-{last}"


def names(paths: Sequence[str]) -> str:
    """Names of captures for a title."""
    more = len(paths) - 2 * SHOWN
    if more <= 0:
        return ", ".join(paths)
    return ", ".join(paths[: 2 * SHOWN]) + f" and {more:,} more"
