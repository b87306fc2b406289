"""Recordings of ``fixtures/`` to which something happened that one rule is about."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from tests.degraded.captures import Record, read

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
Records = list[Record]
Files = Mapping[str, bytes]
MS: Final = 1_000_000
SECOND: Final = 1000 * MS

LOSS: Final = "jgroups/n4-loss-1/C.pcap"
STALE: Final = "jgroups/u3-stale-ack-fixed-1"
MESH: Final = "raims/mesh-plain-1/C.pcap"
CLIENT: Final = "raims/rv-dataloss-1"


def spoiled(name: str, spoil: Callable[[Records], Records]) -> bytes:
    """A recording with other records."""
    capture = read(FIXTURES / name)
    return capture.of(spoil(list(capture.records))).written()


def cut() -> bytes:
    """The disk was full."""
    return (FIXTURES / LOSS).read_bytes()[:-10]


def ended_in_traffic() -> bytes:
    """The capture was stopped while messages came and some of them were missing."""
    return spoiled(LOSS, lambda records: records[:60])


def damaged() -> bytes:
    """A record says an impossible length."""
    data = bytearray((FIXTURES / LOSS).read_bytes())
    at = 24
    for _ in range(40):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    data[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
    return bytes(data)


def compressed() -> bytes:
    """A gzip file that ends early."""
    return gzip.compress((FIXTURES / LOSS).read_bytes(), mtime=0)[:-200]


def a_segment_missing() -> bytes:
    """Of a TCP connection one segment with data is not captured."""

    def spoil(records: Records) -> Records:
        data = [n for n, r in enumerate(records)
                if b"_7500.TICK.A" in r.data and r.data[26:30] == b"\x0a\x4d\x00\x01"]  # fmt: skip
        return [r for n, r in enumerate(records) if n != data[len(data) // 2]]

    return spoiled(MESH, spoil)


def disordered() -> bytes:
    """Two records are written in the wrong order."""

    def spoil(records: Records) -> Records:
        at = min(range(1, len(records)), key=lambda n: records[n].at_ns - records[n - 1].at_ns)
        records[at - 1], records[at] = records[at], records[at - 1].moved(-1000)
        return records

    return spoiled(LOSS, spoil)


def stepped() -> bytes:
    """The capturing machine's clock is set back in the middle."""
    return spoiled(
        LOSS, lambda records: [r if n < len(records) // 2 else r.moved(-5 * SECOND)
                               for n, r in enumerate(records)]
    )  # fmt: skip


def coarse() -> bytes:
    """The capture's clock ticks every second."""
    return spoiled(
        LOSS, lambda records: [replace(r, at_ns=r.at_ns // SECOND * SECOND) for r in records]
    )


def flipped() -> bytes:
    """A bit of one packet's payload is another."""

    def spoil(records: Records) -> Records:
        whole = [
            number
            for number, record in enumerate(records)
            if record.data[23] == 17 and not int.from_bytes(record.data[20:22], "big") & 0x3FFF
        ]
        at = max(whole, key=lambda n: len(records[n].data))
        data = bytearray(records[at].data)
        data[-1] ^= 1
        records[at] = replace(records[at], data=bytes(data))
        return records

    return spoiled(LOSS, spoil)


def twice() -> bytes:
    """Every packet passes two interfaces."""
    return spoiled(LOSS, lambda records: [x for r in records for x in (r, r.moved(1000))])


def both_ends(without: str) -> Files:
    """What A and B exchange at both, where one capture lacks some of it."""

    def spoil(name: str, records: Records) -> Records:
        if name != without:
            return records
        sent = [n for n, r in enumerate(records) if r.data[26:30] == b"\x0a\x50\x00\x01"
                and r.data[30] == 10]  # fmt: skip
        return [r for n, r in enumerate(records) if n != sent[len(sent) // 2]]

    return {f"{name}.pcap": spoiled(f"{STALE}/{name}.pcap", partial(spoil, name)) for name in "AB"}


def told(change: Callable[[Records], Records]) -> Files:
    """A daemon and its RV client, to whom it says something else of what was lost."""
    return {
        "B.pcap": (FIXTURES / CLIENT / "B.pcap").read_bytes(),
        "B-client.pcap": spoiled(f"{CLIENT}/B-client.pcap", change),
    }


def _with(old: bytes, new: bytes) -> Callable[[Records], Records]:
    return lambda records: [replace(r, data=r.data.replace(old, new)) for r in records]


def untold() -> Files:
    """Its advisories are of something else."""
    return told(_with(b"DATALOSS", b"DATAGAIN"))


def told_too_much() -> Files:
    """Two lost messages where one was."""
    return told(_with(b"lost1\0\x0c\x04\0\0\0\x01", b"lost1\0\x0c\x04\0\0\0\x02"))


def told_too_soon() -> Files:
    """The second advisory comes half a second behind the first."""
    return told(
        lambda records: [r if n < 53 else r.moved(-500 * MS) for n, r in enumerate(records)]
    )
