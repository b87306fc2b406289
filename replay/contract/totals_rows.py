"""The totals of a report: sums over all captures."""

from typing import Annotated, TypedDict

from seqaudit.replay.contract.capture_rows import FramesBy


class SeverityCounts(TypedDict):
    """Findings by severity."""

    error: int
    warning: int
    info: int


class CountTotals(TypedDict):
    """How many of what all captures hold."""

    captures: int
    unreadable: int
    frames: int
    frames_by: FramesBy
    streams: int
    gaps: Annotated[int, "rows of gaps"]
    findings: SeverityCounts


class LossTotals(TypedDict):
    """What became of messages; null where a part is."""

    messages: int | None
    lost: Annotated[
        int | None,
        "exact where lost_upper and lost_proven are the same; less than lost_upper: at "
        "least; more than lost_proven: at most",
    ]
    lost_upper: Annotated[int | None, "at most; null where lost is, or nothing bounds it"]
    lost_proven: Annotated[
        int | None, "of lost, without what was lost, or not captured (zenoh); null where lost is"
    ]
    recovered: int | None
    unrecovered: Annotated[int | None, "at least, as lost: lost less recovered"]


class TotalsRow(CountTotals, LossTotals):
    """Sums over all captures; null where a part is."""
