"""What the JGroups decoder does with frames as a whole: runs, recognition, damage, both modes."""

from functools import cache
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import EVENTS, Flag, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups import kernels as wire
from seqaudit.decoders.jgroups.datagrams import JGroupsDecoder
from seqaudit.decoders.jgroups.names import version_text
from seqaudit.decoders.network.packets import FrameOutcome
from tests.decoders.jgroups.builders import (
    EMPTY,
    OBJECT,
    OOB,
    V3_5_0,
    V4_2_22,
    V5_2_0,
    V5_6_0,
    A,
    B,
    C,
    Decoded,
    bits,
    data3,
    datagrams,
    header,
    i16,
    i32,
    listed,
    message,
    msg4,
    single,
    sized,
    text,
    tp,
    vlong,
    vpair,
    who,
    whos,
)

FORCED: Final = DecodeSettings(decode_as=(("udp", 7800, "jgroups"),))
RUN: Final = ("seqno", "stop_seqno", "count", "frame", "last_frame", "fresh_id", "last_fresh_id")

# Runs (decoders/README.md 3)


@pytest.mark.rule("decoders/README.md 3")
def test_consecutive_seqnos_of_a_stream_are_one_row_over_frames_and_lists() -> None:
    frames = [
        single(msg4(1)),
        single(msg4(1), by=B),
        listed(message(msg4(2), tp()), message(msg4(3), tp())),
        single(data3(1, first=True), to=B),
        single(msg4(4)),
    ]
    decoded = Decoded(frames)
    assert decoded.of(*RUN, "source") == [
        (1, 5, 4, 1, 5, 100, 104, A),
        (1, 2, 1, 2, 2, 101, 101, B),
        (1, 2, 1, 4, 4, 103, 103, A),
    ]
    run = next(row for row in decoded.rows if row.get("count") == 4)
    assert (run["at_ns"], run["last_at_ns"], run["index"]) == (0, 4000, 0)
    lists = 2 * len(message(msg4(2), tp()))
    assert run["size"] == len(single(msg4(1))) - 3 + lists + len(single(msg4(4))) - 3
    assert decoded.account["messages_by"] == {"nakack4": {"MSG": 5}, "unicast3": {"DATA": 1}}


VIEW: Final = single(
    header(12, 55, b"\5" + i16(0) + who(None)),
    msg4(1),
    by=C,
    payload=sized(i16(1) + who(C) + vlong(1) + whos(A, C)),
)
DIGEST: Final = single(
    header(13, 56, b"\1\0"), by=C, kind=OBJECT, payload=b"\1" + i16(10) + whos(A) + vpair(1, 2)
)


@pytest.mark.rule("decoders/README.md 3")
@pytest.mark.parametrize(
    "between",
    [
        None,
        single(header(77, 99, b"\5" + vlong(1)), by=B, to=A, kind=EMPTY),
        single(header(77, 99, b"\4" + vlong(1)), kind=EMPTY),
        single(header(77, 99, b"\2" + who(A)), by=B, to=A, kind=OBJECT,
               payload=b"\1" + i16(15) + bits([1], 1, 1)),
        single(header(77, 99, b"\3" + vlong(2)), to=B),
        single(msg4(2), flags=OOB),
        VIEW,
        DIGEST,
    ],
    ids=["barrier", "ACK", "HIGHEST_SEQNO", "XMIT_REQ", "XMIT_RSP", "OOB", "VIEW", "DIGEST"],
)  # fmt: skip
def test_a_run_ends_where_the_engine_must_order_something_against_it(between: bytes | None) -> None:
    seqno = 3 if between == single(msg4(2), flags=OOB) else 2
    rows = Decoded([single(msg4(1)), between, single(msg4(seqno))]).of("seqno", "count", "source")
    assert rows[0] == (1, 1, A)
    assert rows[-1] == (seqno, 1, A)


@pytest.mark.rule("decoders/README.md 3")
@pytest.mark.parametrize(
    ("between", "runs"),
    [
        (single(header(48, 82, b"\2" + vlong(1)), by=B, to=A, kind=EMPTY), 2),
        (single(header(48, 82, b"\1" + vlong(1) + i16(0) + vlong(1)), by=B, to=A, kind=EMPTY), 2),
        (single(header(48, 82, b"\4" + i16(0)), to=B, kind=EMPTY), 2),
        (single(data3(2, 5), to=B), 2),
        (single(data3(1), by=B, to=A), 1),
        (single(data3(1), to=C), 1),
        (single(msg4(2)), 1),
        (VIEW, 2),
        (DIGEST, 2),
    ],
)
def test_a_unicast_run_ends_at_events_of_its_direction_or_cluster(
    between: bytes, runs: int
) -> None:
    frames = [single(data3(1), to=B), between, single(data3(2), to=B)]
    found = Decoded(frames).of("stream", "kind", "count")
    own = [row[2] for row in found if row[:2] == (f"lab|{A}|{B}|0", Kind.DATA)]
    assert own == {1: [2], 2: [1, 1]}[runs]


