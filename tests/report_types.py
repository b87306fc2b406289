"""Values held against the types of the report: what ``tests/conftest.py`` does with every report.

A walk over ``typing`` hints that knows what the rows use; a thousand times as fast as one of JSON
schemas, which has its say on a few reports.
"""

import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin

from seqaudit.pipeline.report.schema import stream_types
from seqaudit.replay.contract.report_rows import Report, StreamPlace, StreamRow, TablePlace, Tables
from seqaudit.replay.stages.systems import SYSTEMS

Check = Callable[[Any, str], Iterator[str]]


def problems(report: Any) -> list[str]:
    """Where a report is not what its types say: path and what is wrong, a line each."""
    return list(_check(Report)(report, "report"))


@cache
def _check(hint: Any) -> Check:
    origin = get_origin(hint)
    if origin in (Annotated, NotRequired):
        return _check(get_args(hint)[0])
    if origin is Literal:
        allowed = get_args(hint)
        return lambda value, path: iter(() if value in allowed else (f"{path}: {value!r}",))
    if origin in (Union, types.UnionType):
        parts = [_check(part) for part in get_args(hint)]
        return lambda value, path: _one_of(parts, value, path)
    if origin in (list, Sequence):
        item = _check(get_args(hint)[0])
        return lambda value, path: _items(item, value, path)
    if hint is Tables:
        return _tables
    if origin is dict:
        item = _check(get_args(hint)[1])
        return lambda value, path: _values(item, value, path)
    if hint is StreamRow:
        return _stream
    if typing.is_typeddict(hint):
        return _row(hint)
    if hint is Any:
        return lambda value, path: iter(())
    return lambda value, path: iter(
        () if type(value) is hint else (f"{path}: {value!r} is no {hint.__name__}",)
    )


def _one_of(parts: Sequence[Check], value: Any, path: str) -> Iterator[str]:
    found: list[str] = []
    for part in parts:
        found = list(part(value, path))
        if not found:
            return
    yield from found


def _items(item: Check, value: Any, path: str) -> Iterator[str]:
    is_list = type(value) is list or (  # of each of thousands the others are slow to ask for
        isinstance(value, Sequence) and not isinstance(value, str | Mapping)
    )
    if not is_list:
        yield f"{path}: {value!r} is no list"
        return
    for place, one in enumerate(value):
        yield from item(one, f"{path}[{place}]")


def _values(item: Check, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no object"
        return
    for key, one in value.items():
        yield from item(one, f"{path}.{key}")


def _stream(value: Any, path: str) -> Iterator[str]:
    """A row of one of its system's types."""
    rows = [row for row, words in stream_types().items() if value.get("system") in words]
    if not rows:
        return iter([f"{path}: {value.get('system')!r} has no type of streams"])
    wrong: list[list[str]] = [list(_row(row, StreamPlace)(value, path)) for row in rows]
    fewest = min(wrong, key=len)
    return iter(fewest)


def _tables(value: Any, path: str) -> Iterator[str]:
    """Rows of the types that their systems declare."""
    for system, tables in value.items():
        for name, table in tables.items():
            row = SYSTEMS[system].tables.get(name)
            if row is None:
                yield f"{path}.{system}.{name} is declared by no system"
            else:
                yield from _items(_row(row, TablePlace), table, f"{path}.{system}.{name}")


@cache
def _row(*rows: Any) -> Check:
    """A row that has the fields of all these types."""
    checks = {
        key: _check(hint)
        for row in rows
        for key, hint in typing.get_type_hints(row, include_extras=True).items()
    }
    required = frozenset().union(*(row.__required_keys__ for row in rows))

    def check(value: Any, path: str) -> Iterator[str]:
        if type(value) is not dict and not isinstance(value, Mapping):
            yield f"{path}: {value!r} is no object"
            return
        for key in required - value.keys():
            yield f"{path}: has no {key}"
        for key, one in value.items():
            if key in checks:
                yield from checks[key](one, f"{path}.{key}")
            elif not key.endswith("_file"):
                yield f"{path}: {key} is in no type"

    return check
