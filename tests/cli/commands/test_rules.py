"""``seqaudit rules``: the list, and rules explained by code, name or beginning."""

from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.replay.stages.systems import RULES


def rules(*words: str) -> Result:
    return CliRunner().invoke(main, ["rules", *words])


def test_a_rule_is_explained_by_its_code_or_its_name() -> None:
    rule = RULES["MC001"]
    told = rules("mc001").stdout
    assert told.startswith(f"MC001 {rule.name} ({rule.severity})\n")
    assert rule.action in told
    assert rules(rule.name.upper()).stdout == told


def test_several_rules_are_explained_one_after_the_other() -> None:
    told = rules("ZN002", "MC001").stdout
    assert told.index("ZN002") < told.index("MC001")
    assert told.count("What to do: ") == 2


def test_the_beginning_of_codes_lists_them() -> None:
    listed = [line.split()[0] for line in rules("ZN00").stdout.splitlines()[2:]]
    assert listed == sorted(code for code in RULES if code.startswith("ZN00"))


def test_a_word_that_names_no_rule_is_one_line() -> None:
    assert rules("MC9").stderr.startswith("error: no rule is called MC9; did you mean MC0")
    assert rules("???").stderr == "error: no rule is called ???; seqaudit rules lists them\n"
