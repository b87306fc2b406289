"""What makes local Spark start faster: a start-up cache, a warm server (design 3.5, PIPELINE 4)."""

import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.stages.registry import DecodeSettings
from seqaudit.pipeline import job
from seqaudit.pipeline.kernels_ready import PARTS, compile_parts
from seqaudit.pipeline.spark import server
from seqaudit.pipeline.spark.java import Java, cache_file, find_java
from seqaudit.pipeline.spark.progress import CancelledError, Progress, run_watched
from seqaudit.pipeline.spark.server import State
from seqaudit.pipeline.spark.session import Place, Starting
from seqaudit.replay.contract.settings import ReplaySettings


@dataclass(frozen=True, slots=True)
class Made:
    """A start-up cache."""

    path: Path
    megabytes: int
    java: str


def prepare_spark(progress: Progress) -> Made:
    """Run the job once on no captures, in a JVM that writes down what it loaded.

    Raises:
        SeqauditError: Java or Spark did not start, or wrote nothing.
    """
    runtime = find_java()
    path = cache_file(runtime)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise SeqauditError(
            f"{path.parent}: cannot be written ({problem.strerror}); set XDG_CACHE_HOME"
        ) from problem
    with server.locked(path.with_name(f"{path.name}.lock")) as lock:
        if lock is None:
            raise SeqauditError("another seqaudit spark prepare runs already; wait for its end")
        unfinished = path.with_name(f"new-{path.name}")
        unfinished.unlink(missing_ok=True)  # of one that was killed
        try:
            _make(runtime, unfinished, progress)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return Made(path, path.stat().st_size // 1_000_000, runtime.release)


def _make(runtime: Java, unfinished: Path, progress: Progress) -> None:
    progress.begin("compiling the decoders", 0)
    compile_parts(PARTS)
    progress.begin("starting a Spark", 0)
    starting = Starting(Place(), cache=unfinished, make_cache=True)
    try:
        _run_small_jobs(starting, progress)
        progress.begin("writing the start-up cache", 0)
        starting.stop()
    finally:
        starting.close()
    if not unfinished.is_file():
        raise SeqauditError(
            f"Java {runtime.release} from {runtime.origin} wrote no start-up cache; "
            "audits work without it, only slower"
        )
    with contextlib.suppress(OSError):
        unfinished.chmod(0o600)


def start_server(progress: Progress, idle_seconds: float) -> tuple[State, bool]:
    """The warm server, ready to decode at once, and whether it was started now.

    Raises:
        SeqauditError: it did not come up; one line.
    """
    progress.begin("starting a Spark", 0)
    state, started = server.start(idle_seconds)
    used = server.use() if started else None
    if used is not None:
        starting = Starting(Place(), used=used)
        try:
            _run_small_jobs(starting, progress)
        finally:
            starting.close()
    return state, started


def _run_small_jobs(starting: Starting, progress: Progress) -> None:
    """The job on no captures, with and without its second stage."""
    spark = starting.session(note=progress.note)
    progress.begin("running a small job", 0)
    settings = DecodeSettings(compile_it=False, finish_fragments=True)
    for carriers in (False, True):
        rows = job.events(spark, ((), ()), settings, 2, carriers)
        judged = job.results(rows, ReplaySettings(()), 2)
        try:
            run_watched(starting, partial(_collect, judged), 2, progress)
        except CancelledError:  # there is nothing to tell of the tasks of this one
            raise KeyboardInterrupt from None


def _collect(rows: object) -> object:
    return rows.toArrow()  # type: ignore[attr-defined]  # a DataFrame of either kind of Spark
