"""Datagrams that may have found the buffer of their receiver's socket full.

No frame says that a host dropped a datagram there. It does so when those that its node has not read
fill the buffer, which few large ones do.
"""

from bisect import bisect_left
from collections import deque
from typing import Final

from seqaudit.decoders.contract.zenoh_detail import LARGE
from seqaudit.replay.contract.event import Event
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.lives import LAG_NS

#: Bytes that were not read, behind which the next datagram may be dropped: Linux gives a socket
#: 212,992 bytes of memory, in which a frame takes up to three times its size.
FILLS: Final = 212_992 // 3
MAX_KEPT: Final = 100_000


class Floods:
    """At one endpoint of UDP."""

    def __init__(self) -> None:
        self._lately: deque[tuple[int, int]] = deque()  # when, and how many bytes
        self._unread = 0
        self._at: list[int] = []  # when the buffer may have been full, never falling

    def came(self, event: Event) -> None:
        """A message, or several of one datagram."""
        if event.size < LARGE or event.frame != event.last_mark().frame:
            return
        while self._lately and event.at_ns - self._lately[0][0] > LAG_NS:
            self._unread -= self._lately.popleft()[1]
        if self._unread > FILLS and len(self._at) < MAX_KEPT:
            self._at.append(max(event.at_ns, self._at[-1] if self._at else 0))
        self._lately.append((event.at_ns, event.size))
        self._unread += event.size

    def meet(self, first: Mark | None, last: Mark | None) -> bool:
        """Whether what came between two moments, or one of it, may have been dropped; null: nothing
        came."""
        if first is None or last is None:
            return False
        place = bisect_left(self._at, first.at_ns - LAG_NS)
        return place < len(self._at) and self._at[place] <= last.at_ns
