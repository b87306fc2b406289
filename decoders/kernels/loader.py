"""Dual-mode kernels: one source, interpreted for small captures, compiled for large
(decoders/README.md 4).

A kernel file is a module below ``decoders`` named ``kernels.py`` or ``*_kernels.py`` that holds
functions in the restricted style (decoders/README.md 4), and imports, with ``*``, constants and
other such functions only. ``interpreted(name)``, with its folder as in ``jgroups.kernels``, is that
module as Python runs it; ``compiled(name)`` is a second loading of the same file in which every
function, imported or not, is wrapped by numba as one of this file before anything calls it, so
helpers are found as module globals in both modes. A file names its ``ENTRY_POINTS``: only these can
be called from Python when compiled; and may name helpers ``INLINED``.

Compiling is dear (seconds a file) and done where the result is first needed: at the first call of
an entry point, by one process at a time (others wait, and read the cache then), with Ctrl-C held
back.

numba's cache does not see an edit of another file and fails where the package is read-only, so its
folder is ours: one per hash of what compiles, numba version and machine. Set it (``prepare``)
before numba is first imported; workers inherit it through the environment.
"""

import contextlib
import hashlib
import importlib
import importlib.util
import mmap
import os
import platform
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.kernels import native
from seqaudit.decoders.kernels import numba_pipeline as compiler
from seqaudit.decoders.kernels import numba_reads as compiled_reads
from seqaudit.decoders.kernels import signals as interrupts
from seqaudit.decoders.kernels.cache_folders import (
    cache_folder,
    can_write,
    made_ours,
    temporary_folder,
)
from seqaudit.decoders.kernels.native import Entry, Given, NumbaDispatcher

#: Below this many expected records a capture is decoded by the interpreted kernels: loading numba
#: and its cached code costs about as much as Python needs for them (pipeline/README.md 3).
COMPILE_FROM_RECORDS: Final = 20_000

#: A process that compiles has this long to come to an end (it may be stopped); one kernel file
#: takes ten seconds where nothing else runs.
LOCK_SECONDS: Final = 120.0

#: Of this process one thread compiles at a time: what makes numba fast here is set for all threads.
_COMPILING: Final = threading.RLock()

_NUMBAS_CACHE: Final = "numba/core/caching.py"

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[np.integer]
Buffer = bytes | bytearray | memoryview

T = TypeVar("T")


def interpreted(name: str) -> ModuleType:
    """The kernel file ``name`` (without ``.py``) as Python runs it."""
    return importlib.import_module(f"seqaudit.decoders.{name}")


class Compiled:
    """A kernel file compiled by numba: its entry points, by name.

    What was compiled before is there as machine code (``native``), so that numba is not needed.
    """

    def __init__(self, name: str, source: Path, entries: Collection[str]) -> None:
        self._name = name
        self._source = source
        self._entries = entries
        for entry in entries:
            setattr(self, entry, self._first_call(entry))

    def _first_call(self, entry: str) -> Entry:
        def first(*arguments: Given) -> tuple[int, ...]:
            with _COMPILING:
                kept = self._cached_at(entry)
                found = native.load(kept, self._by_numba(entry)) if kept is not None else None
            if found is None:  # what numba has read from its cache it cannot write as machine code
                anew = kept is not None and kept.exists()
                return self._by_numba(entry, anew=anew)(*arguments)
            setattr(self, entry, found)
            return found(*arguments)

        return first

    def is_kept(self) -> bool:
        """Whether the machine code of any entry point is kept."""
        paths = [self._cached_at(entry) for entry in self._entries]
        return any(path is not None and path.exists() for path in paths)

    def _cached_at(self, entry: str) -> Path | None:
        """Where the machine code of an entry point is, or is to be; null: it is not kept."""
        if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0"):
            return None
        with contextlib.suppress(OSError, ImportError):
            return native.path_of(Path(prepare()), self._source, entry)
        return None

    def _by_numba(self, entry: str, *, anew: bool = False) -> Entry:
        def first(*arguments: Given) -> tuple[int, ...]:
            with (
                _COMPILING,
                _one_process(self._name),
                # inside the compiler an interrupt is some other error, or none
                interrupts.held_back("the compiler, some seconds"),
            ):
                dispatcher = _wrapped(self._name)[entry]
                if anew:
                    _forget(dispatcher)
                with compiled_reads.plain_indices(), compiler.remembered_operators():
                    outcome = _with_any_cache(dispatcher, arguments)
                kept = self._cached_at(entry)
                if kept is not None and can_write(kept.parent):
                    native.save(kept, dispatcher)
            setattr(self, entry, dispatcher)
            return outcome

        return first

    def __getattr__(self, name: str) -> Entry:  # only for mypy: all there is are entry points
        raise AttributeError(f"{self._name} has no entry point {name}")


