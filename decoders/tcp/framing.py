"""Protocols over a byte stream: what a system adds so that its TCP connections are decoded.

``tcp`` puts the bytes of each direction together, in order and once, and knows no protocol. A
system that runs over TCP is a ``StreamSystem``, named in its line of ``registry``, of three parts:

- ``recognise``: whose stream is this? Asked with the first contiguous bytes of a direction until
  some direction says YES, or all that have spoken say NO.
- ``framing``: one object a direction; cuts the stream into frames. It alone knows whether it is in
  step with the frames. Bytes between frames that belong to none are ``skipped``, never dropped.
- ``decoder``: one object for many connections of one capture; frames of both directions in the
  order in which they became complete, rows (EVENTS) out.

The order of calls for one direction::

    framing.split(data)          data begins with the bytes that the call before did not consume
    framing.split(data, final)   nothing follows these bytes: a hole does, or the stream has ended
    framing.lost()               bytes are missing between the last call and the next

A frame counts as seen in the capture frame that completed it, as in Wireshark: the one that brought
its last byte or, where segments came out of order, the one that filled the gap before it. What a
decoder does may depend on the frames and their order, never on how they share calls of ``decode``:
that differs between the engines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.events import BEGUN, END, HOLE, ByName, Ending, Kind, compact
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.tcp.traces import Heads, Traces

#: ``kind`` of a frame that is no control word; others are the system's own numbers.
MESSAGE: Final = 0


#: ``index`` of what is told behind all that a capture frame holds.
BEHIND: Final = 1 << 56

#: A direction, and which of its stretches without a hole.
Stretch = tuple[int, int]
#: Systems that said NO, each to some stretch.
Refused = set[tuple[str, Stretch]]


class Match(IntEnum):
    """Whether the first bytes of a direction are a system's."""

    NO = 0  # and no further byte can change that
    UNDECIDED = 1  # too few bytes, and nothing speaks for it
    LIKELY = 2  # something speaks for it and more bytes will tell
    YES = 3


@dataclass(slots=True)
class Split:
    """The frames in some contiguous bytes. Offsets are into these bytes, ascending.

    Attributes:
        starts, stops: (n,) of the frames, without what frames them.
        kinds: (n,) MESSAGE or a number of the system's.
        consumed: bytes that need not be shown again.
        wanted: bytes from ``consumed`` on that must be there before another call can find more.
        skipped: stretches that belong to no frame, all below ``consumed``.
        resyncs: how often a frame was found by looking for one.
    """

    starts: Int64s
    stops: Int64s
    kinds: Int64s
    consumed: int
    wanted: int = 1
    skipped: list[tuple[int, int]] = field(default_factory=list)
    resyncs: int = 0


class ConnectionEnd(NamedTuple):
    """The end of a connection; known when no further segment of it will come.

    Attributes:
        frame, at_ns: of its last segment.
        reset: capture frame and time of its first RST.
        endings: by direction.
    """

    frame: int
    at_ns: int
    reset: tuple[int, int] | None = None
    endings: tuple[Ending, Ending] = (Ending.UNSEEN, Ending.UNSEEN)


@dataclass(slots=True)
class Connection:
    """One TCP connection as decoders see it.

    Direction 0 is what ``ends[0]`` sent. ``memory`` is the decoder's own, for as long as the
    connection lives.
    """

    capture: int
    carrier: str
    ends: tuple[tuple[str, int], tuple[str, int]]  # address, port
    opener: int | None = None  # the direction that sent the first SYN; null: not captured
    began: tuple[bool, bool] = (False, False)  # whether the SYN of each direction was captured
    end: ConnectionEnd | None = None  # null: further frames may come
    missing: tuple[int, int] = (0, 0)  # bytes of each direction behind its last frame, then
    spoke: list[int] = field(default_factory=lambda: [-1, -1])  # see StreamFrames.holes
    memory: ByName = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """No further frames will come."""
        return self.end is not None


