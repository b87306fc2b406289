"""Fields of a raims message, and the JSON of their row (raims.md 5, 6), in the restricted style of
decoders/README.md 4. What is not plain is left to Python.
"""

# ruff: noqa: F403, F405, SIM102, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.raims.message_kernels import *
from seqaudit.decoders.raims.pgm_words import *


def read_number(data, at, stop, field):
    """Where an unsigned field of 2, 4 or 8 bytes ends; 0: it is none or does not fit."""
    if at + 2 > stop:
        return 0
    if u8(data, at + 1) != field:
        return 0
    size = u8(data, at)
    end = 0
    if size == 0xC1:
        end = at + 4
    if size == 0xC2:
        end = at + 6
    if size == 0xC3:
        end = at + 10
    if end > stop:
        return 0
    return end


def number_at(data, at, end):
    """The value of a field that ``read_number`` has found."""
    if end - at == 4:
        return u16be(data, at + 2)
    if end - at == 6:
        return u32be(data, at + 2)
    return i64be(data, at + 2)


def put_phrase(phrase, text, out, m):
    """Copy a name or phrase; returns where it ends."""
    at = m[NAMES + phrase * NAME_WORDS + N_AT]
    stop = at + m[NAMES + phrase * NAME_WORDS + N_SIZE]
    while at < stop:
        text[out] = text[at]
        at = at + 1
        out = out + 1
    return out


def put_number(value, text, out):
    """Decimal digits of a number that is not negative."""
    size = 1
    rest = value // 10
    while rest > 0:
        size = size + 1
        rest = rest // 10
    stop = out + size
    at = stop
    rest = value
    while at > out:
        at = at - 1
        text[at] = 48 + rest % 10
        rest = rest // 10
    return stop


def put_hex(data, at, stop, text, out):
    while at < stop:
        byte = u8(data, at)
        high = byte >> 4
        low = byte & 15
        text[out] = 48 + high if high < 10 else 87 + high
        text[out + 1] = 48 + low if low < 10 else 87 + low
        out = out + 2
        at = at + 1
    return out


def put_plain(data, at, stop, text, out):
    """Bytes that JSON shows as they are; 0: some are not such."""
    while at < stop:
        byte = u8(data, at)
        if byte < 32 or byte > 126:
            return 0
        if byte == 34 or byte == 92:
            return 0
        text[out] = byte
        out = out + 1
        at = at + 1
    return out


def read_fields(data, at, stop, m):
    """List the fields by rank, the first of each id; how many, or -1: they are damaged or odd."""
    count = 0
    m[F_SEQNO] = NONE
    m[F_TIME] = NONE
    m[F_HOST] = -1
    m[F_USER] = 0
    m[F_VERSION] = 0
    while at + 2 <= stop:
        sort = u8(data, at) & 15
        field = u8(data, at + 1)
        begin = at + 2
        size = 0
        if sort < 7:
            size = 1 << sort
        elif sort == 7:
            if begin + 2 > stop:
                return -1
            size = u16be(data, begin)
            begin = begin + 2
        elif sort == 8:
            if begin + 4 > stop:
                return -1
            size = u32be(data, begin)
            begin = begin + 4
        else:
            return -1
        if size > stop - begin or field >= FIELD_COUNT:
            return -1
        rank = m[NAMES + field * NAME_WORDS + N_RANK]
        place = FIELDS + count * FIELD_WORDS
        while place > FIELDS and m[place - FIELD_WORDS + G_RANK] > rank:
            place = place - FIELD_WORDS
        again = 0
        if place > FIELDS:
            if m[place - FIELD_WORDS + G_RANK] == rank:
                again = 1
        if again == 0:
            move = FIELDS + count * FIELD_WORDS
            while move > place:
                m[move + G_RANK] = m[move - FIELD_WORDS + G_RANK]
                m[move + G_ID] = m[move - FIELD_WORDS + G_ID]
                m[move + G_AT] = m[move - FIELD_WORDS + G_AT]
                move = move - FIELD_WORDS
            m[place + G_RANK] = rank
            m[place + G_ID] = field
            m[place + G_AT] = at
            count = count + 1
            if sort == 1 or sort == 2 or sort == 3:
                value = number_at(data, at, begin + size)
                if field == SEQNO_FIELD:
                    m[F_SEQNO] = value
                if field == TIME_FIELD:
                    m[F_TIME] = value
                if field == SEQNO_FIELD or field == TIME_FIELD:
                    if value == NONE:
                        return -1
                if field == HOST_FIELD:
                    m[F_HOST] = value
                    if value < 0:
                        return -1
            if sort == 7:
                if field == USER_FIELD:
                    m[F_USER] = at
                if field == VERSION_FIELD:
                    m[F_VERSION] = at
        at = begin + size + size % 2
    if at < stop:
        return -1
    return count


