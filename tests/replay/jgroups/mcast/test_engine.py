"""Life of a member's windows (W, view and digest rows of R), and captures between members."""

import json
from dataclasses import replace

import pytest

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.settings import Vantage
from seqaudit.replay.jgroups.mcast.engine import McastEngine
from tests.replay.builders import (
    A,
    B,
    C,
    D,
    Heard,
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
    view,
    xmit_req,
    xmit_rsp,
)

JOINED = join_rsp("ABC", 2, digest={"A": (0, 0), "C": (0, 0)})


# -- joining -----------------------------------------------------------------------------------


@pytest.mark.rule("R17")
@pytest.mark.rule("W1")
def test_a_joiners_windows_begin_at_the_digest() -> None:
    told = heard("B", join_rsp("ABC", 2, digest={"A": (5, 9)}), msg(4, 7), msg(1, by=C))
    assert (told.delivered(A), told.delivered(C)) == ([[6, 7]], [[1, 1]])
    assert told.told("start_known", "lost") == {"start_known": True, "lost": 0}


@pytest.mark.rule("W1")
def test_where_no_digest_was_read_a_joiners_own_ack_shows_where_its_window_begins() -> None:
    told = heard("B", join_rsp("ABC", 2), ack(6), msg(7), 500, ack(7))
    assert told.delivered() == [[7, 7]]
    assert told.told("start_known", "not_captured") == {"start_known": False, "not_captured": 0}
    assert told.findings() == []


@pytest.mark.rule("W1")
def test_what_came_before_a_join_whose_digest_is_not_in_the_capture_was_taken_or_not() -> None:
    before, after = (msg(1), msg(2)), (msg(4), msg(1, by=C))
    unread, missing = heard("B", *before, join_rsp("ABC", 2), *after), view("ABC", 2, 3)
    for told in (unread, heard("B", *before, missing, *after)):
        assert told.delivered() is None
        assert told.delivered(C) == [[1, 1]]
    own = heard("B", msg(1, by=B), *before, missing, *after)  # it was in before
    assert own.delivered() == [[1, 4]]
    assert heard("A", msg(1, by=B), view("ABC", 2, 3, by=A)).delivered(B) == [[1, 1]]  # the eldest


@pytest.mark.rule("W1")
def test_only_the_first_join_rsp_counts() -> None:
    again = join_rsp("ABC", 3, digest={"A": (10, 10)})
    assert heard("B", JOINED, msg(1, 2), again, msg(3)).delivered() == [[1, 3]]


@pytest.mark.rule("W1")
def test_a_join_rsp_for_another_member_opens_no_windows() -> None:
    told = heard("B", msg(7), join_rsp("ABD", 2, to=D, digest={"A": (10, 10)}), msg(8))
    assert told.delivered() == [[7, 8]]


@pytest.mark.rule("W1")
def test_a_window_at_the_digest_misses_what_highest_seqno_tells_before_any_message() -> None:
    told = heard("B", join_rsp("AB", 2, digest={"A": (5, 5)}), highest(6), xmit_req(6), msg(6))
    assert told.delivered() == [[6, 6]]
    assert told.gaps() == [("recovered or late", [[6, 6]])]


@pytest.mark.rule("R18")
def test_the_digest_of_a_view_leaves_an_existing_window_alone() -> None:
    told = heard("B", JOINED, msg(1, 2), view("ABC", 3, 3, digest={"A": (9, 9)}), msg(4))
    assert told.delivered() == [[1, 4]]
    assert told.findings() == []


# -- members come and go -----------------------------------------------------------------------


@pytest.mark.rule("R16")
@pytest.mark.rule("W2")
def test_a_new_member_gets_a_window_at_zero() -> None:
    told = heard("B", JOINED, view("ABCD", 3, 1), msg(2, by=D), 5000)
    assert told.told("start_known", "not_asked_for", sender=D) == {
        "start_known": True,
        "not_asked_for": 1,
    }
    assert told.gaps(D) == [("not asked for", [[1, 1]])]


@pytest.mark.rule("W2")
def test_who_joins_through_this_member_gets_a_window_at_zero() -> None:
    lets_in = (join_rsp("ABD", 3, to=D, digest={}), view("ABD", 3, 1))
    told = heard(A, *lets_in, msg(2, by=D), ack(2, by=A, of=D))
    assert told.told("start_known", "not_captured", sender=D) == {
        "start_known": True,
        "not_captured": 1,
    }


@pytest.mark.rule("R18")
def test_of_what_is_below_a_members_first_ack_nobody_can_tell_whether_it_had_it() -> None:
    told = heard("B", msg(3), msg(4), 2000, msg(5), msg(6), 500, ack(9), 500, msg(6, ip_id=9))
    assert told.findings() == []
    assert told.told("not_captured", "sent_before", "retransmissions") == {
        "not_captured": 0,
        "sent_before": 3,
        "retransmissions": {"useful": 0, "needless": 0, "undecidable": 1},
    }


@pytest.mark.rule("W2")
def test_a_member_that_has_a_window_keeps_it_at_the_next_view() -> None:
    told = heard("B", JOINED, msg(1, 2, by=C), view("ABCD", 3, 1), msg(3, by=C))
    assert told.delivered(C) == [[1, 3]]


@pytest.mark.rule("R15")
@pytest.mark.rule("W3")
def test_a_leavers_window_is_removed_with_its_gaps() -> None:
    told = heard("B", JOINED, msg(1, by=C), msg(3, by=C), view("AB", 3, 1), msg(4, by=C), 5000)
    assert told.told("delivered", "lost", "outside_membership", sender=C) == {
        "delivered": [[1, 1]],
        "lost": None,  # nobody asked for 2: the capture may have missed it
        "outside_membership": 1,
    }
    assert told.findings() == [("CP007", "cannot be told", [[2, 2]]), ("MC018", "likely", [])]
    asked = (JOINED, msg(1, by=C), msg(3, by=C), xmit_req(2, of=C), view("AB", 3, 1))
    told = heard("B", *asked, msg(4, by=C), 5000)
    assert told.told("unrecovered", sender=C) == {"unrecovered": None}  # asked for just once
    assert told.findings() == [("MC019", "likely", [[2, 2]]), ("MC018", "likely", [])]


@pytest.mark.rule("W3")
def test_a_view_counts_when_it_is_delivered_not_when_it_arrives() -> None:
    early = (JOINED, msg(1, by=C), view("AB", 3, 2), msg(2, by=C))  # A's seqno 1 is missing
    assert heard("B", *early).delivered(C) == [[1, 2]]
    assert heard("B", *early, msg(1), msg(3, by=C)).delivered(C) == [[1, 2]]


@pytest.mark.rule("W3")
def test_a_late_copy_of_an_old_view_changes_nothing() -> None:
    story = (JOINED, view("ABC", 3, 1), view("ABCD", 4, 2), msg(1, by=D), view("ABC", 3, 3))
    assert heard("B", *story, msg(2, by=D)).delivered(D) == [[1, 2]]


