"""Rows in a total order."""

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

R = TypeVar("R", bound=Mapping[str, object])

#: What a row says, to order it by what nothing else tells apart.
text_of: Final[Callable[[object], str]] = json.JSONEncoder(sort_keys=True).encode


def sort_rows(rows: list[R], key: Callable[[R], tuple[object, ...]]) -> None:
    """Sort by a key, and rows of the same key by their text, which takes longer to make."""
    rows.sort(key=key)
    keys = [key(row) for row in rows]
    begin = 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or keys[stop] != keys[begin]:
            if stop - begin > 1:
                rows[begin:stop] = sorted(rows[begin:stop], key=text_of)
            begin = stop
