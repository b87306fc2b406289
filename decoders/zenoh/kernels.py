"""The zenoh walk: batches in, rows of integers out (zenoh.md 1 to 7; decoders/README.md 4).

``decode`` takes the batches of one chunk in order. ``walk`` reads one batch into records, one a
message; only when the whole batch was judged (nothing on the wire says "zenoh"), ``commit`` turns
records into rows and joins consecutive transport sns and sample sns to runs in place. Messages that
are neither frames nor plain samples are only located; their rows say where they are.

A run ends where a sn does not follow, where anything that an engine must order against samples
comes (``EPOCH``), where the counter of the link jumped, passes a sn it had reached before such a
jump, or is new (``GEN``), so that a receiver accepts or refuses a run of samples as a whole
(zenoh.md 8.3), and while a query is open (``SINGLE_UNTIL``), so that its timeout falls between
rows.

All tables are parts of one int64 array ``m``; the columns of the batches are parts of ``c``, column
by column.
"""

# ruff: noqa: RUF059, SIM102, SIM109, SIM114  (one comparison a line: decoders/README.md 4)

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("decode", "compressed")

#: Helpers that are compiled into their callers: most messages have no extensions.
INLINED = ("chain",)

# Columns of a batch in ``c``, each ``n`` long.
START = 0
STOP = 1  # one past its last captured byte
END = 2  # one past its last byte; more than STOP: cut by snap length
FRAME = 3
AT_NS = 4
SOURCE = 5
DESTINATION = 6
PORTS = 7  # source port << 16 | destination port
FLAGS = 8
MODE = 9  # see below
STATUS = 10  # written
COLUMNS = 11

PLAIN_MODE = 0
KNOWN = 1  # the user says zenoh
SCOUTING = 2  # the scouting port is one of its ports
NOT_OURS = 4  # nobody may claim it
BARRIER = 16  # no batch: every run ends here
PORT = 8  # zenoh's own port: what reads as zenoh to its last byte is

NOTHING = 0  # STATUS: not zenoh
DECODED = 1
WEAK = 2  # reads as zenoh to its last byte, but so might other bytes
MALFORMED = 3  # begins as zenoh beyond doubt
TRUNCATED = 4
UNDECODABLE = 5  # a mandatory extension that nobody knows
SCOUT = 6  # Scout or Hello: counted only
WEAK_CUT = 7  # cut by snap length, and its beginning reads as zenoh, but so might other bytes

# Columns of an output row.
KIND = 0
FIRST = 1  # batch
INDEX = 2  # of the message in its frame
LAST = 3  # batch of the last message of a run
CODE = 4  # priority * 2 + reliable; LOW_LATENCY: no transport sn
HOP = 5  # transport sn of the first message
LAST_HOP = 6
SEQ = 7
LAST_SEQ = 8
COUNT = 9
SIZE = 10
AT = 11  # of a message that is only located: its bytes
NEXT = 12
ZID_AT = 13
ZID_LEN = 14
EID = 15
SCOPE = 16
MAPPING = 17  # 1: the sender's own table
SUFFIX_AT = 18
SUFFIX_LEN = 19
HEADER = 20
AUX = 21  # fragments: 1 First, 2 Drop
GEN = 22
EPOCH = 23
DOUBT = 24  # 1: of a WEAK batch
ROW_FLAGS = 25
QOS = 26  # of a sample: 1-7 priority, 8 Block, 16 express (zenoh.md 4)
CAPTURED = 27  # where the captured bytes of a message that is only located end
WIDTH = 28

HOP_RUN = 1  # frames
SAMPLES = 2  # Push with Put or Del and SourceInfo
PLAIN = 3  # Push with Put or Del without
FRAGMENT = 4
NETWORK = 5  # any other network message
TRANSPORT = 6  # any other transport message
BATCHES = 7  # WEAK batches of one direction

# What extensions belong to; which must be known, and what an id means, differs (zenoh.md 1.3).
OF_OTHERS = 0
OF_NETWORK = 1
OF_PUT = 2
OF_FRAME = 3  # and of a Fragment
OF_UNDECLARE = 4
OF_JOIN = 5
OF_DEL = 6  # and of a Query and an Err: SourceInfo at id 1

LOW_LATENCY = -1
DOUBTFUL = 99  # CODE of WEAK batches
NO_SN = -1
MAX_ZID = 16
HEARTBEAT_BYTES = 4
# An attachment of rmw_zenoh: three names, two i64, 16 bytes; lengths stand before names and bytes.
ROS_BYTES = 77
ROS_NUMBER = 1601  # sum of the letters of sequence_number
ROS_STAMP = 1732  # source_timestamp
ROS_GID = 1060  # source_gid
ROS_EID = 1 << 32  # EID of a source that is numbered so; above all others

