"""The walk over PGM packets and the raims messages in them (raims.md 2, 3, 5; decoders/README.md
4).

``decode`` takes the datagrams of one chunk in order. Of PGM it writes a row a packet, or one for a
run of ODATA with consecutive sqns; of the raims messages ("CABA") in ODATA and RDATA a row for a
run of consecutive seqnos of one publisher and subject on one link; all runs end where a daemon
subscribes or stops. Of other messages, inbox headers and NAKs it writes a row and the JSON of its
``detail`` into ``text``, where that is plain: fields as they should be, strings of printable ASCII.
Everything else is only located, for Python to read, and so is all of it where there is no room for
text. A link is what messages come in order on: a TSI, or the two ends of an inbox; runs of a TSI
end where its packets are out of order.

All tables are parts of one int64 array ``m``. Links last for the whole piece, the rest for a call.
``text`` begins with the words of the JSON; NAMES says where each is.
"""

# ruff: noqa: F403, F405, SIM102, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.raims.field_kernels import *
from seqaudit.decoders.raims.message_kernels import *
from seqaudit.decoders.raims.pgm_words import *

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("decode", "frames")


def frames(data, at, stop, longest, out, room):
    """Messages back to back from ``at`` on: (where they end, how many). What is no message, not
    there to its end or longer than ``longest`` is left to the caller.
    """
    count = 0
    more = 1
    while more == 1 and count < room:
        more = 0
        if is_message(data, at, stop) == 1:
            size = message_size(data, at)
            if size >= 48 and size <= longest and size <= stop - at:
                out[2 * count] = at
                out[2 * count + 1] = at + size
                count = count + 1
                at = at + size
                more = 1
    return at, count


def messages(data, at, stop, link, sqn, index, text, m):
    """Rows for the messages in [at, stop); returns the index after the last."""
    cursor = at
    while cursor < stop:
        if is_message(data, cursor, stop) == 0:
            if m[LINKS + link * LINK_WORDS + L_RAIMS] == 0:
                m[LINKS + link * LINK_WORDS + L_UNREAD] = 1
                return index
            row = new_row(UNREAD, link, index, m)
            m[row + R_BODY_AT] = cursor
            m[row + R_BODY_STOP] = stop
            m[row + R_SQN] = sqn
            m[row + R_LAST_SQN] = sqn
            return index + 1
        m[LINKS + link * LINK_WORDS + L_RAIMS] = 1
        size = message_size(data, cursor)
        end = cursor + size
        room = u16be(data, cursor + 46)
        body = cursor + 48 + room + room % 2
        if end > stop or body > end:
            row = new_row(UNREAD, link, index, m)
            m[row + R_BODY_AT] = cursor
            m[row + R_BODY_STOP] = stop
            m[row + R_SQN] = sqn
            m[row + R_LAST_SQN] = sqn
            return index + 1
        word = u8(data, cursor)
        fields = read_number(data, body, end, SEQNO_FIELD)
        if word & 0x60 != 0 or fields == 0:
            if word & 0x60 == 0x40:  # who subscribes decides about what follows, whoever sent it
                m[W_FLOOR] = m[W_ROWS]
            if control(data, cursor, end, link, sqn, index, text, m) == 0:
                row = new_row(MESSAGE, link, index, m)
                m[row + R_BODY_AT] = cursor
                m[row + R_BODY_STOP] = end
                m[row + R_WORD] = word
                m[row + R_PATH] = u8(data, cursor + 1)
                m[row + R_SQN] = sqn
                m[row + R_LAST_SQN] = sqn
                m[row + R_SIZE] = size
        else:
            seqno = number_at(data, body, fields)
            chain = NONE
            time = NONE
            further = read_number(data, fields, end, CHAIN_FIELD)
            if further != 0:
                chain = number_at(data, fields, further)
                fields = further
            further = read_number(data, fields, end, TIME_FIELD)
            if further != 0:
                time = number_at(data, fields, further)
            path = -1
            if word & 8 != 0:
                path = u8(data, cursor + 1)
                m[C_GLSNO] = m[C_GLSNO] + 1
            else:
                m[C_DATA] = m[C_DATA] + 1
            crc = u32be(data, cursor + 4)
            if u16be(data, cursor + 2) == 0:
                crc = 0
            stream = find_stream(data, cursor + 10, cursor + 48, room, crc, path, m)
            place = STREAMS + stream * STREAM_WORDS
            row = m[place + S_ROW]
            joined = 0
            if row >= m[W_FLOOR] and row >= m[LINKS + link * LINK_WORDS + L_FLOOR]:
                # the same messages on another link are ordered against these
                if row > 0 and m[row + R_LINK] == link and m[row + R_STOP] == seqno:
                    if chain == NONE and m[row + R_CHAIN] == NONE and m[row + R_WORD] == word:
                        if m[row + R_FLAGS] == m[D_FLAGS] and (m[row + R_TIME] == NONE) == (
                            time == NONE
                        ):
                            joined = 1
            if joined == 1 and m[D_AT] - m[row + R_LAST_AT] > FRAME_NS:
                joined = 0
            if seqno == 9223372036854775807:
                joined = 0
            if joined == 1:
                m[row + R_STOP] = seqno + 1
                m[row + R_COUNT] = m[row + R_COUNT] + 1
                m[row + R_SIZE] = m[row + R_SIZE] + size
                m[row + R_LAST_FRAME] = m[D_FRAME]
                m[row + R_LAST_AT] = m[D_AT]
                m[row + R_LAST_SQN] = sqn
            else:
                row = new_row(MESSAGES, link, index, m)
                m[place + S_ROW] = row
                m[row + R_SEQNO] = seqno
                m[row + R_STOP] = seqno
                if seqno < 9223372036854775807:
                    m[row + R_STOP] = seqno + 1
                m[row + R_SIZE] = size
                m[row + R_SQN] = sqn
                m[row + R_LAST_SQN] = sqn
                m[row + R_STREAM] = stream
                m[row + R_TIME] = time
                m[row + R_CHAIN] = chain
                m[row + R_WORD] = word
                m[row + R_PATH] = u8(data, cursor + 1)
        index = index + 1
        cursor = end
    return index


