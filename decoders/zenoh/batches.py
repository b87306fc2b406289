"""zenoh: batches in, EVENTS rows out (zenoh.md 1 to 7; decoders/README.md 3).

A UDP datagram is one batch, on TCP a length stands before each (``decoders.zenoh.tcp``); from there
on both go the same way. The kernel walks batches and builds runs; here its rows become columns, and
the messages it has only located are read. Key expressions stay as they are on the wire, ``[scope,
table, suffix]``: the tables they refer to belong to the session, which is the conversation, so its
engine resolves them (zenoh.md 6).

Nothing on the wire says "zenoh". A batch is claimed on evidence that other bytes do not have by
chance: a handshake, a Join, a SourceInfo, or the user's word. On zenoh's own port one that reads as
zenoh to the last byte is claimed as well, and its rows are marked (``BY_PORT``): the engine says
nothing of a session that has no other, and is not in step, and gives its batches back. Elsewhere a
batch that merely reads as zenoh is not claimed, but its rows go on, marked ``doubt``: the engine
counts them where the session proves to be one. So it is with one that the snap length cut off, as
far as it reads.
"""

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, FRAME_BITS, ByName, Flag, Kind, compact
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.contract.zenoh_detail import BY_PORT, LARGE, Detail
from seqaudit.decoders.kernels.loader import (
    Buffer,
    Int64s,
    Kernels,
    argument,
    data_argument,
    kernel,
)
from seqaudit.decoders.kernels.loader import memory as kernel_memory
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.zenoh import kernels as wire
from seqaudit.decoders.zenoh import messages
from seqaudit.decoders.zenoh.crowds import Crowds
from seqaudit.decoders.zenoh.lz4_blocks import MAX_BATCH_BYTES, beginning

SYSTEM: Final = "zenoh"
_MULTICAST: Final = int(Flag.MULTICAST)
PORT: Final = 7447  # of routers; peers choose theirs (zenoh.md 2.1)
SCOUTING_PORT: Final = 7446

#: Output rows of one round; the largest batch needs less.
ROWS: Final = 3 * wire.MAX_RECORDS
#: A batch has fewer messages (``MAX_RECORDS``): index = place of the batch << PLACE_BITS | message.
PLACE_BITS: Final = 16
#: Bytes that compressed batches of a chunk may hold together before they are read.
MAX_UNPACKED: Final = 16 << 20
#: Rows of a chunk, 16 MB of capture; legitimate ones are a tenth of that at most.
MAX_CHUNK_ROWS: Final = 2_000_000
#: Counters whose fragmented message is watched; of further ones every piece travels.
MAX_TOLD: Final = 10_000
#: Of a located message so much is read: everything before its payload.
READ_BYTES: Final = 70_000

OUTCOMES: Final = {
    wire.NOTHING: FrameOutcome.NOT_CLAIMED,
    wire.DECODED: FrameOutcome.DECODED,
    wire.WEAK: FrameOutcome.NOT_CLAIMED,
    wire.MALFORMED: FrameOutcome.MALFORMED,
    wire.TRUNCATED: FrameOutcome.TRUNCATED,
    wire.UNDECODABLE: FrameOutcome.UNDECODABLE,
    wire.SCOUT: FrameOutcome.DECODED,
    wire.WEAK_CUT: FrameOutcome.NOT_CLAIMED,
}
_OUTCOME_OF: Final = np.array([OUTCOMES[status] for status in range(len(OUTCOMES))], np.int64)

#: What the row of a batch says that was not read to its end.
CUT_OFF: Final = {
    wire.TRUNCATED: "{}",
    wire.WEAK_CUT: '{"doubt":1}',
    wire.MALFORMED: '{"unread":1}',
    wire.UNDECODABLE: '{"unread":1}',
}

#: Our word for a message (``Kind``); all others are NOTICE.
KINDS: Final = {
    "request": Kind.REQUEST,
    "response": Kind.RETRANSMISSION,
    "Close": Kind.CLOSE,
    "InitSyn": Kind.SYNC,
    "InitAck": Kind.SYNC,
    "OpenSyn": Kind.SYNC,
    "OpenAck": Kind.SYNC,
    "Join": Kind.SYNC,
    "declare.subscriber": Kind.SUBSCRIBE,
    "declare.u_subscriber": Kind.SUBSCRIBE,
}