def tell_fields(data, count, text, m):
    """Write the listed fields as JSON; returns where it ends, 0: one cannot be written so."""
    out = m[W_TEXT]
    begun = out
    i = 0
    while i < count:
        at = m[FIELDS + i * FIELD_WORDS + G_AT]
        field = m[FIELDS + i * FIELD_WORDS + G_ID]
        told = m[NAMES + field * NAME_WORDS + N_TOLD]
        sort = u8(data, at) & 15
        begin = at + 2
        size = 0
        if sort < 7:
            size = 1 << sort
        elif sort == 7:
            size = u16be(data, begin)
            begin = begin + 2
        else:
            size = u32be(data, begin)
            begin = begin + 4
        name = field
        if sort >= 4 and sort != 7:
            if field == SESSION and size == 32:
                name = P_SESSION_BRIDGE
                begin = begin + 16
                size = 16
            elif size > OPAQUE_TOLD:
                told = 0
        if told == 1:
            text[out] = 123 if out == begun else 44
            out = put_phrase(name, text, out + 1, m)
            if sort == 0:
                out = put_phrase(P_FALSE if u8(data, begin) == 0 else P_TRUE, text, out, m)
            elif sort < 4:
                value = number_at(data, at, begin + size)
                if value < 0:
                    return 0
                out = put_number(value, text, out)
            else:
                text[out] = 34
                if sort == 7:
                    out = put_plain(data, begin, begin + size, text, out + 1)
                    if out == 0:
                        return 0
                else:
                    out = put_hex(data, begin, begin + size, text, out + 1)
                text[out] = 34
                out = out + 1
        i = i + 1
    if out > begun:
        text[out] = 125
        out = out + 1
    return out


def word_of(data, at, text, m):
    """What a message that is no data is called (raims.md 6); -1: Python has to look."""
    first = u8(data, at)
    sort = first >> 5 & 3
    if sort == 1 or sort == 3:
        if first & 16 != 0:
            path = u8(data, at + 1)
            if path == 0 or path > 44 or (path > 12 and path < 16):
                return -1
            return path
    room = u16be(data, at + 46)
    i = 0
    while i < PREFIX_COUNT:
        place = NAMES + (PREFIXES + i) * NAME_WORDS
        size = m[place + N_SIZE]
        if size <= room:
            from_text = m[place + N_AT]
            same = 0
            while same < size and u8(text, from_text + same) == u8(data, at + 48 + same):
                same = same + 1
            if same == size:
                return m[place + N_RANK]
        i = i + 1
    return WORD_INBOX if sort == 1 else WORD_OTHER


def same_field(data, one, other):
    """1 where two strings are equal; 0 is a field that is not there."""
    if one == 0 or other == 0:
        return 1 if one == other else 0
    size = u16be(data, one + 2)
    if u16be(data, other + 2) != size:
        return 0
    return same_bytes(data, one + 4, other + 4, size)


