"""The receive window against one that takes message after message (jgroups.md 5.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.replay.jgroups.windows import Window
from tests.replay.builders import ranges


class Slow:
    """low < s <= low + capacity is stored (by the document: s < low + capacity)."""

    def __init__(self, low: int, capacity: int | None, document: bool) -> None:
        self.low, self.high, self.capacity, self.document = low, low, capacity, document
        self.stored: set[int] = set()

    def room(self) -> int:
        assert self.capacity is not None
        return self.low + self.capacity - (1 if self.document else 0)

    def accept(self, seqno: int) -> str:
        if seqno <= self.low or seqno in self.stored:
            return "duplicate"
        if self.capacity is not None and seqno > self.room():
            return "dropped"
        self.stored.add(seqno)
        self.high = max(self.high, seqno)
        while self.low + 1 in self.stored:
            self.low += 1
            self.stored.discard(self.low)
        return "stored"


runs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 8)), max_size=15)
capacities = st.one_of(st.none(), st.integers(2, 10))


@pytest.mark.rule("R4")
@pytest.mark.rule("R6")
@pytest.mark.rule("D2")
@given(runs, capacities, st.booleans(), st.integers(0, 5))
def test_a_window_agrees_with_one_that_takes_message_after_message(
    arriving: list[tuple[int, int]], capacity: int | None, document: bool, low: int
) -> None:
    fast, slow = Window(low, capacity, document=document), Slow(low, capacity, document)
    for first, size in arriving:
        before = slow.low
        fates = {seqno: slow.accept(seqno) for seqno in range(first, first + size)}
        of = {w: [s for s in fates if fates[s] == w] for w in ("stored", "duplicate", "dropped")}
        accepted = fast.accept(first, first + size)
        assert accepted.stored == ranges(of["stored"])
        assert accepted.duplicates == len(of["duplicate"])
        assert accepted.dropped == ranges(of["dropped"])
        delivered = None if slow.low == before else (before + 1, slow.low + 1)
        assert accepted.delivered == delivered
        assert (fast.low, fast.high) == (slow.low, slow.high)
        assert [fast.has(s) for s in range(45)] == [
            s <= slow.low or s in slow.stored for s in range(45)
        ]


@given(runs, st.integers(0, 40))
def test_skipping_delivers_what_is_stored_behind_it(
    arriving: list[tuple[int, int]], low: int
) -> None:
    fast, slow = Window(0), Slow(0, None, document=False)
    for first, size in arriving:
        fast.accept(first, first + size)
        for seqno in range(first, first + size):
            slow.accept(seqno)
    before = slow.low
    for seqno in range(slow.low + 1, low + 1):
        slow.accept(seqno)
    assert fast.skip_to(low) == (None if slow.low == before else (before + 1, slow.low + 1))
    assert (fast.low, fast.high) == (slow.low, slow.high)
