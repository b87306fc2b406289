"""Captures of both ends: resends of what had arrived, whatever the clocks (jgroups.md 6, S+R)."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import EVENTS
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.passage_rows import TOO_MUCH
from seqaudit.replay.contract.results import BOTH_ENDS, EndsDetail
from seqaudit.replay.contract.settings import CaptureSettings, ReplaySettings, Vantage
from seqaudit.replay.jgroups.both_ends_findings import (
    BEGINS_LATE,
    CLOCK_SET,
    NO_MATCH,
    settled,
)
from seqaudit.replay.sequence import clocks, passages
from seqaudit.replay.sequence.clocks import DRIFT, Bound, Clocks, Offset, Sightings, tick_ns
from seqaudit.replay.stages import replay as stage
from tests.replay.builders import ADDRESS, MS, A, B, C, dated, join_req
from tests.replay.jgroups.unicast.builders import ack, data, member, request
from tests.replay.jgroups.unicast.world import Plan, World
from tests.replay.stages.test_replay import row_of

UNICAST: Final = "unicast|lab"
#: How far B's clock is ahead of A's in the stories.
AHEAD: Final = 7_000_000_000_123

Told = dict[str, Any]


def together(at_a: Sequence[Event], at_b: Sequence[Event], *, swapped: bool = False) -> list[Told]:
    """What a replay of A's and B's capture says, by kind; swapped: B's was named first."""
    captures = [(B, at_b), (A, at_a)] if swapped else [(A, at_a), (B, at_b)]
    rows = [
        row_of(event, UNICAST, number)
        for number, (_, events) in enumerate(captures)
        for event in (*map(member, (A, B)), *events)
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=EVENTS)
    own = tuple(CaptureSettings(Vantage("member", ADDRESS[name], "given")) for name, _ in captures)
    found = [row for out in stage.replay([batch], ReplaySettings(own)) for row in out.to_pylist()]
    return [row | {"detail": json.loads(row["detail"])} for row in found]


def of_streams(told: Sequence[Told]) -> dict[int, EndsDetail]:
    """The rows of both ends, by conn_id."""
    return {
        row["detail"]["conn_id"]: row["detail"]
        for row in told
        if row["kind"] == BOTH_ENDS and row["detail"]["sender"] == A
    }


def ahead(events: Sequence[Event], by_ns: int = AHEAD, per_ns: float = 0.0) -> list[Event]:
    """The same on a clock that is ahead and goes wrong."""

    def shown(at_ns: int) -> int:
        return at_ns + by_ns + int(at_ns * per_ns)

    return [
        replace(event, at_ns=shown(event.at_ns), last_at_ns=shown(event.last_at_ns))
        for event in events
    ]


def exact(events: Sequence[Event]) -> list[Event]:
    """The same on a clock that does not tick, as the model's does every millisecond."""

    def shown(at_ns: int) -> int:
        return at_ns + at_ns // MS * 7919 % 1000

    return [
        replace(event, at_ns=shown(event.at_ns), last_at_ns=shown(event.last_at_ns))
        for event in events
    ]


plans = st.builds(
    Plan,
    seed=st.integers(0, 2**32),
    sends=st.lists(st.integers(0, 12_000), min_size=1, max_size=40).map(sorted).map(tuple),
    loss=st.sampled_from([0.0, 0.05, 0.2, 0.4]),
    duplication=st.sampled_from([0.0, 0.1]),
    spread=st.sampled_from([0, 5, 40, 700]),
    drops=st.lists(st.integers(500, 14_000), max_size=2).map(sorted).map(tuple),
)


# 3 comes to a receiver that has forgotten the connection; then 4, which had been sent again before
@example(Plan(4261690, (0, 921, 5360, 8860, 9860), loss=0.4, spread=0, drops=(2362,)), 0, 0.0)
@settings(max_examples=30)
@given(plans, st.integers(-(10**15), 10**15), st.sampled_from([0.0, 0.0004, -0.0004]))
def test_copies_sent_after_the_arrival_are_those_of_the_model(
    plan: Plan, by_ns: int, drift: float
) -> None:
    world = World(plan).play()
    told = together(world.at_a, ahead(world.at_b, by_ns, drift))
    true = world.truth.sent_after_arrival
    end_ns = 10**16
    for conn_id, row in of_streams(told).items():
        count, why = settled(row, -(10**16), end_ns)
        assert row["after"] <= true[conn_id]
        assert count in (None, true[conn_id])
        assert (count is None) == (why is not None)


