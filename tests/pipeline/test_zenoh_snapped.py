"""Compressed zenoh, captured with a snap length: what is cut off is said, and not guessed."""

import struct
from pathlib import Path
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput

RECORDED = Path(__file__).parents[2] / "fixtures" / "zenoh" / "compress-udp-loss-1" / "sub.pcap"
#: Its frames, as ``capinfos`` counts them.
FRAMES = 60


def snapped(size: int, folder: Path) -> tuple[Path, int, list[int]]:
    """The recording with frames of ``size`` bytes at most, how many were longer, and where its
    records but the first begin."""
    data, at, cut, records = RECORDED.read_bytes(), 24, 0, []
    made = bytearray(data[:at])
    while at < len(data):
        seconds, fraction, captured, length = struct.unpack_from("<4I", data, at)
        kept = min(captured, size)
        cut += kept < captured
        records.append(len(made))
        made += struct.pack("<4I", seconds, fraction, kept, length)
        made += data[at + 16 : at + 16 + kept]
        at += 16 + captured
    path = folder / f"{size}.pcap"
    path.write_bytes(made)
    return path, cut, records[1:]


def audited(path: Path, **options: Any) -> dict[str, Any]:
    given = [CaptureInput(str(path), at="10.77.0.2")]
    return dict(audit(given, Options(engine="direct", **options)))


@pytest.mark.parametrize("size", [64, 96, 128, 160, 256])
def test_compressed_frames_that_were_cut_off_are_counted_and_nothing_is_proven_over_them(
    size: int, tmp_path: Path
) -> None:
    path, cut, _ = snapped(size, tmp_path)
    report = audited(path)
    by = report["captures"][0]["frames_by"]
    assert (by["other"], by["truncated"] > 0) == (0, size < 256)
    assert by["truncated"] <= cut
    findings = {f["rule"]: f for f in report["findings"]}
    assert ("CP004" in findings) is (size < 256)
    lost = [f for f in report["findings"] if f["rule"] in ("ZN002", "ZN014", "ZN018")]
    assert all((f["certainty"], f["severity"]) == ("cannot be told", "info") for f in lost)
    samples = [s for s in report["streams"] if s.get("kind") == "samples"]
    whole = [[0, 49]] if size == 256 else None
    assert [s["delivered"] for s in samples] == [whole] * len(samples)


def test_the_report_of_a_snapped_capture_does_not_depend_on_cuts(tmp_path: Path) -> None:
    path, _, records = snapped(96, tmp_path)
    whole = to_json(audited(path))
    for cuts in (records, records[::7]):
        assert to_json(audited(path, cuts={str(path): cuts}, compile_it=False)) == whole


@pytest.mark.parametrize("pieces", [False, True])
def test_a_datagram_that_cannot_be_decoded_is_counted_and_leaves_a_hole(
    pieces: bool, tmp_path: Path
) -> None:
    """A reply in it has an extension that must be known and is not: who can read what follows?"""
    data = (RECORDED.parents[1] / "udp-loss-recovered-1" / "sub.pcap").read_bytes()
    at = data.index(b"\x43\x12\xf0", data.index(b"\x43\x12\xf0") + 1)  # who answers: the second
    odd = bytearray(data[:at] + b"\x53" + data[at + 1 :])
    begins, place = [], 24
    while place < len(data):
        begins.append(place)
        place += 16 + struct.unpack_from("<4I", data, place)[2]
    checksum = max(begin for begin in begins if begin < at) + 16 + 14 + 20 + 6
    odd[checksum : checksum + 2] = bytes(2)  # none
    path = tmp_path / "odd.pcap"
    path.write_bytes(odd)
    cuts = {str(path): begins[1::7]} if pieces else {}
    report = audited(path, cuts=cuts)
    assert report["captures"][0]["frames_by"]["undecodable"] == 1
    assert "CP006" in {f["rule"] for f in report["findings"]}
    assert all(
        row["delivered"] is None for row in report["streams"]
        if row.get("kind") == "samples" and row["sender_endpoint"].startswith("10.77.0.1")
    )  # fmt: skip
