"""What a TSDU or a datagram holds of raims, and the tables of links, streams and rows (raims.md 2,
3), in the restricted style of decoders/README.md 4.
"""

# ruff: noqa: F403, F405, SIM102, SIM109  (one comparison a line, no tuples: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *
from seqaudit.decoders.raims.pgm_words import *


def find_link(gsi, port, m):
    """The number of a TSI, new if need be; 0: the table is full."""
    slot = (gsi % 16777213 * 31 + port) % LINK_SLOT_COUNT
    turns = 0
    while turns < LINK_SLOT_COUNT:
        number = m[LINK_SLOTS + slot]
        if number == 0:
            if m[W_LINKS] + 1 >= LINK_LIMIT:
                return 0
            number = m[W_LINKS] + 1
            m[W_LINKS] = number
            m[LINK_SLOTS + slot] = number
            at = LINKS + number * LINK_WORDS
            m[at + L_GSI] = gsi
            m[at + L_PORT] = port
            m[at + L_NEXT] = -1
            m[at + L_LOW] = 0
            m[at + L_HIGH] = 0
            m[at + L_FLOOR] = 0
            m[at + L_OPEN] = 0
            m[at + L_RAIMS] = 0
            m[at + L_SEEN] = 0
            m[at + L_UNREAD] = 0
            return number
        at = LINKS + number * LINK_WORDS
        if m[at + L_GSI] == gsi:
            if m[at + L_PORT] == port:
                return number
        slot = (slot + 1) % LINK_SLOT_COUNT
        turns = turns + 1
    return 0


def same_bytes(data, one, other, size):
    i = 0
    while i + 4 <= size:
        if u32be(data, one + i) != u32be(data, other + i):
            return 0
        i = i + 4
    while i < size:
        if u8(data, one + i) != u8(data, other + i):
            return 0
        i = i + 1
    return 1


def find_stream(data, bridge, subject, size, crc, path, m):
    """The number of a stream, new if need be; the caller has made sure of room."""
    seed = (crc ^ u32be(data, bridge)) + size
    if size >= 4:  # the wire's own hash of the subject may be anything
        seed = seed + u32be(data, subject + size - 4) * 40503
    seed = seed + (path & 1023) * 2654435761
    slot = (seed ^ seed >> 16) % SLOTS_COUNT
    turns = 0
    while turns < SLOTS_COUNT:
        number = m[SLOTS + slot]
        if number == 0:
            number = m[W_STREAMS] + 1
            m[W_STREAMS] = number
            m[SLOTS + slot] = number
            at = STREAMS + number * STREAM_WORDS
            m[at + S_BRIDGE] = bridge
            m[at + S_SUBJECT] = subject
            m[at + S_SIZE] = size
            m[at + S_ROW] = 0
            m[at + S_HASH] = crc
            m[at + S_PATH] = path
            return number
        at = STREAMS + number * STREAM_WORDS
        if m[at + S_HASH] == crc:
            if m[at + S_SIZE] == size:
                if m[at + S_PATH] == path:
                    if same_bytes(data, m[at + S_BRIDGE], bridge, 16) == 1:
                        if same_bytes(data, m[at + S_SUBJECT], subject, size) == 1:
                            return number
        slot = (slot + 1) % SLOTS_COUNT
        turns = turns + 1
    return 0


def new_row(sort, link, index, m):
    """A row of the datagram at hand; returns where it is."""
    row = m[W_ROWS]
    m[W_ROWS] = row + 1
    m[row + R_SORT] = sort
    m[row + R_FRAME] = m[D_FRAME]
    m[row + R_INDEX] = index
    m[row + R_LAST_FRAME] = m[D_FRAME]
    m[row + R_AT] = m[D_AT]
    m[row + R_LAST_AT] = m[D_AT]
    m[row + R_LINK] = link
    m[row + R_SOURCE] = m[D_SOURCE]
    m[row + R_DESTINATION] = m[D_DESTINATION]
    m[row + R_SEQNO] = NONE
    m[row + R_STOP] = NONE
    m[row + R_COUNT] = 1
    m[row + R_SIZE] = 0
    m[row + R_FLAGS] = m[D_FLAGS]
    m[row + R_SQN] = -1
    m[row + R_LAST_SQN] = -1
    m[row + R_STREAM] = 0
    m[row + R_TIME] = NONE
    m[row + R_CHAIN] = NONE
    m[row + R_WORD] = 0
    m[row + R_PATH] = 0
    m[row + R_BODY_AT] = 0
    m[row + R_BODY_STOP] = 0
    m[row + R_PORT] = m[D_PORT]
    m[row + R_TO_PORT] = m[D_TO_PORT]
    m[row + R_DATAGRAM] = m[D_NUMBER]
    m[row + R_TRAIL] = -1
    m[row + R_LEAD] = -1
    m[row + R_ID] = m[D_ID]
    m[row + R_COLUMN] = -1
    m[row + R_TEXT_AT] = -1
    m[row + R_TEXT_STOP] = -1
    return row


