"""Arithmetic of raims seqnos: a time frame and a number in it (raims.md 7; raims message loss
document).

A seqno is the int64 with the same 64 bits as on the wire, which is negative from 2043 on; order is
by (frame, base), never by the signed value (decoders/README.md 3).
"""

from datetime import UTC, datetime
from typing import Final

#: A frame is so many bits of a nanosecond time long: 8.589934592 s.
FRAME_SHIFT: Final = 33
FRAME_NS: Final = 1 << FRAME_SHIFT
BASE_BITS: Final = 35
FRAME_BITS: Final = 29
FRAMES: Final = 1 << FRAME_BITS
BASES: Final = 1 << BASE_BITS

_SECOND_NS: Final = 1_000_000_000


def frame_of_time(time_ns: int) -> int:
    return time_ns >> FRAME_SHIFT & FRAMES - 1


def first_seqno(time_ns: int) -> int:
    """The seqno that begins a stream at a time: base 1, so it is never zero."""
    return seqno(frame_of_time(time_ns), 1)


def seqno(frame: int, base: int) -> int:
    value = frame << BASE_BITS | base
    return value - (1 << 64) if value >= 1 << 63 else value


def frame_of(value: int) -> int:
    """The time frame of a seqno."""
    return value >> BASE_BITS & FRAMES - 1


def base_of(value: int) -> int:
    """The number of a seqno in its frame."""
    return value & BASES - 1


def start_of(value: int) -> int:
    """When the frame of a seqno begins, ns since 1970."""
    return frame_of(value) << FRAME_SHIFT


def key(value: int) -> int:
    """What to order seqnos by: the 64 bits without a sign."""
    return value & (1 << 64) - 1


def shown(value: int) -> str:
    """``2022-07-29T21:54:01.513Z #1``: when the frame began, and the number in it; ``#0`` of a
    message that has none."""
    if not value:
        return f"#{base_of(value)}"
    return f"{shown_time(start_of(value))} #{base_of(value)}"


def hexadecimal(value: int) -> str:
    """The 64 bits in hex."""
    return f"0x{key(value):016x}"


def shown_time(time_ns: int) -> str:
    """A time in UTC to the millisecond, truncated."""
    whole = datetime.fromtimestamp(time_ns // _SECOND_NS, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{time_ns % _SECOND_NS // 1_000_000:03d}Z"
