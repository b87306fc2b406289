"""The JGroups walk: UDP datagrams in, rows of integers out (jgroups.md 1 to 3; decoders/README.md
4).

``decode`` takes the datagrams of one chunk in order. ``message`` reads one message and writes a row
for it; only when the whole frame was judged (nothing on the wire says "JGroups"), ``settle`` counts
its rows, joins numbered messages to runs in place and keeps what an engine wants. A full table or
output is never met inside a frame: ``decode`` stops before it and says where.

Members, addresses and clusters are small integers here, found by their bytes; 0 is "none". Objects
(views, digests, lists of seqnos) are only located.

All tables are parts of one int64 array ``m``, and helpers take no constants: every array costs each
call seven machine words, and numba compiles a helper again for every constant it is given.
"""

# ruff: noqa: F403, F405, RUF059, SIM102, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.jgroups.bare_kernels import *
from seqaudit.decoders.jgroups.header_kernels import *
from seqaudit.decoders.jgroups.kernel_words import *
from seqaudit.decoders.kernels.reads import *

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("decode",)


def payload(data, o, stop, end, kind, row, m):
    """Over the payload (1.6). Returns where it ends, which may be past ``stop``."""
    m[row + PAYLOAD_AT] = o
    if kind == 2:
        return o
    if kind == 4:
        value, o = number(data, o, stop)
        return o
    if kind == 3:
        of = 0
        if m[W_ERA] == 2 and m[W_VERSION] < V5_2_11 and o < stop:
            if u8(data, o) == 50:  # a type code in front; 0x32 is "streamable" (3)
                o += 1
            elif u8(data, o) != 0:
                of = -u8(data, o)
        if o >= stop:
            return SHORT
        if of == 0 and u8(data, o) == 0:
            return o + 1
        if of == 0 and u8(data, o) > 1:
            return BAD
        if of == 0:
            if o + 3 > stop:
                return SHORT
            of = u16be(data, o + 1)
            o += 3
        line = LAYOUT + (2 * CLASSES + of) * FIELDS
        if 0 < of < CLASSES and m[line] != IS_UNKNOWN:
            return skip_fields(data, o, stop, line, m)
        if m[W_DEPTH] == 0 and m[STACK] == 0:
            return end  # the object is the rest of the frame
        m[W_REASON] = SKIPPED_OBJECT
        m[W_FIRST] = of
        m[W_SECOND] = 0
        while o + 13 <= stop:
            # the next message begins where its head fits and its first header is beyond doubt
            if u16be(data, o) <= 7 and u8(data, o + 2) == 0 and u16be(data, o + 3) < 4096:
                if u16be(data, o + 5) <= 16 and is_strong(data, o + 7, stop, m) == 1:
                    return o
            o += 1
        m[W_REASON] = OBJECT_CLASS
        return LEFT
    if kind == 1:
        o += 1
    if o + 4 > stop:
        return SHORT
    size = i32(data, o)
    o += 4
    if kind == 5 or kind == 7:
        m[W_NESTED] = size
        if size < 0:
            return BAD
        return skip_address(data, o, stop) if kind == 7 else o
    m[row + PAYLOAD_AT] = o
    if size < -1 or size > end - o:
        return BAD
    return o + size if size > 0 else o


