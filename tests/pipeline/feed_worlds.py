"""Invented feeds end to end: senders, a network and a re-request server, and what became of it all.

Beside ``tests.bench`` a second maker of captures, one datagram at a time and by other rules: any
header (``Header``), numbers that wrap, declared resets, IPv6, VLANs, fragments, short captures,
pcap and pcapng. ``Book`` keeps what a reader who knows everything would write down; nothing here
asks the code that is tested.
"""

import random
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from seqaudit.replay.sequence.gaps import Outcome
from tests.decoders.network.builders import (
    UDP,
    ethernet,
    fragments4,
    ipv4,
    ipv6,
    summed,
    udp,
)

US: Final = 1_000
MS: Final = 1_000_000
START_NS: Final = 1_790_000_000_000_000_000
SENDER, SERVER, CLIENT = "10.0.0.1", "10.0.0.2", "10.0.0.7"
PORT, SERVER_PORT, CLIENT_PORT = 26_400, 6_000, 40_000
DATA, BEAT, END, RESET, REQUEST, REPAIR = "data", "beat", "end", "reset", "request", "repair"
#: Numbers of a stream that a network can mix up: less than half of the smallest space, and so few
#: packets that a late one comes within ``feed.late_ms`` and a repeat within a second.
NARROW, WIDE = 8, 200

#: How worlds differ from a header of fixed fields in front of the body: fields counted from behind
#: the last byte, or behind options that a flag tells; numbers counted by bytes, or by blocks.
SHAPES: Final = ("behind", "flagged", "bytes", "blocks")
COUNTED: Final = ("bytes", "blocks")
FLAGGED: Final = {0: 0, 1: 4, 2: 9, 7: 1}


@dataclass
class Header:
    """Where a feed's fields are; ``key``, ``count`` and ``kind`` may be missing."""

    order: str
    size: int
    fields: dict[str, tuple[int, int, int, int]]  # offset, width, mask, shift
    bits: int  # of the number
    filler: bytes
    shape: str = ""  # of SHAPES

    @property
    def counts(self) -> bool:
        """Whether a datagram may take several numbers."""
        return "count" in self.fields or self.shape in COUNTED

    def payload(self, body: bytes, chance: random.Random, count: int, **values: int) -> bytes:
        """A datagram: its header and the body, in the shape of this world."""
        head = self.packed(count=count, **values)
        if self.shape == "behind":
            return body + head
        if self.shape == "flagged":
            flag = chance.choice([0, 1, 2, 7])
            return bytes([flag]) + chance.randbytes(FLAGGED[flag]) + head + body
        if self.shape == "bytes":
            return head + chance.randbytes(6 * count + chance.randrange(6) * (count > 0))
        if self.shape == "blocks":
            sizes = [chance.randrange(9) for _ in range(count)]
            return head + b"".join(bytes([size]) + chance.randbytes(size) for size in sizes)
        return head + body

    def _placed(self, offset: int) -> str:
        if self.shape == "behind":
            return f"offset: {offset - self.size}"
        if self.shape == "flagged":
            return f"offset: {offset + 1}, after: {{field: flag, sizes: {FLAGGED}}}"
        return f"offset: {offset}"

    def _counting(self) -> str:
        if self.shape == "bytes":
            return f"count: {{bytes: {self.size}, unit: 6}}"
        return f"count: blocks\nblocks: {{offset: {self.size}, width: 1}}"

    def packed(self, **values: int) -> bytes:
        data = bytearray(self.filler)
        for name, value in values.items():
            if name not in self.fields:
                continue
            offset, width, mask, shift = self.fields[name]
            place = slice(offset, offset + width)
            held = int.from_bytes(data[place], self.order)  # type: ignore[arg-type]
            held = held & ~mask | (value << shift) & mask
            data[place] = held.to_bytes(width, self.order)  # type: ignore[arg-type]
        return bytes(data)

    def yaml(self, groups: list[str], *, lines: bool, repairs: bool) -> str:
        """The feed file."""
        text = [
            "feed: world",
            "match:",
            *(f'  - {{destination: "{group}", port: {PORT}}}' for group in groups),
            f"byte_order: {self.order}",
            "fields:",
        ]
        for name, (offset, width, mask, shift) in self.fields.items():
            bits = f", mask: {mask:#x}, shift: {shift}" if mask != (1 << 8 * width) - 1 else ""
            text.append(f"  {name}: {{{self._placed(offset)}, width: {width}{bits}}}")
        text += ["  flag: {offset: 0, width: 1}"] * (self.shape == "flagged")
        text += ["stream: [destination, port" + ", key" * ("key" in self.fields) + "]"]
        text += ["seqno: seqno"] + ["count: count"] * ("count" in self.fields)
        text += [self._counting()] * (self.shape in COUNTED)
        text.append("messages:")
        if repairs:
            text += [
                "  - {name: REQUEST, to: server, is: request}",
                "  - {name: REPAIR, from: server, is: repair}",
            ]
        text += [
            "  - {name: BEAT, when: {kind: 1}, is: heartbeat, says: next}",
            "  - {name: END, when: {kind: 2}, is: end, says: last}",
            "  - {name: RESET, when: {kind: 3}, is: reset, says: next}",
        ]
        if repairs:
            text.append(f'servers: ["{SERVER}:{SERVER_PORT}"]')
        if lines:
            text += ["lines:", f'  - {{A: "{groups[0]}:{PORT}", B: "{groups[1]}:{PORT}"}}']
        return "\n".join(text) + "\n"


