"""Chosen frames of capture files, written to a pcapng with a comment each.

Timestamps, link types and lengths stay as they were captured; each file and link type becomes an
interface that is named after its file.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO, Final

from seqaudit.decoders.capture.pieces import plan_pieces
from seqaudit.decoders.capture.reader import Reader

#: One piece a file: a slice is read once, from the beginning to its last frame.
_WHOLE: Final = 1 << 62

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 0x00000001, 0x00000006
_END, _COMMENT, _NAME, _RESOLUTION = 0, 1, 2, 9
#: Bytes of a comment; an option has 16 bits for its length.
MAX_COMMENT: Final = 4000


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a file, as it was captured."""

    path: str
    number: int
    at_ns: int
    link: int
    data: bytes
    original: int


def frames_of(path: str, numbers: Iterable[int]) -> Iterator[Frame]:
    """These frames of a capture file, in its order; those that it has not are left out.

    Raises:
        CaptureError: the file is no readable capture.
    """
    wanted = set(numbers)
    last = max(wanted, default=0)
    for piece in plan_pieces(path, 0, 0, _WHOLE):
        for records in Reader(piece, False):
            for row, number in enumerate(records.frame[: records.count].tolist()):
                if number in wanted:
                    start, size = int(records.start[row]), int(records.captured[row])
                    yield Frame(
                        path, number, int(records.at_ns[row]), max(int(records.link[row]), 0),
                        bytes(records.data[start : start + size]), int(records.original[row]),
                    )  # fmt: skip
            if records.count and int(records.frame[records.count - 1]) >= last:
                return


def write_frames(
    out: BinaryIO, frames: Iterable[Frame], comments: Mapping[tuple[str, int], list[str]]
) -> int:
    """Write frames to a pcapng; returns how many.

    Args:
        comments: by path and number of a frame.
    """
    out.write(_block(_SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
    interfaces: dict[tuple[str, int], int] = {}
    count = 0
    for frame in frames:
        source = frame.path, frame.link
        if source not in interfaces:
            interfaces[source] = len(interfaces)
            named = _option(_NAME, PurePath(frame.path).name.encode(errors="replace"))
            options = named + _option(_RESOLUTION, b"\x09") + _option(_END, b"")
            out.write(_block(_INTERFACE, struct.pack("<HHI", frame.link, 0, 0) + options))
        at_ns = max(frame.at_ns, 0)
        head = struct.pack(
            "<IIIII", interfaces[source], at_ns >> 32, at_ns & 0xFFFFFFFF, len(frame.data),
            frame.original,
        )  # fmt: skip
        text = "\n".join(comments.get((frame.path, frame.number), []))
        told = text.encode(errors="replace")[:MAX_COMMENT].decode(errors="ignore").encode()
        options = _option(_COMMENT, told) + _option(_END, b"") if told else b""
        out.write(_block(_PACKET, head + _padded(frame.data) + options))
        count += 1
    return count


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