def message(data, o, stop, end, m):
    """One message: its row, perhaps a second one and a note. Returns the next message.

    Or SHORT, BAD, LEFT: where the frame goes wrong. A message whose payload is cut by the snap
    length or not understood has its row all the same; one that lies has none.
    """
    begin = o
    row = m[W_END]
    k = 0
    while k < WIDTH:
        m[row + k] = m[TEMPLATE + k]
        k += 1
    m[W_REASON] = 0
    m[W_NESTED] = -1
    m[W_PROTOCOL] = -1
    m[W_CLOSED] = 0
    kind = 0
    if m[W_ERA] >= 2 and m[W_BARE] == 0:
        if o + 2 > stop:
            return SHORT
        kind = u16be(data, o)
        o += 2
        if kind > 7:
            m[W_REASON] = MESSAGE_TYPE
            m[W_FIRST] = kind
            m[W_SECOND] = 0
            return LEFT
    if o + 3 > stop:
        return SHORT
    lead = u8(data, o)
    bits = u16be(data, o + 1)
    o += 3
    if lead > (3 if m[W_ERA] >= 2 else 7):
        return BAD
    if (m[W_ERA] < 2 and lead < 4) or m[W_BARE] == BARE_FD_SOCK2:
        kind = 2
    if lead % 2 == 1:
        m[row + DESTINATION], o = address(data, o, stop, m)
    if lead // 2 % 2 == 1 and o > 0:
        m[row + SOURCE], o = address(data, o, stop, m)
    if o > 0:
        o = headers(data, o, stop, row, m)
    if o < 0:
        return o
    o = payload(data, o, stop, end, kind, row, m)
    m[W_ENDS] = o
    if o == BAD or (stop == end and (o == SHORT or o > stop)):
        return BAD  # W_END still excludes the row
    if m[W_CLUSTER] == 0:
        m[W_CLUSTER] = m[row + CLUSTER]
    m[row + SIZE] = (o if o > 0 else end) - begin
    m[row + PAYLOAD_STOP] = o if 0 < o <= stop else stop
    m[row + FLAGS] += bits % 2 + bits // 16 % 2 * 8
    system = m[row + SYSTEM]
    if (system == UNICAST3 or system == UNICAST4) and m[row + TYPE] == 0:
        m[row + FLAGS] += LISTED if m[W_LISTED] == 1 else 2 * LISTED
    sort = m[row + TYPE]
    if system <= NAKACK2 and (sort == 1 or sort == 3) and m[W_LISTED] == 1:
        if m[row + SOURCE] != m[TEMPLATE + SOURCE]:
            m[row + FLAGS] += MISFILED
    about = m[row + OBJECT]
    if kind == 6 or m[W_CLOSED] != 0:
        about = NOTHING
    m[row + OBJECT] = NOTHING
    source = m[row + SOURCE]
    destination = m[row + DESTINATION]
    m[W_END] = row + WIDTH
    if system == JGROUPS:
        m[row + OBJECT] = BARE_PING if 1 <= m[W_BARE] <= 2 else about
        if 0 <= m[W_PROTOCOL] < 1024:
            m[row + TYPE] = m[W_PROTOCOL] + m[W_OLD] * 1024
        if m[W_CLOSED] == IS_ENCRYPT:
            m[W_REASON] = ENCRYPTED
            m[W_FIRST] = 0
            m[W_SECOND] = 0
        if m[W_CLOSED] == IS_ENCRYPT or m[W_DEPTH] > 0:
            m[W_END] = row
    elif system <= NAKACK2:
        if sort == 2:
            m[row + OBJECT] = LIST
        else:
            m[row + OWNER] = source if sort != 5 else destination
        if (sort == 1 or sort == 3) and about != NOTHING:
            m[row + OBJECT] = about
    else:
        back = 1 if 1 <= sort <= 3 else 0
        m[row + OWNER] = destination if back == 1 else source
        m[row + PEER] = source if back == 1 else destination
        if sort == 3:
            m[row + OBJECT] = LIST
        if sort == 0 and about != NOTHING:
            m[row + OBJECT] = about
    if system < JGROUPS and m[row + OBJECT] > LIST:
        # what it says of members is a row of its own, in the cluster; a view by multicast is both
        if system <= NAKACK2 and about == GMS and u8(data, m[row + HEADER_AT]) == 5:
            m[row + OBJECT] = GMS
        else:
            m[row + OBJECT] = NOTHING
            k = 0
            while k < WIDTH:
                m[row + WIDTH + k] = m[row + k]
                k += 1
            m[row + WIDTH + SYSTEM] = SIDE
            m[row + WIDTH + OBJECT] = about
            m[W_END] += WIDTH
    return o if o <= stop else SHORT


