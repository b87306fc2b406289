"""TCP segments of a capture as columns and as SEGMENT rows (decoders/README.md 3).

``SegmentFinder`` picks the segments out of packets, leaving out those of connections that are
known to be nobody's. As rows they travel to the second stage: ``carrier`` is
``tcp|ip:port|ip:port`` with the smaller end first, and the other facts are in columns that a
SEGMENT has no other use for, because text costs more than the payload:

    source      0: sent by the first end, 1   seqno, stop_seqno   sequence and ack number
    stamp       TCP flags                     conn_id             ``facts``, below
    size        payload bytes on the wire     payload             as captured

Those of a connection of which some came in IP fragments have the carrier of the fragments, and
``detail`` names the connection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import distinct, encoded, text_column
from seqaudit.decoders.contract.event_columns import event_batch, grouped, repeated
from seqaudit.decoders.contract.events import FRAME_BITS, NO_CONVERSATION, Kind
from seqaudit.decoders.kernels.loader import Int64s, memory
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import CAPTURE_SYSTEM, OUTGOING
from seqaudit.decoders.network.checksum_kernels import MARKS, TCP
from seqaudit.decoders.network.checksums import verified
from seqaudit.decoders.network.fragment_rows import TOGETHER
from seqaudit.decoders.network.hosts import Hosts, Made
from seqaudit.decoders.network.packets import Packets
from seqaudit.decoders.tcp.wire import ACK, SYN, Segment

WIRE_KIND: Final = "TCP"

DIRECTIONS: Final = ("0", "1")
#: Payloads of one size are copied at once where there are so many a size and they are not large:
#: at once a byte is copied twice.
A_SIZE: Final = 32
LARGE: Final = 640
#: Of the table that finds connections.
SLOTS: Final = 1 << 16

#: ``facts``: TTL, whether the link layer says outgoing, what its checksum is (a mark of
#: ``checksum_kernels``), bytes on the wire, and how many frames more than one it came in.
OUTGOING_BIT: Final = 1 << 8
MARK_SHIFT: Final = 9
MARK_MASK: Final = MARKS - 1
WIRE_SHIFT: Final = 11
WIRE_MASK: Final = 0xFFFFFFFF
MORE_SHIFT: Final = 43

End = tuple[str, int]
Buffer = bytes | bytearray | memoryview
Key = tuple[int, str]  # capture, carrier


@dataclass(slots=True)
class Segments:
    """Segments in capture order. Columns are (count,) int64 and hold as long as ``data`` does."""

    keys: Sequence[Key]  # connections, by number
    data: Buffer  # holds the payloads
    flow: Int64s  # number of the connection
    direction: Int64s  # 0: sent by the carrier's first end
    frame: Int64s  # of the job
    at_ns: Int64s
    seq: Int64s
    ack: Int64s
    flags: Int64s  # of TCP
    length: Int64s  # payload bytes on the wire
    facts: Int64s
    start: Int64s  # of the payload in ``data``
    stop: Int64s  # one past its last captured byte

    @property
    def count(self) -> int:
        return len(self.frame)

    def columns(self) -> tuple[Int64s, ...]:
        return tuple(getattr(self, name) for name in COLUMNS)

    def take(self, rows: Int64s) -> Segments:
        """Only some of them."""
        return Segments(self.keys, self.data, *(column[rows] for column in self.columns()))

    def one_by_one(self) -> Iterator[tuple[Key, Segment]]:
        """Each with the key of its connection."""
        keys, data = self.keys, self.data
        for flow, *values, start, stop in zip(
            *(column.tolist() for column in self.columns()), strict=True
        ):
            yield keys[flow], Segment._make((*values, bytes(data[start:stop])))

    def copied(self) -> Segments:
        """The same with bytes that are theirs alone, end to end."""
        ends = np.cumsum(self.stop - self.start)
        columns = {name: getattr(self, name) for name in COLUMNS}
        columns |= {"start": np.append(0, ends[:-1]), "stop": ends}
        return Segments(self.keys, self.payloads(np.arange(self.count)), **columns)

    def payloads(self, rows: Int64s) -> bytes:
        """The payloads of some of them, end to end."""
        data, start, stop = self.data, self.start[rows], self.stop[rows]
        sizes = stop - start
        found = distinct(sizes) if len(rows) > A_SIZE else sizes
        if len(found) * A_SIZE >= len(rows) or sizes.sum() >= LARGE * len(rows):
            filled, view = sizes > 0, memoryview(data)
            ends = zip(start[filled].tolist(), stop[filled].tolist(), strict=True)
            return b"".join([view[low:high] for low, high in ends])
        places = np.append(0, np.cumsum(sizes))
        together = bytearray(int(places[-1]))
        for size in found.tolist():
            if size:
                alike = np.flatnonzero(sizes == size)
                _pieces(together, size)[places[alike]] = _pieces(data, size)[start[alike]]
        return bytes(together)


COLUMNS: Final = (
    "flow", "direction", "frame", "at_ns", "seq", "ack", "flags", "length", "facts", "start",
    "stop",
)  # fmt: skip


def _pieces(data: Buffer, size: int) -> npt.NDArray[np.void]:
    """What begins at each place, in so many bytes."""
    return np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))


def segments_of(rows: Sequence[tuple[Key, Segment]]) -> Segments:
    """Columns of some segments, of which there is at least one."""
    numbers: dict[Key, int] = {}
    flow = np.array([numbers.setdefault(key, len(numbers)) for key, _ in rows], np.int64)
    payloads = [segment[-1] for _, segment in rows]
    facts = np.array([segment[:-1] for _, segment in rows], np.int64).T.copy()
    ends = np.cumsum(np.fromiter(map(len, payloads), np.int64, len(rows)))
    start = np.append(0, ends[:-1])
    return Segments(list(numbers), b"".join(payloads), *(flow, *facts, start, ends))


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


#: What ``SegmentFinder`` knows of a connection: nothing yet; that its segments are wanted, whatever
#: they are; that it was caught in the middle, and waits for bytes enough to be judged.
FRESH: Final = 0
WANTED: Final = 1
MIDDLE: Final = 2
#: From here on: that it is nobody's, so that they are left out until another one begins there; and
#: that its very first bytes say so.
LEFT: Final = 3
REFUSED: Final = 4


class SegmentFinder:
    """Picks out TCP segments; one object a piece.

    Attributes:
        states: of the connections, by number.
    """

    def __init__(self) -> None:
        self._before: dict[str, int] = {}  # states of carriers under numbers that are gone
        self._hosts: Hosts | None = None
        self._numbers = Numbers()
        self._keys = _Keys(0, Hosts(np.zeros(k.HOST_ROWS, np.int64)), self._numbers)
        self._turned: Int64s = np.zeros(0, np.int64)  # direction of what the lower number sends
        self.states: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._marked = memory(k.HOSTS)  # counted by connection, when they are over

    def mark(self, carrier: str, state: int) -> None:
        """What is known of the connection that is the carrier's now."""
        number = self._keys.number(carrier)
        if number is not None:
            self.states[number] = state
        else:
            self._before[carrier] = state

    def refused(self, carrier: str) -> bool:
        """Whether the first bytes of the connection that is the carrier's now are nobody's."""
        number = self._keys.number(carrier)
        state = self._before.get(carrier, FRESH) if number is None else self.states[number]
        return bool(state == REFUSED)

    @property
    def keys(self) -> Sequence[Key]:
        """Of the connections, by number."""
        return self._keys

    def ports(self, flow: Int64s) -> tuple[Int64s, Int64s]:
        """Both ports of connections."""
        return self._numbers.low[flow] & 0xFFFF, self._numbers.high[flow] & 0xFFFF

    def forgets(self, packets: Packets) -> bool:
        """Whether these packets number connections anew."""
        return packets.flows.hosts is not self._hosts

    def find(self, packets: Packets) -> tuple[Segments, Int64s] | None:
        """The segments and the rows of ``packets`` that they are; null if there are none."""
        if packets.only_datagrams:
            return None
        columns = packets.columns
        rows = np.flatnonzero((columns[k.PROTOCOL] == TCP) & (columns[k.STATE] == k.NOT_UDP))
        if not len(rows):
            return None
        start, stop = columns[k.START][rows], columns[k.STOP][rows]
        fit = (stop - start >= k.TCP_BYTES) & (columns[k.FRAGMENT][rows] < 0)
        if not fit.all():
            rows, start, stop = rows[fit], start[fit], stop[fit]
            if not len(rows):
                return None
        bits = columns[k.TCP_BITS][rows]
        size, flags = bits >> 12 << 2, bits & 0xFF
        length = columns[k.LENGTH][rows] - size
        keep = (size >= k.TCP_BYTES) & (length >= 0)
        flow, low_first = self._flow_of(packets, rows)
        keep &= self._wanted(flow, flags)
        if not keep.any():
            return None
        if not keep.all():
            rows, size, length, flags = (column[keep] for column in (rows, size, length, flags))
            flow, low_first, start, stop = (
                column[keep] for column in (flow, low_first, start, stop)
            )
        turned = self._turned[flow]
        records = rows + packets.first
        facts = (
            columns[k.TTL][rows]
            | np.where(columns[k.PACKET_TYPE][rows] == OUTGOING, OUTGOING_BIT, 0)
            | verified(packets, rows, TCP, self._marked) << MARK_SHIFT
            | packets.records.original[records] << WIRE_SHIFT
        )
        begin = np.minimum(start + size, stop)
        found = Segments(
            keys=self._keys,
            data=packets.datagrams.data,
            flow=flow,
            direction=np.where(low_first, turned, 1 - turned),
            frame=packets.records.frame[records] | packets.datagrams.split << FRAME_BITS,
            at_ns=packets.records.at_ns[records],
            seq=columns[k.SEQUENCE][rows],
            ack=columns[k.ACKNOWLEDGED][rows],
            flags=flags,
            length=length,
            facts=facts,
            start=begin,
            stop=np.minimum(begin + length, stop),
        )
        return found, rows

    def _flow_of(self, packets: Packets, rows: Int64s) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """The number of each row's connection, and whether its smaller end is the source."""
        if self.forgets(packets):
            for number in np.flatnonzero(self.states != FRESH).tolist():
                self._before[self._keys[number][1]] = int(self.states[number])
            self._hosts = packets.flows.hosts
            self._numbers = Numbers()
            self._keys = _Keys(packets.datagrams.capture, self._hosts, self._numbers)
            self._turned, self.states = np.zeros(0, np.int64), np.zeros(0, np.uint8)
        columns = packets.columns
        # numbers of addresses are below 2^16
        source = columns[k.SOURCE][rows] << 16 | columns[k.SOURCE_PORT][rows]
        destination = columns[k.DESTINATION][rows] << 16 | columns[k.DESTINATION_PORT][rows]
        low, high = np.minimum(source, destination), np.maximum(source, destination)
        flow = self._numbers.of(low, high)
        if len(self.states) < len(self._keys):
            self._take_in()
        return flow, source <= destination

    def _wanted(self, flow: Int64s, flags: Int64s) -> npt.NDArray[np.bool_]:
        wanted: npt.NDArray[np.bool_] = self.states[flow] < LEFT
        begins = ~wanted & (flags & (SYN | ACK) == SYN)
        for row in np.flatnonzero(begins).tolist():  # another connection may begin
            if not wanted[row]:
                number = int(flow[row])
                self.states[number] = FRESH
                wanted[row:] |= flow[row:] == number
        return wanted

    def _take_in(self) -> None:
        """Connections that have no state yet."""
        first = len(self.states)
        fresh = len(self._keys) - first
        self._turned = np.append(self._turned, self._keys.turned(first))
        self.states = np.append(self.states, np.full(fresh, FRESH, np.uint8))
        if self._before:
            for number in range(first, len(self._keys)):
                self.states[number] = self._before.pop(self._keys[number][1], FRESH)


