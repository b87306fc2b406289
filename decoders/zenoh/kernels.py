"""The zenoh walk: batches in, rows of integers out (zenoh.md 1 to 7; decoders/README.md 4).

``decode`` takes the batches of one chunk in order. ``walk`` reads one batch into records, one a
message; only when the whole batch was judged (nothing on the wire says "zenoh"), ``commit`` turns
records into rows and joins consecutive transport sns and sample sns to runs in place. Messages that
are neither frames nor plain samples are only located; their rows say where they are.

A run ends where a sn does not follow, where anything that an engine must order against samples
comes (``EPOCH``), where the counter of the link jumped, passes a sn it had reached before such a
jump, or is new (``GEN``), so that a receiver accepts or refuses a run of samples as a whole
(zenoh.md 8.3), and while a query is open (``SINGLE_UNTIL``), so that its timeout falls between
rows. For some time behind a query (``TIMED_UNTIL``; before the first batch there may have been one)
a run of frames lasts a tick of the clock at most, so that rows show that time passed. It also ends
where a socket's buffer may begin or cease to be full (``CROWD``).

All tables are parts of one int64 array ``m``; the columns of the batches are parts of ``c``, column
by column.
"""

# ruff: noqa: F403, F405, SIM102, SIM109, SIM114  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.zenoh.kernel_words import *
from seqaudit.decoders.zenoh.message_kernels import *

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("decode", "compressed")

#: Helpers that are compiled into their callers: most messages have no extensions.
INLINED = ("chain",)


def walk(d, at, stop, end, m):
    """Read a batch into records. Returns (records, status)."""
    count = 0
    code = LOW_LATENCY
    sn = NO_SN
    inside = 0
    begin = at
    m[M_WHY] = 0
    m[M_STRONG] = 0
    while at < end:
        to = RECORDS + count * RECORD
        if count >= MAX_RECORDS:
            return count, MALFORMED
        if at >= stop:
            return count, TRUNCATED
        h = d[at] | 0
        kind = h & 31
        here = at
        if kind >= 25:
            if inside == 0:
                if at != begin:
                    return count, MALFORMED
            at = network(d, at, stop, end, to, m)
            if at > stop:
                if m[to] == NETWORK:
                    if kind != 27:  # more than a payload is cut off
                        return count, TRUNCATED
            if at >= 0:
                if inside == 0:
                    if at != end:
                        return count, MALFORMED
        elif kind == 5 or kind == 6:
            at += 1
            sn, at = zint(d, at, stop)
            m[M_PRIORITY] = 5
            m[M_UNITS] = 0
            if at >= 0:
                sn &= 4294967295
                at = chain(d, at, stop, end, h, OF_FRAME, m)
            code = m[M_PRIORITY] * 2 + (h >> 5 & 1)
            inside = 1
            if kind == 5:
                if h & 64:
                    at = -1
                m[to] = HOP_RUN
            else:
                inside = 0
                m[to] = FRAGMENT
                m[to + 13] = m[M_UNITS] >> 2 & 3
            m[to + 1] = at
            m[to + 2] = at
            m[to + 12] = h
            if kind == 6:
                if at >= 0:
                    at = end
                m[to + 2] = end
        else:
            inside = 0
            m[to] = TRANSPORT
            m[to + 1] = here
            m[to + 12] = h
            if kind == 0:
                at = oam(d, at + 1, stop, end, h, m)
                if count == 0:
                    at = -1  # as the first message it would be anything at all
            else:
                at = control(d, at, stop, end, m)
            if at > stop:
                return count, TRUNCATED
            m[to + 2] = at
            if kind == 1 or kind == 2:
                if at >= 0:
                    if here != begin:
                        at = -1
                    elif at != end:
                        at = -1
        if at < 0:
            if m[M_WHY]:
                return count, UNDECODABLE
            return count, TRUNCATED if stop < end else MALFORMED
        if at > end:
            return count, MALFORMED
        m[to + 3] = code
        m[to + 4] = sn
        count += 1
    if count == 0:
        return 0, MALFORMED
    return count, DECODED


def same(d, a, b, n):
    i = 0
    while i < n:
        if (d[a + i] | 0) != (d[b + i] | 0):
            return 0
        i += 1
    return 1


