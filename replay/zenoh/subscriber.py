"""The subscriber of missed-samples recovery: one source at one key expression (zenoh.md 9.4, 10).

``Subscriber`` replays the shipped AdvancedSubscriber; the ReliableSubscriber of the design document
is one too (``replay.zenoh.document_subscriber``). Samples come as runs [first, stop) that its
transport accepted; sns are unwrapped. Rows S3 to S29, D2 to D9 of ``tests.replay.zenoh.rows``.

What no capture shows is whether recovery is switched on: a gap opens a *wait for the query* that
such a subscriber sends at once. It ends with that query, or when ``grace_ns`` has passed without
one: then the misses were due when the gap showed (no recovery, no cache known, or multicast).
"""

from bisect import bisect_right
from collections import deque
from typing import ClassVar, Final

from seqaudit.replay.contract.worth import END
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.gaps import Arrival, Gap, GapTracker, Mark, Outcome, Part
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.zenoh import reasons
from seqaudit.replay.zenoh.ahead import AheadOfHistory
from seqaudit.replay.zenoh.around import Around
from seqaudit.replay.zenoh.asking import Asking
from seqaudit.replay.zenoh.at_once import MANY_GAPS, AtOnce
from seqaudit.replay.zenoh.causes import Cause
from seqaudit.replay.zenoh.doubts import Doubts
from seqaudit.replay.zenoh.handed import Handed
from seqaudit.replay.zenoh.held_back import HeldBack
from seqaudit.replay.zenoh.lives import SubscriberLife
from seqaudit.replay.zenoh.query import FOR_MISSING, Miss, Query, Sort
from seqaudit.replay.zenoh.quiet import QuietTraffic
from seqaudit.replay.zenoh.story import BY_HEARTBEAT, BY_QUERY, BY_REPLY, BY_SAMPLE

MAX_KEPT: Final = 10_000
#: Queries of one flush; periodic ones may never all be over.
MAX_TRIED: Final = 100
#: Of the state of an idle source (zenoh.md 9.4).
RETENTION_NS: Final = 3_600_000_000_000


