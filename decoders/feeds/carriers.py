"""Feeds that UDP does not carry: IP itself does (ESP), or Ethernet (PTP) (decoders/README.md 5).

The packet reader leaves them as IP of no known kind, or as no IP. Here those of a feed's protocol
or type are given to a feed decoder of their own, in which that number stands for both ports. A
packet in fragments is known by its first one, which has its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.event_columns import grouped
from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.contract.feed_layout import Feed
from seqaudit.decoders.contract.settings import FEED, DecodeSettings
from seqaudit.decoders.feeds.datagrams import FeedDecoder
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.network.packets import ETHERNET, Datagrams, FrameOutcome, Packets

#: Bytes of an Ethernet header in front of its type, and of tags that may follow it with another:
#: VLANs, HSR, 802.1CB.
ADDRESSES: Final = 12
TAGS: Final = ((0x8100, 4), (0x88A8, 4), (0x9100, 4), (0x892F, 6), (0xF1C1, 6))
MOST_TAGS: Final = 4

Raw = npt.NDArray[np.uint8]


def carriers_of(settings: DecodeSettings, account: Account) -> list[OverIp | OverEthernet]:
    """The feeds of one piece that are carried by IP itself, or by Ethernet. Each has rows that have
    ended from ``feed``; frames that are a feed's are accounted for as its."""
    feeds = settings.feeds if FEED not in settings.no_decode else ()
    carriers: list[OverIp | OverEthernet] = []
    if over_ip := [feed for feed in feeds if feed.protocol]:
        carriers.append(OverIp(settings, over_ip, account))
    if over_ethernet := [feed for feed in feeds if feed.ethertype]:
        carriers.append(OverEthernet(settings, over_ethernet, account))
    return carriers


class OverIp:
    """Packets of IP protocols."""

    def __init__(self, settings: DecodeSettings, feeds: Sequence[Feed], account: Account) -> None:
        self._account = account
        self._protocols = sorted({feed.protocol for feed in feeds})
        self.decoder = FeedDecoder(replace(settings, feeds=tuple(feeds)))

    def feed(self, packets: Packets) -> list[pa.RecordBatch]:
        columns = packets.columns
        ours = (columns[k.STATE] == k.NOT_UDP) & np.isin(columns[k.PROTOCOL], self._protocols)
        rows = np.flatnonzero(ours & (columns[k.FRAGMENT] <= 1))  # no fragment, or the first
        if not len(rows):
            return []
        protocol = columns[k.PROTOCOL][rows]
        datagrams = packets.datagrams_of(rows, source_port=protocol, destination_port=protocol)
        batches = self.decoder.decode(datagrams)
        taken = np.flatnonzero(datagrams.outcome != FrameOutcome.NOT_CLAIMED)
        if len(taken):
            sizes = packets.record_column("original")[rows[taken]]
            self._account.hand_over(columns[k.FLOW][rows[taken]], sizes)
            _count(self._account, packets, rows[taken], datagrams, taken)
        return batches


