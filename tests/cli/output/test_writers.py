"""Formats and where they go."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.cli.output.baseline import baseline_of, new_in
from seqaudit.cli.output.ci import fingerprints, github, gitlab, lasting
from seqaudit.cli.output.markdown import markdown
from seqaudit.cli.output.rows import jsonl, table
from seqaudit.cli.output.writers import BY_SUFFIX, outputs_of
from seqaudit.pipeline.shared.spark_address import SparkAddress

FIXTURES = Path(__file__).parents[3] / "fixtures"
LOSSY = (
    "jgroups/n4-loss-1/C.pcap",
    "jgroups/n4-loss-1/A.pcap",
    "raims/frame-silent-loss-1/B.pcap",
    "zenoh/udp-loss-recovered-1/sub.pcap",
)
#: Formats that no name of a file says.
NO_SUFFIX = {".github": "github", ".gitlab": "gitlab"}
HOSTILE = "=1+1|`x`<b>\x1b[31m\n%0A::error::"


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["audit", "--engine", "direct", *map(str, args)])


@pytest.fixture(scope="module")
def capture() -> Path:
    return Path(__file__).parents[3] / "fixtures" / "jgroups" / "n4-loss-1" / "C.pcap"


@pytest.fixture(scope="module")
def report(capture: Path) -> Any:
    return json.loads(run("--format", "json", capture).stdout)


@pytest.mark.parametrize(
    ("formats", "files", "outputs"),
    [
        ([], [], [("table", None)]),
        (["json"], [], [("json", None)]),
        (["json"], ["a"], [("json", "a")]),
        (["json", "table"], ["a"], [("json", "a"), ("table", None)]),
        ([], ["a.json", "b.md"], [("json", "a.json"), ("markdown", "b.md")]),
    ],
)
def test_files_take_the_formats_in_their_order_and_the_rest_is_printed(
    formats: list[str], files: list[str], outputs: list[Any]
) -> None:
    assert outputs_of(formats, files) == outputs


@pytest.mark.parametrize(
    ("formats", "files", "words"),
    [
        (["json", "csv"], [], "json and csv would both be printed"),
        (["json"], ["a", "b"], "-o b: has no --format"),
        ([], ["report"], "-o report: its name does not say the format"),
    ],
)
def test_what_goes_nowhere_is_one_line(formats: list[str], files: list[str], words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        outputs_of(formats, files)


def test_a_file_has_what_would_be_printed_for_every_format(capture: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"report{suffix}" for suffix in BY_SUFFIX]
    many = run(*(word for file in files for word in ("-o", file)), capture)
    assert (many.exit_code, many.stdout) == (0, "")
    for file in files:
        printed = run("--format", BY_SUFFIX[file.suffix], capture)
        assert file.read_bytes() == printed.stdout_bytes, file
    assert sorted(tmp_path.iterdir()) == sorted(files)  # nothing half-written


def test_both_engines_write_the_same_bytes_in_every_format(
    tmp_path: Path, spark_place: SparkAddress
) -> None:
    captures = [FIXTURES / name for name in LOSSY]
    for engine in (["direct"], ["spark", "--master", str(spark_place.master)]):
        (tmp_path / engine[0]).mkdir()
        files = [tmp_path / engine[0] / f"report{suffix}" for suffix in (*BY_SUFFIX, *NO_SUFFIX)]
        formats = [*BY_SUFFIX.values(), *NO_SUFFIX.values()]
        words = [w for f, n in zip(files, formats, strict=True) for w in ("-o", f, "--format", n)]
        CliRunner().invoke(main, ["audit", "--engine", *map(str, (*engine, *words, *captures))])
    by_direct = {file.name: file.read_bytes() for file in (tmp_path / "direct").iterdir()}
    assert by_direct == {file.name: file.read_bytes() for file in (tmp_path / "spark").iterdir()}
    assert len(by_direct) == len(formats)
    assert b'"points":[[' in by_direct["report.html"]


def test_a_file_that_cannot_be_written_is_one_line(capture: Path, tmp_path: Path) -> None:
    told = run("-o", tmp_path / "not-there" / "a.json", capture)
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1 and "a.json: cannot be written" in told.stderr


def test_quiet_prints_the_verdict_alone(capture: Path) -> None:
    told = run("-q", capture)
    assert told.stdout.splitlines() == run(capture).stdout.splitlines()[:2]
    assert told.stderr == ""


def test_json_lines_are_all_rows_with_their_part(report: Any) -> None:
    lines = [json.loads(line) for line in "".join(jsonl(report)).splitlines()]
    assert [line for line in lines if line["part"] == "gaps"] == [
        {"part": "gaps", **gap} for gap in report["gaps"]
    ]
    assert lines[-1] == {"part": "totals", **report["totals"]}


def test_csv_has_a_row_for_each_finding_and_no_formula(report: Any) -> None:
    changed: Any = {**report, "findings": [{**f, "text": HOSTILE} for f in report["findings"]]}
    rows = list(csv.DictReader(io.StringIO("".join(table(changed)), newline="")))
    assert [row["rule"] for row in rows] == [finding["rule"] for finding in report["findings"]]
    first, last = report["findings"][-1]["seqnos"][-1]
    assert rows[-1]["seqnos"].endswith(f"{first}-{last}")
    assert {row["text"][:2] for row in rows} == {"'="}


def test_markdown_has_verdict_findings_and_streams_and_nothing_in_it_acts(report: Any) -> None:
    changed: Any = {**report, "findings": [{**f, "text": HOSTILE} for f in report["findings"]]}
    text = "".join(markdown(changed, 100))
    assert text.startswith("**1 capture, 4 streams: 66 messages lost, all recovered")
    lines = text.splitlines()
    assert len([line for line in lines if line.startswith("| MC001 | warning | proven |")]) == 1
    assert "<b>" not in text and "\x1b" not in text and "=1+1\\|\\`x\\`&lt;b&gt;" in text
    assert "| nakack4 | B | C | 200 | 66 | 66 | 0 |" in lines
    more = len(report["findings"]) - 2
    assert f"… and {more} more" in "".join(markdown(report, 2)).splitlines()


def test_github_annotations_are_a_command_a_line(report: Any) -> None:
    lines = "".join(github(report)).splitlines()
    assert len(lines) == len(report["findings"])
    assert lines[-1].startswith("::warning file=")
    last = report["findings"][-1]
    title = f",title={last['rule']} {last['name']} ({last['certainty']})::"
    assert title + last["text"] in lines[-1]
    changed: Any = {**report, "findings": [{**report["findings"][0], "text": HOSTILE}]}
    (line,) = "".join(github(changed)).splitlines()
    assert "\\x0a%250A" in line


def test_github_says_what_could_not_be_judged(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(
        bytes.fromhex("d4c3b2a1020004000000000000000000ffff0000") + bytes([1, 0, 0, 0])
    )
    told = run("--format", "github", tmp_path / "empty.pcap")
    assert told.exit_code == 2
    assert told.stdout.startswith("::error title=seqaudit::")


def test_gitlab_entries_have_what_its_schema_asks_for(report: Any) -> None:
    entries = json.loads("".join(gitlab(report)))
    assert len(entries) == len(report["findings"])
    for entry in entries:
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["lines"]["begin"] >= 1
        assert entry["description"] and entry["check_name"] and entry["location"]["path"]
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_how_many_findings_of_a_kind_there_are_is_no_news() -> None:
    one = {"capture": 0, "stream": None, "rule": "MC003", "severity": "warning", "system": "n4"}
    worse = {**one, "severity": "error"}
    known = frozenset(json.loads(baseline_of(_of([one])))["findings"])
    assert new_in(_of([one, one]), known) == []
    assert [f["severity"] for f in new_in(_of([one, worse]), known)] == ["error"]
    assert len(set(fingerprints(_of([one, one, worse])))) == 3


def _of(findings: list[Any]) -> Any:
    return {"streams": [], "findings": [{**f, "text": "it"} for f in findings]}


def test_findings_of_another_recording_of_the_same_test_are_known() -> None:
    """Two recordings: other identities, times, counts and ports."""
    folder = Path(__file__).parents[3] / "fixtures" / "zenoh"
    first, again = (
        json.loads(run("--format", "json", folder / name / "sub.pcap").stdout)
        for name in ("udp-cache-too-small-1", "udp-cache-too-small-2")
    )
    known = frozenset(json.loads(baseline_of(first))["findings"])
    assert len(known) >= 5
    assert new_in(again, known) == []
    other = json.loads(
        run("--format", "json", FIXTURES / "jgroups" / "n4-loss-1" / "C.pcap").stdout
    )
    assert len(new_in(other, known)) == len(other["findings"])


@pytest.mark.parametrize(
    "name, lasts",
    [
        ("B", "B"),
        ("10.77.0.1:42880", "10.77.0.1"),
        ("[fd00::1]:42880", "[fd00::1]"),
        ("fd00::1", "fd00::1"),
        ("196ca6f3b41283f233541fea36530770", None),
        ("host:7800", "host:7800"),
    ],
)
def test_a_fingerprint_has_of_a_name_what_is_the_same_at_each_start(
    name: str, lasts: str | None
) -> None:
    assert lasting(name) == lasts
