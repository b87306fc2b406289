"""Odd worlds, whole and spoiled: what is called proven of either end's capture is so
(replay/README.md 3).
"""

import random
from collections import defaultdict

import pytest

from seqaudit.replay.contract.results import FINDING, STREAM, Row
from seqaudit.replay.contract.settings import Vantage
from tests.replay.zenoh.odd_worlds import OddWorld, odd_world, refuted
from tests.replay.zenoh.test_engine import AT_SUBSCRIBER
from tests.replay.zenoh.test_spoiled_world import as_reported, spoil

AT_PUBLISHER = Vantage("member", "10.77.0.1", "given", "")
WORLDS = 20


@pytest.mark.parametrize("seed", range(3))
def test_what_is_proven_of_odd_worlds_is_so(seed: int) -> None:
    proven = 0
    for number in range(WORLDS):
        for vantage in (AT_SUBSCRIBER, AT_PUBLISHER):
            rng = random.Random(f"{seed} {number}")
            found = odd_world(rng)
            here = vantage is AT_SUBSCRIBER
            session = found.at_subscriber if here else found.at_publisher
            how = spoil(session, rng)
            results = as_reported(session.played(vantage)[1], how)
            assert list(refuted(found, results)) == [], (seed, number, vantage, how)
            proven += sum(r.kind == FINDING and r.detail["certainty"] == "proven" for r in results)
    assert proven > WORLDS // 4  # it would be no use if nothing ever were


def differing(found: OddWorld, rows: list[Row]) -> tuple[int, list[str]]:
    """Of machines that are alone at their key expression and lived once: how many streams are
    equal to what they had and missed, and which differ. Null is neither."""
    by_subscriber = defaultdict(list)
    for row in rows:
        if row["kind"] == "samples" and row["subscriber"] and not row.get("subscribers"):
            by_subscriber[row["source"], row["subscriber"]].append(row)
    equal, wrong = 0, []
    for (source, key), own in by_subscriber.items():
        machines = [machine for machine in found.everyone if machine.key == key]
        if len(own) > 1 or len(machines) > 1 or own[0]["delivered"] is None:
            continue
        state = machines[0].state(int(source.partition("/")[2]))
        had = [sn for first, last in own[0]["delivered"] for sn in range(first, last + 1)]
        told = [(miss["seqnos"][0][0], miss["nb"]) for miss in own[0]["misses"]]
        if (had, told) == (sorted(state.out), [(a, b - a) for a, b, _ in state.misses]):
            equal += 1
        else:
            wrong.append(f"{source} {key}: {had} {told}")
    return equal, wrong


@pytest.mark.parametrize("seed", range(3))
def test_figures_of_whole_odd_worlds_are_what_was_had_or_null(seed: int) -> None:
    equal = 0
    for number in range(WORLDS):
        found = odd_world(random.Random(f"figures {seed} {number}"))
        _, results = found.at_subscriber.played(AT_SUBSCRIBER)
        same, wrong = differing(found, [dict(r.detail) for r in results if r.kind == STREAM])
        assert wrong == [], (seed, number)
        equal += same
    assert equal > WORLDS // 2
