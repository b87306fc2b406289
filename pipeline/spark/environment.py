"""The Python packages that workers need, in one archive that a job brings along.

It holds a folder of packages and a small program that starts a Python of the worker with them. So a
worker needs a Python of the same version, as with every environment that Spark ships, and nothing
else. Spark unpacks it beside each executor (``spark.archives``).
"""

import io
import re
import sys
import tarfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.pipeline.spark.worker_look import NEEDED

#: Of gzip: three times as fast as its own choice, and a tenth larger.
LEVEL: Final = 1

#: Folders of packages that nothing imports.
_LEFT_OUT: Final = frozenset({"__pycache__", "tests", "include"})

_PROGRAM: Final = """#!/bin/sh
# A Python {version} of this machine, with the packages of this archive before its own.
here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
PYTHONPATH="$here/packages${{PYTHONPATH:+:$PYTHONPATH}}" exec python{version} "$@"
"""


def pack(target: Path, needed: Sequence[str] = tuple(NEEDED.values())) -> dict[str, str]:
    """Write the archive, whole or not at all.

    Args:
        needed: packages, as pip calls them; what they need comes with them.

    Returns:
        Version of each package in it.

    Raises:
        SeqauditError: a package is not there as pip installs it, or there is no room.
    """
    packed = dict(sorted((found.name, found) for found in _closure(needed)))
    version = ".".join(map(str, sys.version_info[:2]))
    partial = Path(f"{target}.part")
    try:
        with tarfile.open(partial, "w:gz", compresslevel=LEVEL) as archive:
            _add(archive, "bin/python", _PROGRAM.format(version=version).encode(), 0o755)
            for found in packed.values():
                for name, path in _files(found):
                    _add(archive, f"packages/{name}", path.read_bytes(), path.stat().st_mode)
        partial.replace(target)
    except OSError as problem:
        raise SeqauditError(
            f"{target}: cannot be written ({problem.strerror or problem}); name a folder with room"
        ) from problem
    finally:
        partial.unlink(missing_ok=True)
    return {name: found.version for name, found in packed.items()}


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    """A file without an owner and a time, which are of no use elsewhere."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    member.mode = mode & 0o777
    archive.addfile(member, io.BytesIO(content))


def _closure(needed: Sequence[str]) -> list[metadata.Distribution]:
    """These packages and all that they need, as they are installed here."""
    found: dict[str, metadata.Distribution] = {}
    wanted = list(needed)
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name in needed:
                raise SeqauditError(f"{name} is not installed here; pip install {name}") from None
            continue  # for another system or another Python
        for text in found[name].requires or []:
            match = re.match(r"[A-Za-z0-9._-]+", text)
            if match and "extra ==" not in text:
                wanted.append(match[0])
    return list(found.values())


def _files(found: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """Name in the archive and path of each file of a package.

    Raises:
        SeqauditError: nobody knows which files are its.
    """
    if not found.files:
        raise SeqauditError(
            f"{found.name} was not installed by pip, so its files are not known; install it into a "
            "virtual environment"
        )
    for file in sorted(found.files, key=str):
        path = Path(str(file.locate()))
        inside = ".." not in file.parts and not file.is_absolute()  # else a program of it
        if inside and not _LEFT_OUT & set(file.parts) and file.suffix != ".pyc" and path.is_file():
            yield file.as_posix(), path
