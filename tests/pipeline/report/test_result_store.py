"""Results that are held compressed come out as they went in, in the report's order."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.pipeline.report import result_store as held
from seqaudit.pipeline.report.result_store import ORDER, HeldResults
from seqaudit.replay.contract.results import FINDING, GAP, JUDGED, Result, compact, to_batch

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
        patched.setattr(held, "CHUNK_ROWS", 4)
        patched.setattr(held, "ROWS_AT_ONCE", 5)
        patched.setattr(held, "FEW", 3)
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


@settings(deadline=None)
@given(RESULTS, st.integers(1, 9), st.sampled_from([(), ("capture", "stream"), ("frame", "rule")]))
def test_rows_of_a_kind_come_sorted(
    results: list[Result], size: int, first: tuple[str, ...]
) -> None:
    parts = [results[at : at + size] for at in range(0, len(results), size)]
    found = HeldResults(map(to_batch, parts))
    sort = order(tuple(dict.fromkeys((*first, *ORDER))))
    for kind in (GAP, FINDING):
        own = [row(result) for result in results if result.kind == kind]
        listed = list(found.of(kind, *first))
        assert list(map(sort, listed)) == sorted(map(sort, own))
        assert sorted(map(repr, listed)) == sorted(map(repr, own))
        assert found.systems(kind) == {told["system"] for told in own}
        assert found.without_frame(kind) == {
            (told["capture"], told["stream"]) for told in own if told["frame"] is None
        }


WHYS = st.sampled_from([None, "no reason", "ä"])
JUDGEMENTS = st.lists(
    st.tuples(
        st.integers(0, 3), TEXTS, st.sampled_from(["X1", "X2"]), st.none() | st.booleans(), WHYS
    ),
    max_size=60,
)


def judgement(capture: int, conversation: str, rule: str, yes: bool | None, why: str | None) -> Any:
    detail = {"rule": rule, "why": why} | ({} if yes is None else {"judged": yes})
    return Result(capture, JUDGED, conversation, "s", detail, rule=rule)


@settings(deadline=None)
@given(JUDGEMENTS, JUDGEMENTS, st.integers(1, 9), st.sets(st.tuples(st.integers(0, 3), TEXTS)))
def test_what_was_judged_is_told_by_rule_each_fact_once(
    told: list[Any], more: list[Any], size: int, together: set[tuple[int, str]]
) -> None:
    results = [judgement(*facts) for facts in told]
    found = HeldResults(
        to_batch(results[at : at + size]) for at in range(0, len(results), size)
    ).judged.by_rule([row(judgement(*facts)) for facts in more], {"X2": together})
    entries: dict[str, dict[Any, None]] = {}
    by_detail = sorted(map(row, results), key=order(("capture", "conversation", "rule")))
    for entry in [*by_detail, *(row(judgement(*facts)) for facts in more)]:
        place, why = (entry["capture"], entry["conversation"]), entry["detail"]["why"]
        yes = entry["detail"].get("judged", why is None)
        yes = yes or (entry["rule"] == "X2" and place in together)
        entries.setdefault(entry["rule"], {})[*place, yes, why] = None
    assert {rule: (list(yes), list(no)) for rule, (yes, no) in found.items()} == {
        rule: (
            [{"capture": c, "conversation": name} for c, name, yes, _ in facts if yes],
            [
                {"capture": c, "conversation": name, "why": why}
                for c, name, yes, why in facts
                if not yes
            ],
        )
        for rule, facts in entries.items()
    }


@settings(deadline=None)
@given(RESULTS, JUDGEMENTS)
def test_what_another_process_held_is_taken_over(results: list[Result], told: list[Any]) -> None:
    judged = [judgement(*facts) for facts in told]
    whole = HeldResults([to_batch([*results, *judged])])
    joined = HeldResults([to_batch([*results[::2], *judged[::2]])])
    for batch in HeldResults([to_batch([*results[1::2], *judged[1::2]])]).packed():
        joined.take(batch)
    sort = order(ORDER)
    for kind in (GAP, FINDING):
        assert list(map(sort, joined.of(kind))) == list(map(sort, whole.of(kind)))
        assert joined.systems(kind) == whole.systems(kind)
    lists = [
        {rule: tuple(map(list, both)) for rule, both in one.judged.by_rule([], {}).items()}
        for one in (joined, whole)
    ]
    assert lists[0] == lists[1]
