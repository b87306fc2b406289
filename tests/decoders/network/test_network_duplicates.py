"""Network duplicates: the same datagram again, by all its bytes, whoever numbers it and how."""

import random
import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.packets import PacketReader
from tests.decoders.network.builders import Packet, ethernet, fragment6, ipv4, ipv6, records, udp

MODES = pytest.mark.parametrize("compile_it", [False, True])


def flagged(packets: Sequence[Packet], *, compile_it: bool) -> list[bool]:
    """Which are network duplicates."""
    found = marked(packets, compile_it=compile_it)
    return [bool(flags & Flag.NETWORK_DUPLICATE) for flags in found]


def constant(payload: bytes, *, vlan: bool = False, ident: int = 0, checksum: int = 0) -> Packet:
    """By a sender that neither counts IP ids nor sums up."""
    datagram = ipv4(udp(payload, checksum=checksum), ident=ident)
    return Packet(ethernet(datagram, tags=[0x8100] if vlan else ()))


def one_byte_apart(size: int) -> Iterator[bytes]:
    """A payload, and those that differ from it in one byte, in its lowest or highest bit."""
    base = bytes(random.Random(size).randbytes(size))
    yield base
    for place in range(size):
        for bit in (1, 128):
            yield base[:place] + bytes([base[place] ^ bit]) + base[place + 1 :]


def opposite_counters(distance: int, form: str) -> Iterator[bytes]:
    """One field counts up, another down: sums over them stay the same."""
    for number in range(400):
        up, down = struct.pack(form, 5000 + number), struct.pack(form, 9000 - number)
        yield bytes(3) + up + b"x" * (distance - len(up)) + down + bytes(30)


def swapped_words(width: int) -> Iterator[bytes]:
    """All that one payload can become by exchanging two of its words."""
    words = [number.to_bytes(width, "big") for number in range(3, 40)]
    yield b"".join(words)
    for i in range(len(words)):
        for j in range(i):
            other = words.copy()
            other[i], other[j] = other[j], other[i]
            yield b"".join(other)


def number_in_middle() -> Iterator[bytes]:
    """Numbers where nobody samples, in many payloads."""
    for number in range(20_000):
        yield b"S" * 21 + number.to_bytes(4, "big") + b"x" * 40


DIFFERENT = {
    **{f"one byte of {n}": list(one_byte_apart(n)) for n in (1, 7, 31, 32, 33, 127, 129, 300)},
    **{
        f"opposite {form} {distance} apart": list(opposite_counters(distance, form))
        for form in (">H", "<H", ">I", "<I", ">Q", "<Q")
        for distance in (8, 13, 16, 32, 64, 128, 160, 256)
    },
    **{f"swapped words of {width}": list(swapped_words(width)) for width in (1, 2, 4, 8, 32)},
    "numbers in the middle": list(number_in_middle()),
    "zeros": [bytes(size) for size in range(400)],
}


@MODES
@pytest.mark.parametrize("name", DIFFERENT)
def test_different_payloads_of_one_ip_id_are_no_duplicates(name: str, compile_it: bool) -> None:
    payloads = DIFFERENT[name]
    assert len(set(payloads)) == len(payloads)
    for checksum in (0, 0x1234):
        packets = [constant(payload, checksum=checksum) for payload in payloads]
        assert not any(flagged(packets, compile_it=compile_it))


@MODES
def test_copies_are_found_without_ip_id_and_checksum(compile_it: bool) -> None:
    payloads = [
        bytes(random.Random(n).randbytes(n % 300)) + struct.pack("<I", n) for n in range(900)
    ]
    packets = [constant(payload, vlan=n % 2 == 1) for payload in payloads for n in range(3)]
    assert flagged(packets, compile_it=compile_it) == [False, True, True] * len(payloads)


@MODES
def test_where_two_datagrams_were_cut_has_to_be_the_same(compile_it: bool) -> None:
    whole = constant(bytes(60))
    cuts = [whole.cut(len(whole.data) - missing) for missing in (20, 19, 20, 0)]
    assert flagged(cuts, compile_it=compile_it) == [False, False, True, False]


@MODES
def test_a_copy_of_which_less_was_captured_is_one_where_an_id_tells(compile_it: bool) -> None:
    """As in a tunnel, whose headers leave less room below a snap length: soon behind the other."""

    def copies(ident: int, *cuts: int) -> list[bool]:
        whole = Packet(ethernet(ipv4(udp(b"S" * 60), ident=ident)))
        return flagged([whole.cut(cut) for cut in cuts], compile_it=compile_it)

    assert copies(7, 102, 70, 60, 70) == [False, True, True, True]
    assert copies(7, 60, 70, 102) == [False, False, False]  # each of which tells more
    assert copies(0, 102, 70) == [False, False]
    whole, part = (Packet(ethernet(ipv4(udp(b"S" * 60), ident=n))) for n in (7, 8))
    assert flagged([whole, part.cut(70)], compile_it=compile_it) == [False, False]
    for later, is_copy in ((k.CUT_COPY_NS, True), (k.CUT_COPY_NS + 1, False)):
        late = replace(whole, at_ns=later).cut(70)
        assert flagged([whole, late], compile_it=compile_it) == [False, is_copy]


