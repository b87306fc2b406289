"""raims over TCP: messages back to back, or an encrypted link (raims.md 4).

A plain stream begins with a message. An encrypted one begins with 56 bytes: a check (CRC-32C of
what follows, seed 1), a nonce and a public key; nothing behind them can be read, so its bytes are
frames of their own that nobody can decode.
"""

import re
from collections import Counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, ByName, Flag, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Int64s, data_argument, kernel
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.raims import pgm_kernels as wire
from seqaudit.decoders.raims.messages import crc32c, is_message, message_size
from seqaudit.decoders.raims.pgm import MODE_STREAM, Walk
from seqaudit.decoders.raims.rows import RAIMS, DatagramLinks, RaimsRows
from seqaudit.decoders.tcp.framing import (
    MESSAGE,
    Framing,
    Match,
    Split,
    StreamDecoder,
    StreamFrames,
    no_frames,
    shows,
)
from seqaudit.decoders.tcp.traces import BytePattern, Heads, Traces

#: Kinds of frames that are no messages.
KEY: Final = 1
SECRET: Final = 2

KEY_BYTES: Final = 56
HEAD: Final = 48  # of a message, up to its subject
#: Messages that the kernel looks for at once.
ROUND: Final = 65_536
#: The longest message that is believed; longer ones are no messages.
LONGEST: Final = 64 << 20
#: A message's head: version 1, then bridge, digest and subject.
CANDIDATE: Final = re.compile(rb"(?s)(?=[\x80-\xff].{7}\xc4\x03.{16}\xc4\x05.{16}\x47\x00)")
_HEAD_MARK: Final = BytePattern(
    {0: range(128, 256), 8: [0xC4], 9: [3], 26: [0xC4], 27: [5], 44: [0x47], 45: [0]}, 8
)
#: Bytes without one that make a stream somebody else's.
SEARCHED: Final = 96 << 10


def is_key(data: bytes) -> bool:
    """Is it the first 56 bytes of an encrypted link? Checked on ``mesh-enc-1``."""
    return (
        len(data) >= KEY_BYTES
        and data[:4] == bytes(4)
        and crc32c(data[8:KEY_BYTES], 1) == int.from_bytes(data[4:8], "big")
    )


class RaimsStreams:
    """StreamSystem of raims."""

    system: Final = RAIMS
    traces: Final = Traces(SEARCHED, [_HEAD_MARK])

    def __init__(self, settings: DecodeSettings) -> None:
        self._settings = settings

    def recognise(self, prefix: bytes, began: bool) -> Match:
        """By the first message, or the key exchange; anywhere if the begin was not captured."""
        if is_key(prefix):  # its SYN may be in another piece
            return Match.YES
        if began:
            if is_message(prefix):
                return Match.YES
            if len(prefix) >= KEY_BYTES:
                return Match.NO
            plain = prefix[:1] >= b"\x80" and prefix[8:10] == b"\xc4\x03"[: len(prefix[8:10])]
            secret = prefix[:4] == bytes(4)[: len(prefix)]
            if not (plain or secret):
                return Match.NO
            return Match.LIKELY if len(prefix) > 10 else Match.UNDECIDED
        if shows(prefix, CANDIDATE, b"\xc4\x03", 8):
            return Match.YES
        return Match.UNDECIDED if len(prefix) < SEARCHED else Match.NO

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]:
        """Neither a message nor a key exchange begins like that."""
        plain = heads.raw[:, 0] >= 0x80
        bridged = Heads(heads.raw[:, 8:], heads.sizes - 8).begin_like(b"\xc4\x03")
        refused: npt.NDArray[np.bool_] = ~((plain & bridged) | heads.begin_like(bytes(4)))
        return refused

    def framing(self, began: bool, *, compile_it: bool) -> Framing:
        return RaimsFraming(began, compile_it=compile_it)

    def decoder(self) -> StreamDecoder:
        return RaimsStreamDecoder(self._settings)


