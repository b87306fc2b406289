"""Columns made without pyarrow.compute are those that Arrow's own functions make."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract import arrow as columns

int64s = st.integers(-(1 << 63), (1 << 63) - 1)
nullable = st.lists(st.none() | int64s)


@given(nullable)
def test_a_column_of_integers_has_nulls_where_it_is_told(values: list[int | None]) -> None:
    array = np.array([value or 0 for value in values], np.int64)
    null = np.array([value is None for value in values], np.bool_)
    assert columns.int_column(array, null).equals(pa.array(values, pa.int64()))
    assert columns.int_column(array).equals(pa.array(array))


def test_a_column_of_integers_may_come_from_every_other_number_or_a_smaller_type() -> None:
    table = np.arange(12, dtype=np.int64).reshape(4, 3)
    assert columns.int_column(table[:, 1]).to_pylist() == [1, 4, 7, 10]
    small = np.array([3, -4], np.int16)
    assert columns.int_column(small).equals(pa.array([3, -4], pa.int64()))
    assert columns.int_column(small, kind=pa.int16()).equals(pa.array([3, -4], pa.int16()))
    with pytest.raises(TypeError):
        columns.int_column(np.array([1 << 20]), kind=pa.int16())


def test_a_column_of_one_row_stays_when_the_kernel_writes_its_next_rows() -> None:
    table = np.arange(6, dtype=np.int64).reshape(1, 6)
    column = columns.int_column(table[:, 2])
    table[:] = 0
    assert column.to_pylist() == [2]


def test_what_is_a_column_or_a_list_becomes_one() -> None:
    column = pa.array(["a"])
    assert columns.as_column(column, pa.string()) is column
    assert columns.as_column([1, None], pa.int16()).equals(pa.array([1, None], pa.int16()))
    assert columns.as_column(np.array([5]), pa.int64()).equals(pa.array([5]))


@given(st.lists(st.booleans()))
def test_a_column_of_bools_has_a_bit_each(values: list[bool]) -> None:
    made = columns.bool_column(np.array(values, np.bool_))
    assert made.equals(pa.array(values, pa.bool_()))
    assert columns.true_count(made) == sum(values)


@given(st.lists(st.none() | st.text(max_size=3), min_size=1), st.data())
def test_a_column_of_words_by_their_places(words: list[str | None], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(words) - 1)))
    made = columns.text_column(words, np.array(places, np.int64))
    assert made.to_pylist() == [words[place] for place in places]


@given(st.lists(int64s))
def test_distinct_values_are_in_order(values: list[int]) -> None:
    found: Any = columns.distinct(np.array(values, np.int64))
    assert found.tolist() == sorted(set(values))


@given(nullable, int64s)
def test_columns_are_read_as_by_arrows_own_functions(values: list[int | None], value: int) -> None:
    column = pa.chunked_array([pa.array(values, pa.int64())])
    table = pa.table({"a": column, "b": columns.filled(column, value)})
    mask = columns.equal(column, value)
    assert mask.equals(pc.equal(column, value))
    assert columns.inverted(mask).equals(pc.invert(mask))
    assert columns.filled(column, value).equals(pc.fill_null(column, value))
    assert columns.not_null(column).equals(pc.is_valid(column))
    assert columns.filtered(table, mask).equals(table.filter(mask))
    places = columns.sorted_places(table, ["b", "a"])
    order = [("b", "ascending"), ("a", "ascending")]
    assert places.equals(pc.sort_indices(table, sort_keys=order))
    assert columns.taken(table, places).equals(table.take(places))
    batch = pa.array(values, pa.int64())
    assert columns.encoded(batch).equals(batch.dictionary_encode())
