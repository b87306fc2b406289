"""Numbers as all kernels read them, and their hash (restricted style: decoders/README.md 4).

Compiled, ``decoders.kernels.numba_reads`` puts one load in the place of each that reads bytes.
"""


def u8(data, o):
    return data[o] | 0


def u16be(data, o):
    return (data[o] | 0) << 8 | (data[o + 1] | 0)


def u16le(data, o):
    return (data[o + 1] | 0) << 8 | (data[o] | 0)


def u32be(data, o):
    return (
        (data[o] | 0) << 24 | (data[o + 1] | 0) << 16 | (data[o + 2] | 0) << 8 | (data[o + 3] | 0)
    )


def u32le(data, o):
    return (
        (data[o + 3] | 0) << 24 | (data[o + 2] | 0) << 16 | (data[o + 1] | 0) << 8 | (data[o] | 0)
    )


def u16(data, o, big):
    return u16be(data, o) if big == 1 else u16le(data, o)


def u32(data, o, big):
    return u32be(data, o) if big == 1 else u32le(data, o)


def i16(data, o):
    value = u16be(data, o)
    return value if value < 32768 else value - 65536


def i32(data, o):
    value = u32be(data, o)
    return value if value < 2147483648 else value - 4294967296


def i64be(data, o):
    """The int64 with the same bits."""
    high = i32(data, o)
    return high * 4294967296 + u32be(data, o + 4)


def mix(h, value):
    """One hash step: 38 bits × 24 bits stay below 2^62."""
    h = ((h ^ (h >> 23) ^ value) & 0x3FFFFFFFFF) * 0x9E3779
    return h ^ (h >> 29)
