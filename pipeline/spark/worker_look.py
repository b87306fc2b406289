"""What a worker has and sees, told by a Python of its own (``cluster`` asks and judges).

The text of this file is a program, which executors run before any job of Spark's. Their Python may
lack every package of ours, so nothing but the standard library is imported before that is known.
"""

import importlib
import importlib.util
import json
import os
import platform
import socket
import sys
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
_NO_MEMORY: Final = (
    "failed to map segment",
    "cannot allocate memory",
    "out of memory",
    "memory allocation",
    "memoryerr",
)


class Asked(NamedTuple):
    """A capture as the driver sees it; -1 where nobody knows."""

    path: str
    size_bytes: int = -1
    mtime_ns: int = -1


class Question(NamedTuple):
    """What a worker is asked.

    Attributes:
        files: captures to look at.
        storage: how stores of captures are reached.
        code: where seqaudit's code is there; empty: it can be imported.
        most_bytes: of memory that the worker's Python may take; 0: nobody says.
    """

    files: tuple[Asked, ...]
    storage: tuple[tuple[str, str], ...] = ()
    code: str = ""
    most_bytes: int = 0


class WorkerAnswer(NamedTuple):
    """What it says.

    Attributes:
        python: its version; empty: it did not start.
        lacking: why each package that lacks cannot be had.
        versions: of each package; empty where nobody knows.
        unseen: why each capture cannot be read as it is at the driver.
        ended: how Python ended that says none of these: its status, and its last line.
    """

    python: str
    lacking: dict[str, str]
    versions: dict[str, str]
    unseen: dict[str, str]
    ended: tuple[int, str] = (0, "")


def look(question: Question) -> WorkerAnswer:
    """The answer, from this process."""
    if question.most_bytes:
        import resource  # not every system has it; Spark limits its workers in the same way

        resource.setrlimit(resource.RLIMIT_AS, (question.most_bytes, question.most_bytes))
    lacking = {package: why for name, package in NEEDED.items() if (why := _lacks(name))}
    unseen = {}
    if not lacking:
        sys.path[:0] = [question.code] if question.code else []
        told = ((file.path, _unseen(file, question.storage)) for file in question.files)
        unseen = {path: why for path, why in told if why}
    versions = {package: installed(package) for package in NEEDED.values()}
    return WorkerAnswer(platform.python_version(), lacking, versions, unseen)


def has_no_memory(said: str) -> bool:
    """Whether what a library or Python says of its end is that."""
    return any(words in said.lower() for words in _NO_MEMORY)


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
        return NO_MEMORY if has_no_memory(said) else said
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


def answer_to(text: str) -> WorkerAnswer:
    """The answer to a question of JSON."""
    files, storage, *rest = json.loads(text)
    return look(Question(tuple(Asked(*file) for file in files), tuple(map(tuple, storage)), *rest))


_questions: set[str] = set()


def answered_once(number: str, text: str, row: int) -> str | None:
    """JSON of a host, an executor's process and its answer; null where this process has said it.

    Args:
        number: of the question.
        row: without a meaning.
    """
    if number in _questions:
        return None
    _questions.add(number)
    executor = os.getppid()  # all its workers are forks of one daemon
    return json.dumps((socket.gethostname(), executor, answer_to(text)))


if __name__ == "__main__":
    print(json.dumps(answer_to(sys.stdin.readline())))