class _Keys(Made[Key]):
    """Keys of connections by number; the text of a carrier is made where somebody asks for it."""

    def __init__(self, capture: int, hosts: Hosts, numbers: Numbers) -> None:
        super().__init__()
        self._capture = capture
        self._hosts = hosts
        self._numbers = numbers
        self._asked: dict[str, int] = {}

    def turned(self, first: int) -> Int64s:
        """Of connections from a number on; 1: the higher end is the carrier's first."""
        low, high = self._numbers.low[first:] >> 16, self._numbers.high[first:] >> 16
        ranks = self._hosts.ranks(np.append(low, high))
        return (ranks[len(low) :] < ranks[: len(low)]).astype(np.int64)

    def number(self, carrier: str) -> int | None:
        """Of a carrier, if it is there."""
        if carrier not in self._asked and len(self._asked) < len(self):
            for number in range(len(self)):
                self[number]
        return self._asked.get(carrier)

    def __len__(self) -> int:
        return len(self._numbers.low)

    def _make(self, number: int) -> Key:
        ends = (int(self._numbers.low[number]), int(self._numbers.high[number]))
        first, second = sorted((self._hosts[end >> 16], end & 0xFFFF) for end in ends)
        carrier = f"tcp|{socket_text(*first)}|{socket_text(*second)}"
        self._asked[carrier] = number
        return self._capture, carrier