@pytest.mark.rule("unicast B7")
@pytest.mark.parametrize(
    ("sent", "flags"),
    [
        ([single(data3(1), to=B), single(data3(2), to=B)], Flag.ALONE),
        ([listed(message(data3(1), tp()), message(data3(2), tp()), to=B)], Flag.LISTED),
        ([listed(message(data3(1), tp()), to=B), single(data3(2), to=B)], 0),
        ([single(data3(1), to=B), listed(message(data3(2), tp()), to=B)], 0),
    ],
)
def test_a_unicast_run_says_whether_its_messages_came_in_lists(
    sent: list[bytes], flags: int
) -> None:
    assert Decoded(sent).of("seqno", "count", "flags") == [(1, 2, flags)]


def test_a_multicast_in_the_list_of_another_member_is_marked() -> None:
    repaired = message(msg4(7), tp(), source=who(B))
    frames = [listed(message(msg4(1), tp()), repaired), single(msg4(8), by=B)]
    rows = Decoded(frames).of("source", "seqno", "flags")
    assert rows == [(A, 1, 0), (B, 7, Flag.MISFILED), (B, 8, 0)]


def test_other_flags_end_a_unicast_run() -> None:
    sent = [single(data3(n), to=B) for n in (1, 2, 3)]
    sent[1] = listed(message(data3(2), tp()), to=B)
    flags = np.array([Flag.REFUSED, Flag.REFUSED, 0], np.int64)
    rows = Decoded(sent, flags=flags).of("seqno", "count", "flags")
    assert rows == [(1, 2, Flag.REFUSED), (3, 1, Flag.ALONE)]


@pytest.mark.rule("decoders/README.md 3")
@given(st.lists(st.tuples(st.sampled_from([A, B]), st.integers(1, 6), st.sampled_from([0, OOB])),
                max_size=30))  # fmt: skip
@settings(max_examples=30)
def test_runs_are_what_joining_neighbours_gives(sent: list[tuple[str, int, int]]) -> None:
    frames = [single(msg4(seqno), by=by, flags=flags) for by, seqno, flags in sent]
    expected: list[list[Any]] = []
    last: dict[str, list[Any]] = {}
    for place, (by, seqno, flags) in enumerate(sent, 1):
        run = last.get(by)
        if run is not None and run[2] == seqno and run[3] == flags:
            run[2], run[4] = seqno + 1, place
        else:
            last[by] = [by, seqno, seqno + 1, flags, place]
            expected.append(last[by])
    rows = Decoded(frames).of("source", "seqno", "stop_seqno", "flags", "last_frame")
    assert rows == [tuple(run) for run in expected]


@pytest.mark.rule("decoders/README.md 4")
def test_a_full_table_loses_nothing() -> None:
    members = [C[:-4] + f"{n:04x}" for n in range(12_000)]
    assert len(members) > wire.MAX_MEMBERS
    decoded = Decoded([single(msg4(1), by=member) for member in members])
    assert sum(row["count"] for row in decoded.rows) == 12_000
    told = [row["source"] for row in decoded.rows if row["kind"] == Kind.MEMBER]
    assert told == members


@pytest.mark.rule("decoders/README.md 4")
def test_a_full_output_loses_nothing() -> None:
    """Every second seqno, so every message is a row, more of them than the output holds."""
    frames = [listed(*[message(msg4(n), tp()) for n in range(0, 3600, 2)])] * 20
    decoded = Decoded(frames)
    assert decoded.account["messages_by"] == {"nakack4": {"MSG": 36_000}}
    rows = decoded.of("frame", "index", "seqno", "count")
    assert rows == [(frame, n, 2 * n, 1) for frame in range(1, 21) for n in range(1800)]


