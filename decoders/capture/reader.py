"""Capture containers: pcap and pcapng, plain or compressed, read record by record.

Comes in: a piece of a capture. Goes out: ``Records``, one chunk of bytes with columns that say
where its packets lie, and an account of the piece: where it began and landed, what was skipped,
drop counters (decoders/README.md 1, 2). Wire content never raises; an input that is no capture does
(``CaptureError``).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.capture import pcapng
from seqaudit.decoders.capture import record_kernels as k
from seqaudit.decoders.capture import record_walkers as walkers
from seqaudit.decoders.capture.compression import Decompressed, detect
from seqaudit.decoders.capture.formats import Format, recognize, sniff
from seqaudit.decoders.capture.sources import (
    CHUNK_BYTES,
    STEP_BYTES,
    ByteSource,
    FileWindow,
    InOrder,
    Rejoined,
    Sequence,
    changed,
    open_source,
)
from seqaudit.decoders.contract.errors import CaptureError
from seqaudit.decoders.kernels.loader import spread

Int64s = npt.NDArray[np.int64]

__all__ = ["Format", "Piece", "Reader", "Records", "sniff"]  # the whole of reading a capture

STDIN: Final = "-"
ROOM: Final = 131_072  # records a chunk at most
USUAL: Final = 16_384  # records a chunk usually has: fewer cost more in Python than in kernels
MAX_SKIPPED: Final = 100
FIRST_BYTES: Final = 64  # enough for either file header and the first pcap record header
PRIME_TRIES: Final = 32
LENGTH_BYTES: Final = 4  # the length that ends a pcapng block

#: All that the candidates of one search may need behind them: a whole chain of longest records.
LOOKAHEAD_BYTES: Final = (k.CHAIN + 1) * (k.GUESS_LIMIT + 8192)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a capture file; pickled to workers."""

    path: str  # local path or pyarrow.fs URI; "-": standard input
    capture: int  # index of the vantage
    split: int  # number over the whole job; see seqaudit.decoders.contract.events.FRAME_BITS
    start: (
        int  # bytes of the uncompressed capture; a record belongs to the piece in which it starts
    )
    stop: int
    proven: bool  # start is known to be a boundary (0 counts: the file header is read there)
    size_bytes: int  # of the stored file as planned, checked when it is opened
    mtime_ns: int
    whole: bool  # the piece is the whole file
    container: str  # "pcap" | "pcapng"; "": told when it is read (standard input)
    compression: str  # "" | "gz" | "zst" | "lz4"; a compressed file is one piece
    # The pcapng state at start; for a guess, the first section of the file is assumed.
    section: int = 0
    big_endian: bool = False
    previous_ns: int | None = None
    interfaces: tuple[pcapng.Interface, ...] = ()
    #: Ends of the files before and begins of those behind, of a capture that was written in turns:
    #: they prime this piece, and their records may belong among its own.
    before: tuple["Piece", ...] = ()
    behind: tuple["Piece", ...] = ()


@dataclass(slots=True)
class Records:
    """One chunk of a capture and where its records are; valid until the next one is asked for.

    All columns are (count,) int64.
    """

    data: bytes | memoryview  # the chunk
    count: int
    section: int  # pcapng: file offset of the section that all of them are in; else 0
    frame: Int64s  # number in the split, from 1; 0: not of this piece, only primes
    start: Int64s  # offset of the packet in data
    captured: Int64s  # bytes captured, all of them in data
    original: Int64s  # bytes on the wire, as the record says; may be less than captured
    at_ns: Int64s  # ns since the epoch
    link: Int64s  # LINKTYPE_*, -1 unknown
    interface: Int64s  # index in its section; pcap: 0
    offset: Int64s  # of the record header in the (uncompressed) file
    status: Int64s  # record_kernels: OK, UNKNOWN_INTERFACE, TIME_OUT_OF_RANGE, NOT_A_PACKET
    plain: bool = field(default=False, kw_only=True)  # all have link 1, Ethernet, and status OK

    def only(self, rows: Int64s) -> "Records":
        """Some of them in the order that they have; all of them are themselves."""
        return self if len(rows) == self.count else self.taken(rows)

    def taken(self, rows: Int64s) -> "Records":
        """Only some of them."""
        columns = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return replace(self, count=len(rows), **columns)


