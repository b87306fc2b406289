"""Progress and hints on stderr (design 7.2)."""

import io
import sys

import pytest

from seqaudit.cli.output import terminal as show
from seqaudit.pipeline.spark.progress import STARTING


class Terminal(io.StringIO):
    """A stderr that somebody looks at, or not."""

    def __init__(self, looked_at: bool) -> None:
        super().__init__()
        self.looked_at = looked_at

    def isatty(self) -> bool:
        return self.looked_at


def shown(monkeypatch: pytest.MonkeyPatch, seconds: float, *, looked_at: bool) -> str:
    """The last line on stderr of a run whose Spark took so long to start."""
    stderr = Terminal(looked_at)
    monkeypatch.setattr(sys, "stderr", stderr)
    clock = iter([100.0, 100.0 + seconds])
    with show.ShownProgress() as progress:
        monkeypatch.setattr(show, "monotonic", lambda: next(clock))
        progress.begin(STARTING, 0)
        progress.begin("decoding", 3)
        monkeypatch.undo()
        monkeypatch.setattr(sys, "stderr", stderr)
    return "".join(stderr.getvalue().splitlines()[-1:])


def test_a_slow_start_is_told_how_to_avoid_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 7.6, looked_at=True).endswith(
        "note: Spark took 8 s to start; seqaudit spark start keeps one running for the next "
        "commands"
    )


def test_a_quick_start_or_a_pipe_has_no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "seqaudit spark start" not in shown(monkeypatch, 1.0, looked_at=True)
    assert shown(monkeypatch, 7.6, looked_at=False) == ""
