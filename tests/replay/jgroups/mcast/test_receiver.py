"""The receiver's rows (R, A, T, N and what of V and D concerns a receiver), captured at B."""

import json
from dataclasses import replace

import pytest

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from tests.replay.builders import (
    ADDRESS,
    MS,
    A,
    B,
    C,
    Step,
    ack,
    dated,
    engine_at,
    heard,
    highest,
    join_req,
    join_rsp,
    leave_rsp,
    member,
    msg,
    played,
    stable,
    view,
    xmit_req,
    xmit_rsp,
)

#: B joins A and C; nothing was multicast before.
JOINED = join_rsp("ABC", 2, digest={"A": (0, 0), "C": (0, 0)})
TICK = 500  # ms, the default


# -- accepting (5.4) ---------------------------------------------------------------------------


@pytest.mark.rule("R1")
@pytest.mark.rule("W1")
def test_messages_before_the_join_wait_in_a_queue_of_fifty() -> None:
    # 80 messages wait, the last 50 (31-80) are kept; the digest says that 35 are delivered.
    told = heard("B", msg(1, 80), join_rsp("AB", 2, digest={"A": (35, 35)}), msg(81), ack(81))
    assert told.delivered() == [[36, 81]]
    assert told.told("outside_membership") == {"outside_membership": 35}
    assert told.findings("MC018") == []


@pytest.mark.rule("R1")
def test_which_messages_a_full_queue_kept_cannot_be_told() -> None:
    told = heard(
        "B", msg(1, 10), join_rsp("AB", 2, digest={"A": (4, 4)}), msg(11),
        become_server_queue_size=3,
    )  # fmt: skip
    assert told.delivered() is None
    assert told.told("outside_membership", "lost") == {"outside_membership": 4, "lost": 0}


@pytest.mark.rule("R1")
@pytest.mark.rule("W1")
def test_what_a_full_queue_dropped_is_asked_for_and_was_not_lost_on_the_network() -> None:
    told = heard(
        "B", msg(1, 10), join_rsp("AB", 2, digest={"A": (4, 4)}), msg(11), 600,
        xmit_req(6, 7), 5, xmit_rsp(6), xmit_rsp(7), ack(11),
        become_server_queue_size=3,
    )  # fmt: skip
    assert told.findings("MC018") == [("MC005", "likely", [[6, 7]])]


@pytest.mark.rule("R1")
@pytest.mark.parametrize(("size", "sure"), [(50, "proven"), (5, "likely")])
def test_what_lies_between_messages_that_waited_a_full_queue_may_have_dropped_as_well(
    size: int, sure: str
) -> None:
    """Where the capture lacks it [t-v55-view-4]: with it there were more than the queue holds."""
    told = heard(
        "B", msg(5), msg(7, 10), join_rsp("AB", 2, digest={"A": (4, 4)}), msg(11), 600,
        xmit_req(6), 5, xmit_rsp(6), ack(11), become_server_queue_size=size,
    )  # fmt: skip
    assert ("MC001", sure, [[6, 6]]) in told.findings()


@pytest.mark.rule("R1")
def test_the_queue_waits_for_all_senders_together() -> None:
    story = (msg(1), msg(1, by=C), msg(2), msg(2, by=C), join_rsp("ABC", 2, digest={}))
    for size, delivered in ((3, (None, None)), (4, ([[1, 2]], [[1, 2]]))):
        told = heard("B", *story, become_server_queue_size=size)
        assert (told.delivered(A), told.delivered(C)) == delivered


@pytest.mark.rule("R2")
def test_of_a_run_that_goes_on_behind_a_view_a_member_has_what_it_does_not_ask_for() -> None:
    # C's run begins when the view that B misses has not been repaired, and goes on behind it.
    run = replace(msg(1, 9, by=C), last_frame=2)
    told = heard(
        "B", join_rsp("AB", 2, digest={"A": (0, 0)}), msg(1), view("ABC", 3, 3), run, xmit_rsp(2),
        msg(10, by=C), 600, xmit_req(1, 2, 3, 4, of=C), 5, xmit_rsp(1, 4, by=C), ack(10, of=C),
    )  # fmt: skip
    assert told.findings("MC001") == [("MC005", "likely", [[1, 4]])]
    assert told.told("outside_membership", sender=C) == {"outside_membership": 0}


@pytest.mark.rule("R2")
def test_rows_of_another_stream_that_came_behind_the_view_are_not_outside_it() -> None:
    # What lets B install the view is replayed when its run ends, behind later rows of C.
    rows = [
        *dated([join_rsp("AB", 2, digest={"A": (0, 0)}), msg(1), view("ABC", 3, 3)]),
        *(
            replace(event, frame=frame, last_frame=last, at_ns=frame * MS, last_at_ns=last * MS)
            for event, frame, last in (
                (msg(1, 4, by=C), 5, 9),
                (msg(5, by=C), 10, 10),
                (xmit_rsp(2), 7, 7),
                (msg(6, by=C), 11, 11),
                (xmit_req(1, of=C), 900, 900),
                (xmit_rsp(1, by=C), 905, 905),
                (ack(6, of=C), 910, 910),
            )
        ),
    ]
    told = played("B", rows)
    assert told.findings("MC001") == [("MC005", "likely", [[1, 1]])]
    assert told.told("outside_membership", sender=C) == {"outside_membership": 0}


@pytest.mark.rule("R2")
def test_messages_of_a_non_member_are_dropped_and_counted() -> None:
    told = heard("B", join_rsp("AB", 2, digest={"A": (0, 0)}), msg(1, by=C), msg(2, by=C), msg(1))
    assert told.told("delivered", "outside_membership", "arrivals", sender=C) == {
        "delivered": [],
        "outside_membership": 2,
        "arrivals": 2,
    }
    assert told.delivered(A) == [[1, 1]]
    assert told.findings() == [("MC018", "likely", [])]


@pytest.mark.rule("R3")
def test_a_copy_of_a_delivered_message_is_a_duplicate_and_owes_no_ack() -> None:
    told = heard(
        "B", JOINED, msg(1, 2, ip_id=1), ack(2), msg(2, ip_id=9), 5000, msg(3, ip_id=10), ack(3)
    )
    assert told.told("delivered", "copies", "retransmissions") == {
        "delivered": [[1, 3]],
        "copies": 1,
        "retransmissions": {"useful": 0, "needless": 1, "undecidable": 0},
    }
    assert told.findings() == [("MC004", "likely", [[2, 2]])]  # and no MC023: nothing was owed


@pytest.mark.rule("R4")
def test_a_message_above_low_plus_capacity_is_dropped() -> None:
    # low = 0, 1 is missing: 2-4 fit into a ring of 4, 5 does not.
    told = heard("B", JOINED, msg(2, 5), xmit_rsp(1), 5, xmit_rsp(5), capacity=4)
    assert told.told("delivered", "outside_window") == {"delivered": [[1, 5]], "outside_window": 1}
    assert told.finding("MC017")["seqnos"] == [[5, 5]]


@pytest.mark.rule("R4")
def test_low_plus_capacity_itself_still_fits() -> None:
    told = heard("B", JOINED, msg(2, 4), xmit_rsp(1), capacity=4)
    assert told.told("delivered", "outside_window") == {"delivered": [[1, 4]], "outside_window": 0}
    assert [rule for rule, _, _ in told.findings()] == ["MC001"]


@pytest.mark.rule("R4")
def test_what_fits_of_a_list_that_does_not_is_no_late_arrival() -> None:
    story = (JOINED, msg(3, 8), xmit_rsp(1, 2), ack(4), 3000, msg(1, by=C))  # 3-4 fit, 5-8 do not
    told = heard("B", *story, capacity=4)
    assert told.delivered() == [[1, 4]]
    assert told.gaps() == [("recovered", [[1, 2]]), ("unrecovered", [[5, 8]])]
    assert told.told("reordered") == {"reordered": 0}


@pytest.mark.rule("R5")
def test_a_copy_of_a_stored_message_is_a_duplicate() -> None:
    told = heard("B", JOINED, msg(1, ip_id=1), msg(3, ip_id=2), msg(3, ip_id=3), xmit_rsp(2))
    assert told.told("delivered", "copies", "arrivals") == {
        "delivered": [[1, 3]],
        "copies": 1,
        "arrivals": 4,
    }
    assert told.finding("MC004")["seqnos"] == [[3, 3]]


@pytest.mark.rule("R6")
def test_a_message_is_stored_and_delivered_up_to_the_first_gap() -> None:
    story = (JOINED, msg(1, 2), msg(4), msg(6), msg(3))
    told = heard("B", *story)
    assert told.delivered() == [[1, 4]]  # 6 waits for 5
    assert told.gaps() == [("reordered", [[3, 3]]), ("open at the capture's end", [[5, 5]])]
    longer = heard("B", *story, 2000)  # it should have asked for 5, unless it had it
    assert longer.delivered() is None
    assert longer.gaps() == [("reordered", [[3, 3]]), ("not asked for", [[5, 5]])]


@pytest.mark.rule("R14")
@pytest.mark.rule("A1")
@pytest.mark.rule("V1")
def test_an_xmit_rsp_is_a_message_of_its_source_and_a_repair() -> None:
    told = heard("B", JOINED, msg(1), msg(3), 1000, xmit_req(2), xmit_rsp(2), 10, ack(3))
    assert told.delivered() == [[1, 3]]
    assert told.told("lost_seqnos", "recovered", "lost", "requests", "requested_seqnos") == {
        "lost_seqnos": [[2, 2]],
        "recovered": 1,
        "lost": 1,
        "requests": {"sent": 1, "arrived": None},
        "requested_seqnos": {"sent": 1, "arrived": None},
    }
    assert told.findings() == [("MC001", "proven", [[2, 2]])]