def counter_of(c, n, i, code, m):
    """Slot of a counter, added where it is new; -1 where the table is full."""
    source = c[SOURCE * n + i]
    destination = c[DESTINATION * n + i]
    ports = c[PORTS * n + i]
    slot = (
        source * 31 + destination * 17 + ports * 7 + (ports >> 16) * 13 + code * 101
    ) % COUNTER_SLOTS
    tries = 0
    while tries < 256:
        k = COUNTERS + slot * COUNTER
        if m[k + K_USED] == 0:
            if m[M_COUNTERS] * 2 >= COUNTER_SLOTS:
                return -1
            m[M_COUNTERS] += 1
            m[k + K_SOURCE] = source
            m[k + K_DESTINATION] = destination
            m[k + K_PORTS] = ports
            m[k + K_CODE] = code
            m[k + K_USED] = 1
            m[k + K_LAST] = -2
            j = 0
            while j < MARKS:
                m[k + K_MARKS + j] = -1
                j += 1
            return slot
        if m[k + K_SOURCE] == source:
            if m[k + K_DESTINATION] == destination:
                if m[k + K_PORTS] == ports:
                    if m[k + K_CODE] == code:
                        return slot
        slot = (slot + 1) % COUNTER_SLOTS
        tries += 1
    return -1


def stream_of(d, counter, eid, at, size, m):
    """Slot of a stream of samples of one counter; -1 where the table is full."""
    slot = counter * 131 + (eid & 65535) * 7
    if size > 0:
        slot += (d[at] | 0) * 257 + (d[at + size - 1] | 0) * 5
    slot = slot % STREAM_SLOTS
    tries = 0
    while tries < 256:
        t = STREAMS + slot * STREAM
        if m[t + T_COUNTER] == 0:
            if m[M_STREAMS] * 2 >= STREAM_SLOTS:
                return -1
            m[M_STREAMS] += 1
            m[t + T_COUNTER] = counter + 1
            m[t + T_EID] = eid
            m[t + T_AT] = at
            m[t + T_LEN] = size
            m[t + T_ROW] = 0
            return slot
        if m[t + T_COUNTER] == counter + 1:
            if m[t + T_EID] == eid:
                if m[t + T_LEN] == size:
                    if same(d, m[t + T_AT], at, size):
                        return slot
        slot = (slot + 1) % STREAM_SLOTS
        tries += 1
    return -1


def new_row(c, n, i, record, gen, doubt, m):
    """A row of the record's fields. Returns where it is."""
    r = OUT + m[M_ROWS] * WIDTH
    m[M_ROWS] += 1
    m[r + KIND] = m[record]
    m[r + FIRST] = i
    m[r + INDEX] = m[M_INDEX]
    m[r + LAST] = i
    m[r + CODE] = m[record + 3]
    m[r + HOP] = m[record + 4]
    m[r + LAST_HOP] = m[record + 4]
    m[r + SEQ] = m[record + 6]
    m[r + LAST_SEQ] = m[record + 6]
    m[r + COUNT] = 1
    m[r + SIZE] = m[record + 2] - m[record + 1]
    m[r + AT] = m[record + 1]
    m[r + NEXT] = m[record + 2]
    m[r + CAPTURED] = min(m[record + 2], c[STOP * n + i])
    m[r + ZID_AT] = m[record + 5]
    m[r + ZID_LEN] = m[record + 15]
    m[r + EID] = m[record + 7]
    m[r + SCOPE] = m[record + 8]
    m[r + MAPPING] = m[record + 9]
    m[r + SUFFIX_AT] = m[record + 10]
    m[r + SUFFIX_LEN] = m[record + 11]
    m[r + HEADER] = m[record + 12]
    m[r + AUX] = m[record + 13]
    m[r + QOS] = m[record + 14]
    m[r + GEN] = gen
    m[r + EPOCH] = m[M_EPOCH]
    m[r + DOUBT] = doubt
    m[r + ROW_FLAGS] = c[FLAGS * n + i]
    m[r + CROWDED] = c[CROWD * n + i]
    return r


