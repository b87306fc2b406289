"""JGroups over TCP (jgroups.md 1.9): preamble, frames, control words; whole captures, any cut."""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.contract.events import END, EVENTS, FRAME_BITS, HOLE, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups import tcp as jgroups_tcp
from seqaudit.decoders.jgroups.tcp import JGroupsFraming, JGroupsStreams
from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.stages.first import decode_piece, reassemble
from seqaudit.decoders.stages.tcp import TcpAssembler
from seqaudit.decoders.tcp.framing import Match
from seqaudit.decoders.tcp.segments import Segments
from seqaudit.decoders.tcp.wire import ACK, FIN
from seqaudit.pipeline.proofs import torn_carriers
from seqaudit.pipeline.shared.ordered import ordered
from tests.decoders.jgroups.builders import (
    EMPTY,
    A,
    B,
    data3,
    header,
    i16,
    i32,
    listed,
    message,
    msg4,
    single,
    text,
    tp,
    who,
)
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, write
from tests.decoders.tcp.builders import Segment, account_total, handshake, segments

CLIENT: Final = 1001
SERVER: Final = 5001
FIXTURE: Final = Path(__file__).parents[3] / "fixtures" / "jgroups" / "tcp-first-lost-1"


def framed(*frames: bytes) -> bytes:
    return b"".join(i32(len(frame)) + frame for frame in frames)


def preamble(address: str = "10.0.0.2", port: int = 7800) -> bytes:
    raw = bytes(map(int, address.split(".")))
    return b"bela" + i16(0x2980) + i16(7) + b"\4" + raw + i16(port)


CLOSE: Final = i32(-5)


def sent(*streams: tuple[int, bytes]) -> list[Segment]:
    """Handshake, then one segment a stretch, direction by direction at its place."""
    at = [SERVER, CLIENT]
    found = handshake()
    for direction, stretch in streams:
        found.append(Segment(direction, at[direction], stretch, ack=at[1 - direction]))
        at[direction] += len(stretch)
    return found


class Run:
    """Segments decoded as what they are."""

    def __init__(self, given: Sequence[Segment] | Segments, *, compile_it: bool = False) -> None:
        settings = DecodeSettings(compile_it=compile_it)
        assembler = TcpAssembler(settings, {"jgroups": JGroupsStreams(settings)})
        columns = given if isinstance(given, Segments) else segments(given)
        self.batches = [*assembler.feed(columns), *assembler.finish()]
        self.rows = ordered(pa.Table.from_batches(self.batches, EVENTS), "conversation").to_pylist()
        self.account = account_total(self.batches)
        self.details = [
            json.loads(row["detail"]) for row in self.rows if row["kind"] == Kind.ACCOUNT
        ]

    def of(self, *kinds: Kind) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["kind"] in kinds]

    @property
    def messages(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for detail in self.details:
            for system, words in detail["messages_by"].items():
                found.update({f"{system} {word}": count for word, count in words.items()})
        return found


DATA: Final = single(data3(1, first=True), to=B, by=A)
MSG: Final = single(msg4(1), by=A)
ANSWER: Final = single(data3(1, first=True), to=A, by=B)


# -- what is whose --------------------------------------------------------------------------------


def test_the_preamble_says_it_all() -> None:
    streams = JGroupsStreams(DecodeSettings())
    assert streams.recognise(preamble()[:3], True) == Match.UNDECIDED
    assert streams.recognise(preamble()[:6], True) == Match.YES
    assert streams.recognise(preamble(), False) == Match.YES
    assert streams.recognise(b"bela" + i16(0x5000) + b"....", True) == Match.NO


def test_two_frames_in_a_row_are_jgroups_one_is_likely() -> None:
    streams = JGroupsStreams(DecodeSettings())
    for began in (True, False):
        assert streams.recognise(framed(DATA, MSG), began) == Match.YES
        assert streams.recognise(framed(DATA, MSG[:20]), began) == Match.YES
        assert streams.recognise(framed(DATA), began) == Match.LIKELY
        assert streams.recognise(framed(DATA)[:30], began) == Match.LIKELY
    assert streams.recognise(b"..." + framed(DATA, MSG), False) == Match.YES
    assert streams.recognise(b"..." + framed(DATA, MSG), True) == Match.NO
    assert streams.recognise(DATA[9:] + framed(MSG, DATA), False) == Match.YES


@pytest.mark.parametrize(
    "begin",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"\x00\x00\x00\x20" + bytes(100),
        bytes(200),
    ],
)
def test_other_protocols_are_told_at_once_where_their_begin_is_seen(begin: bytes) -> None:
    assert JGroupsStreams(DecodeSettings()).recognise(begin, True) == Match.NO