@pytest.mark.rule("R14")
def test_an_xmit_rsp_for_another_member_is_none_of_this_members_messages() -> None:
    told = heard("B", JOINED, msg(1), msg(3), xmit_rsp(2, for_=C))
    assert told.delivered() == [[1, 1]]


@pytest.mark.rule("R20")
@pytest.mark.rule("V15")
def test_an_oob_message_is_delivered_on_arrival_and_not_again() -> None:
    told = heard("B", JOINED, msg(1), msg(3, oob=True), msg(2), msg(4))
    assert told.delivered() == [[1, 1], [3, 3], [2, 2], [4, 4]]


@pytest.mark.rule("V15")
def test_a_late_oob_message_is_not_reported_as_reordering() -> None:
    told = heard("B", JOINED, msg(1), msg(3), msg(2, oob=True))
    assert told.findings() == []
    overtaken = heard("B", JOINED, msg(1), msg(3, oob=True), msg(2))
    assert overtaken.findings() == []
    assert heard("B", JOINED, msg(1), msg(3), msg(2)).findings() == [("MC011", "likely", [[2, 2]])]


# -- ACKs (5.4) --------------------------------------------------------------------------------


def overdue(*story: Step, **given: int | str) -> list[tuple[int, int]]:
    """(delivered, shown late) frames of the longest overdue ACK."""
    told = heard("B", JOINED, *story, **given)
    return [
        (found["evidence"][0]["frame"], found["evidence"][1]["frame"])
        for found in (r.detail for r in told.results if r.rule == "MC023" and r.kind == "FINDING")
    ]


@pytest.mark.rule("R7")
def test_an_ack_is_due_at_once_when_the_threshold_is_reached() -> None:
    given = {"ack_threshold": 4, "xmit_interval_ms": 5000}
    assert overdue(msg(1, 4), 250, msg(5), ack(5), **given) == [(2, 3)]
    assert overdue(msg(1, 4), 5, ack(4), 250, msg(5), ack(5), **given) == []


@pytest.mark.rule("R8")
def test_below_the_threshold_only_the_flag_is_set() -> None:
    assert overdue(msg(1, 3), 250, msg(4), ack(4), ack_threshold=4, xmit_interval_ms=5000) == []


@pytest.mark.rule("R9")
@pytest.mark.rule("V14")
def test_with_the_flag_set_the_tick_acknowledges_within_its_jitter() -> None:
    given = {"xmit_interval_ms": 1000}
    assert overdue(msg(1), 1240, msg(2), ack(2), **given) == []  # 1.2 s + 50 ms
    assert overdue(msg(1), 1250, msg(2), ack(2), **given) == [(2, 3)]


def test_a_clock_that_was_set_makes_no_ack_overdue() -> None:
    assert overdue(msg(1), 6000, msg(2), 100, ack(2)) == []


@pytest.mark.rule("R9")
def test_an_overdue_ack_is_said_once_a_stretch() -> None:
    told = heard("B", JOINED, msg(1), 3000, msg(2), 3000, msg(3), ack(3), 5, msg(4), 3000, msg(5))
    assert told.finding("MC023")["facts"]["times"] == 2
    assert "or was paused" in told.finding("MC023")["text"]


@pytest.mark.rule("R12")
@pytest.mark.rule("D5")
def test_highest_seqno_makes_a_receiver_repeat_its_ack_and_nothing_is_wrong_with_it() -> None:
    told = heard("B", JOINED, msg(1), ack(1), highest(1), 400, ack(1), 400, highest(1), ack(1))
    assert told.findings() == []
    assert told.told("delivered", "acks", "gaps") == {
        "delivered": [[1, 1]],
        "acks": {"sent": 3, "arrived": None},
        "gaps": 0,
    }


@pytest.mark.rule("D4")
def test_with_the_documents_rules_acks_are_owed_by_the_same_schedule() -> None:
    given: dict[str, int | str] = {"rules": "document", "xmit_interval_ms": 1000}
    assert overdue(msg(1), 1250, msg(2), ack(2), **given) == [(2, 3)]


# -- requests (5.4, two-tick rule 4.4) ---------------------------------------------------------


def too_early(*story: Step, **given: int | str) -> list[list[int]]:
    told = heard("B", JOINED, *story, **given)
    return next((s for rule, _, s in told.findings() if rule == "MC016"), [])


@pytest.mark.rule("R10")
@pytest.mark.rule("T2")
def test_a_gap_is_not_requested_before_a_tick_has_seen_it() -> None:
    given = {"xmit_interval_ms": 1000}
    assert too_early(msg(1), msg(3), 748, xmit_req(2), **given) == [[2, 2]]
    assert too_early(msg(1), msg(3), 749, xmit_req(2), **given) == []  # 80 % less 50 ms


@pytest.mark.rule("T2")
def test_a_request_is_judged_by_the_interval_only_if_it_is_given() -> None:
    assert too_early(msg(1), msg(3), 10, xmit_req(2)) == []
    told = heard("B", JOINED, msg(1))
    assert told.not_judged()["MC016"] == "mcast.xmit_interval_ms is not given"


@pytest.mark.rule("T3")
def test_only_what_the_tick_before_had_seen_is_requested_the_rest_a_tick_later() -> None:
    # 2 is a tick old, 4 is not: only 2 may be in the request.
    story = (msg(1), msg(3), 900, msg(5))
    given = {"xmit_interval_ms": 1000}
    assert too_early(*story, 100, xmit_req(2), 1000, xmit_req(2, 4), **given) == []
    assert too_early(*story, 100, xmit_req(2, 4), **given) == [[4, 4]]


@pytest.mark.rule("T3")
def test_a_gap_is_requested_again_every_tick_while_it_exists() -> None:
    told = heard(
        "B", JOINED, msg(1), ack(1), msg(3), 1000, xmit_req(2), 1000, xmit_req(2), 1000,
        xmit_req(2), 5, xmit_rsp(2), xmit_interval_ms=1000,
    )  # fmt: skip
    (gap,) = [r.detail for r in told.results if r.kind == "GAP"]
    assert [(step["frame"], step["step"]) for step in gap["heard"]] == [
        (5, "asked"),
        (6, "asked"),
        (7, "asked"),
    ]
    for_its_story = ("revealed_at_ns", "heard", "heard_more", "placed", "receiver")
    assert {name: gap[name] for name in gap if name not in for_its_story} == {
        "system": "nakack4",
        "seqnos": [[2, 2]],
        "count": 1,
        "outcome": "recovered",
        "lost_after_frame": 2,
        "revealed_frame": 4,
        "revealed_by": "a higher seqno",
        "revealed_after_ns": 2_000_000,
        "requested_frame": 5,
        "requested_after_ns": 1_001_000_000,
        "requests": 3,
        "repaired_frame": 8,
        "repaired_after_ns": 2_008_000_000,
        "delivered_frame": 8,
        "delivered_after_ns": 3_009_000_000,
    }
    assert told.findings() == [("MC001", "proven", [[2, 2]])]


@pytest.mark.rule("T4")
def test_a_request_that_became_empty_asks_for_nothing() -> None:
    told = heard("B", JOINED, msg(1, 3), 600, xmit_req(), 5, ack(3))
    assert told.told("requests", "requested_seqnos", "gaps") == {
        "requests": {"sent": 1, "arrived": None},
        "requested_seqnos": {"sent": 0, "arrived": None},
        "gaps": 0,
    }
    assert told.findings() == []


@pytest.mark.rule("R10")
@pytest.mark.rule("T1")
def test_a_request_names_at_most_max_xmit_req_size_seqnos() -> None:
    story = (JOINED, msg(1), msg(6), 1000, xmit_req(2, 3, 4, 5), xmit_rsp(2, 5))
    assert heard("B", *story, max_xmit_req_size=4).findings() == [("MC001", "proven", [[2, 5]])]
    assert heard("B", *story, max_xmit_req_size=3).finding("MC022")["facts"]["size"] == 4


@pytest.mark.rule("R11")
@pytest.mark.rule("V6")
@pytest.mark.rule("D9")
def test_a_lost_last_message_is_revealed_by_highest_seqno_and_asked_for_at_once() -> None:
    told = heard(
        "B", JOINED, msg(1, 2), 600, highest(3), xmit_req(3), 2, msg(3), ack(3),
        1000, xmit_interval_ms=500,
    )  # fmt: skip
    assert told.delivered() == [[1, 3]]
    assert told.gaps() == [("recovered", [[3, 3]])]
    assert told.findings() == [  # not MC016: this request needs no tick
        ("MC001", "proven", [[3, 3]]),
        ("MC003", "proven", [[3, 3]]),
    ]


@pytest.mark.rule("R11")
def test_what_highest_seqno_of_a_busy_sender_has_asked_for_may_have_come_just_before() -> None:
    # 2 is being sent as the tick names it; its frame is missing in the capture [r-n2-join-5].
    asked = (highest(2), xmit_req(2), 5, msg(2))
    told = heard("B", JOINED, msg(1), *asked, ack(2))
    assert told.findings() == [("MC001", "likely", [[2, 2]]), ("MC003", "likely", [[2, 2]])]
    assert told.told("lost") == {"lost": None}
    again = heard("B", JOINED, msg(1), highest(2), xmit_req(2), 600, *asked, ack(2))
    assert again.findings()[0] == ("MC001", "proven", [[2, 2]])


@pytest.mark.rule("R11")
def test_what_the_request_at_highest_seqno_leaves_out_was_not_missing() -> None:
    # 2 came, and is not here [n2-last-lost-1].
    told = heard("B", JOINED, msg(1), 600, highest(3), xmit_req(3), 2, msg(3), ack(3))
    assert [found for found in told.findings() if found[0] == "MC003"] == [
        ("MC003", "likely", [[3, 3]])
    ]


