"""The gap tracker against one that knows every seqno by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import compact
from seqaudit.replay.sequence import gaps
from seqaudit.replay.sequence.gaps import Arrival, Gap, GapTracker, Mark, Outcome, Part
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.sequence.repairs import repaired_after
from tests.replay.builders import ranges

EVENTS = st.one_of(
    st.tuples(st.just("arrive"), st.integers(1, 30), st.integers(1, 6)),
    st.tuples(st.just("reveal"), st.integers(1, 30), st.just(0)),
    st.tuples(st.just("request"), st.integers(1, 30), st.integers(1, 6)),
    st.tuples(st.just("close"), st.integers(1, 30), st.just(0)),
    st.tuples(st.just("uncaptured"), st.integers(1, 30), st.just(0)),
)


class Slow:
    """Every seqno by itself: does it exist, has it arrived, how did it end."""

    def __init__(self) -> None:
        self.known_stop = 1
        self.seen: set[int] = set()
        self.missing: set[int] = set()
        self.revealed: dict[int, int] = {}  # seqno -> frame
        self.requests: dict[int, int] = {}
        self.ended: dict[int, str] = {}

    def reveal(self, stop: int, frame: int) -> None:
        for seqno in range(self.known_stop, stop):
            self.missing.add(seqno)
            self.revealed[seqno] = frame
        self.known_stop = max(self.known_stop, stop)

    def arrive(self, seqno: int, frame: int) -> bool:
        new = seqno not in self.seen
        self.reveal(seqno, frame)
        self.known_stop = max(self.known_stop, seqno + 1)
        self.seen.add(seqno)
        if seqno in self.missing:
            self.missing.discard(seqno)
            self.ended[seqno] = Outcome.REORDERED
        return new

    def close(self, stop: int, outcome: Outcome) -> set[int]:
        closed = {seqno for seqno in self.missing if seqno < stop}
        self.missing -= closed
        self.ended |= dict.fromkeys(closed, outcome)
        if outcome is Outcome.UNCAPTURED:
            self.seen |= closed
        return closed


def mark_of(frame: int) -> Mark:
    return Mark(frame, 1000 * frame)


@settings(max_examples=200)
@given(st.lists(EVENTS, max_size=30))
def test_a_tracker_agrees_with_one_that_knows_every_seqno(
    story: list[tuple[str, int, int]],
) -> None:
    ended: dict[int, str] = {}
    closed: list[Gap] = []

    def judge(gap: Gap, piece: Range, arrival: Arrival) -> Outcome:
        return Outcome.REORDERED

    def filled(gap: Gap, piece: Range, outcome: Outcome, part: Part) -> None:
        assert not set(range(*piece)) & set(ended), "a seqno ends once"
        ended.update(dict.fromkeys(range(*piece), outcome))

    fast, slow = GapTracker(1, judge, closed.append, filled), Slow()
    for frame, (word, seqno, size) in enumerate(story, 1):
        mark = mark_of(frame)
        if word == "arrive":
            arrival = Arrival(mark, mark, repair=False, fresh_id=None, last_fresh_id=None)
            new = {s for s in range(seqno, seqno + size) if slow.arrive(s, frame)}
            assert fast.arrive(seqno, seqno + size, arrival, "a higher seqno") == ranges(new)
        elif word == "reveal":
            slow.reveal(seqno, frame)
            fast.reveal(seqno, mark, "HIGHEST_SEQNO")
        elif word == "request":
            fast.request(seqno, seqno + size, mark)
            asked = [s for s in range(seqno, seqno + size) if s in slow.missing]
            assert fast.open_within(seqno, seqno + size) == ranges(asked) or (
                [s for a, b in fast.open_within(seqno, seqno + size) for s in range(a, b)] == asked
            )  # two gaps that touch stay two
        else:
            outcome = Outcome.UNRECOVERED if word == "close" else Outcome.UNCAPTURED
            done = fast.close(seqno, outcome, mark)
            assert {s for a, b in done for s in range(a, b)} == slow.close(seqno, outcome)
        assert [s for a, b in fast.missing() for s in range(a, b)] == sorted(slow.missing)
        assert fast.known_stop == slow.known_stop
        assert list(fast.seen) == ranges(slow.seen)
        for seqno in slow.missing:
            gap = fast.gap_of(seqno)
            assert gap is not None and gap.revealed.frame == slow.revealed[seqno]
    assert ended == slow.ended
    for gap in closed:
        listed = [s for part in gap.parts.values() for a, b in part.ranges for s in range(a, b)]
        assert sorted(listed) == list(range(gap.first, gap.stop))


@pytest.mark.parametrize(("frame", "closed"), [(3, []), (4, [(2, 3)])])
def test_what_comes_in_the_frame_that_tells_of_it_was_never_missing(
    frame: int, closed: list[Range]
) -> None:
    """rejoin-nakack4: HIGHEST_SEQNO stands before the message in one list."""
    found: list[Gap] = []
    tracker = GapTracker(1, lambda *_: Outcome.EITHER, found.append, lambda *_: None)
    tracker.arrive(1, 2, Arrival(mark_of(1), mark_of(1), False, None, None), gaps.BY_SEQNO)
    tracker.reveal(3, mark_of(3), gaps.BY_HIGHEST)
    came = Arrival(mark_of(frame), mark_of(frame), False, None, None)
    assert tracker.arrive(2, 3, came, gaps.BY_SEQNO) == [(2, 3)]
    assert tracker.missing() == []
    assert [(gap.first, gap.stop) for gap in found] == closed


def test_past_the_limit_open_gaps_share_the_last_object(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Gap] = []

    def judge(gap: Gap, piece: Range, arrival: Arrival) -> Outcome:
        return Outcome.REORDERED

    tracker = GapTracker(1, judge, closed.append, lambda *_: None)
    monkeypatch.setattr(gaps, "MAX_OPEN_GAPS", 3)
    for seqno in range(2, 14, 2):  # 1, 3, 5, 7, 9, 11 are missing
        arrival = Arrival(mark_of(seqno), mark_of(seqno), False, None, None)
        tracker.arrive(seqno, seqno + 1, arrival, "a higher seqno")
    found = [tracker.gap_of(seqno) for seqno in range(1, 13, 2)]
    assert [gap and (gap.first, gap.stop) for gap in found] == [
        (1, 2), (3, 4), (5, 12), (5, 12), (5, 12), (5, 12),
    ]  # fmt: skip
    assert tracker.missing() == ranges([1, 3, 5, 7, 9, 11])


def test_a_gap_writes_its_rows_as_json_as_all_rows_are_written() -> None:
    gap = Gap(5, 9, Mark(3, 70), Mark(4, 90), "a higher number", None, 0)
    gap.parts[Outcome.UNRECOVERED] = Part(RangeSet([(5, 6), (8, 9)]))
    assert gap.texts() == [compact(row) for row in gap.rows()]
    gap.before, gap.requested, gap.requests = None, Mark(6, 95), 2
    gap.parts[Outcome.RECOVERED] = Part(RangeSet([(6, 8)]), Mark(7, 99), Mark(8, 120), Mark(8, 121))
    assert gap.texts() == [compact(row) for row in gap.rows()]
    assert len(gap.texts()) == 2


def one_gap(*story: tuple[str, int, int, int]) -> list[dict[str, object]]:
    """The rows of one gap: what happened to [first, stop) in a frame."""
    closed: list[Gap] = []
    outcomes = {3: Outcome.EITHER}

    def judge(gap: Gap, piece: Range, arrival: Arrival) -> Outcome:
        return outcomes.get(arrival.first.frame, Outcome.RECOVERED)

    tracker = GapTracker(1, judge, closed.append, lambda *_: None)
    for word, frame, first, stop in story:
        mark = mark_of(frame)
        if word == "ask":
            tracker.request(first, stop, mark)
        else:
            came = Arrival(mark, mark, repair=False, fresh_id=None, last_fresh_id=None)
            tracker.arrive(first, stop, came, gaps.BY_SEQNO)
    (gap,) = closed
    return [dict(row) for row in gap.rows()]


def test_what_came_before_the_rest_was_asked_for_was_not_asked_for() -> None:
    """n2-loss: another member's request brings a message, the tick behind it asks for the rest."""
    rows = one_gap(
        ("come", 1, 1, 2), ("come", 2, 5, 6), ("come", 3, 3, 4), ("ask", 4, 2, 3),
        ("ask", 4, 4, 5), ("come", 5, 2, 3), ("come", 6, 4, 5),
    )  # fmt: skip
    told = [
        (row["outcome"], row["seqnos"], row["requested_frame"], row["requests"]) for row in rows
    ]
    assert told == [
        ("recovered", [[2, 2], [4, 4]], 4, 1),
        ("recovered or late", [[3, 3]], None, 0),
    ]
    assert rows[1]["repaired_after_ns"] == mark_of(3).at_ns - mark_of(2).at_ns


