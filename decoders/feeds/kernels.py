"""Datagrams of feeds into runs, whatever their layout, in the restricted style of
decoders/README.md 4.

One entry point: ``decode``. Who a datagram belongs to is found once per pair of ends and kept in
CHANNELS; what its fields are says the layout that ``decoders.feeds.tables`` has written into ``m``.
Streams are found by comparing whole keys and keep the run that is open; a row is written when a run
ends. The channel remembers its last stream, so a datagram of the usual feed costs two comparisons
of ends, one of the key, and its numbers. Streams and open runs last from call to call.

A datagram may hold several units, each with fields of its own (``repeat``): it is read unit by
unit, and goes on at the next one where rows or streams were full in between.
"""

# ruff: noqa: F403, F405, SIM102, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.feeds.field_kernels import *
from seqaudit.decoders.feeds.stream_kernels import *
from seqaudit.decoders.feeds.words import *
from seqaudit.decoders.kernels.reads import *

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("decode",)


def blocks_of(data, at, stop, most, f, m):
    """How many blocks there are from F_BLOCKS on, each behind its length; -1: they do not end at
    ``stop``, or are more than ``most``."""
    width = m[f + F_BLOCK_WIDTH]
    cursor = at + m[f + F_BLOCKS]
    big = m[f + F_BLOCK_BIG]
    found = 0
    while cursor + width <= stop:
        size = 0
        if width == 2 and big == 1:
            size = u16be(data, cursor)
        else:
            for o in range(width):
                byte = u8(data, cursor + o) if big == 1 else u8(data, cursor + width - 1 - o)
                size = size << 8 | byte
        if size > stop - cursor - width:
            return -1
        cursor = cursor + width + size
        found = found + 1
        if found > most:
            return -1
    return found


def odd_blocks(data, at, stop, count, f, m):
    """1 if from F_BLOCKS on there are not ``count`` blocks."""
    if blocks_of(data, at, stop, count, f, m) != count:
        return 1
    return 0


def counted(data, at, room, length, f, m):
    """How many numbers a unit takes; -1: it cannot be told, or is beyond 2^63 - 1."""
    how = m[f + F_COUNTING]
    if how == BY_BYTES:
        size = length - m[f + F_COUNTED_FROM]
        unit = m[f + F_COUNTED_UNIT]
        if size < 0 or unit <= 0:
            return 0
        return size // (unit if unit > 0 else 1)
    if how == BY_BLOCKS:
        if room < length:
            return -1
        return blocks_of(data, at, at + length, 65535, f, m)
    if how == BY_RECORDS:
        return m[H_RECORDS] if room == length else -1
    if m[f + F_COUNT] != 0:
        return number(data, at, m[f + F_COUNT], m)
    return m[f + F_CONSTANT]


def numbered(data, at, f, m):
    """The number of a unit; -1: beyond 2^63 - 1; -2: between two multiples of F_STEP."""
    seqno = number(data, at, m[f + F_SEQNO], m)
    step = m[f + F_STEP]
    if seqno < 0 or step <= 1:
        return seqno
    if seqno % (step if step > 1 else 1) != 0:
        return -2
    return seqno // (step if step > 1 else 1)


def refused(f, why, outcome, m):
    """Count a unit that cannot be taken."""
    m[f + why] = m[f + why] + 1
    return outcome


