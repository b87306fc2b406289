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


def test_bytes_are_shown_with_their_rate_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.0, 12.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    shown = ShownProgress()
    shown.begin("decoding", 3_000_000, bytes_read=True)
    assert shown._shown(0) == "0 bytes/3.0 MB"
    assert shown._shown(1_000_000) == "1.0 MB/3.0 MB, 500.0 kB/s, 4 s left"


def test_steps_that_are_no_bytes_are_counted() -> None:
    shown = ShownProgress()
    shown.begin("replaying", 8)
    assert shown._shown(3) == "3/8"
