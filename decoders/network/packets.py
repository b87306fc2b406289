"""Records in, UDP datagrams out, as columns (decoders/README.md 1, 3, replay/README.md 5).

``PacketReader`` runs the packet kernel over the records of a piece, chunk by chunk, and keeps what
has to last between chunks: the addresses, the destinations seen and the datagrams of the last
4 MiB. A ``Packets`` says of every frame what it is; its ``datagrams`` are what decoders get.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels.loader import Int64s, spread
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network import rare_links as link_slow
from seqaudit.decoders.network.hosts import Hosts
from seqaudit.decoders.network.tunnels import tunnel_name

if TYPE_CHECKING:
    from seqaudit.decoders.capture.reader import Records


ETHERNET: Final = 1  # LINKTYPE_ETHERNET


class FrameOutcome(IntEnum):
    """What became of a frame (replay/README.md 5 ``frames_by``)."""

    NOT_CLAIMED = 0  # by no decoder yet; counted as OTHER in the end
    DECODED = 1
    OTHER = 2
    MALFORMED = 3
    TRUNCATED = 4  # the capture holds too little of it (snap length)
    UNDECODABLE = 5


#: The keys of ``frames_by``; every frame is in one of them.
FRAMES_BY: Final = {
    FrameOutcome.DECODED: "decoded",
    FrameOutcome.OTHER: "other",
    FrameOutcome.MALFORMED: "malformed",
    FrameOutcome.TRUNCATED: "truncated",
    FrameOutcome.UNDECODABLE: "undecodable",
}

#: What a record is that holds no datagram for a decoder, and why.
SETTLED: Final = {
    k.NOT_UDP: (FrameOutcome.OTHER, ""),
    k.NOT_IP: (FrameOutcome.OTHER, ""),
    k.NO_PACKET: (FrameOutcome.OTHER, ""),
    k.MALFORMED_LINK: (FrameOutcome.MALFORMED, "frame shorter than its link layer"),
    k.MALFORMED_VERSION: (FrameOutcome.MALFORMED, "IP version"),
    k.MALFORMED_HEADER: (FrameOutcome.MALFORMED, "IP header length"),
    k.MALFORMED_LENGTH: (FrameOutcome.MALFORMED, "IP total length"),
    k.MALFORMED_EXTENSION: (FrameOutcome.MALFORMED, "IPv6 extension header"),
    k.MALFORMED_FRAGMENT: (FrameOutcome.MALFORMED, "IP fragment length"),
    k.MALFORMED_UDP: (FrameOutcome.MALFORMED, "UDP length"),
    k.DAMAGED: (FrameOutcome.MALFORMED, "wrong checksum"),
    k.TRUNCATED_LINK: (FrameOutcome.TRUNCATED, "cut in the link layer"),
    k.TRUNCATED_IP: (FrameOutcome.TRUNCATED, "cut in the IP header"),
    k.TRUNCATED_TRANSPORT: (FrameOutcome.TRUNCATED, "cut in the UDP header"),
    k.UNKNOWN_LINK: (FrameOutcome.UNDECODABLE, "link type not understood"),
    k.UNDECRYPTED: (FrameOutcome.UNDECODABLE, "encrypted link layer"),
    k.NO_INTERFACE: (FrameOutcome.UNDECODABLE, "no description of its interface"),
}

_FAST_LINKS: Final = frozenset(link_slow.FAST_LINKS.tolist())

#: Records that one call of the kernel reads; bounds memory, changes nothing else. What it writes
#: then stays in the processor's own cache until it is read.
STEP: Final = 16_384


@dataclass(slots=True)
class Datagrams:
    """UDP datagrams of one chunk in frame order, and the places of frames that only end runs.

    Columns are (count,) int64. ``data`` and the columns hold until the decoder returns; ``source``
    and ``destination`` mean something together with this object's ``hosts`` only.
    """

    data: bytes | bytearray | memoryview
    compile_it: bool
    capture: int
    split: int
    hosts: Sequence[str]  # addresses as text, by number
    frame: Int64s  # number in the split, from 1
    at_ns: Int64s
    start: Int64s  # of the payload in data
    stop: Int64s  # one past its last captured byte
    length: Int64s  # of the payload as UDP claims it; more than stop - start: cut by snap length
    source: Int64s
    destination: Int64s
    source_port: Int64s
    destination_port: Int64s
    ip_id: Int64s  # 0 … 65535 (IPv6 fragment header: 32 bits); -1: none, or 0 with DF (RFC 6864)
    flags: Int64s  # Flag.MULTICAST, NETWORK_DUPLICATE, ALIKE, CUT
    barrier: Int64s  # 1: a frame for the second stage; no datagram, but every open run ends here
    # (2, of messages of a stream only: every open run ends before this one)
    outcome: Int64s  # FrameOutcome, written by the decoder that claims the datagram
    network: Int64s | None = None  # what it came in (packet_words); null: of none no number is
    protocol: Int64s | None = None  # of IP; without UDP there are no ports; null: UDP

    @property
    def networks(self) -> Int64s:
        return np.zeros(self.count, np.int64) if self.network is None else self.network

    @classmethod
    def of_one(cls, data: bytes, length: int, *, compile_it: bool) -> Datagrams:
        """One payload by itself: ``data`` is what there is of ``length`` bytes. Hosts: unknown."""
        one = dict.fromkeys(COLUMNS, 0) | {"frame": 1, "stop": len(data), "length": length}
        one |= {"destination": 1, "ip_id": -1}
        # each column is memory of its own, as a decoder writes into some
        columns = {name: np.array([value], np.int64) for name, value in one.items()}
        return cls(data, compile_it, 0, 0, ["", ""], **columns)

    @property
    def count(self) -> int:
        return len(self.frame)

    def take(self, rows: Int64s) -> Datagrams:
        """Only some rows, copied; ``outcome`` of the result has to be written back."""
        columns = {name: getattr(self, name) for name in (*COLUMNS, "network", "protocol")}
        return replace(self, **{name: c[rows] for name, c in columns.items() if c is not None})


COLUMNS: Final = (
    "frame",
    "at_ns",
    "start",
    "stop",
    "length",
    "source",
    "destination",
    "source_port",
    "destination_port",
    "ip_id",
    "flags",
    "barrier",
    "outcome",
)


#: What of a datagram the kernel writes.
_OF_ROWS: Final = {
    "start": k.START,
    "stop": k.STOP,
    "length": k.LENGTH,
    "source": k.SOURCE,
    "destination": k.DESTINATION,
    "source_port": k.SOURCE_PORT,
    "destination_port": k.DESTINATION_PORT,
    "ip_id": k.IP_ID,
    "flags": k.FLAGS,
    "network": k.NETWORK,
    "protocol": k.PROTOCOL,
}


@dataclass(slots=True)
class Packets:
    """What the kernel found in up to STEP records.

    ``columns`` is (FIELDS, records); ``rows`` are the records that are rows of ``datagrams``, among
    them ``fragments`` (barriers). Valid until the next one is asked for.
    """

    records: Records
    first: int  # record of the chunk that row 0 is
    columns: Int64s
    rows: Int64s
    fragments: Int64s
    datagrams: Datagrams
    flows: Flows
    only_datagrams: bool  # every record is one
    link: int | None  # of all records; null: they differ
    out: Int64s  # the columns as the kernel has them, ``room`` apart
    room: int
    networked: bool  # some record is of a network of a number of its own
    tunnelled: bool  # some came in a tunnel

    def column(self, field: int) -> Int64s:
        column: Int64s = self.columns[field]
        return column

    def of_datagrams(self, field: int) -> Int64s:
        """A kernel field of the rows of ``datagrams``."""
        column: Int64s = self.columns[field]
        return column if len(self.rows) == len(column) else column[self.rows]

    def datagrams_of(self, rows: Int64s, **told: object) -> Datagrams:
        """These rows as datagrams for a decoder, whatever they are; ``told``: what is another."""
        nothing = np.zeros(len(rows), np.int64)
        columns = {name: self.columns[field][rows] for name, field in _OF_ROWS.items()}
        columns["flags"] = columns["flags"] & k.EVENT_FLAGS
        columns |= {name: self.record_column(name)[rows] for name in ("frame", "at_ns")}
        columns |= {"barrier": nothing, "outcome": nothing.copy()}
        return replace(self.datagrams, **(columns | told))

    def record_column(self, name: str) -> Int64s:
        """A column of the records, row by row."""
        column: Int64s = getattr(self.records, name)[
            self.first : self.first + self.columns.shape[1]
        ]
        return column


class Flows:
    """Destinations seen: (address, protocol, port) with frames and bytes, by number.

    The kernel's tables hold a bounded number of addresses and flows; when one is full, it begins
    anew, so numbers mean something together with this object only, and those of addresses with
    ``hosts``: as long as there is room for more of them they keep their numbers.
    """

    def __init__(self, work: Int64s, hosts: Hosts | None = None) -> None:
        self._work: Int64s | None = work
        self._rows: Int64s = np.zeros((0, k.FLOW_WORDS), np.int64)
        self.hosts = Hosts(work) if hosts is None else hosts

    def table_of_hosts(self) -> Int64s:
        """The addresses as the kernel has them, as long as it has."""
        assert self._work is not None
        return self._work[k.HOST_ROWS : k.FLOW_SLOTS]

    def retired(self) -> Flows:
        """What comes after this one, which keeps what it counted: the kernel's tables are empty."""
        work = self._work
        assert work is not None
        self._rows, self._work = self._counts(work).copy(), None
        # a table may be full of addresses that share their places, whatever its room
        roomy = int(work[k.FLOW_COUNT]) == k.HOSTS and int(work[k.HOST_COUNT]) < k.ROOMY_HOSTS
        work[k.FLOW_COUNT] = 0
        work[k.FLOW_SLOTS : k.HEADS] = 0
        if roomy:
            return Flows(work, self.hosts)
        self.hosts.keep()
        work[k.HOST_COUNT] = 0
        work[k.HOST_SLOTS : k.HOST_ROWS] = 0
        return Flows(work)

    def table(self) -> Int64s:
        """(n, 3) destination's host << 32 | protocol << 16 | port, frames, bytes on the wire."""
        return self._rows if self._work is None else self._counts(self._work)

    def _counts(self, work: Int64s) -> Int64s:
        stop = k.FLOW_ROWS + int(work[k.FLOW_COUNT]) * k.FLOW_WORDS
        return work[k.FLOW_ROWS : stop].reshape(-1, k.FLOW_WORDS)


