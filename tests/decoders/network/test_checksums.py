"""Checksums: what is right, wrong and none, by rules of their own; and what senders' say together.

The expected numbers come of a model of RFC 1071 that adds word by word.
"""

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.kernels.loader import argument, data_argument, kernel
from seqaudit.decoders.network import checksum_kernels as c
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.checksums import (
    SENDERS,
    SEVERAL,
    ChecksumCheck,
    ChecksumCounts,
    Sender,
    rows_of,
    united,
    verdict,
    verified,
)
from seqaudit.decoders.network.packets import FrameOutcome, PacketReader, Packets
from tests.decoders.network.builders import (
    DESTINATION,
    DESTINATION6,
    SOURCE,
    SOURCE6,
    UDP,
    Packet,
    added,
    ethernet,
    ipv4,
    ipv6,
    pseudo,
    records,
    summed,
    udp,
    with_sum,
)

TCP: Final = 6
PGM: Final = 113
PAYLOAD: Final = b"what was sent, an odd number of bytes"
HERE: Final = (SOURCE, UDP)


def flipped(packet: bytes, at: int) -> bytes:
    return packet[:at] + bytes([packet[at] ^ 0x10]) + packet[at + 1 :]


def found_in(packets: Sequence[Packet], checksums: ChecksumCheck, *, compile_it: bool) -> Packets:
    reader = PacketReader(0, 0, compile_it=compile_it)
    (found,) = reader.read(records(packets))
    return checksums.judged(reader, found)


def marks(packets: Sequence[bytes], protocol: int = UDP, *, compile_it: bool = False) -> list[int]:
    """Of IP packets, in Ethernet."""
    frames = [
        Packet(ethernet(one, 0x86DD if one[0] >> 4 == 6 else 0x0800), offset=None)
        for one in packets
    ]
    found = found_in(frames, ChecksumCheck(), compile_it=compile_it)
    rows = np.arange(len(packets))
    counts = np.zeros(k.HOSTS, np.int64)
    told: list[int] = verified(found, rows, protocol, counts).tolist()
    return told


@given(st.binary(max_size=200), st.integers(0, 40), st.booleans())
def test_a_total_is_the_sum_of_all_words(data: bytes, start: int, large: bool) -> None:
    data = data * 40 if large else data
    start = min(start, len(data))
    total = kernel("network.checksum_kernels", compile_it=False).total
    assert total(data, start, len(data)) == added(data[start:]) % 65535


def tcp(payload: bytes) -> bytes:
    return struct.pack(">HHIIBBHHH", 7800, 40_000, 1, 2, 0x50, 0x18, 512, 0, 0) + payload


GOOD: Final = ipv4(summed(udp(PAYLOAD)))
GOOD6: Final = ipv6(summed(udp(PAYLOAD), UDP, SOURCE6, DESTINATION6))
SEGMENT: Final = tcp(PAYLOAD)
HEADED: Final = GOOD[:10] + struct.pack(">H", 0xFFFF - added(GOOD[:20])) + GOOD[12:]


@pytest.mark.parametrize("compile_it", [False, True])
@pytest.mark.parametrize(
    ("packet", "mark"),
    {
        "right": (GOOD, c.RIGHT),
        "right, of IPv6": (GOOD6, c.RIGHT),
        "a payload that is damaged": (flipped(GOOD, 40), c.WRONG),
        "a payload of IPv6 that is damaged": (flipped(GOOD6, 60), c.WRONG),
        "its last byte": (flipped(GOOD, len(GOOD) - 1), c.WRONG),
        "a port": (flipped(GOOD, 21), c.WRONG),
        "the sender's address": (flipped(GOOD, 14), c.WRONG),
        "the header's sum is right": (HEADED, c.RIGHT),
        "the header's sum is wrong": (flipped(HEADED, 8), c.WRONG),
        "none was made": (ipv4(udp(PAYLOAD, checksum=0)), c.BARE),
        "a card was to make it": (
            ipv4(udp(PAYLOAD, checksum=added(pseudo(SOURCE, DESTINATION, UDP, 8 + len(PAYLOAD))))),
            c.BARE,
        ),
        "a card was to cut it as well": (
            ipv4(udp(PAYLOAD, checksum=added(pseudo(SOURCE, DESTINATION, UDP, 0)))),
            c.BARE,
        ),
        "no payload": (ipv4(summed(udp(b""))), c.RIGHT),
        "another protocol": (ipv4(SEGMENT, protocol=TCP), c.UNJUDGED),
        "a fragment": (ipv4(summed(udp(PAYLOAD))[:16], more=True), c.UNJUDGED),
    }.values(),
)
def test_a_datagram_is_marked_by_its_checksum(packet: bytes, mark: int, compile_it: bool) -> None:
    assert marks([packet], compile_it=compile_it) == [mark]


