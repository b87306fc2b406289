"""Python processes of ours run the code that this process runs.

``python -m`` looks in the working folder before anything else. A clone there that is called
seqaudit would be taken in place of what is installed, and so would a file called like a module of
Python's.
"""

import os
import sys
from pathlib import Path

#: Environment variable of Python (3.11): not to look there.
SAFE_PATH = "PYTHONSAFEPATH"


def environment() -> dict[str, str]:
    """What the environment of such a process has besides ours: it looks in the working folder only
    if this one does."""
    try:
        here = Path.cwd()
        looks = any(Path(entry).resolve() == here for entry in sys.path)
    except OSError:  # the folder is gone
        looks = False
    return {} if looks else {SAFE_PATH: "1"}


def whole_environment() -> dict[str, str]:
    """The same with all of ours."""
    return dict(os.environ) | environment()
