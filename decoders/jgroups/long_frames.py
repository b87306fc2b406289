"""TCP frames longer than any datagram: cut into parts that the decoder of datagrams reads.

A list holds as many messages as its sender liked (``bundler.max_size``), but the kernel's tables
are made for what a datagram can hold. Headers have no length (jgroups.md 1.8), so where a message
ends only the kernel knows: it reads as much of the rest as a datagram's worth, and the part ends
where the first message began that it could not finish. Each part is a list with the same head.

Memory: the parts of one frame at a time, so twice the longest frame (64 MB, and 128 MB of all
unfinished frames of a capture, ``decoders.stages.tcp``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.jgroups.datagrams import JGroupsDecoder
from seqaudit.decoders.network.packets import Datagrams

#: What the kernel reads of one frame.
READ: Final = 65_535
#: Bytes after an address's tag: null, UUID.
ADDRESSES: Final = {1: 0, 2: 16}
LIST: Final = 1


class FrameHead(NamedTuple):
    """A frame for the kernel: ``data`` is at most READ bytes of ``length``."""

    data: bytes
    length: int
    first: int  # number of its first message in the whole frame
    known: bool  # what is not read is only the payload of its last message


class LongFrames:
    """Cuts long frames; a decoder of its own finds the places."""

    def __init__(self, settings: DecodeSettings) -> None:
        self._decoder = JGroupsDecoder(settings)

    def parts(self, frame: bytes, *, compile_it: bool) -> Iterator[FrameHead]:
        """The frame's parts; itself, cut, if it is no list or nothing can be found in it."""
        head = _head(frame)
        if head is None:
            _, _, ends = self._reached(frame[:READ], len(frame), compile_it)
            yield FrameHead(frame[:READ], len(frame), 0, ends == len(frame))
            return
        left = int.from_bytes(frame[head : head + 4], "big")
        at, first = head + 4, 0
        while at < len(frame) and left > 0:
            begin = frame[:head] + left.to_bytes(4, "big")
            read = begin + frame[at : at + READ - len(begin)]
            if len(begin) + len(frame) - at <= READ:
                yield FrameHead(read, len(read), first, True)
                return
            not_begun, last, ends = self._reached(read, len(begin) + len(frame) - at, compile_it)
            done = left - not_begun - 1
            if ends > len(read):  # only its payload is beyond
                last, done = ends, done + 1
            following = at + last - len(begin)
            if done <= 0 or following <= at or following > len(frame):
                yield FrameHead(read, len(begin) + len(frame) - at, first, False)
                return
            size = len(begin) + following - at
            part = frame[:head] + done.to_bytes(4, "big") + frame[at:following]
            yield FrameHead(part[:READ], size, first, True)
            at, left, first = following, left - done, first + done

    def _reached(self, read: bytes, length: int, compile_it: bool) -> tuple[int, int, int]:
        """As ``JGroupsDecoder.reached``, of a frame that is cut."""
        self._decoder.decode(Datagrams.of_one(read, length, compile_it=compile_it))
        return self._decoder.reached()


def cluster_of(frame: bytes) -> str:
    """The cluster that a list is for; empty if it has none."""
    found = _head_of(frame)
    return "" if found is None else found[1].decode("utf-8", "replace")


def _head(frame: bytes) -> int | None:
    found = _head_of(frame)
    return None if found is None else found[0]


def _head_of(frame: bytes) -> tuple[int, bytes] | None:
    """Where the number of messages is in a list (1.5), and the cluster; null if it is none."""
    if len(frame) < 16 or not frame[2] & LIST:
        return None
    at = 3
    for _ in range(2):
        size = ADDRESSES.get(frame[at]) if at < len(frame) else None
        if size is None:
            return None
        at += 1 + size
    begin = at + 2
    at = begin + max(int.from_bytes(frame[at:begin], "big", signed=True), 0)
    return (at, frame[begin:at]) if at + 4 <= len(frame) else None