@pytest.mark.parametrize("compile_it", [False, True])
@pytest.mark.parametrize(
    ("segment", "mark"),
    {
        "right": (summed(SEGMENT, TCP), c.RIGHT),
        "damaged": (flipped(summed(SEGMENT, TCP), 30), c.WRONG),
        "a sequence number is damaged": (flipped(summed(SEGMENT, TCP), 5), c.WRONG),
        "not made": (with_sum(SEGMENT, 0, TCP), c.BARE),
        "put together of several by a card": (with_sum(tcp(bytes(1600)), 0x1234, TCP), c.BARE),
        "a card was to make it": (
            with_sum(SEGMENT, added(pseudo(SOURCE, DESTINATION, TCP, len(SEGMENT))), TCP),
            c.BARE,
        ),
    }.values(),
)
def test_a_segment_is_marked_by_its_checksum(segment: bytes, mark: int, compile_it: bool) -> None:
    assert marks([ipv4(segment, protocol=TCP)], TCP, compile_it=compile_it) == [mark]


def pgm(payload: bytes = PAYLOAD, told: int | None = None) -> bytes:
    """A packet of PGM, which is an IP protocol; with its checksum."""
    bare = struct.pack(">HHBBH6sH", 30_849, 7239, 4, 0, 0, b"GSI123", len(payload) - 8) + payload
    return with_sum(bare, 0xFFFF - added(bare) if told is None else told)


@pytest.mark.parametrize("compile_it", [False, True])
@pytest.mark.parametrize(
    ("packet", "mark"),
    {
        "right": (ipv4(pgm(), protocol=PGM), c.RIGHT),
        "right, of IPv6": (ipv6(pgm(), next_header=PGM), c.RIGHT),
        "damaged": (flipped(ipv4(pgm(), protocol=PGM), 45), c.WRONG),
        "its type is damaged": (flipped(ipv4(pgm(), protocol=PGM), 24), c.WRONG),
        "none was made": (ipv4(pgm(told=0), protocol=PGM), c.BARE),
        "that of a pseudo-header": (
            ipv4(pgm(told=added(pseudo(SOURCE, DESTINATION, PGM, 16 + len(PAYLOAD)))),
                 protocol=PGM),
            c.WRONG,
        ),
        "shorter than its header": (ipv4(pgm()[:15], protocol=PGM), c.UNJUDGED),
    }.values(),
)  # fmt: skip
def test_pgm_without_udp_is_marked_by_its_own_checksum(
    packet: bytes, mark: int, compile_it: bool
) -> None:
    assert marks([packet], PGM, compile_it=compile_it) == [mark]


@pytest.mark.parametrize("compile_it", [False, True])
def test_what_was_cut_is_not_judged(compile_it: bool) -> None:
    packet = Packet(ethernet(flipped(GOOD, 40)))
    found = found_in([packet.cut(len(packet.data) - 1)], ChecksumCheck(), compile_it=compile_it)
    counts = np.zeros(k.HOSTS, np.int64)
    assert verified(found, np.arange(1), UDP, counts).tolist() == [c.UNJUDGED]
    assert not counts.any()


SPOILED: Final = st.tuples(st.binary(min_size=6, max_size=120), st.integers(0, 5), st.booleans())


