"""In which order packets were sent, as their IP ids say: a sender counts them up (replay/README.md
3)."""

from typing import Final

import numpy as np

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.contract.arrow import distinct
from seqaudit.decoders.kernels.loader import Int64s

#: Records of a late stretch, before it, and behind it that are compared.
COMPARED: Final = 200

#: Bytes of a packet that are looked at.
_LOOKED_AT: Final = 96
#: Offset of the IP header by link type; Ethernet has tags between.
_NETWORK: Final = {0: 4, 12: 0, 101: 0, 108: 4, 113: 16, 228: 0, 276: 20}
_ETHERNET: Final = 1
_TAGS: Final = (0x8100, 0x88A8, 0x9100)
_IPV4: Final = 0x0800
_SHORTEST: Final = 24  # an IP header and the ports of TCP
_TCP: Final = 6
_ADDRESSES: Final = np.arange(12, 20)
_PORTS: Final = np.arange(4)
#: Records that are looked at together: stretches near each other are compared with the same ones.
_BLOCK: Final = 2_048


class SentOrder:
    """What the IP ids of some records in a row say of their order."""

    def __init__(self, records: Records, times: Int64s) -> None:
        self._records = records
        self._times = times
        self._looked_at = np.zeros(-(-records.count // _BLOCK), np.bool_)
        self._low, self._high, self._idents = np.zeros((3, records.count), np.int64)

    def votes(self, begin: int, first: int, last: int) -> tuple[int, int]:
        """Flows whose IP ids say that a late stretch was sent after what stands before it, and
        before.

        Of each flow all that is late is compared with all before it, from ``begin`` (the last step)
        on, that has a later time. A network that lets single datagrams pass others speaks for
        either, so most of these pairs decide, and they are more than the datagrams that pass others
        there anyway.

        Args:
            first, last: the late stretch, records of which all but the first ``COMPARED`` say
                nothing.
        """
        behind = min(last + 1, first + COMPARED)
        rows = np.concatenate(
            [
                np.arange(max(begin, first - COMPARED), first),
                np.arange(first, behind),
                np.arange(last + 1, min(last + 1 + COMPARED, len(self._times))),
            ]
        )
        flows, idents = self._identified(rows)
        at = self._times[rows]
        before = slice(0, first - max(begin, first - COMPARED))
        late = slice(before.stop, before.stop + behind - first)
        after = slice(late.stop, len(rows))
        count = len(rows)
        late_ones = late.start + _also(flows[late], flows[before], count)
        early_ones = _also(flows[before], flows[late], count)
        if not len(late_ones):
            return 0, 0
        pairs = flows[late_ones, None] == flows[None, early_ones]
        pairs &= at[late_ones, None] < at[None, early_ones]
        apart = (idents[late_ones, None] - idents[None, early_ones]) & 0xFFFF
        of_flow = flows[late_ones]
        ahead = np.bincount(of_flow, (pairs & (apart > 0x8000)).sum(axis=1), count)
        agreed = (pairs & (apart > 0) & (apart <= 0x8000)).sum(axis=1)
        agreed = np.bincount(of_flow, agreed, count)
        most = np.maximum((agreed + ahead) * 3 / 4, 0.5)
        parts = before, after
        passed = sum(_passing(flows[part], at[part], idents[part], count) for part in parts)
        return (
            int(np.count_nonzero((agreed >= most) & (agreed > passed))),
            int(np.count_nonzero((ahead >= most) & (ahead > passed))),
        )

    def _identified(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """The flows of records, numbered from 0, and their IP ids; -1 where there are none."""
        for block in distinct(rows // _BLOCK).tolist():
            if not self._looked_at[block]:
                self._looked_at[block] = True
                own = slice(block * _BLOCK, min((block + 1) * _BLOCK, len(self._times)))
                self._low[own], self._high[own], self._idents[own] = _counted(self._records, own)
        low, high = self._low[rows], self._high[rows]
        order = np.lexsort((high, low))
        fresh = (np.diff(low[order], prepend=0) != 0) | (np.diff(high[order], prepend=0) != 0)
        flows = np.empty(len(rows), np.int64)
        fresh[:1] = True
        flows[order] = np.cumsum(fresh) - 1
        flows[high < 0] = -1
        return flows, self._idents[rows]


def _also(flows: Int64s, others: Int64s, count: int) -> Int64s:
    """Places of those flows that are among the others, too; they are -1 and numbers below count."""
    there = np.zeros(count + 1, np.bool_)
    there[others] = True
    there[-1] = False
    return np.flatnonzero(there[flows])


def _passing(flows: Int64s, at: Int64s, idents: Int64s, count: int) -> Int64s:
    """Datagrams by flow that came, in time, behind one that was sent after them."""
    order = np.argsort(flows, kind="stable")
    order = order[flows[order] >= 0]
    one, other = order[:-1], order[1:]
    passed = (flows[one] == flows[other]) & (at[one] < at[other])
    passed &= (idents[other] - idents[one]) & 0xFFFF > 0x8000
    return np.bincount(flows[one[passed]], minlength=count)


def _counted(records: Records, rows: slice) -> tuple[Int64s, Int64s, Int64s]:
    """The flows of IPv4 packets, as two numbers of which the second is not below 0, and their ids;
    -1 and 0 where a packet is none, or its sender counts none."""
    data = np.frombuffer(records.data, np.uint8)
    start = records.start[rows]
    captured = np.minimum(records.captured[rows], _LOOKED_AT)

    def byte(at: Int64s) -> Int64s:
        found: Int64s = data[np.minimum(start + at, len(data) - 1)].astype(np.int64)
        return found

    def number(at: Int64s) -> Int64s:
        return byte(at) << 8 | byte(at + 1)

    at = np.full(len(start), -1, np.int64)
    link = records.link[rows]
    for kind, offset in _NETWORK.items():
        at[link == kind] = offset
    ethernet = link == _ETHERNET
    if ethernet.any():
        at[ethernet] = 12
        tagged = ethernet
        while (tagged := tagged & (captured > at + 4) & np.isin(number(at), _TAGS)).any():
            at[tagged] += 4
        at[ethernet & ((captured < at + 2) | (number(at) != _IPV4))] = -3
        at[ethernet] += 2
    size = captured - at
    counted = (at >= 0) & (size >= _SHORTEST)
    at[~counted] = 0
    idents = number(at + 4)
    counted &= (byte(at) >> 4 == 4) & (idents != 0) & (number(at + 6) & 0x1FFF == 0)
    ports_at = 4 * (byte(at) & 15)
    protocol = byte(at + 9)
    ports = np.where(protocol == _TCP, np.clip(size - ports_at, 0, 4), 0)
    addresses = data[np.minimum((start + at)[:, None] + _ADDRESSES, len(data) - 1)]
    of_ports = data[np.minimum((start + at + ports_at)[:, None] + _PORTS, len(data) - 1)]
    of_ports[ports[:, None] <= _PORTS] = 0
    low = np.ascontiguousarray(addresses).view(np.int64).ravel()
    high = of_ports.copy().view(np.uint32).ravel().astype(np.int64) << 16 | protocol << 8 | ports
    return low, np.where(counted, high, -1), np.where(counted, idents, 0)
