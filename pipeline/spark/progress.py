"""A Spark job, watched while it runs: how far it is, why it failed, and Ctrl-C.

Classic Spark is polled through its status tracker while the action runs in a thread of its own,
Spark Connect calls a handler (pipeline/README.md 2); both are brought to the same figures here:
tasks of each stage done, of those planned, and the bytes of captures that they read.
"""

import contextlib
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.shared.metrics import OfSpark
from seqaudit.pipeline.shared.progress import Progress, StoppedError
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.pipeline.spark.java import JavaError
from seqaudit.pipeline.spark.knock import NAME, SessionError
from seqaudit.pipeline.spark.session import (
    Session,
    discard,
    first_line,
    in_the_clear,
    shared,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_MEMORY: Final = (
    "out of memory; on a cluster give it more (--spark-conf spark.executor.memory=4g), or take "
    "--engine direct, which needs less"
)

#: What Spark, Java and Python say of what is wrong with a cluster, and what a reader is told.
_CAUSES: Final = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            r"Python in worker has different version: (\S+) than that in driver",
            "the workers' Python is {0} and this one {here}; both have to be the same: point "
            "PYSPARK_PYTHON at a Python {here} of the workers",
        ),
        (
            r'Cannot run program "([^"]+)"',
            "the workers have no program {0}; point PYSPARK_PYTHON at a Python {here} of theirs",
        ),
        (
            r"port number from pyspark\.daemon",
            "the workers' Python ends as it starts; the logs of their executors tell why; point "
            "PYSPARK_PYTHON at a Python {here} of theirs",
        ),
        (
            r"No module named '([\w.]+)'",
            "the workers' Python has no {0}; install seqaudit's packages there, or point "
            "PYSPARK_PYTHON at a Python that has them",
        ),
        (
            r"InvalidClassException|serialVersionUID",
            "the cluster runs another version of Spark than PySpark's here; install that PySpark",
        ),
        (r"OutOfMemoryError", f"an executor ran {_MEMORY}"),
        (r"\bMemoryError|ArrowMemoryError|malloc of size \d+ failed", f"a worker ran {_MEMORY}"),
        (
            r"Python worker exited unexpectedly",
            f"a Python worker ended unexpectedly: killed, or {_MEMORY}",
        ),
        (r"ExecutorLostFailure|Lost executor", f"an executor was lost: killed, or {_MEMORY}"),
    )
)

#: Seconds in which the first task of a job must have begun; a cold worker needs two.
FIRST_TASK_SECONDS: Final = 120.0

POLL_SECONDS: Final = 0.1

#: A job is given up when so many executors ended, and so many times as many as were ever there at
#: once, without a task that was done meanwhile: a master starts new ones for ever.
MOST_ENDED: Final = 10
TIMES_ENDED: Final = 3
LOOK_SECONDS: Final = 1.0

#: How long Spark may take to cancel a job.
CANCEL_SECONDS: Final = 10.0


class JobError(SeqauditError):
    """A Spark job failed."""


class CancelledError(SeqauditError):
    """The user interrupted a Spark job; ``done`` tasks of its first step were through."""

    def __init__(self, steps: "Sequence[JobStage]", done: int) -> None:
        total = len(steps[0].sizes)
        told = f": {min(done, total)} of {total} decode tasks were done"
        super().__init__(f"interrupted{told if total else f' while {steps[-1].what}'}")


@contextlib.contextmanager
def in_session(place: SparkAddress, progress: Progress, name: str = NAME) -> Iterator[Session]:
    """A Spark session, and what Ctrl-C and failures of its jobs become; one that failed is not used
    again.

    Args:
        name: what a cluster calls the session, if it is started for it.

    Raises:
        StoppedError: Ctrl-C.
        SeqauditError: Spark could not be started, or a job failed; one line.
    """
    progress.begin("starting Spark" if place.local else "reaching Spark", 0)
    if place.remote is not None and in_the_clear(place.remote):
        progress.note(
            f"{place.remote}: what is sent there and comes back can be read and changed on its "
            "way; add /;use_ssl=true if the server speaks TLS"
        )
    session: Session | None = None
    try:
        session = shared(place, name)
        session.name = name
        yield session
    except CancelledError as stopped:
        raise StoppedError(str(stopped)) from None
    except KeyboardInterrupt:
        discard(place)
        when = " while Spark was starting" if session is None else ""
        raise StoppedError(f"interrupted{when}") from None
    except (JobError, SessionError, JavaError) as problem:
        why = session.explain() if session is not None and session.ended is None else None
        discard(place)
        if why is None:
            raise
        raise JobError(why) from problem
    except SeqauditError:
        raise
    except Exception as problem:  # of Py4J, if its other end has gone between two jobs
        ended = session.ended if session is not None else None
        if ended is None:
            raise
        discard(place)
        raise JobError(ended) from problem


