"""Results as they are held until the report is made of them: compressed, by kind
(pipeline/README.md 2).

A job of ten thousand captures has two million rows of results, a gigabyte as Arrow's columns, and
they come by conversation while a report is sorted by capture. So rows of a kind are kept in small
compressed chunks, and one that is asked for in another order is found by a table of places; only
what is sorted by is unpacked for all rows at a time.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import (
    encoded,
    equal,
    filtered,
    int_column,
    inverted,
    not_null,
    sorted_places,
)
from seqaudit.pipeline.shared.ordered import Ints, gathered, one_batch, sort_keys
from seqaudit.replay.contract.results import RESULTS, Row

#: Rows compressed together, and rows that are Python's objects at a time.
CHUNK_ROWS: Final = 512
ROWS_AT_ONCE: Final = 1_000

#: Rows of results that are taken at a time.
RESULT_ROWS: Final = 10_000

#: In which order rows come unless another is asked for; what is left of it follows any other.
ORDER: Final = ("capture", "conversation", "system", "stream", "frame", "rule")

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

    def add(self, rows: pa.RecordBatch) -> None:
        self.systems.update(encoded(rows.column("system")).dictionary.to_pylist())
        self._fresh.append(rows)
        self._fresh_rows += len(rows)
        if self._fresh_rows >= CHUNK_ROWS:
            self._pack()

    def _pack(self) -> None:
        whole = one_batch(self._fresh)
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
        keys = self._keys(tuple(dict.fromkeys(names)))
        places: Ints = sorted_places(keys, keys.column_names).to_numpy().astype(np.int64)
        starts = np.cumsum([0, *(rows for *_, rows in self._packed)])
        if exact:
            self._by_detail(places, keys, starts)
        del keys
        before: dict[int, pa.RecordBatch] = {}  # chunks of the rows before: often of the next too
        for begin in range(0, len(places), ROWS_AT_ONCE):
            near: dict[int, pa.RecordBatch] = {}
            chunk = partial(self._chunk, before, near)
            yield gathered(places[begin : begin + ROWS_AT_ONCE], starts, chunk)
            before = near

    def _chunk(
        self, before: Mapping[int, pa.RecordBatch], near: dict[int, pa.RecordBatch], number: int
    ) -> pa.RecordBatch:
        near[number] = before[number] if number in before else self._unpacked(number)
        return near[number]

    def _keys(self, names: Sequence[str]) -> pa.Table:
        """What rows are sorted by, as numbers."""
        batches = []
        for rows in self:
            columns = [rows.column(name) for name in names]
            coded = [encoded(c) if pa.types.is_string(c.type) else c for c in columns]
            batches.append(pa.RecordBatch.from_arrays(coded, names=list(names)))
        return sort_keys(pa.Table.from_batches(batches), names)

    def _by_detail(self, places: Ints, keys: pa.Table, starts: Ints) -> None:
        """Rows that are equal in all else by their details; ``places`` changes."""
        new = np.zeros(len(places), np.bool_)
        new[:1] = True
        for column in keys.columns:
            ordered = column.to_numpy()[places]
            new[1:] |= ordered[1:] != ordered[:-1]
        alike = ~new
        alike[:-1] |= alike[1:]
        at = np.flatnonzero(alike)
        if not len(at):
            return
        details = gathered(places[at], starts, lambda n: self._unpacked(n).select(["detail"]))
        groups = int_column(np.cumsum(new)[at])
        table = pa.table({"group": groups, "detail": details.column("detail")})
        places[at] = places[at][sorted_places(table, table.column_names).to_numpy()]
