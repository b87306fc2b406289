"""How time and memory grow: ``python -m tests.bench --scale``; prints Markdown tables.

Whole commands, each run once, so that every row has processes of its own. Every report is compared
with the truth. "Growth" is the exponent of CPU time between a row and the one before, of the time
above that of a capture of 1,000 packets: 1.0 is linear. Memory is the most that a process held
(RSS); Java is counted under "all" only.
"""

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.bench.compare import differences, verdict
from tests.bench.generate import BLOCK, Shape, Truth, feed_yaml, generate
from tests.bench.measure import Run, read_once, run
from tests.bench.one_stream import shares
from tests.bench.repeat import make_body, truth_of, turns_of, write_turns
from tests.bench.sparse import write_sparse

TABLES: Final = ("size", "stdin", "sparse", "streams", "loss", "cores", "one-stream", "captures")
SMALL_PACKETS: Final = 200  # of each of many small captures
START_PACKETS: Final = 1_000
COMPILED_PACKETS: Final = 50_000  # from some 20,000 on, kernels are compiled


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("--scale: how time and memory grow")
    add = group.add_argument
    add("--scale", nargs="*", choices=TABLES, metavar="TABLE", help=f"{', '.join(TABLES)}; all")
    add("--scale-engines", nargs="*", default=["direct", "spark"], choices=["direct", "spark"])
    add("--scale-packets", default="2M", help="of the captures of streams, loss and cores")
    add("--scale-gigabytes", nargs="*", type=float, default=[1, 3, 10], help="of files")
    add("--scale-stdin", nargs="*", type=float, default=[10, 100], help="gigabytes through a pipe")
    add("--scale-sparse", nargs="*", type=float, default=[1, 10, 100], help="gigabytes with holes")
    add("--scale-streams", nargs="*", type=int, default=[1, 10, 100, 1_000, 10_000, 100_000])
    add("--scale-loss", nargs="*", type=float, default=[0, 0.1, 1, 10, 50], help="in percent")
    add("--scale-one-stream", default="20M", help="packets of the one stream")
    add("--scale-captures", nargs="*", type=int, default=[100, 1_000, 10_000])