#: A kernel file in either form.
Kernels = ModuleType | Compiled
#: What a kernel of either form takes for an array.
Argument = Array | memoryview


def _with_any_cache(dispatcher: NumbaDispatcher, arguments: Sequence[Given]) -> tuple[int, ...]:
    """Call a kernel for the first time; a cache that is damaged, or has no room, is no obstacle."""
    try:
        return dispatcher(*arguments)
    except Exception as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        if not any(frame.filename.endswith(_NUMBAS_CACHE) for frame in frames):
            raise
        if not isinstance(problem, OSError):  # what it read: it is written anew
            _forget(dispatcher)
        else:
            dispatcher._cache = importlib.import_module("numba.core.caching").NullCache()
    return dispatcher(*arguments)


def _forget(dispatcher: NumbaDispatcher) -> None:
    """Have numba compile again what it has in its cache."""
    with contextlib.suppress(OSError, AttributeError):
        Path(dispatcher._cache._cache_file._index_path).unlink()


@cache
def compiled(name: str) -> Compiled:
    """The kernel file ``name``; each entry point is compiled, or loaded, by its first call."""
    plain = interpreted(name)
    assert plain.__file__ is not None
    entries: Collection[str] = vars(plain).get("ENTRY_POINTS", _functions_of(plain))
    return Compiled(name, Path(plain.__file__), entries)


@cache
def is_kept(name: str) -> bool:
    """Whether an entry point of the kernel file ``name`` was compiled before, so that it is loaded
    in no time; not where ``name`` is empty."""
    return bool(name) and compiled(name).is_kept()


def _functions_of(module: ModuleType) -> dict[str, FunctionType]:
    return {name: value for name, value in vars(module).items() if isinstance(value, FunctionType)}


