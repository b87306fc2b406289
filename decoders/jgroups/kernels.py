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

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("decode",)


# ruff: noqa: RUF059, SIM102, SIM109  (one comparison a line and no tuples: decoders/README.md 4)

# Columns of an output row.
WIDTH = 27
SYSTEM = 0  # NAKACK4 ... NOTE
TYPE = 1  # type byte of the reliability header; protocol id of a JGROUPS row; reason of a NOTE
FRAME = 2
INDEX = 3
LAST_FRAME = 4
AT = 5
LAST_AT = 6
CLUSTER = 7
SOURCE = 8
DESTINATION = 9
OWNER = 10  # whose numbering: the original sender of a multicast, the data sender of a unicast
PEER = 11  # the data receiver of a unicast
SEQNO = 12  # NONE: the message has none
STOP = 13
COUNT = 14
CONN = 15  # NONE: no conn-id
STAMP = 16  # NONE: no timestamp
FLAGS = 17
SIZE = 18
FRESH = 19
LAST_FRESH = 20
OBJECT = 21  # what there is to parse: NOTHING, LIST, ...
HEADER_AT = 22  # body of the GMS, STABLE, PING or MERGE3 header
PAYLOAD_AT = 23
PAYLOAD_STOP = 24
VERSION = 25  # version short
DATAGRAM = 26  # index of the datagram in the chunk

NONE = -4611686018427387904

LISTED = 128  # events.Flag: LISTED, and twice as much for ALONE; a run's others are equal

NAKACK4 = 1
NAKACK3 = 2
NAKACK2 = 3
UNICAST3 = 4
UNICAST4 = 5
JGROUPS = 6  # a message without a seqno: counted by protocol id
SIDE = 7  # a second row of a message that has one already: not counted
NOTE = 8  # something left undecoded: TYPE is the reason, SEQNO and STOP are its numbers

NOTHING = 0
LIST = 1  # seqnos of an xmit-req
GMS = 2
STABLE = 3
PING = 4
MERGE3 = 5
BARE_PING = 6  # as PING, from a bare MPING datagram

HEADER = 1  # reasons of a NOTE: header class and protocol id
SKIPPED_HEADER = 2  # the same, but what follows was found again (1.8)
MESSAGE_TYPE = 3
OBJECT_CLASS = 4
ENCRYPTED = 5
DEPTH = 6
SKIPPED_OBJECT = 7
OLD_RELEASE = 8  # version short

# LAYOUT: one line of FIELDS numbers per class id, in three tables (3.x, later ids, objects).
FIELDS = 10
CLASSES = 128
IS_UNKNOWN = 0
IS_PLAIN = 1
IS_UNICAST3 = 2
IS_UNICAST4 = 3
IS_NAKACK2 = 4
IS_NAKACK4 = 5
IS_TP = 6
IS_GMS = 7
IS_STABLE = 8
IS_PING = 9
IS_MERGE3 = 10
IS_FRAGMENT = 11
IS_ENCRYPT = 12
# What follows in a line: 1..16 = so many bytes, else
F_END = 0
F_NUMBER = 20  # vint or vlong
F_FRAGMENT = 21  # FragHeader, whose tail differs between releases
F_TEXT = 22  # str
F_ADDRESS = 23
F_VIEW_ID = 24  # opt ViewId
F_OPT_DIGEST = 25  # opt digest with addresses
F_BUFFER = 26  # bytebuf
F_IP = 27  # opt IpAddress body
F_MERGE_ID = 28  # i16 flags, address, and address + i32 if flag 4 (GMS)
F_ADDRESSES_16 = 29
F_DIGEST = 30  # digest with addresses
F_TEXTS_32 = 31  # i32 n, n str
F_PAIRS_32 = 32  # i32 n, n × two str
F_ADDRESSES_32 = 33  # i32 n, n addresses
F_SIZED = 34  # i32 length (-1: none), bytes
F_BITS = 35  # SeqnoList

# First part of ``m``: counters of the round, what is known of the frame and of the message, the
# stack of nested messages (left, row, begin), and what every row of the frame starts as.
W_NEXT = 0  # next datagram
W_ROWS = 1
W_ENTRIES = 2
W_POOL = 3
W_STREAMS = 4
W_MEMBERS = 5
W_FLOOR = 6  # runs in rows below it have ended
W_NOTES = 7
W_END = 8  # rows of the frame end here
W_STRONG = 9  # 2: a header beyond doubt; 1: a list or PING with a cluster name
W_CLUSTER = 10
W_LISTED = 11
W_VERSION = 12
W_ERA = 13  # 0: 3.x, 1: 4.x, 2: 5.0 to 5.3.7, 3: from 5.3.8 (3)
W_OLD = 14  # 1: ids of 3.x
W_TABLE = 15  # where its headers are in LAYOUT
W_BARE = 16  # 1: an MPING datagram of 5.x, 2: before
W_DEPTH = 17
W_PART = 18  # 1: something of the frame was left undecoded
W_PROTOCOL = 19  # of the first header
W_CLOSED = 20  # IS_FRAGMENT, IS_ENCRYPT: the payload cannot be read
W_NESTED = 21  # messages in the payload, or -1
W_REASON = 22  # of a NOTE, and its numbers
W_FIRST = 23
W_SECOND = 24
W_ENDS = 25  # where the message ends, even past what was captured; below 0: not known
STACK = 32
LEVELS = 4
TEMPLATE = 52

