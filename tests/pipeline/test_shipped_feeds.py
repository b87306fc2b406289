"""Every shipped feed on a capture made by its specification, with faults that are known.

A maker writes datagrams from the specification's own words, not from the feed file; what was lost,
sent again or declared is the truth that the report is held against.
"""

import json
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.main import main
from seqaudit.cli.options.feeds import feeds_of, recognisable
from seqaudit.decoders.feeds.files import load_feed, shipped
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.network.builders import (
    UDP,
    ethernet,
    ipv4,
    pcap,
    record_offsets,
    summed,
    udp,
)

MS = 1_000_000
SECONDS = 1_790_000_000
GROUP, SENDER, PORT = "239.7.7.7", "10.0.0.1", 26400


@dataclass
class Case:
    """Datagrams of a feed and what the report must say of its streams together.

    Attributes:
        lost: numbers that never came.
        recovered: numbers that came again as marked repairs.
        messages: numbers that came at all.
        streams: how many there are.
        rules: of the findings.
    """

    datagrams: list[bytes]
    messages: int
    lost: int = 0
    recovered: int = 0
    streams: int = 1
    rules: set[str] = field(default_factory=set)


def sent(payload: Callable[[int], bytes], count: int, lost: tuple[int, ...] = (7, 8)) -> Case:
    """Datagrams of one number each from 0 on, but for some."""
    datagrams = [payload(n) for n in range(count) if n not in lost]
    return Case(datagrams, count - len(lost), len(lost), rules={"FD002"} if lost else set())


def moldudp64() -> Case:
    def packet(seqno: int, count: int, blocks: int) -> bytes:
        body = b"".join(struct.pack(">H", 3) + b"abc" for _ in range(blocks))
        return b"SESSION-1 " + struct.pack(">QH", seqno, count) + body

    data = [packet(1, 2, 2), packet(3, 1, 1), packet(6, 2, 2)]
    return Case([*data, packet(8, 0, 0), packet(8, 0xFFFF, 0)], 5, 2, rules={"FD002"})


def iex() -> Case:
    def segment(seqno: int, count: int) -> bytes:
        body = (struct.pack("<H", 3) + b"abc") * count
        head = struct.pack("<BBHIIHH", 1, 0, 0x8004, 1, 0x48DD0000, len(body), count)
        return head + struct.pack("<QQQ", 5 * (seqno - 1), seqno, SECONDS * 10**9) + body

    data = [segment(1, 0), segment(1, 2), segment(3, 1), segment(6, 2), segment(8, 0)]
    return Case(data, 5, 2, rules={"FD002"})


def cme() -> Case:
    """And two loops of a snapshot, which has numbers of its own."""

    def packet(n: int, template: int = 46) -> bytes:
        header = struct.pack("<IQ", n % 1000 + 1, SECONDS * 10**9 + n * 5_000_000)
        return header + struct.pack("<HHHHH", 40, 11, template, 1, 9) + bytes(30)

    case = sent(packet, 400)  # two seconds: its clock is one of nanoseconds
    case.datagrams += [packet(n, 52) for n in (1000, 1001, 2000, 2001)]
    return case


def pillar() -> Case:
    def packet(flag: int, seqno: int, count: int) -> bytes:
        body = struct.pack("<HHI", 16, 100, 5) * count
        size = 16 + len(body)
        return struct.pack("<HBBIII", size, flag, count, seqno, SECONDS, 5) + body.ljust(size - 16)

    return Case(
        [packet(11, 1, 2), packet(11, 3, 1), packet(11, 6, 2), packet(13, 4, 1), packet(1, 8, 0),
         packet(18, 1, 3), packet(11, 8, 1)],
        7, 1, 1, rules={"FD001", "FD002"},
    )  # fmt: skip


