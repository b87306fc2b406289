"""What several captures of raims say together, for the report.

What it is made with is imported when there is raims: this is known for every capture.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from seqaudit.replay.contract.engine import Compared, Comparison, Detail, Replayed
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import TABLE, GapDetail

if TYPE_CHECKING:
    from seqaudit.replay.raims.bounds import Settled


class RaimsComparison(Comparison):
    """Losses bounded by other captures, and what applications were told of them."""

    changes = True

    def __init__(self) -> None:
        self._settled: Settled = {}

    def settle(self, streams: Sequence[Detail], tables: Mapping[str, Sequence[Detail]]) -> None:
        from seqaudit.replay.raims import bounds

        own = [stream for stream in streams if stream["system"] == "raims"]
        bounds.tighten(own, tables)
        self._settled = bounds.settled(own)

    def print_numbers(
        self, streams: Sequence[Detail], tables: Mapping[str, Sequence[Detail]]
    ) -> None:
        from seqaudit.replay.raims import seqno_text

        seqno_text.print_seqnos(streams, tables)

    def restated(self, finding: PlacedFinding) -> PlacedFinding:
        if not self._settled:
            return finding
        from seqaudit.replay.raims import bounds

        return bounds.restated(finding, self._settled)

    def restated_gap(self, gap: GapDetail) -> GapDetail:
        if "loss" not in gap:
            return gap
        from seqaudit.replay.raims import bounds

        return bounds.restated_gap(gap, self._settled)

    def judge(self, replayed: Replayed) -> Compared:
        tables = ((row["capture"], dict(row["detail"])) for row in replayed.rows(TABLE))
        first = next(tables, None)
        if first is None:
            return Compared()
        from seqaudit.replay.raims import rv_told

        return Compared(*rv_told.judge(chain([first], tables)))
