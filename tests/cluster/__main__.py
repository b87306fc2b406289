"""A real cluster: ``python -m tests.cluster [CASE…]``; prints a row for each case, in Markdown.

A master and workers in network namespaces, with files of their own (``machines``), used by the
command as a user gives it. Each report is compared with that of the direct engine, byte for byte,
and each bad case has to end with one line and exit code 2. A row says how long the command took
from its start, and what CPU it took here and on all machines. Needs root, ``ip`` and ``unshare``;
for cases of S3 a server as well (``pip install 'moto[server]'``, or ``--s3-server PROGRAM``). The
test run has a sample that needs none of these. ``--hadoop FOLDER`` is what ``tests.cluster.hadoop``
gathered, for the case of HDFS.
"""

import argparse
import json
import os
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pyarrow import fs

from tests.bench.generate import Shape, feed_yaml, generate
from tests.cluster import hadoop
from tests.cluster.machines import DRIVER, ROOT, Cluster, connect, put, store

FIXTURES: Final = ROOT / "fixtures" / "jgroups" / "n4-loss-1"
S3_PORT: Final = 5000
HDFS_PORT: Final = 9820
MEMORY: Final = "600m"


@dataclass
class Result:
    """What a command did."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float

    @property
    def took(self) -> str:
        """For a reader; beside other work the second figure says more."""
        return f"{self.seconds:.0f} s, {self.cpu:.0f} s of CPU"

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
    last: Result | None = None

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
        begun, spent = time.monotonic(), self._cpu_seconds()
        out, err = process.communicate(timeout=900)
        seconds, cpu = time.monotonic() - begun, self._cpu_seconds() - spent
        self.last = Result(process.returncode, out, err, seconds, cpu)
        return self.last

    def _cpu_seconds(self) -> float:
        """Of the machines, and of commands that have ended."""
        of_commands = resource.getrusage(resource.RUSAGE_CHILDREN)
        machines = sum(machine.cpu_seconds for machine in self.cluster.machines)
        return machines + of_commands.ru_utime + of_commands.ru_stime

    def same(self, done: Result, *captures: str, **environment: str) -> None:
        """A report is that of the direct engine."""
        words = ("audit", "--engine", "direct", "--format", "json", *captures)
        expected = self.command(*words, **environment)
        found = json.loads(done.out) if done.out else {}
        found.pop("metrics", None)
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

    def otherwise(self, name: str, second: str) -> Path:
        """A Python that the second worker starts in another way."""
        wrapper = self.cluster.folder / name
        lines = ["#!/bin/sh", f'case "$(hostname)" in *-two) {second} "$@";; esac']
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


def same_bytes(b: Bench) -> str:
    """captures by relative path, pattern and file: URI"""
    first, second = b.cluster.workers[:2]
    for name in "BC":
        put(FIXTURES / f"{name}.pcap", f"{name}.pcap", b.cluster.captures, first.captures,
            second.captures)  # fmt: skip
    done = b.command(*b.words("--metrics", "[B].pcap", f"file:{b.cluster.captures}/C.pcap"))
    b.same(done, "[B].pcap", f"file:{b.cluster.captures}/C.pcap")
    told = json.loads(done.out)["metrics"]
    assert (told["executors"], told["cores"]) == (2, 2), told
    return f"{done.took}; {told['executors']} executors, {told['cores']} cores"


def seen_by_one(b: Bench) -> str:
    """a capture that one worker of two sees"""
    put(FIXTURES / "C.pcap", "half.pcap", b.cluster.captures, b.cluster.workers[0].captures)
    done = b.command(*b.words("half.pcap"))
    assert "does not exist, says 1 of 2 executors (on seqaudit-two)" in done.line
    return f"{done.took}: {done.line}"


def another_file(b: Bench) -> str:
    """a capture that was written at another time on a worker"""
    put(FIXTURES / "C.pcap", "other.pcap", b.cluster.captures,
        *(w.captures for w in b.cluster.workers))  # fmt: skip
    os.utime(b.cluster.workers[1].captures / "other.pcap")
    done = b.command(*b.words("other.pcap"))
    assert "was written at another time there than here" in done.line
    return f"{done.took}: {done.line}"


def bare_python(b: Bench) -> str:
    """workers whose Python has no packages"""
    done = b.command(*b.words("C.pcap", python=b.cluster.bare))
    assert "all 2 executors: Python has no numpy, pyarrow, numba" in done.line
    return f"{done.took}: {done.line}"


def half_python(b: Bench) -> str:
    """one worker of two whose Python has no packages"""
    done = b.command(*b.words("C.pcap", python=b.otherwise("half", f"exec {b.cluster.bare}")))
    assert "1 of 2 executors (on seqaudit-two): Python has no numpy, pyarrow" in done.line
    return f"{done.took}: {done.line}"


def other_python(b: Bench) -> str:
    """one worker of two with another version of Python"""
    here = "python" + ".".join(map(str, sys.version_info[:2]))
    found = sorted(Path("~/.pyenv/versions").expanduser().glob("3.1*/bin/python3.1?"))
    found += [Path(path) for minor in range(10, 20) if (path := shutil.which(f"python3.{minor}"))]
    others = [path for path in found if path.name != here]
    assert others, "this machine has no other Python"
    done = b.command(*b.words("C.pcap", python=b.otherwise("other", f"exec {others[-1]}")))
    other = others[-1].name.removeprefix("python")
    assert f"Python is {other}" in done.line
    return f"{done.took}: {done.line}"


def other_numpy(b: Bench) -> str:
    """one worker of two with a numpy of another major version"""
    folder = b.cluster.folder / "numpy"
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target")
    subprocess.run([*pip, str(folder), "numpy==1.26.4"], check=True, capture_output=True)
    wrapper = b.otherwise("older", f'PYTHONPATH="{folder}:$PYTHONPATH" exec {b.cluster.python}')
    done = b.command(*b.words("C.pcap", python=wrapper))
    assert "1 of 2 executors (on seqaudit-two): numpy is 1.26.4, and" in done.line
    return f"{done.took}: {done.line}"


def environment(b: Bench) -> str:
    """workers with nothing but a Python, and the packed environment"""
    archive = b.cluster.folder / "env.tar.gz"
    made = b.command("spark", "environment", "-o", str(archive))
    assert made.code == 0, made.err
    path = f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"
    more = ("--spark-conf", f"spark.archives={archive}#environment",
            "--spark-conf", f"spark.executorEnv.PATH={path}")  # fmt: skip
    done = b.command(*b.words(*more, "C.pcap", python=Path("./environment/bin/python")))
    b.same(done, "C.pcap")
    size = archive.stat().st_size // 1_000_000
    return f"{made.took} to pack {size} MB, {done.took}"


def over_connect(b: Bench) -> str:
    """Spark's own Connect server: the same bytes, and a setting that it does not take"""
    with connect(b.cluster.folder) as url:
        words = ["audit", "--format", "json", "--remote", url, "C.pcap"]
        words += ["--spark-conf", f"spark.pyspark.python={b.cluster.python}"]
        done = b.command(*words)
        note = f"note: {url}: what is sent there and comes back can be read"
        assert done.err.startswith(note), done.err
        b.same(done, "C.pcap")
        bad = b.command(*words, "--spark-conf", "spark.executor.memory=1g")
        last = bad.err.splitlines()[-1]
        assert bad.code == 2, bad.err
        assert last.startswith(f"error: --spark-conf spark.executor.memory: {url} does not take it")
    return f"{done.took}; {bad.took}: {last}"


