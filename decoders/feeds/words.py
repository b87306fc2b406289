"""Words of ``decoders.feeds.kernels``: of its rows, streams, channels, rules, feeds, messages and
fields, and where each part of its one array begins.

``decoders.feeds.tables`` writes what a feed says in these words, ``decoders.feeds.datagrams`` reads
the rows.
"""

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
UNITS = 21  # that the row is made of, and << 32 the datagrams whose first one in a row it has
ONE_DATAGRAM = 4294967296
WIDTH = 22
# What further belongs to a stream.
BARRIERS = 22  # H_BARRIERS when the run was last added to
TURN = 23  # and the word of its conversation
CONVERSATION = 24  # place of that word
IDENT = 25  # key: feed and sort
PLACE = 26  # key: destination << 16 | port, or the line
FROM = 27  # key: source << 16 | port
KEY = 28  # then the words of the field parts

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
UNDECODABLE = 5
FULL = -1  # the rows, samples or streams are: go on with the same unit once there is room
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
# The datagram at hand, and of one with several units the one that is next.
H_UNIT = 44  # bytes before it; 0: the first
H_UNITS = 45  # number of units before it
H_FROM = 46  # whose it is: feed
H_FRONT = 47  # its first byte
H_REAR = 48  # one past its last captured byte
H_END = 49  # one past the last byte of the unit as its length says
H_FRAME = 50
H_TIME = 51
H_ID = 52
H_TO = 53
H_START = 54
H_FLAG = 55
H_TOLD = 56  # 1: a unit of it is in a row
H_NETWORK = 57  # what it came in, as packet_kernels has it
H_RECORDS = 58  # that it has, as ``records`` counts them
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
F_COUNTING = 37  # how messages are counted, below
F_COUNTED_FROM = 38  # bytes before those that are counted
F_COUNTED_UNIT = 39
F_STEP = 40  # the field has numbers times this
F_BETWEEN = 41  # a number that is none of its multiples
F_LOOSE = 42  # fields at no fixed place, and how many
F_LOOSE_COUNT = 43
F_REPEAT = 44  # how units follow each other, below
F_REPEAT_FIRST = 45  # bytes before the first
F_REPEAT_SIZE = 46  # of each; or what is added to its length
F_REPEAT_LENGTH = 47  # place of the field, and in what it counts
F_REPEAT_UNIT = 48
F_REPEAT_COUNT = 49  # place of the field that says how many there are, 0: none does
F_BROKEN = 50  # datagrams whose units do not fill them
F_REPEAT_ADDS = 51  # place of a field behind what is added instead of F_REPEAT_SIZE, 0: none
F_UNKNOWN = 52  # datagrams of which no template says how many records they have
F_TOTALS = 53  # of DATA, then of each message
FEED_WORDS = 114

# How messages are counted.
BY_FIELD = 0  # or a constant
BY_BLOCKS = 1
BY_BYTES = 2
BY_RECORDS = 3

# How units follow each other.
ONE_UNIT = 0
OF_ONE_SIZE = 1
BY_LENGTH = 2
MOST_UNITS = 4096  # of one datagram

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
D_END = 7  # 0: at no fixed place
D_FROM = 8  # below
D_AFTER = 9  # place of the field that it follows
D_UNIT = 10  # bytes that one of that field stands for; or
D_SIZES = 11  # pairs of its value and bytes, and how many
D_SIZE_COUNT = 12
FIELD_WORDS = 13

FROM_UNIT = 0
FROM_FRONT = 1  # of the whole datagram
FROM_END = 2  # of the unit
FROM_AFTER = 3

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
PIECE_NETWORK = 3  # bits of H_NETWORK: how many are below them, and which are left

LOG_WORDS = 4  # run, seqno, time, stamp
ROOM = 4  # rows, and samples, that one datagram may need
LOG_ROOM = 2

HALF = 4294967296
TOP = 2147483648
