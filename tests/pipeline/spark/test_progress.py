"""A job that does nothing is not waited for for ever, and its failure is told in a line."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seqaudit.pipeline.spark import progress
from seqaudit.pipeline.spark.progress import JobError, Silent, run_watched
from seqaudit.pipeline.spark.session import Starting

ASLEEP = "import time; time.sleep(60)"
COMPUTES = "while True: pass"
READS = """
import time
while True:
    open("/proc/uptime").read()
    time.sleep(0.01)
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(progress, "STUCK_SECONDS", 1.0)


@pytest.fixture
def started() -> Iterator[Callable[[str], int]]:
    processes: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> int:
        processes.append(subprocess.Popen([sys.executable, "-S", "-c", code]))
        return processes[-1].pid

    yield start
    for process in processes:
        process.kill()
        process.wait()


class Spark:
    """As much of a classic session as is asked of one that runs no task."""

    def __init__(self) -> None:
        tracker = SimpleNamespace(getActiveJobsIds=list)
        self.sparkContext = SimpleNamespace(
            statusTracker=lambda: tracker, cancelAllJobs=lambda: None
        )


def starting(*pids: int, ended: str | None = None) -> Any:
    """A session whose processes are these."""
    released = threading.Event()
    return SimpleNamespace(
        session=Spark,
        processes=lambda: list(pids),
        kill=released.set,
        owned=True,
        ended=ended,
        lost=False,
        released=released,
    )


def run(fake: Any, seconds: float = 60.0) -> str:
    """What a job tells of its end that waits for so long, or until its Spark is killed."""

    def act() -> None:
        fake.released.wait(seconds)
        raise ValueError("the gateway has gone")

    with pytest.raises(JobError) as raised:
        run_watched(cast(Starting, fake), act, 1, Silent())
    return str(raised.value)


def test_a_job_of_which_nothing_reads_or_computes_is_given_up(
    started: Callable[[str], int],
) -> None:
    fake = starting(started(ASLEEP), started(ASLEEP))
    begun = time.monotonic()
    assert run(fake).startswith("Spark has done nothing for 1 s")
    assert fake.released.is_set()
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(("jvm", "worker"), [(ASLEEP, READS), (ASLEEP, COMPUTES), (COMPUTES, "")])
def test_a_job_that_reads_or_computes_may_take_long(
    jvm: str, worker: str, started: Callable[[str], int]
) -> None:
    fake = starting(started(jvm), started(worker or ASLEEP))
    assert run(fake, 3.0) == "the Spark job failed: the gateway has gone"
    assert not fake.released.is_set()


def test_where_nobody_can_tell_a_job_may_take_long() -> None:
    assert run(starting(), 2.0) == "the Spark job failed: the gateway has gone"


def test_a_java_that_ended_is_told() -> None:
    assert run(starting(ended="Spark's Java ended"), 0.0) == "Spark's Java ended"


def test_a_worker_that_ended_is_told() -> None:
    text = """An error occurred while calling o159.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)
"""
    assert progress._cause(ValueError(text)) == (
        "a Python worker ended unexpectedly: killed, or out of memory"
    )
