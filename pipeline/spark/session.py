"""Spark sessions: local ones started by us, and others reached by URL (pipeline/README.md 3).

A local session costs 3 to 8 s. At the end nobody calls its ``stop()``, which takes another: its JVM
is killed with its workers and its folder removed; it would also end with our end of its stdin, as
it does if we are killed.

PySpark knows of one Spark in a process, whatever it is asked for. So a session of another place
ends the one there was; and in a process that has a Spark of its own, that one is used where it is
what was asked for, and left as it was.
"""

import atexit
import contextlib
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.kernels.loader import prepare
from seqaudit.pipeline.shared import private_files
from seqaudit.pipeline.shared.processes import environment
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.pipeline.shared.storage import spark_defaults
from seqaudit.pipeline.spark import java
from seqaudit.pipeline.spark.knock import (
    KNOCK_SECONDS,
    NAME,
    SessionError,
    knock_at_master,
    knock_at_server,
)
from seqaudit.pipeline.spark.shipped_code import archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds until the session of a started JVM must be there.
SESSION_SECONDS: Final = 90.0

#: The same where YARN lets applications wait for each other.
QUEUE_SECONDS: Final = 600.0

#: How long a Connect server may take to let go of a session.
RELEASE_SECONDS: Final = 5.0

#: What every session of ours is given; the job relies on the Arrow limits for its memory.
JOB_SETTINGS: Final = {
    "spark.sql.adaptive.enabled": "false",  # one job shows as one; no difference in time
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.sql.session.timeZone": "UTC",
}

RESULT_LIMIT: Final = "spark.driver.maxResultSize"

#: A local session besides: nothing listens beyond this machine, nobody without the session's own
#: secret is listened to, and nothing but us prints.
LOCAL_SETTINGS: Final = {
    "spark.app.name": "seqaudit",
    "spark.authenticate": "true",  # Spark makes the secret; it is known to this session only
    "spark.ui.enabled": "false",
    "spark.log.level": "FATAL",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.daemon.module": "seqaudit.pipeline.spark.daemon",
}


#: A Python of workers and archives that are unpacked beside them, as Spark calls them, and what a
#: Connect session calls the former.
PYTHON: Final = "spark.pyspark.python"
ARCHIVES: Final = "spark.archives"
CONNECT_PYTHON: Final = "spark.sql.execution.pyspark.python"


def about(captures: Sequence[str]) -> str:
    """What an operator of a cluster reads of a job: whose, and which captures."""
    first = captures[0].rpartition("/")[2] if captures else ""
    more = f" and {len(captures) - 1:,} more" if len(captures) > 1 else ""
    return f"{NAME}: {first[:60]}{more}" if first else NAME


class Session:
    """A session: ``spark`` is PySpark's; ``close`` lets go of it."""

    def __init__(self, place: SparkAddress, name: str = NAME) -> None:
        """Start it.

        Raises:
            SessionError, java.JavaError: it cannot be started or reached; one line each.
        """
        self.place = place
        self.name = name  # what is shown of its next jobs
        self.jvm: java.Jvm | None = None
        self._port = 0  # of the gateway of a JVM of our own
        self._is_lent = False
        self.explain: Callable[[], str | None] = lambda: None  # why a job failed, if it is known
        self.shipped = ""  # our code as workers elsewhere have it, in the folder of each
        self._shipped: private_files.PrivatePath | None = None
        try:
            self.spark = self._spark()
        except BaseException:
            self.close()
            raise
        atexit.register(self.close)

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

    def kill(self) -> None:
        """End a JVM that does not answer."""
        if self.jvm is not None:
            self.jvm.kill()

    def close(self) -> None:
        """End a JVM of our own and remove its folder, let go of a server; safe to call twice."""
        if self._is_lent:
            self._is_lent = False
            with contextlib.suppress(Exception):  # it has gone, or takes long
                within(RELEASE_SECONDS, self.spark.stop)
        if self._shipped is not None:
            self._shipped.remove()
        if self.jvm is None:
            return
        jvm, self.jvm = self.jvm, None
        _quiet_accumulators()
        if self.place.local:  # it has nothing to tell anybody, and goes on for half a second
            jvm.kill()
        _forget_gateway()
        jvm.close()

    def _spark(self) -> "SparkSession":
        if self.place.remote is not None:
            connected: Any = _connected(self.place.remote, self.place.settings)
            self._is_lent = "session_id=" not in self.place.remote  # else others go on with it
            self._ship(lambda path: connected.addArtifacts(path, pyfile=True))
            return connected
        session: Any = _theirs(self.place)
        if session is None:
            knock_at_master(self.place.master or "")
            runtime = java.find_java()
            given = dict(self.place.settings)
            if not self.place.local:  # what YARN and Kubernetes need besides, spark-submit adds
                given["spark.master"] = self.place.master or ""
            with interrupts.held_back():
                self.jvm = java.launch(runtime, given)
            session = self._attached(self.jvm)
        if not self.place.local:
            self._ship(session.sparkContext.addPyFile)
        return session

    def _ship(self, add: Callable[[str], object]) -> None:
        """Have workers elsewhere run the code that runs here."""
        self._shipped = private_files.make_folder()  # until the end: workers fetch it late
        try:
            code = archive(self._shipped.path)
            add(str(code))
            self.shipped = code.name
        except Exception as problem:
            raise SessionError(f"Spark takes no code of ours: {first_line(problem)}") from problem

    def _attached(self, jvm: java.Jvm) -> "SparkSession":
        import_started = time.monotonic()
        from pyspark.sql import SparkSession  # 0.3 s that the JVM needs as well

        # Py4J tells the root logger of a Ctrl-C while it waits, which would print a traceback
        logging.getLogger().addHandler(logging.NullHandler())
        port, secret = java.gateway(jvm, java.START_SECONDS - (time.monotonic() - import_started))
        self._port = port
        given = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        os.environ.pop("SPARK_REMOTE", None)  # it would go before the master that is asked for
        if self.place.local:
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        elif python := dict(self.place.settings).get(PYTHON):  # as spark-submit has it
            os.environ["PYSPARK_PYTHON"] = python
        waited = threading.Event()

        def give_up() -> None:
            waited.set()
            jvm.kill()

        seconds = QUEUE_SECONDS if self.place.master == "yarn" else SESSION_SECONDS
        watch = threading.Timer(seconds, give_up)
        watch.daemon = True
        watch.start()
        os.environ.update(given)
        try:
            builder: Any = SparkSession.builder
            for key, value in self._settings(jvm).items():
                builder = builder.config(key, value)
            return builder.getOrCreate()
        except Exception as problem:  # whatever Py4J and Spark raise: one line and the log
            kept = java.keep_log(jvm.log)
            where = f"; its log: {kept}" if kept else ""
            why = f"no answer in {seconds:.0f} s" if waited.is_set() else first_line(problem)
            raise SessionError(
                f"Spark did not start: {why}{where}; --engine direct needs none"
            ) from problem
        finally:
            watch.cancel()
            for key in given:
                os.environ.pop(key, None)

    def _settings(self, jvm: java.Jvm) -> dict[str, str]:
        settings = JOB_SETTINGS | {
            "spark.master": self.place.master or "local[*]",
            "spark.sql.warehouse.dir": str(jvm.folder / "warehouse"),
            "spark.ui.showConsoleProgress": "false",  # whoever reads its log reads what went wrong
        }
        if self.place.local:
            settings |= LOCAL_SETTINGS | {"spark.executorEnv.NUMBA_CACHE_DIR": prepare()}
            settings |= {f"spark.executorEnv.{k}": value for k, value in environment().items()}
        else:
            settings |= {"spark.app.name": self.name}
        if RESULT_LIMIT not in dict(spark_defaults()):
            settings[RESULT_LIMIT] = "0"  # findings and gaps are capped per stream, not per job
        return settings | dict(self.place.settings)