def goes_on(c, n, i, r, gen, doubt, m):
    """Whether an open run may take in a message of batch ``i`` at all."""
    if m[r + GEN] != gen:
        return 0
    if m[r + EPOCH] != m[M_EPOCH]:
        return 0
    if m[r + DOUBT] != doubt:
        return 0
    if m[r + ROW_FLAGS] != c[FLAGS * n + i]:
        return 0
    return 1


def frame_header(c, n, i, slot, record, doubt, m):
    """Count a frame of its counter: extend its run or begin one."""
    k = COUNTERS + slot * COUNTER
    sn = m[record + 4]
    alone = 0
    if sn != m[k + K_LAST] + 1:
        m[k + K_MARKS + m[k + K_PLACE]] = m[k + K_LAST] + 1
        m[k + K_PLACE] = (m[k + K_PLACE] + 1) % MARKS
        alone = 1
    j = 0
    while j < MARKS:
        if m[k + K_MARKS + j] == sn:
            alone = 1
        j += 1
    if m[k + K_SEEN] < SINGLE_FRAMES:
        m[k + K_SEEN] += 1
        alone = 1
    if c[AT_NS * n + i] < m[M_SINGLE_UNTIL]:
        alone = 1
    m[k + K_GEN] += alone
    m[k + K_LAST] = sn
    if m[record] == FRAGMENT:
        m[k + K_GEN] += 1
        m[k + K_ROW] = 0
        new_row(c, n, i, record, m[k + K_GEN], doubt, m)
        return
    if m[k + K_ROW]:
        r = OUT + (m[k + K_ROW] - 1) * WIDTH
        if goes_on(c, n, i, r, m[k + K_GEN], doubt, m):
            if c[AT_NS * n + i] < m[M_TIMED_UNTIL]:
                if c[AT_NS * n + i] >> TICK_BITS != c[AT_NS * n + m[r + FIRST]] >> TICK_BITS:
                    alone = 1
            if c[CROWD * n + i] != m[r + CROWDED]:
                alone = 1
            if m[r + CROWDED] != 0:
                if c[AT_NS * n + i] - c[AT_NS * n + m[r + LAST]] > CROWD_NS:
                    alone = 1
            if alone == 0:
                m[r + LAST] = i
                m[r + LAST_HOP] = sn
                m[r + COUNT] += 1
                return
    m[k + K_ROW] = m[M_ROWS] + 1
    new_row(c, n, i, record, m[k + K_GEN], doubt, m)


def samples(d, c, n, i, slot, record, doubt, m):
    """Count a sample: extend the run of its stream or begin one."""
    k = COUNTERS + slot * COUNTER
    if m[record] == PLAIN:
        eid = -2 - m[record + 8] * 2 - m[record + 9]
        s = stream_of(d, slot, eid, m[record + 10], m[record + 11], m)
    else:
        s = stream_of(d, slot, m[record + 7], m[record + 5], m[record + 15], m)
    if m[record + 3] == LOW_LATENCY:
        if c[AT_NS * n + i] < m[M_SINGLE_UNTIL]:
            m[k + K_GEN] += 1
        elif m[k + K_SEEN] < SINGLE_FRAMES:
            m[k + K_SEEN] += 1
            m[k + K_GEN] += 1
    gen = m[k + K_GEN]
    if s < 0:
        new_row(c, n, i, record, 0, doubt, m)
        return
    t = STREAMS + s * STREAM
    if m[t + T_ROW]:
        r = OUT + (m[t + T_ROW] - 1) * WIDTH
        if goes_on(c, n, i, r, gen, doubt, m):
            follows = 1
            if m[record] != m[r + KIND]:
                follows = 0
            elif m[record] == SAMPLES:
                if m[record + 6] != m[r + LAST_SEQ] + 1:
                    follows = 0
                elif m[record + 14] != m[r + QOS]:
                    follows = 0
                elif m[record + 8] != m[r + SCOPE]:
                    follows = 0
                elif m[record + 9] != m[r + MAPPING]:
                    follows = 0
                elif m[record + 11] != m[r + SUFFIX_LEN]:
                    follows = 0
                elif same(d, m[record + 10], m[r + SUFFIX_AT], m[record + 11]) == 0:
                    follows = 0
            if follows:
                m[r + LAST] = i
                m[r + LAST_SEQ] = m[record + 6]
                m[r + LAST_HOP] = m[record + 4]
                m[r + COUNT] += 1
                m[r + SIZE] += m[record + 2] - m[record + 1]
                return
    m[t + T_ROW] = m[M_ROWS] + 1
    new_row(c, n, i, record, gen, doubt, m)


