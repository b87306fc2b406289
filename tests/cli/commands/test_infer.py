"""``seqaudit infer`` as a shell sees it, up to the feed file."""

import gzip
import json
import random
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from seqaudit.cli.main import main
from seqaudit.pipeline.shared.spark_address import SparkAddress
from tests.decoders.feeds.layouts import moldudp64, rtp
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp


def run(*args: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["infer", *map(str, args)], input=stdin)


def capture(groups: dict[tuple[str, int], list[bytes]]) -> bytes:
    packets = [
        ethernet(ipv4(udp(payload, 5000, port), "10.1.1.1", address, ident=at & 0xFFFF))
        for (address, port), payloads in groups.items()
        for at, payload in enumerate(payloads)
    ]
    return pcap(packets)


@pytest.fixture(scope="module")
def mold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("infer") / "mold.pcap"
    payloads = moldudp64(1_200)
    groups = {("239.1.2.3", 41001): payloads, ("239.1.2.4", 41001): payloads}
    noise = random.Random(1)
    groups["10.9.9.9", 999] = [noise.randbytes(60) for _ in range(200)]
    path.write_bytes(capture(groups))
    return path


def test_a_found_number_is_written_as_a_feed(mold: Path, tmp_path: Path) -> None:
    output = tmp_path / "feed.yaml"
    shown = run("-o", output, mold)
    assert shown.exit_code == 0
    assert f"try seqaudit audit --feed {output}" in shown.stderr
    assert "8 bytes at offset 10, big-endian" in shown.stdout
    assert "no field of it counts up" in shown.stdout
    feed = yaml.safe_load(output.read_text())
    assert feed["match"] == [
        {"destination": "239.1.2.3", "port": 41001},
        {"destination": "239.1.2.4", "port": 41001},
    ]
    assert feed["fields"] == {
        "seqno": {"offset": 10, "width": 8},
        "count": {"offset": 18, "width": 2},
    }
    assert (feed["byte_order"], feed["seqno"], feed["count"]) == ("big", "seqno", "count")
    assert feed["stream"] == ["destination", "port"]
    assert feed["messages"] == [
        {"name": "HEARTBEAT", "when": {"count": 0}, "is": "heartbeat", "says": "next"}
    ]


def test_the_feed_file_is_taken_by_an_audit_at_once(mold: Path, tmp_path: Path) -> None:
    output = tmp_path / "feed.yaml"
    run("-o", output, mold)
    words = ["audit", "--engine", "direct", "--format", "json", "--feed", str(output), str(mold)]
    audited = json.loads(CliRunner().invoke(main, words).stdout)
    (capture_,) = audited["captures"]
    assert capture_["frames_by"]["decoded"] == 2_400
    assert capture_["frames_by"]["other"] == 200
    payloads = moldudp64(1_200)
    beats = sum(payload[18:20] == b"\0\0" for payload in payloads)
    messages = sum(int.from_bytes(payload[18:20], "big") for payload in payloads)
    assert capture_["messages_by"]["feed inferred"] == {
        "DATA": 2 * messages,
        "HEARTBEAT": 2 * beats,
    }


def test_what_an_audit_with_it_finds_lost_is_what_was_lost(tmp_path: Path) -> None:
    sent = moldudp64(2_000, (b"FEED00001 ", b"FEED00002 "))
    lost = sent[100:1_900:37]
    path, output = tmp_path / "lossy.pcap", tmp_path / "feed.yaml"
    path.write_bytes(capture({("239.1.2.3", 41001): [p for p in sent if p not in lost]}))
    assert run("-o", output, path).exit_code == 0
    words = ["audit", "--engine", "direct", "--format", "json", "--feed", str(output), str(path)]
    streams = json.loads(CliRunner().invoke(main, words).stdout)["streams"]
    for session, stream in zip(("FEED00001", "FEED00002"), streams, strict=True):
        assert session in stream["id"]
        own = [int.from_bytes(p[18:20], "big") for p in lost if p.startswith(session.encode())]
        assert stream["lost"] + stream["open_at_end"] == sum(own)
        assert stream["messages"] == stream["last_seqno"] - sum(own)


def test_two_layouts_are_two_files(tmp_path: Path) -> None:
    path = tmp_path / "two.pcap"
    path.write_bytes(capture({("239.1.1.1", 1): moldudp64(900), ("239.1.1.2", 2): rtp(600, 2)}))
    shown = run("-o", tmp_path / "feed.yaml", path)
    assert shown.exit_code == 0
    first = yaml.safe_load((tmp_path / "feed.yaml").read_text())
    second = yaml.safe_load((tmp_path / "feed-2.yaml").read_text())
    assert first["fields"]["seqno"] == {"offset": 10, "width": 8}
    assert second["fields"] == {
        "key": {"offset": 8, "width": 4},
        "seqno": {"offset": 2, "width": 2},
    }
    assert second["stream"] == ["destination", "port", "key"]


def test_json_from_a_compressed_stream(mold: Path) -> None:
    shown = run("--format", "json", "-", stdin=gzip.compress(mold.read_bytes()))
    found = json.loads(shown.stdout)
    assert (shown.exit_code, found["schema"]) == (0, "seqaudit/infer/1")
    assert found["captures"] == [
        {"path": "-", "frames_read": 2_600, "whole": True, "recognised": 0, "unrecognised": 2_600}
    ]
    places = [(place["destination"], len(place["layouts"])) for place in found["destinations"]]
    assert places == [("239.1.2.3", 1), ("239.1.2.4", 1), ("10.9.9.9", 0)]
    assert found["feeds"][0]["layout"]["number"]["offset"] == 10


