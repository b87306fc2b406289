"""Kernels compiled with fewer steps than numba takes: the same results (design 6.1)."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqaudit.decoders import compiler, kernels

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


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """A kernel file as Python runs it, and compiled."""
    pytest.importorskip("numba")
    (tmp_path / "made_kernels.py").write_text(KERNEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    import made_kernels  # type: ignore[import-not-found]

    monkeypatch.setattr(kernels, "interpreted", lambda _: made_kernels)
    kernels.compiled.cache_clear()
    yield made_kernels, kernels.compiled("made_kernels")
    kernels.compiled.cache_clear()
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