class Subscriber:
    """See the module.

    Args:
        grace_ns: how long a query may take to appear after the gap.
        history_max: of the initial history query; null: no limit or no history.
        retention_ns: an idle source is forgotten after that, unless it is ``kept``.

    Attributes:
        shipped: it forgets idle sources and keeps to the limit of its history.
        learns: what never asks, and lets many gaps pass, has no recovery.
    """

    shipped: ClassVar = True
    learns = True

    def __init__(
        self,
        subject: str | None,
        source: str,
        grace_ns: int,
        around: Around["Subscriber"],
        *,
        history: bool = False,
        history_max: int | None = None,
        retention_ns: int = RETENTION_NS,
    ) -> None:
        self.around = around
        self._retention_ns = retention_ns
        self.touched: Mark | None = None  # when the last sample came
        self.forgotten = 0  # times that an idle source was forgotten
        self.subject = subject
        self.source = source
        self.life = SubscriberLife()
        self.last: int | None = None
        self.start: int | None = None  # first sn ever handed to this machine
        #: What it lacked of before the first sample here, as it had the source before that.
        self.resumed: Range | None = None
        self.pending = RangeSet()
        self.queries: list[Query] = []  # open ones (pending_q)
        self.history = history  # an initial history query is open (global_q)
        self.history_asked = history
        self.history_max = history_max if self.shipped else None
        self.ahead = AheadOfHistory()
        self.delivery = Handed(self.around.signs())
        self.misses: list[Miss] = []
        self.repeats = Note()
        self.repeat_count = 0
        self.held_back = HeldBack()
        self.waiting: Mark | None = None  # a gap showed and its query has not come yet
        self.gaps: list[Gap] = []
        self.gap_count = 0
        self.counts: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        self.recovery = Durations()
        self.recovered, self.unrecovered = RangeSet(), RangeSet()
        self.unseen = RangeSet()  # that came by replies: missed, or live before the capture
        self.in_holes = RangeSet()  # lay in bytes that are missing here, as it seems
        self.tracker: GapTracker | None = None
        self.heard: int | None = None  # highest sn that a heartbeat told
        self.heard_at: Mark | None = None
        self.asking = Asking()
        self.queries_max = 0  # most of them open at a time
        self.at_once = AtOnce(around.signs())
        self.first_at: Mark | None = None
        self.quiet = QuietTraffic()
        self._had = 0  # below this sn it takes for repeats what an earlier run of the source used
        self._calm = True  # before the sample that is being taken
        self._unasked = RangeSet()  # missed at once, as it seems: no query followed the gap
        self._undelivered: list[tuple[int, Part]] = []  # what filled gaps, by where it ends
        self._by_reply: list[Gap] = []  # of samples that only a reply showed, by first sn
        self._tried: deque[Query] = deque(maxlen=MAX_TRIED)  # ended since the last flush
        self._grace_ns = grace_ns
        self.handed_at: Mark | None = None  # when the last sample was handed on
        self._filling: Query | None = None
        self.untold = Doubts()

    @property
    def asks_from(self) -> int | None:
        """The job frame from which on it is known to ask for what it misses; null: it is not."""
        since, around = self.life.since, self.around
        shown = self.asking.since, around.asks_from(since), around.asked_from(since)
        return min((at for at in shown if at is not None), default=None)

    @property
    def begun_at(self) -> Mark | None:
        """When its first sample of the source came; null: before all samples here."""
        return None if self.resumed is not None else self.first_at

    def recovery_shown(self) -> bool | None:
        """Whether it asks for what it misses; null if nothing shows that it does, or does not."""
        if self.asks_from is not None:
            return True
        return False if self.learns and self.at_once.passed >= MANY_GAPS else None

    # -- what arrives --------------------------------------------------------------------------

    def sample(self, first: int, stop: int, arrival: Arrival, reply: Query | None) -> None:
        """Samples [first, stop), live or from a reply: the code path is the same (9.4)."""
        self._forget_if_idle(arrival)
        if reply is None and self._by_reply:
            self._overtaken(first, stop)
        if reply is None and self.unseen:
            self.unseen.remove(first, stop)
        self._filling, self._calm = reply, self.calm
        if reply is not None and reply.all_lost and self.tracker is None:
            self._all_lost(first, reply)
        self._note(first, stop, arrival)
        self._take(first, stop, arrival.first)
        if reply is None:
            self._after_live(arrival.first)
        if self.asking.since is None:
            kept = self.history_max or END if self.history else 0
            self.at_once.came(first, stop, arrival.first, kept, idle=not self.queries)

    def _forget_if_idle(self, arrival: Arrival) -> None:
        """What is known of a source goes after an hour without it (S26)."""
        touched, self.touched = self.touched, arrival.last
        if not self.shipped or touched is None:
            return
        if arrival.first.at_ns - touched.at_ns <= self._retention_ns:
            return
        if self.last is None or self.queries or self.history or self.pending or self.around.kept():
            return
        self.forgotten += 1
        self.last = self.tracker = None

    @property
    def calm(self) -> bool:
        """Nothing is missing, and no query for anything is open."""
        return not (
            self.pending
            or self.waiting is not None
            or any(not query.quiet for query in self.queries)
            or (self.tracker is not None and self.tracker.missing())
        )

    def heartbeat(self, told: int, mark: Mark) -> None:
        """The publisher says that ``told`` is its last sn (S14, S16)."""
        known = self.calm and self.last is not None and told <= self.last
        self.quiet.heartbeat(told, quiet=known)
        if known:
            self.asking.told_again(told)
        if self.heard is None or told > self.heard:
            self.heard, self.heard_at = told, mark
        if self.tracker is not None and self.last is not None and told > self.last:
            self.tracker.reveal(told + 1, mark, BY_HEARTBEAT)
            self.asking.told(still_open=bool(self.queries))

    def query(self, query: Query) -> None:
        """A query of this subscriber for this source: S11, S13 (one of several), S15, S17, S23."""
        if query.first is not None:
            self._agree(query, query.first)
        self.quiet.asked(query)
        query.quiet = query.sort is Sort.PERIODIC and self.calm
        still_open = bool(self.queries) or self.history
        self.queries.append(query)
        self.queries_max = max(self.queries_max, len(self.queries))
        self.ahead.asks(query, history=self.history)
        if query.sort not in FOR_MISSING:  # who waits for late publishers need not recover
            return
        self.asking.asked(query, self.last, still_open=still_open)
        self.waiting = None
        if self.tracker is not None:
            stop = self.tracker.known_stop if query.last is None else query.last + 1
            first = self.tracker.known_stop if query.first is None else query.first
            self.tracker.request(first, stop, query.asked, query.requester)
            query.follows(self.tracker.gap_of(first))

    def query_ended(self, query: Query, mark: Mark) -> None:
        """Final, timeout (S22) or end of the session; at the last one all pending goes (S18)."""
        if query in self.queries:
            self.queries.remove(query)
            self.asking.ended(query, mark)
            self._tried.append(query)
            if not self.queries and not self.history:
                self.flush(mark, query)

    def history_ended(self, mark: Mark) -> None:
        """The initial history query ended (S19)."""
        self.history = False
        self.at_once.history_ended(mark)
        self.ahead.ended(waits_on=bool(self.queries and self.pending) and not self.history_max)
        if not self.queries:
            # With a limit of 1 nothing waits for it (S5), nor behind a gap at which it did not ask.
            unasked = self.history_max == 1 and self.waiting is not None
            self.flush(mark, None, history=not unasked)

    def advance(self, at_ns: int) -> None:
        """Time has come to this point."""
        if self.waiting is not None and at_ns - self.waiting.at_ns > self._grace_ns:
            self.flush(self.waiting, None)

    def end(self, mark: Mark) -> None:
        """It was undeclared, or its node is gone: what comes later is not for it."""
        self.life.until = mark.frame
        self.stops(mark.at_ns - self._grace_ns, mark)

    def stops(self, since_ns: int, mark: Mark | None = None) -> None:
        """It ended, or the capture did: a gap that showed since then is no miss, as it may have
        been about to ask."""
        if self.waiting is not None and self.waiting.at_ns >= since_ns:
            self.waiting = None
            if self.pending:
                self.untold.add(reasons.CUT_SHORT)
            if self.tracker is not None:
                self.tracker.close(2**63, Outcome.GONE, mark)
        self.finish()

    def was_not_handed(self, first: int, stop: int) -> None:
        """Samples [first, stop) came to nobody; so did what came behind them."""
        self.pending.remove(first, stop)
        self.at_once.was_not_handed(first)
        handed = self.delivery.ranges
        late = any(gap.first <= first < gap.stop for gap in self.gaps)
        if not late and handed and handed[-1][0] <= first < handed[-1][1]:
            self.delivery.retract(first)
        elif RangeSet(handed).within(first, stop):
            self.untold.add(reasons.WAITED)  # for these, or behind them
        elif not self.pending:
            self.untold.drop(reasons.WAITED, reasons.CUT_SHORT)
        if self.misses and (not handed or self.misses[-1].stop > handed[-1][1]):
            self.untold.add(reasons.CUT_SHORT)

    def finish(self) -> None:
        """The capture is over."""
        if self.waiting is not None:
            self.flush(self.waiting, None)
        if any(query.waits_for(self.last) for query in self.queries):
            self.untold.add(reasons.BEHIND)  # it waits for what seemed handed on
        if self.asks_from is None and self.learns and self.at_once.passed >= MANY_GAPS:
            self._went_on_at_once()
        if self.tracker is not None and not self.queries:
            self.unrecovered |= self.tracker.close(2**63, Outcome.UNRECOVERED, None)
        elif self.tracker is not None:
            self.tracker.close(2**63, Outcome.GONE, None)
        self.delivery.over(self.touched, self.handed_at)
        self.asking.settle(self.gaps, self.counts)
        self._lay_in_holes()
        if self.asks_from is not None:
            # It asks at every gap; where it did not, it had them, or the query is not here.
            self._set_aside(self._unasked, Outcome.UNASKED, reasons.UNASKED)
            if (
                self.last is not None
                and self.asking.passes_beats
                and self.around.cached() is not False
            ):
                tail = self.unrecovered & RangeSet([(self.last + 1, END)])
                self._set_aside(tail, Outcome.REPAIRED, reasons.UNASKED)

    def _went_on_at_once(self) -> None:
        """It let many gaps pass and never asked: it has no recovery, and late samples came in vain.

        What it asked for would have come behind these gaps; nothing that it was handed waited.
        """
        self.delivery = self.at_once.delivery
        self.counts[Outcome.UNRECOVERED] -= self.unrecovered.total()
        self.unrecovered = RangeSet(span for span, _ in self.at_once.missed)
        self.misses = self.at_once.misses(cached=self.around.cached())
        self.held_back = HeldBack()
        self.counts[Outcome.UNRECOVERED] += self.unrecovered.total()
        for gap in self.gaps:
            for a, b in gap.turn(self.unrecovered, Outcome.REORDERED, Outcome.UNRECOVERED):
                self.counts[Outcome.REORDERED] -= b - a

    def _lay_in_holes(self) -> None:
        """What nobody asked for lay in bytes that are missing here, where some are: it had them."""
        asked = RangeSet((miss.first, miss.stop) for miss in self.misses if miss.asked)
        still = [gap for gap in self.gaps if Outcome.UNRECOVERED in gap.parts]
        for gap in filter(self.around.in_hole, still):
            for first, stop in gap.parts[Outcome.UNRECOVERED].ranges - asked:
                self.in_holes.add(first, stop)
        self._unasked -= self.in_holes
        self._set_aside(self.in_holes, Outcome.UNCAPTURED, reasons.HOLE)

    def _set_aside(self, lost: RangeSet, outcome: Outcome, why: str) -> None:
        """What seemed missed ended otherwise, and nothing shows that it was not."""
        if not lost:
            return
        self.untold.add(why)
        self.misses = [
            miss._replace(first=a, stop=b)
            for miss in self.misses
            for a, b in lost.missing(miss.first, miss.stop)
        ]
        self.unrecovered -= lost
        self.counts[Outcome.UNRECOVERED] -= lost.total()
        self.counts[outcome] += lost.total()
        for gap in self.gaps:
            part = gap.parts.get(Outcome.UNRECOVERED)
            if part is None or not (moved := part.ranges & lost):
                continue
            gap.parts[outcome] = Part(moved, part.first, part.last)
            part.ranges -= moved
            if not part.ranges:
                del gap.parts[Outcome.UNRECOVERED]

    # -- the table -----------------------------------------------------------------------------

    def _take(self, first: int, stop: int, mark: Mark) -> None:
        if self.last is None:
            if self.history and self.history_max != 1:  # S4
                first = self._hold_history(first, stop, mark)
                if first >= stop:
                    return
            elif (past := self.asking.past(first, mark)) is not None:
                self.last, self._had = past - 1, past
            else:  # S3, S5
                self._quiet(first, stop)
                self._deliver(first, stop, mark)
                had = [q.first for q in self.queries if q.first is not None and q.first < first]
                if had and self._filling is None and not self.history_asked:
                    self.untold.add(reasons.BEFORE)
                return
        assert self.last is not None
        if first <= self.last:  # S9
            self._repeated(first, min(stop, self.last + 1), mark)
            first = self.last + 1
        if first >= stop:
            return
        if first == self.last + 1:  # S6
            self._quiet(first, stop)
            self._deliver(first, stop, mark)
            self._deliver_pending(mark)
        else:  # S7, or S8 where nobody asks
            self._hold(first, stop, mark)

    def _quiet(self, first: int, stop: int) -> None:
        if self._filling is None and self._calm:
            self.quiet.samples += stop - first

    def _hold_history(self, first: int, stop: int, mark: Mark) -> int:
        """Kept back until the history is there, at most ``history_max`` of them."""
        most, room = self.history_max, stop - first
        if most is not None:
            room = min(room, max(most - self.pending.total(), 1))
        else:
            self.ahead.came(first, stop, self.pending, live=self._filling is None)
        self._hold(first, first + room, mark)
        if most is not None and self.pending.total() >= most:
            low, high = next(iter(self.pending))
            self.pending.remove(low, high)
            self._deliver(low, high, mark)
        return first + room

    def _after_live(self, mark: Mark) -> None:
        """Pending samples and no open query: such a subscriber asks now (S10), and goes on at once
        if there is nobody to ask; not before an initial history is there."""
        kept = self.history and (self.last is None or self.asks_from is not None)  # S4, S18
        if self.pending and not self.queries and not kept and self.waiting is None:
            self.waiting = mark
            if self.around.cached() is False:
                self.flush(mark, None)

    def flush(self, mark: Mark, query: Query | None, *, history: bool = False) -> None:
        """Hand on everything pending; each hole is a miss (S20), what is old is dropped (S21).

        Args:
            query: the one for missing samples that ended; null: there was none.
            history: the initial history query ended, and everything waited for that.
        """
        self.waiting = None
        pending, self.pending = list(self.pending), RangeSet()
        at_once = query is None and not history  # nobody asked: they did not wait
        if at_once:
            self.quiet.samples += sum(b - a for a, b in pending)
        for first, stop in pending:
            if self.last is not None and first > self.last + 1:
                self._miss(self.last + 1, first, mark, query, at_once=at_once)
            if self.last is not None:
                first = max(first, self.last + 1)
            self._deliver(first, stop, mark)
        if query is None:
            self.asking.went_on(self.last, mark)
        self._tried.clear()
        self._release(mark)

    def _miss(
        self, first: int, stop: int, mark: Mark, query: Query | None, *, at_once: bool
    ) -> None:
        gap = None if self.tracker is None else self.tracker.gap_of(stop - 1)
        if at_once and gap is not None:
            mark = gap.revealed
        since = mark if gap is None else gap.revealed
        asked = () if query is None else tuple(self._tried)
        miss = Miss(first, stop, mark, since.at_ns, asked, self.around.cached())
        if len(self.misses) < MAX_KEPT:
            self.misses.append(miss)
        for part in self.around.why(self, miss) if at_once else ():
            if part.cause is Cause.NOT_ASKED:
                self._unasked.add(part.first, part.stop)
        self.unrecovered.add(first, stop)
        if self.tracker is not None:
            self.tracker.close(stop, Outcome.UNRECOVERED, None)

    def _hold(self, first: int, stop: int, mark: Mark) -> None:
        new = self.pending.add(first, stop)
        for a, b in RangeSet(new).missing(first, stop):
            self._repeated(a, b, mark)
        self.held_back.begin(mark)
        if self._filling is None:
            self.held_back.add(new)

    def _deliver_pending(self, mark: Mark) -> None:
        while self.pending and self.last is not None and self.pending.first() <= self.last + 1:
            first, stop = next(iter(self.pending))
            self.pending.remove(first, stop)
            if stop > self.last + 1:
                self._deliver(max(first, self.last + 1), stop, mark)
        if not self.pending:
            self._release(mark)
            self.waiting = None

    def _release(self, mark: Mark) -> None:
        if self.handed_at is not None and self.last is not None:
            self.held_back.end(mark)

    def _deliver(self, first: int, stop: int, mark: Mark) -> None:
        if first >= stop:
            return
        self.delivery.deliver(first, stop)
        self.last = stop - 1
        self.handed_at = mark
        if self._undelivered:
            for end, part in self._undelivered:
                if end <= stop:
                    part.delivered = mark
            self._undelivered = [entry for entry in self._undelivered if entry[0] > stop]

    def _repeated(self, first: int, stop: int, mark: Mark) -> None:
        first = min(max(first, self._had), stop)
        for a, b in self.asking.late.again(first, stop, mark):
            self.repeats.add(a, b, mark)
            self.repeat_count += b - a

    def _agree(self, query: Query, first: int) -> None:
        """The query says what this subscriber's last sn was, known here or not (S12); if it is
        ``shared``, or what that of another one was."""
        mark = query.asked
        if self.last is None or first == self.last + 1:
            return
        if first > self.last + 1:  # it has gone further than is here
            outcome = self.asking.reads(
                query, (self.last + 1, first), self.pending, self.handed_at, self.asks_from,
                still_open=bool(self.queries),
            )  # fmt: skip
            if self.tracker is not None:
                self.tracker.reveal(first, mark, BY_QUERY)
                self.tracker.close(first, outcome, mark)
            self.pending.remove(self.last + 1, first)
            self.delivery.deliver(self.last + 1, first)
            self.last = first - 1
            gap = None if self.tracker is None else self.tracker.gap_of(first)
            self.held_back.passed(first, None if gap is None else gap.revealed)
            self._deliver_pending(mark)
            return
        asked = query.shared or self.asking.since is not None
        if asked or self.start is None or first > self.start:
            return  # samples and the query crossed
        self.resumed = first, self.start
        assert self.tracker is not None
        had = self.tracker.seen.within(first, END)  # it has had this source before what is here
        self.pending |= RangeSet(had)
        tracker = self._new_tracker(first)
        tracker.last = self.tracker.last
        for a, b in self.tracker.seen:
            tracker.arrive(a, b, Arrival(mark, mark, False, None, None), BY_SAMPLE)
        self.tracker = tracker
        self.delivery = Handed(self.around.signs())
        self.start, self.last = first, first - 1
        self.held_back.begin(self.first_at)

    # -- gaps ----------------------------------------------------------------------------------

    def _note(self, first: int, stop: int, arrival: Arrival) -> None:
        if self.tracker is None:
            if self.start is None:
                self.first_at = arrival.first
            self.start = first
            self.tracker = self._new_tracker(first)
            if self._filling is not None and self._filling.blind:
                self._lacked(first, stop, self._filling)
        elif self.history and first < self.tracker.known_stop:
            self.start = min(first, self.start or first)
        elif self._only_asked_for(first, stop):
            self._shown_by_reply(stop, arrival)
        self.tracker.arrive(first, stop, arrival, BY_SAMPLE)

    def _all_lost(self, first: int, query: Query) -> None:
        """A heartbeat told of samples none of which had come, and frames are missing as well."""
        assert query.last is not None
        self.start, self.first_at = first, query.asked
        self.tracker = self._new_tracker(first)
        self.tracker.reveal(max(query.last + 1, first + 1), query.asked, BY_HEARTBEAT)

    def _lacked(self, first: int, stop: int, query: Query) -> None:
        """A query of before all samples here is answered: its first one it lacked (S12)."""
        assert self.tracker is not None
        if query.first == first and query.sort in FOR_MISSING:
            gap = self.tracker.reveal(first + 1, query.asked, BY_QUERY)
            if gap is not None:
                gap.asked(query.asked, query.requester, 1)
                query.follows(gap)
            first += 1
        if query.sort in FOR_MISSING and query.first is not None and first < stop:
            self.unseen.add(first, stop)

    def _only_asked_for(self, first: int, stop: int) -> bool:
        """Nothing but a reply to a query for missing samples says that these exist."""
        query, tracker = self._filling, self.tracker
        asked = query is not None and query.sort in FOR_MISSING and query.first is not None
        return asked and tracker is not None and stop > tracker.known_stop

    def _shown_by_reply(self, stop: int, arrival: Arrival) -> None:
        """Last samples that were lost; a query brings them before anything says so (S27). Of those
        of before all samples here nobody knows whether they had come live before the capture."""
        assert self.tracker is not None and self._filling is not None
        if self._filling.blind:
            self.unseen.add(self.tracker.known_stop, stop)
            return
        gap = self.tracker.reveal(stop, arrival.first, BY_REPLY)
        if gap is not None:
            gap.asked(self._filling.asked, self._filling.requester, gap.stop - gap.first)
            if len(self._by_reply) < MAX_KEPT:
                self._by_reply.append(gap)

    def _overtaken(self, first: int, stop: int) -> None:
        """The original comes after all: the reply was only faster."""
        place = bisect_right(self._by_reply, first, key=lambda gap: gap.stop)
        while place < len(self._by_reply) and self._by_reply[place].first < stop:
            gap = self._by_reply[place]
            place += 1
            for a, b in gap.turn([(first, stop)], Outcome.RECOVERED, Outcome.REORDERED):
                self.counts[Outcome.RECOVERED] -= b - a
                self.counts[Outcome.REORDERED] += b - a
                self.recovered.remove(a, b)

    def _new_tracker(self, start: int) -> GapTracker:
        return GapTracker(start, self._judge, self._closed, self._filled)

    def _judge(self, gap: Gap, part: Range, arrival: Arrival) -> Outcome:
        """How a filled part of a gap ended: a reply repairs, anything else was only late."""
        return Outcome.RECOVERED if arrival.repair else Outcome.REORDERED

    def _filled(self, gap: Gap, piece: Range, outcome: Outcome, part: Part) -> None:
        count = piece[1] - piece[0]
        self.counts[outcome] += count
        if part.last is not None and len(self._undelivered) < MAX_KEPT:
            self._undelivered.append((piece[1], part))
        if outcome is Outcome.RECOVERED and part.last is not None:
            self.recovered.add(*piece)
            if gap.revealed_by != BY_REPLY:
                self.recovery.add(part.last.at_ns - gap.revealed.at_ns, count)
            if self._filling is not None:
                self._filling.filled += count

    def _closed(self, gap: Gap) -> None:
        self.gap_count += 1
        if len(self.gaps) < MAX_KEPT:
            self.gaps.append(gap)