# ``m``: scalars, scratch of one message, counters, streams, records, rows.
M_ROWS = 0
M_COUNTERS = 1
M_STREAMS = 2
M_EPOCH = 3
M_FRAME = 4
M_INDEX = 5
M_SINGLE_UNTIL = 6
M_OPEN = 7
M_SI = 9  # scratch of a message, to the end of the scalars; SourceInfo was there
M_STAMPED = 10
M_PAYLOAD = 11
M_UNITS = 12  # bits of unit extensions met
M_PRIORITY = 13
M_WHY = 14  # UNDECODABLE where that is why a walk stopped
M_STRONG = 15
M_SI_END = 16
M_QOS = 17
M_ATTACHED = 18  # where an attachment begins; 0: none
M_ATTACHED_END = 19
M_SCRATCH = 32  # a record in the making
COUNTERS = 64
COUNTER_SLOTS = 4096
COUNTER = 20
K_SOURCE = 0
K_DESTINATION = 1
K_PORTS = 2
K_CODE = 3
K_USED = 4
K_LAST = 5  # sn
K_ROW = 6  # 1 + row of its open run
K_SEEN = 7
K_GEN = 8
K_PLACE = 9
K_MARKS = 10  # sns that would follow where a jump left off
MARKS = 8
STREAMS = COUNTERS + COUNTER_SLOTS * COUNTER
STREAM_SLOTS = 16384
STREAM = 8
T_COUNTER = 0  # 1 + slot
T_EID = 1
T_AT = 2
T_LEN = 3
T_ROW = 4  # 1 + row
RECORDS = STREAMS + STREAM_SLOTS * STREAM
RECORD = 16
MAX_RECORDS = 32768
OUT = RECORDS + MAX_RECORDS * RECORD

#: Frames of a counter that get rows of their own when it is first met in a chunk: what was before
#: is not known here. Covers all of the 8-bit space (zenoh.md 8.2).
SINGLE_FRAMES = 130
QUERY_NS = 11_000_000_000  # a query's timeout and a second (zenoh.md 9.1)


def zint(d, at, stop):
    """(value, next); next is -1 where the bytes end. Above 2**61 the value is only large."""
    value = 0
    shift = 0
    while shift < 56:
        if at >= stop:
            return 0, -1
        b = d[at] | 0
        at += 1
        value |= (b & 127) << shift
        if b < 128:
            return value, at
        shift += 7
    if at >= stop:
        return 0, -1
    b = d[at] | 0
    if b > 31:
        b = 31
    return value | b << 56, at + 1


def sized(d, at, stop, end):
    """(begin, next) of bytes behind their length; next is -1 where they do not fit."""
    n, at = zint(d, at, stop)
    if at < 0:
        return 0, -1
    if n > end - at:
        return 0, -1
    return at, at + n


def chain(d, at, stop, end, h, context, m):
    """Behind the extensions of a message with header ``h``, if it has any; -1 stays -1."""
    if at >= 0:
        if h & 128:
            at = extensions(d, at, stop, end, context, m)
    return at


def extensions(d, at, stop, end, context, m):
    """Skip a chain (zenoh.md 1.3); notes priority, unit ids and where SourceInfo is.

    Returns next, or -1.
    """
    more = 1
    while more:
        if at < 0:
            return -1
        if at >= stop:
            return -1
        h = d[at] | 0
        at += 1
        more = 1 if h & 128 else 0
        h &= 127
        if h & 16:
            known = 0
            if context == OF_NETWORK:
                if h == 51 or h == 52:
                    known = 1
            elif context == OF_PUT:
                if h == 18:
                    known = 1
            elif context == OF_FRAME:
                if h == 49:
                    known = 1
            elif context == OF_UNDECLARE:
                if h == 95:
                    known = 1
            elif context == OF_JOIN:
                if h == 81 or h == 82:
                    known = 1
            if known == 0:
                m[M_WHY] = UNDECODABLE
                return -1
        form = h >> 5
        if form == 3:
            return -1
        if form == 0:
            m[M_UNITS] |= 1 << (h & 15)
        elif form == 1:
            value, at = zint(d, at, stop)
            if h == 49:
                m[M_PRIORITY] = value & 7
            elif h == 33:
                if context == OF_NETWORK:
                    m[M_QOS] = value & 255
        else:
            begin, at = sized(d, at, stop, end)
            if h == 65:
                if context == OF_PUT or context == OF_DEL:
                    if at >= 0:
                        m[M_SI] = begin
                        m[M_SI_END] = at
            elif h == 67 or h == 66:
                if h == 67 if context == OF_PUT else context == OF_DEL:
                    if at >= 0:
                        m[M_ATTACHED] = begin
                        m[M_ATTACHED_END] = at
    return at


