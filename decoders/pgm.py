"""PGM over UDP and as IP protocol 113: datagrams in, EVENTS rows out (raims.md 2; RFC 3208).

The kernel walks packets and the raims messages in ODATA and RDATA; here its rows become columns.
PGM rows go to the conversation of their TSI (``pgm|GSI.port``), where any PGM application is
audited, and, where raims is decoded, to the conversation ``raims`` as well: its engine delivers
messages as the receiver's window does. A run ends with the chunk.

Streams: of PGM rows ``GSI.port`` in ``pgm|…``; in ``raims`` the link ``pgm:GSI.port|``, which is a
prefix of the streams of its messages (``raims_rows``), so that a row of the link ends their runs.
"""

import json
from collections import Counter
from typing import Any, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders import pgm_kernels as wire
from seqaudit.decoders.columns import distinct
from seqaudit.decoders.events import EVENTS, FRAME_BITS, Kind
from seqaudit.decoders.kernels import Int64s, argument, data_argument, kernel, memory
from seqaudit.decoders.packets import Datagrams, Outcome
from seqaudit.decoders.raims_rows import RAIMS, RaimsRows, Where
from seqaudit.decoders.settings import DecodeSettings

SYSTEM: Final = "pgm"

#: Output rows of one round.
ROWS: Final = 20_000

#: PGM packet types (raims.md 2; RFC 3208 8).
TYPES: Final = {
    0: "SPM", 1: "POLL", 2: "POLR", 4: "ODATA", 5: "RDATA", 8: "NAK", 9: "NNAK", 10: "NCF",
    12: "SPMR", 13: "ACK",
}  # fmt: skip

_KINDS: Final = {
    wire.SPM: Kind.HIGHEST,
    wire.ODATA: Kind.DATA,
    wire.RDATA: Kind.RETRANSMISSION,
    wire.NAK: Kind.REQUEST,
}

#: Bytes of a PGM header.
HEADER_BYTES: Final = 16
DAMAGED: Final = "PGM packet with a wrong checksum, which receivers drop"
_NUMBERED: Final = frozenset({wire.ODATA, wire.RDATA, wire.NAK, wire.NCF})

OPTION_NAK_LIST: Final = 0x02
#: A parity packet: its number is that of a group of packets (RFC 3208 11).
OPTION_PARITY: Final = 0x80
EMPTY_LEAD: Final = 0xFFFFFFFF
SQNS: Final = 1 << 32

MODE_RAIMS: Final = 1
MODE_PGM: Final = 2
MODE_BESIDE: Final = 3
MODE_STREAM: Final = 4


class Walk:
    """The kernel and its memory; one object a decoder.

    Args:
        mode: of the kernel, ``wire.W_MODE``.
    """

    def __init__(self, mode: int) -> None:
        self.memory = memory(wire.OUT + ROWS * wire.WIDTH)
        self._mode = mode

    def rounds(self, datagrams: Datagrams, wanted: Int64s) -> Any:
        """Tables of rows, (rows, WIDTH); each holds until the next is asked for."""
        compile_it = datagrams.compile_it
        module = kernel("pgm_kernels", compile_it=compile_it)
        columns = [
            datagrams.start,
            datagrams.stop,
            datagrams.length,
            datagrams.source,
            datagrams.destination,
            datagrams.source_port,
            datagrams.destination_port,
            datagrams.flags,
            datagrams.at_ns,
            datagrams.frame | datagrams.split << FRAME_BITS,
            datagrams.ip_id,
            datagrams.barrier,
            wanted,
            datagrams.outcome,
            self.memory,
        ]
        arguments = [
            argument(np.ascontiguousarray(column), compile_it=compile_it)
            if column is not datagrams.outcome
            else argument(column, compile_it=compile_it)
            for column in columns
        ]
        data = data_argument(datagrams.data, compile_it=compile_it)
        done = 0
        while done < datagrams.count:
            self._empty(done)
            done, rows = module.decode(data, datagrams.count, *arguments, len(self.memory))
            table = self.memory[wire.OUT : wire.OUT + int(rows) * wire.WIDTH]
            yield table.reshape(-1, wire.WIDTH)

    def _empty(self, done: int) -> None:
        """Start anew with rows and streams; links stay unless their table is full."""
        memory = self.memory
        memory[wire.W_NEXT] = done
        memory[wire.W_ROWS] = memory[wire.W_FLOOR] = wire.OUT
        memory[wire.W_MODE] = self._mode
        if memory[wire.W_STREAMS]:  # else nothing is there, and it is a megabyte
            memory[wire.SLOTS : wire.STREAMS] = 0
        memory[wire.W_STREAMS] = 0
        used = max(2, int(memory[wire.W_LINKS])) + 1
        links = memory[wire.LINKS : wire.SLOTS].reshape(-1, wire.LINK_WORDS)[:used]
        if memory[wire.W_LINKS] + 2 >= wire.LINK_LIMIT:
            memory[wire.W_LINKS] = 0
            memory[wire.LINK_SLOTS : wire.LINKS] = 0
        links[:, wire.L_FLOOR] = links[:, wire.L_OPEN] = 0
        if self._mode == MODE_STREAM:  # links 1 and 2 are the directions
            links[:, wire.L_RAIMS] = 1

    def tsi(self, number: int) -> str:
        """A TSI as tshark writes its parts: GSI in hex, then the source port."""
        at = wire.LINKS + number * wire.LINK_WORDS
        gsi, port = self.memory[at + wire.L_GSI], self.memory[at + wire.L_PORT]
        return f"{int(gsi):012x}.{int(port)}"


