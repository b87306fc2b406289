"""JUnit XML and SARIF of an audit: what other programs read, and that nothing in it acts."""

import copy
import json
import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.cli.output.ci import fingerprints, github, gitlab
from seqaudit.cli.output.junit import junit
from seqaudit.cli.output.sarif import sarif, uri
from seqaudit.cli.output.table import vantage_text
from seqaudit.replay.stages.systems import RULES

Report = Any

#: Text as a hostile sender would choose it.
HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(1)>\"'&]]>\x1b[31m\u202e\x00\ufffe"


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["audit", "--engine", "direct", *map(str, args)])


@pytest.fixture(scope="module")
def captures() -> list[Path]:
    root = Path(__file__).parent.parent.parent.parent / "fixtures" / "jgroups"
    return [root / "n4-loss-1" / "C.pcap", root / "n2-last-lost-1" / "C.pcap"]


@pytest.fixture(scope="module")
def report(captures: list[Path]) -> Report:
    shown: Report = json.loads(run("--format", "json", *captures).stdout)
    return shown


@pytest.fixture
def hostile(report: Report) -> Report:
    """The report with hostile text wherever text can come from a wire or a file name."""
    changed = copy.deepcopy(report)
    for finding in changed["findings"]:
        finding |= dict.fromkeys(("text", "filter", "stream", "subject"), HOSTILE)
        for evidence in finding["evidence"]:
            evidence["shows"] = HOSTILE
    for stream in changed["streams"]:
        stream["sender_name"] = HOSTILE
    for capture in changed["captures"]:
        capture["path"] = HOSTILE + str(capture["capture"])
    for rule in changed["rules"]:
        for entry in rule["not_judged"]:
            entry["why"] = HOSTILE
    changed["unreadable"] = [{"path": HOSTILE, "problem": HOSTILE}]
    return changed


@pytest.mark.parametrize("shape", ["junit", "sarif", "html"])
def test_two_runs_give_the_same_bytes_and_the_usual_exit_code(
    shape: str, captures: list[Path]
) -> None:
    first, second = (run("--format", shape, *captures) for _ in range(2))
    assert first.stdout_bytes == second.stdout_bytes
    assert first.exit_code == 1  # a message that never arrived


# ---- JUnit


def suites(text: str) -> list[ET.Element]:
    return list(ET.fromstring(text))


def test_a_capture_is_a_suite_and_a_stream_a_test(report: Report) -> None:
    found = suites(junit(report, "error"))
    assert [suite.get("name") for suite in found] == [c["path"] for c in report["captures"]]
    for number, suite in enumerate(found):
        streams = [stream for stream in report["streams"] if stream["capture"] == number]
        capture, *cases = suite.findall("testcase")
        assert capture.get("name") == "capture"
        assert [case.get("name") for case in cases] == [
            f"{s['system']} {s['sender_name']} > {s['receiver_name']}" for s in streams
        ]
        skipped = [case.find("skipped") is not None for case in cases]
        untold = ["lost" in stream["unknown"] for stream in streams]
        assert skipped == [
            told and stream["role"] != "sender"
            for told, stream in zip(untold, streams, strict=True)
        ]
        assert [case.get("group") for case in cases] == [stream["system"] for stream in streams]
        counts = (str(1 + len(cases)), str(sum(skipped)))
        assert (suite.get("tests"), suite.get("skipped")) == counts


SYSTEMS = ("nakack4, unicast4", "nakack2, unicast3")


