"""The receive window of PGM (raims.md 2)."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.replay.pgm import window as pgm_window
from seqaudit.replay.pgm.holes import Fate, Hole
from seqaudit.replay.pgm.window import PgmWindow, WindowSettings
from seqaudit.replay.sequence.elapsed import Elapsed
from tests.replay.raims.builders import (
    SECOND,
    T0,
    accept,
    mark,
)


def test_a_sqn_is_accepted_once_and_handed_on_in_order() -> None:
    window = PgmWindow()
    assert accept(window, 5, 6, 6, 8) == [[(5, 6)], [(6, 7)], [], [(8, 9)]]
    assert (window.next, list(window.holes)) == (7, [7])
    window.asked([7], mark(1))
    accept(window, 7, repair=True)
    assert (window.next, [h.fate for h in window.take_ended()]) == (9, [Fate.REPAIRED])


def test_a_hole_is_given_up_after_ten_waits_for_data() -> None:
    window = PgmWindow()
    accept(window, 1, 3)
    for turn in range(10):
        window.asked([2], mark(2, turn * 0.52))
        window.confirmed([2], mark(2, turn * 0.52))
    assert window.next_due_ns() == T0 + round((9 * 0.52 + 0.5) * SECOND)
    window.give_up(T0 + 5 * SECOND)
    assert window.next == 2
    window.give_up(T0 + 6 * SECOND)
    assert (window.next, [h.fate for h in window.take_ended()]) == (4, [Fate.RETRIES])


def test_a_hole_below_the_trail_is_given_up_at_once() -> None:
    window = PgmWindow()
    accept(window, 1, 4)
    window.told_trail(3, mark(5))
    assert ([h.sqn for h in window.take_ended()], window.next) == ([2], 3)


def test_spm_reveals_what_no_packet_shows_and_begins_a_window_behind_its_lead() -> None:
    window = PgmWindow()
    window.told_lead(9, mark(1))
    assert window.next == 10
    window.told_lead(11, mark(2))
    assert list(window.holes) == [10, 11]


def test_sqns_wrap_at_32_bits() -> None:
    window = PgmWindow()
    top = (1 << 32) - 1
    accept(window, top)
    assert window.unwrap(0) == top + 1
    accept(window, window.unwrap(0))
    assert not window.holes


def test_more_than_the_window_holds_is_lost_at_once() -> None:
    window = PgmWindow()
    accept(window, 1, 1 << 20)
    assert len(window.holes) == window.settings.window_sqns - 1
    lost = window.take_ended()
    assert {h.fate for h in lost} == {Fate.FULL}
    assert sum(h.count for h in lost) + len(window.holes) == (1 << 20) - 2


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40))
def test_the_window_agrees_with_a_set_that_remembers_everything(sqns: list[int]) -> None:
    window = PgmWindow()
    seen: set[int] = set()
    for sqn in sqns:
        fresh = bool(accept(window, sqn)[0])
        assert fresh == (sqn not in seen and sqn >= sqns[0])
        seen.add(sqn)
    wanted = set(range(sqns[0], max(seen) + 1))
    assert set(window.holes) == wanted - seen
    assert window.next == min(wanted - seen, default=max(seen) + 1)


def leaky_window(*behind: float, leaky: bool, confirmed: int, apart: float = 0.6) -> Hole:
    """A sqn that was asked for ten times; another that nobody asked for, if the capture leaks;
    frames behind the last NAK."""
    elapsed = Elapsed()
    window = PgmWindow(None, elapsed)
    accept(window, 1, 3)
    for turn in range(10):
        at = 0.1 + turn * apart
        elapsed.saw(mark(2, at))
        window.asked([2], mark(2, at))
        if turn < confirmed:
            window.confirmed([2], mark(2, at))
    for at in behind:
        elapsed.saw(mark(80, at))
    window.give_up(T0 + 12 * SECOND, 90)
    (hole,) = window.take_ended()
    if leaky:
        accept(window, 5, at=13.0)
        window.give_up(T0 + 20 * SECOND)
    return hole


@pytest.mark.parametrize(
    ("behind", "leaky", "confirmed", "sure"),
    [
        ((8.0, 12.0), False, 10, "proven"),
        ((8.0, 12.0), False, 9, "likely"),  # one more may have been confirmed, and answered
        ((8.0, 12.0), True, 10, "likely"),  # what the capture lacks may be the last repair
        ((12.0,), False, 10, "likely"),  # which may come still, if the clock was set forward
    ],
)
def test_what_is_given_up_is_proven_where_a_last_repair_would_be_captured(
    behind: tuple[float, ...], leaky: bool, confirmed: int, sure: str
) -> None:
    hole = leaky_window(*behind, leaky=leaky, confirmed=confirmed)
    assert (str(hole.fate), str(hole.loss)) == ("gave up after its retries", sure)
    assert hole.last_wait == (2, 90)


@pytest.mark.parametrize(("apart", "sure"), [(0.25, "proven"), (0.5, "likely")])
def test_who_asks_again_as_late_as_behind_an_ncf_had_one_that_is_not_captured(
    apart: float, sure: str
) -> None:
    """And a capture that lacks NCFs may lack the last repair."""
    hole = leaky_window(8.0, 12.0, leaky=False, confirmed=0, apart=apart)
    assert (str(hole.fate), str(hole.loss)) == ("gave up after its retries", sure)


def test_a_round_without_an_ncf_that_begins_as_the_last_wait_ends_counts() -> None:
    """Ten in all, of which the first one begins as the wait for data ends."""
    window = PgmWindow()
    accept(window, 1, 3)
    window.asked([2], mark(2, 0.0))
    window.confirmed([2], mark(2, 0.1))
    for turn in range(10):
        window.asked([2], mark(2, 0.6 + turn / 5))
    assert window.next_due_ns() == T0 + round((0.6 + 9 / 5 + 0.2) * SECOND)


def test_a_silence_before_a_further_request_makes_no_wait_shorter() -> None:
    window = PgmWindow()
    accept(window, 1, 3)
    for turn in range(10):
        at = turn * 0.52 + (20 if turn >= 5 else 0)
        if turn == 5:
            window.pause(round(20.5 * SECOND))
        window.asked([2], mark(2, at))
        window.confirmed([2], mark(2, at))
    window.resume(T0 + round((at + 0.4) * SECOND))
    assert window.next_due_ns() == T0 + round((at + 0.5) * SECOND)


@pytest.mark.parametrize("remembered", [9, 3])
def test_the_lowest_of_more_repairs_than_are_remembered_may_have_begun_a_window(
    remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of packets that came before all of them; only the oldest of these is below 2."""
    monkeypatch.setattr(pgm_window, "MAX_REPAIRS", remembered)
    window = PgmWindow()
    for sqn in range(1, 10):
        window.accept(sqn, sqn + 1, mark(sqn), mark(sqn), repair=False)
    for number, sqn in enumerate((1, 3, 4, 6, 7), 10):
        window.accept(sqn, sqn + 1, mark(number, 1.0), mark(number, 1.0), repair=True)
    window.asked([2, 5], mark(20, 2.0))
    assert {sqn: one.begun for sqn, one in window.inside.items()} == {2: True, 5: True}