def is_pgm(data, at, stop, length, destination_port, forced, bare):
    """1 where the datagram is a PGM packet beyond doubt (raims.md 2; RFC 3208 8).

    ``bare``: 1 of IP protocol 113, without UDP.
    """
    if stop - at < 16:
        return 0
    sort = u8(data, at + 4)
    options = u8(data, at + 5)
    tsdu = u16be(data, at + 14)
    port = u16be(data, at + 2)
    if is_answer(sort) == 1:
        port = u16be(data, at)
    named = forced | bare
    if destination_port == UDP_ENCAPSULATION or destination_port == UDP_ENCAPSULATION + 1:
        named = 1
    if named == 1:  # some senders count all of the packet, or all behind the first 16 bytes
        if tsdu == length or tsdu == length - 16:
            tsdu = tsdu_of(data, at, stop, length)
    known = named
    if port == destination_port:
        known = 1
    if known == 0:
        if sort != SPMR:
            return 0
        if u16be(data, at + 2) != destination_port:
            return 0
    if options & 0x3C != 0:
        return 0
    if sort == ODATA or sort == RDATA:
        if stop - at < 24:
            return 0
        extra = length - 24 - tsdu
        if options & 1 == 0:
            if extra != 0:
                return 0
        if options & 1 == 1:
            if extra < 4 or at + 28 > stop:
                return 0
            if u8(data, at + 24) != 0:
                return 0
            if u16be(data, at + 26) != extra:
                return 0
        return 1
    if tsdu != 0:
        return 0
    if sort == SPM:
        if length < 36:
            return 0
        return is_address(data, at + 28, stop)
    if sort == NAK or sort == NCF or sort == NNAK:
        if length < 36:
            return 0
        return is_address(data, at + 20, stop)
    if sort == SPMR:
        if length == 16:
            return 1
        if options & 1 == 1 and length >= 20:
            return 1
        return 0
    if sort == POLL and named == 1:
        if length < 44:
            return 0
        return is_address(data, at + 24, stop)
    if sort == POLR and named == 1:
        return 1 if length >= 24 else 0
    if forced == 1 and sort == 13:
        return 1
    return 0


def is_answer(sort):
    """1 where a receiver sends it to the sender of data: its ports are the other way round."""
    if sort == NAK or sort == NNAK or sort == SPMR or sort == POLR:
        return 1
    return 0


def tsdu_of(data, at, stop, length):
    """Bytes behind the headers of a packet, by its type and the length of its options."""
    sort = u8(data, at + 4)
    if sort != ODATA and sort != RDATA:
        return 0
    extra = 0
    if u8(data, at + 5) & 1 == 1 and at + 28 <= stop:
        extra = u16be(data, at + 26)
    return length - 24 - extra


def is_address(data, at, stop):
    """1 where an address family and an NLA follow; what is cut off is believed."""
    if at + 4 > stop:
        return 1
    family = u16be(data, at)
    if family == 1 or family == 2:
        if u16be(data, at + 2) == 0:
            return 1
    return 0


def is_message(data, at, stop):
    """1 where a message begins: version 1, then bridge, digest and subject (raims.md 5)."""
    if at + 48 > stop:
        return 0
    if u8(data, at) < MESSAGE_MARK:
        return 0
    if u16be(data, at + 8) != BRIDGE_MARK:
        return 0
    if u16be(data, at + 26) != DIGEST_MARK:
        return 0
    if u16be(data, at + 44) != SUBJECT_MARK:
        return 0
    return 1


def message_size(data, at):
    """Bytes of a message as it claims (raims.md 5)."""
    size = u16be(data, at + 2)
    if size == 0:
        size = u32be(data, at + 4)
    return size + 8


def is_damaged(data, at, end, length):
    """1 where a packet is there to its end, has a checksum and it is wrong: the ones' complement
    sum of its 16-bit words is no multiple of 65535 (RFC 3208 8; raims.md 2).
    """
    if length != end - at or u16be(data, at + 6) == 0:
        return 0
    total = 0
    while at + 4 <= end:
        total = total + u32be(data, at)
        at = at + 4
    if at + 2 <= end:
        total = total + u16be(data, at)
        at = at + 2
    if at < end:
        total = total + (u8(data, at) << 8)
    return 1 if total % 65535 != 0 else 0