def test_a_message_that_asks_for_several_ranges_of_a_gap_asks_once() -> None:
    (row,) = one_gap(
        ("come", 1, 1, 2), ("come", 2, 6, 7), ("ask", 4, 2, 3), ("ask", 4, 5, 6),
        ("ask", 5, 2, 6), ("come", 6, 2, 6),
    )  # fmt: skip
    assert (row["requested_frame"], row["requests"]) == (4, 2)


def test_of_what_came_apart_each_has_its_own_time() -> None:
    """n4-last: the last message is asked for alone, and what is below it comes a tick later."""
    closed: list[Gap] = []
    tracker = GapTracker(1, lambda *_: Outcome.RECOVERED, closed.append, lambda *_: None)
    for frame, first, stop in ((1, 1, 2), (2, 7, 8), (4, 6, 7), (5, 3, 4), (6, 2, 3), (6, 4, 6)):
        mark = mark_of(frame)
        if frame == 4:
            tracker.request(6, 7, mark_of(3))
        came = Arrival(mark, mark, repair=False, fresh_id=None, last_fresh_id=None)
        tracker.arrive(first, stop, came, gaps.BY_SEQNO)
    (gap,) = closed
    (row,) = gap.rows()
    assert (row["repaired_frame"], row["requests"]) == (6, 1)
    some = gap.of_some(row, RangeSet([(6, 7)]), asked=True)
    assert (some["seqnos"], some["repaired_frame"], some["requests"]) == ([[6, 6]], 4, 1)
    assert repaired_after(gap, RangeSet([(6, 7)])) == mark_of(4).at_ns - mark_of(2).at_ns
    others = gap.of_some(row, RangeSet([(3, 4)]), asked=False)
    assert (others["repaired_frame"], others["requested_frame"], others["requests"]) == (5, None, 0)
    assert repaired_after(gap) == mark_of(6).at_ns - mark_of(2).at_ns