def no_python(b: Bench) -> str:
    """workers without that program"""
    done = b.command(*b.words("C.pcap", python=Path("/nowhere/python")))
    assert "the workers have no program /nowhere/python" in done.line
    return f"{done.took}: {done.line}"


def out_of_memory(b: Bench) -> str:
    """Python of executors with too little memory; Python, and executors, that the system ends"""
    done = b.command(*b.words("--spark-conf", "spark.executor.pyspark.memory=60m", "C.pcap"))
    assert "all 2 executors: Python runs out of memory as it starts" in done.line
    told = [f"{done.took}: {done.line}"]
    for word, line in (
        ("pyspark.worker", "a Python worker ended unexpectedly: killed, or out of memory"),
        ("CoarseGrainedExecutorBackend", "an executor was lost: killed, or out of memory"),
    ):
        done = killed_again_and_again(b, word)
        assert line in done.line
        told.append(f"{done.took}: {done.line}")
    return "; ".join(told)


def killed_again_and_again(b: Bench, word: str) -> Result:
    """A job of which the system ends such processes, from when they decode."""
    process = b.begin(b.words(b.folder("many")))
    b.until_running(process)
    done = threading.Event()

    def kill() -> None:
        while not done.wait(0.3):
            for worker in b.cluster.workers:
                worker.kill_running(word)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        return b.end(process)
    finally:
        done.set()
        killer.join()