class Numbers:
    """Numbers pairs of ends, each below 2^32; a table finds those that were seen before."""

    def __init__(self) -> None:
        self._slots = np.zeros(SLOTS, np.int32)  # number + 1
        self._pairs = np.zeros(0, np.uint64)  # in their own order, and the number of each
        self._numbers = np.zeros(0, np.int64)
        self.low = self.high = np.zeros(0, np.int64)

    def of(self, low: Int64s, high: Int64s) -> Int64s:
        """The number of each pair."""
        slot = (low * 0x2545F491 + high * 0x1B873593 >> 20) & (SLOTS - 1)
        number: Int64s = self._slots[slot].astype(np.int64) - 1
        unknown = number < 0
        if len(self.low):
            unknown |= (self.low[number] != low) | (self.high[number] != high)
        if unknown.any():
            rows = np.flatnonzero(unknown)
            packed = high[rows].astype(np.uint64) << np.uint64(32) | low[rows].astype(np.uint64)
            self._take_in(distinct(packed))
            number[rows] = self._numbers[np.searchsorted(self._pairs, packed)]
            empty = self._slots[slot[rows]] == 0  # else two pairs meet there: found in this way
            self._slots[slot[rows][empty]] = number[rows][empty] + 1
        return number

    def _take_in(self, pairs: npt.NDArray[np.uint64]) -> None:
        """Number those of these pairs that are new, in their order."""
        place = np.searchsorted(self._pairs, pairs)
        known = place < len(self._pairs)
        known[known] = self._pairs[place[known]] == pairs[known]
        fresh, place = pairs[~known], place[~known]
        numbers = len(self.low) + np.arange(len(fresh))
        self._pairs = np.insert(self._pairs, place, fresh)
        self._numbers = np.insert(self._numbers, place, numbers)
        self.low = np.append(self.low, (fresh & np.uint64(0xFFFFFFFF)).astype(np.int64))
        self.high = np.append(self.high, (fresh >> np.uint64(32)).astype(np.int64))


