"""Feeds that IP carries without UDP, such as ESP: packets as datagrams (decoders/README.md 5).

The packet reader leaves them as IP of no known kind. Here those of a feed's protocol are given to a
feed decoder of their own, in which the protocol's number stands for both ports. A packet in
fragments is known by its first one, which has its numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.feeds.datagrams import SYSTEM, FeedDecoder
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.network.packets import Outcome, Packets


class IpFeeds:
    """The feeds of one piece that are carried by IP itself."""

    def __init__(self, settings: DecodeSettings, account: Account) -> None:
        feeds = tuple(feed for feed in settings.feeds if feed.protocol)
        wanted = feeds and SYSTEM not in settings.no_decode
        self._account = account
        self._protocols = sorted({feed.protocol for feed in feeds})
        self._decoder = FeedDecoder(replace(settings, feeds=feeds)) if wanted else None

    def feed(self, packets: Packets) -> list[pa.RecordBatch]:
        """The rows that have ended; frames that are a feed's are accounted for as its."""
        if self._decoder is None or packets.only_datagrams:
            return []
        columns = packets.columns
        ours = (columns[k.STATE] == k.NOT_UDP) & np.isin(columns[k.PROTOCOL], self._protocols)
        rows = np.flatnonzero(ours & (columns[k.FRAGMENT] <= 1))  # no fragment, or the first
        if not len(rows):
            return []
        datagrams = replace(
            packets.datagrams,
            frame=packets.record_column("frame")[rows],
            at_ns=packets.record_column("at_ns")[rows],
            start=columns[k.START][rows],
            stop=columns[k.STOP][rows],
            length=columns[k.LENGTH][rows],
            source=columns[k.SOURCE][rows],
            destination=columns[k.DESTINATION][rows],
            source_port=columns[k.PROTOCOL][rows],
            destination_port=columns[k.PROTOCOL][rows],
            ip_id=columns[k.IP_ID][rows],
            flags=columns[k.FLAGS][rows],
            barrier=np.zeros(len(rows), np.int64),
            outcome=np.zeros(len(rows), np.int64),
        )
        batches = self._decoder.decode(datagrams)
        self._count(packets, rows, datagrams.outcome)
        return batches

    def finish(self) -> list[pa.RecordBatch]:
        """End all runs."""
        return [] if self._decoder is None else self._decoder.finish()

    def accounts(self) -> list[dict[str, object]]:
        return [] if self._decoder is None else [self._decoder.account()]

    def _count(self, packets: Packets, rows: np.ndarray, outcome: np.ndarray) -> None:
        taken = np.flatnonzero(outcome != Outcome.NOT_CLAIMED)
        if not len(taken):
            return
        sizes = packets.record_column("original")[rows]
        self._account.hand_over(packets.columns[k.FLOW][rows[taken]], sizes[taken])
        hosts = packets.datagrams.hosts
        for at in taken.tolist():
            row = int(rows[at])
            self._account.count(Outcome(int(outcome[at])), 1)
            self._account.add_endpoint(
                int(packets.columns[k.PROTOCOL][row]),
                hosts[int(packets.columns[k.DESTINATION][row])],
                0,
                SYSTEM,
                1,
                int(sizes[at]),
            )