def test_lengths_that_lead_from_one_to_the_next_are_not_enough() -> None:
    """A controller's protocol has a length, two small numbers and zeros in the same places."""
    streams = JGroupsStreams(DecodeSettings())
    record = i16(0x1968) + bytes(5) + b"\x7f\x18" + bytes(85)
    many = framed(*[record] * 40)
    assert streams.recognise(many, True) == Match.NO
    assert streams.recognise(many, False) == Match.UNDECIDED
    padded = many + bytes(jgroups_tcp.SEARCHED)
    assert streams.recognise(padded, False) == Match.NO
    assert streams.recognise(framed(record, record, DATA, MSG), True) == Match.NO
    assert streams.recognise(framed(record, DATA, MSG), False) == Match.YES


def test_without_a_begin_the_search_ends() -> None:
    streams = JGroupsStreams(DecodeSettings())
    assert streams.recognise(b"x" * 1000, False) == Match.UNDECIDED
    assert streams.recognise(b"x" * jgroups_tcp.SEARCHED, False) == Match.NO


# -- rows -----------------------------------------------------------------------------------------


def test_the_preamble_states_where_its_sender_listens() -> None:
    """The source port is any; the accepting side listens where it was reached."""
    run = Run(sent((1, preamble(port=7801) + framed(DATA)), (0, framed(ANSWER))))
    told = {row["source"]: json.loads(row["detail"]) for row in run.of(Kind.MEMBER)}
    assert told[A] == {"address": "10.0.0.2:7801", "version": "5.6.0"}
    assert told[B] == {"address": "10.0.0.1:7800", "version": "5.6.0"}
    assert run.messages == {"jgroups tcp-preamble": 1, "unicast3 DATA": 2}
    assert run.account["frames_by"] == {"decoded": 4}


def test_without_a_preamble_the_end_of_the_connection_stands_for_it() -> None:
    run = Run([Segment(1, 1, framed(DATA, MSG))])
    told = {json.loads(row["detail"])["address"] for row in run.of(Kind.MEMBER)}
    assert told == {"10.0.0.2:50000"}


def test_a_preamble_of_ipv6() -> None:
    body = b"\x10" + bytes(15) + b"\1" + i32(0) + i16(7800)
    run = Run(sent((1, b"bela" + i16(0x2980) + i16(len(body)) + body + framed(DATA))))
    assert json.loads(run.of(Kind.MEMBER)[0]["detail"])["address"] == "[::1]:7800"


def test_a_message_to_all_names_the_member_that_the_connection_leads_to() -> None:
    """Also where that member speaks only later; over UDP there is no destination."""
    again = single(msg4(2), by=A)
    run = Run(sent((1, preamble() + framed(MSG)), (0, framed(ANSWER)), (1, framed(again))))
    rows = [row for row in run.of(Kind.DATA) if row["system"] == "nakack4"]
    assert [(row["seqno"], row["source"], row["destination"]) for row in rows] == [
        (1, A, B),
        (2, A, B),
    ]
    assert {row["fresh_id"] for row in rows} == {None}
    assert {row["flags"] for row in rows} == {0}


def test_a_member_that_never_speaks_has_no_name() -> None:
    run = Run(sent((1, preamble() + framed(MSG))))
    assert [row["destination"] for row in run.of(Kind.DATA)] == [None]


def test_messages_that_share_a_segment_have_an_order_of_their_own() -> None:
    """A run may last within one segment only; between two anything may have happened."""
    frames = [single(data3(n), to=B, by=A) for n in (1, 2)]
    frames += [single(data3(7), to=B, by=A), single(msg4(1), by=A)]
    more = single(data3(8), to=B, by=A)
    run = Run(sent((1, preamble() + framed(*frames)), (1, framed(more)), (0, framed(ANSWER))))
    found = [row for row in run.of(Kind.DATA) if row["source"] == A]
    found.sort(key=lambda row: (row["frame"], row["index"]))
    assert [(row["frame"], row["seqno"], row["count"]) for row in found] == [
        (3, 1, 2),
        (3, 7, 1),
        (3, 1, 1),
        (4, 8, 1),
    ]
    assert len({row["index"] for row in found[:3]}) == 3


