"""Which two hosts a record is between: as much of a packet as filtering to a pair needs."""

import ipaddress
import struct
from collections import Counter
from dataclasses import replace
from typing import Final

from tests.degraded.captures import Capture, Record

#: Link type to (where its EtherType is, where the network layer begins).
ETHERNET: Final = 1
_LINKS: Final = {ETHERNET: (12, 14), 113: (14, 16), 276: (0, 20)}
_IPV4: Final = 0x0800
_IPV6: Final = 0x86DD
_FRAGMENT: Final = 44
TCP: Final = 6
_UDP: Final = 17


def ends(capture: Capture, record: Record) -> tuple[str, str] | None:
    """Source and destination address; null for what is no IP."""
    place = _LINKS.get(capture.link(record))
    if place is None or len(record.data) < place[1] + 20:
        return None
    kind = int.from_bytes(record.data[place[0] : place[0] + 2], "big")
    if kind == _IPV4:
        first, size = place[1] + 12, 4
    elif kind == _IPV6:
        first, size = place[1] + 8, 16
    else:
        return None
    if len(record.data) < first + 2 * size:
        return None
    source = record.data[first : first + size]
    destination = record.data[first + size : first + 2 * size]
    return str(ipaddress.ip_address(source)), str(ipaddress.ip_address(destination))


def network(capture: Capture, record: Record) -> int:
    """Where the IP header begins; the end of the frame for what is no IP."""
    place = _LINKS.get(capture.link(record))
    if place is None or ends(capture, record) is None:
        return len(record.data)
    return place[1]


def behind_ip(capture: Capture, record: Record) -> int:
    """Where what the IP header carries begins; the end of the frame for what is no IP."""
    place = network(capture, record)
    if place == len(record.data):
        return place
    first = record.data[place]
    return place + (40 if first >> 4 == 6 else 4 * (first & 15))


def transport(capture: Capture, record: Record) -> tuple[int, tuple[int, ...]] | None:
    """The IP protocol and its ports (none in fragments but the first, and in what has none); null
    for what is no IP."""
    place = _LINKS.get(capture.link(record))
    if place is None or ends(capture, record) is None:
        return None
    first = record.data[place[1]]
    protocol = record.data[place[1] + (6 if first >> 4 == 6 else 9)]
    at = behind_ip(capture, record)
    if first >> 4 == 6 and protocol == _FRAGMENT and len(record.data) > at:
        protocol, at = record.data[at], at + 8
    ports = record.data[at : at + 4]
    if protocol not in (TCP, _UDP) or len(ports) < 4 or continues(capture, record):
        return protocol, ()
    return protocol, struct.unpack(">HH", ports)


def pairs(capture: Capture) -> list[tuple[str, str]]:
    """Pairs of hosts that exchange unicasts, the busiest first."""
    found: Counter[tuple[str, str]] = Counter()
    for record in capture.records:
        both = ends(capture, record)
        if both is None or ipaddress.ip_address(both[1]).is_multicast:
            continue
        found[min(both), max(both)] += 1
    return [pair for pair, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))]


def between(capture: Capture, record: Record, pair: tuple[str, str]) -> bool:
    """Whether a capture filter ``host A and host B`` lets the record pass."""
    both = ends(capture, record)
    return both is not None and (min(both), max(both)) == pair


def continues(capture: Capture, record: Record) -> bool:
    """Whether a record is an IP fragment other than the first."""
    place = _LINKS.get(capture.link(record))
    if place is None or ends(capture, record) is None:
        return False
    first = place[1]
    if record.data[first] >> 4 == 6:
        fragment = record.data[first + 6] == _FRAGMENT and len(record.data) >= first + 44
        return fragment and int.from_bytes(record.data[first + 42 : first + 44], "big") >> 3 > 0
    return int.from_bytes(record.data[first + 6 : first + 8], "big") & 0x1FFF > 0


def forwarded(capture: Capture, record: Record) -> Record:
    """The record as a router sends it on: its TTL is one less, and the header's checksum right."""
    place = _LINKS.get(capture.link(record))
    if place is None or ends(capture, record) is None:
        return record
    data = bytearray(record.data)
    first = place[1]
    if data[first] >> 4 == 6:
        data[first + 7] = max(0, data[first + 7] - 1)
        return replace(record, data=bytes(data))
    header = data[first : first + 4 * (data[first] & 15)]
    header[8] = max(0, header[8] - 1)
    header[10:12] = checksum(header)
    data[first : first + len(header)] = header
    return replace(record, data=bytes(data))


def translated(capture: Capture, record: Record, host: str, other: str) -> Record:
    """The record with an IPv4 address for another, and checksums that are as right as they were:
    what is behind a translator."""
    both = ends(capture, record)
    if both is None or host not in both:
        return record
    ip, here = network(capture, record), behind_ip(capture, record)
    data = bytearray(record.data)
    old, new = (ipaddress.IPv4Address(address).packed for address in (host, other))
    for place in (ip + 12, ip + 16):
        if data[place : place + 4] == old:
            data[place : place + 4] = new
    data[ip + 10 : ip + 12] = checksum(data[ip:here])
    protocol, _ = transport(capture, record) or (0, ())
    place = here + {TCP: 16, _UDP: 6}.get(protocol, len(data))
    sum_at = slice(place, place + 2)
    if not continues(capture, record) and len(data) >= place + 2 and any(data[sum_at]):
        total = ~int.from_bytes(data[sum_at], "big") & 0xFFFF  # RFC 1624
        total += sum(struct.unpack(">2H", new)) + sum(
            ~n & 0xFFFF for n in struct.unpack(">2H", old)
        )
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        data[sum_at] = (~total & 0xFFFF or 0xFFFF).to_bytes(2, "big")
    return replace(record, data=bytes(data))


def tagged(record: Record, vlan: int) -> Record:
    """The Ethernet frame with a tag of 802.1Q."""
    tag = struct.pack(">HH", 0x8100, vlan)
    return replace(record, data=record.data[:12] + tag + record.data[12:], size=record.size + 4)


def checksum(header: bytes | bytearray) -> bytes:
    """That of an IPv4 header, whatever stands in its place."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header[:10] + bytes(2) + header[12:]))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", total ^ 0xFFFF)


def _outer(protocol: int, header: bytes, size: int) -> bytes:
    """Ethernet and IPv4 of a mirror's own, and what it puts before a frame of this size."""
    length = 20 + len(header) + size
    ends = bytes((192, 0, 2, 1, 192, 0, 2, 2))
    ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0) + ends
    return bytes(12) + struct.pack(">H", _IPV4) + ip + header


def _vxlan(size: int) -> bytes:
    vxlan = struct.pack(">II", 0x08000000, 77 << 8)
    return _outer(_UDP, struct.pack(">HHHH", 50000, 4789, 16 + size, 0) + vxlan, size)


def _gre(size: int) -> bytes:
    return _outer(47, struct.pack(">HH", 0, 0x6558), size)


def _erspan(size: int) -> bytes:
    gre = struct.pack(">HHI", 0x1000, 0x88BE, 5)
    return _outer(47, gre + struct.pack(">HHI", 0x1005, 9, 0), size)


#: What a mirror puts before a frame of a size.
TUNNELS: Final = {"vxlan": _vxlan, "gre": _gre, "erspan": _erspan}
