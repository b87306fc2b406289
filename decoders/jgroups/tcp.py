"""JGroups over TCP: preamble, frames behind a length, graceful close (jgroups.md 1.9).

The frames are those of UDP and go to the same decoder. What differs: no IP ids and no network
duplicates; a message to the whole cluster goes to each member over its own connection, so its row
names that member (``destination``) once the member has said who it is on the same connection; and a
member's address is the one it listens at, which the preamble states.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import as_column, bool_column, filtered, not_null
from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups import objects
from seqaudit.decoders.jgroups import tcp_kernels as wire
from seqaudit.decoders.jgroups.datagrams import JGroupsDecoder
from seqaudit.decoders.jgroups.long_frames import READ, LongFrames, cluster_of
from seqaudit.decoders.jgroups.names import version_text
from seqaudit.decoders.jgroups.tcp_holes import ConnectionHoles
from seqaudit.decoders.kernels.loader import Int64s, argument, data_argument, kernel
from seqaudit.decoders.network.packets import Datagrams, FrameOutcome
from seqaudit.decoders.tcp.framing import (
    MESSAGE,
    Connection,
    Framing,
    Match,
    Split,
    StreamDecoder,
    StreamFrames,
    no_frames,
)
from seqaudit.decoders.tcp.traces import BytePattern, Heads, Traces

#: Frames found by one call of the kernel.
FRAMES: Final = 8_192
#: Longest frame that is believed without a preamble; also how long a guess may stay unproven.
MAX_GUESSED: Final = 1 << 20
#: A direction in which nothing looks like a frame for so long is not JGroups (bundles: 64 KB).
SEARCHED: Final = 96 << 10
#: Bytes of a frame from its length to the field that ``_believable`` looks at last.
HEAD: Final = 12
#: Frames that one recognition reads to tell JGroups from lengths that lead on by chance: the header
#: of the transport is in every message, and a bundle names its cluster.
READ_FRAMES: Final = 32
#: Rows that wait for their receiver's name; more go without one.
MAX_WAITING: Final = 1_000_000

#: Length below 2^24, version 3.0 to 5.15, frame flags up to 3; or a preamble up to the length of
#: its address.
_FRAME: Final = rb"\x00...[\x18-\x1b\x20-\x23\x28-\x2b].[\x00-\x03]"
_PREAMBLE: Final = rb"bela[\x18-\x2f].\x00[\x07\x13\x17]"
CANDIDATE: Final = re.compile(rb"(?s)(?=" + _FRAME + rb"|" + _PREAMBLE + rb")")
PREAMBLE: Final = re.compile(rb"(?s)" + _PREAMBLE)
_VERSION: Final = np.isin(np.arange(256) & 0xFC, (0x18, 0x20, 0x28))
_LETTERS: Final = ([byte] for byte in b"bela")
_TRACES: Final = Traces(
    SEARCHED,
    [
        # as long as ``MAX_GUESSED`` at most
        BytePattern({0: [0], 1: range(17), 4: np.flatnonzero(_VERSION).tolist(), 6: range(4)}),
        BytePattern({**dict(enumerate(_LETTERS)), 4: range(24, 48), 6: [0], 7: [7, 19, 23]}, 6),
    ],
)
CANDIDATE_BYTES: Final = 8
COOKIE: Final = b"bela"
CLOSE: Final = b"\xff\xff\xff\xfb"

BROAD_KINDS: Final = (int(Kind.DATA), int(Kind.VIEW), int(Kind.HIGHEST))


class JGroupsStreams:
    """StreamSystem of JGroups."""

    system: Final = "jgroups"
    traces: Final = _TRACES

    def __init__(self, settings: DecodeSettings) -> None:
        self._settings = settings

    def recognise(self, prefix: bytes, began: bool) -> Match:
        """By the preamble; else two frames in a row, one of which reads as JGroups as a datagram
        must; anywhere if the begin was not captured."""
        if prefix[:4] == COOKIE[: len(prefix)]:
            if len(prefix) < 6:
                return Match.UNDECIDED
            return Match.YES if 0x18 <= prefix[4] < 0x30 else Match.NO
        read = _Read(prefix)
        if began:
            return _MATCHES[read.chained(0)]
        proof = REFUTED
        for at in _candidates(prefix):
            proof = max(proof, read.chained(at))
            if proof == PROVEN:
                return Match.YES
        if proof == OPEN and not read.exhausted:
            return Match.LIKELY
        return Match.UNDECIDED if len(prefix) < SEARCHED else Match.NO

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]:
        """Neither a preamble nor a frame begins like that."""
        size, version = heads.number(0, 4), heads.number(4, 2)
        none = (size < 8) | (size > MAX_GUESSED) | (version < 0x1800) | (version >= 0x3000)
        none &= heads.sizes >= 7
        none |= (heads.raw[:, 0] > 0) & (heads.sizes > 0)
        refused: npt.NDArray[np.bool_] = none & ~heads.begin_like(COOKIE)
        return refused

    def framing(self, began: bool, *, compile_it: bool) -> Framing:
        return JGroupsFraming(began, compile_it=compile_it)

    def decoder(self) -> StreamDecoder:
        return JGroupsStreamDecoder(self._settings)


REFUTED: Final = 0
OPEN: Final = 1  # the bytes end too early to tell
PROVEN: Final = 2
_MATCHES: Final = {REFUTED: Match.NO, OPEN: Match.LIKELY, PROVEN: Match.YES}


def _believable(data: bytes, at: int, version: int) -> int:
    """Whether a frame may begin at ``at``; OPEN: too few bytes. ``version``: 0 any."""
    head = data[at : at + HEAD]
    if len(head) < 7:
        return OPEN if head[:1] in (b"", b"\x00") else REFUTED
    size = int.from_bytes(head[:4], "big")
    told = int.from_bytes(head[4:6], "big")
    if not 8 <= size <= MAX_GUESSED or not 0x1800 <= told < 0x3000 or head[6] > 3:
        return REFUTED
    if version and told != version:
        return REFUTED
    if len(head) < HEAD:
        return OPEN
    if head[6] & 1:  # a list: the tag of its destination
        return PROVEN if head[7] in (0, 1, 2, 4, 8, 16, 32) else REFUTED
    if told < 0x2800:  # no message type before 5.0
        return PROVEN if head[7] <= 7 else REFUTED
    return PROVEN if head[7] == 0 and head[9] <= 3 else REFUTED


def _chained(data: bytes, at: int, version: int, *, final: bool) -> int:
    """Whether a frame begins at ``at``: PROVEN if another begins where it ends.

    With ``final`` a frame that ends within the data, or just there, is proof enough.
    """
    if data[at : at + 4] == COOKIE:
        return PROVEN
    known = _believable(data, at, version)
    if known != PROVEN:
        return REFUTED if final else known
    told = int.from_bytes(data[at + 4 : at + 6], "big")
    following = at + 4 + int.from_bytes(data[at : at + 4], "big")
    if following > len(data):
        return REFUTED if final else OPEN
    if data[following : following + 4] == CLOSE:
        return PROVEN
    known = _believable(data, following, told)
    return PROVEN if final and known == OPEN else known


class _Read:
    """Frames of the first bytes of a direction, read to see whether they are JGroups."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._none: set[int] = set()  # frames that do not show it
        self._decoder: JGroupsDecoder | None = None  # few directions come to need one

    @property
    def exhausted(self) -> bool:
        """So many frames were read that others need not be waited for."""
        return len(self._none) >= READ_FRAMES

    def chained(self, at: int) -> int:
        """As ``_chained``, and one of the frames that follow is JGroups beyond doubt.

        OPEN: it may be one that is not all there yet.
        """
        proof = _chained(self._data, at, 0, final=False)
        if proof != PROVEN or self._data[at : at + 4] == COOKIE:
            return proof
        version = int.from_bytes(self._data[at + 4 : at + 6], "big")
        while _believable(self._data, at, version) == PROVEN:
            stop = at + 4 + int.from_bytes(self._data[at : at + 4], "big")
            if stop > len(self._data):
                return OPEN
            if at not in self._none:
                if self.exhausted:
                    return REFUTED
                if self._is_jgroups(self._data[at + 4 : stop]):
                    return PROVEN
                self._none.add(at)
            at = stop
        return OPEN if len(self._data) - at < HEAD else REFUTED

    def _is_jgroups(self, frame: bytes) -> bool:
        """Whether it would be claimed as a datagram: by what nothing else has by chance."""
        if self._decoder is None:
            self._decoder = JGroupsDecoder(DecodeSettings())
        one = Datagrams.of_one(frame[:READ], len(frame), compile_it=False)
        self._decoder.decode(one)
        return bool(one.outcome[0] != FrameOutcome.NOT_CLAIMED)


