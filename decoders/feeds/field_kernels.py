"""Fields of a datagram and whose it is, in the restricted style of decoders/README.md 4.

Where a field is says the layout in ``m``.
"""

# ruff: noqa: F403, F405, SIM102  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.feeds.words import *
from seqaudit.decoders.kernels.reads import *


def halves_at(data, offset, field, m):
    """A number as (high, low) 32-bit halves, after mask and shift."""
    how = m[field + D_READ]
    if how == READ_U8:
        return 0, u8(data, offset)
    if how == READ_U16:
        return 0, u16be(data, offset)
    if how == READ_U32:
        return 0, u32be(data, offset)
    width = m[field + D_WIDTH]
    high = 0
    low = 0
    big = m[field + D_BIG]
    for place in range(width):
        byte = u8(data, offset + place) if big == 1 else u8(data, offset + width - 1 - place)
        high = (high << 8 | low >> 24) & 0xFFFFFFFF
        low = (low << 8 | byte) & 0xFFFFFFFF
    high = high & m[field + D_HIGH_MASK]
    low = low & m[field + D_LOW_MASK]
    shift = m[field + D_SHIFT]
    if shift >= 32:
        low = high >> (shift - 32 & 31)
        high = 0
    elif shift > 0:
        low = low >> (shift & 31) | (high << (32 - shift & 31) & 0xFFFFFFFF)
        high = high >> (shift & 31)
    return high, low


def elsewhere(data, at, field, m):
    """Where a field is that has no fixed place in its unit; -1: nowhere."""
    how = m[field + D_FROM]
    if how == FROM_FRONT:
        return m[H_FRONT] + m[field + D_OFFSET]
    if how == FROM_END:
        return m[H_END] + m[field + D_OFFSET]
    by = m[field + D_AFTER]  # which is at a fixed place itself
    if at + m[by + D_END] > m[H_REAR]:
        return -1
    high, low = halves_at(data, at + m[by + D_OFFSET], by, m)
    if high != 0:
        return -1
    if m[field + D_SIZE_COUNT] == 0:
        return at + m[field + D_OFFSET] + low * m[field + D_UNIT]
    for n in range(m[field + D_SIZE_COUNT]):
        pair = m[field + D_SIZES] + n * 2
        if m[pair] == low:
            return at + m[field + D_OFFSET] + m[pair + 1]
    return -1


def loose(data, at, f, m):
    """1 if all fields at no fixed place are inside the unit and captured; 0: cut off; -1: not."""
    found = 1
    for n in range(m[f + F_LOOSE_COUNT]):
        field = m[m[f + F_LOOSE] + n]
        o = elsewhere(data, at, field, m)
        first = at
        stop = m[H_END]
        if m[field + D_FROM] == FROM_FRONT:
            first = m[H_FRONT]
            stop = m[H_REAR]
        if o < first or o + m[field + D_WIDTH] > stop:
            return -1
        if o + m[field + D_WIDTH] > m[H_REAR]:
            found = 0
    return found


def halves(data, at, field, m):
    """The same of a field of the unit that begins at ``at``."""
    offset = at + m[field + D_OFFSET]
    if m[field + D_FROM] != FROM_UNIT:
        offset = elsewhere(data, at, field, m)
    return halves_at(data, offset, field, m)


def number(data, at, field, m):
    """A number; -1: it is beyond 2^63 - 1."""
    how = m[field + D_READ]
    offset = at + m[field + D_OFFSET]
    if m[field + D_FROM] != FROM_UNIT:
        offset = elsewhere(data, at, field, m)
    if how == READ_U16:
        return u16be(data, offset)
    if how == READ_U32:
        return u32be(data, offset)
    if how == READ_U64:
        high = u32be(data, offset)
        if high >= TOP:
            return -1
        return high << 32 | u32be(data, offset + 4)
    if how == READ_U8:
        return u8(data, offset)
    if how == READ_LE16:
        return u16le(data, offset)
    if how == READ_LE32:
        return u32le(data, offset)
    high, low = halves_at(data, offset, field, m)
    if high >= TOP:
        return -1
    return high << 32 | low


