"""zenoh over TCP: lengths before batches, and finding them again (zenoh.md 2.1 to 2.3)."""

import json
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import HOLE
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import argument, data_argument, kernel
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.tcp.framing import Connection, ConnectionEnd, Match, StreamFrames
from seqaudit.decoders.zenoh import tcp as zenoh_tcp
from seqaudit.decoders.zenoh.tcp import ZenohFraming, ZenohStreamDecoder, ZenohStreams
from tests.decoders.zenoh import builders as z

SYSTEM = ZenohStreams(DecodeSettings())
INIT, OPEN = z.init(), z.opened(5)
SAMPLES = [z.frame(n, z.push(z.put(n))) for n in range(6)]


def framed(*batches: bytes, width: int = 2) -> bytes:
    return b"".join(len(b).to_bytes(width, "little") + b for b in batches)


def split(data: bytes, *, began: bool = True, final: bool = True) -> tuple[list[bytes], int]:
    found = ZenohFraming(began, compile_it=False).split(data, final)
    frames = [data[a:b] for a, b in zip(found.starts.tolist(), found.stops.tolist(), strict=True)]
    return frames, sum(b - a for a, b in found.skipped)


def test_two_bytes_of_length_before_every_batch() -> None:
    assert split(framed(INIT, OPEN, *SAMPLES)) == ([INIT, OPEN, *SAMPLES], 0)


def test_four_bytes_on_a_low_latency_link_once_it_is_open() -> None:
    messages = [z.push(z.put(n)) for n in range(3)] + [b"\x04"]
    data = framed(INIT, OPEN) + framed(*messages, width=4)
    assert split(data) == ([INIT, OPEN, *messages], 0)


@pytest.mark.parametrize("final", [False, True])
def test_a_keep_alive_right_behind_the_open_needs_no_byte_behind_it(final: bool) -> None:
    data = framed(INIT, OPEN, b"\x04")
    assert split(data, final=final) == ([INIT, OPEN, b"\x04"], 0)
    low_latency = framed(INIT, OPEN) + framed(b"\x04", width=4)
    assert split(low_latency, final=final) == ([INIT, OPEN, b"\x04"], 0)


def test_the_width_of_lengths_waits_for_the_bytes_that_show_it() -> None:
    message = z.push(z.put(0))
    opened, data = framed(INIT, OPEN), framed(message, width=4)
    for size, wanted in ((1, 3), (2, 3), (3, 4), (4, 4 + len(message))):
        found = ZenohFraming(True, compile_it=False).split(opened + data[:size], False)
        assert (len(found.starts), found.consumed) == (2, len(opened))
        assert found.wanted == wanted
        assert found.skipped == []


def test_an_incomplete_batch_waits() -> None:
    data = framed(INIT, OPEN, SAMPLES[0])
    for cut in range(1, len(framed(SAMPLES[0]))):
        found = ZenohFraming(True, compile_it=False).split(data[:-cut], False)
        assert len(found.starts) == 2
        assert found.skipped == []
        assert split(data[:-cut]) == ([INIT, OPEN], len(framed(SAMPLES[0])) - cut)


@pytest.mark.parametrize("lead", [b"\x99", b"\x25\x00\x01", framed(SAMPLES[0])[7:]])
def test_in_the_middle_batches_in_a_row_are_found_again(lead: bytes) -> None:
    assert split(lead + framed(*SAMPLES), began=False) == (SAMPLES, len(lead))
    packed = [z.compressed(z.frame(n, *(z.push(z.put(m)) for m in range(9)))) for n in range(4)]
    assert split(lead + framed(*packed), began=False) == (packed, len(lead))


def test_behind_a_hole_it_is_in_step_again() -> None:
    framing = ZenohFraming(True, compile_it=False)
    framing.split(framed(INIT, OPEN), False)
    framing.lost()
    data = framed(SAMPLES[0])[9:] + framed(*SAMPLES)
    found = framing.split(data, True)
    assert len(found.starts) == len(SAMPLES)
    assert found.skipped == [(0, len(framed(SAMPLES[0])) - 9)]


