"""Fields of a row, states, and the places in the tables: for the kernels over packets and their
callers."""

# Fields of ``out``.
STATE = 0  # what the record turned out to be, below
PROTOCOL = 1  # IP protocol, -1 if the record holds no IP
SOURCE = 2  # number of the address in HOST_ROWS, -1 without IP
DESTINATION = 3
SOURCE_PORT = 4  # UDP, TCP, SCTP, DCCP, UDP-Lite; 0 for others and for fragments
DESTINATION_PORT = 5
START = 6  # UDP: of the payload; fragment: of what it carries; other IP: of the transport header
STOP = 7  # one past its last captured byte
LENGTH = 8  # bytes from START that the headers claim
IP_ID = 9  # -1: none
FLAGS = 10  # events.Flag: NETWORK_DUPLICATE, MULTICAST, CUT, ALIKE; and ONCE_BEFORE, OFTEN_BEFORE
TTL = 11  # or hop limit
FRAGMENT = 12  # offset in bytes << 1 | more fragments follow; -1: no fragment
FLOW = 13  # number of (destination, protocol, destination port) in FLOW_ROWS; -1: none
PACKET_TYPE = 14  # SLL, SLL2: 0 to us, 1 broadcast, 2 multicast, 3 to others, 4 outgoing; else -1
NETWORK = 15  # which network of a number of its own it is of (network_key); 0: of none
TUNNEL = 16  # the innermost that it came in: network's number + 1, if it has one, << 8 | TUNNEL_*
SEQUENCE = 17  # of a TCP header that was captured whole, as the next two
ACKNOWLEDGED = 18
TCP_BITS = 19  # its length and flags, 16 bits
FIELDS = 20
TCP_BYTES = 20  # of a TCP header without options

#: What these are of nearly all rows, and of all before ``scan``, which writes them for others only:
#: stores to so many places at once are dear.
PREPARED = (
    (STATE, 1), (PROTOCOL, 17), (FRAGMENT, -1), (PACKET_TYPE, -1), (NETWORK, 0), (TUNNEL, 0),
)  # fmt: skip

# STATE. The ranges matter: packets.py turns them into outcomes.
PRIMING = 0  # not ours: read for duplicate detection only
DATAGRAM = 1
FRAGMENT_STATE = 2  # of something that may be UDP or TCP; for the second stage
NOT_UDP = 3
NOT_IP = 4
NO_PACKET = 5  # a block that Wireshark numbers as well
MALFORMED_LINK = 10
MALFORMED_VERSION = 11
MALFORMED_HEADER = 12
MALFORMED_LENGTH = 13
MALFORMED_EXTENSION = 14
MALFORMED_FRAGMENT = 15
MALFORMED_UDP = 16
DAMAGED = 17  # its checksum is wrong, and its sender makes them (checksums)
TRUNCATED_LINK = 20
TRUNCATED_IP = 21
TRUNCATED_TRANSPORT = 22
UNKNOWN_LINK = 30
UNDECRYPTED = 31
NO_INTERFACE = 32

# Status of a record (record_kernels): no interface description, so no link type; no packet at all.
RECORD_WITHOUT_INTERFACE = 1
RECORD_WITHOUT_PACKET = 3

# What stands behind the link layer; also ``l3[i] & 7``, with the offset in the bits above.
NETWORK_BY_VERSION = 0  # IP, the first four bits say which
NETWORK_NONE = 1
NETWORK_SHORT = 2  # the captured bytes end before it
NETWORK_UNKNOWN = 3  # a link layer that nobody here knows
NETWORK_IPV4 = 4
NETWORK_ENCRYPTED = 5
NETWORK_IPV6 = 6
NETWORK_NO_INTERFACE = 7
NETWORK_NO_PACKET = 8  # never in l3

# events.Flag
FLAG_NETWORK_DUPLICATE = 4
FLAG_ALIKE = 2048
FLAG_MULTICAST = 16
FLAG_CUT = 32

MAX_TAGS = 16  # VLAN tags and MPLS labels
LEAST_ETHERTYPE = 1536  # below it is a length
MAX_EXTENSIONS = 16
MAX_TUNNELS = 20  # within each other

# What a packet is carried in; 0: in no tunnel.
TUNNEL_IP = 1  # IP in IP, 6in4, 4in6
TUNNEL_GRE = 2
TUNNEL_ERSPAN = 3
TUNNEL_VXLAN = 4
TUNNEL_GENEVE = 5
TUNNEL_GTP = 6
TUNNEL_TEREDO = 7
TUNNEL_KINDS = 8
# A network: the number that its innermost tunnel says, that tunnel's kind, and the last two VLANs
# that are not outside of that tunnel.
KEY_NUMBER = 27
KEY_KIND = 24
KEY_VLANS = 0xFFFFFF
VLAN_BITS = 12
GTP_PORT = 2152
TEREDO_PORT = 3544
VXLAN_PORT = 4789
GENEVE_PORT = 6081

HOSTS = 65536  # addresses, and flows, before the caller starts fresh tables
ROOMY_HOSTS = 57344  # where there are fewer addresses, theirs goes on when that of flows is full
SLOTS = 131072  # hash table places for them
PROBES = 256
HOST_WORDS = 5  # IP version, then the address as four 32-bit words (IPv4: the last)
FLOW_WORDS = 3  # key, frames, bytes on the wire
PAIRS = 16384  # IPv4: what the last packet with this hash of its ends had; spares the tables
PAIR_WORDS = 8  # version, protocol and port; two addresses; numbers of both and of the flow

