"""Kernels that walk the records of a capture: pcap, pcapng, and the search for a believable chain.

Restricted style (decoders/README.md 4): the same source runs interpreted and compiled. Formats:
pcap and pcapng as in draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. The walks trust a proven
boundary: they refuse a record for its length, never for its time. Only ``chain_at``, which guesses
where records begin, looks at times (decoders/README.md 2: 16 records, each within a day of the one
before).

``setup`` holds what is fixed for a walk, ``table`` TABLE_ROW values an interface (made by
``seqaudit.decoders.capture.pcapng``), ``state`` what a pcapng walk carries on; the S_, T_ and X_
names are their places.
"""

# ruff: noqa: F403, F405  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.capture.record_words import *
from seqaudit.decoders.capture.time_kernels import *
from seqaudit.decoders.kernels.reads import *

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("walk_pcap", "walk_pcapng", "find_chain")

#: Helpers that are compiled into their callers.
INLINED = ("block_at", "clocked", "read_options", "untimed")


def walk_pcap(
    data,
    setup,
    position,
    length,
    at_end,
    stop,
    base,
    frame,
    step,
    room,
    frames,
    starts,
    captured,
    originals,
    times,
    offsets,
):
    """Write the records that start at ``position`` and after it; all offsets are in the window.

    Link, interface and status are the same for all records of a pcap.

    Args:
        length, at_end: bytes in the window; 1 if the file ends there.
        stop: where the piece ends; base: file offset of the window.
        frame, step: number of the first record and what each next one adds (0 when priming).
        room: size of the output arrays.

    Returns:
        count, position after the last record written, why it returned.
    """
    big = setup[S_BIG]
    header = setup[S_HEADER]
    per_second = setup[S_PER_SECOND]
    to_ns = setup[S_TO_NS]
    limit = setup[S_LIMIT]
    snap = setup[S_SNAP]
    count = 0
    while True:
        if position >= stop:
            return count, position, STOP
        if count >= room:
            return count, position, FULL
        if position + header > length:
            if at_end == 0:
                return count, position, NEED
            if position == length:
                return count, position, END
            return count, position, CUT
        second = u32(data, position, big)
        fraction = u32(data, position + 4, big)
        here = u32(data, position + 8, big)
        original = u32(data, position + 12, big)
        if here > limit:
            return count, position, DAMAGE
        doubt = 0
        if fraction >= per_second or here > original or here > snap or here > USUAL_LIMIT:
            doubt = 1
        if original == 0 and second == 0 and fraction == 0:
            doubt = 1  # zeros: a hole in the file rather than an empty packet of 1970
        after = position + header + here
        if after > length:
            if at_end == 0:
                return count, position, NEED
            if doubt == 1:
                return count, position, DOUBTFUL_CUT
            return count, position, CUT
        if doubt == 1:
            hole = 1 if here + original + second + fraction == 0 else 0
            odd_fraction = 1 if fraction >= per_second else 0
            followed = is_followed(data, setup, after, length, at_end, hole, odd_fraction)
            if followed == 2:
                return count, position, NEED
            if followed == 0:
                return count, position, DAMAGE
        frames[count] = frame
        starts[count] = position + header
        captured[count] = here
        originals[count] = original
        times[count] = second * 1_000_000_000 + fraction * to_ns
        offsets[count] = base + position
        frame += step
        count += 1
        position = after


def is_followed(data, setup, position, length, at_end, hole, odd_fraction):
    """Whether to believe an odd record that ends here: 1 yes, 0 no, 2 with more of the file.

    Believed if FOLLOWERS records can start behind it, as far as lengths and fractions tell, or
    fewer to the end of the file; a header of zeros (``hole``) only if there is one at all.
    """
    big = setup[S_BIG]
    header = setup[S_HEADER]
    done = 0
    while done < FOLLOWERS:
        if position + header > length:
            if at_end == 0:
                return 2
            return 1 if done > 0 or hole == 0 else 0
        fraction = u32(data, position + 4, big)
        here = u32(data, position + 8, big)
        original = u32(data, position + 12, big)
        if here > setup[S_LIMIT] or original >= LONGEST_ORIGINAL:
            return 0
        if fraction >= setup[S_PER_SECOND] and odd_fraction == 0:
            return 0
        if here + original + fraction == 0 and u32(data, position, big) == 0:
            return 0
        position += header + here
        done += 1
    return 1


