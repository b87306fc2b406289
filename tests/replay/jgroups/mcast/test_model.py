"""The auditor against a world of multicasts: what it calls proven is true, however spoiled."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Final

import pytest

from seqaudit.replay.contract.results import FINDING, STREAM, Result
from tests.replay.builders import ADDRESS, Heard, engine_at, member
from tests.replay.jgroups.mcast.world import MEMBERS, Plan, Truth, Way, World
from tests.replay.jgroups.spoiling import (
    BEGIN_NS,
    SPARSE,
    WAYS,
    Events,
    figures_hold,
    numbers,
    spoiled,
    standing,
    worlds,
)

WORLDS: Final = 70
#: What each proven finding says of its seqnos.
TRUE: Final[Mapping[str, str]] = {
    "CP007": "delivered",
    "MC001": "lacked",
    "MC003": "lacked",
    "MC004": "copies",
    "MC005": "discarded",
    "MC010": "doubled",
    "MC011": "overtaken",
    "MC014": "lacked",
    "MC024": "lacked",
}


def plan(seed: int) -> Plan:
    """Few and many messages, good and bad paths and members, repairs to one and to all."""
    of = Random(seed)
    return Plan(
        seed=of.randrange(2**32),
        sends=tuple(sorted(of.randrange(12_000) for _ in range(of.choice((5, 15, 40))))),
        loss=of.choice((0.0, 0.05, 0.2, 0.4)),
        discard=of.choice((0.0, 0.0, 0.1)),
        duplication=of.choice((0.0, 0.1)),
        spread=of.choice((0, 5, 40, 700)),
        multicast_repairs=of.random() < 0.5,
        joins=of.choice((0, 0, 3_000, 8_000)),
        early=of.choice((400, 5_000)),
        pauses=tuple(
            (of.choice(MEMBERS), begin, begin + of.choice((30, 300, 3_000)))
            for begin in (of.randrange(12_000) for _ in range(of.choice((0, 0, 1, 3))))
        ),
    )


def audited(point: str, events: Events) -> Heard:
    engine = engine_at(point)
    for name in ADDRESS:
        engine.feed(replace(member(name), at_ns=BEGIN_NS - 10**9))
    for event in events:
        engine.feed(event)
    engine.close()
    return Heard(engine, events[-1].at_ns if events else 0)


def true(point: str, row: Result, truth: Truth) -> bool:
    asker = row.detail["facts"].get("asker_member", point)
    way: Way = (str(row.stream).rpartition("|")[2], asker)
    told = {n for first, last in row.detail["seqnos"] for n in range(first, last + 1)}
    return told <= set(getattr(truth, TRUE[str(row.rule)])[way])


def figures_are_true(point: str, row: Result, truth: Truth) -> bool:
    way: Way = (str(row.stream).rpartition("|")[2], point)
    lost = truth.lost[way] | truth.discarded[way] | truth.lacked[way]
    return figures_hold(row, lost, truth.delivered[way])


@pytest.mark.parametrize("seed", range(WORLDS))
def test_the_world_delivers_everything_in_order_and_the_auditor_says_so(seed: int) -> None:
    world = World(plan(seed)).play()
    truth = world.truth
    for point in MEMBERS:
        for row in audited(point, spoiled(world.at[point], "whole", seed)).results:
            if row.kind == FINDING:
                assert row.rule != "CP007", "the capture holds everything"
            way: Way = (str(row.stream).rpartition("|")[2], point)
            if row.kind != STREAM or way[0] == point:
                continue
            base = truth.base[way]
            assert truth.delivered[way] == list(range(base + 1, world.sent[way[0]] + 1))
            if row.detail["delivered"] is not None:
                assert numbers(row.detail["delivered"]) == truth.delivered[way]
            lost = truth.lost[way] | truth.discarded[way] | truth.lacked[way]
            assert set(numbers(row.detail["lost_seqnos"])) <= lost


@pytest.mark.parametrize("way", WAYS)
def test_what_is_proven_of_a_capture_is_true(way: str) -> None:
    found = 0
    for seed in worlds(way, WORLDS):
        world = World(plan(seed)).play()
        for point in MEMBERS:
            events = spoiled(world.at[point], way, seed)
            results = audited(point, events).results
            for row in results:
                if row.kind == STREAM and row.detail["role"] == "receiver":
                    assert figures_are_true(point, row, world.truth), (seed, point, row.detail)
            for row in standing(results, way):
                if row.rule == "MC009" or (way == "twice" and row.rule == "MC010"):
                    continue  # views; came twice, or was captured so
                found += 1
                assert true(point, row, world.truth), (seed, point, row.rule, row.detail)
    assert found > (0 if way in SPARSE else len(worlds(way, WORLDS)))
