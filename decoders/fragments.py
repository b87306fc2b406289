"""IP fragments put together again (design 4.1, second stage).

Stage one ships a fragment as a SEGMENT row: its bytes in ``payload``, what its headers say in
``detail``, its datagram's identity in ``carrier``. ``Assembler`` puts rows of one carrier together,
whoever brings them: the second stage, or the piece itself where it is the whole file. A completed
datagram becomes an IP packet without fragmentation that goes the way of every other packet: packet
kernel, decoders.

Rules: identity is (source, destination, protocol, id), for IPv6 without the protocol (RFC 791, RFC
8200 4.5). Bytes that came first stay; a fragment that contradicts them spoils the datagram. 30 s
after its first fragment a datagram is given up. Its frame and time are those of the fragment that
completes it, as in Wireshark. A fragment of a datagram that was complete already is a repeat and
shares that datagram's fate; all of them again are the datagram again, a network duplicate if within
1 s.
"""

import ipaddress
import json
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqaudit.decoders import packet_kernels as k
from seqaudit.decoders.account import CAPTURE_SYSTEM, OUTGOING, Account
from seqaudit.decoders.containers import Records
from seqaudit.decoders.events import EVENTS, FRAME_BITS, NO_CONVERSATION, Flag, Kind
from seqaudit.decoders.kernels import COMPILE_FROM_RECORDS
from seqaudit.decoders.packets import SETTLED, Datagrams, Outcome, PacketReader, Packets
from seqaudit.decoders.registry import NOBODY, DecodeSettings, Dispatcher

TIMEOUT_NS: Final = 30_000_000_000
DUPLICATE_NS: Final = 1_000_000_000

#: Bytes of incomplete datagrams held at once; beyond it the oldest is given up. Only a piece that
#: is read in one go can come near it: the second stage holds one carrier at a time.
HELD_BYTES: Final = 64 << 20
#: Completed datagrams that are remembered against repeats.
REMEMBERED: Final = 65_536
#: Completed datagrams decoded at once.
BATCH_DATAGRAMS: Final = 2_000
BATCH_BYTES: Final = 4 << 20
MISSING_RANGES: Final = 16  # told of an incomplete datagram

RAW: Final = 101  # LINKTYPE_RAW
UDP: Final = 17
FRAME_MASK: Final = (1 << FRAME_BITS) - 1

Key = tuple[int, str]  # capture, carrier
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fragment:
    """One SEGMENT row."""

    capture: int
    carrier: str
    frame: int  # of the job
    at_ns: int
    facts: Mapping[str, Any]
    payload: bytes  # as captured; less than facts["length"] where cut by snap length

    @property
    def start(self) -> int:
        return int(self.facts["offset"])

    @property
    def stop(self) -> int:
        return int(self.facts["offset"] + self.facts["length"])


def segment_batch(packets: Packets) -> pa.RecordBatch | None:
    """The SEGMENT rows of the fragments among ``packets``; None if there are none."""
    rows = packets.fragments
    if not len(rows):
        return None
    hosts = packets.datagrams.hosts
    data = packets.datagrams.data
    records = rows + packets.first
    split = packets.datagrams.split << FRAME_BITS
    fields = [
        packets.columns[field][rows].tolist()
        for field in (
            k.SOURCE,
            k.DESTINATION,
            k.PROTOCOL,
            k.IP_ID,
            k.FRAGMENT,
            k.LENGTH,
            k.TTL,
            k.PACKET_TYPE,
            k.START,
            k.STOP,
        )
    ]
    wire = packets.records.original[records].tolist()
    carriers: list[str] = []
    details: list[str] = []
    payloads: list[bytes] = []
    for (
        source,
        destination,
        protocol,
        ip_id,
        place,
        length,
        ttl,
        packet_type,
        start,
        stop,
        size,
    ) in zip(*fields, wire, strict=True):
        ends = f"{hosts[source]}|{hosts[destination]}"
        version = 6 if ":" in hosts[source] else 4
        carriers.append(f"ip|{ends}|{'ipv6' if version == 6 else protocol}|{ip_id}")
        facts = {
            "version": version,
            "source": hosts[source],
            "destination": hosts[destination],
            "protocol": protocol,
            "id": ip_id,
            "offset": place >> 1,
            "more": place & 1,
            "length": length,
            "ttl": ttl,
            "outgoing": int(packet_type == OUTGOING),
            "wire": size,
        }
        details.append(json.dumps(facts, separators=(",", ":")))
        payloads.append(bytes(data[start:stop]))
    count = len(rows)
    frame = packets.records.frame[records] | split
    at_ns = packets.records.at_ns[records]
    zeros = np.zeros(count, np.int64)
    return event_batch(
        {
            "capture": zeros + packets.datagrams.capture,
            "frame": frame,
            "index": zeros,
            "last_frame": frame,
            "at_ns": at_ns,
            "last_at_ns": at_ns,
            "system": pa.array([CAPTURE_SYSTEM] * count),
            "carrier": pa.array(carriers),
            "conversation": pa.array([NO_CONVERSATION] * count),
            "kind": np.full(count, int(Kind.SEGMENT), np.int16),
            "wire_kind": pa.array(["FRAGMENT"] * count),
            "count": zeros + 1,
            "flags": packets.columns[k.FLAGS][rows],
            "size": packets.columns[k.LENGTH][rows],
            "fresh_id": packets.columns[k.IP_ID][rows],
            "last_fresh_id": packets.columns[k.IP_ID][rows],
            "detail": pa.array(details),
            "payload": pa.array(payloads, pa.binary()),
        },
        count,
    )


