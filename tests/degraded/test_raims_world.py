"""raims daemons by a model of their own: what is proven of them is so, whatever a capture lacks."""

import pytest

from tests.degraded.raims_tcp_world import TOPOLOGIES, TcpWorld
from tests.degraded.raims_world import World, spoiled
from tests.degraded.ways import WAYS

#: Worlds with losses, restarts and packets that are dropped inside, of few frames.
SEEDS = (1, 11)
_QUICK = ("whole", "head", "single", "burst", "drop-5", "bits-10", "step", "twice")


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_false_is_proven_of_a_world_of_raims(seed: int) -> None:
    ways = tuple(way for way in WAYS if way.name in _QUICK)
    assert len(ways) == len(_QUICK)
    assert list(spoiled(seed, ways, 1)) == []


#: Worlds in which the daemon starts again, is paused, or a sender can repair little.
SHAPED = (6, 21, 30)


@pytest.mark.parametrize("seed", SHAPED)
def test_nor_of_one_of_odd_shape(seed: int) -> None:
    ways = tuple(way for way in WAYS if way.name in ("whole", "head", "drop-5"))
    assert list(spoiled(seed, ways, 1, shaped=True)) == []


def test_these_worlds_hold_what_they_are_for() -> None:
    worlds = [World(seed) for seed in SEEDS]
    for world in worlds:
        world.run()
    truths = [world.truth for world in worlds]
    assert any(truth.again for truth in truths)
    for kind in ("lacked", "given_up", "inside", "lost"):
        assert any(any(getattr(truth, kind).values()) for truth in truths)


#: Worlds of each topology.
JOINED = (1, 4, 6, 14, 16)


@pytest.mark.parametrize("seed", JOINED)
def test_nor_of_daemons_that_are_joined_by_tcp(seed: int) -> None:
    ways = tuple(way for way in WAYS if way.name in ("whole", "head", "single", "drop-5"))
    assert list(spoiled(seed, ways, 1, made_as=TcpWorld)) == []


def test_these_worlds_are_of_all_topologies_and_lose_messages() -> None:
    worlds = [TcpWorld(seed) for seed in range(1, 20)]
    assert {world.topology for world in worlds} == set(TOPOLOGIES)
    lossy = next(world for world in worlds if world.topology == "mesh" and world.breaks)
    lossy.run()
    assert lossy.truth.delivered
