"""Networks that use the same addresses in one capture (decoders/README.md 7): two recordings of the
same hosts, each behind a number of its own, are reported as each by itself."""

import io
import json
import random
import struct
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from seqaudit.cli.output.outcomes import unjudged
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline import planning
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared import plan
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.network.builders import ethernet, ipv4, record_offsets, udp
from tests.decoders.zenoh import builders as zenoh
from tests.degraded import fragments
from tests.degraded.captures import Capture, Pcap, Record, read

DIRECT: Final = Options(engine="direct")
SECOND: Final = 1_000_000_000
HEADER: Final = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
#: What a capture says of its frames.
OF_FRAMES: Final = (
    "frames", "frames_by", "bytes", "wire_bytes", "first_ns", "last_ns", "links", "fragments",
)  # fmt: skip
PARTS: Final = ("streams", "gaps", "findings", "views", "connections", "queries", "windows")
PUSHED: Final = 0x08  # flag of TCP
IP: Final = bytes([172, 16, 0, 1, 172, 16, 0, 2])

#: Two recordings of hosts of the same addresses.
PAIRS: Final = (
    ("jgroups/n2-loss-1/B.pcap", "jgroups/n2-last-lost-1/B.pcap"),
    ("jgroups/u3n2-frag2-1/B.pcap", "jgroups/n2-loss-1/A.pcap"),
    ("raims/frame-chain-loss-1/B.pcap", "raims/frame-silent-loss-1/B.pcap"),
    ("raims/tcp-partition-1/B.pcap", "raims/tcp-partition-3/B.pcap"),
    ("zenoh/udp-cache-too-small-1/sub.pcap", "zenoh/udp-cache-too-small-2/sub.pcap"),
)

Carry = Callable[[bytes, int], bytes]


def carried_by_ip(protocol: int, payload: bytes, ident: int = 1, place: int = 0) -> bytes:
    """Ethernet and IPv4 around something."""
    head = struct.pack(">BBHHHBBH8s", 0x45, 0, 20 + len(payload), ident, place, 64, protocol, 0, IP)
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    head = head[:10] + struct.pack(">H", check) + head[12:]
    return bytes(range(12)) + b"\x08\x00" + head + payload


def in_vxlan(frame: bytes, number: int) -> bytes:
    head = struct.pack(">HHHHII", 40_000, 4789, 16 + len(frame), 0, 0x08000000, number << 8)
    return carried_by_ip(17, head + frame)


def in_gre(frame: bytes, number: int) -> bytes:
    return carried_by_ip(47, struct.pack(">HHI", 0x2000, 0x6558, number) + frame)


def in_vlan(frame: bytes, number: int) -> bytes:
    return frame[:12] + struct.pack(">HH", 0x8100, number) + frame[12:]


CARRIERS: Final[dict[str, tuple[Carry, str]]] = {
    "VXLAN": (in_vxlan, "VXLAN network {}"),
    "GRE": (in_gre, "GRE key {}"),
    "VLAN": (in_vlan, "VLAN {}"),
}


def behind(records: Sequence[Record], carry: Carry, number: int, by_ns: int = 0) -> list[Record]:
    """Records in a network, at other times."""
    found = []
    for record in records:
        data = carry(record.data, number)
        size = record.size + len(data) - len(record.data)
        found.append(replace(record, data=data, size=size, at_ns=record.at_ns + by_ns))
    return found


def in_fragments(records: Sequence[Record], ident: int) -> list[Record]:
    """What is long comes in two fragments of the packet outside."""
    found = []
    for number, record in enumerate(records):
        data = record.data
        if len(data) < 200:
            found.append(record)
            continue
        payload = data[34:]
        for part, place in ((payload[:96], 1 << 13), (payload[96:], 12)):
            whole = carried_by_ip(data[23], part, ident + number, place)
            found.append(replace(record, data=whole, size=len(whole)))
    return found


