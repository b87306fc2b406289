"""Feeds that TCP carries: frames instead of datagrams (decoders/README.md 5).

A connection is a feed's because its place says so. Its frames go to a feed decoder as datagrams do,
each direction as a place of its own. Behind bytes that were not captured a feed is in step again
where frames begin with a byte of their own and follow each other; one without has to wait for
another connection.

Where a message at the begin of a connection tells the session and the first number (``login``),
each message of data takes the next one. The kernel then reads frames with these in front of them
(``_Login``). Of a direction of which bytes are missing nobody knows the number any more: its frames
are undecodable until another login.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.feed_layout import (
    Condition,
    Feed,
    Field,
    FrameLayout,
    Is,
    Route,
    Type,
)
from seqaudit.decoders.contract.settings import FEED, DecodeSettings
from seqaudit.decoders.feeds import framing_kernels as k
from seqaudit.decoders.feeds.datagrams import FeedDecoder
from seqaudit.decoders.kernels.loader import (
    Argument,
    Buffer,
    Int64s,
    argument,
    data_argument,
    kernel,
)
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.tcp.framing import (
    MESSAGE,
    Match,
    Split,
    StreamFrames,
    no_frames,
)
from seqaudit.decoders.tcp.traces import Heads, Traces

#: ``kind`` of a message of lines of text, between frames.
TEXT: Final = 1
#: Frames found in one call of the kernel.
FRAMES: Final = 1 << 16
#: So many frames in a row show where frames are.
IN_A_ROW: Final = 4
#: Bytes of a text's lines, and of what they announce.
MOST_TEXT: Final = 64 << 10
MOST_BODY: Final = 4 << 20
_ANNOUNCED: Final = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,8})[ \t]*\r\n", re.IGNORECASE)

#: Bytes of a told number in front of a frame.
_NUMBER_BYTES: Final = 8
_NOT_TOLD: Final = "a number that only bytes before tell, which were not captured"
_EVERYWHERE: Final = (Route("0.0.0.0/0"), Route("::/0"))

Bools = npt.NDArray[np.bool_]


class FeedStreams:
    """StreamSystem of one feed: connections at its places."""

    system: Final = FEED
    traces: Final = Traces(0)

    def __init__(self, feed: Feed, settings: DecodeSettings) -> None:
        assert feed.framing is not None, "TCP carries it"
        self._feed, self._frame = feed, feed.framing
        self._settings = settings

    def recognise(self, prefix: bytes, began: bool) -> Match:
        """Nothing but the place says whose a connection is."""
        return Match.NO

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]:
        """All."""
        return np.ones(len(heads.sizes), np.bool_)

    def framing(self, began: bool, *, compile_it: bool) -> FeedFraming:
        return FeedFraming(self._frame, began, compile_it=compile_it)

    def decoder(self) -> FeedStreamDecoder:
        return FeedStreamDecoder(self._feed, self._settings)


class FeedFraming:
    """Framing of one direction. Out of step, it looks for frames in a row."""

    def __init__(self, framing: FrameLayout, began: bool, *, compile_it: bool) -> None:
        self._framing = framing
        self._in_step = began
        self._compile_it = compile_it
        self._kernel = kernel("feeds.framing_kernels", compile_it=compile_it)
        self._said = (
            framing.offset, framing.width, int(framing.big_endian), framing.adds, framing.begins,
        )  # fmt: skip

    def lost(self) -> None:
        self._in_step = False

    def split(self, data: bytes, final: bool) -> Split:
        found: list[tuple[Int64s, Int64s, int]] = []
        skipped: list[tuple[int, int]] = []
        at = resyncs = 0
        wanted = 1
        room = np.empty((2, min(FRAMES, len(data) // 2 + 1)), np.int64)
        buffer = data_argument(data, compile_it=self._compile_it)
        while at < len(data):
            if not self._in_step:
                begin, wanted = self._search(data, buffer, at, final=final)
                if begin > at:
                    skipped.append((at, begin))
                at = begin
                if wanted:
                    break
                self._in_step = True
                resyncs += 1
            starts, stops, at, why, wanted = self._walk(buffer, at, len(data), room)
            if len(starts):
                found.append((starts, stops, MESSAGE))
            if why == k.SHORT:
                break
            if why == k.LOST:
                end, wanted = self._text(data, at)
                if wanted:
                    break
                if end > at:
                    found.append((np.array([at]), np.array([end]), TEXT))
                self._in_step = end > at
                if not self._in_step:  # not here again
                    skipped.append((at, at + 1))
                at = max(end, at + 1)
        if final and at < len(data):
            skipped.append((at, len(data)))
            at = len(data)
        if not found:
            return Split(*no_frames(), at, max(wanted, 1), skipped, resyncs)
        kinds = np.repeat([kind for *_, kind in found], [len(starts) for starts, *_ in found])
        first, last = (np.concatenate([part[n] for part in found]) for n in (0, 1))
        return Split(first, last, kinds, at, max(wanted, 1), skipped, resyncs)

    def _walk(
        self, buffer: Argument | Buffer, at: int, stop: int, room: Int64s
    ) -> tuple[Int64s, Int64s, int, int, int]:
        """Frames from ``at``: their starts and stops, where the next begins, why it stopped, and
        bytes wanted there."""
        arrays = [argument(column, compile_it=self._compile_it) for column in room]
        count, at, why, wanted = self._kernel.walk(
            buffer, at, stop, *self._said, *arrays, room.shape[1]
        )
        starts, stops = room[:, :count].copy()
        return starts, stops, int(at), int(why), int(wanted)

    def _search(
        self, data: bytes, buffer: Argument | Buffer, at: int, *, final: bool
    ) -> tuple[int, int]:
        """Where frames are in step again, and bytes wanted there to tell; 0: they are."""
        begins = self._framing.begins
        if begins < 0:
            return len(data), 1
        room = np.empty((2, IN_A_ROW), np.int64)
        while (at := data.find(begins, at)) >= 0:
            _, _, stopped, why, more = self._walk(buffer, at, len(data), room)
            if why == k.FULL:
                return at, 0
            if why == k.SHORT and not final:
                return at, stopped - at + more
            at += 1
        return len(data), 1

    def _text(self, data: bytes, at: int) -> tuple[int, int]:
        """Where a message of text that begins at ``at`` ends, and bytes wanted to tell; ``at``: it
        is none."""
        if not self._framing.text or not data[at : at + 1].isalpha():
            return at, 0
        head = data.find(b"\r\n\r\n", at, at + MOST_TEXT)
        if head < 0:
            left = len(data) - at
            return at, left + 1 if left < MOST_TEXT else 0
        end = head + 4
        announced = _ANNOUNCED.search(data, at, end)
        if announced is not None:
            end += int(announced[1])
        if end - head > MOST_BODY:
            return at, 0
        return (end, 0) if end <= len(data) else (at, end - at)


class FeedStreamDecoder:
    """StreamDecoder of one feed: the frames go to the decoder of datagrams."""

    def __init__(self, feed: Feed, settings: DecodeSettings) -> None:
        self._told = _Login(feed) if feed.login else None
        read = feed if self._told is None else self._told.read
        self._decoder = FeedDecoder(replace(settings, feeds=(read.at(_EVERYWHERE),)))
        self._feed = feed
        self._texts = self._unknown = 0
        self._hosts: list[str] = []
        self._numbers: dict[str, int] = {}

    def decode(self, frames: StreamFrames) -> list[pa.RecordBatch]:
        """Write outcomes and return rows; no run is open from call to call."""
        own = np.flatnonzero(frames.kind == MESSAGE)
        self._texts += frames.count - len(own)
        frames.outcome[:] = FrameOutcome.DECODED
        start, stop, data = frames.start[own], frames.stop[own], frames.data
        if self._told is not None:
            known, start, stop, data = self._told.put(frames)
            unknown = np.flatnonzero(~known)
            frames.outcome[unknown] = FrameOutcome.UNDECODABLE
            self._unknown += len(unknown)
            own = np.flatnonzero(known)
        if not len(own):
            return []
        hosts = np.array([self._number(host) for host, _ in frames.connection.ends])
        ports = np.array([port for _, port in frames.connection.ends])
        by, to = frames.direction[own], 1 - frames.direction[own]
        nothing = np.zeros(len(own), np.int64)
        datagrams = Datagrams(
            data, frames.compile_it, frames.connection.capture, 0, self._hosts,
            frame=np.arange(len(own)), at_ns=frames.at_ns[own], start=start, stop=stop,
            length=stop - start, source=hosts[by], destination=hosts[to], source_port=ports[by],
            destination_port=ports[to], ip_id=nothing - 1, flags=nothing.copy(),
            barrier=nothing.copy(), outcome=nothing.copy(),
        )  # fmt: skip
        batches = [*self._decoder.decode(datagrams), *self._decoder.finish()]
        claimed = datagrams.outcome
        frames.outcome[own] = np.where(
            claimed == FrameOutcome.NOT_CLAIMED, FrameOutcome.OTHER, claimed
        )
        return [_placed(batch, frames.frame[own], frames.place[own]) for batch in batches]

    def account(self) -> dict[str, object]:
        """That of the feed, and what is no frame of it."""
        told = self._decoder.account()
        undecoded, messages = told["undecoded"], told["messages_by"]
        assert isinstance(undecoded, dict)
        assert isinstance(messages, dict)
        if self._unknown:
            undecoded[f"feed {self._feed.name}: {_NOT_TOLD}"] = self._unknown
        if self._texts:
            messages.setdefault(f"feed {self._feed.name}", {})["TEXT"] = self._texts
        return told

    def _number(self, host: str) -> int:
        if host not in self._numbers:
            self._numbers[host] = len(self._hosts)
            self._hosts.append(host)
        return self._numbers[host]


class _Login:
    """What a login tells, in front of the frames behind it.

    Attributes:
        read: the feed as its frames are then.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._seqno = feed.field(feed.seqno)
        self._fields = [field for field in feed.fields if field.of_connection]
        self._sizes = [_size(field) for field in self._fields]
        self._bytes = sum(self._sizes)
        at = 0
        places: dict[str, Field] = {}
        for field, size in zip(self._fields, self._sizes, strict=True):
            kind = Type.NUMBER if field.type == Type.DECIMAL else field.type
            places[field.name] = replace(
                field, offset=at, width=size, big_endian=True, mask=-1, shift=0, type=kind,
                of_connection=False,
            )  # fmt: skip
            at += size
        self.read = replace(
            feed,
            fields=tuple(places.get(one.name) or self._behind(one) for one in feed.fields),
            blocks=feed.blocks and replace(feed.blocks, offset=feed.blocks.offset + at),
        )

    def _behind(self, field: Field) -> Field:
        """A field behind what is in front."""
        if field.offset < 0:
            return field
        return replace(field, offset=field.offset + self._bytes)

    def put(self, frames: StreamFrames) -> tuple[Bools, Int64s, Int64s, bytes]:
        """Which frames have a number or need none; and of these where each begins and ends in the
        bytes that are last."""
        known = np.zeros(frames.count, np.bool_)
        heads = np.zeros((frames.count, self._bytes), np.uint8)
        raw = np.frombuffer(frames.data, np.uint8)
        login = _hold(self._feed.login, self._feed, raw, frames)
        sort = self._sorts(raw, frames)
        memory: dict[int, tuple[bytes, int]] = frames.connection.memory.setdefault("told", {})
        for direction in (0, 1):
            own = np.flatnonzero(frames.direction == direction)
            breaks = np.flatnonzero(login[own] | (frames.lost[own] > 0)).tolist()
            for low, high in pairwise(sorted({0, *breaks, len(own)})):
                here = own[low:high]
                if frames.lost[here[0]]:
                    memory.pop(direction, None)
                if login[here[0]]:
                    self._learn(memory, direction, frames, int(here[0]))
                known[here[sort[here] == _IGNORED]] = True
                if direction not in memory:
                    continue
                text, following = memory[direction]
                counted = sort[here] == _COUNTED
                numbers = following + np.cumsum(counted) - counted
                heads[here] = np.frombuffer(text, np.uint8)
                at = self._place
                heads[here, at : at + _NUMBER_BYTES] = (
                    numbers.astype(">i8").view(np.uint8).reshape(-1, _NUMBER_BYTES)
                )
                known[here] = True
                memory[direction] = text, following + int(np.count_nonzero(counted))
        return (known, *_joined(raw, heads[known], frames.start[known], frames.stop[known]))

    @property
    def _place(self) -> int:
        """Where the number is."""
        return sum(self._sizes[: self._fields.index(self._seqno)])

    def _learn(
        self, memory: dict[int, tuple[bytes, int]], direction: int, frames: StreamFrames, at: int
    ) -> None:
        frame = frames.data[frames.start[at] : frames.stop[at]]
        parts = []
        memory.pop(direction, None)
        for field, size in zip(self._fields, self._sizes, strict=True):
            own = frame[field.offset : field.offset + field.width]
            if len(own) < field.width:
                return
            value = _value(field, own) if size != len(own) or field is self._seqno else 0
            if value is None:
                return
            parts.append(own if size == len(own) else value.to_bytes(size, "big"))
            if field is self._seqno:
                following = value
        memory[direction] = b"".join(parts), following

    def _sorts(self, raw: npt.NDArray[np.uint8], frames: StreamFrames) -> npt.NDArray[np.int8]:
        """What each frame is: of the feed's messages the first whose conditions hold."""
        sorts = np.full(frames.count, _COUNTED, np.int8)
        for message in reversed(self._feed.messages):
            held = _hold(message.when, self._feed, raw, frames)
            if message.length is not None:
                size = frames.stop - frames.start
                held &= (size >= message.length[0]) & (size <= message.length[1])
            ignored = message.sort == Is.IGNORE
            sorts[held] = _IGNORED if ignored else _COUNTED if message.sort == Is.DATA else _OTHER
        refused = ~_hold(self._feed.require, self._feed, raw, frames)
        sorts[refused] = _IGNORED
        return sorts


