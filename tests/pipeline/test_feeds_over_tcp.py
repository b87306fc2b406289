"""Feeds that TCP carries, on connections made by their specifications, with known faults."""

import random
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.decoders.contract.feed_layout import FrameLayout
from seqaudit.decoders.feeds.streams import FeedFraming
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.feeds.builders import rtp
from tests.decoders.feeds.connections import (
    Talk,
    accepted,
    interleaved,
    sequenced,
    soup,
    soup_connection,
)
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, udp
from tests.pipeline.test_shipped_feeds import report_of

SOUP, RTSP = ("--feed", "soupbintcp@:9000"), ("--feed", "rtsp")
DESCRIBE = (
    b"DESCRIBE rtsp://camera/1 RTSP/1.0\r\nCSeq: 2\r\n\r\n",
    b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 9\r\n\r\nv=0 $\0\0\1$",
)


def written(path: Path, *frames: bytes) -> Path:
    """A capture: 10 ms apart, and two seconds behind it something of others."""
    times = [10**18 + n * 10**7 for n in range(len(frames))]
    other = ethernet(ipv4(udp(b"?", 9, 9), "192.0.2.1", "192.0.2.2"))
    path.write_bytes(pcap([*frames, other], times_ns=[*times, 10**18 + 10**10]))
    return path


def told(report: dict[str, Any]) -> list[tuple[int | None, int | None, int, int | None]]:
    return [
        (one["first_seqno"], one["last_seqno"], one["messages"], one["ended"])
        for one in report["streams"]
    ]


def camera(lost: frozenset[int] = frozenset(), *, size: int = 333, count: int = 120) -> Talk:
    """Video on channel 0 over the wrap of its numbers, RTCP on channel 1, and talk between."""
    talk = Talk(server=("10.0.0.1", 554))
    talk.client_says(DESCRIBE[0])
    talk.server_says(DESCRIBE[1])
    sent = b""
    for n in range(count):
        if n not in lost:
            sent += interleaved(0, rtp(65_500 + n & 0xFFFF, 3000 * n, payload_type=96))
        if n % 20 == 3:
            sent += interleaved(1, struct.pack(">BBHI", 0x80, 200, 1, 7))
        if n % 50 == 7:
            sent += DESCRIBE[1]
    talk.server_says(sent, size)
    talk.client_says(interleaved(1, struct.pack(">BBHI", 0x80, 201, 1, 9)))
    return talk


def test_a_login_tells_the_first_number_and_each_message_counts_one(tmp_path: Path) -> None:
    talks = soup_connection("S1", 1, 100), soup_connection("S1", 151, 60, 40_002, ends=True)
    path = written(tmp_path / "a.pcap", *talks[0].frames, *talks[1].frames)
    report = report_of(path, *SOUP)
    assert told(report) == [(1, 100, 100, None), (151, 210, 60, 211)]
    (found,) = report["findings"]
    assert (found["rule"], found["seqnos"]) == ("FD029", [[101, 150]])
    capture = report["captures"][0]
    assert capture["frames_by"]["decoded"] == capture["frames"] - 1
    assert capture["messages_by"]["feed soupbintcp"] == {
        "LOGIN_ACCEPTED": 2, "SEQUENCED_DATA": 160, "SERVER_HEARTBEAT": 3, "END_OF_SESSION": 1,
        "OTHER": 8,
    }  # fmt: skip


@pytest.mark.parametrize(("session", "first", "port"), [("S2", 151, 40_002), ("S1", 60, 40_002)])
def test_what_another_session_or_a_repetition_brings_is_left_out_by_nobody(
    session: str, first: int, port: int, tmp_path: Path
) -> None:
    talks = soup_connection("S1", 1, 100), soup_connection(session, first, 60, port)
    report = report_of(written(tmp_path / "a.pcap", *talks[0].frames, *talks[1].frames), *SOUP)
    assert report["findings"] == []


def test_connections_at_the_same_time_say_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = soup_connection("S1", 1, 40).frames, soup_connection("S1", 91, 40, 40_002).frames
    both = [frame for pair in zip(one, other, strict=True) for frame in pair]
    assert report_of(written(tmp_path / "a.pcap", *both), *SOUP)["findings"] == []


@pytest.mark.parametrize("lost", [6, 9])
def test_behind_bytes_that_are_missing_no_number_is_known(lost: int, tmp_path: Path) -> None:
    frames = soup_connection("S1", 1, 400).frames
    whole = report_of(written(tmp_path / "a.pcap", *frames), *SOUP)
    assert told(whole) == [(1, 400, 400, None)]
    del frames[lost]
    spoiled = report_of(written(tmp_path / "b.pcap", *frames), *SOUP)
    ((first, last, count, _),) = told(spoiled)
    assert first == 1
    assert last == count
    assert count is not None
    assert 0 < count < 20 * lost
    assert [found["rule"] for found in spoiled["findings"] if found["severity"] == "error"] == []
    assert spoiled["captures"][0]["frames_by"]["undecodable"] > 20


