"""A standalone cluster of a master and two workers: a job of ours runs there at the first try.

The workers have working folders of their own, and a Python with the packages that seqaudit needs
but without seqaudit.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy
import pyarrow
import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.spark import java

NAMES: Final = ("n4-loss-1/B.pcap", "n4-loss-1/C.pcap")
AUDIT: Final = """
import json
import os
import sys
from pathlib import Path
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.progress import Silent
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.spark.cluster import ready
from seqaudit.pipeline.spark.environment import pack
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.spark.progress import run_watched
from seqaudit.pipeline.shared.place import Place
from seqaudit.pipeline.spark.session import shared

master, python, *captures = sys.argv[1:]
settings = {
    "spark.pyspark.python": python,
    "spark.task.maxFailures": "1",
    "spark.executor.memory": "768m",
    "spark.hadoop.a": "x y=z:\\\\ #",
}
place = Place(master=master, settings=tuple(settings.items()))
begun = []
watch = Silent()
watch.begin = lambda what, total: begun.append(what)
options = Options(engine="spark", place=place, target_bytes=8_000, lanes=3)
def again():
    return audit([CaptureInput(path) for path in captures], options, watch)

print(to_json(again()))

def whence(batches):
    import os
    import pyarrow
    import seqaudit
    for batch in batches:
        where = [os.getcwd(), seqaudit.__file__, str(list(seqaudit.__path__))]
        yield pyarrow.RecordBatch.from_pydict({"told": [" ".join(where)]})

def killed(batches):
    import os
    os.kill(os.getpid(), 9)

session = shared(place)
spark, context = session.spark, session.spark.sparkContext

def problem(act):
    try:
        act()
    except SeqauditError as problem:
        return str(problem)

def asked(*files):
    ready(session, files, Silent())

def crash():
    run_watched(session, spark.range(1).mapInArrow(killed, "told string").collect, 1, Silent())

def with_python(exec, version=None, act=asked):
    kept = context.pythonExec, context.pythonVer
    context.pythonExec, context.pythonVer = exec, version or kept[1]
    try:
        return problem(act)
    finally:
        context.pythonExec, context.pythonVer = kept

