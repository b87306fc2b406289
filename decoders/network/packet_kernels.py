"""Link layer, IP and UDP of every record, in the restricted style of decoders/README.md 4
(pipeline/README.md 2, decoders/README.md 4).

Two entry points. ``scan``: per record it finds the IP header behind the link layer, walks the IP
header and its extensions, checks UDP, interns both addresses and the destination port, and looks
for the same datagram captured shortly before. What a tunnel carries is read in its place, to a
bounded depth (``inside``). Everything is written into ``out``, field by field:
``out[FIELD * room + row]``. ``tally``: counts what became of the datagrams, when the decoders have
seen them. The file imports nothing; ``kernels`` loads it in either mode.
"""

# ruff: noqa: SIM109  (one comparison a line: decoders/README.md 4)

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("scan", "tally")

#: Helpers that are compiled into their callers: a call passes every word of ``data`` and ``work``.
INLINED = ("pair_of", "enter", "look_up")


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
FIELDS = 15

#: What these are of nearly all rows, and of all before ``scan``, which writes them for others only:
#: stores to so many places at once are dear.
PREPARED = ((STATE, 1), (PROTOCOL, 17), (FRAGMENT, -1), (PACKET_TYPE, -1))

# STATE. The ranges matter: packets.py turns them into outcomes.
PRIMING = 0  # not ours: read for duplicate detection only
DATAGRAM = 1
FRAGMENT_STATE = 2  # of something that may be UDP; for the second stage
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
GTP_PORT = 2152
TEREDO_PORT = 3544
VXLAN_PORT = 4789
GENEVE_PORT = 6081

HOSTS = 65536  # addresses, and flows, before the caller starts fresh tables
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
# A record with a whole UDP header takes 44 bytes of file or more, so 2^17 entries cover the window
# and leave room for those that are entered before the window's begin is looked for again.
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
E_DIGEST = 5
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
LATEST_NS = 4611686018427387904  # 2^62; times outside 0 … this take no part in subtraction

# ``work``: all that lasts from one call to the next, in one array (passing many costs numba time).
HOST_COUNT = 0
FLOW_COUNT = 1
RING_COUNT = 2
RING_TAIL = 3  # all entries of the window have this number or a higher one
ODD_ROWS = 4  # 1: of some row a field is not as in PREPARED
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
WORK_SIZE = NETWORKS + NETWORK_ROOM * NETWORK_WORDS

# ``counts`` of ``tally``, all 0 at first.
OUTCOMES = 0  # datagrams by outcome
UNICASTS = 8  # how many were claimed and went to one host
BOTH = 9  # two words: address + 1 that is an end of each of these; 0: none
TTLS = 16  # per address, of those that it has sent: lowest and highest TTL + 1
CLAIMS = TTLS + HOSTS * 2  # per system and flow: frames and bytes
EACH = -2  # of ``claimant``: see ``claimed``


def u8(a, o):
    return a[o] | 0


def u16be(a, o):
    return (a[o] | 0) << 8 | (a[o + 1] | 0)


def u32be(a, o):
    return (a[o] | 0) << 24 | (a[o + 1] | 0) << 16 | (a[o + 2] | 0) << 8 | (a[o + 3] | 0)


def u32le(a, o):
    return (a[o + 3] | 0) << 24 | (a[o + 2] | 0) << 16 | (a[o + 1] | 0) << 8 | (a[o] | 0)


def mix(h, value):
    """One hash step: 38 bits × 24 bits stay below 2^62."""
    h = ((h ^ (h >> 23) ^ value) & 0x3FFFFFFFFF) * 0x9E3779
    return h ^ (h >> 29)


def network(data, link, start, stop):
    """What stands behind the link layer: (NETWORK_*, its offset, SLL packet type or -1)."""
    header = -1  # bytes in front of what the ethertype names
    ethertype = 0
    packet_type = -1
    if link == 1:
        header = 14
        if stop - start >= header:
            ethertype = u16be(data, start + 12)
    elif link == 113:
        header = 16
        if stop - start >= header:
            ethertype = u16be(data, start + 14)
            packet_type = u16be(data, start)
    elif link == 276:
        header = 20
        if stop - start >= header:
            ethertype = u16be(data, start)
            packet_type = u8(data, start + 10)
    elif link == 0 or link == 108:
        if stop - start < 4:
            return NETWORK_SHORT, start, -1
        family = u32be(data, start)
        if link == 0 and family > 0xFFFF:  # NULL is in the byte order of the capturing host
            family = u32le(data, start)
        if family == 2:
            return NETWORK_IPV4, start + 4, -1
        if family == 10 or family == 24 or family == 28 or family == 30:  # Linux, BSDs, macOS
            return NETWORK_IPV6, start + 4, -1
        return NETWORK_NONE, start, -1
    elif link == 101 or link == 12 or link == 14:
        return NETWORK_BY_VERSION, start, -1
    elif link == 228:
        return NETWORK_IPV4, start, -1
    elif link == 229:
        return NETWORK_IPV6, start, -1
    else:
        return NETWORK_UNKNOWN, start, -1
    if stop - start < header:
        return NETWORK_SHORT, start, -1
    if link != 1 and ethertype < 1536 and ethertype != 4:  # LINUX_SLL_P_*; 4 is 802.2
        return NETWORK_NONE, start, packet_type
    kind, at = behind_ethertype(data, ethertype, start + header, stop)
    return kind, at, packet_type


