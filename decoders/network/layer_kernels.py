"""Link layers, IP and tunnels in front of a datagram (restricted style: decoders/README.md 4)."""

# ruff: noqa: F403, F405, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.network.packet_words import *


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


def carries_feed(number, work):
    """1 if an IP protocol, or an Ethernet type, has a feed in it without UDP."""
    return work[CARRIERS + number // CARRIER_BITS] >> number % CARRIER_BITS & 1


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


def vlans(data, ethertype, at, stop):
    """The numbers of the last two VLANs whose tags begin at ``at``, behind an ethertype; 0: of
    none."""
    found = 0
    for _ in range(MAX_TAGS):
        if ethertype != 0x8100 and ethertype != 0x88A8 and ethertype != 0x9100:
            break
        if stop - at < 4:
            break
        number = u16be(data, at) & 0xFFF
        if number:  # 0: a priority and no VLAN
            found = (found << VLAN_BITS | number) & KEY_VLANS
        ethertype = u16be(data, at + 2)
        at = at + 4
    return found


def vlans_of_link(data, link, start, stop):
    """``vlans`` of a record."""
    if link == 1 and stop - start >= 14:
        return vlans(data, u16be(data, start + 12), start + 14, stop)
    if link == 113 and stop - start >= 16:
        return vlans(data, u16be(data, start + 14), start + 16, stop)
    if link == 276 and stop - start >= 20:
        return vlans(data, u16be(data, start), start + 20, stop)
    return 0


def ethernet_inside(data, tunnel, at, inner):
    """Where the Ethernet header in a tunnel begins; -1: it carries none.

    Args:
        at: where the header of UDP or GRE begins; 16 bytes are there.
        inner: where the packet begins that it carries.
    """
    found = -1
    if tunnel == TUNNEL_VXLAN:
        found = at + 16
        if u8(data, at + 8) & 4 and u8(data, at + 11) != 3:
            found = -1
    elif tunnel == TUNNEL_GENEVE:
        if u16be(data, at + 10) == 0x6558:
            found = at + 16 + (u8(data, at + 8) & 63) * 4
    elif tunnel == TUNNEL_GRE or tunnel == TUNNEL_ERSPAN:
        ethertype = u16be(data, at + 2)
        found = at + 4
        flags = u8(data, at)
        found = found + (flags >> 7) * 4 + (flags >> 5 & 1) * 4 + (flags >> 4 & 1) * 4
        if ethertype == 0x88BE:
            found = found + (flags >> 4 & 1) * 8
        elif ethertype == 0x22EB:
            found = found + 12
            if found <= inner and u8(data, found - 1) & 1:
                found = found + 8
        elif ethertype != 0x6558:
            found = -1
    if found + 14 > inner:
        return -1
    return found


def network_key(data, key, tunnel, number, at, inner):
    """The network of what a tunnel carries, which is of the network ``key`` itself.

    A tunnel that says its network's number hides what its own packets are of. The number of a
    mirror (ERSPAN) is that of a place of capture, and so is all outside of it.
    """
    tags = 0
    place = ethernet_inside(data, tunnel, at, inner)
    if place >= 0:
        tags = vlans(data, u16be(data, place + 12), place + 14, inner)
    if tunnel == TUNNEL_ERSPAN:
        return tags
    if number >= 0:
        return number << KEY_NUMBER | tunnel << KEY_KIND | tags
    if tags:
        return key >> KEY_KIND << KEY_KIND | tags
    return key


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
