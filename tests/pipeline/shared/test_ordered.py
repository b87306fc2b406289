"""Rows come in the order that is asked for, from whatever batches."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract.arrow import sorted_places
from seqaudit.pipeline.shared.ordered import gathered, sort_keys

TEXTS = st.sampled_from(["a", "a|b", "b", "ä", "z\U0001f600", "\uffff"])
NUMBERS = st.none() | st.integers(0, 4)
#: Batches of a text, the same or none, and a number or none.
BATCHES = st.lists(
    st.lists(st.tuples(TEXTS, st.none() | TEXTS, NUMBERS), min_size=1, max_size=8),
    min_size=1,
    max_size=5,
)
Row = tuple[str, str | None, int | None]


def batch(rows: list[Row]) -> pa.RecordBatch:
    words, codes, numbers = zip(*rows, strict=True)
    columns = [pa.array(words), pa.array(codes, pa.string()), pa.array(numbers, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=["word", "code", "number"])


def text(word: str | None) -> tuple[bool, bytes]:
    return word is not None, (word or "").encode()


def key(row: Row) -> tuple[object, ...]:
    """Nulls first, strings by their bytes."""
    word, code, number = row
    return text(code), -1 if number is None else number, text(word)


@given(BATCHES)
def test_rows_are_sorted_nulls_first_and_strings_by_their_bytes(parts: list[list[Row]]) -> None:
    rows = [row for part in parts for row in part]
    keys = sort_keys(pa.Table.from_batches(map(batch, parts)), ["code", "number", "word"])
    places = sorted_places(keys, keys.column_names).to_pylist()
    assert [key(rows[place]) for place in places] == sorted(map(key, rows))


@given(BATCHES, st.data())
def test_rows_are_gathered_from_the_batches_that_hold_them(
    parts: list[list[Row]], data: st.DataObject
) -> None:
    rows = [row for part in parts for row in part]
    places = data.draw(st.lists(st.sampled_from(range(len(rows))), min_size=1, unique=True))
    plain = [batch(part).select(["word", "number"]) for part in parts]
    starts = np.cumsum([0, *map(len, parts)])
    asked: list[int] = []

    def held(number: int) -> pa.RecordBatch:
        asked.append(number)
        return plain[number]

    found = gathered(np.array(places), starts, held)
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (rows[place][0], rows[place][2]) for place in places
    ]
    assert len(asked) == len(set(asked)), "each batch is asked for once"
