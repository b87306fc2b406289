"""How far OpenPGM has read a window for the daemon above it (raims.md 2).

The daemon calls it when a packet comes, and 400 times a second. Each call runs the timers that are
due, hands on what waits in order, and then takes the packets that have come. It goes on past a
sqn that was given up in a call of its own, and stops at the next one that was given up before: it
looks there again only when a packet of the sender brings something new, or when a timer gave up
more meanwhile and any packet of the sender comes.

Where one call has handed on packets and then looks at a sqn that is missing, it keeps them: should
that sqn be given up, nothing behind it is ever read.
"""

from collections import Counter, deque
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Final

from seqaudit.replay.sequence.gaps import Mark

#: The daemon's timer: a quarter of the first heartbeat of SPMs (raims: ev_pgm_transport.cpp).
TICK_NS: Final = 2_500_000
#: What comes so soon behind a call may have been taken by it: calls take less, as recorded.
SAME_CALL_NS: Final = 300_000
#: So many NAKs tell when the timer ticks, if most of them leave within a part of it.
NAKS_KEPT: Final = 32
LEAST_NAKS: Final = 3
PARTS: Final = 10
#: Standstills of a window that are told apart; further ones are one with the last.
MAX_STANDS: Final = 10_000


class Ticks:
    """When a daemon's timer ticks, as its NAKs show: they leave then, but where a packet that came
    called for them."""

    def __init__(self) -> None:
        self._naks: deque[int] = deque(maxlen=NAKS_KEPT)
        self._phase_ns: int | None = None

    def nak(self, at_ns: int) -> None:
        """The daemon sent one."""
        self._naks.append(at_ns % TICK_NS)
        self._phase_ns = self._phase()

    def _phase(self) -> int | None:
        """The first of those that leave together."""
        width = TICK_NS // PARTS
        parts = Counter(phase // width for phase in self._naks)
        near = {part: parts[part] + parts[(part + 1) % PARTS] for part in parts}
        part = max(near, key=lambda part: (near[part], part))
        if near[part] < LEAST_NAKS or 2 * near[part] < len(self._naks):
            return None
        since = (phase - part * width for phase in self._naks)
        return part * width + min(at for at in (one % TICK_NS for one in since) if at < 2 * width)

    def next(self, due_ns: int) -> int | None:
        """The next one behind the end of a wait; null: nobody can tell."""
        if self._phase_ns is None:
            return None
        return due_ns + (self._phase_ns - due_ns) % TICK_NS

    def called(self, due_ns: int, now_ns: int) -> int:
        """When the timer is called that ends a wait: when it ticks, or by the next packet that
        comes, which is held to be the case where it may be."""
        tick_ns = self.next(due_ns)
        latest_ns = due_ns + TICK_NS if tick_ns is None else tick_ns + SAME_CALL_NS
        if now_ns <= latest_ns:
            return now_ns
        return due_ns if tick_ns is None else tick_ns


class WindowReader:
    """What of one window has been read.

    Attributes:
        at: everything below has been handed on or passed over; null: nothing came so far.
        stands: where it may have stopped for good: the frame at which what is behind it seems to go
            on, and the first one by which it had stopped. Ascending.
    """

    def __init__(self) -> None:
        self.at: int | None = None
        self.stands: list[tuple[int, int]] = []
        self._lost: list[int] = []  # a heap: given up, and not passed yet
        self._news = False  # a packet of the sender makes it look
        self._looks = False
        self._read_ns = -SAME_CALL_NS  # when it handed on last
        self._keeps = False  # what it handed on last, whatever it finds next

    def begin_anew(self) -> None:
        """The daemon has only just started."""
        self.at = None
        self._lost.clear()
        self._news = self._looks = self._keeps = False

    def behind(self, stop: int) -> bool:
        """Is there more to read, up to a sqn?"""
        return self.at is not None and self.at < stop

    def goes_on(self, stop: int, at_ns: int) -> None:
        """Packets came in order, and nothing is missing."""
        self.at, self._read_ns = stop, at_ns
        self._news = self._looks = self._keeps = False

    def gives_up(self, sqns: Iterable[int], stop: int, mark: Mark, by: int) -> None:
        """A pass of the timer gave up sqns; all below ``stop`` has come or was given up.

        Args:
            by: the first frame behind it.
        """
        self._loses(sqns)
        self._news = self._looks = True
        self._look(stop, mark, by)

    def falls_below(self, sqns: Iterable[int], *, at_once: bool) -> None:
        """A packet's trail gave up sqns; an SPM's makes it look at once, and once more."""
        self._loses(sqns)
        self._news = True
        self._looks = self._looks or at_once

    def packet(self, stop: int, mark: Mark, *, new: bool, taken: bool) -> None:
        """One of the sender's.

        Args:
            stop: all below has come or was given up.
            new: it is data that follows the highest sqn known, or is at or below it.
            taken: it was no copy.
        """
        if self.at is None:
            self.at = stop
            self._read_ns = mark.at_ns
            return
        self._news = self._news or new
        if not taken:
            return
        if self._news and not self._looks:
            self._news, self._looks = False, True
        if self._looks:
            self._look(stop, mark, mark.frame)

    def _loses(self, sqns: Iterable[int]) -> None:
        for sqn in sqns:
            if self.at is not None and sqn >= self.at:
                heappush(self._lost, sqn)

    def _stands(self, frame: int, by: int) -> None:
        if len(self.stands) == MAX_STANDS:
            frame, _ = self.stands.pop()
        self.stands.append((frame, by))

    def _look(self, stop: int, mark: Mark, by: int) -> None:
        """What is there is handed on, up to what is missing or was given up before."""
        if self.at is None:
            return
        while self._lost and self._lost[0] <= self.at:
            if self._keeps and self._lost[0] == self.at:
                self._stands(mark.frame, by)
            self._keeps = False
            self.at = max(self.at, heappop(self._lost) + 1)
        until = min(self._lost[0], stop) if self._lost else stop
        self._looks = False
        if until > self.at:
            self.at, self._read_ns, self._keeps = until, mark.at_ns, False
        elif abs(mark.at_ns - self._read_ns) < SAME_CALL_NS:
            self._keeps = True
