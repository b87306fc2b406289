"""The report is what its types say, and its JSON schema says the same."""

import json
import typing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from seqaudit.cli.main import main
from seqaudit.pipeline.report.schema import schema, stream_types
from seqaudit.replay.contract.report_rows import StreamFigures, StreamPlace, StreamRow
from seqaudit.replay.stages.systems import SYSTEMS
from tests.report_types import problems

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.fixture(scope="module")
def report() -> Any:
    words = ["audit", "--engine", "direct", "--format", "json"]
    captures = [str(FIXTURES / "jgroups" / "n4-loss-1" / f"{name}.pcap") for name in "BC"]
    return json.loads(CliRunner().invoke(main, [*words, *captures]).stdout)


def test_the_schema_is_one_and_a_report_is_valid_by_it(report: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(report, schema())
    assert report["tool"]["name"] == "seqaudit" and report["tool"]["version"]


def test_the_command_prints_the_schema() -> None:
    assert json.loads(CliRunner().invoke(main, ["schema"]).stdout) == schema()


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("streams", "messages", None),
        ("streams", "lost", "many"),
        ("gaps", "outcome", 3),
        ("findings", "severity", "fatal"),
        ("findings", "certainty", "sure"),
        ("captures", "frames_by", {}),
    ],
)
def test_a_wrong_value_is_noticed_by_schema_and_types(
    report: Any, part: str, key: str, value: Any
) -> None:
    changed = json.loads(json.dumps(report))
    changed[part][0][key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, schema())
    assert problems(changed) and not problems(report)


@pytest.mark.parametrize("part", ["streams", "gaps", "findings", "rules", "members", "parameters"])
def test_a_missing_key_is_noticed_by_schema_and_types(report: Any, part: str) -> None:
    changed = json.loads(json.dumps(report))
    changed[part][0].pop("name" if part in ("findings", "rules", "members") else "system", None)
    changed[part][0].pop("capture", None)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, schema())
    assert problems(changed)


def test_every_field_says_what_it_means_where_its_name_does_not() -> None:
    rows = schema()["$defs"]
    assert all(row["description"] for row in rows.values())
    nullable = [
        (name, key)
        for name, row in rows.items()
        for key, field in row["properties"].items()
        if key.endswith(("_frame", "_after_ns")) and "description" not in field
    ]
    assert nullable == [
        ("StallRow", "full_frame"),
        ("WaitRow", "held_frame"),
    ]


def test_every_system_says_what_its_streams_have() -> None:
    assert all(system.streams for system in SYSTEMS.values())
    declared = [row.__annotations__.keys() for row in stream_types()]
    inherited = [typing.get_type_hints(row).keys() for row in stream_types()]
    assert all(StreamFigures.__annotations__.keys() <= keys for keys in inherited)
    seen_by_all = StreamRow.__annotations__.keys() - StreamPlace.__annotations__.keys()
    assert seen_by_all <= set().union(*declared, *inherited)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("by_wire_kind", None),
        ("peers", {"A": {"requests": 1}}),
        ("further_sends", "one"),
        ("leg", "a>b"),
    ],
)
def test_a_streams_own_figures_are_those_of_its_system(report: Any, key: str, value: Any) -> None:
    changed = json.loads(json.dumps(report))
    assert changed["streams"][0]["system"] == "nakack4"
    changed["streams"][0][key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, schema())
    assert problems(changed)
    changed["streams"][0].pop(key)
    missing = key != "leg"  # a word of another system
    assert bool(problems(changed)) is missing
