"""What a subscriber's own requests show of it: that it asks, how far it is, what it had."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from seqaudit.replay.contract.worth import END
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.zenoh.came_late import CameLate
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.query import FOR_MISSING, Had, Query, Sort

MAX_KEPT_HAD: Final = 10_000
MAX_KEPT_BROUGHT: Final = 100_000
#: Periodic queries come so late at most: recorded with 25 ms.
PUNCTUAL_NS: Final = 50_000_000
#: Ticks that the first of them may be.
MAX_TRIED: Final = 1_000
#: Bytes of one request may be damaged, and one heartbeat may not have been read.
MANY_TIMES: Final = 2


class Asking:
    """Of one subscriber and source.

    Attributes:
        listed: queries that may be its, of those that the report lists.
        since: job frame of its first request for what it misses; null: there is none.
        had: what its requests show that it had, and is not here.
        late: what of that came later.
        by_one: samples that an answer to a query of one of several subscribers brought, and how
            many of those of the others have not brought them yet; at the end, to some only.
        passed: its requests show that it had gone so far: what is below was handed on, or missed.
        behind: it asked for what it seemed to have been handed long before.
    """

    def __init__(self) -> None:
        self.listed: list[Query] = []
        self.since: int | None = None
        self.had: list[Had] = []
        self.late = CameLate()
        self.by_one: dict[int, tuple[int, frozenset[int]]] = {}
        self.passed = 0
        self.behind = False
        self._again_told = 0  # heartbeats that tell of what it asked for last, and no more
        self.passed_beats = 0  # in a row, that tell of more than it seems to have, and no request
        self._before: Query | None = None
        self._brought = RangeSet()  # by answers before the last
        self._again = 0  # times that it asked for what it had been brought
        #: When it last went on without a query, and how far it had come then.
        self._alone: tuple[int, int] | None = None
        self._handed: tuple[int, int] | None = None  # at a request's time: up to which sn
        self._lowest = END  # sn of all that its requests name; END: none does
        self._until: Mark | None = None  # when it last asked, or a query of it ended
        self._lapsed: list[Query] = []  # queries that were not seen to end

    def settle(self, gaps: Iterable[Gap], counts: dict[Outcome, int]) -> None:
        """The capture is over: what seemed not to be here may have come later."""
        self.late.settle(gaps, counts)
        self.had = self.late.left_of(self.had)

    @property
    def passes_beats(self) -> bool:
        """It does not lack what the last heartbeats told of: it would have asked (9.4)."""
        return self.passed_beats >= MANY_TIMES

    def told(self, *, still_open: bool) -> None:
        """A heartbeat tells of more than it seems to have: it asks then, if no query is open."""
        self.passed_beats += not still_open

    def told_again(self, told: int) -> None:
        """A heartbeat tells of no more than it has: one that was undeclared asks again (9.4)."""
        self._again_told += told >= self.passed

    def went_past(self, query: Query) -> bool:
        """Whether it has handed on, or missed, what a query asked for first, and goes on."""
        if query.first is None or self.passed > query.first:
            return query.first is not None
        heard = query.sort is Sort.HEARTBEAT and self._again_told >= MANY_TIMES
        return heard and self.passed == query.first

    def went_on(self, last: int | None, mark: Mark) -> None:
        """What waited is handed on up to ``last`` as no query of it seems to be open."""
        self._alone = None if last is None else (mark.at_ns, last)

    def perhaps_asked(self, first: int | None, at_ns: int) -> None:
        """A request is another subscriber's as it seems; or its own, of before it went on."""
        if self._alone is not None and (first or 0) <= self._alone[1]:
            self.behind |= at_ns - self._alone[0] <= LAG_NS

    def asked(self, query: Query, last: int | None, *, still_open: bool) -> None:
        """A request for what it misses, at a time when all up to ``last`` seems handed on.

        It stands behind what came before its sender had read that; where it is from before what
        was handed on as nobody seemed to have asked, that was not so.
        """
        self.passed_beats = self._again_told = 0
        if self._alone is not None and (query.first or 0) <= self._alone[1]:
            self.behind = True
        if self.since is None:
            self.since = query.asked.frame
        if self._handed is None or query.asked.at_ns - self._handed[0] > LAG_NS:
            if self._handed is not None and query.first is not None and not query.shared:
                self.behind |= query.first <= self._handed[1]
            self._handed = None if last is None else (query.asked.at_ns, last)
        if not query.shared:
            self._lowest = min(self._lowest, query.first or 0)
            self.passed = max(self.passed, query.first or 0)
            self._asks_again(query, last, still_open=still_open)
        self._until = query.asked

    def past(self, sn: int, mark: Mark) -> int | None:
        """The sn that it asked for long before a lower one came first here: it had the source by an
        earlier session, and that began again under its id; null: it did not.
        """
        asked = [
            query.first
            for query in self.listed
            if query.first is not None and not query.shared and query.sort in FOR_MISSING
            and mark.at_ns - query.asked.at_ns > LAG_NS
        ]  # fmt: skip
        past = max(asked, default=0)
        return past if past > sn else None

    def ticks_otherwise(self, first_at: Mark | None) -> bool:
        """Periodic queries are not at whole periods behind the first sample: one subscriber's are
        (9.4). They are of several, or of one that came later than the first.

        Args:
            first_at: when that came; null: not known.
        """
        at = [query.asked.at_ns for query in self.listed if query.sort is Sort.PERIODIC]
        if len(at) < MANY_TIMES or first_at is None:
            return False
        if any(query.asked < first_at for query in self.listed):
            return False  # its clock began with a sample of before all here
        times = [first_at.at_ns, *at]
        least = min(after - before for before, after in pairwise(times))
        behind = [time - first_at.at_ns for time in at]
        return least > 2 * PUNCTUAL_NS and not _at_whole_periods(behind, least, len(self.listed))

    @property
    def left(self) -> bool:
        """It asks again and again for what it was brought, as one that was undeclared (9.4)."""
        return self._again >= MANY_TIMES

    @property
    def may_have_left(self) -> bool:
        """It has asked again for what it was brought: so does one that was undeclared."""
        return self._again > 0

    def _asks_again(self, query: Query, last: int | None, *, still_open: bool) -> None:
        """It asks for what it was brought, or for less though nothing was left to wait for: the
        last answer had ended, and what that brought was handed on."""
        before, self._before = self._before, query
        ended = None if before is None or not before.final else before.ended
        if before and ended and query.asked.at_ns - ended.at_ns > LAG_NS:
            self._brought |= before.replied
        waits = still_open or last is None or not self._brought
        below = not waits and (query.first or 0) < self._brought.stop()
        first = query.first
        same = first is not None and bool(self._brought.within(first, first + 1))
        self._again += below or same

    def brought(self, query: Query, sn: int, *, new: bool) -> None:
        """A sample came by a query that may be another subscriber's, as several sent one each."""
        if new and query.beside and len(self.by_one) < MAX_KEPT_BROUGHT:
            self.by_one[sn] = query.beside, frozenset([query.number])
        elif sn in self.by_one:
            left, by = self.by_one.pop(sn)
            left -= query.number not in by
            if left:
                self.by_one[sn] = left, by | {query.number}

    def ended(self, query: Query, mark: Mark) -> None:
        """A query of any kind ended, or its time was up."""
        if query.timed_out:
            self._lapsed = [one for one in self._lapsed if one.open_at(query.asked)]
            self._lapsed.append(query)
        else:
            self._until = mark

    def reads(
        self, query: Query, span: Range, pending: RangeSet, since: Mark | None,
        asks_from: int | None, *, still_open: bool,
    ) -> Outcome:  # fmt: skip
        """A request names a sample above the next one to be handed on: what became of what lies
        between and is not here.

        Args:
            span: from that next one to the one that is named.
            since: when the last one was handed on.
            still_open: another query is.
        """
        asking = still_open or (
            since is not None
            and (
                (self._until is not None and self._until.frame >= since.frame)
                or any(one.open_at(since) for one in self._lapsed)
            )
        )
        outcome = Outcome.UNASKED
        for a, b in pending.missing(*span):
            hole = Had(a, b, query, since, asks_from, asking, self._lowest <= a)
            outcome = hole.outcome
            self.late.passed(a, b, query.asked)
            if len(self.had) < MAX_KEPT_HAD:
                self.had.append(hole)
        return outcome


