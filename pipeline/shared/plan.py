"""From the files a user names to pieces and tasks, without reading them (pipeline/README.md 1).

In: paths, ``-`` for standard input. Out: a plan of pieces numbered over the whole job in the order
of the files, and tasks that are packed lists of pieces. A file that cannot be used becomes a
problem of its capture; the others are planned.
"""

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, cast

from seqaudit.decoders.capture import remote
from seqaudit.decoders.capture.compression import Decompressed, detect
from seqaudit.decoders.capture.formats import recognize
from seqaudit.decoders.capture.pieces import TO_THE_END, Piece, plan_pieces, stream_piece
from seqaudit.decoders.capture.reader import STDIN
from seqaudit.decoders.capture.sources import Rejoined
from seqaudit.decoders.contract.errors import CaptureError, SeqauditError
from seqaudit.decoders.contract.networks import EVERYTHING, Chosen
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.network.networks import network_name
from seqaudit.pipeline.shared import private_files

#: Of standard input so much is looked at, and of what it holds compressed.
HEAD_BYTES: Final = 1 << 20
INNER_BYTES: Final = 1 << 16

#: So much of standard input is kept while it is read.
KEPT_BYTES: Final = 1 << 30

MEGABYTE: Final = 1_000_000
SMALLEST_TASK_BYTES: Final = 64 * MEGABYTE
LARGEST_TASK_BYTES: Final = 512 * MEGABYTE

#: A task is such a part of what a core's share of the rest is: tasks become smaller, so that all
#: cores end together, and there are few of them.
REST_PER_TASK: Final = 2

#: Of the files before one of a capture that was written in turns, so much is read again: what it
#: has of them twice is sought there. The number counts where files are of a few packets.
PRIMED_BYTES: Final = MEGABYTE
PRIMED_FILES: Final = 32

#: A small capture costs as much as so many bytes of a large one: what has to be opened for it.
LEAST_COST_BYTES: Final = MEGABYTE


@dataclass(frozen=True, slots=True)
class CaptureInput:
    """One capture (vantage) as the user names it.

    Attributes:
        path: a file, ``-``, or a URI that ``pyarrow.fs`` opens.
        at: a member's name or IP address, for this capture only; null: see ``Options.at``.
        parameters: as ``--param`` takes them, for this capture only.
        more: further files of the same vantage, in the order of their packets (``rotation``).
        chosen: the networks whose packets are read: what a file holds of networks that use the
            same addresses is several captures.
    """

    path: str
    at: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    chosen: Chosen = EVERYTHING

    @property
    def files(self) -> tuple[str, ...]:
        return (self.path, *self.more)


@dataclass(frozen=True, slots=True)
class File:
    """One readable file of a capture: what it is called in the report, and its pieces' numbers."""

    shown: str  # the path as it was given
    path: str  # where it is read from; differs for standard input
    container: str
    compression: str
    first_split: int
    stop_split: int
    chosen: Chosen = EVERYTHING

    @property
    def network(self) -> str:
        """What the networks are called; empty: it is not one of several."""
        return network_name(self.chosen)

    @property
    def called(self) -> str:
        """The path, with the networks of which packets are read."""
        return self.shown + (f" ({self.network})" if self.network else "")


