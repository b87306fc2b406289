"""What captures at the sender and at receivers of a TSI say together.

``EndsMeeting`` gathers them while a conversation is replayed; what only the whole of the captures
tells, when they ended and what they lack, is settled for the report.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from seqaudit.replay.contract.engine import (
    Compared,
    Comparison,
    Detail,
    Extent,
    Opening,
    Replayed,
)
from seqaudit.replay.contract.results import BOTH_ENDS, Result
from seqaudit.replay.contract.settings import MEMBER

if TYPE_CHECKING:
    from seqaudit.replay.pgm.both_ends import Ends


class EndsMeeting:
    """The captures of one TSI that were taken at a host of its own."""

    def __init__(self, conversation: str) -> None:
        from seqaudit.replay.pgm.both_ends import Meeting

        self._met = Meeting(conversation)

    def add(self, ends: "Ends") -> None:
        """One capture is over."""
        self._met.add(ends)

    def results(self) -> Iterable[Result]:
        from seqaudit.replay.pgm import both_ends_findings

        return both_ends_findings.results(self._met) if self._met.captures else ()


def ends_of(told: Opening) -> "Ends | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    from seqaudit.replay.pgm.both_ends import Ends

    if told.at_members < 2 or told.vantage.kind != MEMBER:
        return None
    return Ends(told.capture, told.vantage.address)


class BothEnds(Comparison):
    """TSIs of which the captures at their sender and at a receiver are given."""

    def judge(self, replayed: Replayed) -> Compared:
        from seqaudit.replay.contract.passage_rows import holes_in, of_path

        rows = list(replayed.rows(BOTH_ENDS))
        found = [
            detail
            for row in rows
            for detail in of_path(
                row["detail"] | {key: row[key] for key in ("capture", "system", "stream")},
                _extents(row["detail"], replayed),
            )
        ]
        holes: dict[int, str] = {}
        for row in rows:
            holes |= holes_in([row["detail"]], _extents(row["detail"], replayed))
        return Compared(found, holes=holes)

    def both_ends(self, row: Detail, replayed: Replayed) -> Detail:
        from seqaudit.replay.contract.passage_rows import settled_path

        return row | {"path": settled_path(row, _extents(row, replayed), replayed.holes)}


def _extents(row: Detail, replayed: Replayed) -> Sequence[Extent]:
    """Those of all captures; that a capture at a receiver goes on shows in the packets of the TSI
    alone, as the receiver may have left the group."""
    extents = list(replayed.extents)
    extents[row["receiver_capture"]] = None, None
    return extents
