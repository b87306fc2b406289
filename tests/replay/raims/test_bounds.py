"""Bounds of raims losses that other captures of the job tighten."""

from typing import Any, cast

import pytest

from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.raims.bounds import BY_OTHER, bounds_of, restated, settled, tighten
from seqaudit.replay.raims.settings import Settings
from seqaudit.replay.raims.streams import RaimsStream
from seqaudit.replay.raims.truth import BY_BASE, BY_END, BY_NOTICE, BY_NUMBERS

FRAME = 1 << 35  # a time frame; numbers count below it


def stream(capture: int, role: str, messages: int, losses: list[dict[str, Any]]) -> dict[str, Any]:
    """A stream of one time frame, of which ``messages`` were captured but for the losses."""
    lost = sum(loss["lower"] for loss in losses)
    return {
        "system": "raims", "capture": capture, "role": role, "sender": "P", "receiver": "R",
        "subject": "A",
        "time_frames": [{"time_frame": 1, "chain": None, "numbers": [[1, messages]]}]
        if not losses
        else [{"time_frame": 1, "chain": None, "numbers": [[1, 5], [11, messages]]}],
        "losses": losses, "lost": lost, "unrecovered": lost, "lost_upper": lost, "unlisted_gaps": 0,
        "numbers_by_subject": {}, "lost_by_subject": {},
    }  # fmt: skip


def loss(known_by: str) -> dict[str, Any]:
    return {
        "after": FRAME + 5, "before": FRAME + 11, "lower": 3, "upper": 3, "known_by": known_by,
        "missing_sqns": 5, "untaken": 0, "some_may_have_come": False, "frame": 7, "at_ns": 7,
    }  # fmt: skip


def tightened(known_by: str) -> dict[str, Any]:
    at_daemon = stream(0, "receiver", 20, [loss(known_by)])
    tighten([at_daemon, stream(1, "sender", 20, [])], {})
    return at_daemon


def frames(*numbers: tuple[int, int, int, int | None]) -> list[dict[str, Any]]:
    """Time frames of a stream: each its number, first and last message, and chain."""
    return [
        {"time_frame": frame, "numbers": [[first, last]], "chain": chain}
        for frame, first, last, chain in numbers
    ]


def across_frames(sent: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    """What is lost between #5 of frame 1 and #6 of frame 2, and what the publisher's capture holds
    of it: at the daemon #1 to #5 of frame 2, or more."""
    unknown = loss(BY_BASE) | {"before": 2 * FRAME + 6, "lower": 5, "upper": 90} | given
    at_daemon = stream(0, "receiver", 0, [unknown]) | {
        "time_frames": frames((1, 1, 5, None), (2, 6, 9, None)), "lost_upper": 90,
    }  # fmt: skip
    tighten([at_daemon, stream(1, "sender", 0, []) | {"time_frames": sent}], {})
    return {name: at_daemon["losses"][0][name] for name in ("lower", "upper")} | {
        name: at_daemon[name] for name in ("lost", "lost_upper")
    }


def test_a_capture_at_the_publisher_says_how_many_there_were() -> None:
    told = tightened(BY_NUMBERS)
    assert (told["lost"], told["losses"][0]["known_by"]) == (5, BY_OTHER)


def test_what_the_daemon_itself_counted_no_other_capture_knows_better() -> None:
    told = tightened(BY_NOTICE)
    assert (told["lost"], told["losses"][0]["known_by"]) == (3, BY_NOTICE)


def test_all_between_two_frames_is_lost_where_the_publisher_s_capture_is_whole() -> None:
    sent = frames((1, 1, 7, None), (2, 1, 9, FRAME + 7))
    assert across_frames(sent) == {"lower": 7, "upper": 7, "lost": 7, "lost_upper": 7}


def test_what_the_daemon_may_have_had_is_not_lost_as_another_capture_has_it() -> None:
    """Its notice says that #1 to #5 are lost; #6 and #7 of the frame before are not in its capture,
    and nobody knows whether they came."""
    sent = frames((1, 1, 7, None), (2, 1, 9, FRAME + 7))
    told = across_frames(sent, some_may_have_come=True)
    assert told == {"lower": 5, "upper": 7, "lost": 5, "lost_upper": 7}


def test_what_came_and_was_not_taken_is_lost_though_the_publisher_s_capture_has_no_more() -> None:
    here = {"untaken": 4, "lower": 2, "upper": 4, "known_by": BY_NUMBERS}
    at_daemon = stream(0, "receiver", 20, [loss(BY_NUMBERS) | here])
    at_daemon["time_frames"] = [{"time_frame": 1, "numbers": [[1, 20]], "chain": None}]
    tighten([at_daemon, stream(1, "sender", 20, [])], {})
    (found,) = at_daemon["losses"]
    assert (found["lower"], found["upper"]) == (2, 4)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(frames((1, 1, 6, None), (2, 1, 9, FRAME + 7)), id="its-chain-names-more"),
        pytest.param(frames((1, 1, 6, None), (2, 1, 9, None)), id="without-a-chain"),
        pytest.param(frames((1, 6, 6, None), (2, 1, 9, FRAME + 6)), id="begins-within"),
        pytest.param(frames((1, 1, 6, None), (2, 1, 5, FRAME + 6)), id="ends-within"),
        pytest.param(
            [*frames((1, 1, 6, None)),
             {"time_frame": 2, "numbers": [[1, 2], [4, 9]], "chain": FRAME + 6}],
            id="lacks-some",
        ),
    ],
)  # fmt: skip
def test_a_publisher_s_capture_that_lacks_messages_says_no_more_than_at_least(
    sent: list[dict[str, Any]],
) -> None:
    assert across_frames(sent)["upper"] == 90


