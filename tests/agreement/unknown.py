"""Which figure may be unknown at which vantage: the one table (CONTRIBUTING.md 4).

A figure that the report calls unknown (null) is counted under the reason of the first entry that
fits. Where none fits, unknown is a difference. An entry allows null, it does not excuse a value: a
stated value is compared whatever stands here. Of a stream the report must say why it is null.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.agreement.truth import Scenario


@dataclass(frozen=True, slots=True)
class Place:
    """Where a figure is looked up: a capture, the stream's sender, and how the audit was run."""

    scenario: Scenario
    vantage: str
    sender: str = ""
    configured: bool = False  # the members' stack files were given
    more: bool = False  # what no test asserts yet is compared as well


@dataclass(frozen=True, slots=True)
class Unknown:
    """One entry: a figure, the vantage, the condition, why, and where that is written."""

    figure: str
    vantage: str  # receiver, sender, member, mirror
    condition: Callable[[Place], bool]
    reason: str
    reference: str


def _full_at_most_once(place: Place) -> bool:
    blockings = place.scenario.attribute(place.vantage, "num_blockings")
    # a stack file that states no capacity says that it is the release's default
    stated = place.more or place.scenario.capacity_configured(place.vantage)
    given = place.configured and stated
    return not given and blockings is not None and blockings <= 1


def _unicast_full_at_most_once(place: Place) -> bool:
    blockings = place.scenario.unicast_attributes(place.vantage).get("num_blockings", 0)
    stated = place.more or place.scenario.unicast_capacity_configured(place.vantage)
    given = place.configured and stated
    return not given and blockings <= 2  # two threads may have waited at the same time


UNKNOWN: Final = (
    Unknown(
        "blocked in unicasts",
        "sender",
        _unicast_full_at_most_once,
        "capacity not given, and the window full at most once",
        "jgroups.md 6, window-full block",
    ),
    Unknown(
        "delivered",
        "sender",
        lambda place: True,
        "own multicasts are on no wire",
        "jgroups.md 1.3",
    ),
    Unknown(
        "view",
        "member",
        lambda place: True,
        "a founder's first view is on no wire",
        "jgroups.md 2.6",
    ),
    Unknown(
        "view set by hand",
        "member",
        lambda place: place.scenario.happened(rf"^{place.vantage}: view "),
        "the lab set this view inside the member",
        "truth.json, timeline",
    ),
    Unknown(
        "blocked",
        "sender",
        _full_at_most_once,
        "capacity not given, and the window full at most once",
        "jgroups.md 6, window-full block",
    ),
    Unknown(
        "expected",
        "scenario",
        lambda place: True,
        "no one capture shows it",
        "jgroups.md 6: the loss of a last message, and ACKs that were delayed alike",
    ),
)


def reason(figure: str, vantage: str, place: Place) -> str | None:
    """Why a figure may be unknown there; null where it may not."""
    for entry in UNKNOWN:
        if entry.figure == figure and entry.vantage == vantage and entry.condition(place):
            return entry.reason
    return None
