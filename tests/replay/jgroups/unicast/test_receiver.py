"""The data receiver's rows (jgroups.md 4.4; table B), captured at B, which A sends to."""

from dataclasses import replace
from typing import Any, Final

import pytest

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.evidence import Life
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from tests.replay.builders import MS, A, B, Step
from tests.replay.jgroups.unicast.builders import (
    TICK,
    Heard,
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


# -- windows ---------------------------------------------------------------------------------------


@pytest.mark.rule("unicast B1")
def test_a_first_message_opens_a_window_at_its_seqno() -> None:
    told = heard(B, data(7, first=True), data(8), TICK, ack(8, 1))
    assert told.delivered() == [[7, 8]]
    assert told.states() == ["OPEN"]


@pytest.mark.rule("unicast B7")
@pytest.mark.parametrize(("system", "kept"), [("unicast3", False), ("unicast4", True)])
def test_a_list_of_another_connection_is_dropped(system: str, kept: bool) -> None:
    """What came alone is cached and needs no further request once its window exists."""

    def told(*, listed: bool) -> Heard:
        return heard(
            B, data(1, system=system), TICK, ack(1, 1, system=system),
            data(2, 3, conn=2, ip_id=5, listed=listed, alone=not listed, system=system),
            sync(2, system=system), data(1, conn=2, ip_id=6, system=system),
        )  # fmt: skip

    assert told(listed=False).delivered(2) == [[1, 3]]
    assert told(listed=True).delivered(2) == ([[1, 3]] if kept else [[1, 1]])
    assert ("UC039" in dict(told(listed=True).findings())) == (not kept)
    assert "UC039" not in dict(told(listed=False).findings())


@pytest.mark.rule("unicast B2")
@pytest.mark.rule("unicast B8")
@pytest.mark.rule("unicast S1")
@pytest.mark.rule("unicast U16")
def test_messages_before_the_window_wait_for_it_and_are_asked_for() -> None:
    story = [data(2, 3, ip_id=8), sync(1), data(1, ip_id=9), data(4, ip_id=10), TICK, ack(4, 2)]
    told = heard(B, *story)
    assert told.delivered() == [[1, 4]]
    assert told.findings() == [("UC012", "proven"), ("UC001", "proven"), ("UC003", "proven")]


@pytest.mark.rule("unicast B2")
def test_before_4_1_5_such_messages_are_dropped() -> None:
    story = [data(2), sync(), data(1), TICK, ack(1), request(2), data(2), TICK, ack(2)]
    told = heard(B, *story, version="3.5.0")
    assert told.delivered() == [[1, 2]]
    assert told.told("dropped_without_window") == {"dropped_without_window": 1}
    assert ("UC039", "likely") in told.findings()


@pytest.mark.rule("unicast B2")
def test_what_lies_between_dropped_messages_may_have_come_and_been_dropped_as_well() -> None:
    """Where the capture lacks it: it is asked for with them [t-v40-first-3 with a bit changed]."""
    earlier = [data(1), 1200, data(2), data(3), TICK, ack(3), 9000]
    story = [*earlier, data(4), data(6), sync(), data(4, first=True), TICK, ack(4)]
    told = heard(B, *story, request(5, 6), data(5, 6), TICK, ack(6), version="3.5.0")
    assert told.told("lost_seqnos") == {"lost_seqnos": []}
    assert ("UC001", "likely") in told.findings()


@pytest.mark.rule("unicast B3")
def test_a_first_flag_on_the_current_connection_is_ignored() -> None:
    told = heard(B, data(1), data(2), data(4, first=True), data(3), TICK, ack(4, 1))
    assert told.delivered() == [[1, 4]]


@pytest.mark.rule("unicast B4")
def test_a_first_message_of_another_connection_replaces_the_window() -> None:
    story = [data(1), data(2), TICK, ack(2, 1), data(1, conn=0), data(2, conn=0), ack(2, 2, conn=0)]
    told = heard(B, *story)
    assert (told.delivered(1), told.delivered(0)) == ([[1, 2]], [[1, 2]])
    assert told.states(1) == ["OPEN", "CLOSED"]
    assert told.findings() == [("UC021", "likely"), ("UC022", "proven")]


@pytest.mark.rule("unicast B4")
@pytest.mark.rule("unicast B6")
def test_unicast4_replaces_the_window_only_by_a_greater_conn_id() -> None:
    def story(conn: int) -> list[Step]:
        return [
            data(1, conn=5, system=U4), TICK, ack(1, 1, conn=5, system=U4),
            data(1, conn=conn, system=U4), TICK, data(2, conn=5, system=U4),
            TICK, ack(2, 2, conn=5, system=U4),
        ]  # fmt: skip

    older = heard(B, *story(4))
    assert (older.delivered(5), older.delivered(4)) == ([[1, 2]], [])
    assert older.states(5) == ["OPEN"]
    newer = heard(B, *story(6)[:-2], TICK, ack(1, 2, conn=6, system=U4))
    assert (newer.delivered(5), newer.delivered(6)) == ([[1, 1]], [[1, 1]])


@pytest.mark.rule("unicast B5")
@pytest.mark.rule("unicast S2")
def test_another_connection_without_its_first_message_waits_and_is_asked_for() -> None:
    story = [
        data(1), TICK, ack(1, 1), data(2, conn=2, ip_id=5), sync(2),
        data(1, conn=2, ip_id=6), TICK, ack(2, 3, conn=2),
    ]  # fmt: skip
    told = heard(B, *story)
    assert (told.delivered(1), told.delivered(2)) == ([[1, 1]], [[1, 2]])
    assert "UC015" not in dict(told.findings())


@pytest.mark.rule("unicast B8")
def test_messages_of_an_older_connection_that_wait_are_dropped_by_the_new_window() -> None:
    story = [data(5, conn=1), sync(1), data(1, conn=2), TICK, ack(1, 2, conn=2)]
    told = heard(B, *story)
    assert (told.delivered(1), told.delivered(2)) == ([], [[1, 1]])
    assert heard(B, data(2, 3), sync(1), data(1)).delivered() == [[1, 3]]


# -- accepting -------------------------------------------------------------------------------------


@pytest.mark.rule("unicast B9")
@pytest.mark.rule("unicast P7")
def test_duplicates_are_not_delivered_and_provoke_an_ack() -> None:
    story = [data(1), data(2, ip_id=5), TICK, ack(2, 1)]
    told = heard(B, *story, 100, data(2, ip_id=9), 300, ack(2, 2))
    assert told.delivered() == [[1, 2]]
    assert told.told("retransmissions") == {
        "retransmissions": {"useful": 0, "needless": 1, "undecidable": 0}
    }
    assert told.findings("UC006") == [("UC005", "proven")]
    soon = heard(B, *story, data(2, ip_id=9), 300, ack(2, 2))  # before the ACK, perhaps
    assert soon.findings() == [("UC005", "likely")]
    late = heard(B, data(1), TICK, ack(1, 1), data(1), 2 * TICK, ack(1, 2))
    assert ("UC018", "likely") in late.findings()
    assert "or was paused" in late.finding("UC018")["text"]


@pytest.mark.rule("unicast B10")
def test_unicast4_drops_a_list_beyond_its_window() -> None:
    story = [data(1, system=U4), data(6, 9, system=U4), TICK, ack(1, 1, system=U4)]
    told = heard(B, *story, capacity=5)
    assert told.told("outside_window") == {"outside_window": 3}  # 6 still fits: 1 + 5
    assert told.finding("UC040")["seqnos"] == [[7, 9]]
    assert heard(B, *story, capacity=8).told("outside_window") == {"outside_window": 0}


@pytest.mark.rule("unicast B11")
def test_messages_are_delivered_in_order_and_out_of_band_ones_at_once() -> None:
    told = heard(B, data(1), data(3), data(5, oob=True), data(2), data(4), TICK, ack(5, 1))
    assert told.delivered() == [[1, 1], [5, 5], [2, 4]]


@pytest.mark.rule("unicast B11")
def test_what_is_not_captured_may_have_been_delivered_out_of_band_as_well() -> None:
    """oob-u4n4: 3 was had, as the requests leave it out; it waits for 2, or did not."""
    story = (data(5, oob=True), TICK, ack(1, 1), *(request(2, 4), TICK) * 4)
    assert heard(B, data(1), *story).delivered() is None
    assert heard(B, data(1), data(3), *story).delivered() == [[1, 1], [5, 5]]


@pytest.mark.rule("unicast B12")
def test_a_message_keeps_the_connection_open() -> None:
    story = [data(1), TICK, ack(1, 1), 1500, data(2), TICK, ack(2, 2), 1000]
    told = heard(B, *story, conn_expiry_timeout_ms=2500, conn_close_timeout_ms=9000)
    assert told.states() == ["OPEN"]
    idle = heard(B, *story[:6], conn_expiry_timeout_ms=1500, conn_close_timeout_ms=9000)
    assert idle.states() == ["OPEN", "CLOSING", "OPEN"]  # 2 opened it again


# -- ACKs ------------------------------------------------------------------------------------------


@pytest.mark.rule("unicast B13")
@pytest.mark.rule("unicast U8")
@pytest.mark.parametrize(("late_ms", "overdue"), [(640, False), (660, True)])
def test_an_ack_is_due_at_the_tick(late_ms: int, overdue: bool) -> None:
    told = heard(B, data(1), late_ms, ack(1, 1))
    assert told.findings() == ([("UC018", "likely")] if overdue else [])


def test_no_ack_was_late_where_the_clock_was_set_or_one_is_not_in_the_capture() -> None:
    assert heard(B, data(1), 6000, ack(1, 1)).findings() == []
    story = [data(1), TICK, ack(1, 1), data(2), 900]
    assert ("UC018", "likely") in heard(B, *story, ack(2, 2)).findings()
    assert ("UC018", "cannot be told") in heard(B, *story, ack(2, 3)).findings()  # 2 is missing


@pytest.mark.rule("unicast B13")
def test_an_ack_says_the_highest_that_can_be_delivered() -> None:
    told = heard(B, data(1, 3), data(5), TICK, ack(3, 1))
    assert told.connection()["highest_delivered"] == 3


@pytest.mark.rule("unicast B13")
@pytest.mark.parametrize(
    ("count", "given", "listed", "overdue"),
    [
        (100, {}, True, True),  # the default of 5.6
        (99, {}, True, False),
        (100, {}, False, False),
        (8, {"ack_threshold": 8}, True, True),
        (7, {"ack_threshold": 8}, True, False),
        (1, {"ack_threshold": 1}, False, True),  # each message at once
        (100, {"rules": "document"}, True, False),
    ],
)
def test_a_batch_of_ack_threshold_messages_is_acked_at_once(
    count: int, given: dict[str, Any], listed: bool, overdue: bool
) -> None:
    def told(late_ms: int) -> list[tuple[str, str]]:
        batch = data(2, count + 1, listed=listed)
        story = [data(1), TICK, ack(1, 1), TICK, batch, late_ms, ack(count + 1, 2)]
        return heard(B, *story, **given).findings()

    assert [rule for rule, _ in told(250)] == (["UC018"] if overdue else [])
    if given.get("ack_threshold") != 1:
        assert told(150) == []


@pytest.mark.rule("unicast B14")
@pytest.mark.parametrize(
    ("last", "alone", "given", "overdue"),
    [
        (9, False, {"ack_threshold": 8}, True),
        (8, False, {"ack_threshold": 8}, False),
        (9, True, {"ack_threshold": 8}, True),
        (5, True, {"ack_threshold": 8}, False),  # counted twice, but when is not visible
        (9, False, {"capacity": 32}, True),  # a quarter of the window
        (9, False, {}, False),
    ],
)
def test_unicast4_acks_when_as_many_have_been_delivered(
    last: int, alone: bool, given: dict[str, Any], overdue: bool
) -> None:
    def told(late_ms: int) -> list[tuple[str, str]]:
        story = [
            data(1, system=U4), TICK, ack(1, 1, system=U4),
            data(2, last, alone=alone, system=U4), late_ms, ack(last, 2, system=U4),
        ]  # fmt: skip
        return heard(B, *story, **given).findings()

    assert [rule for rule, _ in told(250)] == (["UC018"] if overdue else [])
    assert told(150) == []


@pytest.mark.rule("unicast B14")
def test_unicast4_acks_are_counted_with_the_messages_they_cover() -> None:
    story = [data(1, system=U4), data(2, 4, system=U4), ack(4, 1, system=U4), data(5, system=U4)]
    told = heard(B, *story, TICK, ack(5, 2, system=U4))
    assert told.stream()["ack_traffic"]["messages_per_ack"] == 2.5
    assert told.findings() == []


# -- selective retransmission ----------------------------------------------------------------------


@pytest.mark.rule("unicast B15")
@pytest.mark.rule("unicast B16")
@pytest.mark.parametrize(("after_ms", "early"), [(340, True), (360, False)])
def test_a_gap_is_asked_for_after_a_whole_tick(after_ms: int, early: bool) -> None:
    story = [data(1, ip_id=1), data(3, ip_id=3), after_ms, ack(1, 1), request(2)]
    told = heard(B, *story, data(2, ip_id=9), TICK, ack(3, 2), xmit_interval_ms=500)
    assert (
        ("UC035", "likely") in told.findings()
        if early
        else told.findings() == [("UC001", "proven")]
    )


@pytest.mark.rule("unicast B17")
@pytest.mark.rule("unicast U7")
def test_a_gap_that_an_answer_fills_was_lost_and_recovered() -> None:
    story = [data(1), data(3), TICK, ack(1, 1), TICK, request(2), data(2), TICK, ack(3, 2)]
    told = heard(B, *story)
    assert told.gaps() == [("recovered", [[2, 2]])]
    assert told.told("lost_seqnos", "delivered") == {
        "lost_seqnos": [[2, 2]], "delivered": [[1, 3]],
    }  # fmt: skip
    assert told.told("recovery_ns") == {
        "recovery_ns": dict.fromkeys(("p50", "p99", "max"), 1_004_000_000 - 1_000_000)
    }


@pytest.mark.rule("unicast B17")
def test_a_late_original_is_reordering_by_its_ip_id() -> None:
    story = [data(1, ip_id=10), data(3, ip_id=12), 2 * TICK, ack(1, 1), request(2)]
    late = heard(B, *story, data(2, ip_id=11), TICK, ack(3, 2))
    assert late.gaps() == [("reordered", [[2, 2]])]
    resent = heard(B, *story, data(2, ip_id=40), TICK, ack(3, 2))
    assert resent.gaps() == [("recovered", [[2, 2]])]
    both = heard(B, *story, data(2, ip_id=40), data(2, ip_id=11), TICK, ack(3, 2))
    assert both.gaps() == [("reordered", [[2, 2]])]
    assert both.told("lost_seqnos") == {"lost_seqnos": []}


@pytest.mark.rule("unicast B17")
def test_what_threads_of_its_sender_exchanged_nobody_asked_for() -> None:
    # send_atomically is off, so 3 may leave before 2 [s-u4n4-senders-3].
    threads = heard(B, data(1, ip_id=10), data(3, ip_id=11), data(2, ip_id=12), ack(3, 1))
    assert threads.gaps() == [("reordered", [[2, 2]])]
    assert threads.told("lost") == {"lost": 0}


@pytest.mark.rule("unicast B18")
def test_an_empty_request_is_counted_and_asks_for_nothing() -> None:
    told = heard(B, data(1), data(2), TICK, ack(2, 1), request())
    assert told.told("requests", "requested_seqnos") == {
        "requests": {"sent": 1, "arrived": None},
        "requested_seqnos": {"sent": 0, "arrived": None},
    }
    assert told.findings() == []


def test_uc036_a_request_names_at_most_max_xmit_req_size_seqnos() -> None:
    story = [data(1), data(4), TICK, ack(1, 1), TICK, request(2, 3), data(2, 3), TICK, ack(4, 2)]
    assert "UC036" not in dict(heard(B, *story, max_xmit_req_size=2).findings())
    assert dict(heard(B, *story, max_xmit_req_size=1).findings())["UC036"] == "proven"
    assert "UC036" in heard(B, *story).not_judged()


@pytest.mark.parametrize(("acks", "each", "many"), [(49, 1, False), (50, 1, True), (50, 2, False)])
def test_uc037_fifty_acks_for_fewer_than_a_hundred_messages_are_many(
    acks: int, each: int, many: bool
) -> None:
    rounds = [(data(n * each + 1, (n + 1) * each), 10, ack((n + 1) * each, n + 1))
              for n in range(acks)]  # fmt: skip
    told = heard(B, data(1), *[step for one in rounds for step in one])
    assert ("UC037" in dict(told.findings())) == many


@pytest.mark.rule("unicast B19")
@pytest.mark.rule("unicast P6")
def test_the_same_request_five_times_without_a_copy_is_endless() -> None:
    def story(times: int) -> list[Step]:
        asked: list[Step] = [TICK, request(2), data(4)]
        return [data(1), data(3), TICK, ack(1, 1), *asked * times]

    assert heard(B, *story(4)).findings("UC002", "UC005", "UC006") == []
    told = heard(B, *story(5))
    assert told.findings("UC002", "UC005", "UC006") == [("UC011", "proven")]
    assert told.finding("UC011")["facts"]["behind"] == 2  # messages 3 and 4
    dead = [step for step in story(6) if step != data(4)]
    assert heard(B, *dead).findings("UC002") == []  # the sender says nothing any more


def test_what_a_member_asked_for_until_it_left_had_not_come() -> None:
    """It stops asking as it has left, not as the message came or was given up."""
    again: list[Step] = [request(2), TICK]
    asked: list[Step] = [data(1), data(3), TICK, ack(1, 1), TICK, *again * 4]
    told = heard(B, *asked, leave_rsp(B), 10 * TICK, view("AC", 3))
    assert told.findings() == [("UC002", "likely")]
    assert told.told("unrecovered", "delivered") == {"unrecovered": 1, "delivered": [[1, 1]]}
    assert heard(B, *asked, 10 * TICK, view("AC", 3)).told("unrecovered") == {"unrecovered": 0}


def test_what_never_comes_is_lost_and_what_is_missing_at_the_end_is_open() -> None:
    story = [data(1), data(3), TICK, ack(1, 1)]
    assert heard(B, *story).findings() == [("UC033", "likely")]  # it may not be in the capture
    asked = [*story, request(2)]
    assert heard(B, *asked).findings() == [("UC033", "proven")]
    again = [*asked, *3 * [TICK, request(2)]]
    assert heard(B, *again).findings() == [("UC002", "likely")]
    assert heard(B, *again).told("unrecovered_seqnos") == {"unrecovered_seqnos": [[2, 2]]}
    more = heard(B, *again, data(5), *4 * [TICK, request(2, 4)]).finding("UC002")["facts"]
    assert (more["count"], more["requests"]) == (2, 8)  # of the one that was asked for most often


def test_who_asks_at_a_tick_and_then_no_more_while_the_capture_goes_on_has_it_or_gave_it_up() -> (
    None
):
    # Nothing of its conversation comes any more, which a request at the next tick would have been.
    story = [data(1), data(3), TICK, ack(1, 1), request(2)]
    told = heard(B, *story, 3 * TICK)
    assert told.findings() == [("CP007", "cannot be told")]
    assert told.gaps() == [("no longer asked for", [[2, 2]])]
    assert told.told("unrecovered_seqnos", "lost", "no_longer_asked_for") == {
        "unrecovered_seqnos": [], "lost": None, "no_longer_asked_for": 1,
    }  # fmt: skip
    assert heard(B, *story).gaps() == [("open at the capture's end", [[2, 2]])]


def test_what_was_sent_before_the_capture_and_is_asked_for_no_more_may_have_come() -> None:
    # flags-1 at A: of 21 to 33 only the repairs of 32 and 33, out of band, are in the capture.
    asked = request(*range(21, 34))
    story = [ack(20, 1), data(34, oob=True), TICK, asked, data(32, 33, oob=True)]
    assert heard(B, *story).told("delivered") == {"delivered": [[34, 34], [32, 33]]}
    assert heard(B, *story, 3 * TICK).told("delivered") == {"delivered": None}


def test_what_the_last_tick_does_not_name_has_come_since_the_one_before_or_was_given_up() -> None:
    # u3-loss-bidir-2 at C without 30 % of its frames: the repair of 4 came between the last two.
    story = [data(1), data(3), data(5), TICK, ack(1, 1), *3 * [request(2, 4), TICK], request(2)]
    told = heard(B, *story)
    assert told.told("unrecovered_seqnos") == {"unrecovered_seqnos": [[2, 2]]}
    assert ("no longer asked for", [[4, 4]]) in told.gaps()


def test_what_was_never_asked_for_may_have_been_missed_by_the_capture() -> None:
    """A receiver asks for what it misses at every tick (jgroups.md 4.4)."""
    told = heard(B, data(1), data(3), TICK, ack(1, 1), 3 * TICK, data(4))
    assert told.findings() == [("CP007", "cannot be told")]
    assert told.told("lost", "unrecovered", "not_asked_for", "delivered") == {
        "lost": None,
        "unrecovered": 0,
        "not_asked_for": 1,
        "delivered": None,
    }


@pytest.mark.parametrize(("stamp", "certainty", "lost"), [(2, "proven", 1), (3, "likely", None)])
def test_the_figure_of_what_is_lost_is_as_sure_as_its_finding(
    stamp: int, certainty: str, lost: int | None
) -> None:
    # A number that is left out may be of a SEND_FIRST_SEQNO: the window that asks is a new one.
    story = [data(1), TICK, ack(1, 1), data(2), data(4), TICK, ack(2, stamp), request(3), data(3)]
    told = heard(B, *story, TICK, ack(4, stamp + 1))
    assert ("UC001", certainty) in told.findings()
    assert told.told("lost", "recovered") == {"lost": lost, "recovered": 1}


def test_what_was_delivered_out_of_band_does_not_say_that_what_is_below_it_was_not() -> None:
    for first in (data(1), data(1, first=False)):  # 2 may be missing in the capture only
        story = [first, 100, data(3, oob=True), 100, ack(1, 1)]
        assert heard(B, *story).delivered() is None
        assert heard(B, *story[:2], data(3), *story[3:]).delivered() == [[1, 1]]


def test_what_a_request_for_a_higher_seqno_leaves_out_had_arrived() -> None:
    """A tick's request names all that is missing from the low end (jgroups.md 4.4)."""
    told = heard(B, data(1), data(3), data(5), TICK, request(4), data(4), TICK, ack(5, 1))
    assert told.findings("UC018") == [("UC001", "proven"), ("CP007", "proven")]
    assert told.told("lost", "lost_seqnos", "not_captured", "delivered") == {
        "lost": None,
        "lost_seqnos": [[4, 4]],
        "not_captured": 1,
        "delivered": [[1, 5]],
    }


def test_a_message_asked_for_after_it_arrived_was_dropped_inside() -> None:
    story = [data(1), data(2), data(3), TICK, ack(1, 1), TICK, request(2), data(2), TICK, ack(3, 2)]
    told = heard(B, *story)
    assert told.delivered() == [[1, 3]]
    assert told.told("dropped_inside") == {"dropped_inside": 1}
    assert told.findings() == [("UC034", "proven")]


def test_a_clock_that_is_set_forward_may_hide_that_the_request_crossed_the_message() -> None:
    story = [data(1), TICK, ack(1, 1), data(2), data(3), TICK, request(2), data(2), TICK]
    found = heard(B, *story, ack(3, 2)).finding("UC034")
    assert found["certainty"] == "proven" and "or not read yet" in found["text"]


def _late(*pauses_ms: int) -> Heard:
    """Message 2 comes after 3 and 4, by its IP id the original."""
    one, other, third = pauses_ms
    story = [data(1, ip_id=1), data(3, ip_id=3), one, data(4, ip_id=4), other, ack(1, 1), third]
    return heard(B, *story, data(2, ip_id=2), TICK, ack(4, 2))


@pytest.mark.parametrize("place", range(3))
def test_a_clock_that_is_set_forward_makes_no_reordering_certain(place: int) -> None:
    step = [30_000 if i == place else 1 for i in range(3)]
    assert ("UC030", "proven") not in _late(*step).findings()
    assert ("UC030", "likely") in _late(1, 1, 1).findings()  # a capture may exchange such frames
    assert ("UC030", "proven") in _late(30, 30, 30).findings()


@pytest.mark.parametrize(("stamp", "certainty"), [(2, "proven"), (3, "likely")])
def test_an_own_sync_that_is_not_captured_may_have_been_for_another_window(
    stamp: int, certainty: str
) -> None:
    story = [data(1), data(2), data(3), TICK, ack(1, 1), TICK, request(2), data(2), TICK]
    assert ("UC034", certainty) in heard(B, *story, ack(3, stamp)).findings()


def test_own_messages_that_are_not_captured_show_only_by_a_later_one() -> None:
    """A window that was lost meanwhile, and built anew, asks for what the one before had."""
    story = [data(1), data(2), data(3), TICK, ack(1, 1), TICK, request(2), data(2), TICK]
    assert ("UC034", "likely") in heard(B, *story, data(4)).findings()


@pytest.mark.parametrize("asked", [False, True])
def test_what_only_a_rebuilt_window_asks_for_an_earlier_one_may_have_had(asked: bool) -> None:
    earlier = [request(7), TICK] if asked else [TICK]
    story = [
        data(1), data(2, 5), TICK, ack(5, 1), data(6), data(8), TICK, *earlier, 2500, data(8),
        sync(2), data(6, first=True), TICK, request(7), data(7), TICK, ack(8, 3),
    ]  # fmt: skip
    told = heard(B, *story)
    assert ("UC001", "proven" if asked else "likely") in told.findings()
    assert told.finding("UC001")["seqnos"] == [[7, 7]]


@pytest.mark.parametrize("asked", [False, True])
def test_what_only_the_answer_to_a_sync_fills_may_have_found_no_window_itself(asked: bool) -> None:
    more = [TICK, request(4), data(4)] if asked else []
    story = [
        data(1, ip_id=1), data(2, ip_id=2), TICK, ack(2, 1), 9000, data(5, 8, ip_id=20), sync(2),
        data(3, first=True, ip_id=21), *(more or [data(4, first=True, ip_id=22)]), TICK, ack(8, 3),
    ]  # fmt: skip
    lost = heard(B, *story).stream()["lost"]
    assert lost == (2 if asked else None)


def test_a_window_that_only_its_first_message_shows_is_lost_at_a_sync_as_well() -> None:
    """Its own ACKs are not captured: nothing but the sync is heard of the receiver."""
    story = [
        data(1), data(2, 17), 1000, data(19), 1000, data(19), sync(4), data(11, first=True),
        ack(11, 5), TICK, request(*range(12, 19)), data(12, 19), TICK, ack(19, 6),
    ]  # fmt: skip
    found = dict(heard(B, *story).findings())
    assert ("UC015" in found, "UC032" in found) == (True, False)


def test_only_a_request_between_frames_of_a_connection_shows_that_it_dropped_inside() -> None:
    story = [data(1), data(2), data(3), TICK, ack(1, 1), TICK, request(2)]
    assert ("UC034", "likely") in heard(B, *story).findings()  # it may be for the next connection
    assert ("UC034", "proven") in heard(B, *story, data(2), TICK, ack(3, 2)).findings()


@pytest.mark.rule("unicast S11")
@pytest.mark.parametrize("members", ["ABC", "BC"])
def test_who_goes_on_sending_after_a_view_without_it_has_another_view(members: str) -> None:
    story = [view("ABC", 1), data(1), TICK, ack(1, 1), view(members, 2), 1200, data(2), TICK]
    told = heard(B, *story, ack(2, 2))
    assert ("UC047" in dict(told.findings())) == (members == "BC")
    left = heard(B, *story[:4], view("BC", 2), data(2), 1200, ack(2, 2))  # on its way meanwhile
    assert "UC047" not in dict(left.findings())


# -- SEND_FIRST_SEQNO ------------------------------------------------------------------------------


@pytest.mark.rule("unicast B20")
@pytest.mark.parametrize(("apart_ms", "storm"), [(1540, True), (1560, False)])
def test_send_first_seqno_is_throttled(apart_ms: int, storm: bool) -> None:
    story = [data(2), sync(1), apart_ms - 2, data(3), sync(2)]
    told = heard(B, *story, sync_min_interval_ms=2000)
    assert (("UC013", "proven") in told.findings()) is storm
    assert (("UC013", "likely") in heard(B, *story).findings()) is storm  # by the default


@pytest.mark.rule("unicast B20")
def test_a_given_interval_makes_a_storm_none() -> None:
    story = [step for stamp in range(1, 6) for step in (data(stamp + 1), sync(stamp))]
    assert "not given" in heard(B, *story).finding("UC013")["text"]
    assert "UC013" not in dict(heard(B, *story, sync_min_interval_ms=1).findings())


def test_a_sync_just_after_its_answer_is_redundant() -> None:
    story = [data(2), sync(1), 50, data(1)]
    found = heard(B, *story, 10, sync(2), TICK, ack(2, 3)).findings()
    assert ("UC044", "likely") in found


def test_an_unanswered_sync_is_said_once_of_the_connection_it_was_for() -> None:
    story = [data(2), sync(1), data(1), ack(2, 2), 3000, data(3, conn=1), sync(3), 2500]
    told = heard(B, *story, data(3, conn=1), sync(4), data(1, conn=1), ack(1, 5, conn=1))
    said = [r for r in told.results if r.kind == "FINDING" and r.detail["rule"] == "UC014"]
    assert [(r.stream, r.detail["facts"]["times"]) for r in said] == [("lab|A|B|1", 1)]
    assert "UC044" not in dict(heard(B, *story, TICK, ack(2, 3)).findings())


@pytest.mark.parametrize(("needless", "poor"), [(18, False), (19, True)])
def test_copies_that_repaired_nothing_are_summed_up(needless: int, poor: bool) -> None:
    story: list[Step] = [data(1), data(20), TICK, ack(1, 1), TICK, request(*range(2, 20))]
    story += [data(seqno) for seqno in range(2, 20)]  # 18 repairs
    copies: list[Step] = [data(20, ip_id=n) for n in range(needless)]
    told = heard(B, *story, TICK, ack(20, 2), *copies)
    assert told.told("retransmissions")["retransmissions"]["useful"] == 18
    assert ("UC045" in dict(told.findings())) is poor


@pytest.mark.parametrize(("later_ms", "slow"), [(800, False), (1200, True)])
def test_a_recovery_of_more_than_four_ticks_is_slow(later_ms: int, slow: bool) -> None:
    story = [data(1), data(3), TICK, ack(1, 1), TICK, request(2), later_ms, data(2), 10, ack(3, 2)]
    found = dict(heard(B, *story).findings())
    assert found["UC001"] == "proven"
    assert ("UC046" in found) is slow


# -- the end of windows ----------------------------------------------------------------------------


@pytest.mark.rule("unicast B21")
@pytest.mark.rule("unicast U13")
def test_close_removes_the_window_of_its_connection() -> None:
    story = [data(1), data(3), close(), data(2), sync(1)]
    told = heard(B, *story)
    assert told.delivered() == [[1, 1]]  # 3 went with the window, 2 has none
    assert told.states() == ["OPEN", "CLOSED"]


@pytest.mark.rule("unicast B22")
def test_close_of_another_connection_is_ignored() -> None:
    for last in ([], [TICK, ack(2, 1)]):
        told = heard(B, data(1), close(conn=9), data(2), *last)
        assert told.delivered() == [[1, 2]]
        assert told.states() == ["OPEN"]


@pytest.mark.rule("unicast B23")
def test_an_idle_connection_is_closing_and_then_reaped_silently() -> None:
    story = [data(1), TICK, ack(1, 1), 2600]
    given: dict[str, Any] = {"conn_expiry_timeout_ms": 1000, "conn_close_timeout_ms": 1000}
    assert heard(B, *story, **given).states() == ["OPEN", "CLOSING", "CLOSED"]
    assert heard(B, *story, **(given | {"conn_close_timeout_ms": 0})).states() == [
        "OPEN", "CLOSING",
    ]  # fmt: skip
    assert heard(B, *story, **(given | {"conn_expiry_timeout_ms": 0})).states() == ["OPEN"]
    shown = heard(B, *story, data(2), sync(2), data(2, first=True), TICK, ack(2, 3), **given)
    assert "reaped" in shown.finding("UC015")["facts"]["why"]
    assert shown.states() == ["OPEN", "CLOSING", "CLOSED", "OPEN"]


@pytest.mark.rule("unicast B24")
def test_views_without_and_with_the_sender_close_and_open() -> None:
    story = [view("ABC", 1), data(1), TICK, ack(1, 1), view("BC", 2), view("ABC", 3)]
    assert heard(B, *story).states() == ["OPEN", "CLOSING", "OPEN"]
    assert heard(B, *story[:-1]).states() == ["OPEN", "CLOSING"]


def moments(told: Heard) -> list[int]:
    """When its states began, in ms; none begins before the one in front of it."""
    return [state["at_ns"] // MS for state in told.connection()["states"]]


IDLE: dict[str, Any] = {"conn_expiry_timeout_ms": 5000, "conn_close_timeout_ms": 5000}
SEEN: Final = [view("ABC", 1), data(1), TICK, ack(1, 1)]


@pytest.mark.rule("unicast B23")
@pytest.mark.rule("unicast B24")
def test_a_view_that_changes_the_state_begins_the_age_anew() -> None:
    """u4n4-merge: out of the view, and in again by a merge, its age is that of the last view."""
    story = [*SEEN, 3000, view("BC", 2), 2000, view("ABC", 3)]
    told = heard(B, *story, 4000, **IDLE)
    assert told.states() == ["OPEN", "CLOSING", "OPEN"]
    idle = heard(B, *story, 11_000, **IDLE)
    assert idle.states() == ["OPEN", "CLOSING", "OPEN", "CLOSING", "CLOSED"]
    out, back, *later = moments(idle)[1:]
    assert (back, later) == (out + 2001, [back + 5000, back + 10_000])


@pytest.mark.rule("unicast B23")
@pytest.mark.rule("unicast B24")
def test_a_view_with_the_sender_opens_what_was_idle() -> None:
    told = heard(B, *SEEN, 6000, view("ABC", 2), 2000, **IDLE)
    assert told.states() == ["OPEN", "CLOSING", "OPEN"]
    assert moments(told)[1] == moments(told)[0] + 5000


@pytest.mark.rule("unicast B24")
def test_a_view_with_the_sender_is_no_use_of_what_is_open() -> None:
    told = heard(B, *SEEN, 3000, view("ABC", 2), 4000, **IDLE)
    assert told.states() == ["OPEN", "CLOSING"]
    assert moments(told)[1] == moments(told)[0] + 5000


@pytest.mark.rule("unicast B23")
@pytest.mark.rule("unicast B24")
def test_what_was_reaped_is_opened_by_no_view() -> None:
    told = heard(B, *SEEN, 11_000, view("ABC", 2), 1000, **IDLE)
    assert told.states() == ["OPEN", "CLOSING", "CLOSED"]
    out = heard(B, *SEEN, view("BC", 2), 6000, view("ABC", 3), 1000, **IDLE)
    assert out.states() == ["OPEN", "CLOSING", "CLOSED"]


@pytest.mark.rule("unicast B12")
@pytest.mark.rule("unicast B24")
def test_a_message_opens_it_whatever_the_view_says() -> None:
    told = heard(B, *SEEN, view("BC", 2), 100, data(2), TICK, ack(2, 2), **IDLE)
    assert told.states() == ["OPEN", "CLOSING", "OPEN"]


@pytest.mark.rule("unicast B12")
@pytest.mark.rule("unicast B24")
def test_states_are_told_in_the_order_of_the_capture() -> None:
    """What came before a view is read at the next sign of life, which comes behind it."""
    story = [*SEEN, view("BC", 2), 900, data(2), 20, view("ABC", 3), 300, ack(2, 2)]
    told = heard(B, *story, **IDLE)
    assert told.states() == ["OPEN", "CLOSING", "OPEN"]
    assert told.connection()["states"][-1]["why"] == "a message"
    first = heard(B, view("ABC", 1), data(1), view("BC", 2), TICK, ack(1, 1), **IDLE)
    assert first.states() == ["OPEN", "CLOSING"]  # it was opened before the view


@pytest.mark.rule("unicast B23")
@pytest.mark.rule("unicast B24")
def test_an_age_from_before_the_first_tick_of_the_clock_may_be_greater() -> None:
    """u4n4-pause: the joiner was made five seconds before it joined, so a view opened the entry
    anew 9 s after its only message, and a merge at 17 s found it open: CLOSING at 19 s."""
    given: dict[str, Any] = {"conn_expiry_timeout_ms": 10_000, "conn_close_timeout_ms": 10_000}
    story = [view("ABC", 1), 100, data(1), TICK, ack(1, 1), 8500, view("ABC", 2), 8500]
    merged = [*story, view("ABC", 3), 9000]
    told = heard(B, *merged, started=True, **given)
    assert told.states() == ["OPEN", None, "OPEN", None]
    assert "first tick" in told.connection()["states"][-1]["why"]
    assert moments(told) == sorted(moments(told))
    assert heard(B, *merged, **given).states() == ["OPEN", "CLOSING", "OPEN"]
    # both lead to the same: no such view, one that comes too soon, or a message since then
    for same in (
        [view("ABC", 1), 100, data(1), TICK, ack(1, 1), 1000, view("ABC", 2), 7000],
        [*story[:6], data(2), TICK, ack(2, 2), *story[6:]],
    ):
        assert heard(B, *same, started=True, **given).states() == ["OPEN"]


@pytest.mark.parametrize(("conn", "certainty"), [(1, "proven"), (2, "likely")])
def test_a_sync_between_frames_of_two_connections_is_of_either(conn: int, certainty: str) -> None:
    story = [data(1), TICK, ack(1, 1), 5000, sync(2), 1, data(1, conn=conn, first=True)]
    assert ("UC012", certainty) in heard(B, *story).findings()


@pytest.mark.rule("unicast B25")
def test_what_a_rebuilt_window_accepts_again_is_delivered_again() -> None:
    story = [
        data(1), data(2, 5), TICK, ack(5, 1), 2500, data(6), sync(2),
        data(3, first=True), TICK, ack(3, 3), TICK, request(4, 5), data(4, 5), TICK, ack(6, 4),
    ]  # fmt: skip
    told = heard(B, *story)
    assert told.delivered() == [[1, 5], [3, 6]]
    assert told.told("redelivered") == {"redelivered": 3}
    assert told.findings("UC012") == [("UC023", "proven"), ("UC015", "proven")]
    assert told.told("retransmissions")["retransmissions"]["useful"] == 3


def test_uc023_what_no_ack_of_the_new_window_covers_it_may_not_have_read() -> None:
    story = [
        data(1), data(2, 5), TICK, ack(5, 1), 2500, data(6), sync(2),
        data(3, first=True), TICK, ack(3, 3), TICK, request(4, 5), 100, data(4, 5),
    ]  # fmt: skip
    assert ("UC023", "likely") in heard(B, *story).findings()
    assert ("UC023", "proven") in heard(B, *story, TICK, ack(6, 4)).findings()


def test_uc013_a_sync_that_is_captured_twice_is_no_storm() -> None:
    for stamp, storm in ((1, False), (2, True)):
        told = heard(B, data(2), sync(1), 100, sync(stamp), data(1, first=True), TICK, ack(2, 3))
        assert ("UC013" in [rule for rule, _ in told.findings()]) is storm


# -- what a capture can prove ----------------------------------------------------------------------


@pytest.mark.rule("unicast P1")
def test_a_lost_window_had_read_what_came_well_before_its_first_sync() -> None:
    lost = [data(1), data(2), TICK, ack(2, 1), data(3), 3000, data(4), sync(2)]
    told = heard(B, *lost, data(4, first=True), TICK, ack(4, 3))
    assert told.delivered() == [[1, 4]]  # 3 by the old window


@pytest.mark.rule("unicast P1")
def test_after_a_recent_sync_all_that_waits_may_have_had_no_window() -> None:
    story = [
        data(2), sync(1), data(1), TICK, ack(2, 2), 600, data(3), 600, data(4), 300, sync(3),
        data(3, first=True), TICK, ack(4, 4),
    ]  # fmt: skip
    assert heard(B, *story).told("delivered", "redelivered") == {
        "delivered": [[1, 4]], "redelivered": 0,
    }  # fmt: skip


@pytest.mark.rule("unicast P2")
def test_frames_for_a_dead_member_are_neither_delivered_nor_lost() -> None:
    story = [data(1), data(2), TICK, ack(2, 1), data(3), data(5), 4 * TICK, data(5)]
    told = heard(B, *story)
    assert told.delivered() == [[1, 2]]
    assert told.told("outside_membership", "lost") == {"outside_membership": 3, "lost": 0}
    assert told.findings() == [("UC027", "likely")]
    never = heard(B, data(1), data(2), 4 * TICK, data(2))  # what it sends may be filtered out
    assert dict(never.findings())["UC027"] == "cannot be told"


@pytest.mark.rule("unicast P2")
@pytest.mark.parametrize("silence", [0, 4 * TICK])
def test_what_comes_behind_the_last_word_of_a_member_it_has_read_or_it_has_died(
    silence: int,
) -> None:
    # However long the capture goes on: it may have read what came just before it died.
    story = [data(1, 2), TICK, ack(2, 1), 600, data(3, 4), data(6), silence, data(6)]
    told = heard(B, *story).told("unknown")["unknown"]["delivered"]
    assert told.startswith("at least up to 2, at most up to 4: the rest came when its receiver")
    alive = heard(B, *story[:-2], 100, ack(4, 2))
    assert alive.told("delivered", "unknown") == {"delivered": [[1, 4]], "unknown": {}}


@pytest.mark.rule("unicast P2")
def test_of_a_run_that_goes_on_behind_the_last_word_bounds_are_told() -> None:
    """n2-killC-slow: rows are runs, of which only the first and the last message have times."""
    run = replace(data(3, 9), last_frame=4 * TICK)
    story = [data(1, 2), TICK, ack(2, 1), run, 30, data(1, by=B, at=A), 12 * TICK]
    told = heard(B, *story, data(9))
    assert told.told("delivered", "outside_membership") == {
        "delivered": None, "outside_membership": 2,
    }  # fmt: skip
    words = told.told("unknown")["unknown"]["delivered"]
    assert words.startswith("at least up to 3, at most up to 9: ")
    assert told.finding("UC027")["text"].startswith("At least ")


@pytest.mark.rule("unicast P2")
def test_a_member_speaks_until_its_last_frame_in_whatever_order_runs_are_told() -> None:
    life = Life(Elapsed())
    for frame in (9, 5):  # the run of which the last frame is 5 ends when another one begins
        life.spoke(Mark(frame, frame))
    assert life.last == Mark(9, 9)


@pytest.mark.parametrize(("original", "lost"), [(3, None), (9, 2)])
def test_a_repair_shows_no_loss_where_another_original_came_behind_its_request(
    original: int, lost: int | None
) -> None:
    # messy-1 at C: 34 and 35 came 343 ms after they were missing, their originals not captured.
    late = [data(1, ip_id=2), data(3, ip_id=4), 240, request(2), 4, data(2, ip_id=original)]
    story = [*late, data(5, ip_id=10), 340, request(4), 2, data(4, ip_id=20), TICK, ack(5, 1)]
    assert heard(B, *story, 4 * TICK).told("lost") == {"lost": lost}


def test_a_repair_that_was_not_asked_for_is_no_certain_loss_if_the_capture_lacks_frames() -> None:
    story = [data(1, ip_id=1), TICK, ack(1, 1), data(3, ip_id=3), 3 * TICK, data(2, ip_id=9)]
    assert heard(B, *story, TICK, ack(3, 2)).told("lost") == {"lost": 1}
    for lacking in ([*story, TICK, ack(3, 4)], [step for step in story if step != ack(1, 1)]):
        assert heard(B, *lacking).told("lost", "lost_seqnos") == {"lost": None, "lost_seqnos": []}


@pytest.mark.rule("unicast P3")
def test_a_capture_that_starts_late_begins_at_what_is_shown() -> None:
    told = heard(B, data(40, 45), TICK, ack(45, 9), data(46), TICK, ack(46, 10))
    assert told.delivered() == [[40, 46]]
    assert told.findings() == []
    gap = heard(B, data(40), TICK, ack(30, 9), TICK, request(*range(31, 40)), data(31, 39), TICK,
                ack(40, 10))  # fmt: skip
    assert gap.delivered() == [[31, 40]]
    assert gap.told("lost_seqnos") == {"lost_seqnos": []}  # an earlier window may have had them
    assert gap.findings() == [("UC001", "cannot be told")]


@pytest.mark.rule("unicast P5")
def test_at_the_receiver_a_purge_shows_in_requests_for_what_it_had_acknowledged() -> None:
    lost = [
        data(1), data(2, 5), TICK, ack(5, 1), 2500, data(5), sync(2), data(2, first=True), TICK,
        ack(2, 3),
    ]  # fmt: skip
    asked = [step for _ in range(2) for step in (TICK, request(3, 4))]
    assert ("UC010", "likely") in heard(B, *lost, *asked).findings()
    assert "UC010" not in dict(heard(B, *lost, *asked[:2], data(3, 4)).findings())


def test_network_duplicates_are_the_networks() -> None:
    told = heard(B, data(1), data(2), data(2, network_duplicate=True), TICK, ack(2, 1))
    assert told.told("network_duplicates", "copies") == {"network_duplicates": 1, "copies": 1}
    assert told.findings() == [("UC029", "proven")]


@pytest.mark.parametrize("seen", [True, False])
def test_what_the_first_copy_is_not_captured_of_came_in_another_datagram_perhaps(
    seen: bool,
) -> None:
    """u4n4-dup-reorder-2: what comes is the same datagram again, and the first is in a hole."""
    first = [data(2, ip_id=12)] if seen else []
    story = [data(1, ip_id=10), *first, TICK, ack(2, 1), TICK, data(2, ip_id=13), TICK, ack(2, 2)]
    told = heard(B, *story)
    assert (("UC005", "proven") in told.findings()) == seen


def test_a_resend_after_its_ack_says_that_the_ack_was_lost_or_late() -> None:
    story = [data(1), data(2, ip_id=5), TICK, ack(2, 1), TICK]
    told = heard(B, *story, data(2, ip_id=9), TICK, ack(2, 2))
    assert told.findings() == [("UC005", "proven"), ("UC006", "likely")]
    same = heard(B, *story, data(2, ip_id=5), TICK, ack(2, 2))  # captured twice, perhaps
    assert same.findings() == [("UC005", "likely"), ("UC006", "likely")]


def test_a_hole_of_the_capture_is_no_loss() -> None:
    told = heard(B, data(1), data(4), TICK, ack(4, 1))
    assert told.gaps() == [("not captured", [[2, 3]])]
    assert told.findings() == [("CP007", "proven")]


def test_what_a_member_sent_is_not_sent_twice_because_it_was_captured_twice() -> None:
    """No network lies between a member and its own interface."""
    story = [data(2), sync(1), data(1), data(2), TICK, ack(2, 2), data(4), 2 * TICK, request(3)]
    once = heard(B, *story, data(3))
    twice = [
        step
        for event in story
        for step in (
            [event, replace(event, flags=event.flags | Flag.NETWORK_DUPLICATE)]
            if isinstance(event, Event) and event.source == B
            else [event]
        )
    ]
    names = ("requests", "requested_seqnos", "acks", "syncs")
    assert heard(B, *twice, data(3)).told(*names) == once.told(*names)
    assert heard(B, *twice, data(3)).findings() == once.findings()


def test_a_new_connection_names_the_one_before_it() -> None:
    told = heard("B", data(1, 2), data(1, 2, conn=2), data(1, 2, conn=3), data(3, conn=1))
    found = [row for row in told.results if row.rule == "UC022" and row.kind == "FINDING"]
    assert [(f.detail["facts"]["conn_id"], f.detail["facts"]["before"]) for f in found] == [
        (2, 1),
        (3, 2),
    ]


def test_a_connection_that_one_frame_names_is_likely() -> None:
    """Its number may have been damaged where no checksum tells."""
    once = heard("B", data(1, 2), TICK, ack(2, 1), data(3, conn=9), data(3))
    assert ("UC022", "likely") in once.findings()
    twice = heard("B", data(1), TICK, ack(1, 1), data(1, conn=9), data(2, conn=9))
    assert ("UC022", "proven") in twice.findings()
