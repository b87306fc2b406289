"""Datagrams for the feed decoder without a capture around them, and its rows as dictionaries."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.contract.feed_layout import Feed
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.feeds.datagrams import FeedDecoder
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from tests.decoders.feeds.naive import NaiveFeeds, Packet

GROUP = ("239.1.0.1", 26400)
SENDER = ("10.0.0.1", 5000)
OUTCOMES = {
    FrameOutcome.NOT_CLAIMED: "other",
    FrameOutcome.DECODED: "decoded",
    FrameOutcome.MALFORMED: "malformed",
    FrameOutcome.TRUNCATED: "truncated",
}
#: Columns that the naive model does not repeat.
_LEFT_OUT = {"capture", "system", "carrier"}


def mold(session: str = "S1", seqno: int = 1, messages: Sequence[bytes] = (), **more: Any) -> bytes:
    """A MoldUDP64 packet; ``count`` overrides the number of messages."""
    count = more.get("count", len(messages))
    header = session.ljust(10).encode() + struct.pack(">QH", seqno, count)
    return header + b"".join(struct.pack(">H", len(m)) + m for m in messages)


def rtp(seqno: int, stamp: int = 0, ssrc: int = 7, payload_type: int = 0) -> bytes:
    """An RTP packet (RFC 3550 5.1) with some payload."""
    return struct.pack(">BBHII", 0x80, payload_type, seqno, stamp, ssrc) + bytes(20)


def datagrams(
    packets: Sequence[Packet | None], hosts: list[str], *, first: int = 1, compile_it: bool = False
) -> Datagrams:
    """Packets as the packet reader hands them over; None is a barrier."""

    def number(address: str) -> int:
        if address not in hosts:
            hosts.append(address)
        return hosts.index(address)

    data = bytearray(b"\xee" * 7)
    columns: dict[str, list[int]] = {
        name: [] for name in (
            "frame", "at_ns", "start", "stop", "length", "source", "destination", "source_port",
            "destination_port", "ip_id", "flags", "barrier", "outcome",
        )
    }  # fmt: skip
    for frame, packet in enumerate(packets, first):
        barrier = packet is None
        packet = packet or Packet(SENDER, GROUP, b"")
        start = len(data)
        data += packet.payload
        values = (
            frame, packet.at_ns, start, len(data), packet.length, number(packet.source[0]),
            number(packet.destination[0]), packet.source[1], packet.destination[1], packet.ip_id,
            int(packet.flags), int(barrier), 0,
        )  # fmt: skip
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
        data += b"\xee" * 3
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    return Datagrams(bytes(data), compile_it, 0, 0, hosts, **arrays)


def decoded(
    feeds: Sequence[Feed], chunks: Sequence[Sequence[Packet | None]], *, compile_it: bool = False
) -> tuple[list[dict[str, Any]], list[str], dict[str, Any]]:
    """Rows in the order of the job, outcomes of the packets, and the account."""
    decoder = FeedDecoder(DecodeSettings(feeds=tuple(feeds)))
    hosts: list[str] = []
    batches: list[pa.RecordBatch] = []
    outcomes: list[str] = []
    first = 1
    for chunk in chunks:
        part = datagrams(chunk, hosts, first=first, compile_it=compile_it)
        batches += decoder.decode(part)
        outcomes += [
            OUTCOMES[FrameOutcome(value)]
            for value, packet in zip(part.outcome.tolist(), chunk, strict=True)
            if packet is not None
        ]
        first += len(chunk)
    batches += decoder.finish()
    rows = pa.Table.from_batches(batches, EVENTS).to_pylist()
    return sorted_rows(rows), outcomes, decoder.account()


def sorted_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [{key: row[key] for key in row if key not in _LEFT_OUT} for row in rows]
    return sorted(kept, key=lambda r: (r["conversation"], r["frame"], r["index"], r["stream"]))


def expected(
    feeds: Sequence[Feed], packets: Sequence[Packet | None]
) -> tuple[list[dict[str, Any]], list[str], dict[str, dict[str, int]]]:
    """The same from the naive model."""
    model = NaiveFeeds(tuple(feeds))
    outcomes = []
    for frame, packet in enumerate(packets, 1):
        if packet is None:
            model.barrier()
        else:
            outcomes.append(model.take(frame, packet))
    model.finish()
    rows = [{k: v for k, v in row.items() if k not in ("aside", "by")} for row in model.rows]
    counts = {
        f"feed {name}": {n: c for n, c in by.items() if c} for name, by in model.counts.items()
    }
    return sorted_rows(rows), outcomes, {name: by for name, by in counts.items() if by}