def is_above(sqn, other):
    """1 where a sqn comes behind another, on the circle of 32 bits."""
    ahead = (sqn - other) & 4294967295
    if ahead > 0 and ahead < 2147483648:
        return 1
    return 0


def far_below(sqn, trail):
    """A sqn from which on something may be missing below another, of which nothing is known."""
    if trail == 0 and sqn < 1073741824:  # the sender keeps all that it has sent
        return 0
    return (sqn - 1073741824) & 4294967295


def shows(place, stop, m):
    """Sqns below ``stop`` were sent: what has not come is missing perhaps, or comes late."""
    ahead = (stop - m[place + L_NEXT]) & 4294967295
    if m[place + L_NEXT] < 0 or ahead == 0 or ahead >= 65536:
        return
    low = (m[place + L_NEXT] - m[W_WINDOW]) & 4294967295
    if is_above(m[place + L_HIGH], m[place + L_LOW]) == 0 or is_above(m[place + L_HIGH], low) == 0:
        m[place + L_LOW] = m[place + L_NEXT] & 4294967295
    if is_above(stop, m[place + L_HIGH]) == 1:
        m[place + L_HIGH] = stop & 4294967295


def highest(data, at, end, options):
    """The highest sqn of a NAK or NCF; ``at``: the header's end."""
    found = u32be(data, at)
    cursor = listed(data, at, end, options)
    if cursor == 0:
        return found
    stop = list_stop(data, cursor, end)
    while cursor + 4 <= stop:
        if is_above(u32be(data, cursor), found) == 1:
            found = u32be(data, cursor)
        cursor = cursor + 4
    return found


def goes_on(data, at, link, sqn, m):
    """1 where an ODATA belongs to the open run of its TSI. While something may be missing in a
    receive window it does not where the time of this one packet counts: it may be missing itself,
    or is the one by which a sqn falls out of the window, or the first of a step of the clock, when
    what receivers have waited for long enough is given up.
    """
    place = LINKS + link * LINK_WORDS
    row = m[place + L_OPEN]
    if row < m[W_FLOOR] or row == 0:
        return 0
    if m[row + R_STOP] != sqn or m[row + R_FLAGS] != m[D_FLAGS]:
        return 0
    if m[row + R_SOURCE] != m[D_SOURCE] or m[row + R_WORD] != u8(data, at + 5):
        return 0
    out = (sqn - m[W_WINDOW]) & 4294967295
    if is_above(m[place + L_HIGH], m[place + L_LOW]) == 1:
        if is_above(m[place + L_HIGH], sqn) == 1 and is_above(m[place + L_LOW], sqn) == 0:
            return 0
        if is_above(m[place + L_HIGH], out) == 1:
            if is_above(m[place + L_LOW], out) == 0:
                return 0
            if m[D_AT] >> STEP_BITS != m[row + R_LAST_AT] >> STEP_BITS:
                return 0
    return 1


