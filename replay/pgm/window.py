"""The receive window of one PGM session at one receiver, as OpenPGM keeps it (raims.md 2).

A sqn is accepted once, as ODATA or RDATA, and handed on in order. A hole is asked for: back-off,
NAK, NCF, a wait for RDATA, and again; it is given up after so many rounds, when it falls below the
sender's trail, or when the window is full. What is behind it is handed on only then.

How a hole ended is said by counts, not by the clock: a receiver that gives up has sent its ten NAKs
(ten to seventeen in recordings, those repaired one to four). One that asked less often and then no
more had it, or the capture missed the rest; one that never asked may have had what the capture
missed. The clock only says when what waits behind a hole is handed on: a receiver may be stopped,
and its timers with it, so a NAK that comes later opens the hole again.

What came and is asked for long afterwards did not reach the receiver all the same: it was dropped
inside its host.

Sqns are unwrapped here: 32 bits on the wire, plain growing integers inside.
"""

import heapq
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from seqaudit.replay.pgm.holes import (
    GIVEN_UP,
    LAST_FRAME,
    OWN_NAK,
    UNTOLD,
    Fate,
    Hole,
    Inside,
    Leaks,
    Rounds,
    RoundsHad,
    Timer,
)
from seqaudit.replay.pgm.reading import SAME_CALL_NS, Ticks
from seqaudit.replay.pgm.sender_ids import SenderIds
from seqaudit.replay.pgm.tick import Tick
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import MAX_ASKS, Ask, Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet

SQNS: Final = 1 << 32

#: An NCF so much before a wait ends still belongs to the next round: timers are coarse.
SLACK_NS: Final = 3_000_000
#: Timers are looked at where such a step of the clock begins: wherever a capture is cut, a run of
#: packets ends there while one may be missing.
STEP_BITS: Final = 22
#: NAKs closer together than this are one round: a list and its single follow each other.
SAME_ROUND_NS: Final = 20_000_000
#: Sqns that ended without having come and are remembered, as a later NAK says that they did not.
MAX_REMEMBERED: Final = 10_000
#: Runs of packets of which it is remembered when they came.
MAX_ARRIVALS: Final = 20_000
#: Repairs of which it is remembered when they came.
MAX_REPAIRS: Final = 10_000
#: Latest sqns that are remembered as asked for right behind their arrival.
MAX_CROSSED: Final = 100


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """Timers and limits of a receiver; OpenPGM as raims sets it."""

    window_sqns: int = 4096
    data_retries: int = 10
    ncf_retries: int = 10
    data_wait_ns: int = 500_000_000
    ncf_wait_ns: int = 200_000_000
    back_off_ns: int = 50_000_000

    @property
    def round_ns(self) -> int:
        """One round: half a back-off on the average, then the wait for data."""
        return self.back_off_ns // 2 + self.data_wait_ns

    @property
    def quiet_ns(self) -> int:
        """No receiver that lacks something is silent for longer."""
        return self.round_ns + self.back_off_ns


def step_of(at_ns: int) -> int:
    """When the step of the clock began in which a row begins: what was due by then is over."""
    return at_ns >> STEP_BITS << STEP_BITS


