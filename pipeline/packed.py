"""Many rows of a report, held as bytes: as Python's objects they take twenty times the room."""

import marshal
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, overload

import pyarrow as pa

Row = dict[str, Any]

#: Rows of a section from which on they are packed; fewer are a list, which is faster.
MANY: Final = 20_000

#: Rows packed together: what repeats in them is held once.
CHUNK_ROWS: Final = 256


class Packed(Sequence[Row]):
    """Rows of what JSON has, each made anew whenever it is asked for: changing one changes
    nothing here."""

    __slots__ = ("_chunks", "_length")

    def __init__(self, rows: Iterable[Row]) -> None:
        self._chunks: list[tuple[bytes, int]] = []  # compressed, and its size before
        self._length = 0
        fresh: list[Row] = []
        for row in rows:
            fresh.append(row)
            if len(fresh) == CHUNK_ROWS:
                self._pack(fresh)
                fresh = []
        if fresh:
            self._pack(fresh)

    def _pack(self, rows: list[Row]) -> None:
        content = marshal.dumps(rows)
        packed = pa.compress(content, codec="lz4_raw", asbytes=True)
        self._chunks.append((packed, len(content)))
        self._length += len(rows)

    def _unpacked(self, chunk: int) -> list[Row]:
        packed, size = self._chunks[chunk]
        rows: list[Row] = marshal.loads(
            pa.decompress(packed, decompressed_size=size, codec="lz4_raw")
        )
        return rows

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Row]:
        for chunk in range(len(self._chunks)):
            yield from self._unpacked(chunk)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            places = range(*place.indices(self._length))
            return [
                rows[one % CHUNK_ROWS]
                for chunk, ones in groupby(places, key=lambda one: one // CHUNK_ROWS)
                for rows in [self._unpacked(chunk)]
                for one in ones
            ]
        if not -self._length <= place < self._length:
            raise IndexError(place)
        chunk, at = divmod(place % self._length, CHUNK_ROWS)
        return self._unpacked(chunk)[at]


def packed_sorted(
    rows: Iterable[Row],
    key: Callable[[Row], tuple[Any, ...]],
    among_same: Callable[[Row], Any],
) -> Packed:
    """Rows sorted by a key, and rows of the same key by another; few are objects at a time."""
    held = sorted(((key(row), marshal.dumps(row)) for row in rows), key=lambda entry: entry[0])

    def in_order() -> Iterator[Row]:
        for _, same in groupby(held, key=lambda entry: entry[0]):
            several: list[Row] = [marshal.loads(content) for _, content in same]
            yield from several if len(several) == 1 else sorted(several, key=among_same)

    return Packed(in_order())