def test_a_list_and_a_graceful_close() -> None:
    two = listed(message(data3(1)), message(data3(2)), to=B, by=A)
    given = sent((1, preamble() + framed(two) + CLOSE))
    given.append(Segment(1, CLIENT + len(given[-1].payload), flags=FIN | ACK))
    run = Run(given)
    assert [(row["seqno"], row["count"]) for row in run.of(Kind.DATA)] == [(1, 2)]
    assert run.account["tcp"] == {"flows": 1, "frames": 3, "graceful_closes": 1}
    assert run.account["frames_by"] == {"decoded": 4}


def test_of_a_message_longer_than_any_datagram_only_the_payload_is_not_read() -> None:
    long = single(data3(1), to=B, by=A, payload=i32(100_000) + bytes(100_000))
    stream = preamble() + framed(long, DATA)
    run = Run(sent(*((1, stream[at : at + 1400]) for at in range(0, len(stream), 1400))))
    assert run.messages["unicast3 DATA"] == 2
    assert "undecodable" not in run.account["frames_by"]
    assert run.account["undecoded"] == {}


def long_list(count: int, sizes: dict[int, int]) -> bytes:
    """DATA 1..count to B; payloads of 40 bytes, but for some."""
    payloads = {n: i32(sizes.get(n, 40)) + bytes(sizes.get(n, 40)) for n in range(1, count + 1)}
    return listed(
        *(message(data3(n), tp(), payload=payloads[n]) for n in payloads), to=B, by=A
    )  # fmt: skip


@pytest.mark.parametrize(
    "sizes",
    [{}, {1: 70_000}, {700: 200_000}, {2500: 65_000, 2501: 65_000}, {3000: 100_000}],
    ids=["even", "first", "middle", "two", "last"],
)
def test_a_list_longer_than_any_datagram_is_read_to_its_end(sizes: dict[int, int]) -> None:
    frame = long_list(3000, sizes)
    assert len(frame) > 3 * 65_535
    stream = preamble() + framed(DATA, frame, DATA)
    run = Run(sent(*((1, stream[at : at + 50_000]) for at in range(0, len(stream), 50_000))))
    rows = [row for row in run.of(Kind.DATA) if row["count"] > 1 or row["seqno"] > 1]
    assert run.messages["unicast3 DATA"] == 3002
    seqnos = [n for row in rows for n in range(row["seqno"], row["stop_seqno"])]
    assert seqnos[-2999:] == list(range(2, 3001))
    order = [(row["frame"], row["index"]) for row in rows]
    assert order == sorted(set(order))
    assert run.account["frames_by"] == {"decoded": sum(run.account["frames_by"].values())}
    assert run.account["tcp"]["frames"] == 4
    (told,) = [detail for detail in run.details if detail.get("datagrams")]
    assert told["datagrams"] == {"bare": 0, "list": 1, "single": 2}
    assert told["versions"] == {"5.6.0": 3}
    assert told["clusters"] == {"lab": 3}
    assert sum(told["sureness"].values()) == 3


