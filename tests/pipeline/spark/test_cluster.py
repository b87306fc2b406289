"""A standalone cluster of a master and a worker: a job of ours runs there.

The worker has a working folder of its own, and a Python with the packages that seqaudit needs but
without seqaudit. ``python -m tests.cluster`` has what takes longer: machines with files of their
own, bad ones, S3, Connect, workers that come and go.
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
from tests.cluster.machines import python_with, until_listening

NAMES: Final = ("n4-loss-1/B.pcap", "n4-loss-1/C.pcap")
#: For a Java that lives for seconds.
QUICK: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

AUDIT: Final = """
import json
import sys
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.progress import Silent
from seqaudit.pipeline.spark.session import shared

master, python, *captures = sys.argv[1:]
settings = {
    "spark.pyspark.python": python,
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "512m",
    "spark.hadoop.a": "x y=z:\\\\ #",
}
place = SparkAddress(master=master, settings=tuple(settings.items()))
begun = []
watch = Silent()
watch.begin = lambda what, total, bytes_read=False: begun.append(what)
options = Options(engine="spark", place=place, target_bytes=8_000, lanes=3)
print(to_json(audit([CaptureInput(path) for path in captures], options, watch)))

def whence(batches):
    import os
    import pyarrow
    import seqaudit
    for batch in batches:
        where = [os.getcwd(), seqaudit.__file__, str(list(seqaudit.__path__))]
        yield pyarrow.RecordBatch.from_pydict({"told": [" ".join(where)]})

spark = shared(place).spark
conf = spark.sparkContext.getConf()
told = {
    "begun": begun,
    "conf": [conf.get(f"spark.{key}") for key in
             ("app.name", "executor.memory", "hadoop.a", "hadoop.b")],
    "whence": sorted({row.told for row in spark.range(0, 8, 1, 8)
                      .mapInArrow(whence, "told string").collect()}),
}
print(json.dumps(told), file=sys.stderr)
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


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
    begin = [str(runtime.program), "-Xmx256m", *QUICK, *java.MODULE_OPTIONS]
    begin += ["-cp", str(java.spark_home() / "jars" / "*")]
    kind = "org.apache.spark.deploy."
    at = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[f"{kind}master.Master", *at, "--port", str(port)]]
    small = ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "worker" / "work")]
    commands.append([f"{kind}worker.Worker", *at, *small, master])
    processes = []
    try:
        for command, name in zip(commands, ("master", "worker"), strict=True):
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
                until_listening("127.0.0.1", port)
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


def test_a_cluster_runs_the_job_at_the_first_try_and_keeps_nothing(
    cluster: tuple[str, Path], python: Path, fixtures: Path, tmp_path: Path
) -> None:
    master, folder = cluster
    captures = [fixtures / "jgroups" / name for name in NAMES]
    for capture in captures:  # relative paths: the worker has another working folder
        (tmp_path / capture.name).symlink_to(capture)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        "spark.executor.memory 768m\nspark.hadoop.b from the defaults\n"
    )
    words = ["-c", AUDIT, master, str(python), *(capture.name for capture in captures)]
    done = run(words, tmp_path, SPARK_CONF_DIR=str(tmp_path / "conf"))
    assert done.returncode == 0, done.stderr
    given = [CaptureInput(str(capture)) for capture in captures]
    expected = to_json(audit(given, Options(engine="direct")))
    assert done.stdout == expected.replace(f"{captures[0].parent}/", "") + "\n"
    told = json.loads(done.stderr.splitlines()[-1])
    whence = [line.split(" ", 2) for line in told["whence"]]
    assert {Path(where).parents[2].name for where, *_ in whence} == {"worker"}
    assert all(".zip/seqaudit/__init__.py" in archive for _, archive, _ in whence)
    assert "decoding on 1 executor with 2 cores" in told["begun"]
    assert told["conf"] == [
        "seqaudit: B.pcap and 1 more", "512m", "x y=z:\\ #", "from the defaults",
    ]  # fmt: skip
    deadline = time.monotonic() + 60
    while any(path.is_file() for path in (folder / "worker" / "local").rglob("*")):
        assert time.monotonic() < deadline, "data of an audit stays with the workers"
        time.sleep(0.1)


def test_a_master_that_is_not_there_is_one_line(fixtures: Path, tmp_path: Path) -> None:
    master = f"spark://127.0.0.1:{free_port()}"
    capture = str(fixtures / "jgroups" / NAMES[0])
    done = run(["-m", "seqaudit.cli", "audit", "--master", master, capture], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {master}: no Spark master answers (127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1
