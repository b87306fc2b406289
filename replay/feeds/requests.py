"""Requests for numbers of a feed and what answered them (decoders/README.md 5).

Requests are unicast to a server that many receivers share, so a capture sees those that pass it. A
request says that its sender misses the numbers; what arrived here it lost on its own way, or asked
for needlessly. Answers are repairs as the wire marks them.
"""

from bisect import bisect_left, bisect_right, insort
from itertools import islice
from typing import Final, Protocol

from seqaudit.replay.feeds.notes import Noted
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range

#: Stretches that are waited for at once, and those remembered as ever asked for.
MAX_WAITING: Final = 50_000
#: Requesters that are counted one by one.
MAX_REQUESTERS: Final = 1_000


class Requestable(Protocol):
    """What numbers can be asked for of: a stream, or two lines."""

    def standing(self, first: int, stop: int) -> tuple[list[Range], int]: ...

    def was_asked(self, first: int, stop: int, mark: Mark, by: str | None) -> None: ...


class Requests:
    """The requests for the numbers of one stream."""

    def __init__(self) -> None:
        self.requests = 0
        self.numbers = 0
        self.by_source: dict[str, list[int]] = {}  # requests, numbers
        self.arrived_here = Noted()  # asked for although they had arrived at it
        self.repeated = 0
        self.answered = Durations()
        self.first: Mark | None = None
        self._waiting: list[tuple[int, int, Mark]] = []  # disjoint, ascending

    def ask(self, stream: Requestable, ranges: list[Range], mark: Mark, source: str) -> None:
        """``source`` asked for some numbers, unwrapped."""
        self.requests += 1
        self.first = self.first or mark
        entry = self.by_source.get(source)
        if entry is None and len(self.by_source) < MAX_REQUESTERS:
            entry = self.by_source[source] = [0, 0]
        if entry is not None:
            entry[0] += 1
            entry[1] += sum(b - a for a, b in ranges)
        for first, stop in ranges:
            self.numbers += stop - first
            missing, seen = stream.standing(first, stop)
            cursor = first
            for begin, end in (*missing, (min(stop, seen), stop)):
                if cursor < begin:
                    self.arrived_here.add(cursor, begin, mark)
                cursor = end
            stream.was_asked(first, stop, mark, source)
            self._wait(first, stop, mark)

    def answer(self, first: int, stop: int, mark: Mark) -> None:
        """A repair of [first, stop) came."""
        place = max(bisect_left(self._waiting, (first,)) - 1, 0)
        while place < len(self._waiting) and self._waiting[place][0] < stop:
            begin, end, asked = self._waiting[place]
            low, high = max(begin, first), min(end, stop)
            if low >= high:
                place += 1
                continue
            del self._waiting[place]
            self.answered.add(max(mark.at_ns - asked.at_ns, 0), high - low)
            for part in ((begin, low), (high, end)):
                if part[0] < part[1]:
                    self._waiting.insert(place, (*part, asked))
                    place += 1

    def unanswered(self, before_ns: int) -> list[tuple[int, int, Mark]]:
        """What is still waited for and was asked for before then."""
        return [entry for entry in self._waiting if entry[2].at_ns <= before_ns]

    def _wait(self, first: int, stop: int, mark: Mark) -> None:
        """Of what is waited for already, the first request counts."""
        waiting = self._waiting
        if first < stop and (not waiting or first >= waiting[-1][1]):
            if len(waiting) < MAX_WAITING:
                waiting.append((first, stop, mark))
            return
        cursor = first
        place = max(bisect_right(self._waiting, (first, stop, mark)) - 1, 0)
        new: list[Range] = []
        for begin, end, _ in islice(self._waiting, place, None):
            if begin >= stop:
                break
            if end <= cursor:
                continue
            if cursor < begin:
                new.append((cursor, begin))
            cursor = max(cursor, end)
        if cursor < stop:
            new.append((cursor, stop))
        self.repeated += stop - first - sum(b - a for a, b in new)
        for part in new:
            if len(self._waiting) < MAX_WAITING:
                insort(self._waiting, (*part, mark))
