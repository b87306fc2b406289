"""What CI systems read is what the published schemas of their formats allow."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main

ROOT: Final = Path(__file__).parents[3]
PUBLISHED: Final = Path(__file__).parent / "published"
FIXTURES: Final = ROOT / "fixtures"

#: Faultless, with losses, without any frame, cut short, and of every system.
CAPTURES: Final = (
    ["jgroups/u4n4-clean-1/C.pcap"],
    ["jgroups/n4-loss-1/C.pcap", "jgroups/n2-last-lost-1/C.pcap", "captures/cut.pcap"],
    ["captures/damaged-header.pcap"],
    ["raims/rv-dataloss-1", "zenoh/udp-cache-too-small-1"],
)

#: GitLab's table "Code Quality report format"; other properties are ignored there.
GITLAB: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./)."},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


def printed(shape: str, captures: list[str], *more: str, command: str = "audit") -> str:
    paths = [str(FIXTURES / path) for path in captures]
    shown = CliRunner().invoke(
        main, [command, "--engine", "direct", "--format", shape, *more, *paths]
    )
    assert shown.exit_code in (0, 1, 2)
    return shown.stdout


def problems(schema: Any, value: Any) -> Iterator[str]:
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    for problem in validator(schema).iter_errors(value):
        yield f"{list(problem.path)}: {problem.message}"


@pytest.mark.parametrize("captures", CAPTURES)
@pytest.mark.parametrize("more", [(), ("--rules-url", "https://example.org/rules.md")])
def test_sarif_is_what_its_schema_allows(captures: list[str], more: tuple[str, ...]) -> None:
    schema = json.loads((PUBLISHED / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    assert list(problems(schema, json.loads(printed("sarif", captures, *more)))) == []


@pytest.mark.parametrize("captures", CAPTURES)
def test_junit_is_what_its_schema_allows(captures: list[str]) -> None:
    xmlschema = pytest.importorskip("xmlschema", reason="it comes with the extra test")
    schema = xmlschema.XMLSchema(PUBLISHED / "junit-10.xsd")
    for text in (printed("junit", captures), printed("junit", captures, "--fail-on", "info")):
        assert [str(problem) for problem in schema.iter_errors(io.StringIO(text))] == []


@pytest.mark.parametrize("captures", CAPTURES)
def test_what_a_check_writes_is_what_the_schemas_allow(captures: list[str], tmp_path: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema", reason="it comes with the extra test")
    budget = tmp_path / "budget.yaml"
    budget.write_text("lost: 0\nunrecovered: 0\nrecovery_p99: 1 ms\nfail_on: info\n")

    def text(shape: str) -> str:
        return printed(shape, captures, "--budget", str(budget), command="check")

    junit = xmlschema.XMLSchema(PUBLISHED / "junit-10.xsd")
    assert [str(problem) for problem in junit.iter_errors(io.StringIO(text("junit")))] == []
    sarif = json.loads((PUBLISHED / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    assert list(problems(sarif, json.loads(text("sarif")))) == []
    assert list(problems(GITLAB, json.loads(text("gitlab")))) == []


@pytest.mark.parametrize("captures", CAPTURES)
def test_gitlab_gets_what_its_table_asks_for(captures: list[str]) -> None:
    assert list(problems(GITLAB, json.loads(printed("gitlab", captures)))) == []


def test_rules_have_links_only_where_somebody_says_where_their_page_is() -> None:
    def driver(*more: str) -> Any:
        return json.loads(printed("sarif", CAPTURES[0], *more))["runs"][0]["tool"]["driver"]

    bare, linked = driver(), driver("--rules-url", "https://example.org/rules.md")
    assert "informationUri" not in bare
    assert not any("helpUri" in rule for rule in bare["rules"])
    assert linked["informationUri"] == "https://example.org/rules.md"
    assert [rule["helpUri"] for rule in linked["rules"]] == [
        f"https://example.org/rules.md#{rule['id'].lower()}" for rule in linked["rules"]
    ]
    for wrong in ("replay/rules.md", "javascript:x", "https://", "https://a/b#c"):
        shown = CliRunner().invoke(main, ["audit", "--rules-url", wrong, "x.pcap"])
        assert shown.exit_code == 2
        assert "http:// or https://" in shown.stderr
