"""Why a walk over records returned, and the places in its arrays: for kernels and their callers."""

# Why a walk returned.
NEED = 0  # the record at the position is not complete in the window
FULL = 1  # no room left in the output
STOP = 2  # the next record starts at or after the piece's stop
DAMAGE = 3  # no record can start at the position
CUT = 4  # the file ends inside the record at the position
DOUBTFUL_CUT = 5  # the same, and its header is odd: it may as well be damage
END = 6  # the file ends exactly at the position
CONTROL = 7  # a section header, interface description or statistics block is at the position
COMMENT = 8  # a comment of the record just written is wanted; see X_COMMENT_AT

# Status of a record.
OK = 0
UNKNOWN_INTERFACE = 1  # no interface description has this number: link type and resolution unknown
TIME_OUT_OF_RANGE = 2  # its time does not fit; at_ns is the limit
NOT_A_PACKET = 3  # a custom, journal or event block: Wireshark numbers these too

# setup
S_PCAPNG = 0  # 1: pcapng, 0: pcap
S_BIG = 1  # 1: big-endian (pcapng: the section in force)
S_HEADER = 2  # pcap: bytes of a record header, 16 (24 in Kuznetzov's format)
S_PER_SECOND = 3  # pcap: units of the time's fraction in a second
S_TO_NS = 4  # pcap: nanoseconds in such a unit
S_LIMIT = 5  # longest captured length (pcapng: block length) that a record may have
S_SNAP = 6  # pcap: snap length of the header
S_LINK = 7  # pcap: link type
S_LOOSE = 8  # pcap: 1: captured > original is usual in this file (its first record has it)
S_INTERFACES = 9  # pcapng: rows of the table in use
SETUP_SIZE = 10

# a row of table
T_LINK = 0
T_METHOD = 1  # 0: ns = ticks * A; 1: ns = ticks // A // B // C; 2: A is the n of 2^-n seconds
T_A = 2
T_B = 3
T_C = 4
T_OFFSET_NS = 5
T_SNAP = 6
T_DROPS = 7  # written: sum of the drops that packet blocks of this piece state
TABLE_ROW = 8

# state
X_LAST_NS = 0  # time of the record before
X_TIMED = 1  # 1: X_LAST_NS is known
X_BORROWED = 2  # 1: a record without time stamp came before any time was known
X_UNTIMED = 3  # records without time stamp
X_COMMENTS = 4
X_COMMENT_AT = 5
X_COMMENT_BYTES = 6
X_WANT_COMMENTS = 7  # texts still wanted
STATE_SIZE = 8

NO_TABLE = 2

CHAIN = 16  # records that make a guess (decoders/README.md 2)
FOLLOWERS = 3  # records that must follow an odd one
CUT_CHAIN = 4  # complete records that make one if the file ends inside the next
DAY_S = 86_400
GUESS_LIMIT = 262_144  # no record of a guess is longer: the usual highest snap length
LONGEST_ORIGINAL = 0x1000000
USUAL_LIMIT = 65_792  # an IP packet and its link header; longer records are looked at twice
MAX_NS = 4_611_686_018_427_387_904  # 2^62, the year 2116: leaves room for sums
FIVE_TO_9 = 1_953_125
