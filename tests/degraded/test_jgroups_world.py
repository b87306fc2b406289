"""Members that come and go by a model of their own: what is proven, and told in figures, is so."""

from dataclasses import replace

import pytest

from tests.degraded import claims
from tests.degraded.jgroups_world import World, refuted, spoiled, wrong_figures
from tests.degraded.ways import WAYS

#: Worlds of all that happens, of few frames.
SEEDS = (3, 5, 21, 36, 61)
_QUICK = ("whole", "no-at", "head", "single", "drop-5", "snap", "small", "pair", "step", "twice")


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_false_is_said_of_a_world_of_jgroups(seed: int) -> None:
    ways = tuple(way for way in WAYS if way.name in _QUICK)
    assert len(ways) == len(_QUICK)
    assert list(spoiled(seed, ways, 1)) == []


def test_in_these_worlds_members_go_come_again_and_merge() -> None:
    worlds = [World(seed) for seed in SEEDS]
    for world in worlds:
        world.run()
    assert any(len(world.ever) > len(world.hosts) for world in worlds)
    assert any(len(told[1]) < len(world.hosts) for world in worlds for told in world.casts.values())
    assert any(told[2] for world in worlds for told in world.casts.values())
    asked = [last for world in worlds for one in world.ever for _, last in one.unicasts.values()]
    assert 1 in asked and max(asked) > 1  # who joins asks again
    for kind in ("lost", "lacked", "overtaken", "copies"):
        assert any(any(getattr(world.truth, kind).values()) for world in worlds)


def test_what_is_not_so_is_noticed() -> None:
    world = World(36)
    world.run()
    here = next(one.uuid for one in world.ever if one.host == world.here)
    sender = next(by for by, to in world.truth.delivered if to == here)
    told = world.truth.delivered[sender, here]
    row = {
        "id": f"lab|{sender}", "sender": sender, "receiver": here, "role": "receiver",
        "system": "nakack4", "lost_seqnos": [], "delivered_unsure": [], "unknown": {},
    }  # fmt: skip
    for seqnos, lost, wrong in (
        ([[n, n] for n in told], [], 0),
        ([[told[0], told[0]], [told[2], told[2]]], [], 1),
        ([[n, n] for n in told], [[9_000, 9_000]], 1),
    ):
        figures = {"delivered": seqnos, "lost_seqnos": lost}
        assert len(list(wrong_figures({"streams": [row | figures]}, world))) == wrong
    finding = claims.Finding("MC001", "", "proven", "", f"lab|{sender}", frozenset({9_000}), 1, "")
    assert refuted(finding, world, "whole") == "9000 lacked not so"
    assert refuted(replace(finding, rule="MC999"), world, "whole") is not None
