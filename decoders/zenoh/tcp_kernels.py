"""Batches of a zenoh TCP stream (zenoh.md 2.1 to 2.3; restricted style: decoders/README.md 4)."""

# ruff: noqa: F403, F405, SIM102  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.kernels.walk_words import *

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("walk",)

#: A batch of a low-latency link holds one message; longer ones are not believed.
LONGEST = 67108864


def walk(data, at, stop, width, opened, starts, stops, room):
    """Batches from ``at``, which is the begin of a length.

    Args:
        width: bytes of a length; 0: it shows in what comes next.
        opened: 1: the Open has come, behind which lengths may have another width.
        starts, stops: where batches that are not empty go, ``room`` of them.

    Returns:
        (batches, where the next length begins, why it stopped, bytes from there that are wanted,
        ``width`` and ``opened`` for the next call).
    """
    count = 0
    while count < room:
        if width == 0:
            if at + 3 > stop:
                return count, at, SHORT, 3, 0, opened
            width = 2
            if u8(data, at + 2) == 0:  # else the third byte is of no length
                if at + 4 > stop:
                    return count, at, SHORT, 4, 0, opened
                if u8(data, at + 3) == 0:
                    width = 4
        if at + width > stop:
            return count, at, SHORT, width, width, opened
        length = u16le(data, at)
        if width == 4:
            length = u32le(data, at)
        if length > LONGEST:
            return count, at, LOST, 0, width, opened
        start = at + width
        kind = 0
        if length > 0 and start < stop:
            kind = data[start] & 31
            if width == 2:
                if kind > 7 and kind < 25:
                    return count, at, LOST, 0, width, opened
        if start + length > stop:
            return count, at, SHORT, width + length, width, opened
        at = start + length
        if length > 0:
            starts[count] = start
            stops[count] = at
            count = count + 1
            if opened == 0 and width == 2 and kind == 2:
                opened = 1
                width = 0
    return count, at, FULL, 0, width, opened