def behind_ethertype(data, ethertype, at, stop):
    """Walk VLAN and switch tags, Ethernet in Ethernet, MPLS labels, PPPoE and SNAP: (NETWORK_*,
    offset)."""
    for _ in range(MAX_TAGS):
        if ethertype == 0x0800:
            return NETWORK_IPV4, at
        if ethertype == 0x86DD:
            return NETWORK_IPV6, at
        if ethertype == 0x8100 or ethertype == 0x88A8 or ethertype == 0x9100:
            if stop - at < 4:
                return NETWORK_SHORT, at
            ethertype = u16be(data, at + 2)
            at = at + 4
        elif ethertype == 0x8926:  # VN-Tag
            if stop - at < 6:
                return NETWORK_SHORT, at
            ethertype = u16be(data, at + 4)
            at = at + 6
        elif ethertype == 0x893F or ethertype == 0xDADA or ethertype == 0x8909:
            # 802.1BR; a switch's own (EDSA); a group's number (CMD)
            if stop - at < 8:
                return NETWORK_SHORT, at
            ethertype = u16be(data, at + 6)
            at = at + 8
        elif ethertype == 0x88E7:  # 802.1ah: the service, then another Ethernet header
            if stop - at < 18:
                return NETWORK_SHORT, at
            ethertype = u16be(data, at + 16)
            at = at + 18
        elif ethertype == 0x892F or ethertype == 0xF1C1:  # HSR, 802.1CB: frames sent twice
            if stop - at < 6:
                return NETWORK_SHORT, at
            ethertype = u16be(data, at + 4)
            at = at + 6
            if ethertype < 1536:
                return NETWORK_NONE, at
        elif ethertype == 0x88E5:  # MACsec, which may protect without encrypting
            if stop - at < 1:
                return NETWORK_SHORT, at
            if u8(data, at) & 0x0C:
                return NETWORK_ENCRYPTED, at
            at = at + 14 if u8(data, at) & 0x20 else at + 6
            if stop - at < 2:
                return NETWORK_SHORT, at
            ethertype = u16be(data, at)
            at = at + 2
        elif ethertype == 0x8847 or ethertype == 0x8848:
            if stop - at < 4:
                return NETWORK_SHORT, at
            bottom = u8(data, at + 2) & 1
            at = at + 4
            if bottom == 1:  # what follows is not named; IP shows by its version
                if stop - at < 1:
                    return NETWORK_SHORT, at
                version = u8(data, at) >> 4
                if version == 4 or version == 6:
                    return version, at
                return NETWORK_NONE, at
        elif ethertype == 0x8864:
            if stop - at < 8:
                return NETWORK_SHORT, at
            protocol = u16be(data, at + 6)
            if protocol == 0x0021:
                return NETWORK_IPV4, at + 8
            if protocol == 0x0057:
                return NETWORK_IPV6, at + 8
            return NETWORK_NONE, at
        elif ethertype < 1536:  # a length: 802.2; IP comes behind SNAP only
            if stop - at < 8:
                return NETWORK_NONE, at
            if u32be(data, at) != 0xAAAA0300 or u16be(data, at + 4) != 0:
                return NETWORK_NONE, at
            ethertype = u16be(data, at + 6)
            at = at + 8
            if ethertype < 1536:
                return NETWORK_NONE, at
        else:
            return NETWORK_NONE, at
    return NETWORK_NONE, at


def ipv4(data, at, stop, wire_stop):
    """(state, protocol, transport, its claimed stop, IP id, TTL, fragment)."""
    if wire_stop - at < 20:
        return MALFORMED_HEADER, 0, at, at, -1, 0, -1
    if stop - at < 20:
        return TRUNCATED_IP, 0, at, at, -1, 0, -1
    if u8(data, at) >> 4 != 4:
        return MALFORMED_VERSION, 0, at, at, -1, 0, -1
    header = (u8(data, at) & 15) * 4
    if header < 20:
        return MALFORMED_HEADER, 0, at, at, -1, 0, -1
    total = u16be(data, at + 2)
    if total == 0:  # segmentation offload: captured before the length was known
        total = wire_stop - at
    if total < header or total > wire_stop - at:
        return MALFORMED_LENGTH, 0, at, at, -1, 0, -1
    protocol = u8(data, at + 9)
    ttl = u8(data, at + 8)
    word = u16be(data, at + 6)
    place = (word & 0x1FFF) * 8
    more = (word >> 13) & 1
    ip_id = u16be(data, at + 4)
    if place == 0 and more == 0:
        if ip_id == 0 and word & 0x4000:  # an atomic datagram's id may mean nothing (RFC 6864)
            ip_id = -1
        return NOT_UDP, protocol, at + header, at + total, ip_id, ttl, -1
    size = total - header
    if size == 0 or place + size > 65535 - 20 or (more == 1 and size & 7):
        return MALFORMED_FRAGMENT, 0, at, at, -1, 0, -1
    return FRAGMENT_STATE, protocol, at + header, at + total, ip_id, ttl, place << 1 | more


