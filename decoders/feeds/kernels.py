"""Datagrams of feeds into runs, whatever their layout, in the restricted style of
decoders/README.md 4.

One entry point: ``decode``. Who a datagram belongs to is found once per pair of ends and kept in
CHANNELS; what its fields are says the layout that ``decoders.feeds.tables`` has written into ``m``.
Streams are found by comparing whole keys and keep the run that is open; a row is written when a run
ends. The channel remembers its last stream, so a datagram of the usual feed costs two comparisons
of ends, one of the key, and its numbers. Streams and open runs last from call to call.
"""

# ruff: noqa: SIM102, SIM109  (one comparison a line and no tuples: decoders/README.md 4)

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("decode",)

# A row, and the open run of a stream, which has the same words and then its key.
KIND = 0  # below; of a stream 0: no run is open
STREAM = 1  # number in STREAMS, from 1
FEED = 2  # number of the feed
MESSAGE = 3  # number of the message in its feed, from 1; 0: the default, DATA
FRAME = 4
INDEX = 5
LAST_FRAME = 6
AT = 7
LAST_AT = 8
SOURCE = 9  # host << 16 | port
DESTINATION = 10
SEQNO = 11  # NONE: null
STOP = 12
COUNT = 13
SIZE = 14
FLAGS = 15
ID = 16  # IP id, -1: none
LAST_ID = 17
BY = 18  # value of the field that says the rate of the timestamp
RUN = 19  # number of the run in LOG, 0: it keeps no log
ODD = 20  # datagrams whose blocks do not add up to their count
WIDTH = 21
# What further belongs to a stream.
BARRIERS = 21  # H_BARRIERS when the run was last added to
TURN = 22  # and the word of its conversation
CONVERSATION = 23  # place of that word
IDENT = 24  # key: feed and sort
PLACE = 25  # key: destination << 16 | port, or the line
FROM = 26  # key: source << 16 | port
KEY = 27  # then the words of the field parts

DATA_RUN = 1
HIGHEST = 2
CLOSE = 3
RESET = 4
REQUEST = 5
REPAIR = 6
FACTS = 7  # the stream is new

NONE = -4611686018427387904

# Sorts of messages, as ``decoders.feeds.tables`` numbers ``feeds.Is`` …
IS_DATA = 0
IS_HEARTBEAT = 1
IS_RESET = 2
IS_END = 3
IS_REQUEST = 4
IS_REPAIR = 5
IS_IGNORE = 6
# … and ``feeds.Says``.
SAYS_NEXT = 0
SAYS_LAST = 1
SAYS_NOTHING = 2

# Outcome and Flag.
DECODED = 1
MALFORMED = 3
TRUNCATED = 4
FLAG_DUPLICATE = 4
FLAG_MULTICAST = 16
FLAG_ASIDE = 1024

# Head of ``m``.
H_NEXT = 0  # the datagram to go on with
H_ROWS = 1  # where the next row goes
H_STREAMS = 2  # streams in use
H_BARRIERS = 3  # barriers so far: runs from before have ended
H_LOG = 4  # where the next sample goes
H_RUN = 5  # runs with a log so far
H_STRIDE = 6  # words of a stream
H_FEEDS = 7  # where the feeds are
H_RULES = 8  # where the rules are
H_RULE_COUNT = 9
H_SETS = 10  # where it says which class of hosts matches which network
H_PATTERNS = 11  # networks
H_STREAM_ROWS = 12  # where the streams are
H_STREAM_LIMIT = 13
H_OUT = 14
H_OUT_STOP = 15
H_LOG_ROWS = 16
H_LOG_STOP = 17
H_UNFIT = 18  # datagrams of unknown place that fit no feed
H_KEY = 19  # words of the key at hand, up to KEY_WORDS
KEY_WORDS = 24
HEAD = 64

HOSTS = 65536  # as packet_kernels
CHANNEL_COUNT = 16384
CHANNEL_WORDS = 10
CONVERSATIONS = 65536
SLOT_COUNT = 262144
PROBES = 256

CLASSES = HEAD  # per host its class
CHANNELS = CLASSES + HOSTS
TURNS = CHANNELS + CHANNEL_COUNT * CHANNEL_WORDS
SLOTS = TURNS + CONVERSATIONS
LAYOUT = SLOTS + SLOT_COUNT

