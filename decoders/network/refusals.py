"""Datagrams that reached nobody: a host quotes them where no socket is at their port (RFC 792,
RFC 4443 3.1: port unreachable).

Only what the host itself says is meant, nothing of a router or of a translated address. It quotes
the datagram from its IP header on, as far as there was room: 8 bytes of UDP at least, which tell
the ends and nothing of what it held.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_words as k
from seqaudit.decoders.network.packets import Datagrams, Packets


class _Family(NamedTuple):
    """How a version of IP says it; places are those in the header that is quoted."""

    protocol: int  # of the message
    says: int  # its type << 8 | its code
    version: int
    header: int  # bytes, without options
    next_at: int  # of the protocol that it carries
    source_at: int
    words: int  # of an address, 32 bits each


FAMILIES: Final = (_Family(1, 0x0303, 4, 20, 9, 12, 1), _Family(58, 0x0104, 6, 40, 6, 8, 4))
QUOTED: Final = 8  # bytes of the message before what it quotes
UDP: Final = 17
UDP_BYTES: Final = 8

Raw = npt.NDArray[np.uint8]


def refused(packets: Packets) -> Iterator[Datagrams]:
    """What reached nobody, at the frames that say so: ends, IP id and bytes as quoted, with
    Flag.REFUSED."""
    if packets.only_datagrams:
        return
    spoken = packets.column(k.PROTOCOL)
    for family in FAMILIES:
        rows = np.flatnonzero(spoken == family.protocol)
        rows = rows[packets.column(k.STATE)[rows] == k.NOT_UDP]
        if len(rows):
            raw = np.frombuffer(packets.datagrams.data, np.uint8)
            rows, udp = _quoted_udp(packets, family, raw, rows)
            if len(rows):
                yield _datagrams(packets, family, raw, rows, udp)


def _quoted_udp(packets: Packets, family: _Family, raw: Raw, rows: Int64s) -> tuple[Int64s, Int64s]:
    """The rows that quote a datagram of UDP to the host that speaks, and where its UDP is."""
    start, room = packets.column(k.START), packets.column(k.STOP) - packets.column(k.START)
    rows = rows[room[rows] >= QUOTED + family.header + UDP_BYTES]
    rows = rows[_u16be(raw, start[rows]) == family.says]
    quote = start[rows] + QUOTED
    first = raw[quote].astype(np.int64)
    size = (first & 15) * 4 if family.version == 4 else np.full(len(rows), family.header)
    ours = (first >> 4 == family.version) & (size >= family.header)
    ours &= room[rows] >= QUOTED + size + UDP_BYTES
    ours &= raw[quote + family.next_at] == UDP
    if family.version == 4:  # a later fragment has no ports
        ours &= _u16be(raw, quote + 6) & 0x1FFF == 0
    hosts = packets.flows.table_of_hosts().reshape(-1, k.HOST_WORDS)
    for place, end in enumerate((k.DESTINATION, k.SOURCE)):
        for word in range(family.words):
            at = quote + family.source_at + 4 * (place * family.words + word)
            told = hosts[packets.column(end)[rows], k.HOST_WORDS - family.words + word]
            ours &= (_u16be(raw, at) << 16 | _u16be(raw, at + 2)) == told
    return rows[ours], (quote + size)[ours]


def _datagrams(packets: Packets, family: _Family, raw: Raw, rows: Int64s, udp: Int64s) -> Datagrams:
    start, length = udp + UDP_BYTES, np.maximum(_u16be(raw, udp + 4) - UDP_BYTES, 0)
    stop = np.minimum(packets.column(k.STOP)[rows], start + length)
    cut = (stop < start + length).astype(np.int64)
    ident = np.full(len(rows), -1)
    if family.version == 4:
        ident = _u16be(raw, packets.column(k.START)[rows] + QUOTED + 4)
    return packets.datagrams_of(
        rows,
        start=start,
        stop=stop,
        length=length,
        source=packets.column(k.DESTINATION)[rows],
        destination=packets.column(k.SOURCE)[rows],
        source_port=_u16be(raw, udp),
        destination_port=_u16be(raw, udp + 2),
        ip_id=ident,
        protocol=None,
        flags=cut * int(Flag.CUT) | int(Flag.REFUSED),
    )


def _u16be(raw: Raw, at: Int64s) -> Int64s:
    return raw[at].astype(np.int64) << 8 | raw[at + 1]
