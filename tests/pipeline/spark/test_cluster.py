"""A standalone cluster of a master and two workers: a job of ours runs there at the first try.

The workers have working folders of their own, and a Python with the packages that seqaudit needs
but without seqaudit.
"""

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

from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.spark import java

NAMES: Final = ("n4-loss-1/B.pcap", "n4-loss-1/C.pcap")
AUDIT: Final = """
import sys
from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.spark.session import Place, shared
place = Place(master=sys.argv[1])
options = Options(engine="spark", place=place, target_bytes=8_000, lanes=3)
print(to_json(audit([CaptureInput(path) for path in sys.argv[2:]], options)))
def whence(batches):
    import os
    import pyarrow
    import seqaudit
    for batch in batches:
        where = [os.getcwd(), seqaudit.__file__, str(list(seqaudit.__path__))]
        yield pyarrow.RecordBatch.from_pydict({"told": [" ".join(where)]})
rows = shared(place).spark.range(0, 8, 1, 8).mapInArrow(whence, "told string").collect()
print(*sorted({row.told for row in rows}), sep="\\n", file=sys.stderr)
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def until_listening(port: int) -> None:
    deadline = time.monotonic() + 60
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
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its URL."""
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
            (folder / name).mkdir()
            with (folder / name / "log").open("wb") as log:
                processes.append(
                    subprocess.Popen(
                        begin + command,
                        cwd=folder / name,
                        env=environment,
                        stdout=log,
                        stderr=log,
                    )
                )
            if name == "master":
                until_listening(port)
        yield master
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
def connect(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[str]:
    """The URL of Spark's own Connect server, whose workers have that Python."""
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
        "PYSPARK_PYTHON": str(python),
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


def run(words: list[str], folder: Path, python: Path) -> "subprocess.CompletedProcess[str]":
    environment = dict(os.environ) | {
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TMPDIR": str(folder),
    }
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def test_workers_without_seqaudit_give_the_same_bytes(
    cluster: str, python: Path, fixtures: Path, tmp_path: Path
) -> None:
    captures = [fixtures / "jgroups" / name for name in NAMES]
    names = []
    for capture in captures:  # relative paths: the workers have other working folders
        (tmp_path / capture.name).symlink_to(capture)
        names.append(capture.name)
    done = run(["-c", AUDIT, cluster, *names], tmp_path, python)
    assert done.returncode == 0, done.stderr
    given = [CaptureInput(str(capture)) for capture in captures]
    expected = to_json(audit(given, Options(engine="direct")))
    expected = expected.replace(f"{captures[0].parent}/", "")
    assert done.stdout == f"{expected}\n"
    told = [line.split(" ", 2) for line in done.stderr.splitlines()]
    assert {Path(where).parents[2].name for where, *_ in told} == {"one", "two"}
    assert all(".zip/seqaudit/__init__.py" in archive for _, archive, _ in told)


def test_so_do_those_of_a_connect_server(
    connect: str, python: Path, fixtures: Path, tmp_path: Path
) -> None:
    capture = str(fixtures / "jgroups" / NAMES[1])
    words = ["-m", "seqaudit.cli", "audit", "--format", "json", "--remote", connect, capture]
    done = run(words, tmp_path, python)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{to_json(audit([CaptureInput(capture)], Options(engine='direct')))}\n"


def test_a_package_that_workers_lack_is_named(cluster: str, fixtures: Path, tmp_path: Path) -> None:
    bare = python_with(tmp_path / "python", [])
    capture = str(fixtures / "jgroups" / NAMES[0])
    done = run(["-m", "seqaudit.cli", "audit", "--master", cluster, capture], tmp_path, bare)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the Spark job failed: the workers' Python has no pyarrow; install seqaudit's "
        "packages there, or point PYSPARK_PYTHON at a Python that has them\n"
    )


def test_a_master_that_is_not_there_is_one_line(fixtures: Path, tmp_path: Path) -> None:
    master = f"spark://127.0.0.1:{free_port()}"
    capture = str(fixtures / "jgroups" / NAMES[0])
    done = run(
        ["-m", "seqaudit.cli", "audit", "--master", master, capture], tmp_path, Path("python3")
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {master}: no Spark master answers (127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1