def timestamp(d, at, stop, end):
    value, at = zint(d, at, stop)
    if at < 0:
        return -1
    begin, at = sized(d, at, stop, end)
    if at < 0:
        return -1
    if at - begin > MAX_ZID:
        return -1
    return at


def encoding(d, at, stop, end):
    value, at = zint(d, at, stop)
    if at < 0:
        return -1
    if value & 1:
        begin, at = sized(d, at, stop, end)
    return at


def sample(d, at, stop, end, m):
    """A Put or Del (zenoh.md 5.1); M_SI, M_STAMPED and M_PAYLOAD say what it has."""
    if at >= stop:
        return -1
    h = d[at] | 0
    at += 1
    kind = h & 31
    m[M_SI] = 0
    m[M_ATTACHED] = 0
    m[M_UNITS] = 0
    m[M_STAMPED] = 1 if h & 32 else 0
    m[M_PAYLOAD] = 0
    if kind == 1:
        if h & 32:
            at = timestamp(d, at, stop, end)
            if at < 0:
                return -1
        if h & 64:
            at = encoding(d, at, stop, end)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_PUT, m)
        if at < 0:
            return -1
        if m[M_UNITS] & 4:
            count, at = zint(d, at, stop)
            while count > 0:
                if at < 0:
                    return -1
                if at >= stop:
                    return -1
                begin, at = sized(d, at + 1, stop, end)
                count -= 1
            return at
        begin, at = sized(d, at, stop, end)
        if at >= 0:
            m[M_PAYLOAD] = at - begin
        return at
    if kind == 2:
        if h & 64:
            return -1
        if h & 32:
            at = timestamp(d, at, stop, end)
            if at < 0:
                return -1
        return chain(d, at, stop, end, h, OF_DEL, m)
    return -1


def wire_expr(d, at, stop, end, named, to, m):
    """Scope and suffix (zenoh.md 6), noted in the record at ``to``."""
    scope, at = zint(d, at, stop)
    if at < 0:
        return -1
    if scope > 65535:
        return -1
    m[to + 8] = scope
    m[to + 10] = 0
    m[to + 11] = 0
    if named:
        begin, at = sized(d, at, stop, end)
        if at < 0:
            return -1
        if at > stop:
            return -1
        if at - begin > 65535:
            return -1
        m[to + 10] = begin
        m[to + 11] = at - begin
    return at


def declaration(d, at, stop, end, to, m):
    if at >= stop:
        return -1
    h = d[at] | 0
    at += 1
    kind = h & 31
    if kind == 26:
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind > 7:
        return -1
    number, at = zint(d, at, stop)
    if at < 0:
        return -1
    if kind & 1 == 0:
        at = wire_expr(d, at, stop, end, h & 32, to, m)
        if at < 0:
            return -1
    return chain(d, at, stop, end, h, OF_UNDECLARE if kind & 1 else OF_OTHERS, m)


def oam(d, at, stop, end, h, m):
    number, at = zint(d, at, stop)
    at = chain(d, at, stop, end, h, OF_OTHERS, m)
    if at < 0:
        return -1
    form = h >> 5 & 3
    if form == 3:
        return -1
    if form == 1:
        number, at = zint(d, at, stop)
    elif form == 2:
        begin, at = sized(d, at, stop, end)
    return at


def source_info(d, at, stop, to, m):
    """Read a SourceInfo (zenoh.md 5.2) into the record; 0 where it is none."""
    if at >= stop:
        return 0
    size = ((d[at] | 0) >> 4) + 1
    at += 1
    if at + size > stop:
        return 0
    m[to + 5] = at
    m[to + 15] = size
    eid, at = zint(d, at + size, stop)
    if at < 0:
        return 0
    sn, at = zint(d, at, stop)
    if at < 0:
        return 0
    if at != m[M_SI_END]:
        return 0
    m[to + 7] = eid & 4294967295
    m[to + 6] = sn & 4294967295
    return 1


def letters(d, at, n):
    """Sum of the bytes of a name, which stands for the name."""
    total = 0
    i = 0
    while i < n:
        total += d[at + i] | 0
        i += 1
    return total


