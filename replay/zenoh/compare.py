"""What several sessions, legs and captures of zenoh say together, for the report."""

from collections.abc import Mapping

from seqaudit.replay.contract.both_ends import BothEnds
from seqaudit.replay.contract.engine import Compared, Detail, Replayed
from seqaudit.replay.zenoh import legs


class ZenohComparison(BothEnds):
    """Samples on all legs; what is said of one session may rest on others."""

    reads_first = True

    def __init__(self) -> None:
        self._seen: list[tuple[int, str, Detail]] = []

    def note(self, capture: int, stream: str, row: Detail) -> None:
        if row.get("kind") in legs.COMPARED:
            self._seen.append((capture, stream, row))

    def figures(self) -> Mapping[tuple[int, str], Detail]:
        return legs.across_sessions(self._seen)

    def judge(self, replayed: Replayed) -> Compared:
        findings, together = legs.judge(self._seen, replayed.extents)
        both = super().judge(replayed)
        return Compared([*findings, *both.findings], together=together, holes=both.holes)
