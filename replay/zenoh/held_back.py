"""Live samples that wait behind a gap (head of line): how many, and since when."""

from dataclasses import dataclass
from typing import Final

from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet

MAX_WAITS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Wait:
    """Live samples of [first, stop) that waited behind a gap (head of line).

    Attributes:
        count: how many of them.
        held: since the first of them came.
    """

    first: int
    stop: int
    count: int
    held: Mark
    released: Mark


class HeldBack:
    """Of one subscriber and source.

    Attributes:
        waits: those that are over.
        since: when the first sample came that waits now; null: none does.
    """

    def __init__(self, since: Mark | None = None) -> None:
        self.waits: list[Wait] = []
        self.since = since
        self._samples = RangeSet()  # live ones

    @property
    def most(self) -> int:
        """That waited at a time; none where nobody asked: all goes on with the first, be it one or
        a run of them."""
        return max((wait.count for wait in self.waits if wait.released != wait.held), default=0)

    def begin(self, mark: Mark | None) -> None:
        """Something waits, since then if nothing did before."""
        self.since = self.since or mark

    def add(self, live: list[Range]) -> None:
        for first, stop in live:
            self._samples.add(first, stop)

    def passed(self, first: int, revealed: Mark | None) -> None:
        """What came below ``first`` was handed on as it came; what waits, waits for that, since the
        gap showed."""
        if self._samples:
            self._samples.remove(self._samples.first(), first)
        self.since = revealed if self._samples else None

    def end(self, mark: Mark) -> None:
        """All of it is handed on."""
        there = self._samples
        if self.since is not None and there and len(self.waits) < MAX_WAITS:
            wait = Wait(there.first(), there.stop(), there.total(), self.since, mark)
            self.waits.append(wait)
        self.since, self._samples = None, RangeSet()
