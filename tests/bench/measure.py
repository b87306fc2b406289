"""Runs a command and measures it: wall, processor time, and memory of its processes."""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

LOOK_EVERY_S: Final = 0.02
READ_BYTES: Final = 16 << 20
PAGE_BYTES: Final = os.sysconf("SC_PAGESIZE")
TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command."""

    wall_s: float
    cpu_s: float  # of all its processes
    tree_bytes: int  # most that all its processes together held (RSS)
    largest_bytes: int  # most that one of them held, Java not counted
    output: bytes
    code: int
    peaks: tuple[tuple[str, int], ...] = ()  # ("command", "worker" or "Java", most it held)
    feeder_cpu_s: float = 0.0  # of the process that wrote its standard input


def read_once(path: Path) -> None:
    """Bring a file into the page cache."""
    with path.open("rb", buffering=0) as handle:
        room = bytearray(READ_BYTES)
        while handle.readinto(room):
            pass


def run(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    keep: bool = True,
    feeder: Sequence[str] | None = None,
) -> Run:
    """Run to the end; standard output is kept if wanted, standard error goes to a null device.

    Args:
        feeder: a command whose standard output is the other's standard input; measured apart.
    """
    full = {**os.environ, **(environment or {})}
    before = os.times()
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as out:  # a pipe would make a fast writer wait for its reader
        feeding = subprocess.Popen(feeder, stdout=subprocess.PIPE, env=full) if feeder else None
        with subprocess.Popen(
            command,
            stdin=feeding.stdout if feeding else None,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=full,
        ) as process:
            if feeding is not None and feeding.stdout is not None:
                feeding.stdout.close()  # the command holds the other end
            watch = _Watch(process.pid)
            fed = _Watch(feeding.pid) if feeding else None
            while process.poll() is None:
                processes = _processes()
                watch.look(processes)
                if fed is not None:
                    fed.look(processes)
                time.sleep(max(LOOK_EVERY_S, (time.perf_counter() - begun) / 100))
            wall = time.perf_counter() - begun
        if feeding is not None:
            feeding.wait()
        out.seek(0)
        output = out.read() if keep else b""
    after = os.times()
    waited = (
        after.children_user - before.children_user + after.children_system - before.children_system
    )
    feeder_cpu = fed.cpu_s if fed is not None else 0.0
    # a Java that outlives the command by a moment is waited for by nobody, but was seen
    cpu = max(waited - feeder_cpu, watch.cpu_s)
    return Run(
        wall, cpu, watch.tree, watch.largest, output, process.returncode, watch.peaks, feeder_cpu
    )


@dataclass(slots=True)
class _Process:
    """What was seen of one process."""

    role: str
    peak: int = 0
    ticks: int = 0


@dataclass(slots=True)
class _Watch:
    """Memory and processor time of a process and those that descend from it."""

    root: int
    tree: int = 0
    seen: dict[int, _Process] = field(default_factory=dict)

    @property
    def largest(self) -> int:
        return max((one.peak for one in self.seen.values() if one.role != "Java"), default=0)

    @property
    def cpu_s(self) -> float:
        return sum(one.ticks for one in self.seen.values()) / TICKS_A_SECOND

    @property
    def peaks(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(((one.role, one.peak) for one in self.seen.values()), reverse=True))

    def look(self, processes: "_Processes") -> None:
        children, held = processes
        total, queue = 0, [self.root]
        while queue:
            process = queue.pop()
            queue += children.get(process, [])
            size, ticks, java = held.get(process, (0, 0, False))
            total += size
            role = "command" if process == self.root else "Java" if java else "worker"
            one = self.seen.setdefault(process, _Process(role))
            one.role = role  # a fork is seen before it becomes Java
            one.peak = max(one.peak, size)
            one.ticks = max(one.ticks, ticks)
        self.tree = max(self.tree, total)


#: Children of each process; bytes it holds, ticks it has used, and whether it is Java.
_Processes = tuple[dict[int, list[int]], dict[int, tuple[int, int, bool]]]


def _processes() -> _Processes:
    children: dict[int, list[int]] = {}
    held: dict[int, tuple[int, int, bool]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
            pages = int((folder / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        fields = rest.split()
        ticks = int(fields[11]) + int(fields[12])
        children.setdefault(int(fields[1]), []).append(int(folder.name))
        held[int(folder.name)] = (pages * PAGE_BYTES, ticks, "(java" in name)
    return children, held
