"""Filters: what is shown and counts for the exit code; judgements stay as they are."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.cli.options.selection import selection_of
from seqaudit.cli.output.selection import Moment, Selection
from tests.pipeline.test_order import records, written


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["audit", "--engine", "direct", *map(str, args)])


@pytest.fixture(scope="module")
def capture() -> Path:
    root = Path(__file__).parents[3] / "fixtures" / "jgroups"
    return root / "n4-loss-1" / "C.pcap"


@pytest.fixture(scope="module")
def report(capture: Path) -> Any:
    return json.loads(run("--format", "json", capture).stdout)


def rules(report: Any) -> list[str]:
    """The rules that found something, each once, in the order of their first finding."""
    return list(dict.fromkeys(finding["rule"] for finding in report["findings"]))


def test_a_selection_of_nothing_is_none() -> None:
    assert not Selection() and Selection(systems=("nakack4",))


@pytest.mark.parametrize(
    ("selection", "streams", "found"),
    [
        (Selection(systems=("unicast*",)), 2, []),
        (Selection(systems=("nakack4",)), 2, ["MC018", "MC009", "MC001", "MC003"]),
        (Selection(members=("B",)), 1, ["MC009", "MC001", "MC003"]),
        (Selection(members=("10.80.0.2",)), 1, ["MC009", "MC001", "MC003"]),
        (Selection(members=("10.80.0.1",), systems=("nakack4",)), 1, ["MC018", "MC009"]),
        (Selection(streams=("a1712e9a",)), 1, ["MC001", "MC003"]),
        (Selection(streams=("lab|*",)), 4, ["MC018", "MC001", "MC003"]),
        (Selection(members=("nobody",)), 0, []),
    ],
)
def test_streams_are_chosen_by_system_member_and_name_and_findings_with_them(
    selection: Selection, streams: int, found: list[str], report: Any
) -> None:
    chosen = selection.of(report)
    assert len(chosen["streams"]) == streams
    assert rules(chosen) == found
    ids = {stream["id"] for stream in chosen["streams"]}
    assert {gap["stream"] for gap in chosen["gaps"]} <= ids


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        (Selection(select=("MC",)), ["MC018", "MC009", "MC001", "MC003"]),
        (Selection(select=("MC00",), ignore=("mc001",)), ["MC009", "MC003"]),
        (Selection(select=("last-message-lost",)), ["MC003"]),
        (Selection(ignore=("CP", "MC")), []),
    ],
)
def test_rules_are_chosen_by_code_beginning_or_name(
    selection: Selection, found: list[str], report: Any
) -> None:
    chosen = selection.of(report)
    assert rules(chosen) == found
    assert chosen["streams"] == report["streams"]


def test_time_is_a_frame_or_a_moment_or_seconds_from_the_first_frame(report: Any) -> None:
    start = report["captures"][0]["first_ns"]
    last = report["gaps"][-1]
    after = last["revealed_at_ns"] - start
    for moment in (
        Moment("frame", last["revealed_frame"]),
        Moment("time", last["revealed_at_ns"]),
        Moment("after", after),
    ):
        since = Selection(since=moment).of(report)
        assert since["gaps"] == [last]
        later = Moment(moment.kind, moment.value + 1)
        assert Selection(since=later).of(report)["gaps"] == []
        until = Selection(until=Moment(moment.kind, moment.value - 1)).of(report)
        assert until["gaps"] == report["gaps"][:-1]
        assert rules(until)[-1] == "MC001"


def test_frames_of_a_capture_of_several_files_are_compared_with_their_file(
    capture: Path, tmp_path: Path
) -> None:
    head, found = records(capture)
    half = len(found) // 2
    files = [tmp_path / "x_00001.pcap", tmp_path / "x_00002.pcap"]
    for path, part in zip(files, (found[:half], found[half:]), strict=True):
        written(path, head, part)
    whole = json.loads(run("--one-capture", "--format", "json", *files).stdout)
    later = [gap for gap in whole["gaps"] if gap["revealed_frame_file"] == 1]
    assert later and later != whole["gaps"]
    for moment in (Moment("frame", 1, "x_00002.pcap"), Moment("frame", half + 1)):
        assert Selection(since=moment).of(whole)["gaps"] == later
        assert Selection(until=moment).of(whole)["gaps"] == [
            gap for gap in whole["gaps"] if gap not in later
        ]


def test_totals_and_rules_stay_those_of_all_and_the_reader_is_told(
    report: Any, capture: Path
) -> None:
    chosen = Selection(systems=("unicast4",)).of(report)
    assert (chosen["totals"], chosen["rules"]) == (report["totals"], report["rules"])
    told = run("--system", "unicast4", "--format", "json", capture)
    assert json.loads(told.stdout) == chosen
    assert told.stderr.splitlines() == [
        f"Filtered: {len(report['findings'])} of {len(report['findings'])} findings, 2 of 4 "
        "streams, 9 of 9 gaps left out; all were judged, the totals and rules are of all."
    ]


def test_what_is_left_out_does_not_count_for_the_exit_code(capture: Path) -> None:
    assert run("--fail-on", "warning", capture).exit_code == 1
    assert run("--fail-on", "warning", "--ignore", "CP,MC001,MC003", capture).exit_code == 0
    assert run("--fail-on", "warning", "--select", "MC001", capture).exit_code == 1


NOTHING: Any = {
    "systems": (), "members": (), "streams": (), "since": None, "until": None, "select": (),
    "ignore": (),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("102", Moment("frame", 102)),
        ("ring_00002.pcap:7", Moment("frame", 7, "ring_00002.pcap")),
        ("+12.5", Moment("after", 12_500_000_000)),
        ("+0.000000001s", Moment("after", 1)),
        ("2026-11-20T22:18:45.326482Z", Moment("time", 1_795_213_125_326_482_000)),
        ("2026-11-20 23:18:45.326482+01:00", Moment("time", 1_795_213_125_326_482_000)),
    ],
)
def test_moments_as_users_write_them(text: str, moment: Moment) -> None:
    assert selection_of(**(NOTHING | {"since": text})).since == moment


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"until": "soon"}, "--until soon: is no time"),
        ({"since": "-3"}, "--since -3: is no time"),
        ({"select": ("XX",)}, "--select XX: no rule"),
        ({"ignore": ("MC001,lost",)}, "--ignore lost: no rule"),
    ],
)
def test_what_makes_no_sense_is_one_line(given: Any, words: str) -> None:
    with pytest.raises(click.UsageError) as raised:
        selection_of(**(NOTHING | given))
    assert words in raised.value.message and "\n" not in raised.value.message
