"""Columns of a row, kinds, and the places in the tables: for the kernel over PGM and raims and its
callers."""

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
W_WINDOW = 9  # sqns of a receive window
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
#: Of the nanoseconds that a step of the clock has: 4.2 ms, as receivers' timers are no finer.
STEP_BITS = 22
UDP_ENCAPSULATION = 3055  # and 3056: the registered ports of PGM in UDP
