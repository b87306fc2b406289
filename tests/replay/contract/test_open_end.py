"""What was missing when a capture ended is lost or open, by when it ended."""

from typing import Any

import pytest

from seqaudit.replay.contract.open_end import settled, settled_gap

STREAM: dict[str, Any] = {
    "lost": 9,
    "recovered": 2,
    "unrecovered": 7,
    "unrecovered_seqnos": [[3, 5], [8, 11]],
    "open_at_end": 2,
    "open_at_end_seqnos": [[10, 11]],
    "open_until_ns": 1_000,
}
PAIR: dict[str, Any] = {
    "lost_on_both": 3,
    "lost_on_both_seqnos": [[4, 4], [8, 9]],
    "open_at_end": 1,
    "open_at_end_seqnos": [[4, 4]],
    "open_until_ns": 1_000,
}


@pytest.mark.rule("FD017")
def test_what_may_still_come_is_not_among_the_lost() -> None:
    told = settled(STREAM, 999)
    assert (told["lost"], told["recovered"], told["unrecovered"]) == (7, 2, 5)
    assert told["unrecovered_seqnos"] == [[3, 5], [8, 9]]
    assert (told["open_at_end"], told["open_at_end_seqnos"]) == (2, [[10, 11]])
    both = settled(PAIR, 999)
    assert (both["lost_on_both"], both["lost_on_both_seqnos"]) == (2, [[8, 9]])


@pytest.mark.rule("FD017")
def test_a_capture_that_went_on_tells_that_all_of_it_is_lost() -> None:
    for row in (STREAM, PAIR):
        nothing = {"open_at_end": 0, "open_at_end_seqnos": [], "open_until_ns": None}
        assert settled(row, 1_000) == row | nothing


def test_rows_of_which_nothing_is_open_are_as_they_were() -> None:
    assert settled({"lost": 1}, 0) == {"lost": 1}
    gap: Any = {"outcome": "unrecovered"}
    assert settled_gap(gap, 0) == gap


@pytest.mark.rule("FD017")
@pytest.mark.parametrize(
    ("end_ns", "outcome"), [(999, "open at the capture's end"), (1_000, "unrecovered")]
)
def test_a_gap_is_open_or_lost(end_ns: int, outcome: str) -> None:
    gap: Any = {"outcome": "unrecovered", "open_until_ns": 1_000}
    assert dict(settled_gap(gap, end_ns)) == {"outcome": outcome}
