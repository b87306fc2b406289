"""TCP segments of a capture as columns and as SEGMENT rows (design 3.3, 4.1).

``SegmentFinder`` picks the segments out of packets, leaving out those of connections that are
known to be nobody's. As rows they travel to the second stage: ``carrier`` is
``tcp|ip:port|ip:port`` with the smaller end first, and the other facts are in columns that a
SEGMENT has no other use for, because text costs more than the payload:

    source      0: sent by the first end, 1   seqno, stop_seqno   sequence and ack number
    stamp       TCP flags                     conn_id             ``facts``, below
    size        payload bytes on the wire     payload             as captured
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders import packet_kernels as k
from seqaudit.decoders.account import CAPTURE_SYSTEM, OUTGOING
from seqaudit.decoders.events import FRAME_BITS, NO_CONVERSATION, Kind
from seqaudit.decoders.kernels import Int64s
from seqaudit.decoders.packets import Flows, Packets
from seqaudit.decoders.segments import event_batch
from seqaudit.decoders.tcp import ACK, SYN

TCP: Final = 6
WIRE_KIND: Final = "TCP"
HEADER_BYTES: Final = 20

#: ``facts``: TTL, whether the link layer says outgoing, bytes of the frame on the wire.
OUTGOING_BIT: Final = 1 << 8
WIRE_SHIFT: Final = 9

End = tuple[str, int]


@dataclass(slots=True)
class Segments:
    """Segments in capture order, as lists of one length."""

    capture: list[int] = field(default_factory=list)
    carrier: list[str] = field(default_factory=list)
    direction: list[int] = field(default_factory=list)  # 0: sent by the carrier's first end
    frame: list[int] = field(default_factory=list)  # of the job
    at_ns: list[int] = field(default_factory=list)
    seq: list[int] = field(default_factory=list)
    ack: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)  # of TCP
    length: list[int] = field(default_factory=list)  # payload bytes on the wire
    facts: list[int] = field(default_factory=list)
    payload: list[bytes] = field(default_factory=list)

    def columns(self) -> tuple[list[object], ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


def socket_text(host: str, port: int) -> str:
    """An end of a connection as carriers have it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def ends_of(carrier: str) -> tuple[End, End]:
    """The two ends that a carrier names."""
    first, second = (
        (host.strip("[]"), int(port))
        for host, _, port in (end.rpartition(":") for end in carrier.split("|")[1:])
    )
    return first, second


