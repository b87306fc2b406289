"""Temporary folders and files of a command's own, which a later one can tell are nobody's any more.

A command that is killed leaves its own behind. Each is locked while its command lives, or a process
forked from it; a lock goes with its process. So what is not locked may go, and does so when the
next is made. Without file locks nothing is removed.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # nothing is removed there
    fcntl = None  # type: ignore[assignment]

#: What ours are called. (Versions that locked nothing had other names.)
FOLDER: Final = "seqaudit-jvm-"
FILE: Final = "seqaudit-input-"


class PrivatePath:
    """A folder or file that is ours until ``remove`` or the end of this process."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    def remove(self) -> None:
        """Remove it; safe to call twice."""
        _remove(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def make_folder() -> PrivatePath:
    """A private folder.

    Raises:
        OSError: there is no folder for temporary files, or no room in it.
    """
    return _made(lambda: tempfile.mkdtemp(prefix=FOLDER))


def make_file() -> PrivatePath:
    """A private empty file; raises as ``make_folder``."""

    def make() -> str:
        descriptor, name = tempfile.mkstemp(prefix=FILE)
        os.close(descriptor)
        return name

    return _made(make)


def _made(make: Callable[[], str]) -> PrivatePath:
    _sweep()
    while True:
        held = _hold(Path(make()))
        if held is not None:
            return held


def _hold(path: Path) -> PrivatePath | None:
    """Lock what was just made; null if somebody took it for a leftover before it was."""
    try:
        lock = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # it is looked at just now, and goes
            os.close(lock)
            return None
        except OSError:  # no locks here: nobody can take it for a leftover
            return PrivatePath(path, lock)
        if os.fstat(lock).st_nlink == 0 or not path.exists():
            os.close(lock)
            return None
    return PrivatePath(path, lock)


def _sweep() -> None:
    """Remove what killed commands left behind."""
    if fcntl is None or not hasattr(os, "getuid"):
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith((FOLDER, FILE)):
                with contextlib.suppress(OSError):
                    _remove_leftover(Path(entry.path))


def _remove_leftover(path: Path) -> None:
    """Remove it, if it is ours to remove and nobody has it.

    Raises:
        OSError: somebody has it, or it is not ours.
    """
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
    finally:
        os.close(lock)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
