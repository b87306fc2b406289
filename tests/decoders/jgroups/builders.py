"""The JGroups wire as the tests write it (jgroups.md 1, 2), and a decoder run over it."""

import uuid
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups.datagrams import JGroupsDecoder
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import Datagrams

A: Final = "00000000-0000-000a-8000-0000000000aa"
B: Final = "00000000-0000-000b-8000-0000000000bb"
C: Final = "00000000-0000-000c-8000-0000000000cc"

V3_5_0: Final = 0x1940
V3_6_0: Final = 0x1980
V4_2_22: Final = 0x2096
V5_2_0: Final = 0x2880
V5_2_11: Final = 0x288B
V5_3_7: Final = 0x28C7
V5_3_8: Final = 0x28C8
V5_6_0: Final = 0x2980

BYTES, NIO, EMPTY, OBJECT, LONG, COMPOSITE, FRAGMENTED, BATCH = range(8)
OOB: Final = 0x0001


def i16(value: int) -> bytes:
    return (value & 0xFFFF).to_bytes(2, "big")


def i32(value: int) -> bytes:
    return (value & 0xFFFFFFFF).to_bytes(4, "big")


def i64(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def vlong(value: int) -> bytes:
    """vint and vlong (1.1)."""
    size = 8 if value < 0 else (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "little", signed=value < 0)


def vpair(low: int, high: int) -> bytes:
    if low == high == 0:
        return b"\0"
    first = vlong(low)[1:]
    second = vlong(high - low)[1:] or b"\0"
    return bytes([len(first) << 4 | len(second)]) + first + second


def text(value: str | None) -> bytes:
    if value is None:
        return b"\0"
    return b"\1" + i16(len(value.encode())) + value.encode()


def who(member: str | None) -> bytes:
    """A UUID address, least significant half first; None: null (1.2)."""
    if member is None:
        return b"\1"
    raw = uuid.UUID(member).bytes
    return b"\2" + raw[8:] + raw[:8]


def whos(*members: str) -> bytes:
    return i16(len(members)) + b"".join(who(member) for member in members)


def ip4(address: str, port: int) -> bytes:
    """An IpAddress address with its tag."""
    return b"\x10\4" + bytes(map(int, address.split("."))) + i16(port)


def header(protocol: int, kind: int, body: bytes = b"") -> bytes:
    return i16(protocol) + i16(kind) + body


def tp(version: int = V5_6_0, cluster: str = "lab", flag: bytes = b"\0") -> bytes:
    """The transport header (2.2)."""
    name = i16(len(cluster.encode())) + cluster.encode()
    if version < 0x2000:
        return header(21, 56, name)
    return header(57, 60, name + (flag if version >= V5_3_8 else b""))


def data3(seqno: int, conn_id: int = 0, *, first: bool = False) -> bytes:
    """UNICAST3 DATA (2.3)."""
    return header(48, 82, b"\0" + vlong(seqno) + i16(conn_id) + bytes([first]))


def msg4(seqno: int) -> bytes:
    """NAKACK4 MSG (2.4)."""
    return header(77, 99, b"\1" + vlong(seqno))


def sized(payload: bytes | None) -> bytes:
    return i32(-1) if payload is None else i32(len(payload)) + payload


def bits(seqnos: Sequence[int], offset: int, size: int) -> bytes:
    """A SeqnoList (2.5)."""
    words = [0] * ((size + 63) // 64)
    for seqno in seqnos:
        words[(seqno - offset) // 64] |= 1 << (seqno - offset) % 64
    return i32(size) + i64(offset) + b"".join(word.to_bytes(8, "big") for word in words)


def message(
    *headers: bytes,
    kind: int = BYTES,
    source: bytes | None = None,
    destination: bytes | None = None,
    flags: int = 0,
    payload: bytes | None = None,
    version: int = V5_6_0,
    count: int | None = None,
) -> bytes:
    """A message (1.4, and 3 before 5.0); ``payload`` is what follows the headers from 5.0 on, and
    the content of the buffer before."""
    lead = (1 if destination is not None else 0) | (2 if source is not None else 0)
    if payload is None:
        payload = sized(b"data") if kind == BYTES and version >= 0x2800 else b""
    elif version < 0x2800:
        lead |= 4
        payload = sized(payload)
    return (
        (i16(kind) if version >= 0x2800 else b"")
        + bytes([lead])
        + i16(flags)
        + (destination or b"")
        + (source or b"")
        + i16(len(headers) if count is None else count)
        + b"".join(headers)
        + payload
    )


def single(
    *headers: bytes, version: int = V5_6_0, to: str | None = None, by: str = A, **rest: Any
) -> bytes:
    """A frame with one message of ``by``, to all unless ``to`` one; ends with the TP header."""
    destination = None if to is None else who(to)
    return (
        i16(version)
        + bytes([2 if to is None else 0])
        + message(
            *headers,
            tp(version),
            source=who(by),
            destination=destination,
            version=version,
            **rest,
        )
    )


def listed(
    *messages: bytes,
    version: int = V5_6_0,
    to: str | None = None,
    by: str = A,
    cluster: str = "lab",
    count: int | None = None,
) -> bytes:
    """A message list (1.5)."""
    return (
        i16(version)
        + bytes([3 if to is None else 1])
        + who(to)
        + who(by)
        + i16(len(cluster))
        + cluster.encode()
        + i32(len(messages) if count is None else count)
        + b"".join(messages)
    )


def datagrams(
    payloads: Sequence[bytes | None],
    *,
    compile_it: bool = False,
    cut: int = 0,
    flags: int | Int64s = 0,
    port: int = 7800,
    pad: bytes = b"",
) -> Datagrams:
    """One datagram a payload, a microsecond apart, from 10.80.0.1; None: a barrier.

    ``cut``: so many bytes of each were not captured.
    """
    count = len(payloads)
    data = bytearray(pad)
    start, stop, length = [], [], []
    for payload in payloads:
        kept = (payload or b"")[: len(payload or b"") - cut]
        start.append(len(data))
        data += kept
        stop.append(len(data))
        length.append(len(payload or b""))
        data += pad

    def column(value: int | Sequence[int] | Int64s) -> Int64s:
        return np.full(count, value, np.int64)

    return Datagrams(
        data=bytes(data),
        compile_it=compile_it,
        capture=0,
        split=0,
        hosts=["10.80.0.1", "239.8.8.8"],
        frame=np.arange(1, count + 1, dtype=np.int64),
        at_ns=np.arange(count, dtype=np.int64) * 1000,
        start=column(start),
        stop=column(stop),
        length=column(length),
        source=column(0),
        destination=column(1),
        source_port=column(port),
        destination_port=column(45588),
        ip_id=np.arange(100, 100 + count, dtype=np.int64),
        flags=column(flags | (Flag.CUT if cut else 0)),
        barrier=column([1 if payload is None else 0 for payload in payloads]),
        outcome=column(0),
    )


class Decoded:
    """What a fresh decoder made of some datagrams."""

    def __init__(
        self, payloads: Sequence[bytes | None], settings: DecodeSettings | None = None, **how: Any
    ) -> None:
        given = datagrams(payloads, **how)
        decoder = JGroupsDecoder(settings or DecodeSettings())
        self.batches: list[pa.RecordBatch] = decoder.decode(given) + decoder.finish()
        self.outcome: list[int] = given.outcome.tolist()
        self.account: dict[str, Any] = decoder.account()

    @cached_property
    def copies(self) -> list[dict[str, Any]]:
        """Members, views and notices, as rows of the cluster's unicast conversation."""
        return [row for row in self._all if _is_copy(row)]

    @cached_property
    def _all(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch.to_pylist()]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """All rows in order, null columns left out; see ``copies`` for those of unicast."""
        found = [row for row in self._all if not _is_copy(row)]
        found.sort(key=lambda row: (row["frame"], row["index"], row["system"]))
        return [{key: value for key, value in row.items() if value is not None} for row in found]

    def of(self, *columns: str, members: bool = False) -> list[tuple[Any, ...]]:
        """Some columns of the rows, those of members left out."""
        return [
            tuple(row.get(column) for column in columns)
            for row in self.rows
            if members or row["wire_kind"] != "MEMBER"
        ]


def _is_copy(row: dict[str, Any]) -> bool:
    shared = row["kind"] in (Kind.MEMBER, Kind.VIEW, Kind.NOTICE)
    return shared and row["conversation"].startswith("unicast|")
