"""Every rule fires through the command, and is silent where nothing happened.

What a rule must say is told by its own tests; here is that nothing between the bytes of a capture
and what a user reads loses it.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from seqaudit.cli.output.rule_text import explained
from seqaudit.replay.stages.examples import examples
from seqaudit.replay.stages.systems import PARAMETERS, RULES
from tests.degraded.auditing import command
from tests.rules import feeds
from tests.rules.examples import of_report
from tests.rules.spoiled import FIXTURES
from tests.rules.table import PROOFS, WITHOUT, Proof, missing, recorded

TESTS: Final = Path(__file__).parents[1]
CODE: Final = re.compile(r"\b(?:CP|FD|MC|PG|RA|UC|ZN)\d{3}\b")
#: Rules that fire where nothing is wrong, and why that is right.
NO_FAULT: Final[Mapping[str, str]] = {
    "CP006": "what is encrypted cannot be decoded",
    "CP010": "one capture of two ends, and nobody says whose",
    "MC009": "members come and go",
    "MC018": "what was sent before a member joined is none of its messages",
    "RA009": "a daemon may get what nobody at it has subscribed to",
    "RA014": "of a late join nobody can prove that nothing is missing",
    "RA021": "a link may be encrypted",
}


# ---- the table


def test_every_rule_has_a_capture_or_says_why_it_has_none() -> None:
    assert missing() == []
    assert PROOFS.keys() | WITHOUT.keys() == RULES.keys()
    assert not PROOFS.keys() & WITHOUT.keys()


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_has_a_test_of_its_own(rule: str) -> None:
    assert rule in _named()


@cache
def _named() -> set[str]:
    """Rules that tests outside this folder name."""
    own = Path(__file__).parent
    sources = (path for path in TESTS.rglob("*.py") if own not in path.parents)
    return {code for path in sources for code in CODE.findall(path.read_text())}


# ---- each fires, and in every format


def _in_csv(text: str) -> Iterable[str]:
    return (row["rule"] for row in csv.DictReader(io.StringIO(text)))


def _in_json(text: str) -> Iterable[str]:
    return (finding["rule"] for finding in json.loads(text)["findings"])


def _in_sarif(text: str) -> Iterable[str]:
    return (result["ruleId"] for run in json.loads(text)["runs"] for result in run["results"])


#: How a format names the rules of its findings.
FORMATS: Final[Mapping[str, Callable[[str], Iterable[str]]]] = {
    "csv": _in_csv,
    "github": CODE.findall,
    "gitlab": CODE.findall,
    "html": CODE.findall,
    "json": _in_json,
    "jsonl": CODE.findall,
    "junit": CODE.findall,
    "markdown": CODE.findall,
    "sarif": _in_sarif,
    "table": CODE.findall,
}


@dataclass(frozen=True)
class Shown:
    """What an audit of one capture printed, by format, and its rules."""

    texts: Mapping[str, str]
    crash: str | None

    def rules(self, form: str) -> set[str]:
        return set(FORMATS[form](self.texts[form]))


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Proof], Shown]:
    """Audits in all formats at once, each capture one time."""
    done: dict[tuple[str, tuple[str, ...]], Shown] = {}

    def audit(proof: Proof) -> Shown:
        key = proof.name, proof.options
        if key not in done:
            done[key] = _shown(proof, tmp_path_factory.mktemp("capture"))
        return done[key]

    return audit


def _shown(proof: Proof, folder: Path) -> Shown:
    paths = proof.write(folder)
    outputs = {form: folder / f"report.{form}" for form in FORMATS}
    into = ["-o", str(outputs["json"])]  # the format that ``command`` asks for
    for form in FORMATS.keys() - {"json"}:
        into += ["--format", form, "-o", str(outputs[form])]
    shared = ["--exit-zero", "--limit", "0", "--fail-on", "info", *into]
    ended = command([*shared, *proof.options, *paths])
    return Shown({form: path.read_text() for form, path in outputs.items()}, ended.crash)


@pytest.mark.parametrize("rule", PROOFS)
def test_a_rule_fires_through_the_command_and_every_format_shows_it(
    rule: str, audited: Callable[[Proof], Shown]
) -> None:
    shown = audited(PROOFS[rule])
    assert shown.crash is None
    assert {form for form in FORMATS if rule not in shown.rules(form)} == set()


@pytest.mark.parametrize("rule", sorted(examples()))
def test_the_example_of_a_rule_is_what_an_audit_of_its_capture_says(
    rule: str, audited: Callable[[Proof], Shown]
) -> None:
    example = examples()[rule]
    proof = recorded(example.files, example.options) if example.files else PROOFS[rule]
    assert bool(proof.shipped) == bool(example.files)
    report = json.loads(audited(proof).texts["json"])
    assert of_report(rule, report, proof) == example


@pytest.mark.parametrize("rule", PROOFS)
def test_a_rule_names_the_parameters_by_whose_defaults_its_findings_are_judged(
    rule: str, audited: Callable[[Proof], Shown]
) -> None:
    for finding in json.loads(audited(PROOFS[rule]).texts["json"])["findings"]:
        named = dict(explained(RULES[finding["rule"]])).get("Parameters", "")
        for parameter in re.findall(r"\b([a-z]+\.[a-z_]+) is not given", finding["text"]):
            assert f"{parameter}: " in named, (finding["rule"], parameter)


def test_every_parameter_is_one_that_a_rule_names() -> None:
    named = "\n".join(dict(explained(rule)).get("Parameters", "") for rule in RULES.values())
    unnamed = {name for name in PARAMETERS if f"{name}: " not in named}
    assert unnamed == {  # which set of rules is replayed
        "mcast.rules", "raims.release", "raims.rules", "unicast.rules", "zenoh.rules",
    }  # fmt: skip


def test_every_rule_that_a_capture_can_show_has_an_example() -> None:
    assert examples().keys() | WITHOUT.keys() == RULES.keys()
    assert sum(bool(example.files) for example in examples().values()) >= 87


# ---- silent where nothing happened


def _faultless_jgroups(truth: Mapping[str, Any]) -> bool:
    return not truth["expect"]["findings"]


def _faultless_zenoh(truth: Mapping[str, Any]) -> bool:
    return bool(truth["kind"] == "clean")


def _faultless_raims(truth: Mapping[str, Any]) -> bool:
    """The switch touched no packet, and no daemon counted a loss or a repeat."""
    counted = [
        row[name]
        for daemon in truth["show"]["end"].values()
        for row in daemon.get("show loss", [])
        for name in ("repeat", "msg loss", "ibx loss")
    ]
    return not truth["switch_actions"]["by_rule"] and not any(counted)


_FAULTLESS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "jgroups": _faultless_jgroups,
    "raims": _faultless_raims,
    "zenoh": _faultless_zenoh,
}


def faultless() -> list[str]:
    """Recordings in which nothing was lost, repeated or late, as their truth has it."""
    return [
        f"{system}/{truth.parent.name}"
        for system, is_one in _FAULTLESS.items()
        for truth in sorted((FIXTURES / system).glob("*/truth.json"))
        if is_one(json.loads(truth.read_text()))
    ]


def test_there_are_faultless_recordings_of_every_system() -> None:
    assert {name.split("/")[0] for name in faultless()} == set(_FAULTLESS)


@pytest.mark.parametrize("name", faultless())
def test_every_rule_is_silent_where_nothing_happened(name: str) -> None:
    files = sorted(str(p) for p in (FIXTURES / name).iterdir() if ".pcap" in p.name)
    ended = command(files)
    assert ended.crash is None
    assert {finding["rule"] for finding in ended.findings} - NO_FAULT.keys() == set()


def test_every_rule_is_silent_on_a_faultless_feed(tmp_path: Path) -> None:
    story: list[feeds.Datagram | int] = [*feeds.on_both(*range(1, 300))]
    for line in (feeds.A, feeds.B):
        story += [1000, feeds.beat(300, to=line)]
    path = tmp_path / "feed.pcap"
    path.write_bytes(feeds.capture(story))
    ended = command([*feeds.MOLD, *feeds.LINES, str(path)])
    assert [stream["messages"] for stream in ended.report["streams"]] == [299, 299]
    assert ended.findings == []
