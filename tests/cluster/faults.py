"""What goes wrong at random moments of a job: the same report, or one line that says why."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

from tests.cluster.bench import FIXTURES, Bench, Result, When, put_all
from tests.cluster.machines import Machine, descendants, run

#: A file system that is full before a job is done, and one on which nothing can begin.
SMALL_BYTES: Final = 300_000
FULL_BYTES: Final = 8_192

EXECUTOR: Final = "CoarseGrainedExecutorBackend"


def faults(b: Bench) -> str:
    """worker, executor, Python, driver and disk lost, a file changed, at random moments"""
    name = b.folder("many")
    here = "audit", "--engine", "direct", "--format", "json", name
    direct = b.command(*here)
    whole = b.command(*b.words(name))
    assert whole.out == direct.out, whole.err
    chance = random.Random(b.seed)
    told = [f"seed {b.seed}, {whole.seconds:.0f} s without a fault"]
    for what, strike in FAULTS.items():
        later = chance.uniform(0.2, 0.9) * whole.seconds
        with ExitStack() as stack:
            done = strike(b, stack, name, later)
            path, now = None, direct
            if what.startswith("a file"):
                path, now = f"{name}/{b.captures // 2:05}.pcap", b.command(*here)
        row = f"{what} after {later:.0f} s: {outcome(done, direct, now, path)}"
        print(row, file=sys.stderr)
        told.append(row)
    return "; ".join(told)


def outcome(done: Result, direct: Result, now: Result, changed: str | None) -> str:
    """The same report, that of the files as they are now, one line, or a report that says which
    file changed."""
    if (done.code, done.out) == (direct.code, direct.out):
        return "the same report"
    if (done.code, done.out) == (now.code, now.out):
        return "the report of what the file is now"
    if not done.out:
        return done.line
    assert changed is not None, done.err
    report, expected = json.loads(done.out), json.loads(direct.out)
    (problem,) = report["unreadable"]
    assert problem["path"] == changed, problem
    others = [row["path"] for row in report["captures"]]
    assert set(others) <= {row["path"] for row in expected["captures"]} - {problem["path"]}
    assert done.code == 2, done.code
    return f"the others, and {problem['problem']}"


Strike = Callable[[Bench, ExitStack, str, float], Result]


def _ended(find: Callable[[Bench, int], list[int]]) -> Strike:
    """Processes are killed, once."""

    def strike(b: Bench, stack: ExitStack, name: str, later: float) -> Result:
        process = b.begin(b.words(name))

        def kill() -> None:
            for pid in find(b, process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

        When(process, lambda: True, later, kill)
        return b.end(process)

    return strike


def _of_a_worker(word: str) -> Callable[[Bench, int], list[int]]:
    return lambda b, _: b.cluster.workers[1].running(word)


def _java_of(b: Bench, command: int) -> list[int]:
    return [pid for pid in descendants(command) if b"java" in _name(pid)]


def _name(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_bytes()
    return b""


def _machine(b: Bench, stack: ExitStack, name: str, later: float) -> Result:
    """A machine that is there for this job loses its power."""
    extra = _joined(b, stack, name)
    process = b.begin(b.words(name))
    When(process, lambda: True, later, extra.kill)
    return b.end(process)


def _joined(b: Bench, stack: ExitStack, name: str, disk: int = 0) -> Machine:
    """One more worker, with a disk of so many bytes for what is shuffled, kept and spilled."""
    word = f"fault-{len(b.cluster.workers)}"
    put_all(b, name, b.cluster.folder / word / "captures")
    local = b.cluster.folder / word / "local"
    if disk:
        stack.enter_context(Small(local, disk))
    machine = b.cluster.worker(word)
    stack.callback(machine.kill)
    return machine


class Small:
    """A file system of so many bytes."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._size = folder, size

    def __enter__(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={self._size}", "tmpfs", self._folder)
        return self._folder

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "-l", str(self._folder)], check=False)


def _disk_of_worker(b: Bench, stack: ExitStack, name: str, later: float) -> Result:
    _joined(b, stack, name, SMALL_BYTES)
    return b.command(*b.words(name))


def _disk_of_command(b: Bench, stack: ExitStack, name: str, later: float) -> Result:
    folder = stack.enter_context(Small(b.cluster.folder / "full", FULL_BYTES))
    return b.command(*b.words(name), TMPDIR=str(folder))


def _file(change: Callable[[Path], object]) -> Strike:
    """A capture changes under its name, on all machines."""

    def strike(b: Bench, stack: ExitStack, name: str, later: float) -> Result:
        places = [b.cluster.captures, *(w.captures for w in b.cluster.workers)]
        paths = [place / name / f"{b.captures // 2:05}.pcap" for place in places]

        def act() -> None:
            for path in paths:
                change(path)

        def undo() -> None:
            for path in paths:
                path.unlink(missing_ok=True)
                shutil.copy2(FIXTURES / "C.pcap", path)

        stack.callback(undo)
        process = b.begin(b.words(name))
        When(process, lambda: True, later, act)
        return b.end(process)

    return strike


def _grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write((FIXTURES / "C.pcap").read_bytes()[24:])


def _replace(path: Path) -> None:
    path.with_suffix(".new").write_bytes((FIXTURES / "B.pcap").read_bytes())
    path.with_suffix(".new").replace(path)


FAULTS: Final[dict[str, Strike]] = {
    "an executor killed": _ended(_of_a_worker(EXECUTOR)),
    "its Python killed": _ended(_of_a_worker("pyspark.daemon")),
    "a machine lost": _machine,
    "the command's Java killed": _ended(_java_of),
    "a worker's disk full": _disk_of_worker,
    "the command's disk full": _disk_of_command,
    "a file growing": _file(_grow),
    "a file replaced": _file(_replace),
    "a file removed": _file(partial(Path.unlink, missing_ok=True)),
}