# A channel: datagrams from one end to one other.
C_TO = 0  # destination << 16 | port, plus 1; 0: empty
C_FROM = 1
C_FEED = 2  # place of its feed, 0: nobody's
C_BITS = 3  # messages whose place holds
C_INSIDE = 4  # 1: at a place of the feed itself, 2: anywhere
C_LINE = 5  # pair << 1 | line, plus 2; 0: none
C_STREAM = 6  # its last stream, 0: none
C_PLAIN = 7  # feed whose usual datagram comes here, see F_PLAIN; 0: none
C_TOP = 8  # the highest number that is usual
C_ASIDE = 9  # 1: data may answer requests

# A rule: from where to where, and whose.
R_WORDS = 11
R_TO = 0  # network, -1: any
R_PORT = 1
R_LAST_PORT = 2
R_FROM = 3
R_SOURCE_PORT = 4
R_LAST_SOURCE_PORT = 5
R_FEED = 6
R_MESSAGE = 7  # -1: the feed itself
R_ANYWHERE = 8
R_LINE = 9
R_UNICAST = 10  # 1: only what goes to one host

FIRST_FREE_PORT = 1024  # anywhere: what is below is a system's

# A feed.
F_NUMBER = 0
F_ALL = 1  # bytes up to the end of the last field in use
F_NEED = 2  # bytes that data needs
F_SEQNO = 3  # place of the field
F_COUNT = 4  # place of the field, 0: constant
F_CONSTANT = 5
F_LIMIT = 6  # one past the highest number, 0: it does not wrap
F_REQUIRED = 7  # place and number of conditions
F_REQUIRED_COUNT = 8
F_RECOGNISED = 9
F_RECOGNISED_COUNT = 10
F_MESSAGES = 11
F_MESSAGE_COUNT = 12
F_KEYS = 13
F_KEY_COUNT = 14  # pieces
F_PARTS = 15  # bits: destination, port, source, source port are parts of a stream
F_LOGGED = 16  # 1: samples of its runs are kept
F_STAMP = 17  # place of the field, 0: none
F_BY = 18
F_BLOCKS = 19  # offset of the first, -1: the layout does not tell
F_BLOCK_WIDTH = 20
F_BLOCK_BIG = 21
F_SHARED = 22  # 1: streams of equal key fields are one conversation
F_ASIDE = 23  # 1: unicast data may answer requests
F_PAUSE = 24  # ns
F_TAKEN = 25
F_REFUSED = 26
F_SHORT = 27
F_CUT = 28
F_LARGE = 29  # a number beyond 2^63 - 1
F_BEYOND = 30  # a number beyond the number space
F_SWITCH = 31  # place of a field; to a group and with a value in a range: DATA. 0: none
F_SWITCH_LOW = 32
F_SWITCH_HIGH = 33
F_PLAIN = 34  # 1: no condition on all datagrams, keys as they are on the wire, no samples
F_FIRST_ANYWHERE = 35  # 1: as F_PLAIN, and its keys and number tell whether it is recognised
F_TOP = 36  # the highest number that is recognised
F_TOTALS = 37  # of DATA, then of each message
FEED_WORDS = 96

# A message.
M_SORT = 0
M_SAYS = 1
M_CONDITIONS = 2
M_CONDITION_COUNT = 3
M_PLACED = 4  # 1: only where its rule holds
M_UNICAST = 5  # -1: either
M_SHORTEST = 6
M_LONGEST = 7
M_NEED = 8
MESSAGE_WORDS = 9

# A field.
D_READ = 0  # how, below
D_OFFSET = 1
D_WIDTH = 2
D_HIGH_MASK = 3
D_LOW_MASK = 4
D_SHIFT = 5
D_BIG = 6
D_END = 7
FIELD_WORDS = 8

READ_ANY = 0
READ_U8 = 1
READ_U16 = 2
READ_U32 = 3
READ_U64 = 4
READ_LE16 = 5
READ_LE32 = 6

# A piece of a key.
PIECE_WORDS = 3
PIECE_FOUR = 0  # four bytes at an offset
PIECE_BYTES = 1  # one to three
PIECE_VALUE = 2  # a masked field: two words

LOG_WORDS = 4  # run, seqno, time, stamp
ROOM = 4  # rows, and samples, that one datagram may need
LOG_ROOM = 2

