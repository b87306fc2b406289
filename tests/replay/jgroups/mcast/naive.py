"""MCAST written down from jgroups.md 5.3 and 5.4, message after message: slow and obvious.

Nothing here knows runs, ranges or bisection, and nothing comes from the engine.
"""

from itertools import pairwise


class NaiveReceiver:
    """A member's window for one sender (5.4), and what is known of each missing seqno.

    A missing seqno is known to exist by a higher one, by HIGHEST_SEQNO or by an own request. When
    it comes it was *recovered* if it is a repair (XMIT_RSP) or was asked for, *reordered* if nobody
    can have asked for it yet, and otherwise nobody can tell.
    """

    def __init__(self, low: int, capacity: int | None, interval_ms: int) -> None:
        self.low = low
        self.start = low
        self.capacity = capacity
        self.interval_ms = interval_ms
        self.stored: set[int] = set()
        self.arrived: set[int] = set()
        self.oob_delivered: set[int] = set()
        self.came_ms: dict[int, int] = {}  # when a copy came last
        self.acked = low
        self.asked_last: tuple[set[int], int] = (set(), 0)  # what a request named, and when
        self.spacing_ms = 0  # the least time between two in a row for the same
        self.asks_from = (low, 0)  # where its requests begin, and since when
        self.asked_had: set[int] = set()  # asked for though they had come
        self.delivered: list[int] = []
        self.copies = 0
        self.passed_over: set[int] = set()  # it may have had them, or was moved past them
        self.outside: set[int] = set()
        self.known = low  # highest seqno known to exist
        self.missing: dict[int, int] = {}  # seqno -> last arrival before it was missed, in ms
        self.showed_ms: dict[int, int] = {}
        self.first_ms: dict[int, int] = {}  # when it was asked for first
        self.asked: set[int] = set()
        self.by_highest: set[int] = set()  # known to exist by HIGHEST_SEQNO first
        self.named_ms: dict[int, int] = {}  # when a request named it last
        self.for_highest: set[int] = set()  # asked for because HIGHEST_SEQNO named it
        self.own_ms = 0  # this member's last own message
        self.spoken_ms = 1  # its last word of this window, which begins with the join
        self.doubtful: set[int] = set()  # missing when a merge may have moved the window
        self.highest_told = 0
        self.told: list[int] = []  # each value that HIGHEST_SEQNO told, in order
        self.told_at = 0  # the event that told it first
        self.times: list[int] = []  # of all events
        self.own: list[int] = []  # the events that are this member's own
        self.last_ms: int | None = None
        self.outcome: dict[int, str] = {}

    def event(self, now_ms: int) -> None:
        """Anything was captured."""
        self.times.append(now_ms)

    def has_read(self, told: int) -> bool:
        """It sent something after an event, and more than 20 ms passed since, a clock that may
        have been set forward in the longest pause not counted."""
        for own in self.own[-8:]:
            since = self.times[own:]
            longest = max((b - a for a, b in pairwise(since)), default=0)
            if told < own and since[-1] - since[0] - longest > 20:
                return True
        return False

    def exists(self, seqno: int, now_ms: int) -> None:
        """Everything up to ``seqno`` exists."""
        for missed in range(self.known + 1, seqno + 1):
            if missed not in self.arrived:
                self.missing[missed] = now_ms if self.last_ms is None else self.last_ms
                self.showed_ms[missed] = now_ms
        self.known = max(self.known, seqno)

    def message(self, seqno: int, now_ms: int, *, repair: bool = False, oob: bool = False) -> None:
        """MSG(s), or XMIT_RSP(s)."""
        if seqno <= self.start:
            return  # before the window's beginning
        if self.capacity is not None and seqno > self.low + self.capacity:
            self.outside.add(seqno)  # dropped: it is known to exist now
            self.exists(seqno, now_ms)
            return
        self.came_ms[seqno] = now_ms
        if seqno in self.passed_over:  # it comes for the first time
            self.passed_over.discard(seqno)
            return
        if seqno in self.arrived:
            self.copies += 1
            self.asked_had.discard(seqno)
            return
        self.exists(seqno - 1, now_ms)
        self.known = max(self.known, seqno)
        if seqno in self.missing:
            self.outcome[seqno] = self.judge(seqno, self.missing.pop(seqno), now_ms, repair)
        self.asked.discard(seqno)
        self.arrived.add(seqno)
        self.last_ms = now_ms
        if oob:
            self.delivered.append(seqno)
            self.oob_delivered.add(seqno)
        self.stored.add(seqno)
        self.deliver()

    def judge(self, seqno: int, since_ms: int, now_ms: int, repair: bool) -> str:
        """How the gap at this seqno ended."""
        if repair:
            return "recovered"
        told = seqno in self.by_highest and seqno == self.highest_told
        if told and seqno not in self.asked and self.has_read(self.told_at):
            return "not captured"  # it would have asked at once
        early = now_ms - since_ms < self.interval_ms and seqno != self.highest_told
        if seqno not in self.asked and early:
            return "reordered"
        return "recovered" if seqno in self.asked else "recovered or late"

    def deliver(self) -> None:
        """Remove and deliver up to the first gap."""
        while self.low + 1 in self.stored:
            self.low += 1
            self.stored.discard(self.low)
            if self.low not in self.oob_delivered:
                self.delivered.append(self.low)

    def highest(self, seqno: int, now_ms: int) -> None:
        """HIGHEST_SEQNO(h)."""
        if seqno > self.highest_told:
            self.highest_told, self.told_at = seqno, len(self.times) - 1
        if seqno not in self.told[-16:]:
            self.told.append(seqno)
        before = set(self.missing)
        self.exists(seqno, now_ms)
        self.by_highest |= self.missing.keys() - before

    def request(self, seqnos: set[int], now_ms: int) -> None:
        """XMIT_REQ sent by this member."""
        wanted = {seqno for seqno in seqnos if seqno > self.start}
        self.own_ms = now_ms
        self.own.append(len(self.times) - 1)
        self.named_ms |= dict.fromkeys(wanted, now_ms)
        if seqnos == {self.highest_told}:
            self.for_highest |= wanted
        first = min(wanted, default=0)
        below = first < max(self.arrived, default=0) and first not in self.told[-16:]
        same = not wanted or self.speaks(now_ms)
        if wanted and first != self.asks_from[0]:
            self.asks_from = (first, now_ms)
        if wanted:
            named, then_ms = self.asked_last
            if first in named:
                self.spacing_ms = min(self.spacing_ms or now_ms - then_ms, now_ms - then_ms)
            self.asked_last = (wanted, now_ms)
        if wanted:  # what it lacks and what is behind it is of its window
            self.doubtful = {seqno for seqno in self.doubtful if seqno < first}
        self.exists(max(wanted, default=0), now_ms)
        fits = self.capacity is None or max(wanted, default=0) <= self.low + self.capacity
        # Not the last seqno only, after HIGHEST_SEQNO.
        if fits and (len(wanted) > 1 or below):
            self.had(range(self.start + 1, max(wanted, default=0)), wanted, same=same, above=first)
            self.asked_had -= set(range(max(wanted, default=0))) - wanted
        self.asked_had |= {
            seqno
            for seqno in wanted & self.arrived
            if seqno > self.acked
            and now_ms - self.came_ms.get(seqno, -1000) > 20
            and seqnos != {self.highest_told}
        }
        self.asked |= {seqno for seqno in wanted if seqno in self.missing}
        for seqno in wanted & self.missing.keys():
            self.first_ms.setdefault(seqno, now_ms)

    def ack(self, seqno: int, now_ms: int) -> None:
        """ACK sent by this member: it has delivered everything up to it, whatever was captured."""
        self.own_ms = now_ms
        self.own.append(len(self.times) - 1)
        self.acked = max(self.acked, seqno)
        self.asked_had -= set(range(seqno + 1))
        from_, since_ms = self.asks_from
        same = self.speaks(now_ms) and not (from_ in self.missing and now_ms - since_ms > 2_000)
        self.had(range(self.start + 1, seqno + 1), set(), same=same, above=seqno)
        for stale in range(self.known + 1, seqno + 1):
            self.known = stale
        self.deliver()

    def speaks(self, now_ms: int) -> bool:
        """It says something of its window: so soon that no merge can have moved it since the last
        time? What was missing by then is in doubt until it is asked for."""
        same = now_ms - self.spoken_ms <= 2_000
        self.spoken_ms = now_ms
        if not same:
            self.doubtful |= self.missing.keys()
        return same

    def had(self, seqnos: range, but: set[int], *, same: bool, above: int) -> None:
        """This member has them, whatever was captured, if it speaks of the ``same`` window; of what
        is ``above`` it does."""
        for had in seqnos:
            if had not in self.arrived | but:
                self.arrived.add(had)
                sure = (same or had > above) and had not in self.doubtful
                if not sure:
                    self.passed_over.add(had)
                asked = "repaired, not captured" if sure else "no longer asked for"
                unasked = "not captured" if sure else "not asked for"
                self.outcome.setdefault(had, asked if had in self.asked else unasked)
                self.missing.pop(had, None)
                self.stored.add(had)
        self.deliver()

    def end(self, end_ms: int) -> None:
        """What is missing now never came, unless the ticks stopped asking for it, or it showed
        too late to tell."""
        tick_ms = max(self.interval_ms, self.spacing_ms)
        last_tick_ms = max(self.named_ms.values(), default=0) - tick_ms / 2
        recent_ms = max(last_tick_ms, self.own_ms - tick_ms * 24 // 10 - 50)
        lacked = min(self.asked_had, default=self.low + 1)
        if lacked <= self.low and self.named_ms[lacked] >= recent_ms and not self.oob_delivered:
            self.delivered = [seqno for seqno in self.delivered if seqno < lacked]
        recent_ms = max(last_tick_ms, end_ms - tick_ms * 24 // 10 - 50)
        for seqno in self.missing:
            if seqno in self.asked and self.named_ms[seqno] < recent_ms:
                self.outcome[seqno] = "no longer asked for"
                continue
            lost = seqno in self.asked or seqno in self.outside
            self.outcome[seqno] = "unrecovered" if lost else "not asked for"
            since_ms = self.first_ms.get(seqno, self.showed_ms[seqno])
            if end_ms - since_ms < 3 * tick_ms:
                self.outcome[seqno] = "open at the capture's end"


class NaiveSender:
    """A sender's window (5.3): ack map, minimum, block."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.map: dict[str, int] = {}
        self.low = 0
        self.high = 0
        self.most = 0
        self.overrun = False
        self.ignored = 0
        self.full_at: int | None = None
        self.raised_by: str | None = None
        self.raised = False
        self.raised_ms = 0
        self.stalls: list[tuple[int, str | None, bool]] = []  # filled by, who made room, proven
        self.sent_ms: int | None = None
        self.pauses: list[int] = []  # before its rows, and once within each
        self.within_ms: int | None = None  # when that was

    def view(self, members: set[str], now_ms: int) -> None:
        """A view of the sender and ``members``."""
        if not self.map:
            self.low = self.high  # alone: its own ACKs were the minimum
        self.map = {member: self.map.get(member, 0) for member in members}
        self.purge(None, now_ms)

    def ack(self, member: str, seqno: int, now_ms: int) -> None:
        """ACK(n)."""
        if member not in self.map:
            self.ignored += 1
        elif seqno > self.map[member]:
            self.map[member] = seqno
            self.purge(member, now_ms)

    def purge(self, member: str | None, now_ms: int) -> None:
        """The minimum over all members is purged; it never falls."""
        lowest = min([*self.map.values(), self.high])
        if lowest > self.low:
            self.low = lowest
            if self.full_at is not None and not self.raised:
                self.raised, self.raised_by, self.raised_ms = True, member, now_ms

    def send(self, seqno: int, now_ms: int) -> None:
        """A new seqno."""
        if seqno <= self.high:
            return  # it had its place already
        if self.full_at is not None and self.raised:
            assert self.sent_ms is not None
            at_once = self.raised_by is None or now_ms - self.raised_ms <= 20
            longer = now_ms - self.sent_ms > 2 * max(self.pauses[-4:], default=0)
            self.stalls.append((self.full_at, self.raised_by, at_once and longer))
        elif self.sent_ms is not None and (now_ms > self.sent_ms or self.within_ms != now_ms):
            self.pauses.append(now_ms - self.sent_ms)
            self.within_ms = now_ms if now_ms == self.sent_ms else self.within_ms
        self.full_at, self.raised, self.sent_ms = None, False, now_ms
        self.high = seqno
        if not self.map:
            return
        outstanding = self.high - self.low
        self.most = max(self.most, outstanding)
        self.overrun = self.overrun or outstanding > self.capacity
        if outstanding >= self.capacity:
            self.full_at = seqno