class Bench:
    """Captures by name in a folder, and their reports."""

    def __init__(self, fixtures: Path, folder: Path) -> None:
        self.fixtures, self.folder = fixtures, folder

    def records(self, name: str) -> list[Record]:
        """Of a recording, from time 0 on."""
        capture = read(self.fixtures / name)
        assert capture.layout.links == (1,)
        first = capture.records[0].at_ns
        return [replace(r, at_ns=r.at_ns - first + SECOND, options=b"") for r in capture.records]

    def write(self, name: str, *parts: Sequence[Record]) -> Path:
        records = sorted((r for part in parts for r in part), key=lambda r: r.at_ns)
        path = self.folder / f"{name}.pcap"
        path.write_bytes(Capture(Pcap(HEADER, "<", 1), tuple(records)).written())
        return path

    def report(self, path: Path, options: Options = DIRECT) -> Any:
        report: dict[str, Any] = json.loads(to_json(audit([CaptureInput(str(path))], options)))
        return report

    def judged_as_alone(self, mixed: Path, alone: Sequence[Path]) -> None:
        """The report of a mixed capture says of each network what is said of it by itself."""
        report = self.report(mixed)
        places: dict[tuple[int, bytes], list[int]] = {}
        for number, record in enumerate(read(mixed).records, 1):
            places.setdefault((record.at_ns, record.data), []).append(number)
        for capture, path in enumerate(alone):
            own = {
                number: places[record.at_ns, record.data].pop(0)
                for number, record in enumerate(read(path).records, 1)
            }
            expected = self.report(path)
            for part in PARTS:
                assert said(report[part], capture, {}) == said(expected[part], 0, own), part

    def judged_as_without_fragments(self, path: Path, report: Any, expected: Any) -> None:
        """A report says what is expected but for the numbers of frames, and the same wherever its
        capture is cut."""
        for part in ("streams", "gaps"):
            assert without_frames(report[part]) == without_frames(expected[part]), part
        rules = [Counter(one["rule"] for one in told["findings"]) for told in (report, expected)]
        assert rules[0] == rules[1]
        borders = record_offsets(path.read_bytes())
        cut = Options(engine="direct", cuts={str(path): borders[100 : len(borders) : 150]})
        assert self.report(path, cut) == report


def said(rows: Sequence[Any], capture: int, frames: dict[int, int]) -> list[str]:
    """Rows of one capture, with frames by other numbers."""

    def told(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: told(v, k) for k, v in value.items() if k not in ("capture", "filter")}
        if isinstance(value, list):
            return [told(one, key) for one in value]
        if isinstance(value, int) and (key == "frames" or key.endswith("frame")):
            return frames.get(value, value)
        return value

    return sorted(
        json.dumps(told(row), sort_keys=True) for row in rows if row["capture"] == capture
    )


@pytest.fixture
def bench(fixtures: Path, tmp_path: Path) -> Bench:
    return Bench(fixtures, tmp_path)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("pair", PAIRS, ids=[pair[0].partition("/")[2] for pair in PAIRS])
def test_each_network_is_judged_as_if_it_were_alone(
    bench: Bench, pair: tuple[str, str], carrier: str
) -> None:
    carry, name = CARRIERS[carrier]
    one = behind(bench.records(pair[0]), carry, 5)
    other = behind(bench.records(pair[1]), carry, 6, 7)
    mixed = bench.write("mixed", one, other)
    paths = [capture["path"] for capture in bench.report(mixed)["captures"]]
    assert paths == [f"{mixed} ({name.format(number)})" for number in (5, 6)]
    bench.judged_as_alone(mixed, [bench.write("one", one), bench.write("other", other)])


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[3]], ids=["UDP", "TCP"])
def test_packets_of_a_tunnel_that_came_in_fragments_are_of_their_network(
    bench: Bench, pair: tuple[str, str], nested: bool
) -> None:
    def sent(name: str) -> list[Record]:
        plain = bench.records(name)
        if not nested:
            return plain
        return [replace(r, data=p, size=len(p)) for r in plain for p in in_own_fragments(r.data)]

    one, other = (
        in_fragments(behind(sent(name), in_vxlan, number), number * 5000)
        for name, number in zip(pair, (5, 6), strict=True)
    )
    mixed = bench.write("mixed", one, other)
    alone = [bench.write("one", one), bench.write("other", other)]
    bench.judged_as_alone(mixed, alone)
    for capture, path in zip(bench.report(mixed)["captures"], alone, strict=True):
        expected = bench.report(path)["captures"][0]
        assert {name: capture[name] for name in OF_FRAMES} == {
            name: expected[name] for name in OF_FRAMES
        }


