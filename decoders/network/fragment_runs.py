"""Fragments that came one behind the other, as they do where nothing goes wrong, found by columns.

A *run* is all that a chunk of a capture holds of one datagram, if that is each byte between two
places once and in order. What becomes of it is the same as if its fragments had come one by one.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from seqaudit.decoders.contract.events import FRAME_BITS
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import OUTGOING
from seqaudit.decoders.network.fragment_rows import fragments_of
from seqaudit.decoders.network.ip_datagram import (
    TIMEOUT_NS,
    FragmentRun,
    FrameSums,
    fragment_prints,
)
from seqaudit.decoders.network.packets import Packets

#: What is the same of all fragments of a run, beside the ends and the id.
_SHARED: Final = (k.PROTOCOL, k.NETWORK, k.TUNNEL)


def runs_of(packets: Packets, settings: DecodeSettings) -> Iterator[FragmentRun]:
    """Those of two fragments or more among ``packets``, in no order."""
    rows = packets.fragments
    if len(rows) < 2:
        return
    ends = packets.columns[k.SOURCE][rows] << 16 | packets.columns[k.DESTINATION][rows]
    named = ends << 32 | packets.columns[k.IP_ID][rows]
    order = np.argsort(named, kind="stable")
    rows, named = rows[order], named[order]
    first = np.append(True, named[1:] != named[:-1])
    begins = np.flatnonzero(first)
    records = rows + packets.first
    frame, at_ns, link, wire, captured = (
        column[records]
        for column in (
            packets.records.frame, packets.records.at_ns, packets.records.link,
            packets.records.original, packets.records.captured,
        )
    )  # fmt: skip
    place, length, start, stop, ttl, kind = (
        packets.columns[field][rows]
        for field in (k.FRAGMENT, k.LENGTH, k.START, k.STOP, k.TTL, k.PACKET_TYPE)
    )
    offset = place >> 1
    follows = np.append(0, (offset + length)[:-1])
    follows[begins] = offset[begins]
    last = np.append(first[1:], True)
    orderly = (offset == follows) & (last | (place & 1 == 1)) & (length > 0)
    orderly &= stop - start == length
    sizes = np.diff(np.append(begins, len(rows)))
    began = np.repeat(at_ns[begins], sizes)
    orderly &= np.abs(at_ns - began) <= TIMEOUT_NS
    for shared in (link, *(packets.columns[field][rows] for field in _SHARED)):
        orderly &= first | np.append(True, shared[1:] == shared[:-1])
    found = np.logical_and.reduceat(orderly, begins) & (sizes > 1)
    if not found.any():
        return
    heads = fragments_of(packets, settings, rows[begins[found]])
    prints = fragment_prints(packets.datagrams.data, offset, start, length)
    split = packets.datagrams.split
    data = memoryview(packets.datagrams.data)
    summed = (
        column[found].tolist()
        for column in (
            np.add.reduceat(captured, begins), np.add.reduceat(wire, begins),
            np.add.reduceat(length, begins), np.maximum.reduceat(length, begins),
            np.minimum.reduceat(at_ns, begins), np.maximum.reduceat(at_ns, begins),
            np.minimum.reduceat(ttl, begins), np.maximum.reduceat(ttl, begins),
            np.logical_or.reduceat(kind == OUTGOING, begins), link[begins], begins, begins + sizes,
        )
    )  # fmt: skip
    for head, *sums, low, high, outgoing, its_link, begin, end in zip(heads, *summed, strict=True):
        in_frames, on_wire, total, longest, earliest, latest = sums
        parts = zip(start[begin:end].tolist(), stop[begin:end].tolist(), strict=True)
        yield FragmentRun(
            first=head,
            rows=rows[begin:end],
            frame=int(frame[end - 1]) | split << FRAME_BITS,
            at_ns=int(at_ns[end - 1]),
            stop=head.start + total,
            more=bool(place[end - 1] & 1),
            body=b"".join([data[low:high] for low, high in parts]),
            longest=longest,
            sums=FrameSums(
                end - begin, in_frames, on_wire, {earliest, latest}, {its_link: end - begin}
            ),
            low_ttl=low,
            high_ttl=high,
            outgoing=outgoing,
            prints=set(prints[begin:end].tolist()),
        )