@given(st.lists(SPOILED, min_size=1))
def test_compiled_and_interpreted_marks_are_the_same(
    given: list[tuple[bytes, int, bool]],
) -> None:
    packets = []
    for payload, damage, wide in given:
        if wide:
            packet = ipv6(summed(udp(payload * 20), UDP, SOURCE6, DESTINATION6))
        else:
            packet = ipv4(summed(udp(payload)))
        packets.append(flipped(packet, len(packet) - 1 - damage) if damage else packet)
    both = [marks(packets, compile_it=compile_it) for compile_it in (False, True)]
    assert both[0] == both[1]
    assert both[0] == [c.WRONG if damage else c.RIGHT for _, damage, _ in given]


def test_no_byte_beside_a_packet_is_read() -> None:
    """Interpreted, on data that ends where the packet does."""
    packet = Packet(ethernet(GOOD))
    found = found_in([packet], ChecksumCheck(), compile_it=False)
    data = bytes(found.records.data)[: int(found.columns[k.STOP][0])]
    verify = kernel("network.checksum_kernels", compile_it=False).verify
    counts, told = np.zeros(k.HOSTS, np.int64), np.zeros(1, np.int64)
    arrays = (found.out, found.flows.table_of_hosts(), counts, told)
    out, hosts, counted, mark = (argument(array, compile_it=False) for array in arrays)
    rows = argument(np.arange(1), compile_it=False)
    given = data_argument(data, compile_it=False)
    assert verify(given, rows, 1, UDP, out, found.room, hosts, counted, mark) == (0,)
    assert told.tolist() == [c.RIGHT]


# --- what packets of a sender say together ---


def judged(**counts: tuple[int, int, int]) -> tuple[set[str], set[str], set[str]]:
    """Who is damaged, unclear and untold, of senders that speak: bare, right and wrong."""
    told = verdict({(name, UDP): ChecksumCounts(*one, True) for name, one in counts.items()})
    one, other, third = ({name for name, _ in part} for part in
                         (told.damaged, told.unclear, told.untold))  # fmt: skip
    return one, other, third


def test_a_wrong_checksum_among_right_ones_of_its_sender_is_damage() -> None:
    assert judged(a=(0, 9, 1), b=(0, 5, 0)) == ({"a"}, set(), set())


def test_a_sender_without_right_ones_makes_none_however_many_are_wrong() -> None:
    assert judged(a=(0, 0, 900), b=(0, SEVERAL - 1, 70)) == (set(), set(), set())


def test_a_few_packets_are_not_enough_to_judge() -> None:
    assert judged(a=(0, SEVERAL - 1, 1)) == (set(), set(), set())
    assert judged(a=(0, SEVERAL, 1))[0] == {"a"}


def test_most_wrong_and_several_right_is_unclear() -> None:
    assert judged(a=(0, 10, 30)) == (set(), {"a"}, set())


def test_what_cannot_be_told_is_in_doubt_only_where_something_is_damaged() -> None:
    assert judged(bare=(50, 0, 0), offloads=(0, 0, 50)) == (set(), set(), set())
    assert judged(bare=(50, 0, 0), offloads=(0, 0, 50), a=(0, 9, 1)) == (
        {"a"}, set(), {"bare", "offloads"},
    )  # fmt: skip


def test_a_packet_from_an_address_of_its_own_is_damaged_where_others_are() -> None:
    """The address may be what is damaged."""
    assert judged(a=(0, 9, 1), other=(0, 0, 1))[0] == {"a", "other"}


def test_senders_of_nothing_known_are_not_judged() -> None:
    silent = {("a", UDP): ChecksumCounts(0, 9, 1, speaks=False)}
    assert verdict(silent) == verdict({})


SENDER: Final = st.tuples(st.integers(0, 40_000).map(lambda n: f"10.{n}"), st.sampled_from([6, 17]))