def test_each_frame_of_a_fragmented_tunnel_is_of_one_network(bench: Bench) -> None:
    """Also what never becomes a datagram, and fragments in a tunnel that look like one outside."""
    one, other = (
        in_fragments(behind(bench.records(name), in_vxlan, number), number * 5000)
        for name, number in zip(PAIRS[0], (5, 6), strict=True)
    )
    first = next(r for r in one if int.from_bytes(r.data[20:22], "big") & 0x2000)
    inside = behind([first], in_vxlan, 5, SECOND)
    missing = [replace(first, data=carried_by_ip(first.data[23], first.data[34:], 77, 1 << 13))]
    mixed = bench.write("mixed", one, other[:-1], inside, missing)
    captures = bench.report(mixed)["captures"]
    assert len(captures) == 3
    assert sum(own["frames"] for own in captures) == len(read(mixed).records)
    assert all(sum(own["frames_by"].values()) == own["frames"] for own in captures)


def in_own_fragments(frame: bytes) -> list[bytes]:
    """A long IPv4 packet in two fragments of its own."""
    if len(frame) < 200:
        return [frame]
    parts = []
    for begin, stop, place in ((34, 34 + 96, 1 << 13), (34 + 96, len(frame), 12)):
        head = bytearray(frame[14:34])
        head[2:4] = (20 + stop - begin).to_bytes(2, "big")
        head[6:8] = place.to_bytes(2, "big")
        head[10:12] = bytes(2)
        total = sum(struct.unpack(">10H", head))
        head[10:12] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")
        parts.append(frame[:14] + bytes(head) + frame[begin:stop])
    return parts


@pytest.mark.parametrize("name", [PAIRS[0][0], PAIRS[2][0], PAIRS[4][0]])
def test_what_came_in_fragments_of_fragments_is_judged_as_if_it_had_not(
    bench: Bench, name: str
) -> None:
    """A tunnel whose packets are too long for the way carries fragments of what was too long for
    the tunnel: the capture is decoded once more, and says the same wherever it is cut."""
    plain = bench.records(name)
    parts = [replace(r, data=p, size=len(p)) for r in plain for p in in_own_fragments(r.data)]
    once = bench.write("once", behind(parts, in_vxlan, 5))
    twice = bench.write("twice", in_fragments(behind(parts, in_vxlan, 5), 5000))
    report, expected = bench.report(twice), bench.report(once)
    assert len(report["captures"]) == 1 and report["captures"][0]["fragments"]["nested"] > 0
    bench.judged_as_without_fragments(twice, report, expected)


@pytest.mark.parametrize("name", ["zenoh/tcp-clean-3/sub.pcap", "jgroups/tcp-first-lost-1/B.pcap"])
def test_a_connection_whose_every_byte_came_in_fragments_is_read(bench: Bench, name: str) -> None:
    """Without them it begins and ends, and says nothing."""
    records, of = bench.records(name), read(bench.fixtures / name)
    sent = [
        part
        for number, record in enumerate(records, 1)
        for part in (
            fragments.in_fragments(of, record, 44, number)
            if record.data[47] & PUSHED
            else (record,)
        )
    ]
    report, expected = (
        bench.report(bench.write(*named)) for named in (("parts", sent), ("whole", records))
    )
    assert report["captures"][0]["messages_by"] == expected["captures"][0]["messages_by"] != {}


@pytest.mark.parametrize("tunnelled", [False, True])
def test_segments_of_tcp_that_came_in_fragments_are_read_as_if_they_had_not(
    bench: Bench, tunnelled: bool
) -> None:
    """The capture is decoded once more: they meet the others of their connection in one place, and
    it says the same wherever it is cut."""
    name = "raims/tcp-partition-1/B.pcap"
    plain = bench.records(name)
    if tunnelled:
        sent = in_fragments(behind(plain, in_vxlan, 5), 5000)
        expected = bench.report(bench.write("tunnel", behind(plain, in_vxlan, 5)))
    else:
        sent = [replace(r, data=p, size=len(p)) for r in plain for p in in_own_fragments(r.data)]
        expected = bench.report(bench.write("plain", plain))
    segments = bench.write("segments", sent)
    report = bench.report(segments)
    (own,), (other,) = report["captures"], expected["captures"]
    assert own["fragments"]["tcp"] > 50
    assert own["messages_by"] == other["messages_by"]
    assert sum(own["frames_by"].values()) == own["frames"] == len(sent)
    bench.judged_as_without_fragments(segments, report, expected)