@pytest.mark.rule("R11")
def test_a_repair_just_before_highest_seqno_does_not_show_its_sender_busy() -> None:
    asked = (highest(4), xmit_req(4), 2, msg(4), ack(4))
    told = heard("B", JOINED, msg(1), msg(3), 500, xmit_req(2), 2, msg(2), 20, *asked)
    assert ("MC003", "proven", [[4, 4]]) in told.findings()


@pytest.mark.rule("R11")
def test_a_capture_that_lacks_messages_does_not_show_a_sender_idle() -> None:
    # 2 came, and is not here; so may 4, just before HIGHEST_SEQNO.
    story = (JOINED, msg(1), msg(3), ack(3), 600, highest(4), xmit_req(4), 2, msg(4), ack(4))
    told = heard("B", *story)
    assert ("MC003", "likely", [[4, 4]]) in told.findings()


@pytest.mark.rule("R11")
def test_highest_seqno_asks_at_once_for_its_own_seqno_only_the_rest_by_the_tick_rule() -> None:
    given = {"xmit_interval_ms": 1000}
    assert too_early(msg(1), highest(4), xmit_req(4), **given) == []
    assert too_early(msg(1), highest(4), xmit_req(2, 3), **given) == [[2, 3]]
    assert too_early(msg(1), highest(4), xmit_req(4), 1000, xmit_req(2, 3), **given) == []


# -- how a gap ended (A1-A6) -------------------------------------------------------------------


@pytest.mark.rule("A2")
def test_a_gap_filled_before_anybody_can_have_asked_was_reordered() -> None:
    # 2 comes within one interval of the last message before the gap (frame 2).
    told = heard("B", JOINED, msg(1), msg(3), TICK - 3, msg(2))
    assert told.gaps() == [("reordered", [[2, 2]])]
    assert told.told("lost", "reordered", "retransmissions") == {
        "lost": 0,
        "reordered": 1,
        "retransmissions": {"useful": 0, "needless": 0, "undecidable": 0},
    }
    assert told.findings() == [("MC011", "likely", [[2, 2]])]


@pytest.mark.rule("A2")
def test_after_highest_seqno_who_does_not_ask_at_once_had_the_message() -> None:
    told = heard("B", JOINED, msg(1), highest(2), ack(1), 30, msg(1, by=C), 30, msg(2))
    assert told.gaps() == [("not captured", [[2, 2]])]
    assert told.findings() == [("CP007", "likely", [[2, 2]])]
    paused = heard("B", JOINED, msg(1), ack(1), highest(2), 30, msg(1, by=C), 30, msg(2))
    assert paused.gaps() == [("recovered or late", [[2, 2]])], "it has not shown that it runs"
    asked = heard("B", JOINED, msg(1), 200, highest(2), xmit_req(2), msg(2), 1000)
    assert asked.gaps() == [("recovered", [[2, 2]])]


@pytest.mark.rule("A3")
def test_a_datagram_older_by_ip_id_than_the_revealing_one_was_reordered() -> None:
    story = (JOINED, msg(1, ip_id=65535), msg(3, ip_id=1), 1000, xmit_req(2))
    assert heard("B", *story, msg(2, ip_id=0)).gaps() == [("reordered", [[2, 2]])]
    assert heard("B", *story, msg(2, ip_id=2)).gaps() == [("recovered", [[2, 2]])]


@pytest.mark.rule("A3")
def test_ip_ids_say_nothing_across_seconds_or_where_they_do_not_count_up() -> None:
    late = (JOINED, msg(1, ip_id=7), msg(3, ip_id=9), 6000, msg(2, ip_id=8))
    assert heard("B", *late).gaps() == [("recovered or late", [[2, 2]])]
    random_ids = (JOINED, *[msg(s, ip_id=60000 - 500 * s) for s in range(1, 10)])
    told = heard("B", *random_ids, msg(11, ip_id=9), 1000, msg(10, ip_id=8))
    assert told.gaps() == [("recovered or late", [[10, 10]])]


@pytest.mark.rule("A4")
def test_a_gap_that_this_member_asked_for_was_recovered() -> None:
    told = heard("B", JOINED, msg(1), msg(3), 1000, xmit_req(2), msg(2), ack(3))
    assert told.gaps() == [("recovered", [[2, 2]])]
    assert told.findings() == [("MC001", "proven", [[2, 2]])]


@pytest.mark.rule("A4")
def test_of_one_list_only_what_was_asked_for_answers_the_request() -> None:
    # 2 and 3 are missing, only 2 was asked for; nobody else can have asked for 3 yet.
    told = heard("B", JOINED, msg(1), msg(4), 100, xmit_req(2), msg(2, 3), ack(4), 1000)
    assert told.gaps() == [("recovered", [[2, 2]]), ("reordered", [[3, 3]])]


@pytest.mark.rule("A5")
def test_a_newer_datagram_that_this_member_did_not_ask_for_answers_another_member() -> None:
    told = heard("B", JOINED, msg(1, ip_id=5), msg(3, ip_id=6), 1000, msg(2, ip_id=9))
    assert told.gaps() == [("recovered or late", [[2, 2]])]


@pytest.mark.rule("A5")
def test_what_answers_another_member_may_have_come_before_and_not_be_in_the_capture() -> None:
    join = join_rsp("ABC", 2, digest={"A": (0, 0), "C": (4, 4)})
    answered = (join, msg(1, ip_id=5), msg(3, ip_id=6), 1000, msg(2, ip_id=9))
    sure = heard("B", *answered, ack(3))
    assert [found[:2] for found in sure.findings()] == [("MC001", "likely")]
    had = heard("B", *answered, msg(6, by=C), 20, ack(6, of=C), ack(3))
    own = heard("B", *answered, ack(3), msg(1, by=B), msg(3, by=B))
    silent = heard("B", *answered)
    for told in (sure, had, own, silent):
        assert told.told("lost", "lost_seqnos") == {"lost": None, "lost_seqnos": []}
        assert told.stream()["unknown"]["lost"].startswith("0 or more: of 1 others")


def test_what_was_told_before_the_join_may_have_been_sent_when_nobody_listened_here() -> None:
    join, late = join_rsp("AB", 2, digest={"A": (7, 7)}), (msg(9), 1000, msg(8), ack(9))
    assert heard("B", join, *late).told("sent_before") == {"sent_before": 0}
    for before in (highest(8), msg(9)):
        told = heard("B", before, join, *late)
        assert told.told("sent_before", "lost") == {"sent_before": 1, "lost": None}


@pytest.mark.rule("W1")
def test_a_digest_is_as_old_as_its_question_at_most_and_may_be_older_than_the_capture() -> None:
    # t-v55-view-4: the capture began 0.7 s after the member asked to join, just before the answer.
    asked, join = join_req(), join_rsp("ABC", 2, digest={"A": (7, 7), "C": (7, 7)})
    for sender in (A, C):
        rest = (join, msg(9, by=sender), 1000, xmit_req(8, of=sender), msg(8, by=sender))
        told = played("B", dated(rest)).told("lost", "sent_before", sender=sender)
        assert told == {"lost": 1, "sent_before": 0}
        for begin in (dated(rest), dated((asked, *rest)), dated((900, asked, 500, *rest))):
            told = played("B", begin, began_ms=0).told("lost", "sent_before", sender=sender)
            assert told == {"lost": None, "sent_before": 1}


@pytest.mark.rule("W1")
@pytest.mark.parametrize(("first", "lost", "sent_before"), [(True, 1, 0), (False, None, 1)])
def test_an_answer_may_be_to_an_attempt_to_join_before_the_one_that_was_captured(
    first: bool, lost: int | None, sent_before: int
) -> None:
    """Long behind the capture's beginning B asks, and is answered: to what it asked before?"""
    again = () if first else (join_req(),)
    attempts = (3_000, join_req(first=first), *again)
    answer = join_rsp("AB", 2, digest={"A": (7, 7)})
    story = (*attempts, answer, msg(9), 1000, xmit_req(8), msg(8))
    told = played("B", dated(story), began_ms=0).told("lost", "sent_before")
    assert told == {"lost": lost, "sent_before": sent_before}


@pytest.mark.rule("R16")
def test_the_digest_of_a_merge_may_be_older_than_the_capture() -> None:
    """Its leader collects it before it tells the view, and no time bounds by how much."""
    merge = view("ABC", 3, 1, digest={"A": (0, 0), "C": (6, 6)}, merge=True)
    story = (join_rsp("AB", 2, digest={"A": (0, 0)}), 3_000, merge, msg(7, by=C))
    late = (msg(9, by=C), 1000, xmit_req(8, of=C), msg(8, by=C))
    told = heard("B", *story, *late).told("lost", "sent_before", sender=C)
    assert told == {"lost": None, "sent_before": 1}
    later = (msg(8, by=C), msg(10, by=C), 1000, xmit_req(9, of=C), msg(9, by=C))
    told = heard("B", *story, *later).told("lost", "sent_before", sender=C)
    assert told == {"lost": 1, "sent_before": 0}  # 8 came behind 7, and nobody had asked for it


@pytest.mark.rule("W1")
@pytest.mark.parametrize(("interval", "sent_before"), [(2_500, 0), (3_500, 1)])
def test_what_was_asked_before_the_capture_is_asked_again_with_every_tick(
    interval: int, sent_before: int
) -> None:
    answer = join_rsp("AB", 2, digest={"A": (7, 7)})
    story = dated((3_000, join_req(), answer, msg(9), 3_000, xmit_req(8), msg(8)))
    told = played("B", story, began_ms=0, xmit_interval_ms=interval).told("sent_before")
    assert told == {"sent_before": sent_before}


