"""When each datagram came: lead of one line over the other, and jitter (design 5.5).

Comes in: the records of rows (seqno, at_ns[, timestamp]), one a datagram, in the order of the
capture. They do not depend on where runs were cut, and neither does anything here.

**Lead.** A number that came on both lines within ``HOLD_NS`` of each other is measured: which line
brought it first, and by how much. Copies on the same line within that time do not count. What is
older than that is forgotten, so memory is bounded by the rate.

**Jitter.** RFC 3550 6.4.1 as its A.8 computes it with integers, but in ns in place of timestamp
units: ``j += |d| - ((j + 8) >> 4)`` for every datagram in the order of arrival, where d is how much
longer (or shorter) it was on its way than the one before; the jitter is ``j >> 4``.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from seqaudit.replay.gaps import Mark
from seqaudit.replay.measures import Durations

#: Two arrivals of a number further apart are not compared.
HOLD_NS: Final = 1_000_000_000
_SECOND_NS: Final = 1_000_000_000
_EMPTY: Final = np.zeros(0, np.int64)


class Sample(NamedTuple):
    """The records of one row."""

    line: int  # 0 or 1
    stop: int  # one past the last number
    records: Any  # (n, 2 or 3) int64


class Leads:
    """Which of two lines brings numbers first."""

    def __init__(self) -> None:
        self.measured = 0
        self.first = [0, 0]  # numbers that a line brought first
        self.together = 0  # in the same ns
        self.lead = (Durations(), Durations())  # of each line, where it was first
        self._numbers = [_EMPTY, _EMPTY]  # of the last HOLD_NS, ascending
        self._times = [_EMPTY, _EMPTY]
        self._done = [np.zeros(0, bool), np.zeros(0, bool)]

    def take(self, samples: list[Sample], following_ns: int) -> None:
        """Records of rows in order; nothing that comes later is before ``following_ns``."""
        for line in (0, 1):
            parts = [_expanded(sample) for sample in samples if sample.line == line]
            numbers = np.concatenate([self._numbers[line], *(part[0] for part in parts)])
            times = np.concatenate([self._times[line], *(part[1] for part in parts)])
            done = np.concatenate(
                [self._done[line], np.zeros(len(numbers) - len(self._done[line]), bool)]
            )
            # The first of each number: the held ones come first, the others are in order.
            self._numbers[line], first = np.unique(numbers, return_index=True)
            self._times[line], self._done[line] = times[first], done[first]
        _, ours, theirs = np.intersect1d(
            self._numbers[0], self._numbers[1], assume_unique=True, return_indices=True
        )
        behind = self._times[1][theirs] - self._times[0][ours]
        new = (np.abs(behind) <= HOLD_NS) & ~(self._done[0][ours] | self._done[1][theirs])
        self._done[0][ours[new]] = True
        self._done[1][theirs[new]] = True
        behind = behind[new]
        self.measured += len(behind)
        self.first[0] += int(np.sum(behind > 0))
        self.first[1] += int(np.sum(behind < 0))
        self.together += int(np.sum(behind == 0))
        self.lead[0].add_many(behind[behind > 0])
        self.lead[1].add_many(-behind[behind < 0])
        for line in (0, 1):
            kept = self._times[line] >= following_ns - HOLD_NS
            self._numbers[line] = self._numbers[line][kept]
            self._times[line] = self._times[line][kept]
            self._done[line] = self._done[line][kept]


class Jitter:
    """Interarrival jitter of one stream."""

    def __init__(self, limit_ns: int | None) -> None:
        self.measured = 0
        self.max_ns = 0
        self.total_ns = 0
        self.last_ns = 0
        self.over: Mark | None = None  # the row in which the limit was first passed
        self._limit_ns = limit_ns
        self._sixteenths = 0
        self._hz: int | None = None
        self._arrival = 0
        self._stamp = 0

    def take(self, records: Any, hz: int | None, bits: int, mark: Mark) -> None:
        """The records of a row whose timestamps tick so often a second (null: unknown)."""
        if hz is None or hz <= 0 or not len(records):
            self._hz = None
            return
        arrivals, stamps = records[:, 1], records[:, 2]
        if self._hz == hz:
            arrivals = np.concatenate(([self._arrival], arrivals))
            stamps = np.concatenate(([self._stamp], stamps))
        self._hz, self._arrival, self._stamp = hz, int(arrivals[-1]), int(stamps[-1])
        ticks = np.diff(stamps)
        if bits < 63:
            ticks = (ticks + (1 << (bits - 1)) & (1 << bits) - 1) - (1 << (bits - 1))
        seconds, rest = ticks // hz, ticks % hz
        sent = seconds * _SECOND_NS + rest * _SECOND_NS // hz
        j, highest, total = self._sixteenths, self.max_ns, 0
        differences = np.abs(np.diff(arrivals) - sent).tolist()
        for d in differences:
            j += d - ((j + 8) >> 4)
            jitter = j >> 4
            total += jitter
            if jitter > highest:
                highest = jitter
        self._sixteenths, self.max_ns, self.last_ns = j, highest, j >> 4
        self.total_ns += total
        self.measured += len(differences)
        if self.over is None and self._limit_ns is not None and highest > self._limit_ns:
            self.over = mark

    def told(self) -> dict[str, int | None]:
        """``last``, ``mean`` and ``max`` in ns; null where nothing was measured."""
        if not self.measured:
            return {"last": None, "mean": None, "max": None}
        mean = self.total_ns // self.measured
        return {"last": self.last_ns, "mean": mean, "max": self.max_ns}


def _expanded(sample: Sample) -> tuple[Any, Any]:
    """Each number of a row and when it came."""
    first, times = sample.records[:, 0], sample.records[:, 1]
    counts = np.diff(np.append(first, sample.stop))
    if len(counts) and int(counts.max()) == 1:
        return first, times
    counts = np.maximum(counts, 0)
    begin = np.repeat(first, counts)
    inside = np.arange(len(begin)) - np.repeat(np.cumsum(counts) - counts, counts)
    return begin + inside, np.repeat(times, counts)
