"""Times and IP ids tell records that are out of order from a clock that was set (replay/README.md
3)."""

from struct import pack

import numpy as np
import pytest

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.network.order import HORIZON_NS, NAMED_STEPS, PieceOrder

MS = 1_000_000
#: (time in ms, sender, IP id)
Packet = tuple[int, int, int]


def packet(sender: int, ident: int) -> bytes:
    addresses = bytes([10, 0, 0, sender, 10, 0, 0, 99])
    ip = pack(">BBHHHBBH", 0x45, 0, 28, ident, 0, 64, 17, 0) + addresses
    return bytes(12) + b"\x08\x00" + ip + bytes(8)


def chunk(packets: list[Packet], first_frame: int = 1) -> Records:
    data = b"".join(packet(sender, ident) for _, sender, ident in packets)
    count, size = len(packets), len(packet(1, 1))

    def column(value: int = 0) -> np.ndarray:
        return np.full(count, value, np.int64)

    return Records(
        data, count, 0, np.arange(count) + first_frame, np.arange(count) * size, column(size),
        column(size), np.array([at * MS for at, *_ in packets], np.int64), column(1), column(),
        np.arange(count) * size, column(), plain=True,
    )  # fmt: skip


def told(*packets: Packet) -> tuple[list[int], PieceOrder]:
    order = PieceOrder()
    arranged = order.arranged(chunk(list(packets)))
    return (arranged.at_ns // MS).tolist(), order


def test_a_chunk_in_order_is_handed_on_as_it_is() -> None:
    records = chunk([(1, 1, 1), (2, 1, 2), (2, 2, 1)])
    order = PieceOrder()
    assert order.arranged(records) is records
    assert (order.late, order.steps, order.moved) == (0, [], [])


def test_a_late_record_is_put_where_its_time_is() -> None:
    times, order = told((1, 1, 1), (5, 2, 7), (3, 1, 2), (6, 2, 8))
    assert times == [1, 3, 5, 6]
    assert (order.late, order.most_ns, order.steps) == (1, 2 * MS, [])
    assert order.moved == [(2, 3), (3, 2)]
    assert order.first_late == 2  # its place in the order; in the file it is the third


def test_ids_of_a_sender_that_go_on_show_that_the_clock_was_set() -> None:
    times, order = told((100, 1, 1), (105, 1, 2), (101, 1, 3), (106, 1, 4))
    assert times == [100, 105, 101, 106]
    (step,) = order.steps
    assert (step.frame, step.back_ns, step.agree, step.against) == (3, 4 * MS, 1, 0)


def test_ids_of_a_sender_that_go_back_show_that_records_changed_places() -> None:
    times, order = told((0, 1, 1), (5_000, 1, 3), (100, 1, 2), (6_000, 1, 4))
    assert times == [0, 100, 5_000, 6_000]
    assert (order.late, order.steps) == (1, [])


def test_a_datagram_that_the_network_held_back_does_not_hide_that_the_clock_was_set() -> None:
    held_back = [(ms, 1, ms) for ms in range(100, 140) if ms != 138] + [(40, 1, 138)]
    times, order = told(*held_back, (42, 1, 140), (44, 1, 141))
    assert times[-3:] == [40, 42, 44]
    (step,) = order.steps
    assert (step.frame, step.agree, step.against) == (40, 1, 0)


def test_where_datagrams_pass_each_other_one_pair_does_not_show_that_the_clock_was_set() -> None:
    """8 came before 7, and their records changed places in the file."""
    passing = [(1, 1, 1), (2, 1, 3), (3, 1, 2), (4, 1, 4), (12, 1, 7), (11, 1, 8), (13, 1, 9)]
    times, order = told(*passing)
    assert times == [1, 2, 3, 4, 11, 12, 13]
    assert (order.late, order.steps) == (1, [])
    in_order = [(ms, sender, ident if ident > 4 else ms) for ms, sender, ident in passing]
    assert [step.agree for step in told(*in_order)[1].steps] == [1]


def test_ids_that_are_drawn_at_random_tell_nothing() -> None:
    drawn = [(ms, 1, 1 + ms * 7919 % 65_000) for ms in range(100, 140)]
    _, order = told(*drawn, (90, 1, 1 + 90 * 7919 % 65_000), (150, 1, 5))
    assert (order.late, order.steps) == (1, [])


@pytest.mark.parametrize(("late_ms", "steps"), [(999, 0), (1001, 1)])
def test_without_ids_a_single_record_is_late_by_a_second_at_most(late_ms: int, steps: int) -> None:
    _, order = told((0, 1, 0), (2_000, 2, 0), (2_000 - late_ms, 1, 0), (3_000, 2, 0))
    assert len(order.steps) == steps


@pytest.mark.parametrize(
    ("late_ms", "guessed"), [(HORIZON_NS // MS, []), (HORIZON_NS // MS + 1, [(2, 4)])]
)
def test_a_single_late_record_that_no_id_tells_of_may_stand_behind_a_step(
    late_ms: int, guessed: list[tuple[int, int]]
) -> None:
    late = (2_000 - late_ms, 3, 0)
    times, order = told((0, 1, 0), (1_990, 2, 0), (2_000, 2, 0), late, (3_000, 2, 0))
    assert times == sorted(times)
    assert order.guessed == guessed


def test_ids_leave_no_doubt_about_a_single_late_record() -> None:
    _, order = told((0, 1, 1), (500, 1, 3), (100, 1, 2), (600, 1, 4))
    assert (order.late, order.guessed) == (1, [])


@pytest.mark.parametrize(("late_ms", "steps"), [(HORIZON_NS // MS, 0), (HORIZON_NS // MS + 1, 1)])
def test_without_ids_several_are_late_by_the_horizon_at_most(late_ms: int, steps: int) -> None:
    _, order = told(
        (0, 1, 0), (2_000, 2, 0), (2_000 - late_ms, 1, 0), (2_001 - late_ms, 1, 0), (3_000, 2, 0)
    )
    assert len(order.steps) == steps


def test_records_are_put_in_order_on_either_side_of_a_step() -> None:
    times, order = told(
        (100, 1, 1), (103, 2, 9), (102, 1, 2), (50, 1, 3), (53, 2, 10), (52, 1, 4), (60, 1, 5)
    )
    assert times == [100, 102, 103, 50, 52, 53, 60]
    assert [step.frame for step in order.steps] == [4]


def test_a_record_that_belongs_into_the_chunk_before_is_named() -> None:
    order = PieceOrder()
    order.arranged(chunk([(1, 1, 1), (5, 2, 7)]))
    order.arranged(chunk([(4, 1, 2), (6, 2, 8)], first_frame=3))
    assert (order.torn, order.steps) == ([3], [])


def test_records_of_another_piece_tell_nothing() -> None:
    primes = chunk([(9, 1, 1), (1, 1, 2)])
    primes.frame[:] = 0
    order = PieceOrder()
    assert order.arranged(primes) is primes
    assert order.account()["first_ns"] is None


def test_of_more_steps_than_are_named_the_stretch_is() -> None:
    back = range(NAMED_STEPS + 50)
    packets = [(100_000 - 100 * n + at, 1, 2 * n + at) for n in back for at in (0, 1)]
    _, order = told(*packets)
    assert (len(order.steps), order.steps_more) == (NAMED_STEPS, 49)
    assert order.beyond == (2 * NAMED_STEPS + 3, 2 * back[-1] + 1)
    torn = PieceOrder()
    for number in (*range(1, NAMED_STEPS + 1), 700, 650):
        torn.tears(number)
    assert (len(torn.torn), torn.beyond) == (NAMED_STEPS, (650, 700))