@pytest.mark.rule("R5")
@pytest.mark.rule("R19")
@pytest.mark.parametrize(("silence", "sure"), [(1_000, "proven"), (6_000, "likely")])
def test_what_comes_after_a_long_silence_may_come_before_a_merge(silence: int, sure: str) -> None:
    """Its sender is cut off, comes to be heard again, and is no member here until they merge."""
    before = (JOINED, msg(1, ip_id=1), 500, ack(1), silence, msg(2, ip_id=2))
    asked = (msg(4, ip_id=4), 400, xmit_req(2, 3), 500, xmit_req(2, 3))
    copies = (5, msg(2, ip_id=5), msg(3, ip_id=6), ack(4))
    found = heard("B", *before, *asked, *copies).findings("MC001")
    assert found == [("MC005", sure, [[2, 2]])]


@pytest.mark.rule("A6")
def test_without_ids_and_request_a_late_message_is_recovered_or_late() -> None:
    told = heard("B", JOINED, msg(1), msg(3), TICK - 2, msg(2))  # one interval after 1
    assert told.gaps() == [("recovered or late", [[2, 2]])]
    assert told.told("lost", "recovered_or_late", "retransmissions") == {
        "lost": 0,
        "recovered_or_late": 1,
        "retransmissions": {"useful": 0, "needless": 0, "undecidable": 1},
    }


# -- the design document's out-of-order sending, at the receiver -------------------------------


def test_who_asks_for_what_cannot_be_read_lacks_nobody_knows_what() -> None:
    """Its request is cut by the snap length; only a later word tells that it has all below."""
    cut = replace(xmit_req(2), seqno=None, stop_seqno=None, count=0, detail="[]", flags=Flag.CUT)
    story = (JOINED, msg(1), ack(1), msg(3), 1000, cut, msg(4))
    assert heard("B", *story).delivered() is None
    assert heard("B", *story, 500, ack(4)).delivered() == [[1, 4]]


@pytest.mark.rule("R19")
def test_what_nobody_saw_before_a_long_silence_may_be_what_a_merge_skipped() -> None:
    """A filter lets no multicast through: what B acknowledges is all that is heard of A."""
    story = (JOINED, ack(3), 12_000, xmit_req(9), ack(9))
    assert ("CP007", "cannot be told", [[1, 8]]) in heard("B", *story).findings()


@pytest.mark.rule("D10")
def test_the_documents_1_3_4_2_5_at_the_receiver_is_no_loss() -> None:
    """2 comes late by itself: no tick saw it missing twice, nobody asked."""
    told = heard("B", JOINED, msg(1), msg(3), msg(4), msg(2), msg(5))
    assert told.delivered() == [[1, 5]]
    assert told.told("lost", "reordered") == {"lost": 0, "reordered": 1}
    assert told.findings() == [("MC011", "likely", [[2, 2]])]


@pytest.mark.rule("D10")
def test_the_documents_1_3_4_2_5_with_its_spurious_request_is_told_by_ip_ids() -> None:
    """The tick asks for 2 before it comes. Sent late by its thread: its id is newer than 3's.

    Overtaken on the path its id is older: then it was reordered, and the request spurious.
    """
    before = (JOINED, msg(1, ip_id=1), msg(3, ip_id=3), msg(4, ip_id=4), 900, xmit_req(2))
    after = (msg(5, ip_id=6), msg(2, ip_id=9), ack(5))
    on_the_path = heard("B", *before, msg(2, ip_id=2), *after)
    assert on_the_path.delivered() == [[1, 5]]
    assert on_the_path.gaps() == [("reordered", [[2, 2]])]
    assert on_the_path.told("lost", "reordered") == {"lost": 0, "reordered": 1}
    assert ("MC001", "proven", [[2, 2]]) not in on_the_path.findings()


@pytest.mark.rule("D10")
def test_the_documents_1_3_4_2_5_between_two_members_shows_in_the_second_copy() -> None:
    """Only B can ask: one request and two copies, so the first was the original, sent late."""
    two = join_rsp("AB", 2, digest={"A": (0, 0)})
    story = (two, msg(1), msg(3), msg(4), 900, xmit_req(2), msg(2), msg(5), msg(2), ack(5))
    told = heard("B", *story)
    assert told.delivered() == [[1, 5]]
    assert told.gaps() == [("reordered", [[2, 2]])]
    assert told.told("lost", "lost_seqnos", "reordered") == {
        "lost": 0,
        "lost_seqnos": [],
        "reordered": 1,
    }
    three = heard("B", JOINED, *story[1:])  # C may have asked as well: it cannot be told
    assert three.gaps() == [("recovered or late", [[2, 2]])]


@pytest.mark.parametrize(("ids", "outcome"), [((5, 2), "reordered"), ((5, 6), "recovered or late")])
def test_an_original_that_comes_behind_its_repair_was_late(
    ids: tuple[int, int], outcome: str
) -> None:
    """C may have asked for it; by its IP id it was sent before the repair."""
    first, other = ids
    told = heard(
        "B", JOINED, msg(1, ip_id=1), msg(3, ip_id=3), msg(4, ip_id=4), 900, msg(2, ip_id=first),
        msg(2, ip_id=other), ack(4),
    )  # fmt: skip
    assert told.gaps() == [(outcome, [[2, 2]])]
    assert told.told("lost") == {"lost": 0 if outcome == "reordered" else None}


def test_what_comes_to_a_member_that_nothing_shows_to_be_one_may_not_be_delivered() -> None:
    """Its interface is in the group before its join, which the capture lacks."""
    story = (msg(4, 6), msg(7), 600)
    assert heard("B", *story).delivered() is None
    for word, unsure in ((ack(6), [[4, 6]]), (msg(1, by=B), [[4, 8]])):
        told = heard("B", *story, word, msg(8))
        assert told.told("delivered", "delivered_unsure") == {
            "delivered": [[4, 8]], "delivered_unsure": unsure,
        }  # fmt: skip
    silent = heard("B", msg(1, by=B), *story)  # no word of these: it may have left, or begun anew
    assert silent.told("delivered", "delivered_unsure") == {
        "delivered": [[4, 7]], "delivered_unsure": [[4, 7]],
    }  # fmt: skip
    told = heard("B", msg(1, by=B), *story, ack(6), msg(8))
    assert told.told("delivered", "delivered_unsure") == {
        "delivered": [[4, 8]], "delivered_unsure": [],
    }  # fmt: skip


def test_what_came_long_before_the_first_word_of_its_window_may_have_come_for_none() -> None:
    """A merge in between that the capture lacks, as it lacks 5 to 9, may have begun the window."""
    told = heard("B", msg(1, by=B), msg(4), 600, xmit_req(10), 1000)
    assert told.told("delivered", "delivered_unsure") == {
        "delivered": [[4, 4]], "delivered_unsure": [[4, 4]],
    }  # fmt: skip


@pytest.mark.rule("R7")
@pytest.mark.parametrize(("after_ms", "unsure"), [(1200, []), (1300, [[4, 6]])])
def test_a_window_would_have_acknowledged_what_came_so_long_before_its_first_word(
    after_ms: int, unsure: list[list[int]]
) -> None:
    """It came from another part of the cluster, by a merge this began; no view can be read."""
    told = heard("B", msg(1, by=B), msg(4, 6), after_ms, ack(6), msg(7))
    assert told.told("delivered", "delivered_unsure") == {
        "delivered": [[4, 7]], "delivered_unsure": unsure,
    }  # fmt: skip


@pytest.mark.rule("D10")
def test_the_documents_1_3_4_2_5_without_ids_and_request_is_undecidable_after_a_tick() -> None:
    told = heard("B", JOINED, msg(1), msg(3), msg(4), 900, msg(2), msg(5))
    assert told.gaps() == [("recovered or late", [[2, 2]])]
    assert told.told("lost", "lost_seqnos") == {"lost": 0, "lost_seqnos": []}


# -- the design document's window --------------------------------------------------------------


@pytest.mark.rule("D2")
def test_the_documents_window_holds_one_message_fewer() -> None:
    story = (JOINED, msg(2, 4), xmit_rsp(1))
    assert heard("B", *story, capacity=4, rules="document").told("delivered", "outside_window") == {
        "delivered": [[1, 3]],
        "outside_window": 1,
    }
    assert heard("B", *story, capacity=4).delivered() == [[1, 4]]


@pytest.mark.rule("D8")
@pytest.mark.parametrize("repair", [msg(2), xmit_rsp(2)], ids=["MSG again", "XMIT_RSP"])
def test_an_xmit_request_is_answered_by_multicast_or_by_unicast(repair: Event) -> None:
    told = heard("B", JOINED, msg(1), msg(3), 1000, xmit_req(2), repair, ack(3))
    assert told.gaps() == [("recovered", [[2, 2]])]


@pytest.mark.rule("D11")
def test_the_documents_scan_may_ask_for_a_gap_at_once() -> None:
    story = (JOINED, msg(1), msg(3), xmit_req(2), msg(2), ack(3))
    by_code = heard("B", *story, xmit_interval_ms=1000)
    assert by_code.findings() == [("MC001", "proven", [[2, 2]]), ("MC016", "likely", [[2, 2]])]
    by_document = heard("B", *story, xmit_interval_ms=1000, rules="document")
    assert by_document.findings() == [("MC001", "proven", [[2, 2]])]
    unasked = heard("B", JOINED, msg(1), msg(3), msg(2), rules="document")
    assert unasked.gaps() == [("recovered or late", [[2, 2]])]  # C may have asked


# -- NAKACK2 (5.5) -----------------------------------------------------------------------------


def msg2(seqno: int, to: int | None = None, *, ip_id: int | None = None) -> Event:
    return msg(seqno, to, ip_id=ip_id, system="nakack2")