@pytest.mark.rule("R17")
@pytest.mark.rule("R16")
def test_a_member_that_comes_back_by_a_merge_gets_a_new_window() -> None:
    parted = (JOINED, msg(1, by=C), ack(1, of=C), view("AB", 3, 1), msg(2, 4, by=C))
    merged = view("ABC", 4, 2, digest={"A": (2, 2), "C": (5, 5)}, merge=True)
    told = heard("B", *parted, merged, msg(6, 7, by=C), ack(7, of=C))
    assert told.told("delivered", "outside_membership", "lost", sender=C) == {
        "delivered": [[1, 1], [6, 7]],
        "outside_membership": 3,
        "lost": None,  # the others came, though no window took them, and nobody asked for 5
    }
    assert told.gaps(C) == [("lost, or not captured", [[5, 5]])]
    assert [found for found in told.findings() if found[0] != "MC018"] == [
        ("MC021", "likely", [[2, 5]])
    ]


@pytest.mark.rule("W5")
@pytest.mark.rule("V12")
def test_a_view_without_this_member_ends_all_its_windows() -> None:
    story = (JOINED, msg(1), ack(1), msg(1, 2, by=C), ack(1, of=C), msg(4, by=C), view("AC", 3, 2))
    told = heard("B", *story, msg(3, 4), msg(9, by=C), 5000)
    assert told.told("delivered", "delivered_interval", "lost") == {
        "delivered": [[1, 2]],
        "delivered_interval": [1, 1],  # not the view itself: it may never have read it
        "lost": 0,
    }
    assert told.told("delivered", "delivered_interval", "lost", sender=C) == {
        "delivered": [[1, 2]],
        "delivered_interval": [1, 2],
        "lost": 0,  # what a dead member misses is nobody's loss
    }
    assert told.gaps(C) == [("open at the member's end", [[3, 3]])]


@pytest.mark.rule("W5")
@pytest.mark.parametrize("word", [ack(3), xmit_req(9), highest(2, by=B), msg(2, by=B)])
def test_a_member_that_speaks_well_after_a_view_without_it_has_discarded_it(word: Event) -> None:
    excluded = (JOINED, msg(1, by=B), msg(1), ack(1), view("AC", 3, 2), msg(3, 4), ack(2), 500)
    told = heard("B", *excluded, msg(5), 3000, word, msg(6))
    assert told.told("delivered", "delivered_interval", "outside_membership") == {
        "delivered": [[1, 6]],
        "delivered_interval": None,
        "outside_membership": 0,
    }
    soon = heard("B", *excluded, msg(5), 1000, word, msg(6))
    behind = word.kind is Kind.ACK  # it has delivered what came behind the view: has it left since?
    assert soon.told("delivered", "outside_membership") == {
        "delivered": None if behind else [[1, 2]],
        "outside_membership": 0 if behind else 4,
    }


@pytest.mark.rule("W5")
def test_who_casts_a_view_that_it_is_in_lives() -> None:
    parted = (JOINED, msg(1), ack(1), view("AC", 3, 2), 500)
    merged = view("BAC", 4, 1, by=B, digest={"A": (5, 5)}, merge=True)
    told = heard("B", *parted, merged, msg(6))
    assert told.delivered() == [[1, 2], [6, 6]]
    assert told.told("lost", "not_asked_for") == {"lost": None, "not_asked_for": 3}


@pytest.mark.rule("W5")
def test_its_last_messages_are_an_interval_also_after_an_orderly_leave() -> None:
    told = heard("B", JOINED, msg(1, 3), ack(2), leave_rsp(), view("AC", 3, 4))
    assert told.told("delivered_interval") == {"delivered_interval": [2, 3]}


# -- merges ------------------------------------------------------------------------------------


@pytest.mark.rule("R19")
@pytest.mark.rule("W4")
def test_a_merge_digest_moves_a_window_that_is_behind_it() -> None:
    merge = view("ABC", 3, 2, digest={"A": (2, 2), "C": (6, 6)}, merge=True)
    told = heard("B", JOINED, msg(1), msg(1, by=C), msg(3, by=C), merge, msg(7, by=C))
    assert told.told("delivered", "not_asked_for", sender=C) == {
        "delivered": [[1, 1], [7, 7]],
        "not_asked_for": 4,  # 3 came, and was not delivered
    }
    assert told.findings() == [("MC021", "likely", [[2, 6]])]
    asked = (JOINED, msg(1), msg(1, by=C), msg(3, by=C), 500, xmit_req(2, of=C), merge)
    told = heard("B", *asked, msg(7, by=C))
    assert told.told("unrecovered_seqnos", sender=C) == {"unrecovered_seqnos": [[2, 2]]}


@pytest.mark.rule("R19")
def test_what_a_replaced_window_had_stored_above_the_digest_comes_again() -> None:
    merge = view("ABC", 3, 2, digest={"A": (2, 2), "C": (3, 6)}, merge=True)
    split = (JOINED, msg(1), msg(1, by=C), msg(3, by=C), msg(5, 6, by=C), merge, 600)
    told = heard("B", *split, xmit_req(4, 5, 6, of=C), 5, xmit_rsp(4, 6, by=C), ack(6, of=C))
    assert told.delivered(C) == [[1, 1], [4, 6]]
    assert ("MC021", "likely", [[2, 3]]) in told.findings()
    assert {found[0] for found in told.findings()} == {"MC001", "MC021"}


@pytest.mark.rule("R19")
def test_what_the_window_of_a_merge_lacks_may_have_come_before_it_was_there() -> None:
    """7 and 8 had come to the one before, or to none, and are asked for by the new one: of 9, whose
    copy the capture lacks, no request tells that the path lost it; that of 11 does."""
    merge = view("ABC", 3, 2, digest={"A": (2, 2), "C": (6, 9)}, merge=True)
    split = (JOINED, msg(1), msg(1, 3, by=C), ack(3, of=C), 3000, msg(7, 8, by=C), merge)
    asked = (msg(10, by=C), 600, xmit_req(7, 8, 9, of=C), xmit_rsp(7, 9, by=C), 600, ack(10, of=C))
    told = heard("B", *split, *asked, msg(12, by=C), 600, xmit_req(11, of=C), xmit_rsp(11, by=C))
    assert [found for found in told.findings() if found[0] == "MC001"] == [
        ("MC001", "proven", [[11, 11]]), ("MC001", "likely", [[9, 9]]),
    ]  # fmt: skip
    assert told.told("lost", "lost_seqnos", sender=C) == {"lost": None, "lost_seqnos": [[11, 11]]}


