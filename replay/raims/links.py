"""Links of one observer, and the order in which they hand messages on (raims.md 2, 3, 15.2).

A PGM link is a TSI with its receive window; an inbox link is one direction of an inbox connection;
any other (TCP) is in order by itself. Messages behind a hole wait here.
"""

import heapq
from bisect import bisect_left, insort
from typing import Any, Final

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.pgm.window import Fate, PgmWindow, WindowSettings
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range

MAX_HELD: Final = 200_000
#: Waits that end within this time of each other end in one pass of the timer.
SAME_PASS_NS: Final = 1_000_000
#: Packets that only the sender of a TSI sends.
FROM_SENDER: Final = frozenset({"ODATA", "RDATA", "SPM", "NCF"})

Ready = tuple[Event, Mark, bool]  # a message, when it is handed on, whether it had waited


class PgmLink:
    """One TSI at one receiver, or at its sender."""

    def __init__(self, name: str, settings: WindowSettings, address: str | None) -> None:
        self.name = name
        self.window = PgmWindow(settings)
        self.sender: str | None = None
        self.dropped = 0  # messages of packets that had come before
        self.lost: list[tuple[int, int]] = []  # sqns given up: first and how many, ascending
        self.unasked = False  # some of them were never asked for: the capture may have missed them
        self._address = address
        self._fresh: list[Range] = []
        self._stop = -1
        self._mark: Mark | None = None
        self._gave_up = False
        self._gave_up_ns = -SAME_PASS_NS
        self._held: list[tuple[int, int, Event]] = []
        self._order = 0

    @property
    def own(self) -> bool:
        """Is the observer its sender?"""
        return self._address is not None and self.sender == self._address

    def packet(self, event: Event) -> list[Ready]:
        """A PGM row of the link. Its own messages follow it, so what waited behind them waits on
        until ``flush``."""
        mark = event.first_mark()
        if self._gave_up and event.wire_kind in FROM_SENDER:
            self._gave_up, self._mark = False, mark
        ready = self.flush()
        if event.wire_kind in ("ODATA", "RDATA", "SPM", "TRAIL"):
            self.sender = self.sender or event.source
        if self.own:
            return ready
        window = self.window
        if event.stamp is not None and window.start is not None:
            window.told_trail(window.unwrap(event.stamp), mark)
        if event.kind in (Kind.DATA, Kind.RETRANSMISSION) and event.seqno is not None:
            first = window.unwrap(event.seqno)
            fresh = window.accept(
                first,
                first + event.count,
                mark,
                event.last_mark(),
                repair=event.kind is Kind.RETRANSMISSION,
            )
            # a run that goes on in the next piece of the capture: its messages may come later
            goes_on = first == self._stop and event.kind is Kind.DATA
            self._fresh = [*self._fresh[-1:], *fresh] if goes_on else fresh
            self._stop = first + event.count
        elif event.wire_kind == "SPM" and event.seqno is not None:
            window.told_lead(window.unwrap(event.seqno), mark)
        elif event.wire_kind == "NAK" and event.source == self._address:
            window.asked([window.unwrap(a) for a, _ in event.ranges()], mark)
        elif event.wire_kind == "NCF":
            window.confirmed([window.unwrap(a) for a, _ in event.ranges()], mark)
        self._mark = mark
        if event.kind not in (Kind.DATA, Kind.RETRANSMISSION):
            ready += self.flush()
        return ready

    def goes_on(self, row: Any) -> bool:
        """``packet`` of the next ODATA, or of an SPM that says nothing new, while nothing is
        missing or waits; false: it is another, and nothing has happened.

        Args:
            row: as ``stage`` has it.
        """
        if self._held or self._gave_up or self.sender is None:
            return False
        if self.own:
            return not self.window.ended
        word, seqno = row[12], row[13]
        if word == "ODATA" and seqno is not None:
            stop = seqno + row[15]
            first = self.window.lead
            if not self.window.goes_on(seqno, stop, Mark(row[3], row[5])):
                return False
            assert first is not None, "a window that goes on has begun"
            fresh = (first, self.window.next)
            self._fresh = [*self._fresh[-1:], fresh] if first == self._stop else [fresh]
            self._stop = self.window.next
        elif word != "SPM" or seqno is None or not self.window.knows(seqno):
            return False
        self._mark = Mark(row[1], row[4])
        return True

    def passes(self, sqn: int | None, last_sqn: int | None) -> bool:
        """Would ``message`` hand on messages of these sqns (of the wire), and nothing else?"""
        window = self.window
        if sqn is None or last_sqn is None or self._held or window.ended:
            return False
        first = window.unwrap(sqn)
        last = first if sqn == last_sqn else window.unwrap(last_sqn)
        if last >= window.next:
            return False
        return any(low <= last and first < stop for low, stop in reversed(self._fresh))

    def flush(self) -> list[Ready]:
        """What waited for the packet that came last."""
        return self._release(self._mark) if self._mark is not None else []

    def message(self, event: Event) -> list[Ready]:
        """A message of the packets that came last; now, or when what is before it has."""
        if event.fresh_id is None:
            return [(event, event.first_mark(), False)]
        sqn = self.window.unwrap(event.fresh_id)
        last = self.window.unwrap(
            event.fresh_id if event.last_fresh_id is None else event.last_fresh_id
        )
        if not any(a <= last and sqn < b for a, b in self._fresh):
            self.dropped += event.count
            return []
        if last < self.window.next:
            before = self._release(self._mark, sqn) if self._mark is not None else []
            return [*before, (event, event.first_mark(), False)]
        if len(self._held) < MAX_HELD:
            heapq.heappush(self._held, (sqn, self._order, event))
            self._order += 1
        return []

    def next_due_ns(self) -> int | None:
        """When the next hole is given up."""
        return self.window.next_due_ns()

    def give_up(self, at_ns: int) -> list[Ready]:
        """Holes that are due by then are given up, and what waited behind them is handed on.

        A hole whose wait ends within the timer pass that gave up another one does not wake the
        receiver: what it freed goes on with the sender's next packet (``frame-unknown-loss-3``:
        0.34 s later, with an SPM).
        """
        ready = self.flush()
        self.window.give_up(at_ns)
        asleep = at_ns - self._gave_up_ns < SAME_PASS_NS
        self._gave_up, self._gave_up_ns = asleep, at_ns
        if asleep:
            self._mark = None
            return ready
        ended = self.window.ended[-1].ended if self.window.ended else None
        self._mark = Mark(ended.frame if ended is not None else 0, at_ns)
        return [*ready, *self._release(self._mark)]

    def lost_between(self, sqn: int, other: int) -> int:
        """How many sqns in between were given up."""
        between = self.lost[
            bisect_left(self.lost, (sqn + 1, 0)) : bisect_left(self.lost, (other, 0))
        ]
        return sum(count for _, count in between)

    def open_after(self, sqn: int) -> int:
        """Sqns behind one that were given up or are still missing."""
        missing = sum(1 for hole in self.window.holes if hole > sqn)
        return missing + sum(count for first, count in self.lost if first > sqn)

    def _release(self, mark: Mark, below: int | None = None) -> list[Ready]:
        for hole in self.window.take_ended():
            if hole.fate not in (Fate.LATE, Fate.REPAIRED):
                insort(self.lost, (hole.sqn, hole.count))
                self.unasked |= hole.fate is Fate.UNASKED
        ready: list[Ready] = []
        stop = self.window.next if below is None else min(below, self.window.next)
        while self._held and self._held[0][0] < stop:
            ready.append((heapq.heappop(self._held)[2], mark, True))
        return ready


