"""Local Spark's JVM, begun before Python has imported what an audit needs (PIPELINE 4).

The JVM needs 0.6 s until it can be talked to, our imports 0.4 s. So commands call ``begin`` first,
and ``session`` takes what has begun. Nothing here imports Spark, pyarrow or numpy.
"""

import atexit
import contextlib
from pathlib import Path
from typing import Final

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.pipeline.spark import java, server

_BEGUN: Final[list[java.Jvm]] = []
_LATER: Final[list[bool]] = []  # not empty: this process has had a session


def begin() -> None:
    """Start a JVM where a local session will be wanted: none is there, and no warm server runs.

    Says nothing of what goes wrong: the session then tries, and says it.
    """
    if _BEGUN or _LATER or server.running() is not None:
        return
    with contextlib.suppress(SeqauditError):
        runtime = java.find_java()
        cache = start_up_cache(runtime)
        atexit.register(let_go)
        with interrupts.held_back():
            _BEGUN.append(java.launch(runtime, cache=cache))


def take() -> java.Jvm | None:
    """The JVM that was begun, now the caller's to end; null if there is none."""
    _LATER.append(True)
    return _BEGUN.pop() if _BEGUN else None


def let_go() -> None:
    """End the JVM that was begun if nobody took it."""
    for jvm in _BEGUN:
        jvm.kill()
        jvm.close()
    _BEGUN.clear()


def start_up_cache(runtime: java.Java) -> Path | None:
    """The start-up cache for a Java, if it was made."""
    known = java.cache_file(runtime)
    return known if known.is_file() else None
