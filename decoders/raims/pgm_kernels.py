"""The walk over PGM packets and the raims messages in them (raims.md 2, 3, 5; decoders/README.md
4).

``decode`` takes the datagrams of one chunk in order. Of PGM it writes a row a packet, or one for a
run of ODATA with consecutive sqns; of the raims messages ("CABA") in ODATA and RDATA a row for a
run of consecutive seqnos of one publisher and subject on one link. Of other messages, inbox headers
and NAKs it writes a row and the JSON of its ``detail`` into ``text``, where that is plain: fields
as they should be, strings of printable ASCII. Everything else is only located, for Python to read,
and so is all of it where there is no room for text. A link is what messages come in order on: a
TSI, or the two ends of an inbox; runs of a TSI end where its packets are out of order.

All tables are parts of one int64 array ``m``. Links last for the whole piece, the rest for a call.
``text`` begins with the words of the JSON; NAMES says where each is.
"""

# ruff: noqa: SIM102, SIM109  (one comparison a line and no tuples: decoders/README.md 4)

#: Functions that Python calls; the others need no wrapper when compiled.
ENTRY_POINTS = ("decode", "frames")

# Columns of an output row.
WIDTH = 32
SORT = 0
FRAME = 1
INDEX = 2
LAST_FRAME = 3
AT = 4
LAST_AT = 5
LINK = 6  # number in LINKS; 0: none
SOURCE = 7  # host
DESTINATION = 8  # host
SEQNO = 9  # sqn of a PGM packet; seqno of a message: the 64 bits of the wire
STOP = 10
COUNT = 11
SIZE = 12
FLAGS = 13
SQN = 14  # of the packet a message came in, first and last of the run
LAST_SQN = 15
STREAM = 16  # number in STREAMS; 0: none
TIME = 17  # of the publisher, NONE: the message has none
CHAIN = 18  # previous seqno, NONE: the message has none
WORD = 19  # first byte of a message: version, type, options; PGM options
PATH = 20
BODY_AT = 21
BODY_STOP = 22
PORT = 23  # source and destination port of the datagram
TO_PORT = 24
DATAGRAM = 25
TRAIL = 26
LEAD = 27
ID = 28  # IP id of the datagram, -1: none
COLUMN = 29  # PGM packet type; inbox type, 4 more for a repair
TEXT_AT = 30  # of the detail, -1: none was written
TEXT_STOP = 31
# The same of a row CONTROL or INBOX_HEAD.
USER = CHAIN  # where the field "user" is, 0: none
VERSION = TRAIL
HOST = LEAD  # value of the field "host_id", -1: none
TOLD = COLUMN  # 1: it says who its sender is, other than the one before it on its link
CONNECTION = CHAIN
ACKNOWLEDGED = LEAD

#: A column is contiguous; they begin so far apart, which is no whole number of pages (``apart``).
STRIDE = 20473
ROWS = 20000
# From a row, which is its place in the first column, to a column of it.
R_SORT = SORT * STRIDE
R_FRAME = FRAME * STRIDE
R_INDEX = INDEX * STRIDE
R_LAST_FRAME = LAST_FRAME * STRIDE
R_AT = AT * STRIDE
R_LAST_AT = LAST_AT * STRIDE
R_LINK = LINK * STRIDE
R_SOURCE = SOURCE * STRIDE
R_DESTINATION = DESTINATION * STRIDE
R_SEQNO = SEQNO * STRIDE
R_STOP = STOP * STRIDE
R_COUNT = COUNT * STRIDE
R_SIZE = SIZE * STRIDE
R_FLAGS = FLAGS * STRIDE
R_SQN = SQN * STRIDE
R_LAST_SQN = LAST_SQN * STRIDE
R_STREAM = STREAM * STRIDE
R_TIME = TIME * STRIDE
R_CHAIN = CHAIN * STRIDE
R_WORD = WORD * STRIDE
R_PATH = PATH * STRIDE
R_BODY_AT = BODY_AT * STRIDE
R_BODY_STOP = BODY_STOP * STRIDE
R_PORT = PORT * STRIDE
R_TO_PORT = TO_PORT * STRIDE
R_DATAGRAM = DATAGRAM * STRIDE
R_TRAIL = TRAIL * STRIDE
R_LEAD = LEAD * STRIDE
R_ID = ID * STRIDE
R_COLUMN = COLUMN * STRIDE
R_TEXT_AT = TEXT_AT * STRIDE
R_TEXT_STOP = TEXT_STOP * STRIDE
R_USER = USER * STRIDE
R_VERSION = VERSION * STRIDE
R_HOST = HOST * STRIDE
R_TOLD = TOLD * STRIDE
R_CONNECTION = CONNECTION * STRIDE
R_ACKNOWLEDGED = ACKNOWLEDGED * STRIDE

