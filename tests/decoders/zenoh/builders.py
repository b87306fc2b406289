"""zenoh messages and batches as bytes, and batches as columns; nothing of ours but the contract."""

from collections.abc import Sequence

import lz4.block
import numpy as np

from seqaudit.decoders.zenoh import kernels as wire
from seqaudit.decoders.zenoh.batches import Batches

ZID = bytes(range(1, 17))


def zint(value: int) -> bytes:
    out = bytearray()
    while len(out) < 8 and value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sized(raw: bytes) -> bytes:
    return zint(len(raw)) + raw


def key(scope: int, suffix: str = "") -> bytes:
    return zint(scope) + (sized(suffix.encode()) if suffix else b"")


def source_info(sn: int, eid: int = 6, zid: bytes = ZID, *, more: bool = False) -> bytes:
    body = bytes([(len(zid) - 1) << 4]) + zid + zint(eid) + zint(sn)
    return bytes([0xC1 if more else 0x41]) + sized(body)


def put(sn: int | None, payload: bytes = b"x" * 10, eid: int = 6, zid: bytes = ZID) -> bytes:
    if sn is None:
        return b"\x01" + sized(payload)
    return b"\x81" + source_info(sn, eid, zid) + sized(payload)


def ros_put(number: int, gid: bytes = ZID[::-1], payload: bytes = b"x" * 10) -> bytes:
    """A Put as rmw_zenoh numbers it: no SourceInfo, an attachment."""
    attachment = sized(b"sequence_number") + number.to_bytes(8, "little", signed=True)
    attachment += sized(b"source_timestamp") + (10**18).to_bytes(8, "little")
    attachment += sized(b"source_gid") + sized(gid)
    return b"\x81\x43" + sized(attachment) + sized(payload)


def push(body: bytes, scope: int = 1, suffix: str = "", *, qos: int | None = None) -> bytes:
    header = 0x1D | 0x40 | (0x20 if suffix else 0) | (0x80 if qos is not None else 0)
    extension = b"" if qos is None else b"\x21" + zint(qos)
    return bytes([header]) + key(scope, suffix) + extension + body


def frame(sn: int, *messages: bytes, priority: int = 5, reliable: bool = True) -> bytes:
    header = 0x05 | (0x20 if reliable else 0) | (0x80 if priority != 5 else 0)
    extension = b"" if priority == 5 else b"\x31" + zint(priority)
    return bytes([header]) + zint(sn) + extension + b"".join(messages)


def fragment(
    sn: int, piece: bytes, *, more: bool, first: bool = False, drop: bool = False
) -> bytes:
    units = [2] * first + [3] * drop
    chain = b"".join(
        bytes([unit | (0x80 if i + 1 < len(units) else 0)]) for i, unit in enumerate(units)
    )
    header = 0x06 | 0x20 | (0x40 if more else 0) | (0x80 if units else 0)
    return bytes([header]) + zint(sn) + chain + piece


def request(number: int, suffix: str, parameters: str, scope: int = 1) -> bytes:
    query = b"\x63\x01" + sized(parameters.encode())
    return b"\xbc" + zint(number) + key(scope, suffix) + b"\xa1\x0d\x34\x01" + query


def response(number: int, body: bytes, suffix: str = "demo/sensor", zid: bytes = ZID) -> bytes:
    responder = bytes([(len(zid) - 1) << 4]) + zid + zint(7)
    extensions = b"\xa1\x0d\x43" + sized(responder)
    return b"\xfb" + zint(number) + key(0, suffix) + extensions + b"\x04" + body


def final(number: int) -> bytes:
    return b"\x9a" + zint(number) + b"\x21\x0d"


def declare(kind: int, number: int, scope: int, suffix: str = "", *, own: bool = True) -> bytes:
    header = kind | (0x20 if suffix else 0) | (0x40 if own and kind else 0)
    return b"\x9e\x21\x08" + bytes([header]) + zint(number) + key(scope, suffix)


def interest(number: int, scope: int, options: int = 0x53) -> bytes:
    """In all subscribers at a key expression, now and later; 0x80: in one answer for them all."""
    return b"\xf9" + zint(number) + bytes([options]) + key(scope, "") + b"\x21\x08"


def declare_final(interest: int) -> bytes:
    return b"\xbe" + zint(interest) + b"\x21\x08\x1a"


def init(
    zid: bytes = ZID,
    *,
    ack: bool = False,
    extensions: bytes = b"\x81\x27\x01",
    resolutions: int = 0x0A,  # 32 bits for sns and for request ids
    whatami: int = 1,  # a peer
) -> bytes:
    header = 0x01 | (0x20 if ack else 0) | 0x40 | (0x80 if extensions else 0)
    cookie = sized(b"c" * 49) if ack else b""
    sizes = bytes([resolutions]) + (65487).to_bytes(2, "little")
    return bytes([header, 9, (len(zid) - 1) << 4 | whatami]) + zid + sizes + cookie + extensions


def opened(sn: int, *, ack: bool = False, lease: int = 10) -> bytes:
    begin = (b"\x62" if ack else b"\x42") + zint(lease) + zint(sn)
    return begin + (b"" if ack else sized(b"c" * 49))


def join(reliable: int, best_effort: int, zid: bytes = ZID) -> bytes:
    head = b"\xa7\x09" + bytes([(len(zid) - 1) << 4 | 1]) + zid
    return head + zint(10) + zint(reliable) + zint(best_effort) + b"\x27\x01"


def compressed(batch: bytes) -> bytes:
    block: bytes = lz4.block.compress(batch, store_size=False)
    return b"\x01" + block


def batches(
    payloads: Sequence[bytes],
    *,
    compile_it: bool = False,
    mode: int = wire.PLAIN_MODE,
    cut: int = 0,
    back: Sequence[int] = (),
) -> Batches:
    """Each payload a datagram; ``cut`` bytes of each not captured; ``back``: the other way."""
    sizes = np.array([len(p) for p in payloads], np.int64)
    end = np.cumsum(sizes)
    count = len(payloads)
    backwards = np.isin(np.arange(count), back)
    ones = np.ones(count, np.int64)
    return Batches(
        data=b"".join(payloads),
        compile_it=compile_it,
        capture=0,
        split=0,
        transport="udp",
        hosts=["10.77.0.1", "10.77.0.2"],
        frame=np.arange(count, dtype=np.int64) + 1,
        at_ns=np.arange(count, dtype=np.int64) * 1_000,
        start=end - sizes,
        stop=np.maximum(end - cut, end - sizes),
        end=end,
        source=np.where(backwards, 1, 0).astype(np.int64),
        destination=np.where(backwards, 0, 1).astype(np.int64),
        source_port=np.where(backwards, 7000, 40000).astype(np.int64),
        destination_port=np.where(backwards, 40000, 7000).astype(np.int64),
        ip_id=-ones,
        flags=0 * ones,
        mode=mode * ones,
    )