@pytest.mark.rule("R19")
@pytest.mark.rule("W2")
def test_a_view_is_installed_when_an_own_word_says_that_it_was_delivered() -> None:
    """What was before it is missing here, and the view that had put C out. Its own part of the
    cluster is told to have had a view without C: what came of C before met no window, and that it
    is asked for does not show that it was dropped inside."""
    merge = view("CB", 6, 5, by=C, digest={"C": (3, 3)}, merge=True)
    detail = json.loads(merge.detail or "{}")
    parts = [{"id": [C, 5], "members": [C]}, {"id": [B, 4], "members": [B]}]
    detail["view"]["subgroups"] = parts
    merge = replace(merge, detail=json.dumps(detail))
    came = (msg(4, by=C), merge, msg(6, by=C), 200, ack(4, of=C), xmit_req(5, of=C), 40, merge)
    told = heard("B", JOINED, 3000, *came, 20, msg(7, by=C), 60, ack(7, of=C))
    assert ("MC005", "likely", [[5, 5]]) in told.findings()
    first = (msg(4, by=C), msg(6, by=C), 200, ack(4, of=C), xmit_req(5, of=C), 40, merge)
    unseen = heard("B", JOINED, 3000, *first, 20, msg(7, by=C), 60, ack(7, of=C))
    assert ("MC001", "likely", [[5, 5]]) in unseen.findings()  # the first copy is not here


@pytest.mark.rule("R19")
def test_what_a_merge_skipped_and_nobody_asked_for_may_have_come_past_the_capture() -> None:
    merge = view("ABC", 3, 2, digest={"A": (2, 2), "C": (6, 6)}, merge=True)
    told = heard("B", JOINED, msg(1), msg(1, by=C), msg(3, by=C), 3000, merge)
    assert told.told("lost", "unrecovered", sender=C) == {"lost": None, "unrecovered": 0}


@pytest.mark.rule("R19")
@pytest.mark.rule("R16")
def test_a_merge_digest_skips_what_was_sent_while_its_sender_was_out_of_the_view() -> None:
    merge = view("ABC", 4, 3, digest={"A": (3, 3), "C": (6, 6)}, merge=True)
    told = heard("B", JOINED, msg(1, 2, by=C), msg(1), view("AB", 3, 2), merge, msg(7, by=C))
    assert told.delivered(C) == [[1, 2], [7, 7]]
    assert told.findings() == [("MC021", "likely", [[3, 6]])]
    assert told.told("lost", "recovered", "unrecovered", sender=C) == {
        "lost": None, "recovered": 0, "unrecovered": 0,
    }  # fmt: skip


@pytest.mark.rule("R19")
@pytest.mark.parametrize("out", [(), (view("AB", 3, 2),)])
def test_a_merge_skips_what_a_sender_sent_of_which_nothing_was_heard(
    out: tuple[Event, ...],
) -> None:
    """n2-split: its first messages were sent in the other part of the cluster."""
    merge = view("ABC", 4, 2 + len(out), digest={"A": (1, 1), "C": (6, 6)}, merge=True)
    told = heard("B", JOINED, msg(1), *out, merge, msg(7, by=C))
    assert told.delivered(C) == [[7, 7]]
    assert told.findings() == [("MC021", "likely", [[1, 6]])]
    assert told.told("lost", "delivered_unsure", sender=C) == {
        "lost": None, "delivered_unsure": [[1, 6]],
    }  # fmt: skip


@pytest.mark.rule("R19")
def test_what_one_of_its_own_part_sent_unheard_no_merge_skipped() -> None:
    merge = view("ABC", 4, 2, digest={"A": (1, 1), "C": (6, 6)}, merge=True)
    detail = json.loads(merge.detail or "{}")
    detail["view"]["subgroups"] = [{"id": [A, 3], "members": [A, B, C]}]
    told = heard("B", JOINED, msg(1), replace(merge, detail=json.dumps(detail)), msg(7, by=C))
    assert told.findings() == []
    assert told.delivered(C) == [[7, 7]]


@pytest.mark.rule("R19")
def test_what_a_merge_skips_and_nobody_asked_for_is_never_counted_as_lost() -> None:
    # merge-nakack2 at C, without what came in 2 s: 204 was sent when the path was whole again.
    merge = view("ABC", 4, 32, digest={"A": (31, 31), "C": (40, 40)}, merge=True)
    quiet = [part for n in range(30) for part in (100, msg(2 + n))]
    told = heard("B", JOINED, msg(1), msg(1, by=C), *quiet, merge, msg(41, by=C))
    assert told.told("lost", "unrecovered", "lost_seqnos", sender=C) == {
        "lost": None, "unrecovered": 0, "lost_seqnos": [],
    }  # fmt: skip
    assert told.finding("MC021")["seqnos"] == [[2, 40]]
    assert ("lost, or not captured", [[2, 40]]) in told.gaps(C)


@pytest.mark.rule("R19")
def test_nothing_tells_what_had_been_delivered_of_a_skip_up_to_what_was_lacked() -> None:
    """The capture may lack that it came, and then the merge skipped less; but not past what it
    asked for."""
    merge = view("ABC", 3, 2, digest={"A": (2, 2), "C": (9, 9)}, merge=True)
    begin = (JOINED, msg(1), msg(1, by=C))
    told = heard("B", *begin, 6000, merge, msg(10, by=C))
    assert told.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": [[1, 1], [10, 10]], "delivered_unsure": [[2, 9]],
    }  # fmt: skip
    asking = (msg(6, 7, by=C), 500, xmit_req(5, of=C), 500, xmit_req(5, of=C))
    told = heard("B", *begin, msg(2, 4, by=C), *asking, 10, merge, msg(10, by=C))
    assert told.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": [[1, 4], [10, 10]], "delivered_unsure": [[8, 9]],  # they may be OOB
    }  # fmt: skip


@pytest.mark.rule("R15")
@pytest.mark.rule("R20")
@pytest.mark.parametrize(
    ("oob", "lacks", "delivered", "unsure"),
    [
        (True, (), [[1, 3], [5, 6]], [[4, 4]]),
        (True, (xmit_req(2, of=C), 500) * 5, [[1, 1], [3, 3], [5, 6]], [[4, 4]]),
        (False, (), [[1, 3]], [[4, 6]]),  # these had waited for it
        # so they did, and for 2; 4 may be OOB, for all the capture shows
        (False, (xmit_req(2, of=C), 500) * 5, [[1, 1]], [[4, 4]]),
    ],
)
def test_nobody_has_asked_yet_for_what_its_sender_sent_just_before_it_left(
    oob: bool, lacks: tuple[Step, ...], delivered: list[list[int]], unsure: list[list[int]]
) -> None:
    """No tick had seen the gap: the member had it and the capture missed it, or it was lost."""
    begin = msg(3, by=C, oob=oob) if lacks else msg(2, 3, by=C, oob=oob)
    story = (JOINED, msg(1, by=C), begin, 500, *lacks, msg(5, 6, by=C, oob=oob))
    told = heard("B", *story, 10, view("AB", 3, 1))
    assert ("lost, or not captured", [[4, 4]]) in told.gaps(C)
    assert told.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": delivered, "delivered_unsure": unsure,
    }  # fmt: skip


