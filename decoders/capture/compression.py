"""Compressed captures: gz, zst and lz4, told by content, read as one growing stream of bytes.

Several members or frames follow each other as one stream, skippable frames are passed over. A
stream that ends early or is damaged gives what can be read; ``Decompressed.problem`` then says what
is wrong. Output is bounded per step, so a small hostile file cannot fill the memory.
Formats: RFC 1952 (gz), RFC 8878 (zst), LZ4 Frame Format 1.6.
"""

import zlib
from typing import Final, Protocol

import zstandard

#: What a piece of input may grow to: 2 KB of zst are at most 512 blocks of 128 KB.
_SLICE: Final = {"gz": 65_536, "zst": 2_048, "lz4": 65_536}
_STEP_BYTES: Final = 1 << 20  # output asked for at a time, where the library can be asked

_MAGIC: Final = {"gz": b"\x1f\x8b\x08", "zst": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18"}

#: Files that we name but do not read.
_OTHERS: Final = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf": "7-Zip",
}


def detect(head: bytes) -> str:
    """``gz``, ``zst``, ``lz4`` or ``""`` for a file that begins with these (at least 4) bytes."""
    for compression, magic in _MAGIC.items():
        if head.startswith(magic):
            return compression
    return "zst" if _is_skippable(head) else ""


def name_other(head: bytes) -> str:
    """The name of a compression that we do not read, or ``""``."""
    return next((name for magic, name in _OTHERS.items() if head.startswith(magic)), "")


class ByteReader(Protocol):
    """Whatever gives bytes in order: a file, a pipe."""

    def read(self, size: int, /) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)
        self._full = False

    def decode(self, data: bytes) -> bytes:
        output = self._inner.decompress(self._inner.unconsumed_tail + data, _STEP_BYTES)
        self._full = len(output) == _STEP_BYTES  # more may come without input
        return output

    @property
    def done(self) -> bool:
        return self._inner.eof

    @property
    def rest(self) -> bytes:
        return self._inner.unused_data

    @property
    def waiting(self) -> bool:
        return self._full or bool(self._inner.unconsumed_tail)


class _Zstandard:
    waiting = False

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor().decompressobj()

    def decode(self, data: bytes) -> bytes:
        return bytes(self._inner.decompress(data))

    @property
    def done(self) -> bool:
        return bool(self._inner.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._inner.unused_data)


class _Lz4:
    def __init__(self) -> None:
        import lz4.frame

        self._inner = lz4.frame.LZ4FrameDecompressor()

    def decode(self, data: bytes) -> bytes:
        return bytes(self._inner.decompress(data, _STEP_BYTES))

    @property
    def done(self) -> bool:
        return bool(self._inner.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._inner.unused_data or b"")

    @property
    def waiting(self) -> bool:
        return not self._inner.eof and not self._inner.needs_input


_DECODERS: Final[dict[str, type[_Gzip] | type[_Zstandard] | type[_Lz4]]] = {
    "gz": _Gzip,
    "zst": _Zstandard,
    "lz4": _Lz4,
}
_ERRORS: Final = (zlib.error, zstandard.ZstdError, RuntimeError, ValueError, EOFError, MemoryError)


class Decompressed:
    """The bytes in a compressed stream, to be read in order.

    Attributes:
        problem: ``""``, or what is wrong with the compressed data, once reading has met it.
        incomplete: the stream ends early or is damaged: bytes are missing at the end.
    """

    def __init__(self, raw: ByteReader, compression: str, head: bytes = b"") -> None:
        """``head``: bytes already taken from ``raw``."""
        self._raw = raw
        self._compression = compression
        self._input = head
        self._consumed = 0  # compressed bytes given to decoders, for messages
        self._output = b""  # of the last step: a slice of zst may be 64 MB of zeros
        self._taken = 0  # bytes of it that were read
        self._decoder: _Gzip | _Zstandard | _Lz4 | None = None
        self._over = False
        self.problem = ""
        self.incomplete = False

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; empty only at the end."""
        while self._taken == len(self._output) and not self._over:
            self._output, self._taken = self._step(), 0
        taken = self._output[self._taken : self._taken + size]
        self._taken += len(taken)
        return taken

    def _step(self) -> bytes:
        if self._decoder is None:
            self._open_member()
            return b""
        decoder = self._decoder
        data = b"" if decoder.waiting else self._take(_SLICE[self._compression])
        if not data and not decoder.waiting:
            self._end(f"the {self._compression} data is cut after {self._consumed} bytes", True)
            return b""
        try:
            output = decoder.decode(data)
        except _ERRORS as error:
            self._end(
                f"the {self._compression} data is damaged before byte {self._consumed} ({error})",
                True,
            )
            return b""
        if decoder.done:
            self._consumed -= len(decoder.rest)
            self._input = decoder.rest + self._input
            self._decoder = None
        return output

    def _open_member(self) -> None:
        """Find the next member or frame, or that there is none."""
        head = self._peek(8)
        if not head.strip(b"\0") and not self._peek(_SLICE["gz"]).strip(b"\0"):
            self._end("", False)  # the end; tapes pad with zeros
        elif _is_skippable(head) and len(head) == 8:
            self._skip(8 + int.from_bytes(head[4:], "little"))
        elif head.startswith(_MAGIC[self._compression]):
            self._decoder = _DECODERS[self._compression]()
        elif _MAGIC[self._compression].startswith(head):
            self._end(f"the {self._compression} data is cut after {self._consumed} bytes", True)
        else:
            what = f"{self._compression} data ends at byte {self._consumed}, other bytes follow"
            self._end(what, False)

    def _skip(self, size: int) -> None:
        while size > 0:
            gone = len(self._take(min(size, 65_536)))
            if not gone:
                self._end(f"the {self._compression} data is cut in a skippable frame", True)
                return
            size -= gone

    def _peek(self, size: int) -> bytes:
        while len(self._input) < size:
            more = self._raw.read(65_536)
            if not more:
                break
            self._input += more
        return self._input[:size]

    def _take(self, size: int) -> bytes:
        self._peek(1)
        taken, self._input = self._input[:size], self._input[size:]
        self._consumed += len(taken)
        return taken

    def _end(self, problem: str, incomplete: bool) -> None:
        self._over = True
        self.problem = problem
        self.incomplete = incomplete


def _is_skippable(head: bytes) -> bool:
    """A skippable frame of zst or lz4: magic 0x184D2A50 .. 0x184D2A5F."""
    return len(head) >= 4 and head[0] & 0xF0 == 0x50 and head[1:4] == b"\x2a\x4d\x18"
