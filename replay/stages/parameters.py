"""The registry of parameters: names, and values as users give them (replay/README.md 6)."""

from seqaudit.replay.contract.parameters import ParameterError, Value, parse_value
from seqaudit.replay.contract.yaml_text import NotYamlError, yaml_values
from seqaudit.replay.stages.systems import PARAMETERS, SYSTEMS


def parse_parameter(text: str) -> tuple[str, Value]:
    """``mcast.capacity=64`` as (name, value).

    Raises:
        ParameterError: not NAME=VALUE, an unknown name, or a value of the wrong kind.
    """
    name, sign, value = text.partition("=")
    if not sign:
        raise ParameterError(f"parameter {text!r} is not NAME=VALUE; try {'='.join(_example())}")
    return _normal(name.strip()), parse_value(
        PARAMETERS[_normal(name.strip())], value.strip(), "--param"
    )


def load_parameters(text: str, where: str = "parameter file") -> dict[str, Value]:
    """A YAML file of parameters: ``mcast: {capacity: 2048}`` or ``mcast.capacity: 2048``.

    Raises:
        ParameterError: not YAML, not a mapping, an unknown name, or a value of the wrong kind.
    """
    try:
        loaded = yaml_values(text)
    except NotYamlError as error:
        raise ParameterError(f"{where}{error.where}: not YAML; write NAME: VALUE lines") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ParameterError(f"{where}: holds no NAME: VALUE lines; try {': '.join(_example())!r}")
    for system in SYSTEMS.values():
        for key, read in system.config.items():
            if isinstance(loaded.get(key), dict):
                return read(loaded[key], where)
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


def _example() -> tuple[str, str]:
    return next(
        (p.name, str(p.default)) for p in PARAMETERS.values() if p.type is int and p.default
    )


def _normal(name: str, where: str = "--param") -> str:
    plain = name.replace("-", "_").lower()
    if plain not in PARAMETERS and f"{plain}_ms" in PARAMETERS:
        plain = f"{plain}_ms"
    if plain not in PARAMETERS:
        # all of a system share its name, which makes no other parameter the one that was meant
        import difflib

        near = difflib.get_close_matches(plain, PARAMETERS, 1, cutoff=0.85)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(PARAMETERS))}"
        raise ParameterError(f"{where}: no parameter is called {name!r}; {known}")
    return plain
