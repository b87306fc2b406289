"""Bounds of raims losses that other captures of the job tighten."""

from typing import Any, cast

from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.raims.bounds import BY_OTHER, bounds_of, restated, settled, tighten
from seqaudit.replay.raims.truth import BY_NOTICE, BY_NUMBERS

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
        "losses": losses, "lost": lost, "unrecovered": lost, "lost_upper": lost,
        "numbers_by_subject": {}, "lost_by_subject": {},
    }  # fmt: skip


def loss(known_by: str) -> dict[str, Any]:
    return {
        "after": FRAME + 5, "before": FRAME + 11, "lower": 3, "upper": 3, "known_by": known_by,
        "missing_sqns": 5, "frame": 7, "at_ns": 7,
    }  # fmt: skip


def tightened(known_by: str) -> dict[str, Any]:
    at_daemon = stream(0, "receiver", 20, [loss(known_by)])
    tighten([at_daemon, stream(1, "sender", 20, [])], {})
    return at_daemon


def test_a_capture_at_the_publisher_says_how_many_there_were() -> None:
    told = tightened(BY_NUMBERS)
    assert (told["lost"], told["losses"][0]["known_by"]) == (5, BY_OTHER)


def test_what_the_daemon_itself_counted_no_other_capture_knows_better() -> None:
    told = tightened(BY_NOTICE)
    assert (told["lost"], told["losses"][0]["known_by"]) == (3, BY_NOTICE)


def test_a_finding_has_the_bounds_of_its_own_start_of_the_daemon() -> None:
    """A daemon that starts again has another stream of the same name in the same capture."""
    before = stream(0, "receiver", 20, [loss(BY_NUMBERS)]) | {"id": "P|A"}
    after = stream(0, "receiver", 20, []) | {"id": "P|A"}
    now = settled([before, after])
    for place, then in (([0, 7], 3), ([1, 8], 1)):
        facts = {"losses": [place], "bounds": 1}
        finding = cast(PlacedFinding, {"capture": 0, "stream": "P|A", "facts": facts})
        assert restated(finding, now)["facts"]["bounds"] == then


def test_bounds_in_words_are_one_number_where_they_meet() -> None:
    told = [bounds_of(4, 4), bounds_of(1, 830), bounds_of(3, None)]
    assert [facts["bounds"] for facts in told] == [4, "1 to 830", "3 or more"]