def ipv6(data, at, stop, wire_stop):
    """As ``ipv4``; extension headers are walked up to a fragment header that is not atomic."""
    if wire_stop - at < 40:
        return MALFORMED_HEADER, 0, at, at, -1, 0, -1
    if stop - at < 40:
        return TRUNCATED_IP, 0, at, at, -1, 0, -1
    if u8(data, at) >> 4 != 6:
        return MALFORMED_VERSION, 0, at, at, -1, 0, -1
    end = at + 40 + u16be(data, at + 4)
    if end == at + 40:  # a jumbogram, or segmentation offload
        end = wire_stop
    if end > wire_stop:
        return MALFORMED_LENGTH, 0, at, at, -1, 0, -1
    protocol = u8(data, at + 6)
    ttl = u8(data, at + 7)
    ip_id = -1
    cursor = at + 40
    for _ in range(MAX_EXTENSIONS):
        if is_extension(protocol) == 0:
            return NOT_UDP, protocol, cursor, end, ip_id, ttl, -1
        if end - cursor < 8:
            return MALFORMED_EXTENSION, 0, at, at, -1, 0, -1
        if stop - cursor < 8:
            return TRUNCATED_IP, 0, at, at, -1, 0, -1
        following = u8(data, cursor)
        if protocol == 44:
            word = u16be(data, cursor + 2)
            place = word & 0xFFF8
            more = word & 1
            ip_id = u32be(data, cursor + 4)
            cursor = cursor + 8
            if place > 0 or more == 1:
                size = end - cursor
                if size == 0 or place + size > 65535 or (more == 1 and size & 7):
                    return MALFORMED_FRAGMENT, 0, at, at, -1, 0, -1
                return FRAGMENT_STATE, following, cursor, end, ip_id, ttl, place << 1 | more
        else:
            size = (u8(data, cursor + 1) + 1) * 8
            if protocol == 51:  # AH counts in four bytes
                size = (u8(data, cursor + 1) + 2) * 4
            if size > end - cursor:
                return MALFORMED_EXTENSION, 0, at, at, -1, 0, -1
            cursor = cursor + size
        protocol = following
    return MALFORMED_EXTENSION, 0, at, at, -1, 0, -1


def is_extension(protocol):
    """1 for hop-by-hop, routing, fragment, AH, destination options, mobility, HIP, shim6."""
    if protocol == 0 or protocol == 43 or protocol == 44 or protocol == 51 or protocol == 60:
        return 1
    if protocol == 135 or protocol == 139 or protocol == 140:
        return 1
    return 0


def has_ports(protocol):
    """1 where source and destination port are the first four bytes: TCP, DCCP, SCTP, UDP-Lite."""
    if protocol == 6 or protocol == 33 or protocol == 132 or protocol == 136:
        return 1
    return 0


def is_tunnel_port(port):
    """1 for UDP ports behind which a packet may stand."""
    if port == VXLAN_PORT or port == GENEVE_PORT:
        return 1
    if port == GTP_PORT or port == TEREDO_PORT:
        return 1
    return 0


def may_carry(protocol):
    """1 for IP in IP, UDP, IPv6 in IP, GRE."""
    if protocol == 4 or protocol == 17 or protocol == 41 or protocol == 47:
        return 1
    return 0


def inside(data, protocol, at, stop, end):
    """What a tunnel carries: (TUNNEL_*, NETWORK_*, offset); TUNNEL_* is 0 where it is none.

    Nothing on the wire says for sure that a port is a tunnel's: fields that must be zero are, and
    the caller asks whether what stands there is IP.

    Args:
        protocol, at: of IP, and where its header begins.
        stop, end: one past the last byte of it that was captured, and that there is.
    """
    if protocol == 4:
        return TUNNEL_IP, NETWORK_IPV4, at
    if protocol == 41:
        return TUNNEL_IP, NETWORK_IPV6, at
    if stop - at < 16:  # no tunnel with a packet in it is shorter
        return 0, NETWORK_NONE, at
    if protocol == 47:
        return inside_gre(data, at, stop)
    if protocol != 17 or u16be(data, at + 4) < 16:
        return 0, NETWORK_NONE, at
    port = u16be(data, at + 2)
    within = at + 8
    if port == VXLAN_PORT:
        # flags: the network's number is there; maybe a group's, and what is carried (GPE)
        if u8(data, within) & 0x7B != 8 or u8(data, within + 7):
            return 0, NETWORK_NONE, at
        carried = 3
        if u8(data, within) & 4:
            carried = u8(data, within + 3)
        if carried == 1 or carried == 2:
            return TUNNEL_VXLAN, by_version(data, within + 8, stop), within + 8
        if carried != 3:
            return 0, NETWORK_NONE, at
        kind, inner = inside_ethernet(data, within + 8, stop)
        return TUNNEL_VXLAN, kind, inner
    if port == GENEVE_PORT:
        if u8(data, within) >> 6 or u8(data, within + 1) & 0x3F or u8(data, within + 7):
            return 0, NETWORK_NONE, at
        inner = within + 8 + (u8(data, within) & 63) * 4
        kind, inner = behind_type(data, u16be(data, within + 2), inner, stop)
        return TUNNEL_GENEVE, kind, inner
    if port == GTP_PORT:
        # version 1, GTP, a packet of a user, as long as the datagram
        if u16be(data, within) & 0xF0FF != 0x30FF or u16be(data, within + 2) != end - within - 8:
            return 0, NETWORK_NONE, at
        inner = within + 8
        if u8(data, within) & 7:
            inner = inner + 4
            following = u8(data, within + 11) if u8(data, within) & 4 else 0
            for _ in range(MAX_EXTENSIONS):
                if following == 0 or stop - inner < 4:
                    break
                size = u8(data, inner) * 4
                if size == 0 or size > stop - inner:
                    return 0, NETWORK_NONE, at
                following = u8(data, inner + size - 1)
                inner = inner + size
        return TUNNEL_GTP, by_version(data, inner, stop), inner
    if port == TEREDO_PORT or u16be(data, at) == TEREDO_PORT:
        if u16be(data, within) == 1:  # authentication: two lengths, then 9 bytes
            within = within + 13 + u8(data, within + 2) + u8(data, within + 3)
        if stop - within >= 8 and u16be(data, within) == 0:  # where the client was seen
            within = within + 8
        if stop - within < 40 or u16be(data, within + 4) != end - within - 40:
            return 0, NETWORK_NONE, at
        if u32be(data, within + 8) != 0x20010000 and u32be(data, within + 24) != 0x20010000:
            return 0, NETWORK_NONE, at
        return TUNNEL_TEREDO, by_version(data, within, stop), within
    return 0, NETWORK_NONE, at