_COUNTED: Final = 0
_IGNORED: Final = 1
_OTHER: Final = 2


def _size(field: Field) -> int:
    """Bytes of what a login tells, in front of a frame."""
    return _NUMBER_BYTES if field.type in (Type.NUMBER, Type.DECIMAL) else field.width


def _value(field: Field, raw: bytes) -> int | None:
    """A number of a login; null: it is none, or beyond 2^63 - 1."""
    if field.type == Type.DECIMAL:
        digits = raw.strip(b" ")
        value = int(digits) if digits.isdigit() else -1
    else:
        value = int.from_bytes(raw, "big" if field.big_endian else "little")
        value = (value & field.full_mask) >> field.shift
    return value if 0 <= value < 1 << 63 else None


def _hold(
    conditions: tuple[Condition, ...],
    feed: Feed,
    raw: npt.NDArray[np.uint8],
    frames: StreamFrames,
) -> Bools:
    """Frames that have what conditions say."""
    held: Bools = frames.kind == MESSAGE
    for condition in conditions:
        field = feed.field(condition.field)
        there = frames.start + field.offset + field.width <= frames.stop
        value = np.zeros(frames.count, np.uint64)
        for n in range(field.width):
            o = n if field.big_endian else field.width - 1 - n
            byte = raw[np.where(there, frames.start + field.offset + o, 0)]
            value = value << np.uint64(8) | byte
        value = (value & np.uint64(field.full_mask)) >> np.uint64(field.shift)
        found = np.zeros(frames.count, np.bool_)
        for low, high in condition.ranges:
            found |= (value >= np.uint64(low)) & (value <= np.uint64(high))
        held &= there & found
    return held


