"""Events go through Spark in parts, and come out of them in their order whatever the parts are."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import EVENTS, NO_CONVERSATION, Kind
from seqaudit.pipeline.shared import parts
from seqaudit.pipeline.shared.ordered import ORDER, ordered

CONVERSATIONS = st.sampled_from([NO_CONVERSATION, "a|", "b|ä", "b|z\U0001f600", "c|\uffff"])
Sent = tuple[str, str | None, int, int, str | None]
ROWS = st.tuples(
    CONVERSATIONS, st.none() | st.sampled_from(["x", "y"]), st.integers(0, 1), st.integers(1, 9),
    st.none() | st.sampled_from(["p", "q"]),
)  # fmt: skip


def batch(rows: Sequence[Sent]) -> pa.RecordBatch:
    zero = {field.name: None if field.nullable else 0 for field in EVENTS}
    told = [
        zero
        | {"system": "s", "wire_kind": "k", "kind": Kind.MEMBER if source == "q" else Kind.DATA}
        | {"conversation": conversation, "carrier": carrier, "capture": capture}
        | {"frame": frame, "source": source, "size": number}
        for number, (conversation, carrier, capture, frame, source) in enumerate(rows)
    ]
    return pa.RecordBatch.from_pylist(told, schema=EVENTS)


def as_spark_sorts(found: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Parts of one lane: by their group and first event, nulls first and texts by their bytes."""

    def key(row: dict[str, object]) -> list[tuple[bool, object]]:
        values = [row[name] for name in ("group", *parts.FIRST)]
        return [
            (value is not None, (value or "").encode() if isinstance(value, str | None) else value)
            for value in values
        ]

    rows = [row for some in found for row in some.to_pylist()]
    return pa.RecordBatch.from_pylist(sorted(rows, key=key), schema=parts.PARTS)


@pytest.mark.parametrize("unit", ["conversation", "carrier"])
@given(st.lists(st.lists(ROWS, min_size=1, max_size=9), min_size=1, max_size=5))
def test_events_come_out_of_parts_in_their_order(unit: str, rows: list[list[Sent]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "SORTED_ROWS": 5,
            "PART_ROWS": 2,
            "MERGED_BYTES": 1,
            "GROUPS": 2,
        }.items():
            patch.setattr(parts, name, value)
        found = as_spark_sorts(
            part for some in rows for part in parts.in_parts([batch(some)], unit)
        )
        told = [row for row in found.to_pylist() if row["group"] != parts.MEMBERS]
        kept = pa.RecordBatch.from_pylist(told, schema=parts.PARTS)
        events = pa.Table.from_batches(parts.in_order([kept], unit), EVENTS)
    every = pa.Table.from_batches(map(batch, rows))
    expected = ordered(every, unit)
    assert sorted(map(str, events.to_pylist())) == sorted(map(str, every.to_pylist()))

    def of_each(table: pa.Table) -> dict[str, list[list[object]]]:
        """Rows of each unit, which comes first is nobody's concern."""
        found: dict[str, list[list[object]]] = {}
        for row in table.to_pylist():
            told = [row[name] for name in ORDER]
            found.setdefault(row[unit] or row["conversation"], []).append(told)
        return found

    assert of_each(events) == of_each(expected)
    units = events[unit].to_pylist()
    if unit == "conversation":
        assert sum(a != b for a, b in pairwise(units)) < len(set(units))


def test_a_conversation_of_any_size_is_held_some_parts_at_a_time() -> None:
    row = ("a|", None, 0)
    pieces = [
        [(*row, frame, "p") for frame in range(n, n + 40_000)] for n in range(1, 400_000, 39_000)
    ]
    found = as_spark_sorts(
        part for some in pieces for part in parts.in_parts([batch(some)], "conversation")
    )
    sizes = [len(some) for some in parts.in_order([found], "conversation")]
    assert sum(sizes) == sum(map(len, pieces)) > 5 * max(sizes)


def test_members_and_what_is_of_no_conversation_are_apart() -> None:
    rows: list[Sent] = [("a|", None, 0, 1, "p"), ("a|", None, 0, 2, "q"), ("", None, 0, 3, None)]
    found = as_spark_sorts(parts.in_parts([batch(rows)], "conversation"))
    telling = pa.RecordBatch.from_pylist(
        [row for row in found.to_pylist() if row["group"] >= parts.NO_GROUP], schema=parts.PARTS
    )
    (told, again) = parts.events_in([telling])
    assert told["frame"].to_pylist() == [3] and again["frame"].to_pylist() == [2]