def unit(data, c, f, inside, at, room, length, m):
    """One unit of a feed: its Outcome, 0: nobody's, or FULL."""
    m[H_END] = at + length
    whole = 1 if room >= m[f + F_ALL] else 0
    there = 1
    if whole == 1 and m[f + F_LOOSE_COUNT] > 0:
        there = loose(data, at, f, m)
        if there != 1:
            whole = 0
    if m[f + F_REQUIRED_COUNT] > 0 and whole == 1:
        if holds(data, at, room, m[f + F_REQUIRED], m[f + F_REQUIRED_COUNT], m) == 0:
            return refused(f, F_REFUSED, 0, m)
    if whole == 0 and length > room and there >= 0:
        return refused(f, F_CUT, TRUNCATED, m)
    if there < 0:
        return refused(f, F_SHORT, MALFORMED, m)
    bits = m[c + C_BITS]
    unicast = 1 if m[H_FLAG] & FLAG_MULTICAST == 0 else 0
    message = 0
    if m[f + F_SWITCH] != 0 and bits == 0 and unicast == 0 and whole == 1:
        value = number(data, at, m[f + F_SWITCH], m)
        if value < m[f + F_SWITCH_LOW] or value > m[f + F_SWITCH_HIGH]:
            message = message_of(data, at, room, length, f, bits, unicast, m)
    elif m[f + F_MESSAGE_COUNT] > 0:
        message = message_of(data, at, room, length, f, bits, unicast, m)
    sort = IS_DATA
    says = SAYS_NEXT
    need = m[f + F_NEED]
    if message > 0:
        e = m[f + F_MESSAGES] + (message - 1) * MESSAGE_WORDS
        sort = m[e + M_SORT]
        says = m[e + M_SAYS]
        need = m[e + M_NEED]
    elif inside == 0:  # only at the place of a message that it is not
        return 0
    if room < need:
        return refused(f, F_SHORT, MALFORMED, m)
    seqno = NONE
    stop = NONE
    items = 0
    limit = m[f + F_LIMIT]
    if sort != IS_IGNORE and says != SAYS_NOTHING:
        seqno = numbered(data, at, f, m)
        if seqno == -2:
            return refused(f, F_BETWEEN, MALFORMED, m)
        if sort == IS_DATA or sort == IS_REPAIR or sort == IS_REQUEST:
            items = counted(data, at, room, length, f, m)
            counting = m[f + F_COUNTING]
            if items < 0 and (counting == BY_BLOCKS or counting == BY_RECORDS):
                if room < length:
                    return refused(f, F_CUT, TRUNCATED, m)
                if items == -1 and counting == BY_RECORDS:
                    return refused(f, F_UNKNOWN, UNDECODABLE, m)
                return refused(f, F_BROKEN, MALFORMED, m)
            if seqno < 0 or items < 0 or items > 9223372036854775807 - seqno:
                return refused(f, F_LARGE, MALFORMED, m)
            stop = seqno + items
            if limit > 0 and (seqno >= limit or items > limit):
                return refused(f, F_BEYOND, MALFORMED, m)
        else:
            if seqno < 0 or (says == SAYS_LAST and seqno == 9223372036854775807):
                return refused(f, F_LARGE, MALFORMED, m)
            if limit > 0 and seqno > limit:
                return refused(f, F_BEYOND, MALFORMED, m)
            stop = seqno + 1 if says == SAYS_LAST else seqno
            seqno = stop - 1 if stop > 0 else NONE
    s = 0
    aside = is_aside(c, f, sort, message, m)
    if sort != IS_IGNORE:
        s = stream_of(data, c, f, at, sort, aside, m)
        if s == 0:
            return FULL
    if m[H_UNITS] == 0:
        m[f + F_TAKEN] = m[f + F_TAKEN] + 1
    total = f + F_TOTALS + message
    if sort == IS_DATA or sort == IS_REPAIR:
        m[total] = m[total] + items
    else:
        m[total] = m[total] + 1
    if sort == IS_IGNORE:
        return DECODED
    if items == 0 and sort == IS_DATA and m[f + F_COUNTING] == BY_RECORDS:
        # a message of templates alone has the number that the next record will have
        last = seqno - 1 if seqno > 0 else NONE
        heard(s, f, message, its_turn(s, f, IS_HEARTBEAT, aside, m), last, seqno, length, m)
        return DECODED
    if items == 0 and (sort == IS_DATA or sort == IS_REPAIR or sort == IS_REQUEST):
        return DECODED
    turn = its_turn(s, f, sort, aside, m)
    if sort == IS_DATA or sort == IS_REPAIR:
        odd = 0
        if m[f + F_BLOCKS] >= 0 and room == length:
            odd = odd_blocks(data, at, at + length, items, f, m)
        by = 0
        if m[f + F_BY] != 0:
            by = number(data, at, m[f + F_BY], m)
        stamp = 0
        if m[f + F_STAMP] != 0 and m[f + F_LOGGED] == 1 and sort == IS_DATA:
            stamp = number(data, at, m[f + F_STAMP], m)
        take(s, f, sort, message, aside, turn, seqno, stop, length, by, odd, stamp, m)
    elif sort == IS_HEARTBEAT:
        heard(s, f, message, turn, seqno, stop, length, m)
    else:
        end_run(s, m)
        wanted = REQUEST
        if sort == IS_RESET:
            wanted = RESET
        elif sort == IS_END:
            wanted = CLOSE
        single(s, wanted, f, message, seqno, stop, length, m)
        end_run(s, m)
    return DECODED


