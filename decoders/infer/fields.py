"""Fields around a lowest byte, and what else the number in them could be: rules of ``infer``."""

from typing import Final

import numpy as np

from seqaudit.decoders.infer.layout import FieldAt, Layout
from seqaudit.decoders.infer.number import (
    PLAIN_WIDTHS,
    Bools,
    Bytes,
    Growth,
    Order,
    UInt64s,
    field_values,
    signed,
)
from seqaudit.decoders.kernels.loader import Int64s

#: So many datagrams fit a number of variable length to say that it is one.
VARIABLE_SHARE: Final = 0.8
#: A carry is seen between numbers so near to the wrap; so many changes of a byte are such.
CARRY_NEAR: Final = 32
CARRY_SHARE: Final = 0.5


def is_variable(heads: Bytes, low: int, same: Bools, layout: Layout) -> bool:
    """Whether the byte before the lowest one may say how many bytes a number has, the lowest first.

    It turns from 1 to 2 where the lowest byte wraps for the first time, and the byte after the
    lowest carries from then on. Or it is just the number of bytes that moved, and no zeros above
    make a plain field of them.
    """
    lowest, before = heads[:, low], heads[:, low - 1]
    plain = layout.number.order == "big" or layout.number.width in (4, 8)
    if not plain and float((before == layout.proven).mean()) >= VARIABLE_SHARE:
        return True
    if low + 1 >= heads.shape[1]:
        return False
    after = heads[:, low + 1]
    follows = same & (lowest[1:] - lowest[:-1] == 1)
    wraps = follows & (lowest[1:] == 0)
    longer = wraps & (before[:-1] == 1) & (before[1:] == 2) & (after[1:] == 1)
    carries = wraps & (before[:-1] == before[1:]) & (after[1:] - after[:-1] == 1)
    steady = (before[1:] == before[:-1])[follows & ~wraps]
    turns = bool(longer.any()) and bool((longer | carries)[wraps].all())
    return turns and bool(np.count_nonzero(steady) > 0.95 * len(steady))


def preference(growth: Growth, number: FieldAt) -> tuple[int, bool, bool, int]:
    """Which byte order is the likelier: by carries seen, then by a plain and aligned field."""
    plain = number.width in PLAIN_WIDTHS and number.width > 1
    return growth.proven, plain, plain and number.offset % number.width == 0, growth.still


def count_field(heads: Bytes, low: int, order: Order, number_low: int) -> FieldAt:
    """Two bytes where the upper one is nearly always 0, else one."""
    upper = low - 1 if order == "big" else low + 1
    if 0 <= upper < heads.shape[1] and upper != number_low:
        byte = heads[:, upper]
        if float((byte == 0).mean()) >= 0.9:
            return FieldAt(min(low, upper), 2, order)
    return FieldAt(low, 1, None)


def counts_of(heads: Bytes, count: FieldAt) -> tuple[Int64s, int]:
    """(n,) how many numbers the datagrams take, and how many are the end of a session (all ones,
    which takes none)."""
    counts = field_values(heads, count.offset, count.width, count.order or "big").astype(np.int64)
    all_ones = counts == (1 << 8 * count.width) - 1
    counts[all_ones] = 0
    return counts, int(all_ones.sum())


def number_field(low: int, width: int, order: Order) -> FieldAt:
    offset = low - width + 1 if order == "big" else low
    return FieldAt(offset, width, order if width > 1 else None)


def others_fitting(low: int, growth: Growth, order: Order) -> tuple[FieldAt, ...]:
    """The plain widths that fit as well, since the bytes above hold still; and the width with the
    zeros above that rather belong to another field."""
    widths = [w for w in (1, 2, 4) if growth.proven <= w < growth.width]
    wider = [growth.widest] if growth.widest > growth.width else []
    return tuple(number_field(low, width, order) for width in (*reversed(widths), *wider))


def overlap(one: FieldAt, other: FieldAt) -> bool:
    return one.offset < other.stop and other.offset < one.stop


def covers(layout: Layout, column: int) -> bool:
    fields = [layout.number] + ([layout.count] if layout.count else [])
    return any(part.offset <= column < part.stop for part in fields)


def is_carry(heads: Bytes, column: int, number: FieldAt) -> bool:
    """Whether a byte is the next of the number's and no key: it changes where the number wraps."""
    upper = number.offset - 1 if number.order != "little" else number.stop
    lower = number.stop if number.order is None else column  # one byte: either order
    if column not in (upper, lower):
        return False
    changes = np.flatnonzero(heads[1:, column] - heads[:-1, column] == 1)
    values = field_values(heads, number.offset, number.width, number.order or "big")
    low, full = np.uint64(CARRY_NEAR), np.uint64((1 << 8 * number.width) - 1 - CARRY_NEAR)
    wraps = (values[changes] >= full) & (values[changes + 1] <= low)
    return bool(len(changes)) and float(wraps.mean()) >= CARRY_SHARE


#: Units of clocks, as (name, nanoseconds).
_UNITS: Final = (("seconds", 10**9), ("ms", 10**6))


def pace_of(values: UInt64s, at_ns: Int64s, width: int) -> str:
    """Whether the number advances as a clock does, at one a unit of time."""
    elapsed = np.diff(at_ns)
    step = signed(values[1:] - values[:-1], 8 * width)
    moved = step == 1
    if moved.sum() < 16:
        return ""
    for name, unit in _UNITS:
        near = np.abs(elapsed[moved] - unit) < 0.05 * unit
        ahead = step > 1
        if near.mean() < 0.9:
            continue
        if ahead.any() and np.mean(np.abs(elapsed[ahead] - step[ahead] * unit) < 0.2 * unit) < 0.9:
            continue
        return f"it advances by one every unit of {name}: it may be a clock"
    return ""


#: What tells streams apart goes up by the same step more often than this: it counts.
COUNTING_SHARE: Final = 0.6


def shared_by(layout: Layout, heads: Bytes) -> str:
    """Whether the number may be of more than a datagram, or only a part of what counts."""
    number, key = layout.number, layout.key
    if key is not None and (key.offset == number.stop or key.stop == number.offset):
        lowest = heads[:, key.offset if number.order == "little" else key.stop - 1]
        steps = np.bincount(lowest[1:] - lowest[:-1], minlength=256)[1:]
        if steps.max() > COUNTING_SHARE * (len(lowest) - 1):
            return (
                f"what tells streams apart goes up by {steps.argmax() + 1}: it may be a part of it"
            )
    repeated = sum(beat.datagrams for beat in layout.heartbeats)
    if repeated > 0.9 * layout.evidence.arrived:
        return f"{repeated} datagrams have no number of their own: they may be parts of one message"
    return ""