# Duplicates (decoders/README.md 3 fresh_id): what was captured within this distance of file and
# time before.
WINDOW_BYTES = 4194304
WINDOW_NS = 2000000000
# One that is cut and has an IP id is the same as one of which more was captured, as outside of a
# tunnel, so soon that no id has come again.
CUT_COPY_NS = 1000000
CUT_DIGEST = 1 << 62
CUT_BITS = 16
# Where a datagram has no IP id, one with all its bytes was captured twice or sent twice, and only
# the account of all tells which. In a capture that holds everything twice each comes with one
# other; what is sent at a rhythm comes with none, or with several: if two are no further apart than
# NEAR_NS, three are within LIKE_NS. The second one of a pair has an odd number of others before it.
NEAR_NS = 1800000000
LIKE_NS = 4000000000
NO_ID = 8  # beside the IP version in E_PORTS
# In FLAGS, for the account alone:
ONCE_BEFORE = 4096  # one was before it, and near
OFTEN_BEFORE = 8192  # others were, but not so
OTHERS_BEFORE = ONCE_BEFORE | OFTEN_BEFORE
EVENT_FLAGS = 4095
# A record that is entered takes 34 bytes of file or more (44 with a whole UDP header), so 2^17
# entries cover the window and leave room for those that are entered before the window's begin is
# looked for again.
RING = 131072
RING_STEP = 512
# An entry fills one line of the processor's cache: offset in the file, time, number of the entry
# before it in its bucket, then what has to be equal.
ENTRY_WORDS = 8
E_OFFSET = 0
E_TIME = 1
E_LINK = 2  # while it waits: its hash
E_SIZES = 3  # length << 16 | checksum
E_PORTS = 4  # IP version << 32 | source port << 16 | destination port
E_DIGEST = 5  # of what is cut CUT_DIGEST, the digest, and in CUT_BITS how many bytes there are
E_SOURCE = 6  # last word of the address << 16 | half of the IP id
E_DESTINATION = 7
WIDE_WORDS = 6  # the first three words of both addresses (IPv6)
BUCKETS = 65536  # half a megabyte: their random access stays in the processor's own cache
# A bucket holds the number (from 1) of its newest entry and a bit for each hash among its entries:
# where none is like that of a new one, nothing else has to be looked at.
ENTRY_BITS = 40
ENTRY_MASK = 0xFFFFFFFFFF
LIKENESSES = 22
CHAIN = 24  # newest entries of a bucket that are compared; so many others there never are
# Two datagrams are the same only if all their bytes are: IP ids may be constant, checksums 0 or, as
# sums, the same where one number counts up and another down. So E_DIGEST is of the whole payload.
# Interpreted it is the remainder by the first prime from 2^57 × pi on that is twice a prime + 1: it
# divides one difference of two payloads in 2^58, and none of two bits (2 generates its group).
PRIME = 452751216129821867
LEAST_FRAME = 4  # bytes behind its type, of a frame that is entered
LATEST_NS = 4611686018427387904  # 2^62; times outside 0 … this take no part in subtraction

# ``work``: all that lasts from one call to the next, in one array (passing many costs numba time).
HOST_COUNT = 0
FLOW_COUNT = 1
RING_COUNT = 2
RING_TAIL = 3  # all entries of the window have this number or a higher one
ODD_ROWS = 4  # 1: of some row a field is not as in PREPARED
NETWORKED = 5  # 1: some row is of a network of a number of its own
TUNNELLED = 6  # 1: some row came in a tunnel
WAITING = 8  # rows of the newest entries
WAITING_MOST = 16
HOST_SLOTS = WAITING + WAITING_MOST
HOST_ROWS = HOST_SLOTS + SLOTS
FLOW_SLOTS = HOST_ROWS + HOSTS * HOST_WORDS
FLOW_ROWS = FLOW_SLOTS + SLOTS
PAIR_ROWS = FLOW_ROWS + HOSTS * FLOW_WORDS
HEADS = PAIR_ROWS + PAIRS * PAIR_WORDS  # per bucket the newest entry
RING_ROWS = HEADS + BUCKETS
WIDE_ROWS = RING_ROWS + RING * ENTRY_WORDS
TUNNELS = WIDE_ROWS + RING * WIDE_WORDS  # frames by the kind of their innermost tunnel
# Those of tunnels that say which network they are of, by both: the number << 8 | kind, plus 1, and
# frames. What finds no room here is counted by its kind.
NETWORKS = TUNNELS + TUNNEL_KINDS
NETWORK_ROOM = 4096
NETWORK_WORDS = 2
# What carries feeds without UDP: a bit for each IP protocol, which is no tunnel then, and each
# Ethernet type (those are LEAST_ETHERTYPE or more).
CARRIERS = NETWORKS + NETWORK_ROOM * NETWORK_WORDS
CARRIER_BITS = 32  # in a word
WORK_SIZE = CARRIERS + 65536 // CARRIER_BITS

# What became of a record.
IS_DATAGRAM = 1
IS_ENTERED = 2  # in the ring
NOTHING = -2  # not looked at to its end

# ``counts`` of ``tally``, all 0 at first.
OUTCOMES = 0  # datagrams by outcome
UNICASTS = 8  # how many were claimed and went from one host to another
BOTH = 9  # two words: address + 1 that is an end of each of these; 0: none
TTLS = 16  # per address, of those that it has sent: lowest and highest TTL + 1, how many to itself
CLAIMS = TTLS + HOSTS * 3  # per system and flow: frames and bytes
EACH = -2  # of ``claimant``: see ``claimed``