@pytest.mark.rule("N1")
def test_nakack2_asks_and_repairs_by_the_same_rules() -> None:
    story = (JOINED, msg2(1), msg2(3), 1000, xmit_req(2, system="nakack2"), msg2(2))
    told = heard("B", *story, xmit_interval_ms=1000)
    assert told.told("delivered", "lost_seqnos") == {"delivered": [[1, 3]], "lost_seqnos": [[2, 2]]}
    assert {r.system for r in told.results if r.kind == "STREAM"} == {"nakack2"}
    assert told.findings() == [("MC001", "proven", [[2, 2]])]
    early = heard("B", JOINED, msg2(1), msg2(3), xmit_req(2, system="nakack2"),
                  msg2(2), xmit_interval_ms=1000)  # fmt: skip
    assert ("MC016", "likely", [[2, 2]]) in early.findings()


@pytest.mark.rule("N2")
def test_nakack2_windows_are_unbounded() -> None:
    told = heard("B", JOINED, msg2(2, 1000), msg2(1), capacity=4)
    assert told.told("delivered", "outside_window", "capacity") == {
        "delivered": [[1, 1000]],
        "outside_window": 0,
        "capacity": None,
    }


@pytest.mark.rule("N3")
def test_nakack2_owes_no_ack() -> None:
    story = (JOINED, msg2(1), 10_000, msg2(2), 10_000, msg2(3))
    told = heard("B", *story, ack_threshold=1)
    assert told.findings() == []


@pytest.mark.rule("N4")
def test_a_highest_seqno_says_only_once_what_it_says() -> None:
    told = heard("B", JOINED, msg2(1), highest(2, system="nakack2"),
                 highest(2, system="nakack2"), 2000)  # fmt: skip
    assert told.gaps() == [("not asked for", [[2, 2]])]
    assert told.told("by_wire_kind") == {"by_wire_kind": {"HIGHEST_SEQNO": 2, "MSG": 1}}


@pytest.mark.rule("N5")
@pytest.mark.rule("V18")
def test_an_own_stable_digest_shows_what_the_capture_missed() -> None:
    told = heard("B", JOINED, msg2(1, 2), msg2(4), stable({"A": 4}), msg2(5))
    assert told.delivered() == [[1, 5]]
    assert told.gaps() == [("not captured", [[3, 3]])]
    assert told.findings() == [("CP007", "proven", [[3, 3]])]
    other = heard("B", JOINED, msg2(1, 2), msg2(4), stable({"A": 4}, by=C))
    assert other.delivered() == [[1, 2]]  # another member's digest says nothing about this one


@pytest.mark.rule("N6")
def test_stability_is_not_this_members_own_word() -> None:
    story = (JOINED, msg2(1), msg2(3), stable({"A": 3}, wire_kind="STABILITY"))
    assert heard("B", *story).delivered() == [[1, 1]]
    assert heard("B", *story, 2000).gaps() == [("not asked for", [[2, 2]])]


@pytest.mark.rule("N7")
def test_a_request_after_stability_reveals_the_gap_by_itself() -> None:
    stability = stable({"A": 1}, by=A, wire_kind="STABILITY")
    told = heard("B", JOINED, msg2(1), stability, 9000, stability,
                 xmit_req(2, system="nakack2"), msg2(2))  # fmt: skip
    (gap,) = [r.detail for r in told.results if r.kind == "GAP"]
    assert gap["revealed_by"] == "this member's own request"
    assert gap["outcome"] == "recovered or late"  # its window may have had it before a merge
    assert told.delivered() == [[1, 2]]


@pytest.mark.rule("N8")
def test_a_request_to_another_member_counts_for_the_original_sender() -> None:
    told = heard("B", JOINED, msg2(1), msg2(3), 1000,
                 xmit_req(2, to=C, system="nakack2"), xmit_rsp(2))  # fmt: skip
    assert told.told("requests", "delivered", "recovered") == {
        "requests": {"sent": 1, "arrived": None},
        "delivered": [[1, 3]],
        "recovered": 1,
    }


@pytest.mark.rule("V18")
@pytest.mark.rule("R19")
def test_what_a_member_acknowledges_after_a_long_silence_a_merge_may_have_skipped() -> None:
    split = (JOINED, msg(1), ack(1), msg(5), 600, xmit_req(2), 9000)
    told = heard("B", *split, ack(9))
    assert told.findings("MC023") == [
        ("CP007", "cannot be told", [[3, 4], [6, 9]]),
        ("CP007", "cannot be told", [[2, 2]]),
    ]
    assert told.told("lost", "recovered", "not_captured") == {
        "lost": None, "recovered": 0, "not_captured": 0,
    }  # fmt: skip
    soon = heard("B", *split[:-1], 600, msg(1, by=C), ack(9))
    assert ("MC001", "proven", [[2, 2]]) in soon.findings()
    assert ("CP007", "proven", [[3, 4], [6, 9]]) in soon.findings()


@pytest.mark.rule("N8")
@pytest.mark.rule("A3")
def test_ip_ids_tell_nothing_where_another_member_sends_the_repairs() -> None:
    asked = xmit_req(3, to=C, system="nakack2")
    before = [msg2(n, ip_id=100 + n) for n in (1, 2, 4, 5)]
    told = heard("B", JOINED, *before, 1000, asked, msg2(3, ip_id=7))
    assert told.gaps() == [("recovered", [[3, 3]])]
    assert told.findings() == [("MC001", "proven", [[3, 3]])]


@pytest.mark.rule("N8")
def test_who_sends_again_what_another_member_sent_is_not_that_member() -> None:
    engine = engine_at("C")
    for name in ADDRESS:
        engine.feed(member(name))
    resent = json.dumps({"address": f"{ADDRESS[C]}:7800", "version": "5.6.0"})
    engine.feed(replace(member(A), detail=resent))
    assert engine.members.is_local(C) and not engine.members.is_local(A)
    anew = replace(member(C), source="C2", detail=resent)
    engine.feed(anew)
    assert engine.members.is_local("C2"), "a process that begins anew has the same socket"


@pytest.mark.rule("R1")
@pytest.mark.rule("W1")
def test_who_asks_to_join_from_the_socket_of_a_member_in_the_view_has_taken_its_place() -> None:
    """That one was killed, and stays in views until it is suspected."""
    socket = replace(member(B), source="E")
    join_req = replace(leave_rsp(), wire_kind="JOIN_REQ", source="E", destination=A)
    told = heard(
        B, JOINED, msg(1, 3), ack(3), socket, join_req, msg(5, 6), view("ABCE", 3, 7),
        join_rsp("ABCE", 3, to="E", digest={A: (6, 6), B: (0, 0), C: (0, 0), "E": (0, 0)}), msg(8),
        view("ACE", 4, 9), replace(ack(9), source="E"),
    )  # fmt: skip
    assert told.delivered() == [[1, 3], [7, 9]]
    assert told.told("receiver", "lost") == {"receiver": None, "lost": 0}, "it is of both"
    assert {rule for rule, _, _ in told.findings()} <= {"MC018"}


def test_findings_name_the_process_that_was_there_then() -> None:
    socket = replace(member(B), source="E")
    join_req = replace(leave_rsp(), wire_kind="JOIN_REQ", source="E", destination=A)
    missed = (msg(1), msg(3), TICK, xmit_req(2), msg(2), ack(3))
    taken = (
        socket, join_req, view("ABCE", 3, 4),
        join_rsp("ABCE", 3, to="E", digest={A: (4, 4), B: (0, 0), C: (0, 0), "E": (0, 0)}),
    )  # fmt: skip
    missed_anew = (msg(5), msg(7), TICK, xmit_req(6, by="E"), msg(6))
    first, both = heard(B, JOINED, *missed), heard(B, JOINED, *missed, *taken, *missed_anew)
    assert first.finding("MC001")["facts"]["receiver_member"] == B
    assert first.told("receiver") == {"receiver": B}
    assert both.finding("MC001")["facts"]["receiver_member"] == [B, "E"]
    assert both.finding("MC001")["seqnos"] == [[2, 2], [6, 6]]


@pytest.mark.parametrize("pause", [300, 30_000])
def test_no_silence_from_before_makes_a_window_doubtful_that_begins_anew(pause: int) -> None:
    """Nothing was heard of A for long before, when a merge may have come; not of this window."""
    socket = replace(member(B), source="E")
    join_req = replace(leave_rsp(), wire_kind="JOIN_REQ", source="E", destination=A)
    taken = (
        socket, join_req, join_rsp("ACE", 3, to="E", digest={A: (4, 4), C: (0, 0), "E": (0, 0)}),
    )  # fmt: skip
    told = heard(
        B, JOINED, msg(1), ack(1), pause, msg(2), *taken, 10, replace(ack(4), source="E"), TICK,
        msg(6), 2 * TICK, xmit_req(5, by="E"), msg(5), replace(ack(6), source="E"),
    )  # fmt: skip
    assert told.findings() == [("MC001", "proven", [[5, 5]])]


@pytest.mark.parametrize(
    ("stand", "came"),
    [("answer first", ()), ("without answer", ()), ("without answer", (msg(6, 8),))],
)
def test_who_takes_the_place_of_a_member_does_not_speak_of_its_windows(
    stand: str, came: tuple[Step, ...]
) -> None:
    """Records of one tick of the clock stand in any order: the answer to the join before it, and a
    view without B ends its windows. Or it is not in the capture; all that came is."""
    socket = replace(member(B), source="E")
    join_req = replace(leave_rsp(), wire_kind="JOIN_REQ", source="E", destination=A)
    answer = join_rsp("ACE", 3, to="E", digest={A: (5, 5), C: (0, 0), "E": (0, 0)})
    begins = (socket, join_req) if stand == "without answer" else (answer, socket, join_req)
    told = heard(
        B, JOINED, msg(1, 3), ack(3), *begins, 300, *came,
        replace(ack(7 if came else 5), source="E"), *(() if came else (msg(6, 8),)), 100,
        msg(9), replace(ack(9), source="E"),
    )  # fmt: skip
    assert told.findings("MC018") == []
    assert told.told("not_captured", "lost") == {"not_captured": 0, "lost": 0}


