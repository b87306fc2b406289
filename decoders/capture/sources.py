"""Where the bytes of a capture come from, and the window that the kernels look through.

Plain local files are read by ``preadv`` into one reused buffer (pipeline/README.md 2: mmap is
slower and counts as memory), paths with a scheme (hdfs://, s3a://) lie elsewhere (``remote``),
and compressed files, pipes and standard input are read in order.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import numpy as np

from seqaudit.decoders.capture.compression import ByteReader
from seqaudit.decoders.capture.remote import RemoteFile, Stamp, is_remote
from seqaudit.decoders.contract.errors import CaptureError

CHUNK_BYTES: Final = 16 << 20
JUMP_BYTES: Final = 1 << 16  # what is read behind a jump at first

#: What a load brings at least: so little is still in the processor's own cache when the last of the
#: passes over it comes. ``Reader`` takes more where so much holds few records.
STEP_BYTES: Final = 1 << 20


class ByteSource(Protocol):
    """Bytes by offset; a source in order is only ever asked for the offset where it stands."""

    seekable: bool
    stamp: Stamp

    def read_into(self, offset: int, room: memoryview) -> int:
        """Fill ``room`` from ``offset`` on; fewer bytes only at the end of the file."""

    def close(self) -> None: ...


class LocalFile:
    """A regular file of this machine."""

    seekable = True

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _refusal(path, error) from None
        found = os.fstat(self._handle)
        if not stat.S_ISREG(found.st_mode):
            self.close()
            if stat.S_ISDIR(found.st_mode):
                raise CaptureError(
                    path, "is a folder without captures", "name a file or another folder"
                )
            raise CaptureError(path, "is no regular file", "pipe it in and give - as the capture")
        self.stamp = Stamp(found.st_size, found.st_mtime_ns)

    def read_into(self, offset: int, room: memoryview) -> int:
        done = 0
        try:
            while done < len(room):
                count = os.preadv(self._handle, [room[done:]], offset + done)
                if count == 0:
                    break
                done += count
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
            advice = "copy the file to another disk and try again"
            raise CaptureError(self._path, problem, advice, offset + done) from None
        return done

    def close(self) -> None:
        os.close(self._handle)


class Sequence:
    """Bytes that come in order and only once: a pipe or decompressed data."""

    seekable = False
    stamp = Stamp(-1, -1)

    def __init__(self, reader: ByteReader, owner: "ByteSource | None" = None) -> None:
        self._reader = reader
        self._owner = owner
        self._position = 0
        self._over = False

    def read_into(self, offset: int, room: memoryview) -> int:
        assert offset == self._position, "a stream is read in order"
        done = 0
        while done < len(room) and not self._over:
            data = self._reader.read(min(len(room) - done, 1 << 20))
            if not data:
                self._over = True
                break
            room[done : done + len(data)] = data
            done += len(data)
        self._position += done
        return done

    def close(self) -> None:
        if self._owner is not None:
            self._owner.close()


class InOrder:
    """A source by offset as a ByteReader, for the decompressors."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._position = 0

    def read(self, size: int, /) -> bytes:
        room = np.empty(size, np.uint8)  # not cleared: most files end long before it does
        count = self._source.read_into(self._position, room.data)
        self._position += count
        return room[:count].tobytes()


class Rejoined:
    """A stream of which some first bytes were already taken."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        if self._head:
            taken, self._head = self._head[:size], self._head[size:]
            return taken
        return self._stream.read(size)


def open_source(path: str) -> ByteSource:
    """Open a path or URI; raises CaptureError with one line for what is in the way."""
    if is_remote(path) and not Path(path).exists():
        return RemoteFile(path)
    return LocalFile(path)


class FileWindow:
    """A stretch of the capture in memory, moved forward as it is used up. A file that ends before
    its size in the plan was cut off meanwhile, which raises CaptureError.

    Attributes:
        base: file offset of the first byte; length: bytes held; at_end: 1 if the file ends there.
        step_bytes: what a load holds if no more is needed, and if the buffer has room for it.
        data: the bytes, as kernels of the mode take them. Compiled: one buffer that is written
            again by the next ``load``. Interpreted: ``bytes``, which Python reads faster.
    """

    def __init__(
        self, source: ByteSource, path: str, *, compile_it: bool, chunk_bytes: int, size_bytes: int
    ) -> None:
        self._source = source
        self._path = path
        self._compile_it = compile_it
        self._size_bytes = size_bytes  # of the file; -1: not known
        self._buffer = np.empty(chunk_bytes, np.uint8)
        self.step_bytes = STEP_BYTES
        self._reach = chunk_bytes
        self.base = 0
        self.length = 0
        self.at_end = 0
        self.data: bytes | memoryview = b""

    @property
    def size_bytes(self) -> int:
        """Of a file that can be read anywhere; else -1."""
        return self._size_bytes if self._source.seekable else -1

    def jump(self, offset: int, need: int) -> None:
        """``load`` far ahead: reads little first, as another jump may follow, then ever more."""
        self._reach = JUMP_BYTES
        self.load(offset, need)

    def load(self, offset: int, need: int = 1) -> None:
        """Make ``offset`` the first byte and hold ``need`` bytes from there, or all there are."""
        held = self.base + self.length - offset
        if held < 0 or offset < self.base:
            assert self._source.seekable, "a stream is read in order"
            held = 0
        if need > len(self._buffer):
            larger = np.empty(max(need, 2 * len(self._buffer)), np.uint8)
            larger[:held] = self._buffer[self.length - held : self.length]
            self._buffer = larger
        elif held:
            self._buffer[:held] = self._buffer[self.length - held : self.length]
        self.base = offset
        room = self._buffer.data[held : max(need, min(self.step_bytes, self._reach))]
        self._reach = min(4 * self._reach, len(self._buffer))
        if self._size_bytes >= 0:  # the size in the plan counts, should the file grow meanwhile
            room = room[: max(0, self._size_bytes - offset - held)]
        got = self._source.read_into(offset + held, room)
        self.length = held + got
        if self._size_bytes >= 0:
            self.at_end = 1 if offset + self.length >= self._size_bytes else 0
            if got < len(room):
                ends = offset + self.length
                how = f"{self._size_bytes} bytes planned, none found behind {ends}"
                raise changed(self._path, how)
        else:
            self.at_end = 1 if got < len(room) else 0
        view = self._buffer.data[: self.length].toreadonly()
        self.data = view if self._compile_it else bytes(view)


def changed(path: str, how: str) -> CaptureError:
    """A file is not the one that was planned."""
    return CaptureError(
        path, f"changed while being read: {how}", "wait until it is complete and run again"
    )


def _refusal(path: str, error: OSError) -> CaptureError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return CaptureError(path, "does not exist", "check the path")
    if error.errno in (errno.EACCES, errno.EPERM):
        return CaptureError(path, "may not be read by this user", "change its access rights")
    return CaptureError(path, f"cannot be opened ({error.strerror})", "check the path")