def no_master(b: Bench) -> str:
    """a master that is not there, and a listener that is none"""
    told = []
    with socket.create_server((DRIVER, 0)) as silent:
        for port in (1, silent.getsockname()[1]):
            master = f"spark://{DRIVER}:{port}"
            done = b.command("audit", "--format", "json", "--master", master, "C.pcap")
            assert "no Spark master answers" in done.line
            assert done.seconds < 60, done.seconds
            told.append(f"{done.took}: {done.line}")
    return "; ".join(told)


def worker_killed(b: Bench) -> str:
    """a worker that loses its power in mid-run"""
    name = b.folder("many")
    extra = b.cluster.worker("three")
    put_all(b, name, extra.captures)
    process = b.begin(b.words("--metrics", name))
    meanwhile = When(process, lambda: extra.has_python, 1.0, extra.kill)
    done = b.end(process)
    meanwhile.was_in_time()
    b.same(done, name)
    return f"{done.took}, {b.captures:,} captures"


def worker_added(b: Bench) -> str:
    """a worker that is added in mid-run"""
    name = b.folder("many")
    first = b.cluster.workers[0]

    put_all(b, name, b.cluster.folder / "four" / "captures")
    process = b.begin(b.words("--metrics", name))
    meanwhile = When(process, lambda: first.has_python, 1.0, partial(b.cluster.worker, "four"))
    done = b.end(process)
    meanwhile.was_in_time()
    b.same(done, name)
    b.cluster.workers[-1].kill()
    return f"{done.took}, {b.captures:,} captures"


def worker_slow(b: Bench) -> str:
    """a worker with a slow way to the others, from mid-run on"""
    name = b.folder("many")
    first, second = b.cluster.workers[:2]
    process = b.begin(b.words("--metrics", name))
    meanwhile = When(process, lambda: first.has_python, 0.0, lambda: second.slow("100ms", "2mbit"))
    done = b.end(process)
    meanwhile.was_in_time()
    second.slow("0ms", "10gbit")
    b.same(done, name)
    return f"{done.took}, {b.captures:,} captures"


def interrupted(b: Bench) -> str:
    """Ctrl-C cancels this job; another one on the cluster goes on"""
    name = b.folder("many")
    cores = ("--spark-conf", "spark.cores.max=1")
    other = b.begin(b.words(*cores, name))
    process = b.begin(b.words(*cores, name))
    b.until_running(process)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    done = b.end(process)
    assert done.code == 130, (done.code, done.err)
    assert "interrupted" in done.err
    b.same(b.end(other), name)
    return f"{done.took}: {done.err.strip()}"


