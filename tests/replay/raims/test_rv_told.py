"""What RV clients were told of losses, against what they must have been told (raims.md 11)."""

from typing import Any

import pytest

from seqaudit.replay.raims.advisories import INBOUND, OUTBOUND
from seqaudit.replay.raims.rv_told import (
    MAX_FINDINGS,
    NO_BEGIN,
    NO_CLIENT,
    NO_DAEMON,
    TOO_MANY,
    judge,
)

SECOND = 1_000_000_000
CLIENT = {"client": "127.0.0.1:5", "daemon": "127.0.0.1:7500"}


def daemon(*losses: tuple[float, str, int], address: str = "10.0.0.2") -> list[Any]:
    window = {
        "table": "windows",
        "start": 0,
        "address": address,
        "from_ns": 0,
        "to_ns": 99 * SECOND,
        "doubt": None,
    }
    events = [
        {
            "table": "loss_events", "start": 0, "service": 7500, "subject": subject, "count": count,
            "publisher": "P", "hostid": "A", "host": "10.0.0.1", "frame": round(at * 10),
            "at_ns": round(at * SECOND),
        }
        for at, subject, count in losses
    ]  # fmt: skip
    return [(0, row) for row in (window, *events)]


def client(*told: tuple[float, dict[str, int]], **how: Any) -> list[Any]:
    row = CLIENT | {
        "table": "rv_clients", "address": "10.0.0.2", "began": True, "service": 7500,
        "first_ns": 0, "last_ns": 90 * SECOND, "listens": [["A", 0, None], ["B.>", 0, None]],
    } | how  # fmt: skip
    rows = []
    for number, (at, pairs) in enumerate(told):
        data: list[list[Any]] = [
            ["host", "10.0.0.1"], ["lost", sum(pairs.values())], ["sub_cnt", len(pairs)],
        ]  # fmt: skip
        for place, (subject, lost) in enumerate(pairs.items(), 1):
            data += [[f"sub{place}", subject], [f"lost{place}", lost]]
        rows.append(CLIENT | {
            "table": "rv_advisories", "at_ns": round(at * SECOND), "frame": number, "index": number,
            "subject": INBOUND, "data": data,
        })  # fmt: skip
    return [(1, r) for r in (row, *rows)]


def found(rows: list[Any]) -> list[tuple[str, int, Any, Any]]:
    return [
        (f["rule"], f["capture"], f["facts"].get("told"), f["facts"].get("expected"))
        for f in judge(rows)[0]
        if f["rule"] != "RA030"
    ]


LOSSES = daemon((10, "A", 2), (10.1, "B.C", 1), (10.2, "Z", 7))


def test_what_was_told_as_replayed_is_no_finding() -> None:
    assert found(LOSSES + client((10, {"A": 2}), (11, {"B.C": 1}))) == []


def test_subjects_that_a_client_does_not_listen_to_are_not_told() -> None:
    assert found(LOSSES + client((10, {"A": 2}), (11, {"B.C": 1, "Z": 7}))) == [("RA025", 1, 7, 0)]


def test_an_advisory_that_is_missing_or_wrong() -> None:
    assert found(LOSSES + client((10, {"A": 3}))) == [("RA025", 1, 3, 2), ("RA024", 0, 0, 1)]


def test_a_client_that_was_last_seen_before_the_advisory_is_due_is_not_judged_by_it() -> None:
    assert found(LOSSES + client((10, {"A": 2}), last_ns=11 * SECOND)) == []


@pytest.mark.rule("raims-11.5")
def test_a_publishing_client_is_told_what_others_lost() -> None:
    lost = {
        "table": "advisories", "start": 0, "subject": OUTBOUND, "at_ns": 20 * SECOND, "frame": 7,
        "data": {"lost": 5, "hostid": "B", "scid": 7500},
    }  # fmt: skip
    told = CLIENT | {
        "table": "rv_advisories", "at_ns": 20 * SECOND + 1000, "frame": 1, "index": 0,
        "subject": OUTBOUND, "data": [["lost", 5]],
    }  # fmt: skip
    rows = [*daemon(), (0, lost), *client()]
    assert found(rows) == [("RA024", 0, 0, 5)]
    assert found([*rows, (1, told)]) == []
    assert found([*rows, (1, told | {"data": [["lost", 4]]})]) == [("RA024", 0, 0, 5)]
    gone = [*daemon(), (0, lost), *client(last_ns=20 * SECOND)]
    assert found(gone) == []


def test_what_a_client_was_told_is_a_loss_by_publisher() -> None:
    """With no capture of the daemon: what it counted is all there is, and it is enough."""
    rows = client((10, {"A": 2, "B.C": 1}), (11, {"A": 3}))
    findings, _ = judge(rows)
    assert [(f["rule"], f["certainty"], f["capture"]) for f in findings] == [("RA030", "proven", 1)]
    (told,) = findings
    assert (told["facts"]["told"], told["facts"]["subjects"]) == (6, "A (5), B.C (1)")
    assert [shown["frame"] for shown in told["evidence"]] == [0, 1]


def test_what_is_no_number_counts_nothing() -> None:
    told = client((10, {"A": 2}))
    told[1][1]["data"] = [
        ["sub_cnt", "many"],
        ["sub1", "A"],
        ["lost1", [["x", 1]]],
        ["lost", "all"],
    ]
    assert [f[0] for f in found(LOSSES + told)] == ["RA024", "RA024"]
    assert judge(told)[0] == []


def test_of_very_many_findings_the_last_are_counted() -> None:
    rows = [
        (capture, row | {"client": f"127.0.0.1:{number}"})
        for number in range(MAX_FINDINGS + 7)
        for capture, row in client((10, {"A": 2}))
    ]
    findings, _ = judge(rows)
    assert len(findings) == MAX_FINDINGS + 1
    assert (findings[-1]["rule"], findings[-1]["facts"]) == ("RA030", {"count": 7})


def test_two_advisories_within_a_second_are_unthrottled() -> None:
    told = client((10, {"A": 2}), (10.5, {"B.C": 1}))
    assert [f[0] for f in found(LOSSES + told)] == ["RA026"]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (LOSSES, {NO_CLIENT}),
        (client(), {NO_DAEMON, None}),
        (LOSSES + client(began=False), {NO_BEGIN, NO_CLIENT, None}),
        (LOSSES + client(address="10.0.0.3"), {NO_DAEMON, NO_CLIENT, None}),
        (
            LOSSES + client(listens=[[f"A{n}.>", 0, None] for n in range(1001)]),
            {TOO_MANY, NO_CLIENT, None},
        ),
    ],
)
def test_the_report_says_why_a_rule_was_not_judged(rows: list[Any], why: set[Any]) -> None:
    findings, judged = judge(rows)
    assert (findings, {row["why"] for row in judged}) == ([], why)
