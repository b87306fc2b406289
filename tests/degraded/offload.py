"""What a network card takes off its host's hands, as a capture on that host shows it."""

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tests.degraded import hosts
from tests.degraded.captures import Capture, Record

#: Segments that lie so near to each other are handed over as one, and no packet is larger.
_NEAR_NS: Final = 1_000_000
_LARGEST: Final = 0xFFFF
#: TCP flags besides ACK and PSH keep a segment by itself.
_PLAIN_FLAGS: Final = 0x18


def unsummed(capture: Capture, record: Record) -> Record:
    """The record with the checksum of its TCP or UDP as a host leaves it to its card: not one."""
    carried = hosts.transport(capture, record)
    if carried is None or not carried[1]:
        return record
    at = hosts.behind_ip(capture, record) + (16 if carried[0] == hosts.TCP else 6)
    data = bytearray(record.data)
    if len(data) >= at + 2:
        data[at : at + 2] = struct.pack(">H", (record.size * 40503 + 1) & 0xFFFF)
    return replace(record, data=bytes(data))


def merged(capture: Capture, length_told: bool) -> Iterator[Record]:
    """The records with runs of TCP segments of one flow as one packet each, over IPv4.

    Args:
        length_told: otherwise the IP header says a length of 0, as some hosts leave it to the card.
    """
    held: Record | None = None
    for record in capture.records:
        if held is not None and (joined := _joined(capture, held, record)) is not None:
            held = joined
            continue
        if held is not None:
            yield held if length_told else _untold(capture, held)
        held = record
    if held is not None:
        yield held if length_told else _untold(capture, held)


def _segment(capture: Capture, record: Record) -> tuple[int, int, int] | None:
    """Where IP, TCP and its payload begin in a whole segment over IPv4 with no padding."""
    both, carried = hosts.ends(capture, record), hosts.transport(capture, record)
    if both is None or carried is None or carried[0] != hosts.TCP or not carried[1]:
        return None
    tcp = hosts.behind_ip(capture, record)
    ip = hosts.network(capture, record)
    data = record.data
    if data[ip] >> 4 != 4 or len(data) < tcp + 20 or len(data) < record.size:
        return None
    first = tcp + 4 * (data[tcp + 12] >> 4)
    whole = int.from_bytes(data[ip + 2 : ip + 4], "big") == len(data) - ip
    return (ip, tcp, first) if whole and len(data) > first else None


def _joined(capture: Capture, held: Record, record: Record) -> Record | None:
    """Both as one segment, if the second goes on where the first ends."""
    here, there = _segment(capture, held), _segment(capture, record)
    if here is None or there is None or here != there:
        return None
    ip, tcp, first = here
    one, other = held.data, record.data
    seqno, following = (int.from_bytes(x[tcp + 4 : tcp + 8], "big") for x in (one, other))
    if (
        one[ip + 12 : tcp + 4] != other[ip + 12 : tcp + 4]
        or (seqno + len(one) - first) & 0xFFFFFFFF != following
        or (one[tcp + 13] | other[tcp + 13]) & ~_PLAIN_FLAGS
        or record.at_ns - held.at_ns > _NEAR_NS
        or len(one) - ip + len(other) - first > _LARGEST
    ):
        return None
    data = bytearray(one + other[first:])
    data[ip + 2 : ip + 4] = struct.pack(">H", len(data) - ip)
    data[tcp + 13] |= other[tcp + 13]
    data[ip + 10 : ip + 12] = hosts.checksum(data[ip:tcp])
    return replace(held, data=bytes(data), size=len(data))


def _untold(capture: Capture, record: Record) -> Record:
    found = _segment(capture, record)
    if found is None or record.size < 1600:
        return record
    ip, tcp, _ = found
    data = bytearray(record.data)
    data[ip + 2 : ip + 4] = bytes(2)
    data[ip + 10 : ip + 12] = hosts.checksum(data[ip:tcp])
    return replace(record, data=bytes(data))
