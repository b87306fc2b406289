"""Durations and their percentiles, by nearest rank on a plain sorted list."""

import math

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.replay.sequence.durations import EXACT_VALUES, Durations, shown, slowest


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 5)), max_size=30))
def test_percentiles_are_the_nearest_rank(added: list[tuple[int, int]]) -> None:
    durations = Durations()
    for value, weight in added:
        durations.add(value, weight)
    plain = sorted(value for value, weight in added for _ in range(weight))
    if not plain:
        assert durations.percentiles() == {"p50": None, "p99": None, "max": None}
        return
    assert durations.percentiles() == {
        "p50": plain[math.ceil(len(plain) * 0.5) - 1],
        "p99": plain[-(-len(plain) * 99 // 100) - 1],
        "max": plain[-1],
    }


def test_many_different_values_are_rounded_to_three_digits() -> None:
    forward, backward = Durations(), Durations()
    values = range(1_000_000, 1_000_000 + EXACT_VALUES + 10)
    for value in values:
        forward.add(value)
    for value in reversed(values):
        backward.add(value)
    assert (forward.rounded, backward.rounded) == (True, True)
    assert forward.percentiles() == {"p50": 1_030_000, "p99": 1_060_000, "max": 1_060_000}
    assert forward.percentiles() == backward.percentiles()  # the order does not matter
    forward.add(999)
    assert min(forward._values) == 999  # below a thousand nothing is rounded


def test_a_clock_that_steps_back_measures_nothing() -> None:
    durations = Durations()
    durations.add(-9_000_000_000)
    assert durations.percentiles() == {"p50": None, "p99": None, "max": None}
    assert [shown(ns) for ns in (None, -1, 850, 402_000, 1_750_000, 2_010_765_000)] == [
        "an unknown time", "an unknown time", "850 ns", "402.0 us", "1.8 ms", "2.011 s",
    ]  # fmt: skip


def test_a_slowest_that_nobody_knows_is_not_mentioned() -> None:
    assert slowest(1_200_000_000) == ", the slowest 1.200 s after the gap showed"
    assert (slowest(None), slowest(-1)) == ("", "")
