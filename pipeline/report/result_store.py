"""Results as they are held until the report is made of them, by kind (pipeline/README.md 2).

They come by conversation and the report is sorted by capture. Those of ten thousand captures are a
gigabyte of columns, so whenever ``MEMORY_BYTES`` of them are in memory they go to a temporary file;
they are sorted and gathered where it is mapped.
"""

import contextlib
import json
import mmap
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from seqaudit.decoders.contract.arrow import (
    encoded,
    equal,
    filtered,
    inverted,
    not_null,
    sorted_places,
)
from seqaudit.pipeline.shared.ordered import gathered, sort_keys
from seqaudit.replay.contract.results import RESULTS, D, ResultKind, ResultRow

#: Results in memory before they go to a file.
MEMORY_BYTES: Final = 64 << 20

#: Rows that are Python's objects at a time.
ROWS_AT_ONCE: Final = 1_000

#: In which order rows come unless another is asked for; what is left of it follows any other.
ORDER: Final = ("capture", "conversation", "system", "stream", "frame", "rule")


class HeldResults:
    """Rows of RESULTS in any order; those of a kind are made when they are asked for.

    Attributes:
        rows, size: how many, and their bytes as they came.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch] = ()) -> None:
        self._kinds: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        fresh: list[pa.RecordBatch] = []
        self.rows = self.size = size = 0
        for batch in batches:
            fresh += _by_kind(batch)
            size += batch.nbytes
            self.rows += len(batch)
            self.size += batch.nbytes
            if size >= MEMORY_BYTES:
                self._take(_filed(fresh))
                fresh, size = [], 0
        self._take(fresh)

    def _take(self, batches: Iterable[pa.RecordBatch]) -> None:
        for rows in batches:
            self._kinds[rows.column("kind")[0].as_py()].append(rows)

    def systems(self, kind: str) -> set[str]:
        found: set[str] = set()
        for rows in self._kinds.get(kind, ()):
            found.update(encoded(rows.column("system")).dictionary.to_pylist())
        return found

    def of(self, kind: ResultKind[D], *first: str, exact: bool = True) -> Iterator[ResultRow[D]]:
        """The rows of a kind, details parsed, made anew at every call.

        Args:
            first: columns to sort by before the others.
            exact: whether rows that differ in nothing but their details are ordered by these.
        """
        batches = self._kinds.get(kind)
        if not batches:
            return
        names = list(dict.fromkeys((*first, *ORDER, *(["detail"] if exact else []))))
        keys = sort_keys(pa.Table.from_batches(batches), names)
        places = sorted_places(keys, names).to_numpy().astype(np.int64)
        del keys
        starts = np.cumsum([0, *map(len, batches)])
        for begin in range(0, len(places), ROWS_AT_ONCE):
            rows = gathered(places[begin : begin + ROWS_AT_ONCE], starts, batches.__getitem__)
            # All details as one text: it takes half the time, and their keys are held once.
            details = json.loads(f"[{','.join(rows.column('detail').to_pylist())}]")
            told = rows.drop_columns(["kind", "detail"]).to_pylist()
            for row, row["detail"] in zip(told, details, strict=True):
                yield row

    def without_frame(self, kind: str) -> set[tuple[int, str | None]]:
        """(capture, stream) of the rows of a kind that have no frame."""
        found: set[tuple[int, str | None]] = set()
        for rows in self._kinds.get(kind, ()):
            bare = filtered(rows, inverted(not_null(rows.column("frame"))))
            captures, streams = (bare.column(name).to_pylist() for name in ("capture", "stream"))
            found.update(zip(captures, streams, strict=True))
        return found


def stored(batches: Iterable[pa.RecordBatch]) -> HeldResults:
    """What Spark hands over: the contract's columns, each of them nullable."""
    return HeldResults(pa.RecordBatch.from_arrays(rows.columns, schema=RESULTS) for rows in batches)


def _by_kind(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    kinds = batch.column("kind")
    for kind in encoded(kinds).dictionary.to_pylist():
        yield filtered(batch, equal(kinds, kind))


def _filed(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The same batches in a file that has no name and ends with them; where there is no room for
    one, as they are."""
    with contextlib.suppress(OSError), tempfile.TemporaryFile(prefix="seqaudit-") as file:
        with pa.ipc.new_stream(file, RESULTS) as stream:
            for batch in batches:
                stream.write_batch(batch)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return list(pa.ipc.open_stream(pa.py_buffer(mapped)))
    return batches
