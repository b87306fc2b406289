"""Records are put in order in the same way wherever a capture is cut (replay/README.md 3)."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.network import overlap
from seqaudit.decoders.network.order import PieceOrder
from seqaudit.decoders.network.overlap import every_row, in_order
from tests.decoders.network.test_order import MS, Packet, chunk, packet

OF = len(packet(1, 1))  # bytes of a record
Emitted = list[tuple[int, int, bytes]]  # place, time, packet


def part(whole: Records, first: int, stop: int, frame: int) -> Records:
    """Rows of a capture as a piece reads them, the first as this frame; 0: they are not its own."""
    columns = {
        one.name: getattr(whole, one.name)[first:stop]
        for one in fields(Records)
        if isinstance(getattr(whole, one.name), np.ndarray)
    }
    frames = np.arange(stop - first) + frame if frame else np.zeros(stop - first, np.int64)
    return replace(whole, count=stop - first, **{**columns, "frame": frames})


def chunks(whole: Records, first: int, stop: int, size: int, frame: int) -> list[Records]:
    starts = range(first, stop, size)
    return [part(whole, at, min(at + size, stop), frame and frame + at - first) for at in starts]


def piece(whole: Records, first: int, stop: int, size: int) -> tuple[Emitted, PieceOrder]:
    """What a piece of a capture hands on."""
    order = PieceOrder()
    read = [
        *chunks(whole, 0, first, size, 0),
        *chunks(whole, first, stop, size, 1),
        *chunks(whole, stop, whole.count, size, 0),
    ]
    found = []
    for records in in_order(every_row(read), order):
        for row in range(records.count):
            start = int(records.start[row])
            data = bytes(records.data[start : start + int(records.captured[row])])
            if records.frame[row] > 0:
                found.append((int(records.frame[row]), int(records.at_ns[row]), data))
    return found, order


def in_one(packets: list[Packet]) -> tuple[list[tuple[int, bytes]], PieceOrder]:
    order = PieceOrder()
    arranged = order.arranged(chunk(packets))
    return [
        (int(at), bytes(arranged.data[int(start) : int(start) + int(size)]))
        for at, start, size in zip(arranged.at_ns, arranged.start, arranged.captured, strict=True)
    ], order


@st.composite
def captures(draw: st.DrawFn) -> list[Packet]:
    """Senders that count, records that are late by up to 9 ms, and now and then a clock that is
    set."""
    packets: list[Packet] = []
    counters = [0, 0, 0, 0]
    now = 10_000
    for _ in range(draw(st.integers(2, 40))):
        now += draw(st.integers(0, 4))
        if draw(st.integers(0, 25)) == 0:
            now -= draw(st.sampled_from([3, 300, 4_000]))
        sender = draw(st.integers(1, 3))
        counters[sender] += 1
        packets.append((now, sender, counters[sender]))
    late = [(number + draw(st.integers(0, 3)), one) for number, one in enumerate(packets)]
    return [one for _, one in sorted(late, key=lambda pair: pair[0])]


@settings(max_examples=30)
@given(captures(), st.data())
def test_pieces_and_chunks_of_any_size_hand_on_what_one_chunk_does(
    packets: list[Packet], data: st.DataObject
) -> None:
    expected, whole = in_one(packets)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(packets) - 1), max_size=4)))
    size = data.draw(st.integers(1, 12))
    found: list[tuple[int, bytes]] = []
    late = 0
    steps = []
    moved = []
    guessed = []
    for first, stop in pairwise([0, *cuts, len(packets)]):
        emitted, order = piece(chunk(packets), first, stop, size)
        assert [place for place, *_ in emitted] == list(range(1, stop - first + 1))
        found += [(at, packet) for _, at, packet in emitted]
        late += order.late
        steps += [(step.frame + first, step.back_ns, step.agree) for step in order.steps]
        moved += [(place + first, number + first) for place, number in order.moved]
        guessed += [(place + first, stood + first) for place, stood in order.guessed]
        assert order.torn == []
    assert found == expected
    assert late == whole.late
    assert steps == [(step.frame, step.back_ns, step.agree) for step in whole.steps]
    assert moved == whole.moved
    assert guessed == whole.guessed


@settings(max_examples=30)
@given(captures(), st.data())
def test_of_some_records_the_others_keep_their_numbers(
    packets: list[Packet], data: st.DataObject
) -> None:
    whole = chunk(packets)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(packets) - 1), min_size=1))))
    expected = PieceOrder()
    arranged = expected.arranged(whole.taken(rows))
    first = data.draw(st.integers(0, len(packets) - 1))
    size = data.draw(st.integers(1, 12))
    found, moved = [], []
    for start, stop in ((0, first), (first, len(packets))):
        read = [
            *chunks(whole, 0, start, size, 0),
            *chunks(whole, start, stop, size, 1),
            *chunks(whole, stop, whole.count, size, 0),
        ]
        own = [rows[(rows >= at.offset[0] // OF) & (rows <= at.offset[-1] // OF)] for at in read]
        taken = [(at, some - at.offset[0] // OF) for at, some in zip(read, own, strict=True)]
        order = PieceOrder()
        for records in in_order(taken, order):
            known = records.frame > 0
            pairs = zip(records.frame[known] + start, records.at_ns[known], strict=True)
            found += [(int(frame), int(at)) for frame, at in pairs]
        moved += [(place + start, number + start) for place, number in order.moved]
    assert found == list(zip(arranged.frame.tolist(), arranged.at_ns.tolist(), strict=True))
    assert moved == expected.moved


def test_what_is_held_is_bounded_and_all_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(chunk([(0, 1, 1)]).data)
    for name, records in (("HELD", 20), ("KNOWN", 20), ("TAKEN", 30), ("MOST", 90)):
        monkeypatch.setattr(overlap, f"{name}_BYTES", records * size)
    packets = [(n + (7 if n % 5 == 0 else 0), 1, 0) for n in range(1_000)]
    emitted, order = piece(chunk(packets), 0, 1_000, 10)
    expected, whole = in_one(packets)
    assert [(at, packet) for _, at, packet in emitted] == expected
    assert (order.late, order.most_ns, order.torn) == (whole.late, whole.most_ns, [])
    assert order.moved == whole.moved


def test_a_record_that_belongs_further_back_than_what_is_held_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = len(chunk([(0, 1, 1)]).data)
    for name, records in (("HELD", 4), ("KNOWN", 300), ("TAKEN", 4), ("MOST", 20)):
        monkeypatch.setattr(overlap, f"{name}_BYTES", records * size)
    packets = [(n, 1, 0) for n in range(100)] + [(1, 2, 0)] + [(n, 1, 0) for n in range(100, 200)]
    emitted, order = piece(chunk(packets), 0, len(packets), 1)
    assert len(emitted) == len(packets)
    assert order.torn == [101]
    assert order.most_ns == 98 * MS
