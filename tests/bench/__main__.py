"""The benchmark: ``python -m tests.bench --packets 2M 20M``; prints Markdown tables.

On one generated capture, read once before each timed run so that it is in the page cache:
``cat``, ``capinfos -c``, ``tshark -T fields`` with six fields, a dpkt loop, and seqaudit direct
and on a Spark of its own. Whole commands, start-up included, the best of ``--runs`` or of what fits
into 100 s; every report is compared with the generator's truth. Ratios are of wall time; CPU time
is beside it, for machines that others use as well.
``--captures FOLDER`` times decoding and replay of ``*.pcap.zst`` there (unpacked first), ``--raims
FILE`` of a raims capture repeated to 100 MB. ``--scale`` prints how time and memory grow instead,
see ``scale.py``.
"""

import argparse
import json
import os
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import zstandard

from tests.bench.compare import verdict
from tests.bench.generate import Shape, feed_yaml, generate
from tests.bench.measure import Run, read_once, run
from tests.bench.scale import add_options, scale

FIELDS: Final = (
    "frame.number",
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "udp.dstport",
    "udp.length",
)
DPKT: Final = """
import sys, dpkt
count = 0
with open(sys.argv[1], "rb") as handle:
    for at, frame in dpkt.pcap.Reader(handle):
        ip = dpkt.ethernet.Ethernet(frame).data
        if isinstance(ip.data, dpkt.udp.UDP) and int.from_bytes(ip.data.data[10:18], "big"):
            count += 1
print(count)
"""
RAIMS_BYTES: Final = 100_000_000
#: A command that has run so long is not run again: a start-up matters no more.
ENOUGH_S: Final = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is asked for; 1 if a report differs from the truth."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--packets", nargs="*", default=["2M"], help="sizes, such as 2M 20M")
    parser.add_argument("--folder", type=Path, help="where captures are kept between runs")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each command")
    parser.add_argument("--only", nargs="*", help="rows whose name begins so")
    parser.add_argument(
        "--tshark-packets",
        help="measure tshark and dpkt on a smaller capture of so many packets, and say so",
    )
    parser.add_argument("--captures", type=Path, help="folder of *.pcap.zst to decode")
    parser.add_argument("--raims", type=Path, help="a raims pcap, repeated to 100 MB")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--loss", type=float, default=0.001)
    parser.add_argument("--faultless", action="store_true")
    add_options(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        print(machine())
        if given.scale is not None:
            return 1 if scale(given, folder, count) else 0
        bench = Bench(folder, given.runs, given.only)
        for size in given.packets:
            shape = Shape(count(size), given.streams, faults=not given.faultless, loss=given.loss)
            small = count(given.tshark_packets) if given.tshark_packets else shape.packets
            bench.feeds(shape, small)
        paths = sorted(given.captures.glob("*.pcap.zst")) if given.captures else []
        bench.decoding([*paths, *([given.raims] if given.raims else [])])
    return 1 if bench.wrong else 0


class Bench:
    """Runs and prints; ``wrong``: reports that differ from the truth."""

    def __init__(self, folder: Path, runs: int, only: Sequence[str] | None) -> None:
        self._folder = folder
        self._runs = runs
        self._only = only
        self.wrong = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._environment = {"XDG_CACHE_HOME": str(folder / "cache")}
        seqaudit = Path(sys.executable).parent / "seqaudit"
        self._audit = [str(seqaudit), "audit", "--format", "json"]

    def feeds(self, shape: Shape, tshark_packets: int) -> None:
        """The table of one generated capture."""
        capture, truth = self._generated(shape)
        small, small_truth = self._generated(Shape(tshark_packets, shape.streams))
        packets, size = truth["packets"], truth["bytes"]
        feed = self._folder / "bench.yaml"
        feed.write_text(feed_yaml(shape), encoding="utf-8")
        audit = [*self._audit, "--exit-zero", "--feed", str(feed)]
        direct = [*audit, "--engine", "direct", str(capture)]
        spark = [*audit, "--engine", "spark", str(capture)]
        print(f"\n{packets:,} packets, {size / 1e6:,.0f} MB, {len(truth['streams'])} streams\n")
        print("| command | s | CPU s | packets/s | MB/s | × tshark | peak MB | truth |")
        print("|---|---:|---:|---:|---:|---:|---:|---|")
        less = "" if small == capture else f"on {small_truth['packets']:,} packets"

        def peer(name: str, command: list[str], beside: float | None) -> float | None:
            sizes = small_truth["packets"], small_truth["bytes"]
            return self._row(name, command, small, *sizes, beside, note=less)

        tshark = peer(
            f"tshark -T fields ({len(FIELDS)} fields)",
            ["tshark", "-n", "-r", str(small), "-T", "fields", *_each("-e", FIELDS)],
            None,
        )
        peer("dpkt loop", [sys.executable, "-c", DPKT, str(small)], tshark)

        def row(
            name: str, command: list[str], check: Callable[[Run], str] | None = None
        ) -> float | None:
            return self._row(name, command, capture, packets, size, tshark, check)

        def against_truth(done: Run) -> str:
            return self._compared(truth, done)

        row("cat", ["cat", str(capture)])
        row("capinfos -c", ["capinfos", "-c", str(capture)])
        run(direct, self._environment)  # compiles its kernels, once a machine
        row("seqaudit, direct", direct, against_truth)
        row("seqaudit, Spark", spark, against_truth)

    def decoding(self, paths: Iterable[Path]) -> None:
        """The table of recorded captures: decoding alone, and the whole command."""
        rows = []
        for path in paths:
            capture = self._unpacked(path)
            decode = [sys.executable, "-m", "tests.bench.decode", str(capture)]
            audit = [*self._audit, "--exit-zero", "--engine", "direct", str(capture)]
            run(decode, self._environment)  # compiles
            decoded = [json.loads(self._timed(decode, capture).output) for _ in range(self._runs)]
            whole = self._best(audit, capture)
            rows.append((capture, min(decoded, key=lambda row: float(row["cpu_s"])), whole))
        if not rows:
            return
        print(
            "\n| capture | MB | messages | decode CPU s | messages/s a core "
            "| audit s | messages/s | peak MB |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for capture, decoded, whole in rows:
            messages = decoded["messages"]
            print(
                f"| {capture.name} | {capture.stat().st_size / 1e6:,.0f} | {messages:,} "
                f"| {decoded['cpu_s']:.2f} | {messages / decoded['cpu_s']:,.0f} "
                f"| {whole.wall_s:.2f} | {messages / whole.wall_s:,.0f} "
                f"| {whole.largest_bytes / 1e6:,.0f} |"
            )

    def _generated(self, shape: Shape) -> tuple[Path, dict[str, Any]]:
        """The capture of a shape and its truth; made once a folder."""
        parts = (shape.packets, shape.streams, shape.loss, "faulty" if shape.faults else "clean")
        capture = self._folder / ("bench-" + "-".join(map(str, parts)) + ".pcap")
        truth = capture.with_suffix(".truth.json")
        if not truth.exists():
            generate(shape, capture, truth)
        return capture, json.loads(truth.read_text(encoding="utf-8"))

    def _unpacked(self, path: Path) -> Path:
        capture = self._folder / path.name.removesuffix(".zst")
        if path.suffix == ".zst":
            with path.open("rb") as packed, capture.open("wb") as out:
                zstandard.ZstdDecompressor().copy_stream(packed, out)
        else:
            capture = self._folder / f"repeated-{path.name}"
            capture.write_bytes(repeated(path.read_bytes(), RAIMS_BYTES))
        return capture

    def _wants(self, name: str) -> bool:
        return self._only is None or any(name.startswith(word) for word in self._only)

    def _timed(self, command: Sequence[str], capture: Path, *, keep: bool = True) -> Run:
        read_once(capture)
        done = run(command, self._environment, keep=keep)
        if done.code:
            raise SystemExit(f"{' '.join(command)}: exit code {done.code}")
        return done

    def _best(self, command: Sequence[str], capture: Path, *, keep: bool = True) -> Run:
        runs: list[Run] = []
        while len(runs) < self._runs and sum(one.wall_s for one in runs) < ENOUGH_S:
            runs.append(self._timed(command, capture, keep=keep))
        fastest = min(runs, key=lambda one: one.wall_s)
        return replace(fastest, largest_bytes=max(one.largest_bytes for one in runs))

    def _row(
        self,
        name: str,
        command: Sequence[str],
        capture: Path,
        packets: int,
        size: int,
        tshark: float | None,
        check: Callable[[Run], str] | None = None,
        note: str = "",
    ) -> float | None:
        """Print one row; returns the packets per second."""
        if not self._wants(name):
            return None
        best = self._best(command, capture, keep=check is not None)
        rate = packets / best.wall_s
        told = check(best) if check is not None else note
        times = f"{rate / tshark:.1f}" if tshark else ("1" if "tshark" in name else "")
        memory = f"{best.largest_bytes / 1e6:,.0f}"
        if best.tree_bytes > 1.5 * best.largest_bytes:
            memory += f", all {best.tree_bytes / 1e6:,.0f}"
        print(
            f"| {name} | {best.wall_s:.2f} | {best.cpu_s:.2f} | {rate:,.0f} "
            f"| {size / best.wall_s / 1e6:,.0f} | {times} | {memory} | {told} |",
            flush=True,
        )
        return rate

    def _compared(self, truth: dict[str, Any], done: Run) -> str:
        report = json.loads(done.output)
        wrong, told = verdict(truth, report)
        for line in wrong[:20]:
            print(line, file=sys.stderr)
        self.wrong += bool(wrong)
        return told


def repeated(content: bytes, size: int) -> bytes:
    """A pcap (microseconds, little-endian) again and again, later each time, up to ``size``."""
    header, records = content[:24], content[24:]
    starts, at = [], 0
    while at < len(records):
        starts.append(at)
        at += 16 + int(struct.unpack_from("<I", records, at + 8)[0])
    seconds = [struct.unpack_from("<I", records, start)[0] for start in starts]
    span = seconds[-1] - seconds[0] + 10
    out = [header]
    for turn in range(max(1, size // len(records))):
        again = bytearray(records)
        for start, second in zip(starts, seconds, strict=True):
            struct.pack_into("<I", again, start, second + turn * span)
        out.append(bytes(again))
    return b"".join(out)


def count(text: str) -> int:
    """``2M`` as a number."""
    factor = {"k": 1_000, "M": 1_000_000}.get(text[-1], 1)
    return int(float(text.rstrip("kM")) * factor)


def machine() -> str:
    """Processor, cores and memory, in a line."""
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "?")
    memory = os.sysconf("SC_PAGESIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {memory / 2**30:.0f} GiB"


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


if __name__ == "__main__":
    sys.exit(main())
