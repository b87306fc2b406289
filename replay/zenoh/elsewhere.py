"""What is said of samples that a stream seems to lack, where another stream shows that its
subscriber may have had them, or did not want them."""

from typing import Final

from seqaudit.replay.contract.finding import Certainty, PlacedFinding, Severity
from seqaudit.replay.contract.results import Row
from seqaudit.replay.sequence.ranges import RangeSet, half_open, total
from seqaudit.replay.zenoh.reasons import FIGURES

Place = tuple[int, str]  # capture, stream

#: What is null then.
UNTOLD: Final = (*FIGURES, "not_captured", "not_captured_seqnos")
#: Rules about what a subscriber missed, or had.
RULES: Final = frozenset({"ZN002", "CP007"})


def untold(row: Row, sns: RangeSet, why: str) -> Row | None:
    """Figures that are null if the samples that seem to be missed, or had, are among these sns."""
    of = (*(row["lost_seqnos"] or ()), *(row.get("not_captured_seqnos") or ()))
    if not half_open(of) & sns:
        return None
    return dict.fromkeys(UNTOLD) | {"unknown": row["unknown"] | dict.fromkeys(UNTOLD, why)}


def undecidable(finding: PlacedFinding, sns: RangeSet, fact: str, but: str) -> PlacedFinding:
    """A finding of ``RULES``; it cannot be told where its sns are among these.

    Args:
        fact: what the sentence ``but`` calls the number of these.
    """
    count = total(half_open(finding["seqnos"]) & sns) if finding["rule"] in RULES else 0
    if not count:
        return finding
    return finding | {
        "certainty": Certainty.UNDECIDABLE,
        "severity": Severity.INFO,
        "text": f"{finding['text']} {but}",
        "facts": finding["facts"] | {fact: count},
    }
