"""What users read names no document and no section: they have the tool, not its papers."""

import re
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import all_commands, main
from seqaudit.replay.stages.systems import PARAMETERS, RULES

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
CITATION: Final = re.compile(
    r"\b[\w/-]+\.(?:md|txt)\b|\bdesign \d|\bPIPELINE \d|\(table [A-Z]\d|[Dd]ecision table"
)


def test_no_rule_or_parameter_is_explained_by_a_citation() -> None:
    texts = {rule.code: f"{rule.meaning} {rule.detection} {rule.action}" for rule in RULES.values()}
    texts |= {parameter.name: parameter.meaning for parameter in PARAMETERS.values()}
    assert [name for name, text in texts.items() if CITATION.search(text)] == []


@pytest.mark.parametrize(
    "capture",
    [
        "jgroups/n4-loss-1/C.pcap",
        "jgroups/u3-stale-ack-fixed-1/mirror.pcap",
        "raims/console-pub-1/B.pcap",
        "zenoh/udp-cache-too-small-1/pub.pcap",
    ],
)
def test_no_report_names_a_document(capture: str) -> None:
    words = ["audit", "--engine", "direct", "--format", "json", str(FIXTURES / capture)]
    report = CliRunner().invoke(main, words).stdout
    assert '"schema"' in report
    assert CITATION.findall(report) == []


def test_rules_are_explained_without_citations() -> None:
    for code in ("MC001", "RA001", "ZN002", "FD002", "CP007"):
        assert not CITATION.search(CliRunner().invoke(main, ["rules", code]).stdout)


def test_every_rule_says_what_to_do_or_why_nothing() -> None:
    bare = [
        rule.code for rule in RULES.values() if re.match(r"(None|Nothing)\b[^:,]*\.", rule.action)
    ]
    assert bare == []


def test_every_help_fits_a_narrow_terminal() -> None:
    for words in ["", *all_commands()]:
        told = CliRunner().invoke(main, [*words.split(), "--help"], terminal_width=80)
        assert told.exit_code == 0
        assert [line for line in told.stdout.splitlines() if len(line) > 80] == [], words
