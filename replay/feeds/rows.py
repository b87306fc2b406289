"""Rows of a feed's stream, one by one and as columns."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import encoded, filled, not_null
from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.feeds.holes import Int64s
from seqaudit.replay.sequence.gaps import Mark


class Words:
    """A column of strings; a list only of what is looked at."""

    __slots__ = ("codes", "words")

    def __init__(self, column: pa.Array) -> None:
        coded = encoded(filled(column, ""))
        self.codes: Any = coded.indices.to_numpy(zero_copy_only=False)
        self.words: list[str] = coded.dictionary.to_pylist()

    def picked(self, rows: Any) -> "Words":
        made = Words.__new__(Words)
        made.codes, made.words = self.codes[rows], self.words
        return made

    def __getitem__(self, rows: slice) -> Iterator[str]:
        return map(self.words.__getitem__, self.codes[rows].tolist())

    def word(self, row: int) -> str:
        word: str = self.words[self.codes[row]]
        return word

    def distinct(self, start: int, stop: int) -> list[str]:
        """The words among some rows, in the order of their first row."""
        codes, places = np.unique(self.codes[start:stop], return_index=True)
        return [self.words[code] for code in codes[np.argsort(places)].tolist()]


class FeedRow(NamedTuple):
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


#: ``FeedRow._make`` without a call in Python: a capture of losses is mostly rows.
_row: Final[Callable[[Iterable[object]], FeedRow]] = partial(tuple.__new__, FeedRow)


@dataclass(frozen=True, slots=True)
class FeedColumns:
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

    def part(self, start: int, stop: int) -> "FeedColumns":
        """Consecutive rows."""
        return self.picked(slice(start, stop))

    def picked(self, rows: Any) -> "FeedColumns":
        return FeedColumns(
            self.first[rows], self.stop[rows], self.frame[rows], self.at_ns[rows],
            self.last_frame[rows], self.last_ns[rows], self.kind[rows], self.flags[rows],
            self.size[rows], self.wire_kind.picked(rows), self.source.picked(rows),
        )  # fmt: skip

    def rows(self, start: int, stop: int) -> Iterator[FeedRow]:
        numbers = (
            self.first, self.stop, self.frame, self.at_ns, self.last_frame, self.last_ns,
            self.kind, self.flags, self.size,
        )  # fmt: skip
        lists = [column[start:stop].tolist() for column in numbers]
        words = self.wire_kind[start:stop], self.source[start:stop]
        return map(_row, zip(*lists, *words, strict=True))


def alike(row: FeedRow, other: FeedRow) -> bool:
    """May two rows be parts of one run?"""
    return row.kind == other.kind and row.flags == other.flags


def joined(row: FeedRow, other: FeedRow) -> FeedRow:
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
_OWN: Final = (int(Kind.DATA), int(Kind.HIGHEST))
#: Words of the record of a datagram: number, time, and the sender's timestamp if there is one.
UNSTAMPED: Final = 2
STAMPED: Final = 3
#: Rows that are made Python objects at a time: there may be many rows, and many small parts.
CHUNK: Final = 4096
#: Up to so many rows Python's own functions are faster than numpy's.
FEW: Final = 64


class _Batch:
    """All rows of a batch; what its parts ask for is made once for all of them."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.streams = Words(batch.column("stream"))
        numbers = [_numbers(batch.column(name)) for name in _NUMBERED]
        words = Words(batch.column("wire_kind")), Words(batch.column("source"))
        seqno, stop, frame, at_ns, last_frame, last_ns, kind, flags, size = numbers
        self.columns = FeedColumns(
            seqno, stop, frame, at_ns, last_frame, last_ns, kind, flags, size, *words
        )
        self._from = 0  # the chunk of rows that are objects now
        self._rows: list[FeedRow] = []
        self._codes: list[int] = []
        self._details: list[str | None] | None = None

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def destinations(self) -> Words:
        return Words(self.batch.column("destination"))

    @cached_property
    def shared(self) -> list[int]:
        """Places of rows that are ordered against several streams."""
        kind = self.columns.kind
        return _places((kind != _OWN[0]) & (kind != _OWN[1]))

    @cached_property
    def shared_or_aside(self) -> list[int]:
        """The same, with those of data that may answer requests."""
        kind = self.columns.kind
        aside = (self.columns.flags & int(Flag.ASIDE)) != 0
        return _places((kind != _OWN[1]) & ((kind != _OWN[0]) | aside))

    @cached_property
    def of_groups(self) -> list[int]:
        """Places of rows of what went to a group."""
        return _places((self.columns.flags & int(Flag.MULTICAST)) != 0)

    @cached_property
    def requests(self) -> list[int]:
        return _places(self.columns.kind == int(Kind.REQUEST))

    @cached_property
    def payloads(self) -> list[int]:
        """Places of rows with a payload."""
        return _valid(self.batch.column("payload"))

    @cached_property
    def records(self) -> tuple[Any, Any]:
        """The bytes of all payloads, and where those of each row begin, and of the last end."""
        column = self.batch.column("payload")
        if column.null_count:
            column = filled(column, b"")
        _, offsets, content = column.buffers()
        begins = np.frombuffer(offsets, "<i4", len(column) + 1, 4 * column.offset)
        return np.frombuffer(content or b"", np.uint8), begins

    @cached_property
    def conn_ids(self) -> Int64s:
        """Ticks a second of the rows with records; of others the units each is made of."""
        told: Int64s = _numbers(self.batch.column("conn_id"))
        return told

    @cached_property
    def units(self) -> Int64s:
        """Of how many units of a feed on probation each row is made, and << 32 how many of them are
        the first of their datagram."""
        told: Int64s = np.maximum(self.conn_ids, 0)
        if self.payloads:
            samples = np.diff(self.records[1].astype(np.int64))[self.payloads] // (8 * STAMPED)
            told[self.payloads] = samples << 32 | samples
        return told

    @cached_property
    def odd_counts(self) -> list[int]:
        """Places of rows that tell a count of odd datagrams which is not 0."""
        return _places(_numbers(filled(self.batch.column("stamp"), 0)) != 0)

    def rows(self, start: int, stop: int) -> list[FeedRow]:
        """Some rows as objects."""
        begin = self._chunk(start, stop)
        return self._rows[begin : begin + stop - start]

    def codes(self, start: int, stop: int) -> list[int]:
        """Of their streams."""
        begin = self._chunk(start, stop)
        return self._codes[begin : begin + stop - start]

    def detail(self, place: int) -> str | None:
        """The JSON of a row."""
        begin = self._chunk(place, place + 1)
        if self._details is None:
            column = self.batch.column("detail").slice(self._from, len(self._rows))
            self._details = column.to_pylist()
        return self._details[begin]

    def _chunk(self, start: int, stop: int) -> int:
        """Where the rows begin in a chunk that holds them."""
        if start < self._from or stop > self._from + len(self._codes):
            end = min(max(stop, start + CHUNK), len(self))
            self._rows = list(self.columns.rows(start, end))
            self._codes = self.streams.codes[start:end].tolist()
            self._details = None
            self._from = start
        return start - self._from