@cache
def _wrapped(name: str) -> dict[str, NumbaDispatcher]:
    """The entry points of the kernel file ``name`` as numba has them, by name."""
    keep = can_write(Path(prepare()))
    import numba

    plain = interpreted(name)
    assert plain.__file__ is not None
    spec = importlib.util.spec_from_file_location(f"{plain.__name__}__compiled", plain.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    functions = _functions_of(module)
    entries: Collection[str] = vars(module).get("ENTRY_POINTS", functions)
    inlined: Collection[str] = vars(module).get("INLINED", ())
    checked = bool(numba.config.BOUNDSCHECK)
    code = native.code_of(Path(plain.__file__))
    for key, value in functions.items():
        if key in compiled_reads.READS and not checked:
            vars(module)[key] = compiled_reads.read(key)
            continue
        if key == compiled_reads.DIGEST:
            vars(module)[key] = compiled_reads.digest()
            continue
        if key == compiled_reads.TOTAL:
            vars(module)[key] = compiled_reads.total()
            continue
        if key == compiled_reads.TOUCH and not checked:
            vars(module)[key] = compiled_reads.touch()
            continue
        # One of another file finds there what that one imports; compiled, all is in this one.
        own = FunctionType(value.__code__, vars(module), key)
        own.__qualname__ = f"{key}-{code}"  # numba's cache sees no edit of another file
        # Helpers are called by kernels only: without a Python wrapper each compiles faster, as all
        # do without a C wrapper and without tests for a zero divisor, which kernels make themselves
        # (decoders/README.md 4, rule 3).
        wrap = numba.njit(
            # entry points hold their helpers
            cache=keep and (key in entries or not compiler.fits()),
            nogil=True,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=key not in entries,
            forceinline=key in inlined,
            error_model="numpy",
            # Nobody counts references to arrays: kernels neither make nor keep any, and counting
            # at each call of a helper took a third of their time.
            _nrt=False,
            **compiler.options(),
        )
        dispatcher = wrap(own)
        dispatcher.get_call_template = _without_literals(dispatcher.get_call_template)
        vars(module)[key] = dispatcher
    return {entry: vars(module)[entry] for entry in entries}


def _without_literals(template: Callable[..., T]) -> Callable[..., T]:
    """``f(3, x)`` and ``f(4, x)`` are one signature: numba would compile one for each constant."""
    unliteral = importlib.import_module("numba.core.types").unliteral
    return lambda args, kws: template(tuple(unliteral(arg) for arg in args), kws)


@contextlib.contextmanager
def nothing_compiled() -> Iterator[None]:
    """Around a fork: a thread that compiles does not go on in the new process, where what it has
    locked would stay locked for ever."""
    numbas = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    with _COMPILING, numbas or contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _one_process(name: str) -> Iterator[None]:
    """One process at a time; where files cannot be locked each compiles for itself, and where the
    one that has the lock does not come to an end."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            lock = held.enter_context(Path(prepare(), f"{name}.lock").open("wb"))
            deadline = time.monotonic() + LOCK_SECONDS
            while time.monotonic() < deadline:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    time.sleep(0.01)
                else:  # a process forked meanwhile has the file open as well
                    held.callback(fcntl.flock, lock, fcntl.LOCK_UN)
                    break
        yield


def kernel(name: str, *, compile_it: bool) -> Kernels:
    """The kernel file in the mode asked for."""
    return compiled(name) if compile_it else interpreted(name)


def memory(size: int) -> Int64s:
    """Int64s of a kernel, all 0.

    They are mapped, so only pages that are touched cost anything: of ``np.zeros`` all are cleared
    anew as soon as one such array was given back, which took half the time of small captures.
    """
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}
    return np.frombuffer(mmap.mmap(-1, 8 * size, **private), np.int64)


def argument(array: Array, *, compile_it: bool) -> Argument:
    """An array as a kernel of that mode wants it: itself, or a view whose items are ints."""
    return array if compile_it else array.data


def data_argument(data: Buffer, *, compile_it: bool) -> npt.NDArray[np.uint8] | Buffer:
    """Bytes as a kernel of that mode wants them: a uint8 array, or as they are."""
    return np.frombuffer(data, np.uint8) if compile_it else data


def spread(rows: int) -> int:
    """At least ``rows``: how far apart columns of int64 begin that are written side by side.

    Columns a whole number of pages apart share the same few places of the processor's cache.
    """
    return rows | 0x1F8 | 1


#: Kernels branch on bytes and have no loop to vectorize: to try costs time and gains none.
_COMPILER: Final = {"NUMBA_OPT": "2", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"}


def prepare() -> str:
    """Set up numba, unless somebody has: ``NUMBA_CACHE_DIR`` to our folder, which is returned.

    Has to be called before numba is first imported.
    """
    for name, value in _COMPILER.items():
        os.environ.setdefault(name, value)
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return given
    folder = str(_cache_folder())
    os.environ["NUMBA_CACHE_DIR"] = folder
    return folder


def fingerprint() -> str:
    """Hash of what compiles, the numba version and the machine; a kernel's own name has its code
    (``native.code_of``)."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(f"{_numbas_version()} {sys.version} {platform.machine()} {_cpu()}".encode())
    return digest.hexdigest()[:16]


def _numbas_version() -> str:
    """What numba says of itself in its own folder: asking its package's metadata takes 15 ms."""
    spec = importlib.util.find_spec("numba")
    if spec is not None and spec.origin is not None:
        with contextlib.suppress(OSError):
            return Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")
    from importlib.metadata import version

    return version("numba")


def _cache_folder() -> Path:
    name = f"kernels-{fingerprint()}"
    for folder in (cache_folder() / name, temporary_folder() / name):
        if made_ours(folder) and can_write(folder):
            return folder
    # Another name is no way out: each process would compile all, and leave what it made behind.
    return Path(os.devnull, name)


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return platform.processor()
    return next((line for line in text.splitlines() if line.startswith("model name")), "")
