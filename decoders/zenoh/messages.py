"""Single zenoh messages as plain values: all that is not a run of samples (zenoh.md 1, 3 to 5).

The kernel has located a message and walked it, so its structure is sound; what a message says is
read here. A message of which only the beginning is there (the first piece of a fragmented one, a
cut datagram) gives what comes before its payload. ``read`` gives null where not even that is there.
"""

import contextlib
from typing import Any, Final

from seqaudit.decoders.contract.zenoh_detail import Detail, Key, Numbered

#: Ids of network messages (zenoh.md 4).
INTEREST, DECLARE, PUSH = 0x19, 0x1E, 0x1D
RESPONSE_FINAL, RESPONSE, REQUEST, OAM = 0x1A, 0x1B, 0x1C, 0x1F
#: Ids of transport messages (zenoh.md 3).
INIT, OPEN, CLOSE, KEEP_ALIVE, FRAME, FRAGMENT, JOIN = 1, 2, 3, 4, 5, 6, 7

DECLARATIONS: Final = {
    0: "declare.keyexpr", 1: "declare.u_keyexpr", 2: "declare.subscriber",
    3: "declare.u_subscriber", 4: "declare.queryable", 5: "declare.u_queryable",
    6: "declare.token", 7: "declare.u_token", 0x1A: "declare.final",
}  # fmt: skip
WHATAMI: Final = {0: "router", 1: "peer", 2: "client"}
PRIORITIES: Final = 8
#: Stands for the entity of a source that ROS 2 numbers in attachments of so many bytes.
ROS: Final = "ros"
ROS_BYTES: Final = 77
ROS_NAMES: Final = [b"sequence_number", b"source_timestamp", b"source_gid"]
#: Of a cookie, which no two InitAcks share: enough to tell it from others.
COOKIE_BYTES: Final = 16
#: Data, Drop, not express (zenoh.md 4).
DEFAULT_QOS: Final = 5

_Z, _N = 0x80, 0x20


class WireError(Exception):
    """Bytes end too early or say what they cannot; never leaves this module."""


def zid_text(raw: bytes) -> str:
    """A zid as zenoh prints it: little-endian hex without leading zeros (zenoh.md 1.2)."""
    return f"{int.from_bytes(raw, 'little'):x}"


def text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


