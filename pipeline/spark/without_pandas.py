"""Keeping pandas (0.3 s, 40 MB) out of processes that have no use for it.

pyarrow imports pandas as soon as it makes its first array, only to recognize the types of pandas
among its arguments. Whoever calls ``keep_pandas_out`` first tells pyarrow that there is no pandas;
importing it oneself still works.

Spark Connect's client imports pandas at once, for its annotations, and uses it only where somebody
gives or wants a pandas frame. Imported under ``pandas_late`` it gets a stand-in, which becomes
pandas when anybody takes something from it later.
"""

import contextlib
import importlib
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Final

import pyarrow as pa

#: pandas and its parts that the client imports.
_PANDAS: Final = ("pandas", "pandas.api", "pandas.api.types")


class _Refusal:
    """A finder that comes first and says that there is no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Nothing for any module but pandas; the other finders follow."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is kept out", name=name)


def keep_pandas_out() -> None:
    """Let pyarrow look for pandas now and find none; without effect if it is imported already."""
    if "pandas" in sys.modules:
        return
    refusal = _Refusal()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(refusal)


class _StandIn(ModuleType):
    """A module of pandas that is imported when something of it is used."""

    annotating = True  # whether who asks is still being imported, and annotates with the answer

    def __getattr__(self, name: str) -> Any:
        """What pandas has under this name; while that is for annotations, a class of that name."""
        if self.annotating and name.startswith("is_"):  # a question about types: asked later
            return lambda value: getattr(_pandas(self.__name__), name)(value)
        if self.annotating and not name.startswith("_"):
            return type(name, (), {})
        return getattr(_pandas(self.__name__), name)


@contextlib.contextmanager
def pandas_late() -> Iterator[None]:
    """While modules are imported that need pandas later or never; without effect if it is there."""
    if "pandas" in sys.modules:
        yield
        return
    from importlib.metadata import version

    made = [_StandIn(name) for name in _PANDAS]
    vars(made[0])["__version__"] = version("pandas")
    for module in made:
        module.__path__ = []
        sys.modules[module.__name__] = module
    try:
        yield
    finally:
        for module in made:
            module.annotating = False


def _pandas(name: str) -> ModuleType:
    for late in _PANDAS:
        if isinstance(sys.modules.get(late), _StandIn):
            del sys.modules[late]
    return importlib.import_module(name)
