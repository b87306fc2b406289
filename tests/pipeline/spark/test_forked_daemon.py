"""What makes a local Spark start sooner: a JVM begun early, a daemon that is ready before it is
asked for."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seqaudit.pipeline.spark.forked_daemon import SOCKET, Ready, hand_over

SECRET = b"secret"


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("r")  # a socket's address must be short


@contextmanager
def daemon(address: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The program that Spark starts, and the port that it tells."""
    environment = dict(os.environ) | {
        SOCKET: str(address),
        "PYTHON_WORKER_FACTORY_SECRET": SECRET.decode(),
    }
    started = subprocess.Popen(
        [sys.executable, "-m", "seqaudit.pipeline.spark.daemon", "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    try:
        assert select.select([started.stdout], [], [], 60)[0]
        yield started, int.from_bytes(started.stdout.read(4), "big")
    finally:
        started.stdin.close()  # Spark's way to say that it ends
        started.wait(30)
        started.stdout.close()


@contextmanager
def worker(port: int) -> Iterator[int]:
    """A worker of the daemon at a port: its process; it ends with the connection."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        pid = int.from_bytes(connection.recv(4), "big")
        assert runs(pid)
        connection.sendall(len(SECRET).to_bytes(4, "big") + SECRET)
        yield pid


def worker_of(port: int) -> int:
    """The daemon at a port, as a worker of it has it."""
    with worker(port) as pid:
        return parent_of(pid)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_fork_becomes_the_daemon_that_spark_starts_and_ends_with_it(folder: Path) -> None:
    ready = Ready(folder, [])
    try:
        with daemon(ready.path) as (_, port):
            assert worker_of(port) == ready.pid
        until(lambda: not runs(ready.pid))
    finally:
        ready.close()


def test_without_a_fork_the_daemon_is_its_own(folder: Path) -> None:
    with daemon(folder / "nobody") as (started, port):
        assert worker_of(port) == started.pid


def test_closed_before_spark_asks_it_is_gone_and_spark_does_without(folder: Path) -> None:
    ready = Ready(folder, [])
    ready.close()
    assert not runs(ready.pid)
    with daemon(ready.path) as (started, port):
        assert worker_of(port) == started.pid


def test_a_daemon_that_spark_starts_again_is_its_own(folder: Path) -> None:
    # Spark does so if it cannot have a worker, while workers of the first may go on
    ready = Ready(folder, [])
    try:
        with daemon(ready.path) as (_, port), worker(port) as pid:
            with daemon(ready.path) as (again, other):
                assert worker_of(other) == again.pid
            assert runs(pid)
    finally:
        ready.close()


def test_the_program_that_spark_started_ends_with_the_daemon_whatever_workers_do(
    folder: Path,
) -> None:
    ready = Ready(folder, [])
    try:
        with daemon(ready.path) as (started, port), worker(port) as pid:
            os.kill(ready.pid, signal.SIGKILL)
            assert started.wait(30) == 0
            assert runs(pid)
    finally:
        ready.close()


def test_who_does_not_take_over_in_time_is_done_without(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqaudit.pipeline.spark.forked_daemon.TAKEN_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "stuck"))
        listener.listen(1)
        assert not hand_over(str(folder / "stuck"))


def test_who_is_too_late_does_not_become_a_second_daemon(folder: Path) -> None:
    ready = Ready(folder, [])
    reader, writer = os.pipe()
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(ready.path))
            message = {"arguments": [], "environment": dict(os.environ), "folder": "/"}
            raw = json.dumps(message).encode() + b"\n"
            socket.send_fds(connection, [raw], [reader, writer, 2])
            assert connection.recv(1) == b"x"
        os.close(writer)
        assert os.read(reader, 4) == b""  # a daemon writes its port there
        assert os.waitpid(ready.pid, 0)[1] == 0
    finally:
        os.close(reader)
        ready.close()


def test_an_address_that_is_too_long_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    with pytest.raises(OSError, match="address"):
        Ready(deep, [])


def test_the_fork_ends_with_the_driver_however_that_ends(folder: Path) -> None:
    code = f"""
import time
from pathlib import Path
from seqaudit.pipeline.spark.forked_daemon import Ready
print(Ready(Path({str(folder)!r}), []).pid, flush=True)
time.sleep(600)
"""
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert driver.stdout is not None
    fork = int(driver.stdout.readline())
    assert runs(fork)
    driver.kill()
    driver.communicate()
    until(lambda: not runs(fork))


def test_the_jvm_begun_early_is_taken_once_or_ends_with_the_command() -> None:
    code = """
from seqaudit.pipeline import early
early.begin()
early.begin()
begun = early.take()
assert early.take() is None
print(begun.process.pid, begun.folder)
begun.kill()
begun.close()
early.begin()  # this process has had its session
assert early.take() is None
"""
    pid, place = _run(code).split()
    assert not runs(int(pid))
    assert not Path(place).exists()
    code = """
from seqaudit.pipeline import early
early.begin()
(jvm,) = early._BEGUN
print(jvm.process.pid, jvm.folder)
"""
    pid, place = _run(code).split()
    assert not runs(int(pid))
    assert not Path(place).exists()


def test_a_command_that_fails_leaves_no_jvm_behind(tmp_path: Path) -> None:
    environment = dict(os.environ) | {"TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "seqaudit.cli", "audit", "--at", "x.pcap=1.2.3.4", "none.pcap"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert not list(tmp_path.glob("seqaudit-*"))


def _run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
