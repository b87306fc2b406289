"""Runs a command and measures it: wall, processor time, and memory of its processes."""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LOOK_EVERY_S = 0.02
READ_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command."""

    wall_s: float
    cpu_s: float  # of the command and the processes it waited for
    tree_bytes: int  # most that all its processes together held (RSS)
    largest_bytes: int  # most that one of them held, Java not counted
    output: bytes
    code: int


def read_once(path: Path) -> None:
    """Bring a file into the page cache."""
    with path.open("rb", buffering=0) as handle:
        room = bytearray(READ_BYTES)
        while handle.readinto(room):
            pass


def run(
    command: Sequence[str], environment: Mapping[str, str] | None = None, *, keep: bool = True
) -> Run:
    """Run to the end; standard output is kept if wanted, standard error goes to a null device."""
    before = os.times()
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as out:  # a pipe would make a fast writer wait for its reader
        with subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        ) as process:
            watch = _Watch(process.pid)
            while process.poll() is None:
                watch.look()
                time.sleep(LOOK_EVERY_S)
            wall = time.perf_counter() - begun
        out.seek(0)
        output = out.read() if keep else b""
    after = os.times()
    cpu = (
        after.children_user - before.children_user + after.children_system - before.children_system
    )
    return Run(wall, cpu, watch.tree, watch.largest, output, process.returncode)


class _Watch:
    """Memory of a process and those that descend from it."""

    def __init__(self, root: int) -> None:
        self._root = root
        self.tree = 0
        self.largest = 0

    def look(self) -> None:
        children: dict[int, list[int]] = {}
        held: dict[int, tuple[int, bool]] = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                fields = (folder / "stat").read_text().rpartition(")")
                pages = int((folder / "statm").read_text().split()[1])
            except (OSError, IndexError):
                continue
            parent = int(fields[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
            held[int(folder.name)] = (pages * os.sysconf("SC_PAGESIZE"), "(java" in fields[0])
        total, queue = 0, [self._root]
        while queue:
            process = queue.pop()
            queue += children.get(process, [])
            size, java = held.get(process, (0, False))
            total += size
            if not java:
                self.largest = max(self.largest, size)
        self.tree = max(self.tree, total)