@dataclass(slots=True)
class StreamFrames:
    """Frames of one connection in the order of their completion. Columns are (count,) int64."""

    connection: Connection
    data: bytes
    compile_it: bool
    start: Int64s
    stop: Int64s
    kind: Int64s
    direction: Int64s  # 0 or 1
    frame: Int64s  # of the job: the capture frame that completed it
    at_ns: Int64s
    place: Int64s  # number of it among those of this connection that the capture frame completed
    lost: Int64s  # bytes of its direction right before it that are in no frame: missing, skipped
    refused: Int64s  # 1: nothing but a RST answered its last bytes: it reached nobody
    outcome: Int64s  # packets.FrameOutcome, written by the decoder

    @property
    def count(self) -> int:
        return len(self.start)

    def row_of(self, at: int) -> ByName:
        """The columns of ``EVENTS`` that say where and how large a frame with one event is."""
        return {
            "capture": self.connection.capture,
            "frame": int(self.frame[at]),
            "index": int(self.place[at]) << 16,
            "last_frame": int(self.frame[at]),
            "at_ns": int(self.at_ns[at]),
            "last_at_ns": int(self.at_ns[at]),
            "count": 1,
            "flags": 0,
            "size": int(self.stop[at] - self.start[at]),
        }

    def holes(self) -> list[tuple[int, ByName]]:
        """Where bytes are missing or could not be read: the direction, and columns of ``EVENTS``
        that tell it, in order. Of what these bytes held nothing is known but that it was sent
        behind the direction's frame before. ``last`` in the detail: no frame follows.

        To be called once a ``decode``: ``connection.spoke`` is the capture frame of the last frame
        of each direction from then on, -1: none yet.
        """
        before = tuple(self.connection.spoke)
        own = self._of_way(0), self._of_way(1)
        for way in (0, 1):
            if len(own[way]):
                self.connection.spoke[way] = int(self.frame[own[way][-1]])
        told = {"kind": int(Kind.NOTICE), "wire_kind": HOLE, "count": 0, "flags": 0, "size": 0}
        found = []
        for at in np.flatnonzero(self.lost > 0).tolist():
            row = self.row_of(at)
            way = int(self.direction[at])
            behind = int(np.searchsorted(own[way], at))
            since = int(self.frame[own[way][behind - 1]]) if behind else before[way]
            detail = {"bytes": int(self.lost[at]), "since": since}
            place = {"index": row["index"] - 1}  # before all that the frame holds
            found.append((way, row | told | place | {"detail": compact(detail)}))
        if self.connection.end is not None:
            row = self._row_at(self.connection.end.frame, self.connection.end.at_ns)
            for way, missing in enumerate(self.connection.missing):
                detail = {"bytes": missing, "since": self.connection.spoke[way], "last": 1}
                place = {"index": BEHIND + way}  # all that the frame holds
                if missing:
                    found.append((way, row | told | place | {"detail": compact(detail)}))
        return found

    def borders(self) -> list[tuple[int, ByName]]:
        """Where a direction with frames begins in its middle, and how it ends: the direction, and
        columns of ``EVENTS`` that tell it. ``how`` in the detail of an end: an ``Ending``;
        ``since``: the capture frame of the other direction's last frame, 0: none.

        To be called before ``holes``.
        """
        connection = self.connection
        told = {"kind": int(Kind.NOTICE), "count": 0, "flags": 0, "size": 0}
        found = []
        for way in (0, 1):
            if connection.began[way] or connection.spoke[way] >= 0:
                continue
            own = self._of_way(way)
            if len(own):
                row = self.row_of(int(own[0]))
                place = {"wire_kind": BEGUN, "index": row["index"] - 1}
                found.append((way, row | told | place))
        if connection.end is None:
            return found
        for way in (0, 1):
            if connection.spoke[way] < 0 and not len(self._of_way(way)):
                continue
            other = self._of_way(1 - way)
            since = int(self.frame[other[-1]]) if len(other) else connection.spoke[1 - way]
            how = connection.end.endings[way]
            frame, at_ns, index = connection.end.frame, connection.end.at_ns, BEHIND + 2 + way
            if how is Ending.RESET and connection.end.reset is not None:
                (frame, at_ns), index = connection.end.reset, 0
            place = {"wire_kind": END, "index": index}
            detail = compact({"how": how, "since": max(since, 0)})
            found.append((way, self._row_at(frame, at_ns) | told | place | {"detail": detail}))
        return found

    def _of_way(self, way: int) -> npt.NDArray[np.intp]:
        """Places of the frames of one direction."""
        return np.flatnonzero(self.direction == way)

    def _row_at(self, frame: int, at_ns: int) -> ByName:
        return {"capture": self.connection.capture, "frame": frame, "last_frame": frame,
                "at_ns": at_ns, "last_at_ns": at_ns}  # fmt: skip