@pytest.mark.rule("R16")
def test_the_gap_of_a_removed_window_is_told_though_the_next_one_misses_a_part_of_it() -> None:
    # merge-nakack2 at A: 202 was known of, too, when the merge moved the window to 201.
    merge = view("ABC", 4, 3, digest={"A": (3, 3), "C": (4, 4)}, merge=True)
    story = (JOINED, msg(1, 2), msg(1, by=C), view("AB", 3, 3), highest(5, by=C), merge)
    told = heard("B", *story, 500, msg(5, 6, by=C))
    assert told.gaps(C) == [("lost, or not captured", [[2, 4]])]
    assert told.delivered(C) == [[1, 1], [5, 6]]


@pytest.mark.rule("R19")
def test_what_one_merge_after_another_skips_both_of_them_say() -> None:
    first = view("ABC", 3, 2, digest={"A": (1, 1), "C": (3, 3)}, merge=True)
    again = view("ABC", 4, 3, digest={"A": (3, 3), "C": (21, 21)}, merge=True)
    told = heard("B", JOINED, msg(1), msg(1, by=C), first, 3000, again)
    assert told.finding("MC021")["seqnos"] == [[2, 21]]


@pytest.mark.rule("R19")
def test_what_may_have_come_to_the_window_before_a_merge_is_not_lost_if_the_new_one_asks() -> None:
    merge = view("ABC", 3, 2, digest={"A": (2, 2), "C": (3, 6)}, merge=True)
    story = (JOINED, msg(1), msg(1, by=C), msg(4, by=C), msg(6, by=C), merge, msg(8, by=C), 600)
    told = heard("B", *story, xmit_req(4, 5, 6, 7, of=C), 5, xmit_rsp(4, 7, by=C), ack(8, of=C))
    assert ("MC001", "likely", [[5, 5], [7, 7]]) in told.findings()
    assert [found for found in told.findings() if found[1] == "proven"] == []


@pytest.mark.rule("R19")
def test_what_a_merge_may_have_skipped_stays_in_doubt_until_it_is_asked_for() -> None:
    # after a pause B asks for the highest alone, as HIGHEST_SEQNO makes a new window do, and ACKs
    story = (JOINED, msg(1, 2, by=C), ack(2, of=C), 3000, highest(9, by=C), 1, xmit_req(9, of=C))
    told = heard("B", *story, 5, xmit_rsp(9, by=C), ack(9, of=C))
    assert [found for found in told.findings() if found[0] == "CP007"] == [
        ("CP007", "cannot be told", [[3, 8]])
    ]
    assert told.delivered(C) is None
    again = heard("B", *story, 500, xmit_req(3, 9, of=C), 5, xmit_rsp(9, by=C), ack(9, of=C))
    assert ("MC001", "proven", [[3, 3], [9, 9]]) in again.findings()
    assert ("CP007", "proven", [[4, 8]]) in again.findings()  # its window began before them


@pytest.mark.rule("R19")
def test_where_no_multicast_is_captured_a_merge_may_have_moved_any_window() -> None:
    # what two members exchange: a merge comes as a multicast, and repairs and ACKs to one
    asked = (xmit_req(1, 2, of=C), 5, xmit_rsp(1, 2, by=C), ack(2, of=C), 5, xmit_rsp(2, by=C))
    unicasts = heard("B", JOINED, *asked, 5, ack(4, of=C))
    assert ("CP007", "cannot be told", [[3, 4]]) in unicasts.findings()
    assert unicasts.delivered(C) is None
    both = heard("B", JOINED, msg(1), *asked, 5, ack(4, of=C))
    assert ("CP007", "proven", [[3, 4]]) in both.findings()
    assert both.delivered(C) == [[1, 4]]


@pytest.mark.rule("R19")
def test_what_was_asked_for_in_vain_for_long_a_merge_may_have_skipped() -> None:
    asked = (500, xmit_req(3, of=C)) * 6
    told = heard(
        "B", JOINED, msg(1, 2, by=C), ack(2, of=C), msg(5, by=C), *asked, 300, ack(9, of=C)
    )
    assert [found for found in told.findings() if found[1] == "proven"] == []
    began = (JOINED, msg(1, 2, by=C), ack(2, of=C), msg(5, by=C))
    soon = heard("B", *began, *asked[:4], msg(9, by=C), ack(9, of=C))
    assert ("MC001", "proven", [[3, 3]]) in soon.findings()


@pytest.mark.rule("R19")
def test_how_soon_a_merge_may_come_is_what_merge3_is_set_to() -> None:
    story = (JOINED, msg(1, 2, by=C), ack(2, of=C), msg(9, by=C), 1500, ack(9, of=C))
    assert ("CP007", "proven", [[3, 8]]) in heard("B", *story).findings()
    fast = heard("B", *story, merge_min_interval_ms=1000)
    assert ("CP007", "cannot be told", [[3, 8]]) in fast.findings()
    slow = heard("B", *story[:-2], 3000, story[-1], merge_min_interval_ms=10000)
    assert ("CP007", "cannot be told", [[3, 8]]) in slow.findings()


@pytest.mark.rule("R19")
@pytest.mark.parametrize("out", [True, False])
def test_while_somebody_is_out_of_the_view_a_merge_may_move_any_window(out: bool) -> None:
    """pause-late-u4n4 at B: it was paused, and A put it out. B merges them, which the capture
    lacks: its window goes on above what it had asked A for, and asks for what the one before had
    stored."""
    asking = (msg(5, 6), 500, xmit_req(4)) + (500, xmit_req(4)) * 2
    told = heard(
        "B", JOINED, msg(1, 3), ack(3), *asking, *[view("AC", 3, 7)] * out, msg(8), 200,
        xmit_req(7, 8), 5, xmit_rsp(8), 200, msg(9), ack(9),
    )  # fmt: skip
    found = [(rule, seqnos) for rule, sure, seqnos in told.findings() if sure == "proven"]
    assert (("MC005", [[8, 8]]) in found) is not out
    assert (("MC001", [[4, 4], [7, 7]]) in found) is not out
    assert (told.delivered() is None) is out


@pytest.mark.rule("R19")
def test_a_merge_moves_past_what_was_lacked_from_before_the_capture() -> None:
    """pause-late-u3n2: it asks for 3, from before the capture, and what comes waits for it."""
    merge = view("BAC", 4, 1, by=B, digest={"A": (9, 9), "B": (0, 0)}, merge=True)
    begun = (msg(7, 9), 500, xmit_req(3), msg(10), 500, xmit_req(3))
    told = heard("B", *begun, 500, merge, msg(11), 500, ack(11))
    assert told.delivered() is None
    assert heard("B", msg(7, 9), ack(9), merge, msg(10), ack(10)).delivered() == [[7, 10]]


