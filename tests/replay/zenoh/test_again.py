"""A source that began again under its id, and its subscribers (zenoh.md 9.4 rule 9)."""

from typing import Any

import pytest

from seqaudit.replay.contract.finding import Certainty, Finding, PlacedFinding
from seqaudit.replay.zenoh.again import figures, restated, restated_gap, used_before
from seqaudit.replay.zenoh.elsewhere import UNTOLD
from seqaudit.replay.zenoh.reasons import AGAIN

SECOND = 1_000_000_000


def row(live: list[list[int]], leg: str, second: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": "samples", "source": "ab/6", "receiver": "cd", "subscriber": "a/b", "live": live,
        "leg": leg, "first_ns": second * SECOND, "last_ns": (second + 1) * SECOND - 1,
        "last_seqno": live[-1][1] if live else None, "subscriber_gone": False, "unknown": {},
        "lost_seqnos": [], "not_captured_seqnos": [],
    } | more  # fmt: skip


FIRST = row([[0, 59]], "one", 1)
AGAIN_WITHOUT_TWO = row([[0, 18], [20, 69], [71, 90]], "two", 2, lost_seqnos=[[19, 19], [70, 70]])


def used(*rows: dict[str, Any]) -> dict[tuple[int, str], int]:
    return used_before([(0, f"s{n}", one) for n, one in enumerate(rows)])


def test_the_numbers_of_an_earlier_session_were_used_before() -> None:
    assert used(FIRST, AGAIN_WITHOUT_TWO) == {(0, "s1"): 59}
    assert used(AGAIN_WITHOUT_TWO, FIRST) == {(0, "s0"): 59}  # in order of time


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FIRST, row([[60, 90]], "two", 2)),  # it goes on
        (FIRST, row([[0, 90]], "one", 2)),  # another life in one session
        (FIRST, row([[0, 90]], "two", 1)),  # beside it
        (FIRST | {"subscriber_gone": True}, row([[0, 90]], "two", 2)),
        (FIRST | {"subscriber": "a/*"}, row([[0, 90]], "two", 2)),
        (FIRST | {"receiver": "ef"}, row([[0, 90]], "two", 2)),
    ],
)
def test_of_another_subscriber_or_of_what_goes_on_they_were_not(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert used(first, second) == {}


def test_a_subscriber_whose_declaration_is_not_here_may_be_any() -> None:
    assert used(FIRST, AGAIN_WITHOUT_TWO | {"subscriber": None}) == {(0, "s1"): 59}
    assert used(FIRST | {"subscriber": None}, AGAIN_WITHOUT_TWO) == {(0, "s1"): 59}


@pytest.mark.parametrize("figure", ["lost_seqnos", "not_captured_seqnos"])
def test_figures_are_null_where_what_did_not_come_has_a_number_that_was_used(figure: str) -> None:
    one = row([[0, 18], [20, 90]], "two", 2) | {figure: [[19, 19]]}
    ((place, found),) = figures({(0, "s"): 59}, {(0, "s"): one})
    assert place == (0, "s")
    assert all(found[name] is None and found["unknown"][name] == AGAIN for name in UNTOLD)
    assert list(figures({(0, "s"): 18}, {(0, "s"): one})) == []


def test_whoever_asks_for_nothing_may_have_had_the_earlier_ones() -> None:
    said = Finding(
        "CP007", Certainty.LIKELY, "It had {count:sample}.", system="zenoh", stream="s",
        frame=9, at_ns=1, seqnos=[(19, 20), (70, 71)], facts={"count": 2},
    ).seen_at(0)  # fmt: skip
    told = restated(said, 59)
    assert (told["certainty"], told["severity"], told["facts"]["again"]) == (
        "cannot be told", "info", 1,
    )  # fmt: skip
    assert "began again under the same id" in told["text"]
    assert restated(said, 18) == said
    proven: PlacedFinding = {
        **said,
        "certainty": "proven",
    }  # by a request for lower ones in the later session
    assert restated(proven, 59) == proven


def test_nor_did_the_capture_miss_what_it_did_not_ask_for() -> None:
    gap: Any = {"outcome": "not captured", "seqnos": [[19, 19]], "repaired_frame": 77}
    told = restated_gap(gap, 59)
    assert (told["outcome"], told["repaired_frame"], told["placed"]["where"]) == (
        "not asked for", None, "cannot be told",
    )  # fmt: skip
    assert restated_gap(gap, 18) == gap