def _at_whole_periods(times: Sequence[int], least: int, asked: int) -> bool:
    """Whether one clock may tick at all of these times, in ns since it began: no tick comes before
    its time, nor much later (``PUNCTUAL_NS``) but for single ones, and none puts off the next.

    Args:
        least: between two of them; about one period, or less behind a late one.
        asked: queries in all; each tick has one.
    """
    about = least - PUNCTUAL_NS, least + max(PUNCTUAL_NS, least // 4)
    tried = [(time, tick) for time in times[:2] for tick in _ticks(time, about)[: MAX_TRIED + 1]]
    return len(tried) > MAX_TRIED or any(
        _may_tick(times, _period(time, tick, about), asked) for time, tick in tried
    )


def _may_tick(times: Iterable[int], period: tuple[int, int], most: int) -> bool:
    """The same of a clock with a period between these, which has ticked so often at most."""
    number = punctual = 0
    late = False
    for time in times:
        ticks = _ticks(time, period)
        if not ticks:
            passed, behind = divmod(time, period[1])
            if late or passed <= number or 2 * behind > period[1]:
                return False
            number, late = passed, True
            continue
        if ticks[-1] <= number:
            return False
        if len(ticks) == 1:
            period = _period(time, ticks[0], period)
        if period[0] > period[1]:
            return False
        number, late, punctual = ticks[0], False, punctual + 1
    return punctual >= MANY_TIMES and number <= most


def _ticks(time: int, period: tuple[int, int]) -> range:
    """Which of its ticks a time may be, by number."""
    return range(max(-(-(time - PUNCTUAL_NS) // period[1]), 1), time // period[0] + 1)


def _period(time: int, tick: int, period: tuple[int, int]) -> tuple[int, int]:
    """What is left of it, if a time is that of this tick."""
    return max(period[0], -(-(time - PUNCTUAL_NS) // tick)), min(period[1], time // tick)
