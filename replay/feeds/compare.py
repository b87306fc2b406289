"""What the sessions of a feed say together, and captures at both ends of its streams."""

from typing import TYPE_CHECKING

from seqaudit.replay.contract.both_ends import BothEnds, two_ends
from seqaudit.replay.contract.engine import Compared, Detail, Opening, Replayed
from seqaudit.replay.feeds import sessions

if TYPE_CHECKING:
    from seqaudit.replay.feeds.both_ends import FeedEnds


def ends_of(told: Opening) -> "FeedEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    from seqaudit.replay.feeds.both_ends import FeedEnds

    return FeedEnds(told.capture, told.vantage.address) if two_ends(told) else None


class FeedComparison(BothEnds):
    """Streams of feeds that have an end of session, and those with captures at both ends."""

    may_leave = True

    def __init__(self) -> None:
        self._seen: list[sessions.FeedSession] = []

    def note(self, capture: int, stream: str, row: Detail) -> None:
        one = sessions.session_of(capture, stream, row)
        if one is not None:
            self._seen.append(one)

    def judge(self, replayed: Replayed) -> Compared:
        met = super().judge(replayed)
        return met._replace(findings=[*sessions.judge(self._seen), *met.findings])
