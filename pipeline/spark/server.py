"""One warm Spark for all commands of a user: finding, starting and ending it (design 3.5).

``seqaudit spark start`` starts a keeper (``pipeline.spark.server_process``): a process that holds a
local Spark with a Connect server on this machine's loopback and ends both when nobody has used them
for long. Commands find it by a state file in a private folder, one folder an installation. They
share one session of it, so its Python workers stay ready. Nothing here imports Spark.

Three files beside the state are there to be locked. A lock goes with its process, so nothing has to
be cleaned up after a crash: ``keeper.lock`` is held by the keeper while it lives, and has its
number; ``use.lock`` is shared by the commands that use it (its time stamp says when the last one
did), and ``start.lock`` makes two starts one after the other.
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

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.kernels.cache_folders import cache_folder
from seqaudit.pipeline.spark import worker_environment as same_code
from seqaudit.pipeline.spark.java import log_tail
from seqaudit.pipeline.spark.proc import processes_of

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

    digest = hashlib.sha256(f"{version('seqaudit')} {sys.version} {_environment()}".encode())
    root = Path(__file__).parents[2]
    for package in ("decoders", "pipeline", "replay"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def folder() -> Path:
    """This installation's private folder; made if it is not there.

    Raises:
        ServerError: it cannot be made, or is another user's.
    """
    key = hashlib.sha256(f"{_environment()}\0{Path(__file__).parent}".encode()).hexdigest()[:16]
    path = cache_folder() / f"server-{key}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)  # fails if it is somebody else's
    except OSError as problem:
        raise ServerError(
            f"{path}: cannot be a private folder ({problem.strerror}); set XDG_CACHE_HOME"
        ) from problem
    return path


def _environment() -> str:
    """The environment of this Python, by whichever of its names and paths Python was called: the
    ``seqaudit`` in it has another name for it than who types ``python -m``."""
    return os.path.normpath(sys.prefix)


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
    try:
        lock = (folder() / USE_LOCK).open("ab")
    except (ServerError, OSError):  # it goes down, or the disk takes no files
        return None
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
    with _one_at_a_time(place):
        state = _settled()
        if state is not None and state.current:
            return state, False
        _end()
        return _launch(place, idle_seconds), True


def stop() -> bool:
    """End the server and all its processes; whether there was one.

    Raises:
        ServerError: it did not end.
    """
    if fcntl is None:
        return False
    with _one_at_a_time(folder()):
        return _end()


def new_session(old: State) -> State:
    """The server with another session for all commands, as the shared one has been closed."""
    place = folder()
    with _one_at_a_time(place):
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


@contextlib.contextmanager
def locked(path: Path, seconds: float = 0.0, kind: int | None = None) -> Iterator[IO[bytes] | None]:
    """A lock on a file, exclusive if not said otherwise; null if another has it for so long.

    Raises:
        ServerError: files cannot be locked there.
    """
    if fcntl is None:  # each for itself
        yield path.open("ab")
        return
    deadline = time.monotonic() + seconds
    try:
        file = path.open("ab")
    except OSError as problem:
        raise ServerError(
            f"{path}: cannot be written ({problem.strerror}); set XDG_CACHE_HOME"
        ) from problem
    with file:
        while True:
            try:
                fcntl.flock(file, (kind or fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield None
                    return
                time.sleep(POLL_SECONDS)
            except OSError as problem:
                raise ServerError(f"{path}: cannot be locked ({problem.strerror})") from problem
            else:
                break
        try:
            yield file
        finally:  # a process forked meanwhile has the file open as well
            fcntl.flock(file, fcntl.LOCK_UN)


def _launch(place: Path, idle_seconds: float) -> State:
    log = place / LOG
    try:
        with interrupts.held_back(), log.open("wb") as output:
            keeper = subprocess.Popen(
                [sys.executable, "-m", "seqaudit.pipeline.spark.server_process", str(idle_seconds)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",  # it outlives the folder that we are in
                env=same_code.whole_environment(),
                start_new_session=True,  # and our terminal
            )
    except OSError as problem:
        raise ServerError(f"the Spark server cannot be started: {problem}") from problem
    except KeyboardInterrupt:
        _end()
        raise
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
        try:
            keeper.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill()
        raise


def _settled() -> State | None:
    """The server that runs, or none; one that comes up or goes down is waited for. (Whoever started
    it may have been killed.)"""
    deadline = time.monotonic() + START_SECONDS
    while True:
        state = running()
        if state is not None or not _keeper_lives() or time.monotonic() > deadline:
            return state
        time.sleep(POLL_SECONDS)


def _end() -> bool:
    """End the keeper, in order or not, and all processes of its server; whether there was one."""
    if not _keeper_lives():
        return False
    state = running()
    pid = state.pid if state is not None else _keeper_number()
    leader = state.jvm_pid if state is not None else 0
    for number in (signal.SIGTERM, signal.SIGKILL):  # it may be stopped, or stuck
        if number == signal.SIGKILL and leader:
            for process in processes_of(leader):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)
        if pid and _keeper_lives():  # its lock is held, so the number is still its own
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            if not _keeper_lives() and not (leader and processes_of(leader)):
                return True
            time.sleep(POLL_SECONDS)
    raise ServerError(f"the Spark server (process {pid or 'unknown'}) does not end; kill it")


def _keeper_number() -> int:
    """The process that holds the keeper's lock, 0 if it did not say."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder() / KEEPER_LOCK).read_text())
    return 0


def _keeper_lives() -> bool:
    # a lock that others who look can have as well: they are not to be taken for the keeper
    with locked(folder() / KEEPER_LOCK, kind=fcntl.LOCK_SH) as lock:
        return lock is None


@contextlib.contextmanager
def _one_at_a_time(place: Path) -> Iterator[None]:
    """One command at a time starts or ends the server.

    Raises:
        ServerError: another one does, and does not come to an end.
    """
    seconds = START_SECONDS + 2 * STOP_SECONDS
    with locked(place / START_LOCK, seconds) as lock:
        if lock is None:
            raise ServerError(
                "another command has been starting or ending the Spark server for "
                f"{seconds:.0f} s; end that one"
            )
        yield
