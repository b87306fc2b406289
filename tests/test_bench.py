"""The benchmark's generator: its truth is what its capture holds, and what an audit finds in it."""

import json
import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import dpkt
import pytest

from seqaudit.cli.options.feeds import feeds_of
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from tests.bench import growth
from tests.bench.__main__ import main
from tests.bench.compare import differences
from tests.bench.generate import (
    CLIENT_PORT,
    END,
    SERVER_PORT,
    Shape,
    Truth,
    digest,
    feed_yaml,
    gaps_digest,
    generate,
)
from tests.bench.raims import OBSERVER, write
from tests.bench.raims import Shape as Publishing
from tests.bench.repeat import make_body, truth_of, write_turns
from tests.bench.scale import TABLES
from tests.decoders.network.builders import pcap

CORES = len(os.sched_getaffinity(0))

FAULTY = Shape(6_000, streams=5, loss=0.05, late=0.03, duplicates=0.02, copies=0.02)
SHAPES = {
    "faultless": Shape(4_000, streams=7, faults=False),
    "faulty": FAULTY,
    "half-lost": Shape(6_000, streams=3, loss=0.5, burst=2.0),
    "one-stream": Shape(3_000, streams=1, loss=0.02, nanoseconds=True),
    "many-streams": Shape(4_000, streams=1_000, loss=0.02),
}


