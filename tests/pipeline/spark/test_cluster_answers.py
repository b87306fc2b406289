"""What executors answer becomes one line, or none."""

import importlib
import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy
import pytest

from seqaudit.pipeline import audit as run
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.progress import Silent
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.pipeline.spark import cluster, progress, worker_look
from seqaudit.pipeline.spark.cluster import Executors, Reply, one_of_each_folder, problem_of
from seqaudit.pipeline.spark.progress import JobError
from seqaudit.pipeline.spark.session import about
from seqaudit.pipeline.spark.worker_look import Asked, Question, WorkerAnswer, answered_once, look

HERE: Final = {"numpy": "2.4.6", "pyarrow": "26.0.1", "python": "3.11.7"}
LEAST: Final = {"numpy": "1.26", "pyarrow": "17"}


def answer(host: str, **more: Any) -> Reply:
    return Reply(host, 7, WorkerAnswer("3.11.2", {}, HERE, {})._replace(**more))


def problem(*answers: Reply) -> str:
    return problem_of(answers, HERE, LEAST) or ""


def test_executors_that_have_all_and_see_all_are_no_problem() -> None:
    assert problem(answer("a"), answer("b"), answer("a")) == ""


def test_who_lacks_a_package_is_named_once_however_many_workers_say_so() -> None:
    lacking = {"numpy": "is not there", "pyarrow": "no room"}
    told = problem(answer("a"), answer("b", lacking=lacking), answer("b", lacking=lacking))
    assert told.startswith("1 of 2 executors (on b): Python has no numpy, pyarrow (no room); pip ")


def test_what_cannot_be_loaded_for_want_of_memory_is_not_lacking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_room(name: str) -> None:
        raise ImportError(f"{name}.so: failed to map segment from shared object")

    monkeypatch.setattr(importlib, "import_module", no_room)
    told = look(Question(()))
    assert told.lacking == {"numpy": "out of memory", "pyarrow": "out of memory"}
    small = answer("b", lacking=told.lacking)
    assert problem(answer("a", lacking={"dpkt": "is not there"}), small).startswith(
        "1 of 2 executors (on b): Python runs out of memory as it starts; give it more "
    )


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ({"numpy": "2.0.0"}, ""),
        ({"numpy": "1.26.4"}, "1 executor: numpy is 1.26.4, and 2.4.6 here; "),
        ({"pyarrow": "18.1.0"}, ""),
        ({"pyarrow": "9.0.0"}, "1 executor: pyarrow is 9.0.0, and 26.0.1 here; "),
        ({"numba": "0.1"}, ""),  # neither known here nor wanted
        ({"numpy": ""}, ""),  # nobody knows
    ],
)
def test_a_version_that_will_not_do_is_named(versions: dict[str, str], text: str) -> None:
    told = problem(answer("a", versions=versions))
    assert told.startswith(text)
    assert bool(told) == bool(text)


def test_a_version_that_keeps_another_package_from_loading_is_the_cause() -> None:
    lacking = {"pyarrow": "pyarrow requires NumPy 2.0 or newer, found 1.26.4"}
    told = problem(answer("a"), answer("b", versions={"numpy": "1.26.4"}, lacking=lacking))
    assert told.startswith("1 of 2 executors (on b): numpy is 1.26.4, and 2.4.6 here; ")


def test_of_many_hosts_three_are_named() -> None:
    blind = [answer(host, unseen={"/c.pcap": "does not exist"}) for host in "abcde"]
    told = problem(*blind, answer("f"))
    assert told.startswith(
        "/c.pcap: does not exist, say 5 of 6 executors (on a, b, c and 2 more); every worker has "
    )
    assert told.endswith("--engine direct reads it here")