def network_number(data, tunnel, at):
    """The number of the network that a tunnel says it is of: VNI, key of GRE, session of ERSPAN;
    -1: it says none. ``at`` is where the header of UDP or GRE begins, and 16 bytes are there."""
    if tunnel == TUNNEL_VXLAN or tunnel == TUNNEL_GENEVE:
        return u32be(data, at + 12) >> 8
    if tunnel == TUNNEL_GRE and u8(data, at) & 0x20:
        return u32be(data, at + 8) if u8(data, at) & 0x80 else u32be(data, at + 4)
    if tunnel == TUNNEL_ERSPAN and u8(data, at) == 0x10:  # a number, and nothing else of GRE
        return u16be(data, at + 10) & 0x3FF
    return -1


def count_tunnel(tunnel, number, work):
    """Count a frame by its tunnel and that one's network."""
    if number >= 0:
        key = (number << 8 | tunnel) + 1
        h = mix(number, tunnel)
        for probe in range(PROBES):
            place = NETWORKS + (h + probe & (NETWORK_ROOM - 1)) * NETWORK_WORDS
            if work[place] == 0:
                work[place] = key
            if work[place] == key:
                work[place + 1] += 1
                return 0
    work[TUNNELS + tunnel] += 1
    return 0


def inside_gre(data, at, stop):
    """As ``inside``, of GRE (RFC 2784, 2890), also with ERSPAN in it."""
    word = u16be(data, at)
    ethertype = u16be(data, at + 2)
    if word & 0x4FFF:  # routing, or another version: PPTP
        return 0, NETWORK_NONE, at
    inner = at + 4
    if word & 0x8000:  # checksum
        inner = inner + 4
    if word & 0x2000:  # key
        inner = inner + 4
    if word & 0x1000:  # sequence number
        inner = inner + 4
    if ethertype == 0x88BE:  # type I has no header of its own, and no number
        if word & 0x1000:
            inner = inner + 8
        kind, inner = inside_ethernet(data, inner, stop)
        return TUNNEL_ERSPAN, kind, inner
    if ethertype == 0x22EB:
        if stop - inner < 12:
            return 0, NETWORK_NONE, at
        word = u16be(data, inner + 10)
        inner = inner + 12
        if word & 1:  # a part for the platform
            inner = inner + 8
        if word >> 10 & 31 == 2:  # IP without Ethernet
            return TUNNEL_ERSPAN, by_version(data, inner, stop), inner
        kind, inner = inside_ethernet(data, inner, stop)
        return TUNNEL_ERSPAN, kind, inner
    kind, inner = behind_type(data, ethertype, inner, stop)
    return TUNNEL_GRE, kind, inner


def inside_ethernet(data, at, stop):
    """(NETWORK_*, offset) behind an Ethernet header."""
    if stop - at < 14:
        return NETWORK_NONE, at
    return behind_ethertype(data, u16be(data, at + 12), at + 14, stop)


def behind_type(data, ethertype, at, stop):
    """(NETWORK_*, offset) behind an ethertype, which may be that of Ethernet."""
    if ethertype == 0x6558:
        return inside_ethernet(data, at, stop)
    if ethertype < 1536:
        return NETWORK_NONE, at
    return behind_ethertype(data, ethertype, at, stop)


def by_version(data, at, stop):
    """NETWORK_* by the first four bits."""
    if stop > at:
        version = u8(data, at) >> 4
        if version == 4 or version == 6:
            return version
    return NETWORK_NONE


def intern_host(data, wide_at, version, last, work):
    """The number of an address, new if need be; -1: the table is full.

    ``last`` is its last 32-bit word; the three before it are at ``wide_at`` (IPv6).
    """
    w0 = 0
    w1 = 0
    w2 = 0
    if version == NETWORK_IPV6:
        w0 = u32be(data, wide_at)
        w1 = u32be(data, wide_at + 4)
        w2 = u32be(data, wide_at + 8)
    h = mix(version + w0 * 3 + w1 * 5 + w2 * 7, last)
    for probe in range(PROBES):
        place = HOST_SLOTS + ((h + probe) & (SLOTS - 1))
        number = work[place] - 1
        if number < 0:
            if work[HOST_COUNT] >= HOSTS:
                return -1
            number = work[HOST_COUNT]
            at = HOST_ROWS + number * HOST_WORDS
            work[at] = version
            work[at + 1] = w0
            work[at + 2] = w1
            work[at + 3] = w2
            work[at + 4] = last
            work[place] = number + 1
            work[HOST_COUNT] = number + 1
            return number
        at = HOST_ROWS + number * HOST_WORDS
        if (
            work[at + 4] == last
            and work[at] == version
            and work[at + 3] == w2
            and work[at + 2] == w1
            and work[at + 1] == w0
        ):
            return number
    return -1