def barrier(c, n, i, record, m):
    """What ends every run: all but frames and samples."""
    h = m[record + 12] & 31
    m[M_EPOCH] += 1
    if m[record] == TRANSPORT:
        return
    if h == 28:
        m[M_OPEN] += 1
        m[M_SINGLE_UNTIL] = c[AT_NS * n + i] + QUERY_NS
        m[M_TIMED_UNTIL] = c[AT_NS * n + i] + TIMED_NS
    elif h == 26:
        if m[M_OPEN] > 0:
            m[M_OPEN] -= 1
        if m[M_OPEN] == 0:
            m[M_SINGLE_UNTIL] = 0


def commit(d, c, n, i, count, doubt, m):
    """Rows of a batch."""
    if c[FRAME * n + i] != m[M_FRAME]:
        m[M_FRAME] = c[FRAME * n + i]
        m[M_INDEX] = 0
    if doubt == 1 or doubt == BY_PORT:
        slot = counter_of(c, n, i, DOUBTFUL, m)
        r = 0
        if slot >= 0:
            k = COUNTERS + slot * COUNTER
            if m[k + K_ROW]:
                r = OUT + (m[k + K_ROW] - 1) * WIDTH
                if m[r + ROW_FLAGS] != c[FLAGS * n + i]:
                    r = 0
            if r == 0:
                m[k + K_ROW] = m[M_ROWS] + 1
        if r:
            m[r + LAST] = i
            m[r + COUNT] += 1
        else:
            m[M_SCRATCH] = BATCHES
            m[M_SCRATCH + 3] = DOUBTFUL
            new_row(c, n, i, M_SCRATCH, 0, doubt, m)
        m[M_INDEX] += 1
    large = c[MODE * n + i] & LARGE
    if large:
        m[M_EPOCH] += 1
    j = 0
    while j < count:
        record = RECORDS + j * RECORD
        kind = m[record]
        if kind <= FRAGMENT:
            slot = counter_of(c, n, i, m[record + 3], m)
            if kind == FRAGMENT:
                m[M_EPOCH] += 1
            if slot < 0:
                new_row(c, n, i, record, 0, doubt, m)
            elif kind == HOP_RUN or kind == FRAGMENT:
                frame_header(c, n, i, slot, record, doubt, m)
            else:
                samples(d, c, n, i, slot, record, doubt, m)
        else:
            barrier(c, n, i, record, m)
            new_row(c, n, i, record, 0, doubt, m)
        m[M_INDEX] += 1
        j += 1
    if large:
        m[M_EPOCH] += 1


def first_byte(d, at):
    """1 where a batch may begin like that."""
    h = d[at] | 0
    kind = h & 31
    if kind >= 25:
        return 1
    if kind >= 1:
        if kind <= 7:
            return 1
    return 0


def asks_names(d, at, stop):
    """1 where a DNS message with one question begins (RFC 1035 4.1): most others that read as a
    Fragment are such, as their first two bytes may be any."""
    if stop - at < 17 or u16be(d, at + 4) != 1 or u8(d, at + 6) | u8(d, at + 8) | u8(d, at + 10):
        return 0
    at += 12
    while at < stop and 0 < u8(d, at) <= 63:
        at += u8(d, at) + 1
    if at + 5 > stop or u8(d, at) != 0:
        return 0
    return 1 if u16be(d, at + 3) & 0x7FFF == 1 else 0  # the class: IN, of mDNS with one bit more


