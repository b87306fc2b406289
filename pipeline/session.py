"""Spark sessions: local ones started by us, and others reached by URL (design 3.5, PIPELINE 4).

A local session costs 3 to 8 s from nothing. So the JVM is started first (``begin``), and while it
comes up the driver plans, compiles kernels and imports PySpark; ``Starting.session`` waits for it.
At the end nobody calls ``stop()``: it takes a second, and the JVM ends with our end of its stdin.
"""

import atexit
import contextlib
import os
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from seqaudit.decoders.errors import SeqauditError
from seqaudit.decoders.kernels import prepare
from seqaudit.pipeline import java
from seqaudit.pipeline.warm import COMPILED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds until the session of a started JVM must be there.
SESSION_SECONDS: Final = 90.0

#: Where a Connect server listens if the URL does not say, and how long it may take to answer.
CONNECT_PORT: Final = 15002
KNOCK_SECONDS: Final = 10.0

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
    "spark.python.daemon.module": "seqaudit.pipeline.daemon",
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
        self, place: Place, *, cache: Path | None = None, make_cache: bool = False
    ) -> None:
        """Start; ``make_cache`` writes the start-up cache to ``cache`` when the session ends."""
        self._place = place
        self._jvm: java.Jvm | None = None
        self._session: SparkSession | None = None
        self.folder = Path.cwd()  # what relative paths mean to local workers
        if place.remote is None:
            runtime = java.find_java()
            if cache is None and place.local:
                known = java.cache_file(runtime)
                cache = known if known.is_file() else None
            self._jvm = java.launch(runtime, cache=cache, make_cache=make_cache)
            atexit.register(self.close)

    def session(self, *, compiled: bool = False) -> "SparkSession":
        """The session, once it is there.

        Args:
            compiled: its first job wants compiled kernels, so workers start with them.

        Raises:
            SessionError, java.JavaError: it could not be had; one line each.
        """
        if self._session is None:
            self._session = self._connect() if self._place.remote else self._attach(compiled)
        return self._session

    def kill(self) -> None:
        """End a JVM that does not answer."""
        if self._jvm is not None:
            self._jvm.kill()

    def stop(self) -> None:
        """End the session in order and wait for the JVM, which writes its start-up cache now."""
        if self._session is not None:
            self._session.stop()
        if self._jvm is not None:
            self._jvm.end()
            self._jvm.process.wait(timeout=300)

    def close(self) -> None:
        """Let the JVM end and remove its folder; safe to call twice."""
        if self._jvm is None:
            return
        jvm, self._jvm = self._jvm, None
        _quiet_gateway()
        jvm.close()

    def _attach(self, compiled: bool) -> "SparkSession":
        assert self._jvm is not None
        import_started = time.monotonic()
        from pyspark.sql import SparkSession  # 0.3 s that the JVM needs as well

        port, secret = java.gateway(
            self._jvm, java.START_SECONDS - (time.monotonic() - import_started)
        )
        settings = JOB_SETTINGS | LOCAL_SETTINGS if self._place.local else JOB_SETTINGS
        settings = settings | {
            "spark.master": self._place.master or "local[*]",
            "spark.executorEnv.NUMBA_CACHE_DIR": prepare(),
            f"spark.executorEnv.{COMPILED}": "1" if compiled else "0",
            "spark.sql.warehouse.dir": str(self._jvm.folder / "warehouse"),
        }
        given = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        if self._place.local:
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        watch = threading.Timer(SESSION_SECONDS, self._jvm.kill)
        watch.daemon = True
        watch.start()
        os.environ.update(given)
        try:
            builder: Any = SparkSession.builder
            for key, value in settings.items():
                builder = builder.config(key, value)
            return builder.getOrCreate()
        except Exception as problem:  # whatever Py4J and Spark raise: one line and the log
            kept = java.keep_log(self._jvm.log)
            where = f"; its log: {kept}" if kept else ""
            raise SessionError(f"Spark did not start: {first_line(problem)}{where}") from problem
        finally:
            watch.cancel()
            for key in given:
                os.environ.pop(key, None)

    def _connect(self) -> "SparkSession":
        assert self._place.remote is not None
        _knock(self._place.remote)
        try:
            from pyspark.sql.connect.session import SparkSession as ConnectSession
        except ImportError as problem:
            raise SessionError(
                f"--remote needs Spark Connect's client ({first_line(problem)}); "
                "pip install 'seqaudit[connect]'"
            ) from problem
        try:
            session = ConnectSession.builder.remote(self._place.remote).getOrCreate()
            for key, value in JOB_SETTINGS.items():
                session.conf.set(key, value)
        except Exception as problem:
            raise SessionError(
                f"{self._place.remote}: no Spark Connect session: {first_line(problem)}"
            ) from problem
        return session


_SHARED: Final[dict[Place, Starting]] = {}


def shared(place: Place) -> Starting:
    """The session of this process for a place; started on first use, ended with the process.

    Raises:
        SessionError, java.JavaError: it cannot be started.
    """
    if place not in _SHARED:
        _SHARED[place] = Starting(place)
    return _SHARED[place]


def discard(place: Place) -> None:
    """Forget a session that is no longer good, so that the next job gets a new one."""
    starting = _SHARED.pop(place, None)
    if starting is not None:
        starting.close()


def first_line(problem: BaseException) -> str:
    """The first line of an exception that says something; Spark's are pages long."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(problem).__name__


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


def _quiet_gateway() -> None:
    """Keep PySpark's threads from printing that the JVM has gone: that is how we end."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if context is None or getattr(context, "_gateway", None) is None:
        return
    active = context._active_spark_context
    server = getattr(active, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, client_address: None
    with contextlib.suppress(Exception):
        context._gateway.shutdown()
    context._gateway = context._jvm = context._active_spark_context = None
    session = sys.modules["pyspark.sql"].SparkSession if "pyspark.sql" in sys.modules else None
    if session is not None:
        session._instantiatedSession = None
