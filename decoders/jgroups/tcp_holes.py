"""What a TCP connection lacks, or may lack behind what was seen of it, told to every conversation
that it carries (jgroups.md 1.9).

A connection is one between two members of one cluster, and carries all that they say to each
other: unicasts, multicasts and what is said of both. So of bytes that are missing nobody can tell
which conversation they were of, and each of them is told.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from seqaudit.decoders.contract.events import END, EVENTS, ByName, Ending, compact
from seqaudit.decoders.tcp.framing import BEHIND, StreamFrames

#: Holes of a connection that are remembered until its members have names, and for clusters that it
#: shows later.
MAX_REMEMBERED: Final = 10_000


class ConnectionHoles:
    """The holes of one connection, and to which conversations they were told.

    Attributes:
        conversations: of the connection's clusters, as far as it has shown them.
    """

    def __init__(self) -> None:
        self.conversations: set[str] = set()
        self._holes: list[tuple[int, ByName]] = []
        self._told: dict[str, int] = {}  # how many of these, by conversation

    def rows(self, frames: StreamFrames, members: list[str | None]) -> Iterator[pa.RecordBatch]:
        """A row for each hole, and each end that was not seen, and conversation, once the members
        have said who they are.

        Args:
            members: of each direction, who sends in it; null: it has not said so yet.
        """
        end = frames.connection.end
        unseen = [] if end is None else [w for w in (0, 1) if end.endings[w] is Ending.UNSEEN]
        ends = [
            (way, row | {"detail": compact({"how": Ending.UNSEEN})})
            for way, row in frames.borders()
            if row["wire_kind"] == END and way in unseen
        ]
        self._holes += [*frames.holes(), *ends]
        full = len(self._holes) > MAX_REMEMBERED
        if None in members and not (frames.connection.ended or full):
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
            for conversation in sorted(self.conversations)
            for way, hole in self._holes[self._told.get(conversation, 0) :]
        ]
        del self._holes[MAX_REMEMBERED:]
        self._told = dict.fromkeys(self.conversations, len(self._holes))
        if events:
            yield pa.RecordBatch.from_pylist(events, schema=EVENTS)


def _index(index: int) -> int:
    """Right before the rows of the frame that follows, as ``tcp`` numbers these."""
    return index if index >= BEHIND else (index + 1 << 8) - 1
