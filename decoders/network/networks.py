"""Networks of numbers of their own in one capture: VLANs, and what VXLAN, GENEVE and GRE number
(decoders/README.md 7).

A number alone says little: a mirror may number directions, and a router carries one packet from a
VLAN into the next. Where the same ends speak in two networks and what they say is not the same,
they are others, and the capture is decoded again, each such network by itself: ``separated`` says
which.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.contract.networks import Chosen
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account_rows import PieceNetworks
from seqaudit.decoders.network.packets import PacketReader, Packets
from seqaudit.decoders.network.tunnels import tunnel_name

#: Flows that are compared: of more those whose numbers end in most zeros, which are the same ones
#: whatever pieces a capture is cut into.
FLOWS: Final = 4096
#: Packets of a flow in a network that are compared with those in another: the lowest by digest.
COMPARED: Final = 8
#: So few packets say nothing.
SEVERAL: Final = 3
#: A packet that is the same in two networks is one packet if they are no further apart.
SAME_NS: Final = k.WINDOW_NS
#: Of packets compared such a part is the same in one network and its mirror, and not in two.
MIRRORED: Final = 0.5
#: Of the number of a flow: it is one from port to port, not all from host to host.
BETWEEN_PORTS: Final = 1 << 61
#: Bytes of a packet that are compared: a system's header with its numbers. An IP id tells one; in a
#: tunnel a snap length leaves few bytes of it.
HEAD_BYTES: Final = 64
HEAD_BESIDE_ID: Final = 16
#: Networks of a capture that are counted.
MOST_NETWORKS: Final = 4096

#: IP protocols whose fragments are put together, and that are no tunnels: TCP, PGM.
_NO_TUNNELS: Final = 6, 113
_PRIME: Final = (1 << 61) - 1


@dataclass(slots=True)
class Spoken:
    """What a flow says in one network: packets, first and last time, and of the packets with the
    lowest digests the first time of each."""

    packets: int = 0
    first_ns: int = 1 << 62
    last_ns: int = -1
    lowest: dict[int, int] = field(default_factory=dict)

    def add(self, other: "Spoken") -> None:
        self.packets += other.packets
        self.first_ns = min(self.first_ns, other.first_ns)
        self.last_ns = max(self.last_ns, other.last_ns)
        for digest, at_ns in other.lowest.items():
            self.lowest[digest] = min(at_ns, self.lowest.get(digest, at_ns))
        self.lowest = dict(sorted(self.lowest.items())[:COMPARED])


class NetworkEvidence:
    """What flows say in which networks; that of several pieces adds up in any order."""

    def __init__(self) -> None:
        self.frames: dict[int, int] = {}
        self._flows: dict[int, dict[int, Spoken]] = {}
        self._level = 0

    def add(self, flow: int, network: int, spoken: Spoken) -> None:
        """Packets of a flow in a network."""
        if flow & ((1 << self._level) - 1):
            return
        self._flows.setdefault(flow, {}).setdefault(network, Spoken()).add(spoken)
        while len(self._flows) > FLOWS:
            self._rise(self._level + 1)

    def rows(self) -> PieceNetworks:
        """As an ACCOUNT row carries it."""
        return {
            "frames": sorted(self.frames.items())[:MOST_NETWORKS],
            "level": self._level,
            "flows": [
                (flow, network, one.packets, one.first_ns, one.last_ns, sorted(one.lowest.items()))
                for flow, networks in sorted(self._flows.items())
                for network, one in sorted(networks.items())
            ],
        }

    def take_in(self, rows: PieceNetworks) -> None:
        """What a piece has found (``rows``)."""
        self._rise(max(self._level, rows["level"]))
        for network, count in rows["frames"]:
            self.frames[network] = self.frames.get(network, 0) + count
        for flow, network, packets, first_ns, last_ns, lowest in rows["flows"]:
            spoken = Spoken(packets, first_ns, last_ns, dict(lowest))
            self.add(flow, network, spoken)

    def said(self) -> Iterator[tuple[int, int, int]]:
        """(network, another, how much says that they are others, or below 0 the same), of each flow
        that tells."""
        for flow, networks in self._flows.items():
            for (one, own), (other, theirs) in combinations(sorted(networks.items()), 2):
                told = _others(one, own, other, theirs)
                if told is not None:
                    sure = flow & BETWEEN_PORTS or _numbered(one, other)
                    yield one, other, (2 if sure else 1) * (1 if told else -1)

    def _rise(self, level: int) -> None:
        self._level = level
        self._flows = {f: own for f, own in self._flows.items() if not f & ((1 << level) - 1)}


def _others(one: int, own: Spoken, other: int, theirs: Spoken) -> bool | None:
    """Whether what a flow says in two networks is of others; null: nobody can tell.

    A route that changes takes a flow from one VLAN into another; from a tunnel's network into
    another nothing goes.
    """
    if min(own.packets, theirs.packets) < SEVERAL:
        return None
    lowest = sorted(own.lowest.keys() | theirs.lowest.keys())[:COMPARED]
    same = sum(
        abs(own.lowest[digest] - theirs.lowest[digest]) <= SAME_NS
        for digest in lowest
        if digest in own.lowest and digest in theirs.lowest
    )
    if same >= MIRRORED * len(lowest):
        return False
    if same:
        return None
    together = own.first_ns <= theirs.last_ns and theirs.first_ns <= own.last_ns
    return True if together or _numbered(one, other) else None


def _numbered(one: int, other: int) -> bool:
    return one >> k.KEY_KIND > 0 and other >> k.KEY_KIND > 0


def separated(evidence: NetworkEvidence) -> list[frozenset[int]]:
    """Networks that use the same addresses, those that are mirrors of each other together.

    Routes may take what two hosts say to each other into several VLANs, connection by connection.
    So of VLANs all from one host to another says less than one flow in both.
    """
    votes: dict[tuple[int, int], int] = {}
    for one, other, vote in evidence.said():
        votes[one, other] = votes.get((one, other), 0) + vote
    group = {network: {network} for pair in votes for network in pair}
    for (one, other), vote in votes.items():
        if vote < 0 and group[one] is not group[other]:
            group[one] |= group[other]
            for network in group[other]:
                group[network] = group[one]
    found = {
        frozenset(group[network])
        for (one, other), vote in votes.items()
        if vote > 1 and group[one] is not group[other]
        for network in (one, other)
        if 0 not in group[network]  # what is of none stays with those that nothing tells apart
    }
    return sorted(found, key=sorted)


class NetworksSeen:
    """Gathers the evidence of a piece where packets of numbered networks come."""

    def __init__(self) -> None:
        self._evidence = NetworkEvidence()
        self._hosts: Sequence[str] | None = None
        self._digests = np.zeros(0, np.int64)

    def captured(self, packets: Packets, claimed: Int64s | int, segments: Int64s) -> None:
        """Packets as they were captured (``note``)."""
        times = packets.record_column("at_ns")
        frames = np.ones_like(times)
        self.note(packets, packets.column(k.NETWORK), claimed, segments, times, frames)

    def note(
        self,
        packets: Packets,
        networks: Int64s,
        claimed: Int64s | int,
        segments: Int64s,
        times: Int64s,
        frames: Int64s,
    ) -> None:
        """Packets of which some are of a numbered network.

        Args:
            networks: of each, 0: of none.
            claimed: per row of ``packets.datagrams``, the number of its system or -1.
            segments: rows of TCP that may be of a system.
            times: of all records.
            frames: in how many each came.
        """
        if not networks.any():
            return
        ours = packets.record_column("frame") > 0
        numbers, which = np.unique(networks[ours], return_inverse=True)
        counts = np.bincount(which, frames[ours]).astype(np.int64)
        seen = self._evidence.frames
        for network, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            seen[network] = seen.get(network, 0) + count
        known = np.zeros(len(networks), np.bool_)
        known[packets.rows] = np.asarray(claimed) >= 0
        known[segments] = networks[segments] > 0
        rows = np.flatnonzero(known & ours & (packets.column(k.FRAGMENT) < 0))
        if len(rows):
            self._gather(packets, rows, networks[rows], times[rows])

    def _gather(self, packets: Packets, rows: Int64s, networks: Int64s, times: Int64s) -> None:
        digests = _digests(packets, rows)
        for between_ports in (True, False):
            flows = self._flows(packets, rows, between_ports=between_ports)
            self._compare(flows, networks, digests, times)

    def _compare(self, flows: Int64s, networks: Int64s, digests: Int64s, times: Int64s) -> None:
        """What flows say in networks."""
        order = np.lexsort((digests, networks, flows))
        flows, networks, digests, times = (
            column[order] for column in (flows, networks, digests, times)
        )
        new = (flows[1:] != flows[:-1]) | (networks[1:] != networks[:-1])
        begins = [0, *(np.flatnonzero(new) + 1).tolist(), len(order)]
        for begin, stop in pairwise(begins):
            own = times[begin:stop]
            lowest: dict[int, int] = {}
            for digest, at_ns in zip(digests[begin:stop].tolist(), own.tolist(), strict=True):
                if digest not in lowest and len(lowest) == COMPARED:
                    break
                lowest[digest] = min(at_ns, lowest.get(digest, at_ns))
            self._evidence.add(
                int(flows[begin]),
                int(networks[begin]),
                Spoken(stop - begin, int(own.min()), int(own.max()), lowest),
            )

    def _flows(self, packets: Packets, rows: Int64s, *, between_ports: bool) -> Int64s:
        """A number a row of its addresses and protocol, and maybe ports; the same in all pieces."""
        hosts = packets.flows.hosts
        if hosts is not self._hosts:
            self._hosts, self._digests = hosts, np.zeros(0, np.int64)
        more = [_number(host.encode()) for host in hosts[len(self._digests) :]]
        self._digests = np.append(self._digests, np.array(more, np.int64))
        columns = packets.columns
        ports = columns[k.SOURCE_PORT][rows] << 16 | columns[k.DESTINATION_PORT][rows]
        if not between_ports:
            ports = np.zeros_like(ports)
        flows = _mixed(
            self._digests[columns[k.SOURCE][rows]],
            self._digests[columns[k.DESTINATION][rows]],
            ports << 8 | columns[k.PROTOCOL][rows],
        )
        return flows | BETWEEN_PORTS if between_ports else flows & (BETWEEN_PORTS - 1)

    def rows(self) -> PieceNetworks | None:
        """As an ACCOUNT row carries it; null: nothing was of a numbered network."""
        return self._evidence.rows() if self._evidence.frames else None


def _digests(packets: Packets, rows: Int64s) -> Int64s:
    """A number a row of what is the same of a packet wherever it is captured."""
    columns = packets.columns
    start, stop, ids = (columns[word][rows] for word in (k.START, k.STOP, k.IP_ID))
    stop = np.where(ids < 0, stop, np.minimum(stop, start + HEAD_BESIDE_ID))
    data = np.frombuffer(packets.records.data, np.uint8)
    places = start[:, None] + np.arange(HEAD_BYTES)
    head = np.where(places < stop[:, None], data[np.minimum(places, len(data) - 1)], 0).view(
        np.int64
    )
    head = head.reshape(len(rows), -1)
    facts = ids << 32 | columns[k.LENGTH][rows]
    return _mixed(facts, *head.T)


def _mixed(*columns: Int64s) -> Int64s:
    """One number a row, 0 … 2⁶², of several."""
    with np.errstate(over="ignore"):
        found = np.zeros(len(columns[0]), np.uint64)
        for column in columns:
            found ^= column.astype(np.uint64)
            found *= np.uint64(0x9E3779B97F4A7C15)
            found ^= found >> np.uint64(29)
            found *= np.uint64(0xBF58476D1CE4E5B9)
            found ^= found >> np.uint64(32)
    return (found >> np.uint64(2)).astype(np.int64)


def _number(text: bytes) -> int:
    return int.from_bytes(text.ljust(16, b"\0"), "little") % _PRIME


class OfNetworks:
    """Records of the networks of which a capture is.

    Args:
        carriers: as of ``PacketReader``.

    Attributes:
        numbered: records that came, of whatever network.
    """

    def __init__(self, chosen: Chosen, *, compile_it: bool, carriers: Collection[int] = ()) -> None:
        self._chosen = chosen
        self._reader = PacketReader(0, 0, compile_it=compile_it, carriers=carriers)
        self.numbered = 0

    def of(self, chunks: Iterable[Records]) -> Iterator[Records]:
        """Those of some chunks; what is left of each holds until the next one is asked for."""
        for records, rows in self.rows(chunks):
            if len(rows):
                yield records.only(rows)

    def rows(self, chunks: Iterable[Records]) -> Iterator[tuple[Records, Int64s]]:
        """Some chunks, whole, and which of their rows are of these networks."""
        for records in chunks:
            self.numbered += int(np.count_nonzero(records.frame > 0))
            found = [self._taken(packets) for packets in self._reader.read(records)]
            yield records, np.flatnonzero(np.concatenate([*found, np.zeros(0, np.bool_)]))

    def _taken(self, packets: Packets) -> npt.NDArray[np.bool_]:
        """Row by row. What a tunnel's packets hold that came in fragments, only all of them tell
        (``stages.fragments``)."""
        networks = packets.column(k.NETWORK)
        taken = self._chosen.takes(networks)
        if self._chosen.tunnels:
            outside = packets.column(k.STATE) == k.FRAGMENT_STATE
            outside &= networks >> k.KEY_KIND == 0
            outside &= ~np.isin(packets.column(k.PROTOCOL), _NO_TUNNELS)
            taken |= outside
        return taken


def elsewhere(chosen: Chosen, outside: Int64s, inside: Int64s) -> npt.NDArray[np.bool_]:
    """Whether datagrams are of another network, whose fragments came here as they might have been
    of this one: by the network of the fragments and of what they hold, 0 where that has none."""
    everywhere = chosen.tunnels & (outside >> k.KEY_KIND == 0)
    away: npt.NDArray[np.bool_] = everywhere & ~chosen.takes(np.where(inside, inside, outside))
    return away


def is_tunnels(network: int) -> bool:
    return network >> k.KEY_KIND > 0


def network_name(chosen: Chosen) -> str:
    """What the networks are called: ``VXLAN network 5``; empty: all, or all but others."""
    if chosen.together:
        return f"others, {chosen.together} with the same addresses"
    return "" if chosen.others else ", ".join(map(_name, chosen.networks))


def _name(key: int) -> str:
    kind, number = key >> k.KEY_KIND & 7, key >> k.KEY_NUMBER
    words: Sequence[str] = [tunnel_name(kind, number)] if kind else ()
    tags = [str(tag) for tag in (key >> k.VLAN_BITS & 0xFFF, key & 0xFFF) if tag]
    return " ".join([*words, *([f"VLAN {'.'.join(tags)}"] if tags else [])])