def hot_conversation(b: Bench) -> str:
    """one conversation of ever more packets, half of them lost: who holds it"""
    feed = b.cluster.folder / "feed.yaml"
    told, peaks = [], []
    for packets in b.packets:
        shape = Shape(packets, streams=1, loss=0.5)
        path = b.cluster.folder / "hot.pcap"
        generate(shape, path)
        feed.write_text(feed_yaml(shape))
        put(path, "hot.pcap", b.cluster.captures, *(w.captures for w in b.cluster.workers))
        words = ("--feed", str(feed), "hot.pcap")
        done = b.command(*b.words("--metrics", *words))
        b.same(done, *words)
        figures = json.loads(done.out)["metrics"]
        peaks.append((figures["replay_peak_bytes"], figures["driver_peak_bytes"]))
        told.append(
            f"{packets:,} packets {done.took}: {figures['events']:,} events, "
            f"{figures['largest_lane']:,} in the largest of {figures['lanes']} lanes, replay "
            f"{figures['replay_peak_bytes'] / 1e6:.0f} MB, driver "
            f"{figures['driver_peak_bytes'] / 1e6:.0f} MB, results "
            f"{figures['result_bytes'] / 1e6:.1f} MB, shuffle {figures['shuffle_bytes'] / 1e6:.1f} "
            f"MB, spill {figures['spill_disk_bytes'] / 1e6:.1f} MB"
        )
    growth = b.packets[-1] / b.packets[0]
    for first, last in zip(peaks[0], peaks[-1], strict=True):
        assert last < first * max(2, growth / 2), told  # else it grows with packets
    return "; ".join(told)


def nothing_left(b: Bench) -> str:
    """no data of audits stays on the workers"""
    deadline = time.monotonic() + 60
    while left := [path for worker in b.cluster.workers[:2] for path in worker.left()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.5)
    return "nothing"


def s3(b: Bench) -> str:
    """captures of an S3-compatible server, by pattern, with Spark's settings and AWS's"""
    told = []
    with ExitStack() as stack:
        address = stack.enter_context(store(b.stores, S3_PORT))
        system = fs.S3FileSystem(
            access_key="k", secret_key="s", endpoint_override=address, region="us-east-1",
            allow_bucket_creation=True,
        )  # fmt: skip
        system.create_dir("captures")
        for name in ("day/B.pcap", "day/C.pcap", "notes.txt"):
            with system.open_output_stream(f"captures/{name}") as file:
                file.write((FIXTURES / f"{name[4]}.pcap").read_bytes() if "/" in name else b"x")
        keys = {"access.key": "k", "secret.key": "s", "endpoint": address}
        conf = [f"spark.hadoop.fs.s3a.{key}={value}" for key, value in keys.items()]
        given = [word for text in conf for word in ("--spark-conf", text)]
        aws = {
            "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": address,
        }  # fmt: skip
        pattern = "s3a://captures/*/*.pcap"
        done = b.command(*b.words(*given, pattern))
        b.same(done, pattern, **aws)
        told.append(f"settings {done.took}")
        words = b.words(*given, pattern)
        found = b.command("infer", *words[1:])
        inferred = b.command("infer", "--engine", "direct", "--format", "json", pattern, **aws)
        assert (found.code, found.out) == (inferred.code, inferred.out), found.err
        assert len(json.loads(found.out)["captures"]) == 2, found.out
        told.append(f"infer {found.took}")
        done = b.command(*b.words("s3a://captures/day"), **aws)
        b.same(done, "s3a://captures/day", **aws)
        told.append(f"variables {done.took}")
        for bad, endpoint in (
            ("s3a://nobody/x.pcap", address),
            ("s3a://captures/x.pcap", address),
            ("s3a://captures/day/*.pcap", f"http://{DRIVER}:1"),
        ):
            done = b.command(*b.words(bad), **aws | {"AWS_ENDPOINT_URL": endpoint})
            told.append(f"{done.took}: {done.line}")
        denied(address)
        done = b.command(*b.words("s3a://captures/day/*.pcap"), **aws)
        assert "may not be read with this S3 key" in done.line
        told.append(f"{done.took}: {done.line}")
    return "; ".join(told)