def test_a_suite_says_what_it_is_about(report: Report) -> None:
    for capture, suite in zip(report["captures"], suites(junit(report, "warning")), strict=True):
        told = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
        assert told == {
            "tool": "seqaudit", "version": report["tool"]["version"], "capture": capture["path"],
            "systems": SYSTEMS[capture["capture"]], "taken at": vantage_text(capture["vantage"]),
            "fail-on": "warning",
        }  # fmt: skip
        began = datetime.fromtimestamp(capture["first_ns"] // 10**9, UTC)
        assert suite.get("timestamp") == f"{began:%Y-%m-%dT%H:%M:%S}"


def test_times_are_those_of_the_traffic_and_names_make_no_packages(report: Report) -> None:
    for capture, suite in zip(report["captures"], suites(junit(report, "error")), strict=True):
        took = (capture["last_ns"] - capture["first_ns"]) / 1e9
        assert float(str(suite.get("time"))) == pytest.approx(took, abs=5e-4)
        assert {case.get("classname") for case in suite.findall("testcase")} == {"C_pcap"}
        assert all(case.get("time") for case in suite.findall("testcase")[1:])


@pytest.mark.parametrize(
    ("fail_on", "counted"),
    [("error", {"error"}), ("warning", {"error", "warning"}), ("never", set())],
)
def test_findings_that_count_are_failures_and_others_are_output(
    report: Report, fail_on: str, counted: set[str]
) -> None:
    root = ET.fromstring(junit(report, fail_on))
    known = {(stream["capture"], stream["id"]) for stream in report["streams"]}
    bad = {
        (finding["capture"], finding["stream"])
        if (finding["capture"], finding["stream"]) in known
        else (finding["capture"], None)
        for finding in report["findings"]
        if finding["severity"] in counted
    }
    assert root.get("failures") == str(len(bad)) == str(len(root.findall("*/*/failure")))
    failures = "".join(failure.text or "" for failure in root.iter("failure"))
    told = "".join(root.itertext())
    for finding in report["findings"]:
        head = f"{finding['rule']} {finding['name']}, {finding['severity']}"
        assert (head in failures) is (finding["severity"] in counted)
        assert f"{head} ({finding['certainty']}): {finding['text']}" in told
        assert finding["filter"] in told
        assert finding["stream"] is None or f"stream {finding['stream']}" in told


def test_what_could_not_be_judged_is_an_error(tmp_path: Path, captures: list[Path]) -> None:
    missing = tmp_path / "missing.pcap"
    shown = run("--format", "junit", captures[0], missing)
    assert shown.exit_code == 2
    first, second = suites(shown.stdout)
    assert (first.get("errors"), second.get("errors")) == ("0", "1")
    error = second.find("testcase/error")
    assert error is not None
    assert "does not exist" in str(error.get("message"))


def test_hostile_text_is_inert_in_junit(hostile: Report) -> None:
    text = junit(hostile, "info")
    root = ET.fromstring(text)
    assert not {element.tag for element in root.iter()} & {"script", "img", "p"}
    assert not set("\x1b\x00\u202e\ufffe") & set(text)


# ---- SARIF


def test_rules_of_the_log_come_from_the_registry(report: Report) -> None:
    (only,) = json.loads(sarif(report))["runs"]
    driver = only["tool"]["driver"]
    assert driver["name"] == "seqaudit"
    assert [rule["id"] for rule in driver["rules"]] == [r["rule"] for r in report["rules"]]
    for rule in driver["rules"]:
        known = RULES[rule["id"]]
        assert rule["fullDescription"]["text"] == known.meaning
        assert known.action in rule["help"]["text"]
        assert re.fullmatch(r"[A-Za-z0-9]+", rule["name"])


def test_results_are_the_findings_with_their_frames(report: Report) -> None:
    log = json.loads(sarif(report))
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    levels = {"error": "error", "warning": "warning", "info": "note"}
    for finding, result in zip(report["findings"], only["results"], strict=True):
        assert result["ruleId"] == finding["rule"]
        rule = only["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == finding["rule"]
        assert result["level"] == levels[finding["severity"]]
        assert result["message"]["text"] == finding["text"]
        (location,) = result["locations"]
        file = location["physicalLocation"]["artifactLocation"]
        path = report["captures"][finding["capture"]]["path"]
        assert file == {"uri": uri(path), "index": finding["capture"]}
        assert only["artifacts"][file["index"]]["location"]["uri"] == file["uri"]
        region = location["physicalLocation"].get("region")
        assert region == (None if finding["frame"] is None else {"startLine": finding["frame"]})
        frames = [x["name"] for x in location.get("logicalLocations", []) if x["kind"] == "frame"]
        assert frames == ([] if finding["frame"] is None else [f"frame {finding['frame']}"])
        shown = [related["message"]["text"] for related in result.get("relatedLocations", [])]
        assert shown == [evidence["shows"] for evidence in finding["evidence"]]
        assert result["properties"]["filter"] == finding["filter"]


def test_texts_for_ci_say_of_which_subject_or_key_they_are() -> None:
    capture = Path(__file__).parents[3] / "fixtures" / "zenoh" / "udp-no-cache-1" / "sub.pcap"
    shown = json.loads(run("--format", "json", "--select", "ZN002,ZN005", capture).stdout)
    of_samples, of_frames = shown["findings"]
    assert (of_samples["subject"], "subject" in of_frames) == ("demo/sensor", False)
    texts = [f"On demo/sensor: {of_samples['text']}", of_frames["text"]]
    (only,) = json.loads(sarif(shown))["runs"]
    assert [result["message"]["text"] for result in only["results"]] == texts
    _, *lines = github(shown)  # the first says that no loss could be judged
    annotations = [line.partition("::")[2].partition("::")[2] for line in lines]
    assert [line.partition(" (frame ")[0].strip() for line in annotations] == texts
    told = [entry["description"] for entry in json.loads("".join(gitlab(shown)))]
    assert told == [f"ZN002 {texts[0]}", f"ZN005 {texts[1]}"]


def test_fingerprints_are_those_of_baselines_and_of_gitlab(report: Report) -> None:
    (only,) = json.loads(sarif(report))["runs"]
    found = [result["partialFingerprints"] for result in only["results"]]
    assert found == [{"seqaudit/v3": print_} for print_ in fingerprints(report)]
    assert len({str(print_) for print_ in found}) == len(found) > 1


def test_rules_that_could_not_be_judged_are_notes(report: Report) -> None:
    (only,) = json.loads(sarif(report))["runs"]
    (invocation,) = only["invocations"]
    assert invocation["executionSuccessful"] is True
    expected = [
        (rule["rule"], entry["capture"])
        for rule in report["rules"]
        for entry in rule["not_judged"]
        if all(judged["capture"] != entry["capture"] for judged in rule["judged"])
    ]
    told = [note["associatedRule"]["id"] for note in invocation["toolExecutionNotifications"]]
    assert told == [code for code, _ in dict.fromkeys(expected)]


def test_hostile_text_is_inert_in_sarif(hostile: Report) -> None:
    text = sarif(hostile)
    assert text.isascii()
    log = json.loads(text)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False
    told = json.dumps(log, ensure_ascii=False)
    assert not set("\x1b\x00\u202e\ufffe") & set(told)
    assert "<script>" not in log["runs"][0]["artifacts"][0]["location"]["uri"]


def test_paths_are_uris() -> None:
    assert uri("a b/c:d.pcap") == "a%20b/c%3Ad.pcap"
    assert uri("/tmp/x.pcap") == "file:///tmp/x.pcap"
    assert uri("s3://bucket/x.pcap") == "s3://bucket/x.pcap"
