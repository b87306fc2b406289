"""Captures at all members of a world: what each path lost is what the world says."""

from pathlib import Path
from typing import Final

import pytest

from tests.degraded.auditing import command
from tests.replay.builders import ADDRESS
from tests.replay.jgroups.mcast.test_model import plan
from tests.replay.jgroups.mcast.world import MEMBERS, World
from tests.rules.jgroups import captured, member

#: What the wire calls what the report counts.
WIRE_KINDS: Final = {
    "messages": ("MSG", "XMIT_RSP"),
    "highest": ("HIGHEST_SEQNO",),
    "acks": ("ACK",),
    "requests": ("XMIT_REQ",),
}
BEGIN_NS: Final = 10**15
SECOND_NS: Final = 1_000_000_000


@pytest.mark.parametrize("seed", range(8))
def test_what_each_path_lost_is_counted_both_ways(seed: int, tmp_path: Path) -> None:
    """Every member's clock is wrong by something else. One may join later: of what was sent before,
    nothing is missed, and nothing is said to have been had."""
    world = World(plan(seed)).play()
    given = []
    for number, name in enumerate(MEMBERS):
        path = tmp_path / f"{name}.pcap"
        begin_ns = BEGIN_NS + 37_000_000 * number
        path.write_bytes(captured(world.at[name], begin_ns, 60 * SECOND_NS))
        given += ["--at", f"{path.name}={ADDRESS[name]}", str(path)]
    report = command(given).report
    names = {member(name): name for name in MEMBERS}
    told = 0
    for met in report["both_ends"]:
        there = names[met["sender"]], names[met["receiver"]]
        for own in met["path"]:
            way = there if own["kind"] in ("messages", "highest") else there[::-1]
            true = sum(world.truth.path[kind, *way] for kind in WIRE_KINDS[own["kind"]])
            if own["why"] is None:
                assert (own["kind"], own["lost_on_path"]) == (own["kind"], true)
                told += 1
            else:
                assert own["why"].startswith("how far the clocks")
    assert told
    assert "CP032" not in {finding["rule"] for finding in report["findings"]}
