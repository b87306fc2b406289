"""Commands on a cluster of a master and two workers, and what came of them."""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster.machines import DRIVER, ROOT, Cluster, cpu_seconds, descendants, put

FIXTURES: Final = ROOT / "fixtures" / "jgroups" / "n4-loss-1"
MEMORY: Final = "600m"


@dataclass
class Result:
    """What a command did."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float
    since: tuple[float, float] | None  # seconds and CPU from when the first executor registered

    @property
    def took(self) -> str:
        """For a reader; beside other work the CPU says more."""
        told = f"{self.seconds:.0f} s, {self.cpu:.0f} s of CPU"
        if self.since is None:
            return told
        return f"{told} ({self.since[0]:.0f} s, {self.since[1]:.0f} s of CPU with executors)"

    @property
    def line(self) -> str:
        """Its one line on stderr; on a busy machine a note before it says what is waited for."""
        assert self.code == 2 and not self.out, (self.code, self.out[:200], self.err)
        lines = [line for line in self.err.splitlines() if not line.startswith("note: ")]
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass
class Bench:
    """A cluster of a master and two workers, and commands that use it."""

    cluster: Cluster
    stores: Sequence[str]
    hadoop: Path | None
    captures: int
    packets: Sequence[int]
    gigabytes: Sequence[float]
    rotated: Sequence[float]
    sparse: Sequence[float]
    numbers: Sequence[int]
    seed: int
    executors: Sequence[int]
    last: Result | None = None
    measured: dict[str, Any] | None = None

    def words(self, *more: str, python: Path | None = None) -> list[str]:
        settings = {
            "spark.pyspark.python": str(python or self.cluster.python),
            "spark.driver.host": DRIVER,
            "spark.executor.memory": MEMORY,
        }
        given = [word for item in settings.items() for word in ("--spark-conf", "=".join(item))]
        return ["audit", "--format", "json", "--master", self.cluster.master, *given, *more]

    def begin(self, words: Sequence[str], **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "seqaudit.cli", *words],
            cwd=self.cluster.captures,
            env=dict(os.environ) | {"SPARK_LOCAL_IP": DRIVER} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def command(self, *words: str, **environment: str) -> Result:
        return self.end(self.begin(words, **environment))

    def end(self, process: "subprocess.Popen[str]") -> Result:
        """What a command did; its time is that from here on."""
        began = self._spent(process.pid)
        came: list[tuple[float, float]] = []

        started = Path(f"/proc/{process.pid}").stat().st_ctime

        def watch() -> None:
            while process.poll() is None:
                if any(worker.registered(started) for worker in self.cluster.workers):
                    came.append(self._spent(process.pid))
                    return
                time.sleep(0.3)

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        out, err = process.communicate(timeout=3600)
        watching.join()
        ended = self._spent()
        seconds, cpu = ended[0] - began[0], ended[1] - began[1]
        since = [(ended[0] - at, ended[1] - spent) for at, spent in came]
        result = Result(process.returncode, out, err, seconds, cpu, since[0] if since else None)
        self.last = result
        return result

    def _spent(self, command: int | None = None) -> tuple[float, float]:
        """The time, and CPU seconds of the machines and commands until now.

        Args:
            command: one that runs.
        """
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = ended.ru_utime + ended.ru_stime
        cpu += sum(machine.cpu_seconds for machine in self.cluster.machines)
        cpu += cpu_seconds(descendants(command)) if command is not None else 0.0
        return time.monotonic(), cpu

    def same(self, done: Result, *captures: str, **environment: str) -> None:
        """A report is that of the direct engine."""
        words = ("audit", "--engine", "direct", "--format", "json", *captures)
        expected = self.command(*words, **environment)
        found = json.loads(done.out) if done.out else {}
        self.measured = found.pop("metrics", None)
        assert found == json.loads(expected.out), done.err
        if "metrics" not in done.out:
            assert done.out == expected.out
        assert done.code == expected.code, done.err

    def folder(self, name: str) -> str:
        """Many small captures, which every machine has."""
        places = [self.cluster.captures, *(w.captures for w in self.cluster.workers)]
        if not (self.cluster.captures / name).is_dir():
            for number in range(self.captures):
                put(FIXTURES / "C.pcap", f"{name}/{number:05}.pcap", *places)
        return name

    def otherwise(self, name: str, other: str, host: str = "*-two") -> Path:
        """A Python that one worker starts in another way."""
        wrapper = self.cluster.folder / name
        lines = ["#!/bin/sh", f'case "$(hostname)" in {host}) {other} "$@";; esac']
        wrapper.write_text("\n".join([*lines, f'exec {self.cluster.python} "$@"\n']))
        wrapper.chmod(0o755)
        return wrapper

    def until_running(self, process: "subprocess.Popen[str]") -> None:
        """Until executors of a job run Python."""
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if all(w.has_python for w in self.cluster.workers[:2]):
                return
            time.sleep(0.2)


class When(threading.Thread):
    """Does something in mid-run: once it is so, and some seconds later, if the run goes on."""

    def __init__(
        self,
        process: "subprocess.Popen[str]",
        so: Callable[[], bool],
        later: float,
        act: Callable[[], object],
    ) -> None:
        super().__init__(daemon=True)
        self._process, self._so, self._later, self._act = process, so, later, act
        self.done = False
        self.start()

    def run(self) -> None:
        while not self._so():
            if self._process.poll() is not None:
                return
            time.sleep(0.1)
        time.sleep(self._later)
        if self._process.poll() is None:
            self._act()
            self.done = True

    def was_in_time(self) -> None:
        self.join()
        assert self.done, "the run was over before; take more --captures"


def put_all(b: Bench, name: str, folder: Path) -> None:
    for path in sorted((b.cluster.captures / name).iterdir()):
        put(path, f"{name}/{path.name}", folder)
