"""What is proven, and told in figures, of a spoiled capture of the model's world is true of it.

The ways of ``tests.degraded`` that need no bytes, on the events of one end's capture: recordings
show few kinds of trouble, a world any number of them.
"""

from random import Random
from typing import Any, Final

import pytest

from seqaudit.replay.contract.results import STREAM, Result
from tests.replay.builders import MS, A, B
from tests.replay.jgroups.spoiling import (
    BEGIN_NS,
    SPARSE,
    WAYS,
    Events,
    figures_hold,
    spoiled,
    standing,
    worlds,
)
from tests.replay.jgroups.unicast.test_model import PROVEN, audited
from tests.replay.jgroups.unicast.world import Plan, World

WORLDS: Final = 100


def plan(seed: int) -> Plan:
    """Few and many messages, good and bad paths, lost windows, connections one after the other."""
    of = Random(seed)

    def times(count: int, first: int, stop: int) -> tuple[int, ...]:
        return tuple(sorted(of.randrange(first, stop) for _ in range(count)))

    return Plan(
        seed=of.randrange(2**32),
        sends=times(of.choice((5, 15, 40)), 0, 12_000),
        loss=of.choice((0.0, 0.05, 0.2, 0.4)),
        duplication=of.choice((0.0, 0.1)),
        spread=of.choice((0, 5, 40, 700)),
        drops=times(of.choice((0, 0, 1, 2)), 500, 14_000),
        closes=times(of.choice((0, 0, 1, 3)), 500, 14_000),
        pauses=tuple(
            (begin, begin + of.choice((30, 300, 3_000)))
            for begin in times(of.choice((0, 0, 1, 3)), 500, 12_000)
        ),
    )


def true(point: str, row: Any, world: World, events: Events) -> bool:
    """Is it so? What no copy is in the capture of had not come when it was asked for last."""
    if row.rule in ("UC010", "UC011", "UC033"):
        shown = row.detail["evidence"]
        asked = max(e["frame"] for e in shown if e["shows"].endswith(("asked for", "request")))
        by_ms = (events[asked - 1].at_ns - BEGIN_NS) // MS
        came = world.came.get(int(row.stream.rpartition("|")[2]), {})
        return all(
            came.get(seqno, by_ms) >= by_ms or world.truth.windows_lost
            for first, last in row.detail["seqnos"]
            for seqno in range(first, last + 1)
        )
    if (row.rule in ("UC001", "CP007") and point == B) or row.rule == "UC048":
        conn = int(row.stream.rpartition("|")[2])
        told = {n for first, last in row.detail["seqnos"] for n in range(first, last + 1)}
        so = world.truth.arrived if row.rule == "CP007" else world.truth.lacked
        return {(conn, n) for n in told} <= so
    if (point, row.rule) == (B, "UC003"):  # lost, or late
        came = world.came[int(row.stream.rpartition("|")[2])]
        if came[1] > min(came.values()):
            return True
    return (point, row.rule) in PROVEN and PROVEN[point, row.rule](world.truth)


def figures_are_true(row: Result, world: World) -> bool:
    """Of a stream at its receiver; what it asked for in vain as a new window it had had."""
    conn, truth = row.detail["conn_id"], world.truth
    lost = {n for of, n in truth.first_copy_lost | truth.lacked if of == conn}
    return figures_hold(row, lost, [n for of, n in truth.delivered if of == conn])


@pytest.mark.parametrize("way", WAYS)
def test_what_is_proven_of_a_spoiled_capture_is_true(way: str) -> None:
    found = 0
    for seed in worlds(way, WORLDS):
        world = World(plan(seed)).play()
        if world.truth.silent_reopenings or world.truth.quick_losses:
            continue  # see test_model
        for point, captured in ((A, world.at_a), (B, world.at_b)):
            events = spoiled(captured, way, seed)
            results = audited(point, events).results
            for row in results if point == B else ():
                if row.kind == STREAM and row.detail["conn_id"] is not None:
                    assert figures_are_true(row, world), (seed, row.detail)
            for row in standing(results, way):
                found += 1
                if way == "twice" and row.rule == "UC029":
                    continue  # it says: or from the capturing machine
                assert true(point, row, world, events), (seed, point, row.rule, row.detail)
    assert found > (0 if way in SPARSE else len(worlds(way, WORLDS)))
