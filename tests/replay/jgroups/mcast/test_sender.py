"""The sender's rows (S, and what of D and V concerns a sender), captured at A."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.replay.builders import (
    B,
    C,
    Heard,
    Step,
    ack,
    heard,
    highest,
    msg,
    view,
    xmit_req,
    xmit_rsp,
)

#: A multicasts view 1 with B and C as its first message; both acknowledge it.
START: tuple[Step, ...] = (view("ABC", 1, 1), ack(1, by=B), ack(1, by=C))
#: The same, and 4 is certain not to have been sent before the capture began.
LATER: tuple[Step, ...] = (*START, 1100, msg(2), 1100, msg(3), msg(4))
UNTOLD = "cannot be told"


def stalls(told: Heard) -> list[tuple[int, str | None, bool]] | None:
    """(seqno that filled the window, who made room, proven)."""
    rows: list[dict[str, Any]] | None = told.stream()["stalls"]
    if rows is None:
        return None
    return [(row["filled_by"], row["raised_by_member"], row["proven"]) for row in rows]


# -- window and blocking -----------------------------------------------------------------------


@pytest.mark.rule("S1")
@pytest.mark.rule("V4")
def test_a_full_window_blocks_until_an_ack_raises_the_minimum() -> None:
    story = (*START, msg(2, 5), 700, ack(5, by=B), 700, ack(2, by=C), 3, msg(6))
    told = heard("A", *story, capacity=4)
    assert told.stream()["stalls"] == [
        {
            "full_frame": 4,
            "full_at_ns": 4_000_000,
            "filled_by": 5,
            "raised_frame": 6,
            "raised_by_member": "C",
            "resumed_frame": 7,
            "blocked_ns": 1_406_000_000,
            "outstanding": 4,
            "proven": True,
        }
    ]
    assert told.findings() == [("MC006", "likely", [])]
    assert told.finding("MC006")["facts"]["blocked_ns"] == 1_406_000_000


@pytest.mark.rule("S1")
@pytest.mark.rule("V4")
def test_a_block_is_only_likely_if_the_new_seqno_does_not_follow_the_ack_at_once() -> None:
    story = (*START, msg(2, 5), ack(5, by=B), 700, ack(2, by=C))
    assert stalls(heard("A", *story, 19, msg(6), capacity=4)) == [(5, "C", True)]
    told = heard("A", *story, 20, msg(6), capacity=4)
    assert stalls(told) == [(5, "C", False)]
    assert told.findings() == [("MC006", "likely", [])]
    said = told.finding("MC006")
    assert (said["facts"]["times"], said["facts"]["proven"]) == (1, 0)
    assert " at most; " in said["text"], "it may have been idle"


@pytest.mark.rule("S1")
def test_a_window_full_no_longer_than_its_sender_pauses_anyhow_may_block_nobody() -> None:
    # 5 fills it, and C's ACK comes in the pause that is before every message [s-u4-acksdelayed-3].
    paced = (*START, msg(2), 8, msg(3), 8, msg(4), 8, msg(5), ack(5, by=B), 4, ack(5, by=C))
    told = heard("A", *paced, 2, msg(6), capacity=4)
    assert stalls(told) == [(5, "C", False)]
    assert "was blocked at most {times:time}" in told.finding("MC006")["text"]
    assert stalls(heard("A", *paced, 15, msg(6), capacity=4)) == [(5, "C", True)]


@pytest.mark.rule("S1")
def test_a_window_with_room_blocks_nobody() -> None:
    told = heard("A", *START, msg(2, 4), 700, ack(4, by=B), ack(4, by=C), msg(5), capacity=4)
    assert (stalls(told), told.findings()) == ([], [])


@pytest.mark.rule("S2")
def test_a_seqno_whose_message_was_dropped_is_never_sent() -> None:
    told = heard("A", *START, msg(2), msg(4), 5000)
    assert told.gaps() == [("not sent, or not captured", [[3, 3]])]
    assert told.told("lost", "delivered") == {"lost": None, "delivered": None}


@pytest.mark.rule("S3")
def test_a_message_raises_high() -> None:
    told = heard("A", *START, msg(2, 4), msg(5))
    model = told.engine.streams["lab|A"].sender_model
    assert model is not None
    assert (model.low, model.high, model.max_outstanding) == (1, 5, 4)
    assert told.told("messages", "first_seqno", "last_seqno") == {
        "messages": 5,
        "first_seqno": 1,
        "last_seqno": 5,
    }


@pytest.mark.rule("S14")
@pytest.mark.rule("V5")
def test_exactly_capacity_messages_can_be_unacknowledged() -> None:
    exact = heard("A", *START, msg(2, 5), capacity=4)
    assert (exact.stream()["max_outstanding"], exact.findings()) == (4, [])
    over = heard("A", *START, msg(2, 6), capacity=4)
    assert over.findings() == [("MC007", "likely", [])]
    assert over.finding("MC007")["facts"]["outstanding"] == 5


@pytest.mark.rule("S15")
def test_blocked_threads_go_on_in_any_order() -> None:
    story = (*START, msg(2, 5), ack(5, by=B), 700, ack(5, by=C), msg(7), msg(6), msg(8))
    told = heard("A", *story, capacity=4)
    assert stalls(told) == [(5, "C", True)]
    assert told.findings() == [("MC012", "likely", [[6, 6]]), ("MC006", "likely", [])]
    assert told.gaps() == [("sent out of order", [[6, 6]])]


# -- ACKs --------------------------------------------------------------------------------------


def low(*story: Step, **given: int | str) -> int:
    """Low of A's window at the end."""
    model = heard("A", *START, *story, **given).engine.streams["lab|A"].sender_model
    assert model is not None
    return model.low