def wanted_of(datagrams: Datagrams, settings: DecodeSettings, system: str) -> Int64s:
    """1: forced by --decode-as; -1: forced to be another system's, or claimed already; else 0."""
    wanted = np.zeros(datagrams.count, np.int64)
    for transport, port, name in settings.decode_as:
        if transport == "udp":
            value = 1 if name == system else -1
            wanted[(datagrams.destination_port == port) | (datagrams.source_port == port)] = value
    wanted[datagrams.outcome != Outcome.NOT_CLAIMED] = -1
    return wanted


def wrong_checksums(datagrams: Datagrams, wanted: Int64s) -> Int64s:
    """2 for what looks like PGM, is there to its end, and has a checksum that is wrong; else 0.

    The checksum is the ones' complement of the ones' complement sum of the packet's 16-bit words,
    so their sum with it is a multiple of 65535; 0 is none (RFC 3208 8; raims.md 2).
    """
    wrong = np.zeros(datagrams.count, np.int64)
    start, stop, length = datagrams.start, datagrams.stop, datagrams.length
    whole = (wanted >= 0) & (datagrams.barrier == 0) & (length >= HEADER_BYTES)
    rows = np.flatnonzero(whole & (stop - start == length))
    if not len(rows):
        return wrong
    data = np.frombuffer(datagrams.data, np.uint8)
    at = start[rows]

    def word(offset: int) -> Int64s:
        high = data[at + offset].astype(np.int64)
        return high << 8 | data[at + offset + 1]

    sort = data[at + 4]
    carries = (sort == wire.ODATA) | (sort == wire.RDATA)
    tsdu = word(14)
    room = length[rows] - 24 - tsdu
    likely = (data[at + 5] & 0x3C == 0) & (word(6) != 0) & (sort < 16)
    likely &= np.where(carries, room >= 0, tsdu == 0)
    rows, at = rows[likely], at[likely]
    if not len(rows):
        return wrong
    end = stop[rows]
    # bytes at even and at odd offsets of the buffer, summed by packet
    even = _sums(data[0::2], (at + 1) // 2, (end + 1) // 2)
    odd = _sums(data[1::2], at // 2, end // 2)
    high = np.where(at % 2 == 0, even, odd)
    total = high * 256 + (even + odd - high)
    wrong[rows[total % 0xFFFF != 0]] = 2
    return wrong


def _sums(values: np.ndarray[Any, np.dtype[np.uint8]], begin: Int64s, end: Int64s) -> Int64s:
    """Sums of values[begin:end], none of which is empty."""
    padded = np.append(values, np.uint8(0))  # so that an end may be the length
    pairs = np.column_stack([begin, end]).ravel()
    return np.add.reduceat(padded, pairs, dtype=np.int64)[::2]


class PgmDecoder:
    """DatagramDecoder of PGM, and of raims messages in it."""

    system: Final = SYSTEM

    def __init__(self, settings: DecodeSettings) -> None:
        self._settings = settings
        self._with_raims = RAIMS not in settings.no_decode
        self._walk = Walk(MODE_RAIMS if self._with_raims else MODE_PGM)
        self._rows = RaimsRows()

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim what is PGM (``outcome``) and return its rows."""
        if datagrams.count == 0:
            return []
        batches: list[pa.RecordBatch] = []
        wanted = wanted_of(datagrams, self._settings, self.system)
        wanted += wrong_checksums(datagrams, wanted)
        for table in self._walk.rounds(datagrams, wanted):
            batches += self._batches(datagrams, table)
        return batches

    def finish(self) -> list[pa.RecordBatch]:
        """Nothing is open between two chunks."""
        return []

    def account(self) -> dict[str, object]:
        """Packets by type, messages by name, what was left unread."""
        counts = self._walk.memory[wire.COUNTS : wire.COUNTS + 16].tolist()
        packets = {TYPES.get(sort, f"type {sort}"): n for sort, n in enumerate(counts) if n}
        messages = dict(self._rows.messages)
        for at, word in ((wire.C_DATA, "DATA"), (wire.C_GLSNO, "GLSNO")):
            if number := int(self._walk.memory[at]):
                messages[word] = messages.get(word, 0) + number
        damaged = Counter(self._rows.undecoded)
        if count := int(self._walk.memory[wire.C_DAMAGED]):
            damaged[DAMAGED] += count
        by_system = {SYSTEM: packets} if packets else {}
        if messages:
            by_system[RAIMS] = messages
        return {
            "messages_by": by_system,
            "undecoded": dict(sorted(damaged.items())),
            "sureness": {"certain": sum(counts)} if packets else {},
        }

    def _batches(self, datagrams: Datagrams, table: Int64s) -> list[pa.RecordBatch]:
        if not len(table):
            return []
        batches: list[pa.RecordBatch] = []
        sort = table[:, wire.SORT]
        hosts = datagrams.hosts
        links = {int(n): self._walk.tsi(int(n)) for n in distinct(table[:, wire.LINK])}
        where = Where(datagrams, links)
        packets: list[dict[str, Any]] = []
        about_pgm = (sort == wire.PGM_DATA) | (sort == wire.PGM_OTHER) | (sort == wire.TRAILED)
        for row in table[about_pgm].tolist():
            told = self._packet(datagrams, row, links[row[wire.LINK]], hosts)
            packets.append(told)
            if self._with_raims:
                tsi = told["stream"]
                packets.append(told | {"conversation": RAIMS, "stream": f"pgm:{tsi}|"})
        if packets:
            batches.append(pa.RecordBatch.from_pylist(packets, schema=EVENTS))
        batches += self._rows.batches(where, self._walk.memory, table)
        return batches

    def _packet(
        self, datagrams: Datagrams, row: list[int], tsi: str, hosts: list[str]
    ) -> dict[str, Any]:
        """The row of a packet, or of a run of ODATA."""
        sort = row[wire.COLUMN]
        event: dict[str, Any] = {
            "capture": datagrams.capture,
            "frame": row[wire.FRAME],
            "index": row[wire.INDEX],
            "last_frame": row[wire.LAST_FRAME],
            "at_ns": row[wire.AT],
            "last_at_ns": row[wire.LAST_AT],
            "system": SYSTEM,
            "conversation": f"pgm|{tsi}",
            "stream": tsi,
            "source": hosts[row[wire.SOURCE]],
            "destination": hosts[row[wire.DESTINATION]],
            "kind": int(_KINDS.get(sort, Kind.NOTICE)),
            "wire_kind": TYPES.get(sort, f"TYPE_{sort}"),
            "count": row[wire.COUNT],
            "flags": row[wire.FLAGS],
            "size": row[wire.SIZE],
            "fresh_id": row[wire.ID] if row[wire.ID] >= 0 else None,
            "last_fresh_id": row[wire.ID] if row[wire.ID] >= 0 else None,
        }
        if row[wire.SORT] == wire.TRAILED:
            return event | {
                "wire_kind": "TRAIL", "kind": int(Kind.NOTICE), "stamp": row[wire.TRAIL],
                "count": 0,
            }  # fmt: skip
        if row[wire.WORD] & OPTION_PARITY and sort in _NUMBERED:
            stamp = row[wire.TRAIL] if row[wire.SORT] == wire.PGM_DATA else None
            word = f"PARITY_{TYPES[sort]}"
            return event | {"wire_kind": word, "kind": int(Kind.NOTICE), "stamp": stamp}
        if row[wire.SORT] == wire.PGM_DATA:
            return event | {
                "seqno": row[wire.SEQNO], "stop_seqno": row[wire.STOP], "stamp": row[wire.TRAIL],
            }  # fmt: skip
        body = bytes(datagrams.data[row[wire.BODY_AT] : row[wire.BODY_STOP]])
        if sort == wire.SPM and row[wire.SQN] >= 0:
            event |= {"stamp": row[wire.TRAIL], "conn_id": row[wire.SQN]}
            # an empty window says trail = lead + 1 (raims.md 2)
            if (row[wire.LEAD] + 1) % SQNS != row[wire.TRAIL]:
                event |= {"seqno": row[wire.LEAD], "stop_seqno": row[wire.LEAD] + 1}
        elif sort in (wire.NAK, wire.NCF, 9) and len(body) >= 4:
            sqns = sqns_of(body, row[wire.WORD])
            event |= {
                "seqno": sqns[0],
                "stop_seqno": sqns[0] + 1,
                "detail": json.dumps([[sqn, sqn + 1] for sqn in sqns], separators=(",", ":")),
            }
        return event


def sqns_of(body: bytes, options: int) -> list[int]:
    """The sqns of a NAK or NCF, its list included (raims.md 2); ``body`` follows the header."""
    sqns = [int.from_bytes(body[:4], "big")]
    at = 4
    for _ in range(2):  # source and group NLA
        family = int.from_bytes(body[at : at + 2], "big")
        at += 20 if family == 2 else 8
    if not options & OPTION_NAK_LIST:
        return sqns
    while at + 4 <= len(body):
        kind, size = body[at] & 0x7F, body[at + 1]
        if kind == 0x02:  # OPT_NAK_LIST: after type, length and two reserved bytes, sqns
            listed = body[at + 4 : at + size]
            sqns += [int.from_bytes(listed[i : i + 4], "big") for i in range(0, len(listed) - 3, 4)]
            return sqns
        if size < 4:
            return sqns
        at += size
    return sqns
