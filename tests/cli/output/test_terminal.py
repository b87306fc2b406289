"""Progress and notes on stderr (cli/README.md 2)."""

import io
import sys

import pytest

from seqaudit.cli.output.terminal import ShownProgress


class Terminal(io.StringIO):
    """A stderr that somebody looks at, or not."""

    def __init__(self, looked_at: bool) -> None:
        super().__init__()
        self.looked_at = looked_at

    def isatty(self) -> bool:
        return self.looked_at


@pytest.mark.parametrize("looked_at", [True, False])
def test_which_engine_answers_is_told_on_a_terminal_only(
    looked_at: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = Terminal(looked_at)
    monkeypatch.setattr(sys, "stderr", stderr)
    with ShownProgress("engine: direct, in this process"):
        pass
    told = stderr.getvalue().splitlines()[:1]
    assert told == (["engine: direct, in this process"] if looked_at else [])
