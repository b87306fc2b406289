"""What several sessions, legs and captures of zenoh say together, for the report."""

from collections.abc import Mapping

from seqaudit.replay.contract.both_ends import BothEnds
from seqaudit.replay.contract.engine import Compared, Detail, Replayed, Rows
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import QUERY
from seqaudit.replay.zenoh import far_end, legs
from seqaudit.replay.zenoh.causes import Why


class ZenohComparison(BothEnds):
    """Samples on all legs; what is said of one session may rest on others."""

    reads_first = True

    def __init__(self) -> None:
        self._seen: list[tuple[int, str, Detail]] = []
        self._shown: Mapping[tuple[int, str], list[Why]] = {}

    def note(self, capture: int, stream: str, row: Detail) -> None:
        if row.get("kind") in legs.COMPARED:
            self._seen.append((capture, stream, row))

    def figures(self, rows: Rows) -> Mapping[tuple[int, str], Detail]:
        found = legs.across_sessions(self._seen)
        far = far_end.FarEnds(self._seen, lambda: rows(QUERY))
        self._shown = far.shown
        for capture, stream, row in self._seen:
            place = capture, stream
            if place in far.shown:
                own = found.get(place, {})
                found[place] = own | far.figures(capture, row | own)
        return found

    def restated(self, finding: PlacedFinding) -> PlacedFinding:
        known = self._shown.get((finding["capture"], finding["stream"] or ""))
        return finding if known is None else far_end.restated_finding(finding, known)

    def restated_gap(self, gap: Detail) -> Detail:
        known = self._shown.get((gap["capture"], gap["stream"]))
        return gap if known is None else far_end.restated_gap(gap, known)

    def judge(self, replayed: Replayed) -> Compared:
        findings, together = legs.judge(self._seen, replayed.extents)
        both = super().judge(replayed)
        return Compared([*findings, *both.findings], together=together, holes=both.holes)