@pytest.mark.rule("S4")
def test_an_ack_of_a_non_member_is_ignored() -> None:
    told = heard("A", *START, msg(2, 3), ack(3, by="D"), ack(3, by=B), ack(2, by=C))
    model = told.engine.streams["lab|A"].sender_model
    assert model is not None and model.low == 2
    assert told.findings() == [("MC020", "likely", [])]
    assert told.finding("MC020")["facts"]["count"] == 1


@pytest.mark.rule("S5")
def test_an_ack_at_or_below_the_known_one_changes_nothing() -> None:
    assert low(msg(2, 5), ack(4, by=C), ack(4, by=B), ack(2, by=B), ack(4, by=B)) == 4


@pytest.mark.rule("S6")
def test_the_minimum_over_all_members_is_purged() -> None:
    assert low(msg(2, 5), ack(4, by=B)) == 1
    assert low(msg(2, 5), ack(4, by=B), ack(3, by=C)) == 3
    assert low(msg(2, 5), ack(4, by=B), ack(5, by=C)) == 4


@pytest.mark.rule("S16")
def test_of_several_acks_at_once_the_highest_counts() -> None:
    assert low(msg(2, 5), ack(5, by=C), ack(4, by=B), ack(3, by=B), ack(2, by=B)) == 4


@pytest.mark.rule("S13")
@pytest.mark.rule("D5")
def test_an_ack_that_comes_only_after_highest_seqno_was_lost_or_late() -> None:
    story = (*START, msg(2, 3), ack(3, by=B), 600, highest(3), 500, highest(3), 2, ack(3, by=C))
    told = heard("A", *story)
    assert told.findings() == [("MC008", "likely", [])]
    facts = told.finding("MC008")["facts"]
    assert (facts["late_member"], facts["times"]) == ("C", 1)
    in_time = heard("A", *START, msg(2, 3), ack(3, by=B), 2, ack(3, by=C), 600, highest(3))
    assert in_time.findings() == []


@pytest.mark.rule("S13")
def test_a_member_that_asks_for_repairs_explains_its_late_ack() -> None:
    story = (*START, msg(2, 3), ack(3, by=B), 600, highest(3), 2, xmit_req(3, by=C), msg(3))
    asked = [("MC024", UNTOLD, [[3, 3]])]
    assert heard("A", *story, ack(3, by=C)).findings() == asked
    twice = (*START, msg(2, 3), ack(3, by=B), 600, highest(3), 500, highest(3), xmit_req(3, by=C))
    assert heard("A", *twice, msg(3), ack(3, by=C)).findings() == asked


# -- views -------------------------------------------------------------------------------------