def draw_header(chance: random.Random, *, width: int | None = None) -> Header:
    """Fields in any order, with holes between them."""
    order = chance.choice(["big", "little"])
    width = width or chance.randint(1, 8)
    names = (
        ["seqno", "kind"] + ["count"] * (chance.random() < 0.6) + ["key"] * (chance.random() < 0.5)
    )
    chance.shuffle(names)
    fields: dict[str, tuple[int, int, int, int]] = {}
    at, bits = 0, 8 * width
    for name in names:
        at += chance.choice([0, 0, 1, 3])
        size = {"seqno": width, "kind": 1}.get(name) or chance.choice([1, 2, 4])
        mask, shift = (1 << 8 * size) - 1, 0
        if name == "seqno" and width > 1 and chance.random() < 0.4:
            shift = chance.randint(0, 6)
            top = chance.randint(0, min(6, 8 * size - shift - 8))
            bits = 8 * size - shift - top
            mask = ((1 << bits) - 1) << shift
        elif name == "key" and chance.random() < 0.5:
            shift, mask = 4, 0xF0
        fields[name] = (at, size, mask, shift)
        at += size
    at += chance.choice([0, 2, 5])
    return Header(order, at, fields, bits, chance.randbytes(at))


@dataclass
class Packet:
    """One datagram as it is captured; numbers are those that the sender counts, without wraps."""

    at_ns: int
    kind: str
    first: int
    count: int
    made: str  # original, duplicate, copy
    frames: list[bytes]
    order: int = 0


@dataclass
class Missing:
    """A gap as it was revealed."""

    first: int
    stop: int
    frame: int
    before: int
    by: str
    at_ns: int
    requested: int | None = None
    requests: int = 0
    outcome: dict[int, str] = field(default_factory=dict)
    # Of each outcome the frame that brought the last. Late packets one after another are one row
    # of the decoder, so of these only the first and the last frame are known.
    last: dict[str, list[int]] = field(default_factory=dict)


