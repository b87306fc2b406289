"""What a spoiled capture still proves of unicasts, and in which words: recorded kinds."""

from dataclasses import replace

import pytest

from seqaudit.decoders.contract.events import Flag
from tests.replay.builders import A, B, Step, hole, unseen_end
from tests.replay.jgroups.unicast.builders import (
    TICK,
    Heard,
    ack,
    close,
    data,
    heard,
    member,
    request,
    sync,
)

SECOND = 1000


def said(told: Heard, rule: str) -> list[tuple[str, list[list[int]]]]:
    """(certainty, seqnos) of every finding of a rule, in the order of the report."""
    return [
        (row.detail["certainty"], row.detail["seqnos"])
        for row in told.results
        if row.rule == rule and row.detail.get("text")
    ]


#: B lacks 3 and 6 when the capture begins; 11 and 13 are lost while it goes on.
BEGUN_AT_A_REQUEST: list[Step] = [
    request(3, 6), data(3), data(6), data(8), data(9), ack(9, 6), data(10), data(12), data(14),
    TICK, ack(10, 7), TICK, request(11, 13), data(11), data(13), data(15), TICK, ack(15, 8),
]  # fmt: skip


def test_a_request_at_the_beginning_belongs_to_the_connection_that_is_named_next() -> None:
    told = heard(B, *BEGUN_AT_A_REQUEST)
    assert len([row for row in told.results if row.kind == "STREAM"]) == 1
    assert told.told("requests") == {"requests": {"sent": 2, "arrived": None}}


def test_what_was_sent_before_the_capture_is_not_called_lost() -> None:
    told = heard(B, *BEGUN_AT_A_REQUEST)
    assert said(told, "UC001") == [
        ("proven", [[11, 11], [13, 13]]),
        ("cannot be told", [[3, 3], [6, 6]]),
    ]
    assert not {"UC002", "UC039", "CP007"} & dict(told.findings()).keys()


@pytest.mark.parametrize(
    ("since", "stamps", "certainty"),
    [
        ([ack(9, 6)], (7, 8), "proven"),
        ([], (7, 8), "likely"),  # an earlier one may have asked for the first message
        ([ack(9, 6)], (8, 9), "likely"),
        ([ack(9, 6)], (7, None), "likely"),
        ([ack(9, 6)], (7, 9), "likely"),
    ],
)
def test_what_a_window_lacked_is_proven_if_no_own_number_is_missing_since(
    since: list[Step], stamps: tuple[int, int | None], certainty: str
) -> None:
    """Else the window before it may have had them, and its SEND_FIRST_SEQNO is not captured."""
    story: list[Step] = [
        request(6), data(6), data(8), data(9), *since, data(10), data(12), TICK, ack(10, stamps[0]),
        TICK, request(11), data(11), TICK,
    ]  # fmt: skip
    last: list[Step] = [] if stamps[1] is None else [ack(12, stamps[1])]
    assert (certainty, [[11, 11]]) in said(heard(B, *story, *last), "UC001")


@pytest.mark.parametrize(("holds", "lost"), [(True, 1), (False, None)])
def test_how_late_originals_come_is_not_seen_where_the_capture_lacks_others(
    holds: bool, lost: int | None
) -> None:
    """u4n4-dup-reorder-2, 2 s of what came missing: 111 was asked for, and came late."""
    came = [data(2, 3)] if holds else []
    story = [data(1), *came, TICK, ack(3, 1), TICK, request(4), TICK, ack(4, 2), data(5)]
    told = heard(B, *story, SECOND)
    assert told.told("lost") == {"lost": lost}


def test_a_repair_that_is_not_captured_is_a_repair() -> None:
    story: list[Step] = [
        data(1), data(2), data(4), data(6), TICK, ack(2, 1), TICK, request(3, 5), data(3), TICK,
        ack(6, 2),
    ]  # fmt: skip
    told = heard(B, *story)
    assert said(told, "UC001") == [("proven", [[3, 3], [5, 5]])]
    assert "of {unseen} the repair is not in this capture" in told.finding("UC001")["text"]
    assert told.finding("UC001")["facts"]["unseen"] == 1
    assert "CP007" not in dict(told.findings())
    assert told.told("lost", "recovered", "repairs_not_captured") == {
        "lost": 2, "recovered": 2, "repairs_not_captured": 1,
    }  # fmt: skip
    assert ("repaired, not captured", [[5, 5]]) in told.gaps()


