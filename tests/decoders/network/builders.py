"""Packets, records and pcap files for tests of packets, fragments and pieces; nothing of ours."""

import ipaddress
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from seqaudit.decoders.capture.reader import Records

SOURCE = "10.80.0.1"
DESTINATION = "10.80.0.2"
GROUP = "239.8.8.8"
SOURCE6 = "fd00:80::1"
DESTINATION6 = "fd00:80::2"
UDP = 17


def udp(
    payload: bytes,
    source_port: int = 7800,
    destination_port: int = 45588,
    *,
    length: int | None = None,
    checksum: int = 0x1234,
) -> bytes:
    size = 8 + len(payload) if length is None else length
    return struct.pack(">HHHH", source_port, destination_port, size, checksum) + payload


def added(data: bytes) -> int:
    """RFC 1071, word by word."""
    found = 0
    for (word,) in struct.iter_unpack(">H", data + bytes(len(data) % 2)):
        found += word
        found = (found & 0xFFFF) + (found >> 16)
    return found


def pseudo(source: str, destination: str, protocol: int, size: int) -> bytes:
    ends = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    return ends + struct.pack(">II", size, protocol)


def summed(
    transport: bytes, protocol: int = UDP, source: str = SOURCE, destination: str = DESTINATION
) -> bytes:
    """With its checksum."""
    at = 6 if protocol == UDP else 16
    bare = transport[:at] + bytes(2) + transport[at + 2 :]
    made = 0xFFFF - added(pseudo(source, destination, protocol, len(bare)) + bare)
    if not made and protocol == UDP:
        made = 0xFFFF
    return with_sum(transport, made, protocol)


def with_sum(transport: bytes, told: int, protocol: int = UDP) -> bytes:
    at = 6 if protocol == UDP else 16
    return transport[:at] + struct.pack(">H", told) + transport[at + 2 :]


def ipv4(
    inner: bytes,
    source: str = SOURCE,
    destination: str = DESTINATION,
    *,
    protocol: int = 17,
    ident: int = 0x4321,
    ttl: int = 64,
    dont_fragment: bool = False,
    more: bool = False,
    offset: int = 0,
    options: bytes = b"",
    total: int | None = None,
    version: int = 4,
    words: int | None = None,
) -> bytes:
    words = 5 + len(options) // 4 if words is None else words
    total = 20 + len(options) + len(inner) if total is None else total
    place = offset // 8 | dont_fragment << 14 | more << 13
    first = version << 4 | words
    header = struct.pack(">BBHHHBBH", first, 0, total, ident, place, ttl, protocol, 0)
    ends = ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(destination).packed
    return header + ends + options + inner


def ipv6(
    inner: bytes,
    source: str = SOURCE6,
    destination: str = DESTINATION6,
    *,
    next_header: int = 17,
    hop_limit: int = 64,
    length: int | None = None,
) -> bytes:
    length = len(inner) if length is None else length
    ends = ipaddress.IPv6Address(source).packed + ipaddress.IPv6Address(destination).packed
    return struct.pack(">IHBB", 0x60000000, length, next_header, hop_limit) + ends + inner


def extension(next_header: int, inner: bytes, *, units: int = 0) -> bytes:
    """Hop-by-hop, routing or destination options of 8 * (units + 1) bytes."""
    return bytes([next_header, units]) + bytes(6 + 8 * units) + inner


def authentication(next_header: int, inner: bytes) -> bytes:
    return bytes([next_header, 4]) + bytes(22) + inner


def fragment6(
    next_header: int, inner: bytes, *, offset: int = 0, more: bool = False, ident: int = 0x9ABCDEF0
) -> bytes:
    return struct.pack(">BBHI", next_header, 0, offset | more, ident) + inner


def ethernet(inner: bytes, ethertype: int = 0x0800, tags: Sequence[int] = ()) -> bytes:
    """A frame, outermost VLAN tag first."""
    chain = [*tags, ethertype]
    frame = bytes(12) + struct.pack(">H", chain[0])
    for following in chain[1:]:
        frame += struct.pack(">HH", 5, following)
    return frame + inner