def pgm(data, at, end, length, text, m):
    """One PGM packet; returns its outcome: 1 decoded, 4 cut."""
    sort = u8(data, at + 4)
    gsi = u16be(data, at + 8) * 4294967296 + u32be(data, at + 10)
    port = u16be(data, at)
    if is_answer(sort) == 1:
        port = u16be(data, at + 2)
    link = find_link(gsi, port, m)
    place = LINKS + link * LINK_WORDS
    m[COUNTS + (sort & 15)] = m[COUNTS + (sort & 15)] + 1
    if sort != ODATA and sort != RDATA:
        row = new_row(PGM_OTHER, link, 0, m)
        m[row + R_COLUMN] = sort
        m[row + R_WORD] = u8(data, at + 5)
        m[row + R_BODY_AT] = at + 16
        m[row + R_BODY_STOP] = end
        m[row + R_SIZE] = length
        if sort == SPM and at + 28 <= end:
            m[row + R_SQN] = u32be(data, at + 16)
            m[row + R_TRAIL] = u32be(data, at + 20)
            m[row + R_LEAD] = u32be(data, at + 24)
            shows(place, m[row + R_LEAD] + 1, m)
        if sort == NAK or sort == NCF or sort == NNAK:
            if at + 20 <= end:
                m[row + R_SEQNO] = u32be(data, at + 16)
                if u8(data, at + 5) & PARITY == 0:  # else its number is that of a group of packets
                    tell_sqns(data, at + 16, end, u8(data, at + 5), row, text, m)
                    shows(place, highest(data, at + 16, end, u8(data, at + 5)) + 1, m)
        m[place + L_OPEN] = 0
        m[place + L_FLOOR] = m[W_ROWS]
        if length > end - at:
            return 4
        return 1
    sqn = u32be(data, at + 16)
    trail = u32be(data, at + 20)
    body = at + 24
    if u8(data, at + 5) & 1 == 1:
        body = body + u16be(data, at + 26)
    next_sqn = m[place + L_NEXT]
    late = 0
    if sort == ODATA and next_sqn >= 0:
        late = is_above(next_sqn, sqn)
    if m[place + L_SEEN] == 0 or (sort == ODATA and next_sqn < 0):
        m[place + L_SEEN] = 1  # what is missing may have been shown before this piece began
        m[place + L_LOW] = far_below(sqn, trail)
        m[place + L_HIGH] = sqn
    elif late == 1:  # or numbered anew: as new
        m[place + L_LOW] = far_below(sqn, trail)
        if is_above(sqn, m[place + L_HIGH]) == 1:
            m[place + L_HIGH] = sqn
    index = 0
    passes = is_above(trail, m[place + L_LOW])
    if passes == 1 and is_above(m[place + L_HIGH], m[place + L_LOW]) == 1:
        row = new_row(TRAILED, link, 0, m)
        m[row + R_TRAIL] = trail
        m[place + L_LOW] = trail
        m[place + L_OPEN] = 0
        m[place + L_FLOOR] = m[W_ROWS]
        index = 1
    if sort == ODATA and goes_on(data, at, link, sqn, m) == 1:
        row = m[place + L_OPEN]
        m[row + R_STOP] = sqn + 1
        m[row + R_COUNT] = m[row + R_COUNT] + 1
        m[row + R_SIZE] = m[row + R_SIZE] + length
        m[row + R_LAST_FRAME] = m[D_FRAME]
        m[row + R_LAST_AT] = m[D_AT]
    else:
        m[place + L_FLOOR] = m[W_ROWS]
        row = new_row(PGM_DATA, link, index, m)
        m[row + R_COLUMN] = sort
        m[row + R_SEQNO] = sqn
        m[row + R_STOP] = sqn + 1
        m[row + R_SIZE] = length
        m[row + R_WORD] = u8(data, at + 5)
        m[row + R_TRAIL] = trail
        m[place + L_OPEN] = 0
        if sort == ODATA and late == 0:  # those that are late came at a time each
            m[place + L_OPEN] = row
    index = index + 1
    if sort == ODATA and length > LARGE_BYTES:
        row = new_row(LARGE, link, index, m)
        m[row + R_SEQNO] = sqn
        m[row + R_STOP] = sqn + 1
        m[row + R_COUNT] = 0
        m[row + R_SIZE] = length
        index = index + 1
    if sort == ODATA:
        skipped = (sqn - next_sqn) & 4294967295
        shows(place, sqn, m)
        if next_sqn >= 0 and skipped >= 65536 and skipped < 2147483648:  # as in a new piece
            m[place + L_LOW] = far_below(sqn, trail)
            m[place + L_HIGH] = sqn
        if next_sqn < 0 or skipped < 2147483648:
            m[place + L_NEXT] = sqn + 1
    else:
        shows(place, sqn + 1, m)
    if m[W_MODE] != 1:
        if length > end - at:
            return 4
        return 1
    if length > end - at:
        return 4
    if end - body >= 32:
        if u32be(data, end - 4) == PIECE_MARK:
            m[place + L_RAIMS] = 1
            row = new_row(PIECE, link, index, m)
            m[row + R_BODY_AT] = body
            m[row + R_BODY_STOP] = end
            m[row + R_SQN] = sqn
            m[row + R_LAST_SQN] = sqn
            return 1
    messages(data, body, end, link, sqn, index, text, m)
    return 1


