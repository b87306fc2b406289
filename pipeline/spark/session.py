"""Spark sessions: local ones started by us, and others reached by URL (design 3.5, PIPELINE 4).

A local session costs 3 to 8 s from nothing. So the JVM is started first (``begin``), and while it
comes up the driver plans, compiles kernels and imports PySpark; ``Starting.session`` waits for it.
Where a warm server runs (``server``), it is used in place of a JVM of our own.
At the end nobody calls ``stop()``: it takes a second. A local JVM is killed with its workers and
its folder removed; it would also end with our end of its stdin, as it does if we are killed.

PySpark knows of one Spark in a process, whatever it is asked for. So a session of another place
ends the one there was, unless that one has a job; and in a process that has a Spark of its own,
that one is used where it is what was asked for, and left as it was.
"""

import atexit
import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.kernels.loader import prepare
from seqaudit.pipeline.kernels_ready import COMPILED
from seqaudit.pipeline.spark import early_jvm as early
from seqaudit.pipeline.spark import java, server
from seqaudit.pipeline.spark import worker_environment as same_code
from seqaudit.pipeline.spark.forked_daemon import SOCKET, Ready
from seqaudit.pipeline.spark.proc import processes_of, runs
from seqaudit.pipeline.spark.without_pandas import pandas_late

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds until the session of a started JVM must be there.
SESSION_SECONDS: Final = 90.0

#: Where a Connect server listens if the URL does not say, and how long it may take to answer.
CONNECT_PORT: Final = 15002
KNOCK_SECONDS: Final = 10.0

#: How long Spark may take to end in order, and its JVM to write a start-up cache.
STOP_SECONDS: Final = 300.0

#: How long a warm server may take for its first answer; it may be stopped, or stuck.
ANSWER_SECONDS: Final = 20.0

#: What every session of ours is given; the job relies on the Arrow limits for its memory.
JOB_SETTINGS: Final = {
    "spark.sql.adaptive.enabled": "false",  # one job shows as one; no difference in time
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.sql.session.timeZone": "UTC",
}

#: A local session besides: nothing listens beyond this machine and nothing but us prints.
LOCAL_SETTINGS: Final = {
    "spark.app.name": "seqaudit",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.maxResultSize": "0",  # findings and gaps are capped per stream, not per job
    "spark.python.daemon.module": "seqaudit.pipeline.spark.daemon",
}


class SessionError(SeqauditError):
    """Spark could not be started or reached."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the job runs: this machine (both None), a classic master, or a Connect server."""

    master: str | None = None
    remote: str | None = None

    @property
    def local(self) -> bool:
        """Whether workers see the same files as the driver and run beside it."""
        return self.remote is None and (self.master is None or self.master.startswith("local"))