@dataclass(frozen=True, slots=True)
class JobStage:
    """A stage of a job as a reader sees it.

    Attributes:
        what: is done.
        sizes: bytes of captures that each task reads, in the order in which tasks begin; none: the
            stage is counted by its tasks.
    """

    what: str
    sizes: tuple[int, ...] = ()


#: Tasks done and planned of each stage of a job that is known so far, in their order.
Counts = Sequence[tuple[int, int]]


class _ProgressSoFar:
    """What of a job was told to a progress."""

    def __init__(self, steps: Sequence[JobStage], progress: Progress) -> None:
        self._steps = steps
        self._progress = progress
        self._stage = -1
        self._done = 0
        self.decoded = 0  # tasks of the first stage

    def tell(self, counts: Counts) -> None:
        """The stage that is at work, and how far it is."""
        if not counts:
            return
        self.decoded = max(self.decoded, counts[0][0])
        ended = [done >= planned > 0 for done, planned in counts]
        stage = next((n for n, over in enumerate(ended) if not over), len(counts) - 1)
        done, planned = counts[stage]
        if stage < self._stage:  # Spark does lost tasks again
            return
        step = self._steps[min(stage, len(self._steps) - 1)]
        if stage > self._stage:
            self._stage, self._done = stage, 0
            if step.sizes:
                self._progress.begin(step.what, sum(step.sizes), bytes_read=True)
            else:
                self._progress.begin(step.what, planned)
        if done > self._done:
            self._done = done
            if step.sizes:
                told = f"{done:,}/{len(step.sizes):,} tasks"
                self._progress.done(sum(step.sizes[:done]), told)
            else:
                self._progress.done(min(done, planned))


def run_watched(
    session: Session, action: Callable[[], T], steps: Sequence[JobStage], progress: Progress
) -> T:
    """Run a Spark action in a thread and tell its progress meanwhile.

    Args:
        steps: its stages, in their order; further ones are told as the last.

    Raises:
        CancelledError: Ctrl-C; the job is cancelled first.
        JobError: the job failed, no task began in two minutes, or executors end and end.
    """
    counter = _counter(session.spark)
    context = _context(session.spark)
    ends = _EndedExecutors(context)
    tag = f"seqaudit-{uuid.uuid4().hex}"  # others may have jobs in the same Spark
    outcome: list[T] = []
    failure: list[BaseException] = []

    def act() -> None:
        try:
            session.spark.addTag(tag)  # of this thread
            if context is not None:
                context.setJobDescription(session.name)
            outcome.append(action())
        except BaseException as problem:
            failure.append(problem)

    thread = threading.Thread(target=act, name="seqaudit-job", daemon=True)
    begun = time.monotonic()
    thread.start()
    told = _ProgressSoFar(steps, progress)
    total = max(len(steps[0].sizes), 1)
    alive = False
    try:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            running, counts = counter()
            alive = alive or running or any(done for done, _ in counts)
            told.tell(counts)
            if problem := ends.in_vain(sum(done for done, _ in counts)):
                session.kill()
                raise JobError(problem)
            if not alive and time.monotonic() - begun > FIRST_TASK_SECONDS:
                session.kill()
                raise JobError(f"Spark began no task in {FIRST_TASK_SECONDS:.0f} s")
    except KeyboardInterrupt:
        try:
            within(CANCEL_SECONDS, partial(_cancel, session.spark, tag))
        except TimeoutError:  # it is stopped, or stuck
            session.kill()
        raise CancelledError(steps, told.decoded) from None
    if failure:
        if isinstance(failure[0], KeyboardInterrupt):
            raise CancelledError(steps, told.decoded)
        if ended := session.ended:
            raise JobError(ended) from failure[0]
        raise JobError(f"the Spark job failed: {_cause(failure[0])}") from failure[0]
    try:  # a short job ends between two looks at it, and Ctrl-C may come just then
        told.tell([(total, total)])
    except KeyboardInterrupt:
        raise CancelledError(steps, total) from None
    return outcome[0]


