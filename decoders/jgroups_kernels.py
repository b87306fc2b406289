"""The JGroups walk: UDP datagrams in, rows of integers out (jgroups.md 1 to 3; PIPELINE 5).

``decode`` takes the datagrams of one chunk in order. ``walk`` reads one frame and writes a row for
every message in it; only when the whole frame was judged (nothing on the wire says "JGroups"),
``settle`` counts them, joins numbered messages to runs in place and keeps what an engine wants.
A full table or output is never met inside a frame: ``decode`` stops before it and says where.

Members, addresses and clusters are small integers here, found by their bytes in ``entries`` and
``pool``; 0 is "none". Objects (views, digests, lists of seqnos) are only located.
"""

# ruff: noqa: RUF059, SIM102, SIM109  (one comparison a line and no tuples: PIPELINE 5)

# Columns of a row of ``out``.
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
VERSION = 25  # version short; the message type in bits 16 and up
DATAGRAM = 26  # index of the datagram in the chunk

NONE = -4611686018427387904

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
NOTES = 64

# ``layout``: one line of FIELDS numbers per class id, in three tables (3.x, later ids, objects).
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
F_TEXT = 21  # str
F_ADDRESS = 22
F_VIEW_ID = 23  # opt ViewId
F_ADDRESSES_32 = 24  # i32 n, n addresses
F_ADDRESSES_16 = 25
F_TEXTS_32 = 26
F_PAIRS_32 = 27  # i32 n, n × two str
F_BUFFER = 28  # bytebuf
F_SIZED = 29  # i32 length (-1: none), bytes
F_IP = 30  # opt IpAddress body
F_DIGEST = 31  # digest with addresses
F_OPT_DIGEST = 32
F_MERGE_ID = 33  # i16 flags, address, and address + i32 if flag 4 (GMS)
F_BITS = 34  # SeqnoList
F_FRAGMENT = 35  # FragHeader, whose tail differs between releases

# ``work``: counters of the chunk, then the stack of nested messages.
W_NEXT = 0  # next datagram
W_ROWS = 1
W_ENTRIES = 2
W_POOL = 3
W_STREAMS = 4
W_MEMBERS = 5
W_FLOOR = 6  # runs in rows below it have ended
W_STRONG = 7
W_CLUSTER = 8
W_LISTED = 9
W_VERSION = 10
W_NOTES = 11
W_END = 12  # where a walk stopped
W_PART = 13
STACK = 16
LEVELS = 4
WORK = 32

DECODED = 1  # values of packets.Outcome
MALFORMED = 3
TRUNCATED = 4
UNDECODABLE = 5

SHORT = -1  # the captured bytes end
BAD = -2  # no such value
LEFT = -3  # cannot be decoded further

# ``counts``
C_RELIABLE = 0  # [system * 8 + type]
C_OTHER = 64  # [old ids * 1024 + protocol id]
C_CERTAIN = 2112
C_LIKELY = 2113
C_FORCED = 2114
C_SINGLE = 2115
C_LISTS = 2116
C_BARE = 2117
C_VERSIONS = 2120
COUNTS = 67656

ENTRY = 4  # hash, pool offset, bytes, frames (of a cluster)
MEMBER = 8  # cluster, uuid, host, port, version, frame, at, 0
STREAM = 5  # used, key, cluster and owner, peer, row + 1

SLOTS = 65536
MAX_ENTRIES = 32000
POOL = 131072
MAX_MEMBERS = 8192
MEMBER_SLOTS = 16384
STREAM_SLOTS = 8192
MAX_STREAMS = 6000


def u8(data, o):
    return data[o] | 0


def u16(data, o):
    return (data[o] | 0) * 256 + (data[o + 1] | 0)


def u32(data, o):
    return u16(data, o) * 65536 + u16(data, o + 2)


def i16(data, o):
    value = u16(data, o)
    return value - 65536 if value >= 32768 else value


def i32(data, o):
    value = u32(data, o)
    return value - 4294967296 if value >= 2147483648 else value


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
    o += 3 + u16(data, o + 1)
    return o if o <= stop else SHORT


def skip_ip(data, o, stop):
    """IpAddress body: u8 n, bytes, i32 scope id if n = 16, u16 port (1.2)."""
    if o >= stop:
        return SHORT
    size = u8(data, o)
    if size != 0 and size != 4 and size != 16:
        return BAD
    o += size + (7 if size == 16 else 3)
    return o if o <= stop else SHORT


def skip_address(data, o, stop):
    """An address of any kind (1.2)."""
    if o >= stop:
        return SHORT
    tag = u8(data, o)
    if tag == 1:
        return o + 1
    if tag == 16 or tag == 32:
        o = skip_ip(data, o + 1, stop)
        if o > 0 and tag == 32:
            o += 12  # IpAddressUUID: i64 low, i32 high
        return o if o <= stop else SHORT
    if tag == 0:
        if o + 3 > stop:
            return SHORT
        kind = u16(data, o + 1)
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


