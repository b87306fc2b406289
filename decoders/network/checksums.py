"""What checksums say: which bytes are not those that were sent (decoders/README.md 6).

A checksum that is wrong may have been damaged with its packet, or never made: a sender's card makes
it behind the place of capture. One packet cannot tell; the others of its sender can, and they are
in all pieces of a capture. So a piece counts by sender (``ChecksumCheck``), what all counted is
judged in one place (``verdict``), and a capture that holds damage is decoded again, with the
senders named: then their packets with a wrong checksum are no packets.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

import numpy as np

from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import checksum_kernels as sums
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.packets import Flows, PacketReader, Packets

#: So many right ones say that a sender makes checksums: by chance one of 65,535 is right.
SEVERAL: Final = 3

#: Senders of a capture whose checksums are counted: those whose addresses, as text, come first,
#: which are the same ones whatever pieces the capture is cut into.
SENDERS: Final = 16_384

#: In place of UDP: what came in fragments. Systems sum such datagrams themselves where a card does
#: it for all others. The number is that of the IPv6 header.
FRAGMENTED: Final = 44

#: Address and IP protocol, or FRAGMENTED.
Sender = tuple[str, int]


@dataclass(slots=True)
class ChecksumCounts:
    """Packets of a sender by what their checksums are.

    Attributes:
        bare, right: of known systems, without one that was made and with the right one.
        wrong: of whatever, as nobody may know a damaged one.
        speaks: it has sent something of a known system.
    """

    bare: int = 0
    right: int = 0
    wrong: int = 0
    speaks: bool = False

    def add(self, other: "ChecksumCounts") -> None:
        """Those of another piece."""
        self.bare += other.bare
        self.right += other.right
        self.wrong += other.wrong
        self.speaks = self.speaks or other.speaks


Senders = dict[Sender, ChecksumCounts]


def rows_of(senders: Senders) -> list[tuple[str, int, int, int, int, int]]:
    """As an ACCOUNT row carries them."""
    kept = nsmallest(SENDERS, senders.items(), key=lambda item: item[0])
    return [(*sender, one.bare, one.right, one.wrong, int(one.speaks)) for sender, one in kept]


@dataclass(frozen=True, slots=True)
class ChecksumTrust:
    """What the checksums of a capture are worth.

    Attributes:
        damaged: senders whose packets are damaged where their checksum is wrong, and there are any.
        unclear: those whose checksums are wrong mostly and right too often for chance.
        untold: something is damaged, and of packets of these senders nobody can tell.
    """

    damaged: frozenset[Sender] = frozenset()
    unclear: frozenset[Sender] = frozenset()
    untold: frozenset[Sender] = frozenset()


def verdict(senders: Mapping[Sender, ChecksumCounts]) -> ChecksumTrust:
    """Judge what all pieces of a capture have counted together.

    Where some of the checksums of a sender are right it makes them, and where most are, a wrong one
    is damage. Where next to none is right nobody makes them. Too few say nothing by themselves; but
    in a capture that is damaged elsewhere they are not believed: an address may be what is damaged.
    """
    known = {sender: one for sender, one in senders.items() if one.speaks}
    made = {s for s, one in known.items() if one.right >= max(SEVERAL, one.wrong)}
    damaged = {s for s in made if known[s].wrong}
    unclear = {s for s, one in known.items() if SEVERAL <= one.right < one.wrong}
    if not damaged:
        return ChecksumTrust(unclear=frozenset(unclear))
    few = {s for s, one in known.items() if one.wrong and one.right + one.wrong < SEVERAL}
    untold = {s for s, one in known.items() if one.bare or (one.wrong and s not in damaged | few)}
    return ChecksumTrust(frozenset(damaged | few), frozenset(unclear), frozenset(untold))


def united(parts: Iterable[Iterable[tuple[str, int, int, int, int, int]]]) -> Senders:
    """What several accounts have counted (``rows_of``)."""
    senders: Senders = {}
    for part in parts:
        for address, protocol, bare, right, wrong, speaks in part:
            one = ChecksumCounts(bare, right, wrong, bool(speaks))
            senders.setdefault((address, protocol), ChecksumCounts()).add(one)
    return dict(nsmallest(SENDERS, senders.items(), key=lambda item: item[0]))


@dataclass(slots=True)
class _Sums:
    """Datagrams of one protocol that a piece has counted by sender, as numbers of addresses.

    Attributes:
        kind: as ``Sender`` has it.
        wrong: per address.
        claimed: per address and mark.
    """

    kind: int
    wrong: Int64s
    claimed: Int64s


class ChecksumCheck:
    """Verifies the packets of a piece and counts them by sender.

    Args:
        damaged: senders whose packets are damaged where their checksum is wrong.
        fragmented: datagrams are those that came in fragments.
    """

    def __init__(self, damaged: Collection[Sender] = (), *, fragmented: bool = False) -> None:
        self._damaged = damaged
        # no card makes the sums of PGM
        self._kinds = {sums.UDP: FRAGMENTED if fragmented else sums.UDP, sums.PGM: sums.PGM}
        self._flows: Flows | None = None
        self._sums: dict[int, _Sums] = {}  # by protocol
        self._unkept = kernels.memory(k.HOSTS)
        self._marks = np.zeros(0, np.int64)
        self._senders: Senders = {}

    def judged(self, reader: PacketReader, packets: Packets) -> Packets:
        """Count datagrams of UDP and PGM; what is damaged is none any more.

        Args:
            reader: that has just read the packets.
        """
        if packets.flows is not self._flows:
            self._fold()
            self._flows = packets.flows
        marks = np.zeros(len(packets.rows), np.int64)
        damaged = []
        for protocol in self._protocols(packets):
            found = verified(packets, packets.rows, protocol, self._of(protocol).wrong)
            damaged.append((packets.rows[found == sums.WRONG], self._kinds[protocol]))
            marks |= found  # of other protocols none is judged
        self._marks = marks
        if not self._damaged:
            return packets
        rows = np.flatnonzero(packets.columns[k.PROTOCOL] == sums.TCP)
        segments = verified(packets, rows, sums.TCP, self._unkept)
        damaged.append((rows[segments == sums.WRONG], sums.TCP))
        theirs = np.concatenate([self._damaged_of(packets, *wrong) for wrong in damaged])
        if not len(theirs):
            return packets
        packets.columns[k.STATE][theirs] = k.DAMAGED
        self._marks = marks[packets.columns[k.STATE][packets.rows] != k.DAMAGED]
        return reader.again(packets)

    def note(self, packets: Packets, claimed: Int64s | int) -> None:
        """Count what was sent of known systems.

        Args:
            claimed: per row of ``packets.datagrams``, the number of the system or -1.
        """
        if isinstance(claimed, int) and claimed < 0:
            return
        protocols = packets.of_datagrams(k.PROTOCOL)
        for protocol, counted in self._sums.items():
            rows = np.flatnonzero((protocols == protocol) & (claimed >= 0))
            place = packets.datagrams.source[rows] * sums.MARKS + self._marks[rows]
            counts = np.bincount(place).astype(np.int64)
            counted.claimed.reshape(-1)[: len(counts)] += counts

    def add_to(self, senders: Senders) -> None:
        """Give back what was counted."""
        self._fold()
        for sender, one in self._senders.items():
            senders.setdefault(sender, ChecksumCounts()).add(one)
        self._senders = {}

    @staticmethod
    def _protocols(packets: Packets) -> Iterable[int]:
        """Those of datagrams that there may be."""
        is_there = (packets.of_datagrams(k.PROTOCOL) == sums.PGM).any()
        return (sums.UDP, sums.PGM) if is_there else (sums.UDP,)

    def _of(self, protocol: int) -> _Sums:
        counted = self._sums.get(protocol)
        if counted is None:
            claimed = np.zeros((k.HOSTS, sums.MARKS), np.int64)
            counted = _Sums(self._kinds[protocol], kernels.memory(k.HOSTS), claimed)
            self._sums[protocol] = counted
        return counted

    def _damaged_of(self, packets: Packets, wrong: Int64s, kind: int) -> Int64s:
        """Those rows that are wrong and of a sender that makes checksums."""
        source = packets.columns[k.SOURCE][wrong]
        hosts = packets.flows.hosts
        theirs = [one for one in np.unique(source) if (hosts[one], kind) in self._damaged]
        found: Int64s = wrong[np.isin(source, theirs)]
        return found

    def _fold(self) -> None:
        """Name the senders counted so far."""
        if self._flows is None:
            return
        hosts = self._flows.hosts
        for counted in self._sums.values():
            wrong = counted.wrong[: len(hosts)]
            claimed = counted.claimed[: len(hosts)]
            speaks = claimed.sum(axis=1) > 0
            for number in np.flatnonzero(speaks | (wrong > 0)).tolist():
                bare, right = claimed[number, [sums.BARE, sums.RIGHT]].tolist()
                one = ChecksumCounts(bare, right, int(wrong[number]), bool(speaks[number]))
                self._senders.setdefault((hosts[number], counted.kind), ChecksumCounts()).add(one)
            wrong[:] = 0
            claimed[:] = 0


def verified(packets: Packets, rows: Int64s, protocol: int, counts: Int64s) -> Int64s:
    """A mark a row (``checksum_kernels``).

    Args:
        rows: of ``packets.columns``.
        protocol: UDP, TCP or PGM.
        counts: of those that are WRONG by address, added to.
    """
    compile_it = packets.datagrams.compile_it
    marks = np.empty(len(rows), np.int64)
    arrays = packets.out, packets.flows.table_of_hosts(), counts, marks
    out, hosts, totals, found = (kernels.argument(a, compile_it=compile_it) for a in arrays)
    kernels.kernel("network.checksum_kernels", compile_it=compile_it).verify(
        kernels.data_argument(packets.records.data, compile_it=compile_it),
        kernels.argument(rows, compile_it=compile_it),
        len(rows),
        protocol,
        out,
        packets.room,
        hosts,
        totals,
        found,
    )
    return marks
