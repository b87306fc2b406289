"""Rules and where they were judged: a row a conversation, an entry a fact."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from seqaudit.pipeline.report.judged import places_of_rules
from seqaudit.pipeline.report.result_store import HeldResults
from seqaudit.replay.contract.results import JUDGED, JudgedRow, Result, to_batch

PLACES = st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "a|b", "ä"]))
WHYS = st.sampled_from([None, "no reason", "ä"])
#: Capture and conversation, rule, why not, whether it fired all the same.
FACTS = st.lists(st.tuples(PLACES, st.sampled_from(["X1", "X2"]), WHYS, st.booleans()), max_size=60)
Fact = tuple[tuple[int, str], str, str | None, bool]


def result(fact: Fact) -> Result:
    (capture, conversation), rule, why, fired = fact
    detail = {"rule": rule, "judged": why is None or fired, "why": why}
    return Result(capture, JUDGED, conversation, "s", detail)


def told(fact: Fact) -> JudgedRow:
    """As a comparison says it."""
    (capture, conversation), rule, why, fired = fact
    unless = None if fired else why
    return {"rule": rule, "capture": capture, "conversation": conversation, "why": unless}


@example([((1, "a"), "X2", "no reason", False), ((1, "a"), "X2", "ä", False)], [], 1, set())
@given(FACTS, FACTS, st.integers(1, 9), st.sets(PLACES))
def test_what_was_judged_is_told_by_rule_each_fact_once(
    facts: list[Fact], more: list[Fact], size: int, together: set[tuple[int, str]]
) -> None:
    rows = list(map(result, facts))
    held = HeldResults(to_batch(rows[at : at + size]) for at in range(0, len(rows), size))
    found = places_of_rules(held.of(JUDGED), map(told, more), {"X2": together})
    of_whys = sorted(facts, key=lambda fact: (fact[0], fact[2] or ""))
    judged: dict[str, dict[Any, None]] = {}
    not_judged: dict[str, dict[Any, None]] = {}
    for place, rule, why, fired in [*of_whys, *more]:
        if why is None or fired or (rule == "X2" and place in together):
            judged.setdefault(rule, {})[place] = None
        else:
            not_judged.setdefault(rule, {})[*place, why] = None
    assert {rule: [tuple(e.values()) for e in own.judged] for rule, own in found.items()} == {
        rule: list(judged.get(rule, ())) for rule in {**judged, **not_judged}
    }
    assert {rule: [tuple(e.values()) for e in own.not_judged] for rule, own in found.items()} == {
        rule: list(not_judged.get(rule, ())) for rule in {**judged, **not_judged}
    }


def test_rules_of_a_conversation_are_one_row_and_one_object_each_place() -> None:
    facts: list[Fact] = [((0, "a"), f"X{n}", "why" if n % 2 else None, False) for n in range(9)]
    batch = to_batch(list(map(result, facts)))
    assert len(batch) == 1
    found = places_of_rules(HeldResults([batch]).of(JUDGED), (), {})
    assert len({id(entry) for own in found.values() for entry in own.judged}) == 1
    assert len({id(entry) for own in found.values() for entry in own.not_judged}) == 1