def hdfs(b: Bench) -> str:
    """captures of HDFS, by pattern and folder; what is not there and may not be read"""
    assert b.hadoop is not None, "give --hadoop FOLDER (python -m tests.cluster.hadoop FOLDER)"
    told = []
    here = hadoop.client(b.hadoop)
    there = [word for name, value in here.items()
             for word in ("--spark-conf", f"spark.executorEnv.{name}={value}")]  # fmt: skip
    work = b.cluster.folder / "hadoop"
    with hadoop.hdfs(b.hadoop, work, DRIVER, HDFS_PORT) as system:
        system.shell("-put", str(FIXTURES / "B.pcap"), str(FIXTURES / "C.pcap"), "/captures/day")
        system.shell("-mkdir", "/mine")
        system.shell("-chmod", "700", "/mine")
        for name in ("captures/*/[BC].pcap", "captures"):
            captures = f"{system.url}/{name}"
            done = b.command(*b.words(*there, captures), **here)
            b.same(done, captures, **here)
            told.append(f"{done.took}")
        for bad, line in (
            (f"{system.url}/captures/x.pcap", "does not exist"),
            (f"hdfs://{DRIVER}:1/captures", "no name node answers there (Connection refused)"),
            (f"{system.url}/mine/*.pcap", "may not be read by this user of Hadoop"),
        ):
            done = b.command(*b.words(*there, bad), **here, HADOOP_USER_NAME="nobody")
            assert line in done.line
            told.append(f"{done.took}: {done.line}")
        done = b.command(*b.words(f"{system.url}/captures/*/B.pcap"), **here)
        assert "hdfs:// needs Hadoop's own library" in done.line
        assert "say all 2 executors" in done.line
        told.append(f"{done.took}: {done.line}")
    return "; ".join(told)


def denied(address: str) -> None:
    """From here on the server wants keys that it knows, and knows none."""
    import urllib.request

    plain = {"Content-Type": "text/plain"}
    request = urllib.request.Request(f"{address}/moto-api/reset-auth", b"0", plain, method="POST")
    urllib.request.urlopen(request).close()


def put_all(b: Bench, name: str, folder: Path) -> None:
    for path in sorted((b.cluster.captures / name).iterdir()):
        put(path, f"{name}/{path.name}", folder)


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


#: In this order: later ones use what earlier ones put there, and those that end workers come last.
CASES: Final[dict[str, Callable[[Bench], str]]] = {
    "same-bytes": same_bytes,
    "seen-by-one": seen_by_one,
    "another-file": another_file,
    "bare-python": bare_python,
    "half-python": half_python,
    "no-python": no_python,
    "other-python": other_python,
    "other-numpy": other_numpy,
    "environment": environment,
    "connect": over_connect,
    "out-of-memory": out_of_memory,
    "no-master": no_master,
    "s3": s3,
    "hdfs": hdfs,
    "interrupted": interrupted,
    "worker-slow": worker_slow,
    "worker-killed": worker_killed,
    "worker-added": worker_added,
    "hot-conversation": hot_conversation,
    "nothing-left": nothing_left,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--captures", type=int, default=500, help="small ones of the long jobs")
    parser.add_argument("--packets", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--s3-server", default=f"{sys.executable} -m moto.server")
    parser.add_argument("--hadoop", type=Path, help="folder of python -m tests.cluster.hadoop")
    given = parser.parse_args()
    failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # machines are taken down then as well
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        cluster = stack.enter_context(Cluster(folder))
        stores = shlex.split(given.s3_server)
        bench = Bench(cluster, stores, given.hadoop, given.captures, given.packets)
        for worker in ("one", "two"):
            cluster.worker(worker)
        put(FIXTURES / "C.pcap", "C.pcap", cluster.captures,
            *(worker.captures for worker in cluster.workers))  # fmt: skip
        print("| case | | load | outcome |\n|---|---|---:|---|", flush=True)
        for case in given.cases or CASES:
            load = os.getloadavg()[0]
            try:
                outcome = CASES[case](bench)
            except Exception as problem:
                failed += 1
                where = traceback.extract_tb(problem.__traceback__)[-1]
                outcome = f"**failed**: {where.line}: {type(problem).__name__} {str(problem)[:600]}"
                if bench.last is not None:
                    outcome += f"; said before: {bench.last.code} {bench.last.err[-600:]}"
            text = outcome.replace(name, "…").replace("\n", " ")
            print(f"| {case} | {CASES[case].__doc__} | {load:.0f} | {text} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
