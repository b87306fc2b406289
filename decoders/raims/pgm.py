"""PGM over UDP and as IP protocol 113: datagrams in, EVENTS rows out (raims.md 2; RFC 3208).

The kernel walks packets and the raims messages in ODATA and RDATA; here its rows become columns.
PGM rows go to the conversation of their TSI (``pgm|GSI.port``), where any PGM application is
audited, and, where raims is decoded, to the conversation ``raims`` as well: its engine delivers
messages as the receiver's window does. A run ends with the chunk.

Streams: of PGM rows ``GSI.port`` in ``pgm|…``; in ``raims`` the link ``pgm:GSI.port|``, which is a
prefix of the streams of its messages (``decoders.raims.rows``), so that a row of the link ends
their runs.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import int_column, taken
from seqaudit.decoders.contract.event_columns import (
    EventRows,
    event_batch,
    flags_of,
    grouped,
    repeated,
    texts,
    written,
)
from seqaudit.decoders.contract.events import EVENTS, FRAME_BITS, ByName, Kind
from seqaudit.decoders.contract.settings import USUAL_WINDOW_SQNS, DecodeSettings
from seqaudit.decoders.kernels.loader import (
    Int64s,
    argument,
    data_argument,
    interpreted,
    kernel,
    memory,
)
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.raims import pgm_kernels as wire
from seqaudit.decoders.raims.messages import FIELDS, SUBJECTS
from seqaudit.decoders.raims.rows import CODES, RAIMS, SEEN_LIMIT, UNTOLD, DatagramLinks, RaimsRows

SYSTEM: Final = "pgm"

Bytes = npt.NDArray[np.uint8]

#: Bytes of details of one round.
TEXT_ROOM: Final = 8 << 20

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

#: The IP protocol of PGM without UDP.
_BARE: Final = 113
#: Bytes of a PGM header.
HEADER_BYTES: Final = 16
DAMAGED: Final = "PGM packet with a wrong checksum, which receivers drop"
REFUSED: Final = "IP protocol 113 whose type and lengths are those of no PGM packet"

#: Codes of what a row is called: its type, that and _PARITY, or _TRAIL or _LARGE.
_PARITY: Final = 16
_TRAIL: Final = 32
_LARGE: Final = 33
_NO_TYPE: Final = 16  # also where -1 ends up in the tables by type
_IS_NUMBERED: Final = flags_of((wire.ODATA, wire.RDATA, wire.NAK, wire.NCF), _NO_TYPE + 1)
_IS_ASKING: Final = flags_of((wire.NAK, wire.NCF, wire.NNAK), _NO_TYPE + 1)
_KIND_OF: Final = np.array(
    [int(_KINDS.get(sort, Kind.NOTICE)) for sort in range(_NO_TYPE + 1)], np.int16
)

_IS_RAIMS: Final = flags_of((wire.MESSAGES, wire.MESSAGE, wire.CONTROL), 16)

OPTION_NAK_LIST: Final = 0x02
#: A parity packet: its number is that of a group of packets (RFC 3208 11).
OPTION_PARITY: Final = 0x80
SQNS: Final = 1 << 32
#: Of a larger window no more can be told on the circle of sqns.
MOST_WINDOW_SQNS: Final = 1 << 30

MODE_RAIMS: Final = 1
MODE_PGM: Final = 2
MODE_BESIDE: Final = 3
MODE_STREAM: Final = 4


@cache
def _phrases() -> tuple[Int64s, Bytes]:
    """The kernel's table of names, and the names of fields, phrases and prefixes that it tells; a
    capture of a few packets takes less time than making them."""
    names = np.zeros((wire.FIELDS - wire.NAMES) // wire.NAME_WORDS * wire.NAME_WORDS, np.int64)
    rows = names.reshape(-1, wire.NAME_WORDS)
    phrases = [f'"{name}":'.encode() for name in FIELDS]
    phrases += [b'"session_bridge":', b"true", b"false", b"null"]
    phrases += [b'{"dest_id":', b',"destination_uid":', b',"fragment":false,"ident":',
                b',"source_uid":']  # fmt: skip
    assert len(FIELDS) == wire.FIELD_COUNT and len(phrases) == wire.PREFIXES
    phrases += [prefix.encode() for prefix, _ in SUBJECTS]
    assert len(SUBJECTS) == wire.PREFIX_COUNT
    text = bytearray(16)  # texts never begin at 0, which is a kernel's word for none
    for number, phrase in enumerate(phrases):
        rows[number, [wire.N_AT, wire.N_SIZE]] = len(text), len(phrase)
        text += phrase
    for rank, number in enumerate(sorted(range(len(FIELDS)), key=lambda n: FIELDS[n])):
        rows[number, wire.N_RANK] = rank
        rows[number, wire.N_TOLD] = FIELDS[number] not in UNTOLD
    for number, (_, word) in enumerate(SUBJECTS):
        rows[wire.PREFIXES + number, wire.N_RANK] = CODES[word]
    return names, np.frombuffer(bytes(text), np.uint8)


def _with_phrases(memory: Int64s, text: Bytes) -> int:
    """Write the phrases into ``text``; returns where they end."""
    names, phrases = _phrases()
    memory[wire.NAMES : wire.NAMES + len(names)] = names
    text[: len(phrases)] = phrases
    return len(phrases)


class Walk:
    """The kernel and its memory; one object a decoder.

    Attributes:
        tells: whether the kernel writes details too; null: where it is compiled, as the other way
            Python is faster at it itself. The rows are the same.
        text_room: how many bytes of them in one round.
        window_sqns: of a receive window.

    Args:
        mode: of the kernel, ``wire.W_MODE``.

    Attributes, of links of PGM, as ``tsi`` writes them:
        carrying: known to carry raims before they are heard.
        carried, unread: that did, and of which something was left out before they had.
    """

    def __init__(self, mode: int) -> None:
        self.memory = memory(wire.OUT + wire.STRIDE * wire.WIDTH)
        self.text: Bytes = memory(TEXT_ROOM // 8).view(np.uint8)
        self.tells: bool | None = None
        self.text_room = TEXT_ROOM
        self.window_sqns = USUAL_WINDOW_SQNS
        self.carrying: Sequence[str] = ()
        self.carried: set[str] = set()
        self.unread: set[str] = set()
        self._mode = mode
        self._text_at = 0

    def rounds(self, datagrams: Datagrams, wanted: Int64s) -> Any:
        """Tables of rows, (rows, WIDTH), whose columns are contiguous; each holds until the next is
        asked for.
        """
        compile_it = datagrams.compile_it
        module = kernel("raims.pgm_kernels", compile_it=compile_it)
        tells = compile_it if self.tells is None else self.tells
        if tells and not self._text_at:
            self._text_at = _with_phrases(self.memory, self.text)
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
            self.text,
            self.memory,
        ]
        arguments = [
            argument(np.ascontiguousarray(column), compile_it=compile_it)
            if column is not datagrams.outcome
            else argument(column, compile_it=compile_it)
            for column in columns
        ]
        data = data_argument(datagrams.data, compile_it=compile_it)
        self.memory[wire.W_CHECK] = compile_it
        self.memory[wire.W_WINDOW] = min(self.window_sqns, MOST_WINDOW_SQNS)
        self.memory[wire.W_TEXT_ROOM] = self.text_room if tells else 0
        done = 0
        while done < datagrams.count:
            self._empty(done)
            done, rows = module.decode(data, datagrams.count, *arguments)
            table = self.memory[wire.OUT :].reshape(wire.WIDTH, wire.STRIDE)
            yield table[:, : int(rows)].T

    def details(self, table: Int64s) -> pa.Array:
        """What the kernel wrote as ``detail`` of each row."""
        return written(self.text, table[:, wire.TEXT_AT], table[:, wire.TEXT_STOP])

    def _empty(self, done: int) -> None:
        """Start anew with rows and streams; links stay unless their table is full."""
        memory = self.memory
        memory[wire.W_NEXT] = done
        memory[wire.W_ROWS] = memory[wire.W_FLOOR] = wire.OUT
        memory[wire.W_MODE] = self._mode
        memory[wire.W_TEXT] = self._text_at
        if memory[wire.W_STREAMS]:  # else nothing is there, and it is a megabyte
            memory[wire.SLOTS : wire.STREAMS] = 0
        memory[wire.W_STREAMS] = 0
        used = max(2, int(memory[wire.W_LINKS])) + 1
        links = memory[wire.LINKS : wire.SLOTS].reshape(-1, wire.LINK_WORDS)[:used]
        full = memory[wire.W_LINKS] + 2 >= wire.LINK_LIMIT
        # ends of an inbox are numbers of hosts, which hold for one call
        if full or (self._mode == MODE_BESIDE and memory[wire.W_LINKS]):
            self.note_links()
            memory[wire.W_LINKS] = 0
            memory[wire.LINK_SLOTS : wire.LINKS] = 0
        if not memory[wire.W_LINKS]:
            find_link = interpreted("raims.pgm_kernels").find_link
            for link in self.carrying[: wire.LINK_LIMIT // 2]:
                gsi, _, port = link.partition(".")
                number = find_link(int(gsi, 16), int(port), memory)
                memory[wire.LINKS + number * wire.LINK_WORDS + wire.L_RAIMS] = 1
        links[:, wire.L_FLOOR] = links[:, wire.L_OPEN] = 0
        if self._mode == MODE_STREAM:  # links 1 and 2 are the directions
            links[:, wire.L_RAIMS] = 1

    def note_links(self) -> None:
        """Keep what is known of links, which may get other numbers."""
        if self._mode != MODE_RAIMS:
            return
        count = int(self.memory[wire.W_LINKS]) + 1
        links = self.memory[wire.LINKS : wire.SLOTS].reshape(-1, wire.LINK_WORDS)[:count]
        for found, word in ((self.carried, wire.L_RAIMS), (self.unread, wire.L_UNREAD)):
            found.update(map(self.tsi, (np.flatnonzero(links[1:, word]) + 1).tolist()))

    def link(self, number: int) -> tuple[int, int]:
        """What ``find_link`` was given."""
        at = wire.LINKS + number * wire.LINK_WORDS
        return int(self.memory[at + wire.L_GSI]), int(self.memory[at + wire.L_PORT])

    def tsi(self, number: int) -> str:
        """A TSI as tshark writes its parts: GSI in hex, then the source port."""
        gsi, port = self.link(number)
        return f"{gsi:012x}.{port}"


def wanted_of(datagrams: Datagrams, settings: DecodeSettings, system: str) -> Int64s:
    """1: forced by --decode-as; -1: forced to be another system's, or claimed already; else 0; 4 is
    added where there is no UDP (IP protocol 113)."""
    wanted = np.zeros(datagrams.count, np.int64)
    for transport, port, name in settings.decode_as:
        if transport == "udp":
            value = 1 if name == system else -1
            wanted[(datagrams.destination_port == port) | (datagrams.source_port == port)] = value
    if datagrams.protocol is not None:
        wanted |= (datagrams.protocol == _BARE).astype(np.int64) << 2
    wanted[datagrams.outcome != FrameOutcome.NOT_CLAIMED] = -1
    return wanted


def wrong_checksums(datagrams: Datagrams, wanted: Int64s) -> Int64s:
    """2 for what looks like PGM, is there to its end, and has a checksum that is wrong; else 0.

    The checksum is the ones' complement of the ones' complement sum of the packet's 16-bit words,
    so their sum with it is a multiple of 65535; 0 is none (RFC 3208 8; raims.md 2). For the
    interpreted kernel, which would take long; the compiled one looks itself.
    """
    wrong = np.zeros(datagrams.count, np.int64)
    start, stop, length = datagrams.start, datagrams.stop, datagrams.length
    whole = (wanted >= 0) & (datagrams.barrier == 0) & (length >= HEADER_BYTES)
    rows = np.flatnonzero(whole & (stop - start == length))
    if not len(rows):
        return wrong
    lowest = int(start[rows].min())
    data = np.frombuffer(datagrams.data, np.uint8)[lowest : int(stop[rows].max())]
    at = start[rows] - lowest

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
    end = stop[rows] - lowest
    # bytes at even and at odd offsets of the buffer, summed by packet
    even = _sums(data[0::2], (at + 1) // 2, (end + 1) // 2)
    odd = _sums(data[1::2], at // 2, end // 2)
    high = np.where(at % 2 == 0, even, odd)
    total = high * 256 + (even + odd - high)
    wrong[rows[total % 0xFFFF != 0]] = 2
    return wrong


def _sums(values: npt.NDArray[np.uint8], begin: Int64s, end: Int64s) -> Int64s:
    """Sums of values[begin:end], none of which is empty."""
    padded = np.append(values, np.uint8(0))  # so that an end may be the length
    pairs = np.column_stack([begin, end]).ravel()
    return np.add.reduceat(padded, pairs, dtype=np.int64)[::2]


class PgmDecoder:
    """DatagramDecoder of PGM, and of raims messages in it."""

    system: Final = SYSTEM
    kernel_file: Final = "raims.pgm_kernels"

    def __init__(self, settings: DecodeSettings) -> None:
        self._settings = settings
        self._with_raims = RAIMS not in settings.no_decode
        self._walk = Walk(MODE_RAIMS if self._with_raims else MODE_PGM)
        self._rows = RaimsRows()
        self._told: set[str] = set()  # TSIs of which it is said that they carry raims

    def decode(self, datagrams: Datagrams) -> list[pa.RecordBatch]:
        """Claim what is PGM (``outcome``) and return its rows."""
        if datagrams.count == 0:
            return []
        batches: list[pa.RecordBatch] = []
        self._walk.window_sqns = self._settings.receive_window_of(datagrams.capture)
        self._walk.carrying = self._settings.carrying_of(datagrams.capture)
        wanted = wanted_of(datagrams, self._settings, self.system)
        if not datagrams.compile_it:
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
        if count := int(self._walk.memory[wire.C_REFUSED]):
            damaged[REFUSED] += count
        by_system = {SYSTEM: packets} if packets else {}
        if messages:
            by_system[RAIMS] = messages
        self._walk.note_links()
        return {
            "carried": sorted(self._walk.carried),
            "unread": sorted(self._walk.unread),
            "messages_by": by_system,
            "undecoded": dict(sorted(damaged.items())),
            "sureness": {"certain": sum(counts)} if packets else {},
        }

    def _batches(self, datagrams: Datagrams, table: Int64s) -> list[pa.RecordBatch]:
        if not len(table):
            return []
        links = {int(n): self._walk.tsi(int(n)) for n in grouped(table[:, wire.LINK])[0]}
        details = self._walk.details(table)
        batches = self._packets(datagrams, table, links, details)
        where = DatagramLinks(datagrams, links)
        batches += self._carriers(datagrams, table, links)
        return batches + self._rows.batches(where, self._walk.memory, table, details)

    def _carriers(
        self, datagrams: Datagrams, table: Int64s, links: Mapping[int, str]
    ) -> list[pa.RecordBatch]:
        """That a TSI carries raims, which says how its receivers ask, in the TSI's conversation;
        once in each piece."""
        own = table[_IS_RAIMS[table[:, wire.SORT]]]
        found: list[ByName] = []
        for number, place in zip(*np.unique(own[:, wire.LINK], return_index=True), strict=True):
            tsi = links[int(number)]
            if tsi in self._told or len(self._told) >= SEEN_LIMIT:
                continue
            self._told.add(tsi)
            row = self._rows.base(datagrams, own[place].tolist(), tsi)
            found.append(row | {
                "index": -1, "system": SYSTEM, "conversation": f"pgm|{tsi}", "stream": tsi,
                "kind": int(Kind.MEMBER), "wire_kind": "RAIMS", "count": 0, "size": 0,
                "fresh_id": None, "last_fresh_id": None,
            })  # fmt: skip
        return [pa.RecordBatch.from_pylist(found, schema=EVENTS)] if found else []

    def _packets(
        self, datagrams: Datagrams, table: Int64s, links: Mapping[int, str], details: pa.Array
    ) -> list[pa.RecordBatch]:
        """The rows of packets and runs of ODATA: of their TSI, and again of raims."""
        sort = table[:, wire.SORT]
        about = (sort == wire.PGM_DATA) | (sort == wire.PGM_OTHER) | (sort == wire.TRAILED)
        about |= sort == wire.LARGE
        places = np.flatnonzero(about)
        if not len(places):
            return []
        rows = EventRows(table, places)
        count = len(rows)
        sort, word, options = (
            rows.column(wire.SORT),
            rows.column(wire.COLUMN),
            rows.column(wire.WORD),
        )
        is_data, large = sort == wire.PGM_DATA, sort == wire.LARGE
        beside = (trailed := sort == wire.TRAILED) | large  # no packets of their own
        parity = ~beside & (options & OPTION_PARITY != 0) & _IS_NUMBERED[word]
        spm = (word == wire.SPM) & ~is_data & ~beside & (rows.column(wire.SQN) >= 0)
        asks = _IS_ASKING[word] & ~parity & ~is_data & ~beside
        asks &= rows.column(wire.SEQNO) != wire.NONE
        trail, lead = rows.column(wire.TRAIL), rows.column(wire.LEAD)
        # an empty window says trail = lead + 1 (raims.md 2)
        led = spm & ((lead + 1) % SQNS != trail)
        seqno = np.where(led, lead, rows.column(wire.SEQNO))
        numbered = (is_data & ~parity) | led | asks | large
        stop = np.where(is_data, rows.column(wire.STOP), seqno + 1)
        kind = _KIND_OF[np.where(beside | parity, _NO_TYPE, word)]
        code = np.where(parity, word + _PARITY, word)
        code = np.where(trailed, _TRAIL, np.where(large, _LARGE, code))
        hosts = datagrams.hosts
        fresh = int_column(rows.column(wire.ID), rows.column(wire.ID) < 0)
        link = rows.column(wire.LINK)
        detail = self._sqns(datagrams, rows, asks, taken(details, int_column(places)))
        columns: ByName = {
            "capture": np.full(count, datagrams.capture, np.int64),
            "frame": rows.column(wire.FRAME),
            "index": rows.column(wire.INDEX),
            "last_frame": rows.column(wire.LAST_FRAME),
            "at_ns": rows.column(wire.AT),
            "last_at_ns": rows.column(wire.LAST_AT),
            "system": repeated(SYSTEM, count),
            "conversation": texts(link, lambda number: f"pgm|{links[number]}"),
            "stream": texts(link, links.__getitem__),
            "source": texts(rows.column(wire.SOURCE), hosts.__getitem__),
            "destination": texts(rows.column(wire.DESTINATION), hosts.__getitem__),
            "kind": kind,
            "wire_kind": texts(code, _wire_kind),
            "seqno": int_column(seqno, ~numbered),
            "stop_seqno": int_column(stop, ~numbered),
            "count": np.where(beside, 0, rows.column(wire.COUNT)),
            "conn_id": int_column(rows.column(wire.SQN), ~spm | parity),
            "stamp": int_column(trail, ~(is_data | trailed | spm)),
            "flags": rows.column(wire.FLAGS),
            "size": rows.column(wire.SIZE),
            "fresh_id": fresh,
            "last_fresh_id": fresh,
            "detail": detail,
        }
        batch = event_batch(count, columns)
        if not self._with_raims:
            return [batch]
        again = batch.filter(pa.array(~large)) if large.any() else batch
        link = link[~large]
        for name, column in (
            ("conversation", repeated(RAIMS, len(link))),
            ("stream", texts(link, lambda number: f"pgm:{links[number]}|")),
        ):
            again = again.set_column(EVENTS.get_field_index(name), EVENTS.field(name), column)
        return [batch, again]

    @staticmethod
    def _sqns(
        datagrams: Datagrams, rows: EventRows, asks: npt.NDArray[np.bool_], details: pa.Array
    ) -> pa.Array:
        """The sqns that a NAK, NNAK or NCF lists, where the kernel did not write them."""
        left = np.flatnonzero(asks & (rows.column(wire.TEXT_AT) < 0))
        if not len(left):
            return details
        found = details.to_pylist()
        begin, end = rows.column(wire.BODY_AT), rows.column(wire.BODY_STOP)
        options = rows.column(wire.WORD)
        for place in left.tolist():
            body = bytes(datagrams.data[begin[place] : end[place]])
            sqns = sqns_of(body, int(options[place]))
            found[place] = json.dumps([[sqn, sqn + 1] for sqn in sqns], separators=(",", ":"))
        return pa.array(found, pa.string())


def _wire_kind(code: int) -> str:
    if code == _TRAIL:
        return "TRAIL"
    if code == _LARGE:
        return "LARGE"
    word = TYPES.get(code % _PARITY, f"TYPE_{code % _PARITY}")
    return f"PARITY_{word}" if code >= _PARITY else word


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