NONE = -4611686018427387904

PGM_DATA = 1
PGM_OTHER = 2
MESSAGES = 3  # data messages
MESSAGE = 4  # any other message, located
PIECE = 5  # a TSDU that ends in the trailer of a piece, located
UNREAD = 6  # rest of a TSDU that holds no message, located
INBOX = 7  # a datagram with an inbox header, located
NAMED = 8  # a datagram that is one message (name service), located
TRAILED = 9  # the trail has passed what may be missing
CONTROL = 10  # a message that is no data, read
INBOX_HEAD = 11  # an inbox header, read
INBOX_MESSAGE = 12  # a message behind one, located
LARGE = 13  # ODATA of more than LARGE_BYTES, beside the run that it is in

LARGE_BYTES = 1472  # what an Ethernet frame holds of UDP

SPM = 0
ODATA = 4
RDATA = 5
NAK = 8
NCF = 10
SPMR = 12
POLL = 1
POLR = 2
NNAK = 9
PARITY = 0x80  # an option

# Head of ``m``.
W_NEXT = 0
W_ROWS = 1  # where the next row goes
W_STREAMS = 2
W_LINKS = 3  # lasts
W_MODE = 4  # 1: PGM with messages, 2: PGM alone, 3: what raims sends beside PGM, 4: a TCP stream
W_FLOOR = 5  # rows below it have ended
W_CHECK = 6  # 1: checksums are looked at here
W_TEXT = 7  # where the next text goes
W_TEXT_ROOM = 8  # one past the last byte of text; 0: no text is written
COUNTS = 16  # by PGM type (16), then data messages, GLSNO messages
C_DATA = 32
C_GLSNO = 33
C_DAMAGED = 34
C_REFUSED = 35  # of IP protocol 113, and no PGM packet
# The datagram at hand.
D_NUMBER = 40
D_FRAME = 41
D_AT = 42
D_SOURCE = 43
D_DESTINATION = 44
D_PORT = 45
D_TO_PORT = 46
D_FLAGS = 47
D_ID = 48
# What ``read_fields`` has found of a message.
F_SEQNO = 50  # NONE: not there
F_TIME = 51
F_HOST = 52  # -1: not there
F_USER = 53  # where the field is, 0: not there
F_VERSION = 54
HEAD = 64

# LINKS: what is known of a TSI.
LINK_WORDS = 10
L_GSI = 0
L_PORT = 1
L_NEXT = 2  # the sqn after the last one, -1: none yet
L_LOW = 3  # something from here on may be missing ...
L_HIGH = 4  # ... and nothing from here on
L_FLOOR = 5  # runs of messages in rows below it have ended
L_OPEN = 6  # row of the open run of packets, 0: none
L_RAIMS = 7  # 1: it has carried raims messages
L_SEEN = 8
L_UNREAD = 9  # 1: before it had, it carried something else, which was left out
LINK_LIMIT = 4096

STREAM_WORDS = 6
S_BRIDGE = 0  # where the 16 bytes are in data
S_SUBJECT = 1
S_SIZE = 2
S_PATH = 3  # -1: framed
S_ROW = 4  # of its last run, on whatever link
S_HASH = 5
STREAM_LIMIT = 16384
SLOTS_COUNT = 65536

