"""A Hadoop of one name node and one data node: ``python -m tests.cluster.hadoop FOLDER`` gets it.

PySpark's jars hold Hadoop's client alone. Those of PySpark 2.4.8 hold the servers of Hadoop 2.7 as
well, and pydoop brings the source of libhdfs, so that pip and a C compiler are enough.
"""

import contextlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from seqaudit.pipeline.spark import java
from tests.cluster.machines import until_listening

PACKAGES: Final = ("pyspark==2.4.8", "pydoop==2.0.0")
SERVERS: Final = "org.apache.hadoop.hdfs.server"


def gather(folder: Path) -> None:
    """Jars of a Hadoop, and libhdfs, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:  # what these packages were made for
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        pip = [f"{name}/bin/python", "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", "wheel", "setuptools<70"], check=True)
        fetch = [*pip, "download", "--quiet", "--no-deps", "--no-build-isolation"]
        fetch += ["-d", str(folder)]
        subprocess.run([*fetch, "--no-binary", ":all:", *PACKAGES], check=True)
    for source in folder.glob("*.tar.gz"):
        with tarfile.open(source) as archive:
            wanted = [m for m in archive if "/deps/jars/" in m.name or "/src/libhdfs/" in m.name]
            archive.extractall(folder, wanted, filter="data")
        source.unlink()
    (source,) = folder.glob("pydoop-*/src/libhdfs")
    home = java_home()
    includes = [source, *(source / inside for inside in ("include", "common", "os", "os/posix"))]
    includes += [home / "include", home / "include" / "linux"]
    files = [*source.glob("*.c"), *source.glob("common/*.c"), *source.glob("os/posix/*.c")]
    subprocess.run(
        ["cc", "-O1", "-fPIC", "-shared", "-w", *(f"-I{path}" for path in includes), "-o",
         folder / "libhdfs.so", *files, f"-L{home}/lib/server", "-ljvm", "-lpthread"],
        check=True,
    )  # fmt: skip


def java_home() -> Path:
    return java.find_java().program.resolve().parents[1]


def client(folder: Path) -> dict[str, str]:
    """Variables of a process that reads ``hdfs://``: PySpark's own jars will do."""
    jars = sorted(map(str, (java.spark_home() / "jars").glob("*.jar")))
    return {
        "ARROW_LIBHDFS_DIR": str(folder),
        "JAVA_HOME": str(java_home()),
        "CLASSPATH": ":".join(jars),
    }


class Hdfs:
    """A running one."""

    def __init__(self, jars: Path, work: Path, host: str, port: int) -> None:
        self.url = f"hdfs://{host}:{port}"
        self._work = work
        self._path = f"{work}:{jars}/*"
        self._started: list[subprocess.Popen[bytes]] = []
        for inside in ("webapps/hdfs", "webapps/datanode", "name", "data"):
            (work / inside).mkdir(parents=True, exist_ok=True)
        _write(work / "core-site.xml", {"fs.defaultFS": self.url})
        _write(work / "hdfs-site.xml", {
            "dfs.namenode.name.dir": f"file://{work}/name",
            "dfs.datanode.data.dir": f"file://{work}/data",
            "dfs.replication": "1",
            "dfs.webhdfs.enabled": "false",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.http-address": f"{host}:0",
            **{f"dfs.datanode.{kind}": f"{host}:0"
               for kind in ("address", "http.address", "ipc.address")},
        })  # fmt: skip

    def run(self, *words: str) -> None:
        """A program of Hadoop's, to its end."""
        with (self._work / "log").open("ab") as log:
            subprocess.run(self._command(*words), check=True, stdout=log, stderr=log)

    def shell(self, *words: str) -> None:
        """A command of ``hadoop fs``."""
        self.run("org.apache.hadoop.fs.FsShell", *words)

    def start(self, name: str) -> None:
        with (self._work / "log").open("ab") as log:
            self._started.append(subprocess.Popen(self._command(name), stdout=log, stderr=log))

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()

    def _command(self, *words: str) -> list[str]:
        return [str(java.find_java().program), "-Xmx256m", *java.MODULE_OPTIONS, "-cp", self._path,
                *words]  # fmt: skip


@contextlib.contextmanager
def hdfs(folder: Path, work: Path, host: str, port: int) -> Iterator[Hdfs]:
    """A name node and a data node of ``gather``'s folder."""
    (jars,) = folder.glob("pyspark-*/deps/jars")
    made = Hdfs(jars, work, host, port)
    try:
        made.run(f"{SERVERS}.namenode.NameNode", "-format", "-nonInteractive")
        made.start(f"{SERVERS}.namenode.NameNode")
        until_listening(host, port)
        made.start(f"{SERVERS}.datanode.DataNode")
        made.shell("-mkdir", "-p", "/captures/day")
        yield made
    finally:
        made.end()


def _write(path: Path, settings: Mapping[str, str]) -> None:
    lines = [f"<property><name>{key}</name><value>{value}</value></property>"
             for key, value in settings.items()]  # fmt: skip
    path.write_text(f"<configuration>{''.join(lines)}</configuration>\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    gather(Path(sys.argv[1]).resolve())
