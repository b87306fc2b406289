"""The data sender's rows (jgroups.md 4.3; table A), captured at A, which sends to B."""

from dataclasses import replace
from typing import Any

import pytest

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from tests.replay.builders import A, B, Step
from tests.replay.jgroups.unicast.builders import (
    TICK,
    ack,
    close,
    data,
    heard,
    leave_rsp,
    request,
    sync,
    view,
)

U4 = "unicast4"
LIVES = ack(1, by=A, at=B)  # A sends something
UNTOLD = "cannot be told"


# -- sending ---------------------------------------------------------------------------------------


@pytest.mark.rule("unicast A1")
@pytest.mark.rule("unicast U12")
def test_a_new_entry_has_a_new_conn_id() -> None:
    told = heard(A, data(1), TICK, ack(1, 1), close(), data(1, conn=2), TICK, ack(1, 2, conn=2))
    # a CLOSE so soon shows that its timers are not the default ones: it may be CLOSING by now
    assert (told.states(1), told.states(2)) == (["OPEN", "CLOSED"], ["OPEN", None])
    assert told.findings() == [("UC020", "proven"), ("UC022", "proven")]


@pytest.mark.rule("unicast A2")
@pytest.mark.rule("unicast U11")
def test_sending_on_a_closing_entry_opens_it_again() -> None:
    story = [data(1), TICK, ack(1, 1), 1300, data(2), TICK, ack(2, 2), 900]
    given: dict[str, Any] = {"conn_expiry_timeout_ms": 2000, "conn_close_timeout_ms": 60_000}
    assert heard(A, *story, **given).states() == ["OPEN"]
    assert heard(A, *story, 700, **given).states() == ["OPEN", "CLOSING"]
    later = heard(A, *story[:4], data(2), **(given | {"conn_expiry_timeout_ms": 1000}))
    assert later.states() == ["OPEN", "CLOSING", "OPEN"]
    moments = [state["at_ns"] // 1_000_000 for state in later.connection()["states"]]
    assert moments == [1, 1001, 1803]


@pytest.mark.rule("unicast A3")
@pytest.mark.rule("unicast U1")
def test_first_sends_and_copies_are_told_apart() -> None:
    story = [data(1), data(2, 5), TICK, ack(4, 1), 2 * TICK, data(5), 200, ack(5, 2)]
    told = heard(A, *story)
    assert told.told("messages", "arrivals", "copies", "highest_ack") == {
        "messages": 5, "arrivals": 6, "copies": 1, "highest_ack": 5,
    }  # fmt: skip


@pytest.mark.rule("unicast A4")
def test_unicast4_blocks_when_its_window_is_full() -> None:
    def round_of(first: int, stamp: int) -> list[Step]:
        return [data(first, first + 3, system=U4), 300, ack(first + 3, stamp, system=U4)]

    story = [step for n in range(3) for step in round_of(4 * n + 1, n + 1)]
    told = heard(A, *story, data(13, system=U4), capacity=4)
    assert [stall["outstanding"] for stall in told.stream()["stalls"]] == [4, 4, 4]
    assert ("UC024", "likely") in told.findings("UC026")
    learned = heard(A, *story, data(13, system=U4))
    assert learned.told("capacity") == {"capacity": {"value": 4, "origin": "learned"}}
    wide = heard(A, *story, data(13, system=U4), capacity=5)
    assert wide.told("stalls") == {"stalls": []}
    narrow = heard(A, *story, data(13, system=U4), capacity=3)
    assert ("UC025", "likely") in narrow.findings()


# -- ACKs ------------------------------------------------------------------------------------------


@pytest.mark.rule("unicast A5")
def test_an_ack_after_the_entry_was_removed_is_ignored() -> None:
    told = heard(A, data(1), TICK, ack(1, 1), close(), ack(1, 2))
    assert told.findings() == [("UC020", "proven"), ("UC038", "likely")]


@pytest.mark.rule("unicast A6")
def test_an_ack_of_another_connection_is_ignored_with_its_timestamp() -> None:
    story = [
        data(1), TICK, ack(1, 1), close(), data(1, conn=2), ack(1, 9), ack(1, 3, conn=2),
    ]  # fmt: skip
    told = heard(A, *story)
    assert told.connection(2)["highest_acked"] == 1  # 9 was not recorded: 3 is in order
    assert told.connection(2)["last_stamp"] == 3


@pytest.mark.rule("unicast U21")
def test_a_sender_keeps_what_is_not_acknowledged() -> None:
    told = heard(A, data(1), data(2, 5), TICK, ack(3, 1), data(6), data(6), 100)
    kept = told.stream()["unacknowledged"]
    assert (kept["most_messages"], kept["most_bytes"], kept["most_frame"]) == (5, 300, 2)
    assert (kept["last_messages"], kept["last_bytes"]) == (3, 180)  # 4, 5 and 6, sent twice


@pytest.mark.rule("unicast S5")
@pytest.mark.parametrize(("stamp", "stale"), [(2, False), (1, True)])
def test_a_send_first_seqno_whose_timestamp_is_not_above_the_last_is_ignored(
    stamp: int, stale: bool
) -> None:
    told = heard(A, data(1), data(2), TICK, ack(1, 1), 100, sync(stamp), 5, data(2, first=True))
    assert ("UC007" in dict(told.findings())) == stale


@pytest.mark.rule("unicast A7")
@pytest.mark.rule("unicast S7")
def test_an_ack_out_of_order_by_its_timestamp_is_ignored() -> None:
    told = heard(A, data(1), data(2), TICK, ack(1, 5), ack(2, 5), ack(2, 4), 200, ack(2, 6))
    assert told.told("acks_ignored") == {"acks_ignored": 2}
    assert told.findings() == [("UC007", "likely"), ("UC008", "likely")]  # frames may be exchanged
    late = heard(A, data(1), data(2), TICK, ack(1, 5), 30, ack(2, 4), 200, ack(2, 6))
    assert late.findings() == [("UC007", "proven"), ("UC008", "likely")]


@pytest.mark.rule("unicast A8")
@pytest.mark.rule("unicast S8")
def test_a_newer_ack_below_the_level_changes_only_the_timestamp() -> None:
    told = heard(A, data(1), data(2, 4), TICK, ack(4, 1), ack(2, 2))
    row = told.connection()
    assert (row["highest_acked"], row["last_stamp"], row["unacked_seqnos"]) == (4, 2, [])


@pytest.mark.rule("unicast A8")
def test_an_ack_counts_up_to_what_was_sent() -> None:
    assert heard(A, data(1), data(2), ack(9, 1)).connection()["highest_acked"] == 2


@pytest.mark.rule("unicast S4")
@pytest.mark.rule("unicast S9")
def test_timestamps_compare_across_their_overflow() -> None:
    top = 2**31 - 1
    story = [data(1), data(2), ack(1, top - 1), ack(1, top), ack(2, -(2**31))]
    told = heard(A, *story)
    assert told.connection()["highest_acked"] == 2
    assert told.told("acks_ignored") == {"acks_ignored": 0}
    back = heard(A, data(1), data(2), ack(1, -(2**31)), ack(2, top))
    assert back.told("acks_ignored") == {"acks_ignored": 1}


# -- SEND_FIRST_SEQNO ------------------------------------------------------------------------------


@pytest.mark.rule("unicast A9")
@pytest.mark.rule("unicast S5")
def test_a_stale_send_first_seqno_is_not_answered_and_that_is_right() -> None:
    story = [data(1), data(2, 3), TICK, ack(1, 5), sync(4), 1100, ack(3, 6)]
    told = heard(A, *story, data(4), ack(4, 7))
    assert told.findings() == [("UC012", "proven"), ("UC007", "likely")]


@pytest.mark.rule("unicast A10")
@pytest.mark.rule("unicast S6")
def test_the_answer_is_the_lowest_unacknowledged_message_with_first_set() -> None:
    story = [data(1), data(2, 5), TICK, ack(2, 1), 1000, sync(2)]
    right = heard(A, *story, data(3, first=True), 200, ack(5, 3))
    assert right.resends() == {"sync_answer": 1}
    assert right.findings("UC019") == [("UC012", "proven"), ("UC015", "likely")]
    assert right.told("copies_with_first_flag") == {"copies_with_first_flag": 1}
    wrong = heard(A, *story, data(2, first=True), 200, ack(5, 3))
    assert ("UC016", "likely") in wrong.findings()
    # it keeps all that is not acknowledged, so the ACK of 3 is only not in the capture
    higher = heard(A, *story, data(4, first=True), 200, ack(5, 3))
    assert "UC016" not in dict(higher.findings())
    none = heard(A, *story, 1100, data(6), 200, ack(6, 3))
    assert ("UC014", "likely") in none.findings()


@pytest.mark.rule("unicast A11")
def test_with_all_acknowledged_silence_is_right() -> None:
    told = heard(A, data(1), TICK, ack(1, 1), 2000, sync(2), 1500, data(2), TICK, ack(2, 3))
    assert "UC014" not in dict(told.findings())


@pytest.mark.rule("unicast U18")
def test_a_send_first_seqno_before_any_ack_tells_of_a_lost_first_message() -> None:
    story = [data(1), data(2), sync(1), data(1), 200, ack(2, 2)]
    told = heard(A, *story)
    assert told.resends() == {"sync_answer": 1}
    assert told.findings() == [("UC012", "proven"), ("UC003", "likely")]


# -- XMIT_REQ --------------------------------------------------------------------------------------


@pytest.mark.rule("unicast A12")
def test_a_request_without_an_entry_asks_for_nothing() -> None:
    told = heard(A, data(1), data(2), TICK, ack(2, 1), close(), request(1), 1100, data(1, conn=2),
                 200, ack(1, 2, conn=2))  # fmt: skip
    assert told.findings("UC020", "UC022") == []


@pytest.mark.rule("unicast A13")
def test_every_request_is_answered_in_full() -> None:
    story = [data(1), data(2, 6), TICK, ack(1, 1), 300, request(2, 4), data(2), data(4)]
    again = [300, request(2, 4), data(2), data(4), 200, ack(6, 2)]
    told = heard(A, *story, *again)
    assert told.resends() == {"requested": 4}
    assert told.findings() == [("UC048", UNTOLD)]
    assert told.finding("UC048")["seqnos"] == [[2, 2], [4, 4]]
    facts = told.finding("UC048")["facts"]
    assert (facts["asker_member"], facts["count"]) == (B, 2)


@pytest.mark.rule("unicast A13")
def test_whoever_asks_lacks_what_passed_while_it_had_its_window() -> None:
    later = [1300, data(2), 1300, data(1, conn=2), data(2, 6, conn=2), TICK, ack(1, 1, conn=2)]
    told = heard(A, data(1), *later, request(3), ack(2, 2, conn=2))
    assert ("UC048", "proven") in told.findings()
    unseen = heard(A, data(1), *later, request(3), ack(2, 3, conn=2))
    assert ("UC048", "likely") in unseen.findings()  # 2 may be a SEND_FIRST_SEQNO's number
    rebuilt = heard(A, data(1), *later, sync(2), data(2, conn=2, first=True), request(3))
    assert ("UC048", UNTOLD) in rebuilt.findings()


@pytest.mark.rule("unicast A13")
@pytest.mark.parametrize("answered", [True, False])
def test_a_request_for_what_is_kept_that_stays_without_an_answer(answered: bool) -> None:
    answer: list[Step] = [data(2)] if answered else []
    story = [data(1), data(2, 3), TICK, ack(1, 1), request(2), *answer, 1200, data(4), ack(4, 2)]
    assert ("UC031", "likely") in heard(A, *story).findings() or answered
    assert ("UC031", "likely") not in heard(A, *story).findings() or not answered


@pytest.mark.rule("unicast A13")
def test_a_resend_is_none_captured_again_though_its_ipv6_id_is_lower() -> None:
    # The ids of IPv6 fragments are drawn by lot [s-u3-bidir-3].
    lots = iter([2_760_005_979, 817_735_338, 156_444_985])
    sent = [data(1), *(data(seqno, ip_id=next(lots)) for seqno in (2, 3))]
    story = [*sent, TICK, ack(1, 1), request(2), data(2, ip_id=next(lots)), 1200, ack(3, 2)]
    told = heard(A, *story)
    assert "UC031" not in {rule for rule, _ in told.findings()}
    assert told.told("copies") == {"copies": 1}


@pytest.mark.rule("unicast A13")
def test_a_late_answer_is_an_answer_and_one_that_is_dead_owes_none() -> None:
    story = [data(1), data(2, 5), TICK, ack(1, 1), request(2, 3)]
    late = heard(A, *story, 2500, data(2, 3), ack(5, 2))
    assert late.resends() == {"requested": 2}
    assert late.findings("UC019") == [("UC048", UNTOLD)]
    dead = heard(A, *story, 1200, request(2, 3), 1200, request(2, 3))
    assert dead.findings() == [("UC048", UNTOLD)]


@pytest.mark.rule("unicast A14")
@pytest.mark.rule("unicast P5")
def test_what_was_acknowledged_is_skipped_and_twice_in_a_row_it_is_a_purge() -> None:
    story = [data(1), data(2, 5), TICK, ack(5, 1)]
    asked = [300, request(3, 4)]
    once = heard(A, *story, *asked)
    assert once.findings() == []  # ACK and request may have crossed
    twice = heard(A, *story, *asked * 2)
    assert twice.findings() == [("UC010", "likely")]
    assert twice.finding("UC010")["seqnos"] == [[3, 4]]
    answered = heard(A, *story, *asked * 2, 100, data(3, 4))
    assert answered.findings() == [("UC017", "likely")]


@pytest.mark.parametrize("shows", [request(6), ack(5, 2)], ids=["left out", "acknowledged"])
def test_what_was_had_in_the_end_is_not_asked_for_endlessly(shows: Step) -> None:
    """The answer is not in the capture; later words of the receiver show that it came."""
    story = [data(1, 7), ack(2, 1), *[request(3), LIVES, TICK] * 5]
    assert ("UC011", "proven") in heard(A, *story).findings()
    assert "UC011" not in dict(heard(A, *story, shows).findings())


@pytest.mark.rule("unicast P6")
def test_five_unanswered_requests_are_endless() -> None:
    story = [data(1), data(2, 5), TICK, ack(5, 1)]
    told = heard(A, *story, *[300, request(3, 4), LIVES] * 5)
    assert told.findings() == [("UC010", "likely"), ("UC011", "proven")]
    # One that is paused reads none of them, and answers when it goes on.
    silent = heard(A, *story, LIVES, *[300, request(3, 4)] * 5)
    assert silent.findings() == [("UC010", "likely"), ("UC011", "likely")]


# -- the tick --------------------------------------------------------------------------------------


@pytest.mark.rule("unicast A15")
@pytest.mark.rule("unicast U4")
def test_the_highest_is_resent_while_it_is_not_acknowledged() -> None:
    story = [data(1), data(2), 900, data(2), TICK, data(2), 200, ack(2, 1)]
    told = heard(A, *story)
    assert told.resends() == {"highest_sent": 2}
    assert told.findings() == [("UC004", "cannot be told")]
    assert told.finding("UC004")["seqnos"] == [[2, 2]]


def test_a_resent_first_message_is_said_to_be_the_first() -> None:
    told = heard(A, data(1), 900, data(1), 200, ack(1, 1))
    assert told.findings() == [("UC003", "cannot be told")]


@pytest.mark.rule("unicast A16")
@pytest.mark.rule("unicast U5")
@pytest.mark.rule("unicast U9")
@pytest.mark.parametrize(("after_ms", "late"), [(1240, False), (1260, True)])
def test_a_resend_is_due_within_two_ticks(after_ms: int, late: bool) -> None:
    story = [data(1), data(2), after_ms, data(2), 200, ack(2, 1)]
    assert (("UC019", "likely") in heard(A, *story).findings()) is late


def test_no_resend_was_late_of_what_may_have_been_acknowledged_meanwhile() -> None:
    quiet = heard(A, data(1), 300, ack(1, 1), data(2), 3000, ack(2, 2), data(3), TICK, ack(3, 3))
    assert quiet.findings() == []


def test_a_clock_that_was_set_makes_no_resend_late() -> None:
    set_forward = heard(A, data(1), data(2), 6000, data(2), 200, ack(2, 1))
    assert set_forward.findings() == [("UC004", "cannot be told")]


@pytest.mark.rule("unicast P4")
@pytest.mark.parametrize(("after_ms", "needless"), [(10, False), (40, True)])
def test_a_resend_within_milliseconds_of_its_ack_is_a_race(after_ms: int, needless: bool) -> None:
    story: list[Step] = [data(1), data(2, ip_id=5), 600, ack(2, 1), after_ms]
    told = heard(A, *story, data(2, ip_id=9))
    assert told.findings() == ([("UC005", "proven")] if needless else [])
    without_ids = heard(A, data(1), data(2), 600, ack(2, 1), after_ms, data(2))
    assert without_ids.findings() == ([("UC005", "likely")] if needless else [])


@pytest.mark.parametrize(("level", "needless"), [(1, []), (2, [("UC005", "likely")])])
def test_a_resend_behind_a_lower_ack_that_is_newer_answers_a_window_built_anew(
    level: int, needless: list[tuple[str, str]]
) -> None:
    # u3-stale-ack-fixed: ACK 2 was stale, behind a SEND_FIRST_SEQNO that is not in the capture.
    story = [data(1), ack(1, 1), data(2), TICK, ack(2, 2), 100, ack(level, 6), TICK, data(2), TICK]
    assert heard(A, *story, ack(2, 7)).findings("UC019", "UC004") == needless


def test_any_other_copy_is_not_explained() -> None:
    told = heard(A, data(1), data(2, 5), 100, data(3), 200, ack(5, 1))
    assert told.resends() == {"unexplained": 1}
    assert told.findings() == [("UC017", "likely")]


def test_uc041_what_is_sent_after_a_higher_seqno_is_told_and_out_of_band_it_is_by_design() -> None:
    told = heard(A, data(1), data(3), data(2), TICK, ack(3, 1))
    assert told.findings() == [("UC041", "likely")]
    assert told.finding("UC041")["seqnos"] == [[2, 2]]
    assert heard(A, data(1), data(3), data(2, oob=True), TICK, ack(3, 1)).findings() == []


# -- closing ---------------------------------------------------------------------------------------


@pytest.mark.rule("unicast A17")
@pytest.mark.rule("unicast A18")
@pytest.mark.rule("unicast U19")
@pytest.mark.rule("unicast U20")
def test_an_idle_connection_is_closing_and_then_closed() -> None:
    story = [data(1), TICK, ack(1, 1), 2000, close()]
    told = heard(A, *story, conn_expiry_timeout_ms=1000, conn_close_timeout_ms=1000)
    assert told.states() == ["OPEN", "CLOSING", "CLOSED"]
    assert [s["at_ns"] // 1_000_000 for s in told.connection()["states"]] == [1, 1001, 2503]
    assert told.told("closes") == {"closes": {"sent": 1, "arrived": None}}


@pytest.mark.rule("unicast A18")
def test_what_is_unacknowledged_when_the_entry_is_removed_is_lost() -> None:
    told = heard(A, data(1), data(2, 3), TICK, ack(1, 1), 900, data(3), 200, close())
    assert ("UC028", "likely") in told.findings()
    assert told.finding("UC028")["seqnos"] == [[2, 3]]
    silently = heard(A, data(1), data(2), 400, data(1, conn=2), 200, ack(1, 1, conn=2))
    assert silently.finding("UC028")["seqnos"] == [[1, 2]]
    assert silently.states(1) == ["OPEN", "CLOSED"]


@pytest.mark.rule("unicast A19")
@pytest.mark.rule("unicast A20")
@pytest.mark.rule("unicast U10")
def test_views_close_and_open_and_resends_go_on() -> None:
    story = [view("ABC", 1), data(1), view("AC", 2), 900, data(1), view("ABC", 3), 100, ack(1, 1)]
    told = heard(A, *story)
    assert told.states() == ["OPEN", "CLOSING", "OPEN"]
    assert told.resends() == {"highest_sent": 1}


@pytest.mark.rule("unicast A2")
@pytest.mark.rule("unicast A19")
def test_sending_opens_it_whatever_the_view_says_and_a_resend_does_not() -> None:
    story = [view("ABC", 1), data(1), view("AC", 2), 900, data(1)]
    assert heard(A, *story, 300).states() == ["OPEN", "CLOSING"]
    assert heard(A, *story, data(2), 300).states() == ["OPEN", "CLOSING", "OPEN"]


@pytest.mark.rule("unicast A17")
@pytest.mark.rule("unicast A20")
def test_a_view_that_opens_it_begins_its_age_anew() -> None:
    given: dict[str, Any] = {"conn_expiry_timeout_ms": 5000, "conn_close_timeout_ms": 5000}
    story = [view("ABC", 1), data(1), TICK, ack(1, 1), 3000, view("AC", 2), 1000, view("ABC", 3)]
    assert heard(A, *story, 4000, **given).states() == ["OPEN", "CLOSING", "OPEN"]
    assert heard(A, *story, 6000, **given).states() == ["OPEN", "CLOSING", "OPEN", "CLOSING"]
    open_still = heard(A, *story[:5], view("ABC", 2), 3000, **given)
    assert open_still.states() == ["OPEN", "CLOSING"]


@pytest.mark.rule("unicast A18")
def test_who_is_in_no_view_is_removed_without_a_close() -> None:
    given: dict[str, Any] = {"conn_expiry_timeout_ms": 5000, "conn_close_timeout_ms": 5000}
    story = [view("ABC", 1), data(1), TICK, ack(1, 1), view("AC", 2), 6000]
    assert heard(A, *story, **given).states() == ["OPEN", "CLOSING", "CLOSED"]


@pytest.mark.rule("unicast A21")
def test_a_member_that_disconnects_sends_its_acks_and_no_close() -> None:
    told = heard(A, data(1), 100, ack(1, 1), view("AC", 2), 3000)
    assert told.told("closes") == {"closes": {"sent": 0, "arrived": None}}
    assert told.findings() == []


@pytest.mark.rule("unicast A21")
def test_a_member_that_leaves_with_unacknowledged_messages() -> None:
    story = [data(1), TICK, ack(1, 1), data(2, 3), 100, leave_rsp(A), 2000]
    told = heard(A, *story)
    assert told.findings() == [("UC028", "likely")]
    assert told.finding("UC028")["seqnos"] == [[2, 3]]
    assert heard(A, *story[:3], leave_rsp(A)).findings() == []
    stays = [*story[:-2], leave_rsp(B), 700, data(3), TICK, data(3)]
    assert heard(A, *stays, TICK).findings() == [("UC026", "likely")]
    # a tick resends what is not acknowledged: only the ACK is not in the capture
    assert heard(A, *stays, 3 * TICK).findings() == [("UC004", "likely")]


def test_an_answer_that_is_asked_for_again() -> None:
    story = [data(1), data(2, 5), TICK, ack(2, 1), 1000, sync(2), data(3, first=True)]
    again = heard(A, *story, 100, sync(3), data(3, first=True), 200, ack(5, 4))
    assert ("UC044", "cannot be told") in again.findings()
    other = heard(A, *story, 100, ack(3, 3), sync(4), data(4, first=True), 200, ack(5, 5))
    assert "UC044" not in dict(other.findings())


def test_messages_that_stay_unacknowledged_and_a_peer_that_says_nothing() -> None:
    story = [data(1), TICK, ack(1, 1), data(2), 900, *[data(2), TICK] * 4]
    told = heard(A, *story, 700)
    assert told.findings() == [("UC026", "likely"), ("UC027", "likely")]
    assert told.connection()["unacked_seqnos"] == [[2, 2]]
    never = heard(A, data(1), 900, *[data(1), TICK] * 5, 700)  # what it sends may be filtered out
    assert dict(never.findings())["UC027"] == UNTOLD


def test_a_sender_that_falls_silent_has_the_ack_that_the_capture_has_not() -> None:
    # u3-last-lost at B, without the ACK of its last message.
    told = heard(A, data(1), TICK, ack(1, 1), data(2), 900, data(2), 3700, LIVES)
    assert told.findings() == [("UC004", "likely")]
    assert "acknowledged it, and the ACK is not in this capture" in told.finding("UC004")["text"]


# -- stale ACKs (JGRP-1873, JGRP-1875) -------------------------------------------------------------

#: B has lost its window; its ACK of 5 from before comes late, after its SEND_FIRST_SEQNO.
STALE = [
    data(1), data(2, 5), TICK, ack(1, 1), 900, data(5), sync(3), data(2, first=True), ack(5, 2),
    200, ack(2, 4), TICK, request(3, 4),
]  # fmt: skip


def test_a_stale_ack_is_rightly_ignored() -> None:
    told = heard(A, *STALE, data(3, 4), 300, ack(5, 5))
    assert ("UC008", "proven") in told.findings()
    assert told.finding("UC008")["seqnos"] == [[3, 4]]
    assert told.told("acks_ignored") == {"acks_ignored": 1}


@pytest.mark.parametrize(("apart_ms", "certainty"), [(10, "likely"), (40, "proven")])
def test_uc008_a_copy_just_behind_a_stale_ack_had_left_before_it_was_read(
    apart_ms: int, certainty: str
) -> None:
    story = [data(1, 5), TICK, ack(2, 3), 100, request(3, 4), ack(4, 2), apart_ms]
    told = heard(A, *story, data(3, 4), 300, ack(5, 5))
    assert ("UC008", certainty) in told.findings()


def test_a_sender_that_obeys_a_stale_ack_has_purged_what_is_asked_for() -> None:
    told = heard(A, *STALE, *[TICK, request(3, 4), LIVES] * 5)
    errors = [rule for rule in told.findings() if rule[0] in ("UC009", "UC010", "UC011")]
    assert errors == [("UC009", "likely"), ("UC010", "likely"), ("UC011", "proven")]
    assert told.finding("UC009")["seqnos"] == [[3, 4]]
    assert told.told("acks_ignored") == {"acks_ignored": 0}


def test_3_5_0_has_no_timestamps_and_purges() -> None:
    plain = [
        data(1), data(2, 5), TICK, ack(1), 900, data(5), sync(), data(2, first=True), ack(5),
        200, ack(2), TICK, request(3, 4), TICK, request(3, 4),
    ]  # fmt: skip
    told = heard(A, *plain, version="3.5.0")
    assert ("UC010", "likely") in told.findings()
    assert told.not_judged()["UC009"] == "this release has no timestamps"


# -- between members -------------------------------------------------------------------------------


@pytest.mark.rule("unicast P8")
def test_between_members_traffic_is_counted_and_nothing_is_said_of_the_ends() -> None:
    story = [data(1), data(2, 4), TICK, ack(4, 1), request(3), data(3), close()]
    told = heard(None, *story)
    row = told.stream()
    assert (row["role"], row["delivered"], row["lost"]) == ("between", None, None)
    assert row["acks"] == {"sent": None, "arrived": None, "passed": 1}
    assert row["requests"]["passed"] == 1 and row["closes"]["passed"] == 1
    assert told.findings() == [("UC020", "proven")]
    assert {"UC001", "UC009", "UC010"} <= told.not_judged().keys()


def test_a_mirror_sees_endless_requests() -> None:
    story = [data(1), data(2, 4), TICK, *[TICK, request(3)] * 5]
    assert ("UC011", "likely") in heard(None, *story).findings()


def test_copies_of_the_network_are_no_acks_out_of_order_and_no_storm() -> None:
    story = [data(1), data(2), sync(1), data(1, first=True), TICK, ack(2, 2)]
    twice = [
        step
        for event in story
        for step in (
            [event, replace(event, flags=event.flags | Flag.NETWORK_DUPLICATE)]
            if isinstance(event, Event) and event.source == B
            else [event]
        )
    ]
    assert heard(A, *twice).findings() == heard(A, *story).findings()