def test_an_ack_alone_does_not_say_that_nothing_was_lost() -> None:
    told = heard(B, data(1), data(3), TICK, ack(3, 1))
    assert said(told, "CP007") == [("proven", [[2, 2]])]
    text = told.finding("CP007")["text"]
    assert "cannot be told" in text and "did not lose" not in text
    assert told.told("lost") == {"lost": None}


#: Begun behind a lost window: what is asked for had come before, and was purged by its sender.
ENDLESS: list[Step] = [
    sync(5), data(2, first=True), TICK, ack(2, 6),
    *[step for seqno in range(20, 28) for step in (request(3, 18), data(seqno), TICK)],
]  # fmt: skip


def test_requests_without_a_copy_are_proven_and_not_that_the_messages_were_lost() -> None:
    told = heard(B, *ENDLESS)
    assert said(told, "UC002") == []
    assert ("proven", [[3, 3], [18, 18]]) in said(told, "UC011")
    assert ("cannot be told", [[3, 3], [18, 18]]) in said(told, "UC033")


def test_an_ack_shows_that_what_was_asked_for_again_and_again_came_in_the_end() -> None:
    """The copy is not in the capture."""
    asked = [step for seqno in range(4, 9) for step in (TICK, request(2), data(seqno))]
    story: list[Step] = [data(1), data(3), TICK, ack(1, 1), *asked, TICK]
    assert ("UC011", "proven") in heard(B, *story).findings()
    assert "UC011" not in dict(heard(B, *story, ack(8, 2)).findings())


@pytest.mark.parametrize(("times", "delivered"), [(6, [[1, 1]]), (1, None)])
def test_what_a_member_did_not_ask_for_to_its_last_word_it_may_have_had(
    times: int, delivered: list[list[int]] | None
) -> None:
    """Captured for 90 of every 100 ms: no repair, and no word of it to this peer since."""
    again: list[Step] = [request(2), TICK]
    told = heard(
        B, data(1), data(3), TICK, ack(1, 1), TICK, *again * times, (6 - times) * TICK,
        ack(9, 2, at="C"), TICK, data(4), 10 * TICK, data(5),
    )  # fmt: skip
    assert "UC027" in dict(told.findings())
    assert told.told("delivered") == {"delivered": delivered}


def test_what_stands_behind_a_request_and_came_before_it_shows_no_sender_that_lives() -> None:
    """A file of what a member sent, and one of what came to it, joined one behind the other."""
    again: list[Step] = [request(2), TICK]
    asked: list[Step] = [data(1), data(3), TICK, ack(1, 1), TICK, *again * 6]
    behind = [data(seqno) for seqno in range(4, 9)]
    assert ("UC011", "proven") in heard(B, *asked, *behind).findings()
    assert "UC011" not in dict(heard(B, *asked, -7 * TICK, *behind, 8 * TICK).findings())


def test_an_ack_of_a_new_window_shows_that_nothing_below_it_was_purged() -> None:
    story: list[Step] = [
        data(1), data(2, 5), TICK, ack(5, 4), 2 * SECOND, data(5), sync(5), data(2, first=True),
        TICK, ack(2, 6), *[step for _ in range(3) for step in (TICK, request(3, 4))], data(6), TICK,
    ]  # fmt: skip
    assert ("UC010", "proven") in heard(B, *story).findings()
    assert "UC010" not in dict(heard(B, *story, ack(6, 7)).findings())


def test_what_was_asked_for_just_before_the_end_may_have_come() -> None:
    told = heard(B, data(1), data(3), TICK, ack(1, 1), TICK, request(2))
    assert said(told, "UC033") == [("proven", [[2, 2]])]
    assert "asked for, and no copy is in this capture" in told.finding("UC033")["text"]


