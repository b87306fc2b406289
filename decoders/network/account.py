"""What a piece says of its frames: the ACCOUNT row (decoders/README.md 1, 2, replay/README.md 5).

Sums, unions and intersections only, so that several accounts of one capture can be brought together
whatever way it was cut. Frames that are fragments are accounted by the stage that puts them
together, in rows of their own with ``"frames": 0``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import distinct
from seqaudit.decoders.contract.events import (
    EVENTS,
    FRAME_BITS,
    NO_CONVERSATION,
    ByName,
    Kind,
    compact,
)
from seqaudit.decoders.kernels.loader import Int64s, argument, kernel, memory
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account_rows import PieceAccount, PieceFrames
from seqaudit.decoders.network.checksums import ChecksumCounts, Sender, Senders, rows_of
from seqaudit.decoders.network.ip_datagram import FrameSums
from seqaudit.decoders.network.packets import FRAMES_BY, SETTLED, Flows, FrameOutcome, Packets
from seqaudit.decoders.network.rare_links import link_name
from seqaudit.decoders.network.tunnels import TunnelsSeen, name_of

Bools = npt.NDArray[np.bool_]

#: ``system`` of rows about the capture itself.
CAPTURE_SYSTEM: Final = "capture"

ENDPOINTS: Final = 2000  # handed on: ten times as many as are listed, as other pieces add to them
ENDPOINTS_HELD: Final = 100_000  # counted apart; further ones only as a number
TTL_ADDRESSES: Final = 64
PACKET_TYPES: Final = frozenset({113, 276})  # link types that have one: SLL and SLL2
OUTGOING: Final = 4  # packet type

NAMED_FRAMES: Final = 100  # of a kind; of further ones only the last

#: Numbers from here on are of what Ethernet carries, those below of IP's protocols.
FIRST_ETHERTYPE: Final = 0x0600

#: IP protocols by name, as far as an overview wants them.
PROTOCOLS: Final[Mapping[int, str]] = {
    1: "icmp",
    2: "igmp",
    4: "ipip",
    6: "tcp",
    17: "udp",
    33: "dccp",
    41: "ipv6",
    47: "gre",
    50: "esp",
    58: "icmpv6",
    89: "ospf",
    103: "pim",
    113: "pgm",
    132: "sctp",
    136: "udplite",
    0x22F0: "avtp",  # of Ethernet, from here on
    0x88F7: "ptp",
}

#: Why frames are left undecoded below the systems.
_BELOW_SYSTEMS: Final = frozenset(reason for _, reason in SETTLED.values() if reason)
_CUT_STATES: Final = [s for s, (fate, _) in SETTLED.items() if fate == FrameOutcome.TRUNCATED]
#: Datagrams of systems that nobody could read, or not to their end.
_UNREAD: Final = (FrameOutcome.MALFORMED, FrameOutcome.UNDECODABLE)
#: Fragments of what is no message of a known system, as far as its beginning shows.
OF_NOBODY: Final = "fragments contradict each other"
UNKNOWN_LINK_REASON: Final = "link type not understood"


class Named:
    """Frames of one kind: how many, the last, and the first few by their numbers."""

    def __init__(self) -> None:
        self._frames: list[int] = []
        self._last: int | None = None
        self._count = 0
        self._first_ns: int | None = None

    def add(self, frames: Sequence[int], first_ns: int | None = None) -> None:
        """More of them, in their order, and when the first of these was captured."""
        self._first_ns = self._first_ns if self._frames else first_ns
        self._frames += frames[: NAMED_FRAMES - len(self._frames)]
        self._last = frames[-1] if frames else self._last
        self._count += len(frames)

    def account(self) -> PieceFrames:
        """As an ACCOUNT row carries them."""
        return {
            "named": self._frames,
            "last": self._last,
            "count": self._count,
            "first_ns": self._first_ns,
        }


class Account:
    """Counts frames of one piece, or of one flush of the second stage."""

    def __init__(self, capture: int, split: int, systems: list[str]) -> None:
        self.capture = capture
        self.split = split
        self.sums = FrameSums()
        self.frames_by = dict.fromkeys(FRAMES_BY.values(), 0)
        self.undecoded: dict[str, int] = {}
        self.twice = {"datagrams": 0, "again": 0, "once": 0, "pairs": 0}
        self._cut = Named()
        self._damaged = Named()
        self._unread = Named()
        self.senders: Senders = {}
        self.fragments = Counter(frames=0, datagrams=0, incomplete=0, missing=0)
        self.fragmented: set[str] = set()  # carriers of TCP
        self._systems = systems
        self._endpoints: dict[tuple[str, str, int, str], list[int]] = {}
        self._endpoints_more = 0
        self._both: set[str] | None = None
        self._unicasts = 0
        self._within: dict[str, int] = {}
        self._outgoing: set[str] = set()
        self._ttl: dict[str, list[int]] = {}
        self._tunnelled = TunnelsSeen()
        self._tunnels: dict[str, int] = {}
        self._flows: Flows | None = None
        self._counts = np.zeros(0, np.int64)
        self._handed: tuple[Int64s, Int64s] | None = None
        self._taken_back: list[Int64s] = []

    def add(self, packets: Packets, claimed: Int64s | int, *, fragments: bool = True) -> None:
        """The frames of ``packets`` after its decoders have run, fragments only as frames.

        Args:
            fragments: false: they are left to who knows of which network they are.
            claimed: per row of ``packets.datagrams``, the number of the system or -1; one number
                if that is the same for all.
        """
        frame = packets.record_column("frame")
        ours: slice | Int64s = slice(None)
        if frame[0] <= 0:  # priming frames come by themselves
            ours = slice(0)
        elif not fragments:
            ours = np.delete(np.arange(len(frame)), packets.fragments)
        self.sums.add(_sums(packets, ours))
        before = self._of(FrameOutcome.TRUNCATED), self._of(*_UNREAD)
        if not packets.only_datagrams:
            self._add_settled(packets.column(k.STATE))
            damaged = packets.column(k.STATE) == k.DAMAGED
            columns = (packets.record_column(name) for name in ("frame", "at_ns"))
            self.add_damaged(*(column[damaged].tolist() for column in columns))
        if packets.tunnelled:
            ends = packets.column(k.SOURCE), packets.column(k.DESTINATION)
            self._tunnelled.note(packets.column(k.TUNNEL), ends, packets.datagrams.hosts)
        self._add_twice(packets, claimed)
        self._add_outgoing(packets, claimed)
        self._tally(packets, claimed)
        if frame[0] > 0 and self._of(FrameOutcome.TRUNCATED) > before[0]:
            self._add_cut(packets)
        if frame[0] > 0 and self._of(*_UNREAD) > before[1]:
            datagrams = packets.datagrams
            self._unread.add(datagrams.frame[np.isin(datagrams.outcome, _UNREAD)].tolist())

    def _of(self, *outcomes: FrameOutcome) -> int:
        return sum(self.frames_by[FRAMES_BY[outcome]] for outcome in outcomes)

    def hand_over(self, flow: Int64s, sizes: Int64s) -> None:
        """Packets that were added as other, but that TCP assembly will account for.

        Args:
            flow: the kernel's number of each one's destination.
            sizes: on the wire.
        """
        self.count(FrameOutcome.OTHER, -len(flow))
        if self._handed is None:
            self._handed = np.zeros(k.HOSTS, np.int64), np.zeros(k.HOSTS, np.int64)
        counts = np.bincount(flow)
        self._handed[0][: len(counts)] += counts
        self._handed[1][: len(counts)] += np.bincount(flow, weights=sizes).astype(np.int64)

    def take_back(self, keys: Int64s, sizes: Int64s) -> None:
        """Packets that were handed over, some time ago, and are other after all.

        Args:
            keys: of their destinations, as ``Flows`` has them, by the addresses of now.
            sizes: on the wire.
        """
        self.count(FrameOutcome.OTHER, len(keys))
        self._taken_back.append(_counted(keys, np.ones(len(keys), np.int64), sizes))

    def count(self, outcome: FrameOutcome, frames: int, reason: str = "") -> None:
        """Frames with the same fate; nobody's are other."""
        if frames:
            known = FrameOutcome.OTHER if outcome == FrameOutcome.NOT_CLAIMED else outcome
            self.frames_by[FRAMES_BY[known]] += frames
            if reason:
                self.undecoded[reason] = self.undecoded.get(reason, 0) + frames

    def name_links(self, links: Mapping[int, int]) -> None:
        """Counts frames of link types that nobody understands, by type."""
        self.undecoded.pop(UNKNOWN_LINK_REASON, None)
        for link, count in links.items():
            self.undecoded[f"{UNKNOWN_LINK_REASON}: {link_name(link)}"] = count

    def add_endpoint(
        self, protocol: int, address: str, port: int, system: str, frames: int, size: int
    ) -> None:
        key = (protocol_name(protocol), address, port, system)
        known = self._endpoints.get(key)
        if known is not None:
            known[0] += frames
            known[1] += size
        elif len(self._endpoints) < ENDPOINTS_HELD:
            self._endpoints[key] = [frames, size]
        else:
            self._endpoints_more += 1

    def add_unicast(
        self, source: str, destination: str, low_ttl: int, high_ttl: int, frames: int
    ) -> None:
        """Claimed frames from one address to one other, or to itself."""
        self._note_ttl(source, low_ttl, high_ttl)
        if source == destination:
            self._note_within(source, frames)
            return
        self._unicasts += frames
        ends = {source, destination}
        self._both = ends if self._both is None else self._both & ends

    def add_sender(self, sender: Sender, counted: ChecksumCounts) -> None:
        """Packets of a sender, by what their checksums are."""
        self.senders.setdefault(sender, ChecksumCounts()).add(counted)

    def add_outgoing(self, source: str) -> None:
        self._outgoing.add(source)

    def add_tunnelled(self, source: str, destination: str, tunnel: int, frames: int) -> None:
        """A packet that came in a tunnel (``packet_words.TUNNEL``), in frames that show none."""
        self._tunnelled.add(source, destination, tunnel)
        if frames:
            name = name_of(tunnel)
            self._tunnels[name] = self._tunnels.get(name, 0) + frames

    def row(self, more: Mapping[str, object], decoders: Iterable[ByName]) -> pa.RecordBatch:
        """The ACCOUNT row.

        Args:
            more: what the reader knows of the piece.
            decoders: the decoders' own accounts.
        """
        self._fold(last=True)
        by_frames = nsmallest(
            ENDPOINTS, self._endpoints.items(), key=lambda item: (-item[1][0], item[0])
        )
        own: PieceAccount = {
            "piece": self.split,
            "frames": self.sums.frames,
            "bytes": self.sums.bytes,
            "wire_bytes": self.sums.wire_bytes,
            "first_ns": min(self.sums.times, default=None),
            "last_ns": max(self.sums.times, default=None),
            "frames_by": self.frames_by,
            "undecoded": dict(self.undecoded),
            "of_no_system": {r: n for r, n in self.undecoded.items() if is_of_no_system(r)},
            "messages_by": {},
            "sureness": {},
            "links": {link_name(link): count for link, count in self.sums.links.items()},
            "fragments": self.fragments,
            "twice": self.twice,
            "cut_frames": self._cut.account(),
            "damaged_frames": self._damaged.account(),
            "undecoded_frames": self._unread.account(),
            "checksums": rows_of(self.senders),
            "endpoints": [(*key, counts[0], counts[1]) for key, counts in by_frames],
            "endpoints_more": len(self._endpoints) - len(by_frames) + self._endpoints_more,
            "ends": {
                "both": sorted(self._both or ()),
                "frames": self._unicasts,
                "within": dict(sorted(self._within.items())),
                "outgoing": sorted(self._outgoing),
                "ttl": {address: self._ttl[address] for address in sorted(self._ttl)},
            },
        }
        if tunnelled := self._tunnelled.rows():
            own["tunnelled"] = tunnelled
        if self._tunnels:
            own["tunnels"] = self._tunnels
        if self.fragmented:
            own["fragmented"] = sorted(self.fragmented)
        detail: ByName = {**own}
        for account in decoders:
            _add_up(detail, account)
        detail.update(more)
        return account_batch(self.capture, self.split, detail)

    def _add_settled(self, states: Int64s) -> None:
        for state, count in enumerate(np.bincount(states).tolist()):
            if state in SETTLED:
                self.count(*SETTLED[state][:1], count, SETTLED[state][1])

    def _add_cut(self, packets: Packets) -> None:
        """Which frames were captured only in part."""
        datagrams = packets.datagrams
        states = np.isin(packets.column(k.STATE), _CUT_STATES)
        settled = packets.record_column("frame")[states]
        of_systems = datagrams.frame[datagrams.outcome == FrameOutcome.TRUNCATED]
        self._cut.add(np.union1d(settled, of_systems).tolist())

    def add_damaged(self, frames: Sequence[int], times: Sequence[int]) -> None:
        """Frames whose checksum is wrong, in their order."""
        if frames:
            self._damaged.add(frames, times[0])

    def _add_twice(self, packets: Packets, claimed: Int64s | int) -> None:
        datagrams = packets.datagrams
        if not datagrams.count or datagrams.frame[0] <= 0:
            return
        ours = datagrams.barrier == 0
        ids = datagrams.ip_id >= 0
        without = ours & ~ids & (np.asarray(claimed) >= 0)
        self.add_twice(packets.of_datagrams(k.FLAGS), ours & ids, without)

    def add_twice(self, flags: Int64s, ids: Bools, without: Bools) -> None:
        """Datagrams with IP ids, and those that had been captured shortly before. Of those
        without, which may be sent twice, only systems' messages: first ones, and second ones.

        Args:
            flags: of rows, as the kernel has them.
            ids, without: which of these are datagrams with ids, and systems' messages without.
        """
        self.twice["datagrams"] += int(np.count_nonzero(ids))
        self.twice["again"] += int(np.count_nonzero(flags & k.FLAG_NETWORK_DUPLICATE))
        if without.any():
            before = flags[without] & k.OTHERS_BEFORE
            self.twice["once"] += int(np.count_nonzero(before == 0))
            self.twice["pairs"] += int(np.count_nonzero(before == k.ONCE_BEFORE))

    def _add_outgoing(self, packets: Packets, claimed: Int64s | int) -> None:
        if packets.link is not None and packets.link not in PACKET_TYPES:
            return
        outgoing = packets.of_datagrams(k.PACKET_TYPE) == OUTGOING
        outgoing &= claimed >= 0
        for host in distinct(packets.datagrams.source[outgoing]).tolist():
            self._outgoing.add(packets.datagrams.hosts[host])

    def _tally(self, packets: Packets, claimed: Int64s | int) -> None:
        if packets.flows is not self._flows:
            self._fold()
            self._flows = packets.flows
            self._counts = memory(k.CLAIMS + 2 * k.HOSTS * len(self._systems))
        datagrams = packets.datagrams
        compile_it = datagrams.compile_it
        number, each = (claimed, packets.rows) if isinstance(claimed, int) else (k.EACH, claimed)
        arrays = (packets.rows, datagrams.outcome, datagrams.barrier)
        kernel("network.packet_kernels", compile_it=compile_it).tally(
            datagrams.count,
            *(argument(array, compile_it=compile_it) for array in arrays),
            number,
            argument(each, compile_it=compile_it),
            argument(packets.record_column("original"), compile_it=compile_it),
            argument(packets.out, compile_it=compile_it),
            packets.room,
            argument(self._counts, compile_it=compile_it),
        )
        for outcome in FrameOutcome:
            self.count(outcome, int(self._counts[k.OUTCOMES + outcome]))
        self._counts[k.OUTCOMES : k.UNICASTS] = 0

    def _fold(self, *, last: bool = False) -> None:
        """Name the flows counted so far; of the last ones no more than may be listed."""
        if self._flows is None:
            return
        hosts = self._flows.hosts
        number, *both = self._counts[k.UNICASTS : k.BOTH + 2].tolist()
        if number:
            self._unicasts += number
            ends = {hosts[host - 1] for host in both if host}
            self._both = ends if self._both is None else self._both & ends
        sent = self._counts[k.TTLS : k.TTLS + 3 * len(hosts)].reshape(-1, 3)
        for host in np.flatnonzero(sent[:, 0]).tolist():
            low, high, within = sent[host].tolist()
            self._note_ttl(hosts[host], low - 1, high - 1)
            self._note_within(hosts[host], within)
        table = self._flows.table()  # a few of the many that there is room for
        keys, left, left_sizes = table[:, 0], table[:, 1].copy(), table[:, 2].copy()
        claims = self._counts[k.CLAIMS :].reshape(len(self._systems), k.HOSTS, 2)[:, : len(keys)]
        for system, own in zip(self._systems, claims, strict=True):
            claimed = np.flatnonzero(own[:, 0])
            self._add_endpoints(keys[claimed], system, *own[claimed].T)
            left -= own[:, 0]
            left_sizes -= own[:, 1]
        if self._handed is not None:
            left -= self._handed[0][: len(keys)]
            left_sizes -= self._handed[1][: len(keys)]
        if self._taken_back:
            rows = [np.stack((keys, left, left_sizes)), *self._taken_back]
            keys, left, left_sizes = _counted(*np.concatenate(rows, axis=1))
        others = np.flatnonzero(left)
        if last:
            others = self._foremost(others, keys, left)
        self._add_endpoints(keys[others], "", left[others], left_sizes[others])
        self._flows = self._handed = None
        self._taken_back = []

    def _add_endpoints(self, keys: Int64s, system: str, frames: Int64s, sizes: Int64s) -> None:
        assert self._flows is not None
        hosts = self._flows.hosts
        columns = (column.tolist() for column in (keys, frames, sizes))
        for key, count, size in zip(*columns, strict=True):
            protocol, port = key >> 16 & 0xFF, key & 0xFFFF
            self.add_endpoint(protocol, hosts[key >> 32], port, system, count, size)

    def _foremost(self, rows: Int64s, keys: Int64s, frames: Int64s) -> Int64s:
        """Of endpoints after which none comes: those that may be listed; the others are counted,
        or come last.
        An address that is known already may have more frames than are here."""
        assert self._flows is not None
        if len(rows) <= ENDPOINTS:
            return rows
        hosts = self._flows.hosts
        host, protocol = keys[rows] >> 32, keys[rows] >> 16 & 0xFF
        names = np.array([protocol_name(one) for one in range(256)])[protocol]
        order = np.lexsort((keys[rows] & 0xFFFF, hosts.ranks(host), names, -frames[rows]))
        if len(rows) > ENDPOINTS_HELD - len(self._endpoints):
            return rows[order]  # those that find no room are the last
        known = {address for _, address, _, _ in self._endpoints}
        kept = np.zeros(len(rows), np.bool_)
        kept[order[:ENDPOINTS]] = True
        if known:
            kept |= np.array([text in known for text in hosts], np.bool_)[host]
        self._endpoints_more += int(np.count_nonzero(~kept))
        listed: Int64s = rows[kept]
        return listed

    def _note_within(self, source: str, frames: int) -> None:
        if frames and (source in self._within or len(self._within) < TTL_ADDRESSES):
            self._within[source] = self._within.get(source, 0) + frames

    def _note_ttl(self, source: str, low: int, high: int) -> None:
        known = self._ttl.get(source)
        if known is not None:
            known[0], known[1] = min(known[0], low), max(known[1], high)
        elif len(self._ttl) < TTL_ADDRESSES:
            self._ttl[source] = [low, high]


