"""The comparison of zenoh itself: what a report cannot tell is unknown, and what it prints."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.zenoh.reasons import HAD, UNENDED
from tests.agreement import zenoh
from tests.agreement.__main__ import shown
from tests.agreement.rows import Row
from tests.agreement.zenoh_report import Part, ZenohScenario

FIXTURES: Final = Path(__file__).parents[2] / "fixtures" / "zenoh"


@cache
def of_fixture(name: str) -> ZenohScenario:
    (found,) = zenoh.find(FIXTURES, name)
    return found


def rows_of(name: str, spoil: Callable[[dict[str, Any]], object]) -> list[Row]:
    """All rows of a recording, once streams at the subscriber's interface were spoilt."""
    scenario = of_fixture(name)
    captures = [CaptureInput(str(scenario.folder / f), at=scenario.at(f)) for f in scenario.files]
    report = audit(captures, Options(engine="direct"))
    for stream in report["streams"]:
        if stream.get("kind") == "samples" and stream["role"] == "receiver":
            spoil(cast(dict[str, Any], stream))
    numbered = {file: number for number, file in enumerate(scenario.files)}
    return list(zenoh.compare(Part(scenario, report, numbered)))


def null(reason: str, *figures: str) -> Callable[[dict[str, Any]], object]:
    """Figures that a report cannot tell for a reason."""
    return lambda stream: stream.update(
        dict.fromkeys(figures), unknown=dict.fromkeys(figures, reason)
    )


def verdicts(rows: list[Row], verdict: str) -> dict[str, str]:
    """Figure at the subscriber's interface -> reason."""
    found = [row for row in rows if row.verdict == verdict and row.capture == "sub.pcap"]
    return {row.figure: row.reason for row in found}


ALL_NULL: Final = ("delivered", "misses", "recovered", "unrecovered_seqnos", "not_captured")


def test_what_a_report_cannot_tell_is_unknown_in_its_own_words() -> None:
    rows = rows_of("udp-cache-too-small-1", null(UNENDED, *ALL_NULL))
    assert verdicts(rows, "different") == {}
    figures = (
        "delivered", "misses", "not recovered", "recovered", "delivered without passing here",
        "delivered, count",
    )  # fmt: skip
    assert verdicts(rows, "unknown") == {f"s1 p1 {figure}": UNENDED for figure in figures}


def test_of_bounds_the_reason_counts() -> None:
    rows = rows_of("udp-cache-too-small-1", null(f"5 or more, 9 at most: {UNENDED}", "recovered"))
    assert verdicts(rows, "unknown") == {"s1 p1 recovered": UNENDED}


@pytest.mark.parametrize("reason", ["", "who knows", HAD])
def test_null_without_a_reason_or_as_a_whole_capture_lacked_frames_differs(reason: str) -> None:
    rows = rows_of("udp-cache-too-small-1", null(reason, "delivered"))
    assert verdicts(rows, "different").keys() == {"s1 p1 delivered", "s1 p1 delivered, count"}


def test_what_is_known_beside_a_null_is_compared() -> None:
    def spoil(stream: dict[str, Any]) -> None:
        null(UNENDED, "delivered")(stream)
        stream["misses"] = []

    assert verdicts(rows_of("udp-cache-too-small-1", spoil), "different").keys() == {"s1 p1 misses"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ([], "none"),
        ([[1, 4], [6, 6]], "1-4, 6"),
        ([["query lost"]], "[query lost]"),
        ([["not asked", "no cache"], ["evicted"]], "[not asked, no cache], [evicted]"),
        ([([[0, 3]], [1])], "[[0-3], [1]]"),
        (["ZN001", "ZN002"], "ZN001, ZN002"),
        ({"decoded": 3}, "{'decoded': 3}"),
    ],
)
def test_every_value_can_be_shown(value: object, text: str) -> None:
    assert shown(value) == text
