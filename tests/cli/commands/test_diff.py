"""``seqaudit diff``: what changed from one run to another, what matters first."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.cli.output.differences import Change, Grade, differences, is_worse

FIXTURES = Path(__file__).parents[3] / "fixtures" / "jgroups"
LOSS, LAST = (str(FIXTURES / name / "C.pcap") for name in ("n4-loss-1", "n4-last-lost-1"))
DIRECT = ("--engine", "direct")


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["diff", *words, *DIRECT])


def report(
    lost: int | None = 0, p99: int = 0, messages: int = 100, rules: tuple[str, ...] = ()
) -> Any:
    """One stream of one capture, with findings of these severities."""
    told = None if lost is not None else {"lost": "not visible at this point of capture"}
    return {
        "captures": [{"capture": 0, "path": "c.pcap", "vantage": {"name": "B"}}],
        "streams": [
            {
                "capture": 0, "id": "a>b", "system": "toy", "role": "receiver",
                "sender_name": "A", "receiver_name": "B", "messages": messages, "lost": lost,
                "unrecovered": 0, "recovered": 1, "copies": 0, "unknown": told or {},
                "requests": {"sent": 1, "arrived": None},
                "recovery_ns": {"p50": p99, "p99": p99, "max": p99},
            }
        ],
        "findings": [
            {"rule": "XX001", "name": "x", "severity": severity, "capture": 0} for severity in rules
        ],
    }  # fmt: skip


def of_stream(changes: list[Change]) -> list[tuple[str, str, str, Grade]]:
    return [(c.figure, c.good, c.bad, c.grade) for c in changes if c.part == "stream"]


def test_the_same_run_has_no_differences() -> None:
    assert differences(report(), report()) == []


def test_more_lost_is_worse_and_counts_and_less_is_better() -> None:
    worse = differences(report(lost=1), report(lost=3))
    assert of_stream(worse) == [("lost", "1", "3", Grade.WORSE)] and is_worse(worse)
    better = differences(report(lost=3), report(lost=1))
    assert of_stream(better) == [("lost", "3", "1", Grade.BETTER)] and not is_worse(better)


@pytest.mark.parametrize(
    ("before", "after", "grade"),
    [
        ((1, 5), (6, 9), Grade.WORSE),
        ((1, 5), (6, None), Grade.WORSE),
        ((6, None), (1, 5), Grade.BETTER),
        ((1, 5), (3, 9), Grade.UNKNOWN),
        ((1, 5), (5, 5), Grade.UNKNOWN),
        ((0, None), (7, 7), Grade.UNKNOWN),
        ((5, 5), (5, 9), Grade.UNKNOWN),
        ((1, 5), (1, 5), None),
    ],
)
def test_of_bounds_only_what_is_so_anywhere_within_them_is_worse_or_better(
    before: tuple[int, int | None], after: tuple[int, int | None], grade: Grade | None
) -> None:
    sides = []
    for least, most in (before, after):
        side = report(lost=least)
        side["streams"][0] |= {"lost_upper": most, "unrecovered": least, "recovered": 0}
        sides.append(side)
    changes = [c for c in differences(*sides) if c.figure in ("lost", "unrecovered")]
    assert {c.grade for c in changes} == ({grade} if grade else set())
    assert len(changes) == (4 if grade else 0)  # of the system and of its only stream
    told = [
        f"{a}" if a == b else f"{a} to {b}" if b else f"{a} or more" for a, b in (before, after)
    ]
    assert all([c.good, c.bad] == told for c in changes)
    assert is_worse(changes) == (grade is Grade.WORSE)


def test_what_was_lost_or_not_captured_is_worse_and_shown_with_its_bounds() -> None:
    side = report(lost=3)
    side["streams"][0]["lost_proven"] = 1
    changes = differences(report(lost=0), side)
    assert ("lost", "0", "1 to 3", Grade.WORSE) in of_stream(changes) and is_worse(changes)


def test_what_cannot_be_told_on_one_side_is_neither_worse_nor_better() -> None:
    changes = differences(report(lost=0), report(lost=None))
    assert ("lost", "0", "?", Grade.UNKNOWN) in of_stream(changes) and not is_worse(changes)


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [(50, 99, False), (50, 100, True), (1, 10, False), (1, 11, True), (100, 50, True)],
)
def test_times_differ_from_twice_and_10_ms_on_and_never_fail_the_command(
    before: int, after: int, named: bool
) -> None:
    changes = differences(report(p99=before * 1_000_000), report(p99=after * 1_000_000))
    assert bool(of_stream(changes)) is named and not is_worse(changes)


def test_another_number_of_messages_is_a_change_and_nothing_worse() -> None:
    changes = differences(report(messages=100), report(messages=90))
    assert of_stream(changes) == [("messages", "100", "90", Grade.OTHER)]


@pytest.mark.parametrize(
    ("severity", "worse"), [("error", True), ("warning", True), ("info", False)]
)
def test_more_errors_and_warnings_count_and_more_notes_do_not(severity: str, worse: bool) -> None:
    changes = differences(report(), report(rules=(severity,)))
    assert [change.part for change in changes] == ["rule"] and is_worse(changes) is worse


def test_what_counts_comes_before_what_does_not() -> None:
    changes = differences(report(), report(lost=2, p99=10**9, messages=7, rules=("info", "error")))
    assert [c.figure for c in changes if c.part in ("stream", "rule")] == [
        "findings", "lost", "recovery_p99", "recovery_max", "findings", "messages",
    ]  # fmt: skip


def test_captures_are_compared_and_the_exit_code_says_which_way() -> None:
    better = run(LOSS, LAST)
    assert better.exit_code == 0 and "nothing that matters is worse" in better.stdout
    worse = run(LAST, LOSS)
    assert worse.exit_code == 1
    lines = worse.stdout.splitlines()
    assert "What matters" in lines
    assert any(
        line.split() == ["worse", "nakack4", "B", ">", "C", "lost", "1", "66", "-"]
        for line in lines
    )


def test_reports_are_compared_as_their_captures_are(tmp_path: Path) -> None:
    files = []
    for number, capture in enumerate((LAST, LOSS)):
        files.append(str(tmp_path / f"{number}.json"))
        words = ["audit", capture, "-o", files[-1], "--exit-zero", *DIRECT]
        assert CliRunner().invoke(main, words).exit_code == 0
    of_files, of_captures = run(*files, "--format", "json"), run(LAST, LOSS, "--format", "json")
    assert of_files.exit_code == of_captures.exit_code == 1
    told = json.loads(of_files.stdout)
    assert told == json.loads(of_captures.stdout)
    assert told["schema"] == "seqaudit/diff/1" and told["worse"] is True


def test_a_budget_line_that_is_newly_exceeded_is_worse(tmp_path: Path) -> None:
    budget = tmp_path / "budget.yaml"
    budget.write_text("lost: 10\n")
    told = json.loads(run(LAST, LOSS, "--budget", str(budget), "--format", "json").stdout)
    lines = [c for c in told["changes"] if c["part"] == "budget" and c["about"].startswith("nak")]
    assert [(c["good"], c["bad"], c["grade"]) for c in lines] == [("kept", "exceeded", "worse")]


def test_markdown_has_a_table_a_part() -> None:
    told = run(LAST, LOSS, "--format", "markdown").stdout
    assert told.startswith("**From ") and "\nBy rule\n\n|  | what |" in told


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((LOSS,), "diff takes two runs, GOOD and BAD; 1 given"),
        ((LOSS, LAST, LOSS), "diff takes two runs, GOOD and BAD; 3 given"),
        ((LOSS, "nowhere.pcap"), "nowhere.pcap"),
    ],
)
def test_what_is_no_pair_of_runs_is_said_in_one_line(words: tuple[str, ...], line: str) -> None:
    result = run(*words)
    errors = [said for said in result.stderr.splitlines() if said.startswith("error:")]
    assert result.exit_code == 2 and len(errors) == 1 and line in errors[0]


def test_json_that_is_no_report_is_said_in_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"schema": "something/else"}')
    result = run(LOSS, str(other))
    assert result.exit_code == 2 and "is no seqaudit/report/1" in result.stderr
