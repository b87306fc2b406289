"""Values held against the types of the report: what ``tests/conftest.py`` does with every report.

A walk over ``typing`` hints that knows what the rows use; a thousand times as fast as one of JSON
schemas, which has its say on a few reports. Every report of every test is walked through, so of
what is right nothing is made: no path, no generator.
"""

import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, Literal, NotRequired, Union, get_args, get_origin

from seqaudit.pipeline.report.schema import stream_types
from seqaudit.replay.contract.report_rows import Report, StreamPlace, StreamRow, TablePlace, Tables
from seqaudit.replay.stages.systems import SYSTEMS

#: What is wrong with a value, each as the path to it from there and why.
Check = Callable[[Any], Iterable[str]]

_NOTHING: Final = ()


def problems(report: Any) -> list[str]:
    """Where a report is not what its types say: path and what is wrong, a line each."""
    return [f"report{wrong}" for wrong in check_of(Report)(report)]


@cache
def check_of(hint: Any) -> Check:
    """What holds a value against a type of the rows."""
    origin = get_origin(hint)
    if origin in (Annotated, NotRequired):
        return check_of(get_args(hint)[0])
    if origin is Literal:
        allowed = get_args(hint)
        return lambda value: _NOTHING if value in allowed else (f": {value!r}",)
    if origin in (Union, types.UnionType):
        return _one_of([check_of(part) for part in get_args(hint)])
    if origin in (list, Sequence):
        return _items(check_of(get_args(hint)[0]))
    if hint is Tables:
        return _tables
    if origin is dict:
        return _values(check_of(get_args(hint)[1]))
    if hint is StreamRow:
        return _stream
    if typing.is_typeddict(hint):
        return _row(hint)
    if hint is Any:
        return lambda value: _NOTHING
    return lambda value: (
        _NOTHING if type(value) is hint else (f": {value!r} is no {hint.__name__}",)
    )


def _one_of(parts: Sequence[Check]) -> Check:
    def check(value: Any) -> Iterable[str]:
        found: Iterable[str] = _NOTHING
        for part in parts:
            found = part(value)
            if not found:
                break
        return found

    return check


def _items(item: Check) -> Check:
    def check(value: Any) -> Iterable[str]:
        is_list = type(value) is list or (  # of each of thousands the others are slow to ask for
            isinstance(value, Sequence) and not isinstance(value, str | Mapping)
        )
        if not is_list:
            return (f": {value!r} is no list",)
        found: list[str] = []
        for place, one in enumerate(value):
            if wrong := item(one):
                found += (f"[{place}]{what}" for what in wrong)
        return found

    return check


def _values(item: Check) -> Check:
    def check(value: Any) -> Iterable[str]:
        if not isinstance(value, Mapping):
            return (f": {value!r} is no object",)
        return [f".{key}{what}" for key, one in value.items() for what in item(one)]

    return check


def _stream(value: Any) -> Iterable[str]:
    """A row of one of its system's types."""
    rows = [row for row, words in stream_types().items() if value.get("system") in words]
    if not rows:
        return (f": {value.get('system')!r} has no type of streams",)
    return min(([*_row(row, StreamPlace)(value)] for row in rows), key=len)


def _tables(value: Any) -> Iterable[str]:
    """Rows of the types that their systems declare."""
    found: list[str] = []
    for system, tables in value.items():
        for name, table in tables.items():
            row = SYSTEMS[system].tables.get(name)
            if row is None:
                found.append(f".{system}.{name} is declared by no system")
            else:
                wrong = _items(_row(row, TablePlace))(table)
                found += (f".{system}.{name}{what}" for what in wrong)
    return found


@cache
def _row(*rows: Any) -> Check:
    """A row that has the fields of all these types."""
    checks = {
        key: check_of(hint)
        for row in rows
        for key, hint in typing.get_type_hints(row, include_extras=True).items()
    }
    required = frozenset().union(*(row.__required_keys__ for row in rows))

    def check(value: Any) -> Iterable[str]:
        if type(value) is not dict and not isinstance(value, Mapping):
            return (f": {value!r} is no object",)
        found = [f": has no {key}" for key in required - value.keys()]
        for key, one in value.items():
            if (field := checks.get(key)) is None:
                if not key.endswith("_file"):
                    found.append(f": {key} is in no type")
            elif wrong := field(one):
                found += (f".{key}{what}" for what in wrong)
        return found

    return check
