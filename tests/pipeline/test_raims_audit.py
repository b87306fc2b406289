"""Whole audits of raims captures: PGM without UDP, and captures cut into pieces."""

import struct
from pathlib import Path
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.decoders.network.builders import ethernet, ipv4, pcap, record_offsets, udp
from tests.decoders.raims.builders import data, odata
from tests.replay.raims.builders import F0, FRAME
from tests.rules.raims import World

FIXTURES = Path(__file__).parents[2] / "fixtures" / "raims"
HEADER, RECORD, ETHERNET, UDP = 24, 16, 14, 8


def audited(path: Path, **options: Any) -> Any:
    return audit([CaptureInput(str(path), at="10.77.0.2")], Options(engine="direct", **options))


def records(capture: bytes) -> list[tuple[bytes, bytes]]:
    """(record header, packet) of a little-endian pcap."""
    found, at = [], HEADER
    while at < len(capture):
        size = struct.unpack_from("<I", capture, at + 8)[0]
        found.append((capture[at : at + RECORD], capture[at + RECORD : at + RECORD + size]))
        at += RECORD + size
    return found


def without_udp(packet: bytes) -> bytes:
    """PGM over UDP as IP protocol 113."""
    ip = ETHERNET + (packet[ETHERNET] & 15) * 4
    if packet[12:14] != b"\x08\x00" or packet[ETHERNET + 9] != 17:
        return packet
    if packet[ip + 2 : ip + 4] != struct.pack(">H", 7239):
        return packet
    head = bytearray(packet[:ip])
    head[ETHERNET + 2 : ETHERNET + 4] = struct.pack(">H", len(packet) - ETHERNET - UDP)
    head[ETHERNET + 9] = 113
    head[ETHERNET + 10 : ETHERNET + 12] = bytes(2)
    return bytes(head) + packet[ip + UDP :]


def written(path: Path, original: Path, damaged: int | None = None) -> Path:
    """A capture whose PGM has no UDP; of one of its frames, from 1, the last byte is another."""
    content = original.read_bytes()
    raw = content[:HEADER]
    for number, (header, packet) in enumerate(records(content), 1):
        bare = without_udp(packet)
        if number == damaged:
            bare = bare[:-1] + bytes([bare[-1] ^ 1])
        raw += header[:8] + struct.pack("<II", len(bare), len(bare)) + bare
    path.write_bytes(raw)
    return path


def test_a_packet_of_pgm_that_is_damaged_is_a_hole_at_its_place(tmp_path: Path) -> None:
    original = FIXTURES / "frame-chain-loss-1" / "B.pcap"
    odata = [
        number
        for number, (_, packet) in enumerate(records(original.read_bytes()), 1)
        if packet[ETHERNET + 9] == 17
        and packet[ETHERNET + 12 : ETHERNET + 16] == bytes((10, 77, 0, 1))
        and packet[ETHERNET + 22 : ETHERNET + 24] == struct.pack(">H", 7239)
        and packet[ETHERNET + 28 + 4] == 4
    ]
    frame = odata[2]
    report = audited(written(tmp_path / "raw.pcap", original, frame))
    (found,) = [f for f in report["findings"] if f["rule"] == "CP021"]
    assert (found["frame"], found["certainty"]) == (frame, "proven")
    assert not [f for f in report["findings"] if f["rule"] == "CP006"]
    (hidden,) = [f for f in report["findings"] if f["rule"] == "CP007"]
    assert hidden["certainty"] == "cannot be told"


def test_pgm_as_an_ip_protocol_is_the_same_pgm(tmp_path: Path) -> None:
    original = FIXTURES / "frame-chain-loss-1" / "B.pcap"
    one, other = audited(written(tmp_path / "raw.pcap", original)), audited(original)
    for key in ("messages_by", "frames_by"):
        assert one["captures"][0][key] == other["captures"][0][key]
    assert [f["rule"] for f in one["findings"]] == [f["rule"] for f in other["findings"]]
    assert one["tables"] == other["tables"]


def test_a_loss_that_is_told_and_of_no_known_size_is_at_least_what_the_numbers_show(
    tmp_path: Path,
) -> None:
    """The notice tells of more than its stream's chain number has room for."""
    world, behind = World(), F0 + 2 * FRAME
    world.publish(F0)
    world.skip("A", 3)
    world.beat("A", 15.0, seqno=2)
    world.publish(behind, 20.0, chain=F0 + FRAME + 1, stamp=20.0)
    world.notice(20.1, 9, behind)
    (tmp_path / "B.pcap").write_bytes(world.end(30.0))
    found = [f for f in audited(tmp_path / "B.pcap")["findings"] if f["rule"] == "RA001"]
    assert [(f["text"], f["certainty"]) for f in found] == [
        ("At least 2 messages of A were lost; raims counts a loss there.", "proven")
    ]


