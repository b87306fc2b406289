"""What the figures of a peer rest on, and that a reason takes all of them that rest on it."""

from typing import Any

import pytest

from seqaudit.replay.contract.results import STREAM, TABLE
from seqaudit.replay.raims.grounds import FIGURES, HAD, Ground, Unsure, unknown
from seqaudit.replay.raims.report_rows import PeerLossRow
from tests.replay.raims.builders import (
    F0,
    HERE,
    LINK,
    ME,
    PEER,
    SECOND,
    T0,
    THERE,
    World,
    inbox_packet,
    packet,
)

INBOX = f"inbox:{THERE}:2>{HERE}:1|{PEER}"


def told(world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of the peer, and that of its only stream, or nothing."""
    rows = [row for row in world.rows() if row.kind in (STREAM, TABLE)]
    streams = [row.detail for row in rows if row.detail.get("role") == "receiver"]
    (peer,) = [
        row.detail for row in rows
        if (row.detail.get("table"), row.detail.get("bridge")) == ("loss", PEER)
    ]  # fmt: skip
    return peer, streams[0] if streams else {}


def test_every_ground_is_one_of_some_figure_and_every_figure_is_in_the_row() -> None:
    assert {ground for grounds in FIGURES.values() for ground in grounds} == set(Ground)
    columns = {*PeerLossRow.__annotations__, "lost"}  # lost_lower and lost_upper
    assert set(FIGURES) <= columns


def test_a_reason_takes_all_figures_that_rest_on_its_grounds_and_the_last_one_is_told() -> None:
    reasons = [Unsure("not wanted", (Ground.WANTED,)), Unsure("not had", HAD)]
    assert unknown(reasons, {}) == {
        "null_rte": "not had", "repeat": "not had", "not_sub": "not had", "msg_loss": "not had",
        "lost": "not had", "false_loss": "not had",
    }  # fmt: skip


def test_a_counter_that_grew_last_before_is_told() -> None:
    grew = {"null_rte": 5, "repeat": 6, "not_sub": 7, "msg_loss": -1, "ibx_loss": -1}
    assert set(unknown([Unsure("asleep", (Ground.READ,), 6)], grew)) == {"repeat", "not_sub"}


@pytest.mark.parametrize("hole", [False, True])
def test_what_was_ignored_rests_on_when_the_peer_was_dropped(hole: bool) -> None:
    """Spoiled: heartbeats longer than 400 bytes were left out. By what is left the peer was silent,
    by the times of its messages as well; nothing of it was ignored."""
    world = World()
    world.notice("HB", interval=4, stamp=T0)
    world.data(F0, 0.1, stamp=T0)
    if hole:
        world.notice("HOLE", 1.0, stream="tcp:x|", source=None)
    world.notice("DEL", 20.0, seqno=1, sync_bridge="cc" * 16)  # it lives, and seems dropped
    world.data(F0 + 1, 21.0, stamp=T0 + 21 * SECOND)
    peer, stream = told(world)
    names = "dropped_ns", "msg_loss", "null_rte", "ibx_loss", "lost_lower"
    assert [peer[name] is None for name in names] == [hole] * 5
    assert (stream["ignored"], stream["delivered"] is None) == (None if hole else 1, hole)


@pytest.mark.parametrize("spoken_to", [False, True])
def test_what_was_taken_of_a_peer_that_seemed_silent_rests_on_it_as_well(spoken_to: bool) -> None:
    """Unless the daemon speaks to it behind that, as to one that it knows."""
    world = World()
    world.notice("HB", interval=4)
    world.data(F0, 0.1)
    world.notice("HOLE", 1.0, stream="tcp:x|", source=None)
    world.data(F0 + 1, 20.0)
    if spoken_to:
        world.notice("PING", 20.1, source=ME, destination=PEER)
    _, stream = told(world)
    assert (stream["delivered"] is None) == (not spoken_to)


@pytest.mark.parametrize(("group", "asked"), [(False, False), (False, True), (True, False)])
def test_of_a_peer_of_whose_tsi_nothing_is_captured_everything_is_missing(
    group: bool, asked: bool
) -> None:
    """Spoiled: one of eight queues was left out, with all that it sent to the group; that another
    daemon asks for some of it is in the capture, or not."""
    world = World()
    own: dict[str, Any] = {"source": HERE, "stream": "pgm:0909.9|"}
    world.sees(packet("ODATA", 0, **own))
    if group:
        world.sees(packet("SPM", None, stream=f"{LINK}|"))
    if asked:
        world.sees(packet("NAK", 0, source="10.77.0.3", detail="[[0,1]]", stream=f"{LINK}|"))
    for number, word, at in ((1, "AUTH", 0.0), (2, "PING", 40.0)):
        for moment in range(5, int(at), 5):
            world.sees(packet("SPM", 0, moment, **own))
        world.engine.feed(inbox_packet(number, at, own=False))
        world.notice(word, at, destination=ME, seqno=1, stream=f"{INBOX}|.{word}", fresh_id=number)
    world.sees(packet("SPM", 0, 41.0, **own))
    peer, _ = told(world)
    names = "dropped_ns", "null_rte", "repeat", "not_sub", "msg_loss", "ibx_loss", "lost_upper"
    assert [peer[name] is not None for name in names] == [group] * 7
