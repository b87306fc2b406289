"""Keeping pandas out of processes that have no use for it.

pyarrow imports pandas (0.15 s, 40 MB) as soon as it makes its first array, only to recognize the
types of pandas among its arguments. Whoever calls this first tells pyarrow that there is no pandas;
importing it oneself still works.
"""

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
    """Let pyarrow look for pandas now and find none; without effect if it is imported already."""
    if "pandas" in sys.modules:
        return
    refusal = _Refusal()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(refusal)
