"""How time and memory grow on a cluster: by size, captures and executors."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from zstandard import ZstdCompressor

from tests.bench.generate import Shape, feed_yaml, generate
from tests.bench.repeat import each_turn, make_body, pcap_header, turns_of, write_turns
from tests.bench.sparse import write_sparse
from tests.cluster.bench import FIXTURES, Bench, Result
from tests.cluster.machines import put

#: What is repeated; sessions of it go on in the next turn.
BODY = Shape(1_000_000)


def told(done: Result) -> str:
    """What a run took, for a reader."""
    figures = json.loads(done.out)["metrics"]
    mega = {name: figures[f"{name}_bytes"] / 1e6 for name in
            ("replay_peak", "driver_peak", "result", "shuffle", "spill_disk")}  # fmt: skip
    return (
        f"{done.took}; {figures['events']:,} events, {figures['largest_lane']:,} in the largest of "
        f"{figures['lanes']} lanes, {figures['tasks']} tasks; replay {mega['replay_peak']:.0f} MB, "
        f"driver {mega['driver_peak']:.0f} MB, results {mega['result']:.1f} MB, "
        f"shuffle {mega['shuffle']:.1f} MB, spill {mega['spill_disk']:.1f} MB"
    )


def each(b: Bench, words: Sequence[str], what: str) -> Iterator[str]:
    """An audit with one executor, and with two; the last gives the bytes of the direct engine."""
    for executors in b.executors:
        cores = ("--spark-conf", f"spark.cores.max={executors}")
        done = b.command(*b.words("--metrics", "--exit-zero", *cores, *words))
        row = f"{what} on {executors}: {told(done)}"
        print(row, file=sys.stderr)  # a case may last for an hour
        if executors == b.executors[-1]:
            b.same(done, "--exit-zero", *words)
        yield row


def seen_by_all(b: Bench, path: Path, inside: str = "") -> None:
    """One file under one name on every machine, on the disk once."""
    for folder in (b.cluster.captures, *(worker.captures for worker in b.cluster.workers)):
        (folder / inside).mkdir(exist_ok=True)
        seen = folder / inside / path.name
        seen.unlink(missing_ok=True)
        os.link(path, seen)


def growth(peaks: Sequence[float], sizes: Sequence[float]) -> None:
    """What is held does not grow as what is read."""
    if len(sizes) > 1:
        assert peaks[-1] < peaks[0] * max(1.5, sizes[-1] / sizes[0] / 2), (peaks, sizes)


def size(b: Bench) -> str:
    """one capture of ever more packets, with one executor and with two"""
    body = b.cluster.folder / "body.pcap"
    make_body(BODY, body).write(body.with_suffix(".truth.json"))
    feed = b.cluster.folder / "size.yaml"
    feed.write_text(feed_yaml(BODY))
    rows: list[str] = []
    peaks = []
    for wanted in b.gigabytes:
        capture = b.cluster.folder / "size.pcap"
        with capture.open("wb") as out:
            write_turns(body, turns_of(body, int(wanted * 1e9)), out)
        seen_by_all(b, capture)
        rows += each(b, ["--feed", str(feed), capture.name], f"{wanted:g} GB")
        peaks.append(peak(b))
        capture.unlink()
    growth(peaks, b.gigabytes)
    return "; ".join(rows)


def streams_and_loss(b: Bench) -> str:
    """as many packets in ever more streams, and ever more of them lost"""
    capture, feed = b.cluster.folder / "shape.pcap", b.cluster.folder / "shape.yaml"
    rows: list[str] = []
    for streams, loss in ((1, 0.01), (1_000, 0.01), (16_000, 0.01), (1_000, 0.0), (1_000, 0.5)):
        shape = Shape(500_000, streams=streams, loss=loss)
        generate(shape, capture)
        feed.write_text(feed_yaml(shape))
        seen_by_all(b, capture)
        what = f"{streams:,} streams, {loss:.0%} lost"
        rows += each(b, ["--feed", str(feed), capture.name], what)
        capture.unlink()
    return "; ".join(rows)


def rotated(b: Bench) -> str:
    """one capture in ever more files of 1 GB of packets, as tcpdump -C names them, compressed"""
    shape = replace(BODY, alike=True)
    body = b.cluster.folder / "rotated-body.pcap"
    make_body(shape, body).write(body.with_suffix(".truth.json"))
    feed = b.cluster.folder / "rotated.yaml"
    feed.write_text(feed_yaml(shape))
    each_file = turns_of(body, 10**9)
    turns = each_turn(body, round(max(b.rotated)) * each_file)
    rows: list[str] = []
    peaks = []
    made = 0
    for wanted in b.rotated:
        while made < round(wanted):
            path = b.cluster.folder / f"rotated.pcap{made:03}.zst"
            with path.open("wb") as file, ZstdCompressor(level=1).stream_writer(file) as out:
                out.write(pcap_header(body))
                for records in islice(turns, each_file):
                    out.write(records)
            seen_by_all(b, path, "rotated")
            path.unlink()
            made += 1
        rows += each(b, ["--feed", str(feed), "rotated"], f"{wanted:g} GB")
        peaks.append(peak(b))
    growth(peaks, b.rotated)
    return "; ".join(rows)


def sparse(b: Bench) -> str:
    """the same packets in an ever larger file with holes"""
    shape = Shape(1_000_000, duplicates=0.0)  # of which both come within a part of the file
    body = b.cluster.folder / "sparse.pcap"
    generate(shape, body)
    feed = b.cluster.folder / "sparse.yaml"
    feed.write_text(feed_yaml(shape))
    rows: list[str] = []
    for wanted in b.sparse:
        capture = b.cluster.folder / "sparse.pcapng"
        write_sparse(body, int(wanted * 1e9), capture)
        seen_by_all(b, capture)
        rows += each(b, ["--feed", str(feed), capture.name], f"{wanted:g} GB")
        capture.unlink()
    return "; ".join(rows)


def captures(b: Bench) -> str:
    """ever more small captures, with one executor and with two"""
    rows: list[str] = []
    for number in b.numbers:
        name = f"captures-{number}"
        for at in range(number):
            put(FIXTURES / "C.pcap", f"{at:05}.pcap", b.cluster.folder)
            seen_by_all(b, b.cluster.folder / f"{at:05}.pcap", name)
            (b.cluster.folder / f"{at:05}.pcap").unlink()
        rows += each(b, [name], f"{number:,} captures")
    return "; ".join(rows)


def hot_conversation(b: Bench) -> str:
    """one conversation of ever more packets, half of them lost: who holds it"""
    feed = b.cluster.folder / "feed.yaml"
    rows: list[str] = []
    peaks = []
    for packets in b.packets:
        shape = Shape(packets, streams=1, loss=0.5)
        path = b.cluster.folder / "hot.pcap"
        generate(shape, path)
        feed.write_text(feed_yaml(shape))
        seen_by_all(b, path)
        words = ("--exit-zero", "--feed", str(feed), path.name)
        done = b.command(*b.words("--metrics", *words))
        b.same(done, *words)
        figures = json.loads(done.out)["metrics"]
        peaks.append((figures["replay_peak_bytes"], figures["driver_peak_bytes"]))
        rows.append(f"{packets:,} packets: {told(done)}")
        path.unlink()
    for of_one in zip(*peaks, strict=True):
        growth(of_one, b.packets)
    assert peaks[-1][1] < 1.1 * peaks[0][1], peaks  # the driver has to do with results alone
    return "; ".join(rows)


def peak(b: Bench) -> float:
    """The most that a process of the last run of Spark held."""
    assert b.measured is not None
    return float(max(b.measured["replay_peak_bytes"], b.measured["driver_peak_bytes"]))
