"""How coarse a capture's clock is."""

from itertools import pairwise
from math import gcd

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.network.account_rows import PieceAccount
from seqaudit.decoders.network.tick import COARSE_NS, TimeTick, is_fine
from seqaudit.pipeline.report.accounts import merge_tick

START_NS = 1_700_000_000_000_000_123


def records(times: list[int], *, primes: int = 0) -> Records:
    none = np.zeros(len(times), np.int64)
    number = np.maximum(np.arange(len(times)) - primes + 1, 0)
    at_ns = np.array(times, np.int64)
    return Records(
        b"", len(times), 0, number, none, none, none, at_ns, none, none, none, none, plain=True
    )


def told(pieces: list[list[list[int]]]) -> object:
    """What the accounts of pieces, made of chunks, say together."""
    accounts: list[PieceAccount] = []
    for piece, chunks in enumerate(pieces):
        tick = TimeTick()
        for chunk in chunks:
            tick.takes(records(chunk))
        accounts.append({"piece": piece, "tick": tick.account()})
    return merge_tick(accounts)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=200),
    st.sampled_from([1, 1000, COARSE_NS - 1, COARSE_NS, 15_625_000, 10**9]),
    st.data(),
)
def test_the_tick_is_what_all_times_are_apart_by_however_the_capture_is_cut(
    steps: list[int], tick_ns: int, data: st.DataObject
) -> None:
    times = [START_NS + tick_ns * sum(steps[: n + 1]) for n in range(len(steps))]
    apart = gcd(*(at - times[0] for at in times))
    ties = sum(one == other for one, other in pairwise(times))
    expected = None if is_fine(apart) or ties < 10 else {"tick_ns": apart, "ties": ties}
    assert told([[times]]) == expected
    cuts = sorted(data.draw(st.sets(st.integers(0, len(times)), max_size=3)))
    parts = [times[a:b] for a, b in pairwise([0, *cuts, len(times)])]
    assert told([parts]) == expected
    assert told([[part] for part in parts]) == expected


def test_records_of_another_piece_do_not_count() -> None:
    tick = TimeTick()
    tick.takes(records([START_NS + 1, *[START_NS + COARSE_NS] * 11], primes=1))
    assert merge_tick([{"piece": 0, "tick": tick.account()}]) == {"tick_ns": 0, "ties": 10}


def test_a_capture_without_records_says_nothing() -> None:
    assert told([[]]) is None