def joined(parts: Sequence[Segments]) -> Segments:
    """Segments of several, at least one, in the order of the capture; their bytes are copied."""
    parts = [part.copied() for part in parts]
    keys = list(dict.fromkeys(key for part in parts for key in part.keys))
    numbers = {key: number for number, key in enumerate(keys)}
    at = 0
    for part in parts:
        part.flow = np.array([numbers[key] for key in part.keys], np.int64)[part.flow]
        part.start, part.stop = part.start + at, part.stop + at
        at += len(part.data)
    columns = map(np.concatenate, zip(*(part.columns() for part in parts), strict=True))
    together = Segments(keys, b"".join(part.data for part in parts), *columns)
    return together.take(np.argsort(together.frame, kind="stable"))


def segment_rows(segments: Segments, fragmented: Collection[Key] = ()) -> pa.RecordBatch:
    """SEGMENT rows.

    Args:
        fragmented: connections of which some segments came in IP fragments.
    """
    count = segments.count
    numbers, flow = grouped(segments.flow)
    keys = [segments.keys[number] for number in numbers.tolist()]
    own = [key[1] for key in keys]
    shared = {"detail": text_column(own, flow)} if fragmented else {}
    carriers = [TOGETHER if key in fragmented else key[1] for key in keys]
    zeros = np.zeros(count, np.int64)
    sizes = segments.stop - segments.start
    return event_batch(
        count,
        {
            "capture": np.array([capture for capture, _ in keys], np.int64)[flow],
            "frame": segments.frame,
            "index": zeros,
            "last_frame": segments.frame,
            "at_ns": segments.at_ns,
            "last_at_ns": segments.at_ns,
            "system": repeated(CAPTURE_SYSTEM, count),
            "carrier": text_column(carriers, flow),
            "conversation": repeated(NO_CONVERSATION, count),
            "source": text_column(DIRECTIONS, segments.direction),
            "kind": np.full(count, int(Kind.SEGMENT), np.int16),
            "wire_kind": repeated(WIRE_KIND, count),
            **shared,
            "seqno": segments.seq,
            "stop_seqno": segments.ack,
            "count": zeros + 1,
            "conn_id": segments.facts,
            "stamp": segments.flags,
            "flags": zeros,
            "size": segments.length,
            "payload": pa.Array.from_buffers(
                pa.binary(),
                count,
                [
                    None,
                    pa.py_buffer(np.append(0, np.cumsum(sizes)).astype(np.int32)),
                    pa.py_buffer(segments.payloads(np.arange(count))),
                ],
            ),
        },
    )


