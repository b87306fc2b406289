"""MCAST over TCP: a message to all goes to each member over its own connection (jgroups.md 1.9)."""

from dataclasses import replace

import pytest

from seqaudit.replay.contract.event import Event
from tests.replay.builders import A, B, C, ack, heard, msg, view, xmit_req, xmit_rsp


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