HALF = 4294967296
TOP = 2147483648


def u8(a, o):
    return a[o] | 0


def u16be(a, o):
    return (a[o] | 0) << 8 | (a[o + 1] | 0)


def u16le(a, o):
    return (a[o + 1] | 0) << 8 | (a[o] | 0)


def u32be(a, o):
    return (a[o] | 0) << 24 | (a[o + 1] | 0) << 16 | (a[o + 2] | 0) << 8 | (a[o + 3] | 0)


def u32le(a, o):
    return (a[o + 3] | 0) << 24 | (a[o + 2] | 0) << 16 | (a[o + 1] | 0) << 8 | (a[o] | 0)


def halves(data, at, field, m):
    """A number as (high, low) 32-bit halves, after mask and shift."""
    offset = at + m[field + D_OFFSET]
    how = m[field + D_READ]
    if how == READ_U8:
        return 0, u8(data, offset)
    if how == READ_U16:
        return 0, u16be(data, offset)
    if how == READ_U32:
        return 0, u32be(data, offset)
    width = m[field + D_WIDTH]
    high = 0
    low = 0
    big = m[field + D_BIG]
    for place in range(width):
        byte = u8(data, offset + place) if big == 1 else u8(data, offset + width - 1 - place)
        high = (high << 8 | low >> 24) & 0xFFFFFFFF
        low = (low << 8 | byte) & 0xFFFFFFFF
    high = high & m[field + D_HIGH_MASK]
    low = low & m[field + D_LOW_MASK]
    shift = m[field + D_SHIFT]
    if shift >= 32:
        low = high >> (shift - 32 & 31)
        high = 0
    elif shift > 0:
        low = low >> (shift & 31) | (high << (32 - shift & 31) & 0xFFFFFFFF)
        high = high >> (shift & 31)
    return high, low


def number(data, at, field, m):
    """A number; -1: it is beyond 2^63 - 1."""
    how = m[field + D_READ]
    offset = at + m[field + D_OFFSET]
    if how == READ_U16:
        return u16be(data, offset)
    if how == READ_U32:
        return u32be(data, offset)
    if how == READ_U64:
        high = u32be(data, offset)
        if high >= TOP:
            return -1
        return high << 32 | u32be(data, offset + 4)
    if how == READ_U8:
        return u8(data, offset)
    if how == READ_LE16:
        return u16le(data, offset)
    if how == READ_LE32:
        return u32le(data, offset)
    high, low = halves(data, at, field, m)
    if high >= TOP:
        return -1
    return high << 32 | low


def holds(data, at, room, place, count, m):
    """1 if all of ``count`` conditions from ``place`` on hold; ``room`` bytes are there."""
    for _ in range(count):
        field = m[place]
        ranges = m[place + 1]
        if m[field + D_END] > room:
            return 0
        if ranges < 0:  # printable text
            for o in range(m[field + D_WIDTH]):
                byte = u8(data, at + m[field + D_OFFSET] + o)
                if byte < 32 or byte > 126:
                    return 0
            place = place + 2
        else:
            high, low = halves(data, at, field, m)
            found = 0
            for r in range(ranges):
                b = place + 2 + r * 4
                if high > m[b] or (high == m[b] and low >= m[b + 1]):
                    if high < m[b + 2] or (high == m[b + 2] and low <= m[b + 3]):
                        found = 1
            if found == 0:
                return 0
            place = place + 2 + ranges * 4
    return 1


def within(network, host, m):
    """1 if the host is in the network; -1: any is."""
    if network < 0:
        return 1
    return m[m[H_SETS] + m[CLASSES + host] * m[H_PATTERNS] + network]