LINK_SLOTS = HEAD
LINK_SLOT_COUNT = 16384
LINKS = LINK_SLOTS + LINK_SLOT_COUNT
SLOTS = LINKS + LINK_LIMIT * LINK_WORDS
STREAMS = SLOTS + SLOTS_COUNT
NAMES = STREAMS + STREAM_LIMIT * STREAM_WORDS
NAME_WORDS = 4
N_RANK = 0  # in the order in which JSON lists the fields
N_AT = 1  # in text: the name, quoted, and a colon
N_SIZE = 2
N_TOLD = 3  # 1: it is told
#: By field id; then the phrases of JSON, then the prefixes of subjects, whose rank is a word.
FIELD_COUNT = 94
NAME_LIMIT = 128
P_SESSION_BRIDGE = 94
P_TRUE = 95
P_FALSE = 96
P_NULL = 97
P_DEST_ID = 98
P_DESTINATION = 99
P_IDENT = 100
P_SOURCE = 101
PREFIXES = 102
PREFIX_COUNT = 14
FIELDS = NAMES + NAME_LIMIT * NAME_WORDS  # of the message at hand, by rank
FIELD_WORDS = 3
G_RANK = 0
G_ID = 1
G_AT = 2
OUT = FIELDS + NAME_LIMIT * FIELD_WORDS

#: Messages that one datagram may hold at most: 65,535 bytes of the smallest.
MOST = 1400
#: First byte of a message and the headers of its first two fields.
MESSAGE_MARK = 0x80
BRIDGE_MARK = 0xC403
DIGEST_MARK = 0xC405
SUBJECT_MARK = 0x4700
SEQNO_FIELD = 17
TIME_FIELD = 19
CHAIN_FIELD = 67
PIECE_MARK = 0x99AA44FF
#: Field ids and words (raims.md 5, 6); a word is the publish type where there is one.
SESSION = 2
USER_FIELD = 44
VERSION_FIELD = 48
HOST_FIELD = 85
WORD_HELO = 1
WORD_HB = 2
WORD_BYE = 3
WORD_AUTH = 16
WORD_INBOX = 40
WORD_NAME = 64
WORD_OTHER = 65
OPAQUE_TOLD = 16  # longest opaque value that is told
#: The text of one byte of a message is at most so long: 24 of a field of four.
TEXT_GROWTH = 12
DATAGRAM_TEXT = 786432  # of 65,535 bytes
FRAME_NS = 8589934592  # a run does not go on over a pause as long as a time frame (raims.md 7)
UDP_ENCAPSULATION = 3055  # and 3056: the registered ports of PGM in UDP


def u8(a, o):
    return a[o] | 0


def u16be(a, o):
    return (a[o] | 0) << 8 | (a[o + 1] | 0)


def u32be(a, o):
    return (a[o] | 0) << 24 | (a[o + 1] | 0) << 16 | (a[o + 2] | 0) << 8 | (a[o + 3] | 0)


def u32le(a, o):
    return (a[o + 3] | 0) << 24 | (a[o + 2] | 0) << 16 | (a[o + 1] | 0) << 8 | (a[o] | 0)


def i64be(a, o):
    """The int64 with the same bits."""
    high = u32be(a, o)
    if high >= 2147483648:
        high = high - 4294967296
    return high * 4294967296 + u32be(a, o + 4)


def find_link(gsi, port, m):
    """The number of a TSI, new if need be; 0: the table is full."""
    slot = (gsi % 16777213 * 31 + port) % LINK_SLOT_COUNT
    turns = 0
    while turns < LINK_SLOT_COUNT:
        number = m[LINK_SLOTS + slot]
        if number == 0:
            if m[W_LINKS] + 1 >= LINK_LIMIT:
                return 0
            number = m[W_LINKS] + 1
            m[W_LINKS] = number
            m[LINK_SLOTS + slot] = number
            at = LINKS + number * LINK_WORDS
            m[at + L_GSI] = gsi
            m[at + L_PORT] = port
            m[at + L_NEXT] = -1
            m[at + L_LOW] = 0
            m[at + L_HIGH] = 0
            m[at + L_FLOOR] = 0
            m[at + L_OPEN] = 0
            m[at + L_RAIMS] = 0
            m[at + L_SEEN] = 0
            m[at + L_UNREAD] = 0
            return number
        at = LINKS + number * LINK_WORDS
        if m[at + L_GSI] == gsi:
            if m[at + L_PORT] == port:
                return number
        slot = (slot + 1) % LINK_SLOT_COUNT
        turns = turns + 1
    return 0


