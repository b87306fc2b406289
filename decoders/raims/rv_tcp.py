"""RV clients of a raims daemon over TCP: a handshake of three records, then messages (raims.md 11).

Rows go to the conversation ``raims``: what a daemon must have told its clients is judged by what
came to the daemon. One row a message, on the stream ``rv:CLIENT>DAEMON`` whoever sent it; wire_kind
is what the message is (``rv.WORDS``), source the end that sent it, destination its subject, detail
its fields as pairs in the order of the wire. A row CONNECTED begins a connection whose handshake
was captured.
"""

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.events import EVENTS, ByName, Kind, unescaped
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.raims.rows import RAIMS
from seqaudit.decoders.raims.rv import (
    CANDIDATE,
    HEAD,
    Envelope,
    is_message,
    message_size,
    read_envelope,
)
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

SYSTEM: Final = "rv"

#: The record that both ends begin with, and the one of 64 bytes behind it, by its first u32.
GREETING: Final = bytes(7) + b"\x04" + bytes(4)
RECORD_BYTES: Final = 64
FROM_CLIENT: Final = 3
FROM_DAEMON: Final = (2, 1)
#: Kinds of frames: a record of the handshake, by who sends it.
DAEMON_RECORD: Final = 1
CLIENT_RECORD: Final = 2
GREETED: Final = 3

#: The longest message that is believed.
LONGEST: Final = 64 << 20
#: Bytes without a message that make a stream somebody else's.
SEARCHED: Final = 96 << 10
#: The bytes in which an envelope shows (``rv.CANDIDATE``).
SHOWN_BYTES: Final = 19
#: Longest opaque value told.
OPAQUE_TOLD: Final = 16
#: Words of messages that say who sent them.
_CLIENT_WORDS: Final = frozenset({"LISTEN", "CANCEL", "INIT"})
_DAEMON_WORDS: Final = frozenset({"ADVISORY", "RESPONSE"})


class RvStreams:
    """StreamSystem of RV clients."""

    system: Final = SYSTEM
    traces: Final = Traces(SEARCHED, [BytePattern({4: [0x99], 5: [0x55], 6: [0xEE], 7: [0xAA]}, 4)])

    def __init__(self, settings: DecodeSettings) -> None:
        """Nothing of the settings concerns what RV is over TCP."""

    def recognise(self, prefix: bytes, began: bool) -> Match:
        """By greeting and record; by an envelope where the begin was not captured."""
        greeted = prefix[: len(GREETING)] == GREETING[: len(prefix)]
        if greeted and len(prefix) >= len(GREETING) + 4:
            first = int.from_bytes(prefix[len(GREETING) : len(GREETING) + 4], "big")
            if first in (*FROM_DAEMON, FROM_CLIENT):
                return Match.YES
        if began:
            if not greeted or len(prefix) >= len(GREETING) + 4:
                return Match.NO
            return Match.LIKELY if len(prefix) >= len(GREETING) else Match.UNDECIDED
        if shows(prefix, CANDIDATE, b"\x99\x55\xee\xaa", 4):
            return Match.YES
        return Match.UNDECIDED if len(prefix) < SEARCHED else Match.NO

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]:
        """It does not begin with the greeting."""
        return ~heads.begin_like(GREETING)

    def framing(self, began: bool, *, compile_it: bool) -> Framing:
        return RvFraming(began)

    def decoder(self) -> StreamDecoder:
        return RvStreamDecoder()


class RvFraming:
    """Framing of one direction. Out of step, it looks for an envelope."""

    def __init__(self, began: bool) -> None:
        self._greeting = began
        self._records = began
        self._in_step = began

    def lost(self) -> None:
        self._in_step = self._greeting = self._records = False

    def split(self, data: bytes, final: bool) -> Split:
        found: list[tuple[int, int, int]] = []
        skipped: list[tuple[int, int]] = []
        at = resyncs = 0
        wanted = 1
        if not self._in_step and not self._records and data[: len(GREETING)] == GREETING:
            self._greeting = self._records = self._in_step = True  # its SYN is in another piece
        while at < len(data):
            left = len(data) - at
            if not self._in_step:
                candidate = CANDIDATE.search(data, at)
                begin = candidate.start() if candidate else len(data)
                if candidate is None and not final:
                    begin = max(at, len(data) - SHOWN_BYTES + 1)
                    wanted = SHOWN_BYTES
                if begin > at:
                    skipped.append((at, begin))
                at = begin
                if candidate is None:
                    break
                self._in_step = True
                resyncs += 1
                continue
            if self._greeting:
                if left < len(GREETING):
                    wanted = len(GREETING)
                    break
                self._greeting = False
                if data[at : at + len(GREETING)] == GREETING:
                    found.append((at, at + len(GREETING), GREETED))
                    at += len(GREETING)
                continue
            if left < HEAD:
                wanted = HEAD
                break
            if self._records and not is_message(data[at : at + HEAD]):
                word = int.from_bytes(data[at : at + 4], "big")
                if word in (*FROM_DAEMON, FROM_CLIENT):
                    if left < RECORD_BYTES:
                        wanted = RECORD_BYTES
                        break
                    kind = CLIENT_RECORD if word == FROM_CLIENT else DAEMON_RECORD
                    found.append((at, at + RECORD_BYTES, kind))
                    at += RECORD_BYTES
                    continue
            size = message_size(data[at : at + HEAD])
            if not is_message(data[at : at + HEAD]) or size > LONGEST:
                self._in_step = self._records = False
                skipped.append((at, at + 1))
                at += 1
                continue
            self._records = False
            if size > left:
                wanted = size
                break
            found.append((at, at + size, MESSAGE))
            at += size
        if final and at < len(data):
            skipped.append((at, len(data)))
            at = len(data)
        if not found:
            return Split(*no_frames(), at, wanted, skipped, resyncs)
        starts, stops, kinds = np.array(found, np.int64).T
        return Split(starts, stops, kinds, at, wanted, skipped, resyncs)


