"""A cluster before its first job: who is there, and whether the job can run there at all.

Every executor is asked one question (``worker_look``); what would end the audit after minutes and
retries is one line after seconds, and the plan follows the cores that are there. Executors that
come later are asked if the job fails.
"""

import contextlib
import json
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from seqaudit.decoders.capture import remote
from seqaudit.pipeline.shared.progress import Progress
from seqaudit.pipeline.spark import worker_look
from seqaudit.pipeline.spark.progress import FIRST_TASK_SECONDS, JobError, JobStage, run_watched
from seqaudit.pipeline.spark.session import Session, within
from seqaudit.pipeline.spark.worker_look import (
    NEEDED,
    NO_MEMORY,
    Asked,
    Question,
    WorkerAnswer,
    has_no_memory,
    installed,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What a reader sees meanwhile.
ASKING: Final = "asking the executors"

#: Executors that come so shortly after one another are waited for.
TOGETHER_SECONDS: Final = 1.0

#: Without an executor for so long, a line says what is waited for.
PATIENCE_SECONDS: Final = 20.0

#: How long those are asked that came while a job ran which failed.
LATE_SECONDS: Final = 15.0

#: Rows of the question to a Connect server: each core has one at least.
ROWS: Final = 1024

#: So many captures are looked at by every executor; one of each folder.
MOST_FILES: Final = 32

#: An executor's shell runs the question in the Python that workers will have, and says how that
#: ended, who it is, and all that Python said.
_ASKS: Final = 'told=$("$0" -c "$1" 2>&1); echo "ANSWER $? $PPID $(uname -n)"; echo "$told"'
_HEAD: Final = re.compile(r"ANSWER (\d+) (\d+) (\S+)")
_NO_PROGRAM: Final = (126, 127)

#: How much memory the Python of an executor may take, as Spark calls it.
PYTHON_MEMORY: Final = "spark.executor.pyspark.memory"

_PACKAGES: Final = (
    "pip install seqaudit there, point PYSPARK_PYTHON at a Python that has them, or send them "
    "along (seqaudit spark environment --help)"
)


class Reply(NamedTuple):
    """An answer and whose it is: a host, and a process there."""

    host: str
    executor: int
    answer: WorkerAnswer


@dataclass(frozen=True, slots=True)
class Executors:
    """Who answered: so many executors, with so many cores together."""

    number: int
    cores: int

    @property
    def line(self) -> str:
        """For a reader: 2 executors with 8 cores."""
        several = "s" if self.number != 1 else "", "s" if self.cores != 1 else ""
        return f"{self.number:,} executor{several[0]} with {self.cores:,} core{several[1]}"


def await_executors(
    session: Session, files: Iterable[Asked], progress: Progress
) -> Executors | None:
    """Who runs the job; null for a local Spark, whose workers are as this process is.

    Args:
        files: all captures.

    Raises:
        JobError: nobody came, or a job cannot run there; one line.
        CancelledError: Ctrl-C.
    """
    if session.place.local:
        return None
    progress.begin(ASKING, 0)
    question = Question(tuple(one_of_each_folder(files)), remote.in_use())
    if session.place.remote is None:
        _await_executors(session, progress, time.monotonic, time.sleep)
        executors = _Questioned(session, question)
        ask, session.explain = executors.ask, executors.problem
    else:
        ask = partial(_asked_all, session.spark, question)
    there, told = run_watched(session, ask, [JobStage(ASKING)], progress)
    if problem := problem_of(told, _here(), _least()):
        raise JobError(problem)
    return there


def one_of_each_folder(files: Iterable[Asked]) -> list[Asked]:
    """The first of each folder, and not too many."""
    found: dict[str, Asked] = {}
    for file in files:
        found.setdefault(str(PurePath(file.path).parent), file)
        if len(found) == MOST_FILES:
            break
    return list(found.values())


def problem_of(
    told: Sequence[Reply], here: Mapping[str, str], least: Mapping[str, str]
) -> str | None:
    """The line that ends the audit; null: all can run it.

    Args:
        here: version of Python and of each package in this process; what it lacks is not in it.
        least: the oldest version of each package that will do.
    """
    executors = _by_executor(told)
    where = partial(_where, executors=executors)
    if small := [t for t in executors if NO_MEMORY in t.answer.lacking.values()]:
        return (
            f"{where(small)}: Python runs out of memory as it starts; give it more "
            f"(--spark-conf {PYTHON_MEMORY}=2g)"
        )
    if ended := [t for t in executors if not t.answer.python]:
        return f"{where(ended)}: {_end_of(ended[0].answer, here)}"
    python = _minor(here["python"])
    if other := [t for t in executors if _minor(t.answer.python) != python]:
        return (
            f"{where(other)}: the workers' Python is {_minor(other[0].answer.python)} and this one "
            f"{python}; both have to be the same: point PYSPARK_PYTHON at a Python {python} of "
            "the workers"
        )
    for package in NEEDED.values():  # one that does not fit may be why another cannot be loaded
        wanted = least.get(package, ""), here.get(package, "")
        for version in dict.fromkeys(t.answer.versions.get(package, "") for t in executors):
            if version and not _will_do(package, version, *wanted):
                other = [t for t in executors if t.answer.versions.get(package) == version]
                fits = f"{wanted[1]} here" if wanted[1] else f"{wanted[0]} wanted"
                return f"{where(other)}: {package} is {version}, and {fits}; {_PACKAGES}"
    if lacking := [t for t in executors if t.answer.lacking]:
        names = ", ".join(
            name if why == "is not there" else f"{name} ({why})"
            for name, why in lacking[0].answer.lacking.items()
        )
        return f"{where(lacking)}: Python has no {names}; {_PACKAGES}"
    for path in [path for t in executors for path in t.answer.unseen]:
        blind = [t for t in executors if path in t.answer.unseen]
        return (
            f"{path}: {blind[0].answer.unseen[path]}, say{'s' if len(blind) == 1 else ''} "
            f"{where(blind)}; every worker has to see a capture under the same path or "
            "URL; --engine direct reads it here"
        )
    return None


def _end_of(answer: WorkerAnswer, here: Mapping[str, str]) -> str:
    """Why a Python gave no answer."""
    status, said = answer.ended
    advice = f"point PYSPARK_PYTHON at a Python {_minor(here['python'])} of theirs"
    if status in _NO_PROGRAM:
        return f"the workers have no such program ({said}); {advice}"
    return f"the workers' Python ends as it starts ({said or f'status {status}'}); {advice}"


def _will_do(package: str, there: str, least: str, here: str) -> bool:
    """Whether a version is as new as it has to be; and numpy's arithmetic changed with its major
    version, so that of the workers is that of this process."""
    if least and _numbers(there) < _numbers(least):
        return False
    return package != "numpy" or not here or _numbers(there)[:1] == _numbers(here)[:1]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def _minor(version: str) -> str:
    """3.11 of 3.11.7."""
    return ".".join(version.split(".")[:2])


def _where(some: Sequence[Reply], executors: Sequence[Reply]) -> str:
    """all 2 executors; or: 1 of 2 executors (on host b)."""
    several = "s" if len(executors) != 1 else ""
    if len(some) == len(executors):
        return f"{'all ' if several else ''}{len(executors):,} executor{several}"
    hosts = list(dict.fromkeys(told.host for told in some))
    more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
    return f"{len(some):,} of {len(executors):,} executors (on {', '.join(hosts[:3])}{more})"


def _by_executor(told: Sequence[Reply]) -> list[Reply]:
    """One answer of each, in an order that does not change from one run to the next."""
    found = {(one.host, one.executor): one for one in told}
    return [found[key] for key in sorted(found)]


class _Questioned:
    """Executors of a classic session, of which each is asked once.

    No Python of Spark's is started for it and nothing planned: that takes long, fails where the
    question should be answered, and is tried again elsewhere then.
    """

    def __init__(self, session: Session, question: Question) -> None:
        self._context: Any = session.spark.sparkContext
        self._question = question._replace(code=session.shipped)
        self._asked: set[str] = set()
        self._told: list[Reply] = []

    def ask(self) -> tuple[Executors, list[Reply]]:
        """Who is there, and what all said until now: more may come while some are asked."""
        scala = self._context._jsc.sc()
        while True:
            there = _registered(scala)
            if self._asked.issuperset(there):
                return _counted(there), self._told
            late = {number: there[number] for number in there.keys() - self._asked}
            self._told += answers_in(self._lines(scala, late))
            self._asked.update(late)

    def problem(self) -> str | None:
        """What those lack that came after the question; null: nobody came, or they are well."""
        known = len(self._told)
        with contextlib.suppress(Exception):  # the session ends, or they do
            within(LATE_SECONDS, self.ask)
        return problem_of(self._told, _here(), _least()) if len(self._told) > known else None

    def _lines(self, scala: Any, some: Mapping[str, tuple[str, int]]) -> list[str]:
        """What the shells of some executors print; each has a host and cores."""
        memory = scala.conf().getSizeAsBytes(PYTHON_MEMORY, "0")
        jvm = self._context._jvm
        rows, asks = jvm.java.util.ArrayList(), jvm.java.util.ArrayList()
        as_scala = jvm.scala.jdk.javaapi.CollectionConverters.asScala
        for number, (host, cores) in some.items():
            place = jvm.java.util.ArrayList()
            place.append(f"executor_{host}_{number}")  # that one, as Spark names it
            asked = self._question._replace(most_bytes=memory // max(cores, 1))
            rows.append(jvm.scala.Tuple2(json.dumps(asked), as_scala(place).toSeq()))
        program = Path(worker_look.__file__).read_text()
        for word in ("sh", "-c", _ASKS, self._context.pythonExec, program):
            asks.append(word)
        kind = jvm.scala.reflect.ClassTag.AnyRef()
        made = scala.makeRDD(as_scala(rows).toSeq(), kind)
        lines = jvm.org.apache.spark.api.java.JavaRDD.fromRDD(made, kind).pipe(asks).collect()
        return [str(line) for line in lines]


def answers_in(lines: Iterable[str]) -> list[Reply]:
    """What shells of executors said: of a Python that gave no answer its last line counts."""
    found: list[Reply] = []
    for line in map(str.strip, lines):
        if head := _HEAD.fullmatch(line):
            found.append(Reply(head[3], int(head[2]), _ended(int(head[1]), "")))
        elif line and found and not found[-1].answer.python:
            status, _ = found[-1].answer.ended
            answers = line.startswith("[") and not status
            answer = WorkerAnswer(*json.loads(line)) if answers else _ended(status, line)
            found[-1] = found[-1]._replace(answer=answer)
    return found


def _ended(status: int, said: str) -> WorkerAnswer:
    lacking = {"memory": NO_MEMORY} if has_no_memory(said) else {}
    return WorkerAnswer("", lacking, {}, {}, (status, said[:200]))


def there(session: Session) -> Executors | None:
    """Who runs jobs by now; null where nobody can tell: of a local Spark, and of Connect."""
    if not session.place.local and session.place.remote is None:
        with contextlib.suppress(Exception):  # it ends, which its next job says
            context: Any = session.spark.sparkContext
            return _counted(_registered(context._jsc.sc()))
    return None


def _registered(scala: Any) -> dict[str, tuple[str, int]]:
    """Host and cores of each executor that is there, by its number."""
    return {
        found.id(): (found.hostPort().rpartition(":")[0], found.totalCores())
        for found in _each(scala.statusStore().executorList(True))
        if found.id() != "driver"
    }


def _counted(some: Mapping[str, tuple[str, int]]) -> Executors:
    return Executors(len(some), sum(cores for _, cores in some.values()))


def _each(sequence: Any) -> Iterator[Any]:
    """Of a sequence of Scala's."""
    found = sequence.iterator()
    while found.hasNext():
        yield found.next()


def _asked_all(spark: "SparkSession", question: Question) -> tuple[Executors, list[Reply]]:
    """The same of a Connect server, by a job of rows: each core has some. Not by Arrow, which the
    workers may not have."""
    from pyspark.sql.types import StringType

    functions: Any = import_module("pyspark.sql.connect.functions")
    asks = partial(worker_look.answered_once, uuid.uuid4().hex, json.dumps(question))
    asks.__name__ = "look"  # type: ignore[attr-defined]  # PySpark wants one
    told = functions.udf(asks, StringType(), useArrow=False)  # Connect parses no name of one
    task = functions.spark_partition_id().alias("task")
    rows = spark.range(ROWS).select(task, told("id").alias("told")).collect()
    answers = [json.loads(row.told) for row in rows if row.told is not None]
    found = [Reply(host, executor, WorkerAnswer(*answer)) for host, executor, answer in answers]
    return Executors(len(_by_executor(found)), len({row.task for row in rows})), found


def _await_executors(
    session: Session,
    progress: Progress,
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Wait for the first executor, and for those that come with it.

    Raises:
        JobError: none came.
    """
    context: Any = session.spark.sparkContext._jsc.sc()
    begun = changed = now()
    number, said = 0, False
    while not number or now() - changed < TOGETHER_SECONDS:
        if context.isStopped():
            raise JobError(
                "the cluster ended the session before an executor came; its log says why"
            )
        found = context.getExecutorMemoryStatus().size() - 1  # the driver counts itself
        if found != number:
            number, changed = found, now()
        if not number and not said and now() - begun > PATIENCE_SECONDS:
            said = True
            progress.note("the cluster has no executor for this yet; waiting")
        if not number and now() - begun > FIRST_TASK_SECONDS:
            raise JobError(
                f"the cluster gave no executor in {FIRST_TASK_SECONDS:.0f} s: no worker has a free "
                "core and enough memory (--spark-conf spark.executor.memory=512m asks for less), "
                "or workers cannot reach this machine (--spark-conf spark.driver.host=NAME)"
            )
        sleep(0.1)


def _here() -> dict[str, str]:
    """Versions of this process."""
    told = {package: installed(package) for package in NEEDED.values()}
    found = {package: version for package, version in told.items() if version}
    return found | {"python": ".".join(map(str, sys.version_info[:3]))}


def _least() -> dict[str, str]:
    """The oldest versions that seqaudit runs with, as it was packed."""
    from importlib import metadata  # a direct audit has no use for it

    try:
        wanted = metadata.requires("seqaudit") or []
    except metadata.PackageNotFoundError:
        return {}
    found = (re.match(r"([\w-]+)\s*>=\s*([\d.]+)", text) for text in wanted if "extra" not in text)
    return {match[1].lower(): match[2] for match in found if match}