FIELD = st.one_of(st.sampled_from([0, 1, 2, 255, 256, 0xFFFF]), st.integers(0, 0xFFFF))


@settings(max_examples=75)
@given(
    st.lists(st.tuples(st.lists(FIELD, max_size=5), st.integers(0, 4)), max_size=40),
    st.sampled_from([0, 3, 16, 40, 126]),
    st.sampled_from([0, 1]),
    st.sampled_from([0, 0x1234]),
    st.booleans(),
    st.booleans(),
)
def test_duplicates_are_those_with_all_bytes_equal(
    fields: list[tuple[list[int], int]], gap: int, ident: int, checksum: int, v6: bool,
    compile_it: bool,
) -> None:  # fmt: skip
    packets: list[Packet] = []
    for values, rest in fields:
        payload = b"".join(struct.pack(">H", value) + b"-" * gap for value in values) + bytes(rest)
        if v6:
            inner = fragment6(17, udp(payload, checksum=checksum))
            packets.append(Packet(ipv6(inner, next_header=44), 229))
        else:
            packets.append(constant(payload, ident=ident, checksum=checksum))
    expected = [packet.data in [p.data for p in packets[:n]] for n, packet in enumerate(packets)]
    assert flagged(packets, compile_it=compile_it) == expected


@settings(max_examples=100)
@given(st.binary(max_size=600), st.integers(0, 9), st.integers(0, 9))
def test_a_digest_is_of_these_bytes_only(payload: bytes, before: int, behind: int) -> None:
    """Whatever stands around them, and however they lie in memory."""
    alone = constant(payload)
    padded = Packet(alone.data + b"\xee" * behind)
    shifted = Packet(ethernet(alone.data[14:], tags=[0x8100] * before))
    for compile_it in (False, True):
        assert flagged([alone, padded, shifted], compile_it=compile_it) == [False, True, True]


def test_the_compiled_digest_reads_nothing_beyond_its_bytes() -> None:
    """A capture may end with the payload, and begin 28 bytes before it."""
    for size in range(300):
        datagram = ipv4(udp(b"\x01" * size, checksum=0), ident=1)
        room = np.full(len(datagram) + 256, 0xAA, np.uint8)
        results = []
        for filler in (0xAA, 0x55):
            room[:] = filler
            room[128 : 128 + len(datagram)] = np.frombuffer(datagram, np.uint8)
            work = kernels.memory(k.WORK_SIZE)
            work[k.RING_TAIL] = 1
            results.append(_digest_of(room, len(datagram), work))
        assert results[0] == results[1]


def _digest_of(data: "np.typing.NDArray[np.uint8]", size: int, work: kernels.Int64s) -> int:
    """E_DIGEST of the first entry, for a raw IPv4 packet at 128 of ``data``."""
    one = np.ones(1, np.int64)
    out = np.zeros(k.FIELDS, np.int64)
    kernels.kernel("network.packet_kernels", compile_it=True).scan(
        data, 0, 1, one, one * 128, one * size, one * size, one, one * 228, one, one * 0, -one,
        0, out, 1, work,
    )  # fmt: skip
    assert work[k.RING_COUNT] == 1
    return int(work[k.RING_ROWS + k.ENTRY_WORDS + k.E_DIGEST])


MS = 1_000_000
ONCE, OTHERS = Flag.ALIKE | k.ONCE_BEFORE, k.OFTEN_BEFORE


def without_ids(payload: bytes, at_ns: int, *, v6: bool) -> Packet:
    """No IP id: of IPv4 it is 0 where nothing may be fragmented."""
    if v6:
        return Packet(ipv6(udp(payload)), 229, at_ns=at_ns)
    return Packet(ethernet(ipv4(udp(payload), ident=0, dont_fragment=True)), at_ns=at_ns)


def marked(
    packets: Sequence[Packet], *, compile_it: bool, carriers: Collection[int] = ()
) -> list[int]:
    """What is noted of those that were captured before each."""
    reader = PacketReader(0, 0, compile_it=compile_it, carriers=carriers)
    wanted = int(Flag.ALIKE | Flag.NETWORK_DUPLICATE) | k.OTHERS_BEFORE
    return [
        flags & wanted
        for found in reader.read(records(packets))
        for flags in found.column(k.FLAGS).tolist()
    ]