class RvStreamDecoder:
    """StreamDecoder of RV clients."""

    def __init__(self) -> None:
        self._messages: Counter[str] = Counter()
        self._undecoded: Counter[str] = Counter()

    def decode(self, frames: StreamFrames) -> list[pa.RecordBatch]:
        """A row a message, and of the handshake's and the connection's ends."""
        memory = frames.connection.memory
        frames.outcome[:] = int(FrameOutcome.DECODED)
        rows: list[ByName] = []
        for at in range(frames.count):
            direction = int(frames.direction[at])
            kind = int(frames.kind[at])
            if kind == MESSAGE:
                envelope = read_envelope(frames.data[frames.start[at] : frames.stop[at]])
                self._messages[envelope.word] += 1
                if envelope.damaged:
                    self._undecoded["RV message with damaged fields"] += 1
                self._learn(memory, envelope.word, direction)
                rows.append(self._row(frames, at, envelope.word) | _told(envelope))
            elif kind in (DAEMON_RECORD, CLIENT_RECORD) and "client" not in memory:
                memory["client"] = direction if kind == CLIENT_RECORD else 1 - direction
                rows.append(self._row(frames, at, "CONNECTED"))
        batches: list[pa.RecordBatch] = []
        if rows:
            batches.append(pa.RecordBatch.from_pylist(rows, schema=EVENTS))
        return batches

    def account(self) -> dict[str, object]:
        return {
            "messages_by": {SYSTEM: dict(self._messages)} if self._messages else {},
            "undecoded": dict(sorted(self._undecoded.items())),
            "sureness": {},
        }

    @staticmethod
    def _learn(memory: ByName, word: str, direction: int) -> None:
        """Which end is the client, where the handshake was not captured."""
        if "client" not in memory:
            if word in _CLIENT_WORDS:
                memory["client"] = direction
            elif word in _DAEMON_WORDS:
                memory["client"] = 1 - direction

    def _row(self, frames: StreamFrames, at: int, word: str) -> ByName:
        ends = [f"[{a}]:{p}" if ":" in a else f"{a}:{p}" for a, p in frames.connection.ends]
        direction = int(frames.direction[at])
        client = frames.connection.memory.get("client")
        if client is None:  # the opener; else the end with the port that is not the well-known one
            opener = frames.connection.opener
            ports = [port for _, port in frames.connection.ends]
            client = opener if opener is not None else int(ports[1] > ports[0])
        return frames.row_of(at) | {
            "system": SYSTEM,
            "conversation": RAIMS,
            "stream": f"rv:{ends[client]}>{ends[1 - client]}",
            "source": ends[direction],
            "kind": int(Kind.NOTICE),
            "wire_kind": word,
        }


def _told(envelope: Envelope) -> ByName:
    """Subject and fields of a message for its row; data messages tell their subject only."""
    told: ByName = {"destination": envelope.subject}
    fields = {} if envelope.word == "DATA" and "data" not in envelope.fields else envelope.fields
    if fields:
        told["detail"] = unescaped(_pairs(fields))
    return told


def _pairs(fields: ByName) -> list[list[object]]:
    pairs: list[list[object]] = []
    for name, value in fields.items():
        if isinstance(value, dict):
            pairs.append([name, _pairs(value)])
        elif isinstance(value, bytes):
            if len(value) <= OPAQUE_TOLD:
                pairs.append([name, value.hex()])
        else:
            pairs.append([name, value])
    return pairs
