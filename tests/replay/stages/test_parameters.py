"""Parameters: where they come from, and what is said about those that nobody can use."""

from pathlib import Path

import pytest

from seqaudit.replay.contract.parameters import EngineParameters, Given, ParameterError
from seqaudit.replay.jgroups.config import from_jgroups_config
from seqaudit.replay.stages.parameters import load_parameters, parse_parameter
from seqaudit.replay.stages.systems import PARAMETERS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mcast.capacity=64", ("mcast.capacity", 64)),
        (" mcast.capacity = 2k ", ("mcast.capacity", 2000)),
        ("mcast.capacity=16_384", ("mcast.capacity", 16384)),
        ("mcast.capacity=16,384", ("mcast.capacity", 16384)),
        ("mcast.xmit-interval=1s", ("mcast.xmit_interval_ms", 1000)),
        ("mcast.xmit_interval_ms=500", ("mcast.xmit_interval_ms", 500)),
        ("MCAST.Xmit-Interval=2 min", ("mcast.xmit_interval_ms", 120_000)),
        ("mcast.rules=document", ("mcast.rules", "document")),
    ],
)
def test_a_parameter_is_name_and_value(text: str, expected: tuple[str, int | str]) -> None:
    assert parse_parameter(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mcast.capacity", ["'mcast.capacity'", "NAME=VALUE", "try mcast.xmit_interval_ms=500"]),
        ("mcast.size=3", ["'mcast.size'", "there are", "mcast.capacity"]),
        ("mcast.capacity=many", ["--param", "mcast.capacity", "messages", "'many'"]),
        ("mcast.capacity=-1", ["--param", "mcast.capacity", "'-1'"]),
        ("mcast.capacity=1s", ["--param", "mcast.capacity", "'1s'"]),
        ("mcast.xmit_interval_ms=", ["--param", "mcast.xmit_interval_ms", "ms", "''"]),
        ("pgm.nak_repeat_ms=0", ["--param", "pgm.nak_repeat_ms", "at least 1 ms", "'0'"]),
        ("mcast.rules=mine", ["--param", "mcast.rules", "code, document", "'mine'"]),
    ],
)
def test_a_wrong_parameter_is_one_line_that_says_what_is_possible(
    text: str, words: list[str]
) -> None:
    with pytest.raises(ParameterError) as raised:
        parse_parameter(text)
    assert "\n" not in str(raised.value)
    assert [word for word in words if word not in str(raised.value)] == []


def test_a_parameter_file_is_nested_or_flat() -> None:
    nested = "mcast:\n  capacity: 2048\n  rules: document\n"
    flat = "mcast.capacity: 2048\nmcast.rules: document\n"
    expected = {"mcast.capacity": 2048, "mcast.rules": "document"}
    assert load_parameters(nested) == load_parameters(flat) == expected
    assert load_parameters("") == load_parameters("# nothing\n") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mcast: [", ["p.yaml", "line", "not YAML"]),
        ("- mcast.capacity\n", ["p.yaml", "NAME: VALUE", "'mcast.xmit_interval_ms: 500'"]),
        ("just words", ["p.yaml", "NAME: VALUE"]),
        ("mcast:\n  size: 3\n", ["p.yaml", "'mcast.size'", "there are"]),
        ("mcast.capacity: [1, 2]\n", ["p.yaml", "mcast.capacity", "'[1, 2]'"]),
        ("mcast.capacity:\n", ["p.yaml", "mcast.capacity", "''"]),
        ("mcast.rules: true\n", ["p.yaml", "mcast.rules", "'True'"]),
        ("!!python/object/apply:os.getcwd []\n", ["p.yaml", "not YAML"]),
    ],
)
def test_a_wrong_parameter_file_is_one_line_that_says_where(text: str, words: list[str]) -> None:
    with pytest.raises(ParameterError) as raised:
        load_parameters(text, "p.yaml")
    assert "\n" not in str(raised.value)
    assert [word for word in words if word not in str(raised.value)] == []


STACK = """
<config xmlns="urn:org:jgroups">
  <UDP mcast_port="45588" capacity="7"/>
  <NAKACK4 capacity="6000" xmit_interval="200" ack_threshold="0"
           max_xmit_req_size="${jgroups.req:500}"/>
</config>
"""


def test_a_stack_file_gives_what_it_states() -> None:
    assert from_jgroups_config(STACK) == {
        "mcast.capacity": 6000,
        "mcast.xmit_interval_ms": 200,
        "mcast.max_xmit_req_size": 500,  # a property's default
    }
    plain = '<config><pbcast.NAKACK2 xmit_interval="500"/></config>'
    assert from_jgroups_config(plain) == {"mcast.xmit_interval_ms": 500}
    assert from_jgroups_config('<config><NAKACK4 capacity="${capacity}"/></config>') == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mcast.capacity: 3", ["s.xml", "line 1", "not XML"]),
        ("<config>\n<NAKACK4>\n</config>", ["s.xml", "line 3", "not XML"]),
        ('<config><NAKACK4 capacity="big"/></config>', ["s.xml", "NAKACK4", "'big'"]),
    ],
)
def test_a_wrong_stack_file_is_one_line_that_says_where(text: str, words: list[str]) -> None:
    with pytest.raises(ParameterError) as raised:
        from_jgroups_config(text, "s.xml")
    assert "\n" not in str(raised.value)
    assert [word for word in words if word not in str(raised.value)] == []


def test_what_nobody_gives_is_a_default_and_says_so() -> None:
    given: dict[str, Given] = {"mcast.capacity": (64, "given")}
    nothing, some = (EngineParameters("mcast", PARAMETERS, values) for values in ({}, given))
    name = "xmit_interval_ms"
    assert (nothing.value(name), nothing.origin(name)) == (500, "default")
    assert (nothing.value("capacity"), nothing.is_given("capacity")) == (None, False)
    assert (some.value("capacity"), some.origin("capacity")) == (64, "given")


def test_every_parameter_is_documented_and_its_default_can_be_given() -> None:
    for name, parameter in PARAMETERS.items():
        assert name == parameter.name and name.count(".") == 1
        assert parameter.meaning and parameter.source
        if parameter.default is not None:
            assert parse_parameter(f"{name}={parameter.default}") == (name, parameter.default)


def test_no_parameter_is_without_effect() -> None:
    """Each is asked for by name somewhere in the engines, outside the files that declare them."""
    folder = Path(__file__).parents[3] / "replay"
    engines = "".join(
        path.read_text() for path in folder.rglob("*.py") if path.name != "parameters.py"
    )
    idle = [
        name
        for name in PARAMETERS
        if f'"{name}"' not in engines and f'"{name.partition(".")[2]}"' not in engines
    ]
    assert idle == []
