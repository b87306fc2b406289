"""Where is kept what can be made again: compiled kernels, Spark's start-up cache.

It lies below ``XDG_CACHE_HOME``, if that is an absolute path (the XDG Base Directory Specification
has others ignored), else in ``~/.cache``, and without a home in the folder for temporary files.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """The folder; it need not be there, and need not be ours to write."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if given.is_absolute():
        return given / "seqaudit"
    try:
        return Path("~/.cache").expanduser() / "seqaudit"
    except RuntimeError:  # a user that the system does not know
        return temporary_folder() / "seqaudit"


def temporary_folder() -> Path:
    """A folder that only this user writes to, beside all others' temporary files."""
    return Path(tempfile.gettempdir()) / f"seqaudit-{_user()}"


def made_private(folder: Path) -> bool:
    """Make a folder below a ``temporary_folder``; whether nobody else can write there.

    What is read from there is run. In a folder that all may write to somebody else could have made
    it before.
    """
    own = temporary_folder()
    with contextlib.suppress(OSError):
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = own.lstat()
        private = stat.S_ISDIR(state.st_mode) and not state.st_mode & 0o022
        if private and (not hasattr(os, "getuid") or state.st_uid == os.getuid()):
            folder.mkdir(parents=True, exist_ok=True)
            return True
    return False


def can_write(folder: Path) -> bool:
    """Whether files can be made in a folder; it is made if it is not there."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"x")  # on a full disk a file can be made, and nothing written to it
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
    return True


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "user"
