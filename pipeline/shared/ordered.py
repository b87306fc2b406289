"""Rows in an order, gathered some at a time from the batches that they are held in."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import encoded, filled, int_column, sorted_places, taken

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


def sort_keys(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Columns by which rows are sorted as Spark sorts: nulls first and strings by their bytes.

    Numbers stay what they are, those of dictionaries become numbers, strings stay strings.
    """
    keys = {}
    for name in names:
        column = rows[name]
        if pa.types.is_dictionary(column.type):
            keys[name] = ranks(column)
        elif pa.types.is_string(column.type):  # none is empty where it may be null
            keys[name] = filled(column, "")
        else:
            keys[name] = filled(column, -1) if column.null_count else column
    return pa.table(keys)


def ranks(column: pa.ChunkedArray) -> pa.Array:
    """Numbers in the order of the values of a dictionary column, -1 where it is null."""
    words = pa.chunked_array(
        [chunk.dictionary for chunk in column.chunks], type=column.type.value_type
    )
    coded = encoded(words.combine_chunks())
    order = sorted_places(pa.table({"word": coded.dictionary}), ["word"]).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    of_words = rank[coded.indices.to_numpy()]
    kind = pa.int16() if len(order) < 1 << 15 else pa.int64()  # of all rows they are held at once
    narrow = kind.to_pandas_dtype()
    found, begin = [np.empty(0, narrow)], 0
    for chunk in column.chunks:
        stop = begin + len(chunk.dictionary)
        of_chunk = np.append(of_words[begin:stop], -1)
        found.append(of_chunk[filled(chunk.indices, -1).to_numpy()].astype(narrow))
        begin = stop
    return int_column(np.concatenate(found), kind=kind)


def gathered(
    places: Ints,
    starts: Ints,
    batch: Callable[[int], pa.RecordBatch],
    as_one: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda rows: rows,
) -> pa.RecordBatch:
    """The rows at some places of all batches, in the order of the places. Arrow's ``take`` would
    bring the batches together whole.

    Args:
        starts: of each batch, and where the last one stops.
        batch: one of them, by its number.
        as_one: what its rows become, so that they go together with others.
    """
    held = np.sort(places)
    borders = np.searchsorted(held, starts)
    found = [
        as_one(taken(batch(n), int_column(held[borders[n] : borders[n + 1]] - starts[n])))
        for n in np.flatnonzero(borders[1:] > borders[:-1]).tolist()
    ]
    return taken(one_batch(found), int_column(np.searchsorted(held, places)))
