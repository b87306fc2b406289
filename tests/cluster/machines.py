"""A standalone cluster: each machine a network namespace with an address, a name and files.

A master and workers that reach each other by a bridge. Every worker has a Python with the packages
that seqaudit needs and without seqaudit, whose folders are empty there, and sees its own folder of
captures under the path that the driver has it by. Needs root, ``ip`` and ``unshare``.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy
import pyarrow

from seqaudit.pipeline.spark import java

ROOT: Final = Path(__file__).parents[2]
#: Of several clusters on one machine each has a number.
NUMBER: Final = next(n for n in range(99) if not Path(f"/sys/class/net/seqaudit{n}").exists())
BRIDGE: Final = f"seqaudit{NUMBER}"
NETWORK: Final = f"10.213.{77 + NUMBER}"
DRIVER: Final = f"{NETWORK}.1"
MASTER_PORT: Final = 7077

#: What a machine has not: seqaudit.
HIDDEN: Final = ("cli", "decoders", "replay", "pipeline")

Command = Sequence[str | Path]

#: What an executor writes when the driver has it.
_REGISTERED: Final = b"Successfully registered with driver"


def run(*words: str | Path) -> None:
    subprocess.run([*map(str, words)], check=True, capture_output=True)


def python_with(folder: Path, packages: Sequence[Path]) -> Path:
    """A Python that has these folders of packages and no others."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "more.pth").write_text("".join(f"{package}\n" for package in packages))
    return folder / "bin" / "python"


class Machine:
    """A namespace with an address; what runs there ends with it."""

    def __init__(self, folder: Path, name: str, number: int, captures: Path) -> None:
        """``captures`` is where all see captures; this machine sees ``folder/name/captures``."""
        self.name = f"seqaudit-{name}"
        self.address = f"{NETWORK}.{number}"
        self.folder = folder / name
        self.captures = self.folder / "captures"
        self._seen = captures
        self._processes: list[subprocess.Popen[bytes]] = []
        for inside in ("captures", "local", "work", "empty"):
            (self.folder / inside).mkdir(parents=True, exist_ok=True)
        self.space = f"{BRIDGE}-{name}"
        self.link = f"sq{NUMBER}-{number}"
        run("ip", "netns", "add", self.space)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns",
            self.space)  # fmt: skip
        run("ip", "link", "set", self.link, "master", BRIDGE, "up")
        inside_it = ("ip", "-n", self.space)
        run(*inside_it, "addr", "add", f"{self.address}/24", "dev", "eth0")
        run(*inside_it, "link", "set", "eth0", "up")
        run(*inside_it, "link", "set", "lo", "up")

    def start(self, command: Command, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """A process of this machine; its log is ``folder/log``."""
        mounts = [f"mount --bind {self.folder}/empty {ROOT}/{hidden}" for hidden in HIDDEN]
        mounts.append(f"mount --bind {self.captures} {self._seen}")
        script = " && ".join([*mounts, f"hostname {self.name}", 'exec "$@"'])
        words = ["ip", "netns", "exec", self.space, "unshare", "--uts", "--mount", "sh", "-c",
                 script, "sh"]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [*words, *map(str, command)],
                cwd=self.folder,
                env=dict(os.environ) | dict(environment) | {"SPARK_LOCAL_IP": self.address},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def kill(self) -> None:
        """Everything that runs here, at once: the machine lost its power."""
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()
        self._processes.clear()

    @property
    def has_python(self) -> bool:
        """Whether an executor here runs Python."""
        return bool(self.running("pyspark"))

    def registered(self, since: float) -> bool:
        """Whether an executor here is one of an application that began then or later."""
        logs = (self.folder / "work").glob("app-*/*/stderr")
        return any(log.stat().st_ctime >= since and _REGISTERED in log.read_bytes() for log in logs)

    def running(self, word: str) -> list[int]:
        """The processes here with a word in their command line, the class path left out."""
        found = []
        for pid in self._pids():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"-cp" in words:
                    del words[words.index(b"-cp") + 1]
                if word.encode() in b"\0".join(words):
                    found.append(pid)
        return found

    def kill_running(self, word: str, *, forks: bool) -> None:
        """As the system does that has no memory left: such processes, or what they forked."""
        pids = self.running(word)
        parents = {pid: int((_status(pid) or "00")[1]) for pid in pids}
        for pid in [pid for pid in pids if (parents[pid] in pids) == forks]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _pids(self) -> list[int]:
        told = subprocess.run(
            ["ip", "netns", "pids", self.space], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in told.stdout.split()]

    @property
    def cpu_seconds(self) -> float:
        """Of all that runs here, and of what has ended and was waited for."""
        return cpu_seconds(self._pids())

    @contextlib.contextmanager
    def slowed(self, share: float) -> Iterator[None]:
        """It stands still but for a share of the time, all that runs here."""
        over = threading.Event()

        def signal_all(kind: signal.Signals) -> None:
            for pid in self._pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, kind)

        def slow() -> None:
            while not over.is_set():
                signal_all(signal.SIGSTOP)
                over.wait(1 - share)
                signal_all(signal.SIGCONT)
                over.wait(share)

        slowing = threading.Thread(target=slow, daemon=True)
        slowing.start()
        try:
            yield
        finally:
            over.set()
            slowing.join()

    def left(self) -> list[Path]:
        """Data of jobs that is still here: what was shuffled, kept or spilled."""
        return [path for path in (self.folder / "local").rglob("*") if path.is_file()]

    def close(self) -> None:
        self.kill()
        subprocess.run(["ip", "netns", "del", self.space], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.link], check=False, capture_output=True)


