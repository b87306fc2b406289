"""JSON text as ``json.dumps(value, sort_keys=True, indent=1)`` gives it, many times as fast.

Python's encoder with an indent is a generator per value; here a row becomes one string at once.
Rows of a table have the same keys, so what stands before each of their values is made once, and
ranges of seqnos, which are most of a long report's values, are written by one format each list.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import Any, Final

#: What stands before each value of an object, in the order of its keys, and an object's keys.
_Shape = tuple[tuple[str, str], ...]

#: Shapes that are remembered: a report has a few dozen, but some objects have data as their keys.
SHAPES: Final = 1_000

_shapes: Final[dict[tuple[str, tuple[str, ...]], _Shape]] = {}


def to_json(report: Mapping[str, Any]) -> str:
    """The report as ``--format json`` prints it: sorted keys, one value a line, ASCII only."""
    return "".join(chunks(dict(report)))


def chunks(value: Any) -> Iterator[str]:
    """The text piece by piece: a piece for each item of a list that a top-level key holds."""
    if not isinstance(value, dict) or not value:
        yield text(value, "\n")
        return
    opening = "{\n "
    for key, item in sorted(value.items()):
        yield f"{opening}{_key(key)}: "
        opening = ",\n "
        if isinstance(item, Sequence) and not isinstance(item, str) and item:
            begin = "[\n  "
            for one in item:
                yield begin + text(one, "\n  ")
                begin = ",\n  "
            yield "\n ]"
        else:
            yield text(item, "\n ")
    yield "\n}"


def text(value: Any, line: str) -> str:
    """The text of a value; ``line`` is a line feed and the indent where the value stands."""
    parts: list[str] = []
    _write(value, line, parts.append)
    return "".join(parts)


def _write(value: Any, line: str, put: Callable[[str], None]) -> None:
    kind = type(value)
    if kind is str:
        put(encode_basestring_ascii(value))
    elif kind is int:
        put(int.__repr__(value))
    elif kind is dict and value:
        _write_object(value, line, put)
    elif kind in (list, tuple) and value:
        _write_list(value, line, put)
    elif isinstance(value, dict) and value:  # a subclass
        _write(dict(value), line, put)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        _write(list(value), line, put)
    else:
        put(json.dumps(value))


def _write_object(value: dict[Any, Any], line: str, put: Callable[[str], None]) -> None:
    inner = line + " "
    for key, lead in _shape(value, line):
        item = value[key]
        kind = type(item)
        if kind is int:
            put(f"{lead}{item}")
        elif item is None:
            put(lead + "null")
        elif kind is str:
            put(lead + encode_basestring_ascii(item))
        else:
            put(lead)
            _write(item, inner, put)
    put(line + "}")


def _write_list(value: list[Any] | tuple[Any, ...], line: str, put: Callable[[str], None]) -> None:
    inner = line + " "
    comma = "," + inner
    kinds = set(map(type, value))
    put("[" + inner)
    if kinds == {int}:
        put(comma.join(map(int.__repr__, value)))
    elif kinds == {list} and (size := _same_length_of_integers(value)):
        deeper = inner + " "
        one = f"[{deeper}{('%d,' + deeper) * (size - 1)}%d{inner}]"
        put(comma.join([one] * len(value)) % tuple(chain.from_iterable(value)))
    else:
        lead = ""
        for item in value:
            put(lead)
            _write(item, inner, put)
            lead = comma
    put(line + "]")


def _same_length_of_integers(value: list[Any] | tuple[Any, ...]) -> int:
    """How many integers each of these lists has; 0 if they differ or hold anything else."""
    lengths = set(map(len, value))
    if len(lengths) > 1 or set(map(type, chain.from_iterable(value))) != {int}:
        return 0
    return int(lengths.pop())


def _shape(value: dict[Any, Any], line: str) -> _Shape:
    keys = tuple(value)
    known = _shapes.get((line, keys))
    if known is not None:
        return known
    shape = []
    lead = "{" + line + " "
    for key in sorted(keys):
        shape.append((key, f"{lead}{_key(key)}: "))
        lead = "," + line + " "
    if all(type(key) is str for key in keys):  # 1 and true are equal, but not as text
        if len(_shapes) >= SHAPES:
            _shapes.clear()
        _shapes[line, keys] = tuple(shape)
    return tuple(shape)


def _key(key: Any) -> str:
    return encode_basestring_ascii(key) if type(key) is str else json.dumps({key: 0})[1:-4]
