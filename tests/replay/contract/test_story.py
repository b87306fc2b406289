"""Stories of gaps: steps in their order, and where messages were lost, no more than is known."""

import json
from typing import Any, cast

import pytest

from seqaudit.replay.contract.report_rows import GapRow
from seqaudit.replay.contract.results import GapDetail
from seqaudit.replay.contract.story import (
    BETWEEN,
    RECEIVER,
    SENDER,
    Where,
    by_outcome,
    placed,
    with_story,
)
from seqaudit.replay.contract.worth import Doubt, Span, Worth
from seqaudit.replay.sequence.gaps import MAX_ASKS, Gap, Mark, Outcome, Part
from seqaudit.replay.sequence.ranges import RangeSet
from tests.report_types import check_of

S = 1_000_000_000


def gap_of(*asks: int, came: int | None = None, outcome: Outcome = Outcome.RECOVERED) -> Gap:
    """Seqno 5, missing between frames 10 and 20, asked for in some frames; a frame a second."""
    gap = Gap(5, 6, Mark(10, 10 * S), Mark(20, 20 * S), "a higher seqno", None, 0)
    for frame in asks:
        gap.asked(Mark(frame, frame * S))
    mark = None if came is None else Mark(came, came * S)
    gap.parts[outcome] = Part(RangeSet([(5, 6)]), mark, mark, mark)
    return gap


def _called(identity: str | None) -> str | None:
    return "Berta" if identity == "b" else None


def story_of(gap: Gap, role: str = RECEIVER, worth: Worth | None = None, **more: Any) -> Any:
    (row,) = gap.rows()
    place = placed(*by_outcome(row["outcome"], role, row["requests"]))
    about = {"capture": 0, "system": "toy", "stream": "a>b", "receiver": "b", "placed": place}
    told = with_story(cast(GapDetail, about | row | more), worth, _called, 90 * S)
    assert list(check_of(GapRow)(told)) == []
    return told["story"]


def test_a_story_tells_its_steps_in_the_order_of_frames() -> None:
    told = story_of(gap_of(30, 40, came=41))
    assert [(s["step"], s["frame"], s["after_ns"], s["by_name"]) for s in told["steps"]] == [
        ("last before", 10, -10 * S, None),
        ("revealed", 20, 0, None),
        ("asked", 30, 10 * S, "Berta"),
        ("asked", 40, 20 * S, "Berta"),
        ("came", 41, 21 * S, None),
        ("handed on", 41, 21 * S, "Berta"),
    ]
    assert told["steps"][3]["says"] == "asked for again: nothing had come"
    assert (told["waited_by_name"], told["waited_ns"], told["unknown"]) == ("Berta", 21 * S, {})


def test_what_never_came_ends_without_a_frame() -> None:
    told = story_of(gap_of(30, outcome=Outcome.UNRECOVERED))
    last = told["steps"][-1]
    assert (last["step"], last["frame"], last["at_ns"]) == ("never came", None, 90 * S)
    assert last["says"] == "never came here, to the end of the capture"
    assert told["waited_ns"] is None and "handed on" in told["unknown"]["waited"]


def test_a_request_for_some_of_a_gap_says_for_how_many() -> None:
    gap = Gap(5, 25, Mark(10, 10 * S), Mark(20, 20 * S), "a higher seqno", None, 0)
    for frame, number in ((30, 20), (40, 1), (40, 2), (50, 17)):
        gap.asked(Mark(frame, frame * S), count=number)
    gap.parts[Outcome.RECOVERED] = Part(
        RangeSet([(5, 25)]), Mark(41, 41 * S), Mark(51, 51 * S), Mark(51, 51 * S)
    )
    says = [step["says"] for step in story_of(gap)["steps"] if step["frame"] in (30, 40, 50, 51)]
    assert says == [
        "asked for", "asked for 3 of 20", "asked for 17 of 20", "all of it had come as a repair",
        "handed on in order",
    ]  # fmt: skip


def test_requests_behind_the_last_arrival_of_a_part_are_for_the_rest_of_the_gap() -> None:
    gap = Gap(5, 7, Mark(10, 10 * S), Mark(20, 20 * S), "a higher seqno", None, 0)
    for frame in (30, 40):
        gap.asked(Mark(frame, frame * S))
    came = Mark(31, 31 * S)
    gap.parts[Outcome.RECOVERED] = Part(RangeSet([(5, 6)]), came, came, came)
    gap.parts[Outcome.UNRECOVERED] = Part(RangeSet([(6, 7)]))
    asked = [[s["frame"] for s in row["heard"]] for row in gap.rows()]
    assert asked == [[30], [30, 40]]


