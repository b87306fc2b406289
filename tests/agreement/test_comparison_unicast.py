"""The unicast figures of the comparison: each is found to be off, or gone."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.agreement.test_comparison import SCENARIOS, differences

#: A sends to B, which loses its window; C is no member. Captures: A, B, mirror.
NAME: Final = "u3-stale-ack-fixed-1"


def stream(report: dict[str, Any], capture: int, sender: str) -> dict[str, Any]:
    """The connection between A and B in one capture, the very object."""
    uuid = SCENARIOS[NAME].uuids[sender]
    found: dict[str, Any] = next(
        s for s in report["streams"]
        if s["capture"] == capture and s["sender"] == uuid and s["system"] == "unicast3"
    )  # fmt: skip
    return found


def one_more(*path: str) -> Callable[[dict[str, Any]], None]:
    """Spoils a number by one."""

    def spoil(entry: dict[str, Any]) -> None:
        for key in path[:-1]:
            entry = entry[key]
        entry[path[-1]] += 1

    return spoil


SPOILT: Final = [
    (0, one_more("messages"), ["A A>B 0 data_sent_first_time", "A attribute num_msgs_sent"]),
    (0, one_more("copies"), ["A A>B 0 data_copies_sent"]),
    (0, one_more("copies_with_first_flag"), ["A A>B 0 copies_with_first_flag"]),
    (0, one_more("last_seqno"), ["A A>B 0 highest"]),
    (0, one_more("highest_ack"), ["A A>B 0 highest_ack_arrived"]),
    (0, one_more("acks", "arrived"), ["A A>B 0 acks_arrived", "A attribute num_acks_received"]),
    (0, one_more("acks_ignored"), ["A attribute num_acks_received"]),
    (0, one_more("requests", "arrived"), ["A A>B xmit_req_arrived"]),
    (0, one_more("syncs", "arrived"), ["A A>B send_first_seqno_arrived"]),
    (0, one_more("closes", "sent"), ["A A>B close_sent"]),
    (0, one_more("resends", "requested"), ["A attribute xmit_rsps_sent"]),
    (0, one_more("resends", "highest_sent"), ["A attribute num_xmits"]),
    (0, one_more("conn_id"), None),
    (1, one_more("arrivals"), ["B A>B 0 data_arrived", "B attribute num_msgs_received"]),
    (1, one_more("messages"), ["B A>B 0 distinct_arrived"]),
    (1, one_more("copies"), ["B A>B 0 copies_arrived"]),
    (1, one_more("acks", "sent"), ["B A>B 0 acks_sent", "B attribute num_acks_sent"]),
    (1, one_more("requests", "sent"), ["B A>B xmit_req_sent"]),
    (1, one_more("syncs", "sent"), ["B A>B send_first_seqno_sent"]),
    (1, one_more("dropped_without_window"), ["B attribute num_msgs_received"]),
    (1, lambda entry: entry.update(lost_seqnos=[[3, 3]]), ["B A>B lost"]),
    (1, lambda entry: entry.update(unrecovered_seqnos=[[3, 3]]), ["B A>B 0 never_arrived"]),
    (1, lambda entry: entry.update(delivered=[[1, 22]]), ["B A>B delivered"]),
    (2, one_more("syncs", "passed"), ["mirror A>B send_first_seqno_sent"]),
]


@pytest.mark.parametrize(("capture", "spoil", "rows"), SPOILT)
def test_a_figure_that_is_off_differs(
    capture: int, spoil: Callable[[dict[str, Any]], None], rows: list[str] | None
) -> None:
    found = differences(NAME, lambda report: spoil(stream(report, capture, "A")))
    if rows is None:
        assert len(found) > 5
    else:
        assert found == rows


def test_a_redelivery_that_is_left_out_differs() -> None:
    def spoil(report: dict[str, Any]) -> None:
        entry = stream(report, 1, "A")
        entry["delivered"] = [
            list(seqnos) for seqnos in sorted({tuple(r) for r in entry["delivered"]})
        ]

    assert differences(NAME, spoil) == ["B A>B delivered"]


def test_what_needs_both_ends_is_compared() -> None:
    def spoil(report: dict[str, Any]) -> None:
        next(m for m in report["both_ends"] if m["copies_sent_after_arrival"])[
            "copies_sent_after_arrival"
        ] -= 1

    figure = "both A>B copies_sent_after_arrival"
    assert differences(NAME, spoil) == [figure]
    gone = differences(NAME, lambda report: report["both_ends"].clear())
    assert gone == [figure, "both B>A copies_sent_after_arrival"]


def test_connections_are_compared() -> None:
    def spoil(report: dict[str, Any]) -> None:
        report["connections"][0]["highest_acked"] += 1
        report["connections"][-1]["state"] = "CLOSED"

    assert differences(NAME, spoil) == [
        "A connection 0 to B, levels",
        "B connection 0 from A, state",
    ]
    assert len(differences(NAME, lambda report: report["connections"].clear())) == 8


def test_a_finding_that_is_expected_must_fire_and_a_warning_of_a_clean_run_must_not() -> None:
    def spoil(report: dict[str, Any]) -> None:
        report["findings"] = [f for f in report["findings"] if f["rule"] != "UC008"]

    assert differences(NAME, spoil) == ["* expects stale_ack_dropped"]
    false_alarm = {"capture": 0, "rule": "UC019", "severity": "warning"}
    assert differences("u4n4-clean-1", lambda report: report["findings"].append(false_alarm)) == [
        "* warnings of a clean run"
    ]
