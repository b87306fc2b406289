"""TCP as the tests write it: segments between two ends, and a protocol that needs no decoder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.events import FRAME_BITS, Kind
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.tcp.framing import (
    MESSAGE,
    Connection,
    Framing,
    Match,
    Split,
    StreamDecoder,
    StreamFrames,
)
from seqaudit.decoders.tcp.segments import COLUMNS, WIRE_SHIFT, Key, Segments, segments_of
from seqaudit.decoders.tcp.traces import BytePattern, Heads, Traces
from seqaudit.decoders.tcp.wire import ACK, SYN
from seqaudit.decoders.tcp.wire import Segment as Row

CARRIER: Final = "tcp|10.0.0.1:7800|10.0.0.2:50000"
MS: Final = 1_000_000

MARK: Final = 0xA5

NO_SEGMENTS: Final = Segments([], b"", *[np.zeros(0, np.int64)] * len(COLUMNS))


@dataclass(frozen=True)
class Segment:
    """One captured segment; ``direction`` 1 is what 10.0.0.2 sent. ``seq`` wraps."""

    direction: int
    seq: int
    payload: bytes = b""
    flags: int = ACK
    ack: int = 0
    wire: int | None = None  # payload bytes on the wire, if the snap length cut it
    ms: int | None = None  # null: one after the one before
    split: int = 0


def segments(given: Sequence[Segment], carrier: str = CARRIER, first: int = 1) -> Segments:
    """Columns of segments; frames count from ``first``, the time is 1 ms a frame."""
    rows: list[tuple[Key, Row]] = []
    for number, one in enumerate(given, first):
        length = len(one.payload) if one.wire is None else one.wire
        row = Row(
            one.direction,
            one.split << FRAME_BITS | number,
            (number if one.ms is None else one.ms) * MS,
            one.seq & 0xFFFFFFFF,
            one.ack & 0xFFFFFFFF,
            one.flags,
            length,
            64 | (54 + length) << WIRE_SHIFT,
            one.payload,
        )
        rows.append(((0, carrier), row))
    return segments_of(rows) if rows else NO_SEGMENTS


def handshake(client: int = 1000, server: int = 5000) -> list[Segment]:
    """SYN from direction 1, SYN+ACK from direction 0."""
    return [
        Segment(1, client, flags=SYN),
        Segment(0, server, flags=SYN | ACK, ack=client + 1),
    ]


def framed(payload: bytes) -> bytes:
    """A frame of the marked protocol: mark, length, payload, mark."""
    return bytes([MARK, len(payload)]) + payload + bytes([MARK ^ 0xFF])


class MarkedStreams:
    """StreamSystem of the marked protocol; payloads hold no marks, so boundaries are sure."""

    system: Final = "marked"
    traces: Final = Traces(1000, [BytePattern({0: range(256), 1: range(256)})])  # always asked

    def __init__(self) -> None:
        self.decoders: list[MarkedDecoder] = []

    def recognise(self, prefix: bytes, began: bool) -> Match:
        if began and prefix[0] != MARK:
            return Match.NO
        if MARK in prefix:
            return Match.YES
        return Match.UNDECIDED if len(prefix) < 1000 else Match.NO

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]:
        refused: npt.NDArray[np.bool_] = heads.raw[:, 0] != MARK
        return refused

    def framing(self, began: bool, *, compile_it: bool) -> Framing:
        return MarkedFraming(began)

    def decoder(self) -> StreamDecoder:
        made = MarkedDecoder()
        self.decoders.append(made)
        return made

    @property
    def seen(self) -> list["Seen"]:
        """What all decoders got, by capture frame and place in it."""
        found = [seen for decoder in self.decoders for seen in decoder.seen]
        return sorted(found, key=lambda seen: (seen.direction, seen.frame, seen.place))


class MarkedFraming:
    def __init__(self, began: bool) -> None:
        self._in_step = began

    def lost(self) -> None:
        self._in_step = False

    def split(self, data: bytes, final: bool) -> Split:
        found: list[tuple[int, int]] = []
        skipped: list[tuple[int, int]] = []
        at = resyncs = 0
        wanted = 1
        while at < len(data):
            if not self._in_step:
                begin = data.find(MARK, at)
                begin = len(data) if begin < 0 else begin
                if begin > at:
                    skipped.append((at, begin))
                at = begin
                if at == len(data):
                    break
                self._in_step = True
                resyncs += 1
            if data[at] != MARK:
                self._in_step = False
                continue
            if at + 2 > len(data) or at + 3 + data[at + 1] > len(data):
                wanted = 2 if at + 2 > len(data) else 3 + data[at + 1]
                break
            stop = at + 3 + data[at + 1]
            found.append((at + 2, stop - 1))
            at = stop
        starts, stops = (np.array([f[i] for f in found], np.int64) for i in (0, 1))
        return Split(starts, stops, np.zeros(len(found), np.int64), at, wanted, skipped, resyncs)


@dataclass(frozen=True)
class Seen:
    """One frame as the decoder got it."""

    direction: int
    payload: bytes
    frame: int
    at_ns: int
    place: int
    lost: int
    refused: bool = False


@dataclass
class MarkedDecoder:
    """Keeps what it sees. A payload that begins with ``!`` is malformed."""

    seen: list[Seen] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    ended: int = 0

    def decode(self, frames: StreamFrames) -> list[pa.RecordBatch]:
        if frames.connection not in self.connections:
            self.connections.append(frames.connection)
        self.ended += frames.connection.ended
        assert (frames.kind == MESSAGE).all()
        frames.outcome[:] = FrameOutcome.DECODED
        for at in range(frames.count):
            payload = frames.data[int(frames.start[at]) : int(frames.stop[at])]
            if payload.startswith(b"!"):
                frames.outcome[at] = FrameOutcome.MALFORMED
            self.seen.append(
                Seen(
                    int(frames.direction[at]),
                    payload,
                    int(frames.frame[at]),
                    int(frames.at_ns[at]),
                    int(frames.place[at]),
                    int(frames.lost[at]),
                    bool(frames.refused[at]),
                )
            )
        return []

    def account(self) -> dict[str, object]:
        return {"messages_by": {"marked": {"FRAME": len(self.seen)}}}


def without_times(seen: Sequence[Seen]) -> list[Seen]:
    return [replace(one, at_ns=0) for one in seen]


def account_total(batches: Sequence[pa.RecordBatch]) -> dict[str, Any]:
    """``frames_by``, ``tcp`` and ``undecoded`` of all ACCOUNT rows, zeroes left out."""
    total: dict[str, dict[str, int]] = {"frames_by": {}, "tcp": {}, "undecoded": {}}
    for batch in batches:
        for row in batch.to_pylist():
            if row["kind"] != Kind.ACCOUNT:
                continue
            detail = json.loads(row["detail"])
            for name, counts in total.items():
                for key, count in (detail.get(name) or {}).items():
                    if count:
                        counts[key] = counts.get(key, 0) + count
    return total


def problems(batches: Sequence[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Details of the PROBLEM rows, in order."""
    return [
        json.loads(row["detail"])
        for batch in batches
        for row in batch.to_pylist()
        if row["kind"] == Kind.PROBLEM
    ]