@dataclass(slots=True)
class Batches:
    """Batches of one chunk in order; columns are (count,) int64.

    Several batches may share a frame; they are then in their order within it.
    """

    data: bytes | bytearray | memoryview
    compile_it: bool
    capture: int
    split: int
    transport: str  # "udp" or "tcp"
    hosts: Sequence[str]  # addresses as text, by number
    frame: Int64s  # number in the split
    at_ns: Int64s
    start: Int64s
    stop: Int64s  # one past the last captured byte
    end: Int64s  # one past the last byte
    source: Int64s
    destination: Int64s
    source_port: Int64s
    destination_port: Int64s
    ip_id: Int64s  # -1: none
    flags: Int64s  # Flag
    mode: Int64s  # of the kernel: KNOWN, PORT, SCOUTING, NOT_OURS, BARRIER
    place: Int64s | None = None  # number of the batch in its frame; null: batches are frames

    @property
    def count(self) -> int:
        return len(self.frame)


class BatchDecoder:
    """Turns batches into rows and counts what they were."""

    def __init__(self) -> None:
        self._memory: Int64s | None = None
        self.messages: Counter[str] = Counter()
        self.undecoded: Counter[str] = Counter()
        self.sureness: Counter[str] = Counter()
        #: Counter -> whether the first piece of its fragmented message says what the message is.
        self._told: dict[tuple[str, str, int], bool] = {}
        self._crowds = Crowds()

    def before(self, batches: Batches) -> None:
        """What came just before the first ones that are decoded."""
        self._crowd(batches, self._eligible(batches))

    def decode(self, batches: Batches) -> tuple[list[pa.RecordBatch], Int64s]:
        """EVENTS rows, and the kernel's status of each batch."""
        count = batches.count
        status = np.zeros(count, np.int64)
        mode = batches.mode
        rows = self._eligible(batches)
        if not len(rows) or not (mode[rows] & wire.BARRIER == 0).any():
            return [], status
        compile_it = batches.compile_it
        module = kernel("zenoh.kernels", compile_it=compile_it)
        columns = self._columns(batches, rows)
        found: list[pa.RecordBatch] = []
        made = 0
        for begin, stop, data in self._rounds(batches, columns, module):
            if made > MAX_CHUNK_ROWS:
                columns[wire.STATUS, begin:] = wire.NOTHING
                self.undecoded["zenoh: more messages than a capture can need"] += len(rows) - begin
                break
            part = columns if stop - begin == len(rows) else columns[:, begin:stop].copy()
            for batch in self._walked(batches, rows[begin:stop], data, part, module):
                made += batch.num_rows
                found.append(batch)
            columns[wire.STATUS, begin:stop] = part[wire.STATUS]
        status[rows] = columns[wire.STATUS]
        found += self._cut(batches, np.flatnonzero(np.isin(status, list(CUT_OFF))), status)
        self._count(status, mode)
        return found, status

    def _walked(
        self,
        batches: Batches,
        rows: Int64s,
        data: Buffer,
        columns: Int64s,
        module: Kernels,
    ) -> Iterator[pa.RecordBatch]:
        """Rows of some batches; their status is written into ``columns``."""
        compile_it = batches.compile_it
        memory = self._memory
        if memory is None:
            memory = self._memory = kernel_memory(wire.OUT + ROWS * wire.WIDTH)
        done, number, total = 0, len(rows), 0
        while done < number:
            if total > MAX_CHUNK_ROWS:
                columns[wire.STATUS, done:] = wire.NOTHING
                self.undecoded["zenoh: more messages than a capture can need"] += number - done
                return
            memory[: wire.RECORDS] = 0
            done, made = module.decode(
                data_argument(data, compile_it=compile_it),
                argument(columns.reshape(-1), compile_it=compile_it),
                number,
                done,
                len(memory),
                argument(memory, compile_it=compile_it),
            )
            total += int(made)
            table = memory[wire.OUT : wire.OUT + int(made) * wire.WIDTH].reshape(-1, wire.WIDTH)
            if len(table):
                yield from self._rows(batches, rows, data, table)

    def _cut(self, batches: Batches, places: Int64s, status: Int64s) -> Iterator[pa.RecordBatch]:
        """A row for each batch that was not read to its end, behind what was read of it."""
        events = []
        for place in places.tolist():
            sender, receiver, conversation = _ends(batches, place)
            frame = int(batches.frame[place]) | batches.split << FRAME_BITS
            number = 0 if batches.place is None else int(batches.place[place])
            events.append(
                dict.fromkeys(EVENTS.names)
                | {
                    "capture": batches.capture,
                    "frame": frame,
                    "index": number + 1 << PLACE_BITS,
                    "last_frame": frame,
                    "at_ns": int(batches.at_ns[place]),
                    "last_at_ns": int(batches.at_ns[place]),
                    "system": SYSTEM,
                    "conversation": conversation,
                    "source": sender,
                    "destination": receiver,
                    "kind": int(Kind.NOTICE),
                    "wire_kind": "cut",
                    "detail": CUT_OFF[int(status[place])],
                    "count": 0,
                    "flags": int(batches.flags[place]) & Flag.REFUSED,
                    "size": 0,
                }
            )
        if events:
            yield pa.RecordBatch.from_pylist(events, schema=EVENTS)

    def _eligible(self, batches: Batches) -> Int64s:
        """Rows of those that may be zenoh, or stand for a datagram that is not here."""
        eligible = (batches.mode & wire.NOT_OURS) == 0
        barrier = batches.mode & wire.BARRIER != 0
        return np.flatnonzero(eligible & (self._plausible(batches) | barrier))

    def _crowd(self, batches: Batches, rows: Int64s) -> Int64s:
        """How full the socket of each datagram may have been; a barrier is none, and fills none."""
        found = np.zeros(len(rows), np.int64)
        whole = batches.mode[rows] & wire.BARRIER == 0
        of = batches.destination, batches.destination_port, batches.at_ns
        host, port, at_ns = (values[rows[whole]] for values in of)
        found[whole] = self._crowds.of(batches.hosts, host, port, at_ns)
        return found

    def _plausible(self, batches: Batches) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
        """Batches that begin like one; most of a foreign capture ends here."""
        filled = batches.stop > batches.start
        data = np.frombuffer(batches.data, np.uint8)
        first = np.zeros(batches.count, np.int64)
        first[filled] = data[batches.start[filled]]
        kind = first & 31
        plausible: np.ndarray[tuple[int], np.dtype[np.bool]] = filled & (
            ((kind >= 1) & (kind <= 7)) | (kind >= 25) | (first == 0)
        )
        return plausible

    def _columns(self, batches: Batches, rows: Int64s) -> Int64s:
        columns = np.zeros((wire.COLUMNS, len(rows)), np.int64)
        for place, values in (
            (wire.START, batches.start),
            (wire.STOP, batches.stop),
            (wire.END, batches.end),
            (wire.FRAME, batches.frame if batches.place is None else np.arange(batches.count) + 1),
            (wire.AT_NS, batches.at_ns),
            (wire.SOURCE, batches.source),
            (wire.DESTINATION, batches.destination),
            (wire.PORTS, batches.source_port << 16 | batches.destination_port),
            (wire.FLAGS, batches.flags),
            (wire.MODE, batches.mode),
        ):
            columns[place] = values[rows]
        if batches.transport == "udp":
            columns[wire.MODE] |= wire.LARGE * (columns[wire.END] - columns[wire.START] > LARGE)
            columns[wire.CROWD] = self._crowd(batches, rows)
        return columns

    def _rounds(
        self, batches: Batches, columns: Int64s, module: Kernels
    ) -> Iterator[tuple[int, int, Buffer]]:
        """(begin, stop, bytes) of batches that are walked together.

        The bytes are the chunk's, behind them what compressed batches hold, whose places are
        moved: at most ``MAX_UNPACKED`` at a time, for a block may hold 255 times its size.
        """
        compile_it = batches.compile_it
        number = columns.shape[1]
        module.compressed(
            data_argument(batches.data, compile_it=compile_it),
            argument(columns.reshape(-1), compile_it=compile_it),
            number,
        )
        plain = columns[wire.STATUS] == 2
        columns[wire.START, plain] += 1
        packed = np.flatnonzero(columns[wire.STATUS] == 1).tolist()
        if not packed:
            yield 0, number, batches.data
            return
        import lz4.block

        chunk = bytes(batches.data)
        parts, size, begin = [chunk], len(chunk), 0
        for i in packed:
            start, stop = int(columns[wire.START, i]) + 1, int(columns[wire.STOP, i])
            cut = stop < int(columns[wire.END, i])
            try:
                part = beginning(chunk[start:stop]) if cut else lz4.block.decompress(
                    chunk[start:stop], uncompressed_size=MAX_BATCH_BYTES
                )  # fmt: skip
            except (lz4.block.LZ4BlockError, ValueError):
                continue
            if size - len(chunk) + len(part) > MAX_UNPACKED:
                yield begin, i, b"".join(parts)
                parts, size, begin = [chunk], len(chunk), i
            parts.append(part)
            columns[wire.START, i] = size
            size += len(part)
            columns[wire.STOP, i] = columns[wire.END, i] = size
            if cut:  # how much more there was is not known
                columns[wire.END, i] += max(MAX_BATCH_BYTES - len(part), 1)
        yield begin, number, b"".join(parts)

    def _count(self, status: Int64s, mode: Int64s) -> None:
        decoded = status == wire.DECODED
        forced = decoded & (mode & wire.KNOWN != 0)
        for word, number in (
            ("certain", int((decoded & ~forced).sum()) + int((status == wire.SCOUT).sum())),
            ("forced", int(forced.sum())),
        ):
            if number:
                self.sureness[word] += number
        unknown = int((status == wire.UNDECODABLE).sum())
        if unknown:
            self.undecoded["zenoh: a mandatory extension that is not known"] += unknown
        scouts = int((status == wire.SCOUT).sum())
        if scouts:
            self.messages["Scout or Hello"] += scouts

    def _rows(
        self, batches: Batches, rows: Int64s, data: Buffer, table: Int64s
    ) -> Iterator[pa.RecordBatch]:
        ends = _Ends(batches)
        events = [
            event
            for row in table.tolist()
            for event in self._events(batches, rows, data, row, ends[int(rows[row[wire.FIRST]])])
        ]
        if events:
            yield pa.RecordBatch.from_pylist(events, schema=EVENTS)

    def _events(
        self,
        batches: Batches,
        rows: Int64s,
        data: Buffer,
        row: list[int],
        ends: tuple[str, str, str],
    ) -> Iterator[ByName]:
        kind, doubt = row[wire.KIND], row[wire.DOUBT]
        sender, receiver, conversation = ends
        if kind == wire.FRAGMENT:
            word, detail = "Fragment", self._fragment(data, row, (sender, receiver, row[wire.CODE]))
        else:
            word, detail = self._read(data, row)
        if doubt in (0, wire.BY_PORT) and kind != wire.BATCHES:
            self.messages[word] += row[wire.COUNT]
        event = _event(batches, rows, row)
        event |= {
            "conversation": conversation,
            "source": sender,
            "destination": receiver,
            "kind": int(KINDS.get(word, Kind.NOTICE)),
            "wire_kind": word,
        }
        code = row[wire.CODE]
        if kind in (wire.HOP_RUN, wire.FRAGMENT):
            event |= {
                "kind": int(Kind.DATA),
                "stream": f"{sender}>{receiver}|{code >> 1}|{'RB'[1 - (code & 1)]}",
                "seqno": row[wire.HOP],
                "stop_seqno": row[wire.LAST_HOP] + 1,
            }
            if row[wire.CROWDED]:
                detail["crowd"] = row[wire.CROWDED]
        elif kind == wire.SAMPLES:
            event |= {
                "kind": int(Kind.DATA),
                "stream": f"{sender}>{receiver}|{detail['zid']}/{detail['eid']}",
                "seqno": row[wire.SEQ],
                "stop_seqno": row[wire.LAST_SEQ] + 1,
            }
        if doubt:
            detail["doubt"] = BY_PORT if doubt == wire.BY_PORT else 1
        event["detail"] = compact(detail)
        yield event
        if word in ("InitSyn", "InitAck", "Join") and not doubt:
            yield event | {
                "index": -1,
                "source": detail["zid"],
                "destination": None,
                "kind": int(Kind.MEMBER),
                "wire_kind": "MEMBER",
                "count": 0,
                "size": 0,
                "detail": compact({"address": sender, "whatami": detail["whatami"]}),
            }

    def _read(self, data: Buffer, row: list[int]) -> tuple[str, Detail]:
        """The wire's word for a row, and what its detail says."""
        kind = row[wire.KIND]
        if kind == wire.BATCHES:
            return "batches", {}
        if kind == wire.HOP_RUN:
            return "Frame", {}
        if kind in (wire.SAMPLES, wire.PLAIN):
            suffix = row[wire.SUFFIX_AT]
            text = messages.text(bytes(data[suffix : suffix + row[wire.SUFFIX_LEN]]))
            key = row[wire.SCOPE], row[wire.MAPPING], text
            detail: Detail = {"key": key, "last_hop": row[wire.LAST_HOP]}
            if kind == wire.SAMPLES:
                at = row[wire.ZID_AT]
                raw = bytes(data[at : at + row[wire.ZID_LEN]])
                detail |= {"zid": messages.zid_text(raw), "eid": row[wire.EID]}
                if row[wire.EID] == wire.ROS_EID:
                    detail |= {"zid": raw.hex(), "eid": messages.ROS}
                detail["qos"] = row[wire.QOS]
            return "push", detail
        begin, stop = row[wire.AT], row[wire.CAPTURED]
        raw = bytes(data[begin : min(stop, begin + READ_BYTES)])
        read = messages.read if kind == wire.NETWORK else messages.read_transport
        told = read(raw)
        return told if told is not None else ("unreadable", {})

    def _fragment(self, data: Buffer, row: list[int], key: tuple[str, str, int]) -> Detail:
        """What a fragment is; ``message``: what the message is, if this piece says so.

        ``piece`` has its bytes, in base64, where the message's first piece is not enough, or may
        not have been: its engine puts them together (zenoh.md 8.5).
        """
        begin, stop = row[wire.AT], row[wire.CAPTURED]
        first, more = row[wire.AUX] & 1, row[wire.HEADER] >> 6 & 1
        detail: Detail = {"first": first, "more": more, "drop": row[wire.AUX] >> 1 & 1}
        known = self._told.get(key)
        if first or known is None:
            told = messages.read(bytes(data[begin : min(stop, begin + READ_BYTES)]))
            if told is not None:
                detail["message"] = told
            known = bool(first) and told is not None
        if not known:
            detail["piece"] = base64.b64encode(bytes(data[begin:stop])).decode("ascii")
        if not more:
            self._told.pop(key, None)
        elif key in self._told or len(self._told) < MAX_TOLD:
            self._told[key] = known
        return detail

    def account(self) -> dict[str, object]:
        """``messages_by`` and what else an ACCOUNT row has of a decoder."""
        return {
            "messages_by": {SYSTEM: dict(sorted(self.messages.items()))} if self.messages else {},
            "undecoded": dict(sorted(self.undecoded.items())),
            "sureness": dict(sorted(self.sureness.items())),
        }