def test_many_requests_are_told_by_the_first_ones_and_the_last() -> None:
    frames = range(30, 30 + 2 * MAX_ASKS)
    told = story_of(gap_of(*frames, came=99))
    asked = [step["frame"] for step in told["steps"] if step["step"] == "asked"]
    assert asked == [*frames[: MAX_ASKS - 1], frames[-1]]
    assert told["steps_more"] == MAX_ASKS


def test_a_request_for_several_ranges_of_a_gap_is_one_request() -> None:
    gap = gap_of(30, 30, came=41)
    assert gap.requests == 1
    assert [step["frame"] for step in story_of(gap)["steps"] if step["step"] == "asked"] == [30]


def test_what_a_receiver_asked_for_and_lacked_here_was_lost_before_this_point_likely() -> None:
    told = story_of(gap_of(30, came=41))
    assert (told["where"], told["where_certainty"]) == ("before this point", "likely")
    assert [step["frame"] for step in told["where_evidence"]] == [10, 20, 30]


def test_a_capture_that_dropped_packets_cannot_tell_where() -> None:
    worth = Worth([Span(Doubt.HOLE, 15, 15, "the capturing machine dropped 3 packets")])
    told = story_of(gap_of(30, came=41), worth=worth)
    assert (told["where"], told["where_certainty"]) == ("cannot be told", "cannot be told")
    assert told["where_why"].startswith("the capturing machine dropped 3 packets; ")


def test_a_hole_of_the_capture_elsewhere_changes_nothing() -> None:
    worth = Worth([Span(Doubt.HOLE, 50, 60, "the capturing machine dropped 3 packets")])
    assert story_of(gap_of(30, came=41), worth=worth)["where"] == "before this point"


def test_doubts_of_the_engine_count_as_those_of_the_capture() -> None:
    told = story_of(gap_of(30, came=41), doubts=["2 ACKs are not captured here"])
    assert told["where"] == "cannot be told" and "2 ACKs" in told["where_why"]


@pytest.mark.parametrize(
    ("outcome", "role", "requests", "where"),
    [
        (Outcome.REORDERED, RECEIVER, 0, Where.NOWHERE),
        (Outcome.REORDERED, SENDER, 0, Where.NOWHERE),
        (Outcome.RECOVERED, RECEIVER, 1, Where.BEFORE),
        (Outcome.RECOVERED, RECEIVER, 0, Where.UNTOLD),
        (Outcome.RECOVERED, BETWEEN, 0, Where.BEFORE),
        (Outcome.RECOVERED, SENDER, 1, Where.UNTOLD),
        (Outcome.UNRECOVERED, RECEIVER, 1, Where.BEFORE),
        (Outcome.UNRECOVERED, RECEIVER, 0, Where.UNTOLD),
        (Outcome.UNRECOVERED, BETWEEN, 1, Where.BEFORE),
        (Outcome.UNRECOVERED, BETWEEN, 0, Where.UNTOLD),
        (Outcome.UNRECOVERED, SENDER, 1, Where.UNTOLD),
        (Outcome.UNCAPTURED, RECEIVER, 0, Where.HERE),
        (Outcome.UNCAPTURED, SENDER, 1, Where.UNTOLD),
        (Outcome.REPAIRED, RECEIVER, 1, Where.UNTOLD),
        (Outcome.UNASKED, RECEIVER, 0, Where.UNTOLD),
        (Outcome.STOPPED, RECEIVER, 3, Where.UNTOLD),
        (Outcome.GONE, RECEIVER, 1, Where.UNTOLD),
        (Outcome.EITHER, BETWEEN, 1, Where.UNTOLD),
        (Outcome.BEFORE, RECEIVER, 1, Where.UNTOLD),
    ],
)
def test_where_is_what_the_outcome_and_the_place_of_capture_show(
    outcome: Outcome, role: str, requests: int, where: Where
) -> None:
    assert by_outcome(outcome, role, requests)[0] is where


def test_the_text_of_a_row_says_the_same_as_the_row() -> None:
    gap = gap_of(30, 40, came=41)
    assert [json.loads(text) for text in gap.texts()] == gap.rows()