def test_spark_gives_the_same_bytes(
    mold: Path, fixtures: Path, tmp_path: Path, spark_place: SparkAddress
) -> None:
    known = fixtures / "jgroups" / "n4-loss-1" / "C.pcap"
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(mold.read_bytes()[:20])
    words = ["--format", "json", known, mold, damaged]
    direct = run("--engine", "direct", *words)
    by_spark = run("--engine", "spark", "--master", spark_place.master, *words)
    assert (by_spark.exit_code, by_spark.stdout) == (direct.exit_code, direct.stdout)
    assert by_spark.stderr == direct.stderr


def test_two_runs_give_the_same_bytes(mold: Path) -> None:
    assert run(mold).stdout == run(mold).stdout


def test_what_is_recognised_is_not_tested(fixtures: Path) -> None:
    shown = run(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    assert shown.exit_code == 2
    assert "every UDP datagram is recognised" in shown.stdout


@pytest.mark.parametrize("case", ["n4-loss-1", "n2-loss-1", "u4n4-clean-1", "n4-join-leave-1"])
def test_jgroups_that_nothing_recognises_has_no_fixed_number(fixtures: Path, case: str) -> None:
    captures = sorted((fixtures / "jgroups" / case).glob("*.pcap"))
    shown = run("--no-decode", "jgroups", *captures)
    assert shown.exit_code == 2
    assert "No sequence number in the datagrams" in shown.stdout


def test_an_unreadable_capture_is_said_and_the_others_are_read(mold: Path, tmp_path: Path) -> None:
    shown = run(tmp_path / "missing.pcap", mold)
    assert shown.exit_code == 0
    assert "missing.pcap: does not exist" in shown.stderr
    only = run(tmp_path / "missing.pcap")
    assert only.exit_code == 2


def test_a_capture_is_not_overwritten(mold: Path) -> None:
    before = mold.read_bytes()
    shown = run("-o", mold, mold)
    assert shown.exit_code == 2
    assert "is a capture to be read" in shown.stderr
    assert mold.read_bytes() == before


def test_a_file_that_cannot_be_written_is_said(mold: Path, tmp_path: Path) -> None:
    shown = run("-o", tmp_path / "missing" / "feed.yaml", mold)
    assert shown.exit_code == 2
    assert "cannot be written" in shown.stderr


def test_by_an_inferred_layout_nothing_is_proven_until_a_person_confirms_it(
    tmp_path: Path,
) -> None:
    payloads = [payload for payload in moldudp64(1_200) if payload[18:20] != b"\0\0"]
    end = payloads[-1][:18] + b"\xff\xff"  # and a message behind it
    path, output = tmp_path / "late.pcap", tmp_path / "feed.yaml"
    path.write_bytes(capture({("239.1.2.3", 41001): [*payloads[:-1], end, payloads[-1]]}))
    assert run("-o", output, path).exit_code == 0
    text = output.read_text()
    assert "confidence: high\nconfirmed: no " in text

    def certainties() -> set[tuple[str, str]]:
        words = ["audit", "--engine", "direct", "--format", "json", "--feed", str(output)]
        report = json.loads(CliRunner().invoke(main, [*words, str(path)]).stdout)
        return {(f["certainty"], f["text"]) for f in report["findings"] if f["rule"] == "FD012"}

    ((certainty, said),) = certainties()
    assert certainty == "likely"
    assert said.endswith("(The layout was inferred, and nobody has confirmed it.)")
    output.write_text(text.replace("confirmed: no ", "confirmed: yes "))
    ((certainty, said),) = certainties()
    assert certainty == "proven"
    assert "nobody has confirmed" not in said
    output.write_text("\n".join(x for x in text.splitlines() if not x.startswith("confirmed")))
    assert {certainty for certainty, _ in certainties()} == {"likely"}


def test_flows_that_show_different_layouts_are_different_feeds(tmp_path: Path) -> None:
    """One flow's layout is never written for another, however much the two have in common."""
    path, output = tmp_path / "two.pcap", tmp_path / "feed.yaml"
    plain = [b"\0\0\0\0" + n.to_bytes(4, "big") + b"plain" for n in range(600)]
    wide = [b"\0\0" + (70_000 + n).to_bytes(6, "big") + b"plain" for n in range(600)]
    path.write_bytes(capture({("239.1.2.3", 41001): plain, ("239.1.2.4", 41001): wide}))
    shown = run("-o", output, "--format", "json", path)
    feeds = json.loads(shown.stdout)["feeds"]
    layouts = {json.dumps(feed["layout"]["number"]) for feed in feeds}
    assert len(feeds) == len(layouts)


def test_captures_are_named_as_for_an_audit(mold: Path, tmp_path: Path) -> None:
    for name in ("a.pcap", "day/b.pcap"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(mold.read_bytes())
    (tmp_path / "notes.txt").write_text("no capture")
    for named, meant in (
        (tmp_path, ["a.pcap", "day/b.pcap"]),
        (tmp_path / "*.pcap", ["a.pcap"]),
        (f"file://{tmp_path}/**/b.pcap", ["day/b.pcap"]),
    ):
        shown = run("--format", "json", named)
        read = [capture["path"] for capture in json.loads(shown.stdout)["captures"]]
        assert read == [str(tmp_path / name) for name in meant]
    shown = run(tmp_path / "*.cap")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "no file fits the pattern" in shown.stderr
