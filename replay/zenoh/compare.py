"""What several sessions, legs and captures of zenoh say together, for the report.

What it is made with is imported when there is zenoh: this is known for every capture.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from seqaudit.replay.contract.both_ends import BothEnds, two_ends
from seqaudit.replay.contract.engine import Compared, Detail, Extent, Opening, Replayed, Rows
from seqaudit.replay.contract.finding import PlacedFinding
from seqaudit.replay.contract.results import QUERY, GapDetail
from seqaudit.replay.contract.worth import Worth

if TYPE_CHECKING:
    from seqaudit.replay.sequence.ranges import RangeSet
    from seqaudit.replay.zenoh.both_ends_findings import ZenohEnds
    from seqaudit.replay.zenoh.causes import Why
    from seqaudit.replay.zenoh.legs import Judged


def ends_of(told: Opening) -> "ZenohEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    address = told.vantage.address
    if not two_ends(told) or address is None:
        return None
    from seqaudit.replay.zenoh.both_ends_findings import ZenohEnds

    return ZenohEnds(told.capture, told.conversation, address)


class ZenohComparison(BothEnds):
    """Samples on all legs; what is said of one session may rest on others."""

    reads_first = True

    def __init__(self) -> None:
        self._seen: list[tuple[int, str, Detail]] = []
        self._shown: Mapping[tuple[int, str], list[Why]] = {}
        self._used: Mapping[tuple[int, str], int] = {}
        self._beside: Mapping[tuple[int, str], RangeSet] = {}
        self._found: tuple[list[PlacedFinding], Judged] | None = None

    def note(self, capture: int, stream: str, row: Detail) -> None:
        from seqaudit.replay.zenoh import legs

        if row.get("kind") in legs.COMPARED:
            self._seen.append((capture, stream, row))

    def figures(
        self, rows: Rows, worth: Mapping[int, Worth], extents: Sequence[Extent]
    ) -> Mapping[tuple[int, str], Detail]:
        if not self._seen:
            return {}
        from seqaudit.replay.zenoh import again, beside, far_end, floods, legs, sessions

        found = sessions.across_sessions(self._seen, extents)
        far = far_end.FarEnds(self._seen, lambda: rows(QUERY), far_end.doubted(worth))
        self._shown = far.shown
        for capture, stream, row in self._seen:
            place = capture, stream
            restated = row | found.get(place, {})
            if restated.get("misses") and (place in far.shown or capture in far.doubted):
                found[place] = found.get(place, {}) | far.figures(capture, restated)
        self._found = legs.judge(self._seen, extents, worth)
        self._used = again.used_before(self._seen)
        self._beside = beside.brought(self._seen)
        told = {
            (capture, stream): row | found.get((capture, stream), {})
            for capture, stream, row in self._seen
        }
        for place, untold in chain(
            legs.lost_beyond(self._found[0], told),
            legs.lost_in(told, worth),
            floods.at_others(told),
            again.figures(self._used, told),
            beside.figures(self._beside, told),
        ):
            found[place] = found.get(place, {}) | untold
        return found

    def restated(self, finding: PlacedFinding) -> PlacedFinding:
        from seqaudit.replay.zenoh import again, beside

        place = finding["capture"], finding["stream"] or ""
        if (last := self._used.get(place)) is not None:
            finding = again.restated(finding, last)
        if (came := self._beside.get(place)) is not None:
            finding = beside.restated(finding, came)
        known = self._shown.get(place)
        if known is None:
            return finding
        from seqaudit.replay.zenoh import far_end

        return far_end.restated_finding(finding, known)

    def restated_gap(self, gap: GapDetail) -> GapDetail:
        from seqaudit.replay.zenoh import again

        last = self._used.get((gap["capture"], gap["stream"] or ""))
        if last is not None:
            gap = again.restated_gap(gap, last)
        known = self._shown.get((gap["capture"], gap["stream"] or ""))
        if known is None:
            return gap
        from seqaudit.replay.zenoh import far_end

        return far_end.restated_gap(gap, known)

    def judge(self, replayed: Replayed) -> Compared:
        both = super().judge(replayed)
        if self._found is None:
            return both
        findings, together = self._found
        return Compared([*findings, *both.findings], together=together, holes=both.holes)
