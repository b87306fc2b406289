"""Rows in an order, gathered some at a time from the batches that they are held in."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import filled, int_column, sorted_places, taken

Ints = npt.NDArray[np.int64]

#: What rows are ordered by after their unit (pipeline/README.md 2). The rest only makes the order
#: of rows total that share a frame and an index, names of members and accounts of pieces, so that
#: both engines see the same one.
ORDER: Final = ("capture", "frame", "index", "kind", "wire_kind", "source", "detail")

#: Rows smaller batches are gathered to: ten thousand small captures are not as many batches.
GATHER_ROWS: Final = 10_000
GATHER_BYTES: Final = 8 << 20


def one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of several batches of one schema, of which one has some."""
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def large_batches(
    batches: Iterable[pa.RecordBatch],
    least_rows: int = GATHER_ROWS,
    least_bytes: int = GATHER_BYTES,
) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least so many rows or bytes, except the last."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= least_rows or size >= least_bytes:
            yield one_batch(held)
            held, rows, size = [], 0, 0
    if rows:
        yield one_batch(held)


def places_in_order(rows: pa.Table, unit: str) -> pa.Array:
    names = (unit, *ORDER)
    return sorted_places(sort_keys(rows, names), names)


def ordered(rows: pa.Table, unit: str) -> pa.Table:
    return taken(rows, places_in_order(rows, unit))


def sort_keys(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Columns by which rows are sorted as Spark sorts: nulls first and strings by their bytes.

    Numbers stay numbers, and strings strings.
    """
    keys = {}
    for name in names:
        column = rows[name]
        if pa.types.is_string(column.type):  # none is empty where it may be null
            keys[name] = filled(column, "")
        else:
            keys[name] = filled(column, -1) if column.null_count else column
    return pa.table(keys)


def gathered(
    places: Ints,
    starts: Ints,
    batch: Callable[[int], pa.RecordBatch],
) -> pa.RecordBatch:
    """The rows at some places of all batches, in the order of the places. Arrow's ``take`` would
    bring the batches together whole.

    Args:
        starts: of each batch, and where the last one stops.
        batch: one of them, by its number.
    """
    held = np.sort(places)
    borders = np.searchsorted(held, starts)
    found = [
        taken(batch(n), int_column(held[borders[n] : borders[n + 1]] - starts[n]))
        for n in np.flatnonzero(borders[1:] > borders[:-1]).tolist()
    ]
    return taken(one_batch(found), int_column(np.searchsorted(held, places)))