class ZenohDecoder:
    """DatagramDecoder of zenoh over UDP."""

    system: Final = SYSTEM
    kernel_file: Final = "zenoh.kernels"

    def __init__(self, settings: DecodeSettings) -> None:
        self._ports = {
            port: wire.KNOWN if system == self.system else wire.NOT_OURS
            for protocol, port, system in settings.decode_as
            if protocol == "udp"
        }
        self._decoder = BatchDecoder()

    def before(self, datagrams: Datagrams) -> None:
        """What came in the ``CROWD_NS`` before the piece."""
        self._decoder.before(self._batches(datagrams))

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim what is zenoh (``outcome``) and return its rows."""
        if datagrams.count == 0:
            return []
        found, status = self._decoder.decode(self._batches(datagrams))
        mine = status != wire.NOTHING
        datagrams.outcome[mine] = _OUTCOME_OF[status[mine]]
        return found

    def finish(self) -> list[pa.RecordBatch]:
        """Nothing is open between two chunks."""
        return []

    def account(self) -> dict[str, object]:
        return self._decoder.account()

    def _batches(self, datagrams: Datagrams) -> Batches:
        mode = np.zeros(datagrams.count, np.int64)
        ports = (datagrams.source_port, datagrams.destination_port)
        for port, value in ((PORT, wire.PORT), (SCOUTING_PORT, wire.SCOUTING)):
            mode[(ports[0] == port) | (ports[1] == port)] |= value
        for port, value in self._ports.items():
            mode[(ports[0] == port) | (ports[1] == port)] |= value
        mode[datagrams.outcome != FrameOutcome.NOT_CLAIMED] |= wire.NOT_OURS
        mode[datagrams.barrier == 1] = wire.BARRIER
        return Batches(
            data=datagrams.data,
            compile_it=datagrams.compile_it,
            capture=datagrams.capture,
            split=datagrams.split,
            transport="udp",
            hosts=datagrams.hosts,
            frame=datagrams.frame,
            at_ns=datagrams.at_ns,
            start=datagrams.start,
            stop=datagrams.stop,
            end=datagrams.start + datagrams.length,
            source=datagrams.source,
            destination=datagrams.destination,
            source_port=datagrams.source_port,
            destination_port=datagrams.destination_port,
            ip_id=datagrams.ip_id,
            flags=datagrams.flags,
            mode=mode,
        )


def endpoint(address: str, port: int) -> str:
    """``10.77.0.1:7447``, ``[fd00::1]:7447``."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