def same_bytes(data, one, other, size):
    i = 0
    while i + 4 <= size:
        if u32be(data, one + i) != u32be(data, other + i):
            return 0
        i = i + 4
    while i < size:
        if u8(data, one + i) != u8(data, other + i):
            return 0
        i = i + 1
    return 1


def find_stream(data, bridge, subject, size, crc, path, m):
    """The number of a stream, new if need be; the caller has made sure of room."""
    seed = (crc ^ u32be(data, bridge)) + size
    if size >= 4:  # the wire's own hash of the subject may be anything
        seed = seed + u32be(data, subject + size - 4) * 40503
    seed = seed + (path & 1023) * 2654435761
    slot = (seed ^ seed >> 16) % SLOTS_COUNT
    turns = 0
    while turns < SLOTS_COUNT:
        number = m[SLOTS + slot]
        if number == 0:
            number = m[W_STREAMS] + 1
            m[W_STREAMS] = number
            m[SLOTS + slot] = number
            at = STREAMS + number * STREAM_WORDS
            m[at + S_BRIDGE] = bridge
            m[at + S_SUBJECT] = subject
            m[at + S_SIZE] = size
            m[at + S_ROW] = 0
            m[at + S_HASH] = crc
            m[at + S_PATH] = path
            return number
        at = STREAMS + number * STREAM_WORDS
        if m[at + S_HASH] == crc:
            if m[at + S_SIZE] == size:
                if m[at + S_PATH] == path:
                    if same_bytes(data, m[at + S_BRIDGE], bridge, 16) == 1:
                        if same_bytes(data, m[at + S_SUBJECT], subject, size) == 1:
                            return number
        slot = (slot + 1) % SLOTS_COUNT
        turns = turns + 1
    return 0


def new_row(sort, link, index, m):
    """A row of the datagram at hand; returns where it is."""
    row = m[W_ROWS]
    m[W_ROWS] = row + 1
    m[row + R_SORT] = sort
    m[row + R_FRAME] = m[D_FRAME]
    m[row + R_INDEX] = index
    m[row + R_LAST_FRAME] = m[D_FRAME]
    m[row + R_AT] = m[D_AT]
    m[row + R_LAST_AT] = m[D_AT]
    m[row + R_LINK] = link
    m[row + R_SOURCE] = m[D_SOURCE]
    m[row + R_DESTINATION] = m[D_DESTINATION]
    m[row + R_SEQNO] = NONE
    m[row + R_STOP] = NONE
    m[row + R_COUNT] = 1
    m[row + R_SIZE] = 0
    m[row + R_FLAGS] = m[D_FLAGS]
    m[row + R_SQN] = -1
    m[row + R_LAST_SQN] = -1
    m[row + R_STREAM] = 0
    m[row + R_TIME] = NONE
    m[row + R_CHAIN] = NONE
    m[row + R_WORD] = 0
    m[row + R_PATH] = 0
    m[row + R_BODY_AT] = 0
    m[row + R_BODY_STOP] = 0
    m[row + R_PORT] = m[D_PORT]
    m[row + R_TO_PORT] = m[D_TO_PORT]
    m[row + R_DATAGRAM] = m[D_NUMBER]
    m[row + R_TRAIL] = -1
    m[row + R_LEAD] = -1
    m[row + R_ID] = m[D_ID]
    m[row + R_COLUMN] = -1
    m[row + R_TEXT_AT] = -1
    m[row + R_TEXT_STOP] = -1
    return row


