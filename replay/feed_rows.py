"""Rows of a feed's stream, one by one and as columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqaudit.replay.feed_holes import Int64s
from seqaudit.replay.gaps import Mark


class Words:
    """A column of strings; a list only of what is looked at."""

    def __init__(self, column: pa.Array) -> None:
        encoded = pc.fill_null(column, "").dictionary_encode()
        self._codes = encoded.indices.to_numpy(zero_copy_only=False)
        self._words = encoded.dictionary.to_pylist()

    def picked(self, rows: Any) -> "Words":
        made = Words.__new__(Words)
        made._codes, made._words = self._codes[rows], self._words
        return made

    def __getitem__(self, rows: slice) -> Iterator[str]:
        return map(self._words.__getitem__, self._codes[rows].tolist())

    def distinct(self, start: int, stop: int) -> list[str]:
        """The words among some rows, in the order of their first row."""
        codes, places = np.unique(self._codes[start:stop], return_index=True)
        return [self._words[code] for code in codes[np.argsort(places)].tolist()]


class Row(NamedTuple):
    """A row of a stream; numbers as on the wire, or unwrapped once the stream has seen it."""

    first: int
    stop: int
    frame: int
    at_ns: int
    last_frame: int
    last_ns: int
    kind: int
    flags: int
    size: int
    wire_kind: str
    source: str

    def mark(self) -> Mark:
        return Mark(self.frame, self.at_ns)

    def last(self) -> Mark:
        return Mark(self.last_frame, self.last_ns)


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of one stream as columns; ``wire_kind`` and ``source`` make lists of words."""

    first: Int64s  # -1 where null
    stop: Int64s
    frame: Int64s
    at_ns: Int64s
    last_frame: Int64s
    last_ns: Int64s
    kind: Int64s
    flags: Int64s
    size: Int64s
    wire_kind: Words
    source: Words

    def __len__(self) -> int:
        return len(self.first)

    def part(self, start: int, stop: int) -> "Columns":
        """Consecutive rows."""
        return self.picked(slice(start, stop))

    def picked(self, rows: Any) -> "Columns":
        """Some rows."""
        return Columns(
            self.first[rows], self.stop[rows], self.frame[rows], self.at_ns[rows],
            self.last_frame[rows], self.last_ns[rows], self.kind[rows], self.flags[rows],
            self.size[rows], self.wire_kind.picked(rows), self.source.picked(rows),
        )  # fmt: skip

    def rows(self, start: int, stop: int) -> Iterator[Row]:
        """Some of the rows one by one."""
        lists = [getattr(self, name)[start:stop].tolist() for name in Row._fields[:9]]
        words = self.wire_kind[start:stop], self.source[start:stop]
        return map(Row._make, zip(*lists, *words, strict=True))


def alike(row: Row, other: Row) -> bool:
    """May two rows be parts of one run?"""
    return row.kind == other.kind and row.flags == other.flags


def joined(row: Row, other: Row) -> Row:
    """One row of two that touch."""
    return row._replace(
        stop=other.stop,
        last_frame=other.last_frame,
        last_ns=other.last_ns,
        size=row.size + other.size,
    )