@pytest.mark.rule("R19")
@pytest.mark.parametrize(("lacks", "unrecovered"), [((), [[5, 5]]), ((msg(2, 3, by=C),), [])])
def test_what_was_asked_for_just_before_a_merge_may_be_repaired_where_the_capture_lacks_others(
    lacks: tuple[Step, ...], unrecovered: list[list[int]]
) -> None:
    merge = view("ABC", 4, 2, digest={"A": (2, 2), "C": (6, 6)}, merge=True)
    story = (JOINED, msg(1), *(lacks or (msg(1, 3, by=C),)), msg(4, by=C), ack(4, of=C))
    told = heard("B", *story, msg(6, by=C), 500, xmit_req(5, of=C), 30, merge)
    assert told.told("unrecovered_seqnos", sender=C) == {"unrecovered_seqnos": unrecovered}


@pytest.mark.rule("R15")
@pytest.mark.rule("R19")
def test_who_left_before_a_word_of_it_was_heard_has_the_window_of_the_merge() -> None:
    # A world of tests.degraded.jgroups_world: C multicast 1 to 5 to nobody, cut off.
    merged = view("ABC", 4, 2, digest={"A": (2, 2), "B": (0, 0), "C": (5, 5)}, merge=True)
    told = heard("B", JOINED, view("AB", 3, 1), merged, msg(6, by=C), 500, ack(6, of=C))
    assert told.delivered(C) == [[6, 6]]
    assert [found for found in told.findings() if found[0] == "CP007"] == []


@pytest.mark.rule("S8")
@pytest.mark.parametrize(("word", "unsure"), [((), [[2, 2]]), ((500, ack(2, of=C)), [])])
def test_what_comes_just_before_the_own_view_with_its_sender_may_have_met_no_window(
    word: tuple[Step, ...], unsure: list[list[int]]
) -> None:
    merged = view("BAC", 4, 1, by=B, digest={"A": (1, 1), "B": (0, 0), "C": (1, 1)}, merge=True)
    gone = (JOINED, msg(1, by=C), ack(1, of=C), view("AB", 3, 1), 3000)
    told = heard("B", *gone, msg(2, by=C), merged, *word)
    row = told.stream(C)
    assert (row["delivered"], row["delivered_unsure"]) == ([[1, 2]], unsure)


@pytest.mark.rule("W3")
def test_what_has_the_time_of_the_view_that_ends_its_window_may_have_met_it_or_not() -> None:
    """A clock that ticks slowly: which of the two came first is not told."""
    same = -1
    before = heard("B", JOINED, msg(1, by=C), msg(2, by=C), same, view("AB", 3, 1))
    assert before.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": [[1, 2]], "delivered_unsure": [[2, 2]],
    }  # fmt: skip
    behind = heard("B", JOINED, msg(1, by=C), view("AB", 3, 1), same, msg(2, by=C), msg(3, by=C))
    assert behind.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": [[1, 1]], "delivered_unsure": [[2, 2]],
    }  # fmt: skip


@pytest.mark.rule("W3")
@pytest.mark.rule("R15")
def test_the_view_that_put_a_sender_out_may_not_be_in_the_capture() -> None:
    """A coordinator tells one that joins of the fifth view, without C; its own multicasts are not
    captured, the third or fourth view among them."""
    founded = join_rsp("AC", 2, to=C, digest={"A": (0, 0)})
    later = join_rsp("AD", 5, to=D, digest={"A": (9, 9)})
    told = heard("A", founded, msg(1, 4, by=C), later)
    assert told.stream(C)["delivered"] is None
    assert "put out by a view that is not in this capture" in told.stream(C)["unknown"]["delivered"]
    stays = heard("A", founded, msg(1, 4, by=C), join_rsp("ACD", 5, to=D, digest={"A": (9, 9)}))
    assert stays.delivered(C) == [[1, 4]]


@pytest.mark.rule("W3")
@pytest.mark.rule("R16")
def test_a_view_that_waited_here_makes_nothing_unsure_of_the_window_that_comes_after() -> None:
    """What the first one waited for is not in the capture, what the second one did came late."""
    left = (JOINED, view("ADBC", 3, 1), msg(1, by=C), view("ADB", 4, 3), msg(2, by=C), ack(3))
    back = view("ADBC", 5, 4, digest={"A": (3, 3), "C": (2, 2), "D": (0, 0)})
    again = (view("DBC", 6, 1, by=D), msg(3, by=C), view("DB", 7, 3, by=D), msg(4, by=C))
    told = heard("B", *left, 10, back, *again, msg(2, by=D))
    assert told.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": [[1, 4]], "delivered_unsure": [[2, 2]],
    }  # fmt: skip


@pytest.mark.rule("R19")
@pytest.mark.parametrize(("quiet_ms", "sure"), [(100, "proven"), (3000, "likely")])
def test_a_window_that_was_not_heard_of_for_so_long_may_have_been_replaced(
    quiet_ms: int, sure: str
) -> None:
    """From when it began: by views that are not in the capture, so that 2 came to none."""
    came = (msg(1, ip_id=11), msg(2, ip_id=12), msg(3, ip_id=13), 600)
    told = heard("B", JOINED, quiet_ms, *came, xmit_req(2), 2, msg(2, ip_id=20), 20, ack(3))
    assert told.findings() == [("MC005", sure, [[2, 2]])]


@pytest.mark.rule("W3")
@pytest.mark.rule("R15")
def test_rows_that_came_before_a_window_ended_belong_to_it_in_whatever_order_they_are() -> None:
    """The view waits for A's first message. C's run ends with no row of its own before that."""
    joined, first, out, run, request, repair = dated(
        [JOINED, msg(1, by=C), view("AB", 3, 2), msg(2, 4, by=C), 600, xmit_req(1), msg(1)]
    )
    told = played("B", [joined, first, out, request, repair, run])
    assert told.told("delivered", "outside_membership", "lost", sender=C) == {
        "delivered": [[1, 4]], "outside_membership": 0, "lost": 0,
    }  # fmt: skip
    later = replace(run, frame=repair.frame + 1, last_frame=repair.frame + 3)
    behind = played("B", [joined, first, out, request, repair, later])
    assert behind.told("delivered", "outside_membership", sender=C) == {
        "delivered": [[1, 1]], "outside_membership": 3,
    }  # fmt: skip


@pytest.mark.rule("W3")
def test_a_view_that_waits_here_may_have_been_installed_when_it_came() -> None:
    """A's first message is not in the capture, and before the view. By B's own ACK it had both."""
    waits = (JOINED, msg(1, by=C), view("AB", 3, 2), msg(2, by=C))
    told = heard("B", *waits, ack(2), msg(3, by=C))
    assert told.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": [[1, 2]], "delivered_unsure": [[2, 2]],
    }  # fmt: skip
    unasked = heard("B", *waits, 2000, msg(3, by=C))  # so it had it, or asked unseen
    assert unasked.stream(C)["delivered"] is None
    assert "waits in it for what is not" in unasked.stream(C)["unknown"]["delivered"]
    asked = heard("B", *waits, 600, xmit_req(1), 500, xmit_req(1), 500, xmit_req(1), msg(3, by=C))
    assert asked.told("delivered", "delivered_unsure", sender=C) == {
        "delivered": [[1, 3]], "delivered_unsure": [],
    }  # fmt: skip