def is_pgm(data, at, stop, length, source_port, destination_port, forced):
    """1 where the datagram is a PGM packet beyond doubt (raims.md 2; RFC 3208 8)."""
    if stop - at < 16:
        return 0
    sort = u8(data, at + 4)
    options = u8(data, at + 5)
    tsdu = u16be(data, at + 14)
    port = u16be(data, at + 2)
    if is_answer(sort) == 1:
        port = u16be(data, at)
    named = forced
    if destination_port == UDP_ENCAPSULATION or destination_port == UDP_ENCAPSULATION + 1:
        named = 1
    if destination_port == 0 and source_port == 0:  # IP protocol 113
        named = 1
    if named == 1:  # some senders count all of the packet, or all behind the first 16 bytes
        if tsdu == length or tsdu == length - 16:
            tsdu = tsdu_of(data, at, stop, length)
    known = named
    if port == destination_port:
        known = 1
    if known == 0:
        if sort != SPMR:
            return 0
        if u16be(data, at + 2) != destination_port:
            return 0
    if options & 0x3C != 0:
        return 0
    if sort == ODATA or sort == RDATA:
        if stop - at < 24:
            return 0
        extra = length - 24 - tsdu
        if options & 1 == 0:
            if extra != 0:
                return 0
        if options & 1 == 1:
            if extra < 4 or at + 28 > stop:
                return 0
            if u8(data, at + 24) != 0:
                return 0
            if u16be(data, at + 26) != extra:
                return 0
        return 1
    if tsdu != 0:
        return 0
    if sort == SPM:
        if length < 36:
            return 0
        return is_address(data, at + 28, stop)
    if sort == NAK or sort == NCF or sort == NNAK:
        if length < 36:
            return 0
        return is_address(data, at + 20, stop)
    if sort == SPMR:
        if length == 16:
            return 1
        if options & 1 == 1 and length >= 20:
            return 1
        return 0
    if sort == POLL and named == 1:
        if length < 44:
            return 0
        return is_address(data, at + 24, stop)
    if sort == POLR and named == 1:
        return 1 if length >= 24 else 0
    if forced == 1 and sort == 13:
        return 1
    return 0


def is_answer(sort):
    """1 where a receiver sends it to the sender of data: its ports are the other way round."""
    if sort == NAK or sort == NNAK or sort == SPMR or sort == POLR:
        return 1
    return 0


def tsdu_of(data, at, stop, length):
    """Bytes behind the headers of a packet, by its type and the length of its options."""
    sort = u8(data, at + 4)
    if sort != ODATA and sort != RDATA:
        return 0
    extra = 0
    if u8(data, at + 5) & 1 == 1 and at + 28 <= stop:
        extra = u16be(data, at + 26)
    return length - 24 - extra


def is_address(data, at, stop):
    """1 where an address family and an NLA follow; what is cut off is believed."""
    if at + 4 > stop:
        return 1
    family = u16be(data, at)
    if family == 1 or family == 2:
        if u16be(data, at + 2) == 0:
            return 1
    return 0


def is_message(data, at, stop):
    """1 where a message begins: version 1, then bridge, digest and subject (raims.md 5)."""
    if at + 48 > stop:
        return 0
    if u8(data, at) < MESSAGE_MARK:
        return 0
    if u16be(data, at + 8) != BRIDGE_MARK:
        return 0
    if u16be(data, at + 26) != DIGEST_MARK:
        return 0
    if u16be(data, at + 44) != SUBJECT_MARK:
        return 0
    return 1


def message_size(data, at):
    """Bytes of a message as it claims (raims.md 5)."""
    size = u16be(data, at + 2)
    if size == 0:
        size = u32be(data, at + 4)
    return size + 8


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


def tell_sqns(data, at, end, options, row, text, m):
    """The sqns of a NAK or NCF, its list included, as ranges (raims.md 2); ``at``: the header's
    end. Where it is cut short, or a list of its own is missing, Python looks.
    """
    if m[W_TEXT] + 65536 > m[W_TEXT_ROOM]:
        return 0
    cursor = at + 4
    turns = 0
    while turns < 2:  # source and group NLA
        if cursor + 2 > end:
            return 0
        cursor = cursor + (20 if u16be(data, cursor) == 2 else 8)
        turns = turns + 1
    stop = cursor
    if options & 2 != 0:  # a list of further sqns: type, length, two reserved bytes, sqns
        found = 0
        while found == 0:
            if cursor + 4 > end:
                return 0
            size = u8(data, cursor + 1)
            if u8(data, cursor) & 0x7F == 2:
                found = 1
                stop = cursor + size
                if stop > end:
                    stop = end
            elif size < 4:
                return 0
            else:
                cursor = cursor + size
        cursor = cursor + 4
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
        if options & 2 != 0 and cursor + 4 <= stop:
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