def read_segment_rows(batch: pa.RecordBatch, named_by: str = "carrier") -> Segments:
    """The segments of some rows; a column names the connection of each."""
    carriers, sources = encoded(batch.column(named_by)), encoded(batch.column("source"))
    carrier, capture = carriers.indices.to_numpy(), batch.column("capture").to_numpy()
    captures, which = grouped(capture)
    numbers, flow = grouped(carrier.astype(np.int64) * len(captures) + which)
    texts = carriers.dictionary.to_pylist()
    directions = np.array(list(map(int, sources.dictionary.to_pylist())), np.int64)
    payload = batch.column("payload")
    _, offsets, data = payload.buffers()
    begins = np.frombuffer(offsets, np.int32)[payload.offset :][: len(batch) + 1].astype(np.int64)
    frame, at_ns, seq, ack, flags, length, facts = (
        batch.column(name).to_numpy()
        for name in ("frame", "at_ns", "seqno", "stop_seqno", "stamp", "size", "conn_id")
    )
    return Segments(
        keys=[
            (int(captures[number % len(captures)]), texts[number // len(captures)])
            for number in numbers.tolist()
        ],
        data=b"" if data is None else memoryview(data),
        flow=flow,
        direction=directions[sources.indices.to_numpy()],
        frame=frame,
        at_ns=at_ns,
        seq=seq,
        ack=ack,
        flags=flags,
        length=length,
        facts=facts,
        start=begins[:-1],
        stop=begins[1:],
    )
