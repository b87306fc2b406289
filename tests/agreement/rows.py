"""One comparison: a figure of one capture as we report it, beside what is true."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.agreement.report import ABSENT, CaptureReport
from tests.agreement.truth import Scenario
from tests.agreement.unknown import Place, reason


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. ``verdict`` is equal, different or unknown; an unknown has its reason."""

    scenario: str
    capture: str
    figure: str
    ours: object
    truth: object
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Hints:
    """What the user says beside the captures, and how much is compared."""

    places: bool = True  # --at
    parameters: bool = True  # of raims: param.yaml
    more: bool = False  # figures as well that no test asserts yet


EVERYTHING: Final = Hints()


@dataclass(frozen=True, slots=True)
class Audited:
    """A scenario with the part of the report that is about its captures."""

    scenario: Scenario
    reports: dict[str, CaptureReport]  # vantage -> its part
    configured: bool  # the members' stack files were given
    more: bool = False  # what no test asserts yet is compared as well


def row(
    audited: Audited,
    vantage: str,
    figure: str,
    ours: object,
    truth: object,
    *,
    entry: tuple[str, str] = ("", ""),
    sender: str = "",
    equal: Callable[[Any, Any], bool] = lambda ours, truth: bool(ours == truth),
) -> Row:
    """One row; ``entry`` is (figure, vantage) as the table of unknowns has them."""
    place = Place(audited.scenario, vantage, sender, audited.configured, audited.more)
    why = reason(*entry, place) if ours is None and truth is not None else None
    if why is not None:
        verdict = "unknown"
    elif ours is ABSENT or (ours is None) != (truth is None):
        verdict = "different"
    else:
        verdict = "equal" if ours is None or equal(ours, truth) else "different"
    return Row(audited.scenario.name, vantage, figure, ours, truth, verdict, why or "")