@given(st.binary(min_size=1, max_size=40), st.integers(0, 1200))
@settings(max_examples=25)
def test_whatever_a_long_frame_holds_it_is_counted_once(noise: bytes, kept: int) -> None:
    frame = long_list(kept, {})[:-4] + noise * (70_000 // len(noise))
    run = Run(sent((1, preamble() + framed(frame, DATA))))
    assert run.account["tcp"]["frames"] == 3
    assert run.messages["unicast3 DATA"] >= 1


@pytest.mark.parametrize("length", range(1, 30))
def test_a_frame_that_ends_within_its_addresses_names_no_sender(length: int) -> None:
    run = Run(sent((1, preamble() + framed(DATA[:length], MSG)), (0, framed(ANSWER))))
    assert [row["seqno"] for row in run.of(Kind.DATA) if row["system"] == "nakack4"] == [1]


def test_a_frame_that_is_no_jgroups_frame_is_counted() -> None:
    run = Run(sent((1, preamble() + framed(b"\x29\x80\0\0\2\3 what is this", DATA))))
    assert run.messages["unicast3 DATA"] == 1
    assert sum(run.account["frames_by"].values()) == 3
    assert run.account["frames_by"].get("decoded") == 2


# -- holes ----------------------------------------------------------------------------------------


def test_behind_a_hole_two_frames_in_a_row_are_sought() -> None:
    frames = [single(data3(n), to=B, by=A) for n in range(1, 7)]
    stream = preamble() + framed(*frames)
    low, high = len(preamble() + framed(*frames[:2])) + 9, len(preamble() + framed(*frames[:3])) + 5
    given = sent((1, stream[:low]))
    given.append(Segment(1, CLIENT + high, stream[high:]))
    end = CLIENT + len(stream)
    given += [Segment(0, SERVER, ack=end), Segment(0, SERVER, ack=end, ms=3000)]
    run = Run(given)
    assert [row["seqno"] for row in run.of(Kind.DATA)] == [1, 5]
    assert [row["count"] for row in run.of(Kind.DATA)] == [2, 2]
    assert run.account["tcp"]["hole_bytes"] == high - low
    assert run.account["tcp"]["resyncs"] == 1


def holes_of(run: Run) -> list[tuple[Any, ...]]:
    """(conversation, source, destination, frame, bytes and what else is told)"""
    columns = ("conversation", "source", "destination", "frame", "detail")
    return [
        tuple(row[name] for name in columns)
        for row in run.of(Kind.NOTICE)
        if row["wire_kind"] == HOLE
    ]


@pytest.mark.parametrize("answers", [True, False])
def test_a_hole_is_told_to_every_conversation_that_the_connection_carries(answers: bool) -> None:
    # Also before its receiver has said who it is; one that never does has no name.
    frames = [single(data3(n), to=B, by=A) for n in range(1, 7)]
    stream = preamble() + framed(*frames)
    low, high = len(preamble() + framed(*frames[:2])), len(preamble() + framed(*frames[:3]))
    given = sent((1, stream[:low]))
    given.append(Segment(1, CLIENT + high, stream[high:]))
    end = CLIENT + len(stream)
    given += [Segment(0, SERVER, ack=end), Segment(0, SERVER, ack=end, ms=3000)]
    given += [Segment(0, SERVER, framed(ANSWER), ack=end)] if answers else []
    run = Run(given)
    before, behind = run.of(Kind.DATA)[0], run.of(Kind.DATA)[1]
    assert holes_of(run) == [
        (name, A, B if answers else None, behind["frame"],
         f'{{"bytes":{high - low},"since":{before["last_frame"]}}}')
        for name in ("mcast|lab", "unicast|lab")
    ]  # fmt: skip


def test_a_hole_is_told_to_a_cluster_too_that_the_connection_shows_only_later() -> None:
    frames = [single(data3(n), to=B, by=A) for n in range(1, 7)]
    stream = preamble() + framed(*frames)
    low, high = len(preamble() + framed(*frames[:2])), len(preamble() + framed(*frames[:3]))
    given = sent((0, framed(ANSWER)), (1, stream[:low]))
    given.append(Segment(1, CLIENT + high, stream[high:]))
    end, back = CLIENT + len(stream), SERVER + len(framed(ANSWER))
    given += [Segment(0, back, ack=end), Segment(0, back, ack=end, ms=3000)]
    later = framed(listed(message(data3(7)), to=B, by=A, cluster="other"))
    settings = DecodeSettings(compile_it=False)
    assembler = TcpAssembler(settings, {"jgroups": JGroupsStreams(settings)})
    batches = list(assembler.feed(segments(given)))
    batches += assembler.feed(segments([Segment(1, end, later, ack=back, ms=4000)]))
    rows = pa.Table.from_batches([*batches, *assembler.finish()], EVENTS).to_pylist()
    told = [row["conversation"] for row in rows if row["wire_kind"] == HOLE]
    assert sorted(told) == ["mcast|lab", "mcast|other", "unicast|lab", "unicast|other"]


@pytest.mark.parametrize("seen", [True, False])
def test_an_end_that_nothing_shows_is_told_as_a_hole_is(seen: bool) -> None:
    stream, back = preamble() + framed(single(data3(1), to=B, by=A)), framed(ANSWER)
    given = sent((1, stream), (0, back))
    if seen:
        given += [
            Segment(1, CLIENT + len(stream), flags=ACK | FIN),
            Segment(0, SERVER + len(back), flags=ACK | FIN),
        ]
    ends = [row for row in Run(given).of(Kind.NOTICE) if row["wire_kind"] == END]
    told = {(row["conversation"], row["source"], row["destination"]) for row in ends}
    every = {(name, *way) for name in ("mcast|lab", "unicast|lab") for way in ((A, B), (B, A))}
    assert told == (set() if seen else every)


# -- the kernel, cuts, hypothesis -----------------------------------------------------------------


FRAMES: Final = st.lists(
    st.one_of(
        st.integers(1, 1 << 40).map(lambda n: single(data3(n), to=B, by=A)),
        st.integers(1, 1 << 40).map(lambda n: single(msg4(n), by=A)),
        st.lists(st.integers(1, 99), min_size=1, max_size=4).map(
            lambda ns: listed(*(message(data3(n)) for n in ns), to=B, by=A)
        ),
        st.binary(min_size=0, max_size=300).map(
            lambda raw: single(data3(5), to=B, by=A, payload=i32(len(raw)) + raw)
        ),
    ),
    min_size=1,
    max_size=12,
)


def expanded(run: Run) -> list[tuple[Any, ...]]:
    """(stream, seqno, frame) of every numbered message, in order."""
    return sorted(
        (row["stream"], seqno, row["frame"])
        for row in run.of(Kind.DATA)
        for seqno in range(row["seqno"], row["stop_seqno"])
    )


@given(FRAMES, st.data())
def test_any_cut_into_segments_gives_the_same_messages(
    frames: list[bytes], data: st.DataObject
) -> None:
    stream = preamble() + framed(*frames)
    cuts = data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=12))
    borders = [0, *sorted(cuts), len(stream)]
    parts = [stream[low:high] for low, high in pairwise(borders)]
    run = Run(sent(*((1, part) for part in parts)))
    whole = Run(sent((1, stream)))
    assert [(s, n) for s, n, _ in expanded(run)] == [(s, n) for s, n, _ in expanded(whole)]
    assert run.messages == whole.messages
    assert run.account["frames_by"] == {"decoded": 2 + len(parts)}
    ends = [len(preamble() + framed(*frames[: n + 1])) for n in range(len(frames))]
    complete = [3 + next(i for i, high in enumerate(borders[1:]) if high >= end) for end in ends]
    assert {frame for *_, frame in expanded(run)} == set(complete)