def event_batch(columns: Mapping[str, Any], count: int) -> pa.RecordBatch:
    """EVENTS rows of some columns; the others are null."""
    return pa.RecordBatch.from_arrays(
        [
            pa.nulls(count, field.type)
            if field.name not in columns
            else pa.array(columns[field.name], field.type)
            for field in EVENTS
        ],
        schema=EVENTS,
    )


def reassemble(
    batches: Iterable[pa.RecordBatch], settings: DecodeSettings
) -> Iterator[pa.RecordBatch]:
    """The second stage: SEGMENT rows become events, all other rows pass.

    Args:
        batches: EVENTS rows sorted by (carrier, capture, frame, index).
    """
    assembler = Assembler(settings, by_carrier=True)
    for batch in batches:
        segments = pc.equal(batch.column("kind"), pa.scalar(int(Kind.SEGMENT), pa.int16()))
        found = pc.sum(segments).as_py() or 0
        if found == 0:
            yield batch
            continue
        if found < batch.num_rows:
            yield batch.filter(pc.invert(segments))
        yield from assembler.feed(batch.filter(segments))
    yield from assembler.finish()


@dataclass(slots=True)
class Fate:
    """What became of a datagram, and frames that wait to share it."""

    outcome: Outcome | None = None
    reason: str = ""
    frames: dict[int, int] = field(default_factory=dict)  # of repeats: split to frames


