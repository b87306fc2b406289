"""Live samples that come before an initial history without a limit is there (zenoh.md 9.4, S4)."""

from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.query import Query, Sort


class AheadOfHistory:
    """Since zenoh 1.10 they wait for it. Before that they are handed on as they come, and what the
    history brings of before them is dropped; no frame says which release a subscriber is of, but
    who waits asks for all from the beginning on, if it recovers.

    Recorded with 1.5.1, 1.6.2, 1.7.2, 1.9.0 and 1.10.2.

    Attributes:
        matters: what was handed on depends on the release, as far as samples came.
    """

    __slots__ = ("_stop", "_waits", "matters")

    def __init__(self) -> None:
        self._stop = 0  # one past the highest of them
        self._waits = False
        self.matters = False

    def asks(self, query: Query, *, history: bool) -> None:
        """Its subscriber asks, perhaps for what those lack that wait; ``history``: that is open."""
        self._waits |= history and query.sort is Sort.RECOVERY and query.first is None

    def came(self, first: int, stop: int, before: RangeSet, *, live: bool) -> None:
        """Samples [first, stop) came live, or by the history, behind others."""
        if live:
            self._stop = max(self._stop, stop)
        elif first < self._stop and before.missing(first, min(stop, self._stop)):
            self.matters = True

    def ended(self, *, waits_on: bool) -> None:
        """The history is there; ``waits_on``: what it brought waits for another query."""
        self.matters |= waits_on

    def untold(self, *, history: bool) -> bool:
        """Whether nobody knows what was handed on; ``history``: its query is open to the end."""
        return not self._waits and (self.matters or (history and self._stop > 0))
