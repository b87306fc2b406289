"""The design documents' rows (tables U and S) where they differ from the code, and rule sets."""

import re
from pathlib import Path
from typing import Any

import pytest

from seqaudit.replay.jgroups.unicast.rule_sets import Release, newer
from seqaudit.replay.jgroups.unicast.sent_by_rule_set import Paced
from tests.replay.builders import A, B
from tests.replay.jgroups.mcast.test_tables import marked
from tests.replay.jgroups.unicast.builders import TICK, ack, data, heard, request, sync
from tests.replay.jgroups.unicast.rows import ROWS

REPLAY = Path(__file__).parents[4] / "replay" / "jgroups" / "unicast"
BEFORE = "document-before-sync"


def syncs(told: dict[str, dict[str, int]]) -> dict[str, int]:
    """Rule set -> SEND_FIRST_SEQNO."""
    return {name: counts["syncs"] for name, counts in told.items()}


@pytest.mark.rule("unicast U17")
@pytest.mark.rule("unicast S3")
@pytest.mark.rule("unicast B20")
def test_each_rule_set_would_have_sent_another_number_of_send_first_seqno() -> None:
    # 30 messages without a window in 2.9 s: one each; one in 2 s; one a tick (JGRP-1874).
    story = [step for n in range(2, 32) for step in (data(n), 99)]
    told = heard(B, *story, sync(1), data(1, first=True), TICK, ack(31, 2))
    assert syncs(told.stream()["would_have_sent"]) == {"code": 2, "document": 30, BEFORE: 6}


@pytest.mark.rule("unicast S3")
def test_with_an_entry_of_another_connection_the_document_throttles_too() -> None:
    story = [data(1), TICK, ack(1, 1), *[data(n, conn=2) for n in range(2, 12)], sync(2)]
    told = heard(B, *story, data(1, conn=2), TICK, ack(11, 3, conn=2))
    assert syncs(told.stream(2)["would_have_sent"]) == {"code": 1, "document": 1, BEFORE: 1}


@pytest.mark.rule("unicast S3")
@pytest.mark.rule("unicast U17")
@pytest.mark.parametrize(("rules", "storms"), [("code", 4), ("document", 0), (BEFORE, 4)])
def test_a_storm_is_judged_by_the_rules_that_are_replayed(rules: str, storms: int) -> None:
    story = [step for n in range(1, 6) for step in (data(n + 1), sync(n), 100)]
    told = heard(B, *story, rules=rules)
    found = dict(told.findings()).get("UC013")
    assert (found is not None) is (storms > 0)
    if storms:
        assert told.finding("UC013")["facts"]["times"] == storms


@pytest.mark.rule("unicast S10")
def test_by_the_document_the_highest_message_answers_a_send_first_seqno_as_well() -> None:
    story = [data(n) for n in (1, 2, 3)]
    asked = [*story, TICK, sync(1), data(1, first=True), data(3), TICK, ack(3, 2)]
    told = heard(A, *asked, rules="document")
    assert told.stream()["resends"] == {
        "requested": 0, "sync_answer": 2, "highest_sent": 0, "unexplained": 0,
    }  # fmt: skip
    assert "UC004" not in dict(told.findings())
    by_code = heard(A, *asked)
    assert (by_code.stream()["resends"]["highest_sent"], "UC004" in dict(by_code.findings())) == (
        1,
        True,
    )


@pytest.mark.rule("unicast U17")
def test_before_the_sync_document_one_a_tick_is_no_storm() -> None:
    story = [step for n in range(1, 6) for step in (data(n + 1), sync(n), TICK)]
    assert "UC013" in dict(heard(B, *story).findings())
    assert "UC013" not in dict(heard(B, *story, rules=BEFORE).findings())


@pytest.mark.rule("unicast U2")
def test_before_the_sync_document_a_stale_ack_counts() -> None:
    story = [data(1), data(2, 5), TICK, ack(1, 3), ack(5, 2), 100]
    assert heard(A, *story).connection()["highest_acked"] == 1
    assert heard(A, *story, rules="document").connection()["highest_acked"] == 1
    assert heard(A, *story, rules=BEFORE).connection()["highest_acked"] == 5