def numbered(d, stop, to, m):
    """Read the number that ROS 2 puts into an attachment (zenoh.md 9.7); 0 where it is none."""
    at = m[M_ATTACHED]
    if m[M_ATTACHED_END] - at != ROS_BYTES:
        return 0
    if at + ROS_BYTES > stop:
        return 0
    if (d[at] | 0) != 15 or (d[at + 24] | 0) != 16:
        return 0
    if (d[at + 49] | 0) != 10 or (d[at + 60] | 0) != 16:
        return 0
    if letters(d, at + 1, 15) != ROS_NUMBER:
        return 0
    if letters(d, at + 25, 16) != ROS_STAMP:
        return 0
    if letters(d, at + 50, 10) != ROS_GID:
        return 0
    if (d[at + 23] | 0) > 31:
        return 0
    sn = 0
    i = 7
    while i >= 0:
        sn = sn << 8 | (d[at + 16 + i] | 0)
        i -= 1
    m[to + 5] = at + 61
    m[to + 15] = 16
    m[to + 7] = ROS_EID
    m[to + 6] = sn
    return 1


def network(d, at, stop, end, to, m):
    """One network message into the record at ``to``: KIND and its fields. Returns next or -1."""
    h = d[at] | 0
    begin = at
    at += 1
    kind = h & 31
    m[to] = NETWORK
    m[to + 1] = begin
    m[to + 12] = h
    m[to + 9] = h >> 6 & 1
    m[M_SI] = 0
    if kind == 29:
        m[M_QOS] = 5
        at = wire_expr(d, at, stop, end, h & 32, to, m)
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
        if at < 0:
            return -1
        at = sample(d, at, stop, end, m)
        if at < 0:
            return -1
        m[to + 14] = m[M_QOS]
        if m[M_SI]:
            if source_info(d, m[M_SI], stop, to, m) == 0:
                return -1
            m[to] = SAMPLES
            m[M_STRONG] = 1
        else:
            ros = 0
            if m[M_ATTACHED]:
                ros = numbered(d, stop, to, m)
            if ros:
                m[to] = SAMPLES
                m[M_STRONG] = 1
            elif m[M_STAMPED] == 0:
                if m[M_PAYLOAD] != HEARTBEAT_BYTES:
                    m[to] = PLAIN
    elif kind == 28:
        number, at = zint(d, at, stop)
        if at < 0:
            return -1
        at = wire_expr(d, at, stop, end, h & 32, to, m)
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
        if at < 0:
            return -1
        if at >= stop:
            return -1
        h = d[at] | 0
        at += 1
        if h & 31 != 3:
            return -1
        if h & 32:
            number, at = zint(d, at, stop)
            if at < 0:
                return -1
        if h & 64:
            number, at = sized(d, at, stop, end)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_DEL, m)
    elif kind == 27:
        number, at = zint(d, at, stop)
        if at < 0:
            return -1
        at = wire_expr(d, at, stop, end, h & 32, to, m)
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
        if at < 0:
            return -1
        if at >= stop:
            return -1
        h = d[at] | 0
        at += 1
        if h & 31 == 4:
            if h & 32:
                number, at = zint(d, at, stop)
                if at < 0:
                    return -1
            at = chain(d, at, stop, end, h, OF_OTHERS, m)
            if at < 0:
                return -1
            at = sample(d, at, stop, end, m)
            if m[M_SI]:
                m[M_STRONG] = 1
        elif h & 31 == 5:
            if h & 64:
                at = encoding(d, at, stop, end)
                if at < 0:
                    return -1
            at = chain(d, at, stop, end, h, OF_DEL, m)
            if at < 0:
                return -1
            number, at = sized(d, at, stop, end)
        else:
            return -1
    elif kind == 26:
        number, at = zint(d, at, stop)
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
    elif kind == 30:
        if h & 32:
            number, at = zint(d, at, stop)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
        if at < 0:
            return -1
        at = declaration(d, at, stop, end, to, m)
    elif kind == 25:
        number, at = zint(d, at, stop)
        if at < 0:
            return -1
        if h & 96:
            if at >= stop:
                return -1
            options = d[at] | 0
            at += 1
            if options & 16:
                at = wire_expr(d, at, stop, end, options & 32, to, m)
                if at < 0:
                    return -1
        at = chain(d, at, stop, end, h, OF_NETWORK, m)
    elif kind == 31:
        at = oam(d, at, stop, end, h, m)
    else:
        return -1
    if at < 0:
        return -1
    if at > end:
        return -1
    m[to + 2] = at
    return at


