"""What the truth of a recording says against a proven finding, rule by rule.

A predicate gives a reason for which the finding is not so, an empty text where the truth says the
same, or null where it cannot tell; then only the whole capture's report is left to compare with.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.degraded.claims import PROVEN, Finding
from tests.degraded.subjects import JGROUPS, RAIMS, ZENOH, Recording
from tests.degraded.truths import jgroups, raims, zenoh

Predicate = Callable[[Recording, str | None, Finding], str | None]

_PREDICATES: Final[Mapping[str, Mapping[str, Predicate]]] = {
    JGROUPS: jgroups.PREDICATES,
    RAIMS: raims.PREDICATES,
    ZENOH: zenoh.PREDICATES,
}


def refuted(recording: Recording, file: str | None, found: Finding) -> str | None:
    """Why the truth refutes a proven finding; empty if it confirms it, null if it cannot tell.

    Args:
        file: the capture it is of; null where several vantages are merged.
    """
    if found.certainty != PROVEN:
        return None
    predicate = _PREDICATES[recording.system].get(found.rule)
    return None if predicate is None else predicate(recording, file, found)


def speaks_of(recording: Recording, found: Finding) -> bool:
    """Whether the truth says anything of findings of this rule."""
    return found.rule in _PREDICATES[recording.system]


def refuted_figures(
    recording: Recording, report: Mapping[str, Any]
) -> Iterator[tuple[str, str, str | None]]:
    """(figure, stream, why it is not so) of what the truth can be compared with; null: it is so."""
    if recording.system == ZENOH:
        yield from zenoh.refuted_figures(recording, report)