bare = os.environ["BARE"]
half = Path("half").absolute()
case = f'case $PWD in */two/*) exec {bare} "$@";; esac'
half.write_text(f'#!/bin/sh\\n{case}\\nexec {python} "$@"\\n')
half.chmod(0o755)
pack(Path("few.tar.gz"), ("pyyaml", "dpkt", "lz4", "zstandard"))
context.addArchive("few.tar.gz#environment")
half_seen = "/proc/self/cwd/../../../seen.pcap"
conf = context.getConf()
told = {
    "begun": begun,
    "conf": [conf.get(f"spark.{key}") for key in
             ("app.name", "executor.memory", "hadoop.a", "hadoop.b")],
    "whence": sorted({row.told for row in spark.range(0, 8, 1, 8)
                      .mapInArrow(whence, "told string").collect()}),
    "packed": with_python("./environment/bin/python"),
    "no program": with_python("/nowhere/python"),
    "another": with_python(python, "3.5"),
    "half seen": problem(lambda: asked((os.path.abspath(captures[0]), -1), (half_seen, 5))),
    "killed": problem(crash),
    "half": with_python(str(half), act=again),  # the last one: it ends the session
}
print(json.dumps(told), file=sys.stderr)
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def until_listening(port: int) -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def python_with(folder: Path, packages: list[Path]) -> Path:
    """A Python that has these folders of packages and no others."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "more.pth").write_text("".join(f"{package}\n" for package in packages))
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its URL, and the folder in which each process has one."""
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    runtime = java.find_java()
    environment = dict(os.environ) | {
        "SPARK_HOME": str(java.spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",  # as Spark's own scripts tell its workers
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    begin = [str(runtime.program), "-Xmx256m", *java.MODULE_OPTIONS]
    begin += ["-cp", str(java.spark_home() / "jars" / "*")]
    kind = "org.apache.spark.deploy."
    at = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[f"{kind}master.Master", *at, "--port", str(port)]]
    for name in ("one", "two"):
        small = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / name / "work")]
        commands.append([f"{kind}worker.Worker", *at, *small, master])
    processes = []
    try:
        for command, name in zip(commands, ("master", "one", "two"), strict=True):
            (folder / name / "local").mkdir(parents=True)
            with (folder / name / "log").open("wb") as log:
                processes.append(
                    subprocess.Popen(
                        begin + command,
                        cwd=folder / name,
                        env=environment | {"SPARK_LOCAL_DIRS": str(folder / name / "local")},
                        stdout=log,
                        stderr=log,
                    )
                )
            if name == "master":
                until_listening(port)
        yield master, folder
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with what seqaudit needs, and without seqaudit."""
    packages = [Path(package.__file__ or "").parents[1] for package in (numpy, pyarrow)]
    return python_with(tmp_path_factory.mktemp("python"), packages)


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of Spark's own Connect server."""
    folder = tmp_path_factory.mktemp("connect")
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
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
    environment = dict(os.environ) | {
        "SPARK_HOME": str(java.spark_home()),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        until_listening(port)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def run(words: list[str], folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = dict(os.environ) | {"SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(folder)} | more
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without packages."""
    return python_with(tmp_path_factory.mktemp("bare"), [])


def test_a_cluster_runs_the_job_and_says_in_a_line_what_it_cannot_run(
    cluster: tuple[str, Path], python: Path, bare: Path, fixtures: Path, tmp_path: Path
) -> None:
    master, folder = cluster
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    for place in (tmp_path, folder / "one"):  # and not where worker two is
        (place / "seen.pcap").write_bytes(b"12345")
    captures = [fixtures / "jgroups" / name for name in NAMES]
    for capture in captures:  # relative paths: the workers have other working folders
        (deep / capture.name).symlink_to(capture)
    (deep / "conf").mkdir()
    (deep / "conf" / "spark-defaults.conf").write_text(
        "spark.executor.memory 512m\nspark.hadoop.b from the defaults\n"
    )
    words = ["-c", AUDIT, master, str(python), *(capture.name for capture in captures)]
    done = run(words, deep, BARE=str(bare), SPARK_CONF_DIR=str(deep / "conf"))
    assert done.returncode == 0, done.stderr
    given = [CaptureInput(str(capture)) for capture in captures]
    expected = to_json(audit(given, Options(engine="direct")))
    assert done.stdout == expected.replace(f"{captures[0].parent}/", "") + "\n"
    told = json.loads(done.stderr.splitlines()[-1])
    whence = [line.split(" ", 2) for line in told["whence"]]
    assert {Path(where).parents[2].name for where, *_ in whence} == {"one", "two"}
    assert all(".zip/seqaudit/__init__.py" in archive for _, archive, _ in whence)
    assert "decoding on 2 executors with 2 cores" in told["begun"]
    assert told["conf"] == [
        "seqaudit: B.pcap and 1 more", "768m", "x y=z:\\ #", "from the defaults",
    ]  # fmt: skip
    lacking = told["packed"].partition(";")[0]
    assert lacking.startswith("all 2 executors: Python has no ")
    assert "pyarrow" in lacking  # which is not in the archive, and these are
    assert not any(name in lacking for name in ("pyyaml", "dpkt", "lz4", "zstandard"))
    host = socket.gethostname()
    assert told["half"].startswith(f"1 of 2 executors (on {host}): Python has no numpy, pyarrow, ")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert told["no program"] == (
        "the Spark job failed: the workers have no program /nowhere/python; point PYSPARK_PYTHON "
        f"at a Python {version} of theirs"
    )
    assert told["another"].startswith(f"the Spark job failed: the workers' Python is {version} and")
    seen = "/proc/self/cwd/../../../seen.pcap"
    assert told["half seen"].startswith(f"{seen}: does not exist, says 1 of 2 executors (on {host}")
    assert told["killed"].startswith("the Spark job failed: a Python worker ended")
    assert told["killed"].endswith("or take --engine direct, which needs less")
    deadline = time.monotonic() + 60
    left = [folder / name / "local" for name in ("one", "two")]
    while any(path.is_file() for place in left for path in place.rglob("*")):
        assert time.monotonic() < deadline, "data of an audit stays with the workers"
        time.sleep(0.1)


def test_a_connect_server_gives_the_same_bytes_and_takes_settings(
    connect: str, python: Path, fixtures: Path, tmp_path: Path
) -> None:
    capture = str(fixtures / "jgroups" / NAMES[1])
    words = ["-m", "seqaudit.cli", "audit", "--format", "json", "--remote", connect, capture]
    words += ["--spark-conf", f"spark.pyspark.python={python}"]
    done = run(words, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{to_json(audit([CaptureInput(capture)], Options(engine='direct')))}\n"
    done = run([*words, "--spark-conf", "spark.executor.memory=1g"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    start = f"error: --spark-conf spark.executor.memory: {connect} does not take it ("
    assert done.stderr.startswith(start)
    assert len(done.stderr.splitlines()) == 1


def test_a_master_that_is_not_there_is_one_line(fixtures: Path, tmp_path: Path) -> None:
    master = f"spark://127.0.0.1:{free_port()}"
    capture = str(fixtures / "jgroups" / NAMES[0])
    done = run(["-m", "seqaudit.cli", "audit", "--master", master, capture], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {master}: no Spark master answers (127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1