def pitch() -> Case:
    def block(unit: int, seqno: int, count: int) -> bytes:
        body = b"\x06\x2a\1\2\3\4" * count
        return struct.pack("<HBBI", 8 + len(body), count, unit, seqno) + body

    return Case(
        [block(1, 1, 3), block(2, 1, 1), block(1, 6, 1) + block(2, 2, 2), block(1, 7, 0),
         block(0, 0, 2), block(2, 0, 0), block(2, 0, 1)],
        7, 2, streams=2, rules={"FD002"},
    )  # fmt: skip


def impact() -> Case:
    """A block without a message ends with its header."""

    def block(seqno: int, count: int) -> bytes:
        head = struct.pack(">HIHQ", 4, seqno, count, SECONDS * 1000)
        return head + (b"S\0\6" + bytes(3)) * count

    return Case([block(1, 2), block(3, 1), block(6, 1), block(7, 0), block(7, 1)], 5, 2,
                rules={"FD002"})  # fmt: skip


def mach() -> Case:
    def packet(seqno: int, kind: int = 3, body: bytes = b"\x31abcdef") -> bytes:
        return struct.pack("<QHBB", seqno, 12 + len(body), kind, 1) + body

    start, beat, end = packet(1, 1, b""), packet(8, 0, b""), packet(8, 2, b"")
    return Case(
        [start, packet(1) + packet(2) + packet(3), packet(6) + packet(7), beat, end],
        5, 3, rules={"FD002", "FD007"},
    )  # fmt: skip


def eobi(*, old: bool = False) -> Case:
    """Two market segments on one group, whose packets are numbered together."""

    def packet(n: int) -> bytes:
        head = struct.pack("<HHI", 32, 13002, 0xFFFFFFFF)
        segment, reset = 589 + n % 2, int(n == 0)
        if old:
            return head + struct.pack("<IIBBB5xQ", n + 1, segment, 3, 1, reset, SECONDS) + bytes(32)
        return head + struct.pack("<QIBBBxQ", n + 1, segment, 3, 1, reset, SECONDS) + bytes(32)

    case = sent(packet, 30)
    case.messages -= 1  # the packet that declares the reset
    case.rules.add("FD009")
    return case


def opra() -> Case:
    def block(
        seqno: int, count: int, resent: bytes = b" ", category: bytes = b"a", kind: bytes = b" "
    ) -> bytes:
        body = (b"N" + category + kind + bytes(19)) * count
        head = struct.pack(
            ">BHccBIBIIH", 3, 21 + len(body), b"O", resent, 0, seqno, count, SECONDS, 5, 0
        )
        return head + body

    control = {
        "start of day": block(1, 1, category=b"H", kind=b"C"),  # a message like any other
        "line integrity": block(10, 1, category=b"H", kind=b"N"),
        "reset": block(0, 1, category=b"H", kind=b"K"),
    }
    return Case(
        [control["start of day"], block(2, 2), block(4, 2), block(9, 1), block(6, 2, b"V"),
         control["line integrity"], block(10, 1), control["reset"], block(1, 2)],
        11, 1, 2, rules={"FD001", "FD002", "FD009"},
    )  # fmt: skip


def netflow5() -> Case:
    def packet(sequence: int, count: int) -> bytes:
        return struct.pack(">HHIIIIBBH", 5, count, 9000, SECONDS, 77, sequence, 0, 3, 0) + bytes(
            48 * count
        )

    return Case([packet(100, 30), packet(130, 2), packet(150, 30)], 62, 18, rules={"FD002"})


def netflow9() -> Case:
    def packet(n: int) -> bytes:
        return struct.pack(">HHIIII", 9, 3, 9000, SECONDS, n, 7) + bytes(60)

    return sent(packet, 30)