def is_damaged(data, at, end, length):
    """1 where a packet is there to its end, has a checksum and it is wrong: the ones' complement
    sum of its 16-bit words is no multiple of 65535 (RFC 3208 8; raims.md 2).
    """
    if length != end - at or u16be(data, at + 6) == 0:
        return 0
    total = 0
    while at + 4 <= end:
        total = total + u32be(data, at)
        at = at + 4
    if at + 2 <= end:
        total = total + u16be(data, at)
        at = at + 2
    if at < end:
        total = total + (u8(data, at) << 8)
    return 1 if total % 65535 != 0 else 0


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
        if sort == NAK or sort == NCF or sort == NNAK:
            if at + 20 <= end:
                m[row + R_SEQNO] = u32be(data, at + 16)
                if u8(data, at + 5) & PARITY == 0:  # else its number is that of a group of packets
                    tell_sqns(data, at + 16, end, u8(data, at + 5), row, text, m)
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
    if m[place + L_SEEN] == 0:
        m[place + L_SEEN] = 1
        m[place + L_LOW] = trail
        m[place + L_HIGH] = sqn
    index = 0
    if trail > m[place + L_LOW] and m[place + L_LOW] < m[place + L_HIGH]:
        row = new_row(TRAILED, link, 0, m)
        m[row + R_TRAIL] = trail
        m[place + L_LOW] = trail
        m[place + L_OPEN] = 0
        m[place + L_FLOOR] = m[W_ROWS]
        index = 1
    row = m[place + L_OPEN]
    joined = 0
    if row >= m[W_FLOOR] and row > 0 and sort == ODATA:
        if m[row + R_STOP] == sqn and m[row + R_FLAGS] == m[D_FLAGS]:
            if m[row + R_SOURCE] == m[D_SOURCE] and m[row + R_WORD] == u8(data, at + 5):
                joined = 1
    if joined == 1:
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
        if sort == ODATA:
            m[place + L_OPEN] = row
    index = index + 1
    if sort == ODATA and length > LARGE_BYTES:
        row = new_row(LARGE, link, index, m)
        m[row + R_SEQNO] = sqn
        m[row + R_STOP] = sqn + 1
        m[row + R_COUNT] = 0
        m[row + R_SIZE] = length
        index = index + 1
    next_sqn = m[place + L_NEXT]
    if sort == ODATA:
        if next_sqn >= 0 and sqn > next_sqn and sqn - next_sqn < 65536:
            if m[place + L_LOW] >= m[place + L_HIGH]:
                m[place + L_LOW] = next_sqn
            m[place + L_HIGH] = sqn
        if sqn >= next_sqn or next_sqn - sqn > 2147483648:
            m[place + L_NEXT] = sqn + 1
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
                elif is_pgm(data, at, end, length[i], m[D_PORT], m[D_TO_PORT], wanted[i] & 1) == 1:
                    wrong = wanted[i] >> 1 & 1  # the caller has looked at the checksum
                    if m[W_CHECK] == 1:
                        wrong = is_damaged(data, at, end, length[i])
                    if wrong == 1:
                        m[C_DAMAGED] = m[C_DAMAGED] + 1
                        outcome[i] = 3
                    else:
                        outcome[i] = pgm(data, at, end, length[i], text, m)
                elif m[D_PORT] == 0 and m[D_TO_PORT] == 0:
                    outcome[i] = 4
                    if length[i] <= end - at:
                        m[C_REFUSED] = m[C_REFUSED] + 1
                        outcome[i] = 5
            i = i + 1
    m[W_NEXT] = i
    return i, m[W_ROWS] - OUT
