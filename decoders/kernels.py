"""Dual-mode kernels: one source, interpreted for small captures, compiled for large (design 6.1).

A kernel file is a module of this package named ``*_kernels.py`` that holds functions in the
restricted style (PIPELINE 5) and imports nothing. ``interpreted(name)`` is that module as Python
runs it; ``compiled(name)`` is a second loading of the same file in which every function is wrapped
by numba before anything calls it, so helpers are found as module globals in both modes. A file may
name its ``ENTRY_POINTS``: only these can then be called from Python when compiled.

numba's cache does not see an edit of another file and fails where the package is read-only, so its
folder is ours: one per hash of all decoder sources, numba version and machine. Set it (``prepare``)
before numba is first imported; workers inherit it through the environment.
"""

import hashlib
import importlib
import importlib.util
import os
import platform
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

#: Below this many expected records a capture is decoded by the interpreted kernels: loading numba
#: and its cached code costs about as much as Python needs for them (PIPELINE 1).
COMPILE_FROM_RECORDS: Final = 20_000

Int64s = npt.NDArray[np.int64]


def interpreted(name: str) -> ModuleType:
    """The kernel file ``name`` (without ``.py``) as Python runs it."""
    return importlib.import_module(f"seqaudit.decoders.{name}")


@cache
def compiled(name: str) -> ModuleType:
    """The kernel file ``name`` with every function compiled by numba on first use."""
    prepare()
    import numba

    plain = interpreted(name)
    assert plain.__file__ is not None
    spec = importlib.util.spec_from_file_location(f"{plain.__name__}__compiled", plain.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    entries = vars(module).get("ENTRY_POINTS")
    for key, value in list(vars(module).items()):
        if isinstance(value, FunctionType):
            # Helpers are called by kernels only: without a Python wrapper each compiles faster.
            bare = entries is not None and key not in entries
            compiler = numba.njit(cache=True, nogil=True, no_cpython_wrapper=bare)
            vars(module)[key] = compiler(value)
    return module


def kernel(name: str, *, compile_it: bool) -> ModuleType:
    """The kernel file in the mode asked for."""
    return compiled(name) if compile_it else interpreted(name)


def argument(array: Int64s, *, compile_it: bool) -> Any:
    """An int64 array as a kernel of that mode wants it: itself, or a view whose items are ints."""
    return array if compile_it else array.data


def data_argument(data: bytes | bytearray | memoryview, *, compile_it: bool) -> Any:
    """Bytes as a kernel of that mode wants them: a uint8 array, or as they are."""
    return np.frombuffer(data, np.uint8) if compile_it else data


#: Kernels branch on bytes and have no loop to vectorize: less optimizing gives the same speed
#: (1.65 M JGroups messages in 0.20 s either way) and compiles a fifth faster.
_COMPILER: Final = {"NUMBA_OPT": "1", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"}


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
    """Hash of all decoder sources, the numba version and the machine."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(f"{version('numba')} {sys.version} {platform.machine()} {_cpu()}".encode())
    return digest.hexdigest()[:16]


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    folder = Path(base) / "seqaudit" / f"kernels-{fingerprint()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"seqaudit-{os.getuid()}-kernels-{fingerprint()}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return platform.processor()
    return next((line for line in text.splitlines() if line.startswith("model name")), "")
