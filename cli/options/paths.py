"""Captures as users name them: files, folders and patterns, here and on other file systems."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Final
from urllib.parse import unquote

import click

from seqaudit.cli.output.text import safe

#: How names of captures end, compressed or not, with a number behind (tcpdump -C writes cap.pcap3).
_SUFFIXES: Final = (".pcap", ".pcapng", ".cap", ".ntar", ".parquet")
_COMPRESSED: Final = frozenset({".gz", ".zst", ".lz4", ".xz"})
_MAGIC: Final = frozenset("*?[")


def expanded(captures: Sequence[str]) -> list[str]:
    """The files that are meant: of a folder all captures below it, of a pattern those it fits.

    Raises:
        click.UsageError: a pattern that no file fits, or no name at all.
    """
    if "" in captures:  # Python takes it for the folder where we are
        raise click.UsageError("a capture has no name (''); is a variable of the shell not set?")
    found: list[str] = []
    for name in captures:
        found += _files(name)
    # A file that is named twice by itself is a mistake, of which the audit says so.
    return found if found == list(captures) else list(dict.fromkeys(found))


def _files(name: str) -> list[str]:
    name = _local(name)
    path = Path(name)
    if name == "-" or path.is_file():
        return [name]
    if "://" in name:
        return _elsewhere(name)
    if path.is_dir():
        inside = sorted(str(file) for file in _below(path))
        if not inside:
            return [name]  # said as of a file that cannot be read; others are audited
        return inside
    if _MAGIC & set(name) and not path.exists():
        fitting = sorted(str(file) for file in _fitting(name) if file.is_file())
        if not fitting:
            raise click.UsageError(f"{safe(name)}: no file fits the pattern")
        return fitting
    return [name]


def _elsewhere(name: str) -> list[str]:
    """As ``_files``, of another file system."""
    from seqaudit.decoders.capture.remote import fitting, is_pattern
    from seqaudit.decoders.contract.errors import CaptureError

    try:
        found = fitting(name)
    except CaptureError as problem:
        raise click.UsageError(safe(problem)) from problem
    if is_pattern(name):
        if not found:
            raise click.UsageError(f"{safe(name)}: no file fits the pattern")
        return found
    inside = [file for file in found or () if is_capture(PurePosixPath(file))]
    return inside or [name]


def _local(name: str) -> str:
    """A file of this machine by its path, where it is given as a URI; other names as they are."""
    path = re.match(r"file:(?://(?:localhost)?(?=/))?(.+)", name)
    return name if path is None or Path(name).exists() else unquote(path[1])


def _below(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.is_file() and is_capture(file))


def _fitting(pattern: str) -> Iterator[Path]:
    whole = Path(pattern)
    if whole.is_absolute():
        return Path(whole.anchor).glob(str(whole.relative_to(whole.anchor)))
    return Path().glob(pattern)


def is_capture(file: PurePath) -> bool:
    """Whether a file's name is that of a capture: ``a.pcap``, ``a.pcapng.zst``, ``a.pcap3``."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1].rstrip("0123456789") in _SUFFIXES
