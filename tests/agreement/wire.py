"""A second, slow and obvious JGroups decoder: what a capture carries, one Python object a message.

It shares no code with ``seqaudit.decoders``, so that the agreement test maps a seqno to what the
application sent without asking the code under test. It knows only what the recordings hold
(``jgroups.md`` sections 1 to 3): pcap files of Ethernet, cooked v1 and cooked v2, IPv4 and IPv6
with fragments, UDP, and the header classes of 3.5, 4.2, 5.2 and 5.6. Anything else raises, because
here that is a fault of the test and not data.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

DATA: Final = 0  # of UNICAST
ACK: Final = 1
NAKACK_MSG: Final = 1
NAKACK_XMIT_REQ: Final = 2
NAKACK_XMIT_RSP: Final = 3
NAKACK_HIGHEST: Final = 4
NAKACK_ACK: Final = 5

#: Class id -> our word for the header; the ids of 3.x are others (jgroups.md, section 3).
CLASSES_4_5: Final = {
    82: "unicast",
    100: "unicast",
    78: "nakack",
    99: "nakack",
    60: "tp",
    56: "stable",
    55: "gms",
    53: "ping",
    52: "frag",
    62: "empty",
    59: "fc",
    54: "verify",
    94: "verify",
    75: "merge3",
    93: "fd_sock2",
}
CLASSES_3: Final = {
    107: "unicast",
    93: "nakack",
    56: "tp",
    27: "stable",
    24: "gms",
    13: "ping",
    61: "empty",
    22: "verify",
    90: "merge3",
}


@dataclass(slots=True)
class Datagram:
    """One UDP datagram, reassembled: frame number (from 1) and time are those of its last part."""

    frame: int
    at_ns: int
    source: str
    destination: str
    source_port: int
    destination_port: int
    ip_id: int
    payload: bytes


@dataclass(slots=True)
class Message:
    """One JGroups message; ``nakack`` and ``frag`` are null where it has no such header."""

    datagram: Datagram
    version: tuple[int, int, int]
    multicast: bool
    listed: bool
    sender: str | None
    destination: str | None
    flags: int
    nakack: "Nakack | None" = None
    unicast: "Unicast | None" = None
    gms: int | None = None
    frag: tuple[int, int, int] | None = None  # id, number from 0, of how many
    others: list[str] = field(default_factory=list)
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Nakack:
    """NakAckHeader(2): kind, seqno (0 where the kind has none), original sender of an XMIT_REQ."""

    kind: int
    seqno: int
    original: str | None
    system: str


@dataclass(frozen=True, slots=True)
class Unicast:
    """UnicastHeader(3): kind and, where the kind has them, seqno, conn-id and timestamp."""

    kind: int
    seqno: int
    conn_id: int
    system: str
    stamp: int | None


class Cursor:
    """Reads the encodings of jgroups.md 1.1 one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(f"{count} bytes wanted at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def u8(self) -> int:
        return self.take(1)[0]

    def i16(self) -> int:
        return int(struct.unpack(">h", self.take(2))[0])

    def u16(self) -> int:
        return int(struct.unpack(">H", self.take(2))[0])

    def i32(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def vlong(self) -> int:
        return int.from_bytes(self.take(self.u8()), "little")

    def vpair(self) -> tuple[int, int]:
        sizes = self.u8()
        if sizes == 0:
            return 0, 0
        first = int.from_bytes(self.take(sizes >> 4), "little")
        return first, first + int.from_bytes(self.take(sizes & 15), "little")

    def string(self) -> str | None:
        return self.take(self.u16()).decode() if self.u8() else None

    def ascii(self) -> str | None:
        length = self.i16()
        return None if length < 0 else self.take(length).decode("ascii")

    def address(self) -> str | None:
        tag = self.u8()
        if tag == 1:
            return None
        if tag == 2:
            low, high = self.take(8).hex(), self.take(8).hex()
            text = high + low
            return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        if tag == 16:
            count = self.u8()
            host = self.take(count).hex()
            if count == 16:
                self.i32()
            return f"{host}:{self.u16()}"
        raise ValueError(f"address tag {tag} at {self.at - 1}")

    def addresses(self) -> list[str | None]:
        return [self.address() for _ in range(max(self.i16(), 0))]

    def view_id(self) -> tuple[str | None, int]:
        return self.address(), self.vlong()


def read_file(path: Path) -> bytes:
    """A file, or what was compressed with ``.zst`` behind its name."""
    if path.exists():
        return path.read_bytes()
    with pa.input_stream(f"{path}.zst", compression="zstd") as stream:
        return bytes(stream.read())


def read_packets(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Frame number, time in ns and bytes from the IP header on; other protocols give ``b""``."""
    data = read_file(path)
    magic = struct.unpack("<I", data[:4])[0]
    nanos = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[magic]
    link = struct.unpack("<I", data[20:24])[0] & 0xFFFF
    skip, type_at = {1: (14, 12), 113: (16, 14), 276: (20, 0)}[link]
    at, frame = 24, 0
    while at < len(data):
        seconds, part, captured, _ = struct.unpack("<IIII", data[at : at + 16])
        packet = data[at + 16 : at + 16 + captured]
        at += 16 + captured
        frame += 1
        ether_type = struct.unpack(">H", packet[type_at : type_at + 2])[0]
        ip = packet[skip:] if ether_type in (0x0800, 0x86DD) else b""
        yield frame, seconds * 10**9 + part * nanos, ip


def read_datagrams(path: Path) -> Iterator[Datagram]:
    """UDP datagrams of a capture, IP fragments put together, in the order of their completion."""
    parts: dict[object, dict[int, bytes]] = {}
    ends: dict[object, int] = {}
    for frame, at_ns, ip in read_packets(path):
        if not ip:
            continue
        if ip[0] >> 4 == 4:
            header = (ip[0] & 15) * 4
            total, ip_id, fragment = struct.unpack(">HHH", ip[2:8])
            protocol = ip[9]
            source, destination = (".".join(map(str, ip[i : i + 4])) for i in (12, 16))
            offset, more, body = (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), ip[header:total]
        else:
            length = struct.unpack(">H", ip[4:6])[0]
            protocol, source, destination = ip[6], ip[8:24].hex(), ip[24:40].hex()
            body, offset, more, ip_id = ip[40 : 40 + length], 0, False, -1
            while protocol in (0, 43, 60, 44):
                if protocol == 44:
                    fragment, ip_id = struct.unpack(">HI", body[2:8])
                    offset, more = fragment & 0xFFF8, bool(fragment & 1)
                    protocol, body = body[0], body[8:]
                else:
                    protocol, body = body[0], body[(body[1] + 1) * 8 :]
        if protocol != 17:
            continue
        if offset or more:
            key = (source, destination, ip_id)
            parts.setdefault(key, {})[offset] = body
            if not more:
                ends[key] = offset + len(body)
            whole = b""
            while len(whole) in parts[key]:
                whole += parts[key][len(whole)]
            if len(whole) != ends.get(key, -1):
                continue
            del parts[key], ends[key]
            body = whole
        source_port, destination_port, udp_length = struct.unpack(">HHH", body[:6])
        yield Datagram(
            frame=frame,
            at_ns=at_ns,
            source=source,
            destination=destination,
            source_port=source_port,
            destination_port=destination_port,
            ip_id=ip_id,
            payload=body[8:udp_length],
        )


def read_streams(path: Path) -> Iterator[Datagram]:
    """The frames of the TCP connections whose SYN was captured, in the order of completion.

    jgroups.md 1.9: one preamble from the connecting side, then frames behind their length.
    """
    begins: dict[object, int] = {}  # by direction: sequence number of the first byte
    bodies: dict[object, bytearray] = {}
    known: dict[object, set[int]] = {}  # places in the body
    contiguous: dict[object, int] = {}
    parsed: dict[object, int] = {}
    for frame, at_ns, ip in read_packets(path):
        if not ip or ip[0] >> 4 != 4 or ip[9] != 6:
            continue
        source, destination = (".".join(map(str, ip[i : i + 4])) for i in (12, 16))
        tcp = ip[(ip[0] & 15) * 4 : struct.unpack(">H", ip[2:4])[0]]
        source_port, destination_port, sequence = struct.unpack(">HHI", tcp[:8])
        payload = tcp[(tcp[12] >> 4) * 4 :]
        key = (source, source_port, destination, destination_port)
        if tcp[13] & 2 and begins.get(key) != sequence + 1:
            begins[key], bodies[key], known[key] = sequence + 1, bytearray(), set()
            contiguous[key] = parsed[key] = 0
        if key not in begins or tcp[13] & 4:
            continue
        start = (sequence - begins[key]) % 2**32
        if start >= 2**31:  # before the first byte: a keep-alive
            continue
        body = bodies[key]
        body.extend(bytes(max(0, start + len(payload) - len(body))))
        for place, byte in enumerate(payload, start):
            if place not in known[key]:
                body[place] = byte
                known[key].add(place)
        while contiguous[key] in known[key]:
            contiguous[key] += 1
        while True:
            at, end = parsed[key], contiguous[key]
            if at == 0 and body[:4] == b"bela":
                parsed[key] = 15
                continue
            size = int.from_bytes(body[at : at + 4], "big", signed=True)
            if at + 4 > end or at + 4 + size > end:
                break
            parsed[key] += 4 + max(size, 0)
            if size > 0:
                yield Datagram(
                    frame=frame,
                    at_ns=at_ns,
                    source=source,
                    destination=destination,
                    source_port=source_port,
                    destination_port=destination_port,
                    ip_id=-1,
                    payload=bytes(body[at + 4 : at + 4 + size]),
                )


def read_messages(path: Path) -> Iterator[Message]:
    """All JGroups messages of a capture: of its UDP datagrams, then of its TCP streams.

    What MPING sends beside TCP is no frame: it has no version (jgroups.md 1.10). It is left out.
    """
    for datagram in read_datagrams(path):
        if datagram.payload[0] >> 3 >= 3:
            yield from parse_frame(datagram)
    for datagram in read_streams(path):
        yield from parse_frame(datagram)


def parse_frame(datagram: Datagram) -> list[Message]:
    """The messages of one frame (jgroups.md 1.3 to 1.5, the differences of section 3)."""
    cursor = Cursor(datagram.payload)
    packed = cursor.u16()
    version = (packed >> 11, packed >> 6 & 31, packed & 63)
    frame_flags = cursor.u8()
    listed, multicast = bool(frame_flags & 1), bool(frame_flags & 2)
    messages = []
    if not listed:
        messages.append(_message(cursor, datagram, version, multicast, False, None, None))
    else:
        destination, source = cursor.address(), cursor.address()
        cursor.take(max(cursor.i16(), 0))
        for _ in range(cursor.i32()):
            messages.append(
                _message(cursor, datagram, version, multicast, True, source, destination)
            )
    if cursor.at != len(cursor.data):
        raise ValueError(f"frame {datagram.frame}: {len(cursor.data) - cursor.at} bytes left over")
    return messages


def _message(
    cursor: Cursor,
    datagram: Datagram,
    version: tuple[int, int, int],
    multicast: bool,
    listed: bool,
    source: str | None,
    destination: str | None,
) -> Message:
    kind = cursor.i16() if version[0] >= 5 else 0
    leading = cursor.u8()
    flags = cursor.u16()
    if leading & 1:
        destination = cursor.address()
    if leading & 2:
        source = cursor.address()
    message = Message(datagram, version, multicast, listed, source, destination, flags)
    for _ in range(cursor.i16()):
        cursor.i16()
        class_id = cursor.u16()
        name = (CLASSES_3 if version[0] == 3 else CLASSES_4_5).get(class_id)
        if name is None:
            raise ValueError(f"frame {datagram.frame}: header class {class_id}")
        HEADERS[name](cursor, message, class_id)
    if version[0] < 5:
        message.payload = cursor.take(cursor.i32()) if leading & 4 else b""
    elif kind in (0, 6):
        message.payload = cursor.take(max(cursor.i32(), 0))
    elif kind == 3:
        message.payload = _object(cursor, version)
    elif kind == 4:
        cursor.vlong()
    elif kind != 2:
        raise ValueError(f"frame {datagram.frame}: message type {kind}")
    return message


def _object(cursor: Cursor, version: tuple[int, int, int]) -> bytes:
    """An ObjectMessage's SeqnoList or digest; the bytes after the class id."""
    if version < (5, 2, 11):
        cursor.u8()
    if not cursor.u8():
        return b""
    class_id, start = cursor.i16(), cursor.at
    if class_id == 15:
        bits = cursor.i32()
        cursor.take(8 + 8 * ((bits + 63) // 64))
    elif class_id in (9, 10):
        for _ in range(len(cursor.addresses())):
            cursor.vpair()
    else:
        raise ValueError(f"object of class {class_id}")
    return cursor.data[start : cursor.at]


def missing_seqnos(message: Message) -> list[int]:
    """The seqnos that an XMIT_REQ asks for (jgroups.md 2.5; a list of ranges in 3.5)."""
    cursor = Cursor(message.payload)
    if message.version < (3, 5, 1):
        cursor.take(4)
        seqnos: list[int] = []
        for _ in range(cursor.i32()):
            if cursor.u8():
                first, last = cursor.vpair()
                seqnos += range(first, last + 1)
            else:
                seqnos.append(cursor.vlong())
        return seqnos
    if message.version[0] < 5:
        cursor.u8()
    bits = cursor.i32()
    first = int.from_bytes(cursor.take(8), "big", signed=True)
    words = [int.from_bytes(cursor.take(8), "big") for _ in range((bits + 63) // 64)]
    return [first + i for i in range(bits) if words[i // 64] >> i % 64 & 1]


def _nakack(cursor: Cursor, message: Message, class_id: int) -> None:
    kind = cursor.u8()
    seqno, original = 0, None
    if kind == NAKACK_XMIT_REQ:
        original = cursor.address()
    else:
        seqno = cursor.vlong()
    message.nakack = Nakack(kind, seqno, original, "nakack4" if class_id == 99 else "nakack2")


def _unicast(cursor: Cursor, message: Message, class_id: int) -> None:
    kind = cursor.u8()
    seqno = conn_id = 0
    stamp: int | None = None
    stamped = message.version >= (3, 5, 1)
    if kind == 0:
        seqno, conn_id = cursor.vlong(), cursor.i16()
        cursor.u8()
    elif kind == 1:
        seqno, conn_id = cursor.vlong(), cursor.i16()
        if stamped:
            stamp = cursor.vlong()
    elif kind == 2 and stamped:
        stamp = cursor.vlong()
    elif kind == 4:
        conn_id = cursor.i16()
    system = "unicast4" if class_id == 100 else "unicast3"
    message.unicast = Unicast(kind, seqno, conn_id, system, stamp)


def _tp(cursor: Cursor, message: Message, class_id: int) -> None:
    cursor.take(max(cursor.i16(), 0))
    if message.version >= (5, 3, 8) and cursor.u8():
        cursor.i32()


def _stable(cursor: Cursor, message: Message, class_id: int) -> None:
    cursor.u8()
    if cursor.u8():
        cursor.view_id()
    message.others.append("STABLE")


def _gms(cursor: Cursor, message: Message, class_id: int) -> None:
    message.gms = cursor.u8()
    flags = cursor.i16()
    cursor.address()
    if flags & 4:
        cursor.address()
        cursor.i32()


def _ping(cursor: Cursor, message: Message, class_id: int) -> None:
    cursor.u8()
    cursor.string()
    if message.version[0] >= 4:
        cursor.u8()
    message.others.append("PING")


def _frag(cursor: Cursor, message: Message, class_id: int) -> None:
    frag_id, number, count = cursor.vlong(), cursor.vlong(), cursor.vlong()
    if message.version[0] >= 5:
        cursor.u8()
        cursor.i16()
    message.frag = (frag_id, number, count)


def _fc(cursor: Cursor, message: Message, class_id: int) -> None:
    cursor.u8()
    message.others.append("FC")


def _empty(cursor: Cursor, message: Message, class_id: int) -> None:
    message.others.append("FD_ALL")


def _verify(cursor: Cursor, message: Message, class_id: int) -> None:
    cursor.i16()
    cursor.address()
    message.others.append("VERIFY_SUSPECT")


def _merge3(cursor: Cursor, message: Message, class_id: int) -> None:
    cursor.u8()
    if cursor.u8():
        cursor.view_id()
    cursor.string()
    cursor.address()
    message.others.append("MERGE3")


def _fd_sock2(cursor: Cursor, message: Message, class_id: int) -> None:
    cursor.u8()
    for _ in range(cursor.i32()):
        cursor.address()
    cursor.string()
    cursor.address()
    message.others.append("FD_SOCK2")


HEADERS: Final[dict[str, Callable[[Cursor, Message, int], None]]] = {
    "nakack": _nakack,
    "unicast": _unicast,
    "tp": _tp,
    "stable": _stable,
    "gms": _gms,
    "ping": _ping,
    "frag": _frag,
    "fc": _fc,
    "empty": _empty,
    "verify": _verify,
    "merge3": _merge3,
    "fd_sock2": _fd_sock2,
}
