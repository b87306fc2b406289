"""Compressed captures are streams of bytes, whatever is wrong with them."""

import gzip
import io
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.capture.compression import Decompressed, detect

CONTENT = random.Random(1).randbytes(400_000)  # several blocks of each format


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def lz4_frame(data: bytes) -> bytes:
    return bytes(lz4.frame.compress(data, content_checksum=True))


COMPRESS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zst, "lz4": lz4_frame}
SKIPPABLE = struct.pack("<II", 0x184D2A53, 3) + b"abc"

each = pytest.mark.parametrize("compression", list(COMPRESS))


def read(data: bytes, compression: str, size: int = 1000) -> tuple[bytes, Decompressed]:
    reader = Decompressed(io.BytesIO(data), compression)
    out = b""
    while part := reader.read(size):
        assert len(part) <= size
        out += part
    return out, reader


@each
def test_what_was_compressed_is_told_by_its_first_bytes(compression: str) -> None:
    assert detect(COMPRESS[compression](CONTENT)[:8]) == compression
    assert detect(CONTENT[:8]) == ""
    assert detect(b"") == ""


@each
def test_members_follow_each_other_as_one_stream(compression: str) -> None:
    compress = COMPRESS[compression]
    data = compress(CONTENT[:999]) + compress(b"") + compress(CONTENT[999:])
    out, reader = read(data, compression)
    assert (out, reader.problem, reader.incomplete) == (CONTENT, "", False)


@pytest.mark.parametrize("compression", ["zst", "lz4"])
def test_skippable_frames_are_passed_over(compression: str) -> None:
    compress = COMPRESS[compression]
    data = SKIPPABLE + compress(CONTENT[:999]) + SKIPPABLE + SKIPPABLE + compress(CONTENT[999:])
    assert read(data, compression)[0] == CONTENT


@each
@pytest.mark.parametrize("left", [1, 5, 20, 0.3, 0.9, -9, -1])
def test_a_cut_stream_gives_what_can_be_read_and_says_so(compression: str, left: float) -> None:
    data = COMPRESS[compression](CONTENT)
    keep = int(left * len(data)) if isinstance(left, float) else int(left)
    out, reader = read(data[:keep], compression)
    assert CONTENT.startswith(out)
    assert reader.incomplete
    assert reader.problem.startswith(f"the {compression} data is cut after ")


@each
def test_a_damaged_stream_ends_where_the_damage_is(compression: str) -> None:
    data = bytearray(COMPRESS[compression](CONTENT) + COMPRESS[compression](CONTENT))
    inside = len(data) // 4
    data[inside : inside + 12] = b"\xff" * 12
    _, reader = read(bytes(data), compression)
    assert reader.problem.startswith(f"the {compression} data is damaged before byte ")
    assert reader.incomplete


@each
def test_other_bytes_behind_the_stream_are_named_but_zeros_are_padding(compression: str) -> None:
    data = COMPRESS[compression](CONTENT)
    out, reader = read(data + bytes(512), compression)
    assert (out, reader.problem) == (CONTENT, "")
    out, reader = read(data + b"something else", compression)
    assert (out, reader.incomplete) == (CONTENT, False)
    assert reader.problem == f"{compression} data ends at byte {len(data)}, other bytes follow"


@given(st.binary(max_size=200), st.sampled_from(list(COMPRESS)), st.integers(0, 60))
def test_hostile_bytes_never_raise(noise: bytes, compression: str, keep: int) -> None:
    read(COMPRESS[compression](b"seed" * 9)[:keep] + noise, compression)


def test_a_bomb_is_read_in_bounded_steps() -> None:
    """64 MB of zeros in a few KB: one step gives at most what 2 KB of input can hold."""
    bomb = zst(bytes(64 << 20))
    reader = Decompressed(io.BytesIO(bomb * 3), "zst")
    assert len(reader.read(1 << 16)) == 1 << 16
    gz = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = gz.compress(bytes(64 << 20)) + gz.flush()
    reader = Decompressed(io.BytesIO(packed), "gz")
    total = 0
    while part := reader.read(1 << 22):
        assert len(part) <= 1 << 20
        total += len(part)
    assert total == 64 << 20


def test_a_bomb_costs_what_reading_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = 0

    class Output(bytes):
        """What a step gives; counts what is copied out of it."""

        def __getitem__(self, part: Any) -> Any:
            nonlocal copied
            found = super().__getitem__(part)
            copied += len(found)
            return found

    steps = [b"", Output(50_000)]
    reader = Decompressed(io.BytesIO(), "zst")
    monkeypatch.setattr(reader, "_step", steps.pop)
    assert sum(len(reader.read(100)) for _ in range(500)) == copied == 50_000