class Cursor:
    """A cursor over one message."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def u8(self) -> int:
        if self.at >= len(self.data):
            raise WireError
        self.at += 1
        return self.data[self.at - 1]

    def zint(self) -> int:
        """VLE (zenoh.md 1.1)."""
        value = 0
        for shift in range(0, 56, 7):
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        return value | self.u8() << 56

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise WireError
        self.at += size
        return self.data[self.at - size : self.at]

    def sized(self) -> bytes:
        return self.take(self.zint())

    def zid(self) -> str:
        """One whose length is in the high nibble of the byte before it."""
        return zid_text(self.take((self.u8() >> 4) + 1))

    def extensions(self, wanted: bool) -> dict[int, Any]:
        """Header byte without Z → value, of a chain that is there if ``wanted``."""
        found: dict[int, Any] = {}
        while wanted:
            header = self.u8()
            wanted = bool(header & _Z)
            form = header >> 5 & 3
            if form == 3:
                raise WireError
            value = (True, None, None)[form] or (self.zint() if form == 1 else self.sized())
            found[header & 0x7F] = value
        return found

    def key(self, header: int) -> Key:
        """A wire_expr: scope, whose table (1: the sender's), suffix (zenoh.md 6)."""
        scope = self.zint()
        return scope, header >> 6 & 1, text(self.sized()) if header & _N else ""

    def timestamp(self) -> tuple[int, str]:
        return self.zint(), zid_text(self.sized())


def source_info(raw: bytes | None) -> Numbered | None:
    """Of the extension (zenoh.md 5.2)."""
    if raw is None:
        return None
    reader = Cursor(raw)
    try:
        return reader.zid(), reader.zint() & 0xFFFF_FFFF, reader.zint() & 0xFFFF_FFFF
    except WireError:
        return None


def ros_number(attachment: bytes | None) -> Numbered | None:
    """Of a sample that ROS 2 numbered in its attachment (zenoh.md 9.7)."""
    if attachment is None or len(attachment) != ROS_BYTES:
        return None
    reader = Cursor(attachment)
    try:
        names = [reader.sized(), reader.take(8), reader.sized(), reader.take(8), reader.sized()]
        gid = reader.sized()
    except WireError:
        return None
    number = int.from_bytes(names[1], "little")
    if names[::2] != ROS_NAMES or len(gid) != 16 or number >> 61:
        return None
    return gid.hex(), ROS, number


def read(data: bytes) -> tuple[str, Detail] | None:
    """What the network message at the beginning of ``data`` is, and what it says."""
    try:
        return _network(Cursor(data))
    except WireError:
        return None


def read_transport(data: bytes) -> tuple[str, Detail] | None:
    """The same for a transport message other than Frame and Fragment."""
    try:
        return _transport(Cursor(data))
    except WireError:
        return None


def _network(reader: Cursor) -> tuple[str, Detail]:
    header = reader.u8()
    kind = header & 0x1F
    if kind == PUSH:
        key = reader.key(header)
        qos = reader.extensions(bool(header & _Z)).get(0x21, DEFAULT_QOS)
        return "push", {"key": key, "qos": qos, **_sample(reader)}
    if kind == REQUEST:
        return "request", _request(reader, header)
    if kind == RESPONSE:
        return "response", _response(reader, header)
    if kind == RESPONSE_FINAL:
        return "response_final", {"id": reader.zint()}
    if kind == DECLARE:
        return _declare(reader, header)
    if kind == INTEREST:
        detail: Detail = {"id": reader.zint(), "mode": header >> 5 & 3}
        if header & 0x60:
            detail["options"] = options = reader.u8()
            if options & 0x10:
                detail["key"] = reader.key(options)
        return "interest", detail
    if kind == OAM:
        return "oam", {"id": reader.zint()}
    raise WireError


def _sample(reader: Cursor) -> Detail:
    """A Put or Del; ``value`` is a payload of four bytes as a heartbeat's (zenoh.md 9.2)."""
    header = reader.u8()
    kind = header & 0x1F
    if kind not in (1, 2):
        raise WireError
    detail: Detail = {}
    if kind == 2:
        detail["del"] = True
    if header & 0x20:
        detail["stamp"] = reader.timestamp()
    if kind == 1 and header & 0x40 and reader.zint() & 1:
        reader.sized()
    extensions = reader.extensions(bool(header & _Z))
    source = source_info(extensions.get(0x41)) or ros_number(
        extensions.get(0x43 if kind == 1 else 0x42)
    )
    if source is not None:
        detail["source"] = source
    if kind == 1 and 0x12 not in extensions:
        detail["bytes"] = size = reader.zint()
        if size == 4 and len(reader.data) - reader.at >= 4:
            detail["value"] = int.from_bytes(reader.take(4), "little")
    return detail


def _request(reader: Cursor, header: int) -> Detail:
    detail: Detail = {"id": reader.zint(), "key": reader.key(header)}
    extensions = reader.extensions(bool(header & _Z))
    if 0x34 in extensions:
        detail["target"] = extensions[0x34]
    if 0x26 in extensions:
        detail["timeout_ms"] = extensions[0x26]
    query = reader.u8()
    if query & 0x20:
        detail["consolidation"] = reader.zint()
    detail["parameters"] = text(reader.sized()) if query & 0x40 else ""
    return detail


def _response(reader: Cursor, header: int) -> Detail:
    detail: Detail = {"id": reader.zint(), "key": reader.key(header)}
    responder = reader.extensions(bool(header & _Z)).get(0x43)
    if responder is not None:
        inner = Cursor(responder)
        with contextlib.suppress(WireError):
            detail["responder"] = inner.zid(), inner.zint() & 0xFFFF_FFFF
    body = reader.u8()
    if body & 0x1F == 5:
        detail["error"] = True
        return detail
    if body & 0x1F != 4:
        raise WireError
    if body & 0x20:
        reader.zint()
    reader.extensions(bool(body & _Z))
    return detail | _sample(reader)


def _declare(reader: Cursor, header: int) -> tuple[str, Detail]:
    detail: Detail = {}
    if header & 0x20:
        detail["interest"] = reader.zint()
    reader.extensions(bool(header & _Z))
    declaration = reader.u8()
    kind = declaration & 0x1F
    name = DECLARATIONS.get(kind)
    if name is None:
        raise WireError
    if kind == 0x1A:
        return name, detail
    detail["id"] = reader.zint()
    if kind & 1 == 0:
        key = reader.key(declaration)
        if kind == 0:
            key = key[0], 1, key[2]  # no M flag: the sender's own table (zenoh.md 4.5)
        detail["key"] = key
    else:
        raw = reader.extensions(bool(declaration & _Z)).get(0x5F)
        if raw:
            inner = Cursor(raw)
            try:
                flags, scope = inner.u8(), inner.zint()
            except WireError:
                return name, detail
            suffix = text(raw[inner.at :]) if flags & 1 else ""
            detail["key"] = scope, flags >> 1 & 1, suffix
    return name, detail


def _transport(reader: Cursor) -> tuple[str, Detail]:
    header = reader.u8()
    kind = header & 0x1F
    if kind == INIT:
        return ("InitAck" if header & 0x20 else "InitSyn"), _init(reader, header)
    if kind == OPEN:
        lease = reader.zint()
        detail: Detail = {"lease_ms": lease * 1000 if header & 0x40 else lease}
        detail["sn"] = reader.zint() & 0xFFFF_FFFF
        if not header & 0x20:
            reader.sized()
        extensions = reader.extensions(bool(header & _Z))
        detail |= {"qos": 1 in extensions, "low_latency": 5 in extensions}
        detail["compression"] = 6 in extensions
        return ("OpenAck" if header & 0x20 else "OpenSyn"), detail
    if kind == CLOSE:
        return "Close", {"session": bool(header & 0x20), "reason": reader.u8()}
    if kind == KEEP_ALIVE:
        return "KeepAlive", {}
    if kind == JOIN:
        return "Join", _join(reader, header)
    if kind == 0:
        return "OAM", {"id": reader.zint()}
    raise WireError


def _node(reader: Cursor, header: int, batch_bytes: int) -> Detail:
    """What Init and Join begin with (zenoh.md 3.1, 3.7)."""
    detail: Detail = {"version": reader.u8()}
    what = reader.data[reader.at] if reader.at < len(reader.data) else 0
    detail["whatami"] = WHATAMI.get(what & 3, "invalid")
    detail["zid"] = reader.zid()
    resolution = 2
    if header & 0x40:
        resolution = reader.u8() & 3
        batch_bytes = int.from_bytes(reader.take(2), "little")
    return detail | {"resolution": resolution, "batch_bytes": batch_bytes}


def _init(reader: Cursor, header: int) -> Detail:
    detail = _node(reader, header, 65535)
    if header & 0x20:
        detail["cookie"] = reader.sized()[:COOKIE_BYTES].hex()
    extensions = reader.extensions(bool(header & _Z))
    detail |= {"qos": 1 in extensions or 0x21 in extensions, "low_latency": 5 in extensions}
    detail |= {"compression": 6 in extensions, "patch": extensions.get(0x27, 0)}
    detail["multilink"] = 0x44 in extensions
    return detail


def _join(reader: Cursor, header: int) -> Detail:
    """``sns``: per priority [reliable, best effort]; one pair without QoS (zenoh.md 8.6)."""
    detail = _node(reader, header, 8192)
    lease = reader.zint()
    detail["lease_ms"] = lease * 1000 if header & 0x20 else lease
    sns = [[reader.zint(), reader.zint()]]
    extensions = reader.extensions(bool(header & _Z))
    qos = extensions.get(0x51)
    if qos is not None:
        inner = Cursor(qos)
        sns = [[inner.zint(), inner.zint()] for _ in range(PRIORITIES)]
    detail |= {"qos": qos is not None, "patch": extensions.get(0x27, 0)}
    detail["sns"] = [[sn & 0xFFFF_FFFF for sn in pair] for pair in sns]
    return detail