class _Ends(dict[int, tuple[str, str, str]]):
    """``_ends`` of batches by place: of one with several rows they are told once."""

    def __init__(self, batches: Batches) -> None:
        super().__init__()
        self._batches = batches

    def __missing__(self, place: int) -> tuple[str, str, str]:
        found = self[place] = _ends(self._batches, place)
        return found


def _ends(batches: Batches, place: int) -> tuple[str, str, str]:
    """Sender, receiver and conversation of a batch: the pair of endpoints, or the group."""
    sender = endpoint(batches.hosts[int(batches.source[place])], int(batches.source_port[place]))
    receiver = endpoint(
        batches.hosts[int(batches.destination[place])], int(batches.destination_port[place])
    )
    if int(batches.flags[place]) & _MULTICAST:
        return sender, receiver, f"{SYSTEM}|{batches.transport}|{receiver}"
    pair = "|".join(sorted((sender, receiver)))
    return sender, receiver, f"{SYSTEM}|{batches.transport}|{pair}"


def _event(batches: Batches, rows: Int64s, row: list[int]) -> ByName:
    """The columns that every row has."""
    first, last = int(rows[row[wire.FIRST]]), int(rows[row[wire.LAST]])
    split = batches.split << FRAME_BITS
    code = row[wire.CODE]
    ip_ids = int(batches.ip_id[first]), int(batches.ip_id[last])
    hop = row[wire.HOP] if row[wire.KIND] <= wire.NETWORK and code >= 0 else None
    place = 0 if batches.place is None else int(batches.place[first])
    return {
        "capture": batches.capture,
        "frame": int(batches.frame[first]) | split,
        "index": place << PLACE_BITS | row[wire.INDEX],
        "last_frame": int(batches.frame[last]) | split,
        "at_ns": int(batches.at_ns[first]),
        "last_at_ns": int(batches.at_ns[last]),
        "system": SYSTEM,
        "count": row[wire.COUNT],
        "conn_id": code,
        "stamp": hop,
        "flags": row[wire.ROW_FLAGS],
        "size": row[wire.SIZE],
        "fresh_id": ip_ids[0] if ip_ids[0] >= 0 else None,
        "last_fresh_id": ip_ids[1] if ip_ids[1] >= 0 else None,
    }
