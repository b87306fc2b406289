"""What the design documents of JGroups say, found by the command in bytes on a wire."""

from pathlib import Path
from typing import Any

import pytest

from tests.degraded.auditing import command
from tests.replay import builders as m
from tests.replay.jgroups.unicast import builders as u
from tests.rules.jgroups import capture
from tests.rules.stories import START

TICK = u.TICK


@pytest.fixture
def told(tmp_path: Path) -> Any:
    """The report of a story that was captured at a member."""

    def audit(letter: str, *story: Any, options: tuple[str, ...] = ()) -> Any:
        path = tmp_path / "capture.pcap"
        path.write_bytes(capture(*story))
        return command([str(path), "--at", m.ADDRESS[letter], *options]).report

    return audit


def finding(report: Any, rule: str) -> Any:
    (found,) = [f for f in report["findings"] if f["rule"] == rule]
    return found


def stream(report: Any) -> Any:
    """Of connection 1, which is A's to B."""
    (found,) = [s for s in report["streams"] if s["conn_id"] == 1]
    return found


#: B has no window for A: A answers with its lowest message, and by the document the highest too.
BOTH_SENT = (
    *(u.data(n) for n in (1, 2, 3)), TICK, u.sync(1), u.data(1, first=True), u.data(3), TICK,
    u.ack(3, 2),
)  # fmt: skip


@pytest.mark.parametrize(("rules", "answers"), [("code", 1), ("document", 2)])
def test_the_lowest_and_the_highest_message_answer_by_the_document(
    told: Any, rules: str, answers: int
) -> None:
    report = told("A", *BOTH_SENT, options=("--rules", rules))
    resends = stream(report)["resends"]
    assert (resends["sync_answer"], resends["highest_sent"]) == (answers, 2 - answers)


def test_a_timestamp_that_is_not_above_the_last_is_said(told: Any) -> None:
    report = told("A", u.data(1), u.data(2, 5), TICK, u.ack(1, 3), 100, u.sync(2), 100, u.ack(5, 4))
    assert (
        "came with a timestamp that is not above that of an earlier message"
        in (finding(report, "UC007")["text"])
    )


def test_how_many_messages_wait_behind_purged_ones_is_said(told: Any) -> None:
    asked = [300, u.request(3, 4)]
    report = told("A", u.data(1), u.data(2, 8), TICK, u.ack(5, 1), *asked, *asked)
    assert "4 messages behind them cannot be delivered in order" in finding(report, "UC010")["text"]


def test_what_a_sender_keeps_is_told_over_time(told: Any) -> None:
    kept = stream(told("A", u.data(1, 4), TICK, u.ack(3, 1), u.data(5), TICK))["unacknowledged"]
    assert (kept["most_messages"], kept["last_messages"]) == (4, 2)
    assert kept["most_bytes"] > kept["last_bytes"] > 0


def test_what_each_rule_set_would_have_sent_is_told(told: Any) -> None:
    lost_first = [step for n in range(2, 32) for step in (u.data(n), 99)]
    report = told("B", *lost_first, u.sync(1), u.data(1, first=True), TICK, u.ack(31, 2))
    would = stream(report)["would_have_sent"]
    syncs = {name: sent["syncs"] for name, sent in would.items()}
    assert syncs == {"code": 2, "document": 30, "document-before-sync": 6}


def test_two_members_with_different_views_are_told_of(told: Any) -> None:
    report = told(
        "B", u.view("ABC", 1), u.data(1), TICK, u.ack(1, 1), u.view("BC", 2), 1200, u.data(2), TICK,
        u.ack(2, 2),
    )  # fmt: skip
    assert "has another view, in which both are" in finding(report, "UC047")["text"]


@pytest.mark.parametrize(("rules", "overrun"), [("code", False), ("document", True)])
def test_one_message_fewer_fits_by_the_mcast_document(told: Any, rules: str, overrun: bool) -> None:
    report = told(
        "A", *START, m.msg(2, 5), 100, m.ack(5, by="B"), m.ack(5, by="C"),
        options=("--rules", rules, "--param", "mcast.capacity=4"),
    )  # fmt: skip
    assert ("MC007" in {f["rule"] for f in report["findings"]}) is overrun
