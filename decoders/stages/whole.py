"""Datagrams that were put together, as packets without fragmentation (decoders/README.md 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.contract.events import FRAME_BITS
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.ip_datagram import Assembly
from seqaudit.decoders.network.packets import Datagrams, Packets
from seqaudit.decoders.network.refusals import refused

RAW: Final = 101  # LINKTYPE_RAW
FRAME_MASK: Final = (1 << FRAME_BITS) - 1


@dataclass(slots=True)
class Whole:
    """A datagram to be decoded: complete, or what there is of it to be recognised.

    Attributes:
        flags: as the kernel has them: whether it came twice.
        print: what the datagram that it tunnels is known by (``network.copies``); 0: it tunnels
            none, or that is not asked here.
    """

    assembly: Assembly
    capture: int
    frame: int
    at_ns: int
    flags: int = 0
    print: int = 0
    incomplete: bool = False


def packets_of(wholes: Sequence[Whole]) -> Records:
    """Datagrams as IP packets without fragmentation, for the packet kernel.

    Their times are hidden from it, so that its search for duplicates leaves them alone: what shares
    a batch depends on how the capture was cut.
    """
    packets: list[bytes] = []
    sizes: list[int] = []
    for whole in wholes:
        packet, size = whole.assembly.packet()
        packets.append(packet)
        sizes.append(size)
    count = len(wholes)
    captured = np.array([len(packet) for packet in packets], np.int64)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(captured)[:-1]])
    return Records(
        data=b"".join(packets),
        count=count,
        frame=np.array([whole.frame & FRAME_MASK for whole in wholes], np.int64),
        start=start,
        captured=captured,
        original=np.array(sizes, np.int64),
        at_ns=np.full(count, -1, np.int64),
        link=np.full(count, RAW, np.int64),
        interface=np.zeros(count, np.int64),
        offset=start,
        status=np.zeros(count, np.int64),
        section=0,
    )


def told_refused(packets: Packets, wholes: Sequence[Whole]) -> Iterator[Datagrams]:
    """What reached nobody, as some of these packets say (``network.refusals``)."""
    times = {whole.frame & FRAME_MASK: whole.at_ns for whole in wholes}
    for found in refused(packets):
        found.at_ns = np.array([times[frame] for frame in found.frame.tolist()], np.int64)
        yield found


def separated(packets: Packets, wholes: Sequence[Whole]) -> Datagrams:
    """Every datagram followed by a barrier: none may share a run with another."""
    datagrams = packets.datagrams
    kept = [wholes[row] for row in packets.rows.tolist()]
    datagrams.at_ns = np.array([whole.at_ns for whole in kept], np.int64)
    flags = np.array([whole.flags for whole in kept], np.int64)
    datagrams.flags = datagrams.flags | flags & k.EVENT_FLAGS
    outer = np.array([whole.assembly.first.facts.get("network", 0) for whole in kept], np.int64)
    datagrams.network = np.where(datagrams.networks, datagrams.networks, outer)
    twice = datagrams.take(np.repeat(np.arange(datagrams.count), 2))
    twice.barrier[1::2] = 1
    return twice
