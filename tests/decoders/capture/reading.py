"""What the tests of the containers share: a capture as plain values, read in any way."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from seqaudit.decoders.capture.pieces import plan_pieces, settle, walk_headers, with_proven_start
from seqaudit.decoders.capture.reader import Piece, Reader


class Frame(NamedTuple):
    """One record as read."""

    offset: int
    data: bytes
    original: int
    at_ns: int
    link: int
    interface: int
    status: int


def frames_of(reader: Reader, *, primed: bool = False) -> list[Frame]:
    """The records of a piece; ``primed``: those before it in place of its own.

    The piece's frames must be numbered from 1 on.
    """
    found: list[Frame] = []
    number = 0
    for records in reader:
        columns = [
            column.tolist()
            for column in (
                records.frame,
                records.offset,
                records.start,
                records.captured,
                records.original,
                records.at_ns,
                records.link,
                records.interface,
                records.status,
            )
        ]
        data = bytes(records.data)
        for frame, offset, start, captured, *rest in zip(*columns, strict=True):
            if frame > 0:
                number += 1
                assert frame == number
            if (frame == 0) == primed:
                assert start + captured <= len(data)
                found.append(Frame(offset, data[start : start + captured], *rest))
    return found


def whole(path: Path, *, compile_it: bool = False) -> tuple[list[Frame], Reader]:
    """A capture in one piece."""
    (piece,) = plan_pieces(str(path), 0, 0, 1 << 40)
    reader = Reader(piece, compile_it)
    return frames_of(reader), reader


class Job(NamedTuple):
    """What a settled job read, and how many runs that took."""

    frames: list[Frame]
    readers: list[Reader]
    runs: int


Read = Callable[[Piece], Reader]


def run(pieces: Sequence[Piece], read: Read | None = None) -> Job:
    """Guess, settle, run again; after two such runs walk the headers (decoders/README.md 2)."""
    make = read or small_reader
    current = list(pieces)
    for runs in range(1, 5):
        readers = [make(piece) for piece in current]
        frames = [frame for reader in readers for frame in frames_of(reader)]
        wrong = settle(current, readers)
        if not wrong:
            return Job(frames, readers, runs)
        if runs < 3:
            for correction in wrong:
                piece = current[correction.number]
                current[correction.number] = with_proven_start(
                    piece, correction.landing, correction.state
                )
        else:
            current = walk_headers(current, compile_it=False)
    raise AssertionError("walked headers do not meet")


def small_reader(piece: Piece) -> Reader:
    """A reader whose output is small, so that thousands of them are quick."""
    return Reader(piece, False, room=64)