def stream_of(data, c, f, at, sort, aside, m):
    """The place of the stream of a unit, new if need be; 0: the table is full."""
    placed = 1
    if sort == IS_REQUEST or sort == IS_REPAIR:
        placed = 0
    words = 0
    if m[f + F_KEY_COUNT] > 0:
        words = read_key(data, at, f, m)
    ident = f << 8 | (1 if placed == 1 else 2)
    place = 0
    source = 0
    to = m[H_TO]
    start = m[H_START]
    if placed == 1:
        parts = m[f + F_PARTS]
        if m[c + C_LINE] > 0:  # stands for all ends: those of two lines differ
            place = m[c + C_LINE] << 40
        else:
            if parts & 1 == 1:
                place = to >> 16 << 16
            if parts & 2 == 2:
                place = place | to & 65535
            if parts & 4 == 4:
                source = start >> 16 << 16
            if parts & 8 == 8:
                source = source | start & 65535
    found = m[c + C_STREAM]
    if found > 0:
        s = m[H_STREAM_ROWS] + found * m[H_STRIDE]
        if same_key(s, ident, place, source, words, m) == 1:
            return s
    before = m[H_STREAMS]
    found = find_stream(ident, place, source, words, m)
    if found == 0:
        return 0
    m[c + C_STREAM] = found
    if m[H_STREAMS] > before and placed == 1:
        row = m[H_ROWS]
        for n in range(WIDTH):
            m[row + n] = 0
        m[row + KIND] = FACTS
        m[row + STREAM] = found
        m[row + FEED] = m[f + F_NUMBER]
        m[row + FRAME] = m[H_FRAME]
        m[row + INDEX] = -1
        m[row + LAST_FRAME] = m[H_FRAME]
        m[row + AT] = m[H_TIME]
        m[row + LAST_AT] = m[H_TIME]
        m[row + SOURCE] = start
        m[row + DESTINATION] = to
        m[row + SEQNO] = NONE
        m[row + STOP] = NONE
        m[row + ID] = -1
        m[row + LAST_ID] = -1
        m[H_ROWS] = row + WIDTH
    return m[H_STREAM_ROWS] + found * m[H_STRIDE]


def full(m):
    """1 if the rows or samples that one unit may need have no room."""
    if m[H_ROWS] > m[H_OUT_STOP] - ROOM * WIDTH or m[H_LOG] > m[H_LOG_STOP] - LOG_ROOM * LOG_WORDS:
        return 1
    return 0


