"""Columns of batches and rows, kinds, and the places in the tables: for the kernel over zenoh
batches and its callers."""

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
CROWD = 11  # how full its socket may have been: 0, 1 or 2 (``decoders.zenoh.crowds``)
COLUMNS = 12

PLAIN_MODE = 0
KNOWN = 1  # the user says zenoh
SCOUTING = 2  # the scouting port is one of its ports
NOT_OURS = 4  # nobody may claim it
BARRIER = 16  # no batch: every run ends here
LARGE = 32  # a datagram that no run takes in: it may be dropped alone, by a full socket buffer
PORT = 8  # zenoh's own port: what reads as zenoh to its last byte is, if its session is in step

BY_PORT = 3  # DOUBT: only the port says that it is zenoh

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
DOUBT = 24  # 1: of a WEAK batch; 2: and cut off; BY_PORT
ROW_FLAGS = 25
QOS = 26  # of a sample: 1-7 priority, 8 Block, 16 express (zenoh.md 4)
CAPTURED = 27  # where the captured bytes of a message that is only located end
CROWDED = 28  # CROWD of all its batches; of runs of frames
WIDTH = 29

HOP_RUN = 1  # frames
SAMPLES = 2  # Push with Put or Del and SourceInfo
PLAIN = 3  # Push with Put or Del without
FRAGMENT = 4
NETWORK = 5  # any other network message
TRANSPORT = 6  # any other transport message
BATCHES = 7  # WEAK batches of one direction, or those of the port

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
M_TIMED_UNTIL = 8
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
#: So long behind a query the engine asks how much time passed, in ticks of 2 ** TICK_BITS ns
#: (``replay.zenoh.timers``).
TIMED_NS = 16_000_000_000
TICK_BITS = 24
#: What came in that time its node may not have read; a run that tells of a full socket has no pause
#: that is longer, so that it says how long that lasted (``replay.zenoh.floods``).
CROWD_NS = 100_000_000