class RaimsFraming:
    """Framing of one direction. Out of step, it looks for the head of a message."""

    def __init__(self, began: bool, *, compile_it: bool = False) -> None:
        self._compile_it = compile_it
        self._fresh = True  # a key exchange is one wherever the capture begins
        self._in_step = began
        self._secret = False

    def lost(self) -> None:
        self._in_step = self._fresh = False

    def split(self, data: bytes, final: bool) -> Split:
        found: list[Int64s] = []  # of one or more frames: start, stop, kind
        skipped: list[tuple[int, int]] = []
        at = resyncs = 0
        wanted = 1
        if self._fresh and data[:1] == b"\0":
            if len(data) < KEY_BYTES and not final:
                return Split(*no_frames(), 0, KEY_BYTES)
            if is_key(data):
                found.append(_frame(0, KEY_BYTES, KEY))
                at = KEY_BYTES
                self._secret = True
        self._fresh = False
        if self._secret:
            if len(data) > at:
                found.append(_frame(at, len(data), SECRET))
            return _split(found, len(data), 1, skipped, resyncs)
        while at < len(data):
            if not self._in_step:
                candidate = CANDIDATE.search(data, at)
                begin = candidate.start() if candidate else len(data)
                if candidate is None and not final:
                    begin = max(at, len(data) - HEAD + 1)
                if begin > at:
                    skipped.append((at, begin))
                at = begin
                if candidate is None:
                    break
                self._in_step = True
                resyncs += 1
            if self._compile_it:
                walked, at = _walked(data, at)
                found += walked
                if at == len(data):
                    break
            if len(data) - at < HEAD:
                wanted = HEAD
                break
            if not is_message(data[at : at + HEAD]):
                self._in_step = False
                continue
            size = message_size(data[at : at + 8])
            if not HEAD <= size <= LONGEST:
                skipped.append((at, at + 1))
                at += 1
                self._in_step = False
                continue
            if at + size > len(data):
                wanted = size
                break
            found.append(_frame(at, at + size, MESSAGE))
            at += size
        return _split(found, at, wanted, skipped, resyncs)


def _frame(start: int, stop: int, kind: int) -> Int64s:
    return np.array([[start, stop, kind]], np.int64)


