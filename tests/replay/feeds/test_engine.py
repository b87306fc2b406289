"""Feeds: one test a rule, a naive model, and the same answer wherever a capture is cut."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.open_end import settled
from seqaudit.replay.feeds import holes as feed_holes
from seqaudit.replay.feeds import sessions as feed_sessions
from seqaudit.replay.feeds import stream as feed_stream
from seqaudit.replay.feeds import stream_state
from seqaudit.replay.feeds.engine import FeedEngine
from seqaudit.replay.feeds.rules import FEED
from seqaudit.replay.sequence.gaps import Outcome
from tests.replay.feeds.builders import (
    MS,
    STREAM,
    Datagram,
    copy,
    data,
    dated,
    end,
    engine_of,
    heartbeat,
    repair,
    replayed,
    request,
    reset,
)

EVERYTHING = {"declares": ["end", "heartbeat", "repair", "request", "reset"]}


def told(*story: Any, **options: Any) -> list[tuple[str, str, list[list[int]]]]:
    """(rule, certainty, seqnos) of the findings, at a capture that ends with its last event."""
    end_ns = max(step.at_ns for step in dated(story))
    found = []
    for row in replayed(story, **{"facts": EVERYTHING, **options}):
        if row["kind"] == "FINDING" and _holds(row["detail"]["holds"], end_ns):
            found.append((row["rule"], row["detail"]["certainty"], row["detail"]["seqnos"]))
    return found


def _holds(wanted: dict[str, int], end_ns: int) -> bool:
    before, since = wanted.get("end_before_ns"), wanted.get("end_from_ns")
    return (before is None or end_ns < before) and (since is None or end_ns >= since)


def stream_of(*story: Any, **options: Any) -> dict[str, Any]:
    """The summary of the only stream."""
    rows = replayed(story, **{"facts": EVERYTHING, **options})
    (stream,) = [row["detail"] for row in rows if row["kind"] == "STREAM"]
    return dict(stream)


def gaps_of(*story: Any, **options: Any) -> list[tuple[str, list[list[int]]]]:
    """(outcome, seqnos) of each gap."""
    rows = replayed(story, **{"facts": EVERYTHING, **options})
    return [(r["detail"]["outcome"], r["detail"]["seqnos"]) for r in rows if r["kind"] == "GAP"]


# -- nothing to say ----------------------------------------------------------------------------


@pytest.mark.rule("5.5")
def test_a_faultless_session_says_nothing() -> None:
    story = [heartbeat(1), *(data(n) for n in range(1, 200)), 900, heartbeat(200), 900,
             heartbeat(200), data(200, 50), end(250), 900, end(250)]  # fmt: skip
    assert told(*story) == []
    stream = stream_of(*story)
    assert (stream["messages"], stream["gaps"], stream["ended"]) == (249, 0, 250)
    assert (stream["first_seqno"], stream["last_seqno"]) == (1, 249)


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_wrap_is_no_fault(bits: int) -> None:
    space = 1 << bits
    story = [data((space - 70 + n) % space) for n in range(140)]
    for size in (1, 1000):
        facts = EVERYTHING | {"bits": bits}
        assert told(*story, heartbeat(70), facts=facts, size=size) == []
        stream = stream_of(*story, facts=facts, size=size)
        assert (stream["messages"], stream["wraps"]) == (140, 1)


@pytest.mark.rule("5.5")
def test_a_loss_over_a_wrap_is_counted_in_the_growing_numbers() -> None:
    story = [data(65530), data(65531), data(3), 2000, data(4)]
    assert gaps_of(*story, facts=EVERYTHING | {"bits": 16}) == [("unrecovered", [[65532, 65538]])]


# -- loss, order, copies -----------------------------------------------------------------------


@pytest.mark.rule("FD001")
def test_a_marked_repair_recovers_a_loss() -> None:
    story = [data(1), data(2), data(5), request((3, 5)), 20, repair(3, 2), data(6)]
    assert told(*story) == [("FD001", "likely", [[3, 4]])]
    assert gaps_of(*story) == [("recovered", [[3, 4]])]
    stream = stream_of(*story)
    assert stream["recovery_ns"]["max"] == 22 * MS
    assert stream["answer_ns"]["max"] == 21 * MS
    assert (stream["lost"], stream["recovered"], stream["unrecovered"]) == (2, 2, 0)
    assert stream["retransmissions"] == {"useful": 2, "needless": 0, "undecidable": 0}


@pytest.mark.rule("FD001")
def test_a_repair_of_what_nobody_knew_of_shows_the_loss_as_well() -> None:
    assert gaps_of(data(1), repair(2), data(3)) == [("recovered", [[2, 2]])]


@pytest.mark.rule("FD002")
def test_what_never_comes_is_lost() -> None:
    story = [data(1), data(4), data(5), data(7), 1000, data(8)]
    assert told(*story) == [("FD002", "likely", [[2, 3], [6, 6]])]
    assert stream_of(*story)["unrecovered_seqnos"] == [[2, 3], [6, 6]]
    (gap,) = [r["detail"] for r in replayed(story) if r["kind"] == "GAP"][:1]
    assert (gap["lost_after_frame"], gap["revealed_frame"]) == (1, 2)


@pytest.mark.rule("FD003")
def test_an_overtaken_message_is_reordered_not_lost() -> None:
    story = [data(1), data(3), data(4), data(2), 2000, data(5)]
    assert told(*story) == [("FD003", "likely", [[2, 2]])]
    stream = stream_of(*story)
    assert (stream["reordered"], stream["reorder_depth"], stream["lost"]) == (1, 3, 0)
    assert stream["late_ns"]["max"] == 2 * MS


@pytest.mark.rule("FD003")
def test_where_the_captures_time_goes_back_nothing_is_said_to_be_overtaken() -> None:
    """Its records are out of order, or its clock was set; so was nobody restarted."""
    block = [data(n) for n in range(10, 20)]
    story = [data(1), data(9), *block, -3000, *(data(n) for n in range(2, 9)), 3000, data(20)]
    assert told(*story) == []
    stream = stream_of(*story)
    assert (stream["reordered"], stream["late_ns"]["max"], stream["lost"]) == (7, None, 0)


@pytest.mark.rule("FD004")
def test_what_comes_after_a_second_was_late_or_sent_again() -> None:
    story = [data(1), data(3), 1000, data(2), data(4)]
    assert told(*story) == [("FD004", "cannot be told", [[2, 2]])]
    assert told(*story, late_ms=1001) == [("FD003", "likely", [[2, 2]])]


@pytest.mark.rule("FD004")
def test_what_was_asked_for_where_repairs_are_not_marked_cannot_be_told() -> None:
    story = [data(1), data(3), request((2, 3)), data(2), data(4)]
    assert ("FD004", "cannot be told", [[2, 2]]) in told(*story, facts={"declares": ["request"]})


@pytest.mark.rule("FD005")
def test_the_network_s_duplicates_are_no_messages() -> None:
    story = [data(1), data(2, 3), copy(2, 3), data(5)]
    assert told(*story) == [("FD005", "likely", [[2, 4]])]
    stream = stream_of(*story)
    assert (stream["messages"], stream["arrivals"], stream["copies"]) == (5, 8, 3)


@pytest.mark.rule("FD006")
def test_a_number_in_another_datagram_is_a_copy() -> None:
    assert told(data(1), data(2), data(2), data(3)) == [("FD006", "likely", [[2, 2]])]


@pytest.mark.rule("FD006")
def test_of_what_came_again_without_ip_ids_nothing_tells_who_repeated_it() -> None:
    twins = [data(number, flags=int(Flag.MULTICAST | Flag.ALIKE)) for number in (2, 3)]
    (found,) = findings([data(1), data(2), data(3), data(2), twins[1], data(4)], "FD006")
    assert found["detail"]["seqnos"] == [[2, 3]]
    assert "at least {alike} in datagrams that are the same" in found["detail"]["text"]
    assert found["detail"]["facts"]["alike"] == 1
    (sure,) = findings([data(1), data(2), data(2), data(3)], "FD006")
    assert "unlike those of the two seconds before." in sure["detail"]["text"]


@pytest.mark.rule("FD007")
@pytest.mark.parametrize("says", [heartbeat, end])
def test_the_next_number_reveals_a_lost_tail(says: Any) -> None:
    story = [data(1), data(2), says(5), 1000, says(5)]
    assert told(*story) == [("FD002", "likely", [[3, 4]]), ("FD007", "likely", [[3, 4]])]


@pytest.mark.rule("FD007")
def test_a_tail_that_was_only_late_is_reordered() -> None:
    story = [data(1), heartbeat(3), data(2), data(3)]
    assert told(*story) == [("FD003", "likely", [[2, 2]])]


@pytest.mark.rule("FD007")
def test_a_stream_that_begins_with_a_heartbeat_begins_there() -> None:
    assert told(heartbeat(3), data(5), 1000, data(6)) == [("FD002", "likely", [[3, 4]])]


@pytest.mark.rule("FD017")
def test_a_gap_of_the_last_moment_is_open() -> None:
    story = [data(1), data(3)]
    assert told(*story) == [("FD017", "cannot be told", [[2, 2]])]
    assert told(*story, 999, data(4)) == [("FD002", "likely", [[2, 2]])]
    assert settled(stream_of(*story), 0)["open_at_end"] == 1
    many = data(4, 1000)
    assert told(*story, many) == [("FD002", "likely", [[2, 2]])]
    assert told(*story, request((2, 3)), many) == [("FD017", "cannot be told", [[2, 2]])]


# -- numberings --------------------------------------------------------------------------------


@pytest.mark.rule("FD008")
def test_a_numbering_that_goes_on_elsewhere_was_restarted() -> None:
    first = [data(n) for n in range(500, 700)]
    again = [step for n in range(1, 101) for step in (data(n), 20)]
    assert told(*first, *again, data(103), 2000, data(104)) == [
        ("FD002", "likely", [[101, 102]]),
        ("FD008", "likely", []),
    ]
    stream = stream_of(*first, *again)
    assert (stream["messages"], stream["restarts"]) == (300, 1)


@pytest.mark.rule("FD008")
@pytest.mark.parametrize(("back_ms", "said"), [(1000, False), (0, True)])
def test_where_the_captures_time_goes_back_nobody_is_said_to_begin_anew(
    back_ms: int, said: bool
) -> None:
    """Files in the wrong order look the same."""
    first = [data(n) for n in range(500, 700)]
    again = [step for n in range(1, 101) for step in (data(n), 20)]
    story = [*first, -back_ms, *again, 2000, data(101)]
    assert [rule for rule, *_ in told(*story)] == ["FD008"] * said
    assert stream_of(*story)["restarts"] == said


@pytest.mark.rule("FD008")
def test_a_restart_at_the_end_is_likely_only() -> None:
    first = [data(n) for n in range(500, 700)]
    again = [data(n) for n in range(1, 101)]
    assert told(*first, *again) == [("FD008", "likely", [])]


@pytest.mark.rule("FD008")
def test_old_copies_in_bulk_are_no_restart() -> None:
    story = [data(n) for n in range(500, 700)]
    bulk = [data(n) for n in range(510, 590)]
    assert told(*story, *bulk, data(700)) == [("FD006", "likely", [[510, 589]])]


@pytest.mark.rule("FD003")
@pytest.mark.parametrize("after", [[], [data(512)]])
def test_a_repair_behind_what_is_on_trial_is_judged_behind_it(after: list[Any]) -> None:
    story = [data(399), data(400), data(511), data(400), data(416), repair(416), *after]
    stream = stream_of(*story)
    assert (stream["reordered"], stream["recovered"], stream["copies"]) == (1, 0, 2)


@pytest.mark.rule("FD008")
def test_copies_in_any_order_at_the_end_are_no_restart() -> None:
    story = [data(n) for n in range(500, 1000)]
    mixed = [data(n) for n in (780, 710, 795, 720, 850, 730, 740, 805, 725, 715)]
    long = [data(n, 9) for n in (780, 710, 795, 720, 850, 730, 740, 805, 760, 831)]
    assert told(*story, *long) == [
        ("FD006", "likely", sorted([step.first, step.first + 8] for step in long if step.first))
    ]
    assert [rule for rule, *_ in told(*story, *mixed, 1500, data(716))] == ["FD006"]
    few = [data(n, 13) for n in (510, 560, 610, 660, 710, 790)]  # in order, a fifth of their span
    assert [rule for rule, *_ in told(*story, *few)] == ["FD006"]


@pytest.mark.rule("FD008")
def test_copies_up_to_the_next_number_are_no_restart() -> None:
    """The last copy and the next message are one run; what follows is no part of the copies."""
    story = [data(n) for n in range(500, 800)]
    bulk = [data(n) for n in range(600, 800)]
    live = [step for n in range(800, 900) for step in (data(n), 20)]
    assert told(*story, *bulk, *live) == [("FD006", "likely", [[600, 799]])]
    lossy = [step for n in range(801, 900) for step in (data(n), 20)]
    assert told(*story, *bulk, *lossy) == [
        ("FD002", "likely", [[800, 800]]),
        ("FD006", "likely", [[600, 799]]),
    ]


@pytest.mark.rule("FD008")
def test_a_restart_outgrows_the_numbering_before_it() -> None:
    first = [data(n) for n in range(1, 201)]
    again = [data(n) for n in range(1, 400)]
    later = [step for n in range(400, 480) for step in (data(n), 20)]
    assert told(*first, *again, *later) == [("FD008", "likely", [])]
    assert stream_of(*first, *again, *later)["messages"] == 200 + 479


@pytest.mark.rule("FD008")
@pytest.mark.parametrize("size", [1, 1000])
def test_what_goes_on_lower_behind_a_silence_was_restarted(size: int) -> None:
    """An exporter that sends once a second, and a vehicle with numbers of eight bits."""
    first = [step for n in range(30, 80) for step in (data(n), 1000)]
    again = [step for n in range(1, 41) for step in (data(n), 1000)]
    assert told(*first, 9000, *again, size=size) == [("FD008", "likely", [])]
    assert stream_of(*first, 9000, *again, size=size)["messages"] == 90
    narrow = {"facts": {"bits": 8}, "size": size}
    before = [step for n in range(300) for step in (data(n & 255), 100)]
    after = [step for n in range(300) for step in (data(n & 255), 100)]
    assert told(*before, 9000, *after, **narrow) == [("FD008", "likely", [])]
    assert stream_of(*before, 9000, *after, **narrow)["messages"] == 600


@pytest.mark.rule("FD008")
def test_where_a_numbering_begins_anew_is_told_by_the_numbers_of_the_wire() -> None:
    """Of numbers that wrap those before the first one are below 0 inside."""
    story: list[Any] = [data(n) for n in range(100, 400)]
    story += [9000, *(step for n in range(65_000, 65_100) for step in (data(n), 20))]
    rows = replayed(story, facts=EVERYTHING | {"bits": 16, "modulus": 1 << 16})
    (found,) = [
        row["detail"] for row in rows if row["rule"] == "FD008" and row["kind"] == "FINDING"
    ]
    assert (found["facts"]["start"], found["facts"]["expected"]) == (65_000, 400)
    assert found["evidence"][0]["shows"] == "65000 where 400 was next"


@pytest.mark.rule("FD008")
@pytest.mark.parametrize(("start", "again"), [(500, True), (450, False), (650, True)])
def test_numbers_that_had_been_before_may_have_been_captured_again(start: int, again: bool) -> None:
    """More than 2 s later, so that nothing compares their bytes."""
    story: list[Any] = [data(n) for n in range(500, 800)]
    story += [5000, *(step for n in range(start, start + 100) for step in (data(n), 20))]
    (found,) = [row["detail"]["text"] for row in replayed(story) if row["rule"] == "FD008"]
    assert ("or the same was captured again" in found) == again


@pytest.mark.rule("FD008")
def test_the_last_message_again_and_again_is_no_restart() -> None:
    first = [data(n) for n in range(1, 201)]
    again = [step for _ in range(100) for step in (data(200), 5000)]
    assert told(*first, 5000, *again, *(data(n) for n in range(201, 210))) == [
        ("FD006", "likely", [[200, 200]])
    ]
    late = [data(n) for n in (1, 2, 4, 5)]
    assert [rule for rule, *_ in told(*late, 5000, data(3), data(6))] == ["FD004"]


@pytest.mark.rule("FD007")
@pytest.mark.parametrize("word", [heartbeat, end])
def test_what_names_the_next_number_ends_a_trial(word: Any) -> None:
    """Old copies up to near the highest number do not claim it for a numbering of theirs."""
    story = [data(n) for n in range(500, 700)]
    bulk = [data(n) for n in range(510, 660)]
    assert sorted(told(*story, *bulk, word(702), data(701))) == [
        ("FD003", "likely", [[701, 701]]),
        ("FD006", "likely", [[510, 659]]),
        ("FD007", "likely", [[700, 700]]),
        ("FD017", "cannot be told", [[700, 700]]),
    ]


@pytest.mark.rule("FD008")
@pytest.mark.parametrize("behind", [99, 101, 103, 150, 250])
def test_a_copy_far_behind_is_a_copy(behind: int) -> None:
    story = [data(n) for n in range(500, 1000)]
    more = [data(n) for n in (1000, 1001, 1003, 1004)]
    assert told(*story, data(1000 - behind, 3), *more, 2000, data(1005)) == [
        ("FD002", "likely", [[1002, 1002]]),
        ("FD006", "likely", [[1000 - behind, 1002 - behind]]),
    ]


@pytest.mark.rule("FD008")
def test_one_late_message_is_no_restart() -> None:
    story = [data(n) for n in range(500, 700) if n != 510]
    assert told(*story, data(510), data(700), 2000, data(701)) == [
        ("FD003", "likely", [[510, 510]])
    ]


@pytest.mark.rule("FD009")
def test_a_declared_reset_begins_anew() -> None:
    story = [data(7), data(9), reset(1), data(2), 2000, data(3)]
    assert told(*story) == [("FD002", "likely", [[1, 1], [8, 8]]), ("FD009", "proven", [])]
    assert told(data(7), data(8), reset(), data(1), data(2)) == [("FD009", "proven", [])]


@pytest.mark.rule("FD009")
def test_a_reset_that_the_network_brings_twice_is_one() -> None:
    """Without an IP id nothing tells it from a second one."""
    story = [data(7), data(8), reset(1), data(1), data(2)]
    again = replace(reset(1), flags=int(Flag.MULTICAST | Flag.NETWORK_DUPLICATE))
    assert told(*story, again, data(3)) == [("FD009", "proven", [])]
    assert stream_of(*story, again, data(3))["resets"] == 1
    alike = replace(reset(1), flags=int(Flag.MULTICAST | Flag.ALIKE))
    assert told(*story, alike, data(1), data(2)) == [("FD009", "likely", [])]
    assert stream_of(*story, alike, data(1), data(2))["resets"] == 2


@pytest.mark.rule("FD014")
@pytest.mark.rule("FD015")
def test_a_request_that_the_network_brings_twice_asks_once() -> None:
    again = replace(request((2, 3)), flags=int(Flag.NETWORK_DUPLICATE))
    story = [data(1), data(3), request((2, 3)), repair(2), again, 2000, data(4)]
    assert told(*story) == [("FD001", "likely", [[2, 2]])]
    assert stream_of(*story)["peers"]["10.0.0.3:9"]["requests"] == 1


@pytest.mark.rule("FD009")
@pytest.mark.parametrize("doubt", [{"confirmed": False}, {"recognised": True}])
def test_by_a_layout_that_nobody_stands_for_nothing_is_proven(doubt: dict[str, Any]) -> None:
    story = [data(7), data(8), reset(), data(1), data(2)]
    assert told(*story, facts=doubt) == [("FD009", "likely", [])]


@pytest.mark.rule("FD010")
def test_two_numberings_at_once_are_told_apart() -> None:
    first = [data(n) for n in range(5000, 5200)]
    second = [step for n in range(1, 101) for step in (data(n), 20)]
    mixed = [step for n in range(50) for step in (data(5200 + n), data(101 + n))]
    assert told(*first, *second, *mixed) == [("FD010", "likely", [])]
    assert stream_of(*first, *second, *mixed)["messages"] == 400


@pytest.mark.rule("FD011")
def test_a_stray_number_is_no_loss() -> None:
    story = [data(1), data(2), data(1 << 40), data(3), data(4)]
    assert told(*story) == [("FD011", "likely", [[1 << 40, 1 << 40]])]
    assert stream_of(*story)["messages"] == 4


@pytest.mark.rule("FD012")
def test_messages_after_the_end_are_reported() -> None:
    story = [data(1), data(2), end(3), data(2), data(3)]
    assert told(*story) == [("FD006", "likely", [[2, 2]]), ("FD012", "proven", [[3, 3]])]


@pytest.mark.rule("FD018")
def test_a_loss_in_a_silence_is_an_outage() -> None:
    story = [data(1), 3500, data(9), 2000, data(10)]
    assert told(*story) == [("FD002", "likely", [[2, 8]]), ("FD018", "cannot be told", [[2, 8]])]
    overtaken = [data(1), 3500, data(4), data(3), 2000, data(5)]
    assert told(*overtaken) == [
        ("FD002", "likely", [[2, 2]]),
        ("FD003", "likely", [[3, 3]]),
        ("FD018", "cannot be told", [[2, 2]]),
    ]
    assert told(data(1), 3500, data(3), data(2), data(4)) == [("FD003", "likely", [[2, 2]])]
    beats = [data(1), 2000, heartbeat(2), 2000, data(9), 2000, data(10)]
    assert told(*beats) == [("FD002", "likely", [[2, 8]])]


@pytest.mark.rule("FD019")
def test_a_silence_against_the_stream_s_rhythm_is_told() -> None:
    steady = [step for _ in range(30) for step in (heartbeat(5), 1000)]
    assert told(data(4), *steady, 15000, *steady) == [("FD019", "cannot be told", [])]
    assert told(data(4), *steady, 6000, *steady) == []  # as if one of 3 s could be seen
    rare = [step for _ in range(5) for step in (heartbeat(5), 7000)]
    assert told(data(4), *rare) == []
    assert told(data(4), *steady, 15000, *steady, facts={"declares": []}) == []


@pytest.mark.rule("FD018")
@pytest.mark.rule("FD019")
@pytest.mark.parametrize(
    ("apart", "sure"),
    [((1000, 1000, 1000, 500), "likely"), ((3500, 0, 0, 0), "cannot be told"),
     ((0, 3500, 0, 0), "cannot be told"), ((100, 3300, 0, 100), "cannot be told"),
     ((2000, 1500), "likely"), ((2000, 5000), "cannot be told")],
)  # fmt: skip
def test_a_silence_is_the_stream_s_where_another_stream_goes_on(
    apart: tuple[int, ...], sure: str
) -> None:
    """Else the capture stood still, or its clock was set."""
    others = [step for n, ms in enumerate(apart) for step in (data(n + 1, stream="g|other"), ms)]
    story = [data(1), *others, data(9), 2000, data(10), data(5, stream="g|other")]
    assert ("FD018", sure, [[2, 8]]) in told(*story)
    steady = [step for _ in range(30) for step in (heartbeat(5), 1000)]
    beside = [step for n in range(15) for step in (data(n + 1, stream="g|other"), 1000)]
    quiet = told(data(4), *steady, *beside, *steady)
    assert [certainty for rule, certainty, _ in quiet if rule == "FD019"] == ["likely"]


@pytest.mark.rule("FD020")
def test_a_large_loss_in_a_small_space_is_uncertain() -> None:
    story = [data(1), data(2), data(3003), 2000, data(3004)]
    found = told(*story, facts=EVERYTHING | {"bits": 16})
    assert ("FD020", "cannot be told", [[3, 3002]]) in found
    assert [rule for rule, *_ in told(*story)] == ["FD002"]


@pytest.mark.rule("FD020")
@pytest.mark.parametrize(
    ("bits", "lost", "uncertain"), [(8, 10, False), (8, 12, True), (4, 1, True)]
)
def test_how_large_a_loss_is_uncertain_is_a_part_of_the_space(
    bits: int, lost: int, uncertain: bool
) -> None:
    space = 1 << bits
    story = [data(n % space) for n in (0, 1, 2, *range(3 + lost, 40 + lost))]
    found = told(*story, 2000, data((40 + lost) % space), facts=EVERYTHING | {"bits": bits})
    assert [rule for rule, *_ in found] == ["FD002", *["FD020"] * uncertain]
    late = [data(n) for n in (0, 1, 3, 2, 4)]
    assert [rule for rule, *_ in told(*late, facts=EVERYTHING | {"bits": bits})] == ["FD003"]


@pytest.mark.rule("FD020")
@pytest.mark.parametrize(("seconds", "uncertain"), [(4, False), (60, True)])
def test_a_loss_in_a_silence_may_be_longer_by_the_whole_space(
    seconds: int, uncertain: bool
) -> None:
    before = [step for n in range(256) for step in (data(n), 100)]
    after = [step for n in range(5, 256) for step in (data(n), 100)]
    story = [*before, seconds * 1000, *after]
    found = {rule for rule, *_ in told(*story, facts={"bits": 8})}
    assert found == {"FD002", "FD018", *["FD020"] * uncertain}


@pytest.mark.rule("FD021")
def test_what_is_too_far_behind_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_holes.Holes.__init__, "__defaults__", (8,))
    story = [data(2 * n) for n in range(1, 40)]
    found = told(*story, data(3), data(77))
    assert ("FD021", "cannot be told", []) in found
    assert ("FD003", "likely", [[77, 77]]) in found
    assert stream_of(*story, data(3))["unrecovered"] == 38


# -- requests and repairs ----------------------------------------------------------------------


@pytest.mark.rule("FD003")
def test_a_heartbeat_after_a_late_message_does_not_make_it_later() -> None:
    story = [data(1), heartbeat(3), data(2), 2000, heartbeat(3), data(3)]
    assert told(*story) == [("FD003", "likely", [[2, 2]])]
    assert stream_of(*story)["late_ns"]["max"] == MS


@pytest.mark.rule("FD014")
def test_a_request_without_a_repair_is_unanswered() -> None:
    story = [data(1), data(4), request((2, 4)), repair(2), 1000, data(5)]
    assert ("FD014", "likely", [[3, 3]]) in told(*story)
    both = [data(1), data(5), request((2, 5)), repair(2), 1000, data(6)]
    rows = replayed(both, facts=EVERYTHING)
    (found,) = [row["detail"] for row in rows if (row["kind"], row["rule"]) == ("FINDING", "FD014")]
    assert found["facts"]["count"] == 2


@pytest.mark.rule("5.5")
def test_when_each_repair_came_is_told_though_they_follow_one_another() -> None:
    story = [
        data(1),
        heartbeat(3),
        heartbeat(5),
        request((2, 5)),
        repair(2, 1),
        repair(3, 2),
        data(5),
    ]
    rows = [row["detail"] for row in replayed(story, facts=EVERYTHING) if row["kind"] == "GAP"]
    assert [(row["seqnos"], row["repaired_frame"]) for row in rows] == [
        ([[2, 2]], 5),
        ([[3, 4]], 6),
    ]


@pytest.mark.rule("5.5")
def test_a_gap_that_one_request_names_in_parts_was_asked_for_once() -> None:
    story = [data(1), data(5), data(3), request((2, 5)), data(6)]
    rows = [row["detail"] for row in replayed(story, facts=EVERYTHING) if row["kind"] == "GAP"]
    assert [(row["outcome"], row["requests"]) for row in rows] == [
        ("reordered", 1), ("unrecovered", 1),
    ]  # fmt: skip


@pytest.mark.rule("FD015")
def test_a_request_for_what_had_arrived_is_somebody_else_s_loss() -> None:
    story = [data(1), data(2), request((2, 3)), repair(2), data(3)]
    assert told(*story) == [("FD015", "likely", [[2, 2]])]
    assert stream_of(*story)["retransmissions"]["undecidable"] == 1


@pytest.mark.rule("FD016")
def test_a_repair_that_nobody_asked_for_is_needless() -> None:
    assert told(data(1), data(2), repair(2), data(3)) == [("FD016", "likely", [[2, 2]])]


@pytest.mark.rule("5.5")
def test_a_repair_that_names_no_group_goes_to_the_stream_that_misses_it() -> None:
    a, b = "f|S|10.0.0.9:1|", "f|S|10.0.0.9:2|"
    story = [
        data(1, stream=a), data(1, stream=b), data(3, stream=a), data(2, stream=b),
        request((2, 3)), repair(2, stream="f|S|"), data(4, stream=a),
    ]  # fmt: skip
    story = [step if step.kind != Kind.REQUEST else _for(step, "f|S|") for step in story]
    rows = replayed(story, facts=EVERYTHING)
    streams = {row["stream"]: row["detail"] for row in rows if row["kind"] == "STREAM"}
    assert sorted(streams) == [a, b]
    assert (streams[a]["recovered"], streams[b]["recovered"]) == (1, 0)
    assert streams[b]["retransmissions"]["needless"] == 0


@pytest.mark.rule("FD028")
def test_a_repair_that_two_streams_miss_is_given_to_neither() -> None:
    a, b = "f|S|10.0.0.9:1|", "f|S|10.0.0.9:2|"
    story = [data(n, stream=s) for n in (1, 3) for s in (a, b)]
    found = told(*story, repair(2, stream="f|S|"), 2000, data(4, stream=a))
    assert ("FD028", "cannot be told", []) in found
    assert [f for f in found if f[0] == "FD002"] == [("FD002", "likely", [[2, 2]])] * 2


def _for(step: Datagram, stream: str) -> Datagram:
    return replace(step, stream=stream)


# -- lines -------------------------------------------------------------------------------------

A, B = "f|S|lines 1|A", "f|S|lines 1|B"


def both(first: int, count: int = 1) -> list[Datagram]:
    """The same on line A and, 1 ms later, on line B."""
    return [data(first, count, stream=A), data(first, count, stream=B)]


def lines_of(*story: Any, **options: Any) -> dict[str, Any]:
    """The row of the table of lines."""
    rows = replayed(story, **{"facts": EVERYTHING, "records": True, **options})
    (lines,) = [row["detail"] for row in rows if row["kind"] == "TABLE"]
    return dict(lines)


def heard(*story: Any, **options: Any) -> list[tuple[str, str, list[list[int]]]]:
    return told(*story, **{"records": True, **options})


def flat(*parts: Any) -> list[Any]:
    return [step for part in parts for step in (part if isinstance(part, list) else [part])]


@pytest.mark.rule("FD022")
def test_only_what_neither_line_brings_is_lost() -> None:
    story = flat(both(1), data(2, stream=A), data(4, stream=A), data(3, stream=B),
                 data(4, stream=B), both(6), 2000, both(7))  # fmt: skip
    assert heard(*story) == [
        ("FD022", "likely", [[5, 5]]),
        ("FD023", "likely", [[3, 3]]),
        ("FD023", "likely", [[2, 2]]),
    ]
    row = lines_of(*story)
    assert (row["compared"], row["lost_on_both"]) == (7, 1)
    gaps = [(outcome, seqnos) for outcome, seqnos in gaps_of(*story) if seqnos == [[5, 5]]]
    assert gaps == [("unrecovered", [[5, 5]])] * 3  # of A, of B and of both


@pytest.mark.rule("FD022")
def test_a_repair_of_what_both_lines_lost_recovers_it() -> None:
    ask = _for(request((2, 3)), "f|S|")
    story = flat(both(1), both(3), ask, repair(2, stream="f|S|"), 2000, both(4))
    assert heard(*story) == [("FD001", "likely", [[2, 2]])]
    row = lines_of(*story)
    assert (row["recovered"], row["lost_on_both"], row["line_a"]["lost_only_here"]) == (1, 0, 0)


@pytest.mark.rule("FD017")
def test_what_both_lines_miss_at_the_very_end_is_open() -> None:
    assert heard(*both(1), *both(3)) == [("FD017", "cannot be told", [[2, 2]])]


@pytest.mark.rule("FD023")
def test_equal_lines_say_nothing() -> None:
    story = flat(*(both(n) for n in range(1, 300)), heartbeat(300, stream=A),
                 heartbeat(300, stream=B))  # fmt: skip
    assert heard(*story) == []
    row = lines_of(*story)
    assert (row["measured"], row["together"]) == (299, 0)
    assert row["line_a"]["first"] == 299 and row["line_b"]["first"] == 0
    assert row["line_a"]["lead_ns"] == {"p50": MS, "p99": MS, "max": MS}


@pytest.mark.rule("FD024")
def test_a_line_that_is_not_there_or_falls_silent_is_told() -> None:
    assert heard(data(1, stream=A), data(2, stream=A)) == [("FD024", "likely", [])]
    more = [step for n in range(2, 9) for step in (data(n, stream=A), 1000)]
    assert ("FD024", "likely", []) in heard(*both(1), *more)


@pytest.mark.rule("FD026")
def test_a_line_that_lags_is_told_if_a_limit_is_given() -> None:
    story = flat(*(both(n) for n in range(1, 30)))
    assert heard(*story, max_lag_us=999) == [("FD026", "likely", [])]
    assert heard(*story, max_lag_us=1000) == []


def test_leads_count_each_number_of_a_datagram() -> None:
    story = [data(1, 4, stream=A), data(1, 2, stream=B), data(3, 2, stream=B)]
    row = lines_of(*story)
    assert row["measured"] == 4
    assert row["line_a"]["lead_ns"] == {"p50": MS, "p99": 2 * MS, "max": 2 * MS}


# -- jitter ------------------------------------------------------------------------------------


def rtp(number: int, stamp: int) -> Datagram:
    return data(number, stamp=stamp)


TIMED = {"bits": 16, "stamp_bits": 32, "hz": 8000, "declares": []}


@pytest.mark.rule("FD025")
def test_jitter_is_that_of_rfc_3550() -> None:
    # Datagrams come every 1 ms, or after a pause; a tick is 125 us.
    story = [rtp(0, 2**32 - 8), rtp(1, 0), 7, rtp(2, 8), rtp(3, 16)]
    stream = stream_of(*story, facts=TIMED, records=True, hz=8000)
    # d is 0, 7 ms and 0: j16 = 0, then 7,000,000, then less (7,000,000 + 8) >> 4.
    first = 7_000_000 >> 4
    last = (7_000_000 - ((7_000_000 + 8) >> 4)) >> 4
    assert stream["jitter_ns"] == {"last": last, "max": first, "mean": (first + last) // 3}
    limits = {"facts": TIMED, "records": True, "hz": 8000}
    assert told(*story, max_jitter_us=437, **limits) == []  # it may be a clock that was set
    again = [*story, 7, rtp(4, 24)]
    assert told(*again, max_jitter_us=437, **limits) == [("FD025", "likely", [])]
    assert told(*again, max_jitter_us=438, **limits) == [("FD025", "likely", [])]
    assert told(*again, max_jitter_us=900, **limits) == []


@pytest.mark.rule("FD025")
def test_a_clock_that_is_set_makes_no_jitter() -> None:
    """By a second and more; a smaller step may be one datagram, and passes no limit alone."""
    limits = {"facts": TIMED, "records": True, "hz": 8000}
    calm = [rtp(n, 8 * n) for n in range(50)]
    for step_ms, most in ((5_000, 0), (-5_000, 0), (300, 300_000_000 >> 4)):
        story = [*calm[:20], step_ms, *calm[20:]]
        stream = stream_of(*story, facts=TIMED, records=True, hz=8000)
        assert stream["jitter_ns"]["max"] == most
        assert told(*story, max_jitter_us=1000, **limits) == []


# -- sessions, blocks --------------------------------------------------------------------------


@pytest.mark.rule("FD013")
def test_a_session_that_another_follows_without_an_end_is_told() -> None:
    facts = {"declares": ["end"], "first_frame": 1, "last_frame": 9, "last_seqno": 5,
             "first_seqno": 1, "kind": "feed", "sender": "s"}  # fmt: skip
    one = facts | {"first_ns": 0, "last_ns": 10, "ended": None}
    two = facts | {"first_ns": 11, "last_ns": 20, "ended": None}

    def told(*seen: tuple[str, dict[str, Any]]) -> list[str | None]:
        found = [feed_sessions.session_of(0, stream, row) for stream, row in seen]
        return [f["stream"] for f in feed_sessions.judge(filter(None, found))]

    first, second = "f|session=1|g:1|", "f|session=2|g:1|"
    assert told((second, two), (first, one)) == [first]
    assert told((first, one | {"ended": 6}), (second, two)) == []
    assert told((first, one), ("f|session=2|g:2|", two)) == []
    assert told((first, one), (second, two | {"first_ns": 9})) == []
    assert told(("f||g:1|", one), ("f||g:1|", two)) == []
    assert told((first, one | {"declares": []}), (second, two)) == []


@pytest.mark.rule("FD027")
def test_counts_that_blocks_do_not_show_are_told() -> None:
    assert told(data(1), data(2), odd=3) == [("FD027", "proven", [])]
    assert told(data(1), data(2), odd=0) == []
    assert stream_of(data(1))["odd_counts"] is None


def test_counts_that_fit_are_counted_where_only_heartbeats_came() -> None:
    assert stream_of(heartbeat(1), facts={"blocks": True})["odd_counts"] == 0


@pytest.mark.rule("5.5")
def test_unicast_data_of_a_server_that_was_asked_is_a_repair() -> None:
    ask = replace(request((2, 3), source="10.0.0.3:9"), destination="10.0.0.2:7")
    place = "f|S|10.0.0.9:1|"
    story = [data(1, stream=place), data(3, stream=place), _for(ask, "f|S|"), aside(2),
             2000, data(4, stream=place)]  # fmt: skip
    assert told(*story) == [("FD001", "likely", [[2, 2]])]


def aside(first: int, count: int = 1) -> Datagram:
    """Unicast data, from a server that nobody has named."""
    return data(first, count, flags=int(Flag.ASIDE), source="10.0.0.2:7",
                stream="f|S|10.0.0.3:9|", destination="10.0.0.3:9")  # fmt: skip


def grouped(first: int, count: int = 1) -> Datagram:
    """Data of the same session to a group."""
    return data(first, count, stream="f|S|239.0.0.9:1|", destination="239.0.0.9:1")


@pytest.mark.rule("5.5")
def test_unicast_data_that_a_group_has_brought_or_skipped_is_a_repair() -> None:
    story = [grouped(1), grouped(3), aside(2), aside(1), 2000, grouped(4)]
    assert told(*story) == [("FD001", "likely", [[2, 2]]), ("FD016", "likely", [[1, 1]])]
    # The capture begins with a repair; what is skipped in the next ones is no loss.
    assert told(aside(2, 3), grouped(90), aside(7, 2), aside(40), grouped(91)) == []


@pytest.mark.rule("5.5")
def test_a_relay_to_one_host_that_is_ahead_of_the_group_is_a_stream_of_its_own() -> None:
    story = [step for n in range(1, 9) for step in (aside(n), grouped(n))]
    assert told(*story) == []
    engine = engine_of(story)
    assert [stream.messages for stream in engine.streams.values()] == [8, 8]


# -- the naive model, and cuts -----------------------------------------------------------------


def naive(story: Iterable[Any]) -> tuple[int, int, int, int, int]:
    """Messages, duplicates, copies, late and lost numbers, word for word."""
    high: int | None = None
    seen: set[int] = set()
    missing: set[int] = set()
    duplicates = copies = late = 0
    for step in dated(story):
        if high is None:
            assert step.first is not None or step.stop is not None
            high = step.stop if step.kind == Kind.HIGHEST else step.first
        assert high is not None and step.stop is not None
        if step.kind == Kind.HIGHEST:
            missing |= set(range(high, step.stop))
            high = max(high, step.stop)
            continue
        assert step.first is not None
        for number in range(step.first, step.stop):
            if step.flags & Flag.NETWORK_DUPLICATE and number < high:
                duplicates += 1
            elif number >= high:
                missing |= set(range(high, number))
                high = number + 1
                seen.add(number)
            elif number in missing:
                missing.remove(number)
                late += 1
                seen.add(number)
            elif number in seen:
                copies += 1
            else:
                seen.add(number)
    return len(seen), duplicates, copies, late, len(missing)


@st.composite
def stories(draw: st.DrawFn, *, restarts: bool) -> list[Datagram | int]:
    """Datagrams of one to three numbers with losses, copies, late ones, heartbeats, pauses."""
    number = draw(st.sampled_from([0, 1, 1000]))
    late: list[Datagram] = []
    story: list[Datagram | int] = [data(number)]
    words = ["data"] * 8 + ["lose", "late", "come", "copy", "again", "beat", "pause"]
    for word in draw(st.lists(st.sampled_from(words + ["restart"] * restarts), max_size=120)):
        count = draw(st.sampled_from([1, 1, 3])) if word in ("data", "lose", "late") else 1
        datagram = data(number + 1, count)
        if word in ("data", "lose", "late"):
            number += count
        if word == "data":
            story.append(datagram)
        elif word == "late":
            late.append(datagram)
        elif word == "come" and late:
            story.append(late.pop(draw(st.integers(0, len(late) - 1))))
        elif word == "copy":
            story.append(copy(number))
        elif word == "again" and isinstance(story[-1], Datagram) and story[-1].kind == Kind.DATA:
            story.append(story[-1])
        elif word == "beat":
            story.append(heartbeat(number + 1))
        elif word == "pause":
            story.append(draw(st.sampled_from([500, 2000, 4000])))
        elif word == "restart":
            number = draw(st.sampled_from([0, 3, 5000, number + 10**9]))
    return story


@pytest.mark.rule("5.5")
@given(stories(restarts=False), st.sampled_from([2, 10, 48]))
@settings(max_examples=30)
def test_the_engine_agrees_with_the_naive_model(story: list[Datagram | int], few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed_stream, "FEW", few)
        stream = engine_of(story).streams[STREAM]
    counts = stream.counts
    late = counts[Outcome.REORDERED] + counts[Outcome.EITHER]
    told = stream.messages, stream.duplicates.count, stream.copies.count
    assert (*told, late, counts[Outcome.UNRECOVERED]) == naive(story)


@pytest.mark.rule("5.5")
@given(
    stories(restarts=True), st.sets(st.integers(1, 130)), st.sampled_from([1, 2, 7, 50]),
    st.sampled_from([2, 10, 48]),
)  # fmt: skip
@example(
    [*map(data, range(1000, 1004)), heartbeat(1), 2000, *(copy(n) for n in (0, 1))], set(), 1, 2
)
@example(
    [*map(data, (0, 1, 2, 1_000_000_003)), *(copy(n) for n in (1_000_000_003, 1_000_000_004))],
    set(),
    1,
    2,
)
@settings(max_examples=30)
def test_nothing_depends_on_where_the_capture_is_cut(
    story: list[Datagram | int], cuts: set[int], size: int, few: int
) -> None:
    whole = replayed(story, facts=EVERYTHING)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed_stream, "FEW", few)
        assert replayed(story, facts=EVERYTHING, cuts=cuts, size=size) == whole
    every = set(range(1, len(story) + 2))
    assert replayed(story, facts=EVERYTHING, cuts=every, size=size) == whole


def findings(story: list[Any], rule: str, **options: Any) -> list[dict[str, Any]]:
    rows = replayed(story, facts=EVERYTHING, **options)
    return [row for row in rows if row["detail"].get("rule") == rule and row["kind"] == "FINDING"]


@pytest.mark.rule("5.5")
def test_what_comes_after_the_end_came_with_the_late_row_it_goes_on_from() -> None:
    # L4: frames 3 to 5 are one row, part of which is above the highest number.
    over = Datagram(None, None, kind=Kind.CLOSE)
    story = [data(96, 2), over, data(43), data(44), data(45, 60)]
    for cuts in (set[int](), {4}, {5}, {4, 5}):
        assert [row["frame"] for row in findings(story, "FD012", cuts=cuts)] == [3]


@pytest.mark.rule("5.5")
def test_a_copy_that_goes_on_above_the_highest_number_does_not_show_it_again() -> None:
    # L1 while a number far ahead is on trial: 150 and 151 are one row.
    story = [data(146, 5), data(100_000_151), copy(150), copy(151), data(153)]
    whole = replayed(story, facts=EVERYTHING)
    (gap,) = [row["detail"] for row in whole if row["kind"] == "GAP"]
    assert gap["lost_after_frame"] == 1
    for size in (1, 1000):
        assert replayed(story, facts=EVERYTHING, cuts={4}, size=size) == whole


@pytest.mark.rule("5.5")
def test_lines_are_compared_in_the_order_in_which_their_rows_were_judged() -> None:
    # T6 for A and B: what had been on trial on one line is known later than what the other brings.
    story = [
        *(data(505, stream=B), data(11, 4, stream=B), 2000, data(38, 60, stream=B)),
        *(data(602, stream=B), data(812, stream=A), data(103, stream=B)),
        *(data(568, 4, stream=A), replace(copy(453), stream=B), data(573, stream=A)),
        *(data(1015, stream=B), data(579, 60, stream=A), 2000, data(637, 4, stream=A)),
        data(640, 4, stream=A),
    ]
    whole = replayed(story, facts=EVERYTHING)
    for size in (1, 2, 3, 7):
        assert replayed(story, facts=EVERYTHING, size=size) == whole


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_number_that_comes_again_after_the_time_of_comparison_is_measured_anew(
    size: int,
) -> None:
    story = [data(1, stream=A), 500, data(1, stream=A), 1500, data(1, stream=A), data(1, stream=B)]
    row = lines_of(*story, size=size)
    assert row["measured"] == 1
    assert row["line_a"]["lead_ns"] == {"p50": MS, "p99": MS, "max": MS}


@pytest.mark.rule("5.5")
@given(st.lists(st.sampled_from("ABab-=xq"), max_size=80), st.sets(st.integers(1, 170)),
       st.sampled_from([1, 3, 1000]))  # fmt: skip
@settings(max_examples=50)
def test_lines_agree_with_sets_and_do_not_depend_on_cuts(
    words: list[str], cuts: set[int], size: int
) -> None:
    """A, B: on one line only; a, b: late on the other; -, =: on both; x: on none; q: a pause."""
    number = 1
    story: list[Any] = both(1)
    late: list[Any] = []
    have: dict[str, set[int]] = {A: {1}, B: {1}}
    for word in words:
        if word == "q":
            story += [1, *late]
            late = []
            continue
        number += 1
        for line, where in ((A, "Aa-="), (B, "Bb-=")):
            if word in where:
                story.append(data(number, stream=line))
                have[line].add(number)
        if word in "ab":
            other = B if word == "a" else A
            late.append(data(number, stream=other))
            have[other].add(number)
    story += [*late, *both(number + 1), 2000, *both(number + 2)]
    for line in (A, B):
        have[line] |= {number + 1, number + 2}
    row = lines_of(*story)
    everything = set(range(1, number + 3))
    assert row["compared"] == number + 2
    assert row["lost_on_both"] == len(everything - have[A] - have[B])
    assert row["line_a"]["lost_only_here"] == len(have[B] - have[A])
    assert row["line_b"]["lost_only_here"] == len(have[A] - have[B])
    assert row["measured"] == len(have[A] & have[B])
    whole = replayed(story, facts=EVERYTHING, records=True)
    assert replayed(story, facts=EVERYTHING, records=True, cuts=cuts, size=size) == whole


@pytest.mark.rule("3.4")
def test_half_of_the_numbers_lost_is_linear_and_capped() -> None:
    count = 4_000
    engine: FeedEngine = engine_of(data(2 * n) for n in range(count))
    stream = engine.streams[STREAM]
    assert stream.counts[Outcome.UNRECOVERED] == stream.gap_count == count - 1
    assert len(stream.gaps) == stream_state.MAX_LISTED


@pytest.mark.rule("4.4")
def test_every_rule_of_feeds_is_judged_or_says_why_not() -> None:
    rows = replayed([data(1)], facts=EVERYTHING)
    (told,) = [row["detail"] for row in rows if row["kind"] == "JUDGED"]
    listed = [*told["judged"], *(rule for rules in told["not_judged"].values() for rule in rules)]
    assert sorted(listed) == sorted(rule.code for rule in FEED)
    assert "FD002" in told["judged"]
