"""What the captures at both ends of a stream say together, of UNICAST and MCAST alike.

``EndsMeeting`` gathers them while a conversation is replayed; what only the whole of the captures
tells, when they began and what they lack, is settled for the report.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from seqaudit.replay.contract.engine import Compared, Comparison, Detail, Opening, Replayed
from seqaudit.replay.contract.results import BOTH_ENDS, Result
from seqaudit.replay.contract.settings import MEMBER

if TYPE_CHECKING:
    from seqaudit.replay.jgroups.both_ends import Ends

#: What of a row is settled here, and not shown.
_SETTLED: Final = ("undecided", "late", "late_ns", "begin_ns", "why", "after")


class EndsMeeting:
    """The captures of one conversation that were taken at its members' interfaces."""

    def __init__(self, conversation: str) -> None:
        from seqaudit.replay.jgroups.both_ends import Meeting

        self._met = Meeting(conversation)

    def add(self, ends: "Ends") -> None:
        """One capture is over."""
        self._met.add(ends)

    def results(self) -> Iterable[Result]:
        from seqaudit.replay.jgroups import both_ends_findings

        return both_ends_findings.results(self._met) if self._met.captures else ()


def ends_of(told: Opening) -> "Ends | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    from seqaudit.replay.jgroups.both_ends import Ends

    return Ends(told.capture) if told.at_members > 1 and told.vantage.kind == MEMBER else None


def met(
    told: Opening, ends: "Ends | None", results: Callable[[int], Iterable[Result]]
) -> Callable[[int], Iterable[Result]]:
    """Results of an engine, whose ends join the others of the conversation when it is over."""

    def over(end_ns: int) -> Iterable[Result]:
        if ends is not None:
            assert isinstance(told.meeting, EndsMeeting), "as the description says"
            told.meeting.add(ends)
        return results(end_ns)

    return over


class BothEnds(Comparison):
    """Streams of which the captures at their sender and at their receiver are given."""

    def judge(self, replayed: Replayed) -> Compared:
        first = next(replayed.rows(BOTH_ENDS), None)
        if first is None:
            return Compared()
        from seqaudit.replay.contract import passage_rows

        found = [
            detail
            for row in replayed.rows(BOTH_ENDS)
            for detail in passage_rows.of_path(
                row["detail"] | {key: row[key] for key in ("capture", "system", "stream")},
                replayed.extents,
            )
        ]
        details = (row["detail"] for row in replayed.rows(BOTH_ENDS))
        return Compared(found, holes=passage_rows.holes_in(details, replayed.extents))

    def both_ends(self, row: Detail, replayed: Replayed) -> Detail:
        from seqaudit.replay.contract.passage_rows import settled_path
        from seqaudit.replay.jgroups.both_ends_findings import settled

        count, why = settled(row, *replayed.extents[row["receiver_capture"]])
        return {key: value for key, value in row.items() if key not in _SETTLED} | {
            "path": settled_path(row, replayed.extents, replayed.holes),
            "copies_sent_after_arrival": count,
            "copies_sent_after_arrival_at_least": row["after"],
            "unknown": {} if why is None else {"copies_sent_after_arrival": why},
        }
