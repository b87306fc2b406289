"""Links of one observer, and the order in which they hand messages on (raims.md 2, 3, 15.2).

A PGM link is a TSI with its receive window; an inbox link is one direction of an inbox connection
(``inbox_link``); any other (TCP) is in order by itself. Messages behind a hole wait here.
"""

import heapq
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter
from typing import Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.engine import Row
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.pgm.holes import LAST_FRAME, Fate, Hole, Timer
from seqaudit.replay.pgm.reading import TICK_NS, Ticks, WindowReader
from seqaudit.replay.pgm.sender_ids import FROM_SENDER
from seqaudit.replay.pgm.window import SQNS, PgmWindow, WindowSettings
from seqaudit.replay.raims.changes import SubscriptionChange
from seqaudit.replay.raims.missing import Missing
from seqaudit.replay.raims.out_of_turn import OutOfTurnStop
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark, MarkOfTimer
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: What the name of a link begins with.
PGM: Final = "pgm:"
INBOX: Final = "inbox:"
TCP: Final = "tcp:"
MAX_HELD: Final = 200_000
#: Words of a sender that tell how many packets it has sent.
_TELLING: Final = ("ODATA", "SPM")
#: How holes end that no longer miss anything.
_CAME: Final = (Fate.LATE, Fate.REPAIRED, Fate.FOREIGN)
#: Later than any time.
NEVER_NS: Final = 1 << 63
#: How far back a packet may be that would have come just now.
RECENT_SQNS: Final = 65_536

#: A message, when it is handed on, whether it had waited; a row is no event before that is known.
Ready = tuple[Event | Row, Mark, bool]