def ipfix() -> Case:
    """Records of three layouts, one of variable size."""

    def message(sequence: int, *sets: bytes, domain: int = 7) -> bytes:
        body = b"".join(sets)
        return struct.pack(">HHIII", 10, 16 + len(body), SECONDS, sequence, domain) + body

    def a_set(number: int, body: bytes) -> bytes:
        return struct.pack(">HH", number, 4 + len(body)) + body

    fixed = struct.pack(">HH", 256, 3) + struct.pack(">HHHHHHI", 8, 4, 12, 4, 0x8001, 2, 29305)
    named = struct.pack(">HH", 257, 3) + struct.pack(">HHHHHH", 8, 4, 82, 0xFFFF, 1, 8)
    about = struct.pack(">HHH", 258, 2, 1) + struct.pack(">HHHH", 149, 4, 41, 8)
    templates, options = a_set(2, fixed + named), a_set(3, about + b"\0\0")

    def flows(count: int, padding: int = 0) -> bytes:
        return a_set(256, bytes(range(1, 11)) * count + bytes(padding))

    def names(*sizes: int) -> bytes:
        long = [struct.pack(">BH", 255, n) if n > 254 else bytes([n]) for n in sizes]
        parts = (b"addr" + head + b"x" * n + bytes(8) for head, n in zip(long, sizes, strict=True))
        return a_set(257, b"".join(parts))

    data = [
        message(93, templates, options),
        message(93, flows(5, padding=2)),
        message(98, flows(2), names(3, 0, 300), a_set(258, bytes(12))),
        message(104, templates),  # again, as UDP asks for
        message(104, names(1)),
        message(110, flows(1)),  # five are lost
        message(111),
    ]
    return Case(data, 13, 5, rules={"FD002"})


def sflow() -> Case:
    def datagram(n: int, v6: bool) -> bytes:
        agent = struct.pack(">I", 2) + bytes(15) + b"\1" if v6 else struct.pack(">I4s", 1, b"abcd")
        return struct.pack(">I", 5) + agent + struct.pack(">IIII", 0, n, 5000, 1) + bytes(40)

    case = sent(lambda n: datagram(n, v6=False), 20)
    case.datagrams += sent(lambda n: datagram(n, v6=True), 20, lost=()).datagrams
    case.messages += 20
    case.streams = 2
    return case


def mpeg_ts() -> Case:
    def packets() -> Iterator[bytes]:
        counter = 0
        for n in range(140):
            if n % 10 == 4:
                yield struct.pack(">BHB", 0x47, 0x1FFF, 0x10) + bytes(184)  # a null packet
            elif n % 10 == 7:  # an adaptation field alone: the counter stays
                yield struct.pack(">BHBB", 0x47, 0x0100, 0x20 | counter, 183) + bytes(183)
            else:
                counter = (counter + 1) & 15
                yield struct.pack(">BHB", 0x47, 0x0100, 0x10 | counter) + bytes(184)

    whole = list(packets())
    datagrams = [b"".join(whole[n : n + 7]) for n in range(0, 140, 7)]
    gone = [p for p in whole[35:42] if p[1:3] == b"\x01\x00" and p[3] & 0x10]
    del datagrams[5]
    # Another recording is joined: an adaptation field alone says so, and has the counter before its
    # first packet's.
    joint = struct.pack(">BHBBB", 0x47, 0x0100, 0x25, 183, 0x80) + bytes(182)
    after = [struct.pack(">BHB", 0x47, 0x0100, 0x10 | n) + bytes(184) for n in range(6, 12)]
    datagrams.append(b"".join([joint, *after]))
    return Case(datagrams, 118 - len(gone), len(gone), rules={"FD002", "FD009", "FD020"})


def mavlink1() -> Case:
    def message(n: int) -> bytes:
        return bytes([0xFE, 9, n & 255, 1, 1, 0]) + bytes(11)

    case = sent(lambda n: message(2 * n) + message(2 * n + 1), 200)
    return Case(case.datagrams, 396, 4, rules={"FD002"})


def mavlink2() -> Case:
    """Every third message is signed."""

    def message(n: int) -> bytes:
        size, signed = n % 40, int(n % 3 == 0)
        head = bytes([0xFD, size, signed, 0, n & 255, 1, 1, 30, 0, 0])
        return head + bytes(size + 2 + 13 * signed)

    case = sent(lambda n: message(2 * n) + message(2 * n + 1), 150)
    return Case(case.datagrams, 296, 4, rules={"FD002"})


