"""Many rows of a report, held as bytes: as Python's objects they take twenty times the room."""

import marshal
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, overload

import pyarrow as pa

from seqaudit.replay.contract.results import Row

#: So many bytes of rows a section holds as objects, which is faster; more are packed.
LIST_BYTES: Final = 2 << 20

#: Rows packed together: what repeats in them is held once.
CHUNK_ROWS: Final = 256


class Packed(Sequence[Row]):
    """Rows of what JSON has, each made anew whenever it is asked for: changing one changes
    nothing here."""

    __slots__ = ("_chunks", "_length", "_rest")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._chunks: list[tuple[bytes, int]] = []  # compressed, and its size before
        self._length = 0
        self._rest: list[Row] = []  # fewer than a chunk
        for row in rows:
            self.append(row)

    def append(self, row: Row) -> None:
        """One more; it may change until there is a chunk of them."""
        self._rest.append(row)
        self._length += 1
        if len(self._rest) == CHUNK_ROWS:
            content = marshal.dumps(self._rest)
            packed = pa.compress(content, codec="lz4_raw", asbytes=True)
            self._chunks.append((packed, len(content)))
            self._rest = []

    def _unpacked(self, chunk: int) -> list[Row]:
        if chunk == len(self._chunks):
            content = marshal.dumps(self._rest)
        else:
            packed, size = self._chunks[chunk]
            content = pa.decompress(packed, decompressed_size=size, codec="lz4_raw")
        rows: list[Row] = marshal.loads(content)
        return rows

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Row]:
        for chunk in range(len(self._chunks) + bool(self._rest)):
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


class Section:
    """Rows of a report as they come: a list, or packed if they are many."""

    def __init__(self) -> None:
        self._few: list[Row] = []
        self._many: Packed | None = None
        self._most = CHUNK_ROWS  # rows in the list until their size is looked at

    def append(self, row: Row) -> None:
        """One more, which must not change any more."""
        if self._many is not None:
            self._many.append(row)
            return
        self._few.append(row)
        if len(self._few) < self._most:
            return
        self._most *= 2
        if len(marshal.dumps(self._few)) >= LIST_BYTES:
            self._many = Packed(self._few)
            self._few = []

    def rows(self) -> Sequence[Row]:
        """All of them."""
        return self._few if self._many is None else self._many


def kept(rows: Iterable[Row]) -> Sequence[Row]:
    """Rows as a list, or packed if they are many."""
    section = Section()
    for row in rows:
        section.append(row)
    return section.rows()
