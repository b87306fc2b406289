"""What tells one unicast packet from all others, so that it is found again in another capture.

A look at the beginning of a capture, in the caller's process: it is no decoding, and what cannot be
read is left out. TTLs and checksums are not part of a print, as routers and network cards write
them.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from seqaudit.decoders.capture.pieces import Piece
from seqaudit.decoders.capture.reader import Reader
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.networks import HEAD_BESIDE_ID, HEAD_BYTES, OfNetworks
from seqaudit.decoders.network.packets import PacketReader

TCP: Final = 6
UDP: Final = 17
#: Where the checksum is in a TCP header.
CHECKSUM: Final = (16, 18)


@dataclass(frozen=True, slots=True)
class Seen:
    """One packet: its ends, what tells it from others, and when it was captured."""

    source: str
    destination: str
    print: bytes
    at_ns: int


def prints(pieces: Iterable[Piece], chosen: Chosen, ends: frozenset[str], most: int) -> list[Seen]:
    """The first packets of TCP and UDP between two addresses; none of what cannot be read.

    Args:
        pieces: of one capture, in order; those that are not reached are not asked for.
        chosen: of which networks packets are read.
        ends: the two addresses.
        most: records that are read.
    """
    found: list[Seen] = []
    read = 0
    for piece in pieces:
        with contextlib.suppress(CaptureError):
            for seen in _packets(piece, chosen):
                read += 1
                if read > most:
                    return found
                if seen is not None and {seen.source, seen.destination} == ends:
                    found.append(seen)
    return found


def _packets(piece: Piece, chosen: Chosen) -> Iterator[Seen | None]:
    """What tells a packet from others; null of one that is not looked at."""
    reader = Reader(piece, False)
    packet_reader = PacketReader(piece.capture, piece.split, compile_it=False)
    for records in OfNetworks(chosen, compile_it=False).of(reader) if chosen.networks else reader:
        for packets in packet_reader.read(records):
            hosts = packets.flows.hosts
            columns = packets.columns
            times = packets.record_column("at_ns").tolist()
            rows = zip(
                *(
                    columns[field].tolist()
                    for field in (k.PROTOCOL, k.SOURCE, k.DESTINATION, k.START, k.STOP, k.LENGTH,
                                  k.IP_ID, k.FRAGMENT, k.FLAGS)
                ),
                times,
                strict=True,
            )  # fmt: skip
            for protocol, source, destination, start, stop, length, ip_id, part, flags, at in rows:
                if (
                    protocol not in (TCP, UDP)
                    or part >= 0
                    or flags & k.FLAG_MULTICAST
                    or source < 0  # its own header says that there is no packet
                ):
                    yield None
                    continue
                size = HEAD_BYTES if ip_id < 0 else HEAD_BESIDE_ID
                head = bytes(records.data[start : min(stop, start + size)])
                if protocol == TCP:
                    head = head[: CHECKSUM[0]] + head[CHECKSUM[1] :]
                key = b"%d %d %d " % (protocol, ip_id, length) + head
                yield Seen(hosts[source], hosts[destination], key, at)
