"""A report as JSON text: sorted keys, ASCII only, and a row of a section is a line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

#: Rows of many sections are held as sequences of their own.
_encode: Final = json.JSONEncoder(sort_keys=True, default=list).encode


def to_json(report: Mapping[str, object]) -> str:
    """The report as ``--format json`` prints it."""
    return "".join(chunks(report))


def chunks(value: object, line: str = "\n") -> Iterator[str]:
    """The text piece by piece, a piece for each row.

    Args:
        line: a line feed and the indent where the value stands.
    """
    inner = line + " "
    if isinstance(value, Mapping) and value:
        lead = "{"
        for key in sorted(value):
            yield f"{lead}{inner}{_encode(key)}: "
            yield from chunks(value[key], inner)
            lead = ","
        yield line + "}"
    elif isinstance(value, Sequence) and value and isinstance(value[0], Mapping):
        lead = "["
        for row in value:
            yield f"{lead}{inner}{_encode(row)}"
            lead = ","
        yield line + "]"
    else:
        yield _encode(value)
