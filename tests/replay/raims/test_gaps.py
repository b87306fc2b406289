"""Which numbers a loss of raims is known to be of, by row of the decision table."""

import pytest

from seqaudit.replay.raims.gaps import known_seqnos, told
from seqaudit.replay.raims.seqno import seqno
from seqaudit.replay.raims.truth import Truth
from seqaudit.replay.sequence.gaps import Mark

HERE = Mark(7, 7)


def lost(high: int, now: int, chain: int | None = None) -> list[list[int]]:
    truth = Truth()
    truth.step(high, high + 1, None, None, 1, HERE)
    loss = truth.step(now, now + 1, chain, None, 1, HERE)
    assert loss is not None
    return known_seqnos(loss)


@pytest.mark.rule("raims-9.7")
def test_in_one_time_frame_all_between_both_sides() -> None:
    assert lost(seqno(5, 3), seqno(5, 9)) == [[seqno(5, 4), seqno(5, 8)]]


@pytest.mark.rule("raims-9.10")
def test_by_chain_the_rest_of_the_frame_before_and_the_beginning_of_the_next() -> None:
    assert lost(seqno(5, 3), seqno(6, 1), seqno(5, 7)) == [[seqno(5, 4), seqno(5, 7)]]
    assert lost(seqno(5, 3), seqno(6, 3), seqno(5, 7)) == [
        [seqno(5, 4), seqno(5, 7)], [seqno(6, 1), seqno(6, 2)],
    ]  # fmt: skip


@pytest.mark.rule("raims-9.11")
def test_by_a_chain_of_a_frame_that_nobody_saw_all_of_that_frame() -> None:
    assert lost(seqno(5, 3), seqno(9, 1), seqno(7, 4)) == [[seqno(7, 1), seqno(7, 4)]]


@pytest.mark.rule("raims-9.12")
def test_of_a_frame_whose_first_message_did_not_come_what_is_below() -> None:
    assert lost(seqno(5, 3), seqno(9, 4)) == [[seqno(9, 1), seqno(9, 3)]]


def test_numbers_are_told_with_the_time_of_their_frame() -> None:
    assert told([[seqno(0, 1), seqno(0, 3)], [seqno(1, 2), seqno(1, 2)]]) == (
        "1970-01-01T00:00:00.000Z #1-3, 1970-01-01T00:00:08.589Z #2"
    )