def datagram(data, c, at, room, length, m):
    """A datagram that is not the usual one: its Outcome, 0: nobody's, or FULL."""
    f = m[c + C_FEED]
    inside = m[c + C_INSIDE]
    if f == 0:
        inside = 1
        f = m[H_FROM]
        if m[H_UNITS] == 0:
            f = anywhere(data, at, room, length, m[H_TO], m[H_START], m)
            if f == 0:
                return 0
            m[H_FROM] = f
            if m[f + F_FIRST_ANYWHERE] == 1 and m[H_FLAG] & FLAG_MULTICAST != 0:
                m[c + C_PLAIN] = f  # equal keys are recognised alike
                m[c + C_TOP] = m[f + F_TOP]
    if m[f + F_REPEAT] == ONE_UNIT:
        return unit(data, c, f, inside, at, room, length, m)
    outcome = 0
    cursor = m[f + F_REPEAT_FIRST]
    if m[H_UNITS] > 0:
        cursor = m[H_UNIT]
        outcome = DECODED
    most = MOST_UNITS
    d = m[f + F_REPEAT_COUNT]
    if d != 0:
        most = 0
        if room >= m[d + D_END]:
            most = number(data, at, d, m)
    if d != 0 and room >= m[d + D_END] and most == 0:  # there is nothing in it
        m[f + F_TAKEN] = m[f + F_TAKEN] + 1
        return DECODED
    if cursor >= length or most <= 0:
        if length > room:
            return refused(f, F_CUT, TRUNCATED, m)
        return refused(f, F_SHORT, MALFORMED, m)
    while cursor < length and m[H_UNITS] < most:
        if m[H_UNITS] > 0 and full(m) == 1:
            m[H_UNIT] = cursor
            return FULL
        size = unit_size(data, at + cursor, room - cursor, f, m)
        captured = room - cursor
        found = 0
        if size <= 0 and room < length:
            found = refused(f, F_CUT, TRUNCATED, m)
        elif size <= 0 or cursor + size > length:
            found = refused(f, F_BROKEN, MALFORMED, m)
        else:
            if captured > size:
                captured = size
            found = unit(data, c, f, inside, at + cursor, captured, size, m)
        if found == FULL:
            m[H_UNIT] = cursor
            return FULL
        if found != DECODED:
            if outcome == 0:
                outcome = found
            break
        outcome = DECODED
        cursor = cursor + size
        m[H_UNITS] = m[H_UNITS] + 1
    m[H_UNITS] = 0
    return outcome


def same_bytes(data, at, s, f, m):
    """1 if a datagram has the key of stream ``s``, whose fields are compared as they are."""
    p = m[f + F_KEYS]
    word = s + KEY
    for _ in range(m[f + F_KEY_COUNT]):
        o = at + m[p + 1]
        if m[p] == PIECE_NETWORK:
            if m[H_NETWORK] >> (m[p + 1] & 63) & m[p + 2] != m[word]:
                return 0
        elif m[p] == PIECE_FOUR:
            if u32be(data, o) != m[word]:
                return 0
        elif m[p + 2] == 2:
            if u16be(data, o) != m[word]:
                return 0
        elif m[p + 2] == 1:
            if u8(data, o) != m[word]:
                return 0
        elif u16be(data, o) << 8 | u8(data, o + 2) != m[word]:
            return 0
        p = p + PIECE_WORDS
        word = word + 1
    return 1


