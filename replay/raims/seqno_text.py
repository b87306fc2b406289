"""Seqnos of raims as the report prints them: unsigned, in hex (decoders/README.md 3).

Engines count in the int64 with the same 64 bits, which is negative from 2043 on. Numbers per
publisher and path are plain counters and stay what they are.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from seqaudit.replay.contract.results import Row
from seqaudit.replay.raims.seqno import hexadecimal

_OF_STREAM: Final = ("first_seqno", "last_seqno")
_IN_LISTS: Final = {"begins": ("seqno", "chain"), "time_frames": ("chain",),
                    "losses": ("after", "before")}  # fmt: skip
_IN_TABLES: Final = {"convergence": ("seqno",), "notices": ("seqno",)}


def print_seqnos(streams: Sequence[Row], tables: Mapping[str, Sequence[Row]]) -> None:
    """Change the streams and tables of raims, in place."""
    for stream in streams:
        if stream["system"] != "raims" or stream["numbering"] != "per subject":
            continue
        _print(stream, _OF_STREAM)
        for name, keys in _IN_LISTS.items():
            for row in stream[name]:
                _print(row, keys)
        if stream["delivered"] is not None:
            stream["delivered"] = [[hexadecimal(a), hexadecimal(b)] for a, b in stream["delivered"]]
    for name, keys in _IN_TABLES.items():
        for row in tables.get(name, ()):
            _print(row, keys)


def _print(row: Row, keys: tuple[str, ...]) -> None:
    for key in keys:
        if row[key] is not None:
            row[key] = hexadecimal(row[key])