V3_5_0 = 0x1940
V4_0 = 0x2000
V5_0 = 0x2800
V5_2_11 = 0x288B
V5_3_8 = 0x28C8

DECODED = 1  # values of packets.Outcome
MALFORMED = 3
TRUNCATED = 4
UNDECODABLE = 5

SHORT = -1  # the captured bytes end
BAD = -2  # no such value
LEFT = -3  # cannot be decoded further

# Parts of ``m``: each begins where the one before ends.
LAYOUT = 96
COUNTS = LAYOUT + 3 * CLASSES * FIELDS
C_OTHER = COUNTS + 64  # [old ids * 1024 + protocol id]; before it [system * 8 + type]
C_CERTAIN = COUNTS + 2112
C_LIKELY = C_CERTAIN + 1
C_FORCED = C_CERTAIN + 2
C_SINGLE = C_CERTAIN + 3
C_LISTS = C_CERTAIN + 4
C_BARE = C_CERTAIN + 5
C_VERSIONS = C_CERTAIN + 6
NOTED = C_VERSIONS + 65536  # reason, first, second, how often
MAX_NOTES = 64
SLOTS = NOTED + (MAX_NOTES + 1) * 4  # hash table of entries
SLOT_COUNT = 65536
ENTRIES = SLOTS + SLOT_COUNT  # hash, place in the pool, bytes, frames (of a cluster)
MAX_ENTRIES = 32000
POOL = ENTRIES + (MAX_ENTRIES + 2) * 4  # bytes, four a word
POOL_SIZE = 131072
FLOORS = POOL + POOL_SIZE  # by cluster: runs in rows before it have ended
MEMBER_SLOTS = FLOORS + MAX_ENTRIES + 2
MEMBER_SLOT_COUNT = 16384
MEMBERS = MEMBER_SLOTS + MEMBER_SLOT_COUNT
MEMBER = 7  # cluster, uuid, host, port, version, frame, at
MAX_MEMBERS = 8200  # 65,535 bytes name fewer
STREAMS = MEMBERS + (MAX_MEMBERS + 2) * MEMBER
STREAM = 3  # cluster, owner and system (0: free); peer; row of the open run
STREAM_COUNT = 8192
MAX_STREAMS = 6000
OUT = STREAMS + STREAM_COUNT * STREAM


def u8(data, o):
    return data[o] | 0


def u16be(data, o):
    return (data[o] | 0) * 256 + (data[o + 1] | 0)


def u32be(data, o):
    return u16be(data, o) * 65536 + u16be(data, o + 2)


def i16(data, o):
    value = u16be(data, o)
    return value if value < 32768 else value - 65536


def i32(data, o):
    value = u32be(data, o)
    return value if value < 2147483648 else value - 4294967296


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
            # no length leads over it: look for what nothing else looks like (1.8)
            if m[W_REASON] == 0:
                m[W_FIRST] = of
                m[W_SECOND] = who
            m[W_REASON] = SKIPPED_HEADER
            o += 1
            while o < stop and is_strong(data, o, stop, m) == 0:
                o += 1
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
    if m[W_ERA] < 2 and lead < 4:
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
    about = m[row + OBJECT]
    if kind == 6 or m[W_CLOSED] != 0:
        about = NOTHING
    m[row + OBJECT] = NOTHING
    source = m[row + SOURCE]
    destination = m[row + DESTINATION]
    m[W_END] = row + WIDTH
    if system == JGROUPS:
        m[row + OBJECT] = about if m[W_BARE] == 0 else BARE_PING
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
        if system != NOTE and source > 0 and key != told and about != BARE_PING:
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
    era = 2 if m[W_BARE] == 1 else 1
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
        m[W_BARE] = 0
        if (lead == 2 or lead == 6) and size >= 32:
            # MPING: leading byte, flags, UUID, one PING header of protocol 6 (1.10)
            if u8(data, o + 3) == 2 and u32be(data, o + 20) == 65542 and u16be(data, o + 24) == 53:
                m[W_BARE] = 1 if lead == 2 else 2
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