@pytest.mark.rule("W1")
@pytest.mark.parametrize(("of", "sure"), [(A, "proven"), (C, "likely")])
def test_to_one_that_joins_in_the_place_of_another_all_was_sent_that_its_coordinator_sends(
    of: str, sure: str
) -> None:
    # rejoin-nakack4: the view of the join was lost. Of others a digest may lack some.
    socket = replace(member(B), source="E")
    join_req = replace(leave_rsp(), wire_kind="JOIN_REQ", source="E", destination=A)
    digest = {A: (6, 6), B: (0, 0), C: (6, 6), "E": (0, 0)}
    told = heard(
        B, JOINED, msg(1, 3), ack(3), msg(1, 3, by=C), ack(3, of=C), socket, join_req,
        join_rsp("ABCE", 3, to="E", digest=digest), TICK, highest(8, by=of),
        xmit_req(8, by="E", of=of), TICK, xmit_req(7, 8, by="E", of=of), msg(7, 8, by=of),
    )  # fmt: skip
    assert ("MC001", sure, [[7, 8]]) in told.findings()


#: C joins A; what B sends meets no window before the view with it is installed (R2).
LET_IN = (join_rsp("AC", 2, to=C, digest={A: (0, 0), C: (0, 0)}), msg(1))


@pytest.mark.rule("R2")
@pytest.mark.parametrize("came", [[msg(1, 2, by=B)], [msg(2, by=B)], []])
def test_what_came_for_no_window_and_is_asked_for_was_perhaps_not_lost(came: list[Event]) -> None:
    # Also what is not in the capture: B may have sent it before C had the view.
    told = heard(
        C, *LET_IN, *came, view("ABC", 3, 2), msg(4, by=B), ack(1, by=C), TICK, TICK,
        xmit_req(1, 2, 3, by=C, of=B), msg(1, 3, by=B), ack(4, by=C, of=B),
    )  # fmt: skip
    assert told.findings("MC018", "MC016") == [("MC001", "likely", [[1, 3]])]
    assert told.told("lost", "lost_seqnos", sender=B) == {"lost": None, "lost_seqnos": []}


@pytest.mark.rule("R2")
def test_identical_datagrams_are_there_twice_whether_or_not_a_window_is() -> None:
    again = replace(msg(2, by=B), flags=Flag.MULTICAST | Flag.NETWORK_DUPLICATE)
    told = heard(C, *LET_IN, msg(2, by=B), again, view("ABC", 3, 2))
    assert told.findings("MC018") == [("MC010", "proven", [[2, 2]])]
    assert told.told("network_duplicates", sender=B) == {"network_duplicates": 1}


@pytest.mark.rule("R2")
def test_what_came_for_no_window_is_not_said_to_have_never_come() -> None:
    asked = [step for _ in range(6) for step in (TICK, xmit_req(1, 2, 3, by=C, of=B))]
    told = heard(C, *LET_IN, msg(1, 2, by=B), view("ABC", 3, 2), msg(4, by=B), ack(1, by=C), *asked)
    assert told.findings("MC015", "MC018") == [
        ("MC002", "likely", [[3, 3]]), ("MC002", "likely", [[1, 2]])
    ]  # fmt: skip
    assert told.told("lost", "lost_seqnos", "unrecovered", sender=B) == {
        "lost": None, "lost_seqnos": [[3, 3]], "unrecovered": 3,
    }  # fmt: skip


@pytest.mark.rule("R2")
def test_the_last_message_that_highest_seqno_tells_of_may_have_come_before_its_window() -> None:
    # B's pause goes on until C has the view with it.
    told = heard(C, *LET_IN, msg(1, by=B), 600, view("ABC", 3, 2), highest(1, by=B),
                 xmit_req(1, by=C, of=B), 5, msg(1, by=B), ack(1, by=C, of=B))  # fmt: skip
    assert [found for found in told.findings() if found[2] == [[1, 1]]] == [
        ("MC001", "likely", [[1, 1]])  # which says that it may have come before that window
    ]
    later = heard(C, *LET_IN, view("ABC", 3, 2), msg(1, by=B), 600, highest(2, by=B),
                  xmit_req(2, by=C, of=B), 5, msg(2, by=B), ack(2, by=C, of=B))  # fmt: skip
    assert ("MC003", "proven", [[2, 2]]) in later.findings()


@pytest.mark.rule("R2")
def test_what_was_sent_behind_a_message_that_came_to_the_window_was_lost() -> None:
    told = heard(
        C, *LET_IN, view("ABC", 3, 2), msg(2, by=B), msg(4, by=B), ack(1, by=C), TICK, TICK,
        xmit_req(1, 3, by=C, of=B), msg(1, by=B), msg(3, by=B), ack(4, by=C, of=B),
    )  # fmt: skip
    assert told.findings("MC018", "MC016") == [
        ("MC001", "proven", [[3, 3]]), ("MC001", "likely", [[1, 1]])
    ]  # fmt: skip


@pytest.mark.rule("R2")
def test_of_a_window_that_nothing_told_of_it_is_not_known_what_was_sent_to_it() -> None:
    # The capture lacks all views: that C has a window for it, its first request shows.
    def lost(seqno: int) -> list[Step]:
        before = [msg(n, by=B) for n in (seqno - 2, seqno - 1, seqno + 1)]
        return [*before, TICK, TICK, xmit_req(seqno, by=C, of=B), msg(seqno, by=B)]

    acks = [step for _ in range(9) for step in (ack(1, by=C), 200)]
    told = heard(C, msg(1), *acks, *lost(3), *lost(7), ack(8, by=C, of=B))
    assert told.findings("MC016", "MC018", "CP007") == [
        ("MC001", "proven", [[7, 7]]), ("MC001", "likely", [[3, 3]])
    ]  # fmt: skip


@pytest.mark.rule("V13")
def test_what_a_member_lacks_from_before_the_capture_holds_up_what_is_in_it() -> None:
    behind = heard(B, msg(10, 12), ack(4), msg(13))
    assert behind.delivered() is None
    assert "lacked some from before the capture" in behind.stream()["unknown"]["delivered"]
    assert heard(B, msg(10, 12), ack(4), msg(13), ack(13)).delivered() == [[10, 13]]
    asked = [msg(10, 12), xmit_req(8), msg(13)]
    assert heard(B, *asked).delivered() is None
    assert heard(B, *asked, ack(9), msg(14)).delivered() == [[10, 14]]


@pytest.mark.rule("N9")
@pytest.mark.rule("V2")
def test_a_lost_tail_whose_only_repair_is_lost_stays_missing() -> None:
    told = heard("B", JOINED, msg2(1), 600, highest(2, system="nakack2"),
                 xmit_req(2, system="nakack2"), 5000)  # fmt: skip
    assert told.told("unrecovered_seqnos", "lost_seqnos", "delivered") == {
        "unrecovered_seqnos": [[2, 2]],
        "lost_seqnos": [[2, 2]],
        "delivered": [[1, 1]],
    }
    assert told.findings() == [("MC002", "likely", [[2, 2]]), ("MC003", "proven", [[2, 2]])]


@pytest.mark.rule("N9")
@pytest.mark.rule("V2")
@pytest.mark.parametrize("then", [(), (view("AB", 3, 1, by=B),)])
def test_that_nobody_asks_for_a_tail_again_says_nothing_where_others_are_not_captured(
    then: tuple[Step, ...],
) -> None:
    """No tick asks for it, come or not. Nobody asked for 2, so the capture may lack what came."""
    told = heard("B", JOINED, msg2(1), msg2(3), 2000, highest(4, system="nakack2"),
                 xmit_req(4, system="nakack2"), 5000, *then)  # fmt: skip
    assert told.told("unrecovered", "unrecovered_seqnos") == {
        "unrecovered": None, "unrecovered_seqnos": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("then", "unrecovered"),
    [((), None), ((300, xmit_req(2, 3, system="nakack2")), 0), ((msg2(5),), 0)],
)
def test_ticks_ask_for_a_tail_as_well_once_a_higher_one_was_received(
    then: tuple[Step, ...], unrecovered: int | None
) -> None:
    """What they leave out then it had: its copy is not in this capture. Before that only the one
    HIGHEST_SEQNO has it asked for (N9), and as nobody asks for 2 and 3, it may have come as well.
    """
    asked = xmit_req(4, system="nakack2")
    told = heard("B", JOINED, msg2(1), 600, highest(4, system="nakack2"), asked, *then, 5000)
    assert told.told("unrecovered") == {"unrecovered": unrecovered}


@pytest.mark.parametrize(
    ("holds", "ticks", "unrecovered"), [(True, 4, 1), (True, 1, None), (False, 1, 0)]
)
def test_what_was_asked_for_last_before_its_sender_left_may_have_come_as_others_did(
    holds: bool, ticks: int, unrecovered: int | None
) -> None:
    """Frames longer than 200 bytes are missing: 2 and the repair of 4 are in no capture; or just
    that repair (again-2): only who asks for three ticks shows that none comes."""
    came = (msg2(2),) if holds else ()
    again: tuple[Step, ...] = (xmit_req(4, system="nakack2"), TICK)
    asked: tuple[Step, ...] = (msg2(3), msg2(5), 2 * TICK, *again * ticks)
    left: tuple[Step, ...] = (100 - TICK, view("BC", 3, 1, by=C), 10 * TICK, msg(2, by=C))
    told = heard("B", JOINED, msg2(1), *came, *asked, *left)
    assert told.told("unrecovered") == {"unrecovered": unrecovered}
    assert told.stream()["lost"] == (1 if unrecovered else None)