@pytest.mark.rule("S8")
def test_a_leaver_is_out_of_the_map_and_no_longer_holds_the_minimum() -> None:
    told = heard("A", *START, msg(2, 4), ack(4, by=B), 300, view("AB", 2, 5), ack(5, by=C))
    model = told.engine.streams["lab|A"].sender_model
    assert model is not None and model.low == 4
    assert told.findings() == [("MC020", "likely", [])]


@pytest.mark.rule("S8")
def test_a_view_without_the_slow_member_ends_the_block() -> None:
    told = heard("A", *START, msg(2, 5), ack(5, by=B), 9000, view("AB", 2, 6), msg(7), capacity=4)
    assert stalls(told) == [(5, None, True)]
    assert told.stream()["max_outstanding"] == 4


@pytest.mark.rule("S8")
def test_what_was_blocked_goes_out_before_the_view_that_freed_it_is_on_the_wire() -> None:
    # A installs the view, 6-9 go out, then the VIEW itself (10) [n4-crash-leave-1].
    story = (*START, msg(2, 5), ack(5, by=B), 9000, msg(6, 9), 5, ack(9, by=B), view("AB", 2, 10))
    told = heard("A", *story, capacity=4)
    assert stalls(told) == [(5, None, True), (9, "B", True)]
    assert told.stream()["max_outstanding"] == 4
    late = heard("A", *story[:-1], 200, story[-1], capacity=4)  # too late to explain it
    assert "MC007" in [rule for rule, _, _ in late.findings()]


@pytest.mark.rule("S8")
def test_an_old_overrun_is_not_explained_by_a_view_long_after_it() -> None:
    story = (msg(2, 3), ack(3, by=B), msg(4, 6), 60_000, view("AB", 2, 7))
    told = heard("A", *START, *story, capacity=4)
    assert told.finding("MC007")["facts"]["outstanding"] == 5


@pytest.mark.rule("S8")
def test_the_last_other_member_leaves_and_the_block_ends() -> None:
    story = (view("AB", 1, 1), ack(1), msg(2, 5), 9000, view("A", 2, 6), msg(7), msg(8, 20))
    told = heard("A", *story, capacity=4)
    assert stalls(told) == [(5, None, True)]
    assert told.stream()["max_outstanding"] == 4


@pytest.mark.rule("S9")
@pytest.mark.rule("D7")
def test_a_joiner_enters_with_zero_and_low_does_not_fall() -> None:
    story = (msg(2, 3), ack(3, by=B), ack(3, by=C), view("ABCD", 2, 4), msg(5, 7))
    assert low(*story) == 3
    assert low(*story, ack(7, by=B), ack(7, by=C)) == 3  # D has acknowledged nothing
    assert low(*story, ack(7, by=B), ack(7, by=C), ack(6, by="D")) == 6


@pytest.mark.rule("S9")
def test_a_joiner_holds_back_the_purge_and_blocks_the_sender() -> None:
    story = (*START, view("ABCD", 2, 2), ack(2, by=B), ack(2, by=C), msg(3, 5))
    blocked = (*story, ack(5, by=B), ack(5, by=C), 800, ack(4, by="D"), msg(6))
    assert stalls(heard("A", *blocked, capacity=4)) == [(5, "D", True)]


@pytest.mark.rule("S9")
def test_what_was_sent_alone_is_acknowledged_by_oneself_and_no_overrun() -> None:
    told = heard("A", msg(1, 500), 3000, view("AB", 1, 501), ack(501), msg(502, 504), capacity=4)
    assert told.told("max_outstanding") == {"max_outstanding": 3}
    assert told.findings() == []


# -- requests ----------------------------------------------------------------------------------


@pytest.mark.rule("S10")
@pytest.mark.rule("V17")
def test_repairs_are_copies_and_no_new_messages() -> None:
    told = heard(
        "A", *START, msg(2, 5), 900, xmit_req(3, by=B), msg(3), xmit_req(4, by=C),
        xmit_rsp(4, for_=C), capacity=4,
    )  # fmt: skip
    assert told.told("messages", "arrivals", "copies", "requests", "max_outstanding") == {
        "messages": 5,
        "arrivals": 7,
        "copies": 2,
        "requests": {"sent": None, "arrived": 2},
        "max_outstanding": 4,
    }
    assert told.stream()["peers"] == {
        "B": {
            "requests": 1,
            "requested_seqnos": 1,
            "acks": 1,
            "highest_ack": 1,
            "repairs": 0,
        },
        "C": {
            "requests": 1,
            "requested_seqnos": 1,
            "acks": 1,
            "highest_ack": 1,
            "repairs": 1,
        },
    }
    assert told.findings() == [("MC024", UNTOLD, [[3, 3]]), ("MC024", UNTOLD, [[4, 4]])]