def test_what_had_been_acknowledged_is_no_loss_when_a_new_window_asks_for_it() -> None:
    story: list[Step] = [
        ack(16, 3), TICK, data(16), 2 * TICK, data(16), sync(5), data(11, first=True), TICK,
        ack(11, 6), TICK, request(12, 13, 14, 15), data(12, 15), TICK, ack(16, 7),
    ]  # fmt: skip
    told = heard(B, *story)
    found = dict(told.findings())
    assert not {"UC001", "UC002", "UC003"} & found.keys()
    assert (found["UC015"], found["UC023"]) == ("proven", "proven")


def test_an_ack_that_falls_back_shows_a_lost_window_without_its_request_for_the_first() -> None:
    """The SEND_FIRST_SEQNO, timestamp 5, is not in the capture."""
    story: list[Step] = [
        data(1), data(2, 21), TICK, ack(21, 4), 2 * SECOND, data(21), data(2, first=True), TICK,
        ack(2, 6), TICK, request(3, 20), TICK, request(3, 20), data(2), TICK, ack(2, 7),
    ]  # fmt: skip
    told = heard(B, *story)
    found = dict(told.findings())
    assert (found["UC015"], found["UC010"], found["CP030"]) == ("proven", "likely", "proven")
    assert "UC032" not in found
    assert told.finding("CP030")["facts"]["named"] == "5"


@pytest.mark.parametrize("asked", [False, True])
def test_who_asks_for_what_it_acknowledged_has_delivered_with_a_window_nobody_saw_begin(
    asked: bool,
) -> None:
    """v35-u3-stale-ack-1, the clock of which never ticks: when that window began does not show."""
    told = heard(
        B, data(1), data(2, 5), TICK, ack(5, 1), TICK, *[request(3, 4)] * asked, data(6, 8)
    )
    assert told.delivered() == (None if asked else [[1, 8]])
    again = heard(B, data(1), data(2, 5), *[TICK, ack(5, 1), *[TICK, request(3, 4)] * 4])
    assert ("UC032" in dict(told.findings()), "UC010" in dict(again.findings())) == (asked, True)
    assert "UC032" not in dict(again.findings())


def test_cp030_numbers_that_follow_one_another_leave_nothing_out() -> None:
    whole = heard(B, data(1), TICK, ack(1, 4), data(2), TICK, ack(2, 5), data(3), TICK, ack(3, 6))
    assert "CP030" not in dict(whole.findings())
    exchanged = heard(B, data(1), TICK, ack(1, 4), data(2), TICK, ack(2, 6), ack(1, 5))
    assert "CP030" not in dict(exchanged.findings())


def test_cp030_what_a_member_numbers_before_it_knows_an_address_never_leaves_it() -> None:
    """Recorded: who joins while the path loses much answers a peer of which it knows nothing."""
    met = data(9), data(10)  # of A, which B has not spoken to
    late = heard(B, *met, ack(1, 1, at="C"), TICK, ack(10, 3), TICK, ack(10, 4))
    assert dict(late.findings())["CP030"] == "likely"
    assert "or did not leave it" in late.finding("CP030")["text"]
    known = heard(B, *met, ack(10, 1), TICK, ack(10, 3), TICK, ack(10, 4))
    assert dict(known.findings())["CP030"] == "proven"


@pytest.mark.parametrize(
    ("stamps", "certainty", "named"),
    [
        ((1, 2, 5, 6), "proven", "3-4"),
        ((1, 2, 5), "likely", "3-4"),  # nothing tells it from a damaged one
        ((1, 2, 3, 107, 5, 6, 7), "likely", "4, 8-106"),  # 4 was damaged
    ],
)
def test_cp030_one_number_alone_may_have_been_damaged(
    stamps: tuple[int, ...], certainty: str, named: str
) -> None:
    told = heard(B, *[step for n, s in enumerate(stamps, 1) for step in (data(n), TICK, ack(n, s))])
    assert dict(told.findings())["CP030"] == certainty
    assert told.finding("CP030")["facts"]["named"] == named


