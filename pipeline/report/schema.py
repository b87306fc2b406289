"""The JSON schema of the report, made from the types of its rows."""

import types
import typing
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, Union, get_args, get_origin

from seqaudit.replay.contract.report_rows import Report, StreamPlace, StreamRow, TablePlace, Tables
from seqaudit.replay.contract.results import Row
from seqaudit.replay.stages.systems import SYSTEMS

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

_PLAIN: Final[dict[object, str]] = {
    int: "integer",
    str: "string",
    bool: "boolean",
    float: "number",
    type(None): "null",
}


def schema() -> Row:
    """The schema of ``seqaudit/report/1``."""
    defined: Row = {}
    top = _row(Report, defined)
    return {"$schema": DRAFT, "title": "seqaudit/report/1", **top, "$defs": defined}


def stream_types() -> dict[type, list[str]]:
    """Types of the systems' streams, each with the words in the row's ``system``."""
    words: dict[type, list[str]] = {}
    for system in SYSTEMS.values():
        for word, rows in system.streams.items():
            for row in rows:
                words.setdefault(row, []).append(word)
    return words


def _streams(defined: Row) -> Row:
    """A stream is a row of one of the systems' types, with its place."""
    place = _row(StreamPlace, defined)
    for row, words in stream_types().items():
        own = _row(row, defined)
        systems = {"system": {"enum": sorted(words)}}
        defined[row.__name__] = own | {
            "properties": {**place["properties"], **systems, **own["properties"]},
            "required": sorted({*place["required"], *own["required"]}),
        }
    return {"anyOf": [{"$ref": f"#/$defs/{row.__name__}"} for row in stream_types()]}


def _tables(defined: Row) -> Row:
    """By system and name the rows of its tables, each with its place."""
    place = _row(TablePlace, defined)
    systems: Row = {}
    for system in SYSTEMS.values():
        tables: Row = {}
        for name, row in system.tables.items():
            own = _row(row, defined)
            defined[row.__name__] = own | {
                "properties": {**place["properties"], **own["properties"]},
                "required": sorted({*place["required"], *own["required"]}),
            }
            tables[name] = {"type": "array", "items": {"$ref": f"#/$defs/{row.__name__}"}}
        if tables:
            systems[system.name] = _object(tables)
    return _object(systems)


def _object(properties: Row) -> Row:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _of(hint: Any, defined: Row) -> Row:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *notes = get_args(hint)
        return {**_of(inner, defined), "description": " ".join(map(str, notes))}
    if origin is NotRequired:
        return _of(get_args(hint)[0], defined)
    if origin is Literal:
        return {"enum": list(get_args(hint))}
    if origin in (Union, types.UnionType):
        return _any_of([_of(part, defined) for part in get_args(hint)])
    if origin in (list, Sequence):
        return {"type": "array", "items": _of(get_args(hint)[0], defined)}
    if hint is Tables:
        return _tables(defined)
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(get_args(hint)[1], defined)}
    if hint is StreamRow:
        return _streams(defined)
    if typing.is_typeddict(hint):
        name = hint.__name__
        if name not in defined:
            defined[name] = {}  # a row may hold itself
            defined[name] = _row(hint, defined)
        return {"$ref": f"#/$defs/{name}"}
    if hint is Any:
        return {}
    return {"type": _PLAIN[hint]}


def _any_of(parts: list[Row]) -> Row:
    if all(set(part) == {"type"} for part in parts):
        return {"type": [part["type"] for part in parts]}
    return {"anyOf": parts}


def _row(row: Any, defined: Row) -> Row:
    hints = typing.get_type_hints(row, include_extras=True)
    return {
        "description": row.__doc__,
        "type": "object",
        "properties": {key: _of(hint, defined) for key, hint in hints.items()},
        "required": sorted(row.__required_keys__),
        # of a capture of several files each frame says its file
        "patternProperties": {"_file$": {"type": ["integer", "string", "array", "null"]}},
        "additionalProperties": False,
    }