@pytest.mark.rule("S11")
def test_a_request_for_what_its_asker_acknowledged_is_spurious() -> None:
    told = heard("A", *START, msg(2, 3), ack(3, by=B), ack(3, by=C), 500, xmit_req(2, 3, by=B))
    assert told.findings() == [("MC013", "likely", [[2, 3]])]
    last = heard("A", *START, msg(2, 3), ack(2, by=B), ack(3, by=C), xmit_req(2, by=B))
    assert last.findings() == [("MC013", "likely", [[2, 2]])]
    other = heard("A", *START, msg(2, 3), ack(2, by=B), ack(3, by=C), xmit_req(3, by=B))
    assert other.findings() == [("MC024", UNTOLD, [[3, 3]])]  # it had not acknowledged that


@pytest.mark.rule("S11")
def test_whoever_asks_lacks_what_passed_while_it_had_its_window() -> None:
    asked = (msg(5, 6), 600, xmit_req(4, 5, by=B))
    assert heard("A", *LATER, *asked).findings() == [("MC024", "proven", [[4, 5]])]
    older = heard("A", *LATER, xmit_req(2, 3, by=B))
    assert older.findings() == [("MC024", UNTOLD, [[2, 3]])]
    unsent = heard("A", *LATER, msg(6), 600, xmit_req(5, by=B))
    assert unsent.findings() == [("MC024", UNTOLD, [[5, 5]])]
    run = replace(msg(3, 6), last_frame=3)  # rows are joined to runs
    in_a_run = heard("A", *LATER[:5], 1100, run, 600, xmit_req(5, by=B))
    assert in_a_run.findings() == [("MC024", "proven", [[5, 5]])]


@pytest.mark.rule("S11")
def test_who_has_come_by_a_view_may_have_had_or_never_been_sent_what_passed_before() -> None:
    story = (*LATER, msg(5), view("AC", 2, 6), msg(7), view("ABC", 3, 8), msg(9), 600)
    for member, certainty in ((B, UNTOLD), (C, "proven")):
        told = heard("A", *story, xmit_req(5, by=member))
        assert told.findings() == [("MC024", certainty, [[5, 5]])]
        assert heard("A", *story, xmit_req(9, by=member)).findings()[0][1] == "proven"
    out = heard("A", *LATER, view("AC", 2, 5), msg(6), 600, xmit_req(6, by=B))
    assert out.findings() == [("MC024", UNTOLD, [[6, 6]])]


@pytest.mark.rule("S11")
def test_between_views_that_are_not_in_a_row_anybody_may_have_gone_and_come_again() -> None:
    for number, certainty in ((2, "proven"), (3, UNTOLD)):
        story = (*LATER, msg(5), view("ABC", number, 6), msg(7), 600)
        told = heard("A", *story, xmit_req(5, by=B))
        assert told.findings() == [("MC024", certainty, [[5, 5]])]
        assert heard("A", *story, xmit_req(7, by=B)).findings()[0][1] == "proven"


@pytest.mark.rule("S11")
@pytest.mark.parametrize("by", ["A", C])
def test_of_a_view_that_cannot_be_read_anybody_may_be_new_in_it(by: str) -> None:
    # merge-nakack2, cut to 160 bytes: A's merged view tells nothing, and B asks for 244.
    unread = replace(view("ABC", 2, 6, by=by), detail=None)
    told = heard("A", *LATER, msg(5), unread, msg(7), 600, xmit_req(5, 7, by=B))
    found = [row for row in told.findings() if row[0] == "MC024"]
    assert found == [("MC024", UNTOLD, [[5, 5], [7, 7]])]


