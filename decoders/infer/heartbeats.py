"""Whether datagrams without data state which number comes next, or which was the last."""

from typing import Final

import numpy as np

from seqaudit.decoders.infer.layout import FieldAt
from seqaudit.decoders.infer.number import Bools, Bytes, field_values, signed

#: Heartbeats agree so often on what they state, whatever was lost or late.
SAYS_SHARE: Final = 0.3
FEWEST_SAYING: Final = 4  # fewer may agree by chance


def said(heads: Bytes, states: Bools, number: FieldAt) -> tuple[str | None, int, int] | None:
    """Whether datagrams state the next number or the last. What they state fits the data before
    them, and where data follows that was not lost, it is the next.

    Args:
        heads: (n, bytes) uint8, of datagrams that are data or may state its number, in the order
            of their streams.
        states: (n,) bool, which of them may.
        number: the field.

    Returns:
        Which, how many do, how many there are; null: a number is mostly missing where one of them
        was, so they take it.
    """
    order = number.order or "big"
    values = field_values(heads, number.offset, number.width, order)
    bits = 8 * number.width
    last = np.maximum.accumulate(np.where(states, -1, np.arange(len(heads))))
    total = int(states.sum())
    states &= last >= 0  # behind data, whose number it may state
    step = signed(values - values[last], bits)
    takes = 1
    at = np.where(states, len(heads), np.arange(len(heads)))
    later = np.minimum.accumulate(at[::-1])[::-1]
    followed = states & (later < len(heads))
    behind = np.minimum(later, len(heads) - 1)
    onward = signed(values[behind] - values, bits)
    skipped = followed & (signed(values[behind] - values[last], bits) > takes)
    if 2 * skipped.sum() > followed.sum() >= FEWEST_SAYING:
        return None
    right, kept = {}, {}
    for says, expected in (("next", takes), ("last", 0)):
        right[says] = int((states & (step == expected)).sum())
        kept[says] = int((followed & (onward == takes - expected)).sum())
    best = max(right, key=lambda says: right[says])
    if kept[best] < SAYS_SHARE * followed.sum():
        return None, 0, total
    enough = right[best] >= max(FEWEST_SAYING, SAYS_SHARE * int(states.sum()))
    return (best, right[best], total) if enough else (None, 0, total)