def intern_flow(key, work):
    """The number of a (destination, protocol, port), new if need be; -1: the table is full."""
    h = mix(key >> 24, key & 0xFFFFFF)
    for probe in range(PROBES):
        place = FLOW_SLOTS + ((h + probe) & (SLOTS - 1))
        number = work[place] - 1
        if number < 0:
            if work[FLOW_COUNT] >= HOSTS:
                return -1
            number = work[FLOW_COUNT]
            work[FLOW_ROWS + number * FLOW_WORDS] = key
            work[place] = number + 1
            work[FLOW_COUNT] = number + 1
            return number
        if work[FLOW_ROWS + number * FLOW_WORDS] == key:
            return number
    return -1


def digest(data, start, stop):
    """Tells payloads apart by all their bytes, below 2^62.

    Here the bytes as one number, modulo a prime. Where this file is compiled
    ``decoders.kernels.numba_reads`` has another number, so no two datagrams are compared by one of
    each.
    """
    return int.from_bytes(data[start:stop], "little") % PRIME


def pair_of(source, destination, key):
    """The place of a pair of IPv4 ends."""
    h = (source * 0x9E3779 ^ destination * 0xC2B2AD) + key * 0x85EBCB
    return PAIR_ROWS + ((h >> 11 ^ h >> 27) & (PAIRS - 1)) * PAIR_WORDS


def touch(a, o):
    """Have the memory bring ``a[o]``: it is needed soon."""
    return 0


def move_window(offset, latest, tail, work):
    """The new RING_TAIL: what lies before the window of a record at ``offset`` is passed over."""
    if tail <= latest - RING + RING_STEP:  # so many are overwritten until the next look
        tail = latest - RING + RING_STEP + 1
    while tail + 64 <= latest:
        e = RING_ROWS + (tail + 63 & (RING - 1)) * ENTRY_WORDS
        if offset - work[e + E_OFFSET] <= WINDOW_BYTES:
            break
        tail = tail + 64
    return tail


def enter(number, row, offset, at_ns, sizes, ports, digest, source, destination, work):
    """Write an entry. It waits for ``look_up``, so that the memory answers for many at once."""
    h = mix(digest, sizes + source + destination + ports)
    touch(work, HEADS + (h & (BUCKETS - 1)))
    e = RING_ROWS + (number & (RING - 1)) * ENTRY_WORDS
    work[e + E_OFFSET] = offset
    work[e + E_TIME] = at_ns
    work[e + E_LINK] = h
    work[e + E_SIZES] = sizes
    work[e + E_PORTS] = ports
    work[e + E_DIGEST] = digest
    work[e + E_SOURCE] = source
    work[e + E_DESTINATION] = destination
    work[WAITING + (number & (WAITING_MOST - 1))] = row
    return 0


def look_up(number, tail, out, room, work):
    """Flag the datagram of a waiting entry if it stands in the window before; put it in its bucket.

    A bucket is a list from the newest entry to older ones, so what is compared depends on the
    window alone and not on where reading began.
    """
    e = RING_ROWS + (number & (RING - 1)) * ENTRY_WORDS
    h = work[e + E_LINK]
    bucket = HEADS + (h & (BUCKETS - 1))
    like = 1 << ((h >> 16 & 0xFFFF) * LIKENESSES >> 16)
    newest = work[bucket] & ENTRY_MASK
    likes = work[bucket] >> ENTRY_BITS
    if newest < tail:  # the window has passed it
        newest = 0
        likes = 0
    work[e + E_LINK] = newest
    work[bucket] = (likes | like) << ENTRY_BITS | number
    if likes & like:
        at = FLAGS * room + work[WAITING + (number & (WAITING_MOST - 1))]
        if work[e + E_PORTS] >> 32 & NO_ID:
            out[at] = out[at] | alike(number, newest, tail, work)
        elif stands_before(number, newest, tail, work) == 1:
            out[at] = out[at] | FLAG_NETWORK_DUPLICATE
    return 0


def stands_before(number, older, tail, work):
    """1 if an entry is like ``older`` or one of those behind it, and these lie in its window."""
    n = RING_ROWS + (number & (RING - 1)) * ENTRY_WORDS
    for _ in range(CHAIN):
        e = RING_ROWS + (older & (RING - 1)) * ENTRY_WORDS
        if older < tail or work[n + E_OFFSET] - work[e + E_OFFSET] > WINDOW_BYTES:
            return 0
        if (
            are_like(number, older, work) == 1
            and -WINDOW_NS <= work[n + E_TIME] - work[e + E_TIME] <= WINDOW_NS
        ):
            return 1
        older = work[e + E_LINK]
    return 0