def test_behind_the_last_message_here_the_other_capture_may_have_gone_on() -> None:
    at_end = loss(BY_END) | {"before": None, "lower": 0, "upper": 40}
    at_daemon = stream(0, "receiver", 5, [])
    at_daemon |= {"losses": [at_end], "lost_upper": 40}
    tighten([at_daemon, stream(1, "sender", 20, [])], {})
    assert (at_daemon["lost"], at_daemon["lost_upper"]) == (0, 40)


def test_losses_that_are_not_listed_stay_counted() -> None:
    at_daemon = stream(0, "receiver", 20, [loss(BY_NUMBERS)])
    at_daemon |= {"lost": 103, "lost_upper": 120, "unlisted_gaps": 50}
    tighten([at_daemon, stream(1, "sender", 20, [])], {})
    assert (at_daemon["lost"], at_daemon["lost_upper"]) == (105, 122)


def test_a_finding_has_the_bounds_of_its_own_start_of_the_daemon() -> None:
    """A daemon that starts again has another stream of the same name in the same capture."""
    before = stream(0, "receiver", 20, [loss(BY_NUMBERS)]) | {"id": "P|A"}
    after = stream(0, "receiver", 20, []) | {"id": "P|A"}
    now = settled([before, after])
    for place, then in (([0, 7], 3), ([1, 8], 1)):
        facts = {"losses": [place], "bounds": 1}
        finding = cast(PlacedFinding, {"capture": 0, "stream": "P|A", "facts": facts})
        assert restated(finding, now)["facts"]["bounds"] == then


@pytest.mark.parametrize(
    ("given", "most"),
    [
        ({}, 818),  # 65,503 bytes in UDP, 80 a message: 48, the subject, its seqno and its time
        ({"pgm.mtu": 1500}, 17),
        ({"pgm.mtu": 1500, "raims.release": "before-2022-08-03"}, 20),  # without a time
    ],
)
def test_a_packet_holds_no_more_messages_than_the_smallest_there_are(
    given: dict[str, Any], most: int
) -> None:
    stated = {name: (value, "given") for name, value in given.items()}
    assert Settings(stated).room(RaimsStream("P", "_7500.TICK.A", glsno=False)) == most


def test_bounds_in_words_are_one_number_where_they_meet() -> None:
    told = [bounds_of(4, 4), bounds_of(1, 830), bounds_of(3, None)]
    assert [facts["bounds"] for facts in told] == [4, "1 to 830", "3 or more"]


@pytest.mark.parametrize(("unknown", "upper"), [({}, 3), ({"lost_upper": "why"}, None)])
def test_streams_do_not_bound_what_may_be_of_others(
    unknown: dict[str, str], upper: int | None
) -> None:
    row = {"capture": 0, "observer": "R", "bridge": "P", "lost_lower": 0, "lost_upper": None,
           "unknown": unknown}  # fmt: skip
    tighten([stream(0, "receiver", 20, [loss(BY_NUMBERS)])], {"loss": [row]})
    assert (row["lost_lower"], row["lost_upper"]) == (3, upper)
