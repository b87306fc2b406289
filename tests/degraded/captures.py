"""Captures as lists of raw records, read and written without the code under test.

pcap and pcapng of one or several interfaces. Only records are touched: the header and every other
block stay as they are, those behind the first packet move to the end.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from tests.agreement.wire import read_file

SECOND_NS: Final = 1_000_000_000

_MICROSECONDS: Final = 0xA1B2C3D4
_NANOSECONDS: Final = 0xA1B23C4D
_SECTION: Final = 0x0A0D0D0A
_BYTE_ORDER: Final = 0x1A2B3C4D
_INTERFACE: Final = 1
_PACKET: Final = 6
_RESOLUTION: Final = 9
#: Packets without a time, and those of files before pcapng was written down.
_OTHER_PACKETS: Final = (2, 3)


@dataclass(frozen=True, slots=True)
class Record:
    """One captured frame; ``size`` is its length on the wire, ``options`` are those of pcapng."""

    at_ns: int
    data: bytes
    size: int
    interface: int = 0
    options: bytes = b""

    def moved(self, by_ns: int) -> "Record":
        return Record(self.at_ns + by_ns, self.data, self.size, self.interface, self.options)

    def holding(self, data: bytes) -> "Record":
        """Other bytes; what was cut off stays cut off."""
        size = max(0, self.size + len(data) - len(self.data))
        return Record(self.at_ns, data, size, self.interface, self.options)


class Layout(Protocol):
    """How records are written."""

    @property
    def links(self) -> tuple[int, ...]:
        """Link types by interface."""

    def write(self, records: tuple[Record, ...]) -> bytes:
        """The whole file."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A file: its records and how to write them."""

    layout: Layout
    records: tuple[Record, ...]

    def of(self, records: "list[Record] | tuple[Record, ...]") -> "Capture":
        """The same file with other records."""
        return Capture(self.layout, tuple(records))

    def written(self) -> bytes:
        return self.layout.write(self.records)

    def link(self, record: Record) -> int:
        return self.layout.links[record.interface]


@dataclass(frozen=True, slots=True)
class Pcap:
    """The classic format."""

    header: bytes
    order: str
    tick_ns: int

    @property
    def links(self) -> tuple[int, ...]:
        return (struct.unpack_from(f"{self.order}I", self.header, 20)[0] & 0xFFFF,)

    def write(self, records: tuple[Record, ...]) -> bytes:
        parts = [self.header]
        for record in records:
            seconds, rest = divmod(record.at_ns, SECOND_NS)
            head = (seconds, rest // self.tick_ns, len(record.data), record.size)
            parts += (struct.pack(f"{self.order}IIII", *head), record.data)
        return b"".join(parts)


@dataclass(frozen=True, slots=True)
class Pcapng:
    """The new format, one section."""

    head: bytes
    tail: bytes
    order: str
    links: tuple[int, ...]
    ticks_a_second: tuple[int, ...]

    def write(self, records: tuple[Record, ...]) -> bytes:
        parts = [self.head]
        for record in records:
            stamp = record.at_ns * self.ticks_a_second[record.interface] // SECOND_NS
            padded = record.data + bytes(-len(record.data) % 4)
            size = 32 + len(padded) + len(record.options)
            parts += (
                struct.pack(
                    f"{self.order}IIIIIII",
                    *(_PACKET, size, record.interface, stamp >> 32, stamp & 0xFFFFFFFF),
                    *(len(record.data), record.size),
                ),
                padded,
                record.options,
                struct.pack(f"{self.order}I", size),
            )
        return b"".join([*parts, self.tail])


#: No record of no file.
NOTHING: Final = Capture(
    Pcap(struct.pack("<IHHiIII", _NANOSECONDS, 2, 4, 0, 0, 1 << 18, 1), "<", 1), ()
)


def read(path: Path) -> Capture:
    """All records of a capture; what is torn at the end is left out."""
    data = read_file(path)
    for order in "<>":
        magic = struct.unpack_from(f"{order}I", data)[0]
        if magic in (_MICROSECONDS, _NANOSECONDS):
            return _read_pcap(data, order, 1000 if magic == _MICROSECONDS else 1)
    if struct.unpack_from("<I", data)[0] == _SECTION:
        return _read_pcapng(data)
    raise ValueError(f"{path} is neither pcap nor pcapng")


def _read_pcap(data: bytes, order: str, tick_ns: int) -> Capture:
    records = []
    place = 24
    while place + 16 <= len(data):
        seconds, rest, length, size = struct.unpack_from(f"{order}IIII", data, place)
        body = data[place + 16 : place + 16 + length]
        if len(body) < length:
            break
        records.append(Record(seconds * SECOND_NS + rest * tick_ns, body, size))
        place += 16 + length
    return Capture(Pcap(data[:24], order, tick_ns), tuple(records))


def _read_pcapng(data: bytes) -> Capture:
    order = "<" if struct.unpack_from("<I", data, 8)[0] == _BYTE_ORDER else ">"
    records: list[Record] = []
    head, tail = bytearray(), bytearray()
    links: list[int] = []
    ticks: list[int] = []
    place = 0
    while place + 12 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, place)
        block = data[place : place + size]
        if kind == _PACKET:
            interface, high, low, length, whole = struct.unpack_from(f"{order}IIIII", block, 8)
            stamp = (high << 32 | low) * SECOND_NS // ticks[interface]
            options = block[28 + length + -length % 4 : -4]
            records.append(Record(stamp, block[28 : 28 + length], whole, interface, options))
        elif kind in _OTHER_PACKETS or (kind == _SECTION and place):
            raise ValueError(f"block {kind} at {place} is not written again")
        else:
            if kind == _INTERFACE:
                links.append(struct.unpack_from(f"{order}H", block, 8)[0])
                ticks.append(_ticks_a_second(block, order))
            (tail if records else head).extend(block)
        place += max(size, 12)
    layout = Pcapng(bytes(head), bytes(tail), order, tuple(links), tuple(ticks))
    return Capture(layout, tuple(records))


def _ticks_a_second(block: bytes, order: str) -> int:
    place = 16
    while place + 4 <= len(block) - 4:
        code, length = struct.unpack_from(f"{order}HH", block, place)
        if code == _RESOLUTION:
            exponent = block[place + 4]
            return 1 << (exponent & 0x7F) if exponent & 0x80 else int(10**exponent)
        if code == 0:
            break
        place += 4 + length + -length % 4
    return 1_000_000
