"""A daemon of Python workers that is ready before Spark asks for one (PIPELINE 2.10).

Spark starts its daemon with its first task, and the daemon then imports for a second what this
process has imported long ago. So this process is forked once it has loaded the compiled kernels;
the fork imports PySpark's worker while the JVM comes up, and waits. The program that Spark starts
(``pipeline.spark.daemon``) hands its input, output, environment and arguments to the fork, which
goes on in its place, and itself only waits for its end. Without a fork it does all by itself.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NoReturn

from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels import signals as interrupts

#: Environment variable: the socket of the fork.
SOCKET: Final = "SEQAUDIT_READY"

#: What an address of a socket may have, NUL included, where it may have least.
_ADDRESS_BYTES: Final = 104

_MESSAGE_BYTES: Final = 1 << 20

#: Seconds until the fork must have taken over; its imports take one, and what it does not do in
#: time is done without it.
TAKEN_SECONDS: Final = 30.0


class Ready:
    """The fork that waits to become Spark's daemon."""

    def __init__(self, folder: Path, close: Iterable[int]) -> None:
        """Fork.

        Args:
            folder: private; the socket lies there.
            close: file descriptors that must not stay open in the fork: it would keep the JVM.

        Raises:
            OSError: it cannot be done here.
        """
        self.path = folder / "daemon"
        if len(os.fsencode(self.path)) >= _ADDRESS_BYTES or not hasattr(os, "fork"):
            raise OSError("no address for a socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.path))
            listener.listen(1)
            here, self._hold = os.pipe()
            try:
                with kernels.nothing_compiled(), interrupts.none_in_a_fork():
                    self.pid = os.fork()
                    if self.pid == 0:
                        _become_daemon(listener, here, (self._hold, *close))
            except OSError:
                os.close(self._hold)
                raise
            finally:
                os.close(here)

    def close(self) -> None:
        """End the fork, and the workers if it became the daemon."""
        os.close(self._hold)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def hand_over(path: str) -> bool:
    """Let the fork be the daemon in place of this process, and wait for its end.

    Returns:
        Whether it was; if not, nothing has happened.
    """
    message = {"arguments": sys.argv, "environment": dict(os.environ), "folder": str(Path.cwd())}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TAKEN_SECONDS)
        try:
            connection.connect(path)
            raw = json.dumps(message).encode() + b"\n"
            socket.send_fds(connection, [raw], [0, 1, 2])
            if not connection.recv(1):
                return False
            connection.sendall(b"x")  # whoever is late is not told, and does nothing
        except OSError:  # nobody is there, or not in time
            return False
        connection.settimeout(None)
        with contextlib.suppress(OSError):
            connection.recv(1)
    return True


def _become_daemon(listener: socket.socket, driver: int, close: Iterable[int]) -> NoReturn:
    """The forked process.

    Args:
        driver: ends when the process that forked this one does.
    """
    try:
        os.setpgid(0, 0)
        interrupts.alone()
        for descriptor in close:
            os.close(descriptor)
        from seqaudit.pipeline.spark import daemon

        daemon.import_all()
        waiting = select.poll()
        waiting.register(listener, select.POLLIN)
        waiting.register(driver, select.POLLIN)
        if all(descriptor == driver for descriptor, _ in waiting.poll()):
            return  # type: ignore[misc]  # by way of ``finally``
        connection, _ = listener.accept()
        # Spark starts a daemon again if it cannot have a worker, as when a task is cancelled just
        # then: that one must find nobody here, in this process or in a worker forked from it
        listener.close()
        connection.settimeout(TAKEN_SECONDS)
        message = _take(connection)
        connection.sendall(b"x")
        if not connection.recv(1):  # too late: the other one is the daemon
            return  # type: ignore[misc]
        connection.settimeout(None)
        os.register_at_fork(after_in_child=connection.close)  # its end says that this process ends
        sys.argv = message["arguments"]
        os.environ.clear()
        os.environ.update(message["environment"])
        os.chdir(message["folder"])
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        daemon.manage()
    finally:
        os._exit(0)  # nothing of the driver's is flushed or cleaned up here


def _take(connection: socket.socket) -> Any:
    """What ``hand_over`` sent; its input, output and errors are ours from here on."""
    raw, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 3)
    while not raw.endswith(b"\n"):
        more = connection.recv(_MESSAGE_BYTES)
        if not more:
            raise EOFError
        raw += more
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    return json.loads(raw)
