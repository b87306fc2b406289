"""What several captures of raims say together, for the report."""

from collections.abc import Mapping, Sequence
from itertools import chain

from seqaudit.replay.contract.engine import Compared, Comparison, Detail, Replayed
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import TABLE
from seqaudit.replay.raims import bounds, seqno_text


class RaimsComparison(Comparison):
    """Losses bounded by other captures, and what applications were told of them."""

    changes = True

    def __init__(self) -> None:
        self._settled: bounds.Settled = {}

    def settle(self, streams: Sequence[Detail], tables: Mapping[str, Sequence[Detail]]) -> None:
        own = [stream for stream in streams if stream["system"] == "raims"]
        bounds.tighten(own, tables)
        self._settled = bounds.settled(own)

    def print_numbers(
        self, streams: Sequence[Detail], tables: Mapping[str, Sequence[Detail]]
    ) -> None:
        seqno_text.print_seqnos(streams, tables)

    def restated(self, finding: PlacedFinding) -> PlacedFinding:
        return bounds.restated(finding, self._settled)

    def restated_gap(self, gap: Detail) -> Detail:
        return bounds.restated_gap(gap, self._settled) if "loss" in gap else gap

    def judge(self, replayed: Replayed) -> Compared:
        tables = ((row["capture"], dict(row["detail"])) for row in replayed.rows(TABLE))
        first = next(tables, None)
        if first is None:
            return Compared()
        from seqaudit.replay.raims import rv_told  # long to import

        return Compared(*rv_told.judge(chain([first], tables)))