class PgmWindow:
    """One receiver's window of one TSI."""

    def __init__(
        self, settings: WindowSettings | None = None, elapsed: Elapsed | None = None
    ) -> None:
        self.settings = settings or WindowSettings()
        self._elapsed = elapsed or Elapsed()
        self.start: int | None = None  # first sqn the receiver counts
        self.lead: int | None = None  # one past the highest sqn known
        self.next = 0  # everything below has been handed on or given up
        self.holes: dict[int, Hole] = {}  # open ones, ascending
        self.ended: list[Hole] = []  # since ``take_ended`` was last called
        self._last: Mark | None = None
        self._due: list[tuple[int, int]] = []
        self._have = RangeSet()  # everything accepted
        self.refuted: list[tuple[Fate, Hole]] = []  # given up, and asked for again afterwards
        self.reopened: list[tuple[Fate, Hole]] = []  # ended so, and asked for since: they are open
        #: Sqns that came, or were asked for, when what is behind them had been handed on.
        self.late = RangeSet()
        self._remembered: dict[int, Hole] = {}  # ended, and had not come, in that order
        self._leaks = Leaks()
        self.ids = SenderIds()
        self.inside: dict[int, Inside] = {}  # by sqn
        self.refused = RangeSet()  # those that have not come again since
        #: Sqns with a NAK right behind them, which may have met them on the way.
        self._crossed: deque[tuple[int, Mark]] = deque(maxlen=MAX_CROSSED)
        self._stops: list[int] = []  # of runs of packets as they came, ascending
        self._arrivals: list[tuple[int, Mark]] = []  # where each begins, and when its last came
        self._repeats: dict[int, Mark] = {}  # when a sqn came that is below them
        self._goes_on = False  # nothing else has come since the last of these
        self._answered: Mark | None = None  # the last NCF or RDATA
        self._tick = Tick()
        self._ticks = Ticks()
        #: The lowest of the repairs from each frame on, both ascending. Of more than are remembered
        #: the oldest, which are the lowest, are told as one.
        self._repairs: list[tuple[Mark, int]] = []

    @property
    def slack_ns(self) -> int:
        """What is no further apart may have happened in another order than it seems: timers are
        coarse, and so may be the capture's clock."""
        return max(SLACK_NS, 2 * self._tick.ns)

    @property
    def lacks(self) -> bool:
        """Does the receiver's own behaviour say that the capture lacks packets of the session?"""
        return self._leaks.count > 0

    # -- wire numbers ----------------------------------------------------------------------------

    def unwrap(self, sqn: int) -> int:
        """The growing number of a sqn of the wire, nearest to the lead."""
        if self.lead is None:
            return sqn
        near = (sqn - self.lead + SQNS // 2) % SQNS - SQNS // 2
        return self.lead + near

    # -- events ----------------------------------------------------------------------------------

    def begin_anew(self) -> None:
        """The receiver has only just started: its window begins with the next packet, or behind the
        sqn that an SPM names."""
        self.holes.clear()
        self.ended.clear()
        self.reopened.clear()
        self._remembered.clear()
        self.start = None
        self._have, self.refused = RangeSet(), RangeSet()

    def accept(self, first: int, stop: int, mark: Mark, last: Mark, *, repair: bool) -> list[Range]:
        """Sqns (unwrapped) that came; those that had not come before, and are still wanted."""
        if repair:
            self._goes_on = False
            self._answered = mark
            self._tick.shows(mark)
            while self._repairs and self._repairs[-1][1] >= first:
                self._repairs.pop()
            self._repairs.append((mark, first))
            if len(self._repairs) > MAX_REPAIRS:
                # the two oldest are one: what came between them is held to have been before both
                (_, lowest), (following, _) = self._repairs[:2]
                self._repairs[:2] = [(following, lowest)]
        if self.start is None or self.lead is None:
            self.start = self.next = self.lead = first
        elif repair and stop > max(first, self.lead):  # what is repaired had been sent before
            if first > self.lead:
                self._reveal(first, mark, "a higher sqn")
            self._reveal(stop, mark, "its RDATA")
        if first > self.lead:
            self._reveal(first, mark, "a higher sqn")
        new = self._comes_late(first, min(stop, self.next)) if self._remembered else []
        low = max(first, self.next)
        new += self._have.add(low, stop) if low < stop else []
        self.lead = max(self.lead, stop)
        if self.holes:
            for a, b in new:
                for sqn in [s for s in self.holes if a <= s < b]:
                    self._end(sqn, self._came(self.holes[sqn], mark, repair=repair), mark)
        if self._last is None or last.at_ns >= self._last.at_ns:
            self._last = last
        self._arrived(first, stop, last)
        self._goes_on = self._goes_on and not repair
        self._advance()
        if self.holes and next(iter(self.holes)) < stop - self.settings.window_sqns:
            self._overfill(first, stop, mark, last)
        return new

    def goes_on(self, first: int, stop: int, last: Mark) -> Range | None:
        """``accept`` of the next sqns (of the wire) while nothing is missing, unwrapped; null: they
        are not, and nothing has happened."""
        if self.holes or self.ended or self.start is None or self.lead is None:
            return None
        if self.unwrap(first) != self.lead:
            return None
        first, stop = self.lead, self.lead + stop - first
        self._have.add(first, stop)
        self._arrived(first, stop, last)
        self.lead = self.next = stop
        if self._last is None or last.at_ns >= self._last.at_ns:
            self._last = last
        return first, stop

    def knows(self, lead: int) -> bool:
        """Does the sender's word for its highest sqn (of the wire) change nothing?"""
        self._goes_on = False
        self._leaks.spms = True
        if self.holes or self.ended or self.start is None or self.lead is None:
            return False
        return self.unwrap(lead) < self.lead

    def overfills(self, sqn: int) -> bool:
        """Is there no room for a sqn (of the wire) with all that is missing?"""
        if not self.holes:
            return False
        return next(iter(self.holes)) <= self.unwrap(sqn) - self.settings.window_sqns

    def told_lead(self, lead: int, mark: Mark) -> None:
        """The sender's SPM names its highest sqn; where it has sent none, the one before the first
        (raims.md 2)."""
        self._leaks.spms = True
        self._goes_on = False
        if self.start is None or self.lead is None:
            self.start = self.next = self.lead = lead + 1
        elif lead >= self.lead:
            self._reveal(lead + 1, mark, "SPM")

    def told_trail(self, trail: int, mark: Mark) -> None:
        """The sender can repair nothing below ``trail`` any more."""
        if self.holes and self.start is not None and next(iter(self.holes)) < trail:
            self._drop(trail, Fate.TRAIL, mark)

    def asked(self, sqns: list[int], mark: Mark, by: str | None = None) -> None:
        """A NAK of this receiver (``by`` null): it lacks them, knows of them, and has not given up;
        or of any where no receiver is here."""
        self._goes_on = False
        self._tick.shows(mark)
        self._reveal_near(max(sqns, default=-1), mark, OWN_NAK)
        self._reopen(sqns)
        for sqn in sqns:
            hole = self.holes.get(sqn)
            if hole is None:
                self._asked_behind(sqn, Ask(mark, by))
                if by is None:
                    self._asked_again(sqn, mark)
                continue
            if by is None:
                self._ticks.nak(mark.at_ns)
            since_ns = mark.at_ns - hole.last_nak_ns
            if hole.naks and since_ns < SAME_ROUND_NS:
                hole.at_once += abs(since_ns) <= self._tick.ns
                continue
            had = self._may_have_had(hole, mark)  # and not the last: it goes on
            hole.goes_on()
            rules = self.settings
            hole.rounds = Rounds(
                mark,
                RoundsHad(
                    min(had.unconfirmed, rules.ncf_retries - 1),
                    min(had.confirmed, rules.data_retries - 1),
                ),
            )
            if hole.naks and hole.wait_ends_ns - SLACK_NS <= hole.last_nak_ns:
                hole.unconfirmed += 1
                if mark.at_ns - hole.last_nak_ns >= self._confirmed_ns() - SLACK_NS:
                    self._leaks.count += 1  # it was confirmed, and the NCF is not captured
            hole.naks += 1
            hole.asked = hole.asked or mark
            if len(hole.asks) < MAX_ASKS:
                hole.asks.append(Ask(mark, by))
            else:
                hole.asks[-1] = Ask(mark, by)
            hole.last_nak_ns, hole.decided = mark.at_ns, mark
            due = mark.at_ns + self.settings.ncf_wait_ns
            if hole.unconfirmed + 1 < self.settings.ncf_retries:
                due = max(hole.due_ns, mark.at_ns + self.rounds_ns())
            self._set_due(hole, due)

    def confirmed(self, sqns: list[int], mark: Mark) -> None:
        """The sender's NCF, whoever had asked: the receiver waits for RDATA, also of what it had
        not known to be sent (OpenPGM appends it to the window)."""
        self._goes_on = False
        self._answered = mark
        self._tick.shows(mark)
        if self.start is not None:  # an NCF begins no window
            self._reveal_near(max(sqns, default=-1), mark, "its NCF")
        for sqn in sqns:
            hole = self.holes.get(sqn)
            if hole is None:
                continue
            ready = Mark(mark.frame, mark.at_ns + self.settings.data_wait_ns)
            hole.rounds = Rounds(ready, self._may_have_had(hole, mark), waits=True)
            hole.goes_on()
            if mark.at_ns >= hole.wait_ends_ns - SLACK_NS:
                asked = hole.last_nak_ns >= hole.wait_ends_ns - SLACK_NS  # and did not meet an NCF
                hole.waits(asked=asked, over=self._is_over(hole, mark))
            hole.ncf = hole.ncf or mark
            hole.decided = mark
            hole.wait_ends_ns = mark.at_ns + self.settings.data_wait_ns
            left = self.settings.data_retries - hole.confirmed
            self._set_due(hole, hole.wait_ends_ns + max(left, 0) * self.settings.round_ns)

    def _is_over(self, hole: Hole, mark: Mark) -> bool:
        """Has the receiver's timer surely ticked between the end of its wait and an NCF?"""
        tick_ns = self._ticks.next(hole.wait_ends_ns + SAME_CALL_NS)
        return tick_ns is not None and tick_ns + SAME_CALL_NS <= mark.at_ns

    def next_due_ns(self) -> int | None:
        """When the next hole is given up, at the latest; null if none is open."""
        while self._due:
            due, sqn = self._due[0]
            hole = self.holes.get(sqn)
            if hole is not None and hole.due_ns == due:
                return due + self._tick.ns
            heapq.heappop(self._due)
        return None

    def pause(self, silent_ns: int) -> None:
        """So long no packet was captured.

        For longer than a receiver is silent that lacks something: the clock may have been set, or
        packets are missing: once it does not count.
        """
        if silent_ns <= self.settings.quiet_ns:
            return
        for hole in self.holes.values():
            if not hole.paused_ns and hole.naks < self.settings.data_retries:
                hole.paused_ns = silent_ns
                self._set_due(hole, hole.due_ns + silent_ns)

    def resume(self, end_ns: int) -> None:
        """Nothing follows that could show that no such time had passed, or be a further NAK."""
        for sqn, mark in self._crossed:
            came = self.came_at(sqn)
            recent = end_ns - mark.at_ns <= self.settings.round_ns + self._patience_ns()
            if recent and came is not None and came < mark:
                self.refused.add(sqn, sqn + 1)
        for hole in self.holes.values():
            if hole.paused_ns:
                self._set_due(hole, hole.due_ns - hole.paused_ns)

    def give_up(self, at_ns: int, frame: int | None = None) -> None:
        """Give up the holes that are due by then; ``frame`` is the first one behind them."""
        while (due := self.next_due_ns()) is not None and due <= at_ns:
            _, sqn = heapq.heappop(self._due)
            hole = self.holes[sqn]
            hole.timer = self._timer(hole, frame)
            self._end(sqn, Fate.RETRIES, hole.timer.due)
            self._advance()

    def _timer(self, hole: Hole, frame: int | None) -> Timer:
        wait_ns, settings = hole.due_ns - hole.decides.at_ns, self.settings
        if wait_ns > settings.ncf_wait_ns:  # only few spans are watched
            wait_ns = -(-wait_ns // settings.data_wait_ns) * settings.data_wait_ns
        return Timer(
            Mark(hole.decides.frame, hole.due_ns),
            LAST_FRAME if frame is None else frame,
            self._elapsed.watch(hole.decides, wait_ns + self.slack_ns),
        )

    def take_ended(self) -> list[Hole]:
        """Holes that have ended since the last call, in that order."""
        ended, self.ended = self.ended, []
        return ended

    # -- inside ----------------------------------------------------------------------------------

    def rounds_ns(self) -> int:
        """All rounds with the longest back-offs: nobody waits longer."""
        whole = self.settings.back_off_ns + self.settings.data_wait_ns
        return self.settings.data_retries * whole

    def _reveal(self, stop: int, mark: Mark, by: str) -> None:
        first = stop if self.lead is None else self.lead
        self.lead = stop
        low = max(first, stop - self.settings.window_sqns)
        if low > first:  # more than the window holds: given up at once
            hole = Hole(first, self._last, mark, by, leaks=self._leaks, count=low - first)
            hole.ended, hole.fate = mark, Fate.FULL
            self.ended.append(hole)
            for sqn in list(self.holes):
                self._end(sqn, Fate.FULL, mark)
            self.next = low
        for sqn in range(low, stop):
            hole = Hole(sqn, self._last, mark, by, leaks=self._leaks)
            self.holes[sqn] = hole
            self._set_due(hole, mark.at_ns + self.rounds_ns())

    def _reveal_near(self, highest: int, mark: Mark, by: str) -> None:
        """A request, or its confirmation, shows that a sqn was sent, unless it is far away."""
        if self.lead is not None and 0 <= highest - self.lead < self.settings.window_sqns:
            self._reveal(highest + 1, mark, by)

    def _set_due(self, hole: Hole, due_ns: int) -> None:
        hole.due_ns = due_ns
        heapq.heappush(self._due, (due_ns, hole.sqn))

    def _overfill(self, first: int, stop: int, mark: Mark, last: Mark) -> None:
        """Packets came for which the window has no room; of those behind the first one the decoder,
        which knows a window of another size, does not say when each came."""
        self._drop(first + 1 - self.settings.window_sqns, Fate.FULL, mark)
        low = stop - self.settings.window_sqns
        for hole in [hole for sqn, hole in self.holes.items() if sqn < low]:
            hole.sooner = True
        self._drop(low, Fate.FULL, last)

    def _drop(self, below: int, fate: Fate, mark: Mark) -> None:
        for sqn in [s for s in self.holes if s < below]:
            self._end(sqn, fate, mark)
        self._advance()

    def _end(self, sqn: int, fate: Fate, mark: Mark) -> None:
        hole = self.holes.pop(sqn)
        if fate in GIVEN_UP:
            fate = self._given_up(hole, fate, mark)
            self._leaks.count += fate in UNTOLD
            if len(self._remembered) >= MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
            self._remembered[sqn] = hole
        hole.ended, hole.fate, hole.answered = mark, fate, self._answered
        hole.stepped = self.ids.stepped
        self.ended.append(hole)

    def _came(self, hole: Hole, mark: Mark, *, repair: bool) -> Fate:
        """How a hole is filled."""
        had, rules = self._may_have_had(hole, mark), self.settings
        by_a_clock_that_stands = hole.at_once and (
            hole.naks + hole.at_once >= min(rules.ncf_retries, rules.data_retries)
        )
        may_have_given_up = (
            had.unconfirmed >= rules.ncf_retries or had.confirmed >= rules.data_retries
        )
        if hole.naks and (may_have_given_up or by_a_clock_that_stands):
            return Fate.PASSED
        if not repair:
            return Fate.LATE
        return Fate.REPAIRED if hole.naks else Fate.FOREIGN

    def _may_have_had(self, hole: Hole, mark: Mark) -> RoundsHad:
        """Rounds of a receiver that have ended by then, at most."""
        passed_ns = self._elapsed.passed(hole.rounds.since, mark) - hole.paused_ns + self.slack_ns
        return hole.rounds.after(passed_ns, self.settings.ncf_wait_ns, self.settings.data_wait_ns)

    def _given_up(self, hole: Hole, fate: Fate, mark: Mark) -> Fate:
        """Whether it was, by what the receiver had asked for (raims.md 2)."""
        since_ns = mark.at_ns - (hole.last_nak_ns if hole.naks else hole.revealed.at_ns)
        hole.stopped = bool(hole.naks) and since_ns > self._patience_ns() + self.slack_ns
        if fate is Fate.RETRIES:
            rules = self.settings
            unconfirmed = hole.unconfirmed + 1 >= rules.ncf_retries
            hole.used_up = unconfirmed or hole.surely_confirmed >= rules.data_retries
            # an NCF for another receiver begins a wait for data that counts as well
            rounds = max(hole.naks, hole.confirmed) if hole.naks else 0
            if unconfirmed or rounds >= rules.data_retries:
                return fate
        elif (
            0
            <= since_ns
            <= (self.settings.round_ns + SLACK_NS if hole.naks else self._patience_ns())
        ):
            return fate  # it had no time to ask, or to ask again
        return Fate.ASKED if hole.naks else Fate.UNASKED

    def _confirmed_ns(self) -> int:
        """Who has no NCF asks again sooner than after this; who has one waits so long for data."""
        return max(self.settings.data_wait_ns, self._patience_ns())

    def _patience_ns(self) -> int:
        """No receiver lets so much time pass before its first NAK."""
        return self.settings.back_off_ns + self.settings.ncf_wait_ns

    def _reopen(self, sqns: list[int]) -> None:
        """Holes that the clock had ended are asked for, so their receiver had not got there: it was
        stopped, or its clock or the capture's is another."""
        last, ascending = next(reversed(self.holes), -1), True
        for sqn in sqns:
            hole = self._remembered.get(sqn)
            if hole is None or hole.fate is None or hole.timer is None or self.lead is None:
                continue
            if hole.fate is Fate.PASSED or sqn < self.lead - self.settings.window_sqns:
                continue
            self._leaks.count -= hole.fate in UNTOLD
            waiting = [one for one in self.ended if one is not hole]
            if len(waiting) < len(self.ended):  # nobody has been told yet that it had ended
                self.ended = waiting
            else:
                self.reopened.append((hole.fate, hole))
            hole.reopens()
            del self._remembered[sqn]
            self.holes[sqn] = hole
            self.late.add(sqn, sqn + 1)
            ascending = ascending and sqn > last
            last = max(last, sqn)
            self.next = min(self.next, sqn)
        if not ascending:
            self.holes = dict(sorted(self.holes.items()))

    def _asked_behind(self, sqn: int, ask: Ask) -> None:
        """What no timer had ended is asked for. Below the sender's trail (some receivers go by that
        of ODATA only) it had not come, and can come no more; else it had not been given up."""
        hole = self._remembered.get(sqn)
        if hole is None or hole.fate not in (Fate.TRAIL, Fate.FULL, Fate.UNASKED):
            return
        if hole.fate is not Fate.FULL:
            hole.naks += 1
            hole.asked = hole.asked or ask.mark
            if len(hole.asks) < MAX_ASKS:
                hole.asks.append(ask)
        if hole.fate is not Fate.TRAIL:
            self._leaks.count += hole.fate is Fate.FULL
            self.refuted.append((hole.fate, hole))
            hole.fate = Fate.ASKED

    def _comes_late(self, first: int, stop: int) -> list[Range]:
        """Sqns that had ended otherwise come: the receiver may not have given them up. Those of
        them that it may have had."""
        found: list[Range] = []
        for sqn in range(first, stop):
            hole = self._remembered.get(sqn)
            if hole is None or hole.fate is None or hole.fate is Fate.PASSED:
                continue
            if hole.fate in UNTOLD:
                self.late.add(sqn, sqn + 1)
                found += self._have.add(sqn, sqn + 1)
            else:
                self._leaks.count += 1
            self.refuted.append((hole.fate, hole))
            hole.fate = Fate.PASSED
        return found

    def _arrived(self, first: int, stop: int, last: Mark) -> None:
        """Sqns came, perhaps not for the first time."""
        if self.refused:
            for low, high in self.refused.remove(first, stop):
                for sqn in range(low, high):
                    if sqn in self.inside:
                        self.inside[sqn].again = last
        if self._stops and first < self._stops[-1]:
            self._goes_on = False
            if len(self._repeats) < MAX_ARRIVALS:
                self._repeats.update(dict.fromkeys(range(first, min(stop, first + 1000)), last))
            return
        if self._goes_on and first == self._stops[-1]:  # a run of them that came in parts
            self._stops[-1] = stop
            self._arrivals[-1] = (self._arrivals[-1][0], last)
            return
        self._goes_on = True
        if len(self._stops) == MAX_ARRIVALS:
            del self._stops[: MAX_ARRIVALS // 2], self._arrivals[: MAX_ARRIVALS // 2]
            self._repeats.clear()
        self._stops.append(stop)
        self._arrivals.append((first, last))

    def came_at(self, sqn: int) -> Mark | None:
        """When a sqn came last; null: it did not, or too long ago."""
        if sqn in self._repeats:
            return self._repeats[sqn]
        place = bisect_right(self._stops, sqn)
        if place == len(self._stops) or self._arrivals[place][0] > sqn:
            return None
        return self._arrivals[place][1]

    def _asked_again(self, sqn: int, mark: Mark) -> None:
        """This receiver asks for what is no hole: it lacks a packet that came long before."""
        came = self.came_at(sqn)
        if came is None:
            return
        filled_hole = sqn in self._repeats
        if filled_hole and mark.at_ns - came.at_ns <= self.settings.back_off_ns:
            # the NAK was under way; of what came in its order nothing was known before
            self._crossed.append((sqn, mark))
            return
        known = self.inside.get(sqn)
        if known is None or known.came != came:
            if known is None and len(self.inside) >= MAX_REMEMBERED:
                return
            place = bisect_right(self._repairs, came, key=itemgetter(0))
            begun = place < len(self._repairs) and self._repairs[place][1] <= sqn
            self.inside[sqn] = Inside(sqn, came, mark, mark.at_ns, begun=begun)
        elif mark.at_ns - known.last_nak_ns >= SAME_ROUND_NS:
            known.rounds += 1
            known.last_nak_ns = mark.at_ns
        self.refused.add(sqn, sqn + 1)

    def _advance(self) -> None:
        if self.holes:
            self.next = next(iter(self.holes))
        elif self.lead is not None:
            self.next = self.lead
