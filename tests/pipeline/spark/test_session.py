"""Sessions of a process: other places, threads, and a Spark that was there before
(pipeline/README.md 3)."""

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.pipeline.spark import java, session
from seqaudit.pipeline.spark.knock import SessionError
from seqaudit.pipeline.spark.session import Session, in_the_clear, shared

#: In a process of its own: the one Spark of this process is that of all tests.
PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.processes import runs
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.spark import java, session
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.pipeline.spark.session import SessionError, shared

def report(place):
    return to_json(audit([CaptureInput(sys.argv[1])], Options(engine="spark", place=place)))

def master():
    from pyspark import SparkContext
    return SparkContext._active_spark_context.master

expected = Path(sys.argv[2]).read_text()
one, two = SparkAddress(master="local[1]"), SparkAddress(master="local[2]")

with ThreadPoolExecutor(3) as threads:  # the session of a place is started once
    assert len(set(threads.map(shared, [one] * 3))) == 1
assert report(one) == expected
assert master() == "local[1]"
first = shared(one).jvm.process.pid

assert report(two) == expected  # another place ends it
assert master() == "local[2]"
assert not runs(first)

theirs = shared(two)  # from here on it is somebody else's
session._SHARED.clear()
assert report(SparkAddress()) == expected
assert shared(SparkAddress()).jvm is None
try:
    report(one)
except SessionError as problem:
    print(problem)
session.discard(two)
session.discard(SparkAddress())
assert theirs.spark.range(3).count() == 3
"""


@pytest.fixture
def misleading(tmp_path: Path) -> Path:
    """A folder as the one above a clone of another version, with somebody's own select.py."""
    folder = tmp_path / "misleading"
    other = folder / "seqaudit" / "pipeline" / "spark"
    other.mkdir(parents=True)
    for package in (other.parent, other):
        (package / "__init__.py").touch()
    (other / "daemon.py").write_text("raise SystemExit('the wrong daemon')")
    (folder / "select.py").write_text("raise SystemExit('the wrong select')")
    return folder


def test_a_process_has_one_spark_that_was_asked_for_and_its_workers_look_where_it_looks(
    fixtures: Path, tmp_path: Path, misleading: Path
) -> None:
    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    expected = tmp_path / "expected"
    expected.write_text(to_json(audit([CaptureInput(capture)], Options(engine="direct"))))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, capture, str(expected)],
        cwd=misleading,
        env=environment | {"TMPDIR": str(temporary), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "this process has a Spark on local[2] already, and can have one; stop it for local[1]",
    ]
    assert list(temporary.iterdir()) == []


def test_a_java_that_is_ending_is_waited_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "_spark", lambda self: None)
    ending = Session(SparkAddress())
    assert ending.ended is None
    with subprocess.Popen(["sh", "-c", "sleep 0.2; exit 3"]) as process:
        log = Path("nothing")
        ending.jvm = SimpleNamespace(process=process, log=log)  # type: ignore[assignment]
        assert ending.ended is None
        ending._port = 1  # where nobody listens
        assert ending.ended == "Spark's Java ended while the job ran (status 3)"
    ending.jvm = None


def answer(port: int) -> bytes:
    """What a port of Spark's answers to a call of somebody who shows no secret."""
    call = struct.pack(">BqI", 3, 1, 4) + b"none"  # RpcRequest: kind, id, size of what follows
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.settimeout(30)
        connection.sendall(struct.pack(">q", 8 + len(call)) + call)
        (size,) = struct.unpack(">q", connection.recv(8, socket.MSG_WAITALL))
        return connection.recv(size - 8, socket.MSG_WAITALL)


def test_who_does_not_know_the_secret_of_a_local_session_is_not_listened_to(
    spark_place: SparkAddress,
) -> None:
    context: Any = shared(spark_place).spark.sparkContext
    (blocks,) = context._jsc.sc().getExecutorMemoryStatus().keys().mkString(" ").split()
    for port in (context.getConf().get("spark.driver.port"), blocks.rpartition(":")[2]):
        told = answer(int(port))
        assert told[0] == 5  # RpcFailure
        assert b"SaslMessage" in told