@dataclass(slots=True)
class Assembly:
    """A datagram of which fragments have come."""

    first: Fragment
    frames: dict[int, int] = field(default_factory=dict)  # split to frames
    wire_bytes: int = 0
    last_frame: int = 0
    low_ttl: int = 255
    high_ttl: int = 0
    outgoing: bool = False
    head: Fragment | None = None  # the fragment at offset 0: its protocol counts
    total: int | None = None
    spoiled: str = ""
    spans: list[Span] = field(default_factory=list)  # disjoint, ascending
    parts: list[bytes] = field(default_factory=list)  # captured bytes of each span
    prints: set[tuple[int, int, int]] = field(default_factory=set)  # of fragments: for repeats

    @property
    def held_bytes(self) -> int:
        return sum(len(part) for part in self.parts)

    @property
    def complete(self) -> bool:
        return (
            self.total is not None and sum(stop - start for start, stop in self.spans) >= self.total
        )

    @property
    def frame_count(self) -> int:
        return sum(self.frames.values())

    def add(self, fragment: Fragment) -> None:
        """Take a fragment in; earlier bytes stay."""
        split = fragment.frame >> FRAME_BITS
        facts = fragment.facts
        self.frames[split] = self.frames.get(split, 0) + 1
        self.wire_bytes += int(facts["wire"])
        self.last_frame = max(self.last_frame, fragment.frame)
        self.low_ttl = min(self.low_ttl, int(facts["ttl"]))
        self.high_ttl = max(self.high_ttl, int(facts["ttl"]))
        self.outgoing = self.outgoing or bool(facts["outgoing"])
        if fragment.start == 0 and self.head is None:
            self.head = fragment
        self.prints.add(fingerprint(fragment))
        if contradicts := self.contradiction(fragment):
            self.spoiled = self.spoiled or contradicts
            return
        if not facts["more"]:
            self.total = fragment.stop
        self._insert(fragment)

    def contradiction(self, fragment: Fragment) -> str:
        """Why the fragment cannot belong here; "" if it can."""
        start, stop, more = fragment.start, fragment.stop, fragment.facts["more"]
        end = self.spans[-1][1] if self.spans else 0
        if self.total is not None and (stop > self.total or (not more and stop != self.total)):
            return "fragments disagree about the length"
        if not more and end > stop:
            return "fragments disagree about the length"
        for place in range(*self._touched(start, stop)):
            low, high = self.spans[place]
            part = self.parts[place]
            begin, end = max(low, start), min(high, stop)
            known = part[begin - low : end - low]
            new = fragment.payload[begin - start : end - start]
            size = min(len(known), len(new))
            if known[:size] != new[:size]:
                return "fragments overlap with different bytes"
        return ""

    def _touched(self, start: int, stop: int) -> Span:
        """Places of the spans that share bytes with [start, stop)."""
        first = bisect_left(self.spans, (start, 0))
        if first > 0 and self.spans[first - 1][1] > start:
            first -= 1
        return first, max(first, bisect_left(self.spans, (stop, 0)))

    def _insert(self, fragment: Fragment) -> None:
        """Fill what is uncovered."""
        cursor = start = fragment.start
        first, last = self._touched(start, fragment.stop)
        fresh: list[Span] = []
        for low, high in self.spans[first:last]:
            if cursor < low:
                fresh.append((cursor, low))
            cursor = max(cursor, high)
        if cursor < fragment.stop:
            fresh.append((cursor, fragment.stop))
        for low, high in fresh:
            place = bisect_left(self.spans, (low, high))
            self.spans.insert(place, (low, high))
            self.parts.insert(place, fragment.payload[low - start : high - start])

    def prefix(self) -> bytes:
        """The captured bytes from 0 up to the first that is missing."""
        parts: list[bytes] = []
        cursor = 0
        for (low, high), part in zip(self.spans, self.parts, strict=True):
            if low > cursor:
                break
            parts.append(part)
            if len(part) < high - low:
                break
            cursor = high
        return b"".join(parts)

    def missing(self) -> list[list[int]]:
        """Half-open ranges that did not come, the first few; an unknown end is left out."""
        ranges: list[list[int]] = []
        cursor = 0
        for low, high in self.spans:
            if low > cursor:
                ranges.append([cursor, low])
            cursor = high
        if self.total is not None and cursor < self.total:
            ranges.append([cursor, self.total])
        return ranges[:MISSING_RANGES]


@dataclass(slots=True)
class Whole:
    """A datagram to be decoded: complete, or what there is of it to be recognised."""

    assembly: Assembly
    capture: int
    frame: int
    at_ns: int
    duplicate: bool
    fate: Fate
    incomplete: bool = False


@dataclass(slots=True)
class Remembered:
    """A completed datagram, against repeats."""

    at_ns: int
    digest: int
    prints: set[tuple[int, int, int]]
    fate: Fate


def fingerprint(fragment: Fragment) -> tuple[int, int, int]:
    return fragment.start, fragment.stop, hash(fragment.payload)


