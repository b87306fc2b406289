"""Parameters of the engines: names, meaning, defaults, and where values come from (design 4.8).

A value's *origin* travels with it to the report: ``given`` (``--param``, ``--params``, a stack
file), ``wire``, ``learned`` or ``default``. A finding that rests on a default says so.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from seqaudit.replay.feeds.parameters import FEED
from seqaudit.replay.raims.parameters import FILE_NAMES, NOT_SHOWN, RAIMS, SECRET
from seqaudit.replay.zenoh.parameters import ZENOH

Value = int | bool | str
Given = tuple[Value, str]  # value, origin

GIVEN: Final = "given"
LEARNED: Final = "learned"
DEFAULT: Final = "default"


class ParameterError(ValueError):
    """A parameter that nobody can use: one line that says what, where and what to try."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of one engine.

    Attributes:
        name: ``system.name`` as ``--param`` takes it.
        default: used when nothing else says; null means "not known, do not judge by it".
        choices: allowed words of a string parameter.
    """

    name: str
    default: Value | None
    unit: str
    meaning: str
    source: str
    choices: tuple[str, ...] = ()

    @property
    def type(self) -> type:
        """bool, int or str."""
        text = self.choices or self.unit == "text"
        return bool if self.unit == "yes/no" else str if text else int


_TABLE: Final = (
    Parameter("mcast.rules", "code", "", "whose rules are replayed: the shipped code's or the "
              "design document's", "jgroups.md 5.6", ("code", "document")),
    Parameter("mcast.capacity", None, "messages", "size of the ring window; without it the largest "
              "number of unacknowledged messages that a sender reached again and again is taken",
              "jgroups.md 5.1"),
    Parameter("mcast.ack_threshold", None, "messages", "deliveries between two ACKs; capacity/4 "
              "where the capacity is known", "jgroups.md 5.1"),
    Parameter("mcast.xmit_interval_ms", 500, "ms", "period of the tick that sends ACKs, xmit-"
              "requests and HIGHEST_SEQNO; the shipped configurations' 500 ms is the shortest in "
              "ordinary use, so nothing is judged too early by it", "jgroups.md 5.1"),
    Parameter("mcast.max_xmit_req_size", 1024, "seqnos", "most seqnos in one xmit-request",
              "jgroups.md 5.1"),
    Parameter("mcast.become_server_queue_size", 50, "messages", "messages kept from before the "
              "join", "jgroups.md 5.1"),
    Parameter("mcast.block_proof_ms", 20, "ms", "a new seqno within this time of the ACK that made "
              "room proves that the sender had been blocked", "design 5.3"),
    Parameter("unicast.rules", "code", "", "whose rules are replayed: the shipped code's, the two "
              "design documents', or the UNICAST3 document's alone", "jgroups.md 4.5",
              ("code", "document", "document-before-sync")),
    Parameter("unicast.xmit_interval_ms", 500, "ms", "period of the tick that sends ACKs, xmit-"
              "requests and resends", "jgroups.md 4.1"),
    Parameter("unicast.ack_threshold", None, "messages", "UNICAST3: messages of one batch that are "
              "acked at once; UNICAST4: deliveries between two ACKs", "jgroups.md 4.1"),
    Parameter("unicast.min_ack_interval_ms", 500, "ms", "the UNICAST3 document's minimum time "
              "between two acks; the shipped code has none", "unicast3.txt, \"Design\""),
    Parameter("unicast.conn_expiry_timeout_ms", None, "ms", "idle time until a connection is "
              "CLOSING; 120000 for UNICAST3, 10000 for UNICAST4; 0: never", "jgroups.md 4.1"),
    Parameter("unicast.conn_close_timeout_ms", None, "ms", "time from CLOSING until a connection "
              "is removed; 240000 for UNICAST3, 10000 for UNICAST4; 0: never", "jgroups.md 4.1"),
    Parameter("unicast.sync_min_interval_ms", 2000, "ms", "minimum time between two "
              "SEND_FIRST_SEQNO to one peer (get-first-seqno-interval)", "jgroups.md 4.1"),
    Parameter("unicast.max_xmit_req_size", None, "seqnos", "most seqnos in one xmit-request",
              "jgroups.md 4.1"),
    Parameter("unicast.capacity", None, "messages", "UNICAST4: size of the window; without it the "
              "largest number of unacknowledged messages that a sender reached again and again is "
              "taken", "jgroups.md 4.1"),
    Parameter("unicast.block_proof_ms", 20, "ms", "a new seqno within this time of the ACK that "
              "made room proves that the sender had been blocked", "design 5.2"),
    *(Parameter(*row) for row in RAIMS),
    *(Parameter(*row) for row in ZENOH),
    *(Parameter(*row) for row in FEED),
)  # fmt: skip

PARAMETERS: Final[Mapping[str, Parameter]] = {p.name: p for p in _TABLE}


def parse_parameter(text: str) -> tuple[str, Value]:
    """``mcast.capacity=64`` as (name, value).

    Raises:
        ParameterError: not NAME=VALUE, an unknown name, or a value of the wrong kind.
    """
    name, sign, value = text.partition("=")
    if not sign:
        raise ParameterError(f"parameter {text!r} is not NAME=VALUE; try mcast.capacity=2048")
    return _normal(name.strip()), _parse(_normal(name.strip()), value.strip(), "--param")


def load_parameters(text: str, where: str = "parameter file") -> dict[str, Value]:
    """A YAML file of parameters: ``mcast: {capacity: 2048}`` or ``mcast.capacity: 2048``.

    Raises:
        ParameterError: not YAML, not a mapping, an unknown name, or a value of the wrong kind.
    """
    import yaml  # costs 10 ms, and most runs have no such file

    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}" if mark else ""
        raise ParameterError(f"{where}{place}: not YAML; write NAME: VALUE lines") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ParameterError(f"{where}: holds no NAME: VALUE lines; try 'mcast.capacity: 2048'")
    if isinstance(loaded.get("parameters"), dict):
        return from_raims_config(loaded["parameters"], where)
    values: dict[str, Value] = {}
    for key, value in loaded.items():
        entries = (
            {f"{key}.{name}": item for name, item in value.items()}
            if isinstance(value, dict)
            else {str(key): value}
        )
        for name, item in entries.items():
            plain = _normal(str(name), where)
            values[plain] = _parse(plain, "" if item is None else str(item), where)
    return values


def from_raims_config(stated: Mapping[Any, Any], where: str = "param.yaml") -> dict[str, Value]:
    """What the ``parameters:`` of a raims ``param.yaml`` say.

    Names have hyphens or underscores; a time without a unit is in seconds. Names that no engine
    knows are kept as text, so that the report lists them as given and unused.

    Raises:
        ParameterError: a value of the wrong kind.
    """
    values: dict[str, Value] = {}
    for key, value in stated.items():
        plain = str(key).replace("-", "_").lower()
        name = FILE_NAMES.get(plain)
        text = "" if value is None else str(value).strip()
        if name is None:
            values[f"raims.{plain}"] = NOT_SHOWN if plain in SECRET else text
            continue
        if name.endswith("_ms") and text.isdecimal():
            text += " s"
        values[name] = _parse(name, text, where)
    return values


#: Protocols of a JGroups stack file and the attributes of each that are parameters of an engine.
_MCAST_NAMES: Final = {
    "capacity": "mcast.capacity",
    "ack_threshold": "mcast.ack_threshold",
    "xmit_interval": "mcast.xmit_interval_ms",
    "max_xmit_req_size": "mcast.max_xmit_req_size",
    "become_server_queue_size": "mcast.become_server_queue_size",
}
_UNICAST_NAMES: Final = {
    "xmit_interval": "unicast.xmit_interval_ms",
    "ack_threshold": "unicast.ack_threshold",
    "conn_expiry_timeout": "unicast.conn_expiry_timeout_ms",
    "conn_close_timeout": "unicast.conn_close_timeout_ms",
    "sync_min_interval": "unicast.sync_min_interval_ms",
    "get_first_seqno_interval": "unicast.sync_min_interval_ms",
    "max_xmit_req_size": "unicast.max_xmit_req_size",
    "capacity": "unicast.capacity",
}
_STACK: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(
        ("NAKACK4", "NAKACK3", "NAKACK2", "pbcast.NAKACK2", "pbcast.NAKACK4"), _MCAST_NAMES
    ),
    **dict.fromkeys(("UNICAST3", "UNICAST4"), _UNICAST_NAMES),
}
#: Attributes where 0 says something: "never", or "no minimum".
_ZERO_COUNTS: Final = frozenset(
    {
        "unicast.conn_expiry_timeout_ms",
        "unicast.conn_close_timeout_ms",
        "unicast.sync_min_interval_ms",
    }
)


#: A value that a system property may replace, ``${name:default}``: the default is taken.
_PROPERTY: Final = re.compile(r"\$\{[^:}]*(?::([^}]*))?\}")


def rule_sets(rules: str) -> dict[str, Value]:
    """``--rules``: the parameter ``rules`` of every engine, each with the nearest set it has.

    Engines without a set of rules from before the sync document replay their document's.
    """
    values: dict[str, Value] = {}
    for name, parameter in PARAMETERS.items():
        if name.endswith(".rules"):
            known = rules in parameter.choices
            values[name] = rules if known else rules.removesuffix("-before-sync")
    return values


def from_jgroups_config(text: str, where: str = "stack file") -> dict[str, Value]:
    """The parameters that a JGroups stack (XML) states; attributes it leaves out are not there.

    Raises:
        ParameterError: not XML, or a value that is no number.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ParameterError(
            f"{where} line {error.position[0]}: not XML; give the stack file of the members"
        ) from error
    values: dict[str, Value] = {}
    for element in root.iter():
        protocol = element.tag.rpartition("}")[2]
        for attribute, name in _STACK.get(protocol, {}).items():
            stated = _PROPERTY.sub(lambda found: found[1] or "", element.attrib.get(attribute, ""))
            if stated.strip():
                value = _parse(name, stated.strip(), f"{where}, {protocol}")
                if value != 0 or name in _ZERO_COUNTS:  # else 0 is "not set" in these stacks
                    values[name] = value
    return values


