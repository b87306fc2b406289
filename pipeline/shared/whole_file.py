"""Files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def in_place_of(name: str) -> Iterator[Path]:
    """A new file beside ``name`` to write, which takes its place when the block ends: nobody sees
    half of it. What a link points to is replaced, not the link; what is no file (a device, a pipe)
    is written to as it is.

    Raises:
        OSError: it cannot be written.
    """
    target = Path(name)
    if target.exists():
        if not target.is_file():
            yield target
            return
        target = target.resolve()
    handle, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:50]}-")
    os.close(handle)
    temporary = Path(made)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
