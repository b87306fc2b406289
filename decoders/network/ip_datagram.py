"""One IP datagram of which fragments come in (RFC 791, RFC 8200 4.5, RFC 5722).

Bytes that came first stay; a fragment that contradicts them, or the length, spoils the datagram. No
capture, decoder or clock in here: ``fragments`` says when to give up.
"""

import ipaddress
import struct
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.contract.events import FRAME_BITS, ByName
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import FrameOutcome

MISSING_RANGES: Final = 16  # told of an incomplete datagram
MAX_IPV4_BYTES: Final = 65_535 - 20
UDP: Final = 17
#: A datagram is given up so long behind its first fragment.
TIMEOUT_NS: Final = 30_000_000_000
FRAGMENT_WEIGHT: Final = 256  # bytes that Python needs around a fragment's own

#: A repeat of a fragment is known by its place and its first two words: a snap length leaves less
#: of one in a tunnel. Each is multiplied by an odd number of its own.
WORD_BYTES: Final = 8
WORD: Final = (1 << 64) - 1
ODD: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)

Span = tuple[int, int]


def fragment_prints(
    data: bytes | bytearray | memoryview, offset: Int64s, start: Int64s, length: Int64s
) -> npt.NDArray[np.uint64]:
    """``Fragment.print`` of fragments that were captured whole, (count,) uint64.

    Args:
        data: they are in.
        offset: of each in its datagram.
        start, length: of each in ``data``.
    """
    place = np.arange(2 * WORD_BYTES)
    heads = np.frombuffer(data, np.uint8)[
        np.minimum(start[:, None] + place, len(memoryview(data)) - 1)
    ]
    heads[place >= length[:, None]] = 0
    words = *heads.view("<u8").T, (offset << 32 | length).astype(np.uint64)
    first, second, third = (word * np.uint64(odd) for word, odd in zip(words, ODD, strict=True))
    return np.asarray(first ^ second ^ third, np.uint64)


@dataclass(slots=True)
class FrameSums:
    """Frames: how many, their bytes as captured and on the wire, the first and last time, and how
    many are of each link type."""

    frames: int = 0
    bytes: int = 0
    wire_bytes: int = 0
    times: set[int] = field(default_factory=set)
    links: dict[int, int] = field(default_factory=dict)

    def add(self, other: "FrameSums") -> None:
        self.frames += other.frames
        self.bytes += other.bytes
        self.wire_bytes += other.wire_bytes
        both = self.times | other.times
        self.times = {min(both), max(both)} if both else both
        for link, frames in other.links.items():
            self.links[link] = self.links.get(link, 0) + frames

    def add_frame(self, captured: int, wire: int, at_ns: int, link: int) -> None:
        """One more."""
        self.frames += 1
        self.bytes += captured
        self.wire_bytes += wire
        if len(self.times) < 2:
            self.times.add(at_ns)
        else:
            self.times = {min(*self.times, at_ns), max(*self.times, at_ns)}
        self.links[link] = self.links.get(link, 0) + 1


@lru_cache(1024)
def _packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed


