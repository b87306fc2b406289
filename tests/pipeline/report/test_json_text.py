"""Our JSON text is Python's, character by character."""

import enum
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.pipeline.report import json_text
from seqaudit.pipeline.report.json_text import SHAPES, chunks

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=30,
)


@given(values)
def test_any_value_is_written_as_the_standard_library_does(value: Any) -> None:
    assert "".join(chunks(value)) == json.dumps(value, sort_keys=True, indent=1)


def test_keys_and_numbers_that_are_no_plain_ones_are_as_well() -> None:
    class Colour(enum.IntEnum):
        RED = 3

    class Row(dict[str, int]):
        pass

    value = {"a": {2: "x", 10: "y"}, "b": [Colour.RED], "c": Row(z=1), "d": {True: []}, "e": {}}
    assert "".join(chunks(value)) == json.dumps(value, sort_keys=True, indent=1)


def test_rows_of_the_same_keys_keep_their_own_values() -> None:
    rows = [
        {"b": [[1, 2], [3, -4]], "a": None},
        {"b": [[1], [2, 3]], "a": "x%d"},
        {"a": False, "b": [[1, True], [2, 3]]},
        {"b": [[], []], "a": [1, 2, 2**70]},
        {"b": {1: 0}, "a": {True: 0}},
        {"b": ([1, 2], [3, 4]), "a": [(1, 2)]},
    ]
    value = {"rows": rows, "b": rows}
    assert "".join(chunks(value)) == json.dumps(value, sort_keys=True, indent=1)


def test_objects_of_ever_new_keys_are_not_remembered_for_ever() -> None:
    rows = [{str(number): number, "b": 1} for number in range(3 * SHAPES)]
    text = "".join(chunks({"rows": rows}))
    assert text == json.dumps({"rows": rows}, sort_keys=True, indent=1)
    assert len(json_text._shapes) <= SHAPES
