"""One direction of a TCP connection: its bytes in order and once, and the holes between them
(``connection`` says which rules these follow)."""

from __future__ import annotations

from array import array
from bisect import insort
from collections import deque
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import numpy as np

from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.tcp.framing import Framing
from seqaudit.decoders.tcp.wire import FARTHEST, HALF, MASK, MOST_SENT

GRACE_NS: Final = 1_000_000_000
EARLY_BYTES: Final = 1 << 20
EARLY_NS: Final = 30_000_000_000
#: Last bytes of a direction that are kept to compare repeated ones with.
RECENT_BYTES: Final = 1 << 16

DECODED: Final = int(FrameOutcome.DECODED)
TRUNCATED: Final = int(FrameOutcome.TRUNCATED)
UNDECODABLE: Final = int(FrameOutcome.UNDECODABLE)
_ALL_DECODED: Final = bytes([DECODED])

#: What became of the bytes of the first waiting part that are gone already.
FRESH: Final = 0  # none are gone
USED: Final = 1  # some are in frames
UNUSED: Final = 2  # none is


class AheadSegment(NamedTuple):
    """A segment that came before bytes in front of it; ordered by position, then by arrival."""

    position: int
    frame: int
    at_ns: int
    length: int
    payload: bytes


class MissingBytes(NamedTuple):
    """Bytes that the capture does not have."""

    direction: int
    length: int
    frame: int  # the last one before it, in stream order
    at_ns: int
    next_frame: int  # the first one behind it; 0: none
    cut: bool  # by the snap length
    acked: bool  # the other side had them


class TakenFrames(NamedTuple):
    """Frames that ``Direction.take`` found; columns, and what is needed to settle fates."""

    data: bytes
    start: Int64s
    stop: Int64s
    kind: Int64s
    frame: Int64s
    at_ns: Int64s
    release: Int64s  # the capture frame whose arrival let these bytes be read
    lost: Int64s
    part: Int64s  # place in ``fates`` of the part that completes it; len(fates): not closed yet
    refused: Int64s  # 1: only a RST answered the part that completes it
    fates: bytearray  # FrameOutcome of the parts that are done with
    skipped_bytes: int
    resyncs: int


class _Recent:
    """The last parts of a direction, ``RECENT_BYTES`` at most, to compare repeated ones with."""

    __slots__ = ("_blocks", "_size")

    def __init__(self) -> None:
        #: Position, bytes, and where each part of them ends; null: they are one part.
        self._blocks: deque[tuple[int, bytes, Int64s | None]] = deque()
        self._size = 0

    def add(self, position: int, payload: bytes, ends: Int64s | None = None) -> None:
        """Parts that came at ``position``; a block goes when none of its parts is kept any more."""
        if ends is not None and len(payload) > RECENT_BYTES:
            first = int(np.searchsorted(ends, len(payload) - RECENT_BYTES))
            begin = int(ends[first])
            position, payload, ends = position + begin, payload[begin:], ends[first + 1 :] - begin
            self._blocks.clear()
            self._size = 0
        self._blocks.append((position, payload, ends))
        self._size += len(payload)
        while self._size - len(self._blocks[0][1]) >= RECENT_BYTES:
            self._size -= len(self._blocks.popleft()[1])

    def differ(self, position: int, payload: bytes) -> bool:
        """Whether any bytes are known to be others."""
        stop = position + len(payload)
        size = 0
        for start, known, ends in reversed(self._blocks):
            if start + len(known) <= position:
                break
            size += len(known)
            begin = start
            if size > RECENT_BYTES:  # only some parts of it are kept, if it has several
                if ends is None:
                    break
                begin += int(ends[np.searchsorted(ends, size - RECENT_BYTES)])
            low, high = max(begin, position), min(start + len(known), stop)
            if low < high and (
                known[low - start : high - start] != payload[low - position : high - position]
            ):
                return True
        return False