def open_channel(c, to, start, unicast, m):
    """Find out whose datagrams from one end to another are: the first feed with a rule for them."""
    m[c + C_TO] = to + 1
    m[c + C_FROM] = start
    m[c + C_FEED] = 0
    m[c + C_BITS] = 0
    m[c + C_INSIDE] = 0
    m[c + C_LINE] = 0
    m[c + C_STREAM] = 0
    m[c + C_PLAIN] = 0
    m[c + C_ASIDE] = unicast  # unless the place is a destination that somebody has named
    host = to >> 16
    port = to & 65535
    source = start >> 16
    source_port = start & 65535
    for number_of_rule in range(m[H_RULE_COUNT]):
        r = m[H_RULES] + number_of_rule * R_WORDS
        if m[c + C_FEED] != 0 and m[r + R_FEED] != m[c + C_FEED]:
            continue
        if port < m[r + R_PORT] or port > m[r + R_LAST_PORT]:
            continue
        if source_port < m[r + R_SOURCE_PORT] or source_port > m[r + R_LAST_SOURCE_PORT]:
            continue
        if within(m[r + R_TO], host, m) == 0 or within(m[r + R_FROM], source, m) == 0:
            continue
        if m[r + R_UNICAST] == 1 and unicast == 0:
            continue
        m[c + C_FEED] = m[r + R_FEED]
        if m[r + R_MESSAGE] >= 0:
            m[c + C_BITS] = m[c + C_BITS] | 1 << (m[r + R_MESSAGE] & 63)
        else:
            m[c + C_INSIDE] = 1
            if m[r + R_TO] >= 0:
                m[c + C_ASIDE] = 0
        if m[r + R_LINE] > 0:
            m[c + C_LINE] = m[r + R_LINE]
    f = m[c + C_FEED]
    if f != 0 and m[c + C_INSIDE] == 1 and m[c + C_BITS] == 0 and unicast == 0:
        if m[f + F_PLAIN] == 1:
            m[c + C_PLAIN] = f
            m[c + C_TOP] = 9223372036854775807
    return 0


def anywhere(data, at, room, to, start, m):
    """The place of the feed that takes the datagram without knowing its place; 0: none does."""
    if to & 65535 < FIRST_FREE_PORT or start & 65535 < FIRST_FREE_PORT:
        return 0
    for number_of_rule in range(m[H_RULE_COUNT]):
        r = m[H_RULES] + number_of_rule * R_WORDS
        if m[r + R_ANYWHERE] == 1:
            f = m[r + R_FEED]
            if room >= m[f + F_ALL]:
                if holds(data, at, room, m[f + F_REQUIRED], m[f + F_REQUIRED_COUNT], m) == 1:
                    if (
                        holds(data, at, room, m[f + F_RECOGNISED], m[f + F_RECOGNISED_COUNT], m)
                        == 1
                    ):
                        return f
    m[H_UNFIT] = m[H_UNFIT] + 1
    return 0


def message_of(data, at, room, length, f, bits, unicast, m):
    """The number of the first message that the datagram is, from 1; 0: none."""
    for n in range(m[f + F_MESSAGE_COUNT]):
        e = m[f + F_MESSAGES] + n * MESSAGE_WORDS
        if m[e + M_PLACED] == 1:
            if bits >> n & 1 == 0:
                continue
        if m[e + M_UNICAST] >= 0:
            if m[e + M_UNICAST] != unicast:
                continue
        if length < m[e + M_SHORTEST] or length > m[e + M_LONGEST]:
            continue
        if m[e + M_CONDITION_COUNT] > 0:
            if holds(data, at, room, m[e + M_CONDITIONS], m[e + M_CONDITION_COUNT], m) == 0:
                continue
        return n + 1
    return 0


def read_key(data, at, f, m):
    """The words of the key fields into ``m`` at H_KEY; returns how many."""
    k = H_KEY
    for n in range(m[f + F_KEY_COUNT]):
        p = m[f + F_KEYS] + n * PIECE_WORDS
        sort = m[p]
        offset = at + m[p + 1]
        if sort == PIECE_FOUR:
            m[k] = u32be(data, offset)
            k = k + 1
        elif sort == PIECE_BYTES:
            word = 0
            for o in range(m[p + 2]):
                word = word << 8 | u8(data, offset + o)
            m[k] = word
            k = k + 1
        else:
            high, low = halves(data, at, m[p + 1], m)
            m[k] = high
            m[k + 1] = low
            k = k + 2
    return k - H_KEY


def same_key(s, ident, place, source, words, m):
    """1 if stream ``s`` has this key; its field words are at H_KEY."""
    if m[s + IDENT] != ident or m[s + PLACE] != place or m[s + FROM] != source:
        return 0
    for n in range(words):
        if m[s + KEY + n] != m[H_KEY + n]:
            return 0
    return 1