def block_at(data, position, length, at_end, limit, big):
    """(block type, its length, 0); length 0: there is none, or none to walk over, and why."""
    if position + 12 > length:
        if at_end == 0:
            return 0, 0, NEED
        if position == length:
            return 0, 0, END
        return 0, 0, CUT
    kind = u32(data, position, big)
    if kind == 0x0A0D0D0A:
        return 0, 0, CONTROL
    total = u32(data, position + 4, big)
    if total < 12 or total > limit or (total & 3) != 0:
        return 0, 0, DAMAGE
    if position + total > length:
        if at_end == 0:
            return 0, 0, NEED
        if total > USUAL_LIMIT:
            return 0, 0, DOUBTFUL_CUT
        return 0, 0, CUT
    if u32(data, position + total - 4, big) != total:
        return 0, 0, DAMAGE
    return kind, total, 0


def clocked(high, low, interface, known, table):
    """By the clock of an interface: (status, its place in ``table``, time, link); -1 where nothing
    describes it."""
    if interface >= known:
        return UNKNOWN_INTERFACE, 0 - 1, microseconds_to_ns(high, low), 0 - 1
    row = interface * TABLE_ROW
    at_ns = ticks_to_ns(high, low, table, row)
    status = OK
    if at_ns >= MAX_NS:
        status = TIME_OUT_OF_RANGE
    return status, row, at_ns, table[row + T_LINK]


def read_options(data, option, after, kind, drops, big, state):
    """Options of a packet block: its comment into ``state``. Returns the drops that it states."""
    state[X_COMMENT_BYTES] = 0
    while option + 4 <= after - 4:
        code = u16(data, option, big)
        size = u16(data, option + 2, big)
        if code == 0 or option + 4 + size > after - 4:
            return drops
        if code == 1:
            state[X_COMMENTS] = state[X_COMMENTS] + 1
            state[X_COMMENT_AT] = option + 4
            state[X_COMMENT_BYTES] = size
        if code == 4 and kind == 6 and size == 8:  # epb_dropcount
            drops = u64_capped(data, option + 4, big)
        option += 4 + ((size + 3) & 0x1FFFC)
    return drops


def untimed(state):
    """The time of a record without one: that of the record before."""
    if state[X_TIMED] == 0:
        state[X_BORROWED] = 1
    state[X_UNTIMED] = state[X_UNTIMED] + 1
    state[X_COMMENT_BYTES] = 0
    return state[X_LAST_NS]


