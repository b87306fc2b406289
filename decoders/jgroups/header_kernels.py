"""Headers of a JGroups message, and numbers, texts and addresses (jgroups.md 1.2 to 1.8), in the
restricted style of decoders/README.md 4.

A header has no length: its fields are skipped one by one, as LAYOUT lists them.
"""

# ruff: noqa: F403, F405, RUF059, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.jgroups.kernel_words import *
from seqaudit.decoders.kernels.reads import *


def number(data, o, stop):
    """vint, vlong: (value, next); next is SHORT or BAD where there is none (1.1).

    A negative value, or one from 2⁶² on, is no seqno: NONE.
    """
    if o >= stop:
        return 0, SHORT
    size = u8(data, o)
    if size > 8:
        return 0, BAD
    if o + 1 + size > stop:
        return 0, SHORT
    if size == 8 and u8(data, o + 8) >= 64:
        return NONE, o + 9
    value = 0
    place = size
    while place > 0:
        value = value * 256 + u8(data, o + place)
        place -= 1
    return value, o + 1 + size


def skip_text(data, o, stop):
    """str: present byte, u16 length, bytes."""
    if o >= stop:
        return SHORT
    if u8(data, o) == 0:
        return o + 1
    if u8(data, o) != 1:
        return BAD
    if o + 3 > stop:
        return SHORT
    o += 3 + u16be(data, o + 1)
    return o if o <= stop else SHORT


def skip_address(data, o, stop):
    """An address of any kind (1.2)."""
    if o >= stop:
        return SHORT
    tag = u8(data, o)
    if tag == 1:
        return o + 1
    if tag == 16 or tag == 32:
        if o + 2 > stop:
            return SHORT
        # u8 n, n bytes, i32 scope id if n = 16, u16 port; IpAddressUUID: i64 low, i32 high as well
        size = u8(data, o + 1)
        if size != 0 and size != 4 and size != 16:
            return BAD
        o += size + 4 + (4 if size == 16 else 0) + (12 if tag == 32 else 0)
        return o if o <= stop else SHORT
    if tag == 0:
        if o + 3 > stop:
            return SHORT
        kind = u16be(data, o + 1)
        o += 3
        if kind == 22:  # MillisAddress
            return o + 8 if o + 8 <= stop else SHORT
        if o + 17 > stop and (kind == 12 or kind == 19):
            return SHORT
        if kind == 19:  # FlagsUUID
            value, o = number(data, o + 16, stop)
            return o
        if kind != 12:
            return BAD
        left = u8(data, o + 16) * 2  # ExtendedUUID: keys and values, each u8 length and bytes
        o += 17
        while left > 0:
            left -= 1
            if o >= stop:
                return SHORT
            o += 1 + u8(data, o)
        return o if o <= stop else SHORT
    if tag != 2 and tag != 4 and tag != 8:
        return BAD
    o += 17
    if o > stop:
        return SHORT
    if tag != 2:
        o = skip_text(data, o, stop)
        if o > 0:
            o = skip_text(data, o, stop)
    return o


def pair_is_known(data, o, stop, m):
    """Whether protocol id and known header class could stand at ``o``."""
    if o + 4 > stop:
        return 0
    of = u16be(data, o + 2)
    if of >= CLASSES or u16be(data, o) == 0:
        return 0
    return 1 if m[m[W_TABLE] + of * FIELDS] != IS_UNKNOWN else 0