class InboxLink:
    """One direction of an inbox connection: in order, once (raims.md 3)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.packets = 0
        self.repairs = 0
        self.duplicates = 0
        self.acks = 0
        self._ident: int | None = None
        self._next: int | None = None
        self._accepted = False
        self._held: list[tuple[int, int, Event]] = []
        self._order = 0
        self._waiting: set[int] = set()

    def packet(self, event: Event) -> list[Ready]:
        """The header of an inbox datagram."""
        if event.kind is Kind.ACK:
            self.acks += event.count
            return []
        assert event.seqno is not None
        self.packets += event.count
        if event.kind is Kind.RETRANSMISSION:
            self.repairs += event.count
        ident = (event.conn_id or 0) & 1023
        if ident != self._ident:
            self._ident, self._held = ident, []
            self._next = event.seqno if self._next is None else 1
            self._waiting.clear()
        assert self._next is not None
        first, stop = event.seqno, event.seqno + event.count
        self._accepted = stop > self._next and first not in self._waiting
        if not self._accepted:
            self.duplicates += event.count
            return []
        if first > self._next:
            self._waiting.update(range(first, min(stop, first + 1000)))
            return []
        self._next = max(self._next, stop)
        while self._next in self._waiting:
            self._waiting.discard(self._next)
            self._next += 1
        ready: list[Ready] = []
        while self._held and self._held[0][0] < self._next and self._held[0][0] < first:
            ready.append((heapq.heappop(self._held)[2], event.first_mark(), True))
        return ready

    def message(self, event: Event) -> list[Ready]:
        """A message of the datagram whose header came last."""
        if not self._accepted:
            return []
        seqno = event.fresh_id or 0
        assert self._next is not None
        heapq.heappush(self._held, (seqno, self._order, event))
        self._order += 1
        ready: list[Ready] = []
        while self._held and self._held[0][0] < self._next:
            waited = self._held[0][0] != seqno
            ready.append((heapq.heappop(self._held)[2], event.first_mark(), waited))
        return ready
