"""Segments taken in runs give what they give one by one, whatever happened to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.stages import tcp as tcp_stage
from seqaudit.decoders.stages.tcp import Sniffer, TcpAssembler
from seqaudit.decoders.tcp import direction as tcp_direction
from seqaudit.decoders.tcp import flows as tcp_flows
from seqaudit.decoders.tcp import runs as tcp_runs
from seqaudit.decoders.tcp.direction import Direction
from seqaudit.decoders.tcp.segments import (
    OUTGOING_BIT,
    Key,
    SegmentFinder,
    Segments,
    read_segment_rows,
    segment_rows,
    segments_of,
)
from seqaudit.decoders.tcp.wire import ACK, FIN, RST, SYN
from seqaudit.decoders.tcp.wire import Segment as Row
from tests.decoders.tcp.builders import MarkedStreams, Seen, Segment, framed, segments

NONE: Final = np.zeros(0, np.int64)
CARRIERS: Final = tuple(f"tcp|10.0.0.1:7800|10.0.0.2:{50000 + n}" for n in range(3))

#: What ends say, as a frame or several.
WORDS: Final = (b"", b"a", b"!", b"bcdefg", b"h" * 70)


FAULTS: Final = (
    "lost", "unseen", "again", "part", "swapped", "cut", "other", "silence", "RST", "FIN",
    "early ACK", "one side", "new connection",
)  # fmt: skip


@dataclass
class Side:
    """What one end has said, and how much of it the other has heard."""

    seq: int
    said: bytes = b""
    heard: int = 0
    parts: list[tuple[int, int]] = field(default_factory=list)


def captured(draw: Random, most: int) -> list[Segment]:
    """What a capture shows of a connection: mostly in order, with any of some faults."""
    faults = set(draw.sample(FAULTS, draw.randint(0, 4)))

    def happens(fault: str) -> bool:
        return fault in faults and draw.randint(0, 5) == 0

    start = [draw.choice([5000, 0xFFFFFFFF - 40]) for _ in range(2)]
    sides = [Side(seq=number + 1) for number in start]
    found: list[Segment] = []
    at = 0

    def put(direction: int, seq: int, payload: bytes, flags: int, **more: Any) -> None:
        ack = sides[1 - direction]
        heard = ack.heard + (3 if happens("early ACK") else 0)
        found.append(Segment(direction, seq, payload, flags, ack=ack.seq + heard, ms=at, **more))

    if draw.random() < 0.5:
        put(1, start[1], b"", SYN)
        put(0, start[0], b"", SYN | ACK)
    for _ in range(draw.randint(1, most)):
        at += draw.choice([0, 1, 1, 300]) + (1500 if happens("silence") else 0)
        direction = draw.randint(0, 1)
        side = sides[direction]
        kind = draw.randint(0, 3)
        if kind == 0:  # an ACK
            put(direction, side.seq + len(side.said), b"", ACK)
            sides[1 - direction].heard = len(sides[1 - direction].said)
            continue
        stream = b"".join(map(framed, draw.choices(WORDS, k=draw.randint(1, 3))))
        if draw.randint(0, 4) == 0:
            stream = stream[: draw.randint(1, len(stream))]  # frames in pieces, and rubbish
        begin, side.said = len(side.said), side.said + stream
        if happens("part") and begin:
            begin -= draw.randint(1, min(begin, 9))
        payload = side.said[begin:]
        if happens("other"):
            payload = bytes([payload[0] ^ 1]) + payload[1:]
        side.parts.append((begin, len(side.said)))
        if happens("lost"):
            continue
        more = {}
        if happens("cut"):
            more["wire"] = len(payload)
            payload = payload[: draw.randint(0, len(payload) - 1)]
        put(direction, side.seq + begin, payload, ACK, **more)
        if happens("again"):
            begin, stop = draw.choice(side.parts)
            put(direction, side.seq + begin, side.said[begin:stop], ACK)
        if happens("RST"):
            why = draw.choice([b"", framed(b"why")])
            ending = sides[1 - direction]
            put(1 - direction, ending.seq + len(ending.said), why, draw.choice([RST, RST | ACK]))
            if draw.random() < 0.5:  # as if that had been of the stream
                ending.said += why
                ending.heard = len(ending.said)
        if happens("FIN"):
            put(direction, side.seq + len(side.said), b"", FIN | ACK)
        if happens("new connection"):
            sides = [Side(seq=one.seq + len(one.said) + 70_000) for one in sides]
            put(1, sides[1].seq - 1, b"", SYN)
            put(0, sides[0].seq - 1, b"", SYN | ACK)
    if "swapped" in faults and len(found) > 1:
        for place in draw.choices(range(len(found) - 1), k=draw.randint(1, 4)):
            one, other = found[place : place + 2]
            found[place : place + 2] = replace(other, ms=one.ms), replace(one, ms=other.ms)
    if "unseen" in faults and found:
        gone = draw.choices(range(len(found)), k=draw.randint(1, 3))
        found = [one for place, one in enumerate(found) if place not in gone]
    if "one side" in faults:
        found = [one for one in found if one.direction]
    return found


def captures(seed: int, most: int) -> list[tuple[Key, Row]]:
    """Some connections in one capture, in stretches of whatever length."""
    draw = Random(seed)
    streams = [
        [row for _, row in segments(captured(draw, most)).one_by_one()]
        for _ in range(draw.choice([1, 1, 2, 3]))
    ]
    found: list[tuple[Key, Row]] = []
    while any(streams):
        number = draw.randint(0, len(streams) - 1)
        count = draw.choice([1, 2, 5, 50])
        for one in streams[number][:count]:
            facts = one.facts + draw.choice([0, 0, -1, 5, OUTGOING_BIT])  # the builder's TTL is 64
            row = one._replace(frame=len(found) + 1, facts=facts)
            found.append(((0, CARRIERS[number]), row))
        del streams[number][:count]
    return found


#: Drawn by their seeds: there is much to draw of each.
stories = st.builds(captures, st.integers(0, 1 << 32), st.integers(1, 80))


@dataclass(frozen=True)
class Told:
    """All that comes out: rows, what decoders saw, and when they were asked."""

    rows: list[dict[str, Any]]
    seen: list[list[Seen]]
    asked: list[tuple[str, int]]


def told(chunks: Sequence[Segments], few: int, batch: int, **options: Any) -> Told:
    streams = MarkedStreams()
    asked: list[tuple[str, int]] = []
    plain = TcpAssembler._decode

    def decode(self: TcpAssembler, tracked: Any, *, final: bool) -> None:
        asked.append((tracked.connection.carrier, tracked.pending))
        plain(self, tracked, final=final)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tcp_stage, "FEW", few)
        patch.setattr(tcp_runs, "SHORT", 1)
        patch.setattr(tcp_runs, "BLOCK", 3)
        patch.setattr(tcp_stage, "BATCH_BYTES", batch)
        patch.setattr(tcp_direction, "RECENT_BYTES", 60)
        patch.setattr(tcp_flows, "MIDDLE_BYTES", 1)  # a flow is known while its runs go on
        patch.setattr(TcpAssembler, "_decode", decode)
        assembler = TcpAssembler(DecodeSettings(compile_it=False), {"marked": streams}, **options)
        batches = [batch for chunk in chunks for batch in assembler.feed(chunk)]
        batches += assembler.finish()
    rows = [row for batch in batches for row in batch.to_pylist()]
    return Told(rows, [decoder.seen for decoder in streams.decoders], asked)


ONE_BY_ONE: Final = 1 << 30


@settings(max_examples=100)
@given(stories, st.lists(st.integers(0, 150), max_size=3), st.sampled_from([40, 200, 1 << 22]))
def test_runs_give_what_segments_give_one_by_one(
    rows: list[tuple[Key, Row]], cuts: list[int], batch: int
) -> None:
    borders = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    chunks = [segments_of(rows[low:high]) for low, high in pairwise(borders)]
    one_by_one = told(chunks, ONE_BY_ONE, batch)
    assert told(chunks, 0, batch) == one_by_one
    by_carrier = sorted(rows, key=lambda row: (row[0], row[1][1]))
    chunks = [read_segment_rows(segment_rows(segments_of(by_carrier)))] if rows else []
    one_by_one = told(chunks, ONE_BY_ONE, batch, by_carrier=True)
    assert told(chunks, 0, batch, by_carrier=True) == one_by_one


class Feeds:
    """Counts the segments that come one by one."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        plain = Direction.data

        def data(*given: Any, **more: Any) -> bool:
            self.count += 1
            return plain(*given, **more)

        patch.setattr(Direction, "data", data)


