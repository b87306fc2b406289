"""Traces of systems in the bytes of directions (decoders/README.md 3; restricted style: 4)."""

# ruff: noqa: F403, F405, SIM102  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("look",)

# The table, by byte: which of the two bytes of which anchors it may be; of which it may stand
# before the second, and behind the first; and which conditions it fulfils. Then how many rows of
# each kind there are, and the rows.
ANCHORS = 0
BEFORE = 256
BEHIND = 512
FULFILS = 768
MARKS = 1024
LENGTHS = 1025
ROWS = 1026

# A row of marks: the bits of its anchor, where it is, bytes in all, conditions as place and bit.
FIRST = 0
SECOND = 1
ANCHOR = 2
SIZE = 3
CONDITIONS = 4
PAIRS = 5
MOST_CONDITIONS = 8
MARK = 21

# A row of lengths: bytes of each, how many follow each other, within so many bytes, the bit of
# what stands behind one.
WIDTH = 0
TIMES = 1
WITHIN = 2
BEGINS = 3
LENGTH = 4

#: Places that are told of a direction and row of lengths; behind them stands ANYWHERE.
MOST_PLACES = 16
ANYWHERE = -1
#: Words of what is told: direction, row, place.
TOLD = 3


def tell(out, count, direction, row, place):
    out[count * TOLD] = direction
    out[count * TOLD + 1] = row
    out[count * TOLD + 2] = place
    return count + 1


def fits(d, at, t, row):
    """1 where a mark stands at ``at``."""
    n = t[row + CONDITIONS]
    o = row + PAIRS
    while n > 0:
        if t[FULFILS + u8(d, at + t[o])] & t[o + 1] == 0:
            return 0
        o += 2
        n -= 1
    return 1


def marked(d, start, stop, i, hit, direction, t, out, count):
    """Marks one of whose anchors is at ``i``: (told so far, bits of those that stand there)."""
    bits = 0
    p = 0
    while p < t[MARKS]:
        row = ROWS + p * MARK
        found = 0
        at = i - t[row + ANCHOR]
        size = t[row + SIZE]
        if hit & t[row + FIRST]:
            if at >= start:
                if size <= stop - at:
                    found = fits(d, at, t, row)
        if found == 0:
            if hit & t[row + SECOND]:
                at -= 1
                if at >= start:
                    if size <= stop - at:
                        found = fits(d, at, t, row)
        if found:
            count = tell(out, count, direction, p, at)
            bits |= t[row + FIRST] | t[row + SECOND]
        p += 1
    return count, bits


def chained(d, at, stop, t, row):
    """1 where lengths lead from ``at`` on from one to the next."""
    width = t[row + WIDTH]
    left = t[row + TIMES]
    while left > 0:
        if at + width >= stop:
            return 0
        size = u16le(d, at)
        if width == 4:
            if u16le(d, at + 2):
                return 0
        at += width
        if size == 0 or size > stop - at:
            return 0
        if t[FULFILS + u8(d, at)] & t[row + BEGINS] == 0:
            return 0
        at += size
        left -= 1
    return 1


def lengths(d, start, stop, direction, p, t, out, count):
    """Places of one row of lengths, ascending."""
    row = ROWS + t[MARKS] * MARK + p * LENGTH
    if stop - start > t[row + WITHIN]:
        stop = start + t[row + WITHIN]
    width = t[row + WIDTH]
    most = (stop - start) >> 8  # the higher byte of what fits
    places = 0
    at = start
    while at + width < stop:
        good = 0
        if width == 2:
            if u8(d, at + 1) <= most:
                good = 1
        elif u8(d, at + 2) == 0:
            good = 1
        if good:
            if chained(d, at, stop, t, row):
                places += 1
                if places > MOST_PLACES:
                    return tell(out, count, direction, t[MARKS] + p, ANYWHERE)
                count = tell(out, count, direction, t[MARKS] + p, at)
        at += 1
    return count


def look(d, starts, stops, begin, n, t, out, room):
    """Where directions from ``begin`` on have traces: of each mark one place, of lengths some.

    Args:
        starts, stops: of each direction's bytes; ``n`` of them.
        out: (direction, row, place) each, ``room`` of them.

    Returns:
        (next direction, how many are told). There has to be room for all of one direction.
    """
    count = 0
    i = begin
    most = t[MARKS] + t[LENGTHS] * (MOST_PLACES + 1)
    while i < n:
        if count + most > room:
            return i, count
        start = starts[i]
        stop = stops[i]
        done = 0  # bits of marks that are told
        at = start + 1
        while at < stop:  # of two bytes one is looked at, whichever of an anchor it is
            near = t[BEFORE + u8(d, at - 1)]
            if at + 1 < stop:
                near |= t[BEHIND + u8(d, at + 1)]
            hit = t[ANCHORS + u8(d, at)] & near
            if hit:
                hit -= hit & done
                count, bits = marked(d, start, stop, at, hit, i, t, out, count)
                done |= bits
            at += 2
        p = 0
        while p < t[LENGTHS]:
            count = lengths(d, start, stop, i, p, t, out, count)
            p += 1
        i += 1
    return i, count