def holds(data, at, room, place, count, m):
    """1 if all of ``count`` conditions from ``place`` on hold; ``room`` bytes are there."""
    for _ in range(count):
        field = m[place]
        ranges = m[place + 1]
        if m[field + D_END] > room:
            return 0
        if ranges < 0:  # printable text
            for o in range(m[field + D_WIDTH]):
                byte = u8(data, at + m[field + D_OFFSET] + o)
                if byte < 32 or byte > 126:
                    return 0
            place = place + 2
        else:
            high, low = halves(data, at, field, m)
            found = 0
            for r in range(ranges):
                b = place + 2 + r * 4
                if high > m[b] or (high == m[b] and low >= m[b + 1]):
                    if high < m[b + 2] or (high == m[b + 2] and low <= m[b + 3]):
                        found = 1
            if found == 0:
                return 0
            place = place + 2 + ranges * 4
    return 1


def within(network, host, m):
    """1 if the host is in the network; -1: any is."""
    if network < 0:
        return 1
    return m[m[H_SETS] + m[CLASSES + host] * m[H_PATTERNS] + network]


def open_channel(c, to, start, unicast, m):
    """Find out whose datagrams from one end to another are: the first feed with a rule for them."""
    m[c + C_TO] = to + 1
    m[c + C_FROM] = start
    m[c + C_FEED] = 0
    m[c + C_BITS] = 0
    m[c + C_INSIDE] = 0
    m[c + C_LINE] = 0
    m[c + C_STREAM] = 0
    m[c + C_PLAIN] = 0
    m[c + C_ASIDE] = unicast  # unless the place is a destination that somebody has named
    host = to >> 16
    port = to & 65535
    source = start >> 16
    source_port = start & 65535
    for number_of_rule in range(m[H_RULE_COUNT]):
        r = m[H_RULES] + number_of_rule * R_WORDS
        if m[c + C_FEED] != 0 and m[r + R_FEED] != m[c + C_FEED]:
            continue
        if port < m[r + R_PORT] or port > m[r + R_LAST_PORT]:
            continue
        if source_port < m[r + R_SOURCE_PORT] or source_port > m[r + R_LAST_SOURCE_PORT]:
            continue
        if within(m[r + R_TO], host, m) == 0 or within(m[r + R_FROM], source, m) == 0:
            continue
        if m[r + R_UNICAST] == 1 and unicast == 0:
            continue
        m[c + C_FEED] = m[r + R_FEED]
        if m[r + R_MESSAGE] >= 0:
            m[c + C_BITS] = m[c + C_BITS] | 1 << (m[r + R_MESSAGE] & 63)
        else:
            m[c + C_INSIDE] = 1
            if m[r + R_TO] >= 0:
                m[c + C_ASIDE] = 0
        if m[r + R_LINE] > 0:
            m[c + C_LINE] = m[r + R_LINE]
    f = m[c + C_FEED]
    if f != 0 and m[c + C_INSIDE] == 1 and m[c + C_BITS] == 0 and unicast == 0:
        if m[f + F_PLAIN] == 1:
            m[c + C_PLAIN] = f
            m[c + C_TOP] = 9223372036854775807
    return 0


