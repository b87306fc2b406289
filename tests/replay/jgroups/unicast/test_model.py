"""The auditor against a model: whatever it calls proven is true, and few *likely* ones are false.

Sender and receiver of ``unicast_world`` talk over a path that loses, duplicates and reorders; the
auditor sees one end's capture only.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import STREAM
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.jgroups.unicast.engine import UnicastEngine
from tests.replay.builders import ADDRESS, CLUSTER, A, B
from tests.replay.jgroups.unicast.builders import Heard, member
from tests.replay.jgroups.unicast.world import TICK, Plan, Truth, World

times = st.lists(st.integers(0, 12_000), min_size=1, max_size=40).map(sorted).map(tuple)
few_times = st.lists(st.integers(500, 14_000), max_size=2).map(sorted).map(tuple)
plans = st.builds(
    Plan,
    seed=st.integers(0, 2**32),
    sends=times,
    loss=st.sampled_from([0.0, 0.05, 0.2, 0.4]),
    duplication=st.sampled_from([0.0, 0.1]),
    spread=st.sampled_from([0, 5, 40, 700]),
    drops=few_times,
    closes=few_times,
)


def audited(point: str, events: list[Event], **given_parameters: int | str) -> Heard:
    """What the engine says about one end's capture."""
    parameters: Any = {f"unicast.{k}": (v, "given") for k, v in given_parameters.items()}
    vantage = Vantage("member", ADDRESS[point], "given")
    engine = UnicastEngine(f"unicast|{CLUSTER}", parameters, vantage)
    for name in (A, B):
        engine.feed(member(name))
    for event in events:
        engine.feed(event)
    engine.close()
    return Heard(engine, events[-1].at_ns if events else 0)


def numbered(rows: Sequence[Mapping[str, Any]], figure: str) -> list[tuple[int, int]]:
    """(conn_id, seqno) of inclusive ranges in the streams' summaries, in order."""
    return [
        (row["conn_id"], seqno)
        for row in rows
        for first, last in row[figure] or ()
        for seqno in range(first, last + 1)
    ]


def streams(heard: Heard) -> list[Mapping[str, Any]]:
    """The summaries, oldest connection first."""
    return sorted((r.detail for r in heard.results if r.kind == STREAM), key=lambda r: r["conn_id"])


@settings(max_examples=30)
@given(plans)
def test_the_model_delivers_everything_once_per_window(plan: Plan) -> None:
    truth = World(plan).play().truth
    assume(not truth.silent_reopenings)  # see the last test
    if not plan.drops:
        assert sorted(truth.delivered) == sorted(truth.sent)
    # a window that is lost with undelivered messages in it costs no message in the end
    assert set(truth.delivered) == set(truth.sent)


@settings(max_examples=60)
@given(plans)
def test_at_the_receiver_what_is_proven_is_true(plan: Plan) -> None:
    world = World(plan).play()
    truth = world.truth
    assume(not truth.silent_reopenings)  # on the wire it looks like a duplicate of seqno 1
    assume(not truth.quick_losses)  # looks like a SEND_FIRST_SEQNO that had been on its way
    heard = audited(B, world.at_b)
    rows = streams(heard)
    assert numbered(rows, "delivered") == by_connection(truth.delivered)
    assert set(numbered(rows, "lost_seqnos")) <= truth.first_copy_lost
    assert numbered(rows, "unrecovered_seqnos") == []
    assert sum(row["redelivered"] for row in rows) == truth.redelivered()
    found = dict(heard.findings())
    assert truth.windows_lost or "UC015" not in found
    assert not {"UC002", "UC009", "UC010", "UC034", "UC035", "CP007"} & found.keys()
    if found.get("UC003") == "proven":
        assert any(seqno == 1 for _, seqno in truth.first_copy_lost) or truth.windows_lost