def _counted(keys: Int64s, frames: Int64s, sizes: Int64s) -> Int64s:
    """(3, n) each key once, with the sums of its frames and sizes."""
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sums = [np.add.reduceat(column[order], first) for column in (frames, sizes)]
    return np.stack((keys[order][first], *sums))


def _sums(packets: Packets, rows: slice | Int64s) -> FrameSums:
    """Of some of the records."""
    names = ("captured", "original", "at_ns", "status", "link")
    captured, original, at_ns, status, link = (packets.record_column(n)[rows] for n in names)
    known = at_ns[status == 0] if status.any() else at_ns
    links = {packets.link: len(link)} if packets.link is not None and len(link) else {}
    if packets.link is None:
        links = dict(zip(*map(np.ndarray.tolist, np.unique(link, return_counts=True)), strict=True))
    return FrameSums(
        len(link),
        int(captured.sum()),
        int(original.sum()),
        {int(known.min()), int(known.max())} if len(known) else set(),
        links,
    )


class Accounts:
    """Of the pieces that a stage sees, and problems, until they are told.

    Attributes:
        problems: rows that wait.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], Account] = {}
        self.problems: list[dict[str, object]] = []

    def __len__(self) -> int:
        return len(self._of)

    def of(self, capture: int, split: int) -> Account:
        """That of a piece."""
        key = capture, split
        if key not in self._of:
            self._of[key] = Account(capture, split, [])
        return self._of[key]

    def problem(
        self, capture: int, wire_kind: str, frames: tuple[int, int], at_ns: int,
        detail: Mapping[str, object], *, count: int = 1, size: int = 0, fresh_id: int | None = None,
    ) -> None:  # fmt: skip
        """A PROBLEM row, from its first to its last frame, which its detail names as well."""
        first, last = frames
        self.problems.append(
            {
                "capture": capture,
                "frame": first,
                "index": 0,
                "last_frame": last,
                "at_ns": at_ns,
                "last_at_ns": at_ns,
                "system": CAPTURE_SYSTEM,
                "conversation": NO_CONVERSATION,
                "kind": int(Kind.PROBLEM),
                "wire_kind": wire_kind,
                "count": count,
                "flags": 0,
                "size": size,
                "fresh_id": fresh_id,
                "detail": compact({"first_frame": first, "last_frame": last, **detail}),
            }
        )

    def told_problems(self) -> Iterator[pa.RecordBatch]:
        """Those that wait."""
        if self.problems:
            yield pa.RecordBatch.from_pylist(self.problems, schema=EVENTS)
            self.problems = []

    def taken_out(self) -> list[tuple[tuple[int, int], Account]]:
        """All of them, by piece; others begin."""
        told = sorted(self._of.items())
        self._of = {}
        return told


def protocol_name(protocol: int) -> str:
    """What an overview calls a protocol of IP or Ethernet."""
    number = str(protocol) if protocol < FIRST_ETHERTYPE else f"{protocol:#06x}"
    return PROTOCOLS.get(protocol, number)


def is_of_no_system(reason: str) -> bool:
    """Whether a frame was left undecoded before anybody could say of which system it is."""
    return reason in _BELOW_SYSTEMS or reason == OF_NOBODY or reason.startswith(UNKNOWN_LINK_REASON)


def account_batch(capture: int, split: int, detail: Mapping[str, Any]) -> pa.RecordBatch:
    frame = split << FRAME_BITS
    row = {
        "capture": capture,
        "frame": frame,
        "index": -1,
        "last_frame": frame,
        "at_ns": detail.get("first_ns") or 0,
        "last_at_ns": detail.get("last_ns") or 0,
        "detail": compact(detail),
    }
    columns = [
        pa.array([row[field.name]], field.type) if field.name in row else column
        for field, column in zip(EVENTS, _columns_of_any_account(), strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENTS)


@cache
def _columns_of_any_account() -> tuple[pa.Array, ...]:
    same = {
        "system": CAPTURE_SYSTEM,
        "conversation": NO_CONVERSATION,
        "kind": int(Kind.ACCOUNT),
        "wire_kind": "ACCOUNT",
        "count": 0,
        "flags": 0,
        "size": 0,
    }
    return tuple(pa.array([same.get(field.name)], field.type) for field in EVENTS)


def _add_up(detail: ByName, account: Mapping[str, object]) -> None:
    """Numbers add up, dictionaries key by key, lists are united."""
    for key, value in account.items():
        known = detail.get(key)
        if isinstance(value, Mapping):
            into = detail.setdefault(key, {})
            _add_up(into, value)
        elif isinstance(value, list):
            detail[key] = sorted({*(known or ()), *value})
        elif isinstance(value, int) and isinstance(known, int):
            detail[key] = known + value
        else:
            detail[key] = value
