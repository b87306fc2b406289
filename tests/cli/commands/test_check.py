"""``seqaudit check``: captures held to a budget."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.cli.options.budget import EXAMPLE, budget_of
from seqaudit.cli.output.budget import Budget, Scope, judged, measured, verdict_of
from seqaudit.cli.output.budget import BudgetResult as Outcome
from seqaudit.cli.output.writers import BY_SUFFIX

ROOT = Path(__file__).parents[3] / "fixtures" / "jgroups"
LOSSY = ROOT / "n4-loss-1" / "C.pcap"  # 66 messages of B lost and recovered, slowest 2.011 s


def one_stream(system: str, **figures: int | None) -> Any:
    """Of a report what is held to a budget."""
    about = {"capture": 0, "id": "x", "system": system, "sender_name": "B", "sender": "uuid"}
    captures = [{"capture": 0, "path": "a/C.pcap"}]
    streams = [about | figures | {"unknown": {}}]
    return {"captures": captures, "streams": streams, "findings": []}


def check(tmp_path: Path, budget: Any, *more: object) -> Result:
    file = tmp_path / "budget.yaml"
    file.write_text(budget if isinstance(budget, str) else yaml.safe_dump(budget))
    words = ["check", "--engine", "direct", "--budget", file, *more]
    return CliRunner().invoke(main, [str(word) for word in words])


ONLY_B = {"system": "nakack4", "member": "B"}


@pytest.mark.parametrize(
    ("limits", "result"),
    [
        ({"lost": 66}, "kept"),
        ({"lost": 65}, "exceeded"),
        ({"loss_share": "33 %"}, "kept"),
        ({"loss_share": "32.9999 %"}, "exceeded"),
        ({"recovery_max": "2.012 s"}, "kept"),
        ({"recovery_max": "2 s"}, "exceeded"),
        ({"unrecovered": 0, "repeats": 0, "requests": 4}, "kept"),
        ({"requests": 3}, "exceeded"),
    ],
)
def test_a_limit_is_the_largest_value_that_is_fine(
    limits: Any, result: str, tmp_path: Path
) -> None:
    budget = {"streams": [{"match": ONLY_B, **limits}], "fail_on": "never"}
    told = check(tmp_path, budget, "--format", "json", LOSSY)
    report = json.loads(told.stdout)
    assert report["schema"] == "seqaudit/check/1"
    assert (report["result"], told.exit_code) == (result, {"kept": 0, "exceeded": 1}[result])
    assert {line["figure"] for line in report["lines"]} == set(limits)


def test_limits_of_a_name_that_no_stream_has_are_too_little_to_judge(tmp_path: Path) -> None:
    renamed = {"streams": [{"match": {"member": "Z"}, "lost": 0}], "fail_on": "never"}
    told = check(tmp_path, renamed, LOSSY)
    assert told.exit_code == 2
    assert "member: Z" in told.stdout and "no stream fits" in told.stdout
    other = {"streams": [{"match": {"system": "raims"}, "lost": 0}, {"match": ONLY_B, "lost": 66}]}
    assert check(tmp_path, other | {"fail_on": "never"}, LOSSY).exit_code == 0


def test_what_cannot_be_told_is_too_little_to_judge_and_never_kept(tmp_path: Path) -> None:
    told = check(tmp_path, {"lost": 1000, "fail_on": "never"}, LOSSY)
    assert told.exit_code == 2
    end = "Too little to judge the budget: 1 of 4 lines too little to judge, 3 kept.\n"
    assert told.stdout.endswith(end)
    quiet = check(tmp_path, {"lost": 1000, "fail_on": "never"}, "-q", LOSSY)
    assert (quiet.stdout, quiet.exit_code) == (end, 2)


@pytest.mark.parametrize(
    ("upper", "limits", "result"),
    [
        (9, {"lost": 9}, Outcome.KEPT),
        (9, {"lost": 8}, Outcome.UNKNOWN),
        (9, {"lost": 2}, Outcome.EXCEEDED),
        (None, {"unrecovered": 1000}, Outcome.UNKNOWN),
        (None, {"repeats": 0}, Outcome.KEPT),
        (9, {"loss_share": 400_000}, Outcome.UNKNOWN),
    ],
)
def test_a_loss_of_which_only_bounds_are_known_keeps_what_it_keeps_at_most(
    upper: int | None, limits: dict[str, int], result: Outcome
) -> None:
    report = one_stream("raims", messages=10, copies=0, lost=3, unrecovered=3, lost_upper=upper)
    (line,) = judged(report, Budget((Scope({}, limits),)))
    assert line.result is result
    if "lost" in limits:
        assert line.measured == ("3 or more" if upper is None else f"3 to {upper}")


@pytest.mark.parametrize(
    ("proven", "limit", "measured", "why"),
    [
        (0, 0, "0 to 3", "lost, or not captured: no frame shows which"),
        (2, 1, "2 to 3", ""),
        (0, 3, "0 to 3", None),
        (3, 0, "3", ""),
    ],
)
def test_what_was_lost_or_not_captured_exceeds_a_budget_and_says_so(
    proven: int, limit: int, measured: str, why: str | None
) -> None:
    report = one_stream("zenoh", messages=10, copies=0, lost=3, unrecovered=3, lost_proven=proven)
    (line,) = judged(report, Budget((Scope({}, {"lost": limit}),)))
    assert line.result is (Outcome.KEPT if why is None else Outcome.EXCEEDED)
    assert (line.measured, line.why) == (measured, why or "")


def test_of_several_scopes_that_fit_the_last_one_decides() -> None:
    report = one_stream("nakack4", lost=5)
    scopes = (
        Scope({}, {"lost": 0}),
        Scope({"capture": "C.pcap", "member": "B"}, {"lost": 5}),
        Scope({"system": "unicast*"}, {"lost": 0}),
    )
    (line,) = judged(report, Budget(scopes))
    assert (line.result, line.limit, line.about) == (Outcome.KEPT, "5", "nakack4 B > all")


@pytest.mark.parametrize(
    ("rules", "fail_on", "failing"),
    [
        ({}, "error", []),
        ({}, "warning", ["CP005", "MC001", "MC003"]),
        ({"allow": ["CP", "MC003"]}, "warning", ["MC001"]),
        ({"forbid": ["MC018"]}, "never", ["MC018"]),
        ({"forbid": ["MC018"], "allow": ["MC0"]}, "never", []),
    ],
)
def test_findings_fail_by_severity_or_because_they_are_forbidden(
    rules: Any, fail_on: str, failing: list[str], tmp_path: Path
) -> None:
    budget = {"rules": rules, "fail_on": fail_on, "streams": [{"match": ONLY_B, "lost": 66}]}
    told = check(tmp_path, budget, "--format", "json", LOSSY)
    lines = json.loads(told.stdout)["lines"]
    assert list(dict.fromkeys(line["figure"].split()[0] for line in lines[1:])) == failing
    assert told.exit_code == (1 if failing else 0)


def test_junit_has_a_case_a_budget_line(tmp_path: Path) -> None:
    told = check(tmp_path, {"lost": 65, "fail_on": "never"}, "--format", "junit", LOSSY)
    root = ET.fromstring(told.stdout)
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "1")
    told_of = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
    assert told_of["budget"] == str(tmp_path / "budget.yaml")
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.get("message") == "lost: 66, the budget is 65"


def test_every_format_goes_to_files_in_one_run_as_an_audits_do(tmp_path: Path) -> None:
    budget = {"lost": 65, "fail_on": "warning"}
    files = [tmp_path / f"check{suffix}" for suffix in BY_SUFFIX]
    many = check(tmp_path, budget, *(word for file in files for word in ("-o", file)), LOSSY)
    assert (many.exit_code, many.stdout) == (1, "")
    for file in files:
        alone = check(tmp_path, budget, "--format", BY_SUFFIX[file.suffix], LOSSY)
        assert (alone.exit_code, alone.stdout) == (1, file.read_text(encoding="utf-8"))
    twice = check(tmp_path, budget, "--format", "json", "--format", "csv", LOSSY)
    assert twice.exit_code == 2 and "json and csv would both be printed" in twice.stderr


#: What a check of one budget line says of it, a format each.
TOLD: Mapping[str, str] = {
    "table": "exceeded",
    "jsonl": '"figure": "lost"',
    "csv": "nakack4 B > C,lost,65,66",
    "markdown": "| nakack4 B &gt; C | lost | 65 | 66 | - |",
    "github": "lost-over-budget (exceeded)::nakack4 B > C: lost: 66, the budget is 65",
    "gitlab": "nakack4 B > C: lost: 66, the budget is 65",
    "sarif": "nakack4 B > C: lost: 66, the budget is 65",
    "html": "Budget exceeded: 1 of 1 line exceeded.",
}


@pytest.mark.parametrize("form", TOLD)
def test_every_format_says_what_is_exceeded_and_by_how_much(form: str, tmp_path: Path) -> None:
    budget = {"fail_on": "never", "streams": [{"match": ONLY_B, "lost": 65}]}
    assert TOLD[form] in check(tmp_path, budget, "--format", form, LOSSY).stdout


def test_what_is_too_little_to_judge_is_a_warning_and_what_is_kept_no_result(
    tmp_path: Path,
) -> None:
    told = check(tmp_path, {"lost": 65, "fail_on": "never"}, "--format", "sarif", LOSSY)
    (run,) = json.loads(told.stdout)["runs"]
    assert [(r["level"], r["ruleId"]) for r in run["results"]] == [
        ("error", "budget-lost"), ("warning", "budget-lost"),
    ]  # fmt: skip
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["budget-lost"]
    assert "too little to judge, the budget is 65" in run["results"][1]["message"]["text"]


def test_a_baseline_excuses_findings_and_no_figure(tmp_path: Path) -> None:
    budget = {"fail_on": "warning", "streams": [{"match": ONLY_B, "lost": 66}]}
    known = tmp_path / "known.json"
    assert check(tmp_path, budget, "--write-baseline", known, LOSSY).exit_code == 1
    again = check(tmp_path, budget, "--baseline", known, LOSSY)
    assert (again.exit_code, again.stderr) == (0, "Baseline: 6 of 6 findings are known.\n")
    assert len(json.loads(known.read_text())["findings"]) == 5  # MC003 says two things of B
    budget["streams"] = [{"match": ONLY_B, "lost": 65}]
    assert check(tmp_path, budget, "--baseline", known, LOSSY).exit_code == 1
    audited = tmp_path / "audited.json"
    CliRunner().invoke(
        main, ["audit", "--engine", "direct", "--write-baseline", str(audited), str(LOSSY)]
    )
    assert audited.read_text() == known.read_text()


def test_a_figure_that_nothing_says_anything_of_is_unknown() -> None:
    unseen: Any = {"lost": None, "unknown": {"lost": "seen at the sender"}}
    assert measured(unseen, "lost") == (None, "seen at the sender")
    figures: Any = {"lost": 0, "messages": 0, "recovered": 0, "unrecovered": 0}
    assert measured(figures, "loss_share") == (None, "nothing was sent")
    assert measured(figures, "recovery_p99") == (0, "")
    many = figures | {"lost": 1, "messages": 3_000_000}
    assert measured(many, "loss_share")[0] == 1  # never called 0


def test_the_verdict_is_the_worst_line() -> None:
    assert verdict_of([]) is Outcome.KEPT


def test_the_example_in_the_help_is_a_budget(tmp_path: Path) -> None:
    assert budget_of(yaml.safe_load(EXAMPLE), "example").allow == ("CP005",)
    helped = CliRunner().invoke(main, ["check", "--help"]).stdout
    assert all(line.strip() in helped for line in EXAMPLE.splitlines())


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("lost: many", "lost: many is no count; try lost: 100"),
        ("lost: true", "lost: True is no count"),
        ("loss_share: 0.1", "0.1 is no percentage; try loss_share: 0.1 %"),
        ("recovery_p99: 5", "5 is no duration; try recovery_p99: 500 ms"),
        ("losst: 1", "nothing is called losst; did you mean lost?"),
        ("- 1", "is no map"),
        ("streams: 3", "streams: is no list"),
        ("streams: [{lost: 3}]", "streams, entry 1: has no match"),
        ("streams: [{match: {port: 3}}]", "match: nothing is called port"),
        ("rules: {allow: [XX]}", "rules.allow: no rule is called XX"),
        ("fail_on: sometimes", "fail_on: sometimes is none of error"),
        ("fail_on: never", "limits nothing"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_budget_that_makes_no_sense_is_one_line(budget: str, words: str, tmp_path: Path) -> None:
    told = check(tmp_path, budget, LOSSY)
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1 and words in told.stderr and "budget.yaml" in told.stderr
