"""Results that are held come out as they went in, in the report's order, from a file or not."""

import errno
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import compact
from seqaudit.pipeline.report import result_store as held
from seqaudit.pipeline.report.result_store import ORDER, HeldResults
from seqaudit.replay.contract.results import FINDING, GAP, Result, ResultKind, to_batch

TEXTS = st.sampled_from(["", "a", "a|b", "b", "ä", "z\U0001f600", "\uffff"])
DETAILS = st.fixed_dictionaries({"n": st.integers(0, 2)})
RESULTS = st.lists(
    st.builds(
        Result,
        capture=st.integers(0, 3),
        kind=st.sampled_from([GAP, FINDING]),
        conversation=TEXTS,
        system=TEXTS,
        detail=DETAILS,
        stream=st.none() | TEXTS.filter(bool),
        frame=st.none() | st.integers(0, 1 << 60),
        at_ns=st.none() | st.integers(-5, 5),
        rule=st.none() | TEXTS.filter(bool),
    ),
    max_size=40,
)


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(held, "MEMORY_BYTES", 2_000)
        patched.setattr(held, "ROWS_AT_ONCE", 5)
        yield


def row(result: Result) -> dict[str, Any]:
    names = ("capture", "conversation", "system", "stream", "frame", "at_ns", "rule", "detail")
    return {name: getattr(result, name) for name in names}


def order(names: tuple[str, ...]) -> Any:
    """Of a row; nulls come first."""

    def key(told: dict[str, Any]) -> tuple[Any, ...]:
        nothing = {name: -1 if name in ("capture", "frame") else "" for name in names}
        values = (nothing[name] if told[name] is None else told[name] for name in names)
        return (*values, compact(told["detail"]))

    return key


@given(RESULTS, st.integers(1, 9), st.sampled_from([(), ("capture", "stream"), ("frame", "rule")]))
def test_rows_of_a_kind_come_sorted(
    results: list[Result], size: int, first: tuple[str, ...]
) -> None:
    parts = [results[at : at + size] for at in range(0, len(results), size)]
    found = HeldResults(map(to_batch, parts))
    sort = order(tuple(dict.fromkeys((*first, *ORDER))))
    kinds: tuple[ResultKind[Any], ...] = (GAP, FINDING)
    for kind in kinds:
        own = [row(result) for result in results if result.kind == kind]
        listed = list(found.of(kind, *first))
        assert list(map(sort, listed)) == sorted(map(sort, own))
        assert sorted(map(repr, listed)) == sorted(map(repr, own))
        assert found.systems(kind) == {told["system"] for told in own}
        assert found.without_frame(kind) == {
            (told["capture"], told["stream"]) for told in own if told["frame"] is None
        }


def test_without_room_for_a_file_results_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def full(**_: object) -> None:
        tried.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    results = [Result(n, GAP, "a", "feed", {"text": "x" * 3_000}) for n in range(5)]
    found = HeldResults(to_batch([result]) for result in results)
    assert [told["capture"] for told in found.of(GAP)] == [0, 1, 2, 3, 4]
    assert tried
