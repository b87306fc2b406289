"""Exit codes of the command (cli/README.md 1)."""

from collections.abc import Callable
from enum import IntEnum
from typing import Final

#: In a click context: what the command shows is what was known when it was interrupted.
STOPPED: Final = "seqaudit.stopped"


class ExitCode(IntEnum):
    """What the shell sees."""

    CLEAN = 0
    FINDINGS = 1  # findings at or above --fail-on
    NOT_JUDGED = 2  # usage, no readable frame, nothing decodable or numbered, no vantage
    INTERRUPTED = 130  # what is known so far is printed


#: The function of a command, which says how it ended; and what gives it options.
Command = Callable[..., int]
Decorator = Callable[[Command], Command]
