"""A cluster before its first job: who is there, and whether the job can run there at all.

One small job asks every executor (``worker_look``); what would end the audit after minutes and
retries is one line after seconds, and the plan follows the cores that answered.
"""

import json
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final

from seqaudit.decoders.capture import remote
from seqaudit.pipeline.shared.progress import Progress
from seqaudit.pipeline.spark.progress import FIRST_TASK_SECONDS, JobError, Step, run_watched
from seqaudit.pipeline.spark.session import Session
from seqaudit.pipeline.spark.worker_look import NEEDED, NO_MEMORY, Asked, installed, look

#: What a reader sees meanwhile.
ASKING: Final = "asking the executors"

#: Executors that come so shortly after one another are waited for.
TOGETHER_SECONDS: Final = 1.0

#: Without an executor for so long, a line says what is waited for.
PATIENCE_SECONDS: Final = 20.0

#: Rows of the question: each core has one at least.
ROWS: Final = 1024

#: So many captures are looked at by every executor; one of each folder.
MOST_FILES: Final = 32

_PACKAGES: Final = (
    "pip install seqaudit there, point PYSPARK_PYTHON at a Python that has them, or send them "
    "along (seqaudit spark environment --help)"
)


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


def ready(session: Session, files: Iterable[Asked], progress: Progress) -> Executors | None:
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
    if session.place.remote is None:
        _await_executors(session, progress, time.monotonic, time.sleep)
    asked = one_of_each_folder(files)
    rows = run_watched(session, partial(_asked, session.spark, asked), [Step(ASKING)], progress)
    answers = [json.loads(told) for _, told in rows if told is not None]
    if problem := problem_of(answers, _here(), _least()):
        raise JobError(problem)
    return Executors(len(_by_executor(answers)), len({task for task, _ in rows}))


def one_of_each_folder(files: Iterable[Asked]) -> list[Asked]:
    """The first of each folder, and not too many."""
    found: dict[str, Asked] = {}
    for file in files:
        found.setdefault(str(PurePath(file.path).parent), file)
        if len(found) == MOST_FILES:
            break
    return list(found.values())


def problem_of(
    answers: Sequence[Mapping[str, Any]], here: Mapping[str, str], least: Mapping[str, str]
) -> str | None:
    """The line that ends the audit; null: all can run it.

    Args:
        answers: of ``worker_look.look``.
        here: version of each package in this process; what it lacks is not in it.
        least: the oldest version of each that will do.
    """
    executors = _by_executor(answers)
    small = [answer for answer in executors if NO_MEMORY in answer["lacking"].values()]
    if small:
        return (
            f"{_where(small, executors)}: Python runs out of memory as it starts; give it more "
            "(--spark-conf spark.executor.pyspark.memory=2g)"
        )
    for package in NEEDED.values():  # one that does not fit may be why another cannot be loaded
        for answer in executors:
            there = answer["versions"].get(package, "")
            if there and not _will_do(
                package, there, here.get(package, ""), least.get(package, "")
            ):
                other = [a for a in executors if a["versions"].get(package) == there]
                wanted = f"{here[package]} here" if package in here else f"{least[package]} wanted"
                return (
                    f"{_where(other, executors)}: {package} is {there}, and {wanted}; {_PACKAGES}"
                )
    lacking = [answer for answer in executors if answer["lacking"]]
    if lacking:
        first = lacking[0]["lacking"]
        names = ", ".join(
            name if why == "is not there" else f"{name} ({why})" for name, why in first.items()
        )
        return f"{_where(lacking, executors)}: Python has no {names}; {_PACKAGES}"
    for path in dict.fromkeys(path for answer in executors for path in answer["unseen"]):
        blind = [answer for answer in executors if path in answer["unseen"]]
        return (
            f"{path}: {blind[0]['unseen'][path]}, say{'s' if len(blind) == 1 else ''} "
            f"{_where(blind, executors)}; every worker has to see a capture under the same path or "
            "URL; --engine direct reads it here"
        )
    return None


def _will_do(package: str, there: str, here: str, least: str) -> bool:
    """Whether a version is as new as it has to be; and numpy's arithmetic changed with its major
    version, so that of the workers is that of this process."""
    if least and _numbers(there) < _numbers(least):
        return False
    return package != "numpy" or not here or _numbers(there)[:1] == _numbers(here)[:1]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def _where(some: Sequence[Mapping[str, Any]], executors: Sequence[Mapping[str, Any]]) -> str:
    """all 2 executors; or: 1 of 2 executors (on host b)."""
    several = "s" if len(executors) != 1 else ""
    if len(some) == len(executors):
        return f"{'all ' if several else ''}{len(executors):,} executor{several}"
    hosts = list(dict.fromkeys(answer["host"] for answer in some))
    more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
    return f"{len(some):,} of {len(executors):,} executors (on {', '.join(hosts[:3])}{more})"


def _by_executor(answers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One answer of each, in an order that does not change from one run to the next."""
    found = {(answer["host"], answer["executor"]): answer for answer in answers}
    return [found[key] for key in sorted(found)]


def _asked(spark: Any, files: Sequence[Asked]) -> list[tuple[int, str | None]]:
    """(task, answer or null) of every row. Not by Arrow, which the workers may not have."""
    from pyspark.sql.types import StringType

    connected = type(spark).__module__.startswith("pyspark.sql.connect")
    functions: Any = import_module(f"pyspark.sql.{'connect.' if connected else ''}functions")
    question = partial(look, uuid.uuid4().hex, list(files), remote.in_use())
    question.__name__ = "look"  # type: ignore[attr-defined]  # PySpark wants one
    told = functions.udf(question, StringType(), useArrow=False)  # Connect parses no name of one
    task = functions.spark_partition_id().alias("task")
    rows = spark.range(ROWS).select(task, told("id").alias("told"))
    return [(row.task, row.told) for row in rows.collect()]


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
