"""Rows of a report that are held as bytes are the same rows."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.feed_files import load_feed
from seqaudit.pipeline import packed
from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.packed import Packed, packed_sorted
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.pipeline.report import to_json
from tests.bench.generate import Shape, feed_yaml, generate

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
ROWS = st.lists(st.dictionaries(st.text(), SCALARS | st.lists(st.lists(SCALARS)), max_size=3))


@given(ROWS, st.slices(9))
def test_packed_rows_are_the_rows(rows: list[dict[str, Any]], part: slice) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packed, "CHUNK_ROWS", 3)
        held = Packed(rows)
        assert list(held) == rows
        assert held[part] == rows[part]
        assert [held[place] for place in range(-len(rows), len(rows))] == [*rows, *rows]
        with pytest.raises(IndexError):
            held[len(rows)]


@given(st.lists(st.fixed_dictionaries({"a": st.integers(0, 3), "b": st.integers(0, 3)})))
def test_rows_are_sorted_and_those_of_one_key_among_themselves(rows: list[dict[str, Any]]) -> None:
    found = packed_sorted(rows, lambda row: (row["a"],), lambda row: row["b"])
    assert list(found) == sorted(rows, key=lambda row: (row["a"], row["b"]))


def test_a_report_of_packed_rows_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = Shape(3_000, streams=40, loss=0.05)
    capture, feed = tmp_path / "a.pcap", tmp_path / "bench.yaml"
    generate(shape, capture)
    feed.write_text(feed_yaml(shape), encoding="utf-8")
    options = Options(engine="direct", feeds=(load_feed(feed),), compile_it=False)
    listed = audit([CaptureInput(str(capture))], options)
    monkeypatch.setattr(packed, "MANY", 0)
    held = audit([CaptureInput(str(capture))], options)
    assert isinstance(held["streams"], Packed)
    assert isinstance(held["gaps"], Packed)
    assert len(held["streams"]) >= 40
    assert to_json(held) == to_json(listed)
