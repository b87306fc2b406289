"""A system is a folder on each side and a line in each registry: nothing else knows it.

Spark's workers are processes of their own, which know nothing of what a test registers in its own
process. So the stages that they are given there are the toy's, which register it around the job's.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.pipeline.shared import job
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests import toy_system
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp, write
from tests.toy_system import numbered, registered

Report = dict[str, Any]


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    with registered():
        yield


def capture(path: Path, *numbers: int) -> str:
    return write(path, pcap([ethernet(ipv4(udp(numbered(n)))) for n in numbers]))


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*words])


def audited(*words: str) -> Report:
    ended = run("audit", "--engine", "direct", "--exit-zero", "--format", "json", *words)
    report: Report = json.loads(ended.stdout)
    return report


def findings(*words: str) -> list[tuple[str, str, str, list[list[int]], str]]:
    return [
        (f["rule"], f["severity"], f["certainty"], f["seqnos"], f["text"])
        for f in audited(*words)["findings"]
        if f["system"] == "toy"
    ]


def test_what_its_engine_says_is_in_the_report(tmp_path: Path) -> None:
    report = audited(capture(tmp_path / "a.pcap", 1, 2, 5, 5, 6))
    (stream,) = report["streams"]
    assert (stream["system"], stream["messages"], stream["copies"]) == ("toy", 4, 1)
    assert (stream["lost"], stream["delivered"]) == (2, [[1, 2], [5, 6]])
    assert (stream["first_frame"], stream["last_frame"]) == (1, 5)
    (told,) = report["captures"]
    assert told["messages_by"] == {"toy": {"TOY": 5}}
    assert told["frames_by"]["decoded"] == 5
    assert report["totals"]["lost"] == 2
    (rule,) = [rule for rule in report["rules"] if rule["rule"] == "TY001"]
    assert rule["judged"] == [{"capture": 0, "conversation": "toy|"}]
    assert rule["findings"] == 1


def test_its_rule_fires_with_frames_names_and_numbers_in_place(tmp_path: Path) -> None:
    assert findings(capture(tmp_path / "a.pcap", 1, 2, 5)) == [
        (
            "TY001", "error", "likely", [[3, 4]],
            "2 numbers of 10.80.0.1 are missing. (toy.fewest is not given: judged by its default.)",
        )
    ]  # fmt: skip
    assert findings(capture(tmp_path / "whole.pcap", 1, 2, 3)) == []


def test_its_parameter_is_taken_and_reported(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", 1, 3, 7)
    assert [found[3:] for found in findings("--param", "toy.fewest=2", path)] == [
        ([[4, 6]], "3 numbers of 10.80.0.1 are missing.")
    ]
    (used,) = audited("--param", "toy.fewest=2", path)["parameters"]
    assert (used["name"], used["value"], used["origin"]) == ("toy.fewest", 2, "given")
    assert "toy.fewest is a whole number" in run("audit", "--param", "toy.fewest=x", path).stderr


def test_what_its_comparison_says_of_two_captures_is_a_finding(tmp_path: Path) -> None:
    paths = capture(tmp_path / "a.pcap", 1, 2, 4), capture(tmp_path / "b.pcap", 1, 3, 4)
    compared = [found for found in findings(*paths) if found[2] == "proven"]
    assert compared == [
        ("TY001", "error", "proven", [[3, 3]], "1 number missing here is in another capture."),
        ("TY001", "error", "proven", [[2, 2]], "1 number missing here is in another capture."),
    ]


def test_both_engines_say_the_same_of_it(
    spark_place: SparkAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = capture(tmp_path / "a.pcap", 1, 2, 5, 5), capture(tmp_path / "b.pcap", 1, 3, 7)
    words = ("audit", "--exit-zero", "--format", "json", "--param", "toy.fewest=2", *paths)
    direct = run(*words, "--engine", "direct").stdout
    assert "TY001" in {found["rule"] for found in json.loads(direct)["findings"]}
    for stage in ("decode_tasks", "replay_stage"):
        monkeypatch.setattr(job, stage, getattr(toy_system, stage))
    assert run(*words, "--master", str(spark_place.master)).stdout == direct


@pytest.mark.parametrize("how", ["table", "json", "junit", "sarif", "html", "github", "markdown"])
def test_every_format_shows_its_finding(how: str, tmp_path: Path) -> None:
    ended = run("audit", "--engine", "direct", "--format", how, capture(tmp_path / "a.pcap", 1, 3))
    assert ended.exit_code == 1
    assert "TY001" in ended.stdout
    if how == "junit":
        assert list(ElementTree.fromstring(ended.stdout).iter("failure")) != []


def test_its_rule_is_explained_and_its_name_is_taken_where_systems_are_named(
    tmp_path: Path,
) -> None:
    assert "Meaning: Numbers of a toy never came." in run("rules", "TY001").stdout
    path = capture(tmp_path / "a.pcap", 1, 3)
    assert findings("--no-decode", "toy", path) == []
    assert len(findings("--decode-as", "udp:45588=toy", path)) == 1
    assert len(findings("--system", "toy", path)) == 1


def test_its_malformed_datagrams_are_accounted_for(tmp_path: Path) -> None:
    short = ethernet(ipv4(udp(numbered(2)[:6])))
    whole = ethernet(ipv4(udp(numbered(1))))
    report = audited(write(tmp_path / "a.pcap", pcap([whole, short])))
    assert report["captures"][0]["frames_by"]["malformed"] == 1


def test_a_fault_in_its_engine_is_a_finding_and_the_rest_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEQAUDIT_NO_WALL")
    with patch("tests.toy_system.ToyEngine.feed", side_effect=KeyError("a fault")):
        report = audited(write(tmp_path / "a.pcap", pcap([ethernet(ipv4(udp(numbered(1))))])))
    assert [found["rule"] for found in report["findings"]] == ["CP099"]
    (rule,) = [rule for rule in report["rules"] if rule["rule"] == "TY001"]
    assert [place["why"] for place in rule["not_judged"]] == ["seqaudit failed here (CP099)"]