@pytest.mark.rule("decoders/README.md 4")
@pytest.mark.parametrize(
    "part",
    [
        b"\0\0\0\0\0",
        b"\2\0\0" + b"\x10\0nn" + b"\0\0",
        b"\0\0\0" + i16(1) + header(77, 99, b"\1\0"),
        b"\0\0\0" + i16(2) + header(12, 55, b"\1\0\0\1") + header(77, 99, b"\1\0"),
        b"\0\0\0" + i16(2) + header(1025, 1234) + header(77, 99, b"\1\0"),
        b"\0\0\0" + i16(1) + header(57, 60, i16(1) + b"n"),
    ],
    ids=["no header", "sources", "numbered", "with a second row", "with a note", "clusters"],
)
def test_the_largest_datagram_fits_into_empty_tables(part: bytes) -> None:
    head = listed(version=V4_2_22)
    count = (65_535 - len(head)) // len(part)
    parts = [
        part.replace(b"nn", i16(n)).replace(b"\0\1n", b"\0\1" + bytes([33 + n % 90]))
        for n in range(count)
    ]
    frame = listed(*parts, version=V4_2_22)
    frame += bytes(65_535 - len(frame))
    decoded = Decoded([frame, single(msg4(1)), frame], FORCED)
    assert decoded.outcome[1] == FrameOutcome.DECODED
    known = decoded.account["messages_by"]
    assert sum(n for words in known.values() for n in words.values()) == 2 * count + 1


@pytest.mark.rule("decoders/README.md 4")
def test_a_full_table_of_streams_ends_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_STREAMS", 2)
    decoded = Decoded([single(msg4(n), by=by) for n in (1, 2) for by in (A, B, C)])
    assert decoded.of("source", "seqno", "count") == [
        (by, n, 1) for n in (1, 2) for by in (A, B, C)
    ]


# Recognition (replay/README.md 6, jgroups.md 1.7)


@pytest.mark.rule("jgroups.md 1.7")
@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x29",
        b"\x29\x80",
        b"\x29\x80\1",
        bytes.fromhex("2980010000010000000000000377777706676f6f676c6503636f6d0000010001"),  # DNS
        i16(V5_6_0) + b"\2" + message(header(20, 62), source=who(A)),  # no cluster, no seqno
        i16(V5_6_0) + b"\4" + single(msg4(1))[3:],
        i16(0x1000) + single(msg4(1))[2:],
        i16(0x3000) + single(msg4(1))[2:],
        listed(),
        b"\2\0\3" + who(A) + i16(1) + header(6, 53, b"\1" + text("lab") + b"\1"),
        b"GET / HTTP/1.1\r\n\r\n" * 10,
        bytes(200),
        b"\x29\x80" * 100,
    ],
)
def test_what_is_not_certainly_jgroups_is_left_alone_unless_forced(payload: bytes) -> None:
    decoded = Decoded([payload])
    assert (decoded.outcome, decoded.rows) == ([FrameOutcome.NOT_CLAIMED], [])
    assert decoded.account["sureness"] == {}
    if len(payload) >= 3:
        forced = Decoded([payload], FORCED)
        assert forced.outcome != [FrameOutcome.NOT_CLAIMED]
        assert sum(forced.account["sureness"].values()) == 1


@pytest.mark.rule("replay/README.md 6")
def test_a_port_of_another_system_is_not_looked_at() -> None:
    other = DecodeSettings(decode_as=(("udp", 7800, "feed"), ("tcp", 45588, "jgroups")))
    assert Decoded([single(msg4(1))], other).outcome == [FrameOutcome.NOT_CLAIMED]


@pytest.mark.rule("replay/README.md 6")
def test_a_frame_that_another_decoder_has_claimed_is_left_alone() -> None:
    given_ = datagrams([single(msg4(1))])
    given_.outcome[:] = FrameOutcome.DECODED
    assert JGroupsDecoder(DecodeSettings()).decode(given_) == []


@pytest.mark.rule("jgroups.md 1.3")
def test_a_list_with_a_cluster_name_is_certain_only_when_whole() -> None:
    whole = listed(message(header(20, 62), version=V4_2_22), version=V4_2_22)
    decoded = Decoded([whole, whole[:-1]])
    assert decoded.outcome == [FrameOutcome.DECODED, FrameOutcome.NOT_CLAIMED]
    assert decoded.account["messages_by"] == {"jgroups": {"FD_ALL": 1}}


# Cut and damaged frames (decoders/README.md 1)


@pytest.mark.rule("decoders/README.md 1")
def test_a_message_whose_payload_was_cut_by_the_snap_length_is_still_an_event() -> None:
    frame = listed(message(msg4(1), tp()), message(msg4(2), tp(), payload=sized(bytes(100))))
    decoded = Decoded([frame], cut=60)
    assert decoded.of("seqno", "count", "flags") == [(1, 2, Flag.CUT)]
    assert decoded.outcome == [FrameOutcome.TRUNCATED]
    assert decoded.account["sureness"] == {"likely": 1}
    sizes = len(message(msg4(1), tp())) + len(message(msg4(2), tp(), payload=sized(bytes(100))))
    assert [row["size"] for row in decoded.rows if "seqno" in row] == [sizes]