def busy(count: int, *, silent_every: int = 0) -> list[Segment]:
    """A connection in which each end says something and the other answers."""
    found = []
    said = [0, 0]
    ms = 0
    for number in range(count):
        direction = number % 2
        ms += 2000 if silent_every and number % silent_every == 0 else 1
        payload = framed(b"%d" % number)
        found.append(
            Segment(direction, 1 + said[direction], payload, ack=1 + said[1 - direction], ms=ms)
        )
        said[direction] += len(payload)
    return found


@pytest.mark.parametrize("silent_every", [0, 7])
def test_what_only_goes_on_is_not_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch, silent_every: int
) -> None:
    feeds = Feeds(monkeypatch)
    given = busy(1000, silent_every=silent_every)
    assert sum(map(len, told([segments(given)], 64, 1 << 22).seen)) == 1000
    assert feeds.count < 10
    given.insert(500, given[498])  # once more
    told([segments(given)], 64, 1 << 22)
    assert feeds.count < 30


def foreign(size: int, begins: bytes = b"") -> list[Segment]:
    """Bytes of somebody else in one direction, caught in the middle."""
    return [
        Segment(0, 1 + at, (begins + b"x" * size)[at : at + 10])
        for at in range(0, size + len(begins), 10)
    ]


def test_a_flow_that_nobody_recognises_is_not_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    feeds = Feeds(monkeypatch)
    given = [segments(foreign(20_000))]
    assert told(given, 64, 1 << 22) == told(given, ONE_BY_ONE, 1 << 22)
    feeds.count = 0
    told(given, 64, 1 << 22)
    assert feeds.count < 20  # of 2,000: it is judged when its bytes have doubled