def mix(h, value):
    """One hash step: 38 bits × 24 bits stay below 2^62."""
    h = ((h ^ (h >> 23) ^ value) & 0x3FFFFFFFFF) * 0x9E3779
    return h ^ (h >> 29)


def find_stream(ident, place, source, words, m):
    """The number of the stream with this key, new if need be; 0: the table is full."""
    fields = mix(ident >> 8, 1)
    for n in range(words):
        fields = mix(fields, m[H_KEY + n])
    h = mix(mix(fields, (place ^ place >> 32) + (ident & 255)), source)
    stride = m[H_STRIDE]
    for probe in range(PROBES):
        slot = SLOTS + ((h + probe) & (SLOT_COUNT - 1))
        found = m[slot]
        if found == 0:
            if m[H_STREAMS] >= m[H_STREAM_LIMIT]:
                return 0
            found = m[H_STREAMS] + 1
            m[H_STREAMS] = found
            m[slot] = found
            s = m[H_STREAM_ROWS] + found * stride
            m[s + KIND] = 0
            m[s + STREAM] = found
            m[s + CONVERSATION] = TURNS + (fields & (CONVERSATIONS - 1))
            m[s + IDENT] = ident
            m[s + PLACE] = place
            m[s + FROM] = source
            for n in range(words):
                m[s + KEY + n] = m[H_KEY + n]
            return found
        s = m[H_STREAM_ROWS] + found * stride
        if same_key(s, ident, place, source, words, m) == 1:
            return found
    return 0


def end_run(s, m):
    """Write the open run of a stream as a row; the caller has made sure of room."""
    if m[s + KIND] == 0:
        return 0
    row = m[H_ROWS]
    for n in range(WIDTH):
        m[row + n] = m[s + n]
    m[H_ROWS] = row + WIDTH
    m[s + KIND] = 0
    return 1


def odd_blocks(data, at, stop, count, f, m):
    """1 if from F_BLOCKS on there are not ``count`` blocks, each behind its length."""
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
            return 1
        cursor = cursor + width + size
        found = found + 1
        if found > count:
            return 1
    if found != count:
        return 1
    return 0