def test_a_part_of_a_part_of_a_run_has_no_moment_of_its_own() -> None:
    """2 to 4 of a run 1 to 5; of 2 alone neither the begin nor the end of the run is the moment."""
    run = passages.NumberRun(1, 6, 10, 12, 1_000, 9_000, 11, 15)
    inner = run.narrowed(2, 5)
    assert inner.narrowed(2, 3)[4:6] == inner.narrowed(4, 5)[4:6] == (1_000, 9_000)
    assert run.narrowed(1, 4).narrowed(1, 2)[4:] == (1_000, 1_000, 11, 11)
    assert run.narrowed(3, 6).narrowed(5, 6)[4:] == (9_000, 9_000, 15, 15)


def test_few_are_left_open() -> None:
    """On a path of 2 ms, as the model's is; of a resend in the middle of a run only the times of
    the run are known."""
    open_ = decided = 0
    for seed in range(60):
        plan = Plan(seed, tuple(range(0, 6000, 150)), loss=0.25, drops=(3000,))
        world = World(plan).play()
        both = exact(world.at_a), ahead(exact(world.at_b))
        for row in of_streams(together(*both)).values():
            assert row["copies_sent"]
            count, _ = settled(row, 0, 10**16)
            open_ += count is None
            decided += count is not None
    assert decided > 45
    assert open_ * 5 < decided


@settings(max_examples=20)
@given(plans)
def test_the_order_of_the_captures_does_not_matter(plan: Plan) -> None:
    world = World(plan).play()
    at_b = ahead(world.at_b)

    def without_numbers(rows: dict[int, EndsDetail]) -> dict[int, Told]:
        numbers = ("sender_capture", "receiver_capture")
        return {
            conn: {k: v for k, v in row.items() if k not in numbers} for conn, row in rows.items()
        }

    one = of_streams(together(world.at_a, at_b))
    other = of_streams(together(world.at_a, at_b, swapped=True))
    assert without_numbers(one) == without_numbers(other)
    assert all((r["sender_capture"], r["receiver_capture"]) == (0, 1) for r in one.values())
    assert all((r["sender_capture"], r["receiver_capture"]) == (1, 0) for r in other.values())


def story(resend_ms: int = 600) -> tuple[list[Event], list[Event]]:
    """1-3 are sent and arrive, 3 is sent again; 5 ms later each way."""
    sent = dated(
        [data(1, ip_id=11), data(2, ip_id=12), data(3, ip_id=13), resend_ms,
         data(3, ip_id=14), 20, ack(3, 1)]
    )  # fmt: skip
    came = dated(
        [5, data(1, ip_id=11), data(2, ip_id=12), data(3, ip_id=13), resend_ms,
         data(3, ip_id=14), 10, ack(3, 1)]
    )  # fmt: skip
    return sent, ahead(came)


def test_a_resend_of_what_had_arrived_is_proven_with_its_frames() -> None:
    sent, came = story()
    told = together(sent, came)
    row = of_streams(told)[1]
    assert settled(row, 0, 10**16) == (1, None)
    assert (row["copies_sent"], row["after_seqnos"]) == (1, [[3, 3]])
    (example,) = row["examples"]
    assert (example["seqno"], example["copy"]["frame"]) == (3, 4)
    assert example["arrival"] is not None
    assert example["arrival"]["frame"] == 3  # 2-3 came as one run, which ended there
    (found,) = [r for r in told if r["rule"] == "UC043" and r["kind"] == "FINDING"]
    assert (found["capture"], found["detail"]["certainty"]) == (0, "proven")
    assert [(e["frame"]) for e in found["detail"]["evidence"]] == [4]
    below, above = row["clock_offset_ns"] or (None, None)
    assert below is not None and above is not None
    assert below <= AHEAD <= above
    assert above - below < 20 * MS