@dataclass(slots=True)
class Scale:
    """Runs and prints; ``wrong``: reports that differ from the truth."""

    folder: Path
    engines: Sequence[str]
    packets: int
    wrong: int = 0
    _start_s: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._compile()
        with self._generated(Shape(START_PACKETS)) as (capture, truth):
            for engine in self.engines:
                done, _ = self._audit(engine, [capture], truth)
                self._start_s[engine] = done.cpu_s
        said = ", ".join(f"{engine} {cpu_s:.1f} s" for engine, cpu_s in self._start_s.items())
        print(f"\nCPU time of {START_PACKETS:,} packets: {said}")

    def _compile(self) -> None:
        """Have all kernels compiled, which is once a machine, before anything is timed."""
        shape = replace(self._body_shape(), packets=min(self.packets, COMPILED_PACKETS))
        with self._generated(shape) as (capture, truth):
            sparse = self.folder / "sparse.pcapng"
            with self._kept(sparse):
                write_sparse(capture, 0, sparse)
                for path in (capture, sparse):
                    self._audit("direct", [path], truth)

    def size(self, gigabytes: Sequence[float]) -> None:
        """One capture of more and more packets; its numbers and times go on."""
        table = self._table("One capture in a file, the same packets again and again", "GB")
        body, one = self._body()
        for engine in table.engines():
            for wanted in gigabytes:
                turns = turns_of(body, int(wanted * 1e9))
                capture = self.folder / "size.pcap"
                with self._kept(capture), capture.open("wb") as out:
                    write_turns(body, turns, out)
                    out.flush()
                    truth = truth_of(one, turns)
                    read_once(capture)
                    table.row(engine, truth["bytes"] / 1e9, *self._audit(engine, [capture], truth))
        body.unlink()

    def stdin(self, gigabytes: Sequence[float]) -> None:
        """The same through a pipe: no disk is that large; Spark would keep it in a file first."""
        table = self._table("One capture through standard input", "GB", ["direct"])
        body, one = self._body()
        for engine in table.engines():
            for wanted in gigabytes:
                truth = truth_of(one, turns_of(body, int(wanted * 1e9)))
                feeder = [sys.executable, "-m", "tests.bench.repeat", str(body), str(wanted)]
                done, told = self._audit(engine, [Path("-")], truth, feeder=feeder)
                told += f"; the pipe's writer took {done.feeder_cpu_s:.0f} CPU s"
                table.row(engine, truth["bytes"] / 1e9, done, told)
        body.unlink()

    def sparse(self, gigabytes: Sequence[float]) -> None:
        """The same packets in ever larger sparse files."""
        # a network's duplicate is one that comes within 4 MB of the file: holes part the two
        shape = replace(self._body_shape(), duplicates=0.0)
        title = "The same packets in a sparse file, with holes of 16 MB between them"
        table = self._table(title, "GB")
        with self._generated(shape) as (body, truth):
            for engine in table.engines():
                for wanted in gigabytes:
                    capture = self.folder / "sparse.pcapng"
                    with self._kept(capture):
                        write_sparse(body, int(wanted * 1e9), capture)
                        size = capture.stat().st_size
                        table.row(engine, size / 1e9, *self._audit(engine, [capture], truth))

    def streams(self, numbers: Sequence[int]) -> None:
        table = self._table(f"{self.packets:,} packets of so many streams", "streams")
        self._shapes(table, [(n, Shape(self.packets, streams=n)) for n in numbers])

    def loss(self, percents: Sequence[float]) -> None:
        table = self._table(f"{self.packets:,} packets of which so many are lost", "lost %")
        rates = [(percent, percent / 100) for percent in percents]
        self._shapes(table, [(at, Shape(self.packets, loss=rate)) for at, rate in rates])

    def cores(self) -> None:
        """One core against two; the growth is that of CPU time."""
        table = self._table(f"{self.packets:,} packets on so many cores", "cores")
        available = sorted(os.sched_getaffinity(0))
        with self._generated(Shape(self.packets)) as (capture, truth):
            for engine in table.engines():
                for number in sorted({1, min(2, len(available)), len(available)}):
                    pinned = ["taskset", "-c", ",".join(map(str, available[:number]))]
                    table.row(engine, number, *self._audit(engine, [capture], truth, pinned))

    def one_stream(self, packets: int) -> None:
        """One stream of so many packets: who holds it."""
        shape = Shape(packets, streams=1)
        print(f"\nOne stream of {packets:,} packets\n")
        print("| engine | s | CPU s | MB of each process | truth |\n|---|---:|---:|---|---|")
        with self._generated(shape) as (capture, truth):
            for engine in self.engines:
                read_once(capture)
                done, told = self._audit(engine, [capture], truth)
                held = ", ".join(
                    f"{role} {peak / 1e6:,.0f}" for role, peak in done.peaks if peak > 50e6
                )
                print(f"| {engine} | {done.wall_s:.1f} | {done.cpu_s:.1f} | {held} | {told} |")
            for line in shares(capture, self._feed(shape)):
                print(f"\n{line}")

    def captures(self, numbers: Sequence[int]) -> None:
        """Many small captures in one command."""
        table = self._table(f"So many captures of {SMALL_PACKETS} packets", "captures")
        shapes = [
            Shape(SMALL_PACKETS, streams=5, loss=0.02, late=0.01, copies=0.01, seed=seed)
            for seed in range(max(numbers, default=0))
        ]
        with tempfile.TemporaryDirectory(dir=self.folder) as small:
            self._feed(shapes[0] if shapes else Shape(1))
            made = [(Path(small) / f"{shape.seed:05d}.pcap", shape) for shape in shapes]
            truths = []
            for path, shape in made:
                generate(shape, path)
                truths.append(json.loads(path.with_suffix(".truth.json").read_text("utf-8")))
            paths = [path for path, _ in made]

            def compared(report: Mapping[str, Any]) -> str:
                return self._each_compared(truths, report)

            for engine in table.engines():
                for number in numbers:
                    done, told = self._audit(engine, paths[:number], compared)
                    table.row(engine, number, done, told)

    def _shapes(self, table: "_Table", shapes: Sequence[tuple[float, Shape]]) -> None:
        for engine in table.engines():
            for at, shape in shapes:
                with self._generated(shape) as (capture, truth):
                    table.row(engine, at, *self._audit(engine, [capture], truth))

    def _body_shape(self) -> Shape:
        return Shape(min(self.packets, BLOCK))

    def _body(self) -> tuple[Path, Truth]:
        """What is repeated, and its truth."""
        self._feed(self._body_shape())
        body = self.folder / "body.pcap"
        return body, make_body(self._body_shape(), body)

    def _table(self, title: str, unit: str, only: Sequence[str] | None = None) -> "_Table":
        engines = [engine for engine in self.engines if only is None or engine in only]
        return _Table(title, unit, engines, self._start_s)

    @property
    def _seqaudit(self) -> list[str]:
        return [str(Path(sys.executable).parent / "seqaudit")]

    @property
    def _environment(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def _feed(self, shape: Shape) -> Path:
        feed = self.folder / "scale.yaml"
        feed.write_text(feed_yaml(shape), encoding="utf-8")
        return feed

    @contextmanager
    def _generated(self, shape: Shape) -> Iterator[tuple[Path, dict[str, Any]]]:
        """A capture for as long as it is measured, and its truth."""
        self._feed(shape)
        capture = self.folder / "scale.pcap"
        truth = capture.with_suffix(".truth.json")
        with self._kept(capture), self._kept(truth):
            generate(shape, capture)
            yield capture, json.loads(truth.read_text(encoding="utf-8"))

    @contextmanager
    def _kept(self, path: Path) -> Iterator[None]:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)

    def _audit(
        self,
        engine: str,
        captures: Sequence[Path],
        truth: Mapping[str, Any] | Callable[[Mapping[str, Any]], str],
        before: Sequence[str] = (),
        feeder: Sequence[str] | None = None,
    ) -> tuple[Run, str]:
        """One run, and how its report compares."""
        feed = str(self.folder / "scale.yaml")
        options = ["audit", "--format", "json", "--exit-zero", "--feed", feed, "--engine", engine]
        command = [*before, *self._seqaudit, *options, *map(str, captures)]
        done = run(command, self._environment, feeder=feeder)
        if done.code:
            raise SystemExit(f"{' '.join(command[:12])}: exit code {done.code}")
        report = json.loads(done.output)
        if callable(truth):
            return done, truth(report)
        wrong, told = verdict(truth, report)
        self._tell(wrong)
        return done, told

    def _each_compared(self, truths: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> str:
        """Many captures, each with its own truth."""
        parts = [
            {"captures": [capture], "streams": [], "findings": [], "gaps": []}
            for capture in report["captures"]
        ]
        for name in ("streams", "findings", "gaps"):
            for row in report[name]:
                parts[row["capture"]][name].append(row)
        wrong = []
        for number, own in enumerate(parts):
            wrong += [f"capture {number}: {line}" for line in differences(truths[number], own)]
        self._tell(wrong)
        return f"{len(wrong)} different" if wrong else "equal"

    def _tell(self, wrong: Sequence[str]) -> None:
        for line in wrong[:20]:
            print(line, file=sys.stderr)
        self.wrong += bool(wrong)


@dataclass(slots=True)
class _Table:
    """Rows of one table, an engine after the other."""

    title: str
    unit: str
    _engines: Sequence[str]
    _start_s: Mapping[str, float]
    _before: tuple[float, float] | None = None

    def engines(self) -> Iterator[str]:
        if not self._engines:
            return
        print(f"\n{self.title}\n")
        print(f"| engine | {self.unit} | s | CPU s | growth | peak MB a process | all | truth |")
        print("|---|---:|---:|---:|---:|---:|---:|---|")
        for engine in self._engines:
            self._before = None
            yield engine

    def row(self, engine: str, at: float, done: Run, told: str) -> None:
        own_s = max(done.cpu_s - self._start_s[engine], 0.01)
        growth = ""
        if self._before is not None and min(self._before[0], at) > 0 and self._before[0] != at:
            growth = f"{math.log(own_s / self._before[1]) / math.log(at / self._before[0]):.2f}"
        self._before = (at, own_s)
        shown = f"{at:,.0f}" if at == int(at) or at >= 100 else f"{at:.3g}"
        print(
            f"| {engine} | {shown} | {done.wall_s:.1f} | {done.cpu_s:.1f} | {growth} "
            f"| {done.largest_bytes / 1e6:,.0f} | {done.tree_bytes / 1e6:,.0f} | {told} |",
            flush=True,
        )


def scale(given: argparse.Namespace, folder: Path, count: Callable[[str], int]) -> int:
    """All tables that are wanted; how many reports differed from the truth."""
    work = Scale(folder, given.scale_engines, count(given.scale_packets))
    tables: Mapping[str, Callable[[], None]] = {
        "size": lambda: work.size(given.scale_gigabytes),
        "stdin": lambda: work.stdin(given.scale_stdin),
        "sparse": lambda: work.sparse(given.scale_sparse),
        "streams": lambda: work.streams(given.scale_streams),
        "loss": lambda: work.loss(given.scale_loss),
        "cores": work.cores,
        "one-stream": lambda: work.one_stream(count(given.scale_one_stream)),
        "captures": lambda: work.captures(given.scale_captures),
    }
    for name in TABLES:
        if name in (given.scale or TABLES):
            tables[name]()
    return work.wrong