class FeedRows:
    """Rows (schema EVENTS) of a batch or a part of one; places count from the part's beginning."""

    __slots__ = ("_all", "_start", "_stop")

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._all = _Batch(batch)
        self._start, self._stop = 0, len(batch)

    def __len__(self) -> int:
        return self._stop - self._start

    def part(self, start: int, stop: int) -> "FeedRows":
        """Consecutive rows; there may be very many such parts, so nothing is read again."""
        made = FeedRows.__new__(FeedRows)
        made._all = self._all
        made._start, made._stop = self._start + start, self._start + stop
        return made

    def first(self) -> tuple[int, int]:
        """Frame and time of the first row."""
        columns = self._all.columns
        return int(columns.frame[self._start]), int(columns.at_ns[self._start])

    def last(self) -> Mark:
        """The last frame of any row, and its time: clocks may be set back, and what a run does not
        end with is not told."""
        if len(self) <= FEW:
            return max(row.last() for row in self.rows(0, len(self)))
        columns = self._all.columns
        place = self._start + int(np.argmax(columns.last_frame[self._start : self._stop]))
        return Mark(int(columns.last_frame[place]), int(columns.last_ns[place]))

    def shared(self, aside: bool) -> list[int]:
        """Places of rows that are ordered against several streams; with data that may answer
        requests."""
        return self._within(self._all.shared_or_aside if aside else self._all.shared)

    def of_groups(self) -> bool:
        """Did any go to a group?"""
        return bool(self._within(self._all.of_groups))

    def requests(self) -> bool:
        """Does anybody ask for anything?"""
        return bool(self._within(self._all.requests))

    def data_as_sent(self) -> Int64s:
        """Places of data that neither the network nor a server sent again."""
        own = slice(self._start, self._stop)
        columns = self._all.columns
        again = columns.flags[own] & int(Flag.NETWORK_DUPLICATE | Flag.ASIDE)
        return np.flatnonzero((columns.kind[own] == _OWN[0]) & (again == 0))

    def with_records(self) -> Int64s:
        """Places of rows that keep when each of their datagrams came, and did not come again."""
        places = np.array(self._within(self._all.payloads), np.int64)
        again = self._all.columns.flags[self._start + places] & int(Flag.NETWORK_DUPLICATE)
        kept: Int64s = places[again == 0]
        return kept

    def records(self, places: Int64s, width: int) -> Any:
        """(n, width) records of some rows, in order; width: ``STAMPED`` or ``UNSTAMPED``."""
        content, begins = self._all.records
        at = self._start + places
        ends = zip(begins[at].tolist(), begins[at + 1].tolist(), strict=True)
        found = np.concatenate([content[:0], *(content[a:b] for a, b in ends if a < b)])
        return found.view("<i8").reshape(-1, width)

    def of_record(self, places: Int64s, number: int) -> int:
        """The one of some rows with timestamps that has their record ``number``."""
        sizes = np.diff(self._all.records[1])[self._start + places] // (8 * STAMPED)
        return int(places[np.searchsorted(np.cumsum(sizes), number, side="right")])

    def odd_counts(self) -> Iterator[tuple[int, int]]:
        """Place and count of the rows where it is not 0."""
        column = self._all.batch.column("stamp")
        for place in self._within(self._all.odd_counts):
            yield place, column[self._start + place].as_py()

    def units(self, places: Int64s) -> Int64s:
        """Of how many some rows are made, as ``_Batch.units``."""
        return self._all.units[self._start + places]

    def named(self, wire_kind: str, *, otherwise: bool = False) -> Int64s:
        """Places of rows that the wire calls so, or otherwise."""
        words = self._all.columns.wire_kind
        these = np.array([(word == wire_kind) is not otherwise for word in words.words])
        return np.flatnonzero(these[words.codes[self._start : self._stop]])

    def row(self, place: int) -> FeedRow:
        return self.rows(place, place + 1)[0]

    def rows(self, start: int, stop: int) -> list[FeedRow]:
        return self._all.rows(self._start + start, self._start + stop)

    def columns(self, start: int, stop: int) -> FeedColumns:
        """Consecutive rows as columns."""
        return self._all.columns.part(self._start + start, self._start + stop)

    def picked(self, places: Int64s) -> FeedColumns:
        """Some rows as columns."""
        return self._all.columns.picked(self._start + places)

    def codes(self, start: int, stop: int) -> list[int]:
        """Of the streams of some rows."""
        return self._all.codes(self._start + start, self._start + stop)

    def by_stream(self, places: Int64s) -> list[tuple[int, Int64s]]:
        """Some rows, ascending, by the code of their stream; streams in the order of their first
        rows."""
        codes = self._all.streams.codes[self._start + places]
        order = np.argsort(codes, kind="stable")
        groups = _alike(codes[order], places[order])
        return sorted(groups, key=lambda group: int(group[1][0]))

    def by_rate(self, places: Int64s) -> list[tuple[int, Int64s]]:
        """Some rows, in stretches whose timestamps tick equally often a second; -1: unknown."""
        return _alike(self._all.conn_ids[self._start + places], places)

    def word(self, code: int) -> str:
        """The stream that a code stands for."""
        return self._all.streams.words[code]

    def stream(self, place: int) -> str:
        """What a row calls its stream."""
        return self.word(int(self._all.streams.codes[self._start + place]))

    def detail(self, place: int) -> str | None:
        """The JSON of a row."""
        return self._all.detail(self._start + place)

    def flags(self, place: int) -> int:
        return int(self._all.columns.flags[self._start + place])

    def destination(self, place: int) -> str | None:
        """Where a row's datagrams went."""
        return self._all.destinations.word(self._start + place) or None

    def _within(self, places: list[int]) -> list[int]:
        """Of the batch's places those in this part."""
        start = self._start
        low = bisect_left(places, start)
        if low == len(places) or places[low] >= self._stop:
            return []
        high = bisect_left(places, self._stop, low)
        return [place - start for place in places[low:high]]


def _places(these: Any) -> list[int]:
    found: list[int] = np.flatnonzero(these).tolist()
    return found


def _alike(values: Int64s, places: Int64s) -> list[tuple[int, Int64s]]:
    """Stretches of equal values: the value, and the places beside it."""
    borders = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    return [(int(values[a]), places[a:b]) for a, b in pairwise(borders) if a < b]


def _valid(column: pa.Array) -> list[int]:
    if column.null_count == len(column):
        return []
    return _places(not_null(column).to_numpy(zero_copy_only=False))


def _numbers(column: pa.Array) -> Any:
    if column.null_count:
        column = filled(column, -1)
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