@given(st.lists(st.dictionaries(SENDER, st.tuples(*[st.integers(0, 9)] * 3, st.booleans()))))
def test_what_pieces_counted_adds_up(
    pieces: list[dict[Sender, tuple[int, int, int, bool]]],
) -> None:
    parts = [rows_of({s: ChecksumCounts(*one) for s, one in piece.items()}) for piece in pieces]
    expected: dict[Sender, list[int]] = {}
    for piece in pieces:
        for sender, one in piece.items():
            known = expected.setdefault(sender, [0, 0, 0, 0])
            known[:] = [a + b for a, b in zip(known[:3], one[:3], strict=True)] + [
                known[3] or one[3]
            ]
    assert {
        s: [one.bare, one.right, one.wrong, one.speaks] for s, one in united(parts).items()
    } == expected


def test_the_senders_kept_of_very_many_do_not_depend_on_pieces() -> None:
    every: dict[Sender, ChecksumCounts] = {
        (f"10.{n}", UDP): ChecksumCounts(0, n, 1, True) for n in range(SENDERS + 50)
    }
    whole = united([rows_of(every)])
    halves = [dict(list(every.items())[part::2]) for part in range(2)]
    assert united(map(rows_of, halves)) == whole
    assert len(whole) == SENDERS


# --- what becomes of packets ---


def told(packets: Sequence[bytes], *damaged: Sender, compile_it: bool) -> Packets:
    frames = [Packet(ethernet(one)) for one in packets]
    return found_in(frames, ChecksumCheck(damaged), compile_it=compile_it)


@pytest.mark.parametrize("compile_it", [False, True])
def test_a_damaged_datagram_is_none(compile_it: bool) -> None:
    packets = [GOOD, flipped(GOOD, 40), GOOD]
    assert told(packets, compile_it=compile_it).datagrams.count == 3
    found = told(packets, HERE, compile_it=compile_it)
    assert found.datagrams.frame.tolist() == [1, 3]
    assert found.columns[k.STATE].tolist() == [k.DATAGRAM, k.DAMAGED, k.DATAGRAM]
    assert (found.datagrams.outcome == FrameOutcome.NOT_CLAIMED).all()
    assert told(packets, (DESTINATION, UDP), (SOURCE, TCP), compile_it=compile_it).only_datagrams


@pytest.mark.parametrize("compile_it", [False, True])
def test_a_damaged_segment_is_none(compile_it: bool) -> None:
    good = ipv4(summed(SEGMENT, TCP), protocol=TCP)
    found = told([good, flipped(good, 50)], (SOURCE, TCP), compile_it=compile_it)
    assert found.columns[k.STATE].tolist() == [k.NOT_UDP, k.DAMAGED]


@pytest.mark.parametrize("compile_it", [False, True])
def test_senders_of_pgm_and_of_udp_are_judged_apart(compile_it: bool) -> None:
    raw = ipv4(pgm(), protocol=PGM)
    packets = [GOOD, raw, flipped(GOOD, 40), flipped(raw, 45)]
    checksums = ChecksumCheck([(SOURCE, PGM)])
    frames = [Packet(ethernet(one)) for one in packets]
    found = found_in(frames, checksums, compile_it=compile_it)
    assert found.datagrams.frame.tolist() == [1, 2, 3]
    checksums.note(found, 0)
    senders: dict[Sender, ChecksumCounts] = {}
    checksums.add_to(senders)
    assert senders == {
        HERE: ChecksumCounts(0, 1, 1, True),
        (SOURCE, PGM): ChecksumCounts(0, 1, 1, True),
    }


@pytest.mark.parametrize("compile_it", [False, True])
def test_rows_after_a_damaged_one_are_as_ever(compile_it: bool) -> None:
    """What was written over the kernel's rows is prepared anew."""
    reader, checksums = PacketReader(0, 0, compile_it=compile_it), ChecksumCheck([HERE])

    def counts(packets: list[Packet]) -> list[int]:
        read = reader.read(records(packets))
        return [checksums.judged(reader, found).datagrams.count for found in read]

    damaged = [Packet(ethernet(flipped(GOOD, 40)))] * 3
    sound = [Packet(ethernet(GOOD))] * 3
    assert counts(damaged) == [0]
    assert counts(sound) == [3]
