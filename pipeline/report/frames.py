"""Frames as the report numbers them, and display filters that show them."""

import bisect
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import PurePath
from typing import Any, Final, TypeVar, cast

from seqaudit.decoders.contract.events import FRAME_BITS
from seqaudit.pipeline.shared.plan import File

R = TypeVar("R", bound=Mapping[str, object])

#: Members of a display filter; Wireshark gets slow with long ones.
FILTER_PARTS: Final = 50

#: A display filter for a finding that is about no single frame: everything.
EVERY_FRAME: Final = "frame"

#: What holds nothing else.
_SCALARS: Final = frozenset((int, str, float, bool, type(None)))


class FrameNumbers:
    """From job frames (``split << FRAME_BITS | number``) to a file and Wireshark's number in it."""

    def __init__(
        self,
        files: Sequence[Sequence[File]],
        counts: Mapping[int, int],
        moved: Mapping[int, int] | None = None,
    ) -> None:
        """
        Args:
            counts: frames of each split.
            moved: job frames that are places in the order of times, to those of the file's order.
        """
        self._moved = moved or {}
        self._several = [len(own) > 1 for own in files]
        self._names = [[PurePath(file.shown).name for file in own] for own in files]
        self._starts: list[int] = []  # first split of each file
        self._places: list[int] = []  # place of the file in its capture
        self._moves: dict[int, int] = {}  # from a job frame of a split to its number
        for own in files:
            for place, file in enumerate(own):
                self._starts.append(file.first_split)
                self._places.append(place)
                base = 0
                for split in range(file.first_split, file.stop_split):
                    self._moves[split] = base - (split << FRAME_BITS)
                    base += counts.get(split, 0)

    def number(self, frame: int) -> int:
        """Wireshark's number of a job frame in its file."""
        frame = self._moved.get(frame, frame)
        split = frame >> FRAME_BITS
        return frame + self._moves.get(split, -(split << FRAME_BITS))

    def file(self, frame: int) -> int:
        """Which file of its capture a job frame is in, from 0."""
        place = bisect.bisect_right(self._starts, frame >> FRAME_BITS) - 1
        return self._places[max(place, 0)]

    def named(self, capture: int, place: int | None) -> str | None:
        """The name of a file of a capture of several; null of a capture of one."""
        if place is None or not self._several[capture]:
            return None
        return self._names[capture][place]

    def resolved(self, row: R, capture: int) -> R:
        """A row with every job frame in it replaced.

        Of captures of several files each frame also says its file, beside it: ``frame_file``.
        Objects are new ones; a list that holds none may be the same.
        """
        return cast(R, self._row_resolved(row, self._several[capture]))

    def _resolved(self, value: object, several: bool) -> object:
        if isinstance(value, dict):
            return self._row_resolved(value, several)
        if isinstance(value, list) and not _flat(value):
            return [self._resolved(item, several) for item in value]
        return value

    def _row_resolved(self, row: Mapping[str, object], several: bool) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, item in cast(Mapping[str, Any], row).items():
            kind = type(item)
            if item is None or kind is str:
                found[key] = item
            elif kind is int:
                if _is_frame(key):
                    found[key] = self.number(item)
                    if several:
                        found[f"{key}_file"] = self.file(item)
                else:
                    found[key] = item
            elif key == "frames" and kind is list:
                found[key] = [self.number(frame) for frame in item]
                if several:
                    found["frames_file"] = [self.file(frame) for frame in item]
            else:
                found[key] = self._resolved(item, several)
        return found

    def display_filter(self, frames: Iterable[int]) -> str:
        """The display filter that shows these job frames; of the file of the first, if several."""
        listed = list(frames)
        if not listed:
            return EVERY_FRAME
        file = self.file(listed[0])
        numbers = sorted({self.number(f) for f in listed if self.file(f) == file})
        parts: list[tuple[int, int]] = []
        for number in numbers:
            if parts and parts[-1][1] == number - 1:
                parts[-1] = (parts[-1][0], number)
            else:
                parts.append((number, number))
        if len(numbers) == 1:
            return f"frame.number == {numbers[0]}"
        shown = [f"{a}" if a == b else f"{a}..{b}" for a, b in parts[:FILTER_PARTS]]
        return f"frame.number in {{{', '.join(shown)}}}"

    def span_filter(self, span: tuple[int, int] | None) -> str:
        """The display filter from one job frame to another; of all frames if nobody knows them.

        Of captures of several files it is for the first frame's file, to that file's end.
        """
        if span is None:
            return EVERY_FRAME
        first, last = span
        begin = f"frame.number >= {self.number(first)}"
        if self.file(last) != self.file(first):
            return begin
        return f"{begin} && frame.number <= {self.number(last)}"


@lru_cache(maxsize=1_000)  # some objects have data as their keys
def _is_frame(key: str) -> bool:
    return key == "frame" or key.endswith("_frame")


def _flat(values: list[Any]) -> bool:
    """Whether a list holds no object, at the depth of ranges of seqnos or above."""
    kinds = set(map(type, values))
    if kinds == {list}:
        kinds = set(map(type, chain.from_iterable(values)))
    return kinds <= _SCALARS
