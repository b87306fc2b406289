"""What the unicasts of a member say of its multicasts, in one report."""

from collections.abc import Iterator
from typing import Any

import pytest

from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.contract.results import FINDING
from seqaudit.replay.jgroups.mcast.system import MCAST

PLACE = (0, "lab|A")


def result(stream: str, system: str, frame: int | None = None, **detail: Any) -> dict[str, Any]:
    return {
        "capture": 0, "conversation": "mcast|lab", "system": system, "stream": stream,
        "frame": frame, "at_ns": None, "rule": detail.get("rule"), "detail": detail,
    }  # fmt: skip


def window(**changes: Any) -> dict[str, Any]:
    """What came of A at B, whose last ACK was for 3."""
    row: dict[str, Any] = {
        "cluster": "lab", "sender": "A", "receiver": "B", "role": "receiver", "last_frame": 50,
        "delivered": [[2, 9]], "delivered_interval": None, "unknown": {"lost": "why"},
        "peers": {"B": {"highest_ack": 3}},
    }  # fmt: skip
    return result("lab|A", "nakack2", **row | changes)


def figures(
    *streams: dict[str, Any], certainty: str = Certainty.LIKELY
) -> dict[tuple[int, str], Any]:
    silent = result("lab|C|B|1", "unicast3", 40, rule="UC027", certainty=certainty)

    def rows(kind: object) -> Iterator[Any]:
        return iter([silent] if kind is FINDING else streams)

    assert MCAST.comparison is not None
    return dict(MCAST.comparison().figures(rows, {}, []))


def test_what_came_at_one_that_answers_no_unicast_any_more_has_bounds() -> None:
    """n2-killC-slow: NAKACK2 owes no word for what it delivers, so its multicasts tell nothing."""
    told = figures(window())
    assert told[PLACE]["delivered_interval"] == [3, 9]
    assert told[PLACE]["unknown"].keys() == {"lost", "delivered"}
    assert figures(window(peers={}))[PLACE]["delivered_interval"] == [1, 9]


@pytest.mark.parametrize(
    "changes",
    [
        {"last_frame": 39},  # all of it had come before
        {"receiver": "D"},
        {"cluster": "other"},
        {"delivered": None},  # nothing is said
        {"delivered_interval": [3, 5]},  # a view without it tells more
    ],
)
def test_nothing_changes_where_it_was_not_silent_yet_or_more_is_known(
    changes: dict[str, Any],
) -> None:
    assert figures(window(**changes)) == {}


def test_one_that_multicasts_behind_that_lives() -> None:
    own = window(sender="B", receiver=None, role="sender", last_frame=41)
    assert figures(window(), own) == figures(own, window()) == {}
    assert figures(window(), certainty=Certainty.UNDECIDABLE) == {}
