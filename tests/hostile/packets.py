"""Where the fields of a frame are, and payloads of another length put into it.

Only what subjects have is known here: Ethernet, Linux cooked and raw IP, IPv4 and IPv6 without
extensions, UDP, TCP and PGM. Anything else is a row of bytes.
"""

import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

ETHERNET: Final = 1
RAW: Final = (101, 12, 228, 229)
COOKED: Final = {113: 16, 276: 20}
IPV4, IPV6 = 0x0800, 0x86DD
UDP, TCP, PGM = 17, 6, 113
#: Where their checksums are.
_SUMS: Final = {UDP: 6, TCP: 16, PGM: 6}


#: Fields of headers: name, place and size.
_IPV4: Final = (
    ("ip length", 2, 2), ("ip version", 0, 1), ("ip id", 4, 2), ("ip fragment", 6, 2),
    ("ip protocol", 9, 1), ("ip source", 12, 4), ("ip destination", 16, 4),
)  # fmt: skip
_IPV6: Final = (
    ("ip length", 4, 2), ("ip version", 0, 1), ("ip next header", 6, 1), ("ip source", 20, 4),
    ("ip destination", 36, 4),
)  # fmt: skip
_UDP: Final = (("udp source", 0, 2), ("udp destination", 2, 2), ("udp length", 4, 2))
_TCP: Final = (
    ("tcp source", 0, 2), ("tcp destination", 2, 2), ("tcp seq", 4, 4), ("tcp ack", 8, 4),
    ("tcp header", 12, 1), ("tcp flags", 13, 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """A number on the wire: its place in the frame, big endian unless ``little``."""

    name: str
    at: int
    size: int
    little: bool = False

    def read(self, data: bytes) -> int:
        return int.from_bytes(data[self.at : self.at + self.size], self._order)

    def written(self, data: bytes, value: int) -> bytes:
        kept = (value % (1 << 8 * self.size)).to_bytes(self.size, self._order)
        return data[: self.at] + kept + data[self.at + self.size :]

    @property
    def _order(self) -> Literal["little", "big"]:
        return "little" if self.little else "big"


@dataclass(frozen=True, slots=True)
class Shape:
    """A frame taken apart: named fields of its headers, where the payload of the last begins, and
    the fields that hold lengths behind them (with what each counts beside the payload)."""

    fields: tuple[Field, ...] = ()
    payload: int = 0
    protocol: int = 0
    lengths: tuple[tuple[Field, int], ...] = field(default=())


def shape(link: int, data: bytes) -> Shape:
    """Of one frame; all of it is payload where nothing is known."""
    if link == ETHERNET and len(data) >= 14:
        at, kind = 14, int.from_bytes(data[12:14], "big")
        fields = [Field("ethernet type", 12, 2)]
    elif link in COOKED and len(data) >= COOKED[link]:
        at = COOKED[link]
        place = 14 if link == 113 else 0
        kind = int.from_bytes(data[place : place + 2], "big")
        fields = [Field("cooked protocol", place, 2)]
    elif link in RAW and data:
        at, kind, fields = 0, IPV4 if data[0] >> 4 == 4 else IPV6, []
    else:
        return Shape(payload=0)
    if kind == IPV4 and len(data) >= at + 20:
        return _of_ip(data, at, fields, four=True)
    if kind == IPV6 and len(data) >= at + 40:
        return _of_ip(data, at, fields, four=False)
    return Shape(tuple(fields), at)


def _of_ip(data: bytes, at: int, fields: list[Field], *, four: bool) -> Shape:
    size = (data[at] & 15) * 4 if four else 40
    protocol = data[at + (9 if four else 6)]
    total, *named = _fields_at(at, _IPV4 if four else _IPV6)
    fields += [total, *named]
    inner = at + size
    beside = size if four else 0
    if protocol == UDP and len(data) >= inner + 8:
        ports = _fields_at(inner, _UDP)
        return Shape((*fields, *ports), inner + 8, UDP, ((total, beside + 8), (ports[-1], 8)))
    if protocol == TCP and len(data) >= inner + 20:
        header = (data[inner + 12] >> 4) * 4
        fields += _fields_at(inner, _TCP)
        return Shape(tuple(fields), inner + header, TCP, ((total, beside + header),))
    return Shape(tuple(fields), inner, protocol, ((total, beside),))


@lru_cache(maxsize=1000)
def _fields_at(at: int, named: tuple[tuple[str, int, int], ...]) -> tuple[Field, ...]:
    """Fields of a header that begins there."""
    return tuple(Field(name, at + place, width) for name, place, width in named)


def with_payload(data: bytes, seen: Shape, payload: bytes) -> bytes:
    """The frame with another payload, its lengths made right."""
    frame = data[: seen.payload] + payload
    for length, beside in seen.lengths:
        frame = length.written(frame, len(payload) + beside)
    return frame


def payload_end(data: bytes, seen: Shape) -> int:
    """Where the payload ends: there may be padding behind it."""
    if not seen.lengths:
        return len(data)
    total, beside = seen.lengths[0]
    return min(len(data), seen.payload + max(0, total.read(data) - beside))


def without_checksum(data: bytes, seen: Shape) -> bytes:
    """A PGM packet as one that has none: with a wrong one it would be refused at the door."""
    at = seen.payload
    if seen.protocol in (PGM, UDP) and len(data) >= at + 16:
        return data[: at + 6] + bytes(2) + data[at + 8 :]
    return data


def sealed(link: int, data: bytes) -> bytes:
    """A frame with checksums that are right, of IPv4, UDP, TCP and PGM, where it is whole: one with
    a wrong sum is refused at the door, and nobody looks into it."""
    seen = shape(link, data)
    if not seen.lengths:
        return data
    total, _ = seen.lengths[0]
    four = data[total.at - 2] >> 4 == 4
    at = total.at - (2 if four else 4)
    inner = at + (data[at] & 15) * 4 if four else at + 40
    stop = at + total.read(data) + (0 if four else 40)
    if four:
        data = _summed(data, at + 10, data[at:inner], 0)
    place = _SUMS.get(data[at + (9 if four else 6)])
    fragment = four and int.from_bytes(data[at + 6 : at + 8], "big") & 0x3FFF
    if place is None or fragment or inner + place + 2 > stop or stop > len(data):
        return data
    protocol = data[at + (9 if four else 6)]
    if protocol == PGM:
        return _summed(data, inner + place, data[inner:stop], 0)
    ends = data[at + 12 : at + 20] if four else data[at + 8 : at + 40]
    body = data[inner:stop] + bytes((stop - inner) % 2)
    return _summed(data, inner + place, body + ends, stop - inner + protocol)


def fragments_sealed(was: Sequence[bytes], now: Sequence[bytes]) -> list[bytes]:
    """Ethernet frames that were changed, each with what it was: the UDP sums of IPv4 datagrams in
    fragments, which are in the first of each, are right again if they were."""
    by: dict[bytes, dict[int, int]] = defaultdict(dict)  # by datagram and place, once each
    for old, new in zip(was, now, strict=True):
        if _in_fragments(old) and len(old) == len(new):
            place = int.from_bytes(old[20:22], "big") & 0x1FFF
            summed = 34 if place else 26  # with the addresses, once
            by[_datagram(old)][place] = _words(new[summed:]) - _words(old[summed:])
    found = []
    for old, new in zip(was, now, strict=True):
        place = 14 + (new[14] & 15) * 4 + _SUMS[UDP] if _in_fragments(new) else len(new)
        begins = place + 2 <= len(new) and new[20:22] == b"\x20\x00"
        if begins and any(new[place : place + 2]) and (more := sum(by[_datagram(old)].values())):
            right = 0xFFFF - (0xFFFF - _words(new[place : place + 2]) + more) % 0xFFFF
            new = new[:place] + right.to_bytes(2, "big") + new[place + 2 :]
        found.append(new)
    return found


def _in_fragments(data: bytes) -> bool:
    """IPv4 and UDP in Ethernet."""
    known = len(data) > 34 and data[12:14] == b"\x08\x00" and data[23] == UDP
    return known and bool(int.from_bytes(data[20:22], "big") & 0x3FFF)


def _datagram(data: bytes) -> bytes:
    """Identification and addresses."""
    return data[18:20] + data[26:34]


def _words(data: bytes) -> int:
    return int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF


def _summed(data: bytes, place: int, over: bytes, more: int) -> bytes:
    """The frame with the sum of RFC 1071 over these bytes and a number: what is there now is
    taken out of it."""
    words = int.from_bytes(over + bytes(len(over) % 2), "big") + more
    was = int.from_bytes(data[place : place + 2], "big")
    right = 0xFFFF - (words - was) % 0xFFFF
    return data[:place] + right.to_bytes(2, "big") + data[place + 2 :]


def in_udp_tunnel(packet: bytes, depth: int) -> bytes:
    """An IPv4 packet in so many VXLAN tunnels, each Ethernet and all."""
    for number in range(depth):
        inner = bytes(12) + b"\x08\x00" + packet
        vxlan = struct.pack(">BxxxI", 8, (number & 0xFFFFFF) << 8) + inner
        udp = struct.pack(">HHHH", 50_000, 4789, 8 + len(vxlan), 0) + vxlan
        packet = (
            struct.pack(
                ">BBHHHBBHII", 0x45, 0, 20 + len(udp), number, 0, 64, UDP, 0, 0x0A000001, 0x0A000002
            )
            + udp
        )
    return packet