class Starting:
    """A session on its way. ``session`` waits for it; ``close`` lets go of it."""

    def __init__(
        self,
        place: Place,
        *,
        cache: Path | None = None,
        make_cache: bool = False,
        settings: Mapping[str, str] | None = None,
        used: server.Use | None = None,
    ) -> None:
        """Start.

        Args:
            make_cache: write the start-up cache to ``cache`` when the session ends.
            settings: more of Spark's settings for a JVM of our own.
            used: the warm server to use in place of one.
        """
        self._place = place
        self._settings = dict(settings or {})
        self._session: SparkSession | None = None
        self._used = used
        self._ready: Ready | None = None
        self._attaching = threading.RLock()
        self._port = 0  # of the gateway of a JVM of our own
        self._jobs = 0
        self._unwanted = False
        self.owned = True  # false: somebody else's, in this process
        self.jvm: java.Jvm | None = None
        self.folder = Path("/") if used else Path.cwd()  # what relative paths mean to workers
        if place.remote is None and used is None:
            self._launch(cache, make_cache=make_cache)

    def _launch(self, cache: Path | None = None, *, make_cache: bool = False) -> None:
        with _LOCK:
            foreign = _make_way(self._place)
            _CLASSIC.append(self)
        if foreign is not None:
            self._session = foreign
            self.owned = False
            return
        atexit.register(self.close)
        with interrupts.held_back():
            self.jvm = early.take() if self._place == Place() and not make_cache else None
        if self.jvm is not None:
            return
        runtime = java.find_java()
        if cache is None and self._place.local:
            cache = early.start_up_cache(runtime)
        with interrupts.held_back():
            self.jvm = java.launch(runtime, cache=cache, make_cache=make_cache)

    def session(
        self, *, compiled: bool = False, note: Callable[[str], None] | None = None
    ) -> "SparkSession":
        """The session, once it is there.

        Args:
            compiled: its first job wants compiled kernels, so workers start with them.
            note: is told a line if the warm server fails and Spark is started instead.

        Raises:
            SessionError, java.JavaError: it could not be had; one line each.
        """
        with self._attaching:  # several threads may want it at once
            return self._made(compiled, note)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """While this lasts it is not ended for another place, or because another job failed."""
        with _LOCK:
            self._jobs += 1
        try:
            yield
        finally:
            with _LOCK:
                self._jobs -= 1
                ended = self._unwanted and not self._jobs
            if ended:
                self.close()

    @property
    def busy(self) -> bool:
        """Whether a job uses it."""
        return self._jobs > 0

    def discard(self) -> None:
        """End it now, or with the last job that uses it."""
        with _LOCK:
            self._unwanted = True
            busy = self.busy
        if not busy:
            self.close()

    def _made(self, compiled: bool, note: Callable[[str], None] | None) -> "SparkSession":
        if self._session is None and self._used is not None:
            try:
                self._session = _shared_session(self._used.state)
            except (SessionError, server.ServerError) as problem:
                if note is not None:
                    note(f"{problem}; starting Spark instead")
                self._used.close()
                self._used = None
                self._launch()
        if self._session is None:
            if self._place.remote is None and self.jvm is None:
                raise SessionError("Spark was ended for another session of this process")
            self._session = self._connect() if self._place.remote else self._attach(compiled)
        return self._session

    @property
    def forks_workers(self) -> bool:
        """Whether workers are forked from this process, with the kernels that it has loaded; a
        server's are not, they outlive what it does now."""
        return self.jvm is not None and self._place.local and not self._settings

    @property
    def lost(self) -> bool:
        """Whether the warm server that was used has ended, or its Spark has."""
        if self._used is None:
            return False
        now = server.running()
        return now is None or now.pid != self._used.state.pid or not runs(self._used.state.jvm_pid)

    @property
    def ended(self) -> str | None:
        """Why a JVM of our own is not there any more; null if it is, or is not ours."""
        if self.jvm is None:
            return None
        status = self.jvm.process.poll()
        if status is None and self._port and not _listens(self._port):  # it is ending
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self.jvm.process.wait(java.LINGER_SECONDS)
        if status is None:
            return None
        how = f"killed by signal {-status}" if status < 0 else f"status {status}"
        tail = java.log_tail(self.jvm.log, 1)
        return f"Spark's Java ended while the job ran ({how}){f': {tail}' if tail else ''}"

    def processes(self) -> list[int]:
        """What works for a job on this machine, the JVM first; empty where nobody can tell."""
        if self._used is not None:
            leader = self._used.state.jvm_pid
        elif self.jvm is not None and self._place.local:
            leader = self.jvm.process.pid
        else:
            return []
        found = processes_of(leader, self._ready.pid if self._ready is not None else None)
        return sorted(found, key=lambda pid: pid != leader)

    def kill(self) -> None:
        """End a JVM that does not answer."""
        if self.jvm is not None:
            self.jvm.kill()

    def stop(self) -> None:
        """End the session in order and wait for the JVM, which writes its start-up cache now.

        Raises:
            SessionError: it does not end.
        """
        try:
            if self._session is not None:
                within(STOP_SECONDS, self._session.stop)
            if self.jvm is not None:
                self.jvm.end()
                self.jvm.process.wait(STOP_SECONDS)
        except (TimeoutError, subprocess.TimeoutExpired):
            raise SessionError(f"Spark did not end in {STOP_SECONDS:.0f} s") from None

    def close(self) -> None:
        """Let the JVM end and remove its folder; safe to call twice. A warm server stays."""
        if self._used is not None:
            self._used.close()
            self._used = None
        with _LOCK:
            if self in _CLASSIC:
                _CLASSIC.remove(self)
        if self.jvm is None:
            return
        jvm, self.jvm = self.jvm, None
        _quiet_accumulators()
        if self._place.local:  # it has nothing to tell anybody, and goes on for half a second
            jvm.kill()
        _forget_gateway()
        jvm.close()
        if self._ready is not None:
            self._ready.close()
            self._ready = None

    def _attach(self, compiled: bool) -> "SparkSession":
        assert self.jvm is not None
        import_started = time.monotonic()
        daemon = self._ready_daemon()
        from pyspark.sql import SparkSession  # 0.3 s that the JVM needs as well

        # Py4J tells the root logger of a Ctrl-C while it waits, which would print a traceback
        logging.getLogger().addHandler(logging.NullHandler())
        port, secret = java.gateway(
            self.jvm, java.START_SECONDS - (time.monotonic() - import_started)
        )
        self._port = port
        environment = same_code.environment() if self._place.local else {}
        settings = JOB_SETTINGS | LOCAL_SETTINGS if self._place.local else JOB_SETTINGS
        settings = settings | {
            "spark.master": self._place.master or "local[*]",
            "spark.executorEnv.NUMBA_CACHE_DIR": prepare(),
            f"spark.executorEnv.{COMPILED}": "1" if compiled else "0",
            **{f"spark.executorEnv.{name}": value for name, value in environment.items()},
            **daemon,
            "spark.sql.warehouse.dir": str(self.jvm.folder / "warehouse"),
            **self._settings,
        }
        given = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        if self._place.local:
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        watch = threading.Timer(SESSION_SECONDS, self.jvm.kill)
        watch.daemon = True
        watch.start()
        os.environ.update(given)
        try:
            builder: Any = SparkSession.builder
            for key, value in settings.items():
                builder = builder.config(key, value)
            return builder.getOrCreate()
        except Exception as problem:  # whatever Py4J and Spark raise: one line and the log
            kept = java.keep_log(self.jvm.log)
            where = f"; its log: {kept}" if kept else ""
            raise SessionError(f"Spark did not start: {first_line(problem)}{where}") from problem
        finally:
            watch.cancel()
            for key in given:
                os.environ.pop(key, None)

    def _ready_daemon(self) -> dict[str, str]:
        """Have a daemon ready for local workers; the setting that names it."""
        assert self.jvm is not None
        if not self.forks_workers or self.jvm.process.stdin is None:
            return {}
        try:
            self._ready = Ready(self.jvm.folder, [self.jvm.process.stdin.fileno()])
        except OSError:  # Spark's own will do
            return {}
        return {f"spark.executorEnv.{SOCKET}": str(self._ready.path)}

    def _connect(self) -> "SparkSession":
        assert self._place.remote is not None
        _knock(self._place.remote)
        try:
            session = _connected(self._place.remote)
            for key, value in JOB_SETTINGS.items():
                session.conf.set(key, value)
        except Exception as problem:
            raise SessionError(
                f"{self._place.remote}: no Spark Connect session: {first_line(problem)}"
            ) from problem
        return session


