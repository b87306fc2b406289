"""The warm server: found, shared, replaced after an edit, gone when told or killed (design 3.5)."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seqaudit.decoders.kernels.loader import prepare
from seqaudit.pipeline.audit import Options, audit
from seqaudit.pipeline.plan import CaptureInput
from seqaudit.pipeline.report.build import to_json
from seqaudit.pipeline.spark import server, session
from seqaudit.pipeline.spark import server_process as keeper
from seqaudit.pipeline.spark.proc import processes_of
from seqaudit.pipeline.spark.progress import CancelledError, JobError, Silent, run_watched
from seqaudit.pipeline.spark.session import Place, discard, shared

STATE = server.State(
    pid=1,
    jvm_pid=2,
    port=3,
    token="t",
    session="s",
    code="c",
    version="v",
    java="j",
    started_at=0.0,
    idle_seconds=9.0,
)


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of servers that nobody else uses."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", prepare())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return server.folder()


def test_the_folder_is_private(own_folder: Path) -> None:
    assert own_folder.stat().st_mode & 0o777 == 0o700
    server.write_state(own_folder, STATE)
    assert (own_folder / server.STATE).stat().st_mode & 0o777 == 0o600


def test_python_by_another_path_is_the_same_installation(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = server.code_fingerprint()
    python = Path(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python.parent / ".." / "bin" / python.name))
    assert server.folder() == own_folder
    assert server.code_fingerprint() == code


def test_what_a_crashed_server_left_behind_is_removed(own_folder: Path) -> None:
    server.write_state(own_folder, STATE)
    assert (server.running(), server.use(), server.stop()) == (None, None, False)
    assert not (own_folder / server.STATE).exists()


def test_a_state_of_another_release_is_none(own_folder: Path) -> None:
    with server.locked(own_folder / server.KEEPER_LOCK):
        server.write_state(own_folder, STATE)
        assert server.running() == STATE
        (own_folder / server.STATE).write_text('{"pid": 1}')
        assert server.running() is None


def test_an_edit_makes_other_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("decoders", "pipeline", "replay"):
        (tmp_path / package).mkdir()
    monkeypatch.setattr(server, "__file__", str(tmp_path / "pipeline" / "spark" / "server.py"))
    before = server.code_fingerprint()
    (tmp_path / "replay" / "engine.py").write_text("fixed = True\n")
    assert server.code_fingerprint() != before


def waited(path: Path, seconds: float) -> threading.Thread:
    """The keeper's waiting for its end, in a thread."""
    jvm = cast(Any, SimpleNamespace(process=SimpleNamespace(poll=lambda: None)))
    thread = threading.Thread(target=keeper._wait, args=(path, seconds, jvm), daemon=True)
    thread.start()
    return thread


def test_an_unused_server_ends_and_a_used_one_does_not(own_folder: Path) -> None:
    path = own_folder / server.USE_LOCK
    path.touch()
    with server.locked(own_folder / server.KEEPER_LOCK):
        server.write_state(own_folder, STATE)
        used = server.use()
        assert used is not None
        thread = waited(path, 0.2)
        thread.join(1.0)
        assert thread.is_alive()
        assert server.running() == STATE
        used.close()
        thread.join(10.0)
        assert not thread.is_alive()
        assert server.running() is None


