"""IP fragments as rows: SEGMENT rows between the first stage and the second (decoders/README.md 3).

A row holds the fragment's bytes in ``payload``, what its headers say in ``detail`` and its
datagram's identity in ``carrier``. Rows without ``detail`` hold prints of datagrams that are whole.
"""

import json
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.event_columns import event_batch
from seqaudit.decoders.contract.events import FRAME_BITS, NO_CONVERSATION, ByName, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import CAPTURE_SYSTEM, OUTGOING
from seqaudit.decoders.network.copies import NO_PRINT, Prints, prints_of
from seqaudit.decoders.network.ip_datagram import Fragment
from seqaudit.decoders.network.packets import Packets

#: Carrier of all fragments of a capture in which some came in others or hold segments of TCP, and
#: of all segments of such connections.
TOGETHER: Final = "ip"
#: ``wire_kind`` of rows of prints.
PRINTS: Final = "PRINTS"


def segment_batch(packets: Packets, settings: DecodeSettings) -> pa.RecordBatch:
    """The SEGMENT rows of the fragments among ``packets``.

    Where they meet in one place (``DecodeSettings.puts_together``), all have one carrier, and each
    says of which datagram it is.
    """
    rows = packets.fragments
    records = rows + packets.first
    split = packets.datagrams.split << FRAME_BITS
    capture = packets.datagrams.capture
    carriers, facts, payloads = described(
        packets, rows, tunnels=settings.chosen_of(capture).tunnels
    )
    if settings.puts_together(capture):
        named = zip(facts, carriers, strict=True)
        facts = [own | {"datagram": carrier} for own, carrier in named]
        carriers = [TOGETHER] * len(carriers)
    details = [json.dumps(own, separators=(",", ":")) for own in facts]
    count = len(rows)
    frame = packets.records.frame[records] | split
    at_ns = packets.records.at_ns[records]
    zeros = np.zeros(count, np.int64)
    return event_batch(
        count,
        {
            "capture": zeros + capture,
            "frame": frame,
            "index": zeros,
            "last_frame": frame,
            "at_ns": at_ns,
            "last_at_ns": at_ns,
            "system": pa.array([CAPTURE_SYSTEM] * count),
            "carrier": pa.array(carriers),
            "conversation": pa.array([NO_CONVERSATION] * count),
            "kind": np.full(count, int(Kind.SEGMENT), np.int16),
            "wire_kind": pa.array(["FRAGMENT"] * count),
            "count": zeros + 1,
            "flags": packets.columns[k.FLAGS][rows],
            "size": packets.columns[k.LENGTH][rows],
            "fresh_id": packets.columns[k.IP_ID][rows],
            "last_fresh_id": packets.columns[k.IP_ID][rows],
            "detail": pa.array(details),
            "payload": pa.array(payloads, pa.binary()),
        },
    )


def prints_batch(prints: Prints) -> pa.RecordBatch:
    """The SEGMENT row of some prints: they meet the fragments where these are put together."""
    first, last = [0], [-1]
    return event_batch(
        1,
        {
            "capture": [prints.capture],
            "frame": prints.frame[first],
            "index": [0],
            "last_frame": prints.frame[last],
            "at_ns": prints.at_ns[first],
            "last_at_ns": prints.at_ns[last],
            "system": pa.array([CAPTURE_SYSTEM]),
            "carrier": pa.array([prints.carrier]),
            "conversation": pa.array([NO_CONVERSATION]),
            "kind": np.array([Kind.SEGMENT], np.int16),
            "wire_kind": pa.array([PRINTS]),
            "count": [len(prints.frame)],
            "payload": pa.array([prints.packed()], pa.binary()),
        },
    )


