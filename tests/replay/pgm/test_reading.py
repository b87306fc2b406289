"""How far OpenPGM reads a window for the daemon above it: each story is one that was recorded."""

import pytest

from seqaudit.replay.pgm import reading
from seqaudit.replay.pgm.reading import SAME_CALL_NS, TICK_NS, Ticks, WindowReader
from seqaudit.replay.pgm.window import PgmWindow
from seqaudit.replay.sequence.gaps import Mark
from tests.replay.raims.builders import T0, accept, mark

MS = 1_000_000


def at_ms(frame: int, time: float) -> Mark:
    return Mark(frame, T0 + round(time * MS))


def reads_up_to(stop: int) -> WindowReader:
    """Packets came in order, the last of them at 0."""
    reader = WindowReader()
    reader.packet(1, at_ms(1, -10), new=False, taken=True)
    reader.packet(stop, at_ms(2, 0), new=True, taken=True)
    assert reader.at == stop
    return reader


def test_what_one_pass_gives_up_goes_on_with_the_next_packet_behind_the_first() -> None:
    """Packets 5 and 7 are given up at once: any packet of the sender makes it look again."""
    reader = reads_up_to(5)
    reader.gives_up([5, 7], 9, at_ms(9, 5000), 10)
    assert reader.at == 7
    reader.packet(9, at_ms(10, 5300), new=False, taken=True)
    assert (reader.at, reader.stands) == (9, [])


def test_neighbours_that_one_pass_gives_up_are_passed_at_once() -> None:
    reader = reads_up_to(5)
    reader.gives_up([5, 6], 9, at_ms(9, 5000), 10)
    assert reader.at == 9


def test_what_was_given_up_out_of_turn_is_passed_with_a_packet_each() -> None:
    """The first one with any packet, as the timer brought something new; others with data only."""
    reader = reads_up_to(5)
    reader.gives_up([7, 9], 5, at_ms(8, 4000), 9)
    reader.gives_up([5], 11, at_ms(9, 5000), 10)
    assert reader.at == 7
    reader.packet(11, at_ms(10, 5100), new=False, taken=True)
    assert reader.at == 9
    reader.packet(11, at_ms(11, 5200), new=False, taken=True)
    assert reader.at == 9
    reader.packet(12, at_ms(12, 5300), new=True, taken=True)
    assert (reader.at, reader.stands) == (12, [])


def test_a_copy_makes_it_look_only_with_the_next_packet() -> None:
    reader = reads_up_to(5)
    reader.gives_up([7], 5, at_ms(8, 4000), 9)
    reader.packet(9, at_ms(9, 5000), new=True, taken=True)  # the repair of 5
    reader.packet(9, at_ms(10, 5100), new=True, taken=False)
    assert reader.at == 7
    reader.packet(9, at_ms(11, 5200), new=False, taken=True)
    assert reader.at == 9


@pytest.mark.parametrize(("later_ns", "stands"), [(0, True), (SAME_CALL_NS, False)])
def test_what_finds_a_hole_in_the_call_that_read_before_it_stands_for_good(
    later_ns: int, stands: bool
) -> None:
    reader = reads_up_to(5)
    reader.packet(5, Mark(3, T0 + later_ns), new=True, taken=True)
    reader.gives_up([5], 9, at_ms(9, 5000), 10)
    assert (reader.stands == [(9, 10)]) == stands


def test_standstills_beyond_a_bound_are_one_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_STANDS", 2)
    reader = reads_up_to(5)
    reader.stands = [(1, 2), (3, 4)]
    reader.packet(5, at_ms(3, 0), new=True, taken=True)
    reader.gives_up([5], 9, at_ms(9, 5000), 10)
    assert reader.stands == [(1, 2), (3, 10)]


def test_what_was_read_since_takes_that_back() -> None:
    reader = reads_up_to(5)
    reader.packet(5, at_ms(3, 0), new=True, taken=True)
    reader.packet(7, at_ms(4, 600), new=True, taken=True)
    reader.gives_up([7], 9, at_ms(9, 5000), 10)
    assert (reader.at, reader.stands) == (9, [])


def test_a_trail_in_an_spm_makes_it_look_at_once_and_once_more() -> None:
    reader = reads_up_to(5)
    reader.falls_below([5, 7], at_once=True)
    reader.packet(9, at_ms(9, 100), new=False, taken=True)
    assert reader.at == 7
    reader.packet(9, at_ms(10, 110), new=False, taken=True)
    assert reader.at == 9


def test_naks_that_leave_together_show_when_the_timer_ticks() -> None:
    ticks = Ticks()
    assert ticks.next(T0) is None
    assert ticks.called(T0, T0 + TICK_NS) == T0 + TICK_NS
    for turn, late in enumerate((0, 30_000, 900_000, 20_000)):
        ticks.nak(T0 + 7 * turn * TICK_NS + 2_480_000 + late)
    assert ticks.next(T0 + 100) == T0 + 2_480_000
    assert ticks.called(T0, T0 + 3 * TICK_NS) == T0 + 2_480_000
    assert ticks.called(T0, T0 + MS) == T0 + MS  # a packet comes before


def test_naks_that_leave_at_any_time_show_nothing() -> None:
    ticks = Ticks()
    for turn in range(9):
        ticks.nak(T0 + turn * 1_010_000_000 + turn * 280_000)
    assert ticks.next(T0) is None


def test_an_ncf_shows_a_sqn_that_nothing_else_has_shown() -> None:
    """Another receiver had asked; this one waits for data from then on (OpenPGM counts it)."""
    window = PgmWindow()
    window.confirmed([3], mark(1))
    accept(window, 1)
    window.confirmed([4], mark(2, 1.0))
    assert list(window.holes) == [2, 3, 4]
    assert [hole.confirmed for hole in window.holes.values()] == [0, 0, 1]
    assert window.holes[2].revealed_by == "its NCF"