class PacketReader:
    """Runs the packet kernel over a piece's records; one object a piece.

    Args:
        capture, split: of the piece, for ``Datagrams``.
        compile_it: which form of the kernels.
        carriers: IP protocols and Ethernet types that carry feeds themselves: copies of theirs
            are sought, too, and what they tunnel is left in them.
    """

    def __init__(
        self, capture: int, split: int, *, compile_it: bool, carriers: Collection[int] = ()
    ) -> None:
        self._capture = capture
        self._split = split
        self._compile_it = compile_it
        self._kernel = kernels.kernel("network.packet_kernels", compile_it=compile_it)
        self._work = kernels.memory(k.WORK_SIZE)
        self._work[k.RING_TAIL] = 1
        for number in carriers:
            self._work[k.CARRIERS + number // k.CARRIER_BITS] |= 1 << number % k.CARRIER_BITS
        self._out = np.zeros(0, np.int64)
        self._rows = self._room = 0
        self._no_l3 = self._nothing = self._all = np.zeros(0, np.int64)
        self.flows = Flows(self._work)
        self._section: int | None = None
        self.unknown_links: dict[int, int] = {}

    def read(self, records: Records) -> Iterator[Packets]:
        """What the records are, STEP at a time; fewer where a table is full."""
        link = ETHERNET if records.plain else _only(records.link)
        l3 = self._network_offsets(records, link)
        if records.section != self._section:
            self._forget_datagrams(records.section)
        first = 0
        while first < records.count:
            last = min(first + STEP, records.count)
            self._work[k.NETWORKED] = self._work[k.TUNNELLED] = 0
            stop, datagrams, columns = self._scan(records, l3, first, last)
            if stop > first:
                only = datagrams == stop - first
                yield self._packets(records, link, first, columns, only=only)
            if stop < last:
                self.flows = self.flows.retired()
            first = stop

    def again(self, packets: Packets) -> Packets:
        """The last ones that were read, some of which somebody has found to be something else."""
        self._work[k.ODD_ROWS] = 1
        told = packets.records, packets.link, packets.first, packets.columns
        return self._packets(*told, only=False)

    def tunnels(self) -> dict[str, int]:
        """Frames whose packet came in a tunnel, by the kind of the innermost and its network."""
        counts = self._work[k.TUNNELS : k.NETWORKS].tolist()
        found = {tunnel_name(kind, None): n for kind, n in enumerate(counts) if n}
        known = self._work[k.NETWORKS : k.CARRIERS].reshape(-1, k.NETWORK_WORDS)
        for key, frames in sorted(known[known[:, 0] > 0].tolist()):
            kind, number = key - 1 & 0xFF, key - 1 >> 8
            found[tunnel_name(kind, number)] = frames
        return found

    def _forget_datagrams(self, section: int) -> None:
        """Duplicates are sought within a section: a piece is primed from its own section only."""
        self._section = section
        if self._work[k.RING_COUNT]:
            self._work[k.RING_COUNT] = 0
            self._work[k.RING_TAIL] = 1
            self._work[k.HEADS : k.RING_ROWS] = 0

    def _scan(self, records: Records, l3: Int64s, first: int, last: int) -> tuple[int, int, Int64s]:
        room = self._prepared(last - first)
        arrays = (
            records.frame,
            records.start,
            records.captured,
            records.original,
            records.at_ns,
            records.link,
            records.offset,
            records.status,
            l3,
        )
        compile_it = self._compile_it
        stop, datagrams = self._kernel.scan(
            kernels.data_argument(records.data, compile_it=compile_it),
            first,
            last,
            *(kernels.argument(array, compile_it=compile_it) for array in arrays),
            1 if records.plain and records.frame[0] > 0 else 0,
            kernels.argument(self._out, compile_it=compile_it),
            room,
            kernels.argument(self._work, compile_it=compile_it),
        )
        columns = self._out[: room * k.FIELDS].reshape(k.FIELDS, room)[:, : stop - first]
        return int(stop), int(datagrams), columns

    def _prepared(self, count: int) -> int:
        """How far apart the kernel's fields are, for as many rows, with PREPARED in them."""
        fresh = count > self._rows
        if fresh:
            self._rows = min(STEP, max(count, 2 * self._rows))
            self._room = spread(self._rows)
            self._out = np.empty(self._room * k.FIELDS, np.int64)
        if fresh or self._work[k.ODD_ROWS]:
            self._work[k.ODD_ROWS] = 0
            for field, value in k.PREPARED:
                self._out[field * self._room : field * self._room + self._rows] = value
        return self._room

    def _packets(
        self, records: Records, link: int | None, first: int, columns: Int64s, *, only: bool
    ) -> Packets:
        """``only``: nothing but datagrams, as is usual; nothing is copied then."""
        count = columns.shape[1]
        if len(self._nothing) < count:
            self._nothing, self._all = np.zeros(count, np.int64), np.arange(count)
        rows, fragments, barrier = self._all[:count], self._nothing[:0], self._nothing[:count]
        taken: tuple[Int64s, Int64s] | tuple[slice, slice] = (
            slice(first, first + count),
            slice(None),
        )
        if not only:
            fragment = columns[k.STATE] == k.FRAGMENT_STATE
            rows = np.flatnonzero((columns[k.STATE] == k.DATAGRAM) | fragment)
            fragments, barrier = np.flatnonzero(fragment), fragment[rows].astype(np.int64)
            taken = rows + first, rows
        return Packets(
            records,
            first,
            columns,
            rows,
            fragments,
            self._of(records, taken[0], columns, taken[1], barrier),
            self.flows,
            only_datagrams=only,
            link=link,
            out=self._out,
            room=self._room,
            networked=bool(self._work[k.NETWORKED]),
            tunnelled=bool(self._work[k.TUNNELLED]),
        )

    def _of(
        self,
        records: Records,
        at: Int64s | slice,
        columns: Int64s,
        rows: Int64s | slice,
        barrier: Int64s,
    ) -> Datagrams:
        """Datagrams of these rows of ``columns``, which are ``at`` in the columns of records."""
        told = {name: columns[field][rows] for name, field in _OF_ROWS.items()}
        told["flags"] = told["flags"] & k.EVENT_FLAGS
        if not self._work[k.NETWORKED]:
            del told["network"]
        return Datagrams(
            data=records.data,
            compile_it=self._compile_it,
            capture=self._capture,
            split=self._split,
            hosts=self.flows.hosts,
            frame=records.frame[at],
            at_ns=records.at_ns[at],
            barrier=barrier,
            outcome=np.zeros(len(barrier), np.int64),
            **told,
        )

    def _network_offsets(self, records: Records, link: int | None) -> Int64s:
        """-1 a record, or what link_slow found where the kernel does not know the link layer."""
        if len(self._no_l3) < records.count:
            self._no_l3 = np.full(records.count, -1, np.int64)
        if not records.count or link in _FAST_LINKS:
            return self._no_l3
        slow = np.isin(records.link, link_slow.FAST_LINKS, invert=True)
        if not slow.any():
            return self._no_l3
        l3 = np.full(records.count, -1, np.int64)
        for i in np.flatnonzero(slow).tolist():
            start = int(records.start[i])
            packet = bytes(records.data[start : start + int(records.captured[i])])
            link = int(records.link[i])
            kind, offset = link_slow.find_network(link, packet)
            l3[i] = (start + offset) << 3 | kind
            if kind == k.NETWORK_UNKNOWN and records.frame[i] > 0:
                self.unknown_links[link] = self.unknown_links.get(link, 0) + 1
        return l3


def _only(values: Int64s) -> int | None:
    """The value that all are; null: there are several, or none."""
    if not len(values):
        return None
    low = int(values.min())
    return low if low == int(values.max()) else None