def without_frames(rows: Any) -> Any:
    """Report rows without the numbers of frames."""
    if isinstance(rows, dict):
        return {
            key: without_frames(value)
            for key, value in rows.items()
            if "frame" not in key and key != "filter"
        }
    return [without_frames(one) for one in rows] if isinstance(rows, list) else rows


@pytest.mark.parametrize("carrier", CARRIERS)
def test_the_same_packets_in_two_networks_are_one_capture(bench: Bench, carrier: str) -> None:
    """A mirror that numbers its places, or what a router takes from one VLAN into the next; also
    where each lacks some."""
    carry, _ = CARRIERS[carrier]
    records = bench.records(PAIRS[0][0])
    chance = random.Random(carrier)
    for kept in (1.0, 0.9):
        parts = (
            [r for r in behind(records, carry, number, number) if chance.random() < kept]
            for number in (5, 6)
        )
        assert len(bench.report(bench.write("mirrored", *parts))["captures"]) == 1


@pytest.mark.parametrize("size", [128, 200, 300])
@pytest.mark.parametrize("name", [PAIRS[0][0], "jgroups/u3n2-frag2-1/B.pcap", PAIRS[4][0]])
def test_a_packet_of_which_a_tunnel_leaves_less_is_one_packet(
    bench: Bench, name: str, size: int
) -> None:
    """A snap length cuts more off in the tunnel than outside; nothing is found that was not before
    but that all was captured twice and how much was cut."""

    def cut(records: Sequence[Record]) -> list[Record]:
        return [replace(record, data=record.data[:size]) for record in records]

    plain = bench.records(name)
    alone = bench.report(bench.write("alone", cut(plain)))
    both = bench.write("both", cut(plain), cut(behind(plain, in_vxlan, 5, 20_000)))
    report = bench.report(both)
    assert len(report["captures"]) == 1
    known = {finding["rule"] for finding in alone["findings"]}
    assert {finding["rule"] for finding in report["findings"]} - known <= {"CP004", "CP017"}
    for part in ("messages", "unrecovered", "lost"):
        assert [s[part] for s in report["streams"]] == [s[part] for s in alone["streams"]], part