def sacn() -> Case:
    def packet(n: int) -> bytes:
        root = struct.pack(">HH12sHI16s", 16, 0, b"ASC-E1.17\0\0\0", 0x726E, 4, bytes(range(16)))
        framing = struct.pack(">HI64sBHBBH", 0x7258, 2, b"desk", 100, 0, n & 255, 0, 12)
        return root + framing + bytes(523)

    return sent(packet, 300)


def rtp_packet(n: int, ssrc: int = 0x1234, kind: int = 96) -> bytes:
    return struct.pack(">BBHII", 0x80, kind, n & 0xFFFF, 90 * n, ssrc) + bytes(40)


def rtp() -> Case:
    return sent(lambda n: rtp_packet(65_500 + n), 80)


def rist() -> Case:
    case = sent(lambda n: rtp_packet(65_500 + n), 80)
    case.datagrams.append(rtp_packet(65_507, 0x1235))  # the lowest bit: retransmitted
    return Case(case.datagrams, 79, 1, 1, rules={"FD001", "FD002"})


def srt() -> Case:
    """Behind every tenth packet one of the packet filter, which has that packet's number."""

    def packet(n: int, resent: int = 0, message: int | None = None) -> bytes:
        seqno = (0x7FFFFFF0 + n) & 0x7FFFFFFF
        number = n + 1 if message is None else message
        return struct.pack(">IIII", seqno, 0xC0000000 | resent << 26 | number, n, 77) + bytes(60)

    case = sent(packet, 50, (7, 9))
    nak = struct.pack(">HHIIII", 0x8003, 0, 0, 5, 77, 0x7FFFFFF7)
    for place, n in ((8, 9), (19, 19), (30, 29)):
        case.datagrams.insert(place, packet(n, message=0))
    return Case([*case.datagrams, nak, packet(7, 1)], 49, 1, 1, rules={"FD001", "FD002"})


def avtp() -> Case:
    """PCM sound of a stream, between what has no stream."""

    def packet(n: int) -> bytes:
        head = struct.pack(">BBBB", 2, 0x81, n & 0xFF, 0) + struct.pack(">Q", 0x91E0F0001)
        return head + bytes(36)

    return sent(packet, 600)


def esp() -> Case:
    return sent(lambda n: struct.pack(">II", 0xC0FFEE, n + 1) + bytes(60), 40)


def gre() -> Case:
    return sent(lambda n: struct.pack(">HHI", 0x1000, 0x0800, n) + bytes(40), 40)


def esp_udp() -> Case:
    case = esp()
    case.datagrams.insert(5, bytes(4) + bytes(28))  # IKE
    return case


def ptp() -> Case:
    def message(kind: int, n: int) -> bytes:
        head = struct.pack(">BBHBBHQ4x10sHBb", kind, 2, 44, 0, 0, 0, 0, b"clock-1234", n, 0, 0)
        return head + bytes(10)

    case = sent(lambda n: message(0, 65_520 + n & 0xFFFF), 30)
    case.datagrams += [message(8, n) for n in range(5)] + [message(9, 77), message(1, 9)]
    case.messages += 5
    case.streams = 2
    return case


def sampled_values(modulus: int) -> Case:
    """A merging unit over the end of two seconds; one ASDU a message, as 9-2 LE has it."""

    def message(n: int) -> bytes:
        values = b"\x87\x40" + bytes(64)
        sample = b"\x82\x02" + struct.pack(">H", n % modulus) + b"\x83\x04\0\0\0\1\x85\1\2"
        asdu = b"\x80\x08MU-0001A" + sample + values
        asdus = b"\xa2" + bytes([len(asdu) + 2]) + b"\x30" + bytes([len(asdu)]) + asdu
        pdu = b"\x60" + bytes([len(asdus) + 3]) + b"\x80\1\1" + asdus
        return struct.pack(">HHHH", 0x4000, 8 + len(pdu), 0, 0) + pdu

    return sent(lambda n: message(modulus - 20 + n), modulus + 60, (7, 8, 19, 20, 21))


