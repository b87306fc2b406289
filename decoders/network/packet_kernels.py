"""Link layer, IP and UDP of every record, in the restricted style of decoders/README.md 4
(pipeline/README.md 2, decoders/README.md 4).

Two entry points. ``scan``: per record it finds the IP header behind the link layer, walks the IP
header and its extensions, checks UDP, interns both addresses and the destination port, and looks
for the same datagram captured shortly before. What a tunnel carries is read in its place, to a
bounded depth (``inside``). Everything is written into ``out``, field by field:
``out[FIELD * room + row]``. ``tally``: counts what became of the datagrams, when the decoders have
seen them.
"""

# ruff: noqa: F403, F405  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.network.duplicate_kernels import *
from seqaudit.decoders.network.layer_kernels import *
from seqaudit.decoders.network.packet_words import *

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("scan", "tally")

#: Helpers that are compiled into their callers: a call passes every word of ``data`` and ``work``.
INLINED = (
    "pair_of", "enter", "look_up", "usual", "packet", "behind_link", "innermost", "unread",
    "transported", "ends_of",
)  # fmt: skip


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


def pair_of(source, destination, key):
    """The place of a pair of IPv4 ends."""
    h = (source * 0x9E3779 ^ destination * 0xC2B2AD) + key * 0x85EBCB
    return PAIR_ROWS + ((h >> 11 ^ h >> 27) & (PAIRS - 1)) * PAIR_WORDS


def behind_link(data, link, status, looked, start, stop):
    """What stands behind the link layer: (NETWORK_*, its offset, SLL packet type or -1)."""
    if status == RECORD_WITHOUT_INTERFACE:
        return NETWORK_NO_INTERFACE, start, -1
    if status == RECORD_WITHOUT_PACKET:
        return NETWORK_NO_PACKET, start, -1
    kind = looked & 7
    at = looked >> 3
    packet_type = -1
    if looked < 0:
        kind, at, packet_type = network(data, link, start, stop)
    if kind == NETWORK_BY_VERSION:
        kind = NETWORK_SHORT
        if stop > at:
            kind = NETWORK_IPV6 if u8(data, at) >> 4 == 6 else NETWORK_IPV4
    return kind, at, packet_type


def innermost(data, key, kind, at, stop, wire_stop, work):
    """The packet in all tunnels: (NETWORK_*, its offset, where its captured bytes end, the seven of
    ``ipv4``, the tunnel that it is in, that tunnel's network, ``network_key``, of the link's).

    Addresses, ports and times to live are those of the packet that a tunnel carries. What is no
    sound packet, as far as its headers go, is left in its tunnel, and so is what comes in a
    protocol that carries a feed.
    """
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
        for _ in range(MAX_TUNNELS):
            if carries_feed(protocol, work) == 1:
                break
            limit = end if end < stop else stop
            found, inner_kind, inner = inside(data, protocol, transport, limit, end)
            if found == 0:
                break
            inner_number = network_number(data, found, transport)
            key = network_key(data, key, found, inner_number, transport, inner)
            if inner_kind == NETWORK_IPV4:
                told = ipv4(data, inner, limit, end)
            elif inner_kind == NETWORK_IPV6:
                told = ipv6(data, inner, limit, end)
            else:
                break
            if told[0] != NOT_UDP and told[0] != FRAGMENT_STATE:
                break
            number = inner_number
            kind = inner_kind
            at = inner
            stop = limit
            state, protocol, transport, end, ip_id, ttl, fragment = told
            tunnel = found
            if state != NOT_UDP:
                break
    return (
        kind, at, stop, state, protocol, transport, end, ip_id, ttl, fragment, tunnel, number, key
    )  # fmt: skip


def unread(kind, state, cut):
    """The state of a record whose link layer says why there is no packet in it; ``cut``: 1 if its
    captured bytes are not all."""
    if kind == NETWORK_SHORT:
        return TRUNCATED_LINK if cut == 1 else MALFORMED_LINK
    if kind == NETWORK_UNKNOWN:
        return UNKNOWN_LINK
    if kind == NETWORK_ENCRYPTED:
        return UNDECRYPTED
    if kind == NETWORK_NO_INTERFACE:
        return NO_INTERFACE
    if kind == NETWORK_NO_PACKET:
        return NO_PACKET
    return state


