"""What the system tells of processes in /proc; without it nothing is known of any."""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple


class Status(NamedTuple):
    """One look at a process."""

    state: str  # one letter: "Z" has ended, "D" waits for a disk
    group: int
    session: int
    ticks: int  # of processor time, its own and the system's


def status_of(pid: int | str) -> Status:
    """What proc(5) calls stat.

    Raises:
        OSError, ValueError, IndexError: there is no such process, or nobody tells.
    """
    state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return Status(state, int(numbers[1]), int(numbers[2]), int(numbers[10]) + int(numbers[11]))


def processes_of(session_leader: int, group: int | None = None) -> list[int]:
    """The processes of a session, which a JVM of ours is the leader of, and of a process group;
    empty without /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            status = status_of(path.name)
            if status.session == session_leader or status.group == group:
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
