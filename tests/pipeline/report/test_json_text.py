"""A report as text is JSON that says the same, a row of a section a line."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from seqaudit.pipeline.report import packed_rows as packed
from seqaudit.pipeline.report.json_text import chunks, to_json
from seqaudit.pipeline.report.packed_rows import PackedRows

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(values)
def test_the_text_is_json_of_the_same_value_and_of_ascii_alone(value: Any) -> None:
    text = "".join(chunks(value))
    assert json.loads(text) == value
    assert text.isascii()


@given(st.dictionaries(st.text(), values))
def test_two_reports_of_the_same_are_the_same_text(report: dict[str, Any]) -> None:
    assert to_json(dict(reversed(report.items()))) == to_json(report)


def test_a_row_is_a_line() -> None:
    rows = [{"b": [[1, 2]], "a": "x\n"}, {"a": None, "b": [{"c": {}}]}]
    told = {"totals": {"gaps": 2}, "gaps": rows, "tables": {"raims": {"paths": rows[:1]}}, "n": []}
    assert to_json(told).split("\n") == [
        "{",
        ' "gaps": [',
        '  {"a": "x\\n", "b": [[1, 2]]},',
        '  {"a": null, "b": [{"c": {}}]}',
        " ],",
        ' "n": [],',
        ' "tables": {',
        '  "raims": {',
        '   "paths": [',
        '    {"a": "x\\n", "b": [[1, 2]]}',
        "   ]",
        "  }",
        " },",
        ' "totals": {',
        '  "gaps": 2',
        " }",
        "}",
    ]


def test_rows_that_are_packed_are_written_like_others() -> None:
    rows = [{"number": number} for number in range(packed.CHUNK_ROWS + 1)]
    assert isinstance(PackedRows(rows).rows(), PackedRows)
    assert to_json({"rows": PackedRows(rows)}) == to_json({"rows": rows})
