"""A generated capture as a sparse pcapng of any size: holes between its packets.

A hole is one block of a type that readers pass over (a local one, its body never written), of at
most the 16 MB that Wireshark and seqaudit believe of a block. So a file of 100 GB takes the disk of
its packets, and a reader that passes over holes without reading them needs the time of its packets.
"""

from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from tests.bench.repeat import PCAP_HEADER_BYTES, starts_of

HOLE_BYTES: Final = 16 << 20
HOLE_TYPE: Final = 0x8000_0001  # the first bit: local use

SECTION: Final = np.array([0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0xFFFFFFFF, 0xFFFFFFFF, 28], "<u4")
INTERFACE: Final = np.array([1, 20, 1, 65_535, 20], "<u4")  # Ethernet, microseconds


def write_sparse(capture: Path, size: int, path: Path) -> None:
    """The packets of ``capture`` (a pcap of microseconds) in about ``size`` bytes.

    The packets come in as many groups as there are holes, each before its hole.
    """
    records = np.fromfile(capture, np.uint8)[PCAP_HEADER_BYTES:]
    starts = starts_of(records).tolist()
    holes = max(1, (size - len(records)) // HOLE_BYTES)
    borders = [len(starts) * turn // holes for turn in range(holes + 1)]
    with path.open("wb") as out:
        out.write(SECTION.tobytes() + INTERFACE.tobytes())
        for low, high in pairwise(borders):
            out.write(b"".join(_block(records, at) for at in starts[low:high]))
            _hole(out)


def _hole(out: IO[bytes]) -> None:
    ends = np.array([HOLE_TYPE, HOLE_BYTES], "<u4")
    out.write(ends.tobytes())
    out.seek(HOLE_BYTES - 12, 1)
    out.write(ends[1:].tobytes())


def _block(records: Any, at: int) -> bytes:
    """An enhanced packet block of a pcap record."""
    second, fraction, captured, original = records[at : at + 16].view("<u4").tolist()
    ticks = second * 1_000_000 + fraction
    padded = -(-captured // 4) * 4
    total = 32 + padded
    head = np.array([6, total, 0, ticks >> 32, ticks & 0xFFFFFFFF, captured, original], "<u4")
    return b"".join(
        (
            head.tobytes(),
            records[at + 16 : at + 16 + captured].tobytes(),
            bytes(padded - captured),
            total.to_bytes(4, "little"),
        )
    )