def test_udp_from_port_0_to_port_0_is_no_pgm_that_lacks_its_udp(tmp_path: Path) -> None:
    """As anonymised captures have it: no packet of IP protocol 113 is refused there."""
    content = pcap([
        ethernet(ipv4(udp(bytes(40), 0, 0, checksum=0), "10.77.0.1", "239.77.0.1", ident=number))
        for number in range(5)
    ])  # fmt: skip
    (tmp_path / "zero.pcap").write_bytes(content)
    report = audited(tmp_path / "zero.pcap")
    assert (report["captures"][0]["frames_by"]["other"], report["findings"]) == (5, [])


@pytest.mark.parametrize("scenario", ["frame-chain-loss-1", "late-dup-1", "tcp-partition-3"])
@pytest.mark.parametrize("parts", [2, 7])
def test_cutting_a_capture_changes_nothing(scenario: str, parts: int) -> None:
    path = FIXTURES / scenario / "B.pcap"
    size = path.stat().st_size
    cuts = {str(path): [size * part // parts for part in range(1, parts)]}
    whole, cut = audited(path), audited(path, cuts=cuts)
    for key in ("streams", "gaps", "findings", "tables", "members"):
        assert cut[key] == whole[key]


@pytest.mark.parametrize("missing", [0, 3])
def test_cutting_an_encrypted_link_anywhere_changes_nothing(missing: int, tmp_path: Path) -> None:
    """Also where the capture begins between a handshake and its key exchange."""
    content = (FIXTURES / "mesh-enc-1" / "B.pcap").read_bytes()
    kept = [header + packet for header, packet in records(content)[missing:]]
    path = tmp_path / "B.pcap"
    path.write_bytes(content[:HEADER] + b"".join(kept))
    cuts = {str(path): list(range(HEADER + 2000, path.stat().st_size, 2000))}
    whole, cut = audited(path), audited(path, cuts=cuts)
    assert "RA021" in [f["rule"] for f in whole["findings"]]
    for key in ("streams", "findings", "members", "rules"):
        assert cut[key] == whole[key]
    assert cut["captures"][0]["frames_by"] == whole["captures"][0]["frames_by"]


@pytest.mark.parametrize("parts", [2, 5, 12])
def test_cutting_a_capture_of_rv_clients_changes_nothing(parts: int) -> None:
    path = FIXTURES / "rv-dataloss-1" / "B-client.pcap"
    size = path.stat().st_size
    cuts = {str(path): [size * part // parts for part in range(1, parts)]}
    whole, cut = audited(path), audited(path, cuts=cuts)
    assert len(whole["tables"]["raims"]["rv_advisories"]) == 3
    for key in ("findings", "tables", "members", "rules"):
        assert cut[key] == whole[key]


def test_other_systems_reports_have_no_tables() -> None:
    capture = next((FIXTURES.parent / "jgroups").rglob("*.pcap"))
    report = audit([CaptureInput(str(capture))], Options(engine="direct"))
    assert "tables" not in report
    assert not {"pgm", "raims"} & set(report["captures"][0]["messages_by"])


def test_a_trail_passes_what_is_missing_wherever_a_piece_begins(tmp_path: Path) -> None:
    """Packets 14 to 27 are missing; with 29, that follows 28, the trail goes beyond 20 of them."""
    payloads = [odata(sqn, data("_7500.A", F0 + sqn), trail=trail)
                for sqn, trail in ((13, 0), (28, 20), (29, 21))]  # fmt: skip
    content = pcap([
        ethernet(ipv4(udp(payload, 50_000, 7239, checksum=0), "10.77.0.1", "239.77.0.1"))
        for payload in payloads
    ])  # fmt: skip
    path = tmp_path / "B.pcap"
    path.write_bytes(content)
    whole = audited(path)
    (stream,) = [row for row in whole["streams"] if row["system"] == "pgm"]
    assert stream["open"] == 7
    for place in record_offsets(content)[1:-1]:
        assert audited(path, cuts={str(path): (place,)}) == whole