def pair_is_known(data, o, stop, layout, old):
    """Whether protocol id and known header class could stand at ``o``."""
    if o + 4 > stop:
        return 0
    kind = u16(data, o + 2)
    if kind >= CLASSES or u16(data, o) == 0:
        return 0
    return 1 if layout[(kind if old == 1 else CLASSES + kind) * FIELDS] != IS_UNKNOWN else 0


def skip_fragment(data, o, stop, layout, old):
    """FragHeader: three numbers; from 5.0 a bool and an i16, in some releases only the bool."""
    value, o = number(data, o, stop)
    turn = 0
    while turn < 2 and o > 0:
        value, o = number(data, o, stop)
        turn += 1
    if o < 0:
        return o
    if old == 1:
        tail = 0 if pair_is_known(data, o, stop, layout, old) == 1 else 1
    elif pair_is_known(data, o + 3, stop, layout, old) == 1:
        tail = 3
    elif pair_is_known(data, o, stop, layout, old) == 1:
        tail = 0
    elif pair_is_known(data, o + 1, stop, layout, old) == 1:
        tail = 1
    else:
        tail = 3
    return o + tail if o + tail <= stop else SHORT


def skip_fields(data, o, stop, layout, line, old):
    """The body of a header or object, by its line of ``layout``."""
    k = 1
    while k < FIELDS and o > 0:
        op = layout[line * FIELDS + k]
        k += 1
        left = 0
        texts = 0
        if op == F_END:
            break
        if op <= 16:
            o += op
        elif op == F_NUMBER:
            value, o = number(data, o, stop)
        elif op == F_TEXT:
            texts = 1
        elif op == F_ADDRESS:
            left = 1
        elif op == F_FRAGMENT:
            o = skip_fragment(data, o, stop, layout, old)
        elif o >= stop:
            o = SHORT
        elif op == F_VIEW_ID:
            o += 1
            if u8(data, o - 1) != 0:
                o = skip_address(data, o, stop)
                if o > 0:
                    value, o = number(data, o, stop)
        elif op == F_BUFFER or op == F_SIZED:
            if op == F_BUFFER:
                o += 1
            if op == F_SIZED or u8(data, o - 1) != 0:
                if o + 4 > stop:
                    o = SHORT
                else:
                    size = i32(data, o)
                    o = BAD if size < -1 else o + 4 + (size if size > 0 else 0)
        elif op == F_IP:
            o = skip_ip(data, o + 1, stop) if u8(data, o) != 0 else o + 1
        elif op == F_BITS:
            if o + 12 > stop:
                o = SHORT
            else:
                size = i32(data, o)
                o = BAD if size < 0 else o + 12 + (size + 63) // 64 * 8
        elif op == F_ADDRESSES_16 or op == F_DIGEST or op == F_OPT_DIGEST:
            if op == F_OPT_DIGEST:
                o += 1
            if op != F_OPT_DIGEST or u8(data, o - 1) != 0:
                if o + 2 > stop:
                    o = SHORT
                else:
                    left = i16(data, o)
                    o += 2
        elif op == F_MERGE_ID:
            if o + 2 > stop:
                o = SHORT
            else:
                size = u16(data, o)
                o = skip_address(data, o + 2, stop)
                if o > 0 and size // 4 % 2 == 1:
                    o = skip_address(data, o, stop)
                    if o > 0:
                        o += 4
        elif o + 4 > stop:
            o = SHORT
        else:
            size = i32(data, o)
            o += 4
            if op == F_ADDRESSES_32:
                left = size
            else:
                texts = size if op == F_TEXTS_32 else size * 2
        pairs = left if op == F_DIGEST or op == F_OPT_DIGEST else 0
        while left > 0 and o > 0:
            left -= 1
            o = skip_address(data, o, stop)
        while texts > 0 and o > 0:
            texts -= 1
            o = skip_text(data, o, stop)
        while pairs > 0 and o > 0:
            pairs -= 1
            if o >= stop:
                o = SHORT
            else:
                o += 1 + u8(data, o) // 16 + u8(data, o) % 16
        if o > stop:
            o = SHORT
    return o


