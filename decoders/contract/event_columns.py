"""Columns of EVENTS from numbers: what turns a kernel's table into rows without an object a row."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqaudit.decoders.contract.arrow import Values, as_column, distinct, text_column
from seqaudit.decoders.contract.events import EVENTS
from seqaudit.decoders.kernels.loader import Int64s

#: Keys below this are found distinct by a table of them, others by sorting.
TABLE_KEYS: Final = 1 << 18


#: Columns that are the same in each row are kept this long, and cut to size.
KEPT_ROWS: Final = 1 << 15


def event_batch(count: int, columns: Mapping[str, Values]) -> pa.RecordBatch:
    """Rows of EVENTS; columns are arrays of numpy (without nulls) or of Arrow, others are null."""
    return pa.RecordBatch.from_arrays(
        [
            _nulls(field.type, count)
            if (column := columns.get(field.name)) is None
            else as_column(column, field.type)
            for field in EVENTS
        ],
        schema=EVENTS,
    )


def repeated(text: str, count: int) -> pa.Array:
    """The same text in every row."""
    if count > KEPT_ROWS:
        return pa.repeat(pa.scalar(text, pa.string()), count)
    return _kept_text(text).slice(0, count)


def _nulls(kind: pa.DataType, count: int) -> pa.Array:
    return pa.nulls(count, kind) if count > KEPT_ROWS else _kept_nulls(kind).slice(0, count)


@lru_cache(maxsize=16)
def _kept_text(text: str) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), KEPT_ROWS)


@lru_cache(maxsize=16)
def _kept_nulls(kind: pa.DataType) -> pa.Array:
    return pa.nulls(KEPT_ROWS, kind)


class EventRows:
    """Some rows of a table whose columns are contiguous; a column is copied where it is wanted.

    Args:
        table: (rows, width).
        places: of the rows that are meant.
    """

    def __init__(self, table: Int64s, places: npt.NDArray[np.intp]) -> None:
        self._table = table
        self._places = None if len(places) == len(table) else places
        self._count = len(places)

    def __len__(self) -> int:
        return self._count

    def column(self, number: int) -> Int64s:
        """A column of these rows, a copy: the kernel will write into the table again."""
        column: Int64s = self._table[:, number]
        return column.copy() if self._places is None else column[self._places]

    def tolist(self) -> list[list[int]]:
        """The rows, each a list."""
        rows = self._table if self._places is None else self._table[self._places]
        found: list[list[int]] = rows.tolist()
        return found


def flags_of(numbers: Iterable[int], size: int) -> npt.NDArray[np.bool_]:
    """A table of which numbers below ``size`` are among these."""
    table = np.zeros(size, np.bool_)
    table[list(numbers)] = True
    return table


def grouped(keys: Int64s) -> tuple[Int64s, Int64s]:
    """The distinct keys, none of which is negative, ascending; and the place of each row's."""
    if not len(keys):
        return keys, keys
    most = int(keys.max()) + 1
    if most > TABLE_KEYS:
        found = distinct(keys)
        return found, np.searchsorted(found, keys)
    used = np.zeros(most, np.bool_)
    used[keys] = True
    found = np.flatnonzero(used)
    place = np.empty(most, np.int64)
    place[found] = np.arange(len(found))
    return found.astype(np.int64, copy=False), place[keys]


def texts(keys: Int64s, text: Callable[[int], str | None]) -> pa.Array:
    """``text(key)`` of every row, asked once for each distinct key; keys are not negative."""
    found, places = grouped(keys)
    return text_column([text(key) for key in found.tolist()], places)


def written(text: npt.NDArray[np.uint8], at: Int64s, stop: Int64s) -> pa.Array:
    """Texts that a kernel wrote into ``text`` one after the other; null where ``stop`` is ``at``
    or ``at`` is negative. Copied, as the kernel will write there again.
    """
    there = stop > at
    if not there.any():
        return pa.nulls(len(at), pa.string())
    begin, end = int(at[there][0]), int(stop[there][-1])
    offsets = np.empty(len(at) + 1, np.int32)
    # a row without text begins and ends where the last one with text ended
    offsets[0] = 0
    offsets[1:] = np.maximum.accumulate(np.where(there, stop - begin, 0))
    valid = np.packbits(there, bitorder="little")
    return pa.StringArray.from_buffers(
        len(at),
        pa.py_buffer(offsets),
        pa.py_buffer(text[begin:end].tobytes()),
        None if there.all() else pa.py_buffer(valid),
    )