@pytest.mark.rule("W1")
@pytest.mark.parametrize("joined", [False, True])
def test_a_view_lets_nobody_in_at_a_member_that_may_not_have_joined_yet(joined: bool) -> None:
    # Its JOIN_RSP was lost, and the one that came is not in the capture: its digest had C up to 3.
    came = (view("AB", 2, 2), view("ABC", 3, 3), msg(1, by=C), msg(3, by=C), 1000)
    told = heard("B", *[JOINED] * joined, *came, ack(3, of=C), msg(4, by=C))
    said = [found for found in told.findings() if found[0] == "CP007"]
    assert bool(said) is joined


@pytest.mark.rule("R16")
@pytest.mark.parametrize(("began_ms", "not_captured"), [(-1000, 5), (-100, 0)])
def test_an_own_join_rsp_just_behind_the_beginning_may_be_sent_again_to_who_is_in_by_now(
    began_ms: int, not_captured: int
) -> None:
    answer = join_rsp("ABCD", 3, to=D, digest={"A": (7, 7), "D": (0, 0)})
    story = (answer, view("ABCD", 3, 8), msg(6, by=D), 500, ack(6, by=A, of=D))
    told = played(A, dated(story), began_ms=began_ms)
    assert told.told("delivered", "not_captured", sender=D) == {
        "delivered": [[1, 6]], "not_captured": not_captured,
    }  # fmt: skip


@pytest.mark.rule("R15")
def test_own_words_about_a_sender_that_had_left_show_that_it_is_back() -> None:
    gone = (JOINED, msg(1, 2, by=C), ack(2, of=C), view("AB", 3, 1), 3000, msg(9, 12, by=C))
    told = heard("B", *gone, ack(12, of=C), msg(13, 14, by=C), ack(14, of=C))
    assert [found for found in told.findings() if found[0] == "CP007"] == []
    assert told.delivered(C) is None  # where its window begins, no view of the capture tells


@pytest.mark.rule("R2")
@pytest.mark.rule("R19")
def test_who_founds_a_cluster_has_no_windows_for_others_before_they_join_or_merge() -> None:
    groups = [{"id": [B, 1], "members": [B, C]}, {"id": [A, 1], "members": [A]}]
    merged = view("BCA", 2, 2, by=B, digest={"A": (5, 5), "B": (1, 1), "C": (2, 2)}, merge=True)
    detail = merged.details()
    detail["view"]["subgroups"] = groups
    merged = replace(merged, detail=json.dumps(detail))
    own = (msg(1, 2), msg(1, by=C), view("BC", 1, 1, by=B), msg(2, by=C), msg(3, 5))
    told = heard("B", *own, 500, merged, msg(6, 7))
    assert (told.delivered(), told.delivered(C)) == ([[6, 7]], [[2, 2]])
    assert told.told("outside_membership", "lost") == {"outside_membership": 5, "lost": 0}
    other = heard("C", msg(1, 2), msg(1, by=B), 500, merged, msg(6, 7), msg(3, by=B))
    assert (other.delivered(), other.delivered(B)) == ([[6, 7]], [[1, 3]])


@pytest.mark.rule("R19")
@pytest.mark.parametrize(("part", "delivered"), [("C", None), ("AC", [[1, 5]])])
def test_what_came_before_a_merge_may_have_met_no_window_if_its_sender_was_in_another_part(
    part: str, delivered: list[list[int]] | None
) -> None:
    # merge-nakack2: the view by which C put A out is not in the capture.
    merged = view("CAB", 5, 1, by=C, digest={"A": (3, 3), "C": (1, 1)}, merge=True)
    detail = merged.details()
    others = sorted(set("ABC") - set(part))
    parts = [{"id": [C, 3], "members": list(part)}, {"id": [B, 4], "members": others}]
    detail["view"]["subgroups"] = parts
    joined = join_rsp("ABC", 2, to=C, digest={"A": (0, 0), "B": (0, 0), "C": (0, 0)})
    merged = replace(merged, detail=json.dumps(detail))
    told = heard("C", joined, msg(1, 2), 3000, msg(3), merged, msg(4, 5))
    assert told.delivered() == delivered


@pytest.mark.rule("R19")
@pytest.mark.parametrize("seen", [2, 3])
def test_a_view_between_the_installed_one_and_a_merge_may_not_be_in_the_capture(seen: int) -> None:
    """asym-u4n4: A put C out, which kept the view that they all had. B was in both; that it had the
    later one only the merge tells, where the capture lacks it."""
    merged = view("BCA", 4, 1, by=B, digest={"A": (2, 2), "B": (1, 1), "C": (9, 9)}, merge=True)
    detail = merged.details()
    detail["view"]["subgroups"] = [
        {"id": [A, 2], "members": [A, B, C]}, {"id": [A, 3], "members": [A, B]},
    ]  # fmt: skip
    merged = replace(merged, detail=json.dumps(detail))
    put_out = [view("AB", 3, 2)] * (seen == 3)
    told = heard("B", JOINED, msg(1), msg(1, 2, by=C), *put_out, 3000, msg(3, 9, by=C), merged)
    assert told.delivered(C) == ([[1, 2]] if put_out else None)


@pytest.mark.rule("R19")
@pytest.mark.parametrize(("number", "delivered"), [(3, [[1, 2], [9, 9]]), (5, None)])
def test_what_came_before_a_merge_may_have_met_a_window_by_a_view_that_is_not_captured(
    number: int, delivered: list[list[int]] | None
) -> None:
    """The part of B had the view that put A out, or a later one: another may have let A in."""
    merged = view("BA", 6, 1, by=B, digest={"A": (8, 8), "B": (1, 1)}, merge=True)
    detail = merged.details()
    detail["view"]["subgroups"] = [
        {"id": [A, 4], "members": [A, B]}, {"id": [B, number], "members": [B]},
    ]  # fmt: skip
    merged = replace(merged, detail=json.dumps(detail))
    alone = view("B", 3, 1, by=B)
    told = heard("B", JOINED, msg(1, 2), ack(2), alone, msg(5), 3000, merged, msg(9))
    assert told.delivered() == delivered


def test_where_no_view_can_be_read_who_speaks_later_than_others_may_have_joined_later() -> None:
    # u4n4-clean C at 96 bytes: message 1 is the view before the one that lets C in.
    assert heard("C", msg(1), msg(1, 2, by=C), msg(2, 4)).told("delivered") == {"delivered": None}
    assert heard("C", msg(1, by=C), msg(1, 4)).delivered() == [[1, 4]]


@pytest.mark.rule("V12")
@pytest.mark.parametrize(("quiet_ms", "interval"), [(2_900, None), (3_100, [2, 4])])
def test_one_that_owes_an_ack_for_three_ticks_has_died_or_is_stopped(
    quiet_ms: int, interval: list[int] | None
) -> None:
    """n4-killC-slow: the view without it is not in the capture."""
    story = (JOINED, msg(1, 2), ack(2), 50, msg(3, 4), quiet_ms, msg(1, by=C))
    told = heard("B", *story)
    assert told.told("delivered", "delivered_interval") == {
        "delivered": [[1, 4]], "delivered_interval": interval,
    }  # fmt: skip
    alive = heard("B", *story, ack(4))
    assert alive.told("delivered_interval") == {"delivered_interval": None}