def decode(d, c, n, begin, room, m):
    """Batches from ``begin`` on into rows. Returns (next batch, rows)."""
    i = begin
    if i < n:
        m[M_TIMED_UNTIL] = c[AT_NS * n + i] + TIMED_NS
    while i < n:
        if (m[M_ROWS] + MAX_RECORDS + 1) * WIDTH + OUT > room:
            return i, m[M_ROWS]
        status = NOTHING
        at = c[START * n + i]
        stop = c[STOP * n + i]
        end = c[END * n + i]
        mode = c[MODE * n + i]
        if mode & BARRIER:
            m[M_EPOCH] += 1
        elif at < stop:
            if mode & NOT_OURS == 0:
                if first_byte(d, at):
                    if scouting(d, at, stop, end, mode & SCOUTING, m):
                        status = SCOUT
                    if status == NOTHING:
                        count, status = walk(d, at, stop, end, m)
                        strong = m[M_STRONG]
                        doubt = 0
                        if strong == 0 and mode & (KNOWN | PORT) == 0:
                            if asks_names(d, at, stop):
                                status = NOTHING
                                count = 0
                        if status == DECODED:
                            if strong == 0:
                                if mode & (KNOWN | PORT) == PORT:
                                    doubt = BY_PORT
                                elif mode & KNOWN == 0:
                                    status = WEAK
                                    doubt = 1
                                    if m[RECORDS + (count - 1) * RECORD] == FRAGMENT:
                                        if m[M_UNITS] | 12 != 12:  # but First and Drop has none
                                            status = NOTHING
                                            count = 0
                        elif strong == 0:
                            if status == TRUNCATED:
                                if mode & (KNOWN | PORT) == PORT:
                                    doubt = BY_PORT
                                    if count == 0:
                                        status = WEAK_CUT
                                elif mode & KNOWN == 0:
                                    status = WEAK_CUT if count else NOTHING
                                    doubt = 2
                            elif mode & KNOWN == 0:
                                count = 0
                            if count == 0:
                                if status != WEAK_CUT:
                                    status = NOTHING
                        if count > 0:
                            commit(d, c, n, i, count, doubt, m)
        c[STATUS * n + i] = status
        i += 1
    return i, m[M_ROWS]


def lz4_size(d, at, stop):
    """Bytes that an LZ4 block holds, at most 65535; -1 where it is none."""
    made = 0
    while at < stop:
        token = d[at] | 0
        at += 1
        size = token >> 4
        if size == 15:
            more = 255
            while more == 255:
                if at >= stop:
                    return -1
                more = d[at] | 0
                at += 1
                size += more
        if size > stop - at:
            return -1
        made += size
        at += size
        if made > 65535:
            return -1
        if at == stop:
            return made
        if at + 2 > stop:
            return -1
        back = (d[at] | 0) | (d[at + 1] | 0) << 8
        at += 2
        if back == 0:
            return -1
        if back > made:
            return -1
        size = (token & 15) + 4
        if token & 15 == 15:
            more = 255
            while more == 255:
                if at >= stop:
                    return -1
                more = d[at] | 0
                at += 1
                size += more
        made += size
        if made > 65535:
            return -1
    return -1


def compressed(d, c, n):
    """Per batch into STATUS: 1 an LZ4 block behind 01, 2 a plain batch behind 00, else 0.

    The block must begin with a literal that begins a batch; of one that snap length cut off nothing
    more can be said.
    """
    i = 0
    while i < n:
        at = c[START * n + i]
        stop = c[STOP * n + i]
        found = 0
        if at + 1 < stop:
            if c[MODE * n + i] & (NOT_OURS | BARRIER) == 0:
                if (d[at] | 0) == 0:
                    if first_byte(d, at + 1):
                        if (d[at + 1] | 0) & 31 > 2:
                            found = 2
                elif (d[at] | 0) == 1:
                    token = (d[at + 1] | 0) >> 4
                    place = at + 2
                    if token == 15:
                        while place < stop and (d[place] | 0) == 255:
                            place += 1
                        place += 1
                    if token > 0:
                        if place < stop:
                            h = (d[place] | 0) & 31
                            if h > 2:
                                if h < 8 or h > 24:
                                    if stop < c[END * n + i]:
                                        found = 1
                                    elif lz4_size(d, at + 1, stop) > 0:
                                        found = 1
        c[STATUS * n + i] = found
        i += 1
    return (0,)
