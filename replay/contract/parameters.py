"""What a parameter of an engine is, and where its value comes from (replay/README.md 6).

A value's *origin* travels with it to the report: ``given`` (``--param``, ``--params``, a stack
file), ``wire``, ``learned`` or ``default``. A finding that rests on a default says so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

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
        least: smallest allowed whole number.
    """

    name: str
    default: Value | None
    unit: str
    meaning: str
    source: str
    choices: tuple[str, ...] = ()
    least: int = 0

    @property
    def type(self) -> type:
        """bool, int or str."""
        text = self.choices or self.unit == "text"
        return bool if self.unit == "yes/no" else str if text else int


@dataclass(frozen=True, slots=True)
class EngineParameters:
    """The parameters of one engine, resolved, with the origin of each.

    Attributes:
        system: what comes before the dot.
        known: the parameters that there are, by full name.
    """

    system: str
    known: Mapping[str, Parameter]
    given: Mapping[str, Given]

    def value(self, name: str) -> Any:
        """The value of ``system.name``; null where nobody knows."""
        return self._resolved(name)[0]

    def origin(self, name: str) -> str:
        return self._resolved(name)[1]

    def is_given(self, name: str) -> bool:
        """Did anybody say so, or is it only the default?"""
        return self.origin(name) != DEFAULT

    def _resolved(self, name: str) -> tuple[Value | None, str]:
        full = f"{self.system}.{name}"
        if full in self.given:
            return self.given[full]
        return self.known[full].default, DEFAULT


def by_name(parameters: Iterable[Parameter]) -> Mapping[str, Parameter]:
    """The parameters of a system, by full name."""
    return {parameter.name: parameter for parameter in parameters}


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


def parse_value(parameter: Parameter, text: str, where: str) -> Value:
    """A value as somebody wrote it.

    Raises:
        ParameterError: it is of the wrong kind.
    """
    name = parameter.name
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
    value = int(re.sub(r"[_,]", "", match[1])) * units[match[2].lower()]
    if value < parameter.least:
        raise ParameterError(
            f"{where}: {name} is at least {parameter.least} {parameter.unit}, not {text!r}"
        )
    return value
