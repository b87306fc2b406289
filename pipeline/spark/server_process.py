"""The process behind ``seqaudit spark start``: a local Spark with a Connect server (design 3.5).

It holds the JVM by its stdin, so the JVM and its Python workers end with it however it ends. It
ends itself on SIGTERM, when Spark is gone, when no command has used the server for long, and when
none can find it any more.
"""

import contextlib
import fcntl
import os
import signal
import sys
import time
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Final

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.pipeline.spark.java import Jvm
from seqaudit.pipeline.spark.server import (
    KEEPER_LOCK,
    STATE,
    USE_LOCK,
    ServerError,
    State,
    code_fingerprint,
    folder,
    locked,
    write_state,
)
from seqaudit.pipeline.spark.session import Place, Starting

LOOK_SECONDS: Final = 5.0

#: A command that looks whether a keeper lives has its lock for a moment.
LOCK_SECONDS: Final = 2.0

#: The Connect server inside the local Spark, as ``SparkSession.builder.remote("local")`` has it.
CONNECT_SETTINGS: Final = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",  # any free one
    "spark.connect.session.manager.defaultSessionTimeout": "7d",
}


def keep(idle_seconds: float) -> None:
    """Start a server and keep it until it is told to end or nobody uses it.

    Raises:
        SeqauditError: Java or Spark did not start; one line.
    """
    place = folder()
    with locked(place / KEEPER_LOCK, LOCK_SECONDS) as lock:
        if lock is None:
            raise ServerError("another process keeps a Spark server already")
        for number in interrupts.ENDINGS:  # also what whoever started the server has switched off
            signal.signal(number, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            with contextlib.suppress(OSError):  # for who ends a server that comes up
                lock.truncate(0)
                lock.write(str(os.getpid()).encode())
                lock.flush()
            _keep(place, idle_seconds)


def _keep(place: Path, idle_seconds: float) -> None:
    # The server starts workers by the JVM's own environment, whatever its commands have.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    code = code_fingerprint()  # before anything of it runs: an edit from here on is seen
    token = uuid.uuid4().hex
    starting = Starting(
        Place(), settings=CONNECT_SETTINGS | {"spark.connect.authenticate.token": token}
    )
    try:
        spark = starting.session(compiled=True)
        jvm = starting.jvm
        assert jvm is not None
        state = State(
            pid=os.getpid(),
            jvm_pid=jvm.process.pid,
            port=_port(spark),
            token=token,
            session=str(uuid.uuid5(uuid.NAMESPACE_OID, code + token)),
            code=code,
            version=version("seqaudit"),
            java=jvm.java.release,
            started_at=time.time(),
            idle_seconds=idle_seconds,
        )
        (place / USE_LOCK).touch()
        write_state(place, state)
        _wait(place / USE_LOCK, idle_seconds, jvm)
    finally:
        interrupts.no_more()
        (place / STATE).unlink(missing_ok=True)
        starting.close()


def _wait(path: Path, seconds: float, jvm: Jvm) -> None:
    """Until Spark is gone, or no command can find the server, or none has used it for so long."""
    state = path.parent / STATE
    with path.open("ab") as lock:
        while jvm.process.poll() is None and state.exists():
            if not _free(lock):
                os.utime(lock.fileno())
            elif time.time() - os.fstat(lock.fileno()).st_mtime > seconds:
                state.unlink(missing_ok=True)  # while no command can come in
                return
            else:
                fcntl.flock(lock, fcntl.LOCK_UN)
            time.sleep(min(LOOK_SECONDS, seconds / 4))


def _free(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _port(spark: Any) -> int:
    service: Any = getattr(
        spark.sparkContext._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$"
    )
    return int(getattr(service, "MODULE$").localPort())


if __name__ == "__main__":
    try:
        keep(float(sys.argv[1]))
    except SeqauditError as problem:
        sys.exit(str(problem))