class _EndedExecutors:
    """Executors that ended while a job does not go on."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._looked = self._seen = time.monotonic()
        self._done = -1
        self._before = 0
        self._most = 0

    def in_vain(self, done: int) -> str | None:
        """The line that ends the job, if it is time to give up: so many ended since a task was done
        last, or all are gone, and none came that lived to tell of itself."""
        now = time.monotonic()
        if self._context is None or now - self._looked < LOOK_SECONDS:
            return None
        self._looked = now
        try:
            store = self._context._jsc.sc().statusStore()
            there = store.executorList(True).size() - 1  # the driver is in it
            ended = store.executorList(False).size() - 1 - there
        except Exception:  # the session ends, or another release of Spark has it otherwise
            return None
        self._most = max(self._most, there)
        if done != self._done:
            self._done, self._before = done, ended
        if there or not self._most:  # a local Spark has no executor
            self._seen = now
        if now - self._seen > FIRST_TASK_SECONDS:
            return (
                f"all executors ended, and none came for {FIRST_TASK_SECONDS:.0f} s: killed as "
                f"they start, or {_MEMORY}"
            )
        number = ended - self._before
        if number < max(MOST_ENDED, TIMES_ENDED * self._most):
            return None
        return (
            f"{number:,} executors ended one after the other, and no task was done meanwhile: "
            f"killed, or {_MEMORY}"
        )


def _counter(spark: "SparkSession") -> Callable[[], tuple[bool, Counts]]:
    """A function: whether tasks run, and how far the stages of the newest job are."""
    context = _context(spark)
    if context is None:
        return _connect_counter(spark)
    tracker = context.statusTracker()

    def count() -> tuple[bool, Counts]:
        try:
            jobs = tracker.getActiveJobsIds()
            if not jobs:
                return False, ()
            stages = map(tracker.getStageInfo, sorted(tracker.getJobInfo(max(jobs)).stageIds))
            known = [stage for stage in stages if stage is not None]
            running = any(stage.numActiveTasks for stage in known)
            return running, [(stage.numCompletedTasks, stage.numTasks) for stage in known]
        except Exception:  # the job ended between two questions
            return False, ()

    return count


def _connect_counter(spark: Any) -> Callable[[], tuple[bool, Counts]]:
    running = False
    counts: Counts = ()

    def handler(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        nonlocal running, counts
        running = inflight_tasks > 0
        ordered = sorted(stages or (), key=lambda stage: stage.stage_id)
        counts = [(stage.num_completed_tasks, stage.num_tasks) for stage in ordered] or counts

    spark.registerProgressHandler(handler)
    return lambda: (running, counts)


def figures_of(session: Session) -> OfSpark:
    """What Spark says of the stages of its jobs since it began, of a session of ours."""
    context = _context(session.spark)
    if context is None:
        return OfSpark()
    gateway = context._gateway
    none = gateway.new_array(gateway.jvm.double, 0)
    try:
        stages = (
            context._jsc.sc().statusStore().stageList(None, False, False, none, None).iterator()
        )
        shuffled = memory = disk = 0
        while stages.hasNext():
            stage = stages.next()
            shuffled += stage.shuffleWriteBytes()
            memory += stage.memoryBytesSpilled()
            disk += stage.diskBytesSpilled()
    except Exception:  # another release of Spark has it otherwise
        return OfSpark()
    return OfSpark(shuffled, memory, disk)


def _context(spark: Any) -> Any:
    """The Spark context of a classic session; null on Connect, which has none."""
    with contextlib.suppress(Exception):  # and says so by an exception
        return spark.sparkContext
    return None


def _cancel(spark: Any, tag: str) -> None:
    with contextlib.suppress(Exception):
        spark.interruptTag(tag)


def _cause(problem: BaseException) -> str:
    """The line of a Spark exception that names the cause: the end of the worker's traceback."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("SQLSTATE")]  # Connect's last one
    for pattern, text in _CAUSES:
        if found := pattern.search(str(problem)):
            return text.format(*found.groups(), here=".".join(map(str, sys.version_info[:2])))
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