def test_a_worker_says_what_it_sees(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.write_bytes(b"12345")
    told = look(Question((Asked(str(seen), 5), Asked(str(seen)), Asked(f"{seen}2", 5))))
    assert told.lacking == {}
    assert told.versions["numpy"] == numpy.__version__
    assert told.unseen == {f"{seen}2": "does not exist"}
    told = look(Question((Asked(str(seen), 4),)))
    assert told.unseen == {str(seen): "has 5 bytes there, and 4 here"}
    written = seen.stat().st_mtime_ns
    assert look(Question((Asked(str(seen), 5, written),))).unseen == {}
    told = look(Question((Asked(str(seen), 5, written + 1),)))
    assert told.unseen[str(seen)].startswith("was written at another time there than here")


def test_a_worker_of_a_connect_server_answers_a_question_once() -> None:
    asked = json.dumps(Question((Asked("/nowhere"),)))
    host, executor, told = json.loads(answered_once("first", asked, 0) or "")
    assert (host, executor) == (socket.gethostname(), os.getppid())
    assert WorkerAnswer(*told).unseen == {"/nowhere": "does not exist"}
    assert answered_once("first", asked, 1) is None
    assert answered_once("second", asked, 1)


def asked_by_a_shell(python: str, question: Question) -> Reply:
    """As executors ask; on a machine with nothing of ours but the text."""
    done = subprocess.run(
        ["sh", "-c", cluster._ASKS, python, Path(worker_look.__file__).read_text()],
        input=json.dumps(question) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    (told,) = cluster.answers_in(done.stdout.splitlines())
    return told


def test_a_shell_asks_the_python_of_the_workers(tmp_path: Path) -> None:
    stores = (("endpoint", "http://nobody"),)
    told = asked_by_a_shell(sys.executable, Question((Asked("/nowhere"),), stores))
    assert told.answer.python == platform.python_version()
    assert told.answer.unseen == {"/nowhere": "does not exist"}
    assert problem(answer("a"), told).startswith("/nowhere: does not exist, says 1 of 2 executors")


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("", "1 executor: the workers have no such program ("),
        ("echo Fatal Python error >&2; exit 1", "1 executor: the workers' Python ends as it starts "
         "(Fatal Python error); point PYSPARK_PYTHON at a Python 3.11 of theirs"),
        ("exit 3", "1 executor: the workers' Python ends as it starts (status 3); "),
        ("echo 'OpenBLAS error: Memory allocation still failed after 10 retries'; exit 1",
         "1 executor: Python runs out of memory as it starts; "),
        ("echo MemoryError; exit 1", "1 executor: Python runs out of memory as it starts; "),
        ("echo a warning; echo", "1 executor: the workers' Python ends as it starts (a warning); "),
    ],
)  # fmt: skip
def test_a_python_that_gives_no_answer_is_told_of(program: str, line: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    if program:
        python.write_text(f"#!/bin/sh\n{program}\n")
        python.chmod(0o755)
    assert problem(asked_by_a_shell(str(python), Question(()))).startswith(line)


def test_what_python_says_before_its_answer_is_no_matter(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "a note: [1]" >&2\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    assert asked_by_a_shell(str(python), Question(())).answer.versions["numpy"]


class Found:
    """An executor as Spark's status store has it."""

    def __init__(self, number: str) -> None:
        self.id, self.totalCores = (lambda: number), (lambda: 2)
        self.hostPort = lambda: f"host-{number}:7"


class Store:
    """A session whose status store gives these executors, one list at each look."""

    def __init__(self, *looks: str) -> None:
        self.looks = list(looks)
        self.shipped = "code.zip"
        self.sparkContext = self._jsc = self.spark = self
        self.sc = self.statusStore = lambda: self

    def executorList(self, active: bool) -> "Store":  # noqa: N802
        there = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        found = [Found("driver"), *map(Found, there)]
        self.hasNext, self.next = (lambda: bool(found)), (lambda: found.pop(0))
        return self

    def iterator(self) -> "Store":
        return self


def questioned(monkeypatch: pytest.MonkeyPatch, *looks: str) -> cluster._Questioned:
    """Of these executors those called x have no Python."""

    def lines(self: object, scala: object, some: dict[str, tuple[str, int]]) -> list[str]:
        good = json.dumps(answer("").answer)
        said = ((f"ANSWER {int(n == 'x')} 7 {host}", "" if n == "x" else good)
                for n, (host, _) in some.items())  # fmt: skip
        return [line for both in said for line in both]

    monkeypatch.setattr(cluster._Questioned, "_lines", lines)
    session: Any = Store(*looks)
    return cluster._Questioned(session, Question(()))


def test_executors_that_come_during_the_question_are_asked_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there, told = questioned(monkeypatch, "a", "ab", "abx").ask()
    assert there == Executors(3, 6)
    assert problem(*told).startswith("1 of 3 executors (on host-x): the workers' Python ends as ")


def test_why_a_job_fails_is_asked_of_executors_that_came_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = questioned(monkeypatch, "ab", "ab", "ab", "abx")
    asked.ask()
    assert asked.problem() is None
    assert (asked.problem() or "").startswith("1 of 3 executors (on host-x): the workers' Python")


def test_another_python_is_named() -> None:
    assert problem(answer("a"), answer("b", python="3.10.1")).startswith(
        "1 of 2 executors (on b): the workers' Python is 3.10 and this one 3.11; both have to be "
    )


def test_of_each_folder_one_capture_is_looked_at() -> None:
    files = [Asked("/a/1", 5), Asked("/a/2", 6), Asked("s3://b/c/1")]
    assert one_of_each_folder(files) == [Asked("/a/1", 5), Asked("s3://b/c/1")]
    assert len(one_of_each_folder(Asked(f"/{n}/1", 1) for n in range(100))) == cluster.MOST_FILES


def test_numbers_are_words_of_a_sentence() -> None:
    assert Executors(1, 1).line == "1 executor with 1 core"
    assert Executors(2, 1024).line == "2 executors with 1,024 cores"


def test_a_job_is_called_by_its_captures() -> None:
    assert about([]) == "seqaudit"
    assert about(["/x/a.pcap"]) == "seqaudit: a.pcap"
    assert about(["/x/a.pcap", "b", "c"]) == "seqaudit: a.pcap and 2 more"


class Context:
    """A Spark context of a cluster that gives executors at some looks."""

    def __init__(self, numbers: list[int], *, stopped: bool = False) -> None:
        self.numbers = numbers
        self.isStopped = lambda: stopped
        self.sparkContext = self._jsc = self.spark = self

    def sc(self) -> "Context":
        return self

    def getExecutorMemoryStatus(self) -> "Context":  # noqa: N802
        return self

    def size(self) -> int:
        return 1 + (self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0])


def waited(context: Context) -> tuple[float, list[str]]:
    """Seconds until executors are there, and what is said meanwhile."""
    clock = [0.0]
    said: list[str] = []

    class Watch(Silent):
        def note(self, text: str) -> None:
            said.append(text)

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    session: Any = context
    cluster._await_executors(session, Watch(), lambda: clock[0], sleep)
    return round(clock[0], 1), said


def test_executors_that_come_together_are_waited_for() -> None:
    assert waited(Context([0, 0, 1, 1, 1, 2])) == (1.5, [])


def test_what_is_waited_for_is_said_once() -> None:
    _, said = waited(Context([0] * 300 + [1]))
    assert said == ["the cluster has no executor for this yet; waiting"]


def test_a_cluster_that_gives_no_executor_is_given_up() -> None:
    with pytest.raises(JobError, match="no worker has a free core and enough memory"):
        waited(Context([0]))
    with pytest.raises(JobError, match="ended the session"):
        waited(Context([0], stopped=True))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Caused by: java.lang.OutOfMemoryError: Java heap space", "an executor ran out of memory"),
        ("pyarrow.lib.ArrowMemoryError: malloc of size 64 failed", "a worker ran out of memory"),
        (
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: "
            "Command exited with code 137",
            "an executor was lost: killed, or out of memory",
        ),
        (
            "java.io.InvalidClassException: org.apache.spark.rdd.RDD; local class incompatible",
            "the cluster runs another version of Spark",
        ),
        (
            "Caused by: org.apache.spark.SparkException: EOFException occurred while reading the "
            "port number from pyspark.daemon's stdout.",
            "the workers' Python ends as it starts; the logs of their executors tell why",
        ),
    ],
)
def test_what_spark_says_of_its_end_is_put_in_words(text: str, start: str) -> None:
    told = progress._cause(ValueError(f"Job aborted due to stage failure\n{text}\n\tat a.B.c"))
    assert told.startswith(start)
    assert len(told.splitlines()) == 1
    if "memory" in start:
        assert told.endswith("or take --engine direct, which needs less")


def test_the_plan_follows_the_executors_and_grows_with_them_and_says_so(
    fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a Spark of which every job sees more."""
    notes: list[str] = []
    watch = Silent()
    monkeypatch.setattr(watch, "note", notes.append, raising=False)
    capture = CaptureInput(str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap"))
    options = Options(engine="spark", place=SparkAddress(master="spark://h:1"))
    session: Any = None
    seen = iter([Executors(1, 2), Executors(1, 1), Executors(3, 6), None])
    monkeypatch.setattr(cluster, "await_executors", lambda *_: Executors(1, 2))
    monkeypatch.setattr(cluster, "there", lambda _: next(seen))
    work = run._Job([capture], options, watch)
    guess = work._as_executors_are(session, run._Guess(work._planning.plan()))
    assert guess.planned.shares.cores == 2
    lanes = []
    for _ in range(4):
        work._grow(session)
        lanes.append(work._lanes(1 << 40))
    assert lanes == [4, 4, 12, 12]
    assert notes == ["3 executors with 6 cores by now; what follows is planned for them"]
    assert (work._run.executors, work._where) == (3, " on 3 executors with 6 cores")