def version_and_zid(d, at, stop):
    """Behind version, zid length and role, and zid; -1 where they are not zenoh's."""
    if at + 2 > stop:
        return -1
    version = d[at] | 0
    if version != 9:
        if version != 8:
            return -1
    if (d[at + 1] | 0) & 15 > 2:  # router, peer, client
        return -1
    at += 2 + ((d[at + 1] | 0) >> 4) + 1
    if at > stop:
        return -1
    return at


def join(d, at, stop, end, h, m):
    """A Join; proof of zenoh only as writers make it, for its fields alone would often fit.

    Alone in its datagram, a role that there is, numbers that 32 bits have and no longer than
    needed, a lease of at most a day (zenoh.md 3.7, 8.1).
    """
    proof = 1
    at = version_and_zid(d, at, stop)
    if at < 0:
        return -1
    if h & 64:
        if at + 3 > stop:
            return -1
        if (d[at] | 0) > 15:
            return -1
        at += 3
    lease, at = zint(d, at, stop)
    if at < 0:
        return -1
    if lease < 1 or lease > 86400000:
        proof = 0
    turn = 0
    while turn < 2:
        begin = at
        sn, at = zint(d, at, stop)
        if at < 0:
            return -1
        if at - begin > 5:
            proof = 0
        if at - begin > 1:
            if (d[at - 1] | 0) == 0:
                proof = 0
        turn += 1
    at = chain(d, at, stop, end, h, OF_JOIN, m)
    if at == end:
        if proof:
            m[M_STRONG] = 1
    return at


def control(d, at, stop, end, m):
    """A transport message without network messages. Returns next or -1."""
    h = d[at] | 0
    kind = h & 31
    at += 1
    if kind == 1:
        at = version_and_zid(d, at, stop)
        if at < 0:
            return -1
        if h & 64:
            at += 3
        if h & 32:
            begin, at = sized(d, at, stop, end)
            if at < 0:
                return -1
        at = chain(d, at, stop, end, h, OF_OTHERS, m)
        if at == end:
            m[M_STRONG] = 1
        return at
    if kind == 2:
        lease, at = zint(d, at, stop)
        if at < 0:
            return -1
        sn, at = zint(d, at, stop)
        if at < 0:
            return -1
        if h & 32 == 0:
            begin, at = sized(d, at, stop, end)
            if at < 0:
                return -1
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind == 3:
        if at >= stop:
            return -1
        if (d[at] | 0) > 7:
            return -1
        at += 1
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind == 4:
        if h & 96:
            return -1
        return chain(d, at, stop, end, h, OF_OTHERS, m)
    if kind == 7:
        return join(d, at, stop, end, h, m)
    return -1


def scouting(d, at, stop, end, at_port, m):
    """1 where the datagram is a Scout or Hello (zenoh.md 7).

    ``at_port``: not 0 at the scouting port; elsewhere only a Hello with locators is taken for one.
    """
    if at + 3 > stop:
        return 0
    h = d[at] | 0
    what = d[at + 2] | 0
    version = d[at + 1] | 0
    if version != 9:
        if version != 8:
            return 0
    if h & 31 == 2:
        if what & 12:
            return 0
        at += 3 + (what >> 4) + 1
        if h & 32:
            count, at = zint(d, at, stop)
            if at < 0:
                return 0
            if count > 64:
                return 0
            while count > 0:
                begin, at = sized(d, at, stop, end)
                if at < 0:
                    return 0
                count -= 1
        elif at_port == 0:
            return 0
    elif at_port:
        if h & 31 != 1:
            return 0
        at += 3
        if what & 8:
            at += (what >> 4) + 1
    else:
        return 0
    return 1 if chain(d, at, stop, end, h, OF_OTHERS, m) == end else 0


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
    """What ends every run: all but KeepAlives, and D_FINAL says nothing."""
    h = m[record + 12] & 31
    if m[record] == TRANSPORT:
        if h != 4:
            m[M_EPOCH] += 1
        return
    m[M_EPOCH] += 1
    if h == 28:
        m[M_OPEN] += 1
        m[M_SINGLE_UNTIL] = c[AT_NS * n + i] + QUERY_NS
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
    if doubt == 1:
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


def decode(d, c, n, begin, room, m):
    """Batches from ``begin`` on into rows. Returns (next batch, rows)."""
    i = begin
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
                        if status == DECODED:
                            if strong == 0:
                                if mode & (KNOWN | PORT) == 0:
                                    status = WEAK
                                    doubt = 1
                        elif strong == 0:
                            if status == TRUNCATED:
                                if mode & PORT:
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