@given(FRAMES, st.integers(0, 400), st.binary(max_size=40))
def test_a_stream_is_found_wherever_the_capture_begins(
    frames: list[bytes], skip: int, rest: bytes
) -> None:
    stream = framed(*frames)
    skip = min(skip, len(stream))
    run = Run([Segment(1, 1, stream[skip:] + rest)])
    ends = [len(framed(*frames[:n])) for n in range(len(frames) + 1)]
    whole = sum(end >= skip for end in ends[:-1])
    assert run.messages.total() <= Run([Segment(1, 1, stream)]).messages.total() or whole == 1
    if whole > 2 and not rest:
        assert run.account["frames_by"] == {"decoded": 1}


@given(st.binary(max_size=200), st.sampled_from([-1, 0, 0x2980]), st.integers(1, 5))
def test_both_forms_of_the_kernel_walk_alike(tail: bytes, strict: int, room: int) -> None:
    data = preamble() + framed(DATA, MSG) + CLOSE + framed(DATA)[: len(tail)] + tail
    results = []
    for compile_it in (False, True):
        walk = kernels.kernel("jgroups.tcp_kernels", compile_it=compile_it).walk
        columns = [np.zeros(room, np.int64) for _ in range(3)]
        arrays = [kernels.argument(column, compile_it=compile_it) for column in columns]
        raw = kernels.data_argument(data, compile_it=compile_it)
        told = walk(raw, 0, len(data), strict, *arrays, room)
        results.append((tuple(map(int, told)), [column.tolist() for column in columns]))
    assert results[0] == results[1]


