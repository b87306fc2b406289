"""What one worker has and sees, told by the worker itself (``cluster`` asks and judges).

Its Python may lack every package of ours, so this imports none before it knows.
"""

import importlib
import importlib.util
import json
import os
import platform
import socket
from collections.abc import Sequence
from typing import Final, NamedTuple

#: Packages that workers need: what is imported, and what it is called by pip.
NEEDED: Final = {
    "numpy": "numpy",
    "pyarrow": "pyarrow",
    "numba": "numba",
    "yaml": "pyyaml",
    "dpkt": "dpkt",
    "lz4": "lz4",
    "zstandard": "zstandard",
}

#: Those that are imported to tell: what is there may still not load. The rest costs seconds.
_LOADED: Final = ("numpy", "pyarrow")

#: Why a package cannot be loaded that is there.
NO_MEMORY: Final = "out of memory"
_NO_MEMORY: Final = ("failed to map segment", "cannot allocate memory", "out of memory")


class Asked(NamedTuple):
    """A capture as the driver sees it; -1 where nobody knows."""

    path: str
    size_bytes: int = -1
    mtime_ns: int = -1


_answered: set[str] = set()


def look(
    question: str,
    files: Sequence[Asked],
    storage: tuple[tuple[str, str], ...],
    row: int,
) -> str | None:
    """One JSON object; null where this process has answered the question.

    Args:
        files: captures to look at.
        storage: how stores of captures are reached.
        row: without a meaning.
    """
    if question in _answered:
        return None
    _answered.add(question)
    lacking = {package: why for name, package in NEEDED.items() if (why := _lacks(name))}
    told = {
        "host": socket.gethostname(),
        "executor": os.getppid(),  # all its workers are forks of one daemon
        "lacking": lacking,
        "versions": {package: installed(package) for package in NEEDED.values()},
        "python": platform.python_version(),
        "unseen": {}
        if lacking
        else {file.path: why for file in files if (why := _unseen(file, storage))},
    }
    return json.dumps(told)


def _lacks(name: str) -> str:
    """Why a package cannot be had; empty: it can."""
    try:
        if name in _LOADED:
            importlib.import_module(name)
        elif importlib.util.find_spec(name) is None:
            return "is not there"
    except MemoryError:
        return NO_MEMORY
    except ModuleNotFoundError as problem:
        return "is not there" if problem.name == name else str(problem)
    except Exception as problem:  # a library of another machine, whatever
        said = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        return NO_MEMORY if any(words in said.lower() for words in _NO_MEMORY) else said
    return ""


def installed(package: str) -> str:
    """A package's version; empty: it is not installed."""
    from importlib import metadata  # a direct audit has no use for it

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _unseen(file: Asked, storage: tuple[tuple[str, str], ...]) -> str:
    """Why a capture cannot be read here as it is at the driver; empty: it can."""
    from seqaudit.decoders.capture import remote
    from seqaudit.decoders.capture.sources import open_source
    from seqaudit.decoders.contract.errors import CaptureError

    remote.use(storage)
    try:
        source = open_source(file.path)
    except CaptureError as problem:
        return problem.problem
    source.close()
    found = source.stamp
    if -1 not in (file.size_bytes, found.size_bytes) and found.size_bytes != file.size_bytes:
        return f"has {found.size_bytes:,} bytes there, and {file.size_bytes:,} here"
    if -1 not in (file.mtime_ns, found.mtime_ns) and found.mtime_ns != file.mtime_ns:
        return "was written at another time there than here (cp -p and rsync -t keep the time)"
    return ""