def test_when_a_sqn_fell_out_of_the_window_the_first_packet_of_a_run_tells() -> None:
    """Of the others none says when it came, if the decoder knows of another size."""
    window = PgmWindow(WindowSettings(window_sqns=4))
    accept(window, 1, 3)
    window.accept(4, 6, mark(4, 0.1), mark(5, 0.11), repair=False)
    assert (list(window.holes), window.overfills(6), window.overfills(5)) == ([2], True, False)
    window.accept(6, 8, mark(6, 0.12), mark(7, 0.13), repair=False)
    accept(window, 9)
    window.accept(10, 14, mark(10, 0.14), mark(13, 0.15), repair=False)
    told = [(hole.sqn, hole.ended, hole.sooner) for hole in window.take_ended()]
    assert told == [(2, mark(6, 0.12), False), (8, mark(13, 0.15), True)]
    assert {window.came_at(sqn) for sqn in (4, 7)} == {mark(7, 0.13)}  # they came in one run


TEN_ROUNDS: Final = tuple(turn / 5 for turn in range(10))
BY_LIST_AND_SINGLY: Final = tuple(turn / 5 + apart for turn in range(5) for apart in (0, 0.00006))


@pytest.mark.parametrize(
    ("asked_at", "ncf_at", "came_at", "fate"),
    [
        ((0.0,), None, 1.9, Fate.REPAIRED),  # nine rounds fit
        ((0.0,), None, 2.0, Fate.PASSED),
        ((0.0,), 0.4, 2.4, Fate.REPAIRED),  # two, a wait for what is confirmed, and seven
        ((0.0,), 0.4, 2.5, Fate.PASSED),
        ((0.0, 1.0), None, 1.9, Fate.REPAIRED),
        ((0.0, 1.0), None, 2.0, Fate.PASSED),
        ((0.0, 2.9), None, 3.0, Fate.REPAIRED),  # it had not given up
        ((0.0, 2.9), None, 3.1, Fate.PASSED),  # but may have been about to
        (TEN_ROUNDS, None, 1.9, Fate.REPAIRED),
        (TEN_ROUNDS, None, 2.0, Fate.PASSED),
        ((0.0,) * 9, None, 0.0, Fate.REPAIRED),
        ((0.0,) * 10, None, 0.0, Fate.PASSED),  # by a clock that stands they may be ten rounds
        (BY_LIST_AND_SINGLY, None, 0.9, Fate.REPAIRED),  # of five rounds
    ],
)
def test_where_ten_rounds_fit_between_what_is_seen_a_receiver_may_have_given_up(
    asked_at: tuple[float, ...], ncf_at: float | None, came_at: float, fate: Fate
) -> None:
    """Recorded: after ten NAKs the daemon gave up, 1.7 s before the RDATA; one is missing here."""
    window = PgmWindow()
    accept(window, 1, 3)
    for frame, at in enumerate(asked_at):
        window.asked([2], mark(4 + frame, at))
    if ncf_at is not None:
        window.confirmed([2], mark(20, ncf_at))
    window.accept(2, 3, mark(21, came_at), mark(21, came_at), repair=True)
    assert [hole.fate for hole in window.take_ended()] == [fate]
