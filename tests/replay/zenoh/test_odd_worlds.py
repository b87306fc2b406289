"""Odd worlds, whole and spoiled: what is called proven of either end's capture is so
(replay/README.md 3).
"""

import random

import pytest

from seqaudit.replay.contract.results import FINDING
from seqaudit.replay.contract.settings import Vantage
from tests.replay.zenoh.odd_worlds import odd_world, refuted
from tests.replay.zenoh.test_engine import AT_SUBSCRIBER
from tests.replay.zenoh.test_spoiled_world import spoil

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
            _, results = session.played(vantage)
            assert list(refuted(found, results)) == [], (seed, number, vantage, how)
            proven += sum(r.kind == FINDING and r.detail["certainty"] == "proven" for r in results)
    assert proven > WORLDS // 4  # it would be no use if nothing ever were
