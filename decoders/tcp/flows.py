"""Whose connections are: the table of open TCP flows (decoders/README.md 3).

A flow is nobody's, or a system's, or not decided yet. It is decided by its own segments alone, in
their order, so the first stage (which may see a part of a flow) and the second (which sees all that
was shipped) judge by the same functions. What the first stage says is a guess; the second decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.network.checksum_kernels import BARE, MARKS, TCP, WRONG
from seqaudit.decoders.network.checksums import ChecksumCounts
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.tcp.connection import Flow
from seqaudit.decoders.tcp.framing import (
    Connection,
    Framing,
    Match,
    Refused,
    StreamSystem,
    choose,
)
from seqaudit.decoders.tcp.segments import (
    MARK_MASK,
    MARK_SHIFT,
    MORE_SHIFT,
    OUTGOING_BIT,
    WIRE_MASK,
    WIRE_SHIFT,
    End,
    Key,
    ends_of,
)
from seqaudit.decoders.tcp.wire import ACK, SYN, Segment

#: A direction that nobody has recognised after so many bytes is nobody's.
UNDECIDED_BYTES: Final = 512 << 10
#: A flow caught in the middle is somebody else's most likely, and every look at it costs the same
#: whatever it finds: the first has bytes enough for most systems to refuse it, and those after it
#: come with so many times as many, until there are enough for all.
MIDDLE_BYTES: Final = 32 << 10
MIDDLE_TIMES: Final = 4
MIDDLE_ENOUGH: Final = 128 << 10

UNDECIDED: Final = 0
OURS: Final = 1
NOBODY: Final = 2


class Tracked:
    """One flow: its bytes, whose it is, and what its frames are counted under.

    Args:
        torn: these are the segments of a piece, and more of it may be in another.
    """

    __slots__ = (
        "connection", "flow", "frames", "framings", "high_ttl", "kept", "likely", "low_ttl",
        "marks", "next_try", "outgoing", "placed", "problems", "refused", "sent", "split", "state",
        "system", "systems", "torn", "wire_bytes", "wrongly",
    )  # fmt: skip

    def __init__(
        self, key: Key, split: int, systems: Sequence[StreamSystem], *, torn: bool = False
    ) -> None:
        self.flow = Flow()
        self.torn = torn
        self.connection = Connection(key[0], key[1], ends_of(key[1]))
        self.split = split  # of its first segment; its frames are counted there
        self.systems = systems
        self.state = UNDECIDED
        self.system: StreamSystem | None = None
        self.likely = False  # undecided, but something speaks for a system
        self.next_try = 1  # pending bytes with which it is judged again
        self.refused: Refused = set()
        self.frames = 0
        self.kept = 0  # frames whose fate the flow's bytes decide
        self.sent = [0, 0]  # frames by direction
        self.wire_bytes = [0, 0]
        self.low_ttl = [256, 256]
        self.high_ttl = [-1, -1]
        self.outgoing = [False, False]
        self.marks = [[0] * MARKS, [0] * MARKS]  # frames by direction and by their checksums
        self.framings: list[Framing] = []
        self.placed = [(0, -1), (0, -1)]  # by direction: last frame, and how many it completed - 1
        self.problems = 0
        self.wrongly: int | None = None  # the direction whose damaged bytes made it nobody's

    def feed(self, segment: Segment) -> None:
        """Take a segment in and, while undecided, judge again."""
        self.count(segment.direction, segment.facts)
        if self.state == NOBODY:
            return
        flow = self.flow
        if flow.feed(segment):
            self.kept += 1
        if flow.unkept:
            self.kept -= flow.unkept
            flow.unkept = 0
        if self.state == UNDECIDED and self.pending >= self.next_try:
            self.judge()
        if self.state == NOBODY and segment.facts >> MARK_SHIFT & MARK_MASK == WRONG:
            self.wrongly = segment.direction
        if flow.closed and self.state == UNDECIDED and not self.kept:
            self.state = NOBODY

    def count(self, direction: int, facts: int) -> None:
        """One more segment: its frame or frames, and what its headers say."""
        frames = 1 + (facts >> MORE_SHIFT)
        self.frames += frames
        self.sent[direction] += frames
        self.wire_bytes[direction] += facts >> WIRE_SHIFT & WIRE_MASK
        self.marks[direction][facts >> MARK_SHIFT & MARK_MASK] += 1
        ttl = facts & 0xFF
        if ttl < self.low_ttl[direction]:
            self.low_ttl[direction] = ttl
        if ttl > self.high_ttl[direction]:
            self.high_ttl[direction] = ttl
        if facts & OUTGOING_BIT:
            self.outgoing[direction] = True

    def count_run(self, direction: int, frames: int, wire_bytes: int, marks: Sequence[int]) -> None:
        """Several more frames of one direction; their headers are noted apart.

        Args:
            marks: how many frames have each.
        """
        self.frames += frames
        self.sent[direction] += frames
        self.wire_bytes[direction] += wire_bytes
        for mark, count in enumerate(marks):
            self.marks[direction][mark] += count

    def note_headers(self, direction: int, facts: Int64s) -> None:
        """What the headers of some frames say, beside their sizes."""
        ttl = facts & 0xFF
        self.low_ttl[direction] = min(self.low_ttl[direction], int(ttl.min()))
        self.high_ttl[direction] = max(self.high_ttl[direction], int(ttl.max()))
        if (facts & OUTGOING_BIT).any():
            self.outgoing[direction] = True

    @property
    def begins(self) -> bool:
        """Whether its first bytes are here. In a piece an answer to a SYN may not be the first that
        came: what its opener sent is in front of it. And a SYN that is not answered in it may be a
        copy of one in front of it, with what the other side said since."""
        one, other = self.flow.directions
        if self.torn:
            return self.flow.opened and one.began and other.began
        return self.flow.began

    @property
    def pending(self) -> int:
        first, second = self.flow.directions
        return first.pending + second.pending

    def judge(self, *, final: bool = False) -> None:
        """Ask the systems, with the bytes that have come.

        Args:
            final: no more will come, so these have to be enough.
        """
        if final:
            self.flow.wait_no_longer()
        pending = self.pending
        if pending < MIDDLE_BYTES and not final and not self.begins:
            self.next_try = MIDDLE_BYTES
            return
        prefixes = [
            ((direction.number, number), *prefix)
            for direction in self.flow.directions
            for number, prefix in enumerate(direction.prefixes())
        ]
        if not prefixes:
            return
        times = 2 if self.begins or pending >= MIDDLE_ENOUGH else MIDDLE_TIMES
        self.next_try = times * pending + 1
        verdict, system = choose(self.systems, prefixes, self.refused)
        if verdict == Match.YES:
            assert system is not None
            self.claim(system)
        elif verdict == Match.NO or pending > 2 * UNDECIDED_BYTES:
            self.state = NOBODY
        self.likely = verdict == Match.LIKELY

    def claim(self, system: StreamSystem) -> None:
        """It is this system's."""
        self.system = system
        self.state = OURS

    def settle(self, account: Account) -> None:
        """Count its ends: what goes where, and what that says about the vantage."""
        system = "" if self.system is None else self.system.system
        ends = self.connection.ends
        for direction in (0, 1):
            frames = self.sent[direction]
            if not frames:
                continue
            source, (address, port) = ends[direction][0], ends[1 - direction]
            account.add_endpoint(TCP, address, port, system, frames, self.wire_bytes[direction])
            if system:
                account.add_unicast(
                    source, address, self.low_ttl[direction], self.high_ttl[direction], frames
                )
                if self.outgoing[direction]:
                    account.add_outgoing(source)
                bare, right, wrong = self.marks[direction][BARE:]
                account.add_sender((source, TCP), ChecksumCounts(bare, right, wrong, speaks=True))
        if not system:
            account.count(FrameOutcome.OTHER, self.frames)
            if self.wrongly is not None:  # then the job is done again, without them
                source = ends[self.wrongly][0]
                account.add_sender((source, TCP), ChecksumCounts(wrong=1))
                self.wrongly = None


