"""Rare JGroups objects, read in plain Python: views, digests, discovery, lists of seqnos.

In: the bytes that the kernel located. Out: plain values for ``detail``; None where the bytes are no
such object. Sources: jgroups.md 1.2 (addresses), 2.5 to 2.7, 3 (releases).
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final, TypeVar

Range = tuple[int, int]  # half-open
T = TypeVar("T")

#: No sender reaches it; the kernel refuses it as well.
SEQNO_LIMIT: Final = 1 << 62

#: Releases (version short, jgroups.md 1.7) from which the layouts differ (jgroups.md 3).
V3_5_1: Final = 0x1941
V3_6_9: Final = 0x1989
V4_0: Final = 0x2000
V5_0: Final = 0x2800
V5_2_11: Final = 0x288B
V5_3_2: Final = 0x28C2


class _EndError(Exception):
    """The bytes end, or hold no such value; never leaves this module."""


@dataclass(slots=True)
class _Input:
    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise _EndError
        self.at += size
        return self.data[self.at - size : self.at]

    def u8(self) -> int:
        return self.take(1)[0]

    def u16(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def i16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def i32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def i64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def vlong(self) -> int:
        size = self.u8()
        if size > 8:
            raise _EndError
        value = int.from_bytes(self.take(size), "little")
        return value - (1 << 64) if value >> 63 else value

    def vpair(self) -> Range:
        sizes = self.u8()
        low = int.from_bytes(self.take(sizes >> 4), "little")
        high = low + int.from_bytes(self.take(sizes & 15), "little")
        if high >= SEQNO_LIMIT:
            raise _EndError
        return low, high

    def text(self) -> str | None:
        if self.u8() == 0:
            return None
        return self.take(self.u16()).decode("utf-8", "replace")

    def uuid(self) -> str:
        least, most = self.take(8), self.take(8)
        return str(uuid.UUID(bytes=most + least))

    def ip(self) -> str:
        size = self.u8()
        raw = self.take(size)
        if size == 0:
            return f":{self.u16()}"
        if size == 4:
            return f"{IPv4Address(raw)}:{self.u16()}"
        if size != 16:
            raise _EndError
        self.i32()  # scope id
        return f"[{IPv6Address(raw)}]:{self.u16()}"

    def address(self) -> str | None:
        tag = self.u8()
        if tag == 1:
            return None
        if tag in (2, 4, 8):
            who = self.uuid()
            if tag == 2:
                return who
            self.text()
            self.text()
            return who
        if tag == 16:
            return self.ip()
        if tag == 32:
            where = self.ip()
            return f"{where}/{self.take(12).hex()}"
        kind = self.u16() if tag == 0 else -1
        if kind == 22:
            return f"millis-{self.i64()}"
        if kind == 19:
            who = self.uuid()
            self.vlong()
            return who
        if kind != 12:
            raise _EndError
        who = self.uuid()
        for _ in range(2 * self.u8()):
            self.take(self.u8())
        return who

    def addresses(self) -> list[str | None]:
        count = self.i16()
        if count > len(self.data):
            raise _EndError
        return [self.address() for _ in range(count)]

    def view_id(self) -> list[object]:
        return [self.address(), self.vlong()]


def address_text(raw: bytes) -> str | None:
    """An address as wire bytes, tag included: the canonical UUID, or IP:port (jgroups.md 1.2)."""
    try:
        return _Input(raw).address()
    except _EndError:
        return None


def socket_text(host: str, port: int) -> str:
    """A physical address as JGroups and this tool write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def seqno_ranges(raw: bytes, version: int) -> list[Range] | None:
    """The seqnos an xmit-req asks for, ascending (jgroups.md 2.5, 3); [] is legal.

    ``raw`` is the payload: of an ObjectMessage from its first byte, of a buffer without its length.
    """
    source = _Input(raw)
    try:
        if version < V3_6_9:
            if source.take(4) != b"\x01\x01\x00\x5e":
                return None
            if version < V3_5_1:
                return _listed_ranges(source)
        elif version < V5_0:
            if source.u8() == 0:
                return []
        else:
            if version < V5_2_11 and source.u8() != 0x32:
                return None
            if source.u8() == 0:
                return []
            if source.i16() != 15:
                return None
        return _bit_ranges(source)
    except _EndError:
        return None


def _listed_ranges(source: _Input) -> list[Range]:
    """3.5.0: i32 n, then n × (bool range, vpair or vlong)."""
    found: list[Range] = []
    for _ in range(source.i32()):
        if source.u8():
            low, high = source.vpair()
        else:
            low = high = source.vlong()
        if not 0 <= low <= high < SEQNO_LIMIT:
            raise _EndError
        found.append((low, high + 1))
    joined: list[Range] = []
    for low, stop in sorted(found):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((low, stop))
    return joined


