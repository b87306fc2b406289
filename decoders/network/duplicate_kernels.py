"""The same datagram captured shortly before: a ring of the datagrams in a window of the file, found
by a hash of their ends and bytes (restricted style: decoders/README.md 4).
"""

# ruff: noqa: F403, F405, SIM102  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.network.layer_kernels import *
from seqaudit.decoders.network.packet_words import *


def digest(data, start, stop):
    """Tells payloads apart by all their bytes, below 2^62.

    Here the bytes as one number, modulo a prime. Where this file is compiled
    ``decoders.kernels.numba_reads`` has another number, so no two datagrams are compared by one of
    each.
    """
    return int.from_bytes(data[start:stop], "little") % PRIME


def cut_digest(data, start, stop, length):
    """The same of a payload of ``length`` bytes of which some may not have been captured."""
    if stop - start >= length:
        return digest(data, start, stop)
    captured = stop - start
    if captured > 65535:
        captured = 65535
    told = digest(data, start, stop) + (length - stop + start) * 0x165667
    return CUT_DIGEST | (told & 0x3FFFFFFFFFFF) << CUT_BITS | captured


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


def has_id(ports, source):
    """1 if an entry has an IP id that a sender has counted."""
    if ports >> 32 & NO_ID or source & 0xFFFF == 0:
        return 0
    return 1


def enter(number, row, offset, at_ns, sizes, ports, digest, source, destination, work):
    """Write an entry. It waits for ``look_up``, so that the memory answers for many at once."""
    told = digest
    if has_id(ports, source) == 1:  # of one that is cut the digest is another
        told = 0
    h = mix(told, sizes + source + destination + ports)
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


def enter_frame(data, start, at, stop, wire_stop, offset, at_ns, row, entered, work):
    """IS_ENTERED if a frame's type carries a feed: it is entered by its addresses and by all that
    stands behind its tags. It has no id.

    Args:
        at: where what its type names begins.
    """
    if at - start < 14 or stop - at < LEAST_FRAME:
        return 0
    ethertype = u16be(data, at - 2)
    if ethertype < LEAST_ETHERTYPE or carries_feed(ethertype, work) == 0:
        return 0
    enter(
        entered + 1,
        row,
        offset,
        at_ns,
        (wire_stop - at & 0x7FFFFFFF) << 16,
        (NETWORK_NONE | NO_ID) << 32 | ethertype,
        cut_digest(data, at, stop, wire_stop - at),
        u16be(data, start + 6) << 32 | u32be(data, start + 8),
        u16be(data, start) << 32 | u32be(data, start + 2),
        work,
    )
    return IS_ENTERED


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
        like = are_like(number, older, work)
        apart = work[n + E_TIME] - work[e + E_TIME]
        if like == 1 and -WINDOW_NS <= apart <= WINDOW_NS:
            return 1
        if like == 2 and -CUT_COPY_NS <= apart <= CUT_COPY_NS:
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
    """1 if all is the same of two entries but where and when they were captured; 2: and but how
    much, of the other as much or more."""
    n = RING_ROWS + (one & (RING - 1)) * ENTRY_WORDS
    e = RING_ROWS + (other & (RING - 1)) * ENTRY_WORDS
    like = 1
    if work[e + E_DIGEST] != work[n + E_DIGEST]:
        like = 2
        if work[n + E_DIGEST] < CUT_DIGEST or has_id(work[n + E_PORTS], work[n + E_SOURCE]) == 0:
            return 0
        if work[e + E_DIGEST] >= CUT_DIGEST:
            if work[e + E_DIGEST] & 65535 <= work[n + E_DIGEST] & 65535:
                return 0
    if (
        work[e + E_SIZES] == work[n + E_SIZES]
        and work[e + E_PORTS] == work[n + E_PORTS]
        and work[e + E_SOURCE] == work[n + E_SOURCE]
        and work[e + E_DESTINATION] == work[n + E_DESTINATION]
        and (
            work[n + E_PORTS] >> 32 & 7 != NETWORK_IPV6
            or same_ends(other & (RING - 1), one & (RING - 1), work) == 1
        )
    ):
        return like
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