def recognised(data, at, room, length, f, m):
    """1 if the datagram has what tells a feed wherever it is, and its units fill it."""
    first = at
    size = length
    if m[f + F_REPEAT] != ONE_UNIT:
        first = at + m[f + F_REPEAT_FIRST]
        size = unit_size(data, first, at + room - first, f, m)
        if size <= 0 or first + size > at + length:
            return 0
        if m[f + F_REPEAT] == OF_ONE_SIZE and m[f + F_REPEAT_COUNT] == 0:
            if (at + length - first) % (size if size > 0 else 1) != 0:
                return 0
            if at + room - first < 2 * size:  # of a single one too little tells
                return 0
        # Lengths that by chance lead to the very end are few, whatever the bytes are.
        if m[f + F_REPEAT] == BY_LENGTH and room == length:
            cursor = first
            for _ in range(MOST_UNITS):
                if cursor >= at + length:
                    break
                size = unit_size(data, cursor, at + room - cursor, f, m)
                if size <= 0 or cursor + size > at + length:
                    return 0
                cursor = cursor + size
            size = unit_size(data, first, at + room - first, f, m)
    captured = at + room - first
    if captured > size:
        captured = size
    if captured < m[f + F_ALL]:
        return 0
    m[H_END] = first + size
    if m[f + F_LOOSE_COUNT] > 0 and loose(data, first, f, m) != 1:
        return 0
    if holds(data, first, captured, m[f + F_REQUIRED], m[f + F_REQUIRED_COUNT], m) == 0:
        return 0
    second = first + size
    apart = m[f + F_REPEAT] == ONE_UNIT or m[f + F_REPEAT_COUNT] != 0
    if not apart and at + room - second >= m[f + F_ALL]:
        if holds(data, second, m[f + F_ALL], m[f + F_REQUIRED], m[f + F_REQUIRED_COUNT], m) == 0:
            return 0
    return holds(data, first, captured, m[f + F_RECOGNISED], m[f + F_RECOGNISED_COUNT], m)


def unit_size(data, at, room, f, m):
    """Bytes of the unit that begins at ``at``; 0: its length is not captured, or none."""
    if m[f + F_REPEAT] == OF_ONE_SIZE:
        return m[f + F_REPEAT_SIZE]
    d = m[f + F_REPEAT_LENGTH]
    if room < m[d + D_END]:
        return 0
    high, low = halves_at(data, at + m[d + D_OFFSET], d, m)
    stop = at + m[f + F_REPEAT_SIZE]
    if m[f + F_REPEAT_ADDS] != 0:
        stop = elsewhere(data, at, m[f + F_REPEAT_ADDS], m)
    if high != 0 or stop < at:
        return 0
    return low * m[f + F_REPEAT_UNIT] + stop - at


def anywhere(data, at, room, length, to, start, m):
    """The place of the feed that takes the datagram without knowing its place; 0: none does."""
    if to & 65535 < FIRST_FREE_PORT or start & 65535 < FIRST_FREE_PORT:
        return 0
    for number_of_rule in range(m[H_RULE_COUNT]):
        r = m[H_RULES] + number_of_rule * R_WORDS
        if m[r + R_ANYWHERE] == 1:
            f = m[r + R_FEED]
            if recognised(data, at, room, length, f, m) == 1:
                return f
    m[H_UNFIT] = m[H_UNFIT] + 1
    return 0


def message_of(data, at, room, length, f, bits, unicast, m):
    """The number of the first message that the datagram is, from 1; 0: none."""
    for n in range(m[f + F_MESSAGE_COUNT]):
        e = m[f + F_MESSAGES] + n * MESSAGE_WORDS
        if m[e + M_PLACED] == 1:
            if bits >> n & 1 == 0:
                continue
        if m[e + M_UNICAST] >= 0:
            if m[e + M_UNICAST] != unicast:
                continue
        if length < m[e + M_SHORTEST] or length > m[e + M_LONGEST]:
            continue
        if m[e + M_CONDITION_COUNT] > 0:
            if holds(data, at, room, m[e + M_CONDITIONS], m[e + M_CONDITION_COUNT], m) == 0:
                continue
        return n + 1
    return 0


def read_key(data, at, f, m):
    """The words of the key fields into ``m`` at H_KEY; returns how many."""
    k = H_KEY
    for n in range(m[f + F_KEY_COUNT]):
        p = m[f + F_KEYS] + n * PIECE_WORDS
        sort = m[p]
        offset = at + m[p + 1]
        if sort == PIECE_FOUR:
            m[k] = u32be(data, offset)
            k = k + 1
        elif sort == PIECE_BYTES:
            word = 0
            for o in range(m[p + 2]):
                word = word << 8 | u8(data, offset + o)
            m[k] = word
            k = k + 1
        elif sort == PIECE_NETWORK:
            m[k] = m[H_NETWORK] >> (m[p + 1] & 63) & m[p + 2]
            k = k + 1
        else:
            high, low = halves(data, at, m[p + 1], m)
            m[k] = high
            m[k + 1] = low
            k = k + 2
    return k - H_KEY