def is_inbox(data, at, stop, length):
    """1 where the datagram has an inbox header that fits it (raims.md 3)."""
    if stop - at < 24:
        return 0
    code = u32le(data, at)
    if code & 0x3F != 0x33:
        return 0
    size = u32le(data, at + 20)
    if size + 24 != length:
        return 0
    sort = code >> 6 & 7
    if sort > 2:
        return 0
    uid = u32le(data, at + 4)
    if uid > 65535 and uid != 4294967295:
        return 0
    uid = u32le(data, at + 8)
    if uid > 65535 and uid != 4294967295:
        return 0
    if sort != 0:
        if size == 0:
            return 1
        return 0
    if size == 0:
        return 0
    if code >> 10 & 1 == 1:
        return 1
    if stop - at < 72:
        return 1 if length > stop - at else 0
    return is_message(data, at + 24, stop)


def inbox(data, at, end, length, text, m):
    """Rows of an inbox datagram; 0: it is not plain, and Python has to read it."""
    if m[W_TEXT] + 256 > m[W_TEXT_ROOM] or length != end - at:
        return 0
    code = u32le(data, at)
    if code >> 10 & 1 == 1:  # a fragment
        return 0
    sort = code >> 6 & 7
    cursor = at + 24
    while cursor < end:
        if is_message(data, cursor, end) == 0:
            return 0
        size = message_size(data, cursor)
        room = u16be(data, cursor + 46)
        if size > end - cursor or 48 + room + room % 2 > size:
            return 0
        cursor = cursor + size
    link = find_link(m[D_SOURCE] * 65536 + m[D_PORT], m[D_DESTINATION] * 65536 + m[D_TO_PORT], m)
    seqno = u32le(data, at + 12)
    source_uid = u32le(data, at + 4)
    destination_uid = u32le(data, at + 8)
    known = source_uid + 1
    if source_uid == 4294967295:
        known = 0
    row = new_row(INBOX_HEAD, link, 0, m)
    m[row + R_SEQNO] = seqno
    m[row + R_SIZE] = length
    m[row + R_SQN] = seqno
    m[row + R_LAST_SQN] = seqno
    m[row + R_CONNECTION] = code >> 12 & 1023 | known << 10
    m[row + R_ACKNOWLEDGED] = u32le(data, at + 16)
    m[row + R_COLUMN] = sort + (code >> 9 & 1) * 4
    out = put_phrase(P_DEST_ID, text, m[W_TEXT], m)
    out = put_number(code >> 22, text, out)
    out = put_phrase(P_DESTINATION, text, out, m)
    if destination_uid == 4294967295:
        out = put_phrase(P_NULL, text, out, m)
    else:
        out = put_number(destination_uid, text, out)
    out = put_phrase(P_IDENT, text, out, m)
    out = put_number(code >> 12 & 1023, text, out)
    out = put_phrase(P_SOURCE, text, out, m)
    if source_uid == 4294967295:
        out = put_phrase(P_NULL, text, out, m)
    else:
        out = put_number(source_uid, text, out)
    text[out] = 125
    m[row + R_TEXT_AT] = m[W_TEXT]
    m[row + R_TEXT_STOP] = out + 1
    m[W_TEXT] = out + 1
    index = 1
    cursor = at + 24
    while cursor < end:
        size = message_size(data, cursor)
        if control(data, cursor, cursor + size, link, seqno, index, text, m) == 0:
            row = new_row(INBOX_MESSAGE, link, index, m)
            m[row + R_BODY_AT] = cursor
            m[row + R_BODY_STOP] = cursor + size
            m[row + R_SIZE] = length
            m[row + R_SQN] = seqno
            m[row + R_LAST_SQN] = seqno
        cursor = cursor + size
        index = index + 1
    return 1