class Placed:
    """The feeds over TCP: their connections are known by where they are."""

    def __init__(self, settings: DecodeSettings, systems: Mapping[str, StreamSystem]) -> None:
        self._places = [
            (place, systems[feed.over_tcp])
            for feed in settings.feeds
            if feed.over_tcp in systems
            for place in feed.match
        ]

    def __bool__(self) -> bool:
        return bool(self._places)

    def of(self, ends: tuple[End, End]) -> StreamSystem | None:
        """Whose the connection between two ends is; null: no place says it."""
        return next((system for place, system in self._places if place.joins(ends)), None)


class FlowTable:
    """Open flows by capture and carrier.

    Args:
        systems: those that are asked, by name.
        torn: segments are those of a piece.
    """

    def __init__(
        self, settings: DecodeSettings, systems: Mapping[str, StreamSystem], *, torn: bool = False
    ) -> None:
        self._torn = torn
        self._systems = [system for name, system in systems.items()
                         if name not in settings.no_decode]  # fmt: skip
        self._forced = {
            port: systems[name] if name in systems and name not in settings.no_decode else None
            for transport, port, name in settings.decode_as
            if transport == "tcp"
        }
        self._placed = Placed(settings, systems)
        self.flows: dict[Key, Tracked] = {}

    @property
    def idle(self) -> bool:
        """No system could claim anything."""
        return not self._systems

    def open(self, key: Key, split: int) -> Tracked:
        """A new flow under this key."""
        tracked = self.flows[key] = Tracked(key, split, self._systems, torn=self._torn)
        if self._forced:
            ports = [port for _, port in tracked.connection.ends]
            for port in ports:
                if port in self._forced:
                    system = self._forced[port]
                    if system is None:
                        tracked.state = NOBODY
                    else:
                        tracked.claim(system)
                    return tracked
        named = self._placed.of(tracked.connection.ends)
        if named is not None:
            tracked.claim(named)
        return tracked

    def is_new(self, tracked: Tracked, segment: Segment) -> bool:
        """Whether a segment begins another connection on the ports of a known one."""
        if not segment.flags & SYN:
            return False
        if tracked.state == NOBODY:
            return not segment.flags & ACK
        return tracked.flow.begins_anew(segment)
