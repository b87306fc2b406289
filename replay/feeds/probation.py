"""Whether what was taken for a feed by what is in it is one: a stream on probation.

Where nobody has said the place of a feed, single datagrams of others look like it. RFC 3550 A.1: a
source is one once numbers follow each other, and what does so only now and then is none. And its
timestamps run as a clock does. Rows may be cut anywhere: a step is between two datagrams, whatever
row they are in.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final

import numpy as np

from seqaudit.decoders.contract.arrow import distinct
from seqaudit.decoders.contract.events import FRAME_BITS, Flag, Kind
from seqaudit.replay.feeds.holes import Int64s
from seqaudit.replay.feeds.notes import MAX_DROPOUT
from seqaudit.replay.feeds.rows import FeedColumns

_SECOND_NS: Final = 1_000_000_000
#: RFC 3550 A.1: a step so far back, or less than MAX_DROPOUT on, is within a stream; of a narrow
#: space no more than one in ``PART`` numbers is.
MAX_MISORDER: Final = 100
PART: Final = 16
#: Ticks a second of a sender's clock, where nobody says them: text conversation has 1,000, sound at
#: most 192,000. Of one that is known, twice as many at most.
SLOWEST_HZ: Final = 500
FASTEST_HZ: Final = 1_000_000
#: A picture is worth so many ticks at once, and a second of a known clock is not far; what is
#: beyond was set anew, as in a call held.
AT_ONCE: Final = 90_000
#: A clock is compared with that of the capture over this time at least.
COMPARED_NS: Final = _SECOND_NS

_DATA: Final = int(Kind.DATA)
_HIGHEST: Final = int(Kind.HIGHEST)
_UNITS: Final = (1 << 32) - 1
_AGAIN: Final = int(Flag.NETWORK_DUPLICATE)


class Probation:
    """The datagrams of one stream, of so many numbers before they begin anew; 0: they do not.

    Attributes:
        datagrams: by piece.
        messages: by piece and what the wire calls them.
        steps: from one unit to the next; ``near``, and to the very next number: ``followed``.
    """

    def __init__(self, space: int) -> None:
        self.datagrams: Counter[int] = Counter()
        self.messages: Counter[tuple[int, str]] = Counter()
        self._space = space
        self._next: int | None = None
        self.followed = 0
        self.near = 0
        self.steps = 0
        self._stamps = 0
        self._far = 0
        self._ticks = 0
        self._fastest_hz = FASTEST_HZ
        self._began: int | None = None
        self._last_ns = 0
        self._stamp = 0

    def take(self, rows: FeedColumns, units: Int64s) -> None:
        """Rows, and of how many units and datagrams each is made (``FeedRows.units``); what goes on
        behind a wrap has none of its own."""
        data, codes = rows.kind == _DATA, rows.wire_kind.codes
        units, datagrams = units & _UNITS, units >> 32
        told = np.where(data, rows.stop - rows.first, units)
        pieces = rows.frame >> FRAME_BITS
        for piece in distinct(pieces).tolist():
            here = pieces == piece
            self.datagrams[piece] += int(datagrams[here].sum())
            for code in distinct(codes[here]).tolist():
                own = told[here & (codes == code)]
                self.messages[piece, rows.wire_kind.words[code]] += int(own.sum())
        new = (data | (rows.kind == _HIGHEST)) & (rows.flags & _AGAIN == 0)
        begins, ends = np.where(data, rows.first, rows.stop)[new], rows.stop[new]
        if len(ends):
            each = (ends - begins) // np.maximum(units[new], 1)  # the units of a row are alike
            self._step(begins, ends, begins + each, int(units[new].sum()) - len(ends))

    def _step(self, begins: Int64s, ends: Int64s, firsts: Int64s, within: int) -> None:
        """From one row to the next, of each [begin, end), the first unit of which ends at
        ``firsts``; so many steps are within them."""
        known = [] if self._next is None else [self._next]
        self._next = int(ends[-1])
        before = np.concatenate((np.array(known, np.int64), ends[:-1]))
        begins, firsts = begins[len(begins) - len(before) :], firsts[len(ends) - len(before) :]
        apart, again = begins - before, (begins < firsts) & (firsts == before)
        back, on = MAX_MISORDER, MAX_DROPOUT
        if self._space:
            apart = (apart + self._space // 2) % self._space - self._space // 2
            back, on = min(back, self._space // PART), min(on, self._space // PART)
        near = (-back <= apart) & (apart < on) & ~again  # what has the same number goes nowhere
        self.followed += within + int(np.count_nonzero(apart == 0))
        self.near += within + int(np.count_nonzero(near))
        self.steps += within + len(apart)

    def clock(self, records: Int64s, bits: int, hz: int) -> None:
        """(n, 3) number, time and timestamp of the datagrams of rows, of so many bits.

        Args:
            hz: ticks a second; -1: unknown.
        """
        if not len(records):
            return
        fastest, at_once = max(FASTEST_HZ, 2 * hz), max(AT_ONCE, hz)
        self._fastest_hz = max(self._fastest_hz, fastest)
        times, stamps = records[:, 1], records[:, 2]
        if self._began is None:
            self._began = int(times[0])
        else:
            times = np.concatenate(([self._last_ns], times))
            stamps = np.concatenate(([self._stamp], stamps))
        ticks = np.diff(stamps)
        if bits < 63:
            half = 1 << bits - 1
            ticks = (ticks + half & 2 * half - 1) - half
        passed_us = np.abs(np.diff(times)) // 1_000
        far = (ticks < -at_once) | (ticks > passed_us * (fastest // 1_000_000) + at_once)
        self._far += int(np.count_nonzero(far))
        self._ticks += int(np.sum(ticks[~far]))
        self._stamps += len(ticks)
        self._last_ns, self._stamp = int(times[-1]), int(stamps[-1])

    def has_clock(self) -> bool:
        """Whether its timestamps, if it has them, are those of a clock."""
        if self._began is None:
            return True
        if 2 * self._far > self._stamps:
            return False
        lasted = self._last_ns - self._began
        if lasted < COMPARED_NS:
            return True
        return SLOWEST_HZ * lasted <= self._ticks * _SECOND_NS <= self._fastest_hz * lasted


def passed(together: Collection[Probation]) -> bool:
    """Whether these are streams of a feed: one number followed another, and most are near the one
    before; and what timestamps they have are those of a clock."""
    followed = sum(one.followed for one in together)
    if not followed or 2 * sum(one.near for one in together) < sum(one.steps for one in together):
        return False
    return all(one.has_clock() for one in together)
