"""What a TCP connection lacks, told to every conversation that it carries (jgroups.md 1.9).

A connection is one between two members of one cluster, and carries all that they say to each
other: unicasts, multicasts and what is said of both. So of bytes that are missing nobody can tell
which conversation they were of, and each of them is told.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, ByName
from seqaudit.decoders.tcp.framing import BEHIND, StreamFrames

#: Holes that wait for the names of the members; more are told as anybody's.
MAX_WAITING: Final = 1_000


class ConnectionHoles:
    """The holes of one connection, until it is known whose they are.

    Attributes:
        clusters: the conversations of the connection's members that it has shown so far.
    """

    def __init__(self) -> None:
        self.clusters: set[str] = set()
        self._waiting: list[tuple[int, ByName]] = []

    def rows(self, frames: StreamFrames, members: list[str | None]) -> Iterator[pa.RecordBatch]:
        """A row for each hole and conversation, once the members have said who they are.

        Args:
            members: of each direction, who sends in it; null: it has not said so yet.
        """
        self._waiting += frames.holes()
        if not self._waiting or not self.clusters:
            return
        known = None not in members or frames.connection.ended
        if not known and len(self._waiting) <= MAX_WAITING:
            return
        events = [
            dict.fromkeys(EVENTS.names)
            | hole
            | {
                "index": _index(hole["index"]),
                "system": "jgroups",
                "conversation": conversation,
                "source": members[way],
                "destination": members[1 - way],
            }
            for conversation in sorted(self.clusters)
            for way, hole in self._waiting
        ]
        self._waiting.clear()
        yield pa.RecordBatch.from_pylist(events, schema=EVENTS)


def _index(index: int) -> int:
    """Right before the rows of the frame that follows, as ``tcp`` numbers these."""
    return index if index >= BEHIND else (index + 1 << 8) - 1
