"""What was missing when a capture ended is lost or open, by when it ended."""

from typing import Any

import pytest

from seqaudit.replay.contract.open_end import settled, settled_gap, unless_open
from seqaudit.replay.sequence.ranges import RangeSet

STREAM: dict[str, Any] = {
    "lost": 9, "unrecovered": 7, "open_at_end": 0, "open_at_end_seqnos": [], "open_until_ns": None,
}  # fmt: skip


@pytest.mark.rule("FD017")
def test_what_may_still_come_is_not_among_the_lost() -> None:
    row = unless_open(STREAM, RangeSet([(10, 12)]), 2, 1_000, lost=7, unrecovered=5)
    assert settled(row, 999) == {
        "lost": 7, "unrecovered": 5, "open_at_end": 2, "open_at_end_seqnos": [[10, 11]],
        "open_until_ns": 1_000,
    }  # fmt: skip
    assert settled(row, None) == settled(row, 999), "it has no time"


@pytest.mark.rule("FD017")
def test_a_capture_that_went_on_tells_that_all_of_it_is_lost() -> None:
    row = unless_open(STREAM, RangeSet([(10, 12)]), 2, 1_000, lost=7, unrecovered=5)
    assert settled(row, 1_000) == STREAM
    assert settled(unless_open(STREAM, RangeSet(), 0, None, lost=9), 0) == STREAM


def test_rows_of_which_nothing_is_open_are_as_they_were() -> None:
    assert settled({"lost": 1}, 0) == {"lost": 1}
    gap: Any = {"outcome": "unrecovered"}
    assert settled_gap(gap, 0) == gap


@pytest.mark.rule("FD017")
@pytest.mark.parametrize(
    ("end_ns", "outcome"), [(999, "open at the capture's end"), (1_000, "unrecovered")]
)
def test_a_gap_is_open_or_lost(end_ns: int, outcome: str) -> None:
    gap: Any = {"outcome": "unrecovered", "open_until_ns": 1_000, "placed": "before"}
    told = dict(settled_gap(gap, end_ns))
    assert told.pop("placed", None) == ("before" if outcome == "unrecovered" else None)
    assert told == {"outcome": outcome}