@dataclass(frozen=True, slots=True)
class Shares:
    """How large tasks are.

    Attributes:
        fixed: all of them are so large; null: as ``cores`` have it.
        cut: files are cut to that size; else a task is made of whole files.
    """

    cores: int
    fixed: int | None = None
    smallest: int = SMALLEST_TASK_BYTES
    largest: int = LARGEST_TASK_BYTES
    cut: bool = True

    def of(self, rest: int) -> int:
        """Bytes of the next task where so many are left; all of them rather than leaving crumbs."""
        if self.fixed is not None:
            return self.fixed
        size = max(self.smallest, min(rest // (REST_PER_TASK * self.cores), self.largest))
        return size if rest >= size + self.smallest else max(rest, 1)

    def cuts(self, size: int, rest: int) -> list[int] | None:
        """Where to cut a file of ``size`` bytes, if ``rest`` are left with it; null: evenly."""
        if not self.cut:
            return []
        if self.fixed is not None:
            return None
        cuts: list[int] = []
        start = 0
        while (stop := start + self.of(rest - start)) < size:
            cuts.append(stop)
            start = stop
        return cuts


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job reads: the captures that can be, their pieces, and what cannot be and why."""

    inputs: tuple[CaptureInput, ...]  # the usable ones; a capture's number is its place here
    files: tuple[tuple[File, ...], ...]  # per capture
    pieces: tuple[Piece, ...]
    shares: "Shares"
    problems: tuple[tuple[str, str], ...]  # (path, one line)

    @property
    def total_bytes(self) -> int:
        return sum(map(stored_bytes, self.pieces))

    @property
    def cost_bytes(self) -> int:
        """What decoding all pieces costs."""
        return sum(cost_bytes(stored_bytes(piece)) for piece in self.pieces)

    @property
    def whole(self) -> bool:
        """Every piece is a whole capture, so nothing can continue in another piece."""
        return all(piece.whole for piece in self.pieces) and all(
            len(files) == 1 for files in self.files
        )

    def tasks(self) -> tuple[tuple[Piece, ...], ...]:
        """Pieces packed in order to the size of ``shares``; one task reads a piece once."""
        tasks: list[tuple[Piece, ...]] = []
        task: list[Piece] = []
        rest, size = self.cost_bytes, 0
        target = self.shares.of(rest)
        for piece in self.pieces:
            length = cost_bytes(stored_bytes(piece))
            if task and size + length > target:
                tasks.append(tuple(task))
                rest -= size
                task, size, target = [], 0, self.shares.of(rest)
            task.append(piece)
            size += length
        if task:
            tasks.append(tuple(task))
        return tuple(tasks)

    def with_pieces(self, pieces: Sequence[Piece]) -> "Plan":
        return replace(self, pieces=tuple(pieces))


class _CopiedStream:
    """A stream that writes to a private file what is read of it: captures may be read again.

    Without room, or longer than ``most`` bytes, it is read once, as if nobody kept it.
    """

    def __init__(self, source: BinaryIO, most: int) -> None:
        self._source = source
        self._rest = most
        self._spool: BinaryIO | None = None
        self._why = f"it has more than {most:,} bytes"  # it is not kept
        self._held: private_files.PrivatePath | None = None
        with self._or_not():
            self._held = private_files.make_file()  # mode 0600
            self._spool = self._held.path.open("wb")

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self._rest -= len(data)
        if self._spool is not None:
            with self._or_not():
                self._spool.write(data)
            if self._rest < 0:
                self.close()
        return data

    def whole(self) -> Path:
        """The file, with what nobody has read yet.

        Raises:
            CaptureError: it was not kept.
        """
        with self._or_not():
            while self._spool is not None and self.read(1 << 20):
                pass
            if self._spool is not None:
                self._spool.flush()
        if self._held is None:
            raise CaptureError(
                STDIN,
                f"could not be kept in a temporary file ({self._why})",
                "point TMPDIR at a folder with room, or save the capture to a file",
            )
        return self._held.path

    @contextlib.contextmanager
    def _or_not(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            self._why = problem.strerror or str(problem)
            self.close()

    def close(self) -> None:
        """Remove the file."""
        if self._spool is not None:
            with contextlib.suppress(OSError):
                self._spool.close()
        if self._held is not None:
            self._held.remove()
        self._spool = self._held = None


class StandardInput:
    """Standard input: spooled to a private file where the engine needs one (pipeline/README.md 1),
    and while it is read elsewhere."""

    def __init__(self, *, streamed: bool = False) -> None:
        """``streamed``: the engine can read it as it comes."""
        self.streamed = streamed
        self._stream: BinaryIO | None = None  # what ``open_piece`` left to be read
        self._kept: _CopiedStream | None = None
        self._opened = contextlib.ExitStack()
        self.is_long = False  # more comes than ``open_piece`` looked at

    def open_piece(self, capture: int, split: int) -> Piece:
        """The piece that reads ``stream`` straight through.

        Raises:
            CaptureError: it is a terminal, empty, or no capture.
        """
        source = self._keep(KEPT_BYTES)
        head = source.read(HEAD_BYTES)
        if not head:
            raise CaptureError(STDIN, "is empty", "check the command before the pipe")
        self.is_long = len(head) == HEAD_BYTES
        compression = detect(head)
        inner = _decompressed(head, compression) if compression else head
        header, _ = recognize(STDIN, inner)
        self._stream = cast(BinaryIO, Rejoined(head, cast(BinaryIO, source)))
        return replace(
            stream_piece(capture, split),
            container="pcap" if header else "pcapng",
            compression=compression,
        )

    @property
    def stream(self) -> BinaryIO | None:
        """Its bytes from the first on, each time that somebody asks; null: it is a file by now.

        Raises:
            CaptureError: it was read, and it is too long to be kept, or there was no room.
        """
        if self._stream is None or self._kept is None:
            return None
        if self.streamed:
            self.streamed = False
            return self._stream
        self._stream = self._opened.enter_context(self._kept.whole().open("rb"))
        return self._stream

    def path(self) -> str:
        """Where it lies; read on first use.

        Raises:
            CaptureError: there is no room, or it is a terminal.
        """
        return str((self._kept or self._keep(sys.maxsize)).whole())

    def _keep(self, most: int) -> _CopiedStream:
        with interrupts.held_back():  # until ``close`` knows of it
            self._kept = _CopiedStream(_piped(), most)
        return self._kept

    def close(self) -> None:
        """Remove the temporary file."""
        self._opened.close()
        if self._kept is not None:
            self._kept.close()
            self._kept = None


def _piped() -> BinaryIO:
    if sys.stdin is None:
        raise CaptureError(STDIN, "standard input is closed", "pipe a capture into it")
    if sys.stdin.isatty():
        raise CaptureError(STDIN, "standard input is a terminal", "pipe a capture into it")
    return sys.stdin.buffer


def _decompressed(head: bytes, compression: str) -> bytes:
    """The beginning of what a compressed stream holds."""
    reader = Decompressed(io.BytesIO(head), compression)
    inner = b""
    while len(inner) < INNER_BYTES and (part := reader.read(INNER_BYTES)):
        inner += part
    if not inner:
        problem = reader.problem or f"holds nothing (an empty {compression})"
        raise CaptureError(STDIN, problem, "check the command before the pipe")
    return inner


def plan(
    inputs: Sequence[CaptureInput],
    *,
    shares: Shares,
    stdin: StandardInput,
    cuts: Mapping[str, Sequence[int]] | None = None,
) -> Plan:
    """Plan the pieces of a job.

    Args:
        shares: the size of tasks.
        cuts: explicit places to cut a file at, by path; for tests.

    Raises:
        SeqauditError: the same file is named twice.
    """
    _refuse_repeated(inputs)
    problems: list[tuple[str, str]] = []
    where = {path: _absolute(path) for given in inputs for path in given.files}
    streamed = stdin.streamed and list(where) == [STDIN]
    if STDIN in where and not streamed:
        try:
            where[STDIN] = stdin.path()
        except CaptureError as problem:
            problems.append((STDIN, str(problem)))
            where[STDIN] = ""
    rest = sum(stored_size(where[path]) for given in inputs for path in given.files)
    usable: list[CaptureInput] = []
    files: list[tuple[File, ...]] = []
    pieces: list[Piece] = []
    for given in inputs:
        own: list[Piece] = []
        own_files: list[File] = []
        for shown in given.files:
            if not where[shown]:
                continue
            split = len(pieces) + len(own)
            size = stored_size(where[shown])
            where_to_cut = (cuts or {}).get(shown)
            if where_to_cut is None and (size or not shares.cut):
                where_to_cut = shares.cuts(size, rest)
            rest -= size
            try:
                planned = (
                    [stdin.open_piece(len(usable), split)]
                    if streamed
                    else plan_pieces(
                        where[shown],
                        len(usable),
                        split,
                        shares.fixed or shares.smallest,
                        cuts=where_to_cut,
                    )
                )
            except CaptureError as problem:
                problems.append((shown, str(problem).replace(where[shown], shown)))
                continue
            head = planned[0]
            own += [replace(head, before=_ends(own)), *planned[1:]]
            own_files.append(
                File(
                    shown,
                    where[shown],
                    head.container,
                    head.compression,
                    split,
                    split + len(planned),
                    given.chosen,
                )
            )
        if own:
            usable.append(given)
            files.append(tuple(own_files))
            pieces += _with_next(own)
    return Plan(tuple(usable), tuple(files), tuple(pieces), shares, tuple(problems))


def _with_next(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of a capture; before another file each knows the first bytes of that."""
    for after, piece in enumerate(pieces, 1):
        at_end = after < len(pieces) and pieces[after].start == 0
        yield replace(piece, behind=_begins(pieces[after:])) if at_end else piece


def _ends(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The last bytes of the files before one, which its datagrams are compared with."""
    ends = [
        replace(p, start=p.size_bytes - size, stop=p.size_bytes, proven=size == p.size_bytes,
                whole=False, before=())
        for p, size in _nearest(reversed(pieces))
    ]  # fmt: skip
    return tuple(reversed(ends))


def _begins(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The first bytes of the files behind one, of which records may belong into it."""
    return tuple(replace(p, stop=size, whole=False, before=()) for p, size in _nearest(pieces))


def _nearest(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, int]]:
    """The first pieces of files, the nearest file first, and how many bytes of each are read."""
    rest = PRIMED_BYTES
    firsts = (piece for piece in pieces if piece.start == 0)  # each stands for its file
    for piece in islice(firsts, PRIMED_FILES):
        if rest <= 0 or piece.compression or piece.size_bytes < 0:
            return
        yield piece, min(piece.size_bytes, rest)
        rest -= piece.size_bytes


def stored_bytes(piece: Piece) -> int:
    """Bytes of the file that a piece reads; a compressed file is one piece and has no other end."""
    if piece.stop >= TO_THE_END:
        return max(piece.size_bytes, 0)
    return piece.stop - piece.start


def cost_bytes(size: int) -> int:
    """What decoding so many bytes of a capture costs, in bytes of a large one."""
    return max(size, LEAST_COST_BYTES)


def stored_size(path: str) -> int:
    """Bytes of a file; 0 where nobody can tell."""
    if remote.is_remote(path):
        return remote.size_of(path)
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _absolute(path: str) -> str:
    """Where a file is for workers, which have other working folders."""
    return path if path == STDIN or "://" in path else str(Path(path).absolute())


def _refuse_repeated(inputs: Sequence[CaptureInput]) -> None:
    seen: dict[object, str] = {}
    for given in inputs:
        if given.chosen.networks:  # the capture stands here with its other networks as well
            continue
        for path in given.files:
            try:
                status = Path(path).stat()
                key: object = (status.st_dev, status.st_ino)
            except OSError:
                key = path
            if key in seen:
                same = "" if seen[key] == path else f" (the same file as {seen[key]})"
                raise SeqauditError(f"{path}: is given twice{same}; name every capture once")
            seen[key] = path