@dataclass(slots=True)
class DatagramFate:
    """What became of a datagram; null: not known yet.

    Attributes:
        frames: of repeats, which wait to share it: by split.
        shared_by: fates of the datagrams that its fragments came in.
    """

    outcome: FrameOutcome | None = None
    reason: str = ""
    frames: dict[int, FrameSums] = field(default_factory=dict)
    shared_by: list["DatagramFate"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fragment:
    """One SEGMENT row, or what a datagram carries that came in fragments itself.

    ``facts``: version, source, destination, protocol, id, offset, more, length (of what it
    carries), ttl, outgoing (link layer), wire and captured (bytes of the frame), link (its type);
    network and tunnel, as the kernel has them, where it came in one; datagram, where that is not
    its carrier.
    """

    capture: int
    carrier: str
    frame: int  # of the job
    at_ns: int
    facts: ByName
    payload: bytes  # as captured; less than facts["length"] where cut by snap length
    outer: "Assembly | None" = None  # the datagram that it came in

    @property
    def datagram(self) -> str:
        """The identity of the datagram that it is of."""
        return str(self.facts.get("datagram", self.carrier))

    def add_to(self, sums: dict[int, FrameSums]) -> None:
        """The frames that it came in, by split."""
        if self.outer is not None:
            for split, frames in self.outer.frames.items():
                sums.setdefault(split, FrameSums()).add(frames)
            return
        split, facts = self.frame >> FRAME_BITS, self.facts
        if split not in sums:
            sums[split] = FrameSums()
        sums[split].add_frame(facts["captured"], facts["wire"], self.at_ns, facts["link"])

    @property
    def start(self) -> int:
        return int(self.facts["offset"])

    @property
    def stop(self) -> int:
        return int(self.facts["offset"]) + int(self.facts["length"])

    @property
    def print(self) -> int:
        """What a repeat of this very fragment shares with it (``fragment_prints``)."""
        head = int.from_bytes(self.payload[: 2 * WORD_BYTES], "little")
        words = head & WORD, head >> 64, self.start << 32 | int(self.facts["length"])
        first, second, place = (word * odd for word, odd in zip(words, ODD, strict=True))
        return (first ^ second ^ place) & WORD


@dataclass(frozen=True, slots=True)
class FragmentRun:
    """Fragments of one datagram that came one behind the other, in one split.

    Attributes:
        first: the earliest.
        rows: of all, (count,) int64, as in ``Packets.fragments``.
        frame, at_ns: of the last; the frame is of the job.
        stop: where the last ends in the datagram.
        more: of the last.
        body: bytes from the start of the first on, all of them captured.
        longest: bytes of one.
    """

    first: Fragment
    rows: Int64s
    frame: int
    at_ns: int
    stop: int
    more: bool
    body: bytes
    longest: int
    sums: FrameSums
    low_ttl: int
    high_ttl: int
    outgoing: bool
    prints: set[int]


@dataclass(slots=True)
class Assembly:
    """A datagram of which fragments have come; ``first`` is the earliest of them."""

    first: Fragment
    fate: DatagramFate = field(default_factory=DatagramFate)
    frames: dict[int, FrameSums] = field(default_factory=dict)  # by split
    last_frame: int = 0
    low_ttl: int = 255
    high_ttl: int = 0
    outgoing: bool = False
    head: Fragment | None = None  # the fragment at offset 0: its protocol counts
    total: int | None = None  # bytes, once the last fragment is known
    spoiled: str = ""  # why it is no datagram
    covered: int = 0
    longest: int = 0  # bytes of one fragment
    held_bytes: int = 0
    prints: set[int] = field(default_factory=set)
    _spans: list[Span] = field(default_factory=list)  # disjoint, ascending
    _parts: list[bytes] = field(default_factory=list)  # captured bytes of each span

    @property
    def complete(self) -> bool:
        return self.total is not None and self.covered >= self.total

    @property
    def weight(self) -> int:
        """Memory it takes, roughly."""
        return self.held_bytes + FRAGMENT_WEIGHT * (8 + len(self.prints))

    @property
    def frame_count(self) -> int:
        return sum(own.frames for own in self.frames.values())

    @property
    def wire_bytes(self) -> int:
        return sum(own.wire_bytes for own in self.frames.values())

    def add(self, fragment: Fragment) -> None:
        facts = fragment.facts
        fragment.add_to(self.frames)
        if fragment.outer is not None:
            self.fate.shared_by.append(fragment.outer.fate)
        self.last_frame = max(self.last_frame, fragment.frame)
        self.low_ttl = min(self.low_ttl, int(facts["ttl"]))
        self.high_ttl = max(self.high_ttl, int(facts["ttl"]))
        self.outgoing = self.outgoing or bool(facts["outgoing"])
        self.prints.add(fragment.print)
        contradiction = self.contradiction(fragment)
        if contradiction:
            self.spoiled = self.spoiled or contradiction
            return
        if fragment.start == 0 and self.head is None:
            self.head = fragment
        if not facts["more"]:
            self.total = fragment.stop
        self.longest = max(self.longest, fragment.stop - fragment.start)
        self._insert(fragment)

    def takes(self, run: FragmentRun) -> bool:
        """Whether a run is new as a whole, and agrees with what came before it."""
        low, high = self._touched(run.first.start, run.stop)
        reached = self._spans[-1][1] if self._spans else 0
        ends_well = (
            (self.total is None and (run.more or reached <= run.stop))
            or (self.total is not None and run.more and run.stop < self.total)
        )  # fmt: skip
        near = all(abs(at_ns - self.first.at_ns) <= TIMEOUT_NS for at_ns in run.sums.times)
        return low == high and ends_well and near and not self.spoiled

    def add_run(self, run: FragmentRun) -> None:
        """What ``add`` does with each fragment of it; only if it ``takes`` that."""
        self.frames.setdefault(run.frame >> FRAME_BITS, FrameSums()).add(run.sums)
        self.last_frame = max(self.last_frame, run.frame)
        self.low_ttl = min(self.low_ttl, run.low_ttl)
        self.high_ttl = max(self.high_ttl, run.high_ttl)
        self.outgoing = self.outgoing or run.outgoing
        self.prints |= run.prints
        if run.first.start == 0:
            self.head = run.first
        if not run.more:
            self.total = run.stop
        self.longest = max(self.longest, run.longest)
        span = run.first.start, run.stop
        place = bisect_left(self._spans, span)
        self._spans.insert(place, span)
        self._parts.insert(place, run.body)
        self.covered += len(run.body)
        self.held_bytes += len(run.body)

    def contradiction(self, fragment: Fragment) -> str:
        """Why the fragment cannot belong here; "" if it can."""
        start, stop, more = fragment.start, fragment.stop, fragment.facts["more"]
        reached = self._spans[-1][1] if self._spans else 0
        if (
            (self.total is not None and stop > self.total)
            or (self.total is not None and not more and stop != self.total)
            or (not more and reached > stop)
        ):
            return "fragments disagree about the length"
        for place in range(*self._touched(start, stop)):
            low, high = self._spans[place]
            begin, end = max(low, start), min(high, stop)
            known = self._parts[place][begin - low : end - low]
            new = fragment.payload[begin - start : end - start]
            size = min(len(known), len(new))
            if known[:size] != new[:size]:
                return "fragments overlap with different bytes"
        return ""

    def body(self) -> bytes:
        """The captured bytes from 0 up to the first that is missing."""
        parts: list[bytes] = []
        cursor = 0
        for (low, high), part in zip(self._spans, self._parts, strict=True):
            if low > cursor:
                break
            parts.append(part)
            if len(part) < high - low:
                break
            cursor = high
        return b"".join(parts)

    def missing(self) -> list[list[int]]:
        """Half-open ranges that did not come, the first few; an unknown end is left out."""
        return [list(hole) for hole in self._holes(self.total)][:MISSING_RANGES]

    def lacking(self) -> int:
        """How many fragments did not come, at least: none is longer than the longest that did."""
        total = self.total or self._claimed()
        holes = [-(-(stop - start) // max(self.longest, 1)) for start, stop in self._holes(total)]
        return max(sum(holes), 1)

    def _holes(self, total: int | None) -> list[Span]:
        reached = [0, *(high for _, high in self._spans)]
        begun = [low for low, _ in self._spans] + ([] if total is None else [total])
        return [(high, low) for high, low in zip(reached, begun, strict=False) if low > high]

    def _claimed(self) -> int | None:
        """How long it was going to be, says UDP where the first fragment came; null: nothing."""
        if self.head is None or int(self.head.facts["protocol"]) != UDP:
            return None
        body = self.body()
        return struct.unpack_from(">H", body, 4)[0] if len(body) >= 6 else None

    def packet(self) -> tuple[bytes, int]:
        """An IP packet without fragmentation, as far as its bytes are known, and its length.

        The id stays: an IPv6 packet gets the header of an atomic fragment. Of an incomplete
        datagram without its last fragment, UDP says how long it was going to be.
        """
        assert self.head is not None, "the caller has made sure of the first fragment"
        facts = self.head.facts
        body = self.body()
        total = self.total
        if total is None:
            total = max(self._claimed() or 0, self._spans[-1][1])
        ttl, protocol = int(facts["ttl"]), int(facts["protocol"])
        ends = _packed(facts["source"]) + _packed(facts["destination"])
        if facts["version"] == 4:
            size = 20 + min(total, MAX_IPV4_BYTES)
            header = struct.pack(">BBHHHBBH", 0x45, 0, size, facts["id"], 0, ttl, protocol, 0)
            return header + ends + body, size
        size = 8 + total
        told = size if size < 65_536 else 0  # 0: as long as it is on the wire
        header = struct.pack(">IHBB", 0x60000000, told, 44, ttl)
        return header + ends + struct.pack(">BBHI", protocol, 0, 0, facts["id"]) + body, 40 + size

    def _touched(self, start: int, stop: int) -> Span:
        """Places of the spans that share bytes with [start, stop)."""
        first = bisect_left(self._spans, (start, 0))
        if first > 0 and self._spans[first - 1][1] > start:
            first -= 1
        return first, max(first, bisect_left(self._spans, (stop, 0)))

    def _insert(self, fragment: Fragment) -> None:
        """Fill what is uncovered."""
        cursor = start = fragment.start
        fresh: list[Span] = []
        for place in range(*self._touched(start, fragment.stop)):
            low, high = self._spans[place]
            if cursor < low:
                fresh.append((cursor, low))
            cursor = max(cursor, high)
        if cursor < fragment.stop:
            fresh.append((cursor, fragment.stop))
        for low, high in fresh:
            place = bisect_left(self._spans, (low, high))
            part = fragment.payload[low - start : high - start]
            self._spans.insert(place, (low, high))
            self._parts.insert(place, part)
            self.covered += high - low
            self.held_bytes += len(part)