def alike(number, older, tail, work):
    """Flags of an entry without an IP id: of those like it that were captured before."""
    n = RING_ROWS + (number & (RING - 1)) * ENTRY_WORDS
    near = 0
    far = 0
    for _ in range(CHAIN):
        e = RING_ROWS + (older & (RING - 1)) * ENTRY_WORDS
        distance = work[n + E_OFFSET] - work[e + E_OFFSET]
        if older < tail or distance > WINDOW_BYTES:
            break
        apart = work[n + E_TIME] - work[e + E_TIME]
        if are_like(number, older, work) == 1 and -LIKE_NS <= apart <= LIKE_NS:
            if distance * 2 <= WINDOW_BYTES and -NEAR_NS <= apart <= NEAR_NS:
                near = near + 1
            else:
                far = far + 1
        older = work[e + E_LINK]
    if near == 1 and far == 0:
        return FLAG_ALIKE | ONCE_BEFORE
    if near & 1:
        return FLAG_ALIKE | OFTEN_BEFORE
    if near + far > 0:
        return OFTEN_BEFORE
    return 0


def are_like(one, other, work):
    """1 if all is the same of two entries but where and when they were captured."""
    n = RING_ROWS + (one & (RING - 1)) * ENTRY_WORDS
    e = RING_ROWS + (other & (RING - 1)) * ENTRY_WORDS
    if (
        work[e + E_DIGEST] == work[n + E_DIGEST]
        and work[e + E_SIZES] == work[n + E_SIZES]
        and work[e + E_PORTS] == work[n + E_PORTS]
        and work[e + E_SOURCE] == work[n + E_SOURCE]
        and work[e + E_DESTINATION] == work[n + E_DESTINATION]
        and (
            work[n + E_PORTS] >> 32 & 7 != NETWORK_IPV6
            or same_ends(other & (RING - 1), one & (RING - 1), work) == 1
        )
    ):
        return 1
    return 0


def same_ends(place, other, work):
    """1 if the first three words of both IPv6 addresses are those of the other entry."""
    for word in range(WIDE_WORDS):
        if (
            work[WIDE_ROWS + place * WIDE_WORDS + word]
            != work[WIDE_ROWS + other * WIDE_WORDS + word]
        ):
            return 0
    return 1


