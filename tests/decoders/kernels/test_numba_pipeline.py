"""Kernels compiled with fewer steps than numba takes: the same results (decoders/README.md 4)."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels import numba_pipeline as compiler

KERNEL = '''
"""Helpers that call helpers, tuples, loops, branches; both entry points use the same helper."""
ENTRY_POINTS = ("sums", "longest")

def u8(a, o):
    return a[o] | 0

def step(a, o, stop):
    if o + 1 > stop:
        return 0, stop
    return u8(a, o) - 7, o + 1

def pair(a, o, stop):
    first, o = step(a, o, stop)
    second, o = step(a, o, stop)
    return first * 3 + second, o

def sums(data, stop, out):
    o = 0
    row = 0
    while o < stop:
        value, o = pair(data, o, stop)
        out[row] = value if value > 0 else -1
        row += 1
    return (row,)

def longest(data, stop):
    best = 0
    run = 0
    for i in range(stop):
        value, o = step(data, i, stop)
        run = run + 1 if value >= 0 else 0
        if run > best:
            best = run
    return (best,)
'''


def forget() -> None:
    """As in another process."""
    kernels.compiled.cache_clear()
    kernels._wrapped.cache_clear()
    sys.modules.pop("made_kernels__compiled", None)


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """A kernel file as Python runs it, and compiled."""
    pytest.importorskip("numba")
    (tmp_path / "made_kernels.py").write_text(KERNEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    import made_kernels  # type: ignore[import-not-found]

    monkeypatch.setattr(kernels, "interpreted", lambda _: made_kernels)
    # numba's doing, not native's
    monkeypatch.setattr(kernels.Compiled, "_cached_at", lambda *_: None)
    forget()
    yield made_kernels, kernels.compiled("made_kernels")
    forget()
    for name in ("made_kernels", "made_kernels__compiled"):
        sys.modules.pop(name, None)


def test_both_modes_agree(both: tuple[Any, Any]) -> None:
    plain, compiled = both
    data = bytes((i * 37) % 256 for i in range(101))
    out, wanted = np.zeros(60, np.int64), np.zeros(60, np.int64)
    array = np.frombuffer(data, np.uint8)
    assert compiled.sums(array, 101, out) == plain.sums(data, 101, wanted) == (51,)
    assert out.tolist() == wanted.tolist()
    assert compiled.longest(array, 101) == plain.longest(data, 101)


def test_only_entry_points_become_machine_code(both: tuple[Any, Any]) -> None:
    if not compiler.fits():
        pytest.skip("numba is used as it is")
    _, compiled = both
    compiled.longest(np.zeros(8, np.uint8), 8)
    module = sys.modules["made_kernels__compiled"]
    (helper,) = module.step.overloads.values()
    (entry,) = module.longest.overloads.values()
    engine = helper.library.codegen._engine
    assert not engine.is_symbol_defined(helper.fndesc.llvm_cpython_wrapper_name)
    assert engine.is_symbol_defined(entry.fndesc.llvm_cpython_wrapper_name)
    assert module.step._cache.cache_path is None


def test_with_checks_of_bounds_numba_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    compiler.fits.cache_clear()
    assert compiler.options() == {}
    compiler.fits.cache_clear()


def test_operators_are_those_of_numba_again_afterwards() -> None:
    functions = pytest.importorskip("numba.core.types.functions")
    before = functions.BaseFunction.get_call_type
    with pytest.raises(RuntimeError), compiler.remembered_operators():
        assert functions.BaseFunction.get_call_type is not before or not compiler.fits()
        raise RuntimeError
    assert functions.BaseFunction.get_call_type is before


def longest(made: Any) -> int:
    """What the kernel gives, loaded or compiled anew as in another process."""
    forget()
    (best,) = kernels.compiled("made_kernels").longest(np.array([7, 8, 9], np.uint8), 3)
    return int(best)


@pytest.fixture
def own_cache(
    both: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, Path]:
    """A kernel file, and a folder for what is compiled that nobody else uses."""
    import numba

    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    return both[0], folder


def test_a_kernel_is_kept(own_cache: tuple[Any, Path]) -> None:
    made, folder = own_cache
    assert longest(made) == 3
    (kept,) = folder.rglob("*.nbc")
    before = kept.stat().st_mtime_ns
    assert longest(made) == 3
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize("damaged", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"\0" * 100])
def test_a_damaged_cache_is_written_anew(
    damaged: str, content: bytes, own_cache: tuple[Any, Path]
) -> None:
    made, folder = own_cache
    assert longest(made) == 3
    for path in folder.rglob(damaged):
        path.write_bytes(content)
    assert longest(made) == 3
    (kept,) = folder.rglob("*.nbc")
    before = kept.stat().st_mtime_ns
    assert before and len(kept.read_bytes()) > 100
    assert longest(made) == 3
    assert kept.stat().st_mtime_ns == before


def test_without_room_for_the_cache_a_kernel_is_compiled_all_the_same(
    own_cache: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    made, folder = own_cache
    with monkeypatch.context() as patched:
        patched.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", full)
        assert longest(made) == 3
    assert list(folder.rglob("*.nb?")) == []


def test_where_no_cache_can_be_kept_a_kernel_is_compiled_all_the_same(
    own_cache: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, folder = own_cache
    folder.write_text("a file, no folder")
    assert longest(made) == 3
    assert folder.read_text() == "a file, no folder"


def test_who_has_the_lock_and_does_not_come_to_an_end_is_not_waited_for_for_ever(
    own_cache: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(kernels, "LOCK_SECONDS", 0.05)
    made, folder = own_cache
    folder.mkdir()
    with (folder / "made_kernels.lock").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert longest(made) == 3


def test_the_lock_is_given_back_also_if_a_process_forked_meanwhile_has_it_open(
    own_cache: tuple[Any, Path],
) -> None:
    import fcntl

    _, folder = own_cache
    folder.mkdir()
    with kernels._one_process("made_kernels"):
        pid = os.fork()
        if pid == 0:
            signal.pause()
    try:
        with (folder / "made_kernels.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_kernels_may_be_compiled_in_several_threads(own_cache: tuple[Any, Path]) -> None:
    from numba.core.types.functions import BaseFunction

    usual = BaseFunction.get_call_type
    forget()
    compiled = kernels.compiled("made_kernels")
    data, out = np.array([7, 8, 9], np.uint8), np.zeros(9, np.int64)
    calls: list[Callable[[], Any]] = [
        lambda: compiled.longest(data, 3),
        lambda: compiled.sums(data, 3, out),
    ]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda number: calls[number % 2](), range(4)))
    assert found == [(3,), (2,), (3,), (2,)]
    assert BaseFunction.get_call_type is usual
