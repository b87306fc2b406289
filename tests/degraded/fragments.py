"""What is longer than a path takes, in IP fragments."""

import struct
from collections.abc import Iterator
from dataclasses import replace

from tests.degraded import hosts
from tests.degraded.captures import Capture, Record

_MORE = 0x2000
_PLACE = 0x3FFF  # an offset, or that more follow


def in_fragments(capture: Capture, record: Record, longest: int, ident: int) -> Iterator[Record]:
    """The record, or the fragments of its IPv4 packet if that is longer than a path takes.

    Args:
        longest: packet of the path, bytes.
        ident: of the fragments, where the packet has none.
    """
    data, ip = record.data, hosts.network(capture, record)
    head = hosts.behind_ip(capture, record)
    size = int.from_bytes(data[ip + 2 : ip + 4], "big")
    place = int.from_bytes(data[ip + 6 : ip + 8], "big")
    if data[ip : ip + 1] != b"\x45" or size <= longest or len(data) < ip + size or place & _PLACE:
        yield record
        return
    carried = data[head : ip + size]
    step = (longest - 20) // 8 * 8
    known = int.from_bytes(data[ip + 4 : ip + 6], "big") or ident
    for at in range(0, len(carried), step):
        part = carried[at : at + step]
        header = bytearray(data[ip:head])
        header[2:4] = struct.pack(">H", 20 + len(part))
        header[4:6] = struct.pack(">H", known)
        header[6:8] = struct.pack(">H", at >> 3 | (_MORE if at + step < len(carried) else 0))
        header[10:12] = hosts.checksum(header)
        whole = data[:ip] + bytes(header) + part
        yield replace(record, data=whole, size=len(whole))
