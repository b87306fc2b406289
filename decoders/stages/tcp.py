"""TCP in the two stages (decoders/README.md 3): segments shipped by the first, decoded by the
second.

``Sniffer`` serves a piece of a capture. It ships the segments of flows that it recognises, gives
those of others back to the piece's account, and tells the driver which is which: where one piece
shipped a flow of which another withheld segments, the job runs again with that flow named in
``DecodeSettings.carriers`` (as with the starts of pieces: a guess, then the proof).

``TcpAssembler`` decides and decodes: in the second stage, or in a piece that is a whole capture.

Every frame of a recognised flow is counted once: handshakes, ACKs and repetitions as decoded; a
frame with bytes of its own as what became of them: undecodable where they are in no frame of the
protocol, or as the first protocol frame that it completes and that is no good. Frames of other
flows are other, whoever saw them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.event_columns import grouped
from seqaudit.decoders.contract.events import FRAME_BITS
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import COMPILE_FROM_RECORDS
from seqaudit.decoders.network.account import Account, Accounts
from seqaudit.decoders.network.account_rows import ShippedDetail
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.tcp.connection import COUNTERS, Flow
from seqaudit.decoders.tcp.direction import DECODED, UNDECODABLE, MissingBytes, TakenFrames
from seqaudit.decoders.tcp.flows import (
    MIDDLE_BYTES,
    NOBODY,
    OURS,
    UNDECIDED,
    FlowTable,
    Tracked,
)
from seqaudit.decoders.tcp.framing import (
    ConnectionEnd,
    StreamDecoder,
    StreamFrames,
    StreamSystem,
)
from seqaudit.decoders.tcp.merging import merged
from seqaudit.decoders.tcp.runs import FEW, Runs
from seqaudit.decoders.tcp.segments import (
    LEFT,
    WANTED,
    WIRE_KIND,
    Key,
    SegmentFinder,
    Segments,
    segments_of,
    socket_text,
)
from seqaudit.decoders.tcp.wire import SYN, Segment

#: Undecided flows at once, and the bytes they hold; beyond either the oldest is nobody's.
MAX_UNDECIDED: Final = 10_000
UNDECIDED_TOTAL: Final = 64 << 20
#: Bytes of recognised flows that wait before they are decoded.
BATCH_BYTES: Final = 4 << 20
#: Bytes of unfinished frames at once; beyond it the largest is given up.
HELD_BYTES: Final = 128 << 20
#: Holes told of one flow; the rest is counted.
MAX_PROBLEMS: Final = 100
#: Withheld flows named (by checksum) in a piece's account; with more, any may be among them.
MAX_WITHHELD: Final = 5_000

NO_FRAME: Final = "TCP bytes that belong to no frame"
UNREAD: Final = "TCP bytes behind a gap that nobody acknowledged"


def carrier_digest(carrier: str) -> int:
    """Stands for a carrier in lists of withheld ones."""
    return zlib.crc32(carrier.encode())


class Sniffer:
    """Which flows of a piece are shipped.

    Args:
        account: of the piece; takes back the frames that are not shipped.
        finder: told which flows to leave out from then on.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        systems: Mapping[str, StreamSystem],
        account: Account,
        finder: SegmentFinder,
    ) -> None:
        self._table = FlowTable(settings, systems, torn=True)
        self._carriers = settings.carriers
        self._account = account
        self._finder = finder
        self._held: dict[Key, list[Segment]] = {}  # undecided flows, oldest first
        self._held_bytes = 0
        self._shipped: set[str] = set()
        self._withheld: set[int] = set()
        self._withheld_more = False
        self._out: list[tuple[Key, Segment]] = []
        self._left: list[Key] = []  # withheld in this chunk: the finder still shows them

    def feed(self, segments: Segments) -> list[Segments]:
        """Take segments in; returns those to be shipped."""
        ours, rest = self._parted(segments)
        for key, segment in rest.one_by_one():
            self._take_in(key, segment)
        for key in self._left:
            del self._table.flows[key]
        self._left.clear()
        return [ours, *self._taken()] if ours.count else self._taken()

    def _parted(self, segments: Segments) -> tuple[Segments, Segments]:
        """Segments of flows that are shipped whatever comes, and the others."""
        flows = self._table.flows
        numbers, flow = grouped(segments.flow)
        shipped = np.zeros(len(numbers), np.bool_)
        for place, number in enumerate(numbers.tolist()):
            key = segments.keys[number]
            tracked = flows.get(key)
            shipped[place] = tracked is not None and tracked.state == OURS and key not in self._held
        if shipped.all():
            return segments, segments.take(flow[:0])
        ours = shipped[flow]
        return segments.take(np.flatnonzero(ours)), segments.take(np.flatnonzero(~ours))

    def _take_in(self, key: Key, segment: Segment) -> None:
        tracked = self._table.flows.get(key)
        if tracked is None or (
            tracked.state != OURS
            and self._table.is_new(tracked, segment)
            and not self._ended(key, tracked)
        ):
            if key in self._held:
                self._let_go(key)
            if self._left and key in self._left:  # the finder is to leave out the one before
                self._left.remove(key)
                self._finder.mark(key[1], WANTED)
            tracked = self._table.open(key, segment.frame >> FRAME_BITS)
            self._held[key] = []
            if key in self._carriers:
                tracked.state = OURS
        if tracked.state == OURS and key not in self._held:
            self._out.append((key, segment))
            return
        if tracked.state == NOBODY and key not in self._held:
            # of this chunk still; the finder leaves it out from the next on
            tracked.count(segment.direction, segment.facts)
            self._give_back(tracked)
            return
        self._held[key].append(segment)
        self._held_bytes += len(segment.payload)
        if tracked.state == UNDECIDED:
            tracked.feed(segment)
        else:
            tracked.count(segment.direction, segment.facts)
        if tracked.state == OURS:
            self._ship(key, proven=True)
        elif tracked.state == NOBODY and tracked.flow.closed and not tracked.flow.opened:
            self._ship(key, proven=False)  # its bytes may be in another piece
            tracked.state = OURS
        elif tracked.state == NOBODY:
            self._withhold(key)
        elif len(self._held) > MAX_UNDECIDED or self._held_bytes > UNDECIDED_TOTAL:
            self._withhold(next(iter(self._held)))

    def finish(self) -> list[Segments]:
        """The piece ends: what is likely, or has too little payload to tell, is shipped."""
        for key in list(self._held):
            tracked = self._table.flows[key]
            if not self._ended(key, tracked):
                self._let_go(key)
        return self._taken()

    def _let_go(self, key: Key) -> None:
        """No more of a held connection: with too little payload to tell it is shipped, as another
        piece may have what tells, and whatever was said of it for want of more is not believed.
        That may even be its first SYN, so that one which seems to end it here is only a
        repetition."""
        if self._table.flows[key].pending < MIDDLE_BYTES:
            self._ship(key, proven=False)
        else:
            self._withhold(key)

    def _ended(self, key: Key, tracked: Tracked) -> bool:
        """Ship a held connection of which nothing follows, if it is likely ours; was it?"""
        if key in self._held:
            tracked.judge(final=True)
            if tracked.state == OURS or tracked.likely:
                self._ship(key, proven=True)
                tracked.state = OURS
                return True
        return False

    def facts(self) -> ShippedDetail:
        """For the account of the piece: what was shipped with cause, and what was not."""
        return {
            "carriers": sorted(self._shipped),
            "withheld": sorted(self._withheld),
            "withheld_more": self._withheld_more,
        }

    def _taken(self) -> list[Segments]:
        out, self._out = self._out, []
        return [segments_of(out)] if out else []

    def _ship(self, key: Key, *, proven: bool) -> None:
        for segment in self._held.pop(key):
            self._out.append((key, segment))
            self._held_bytes -= len(segment.payload)
        self._table.flows[key].flow = _NO_FLOW
        if proven:
            self._shipped.add(key[1])

    def _withhold(self, key: Key) -> None:
        tracked = self._table.flows[key]
        tracked.state = NOBODY
        for segment in self._held.pop(key, ()):
            self._held_bytes -= len(segment.payload)
        self._give_back(tracked)
        tracked.flow = _NO_FLOW
        self._finder.mark(key[1], LEFT)
        self._left.append(key)
        self.refused([key])

    def refused(self, keys: Iterable[Key]) -> None:
        """Segments of these connections are not shipped; a first look has seen to the rest."""
        for key in keys:
            if len(self._withheld) >= MAX_WITHHELD:
                self._withheld_more = True
                return
            self._withheld.add(carrier_digest(key[1]))

    def _give_back(self, tracked: Tracked) -> None:
        tracked.system = None
        tracked.settle(self._account)
        tracked.frames = 0
        tracked.sent = [0, 0]
        tracked.wire_bytes = [0, 0]