class Book:
    """One stream as somebody sees it who knows what each packet is."""

    def __init__(self, *, v6: bool = False) -> None:
        self.v6 = v6  # nothing tells a repeat of the network from one of the sender
        self.high: int | None = None
        self.before = 0
        self.have: set[int] = set()
        self.gaps: list[Missing] = []
        self._open: dict[int, Missing] = {}
        self._row: tuple[int, bool, int, list[list[int]]] = (-1, False, 0, [])
        self.figures: dict[str, int] = dict.fromkeys(
            ("messages", "arrivals", "copies", "network_duplicates", "reordered", "recovered",
             "unrecovered", "gaps", "resets", "requests"), 0
        )  # fmt: skip
        self.tails = 0
        self.lost: list[int] = []

    def take(self, packet: Packet, frame: int) -> None:
        first, stop = packet.first, packet.first + packet.count
        if packet.kind == RESET:
            self._end()
            self.figures["resets"] += 1
            self.high, self.before = first, frame
        elif packet.kind in (BEAT, END):
            if self._row[0] != first:  # it is told of the row before it, if that shows it
                self._row = (-1, False, 0, [])
            word = "a heartbeat" if packet.kind == BEAT else "the end of the session"
            self.reveal(first, frame, packet.at_ns, word)
            if self.high == first:
                self.before = frame
        elif packet.kind == REQUEST:
            self.figures["requests"] += 1
            for gap in {id(g): g for n in range(first, stop) if (g := self._open.get(n))}.values():
                gap.requests += 1
                gap.requested = gap.requested or frame
        else:
            self._data(packet, first, stop, frame)

    def _data(self, packet: Packet, first: int, stop: int, frame: int) -> None:
        self.figures["arrivals"] += packet.count
        if packet.kind == DATA:
            self.reveal(first, frame, packet.at_ns, "a higher number")
        assert self.high is not None or packet.kind == DATA
        outcome = "recovered" if packet.kind == REPAIR else "reordered"
        stopped, twice, begun, spans = self._row
        again = packet.made == "duplicate" and not self.v6
        if packet.kind == REPAIR or stopped != first or twice != again:
            begun, spans = frame, []
        for span in spans:
            span[1] = frame
        for number in range(first, stop):
            if number in self.have:
                self.figures["copies"] += 1
                self.figures["network_duplicates"] += packet.made == "duplicate"
                continue
            self.have.add(number)
            self.figures["messages"] += 1
            gap = self._open.pop(number, None)
            if gap is not None:
                gap.outcome[number] = outcome
                spans.append([begun, frame])
                gap.last[outcome] = spans[-1]
                self.figures[outcome] += 1
                self.tails -= outcome == "reordered" and gap.by != "a higher number"
        self._row = -1 if packet.kind == REPAIR else stop, again, begun, spans
        self.high = max(self.high or 0, stop)
        if self.high == stop:
            self.before = frame

    def reveal(self, stop: int, frame: int, at_ns: int, by: str) -> None:
        if self.high is None:
            self.high = stop
        if stop <= self.high:
            return
        gap = Missing(self.high, stop, frame, self.before, by, at_ns)
        self.gaps.append(gap)
        self.figures["gaps"] += 1
        self._open |= dict.fromkeys(range(self.high, stop), gap)
        self.tails += (stop - self.high) if by != "a higher number" else 0
        self.high = stop

    def _end(self) -> None:
        """The numbering is over."""
        for number, gap in self._open.items():
            gap.outcome[number] = "unrecovered"
            self.lost.append(number)
        self.figures["unrecovered"] += len(self._open)
        self._open = {}
        self.have = set()
        self.high = None

    def close(self) -> None:
        self._end()


@dataclass(frozen=True)
class Rates:
    """Chances of a data packet; ``repairs`` of a lost one."""

    loss: float = 0.0
    burst: int = 1
    late: float = 0.0
    duplicates: float = 0.0
    copies: float = 0.0
    repairs: float = 0.0
    beats: float = 0.1
    resets: float = 0.0
    beat_loss: float = 0.0


NONE: Final = Rates()


def draw_rates(chance: random.Random, bits: int) -> Rates:
    """Every class alone and together, from none to a half."""

    def rate() -> float:
        return chance.choice([0.0, 0.0, chance.random() * 0.02, chance.random() * 0.5])

    return Rates(
        rate(), 2 if bits < 12 else chance.choice([1, 4, 20]), rate(), rate(), rate(),
        chance.choice([0.0, 0.4, 1.0]), chance.choice([0.0, 0.1, 0.5]),
        chance.choice([0.0, 0.0, 0.01]), chance.choice([0.0, 0.3]),
    )  # fmt: skip


