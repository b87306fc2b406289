"""What engines write down while they replay: seqnos that something was noticed about, and when."""

from typing import Final

from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

MAX_KEPT_MARKS: Final = 100


class Note:
    """Seqnos something was noticed about, and the first moments of it."""

    __slots__ = ("marks", "ranges")

    def __init__(self) -> None:
        self.ranges = RangeSet()
        self.marks: list[Mark] = []

    def add(self, first: int, stop: int, mark: Mark) -> None:
        """[first, stop) was noticed."""
        self.ranges.add(first, stop)
        if len(self.marks) < MAX_KEPT_MARKS:
            self.marks.append(mark)

    def facts(self) -> dict[str, int]:
        """How much, as a finding counts it."""
        return {"count": self.ranges.total()}

    def __bool__(self) -> bool:
        return bool(self.ranges)


class Times:
    """Something that happened again and again: how often, and the first moments of it."""

    __slots__ = ("count", "marks")
    ranges: Final = RangeSet()  # of no seqnos

    def __init__(self) -> None:
        self.count = 0
        self.marks: list[Mark] = []

    def add(self, mark: Mark) -> None:
        self.count += 1
        if len(self.marks) < MAX_KEPT_MARKS:
            self.marks.append(mark)

    def facts(self) -> dict[str, int]:
        """How often, as a finding counts it."""
        return {"times": self.count}

    def __bool__(self) -> bool:
        return self.count > 0