def decode(data, count, starts, stops, lengths, sources, destinations, from_ports, to_ports,
           flags, ids, times, frames, barriers, networks, records, outcomes, m):  # fmt: skip
    """Datagrams from H_NEXT on into rows; see ``feeds.tables`` for ``m``, ``feeds.records``.

    Returns:
        (next,): the datagram to go on with; less than ``count`` where rows, streams or samples are
        full: the caller takes the rows, makes room and calls again.
    """
    out_stop = m[H_OUT_STOP] - ROOM * WIDTH
    log_stop = m[H_LOG_STOP] - LOG_ROOM * LOG_WORDS
    i = m[H_NEXT]
    while i < count:
        if m[H_ROWS] > out_stop or m[H_LOG] > log_stop:
            break
        if barriers[i] != 0:
            m[H_BARRIERS] = m[H_BARRIERS] + 1
            i = i + 1
            continue
        if outcomes[i] != 0:
            i = i + 1
            continue
        at = starts[i]
        room = stops[i] - at
        length = lengths[i]
        to = destinations[i] << 16 | to_ports[i]
        start = sources[i] << 16 | from_ports[i]
        flag = flags[i]
        m[H_NETWORK] = networks[i]
        m[H_RECORDS] = records[i]
        h = ((to ^ start * 40503) & 0x3FFFFFFFFF) * 0x9E3779
        c = CHANNELS + (h >> 24 & (CHANNEL_COUNT - 1)) * CHANNEL_WORDS
        if m[c + C_TO] != to + 1 or m[c + C_FROM] != start:
            open_channel(c, to, start, 1 if flag & FLAG_MULTICAST == 0 else 0, m)
        f = m[c + C_PLAIN]
        if f != 0 and room >= m[f + F_ALL]:
            # The usual datagram goes on with the open run. Everything is looked at before anything
            # is written; else ``datagram`` says the same at leisure. Reads are written out.
            value = 0
            usual = 1
            d = m[f + F_SWITCH]
            if d != 0:
                if m[d + D_READ] == READ_U16:
                    value = u16be(data, at + m[d + D_OFFSET])
                else:
                    value = number(data, at, d, m)
                if value < m[f + F_SWITCH_LOW] or value > m[f + F_SWITCH_HIGH]:
                    usual = 0
            items = m[f + F_CONSTANT]
            d = m[f + F_COUNT]
            if d != 0:
                if d == m[f + F_SWITCH]:
                    items = value
                elif m[d + D_READ] == READ_U16:
                    items = u16be(data, at + m[d + D_OFFSET])
                else:
                    items = number(data, at, d, m)
            s = m[H_STREAM_ROWS] + m[c + C_STREAM] * m[H_STRIDE]
            if usual == 1 and m[c + C_STREAM] > 0 and items > 0 and m[s + KIND] == DATA_RUN:
                d = m[f + F_SEQNO]
                if m[d + D_READ] == READ_U64:
                    seqno = u32be(data, at + m[d + D_OFFSET])
                    if seqno < TOP:
                        seqno = seqno << 32 | u32be(data, at + m[d + D_OFFSET] + 4)
                    else:
                        seqno = -1
                elif m[d + D_READ] == READ_U32:
                    seqno = u32be(data, at + m[d + D_OFFSET])
                else:
                    seqno = number(data, at, d, m)
                if (
                    seqno == m[s + STOP]
                    and m[s + IDENT] == f << 8 | 1
                    and m[s + SOURCE] == start
                    and m[s + DESTINATION] == to
                    and m[s + FLAGS] == flag
                    and m[s + MESSAGE] == 0
                    and m[s + BARRIERS] == m[H_BARRIERS]
                    and times[i] - m[s + LAST_AT] <= m[f + F_PAUSE]
                    and seqno <= m[c + C_TOP]
                    and items <= 9223372036854775807 - seqno
                ):
                    if m[f + F_LIMIT] > 0 and seqno + items > m[f + F_LIMIT]:
                        usual = 0
                    if m[f + F_SHARED] == 1:
                        if m[m[s + CONVERSATION]] != m[s + TURN] or m[s + TURN] & 1 == 1:
                            usual = 0
                    if usual == 1:
                        usual = same_bytes(data, at, s, f, m)
                    if usual == 1:
                        if m[f + F_BLOCKS] >= 0 and room == length:
                            m[s + ODD] = m[s + ODD] + odd_blocks(data, at, stops[i], items, f, m)
                        outcomes[i] = DECODED
                        m[f + F_TAKEN] = m[f + F_TAKEN] + 1
                        m[f + F_TOTALS] = m[f + F_TOTALS] + items
                        m[s + LAST_FRAME] = frames[i]
                        m[s + LAST_AT] = times[i]
                        m[s + STOP] = seqno + items
                        m[s + COUNT] = m[s + COUNT] + items
                        m[s + SIZE] = m[s + SIZE] + length
                        m[s + UNITS] = m[s + UNITS] + 1 + ONE_DATAGRAM
                        m[s + LAST_ID] = ids[i]
                        i = i + 1
                        continue
        m[H_FRONT] = at
        m[H_REAR] = stops[i]
        m[H_FRAME] = frames[i]
        m[H_TIME] = times[i]
        m[H_ID] = ids[i]
        m[H_TO] = to
        m[H_START] = start
        m[H_FLAG] = flag
        if m[H_UNITS] == 0:
            m[H_TOLD] = 0
        found = datagram(data, c, at, room, length, m)
        if found == FULL:
            break
        outcomes[i] = found
        i = i + 1
    m[H_NEXT] = i
    return (i,)