@pytest.mark.parametrize("seed", range(5))
def test_behind_a_hole_the_payload_of_a_large_message_is_no_chain_of_fragments(seed: int) -> None:
    payload = random.Random(seed).randbytes(200_000)
    fragments = [z.fragment(n, payload[n : n + 40_000], more=n < 3) for n in range(4)]
    framing = ZenohFraming(True, compile_it=False)
    framing.split(framed(INIT, OPEN), False)
    framing.lost()
    found = framing.split(payload + framed(*fragments) + framed(*SAMPLES), True)
    assert found.skipped == [(0, len(payload))]
    assert len(found.starts) == len(fragments) + len(SAMPLES)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 400), max_size=8))
def test_how_bytes_are_shown_changes_nothing(cuts: list[int]) -> None:
    data = framed(INIT, OPEN, *SAMPLES)
    framing, pending, frames = ZenohFraming(True, compile_it=False), b"", []
    places = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    for start, stop in pairwise(places):
        pending += data[start:stop]
        found = framing.split(pending, stop == len(data))
        pairs = zip(found.starts.tolist(), found.stops.tolist(), strict=True)
        frames += [pending[a:b] for a, b in pairs]
        pending = pending[found.consumed :]
    assert frames == [INIT, OPEN, *SAMPLES]


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_frames_or_skipped(data: bytes, began: bool) -> None:
    found = ZenohFraming(began, compile_it=False).split(data, True)
    assert found.consumed == len(data)


@settings(max_examples=30)
@given(st.binary(max_size=80), st.sampled_from([0, 2, 4]), st.sampled_from([0, 1]),
       st.integers(1, 5))  # fmt: skip
def test_both_forms_of_the_kernel_walk_alike(
    tail: bytes, width: int, opened: int, room: int
) -> None:
    data = framed(INIT, OPEN, *SAMPLES) + framed(SAMPLES[0])[: len(tail)] + tail
    results = []
    for compile_it in (False, True):
        walk = kernel("zenoh.tcp_kernels", compile_it=compile_it).walk
        columns = [np.zeros(room, np.int64) for _ in range(2)]
        arrays = [argument(column, compile_it=compile_it) for column in columns]
        raw = data_argument(data, compile_it=compile_it)
        told = walk(raw, 0, len(data), width, opened, *arrays, room)
        results.append((tuple(map(int, told)), [column.tolist() for column in columns]))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("prefix", "began", "verdict"),
    [
        (framed(INIT), True, Match.YES),
        (framed(z.init(ack=True)), True, Match.YES),
        (framed(INIT), False, Match.YES),
        (framed(INIT)[:4], True, Match.UNDECIDED),
        (framed(INIT)[:9], True, Match.LIKELY),
        (b"GET / HTTP/1.1\r\n", True, Match.NO),
        (b"\x19\x00\xc1\x07\xf2" + bytes(30), True, Match.NO),
        (framed(*SAMPLES), True, Match.NO),
        (framed(*SAMPLES), False, Match.YES),
        (b"\x99" + framed(*SAMPLES), False, Match.YES),
        (framed(b"\x04", b"\x04", b"\x04", b"\x04"), False, Match.UNDECIDED),
        (bytes(9000), False, Match.NO),
    ],
)
def test_recognition(prefix: bytes, began: bool, verdict: Match) -> None:
    assert SYSTEM.recognise(prefix, began) == verdict


