"""When each datagram came: lead of one line over the other, and jitter (decoders/README.md 5).

Comes in: the records of rows (seqno, at_ns[, timestamp]), one a datagram, in the order of the
capture. They do not depend on where runs were cut, and neither does anything here.

**Lead.** A number that came on both lines within ``HOLD_NS`` of each other is measured: which line
brought it first, and by how much. Copies on the same line within that time of the one that counts
do not count. What is older than that is forgotten, so memory is bounded by the rate. Arrivals are
judged in the order of their times, once no earlier one can come: a row may hold records from
behind the beginning of the next.

**Jitter.** RFC 3550 6.4.1 as its A.8 computes it with integers, but in ns in place of timestamp
units: ``j += |d| - ((j + 8) >> 4)`` for every datagram in the order of arrival, where d is how much
longer (or shorter) it was on its way than the one before; the jitter is ``j >> 4``.

A difference of ``STEP_NS`` or more is no jitter: a clock was set, the capture's or the sender's, or
what came long before comes again. The first one that would pass a limit alone may be a smaller
step: of that nothing is said, and the next one counts.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from seqaudit.replay.contract.report_rows import JitterRow
from seqaudit.replay.feeds.rows import FeedColumns
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.gaps import Mark

#: No way becomes so much longer or shorter from one datagram to the next.
STEP_NS: Final = 1_000_000_000
#: A difference adds a sixteenth of itself to the jitter.
PART: Final = 16
#: Two arrivals of a number further apart are not compared.
HOLD_NS: Final = 1_000_000_000
_SECOND_NS: Final = 1_000_000_000
_EMPTY: Final = np.zeros(0, np.int64)
#: Before all times, and far enough from them to subtract.
_NEVER: Final = -(1 << 62)


class TimeSample(NamedTuple):
    """The records of one row."""

    line: int  # 0 or 1
    stop: int  # one past the last number
    records: Any  # (n, 2 or 3) int64
    moved: int  # what is to be added to the numbers, which may have wrapped


class Leads:
    """Which of two lines brings numbers first."""

    def __init__(self) -> None:
        self.measured = 0
        self.first = [0, 0]  # numbers that a line brought first
        self.together = 0  # in the same ns
        self.lead = (Durations(), Durations())  # of each line, where it was first
        # Arrivals that another may still come before: numbers, times, lines.
        self._waiting = (_EMPTY, _EMPTY, _EMPTY)
        # Numbers that came within the last HOLD_NS, ascending; of each line when the one that
        # counts came (_NEVER: none did) and whether it has been measured.
        self._numbers = _EMPTY
        self._times = [_EMPTY, _EMPTY]
        self._done = [np.zeros(0, bool), np.zeros(0, bool)]

    def take(self, samples: list[TimeSample], following_ns: int) -> None:
        """Records of rows in order; nothing that comes later is before ``following_ns``."""
        parts = [_expanded(sample) for sample in samples]
        lines = [
            np.full(len(part[0]), sample.line) for sample, part in zip(samples, parts, strict=True)
        ]
        numbers = np.concatenate([self._waiting[0], *(part[0] for part in parts)])
        times = np.concatenate([self._waiting[1], *(part[1] for part in parts)])
        line = np.concatenate([self._waiting[2], *lines])
        early = times < following_ns
        self._waiting = numbers[~early], times[~early], line[~early]
        self._arrive(numbers[early], times[early], line[early])
        kept = np.maximum(*self._times) >= following_ns - HOLD_NS
        self._numbers = self._numbers[kept]
        for own in (0, 1):
            self._times[own] = self._times[own][kept]
            self._done[own] = self._done[own][kept]

    def close(self) -> None:
        waiting, self._waiting = self._waiting, (_EMPTY, _EMPTY, _EMPTY)
        self._arrive(*waiting)

    def _arrive(self, numbers: Any, times: Any, lines: Any) -> None:
        """All arrivals of some time."""
        if not len(numbers):
            return
        order = np.lexsort((lines, times, numbers))
        numbers, times, lines = numbers[order], times[order], lines[order]
        self._know(numbers)
        places = np.searchsorted(self._numbers, numbers)
        begin = np.concatenate(([True], numbers[1:] != numbers[:-1]))
        begins = np.flatnonzero(begin)
        # The arrivals of a number are judged one after the other: all first ones, all second ones.
        turn = np.arange(len(numbers)) - np.repeat(begins, np.diff(np.append(begins, len(numbers))))
        by_turn = np.argsort(turn, kind="stable")
        borders = np.cumsum(np.bincount(turn))
        for picked in np.split(by_turn, borders[:-1]):
            for own in (0, 1):
                of_line = picked[lines[picked] == own]
                if len(of_line):
                    self._first(own, places[of_line], times[of_line])

    def _know(self, numbers: Any) -> None:
        """Make room for numbers that are not held."""
        known = np.union1d(self._numbers, numbers)
        places = np.searchsorted(known, self._numbers)
        for own in (0, 1):
            times, done = np.full(len(known), _NEVER), np.zeros(len(known), bool)
            times[places], done[places] = self._times[own], self._done[own]
            self._times[own], self._done[own] = times, done
        self._numbers = known

    def _first(self, own: int, places: Any, times: Any) -> None:
        """Numbers, each once, that a line brings."""
        other = 1 - own
        new = times - self._times[own][places] > HOLD_NS  # else it is a copy
        places, times = places[new], times[new]
        ahead = times - self._times[other][places]
        both = (ahead <= HOLD_NS) & ~self._done[other][places]
        self._times[own][places], self._done[own][places] = times, both
        self._done[other][places[both]] = True
        ahead = ahead[both]
        late = ahead[ahead > 0]
        self.measured += len(ahead)
        self.first[other] += len(late)
        self.together += len(ahead) - len(late)
        self.lead[other].add_many(late)


class Jitter:
    """Interarrival jitter of one stream."""

    def __init__(self, limit_ns: int | None) -> None:
        self.measured = 0
        self.max_ns = 0
        self.total_ns = 0
        self.last_ns = 0
        self.over: Mark | None = None  # the run in which the limit was first passed
        self.most_ns = 0  # the jitter without one difference that would have passed it alone
        self._limited_sixteenths = 0
        self._alone = False  # there was one
        self._run: tuple[tuple[int, int, int], Mark] | None = None  # how it goes on, where it began
        self.limited = limit_ns is not None
        self._limit_ns = limit_ns
        self._sixteenths = 0
        self._hz: int | None = None
        self._arrival = 0
        self._stamp = 0

    def take(self, records: Any, hz: int, bits: int) -> int | None:
        """Records whose timestamps tick so often a second (0 or less: nobody knows).

        Returns:
            the place of the one with which the limit is first passed, if it is one of these.
        """
        if hz <= 0 or not len(records):
            self._hz = None
            return None
        arrivals, stamps = records[:, 1], records[:, 2]
        goes_on = self._hz == hz
        if goes_on:
            arrivals = np.concatenate(([self._arrival], arrivals))
            stamps = np.concatenate(([self._stamp], stamps))
        self._hz, self._arrival, self._stamp = hz, int(arrivals[-1]), int(stamps[-1])
        ticks = np.diff(stamps)
        if bits < 63:
            ticks = (ticks + (1 << (bits - 1)) & (1 << bits) - 1) - (1 << (bits - 1))
        seconds, rest = ticks // hz, ticks % hz
        sent = seconds * _SECOND_NS + rest * _SECOND_NS // hz
        differences = np.abs(np.diff(arrivals) - sent)
        places = np.flatnonzero(differences < STEP_NS)
        j, highest, total = self._sixteenths, self.max_ns, 0
        counted = differences[places].tolist()
        for d in counted:
            j += d - ((j + 8) >> 4)
            jitter = j >> 4
            total += jitter
            if jitter > highest:
                highest = jitter
        self._sixteenths, self.max_ns, self.last_ns = j, highest, j >> 4
        self.total_ns += total
        self.measured += len(counted)
        passed = self._passes(counted)
        return None if passed is None else int(places[passed]) + (0 if goes_on else 1)

    def _passes(self, differences: list[int]) -> int | None:
        """The place of the difference with which the limit is first passed."""
        limit_ns, passed = self._limit_ns, None
        if limit_ns is None:
            return None
        j, most = self._limited_sixteenths, self.most_ns
        for place, d in enumerate(differences):
            if d > PART * limit_ns and not self._alone:
                self._alone = True
                continue
            j += d - ((j + 8) >> 4)
            if j >> 4 > most:
                if most <= limit_ns < j >> 4:
                    passed = place
                most = j >> 4
        self._limited_sixteenths, self.most_ns = j, most
        return passed

    def begins(self, rows: FeedColumns) -> Callable[[int], Mark]:
        """Where the run began that a row is of, wherever the capture was cut: rows that touch are
        one.

        Args:
            rows: all of a batch.
        """
        before, count = self._run, len(rows.first)
        apart = (rows.first[1:] != rows.stop[:-1]) | (rows.kind[1:] != rows.kind[:-1])
        apart |= rows.flags[1:] != rows.flags[:-1]
        head = int(rows.first[0]), int(rows.kind[0]), int(rows.flags[0])
        begin = np.maximum.accumulate(np.where(np.append(True, apart), np.arange(count), 0))
        goes_on = before is not None and before[0] == head

        def began(place: int) -> Mark:
            first = int(begin[place])
            if first == 0 and goes_on and before is not None:
                return before[1]
            return Mark(int(rows.frame[first]), int(rows.at_ns[first]))

        end = int(rows.stop[-1]), int(rows.kind[-1]), int(rows.flags[-1])
        self._run = end, began(count - 1)
        return began

    def told(self) -> JitterRow:
        if not self.measured:
            return {"last": None, "mean": None, "max": None}
        mean = self.total_ns // self.measured
        return {"last": self.last_ns, "mean": mean, "max": self.max_ns}


def _expanded(sample: TimeSample) -> tuple[Any, Any]:
    """Each number of a row and when it came."""
    first, times = sample.records[:, 0], sample.records[:, 1]
    counts = np.diff(np.append(first, sample.stop))
    if len(counts) and int(counts.max()) == 1:
        return first + sample.moved, times
    counts = np.maximum(counts, 0)
    begin = np.repeat(first + sample.moved, counts)
    inside = np.arange(len(begin)) - np.repeat(np.cumsum(counts) - counts, counts)
    return begin + inside, np.repeat(times, counts)