@pytest.mark.parametrize(
    ("pauses_ms", "certainty"),
    [
        ((300,), "likely"), ((700,), "likely"), ((30_000,), None),
        ((300, 400), "proven"), ((900, 900), "likely"),
    ],
)  # fmt: skip
def test_lateness_beyond_what_networks_do_may_be_a_clock_that_was_set(
    pauses_ms: tuple[int, ...], certainty: str | None
) -> None:
    """One pause may be a step of the clock; of several one is time, and no network is so late."""
    other = iter(data(n, ip_id=10 + n) for n in range(4, 9))
    between = [step for pause in pauses_ms for step in (pause, next(other))]
    story = heard(
        "B", data(1, ip_id=10), data(3, ip_id=12), *between[:-1], data(2, ip_id=11), ack(3, 1)
    )
    found = [told for rule, told in story.findings() if rule == "UC030"]
    assert found == ([] if certainty is None else [certainty])


def test_cp030_two_members_at_one_host_count_their_own_messages_each() -> None:
    story: list[Step] = [replace(member(B), source="E")]
    for n in (1, 2, 3):
        story += [data(n), ack(n, 3 + n), replace(ack(n, 900 + n), source="E")]
    assert "CP030" not in dict(heard(B, *story).findings())


@pytest.mark.parametrize(("behind", "certainty"), [(1, "proven"), (2, "likely")])
def test_a_request_that_may_be_of_the_connection_behind_shows_no_lost_window(
    behind: int, certainty: str
) -> None:
    """Only the member's own messages are captured, and requests name no connection."""
    story: list[Step] = [
        ack(1, 1), TICK, ack(7, 2), 3 * SECOND, sync(3), TICK, ack(2, 4, conn=behind), TICK,
        request(6), TICK, ack(8, 5, conn=behind),
    ]  # fmt: skip
    assert said(heard(B, *story), "UC015")[0][0] == certainty


@pytest.mark.parametrize(
    ("before", "certainty"), [([data(1, conn=2)], "likely"), ([data(1), TICK, ack(1, 1)], "proven")]
)
def test_uc020_a_connection_that_only_its_close_names_may_be_a_damaged_number(
    before: list[Step], certainty: str
) -> None:
    assert dict(heard(A, *before, close()).findings())["UC020"] == certainty


@pytest.mark.parametrize(
    ("behind", "last"),
    [
        ([data(6, first=True), TICK, ack(6, 3)], 6),  # its sender knew of an ACK for 5
        ([ack(6, 3)], 6),
        ([request(7), data(7), TICK, ack(7, 3)], 7),
    ],
)
def test_what_a_window_begins_behind_an_earlier_one_delivered(
    behind: list[Step], last: int
) -> None:
    story: list[Step] = [data(1), data(2), TICK, ack(2, 1), 3 * SECOND, sync(2), TICK, *behind]
    assert heard(B, *story).told("delivered") == {"delivered": [[1, last]]}


def test_of_what_came_without_a_word_of_its_receiver_nobody_can_tell_whether_it_was_delivered() -> (
    None
):
    assert heard(B, data(5, 7)).told("delivered") == {"delivered": None}
    assert heard(B, data(5, 7), 3 * SECOND, data(8)).told("delivered") == {"delivered": None}
    assert heard(B, data(5, 7), TICK, ack(7, 3)).told("delivered") == {"delivered": [[5, 7]]}
    assert heard(B, data(5, 7), sync(1)).told("delivered") == {"delivered": []}


def test_requests_are_for_the_connection_that_the_member_acknowledged_last() -> None:
    """Only its own messages are captured."""
    told = heard(B, ack(1, 1, conn=0), TICK, ack(1, 2, conn=1), TICK, request(2), TICK, ack(3, 3))
    sent = [row.detail["requests"]["sent"] for row in told.results if row.kind == "STREAM"]
    assert sent == [0, 1]


def test_what_came_before_the_window_that_asks_was_opened_an_earlier_one_may_have_had() -> None:
    """That was lost soon after a SEND_FIRST_SEQNO, so the next one had to wait."""
    story: list[Step] = [
        data(2), sync(1), data(1), 300, ack(2, 2), data(6), 100, data(7), 1700, data(7), sync(3),
        data(3, first=True), TICK, ack(3, 4), TICK, request(4, 5, 6), data(4, 6), TICK, ack(7, 5),
    ]  # fmt: skip
    assert said(heard(B, *story), "UC034") == [("likely", [[6, 6]])]