class Direction:
    """One direction of a connection."""

    __slots__ = (
        "_ats", "_breaks", "_data", "_done_at", "_done_frame", "_fates", "_frames", "_head",
        "_lost_before", "_recent", "_refusals", "_releases", "_sizes", "acked",
        "acked_since_ns", "base", "began", "counts", "early", "early_bytes", "fin", "isn",
        "missing", "next", "number", "sent", "wanted",
    )  # fmt: skip

    def __init__(self, number: int, counts: dict[str, int]) -> None:
        self.number = number
        self.counts = counts  # of the connection
        self.isn: int | None = None
        self.base: int | None = None  # position of the first byte that was to come
        self.next: int | None = None  # of the next byte; null: nothing came yet
        self.began = False  # its SYN was captured
        self.fin: int | None = None  # position behind its last byte
        self.acked = 0  # highest position that the other side has acknowledged
        self.acked_since_ns: int | None = None  # since when that is beyond ``next``
        self.sent = 0  # position behind all that it had sent when it reset the connection
        self.early: list[AheadSegment] = []
        self.early_bytes = 0
        self.wanted = 1
        self._data = bytearray()  # parts that wait to be taken: their bytes,
        self._sizes = array("q")  # and a number of each a part
        self._frames = array("q")  # capture frame of the part, of its predecessors if later
        self._ats = array("q")
        self._releases = array("q")
        self._fates = bytearray()
        self._refusals = bytearray()  # whether only a RST answered the part
        self._breaks: list[tuple[int, int]] = []  # place in parts, bytes missing before it
        self._done_frame = 0
        self._done_at = 0
        self._head = FRESH
        self._lost_before = 0
        self.missing = 0  # bytes behind the last frame that were acknowledged and are not here
        self._recent = _Recent()

    @property
    def pending(self) -> int:
        """Bytes in parts."""
        return len(self._data)

    @property
    def late(self) -> bool:
        """Something waits for bytes in front of it, or was acknowledged without having come."""
        return self.acked_since_ns is not None or bool(self.early)

    def synchronise(self, seq: int) -> None:
        """Its SYN: the next byte is the first."""
        self.isn = seq
        if self.next is None:
            self.base = self.next = seq + 1
            self.began = True

    def data(
        self,
        frame: int,
        at_ns: int,
        seq: int,
        length: int,
        payload: bytes,
        holes: list[MissingBytes],
        *,
        refused: bool = False,
    ) -> bool:
        """A segment with bytes. Whether the capture frame is now one of a part's.

        Args:
            length: bytes on the wire; ``payload`` is shorter where the snap length cut it.
            refused: nothing but a RST answers it.
        """
        expected = self.next
        if expected is None:
            expected = self.base = self.next = seq
        ahead = (seq - expected) & MASK
        if ahead:
            if ahead >= HALF:
                behind = MASK + 1 - ahead
                if behind >= length:
                    return self._repeated(expected - behind, length, payload, behind)
                self.counts["overlaps"] += 1
                self._compare(expected - behind, payload)
                payload = payload[behind:]
                length -= behind
            elif ahead > FARTHEST:
                self.counts["strays"] += 1
                return False
            else:
                return self._wait(AheadSegment(expected + ahead, frame, at_ns, length, payload))
        self._append(frame, at_ns, frame, length, payload, holes, refused=refused)
        if self.early:
            self._drain(frame, holes)
        if self.acked_since_ns is not None and self.next is not None and self.next >= self.acked:
            self.acked_since_ns = None
        return True

    def follow(self, frames: Int64s, at_ns: Int64s, sizes: Int64s, payload: bytes) -> None:
        """Segments that each follow the one before, with nothing missing and nothing waiting.

        Args:
            sizes: of the segments in ``payload``, none of which is empty.
        """
        assert self.next is not None and not self.late
        count = len(sizes)
        self._recent.add(self.next, payload, np.cumsum(sizes))
        self._data += payload
        self._sizes.frombytes(sizes.tobytes())
        self._frames.frombytes(frames.tobytes())
        self._ats.frombytes(at_ns.tobytes())
        self._releases.frombytes(frames.tobytes())
        self._fates += _ALL_DECODED * count
        self._refusals += bytes(count)
        self._done_frame, self._done_at = int(frames[-1]), int(at_ns[-1])
        self.next += len(payload)

    def acknowledged(self, ack: int, at_ns: int) -> None:
        """The other side has everything below ``ack``."""
        if self.next is None:
            return
        beyond = (ack - self.next) & MASK
        if 0 < beyond < FARTHEST:
            self.acked = max(self.acked, self.next + beyond)
            if self.acked_since_ns is None:
                self.acked_since_ns = at_ns

    def resets(self, seq: int) -> None:
        """Its RST, whose number follows all that it had sent, or that the other side had (RFC 9293
        3.5.2). One that is further ahead than a sender can be is none of this connection's: it was
        forged, or is of an older one."""
        if self.next is None:
            return
        known = max(self.next, self.acked if self.acked_since_ns is not None else 0)
        ahead = (seq - self.next) & MASK
        if ahead < FARTHEST and self.next + ahead <= known + MOST_SENT:
            self.sent = self.next + ahead

    def give_up(
        self, frame: int, at_ns: int, holes: list[MissingBytes], *, at_end: bool = False
    ) -> None:
        """Declare holes for what will not come any more (see the module)."""
        while self.early:
            assert self.next is not None
            missed, first = self.next, self.early[0].position
            waited = at_ns - min(early.at_ns for early in self.early[:8])
            known = self.acked_since_ns is not None and self.acked >= first
            patient = self.acked_since_ns is None or at_ns - self.acked_since_ns <= GRACE_NS
            if not (
                (known and (at_end or not patient))
                or self.early_bytes > EARLY_BYTES
                or (waited > EARLY_NS and not at_end)
            ):
                break
            self._miss(first - self.next, self.early[0].frame, holes, acked=known)
            if not known:
                self.counts["unacked_holes"] += 1
                self.counts["unacked_hole_bytes"] += first - missed
            self._drain(frame, holes)
        if self.next is None or self.acked_since_ns is None:
            return
        if self.next >= self.acked:
            self.acked_since_ns = None
        elif at_end or (not self.early and at_ns - self.acked_since_ns > GRACE_NS):
            missing = self.acked - self.next
            if (
                missing > 1 or not at_end
            ):  # one at the end is most likely a FIN, which counts as one
                self._miss(missing, 0, holes)
            self.acked_since_ns = None

    def finish(self, frame: int, at_ns: int, holes: list[MissingBytes]) -> list[int]:
        """The capture ends, or another connection follows: the frames of what stays unread."""
        self.give_up(frame, at_ns, holes, at_end=True)
        if unseen := 0 if self.early else self._unseen():
            self._miss(unseen, 0, holes, acked=False)
            self.counts["unacked_holes"] += 1
            self.counts["unacked_hole_bytes"] += unseen
        left = [early.frame for early in self.early]
        self.counts["unread_bytes"] += self.early_bytes
        self.early = []
        self.early_bytes = 0
        self._recent = _Recent()
        return left

    def _unseen(self) -> int:
        """Bytes that its FIN, or its RST, says to have been sent and that did not come."""
        if self.next is None:
            return 0
        if self.fin is not None and 0 <= self.fin - self.next < FARTHEST:
            return self.fin - self.next
        unseen = self.sent - self.next
        return unseen if unseen > 1 else 0  # one is most likely a FIN

    def prefixes(self) -> list[tuple[bytes, bool]]:
        """The stretches without holes that wait, and whether they begin the stream."""
        ends = [0, *accumulate(self._sizes)]
        borders = [0, *(ends[place] for place, _ in self._breaks), len(self._data)]
        with memoryview(self._data) as waiting:  # a slice of a bytearray would be copied twice
            found = [
                (bytes(waiting[low:high]), self.began and number == 0)
                for number, (low, high) in enumerate(pairwise(borders))
            ]
        return [stretch for stretch in found if stretch[0]]

    def take(self, framing: Framing, *, final: bool) -> list[TakenFrames]:
        """The frames in what waits, a stretch without holes at a time."""
        found: list[TakenFrames] = []
        breaks, self._breaks = self._breaks, []
        parts = size = 0  # that are done with
        for place, missing in breaks:
            if place > parts:
                taken, _, consumed = self._take(framing, parts, place, size, final=True)
                found.append(taken)
                parts, size = place, size + consumed
            framing.lost()
            self._lost_before += missing
            self.missing += missing
            self.wanted = 1
        self._drop(parts, size)
        if self._sizes and (final or self.pending >= self.wanted):
            taken, parts, size = self._take(framing, 0, len(self._sizes), 0, final=final)
            found.append(taken)
            self._drop(parts, size)
        return found

    def unfinish(self, outcome: int) -> None:
        """A frame that was no good ends within the part that stays: the part shares its fate."""
        if self._fates and self._fates[0] == DECODED:
            self._fates[0] = outcome

    def _append(
        self,
        frame: int,
        at_ns: int,
        release: int,
        length: int,
        payload: bytes,
        holes: list[MissingBytes],
        *,
        refused: bool = False,
    ) -> None:
        assert self.next is not None
        if frame < self._done_frame:
            frame, at_ns = self._done_frame, self._done_at
        else:
            self._done_frame, self._done_at = frame, at_ns
        size = len(payload)
        if size:
            self._recent.add(self.next, payload)
        self._data += payload
        self._sizes.append(size)
        self._frames.append(frame)
        self._ats.append(at_ns)
        self._releases.append(release)
        self._fates.append(DECODED if size >= length else TRUNCATED)
        self._refusals.append(refused)
        self.next += size
        if size < length:
            self._miss(length - size, 0, holes, cut=True)

    def _miss(
        self, length: int, next_frame: int, holes: list[MissingBytes], *, cut: bool = False,
        acked: bool = True,
    ) -> None:  # fmt: skip
        assert self.next is not None
        self.next += length
        self.counts["holes"] += 1
        self.counts["hole_bytes"] += length
        holes.append(
            MissingBytes(
                self.number, length, self._done_frame, self._done_at, next_frame, cut, acked
            )
        )
        if self._breaks and self._breaks[-1][0] == len(self._sizes):
            length += self._breaks.pop()[1]
        self._breaks.append((len(self._sizes), length))

    def _wait(self, early: AheadSegment) -> bool:
        self.counts["out_of_order"] += 1
        insort(self.early, early)
        self.early_bytes += early.length
        return True

    def _drain(self, release: int, holes: list[MissingBytes]) -> None:
        """Append what has waited and now follows."""
        assert self.next is not None
        while self.early and self.early[0].position <= self.next:
            position, frame, at_ns, length, payload = self.early.pop(0)
            self.early_bytes -= length
            behind = self.next - position
            if behind:
                self._compare(position, payload)
                self.counts["retransmitted_segments" if behind >= length else "overlaps"] += 1
            # one without new bytes is a part too: an empty one, so that its frame has a fate
            self._append(frame, at_ns, release, max(0, length - behind), payload[behind:], holes)

    def _repeated(self, position: int, length: int, payload: bytes, behind: int) -> bool:
        if length <= 1 and behind == 1:
            self.counts["keep_alives"] += 1
        else:
            self.counts["retransmitted_segments"] += 1
            self._compare(position, payload)
        return False

    def _compare(self, position: int, payload: bytes) -> None:
        """Count bytes for known positions that differ from those that came first."""
        if self._recent.differ(position, payload):
            self.counts["conflicts"] += 1

    def _take(
        self, framing: Framing, first: int, stop: int, begin: int, *, final: bool
    ) -> tuple[TakenFrames, int, int]:
        """The frames of some parts, which are contiguous; how many parts and bytes are done with.

        Args:
            begin: place of the first one's bytes.
        """
        sizes = np.array(self._sizes[first:stop])
        ends = np.cumsum(sizes)
        with memoryview(self._data) as waiting:
            data = bytes(waiting[begin : begin + int(ends[-1])])
        split = framing.split(data, final)
        consumed = len(data) if final else split.consumed
        # A part is done with when all its bytes are; an empty one with those before it.
        closed = int(np.searchsorted(ends, consumed, "right"))
        which = np.searchsorted(ends, split.stops, "left")
        fates = self._fates[first : first + closed]
        skipped = [*split.skipped]
        if final and split.consumed < len(data):
            skipped.append((split.consumed, len(data)))
        if consumed:
            self._mark_unused(skipped, ends, consumed, fates)
        frames = np.array(self._frames[first:stop])
        ats = np.array(self._ats[first:stop])
        releases = np.array(self._releases[first:stop])
        taken = TakenFrames(
            data=data,
            start=split.starts,
            stop=split.stops,
            kind=split.kinds,
            frame=frames[which],
            at_ns=ats[which],
            release=releases[which],
            lost=self._lost_bytes(split.starts, skipped),
            part=which,
            refused=np.frombuffer(self._refusals[first:stop], np.uint8).astype(np.int64)[which],
            fates=fates,
            skipped_bytes=sum(high - low for low, high in skipped),
            resyncs=split.resyncs,
        )
        self.wanted = 1 if final else split.wanted
        return taken, closed, consumed

    def _drop(self, parts: int, size: int) -> None:
        """Parts that are done with, and bytes, which may end within the part behind them."""
        within = size - sum(self._sizes[:parts])
        for column in (self._sizes, self._frames, self._ats, self._releases):
            del column[:parts]
        del self._fates[:parts], self._refusals[:parts], self._data[:size]
        if within:
            self._sizes[0] -= within

    def _lost_bytes(self, starts: Int64s, skipped: list[tuple[int, int]]) -> Int64s:
        """Per frame the bytes lost since the frame before."""
        lost = np.zeros(len(starts), np.int64)
        if len(starts):
            lost[0] = self._lost_before
            self._lost_before = self.missing = 0
        for low, high in skipped:
            place = int(np.searchsorted(starts, high, "left"))
            if place < len(starts):
                lost[place] += high - low
            else:
                self._lost_before += high - low
        return lost

    def _mark_unused(
        self, skipped: list[tuple[int, int]], ends: Int64s, consumed: int, fates: bytearray
    ) -> None:
        """Parts of which no frame has a byte are undecodable, whatever calls show them."""
        head, self._head = self._head, FRESH
        begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        unused = np.zeros(len(ends), np.bool_)
        if skipped:
            covered = np.zeros(len(ends), np.int64)
            for low, high in skipped:
                covered += np.maximum(np.minimum(ends, high) - np.maximum(begins, low), 0)
            unused = (covered > 0) & (covered == np.minimum(ends, consumed) - begins)
            unused[0] &= head != USED
        closed = len(fates)
        for place in np.flatnonzero(unused[:closed]).tolist():
            if fates[place] == DECODED:
                fates[place] = UNDECODABLE
        if closed < len(ends) and consumed > begins[closed]:
            self._head = UNUSED if unused[closed] else USED
