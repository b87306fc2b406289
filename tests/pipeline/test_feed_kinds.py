"""The shipped feeds and lines A and B from end to end, against what was sent and how it came."""

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.replay.feeds.times import STEP_NS
from tests.decoders.network.builders import UDP, ethernet, ipv4, summed, udp
from tests.pipeline.feed_worlds import (
    DATA,
    END,
    MS,
    NONE,
    START_NS,
    Book,
    Header,
    Packet,
    Rates,
    Stream,
    World,
    differences,
    draw_rates,
    of_lines,
    pcap_bytes,
    pcapng_bytes,
)

MOLD = Header("big", 20, {"count": (18, 2, 0xFFFF, 0)}, 64, b"")
RTP = Header("big", 12, {}, 16, b"")


class MoldStream(Stream):
    """MoldUDP64 1.00; every session begins at 1 and ends with its end."""

    session = b"NONE"

    def payload(self, kind: str, first: int, count: int, body: bytes) -> bytes:
        messages = b""
        if kind in (DATA, "repair"):
            each = max(1, len(body) // max(count, 1))
            messages = (struct.pack(">H", each) + body[:each].ljust(each)) * count
        told = 0xFFFF if kind == END else count
        return self.session.ljust(10) + struct.pack(">QH", first, told) + messages


class RtpStream(Stream):
    """RTP of 20 ms packets; no heartbeats and no end."""

    def payload(self, kind: str, first: int, count: int, body: bytes) -> bytes:
        sources = self.chance.randrange(3)
        bits = self.chance.choice([0x80, 0x90, 0xA0]) | sources
        wire, stamp = first & 0xFFFF, 160 * first & 0xFFFFFFFF
        marker = 0x80 * (self.chance.random() < 0.1)
        head = struct.pack(">BBHII", bits, marker, wire, stamp, self.key)
        return head + bytes(4 * sources) + body

    def packets(self) -> Iterator[Packet]:
        return (packet for packet in super().packets() if packet.kind == DATA)


def in_order(arrivals: list[tuple[int, str, Packet]]) -> list[tuple[int, str, Packet]]:
    return [entry for _, entry in sorted(enumerate(arrivals), key=lambda e: (e[1][0], e[0]))]


def world_of(arrivals: Sequence[tuple[int, str, Packet]], feed: str = "") -> World:
    """``arrivals``: time, id of the stream, packet; in order."""
    frames: list[tuple[int, bytes]] = []
    books: dict[str, Book] = {}
    for at_ns, name, packet in arrivals:
        frames += [(at_ns, data) for data in packet.frames]
        books.setdefault(name, Book()).take(packet, len(frames))
    for book in books.values():
        book.close()
    return World(feed, frames, books, MOLD, NONE, v6=False)


def report_of(world: World, path: Path, *feeds: str, **options: Any) -> Any:
    lines = options.pop("lines", [])
    write = pcapng_bytes if len(world.frames) & 1 else pcap_bytes
    path.write_bytes(write(world.frames))
    settings = Options(engine="direct", feeds=feeds_of(feeds, lines), **options)
    return audit([CaptureInput(str(path))], settings)


def mold_world(seed: int, rates: Rates) -> World:
    """Two groups with one session id; at midnight both go on in another, from 1."""
    chance = random.Random(seed)
    arrivals = []
    for group in ("239.3.0.1", "239.3.0.2"):
        # A repair names no group: only of one group anything is lost.
        own = rates if group == "239.3.0.1" else replace(rates, loss=0.0, late=0.0, resets=0.0)
        last = 0
        for session in (b"MON", b"TUE"):
            stream = MoldStream(chance, MOLD, replace(own, resets=0.0), group, 0, 150)
            stream.session, stream.v6 = session, False
            name = f"moldudp64|session={session.decode()}|{group}:26400|"
            packets = list(stream.packets())
            begins = min(packet.at_ns for packet in packets)
            shift = max(0, last + 30 * MS - begins)
            for packet in packets:
                packet.at_ns += shift
                arrivals.append((packet.at_ns, name, packet))
            last = max(packet.at_ns for packet in packets)
    return world_of(in_order(arrivals))


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("seed", range(12))
def test_moldudp64_sessions_change_at_midnight(seed: int, tmp_path: Path) -> None:
    rates = replace(draw_rates(random.Random(seed), 64), late=0.0) if seed else NONE
    world = mold_world(seed, rates)
    feed = "moldudp64@239.3.0.0/24:26400,server=10.0.0.2:6000"
    report = report_of(world, tmp_path / "m.pcap", feed)
    assert differences(world, report) == []
    assert seed or {found["rule"] for found in report["findings"]} <= {"CP015"}
    assert {stream["ended"] is not None for stream in report["streams"]} == {True}


def jitter_of(arrivals: Sequence[tuple[int, int]], hz: int) -> tuple[float, float]:
    """Mean and maximum in ns by RFC 3550 6.4.1, of (arrival in ns, timestamp); a difference of a
    second and more, as of what comes again much later or of a clock that is set, is none."""
    jitter, highest, total, counted = 0.0, 0.0, 0.0, 0
    for (before_ns, before), (at_ns, stamp) in pairwise(arrivals):
        ticks = (stamp - before + (1 << 31)) % (1 << 32) - (1 << 31)
        difference = abs(at_ns - before_ns - ticks * 1e9 / hz)
        if difference < STEP_NS:
            jitter += (difference - jitter) / 16
            highest, total, counted = max(highest, jitter), total + jitter, counted + 1
    return total / counted, highest


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("seed", range(10))
def test_rtp_by_source_with_its_jitter(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rates = replace(draw_rates(chance, 16), resets=0.0, beats=0.0) if seed else NONE
    arrivals: list[tuple[int, str, Packet]] = []
    for ssrc in (7, 0xDEADBEEF):  # one after the other, from the same port
        stream = RtpStream(chance, RTP, replace(rates, repairs=0.0), "239.4.0.1", ssrc, 600)
        stream.v6 = stream.big = False
        begins = max((at for at, *_ in arrivals), default=START_NS)
        for packet in list(stream.packets()):
            packet.at_ns += begins - START_NS
            place = "10.0.0.1:5000>239.4.0.1:26400"
            arrivals.append((packet.at_ns, f"rtp|ssrc={ssrc}|{place}|", packet))
    arrivals = in_order(arrivals)
    rtcp = summed(udp(bytes([0x80, 200, 0, 6]) + bytes(24), 5001, 26401), UDP, "10.0.0.1")
    control = ethernet(ipv4(rtcp, "10.0.0.1"))
    world = world_of(arrivals)
    world.frames += [(world.frames[-1][0], control)] * 3
    for feed in ("rtp@239.4.0.1:26400", "rtp"):  # at its place, and wherever it is recognised
        report = report_of(world, tmp_path / "r.pcap", feed)
        assert differences(world, report) == []
        (capture,) = report["captures"]
        assert capture["frames_by"]["other"] == 3
        for stream in report["streams"]:
            own = [
                (at_ns, 160 * packet.first & 0xFFFFFFFF)
                for at_ns, name, packet in arrivals
                if name == stream["id"] and packet.made != "duplicate"
            ]
            mean, highest = jitter_of(own, 8_000)
            assert stream["jitter_ns"]["mean"] == pytest.approx(mean, rel=1e-4, abs=20)
            assert stream["jitter_ns"]["max"] == pytest.approx(highest, rel=1e-4, abs=20)


def test_rtp_wraps_are_counted_on(tmp_path: Path) -> None:
    """200,000 numbers of 16 bits, every fiftieth lost."""
    frames = []
    for number in range(65_000, 265_000):
        if number % 50:
            head = struct.pack(">BBHII", 0x80, 0, number & 0xFFFF, 160 * number & 0xFFFFFFFF, 9)
            packet = ethernet(ipv4(udp(head + bytes(8), 5000, 5004), "10.0.0.1", "239.4.0.1"))
            frames.append((START_NS + number * 20_000, packet))
    report = report_of(World("", frames, {}, RTP, NONE, v6=False), tmp_path / "w.pcap", "rtp@:5004")
    (stream,) = report["streams"]
    assert (stream["messages"], stream["wraps"]) == (196_000, 4)
    assert stream["unrecovered"] + stream["open_at_end"] == 3_999
    assert (stream["first_seqno"], stream["last_seqno"]) == (65_001, 264_999)


def test_a_wrap_is_no_restart_wherever_it_falls(tmp_path: Path) -> None:
    """Video without a fault, in datagrams so long that a part of the capture ends before it."""
    frames = []
    for number in range(64_536, 66_536):
        head = struct.pack(">BBHII", 0x80, 96, number & 0xFFFF, 90 * number, 9)
        packet = ethernet(ipv4(udp(head + bytes(1_300), 5000, 5004), "10.0.0.1", "239.4.0.1"))
        frames.append((START_NS + number * 1_000_000, packet))
    report = report_of(World("", frames, {}, RTP, NONE, v6=False), tmp_path / "w.pcap", "rtp@:5004")
    (stream,) = report["streams"]
    assert (stream["messages"], stream["wraps"], stream["restarts"]) == (2_000, 1, 0)
    assert (stream["first_seqno"], stream["last_seqno"]) == (64_536, 66_535)
    assert report["findings"] == []


@pytest.mark.rule("FD011")
@pytest.mark.parametrize(
    ("then", "after_ms", "rule", "says"),
    [
        (range(21_300, 21_600), 20, "FD008", "first at 21300 where 1300 was next"),
        (range(41_300, 41_600), 20, "FD008", "first at 41300 where 1300 was next"),
        (range(3_300, 3_600), 20, "FD002", "2000 messages"),
        (range(5_300, 5_600), 60_000, "FD002", "4000 messages"),
        ([30_000, *range(1_300, 1_600)], 20, "FD011", "1 number far ahead"),
        ([*range(1_300, 1_600), 30_000], 20, "FD011", "1 number far ahead"),
    ],
)
def test_rtp_jumps_as_its_receivers_take_them(
    then: Sequence[int], after_ms: int, rule: str, says: str, tmp_path: Path
) -> None:
    """RFC 3550 A.1: 3,000 or more at once is no loss, unless there was the time to send them."""
    frames = []
    for place, number in enumerate([*range(1_000, 1_300), *then]):
        head = struct.pack(">BBHII", 0x80, 0, number, 160 * place, 9)
        at_ns = START_NS + MS * (20 * place + after_ms * (place >= 300))
        datagram = udp(head + bytes(160), 5000, 5004)
        frames.append((at_ns, ethernet(ipv4(datagram, "10.0.0.1", "239.4.0.1", ident=place + 1))))
    other = ethernet(ipv4(udp(bytes(9), 40_000, 9), "10.0.0.8", "10.0.0.9", ident=1))
    frames.append((frames[-1][0] + 2_000 * MS, other))
    world = World("", frames, {}, RTP, NONE, v6=False)
    report = report_of(world, tmp_path / "j.pcap", "rtp@:5004")
    told = {finding["rule"]: finding["text"] for finding in report["findings"]}
    assert says in told[rule]
    assert told.keys() & {"FD002", "FD008", "FD011"} == {rule}
    cuts = {str(tmp_path / "j.pcap"): [9_000, 60_001, 90_000]}
    path = str(tmp_path / "j.pcap")
    options = Options(engine="direct", feeds=feeds_of(["rtp@:5004"], []), cuts=cuts)
    assert to_json(audit([CaptureInput(path)], options)) == to_json(report)


def lines_world(seed: int) -> tuple[list[tuple[int, bytes]], dict[str, Any]]:
    """The same on two groups, each with its own losses and its own way; and what came of it."""
    chance = random.Random(seed)
    loss = [chance.choice([0.0, 0.01, 0.2, 0.5]) if seed else 0.0 for _ in "AB"]
    lag = [0, chance.choice([0, 5_000, 300_000])]
    spread = chance.choice([1, 4_000, 900_000])
    frames: list[tuple[int, bytes]] = []
    came: tuple[dict[int, int], dict[int, int]] = ({}, {})
    number, now, ident = 1, START_NS, 0
    for turn in range(700):
        now += chance.choice([1, 20, 400]) * 1_000
        count = chance.randint(1, 3)
        payload = b"LINES".ljust(10) + struct.pack(">QH", number, count)
        payload += (struct.pack(">H", 8) + bytes(8)) * count
        for line, group in enumerate(("239.5.0.1", "239.5.1.1")):
            # the first come in order, so that it is clear where a line begins
            at_ns = now + lag[line] + (chance.randrange(spread) if turn > 3 else 0)
            if 3 < turn < 690 and chance.random() < loss[line]:
                continue
            ident += 1
            datagram = summed(udp(payload, 5000, 26400), UDP, "10.0.0.1", group)
            packet = ipv4(datagram, "10.0.0.1", group, ident=ident)
            frames.append((at_ns, ethernet(packet)))
            came[line].update(dict.fromkeys(range(number, number + count), at_ns))
        number += count
    frames.sort(key=lambda frame: frame[0])
    a, b = came
    known = set(range(1, number))
    shared = [b[n] - a[n] for n in a.keys() & b.keys()]
    leads = sorted(gap for gap in shared if gap > 0)
    truth = {
        "messages": len(a.keys() | b.keys()),
        "compared": number - 1,
        "lost_on_both": len(known - a.keys() - b.keys()),
        "neither": known - a.keys() - b.keys(),
        "only": [len(b.keys() - a.keys()), len(a.keys() - b.keys())],
        "measured": len(shared),
        "together": shared.count(0),
        "first": [len(leads), sum(gap < 0 for gap in shared)],
        "lead": {
            "p50": leads[(len(leads) + 1) // 2 - 1] if leads else None,
            "p99": leads[(len(leads) * 99 + 99) // 100 - 1] if leads else None,
            "max": leads[-1] if leads else None,
        },
    }
    return frames, truth


@pytest.mark.rule("FD022")
@pytest.mark.parametrize("seed", range(16))
def test_two_lines_are_arbitrated(seed: int, tmp_path: Path) -> None:
    frames, truth = lines_world(seed)
    world = World("", frames, {}, MOLD, NONE, v6=False)
    lines = ["A=239.5.0.1:26400,B=239.5.1.1:26400"]
    report = report_of(world, tmp_path / "l.pcap", "moldudp64", lines=lines)
    (row,) = report["tables"]["feed"]["lines"]
    lead = row["line_a"]["lead_ns"]
    assert truth == {"neither": truth["neither"], **of_lines(row), "lead": lead}
    lost = truth["lost_on_both"] - row["open_at_end"]
    totals = {"messages": truth["messages"], "lost": lost, "recovered": 0, "unrecovered": lost}
    assert report["totals"] | totals == report["totals"]
    came = {"A": 0, "B": 0}
    for gap in report["gaps"]:
        if gap["outcome"] == "came on the other line":
            came[gap["stream"][-1]] += gap["count"]
        elif gap["outcome"] == "unrecovered":  # of both lines, as its own row says
            assert {n for a, b in gap["seqnos"] for n in range(a, b + 1)} <= truth["neither"]
    listed = all(stream["unlisted_gaps"] == 0 for stream in report["streams"])
    assert [*came.values()] == truth["only"] or not listed
    told = {"FD022": 0, "FD023": 0}
    for finding in report["findings"]:
        rule = "FD022" if finding["rule"] == "FD017" else finding["rule"]
        if rule in told:
            told[rule] += int(finding["text"].split(" ")[0])
    assert told == {"FD022": truth["lost_on_both"], "FD023": sum(truth["only"])}
    assert seed or not [f for f in report["findings"] if f["rule"] != "FD003"]


def test_a_capture_that_holds_the_headers_only_is_judged_as_whole(tmp_path: Path) -> None:
    world = mold_world(5, replace(NONE, loss=0.1, copies=0.1, beats=0.1))
    path = tmp_path / "short.pcap"
    path.write_bytes(pcap_bytes(world.frames, snap=78))
    feed = "moldudp64@239.3.0.0/24:26400,server=10.0.0.2:6000"
    report: Any = audit(
        [CaptureInput(str(path))], Options(engine="direct", feeds=feeds_of([feed], []))
    )
    assert differences(world, report) == []


def test_what_is_only_like_rtp_is_others_whatever_the_cut(tmp_path: Path) -> None:
    """A call among datagrams that begin like RTP: any numbers, or a count beside a constant."""
    chance = random.Random(8)
    frames: list[tuple[int, bytes]] = []
    for number in range(400):

        def of(stamp: int, wire: int, ssrc: int) -> bytes:
            head = struct.pack(">BBHII", 0x80, 0, wire & 0xFFFF, stamp & 0xFFFFFFFF, ssrc)
            return ethernet(ipv4(udp(head + bytes(160), 5000 + ssrc, 6000), "10.0.0.1"))

        at_ns = START_NS + number * 20_000_000
        frames.append((at_ns, of(160 * number, 65_400 + number, 1)))
        frames.append((at_ns + 1, of(chance.randrange(2**32), chance.randrange(2**16), 2)))
        frames.append((at_ns + 2, of(7, number, 3)))
        frames.append((at_ns + 3, of(0, 9, 4 + number)))
        alone = of(chance.randrange(2**32), chance.randrange(2**16), 2)
        frames.append((at_ns + 4, alone[:36] + struct.pack(">H", 7000) + alone[38:]))
    path = tmp_path / "r.pcap"
    path.write_bytes(pcap_bytes(frames))
    given = [CaptureInput(str(path))]
    options = Options(engine="direct", feeds=feeds_of(("rtp",), ()), compile_it=False)
    report = audit(given, options)
    assert [(s["sender"], s["messages"], s["lost"]) for s in report["streams"]] == [
        ("10.0.0.1:5001", 400, 0)
    ]
    assert report["findings"] == []
    (capture,) = report["captures"]
    assert capture["feeds"] == {"rtp": {"taken": 400, "refused": 0, "out_of_step": 1_600}}
    places = {(port, system): frames for _, _, port, system, frames, _ in capture["endpoints"]}
    assert places == {(6000, "feed"): 1_600, (7000, ""): 400}
    assert capture["frames_by"] | {"decoded": 400, "other": 1_600} == capture["frames_by"]
    assert capture["messages_by"] == {"feed rtp": {"DATA": 400}}
    cuts = {str(path): [24 + at * (16 + len(frames[0][1])) for at in (3, 400, 401, 1_599)]}
    for other in (replace(options, cuts=cuts), replace(options, compile_it=True)):
        assert to_json(audit(given, other)) == to_json(report)
