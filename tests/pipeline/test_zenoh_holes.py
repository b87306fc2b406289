"""zenoh where captured frames show that the capture lacks others: TCP bytes that were acknowledged,
samples that a request leaves out."""

import struct
from pathlib import Path
from typing import Any

import pytest
import zstandard

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.degraded.captures import read
from tests.degraded.offload import unsummed

RECORDED = Path(__file__).parents[2] / "fixtures" / "zenoh" / "tcp-clean-1"


def without(frames: set[int], folder: Path, recorded: Path = RECORDED) -> tuple[Path, list[int]]:
    """A recording at its subscriber without these frames, and where its records begin."""
    data, at, number, begins = (recorded / "sub.pcap").read_bytes(), 24, 0, []
    made = bytearray(data[:at])
    while at < len(data):
        size = 16 + struct.unpack_from("<4I", data, at)[2]
        number += 1
        if number not in frames:
            begins.append(len(made))
            made += data[at : at + size]
        at += size
    path = folder / "holed.pcap"
    path.write_bytes(made)
    return path, begins


def audited(*paths: Path, **options: Any) -> dict[str, Any]:
    given = [CaptureInput(str(path)) for path in paths]
    given[0] = CaptureInput(str(paths[0]), at="10.77.0.2")
    return dict(audit(given, Options(engine="direct", **options)))


@pytest.mark.parametrize("pieces", [False, True])
def test_samples_in_bytes_that_are_missing_here_are_no_loss_and_no_figure(
    pieces: bool, tmp_path: Path
) -> None:
    path, begins = without({40}, tmp_path)
    report = audited(path, cuts={str(path): begins[1::7]} if pieces else {})
    told = {(f["rule"], f["severity"], f["certainty"]) for f in report["findings"]}
    assert told >= {("CP012", "warning", "proven"), ("CP007", "warning", "likely")}
    assert not {rule for rule, severity, _ in told if severity == "error"}
    (lacks,) = (f for f in report["findings"] if f["rule"] == "CP012")
    (shown,) = lacks["evidence"]  # of the same direction, the last frame before frame 40
    assert shown["frame"] < 40 and shown["shows"].endswith(": 72 TCP bytes not captured behind it")
    (had,) = (f for f in report["findings"] if f["rule"] == "CP007")
    assert (had["seqnos"], "lay in 72 bytes" in had["text"]) == ([[17, 17]], True)
    (row,) = (s for s in report["streams"] if s.get("kind") == "samples")
    assert [row[name] for name in ("delivered", "lost", "unrecovered", "misses")] == [None] * 4
    assert "bytes of its connection" in row["unknown"]["lost"]
    assert report["totals"]["lost"] is None


@pytest.mark.parametrize("pieces", [False, True])
def test_bytes_that_only_an_ack_tells_of_may_have_held_more_samples(
    pieces: bool, tmp_path: Path
) -> None:
    path, begins = without({102, 103}, tmp_path)  # the last ones; an ACK of them stays
    report = audited(path, cuts={str(path): begins[1::7]} if pieces else {})
    (row,) = (s for s in report["streams"] if s.get("kind") == "samples")
    assert [row[name] for name in ("messages", "delivered", "lost")] == [58, None, None]
    assert "bytes of its connection" in row["unknown"]["delivered"]
    assert {f["rule"] for f in report["findings"]} == {"CP012"}


def test_where_they_were_lost_is_not_said_of_what_is_not_captured(tmp_path: Path) -> None:
    path, _ = without({40}, tmp_path)
    report = audited(path, RECORDED / "pub.pcap")
    assert not {f["rule"] for f in report["findings"]} & {"ZN002", "ZN019", "ZN020"}


def test_a_whole_connection_has_its_figures(tmp_path: Path) -> None:
    whole, _ = without(set(), tmp_path)
    row = {
        "lost": 0, "unrecovered": 0, "recovered": 0, "not_captured": 0, "delivered": [[0, 59]],
        "not_captured_seqnos": [],
    }  # fmt: skip
    (found,) = (s for s in audited(whole)["streams"] if s.get("kind") == "samples")
    assert {name: found[name] for name in row} == row


def test_a_keep_alive_may_be_all_that_an_end_says_in_an_open_session(tmp_path: Path) -> None:
    """Of peers with two connections the second one carries nothing else."""
    capture = read(RECORDED / "sub.pcap")
    opening, following = capture.records[:9], capture.records[9]  # of who sent the OpenSyn
    segment = bytearray(following.data[:66] + b"\x01\x00\x04")
    segment[16:18] = (len(segment) - 14).to_bytes(2, "big")
    records = [*opening, following.holding(bytes(segment))]
    path = tmp_path / "idle.pcap"
    path.write_bytes(capture.of([unsummed(capture, one) for one in records]).written())
    report = audited(path)
    words = "InitSyn", "InitAck", "OpenSyn", "OpenAck", "KeepAlive"
    assert report["captures"][0]["messages_by"]["zenoh"] == dict.fromkeys(words, 1)
    assert "CP006" not in {found["rule"] for found in report["findings"]}


def test_a_report_with_a_hole_does_not_depend_on_cuts(tmp_path: Path) -> None:
    path, begins = without({40, 55, 56, 70}, tmp_path)
    whole = to_json(audited(path))
    for cuts in (begins[1:], begins[1::5]):
        assert to_json(audited(path, cuts={str(path): cuts}, compile_it=False)) == whole


def test_where_a_request_shows_that_frames_are_missing_here_a_loss_that_is_not_proven_is_none(
    tmp_path: Path,
) -> None:
    """Three samples that its subscriber had; 12, 31 and 32 may be such as well."""
    path, _ = without({26, 27, 28}, tmp_path, RECORDED.parent / "udp-loss-recovered-1")
    report = audited(path)
    (row,) = (s for s in report["streams"] if s.get("kind") == "samples")
    assert (row["lost"], row["lost_proven"]) == (None, 2)
    assert row["unknown"]["lost"].startswith("2 or more, 6 at most: its requests show")
    whole, _ = without(set(), tmp_path, RECORDED.parent / "udp-loss-recovered-1")
    (row,) = (s for s in audited(whole)["streams"] if s.get("kind") == "samples")
    assert (row["lost"], row["lost_proven"]) == (6, 3)


def test_bytes_behind_the_last_sample_of_a_source_may_have_held_more_of_it(tmp_path: Path) -> None:
    """The connection goes on behind these; its other source, whose samples did, is known."""
    path = tmp_path / "sub.pcap"
    packed = RECORDED.parents[1] / "zenoh-sessions" / "link-cut-tcp" / "sub.pcap.zst"
    path.write_bytes(zstandard.ZstdDecompressor().stream_reader(packed.read_bytes()).read())
    capture = read(path)
    kept = [record for number, record in enumerate(capture.records, 1) if number not in (83, 85)]
    path.write_bytes(capture.of(kept).written())
    rows = [s for s in audited(path)["streams"] if s.get("kind") == "samples" and s["live"]]
    told = {s["source"][-2:]: s["delivered"] for s in rows if ":45544>" in s["id"]}
    assert told == {"/6": None, "/8": [[0, 8]]}  # 5 of /6 and its heartbeat lay there
