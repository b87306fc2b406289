"""Holes that the clock ends, and what their receiver shows of it afterwards (raims.md 2)."""

import pytest

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import GAP
from seqaudit.replay.pgm.holes import Fate, Hole
from seqaudit.replay.pgm.window import PgmWindow
from seqaudit.replay.sequence.elapsed import Elapsed
from tests.replay.raims.builders import (
    F0,
    LINK,
    PEER,
    SECOND,
    T0,
    World,
    accept,
    mark,
    nak,
    nak_on_link,
    only,
    packet,
    received,
    sureness_of,
)


def test_a_nak_that_comes_after_the_clock_gave_a_hole_up_opens_it_again() -> None:
    """Recorded: a daemon that was stopped for 24 s asked when it went on, and RDATA came. What
    came meanwhile waits for it, and is no copy."""
    window = PgmWindow()
    accept(window, 1, 3)
    window.give_up(T0 + 6 * SECOND)
    assert [hole.fate for hole in window.take_ended()] == [Fate.UNASKED]
    accept(window, 4, at=7.0)
    window.asked([2], mark(5, 24.0))
    assert ([fate for fate, _ in window.reopened], window.next) == ([Fate.UNASKED], 2)
    assert (list(window.holes), window.take_ended()) == ([2], [])
    assert accept(window, 2, at=24.1, repair=True) == [[(2, 3)]]
    (hole,) = window.take_ended()
    assert (hole.fate, hole.naks, window.next) == (Fate.REPAIRED, 1, 5)
    assert 2 in window.late  # what is behind it had been handed on


def test_an_opened_hole_ends_by_its_own_rounds_and_is_no_packet_that_the_capture_lacks() -> None:
    """Holes stay in their order; and what was asked for in the end does not make others unsure."""
    elapsed = Elapsed()
    window = PgmWindow(None, elapsed)
    accept(window, 1, 3, 5)
    window.give_up(T0 + 6 * SECOND)
    for turn in range(10):
        at = 24 + turn * 0.52
        elapsed.saw(mark(6, at))
        window.asked([4] if turn else [4, 2], mark(6, at))
        window.confirmed([2, 4], mark(6, at))
    assert list(window.holes) == [2, 4]
    accept(window, 2, at=29.0, repair=True)
    for at in (30.0, 31.0, 40.0):
        elapsed.saw(mark(7, at))
    window.give_up(T0 + 40 * SECOND, 9)
    told = {hole.sqn: (hole.fate, str(hole.loss)) for hole in window.take_ended()}
    assert told[4] == (Fate.RETRIES, "proven")


@pytest.mark.parametrize("naks", [0, 1])
def test_what_comes_after_the_clock_gave_it_up_may_have_been_taken(naks: int) -> None:
    """Nobody asked any more: whether the receiver was stopped, or had gone on, nothing says."""
    window = PgmWindow()
    accept(window, 1, 3)
    for _ in range(naks):
        window.asked([2], mark(4))
    window.give_up(T0 + 9 * SECOND)
    (hole,) = window.take_ended()
    assert accept(window, 2, at=10.0, repair=True) == [[(2, 3)]]
    assert [fate for fate, _ in window.refuted] == [Fate.ASKED if naks else Fate.UNASKED]
    assert (hole.fate, 2 in window.late) == (Fate.PASSED, True)
    assert accept(window, 2, at=10.1, repair=True) == [[]]


def test_what_fell_below_the_trail_unasked_and_is_asked_for_later_had_not_come() -> None:
    window = PgmWindow()
    accept(window, 1, 3)
    window.told_trail(3, mark(5, 2.0))
    (hole,) = window.take_ended()
    assert hole.fate is Fate.UNASKED
    window.asked([2], mark(6, 7.0))
    assert ([fate for fate, _ in window.refuted], hole.fate, hole.naks) == (
        [Fate.UNASKED], Fate.ASKED, 1,
    )  # fmt: skip


def foreign_waits(*foreign: float, own: int) -> Hole:
    """A sqn for which an NCF for another receiver comes at some times, and that was asked for so
    often, from 1 s on; each time it is confirmed, and nothing comes."""
    elapsed = Elapsed()
    window = PgmWindow(None, elapsed)
    accept(window, 1, 3)
    turns = [(1 + turn * 0.55, True) for turn in range(own)]
    for at, asks in sorted([*((at, False) for at in foreign), *turns]):
        elapsed.saw(mark(2, at))
        if asks:
            window.asked([2], mark(2, at))
        window.confirmed([2], mark(2, at))
    for at in (9.0, 12.0, 13.0):
        elapsed.saw(mark(80, at))
    window.give_up(T0 + 14 * SECOND, 90)
    (hole,) = window.take_ended()
    return hole


@pytest.mark.parametrize(
    ("foreign", "own", "fate", "sure"),
    [
        ((0.4,), 9, Fate.RETRIES, "proven"),
        ((), 9, Fate.ASKED, None),
        ((0.9,), 9, Fate.ASKED, None),  # they crossed: it is one wait
        ((0.4,), 8, Fate.ASKED, None),
        ((6.0,), 9, Fate.RETRIES, "likely"),  # behind the last NAK it may have had it
        ((0.0, 0.498), 8, Fate.RETRIES, "likely"),  # one wait made longer, if a timer is late
        ((0.4, 1.02), 9, Fate.RETRIES, "proven"),  # the second only makes a wait longer
    ],
)
def test_an_ncf_for_another_receiver_begins_a_wait_that_counts(
    foreign: tuple[float, ...], own: int, fate: Fate, sure: str | None
) -> None:
    """Recorded: OpenPGM gave up after nine NAKs, as an NCF had come before the first of them."""
    hole = foreign_waits(*foreign, own=own)
    assert hole.fate is fate
    assert sure is None or str(hole.loss) == sure


