"""The version of seqaudit, as ``pyproject.toml`` has it: looking it up takes 15 ms."""

from typing import Final

VERSION: Final = "0.1.0"