@pytest.mark.parametrize(("apart", "delivered"), [(TICK, [[1, 15]]), (5, [[1, 23]])])
def test_where_acks_have_no_timestamps_a_lower_one_shows_a_window_built_anew_by_its_time(
    apart: int, delivered: list[list[int]]
) -> None:
    # v35-u3-stale-ack: SEND_FIRST_SEQNO and its answer, message 2, are not in the capture.
    told = heard(
        B, SECOND * 3, data(1), data(2, 15), data(16, 23), TICK, ack(15), apart, ack(2), TICK,
        version="3.5.0",
    )  # fmt: skip
    assert told.told("delivered") == {"delivered": delivered}


def test_a_request_that_was_cut_names_nothing_and_leaves_nothing_out() -> None:
    # u3-loss at C, cut to 140 bytes: what it names is not there, and the repairs are cut as well.
    before = [step for n in range(1, 5) for step in (data(n), SECOND // 4, ack(n, n))]
    cut = replace(request(5), seqno=None, stop_seqno=None, count=0, detail="[]", flags=Flag.CUT)
    told = heard(B, *before, SECOND // 2, data(8), TICK, ack(4, 5), TICK, cut, TICK, ack(8, 6))
    assert said(told, "UC001") == said(told, "UC002") == []
    assert said(told, "CP007") == [("proven", [[5, 7]])]
    assert told.told("lost", "lost_seqnos") == {"lost": None, "lost_seqnos": []}


@pytest.mark.parametrize(("holds", "lost"), [(True, 1), (False, None)])
def test_a_release_without_timestamps_may_have_built_its_window_anew_where_others_are_missing(
    holds: bool, lost: int | None
) -> None:
    # No number shows that no SEND_FIRST_SEQNO is missing between 4 and the request for 5.
    before = [step for n in range(1, 5) for step in (data(n), SECOND // 4, ack(n), SECOND // 4)]
    third = [data(6)] if holds else []
    told = heard(
        B, *before, *third, data(7), TICK, ack(4), TICK, request(5), data(5), TICK,
        ack(7), version="3.5.0",
    )  # fmt: skip
    assert told.told("lost") == {"lost": lost}


def test_and_then_the_one_before_may_have_had_what_never_came() -> None:
    # v35-u3-stale-ack-1 without its frames 11 to 40: all that shows the other window.
    asked = [step for _ in range(6) for step in (TICK, request(*range(3, 16)))]
    came = [data(1, by=B, at=A, conn=0), SECOND * 3, data(1), SECOND * 6, data(16, 23)]
    told = heard(B, *came, TICK, ack(2), *asked, version="3.5.0")
    assert said(told, "UC002") == [("cannot be told", [[3, 15]])]
    assert told.told("lost", "unrecovered") == {"lost": None, "unrecovered": None}


@pytest.mark.parametrize(
    ("before", "stamp", "lost"), [([ack(1, 1)], 3, []), ([ack(1, 1)], 2, [[2, 2]]), ([], 7, [])]
)
def test_what_is_asked_for_to_the_end_behind_missing_own_words_another_window_may_have_had(
    before: list[Step], stamp: int, lost: list[list[int]]
) -> None:
    # A window of B may have had 2 and been lost: what is missing may be a SEND_FIRST_SEQNO.
    asked = [step for _ in range(6) for step in (TICK, request(2))]
    began = data(1, by=B, at=A, conn=0)
    told = heard(B, began, SECOND * 3, data(1), TICK, *before, data(3), *asked, ack(1, stamp))
    assert told.told("lost", "lost_seqnos", "unrecovered", "unrecovered_seqnos") == {
        "lost": len(lost) or None, "lost_seqnos": lost,
        "unrecovered": len(lost) or None, "unrecovered_seqnos": lost,
    }  # fmt: skip


@pytest.mark.parametrize(("late_ms", "lost"), [(TICK + 100, None), (20, 1)])
def test_where_originals_come_later_than_a_tick_that_of_a_repair_may_come_later_still(
    late_ms: int, lost: int | None
) -> None:
    # u4n4-dup-reorder: its original came 15 ms after the repair.
    late = [data(3, ip_id=12), late_ms, data(2, ip_id=11), TICK, ack(3, 2)]
    repaired = [data(5, ip_id=14), TICK, ack(3, 3), TICK, request(4), 5, data(4, ip_id=20)]
    told = heard(B, SECOND * 3, data(1, ip_id=10), ack(1, 1), *late, *repaired, TICK, ack(5, 4))
    assert said(told, "UC001") == [("proven", [[4, 4]])]
    assert told.told("lost") == {"lost": lost}
    unseen = [data(5, ip_id=14), TICK, ack(3, 3), TICK, request(4), TICK, ack(5, 4)]
    acked = heard(B, SECOND * 3, data(1, ip_id=10), ack(1, 1), *late, *unseen)
    assert acked.told("lost") == {"lost": lost}  # neither the repair nor the original is captured


@pytest.mark.parametrize(("further", "lost"), [([], 1), ([data(2, ip_id=30)], None)])
def test_of_more_copies_than_requests_one_may_be_the_original_if_no_ip_id_tells(
    further: list[Step], lost: int | None
) -> None:
    """u3-dup-reorder-2, its clock set forward by six seconds: too long to compare the IP ids."""
    story = [SECOND * 3, data(1, ip_id=10), ack(1, 1), data(3, ip_id=12), 6 * SECOND, request(2)]
    rest = [5, data(2, ip_id=20), ack(3, 2), TICK, *further, data(4, ip_id=31), 2 * SECOND]
    told = heard(B, *story, *rest)
    assert said(told, "UC001") == [("proven", [[2, 2]])]
    assert told.told("lost") == {"lost": lost}
    asked_twice = heard(B, *story, 50, request(2), *rest)
    assert asked_twice.told("lost") == {"lost": 1}
    soon = [TICK if step == 6 * SECOND else step for step in story]
    assert heard(B, *soon, *rest).told("lost") == {"lost": 1}  # by its IP id a repair came first


@pytest.mark.parametrize(
    ("late", "goes_on", "lost"),
    [(1, 200, None), (1, 300, 1), (30, 300, None), (30, 700, None), (30, 800, 1)],
)
def test_behind_its_repair_the_original_may_come_as_late_as_nobody_asks_or_others_may(
    late: int, goes_on: int, lost: int | None
) -> None:
    """messy-1, ticks of 0.2 s, cut where the repair came: the original followed it by 3 ms."""
    begun = [SECOND * 3, data(1), ack(1, 1), data(3), late, data(2), SECOND, ack(3, 2)]
    story = [data(5), TICK // 2, request(4), 5, data(4), ack(5, 3), 10, data(6)]
    told = heard(B, *begun, *story, goes_on)
    assert said(told, "UC001") == [("proven", [[4, 4]])]
    assert told.told("lost", "recovered", "open_at_end", "lost_seqnos") == {
        "lost": lost, "recovered": 1, "open_at_end": 0, "lost_seqnos": [[4, 4]] if lost else [],
    }  # fmt: skip
    outcome = "recovered" if lost else "recovered or late"
    assert told.gaps() == [("reordered", [[2, 2]]), (outcome, [[4, 4]])]


#: B has had everything up to 3, and lacks message 4.
UP_TO_3: list[Step] = [SECOND * 3, data(1), data(2), data(3), ack(3, 1)]


@pytest.mark.parametrize(
    ("lacking", "certainty", "lost"),
    [([], "proven", 1), ([hole(4)], "likely", None), ([unseen_end()], "likely", None)],
)
def test_over_tcp_what_may_have_come_in_missing_bytes_is_not_proven_lost(
    lacking: list[Step], certainty: str, lost: int | None
) -> None:
    repaired = [data(5), TICK, ack(3, 2), TICK, request(4), data(4), TICK, ack(5, 3)]
    told = heard(B, *UP_TO_3, *lacking, *repaired, unseen_end())
    assert said(told, "UC001") == [(certainty, [[4, 4]])]
    assert told.told("lost") == {"lost": lost}


@pytest.mark.parametrize(("lacking", "certainty"), [([], "likely"), ([hole(4)], "cannot be told")])
def test_over_tcp_what_is_asked_for_to_the_end_may_have_come_in_missing_bytes(
    lacking: list[Step], certainty: str
) -> None:
    asked = [step for _ in range(6) for step in (TICK, request(4))]
    told = heard(B, *UP_TO_3, *lacking, data(5), *asked)
    assert said(told, "UC002") == [(certainty, [[4, 4]])]