def test_batches_of_one_capture_frame_keep_their_order_over_calls() -> None:
    connection = Connection(0, "tcp|x", (("10.0.0.1", 5), ("10.0.0.2", 7447)))
    decoder, rows = ZenohStreamDecoder(), []
    for place, batch in enumerate([*SAMPLES[:3], b"\x99\x99"]):
        ones = np.ones(1, np.int64)
        frames = StreamFrames(
            connection, batch, False, 0 * ones, len(batch) * ones, 0 * ones, 0 * ones, 9 * ones,
            7 * ones, place * ones, 0 * ones, 0 * ones, 0 * ones,
        )  # fmt: skip
        rows += [row for found in decoder.decode(frames) for row in found.to_pylist()]
    assert frames.outcome.tolist() == [FrameOutcome.MALFORMED]
    order = [row["index"] for row in rows]
    assert order == sorted(set(order))
    assert [row["seqno"] for row in rows if row["wire_kind"] == "push"] == [0, 1, 2]
    assert {row["conversation"] for row in rows} == {"zenoh|tcp|10.0.0.1:5|10.0.0.2:7447"}
    assert decoder.account()["messages_by"] == {"zenoh": {"Frame": 3, "push": 3}}


def test_bytes_that_are_missing_before_a_batch_are_told_with_the_batch_before() -> None:
    connection = Connection(0, "tcp|x", (("10.0.0.1", 5), ("10.0.0.2", 7447)))
    decoder, rows = ZenohStreamDecoder(), []
    for frame, lost in ((4, 0), (9, 72)):
        ones = np.ones(1, np.int64)
        frames = StreamFrames(
            connection, SAMPLES[0], False, 0 * ones, len(SAMPLES[0]) * ones, 0 * ones, 0 * ones,
            frame * ones, 7 * ones, 0 * ones, lost * ones, 0 * ones, 0 * ones,
        )  # fmt: skip
        rows += [row for found in decoder.decode(frames) for row in found.to_pylist()]
    (hole,) = (row for row in rows if row["wire_kind"] == HOLE)
    assert json.loads(hole["detail"]) == {"bytes": 72, "since": 4}
    assert (hole["frame"], hole["source"]) == (9, "10.0.0.1:5")
    assert hole["index"] < min(row["index"] for row in rows if row["frame"] == 9 and row != hole)


def test_bytes_that_are_missing_behind_the_last_batch_are_told_when_the_connection_has_ended() -> (
    None
):
    connection = Connection(0, "tcp|x", (("10.0.0.1", 5), ("10.0.0.2", 7447)), spoke=[4, 6])
    connection.end, connection.missing = ConnectionEnd(12, 99), (0, 144)
    nothing = [np.zeros(0, np.int64)] * 10
    frames = StreamFrames(connection, b"", False, *nothing)
    (hole, *ends) = (
        row for rows in ZenohStreamDecoder().decode(frames) for row in rows.to_pylist()
    )
    assert json.loads(hole["detail"]) == {"bytes": 144, "since": 6, "last": 1}
    assert [(end["wire_kind"], end["source"], json.loads(end["detail"])) for end in ends] == [
        ("END", "10.0.0.1:5", {"how": "unseen", "since": 6}),
        ("END", "10.0.0.2:7447", {"how": "unseen", "since": 4}),
    ]
    assert (hole["frame"], hole["at_ns"], hole["source"]) == (12, 99, "10.0.0.2:7447")


#: Bytes that are lengths and begins of batches more often than any others.
likely_bytes = st.lists(st.sampled_from([0, 0, 1, 2, 3, 4, 5, 0x19, 0x1D, 0x40]), max_size=60)
chains = st.lists(st.sampled_from([b"\1\0\4", b"\1\0\0\0\4", b"\2\0\4"]), max_size=6)


@settings(max_examples=150)
@given(likely_bytes, chains, likely_bytes, st.integers(0, 20), st.booleans())
def test_a_chain_is_looked_for_at_every_place(
    before: list[int], chain: list[bytes], after: list[int], begin: int, strong: bool
) -> None:
    data = bytes(before) + b"".join(chain) + bytes(after)
    first = next(
        (
            (at, width)
            for at in range(begin, len(data))
            for width in (2, 4)
            if zenoh_tcp._chain(data, at, width, strong=strong)
        ),
        None,
    )
    assert zenoh_tcp._in_step(data, begin, strong=strong) == first