def resolve(given: Mapping[str, Given], name: str) -> tuple[Any, str]:
    """The value of a parameter and its origin; the default where nobody said anything."""
    if name in given:
        return given[name]
    return PARAMETERS[name].default, DEFAULT


@dataclass(frozen=True, slots=True)
class EngineParameters:
    """The parameters of one engine, resolved, with the origin of each.

    Attributes:
        system: what comes before the dot.
    """

    system: str
    given: Mapping[str, Given]

    def value(self, name: str) -> Any:
        """The value of ``system.name``; null where nobody knows."""
        return resolve(self.given, f"{self.system}.{name}")[0]

    def origin(self, name: str) -> str:
        """Who said so."""
        return resolve(self.given, f"{self.system}.{name}")[1]

    def is_given(self, name: str) -> bool:
        """Did anybody say so, or is it only the default?"""
        return self.origin(name) != DEFAULT


def _normal(name: str, where: str = "--param") -> str:
    plain = name.replace("-", "_").lower()
    if plain not in PARAMETERS and f"{plain}_ms" in PARAMETERS:
        plain = f"{plain}_ms"
    if plain not in PARAMETERS:
        known = ", ".join(sorted(PARAMETERS))
        raise ParameterError(f"{where}: no parameter is called {name!r}; there are {known}")
    return plain


