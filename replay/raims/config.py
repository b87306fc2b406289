"""A raims ``param.yaml`` as parameters of the engine (raims.md 12)."""

from collections.abc import Mapping
from typing import Final

from seqaudit.replay.contract.parameters import Value, parse_value
from seqaudit.replay.raims.parameters import PARAMETERS

#: Names of a raims ``param.yaml`` that are parameters here; the others are listed as unused.
FILE_NAMES: Final = {
    "pub_window_size": "raims.pub_window_size",
    "sub_window_size": "raims.sub_window_size",
    "pub_window_count": "raims.pub_window_count",
    "sub_window_count": "raims.sub_window_count",
    "pub_window_time": "raims.pub_window_time_ms",
    "sub_window_time": "raims.sub_window_time_ms",
    "heartbeat": "raims.heartbeat_ms",
    "pub_window_autoscale": "raims.pub_window_autoscale",
}

#: Names whose values are nobody's business.
SECRET: Final = frozenset({"pass", "salt"})
NOT_SHOWN: Final = "(not shown)"


def from_raims_config(
    stated: Mapping[object, object], where: str = "param.yaml"
) -> dict[str, Value]:
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
        values[name] = parse_value(PARAMETERS[name], text, where)
    return values