@pytest.mark.parametrize(("quiet_ms", "dead"), [(2_300, True), (2_500, False)])
def test_one_that_said_nothing_more_when_it_had_to_ask_may_have_died(
    quiet_ms: int, dead: bool
) -> None:
    """n2-killA-slow-loss: CP007 said that the capture lacks the messages or the requests."""
    joined, *came = [
        replace(event, system="nakack2")
        for event in (JOINED, msg(1), msg(3), highest(1, by=B), msg(4))
    ]
    told = heard("B", joined, *came[:2], quiet_ms, came[2], 5000, came[3])
    found = told.finding("CP007")
    assert ("it had died" in found["text"]) is dead
    assert found["certainty"] == "cannot be told"


def test_what_came_behind_the_last_own_word_of_one_that_another_followed_it_had_or_not() -> None:
    # rejoin-nakack4: the capture lacks every view and join; "E" speaks at the host of B.
    at_its_place = replace(member(B), source="E")
    story = (JOINED, msg(1, 2), ack(2), msg(3, 4), at_its_place)
    told = heard("B", *story, msg(7, by="E"))
    assert told.told("delivered", "delivered_interval") == {
        "delivered": [[1, 4]], "delivered_interval": [2, 4],
    }  # fmt: skip
    both = heard("B", *story, msg(7, by="E"), ack(4))  # two live there
    assert both.told("delivered", "delivered_interval", "unknown") == {
        "delivered": [[1, 4]], "delivered_interval": None, "unknown": {},
    }  # fmt: skip


@pytest.mark.rule("R19")
def test_a_view_that_is_not_newer_than_the_members_own_is_discarded_whoever_made_it() -> None:
    older = view("BC", 3, 2, by=C)
    merge = view("ABC", 4, 2, digest={"A": (2, 2), "C": (1, 1)}, merge=True)
    told = heard("B", JOINED, msg(1), msg(1, by=C), merge, older, msg(3), msg(3, by=C))
    assert (told.delivered(), told.delivered(C)) == ([[1, 3]], [[1, 3]])


@pytest.mark.rule("R19")
@pytest.mark.parametrize(
    ("begins", "delivered"),
    [((JOINED,), [[1, 3], [8, 8]]), ((ack(0),), [[1, 3], [8, 8]]), ((), None)],
)
def test_what_came_before_a_merge_may_have_come_from_no_member(
    begins: tuple[Event, ...], delivered: list[list[int]] | None
) -> None:
    """Where the member had not said, nor a view told, that it had a window by then."""
    merge = view("ABC", 3, 1, by=C, digest={"A": (7, 7)}, merge=True)
    told = heard("B", *begins, msg(1, 3), merge, msg(8))
    assert told.delivered() == delivered
    assert told.finding("MC021")["seqnos"] == [[4, 7]]


@pytest.mark.rule("R19")
def test_a_merge_digest_at_or_below_the_window_changes_nothing() -> None:
    merge = view("ABC", 3, 1, digest={"C": (2, 2)}, merge=True)
    told = heard("B", JOINED, msg(1, 2, by=C), merge, msg(3, by=C))
    assert told.delivered(C) == [[1, 3]]
    assert told.findings() == []


# -- views -------------------------------------------------------------------------------------


@pytest.mark.rule("V11")
def test_views_are_listed_once_and_say_whether_they_are_installed_here() -> None:
    first, second = view("ABC", 2, 1), view("AB", 3, 2)
    told = heard("B", first, JOINED, first, second, second, view("AC", 4, 3))
    assert told.views() == [(2, "ABC", True), (3, "AB", True), (4, "AC", False)]
    assert told.finding("MC009")["facts"] == {"count": 3, "cluster": "lab", "members": 2}


@pytest.mark.rule("V11")
@pytest.mark.parametrize(
    ("another", "certainty", "count"),
    [
        (view("AB", 3, 2), "proven", 2),
        (view("ABC", 7, 2), "likely", 2),  # none in between is seen, or the number is damaged
        (view("ABC", 3, 2, by=D), "proven", 1),  # no view of a member that is not in it
    ],
)
def test_views_are_counted_as_far_as_each_tells_another_membership(
    another: Event, certainty: str, count: int
) -> None:
    found = heard("B", JOINED, another).finding("MC009")
    assert (found["certainty"], found["facts"]["count"]) == (certainty, count)


def delta(number: int, seqno: int, left: str, new: str, reference: int) -> Event:
    """A view told as its difference to another one of A."""
    plain = view("", number, seqno)
    stated = {
        "id": [A, number], "left": list(left), "new": list(new), "reference": [A, reference],
    }  # fmt: skip
    return replace(plain, detail=json.dumps({"view": stated, "merge": False}))


@pytest.mark.rule("V11")
def test_a_delta_view_is_applied_to_the_view_it_names() -> None:
    told = heard("B", JOINED, delta(3, 1, left=C, new=D, reference=2), msg(1, by=D))
    assert told.views() == [(2, "ABC", True), (3, "ABD", True)]
    assert told.delivered(D) == [[1, 1]]


@pytest.mark.rule("V11")
def test_a_delta_to_a_view_that_was_not_seen_changes_nothing() -> None:
    told = heard("B", JOINED, delta(4, 1, left=C, new="", reference=3), msg(1, by=C))
    assert told.views() == [(2, "ABC", True)]
    assert told.delivered(C) == [[1, 1]]
    assert [mark.frame for mark in told.engine.seen.unknown_deltas] == [2]


@pytest.mark.rule("R15")
def test_who_leaves_by_a_delta_to_a_view_that_was_not_seen_may_have_no_window_any_more() -> None:
    begun = (msg(6, 7, by=C), msg(8), ack(7, of=C), ack(8), 500)
    told = heard("B", *begun, delta(4, 9, left=C, new="", reference=3), msg(8, 9, by=C))
    assert told.delivered(C) is None
    stays = heard("B", *begun, delta(4, 9, left="", new=D, reference=3), msg(8, 9, by=C))
    assert stays.delivered(C) == [[6, 9]]


@pytest.mark.rule("W5")
@pytest.mark.parametrize(
    ("gone", "later", "delivered", "outside"),
    [
        ([leave_rsp(), delta(4, 53, left=B, new="", reference=3)], [], [[50, 53]], 3),
        ([delta(4, 53, left=B, new="", reference=3)], [], [[50, 53]], 3),
        ([leave_rsp(), view("AC", 4, 53)], [], [[50, 53]], 3),
        ([view("AC", 4, 53)], [], [[50, 56]], 0),  # which may be older than this member
        ([delta(4, 53, left=C, new="", reference=3)], [], [[50, 56]], 0),
        ([delta(4, 53, left=B, new="", reference=3)], [3500, ack(56)], [[50, 56]], 0),
    ],
)
def test_a_member_whose_view_is_not_in_the_capture_is_put_out_where_a_view_says_so(
    gone: list[Step], later: list[Step], delivered: list[list[int]], outside: int
) -> None:
    told = heard("B", msg(50, 52), ack(51), *gone, msg(54, 56), *later)
    assert told.told("delivered", "outside_membership") == {
        "delivered": delivered, "outside_membership": outside,
    }  # fmt: skip


