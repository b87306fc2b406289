"""Exit codes of the command (cli/README.md 1)."""

from enum import IntEnum
from typing import Final

#: In a click context: what the command shows is what was known when it was interrupted.
STOPPED: Final = "seqaudit.stopped"


class ExitCode(IntEnum):
    """What the shell sees."""

    CLEAN = 0
    FINDINGS = 1  # findings at or above --fail-on
    NOT_JUDGED = 2  # usage, no readable frame, nothing decodable
    INTERRUPTED = 130  # what is known so far is printed
