"""A baseline: what is known does not fail an audit again."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main

ROOT = Path(__file__).parents[3] / "fixtures" / "jgroups"
LOSSY = ROOT / "n4-loss-1" / "C.pcap"
OTHER = ROOT / "n2-last-lost-1" / "C.pcap"


def run(*args: object) -> Result:
    words = ["audit", "--engine", "direct", "--fail-on", "warning", *args]
    return CliRunner().invoke(main, [str(word) for word in words])


def test_findings_of_the_baseline_do_not_fail_and_new_ones_do(tmp_path: Path) -> None:
    known = tmp_path / "baseline.json"
    assert run("--write-baseline", known, LOSSY).exit_code == 1
    again = run("--baseline", known, LOSSY)
    assert again.exit_code == 0
    assert again.stderr == "Baseline: 6 of 6 findings are known.\n"
    assert len(json.loads(known.read_text())["findings"]) == 5  # MC003 says two things of B
    other = run("--baseline", known, OTHER)
    assert other.exit_code == 1
    rules = [f["rule"] for f in json.loads(run("--format", "json", OTHER).stdout)["findings"]]
    assert set(rules) == {"MC002", "MC003", "MC009", "MC018"}  # none of the sender of the first
    told = f"Baseline: 0 of 4 findings are known; new: {', '.join(rules)}.\n"
    assert other.stderr == told


def test_a_baseline_of_what_a_filter_shows_has_only_that(tmp_path: Path) -> None:
    known = tmp_path / "baseline.json"
    run("--select", "MC001", "--write-baseline", known, LOSSY)
    assert {line[:5] for line in json.loads(known.read_text())["findings"].values()} == {"MC001"}
    assert run("--baseline", known, LOSSY).exit_code == 1
    assert run("--baseline", known, "--ignore", "MC003,CP", LOSSY).exit_code == 0


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "x"}', '{"schema": "seqaudit/baseline/1"}'])
def test_what_is_no_baseline_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text)
    told = run("--baseline", tmp_path / "b.json", LOSSY)
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1 and "--write-baseline FILE makes one" in told.stderr
