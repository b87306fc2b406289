"""Rows of a report that are held as bytes are the same rows."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.feeds.files import load_feed
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report import packed_rows as packed
from seqaudit.pipeline.report import result_store as held
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.report.packed_rows import PackedRows, as_rows
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.bench.generate import Shape, feed_yaml, generate

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
ROWS = st.lists(st.dictionaries(st.text(), SCALARS | st.lists(st.lists(SCALARS)), max_size=3))


@given(ROWS, st.slices(9))
def test_packed_rows_are_the_rows(rows: list[dict[str, Any]], part: slice) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packed, "CHUNK_ROWS", 3)
        found = PackedRows(rows)
        assert list(found) == rows
        assert found[part] == rows[part]
        assert [found[place] for place in range(-len(rows), len(rows))] == [*rows, *rows]
        with pytest.raises(IndexError):
            found[len(rows)]


@pytest.mark.parametrize("count", [0, 1, packed.CHUNK_ROWS - 1, packed.CHUNK_ROWS, 2_345])
def test_few_rows_are_a_list_and_many_are_packed(count: int) -> None:
    rows = [{"number": number, "text": f"{number:050}"} for number in range(count)]
    found = as_rows(rows)
    assert isinstance(found, PackedRows) == (count >= packed.CHUNK_ROWS)
    assert list(found) == rows


def test_a_report_of_packed_rows_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = [Shape(3_000, streams=40, loss=0.05, seed=seed) for seed in (1, 2)]
    captures = [tmp_path / f"{shape.seed}.pcap" for shape in shapes]
    for shape, capture in zip(shapes, captures, strict=True):
        generate(shape, capture)
    feed = tmp_path / "bench.yaml"
    feed.write_text(feed_yaml(shapes[0]), encoding="utf-8")
    options = Options(engine="direct", feeds=(load_feed(feed),), compile_it=False)
    inputs = [CaptureInput(str(capture)) for capture in captures]
    listed = audit(inputs, options)
    monkeypatch.setattr(packed, "CHUNK_ROWS", 8)
    monkeypatch.setattr(held, "MEMORY_BYTES", 10_000)
    monkeypatch.setattr(held, "ROWS_AT_ONCE", 7)
    packed_report = audit(inputs, options)
    for section in ("streams", "gaps", "findings"):
        assert isinstance(packed_report[section], PackedRows)
    assert len(packed_report["streams"]) >= 80
    assert to_json(packed_report) == to_json(listed)