@pytest.mark.rule("W5")
@pytest.mark.parametrize(("number", "outside"), [(2, 1), (4, 0)])
def test_a_view_puts_out_who_was_in_one_before_that_waits_here(number: int, outside: int) -> None:
    """coordinator-killed-u4n4: what the views of A wait for is not in the capture."""
    named = (msg(1), view("ABC", number, 9), msg(50, 52, by=C), ack(52, of=C))
    told = heard("B", *named, view("AC", 3, 10), msg(53, by=C), 4000, msg(11))
    assert told.told("outside_membership", sender=C) == {"outside_membership": outside}


@pytest.mark.rule("W5")
def test_a_delta_that_is_older_than_the_own_view_puts_nobody_out() -> None:
    old = delta(2, 1, left=B, new="", reference=1)
    assert heard("B", join_rsp("ABC", 3), old, msg(2)).delivered() == [[1, 2]]
    newer = delta(5, 1, left=B, new="", reference=4)
    assert heard("B", join_rsp("ABC", 3), newer, msg(2)).delivered() == [[1, 1]]


# -- between members ---------------------------------------------------------------------------


@pytest.mark.rule("V16")
@pytest.mark.rule("V17")
def test_between_members_nothing_is_said_about_delivery_and_loss() -> None:
    told = heard(
        None, view("ABC", 1, 1), msg(2), msg(4), 900, xmit_req(3, by=B), xmit_rsp(3),
        ack(4, by=B), ack(2, by=C),
    )  # fmt: skip
    assert told.told("role", "delivered", "lost", "requests", "acks") == {
        "role": "between",
        "delivered": None,
        "lost": None,
        "requests": {"sent": None, "arrived": None, "passed": 1},
        "acks": {"sent": None, "arrived": None, "passed": 2},
    }
    assert told.gaps() == [("recovered", [[3, 3]])]  # it had not passed here before its repair
    assert told.stream()["unknown"]["delivered"] == "not visible at this point of capture"


@pytest.mark.rule("V16")
def test_between_members_a_late_message_after_a_request_is_undecidable() -> None:
    asked = (msg(1), msg(3), 900, xmit_req(2), msg(2))
    assert heard(None, *asked).gaps() == [("recovered or late", [[2, 2]])]
    unasked = heard(None, msg(1), msg(3), msg(2))
    assert unasked.gaps() == [("reordered", [[2, 2]])]
    assert unasked.findings() == [("MC011", "likely", [[2, 2]])]


@pytest.mark.rule("V16")
def test_between_members_the_senders_window_is_replayed_as_well() -> None:
    told = heard(
        None, view("AB", 1, 1), ack(1), msg(2, 5), 800, ack(5), 1, msg(6), capacity=4
    )  # fmt: skip
    assert [row["filled_by"] for row in told.stream()["stalls"]] == [5]


@pytest.mark.rule("V16")
def test_at_an_unknown_point_nothing_is_said_of_delivery_and_loss() -> None:
    engine = McastEngine("mcast|lab", {}, Vantage())
    for event in dated([msg(1)]):
        engine.feed(event)
    told = Heard(engine, 0)
    assert told.findings() == []
    assert (told.stream()["lost"], "lost" in told.stream()["unknown"]) == (None, True)


@pytest.mark.rule("V17")
def test_the_member_at_the_point_of_capture_is_also_learned_from_a_unicast_to_it() -> None:
    engine = McastEngine("mcast|lab", {}, Vantage("member", "10.9.9.9", "given"))
    engine.feed(member(A))
    for event in dated([msg(1), xmit_rsp(2, for_=B)]):
        engine.feed(event)
    assert engine.members.local == B


# -- what no member sends ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nameless", [msg(3), highest(9), ack(2), xmit_req(2), xmit_rsp(4), view("AB", 3, 3)]
)
def test_messages_without_a_source_address_change_nothing(nameless: Event) -> None:
    """Anybody can send one to the group; a member has no window for it."""
    story = (JOINED, msg(1), msg(2))
    told = heard("B", *story, replace(nameless, source=None), ack(2))
    assert told.delivered() == heard("B", *story, ack(2)).delivered() == [[1, 2]]
    assert (told.gaps(), told.findings()) == ([], [])


def _at_the_host_of_b(name: str) -> Event:
    return replace(member("B"), source=name)


def _restarted(*before: Step) -> Heard:
    """B dies at message 6; E begins at its host, in view 4 behind message 20."""
    engine = engine_at("B")
    joined = join_rsp("ABC", 2, to="B", digest=dict.fromkeys("ABC", (0, 0)))
    alive = (1_000, join_req(), joined, msg(1, 5), 500, ack(5), msg(6), 500, ack(6), 3_000)
    after = (msg(21), msg(23), 1_000, xmit_req(22, by="E"), msg(22), 500, ack(23, by="E"))
    for event in [member(name) for name in "ABCD"] + dated((*alive, *before, *after)):
        engine.feed(event)
    engine.close()
    return Heard(engine, 10**12)


def test_a_member_that_begins_at_the_same_host_has_windows_of_its_own() -> None:
    join = join_rsp("ACE", 4, to="E", digest={"A": (20, 20), "C": (0, 0), "E": (0, 0)})
    told = _restarted(_at_the_host_of_b("E"), join_req(by="E"), join)
    assert told.stream()["delivered"] == [[1, 6], [21, 23]]
    assert told.findings("MC023") == [("MC001", "proven", [[22, 22]])]


def test_what_another_member_at_the_same_host_says_is_not_of_this_ones_windows() -> None:
    """Nothing in the capture shows that B is gone: two members may be at one host."""
    told = _restarted(_at_the_host_of_b("E"))
    assert {certainty for _, certainty, _ in told.findings()} <= {"likely", "cannot be told"}
    assert told.stream()["delivered"] is None


@pytest.mark.rule("R2")
def test_what_came_before_its_window_and_is_asked_for_then_was_not_lost() -> None:
    story = (join_rsp("AB", 2, digest={"A": (0, 0)}), msg(1), msg(1, 2, by=C), 900)
    told = heard(
        "B", *story, view("ABC", 3, 2), 900, msg(4, by=C), 900, xmit_req(1, 2, 3, of=C),
        msg(1, 3, by=C), ack(4, of=C),
    )  # fmt: skip
    assert told.told("recovered", "lost", "lost_seqnos", sender=C) == {
        "recovered": 3, "lost": None, "lost_seqnos": [],  # 3 may have come then as well
    }  # fmt: skip
