"""How far apart the clocks of two captures are, from datagrams that both have (jgroups.md 6).

What one end sent at s (its clock) the other end saw at r (its own): r - s = offset + delay, and no
delay is below zero. So the datagrams of one direction bound the offset from above, those of the
other from below, and what lies between cannot be told. Clocks drift: a bound that was taken at
another moment is widened by ``DRIFT`` for the time between. A clock that ticks tells of each moment
only in which tick it lies, so both bounds are widened by a tick of each clock. If the bounds
contradict each other, a clock was set meanwhile, and nothing is said.

    offset      what is added to a time of capture S to get the time of capture R
    above(t)    offset <= above(t)      below(t)    offset >= below(t)      t: clock of S
"""

from bisect import bisect_right
from collections.abc import Iterable
from math import gcd
from typing import Final, NamedTuple

#: Greatest rate at which two clocks part: 500 ppm, as much as NTP slews (RFC 5905), is 1 / 2000.
DRIFT: Final = 2_000
#: Datagrams that are remembered of one direction; of more, every second one, then every fourth ...
MAX_SEEN: Final = 1_024
#: Times of which no two are the same, and fewer, do not tell how coarse their clock is.
FEW: Final = 4
#: Ticks of two clocks that leave open less than any path takes: those of captures in microseconds.
FINE_NS: Final = 1_000

Key = tuple[int, ...]


class Sightings:
    """When datagrams of one direction were captured at one place, by what tells them apart.

    Bounded: which of too many are forgotten depends on the datagram alone, so two captures keep the
    same ones.
    """

    __slots__ = ("_mask", "_seen")

    def __init__(self) -> None:
        self._seen: dict[Key, int | None] = {}  # null: seen twice, so it tells nothing
        self._mask = 0

    def saw(self, key: Key, at_ns: int) -> None:
        """A datagram was captured."""
        if hash(key) & self._mask:
            return
        self._seen[key] = None if key in self._seen else at_ns
        while len(self._seen) > MAX_SEEN:
            self._mask = self._mask << 1 | 1
            self._seen = {k: at for k, at in self._seen.items() if not hash(k) & self._mask}

    def common(self, other: "Sightings") -> list[tuple[int, int]]:
        """(when here, when there) of every datagram that was seen once at each place."""
        found: list[tuple[int, int]] = []
        for key, at_ns in self._seen.items():
            there = other._seen.get(key)
            if at_ns is not None and there is not None:
                found.append((at_ns, there))
        return found


class Bound:
    """The least of values that were taken at some times, each growing by DRIFT with its distance.

    Args:
        taken: (time, value), in any order.
    """

    def __init__(self, taken: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(taken)
        self._times = [at for at, _ in ordered]
        self._before = [value for _, value in ordered]
        self._after = list(self._before)
        for i in range(1, len(ordered)):
            grown = self._before[i - 1] + _drift(self._times[i] - self._times[i - 1])
            self._before[i] = min(self._before[i], grown)
        for i in range(len(ordered) - 2, -1, -1):
            grown = self._after[i + 1] + _drift(self._times[i + 1] - self._times[i])
            self._after[i] = min(self._after[i], grown)

    def __len__(self) -> int:
        return len(self._times)

    def at(self, at_ns: int) -> int | None:
        """The bound at a time; null if nothing was taken."""
        place = bisect_right(self._times, at_ns)
        values = []
        if place:
            values.append(self._before[place - 1] + _drift(at_ns - self._times[place - 1]))
        if place < len(self._times):
            values.append(self._after[place] + _drift(self._times[place] - at_ns))
        return min(values, default=None)


class Offset(NamedTuple):
    """What is known of an offset at one moment; null: not bounded on that side."""

    below: int | None
    above: int | None


def tick_ns(times: Iterable[int]) -> int:
    """How coarse a clock is: its times are apart by multiples of that; 0: it is fine, its times are
    too few to tell, or all are the same."""
    taken = list(times)
    apart = set(taken)
    if len(apart) == len(taken) < FEW:
        return 0
    tick = gcd(*(at - taken[0] for at in apart))
    return tick if tick > FINE_NS else 0


class Clocks:
    """The offset from the clock of capture S to that of capture R, as their records tell times.

    Args:
        out: (sent on S's clock, seen on R's) of datagrams from S to R.
        back: (sent on R's clock, seen on S's) of datagrams from R to S.
    """

    def __init__(self, out: Iterable[tuple[int, int]], back: Iterable[tuple[int, int]]) -> None:
        self._out, self._back = list(out), list(back)
        here = tick_ns([*(s for s, _ in self._out), *(s for _, s in self._back)])
        there = tick_ns([*(r for _, r in self._out), *(r for r, _ in self._back)])
        coarse = here + there
        self._above = Bound((s, r - s + coarse) for s, r in self._out)
        self._below = Bound((s, s - r + coarse) for r, s in self._back)  # the least of -offset

    def reversed(self) -> "Clocks":
        """The offset the other way."""
        return Clocks(self._back, self._out)

    @property
    def out(self) -> int:
        """Datagrams from S to R that were compared."""
        return len(self._above)

    @property
    def back(self) -> int:
        """Datagrams from R to S that were compared."""
        return len(self._below)

    def at(self, at_ns: int) -> Offset | None:
        """The offset at a time of S; null if the bounds contradict each other."""
        above, minus = self._above.at(at_ns), self._below.at(at_ns)
        below = None if minus is None else -minus
        if above is not None and below is not None and below > above:
            return None
        return Offset(below, above)


def _drift(apart_ns: int) -> int:
    return apart_ns // DRIFT + 1 if apart_ns else 0
