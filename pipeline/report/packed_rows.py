"""The rows of a section of a report: as Python's objects they take twenty times the room."""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar, overload

import pyarrow as pa

#: Rows that stay objects until there are so many: then they are packed together, and what repeats
#: in them is held once.
CHUNK_ROWS: Final = 1_000


R = TypeVar("R", bound=Mapping[str, object])


class PackedRows(Sequence[R]):
    """Rows in their order. Those of a full chunk are made anew when they are asked for: nobody
    changes what is here."""

    def __init__(self, rows: Iterable[R] = ()) -> None:
        self._packed: list[tuple[bytes, int]] = []  # compressed, and its size before
        self._last: list[R] = []
        self._open: tuple[int, list[R]] = (-1, [])  # the chunk that was asked for before
        for row in rows:
            self.append(row)

    def append(self, row: R) -> None:
        """One more, which does not change any more."""
        self._last.append(row)
        if len(self._last) == CHUNK_ROWS:
            content = pickle.dumps(self._last, pickle.HIGHEST_PROTOCOL)
            packed = pa.compress(content, codec="lz4_raw", asbytes=True)
            self._packed.append((packed, len(content)))
            self._last = []

    def rows(self) -> Sequence[R]:
        """All of them: a list, where they are few."""
        return self if self._packed else self._last

    def _chunk(self, number: int) -> list[R]:
        if number == len(self._packed):
            return self._last
        if self._open[0] != number:
            packed, size = self._packed[number]
            content = pa.decompress(packed, decompressed_size=size, codec="lz4_raw")
            self._open = number, pickle.loads(content)
        return self._open[1]

    def __len__(self) -> int:
        return len(self._packed) * CHUNK_ROWS + len(self._last)

    def __iter__(self) -> Iterator[R]:
        for number in range(len(self._packed) + 1):
            yield from self._chunk(number)

    @overload
    def __getitem__(self, place: int) -> R: ...

    @overload
    def __getitem__(self, place: slice) -> list[R]: ...

    def __getitem__(self, place: int | slice) -> R | list[R]:
        places = range(len(self))[place]
        if isinstance(places, range):
            return [self[one] for one in places]
        number, at = divmod(places, CHUNK_ROWS)
        return self._chunk(number)[at]


def as_rows(rows: Iterable[R]) -> Sequence[R]:
    """Rows as a list, or packed if they are many."""
    return PackedRows(rows).rows()