@pytest.mark.rule("decoders/README.md 1")
@pytest.mark.parametrize("cut", range(1, 60))
def test_a_cut_frame_is_truncated_and_the_same_bytes_alone_are_malformed(cut: int) -> None:
    frame = listed(message(msg4(1), tp()), message(msg4(2), tp()), message(msg4(3), tp()))
    alone = Decoded([frame[:-cut]])
    assert alone.outcome == [FrameOutcome.MALFORMED]
    short = Decoded([frame], cut=cut)
    assert short.outcome == [FrameOutcome.TRUNCATED]
    assert alone.account["undecoded"] == short.account["undecoded"] == {}


@pytest.mark.rule("decoders/README.md 1")
def test_an_object_cut_by_the_snap_length_is_no_fault_of_the_frame() -> None:
    asked = b"\1" + i16(15) + bits([5], 5, 65)
    frame = single(header(48, 82, b"\3"), to=B, kind=OBJECT, payload=asked)
    decoded = Decoded([frame], cut=8)
    assert decoded.of("wire_kind", "count", "seqno", "detail") == [("XMIT_REQ", 0, None, "[]")]
    assert (decoded.outcome, decoded.account["undecoded"]) == ([FrameOutcome.TRUNCATED], {})


@pytest.mark.rule("decoders/README.md 3")
def test_flags_of_the_datagram_and_its_ip_id_reach_the_row() -> None:
    given_ = datagrams([single(msg4(1)), single(msg4(2))], flags=Flag.MULTICAST)
    given_.flags[1] |= Flag.NETWORK_DUPLICATE
    given_.ip_id[0] = -1
    rows = [
        row
        for batch in JGroupsDecoder(DecodeSettings()).decode(given_)
        for row in batch.to_pylist()
        if row["kind"] == Kind.DATA
    ]
    assert [(row["flags"], row["fresh_id"], row["last_fresh_id"]) for row in rows] == [
        (Flag.MULTICAST, None, None),
        (Flag.MULTICAST | Flag.NETWORK_DUPLICATE, 101, 101),
    ]


@pytest.mark.rule("decoders/README.md 3")
def test_frames_carry_the_number_of_their_split() -> None:
    given_ = datagrams([single(msg4(1))])
    given_.split = 3
    given_.capture = 2
    batches = JGroupsDecoder(DecodeSettings()).decode(given_)
    assert {(row["frame"], row["capture"]) for b in batches for row in b.to_pylist()} == {
        (3 << 40 | 1, 2)
    }
    assert all(batch.schema == EVENTS for batch in batches)


def test_a_release_is_three_numbers() -> None:
    assert version_text(0x2980) == "5.6.0"


# Any bytes, in both modes (decoders/README.md 4)

NUMBERS: Final = st.integers(0, 70_000)
HEADS: Final = st.sampled_from(
    [
        header(12, 55, b"\5" + i16(0) + who(None)),
        header(12, 55, b"\2" + i16(0) + who(B)),
        header(13, 56, b"\1\1" + who(A) + vlong(2)),
        header(4, 52, vlong(7) + vlong(0) + vlong(2) + b"\0" + i16(0)),
        header(5, 53, b"\2" + text("lab") + b"\0"),
        header(38, 75, b"\0\0" + text("A") + b"\1"),
        header(1025, 1234, b"strange"),
        header(58, 88, b"\1\1" + b"\0" + who(None) + b"\0"),
        header(20, 62),
    ]
)
RELIABLE: Final = st.one_of(
    NUMBERS.map(msg4),
    NUMBERS.map(data3),
    NUMBERS.map(lambda n: header(77, 99, b"\3" + vlong(n))),
    NUMBERS.map(lambda n: header(78, 100, b"\1" + vlong(n) + i16(n) + vlong(n))),
    st.just(header(41, 78, b"\2" + who(A))),
    st.just(b""),
)
CONTENT: Final = st.sampled_from(
    [
        (0, sized(b"data")),
        (0, sized(i16(3) + who(A) + vlong(2) + whos(A, B) + i16(2) + vpair(3, 4) + vpair(0, 0))),
        (0, sized(i32(1) + who(A) + b"\0" + text("A") + b"\1" + i16(-1))),
        (2, b""),
        (3, b"\1" + i16(15) + bits([3, 99], 2, 128)),
        (3, b"\1" + i16(10) + whos(A) + vpair(2, 3)),
        (3, b"\1" + i16(77) + b"unknown"),
        (4, vlong(3)),
        (5, i32(2) + message() + message(msg4(3), tp())),
        (7, i32(1) + who(A) + message()),
        (33, b""),
    ]
)