def intern(data, o, size, slots, entries, pool, work):
    """The number of these bytes, a new one if they are new; compares all of them."""
    key = size
    at = o
    left = size
    while left >= 4:
        key = ((key ^ u32(data, at)) * 10368889) & 274877906943
        at += 4
        left -= 4
    tail = 0
    while left > 0:
        tail = tail * 256 + u8(data, at)
        at += 1
        left -= 1
    key = ((key ^ tail) * 10368889) & 274877906943
    slot = key >> 22
    probes = 0
    while probes < SLOTS and slots[slot] != 0:
        entry = slots[slot] * ENTRY
        if entries[entry] == key and entries[entry + 2] == size:
            word = entries[entry + 1]
            at = o
            left = size
            while left >= 4 and pool[word] == u32(data, at):
                word += 1
                at += 4
                left -= 4
            if left < 4 and pool[word] == tail:
                return slots[slot]
        slot = slot + 1 if slot + 1 < SLOTS else 0
        probes += 1
    found = work[W_ENTRIES] + 1
    work[W_ENTRIES] = found
    slots[slot] = found
    word = work[W_POOL]
    entries[found * ENTRY] = key
    entries[found * ENTRY + 1] = word
    entries[found * ENTRY + 2] = size
    entries[found * ENTRY + 3] = 0
    at = o
    left = size
    while left >= 4:
        pool[word] = u32(data, at)
        word += 1
        at += 4
        left -= 4
    pool[word] = tail
    work[W_POOL] = word + 1
    return found


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


def is_strong(data, o, stop, layout, old):
    """A pair of ids that no other traffic has by chance, with a body that fits (1.8)."""
    if o + 5 > stop:
        return IS_UNKNOWN
    owner = u16(data, o)
    kind = u16(data, o + 2)
    if kind >= CLASSES:
        return IS_UNKNOWN
    what = layout[(kind if old == 1 else CLASSES + kind) * FIELDS]
    if what == IS_TP:
        if old == 1 and owner != 21 and owner != 22 and owner != 24 and owner != 74 and owner != 75:
            return IS_UNKNOWN
        if old == 0 and owner != 57 and owner != 16 and owner != 17 and owner != 56:
            return IS_UNKNOWN
        if o + 6 > stop:
            return IS_UNKNOWN
        size = u16(data, o + 4)
        if o + 6 + size > stop or printable(data, o + 6, size) == 0:
            return IS_UNKNOWN
        return what
    kind = u8(data, o + 4)
    if what == IS_UNICAST3:
        return what if owner == (64 if old == 1 else 48) and kind <= 4 else IS_UNKNOWN
    if what == IS_UNICAST4:
        return what if owner == 78 and kind <= 4 else IS_UNKNOWN
    if what == IS_NAKACK2:
        return what if owner == (57 if old == 1 else 41) and 1 <= kind <= 5 else IS_UNKNOWN
    if what == IS_NAKACK4:
        return what if 76 <= owner <= 77 and 1 <= kind <= 5 else IS_UNKNOWN
    return IS_UNKNOWN


def next_message(data, o, stop, layout):
    """Where in a list of 5.x the next message begins whose first header is beyond doubt."""
    while o + 12 <= stop:
        if u16(data, o) <= 7 and u8(data, o + 2) == 0 and u16(data, o + 3) < 4096:
            if u16(data, o + 5) <= 16 and is_strong(data, o + 7, stop, layout, 0) != IS_UNKNOWN:
                return o
        o += 1
    return SHORT


