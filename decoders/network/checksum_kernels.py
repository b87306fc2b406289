"""Checksums of UDP, TCP, PGM and the IPv4 header before them, in the restricted style of
decoders/README.md 4.

``verify`` looks at packets that ``packet_kernels.scan`` has found, after it, so that nothing of it
is paid for traffic whose bytes nobody reads. The sum is RFC 1071's over the pseudo-header (RFC 768,
9293, 8200 8.1), the transport header and the payload; that of PGM as an IP protocol of its own has
no pseudo-header (RFC 3208 8).
"""

# ruff: noqa: F403, F405  (what kernels share: decoders/README.md 4)

from seqaudit.decoders.kernels.reads import *

#: What Python calls; the rest are helpers of these.
ENTRY_POINTS = ("verify",)

# Marks.
UNJUDGED = 0  # no whole UDP datagram or TCP segment: cut, a fragment, another protocol
BARE = 1  # without a sum: 0, or that of the pseudo-header, which a card was to complete
RIGHT = 2
WRONG = 3
MARKS = 4

# Fields of packet_kernels' ``out``, and what it calls a UDP datagram and other IP.
STATE = 0
PROTOCOL = 1
SOURCE = 2
DESTINATION = 3
START = 6
STOP = 7
LENGTH = 8
FRAGMENT = 12
DATAGRAM = 1
NOT_UDP = 3
# Its table of addresses: IP version, then four words each.
HOST_WORDS = 5

IPV4 = 4
UDP = 17
TCP = 6
PGM = 113
UDP_HEADER = 8
TCP_HEADER = 20
PGM_HEADER = 16
MOST = 65535  # bytes that the pseudo-header of IPv4 can tell
# A card, and what captures behind it, puts segments together to one of more than a frame holds; the
# sum of such a one is that of a part or none.
LARGEST_SEGMENT = 1500


def total(data, start, stop):
    """The bytes as 16-bit numbers, summed up modulo 65535; an odd last one is followed by a 0.

    Where this file is compiled ``decoders.kernels.numba_reads`` has the same number sooner.
    """
    return int.from_bytes(data[start:stop], "big") * (1 + ((stop - start) & 1) * 255) % 65535


def sum_of(hosts, number):
    """What an address adds to the sum."""
    found = 0
    for word in range(number * HOST_WORDS + 1, number * HOST_WORDS + HOST_WORDS):
        found = found + (hosts[word] >> 16) + (hosts[word] & 65535)
    return found


def is_damaged_header(data, at, source):
    """1 if an IPv4 header without options, from this address, stands there and its sum is wrong;
    0 is none (a card is to make it). The caller knows that 20 bytes are there."""
    if u8(data, at) != 69 or u32be(data, at + 12) != source or u16be(data, at + 10) == 0:
        return 0
    found = source
    for word in range(at, at + 20, 4):
        if word != at + 12:
            found = found + u32be(data, word)
    return 1 if found % 65535 else 0


def verify(data, rows, count, protocol, out, room, hosts, counts, marks):
    """Mark packets by their checksum.

    Args:
        rows: of ``out``, the first ``count``.
        protocol: UDP, TCP or PGM; packets of others are not judged.
        hosts: packet_kernels' table of addresses.
        counts: how many are WRONG per address, added to.
        marks: per packet, written.

    Returns:
        how many are WRONG.
    """
    wrong = 0
    for i in range(count):
        row = rows[i]
        marks[i] = UNJUDGED
        if out[PROTOCOL * room + row] != protocol:
            continue
        header = UDP_HEADER if protocol == UDP else 0
        state = NOT_UDP if protocol == TCP else DATAGRAM
        if out[STATE * room + row] != state:
            continue
        if protocol == TCP and out[FRAGMENT * room + row] >= 0:
            continue
        start = out[START * room + row] - header
        stop = out[STOP * room + row]
        size = out[LENGTH * room + row] + header
        if stop - start != size or size > MOST:
            continue
        if protocol == TCP and size < TCP_HEADER:
            continue
        if protocol == PGM and size < PGM_HEADER:
            continue
        told = u16be(data, start + 16) if protocol == TCP else u16be(data, start + 6)
        source = out[SOURCE * room + row]
        ends = 0
        if protocol != PGM:
            ends = protocol + sum_of(hosts, source) + sum_of(hosts, out[DESTINATION * room + row])
        pseudo = ends + size if protocol != PGM else 0
        mark = WRONG
        if told == 0 and protocol != TCP:
            mark = BARE
        elif protocol != PGM and ((pseudo - told) % 65535 == 0 or (ends - told) % 65535 == 0):
            mark = BARE  # with the length, or without it where the card is to cut a large one
        elif protocol == TCP and size > LARGEST_SEGMENT:
            mark = BARE
        elif (pseudo + total(data, start, stop)) % 65535 == 0:
            place = source * HOST_WORDS
            if hosts[place] != IPV4 or is_damaged_header(data, start - 20, hosts[place + 4]) == 0:
                mark = RIGHT
        elif told == 0:
            mark = BARE
        marks[i] = mark
        if mark == WRONG:
            counts[source] += 1
            wrong = wrong + 1
    return (wrong,)
