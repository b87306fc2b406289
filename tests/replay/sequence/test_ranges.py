"""Range sets and delivery order against sets and lists of plain integers."""

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.replay.sequence.ranges import DeliveryOrder, RangeSet, half_open, inclusive, total
from tests.replay.builders import ranges

seqnos = st.integers(0, 30)
stretches = st.tuples(seqnos, seqnos)  # also empty and backward ones
steps = st.lists(st.tuples(st.sampled_from(["add", "remove"]), stretches), max_size=25)


@given(steps)
def test_adding_and_removing_agree_with_a_set_of_integers(
    story: list[tuple[str, tuple[int, int]]],
) -> None:
    fast, slow = RangeSet(), set[int]()
    for word, (first, stop) in story:
        part = set(range(first, stop))
        if word == "add":
            assert fast.add(first, stop) == ranges(part - slow)
            slow |= part
        else:
            assert fast.remove(first, stop) == ranges(part & slow)
            slow -= part
        assert list(fast) == ranges(slow)
        assert (len(fast), fast.total(), bool(fast)) == (len(ranges(slow)), len(slow), bool(slow))


@given(st.lists(stretches, max_size=12), stretches)
def test_questions_agree_with_a_set_of_integers(
    added: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    fast = RangeSet(added)
    slow = {seqno for first, stop in added for seqno in range(first, stop)}
    part = set(range(*asked))
    assert fast.within(*asked) == ranges(part & slow)
    assert fast.missing(*asked) == ranges(part - slow)
    assert [seqno in fast for seqno in range(32)] == [seqno in slow for seqno in range(32)]
    for seqno in range(32):
        end = seqno
        while end in slow:
            end += 1
        assert fast.end_of_run(seqno) == end
    if slow:
        assert (fast.first(), fast.stop()) == (min(slow), max(slow) + 1)
    assert fast == RangeSet(ranges(slow))
    assert (fast == RangeSet([*added, (40, 41)])) is False


@given(st.lists(stretches, max_size=12), st.lists(stretches, max_size=12))
def test_two_sets_are_combined_as_sets_of_integers_are(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    left, right = RangeSet(one), RangeSet(other)
    mine = {seqno for part in one for seqno in range(*part)}
    theirs = {seqno for part in other for seqno in range(*part)}
    assert list(left | right) == ranges(mine | theirs)
    assert list(left & right) == ranges(mine & theirs)
    assert list(left - right) == ranges(mine - theirs)
    assert (list(left), list(right)) == (ranges(mine), ranges(theirs))


def test_ranges_are_inclusive_only_in_the_report() -> None:
    assert inclusive([(1, 2), (5, 9)]) == [[1, 1], [5, 8]]
    assert half_open([[1, 1], [5, 8]]) == RangeSet([(1, 2), (5, 9)])
    assert total([(1, 2), (5, 9)]) == 5
    assert repr(RangeSet([(1, 2), (2, 3)])) == "RangeSet([(1, 3)])"


@given(st.lists(stretches, max_size=20), st.integers(1, 20))
def test_delivery_keeps_the_order_and_counts_what_is_over_its_limit(
    delivered: list[tuple[int, int]], limit: int
) -> None:
    order = DeliveryOrder(limit)
    for first, stop in delivered:
        order.deliver(first, stop)
    slow = [seqno for first, stop in delivered for seqno in range(first, stop)]
    listed = [seqno for first, stop in order.ranges for seqno in range(first, stop)]
    assert listed == slow[: len(listed)]
    assert (order.count, order.unlisted) == (len(slow), len(slow) - len(listed))
    assert len(order.ranges) <= limit
    assert all(a[1] != b[0] for a, b in zip(order.ranges, order.ranges[1:], strict=False))
    if len(order.ranges) < limit:
        assert order.unlisted == 0
