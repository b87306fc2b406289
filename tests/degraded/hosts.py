"""Which two hosts a record is between: as much of a packet as filtering to a pair needs."""

import ipaddress
import struct
from collections import Counter
from dataclasses import replace
from typing import Final

from tests.degraded.captures import Capture, Record

#: Link type to (where its EtherType is, where the network layer begins).
_LINKS: Final = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
_IPV4: Final = 0x0800
_IPV6: Final = 0x86DD
_FRAGMENT: Final = 44


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


def behind_ip(capture: Capture, record: Record) -> int:
    """Where what the IP header carries begins; the end of the frame for what is no IP."""
    place = _LINKS.get(capture.link(record))
    if place is None or ends(capture, record) is None:
        return len(record.data)
    first = record.data[place[1]]
    return place[1] + (40 if first >> 4 == 6 else 4 * (first & 15))


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
    header[10:12] = bytes(2)
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = struct.pack(">H", total ^ 0xFFFF)
    data[first : first + len(header)] = header
    return replace(record, data=bytes(data))