@pytest.mark.parametrize(
    ("foreign", "late_ms", "sure"),
    [
        ({4}, 0, "proven"),  # its timer has ticked between the wait and the NCF
        ({4, 5}, 0, "proven"),
        ({4}, 600, "likely"),  # nothing shows when it ticks
        ({9}, 0, "likely"),  # behind the last NAK it may have had it
        ({8, -8, 9}, 0, "likely"),  # a NAK that meets an NCF is of the wait before
    ],
)
def test_waits_for_ncfs_of_others_count_where_the_receivers_timer_has_ticked(
    foreign: set[int], late_ms: int, sure: str
) -> None:
    """Recorded: two receivers lacked a packet, and asked by turns; NAKs leave each 2.5 ms."""
    elapsed = Elapsed()
    window = PgmWindow(None, elapsed)
    accept(window, 1, 3)
    for turn in range(10):
        at = turn * 0.52 + turn * turn * late_ms / 1e6
        elapsed.saw(mark(2, at))
        if turn not in foreign:
            window.asked([2], mark(2, at))
        window.confirmed([2], mark(2, at))
        if -turn in foreign:
            window.asked([2], mark(2, at + 0.0003))
    for at in (9.0, 12.0, 13.0):
        elapsed.saw(mark(80, at))
    window.give_up(T0 + 14 * SECOND, 90)
    (hole,) = window.take_ended()
    assert (hole.fate, str(hole.loss)) == (Fate.RETRIES, sure)


def test_a_receiver_that_was_stopped_and_asks_when_it_goes_on_has_asked() -> None:
    """Recorded: "no NAK of it" was said of packets for which one came 24 s later, and RDATA."""
    spms = [packet("SPM", 3, at / 2) for at in range(1, 48)]  # by which the clock runs
    stopped = [packet("ODATA", 1), packet("ODATA", 3), *spms]
    assert sureness_of(received(*stopped)) == {"CP007": ["cannot be told"]}
    rows = received(*stopped, nak(2, 24.0), packet("RDATA", 2, 24.1), packet("SPM", 3, 25.0))
    assert sureness_of(rows) == {"PG001": ["proven"]}
    detail = rows[0].detail
    assert (detail["recovered"], detail["lost"], detail["gaps"]) == (1, 1, 1)
    (gap,) = [row.detail for row in rows if row.kind == GAP]
    assert (gap["outcome"], gap["requests"]) == ("recovered", 1)


def test_a_nak_that_is_the_first_row_behind_a_wait_opens_the_hole_at_once() -> None:
    """Spoiled: nothing else was captured since, and the stream counted one gap too few."""
    rows = received(
        packet("ODATA", 1), packet("ODATA", 3), packet("SPM", 3, 0.6), nak(2, 24.0),
        packet("RDATA", 2, 24.1), packet("SPM", 3, 25.0),
    )  # fmt: skip
    detail = rows[0].detail
    assert (detail["gaps"], detail["unlisted_gaps"]) == (1, 0)
    assert len([row for row in rows if row.kind == GAP]) == 1


def test_what_comes_late_though_nobody_asked_is_not_said_to_be_missing() -> None:
    spms = [packet("SPM", 3, at / 2) for at in range(1, 48)]
    rows = received(packet("ODATA", 1), packet("ODATA", 3), *spms, packet("RDATA", 2, 24.1))
    assert sureness_of(rows) == {"PG003": ["cannot be told"]}
    assert rows[0].detail["recovered"] is None


def test_an_ncf_for_another_receiver_counts_as_one_of_ten_waits() -> None:
    def ncf(at: float) -> Event:
        return packet("NCF", 2, at, detail="[[2,3]]")

    asks = [one for n in range(9) for one in (nak(2, 0.6 + n * 0.53), ncf(0.6 + n * 0.53))]
    story = [packet("ODATA", 1), packet("ODATA", 3), ncf(0.05), *asks]
    spms = [packet("SPM", 3, at) for at in (6.0, 7.0, 8.0)]
    assert sureness_of(received(*story, *spms)) == {"PG002": ["proven"]}
    assert sureness_of(received(*story[:2], *asks, *spms, packet("SPM", 3, 60.0))) == {
        "CP007": ["likely"]
    }


def test_messages_of_a_packet_that_was_asked_for_late_are_captured_and_no_repeats() -> None:
    """What is behind them was handed on too early: whether they count as lost is left open."""
    world = World()

    def comes(word: str, sqn: int, at: float) -> None:
        world.sees(packet(word, sqn, at, stream=f"{LINK}|"))
        world.data(F0 + sqn, at, stream=f"{LINK}|{PEER}|_1.A", fresh_id=sqn)

    comes("ODATA", 1, 0.0)
    comes("ODATA", 3, 0.1)
    for at in range(1, 48):
        world.sees(packet("SPM", 3, at / 2, stream=f"{LINK}|"))
    world.sees(nak_on_link(2, 24.0))
    comes("RDATA", 2, 24.1)
    comes("ODATA", 4, 24.2)
    (stream,) = world.engine.observer.streams.values()
    assert (stream.seen.total(), len(stream.repeats)) == (4, 0)
    assert only(world.rows(), "RA001")["certainty"] == "cannot be told"
