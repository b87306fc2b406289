"""Frames of a feed on TCP (decoders/README.md 5; restricted style: decoders/README.md 4)."""

# ruff: noqa: F403, F405, SIM102  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.kernels.walk_words import *

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("walk",)

LONGEST = 16777216


def walk(data, at, stop, offset, width, big, adds, begins, starts, stops, room):
    """Frames from ``at``, which is the begin of one: of ``decoders.contract.FrameLayout``.

    Args:
        starts, stops: where frames go, ``room`` of them.

    Returns:
        (frames, where the next one begins, why it stopped, bytes from there that are wanted).
    """
    count = 0
    head = offset + width
    while count < room:
        if at >= stop:
            return count, at, SHORT, 1
        if begins >= 0:
            if u8(data, at) != begins:
                return count, at, LOST, 0
        if at + head > stop:
            return count, at, SHORT, head
        size = 0
        for n in range(width):
            o = at + offset + (n if big == 1 else width - 1 - n)
            size = size << 8 | u8(data, o)
        size = size + adds
        if size < head or size > LONGEST:
            return count, at, LOST, 0
        if at + size > stop:
            return count, at, SHORT, size
        starts[count] = at
        stops[count] = at + size
        count = count + 1
        at = at + size
    return count, at, FULL, 0
