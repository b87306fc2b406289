"""When nothing of one end of a session is in the capture, though it had to speak (zenoh.md 3.4).

A capture may hold one direction only, for a while or always: then that an end did not ask for what
it misses is not what it shows.
"""

from bisect import bisect_right
from typing import Final

from seqaudit.replay.contract.worth import BEGINNING
from seqaudit.replay.sequence.gaps import Mark

#: Ends, and silences of one.
MAX_KEPT: Final = 10_000


class Silences:
    """Of the ends of one leg."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = {}  # between these job frames

    def ended(self, endpoint: str, since: Mark | None, frame: int) -> None:
        """An end speaks again in a job frame, too long after it last did; null: it never had."""
        if endpoint in self._spans or len(self._spans) < MAX_KEPT:
            spans = self._spans.setdefault(endpoint, [])
            if len(spans) < MAX_KEPT:
                spans.append((BEGINNING if since is None else since.frame, frame))

    def over(self, endpoint: str, frame: int) -> bool:
        """Whether a job frame stands in one."""
        spans = self._spans.get(endpoint, [])
        place = bisect_right(spans, frame, key=lambda span: span[1])
        return place < len(spans) and spans[place][0] < frame
