"""What a report says otherwise than that of the whole capture where it should be the same.

Without a vantage, figures are the same or null (replay/README.md 4); files that were written in
turns are one capture, in whatever order they are given.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

#: Figures that say what was lost and what came of it.
FIGURES: Final = (
    "delivered", "lost", "lost_seqnos", "not_captured", "recovered", "unrecovered",
    "unrecovered_seqnos",
)  # fmt: skip
TOTALS: Final = ("lost", "recovered", "unrecovered")


def differences(
    whole: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """(figure, what it is of, both values) where a figure is there and is another."""
    known = {row["id"]: row for row in whole.get("streams", ())}
    for row in other.get("streams", ()):
        of = known.get(row["id"], {})
        for name in FIGURES:
            if row.get(name) is not None and name in of and row[name] != of[name]:
                yield name, row["id"], f"{row[name]}, with --at {of[name]}"
    totals, given = other.get("totals", {}), whole.get("totals", {})
    for name in TOTALS:
        if totals.get(name) is not None and totals[name] != given.get(name):
            yield name, "totals", f"{totals[name]}, with --at {given.get(name)}"


def other_findings(whole: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(rule, which and how it differs) of findings that only one of two reports has."""
    here, there = _said(whole), _said(other)
    for only, what in ((here - there, "only in one file"), (there - here, "only in several")):
        for rule, certainty, stream, seqnos, text in sorted(only):
            yield rule, f"{what}: {certainty}, {stream or 'no stream'}, {seqnos}: {text}"


def _said(report: Mapping[str, Any]) -> set[tuple[str, str, str, str, str]]:
    return {
        (f["rule"], f["certainty"], f["stream"] or "", str(f["seqnos"]), f["text"])
        for f in report.get("findings", ())
    }
