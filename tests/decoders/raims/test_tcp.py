"""raims over TCP: messages back to back, holes, encrypted links (raims.md 4)."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.decoders.contract.events import BEGUN, END, Ending, Kind
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.network.packets import FrameOutcome
from seqaudit.decoders.raims.messages import crc32c
from seqaudit.decoders.raims.tcp import (
    KEY,
    KEY_BYTES,
    SECRET,
    RaimsFraming,
    RaimsStreamDecoder,
    RaimsStreams,
    is_key,
)
from seqaudit.decoders.tcp.framing import MESSAGE, Connection, ConnectionEnd, Match, StreamFrames
from tests.decoders.raims.builders import caba, data

MESSAGES = [data("_1.A", 7), caba("_X.HELO", ("user", "A"), sort=3, options=16, path=1),
            data("_1.BIG", 8, payload=3000), data("_1.A", 8, long=True)]  # fmt: skip
STREAM = b"".join(MESSAGES)
SYSTEM = RaimsStreams(DecodeSettings())


def key_exchange(nonce: bytes = b"n" * 16, key: bytes = b"k" * 32) -> bytes:
    return bytes(4) + crc32c(nonce + key, 1).to_bytes(4, "big") + nonce + key


def test_the_key_exchange_of_a_recorded_link() -> None:
    recorded = bytes.fromhex(
        "00000000e1e0ba8e65bbe05ca1810ddf0e9ca0ef725fb725aa434a2e76488a290e1ec1ea4042ad76"
        "ede805ab7a2f6c53569c89dc0cad8918"
    )
    assert len(recorded) == KEY_BYTES
    assert is_key(recorded)
    assert not is_key(recorded[:-1] + b"\0")


@pytest.mark.parametrize(
    ("prefix", "began", "verdict"),
    [
        (STREAM, True, Match.YES),
        (STREAM[:20], True, Match.LIKELY),
        (STREAM[:3], True, Match.UNDECIDED),
        (key_exchange(), True, Match.YES),
        (key_exchange()[:30], True, Match.LIKELY),
        (bytes(60), True, Match.NO),
        (b"GET / HTTP/1.1\r\n", True, Match.NO),
        (b"x" * 100 + STREAM, False, Match.YES),
        (b"x" * 100, False, Match.UNDECIDED),
        (b"x" * (96 << 10), False, Match.NO),
    ],
)
def test_recognition(prefix: bytes, began: bool, verdict: Match) -> None:
    assert SYSTEM.recognise(prefix, began) is verdict


@given(st.lists(st.integers(1, 700), max_size=12), st.booleans())
def test_frames_do_not_depend_on_how_the_bytes_come(sizes: list[int], compiled: bool) -> None:
    framing = RaimsFraming(True, compile_it=compiled)
    found: list[bytes] = []
    held = b""
    left = STREAM
    for size in [*sizes, len(STREAM)]:
        held, left = held + left[:size], left[size:]
        split = framing.split(held, False)
        found += [held[a:b] for a, b in zip(split.starts, split.stops, strict=True)]
        held = held[split.consumed :]
    assert found == MESSAGES
    assert held == b""


def test_after_a_hole_the_next_head_is_found() -> None:
    framing = RaimsFraming(True)
    framing.lost()
    junk = b"\x81" * 30
    split = framing.split(junk + STREAM, False)
    assert split.skipped == [(0, 30)]
    assert (len(split.starts), split.resyncs) == (4, 1)


@given(st.data())
def test_damaged_streams_are_cut_alike_by_the_kernel(draw: st.DataObject) -> None:
    body = bytearray(STREAM * 2)
    for _ in range(draw.draw(st.integers(0, 4))):
        place = draw.draw(st.integers(0, len(body) - 1))
        body[place] = draw.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    data = bytes(body[: len(body) - draw.draw(st.sampled_from([0, 1, 47, 48, 60]))])
    one, two = (RaimsFraming(True, compile_it=compiled) for compiled in (False, True))
    for final in (False, True):
        expected, found = one.split(data, final), two.split(data, final)
        for name in ("starts", "stops", "kinds"):
            assert getattr(expected, name).tolist() == getattr(found, name).tolist()
        for name in ("consumed", "wanted", "skipped", "resyncs"):
            assert getattr(expected, name) == getattr(found, name)


def frames(contents: list[tuple[bytes, int, int]], lost: int = 0) -> StreamFrames:
    """(bytes, kind, capture frame) from 10.77.0.1:9001 to 10.77.0.2:50000."""
    held = b"".join(content for content, _, _ in contents)
    stop = np.cumsum([len(content) for content, _, _ in contents])
    count = len(contents)
    zeros = np.zeros(count, np.int64)
    return StreamFrames(
        connection=Connection(
            0, "tcp|x", (("10.77.0.1", 9001), ("10.77.0.2", 50000)), began=(True, True)
        ),
        data=held,
        compile_it=False,
        start=np.concatenate([[0], stop[:-1]]).astype(np.int64),
        stop=stop.astype(np.int64),
        kind=np.array([kind for _, kind, _ in contents], np.int64),
        direction=zeros,
        frame=np.array([frame for _, _, frame in contents], np.int64),
        at_ns=zeros + 5,
        place=np.arange(count, dtype=np.int64),
        lost=zeros + lost,
        refused=zeros.copy(),
        outcome=zeros.copy(),
    )


def test_messages_of_a_stream_are_rows_of_its_link() -> None:
    decoder = RaimsStreamDecoder(DecodeSettings())
    given_frames = frames([(data("_1.A", n), MESSAGE, 1 + n // 9) for n in (7, 8, 9)])
    rows = [row for batch in decoder.decode(given_frames) for row in batch.to_pylist()]
    told = [(r["stream"].partition("|")[0], r["seqno"], r["stop_seqno"], r["frame"]) for r in rows]
    assert told == [
        ("tcp:10.77.0.1:9001>10.77.0.2:50000", 7, 9, 1),
        ("tcp:10.77.0.1:9001>10.77.0.2:50000", 9, 10, 2),
    ]
    assert decoder.account()["messages_by"] == {"raims": {"DATA": 3}}


def test_a_member_is_named_on_each_of_its_links() -> None:
    """Links are not decoded in the order of the capture: what comes first must hide nothing."""
    hello = caba("_X.HELO", ("user", "A"), sort=3, options=16, path=1)
    decoder = RaimsStreamDecoder(DecodeSettings())
    names = []
    for port, frame in ((50001, 9), (50000, 2), (50000, 3)):
        ends = (("10.77.0.1", 9001), ("10.77.0.2", port))
        one = replace(
            frames([(hello, MESSAGE, frame)]), connection=Connection(0, f"tcp|{port}", ends)
        )
        rows = [row for batch in decoder.decode(one) for row in batch.to_pylist()]
        names += [r["frame"] for r in rows if r["kind"] == Kind.MEMBER]
    assert names == [9, 2]


def test_an_encrypted_link_is_told_once_and_is_undecodable() -> None:
    framing = RaimsFraming(True)
    stream = key_exchange() + b"secret" * 9
    split = framing.split(stream, True)
    assert split.kinds.tolist() == [KEY, SECRET]
    whole = [(stream[KEY_BYTES:], SECRET, 2)]
    handed_on_in_two = [(stream[KEY_BYTES:-9], SECRET, 2), (stream[-9:], SECRET, 3)]
    for secret in (whole, handed_on_in_two):
        decoder = RaimsStreamDecoder(DecodeSettings())
        given_frames = frames([(stream[:KEY_BYTES], KEY, 1), *secret])
        rows = [row for batch in decoder.decode(given_frames) for row in batch.to_pylist()]
        assert [(r["wire_kind"], r["kind"]) for r in rows] == [("ENCRYPTED", Kind.NOTICE)]
        assert given_frames.outcome.tolist() == [FrameOutcome.UNDECODABLE] * (1 + len(secret))
        assert decoder.account()["undecoded"] == {"encrypted raims link": 1}


@pytest.mark.parametrize("began", [True, False])
def test_a_direction_that_begins_in_its_middle_says_so(began: bool) -> None:
    decoder = RaimsStreamDecoder(DecodeSettings())
    given_frames = frames([(data("_1.A", n), MESSAGE, 3 + n) for n in (1, 2)])
    given_frames.connection.began = began, False
    rows = [row for batch in decoder.decode(given_frames) for row in batch.to_pylist()]
    rows += [row for batch in decoder.decode(given_frames) for row in batch.to_pylist()]
    told = [row for row in rows if row["wire_kind"] == BEGUN]
    assert [(r["stream"], r["frame"]) for r in told] == [
        ("tcp:10.77.0.1:9001>10.77.0.2:50000|", 4)
    ][began:]
    assert all(r["index"] < min(row["index"] for row in rows if row != r) for r in told)


@pytest.mark.parametrize("how", list(Ending))
def test_an_end_is_told_with_the_last_word_of_the_other_end(how: Ending) -> None:
    """A RST where it came, any other end behind the last segment."""
    decoder = RaimsStreamDecoder(DecodeSettings())
    given_frames = frames([(data("_1.A", n), MESSAGE, 1 + n) for n in (1, 2, 3)])
    given_frames.direction[:] = [0, 1, 0]
    decoder.decode(given_frames)
    reset = (9, 77) if how is Ending.RESET else None
    given_frames.connection.end = ConnectionEnd(12, 99, reset, (how, how))
    ended = replace(frames([]), connection=given_frames.connection)
    rows = [row for batch in decoder.decode(ended) for row in batch.to_pylist()]
    assert [(r["stream"], r["wire_kind"], r["frame"], r["at_ns"], r["detail"]) for r in rows] == [
        (f"tcp:{link}|", END, *(reset or (12, 99)), f'{{"how":"{how}","since":{since}}}')
        for link, since in (
            ("10.77.0.1:9001>10.77.0.2:50000", 3),
            ("10.77.0.2:50000>10.77.0.1:9001", 4),
        )
    ]