def sll(inner: bytes, protocol: int = 0x0800, packet_type: int = 0) -> bytes:
    return struct.pack(">HHH8sH", packet_type, 1, 6, b"\2\0\0\0\0\1", protocol) + inner


def sll2(inner: bytes, protocol: int = 0x0800, packet_type: int = 0) -> bytes:
    return struct.pack(">HHIHBB8s", protocol, 0, 2, 1, packet_type, 6, b"\2\0\0\0\0\1") + inner


@dataclass(frozen=True)
class Packet:
    data: bytes
    link: int = 1
    original: int | None = None  # as captured
    at_ns: int = 0
    offset: int | None = None  # in the order given, as in a pcap file
    frame: int | None = None  # counted from 1
    status: int = 0

    def cut(self, size: int) -> "Packet":
        """The first bytes only, as snap length does."""
        original = len(self.data) if self.original is None else self.original
        return replace(self, data=self.data[:size], original=original)


def records(packets: Sequence[Packet], *, section: int = 0) -> Records:
    """One chunk; packets stand 16 bytes apart as in a pcap file."""
    data = bytearray()
    rows: list[list[int]] = []
    number = 0
    for packet in packets:
        header = 24 + len(data)
        data += bytes(16)
        number += packet.frame is None
        original = len(packet.data) if packet.original is None else packet.original
        rows.append(
            [
                number if packet.frame is None else packet.frame,
                len(data),
                len(packet.data),
                original,
                packet.at_ns,
                packet.link,
                0,
                header if packet.offset is None else packet.offset,
                packet.status,
            ]
        )
        data += packet.data
    columns = np.array(rows, np.int64).reshape(len(rows), 9).T.copy()
    return Records(bytes(data), len(rows), section, *columns)


def pcap(
    packets: Sequence[bytes],
    *,
    times_ns: Sequence[int] | None = None,
    originals: Sequence[int] | None = None,
    link: int = 1,
    first_ns: int = 1_795_000_000_000_000_000,
) -> bytes:
    """A nanosecond pcap file; 1 ms between packets if nothing else is said."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link)]
    for number, packet in enumerate(packets):
        at_ns = first_ns + (1_000_000 * number if times_ns is None else times_ns[number])
        original = len(packet) if originals is None else originals[number]
        seconds, rest = divmod(at_ns, 1_000_000_000)
        parts.append(struct.pack("<IIII", seconds, rest, len(packet), original) + packet)
    return b"".join(parts)


def record_offsets(capture: bytes) -> list[int]:
    """Where the records of a ``pcap`` begin, and its end."""
    offsets, at = [], 24
    while at < len(capture):
        offsets.append(at)
        at += 16 + int(struct.unpack_from("<I", capture, at + 8)[0])
    return [*offsets, at]


def fragments4(
    datagram: bytes, sizes: Sequence[int], ident: int, destination: str = DESTINATION
) -> list[bytes]:
    """IPv4 packets that carry a UDP datagram in parts of the given sizes and a rest."""
    parts: list[bytes] = []
    at = 0
    for size in sizes:
        parts.append(
            ipv4(
                datagram[at : at + size], ident=ident, more=True, offset=at, destination=destination
            )
        )
        at += size
    return [*parts, ipv4(datagram[at:], ident=ident, offset=at, destination=destination)]


def fragments6(datagram: bytes, sizes: Sequence[int], ident: int, first: int = 17) -> list[bytes]:
    """IPv6 packets with fragment headers; ``first`` is the header that the parts begin with."""
    parts: list[bytes] = []
    at = 0
    for size in sizes:
        inner = fragment6(first, datagram[at : at + size], offset=at, more=True, ident=ident)
        parts.append(ipv6(inner, next_header=44))
        at += size
    last = fragment6(first, datagram[at:], offset=at, ident=ident)
    return [*parts, ipv6(last, next_header=44)]


def write(path: Path, capture: bytes) -> str:
    path.write_bytes(capture)
    return str(path)