@pytest.mark.rule("unicast U3")
@pytest.mark.parametrize(("apart_ms", "early"), [(340, True), (360, False)])
def test_the_document_has_a_minimum_time_between_acks(apart_ms: int, early: bool) -> None:
    story = [data(1), 100, ack(1, 1), data(2), apart_ms - 2, ack(2, 2)]
    assert (("UC042", "likely") in heard(B, *story, rules="document").findings()) is early
    assert heard(B, *story).not_judged()["UC042"].startswith("the shipped code")
    assert "UC042" not in dict(heard(B, *story, rules="document", min_ack_interval_ms=1).findings())


@pytest.mark.rule("unicast U2")
@pytest.mark.rule("unicast U3")
def test_acks_that_the_document_would_have_sent() -> None:
    story = [step for n in range(1, 21) for step in (data(n), 99)]
    told = heard(B, *story, ack(20, 1), min_ack_interval_ms=200)
    acks = {name: counts["acks"] for name, counts in told.stream()["would_have_sent"].items()}
    assert acks == {"code": 4, "document": 10, BEFORE: 10}


@pytest.mark.rule("unicast U6")
def test_the_document_asks_at_every_scan_so_no_request_is_too_early() -> None:
    story = [data(1), data(3), 100, ack(1, 1), request(2), data(2), TICK, ack(3, 2)]
    given: dict[str, Any] = {"xmit_interval_ms": 500}
    assert "UC035" in dict(heard(B, *story, **given).findings())
    assert "UC035" not in dict(heard(B, *story, **given, rules="document").findings())


@pytest.mark.rule("unicast U15")
def test_a_first_message_of_a_list_opens_the_window_for_the_rest() -> None:
    story = [data(7, first=True, listed=True), data(8, 9, listed=True), TICK, ack(9, 1)]
    assert heard(B, *story).delivered() == [[7, 9]]


def test_paced_counts_the_first_and_one_in_each_interval() -> None:
    paced = Paced(100)
    for first, last, causes, count in (
        (0, 0, 1, 1),
        (99, 99, 1, 1),
        (100, 450, 50, 5),
        (550, 950, 2, 7),
    ):
        paced.span(first, last, causes)
        assert paced.count == count


@pytest.mark.parametrize(
    ("stamp", "last", "accepted"),
    [
        (1, None, True), (0, None, True), (2, 1, True), (1, 1, False), (1, 2, False),
        (-(2**31), 2**31 - 1, True), (2**31 - 1, -(2**31), False), (5, -5, True), (-5, 5, False),
    ],
)  # fmt: skip
def test_the_order_of_timestamps(stamp: int, last: int | None, accepted: bool) -> None:
    assert newer(stamp, last) is accepted


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("3.5.0", Release(timestamps=False, throttled=False, cached=False, ack_threshold=5)),
        ("3.5.1", Release(timestamps=True, throttled=True, cached=False, ack_threshold=5)),
        ("4.1.4", Release(cached=False, ack_threshold=5)),
        ("4.1.5", Release(ack_threshold=5)),
        ("4.2.5", Release()),
        ("5.6.0", Release()),
        (None, Release()),
        ("new", Release()),
    ],
)
def test_releases(version: str | None, release: Release) -> None:
    assert Release.of(version) == release


# -- the tables themselves -------------------------------------------------------------------------


def test_every_row_has_a_test_or_says_why_no_capture_can_show_it() -> None:
    tested = {row for row, _ in marked()}
    assert [row.id for row in ROWS.values() if not row.not_visible and row.id not in tested] == []
    assert [row.id for row in ROWS.values() if row.not_visible and row.id in tested] == []
    assert [row for row in tested if row.startswith("unicast ") and row not in ROWS] == []


def test_every_row_is_cited_where_the_engine_implements_it() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in REPLAY.glob("*.py"))
    cited = set(re.findall(r"\b([USABP]\d+)\b", text))
    for first, letter, last in re.findall(r"\b(([USABP])\d+) to [USABP](\d+)\b", text):
        cited |= {f"{letter}{n}" for n in range(int(first[1:]), int(last) + 1)}
    rows = [row.id.removeprefix("unicast ") for row in ROWS.values() if not row.not_visible]
    assert [row for row in rows if row not in cited] == []
