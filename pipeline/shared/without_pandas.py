"""Keeping pandas (0.3 s, 40 MB) out of processes that have no use for it, where it is installed."""

import sys
from collections.abc import Sequence
from types import ModuleType

import pyarrow as pa


class _Refusal:
    """A finder that comes first and says that there is no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Nothing for any module but pandas; the other finders follow."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is kept out", name=name)


def keep_pandas_out() -> None:
    """Let pyarrow look for pandas now, which it does when it makes its first array, and find none.

    It only wants to recognize the types of pandas among its arguments. Importing it oneself still
    works; without effect if it is imported already.
    """
    if "pandas" in sys.modules:
        return
    refusal = _Refusal()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(refusal)