def decode(
    data,
    count,
    start,
    stop,
    length,
    source,
    destination,
    source_port,
    destination_port,
    flags,
    at_ns,
    frame,
    ip_id,
    barrier,
    wanted,
    outcome,
    text,
    m,
):
    """Decode datagrams from ``m[W_NEXT]`` on; (next one, rows). Stops early where room ends."""
    i = m[W_NEXT]
    room = 1
    while i < count and room == 1:
        if m[W_ROWS] + MOST + 4 > OUT + ROWS or m[W_STREAMS] + MOST + 2 > STREAM_LIMIT:
            room = 0
        if m[W_LINKS] + 2 >= LINK_LIMIT:  # the caller forgets all links
            room = 0
        if m[W_TEXT_ROOM] > 0 and m[W_ROWS] > OUT:
            if m[W_TEXT] + DATAGRAM_TEXT > m[W_TEXT_ROOM]:
                room = 0
        if room == 1:
            if barrier[i] > 0:
                m[W_FLOOR] = m[W_ROWS]
            if barrier[i] != 1 and wanted[i] >= 0:
                at = start[i]
                end = stop[i]
                m[D_NUMBER] = i
                m[D_FRAME] = frame[i]
                m[D_AT] = at_ns[i]
                m[D_SOURCE] = source[i]
                m[D_DESTINATION] = destination[i]
                m[D_PORT] = source_port[i]
                m[D_TO_PORT] = destination_port[i]
                m[D_FLAGS] = flags[i]
                m[D_ID] = ip_id[i]
                if m[W_MODE] == 4:
                    messages(data, at, end, wanted[i], 0 - 1, 0, text, m)
                    outcome[i] = 1
                elif m[W_MODE] == 3:
                    if is_inbox(data, at, end, length[i]) == 1:
                        if inbox(data, at, end, length[i], text, m) == 0:
                            row = new_row(INBOX, 0, 0, m)
                            m[row + R_BODY_AT] = at
                            m[row + R_BODY_STOP] = end
                            m[row + R_SIZE] = length[i]
                        outcome[i] = 1
                        if length[i] > end - at:
                            outcome[i] = 4
                    elif is_message(data, at, end) == 1:
                        if message_size(data, at) == length[i]:
                            row = new_row(NAMED, 0, 0, m)
                            m[row + R_BODY_AT] = at
                            m[row + R_BODY_STOP] = end
                            m[row + R_SIZE] = length[i]
                            outcome[i] = 1
                            if length[i] > end - at:
                                outcome[i] = 4
                elif is_pgm(
                    data, at, end, length[i], m[D_TO_PORT], wanted[i] & 1, wanted[i] >> 2 & 1
                ) == 1:  # fmt: skip
                    wrong = wanted[i] >> 1 & 1  # the caller has looked at the checksum
                    if m[W_CHECK] == 1:
                        wrong = is_damaged(data, at, end, length[i])
                    if wrong == 1:
                        m[C_DAMAGED] = m[C_DAMAGED] + 1
                        outcome[i] = 3
                    else:
                        outcome[i] = pgm(data, at, end, length[i], text, m)
                elif wanted[i] >> 2 & 1 == 1:
                    outcome[i] = 4
                    if length[i] <= end - at:
                        m[C_REFUSED] = m[C_REFUSED] + 1
                        outcome[i] = 5
            i = i + 1
    m[W_NEXT] = i
    return i, m[W_ROWS] - OUT