class Framing(Protocol):
    """Cuts one direction of one connection into frames."""

    def split(self, data: bytes, final: bool) -> Split:
        """The frames in ``data``; ``final``: no byte follows it without a hole."""

    def lost(self) -> None:
        """Bytes are missing before what comes next."""


class StreamDecoder(Protocol):
    """Frames of the connections of one capture in, rows out."""

    def decode(self, frames: StreamFrames) -> list[pa.RecordBatch]:
        """Called once more with ``connection.ended``, without frames if there are none left."""

    def account(self) -> dict[str, object]:
        """As of a ``DatagramDecoder``."""


class StreamSystem(Protocol):
    """One system over TCP; holds no state of connections."""

    @property
    def system(self) -> str:
        """The word of --decode-as and --no-decode."""

    @property
    def traces(self) -> Traces:
        """What a direction shows, or ``recognise`` says NO or UNDECIDED to where it did not begin
        and its first bytes are refused."""

    def recognise(self, prefix: bytes, began: bool) -> Match:
        """Whether a direction that begins with these bytes is the system's.

        Args:
            began: ``prefix`` begins with the first byte of the stream; else anywhere within.
        """

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]:
        """Of several directions at once: True only where ``recognise`` says NO to the first bytes
        of a stream that begins like that."""

    def framing(self, began: bool, *, compile_it: bool) -> Framing:
        """A framing for one direction whose first bytes are shown next."""

    def decoder(self) -> StreamDecoder:
        """A decoder for one capture."""


def no_frames() -> tuple[Int64s, Int64s, Int64s]:
    """Empty ``starts``, ``stops`` and ``kinds``."""
    nothing = np.zeros(0, np.int64)
    return nothing, nothing, nothing


def shows(data: bytes, pattern: re.Pattern[bytes], mark: bytes, at: int) -> bool:
    """Whether a pattern occurs that has ``mark`` at ``at``: a search for bytes is ten times as fast
    as one for a pattern, and most data is somebody else's."""
    place = data.find(mark, at)
    while place >= 0:
        if pattern.match(data, place - at):
            return True
        place = data.find(mark, place + 1)
    return False


def choose(
    systems: Sequence[StreamSystem],
    prefixes: Sequence[tuple[Stretch, bytes, bool]],
    refused: Refused,
) -> tuple[Match, StreamSystem | None]:
    """The verdict on a connection: the best of its directions, the first system that is sure.

    Args:
        prefixes: first bytes of the directions that have spoken; whether the stream began there.
        refused: grows by what systems refuse, and is not asked again: no byte changes that.
    """
    best = Match.NO
    for system in systems:
        for stretch, prefix, began in prefixes:
            if (system.system, stretch) in refused:
                continue
            verdict = system.recognise(prefix, began)
            if verdict == Match.YES:
                return verdict, system
            if verdict == Match.NO:
                refused.add((system.system, stretch))
            best = max(best, verdict)
    return best, None
