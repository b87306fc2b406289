"""What IP ids say of the order of packets, and how records are put in order, against models that
look at one record after the other (replay/README.md 3)."""

import random
from itertools import pairwise
from struct import pack
from typing import Final

import numpy as np
import pytest

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.network.order import (
    HORIZON_NS,
    LOOKED_AT,
    MOST_LOOKED_AT,
    ROUNDED_NS,
    SINGLE_NS,
    arrangement,
)
from seqaudit.decoders.network.sent_order import COMPARED, SentOrder

_NETWORK: Final = {0: 4, 12: 0, 101: 0, 108: 4, 113: 16, 228: 0, 276: 20}
_BACK: Final = (100, 900, 10**6, 10**7, 19 * 10**6, 21 * 10**6, 10**9, 3 * 10**9)


def told_model(records: Records, row: int) -> tuple[object, int] | None:
    """The flow of an IPv4 packet, and its id."""
    start = int(records.start[row])
    packet = bytes(records.data[start : start + min(int(records.captured[row]), 96)])
    link = int(records.link[row])
    at = _NETWORK.get(link, -1)
    if link == 1:
        at = 12
        while len(packet) > at + 4 and packet[at : at + 2] in (b"\x81\0", b"\x88\xa8", b"\x91\0"):
            at += 4
        if packet[at : at + 2] != b"\x08\x00":
            return None
        at += 2
    header = packet[at:] if at >= 0 else b""
    if len(header) < 24 or header[0] >> 4 != 4:
        return None
    ident = int.from_bytes(header[4:6])
    if not ident or int.from_bytes(header[6:8]) & 0x1FFF:
        return None
    size = 4 * (header[0] & 15)
    return (header[9], header[12:20], header[size : size + 4] if header[9] == 6 else b""), ident


def votes_model(
    records: Records, times: list[int], begin: int, first: int, last: int
) -> tuple[int, int]:
    def by_flow(rows: range) -> dict[object, list[tuple[int, int]]]:
        found: dict[object, list[tuple[int, int]]] = {}
        for row in rows:
            told = told_model(records, row)
            if told is not None:
                found.setdefault(told[0], []).append((times[row], told[1]))
        return found

    def passing(flow: list[tuple[int, int]]) -> int:
        return sum(
            one[0] < other[0] and (other[1] - one[1]) & 0xFFFF > 0x8000
            for one, other in pairwise(flow)
        )

    before = by_flow(range(max(begin, first - COMPARED), first))
    late = by_flow(range(first, min(last + 1, first + COMPARED)))
    behind = by_flow(range(last + 1, min(last + 1 + COMPARED, len(times))))
    agree = against = 0
    for flow, own in late.items():
        pairs = [
            (ident - other) & 0xFFFF
            for at, ident in own
            for earlier, other in before.get(flow, ())
            if earlier > at and ident != other
        ]
        ahead = sum(apart > 0x8000 for apart in pairs)
        most = max(len(pairs) * 3 / 4, 0.5)
        passed = passing(before.get(flow, [])) + passing(behind.get(flow, []))
        agree += len(pairs) - ahead >= most and len(pairs) - ahead > passed
        against += ahead >= most and ahead > passed
    return agree, against


def arrangement_model(records: Records) -> tuple[list[int], list[int], list[int], list[int]]:
    """The order, late records, records behind a step, and those of them that are named."""
    times, clocks = records.at_ns.tolist(), records.interface.tolist()
    begins, late, named, looked = [0], list[int](), list[int](), dict[int, int]()
    row, high = 1, times[0]
    while row < len(times):
        if times[row] >= high:
            row, high = row + 1, times[row]
            continue
        stop = row + 1
        while stop < len(times) and times[stop] < high:
            if times[stop - 1] - times[stop] > HORIZON_NS:
                break
            stop += 1
        bucket = int(records.offset[row]) >> 20
        looked[bucket] = looked.get(bucket, 0) + 1
        back = high - min(times[row : min(stop, row + COMPARED)])
        agree = against = 0
        if looked[bucket] <= MOST_LOOKED_AT:
            agree, against = votes_model(records, times, begins[-1], row, stop - 1)
        most = SINGLE_NS if stop == row + 1 else HORIZON_NS
        if looked[bucket] > LOOKED_AT and back <= HORIZON_NS:
            is_step = False
        else:
            is_step = agree > 0 if agree or against else back > most
        if is_step:
            begins.append(row)
            same = [one for one in range(row) if clocks[one] == clocks[row]]
            of_other = len(same) < row and (not same or times[same[-1]] <= times[row])
            named += [row] if high - times[row] > ROUNDED_NS and not of_other else []
            row, high = row + 1, times[row]
        else:
            late += range(row, stop)
            row = stop
    order: list[int] = []
    for first, stop in pairwise([*begins, len(times)]):
        order += sorted(range(first, stop), key=times.__getitem__)
    return order, late, begins, named


