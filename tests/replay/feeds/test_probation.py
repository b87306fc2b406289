"""What was only recognised is a stream where numbers follow each other and clocks run (RFC 3550
A.1), wherever its rows are cut."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import EVENTS, FRAME_BITS, Flag, Kind
from seqaudit.replay.feeds.holes import Int64s
from seqaudit.replay.feeds.probation import Probation, passed
from seqaudit.replay.feeds.rows import FeedColumns, FeedRows

SECOND = 1_000_000_000


def row(
    first: int, stop: int, kind: Kind = Kind.DATA, flags: int = 0, frame: int = 1
) -> FeedColumns:
    return rows([(first, stop, kind, flags, frame)])


def rows(told: Sequence[tuple[int, int, Kind, int, int]]) -> FeedColumns:
    batch = pa.RecordBatch.from_pylist([_row(*each) for each in told], schema=EVENTS)
    return FeedRows(batch).columns(0, len(told))


def _row(first: int, stop: int, kind: Kind, flags: int, frame: int) -> dict[str, Any]:
    made: dict[str, Any] = dict.fromkeys(EVENTS.names)
    made |= {"capture": 0, "conversation": "feed|f|", "index": 0, "count": stop - first, "size": 9}
    made |= {"seqno": first, "stop_seqno": stop, "frame": frame, "last_frame": frame, "at_ns": 0}
    made |= {"last_at_ns": 0, "kind": int(kind), "flags": flags, "wire_kind": "DATA", "stream": "s"}
    return made | {"system": "feed"}


def of(datagrams: int) -> Int64s:
    return np.array([datagrams << 32 | datagrams])


def judged(numbers: Sequence[int], stamps: Sequence[int] = (), hz: int = -1) -> bool:
    """Of a datagram every 20 ms."""
    one = Probation(1 << 16)
    for place, number in enumerate(numbers):
        one.take(row(number, number + 1), of(1))
        if stamps:
            one.clock(np.array([[number, place * 20_000_000, stamps[place]]]), 32, hz)
    return passed([one])


CHANCE = random.Random(4)


@pytest.mark.parametrize(
    ("numbers", "is_one"),
    [
        ([5], False),
        ([5, 6], True),
        ([5, 7], False),
        ([65535, 0], True),
        ([5, 6, 9_000, 9_001, 9_002, 300, 301], True),
        ([5, 6, 9_000, 18_000, 27_000], False),
        ([463, 464, 464, 288], False),  # lengths, not numbers
        ([n // 2 if n % 2 else 2 * n for n in range(100)], False),
        ([n ^ 3 if n % 4 in (1, 2) else n for n in range(200)] * 2, True),
        ([CHANCE.randrange(65536) for _ in range(500)], False),
        ([n for n in range(500) if CHANCE.random() < 0.7], True),
    ],
)
def test_a_stream_is_one_where_numbers_follow_each_other(numbers: list[int], is_one: bool) -> None:
    assert judged(numbers) is is_one


def clock(hz: int) -> list[int]:
    return [7 + hz * place // 50 for place in range(200)]


@pytest.mark.parametrize(
    ("stamps", "is_one"),
    [
        (clock(8_000), True),
        (clock(90_000), True),
        ([stamp + 3_000_000_000 * (stamp > 9_000) & 0xFFFFFFFF for stamp in clock(8_000)], True),
        ([(2**32 - 5_000 + stamp) & 0xFFFFFFFF for stamp in clock(8_000)], True),
        ([7] * 200, False),
        (clock(50), False),
        ([-stamp & 0xFFFFFFFF for stamp in clock(8_000)], False),
        ([CHANCE.randrange(2**32) for _ in range(200)], False),
    ],
    ids=["sound", "video", "set anew", "wrapping", "still", "a counter", "backwards", "noise"],
)
def test_timestamps_run_as_a_clock(stamps: list[int], is_one: bool) -> None:
    assert judged(range(200), stamps) is is_one


@pytest.mark.parametrize(
    ("stamps", "hz", "is_one"),
    [
        ([place * 20_000_000 for place in range(100)], 1_000_000_000, True),
        ([place * 20_000_000 for place in range(100)], -1, False),
        ([place * 60_000_000 for place in range(100)], 1_000_000_000, False),
    ],
    ids=["nanoseconds", "nobody says so", "three times as fast"],
)
def test_a_clock_of_a_known_rate_may_be_a_fast_one(
    stamps: list[int], hz: int, is_one: bool
) -> None:
    """A feed's file says the rate, as CME MDP 3.0 has nanoseconds."""
    assert judged(range(100), stamps, hz) is is_one