_UNITS: Final = {
    "": 1, "ms": 1, "s": 1000, "sec": 1000, "secs": 1000, "m": 60_000, "min": 60_000,
    "mins": 60_000,
}  # fmt: skip
_SIZES: Final = {"": 1, "k": 1000, "kb": 1000, "m": 1_000_000, "mb": 1_000_000}
_BYTES: Final = {"": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "gb": 1 << 30}


def _time(name: str, text: str, where: str) -> str:
    """A time as text, known to be one."""
    try:
        if not text.isdecimal():
            datetime.fromisoformat(text)
    except ValueError as error:
        raise ParameterError(
            f"{where}: {name} is ns since 1970 or a time such as 2026-11-20T22:46:32Z, not {text!r}"
        ) from error
    return text


def _parse(name: str, text: str, where: str) -> Value:
    parameter = PARAMETERS[name]
    if parameter.choices:
        if text not in parameter.choices:
            raise ParameterError(
                f"{where}: {name} is one of {', '.join(parameter.choices)}, not {text!r}"
            )
        return text
    if parameter.type is str:
        return _time(name, text, where) if name.endswith("_at") else text
    if parameter.type is bool:
        word = text.lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise ParameterError(f"{where}: {name} is true or false, not {text!r}")
    match = re.fullmatch(r"\s*(\d[\d_,]*)\s*([a-zA-Z]*)\s*", text)
    units = {"ms": _UNITS, "bytes": _BYTES}.get(parameter.unit, _SIZES)
    if not match or match[2].lower() not in units:
        raise ParameterError(f"{where}: {name} is a whole number of {parameter.unit}, not {text!r}")
    return int(re.sub(r"[_,]", "", match[1])) * units[match[2].lower()]