class Assembler:
    """Puts fragments together and decodes what is complete.

    Args:
        settings: for the decoders.
        by_carrier: rows come carrier by carrier, so one is open at a time; else in frame order.
        compile_it: form of the kernels; None: the settings', or by the amount so far.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        *,
        by_carrier: bool = False,
        compile_it: bool | None = None,
        held_bytes: int = HELD_BYTES,
    ) -> None:
        self._settings = settings
        self._by_carrier = by_carrier
        self._compile_it = settings.compile_it if compile_it is None else compile_it
        self._limit = held_bytes
        self._open: dict[Key, Assembly] = {}
        self._held = 0
        self._remembered: dict[Key, Remembered] = {}
        self._ready: list[Whole] = []
        self._ready_bytes = 0
        self._seen_bytes = 0
        self._accounts: dict[tuple[int, int], Account] = {}
        self._problems: list[dict[str, Any]] = []

    def feed(self, segments: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take SEGMENT rows in; yields the events of what they complete."""
        for fragment in _fragments(segments):
            key = fragment.capture, fragment.carrier
            if self._by_carrier and key not in self._open and key not in self._remembered:
                self._close_all()
                self._remembered.clear()
            self._add(key, fragment)
            while self._held > self._limit:
                self._give_up(next(iter(self._open)))
            if len(self._ready) >= BATCH_DATAGRAMS or self._ready_bytes >= BATCH_BYTES:
                yield from self._flush()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is still open is incomplete."""
        self._close_all()
        yield from self._flush()

    def _add(self, key: Key, fragment: Fragment) -> None:
        assembly = self._open.get(key)
        if assembly is not None and (
            abs(fragment.at_ns - assembly.first.at_ns) > TIMEOUT_NS
            or (assembly.contradiction(fragment) and self._repeated(key, assembly))
        ):
            self._give_up(key)
            assembly = None
        if assembly is None:
            assembly = self._open[key] = Assembly(fragment)
        self._held -= assembly.held_bytes
        assembly.add(fragment)
        self._held += assembly.held_bytes
        if not assembly.complete:
            return
        del self._open[key]
        self._held -= assembly.held_bytes
        if assembly.spoiled:
            self._spoil(assembly)
        else:
            self._complete(key, assembly, fragment)

    def _complete(self, key: Key, assembly: Assembly, last: Fragment) -> None:
        digest = hash((assembly.total, assembly.prefix()))
        before = self._remembered.pop(key, None)
        duplicate = (
            before is not None
            and before.digest == digest
            and abs(last.at_ns - before.at_ns) <= DUPLICATE_NS
        )
        fate = Fate()
        self._remembered[key] = Remembered(last.at_ns, digest, assembly.prints, fate)
        if len(self._remembered) > REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        self._make_ready(Whole(assembly, last.capture, last.frame, last.at_ns, duplicate, fate))

    def _make_ready(self, whole: Whole) -> None:
        size = whole.assembly.held_bytes
        self._ready.append(whole)
        self._ready_bytes += size
        self._seen_bytes += size

    def _repeated(self, key: Key, assembly: Assembly) -> Remembered | None:
        """The completed datagram that these are mere repeats of, if so."""
        known = self._remembered.get(key)
        if known is None or abs(assembly.first.at_ns - known.at_ns) > TIMEOUT_NS:
            return None
        return known if assembly.prints <= known.prints else None

    def _close_all(self) -> None:
        for key in list(self._open):
            self._give_up(key)

    def _give_up(self, key: Key) -> None:
        """An incomplete datagram: repeats of one that was complete, spoiled, or really one."""
        assembly = self._open.pop(key)
        self._held -= assembly.held_bytes
        known = self._repeated(key, assembly)
        first = assembly.first
        if known is not None:
            for split, frames in assembly.frames.items():
                if known.fate.outcome is None:
                    known.fate.frames[split] = known.fate.frames.get(split, 0) + frames
                else:
                    self._count(first.capture, split, known.fate.outcome, frames, known.fate.reason)
        elif assembly.spoiled:
            self._spoil(assembly)
        elif assembly.head is None:
            self._incomplete(assembly, "", Outcome.OTHER)
        else:
            self._make_ready(
                Whole(assembly, first.capture, first.frame, first.at_ns, False, Fate(), True)
            )

    def _spoil(self, assembly: Assembly) -> None:
        for split, frames in assembly.frames.items():
            self._count(assembly.first.capture, split, Outcome.MALFORMED, frames, assembly.spoiled)
        self._problem(assembly, "contradicting fragments", {"why": assembly.spoiled})

    def _incomplete(self, assembly: Assembly, system: str, outcome: Outcome) -> None:
        capture = assembly.first.capture
        for split, frames in assembly.frames.items():
            reason = "incomplete IP datagram" if outcome == Outcome.UNDECODABLE else ""
            self._count(capture, split, outcome, frames, reason)
        self._account(capture, assembly.first.frame >> FRAME_BITS).fragments["incomplete"] += 1
        self._problem(
            assembly,
            "incomplete IP datagram",
            {
                "looks_like": system or None,
                "bytes": sum(stop - start for start, stop in assembly.spans),
                "total": assembly.total,
                "missing": assembly.missing(),
            },
        )

    def _problem(self, assembly: Assembly, what: str, more: Mapping[str, Any]) -> None:
        first = assembly.first
        facts = first.facts
        detail = {
            "what": what,
            "source": facts["source"],
            "destination": facts["destination"],
            "id": facts["id"],
            "fragments": assembly.frame_count,
            "first_frame": first.frame,
            "last_frame": assembly.last_frame,
            **more,
        }
        self._problems.append(
            {
                "capture": first.capture,
                "frame": first.frame,
                "index": 0,
                "last_frame": assembly.last_frame,
                "at_ns": first.at_ns,
                "last_at_ns": first.at_ns,
                "system": CAPTURE_SYSTEM,
                "conversation": NO_CONVERSATION,
                "kind": int(Kind.PROBLEM),
                "wire_kind": "FRAGMENT",
                "count": assembly.frame_count,
                "flags": 0,
                "size": 0,
                "fresh_id": facts["id"],
                "detail": json.dumps(detail, sort_keys=True, separators=(",", ":")),
            }
        )

    def _account(self, capture: int, split: int) -> Account:
        key = capture, split
        if key not in self._accounts:
            self._accounts[key] = Account(capture, split, [])
        return self._accounts[key]

    def _count(self, capture: int, split: int, outcome: Outcome, frames: int, reason: str) -> None:
        account = self._account(capture, split)
        account.count(outcome, frames, reason)
        account.fragments["frames"] += frames

    def _flush(self) -> Iterator[pa.RecordBatch]:
        """Decode what is ready, then tell what happened to frames since the last time."""
        ready, self._ready, self._ready_bytes = self._ready, [], 0
        decoder_accounts: dict[tuple[int, int], list[dict[str, object]]] = {}
        by_piece: dict[tuple[int, int], list[Whole]] = {}
        for whole in ready:
            by_piece.setdefault((whole.capture, whole.frame >> FRAME_BITS), []).append(whole)
        for key in sorted(by_piece):
            wholes = sorted(by_piece[key], key=lambda whole: whole.frame)
            whole_ones = [whole for whole in wholes if not whole.incomplete]
            if whole_ones:
                batches, accounts = self._decode(key, whole_ones)
                decoder_accounts[key] = accounts
                self._account(*key)
                yield from batches
            if len(whole_ones) < len(wholes):
                self._recognise(key, [whole for whole in wholes if whole.incomplete])
        if self._problems:
            yield pa.RecordBatch.from_pylist(self._problems, schema=EVENTS)
            self._problems = []
        for key in sorted(self._accounts):
            yield self._accounts[key].row({}, decoder_accounts.get(key, ()))
        self._accounts = {}

    def _decode(
        self, key: tuple[int, int], wholes: list[Whole]
    ) -> tuple[list[pa.RecordBatch], list[dict[str, object]]]:
        """Complete datagrams of one piece: rows, and the decoders' accounts."""
        dispatcher = Dispatcher(self._settings)
        batches: list[pa.RecordBatch] = []
        account = self._account(*key)
        for whole, outcome, reason, system, ports in self._offer(key, wholes, dispatcher, batches):
            assembly, fate = whole.assembly, whole.fate
            fate.outcome, fate.reason = outcome, reason
            for frames in (assembly.frames, fate.frames):
                for split, count in frames.items():
                    self._count(whole.capture, split, outcome, count, reason)
            account.fragments["datagrams"] += 1
            facts = assembly.first.facts
            count, source, destination = assembly.frame_count, facts["source"], facts["destination"]
            account.add_endpoint(UDP, destination, ports[1], system, count, assembly.wire_bytes)
            if system:
                if not ipaddress.ip_address(destination).is_multicast:
                    account.add_unicast(
                        source, destination, assembly.low_ttl, assembly.high_ttl, count
                    )
                if assembly.outgoing:
                    account.add_outgoing(source)
        batches += dispatcher.finish()
        return batches, dispatcher.accounts()

    def _recognise(self, key: tuple[int, int], wholes: list[Whole]) -> None:
        """Whose incomplete datagrams are; what decoders make of them is not kept."""
        for whole, _, _, system, _ in self._offer(key, wholes, Dispatcher(self._settings), []):
            self._incomplete(
                whole.assembly, system, Outcome.UNDECODABLE if system else Outcome.OTHER
            )

    def _offer(
        self,
        key: tuple[int, int],
        wholes: list[Whole],
        dispatcher: Dispatcher,
        batches: list[pa.RecordBatch],
    ) -> Iterator[tuple[Whole, Outcome, str, str, Span]]:
        """Each datagram with its outcome, the reason, its system or "", and its ports."""
        capture, split = key
        compile_it = self._compile_it
        if compile_it is None:
            compile_it = self._seen_bytes // 100 >= COMPILE_FROM_RECORDS
        reader = PacketReader(capture, split, compile_it=compile_it)
        for packets in reader.read(_records(wholes)):
            states = packets.column(k.STATE).tolist()
            part = wholes[packets.first : packets.first + len(states)]
            datagrams = _apart(packets, part)
            decoded, claimed = dispatcher.decode(datagrams)
            batches += decoded
            at = 0
            for whole, state in zip(part, states, strict=True):
                if state in SETTLED:
                    yield whole, *SETTLED[state], "", (0, 0)
                    continue
                outcome = Outcome(int(datagrams.outcome[at]))
                system = "" if claimed[at] == NOBODY else dispatcher.systems[int(claimed[at])]
                ports = int(datagrams.source_port[at]), int(datagrams.destination_port[at])
                yield whole, outcome, "", system, ports
                at += 2