def decode(
    data,
    count,
    starts,
    stops,
    lengths,
    sources,
    destinations,
    source_ports,
    destination_ports,
    flags,
    ids,
    times,
    frames,
    barriers,
    outcomes,
    m,
):
    """Datagrams from H_NEXT on into rows; see ``decoders.feeds.tables`` for ``m``.

    Returns:
        (next,): the datagram to go on with; less than ``count`` where rows, streams or samples are
        full: the caller takes the rows, makes room and calls again.
    """
    stride = m[H_STRIDE]
    stream_rows = m[H_STREAM_ROWS]
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
        to = destinations[i] << 16 | destination_ports[i]
        start = sources[i] << 16 | source_ports[i]
        flag = flags[i]
        unicast = 1 if flag & FLAG_MULTICAST == 0 else 0
        h = ((to ^ start * 40503) & 0x3FFFFFFFFF) * 0x9E3779
        c = CHANNELS + (h >> 24 & (CHANNEL_COUNT - 1)) * CHANNEL_WORDS
        if m[c + C_TO] != to + 1 or m[c + C_FROM] != start:
            open_channel(c, to, start, unicast, m)
        f = m[c + C_PLAIN]
        if f != 0 and room >= m[f + F_ALL]:
            # The usual datagram: data that its stream's open run goes on with. Everything is
            # looked at before anything is written; else what follows the loop's first half says
            # the same at leisure. Reads are written out: a call passes both arrays.
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
            s = stream_rows + m[c + C_STREAM] * stride
            if usual == 1 and m[c + C_STREAM] > 0 and items > 0 and m[s + KIND] == DATA_RUN:
                d = m[f + F_SEQNO]
                seqno = -1
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
                    limit = m[f + F_LIMIT]
                    if limit > 0 and seqno + items > limit:
                        usual = 0
                    if m[f + F_SHARED] == 1 and m[m[s + CONVERSATION]] != m[s + TURN]:
                        usual = 0
                    if m[f + F_SHARED] == 1 and m[s + TURN] & 1 == 1:
                        usual = 0
                    p = m[f + F_KEYS]
                    word = s + KEY
                    for _ in range(m[f + F_KEY_COUNT]):
                        o = at + m[p + 1]
                        if m[p] == PIECE_FOUR:
                            if u32be(data, o) != m[word]:
                                usual = 0
                        elif m[p + 2] == 2:
                            if u16be(data, o) != m[word]:
                                usual = 0
                        elif m[p + 2] == 1:
                            if u8(data, o) != m[word]:
                                usual = 0
                        elif u16be(data, o) << 8 | u8(data, o + 2) != m[word]:
                            usual = 0
                        p = p + PIECE_WORDS
                        word = word + 1
                    if usual == 1:
                        if m[f + F_BLOCKS] >= 0 and room == length:
                            if odd_blocks(data, at, stops[i], items, f, m) == 1:
                                m[s + ODD] = m[s + ODD] + 1
                        outcomes[i] = DECODED
                        m[f + F_TAKEN] = m[f + F_TAKEN] + 1
                        m[f + F_TOTALS] = m[f + F_TOTALS] + items
                        m[s + LAST_FRAME] = frames[i]
                        m[s + LAST_AT] = times[i]
                        m[s + STOP] = seqno + items
                        m[s + COUNT] = m[s + COUNT] + items
                        m[s + SIZE] = m[s + SIZE] + length
                        m[s + LAST_ID] = ids[i]
                        i = i + 1
                        continue
        f = m[c + C_FEED]
        bits = m[c + C_BITS]
        inside = m[c + C_INSIDE]
        if f != 0:
            if m[f + F_REQUIRED_COUNT] > 0 and room >= m[f + F_ALL]:
                if holds(data, at, room, m[f + F_REQUIRED], m[f + F_REQUIRED_COUNT], m) == 0:
                    m[f + F_REFUSED] = m[f + F_REFUSED] + 1
                    i = i + 1
                    continue
        else:
            f = anywhere(data, at, room, to, start, m)
            inside = 1
            if f == 0:
                i = i + 1
                continue
            if m[f + F_FIRST_ANYWHERE] == 1 and unicast == 0:
                m[c + C_PLAIN] = f  # equal keys are recognised alike
                m[c + C_TOP] = m[f + F_TOP]
        if room < m[f + F_ALL] and length > room:
            outcomes[i] = TRUNCATED
            m[f + F_CUT] = m[f + F_CUT] + 1
            i = i + 1
            continue
        message = 0
        if m[f + F_SWITCH] != 0 and bits == 0 and unicast == 0 and room >= m[f + F_ALL]:
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
            i = i + 1
            continue
        if room < need:
            outcomes[i] = MALFORMED
            m[f + F_SHORT] = m[f + F_SHORT] + 1
            i = i + 1
            continue
        # what it says
        seqno = NONE
        stop = NONE
        items = 0
        limit = m[f + F_LIMIT]
        if sort != IS_IGNORE and says != SAYS_NOTHING:
            seqno = number(data, at, m[f + F_SEQNO], m)
            if sort == IS_DATA or sort == IS_REPAIR or sort == IS_REQUEST:
                items = m[f + F_CONSTANT]
                if m[f + F_COUNT] != 0:
                    items = number(data, at, m[f + F_COUNT], m)
                if seqno < 0 or items < 0 or items > 9223372036854775807 - seqno:
                    outcomes[i] = MALFORMED
                    m[f + F_LARGE] = m[f + F_LARGE] + 1
                    i = i + 1
                    continue
                stop = seqno + items
                if limit > 0 and (seqno >= limit or items > limit):
                    outcomes[i] = MALFORMED
                    m[f + F_BEYOND] = m[f + F_BEYOND] + 1
                    i = i + 1
                    continue
            else:
                if seqno < 0 or (says == SAYS_LAST and seqno == 9223372036854775807):
                    outcomes[i] = MALFORMED
                    m[f + F_LARGE] = m[f + F_LARGE] + 1
                    i = i + 1
                    continue
                if limit > 0 and seqno > limit:
                    outcomes[i] = MALFORMED
                    m[f + F_BEYOND] = m[f + F_BEYOND] + 1
                    i = i + 1
                    continue
                stop = seqno + 1 if says == SAYS_LAST else seqno
                seqno = stop - 1 if stop > 0 else NONE
        # whose stream
        aside = 0
        placed = 1
        if sort == IS_REQUEST:
            placed = 0
        elif message > 0 and sort == IS_REPAIR:
            placed = 0
            aside = 1
        elif m[f + F_ASIDE] == 1 and m[c + C_ASIDE] == 1:
            aside = 1
        words = 0
        if m[f + F_KEY_COUNT] > 0 and sort != IS_IGNORE:
            words = read_key(data, at, f, m)
        ident = f << 8 | (1 if placed == 1 else 2)
        place = 0
        source = 0
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
        s = 0
        if sort != IS_IGNORE:
            found = m[c + C_STREAM]
            if found > 0:
                s = stream_rows + found * stride
                if same_key(s, ident, place, source, words, m) == 0:
                    s = 0
            if s == 0:
                before = m[H_STREAMS]
                found = find_stream(ident, place, source, words, m)
                if found == 0:
                    break
                m[c + C_STREAM] = found
                s = stream_rows + found * stride
                if m[H_STREAMS] > before and placed == 1:
                    row = m[H_ROWS]
                    for n in range(WIDTH):
                        m[row + n] = 0
                    m[row + KIND] = FACTS
                    m[row + STREAM] = found
                    m[row + FEED] = m[f + F_NUMBER]
                    m[row + FRAME] = frames[i]
                    m[row + INDEX] = -1
                    m[row + LAST_FRAME] = frames[i]
                    m[row + AT] = times[i]
                    m[row + LAST_AT] = times[i]
                    m[row + SOURCE] = start
                    m[row + DESTINATION] = to
                    m[row + SEQNO] = NONE
                    m[row + STOP] = NONE
                    m[row + ID] = -1
                    m[row + LAST_ID] = -1
                    m[H_ROWS] = row + WIDTH
        outcomes[i] = DECODED
        m[f + F_TAKEN] = m[f + F_TAKEN] + 1
        total = f + F_TOTALS + message
        if sort == IS_IGNORE:
            m[total] = m[total] + 1
            i = i + 1
            continue
        if sort == IS_DATA or sort == IS_REPAIR:
            m[total] = m[total] + items
        else:
            m[total] = m[total] + 1
        if items == 0 and (sort == IS_DATA or sort == IS_REPAIR or sort == IS_REQUEST):
            i = i + 1
            continue
        # its turn: what else of the conversation ends runs
        turn = 0
        if m[f + F_SHARED] == 1:
            t = m[s + CONVERSATION]
            turn = m[t]
            if sort == IS_REQUEST or sort == IS_RESET or sort == IS_END:
                turn = turn + 2
            elif aside != turn & 1:
                turn = turn + 1
            m[t] = turn
        kind = m[s + KIND]
        now = times[i]
        alive = 0
        if kind > 0:
            if m[s + BARRIERS] == m[H_BARRIERS] and m[s + TURN] == turn:
                if m[s + SOURCE] == start and m[s + DESTINATION] == to:
                    if now - m[s + LAST_AT] <= m[f + F_PAUSE]:
                        alive = 1
        if sort == IS_DATA or sort == IS_REPAIR:
            if aside == 1 and sort == IS_DATA:
                flag = flag | FLAG_ASIDE
            by = 0
            if m[f + F_BY] != 0:
                by = number(data, at, m[f + F_BY], m)
            odd = 0
            if m[f + F_BLOCKS] >= 0 and room == length:
                odd = odd_blocks(data, at, stops[i], items, f, m)
            wanted = DATA_RUN if sort == IS_DATA else REPAIR
            rest = 0
            if limit > 0 and stop > limit:
                rest = stop - limit
                stop = limit
            if (
                alive == 1
                and kind == wanted
                and aside == 0  # when each repair came is the question
                and m[s + STOP] == seqno
                and m[s + FLAGS] == flag
                and m[s + MESSAGE] == message
                and m[s + BY] == by
            ):
                m[s + LAST_FRAME] = frames[i]
                m[s + LAST_AT] = now
                m[s + STOP] = stop
                m[s + COUNT] = m[s + COUNT] + items - rest
                m[s + SIZE] = m[s + SIZE] + length
                m[s + LAST_ID] = ids[i]
                m[s + ODD] = m[s + ODD] + odd
            else:
                end_run(s, m)
                m[s + KIND] = wanted
                m[s + FEED] = m[f + F_NUMBER]
                m[s + MESSAGE] = message
                m[s + FRAME] = frames[i]
                m[s + INDEX] = 0
                m[s + LAST_FRAME] = frames[i]
                m[s + AT] = now
                m[s + LAST_AT] = now
                m[s + SOURCE] = start
                m[s + DESTINATION] = to
                m[s + SEQNO] = seqno
                m[s + STOP] = stop
                m[s + COUNT] = items - rest
                m[s + SIZE] = length
                m[s + FLAGS] = flag
                m[s + ID] = ids[i]
                m[s + LAST_ID] = ids[i]
                m[s + BY] = by
                m[s + ODD] = odd
                m[s + BARRIERS] = m[H_BARRIERS]
                m[s + TURN] = turn
                m[s + RUN] = 0
                if m[f + F_LOGGED] == 1 and sort == IS_DATA:
                    m[H_RUN] = m[H_RUN] + 1
                    m[s + RUN] = m[H_RUN]
            if m[s + RUN] > 0:
                entry = m[H_LOG]
                m[entry] = m[s + RUN]
                m[entry + 1] = seqno
                m[entry + 2] = now
                m[entry + 3] = 0
                if m[f + F_STAMP] != 0:
                    m[entry + 3] = number(data, at, m[f + F_STAMP], m)
                m[H_LOG] = entry + LOG_WORDS
            if rest > 0:  # the datagram goes on behind the wrap
                end_run(s, m)
                m[s + KIND] = wanted
                m[s + FRAME] = frames[i]
                m[s + INDEX] = 1
                m[s + AT] = now
                m[s + SEQNO] = 0
                m[s + STOP] = rest
                m[s + COUNT] = rest
                m[s + SIZE] = 0
                m[s + ID] = ids[i]
                m[s + ODD] = 0
                if m[s + RUN] > 0:
                    m[H_RUN] = m[H_RUN] + 1
                    m[s + RUN] = m[H_RUN]
        elif sort == IS_HEARTBEAT:
            shown = 0  # what the open run or heartbeat shows already
            # one without a number shows nothing of a run, not even that it is still the last
            if alive == 1 and (
                m[s + STOP] == stop or (limit > 0 and m[s + STOP] == limit and stop == 0)
            ):
                shown = 1
            if shown == 1 and kind != HIGHEST:
                m[s + LAST_FRAME] = frames[i]
                m[s + LAST_AT] = now
            elif (
                shown == 1
                and m[s + STOP] == stop
                and m[s + FLAGS] == flag
                and m[s + MESSAGE] == message
            ):
                m[s + LAST_FRAME] = frames[i]
                m[s + LAST_AT] = now
                m[s + COUNT] = m[s + COUNT] + 1
                m[s + SIZE] = m[s + SIZE] + length
                m[s + LAST_ID] = ids[i]
            else:
                end_run(s, m)
                single(s, HIGHEST, i, f, message, seqno, stop, start, to, flag, length, ids, times,
                       frames, m)  # fmt: skip
                m[s + BARRIERS] = m[H_BARRIERS]
                m[s + TURN] = turn
        else:
            end_run(s, m)
            wanted = REQUEST
            if sort == IS_RESET:
                wanted = RESET
            elif sort == IS_END:
                wanted = CLOSE
            single(s, wanted, i, f, message, seqno, stop, start, to, flag, length, ids, times,
                   frames, m)  # fmt: skip
            end_run(s, m)
        i = i + 1
    m[H_NEXT] = i
    return (i,)


def single(s, kind, i, f, message, seqno, stop, start, to, flag, length, ids, times, frames, m):
    """Open a row of one datagram at stream ``s``."""
    m[s + KIND] = kind
    m[s + FEED] = m[f + F_NUMBER]
    m[s + MESSAGE] = message
    m[s + FRAME] = frames[i]
    m[s + INDEX] = 0
    m[s + LAST_FRAME] = frames[i]
    m[s + AT] = times[i]
    m[s + LAST_AT] = times[i]
    m[s + SOURCE] = start
    m[s + DESTINATION] = to
    m[s + SEQNO] = seqno
    m[s + STOP] = stop
    m[s + COUNT] = 1
    m[s + SIZE] = length
    m[s + FLAGS] = flag
    m[s + ID] = ids[i]
    m[s + LAST_ID] = ids[i]
    m[s + BY] = 0
    m[s + RUN] = 0
    m[s + ODD] = 0
    return 0