@MODES
@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("lag_ms", [0, 1, 500, 1800])
def test_without_ip_ids_a_second_one_is_noted_and_is_no_network_duplicate(
    lag_ms: int, v6: bool, compile_it: bool
) -> None:
    packets = [
        without_ids(b"%06d" % n, (5000 * n + late) * MS, v6=v6)
        for n in range(40)
        for late in (0, lag_ms)
    ]
    packets.append(without_ids(b"alone", 300_000 * MS, v6=v6))
    assert marked(packets, compile_it=compile_it) == [0, ONCE] * 40 + [0]


@MODES
@pytest.mark.parametrize("period_ms", [1, 400, 900, 1799, 1801, 2500, 3999, 4001])
def test_what_comes_at_a_rhythm_does_not_come_in_pairs(period_ms: int, compile_it: bool) -> None:
    packets = [without_ids(b"beat", n * period_ms * MS, v6=True) for n in range(60)]
    found = marked(packets, compile_it=compile_it)
    assert sum(flags & k.ONCE_BEFORE > 0 for flags in found) <= 1
    assert sum(flags == 0 for flags in found) == (60 if period_ms > 4000 else 1)


@MODES
@pytest.mark.parametrize("period_ms", [250, 1000])
def test_every_second_one_of_what_was_captured_twice_is_told(
    period_ms: int, compile_it: bool
) -> None:
    packets = [
        without_ids(b"beat", (n * period_ms * 1000 + late) * 1000, v6=True)
        for n in range(30)
        for late in (0, 20)
    ]
    found = marked(packets, compile_it=compile_it)
    assert [bool(flags & Flag.ALIKE) for flags in found] == [False, True] * 30


@MODES
def test_one_with_an_ip_id_is_not_like_one_without(compile_it: bool) -> None:
    with_id = Packet(ethernet(ipv4(udp(b"same"), ident=0)))
    packets = [with_id, without_ids(b"same", 0, v6=False)]
    assert marked(packets, compile_it=compile_it) == [0, 0]


TWICE = int(Flag.NETWORK_DUPLICATE)
ESP, OSPF, PTP, SV = 50, 89, 0x88F7, 0x88BA


@MODES
@pytest.mark.parametrize("protocol", [ESP, OSPF, 255])
def test_copies_of_what_ip_carries_are_found_where_it_carries_a_feed(
    protocol: int, compile_it: bool
) -> None:
    """By their ids, which tell what the network doubled from what its sender repeated."""
    first = Packet(ethernet(ipv4(b"payload", protocol=protocol, ident=7)))
    again = Packet(ethernet(ipv4(b"payload", protocol=protocol, ident=8)))
    other = Packet(ethernet(ipv4(b"payload", protocol=protocol ^ 1, ident=7)))
    v6 = Packet(ipv6(b"payload", next_header=protocol), 229)
    packets = [first, again, other, first, other, v6, v6]
    told = partial(marked, packets, compile_it=compile_it)
    assert told(carriers={protocol}) == [0, 0, 0, TWICE, 0, 0, ONCE]
    assert told(carriers={protocol ^ 1, PTP}) == [0, 0, 0, 0, TWICE, 0, 0]
    assert not any(told())


@MODES
def test_copies_of_frames_are_found_where_ethernet_carries_a_feed(compile_it: bool) -> None:
    """By their addresses and all behind their tags: a frame has no id."""

    def frame(payload: bytes, ethertype: int = SV, tags: Sequence[int] = ()) -> Packet:
        return Packet(ethernet(payload, ethertype, tags))

    elsewhere = b"another source"[:12] + frame(b"").data[12:]
    packets = [
        frame(b"sample 1"), frame(b"sample 2"), frame(b"sample 1", PTP),
        Packet(elsewhere + b"sample 1"), frame(b"sample 1", tags=[0x88A8, 0x8100]),
        frame(b"sample 2").cut(20), frame(b"sample 2"),
    ]  # fmt: skip
    told = partial(marked, packets, compile_it=compile_it)
    assert told(carriers={SV}) == [0, 0, 0, 0, ONCE, 0, ONCE]
    assert told(carriers={PTP, SV})[2] == 0
    assert not any(told(carriers={PTP}))
    ends = [frame(b"x" * size) for size in range(4)]
    assert not any(marked(ends * 2, compile_it=compile_it, carriers={SV}))


@MODES
def test_a_packet_in_fragments_is_known_by_its_first_one(compile_it: bool) -> None:
    parts = [
        Packet(ethernet(ipv4(bytes(16), protocol=ESP, ident=7, more=place == 0, offset=place)))
        for place in (0, 16)
    ]
    assert marked(parts * 2, compile_it=compile_it, carriers={ESP}) == [0, 0, TWICE, 0]
