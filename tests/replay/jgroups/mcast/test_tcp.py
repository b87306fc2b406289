"""MCAST over TCP: a message to all goes to each member over its own connection (jgroups.md 1.9)."""

from dataclasses import replace
from typing import Final

import pytest

from seqaudit.replay.contract.event import Event
from tests.replay.builders import (
    A,
    B,
    C,
    ack,
    heard,
    hole,
    join_rsp,
    msg,
    view,
    xmit_req,
    xmit_rsp,
)


def to(member: str, event: Event) -> Event:
    """The event as it goes to one member."""
    return replace(event, destination=member)


@pytest.mark.parametrize("point", ["A", None])
def test_one_copy_for_each_member_is_no_repair(point: str | None) -> None:
    first = view("ABC", 1, 1)
    story = [to(B, first), to(C, first)]
    for seqno in (2, 3):
        story += [to(B, msg(seqno)), to(C, msg(seqno))]
    told = heard(point, *story, ack(3, by=B), ack(3, by=C))
    assert told.told("messages", "arrivals", "copies", "further_sends") == {
        "messages": 3,
        "arrivals": 6,
        "copies": 0,
        "further_sends": 3,
    }
    assert told.stream()["retransmissions"] == {"useful": None, "needless": 0, "undecidable": 0}
    assert [code for code, *_ in told.findings() if code != "CP010"] == []


def test_what_a_member_gets_again_is_a_copy() -> None:
    story = [to(B, msg(1)), to(C, msg(1)), xmit_req(1, by=C, to=A), xmit_rsp(1, for_=C)]
    told = heard("A", *story, to(B, msg(1)))
    assert told.told("messages", "arrivals", "copies", "further_sends") == {
        "messages": 1,
        "arrivals": 4,
        "copies": 2,
        "further_sends": 1,
    }


def test_the_first_to_one_member_fills_no_gap_of_another() -> None:
    """Connections differ in pace: what B got late is not out of order at the sender."""
    story = [to(C, msg(1, 5)), to(B, msg(1, 2)), to(C, msg(6)), to(B, msg(3, 6))]
    told = heard("A", *story)
    assert told.gaps() == []
    assert told.told("copies", "reordered") == {"copies": 0, "reordered": 0}


#: B lacks message 4 of A, asks for it and gets it.
BEFORE: Final = (join_rsp("AB", 2, digest={A: (1, 1)}), msg(2), msg(3))
BEHIND: Final = (msg(5), ack(3), 500, 500, xmit_req(4), msg(4), ack(5))
ASKED: Final = [step for _ in range(4) for step in (500, xmit_req(4))]


@pytest.mark.parametrize("by", [A, None])
def test_what_is_repaired_may_have_come_in_bytes_that_the_capture_lacks(by: str | None) -> None:
    told = heard("B", *BEFORE, hole(3, by=by), *BEHIND)
    assert told.findings() == [("MC001", "likely", [[4, 4]])]
    assert told.told("lost", "lost_seqnos") == {"lost": None, "lost_seqnos": []}


@pytest.mark.parametrize("told_of", [hole(3, by=C), hole(2, by=B, to=A)])
def test_bytes_that_another_sent_held_none_of_its_messages(told_of: Event) -> None:
    told = heard("B", *BEFORE, told_of, *BEHIND)
    assert told.findings() == [("MC001", "proven", [[4, 4]])]
    assert told.told("lost", "lost_seqnos") == {"lost": 1, "lost_seqnos": [[4, 4]]}


def test_bytes_that_are_missing_before_the_last_message_held_no_later_one() -> None:
    told = heard("B", BEFORE[0], msg(2), hole(1), msg(3), *BEHIND)
    assert told.findings() == [("MC001", "proven", [[4, 4]])]


def test_who_asks_for_what_may_be_in_missing_bytes_is_not_said_to_have_lost_it() -> None:
    whole = heard("B", *BEFORE, msg(5), ack(3), *ASKED)
    assert whole.findings("MC015") == [("MC002", "likely", [[4, 4]])]
    told = heard("B", *BEFORE, hole(3), msg(5), ack(3), *ASKED)
    assert told.findings("MC015") == [("MC002", "cannot be told", [[4, 4]])]
    assert told.told("lost", "lost_seqnos") == {"lost": None, "lost_seqnos": []}
