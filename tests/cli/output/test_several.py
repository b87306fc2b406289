"""Ten thousand captures: what to look at comes first, and lists of numbers stay short (7.2)."""

from typing import Any

import pytest

from seqaudit.cli.output.several import (
    captures_by_worst,
    findings_by_rule,
    gravest_captures_first,
    names,
    numbers,
)


def report(findings: list[tuple[int, str, str]], captures: int = 5) -> Any:
    """Findings are (capture, rule, severity)."""
    rows = [{"capture": number} for number in range(captures)]
    return {
        "captures": rows,
        "streams": rows,
        "connections": [],
        "gaps": rows[::-1],
        "findings": [
            {"capture": capture, "rule": rule, "name": rule.lower(), "severity": severity}
            for capture, rule, severity in findings
        ],
    }


FOUND = report([(1, "A1", "info"), (3, "B1", "warning"), (4, "C1", "error"), (4, "A1", "info")])


def test_captures_with_the_gravest_findings_come_first_where_not_all_are_shown() -> None:
    ordered = gravest_captures_first(FOUND, 3)
    for part in ("captures", "streams", "gaps"):
        assert [row["capture"] for row in ordered[part]] == [4, 3, 1, 0, 2]
    assert ordered["findings"] == FOUND["findings"]


@pytest.mark.parametrize("limit", [0, 5, 6])
def test_the_order_stays_where_all_captures_are_shown(limit: int) -> None:
    assert gravest_captures_first(FOUND, limit) is FOUND


def test_captures_are_counted_by_their_gravest_finding() -> None:
    assert captures_by_worst(FOUND) == (
        "5 captures: 1 with errors, 1 with warnings only, 3 with neither"
    )


def test_findings_are_counted_by_rule_the_gravest_first() -> None:
    twice = report([(1, "A1", "info"), (1, "A1", "info"), (2, "B1", "info"), (0, "C1", "error")])
    assert findings_by_rule(twice) == [
        ["C1", "c1", "error", "1", "1"],
        ["A1", "a1", "info", "2", "1"],
        ["B1", "b1", "info", "1", "1"],
    ]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([4, 3, 3], "3, 4"),
        ([1, 2, 3, 5], "1-3, 5"),
        (range(0, 12, 2), "0, 2, 4, 6, 8, 10"),
        (range(0, 20_002, 2), "0, 2, 4, 6, 8, 10 and 9,995 more"),
        ([0, 2, 4, 6, 8, 10, 20, 21], "0, 2, 4, 6, 8, 10 and 2 more"),
    ],
)
def test_numbers_are_told_as_ranges_and_of_many_the_rest_is_counted(values: Any, text: str) -> None:
    assert numbers(values) == text


def test_a_title_names_some_captures() -> None:
    assert names(["a", "b"]) == "a, b"
    assert names([str(n) for n in range(14)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"