def transported(data, kind, state, protocol, transport, stop, end):
    """What the transport header says: (state, source port, destination port, checksum, where the
    payload begins, where it ends)."""
    if state == FRAGMENT_STATE:
        # UDP may stand behind an extension header, and a tunnel's packets are whole once theirs is;
        # other protocols' fragments than TCP's are nobody's. PGM comes without UDP (RFC 3208).
        ours = protocol == 6 or protocol == 113 or may_carry(protocol) == 1
        if not ours and (kind == NETWORK_IPV4 or is_extension(protocol) == 0):
            state = NOT_UDP
        return state, 0, 0, 0, transport, end
    if state == NOT_UDP and protocol == 113:
        return DATAGRAM, 0, 0, 0, transport, end  # without ports
    if state == NOT_UDP and protocol == 17:
        if end - transport < 8:
            return MALFORMED_UDP, 0, 0, 0, transport, end
        if stop - transport < 8:
            return TRUNCATED_TRANSPORT, 0, 0, 0, transport, end
        length = u16be(data, transport + 4)
        if length == 0 and end - transport > 65535:  # RFC 2675
            length = end - transport
        if length < 8 or length > end - transport:
            return MALFORMED_UDP, 0, 0, 0, transport, end
        return (
            DATAGRAM,
            u16be(data, transport),
            u16be(data, transport + 2),
            u16be(data, transport + 6),
            transport + 8,
            transport + length,
        )
    if (
        state == NOT_UDP
        and has_ports(protocol) == 1
        and stop - transport >= 4
        and end - transport >= 4
    ):
        return state, u16be(data, transport), u16be(data, transport + 2), 0, transport, end
    return state, 0, 0, 0, transport, end


def ends_of(data, kind, at, protocol, destination_port, s3, d3, work):
    """Numbers of both addresses and of the flow; the flow's is -1 where a table is full."""
    key = kind << 32 | protocol << 16 | destination_port
    p = pair_of(s3, d3, key)
    if kind == NETWORK_IPV4 and work[p] == key and work[p + 1] == s3 and work[p + 2] == d3:
        return work[p + 3], work[p + 4], work[p + 5]
    source = intern_host(data, at + 8, kind, s3, work)
    destination = intern_host(data, at + 24, kind, d3, work)
    if source < 0 or destination < 0:
        return source, destination, -1
    flow = intern_flow(destination << 32 | protocol << 16 | destination_port, work)
    # what a tunnel's port has carried once says nothing of the next datagram
    if (
        flow >= 0
        and kind == NETWORK_IPV4
        and (protocol != 17 or is_tunnel_port(destination_port) == 0)
    ):
        work[p] = key
        work[p + 1] = s3
        work[p + 2] = d3
        work[p + 3] = source
        work[p + 4] = destination
        work[p + 5] = flow
    return source, destination, flow


