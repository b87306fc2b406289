"""What the sessions of a feed say together, for the report."""

from seqaudit.replay.contract.engine import Compared, Comparison, Detail, Replayed
from seqaudit.replay.feeds import sessions


class FeedComparison(Comparison):
    """Streams of feeds that have an end of session."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, str, Detail]] = []

    def note(self, capture: int, stream: str, row: Detail) -> None:
        if sessions.wanted(row):
            self._seen.append((capture, stream, sessions.kept(row)))

    def judge(self, replayed: Replayed) -> Compared:
        return Compared(sessions.judge(self._seen))
