"""Rows of a feed's stream, one by one and as columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from seqaudit.decoders.columns import encoded, filled, not_null
from seqaudit.decoders.events import Flag, Kind
from seqaudit.replay.feed_holes import Int64s
from seqaudit.replay.gaps import Mark


class Words:
    """A column of strings; a list only of what is looked at."""

    def __init__(self, column: pa.Array) -> None:
        coded = encoded(filled(column, ""))
        self._codes = coded.indices.to_numpy(zero_copy_only=False)
        self._words = coded.dictionary.to_pylist()

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


_NUMBERED: Final = (
    "seqno", "stop_seqno", "frame", "at_ns", "last_frame", "last_at_ns", "kind", "flags", "size",
)  # fmt: skip
#: Kinds that are ordered against their own stream only.
_OWN: Final = np.array([int(Kind.DATA), int(Kind.HIGHEST)])


class FeedRows:
    """Rows (schema EVENTS) as columns."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._start = 0
        coded = encoded(filled(batch.column("stream"), ""))
        self.codes: Any = coded.indices.to_numpy(zero_copy_only=False)
        self.words: list[str] = coded.dictionary.to_pylist()
        seqno, stop, frame, at_ns, last_frame, last_ns, kind, flags, size = (
            _numbers(batch.column(name)) for name in _NUMBERED
        )
        words = Words(batch.column("wire_kind")), Words(batch.column("source"))
        self.columns = Columns(
            seqno, stop, frame, at_ns, last_frame, last_ns, kind, flags, size, *words
        )
        self._has_payload = batch.column("payload").null_count < len(batch)
        self._has_stamp = batch.column("stamp").null_count < len(batch)

    def __len__(self) -> int:
        return len(self.codes)

    def part(self, start: int, stop: int) -> "FeedRows":
        """Consecutive rows; there may be very many such parts, so nothing is read again."""
        made = FeedRows.__new__(FeedRows)
        made._batch, made._start = self._batch, self._start + start
        made.codes, made.words = self.codes[start:stop], self.words
        made.columns = self.columns.part(start, stop)
        made._has_payload, made._has_stamp = self._has_payload, self._has_stamp
        return made

    def shared(self, unicast: bool) -> list[int]:
        """Places of rows that are ordered against several streams; with those of unicast data."""
        kind = self.columns.kind
        own = (kind == _OWN[0]) | (kind == _OWN[1])
        if unicast:
            group = (self.columns.flags & int(Flag.MULTICAST)) != 0
            own &= group | (kind != Kind.DATA)
        found: list[int] = np.flatnonzero(~own).tolist()
        return found

    def payloads(self) -> Iterator[tuple[int, bytes]]:
        """Place and payload of the rows that have one, in order."""
        if not self._has_payload:
            return
        column = self._column("payload")
        for place in np.flatnonzero(not_null(column).to_numpy(zero_copy_only=False)).tolist():
            yield place, column[place].as_py()

    def odd_counts(self) -> Iterator[tuple[int, int]]:
        """Place and count of the rows where it is not 0, and of the first that has a count."""
        if not self._has_stamp:
            return
        column = self._column("stamp")
        counted = not_null(column).to_numpy(zero_copy_only=False)
        if not counted.any():
            return
        counts = filled(column, 0).to_numpy(zero_copy_only=False)
        for place in sorted({int(np.argmax(counted)), *np.flatnonzero(counts).tolist()}):
            yield place, int(counts[place])

    def rate(self, place: int) -> int | None:
        """Ticks a second of a row's timestamps."""
        rate: int | None = self._batch.column("conn_id")[self._start + place].as_py()
        return rate

    def row(self, place: int) -> Row:
        """One row."""
        (row,) = self.columns.rows(place, place + 1)
        return row

    def detail(self, place: int) -> str | None:
        """The JSON of a row."""
        text: str | None = self._batch.column("detail")[self._start + place].as_py()
        return text

    def destination(self, place: int) -> str | None:
        """Where a row's datagrams went."""
        text: str | None = self._batch.column("destination")[self._start + place].as_py()
        return text

    def _column(self, name: str) -> pa.Array:
        return self._batch.column(name).slice(self._start, len(self))


def _numbers(column: pa.Array) -> Any:
    if column.null_count:
        column = filled(column, -1)
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
