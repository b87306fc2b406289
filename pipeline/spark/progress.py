"""How far a run is, told to whoever asked: counts of decode tasks, never more than ten a second.

The engines call ``Progress``; the command line draws it. Classic Spark is polled through its status
tracker while the action runs in a thread of its own, Spark Connect calls a handler (PIPELINE 3);
both are brought to the same figure here: tasks of the first stage done, of those planned.
"""

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.spark.proc import status_of
from seqaudit.pipeline.spark.session import Starting, first_line, within

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

#: What Spark says of a worker that is gone.
_CRASHED: Final = "Python worker exited unexpectedly"

#: Seconds in which the first task of a job must have begun; a cold worker needs two.
FIRST_TASK_SECONDS: Final = 120.0

POLL_SECONDS: Final = 0.1

#: How long Spark may take to cancel a job.
CANCEL_SECONDS: Final = 10.0

#: Where nothing of a job on this machine reads or computes for so long, it waits for what does not
#: come.
STUCK_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 10.0

#: Share of a processor that a JVM uses which only answers how far it is: a hundredth; five, then.
IDLE_SHARE: Final = 0.05

#: What ``begin`` is told while Spark of this machine comes up, which a warm server would save.
STARTING: Final = "starting Spark"


class Progress(Protocol):
    """Where a run tells how far it is."""

    def begin(self, what: str, total: int) -> None:
        """A new piece of work of ``total`` steps; 0: nobody knows how many."""

    def done(self, steps: int) -> None:
        """So many steps of it are done."""

    def note(self, text: str) -> None:
        """One line for the reader, such as a second run because a border did not meet."""


