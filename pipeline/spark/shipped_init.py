"""``seqaudit/__init__.py`` in the archive that a job ships to its workers (``shipped_code``).

Kernels are read and compiled from files. So the archive is unpacked: into the user's cache folder,
where the next job finds it with what was compiled for it; where there is none beside the archive,
and then it goes with the job.
"""

import os
import shutil
import tempfile
import zipfile
from pathlib import Path

_ARCHIVE = Path(__file__).parents[1]


def _unpacked() -> Path:
    """The folder that holds what the archive holds."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    for parent in (cache / "seqaudit", _ARCHIVE.parent):
        folder = parent / _ARCHIVE.stem
        try:
            if not parent.is_absolute():  # nobody is at home here
                continue
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not folder.exists():
                _unpack(parent, folder)
            if folder.stat().st_uid == os.getuid():
                return folder
        except (OSError, RuntimeError):  # no room, no right
            continue
    raise ImportError(f"{_ARCHIVE}: there is no folder that it could be unpacked into")


def _unpack(parent: Path, folder: Path) -> None:
    new = Path(tempfile.mkdtemp(dir=parent))
    with zipfile.ZipFile(_ARCHIVE) as archive:
        archive.extractall(new)
    try:
        new.rename(folder)
    except OSError:  # another worker was first
        shutil.rmtree(new, ignore_errors=True)


__path__ = [str(_unpacked() / "seqaudit")]
