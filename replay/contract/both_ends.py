"""Captures at both ends of a stream: what all systems that compare them share.

Each capture writes into its system's ends while a conversation is replayed, and these meet when it
is over. What only the whole of the captures tells, when they began and ended and what they lack,
is settled for the report.
"""

from collections.abc import Iterator, Sequence

from seqaudit.replay.contract.engine import (
    CaptureEnds,
    Compared,
    Comparison,
    Extent,
    Opening,
    Replayed,
)
from seqaudit.replay.contract.report_rows import BothEndsFigures
from seqaudit.replay.contract.results import BOTH_ENDS, FINDING, EndsDetail, Result
from seqaudit.replay.contract.settings import MEMBER


def two_ends(told: Opening) -> bool:
    """Whether a capture is at one of several members, so that another may hold the other end."""
    return told.at_members > 1 and told.vantage.kind == MEMBER


def results(conversation: str, captures: Sequence[CaptureEnds]) -> Iterator[Result]:
    """A row for every stream with a capture at its sender and one at a receiver, what is proven of
    it, and where that was judged; in the same order whatever the order of the captures."""
    from seqaudit.replay.contract.passage_rows import judged_at

    ordered = sorted(captures, key=lambda ends: ends.capture)
    judged: set[int] = set()
    for here in ordered:
        for stream in here.sent():
            for there in ordered:
                met = None if there is here else here.met(stream, there)
                if met is None:
                    continue
                judged |= {here.capture, there.capture}
                yield Result(
                    here.capture, BOTH_ENDS, conversation, met.system, met.row, stream, *met.first
                )
                if found := met.finding:
                    yield Result(
                        here.capture, FINDING, conversation, met.system, found.detail(), stream,
                        found.frame, found.at_ns, found.rule,
                    )  # fmt: skip
    for ends in ordered:
        yield from judged_at(ends.capture, judged, conversation, *ends.judges())


class BothEnds(Comparison):
    """Streams of which the captures at their sender and at their receiver are given.

    Attributes:
        may_leave: that a capture at a receiver goes on shows in the stream alone, as the receiver
            may have left its group.
    """

    may_leave: bool = False

    def judge(self, replayed: Replayed) -> Compared:
        rows = list(replayed.rows(BOTH_ENDS))
        if not rows:
            return Compared()
        from seqaudit.replay.contract.passage_rows import holes_in, of_path

        spans = [self.spans(row["detail"], replayed) for row in rows]
        found = [
            detail
            for row, own in zip(rows, spans, strict=True)
            for detail in of_path(row, own, replayed.unread)
        ]
        return Compared(found, holes=holes_in(rows, spans))

    def both_ends(self, row: EndsDetail, replayed: Replayed) -> BothEndsFigures:
        from seqaudit.replay.contract.passage_rows import settled_path

        count, why = self.copies_sent(row, replayed)
        return {
            "sender": row["sender"],
            "sender_capture": row["sender_capture"],
            "receiver": row["receiver"],
            "receiver_capture": row["receiver_capture"],
            "conn_id": row["conn_id"],
            "copies_sent": row["copies_sent"],
            "after_seqnos": row["after_seqnos"],
            "examples": row["examples"],
            "clock_offset_ns": row["clock_offset_ns"],
            "datagrams_matched": row["datagrams_matched"],
            "path": settled_path(row, self.spans(row, replayed), replayed.holes),
            "copies_sent_after_arrival": count,
            "copies_sent_after_arrival_at_least": row["after"],
            "unknown": {} if why is None else {"copies_sent_after_arrival": why},
        }

    def spans(self, row: EndsDetail, replayed: Replayed) -> Sequence[Extent]:
        """First and last time of each capture, as far as a row's stream tells."""
        if not self.may_leave:
            return replayed.extents
        spans = list(replayed.extents)
        spans[row["receiver_capture"]] = None, None
        return spans

    def copies_sent(self, row: EndsDetail, replayed: Replayed) -> tuple[int | None, str | None]:
        """How many were sent after their message had arrived; null, and why nobody can tell."""
        return None, row["why"]
