"""A node that hears a group has a link of its own to the sender as well (recorded)."""

from typing import Any

import pytest

from seqaudit.replay.contract.finding import Certainty, Finding, PlacedFinding
from seqaudit.replay.zenoh.beside import brought, figures, restated
from seqaudit.replay.zenoh.elsewhere import UNTOLD
from seqaudit.replay.zenoh.reasons import BESIDE

GROUP = "224.0.0.229:7500"


def row(live: list[list[int]], sender: str, receiver: str, **more: Any) -> dict[str, Any]:
    ends = receiver if receiver == GROUP else f"{sender}|{receiver}"
    return {
        "kind": "samples", "source": "ab/6", "leg": f"zenoh|udp|{ends}", "live": live,
        "sender_endpoint": sender, "receiver_endpoint": receiver, "role": "receiver",
        "first_frame": 10, "last_frame": 90, "unknown": {}, "lost_seqnos": [[5, 8]],
    } | more  # fmt: skip


LINK = row([[0, 4], [9, 20]], "10.0.0.1:7447", "10.0.0.2:9")
GROUPED = row([[0, 3], [8, 20]], "10.0.0.1:5000", GROUP, lost_seqnos=[[4, 7]])


def elsewhere(*rows: dict[str, Any]) -> dict[str, list[tuple[int, int]]]:
    found = brought((0, f"s{n}", one) for n, one in enumerate(rows))
    return {stream: list(came) for (_, stream), came in found.items()}


def test_what_came_by_the_one_came_beside_the_other() -> None:
    assert elsewhere(LINK, GROUPED) == {"s0": [(0, 4), (8, 21)], "s1": [(0, 5), (9, 21)]}


@pytest.mark.parametrize(
    "other",
    [
        row([[0, 20]], "10.0.0.1:7448", "10.0.0.2:8"),  # another link, no group
        GROUPED | {"source": "cd/6"},
        GROUPED | {"first_frame": 91, "last_frame": 99},  # one behind the other
        GROUPED | {"sender_endpoint": "10.0.0.2:5000", "role": "sender"},  # passed on
    ],
)
def test_what_its_node_did_not_hear_meanwhile_came_not(other: dict[str, Any]) -> None:
    assert elsewhere(LINK, other).get("s0") is None


def test_of_a_group_with_two_senders_all_came_beside() -> None:
    again = GROUPED | {"sender_endpoint": "10.0.0.2:5000", "live": [[5, 5]], "role": "sender"}
    assert elsewhere(GROUPED, again) == {"s0": [(0, 4), (5, 6), (8, 21)]}


@pytest.mark.parametrize(("missed", "told"), [([[5, 8]], False), ([[5, 7]], True)])
def test_figures_are_null_where_a_missed_sample_came_beside(
    missed: list[list[int]], told: bool
) -> None:
    rows = {(0, "s0"): LINK | {"lost_seqnos": missed}, (0, "s1"): GROUPED | {"lost_seqnos": []}}
    found = dict(figures(brought((c, s, one) for (c, s), one in rows.items()), rows))
    untold = dict.fromkeys(UNTOLD) | {"unknown": dict.fromkeys(UNTOLD, BESIDE)}
    assert found == ({} if told else {(0, "s0"): untold})


def finding(rule: str, first: int, stop: int) -> PlacedFinding:
    seqnos = [(first, stop)]
    found = Finding(rule, Certainty.LIKELY, "", system="zenoh", stream="s0", seqnos=seqnos)
    return found.seen_at(0)


@pytest.mark.parametrize("rule", ["ZN002", "CP007"])
def test_whether_it_missed_them_or_had_them_cannot_be_told(rule: str) -> None:
    came = brought([(0, "s0", LINK), (0, "s1", GROUPED)])[0, "s0"]
    told = restated(finding(rule, 5, 9), came)
    assert (told["certainty"], told["facts"]["beside"]) == (Certainty.UNDECIDABLE, 1)


@pytest.mark.parametrize(("rule", "stop"), [("ZN002", 8), ("ZN005", 9)])
def test_of_others_they_say_what_they_said(rule: str, stop: int) -> None:
    came = brought([(0, "s0", LINK), (0, "s1", GROUPED)])[0, "s0"]
    one = finding(rule, 5, stop)
    assert restated(one, came) == one
