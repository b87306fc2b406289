"""Feeds from capture to report: cut anywhere, kept as events, in IP fragments (CONTRIBUTING.md
4)."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from seqaudit.decoders.contract.feed_layout import Feed, Field, Line, Route
from seqaudit.decoders.feeds.files import load_feed, shipped
from seqaudit.pipeline.audit import audit, decode
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared import events_file
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.feeds.builders import mold, rtp
from tests.decoders.network import builders as p

SENDER, CLIENT, SERVER = "10.0.0.1", "10.0.0.8", "10.1.1.9"
MOLD = load_feed(shipped()["moldudp64"])
RTP = load_feed(shipped()["rtp"])


def packet(
    payload: bytes, to: str, port: int, start: str = SENDER, source_port: int = 5000
) -> bytes:
    """A frame whose IP id tells it from others, so that only copies are network duplicates."""
    inner = p.udp(payload, source_port, port)
    return p.ethernet(p.ipv4(inner, start, to, ident=crc32(payload + to.encode()) & 0xFFFF))


def sessions() -> list[bytes]:
    """Two sessions: a loss that is repaired, one that is not, heartbeats, an end, a copy."""
    frames = []
    numbers = {"X": 1, "Y": 1}
    for turn in range(24):
        for session, group in (("X", "239.1.0.1"), ("Y", "239.1.0.2")):
            seqno = numbers[session]
            numbers[session] += 2
            if (session, turn) in (("X", 4), ("X", 5), ("Y", 9)):
                continue
            frame = packet(mold(session, seqno, [b"a", b"b"]), group, 26400)
            frames += [frame] * (2 if turn == 7 else 1)
        if turn == 6:
            frames.append(packet(mold("X", 9, count=4), SERVER, 6000, CLIENT, 40000))
        if turn == 8:
            frames.append(packet(mold("X", 9, [b"a", b"b"]), CLIENT, 40000, SERVER, 6000))
            frames.append(packet(mold("X", 11, [b"a", b"b"]), CLIENT, 40000, SERVER, 6000))
        if turn % 5 == 0:
            frames.append(packet(mold("X", numbers["X"]), "239.1.0.1", 26400))
    frames.append(packet(mold("X", numbers["X"], count=0xFFFF), "239.1.0.1", 26400))
    frames.append(packet(mold("Y", numbers["Y"] + 3), "239.1.0.2", 26400))
    return frames


def media() -> list[bytes]:
    """RTP over the wrap, one packet late, one lost, and a change of payload type."""
    order = [*range(65530, 65536), 0, 1, 3, 2, 4, 6, 7, 8]
    return [
        packet(rtp(number, 160 * turn + turn % 3, payload_type=0 if turn < 9 else 8), CLIENT, 5004)
        for turn, number in enumerate(order)
    ]


def lines() -> list[bytes]:
    """The same numbers on two groups; each loses one, and both lose one."""
    frames = []
    for number in range(1, 30):
        for group, lost in (("239.1.0.1", (5, 20)), ("239.1.0.2", (9, 20))):
            if number not in lost:
                frames.append(packet(mold("Z", number, [b"a"]), group, 26400))
    return frames


PAIR = Line((("239.1.0.1", 26400), ("239.1.0.2", 26400)))
CASES: dict[str, tuple[list[bytes], Feed]] = {
    "sessions": (sessions(), replace(MOLD.at((Route(),)), servers=((SERVER, 6000),))),
    "unnamed server": (sessions(), MOLD.at((Route(),))),
    "rtp": (media(), RTP.at((Route(port=(5004, 5004)),))),
    "lines": (lines(), replace(MOLD, lines=(PAIR,))),
}


@pytest.mark.parametrize("case", CASES)
def test_a_report_does_not_depend_on_cuts(case: str, tmp_path: Path) -> None:
    frames, feed = CASES[case]
    capture = p.pcap(frames)
    path = tmp_path / "a.pcap"
    path.write_bytes(capture)
    given = [CaptureInput(str(path), parameters={"feed.max_jitter_us": "3000"})]
    options = Options(engine="direct", feeds=(feed,), compile_it=False)
    whole = audit(given, options)
    assert whole["captures"][0]["frames_by"]["decoded"] == len(frames)
    assert any(found["rule"] == "FD025" for found in whole["findings"]) == (case == "rtp")
    places = p.record_offsets(capture)[1:-1]
    for cuts in (places, places[::7], places[len(places) // 2 :][:1]):
        assert to_json(audit(given, replace(options, cuts={str(path): cuts}))) == to_json(whole)


@pytest.mark.parametrize("far_s", [3600, 1_000_000_000])
def test_a_time_that_no_run_ends_with_says_nothing_of_the_end(far_s: int, tmp_path: Path) -> None:
    frames = [packet(mold("X", number, [b"a"]), "239.1.0.1", 26400) for number in (1, 9, 10, 11)]
    times_ns = [0, 10**6, far_s * 10**9, 2 * 10**6]
    path = tmp_path / "a.pcap"
    path.write_bytes(p.pcap(frames, times_ns=times_ns))
    options = Options(engine="direct", feeds=(MOLD.at((Route(port=(26400, 26400)),)),))
    whole: Any = audit([CaptureInput(str(path))], options)
    (stream,) = whole["streams"]  # of the capture the end is that time, so nothing is open
    assert (stream["lost"], stream["open_at_end"]) == (7, 0)
    assert any(found["rule"] == "FD002" for found in whole["findings"])
    for cut in p.record_offsets(path.read_bytes())[1:3]:
        cuts = replace(options, cuts={str(path): (cut,)})
        assert to_json(audit([CaptureInput(str(path))], cuts)) == to_json(whole)


@pytest.mark.parametrize("case", CASES)
def test_events_that_were_kept_give_the_same_report(case: str, tmp_path: Path) -> None:
    frames, feed = CASES[case]
    path, kept = tmp_path / "a.pcap", tmp_path / "a.parquet"
    path.write_bytes(p.pcap(frames))
    options = Options(engine="direct", feeds=(feed,), compile_it=False)
    events_file.write(decode([CaptureInput(str(path))], options), str(kept))
    again = audit([CaptureInput(str(kept))], Options(engine="direct"))
    assert to_json(again) == to_json(audit([CaptureInput(str(path))], options))


def rows_of(frames: list[bytes], feed: Feed, folder: Path) -> list[dict[str, Any]]:
    path = folder / "b.pcap"
    path.write_bytes(p.pcap(frames))
    options = Options(engine="direct", feeds=(feed,), compile_it=False)
    rows: list[dict[str, Any]] = decode([CaptureInput(str(path))], options).events.to_pylist()
    return [row for row in rows if row["system"] == "feed" and row["wire_kind"] != "FEED"]


def test_datagrams_in_fragments_are_decoded_and_end_the_runs_around_them(tmp_path: Path) -> None:
    whole = [mold("S", number, [b"m" * 40]) for number in (1, 2, 3, 4)]
    frames = [packet(payload, "239.1.0.1", 26400) for payload in whole]
    datagram = p.udp(whole[2], 5000, 26400)
    parts = p.fragments4(datagram, [32], 77, destination="239.1.0.1")
    frames[2:3] = [p.ethernet(part) for part in parts]
    rows = rows_of(frames, MOLD.at((Route(port=(26400, 26400)),)), tmp_path)
    assert sorted((r["seqno"], r["stop_seqno"]) for r in rows) == [(1, 3), (3, 4), (4, 5)]


def test_feeds_go_before_all_systems(tmp_path: Path) -> None:
    """A payload that a system claims is the feed's where the user says so."""
    path = Path(__file__).parents[2] / "fixtures" / "zenoh" / "udp-reorder-dup-1" / "sub.pcap"
    feed = Feed("any", (Field("n", 0, 1),), "n", match=(Route(),), wrap=8)
    options = Options(engine="direct", compile_it=False)
    before = audit([CaptureInput(str(path))], options)["captures"][0]["messages_by"]
    after = audit([CaptureInput(str(path))], replace(options, feeds=(feed,)))
    assert "zenoh" in " ".join(before)
    assert list(after["captures"][0]["messages_by"]) == ["feed any"]


def test_rtp_fields_are_those_of_scapy(tmp_path: Path) -> None:
    scapy = pytest.importorskip("scapy.layers.rtp")
    sent = [(65534, 17, 0xDEADBEEF, 0), (7, 2**32 - 1, 1, 96), (8, 5, 1, 34)]
    frames = [
        packet(bytes(scapy.RTP(sequence=n, timestamp=t, sourcesync=s, payload_type=kind)), CLIENT,
               5004)
        for n, t, s, kind in sent
    ]  # fmt: skip
    rows = rows_of(frames, RTP.at((Route(),)), tmp_path)
    found = [
        (row["seqno"], *struct.unpack("<q", row["payload"][16:24]), row["stream"].split("|")[1])
        for row in sorted(rows, key=lambda row: int(row["frame"]))
    ]
    assert found == [(n, t, f"ssrc={s}") for n, t, s, _ in sent]