def test_of_members_that_followed_each_other_at_a_host_each_is_at_its_streams_end() -> None:
    sent, came = story()
    last = came[-1]
    takes_over = replace(
        join_req(by=C, to=A), frame=last.frame + 1, at_ns=last.at_ns + MS, last_at_ns=-1
    )
    again = replace(member(C), frame=last.frame + 1, at_ns=takes_over.at_ns)
    at_b = replace(again, detail=json.dumps({"address": f"{ADDRESS[B]}:7800"}))
    row = of_streams(together(sent, [*came, at_b, takes_over]))[1]
    assert (row["receiver"], settled(row, 0, 10**16)) == (B, (1, None))


def test_the_rule_is_judged_where_both_ends_are_and_only_there() -> None:
    sent, came = story()

    def judged(told: Sequence[Told]) -> list[tuple[int, str | None]]:
        """Capture, and why not."""
        places = [(row["capture"], row["detail"]) for row in told if row["kind"] == "JUDGED"]
        return [
            (capture, why)
            for capture, detail in places
            for why, rules in [(None, detail["judged"]), *detail["not_judged"].items()]
            if "UC043" in rules
        ]

    assert judged(together(sent, came)) == [(0, None), (1, None)]
    other = [e for e in came if e.source == "nobody"]
    assert judged(together(sent, other)) == [(0, "the capture at the other end is not given")]


def test_a_resend_whose_arrival_is_the_first_is_none() -> None:
    sent, came = story()
    lost = [e for e in came if e.fresh_id != 13]
    assert settled(of_streams(together(sent, lost))[1], 0, 10**16) == (0, None)


def test_a_resend_that_never_came_needs_a_capture_that_goes_on() -> None:
    sent, came = story()
    later = [*sent, *ahead(dated([data(4, ip_id=15), 700, data(4, ip_id=16)]), 2000 * MS)]
    row = of_streams(together(later, came))[1]
    end_ns = came[-1].at_ns
    assert settled(row, 0, end_ns)[0] is None
    assert settled(row, 0, end_ns + 5000 * MS) == (1, None)
    (found,) = [r for r in together(later, came) if (r["kind"], r["rule"]) == ("FINDING", "UC043")]
    assert found["detail"]["text"].startswith("At least {count:copy}")


def test_a_capture_that_begins_late_may_have_missed_the_arrival() -> None:
    sent, came = story()
    lost = [e for e in came if e.fresh_id != 13]
    row = of_streams(together(sent, lost))[1]
    assert settled(row, came[0].at_ns - 20 * MS, 10**16) == (0, None)
    assert settled(row, came[0].at_ns + 10 * MS, 10**16) == (None, BEGINS_LATE)


def test_without_datagrams_of_both_ways_the_clocks_cannot_be_compared() -> None:
    sent, came = story()
    row = of_streams(together([e for e in sent if e.source == A], came))[1]
    assert settled(row, 0, 10**16) == (None, NO_MATCH.format("receiver", "sender"))
    unmarked = [replace(e, fresh_id=None, last_fresh_id=None) for e in came if e.source == A]
    row = of_streams(together(sent, [*unmarked, came[-1]]))[1]
    assert settled(row, 0, 10**16) == (None, NO_MATCH.format("sender", "receiver"))


def test_a_clock_that_was_set_says_nothing() -> None:
    sent, came = story()
    moved = [replace(e, at_ns=e.at_ns + 90_000 * MS, last_at_ns=-1) for e in came[-1:]]
    row = of_streams(together(sent, [*came[:-1], *moved]))[1]
    assert settled(row, 0, 10**16) == (None, CLOCK_SET)


def test_too_much_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, came = story()
    monkeypatch.setattr(passages, "MAX_ROWS", 1)
    for swapped in (False, True):
        row = of_streams(together(sent, came, swapped=swapped))[1]
        assert settled(row, 0, 10**16) == (None, TOO_MUCH)