@st.composite
def messages(draw: st.DrawFn, version: int, *, alone: bool) -> bytes:
    """A message as a member would write it."""
    kind, payload = draw(CONTENT)
    heads = [draw(HEADS)] if draw(st.booleans()) else []
    reliable = draw(RELIABLE)
    tail = [tp(version)] if alone or version >= 0x28C8 else []
    return message(
        *heads,
        *([reliable] if reliable else []),
        *tail,
        kind=kind,
        payload=payload,
        source=who(draw(st.sampled_from([A, B, C]))) if alone else None,
        flags=draw(st.sampled_from([0, 1, 0x10, 0x15])),
        version=version,
    )


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A frame of a member, whole, less its last byte, or with some bytes changed; or any bytes."""
    version = draw(st.sampled_from([V3_5_0, V4_2_22, V5_2_0, 0x28C8, V5_6_0]))
    if draw(st.integers(0, 9)) == 0:
        frame = draw(st.binary(max_size=80))
        return i16(version) + frame if draw(st.booleans()) else frame
    if draw(st.booleans()):
        frame = i16(version) + b"\2" + draw(messages(version, alone=True))
    else:
        parts = draw(st.lists(messages(version, alone=False), max_size=4))
        frame = listed(*parts, version=version, to=draw(st.sampled_from([None, B])))
    changed = bytearray(frame)
    for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.integers(0, 255))
    less = draw(st.sampled_from([0, 0, 0, 1, 7]))
    return bytes(changed[: len(changed) - less])


@cache
def compiled_once() -> None:
    """Compiling takes seconds, which are no example's."""
    Decoded([single(msg4(1))], compile_it=True)


@pytest.mark.rule("decoders/README.md 4")
@pytest.mark.parametrize("pad", [b"", b"\xff" * 20])
@given(st.lists(st.one_of(frames(), st.none()), min_size=1, max_size=6), st.sampled_from([0, 0, 9]),
       st.booleans())  # fmt: skip
@settings(max_examples=75)
def test_no_bytes_raise_and_both_modes_agree(
    pad: bytes, payloads: list[bytes | None], cut: int, force: bool
) -> None:
    compiled_once()
    choice = FORCED if force else DecodeSettings()
    plain = Decoded(payloads, choice, cut=cut, pad=pad)
    fast = Decoded(payloads, choice, cut=cut, pad=pad, compile_it=True)
    assert plain.rows == fast.rows
    assert plain.outcome == fast.outcome
    assert plain.account == fast.account
    known = sum(n for words in plain.account["messages_by"].values() for n in words.values())
    assert known >= sum(
        row["count"] for row in plain.rows if row["kind"] in (Kind.DATA, Kind.RETRANSMISSION)
    )


@pytest.mark.rule("decoders/README.md 4")
@given(st.lists(st.binary(max_size=64), max_size=4), st.booleans())
@settings(max_examples=100)
def test_random_bytes_never_raise_and_are_never_claimed_for_certain(
    payloads: list[bytes | None], force: bool
) -> None:
    decoded = Decoded(payloads, FORCED if force else DecodeSettings())
    assert decoded.account["sureness"].get("certain", 0) == 0


@pytest.mark.rule("decoders/README.md 4")
def test_what_follows_the_datagram_in_the_chunk_does_not_matter() -> None:
    """A read past the end would see it; interpreted, at the end of the chunk it would raise."""
    frame = listed(*[message(msg4(n), tp()) for n in (1, 2)])
    for size in range(len(frame)):
        for kind in (0, 255):
            alone = Decoded([frame[:size]], FORCED)
            padded = Decoded([frame[:size]], FORCED, pad=bytes([kind]) * 40)
            assert (alone.outcome, alone.rows) == (padded.outcome, padded.rows)


V3_2_12: Final = 0x188C


@pytest.mark.parametrize("compile_it", [False, True])
def test_a_release_before_those_that_are_decoded_is_named_and_not_half_decoded(
    *, compile_it: bool
) -> None:
    old = [single(data3(n), to=B, version=V3_2_12) for n in (1, 2)]
    decoded = Decoded([*old, single(msg4(1))], compile_it=compile_it)
    assert decoded.outcome == [
        FrameOutcome.UNDECODABLE,
        FrameOutcome.UNDECODABLE,
        FrameOutcome.DECODED,
    ]
    assert decoded.of("seqno", "source") == [(1, A)]
    assert decoded.account["undecoded"] == {
        "JGroups 3.2.12 is older than 3.5, the first that is decoded": 2
    }
    assert decoded.account["versions"] == {"3.2.12": 2, "5.6.0": 1}
