"""The failure of a job is told in a line, and one that does not begin is not waited for."""

import threading
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seqaudit.pipeline.shared.progress import Silent
from seqaudit.pipeline.spark import progress
from seqaudit.pipeline.spark.progress import JobError, JobStage, run_watched
from seqaudit.pipeline.spark.session import Session


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(progress, "FIRST_TASK_SECONDS", 0.2)


def without_tasks(ended: str | None = None) -> Any:
    """A classic session that runs no task."""
    released = threading.Event()
    tracker = SimpleNamespace(getActiveJobsIds=list)
    spark = SimpleNamespace(
        sparkContext=SimpleNamespace(
            statusTracker=lambda: tracker, setJobDescription=lambda text: None
        ),
        addTag=lambda tag: None,
    )
    return SimpleNamespace(
        spark=spark, name="seqaudit", kill=released.set, ended=ended, released=released
    )


def run(fake: Any, seconds: float = 60.0) -> str:
    """What a job tells of its end that waits for so long, or until its Spark is killed."""

    def act() -> None:
        fake.released.wait(seconds)
        raise ValueError("the gateway has gone")

    with pytest.raises(JobError) as raised:
        run_watched(cast(Session, fake), act, [JobStage("decoding")], Silent())
    return str(raised.value)


def test_a_job_of_which_no_task_begins_is_given_up() -> None:
    fake = without_tasks()
    assert run(fake) == "Spark began no task in 0 s"
    assert fake.released.is_set()


def test_a_job_that_fails_is_told() -> None:
    assert run(without_tasks(), 0.0) == "the Spark job failed: the gateway has gone"


def test_a_java_that_ended_is_told() -> None:
    assert run(without_tasks(ended="Spark's Java ended"), 0.0) == "Spark's Java ended"


def test_a_worker_that_ended_is_told() -> None:
    text = """An error occurred while calling o159.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)
"""
    assert progress._cause(ValueError(text)) == (
        "a Python worker ended unexpectedly: killed, or out of memory; on a cluster give it more "
        "(--spark-conf spark.executor.memory=4g), or take --engine direct, which needs less"
    )


def with_executors(there: Callable[[], int], ended: Callable[[], int]) -> Any:
    """A context whose status store has the driver and so many executors."""

    def executors(active: bool) -> Any:
        return SimpleNamespace(size=lambda: 1 + there() + (0 if active else ended()))

    store = SimpleNamespace(executorList=executors)
    scala = SimpleNamespace(statusStore=lambda: store)
    return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: scala))


def test_executors_that_end_and_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(progress, "FIRST_TASK_SECONDS", 60.0)
    looks = count()
    context = with_executors(lambda: 2, lambda: next(looks))  # one more ends before each look
    ends = progress._EndedExecutors(context)
    told = [ends.in_vain(done) for done in (0, 0, 0, *[1] * 11)]
    assert told[:13] == [None] * 13  # a task that was done begins anew
    assert str(told[13]).startswith("10 executors ended one after the other, and no task was done")
    fake = without_tasks()
    fake.spark.sparkContext._jsc = context._jsc
    assert "executors ended one after the other" in run(fake)
    assert fake.released.is_set()


def test_executors_that_end_as_they_start_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(progress, "FIRST_TASK_SECONDS", 0.0)
    local = progress._EndedExecutors(with_executors(lambda: 0, lambda: 0))
    assert [local.in_vain(0) for _ in range(3)] == [None] * 3  # it has none, and needs none
    there = [1]
    ends = progress._EndedExecutors(with_executors(lambda: there[0], lambda: 1))
    assert ends.in_vain(0) is None
    there[0] = 0
    told = ends.in_vain(0)
    assert told is not None and told.startswith("all executors ended, and none came for 0 s")


class Heard:
    """A progress that keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def begin(self, what: str, total: int, *, bytes_read: bool = False) -> None:
        self.told.append(f"{what}: {total}{' bytes' if bytes_read else ''}")

    def done(self, steps: int, also: str = "") -> None:
        self.told.append(f"{steps} {also}".strip())

    def note(self, text: str) -> None:
        raise AssertionError(text)


def test_a_job_is_told_by_bytes_and_tasks_where_it_reads_and_by_tasks_elsewhere() -> None:
    heard = Heard()
    told = progress._ProgressSoFar(
        [JobStage("decoding", (5, 20, 300)), JobStage("replaying")], heard
    )
    for counts in (
        [], [(0, 3)], [(2, 3), (0, 4)], [(2, 3), (0, 4)], [(3, 3), (0, 4)], [(3, 3), (1, 4)],
        [(2, 3), (1, 4)], [(3, 3), (4, 4)],
    ):  # fmt: skip
        told.tell(counts)
    assert heard.told == [
        "decoding: 325 bytes", "25 2/3 tasks", "replaying: 4", "1", "4",
    ]  # fmt: skip
    assert told.decoded == 3


def test_a_short_job_that_nobody_saw_is_told_as_done() -> None:
    heard = Heard()
    run_watched(cast(Session, without_tasks()), lambda: 1, [JobStage("decoding", (5, 20))], heard)
    assert heard.told == ["decoding: 25 bytes", "25 2/2 tasks"]