_SHARED: Final[dict[Place, Starting]] = {}

#: Of all that are not reached by URL the one that there is.
_CLASSIC: Final[list[Starting]] = []

_LOCK: Final = threading.RLock()


def shared(place: Place, note: Callable[[str], None] | None = None) -> Starting:
    """The session of this process for a place; started on first use, ended with the process.

    Without a master or a URL it is the warm server's, if one runs. One that runs other code than
    ours, after an edit or an upgrade, is replaced: that takes no longer than starting Spark.

    Raises:
        SessionError, java.JavaError: it cannot be started.
    """
    with _LOCK:
        if place in _SHARED:
            return _SHARED[place]
        used = server.use() if place == Place() else None
        if used is not None and not used.state.current:
            used.close()
            used = None
            if note is not None:
                note("the warm Spark server runs other code of seqaudit: replacing it")
            with contextlib.suppress(server.ServerError):  # then Spark is started as without one
                server.start()
                used = server.use()
        _SHARED[place] = Starting(place, used=used)
        return _SHARED[place]


def discard(place: Place) -> None:
    """Forget a session that is no longer good, so that the next job gets a new one."""
    with _LOCK:
        starting = _SHARED.pop(place, None)
    if starting is not None:
        starting.discard()


def _make_way(place: Place) -> "SparkSession | None":
    """End the session of another place; somebody else's session in this process, if it will do.

    Raises:
        SessionError: one has a job, or is not what is asked for.
    """
    wanted = place.master or "local[*]"
    for other in tuple(_CLASSIC):
        if other.busy:
            raise SessionError(
                f"this process runs a job on another Spark, and can have one; {wanted} after it"
            )
        for gone in [known for known, starting in _SHARED.items() if starting is other]:
            del _SHARED[gone]
        other.close()
    active = getattr(_spark_context(), "_active_spark_context", None)
    if active is None:
        return None
    master = str(active.master)
    if master != wanted and not (place.master is None and master.startswith("local")):
        raise SessionError(
            f"this process has a Spark on {master} already, and can have one; stop it for {wanted}"
        )
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate().newSession()
    for key, value in JOB_SETTINGS.items():
        session.conf.set(key, value)
    return session