def _joined(
    raw: npt.NDArray[np.uint8], heads: npt.NDArray[np.uint8], start: Int64s, stop: Int64s
) -> tuple[Int64s, Int64s, bytes]:
    """Frames, each behind its head: where they begin and end, and all bytes."""
    before = heads.shape[1]
    sizes = stop - start + before
    stops = np.cumsum(sizes)
    starts = stops - sizes
    together = np.empty(int(stops[-1]) if len(stops) else 0, np.uint8)
    places = np.arange(len(together)) - np.repeat(starts, sizes)
    body = places >= before
    together[body] = raw[(np.repeat(start, sizes) + places - before)[body]]
    together[~body] = heads.reshape(-1)
    return starts, stops, together.tobytes()


def _placed(batch: pa.RecordBatch, frames: Int64s, places: Int64s) -> pa.RecordBatch:
    """Rows whose frames are numbers in ``frames``: with those of the job, and the place of each
    among what its capture frame completed."""
    number = batch.column("frame").to_numpy()
    last = batch.column("last_frame").to_numpy()
    index = batch.column("index").to_numpy() + (places[number] << 16)
    for name, column in (("frame", frames[number]), ("index", index), ("last_frame", frames[last])):
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, batch.schema.field(place), pa.array(column, pa.int64()))
    return batch
