"""What one capture has and another lacks, copy by copy (jgroups.md 6, S+R)."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.replay.sequence.clocks import Clocks
from seqaudit.replay.sequence.passages import UNDER_WAY_NS, NumberRun, Passages, Passed, grows

MS = 1_000_000
SECOND = 1_000_000_000
#: The other clock is between 2 and 4 ms ahead, and neither ticks.
CLOCKS = Clocks(
    [(0, 4 * MS), (5, 9 * MS + 7), (SECOND, SECOND + 4 * MS)],
    [(2 * MS, 0), (SECOND, SECOND - 2 * MS)],
)
ALWAYS = (-(10**15), 10**15)

spans = st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(0, 1000))


def rows(told: list[tuple[int, int, int]]) -> list[NumberRun]:
    return [NumberRun(a, a + n, at, at + n, at * MS, (at + n) * MS) for a, n, at in told]


def numbers(told: list[NumberRun]) -> Counter[int]:
    return Counter(n for row in told for n in range(row.first, row.stop))


@given(st.lists(spans, max_size=8), st.lists(spans, max_size=8))
def test_copies_are_counted_number_by_number(
    sent: list[tuple[int, int, int]], came: list[tuple[int, int, int]]
) -> None:
    passed = Passed()
    passed.add(rows(sent), rows(came), CLOCKS, ALWAYS, ALWAYS)
    here, there = numbers(rows(sent)), numbers(rows(came))
    assert (passed.sent, passed.came) == (here.total(), there.total())
    assert passed.lost.missing == (here - there).total() == passed.lost.inside
    assert passed.unsent.missing == (there - here).total()
    assert {n for a, b in passed.lost.numbers for n in range(a, b)} == set(here - there)


def test_a_part_of_a_run_has_the_frames_of_its_own_numbers() -> None:
    run = NumberRun(4, 9, 1, 3, 10, 30, 100, 102)
    assert run.narrowed(4, 6).mark(4) == (1, 10)
    assert run.narrowed(8, 9).mark(8) == (3, 30)
    assert [run.narrowed(5, 7).mark(number) for number in (5, 6)] == [None, None]


def lost_of(at_ms: int, span: tuple[int, int]) -> tuple[int, int]:
    """Copies that are missing of one that is sent then, and those of them outside the span."""
    passed = Passed()
    passed.add([NumberRun(7, 8, 1, 1, at_ms * MS, at_ms * MS)], [], CLOCKS, ALWAYS, span)
    return passed.lost.missing, passed.lost.outside


def test_what_the_other_capture_began_too_late_for_is_apart() -> None:
    assert lost_of(100, (101 * MS, 10**15)) == (1, 0)  # at 102 at the earliest
    assert lost_of(100, (103 * MS, 10**15)) == (1, 1)


def test_what_may_have_been_under_way_when_the_other_capture_ended_is_apart() -> None:
    end = 105 * MS + UNDER_WAY_NS
    assert lost_of(100, (0, end)) == (1, 0)
    assert lost_of(100, (0, end - 2 * MS)) == (1, 1)


def test_without_clocks_nothing_that_is_missing_is_certain() -> None:
    passed = Passed()
    passed.add([NumberRun(7, 8, 1, 1, 0, 0)], [], Clocks([], []), ALWAYS, ALWAYS)
    assert (passed.lost.outside, passed.lost.untimed) == (1, True)


def test_a_lane_remembers_its_rows_and_no_other_lane_s() -> None:
    passages = Passages()
    passages.saw(("s", "messages"), NumberRun(5, 9, 2, 4, 20, 30))
    passages.saw(("s", "messages"), NumberRun(1, 5, 1, 1, 0, 10))
    passages.saw(("s", "acks"), NumberRun(3, 4, 3, 3, 40, 40))
    assert passages.rows(("s", "messages")) == [
        NumberRun(1, 5, 1, 1, 0, 10),
        NumberRun(5, 9, 2, 4, 20, 30),
    ]
    assert passages.rows(("t", "messages")) == []


def test_only_the_ends_of_a_run_have_frames_that_are_known() -> None:
    passed = Passed()
    run = NumberRun(1, 9, 10, 17, 100 * MS, 170 * MS)
    came = [NumberRun(2, 4, 1, 2, 0, 0), NumberRun(5, 8, 3, 5, 0, 0)]
    passed.add([run], came, CLOCKS, ALWAYS, ALWAYS)
    assert list(passed.lost.numbers) == [(1, 2), (4, 5), (8, 9)]
    assert passed.lost.marks == [(10, 100 * MS), (17, 170 * MS)]


def test_growing_numbers_are_bounded_by_those_around_them() -> None:
    """Runs hide when their inner numbers were captured; those that came around a hole do not."""
    sent = [NumberRun(0, 100, 0, 99, 0, 99 * MS)]
    came = [NumberRun(0, 40, 0, 39, 0, 39 * MS), NumberRun(41, 100, 41, 99, 43 * MS, 99 * MS)]
    ends = (-SECOND, 95 * MS)
    for growing, inside in ((False, 0), (True, 1)):
        passed = Passed()
        passed.add(sent, came, CLOCKS, ALWAYS, ends, growing=growing)
        assert (passed.lost.missing, passed.lost.inside) == (1, inside)


def test_what_was_overtaken_is_not_waited_for_as_long() -> None:
    sent = [NumberRun(n, n + 1, n, n, n * MS, n * MS) for n in range(3)]
    for overtaken, inside in ((None, 0), (2 * MS, 1)):
        passed = Passed()
        passed.add(sent, [sent[0], sent[2]], CLOCKS, ALWAYS, (-SECOND, 500 * MS), overtaken)
        assert passed.lost.inside == inside


def test_numbers_grow_if_each_came_once_and_in_order() -> None:
    one, two = NumberRun(0, 5, 0, 4, 0, 4 * MS), NumberRun(5, 9, 5, 8, 5 * MS, 8 * MS)
    assert grows([one, two]) and grows([])
    assert not grows([one, two._replace(first=4)])
    assert not grows([one, two._replace(from_ns=3 * MS)])
