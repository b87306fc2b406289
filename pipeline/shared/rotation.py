"""Which of the files given are one capture, written in turns, and in which order
(decoders/README.md 3).

Capture tools begin a new file by size or time. Their names say so (dumpcap ring buffers, ``tcpdump
-C``, ``-W`` and ``-G``), and their times must agree: one file begins where another ends. The order
is that of the first packets, whatever order a shell gives.
"""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePath
from typing import Final

from seqaudit.decoders.capture.pieces import TO_THE_END, Piece, plan_pieces
from seqaudit.decoders.capture.reader import STDIN, Reader
from seqaudit.decoders.contract.errors import CaptureError

#: dumpcap -b: NAME_00001_20240101120000.pcap, and newer NAME_00001.pcap with its own options.
_RING: Final = re.compile(r"(?P<stem>.+)_(?P<number>\d{5})_\d{14}(?P<rest>\..*)?")
#: tcpdump -C and -W: NAME.pcap, NAME.pcap1, NAME.pcap2 … or NAME.pcap00, NAME.pcap01 …
_SIZE: Final = re.compile(
    r"(?P<stem>.+\.(?:pcap|cap|dump|dmp|pcapng|trace))(?P<number>\d*)(?P<rest>\.(?:gz|zst|lz4))?"
)
#: tcpdump -G with the time in the name, or seconds since 1970, and with -C a number behind it.
_TIME: Final = re.compile(
    r"(?P<stem>.*?)(?P<number>\d{4}-?\d{2}-?\d{2}[-_T. ]?\d{2}[-:.]?\d{2}(?:[-:.]?\d{2})?"
    r"|(?<!\d)1\d{9}(?!\d))"
    r"(?:[-_.]?\d{1,5})?(?P<rest>(?:\.[A-Za-z]\w*)*)"
)

#: What whoever compresses a file that is complete puts behind its name: the last one is not yet.
_PACKED: Final = re.compile(r"\.(?:gz|zst|lz4)$")

#: Bytes at the ends of a file in which its first and its last packet are looked for.
HEAD_BYTES: Final = 16 * 1024
TAIL_BYTES: Final = 64 * 1024
#: Of files that are named by time, so long a pause at least may lie between two of a capture.
PAUSE_NS: Final = 10_000_000_000


@dataclass(frozen=True, slots=True)
class FileTimes:
    """Times of a file's first and last packet; null where nobody knows."""

    first_ns: int | None
    last_ns: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """Files of one capture, in the order of their first packets.

    Attributes:
        why: how they were recognised; empty: a file by itself.
        moved: they were given in another order.
    """

    files: tuple[str, ...]
    why: str = ""
    moved: bool = False


def arranged(paths: Sequence[str], *, insist: bool = False, forbid: bool = False) -> list[Group]:
    """The captures that files are, each where its first file was given.

    Args:
        insist: all are one capture.
        forbid: each is one by itself.
    """
    if insist:
        return [_grouped(paths, "--one-capture")]
    alone = [Group((path,)) for path in paths]
    if forbid or len(paths) < 2:
        return alone
    of_file: dict[str, Group] = {}
    for why, files in _alike(paths):
        group = _grouped(files, why)
        if _fits(group):
            of_file |= dict.fromkeys(files, group)
    found: list[Group] = []
    for own in alone:
        group = of_file.get(own.files[0], own)
        if group is own or group not in found:
            found.append(group)
    return found


def _alike(paths: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Files whose names differ only as a capture tool makes them differ."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for path in paths:
        name = PurePath(path)
        for why, pattern in (
            ("dumpcap ring", _RING), ("tcpdump -C", _SIZE), ("tcpdump -G", _TIME)
        ):  # fmt: skip
            match = pattern.fullmatch(name.name)
            if match and (match["number"] or why == "tcpdump -C"):
                key = (why, str(name.parent), match["stem"], _PACKED.sub("", match["rest"] or ""))
                groups.setdefault(key, []).append(path)
                if match["number"]:
                    break  # a file of one kind is none of another
    taken: set[str] = set()
    found = []
    for (why, *_), files in groups.items():
        for own in _in_turns([file for file in files if file not in taken]):
            taken.update(own)
            found.append((why, own))
    return found


def _in_turns(paths: Sequence[str]) -> list[list[str]]:
    """Several of these files, compressed or not; where one is there both ways, those apart that
    are."""
    parts = [list(paths)]
    if len({_PACKED.sub("", path) for path in paths}) < len(paths):
        packed = [path for path in paths if _PACKED.search(path)]
        parts = [[path for path in paths if path not in packed], packed]
    return [part for part in parts if len(part) > 1]


def _grouped(paths: Sequence[str], why: str) -> Group:
    """Files in the order of their first packets; those that nobody can read come last."""
    if STDIN in paths:
        return Group(tuple(paths), why)

    def begin(path: str) -> tuple[bool, int, str, int, str]:
        first = span_of(path).first_ns
        return first is None, first or 0, *_natural(path)

    ordered = tuple(sorted(paths, key=begin))
    return Group(ordered, why, moved=ordered != tuple(paths))


def _natural(path: str) -> tuple[str, int, str]:
    digits = re.search(r"(\d+)\D*$", path)
    return (path[: digits.start(1)], int(digits[1]), path) if digits else (path, -1, path)


def _fits(group: Group) -> bool:
    """Whether one file begins where another ends: captures of several places run side by side."""
    spans = [span for path in group.files if (span := span_of(path)).first_ns is not None]
    longest = max(map(_length, spans), default=0)
    for one, other in pairwise(spans):
        assert one.first_ns is not None and other.first_ns is not None, "of those that have packets"
        if one.last_ns is None:
            continue
        pause = other.first_ns - one.last_ns
        if pause < 0 and 2 * -pause >= min(_length(one), _length(other)):
            return False
        if group.why == "tcpdump -G" and pause > max(PAUSE_NS, longest):
            return False
    return True


def _length(span: FileTimes) -> int:
    if span.first_ns is None or span.last_ns is None:
        return 0
    return span.last_ns - span.first_ns


@lru_cache(maxsize=100_000)
def span_of(path: str) -> FileTimes:
    """When a file begins and ends, by a look at both ends."""
    with contextlib.suppress(CaptureError):
        (piece,) = plan_pieces(path, 0, 0, TO_THE_END, cuts=[])
        first = _times(replace(piece, stop=min(piece.stop, HEAD_BYTES)))
        if piece.stop <= HEAD_BYTES:
            return FileTimes(*first)
        if piece.compression or piece.size_bytes < 0:
            return FileTimes(first[0], None)
        begin = max(0, piece.stop - TAIL_BYTES)
        tail = replace(piece, start=begin, proven=begin == 0, whole=False)
        return FileTimes(first[0], _times(tail)[1])
    return FileTimes(None, None)


def _times(piece: Piece) -> tuple[int | None, int | None]:
    first = last = None
    for records in Reader(piece, False):
        times = records.at_ns[records.status == 0]
        if len(times):
            first = int(times[0]) if first is None else first
            last = max(int(times.max()), last or 0)
    return first, last