@pytest.mark.parametrize(("set_back_ms", "unrecovered"), [(0, 1), (20_000, 0)])
def test_what_was_asked_for_before_the_clock_was_set_back_may_have_come(
    set_back_ms: int, unrecovered: int
) -> None:
    again: list[Step] = [xmit_req(2, system="nakack2"), TICK]
    told = heard("B", JOINED, msg2(1), msg2(3), 2 * TICK, *again * 4, -set_back_ms, msg(1, by=B))
    assert told.told("unrecovered") == {"unrecovered": unrecovered}


@pytest.mark.rule("S13")
def test_a_tail_that_highest_seqno_no_longer_tells_of_has_come_or_its_sender_is_gone() -> None:
    # n4-last-lost-1 at C without the frames behind its last request: with every tick HIGHEST_SEQNO
    # comes again, and is asked for, until all have acknowledged it.
    told = heard(
        "B", JOINED, msg(1), 600, highest(2), xmit_req(2), 500, highest(2), xmit_req(2), 5000
    )
    assert told.gaps() == [("no longer asked for", [[2, 2]])]
    assert told.told("unrecovered_seqnos", "lost") == {"unrecovered_seqnos": [], "lost": None}


# -- what a capture can prove (6) --------------------------------------------------------------


@pytest.mark.rule("V2")
def test_a_gap_younger_than_three_ticks_at_the_end_is_open_not_lost() -> None:
    story = (JOINED, msg(1), msg(3), ack(1))  # 3 came at 3 ms, the ACK at 4
    told = heard("B", *story, 1498)
    assert told.findings() == [("MC014", "likely", [[2, 2]])]
    assert told.told("lost", "not_asked_for", "open_at_end", "open_at_end_seqnos", "delivered") == {
        "lost": 0, "not_asked_for": 0, "open_at_end": 1, "open_at_end_seqnos": [[2, 2]],
        "delivered": [[1, 1]],
    }  # fmt: skip
    longer = heard("B", *story, 1499)
    assert longer.findings() == [("CP007", "cannot be told", [[2, 2]])]
    assert longer.told("lost", "not_asked_for", "open_at_end", "open_at_end_seqnos") == {
        "lost": None, "not_asked_for": 1, "open_at_end": 0, "open_at_end_seqnos": [],
    }  # fmt: skip


@pytest.mark.rule("V2")
def test_one_gap_that_is_open_makes_older_ones_no_younger() -> None:
    """Nor is what was asked for a loss while it may come."""
    asked = [step for _ in range(4) for step in (500, xmit_req(2))]
    story = (JOINED, msg(1), msg(3), *asked, msg(5), 600, xmit_req(2, 4))
    told = heard("B", *story)
    assert told.gaps() == [("unrecovered", [[2, 2]]), ("open at the capture's end", [[4, 4]])]
    assert told.told("lost_seqnos", "unrecovered_seqnos", "unrecovered", "lost") == {
        "lost_seqnos": [[2, 2]], "unrecovered_seqnos": [[2, 2]], "unrecovered": 1, "lost": 1,
    }  # fmt: skip
    assert told.findings("MC015", "MC023") == [
        ("MC002", "likely", [[2, 2]]), ("MC014", "proven", [[4, 4]])
    ]  # fmt: skip
    longer = heard("B", *story, 2000)
    assert longer.gaps() == [("unrecovered", [[2, 2]]), ("no longer asked for", [[4, 4]])]
    assert longer.told("lost_seqnos", "open_at_end") == {
        "lost_seqnos": [[2, 2]], "open_at_end": 0,
    }  # fmt: skip


@pytest.mark.rule("V3")
def test_a_copy_for_another_member_is_needless_here() -> None:
    told = heard("B", JOINED, msg(1, ip_id=1), msg(2, ip_id=2), ack(2),
                 xmit_req(1, by=C), msg(1, ip_id=3))  # fmt: skip
    assert told.findings() == [("MC004", "likely", [[1, 1]])]


@pytest.mark.rule("V3")
def test_a_copy_without_ip_id_may_be_a_network_duplicate_as_well() -> None:
    told = heard("B", JOINED, msg(1), ack(1), msg(1))
    assert told.told("retransmissions") == {
        "retransmissions": {"useful": 0, "needless": 0, "undecidable": 1}
    }
    assert told.findings() == []


@pytest.mark.rule("V8")
def test_the_same_datagram_again_is_a_network_duplicate() -> None:
    copy = msg(1, ip_id=1, network_duplicate=True)
    told = heard("B", JOINED, msg(1, ip_id=1), copy, ack(1))
    assert told.told("network_duplicates", "copies", "retransmissions") == {
        "network_duplicates": 1,
        "copies": 1,
        "retransmissions": {"useful": 0, "needless": 0, "undecidable": 0},
    }
    assert told.findings() == [("MC010", "proven", [[1, 1]])]


@pytest.mark.rule("V3")
def test_a_request_for_what_it_had_acknowledged_is_spurious() -> None:
    told = heard("B", JOINED, msg(1, 2, ip_id=1), ack(2), 50, xmit_req(2), msg(2, ip_id=5))
    assert told.findings() == [("MC004", "proven", [[2, 2]]), ("MC013", "likely", [[2, 2]])]
    unseen = heard("B", JOINED, msg(1, ip_id=1), ack(2), 50, xmit_req(2), msg(2, ip_id=5))
    assert ("MC004", "proven", [[2, 2]]) not in unseen.findings()  # the same datagram, perhaps


@pytest.mark.rule("V3")
def test_a_request_that_crossed_the_message_is_spurious() -> None:
    told = heard("B", JOINED, msg(1), msg(3, ip_id=5), 1000, msg(2, ip_id=4), xmit_req(2),
                 msg(2, ip_id=6), ack(3))  # fmt: skip
    assert ("MC013", "likely", [[2, 2]]) in told.findings()
    assert ("MC004", "likely", [[2, 2]]) in told.findings()


@pytest.mark.rule("V3")
@pytest.mark.parametrize(
    ("begins", "pauses", "certainty", "read"),
    [
        ((JOINED, msg(1, 4)), (450, msg(5), 450), "proven", True),
        ((JOINED, msg(1, 4)), (msg(5), 900), "proven", False),  # one may be a clock that was set
        ((msg(1, 4),), (450, msg(5), 450), "likely", False),  # no view let its sender in yet, maybe
        ((msg(1), ack(1), msg(2, 4)), (450, msg(5), 450), "proven", True),
    ],
)
def test_messages_asked_for_a_tick_after_they_arrived_were_dropped_inside_the_receiver(
    begins: tuple[Step, ...], pauses: tuple[Step, ...], certainty: str, read: bool
) -> None:
    told = heard("B", *begins, *pauses, xmit_req(2), msg(2), 10, ack(5))
    assert told.told("dropped_inside", "delivered", "retransmissions") == {
        "dropped_inside": 1,
        "delivered": [[1, 5]] if JOINED in begins else None,  # the copy made up for it
        "retransmissions": {"useful": 1, "needless": 0, "undecidable": 0},
    }
    assert told.findings() == [("MC005", certainty, [[2, 2]])]
    assert ("or not read yet" in told.finding("MC005")["text"]) is not read


@pytest.mark.rule("V2")
@pytest.mark.parametrize(("apart_ms", "times", "rule"), [(1000, 2, "MC014"), (500, 4, "MC002")])
def test_three_ticks_are_three_times_what_lies_between_own_requests(
    apart_ms: int, times: int, rule: str
) -> None:
    # v52-n2-loss: its ticks are 1 s apart, and we take 0.5 s if we are told nothing.
    asks = [step for _ in range(times) for step in (apart_ms, xmit_req(2))]
    told = heard("B", JOINED, msg(1), msg(3), 500, xmit_req(2), *asks)
    assert [found[0] for found in told.findings("MC015")] == [rule]


@pytest.mark.rule("V3")
def test_who_drops_messages_inside_may_have_dropped_those_that_the_capture_lacks_as_well() -> None:
    # ipv6-discard-1: 3 of the spoiled capture came in the whole one, and was dropped.
    told = heard(
        "B", JOINED, msg(1, 2), msg(4), 500, msg(5), 500, xmit_req(2, 3), msg(2, 3), 10, ack(5)
    )
    assert told.told("dropped_inside", "lost", "lost_seqnos") == {
        "dropped_inside": 1, "lost": None, "lost_seqnos": [],
    }  # fmt: skip
    assert "may have dropped others" in told.stream()["unknown"]["lost"]


@pytest.mark.rule("V3")
def test_that_it_drops_messages_inside_also_shows_where_the_capture_lacks_their_repairs() -> None:
    # ipv6-discard-1, a third of the frames missing: 2 came, was dropped and asked for, and of its
    # repair only the ACK tells; so may 4 have come, whose first copy the capture lacks as well.
    told = heard("B", JOINED, msg(1, 3), 500, msg(6), 500, xmit_req(2, 4), msg(4), ack(6), 1000)
    assert told.told("dropped_inside", "not_captured", "lost", "lost_seqnos") == {
        "dropped_inside": 0, "not_captured": 1, "lost": None, "lost_seqnos": [],
    }  # fmt: skip
    assert "may have dropped others" in told.stream()["unknown"]["lost"]


@pytest.mark.rule("V3")
def test_an_ack_before_the_copy_shows_that_nothing_was_dropped() -> None:
    told = heard("B", JOINED, msg(1, 4, ip_id=1), 900, xmit_req(2), ack(4), msg(2, ip_id=9))
    assert told.told("dropped_inside", "delivered") == {
        "dropped_inside": 0,
        "delivered": [[1, 4]],
    }
    assert told.findings() == [("MC004", "likely", [[2, 2]]), ("MC013", "likely", [[2, 2]])]


@pytest.mark.rule("V3")
def test_a_request_that_no_ack_and_no_copy_explains_is_undecided() -> None:
    told = heard("B", JOINED, msg(1, 4), 900, xmit_req(2), 900)
    assert told.findings() == [("MC013", "cannot be told", [[2, 2]])]


