"""PGM packets, raims messages and inbox datagrams, byte by byte as raims.md lays them out."""

import base64
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, Flag
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import Datagrams
from seqaudit.decoders.raims.messages import FIELDS, crc32c

GSI = bytes.fromhex("918f211d6b39")
PORT = 7239
BRIDGE = bytes(range(16))


def field(name: str, value: int | str | bytes | bool) -> bytes:
    """A field with its header, padded (raims.md 5)."""
    number = FIELDS.index(name)
    if isinstance(value, bool):
        return bytes([0xC0, number, value, 0])
    if isinstance(value, int):
        size = 2 if value < 1 << 16 else 4 if value < 1 << 32 else 8
        code = {2: 0xC1, 4: 0xC2, 8: 0xC3}[size]
        return bytes([code, number]) + value.to_bytes(size, "big")
    if isinstance(value, str):
        body = value.encode()
        return bytes([0x47, number]) + struct.pack(">H", len(body)) + body + b"\0" * (len(body) % 2)
    if len(value) in (16, 32, 64):
        return bytes([{16: 0xC4, 32: 0xC5, 64: 0xC6}[len(value)], number]) + value
    return bytes([0x48, number]) + struct.pack(">I", len(value)) + value + b"\0" * (len(value) % 2)


def caba(
    subject: str,
    *fields: tuple[str, int | str | bytes | bool],
    sort: int = 0,
    options: int = 0,
    path: int = 0,
    bridge: bytes = BRIDGE,
    long: bool = False,
) -> bytes:
    """A message; ``long``: its length is in the second word."""
    body = b"\xc4\x03" + bridge + b"\xc4\x05" + bytes(16) + field("sub", subject)
    body += b"".join(field(name, value) for name, value in fields)
    word = 1 << 31 | sort << 29 | options << 24 | path << 16
    if long:
        return struct.pack(">II", word, len(body)) + body
    return struct.pack(">II", word | len(body), 0xABCD) + body


def data(
    subject: str, seqno: int, *, time: int | None = 5, chain: int | None = None, **how: Any
) -> bytes:
    """A data message as a publisher sends it."""
    fields: list[tuple[str, int | str | bytes | bool]] = [("seqno", seqno)]
    if chain is not None:
        fields.append(("chain_seqno", chain))
    if time is not None:
        fields.append(("time", time))
    fields += [("fmt", 2), ("data", b"x" * how.pop("payload", 5))]
    return caba(subject, *fields, **how)


def pgm(sort: int, body: bytes, tsdu: bytes = b"", options: int = 0, gsi: bytes = GSI) -> bytes:
    """A PGM packet; what receivers send has its ports the other way round."""
    ports = (PORT, 4711) if sort in (2, 8, 9, 12) else (4711, PORT)
    head = struct.pack(">HHBBH", *ports, sort, options, 0) + gsi + struct.pack(">H", len(tsdu))
    return head + body + tsdu


def odata(sqn: int, *messages: bytes, trail: int = 0, repair: bool = False) -> bytes:
    return pgm(5 if repair else 4, struct.pack(">II", sqn, trail), b"".join(messages))


def spm(number: int, trail: int, lead: int) -> bytes:
    return pgm(0, struct.pack(">IIIHH4s", number, trail, lead, 1, 0, bytes(4)))


def nak(sqn: int, *listed: int, sort: int = 8) -> bytes:
    nla = struct.pack(">HH4s", 1, 0, bytes(4))
    body = struct.pack(">I", sqn) + nla + nla
    if not listed:
        return pgm(sort, body)
    size = 4 + 4 * len(listed)
    options = struct.pack(">BBH", 0, 4, 4 + size) + struct.pack(">BBH", 0x82, size, 0)
    return pgm(sort, body + options + struct.pack(f">{len(listed)}I", *listed), options=3)


def inbox(
    seqno: int, payload: bytes = b"", *, sort: int = 0, repair: bool = False, ack: int = 0,
    ident: int = 7, uid: int = 1, fragment: bool = False,
) -> bytes:  # fmt: skip
    code = 0x33 | sort << 6 | repair << 9 | fragment << 10 | ident << 12 | 9 << 22
    return struct.pack("<6I", code, uid, 0xFFFFFFFF, seqno, ack, len(payload)) + payload


def inbox_subject(receiver: bytes, name: str) -> str:
    return f"_I.{base64.b64encode(receiver).decode()[:22]}.{name}"


def piece(offset: int, total: int, body: bytes, number: int | None = None) -> bytes:
    """A TSDU with the trailer of a piece, and the hash of the first one's or another."""

    def trailer(at: int, value: int) -> bytes:
        mark = b"\x99\xaa\x44\xff"
        return struct.pack("<8sQIII4s", GSI + b"\x12\x67", 1, at, total, value, mark)

    value = crc32c(trailer(0, 0), 0) if number is None else number
    return body + trailer(offset, value)


def datagrams(
    payloads: Sequence[bytes | None],
    *,
    compile_it: bool = False,
    cut: int = 0,
    ports: tuple[int, int] = (50_000, PORT),
    protocol: int = 17,
) -> Datagrams:
    """One datagram a payload, a microsecond apart, from 10.77.0.1; None: a barrier."""
    count = len(payloads)
    held = bytearray()
    start, stop, length = [], [], []
    for payload in payloads:
        kept = (payload or b"")[: len(payload or b"") - cut]
        start.append(len(held))
        held += kept
        stop.append(len(held))
        length.append(len(payload or b""))

    def column(value: int | Sequence[int]) -> Int64s:
        return np.full(count, value, np.int64)

    return Datagrams(
        data=bytes(held),
        compile_it=compile_it,
        capture=0,
        split=0,
        hosts=["10.77.0.1", "239.77.0.1"],
        frame=np.arange(1, count + 1, dtype=np.int64),
        at_ns=np.arange(count, dtype=np.int64) * 1000,
        start=column(start),
        stop=column(stop),
        length=column(length),
        source=column(0),
        destination=column(1),
        source_port=column(ports[0]),
        destination_port=column(ports[1]),
        ip_id=column(-1),
        flags=column(Flag.CUT if cut else 0),
        barrier=column([1 if payload is None else 0 for payload in payloads]),
        outcome=column(0),
        protocol=column(protocol),
    )


class Decoded:
    """What a fresh decoder made of some datagrams."""

    def __init__(self, decoder: Any, payloads: Sequence[bytes | None], **how: Any) -> None:
        given = datagrams(payloads, **how)
        batches = decoder.decode(given) + decoder.finish()
        self.table = pa.Table.from_batches(batches, EVENTS)
        self.rows: list[dict[str, Any]] = self.table.to_pylist()
        self.outcome: list[int] = given.outcome.tolist()
        self.account: dict[str, Any] = decoder.account()

    def messages(self) -> list[dict[str, Any]]:
        """Rows of raims messages."""
        return [row for row in self.rows if row["system"] == "raims" and row["index"] >= 0]

    def packets(self) -> list[dict[str, Any]]:
        """Rows of packets in the PGM conversation."""
        return [
            row for row in self.rows if row["conversation"].startswith("pgm|") and row["index"] >= 0
        ]