CASES: dict[str, Callable[[], Case]] = {
    "avtp": avtp, "esp": esp, "esp-udp": esp_udp, "gre": gre, "ptp-ethernet": ptp,
    "cboe-pitch": pitch, "cme-mdp3": cme, "eurex-eobi": eobi, "ice-impact": impact,
    "iex-tp": iex, "ipfix": ipfix,
    "mavlink1": mavlink1, "mavlink2": mavlink2, "miax-mach": mach, "moldudp64": moldudp64,
    "mpeg-ts": mpeg_ts, "netflow5": netflow5, "netflow9": netflow9, "ptp": ptp,
    "nyse-pillar": pillar,
    "opra": opra, "rist": rist, "rtp": rtp, "sacn": sacn, "sflow": sflow, "srt": srt,
    "st2110": rtp, "sv-4000": lambda: sampled_values(4000), "sv-4800": lambda: sampled_values(4800),
}  # fmt: skip


def report_of(path: Path, *options: str) -> dict[str, Any]:
    command = ["audit", "--engine", "direct", "--format", "json", "--exit-zero", *options]
    outcome = CliRunner().invoke(main, [*command, str(path)])
    assert outcome.exit_code in (ExitCode.CLEAN, ExitCode.NOT_JUDGED), outcome.output
    report: dict[str, Any] = json.loads(outcome.stdout)
    return report


def framed(name: str, datagrams: list[bytes], group: str = GROUP) -> list[bytes]:
    """What carries them."""
    feed = load_feed(shipped()[name])
    frames = []
    for number, datagram in enumerate(datagrams):
        port = next((place.port[0] for place in feed.match), PORT)
        if feed.ethertype:
            tagged = struct.pack(">HHH", 0, number, feed.ethertype) + datagram
            plain = ethernet(datagram, feed.ethertype, tags=[0x8100] * (number % 3 == 1))
            frames.append(plain if number % 3 < 2 else ethernet(tagged, 0xF1C1))
            continue
        carried = datagram
        if not feed.protocol:
            carried = summed(udp(datagram, 30_000, port), UDP, SENDER, group)
        protocol = feed.protocol or 17
        packet = ipv4(carried, SENDER, group, protocol=protocol, ident=number + 1)
        frames.append(ethernet(packet))
    return frames


def written(name: str, datagrams: list[bytes], path: Path) -> Path:
    """A capture: 5 ms apart, and two seconds of others behind it."""
    return captured(framed(name, datagrams), path)


def captured(frames: list[bytes], path: Path) -> Path:
    times = [SECONDS * 10**9 + 5 * MS * number for number in range(len(frames))]
    other = ethernet(ipv4(udp(b"\0" * 9, 40_000, 9), "10.0.0.8", "10.0.0.9", ident=1))
    path.write_bytes(pcap([*frames, other], times_ns=[*times, times[-1] + 2_000 * MS]))
    return path


def held_against(case: Case, report: dict[str, Any]) -> None:
    streams = [s for s in report["streams"] if s["system"] == "feed"]
    told = [f for f in report["findings"] if f["rule"].startswith("FD")]
    found = Case(
        case.datagrams,
        sum(stream["messages"] for stream in streams),
        sum(stream["unrecovered"] for stream in streams),
        sum(stream["recovered"] for stream in streams),
        len(streams),
        # What came before a repair of it is overtaken by nothing else than the repair itself.
        {finding["rule"] for finding in told},
    )
    assert found == case


def test_every_shipped_feed_has_a_capture() -> None:
    known = {name: load_feed(path) for name, path in shipped().items()}
    over_tcp = {name for name, feed in known.items() if feed.framing}  # test_feeds_over_tcp.py
    assert set(CASES) == set(known) - {"example"} - over_tcp


