"""What passed for one subscriber and source while nothing was missing (zenoh.md 9.4, ZN011)."""

from collections.abc import Iterable

from seqaudit.replay.zenoh.query import Query, Sort


class QuietTraffic:
    """Of one subscriber.

    Attributes:
        samples: live ones that came in order.
    """

    def __init__(self) -> None:
        self.samples = 0
        self._heartbeats = 0  # that told nothing new
        self._beat: int | None = None  # what the last of these said

    def heartbeat(self, told: int, *, quiet: bool) -> None:
        """One came; ``quiet``: it told nothing new, and nothing was missing."""
        self._heartbeats += quiet
        self._beat = told if quiet else None

    def asked(self, query: Query) -> None:
        """At the publisher's end a heartbeat that was asked for did tell something new."""
        if query.sort is Sort.HEARTBEAT and query.last is not None and query.last == self._beat:
            self._heartbeats -= 1
            self._beat = None

    def control(self, queries: Iterable[Query]) -> tuple[int, int]:
        """Control messages and live samples that passed."""
        messages = sum(1 + query.replies + query.final for query in queries if query.idle)
        return messages + self._heartbeats, self.samples