def walk_pcapng(
    data,
    setup,
    table,
    state,
    position,
    length,
    at_end,
    stop,
    base,
    frame,
    step,
    room,
    frames,
    starts,
    captured,
    originals,
    times,
    links,
    interfaces,
    offsets,
    statuses,
):
    """The same for pcapng blocks: enhanced, simple and old packet blocks are records.

    So are the few others that Wireshark numbers, with status NOT_A_PACKET. Blocks that change the
    tables return CONTROL at their position, checked for their lengths except a section header,
    whose byte order is its own; all other blocks are passed over.
    """
    big = setup[S_BIG]
    limit = setup[S_LIMIT]
    known = setup[S_INTERFACES]
    count = 0
    while True:
        if position >= stop:
            return count, position, STOP
        if count >= room:
            return count, position, FULL
        kind, total, why = block_at(data, position, length, at_end, limit, big)
        if total == 0:
            return count, position, why
        after = position + total
        if kind == 6 or kind == 2:  # enhanced packet block; packet block
            if total < 32:
                return count, position, DAMAGE
            high = u32(data, position + 12, big)
            low = u32(data, position + 16, big)
            here = u32(data, position + 20, big)
            original = u32(data, position + 24, big)
            if here > total - 32:
                return count, position, DAMAGE
            drops = 0
            if kind == 6:
                interface = u32(data, position + 8, big)
            else:
                interface = u16(data, position + 8, big)
                drops = u16(data, position + 10, big)
                if drops == 0xFFFF:  # unknown
                    drops = 0
            status, row, at_ns, link = clocked(high, low, interface, known, table)
            start = position + 28
            drops = read_options(
                data, start + ((here + 3) & 0x7FFFFFFC), after, kind, drops, big, state
            )
            if row >= 0 and drops > 0:
                sum_of_drops = table[row + T_DROPS] + drops
                if sum_of_drops > MAX_NS:
                    sum_of_drops = MAX_NS
                table[row + T_DROPS] = sum_of_drops
            state[X_LAST_NS] = at_ns
            state[X_TIMED] = 1
        elif kind == 3:  # simple packet block: first interface, no time stamp
            if total < 16:
                return count, position, DAMAGE
            original = u32(data, position + 8, big)
            here = total - 16
            if here > original:
                here = original
            interface = 0
            status = OK
            link = 0 - 1
            if known > 0:
                link = table[T_LINK]
                if table[T_SNAP] > 0 and here > table[T_SNAP]:
                    here = table[T_SNAP]
            else:
                status = UNKNOWN_INTERFACE
            start = position + 12
            at_ns = untimed(state)
        elif kind == 1 or kind == 5:
            return count, position, CONTROL
        elif numbered(kind) == 1 and total >= 16:
            start = position + 8
            here = total - 12
            if (kind & 0xFFF) == 0xBAD:  # the enterprise number comes first
                start = position + 12
                here = total - 16
            original = here
            interface = 0
            link = 0 - 1
            status = NOT_A_PACKET
            at_ns = untimed(state)
        else:
            position = after
            continue
        frames[count] = frame
        starts[count] = start
        captured[count] = here
        originals[count] = original
        times[count] = at_ns
        links[count] = link
        interfaces[count] = interface
        offsets[count] = base + position
        statuses[count] = status
        frame += step
        count += 1
        position = after
        if state[X_COMMENT_BYTES] > 0 and state[X_WANT_COMMENTS] > 0:
            return count, position, COMMENT


def numbered(kind):
    """1 for the blocks besides packets to which Wireshark gives a frame number (seen with 4.0)."""
    if kind == 0x0BAD or kind == 0x40000BAD:  # custom
        return 1
    if kind == 9:  # systemd journal export
        return 1
    if kind == 0x204 or kind == 0x216 or kind == 0x221:  # sysdig events
        return 1
    return 0


def passed_over(kind, total):
    """1 for a block that says nothing of packets or interfaces: only its length counts."""
    if kind == 0x0A0D0D0A or kind == 1 or kind == 2 or kind == 3 or kind == 5 or kind == 6:
        return 0
    if numbered(kind) == 1 and total >= 16:
        return 0
    return 1


def find_chain(data, setup, table, candidates, many, length, at_end):
    """The first of ``many`` ascending candidates from which a chain of records goes on.

    Returns:
        its index and 1; or the index of the one that needs more of the file and 2; or many and 0.
    """
    i = 0
    while i < many:
        found = chain_at(data, setup, table, candidates[i], length, at_end)
        if found != 0:
            return i, found
        i += 1
    return many, 0