def by_connection(delivered: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Deliveries ordered by connection, as summaries list them."""
    return sorted(delivered, key=lambda pair: pair[0])


@settings(max_examples=60)
@given(plans)
def test_at_the_sender_every_copy_is_explained(plan: Plan) -> None:
    world = World(plan).play()
    heard = audited(A, world.at_a)
    told: Counter[str] = Counter()
    for row in streams(heard):
        told.update({name: n for name, n in row["resends"].items() if n})
    assert sum(told.values()) == sum(world.truth.reasons.values())
    assert told["unexplained"] == 0
    found = dict(heard.findings())
    wrong = {"UC005", "UC009", "UC014", "UC016", "UC017", "UC019", "UC031"}
    if not world.truth.silent_reopenings:
        wrong |= {"UC010", "UC011"}
    assert not wrong & found.keys()
    if "UC015" in found:
        assert world.truth.windows_lost


@settings(max_examples=30)
@given(plans)
def test_requests_of_a_correct_sender_never_look_like_a_purge(plan: Plan) -> None:
    truth = World(plan).play().truth
    assert truth.purged == set()


def faulty(seed: int) -> World:
    """B loses its window while ACKs are slow: the ACKs are stale when they come (JGRP-1875)."""
    sends = tuple(range(0, 300, 25)) + tuple(range(2500, 3000, 50))
    plan = Plan(seed, sends, spread=2500, drops=(1900,), obeys_timestamps=False)
    return World(plan).play()


@pytest.mark.parametrize("seed", range(30))
def test_a_sender_that_obeys_stale_acks_is_found_out(seed: int) -> None:
    world = faulty(seed)
    found = dict(audited(A, world.at_a).findings())
    if not world.truth.purged:
        assert "UC009" not in found
    if set(world.truth.delivered) >= set(world.truth.sent):
        assert "UC011" not in found


def test_timestamps_do_not_help_where_an_old_answer_opens_a_lost_window() -> None:
    """A hole that the timestamps leave, and that the auditor finds.

    B asks for the first message and gets the original; its answer is still on the way when B, which
    has acknowledged 1-2 by then, loses the window. The answer opens a window at 1, without any
    SEND_FIRST_SEQNO; A has purged 2, and B asks for it for ever.
    """
    plan = Plan(168, (154, 339, 546), spread=700, drops=(545,))
    world = World(plan).play()
    assert world.truth.silent_reopenings == 1
    assert (0, 3) not in world.truth.delivered
    at_sender = dict(audited(A, world.at_a).findings())
    assert (at_sender["UC010"], at_sender["UC011"]) == ("likely", "proven")


#: Findings that are *likely* at one end, and what makes them true.
LIKELY: Final[Mapping[tuple[str, str], Callable[[World], bool]]] = {
    (A, "UC003"): lambda world: (
        bool(world.truth.first_copy_lost) or world.plan.spread > 5 or bool(world.plan.drops)
    ),
    (B, "UC006"): lambda world: world.truth.acks_lost > 0 or world.plan.spread > 5,
    (B, "UC014"): lambda world: world.plan.loss > 0 or bool(world.plan.drops),
    (B, "UC018"): lambda world: False,
    (A, "UC019"): lambda world: False,
    (B, "UC021"): lambda world: bool(world.plan.closes),
    (B, "UC027"): lambda world: False,
    (A, "UC027"): lambda world: False,
}


#: Findings that are *proven* at one end, and what makes them true. Any other is false.
PROVEN: Final[Mapping[tuple[str, str], Callable[[Truth], bool]]] = {
    (A, "UC005"): lambda truth: truth.sent_after_arrival.total() > 0,
    (A, "UC007"): lambda truth: truth.happened["ACK that is not newer"] > 0,
    (A, "UC008"): lambda truth: (
        truth.happened["ACK that is not newer"] > 0 and truth.windows_lost > 0
    ),
    (A, "UC012"): lambda truth: truth.happened["SEND_FIRST_SEQNO came"] > 0,
    (A, "UC015"): lambda truth: truth.windows_lost > 0,
    (A, "UC020"): lambda truth: truth.happened["CLOSE sent"] > 0,
    (A, "UC022"): lambda truth: any(conn > 0 for conn, _ in truth.sent),
    (A, "UC038"): lambda truth: truth.happened["ACK of another connection"] > 0,
    (A, "UC048"): lambda truth: bool(truth.lacked),
    (B, "UC001"): lambda truth: bool(truth.first_copy_lost),
    (B, "UC003"): lambda truth: (
        any(seqno == 1 for _, seqno in truth.first_copy_lost) or truth.windows_lost > 0
    ),
    (B, "UC005"): lambda truth: truth.happened["copy of what had come"] > 0,
    (B, "UC012"): lambda truth: truth.happened["SEND_FIRST_SEQNO sent"] > 0,
    (B, "UC015"): lambda truth: truth.windows_lost > 0,
    (B, "UC020"): lambda truth: truth.happened["CLOSE came"] > 0,
    (B, "UC022"): lambda truth: len({conn for conn, _ in truth.arrived}) > 1,
    (B, "UC023"): lambda truth: truth.redelivered() > 0,
    (B, "UC029"): lambda truth: truth.happened["network duplicate"] > 0,
    (B, "UC030"): lambda truth: truth.happened["after a later one"] > 0,
    (B, "UC045"): lambda truth: truth.happened["copy of what had come"] > 5,
    (B, "UC046"): lambda truth: truth.longest_gap > 4 * TICK,
}


@settings(max_examples=75)
@given(plans)
def test_every_proven_finding_is_true(plan: Plan) -> None:
    world = World(plan).play()
    assume(not world.truth.silent_reopenings)  # the sender's purge is judged by its own test
    assume(not world.truth.quick_losses)
    for point, events in ((A, world.at_a), (B, world.at_b)):
        for rule, certainty in audited(point, events).findings():
            if certainty == "proven":
                assert (point, rule) in PROVEN, rule
                assert PROVEN[point, rule](world.truth), rule


def test_fewer_than_one_in_a_hundred_likely_findings_are_false() -> None:
    true = false = 0
    for seed in range(100):
        plan = Plan(
            seed,
            tuple(sorted((seed * 7919 + n * 104_729) % 9000 for n in range(30))),
            loss=(0.0, 0.1, 0.3)[seed % 3],
            spread=(0, 40)[seed // 3 % 2],
            drops=(4000,) if seed % 5 == 0 else (),
            closes=(6000, 9500) if seed % 4 == 0 else (),
        )
        world = World(plan).play()
        for point, events in ((A, world.at_a), (B, world.at_b)):
            for rule, certainty in audited(point, events).findings():
                if certainty == "likely":
                    judge = LIKELY.get((point, rule))
                    proof = PROVEN.get((point, rule))
                    if judge is None and proof is not None:
                        judge = lambda world, proof=proof: proof(world.truth)  # noqa: E731
                    if judge is None or not judge(world):
                        false += 1
                    else:
                        true += 1
    assert true > 25
    assert false * 100 < true + false