def walk(data, start, stop, end, bare, layout, slots, entries, pool, work, out):
    """One frame: a row per message from row ``work[W_ROWS]`` on. Returns (status, rows).

    ``stop`` ends the captured bytes, ``end`` those of the wire. ``bare`` 1: an MPING datagram of
    5.x, 2: before. Status 0 says that the frame was read to its very end.
    """
    rows = work[W_ROWS]
    work[W_STRONG] = 0
    work[W_CLUSTER] = 0
    work[W_LISTED] = 0
    work[W_VERSION] = 0
    work[W_END] = start
    o = start
    version = 0
    era = 2 if bare == 1 else 1  # 0: 3.x, 1: 4.x, 2: 5.0 to 5.3.7, 3: from 5.3.8 (3)
    old = 0
    many = 0
    cluster = 0
    list_source = 0
    list_destination = 0
    left = 1
    if bare == 0:
        if o + 3 > stop:
            return SHORT, rows
        version = u16(data, o)
        many = u8(data, o + 2)
        if many > 3:
            return BAD, rows
        many = many % 2
        o += 3
        era = 3
        if version < 32 * 256:
            era = 0
        elif version < 40 * 256:
            era = 1
        elif version < 40 * 256 + 200:
            era = 2
        old = 1 if era == 0 else 0
        work[W_VERSION] = version
        work[W_LISTED] = many
    if many == 1:
        at = o
        o = skip_address(data, at, stop)
        if o < 0:
            return o, rows
        if o > at + 1:
            list_destination = intern(data, at, o - at, slots, entries, pool, work)
        at = o
        o = skip_address(data, at, stop)
        if o < 0:
            return o, rows
        if o > at + 1:
            list_source = intern(data, at, o - at, slots, entries, pool, work)
        if o + 2 > stop:
            return SHORT, rows
        size = i16(data, o)
        o += 2
        if size > 0:
            if o + size > stop:
                return SHORT, rows
            if printable(data, o, size) == 1:
                work[W_STRONG] = 1
            cluster = intern(data, o, size, slots, entries, pool, work)
            o += size
        if o + 4 > stop:
            return SHORT, rows
        left = i32(data, o)
        o += 4
        if left < 0:
            return BAD, rows
    index = 0
    depth = 0
    status = 0
    work[STACK] = left
    work[STACK + 1] = -1
    work[STACK + 2] = o
    while depth >= 0 and status == 0:
        if work[STACK + depth * 3] == 0:
            if work[STACK + depth * 3 + 1] >= 0:
                at = work[STACK + depth * 3 + 1] * WIDTH
                out[at + SIZE] = o - work[STACK + depth * 3 + 2]
                out[at + PAYLOAD_STOP] = o
            depth -= 1
            continue
        work[STACK + depth * 3] -= 1
        work[W_END] = o
        begin = o
        before = rows
        kind = 0
        if era >= 2 and bare == 0:
            if o + 2 > stop:
                status = SHORT
                break
            kind = u16(data, o)
            if kind > 7:
                out[rows * WIDTH + SYSTEM] = NOTE
                out[rows * WIDTH + TYPE] = MESSAGE_TYPE
                out[rows * WIDTH + SEQNO] = kind
                out[rows * WIDTH + STOP] = 0
                rows += 1
                status = LEFT
                break
            o += 2
        if o + 3 > stop:
            status = SHORT
            break
        lead = u8(data, o)
        bits = u16(data, o + 1)
        o += 3
        if lead > (3 if era >= 2 else 7):
            status = BAD
            break
        source = list_source
        destination = list_destination
        if lead % 2 == 1:
            at = o
            o = skip_address(data, at, stop)
            if o < 0:
                status = o
                break
            if o > at + 1:
                destination = intern(data, at, o - at, slots, entries, pool, work)
        if lead // 2 % 2 == 1:
            at = o
            o = skip_address(data, at, stop)
            if o < 0:
                status = o
                break
            if o > at + 1:
                source = intern(data, at, o - at, slots, entries, pool, work)
        if o + 2 > stop:
            status = SHORT
            break
        headers = i16(data, o)
        o += 2
        if headers < 0 or headers > 100:
            status = BAD
            break
        system = JGROUPS
        sort = 0
        owner = 0
        seqno = NONE
        conn = NONE
        stamp = NONE
        first_flag = 0
        protocol = -1
        object_at = 0
        object_kind = NOTHING
        fragment = 0
        encrypted = 0
        gms = 0
        noted = -1
        while headers > 0:
            headers -= 1
            if o + 4 > stop:
                status = SHORT
                break
            who = u16(data, o)
            of = u16(data, o + 2)
            line = (of if old == 1 else CLASSES + of) if of < CLASSES else 0
            what = layout[line * FIELDS] if of < CLASSES else IS_UNKNOWN
            after = o + 4
            if what == IS_PLAIN or what >= IS_GMS:
                after = skip_fields(data, o + 4, stop, layout, line, old)
            if what == IS_UNKNOWN or after < 0:
                at = o + 1
                while at < stop and is_strong(data, at, stop, layout, old) == IS_UNKNOWN:
                    at += 1
                if protocol < 0:
                    protocol = who
                if at >= stop:
                    status = after if after < 0 else LEFT
                    if status == LEFT and noted < 0:
                        noted = who * 65536 + of
                    break
                if noted < 0:
                    noted = who * 65536 + of
                o = at
                headers = 1
                continue
            if what <= IS_TP and is_strong(data, o, stop, layout, old) == what:
                work[W_STRONG] = 2
            o += 4
            body = o
            if what == IS_TP:
                if o + 2 > stop:
                    status = SHORT
                    break
                size = i16(data, o)
                o += 2
                if size > 0:
                    if o + size > stop:
                        status = SHORT
                        break
                    cluster = intern(data, o, size, slots, entries, pool, work)
                    o += size
                if era == 3:
                    if o >= stop:
                        status = SHORT
                        break
                    if u8(data, o) > 2:
                        status = BAD
                        break
                    o += 5 if u8(data, o) > 0 else 1
                    if o > stop:
                        status = SHORT
                        break
                if noted >= 0:
                    headers = 0
                continue
            if protocol < 0:
                protocol = who
            if IS_UNICAST3 <= what <= IS_NAKACK4:
                if o >= stop:
                    status = SHORT
                    break
                sort = u8(data, o)
                o += 1
                wants = 0  # 1: seqno, 2: conn-id, 4: first flag, 8: timestamp, 16: address
                if what <= IS_UNICAST4:
                    system = UNICAST3 if what == IS_UNICAST3 else UNICAST4
                    if sort == 0:
                        wants = 7
                    elif sort == 1:
                        wants = 11 if version > 6464 else 3  # no timestamp up to 3.5.0
                    elif sort == 2:
                        wants = 8 if version > 6464 else (0 if version == 6464 else 1)
                    elif sort == 4:
                        wants = 2
                    elif sort != 3:
                        status = BAD
                        break
                else:
                    system = NAKACK2
                    if what == IS_NAKACK4:
                        system = NAKACK3 if who == 76 else NAKACK4
                    if sort < 1 or sort > 5:
                        status = BAD
                        break
                    wants = 16 if sort == 2 else 1
                if wants % 2 == 1:
                    seqno, o = number(data, o, stop)
                    if o < 0 or seqno == NONE:
                        status = o if o < 0 else BAD
                        break
                if wants // 2 % 2 == 1:
                    if o + 2 > stop:
                        status = SHORT
                        break
                    conn = i16(data, o)
                    o += 2
                if wants // 4 % 2 == 1:
                    if o >= stop:
                        status = SHORT
                        break
                    first_flag = 2 if u8(data, o) != 0 else 0
                    o += 1
                if wants // 8 % 2 == 1:
                    if o >= stop:
                        status = SHORT
                        break
                    size = u8(data, o)
                    stamp, o = number(data, o, stop)
                    if o < 0:
                        status = o
                        break
                    if size == 4 and stamp >= 2147483648:
                        stamp -= 4294967296
                if wants == 16:
                    o = skip_address(data, body + 1, stop)
                    if o < 0:
                        status = o
                        break
                    if o > body + 2:
                        owner = intern(data, body + 1, o - body - 1, slots, entries, pool, work)
                if noted >= 0 and (era == 3 or many == 0):
                    headers = 1  # the TP header ends the list, wherever it is
                continue
            if IS_GMS <= what <= IS_MERGE3:
                object_at = body
                object_kind = what - IS_GMS + GMS
                if what == IS_GMS and o < stop:
                    gms = u8(data, o)
                if what == IS_PING and bare > 0 and o + 4 <= stop and u8(data, o + 1) == 1:
                    size = u16(data, o + 2)
                    if size > 0 and o + 4 + size <= stop:
                        cluster = intern(data, o + 4, size, slots, entries, pool, work)
                        work[W_STRONG] = printable(data, o + 4, size)
            elif what == IS_FRAGMENT:
                fragment = 1
            elif what == IS_ENCRYPT:
                encrypted = 1
            o = after
            if noted >= 0:
                headers = 1
        if noted >= 0:
            out[rows * WIDTH + SYSTEM] = NOTE
            out[rows * WIDTH + TYPE] = HEADER if status == LEFT else SKIPPED_HEADER
            out[rows * WIDTH + SEQNO] = noted % 65536
            out[rows * WIDTH + STOP] = noted // 65536
            rows += 1
        if status != 0:
            if status != LEFT:
                rows = before
            break
        if encrypted == 1 and system == JGROUPS:
            out[rows * WIDTH + SYSTEM] = NOTE
            out[rows * WIDTH + TYPE] = ENCRYPTED
            out[rows * WIDTH + SEQNO] = protocol
            out[rows * WIDTH + STOP] = 0
            rows += 1
        if fragment == 1 or kind == 6 or encrypted == 1:
            object_kind = NOTHING
        if work[W_CLUSTER] == 0:
            work[W_CLUSTER] = cluster
        row = rows * WIDTH
        shown = rows
        if system != JGROUPS or (depth == 0 and encrypted == 0):
            rows += 1
            out[row + SYSTEM] = system
            out[row + TYPE] = sort
            out[row + INDEX] = index
            out[row + CLUSTER] = cluster
            out[row + SOURCE] = source
            out[row + DESTINATION] = destination
            out[row + OWNER] = source
            out[row + PEER] = 0
            out[row + SEQNO] = seqno
            out[row + STOP] = seqno + 1 if seqno != NONE else NONE
            out[row + COUNT] = 1
            out[row + CONN] = conn
            out[row + STAMP] = stamp
            out[row + FLAGS] = bits % 2 + first_flag + (8 if bits // 16 % 2 == 1 else 0)
            out[row + OBJECT] = NOTHING
            out[row + HEADER_AT] = object_at
            out[row + VERSION] = version + kind * 65536
            if system == JGROUPS:
                out[row + TYPE] = protocol + (1024 if old == 1 else 0)
                if protocol < 0 or protocol >= 1024:
                    out[row + TYPE] = 0
                out[row + OBJECT] = object_kind
                if bare > 0:
                    out[row + OBJECT] = BARE_PING
            elif system <= NAKACK2:
                if sort == 2:
                    out[row + OWNER] = owner
                    out[row + OBJECT] = LIST
                elif sort == 5:
                    out[row + OWNER] = destination
                elif (sort == 1 or sort == 3) and object_kind == GMS and gms == 5:
                    out[row + OBJECT] = GMS
                elif object_kind != NOTHING:
                    out[row + OBJECT] = -object_kind
            else:
                out[row + PEER] = destination
                if 1 <= sort <= 3:
                    out[row + OWNER] = destination
                    out[row + PEER] = source
                if sort == 3:
                    out[row + OBJECT] = LIST
                elif sort == 0 and object_kind != NOTHING:
                    out[row + OBJECT] = -object_kind
        payload = o
        nested = -1
        if era < 2 or bare > 0 or kind == 0 or kind == 1 or kind == 6:
            if bare == 1 or era >= 2 or lead >= 4:
                if kind == 1:
                    o += 1
                if o + 4 > stop:
                    status = SHORT
                else:
                    size = i32(data, o)
                    o += 4
                    payload = o
                    if size < -1 or (size > 0 and size > end - o):
                        status = BAD
                    elif size > 0:
                        o += size
        elif kind == 4:
            value, o = number(data, o, stop)
            if o < 0:
                status = o
        elif kind == 3:
            of = 0
            if era == 2 and version < 40 * 256 + 128 + 11 and o < stop:
                if u8(data, o) == 50:  # a type code in front; 0x32 is "streamable" (3)
                    o += 1
                elif u8(data, o) != 0:
                    of = -u8(data, o)
            if o >= stop:
                status = SHORT
            elif of == 0 and u8(data, o) > 1:
                status = BAD
            elif of == 0 and u8(data, o) == 0:
                o += 1
            else:
                if of == 0 and o + 3 <= stop:
                    of = u16(data, o + 1)
                    o += 3
                elif of == 0:
                    status = SHORT
                what = layout[(2 * CLASSES + of) * FIELDS] if 0 < of < CLASSES else IS_UNKNOWN
                if status == 0 and what != IS_UNKNOWN:
                    o = skip_fields(data, o, stop, layout, 2 * CLASSES + of, old)
                    if o < 0:
                        status = o
                elif status == 0 and work[STACK] == 0 and depth == 0:
                    o = end  # the last message: the object is the rest
                elif status == 0:
                    at = next_message(data, o, stop, layout) if depth == 0 else SHORT
                    if at < 0:
                        status = LEFT
                    else:
                        o = at
                    out[rows * WIDTH + SYSTEM] = NOTE
                    out[rows * WIDTH + TYPE] = OBJECT_CLASS if at < 0 else SKIPPED_OBJECT
                    out[rows * WIDTH + SEQNO] = of
                    out[rows * WIDTH + STOP] = 0
                    rows += 1
        elif kind == 5 or kind == 7:
            if o + 4 > stop:
                status = SHORT
            else:
                nested = i32(data, o)
                o += 4
                if nested < 0:
                    status = BAD
                elif kind == 7:
                    o = skip_address(data, o, stop)
                    if o < 0:
                        status = o
            if status == 0 and depth + 1 >= LEVELS:
                status = LEFT
                out[rows * WIDTH + SYSTEM] = NOTE
                out[rows * WIDTH + TYPE] = DEPTH
                out[rows * WIDTH + SEQNO] = LEVELS
                out[rows * WIDTH + STOP] = 0
                rows += 1
        if status == BAD or ((status == SHORT or o > stop) and stop == end):
            status = BAD
            rows = before
            break
        if o > stop and status == 0:
            status = SHORT
        if shown < rows and out[row + SYSTEM] != NOTE:
            out[row + SIZE] = (o if status == 0 else end) - begin
            out[row + PAYLOAD_AT] = payload
            out[row + PAYLOAD_STOP] = o if status == 0 else stop
            if o > stop and o <= end:
                out[row + SIZE] = o - begin
            if out[row + OBJECT] < 0 and status == 0:
                # what a numbered message says about members is a row of its own, in the cluster
                at = rows * WIDTH
                rows += 1
                k = 0
                while k < WIDTH:
                    out[at + k] = out[row + k]
                    k += 1
                out[at + SYSTEM] = SIDE
                out[at + OBJECT] = -out[row + OBJECT]
                out[row + OBJECT] = NOTHING
        index += 1
        if nested >= 0 and status == 0:
            depth += 1
            work[STACK + depth * 3] = nested
            work[STACK + depth * 3 + 1] = shown if shown < rows else -1
            work[STACK + depth * 3 + 2] = begin
    if status == 0:
        work[W_END] = o
        if o != end:
            status = BAD if o < stop or stop == end else SHORT
    return status, rows


def find_stream(system, cluster, owner, peer, streams, work):
    """The place in ``streams`` of this numbering, a new one if it is new."""
    key = (cluster * 32768 + owner) * 8 + system
    slot = ((key * 10368889 + peer * 9350423) & 274877906943) >> 25
    while streams[slot * STREAM] != 0:
        at = slot * STREAM
        if streams[at + 1] == key and streams[at + 2] == peer:
            return at
        slot = slot + 1 if slot + 1 < STREAM_SLOTS else 0
    at = slot * STREAM
    streams[at] = 1
    streams[at + 1] = key
    streams[at + 2] = peer
    streams[at + 3] = 0
    work[W_STREAMS] += 1
    return at


def note_member(cluster, who, host, port, version, frame, at_ns, members, work):
    """Remember the first frame of this member from this socket."""
    key = ((cluster * 32768 + who) * 10368889) & 274877906943
    key = ((key ^ (host * 65536 + port) & 274877906943) * 10368889 + version) & 274877906943
    slot = key >> 24
    while members[slot] != 0:
        at = MEMBER_SLOTS + members[slot] * MEMBER
        if (
            members[at] == cluster
            and members[at + 1] == who
            and members[at + 2] == host
            and members[at + 3] == port
            and members[at + 4] == version
        ):
            return
        slot = slot + 1 if slot + 1 < MEMBER_SLOTS else 0
    work[W_MEMBERS] += 1
    members[slot] = work[W_MEMBERS]
    at = MEMBER_SLOTS + work[W_MEMBERS] * MEMBER
    members[at] = cluster
    members[at + 1] = who
    members[at + 2] = host
    members[at + 3] = port
    members[at + 4] = version
    members[at + 5] = frame
    members[at + 6] = at_ns


def settle(rows, datagram, frame, at_ns, host, port, flags, ip_id, work, streams, floors, members,
           notes, counts, out):  # fmt: skip
    """Count the rows of one accepted frame, join them to runs, keep the rest."""
    write = work[W_ROWS]
    read = write
    told = 0
    work[W_PART] = 0
    while read < rows:
        row = read * WIDTH
        read += 1
        system = out[row + SYSTEM]
        sort = out[row + TYPE]
        if system == NOTE:
            if sort != SKIPPED_HEADER and sort != SKIPPED_OBJECT:
                work[W_PART] = 1
            at = 0
            while at < work[W_NOTES] * 4 and not (
                notes[at] == sort
                and notes[at + 1] == out[row + SEQNO]
                and notes[at + 2] == out[row + STOP]
            ):
                at += 4
            if at == work[W_NOTES] * 4 and work[W_NOTES] < NOTES:
                work[W_NOTES] += 1
                notes[at] = sort
                notes[at + 1] = out[row + SEQNO]
                notes[at + 2] = out[row + STOP]
                notes[at + 3] = 0
            notes[at + 3] += 1
            continue
        cluster = out[row + CLUSTER]
        source = out[row + SOURCE]
        if system <= UNICAST4:
            counts[C_RELIABLE + system * 8 + sort] += 1
        elif system == JGROUPS:
            counts[C_OTHER + sort] += 1
        if (
            source > 0
            and (system > NAKACK2 or sort != 3)
            and told != cluster * 32768 + source
            and out[row + OBJECT] != BARE_PING
        ):
            told = cluster * 32768 + source
            version = out[row + VERSION] % 65536
            note_member(cluster, source, host, port, version, frame, at_ns, members, work)
        if system == JGROUPS and out[row + OBJECT] == NOTHING:
            continue
        out[row + FRAME] = frame
        out[row + LAST_FRAME] = frame
        out[row + AT] = at_ns
        out[row + LAST_AT] = at_ns
        out[row + FLAGS] |= flags
        out[row + FRESH] = ip_id
        out[row + LAST_FRESH] = ip_id
        out[row + DATAGRAM] = datagram
        if system <= UNICAST4:
            multicast = 1 if system <= NAKACK2 else 0
            numbered = 1 if (sort == 0 or (multicast == 1 and (sort == 1 or sort == 3))) else 0
            if out[row + OBJECT] == GMS:
                numbered = 0
            if work[W_STREAMS] >= MAX_STREAMS:
                at = 0
                while at < STREAM_SLOTS * STREAM:
                    streams[at] = 0
                    at += STREAM
                work[W_STREAMS] = 0
            at = find_stream(system, cluster, out[row + OWNER], out[row + PEER], streams, work)
            if numbered == 1:
                run = (streams[at + 3] - 1) * WIDTH
                floor = work[W_FLOOR]
                if multicast == 1 and floors[cluster] > floor:
                    floor = floors[cluster]
                if (
                    run >= floor * WIDTH
                    and out[run + STOP] == out[row + SEQNO]
                    and out[run + TYPE] == sort
                    and out[run + FLAGS] == out[row + FLAGS]
                    and out[run + CONN] == out[row + CONN]
                    and out[run + SOURCE] == source
                    and out[run + DESTINATION] == out[row + DESTINATION]
                ):
                    out[run + STOP] += 1
                    out[run + COUNT] += 1
                    out[run + SIZE] += out[row + SIZE]
                    out[run + LAST_FRAME] = frame
                    out[run + LAST_AT] = at_ns
                    out[run + LAST_FRESH] = ip_id
                    continue
                streams[at + 3] = write + 1
            else:
                streams[at + 3] = 0
        if out[row + OBJECT] == GMS or out[row + OBJECT] == STABLE:
            floors[cluster] = write + 1
        if write * WIDTH != row:
            k = 0
            while k < WIDTH:
                out[write * WIDTH + k] = out[row + k]
                k += 1
        write += 1
    work[W_ROWS] = write


def decode(data, count, start, stop, length, source, source_port, flags, ip_id, at_ns, frame,
           barrier, wanted, outcome, layout, work, slots, entries, pool, members, streams, floors,
           notes, counts, out, room):  # fmt: skip
    """Datagrams from ``work[W_NEXT]`` on. Returns (next datagram, rows).

    ``wanted``: 1 claim whatever it is, 0 look, -1 leave alone. ``outcome`` gets DECODED ... for
    claimed datagrams. Stops before a datagram for which a table or the output could become too
    small; the caller empties them and calls again.
    """
    i = work[W_NEXT]
    while i < count:
        begin = start[i]
        bytes_here = stop[i] - begin
        if barrier[i] != 0:
            work[W_FLOOR] = work[W_ROWS]
            i += 1
            continue
        if wanted[i] < 0 or bytes_here < 3 or bytes_here > 65535:
            i += 1
            continue
        force = wanted[i]
        major = u8(data, begin) // 8
        bare = 0
        if u8(data, begin) == 2 or u8(data, begin) == 6:
            # MPING: leading byte, flags, source, one PING header of protocol 6 (1.10)
            if bytes_here >= 32 and u8(data, begin + 3) == 2 and u32(data, begin + 20) == 65542:
                if u16(data, begin + 24) == 53:
                    bare = 1 if u8(data, begin) == 2 else 2
        if force == 0 and bare == 0 and (major < 3 or major > 5 or u8(data, begin + 2) > 3):
            i += 1
            continue
        if (
            (work[W_ROWS] + bytes_here // 4 + 16) * WIDTH > room
            or work[W_ENTRIES] + bytes_here // 4 + 8 > MAX_ENTRIES
            or work[W_POOL] + bytes_here // 2 + 8 > POOL
            or work[W_MEMBERS] + bytes_here // 8 + 2 > MAX_MEMBERS
        ):
            break
        end = begin + length[i]
        if end < stop[i]:
            end = stop[i]
        status, rows = walk(
            data, begin, stop[i], end, bare, layout, slots, entries, pool, work, out
        )
        whole = 1 if status == 0 and rows > work[W_ROWS] else 0
        strong = work[W_STRONG]
        if (strong == 2 or (strong == 1 and whole == 1)) and (bare == 0 or whole == 1):
            counts[C_CERTAIN if whole == 1 else C_LIKELY] += 1
        elif force == 1:
            counts[C_FORCED] += 1
        else:
            i += 1
            continue
        settle(rows, i, frame[i], at_ns[i], source[i], source_port[i], flags[i], ip_id[i], work,
               streams, floors, members, notes, counts, out)  # fmt: skip
        result = DECODED
        if status == SHORT and end > stop[i]:
            result = TRUNCATED
        elif status == SHORT or status == BAD:
            result = MALFORMED
        elif status == LEFT or work[W_PART] == 1:
            result = UNDECODABLE
        outcome[i] = result
        if bare > 0:
            counts[C_BARE] += 1
        else:
            counts[C_LISTS if work[W_LISTED] == 1 else C_SINGLE] += 1
            counts[C_VERSIONS + work[W_VERSION]] += 1
        if work[W_CLUSTER] > 0:
            entries[work[W_CLUSTER] * ENTRY + 3] += 1
        i += 1
    work[W_NEXT] = i
    return i, work[W_ROWS]