def _fragments(segments: pa.RecordBatch) -> Iterator[Fragment]:
    names = ("capture", "carrier", "frame", "at_ns", "detail", "payload")
    columns = (segments.column(name).to_pylist() for name in names)
    for capture, carrier, frame, at_ns, detail, payload in zip(*columns, strict=True):
        yield Fragment(capture, carrier, frame, at_ns, json.loads(detail), payload)


def _records(wholes: list[Whole]) -> Records:
    """Datagrams as IP packets without fragmentation, for the packet kernel.

    Their times are hidden from it, so that its search for duplicates leaves them alone: what shares
    a batch depends on how the capture was cut.
    """
    packets: list[bytes] = []
    sizes: list[int] = []
    for whole in wholes:
        packet, size = _packet(whole.assembly)
        packets.append(packet)
        sizes.append(size)
    count = len(wholes)
    captured = np.array([len(packet) for packet in packets], np.int64)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(captured)[:-1]])
    return Records(
        data=b"".join(packets),
        count=count,
        frame=np.array([whole.frame & FRAME_MASK for whole in wholes], np.int64),
        start=start,
        captured=captured,
        original=np.array(sizes, np.int64),
        at_ns=np.full(count, -1, np.int64),
        link=np.full(count, RAW, np.int64),
        interface=np.zeros(count, np.int64),
        offset=start,
        status=np.zeros(count, np.int64),
        section=0,
    )


