"""Machine code that is kept runs without numba, and gives the same (decoders/README.md 4)."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqaudit.decoders.kernels import loader as kernels
from seqaudit.decoders.kernels import native
from tests.decoders.kernels.test_numba_pipeline import KERNEL, forget

DATA = np.frombuffer(bytes((number * 37) % 256 for number in range(101)), np.uint8)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A kernel file whose machine code is kept in a folder of its own."""
    numba = pytest.importorskip("numba")
    folder = tmp_path / "cache"
    (tmp_path / "made_kernels.py").write_text(KERNEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    import made_kernels  # type: ignore[import-not-found]

    monkeypatch.setattr(kernels, "interpreted", lambda _: made_kernels)
    forget()
    yield made_kernels
    forget()
    sys.modules.pop("made_kernels", None)


@pytest.fixture
def kept(made: Any, tmp_path: Path) -> Path:
    """The file that there is once a kernel was compiled."""
    assert longest() == made.longest(bytes(DATA), 101)
    (path,) = (tmp_path / "cache").glob("*.native")
    return path


def longest(data: Any = DATA, size: int = 101) -> Any:
    forget()
    return kernels.compiled("made_kernels").longest(data, size)


def no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(_: str) -> None:
        raise AssertionError("numba is not needed")

    unwanted.cache_clear = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setattr(kernels, "_wrapped", unwanted)


def test_a_kernel_that_was_compiled_runs_without_numba(
    made: Any, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_numba(monkeypatch)
    assert longest() == made.longest(bytes(DATA), 101)
    assert longest(DATA, 50) == made.longest(bytes(DATA), 50)


def nobody(*_: object) -> tuple[int, ...]:
    raise AssertionError("the arguments are of the kinds that it was compiled for")


def test_it_writes_to_the_arrays_that_it_is_given(made: Any, tmp_path: Path) -> None:
    out, again, wanted = (np.zeros(60, np.int64) for _ in range(3))
    assert kernels.compiled("made_kernels").sums(DATA, 101, out) == (51,)
    forget()
    (path,) = (tmp_path / "cache").glob("*.native")
    assert native.load(path, nobody)(DATA, 101, again) == (51,)  # type: ignore[misc]
    made.sums(bytes(DATA), 101, wanted)
    assert out.tolist() == again.tolist() == wanted.tolist()


@pytest.mark.parametrize("cut", [0, 10, 1_000])
def test_a_damaged_file_is_written_anew(made: Any, kept: Path, cut: int) -> None:
    whole = kept.read_bytes()
    kept.write_bytes(whole[:cut])
    assert native.load(kept, nobody) is None
    assert longest() == made.longest(bytes(DATA), 101)
    assert native.load(kept, nobody) is not None


def test_another_source_has_another_file(made: Any, kept: Path, tmp_path: Path) -> None:
    source = tmp_path / "made_kernels.py"
    assert native.path_of(kept.parent, source, "longest") == kept
    source.write_text(KERNEL.replace("value >= 0", "value > 0"))
    assert native.path_of(kept.parent, source, "longest") != kept


def test_an_edit_of_an_imported_file_is_another_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "DECODERS", tmp_path)
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "kernels.py").write_text("from seqaudit.decoders.made.part_kernels import *\n")
    (folder / "part_kernels.py").write_text("from seqaudit.decoders.made.words import *\n")
    (folder / "words.py").write_text("MOST = 1\n")
    before = native.path_of(tmp_path, folder / "kernels.py", "walk")
    assert native.path_of(tmp_path, folder / "kernels.py", "walk") == before
    (folder / "words.py").write_text("MOST = 2\n")
    assert native.path_of(tmp_path, folder / "kernels.py", "walk") != before


def test_nothing_is_kept_where_each_access_is_checked(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert kernels.compiled("made_kernels")._cached_at("longest") is None