def control(data, at, end, link, sqn, index, text, m):
    """The row of a message that is no data; 0: it is not plain, and Python has to read it."""
    if m[W_TEXT] + TEXT_GROWTH * (end - at) + 64 > m[W_TEXT_ROOM]:
        return 0
    if u8(data, at) & 0x60 == 0:
        return 0
    word = word_of(data, at, text, m)
    if word < 0:
        return 0
    room = u16be(data, at + 46)
    count = read_fields(data, at + 48 + room + room % 2, end, m)
    if count < 0:
        return 0
    stop = tell_fields(data, count, text, m)
    if stop == 0:
        return 0
    named = 0  # bytes of the subject that tell streams apart: it names the receiver
    crc = 0
    if room >= 3 and u16be(data, at + 48) == 0x5F49 and u8(data, at + 50) == 46:  # "_I."
        named = room
        crc = u32be(data, at + 4)
    stream = find_stream(data, at + 10, at + 48, named, crc, -2 - word, m)
    row = new_row(CONTROL, link, index, m)
    m[row + R_SEQNO] = m[F_SEQNO]
    if m[F_SEQNO] != NONE:
        m[row + R_STOP] = m[F_SEQNO]
        if m[F_SEQNO] < 9223372036854775807:
            m[row + R_STOP] = m[F_SEQNO] + 1
    m[row + R_TIME] = m[F_TIME]
    m[row + R_SIZE] = end - at
    m[row + R_SQN] = sqn
    m[row + R_LAST_SQN] = sqn
    m[row + R_STREAM] = stream
    m[row + R_WORD] = word
    m[row + R_BODY_AT] = at
    m[row + R_BODY_STOP] = end
    m[row + R_TEXT_AT] = m[W_TEXT]
    m[row + R_TEXT_STOP] = stop
    m[W_TEXT] = stop
    m[row + R_USER] = m[F_USER]
    m[row + R_VERSION] = m[F_VERSION]
    m[row + R_HOST] = m[F_HOST]
    m[row + R_TOLD] = 0
    if m[F_USER] != 0:
        if word <= WORD_BYE or word == WORD_AUTH or word == WORD_NAME:
            last = m[STREAMS + stream * STREAM_WORDS + S_ROW]
            again = 0
            if last > 0 and m[last + R_LINK] == link:
                if m[last + R_SOURCE] == m[D_SOURCE] and m[last + R_PORT] == m[D_PORT]:
                    if m[last + R_HOST] == m[F_HOST]:
                        if same_field(data, m[last + R_USER], m[F_USER]) == 1:
                            again = same_field(data, m[last + R_VERSION], m[F_VERSION])
            m[row + R_TOLD] = 1 - again
            m[STREAMS + stream * STREAM_WORDS + S_ROW] = row
    return row


def listed(data, at, end, options):
    """Where the further sqns of a NAK or NCF begin, behind ``at`` and its two NLAs: an option of
    type 2, which has its length and two reserved bytes before them (raims.md 2); ``end``: there is
    none; 0: it is cut short, or a list of its own is missing.
    """
    cursor = at + 4
    turns = 0
    while turns < 2:  # source and group NLA
        if cursor + 2 > end:
            return 0
        cursor = cursor + (20 if u16be(data, cursor) == 2 else 8)
        turns = turns + 1
    if options & 2 == 0:
        return end
    while cursor + 4 <= end:
        if u8(data, cursor) & 0x7F == 2:
            return cursor + 4
        size = u8(data, cursor + 1)
        if size < 4:
            return 0
        cursor = cursor + size
    return 0


def list_stop(data, cursor, end):
    """Where a list that begins at ``cursor`` ends."""
    if cursor >= end:
        return end
    stop = cursor - 4 + u8(data, cursor - 3)
    return stop if stop < end else end


def tell_sqns(data, at, end, options, row, text, m):
    """The sqns of a NAK or NCF, its list included, as ranges (raims.md 2); ``at``: the header's
    end. Where it is cut short, or a list of its own is missing, Python looks.
    """
    if m[W_TEXT] + 65536 > m[W_TEXT_ROOM]:
        return 0
    cursor = listed(data, at, end, options)
    if cursor == 0:
        return 0
    stop = list_stop(data, cursor, end)
    sqn = u32be(data, at)
    out = m[W_TEXT]
    text[out] = 91
    out = out + 1
    more = 1
    while more == 1:
        text[out] = 91
        out = put_number(sqn, text, out + 1)
        text[out] = 44
        out = put_number(sqn + 1, text, out + 1)
        text[out] = 93
        out = out + 1
        more = 0
        if cursor + 4 <= stop:
            sqn = u32be(data, cursor)
            cursor = cursor + 4
            text[out] = 44
            out = out + 1
            more = 1
    text[out] = 93
    m[row + R_TEXT_AT] = m[W_TEXT]
    m[row + R_TEXT_STOP] = out + 1
    m[W_TEXT] = out + 1
    return 1