def _candidates(data: bytes) -> list[int]:
    """The places at which ``CANDIDATE`` matches. All bytes are looked at together: most data is
    somebody else's."""
    raw = np.frombuffer(data, np.uint8)
    places = np.flatnonzero(raw[: max(0, len(raw) - 6)] == 0)
    places = places[_VERSION[raw[places + 4]] & (raw[places + 6] <= 3)]
    found: list[int] = places.tolist()
    preambles = [preamble.start() for preamble in PREAMBLE.finditer(data)]
    return sorted(found + preambles) if preambles else found


def _search(data: bytes, at: int, version: int, *, final: bool) -> tuple[int, int]:
    """The first place from ``at`` on that is not refuted as a frame's begin, and its proof.

    (len(data), REFUTED): there is none. Short of seven bytes at the end there is no candidate.
    """
    for found in CANDIDATE.finditer(data, at):
        proof = _chained(data, found.start(), version, final=final)
        if proof != REFUTED:
            return found.start(), proof
    return len(data), REFUTED


class JGroupsFraming:
    """Framing of one direction. Out of step, it looks for two frames in a row."""

    def __init__(self, began: bool, *, compile_it: bool) -> None:
        self._compile_it = compile_it
        self._kernel = kernel("jgroups.tcp_kernels", compile_it=compile_it)
        self._in_step = began
        self._strict = 0  # as the kernel has it
        self._version = 0  # of this stream, once known

    def lost(self) -> None:
        self._in_step = False

    def split(self, data: bytes, final: bool) -> Split:
        found: list[tuple[Int64s, Int64s, Int64s]] = []
        skipped: list[tuple[int, int]] = []
        at = resyncs = 0
        wanted = 1
        room = np.empty((3, min(FRAMES, len(data) // 4 + 1)), np.int64)
        while at < len(data):
            if not self._in_step:
                begin, proof = _search(data, at, self._version, final=final)
                if proof == REFUTED and not final:
                    begin = max(at, len(data) - CANDIDATE_BYTES + 1)
                if begin > at:
                    skipped.append((at, begin))
                at = begin
                if proof != PROVEN:
                    break
                self._in_step = True
                self._strict = self._version
                resyncs += 1
            at, self._in_step, wanted = self._walk(data, at, room, found)
            if self._in_step:
                break
        if not found:
            return Split(*no_frames(), at, wanted, skipped, resyncs)
        starts, stops, kinds = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return Split(starts, stops, kinds, at, wanted, skipped, resyncs)

    def _walk(
        self, data: bytes, at: int, room: Int64s, found: list[tuple[Int64s, Int64s, Int64s]]
    ) -> tuple[int, bool, int]:
        """Frames from ``at``: where the next begins, whether still in step, bytes wanted there."""
        buffer = data_argument(data, compile_it=self._compile_it)
        arrays = [argument(column, compile_it=self._compile_it) for column in room]
        while True:
            count, at, why, wanted, strict = self._kernel.walk(
                buffer, at, len(data), self._strict, *arrays, room.shape[1]
            )
            self._strict = int(strict)
            self._version = max(self._version, self._strict)
            if count:
                starts, stops, kinds = room[:, :count].copy()
                found.append((starts, stops, kinds))
            if why != wire.FULL:
                return int(at), why == wire.SHORT, int(wanted)


class JGroupsStreamDecoder:
    """StreamDecoder of JGroups: the frames go to the decoder of datagrams."""

    def __init__(self, settings: DecodeSettings) -> None:
        # every frame is taken: that the connection is JGroups is known
        forced = replace(settings, decode_as=(("udp", 0, "jgroups"),), no_decode=frozenset())
        self._decoder = JGroupsDecoder(forced)
        self._long = LongFrames(forced)
        self._more_clusters: Counter[str] = Counter()
        self._more_parts: Counter[str] = Counter()  # by release: parts that are no frames
        self._preambles = 0
        self._closes = 0
        self._unread: Counter[str] = Counter()

    def decode(self, frames: StreamFrames) -> list[pa.RecordBatch]:
        """Write outcomes and return rows; some wait until their receiver has said who it is."""
        memory = frames.connection.memory
        if not memory:
            # address each direction's member listens at; its id; rows that wait for the other's
            memory |= {"listens": list(frames.connection.ends), "members": [None, None]}
            memory |= {"waiting": ([], []), "waiting_rows": 0, "seen": set()}
            memory["holes"] = ConnectionHoles()
        frames.outcome[:] = FrameOutcome.DECODED
        for at in np.flatnonzero(frames.kind != MESSAGE).tolist():
            self._control(frames, at)
        messages = np.flatnonzero(frames.kind == MESSAGE)
        for direction in (0, 1):
            if memory["members"][direction] is None:
                own = messages[frames.direction[messages] == direction]
                memory["members"][direction] = _first_sender(frames, own)
        batches: list[pa.RecordBatch] = []
        if len(messages):
            for batch, ways in self._decode_messages(frames, messages):
                batches += self._addressed(frames, batch, ways)
        batches += self._released(frames.connection)
        batches += memory["holes"].rows(frames, memory["members"])
        return batches

    def account(self) -> dict[str, object]:
        account = self._decoder.told()
        if self._preambles:
            account["messages_by"].setdefault("jgroups", {})["tcp-preamble"] = self._preambles
        account["undecoded"] = dict(sorted((Counter(account["undecoded"]) + self._unread).items()))
        sureness: dict[str, int] = account["sureness"]
        more = self._more_parts.total()
        if more:  # the decoder took parts for frames
            account["datagrams"]["list"] -= more
            account["versions"] = {
                name: count - self._more_parts[name] for name, count in account["versions"].items()
            }
            account["clusters"] = {
                name: count - self._more_clusters[name]
                for name, count in account["clusters"].items()
            }
            for name in ("certain", "likely", "forced"):
                taken = min(more, account["sureness"].get(name, 0))
                more -= taken
                if taken:
                    account["sureness"][name] -= taken
        if "forced" in sureness:  # nobody has: the connection is known by more than the frame
            sureness["likely"] = sureness.get("likely", 0) + sureness.pop("forced")
        account["tcp"] = {"graceful_closes": self._closes}
        return dict(account)

    def _control(self, frames: StreamFrames, at: int) -> None:
        if frames.kind[at] == wire.CLOSE:
            self._closes += 1
            return
        self._preambles += 1
        body = frames.data[int(frames.start[at]) : int(frames.stop[at])]
        size = body[4] if len(body) > 4 else 0
        if size in (4, 16) and len(body) >= 7 + size:
            host = str(ipaddress.ip_address(body[5 : 5 + size]))
            port = int.from_bytes(body[-2:], "big")
            frames.connection.memory["listens"][int(frames.direction[at])] = (host, port)
        else:
            frames.outcome[at] = FrameOutcome.MALFORMED
            self._unread["TCP preamble without an address"] += 1

    def _decode_messages(
        self, frames: StreamFrames, messages: Int64s
    ) -> list[tuple[pa.RecordBatch, Int64s]]:
        """Rows with the capture's frames, and the direction of each.

        A run may go on within one capture frame only: between two, events of other connections
        may have to be ordered against it.
        """
        rows = self._rows(frames, messages)
        at = rows.place
        borders = np.flatnonzero(np.diff(frames.frame[at])) + 1
        order = np.insert(np.arange(len(at)), borders, -1)
        barrier = (order < 0).astype(np.int64)
        order = np.maximum(order, 0)
        at = at[order]
        zeros = np.zeros(len(order), np.int64)
        listens = frames.connection.memory["listens"]
        datagrams = Datagrams(
            data=rows.data,
            compile_it=frames.compile_it,
            capture=frames.connection.capture,
            split=0,
            hosts=[host for host, _ in listens],
            frame=order + 1,
            at_ns=frames.at_ns[at],
            start=rows.start[order],
            stop=rows.stop[order],
            length=rows.length[order],
            source=frames.direction[at],
            destination=1 - frames.direction[at],
            source_port=np.array([port for _, port in listens], np.int64)[frames.direction[at]],
            destination_port=zeros,  # the port that the decoder is told to take
            ip_id=zeros - 1,
            flags=frames.refused[at] * int(Flag.REFUSED),
            barrier=barrier,
            outcome=zeros.copy(),
        )
        self._decoder.forget_members()
        batches = self._decoder.decode(datagrams)
        outcome = datagrams.outcome[barrier == 0]
        assert len(outcome) == len(rows.place)
        outcome[(outcome == FrameOutcome.TRUNCATED) & rows.known] = FrameOutcome.DECODED
        unread = np.isin(outcome, (FrameOutcome.NOT_CLAIMED, FrameOutcome.TRUNCATED))
        if unread.any():
            self._unread["JGroups frame over TCP, not read to its end"] += int(unread.sum())
            outcome[unread] = FrameOutcome.UNDECODABLE
        whole = np.zeros(frames.count, np.int64)
        np.maximum.at(whole, rows.place, outcome)  # the worst of a frame's parts
        frames.outcome[messages] = whole[messages]
        return [_placed(frames, rows, batch) for batch in batches]

    def _rows(self, frames: StreamFrames, messages: Int64s) -> FrameRows:
        """The frames as the kernel reads them: of a long one its parts, behind all others."""
        start, stop = frames.start[messages], frames.stop[messages]
        size = stop - start
        if not (size > READ).any():
            zeros = np.zeros(len(start), np.int64)
            return FrameRows(frames.data, start, stop, size, messages, zeros, zeros != 0)
        data = bytearray(frames.data)
        found: list[tuple[int, int, int, int, int, bool]] = []
        for begin, end, place in zip(start.tolist(), stop.tolist(), messages.tolist(), strict=True):
            if end - begin <= READ:
                found.append((begin, end, end - begin, place, 0, False))
                continue
            frame = bytes(frames.data[begin:end])
            for number, part in enumerate(self._long.parts(frame, compile_it=frames.compile_it)):
                end = len(data) + len(part.data)
                found.append((len(data), end, part.length, place, part.first, part.known))
                data += part.data
                if number:
                    version = int.from_bytes(frame[:2], "big")
                    self._more_parts[version_text(version)] += 1
                    self._more_clusters[cluster_of(frame)] += 1
        begins, ends, lengths, places, firsts, known = (
            np.array(column, np.int64) for column in zip(*found, strict=True)
        )
        return FrameRows(bytes(data), begins, ends, lengths, places, firsts, known != 0)

    def _addressed(
        self, frames: StreamFrames, batch: pa.RecordBatch, ways: Int64s
    ) -> list[pa.RecordBatch]:
        """The batch without the rows that wait."""
        memory = frames.connection.memory
        kind = batch.column("kind").to_numpy()
        if int(kind[0]) == Kind.MEMBER:
            memory["holes"].conversations.update(batch.column("conversation").to_pylist())
            return self._fresh_members(memory["seen"], batch)
        direction = np.asarray(ways)
        broad = np.isin(kind, BROAD_KINDS) & ~not_null(batch.column("destination")).to_numpy(
            zero_copy_only=False
        )
        broad &= ~(
            (kind == Kind.VIEW) & ~not_null(batch.column("seqno")).to_numpy(zero_copy_only=False)
        )
        if not broad.any():
            return [batch]
        batches = [filtered(batch, bool_column(~broad))] if not broad.all() else []
        for way in (0, 1):
            mine = broad & (direction == way)
            if mine.any():
                memory["waiting"][way].append(filtered(batch, bool_column(mine)))
                memory["waiting_rows"] += int(mine.sum())
        return batches

    def _released(self, connection: Connection) -> list[pa.RecordBatch]:
        """Rows to everybody, with the member that they went to where it is known by now."""
        memory = connection.memory
        batches: list[pa.RecordBatch] = []
        for way in (0, 1):
            member = memory["members"][1 - way]
            waiting = memory["waiting"][way]
            if waiting and (
                member is not None or connection.ended or memory["waiting_rows"] > MAX_WAITING
            ):
                for batch in waiting:
                    names = pa.array([member] * batch.num_rows, pa.string())
                    batches.append(_with_columns(batch, {"destination": names}))
                    memory["waiting_rows"] -= batch.num_rows
                waiting.clear()
        return batches

    def _fresh_members(
        self, seen: set[tuple[str, ...]], batch: pa.RecordBatch
    ) -> list[pa.RecordBatch]:
        """MEMBER rows that this connection has not had yet."""
        keys = zip(
            batch.column("conversation").to_pylist(),
            batch.column("source").to_pylist(),
            batch.column("detail").to_pylist(),
            strict=True,
        )
        fresh: list[bool] = []
        for key in keys:
            fresh.append(key not in seen)
            seen.add(key)
        return [filtered(batch, pa.array(fresh))] if any(fresh) else []


class FrameRows(NamedTuple):
    """Frames and parts of frames for the kernel; ``place`` is the frame's in StreamFrames."""

    data: bytes | bytearray | memoryview
    start: Int64s
    stop: Int64s
    length: Int64s
    place: Int64s
    first: Int64s  # number of a part's first message in the whole frame
    known: npt.NDArray[np.bool_]  # what is not read of it is payload


def _placed(
    frames: StreamFrames, rows: FrameRows, batch: pa.RecordBatch
) -> tuple[pa.RecordBatch, Int64s]:
    """A batch whose ``frame`` is 1 + its row in ``rows``, with the capture's frames."""
    row = batch.column("frame").to_numpy() - 1
    last = rows.place[batch.column("last_frame").to_numpy() - 1]
    at = rows.place[row]
    index = batch.column("index").to_numpy()
    # many frames share a capture frame, and parts a frame
    place = np.where(index < 0, index, frames.place[at] << 24 | index + rows.first[row])
    columns = {"frame": frames.frame[at], "last_frame": frames.frame[last], "index": place}
    return _with_columns(batch, columns), frames.direction[at]


def _with_columns(batch: pa.RecordBatch, columns: dict[str, Int64s]) -> pa.RecordBatch:
    arrays = [
        as_column(columns[field.name], field.type)
        if field.name in columns
        else batch.column(field.name)
        for field in batch.schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _first_sender(frames: StreamFrames, messages: Int64s) -> str | None:
    """The UUID that the first of some frames states as its sender (jgroups.md 1.4, 1.5)."""
    for at in messages.tolist():
        start = int(frames.start[at])
        head = frames.data[start : min(int(frames.stop[at]), start + 48)]
        if len(head) < 8:
            continue
        cursor = 3
        leading = 3
        if not head[2] & 1:
            cursor += 5 if head[0] >= 0x28 else 3
            leading = head[cursor - 3]
        if leading & 1:
            if head[cursor : cursor + 1] not in (b"\1", b"\2"):
                continue
            cursor += 17 if head[cursor] == 2 else 1
        if leading & 2 and len(head) >= cursor + 17 and head[cursor] == 2:
            return objects.address_text(head[cursor : cursor + 17])
    return None