@pytest.mark.parametrize(
    ("url", "clear"),
    [
        ("sc://spark.example:15002", True),
        ("sc://10.0.0.7/;user_id=me", True),
        ("sc://spark.example/;use_ssl=true", False),
        ("sc://spark.example/;user_id=me;token=abc", False),
        ("sc://localhost:15002", False),
        ("sc://127.0.0.1", False),
        ("sc://[::1]:15002", False),
    ],
)
def test_a_connect_server_of_another_host_without_tls_is_in_the_clear(
    url: str, *, clear: bool
) -> None:
    assert in_the_clear(url) == clear


def test_without_its_client_a_remote_spark_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    for name in [name for name in sys.modules if name.startswith("pyspark.sql.connect")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SessionError) as raised:
        shared(SparkAddress(remote="sc://localhost:1"))
    text = str(raised.value)
    assert text.startswith("--remote needs Spark Connect's client (")
    assert text.endswith("pip install 'seqaudit[connect]'")
    assert "grpc" in text  # PySpark's own words, or Python's
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "ValueError"),
        ("no room\nat all", "no room"),
        (
            "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
            ": java.lang.OutOfMemoryError: unable to create native thread\n"
            "\tat java.base/java.lang.Thread.start0(Native Method)",
            "java.lang.OutOfMemoryError: unable to create native thread",
        ),
        (
            "An error occurred while calling o55.range.\n"
            ": org.apache.spark.SparkException: it failed\n\tat a.B.c(B.java:1)\n"
            "Caused by: java.io.IOException: No space left on device\n\tat a.B.d(B.java:2)\n"
            "Caused by: java.io.EOFException\n\t... 3 more",
            "java.io.IOException: No space left on device",
        ),
        (
            "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
            ": org.apache.hadoop.security.KerberosAuthException: failure to login\n"
            "Caused by: javax.security.auth.login.LoginException: "
            "java.lang.NullPointerException: invalid null input: name\n",
            "this system has no name for this user, and Spark wants one",
        ),
    ],
)
def test_of_an_exception_the_line_is_told_that_says_something(text: str, line: str) -> None:
    assert session.first_line(ValueError(text)) == line


def test_results_have_no_limit_but_that_of_an_operator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = object.__new__(Session)
    made.place, made.name = SparkAddress(master="spark://h:1"), "seqaudit"
    jvm: Any = SimpleNamespace(folder=tmp_path)
    limit = "spark.driver.maxResultSize"
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert made._settings(jvm)[limit] == "0"
    (tmp_path / "spark-defaults.conf").write_text(f"{limit} 2g\n")
    assert limit not in made._settings(jvm)
    made.place = SparkAddress(master="spark://h:1", settings=((limit, "3g"),))
    assert made._settings(jvm)[limit] == "3g"


@pytest.mark.parametrize(
    ("master", "told"), [("yarn", "yarn"), ("k8s://http://h:1", "k8s://http://h:1"), (None, None)]
)
def test_spark_submit_knows_the_master_for_what_it_adds(
    master: str | None, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YARN gets PySpark itself along only so."""
    given: dict[str, str] = {}

    class StartedError(Exception):
        pass

    def launch(_: object, settings: dict[str, str]) -> None:
        given.update(settings)
        raise StartedError

    monkeypatch.setattr(session, "_theirs", lambda _: None)
    monkeypatch.setattr(session, "knock_at_master", lambda _: None)
    monkeypatch.setattr(java, "find_java", lambda: None)
    monkeypatch.setattr(java, "launch", launch)
    with pytest.raises(StartedError):
        Session(SparkAddress(master=master, settings=(("spark.kerberos.keytab", "/k"),)))
    assert given.pop("spark.master", None) == told
    assert given == {"spark.kerberos.keytab": "/k"}