@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_framed_without_an_error(tail: bytes, began: bool) -> None:
    given = [*handshake()] if began else []
    run = Run(
        [*given, Segment(1, CLIENT, (preamble() if began else b"") + framed(MSG, DATA) + tail)]
    )
    assert sum(run.account["frames_by"].values()) == len(given) + 1


# -- captures -------------------------------------------------------------------------------------


def decode(path: str, cuts: Sequence[int] = (), *, compile_it: bool = False) -> "Capture":
    """Both stages as the job runs them: again where a piece did not know a connection."""
    pieces = plan_pieces(path, 0, 0, 1 << 40, cuts=list(cuts))
    settings = DecodeSettings(compile_it=compile_it, finish_fragments=len(pieces) == 1)
    for _ in range(3):
        batches = [batch for piece in pieces for batch in decode_piece(piece, settings)]
        rows = pa.Table.from_batches(batches, EVENTS)
        accounts = [
            json.loads(row["detail"]) | {"capture": 0}
            for row in rows.to_pylist()
            if row["kind"] == Kind.ACCOUNT
        ]
        torn = torn_carriers(accounts)
        if not torn - settings.carriers:
            break
        settings = DecodeSettings(compile_it=compile_it, carriers=torn | settings.carriers)
    else:
        raise AssertionError("every run tore another connection")
    if len(pieces) > 1:
        table = ordered(rows, "carrier")
        rows = pa.Table.from_batches(reassemble(table.to_batches(), settings), EVENTS)
    return Capture(rows.to_pylist())


