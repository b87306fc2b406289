"""``hdfs://`` by Hadoop's own library, libhdfs, which runs a Java in this process.

That Java has manners of its own, which are seen to here: it ends a file system with the last who
knows of it, while files of it are open; it would take Ctrl-C for itself; it does not live on in
forks; and it prints the causes of failures on stderr, of which its callers learn a number at most.
"""

import contextlib
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

_ADDRESS: Final = re.compile(r"^(hdfs|viewfs)://([^/]*)(/.*)?$", re.IGNORECASE | re.DOTALL)
_SAID: Final = re.compile(r"^(?:[\w$]+\.)+(?!FileNotFound)\w+(?:Exception|Error): .*", re.MULTILINE)

#: How long a name node may take to be reached; Hadoop's client would try for a quarter of an hour.
KNOCK_SECONDS: Final = 10.0

#: Of the Java in this process, unless ``LIBHDFS_OPTS`` says otherwise: it reads a piece at a time.
_MEMORY: Final = "-Xmx256m"
_NO_SIGNALS: Final = "-Xrs"


def is_hadoop(uri: str) -> bool:
    """Whether libhdfs reads it."""
    return _ADDRESS.match(uri) is not None


def opened(head: str, options: str) -> tuple[Any, str]:
    """The file system of a URI, and the path there.

    Args:
        head: the URI without ``options``, those of Arrow.

    Raises:
        OSError: nobody listens there, or libhdfs cannot be had.
    """
    found = _ADDRESS.match(head)
    assert found is not None, head
    place = f"{found[1].lower()}://{found[2]}/{options}"
    return _system(place, os.getpid()), (found[3] or "").rstrip("/") or "/"


@contextlib.contextmanager
def listened(uri: str) -> Iterator[None]:
    """Around each question to a store: what Java prints meanwhile is the cause of a failure, and of
    one that nobody reports as well.

    Raises:
        OSError: as Java says; the caller's own if Java says nothing.
    """
    if not is_hadoop(uri):
        yield
        return
    problem: OSError | None = None
    with tempfile.TemporaryFile() as told:
        kept = os.dup(2)
        os.dup2(told.fileno(), 2)
        try:
            yield
        except OSError as error:
            problem = error
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        told.seek(0)
        said = _SAID.search(told.read().decode(errors="replace"))
    if isinstance(problem, FileNotFoundError):
        raise problem
    if said is not None:
        raise OSError(said[0]) from problem
    if problem is not None:
        raise problem


@lru_cache(maxsize=64)
def _system(place: str, process: int) -> Any:
    """The file system of a name node, kept as long as this process."""
    from pyarrow import fs

    host, _, port = place.split("/")[2].rpartition("@")[2].rpartition(":")
    if host and port.isdecimal():  # a name alone may be that of several name nodes
        try:
            socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS).close()
        except OSError as problem:  # in Hadoop's words
            raise OSError(f"ConnectException: {problem.strerror or problem}") from problem
    given = os.environ.get("LIBHDFS_OPTS", _MEMORY)
    if _NO_SIGNALS not in given.split():
        os.environ["LIBHDFS_OPTS"] = f"{_NO_SIGNALS} {given}"
    return fs.FileSystem.from_uri(place)[0]
