"""The registry of parameters: names, and values as users give them (replay/README.md 6)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Parameter, ParameterError, Value, parse_value
from seqaudit.replay.feeds.parameters import PARAMETERS as FEEDS
from seqaudit.replay.jgroups.mcast.parameters import PARAMETERS as MCAST
from seqaudit.replay.jgroups.unicast.parameters import PARAMETERS as UNICAST
from seqaudit.replay.pgm.parameters import PARAMETERS as PGM
from seqaudit.replay.raims.config import from_raims_config
from seqaudit.replay.raims.parameters import PARAMETERS as RAIMS
from seqaudit.replay.zenoh.parameters import PARAMETERS as ZENOH

PARAMETERS: Final[Mapping[str, Parameter]] = {
    **MCAST, **UNICAST, **PGM, **RAIMS, **ZENOH, **FEEDS
}  # fmt: skip


def parse_parameter(text: str) -> tuple[str, Value]:
    """``mcast.capacity=64`` as (name, value).

    Raises:
        ParameterError: not NAME=VALUE, an unknown name, or a value of the wrong kind.
    """
    name, sign, value = text.partition("=")
    if not sign:
        raise ParameterError(f"parameter {text!r} is not NAME=VALUE; try mcast.capacity=2048")
    return _normal(name.strip()), parse_value(
        PARAMETERS[_normal(name.strip())], value.strip(), "--param"
    )


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
            values[plain] = parse_value(PARAMETERS[plain], "" if item is None else str(item), where)
    return values


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


def _normal(name: str, where: str = "--param") -> str:
    plain = name.replace("-", "_").lower()
    if plain not in PARAMETERS and f"{plain}_ms" in PARAMETERS:
        plain = f"{plain}_ms"
    if plain not in PARAMETERS:
        known = ", ".join(sorted(PARAMETERS))
        raise ParameterError(f"{where}: no parameter is called {name!r}; there are {known}")
    return plain
