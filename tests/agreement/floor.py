"""How much of whole recordings is proven at least, and what never is (CONTRIBUTING.md 4).

What is proven of whole captures is not to become less unnoticed, nor what no capture shows to be
called proven. A finding counts with its seqnos, so that one that speaks of fewer is noticed too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def proven(findings: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[str, Counter[str]]:
    """Samples of proven findings, by rule and recording.

    Args:
        findings: scenario, file, finding.
    """
    found: dict[str, Counter[str]] = {}
    for scenario, file, finding in findings:
        if finding["certainty"] == "proven":
            samples = sum(last - first + 1 for first, last in finding["seqnos"])
            own = found.setdefault(finding["rule"], Counter())
            own[f"{scenario}/{file}"] += samples or 1
    return found


def weaker(
    found: Mapping[str, Counter[str]], at_least: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Recordings of which less is proven than was.

    Args:
        at_least: rule -> recording -> samples.
    """
    for rule, recordings in at_least.items():
        for recording, least in recordings.items():
            now = found.get(rule, Counter())[recording]
            if now < least:
                yield f"{rule} {recording}: {now} proven, {least} before"


def surer(
    findings: Iterable[tuple[str, str, Mapping[str, Any]]], never: Mapping[str, str]
) -> Iterator[str]:
    """Findings that are called proven and cannot be.

    Args:
        never: rule -> why.
    """
    for scenario, file, finding in findings:
        if finding["certainty"] == "proven" and (why := never.get(finding["rule"])):
            yield f"{finding['rule']} {scenario}/{file} proven, although {why}"
