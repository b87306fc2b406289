"""Daemons that come and go, and what ``show loss`` calls them."""

import json

import pytest

from seqaudit.decoders.contract.events import Kind
from tests.replay.raims.builders import F0, ME, PEER, World

NEXT, OTHER = "cc" * 16, "dd" * 16
BYE = 5  # a stage: it said goodbye


def _comes(world: World, bridge: str, name: str, address: str, at: float) -> None:
    told = {"name": name, "address": f"{address}:7239"}
    world.feed(
        at, kind=Kind.MEMBER, wire_kind="MEMBER", source=bridge, detail=json.dumps(told),
    )  # fmt: skip


def test_a_daemon_that_said_goodbye_is_no_peer_whatever_of_it_comes_later() -> None:
    """Recorded: behind its BYE it said LEAV and ADJ, and the observer's console had it no more."""
    world = World()
    world.notice("BYE", 1.0)
    world.notice("LEAV", 1.1, subject="_1.A")
    world.notice("ADJ", 1.2, link_state=3)
    world.data(F0, 1.3)
    assert world.table("loss") == []


def test_the_number_of_a_daemon_that_left_goes_to_nobody_else() -> None:
    world = World()
    _comes(world, OTHER, "C", "10.77.0.3", 0.5)
    world.notice("BYE", 1.0)
    _comes(world, NEXT, "A", "10.77.0.1", 2.0)
    assert [row["user"] for row in world.table("loss")] == ["C.2", "A.3"]


def test_an_answer_that_a_daemon_is_gone_tells_of_no_peer() -> None:
    """Recorded: a daemon asked for its own earlier start; ``show loss`` had no row of it."""
    world = World()
    world.notice("SYNC_RPY", 1.0, destination=ME, session_bridge=OTHER, user="B", auth_stage=BYE)
    assert [row["bridge"] for row in world.table("loss")] == [PEER]


@pytest.mark.parametrize(("apart", "users"), [(0.01, ["A.?", "C.?"]), (0.3, ["A.1", "C.2"])])
def test_of_daemons_that_were_met_at_once_nobody_can_tell_which_number_is_whose(
    apart: float, users: list[str]
) -> None:
    """Recorded: HELO of three came on three connections within 1 ms."""
    world = World()
    world.notice("AUTH", 1.0, seqno=1, destination=ME, stream=f"tcp:x|{PEER}|.AUTH")
    _comes(world, OTHER, "C", "10.77.0.3", 1.0)
    world.notice(
        "AUTH", 1.0 + apart, source=OTHER, seqno=1, destination=ME, stream=f"tcp:y|{OTHER}|.AUTH"
    )
    assert [row["user"] for row in world.table("loss")] == users


@pytest.mark.parametrize(
    ("answers_on", "third", "users"),
    [
        (f"tcp:x|{PEER}|.SYNC_RPY", False, ["A.1", "C.2"]),
        ("tcp:y|z|.SYNC_RPY", False, ["A.?", "C.?"]),
        (f"tcp:x|{PEER}|.SYNC_RPY", True, ["A.?", "C.?", "D.?"]),
    ],
)
def test_who_is_met_by_an_answer_comes_behind_the_one_that_answered(
    answers_on: str, third: bool, users: list[str]
) -> None:
    """Recorded: the second daemon of a mesh was told of by the first, its own connection followed,
    and after a cut it was authenticated anew. A third one with a connection of its own at that
    time may have been met before both."""
    world = World()
    world.notice("AUTH", 1.0, seqno=1, destination=ME, stream=f"tcp:x|{PEER}|.AUTH")
    world.notice("SYNC_RPY", 1.01, stream=answers_on, destination=ME, session_bridge=OTHER,
                 user="C")  # fmt: skip
    _comes(world, OTHER, "C", "10.77.0.3", 1.05)
    world.notice("HB", 1.05, source=OTHER, stream=f"tcp:z|{OTHER}|.HB")
    if third:
        _comes(world, NEXT, "D", "10.77.0.4", 1.08)
        world.notice("AUTH", 1.08, source=NEXT, seqno=1, destination=ME,
                     stream=f"tcp:w|{NEXT}|.AUTH")  # fmt: skip
    world.notice("AUTH", 9.0, source=OTHER, seqno=4, destination=ME, stream=f"tcp:v|{OTHER}|.AUTH")
    assert [row["user"] for row in world.table("loss")] == users
