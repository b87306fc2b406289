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


def made_ours(folder: Path) -> bool:
    """Make a folder of ``cache_folder`` or ``temporary_folder``; whether it is this user's and
    nobody else can write there.

    What is read from there is run. Somebody else could have made it before: in a folder that all
    may write to, or in a home that is not this user's (``sudo`` keeps HOME).
    """
    own = temporary_folder()
    shared = folder.is_relative_to(own)
    # at home what the group may write is the user's own, where the umask says so
    others = 0o022 if shared else 0o002
    levels = (own, folder.parent, folder) if shared else (folder.parent, folder)
    with contextlib.suppress(OSError):
        for level in levels:
            level.mkdir(mode=0o700, parents=True, exist_ok=True)
            state = level.lstat() if shared else level.stat()
            if not stat.S_ISDIR(state.st_mode) or state.st_mode & others:
                return False
            if hasattr(os, "getuid") and state.st_uid != os.getuid():
                return False
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