def _packet(assembly: Assembly) -> tuple[bytes, int]:
    """The IP packet as far as it is known, and its length on the wire."""
    head = assembly.head
    assert head is not None, "the caller has made sure of the first fragment"
    facts = head.facts
    prefix = assembly.prefix()
    total = assembly.total
    if total is None:  # incomplete: let UDP say how long it was going to be
        told = struct.unpack_from(">H", prefix, 4)[0] if len(prefix) >= 6 else 0
        total = max(told, assembly.spans[-1][1])
    source = ipaddress.ip_address(facts["source"]).packed
    destination = ipaddress.ip_address(facts["destination"]).packed
    ttl = int(facts["ttl"])
    if facts["version"] == 4:
        size = 20 + total
        # more than 65535 on the wire is refused by the kernel, so total fits
        header = struct.pack(
            ">BBHHHBBH", 0x45, 0, size, facts["id"], 0, ttl, int(facts["protocol"]), 0
        )
        return header + source + destination + prefix, size
    size = 8 + total
    # an atomic fragment keeps the id; 0 is "as long as it is on the wire"
    header = struct.pack(">IHBB", 0x60000000, size if size < 65536 else 0, 44, ttl)
    fragment = struct.pack(">BBHI", int(facts["protocol"]), 0, 0, facts["id"])
    return header + source + destination + fragment + prefix, 40 + size


def _apart(packets: Packets, wholes: list[Whole]) -> Datagrams:
    """Every datagram followed by a barrier: none may share a run with another."""
    datagrams = packets.datagrams
    kept = [wholes[row] for row in packets.rows.tolist()]
    datagrams.at_ns = np.array([whole.at_ns for whole in kept], np.int64)
    duplicate = np.array([whole.duplicate for whole in kept], np.bool_)
    datagrams.flags = datagrams.flags | np.where(duplicate, int(Flag.NETWORK_DUPLICATE), 0)
    twice = datagrams.take(np.repeat(np.arange(datagrams.count), 2))
    twice.barrier[1::2] = 1
    return twice