@pytest.mark.rule("S11")
def test_who_was_there_before_the_sender_installs_the_view_with_it_in_its_own_time() -> None:
    # D sends when B may not have the view with it yet, which C, that casts it, and E have.
    acks = [step for _ in range(9) for step in (ack(1, by=B), 200)]
    cast = (view("CB", 1, 1, by=C), *acks, view("CBD", 2, 2, by=C), view("CBDE", 3, 3, by=C))
    story = (*cast, msg(1, by="D"), msg(2, by="D"), msg(3, by="D"), 1100)
    for member, certainty in (("B", UNTOLD), ("C", "proven"), ("E", "proven")):
        told = heard("D", *story, xmit_req(2, by=member, of="D"))
        assert told.findings() == [("MC024", certainty, [[2, 2]])]
    there = heard("D", *story, ack(3, by=B, of="D"), msg(4, by="D"), 600,
                  xmit_req(4, by=B, of="D"))  # fmt: skip
    assert there.findings() == [("MC024", "proven", [[4, 4]])]


@pytest.mark.rule("S11")
def test_a_merged_view_is_installed_by_each_part_when_its_coordinator_casts_it() -> None:
    # A's part and B's merge; what A sends before B casts the view may meet no window there.
    parts = [{"id": ["A", 4], "members": ["A"]}, {"id": ["B", 4], "members": ["B", "C"]}]
    told_view = {"id": ["A", 5], "members": ["A", "B", "C"], "subgroups": parts}
    detail = json.dumps({"view": told_view, "merge": True})
    by_a, by_b = (replace(view("ABC", 5, n, by=by), detail=detail) for n, by in ((5, "A"), (2, B)))
    for there, certainty in (((msg(6), by_b), UNTOLD), ((by_b, msg(6)), "proven")):
        told = heard("A", *LATER, by_a, *there, 600, xmit_req(6, by=B))
        assert told.findings() == [("MC024", certainty, [[6, 6]])]


@pytest.mark.rule("S11")
def test_whose_first_word_is_a_request_may_not_have_been_there_before_if_no_view_says_so() -> None:
    story = (*LATER[3:], ack(3, by=C), msg(5), 600)
    for member, certainty in ((B, UNTOLD), (C, "proven")):
        told = heard("A", *story, xmit_req(5, by=member))
        assert told.findings() == [("MC024", certainty, [[5, 5]])]
    again = heard("A", *story, xmit_req(5, by=B), msg(6), 600, xmit_req(6, by=B))
    assert ("MC024", "proven", [[6, 6]]) in again.findings()


@pytest.mark.rule("V3")
def test_a_copy_after_the_ack_of_all_who_asked_is_needless() -> None:
    story = (*START, msg(2), 900, xmit_req(2, by=B), ack(2, by=B))
    asked = ("MC024", UNTOLD, [[2, 2]])
    needless = heard("A", *story, msg(2))
    assert needless.findings() == [asked, ("MC004", "likely", [[2, 2]])]
    assert needless.finding("MC004")["facts"]["copies"] == 1
    also_c = heard("A", *story, xmit_req(2, by=C), msg(2))
    assert also_c.findings() == [asked, asked]  # C has not acknowledged it
    unasked = heard("A", *START, msg(2), ack(2, by=B), ack(2, by=C), msg(2))
    assert unasked.findings() == []  # a request of which the capture knows nothing
    assert unasked.stream()["retransmissions"]["undecidable"] == 1


@pytest.mark.rule("V8")
def test_the_same_datagram_again_is_no_resend() -> None:
    told = heard("A", *START, msg(2, ip_id=1), msg(2, ip_id=1, network_duplicate=True))
    assert told.told("network_duplicates", "retransmissions") == {
        "network_duplicates": 1,
        "retransmissions": {"useful": None, "needless": 0, "undecidable": 0},
    }
    assert told.findings() == [("MC010", "proven", [[2, 2]])]


@pytest.mark.rule("V7")
def test_the_same_request_five_times_without_a_copy_sent_is_proven_endless() -> None:
    asked = (xmit_req(2, by=B), 1000)
    lacked = ("MC024", UNTOLD, [[2, 2]])
    assert heard("A", *START, msg(2), *(asked * 4)).findings() == [lacked]
    endless = heard("A", *START, msg(2), *(asked * 5))
    assert endless.findings() == [lacked, ("MC015", "likely", [[2, 2]])]
    answered = heard("A", *START, msg(2), *(asked * 4), msg(2), *asked)
    assert answered.findings() == [lacked]
    paused = heard("A", *START, msg(2), *(asked * 5), msg(2))
    assert paused.finding("MC015")["text"].endswith("before a copy was sent.")


