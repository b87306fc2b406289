"""Arrow's functions on columns and tables, as far as they are used here, by their names.

``pyarrow.compute`` writes a Python function with documentation for each of Arrow's three hundred
when it is imported: 0.1 s, a quarter of a small audit. Methods of columns and tables (``take``,
``filter``, ``is_valid``, ``cast`` ...) import it as well, so what is needed of them is here too.
Likewise ``pyarrow.array`` of a numpy array and ``numpy.unique`` import ``numpy.ma`` (10 ms) only to
see that the array is none of its: columns of integers are made of their memory.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

try:
    from pyarrow import _compute as functions
except ImportError:  # they have moved: where pyarrow promises them
    from pyarrow import compute as functions

Column: TypeAlias = "pa.Array | pa.ChunkedArray"
#: A column, or several as a batch or table.
C = TypeVar("C", pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table)

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.integer]
N = TypeVar("N", npt.NDArray[np.int64], npt.NDArray[np.uint64])
Values: TypeAlias = "pa.Array | Integers | Sequence[object]"

INT64: Final = pa.int64()
_DTYPES: Final[dict[pa.DataType, np.dtype[np.signedinteger]]] = {
    INT64: np.dtype(np.int64),
    pa.int16(): np.dtype(np.int16),
}


def int_column(values: Integers, null: Mask | None = None, kind: pa.DataType = INT64) -> pa.Array:
    """A column of an array of integers.

    Args:
        values: (n,) of a type that fits into ``kind`` whatever its value; the column may share its
            memory, but never that of one row of a table: numpy calls such a view contiguous, and a
            kernel writes its next rows there.
        null: (n,) bool, where the column is null; None: nowhere.
    """
    dtype = _DTYPES[kind]
    if values.dtype != dtype:
        values = values.astype(dtype, casting="safe")
    known = None if null is None or not null.any() else _bits(~null)
    own = values.copy() if len(values) == 1 else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(own)])


def distinct(values: N) -> N:
    """The distinct values of an array, in order."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def as_column(values: Values, kind: pa.DataType) -> pa.Array:
    """A column of an array of integers or of a list; one that is a column already stays it."""
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        return int_column(values, kind=kind)
    return pa.array(values, kind)


def bool_column(values: Mask) -> pa.Array:
    """A column, such as the mask of ``filtered``, of an array of bools."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def text_column(texts: Sequence[str | None], places: Integers) -> pa.Array:
    """A column of strings, by the place of each row's in ``texts``."""
    return taken(pa.array(texts, pa.string()), int_column(places))


def _bits(values: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def equal(column: Column, value: object) -> Column:
    """Where a column has a value; null where it is null."""
    return functions.call_function("equal", [column, value])


def inverted(mask: Column) -> Column:
    """True where a mask is false."""
    return functions.call_function("invert", [mask])


def true_count(mask: Column) -> int:
    """In how many places a mask is true."""
    return int(
        functions.call_function("sum", [mask], functions.ScalarAggregateOptions()).as_py() or 0
    )


def filtered(rows: C, mask: Column) -> C:
    """The rows where a mask is true."""
    found: C = functions.call_function("filter", [rows, mask], functions.FilterOptions())
    return found


def taken(rows: C, places: Column) -> C:
    """The rows at some places, in their order."""
    found: C = functions.call_function("take", [rows, places], functions.TakeOptions())
    return found


def filled(column: Column, value: object) -> Column:
    """A column with a value where it is null."""
    return functions.call_function("coalesce", [column, pa.scalar(value, type=column.type)])


def joined(column: Column, other: Column) -> Column:
    """A column, and another where it is null."""
    return functions.call_function("coalesce", [column, other])


def not_null(column: Column) -> Column:
    """Where a column is not null."""
    return functions.call_function("is_valid", [column])


def encoded(column: Column) -> pa.DictionaryArray:
    """A column as codes and its distinct values, in the order in which they come."""
    return functions.call_function(
        "dictionary_encode", [column], functions.DictionaryEncodeOptions()
    )


def sorted_places(rows: pa.Table, names: Iterable[str]) -> pa.Array:
    """The places of a table's rows in the order of these columns, strings by their bytes."""
    options = functions.SortOptions(sort_keys=[(name, "ascending") for name in names])
    return functions.call_function("sort_indices", [rows], options)