def settle(host, port, m):
    """Count the rows of one accepted frame, join them to runs, keep the rest."""
    write = m[W_ROWS]
    row = write
    told = -1
    while row < m[W_END]:
        system = m[row + SYSTEM]
        sort = m[row + TYPE]
        cluster = m[row + CLUSTER]
        source = m[row + SOURCE]
        about = m[row + OBJECT]
        keep = 1
        if system == NOTE:
            keep = 0
            if sort != SKIPPED_HEADER and sort != SKIPPED_OBJECT:
                m[W_PART] = 1
            at = NOTED
            k = 0
            while k < m[W_NOTES] and (
                m[at] != sort or m[at + 1] != m[row + SEQNO] or m[at + 2] != m[row + STOP]
            ):
                at += 4
                k += 1
            if k == m[W_NOTES] and k < MAX_NOTES:
                m[W_NOTES] += 1
                m[at] = sort
                m[at + 1] = m[row + SEQNO]
                m[at + 2] = m[row + STOP]
            m[at + 3] += 1
        elif system < JGROUPS:
            m[COUNTS + system * 8 + sort] += 1
        elif system == JGROUPS:
            m[C_OTHER + sort] += 1
            keep = 0 if about == NOTHING else 1
        key = cluster * 32768 + source
        if system != NOTE and source > 0 and key != told and m[W_BARE] == 0:
            if system > NAKACK2 or sort != 3:
                # the first frame of this member from this socket
                told = key
                slot = key * 2654435769 + ((host * 65536 + port) & 274877906943) * 9350423
                slot = (slot & 4294967295) >> 18
                fresh = 1
                while m[MEMBER_SLOTS + slot] != 0 and fresh == 1:
                    at = MEMBERS + m[MEMBER_SLOTS + slot] * MEMBER
                    if m[at] == cluster and m[at + 1] == source and m[at + 2] == host:
                        if m[at + 3] == port and m[at + 4] == m[W_VERSION]:
                            fresh = 0
                    slot = slot + 1 if slot + 1 < MEMBER_SLOT_COUNT else 0
                if fresh == 1:
                    m[W_MEMBERS] += 1
                    m[MEMBER_SLOTS + slot] = m[W_MEMBERS]
                    at = MEMBERS + m[W_MEMBERS] * MEMBER
                    m[at] = cluster
                    m[at + 1] = source
                    m[at + 2] = host
                    m[at + 3] = port
                    m[at + 4] = m[W_VERSION]
                    m[at + 5] = m[row + FRAME]
                    m[at + 6] = m[row + AT]
        if system < JGROUPS:
            if m[W_STREAMS] >= MAX_STREAMS:
                at = STREAMS
                while at < OUT:
                    m[at] = 0
                    at += STREAM
                m[W_STREAMS] = 0
            peer = m[row + PEER]
            key = (cluster * 32768 + m[row + OWNER]) * 8 + system
            slot = (key // 8 * 2654435769 + (peer * 8 + system) * 2246822519) & 4294967295
            slot = slot >> 19
            at = STREAMS + slot * STREAM
            while m[at] != 0 and (m[at] != key or m[at + 1] != peer):
                at = at + STREAM if at + STREAM < OUT else STREAMS
            if m[at] == 0:
                m[at] = key
                m[at + 1] = peer
                m[at + 2] = 0
                m[W_STREAMS] += 1
            run = m[at + 2]
            m[at + 2] = 0
            if about == NOTHING and (sort == 0 or (system <= NAKACK2 and sort != 4 and sort != 5)):
                floor = m[W_FLOOR]
                if m[FLOORS + cluster] > floor:
                    floor = m[FLOORS + cluster]
                if (
                    run >= floor
                    and m[run + STOP] == m[row + SEQNO]
                    and m[run + TYPE] == sort
                    and m[run + FLAGS] % LISTED == m[row + FLAGS] % LISTED
                    and m[run + FLAGS] // (4 * LISTED) == m[row + FLAGS] // (4 * LISTED)
                    and m[run + CONN] == m[row + CONN]
                    and m[run + SOURCE] == source
                    and m[run + DESTINATION] == m[row + DESTINATION]
                ):
                    keep = 0
                    if m[run + FLAGS] != m[row + FLAGS]:
                        # neither holds for all of them
                        m[run + FLAGS] -= m[run + FLAGS] // LISTED % 4 * LISTED
                    m[run + STOP] += 1
                    m[run + COUNT] += 1
                    m[run + SIZE] += m[row + SIZE]
                    m[run + LAST_FRAME] = m[row + LAST_FRAME]
                    m[run + LAST_AT] = m[row + LAST_AT]
                    m[run + LAST_FRESH] = m[row + LAST_FRESH]
                    m[at + 2] = run
                else:
                    m[at + 2] = write
        if keep == 1:
            if write != row:
                k = 0
                while k < WIDTH:
                    m[write + k] = m[row + k]
                    k += 1
            write += WIDTH
            if about == GMS or about == STABLE:
                m[FLOORS + cluster] = write
        row += WIDTH
    m[W_ROWS] = write


def head(data, o, stop, m):
    """What all messages of a frame share (1.3, 1.5). Returns where the first begins."""
    m[W_END] = m[W_ROWS]
    m[W_STRONG] = 0
    m[W_CLUSTER] = 0
    m[W_LISTED] = 0
    m[W_VERSION] = 0
    m[W_DEPTH] = 0
    m[W_PART] = 0
    m[TEMPLATE + SOURCE] = 0
    m[TEMPLATE + DESTINATION] = 0
    m[TEMPLATE + CLUSTER] = 0
    m[STACK] = 1
    m[STACK + 1] = 0
    era = 1 if m[W_BARE] == 2 else 2
    if m[W_BARE] == 0:
        version = u16be(data, o)
        m[W_VERSION] = version
        m[W_LISTED] = u8(data, o + 2) % 2
        era = 3
        if version < V5_3_8:
            era = 2 if version >= V5_0 else (1 if version >= V4_0 else 0)
        o += 3
    m[W_ERA] = era
    m[W_OLD] = 1 if era == 0 else 0
    m[W_TABLE] = LAYOUT if era == 0 else LAYOUT + CLASSES * FIELDS
    m[TEMPLATE + VERSION] = m[W_VERSION]
    if m[W_LISTED] == 1:
        m[TEMPLATE + DESTINATION], o = address(data, o, stop, m)
        if o > 0:
            m[TEMPLATE + SOURCE], o = address(data, o, stop, m)
        if o < 0:
            return o
        size = i16(data, o) if o + 2 <= stop else 0
        o += 2
        if size > 0:
            if o + size > stop:
                return SHORT
            m[W_STRONG] = printable(data, o, size)
            m[TEMPLATE + CLUSTER] = intern(data, o, size, m)
            o += size
        if o + 4 > stop:
            return SHORT
        m[STACK] = i32(data, o)
        o += 4
        if m[STACK] < 0:
            return BAD
    return o


def decode(data, count, start, stop, length, source, source_port, flags, ip_id, at_ns, frame,
           barrier, wanted, outcome, m, room):  # fmt: skip
    """Datagrams from ``m[W_NEXT]`` on. Returns (next datagram, rows).

    ``wanted``: 1 claim whatever it is, 0 look, -1 leave alone. ``outcome`` gets DECODED ... for
    claimed datagrams. Stops before a datagram for which a table or the output (``room`` is the
    length of ``m``) could become too small; the caller empties them and calls again.
    """
    i = m[W_NEXT]
    m[TEMPLATE + SYSTEM] = JGROUPS
    m[TEMPLATE + SEQNO] = NONE
    m[TEMPLATE + STOP] = NONE
    m[TEMPLATE + CONN] = NONE
    m[TEMPLATE + STAMP] = NONE
    m[TEMPLATE + COUNT] = 1
    while i < count:
        o = start[i]
        size = stop[i] - o
        if barrier[i] != 0:
            m[W_FLOOR] = m[W_ROWS]
        if barrier[i] != 0 or wanted[i] < 0 or size < 3 or size > 65535:
            i += 1
            continue
        lead = u8(data, o)
        m[W_BARE] = bare(data, o) if size >= 32 else 0
        if wanted[i] == 0 and m[W_BARE] == 0:
            if lead < 24 or lead > 47 or u8(data, o + 2) > 3:
                i += 1
                continue
        if (
            m[W_ROWS] + (size // 4 + 16) * WIDTH > room
            or m[W_ENTRIES] + size // 4 + 8 > MAX_ENTRIES
            or m[W_POOL] + size // 2 + 8 > POOL + POOL_SIZE
            or m[W_MEMBERS] + size // 8 + 2 > MAX_MEMBERS
        ):
            break
        end = o + length[i] if o + length[i] > stop[i] else stop[i]
        m[TEMPLATE + FRAME] = frame[i]
        m[TEMPLATE + LAST_FRAME] = frame[i]
        m[TEMPLATE + AT] = at_ns[i]
        m[TEMPLATE + LAST_AT] = at_ns[i]
        m[TEMPLATE + FLAGS] = flags[i]
        m[TEMPLATE + FRESH] = ip_id[i]
        m[TEMPLATE + LAST_FRESH] = ip_id[i]
        m[TEMPLATE + DATAGRAM] = i
        o = head(data, o, stop[i], m) if m[W_BARE] > 0 or u8(data, o + 2) < 4 else BAD
        index = 0
        while m[W_DEPTH] >= 0 and o >= 0:
            level = STACK + m[W_DEPTH] * 3
            if m[level] == 0:
                if m[level + 1] > 0:
                    # a message that held others ends here
                    row = m[level + 1]
                    m[row + SIZE] = o - m[level + 2]
                    m[row + PAYLOAD_STOP] = o
                m[W_DEPTH] -= 1
                continue
            m[level] -= 1
            row = m[W_END]
            m[TEMPLATE + INDEX] = index
            m[level + 5] = o
            o = message(data, o, stop[i], end, m)
            index += 1
            m[level + 4] = row if m[W_END] > row else 0
            if m[W_NESTED] >= 0 and o > 0:
                if m[W_DEPTH] + 1 < LEVELS:
                    m[W_DEPTH] += 1
                    m[level + 3] = m[W_NESTED]
                else:
                    m[W_REASON] = DEPTH
                    m[W_FIRST] = LEVELS
                    o = LEFT
            if m[W_REASON] != 0 and o != SHORT and o != BAD:
                row = m[W_END]
                m[W_END] += WIDTH
                m[row + SYSTEM] = NOTE
                m[row + TYPE] = m[W_REASON]
                m[row + SEQNO] = m[W_FIRST]
                m[row + STOP] = m[W_SECOND]
        status = o if o < 0 else (0 if o == end else BAD)
        whole = 1 if status == 0 and m[W_END] > m[W_ROWS] else 0
        if m[W_BARE] == BARE_FD_SOCK2:
            m[W_STRONG] = 2
        strong = m[W_STRONG] if m[W_BARE] == 0 or whole == 1 else 0
        if strong == 2 or (strong == 1 and whole == 1):
            m[C_CERTAIN if whole == 1 else C_LIKELY] += 1
        elif wanted[i] == 1:
            m[C_FORCED] += 1
        else:
            i += 1
            continue
        if m[W_BARE] == 0 and m[W_VERSION] < V3_5_0:
            # headers have no length, and those of releases before are not known
            m[W_END] = m[W_ROWS] + WIDTH
            m[m[W_ROWS] + SYSTEM] = NOTE
            m[m[W_ROWS] + TYPE] = OLD_RELEASE
            m[m[W_ROWS] + SEQNO] = m[W_VERSION]
            m[m[W_ROWS] + STOP] = 0
            status = LEFT
        settle(source[i], source_port[i], m)
        if status == SHORT and end > stop[i]:
            outcome[i] = TRUNCATED
        elif status == SHORT or status == BAD:
            outcome[i] = MALFORMED
        else:
            outcome[i] = UNDECODABLE if status == LEFT or m[W_PART] == 1 else DECODED
        if m[W_BARE] > 0:
            m[C_BARE] += 1
        else:
            m[C_LISTS if m[W_LISTED] == 1 else C_SINGLE] += 1
            m[C_VERSIONS + m[W_VERSION]] += 1
        if m[W_CLUSTER] > 0:
            m[ENTRIES + m[W_CLUSTER] * 4 + 3] += 1
        i += 1
    m[W_NEXT] = i
    return i, (m[W_ROWS] - OUT) // WIDTH