@pytest.mark.rule("V7")
def test_the_same_request_five_times_without_a_copy_is_endless() -> None:
    asked = (xmit_req(2), 1000)
    four = heard("B", JOINED, msg(1), msg(3), 1000, *(asked * 4))
    five = heard("B", JOINED, msg(1), msg(3), 1000, *(asked * 5))
    assert [rule for rule, _, _ in four.findings()] == ["MC002"]
    assert five.findings() == [("MC002", "likely", [[2, 2]]), ("MC015", "likely", [[2, 2]])]


@pytest.mark.rule("V9")
def test_copies_are_useful_needless_or_network_duplicates_and_nothing_else() -> None:
    told = heard(
        "B", JOINED, msg(1, ip_id=1), msg(3, ip_id=3), 1000, xmit_req(2), msg(2, 3, ip_id=9),
        msg(3, ip_id=9, network_duplicate=True), ack(3),
    )  # fmt: skip
    assert told.told("arrivals", "messages", "copies", "network_duplicates", "retransmissions") == {
        "arrivals": 5,
        "messages": 3,
        "copies": 2,
        "network_duplicates": 1,
        "retransmissions": {"useful": 1, "needless": 1, "undecidable": 0},
    }


@pytest.mark.rule("V10")
def test_recovery_time_runs_from_the_gap_to_the_filling_copy() -> None:
    told = heard("B", JOINED, msg(1), msg(3), 999, xmit_req(2), 9, msg(2), 50, ack(3))
    assert told.told("recovery_ns") == {
        "recovery_ns": {"p50": 1_010_000_000, "p99": 1_010_000_000, "max": 1_010_000_000}
    }


@pytest.mark.rule("V12")
def test_what_arrives_after_this_member_left_is_no_loss_of_it() -> None:
    told = heard("B", JOINED, msg(1), ack(1), leave_rsp(), view("AC", 3, 2), msg(4), 5000, msg(6))
    assert told.told("lost", "delivered_interval", "outside_membership") == {
        "lost": 0,
        "delivered_interval": [1, 1],
        "outside_membership": 2,
    }
    assert told.findings() == [("MC018", "likely", [])]


@pytest.mark.rule("V13")
def test_a_capture_that_begins_in_mid_stream_starts_at_the_first_message() -> None:
    story = [msg(1, by=B), msg(500), msg(502), msg(499)]
    assert heard("B", *story).told("start_known", "delivered") == {
        "start_known": False,
        "delivered": [[500, 500]],
    }
    told = heard("B", *story, 2000)
    assert told.told("delivered") == {"delivered": None}, "nobody asks for 501"
    assert told.gaps() == [("sent before the capture", [[501, 501]])]  # for all that it shows


@pytest.mark.rule("V13")
def test_a_capture_that_begins_with_an_own_ack_starts_there() -> None:
    told = heard("B", ack(70), msg(72), xmit_rsp(71))
    assert told.told("delivered", "lost_seqnos") == {
        "delivered": [[71, 72]],
        "lost_seqnos": [],  # an earlier window may have had it
    }
    assert told.gaps() == [("sent before the capture", [[71, 71]])]


@pytest.mark.rule("V18")
def test_an_own_ack_above_what_was_captured_shows_a_hole_in_the_capture() -> None:
    told = heard("B", JOINED, msg(1, 2), msg(5), ack(5), 3000, msg(6), ack(6))
    assert told.told("delivered", "lost", "not_captured") == {
        "delivered": [[1, 6]],
        "lost": None,
        "not_captured": 2,
    }
    assert told.findings() == [("CP007", "proven", [[3, 4]])]


def test_what_a_request_for_a_higher_seqno_leaves_out_had_arrived() -> None:
    """A tick's request names all that is missing from the low end (jgroups.md 4.4, 5.4)."""
    told = heard("B", JOINED, msg(1), msg(3), msg(5), 1000, xmit_req(4), xmit_rsp(4))
    assert told.gaps() == [("not captured", [[2, 2]]), ("recovered", [[4, 4]])]
    assert told.told("lost", "not_captured", "delivered") == {
        "lost": None,
        "not_captured": 1,
        "delivered": [[1, 5]],
    }
    assert told.finding("CP007")["certainty"] == "proven"


def test_a_request_after_highest_seqno_says_nothing_of_lower_ones() -> None:
    """It is for that seqno only, at once (jgroups.md 5.4)."""
    told = heard("B", JOINED, msg(1), msg(3), 200, highest(4), xmit_req(4), xmit_rsp(4))
    assert told.gaps() == [
        ("open at the capture's end", [[2, 2]]), ("recovered or late", [[4, 4]]),
    ]  # fmt: skip


def test_what_was_never_asked_for_may_have_been_missed_by_the_capture() -> None:
    told = heard("B", JOINED, msg(1), msg(3), 2000, msg(4))
    assert told.told("lost", "unrecovered", "not_asked_for", "delivered") == {
        "lost": None,
        "unrecovered": 0,
        "not_asked_for": 1,
        "delivered": None,
    }
    assert told.finding("CP007")["certainty"] == "cannot be told"


def test_a_request_that_highest_seqno_caused_does_not_say_that_lower_ones_were_had() -> None:
    """3 arrived and was dropped inside B, so 2 was news to it; 1 it never had."""
    story: list[Step] = [
        JOINED, msg(2), msg(3), 400, highest(2), xmit_req(2), 300, ack(0, of=A),
    ]  # fmt: skip
    told = heard("B", *story, 800, xmit_req(1, 3), msg(1), msg(3), 600, ack(3))
    assert "CP007" not in {rule for rule, *_ in told.findings()}
    by_tick = heard("B", JOINED, msg(2), msg(3), 1000, xmit_req(2), msg(2), 600, ack(3))
    assert ("CP007", "proven", [[1, 1]]) in by_tick.findings()


@pytest.mark.parametrize(
    ("again", "certainty", "lost"), [((), "likely", None), ((TICK, xmit_req(1)), "proven", 1)]
)
def test_what_is_asked_for_once_and_comes_unseen_may_have_been_in_the_reading(
    again: tuple[Step, ...], certainty: str, lost: int | None
) -> None:
    """HIGHEST_SEQNO makes a member ask at once, and neither it nor a copy is in the capture."""
    told = heard("B", JOINED, xmit_req(1), *again, 600, msg(1, by=C), ack(1))
    assert told.findings() == [("MC001", certainty, [[1, 1]])]
    assert told.told("lost", "delivered") == {"lost": lost, "delivered": [[1, 1]]}


# -- messages in the list of another member ------------------------------------------------------


def test_where_a_list_holds_messages_of_another_member_windows_show_nothing() -> None:
    # C repairs A's 4 and 6 in one list: they go to the window of C, and B asks for 2, 3 and 5 of C
    repairs = (replace(msg(n), flags=Flag.MISFILED) for n in (4, 6))
    asked = [step for _ in range(6) for step in (TICK, xmit_req(2, 3, 5, of=C))]
    told = heard("B", JOINED, msg(1, 3), msg(1, by=C), *repairs, *asked)
    assert told.told("delivered", "lost", sender=C) == {"delivered": None, "lost": None}
    assert ("CP007", "likely", [[4, 4]]) in told.findings()
    assert ("MC002", "cannot be told", [[2, 3], [5, 5]]) in told.findings()
    assert {outcome for outcome, _ in told.gaps(sender=C)} == {"cannot be told"}


@pytest.mark.parametrize(
    ("spoil", "to", "certainty"),
    [
        (None, C, "proven"),  # every member asks the sender: nobody else repairs
        (Flag.CUT, "D", "likely"),  # behind what was cut the list may have held more
        (None, "D", "likely"),  # 4 is not in the capture: in such a list?
        (None, ADDRESS[A], "likely"),  # what C has sent comes from the socket of A
    ],
)
def test_where_members_ask_others_what_the_capture_lacks_may_be_such_a_list(
    spoil: Flag | None, to: str, certainty: str
) -> None:
    last = replace(msg(6, by=C), flags=spoil or Flag(0))
    sockets = [member(A), member(C)]
    if to == ADDRESS[A]:
        sockets.append(replace(member(A), source=C))
        to = C
    asked = xmit_req(2, 3, 5, of=C, to=to)
    told = heard("B", *sockets, JOINED, msg(1, by=C), last, TICK, asked, ack(1, of=C), TICK, asked)
    assert ("CP007", certainty, [[4, 4]]) in told.findings()
    if certainty == "likely":
        assert told.told("delivered", "lost", sender=C) == {"delivered": None, "lost": None}


@pytest.mark.rule("A2")
@pytest.mark.rule("A5")
def test_what_was_sent_after_a_later_message_another_member_may_have_asked_for() -> None:
    begun = (JOINED, msg(1, ip_id=10), msg(3, ip_id=11), 100, msg(4, ip_id=12), 100)
    story = (*begun, msg(2, ip_id=13), ack(4))
    told = heard("B", *story)
    assert told.told("lost", "recovered", "reordered") == {
        "lost": None,
        "recovered": 1,
        "reordered": 0,
    }
    assert told.gaps() == [("recovered or late", [[2, 2]])]
    assert told.findings() == [("MC001", "likely", [[2, 2]])]
    # B's own ticks tell nothing of theirs, nor does a pause of nothing [s-n2-lastlost-4]
    slow = heard("B", *begun[:-1], 300, msg(2, ip_id=13), ack(4), xmit_interval_ms=900)
    assert slow.told("lost", "reordered") == {"lost": None, "reordered": 0}
    threads = heard("B", *begun[:3], 5, msg(2, ip_id=13), ack(3))
    assert threads.told("lost", "reordered") == {"lost": 0, "reordered": 1}
