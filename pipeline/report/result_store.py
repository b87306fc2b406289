"""Results as they are held until the report is made of them: compressed, by kind
(pipeline/README.md 2).

A job of ten thousand captures has two million rows of results, a gigabyte as Arrow's columns, and
they come by conversation while a report is sorted by capture. So rows of a kind are kept in small
compressed chunks, and one that is asked for in another order is found by a table of places; only
what is sorted by is unpacked for all rows at a time.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import (
    encoded,
    equal,
    filled,
    filtered,
    int_column,
    inverted,
    not_null,
    sorted_places,
    taken,
)
from seqaudit.replay.contract.results import RESULTS

Row = dict[str, Any]
Ints = npt.NDArray[np.int64]

#: Rows compressed together, and rows that are Python's objects at a time.
CHUNK_ROWS: Final = 512
ROWS_AT_ONCE: Final = 1_000

#: Rows of results that are taken at a time.
RESULT_ROWS: Final = 10_000

#: In which order rows come unless another is asked for; what is left of it follows any other.
ORDER: Final = ("capture", "conversation", "system", "stream", "frame", "rule")

_TEXTS: Final = frozenset({"conversation", "system", "stream", "rule"})
_HELD: Final = pa.schema([field for field in RESULTS if field.name != "kind"])


class HeldResults:
    """Rows of RESULTS in any order; those of a kind are made when they are asked for."""

    def __init__(self, batches: Iterable[pa.RecordBatch] = ()) -> None:
        self._kinds: dict[str, _Chunks] = {}
        for batch in batches:
            self.add(batch)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; the batch is not needed any more."""
        kinds = encoded(batch.column("kind")).dictionary.to_pylist()
        for kind in kinds:
            rows = filtered(batch, equal(batch.column("kind"), kind)) if len(kinds) > 1 else batch
            self._kinds.setdefault(kind, _Chunks()).add(rows.select(_HELD.names))

    def systems(self, kind: str) -> set[str]:
        """The systems of the rows of a kind."""
        return self._kinds[kind].systems if kind in self._kinds else set()

    def of(self, kind: str, *first: str, exact: bool = True) -> Iterator[Row]:
        """The rows of a kind, details parsed, made anew at every call.

        Args:
            first: columns to sort by before the others.
            exact: whether rows that differ in nothing but their details are ordered by these, for
                which those of all such rows are unpacked.
        """
        if kind not in self._kinds:
            return
        for rows in self._kinds[kind].in_order((*first, *ORDER), exact):
            # All details as one text: it takes half the time, and their keys are held once.
            details = json.loads(f"[{','.join(rows.column('detail').to_pylist())}]")
            told = rows.drop_columns(["detail"]).to_pylist()
            for row, row["detail"] in zip(told, details, strict=True):
                yield row

    def without_frame(self, kind: str) -> set[tuple[int, str | None]]:
        """(capture, stream) of the rows of a kind that have no frame."""
        found: set[tuple[int, str | None]] = set()
        for rows in self._kinds.get(kind, ()):
            if rows.column("frame").null_count:
                bare = filtered(rows, inverted(not_null(rows.column("frame"))))
                found.update(
                    zip(
                        bare.column("capture").to_pylist(),
                        bare.column("stream").to_pylist(),
                        strict=True,
                    )
                )
        return found


def held(results: pa.Table) -> HeldResults:
    """What Spark hands over at once: the contract's columns, each of them nullable. ``cast`` would
    take a while to import."""
    same = pa.Table.from_arrays(results.columns, schema=RESULTS)
    return HeldResults(same.to_batches(max_chunksize=RESULT_ROWS))