def _bit_ranges(source: _Input) -> list[Range]:
    """i32 size, i64 offset, words: bit i of word w is seqno offset + 64·w + i."""
    size, offset = source.i32(), source.i64()
    if size < 0 or offset < 0 or offset + size >= SEQNO_LIMIT:
        raise _EndError
    words = source.take((size + 63) // 64 * 8)
    bits = int.from_bytes(
        b"".join(words[at : at + 8] for at in range(len(words) - 8, -1, -8)), "big"
    )
    text = f"{bits & ((1 << size) - 1):b}"[::-1] if size else ""
    found: list[Range] = []
    at = text.find("1")
    while at >= 0:
        stop = text.find("0", at)
        stop = len(text) if stop < 0 else stop
        found.append((offset + at, offset + stop))
        at = text.find("1", stop)
    return found


def digest(raw: bytes, version: int) -> dict[str, list[int]] | None:
    """A STABLE payload: delivered and received seqno per member (jgroups.md 2.6)."""
    source = _Input(raw)
    try:
        if V5_0 <= version < V5_2_11 and source.u8() != 0x32:
            return None
        if source.u8() == 0:
            return None
        if version >= V5_0 and source.i16() not in (9, 10):
            return None
        return _digest(source, source.addresses())
    except _EndError:
        return None


def _digest(source: _Input, members: list[str | None]) -> dict[str, list[int]]:
    pairs = [list(source.vpair()) for _ in members]
    return {member: pair for member, pair in zip(members, pairs, strict=True) if member}


def _whole(raw: bytes, read: Callable[[_Input], T]) -> T | None:
    """What is read of an object that ends with its bytes: what leaves some over was misread."""
    source = _Input(raw)
    try:
        found = read(source)
    except _EndError:
        return None
    return found if source.at == len(raw) else None


def view_message(raw: bytes) -> dict[str, object] | None:
    """Payload of VIEW, MERGE_RSP, INSTALL_MERGE_VIEW, GET_DIGEST_RSP (jgroups.md 2.6)."""
    return _whole(raw, _view_message)


def _view_message(source: _Input) -> dict[str, object]:
    bits = source.u16()
    found: dict[str, object] = {"merge": bool(bits & 4)}
    members: list[str | None] = []
    if bits & 1:
        found["view"], members = _view(source, merge=bool(bits & 4), delta=bool(bits & 8))
    if bits & 2:
        found["digest"] = _read_digest(source, members, own=bool(bits & 16))
    return found


def join_response(raw: bytes) -> dict[str, object] | None:
    """Payload of JOIN_RSP (jgroups.md 2.6)."""
    return _whole(raw, _join_response)


def _join_response(source: _Input) -> dict[str, object]:
    if source.u8() == 0:
        raise _EndError
    bits = source.u8()
    found: dict[str, object] = {"merge": bool(bits & 8)}
    members: list[str | None] = []
    if bits & 1:
        found["view"], members = _view(source, merge=bool(bits & 8), delta=False)
    if bits & 2:
        found["digest"] = _read_digest(source, members, own=False)
    if bits & 4:
        found["refused"] = source.take(source.u16()).decode("utf-8", "replace")
    return found


def _read_digest(source: _Input, members: list[str | None], *, own: bool) -> dict[str, list[int]]:
    if own:
        return _digest(source, source.addresses())
    if source.i16() != len(members):
        raise _EndError
    return _digest(source, members)


def _view(
    source: _Input, *, merge: bool, delta: bool
) -> tuple[dict[str, object], list[str | None]]:
    identity = source.view_id()
    if delta:
        reference = source.view_id()
        left, new = source.addresses(), source.addresses()
        return {"id": identity, "reference": reference, "left": left, "new": new}, []
    members = source.addresses()
    view: dict[str, object] = {"id": identity, "members": members}
    if merge:
        view["subgroups"] = [_subgroup(source, members) for _ in range(source.i16())]
    return view, members


def _subgroup(source: _Input, members: list[str | None]) -> dict[str, object]:
    creator = _by_index(source, members)
    number = source.i64()
    return {
        "id": [creator, number],
        "members": [_by_index(source, members) for _ in range(source.i16())],
    }


def _by_index(source: _Input, members: list[str | None]) -> str | None:
    index = source.i16()
    if index < 0:
        return source.address()
    if index >= len(members):
        raise _EndError
    return members[index]


@dataclass(frozen=True, slots=True)
class DiscoveredMember:
    """What discovery says about a member: UUID, logical name, physical address."""

    member: str
    name: str | None
    address: str | None


def ping_names(raw: bytes, version: int) -> list[DiscoveredMember] | None:
    """Payload of a PING response; version 0 (bare MPING): either layout (jgroups.md 2.7, 3)."""
    if version == 0:
        listed = _names(raw, listed=True)
        return listed if listed is not None else _names(raw, listed=False)
    return _names(raw, listed=version >= V5_3_2)


def _names(raw: bytes, *, listed: bool) -> list[DiscoveredMember] | None:
    def read(source: _Input) -> list[DiscoveredMember]:
        found: list[DiscoveredMember] = []
        for _ in range(source.i32() if listed else min(source.u8(), 1)):
            member = source.address()
            source.u8()  # 1 server, 2 coordinator
            name, address = source.text(), source.address()
            source.addresses()
            if member:
                found.append(DiscoveredMember(member, name, address))
        return found

    return _whole(raw, read)


def merge_name(raw: bytes, sender: str) -> DiscoveredMember | None:
    """A MERGE3 header's logical name and physical address (jgroups.md 2.7)."""
    source = _Input(raw)
    try:
        source.u8()
        if source.u8():
            source.view_id()
        name, address = source.text(), source.address()
    except _EndError:
        return None
    return DiscoveredMember(sender, name, address) if name else None