def scan(
    data,
    first,
    last,
    frames,
    starts,
    captured,
    original,
    times,
    links,
    offsets,
    statuses,
    l3,
    plain,
    out,
    room,
    work,
):
    """Records [first, last) of a chunk into rows 0 … of ``out``.

    Args:
        data: the chunk.
        frames, starts, captured, original, times, links, offsets, statuses: the chunk's records.
        l3: offset << 3 | NETWORK_* where link_slow has looked; -1 elsewhere.
        plain: 1: no record primes, all have link 1 and status OK.
        out: FIELDS × room, with PREPARED in all rows.
        work: WORK_SIZE, zero at first.

    Returns:
        the record to go on with; less than ``last`` where a table of addresses or flows is full:
        the caller takes fresh ones and calls again. Then how many of the rows are DATAGRAM.
    """
    datagrams = 0
    entered = work[RING_COUNT]
    waiting = 0
    tail = work[RING_TAIL]
    look_at = entered  # the number of entries at which the window is moved
    i = first
    while i < last:
        row = i - first
        start = starts[i]
        stop = start + captured[i]
        if waiting == WAITING_MOST:
            look_up(entered - WAITING_MOST + 1, tail, out, room, work)
            waiting = WAITING_MOST - 1
        if entered >= look_at:
            tail = move_window(offsets[i], entered, tail, work)
            look_at = entered + RING_STEP - WAITING_MOST
        if (
            stop - start >= 42
            and (plain == 1 or (links[i] == 1 and statuses[i] == 0 and l3[i] < 0 and frames[i] > 0))
            and u32be(data, start + 12) & 0xFFFFFF00 == 0x08004500
            and u32be(data, start + 20) & 0x3FFF00FF == 17
        ):
            # Nearly always: Ethernet, IPv4 without options, a whole UDP datagram whose ends are
            # known. What follows says the same of it, at three times the cost; with one end for
            # both ways, which enters and writes, this one takes a tenth longer (measured).
            total = u16be(data, start + 16)
            length = u16be(data, start + 38)
            s3 = u32be(data, start + 26)
            d3 = u32be(data, start + 30)
            ports = u32be(data, start + 34)
            key = NETWORK_IPV4 << 32 | 17 << 16 | ports & 0xFFFF
            p = pair_of(s3, d3, key)
            if (
                total <= stop - start - 14
                and 8 <= length <= total - 20
                and work[p] == key
                and work[p + 1] == s3
                and work[p + 2] == d3
                and ports >> 16 != TEREDO_PORT
            ):
                transport = start + 42
                claimed = length - 8
                end = transport + claimed
                flags = 0
                if d3 >> 28 == 14 or d3 == 0xFFFFFFFF:
                    flags = FLAG_MULTICAST
                f = FLOW_ROWS + work[p + 5] * FLOW_WORDS
                work[f + 1] += 1
                work[f + 2] += original[i]
                ip_id = u16be(data, start + 18)
                version = NETWORK_IPV4
                if ip_id == 0 and u8(data, start + 20) & 0x40:
                    ip_id = -1
                    version = NETWORK_IPV4 | NO_ID
                if 0 <= times[i] <= LATEST_NS:
                    entered = entered + 1
                    waiting = waiting + 1
                    enter(
                        entered,
                        row,
                        offsets[i],
                        times[i],
                        claimed << 16 | u16be(data, start + 40),
                        version << 32 | ports,
                        digest(data, transport, end),
                        s3 << 16 | (ip_id & 0xFFFF),
                        d3 << 16 | (ip_id >> 16 & 0xFFFF),
                        work,
                    )
                out[SOURCE * room + row] = work[p + 3]
                out[DESTINATION * room + row] = work[p + 4]
                out[SOURCE_PORT * room + row] = ports >> 16
                out[DESTINATION_PORT * room + row] = ports & 0xFFFF
                out[START * room + row] = transport
                out[STOP * room + row] = end
                out[LENGTH * room + row] = claimed
                out[IP_ID * room + row] = ip_id
                out[FLAGS * room + row] = flags
                out[TTL * room + row] = u8(data, start + 22)
                out[FLOW * room + row] = work[p + 5]
                datagrams = datagrams + 1
                i = i + 1
                continue
        wire_stop = start + original[i]
        if wire_stop < stop:
            wire_stop = stop
        kind = NETWORK_NONE
        at = start
        packet_type = -1
        if statuses[i] == RECORD_WITHOUT_INTERFACE:
            kind = NETWORK_NO_INTERFACE
        elif statuses[i] == RECORD_WITHOUT_PACKET:
            kind = NETWORK_NO_PACKET
        elif l3[i] >= 0:
            kind = l3[i] & 7
            at = l3[i] >> 3
        else:
            kind, at, packet_type = network(data, links[i], start, stop)
        if kind == NETWORK_BY_VERSION:
            kind = NETWORK_SHORT
            if stop > at:
                kind = NETWORK_IPV6 if u8(data, at) >> 4 == 6 else NETWORK_IPV4
        state = NOT_IP
        protocol = -1
        transport = at
        end = at
        ip_id = -1
        ttl = 0
        fragment = -1
        tunnel = 0
        number = -1
        if kind == NETWORK_IPV4:
            state, protocol, transport, end, ip_id, ttl, fragment = ipv4(data, at, stop, wire_stop)
        elif kind == NETWORK_IPV6:
            state, protocol, transport, end, ip_id, ttl, fragment = ipv6(data, at, stop, wire_stop)
        if state == NOT_UDP and may_carry(protocol) == 1:
            # Addresses, ports and times to live are those of the packet that a tunnel carries. What
            # is no sound packet, as far as its headers go, is left in its tunnel.
            for _ in range(MAX_TUNNELS):
                limit = end if end < stop else stop
                found, inner_kind, inner = inside(data, protocol, transport, limit, end)
                if found == 0:
                    break
                if inner_kind == NETWORK_IPV4:
                    told = ipv4(data, inner, limit, end)
                elif inner_kind == NETWORK_IPV6:
                    told = ipv6(data, inner, limit, end)
                else:
                    break
                if told[0] != NOT_UDP and told[0] != FRAGMENT_STATE:
                    break
                number = network_number(data, found, transport)
                kind = inner_kind
                at = inner
                stop = limit
                state, protocol, transport, end, ip_id, ttl, fragment = told
                tunnel = found
                if state != NOT_UDP:
                    break
        if kind == NETWORK_SHORT:
            state = TRUNCATED_LINK if wire_stop > stop else MALFORMED_LINK
        elif kind == NETWORK_UNKNOWN:
            state = UNKNOWN_LINK
        elif kind == NETWORK_ENCRYPTED:
            state = UNDECRYPTED
        elif kind == NETWORK_NO_INTERFACE:
            state = NO_INTERFACE
        elif kind == NETWORK_NO_PACKET:
            state = NO_PACKET
        source_port = 0
        destination_port = 0
        checksum = 0
        if state == FRAGMENT_STATE:
            # UDP may stand behind an extension header, and a tunnel's packets are whole once theirs
            # is; other protocols' fragments are nobody's. PGM comes without UDP (RFC 3208).
            ours = protocol == 113 or may_carry(protocol) == 1
            if not ours and (kind == NETWORK_IPV4 or is_extension(protocol) == 0):
                state = NOT_UDP
        elif state == NOT_UDP and protocol == 113:
            state = DATAGRAM  # without ports
        elif state == NOT_UDP and protocol == 17:
            if end - transport < 8:
                state = MALFORMED_UDP
            elif stop - transport < 8:
                state = TRUNCATED_TRANSPORT
            else:
                length = u16be(data, transport + 4)
                if length == 0 and end - transport > 65535:  # RFC 2675
                    length = end - transport
                if length < 8 or length > end - transport:
                    state = MALFORMED_UDP
                else:
                    state = DATAGRAM
                    end = transport + length
                    source_port = u16be(data, transport)
                    destination_port = u16be(data, transport + 2)
                    checksum = u16be(data, transport + 6)
                    transport = transport + 8
        elif (
            state == NOT_UDP
            and has_ports(protocol) == 1
            and stop - transport >= 4
            and end - transport >= 4
        ):
            source_port = u16be(data, transport)
            destination_port = u16be(data, transport + 2)
        claimed = end - transport
        flags = 0
        source = -1
        destination = -1
        flow = -1
        if DATAGRAM <= state <= NOT_UDP:
            if end < stop:  # padding of the link layer
                stop = end
            elif end > stop:
                flags = FLAG_CUT
            if transport > stop:  # nothing of what the IP header carries was captured
                transport = stop
            source_at = at + 12
            destination_at = at + 16
            if kind == NETWORK_IPV6:
                source_at = at + 20
                destination_at = at + 36
            s3 = u32be(data, source_at)
            d3 = u32be(data, destination_at)
            group = d3 >> 28
            if kind == NETWORK_IPV6:
                group = 14 if u8(data, at + 24) == 255 else 0
            if group == 14 or (d3 == 0xFFFFFFFF and kind == NETWORK_IPV4):
                flags = flags | FLAG_MULTICAST
            if frames[i] > 0:
                key = kind << 32 | protocol << 16 | destination_port
                p = pair_of(s3, d3, key)
                if (
                    kind == NETWORK_IPV4
                    and work[p] == key
                    and work[p + 1] == s3
                    and work[p + 2] == d3
                ):
                    source = work[p + 3]
                    destination = work[p + 4]
                    flow = work[p + 5]
                else:
                    source = intern_host(data, at + 8, kind, s3, work)
                    destination = intern_host(data, at + 24, kind, d3, work)
                    if source < 0 or destination < 0:
                        break
                    flow = intern_flow(destination << 32 | protocol << 16 | destination_port, work)
                    if flow < 0:
                        break
                    # what a tunnel's port has carried once says nothing of the next datagram
                    if kind == NETWORK_IPV4 and (
                        protocol != 17 or is_tunnel_port(destination_port) == 0
                    ):
                        work[p] = key
                        work[p + 1] = s3
                        work[p + 2] = d3
                        work[p + 3] = source
                        work[p + 4] = destination
                        work[p + 5] = flow
                if state == FRAGMENT_STATE:
                    flow = -1
                else:
                    work[FLOW_ROWS + flow * FLOW_WORDS + 1] += 1
                    work[FLOW_ROWS + flow * FLOW_WORDS + 2] += original[i]
            if state == DATAGRAM and times[i] >= 0 and times[i] <= LATEST_NS:
                version = kind if ip_id >= 0 else kind | NO_ID
                entered = entered + 1
                waiting = waiting + 1
                enter(
                    entered,
                    row,
                    offsets[i],
                    times[i],
                    (claimed & 0x7FFFFFFF) << 16 | checksum,
                    version << 32 | source_port << 16 | destination_port,
                    # of two that end in zeros one may be cut earlier
                    digest(data, transport, stop) + (claimed - stop + transport) * 0x165667,
                    s3 << 16 | (ip_id & 0xFFFF),
                    d3 << 16 | (ip_id >> 16 & 0xFFFF),
                    work,
                )
                if kind == NETWORK_IPV6:
                    w = WIDE_ROWS + (entered & (RING - 1)) * WIDE_WORDS
                    for word in range(3):
                        work[w + word] = u32be(data, at + 8 + word * 4)
                        work[w + 3 + word] = u32be(data, at + 24 + word * 4)
        if frames[i] > 0 and tunnel:
            count_tunnel(tunnel, number, work)
        if frames[i] <= 0:
            state = PRIMING
        elif state == DATAGRAM:
            datagrams = datagrams + 1
        if state != DATAGRAM or protocol != 17 or fragment >= 0 or packet_type >= 0:
            work[ODD_ROWS] = 1
            out[STATE * room + row] = state
            out[PROTOCOL * room + row] = protocol
            out[FRAGMENT * room + row] = fragment
            out[PACKET_TYPE * room + row] = packet_type
        out[SOURCE * room + row] = source
        out[DESTINATION * room + row] = destination
        out[SOURCE_PORT * room + row] = source_port
        out[DESTINATION_PORT * room + row] = destination_port
        out[START * room + row] = transport
        out[STOP * room + row] = stop
        out[LENGTH * room + row] = claimed
        out[IP_ID * room + row] = ip_id
        out[FLAGS * room + row] = flags
        out[TTL * room + row] = ttl
        out[FLOW * room + row] = flow
        i = i + 1
    while waiting > 0:
        look_up(entered - waiting + 1, tail, out, room, work)
        waiting = waiting - 1
    work[RING_COUNT] = entered
    work[RING_TAIL] = tail
    return i, datagrams


