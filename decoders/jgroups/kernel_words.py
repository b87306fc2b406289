"""Columns of a row, kinds, what headers hold, and the places in the tables: for the kernel over
JGroups frames and its callers."""

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
MISFILED = 65536

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
F_BYTE_5 = 36  # one byte from 5.0 on

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
W_BARE = 16  # as bare() tells
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

DECODED = 1  # values of packets.FrameOutcome
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
