"""Processes of ours: the code that they run, and what the system tells of them."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

#: Environment variable of Python (3.11): not to look for modules in the working folder.
SAFE_PATH: Final = "PYTHONSAFEPATH"


def environment() -> dict[str, str]:
    """What the environment of a Python process of ours has besides ours.

    ``python -m`` looks in the working folder before anything else: a clone there that is called
    seqaudit would be taken in place of what is installed, and so would a file called like a module
    of Python's. So it looks there only if this process does.
    """
    try:
        here = Path.cwd()
        looks = any(Path(entry).resolve() == here for entry in sys.path)
    except OSError:  # the folder is gone
        looks = False
    return {} if looks else {SAFE_PATH: "1"}


class ProcessStatus(NamedTuple):
    """One look at a process."""

    state: str  # one letter: "Z" has ended, "D" waits for a disk, "R" runs or could
    session: int
    ticks: int  # of processor time, its own and the system's


def status_of(pid: int | str) -> ProcessStatus:
    """What proc(5) calls stat.

    Raises:
        OSError, ValueError, IndexError: there is no such process, or nobody tells.
    """
    state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ProcessStatus(state, int(numbers[2]), int(numbers[10]) + int(numbers[11]))


def processes_of(session_leader: int) -> list[int]:
    """The processes of a session, which a JVM of ours is the leader of; empty without /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if status_of(path.name).session == session_leader:
                found.append(int(path.name))
    return sorted(found)


def runs(pid: int) -> bool:
    """Whether there is such a process, and not only its status for who started it."""
    try:
        os.kill(pid, 0)
        return status_of(pid).state != "Z"
    except ProcessLookupError:
        return False
    except OSError:  # another user's, or no /proc
        return True