@pytest.mark.rule("5.5")
@pytest.mark.parametrize("name", CASES)
def test_a_capture_by_the_specification_is_told_as_it_was_made(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    path = written(name, case.datagrams, tmp_path / "m.pcap")
    report = report_of(path, "--feed", placed(name, GROUP))
    held_against(case, report)
    (capture,) = report["captures"]
    decoded = len(case.datagrams) - (name == "esp-udp")
    assert capture["frames_by"]["decoded"] == decoded
    assert capture["frames"] == sum(capture["frames_by"].values())


def placed(name: str, group: str) -> str:
    """A feed at its place."""
    feed = load_feed(shipped()[name])
    if feed.match or feed.ethertype:
        return name
    return f"{name}@{group}" if feed.protocol else f"{name}@{group}:{PORT}"


@pytest.mark.parametrize("turn", [1, -1])
def test_all_feeds_are_told_in_one_capture_as_each_alone(turn: int, tmp_path: Path) -> None:
    """Each in a group of its own, taking turns."""
    groups = {name: f"239.7.7.{n}" for n, name in enumerate(CASES, 1) if name != "sv-4800"}
    alone = {name: CASES[name]() for name in groups}
    frames = [iter(framed(name, alone[name].datagrams, group)) for name, group in groups.items()]
    turns = [frame for each in zip_longest(*frames) for frame in each if frame is not None]
    places = [placed(name, group) for name, group in groups.items()][::turn]
    path = captured(turns, tmp_path / "all.pcap")
    report = report_of(path, *(word for place in places for word in ("--feed", place)))
    for name, case in alone.items():
        own = {
            part: [row for row in report[part] if str(row[key]).startswith(f"{name}|")]
            for part, key in (("streams", "id"), ("findings", "stream"))
        }
        held_against(case, own)


@pytest.mark.parametrize(
    "name", ["mpeg-ts", "miax-mach", "sflow", "esp", "nyse-pillar", "ptp-ethernet"]
)
def test_cuts_and_kernels_change_nothing(name: str, tmp_path: Path) -> None:
    path = written(name, CASES[name]().datagrams, tmp_path / "m.pcap")
    carried = load_feed(shipped()[name]).carrier
    feeds = feeds_of([name if carried else f"{name}@{GROUP}:{PORT}"], [])
    offsets = record_offsets(path.read_bytes())
    more: list[dict[str, Any]] = [
        {"compile_it": True}, {"cuts": {str(path): offsets[1:-1:3]}},
        {"cuts": {str(path): offsets[1:-1:11]}, "compile_it": True},
    ]  # fmt: skip
    whole, *others = (
        to_json(audit([CaptureInput(str(path))], Options(engine="direct", feeds=feeds, **given)))
        for given in ({"compile_it": False}, *more)
    )
    assert others == [whole] * 3


@pytest.mark.parametrize("name", [feed.name for feed in recognisable()])
def test_what_can_be_recognised_is_found_by_feeds_auto(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    report = report_of(written(name, case.datagrams, tmp_path / "m.pcap"), "--feeds-auto")
    held_against(case, report)
    taken = {f: n["taken"] for f, n in report["captures"][0]["feeds"].items() if n["taken"]}
    assert taken == {name: len(case.datagrams)}


def test_eobi_of_both_layouts_is_read_by_one_feed(tmp_path: Path) -> None:
    for old in (True, False):
        case = eobi(old=old)
        path = written("eurex-eobi", case.datagrams, tmp_path / "m.pcap")
        held_against(case, report_of(path, "--feed", f"eurex-eobi@{GROUP}:{PORT}"))


def test_what_only_datagrams_tell_apart_is_on_probation() -> None:
    assert {feed.on_probation for feed in recognisable() if not feed.carrier} == {True}


def test_bytes_without_meaning_are_no_feed(tmp_path: Path) -> None:
    chance = random.Random(5)
    frames = []
    for number in range(20_000):
        payload = chance.randbytes(chance.choice([20, 48, 188, 376, 1316]))
        datagram = udp(payload, 30_000 + number % 50, 40_000 + number % 70)
        frames.append(ethernet(ipv4(datagram, SENDER, "10.0.0.2", ident=number)))
    path = tmp_path / "noise.pcap"
    path.write_bytes(pcap(frames, times_ns=list(range(20_000))))
    report = report_of(path, "--feeds-auto")
    assert {counts["taken"] for counts in report["captures"][0]["feeds"].values()} == {0}
    assert report["streams"] == []


def _dtls(n: int) -> bytes:
    return b"\x16\xfe\xfd\0\0" + n.to_bytes(6, "big") + struct.pack(">H", 215) + bytes(215)


def _dtls_data(n: int) -> bytes:
    return b"\x17\xfe\xfd\0\1" + n.to_bytes(6, "big") + struct.pack(">H", 90) + bytes([n] * 90)


def _ntp(n: int) -> bytes:
    return b"\x23\x02\x06\xe9" + bytes(36) + struct.pack(">II", 3_990_000_000 + 64 * n, n << 20)


def _dns(n: int) -> bytes:
    question = b"\7example\3com\0\0\1\0\1"
    return struct.pack(">HHHHHH", 700 + n, 0x0100, 1, 0, 0, 0) + question


def _stun(n: int) -> bytes:
    return b"\0\1\0\x08\x21\x12\xa4\x42" + n.to_bytes(12, "big") + b"\x80\x22\0\4test"


def _quic(n: int) -> bytes:
    chance = random.Random(n)
    return b"\x40" + b"\x11\x22\x33\x44\x55\x66\x77\x88" + chance.randbytes(1191)


def _wireguard(n: int) -> bytes:
    return struct.pack("<IIQ", 4, 0x12345678, n) + random.Random(n).randbytes(96)


def _syslog(n: int) -> bytes:
    return b"<34>1 2026-11-18T11:06:%02d.003Z host app - ID%d - text" % (n % 60, n)


def _snmp(n: int) -> bytes:
    return b"\x30\x29\2\1\1\4\6public\xa0\x1c\2\4" + struct.pack(">I", n) + bytes(22)


def _openvpn(n: int) -> bytes:
    return b"\x48\0\0\1" + struct.pack(">I", n) + random.Random(n).randbytes(100)


def _coap(n: int) -> bytes:
    return struct.pack(">BBH", 0x40, 1, 500 + n) + b"\xbbtemperature"


@pytest.mark.parametrize(
    "made",
    [_dtls, _dtls_data, _ntp, _dns, _stun, _quic, _wireguard, _syslog, _snmp, _openvpn, _coap],
)
def test_protocols_of_others_are_no_feed(made: Callable[[int], bytes], tmp_path: Path) -> None:
    """Each in its own order and without a gap, as recognition likes it."""
    frames = [
        ethernet(ipv4(udp(made(number), 40_000, 44_433), SENDER, "10.0.0.2", ident=number))
        for number in range(1, 60)
    ]
    path = tmp_path / "others.pcap"
    path.write_bytes(pcap(frames))
    report = report_of(path, "--feeds-auto")
    assert {counts["taken"] for counts in report["captures"][0]["feeds"].values()} <= {0}
    assert report["streams"] == []


def test_of_what_was_only_recognised_nothing_is_proven(tmp_path: Path) -> None:
    data = bytearray(b"".join(mpeg_ts().datagrams))
    at = data.index(struct.pack(">BH", 0x47, 0x0100)) + 3
    data[at : at + 3] = bytes([0x30 | data[at] & 15, 7, 0x80])  # a declared discontinuity
    datagrams = [bytes(data[n : n + 1316]) for n in range(0, len(data), 1316)]
    path = written("mpeg-ts", datagrams, tmp_path / "m.pcap")
    for option, certainty in (("--feeds-auto", "likely"), (f"--feed=mpeg-ts@:{PORT}", "proven")):
        (found,) = [f for f in report_of(path, option)["findings"] if f["rule"] == "FD009"]
        assert found["certainty"] == certainty
        assert ("recognised" in found["text"]) is (certainty == "likely")