def chain_at(data, setup, table, position, length, at_end):
    """1: CHAIN believable records follow each other from here, or fewer to the end; 0: no; 2: more.

    A file that ends inside the last record needs CUT_CHAIN complete ones before it.
    """
    order = setup[S_BIG]
    before = 0 - 1
    done = 0
    while done < CHAIN:
        if setup[S_PCAPNG] == 1:
            after, second, order = believable_block(data, setup, table, position, length, order)
        else:
            after, second = believable_record(data, setup, position, length)
        if after == 0 - 2:  # not even its header is in the window
            if at_end == 0:
                return 2
            if position == length and done > 0:
                return 1
            return 1 if done >= CUT_CHAIN else 0
        if after == 0 - 1:
            return 0
        if second >= 0:
            if before >= 0 and (second > before + DAY_S or before > second + DAY_S):
                return 0
            before = second
        if after > length:
            if at_end == 0:
                return 2
            return 1 if done >= CUT_CHAIN else 0
        position = after
        done += 1
    return 1


def step(data, setup, table, position, length):
    """(offset after the believable record or block at ``position``, its second); see below."""
    if setup[S_PCAPNG] == 1:
        after, second, _ = believable_block(data, setup, table, position, length, setup[S_BIG])
        return after, second
    return believable_record(data, setup, position, length)


def believable_record(data, setup, position, length):
    """(offset after the record, its second) of a believable pcap record; -1 none, -2 unreadable."""
    big = setup[S_BIG]
    header = setup[S_HEADER]
    if position + header > length:
        return 0 - 2, 0 - 1
    here = u32(data, position + 8, big)
    if here > GUESS_LIMIT or here > setup[S_LIMIT]:
        return 0 - 1, 0 - 1
    if u32(data, position + 4, big) >= setup[S_PER_SECOND]:
        return 0 - 1, 0 - 1
    original = u32(data, position + 12, big)
    if original >= LONGEST_ORIGINAL or (here > original and setup[S_LOOSE] == 0):
        return 0 - 1, 0 - 1
    second = u32(data, position, big)
    if second == 0 and here == 0 and original == 0:
        return 0 - 1, 0 - 1
    return position + header + here, second


def believable_block(data, setup, table, position, length, order):
    """(offset after the block, its second or -1, order behind it) of a pcapng block.

    order: 1: big-endian; + NO_TABLE: another section has begun, so times cannot be told.
    """
    big = order & 1
    if position + 12 > length:
        return 0 - 2, 0 - 1, order
    kind = u32(data, position, big)
    if kind == 0x0A0D0D0A:
        magic = u32(data, position + 8, 1)
        if magic == 0x1A2B3C4D:
            big = 1
            order = 1 | NO_TABLE
        elif magic == 0x4D3C2B1A:
            big = 0
            order = NO_TABLE
        else:
            return 0 - 1, 0 - 1, order
    elif (kind == 0 or kind > 11) and kind != 0x0BAD and kind != 0x40000BAD:
        return 0 - 1, 0 - 1, order
    total = u32(data, position + 4, big)
    if total < 12 or (total & 3) != 0 or total > GUESS_LIMIT + 4096:
        return 0 - 1, 0 - 1, order
    after = position + total
    second = 0 - 1
    if after <= length and u32(data, after - 4, big) != total:
        return 0 - 1, 0 - 1, order
    if kind == 6 or kind == 2:
        if total < 32:
            return 0 - 1, 0 - 1, order
        if position + 28 > length:
            return after, second, order
        if u32(data, position + 20, big) > total - 32:
            return 0 - 1, 0 - 1, order
        interface = u32(data, position + 8, big)
        if kind == 2:
            interface = u16(data, position + 8, big)
        if interface < setup[S_INTERFACES] and order < NO_TABLE:
            high = u32(data, position + 12, big)
            low = u32(data, position + 16, big)
            at_ns = ticks_to_ns(high, low, table, interface * TABLE_ROW)
            if at_ns >= 0:
                second = at_ns // 1_000_000_000
    elif kind == 3 and total < 16:
        return 0 - 1, 0 - 1, order
    return after, second, order