class OverEthernet:
    """Frames without IP; their addresses are numbered here."""

    def __init__(self, settings: DecodeSettings, feeds: Sequence[Feed], account: Account) -> None:
        self._account = account
        self._types = sorted({feed.ethertype for feed in feeds})
        self._hosts: list[str] = []
        self._numbers: dict[int, int] = {}
        self.decoder = FeedDecoder(replace(settings, feeds=tuple(feeds)))

    def feed(self, packets: Packets) -> list[pa.RecordBatch]:
        frame, start = packets.record_column("frame"), packets.record_column("start")
        stop = start + packets.record_column("captured")
        ours = (packets.columns[k.STATE] == k.NOT_IP) & (packets.record_column("link") == ETHERNET)
        rows = np.flatnonzero(ours & (frame > 0))
        if not len(rows):
            return []
        raw = np.frombuffer(packets.datagrams.data, np.uint8)
        kind, at = _type_of(raw, start[rows], stop[rows])
        wanted = np.isin(kind, self._types)
        rows, kind, at = rows[wanted], kind[wanted], at[wanted]
        if not len(rows):
            return []
        destination = self._numbered(raw, start[rows])
        source = self._numbered(raw, start[rows] + 6)
        if len(self._hosts) > k.HOSTS:  # numbers mean something else from here on
            self._hosts, self._numbers = [], {}
            destination = self._numbered(raw, start[rows])
            source = self._numbered(raw, start[rows] + 6)
        length = packets.record_column("original")[rows] - (at - start[rows])
        cut = stop[rows] - at < length
        group = (raw[start[rows]] & 1).astype(np.int64)
        datagrams = packets.datagrams_of(
            rows,
            hosts=self._hosts,
            start=at,
            stop=stop[rows],
            length=np.maximum(length, stop[rows] - at),
            source=source,
            destination=destination,
            source_port=kind,
            destination_port=kind,
            ip_id=np.full(len(rows), -1, np.int64),
            flags=group * int(Flag.MULTICAST)
            | cut.astype(np.int64) * int(Flag.CUT)
            | packets.column(k.FLAGS)[rows] & int(Flag.ALIKE),
            protocol=None,
        )
        batches = self.decoder.decode(datagrams)
        taken = np.flatnonzero(datagrams.outcome != FrameOutcome.NOT_CLAIMED)
        if len(taken):
            self._account.count(FrameOutcome.OTHER, -len(taken))
            _count(self._account, packets, rows[taken], datagrams, taken)
        return batches

    def _numbered(self, raw: Raw, at: Int64s) -> Int64s:
        """The numbers of the addresses that stand at these places."""
        words = np.zeros(len(at), np.int64)
        for place in range(6):
            words = words << 8 | raw[at + place]
        distinct, which = np.unique(words, return_inverse=True)
        numbers = []
        for word in distinct.tolist():
            number = self._numbers.get(word)
            if number is None:
                number = self._numbers[word] = len(self._hosts)
                self._hosts.append(":".join(f"{byte:02x}" for byte in word.to_bytes(6, "big")))
            numbers.append(number)
        return np.array(numbers, np.int64)[which]


def _type_of(raw: Raw, start: Int64s, stop: Int64s) -> tuple[Int64s, Int64s]:
    """What Ethernet frames carry, behind tags, and where it begins; -1: it is not there."""
    at = start + ADDRESSES
    kind = np.full(len(at), -1, np.int64)
    for _ in range(MOST_TAGS + 1):
        there = at + 2 <= stop
        safe = np.where(there, at, 0)
        kind = np.where(there, raw[safe].astype(np.int64) << 8 | raw[safe + 1], -1)
        size = np.zeros(len(at), np.int64)
        for tag, bytes_of_tag in TAGS:
            size[kind == tag] = bytes_of_tag
        if not size.any():
            break
        at = at + size
    return kind, at + 2


def _count(
    account: Account, packets: Packets, rows: Int64s, datagrams: Datagrams, taken: Int64s
) -> None:
    """Account for packets that are a feed's: these rows, and the same as datagrams."""
    sizes = packets.record_column("original")[rows]
    ids = datagrams.ip_id[taken] >= 0
    account.add_twice(packets.column(k.FLAGS)[rows], ids, ~ids)
    for outcome, count in enumerate(np.bincount(datagrams.outcome[taken]).tolist()):
        if count:
            account.count(FrameOutcome(outcome), count)
    # what stands for a port is the number of a protocol or an Ethernet type, of 16 bits at most
    ends, which = grouped(datagrams.destination[taken] << 16 | datagrams.destination_port[taken])
    totals = np.zeros(len(ends), np.int64)
    np.add.at(totals, which, sizes)
    for end, count, size in zip(
        ends.tolist(), np.bincount(which).tolist(), totals.tolist(), strict=True
    ):
        host = datagrams.hosts[end >> 16]
        account.add_endpoint(end & 0xFFFF, host, 0, FEED, count, size)