class Stream:
    """One numbered sequence: its sender and its way to the place of capture."""

    def __init__(
        self, chance: random.Random, header: Header, rates: Rates, group: str, key: int, size: int
    ) -> None:
        self.chance, self.header, self.rates = chance, header, rates
        self.group, self.key, self.size = group, key, size
        self.v6 = ":" in group
        self.big = chance.random() < 0.1 and not self.v6  # some of its packets are fragmented
        self.big = self.big and header.shape not in COUNTED  # which are never that long
        self.tags = chance.choice([(), (), (0x8100,), (0x88A8, 0x8100)])
        self.reach = NARROW if header.bits < 12 else WIDE
        self.ident = chance.randrange(1 << 14)

    def frames(self, payload: bytes, *, big: bool = False) -> list[bytes]:
        self.ident += 1
        sender = "fd00::1" if self.v6 else SENDER
        datagram = summed(udp(payload, 5_000, PORT), UDP, sender, self.group)
        ident = self.ident & 0xFFFF
        if self.v6:
            return [ethernet(ipv6(datagram, sender, self.group), 0x86DD, self.tags)]
        if big:
            parts = [bytearray(p) for p in fragments4(datagram, [1480], ident, self.group)]
            for part in parts:
                part[12:16] = bytes(map(int, SENDER.split(".")))
            return [ethernet(bytes(part), tags=self.tags) for part in parts]
        return [ethernet(ipv4(datagram, SENDER, self.group, ident=ident), tags=self.tags)]

    def unicast(self, payload: bytes, *, asks: bool) -> list[bytes]:
        self.ident += 1
        ends = (CLIENT, SERVER) if asks else (SERVER, CLIENT)
        ports = (CLIENT_PORT, SERVER_PORT) if asks else (SERVER_PORT, CLIENT_PORT)
        datagram = summed(udp(payload, *ports), UDP, *ends)
        return [ethernet(ipv4(datagram, *ends, ident=self.ident & 0xFFFF))]

    def payload(self, kind: str, first: int, count: int, body: bytes) -> bytes:
        says = {BEAT: 1, END: 2, RESET: 3}.get(kind, 0)
        number = first - 1 if kind == END else first
        wire = number & (1 << self.header.bits) - 1
        return self.header.payload(body, self.chance, count, seqno=wire, kind=says, key=self.key)

    def packets(self) -> Iterator[Packet]:
        """What arrives, in no order."""
        chance, rates = self.chance, self.rates
        now = START_NS + chance.randrange(50) * MS
        number = chance.choice([1, 1, 0, chance.randrange(1 << min(self.header.bits, 30))])
        counted = self.header.counts
        lost_for, quiet = 0, 3
        times: list[int] = []
        held: list[tuple[int, Packet, int]] = []  # index it waits for, packet, offset
        waiting: list[Packet] = []
        for index in range(self.size):
            now += chance.choice([1, 3, 10, 200]) * US * chance.choice([1, 1, 1, 10])
            times.append(now)
            count = chance.randint(1, 4) if counted else 1
            body = chance.randbytes(chance.randint(8, 30) if not self.big else 1_600)
            settled = not held and not waiting
            ends = index >= self.size - 3
            if quiet <= 0 and settled and not ends and chance.random() < rates.resets:
                number = chance.choice([1, 0, chance.randrange(1 << min(self.header.bits, 20))])
                frames = self.frames(self.payload(RESET, number, 0, b""))
                yield Packet(now, RESET, number, 0, "original", frames)
                quiet, lost_for = 3, 0
                continue
            if chance.random() < rates.beats and quiet <= 0:
                if chance.random() >= rates.beat_loss:
                    frames = self.frames(self.payload(BEAT, number, 0, b""))
                    yield Packet(now, BEAT, number, 0, "original", frames)
                continue
            payload = self.payload(DATA, number, count, body)
            packet = Packet(
                now, DATA, number, count, "original", self.frames(payload, big=self.big)
            )
            first, number = number, number + count
            quiet -= 1
            sure = quiet >= 0 or ends
            if not sure and not lost_for and chance.random() < rates.loss / rates.burst:
                lost_for = rates.burst
            if lost_for and not sure:
                lost_for -= 1
                if self.chance.random() < rates.repairs and not self.v6:
                    waiting.append(packet)
                continue
            if not sure and chance.random() < rates.late:
                held.append((index + chance.randint(2, self.reach), packet, 7))
            else:
                yield packet
                # What was lost is asked for once a later number has shown it.
                for lost in waiting:
                    yield from self.repaired(lost, now)
                waiting = []
                for rate, made in ((rates.duplicates, "duplicate"), (rates.copies, "copy")):
                    if not sure and chance.random() < rate:
                        frames = packet.frames
                        if made == "copy":
                            frames = self.frames(payload, big=self.big)
                        again = Packet(now, DATA, first, count, made, frames)
                        held.append((index + chance.randint(1, self.reach // 2), again, 11))
            due = [entry for entry in held if entry[0] <= index]
            held = [entry for entry in held if entry[0] > index]
            for _, packet, offset in due:
                packet.at_ns = now + offset
                yield packet
        for _, packet, offset in held:
            packet.at_ns = now + offset
            yield packet
        now += 20 * MS
        for turn in range(3):
            frames = self.frames(self.payload(END, number, 0, b""))
            yield Packet(now + turn * MS, END, number, 0, "original", frames)

    def repaired(self, lost: Packet, now: int) -> Iterator[Packet]:
        asked, answered = now + 13, now + 17
        ask = self.payload(REQUEST, lost.first, lost.count, b"")
        yield Packet(asked, REQUEST, lost.first, lost.count, "", self.unicast(ask, asks=True))
        answer = self.payload(REPAIR, lost.first, lost.count, bytes(8))
        frames = self.unicast(answer, asks=False)
        yield Packet(answered, REPAIR, lost.first, lost.count, "", frames)


@dataclass
class World:
    """A capture, its feed file, and a book for each stream by the id that the report gives it."""

    feed: str
    frames: list[tuple[int, bytes]]
    books: dict[str, Book]
    header: Header
    rates: Rates
    v6: bool

    def write(self, folder: Path, chance: random.Random) -> tuple[Path, Path]:
        capture, feed = folder / "world.pcap", folder / "world.yaml"
        feed.write_text(self.feed, encoding="utf-8")
        write = chance.choice([pcap_bytes, pcapng_bytes])
        capture.write_bytes(write(self.frames))
        return capture, feed


def draw_world(
    seed: int, *, size: int | None = None, rates: Rates | None = None, shape: str = ""
) -> World:
    """Everything from a seed, in one of ``SHAPES``."""
    chance = random.Random(seed)
    header = draw_header(chance, width=1 + seed % 8)
    if shape:
        header.shape = shape
        if shape in COUNTED:  # a request has none of what it asks for
            header.fields.pop("count", None)
            rates = replace(rates or draw_rates(chance, header.bits), repairs=0.0)
    rates = rates or draw_rates(chance, header.bits)
    v6 = chance.random() < 0.2
    groups = [f"ff05::{n}" if v6 else f"239.3.0.{n}" for n in range(1, chance.randint(2, 5))]
    keys = [0]
    if "key" in header.fields:
        keys = chance.sample(range(15), chance.randint(1, 3))
    # A repair names no group: it can only be told whose it is where one stream has the key.
    repairs = not v6 and len(groups) == 1 and rates.repairs > 0
    streams = {
        (group, key): Stream(
            chance, header, rates if repairs else replace(rates, repairs=0.0), group, key,
            size or chance.choice([40, 200, 800]),
        )
        for group in groups
        for key in keys
    }  # fmt: skip
    arrivals: list[tuple[int, int, str, Packet]] = []
    tags = next(iter(streams.values())).tags  # of two networks the streams would be two captures'
    for (group, key), stream in streams.items():
        stream.tags = tags
        for packet in stream.packets():
            said = f"key={key}" if "key" in header.fields else ""
            place = f"[{group}]:{PORT}" if v6 else f"{group}:{PORT}"
            arrivals.append((packet.at_ns, len(arrivals), f"world|{said}|{place}|", packet))
    arrivals.sort(key=lambda entry: entry[:2])
    frames: list[tuple[int, bytes]] = []
    books: dict[str, Book] = {}
    for at_ns, _, name, packet in arrivals:
        frames += [(at_ns, data) for data in packet.frames]
        books.setdefault(name, Book(v6=v6)).take(packet, len(frames))
    for book in books.values():
        book.close()
    feed = header.yaml(groups, lines=False, repairs=repairs)
    return World(feed, frames, books, header, rates, v6)


def of_lines(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the report says of two lines, as the truth of a world has it."""
    both = row["line_a"], row["line_b"]
    return {
        "messages": row["messages"],
        "compared": row["compared"],
        "lost_on_both": row["lost_on_both"] + row["open_at_end"],
        "only": [line["lost_only_here"] for line in both],
        "measured": row["measured"],
        "together": row["together"],
        "first": [line["first"] for line in both],
    }


def pcap_bytes(frames: list[tuple[int, bytes]], snap: int = 65_535) -> bytes:
    """A pcap in nanoseconds, big-endian."""
    out = [struct.pack(">IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snap, 1)]
    for at_ns, data in frames:
        held = data[:snap]
        out.append(struct.pack(">IIII", *divmod(at_ns, 10**9), len(held), len(data)) + held)
    return b"".join(out)


def pcapng_bytes(frames: list[tuple[int, bytes]], snap: int = 65_535) -> bytes:
    """A pcapng with one interface that counts nanoseconds."""

    def block(kind: int, body: bytes) -> bytes:
        size = 12 + len(body)
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    out = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, snap) + resolution),
    ]
    for at_ns, data in frames:
        held = data[:snap]
        head = struct.pack("<IIIII", 0, at_ns >> 32, at_ns & 0xFFFFFFFF, len(held), len(data))
        out.append(block(6, head + held + bytes(-len(held) % 4)))
    return b"".join(out)


def differences(world: World, report: dict[str, Any]) -> list[str]:
    """One line for each figure, gap and finding that is not what happened."""
    found = []
    streams = {stream["id"]: stream for stream in report["streams"]}
    if streams.keys() != world.books.keys():
        found.append(f"streams {sorted(streams)}, not {sorted(world.books)}")
    for name, book in world.books.items():
        stream = streams.get(name)
        if stream is None:
            continue
        ours = {figure: stream[figure] for figure in book.figures if figure != "requests"}
        ours["requests"] = stream["requests"]["passed"]
        ours["unrecovered"] += stream["open_at_end"]  # a world knows what never came
        truth = dict(book.figures)
        if world.v6:  # nothing tells a repeat of the network from one of the sender
            truth["network_duplicates"] = ours["network_duplicates"]
        found += [
            f"{name}: {figure} {truth[figure]}, reported {ours[figure]}"
            for figure in truth
            if truth[figure] != ours[figure]
        ]
        found += _gap_differences(name, book, report)
        found += _finding_differences(name, book, report, 1 << world.header.bits, v6=world.v6)
    begun = [s for s in report["streams"] if s["start_known"] is False]
    known = {finding["stream"] for finding in report["findings"] if finding["rule"] != "CP015"}
    known -= world.books.keys()
    if bool(begun) != any(finding["rule"] == "CP015" for finding in report["findings"]):
        found.append(f"CP015 of {len(begun)} streams")
    found += [f"{s['id']} had begun before" for s in begun if s["first_seqno"] == 1]
    found += [f"findings of {sorted(map(str, known))}"] if known else []
    return found


def _gap_differences(name: str, book: Book, report: dict[str, Any]) -> Iterator[str]:
    told: dict[tuple[Any, ...], Any] = {}
    for gap in report["gaps"]:
        if gap["stream"] == name:
            open_ = gap["outcome"] == Outcome.CUT_OFF
            key = gap["revealed_frame"], "unrecovered" if open_ else gap["outcome"]
            told[key] = (
                gap["count"], gap["lost_after_frame"], gap["revealed_by"], gap["requested_frame"],
                gap["requests"], gap["revealed_at_ns"], gap["repaired_frame"],
            )  # fmt: skip
    truth: dict[tuple[Any, ...], Any] = {}
    for missing in book.gaps:
        for outcome in set(missing.outcome.values()):
            count = sum(one == outcome for one in missing.outcome.values())
            ours = told.get((missing.frame, outcome), (None,))[-1]
            first, last = missing.last.get(outcome, (None, None))
            truth[missing.frame, outcome] = (
                count, missing.before, missing.by, missing.requested, missing.requests,
                missing.at_ns, ours if ours and first and first <= ours <= last else last,
            )  # fmt: skip
    for key in sorted(told.keys() | truth.keys()):
        if told.get(key) != truth.get(key):
            yield f"{name}: gap {key} {truth.get(key)}, reported {told.get(key)}"


def _lost_of(gap: Missing) -> int:
    return sum(outcome == "unrecovered" for outcome in gap.outcome.values())


def _finding_differences(
    name: str, book: Book, report: dict[str, Any], space: int, *, v6: bool
) -> Iterator[str]:
    told: dict[str, int] = {}
    for finding in report["findings"]:
        if finding["stream"] == name:
            rule, first = finding["rule"], finding["text"].split(" ")[0]
            rule = "FD002" if rule == "FD017" else "FD006" if v6 and rule == "FD005" else rule
            told[rule] = told.get(rule, 0) + (int(first) if first.isdecimal() else 1)
    figures = book.figures
    copies, twice = figures["copies"], figures["network_duplicates"]
    truth = {
        "FD001": figures["recovered"],
        "FD002": figures["unrecovered"],
        "FD003": figures["reordered"],
        "FD005": 0 if v6 else twice,
        "FD006": copies if v6 else copies - twice,
        "FD007": book.tails,
        "FD009": figures["resets"] > 0,
        "FD020": sum(_lost_of(gap) >= max(1, 3000 * space // 65536) for gap in book.gaps)
        if space <= 65536
        else 0,
    }
    truth = {rule: int(count) for rule, count in truth.items() if count}
    for rule in sorted(told.keys() | truth.keys()):
        if told.get(rule) != truth.get(rule):
            yield f"{name}: {rule} {truth.get(rule, 0)}, reported {told.get(rule, 0)}"
