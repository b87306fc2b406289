"""Runs a command and measures it: wall, processor time, and memory of its processes."""

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

#: Looking takes a core less than a hundredth of the time; peaks are the kernel's own marks.
FIRST_LOOK_S: Final = 0.02
LOOK_EVERY_S: Final = 0.1
READ_BYTES: Final = 16 << 20
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
            ended = os.pidfd_open(process.pid)
            pause = FIRST_LOOK_S
            while not select.select([ended], [], [], pause)[0]:
                watch.look()
                if fed is not None:
                    fed.look()
                pause = min(2 * pause, LOOK_EVERY_S)
            wall = time.perf_counter() - begun
            os.close(ended)
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

    def look(self) -> None:
        total, queue = 0, [self.root]
        while queue:
            process = queue.pop()
            try:
                size, peak, ticks, java = _held(process)
                queue += _children(process)
            except (OSError, IndexError, KeyError):  # it has ended
                continue
            total += size
            role = "command" if process == self.root else "Java" if java else "worker"
            one = self.seen.setdefault(process, _Process(role))
            one.role = role  # a fork is seen before it becomes Java
            one.peak = max(one.peak, peak)
            one.ticks = max(one.ticks, ticks)
        self.tree = max(self.tree, total)


def _held(process: int) -> tuple[int, int, int, bool]:
    """Bytes a process holds, the most it ever held, ticks it has used, and whether it is Java."""
    folder = Path("/proc") / str(process)
    name, _, rest = (folder / "stat").read_text().rpartition(")")
    fields = rest.split()
    lines = (line.split() for line in (folder / "status").read_text().splitlines())
    sizes = {words[0]: int(words[1]) * 1024 for words in lines if words[-1] == "kB"}
    ticks = int(fields[11]) + int(fields[12])
    return sizes["VmRSS:"], sizes["VmHWM:"], ticks, "(java" in name


def _children(process: int) -> list[int]:
    children: list[int] = []
    for thread in (Path("/proc") / str(process) / "task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended
            children += map(int, (thread / "children").read_text().split())
    return children