def test_more_networks_than_are_told_apart_are_said_to_be_together(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MOST_APART", 2)
    records = bench.records(PAIRS[0][0])
    parts = (behind(records, in_vxlan, n, 100 * n * SECOND) for n in (5, 6, 7, 8))
    mixed = bench.write("mixed", *parts)
    report = bench.report(mixed)
    assert [capture["path"] for capture in report["captures"]] == [
        f"{mixed} ({name})"
        for name in ("VXLAN network 5", "VXLAN network 6", "others, 2 with the same addresses")
    ]
    assert sum(capture["frames"] for capture in report["captures"]) == 4 * len(records)
    for fewer in (0, 1):
        monkeypatch.setattr(planning, "MOST_APART", fewer)
        (*alone, together) = bench.report(mixed)["captures"]
        assert len(alone) == fewer
        assert together["path"] == f"{mixed} (others, {4 - fewer} with the same addresses)"


def test_what_is_of_no_system_beside_them_fails_nothing(bench: Bench) -> None:
    one, other = (
        behind(bench.records(name), in_vxlan, n) for name, n in zip(PAIRS[0], (5, 6), strict=True)
    )
    arp = Record(SECOND, bytes(12) + b"\x08\x06" + bytes(28), 42)
    mixed = bench.report(bench.write("mixed", one, other, [arp]))
    frames = [len(one), len(other), 1]
    assert [capture["frames"] for capture in mixed["captures"]] == frames
    assert not list(unjudged(mixed))


def test_cuts_change_nothing_of_networks(bench: Bench) -> None:
    parts = (
        behind(bench.records(name), in_vxlan, n) for name, n in zip(PAIRS[0], (5, 6), strict=True)
    )
    mixed = bench.write("mixed", *parts)
    whole = to_json(audit([CaptureInput(str(mixed))], DIRECT))
    offsets = record_offsets(mixed.read_bytes())
    for number in (1, 9):
        cuts = sorted(random.Random(number).sample(offsets[1:], number))
        options = replace(DIRECT, cuts={str(mixed): cuts})
        assert to_json(audit([CaptureInput(str(mixed))], options)) == whole


def test_frames_of_a_network_have_their_numbers_where_pieces_are_put_in_order(
    bench: Bench,
) -> None:
    parts = (
        behind(bench.records(name), in_vxlan, n) for name, n in zip(PAIRS[0], (5, 6), strict=True)
    )
    mixed = bench.write("mixed", *parts)
    capture = read(mixed)
    records = list(capture.records)
    for at in range(10, len(records) - 1, 7):
        records[at : at + 2] = records[at + 1], records[at]
    mixed.write_bytes(capture.of(records).written())
    whole = bench.report(mixed)
    cut = record_offsets(mixed.read_bytes())[11]  # between two that changed places
    in_pieces = bench.report(mixed, replace(DIRECT, cuts={str(mixed): (cut,)}))
    assert in_pieces == whole
    times = [record.at_ns for record in records]
    assert all(row["first_ns"] == times[row["first_frame"] - 1] for row in whole["streams"])


@pytest.mark.parametrize("room", [True, False])
def test_standard_input_is_read_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, room: bool
) -> None:
    parts = (
        behind(bench.records(name), in_vxlan, n) for name, n in zip(PAIRS[0], (5, 6), strict=True)
    )
    mixed = bench.write("mixed", *parts)
    expected = to_json(audit([CaptureInput(str(mixed))], DIRECT))
    piped = io.BufferedReader(io.BytesIO(mixed.read_bytes()))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=piped, isatty=lambda: False))
    if not room:
        monkeypatch.setattr(plan, "KEPT_BYTES", 100)
        with pytest.raises(SeqauditError, match="save the capture to a file"):
            audit([CaptureInput("-")], DIRECT)
        return
    found = to_json(audit([CaptureInput("-")], DIRECT))
    assert found.replace('"- (', f'"{mixed} (').replace('"-"', f'"{mixed}"') == expected


@pytest.mark.parametrize("recording", [PAIRS[0][0], "raims/dup-path-1/B.pcap"])
def test_a_packet_beside_its_tunnel_is_one_though_that_came_in_fragments(
    bench: Bench, recording: str
) -> None:
    """A host that carries its packets through a tunnel too long for the way, on all interfaces:
    judged as where the tunnel's packets are whole, whichever comes first, wherever it is cut."""
    plain = bench.records(recording)
    for later_ns in (30_000, -30_000):
        carried = behind(plain, in_vxlan, 5, later_ns)
        expected = bench.report(bench.write("whole", plain, carried))
        path = bench.write("parts", plain, in_fragments(carried, 5000))
        report = bench.report(path)
        assert report["captures"][0]["fragments"]["tunnelled"] > 10
        if later_ns > 0:
            bench.judged_as_without_fragments(path, report, expected)
        for name in ("messages", "arrivals", "copies", "network_duplicates", "lost"):
            told, other = (
                [stream.get(name) for stream in one["streams"]] for one in (report, expected)
            )
            assert told == other, name


def test_so_is_one_that_only_its_session_shows_to_be_a_systems(bench: Bench) -> None:
    """A sample of zenoh without a source is claimed by no decoder."""
    payloads = [zenoh.init(), *(zenoh.frame(sn, zenoh.push(zenoh.put(None, bytes(300))))
                                for sn in range(40))]  # fmt: skip
    plain = [
        Record(SECOND * (2 + number) // 10, frame, len(frame))
        for number, payload in enumerate(payloads)
        for frame in (ethernet(ipv4(udp(payload, 50_000, 7447), ident=number + 1)),)
    ]
    carried = in_fragments(behind(plain, in_vxlan, 5, 30_000), 5000)
    report, expected = (
        bench.report(bench.write(*named)) for named in (("both", plain, carried), ("plain", plain))
    )
    arrivals = [stream["arrivals"] for stream in report["streams"]]
    assert arrivals == [stream["arrivals"] for stream in expected["streams"]] and 40 in arrivals
