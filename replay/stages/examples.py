"""An example of each rule: what an audit says of the smallest capture that shows it.

``python -m tests.rules.examples`` finds them and writes ``replay/examples.json``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[1] / "examples.json"


@dataclass(frozen=True, slots=True)
class Example:
    """One finding of a rule.

    Attributes:
        text: what it says.
        certainty: how sure it is in this capture.
        frame: which frame it is about; null: the capture as a whole.
        file: the capture below ``fixtures/``; null: one that the tests make.
        options: of the audit that says it; empty for a capture that the tests make.
        files: the captures of the audit, below ``fixtures/``.
    """

    text: str
    certainty: str
    frame: int | None
    file: str | None
    options: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def where(self) -> str:
        """Where its finding is."""
        file = f"fixtures/{self.file}" if self.file else "a capture that only the tests make"
        return file if self.frame is None else f"frame {self.frame} of {file}"

    def command(self, rule: str) -> str | None:
        """What shows it again; null where no capture comes with the source."""
        if not self.files:
            return None
        paths = [f"fixtures/{file}" for file in self.files]
        return " ".join(["seqaudit audit --select", rule, *self.options, *paths])


@cache
def examples() -> Mapping[str, Example]:
    """By rule; only a rule that no capture can show has none."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        rule: Example(
            e["text"], e["certainty"], e["frame"], e["file"], tuple(e["options"]), tuple(e["files"])
        )
        for rule, e in known.items()
    }