def read_slowly(path: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """Per stream what a reader of the capture finds, packet by packet.

    A repair is told from its sender; a network duplicate from its IP id and bytes.
    """
    found: dict[tuple[str, int, str], dict[str, Any]] = {}
    of_session: dict[str, tuple[str, int, str]] = {}
    have: dict[Any, set[int]] = defaultdict(set)
    high: dict[Any, int] = defaultdict(int)
    seen: set[tuple[int, bytes]] = set()
    gaps: dict[Any, list[str]] = defaultdict(list)
    with path.open("rb") as handle:
        for number, (at, frame) in enumerate(dpkt.pcap.Reader(handle), 1):
            assert at > 0
            ip = dpkt.ethernet.Ethernet(frame).data
            udp = ip.data
            assert isinstance(udp, dpkt.udp.UDP)
            session = udp.data[:10].decode()
            first = int.from_bytes(udp.data[10:18], "big")
            count = int.from_bytes(udp.data[18:20], "big")
            group = ".".join(str(byte) for byte in ip.dst)
            if udp.sport not in (CLIENT_PORT, SERVER_PORT):
                of_session[session] = (group, udp.dport, session)
            key = of_session[session]
            row = found.setdefault(
                key,
                dict.fromkeys(
                    ("packets", "messages", "distinct", "duplicates", "copies", "late",
                     "repaired", "requests", "heartbeats", "ends"), 0
                ),
            )  # fmt: skip
            numbers = set(range(first, first + count))
            if SERVER_PORT not in (udp.sport, udp.dport) and 0 < high[key] < first:
                gaps[key].append(f"{high[key]}-{first}@{number}")
            if udp.dport == SERVER_PORT:
                row["requests"] += 1
            elif udp.sport == SERVER_PORT:
                assert not numbers & have[key]
                row["messages"] += count
                row["distinct"] += count
                row["repaired"] += count
                have[key] |= numbers
            elif count in (0, END):
                row["ends" if count else "heartbeats"] += 1
                high[key] = max(high[key], first)
            else:
                row["packets"] += 1
                row["messages"] += count
                if numbers & have[key]:
                    assert numbers <= have[key]
                    row["copies"] += count
                    if (ip.id, bytes(frame)) in seen:
                        row["duplicates"] += count
                else:
                    row["distinct"] += count
                    row["late"] += count if first < high[key] else 0
                seen.add((ip.id, bytes(frame)))
                have[key] |= numbers
                high[key] = max(high[key], first + count)
    for key, row in found.items():
        lost = sorted(set(range(1, high[key])) - have[key])
        ranges: list[list[int]] = []
        for number in lost:
            if ranges and ranges[-1][1] == number:
                ranges[-1][1] = number + 1
            else:
                ranges.append([number, number + 1])
        row |= {"first": 1, "last": high[key] - 1, "lost": len(lost)}
        row |= {"lost_ranges": len(ranges), "lost_digest": digest(ranges)}
        row |= {"gaps": len(gaps[key]), "gaps_digest": gaps_digest(gaps[key])}
    return found


def told_by(streams: list[dict[str, Any]]) -> dict[tuple[str, int, str], dict[str, Any]]:
    """A truth's streams as ``read_slowly`` has them."""
    return {
        (row["group"], row["port"], row["session"]): {
            key: value
            for key, value in row.items()
            if key not in ("group", "port", "session", "sessions_before")
        }
        for row in streams
    }


def written(shape: Shape, folder: Path) -> tuple[Path, Truth]:
    path = folder / "bench.pcap"
    return path, generate(shape, path)


@pytest.mark.parametrize("name", SHAPES)
def test_the_truth_is_what_a_slow_reader_finds(name: str, tmp_path: Path) -> None:
    path, truth = written(SHAPES[name], tmp_path)
    assert told_by(truth.streams()) == read_slowly(path)
    assert path.stat().st_size == truth.bytes


def test_the_faulty_capture_has_faults_of_every_class(tmp_path: Path) -> None:
    _, truth = written(FAULTY, tmp_path)
    sums = {
        name: sum(row[name] for row in truth.streams())
        for name in ("lost", "late", "duplicates", "copies", "repaired", "heartbeats", "ends")
    }
    assert min(sums.values()) > 0
    assert sums["copies"] > sums["duplicates"]


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    one.mkdir()
    other.mkdir()
    path, _ = written(FAULTY, one)
    again, _ = written(FAULTY, other)
    assert path.read_bytes() == again.read_bytes()
    assert path.with_suffix(".truth.json").read_bytes() == (other / "bench.truth.json").read_bytes()


NONE = Shape(5_000, streams=6, loss=0.0, late=0.0, duplicates=0.0, copies=0.0, blackouts=0)
FAULTS = {
    "none": replace(NONE, faults=False),
    "loss": replace(NONE, loss=0.01, repairs=0.0),
    "loss-of-a-tenth": replace(NONE, loss=0.1, repairs=0.0),
    "loss-of-half": replace(NONE, loss=0.5, burst=2.0, repairs=0.0),
    "bursts": replace(NONE, loss=0.05, burst=20.0, repairs=0.0),
    "repairs": replace(NONE, loss=0.02, repairs=1.0),
    "late": replace(NONE, late=0.02),
    "network-duplicates": replace(NONE, duplicates=0.05),
    "copies": replace(NONE, copies=0.05),
    "blackouts": replace(NONE, blackouts=4),
    "all": replace(FAULTY, streams=9, seed=7),
    "all-one-stream": replace(FAULTY, streams=1, seed=8),
    "all-nanoseconds": replace(FAULTY, nanoseconds=True, seed=9),
    "all-many-streams": replace(FAULTY, streams=500, seed=10),
}


@pytest.mark.parametrize("compile_it", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("name", FAULTS)
def test_an_audit_finds_the_truth(name: str, compile_it: bool, tmp_path: Path) -> None:
    shape = FAULTS[name]
    path, _ = written(shape, tmp_path)
    feed = tmp_path / "bench.yaml"
    feed.write_text(feed_yaml(shape), encoding="utf-8")
    options = Options(engine="direct", feeds=feeds_of([str(feed)], []), compile_it=compile_it)
    report = audit([CaptureInput(str(path))], options)
    truth = json.loads(path.with_suffix(".truth.json").read_text(encoding="utf-8"))
    assert differences(truth, report) == []


def test_a_wrong_figure_is_a_difference(tmp_path: Path) -> None:
    path, _ = written(FAULTS["all"], tmp_path)
    feed = tmp_path / "bench.yaml"
    feed.write_text(feed_yaml(FAULTS["all"]), encoding="utf-8")
    options = Options(engine="direct", feeds=feeds_of([str(feed)], []))
    report: Any = audit([CaptureInput(str(path))], options)
    truth = json.loads(path.with_suffix(".truth.json").read_text(encoding="utf-8"))
    truth["streams"][3]["late"] += 1
    truth["streams"][5]["lost_digest"] = "0" * 16
    gone = report["streams"].pop(0)["id"]
    report["findings"] = [f for f in report["findings"] if f["stream"] != gone]
    assert len(differences(truth, report)) == 4  # of late ones the finding differs as well
    gap = next(gap for gap in report["gaps"] if gap["stream"] == report["streams"][0]["id"])
    gap["revealed_frame"] += 1
    assert len(differences(truth, report)) == 5
    place = report["streams"][1]["id"]
    report["findings"].append({"rule": "FD008", "stream": place, "text": "began anew"})
    assert differences(truth, report)[5:] == [f"{place}: FD008, which is not in the truth"]


@pytest.mark.parametrize("turns", [1, 3])
def test_the_truth_of_a_repeated_capture_is_what_a_slow_reader_finds(
    turns: int, tmp_path: Path
) -> None:
    body, path = tmp_path / "body.pcap", tmp_path / "repeated.pcap"
    truth = truth_of(make_body(replace(FAULTY, packets=3_000), body), turns)
    with path.open("wb") as out:
        write_turns(body, turns, out)
    assert told_by(truth["streams"]) == read_slowly(path)
    assert path.stat().st_size == truth["bytes"]
    with path.open("rb") as handle:
        records = list(dpkt.pcap.Reader(handle))
    assert len(records) == truth["packets"]
    assert [at for at, _ in records] == sorted(at for at, _ in records)
    for _, frame in records:
        segment = frame[34:]
        pseudo = frame[26:34] + bytes([0, 17]) + len(segment).to_bytes(2, "big")
        assert dpkt.in_cksum(pseudo + segment) == 0


TINY = """
    --scale --scale-engines direct --scale-packets 1k --scale-gigabytes 0.0005 0.001
    --scale-stdin 0.0005 --scale-sparse 0.05 --scale-streams 1 100 --scale-loss 0 50
    --scale-one-stream 1k --scale-captures 3
"""


def test_the_tables_of_scale_are_printed_and_equal_to_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--folder", str(tmp_path), *TINY.split()]) == 0
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith("| direct")]
    assert len(rows) == 2 + 1 + 1 + 2 + 2 + len({1, min(2, CORES), CORES}) + 1 + 1
    assert all("| equal" in row for row in rows), printed
    assert printed.count("\n|---|") == len(TABLES)
    assert "The largest of 1 decoding tasks reads 100.0% of it." in printed
    assert not list(tmp_path.glob("*.pcap*"))


@pytest.mark.parametrize("rate", [50, 5_000])
def test_an_audit_finds_all_of_the_raims_messages_and_nothing_else(
    rate: int, tmp_path: Path
) -> None:
    path = tmp_path / "raims.pcap"
    write(Publishing(3_000, subjects=20, publishers=2, rate=rate), path)
    report = audit([CaptureInput(str(path), at=OBSERVER)], Options(engine="direct"))
    assert [finding["rule"] for finding in report["findings"]] == []
    assert report["captures"][0]["messages_by"]["raims"]["DATA"] == 3_000
    streams = [row for row in report["streams"] if row["system"] == "raims"]
    assert (len(streams), sum(row["messages"] for row in streams)) == (40, 3_000)
    assert {row["role"] for row in streams} == {"receiver"}
    loss = [row for row in report["tables"]["raims"]["loss"] if row["null_rte"] or row["msg_loss"]]
    assert loss == []


@pytest.mark.parametrize("kind", growth.KINDS)
def test_what_grows_in_the_tables_of_growth_is_decoded(kind: str, tmp_path: Path) -> None:
    told = growth.KINDS[kind]
    capture = tmp_path / "growth.pcap"
    frames = list(told.frames(3))
    capture.write_bytes(pcap(frames))
    feeds = feeds_of(told.options[1::2], ())
    options = Options(engine="direct", feeds=feeds, compile_it=False)
    (found,) = audit([CaptureInput(str(capture))], options)["captures"]
    assert found["frames_by"]["decoded"] == len(frames)