def test_too_short_a_time_says_nothing_of_a_clock() -> None:
    assert judged(range(40), [7] * 40)


def test_what_came_twice_is_no_step() -> None:
    one = Probation(1 << 16)
    for number in (1, 2, 3, 4, 5, 6):
        one.take(row(number, number + 1), of(1))
        one.take(row(number, number + 1, flags=int(Flag.NETWORK_DUPLICATE)), of(1))
    assert passed([one])
    assert one.datagrams == {0: 12}


def test_heartbeats_that_say_what_comes_next_are_in_step() -> None:
    one = Probation(0)
    one.take(row(1, 4), of(1))
    assert not passed([one])
    one.take(row(3, 4, Kind.HIGHEST), of(2))
    assert passed([one])
    assert one.messages[0, "DATA"] == 5


@settings(max_examples=150)
@example([(0, 1), (0, 1), (0, 2)], random.Random(0))
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=12), st.randoms())
def test_it_does_not_depend_on_where_runs_are_cut(
    runs: list[tuple[int, int]], chance: random.Random
) -> None:
    whole, cut = Probation(1 << 16), Probation(1 << 16)
    for first, count in runs:
        whole.take(row(first, first + count), of(count))
        while count:
            part = chance.randint(1, count)
            cut.take(row(first, first + part), of(part))
            first, count = first + part, count - part
    assert passed([whole]) == passed([cut])
    assert (whole.datagrams, whole.messages) == (cut.datagrams, cut.messages)


_ROWS = st.tuples(
    st.integers(0, 40),
    st.integers(1, 9),
    st.sampled_from([Kind.DATA, Kind.HIGHEST, Kind.RETRANSMISSION]),
    st.sampled_from([0, int(Flag.NETWORK_DUPLICATE), int(Flag.MULTICAST)]),
    st.sampled_from([1, 2, 1 << FRAME_BITS]),
)


@settings(max_examples=40)
@given(st.lists(_ROWS, max_size=12), st.sampled_from([16, 100, 65536, 0]))
def test_rows_at_once_say_what_they_say_one_by_one(
    drawn: list[tuple[int, int, Kind, int, int]], space: int
) -> None:
    told = [(a, a + count, kind, flags, frame) for a, count, kind, flags, frame in drawn]
    at_once, singly = Probation(space), Probation(space)
    at_once.take(rows(told), np.concatenate([of(0)[:0], *(of(b - a) for a, b, *_ in told)]))
    for each in told:
        singly.take(rows([each]), of(each[1] - each[0]))
    assert vars(at_once) == vars(singly)


def test_streams_of_single_units_pass_with_those_beside_them() -> None:
    single, steady, noise = Probation(256), Probation(256), Probation(256)
    single.take(row(7, 8), np.array([1]))  # not the first of its datagram
    steady.take(row(1, 5), of(4))
    for number in (9, 60, 111, 162, 213):
        noise.take(row(number, number + 1), of(1))
    assert not passed([single])
    assert passed([single, steady])
    assert not passed([single, noise])
    assert passed([steady, noise]) is False  # most of what is there is in step with nothing
    assert (single.datagrams, steady.datagrams) == ({0: 0}, {0: 4})
