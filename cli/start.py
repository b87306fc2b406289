"""Where the command begins: before anything is imported, Ctrl-C already ends it in one line.

Imports take longer than many commands, and a KeyboardInterrupt among them would be a traceback. In
Python's own first moments, before this file is read, it is Python that answers; so this imports
only what is compiled into Python: ``signal`` itself would be as long again.
"""

import _signal as signal  # type: ignore[import-not-found]
import os


def ended(number: int, frame: object) -> None:
    """Nothing was read yet, so nothing is known; the exit code is that of every interruption."""
    os.write(2, b"\ninterrupted\n")
    os._exit(130)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is switched off
    signal.signal(signal.SIGINT, ended)


def main() -> None:
    """Run the command; from its own first step on Ctrl-C is its affair."""
    from seqaudit.cli.main import main as command

    command()
