"""One warm Spark for all commands of a user: finding, starting and ending it (design 3.5).

``seqaudit spark start`` starts a keeper (``pipeline.keeper``): a process that holds a local Spark
with a Connect server on this machine's loopback and ends both when nobody has used them for long.
Commands find it by a state file in a private folder, one folder an installation. They share one
session of it, so its Python workers stay ready. Nothing here imports Spark.

Three files beside the state are only locked, never read. A lock goes with its process, so nothing
has to be cleaned up after a crash: ``keeper.lock`` is held by the keeper while it lives,
``use.lock`` is shared by the commands that use it (its time stamp says when the last one did), and
``start.lock`` makes two starts one after the other.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Final

from seqaudit.decoders.errors import SeqauditError
from seqaudit.pipeline.java import cache_folder, log_tail, processes_of

try:
    import fcntl
except ImportError:  # no such system can keep a server, all else works
    fcntl = None  # type: ignore[assignment]

#: A server that nobody has used for so long ends itself.
IDLE_SECONDS: Final = 3600.0

#: How long a server may take to come up, and to end.
START_SECONDS: Final = 120.0
STOP_SECONDS: Final = 20.0

POLL_SECONDS: Final = 0.05

STATE: Final = "server.json"
LOG: Final = "server.log"
KEEPER_LOCK: Final = "keeper.lock"
USE_LOCK: Final = "use.lock"
START_LOCK: Final = "start.lock"


class ServerError(SeqauditError):
    """The warm server cannot be started, reached or ended."""


@dataclass(frozen=True, slots=True)
class State:
    """What the keeper tells about its server."""

    pid: int  # of the keeper
    jvm_pid: int
    port: int  # on the loopback interface
    token: str  # who knows it may use the server
    session: str  # UUID of the session that all commands share
    code: str  # code_fingerprint() of the workers
    version: str
    java: str
    started_at: float  # seconds since the epoch
    idle_seconds: float

    @property
    def url(self) -> str:
        """What a Connect client is given; with a token it talks to "localhost" only."""
        return (
            f"sc://localhost:{self.port}/;token={self.token};user_id=seqaudit"
            f";session_id={self.session}"
        )

    @property
    def current(self) -> bool:
        """Whether its workers run the code of this process."""
        return self.code == code_fingerprint()


@dataclass(slots=True)
class Use:
    """A command's hold on the server: while it lives, the server does not end as idle."""

    state: State
    _lock: IO[bytes]

    def close(self) -> None:
        self._lock.close()


def code_fingerprint() -> str:
    """Hash of what a worker runs: version, the sources of all packages, Python."""
    from importlib.metadata import version

    digest = hashlib.sha256(f"{version('seqaudit')} {sys.version} {sys.executable}".encode())
    root = Path(__file__).parent.parent
    for package in ("decoders", "pipeline", "replay"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def folder() -> Path:
    """This installation's private folder; made if it is not there.

    Raises:
        ServerError: it cannot be made, or is another user's.
    """
    key = hashlib.sha256(f"{sys.executable}\0{Path(__file__).parent}".encode()).hexdigest()[:16]
    path = cache_folder() / f"server-{key}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)  # fails if it is somebody else's
    except OSError as problem:
        raise ServerError(
            f"{path}: cannot be a private folder ({problem.strerror}); set XDG_CACHE_HOME"
        ) from problem
    return path


def running() -> State | None:
    """The server that runs, whatever code it has; what a crashed one left behind is removed."""
    if fcntl is None:
        return None
    try:
        place = folder()
        if not (place / STATE).exists():
            return None
        if not _keeper_lives():
            (place / STATE).unlink(missing_ok=True)
            return None
        return State(**json.loads((place / STATE).read_text()))
    except (ServerError, OSError, ValueError, TypeError):  # going down, or not ours to read
        return None


def use() -> Use | None:
    """A hold on the server if one runs, with this process's code or not."""
    if running() is None:
        return None
    lock = (folder() / USE_LOCK).open("ab")
    for _ in range(3):  # the keeper has it for a moment when it looks whether anybody has
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            state = running()
            if state is None:
                break
            os.utime(lock.fileno())
            return Use(state, lock)
        time.sleep(POLL_SECONDS)
    lock.close()
    return None


def start(idle_seconds: float = IDLE_SECONDS) -> tuple[State, bool]:
    """The server, and whether it was started now; one with other code is replaced.

    Raises:
        ServerError: it did not come up; one line with the end of its log.
    """
    if fcntl is None:
        raise ServerError("a warm Spark server needs file locks, which this system has not")
    place = folder()
    with _lock(place / START_LOCK, wait=True):
        state = running()
        if state is not None and state.current:
            return state, False
        if state is not None:
            _end(state)
        return _launch(place, idle_seconds), True


def stop() -> bool:
    """End the server and all its processes; whether there was one.

    Raises:
        ServerError: it did not end.
    """
    if fcntl is None:
        return False
    with _lock(folder() / START_LOCK, wait=True):
        state = running()
        if state is not None:
            _end(state)
        return state is not None


def new_session(old: State) -> State:
    """The server with another session for all commands, as the shared one has been closed."""
    place = folder()
    with _lock(place / START_LOCK, wait=True):
        now = running()
        if now is None:
            raise ServerError("the Spark server has ended")
        if now.session == old.session:
            now = replace(now, session=str(uuid.uuid4()))
            write_state(place, now)
        return now


def write_state(place: Path, state: State) -> None:
    """Put the state where commands look, whole at once."""
    new = place / f"{STATE}.{os.getpid()}"
    new.touch(mode=0o600)
    new.write_text(json.dumps(asdict(state)))
    new.replace(place / STATE)


def memory_bytes(state: State) -> int | None:
    """Resident memory of the keeper, its JVM and the Python workers; null where none can tell."""
    pages = 0
    for pid in (state.pid, *processes_of(state.jvm_pid)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") if pages else None


def _launch(place: Path, idle_seconds: float) -> State:
    log = place / LOG
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "seqaudit.pipeline.keeper", str(idle_seconds)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",  # it outlives the folder that we are in
            start_new_session=True,  # and our terminal
        )
    deadline = time.monotonic() + START_SECONDS
    try:
        while True:
            state = running()
            if state is not None:
                keeper.returncode = 0  # it outlives us: Popen shall not complain about that
                return state
            if keeper.poll() is not None:
                raise ServerError(f"the Spark server did not start: {log_tail(log, 1) or log}")
            if time.monotonic() > deadline:
                raise ServerError(f"the Spark server gave no sign of life; its log: {log}")
            time.sleep(POLL_SECONDS)
    except BaseException:
        keeper.terminate()
        raise


def _end(state: State) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)  # its lock is held, so the number is still its own
    deadline = time.monotonic() + STOP_SECONDS
    while _keeper_lives() or processes_of(state.jvm_pid):
        if time.monotonic() > deadline:
            raise ServerError(f"the Spark server (process {state.pid}) does not end; kill it")
        time.sleep(POLL_SECONDS)


def _keeper_lives() -> bool:
    with _lock(folder() / KEEPER_LOCK) as lock:
        return lock is None


@contextlib.contextmanager
def _lock(path: Path, *, wait: bool = False) -> Iterator[IO[bytes] | None]:
    """An exclusive lock on a file; null if another has it and we do not wait."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            yield None
            return
        yield file