def seqaudit(*args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "seqaudit.cli", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sleep_in_worker(spark: Any) -> Any:
    """A job of a minute."""

    def asleep(batches: Any) -> Any:
        import time

        time.sleep(60)
        yield from batches

    return spark.range(1).mapInArrow(asleep, "id bigint").toArrow()


def keeper_of(own_folder: Path, does: str) -> "subprocess.Popen[str]":
    """A process that has the keeper's lock, as one whose server is not up yet, and then does
    something."""
    code = f"""
import os, signal, time
from pathlib import Path
from seqaudit.pipeline import server
with server.locked(Path({str(own_folder)!r}, server.KEEPER_LOCK)) as lock:
    lock.truncate(0)
    lock.write(str(os.getpid()).encode())
    lock.flush()
    print("locked", flush=True)
    {does}
"""
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "locked\n"
    return started


def test_a_server_that_comes_up_is_ended(own_folder: Path) -> None:
    with keeper_of(own_folder, "time.sleep(60)") as comes_up:
        assert server.stop()
        assert comes_up.wait(1) == -signal.SIGTERM
    assert not server.stop()


def test_a_server_that_is_stopped_is_ended(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STOP_SECONDS", 0.2)
    with keeper_of(own_folder, "os.kill(os.getpid(), signal.SIGSTOP)") as stopped:
        while Path(f"/proc/{stopped.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        assert server.stop()
        assert stopped.wait(1) == -signal.SIGKILL


def test_the_number_of_a_keeper_that_has_ended_is_nobodys(own_folder: Path) -> None:
    with keeper_of(own_folder, "pass") as ended:
        ended.wait(10)
    other = subprocess.Popen(["sleep", "60"])
    (own_folder / server.KEEPER_LOCK).write_text(str(other.pid))
    try:  # another command looks at the same moment
        with server.locked(own_folder / server.KEEPER_LOCK, kind=fcntl.LOCK_SH):
            assert not server.stop()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_command_that_starts_or_ends_the_server_is_not_waited_for_for_ever(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "START_SECONDS", 0.1)
    monkeypatch.setattr(server, "STOP_SECONDS", 0.1)
    with server.locked(own_folder / server.START_LOCK):
        for act in (server.start, server.stop):
            with pytest.raises(server.ServerError, match="another command has been starting"):
                act()


def test_a_lock_is_given_back_also_if_a_process_forked_meanwhile_has_it_open(
    own_folder: Path,
) -> None:
    with server.locked(own_folder / server.START_LOCK):
        pid = os.fork()
        if pid == 0:
            signal.pause()
    try:
        with server.locked(own_folder / server.START_LOCK) as lock:
            assert lock is not None
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_server_that_no_command_can_find_ends(own_folder: Path) -> None:
    path = own_folder / server.USE_LOCK
    path.touch()
    server.write_state(own_folder, STATE)
    thread = waited(path, 0.2)
    (own_folder / server.STATE).unlink()
    thread.join(10.0)
    assert not thread.is_alive()


def test_who_does_not_answer_is_not_waited_for_for_ever() -> None:
    with pytest.raises(TimeoutError):
        session.within(0.01, threading.Event().wait)
    with pytest.raises(ZeroDivisionError):
        session.within(10, lambda: 1 // 0)
    session.within(10, lambda: 1)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts, also if whoever runs the tests has switched it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_session_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    discard(Place())  # of tests before this one
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):  # theirs as well
        monkeypatch.delenv(name, raising=False)
    yield
    discard(Place())
    server.stop()


@pytest.mark.usefixtures("own_folder", "no_session_left", "ctrl_c")
def test_the_life_of_a_server(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = str(fixtures / "jgroups" / "n4-loss-1" / "C.pcap")
    direct = to_json(audit([CaptureInput(capture)], Options(engine="direct")))

    assert seqaudit("spark", "start").communicate(timeout=120)[0].startswith("started: ")
    first = server.running()
    assert first is not None and first.current
    assert server.start() == (first, False)
    assert "code        current" in seqaudit("spark", "status").communicate(timeout=60)[0]

    # Two commands at once share its session, and both report what the direct engine does.
    both = [seqaudit("audit", "--format", "json", capture) for _ in range(2)]
    assert [command.communicate(timeout=60) for command in both] == [(direct + "\n", "")] * 2

    # A command starts fast: it imports nothing that takes long and that it has no use for.
    traced = [sys.executable, "-X", "importtime", "-m", "seqaudit.cli", "audit", capture]
    done = subprocess.run(traced, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pyspark.sql.connect.session" in imported
    assert not imported & {"numba", "numpy.ma", "pandas.core", "pyarrow.compute", "rich.progress"}

    # Ctrl-C ends our job only.
    starting = shared(Place())
    assert starting.jvm is None
    spark: Any = starting.session()

    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begun = time.monotonic()
    with pytest.raises(CancelledError):
        run_watched(starting, partial(sleep_in_worker, spark), 1, Silent())
    assert time.monotonic() - begun < 30
    assert to_json(audit([CaptureInput(capture)], Options())) == direct

    # What was guessed wrong is noticed, and another run mends it: frame 93 is a fragment.
    with monkeypatch.context() as patched:
        patched.setattr("seqaudit.pipeline.audit.GUESS_BYTES", 15_000)
        cut = Options(cuts={capture: [30_000]})
        assert to_json(audit([CaptureInput(capture)], cut)) == direct

    # A session that somebody closed is replaced by another one.
    spark.client.release_session()
    discard(Place())
    assert to_json(audit([CaptureInput(capture)], Options())) == direct
    second = server.running()
    assert second is not None
    assert (second.pid, second.session != first.session) == (first.pid, True)

    # A server with other code is replaced by one with ours.
    discard(Place())
    server.write_state(server.folder(), replace(second, code="before an edit"))
    notes: list[str] = []
    assert shared(Place(), notes.append).jvm is None
    assert notes == ["the warm Spark server runs other code of seqaudit: replacing it"]
    third = server.running()
    assert third is not None
    assert third.pid != first.pid
    assert processes_of(first.jvm_pid) == []
    assert to_json(audit([CaptureInput(capture)], Options())) == direct

    # One that does not answer is done without.
    with monkeypatch.context() as patched:
        patched.setattr(session, "ANSWER_SECONDS", 1.0)
        os.kill(third.jvm_pid, signal.SIGSTOP)
        with pytest.raises(session.SessionError, match="does not answer in 1 s; seqaudit spark"):
            session._shared_session(third)
        os.kill(third.jvm_pid, signal.SIGCONT)

    # A keeper that is killed takes everything with it, and a job says so.
    starting = shared(Place())
    spark = starting.session()
    timer = threading.Timer(1.0, os.kill, (third.pid, signal.SIGKILL))
    timer.start()
    with pytest.raises(JobError, match="the warm Spark server ended while the job ran"):
        run_watched(starting, partial(sleep_in_worker, spark), 1, Silent())
    deadline = time.monotonic() + 30
    while processes_of(third.jvm_pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert server.running() is None