class SegmentFinder:
    """Picks out TCP segments; one object a piece."""

    def __init__(self) -> None:
        self._ignored: set[str] = set()
        self._flows: Flows | None = None
        self._named: dict[int, tuple[str, int]] = {}  # key to carrier, direction of the low end
        self._keys: dict[str, int] = {}
        self._ignored_keys: set[int] = set()
        self._sorted: npt.NDArray[np.uint64] | None = None

    def ignore(self, carrier: str) -> None:
        """The connection is nobody's. Its segments are left out until another one begins there."""
        self._ignored.add(carrier)
        key = self._keys.get(carrier)
        if key is not None:
            self._ignored_keys.add(key)
            self._sorted = None

    def find(self, packets: Packets) -> tuple[Segments, Int64s] | None:
        """The segments and the rows of ``packets`` that they are; null if there are none."""
        if packets.only_datagrams:
            return None
        columns = packets.columns
        rows = np.flatnonzero((columns[k.PROTOCOL] == TCP) & (columns[k.STATE] == k.NOT_UDP))
        if not len(rows):
            return None
        start, stop = columns[k.START][rows], columns[k.STOP][rows]
        fit = (stop - start >= HEADER_BYTES) & (columns[k.FRAGMENT][rows] < 0)
        if not fit.all():
            rows, start, stop = rows[fit], start[fit], stop[fit]
            if not len(rows):
                return None
        data = np.frombuffer(packets.datagrams.data, np.uint8)
        header = data[start[:, None] + np.arange(HEADER_BYTES)]
        size = (header[:, 12] >> 4).astype(np.int64) * 4
        length = columns[k.LENGTH][rows] - size
        keep = (size >= HEADER_BYTES) & (length >= 0)
        flags = header[:, 13].astype(np.int64)
        keys, low_first = self._keys_of(packets, rows)
        keep &= self._wanted(keys, flags)
        if not keep.any():
            return None
        if not keep.all():
            rows, header, size, length, flags = (
                column[keep] for column in (rows, header, size, length, flags)
            )
            keys, low_first, start, stop = (
                column[keep] for column in (keys, low_first, start, stop)
            )
        found = self._columns(packets, rows, header, length, flags, keys, low_first)
        raw = packets.datagrams.data
        begin = np.minimum(start + size, stop)
        found.payload = [
            bytes(raw[low:high])
            for low, high in zip(
                begin.tolist(), np.minimum(begin + length, stop).tolist(), strict=True
            )
        ]
        return found, rows

    def _keys_of(
        self, packets: Packets, rows: Int64s
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """A number for each unordered pair of ends, and whether its smaller half is the source."""
        if packets.flows is not self._flows:
            self._flows = packets.flows
            self._named.clear()
            self._keys.clear()
            self._ignored_keys.clear()
            self._sorted = None
        columns = packets.columns
        # numbers of addresses are below 2^16
        source = columns[k.SOURCE][rows] << 16 | columns[k.SOURCE_PORT][rows]
        destination = columns[k.DESTINATION][rows] << 16 | columns[k.DESTINATION_PORT][rows]
        low = np.minimum(source, destination).astype(np.uint64)
        high = np.maximum(source, destination).astype(np.uint64)
        return high << np.uint64(32) | low, source <= destination

    def _wanted(self, keys: npt.NDArray[np.uint64], flags: Int64s) -> npt.NDArray[np.bool_]:
        if not self._ignored_keys:
            return np.ones(len(keys), np.bool_)
        if self._sorted is None:
            self._sorted = np.fromiter(self._ignored_keys, np.uint64, len(self._ignored_keys))
            self._sorted.sort()
        place = np.searchsorted(self._sorted, keys)
        wanted: npt.NDArray[np.bool_] = (
            self._sorted[np.minimum(place, len(self._sorted) - 1)] != keys
        )
        begins = ~wanted & (flags & (SYN | ACK) == SYN)
        for row in np.flatnonzero(begins).tolist():  # another connection may begin
            if not wanted[row]:
                key = int(keys[row])
                self._ignored_keys.discard(key)
                self._ignored.discard(self._named[key][0])
                self._sorted = None
                wanted[row:] |= keys[row:] == keys[row]
        return wanted

    def _columns(
        self,
        packets: Packets,
        rows: Int64s,
        header: npt.NDArray[np.uint8],
        length: Int64s,
        flags: Int64s,
        keys: npt.NDArray[np.uint64],
        low_first: npt.NDArray[np.bool_],
    ) -> Segments:
        columns = packets.columns
        distinct, which = np.unique(keys, return_inverse=True)
        named = [self._name(int(key), packets.datagrams.hosts) for key in distinct.tolist()]
        turned = np.array([turn for _, turn in named], np.int64)[which]
        carriers = [carrier for carrier, _ in named]
        records = rows + packets.first
        words = np.ascontiguousarray(header[:, 4:12]).view(">u4")
        outgoing = columns[k.PACKET_TYPE][rows] == OUTGOING
        facts = (
            columns[k.TTL][rows]
            | np.where(outgoing, OUTGOING_BIT, 0)
            | packets.records.original[records] << WIRE_SHIFT
        )
        return Segments(
            capture=[packets.datagrams.capture] * len(rows),
            carrier=[carriers[place] for place in which.tolist()],
            direction=np.where(low_first, turned, 1 - turned).tolist(),
            frame=(packets.records.frame[records] | packets.datagrams.split << FRAME_BITS).tolist(),
            at_ns=packets.records.at_ns[records].tolist(),
            seq=words[:, 0].tolist(),
            ack=words[:, 1].tolist(),
            flags=flags.tolist(),
            length=length.tolist(),
            facts=facts.tolist(),
        )

    def _name(self, key: int, hosts: list[str]) -> tuple[str, int]:
        """The carrier of a pair of ends, and the direction of what its lower number sends."""
        known = self._named.get(key)
        if known is None:
            low, high = ((hosts[end >> 16], end & 0xFFFF) for end in (key & 0xFFFFFFFF, key >> 32))
            first, second = sorted((low, high))
            carrier = f"tcp|{socket_text(*first)}|{socket_text(*second)}"
            known = self._named[key] = carrier, int(low != first)
            self._keys[carrier] = key
            if carrier in self._ignored:
                self._ignored_keys.add(key)
                self._sorted = None
        return known


def segment_rows(segments: Segments) -> pa.RecordBatch:
    """SEGMENT rows of segments."""
    count = len(segments.frame)
    zeros = np.zeros(count, np.int64)
    return event_batch(
        {
            "capture": segments.capture,
            "frame": segments.frame,
            "index": zeros,
            "last_frame": segments.frame,
            "at_ns": segments.at_ns,
            "last_at_ns": segments.at_ns,
            "system": [CAPTURE_SYSTEM] * count,
            "carrier": segments.carrier,
            "conversation": [NO_CONVERSATION] * count,
            "source": ["01"[direction] for direction in segments.direction],
            "kind": np.full(count, int(Kind.SEGMENT), np.int16),
            "wire_kind": [WIRE_KIND] * count,
            "seqno": segments.seq,
            "stop_seqno": segments.ack,
            "count": zeros + 1,
            "conn_id": segments.facts,
            "stamp": segments.flags,
            "flags": zeros,
            "size": segments.length,
            "payload": segments.payload,
        },
        count,
    )


def read_segment_rows(batch: pa.RecordBatch) -> Segments:
    """The segments of SEGMENT rows."""
    names = ("capture", "carrier", "source", "frame", "at_ns", "seqno", "stop_seqno", "stamp",
             "size", "conn_id", "payload")  # fmt: skip
    columns = [batch.column(name).to_pylist() for name in names]
    columns[2] = [int(direction) for direction in columns[2]]
    return Segments(*columns)
