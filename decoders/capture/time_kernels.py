"""Times of records in nanoseconds, in the restricted style of decoders/README.md 4.

Whatever their unit, no number on the way is beyond 64 bits.
"""

# ruff: noqa: F403, F405  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.capture.record_words import *
from seqaudit.decoders.kernels.reads import *


def microseconds_to_ns(high, low):
    """Time of a packet whose interface is not known: the default resolution, 10^-6."""
    if high >= 0x200000:  # far above MAX_NS, and the product below stays in 63 bits
        return MAX_NS
    ticks = (high << 32) | low
    if ticks > MAX_NS // 1000:
        return MAX_NS
    return ticks * 1000


def ticks_to_ns(high, low, table, row):
    """A 64-bit time in the interface's units to ns since the epoch, rounded down, at most MAX_NS.

    Exact for every if_tsresol without leaving 63 bits: decimal ones finer than ns are long
    divisions by halves, binary ones use 10^9 = 5^9 * 2^9.
    """
    method = table[row + T_METHOD]
    amount = table[row + T_A]
    if method == 0:
        if high >= 0x40000000:
            return MAX_NS
        at_ns = (high << 32) | low
        if at_ns > MAX_NS // amount:
            return MAX_NS
        at_ns = at_ns * amount
    elif method == 1:
        place = T_A
        while place <= T_C:
            divisor = table[row + place]  # 1 .. 10^9
            rest = high % divisor
            high = high // divisor
            low = ((rest << 32) | low) // divisor
            place += 1
        if high >= 0x40000000:
            return MAX_NS
        at_ns = (high << 32) | low
    else:
        at_ns = binary_to_ns(high, low, amount)
        if at_ns >= MAX_NS:
            return MAX_NS
    at_ns += table[row + T_OFFSET_NS]  # within -MAX_NS .. MAX_NS
    if at_ns > MAX_NS:
        return MAX_NS
    return at_ns


def binary_to_ns(high, low, n):
    """A 64-bit number of 2^-n seconds, n in 0 .. 127, to ns."""
    if n >= 64:
        seconds = 0
        upper = high
        lower = low
    elif n >= 32:
        seconds = high >> (n - 32)
        upper = high & ((1 << (n - 32)) - 1)
        lower = low
    else:
        if n < 2 and high >= 0x40000000:
            return MAX_NS
        seconds = (high << (32 - n)) | (low >> n)
        upper = 0
        lower = low & ((1 << n) - 1)
    if seconds > 4_611_686_018:
        return MAX_NS
    # fraction * 10^9 >> n  =  (upper * 2^32 + lower) * 5^9 * 2^9 >> n
    product = lower * FIVE_TO_9
    carry = upper * FIVE_TO_9 + (product >> 32)  # below 2^54
    rest = product & 0xFFFFFFFF
    shift = n - 9
    if shift < 0:  # n < 9: lower < 2^9, upper 0
        fraction = product << (9 - n)
    elif shift < 32:  # n < 41, so upper < 2^9 and carry < 2^31
        fraction = ((carry << 32) | rest) >> shift
    elif shift < 94:
        fraction = carry >> (shift - 32)
    else:
        fraction = 0
    return seconds * 1_000_000_000 + fraction


def u64_capped(data, o, big):
    """A 64-bit counter, at most 2^40: no capture drops more between two packets."""
    if big == 1:
        high = u32(data, o, big)
        low = u32(data, o + 4, big)
    else:
        low = u32(data, o, big)
        high = u32(data, o + 4, big)
    if high >= 256:
        return 0x10000000000
    return (high << 32) | low