_SHARED: Final[dict[SparkAddress, Session]] = {}

_LOCK: Final = threading.RLock()


def shared(place: SparkAddress, name: str = NAME) -> Session:
    """The session of this process for a place; started on first use, ended with the process.

    Args:
        name: what a cluster calls one that is started now.

    Raises:
        SessionError, java.JavaError: it cannot be started.
    """
    with _LOCK:
        if place not in _SHARED:
            for other in [known for known in _SHARED if not (known.remote or place.remote)]:
                discard(other)
            _SHARED[place] = Session(place, name)
        return _SHARED[place]


def discard(place: SparkAddress) -> None:
    """End a session that is no longer good or wanted, so that the next job gets a new one."""
    with _LOCK:
        session = _SHARED.pop(place, None)
    if session is not None:
        session.close()


def _theirs(place: SparkAddress) -> "SparkSession | None":
    """Somebody else's session in this process, if there is one and it will do.

    Raises:
        SessionError: it is not what is asked for.
    """
    active = getattr(_spark_context(), "_active_spark_context", None)
    if active is None:
        return None
    master, wanted = str(active.master), place.master or "local[*]"
    if master != wanted and not (place.master is None and master.startswith("local")):
        raise SessionError(
            f"this process has a Spark on {master} already, and can have one; stop it for {wanted}"
        )
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate().newSession()
    for key, value in JOB_SETTINGS.items():
        session.conf.set(key, value)
    return session


def _connected(url: str, settings: Iterable[tuple[str, str]] = ()) -> "SparkSession":
    """A session of a Connect server.

    Raises:
        SessionError: nobody answers there, or the client is not installed.
    """
    try:
        from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as problem:
        raise SessionError(
            f"--remote needs Spark Connect's client ({first_line(problem)}); "
            "pip install 'seqaudit[connect]'"
        ) from None
    knock_at_server(url)
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error says it too
    try:
        session = ConnectSession.builder.remote(url).create()
        # As this process ends the client would ask the server to clear its cache of models, and go
        # on asking for ten minutes where it is gone.
        atexit.unregister(session.client._on_exit)
        for key, value in JOB_SETTINGS.items():
            session.conf.set(key, value)
    except Exception as problem:
        raise SessionError(f"{url}: no Spark Connect session: {first_line(problem)}") from problem
    for key, value in settings:
        try:
            if key == ARCHIVES:
                session.addArtifacts(*value.split(","), archive=True)
            else:
                session.conf.set(CONNECT_PYTHON if key == PYTHON else key, value)
        except Exception as problem:
            raise SessionError(
                f"--spark-conf {key}: {url} does not take it ({first_line(problem)}); give it to "
                "the server as it starts"
            ) from problem
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


def in_the_clear(remote: str) -> bool:
    """Whether what goes to a Connect server can be read and changed on its way: another host, and
    no TLS (a token implies it)."""
    try:
        place = urlsplit(remote)
    except ValueError:
        return False  # no URL at all is said where it is used
    settings = dict(
        part.partition("=")[::2] for part in place.path.lstrip("/").split(";") if "=" in part
    )
    if settings.get("use_ssl", "").lower() == "true" or settings.get("token"):
        return False
    host = place.hostname or ""
    return host not in ("", "localhost", "::1") and not re.fullmatch(r"127(\.\d+){3}", host)


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