def skip_fields(data, o, stop, line, m):
    """The body of a header or object, by its line of LAYOUT."""
    k = 1
    while k < FIELDS and o > 0:
        op = m[line + k]
        k += 1
        left = 0
        texts = 0
        if op == F_END:
            break
        if op <= 16:
            o += op
        elif op == F_BYTE_5:
            o += 1 if m[W_ERA] >= 2 else 0
        elif op <= F_FRAGMENT:
            value, o = number(data, o, stop)
            if op == F_FRAGMENT:
                while left < 2 and o > 0:
                    value, o = number(data, o, stop)
                    left += 1
                left = 0
                # then nothing, a bool, or a bool and an i16, by release: see what follows
                if o > 0 and pair_is_known(data, o, stop, m) == 0:
                    if pair_is_known(data, o + 1, stop, m) == 1 or m[W_ERA] < 2:
                        o += 1
                    else:
                        o += 3
        elif op == F_TEXT:
            texts = 1
        elif op == F_ADDRESS:
            left = 1
        elif o + (1 if op < F_MERGE_ID else (2 if op < F_TEXTS_32 else 4)) > stop:
            o = SHORT
        elif op < F_IP:
            # opt ViewId, opt Digest, bytebuf
            o += 1
            if u8(data, o - 1) == 0:
                continue
            if op == F_VIEW_ID:
                o = skip_address(data, o, stop)
                if o > 0:
                    value, o = number(data, o, stop)
            elif o + 4 > stop:
                o = SHORT
            elif op == F_BUFFER:
                o = o + 4 + i32(data, o) if i32(data, o) >= 0 else BAD
            else:
                left = i16(data, o)
                o += 2
        elif op == F_IP:
            left = u8(data, o)
            o += 1
            if left != 0:
                left = u8(data, o) if o < stop else 0
                o += left + (7 if left == 16 else 3)
                left = 0
        elif op == F_DIGEST or op == F_ADDRESSES_16:
            left = i16(data, o)
            o += 2
        elif op == F_MERGE_ID:
            left = 2 if u16be(data, o) // 4 % 2 == 1 else 1
            o += 2
        elif op == F_BITS:
            o = o + 12 + (i32(data, o) + 63) // 64 * 8 if i32(data, o) >= 0 else BAD
        elif op == F_SIZED:
            left = i32(data, o)
            o = o + 4 + (left if left > 0 else 0) if left >= -1 else BAD
            left = 0
        else:
            left = i32(data, o)
            o += 4
            if op != F_ADDRESSES_32:
                texts = left if op == F_TEXTS_32 else left * 2
                left = 0
        pairs = left if op == F_DIGEST or op == F_OPT_DIGEST else 0
        tail = 4 if op == F_MERGE_ID and left == 2 else 0
        while left > 0 and o > 0:
            left -= 1
            o = skip_address(data, o, stop)
        while texts > 0 and o > 0:
            texts -= 1
            o = skip_text(data, o, stop)
        while pairs > 0 and o > 0:
            pairs -= 1
            o = o + 1 + u8(data, o) // 16 + u8(data, o) % 16 if o < stop else SHORT
        if o > 0:
            o += tail
        if o > stop:
            o = SHORT
    return o


def intern(data, o, size, m):
    """The number of these bytes, a new one if they are new; compares all of them."""
    key = size
    at = o
    left = size
    while left >= 4:
        key = ((key ^ u32be(data, at)) * 10368889) & 274877906943
        at += 4
        left -= 4
    tail = 0
    while left > 0:
        tail = tail * 256 + u8(data, at)
        at += 1
        left -= 1
    key = ((key ^ tail) * 10368889) & 274877906943
    slot = ((key * 10368889) & 274877906943) >> 22
    while m[SLOTS + slot] != 0:
        entry = ENTRIES + m[SLOTS + slot] * 4
        if m[entry] == key and m[entry + 2] == size:
            word = m[entry + 1]
            at = o
            left = size
            while left >= 4 and m[word] == u32be(data, at):
                word += 1
                at += 4
                left -= 4
            if left < 4 and m[word] == tail:
                return m[SLOTS + slot]
        slot = slot + 1 if slot + 1 < SLOT_COUNT else 0
    m[W_ENTRIES] += 1
    m[SLOTS + slot] = m[W_ENTRIES]
    entry = ENTRIES + m[W_ENTRIES] * 4
    word = m[W_POOL]
    m[entry] = key
    m[entry + 1] = word
    m[entry + 2] = size
    m[entry + 3] = 0
    at = o
    left = size
    while left >= 4:
        m[word] = u32be(data, at)
        word += 1
        at += 4
        left -= 4
    m[word] = tail
    m[W_POOL] = word + 1
    return m[W_ENTRIES]


def address(data, o, stop, m):
    """An address: (its number, next)."""
    after = skip_address(data, o, stop)
    if after <= o + 1:
        return 0, after
    return intern(data, o, after - o, m), after


def printable(data, o, size):
    """Whether ``size`` bytes could be the name of a cluster."""
    if size < 1 or size > 512:
        return 0
    at = o
    while at < o + size:
        if u8(data, at) < 32 or u8(data, at) == 127:
            return 0
        at += 1
    return 1


def is_strong(data, o, stop, m):
    """1: a pair of ids that no other traffic has by chance, with a body that fits (1.8)."""
    if o + 6 > stop:
        return 0
    who = u16be(data, o)
    of = u16be(data, o + 2)
    if of >= CLASSES or who > 78:
        return 0
    what = m[m[W_TABLE] + of * FIELDS]
    if what == IS_TP:
        if m[W_OLD] == 1:
            if who != 21 and who != 22 and who != 24 and who != 74 and who != 75:
                return 0
        elif who != 57 and who != 16 and who != 17 and who != 56:
            return 0
        size = u16be(data, o + 4)
        return printable(data, o + 6, size) if o + 6 + size <= stop else 0
    of = u8(data, o + 4)
    if what == IS_UNICAST3:
        return 1 if who == 48 + m[W_OLD] * 16 and of <= 4 else 0
    if what == IS_UNICAST4:
        return 1 if who == 78 and of <= 4 else 0
    if what == IS_NAKACK2:
        return 1 if who == 41 + m[W_OLD] * 16 and 1 <= of <= 5 else 0
    if what == IS_NAKACK4:
        return 1 if 76 <= who <= 77 and 1 <= of <= 5 else 0
    return 0