def usual(data, start, stop, size, offset, at_ns, row, entered, out, room, work):
    """Nearly always: Ethernet, IPv4 without options, a whole UDP datagram whose ends are known.

    ``packet`` says the same of it, at three times the cost; with one end for both ways, which
    enters and writes, this one takes a tenth longer (measured).

    Returns:
        as ``packet``; NOTHING: it is no such, or its ends are not known.
    """
    total = u16be(data, start + 16)
    length = u16be(data, start + 38)
    s3 = u32be(data, start + 26)
    d3 = u32be(data, start + 30)
    ports = u32be(data, start + 34)
    key = NETWORK_IPV4 << 32 | 17 << 16 | ports & 0xFFFF
    p = pair_of(s3, d3, key)
    if (
        total > stop - start - 14
        or length < 8
        or length > total - 20
        or work[p] != key
        or work[p + 1] != s3
        or work[p + 2] != d3
        or ports >> 16 == TEREDO_PORT
    ):
        return NOTHING
    done = IS_DATAGRAM
    transport = start + 42
    claimed = length - 8
    end = transport + claimed
    flags = 0
    if d3 >> 28 == 14 or d3 == 0xFFFFFFFF:
        flags = FLAG_MULTICAST
    f = FLOW_ROWS + work[p + 5] * FLOW_WORDS
    work[f + 1] += 1
    work[f + 2] += size
    ip_id = u16be(data, start + 18)
    version = NETWORK_IPV4
    if ip_id == 0 and u8(data, start + 20) & 0x40:
        ip_id = -1
        version = NETWORK_IPV4 | NO_ID
    if 0 <= at_ns <= LATEST_NS:
        done = IS_DATAGRAM | IS_ENTERED
        enter(
            entered + 1,
            row,
            offset,
            at_ns,
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
    return done


def packet(
    data, start, stop, wire_stop, link, status, looked, frame, offset, at_ns, row, entered, out,
    room, work,
):  # fmt: skip
    """Any record into its row.

    Returns:
        IS_DATAGRAM, IS_ENTERED in the ring or both; -1: a table of addresses or flows is full.
    """
    size = wire_stop - start
    if wire_stop < stop:
        wire_stop = stop
    kind, at, packet_type = behind_link(data, link, status, looked, start, stop)
    key = vlans_of_link(data, link, start, stop)
    (
        kind, at, stop, state, protocol, transport, end, ip_id, ttl, fragment, tunnel, number, key
    ) = innermost(data, key, kind, at, stop, wire_stop, work)  # fmt: skip
    state = unread(kind, state, 1 if wire_stop > stop else 0)
    state, source_port, destination_port, checksum, transport, end = transported(
        data, kind, state, protocol, transport, stop, end
    )
    done = 0
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
        if frame > 0:
            source, destination, flow = ends_of(
                data, kind, at, protocol, destination_port, s3, d3, work
            )
            if flow < 0:
                return -1
            if state == FRAGMENT_STATE:
                flow = -1
            else:
                work[FLOW_ROWS + flow * FLOW_WORDS + 1] += 1
                work[FLOW_ROWS + flow * FLOW_WORDS + 2] += size
        enters = 0
        if state == DATAGRAM:
            enters = 1
        elif state == NOT_UDP and fragment <= 1 and carries_feed(protocol, work) == 1:
            enters = 1
            checksum = protocol  # so its packets are none of another's
        if enters == 1 and at_ns >= 0 and at_ns <= LATEST_NS:
            version = kind if ip_id >= 0 else kind | NO_ID
            done = IS_ENTERED
            enter(
                entered + 1,
                row,
                offset,
                at_ns,
                (claimed & 0x7FFFFFFF) << 16 | checksum,
                version << 32 | source_port << 16 | destination_port,
                cut_digest(data, transport, stop, claimed),
                s3 << 16 | (ip_id & 0xFFFF),
                d3 << 16 | (ip_id >> 16 & 0xFFFF),
                work,
            )
            if kind == NETWORK_IPV6:
                w = WIDE_ROWS + (entered + 1 & (RING - 1)) * WIDE_WORDS
                for word in range(3):
                    work[w + word] = u32be(data, at + 8 + word * 4)
                    work[w + 3 + word] = u32be(data, at + 24 + word * 4)
    elif kind == NETWORK_NONE and link == 1 and at_ns >= 0 and at_ns <= LATEST_NS:
        done = enter_frame(data, start, at, stop, wire_stop, offset, at_ns, row, entered, work)
    if frame > 0 and tunnel:
        count_tunnel(tunnel, number, work)
    if frame <= 0:
        state = PRIMING
    elif state == DATAGRAM:
        done = done | IS_DATAGRAM
    if state != DATAGRAM or protocol != 17 or fragment >= 0 or packet_type >= 0 or key or tunnel:
        work[ODD_ROWS] = 1
        if key:
            work[NETWORKED] = 1
        if tunnel:
            work[TUNNELLED] = 1
        out[NETWORK * room + row] = key
        out[TUNNEL * room + row] = number + 1 << 8 | tunnel
        out[STATE * room + row] = state
        out[PROTOCOL * room + row] = protocol
        out[FRAGMENT * room + row] = fragment
        out[PACKET_TYPE * room + row] = packet_type
        if protocol == 6 and state == NOT_UDP and stop - transport >= TCP_BYTES:
            out[SEQUENCE * room + row] = u32be(data, transport + 4)
            out[ACKNOWLEDGED * room + row] = u32be(data, transport + 8)
            out[TCP_BITS * room + row] = u16be(data, transport + 12)
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
    return done


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
        done = NOTHING
        if (
            stop - start >= 42
            and (plain == 1 or (links[i] == 1 and statuses[i] == 0 and l3[i] < 0 and frames[i] > 0))
            and u32be(data, start + 12) & 0xFFFFFF00 == 0x08004500
            and u32be(data, start + 20) & 0x3FFF00FF == 17
        ):
            done = usual(
                data, start, stop, original[i], offsets[i], times[i], row, entered, out, room, work
            )
        if done == NOTHING:
            done = packet(
                data, start, stop, start + original[i], links[i], statuses[i], l3[i], frames[i],
                offsets[i], times[i], row, entered, out, room, work,
            )  # fmt: skip
            if done < 0:
                break
        if done & IS_ENTERED:
            entered = entered + 1
            waiting = waiting + 1
        if done & IS_DATAGRAM:
            datagrams = datagrams + 1
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
                ttl = out[TTL * room + row] + 1
                place = TTLS + (source - 1) * 3
                if source == destination:
                    counts[place + 2] += 1
                else:
                    if counts[UNICASTS] == 0:
                        counts[BOTH] = source
                        counts[BOTH + 1] = destination
                    for end in range(BOTH, BOTH + 2):
                        if counts[end] != source and counts[end] != destination:
                            counts[end] = 0
                    counts[UNICASTS] += 1
                if counts[place] == 0 or ttl < counts[place]:
                    counts[place] = ttl
                if ttl > counts[place + 1]:
                    counts[place + 1] = ttl
    return (0,)