def test_a_login_without_a_number_tells_none(tmp_path: Path) -> None:
    talk = Talk()
    talk.server_says(soup(b"A", b"S1".ljust(10) + b"x".rjust(20)) + sequenced(5))
    report = report_of(written(tmp_path / "a.pcap", *talk.frames), *SOUP)
    assert report["streams"] == []
    (why,) = report["captures"][0]["undecoded"]
    assert "which were not captured" in why or "login" in why


def test_what_rtp_in_rtsp_leaves_out_is_told(tmp_path: Path) -> None:
    lost = frozenset({5, 6, 70})
    report = report_of(written(tmp_path / "a.pcap", *camera(lost).frames), *RTSP)
    (stream,) = report["streams"]
    assert (stream["messages"], stream["unrecovered"], stream["wraps"]) == (117, 3, 1)
    assert [found["rule"] for found in report["findings"]] == ["FD002"]
    assert "TCP brought" in report["findings"][0]["text"]
    assert report["captures"][0]["messages_by"]["feed rtsp"] == {"DATA": 117, "RTCP": 7, "TEXT": 5}
    assert report["captures"][0]["frames_by"]["undecodable"] == 0


@pytest.mark.parametrize("begin", range(3, 12))
def test_rtp_in_rtsp_is_read_from_the_middle_on(begin: int, tmp_path: Path) -> None:
    frames = camera(frozenset({70})).frames
    (stream,) = report_of(written(tmp_path / "a.pcap", *frames[begin:]), *RTSP)["streams"]
    assert stream["unrecovered"] == 1
    assert stream["messages"] > 119 - 12 * begin
    hole = frames[: 3 + begin] + frames[4 + begin :]
    (stream,) = report_of(written(tmp_path / "b.pcap", *hole), *RTSP)["streams"]
    assert stream["messages"] + stream["unrecovered"] == 120
    assert 1 < stream["unrecovered"] < 20


@pytest.mark.parametrize("feed", ["soupbintcp@:9000", "rtsp"])
def test_cuts_and_kernels_change_nothing(feed: str, tmp_path: Path) -> None:
    talks = [
        soup_connection("S1", 1, 90), soup_connection("S1", 151, 60, 40_002, ends=True),
        camera(frozenset({5, 6, 70})), Talk(("10.0.0.8", 40_001), ("10.0.0.1", 80)),
    ]  # fmt: skip
    talks[-1].client_says(b"GET / HTTP/1.1\r\n\r\n")
    mixed = random.Random(4)
    turns = [number for number, talk in enumerate(talks) for _ in talk.frames]
    mixed.shuffle(turns)
    rest = [iter(talk.frames) for talk in talks]
    path = written(tmp_path / "a.pcap", *(next(rest[turn]) for turn in turns))
    offsets = record_offsets(path.read_bytes())
    more: list[dict[str, Any]] = [
        {"compile_it": True}, {"cuts": {str(path): offsets[1:-1:3]}},
        {"cuts": {str(path): offsets[1:-1:11]}, "compile_it": True},
    ]  # fmt: skip
    feeds = feeds_of([feed], [])
    whole, *others = (
        to_json(audit([CaptureInput(str(path))], Options(engine="direct", feeds=feeds, **given)))
        for given in ({"compile_it": False}, *more)
    )
    assert others == [whole] * 3
    assert '"streams": []' not in whole


@given(
    data=st.one_of(
        st.binary(max_size=300),
        st.lists(
            st.sampled_from(
                [interleaved(0, b"abc"), interleaved(1, b""), b"$", b"\0", *DESCRIBE, b"x\r\n\r\n"]
            ),
            max_size=25,
        ).map(b"".join),
    ),
    cuts=st.lists(st.integers(0, 300), max_size=6),
    began=st.booleans(),
    compiled=st.booleans(),
)
def test_frames_are_the_same_however_bytes_come(
    data: bytes, cuts: list[int], began: bool, compiled: bool
) -> None:
    framing = FrameLayout(2, 2, adds=4, begins=0x24, text=True)

    def frames(parts: list[bytes], *, compile_it: bool) -> tuple[list[tuple[int, int, int]], int]:
        reader = FeedFraming(framing, began, compile_it=compile_it)
        found: list[tuple[int, int, int]] = []
        skipped, at, waiting = 0, 0, b""
        for number, part in enumerate(parts):
            waiting += part
            split = reader.split(waiting, number == len(parts) - 1)
            rows = np.array([split.starts, split.stops]) + at
            found += zip(*rows.tolist(), split.kinds.tolist(), strict=True)
            skipped += sum(high - low for low, high in split.skipped)
            at += split.consumed
            waiting = waiting[split.consumed :]
        assert not waiting
        assert sum(high - low for low, high, _ in found) + skipped == len(data)
        return found, skipped

    borders = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    parts = [data[low:high] for low, high in pairwise(borders)] or [b""]
    assert frames(parts, compile_it=compiled) == frames([data], compile_it=False)


def test_a_second_login_of_a_connection_counts_anew(tmp_path: Path) -> None:
    talk = Talk()
    talk.server_says(accepted("S1", 5) + sequenced(3) + accepted("S2", 70) + sequenced(2))
    report = report_of(written(tmp_path / "a.pcap", *talk.frames), *SOUP)
    assert sorted(told(report), key=str) == [(5, 7, 3, None), (70, 71, 2, None)]
