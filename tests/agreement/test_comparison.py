"""The comparison itself: it agrees with the truth, and finds every figure that is off or gone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.agreement.figures import compare, share_out
from tests.agreement.oracle import true_report
from tests.agreement.rows import Row
from tests.agreement.truth import (
    Payload,
    Scenario,
    View,
    count_deliveries,
    find_scenarios,
    parse_view,
    to_runs,
)

FIXTURES: Final = Path(__file__).parents[2] / "fixtures" / "jgroups"
SCENARIOS: Final = {s.name: s for s in find_scenarios(FIXTURES) if s.why_skipped is None}


def rows_of(scenario: Scenario, report: dict[str, Any], *, configured: bool = True) -> list[Row]:
    """All rows of one scenario against a report about it alone."""
    places = [(scenario, vantage) for vantage in scenario.captures]
    (audited,) = share_out(places, report, configured)
    return list(compare(audited))


def differences(name: str, spoil: Callable[[dict[str, Any]], object]) -> list[str]:
    """Capture and figure of the rows that differ once a true report was spoilt."""
    report = true_report(SCENARIOS[name])
    spoil(report)
    rows = rows_of(SCENARIOS[name], report)
    return [f"{r.capture} {r.figure}" for r in rows if r.verdict == "different"]


def stream(report: dict[str, Any], name: str, capture: int, sender: str) -> dict[str, Any]:
    """The stream of a sender in a report, the very object."""
    uuid = SCENARIOS[name].uuids[sender]
    found: dict[str, Any] = next(
        s for s in report["streams"] if s["capture"] == capture and s["sender"] == uuid
    )
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_report_that_says_the_truth_agrees(name: str) -> None:
    rows = rows_of(SCENARIOS[name], true_report(SCENARIOS[name]))
    assert [row for row in rows if row.verdict == "different"] == []
    assert len(rows) > 30


# What a figure of B's stream at C (2) or at B itself (1) becomes, and which rows that shows in.
SPOILT: Final = [
    (2, "lost_seqnos", [[5, 6]], ["C B>* lost"]),
    (2, "unrecovered_seqnos", [[7, 7]], ["C B>* unrecovered"]),
    (2, "arrivals", 199, ["C B>* arrived"]),
    (2, "messages", 199, ["C B>* distinct_arrived"]),
    (2, "copies", 1, ["C B>* copies_arrived"]),
    (2, "requests", {"sent": 3}, ["C B>* xmit_req_sent"]),
    (
        2,
        "requested_seqnos",
        {"sent": 65},
        ["C attribute xmit_reqs_sent", "C B>* xmit_req_seqnos_sent"],
    ),
    (2, "acks", {"sent": 9}, ["C B>* acks_sent"]),
    (2, "delivered", [[1, 100], [102, 200]], ["C B>* delivered"]),
    (2, "delivered", [[1, 200], [200, 200]], ["C B>* delivered"]),
    (2, "delivered", None, ["C B>* delivered"]),
    (2, "retransmissions", {"needless": 1, "useful": 66}, ["C B>* needless copies"]),
    (2, "retransmissions", {"needless": 0, "useful": 65}, ["C B>* useful copies"]),
    (2, "by_wire_kind", {"MSG": 134}, ["C attribute xmit_rsps_received"]),
    (1, "messages", 201, ["B attribute num_messages_sent", "B B>* distinct_sent"]),
    (1, "copies", 129, ["B B>* copies sent"]),
    (1, "arrivals", 331, ["B B>* sent in all"]),
    (1, "last_seqno", 201, ["B B>* highest"]),
    (1, "stalls", 6, ["B B>* blocked, at most"]),
    (1, "stalls", 0, ["B B>* blocked, at most"]),
    (1, "stalls", 3, []),
    (1, "max_outstanding", 65, ["B B>* outstanding, at most"]),
    (1, "lost_seqnos", [[5, 5]], ["B B>* lost_seqnos, not visible here"]),
    (3, "delivered", [[1, 200]], ["mirror B>* delivered, not visible here"]),
    (1, "capacity", 63, ["B B>* capacity"]),
    (1, "stalls", None, ["B B>* blocked, at most"]),
]


@pytest.mark.parametrize(("capture", "key", "value", "rows"), SPOILT)
def test_a_figure_that_is_off_differs(
    capture: int, key: str, value: object, rows: list[str]
) -> None:
    found = differences(
        "n4-loss-1",
        lambda report: stream(report, "n4-loss-1", capture, "B").update({key: value}),
    )
    assert found == rows


@pytest.mark.parametrize("vantage", [1, 2])
def test_a_figure_absent_from_the_report_differs(vantage: int) -> None:
    keys = true_report(SCENARIOS["n4-loss-1"])["streams"][0].keys()
    unread = {"id", "capture", "system", "sender", "delivered_interval", "unknown"}
    at_sender = {"lost_seqnos", "unrecovered_seqnos", "delivered"}
    at_receiver = {"last_seqno", "peers", "stalls", "max_outstanding", "capacity"}
    for key in keys - unread - (at_sender if vantage == 1 else at_receiver):
        report = true_report(SCENARIOS["n4-loss-1"])
        del stream(report, "n4-loss-1", vantage, "B")[key]
        rows = rows_of(SCENARIOS["n4-loss-1"], report)
        assert [row for row in rows if row.verdict == "different"], key


def test_counts_of_frames_and_messages_are_compared() -> None:
    def spoil(report: dict[str, Any]) -> None:
        report["captures"][0]["frames"] += 1
        report["captures"][1]["messages_by"]["nakack4"]["ACK"] -= 1
        report["captures"][2]["messages_by"]["unicast4"]["CLOSE"] = 1
        report["captures"][3]["messages_by"]["jgroups"] = {}

    assert differences("n4-loss-1", spoil) == [
        "A frames",
        "B messages nakack4 ACK",
        "C messages unicast4 CLOSE",
        "mirror messages FD_ALL3",
        "mirror messages PING",
    ]


def test_a_gap_row_too_many_differs() -> None:
    row = {"capture": 2, "outcome": "unrecovered", "seqnos": [[1, 1]]}

    def spoil(report: dict[str, Any]) -> None:
        report["gaps"].append({**row, "stream": stream(report, "n4-loss-1", 2, "B")["id"]})

    assert differences("n4-loss-1", spoil) == ["C B>* lost, by gap rows"]


def test_views_are_compared_in_order_and_others_views_are_not() -> None:
    assert differences("n4-join-leave-1", lambda report: report["views"].reverse()) == [
        "A views",
        "B views",
    ]

    def show_a_view_without_it(report: dict[str, Any]) -> None:
        strangers = dict(report["views"][0])  # [A|1] with A and B
        report["views"] += [{**strangers, "capture": n} for n in range(4)]

    assert differences("n4-join-leave-1", show_a_view_without_it) == []


@pytest.mark.parametrize(
    ("interval", "rows"),
    [
        ([97, 226], []),
        ([98, 98], []),
        ([96, 226], ["C A>* delivered, last between"]),  # it had acknowledged 97
        ([97, 227], ["C A>* delivered, last between"]),  # 227 is the view without it
        ([99, 226], ["C A>* delivered, last between"]),  # it delivered 98
        (None, ["C A>* delivered, last between"]),
    ],
)
def test_of_a_member_that_died_the_truth_must_lie_inside(
    interval: list[int] | None, rows: list[str]
) -> None:
    name = "n4-crash-leave-1"
    capture = list(SCENARIOS[name].captures).index("C")

    def spoil(report: dict[str, Any]) -> None:
        stream(report, name, capture, "A")["delivered_interval"] = interval

    assert differences(name, spoil) == rows


def test_expected_rules_must_fire_and_other_errors_must_not() -> None:
    assert differences("n4-loss-1", lambda report: report["findings"].clear()) == [
        "A MC001 fires",
        "C MC001 fires",
        "* expects loss_recovered",
    ]
    false_alarm = {"capture": 1, "rule": "MC002", "severity": "warning"}
    assert differences("n4-loss-1", lambda report: report["findings"].append(false_alarm)) == [
        "B MC002 fires"
    ]
    unexpected = {"capture": 1, "rule": "MC999", "severity": "error"}
    assert differences("n4-loss-1", lambda report: report["findings"].append(unexpected)) == [
        "* other errors"
    ]
    mild = {**unexpected, "severity": "warning"}
    assert differences("n4-loss-1", lambda report: report["findings"].append(mild)) == []


def test_only_the_table_allows_unknown() -> None:
    scenario = SCENARIOS["ipv6-discard-1"]
    rows = rows_of(scenario, true_report(scenario))
    assert [(r.capture, r.figure, r.reason) for r in rows if r.verdict == "unknown"] == [
        ("A", "view [A|0] (1) [A]", "a founder's first view is on no wire"),
        ("A", "A>* delivered", "own multicasts are on no wire"),
    ]
    blocked_once = SCENARIOS["u4n4-clean-1"]
    report = true_report(blocked_once)
    stream(report, "u4n4-clean-1", 0, "A").update(stalls=None, unknown={"stalls": "why"})
    for configured, verdict in ((False, "unknown"), (True, "different")):
        rows = rows_of(blocked_once, report, configured=configured)
        (row,) = (r for r in rows if (r.capture, r.figure) == ("A", "A>* blocked, at most"))
        assert row.verdict == verdict


def test_an_unknown_figure_says_why() -> None:
    report = true_report(SCENARIOS["ipv6-discard-1"])
    stream(report, "ipv6-discard-1", 1, "A").update(delivered=None, unknown={})
    rows = rows_of(SCENARIOS["ipv6-discard-1"], report)
    assert [r.figure for r in rows if r.verdict == "different"] == ["A>* delivered"]


def test_counters_are_those_of_whole_messages() -> None:
    payloads = {
        1: Payload(system=True, frag=None, counter=0),
        2: Payload(system=False, frag=(7, 0, 2), counter=1),
        3: Payload(system=False, frag=(7, 1, 2), counter=99),
        4: Payload(system=False, frag=None, counter=2),
    }
    assert count_deliveries([[1, 4]], payloads) == [[1, 2]]
    assert count_deliveries([[1, 2]], payloads) == []
    assert count_deliveries([[4, 4], [1, 4]], payloads) == [[2, 2], [1, 2]]
    assert to_runs([3, 4, 4, 6]) == [[3, 4], [4, 4], [6, 6]]


def test_views_are_read_as_jgroups_prints_them() -> None:
    assert parse_view("[A|2] (3) [A, B, C]") == View("A", 2, ("A", "B", "C"))
    assert parse_view("MergeView::[B|3] (2) [B, A], 2 subgroups: [A|1] (1) [A]") == View(
        "B", 3, ("B", "A")
    )


def test_a_tcp_run_is_known_as_one() -> None:
    over_tcp = [s.name for s in find_scenarios(FIXTURES) if s.over_tcp]
    assert over_tcp == ["tcp-first-lost-1"]