class Silent:
    """A progress that nobody watches."""

    def begin(self, what: str, total: int) -> None:
        """Nothing."""

    def done(self, steps: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class JobError(SeqauditError):
    """A Spark job failed."""


class CancelledError(SeqauditError):
    """The user interrupted a Spark job; ``done`` of ``total`` decode tasks were through."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"interrupted: {done} of {total} decode tasks were done")
        self.done = done
        self.total = total


def run_watched(starting: Starting, action: Callable[[], T], tasks: int, progress: Progress) -> T:
    """Run a Spark action in a thread and tell its progress meanwhile.

    Raises:
        CancelledError: Ctrl-C; the job is cancelled first.
        JobError: the job failed, or no task began in two minutes.
    """
    spark = starting.session()
    counter = _counter(spark)
    # other commands may use the same Connect session, and other code one that is not ours
    others = not starting.owned or _context(spark) is None
    tag = f"seqaudit-{uuid.uuid4().hex}"
    outcome: list[T] = []
    failure: list[BaseException] = []

    def act() -> None:
        try:
            if others:
                spark.addTag(tag)  # of this thread
            outcome.append(action())
        except BaseException as problem:
            failure.append(problem)

    thread = threading.Thread(target=act, name="seqaudit-job", daemon=True)
    begun = time.monotonic()
    idle = _Idle(starting.processes)
    thread.start()
    done = 0
    alive = False
    try:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            running, now_done = counter()
            alive = alive or running or now_done > 0
            if now_done > done:
                done = now_done
                progress.done(min(done, tasks))
            if not alive and time.monotonic() - begun > FIRST_TASK_SECONDS:
                starting.kill()
                raise JobError(f"Spark began no task in {FIRST_TASK_SECONDS:.0f} s")
            if idle.seconds(done) > STUCK_SECONDS:
                starting.kill()
                if others:
                    with contextlib.suppress(TimeoutError):
                        within(CANCEL_SECONDS, partial(_cancel, spark, tag))
                raise JobError(
                    f"Spark has done nothing for {STUCK_SECONDS:.0f} s, and is not waited for any "
                    "longer; run the command again, or use --engine direct"
                )
    except KeyboardInterrupt:
        try:
            within(CANCEL_SECONDS, partial(_cancel, spark, tag if others else None))
        except TimeoutError:  # it is stopped, or stuck
            starting.kill()
        raise CancelledError(min(done, tasks), tasks) from None
    if failure:
        if isinstance(failure[0], KeyboardInterrupt):
            raise CancelledError(min(done, tasks), tasks)
        if ended := starting.ended:
            raise JobError(ended) from failure[0]
        if starting.lost:
            raise JobError("the warm Spark server ended while the job ran; run the command again")
        raise JobError(f"the Spark job failed: {_cause(failure[0])}") from failure[0]
    try:  # a short job ends between two looks at it, and Ctrl-C may come just then
        progress.done(tasks)
    except KeyboardInterrupt:
        raise CancelledError(tasks, tasks) from None
    return outcome[0]


class _Idle:
    """How long a job has done nothing: no task ended, no Python process read, none computed."""

    def __init__(self, processes: Callable[[], list[int]]) -> None:
        self._processes = processes
        self._since = self._looked = time.monotonic()
        self._used = 0.0  # at ``_since``, as the state
        self._state: tuple[object, ...] = ()

    def seconds(self, done: int) -> float:
        """So long until the last look; ``done`` are the tasks that have ended."""
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            we_slept = now - self._looked > 3 * LOOK_SECONDS + 1  # all waited for us: Ctrl-Z
            self._looked = now
            processes = self._processes()
            used, *others = _used(processes)
            state = (done, *processes, *others)
            computed = used - self._used > IDLE_SHARE * (now - self._since)
            if computed or we_slept or state != self._state:
                self._since, self._used, self._state = now, used, state
        return self._looked - self._since


def _used(processes: Sequence[int]) -> tuple[float, ...]:
    """Processor seconds that processes have used, bytes that all but the first have read, and
    whether somebody can tell: else no two looks are the same."""
    ticks, read, waits = 0, 0, False
    for place, pid in enumerate(processes):
        with contextlib.suppress(OSError, ValueError, IndexError):
            status = status_of(pid)
            ticks += status.ticks
            waits |= status.state == "D"
            if place:  # the JVM reads what it is asked for: how far it is
                read += int(Path(f"/proc/{pid}/io").read_text().split()[1])
    unknown = waits or not processes
    return ticks / os.sysconf("SC_CLK_TCK"), read, time.monotonic_ns() if unknown else 0


def _counter(spark: "SparkSession") -> Callable[[], tuple[bool, int]]:
    """A function: whether tasks run, and how many of the newest job's first stage are done."""
    context = _context(spark)
    if context is None:
        return _connect_counter(spark)
    tracker = context.statusTracker()

    def count() -> tuple[bool, int]:
        try:
            jobs = tracker.getActiveJobsIds()
            if not jobs:
                return False, 0
            stages = tracker.getJobInfo(max(jobs)).stageIds
            first = tracker.getStageInfo(min(stages))
            if first is None:
                return False, 0
            return first.numActiveTasks > 0, first.numCompletedTasks
        except Exception:  # the job ended between two questions
            return False, 0

    return count


def _connect_counter(spark: Any) -> Callable[[], tuple[bool, int]]:
    state = {"running": False, "done": 0}

    def handler(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        state["running"] = inflight_tasks > 0
        if stages:
            first = min(stages, key=lambda stage: stage.stage_id)
            state["done"] = first.num_completed_tasks

    spark.registerProgressHandler(handler)
    return lambda: (bool(state["running"]), int(state["done"]))


def _context(spark: Any) -> Any:
    """The Spark context of a classic session; null on Connect, which has none."""
    with contextlib.suppress(Exception):  # and says so by an exception
        return spark.sparkContext
    return None


def _cancel(spark: Any, tag: str | None) -> None:
    """Cancel the jobs with a tag; without one all."""
    with contextlib.suppress(Exception):
        if tag is not None:
            spark.interruptTag(tag)
        else:
            spark.sparkContext.cancelAllJobs()


def _cause(problem: BaseException) -> str:
    """The line of a Spark exception that names the cause: the end of the worker's traceback."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("SQLSTATE")]  # Connect's last one
    if _CRASHED in str(problem):
        return "a Python worker ended unexpectedly: killed, or out of memory"
    if lines and "exception was thrown from the Python worker" in lines[0]:
        return lines[-1][:300]
    named = [
        line
        for line in lines
        if ": " in line
        and line.split(": ", 1)[0].replace(".", "").isidentifier()
        and line.split(": ", 1)[0].endswith(("Error", "Exception", "Interrupt"))
    ]
    return named[-1][:300] if named else first_line(problem)