def packet_of(chance: random.Random, link: int, idents: dict[int, int]) -> bytes:
    packet = bytearray(chance.randbytes(_NETWORK.get(link, 12)))
    if link == 1:
        for _ in range(chance.choice([0, 0, 0, 1, 2, 25])):
            packet += chance.choice([b"\x81\0\0\1", b"\x88\xa8\0\1", b"\x91\0\0\2"])
        packet += chance.choice([b"\x08\0"] * 4 + [b"\x86\xdd"])
    sender, protocol = chance.randrange(3), chance.choice([6, 17, 1])
    idents[sender] = idents.get(sender, chance.randrange(1 << 16)) + chance.choice([0, 1, 1, 2, -3])
    ident = idents[sender] & 0xFFFF if chance.random() < 0.95 else 0
    first = chance.choice([0x45] * 8 + [0x46, 0x40, 0x4F, 0x65])
    fragment = chance.choice([0] * 6 + [0x4000, 0x2001])
    header = pack(">BxHHHxB2x", first, 40, ident, fragment, protocol)
    header += bytes([10, 0, 0, sender, 10, 0, 0, 9])
    header = header.ljust(4 * (first & 15), b"\0") + bytes([0, chance.randrange(2), 0, 80])
    return bytes(packet + header[: chance.choice([99, 99, 99, 20, 23, 24, 26])])


def records_of(chance: random.Random) -> Records:
    count = chance.choice([1, 2, 3, 10, 50, 300])
    links = chance.choice([[1], [1], [0, 1, 12, 101, 113, 228, 276, 105]])
    clocks = chance.choice([1, 1, 3])
    setback, late = chance.choice([0, 0.02, 0.1]), chance.choice([0, 0.02, 0.3, 0.7])
    now, times, idents = 10**12, [], dict[int, int]()
    for _ in range(count):
        now += chance.choice([0, 1_000, 10**5, 10**6])
        now -= chance.choice(_BACK) if chance.random() < setback else 0
        times.append(now - (chance.choice(_BACK) if chance.random() < late else 0))
    of_link = [chance.choice(links) for _ in range(count)]
    packets = [packet_of(chance, link, idents) for link in of_link]
    sizes = np.array([len(packet) for packet in packets], np.int64)
    starts = np.cumsum(sizes) - sizes
    return Records(
        b"".join(packets), count, 0, frame=np.arange(count) + 1, start=starts, captured=sizes,
        original=sizes, at_ns=np.array(times, np.int64), link=np.array(of_link, np.int64),
        interface=np.array([chance.randrange(clocks) for _ in range(count)], np.int64),
        offset=starts * chance.choice([1, 20_000]),
        status=np.zeros(count, np.int64),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_records_are_put_in_order_as_the_model_puts_them(seed: int) -> None:
    records = records_of(random.Random(seed))
    found = arrangement(records, records.at_ns)
    order, late, begins, named = arrangement_model(records)
    assert (found.order.tolist(), found.late.tolist(), found.borders) == (order, late, begins)
    assert [row for row, _ in found.steps] == named


@pytest.mark.parametrize("seed", range(60))
def test_ids_vote_as_the_model_does(seed: int) -> None:
    chance = random.Random(f"votes {seed}")
    records = records_of(chance)
    times = records.at_ns.tolist()
    sent = SentOrder(records, records.at_ns)
    for _ in range(10):
        begin, first, last = sorted(chance.randrange(records.count) for _ in range(3))
        assert sent.votes(begin, first, last) == votes_model(records, times, begin, first, last)