def transport(data, at, stop, row, m):
    """The fields of the transport header. Returns where they end."""
    if at + 2 > stop:
        return SHORT
    size = i16(data, at)
    at += 2
    if size > 0:
        if at + size > stop:
            return SHORT
        m[row + CLUSTER] = intern(data, at, size, m)
        at += size
    if m[W_ERA] == 3:
        if at >= stop:
            return SHORT
        if u8(data, at) > 2:
            return BAD
        at += 5 if u8(data, at) > 0 else 1
    return at


def next_strong(data, o, stop, of, who, m):
    """Where what nothing else looks like begins behind the header at ``o``, which no length leads
    over (1.8); ``stop``: nowhere."""
    if m[W_REASON] == 0:
        m[W_FIRST] = of
        m[W_SECOND] = who
    m[W_REASON] = SKIPPED_HEADER
    o += 1
    while o < stop and is_strong(data, o, stop, m) == 0:
        o += 1
    return o


def headers(data, o, stop, row, m):
    """All headers of a message into its row. Returns where they end."""
    if o + 2 > stop:
        return SHORT
    left = u16be(data, o)
    o += 2
    if left > 100:
        return BAD
    while left > 0:
        left -= 1
        if o + 4 > stop:
            return SHORT
        who = u16be(data, o)
        of = u16be(data, o + 2)
        line = m[W_TABLE] + of * FIELDS
        what = m[line] if of < CLASSES else IS_UNKNOWN
        at = o + 4
        wants = 0  # 1: seqno, 2: conn-id, 4: first flag, 8: timestamp
        if what == IS_TP:
            at = transport(data, at, stop, row, m)
            if at < 0:
                return at
        elif IS_UNICAST3 <= what <= IS_NAKACK4:
            if at >= stop:
                return SHORT
            sort = u8(data, at)
            at += 1
            m[row + TYPE] = sort
            if sort > 5:
                return BAD
            if what <= IS_UNICAST4:
                m[row + SYSTEM] = UNICAST3 + what - IS_UNICAST3
                if sort == 0:
                    wants = 7
                elif sort == 1:
                    wants = 11 if m[W_VERSION] > V3_5_0 else 3
                elif sort == 2:
                    wants = 8 if m[W_VERSION] > V3_5_0 else (0 if m[W_VERSION] == V3_5_0 else 1)
                elif sort == 4:
                    wants = 2
                elif sort == 5:
                    return BAD
            else:
                m[row + SYSTEM] = NAKACK2
                if what == IS_NAKACK4:
                    m[row + SYSTEM] = NAKACK3 if who == 76 else NAKACK4
                wants = 1
                if sort == 0:
                    return BAD
                if sort == 2:
                    wants = 0
                    m[row + OWNER], at = address(data, at, stop, m)
        elif what != IS_UNKNOWN:
            at = skip_fields(data, at, stop, line, m)
        else:
            at = LEFT
        if wants % 2 == 1:
            value, at = number(data, at, stop)
            if value == NONE:
                return BAD
            m[row + SEQNO] = value
            m[row + STOP] = value + 1
        if wants // 2 % 2 == 1 and at > 0:
            if at + 2 > stop:
                return SHORT
            m[row + CONN] = i16(data, at)
            at += 2
        if wants // 4 % 2 == 1 and at > 0:
            if at >= stop:
                return SHORT
            if u8(data, at) != 0:
                m[row + FLAGS] += 2
            at += 1
        if wants // 8 == 1 and at > 0:
            size = at
            value, at = number(data, at, stop)
            if at == size + 5 and value >= 2147483648:
                value -= 4294967296
            m[row + STAMP] = value
        if at > stop:
            at = SHORT
        if what != IS_TP and m[W_PROTOCOL] < 0:
            m[W_PROTOCOL] = who
        if at < 0 and IS_UNICAST3 <= what <= IS_TP:
            return at
        if at < 0:
            o = next_strong(data, o, stop, of, who, m)
            if o >= stop:
                if at == LEFT:
                    m[W_REASON] = HEADER
                return at
            left = 1
            continue
        if m[W_STRONG] < 2 and is_strong(data, o, stop, m) == 1:
            m[W_STRONG] = 2
        if IS_GMS <= what <= IS_MERGE3:
            m[row + OBJECT] = what - IS_GMS + GMS
            m[row + HEADER_AT] = o + 4
            if what == IS_PING and m[W_BARE] > 0 and u8(data, o + 5) == 1:
                # an MPING datagram has its cluster here
                size = u16be(data, o + 6)
                m[W_STRONG] = printable(data, o + 8, size)
                m[row + CLUSTER] = intern(data, o + 8, size, m) if size > 0 else 0
        elif what >= IS_FRAGMENT:
            m[W_CLOSED] = what
        if m[W_REASON] == SKIPPED_HEADER:
            # the TP header ends the list, wherever it is
            left = 0 if what == IS_TP or (m[W_ERA] < 3 and m[W_LISTED] == 1) else 1
        o = at
    return o