class Capture:
    """All rows of a capture; frames are counted over its pieces."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        accounts = [json.loads(r["detail"]) for r in rows if r["kind"] == Kind.ACCOUNT]
        frames = Counter[int]()
        self.counts: dict[str, Counter[str]] = {}
        self.endpoints = Counter[tuple[Any, ...]]()
        for account in accounts:
            frames[account["piece"]] += account["frames"]
            for name in ("frames_by", "tcp", "undecoded", "sureness", "datagrams", "versions"):
                self.counts.setdefault(name, Counter()).update(account.get(name) or {})
            for system, words in account["messages_by"].items():
                self.counts.setdefault(system, Counter()).update(words)
            for *key, count, size in account["endpoints"]:
                self.endpoints.update({(*key, "frames"): count, (*key, "bytes"): size})
        before = {piece: sum(frames[p] for p in frames if p < piece) for piece in frames}
        self.events: list[dict[str, Any]] = []
        members: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in rows:
            if row["kind"] == Kind.ACCOUNT:
                continue
            for name in ("frame", "last_frame"):
                split = row[name] >> FRAME_BITS
                row[name] = before[split] + (row[name] & ((1 << FRAME_BITS) - 1))
            if row["kind"] == Kind.MEMBER:
                members.setdefault((row["source"], row["detail"]), row)
            else:
                self.events.append(row)
        self.members = sorted(members)
        self.events.sort(key=lambda row: json.dumps(row, default=str))


def assert_same(one: Capture, other: Capture) -> None:
    assert one.events == other.events
    assert one.members == other.members
    assert one.counts == other.counts
    assert one.endpoints == other.endpoints


@pytest.mark.parametrize("member", ["A", "B", "C"])
def test_a_capture_cut_anywhere_gives_the_same(member: str) -> None:
    path = FIXTURE / f"{member}.pcap"
    whole = decode(str(path))
    offsets = record_offsets(path.read_bytes())[1:-1]
    assert_same(decode(str(path), offsets), whole)
    for step in (2, 7, 31):
        assert_same(decode(str(path), offsets[step // 2 :: step]), whole)
    assert_same(decode(str(path), compile_it=True), whole)


@pytest.mark.parametrize("member", ["A", "B", "C"])
def test_counts_are_those_of_the_recording(member: str) -> None:
    truth = json.loads((FIXTURE / "truth.json").read_text(encoding="utf-8"))["captures"][member]
    found = decode(str(FIXTURE / f"{member}.pcap"))
    assert found.counts["frames_by"].total() == truth["packets"]
    assert found.counts["jgroups"]["tcp-preamble"] == truth["decoded"]["tcp-preamble"]
    assert found.counts["unicast3"]["DATA"] == truth["decoded"]["U3 DATA"]
    assert found.counts["nakack2"]["MSG"] == truth["decoded"]["N2 MSG"]


def tcp(segment: Segment) -> bytes:
    """A segment as a frame."""
    ports = (7800, 50000) if segment.direction == 0 else (50000, 7800)
    ends = ("10.0.0.1", "10.0.0.2") if segment.direction == 0 else ("10.0.0.2", "10.0.0.1")
    header = b"".join(map(i16, ports)) + i32(segment.seq) + i32(segment.ack)
    header += bytes([0x50, segment.flags]) + i16(8192) + bytes(4)
    return ethernet(ipv4(header + segment.payload, *ends, protocol=6))


@settings(max_examples=20)
@given(frames=FRAMES, cuts=st.lists(st.integers(24, 4000), max_size=4), data=st.data())
def test_pieces_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory, frames: list[bytes], cuts: list[int], data: Any
) -> None:
    stream = preamble() + framed(*frames)
    borders = sorted({0, *data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=8)),
                      len(stream)})  # fmt: skip
    given = sent(*((1, stream[low:high]) for low, high in pairwise(borders)), (0, framed(ANSWER)))
    if data.draw(st.booleans()):
        given = given[data.draw(st.integers(1, len(given))) :]
    content = pcap([tcp(segment) for segment in given])
    path = write(tmp_path_factory.mktemp("cut") / "a.pcap", content)
    offsets = record_offsets(content)[1:-1]
    chosen = {offsets[cut % len(offsets)] for cut in cuts if offsets}
    whole, cut = decode(path), decode(path, sorted(chosen))
    assert cut.counts["frames_by"].total() == len(given)
    if whole.counts["tcp"]["flows"] == cut.counts["tcp"]["flows"]:
        assert_same(cut, whole)
    else:  # a header of a frame that two pieces share, and no other that either knows
        assert not whole.counts["tcp"]["flows"] or whole.counts["tcp"]["frames"] <= 3


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("member", ["A", "B", "C"])
def test_tshark_puts_the_same_bytes_together(member: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, int]] = []
    take = jgroups_tcp.JGroupsFraming.split

    def counted(self: Any, data: bytes, final: bool) -> Any:
        split = take(self, data, final)
        seen.append((self, split.consumed))
        return split

    monkeypatch.setattr(jgroups_tcp.JGroupsFraming, "split", counted)
    path = FIXTURE / f"{member}.pcap"
    decode(str(path))
    found = Counter[int]()
    for framing, size in seen:
        found[id(framing)] += size
    assert sorted(size for size in found.values() if size) == sorted(tshark_bytes(path))


def tshark_bytes(path: Path) -> Iterator[int]:
    """Bytes of each direction of each TCP stream: its highest relative seqno that has payload."""
    fields = ["tcp.stream", "ip.src", "tcp.seq", "tcp.len"]
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp.len>0", "-T", "fields"]
    for name in fields:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ends: dict[tuple[str, str], int] = {}
    for line in done.stdout.splitlines():
        stream, source, seq, length = line.split("\t")
        key = stream, source
        ends[key] = max(ends.get(key, 0), int(seq) - 1 + int(length))
    yield from ends.values()


@settings(max_examples=150)
@given(st.lists(st.sampled_from([b"\0", b"\0", b"\x18", b"\x2b", b"\x2c", b"\3", b"\4", b"\7",
                                 b"bela", b"bela\x28\1\0\x07"]), max_size=40))  # fmt: skip
def test_candidates_are_all_places_at_which_their_pattern_matches(parts: list[bytes]) -> None:
    data = b"".join(parts)
    expected = [found.start() for found in jgroups_tcp.CANDIDATE.finditer(data)]
    assert jgroups_tcp._candidates(data) == expected


@pytest.mark.rule("jgroups.md 1.10")
@pytest.mark.parametrize("compile_it", [False, True])
def test_who_answers_with_fd_sock2_has_neither_preamble_nor_version(compile_it: bool) -> None:
    says = header(71, 93, b"\4" + i32(0) + text("lab") + who(B))
    stream = framed(*[message(says, source=who(A), kind=EMPTY)[2:]] * 2)
    split = JGroupsFraming(True, compile_it=compile_it).split(stream, True)
    assert split.stops.tolist() == [len(stream) // 2, len(stream)]
    assert (split.skipped, split.resyncs) == ([], 0)