# -- the capacity: given, or learned -----------------------------------------------------------


def full_and_free(first: int, size: int, silence_ms: int) -> tuple[Step, ...]:
    """The window is filled from ``first``, then after a silence acknowledged at once."""
    last = first + size - 1
    return (msg(first, last), silence_ms, ack(last, by=B), ack(last, by=C))


@pytest.mark.rule("V4")
def test_the_capacity_is_learned_from_blocks_at_the_same_number() -> None:
    twice = (*START, *full_and_free(2, 4, 700), *full_and_free(6, 4, 700), msg(10))
    told = heard("A", *twice)
    assert told.told("capacity") == {"capacity": {"value": 4, "origin": "learned"}}
    assert stalls(told) == [(5, "C", True), (9, "C", True)]
    longer = (*START, *full_and_free(2, 4, 700), *full_and_free(6, 4, 2700), msg(10))
    facts = heard("A", *longer).finding("MC006")["facts"]
    assert facts["longest"].startswith("2.7")
    assert 3_400 <= facts["blocked_ns"] // 1_000_000 < 3_500


@pytest.mark.rule("V4")
def test_a_number_reached_once_may_be_chance() -> None:
    told = heard("A", *START, *full_and_free(2, 4, 700), msg(6), 700, msg(7))
    assert told.told("capacity", "stalls") == {"capacity": None, "stalls": None}
    assert told.not_judged()["MC006"] == "the capacity is neither given nor shown by the capture"


@pytest.mark.rule("V4")
def test_a_larger_number_later_shows_that_the_smaller_was_no_window() -> None:
    small = (*full_and_free(2, 4, 700), *full_and_free(6, 4, 700))
    told = heard("A", *START, *small, *full_and_free(10, 6, 700), msg(16))
    assert stalls(told) is None


# -- the design document -----------------------------------------------------------------------


@pytest.mark.rule("D1")
def test_by_the_document_one_message_fewer_fits() -> None:
    story = (*START, msg(2, 4), 700, ack(4, by=B), ack(4, by=C), msg(5))
    assert stalls(heard("A", *story, capacity=4, rules="document")) == [(4, "C", True)]
    assert stalls(heard("A", *story, capacity=4)) == []
    over = heard("A", *START, msg(2, 5), capacity=4, rules="document")
    assert "MC007" in [rule for rule, _, _ in over.findings()]


@pytest.mark.rule("D10")
def test_the_documents_1_3_4_2_5_at_the_sender_is_proven_with_its_spurious_request() -> None:
    """The tick of B asks for 2 before it is sent; the answer is a second copy, which B had."""
    told = heard(
        "A", msg(1), msg(3), msg(4), 900, xmit_req(2), 1, msg(2), msg(5), ack(5), 2, msg(2),
    )  # fmt: skip
    assert told.gaps() == [("sent out of order", [[2, 2]])]
    assert told.told("messages", "copies", "reordered", "lost") == {
        "messages": 5,
        "copies": 1,
        "reordered": 1,
        "lost": None,
    }
    assert told.findings() == [
        ("MC012", "likely", [[2, 2]]),
        ("MC004", "likely", [[2, 2]]),
        ("MC013", "likely", [[2, 2]]),
    ]


@pytest.mark.rule("D8")
def test_an_xmit_rsp_of_what_never_passed_shows_a_hole_in_the_senders_capture() -> None:
    told = heard("A", msg(1), msg(3), 900, xmit_req(2), xmit_rsp(2))
    assert told.gaps() == [("not captured", [[2, 2]])]
    assert told.told("not_captured") == {"not_captured": 1}
    assert told.findings() == [("MC024", UNTOLD, [[2, 2]])]


@pytest.mark.rule("V15")
def test_an_oob_message_sent_after_a_higher_seqno_is_by_design() -> None:
    assert heard("A", msg(1), msg(3), msg(2, oob=True)).findings() == []


@pytest.mark.rule("N2")
def test_a_nakack2_sender_has_no_window() -> None:
    told = heard("A", msg(1, 500, system="nakack2"), capacity=4)
    assert told.told("stalls", "max_outstanding", "capacity") == {
        "stalls": None,
        "max_outstanding": None,
        "capacity": None,
    }
