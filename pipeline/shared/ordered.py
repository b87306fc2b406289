"""Rows in an order, gathered some at a time from the batches that they are held in."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import encoded, filled, int_column, sorted_places, taken

Ints = npt.NDArray[np.int64]


def one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of several batches of one schema, of which one has some."""
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


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