def _walked(data: bytes, at: int) -> tuple[list[Int64s], int]:
    """The messages that follow each other from ``at`` on, and where they end."""
    found: list[Int64s] = []
    room = min((len(data) - at) // HEAD, ROUND)
    count = room
    while count == room and room:
        out = np.empty(2 * room, np.int64)
        end, count = kernel("raims.pgm_kernels", compile_it=True).frames(
            data_argument(data, compile_it=True), at, len(data), LONGEST, out, room
        )
        at = int(end)
        if count:
            kinds = np.full((count, 1), MESSAGE, np.int64)
            found.append(np.hstack([out[: 2 * count].reshape(-1, 2), kinds]))
    return found, at


def _split(
    found: list[Int64s],
    consumed: int,
    wanted: int,
    skipped: list[tuple[int, int]],
    resyncs: int,
) -> Split:
    if not found:
        return Split(*no_frames(), consumed, wanted, skipped, resyncs)
    starts, stops, kinds = np.concatenate(found).T.copy()
    return Split(starts, stops, kinds, consumed, wanted, skipped, resyncs)


class RaimsStreamDecoder:
    """StreamDecoder of raims: messages go the way of those in PGM, on a link a direction."""

    def __init__(self, settings: DecodeSettings) -> None:
        self._walk = Walk(MODE_STREAM)
        self._rows = RaimsRows()
        self._keys = 0

    def decode(self, frames: StreamFrames) -> list[pa.RecordBatch]:
        """Rows of the messages; what is missing before one, an encrypted link, begin and end of a
        connection, once."""
        ends = [f"[{a}]:{p}" if ":" in a else f"{a}:{p}" for a, p in frames.connection.ends]
        links = {1: f"{ends[0]}>{ends[1]}", 2: f"{ends[1]}>{ends[0]}"}
        frames.outcome[:] = np.where(
            frames.kind == MESSAGE, int(FrameOutcome.DECODED), int(FrameOutcome.UNDECODABLE)
        )
        keys = np.flatnonzero(frames.kind == KEY).tolist()
        encrypted = {"kind": int(Kind.NOTICE), "wire_kind": "ENCRYPTED"}
        secret = [(int(frames.direction[at]), frames.row_of(at) | encrypted) for at in keys]
        borders = frames.borders()
        events = [
            row | _of_link(links[way + 1])
            for way, row in sorted([*borders, *frames.holes(), *secret], key=_place)
        ]
        self._keys += len(keys)
        batches: list[pa.RecordBatch] = []
        if events:
            batches.append(pa.RecordBatch.from_pylist(events, schema=EVENTS))
        messages = np.flatnonzero(frames.kind == MESSAGE)
        if len(messages):
            datagrams, links_of = self._datagrams(frames, messages)
            where = DatagramLinks(datagrams, links, "tcp:")
            places = frames.place[messages] << 16
            for table in self._walk.rounds(datagrams, links_of):
                table[:, wire.INDEX] += places[table[:, wire.DATAGRAM]]
                details = self._walk.details(table)
                batches += self._rows.batches(where, self._walk.memory, table, details)
        return batches

    def account(self) -> dict[str, object]:
        """Messages by name; links that cannot be read."""
        messages = dict(self._rows.messages)
        memory = self._walk.memory
        for at, word in ((wire.C_DATA, "DATA"), (wire.C_GLSNO, "GLSNO")):
            if number := int(memory[at]):
                messages[word] = messages.get(word, 0) + number
        # directions: what is secret comes in as many parts as it is handed on in
        undecoded = Counter(self._rows.undecoded) + Counter({"encrypted raims link": self._keys})
        return {
            "messages_by": {RAIMS: messages} if messages else {},
            "undecoded": dict(sorted(undecoded.items())),
            "sureness": {},
        }

    @staticmethod
    def _datagrams(
        frames: StreamFrames, messages: npt.NDArray[np.intp]
    ) -> tuple[Datagrams, Int64s]:
        """Messages as the kernel takes them, with a barrier between two capture frames: events of
        other links may come in between; also the link of each."""
        at: Any = slice(None) if len(messages) == frames.count else messages
        frame = frames.frame[at]
        barrier = np.zeros(len(messages), np.int64)
        barrier[1:][(frame[1:] != frame[:-1]) | (frames.lost[at][1:] > 0)] = 2
        zeros = np.zeros(len(messages), np.int64)
        ports = np.array([port for _, port in frames.connection.ends], np.int64)
        direction = frames.direction[at]
        datagrams = Datagrams(
            data=frames.data,
            compile_it=frames.compile_it,
            capture=frames.connection.capture,
            split=0,
            hosts=[host for host, _ in frames.connection.ends],
            frame=frame,
            at_ns=frames.at_ns[at],
            start=frames.start[at],
            stop=frames.stop[at],
            length=frames.stop[at] - frames.start[at],
            source=direction,
            destination=1 - direction,
            source_port=ports[direction],
            destination_port=ports[1 - direction],
            ip_id=zeros - 1,
            flags=frames.refused[at] * int(Flag.REFUSED),
            barrier=barrier,
            outcome=zeros.copy(),
        )
        return datagrams, direction + 1


def _place(notice: tuple[int, ByName]) -> tuple[int, int]:
    return notice[1]["frame"], notice[1]["index"]


def _of_link(link: str) -> ByName:
    """Columns of a notice of what one direction sends."""
    return {"system": RAIMS, "conversation": RAIMS, "stream": f"tcp:{link}|"}