def first_line(problem: BaseException) -> str:
    """The line of an exception that says something; Spark's are pages long. Of one of Java's that
    is the last cause with a text."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ").removeprefix(": ") for line in lines[1:]
              if line.startswith(("Caused by: ", ": "))]  # fmt: skip
    told = [cause for cause in causes if ": " in cause] or causes[-1:]
    if told and told[-1].endswith("invalid null input: name"):  # Hadoop's login
        return "this system has no name for this user, and Spark wants one"
    if told and lines[0].startswith("An error occurred while calling"):
        return told[-1][:300]
    return lines[0][:300] if lines else type(problem).__name__


def _connected(url: str) -> "SparkSession":
    """A session of a Connect server, by a client that leaves it alone when we end."""
    try:
        with pandas_late():  # half a second of the client's import
            from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as problem:
        raise SessionError(f"Spark Connect's client is incomplete: {first_line(problem)}") from None
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error says it too
    session = ConnectSession.builder.remote(url).create()
    session.release_session_on_close = False
    # As this process ends the client would ask the server to clear its cache of models, and go on
    # asking for ten minutes where it is gone.
    atexit.unregister(session.client._on_exit)
    return session


def _shared_session(state: server.State) -> "SparkSession":
    """The session that all commands share; another one if somebody has closed it.

    Raises:
        SessionError, ServerError: the server does not answer.
    """
    for last in (False, True):
        try:
            session: Any = _connected(state.url)
            session.client.set_retry_policies([_few_retries()])
            # the first question; a closed session refuses it
            within(ANSWER_SECONDS, partial(getattr, session, "version"))
            return cast("SparkSession", session)
        except SessionError:
            raise
        except TimeoutError:
            raise SessionError(
                f"the warm Spark server does not answer in {ANSWER_SECONDS:.0f} s; "
                "seqaudit spark stop ends it"
            ) from None
        except Exception as problem:
            if last or "SESSION" not in str(problem):
                raise SessionError(
                    f"the warm Spark server does not answer: {first_line(problem)}"
                ) from problem
            state = server.new_session(state)
    raise AssertionError("the loop returns or raises")


def within(seconds: float, ask: Callable[[], object]) -> None:
    """Ask something of a process that may not answer; what it raises is raised.

    Raises:
        TimeoutError: no answer came; nobody waits for it any more.
    """
    problems: list[BaseException] = []

    def run() -> None:
        try:
            ask()
        except BaseException as problem:
            problems.append(problem)

    asking = threading.Thread(target=run, name="seqaudit-question", daemon=True)
    asking.start()
    asking.join(seconds)
    if asking.is_alive():
        raise TimeoutError
    if problems:
        raise problems[0]


def _few_retries() -> Any:
    """The client would try for ten minutes; what is on this machine answers soon or not at all."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    return DefaultPolicy(max_retries=3)  # in one second


def _knock(remote: str) -> None:
    """Whether anything listens at a Connect URL: the client itself would try for ten minutes."""
    try:
        place = urlsplit(remote)
        if place.scheme != "sc" or place.hostname is None:
            raise SessionError(f"{remote}: is no Spark Connect URL; write sc://HOST:PORT")
        address = (place.hostname, place.port or CONNECT_PORT)
        socket.create_connection(address, KNOCK_SECONDS).close()
    except (OSError, ValueError) as problem:
        raise SessionError(
            f"{remote}: no Spark Connect server answers ({problem}); check the address"
        ) from problem


def _listens(port: int) -> bool:
    """Whether somebody listens at a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), KNOCK_SECONDS).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True


def _spark_context() -> Any:
    """PySpark's class of contexts if there is a gateway, which it holds; else null."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return context if getattr(context, "_gateway", None) is not None else None


def _quiet_accumulators() -> None:
    """Keep PySpark's thread from printing that the JVM has gone: that is how we end."""
    active = getattr(_spark_context(), "_active_spark_context", None)
    accumulators = getattr(active, "_accumulatorServer", None)
    if accumulators is not None:
        accumulators.handle_error = lambda request, client_address: None


def _forget_gateway() -> None:
    """Have PySpark make a new gateway for the next session."""
    context = _spark_context()
    if context is None:
        return
    with contextlib.suppress(Exception):
        context._gateway.shutdown()
    context._gateway = context._jvm = context._active_spark_context = None
    session = sys.modules["pyspark.sql"].SparkSession if "pyspark.sql" in sys.modules else None
    if session is not None:
        session._instantiatedSession = None