def tally(count, rows, outcomes, barriers, claimant, claimed, original, out, room, counts):
    """Count ``count`` datagrams by outcome, and those that were claimed by system, flow and ends.

    Args:
        rows: of ``out`` and ``original``, per datagram.
        barriers: 1 where there is no datagram.
        claimant: the number of the system that has claimed all, -1: none has; EACH: ``claimed``
            says it for each.
        counts: added to.
    """
    system = claimant
    for i in range(count):
        if barriers[i] != 0:
            continue
        counts[OUTCOMES + outcomes[i]] += 1
        if claimant == EACH:
            system = claimed[i]
        if system >= 0:
            row = rows[i]
            place = CLAIMS + (system * HOSTS + out[FLOW * room + row]) * 2
            counts[place] += 1
            counts[place + 1] += original[row]
            if out[FLAGS * room + row] & FLAG_MULTICAST == 0:
                source = out[SOURCE * room + row] + 1
                destination = out[DESTINATION * room + row] + 1
                if counts[UNICASTS] == 0:
                    counts[BOTH] = source
                    counts[BOTH + 1] = destination
                for place in range(BOTH, BOTH + 2):
                    if counts[place] != source and counts[place] != destination:
                        counts[place] = 0
                counts[UNICASTS] += 1
                ttl = out[TTL * room + row] + 1
                place = TTLS + (source - 1) * 2
                if counts[place] == 0 or ttl < counts[place]:
                    counts[place] = ttl
                if ttl > counts[place + 1]:
                    counts[place + 1] = ttl
    return (0,)