def test_a_flow_is_recognised_whenever_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        segments([*foreign(700), *(replace(one, seq=one.seq + 700) for one in busy(300)[::2])])
    ]
    one_by_one = told(given, ONE_BY_ONE, 1 << 22)
    assert told(given, 64, 1 << 22).seen == one_by_one.seen != []


def test_a_run_is_decoded_where_its_bytes_are_enough() -> None:
    given = [segments(busy(1000))]
    asked = told(given, 0, 500).asked
    assert len(asked) > 10
    assert asked == told(given, ONE_BY_ONE, 500).asked


def shipped(chunks: Sequence[Segments], *, parted: bool) -> tuple[list[tuple[Key, Row]], object]:
    """What a piece ships, in the order of the capture, and what it says of that."""
    sniffer = Sniffer(
        DecodeSettings(), {"marked": MarkedStreams()}, Account(0, 0, []), SegmentFinder()
    )
    with pytest.MonkeyPatch.context() as patch:
        if not parted:
            patch.setattr(Sniffer, "_parted", lambda self, given: (given.take(NONE), given))
        parts = [part for chunk in chunks for part in sniffer.feed(chunk)]
    found = [row for part in [*parts, *sniffer.finish()] for row in part.one_by_one()]
    return sorted(found, key=lambda row: row[1][1]), sniffer.facts()


@settings(max_examples=30)
@given(stories, st.integers(1, 60))
def test_flows_that_are_known_are_shipped_without_a_look(
    rows: list[tuple[Key, Row]], size: int
) -> None:
    chunks = [segments_of(rows[at : at + size]) for at in range(0, len(rows), size)]
    assert shipped(chunks, parted=True) == shipped(chunks, parted=False)
