"""What whole captures of JGroups prove stays proven, and its evidence shows what it says."""

from collections import Counter

from tests.agreement import floor_jgroups
from tests.agreement.floor_jgroups import ALWAYS, AT_LEAST, NEVER, PROVEN
from tests.agreement.test_agreement import FIXTURES, agreement_of


def test_a_rule_is_as_sure_of_a_whole_capture_as_its_frames_allow() -> None:
    every = [found for _, _, found in agreement_of(FIXTURES).findings]
    assert list(floor_jgroups.wrong_certainties(every)) == []
    proven = Counter(found["rule"] for found in every if found["certainty"] == PROVEN)
    assert {rule: proven[rule] for rule, least in AT_LEAST.items() if proven[rule] < least} == {}


def test_the_tables_of_certainty_name_a_rule_once() -> None:
    assert not (ALWAYS.keys() & NEVER.keys() | ALWAYS.keys() & AT_LEAST.keys())
    assert not NEVER.keys() & AT_LEAST.keys()


def test_frames_of_evidence_hold_what_they_are_said_to_show() -> None:
    compared = 0
    for scenario, vantage, found in agreement_of(FIXTURES).findings:
        lines, wrong = floor_jgroups.wrong_evidence(scenario, vantage, [found])
        assert wrong == [], scenario.name
        compared += lines
    assert compared > 100