class _Chunks:
    """Rows of one kind, in compressed chunks."""

    def __init__(self) -> None:
        self.systems: set[str] = set()
        self._fresh: list[pa.RecordBatch] = []
        self._fresh_rows = 0
        self._packed: list[tuple[bytes, int, int]] = []  # rows, bytes before, number of rows
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, rows: pa.RecordBatch) -> None:
        self.systems.update(encoded(rows.column("system")).dictionary.to_pylist())
        self._length += len(rows)
        self._fresh.append(rows)
        self._fresh_rows += len(rows)
        if self._fresh_rows >= CHUNK_ROWS:
            self._pack()

    def _pack(self) -> None:
        whole = _one(self._fresh)
        for begin in range(0, len(whole), CHUNK_ROWS):
            rows = whole.slice(begin, CHUNK_ROWS)
            content = rows.serialize()
            packed = pa.compress(content, codec="lz4_raw", asbytes=True)
            self._packed.append((packed, content.size, len(rows)))
        self._fresh, self._fresh_rows = [], 0

    def _unpacked(self, chunk: int) -> pa.RecordBatch:
        packed, size, _ = self._packed[chunk]
        content = pa.decompress(packed, decompressed_size=size, codec="lz4_raw")
        return pa.ipc.read_record_batch(content, _HELD)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._fresh:
            self._pack()
        return map(self._unpacked, range(len(self._packed)))

    def in_order(self, names: Sequence[str], exact: bool) -> Iterator[pa.RecordBatch]:
        """All rows in the order of these columns and then of their details, some at a time."""
        places = self._places(tuple(dict.fromkeys(names)), exact)
        starts = np.cumsum([0, *(rows for *_, rows in self._packed)])
        near: dict[int, pa.RecordBatch] = {}  # chunks of the rows before: often of the next as well
        for begin in range(0, len(places), ROWS_AT_ONCE):
            wanted = places[begin : begin + ROWS_AT_ONCE]
            held = np.sort(wanted)
            borders = np.searchsorted(held, starts)
            touched = np.flatnonzero(borders[1:] > borders[:-1]).tolist()
            near = {
                chunk: near[chunk] if chunk in near else self._unpacked(chunk) for chunk in touched
            }
            found = [
                taken(rows, int_column(held[borders[chunk] : borders[chunk + 1]] - starts[chunk]))
                for chunk, rows in near.items()
            ]
            yield taken(_one(found), int_column(np.searchsorted(held, wanted)))

    def _places(self, names: Sequence[str], exact: bool) -> Ints:
        """The places of rows in an order; nulls first and strings by their bytes."""
        columns = {name: _Keys(name) for name in names}
        for rows in self:
            for column in columns.values():
                column.add(rows)
        keys = {name: column.ranks() for name, column in columns.items()}
        del columns
        table = pa.table({name: int_column(column) for name, column in keys.items()})
        places: Ints = sorted_places(table, names).to_numpy().astype(np.int64)
        del table
        if not exact:
            return places
        new = np.ones(len(places), np.bool_)
        if len(places) > 1:
            new[1:] = False
            for ranks in keys.values():
                ordered = ranks[places]
                new[1:] |= ordered[1:] != ordered[:-1]
        del keys
        alike = ~new
        alike[:-1] |= alike[1:]
        if alike.any():
            self._by_detail(places, alike, np.cumsum(new))
        return places

    def _by_detail(self, places: Ints, alike: Any, groups: Ints) -> None:
        """Rows that are equal in all else by their details; ``places`` changes."""
        at = np.flatnonzero(alike)
        wanted = places[at]
        held = np.sort(wanted)
        texts = []
        begin = low = 0
        for rows in self:
            high = int(np.searchsorted(held, begin + len(rows)))
            if high > low:
                texts.append(taken(rows.column("detail"), int_column(held[low:high] - begin)))
            begin, low = begin + len(rows), high
        details = taken(pa.chunked_array(texts), int_column(np.searchsorted(held, wanted)))
        order = sorted_places(
            pa.table({"group": int_column(groups[at]), "detail": details}), ["group", "detail"]
        )
        places[at] = wanted[order.to_numpy()]


class _Keys:
    """What rows are sorted by: numbers as they are, -1 where null; texts by their place among all
    of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._codes: list[Ints] = []
        self._texts: dict[str | None, int] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        column = rows.column(self._name)
        if self._name not in _TEXTS:
            column = filled(column, -1) if column.null_count else column
            self._codes.append(column.to_numpy())
            return
        codes, words = _coded(column)
        known = self._texts
        of_words = np.array([known.setdefault(word, len(known)) for word in words], np.int32)
        self._codes.append(of_words[codes])

    def ranks(self) -> Ints:
        codes = np.concatenate(self._codes).astype(np.int64)
        return _ranks(self._texts)[codes] if self._texts else codes


def _coded(column: pa.Array) -> tuple[Any, list[str | None]]:
    """A column of texts as codes and its distinct texts, "" for null."""
    coded = encoded(filled(column, "") if column.null_count else column)
    return coded.indices.to_numpy(), coded.dictionary.to_pylist()


def _ranks(texts: Iterable[Any]) -> Ints:
    """The place of each of distinct values in their order."""
    listed = list(texts)
    ranks = np.empty(len(listed), np.int64)
    ranks[sorted(range(len(listed)), key=listed.__getitem__)] = np.arange(len(listed))
    return ranks


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
