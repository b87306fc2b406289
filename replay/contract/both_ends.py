"""Captures at both ends of a stream: what all systems that compare them share.

Each capture writes into its system's ends while a conversation is replayed, and these meet when it
is over. What only the whole of the captures tells, when they began and ended and what they lack,
is settled for the report.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, TypeVar

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

#: What one capture of a conversation holds, as its system has it.
Ends = TypeVar("Ends")

#: What of a row is settled here, and not shown.
_SETTLED: Final = ("undecided", "late", "late_ns", "begin_ns", "why", "after")


class EndsMeeting(Generic[Ends]):
    """The captures of one conversation that were taken at an end of it.

    Args:
        add: takes what a capture holds.
        results: what all of them say together.
    """

    def __init__(
        self, add: Callable[[Ends], None], results: Callable[[], Iterable[Result]]
    ) -> None:
        self._add = add
        self._results = results
        self._any = False

    def add(self, ends: Ends) -> None:
        """One capture is over."""
        self._any = True
        self._add(ends)

    def results(self) -> Iterable[Result]:
        return self._results() if self._any else ()


def two_ends(told: Opening) -> bool:
    """Whether a capture is at one of several members, so that another may hold the other end."""
    return told.at_members > 1 and told.vantage.kind == MEMBER


def met(
    told: Opening, ends: Callable[[], object], results: Callable[[int], Iterable[Result]]
) -> Callable[[int], Iterable[Result]]:
    """Results of an engine, whose ends join the others of the conversation when it is over.

    Args:
        ends: null where there is nothing to compare.
    """

    def over(end_ns: int) -> Iterable[Result]:
        own = ends()
        if own is not None:
            assert isinstance(told.meeting, EndsMeeting), "as the description says"
            told.meeting.add(own)
        return results(end_ns)

    return over


class BothEnds(Comparison):
    """Streams of which the captures at their sender and at their receiver are given.

    Attributes:
        may_leave: that a capture at a receiver goes on shows in the stream alone, as the receiver
            may have left its group.
    """

    may_leave: bool = False

    def judge(self, replayed: Replayed) -> Compared:
        rows = [
            row["detail"] | {key: row[key] for key in ("capture", "system", "stream")}
            for row in replayed.rows(BOTH_ENDS)
        ]
        if not rows:
            return Compared()
        from seqaudit.replay.contract.passage_rows import holes_in, of_path

        spans = [self.spans(row, replayed) for row in rows]
        found = [
            detail
            for row, own in zip(rows, spans, strict=True)
            for detail in of_path(row, own, replayed.unread)
        ]
        return Compared(found, holes=holes_in(rows, spans))

    def both_ends(self, row: Detail, replayed: Replayed) -> Detail:
        from seqaudit.replay.contract.passage_rows import settled_path

        count, why = self.copies_sent(row, replayed)
        return {key: value for key, value in row.items() if key not in _SETTLED} | {
            "path": settled_path(row, self.spans(row, replayed), replayed.holes),
            "copies_sent_after_arrival": count,
            "copies_sent_after_arrival_at_least": row["after"],
            "unknown": {} if why is None else {"copies_sent_after_arrival": why},
        }

    def spans(self, row: Detail, replayed: Replayed) -> Sequence[Extent]:
        """First and last time of each capture, as far as a row's stream tells."""
        if not self.may_leave:
            return replayed.extents
        spans = list(replayed.extents)
        spans[row["receiver_capture"]] = None, None
        return spans

    def copies_sent(self, row: Detail, replayed: Replayed) -> tuple[int | None, str | None]:
        """How many were sent after their message had arrived; null, and why nobody can tell."""
        return None, row["why"]
