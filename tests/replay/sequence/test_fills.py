"""Steps of a quantity over time, against keeping all of them."""

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.replay.sequence.fills import MAX_STEPS, Fill


def filled(steps: list[tuple[int, int]]) -> Fill:
    fill = Fill()
    for at_ns, value in steps:
        fill.set(at_ns, value)
    return fill


def test_a_step_is_a_change() -> None:
    assert filled([(1, 0), (2, 3), (3, 3), (4, 1), (5, 0)]).points() == [[2, 3], [4, 1], [5, 0]]


def test_a_time_that_goes_back_is_the_last_one() -> None:
    assert filled([(5, 1), (3, 2)]).points() == [[5, 1], [5, 2]]


@given(st.lists(st.integers(0, 50), max_size=5_000))
def test_of_many_steps_the_highest_and_the_last_stay(values: list[int]) -> None:
    fill = filled(list(enumerate(values)))
    points = fill.points()
    assert len(points) <= 2 * MAX_STEPS
    assert fill.most == max(values, default=0) == max((v for _, v in points), default=0)
    assert [at for at, _ in points] == sorted(at for at, _ in points)
    if any(values):
        assert points[-1][1] == values[-1]
    assert all(values[at] == value for at, value in points)