class PgmLink:
    """One TSI at one receiver, or at its sender."""

    def __init__(
        self, name: str, settings: WindowSettings, address: str | None, elapsed: Elapsed,
        ticks: Ticks,
    ) -> None:  # fmt: skip
        self.name = name
        self.window = PgmWindow(settings, elapsed)
        self.reader = WindowReader()
        self._ticks = ticks
        self.sender: str | None = None
        self.dropped = 0  # messages of packets that had come before
        self.lost: list[Hole] = []  # that were given up or may have come, ascending
        self.cut = RangeSet()  # sqns that came, and are captured only in part
        self.unread = RangeSet()  # sqns that came, and hold something that is no message
        self.repeating: set[tuple[int, int]] = set()  # runs of messages, some of which came again
        self.partly_frame = -1  # the last of either
        self.sent_gap = -1  # the last frame that shows that some of its own are not captured whole
        self.sent_before = -1  # its first one of these that are captured, if others were before
        self.repairing = False  # the packet that came last is a repair
        self._address = address
        self._elapsed = elapsed
        self._sent: int | None = None  # one past the highest of its own, as on the wire
        self._fresh: list[Range] = []
        self._to_come: int | None = None  # the first sqn of those whose messages may follow yet
        self._waits = False  # some of them had to wait when they came
        self._stop = -1
        self._came_frame = -1  # the frame of the packet that came last
        self.heard: Mark | None = None  # the last word of its source
        self._mark: Mark | None = None
        self._spm: int | None = None  # the own number of the SPM that came last
        self._spm_steps = False  # others before it are not captured
        self._woke: list[int] = []  # frames since then that let go what waited
        self.woke_late: set[int] = set()  # of these those before which others may have done so
        self._timers: list[Timer] = []  # that gave packets up, ascending
        self.out_of_turn = OutOfTurnStop(MAX_HELD)
        self._foreign: deque[Hole] = deque(maxlen=MAX_HELD)  # that it had not asked for, and came
        self._held: list[tuple[int, int, Event | Row]] = []
        self._order = 0

    @property
    def own(self) -> bool:
        """Is the observer its sender?"""
        return self._address is not None and self.sender == self._address

    def begin_anew(self) -> list[Event]:
        """The observer has only just started: nothing from before waits for it. What did, in its
        order."""
        self.window.begin_anew()
        self.reader.begin_anew()
        held = [message for _, _, message in sorted(self._held, key=itemgetter(0, 1))]
        self._held.clear()
        self._waits = False
        return [one.event() if isinstance(one, Row) else one for one in held]

    def packet(self, event: Event) -> list[Ready]:
        """A PGM row of the link. Its own messages follow it, so what waited behind them waits on
        until ``flush``."""
        mark = event.first_mark()
        self.window.ids.sent(event)
        if event.wire_kind in FROM_SENDER:
            self.out_of_turn.packet(mark.frame)
        newer = event.wire_kind != "SPM" or self._counts_spm(event.conn_id)
        ready = self.flush()
        if event.wire_kind in ("ODATA", "RDATA", "SPM", "TRAIL"):
            self.sender = self.sender or event.source
            self.heard = event.last_mark()
        if self.own:
            self._sends(event)
            return ready
        window = self.window
        held_up, lead = self.reader.behind(window.next), window.lead
        if event.stamp is not None and window.start is not None:
            window.told_trail(window.unwrap(event.stamp), mark)
            self._falls_below(event.wire_kind)
        fresh: list[Range] = []
        if event.kind in (Kind.DATA, Kind.RETRANSMISSION) and event.seqno is not None:
            first = window.unwrap(event.seqno)
            self._came_frame = event.last_mark().frame
            self.repairing = event.kind is Kind.RETRANSMISSION
            if event.flags & Flag.CUT:
                self.cut.add(first, first + event.count)
                self.partly_frame = event.last_mark().frame
            before = window.next
            fresh = window.accept(
                first,
                first + event.count,
                mark,
                event.last_mark(),
                repair=event.kind is Kind.RETRANSMISSION,
            )
            self._came(fresh, first, first + event.count, run=event.kind is Kind.DATA)
            if window.next > before:
                self._stops_at(before, mark.frame)
        elif event.wire_kind == "SPM" and event.seqno is not None:
            window.told_lead(window.unwrap(event.seqno), mark)
        elif event.wire_kind == "SPM" and event.stamp is not None:
            window.told_lead(window.unwrap(event.stamp) - 1, mark)
        elif event.wire_kind == "NAK" and event.source == self._address:
            window.asked([window.unwrap(a) for a, _ in event.ranges()], mark)
            self._ticks.nak(mark.at_ns)
        elif event.wire_kind == "NCF":
            window.confirmed([window.unwrap(a) for a, _ in event.ranges()], mark)
        if event.wire_kind in FROM_SENDER:
            self._reads(event, fresh, lead, newer=newer, held_up=held_up)
        self._mark = mark
        if event.kind not in (Kind.DATA, Kind.RETRANSMISSION):
            ready += self.flush()
        return ready

    def _falls_below(self, word: str) -> None:
        """A trail has passed packets, which the daemon reads past as it does with others."""
        gone = [hole.sqn for hole in self.window.ended if hole.fate is Fate.TRAIL]
        if gone:
            self.reader.falls_below(gone, at_once=word == "SPM")

    def _reads(
        self, event: Event, fresh: list[Range], lead: int | None, *, newer: bool, held_up: bool
    ) -> None:
        """How far the daemon reads with a packet of the sender.

        Args:
            fresh: what of it had not come before.
            lead: one past the highest sqn known before; null: none was.
            newer: it is no SPM that came before.
            held_up: there was more to read before.
        """
        reader, window = self.reader, self.window
        new, data = False, event.kind in (Kind.DATA, Kind.RETRANSMISSION)
        before = reader.at
        if data and event.seqno is not None and lead is not None and before is not None:
            first = window.unwrap(event.seqno)
            new = first + event.count > before and (first <= lead or event.count > 1)
        mark = event.first_mark()
        if window.start is not None:
            reader.packet(window.next, mark, new=new, taken=bool(fresh) if data else newer)
        if data and event.seqno is not None:
            self._waits = window.unwrap(event.seqno) + event.count > self._stop_at
        if held_up and reader.at != before:
            self._woke.append(mark.frame)
            if event.wire_kind == "SPM" and self._spm_steps:
                self.woke_late.add(mark.frame)

    @property
    def _stop_at(self) -> int:
        """Everything below has been handed on, as far as it came."""
        at = self.reader.at
        return self.window.next if at is None else min(at, self.window.next)

    def goes_on(self, row: Row) -> bool:
        """``packet`` of the next ODATA, or of an SPM that says nothing new, while nothing is
        missing or waits; false: it is another, and nothing has happened.

        Args:
            row: as ``stage`` has it.
        """
        if self._held or self.out_of_turn or self.sender is None:
            return False
        if self.reader.behind(self.window.next):
            return False
        word, seqno = row[12], row[13]
        if self.own:
            if word not in _TELLING or seqno is None:
                return not self.window.ended
            if self.window.ended or row[18] & Flag.CUT or self._sent is None:
                return False
            if self._skips(word, seqno):
                return False
            self._sent = seqno + (row[15] if word == "ODATA" else 1)
            return True
        if word == "ODATA" and seqno is not None and not row[18] & Flag.CUT:
            stop = seqno + row[15]
            came = self.window.goes_on(seqno, stop, Mark(row[3], row[5]))
            if came is None:
                return False
            self._came([came], *came, run=True)
            self.reader.goes_on(came[1], row[5])
            self.repairing = self._waits = False
        elif word != "SPM" or seqno is None or not self.window.knows(seqno):
            return False
        else:
            self._counts_spm(row[16])
        self._mark, self.heard = Mark(row[1], row[4]), Mark(row[3], row[5])
        return True

    def _counts_spm(self, number: int | None) -> bool:
        """Is an SPM no copy? They have numbers of their own: where they step, others are not in
        this capture, and one of them may have let go what seems to have waited for a later packet.
        """
        if number is None:
            return True
        self._spm_steps = self._spm is not None and (number - self._spm) % SQNS > 1
        if self._spm_steps:
            self.woke_late.update(self._woke)
        newer = self._spm is None or (number - self._spm) % SQNS < SQNS // 2
        self._spm = number
        self._woke.clear()
        return newer

    def _sends(self, event: Event) -> None:
        """A packet of the observer's own, or its word for the highest of them."""
        word, seqno = event.wire_kind, event.seqno
        if word not in _TELLING or seqno is None:
            return
        skips = self._skips(word, seqno)
        if self._sent is None and skips:  # they begin at 0
            self.sent_before = event.frame
        elif skips > 0 or event.flags & Flag.CUT:
            self.sent_gap = event.last_mark().frame
        if self._sent is None or skips >= 0:
            self._sent = seqno + (event.count if word == "ODATA" else 1)

    def _skips(self, word: str, seqno: int) -> int:
        """How many of the observer's own packets are not captured before one, or up to the one that
        an SPM names; negative where these had been captured before."""
        before = seqno if word == "ODATA" else seqno + 1
        return (before - (self._sent or 0) + SQNS // 2) % SQNS - SQNS // 2

    def _came(self, fresh: list[Range], first: int, stop: int, *, run: bool) -> None:
        """Packets [first, stop) came, of which those in ``fresh`` are new; their messages follow.

        Where the capture is cut a run of packets comes in parts, and the messages of all of them
        may come behind the last.
        """
        if not run or first != self._stop:
            self._fresh = []
        if self._fresh and fresh and self._fresh[-1][1] == fresh[0][0]:
            self._fresh[-1] = (self._fresh[-1][0], fresh[0][1])
            fresh = fresh[1:]
        self._fresh += fresh
        self._to_come = self._fresh[0][0] if self._fresh else None
        self._stop = stop

    def passes(self, sqn: int | None, last_sqn: int | None) -> bool:
        """Would ``message`` hand on messages of these sqns (of the wire), and nothing else?"""
        window = self.window
        if sqn is None or last_sqn is None or self._held or self._waits or window.ended:
            return False
        first = window.unwrap(sqn)
        last = first if sqn == last_sqn else window.unwrap(last_sqn)
        if last >= self._stop_at:
            return False
        return any(low <= last and first < stop for low, stop in reversed(self._fresh))

    def flush(self, before: int | None = None) -> list[Ready]:
        """What waited for the packet that came last, whose messages have all come.

        Args:
            before: a frame; where packets of the last run came behind it, they may not have.
        """
        if before is not None and (not self._held or self._came_frame >= before):
            return []
        self._to_come = None
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
        if event.kind is not Kind.DATA and self.came_late(event):
            self.dropped += event.count
            return []
        if not any(a <= sqn and last < b for a, b in self._fresh):
            self.repeating.add((event.frame, event.index))
        stop = self._stop_at
        if last < stop and not self._waits:
            before = self._release(self._mark, sqn) if self._mark is not None else []
            return [*before, (event, event.first_mark(), False)]
        if last < stop and self._mark is not None:  # it was freed since
            return [*self._release(self._mark, sqn + 1), (event, self._mark, True)]
        self._hold(sqn, event)
        return []

    def holds(self, row: Row) -> bool:
        """``message`` of one that has to wait; false: it is another, and nothing has happened.

        Args:
            row: as ``stage`` has it.
        """
        sqn, last_sqn = row[20], row[21]
        if sqn is None or not (self._held or self.window.holes):
            return False
        first = self.window.unwrap(sqn)
        last = first if last_sqn is None or last_sqn == sqn else self.window.unwrap(last_sqn)
        if last < self._stop_at:
            return False
        if not any(low <= first and last < stop for low, stop in reversed(self._fresh)):
            return False
        self._hold(first, row)
        return True

    def came_late(self, event: Event) -> bool:
        """Is a message of a packet that came, or was asked for, when what is behind it had been
        handed on?"""
        if not self.window.late or event.fresh_id is None:
            return False
        sqn = self.window.unwrap(event.fresh_id)
        return sqn in self.window.late

    def _hold(self, sqn: int, message: Event | Row) -> None:
        if len(self._held) < MAX_HELD:
            heapq.heappush(self._held, (sqn, self._order, message))
            self._order += 1

    def refused(self, last_sqn: int) -> int:
        """Packets up to one that came to this host, and that its daemon still lacked."""
        return sum(b - a for a, b in self.window.refused.within(0, last_sqn + 1))

    def could_not_read(self, event: Event) -> None:
        """A packet came, and holds something that is no message: of whom, nobody can tell."""
        if self.own:
            self.sent_gap = event.frame
        elif event.fresh_id is not None:
            sqn = self.window.unwrap(event.fresh_id)
            self.unread.add(sqn, sqn + 1)
            self.partly_frame = event.frame

    def next_due_ns(self) -> int | None:
        """When the next hole is given up."""
        return self.window.next_due_ns()

    def give_up(self, at_ns: int, frame: int | None = None, now_ns: int = NEVER_NS) -> list[Ready]:
        """Holes that are due by then are given up, and what waited behind them is handed on, as far
        as the daemon reads (``replay.pgm.reading``).

        Others whose waits end before its timer ticks, or the next packet comes, are given up in the
        same pass. Messages of the packet that came last may be on their way here.

        Args:
            now_ns: when that packet comes.
        """
        ready = self._release(self._mark, self._to_come) if self._mark is not None else []
        first, window = self.window.next, self.window
        tick_ns = self._ticks.next(at_ns)
        until_ns = at_ns if tick_ns is None else min(tick_ns, now_ns)
        window.give_up(until_ns, frame)
        for hole in window.ended:
            if hole.timer is not None and len(self._timers) < MAX_HELD:
                insort(self._timers, hole.timer, key=_due_ns)
        next_ns = window.next_due_ns() if tick_ns is None else None
        close = next_ns is not None and next_ns < min(at_ns + TICK_NS, now_ns)
        gone = [hole.sqn for hole in window.ended if hole.fate is Fate.RETRIES]
        ended = window.ended[-1].ended if window.ended else None
        behind = ended.frame if ended is not None else 0
        self._stops_at(first, behind, sure=tick_ns is not None, close=close)
        called_ns = self._ticks.called(at_ns, now_ns)
        by = LAST_FRAME if frame is None else frame
        self.reader.gives_up(gone, window.next, Mark(behind, called_ns), by)
        self._mark = MarkOfTimer(behind, at_ns)
        return [*ready, *self._release(self._mark, self._to_come)]

    def _stops_at(self, first: int, frame: int, *, sure: bool = True, close: bool = False) -> None:
        """What was missed from a sqn on has ended: does it go on past others that had before?

        Args:
            close: another may have been given up in the same pass.
        """
        low = bisect_left(self.lost, first, key=_sqn)
        stops = bisect_left(self.lost, self.window.next, key=_sqn) - low + close
        self.out_of_turn.begins(stops, frame, sure=sure)

    def held_up(self, change: SubscriptionChange) -> bool:
        """Did messages wait at a frame for a packet that was dropped inside, or that the daemon may
        have had; or go on behind one that was given up, and nobody can tell on which side of it?"""
        told, slack_ns = change.mark, self.window.slack_ns
        if told.frame in self._unsure:
            return True
        first = bisect_left(self._timers, told.at_ns - slack_ns, key=_due_ns)
        stop = bisect_right(self._timers, told.at_ns + slack_ns, key=_due_ns)
        return any(timer.due.frame < told.frame for timer in self._timers[first:stop])

    def waits_over(self, mark: Mark, change: SubscriptionChange) -> bool:
        """May what was handed on at one moment have been so on the other side of a change?"""
        told = change.mark
        first, last = sorted((mark.frame, told.frame))
        if self._unsure.within(first, last + 1) == [(first, last + 1)]:
            return True
        if mark.frame >= told.frame:
            return False
        place = bisect_right(self._timers, mark.at_ns, key=_due_ns)
        timer = self._timers[place - 1] if place else None
        if timer is None or timer.due.frame != mark.frame:
            return mark.at_ns > change.made_ns
        before = mark.at_ns > told.at_ns + self.window.slack_ns
        return told.frame < timer.over and not (before and told.frame < self._may_end(timer))

    def _may_end(self, timer: Timer) -> int:
        """The first frame by which a wait may be over."""
        set_back = self._elapsed.set_back_since(timer.due.frame)
        return timer.until if set_back is None else min(set_back, timer.until)

    @cached_property
    def _unsure(self) -> RangeSet:
        """Frames at which messages waited, as it seems, for packets that the daemon may have had;
        or may have, where it gave them up, if the clock was set. To be asked when nothing
        follows."""
        waits = RangeSet()
        for hole in (*self.lost, *self._foreign, *self.window.holes.values()):
            if hole.ended is None or hole.loss is not Certainty.PROVEN:
                waits.add(hole.revealed.frame + 1, hole.stop_frame)
        for timer in self._timers:
            waits.add(self._may_end(timer), timer.over)
        for since, stop in self.out_of_turn.frames():
            waits.add(since, stop)
        for one in self.window.inside.values():
            waits.add(one.came.frame, LAST_FRAME if one.again is None else one.again.frame + 1)
        return waits

    def stands_since(self, went_on: int) -> int | None:
        """Since which frame the daemon may have taken nothing more (``WindowReader``), after it
        last showed that it went on; null: it has."""
        stands = self.reader.stands
        place = bisect_right(stands, went_on, key=itemgetter(1))
        return stands[place][0] if place < len(stands) else None

    def stopped_at(self, frame: int) -> bool:
        """Is it unknown when what seems to have gone on at a frame did so?"""
        sure = self.out_of_turn.began.get(frame)
        return sure is not None and not (sure and not self.window.lacks)

    def between(self, sqn: int, other: int) -> Missing:
        """What of the sqns in between did not come."""
        low = bisect_left(self.lost, sqn + 1, key=_sqn)
        high = bisect_right(self.lost, other - 1, key=_sqn)
        holes = [
            hole
            for hole in self.window.holes.values()
            if sqn < hole.sqn < other and not hole.reopened
        ]
        cut, unread = (
            sum(b - a for a, b in some.within(sqn + 1, other)) for some in (self.cut, self.unread)
        )
        return Missing((*self.lost[low:high], *holes), cut, unread)

    def shown_missing(self, sqn: int, since: int) -> Missing:
        """What did not come of packets before one, of those shown to be missing since a frame."""
        low = bisect_left(self.lost, sqn, key=_sqn)
        return Missing(tuple(hole for hole in self.lost[:low] if hole.revealed.frame >= since))

    def lacks_before(self, sqn: int, since: int) -> bool:
        """May packets before one have come that the capture does not hold, of those that were shown
        to be missing since a frame? To be asked when nothing follows."""
        parts = (self.cut, self.unread) if self.partly_frame >= since else ()
        if any(some and some.first() < sqn for some in parts):
            return True
        place = bisect_left(self._not_surely_lost, sqn, key=_sqn)
        return place > 0 and self._not_surely_lost[place - 1].revealed.frame >= since

    @cached_property
    def _not_surely_lost(self) -> list[Hole]:
        """Ascending; none was shown sooner than those before it."""
        holes = (*self.lost, *self.window.holes.values())
        return sorted((h for h in holes if h.loss is not Certainty.PROVEN), key=_sqn)

    def behind(self, sqn: int) -> Missing:
        """What did not come of those behind one."""
        return self.between(sqn, 1 << 62)

    def doubtful_since(self, frame: int) -> bool:
        """May something have come since a frame that the capture does not hold?"""
        last = self.lost[bisect_left(self.lost, self.window.next - RECENT_SQNS, key=_sqn) :]
        if any(h.revealed.frame >= frame and h.loss is not Certainty.PROVEN for h in last):
            return True
        if any(one.came.frame >= frame for one in self.window.inside.values()):
            return True
        unasked = (hole for hole in self.window.holes.values() if not hole.naks)
        if any(hole.revealed.frame >= frame for hole in unasked):
            return True
        return self.partly_frame >= frame

    def held_to(self, end_ns: int) -> Iterator[Event]:
        """Messages that wait when nothing follows, and that the daemon may have had: what they
        waited for was given up by then, or as good as."""
        holes = self.window.holes.values()
        late = (hole.sqn for hole in holes if hole.due_ns > end_ns + self.window.slack_ns)
        stop = next(late, self.window.lead or 0)
        held = (message for sqn, _, message in self._held if sqn < stop)
        return (message.event() if isinstance(message, Row) else message for message in held)

    def _release(self, mark: Mark, below: int | None = None) -> list[Ready]:
        # what waited for these was handed on too early: they stay a doubt, however they end
        self.window.reopened.clear()
        for hole in self.window.take_ended():
            if hole.fate is Fate.FOREIGN:
                self._foreign.append(hole)
            if hole.fate not in _CAME and not hole.reopened:
                self.lost.insert(bisect_left(self.lost, hole.sqn, key=_sqn), hole)
        ready: list[Ready] = []
        stop = self._stop_at if below is None else min(below, self._stop_at)
        while self._held and self._held[0][0] < stop:
            ready.append((heapq.heappop(self._held)[2], mark, True))
        return ready


def _sqn(hole: Hole) -> int:
    return hole.sqn


def _due_ns(timer: Timer) -> int:
    return timer.due.at_ns
