"""Where a run tells how far it is: the engines call it, the command line draws it."""

from typing import Protocol

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.replay.contract.report_rows import Report


class Progress(Protocol):
    """Told of a run, at most ten times a second; who inherits these does nothing."""

    def begin(self, what: str, total: int, *, bytes_read: bool = False) -> None:
        """A new piece of work of ``total`` steps, or bytes of captures; 0: not known."""
        return

    def done(self, steps: int, also: str = "") -> None:
        """So many steps of it are done; ``also`` says it another way: 3/40 tasks."""
        return

    def note(self, text: str) -> None:
        """One line for the reader, such as a second run because a border did not meet."""
        return


class Silent(Progress):
    """A progress that nobody watches."""


class StoppedError(SeqauditError):
    """Ctrl-C. ``report`` is what is known so far, null if nothing is."""

    def __init__(self, text: str, report: Report | None = None) -> None:
        super().__init__(text)
        self.report = report
