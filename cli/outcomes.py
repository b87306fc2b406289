"""What machine formats ask of a report: what counts as failing, and which captures say nothing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Report = Mapping[str, Any]

#: Severities from bad to harmless; ``--fail-on never`` is below all.
SEVERITIES: Final = ("error", "warning", "info")
NEVER: Final = "never"


def failing(fail_on: str) -> tuple[str, ...]:
    """The severities that make an audit fail."""
    return () if fail_on == NEVER else SEVERITIES[: SEVERITIES.index(fail_on) + 1]


def unjudged(report: Report) -> Iterator[tuple[str, str]]:
    """(path, one sentence) of every capture that could not be judged."""
    for entry in report["unreadable"]:
        yield entry["path"], entry["problem"]
    for capture in report["captures"]:
        path = capture["path"]
        if capture["frames"] == 0:
            yield path, f"{path}: has no frames; nothing to judge"
        elif not capture["frames_by"]["decoded"]:
            yield (
                path,
                f"{path}: nothing in {capture['frames']} frames is of a known system;"
                " seqaudit info shows what is in it, --decode-as names a port's system, seqaudit"
                " infer looks for sequence numbers",
            )


def findings_of(report: Report, capture: int) -> list[Mapping[str, Any]]:
    """The findings in one capture, in the report's order."""
    return [finding for finding in report["findings"] if finding["capture"] == capture]


def reasons(rule: Mapping[str, Any], capture: int) -> Sequence[str]:
    """Why a rule was not judged in some or all of a capture, each reason once."""
    own = [entry for entry in rule["not_judged"] if entry["capture"] == capture]
    return list(dict.fromkeys(entry["why"] or "no reason known" for entry in own))