def _status(pid: int) -> list[str]:
    """What proc(5) calls stat, from its state on; empty: it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def cpu_seconds(pids: Iterable[int]) -> float:
    """Of processes, and of what they waited for."""
    ticks = sum(int(number) for pid in pids for number in _status(pid)[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """A process and what it started, as far as that runs."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{one}/task/{one}/children").read_text().split()
            found += map(int, children)
    return found


class Cluster:
    """The master, its workers, and what a driver needs to reach them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.captures = folder / "captures"  # as the driver sees it, and by its path all
        self.captures.mkdir()
        packages = [Path(package.__file__ or "").parents[1] for package in (numpy, pyarrow)]
        self.python = python_with(folder / "python", packages)
        self.bare = python_with(folder / "bare", [])
        self.machines: list[Machine] = []
        self.workers: list[Machine] = []

    def __enter__(self) -> "Cluster":
        try:
            run("ip", "link", "add", BRIDGE, "type", "bridge")
            run("ip", "addr", "add", f"{DRIVER}/24", "dev", BRIDGE)
            run("ip", "link", "set", BRIDGE, "up")
            self._start("master", "master.Master", "--port", str(MASTER_PORT))
            until_listening(self.machines[0].address, MASTER_PORT)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def master(self) -> str:
        return f"spark://{self.machines[0].address}:{MASTER_PORT}"

    def machine(self, name: str) -> Machine:
        """One more, on which nothing runs."""
        machine = Machine(self.folder, name, 10 + len(self.machines), self.captures)
        self.machines.append(machine)
        return machine

    def _start(self, name: str, kind: str, *more: str) -> Machine:
        machine = self.machine(name)
        command = [
            *(str(java.find_java().program), "-Xmx256m", *java.MODULE_OPTIONS),
            *("-cp", str(java.spark_home() / "jars" / "*"), f"org.apache.spark.deploy.{kind}"),
            *("--host", machine.address, "--webui-port", "0", *more),
        ]
        environment = {
            "SPARK_HOME": str(java.spark_home()),
            "SPARK_SCALA_VERSION": "2.13",  # as Spark's own scripts tell its workers
            "SPARK_LOCAL_DIRS": str(machine.folder / "local"),
            "XDG_CACHE_HOME": str(machine.folder / "cache"),
        }
        machine.start(command, environment)
        return machine

    def worker(self, name: str, *, cores: int = 1, memory: str = "1g") -> Machine:
        """One more machine; it registers when it is up."""
        kept = ("--cores", str(cores), "--memory", memory)
        where = ("--work-dir", str(self.folder / name / "work"), self.master)
        machine = self._start(name, "worker.Worker", *kept, *where)
        self.workers.append(machine)
        return machine

    def close(self) -> None:
        """End all that runs, and take the network away."""
        for machine in reversed(self.machines):
            machine.close()
        subprocess.run(["ip", "link", "del", BRIDGE], check=False, capture_output=True)


def until_listening(host: str, port: int, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((host, port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, f"nobody listens at {host}:{port}"
            time.sleep(0.2)


@contextlib.contextmanager
def store(command: Sequence[str], port: int) -> Iterator[str]:
    """The address of an S3-compatible server that machines reach."""
    with subprocess.Popen(
        [*command, "-H", DRIVER, "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            until_listening(DRIVER, port)
            yield f"http://{DRIVER}:{port}"
        finally:
            server.terminate()


@contextlib.contextmanager
def connect(folder: Path) -> Iterator[str]:
    """The URL of Spark's own Connect server."""
    port = MASTER_PORT + 1
    settings = {
        "spark.connect.grpc.binding.address": DRIVER,
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
    }
    command = [
        *(str(java.find_java().program), "-Xmx512m", *java.MODULE_OPTIONS),
        *("-cp", str(java.spark_home() / "jars" / "*"), "org.apache.spark.deploy.SparkSubmit"),
        *("--master", "local[1]"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *(word for item in settings.items() for word in ("--conf", f"{item[0]}={item[1]}")),
        "spark-internal",
    ]
    where = {"SPARK_HOME": str(java.spark_home()), "XDG_CACHE_HOME": str(folder / "cache")}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=dict(os.environ) | where,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            until_listening(DRIVER, port)
            yield f"sc://{DRIVER}:{port}"
        finally:
            server.terminate()


def put(source: Path, name: str, *folders: Path) -> None:
    """A capture in several folders, with its time."""
    for folder in folders:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, folder / name)