def test_copies_in_a_burst_are_known_by_their_ip_ids() -> None:
    """Four copies leave within 9 ms, on a path whose round trip is as long."""
    asked = request(5, 6, 7, 8)
    burst = [
        replace(data(5, 8), fresh_id=21, last_fresh_id=24, last_frame=5, last_at_ns=0),
    ]

    def at(events: list[Event], start_ms: int, wide_ms: int) -> list[Event]:
        return [
            replace(e, at_ns=start_ms * MS, last_at_ns=(start_ms + wide_ms) * MS) for e in events
        ]

    first = [
        replace(data(1, 9), fresh_id=1, last_fresh_id=9, flags=data(1).flags, last_frame=1),
    ]
    sent = [*at(first, 0, 9), *at([asked], 1020, 0), *at(burst, 1021, 9), *at([ack(9, 2)], 1100, 0)]
    came = [
        *at([replace(data(1, 4), fresh_id=1, last_fresh_id=4, flags=data(1).flags)], 5, 3),
        *at([replace(data(9), fresh_id=9, last_fresh_id=9)], 14, 0),
        *at([asked], 1015, 0), *at(burst, 1026, 9), *at([ack(9, 2)], 1090, 0),
    ]  # fmt: skip
    row = of_streams(together(sent, came))[1]
    assert settled(row, -100 * MS, 10**16) == (0, None)
    unmarked = [
        replace(e, fresh_id=None, last_fresh_id=None) if e.fresh_id == 21 else e for e in came
    ]
    row = of_streams(together(sent, unmarked))[1]
    assert (settled(row, -100 * MS, 10**16)[0], row["undecided"]) == (None, 4)


# -- clocks ----------------------------------------------------------------------------------------

moments = st.lists(st.tuples(st.integers(0, 10**10), st.integers(-(10**6), 10**6)), max_size=12)


@given(moments, st.lists(st.integers(-(10**9), 2 * 10**10), max_size=5))
def test_a_bound_is_the_least_of_all_with_their_drift(
    taken: list[tuple[int, int]], asked: list[int]
) -> None:
    bound = Bound(taken)
    for at in asked:
        naive = [value + -(-abs(at - when) // DRIFT) for when, value in taken]
        said = bound.at(at)
        assert (said is None) == (not naive)
        if said is not None:  # each step of a sum is rounded up by itself
            assert min(naive) <= said <= min(naive) + len(taken) + 1


def test_offsets_are_bounded_by_both_ways() -> None:
    both = Clocks(out=[(1000, 1300)], back=[(2250, 2000)])
    assert both.at(1000) == Offset(250 - 1, 300)
    assert Clocks(out=[(0, 5)], back=[]).at(0) == Offset(None, 5)
    assert Clocks(out=[(0, 5)], back=[(-7, 0)]).at(0) == Offset(-7, 5)
    assert Clocks(out=[(0, 5)], back=[(9, 0)]).at(0) is None


def test_a_clock_that_ticks_tells_less() -> None:
    """Recorded: of one that ticked every 10 ms, copies seemed to be sent after their arrival."""
    sent = range(0, 3000 * MS, 30_000_001)  # the other clock is 0.5 s ahead, the path takes 1 ms
    out = [(at, at + 501 * MS) for at in sent]
    back = [(at + 505 * MS, at + 6 * MS) for at in sent]
    fine = Clocks(out, back).at(1000 * MS)
    assert fine is not None and fine.below is not None and fine.above is not None
    assert fine.below <= 500 * MS <= fine.above < fine.below + 3 * MS
    floored = [(s, r // (10 * MS) * 10 * MS) for s, r in out]
    coarse = Clocks(floored, [(r // (10 * MS) * 10 * MS, s) for r, s in back]).at(1000 * MS)
    assert coarse is not None and coarse.below is not None and coarse.above is not None
    # a time of the one is a time of the other less up to one tick
    assert coarse.below <= 490 * MS <= 500 * MS <= coarse.above
    assert coarse.above - coarse.below < 70 * MS  # a tick of each, and times that were floored
    assert tick_ns([5, 20_005, 5, 40_005]) == 20_000
    assert tick_ns([5, 20_005, 40_005]) == 0  # too few to tell
    assert tick_ns([5, 1005, 5, 3005]) == 0  # less than any path takes
    assert tick_ns([7, 7, 7]) == 0


def test_too_many_sightings_keep_the_same_datagrams_at_both_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocks, "MAX_SEEN", 64)
    here, there = Sightings(), Sightings()
    for number in range(5000):
        here.saw((1, number), number)
    for number in range(4000, 0, -1):
        there.saw((1, number), number + 7)
    common = here.common(there)
    assert 10 < len(common) <= 64
    assert all(b - a == 7 for a, b in common)
    here.saw((1, common[0][0]), 9999)  # a second time: it tells nothing any more
    assert len(here.common(there)) == len(common) - 1
