"""A failing capture made small: first captures, then frames, then bytes, by delta debugging.

What is kept fails for the same cause (``Failure.cause``). Works on the file's own records where
they can be read, else on its bytes alone.
"""

import contextlib
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from tests.hostile.mutate import Mutant

#: Tries of one capture: each is an audit or three.
MOST_TRIES: Final = 400

T = TypeVar("T")
Fails = Callable[[Sequence[Mutant]], bool]
#: A record, and the same one where only the sound conversation speaks.
_Record = tuple[bytes, bytes]


class _EnoughError(Exception):
    """No try is left, or no time."""


def shrunk(mutants: Sequence[Mutant], fails: Fails, seconds: float) -> list[Mutant]:
    """The fewest captures, records and bytes found in so many seconds that still fail."""
    until = time.monotonic() + seconds
    tries, kept = MOST_TRIES, list(mutants)

    def still(some: Sequence[Mutant]) -> bool:
        nonlocal tries, kept
        if tries == 0 or time.monotonic() > until:
            raise _EnoughError
        tries -= 1
        if not some or not fails(some):
            return False
        kept = list(some)
        return True

    with contextlib.suppress(_EnoughError):
        if len(kept) > 1 and not any(still([one]) for one in mutants):
            smaller(kept, still)
        for at in range(len(kept)):
            _with_less(kept, at, still)
    return kept


def _with_less(kept: list[Mutant], at: int, still: Fails) -> None:
    """Tries the same captures, one of them with fewer records and more zeros."""
    head, told = records_of(kept[at].data)
    if told is None:
        return
    sound = records_of(kept[at].sound or b"")[1]
    # Each with what it is where only the sound conversation speaks: both are left out together.
    records = list(zip(told, told if sound is None else sound, strict=True))

    def is_enough(parts: Sequence[_Record]) -> bool:
        return still([*kept[:at], _of(head, parts, kept[at]), *kept[at + 1 :]])

    records = smaller(records, is_enough)
    for number, (data, silent) in enumerate(records):
        if sound is None or data != silent:  # what is sound stays so
            records = _zeroed(records, number, is_enough)


def smaller(parts: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Parts without those that can go, halves first (Zeller and Hildebrandt, ddmin)."""
    size = max(1, len(parts) // 2)
    while True:
        at = 0
        while at < len(parts):
            left = parts[:at] + parts[at + size :]
            if left and fails(left):
                parts = left
            else:
                at += size
        if size == 1:
            return parts
        size = max(1, size // 2)


def _zeroed(
    records: list[_Record], number: int, is_enough: Callable[[Sequence[_Record]], bool]
) -> list[_Record]:
    """Records of which one has zeros where its bytes do not matter."""
    size = max(1, (len(records[number][0]) - 16) // 2)
    while size >= 4:
        for at in range(16, len(records[number][0]), size):
            was, silent = records[number]
            new = was[:at] + bytes(min(size, len(was) - at)) + was[at + size :]
            changed = [*records[:number], (new, silent), *records[number + 1 :]]
            if new != was and is_enough(changed):
                records = changed
        size //= 2
    return records


def records_of(data: bytes) -> tuple[bytes, list[bytes] | None]:
    """Header and records of a little-endian pcap; null for what is none."""
    if data[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        return b"", None
    records, at = [], 24
    while at + 16 <= len(data):
        stop = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
        if stop > len(data):
            return b"", None
        records.append(data[at:stop])
        at = stop
    return data[:24], records if at == len(data) else None


def _of(head: bytes, records: Sequence[_Record], was: Mutant) -> Mutant:
    places, at = [], len(head)
    for record, _ in records:
        places.append(at)
        at += len(record)
    return replace(
        was,
        data=head + b"".join(record for record, _ in records),
        sound=None if was.sound is None else head + b"".join(silent for _, silent in records),
        frames=None if was.frames is None else len(records),
        cuts=tuple(places[1:]),
    )
