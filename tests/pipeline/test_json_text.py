"""Our JSON text is Python's, character by character."""

import enum
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.pipeline.json_text import chunks

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
