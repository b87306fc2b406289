"""Sessions of a process: other places, threads, and a Spark that was there before (design 3.5)."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.pipeline.report.build import to_json
from seqaudit.pipeline.spark import session
from seqaudit.pipeline.spark.session import Place, SessionError, Starting

#: In a process of its own: the one Spark of this process is that of all tests.
PROGRAM = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from seqaudit.pipeline import session
from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.spark.proc import runs
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.pipeline.report.build import to_json
from seqaudit.pipeline.spark.session import Place, SessionError, shared

def report(place):
    return to_json(audit([CaptureInput(sys.argv[1])], Options(place=place)))

def master():
    from pyspark import SparkContext
    return SparkContext._active_spark_context.master

expected = Path(sys.argv[2]).read_text()
one, two = Place(master="local[1]"), Place(master="local[2]")

with ThreadPoolExecutor(3) as threads:  # the session of a place is started once
    assert list(threads.map(report, [one] * 3)) == [expected] * 3
assert master() == "local[1]"
first = shared(one).jvm.process.pid

with shared(one).in_use():  # a job, so the other place has to wait
    try:
        report(two)
    except SessionError as problem:
        print(problem)
assert report(one) == expected

assert report(two) == expected  # another place ends it
assert master() == "local[2]"
assert not runs(first)

theirs = shared(two)  # from here on it is somebody else's
session._SHARED.clear()
session._CLASSIC.clear()
assert report(Place()) == expected
assert shared(Place()).jvm is None and not shared(Place()).owned
try:
    report(one)
except SessionError as problem:
    print(problem)
assert report(two) == expected
session.discard(two)
session.discard(Place())
assert theirs.session().range(3).count() == 3
"""


def test_a_process_has_one_spark_and_it_is_the_one_that_was_asked_for(
    fixtures: Path, tmp_path: Path
) -> None:
    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    expected = tmp_path / "expected"
    expected.write_text(to_json(audit([CaptureInput(capture)], Options(engine="direct"))))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, capture, str(expected)],
        env=environment | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "this process runs a job on another Spark, and can have one; local[2] after it",
        "this process has a Spark on local[2] already, and can have one; stop it for local[1]",
    ]
    assert list(tmp_path.iterdir()) == [expected]


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Starting]]:
    """Nothing is started; what was ended is told."""
    ended: list[Starting] = []
    monkeypatch.setattr(session, "_SHARED", {})
    monkeypatch.setattr(session, "_CLASSIC", [])
    monkeypatch.setattr(session, "_spark_context", lambda: None)
    monkeypatch.setattr(Starting, "_launch", lambda *_, **__: None)
    monkeypatch.setattr(Starting, "close", lambda self: ended.append(self))
    yield ended


def test_a_session_that_failed_ends_with_the_last_job_that_uses_it(
    no_spark: list[Starting],
) -> None:
    place = Place(master="local[3]")
    starting = session.shared(place)
    with starting.in_use():
        with starting.in_use():
            session.discard(place)
        assert no_spark == []
        assert session.shared(place) is not starting
    assert no_spark == [starting]


def test_one_that_is_not_used_ends_at_once(no_spark: list[Starting]) -> None:
    place = Place(master="local[3]")
    starting = session.shared(place)
    session.discard(place)
    session.discard(place)
    assert no_spark == [starting]


def test_threads_get_the_same_session(
    no_spark: list[Starting], monkeypatch: pytest.MonkeyPatch
) -> None:
    met = threading.Barrier(3)
    made: list[Any] = []

    def attach(self: Starting, compiled: bool) -> object:
        made.append(self)
        return SimpleNamespace()

    monkeypatch.setattr(Starting, "_attach", attach)
    found: list[Any] = []

    def ask() -> None:
        met.wait(30)
        starting = session.shared(Place(master="local[3]"))
        starting.jvm = SimpleNamespace()  # type: ignore[assignment]
        found.append(starting.session())

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(made) == 1
    assert len({id(one) for one in found}) == 1


def test_who_waited_for_a_session_that_was_ended_is_told(no_spark: list[Starting]) -> None:
    with pytest.raises(SessionError, match="was ended for another session"):
        session.shared(Place(master="local[3]")).session()


def test_a_java_that_is_ending_is_waited_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Starting, "_launch", lambda *_, **__: None)
    starting = Starting(Place())
    assert starting.ended is None
    with subprocess.Popen(["sh", "-c", "sleep 0.2; exit 3"]) as process:
        log = Path("nothing")
        starting.jvm = SimpleNamespace(process=process, log=log)  # type: ignore[assignment]
        assert starting.ended is None
        starting._port = 1  # where nobody listens
        assert starting.ended == "Spark's Java ended while the job ran (status 3)"
    starting.jvm = None


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