_NO_FLOW: Final = Flow()


class TcpAssembler:
    """Puts flows together and decodes them.

    Args:
        by_carrier: segments come carrier by carrier, so that one flow is open at a time.
        compile_it: form of the kernels; null: the settings', or by the amount so far.
        finder: of a piece that is decoded in place: told which flows are nobody's.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        systems: Mapping[str, StreamSystem],
        *,
        by_carrier: bool = False,
        compile_it: bool | None = None,
        finder: SegmentFinder | None = None,
    ) -> None:
        self._table = FlowTable(settings, systems)
        self._by_carrier = by_carrier
        self._compile_it = settings.compile_it if compile_it is None else compile_it
        self._finder = finder
        self._ready = 0  # bytes of recognised flows since the last time they were decoded
        self._seen_bytes = 0
        self._undecided: dict[Key, Tracked] = {}  # oldest first
        self._undecided_bytes = 0
        self._decoders: dict[tuple[int, StreamSystem], tuple[StreamDecoder, int]] = {}
        self._accounts = Accounts()
        self._counts: dict[tuple[int, int], dict[str, int]] = {}
        self._claimed: dict[tuple[int, int], list[str]] = {}  # carriers of recognised flows
        self._batches: list[pa.RecordBatch] = []
        self._gone: list[Key] = []  # nobody's, found out in this call of ``feed``
        self._runs: Runs | None = None  # of this call, and the row that it is at
        self._row = 0

    def feed(self, segments: Segments) -> Iterator[pa.RecordBatch]:
        """Take segments in; yields rows of what they complete, and accounts."""
        flows = self._table.flows
        if segments.count < FEW:
            for key, segment in segments.one_by_one():
                self._take_in(key, flows.get(key), segment)
        else:
            self._runs = runs = Runs(segments, flows)
            row = 0
            while row < runs.count:
                row = self._next_odd(runs, row)
                if row < runs.count:
                    self._row = row
                    one = runs.row(row)
                    runs.take(one.flow, one.place)
                    key = runs.keys[one.flow]
                    runs.tracked[one.flow] = self._take_in(key, flows.get(key), one.segment)
                    runs.goes_on(one)
                    row += 1
            runs.take_all(runs.count)
            self._undecided_bytes += runs.undecided_bytes()
            self._runs = None
        for key in self._gone:
            if key in flows and flows[key].state == NOBODY:
                self._close(key)
        self._gone.clear()
        yield from self._flushed()

    def _next_odd(self, runs: Runs, row: int) -> int:
        """The next odd row; bytes of rows before it are decoded as they become enough."""
        odd = runs.next_odd(row)
        while self._ready + runs.bytes_of(row, odd) >= BATCH_BYTES and runs.any_counted(row, odd):
            row = runs.row_with(row, BATCH_BYTES - self._ready) + 1
            runs.take_all(row)
            self._decode_ready()
            odd = runs.next_odd(row)
        self._ready += runs.bytes_of(row, odd)
        return odd

    def _take_in(self, key: Key, tracked: Tracked | None, segment: Segment) -> Tracked:
        """Take one segment in; returns its flow."""
        length = segment.length
        if tracked is None or (segment.flags & SYN and self._table.is_new(tracked, segment)):
            tracked = self._open(key, segment.frame >> FRAME_BITS)
        was = tracked.state
        tracked.feed(segment)
        if was == OURS:
            self._ready += length
            if self._ready >= BATCH_BYTES:
                if self._runs is not None:
                    self._runs.take_all(self._row)
                self._decode_ready()
        elif was == UNDECIDED:
            self._undecided_bytes += length
            if self._runs is not None:
                self._undecided_bytes += self._runs.undecided_bytes()
            self._decide(key, tracked)
        return tracked

    def finish(self) -> Iterator[pa.RecordBatch]:
        """No more segments."""
        self._close_all()
        self._end_decoders()
        yield from self._flushed(final=True)

    def _open(self, key: Key, split: int) -> Tracked:
        if key in self._table.flows:
            self._close(key)
            if self._finder is not None:  # it is to leave out the one before
                self._finder.mark(key[1], WANTED)
        elif self._by_carrier:
            self._close_all()
            if self._decoders and key[0] not in {capture for capture, _ in self._decoders}:
                self._end_decoders()
        tracked = self._table.open(key, split)
        if tracked.state == UNDECIDED:
            self._undecided[key] = tracked
        return tracked

    def _decide(self, key: Key, tracked: Tracked) -> None:
        if tracked.state == UNDECIDED:
            if len(self._undecided) > MAX_UNDECIDED or self._undecided_bytes > UNDECIDED_TOTAL:
                oldest = next(iter(self._undecided))
                self._undecided[oldest].state = NOBODY
                self._settled(oldest)
            return
        self._settled(key)

    def _settled(self, key: Key) -> None:
        """A flow is no longer undecided."""
        tracked = self._undecided.pop(key)
        pending = tracked.pending
        self._undecided_bytes = max(0, self._undecided_bytes - pending)
        if not self._undecided:
            self._undecided_bytes = 0
        if tracked.state == OURS:
            self._ready += pending
            return
        tracked.flow = _NO_FLOW  # its bytes
        if self._finder is not None:
            self._finder.mark(key[1], LEFT)
            self._gone.append(key)

    def _close_all(self) -> None:
        for key in list(self._table.flows):
            self._close(key)

    def _close(self, key: Key) -> None:
        """No more segments of this flow."""
        if self._runs is not None:
            self._runs.end(key, self._row)
        tracked = self._table.flows.pop(key)
        if tracked.state == UNDECIDED:
            tracked.judge(final=True)
            if tracked.state == UNDECIDED:
                tracked.state = NOBODY
            self._settled(key)
        account = self._accounts.of(key[0], tracked.split)
        if tracked.state == OURS:
            flow, endings = tracked.flow, tracked.flow.endings()
            left = flow.finish()
            tracked.kept -= flow.unkept
            tracked.connection.end = ConnectionEnd(
                flow.last_frame, flow.last_at, flow.reset, endings
            )
            self._decode(tracked, final=True)
            account.count(FrameOutcome.UNDECODABLE, len(left), UNREAD)
            account.count(FrameOutcome.DECODED, tracked.frames - tracked.kept)
            self._claimed.setdefault((key[0], tracked.split), []).append(key[1])
            counts = self._counts_of(tracked)
            counts["flows"] += 1
            for name in COUNTERS:
                counts[name] += tracked.flow.counts[name]
        tracked.settle(account)

    def _decode_ready(self) -> None:
        self._ready = 0
        waiting: list[tuple[int, Tracked]] = []
        held = 0
        for tracked in self._table.flows.values():
            if tracked.state == OURS:
                if tracked.pending or tracked.flow.holes:
                    self._decode(tracked, final=False)
                if tracked.pending:
                    held += tracked.pending
                    waiting.append((tracked.pending, tracked))
        waiting.sort(key=lambda item: item[0])
        while held > HELD_BYTES and waiting:  # a frame of that size is believed by nobody else
            size, largest = waiting.pop()
            held -= size
            for direction in largest.flow.directions:
                direction.wanted = 1
            self._decode(largest, final=True)
            for framing in largest.framings:
                framing.lost()

    def _decode(self, tracked: Tracked, *, final: bool) -> None:
        """Frames that are complete, through the system's decoder; what became of their bytes."""
        assert tracked.system is not None
        if not tracked.framings:
            tracked.framings = [
                tracked.system.framing(direction.began, compile_it=self._compiled())
                for direction in tracked.flow.directions
            ]
        one, other = tracked.flow.directions
        tracked.connection.opener = tracked.flow.opener
        tracked.connection.began = one.began, other.began
        taken = [
            direction.take(framing, final=final)
            for direction, framing in zip(tracked.flow.directions, tracked.framings, strict=True)
        ]
        self._tell_holes(tracked)
        tracked.connection.missing = one.missing, other.missing
        frames = merged(tracked, taken, compile_it=self._compiled())
        if frames.count or tracked.connection.ended:
            self._batches += self._decoder(tracked).decode(frames)
        self._settle_parts(tracked, taken, frames)
        self._seen_bytes += len(frames.data)

    def _settle_parts(
        self, tracked: Tracked, taken: list[list[TakenFrames]], frames: StreamFrames
    ) -> None:
        account = self._accounts.of(tracked.connection.capture, tracked.split)
        counts = self._counts_of(tracked)
        messages = 0
        for number, stretches in enumerate(taken):
            outcomes = frames.outcome[np.flatnonzero(frames.direction == number)]
            messages += len(outcomes)
            at = 0
            for stretch in stretches:
                counts["skipped_bytes"] += stretch.skipped_bytes
                counts["resyncs"] += stretch.resyncs
                fates = stretch.fates
                unused = fates.count(UNDECODABLE)
                if unused:
                    account.count(FrameOutcome.UNDECODABLE, 0)
                    account.undecoded[NO_FRAME] = account.undecoded.get(NO_FRAME, 0) + unused
                own = outcomes[at : at + len(stretch.start)]
                at += len(stretch.start)
                for place in np.flatnonzero(own != DECODED).tolist():
                    part = int(stretch.part[place])
                    if part >= len(fates):
                        tracked.flow.directions[number].unfinish(int(own[place]))
                    elif fates[part] == DECODED:
                        fates[part] = int(own[place])
                for outcome in FrameOutcome:
                    account.count(outcome, fates.count(outcome))
        counts["frames"] += messages

    def _tell_holes(self, tracked: Tracked) -> None:
        for hole in tracked.flow.holes:
            tracked.problems += 1
            if tracked.problems <= MAX_PROBLEMS:
                self._tell_hole(tracked, hole)
        tracked.flow.holes.clear()

    def _tell_hole(self, tracked: Tracked, hole: MissingBytes) -> None:
        ends = tracked.connection.ends
        assert tracked.system is not None
        where = "behind it" if hole.frame else "before it"
        how = "cut by the snap length" if hole.cut else f"not captured {where}"
        detail = {
            "what": f"TCP bytes {how}",
            "source": socket_text(*ends[hole.direction]),
            "destination": socket_text(*ends[1 - hole.direction]),
            "system": tracked.system.system,
            "bytes": hole.length,
            "acked": hole.acked,
        }
        frames = hole.frame or hole.next_frame, hole.next_frame or hole.frame
        if any(frames):  # only an ACK tells of what nothing stands beside
            self._accounts.problem(
                tracked.connection.capture, WIRE_KIND, frames, hole.at_ns, detail, size=hole.length
            )

    def _decoder(self, tracked: Tracked) -> StreamDecoder:
        assert tracked.system is not None
        key = tracked.connection.capture, tracked.system
        if key not in self._decoders:
            self._decoders[key] = tracked.system.decoder(), tracked.split
        return self._decoders[key][0]

    def _end_decoders(self) -> None:
        for (capture, _), (decoder, split) in sorted(
            self._decoders.items(), key=lambda item: (item[0][0], item[0][1].system)
        ):
            self._batches.append(Account(capture, split, []).row({}, [decoder.account()]))
        self._decoders = {}

    def _counts_of(self, tracked: Tracked) -> dict[str, int]:
        key = tracked.connection.capture, tracked.split
        if key not in self._counts:
            names = ("flows", "frames", "skipped_bytes", "resyncs", *COUNTERS)
            self._counts[key] = dict.fromkeys(names, 0)
        return self._counts[key]

    def _compiled(self) -> bool:
        if self._compile_it is not None:
            return self._compile_it
        return (self._seen_bytes + self._ready) // 100 >= COMPILE_FROM_RECORDS

    def _flushed(self, *, final: bool = False) -> Iterator[pa.RecordBatch]:
        batches, self._batches = self._batches, []
        yield from batches
        yield from self._accounts.told_problems()
        if final or len(self._accounts) > MAX_PROBLEMS:
            for key, account in self._accounts.taken_out():
                counts = self._counts.pop(key, None)
                claimed = sorted(self._claimed.pop(key, []))
                shipped = ShippedDetail(carriers=claimed, withheld=[], withheld_more=False)
                more = {"shipped": shipped} if claimed else {}
                yield account.row(more, [{"tcp": counts}] if counts else [])