def prints_in(packets: Packets) -> Prints | None:
    """Those of the datagrams among ``packets``; whose they are may be known later only."""
    datagrams = packets.datagrams
    rows = np.flatnonzero((datagrams.barrier == 0) & (datagrams.frame > 0))
    told = prints_of(datagrams, rows)
    rows, told = rows[told != NO_PRINT], told[told != NO_PRINT]
    if not len(rows):
        return None
    frame = datagrams.frame[rows] | datagrams.split << FRAME_BITS
    return Prints(datagrams.capture, TOGETHER, frame, datagrams.at_ns[rows], told)


def fragments_of(packets: Packets, settings: DecodeSettings, rows: Int64s) -> Iterator[Fragment]:
    """Fragments among ``packets``, for who puts them together where they are.

    Args:
        rows: which, as in ``Packets.fragments``.
    """
    if not len(rows):
        return
    capture, split = packets.datagrams.capture, packets.datagrams.split << FRAME_BITS
    records = rows + packets.first
    frames, times = (
        column[records].tolist() for column in (packets.records.frame, packets.records.at_ns)
    )
    told = described(packets, rows, tunnels=settings.chosen_of(capture).tunnels)
    for frame, at_ns, carrier, facts, payload in zip(frames, times, *told, strict=True):
        yield Fragment(capture, carrier, frame | split, at_ns, facts, payload)


def described(
    packets: Packets, rows: Int64s, *, tunnels: bool
) -> tuple[list[str], list[ByName], list[bytes]]:
    """Datagrams, facts (``Fragment``) and payloads of fragments among ``packets``.

    Args:
        rows: which, as in ``Packets.fragments``.
        tunnels: those in networks that tunnels number are no part of datagrams outside.
    """
    records = rows + packets.first
    hosts = packets.datagrams.hosts
    data = packets.datagrams.data
    kept = (
        k.SOURCE, k.DESTINATION, k.PROTOCOL, k.IP_ID, k.FRAGMENT, k.LENGTH, k.TTL, k.PACKET_TYPE,
        k.START, k.STOP, k.NETWORK, k.TUNNEL,
    )  # fmt: skip
    fields = [packets.columns[field][rows].tolist() for field in kept]
    frames = packets.records.original, packets.records.captured, packets.records.link
    fields += [column[records].tolist() for column in frames]
    names = {number: hosts[number] for number in {*fields[0], *fields[1]}}
    carriers: list[str] = []
    told: list[ByName] = []
    payloads: list[bytes] = []
    for row in zip(*fields, strict=True):
        source, destination, protocol, ip_id, place, length, ttl, packet_type, *more = row
        start, stop, network, tunnel, wire, captured, link = more
        from_host, to_host = names[source], names[destination]
        version = 6 if ":" in from_host else 4
        inside = f"|{network}" if tunnels and network >> k.KEY_KIND else ""
        carriers.append(
            f"ip|{from_host}|{to_host}|{'ipv6' if version == 6 else protocol}|{ip_id}{inside}"
        )
        facts: ByName = {
            "version": version,
            "source": from_host,
            "destination": to_host,
            "protocol": protocol,
            "id": ip_id,
            "offset": place >> 1,
            "more": place & 1,
            "length": length,
            "ttl": ttl,
            "outgoing": int(packet_type == OUTGOING),
            "wire": wire,
            "captured": captured,
            "link": link,
        }
        if network:
            facts["network"] = network
        if tunnel:
            facts["tunnel"] = tunnel
        told.append(facts)
        payloads.append(bytes(data[start:stop]))
    return carriers, told, payloads


def read_segments(segments: pa.RecordBatch) -> Iterator[Fragment | Prints]:
    """The fragments and prints that SEGMENT rows are."""
    names = ("capture", "carrier", "frame", "at_ns", "detail", "payload")
    columns = (segments.column(name).to_pylist() for name in names)
    for capture, carrier, frame, at_ns, detail, payload in zip(*columns, strict=True):
        if detail is None:
            yield Prints.read(capture, carrier, payload)
        else:
            yield Fragment(capture, carrier, frame, at_ns, json.loads(detail), payload)