_COLUMNS: Final = (
    "frame", "start", "captured", "original", "at_ns", "link", "interface", "offset", "status",
)  # fmt: skip


@dataclass(slots=True)
class Reader:
    """Reads one piece. Iterate once; the account is valid afterwards, also if stopped early.

    Args:
        piece: what to read; ``stream``: for the piece of standard input, its bytes.
        compile_it: mode of the kernels.
        prime_bytes: before the piece's own records come those of up to so many bytes before it,
            with frame 0, so that duplicates are seen across a cut. ``primed`` says whether they
            could be had (False: no boundary before the piece leads exactly to its begin).
        ahead_bytes: behind them come those of up to so many bytes behind it, of its last section,
            with frame 0 as well.

    Account:
        begin, landing: offset of the first record header (pcap file header passed), and the offset
            behind the last record that starts in the piece; -1 if a guess found none.
        begin_state, landing_state: "" for pcap; else ``pcapng.State.write``.
        skipped: (from, to, why) of stretches that hold no record, the first MAX_SKIPPED of them;
            skipped_more: (number, bytes) of the others.
        cut: the file ends in the middle of a record, or its compressed data does.
        problem: what is wrong with the compressed data, or "".
        untimed: records without a time stamp (simple packet blocks): they have the time of the
            record before them, 0 at the beginning.
        interfaces: what the interfaces are and dropped, see ``pcapng.Section``.
    """

    piece: Piece
    compile_it: bool
    prime_bytes: int = 0
    ahead_bytes: int = 0
    stream: BinaryIO | None = None
    chunk_bytes: int = CHUNK_BYTES
    room: int = ROOM

    begin: int = -1
    landing: int = -1
    begin_state: str = ""
    landing_state: str = ""
    skipped: list[tuple[int, int, str]] = field(default_factory=list)
    skipped_more: tuple[int, int] = (0, 0)
    cut: bool = False
    problem: str = ""
    primed: bool = True
    untimed: int = 0
    interfaces: list[dict[str, object]] = field(default_factory=list)
    interfaces_more: int = 0
    comments: int = 0
    comment_texts: list[str] = field(default_factory=list)

    _window: FileWindow = field(init=False, repr=False)
    _walker: walkers.Walker = field(init=False, repr=False)
    _columns: Int64s = field(init=False, repr=False)
    _outputs: list[Any] = field(init=False, repr=False)
    _position: int = field(init=False, repr=False, default=0)

    def __iter__(self) -> Iterator[Records]:
        source, inner = self._open()
        try:
            self._prepare(source)
            yield from self._piece()
        finally:
            source.close()
            if inner is not None and inner.problem:
                self.problem = inner.problem
                self.cut = self.cut or inner.incomplete

    def _open(self) -> tuple[ByteSource, Decompressed | None]:
        """The uncompressed bytes of the piece; a file must still be the one that was planned."""
        piece = self.piece
        if self.stream is not None:
            head = b""
            while len(head) < 8 and (more := self.stream.read(8 - len(head))):
                head += more
            if not head:
                raise CaptureError(piece.path, "is empty", "check the command before the pipe")
            raw = Rejoined(head, self.stream)
            compression = detect(head)
            if not compression:
                return Sequence(raw), None
            inner = Decompressed(raw, compression)
            return Sequence(inner), inner
        source = open_source(piece.path)
        if source.stamp != (piece.size_bytes, piece.mtime_ns):
            source.close()
            found = source.stamp.size_bytes
            how = f"{piece.size_bytes} bytes planned, {found} found"
            if found == piece.size_bytes:
                how = f"{found} bytes as planned, written at another time"
            raise changed(piece.path, how)
        if not piece.compression:
            return source, None
        inner = Decompressed(InOrder(source), piece.compression)
        return Sequence(inner, source), inner

    def _prepare(self, source: ByteSource) -> None:
        piece = self.piece
        size = piece.size_bytes if source.seekable else -1
        chunk, room = self.chunk_bytes, self.room
        if size >= 0:  # memory that is not needed would be cleared all the same, by large pages
            chunk = min(chunk, max(4096, size))
            room = min(room, size // walkers.RECORD_HEADER_LEAST + 1)
        self._window = FileWindow(
            source, piece.path, compile_it=self.compile_it, chunk_bytes=chunk, size_bytes=size
        )
        self._columns = np.empty((9, spread(room)), np.int64)[:, :room]
        columns: list[Any] = list(self._columns)
        self._outputs = columns if self.compile_it else [memoryview(c) for c in columns]
        state: pcapng.State | None = None
        header: walkers.PcapHeader | None = None
        loose = False
        if piece.start == 0 or piece.container == "pcap":
            self._window.load(0, FIRST_BYTES)
            head = bytes(self._window.data[:FIRST_BYTES])
            header, state = recognize(piece.path, head)
            loose = header is not None and walkers.is_loose(header, head)
        if header is not None:
            self._walker = walkers.PcapWalker(header, loose, compile_it=self.compile_it)
        elif piece.start == 0:
            assert state is not None
            start = pcapng.State(0, state.big_endian, 0, ())
            self._walker = walkers.PcapngWalker(start, compile_it=self.compile_it)
        else:
            start = pcapng.State(
                piece.section,
                piece.big_endian,
                piece.previous_ns,
                piece.interfaces,
            )
            self._walker = walkers.PcapngWalker(start, compile_it=self.compile_it)

    def _piece(self) -> Iterator[Records]:
        piece, walker = self.piece, self._walker
        first = max(piece.start, walker.first)
        if not piece.proven:
            first = self._find(first, piece.stop)
            if first < 0:
                self.interfaces, self.interfaces_more = walker.close()
                return
        self.begin = self.landing = self._position = first
        begin_state = walker.state()
        if first > walker.first and self._begins_section(first):
            begin_state = pcapng.ANY
        try:
            if first < piece.stop and self.prime_bytes > 0 and first > walker.first:
                yield from self._prime(first)
            yield from self._walk(first, piece.stop, 1)
            if self.ahead_bytes > 0:
                yield from self._ahead()
        finally:
            self.landing = self._position
            self.begin_state = walker.write_begin(begin_state)
            self.landing_state = walker.write_landing()
            self.untimed = walker.untimed
            self.comments += walker.comments
            self.interfaces, self.interfaces_more = walker.close()

    def _begins_section(self, offset: int) -> bool:
        if not isinstance(self._walker, walkers.PcapngWalker):
            return False
        self._show(offset, 12)
        at = offset - self._window.base
        return pcapng.read_byte_order(self._window.data[at : at + 12]) is not None

    def _show(self, offset: int, need: int) -> None:
        """Have ``need`` bytes from ``offset`` on in the window, or all there are."""
        window = self._window
        inside = window.base <= offset and offset + need <= window.base + window.length
        if not inside and not (window.at_end and window.base <= offset):
            window.load(offset, need)

    def _walk(self, position: int, stop: int, frame: int) -> Iterator[Records]:
        """Records from a boundary up to ``stop``; frame 0: priming, nothing is accounted."""
        window, walker = self._window, self._walker
        counting = frame > 0
        while True:
            self._show(position, 1)
            base = window.base
            section = walker.section
            begun = position - base
            room = self._columns.shape[1]
            count, at, why = walker.walk(window, begun, stop - base, frame, room, self._outputs)
            position = base + at
            self._position = position
            if why == k.COMMENT:
                text = walker.take_comment(window)
                if counting:
                    self._keep_comments([text])
            if count:
                window.step_bytes = max(STEP_BYTES, USUAL * (at - begun) // count)
                columns = [column[:count] for column in self._columns]
                yield Records(window.data, count, section, *columns, plain=walker.plain)
                if counting:
                    frame += count
            if why in (k.STOP, k.END):
                return
            if why == k.NEED and self._jumps(position, at):
                position = window.base + LENGTH_BYTES
            elif why == k.NEED:
                need = 1 if at > 0 else 2 * window.length + 64
                window.load(position, need)
            elif why == k.CONTROL:
                step = walker.control(window, at, counting=counting)
                if step.why == k.NEED:
                    window.load(position, 2 * (window.length - at) + 64)
                elif step.why == walkers.REFUSED:
                    return
                elif step.why != walkers.PASSED:
                    position = self._skip_damage(position, step.why, counting)
                else:
                    position = base + step.after
                if counting:
                    self._keep_comments(walker.take_texts())
            elif why in (k.DAMAGE, k.CUT, k.DOUBTFUL_CUT):
                position = self._skip_damage(position, why, counting)
            self._position = position

    def _jumps(self, position: int, at: int) -> bool:
        """Whether the block at ``position`` was passed over unread: the window is at its end."""
        window, walker = self._window, self._walker
        total = walker.passed_over(window, at)
        tail = position + total - LENGTH_BYTES
        beyond = window.base + window.length
        if not total or tail < beyond or tail + LENGTH_BYTES > window.size_bytes:
            return False
        window.jump(tail, LENGTH_BYTES)
        if walker.is_length(window.data[:LENGTH_BYTES], total):
            return True
        window.load(position, total)  # all of it, so that this is not tried again
        return False

    def _skip_damage(self, position: int, why: int, counting: bool) -> int:
        """Where records go on after a position where none can start; the end of file if nowhere."""
        window, walker = self._window, self._walker
        at = position - window.base
        reason = walker.explain(window, at, why)
        if why == k.CUT:
            found = walker.exact_tail(window, at + 1)
            after = window.base + found if found >= 0 else -1
        else:
            after = self._find(position + 1, None)
        end = after if after >= 0 else window.base + window.length
        if counting:
            if after < 0 and why in (k.CUT, k.DOUBTFUL_CUT):
                self.cut = True
                reason = f"the file ends in the middle of a record ({reason})"
            if len(self.skipped) < MAX_SKIPPED:
                self.skipped.append((position, end, reason))
            else:
                number, size = self.skipped_more
                self.skipped_more = (number + 1, size + end - position)
        return end

    def _find(self, offset: int, stop: int | None) -> int:
        """The first offset in [offset, stop) at which a chain of records begins; -1: none.

        Candidates are filtered by numpy, so that a long damaged stretch is cheap in both modes.
        """
        window, walker = self._window, self._walker
        span = 4096
        while stop is None or offset < stop:
            self._show(offset, walker.header_bytes)
            low = offset - window.base
            high = min(low + span, window.length)
            if not window.at_end:
                high = min(high, window.length - walker.header_bytes + 1)
            if stop is not None:
                high = min(high, stop - window.base)
            if high <= low:
                return -1
            candidates = walker.candidates(window.data, low, high, window.length)
            index, found = walker.find(window, candidates)
            if found == 1:
                return window.base + int(candidates[index])
            if found == 2:
                offset = window.base + int(candidates[index])
                window.load(offset, LOOKAHEAD_BYTES)
            else:
                offset = window.base + high
                span = 1 << 20
        return -1

    def _prime(self, begin: int) -> Iterator[Records]:
        """The records of ``prime_bytes`` before ``begin``; none if no boundary leads there."""
        walker = self._walker
        floor = max(walker.first, walker.section)
        low = max(floor, begin - self.prime_bytes)
        saved = walker.save()
        for _ in range(PRIME_TRIES):
            start = low if low == floor else self._find(low, begin + 1)
            if start < 0:
                break
            if start == begin:  # nothing lies between
                self._position = begin
                return
            for _records in self._walk(start, begin, 0):
                pass
            walker.restore(saved)
            if self._position == begin:
                yield from self._walk(start, begin, 0)
                walker.restore(saved)
                return
            low = start + 1
        walker.restore(saved)
        self.primed = False
        self._position = begin

    def _ahead(self) -> Iterator[Records]:
        """The records of ``ahead_bytes`` behind the piece."""
        landing, saved = self._position, self._walker.save()
        try:
            yield from self._walk(landing, landing + self.ahead_bytes, 0)
        finally:
            self._walker.restore(saved)
            self._position = landing

    def _keep_comments(self, texts: list[str]) -> None:
        for text in texts:
            if len(self.comment_texts) < pcapng.MAX_TEXTS:
                self.comment_texts.append(text)
        self._walker.want_comments(pcapng.MAX_TEXTS - len(self.comment_texts))
