"""Several subscribers of one node and key expression, told apart by their queries (zenoh.md 9.5).

They get the same live samples, so one machine stands for all of them until they ask: each sends a
query of its own for the same gap. Where identical queries stand open side by side, each gets a
*lane*: the same machine, which gets only the replies to its own query. A lane that does not ask
when the others do is given up: nobody says that a subscriber ended. Row S28 of
``tests.replay.zenoh.rows``.

Periodic queries of one subscriber pile up and look the same, so a source that is asked for
periodically has no lanes, and side by side is at the same time; nor has one while an initial
history is open, which holds back what queries end.
"""

from collections.abc import Iterable
from typing import Final

from seqaudit.replay.sequence.gaps import Arrival, Mark
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.held_back import HeldBack
from seqaudit.replay.zenoh.query import Query, Sort
from seqaudit.replay.zenoh.subscriber import Subscriber

MAX_LANES: Final = 16
#: Subscribers of one node see the same sample, and ask within this time of each other.
BESIDE_NS: Final = 100_000_000
#: Their periods begin with the first sample of a source, so periodic queries are sent together.
TOGETHER_NS: Final = 5_000_000


class Lane(Subscriber):
    """One of them: what it was handed, and its misses; gaps are told of by the one for all."""

    over = False  # it did not ask

    @classmethod
    def like(cls, one: Subscriber, queries: Iterable[Query]) -> "Lane":
        """A lane that has what ``one`` has, with these queries open."""
        lane = cls(one.subject, one.source, one._grace_ns, one.around, retention_ns=2**62)
        lane.last, lane.start = one.last, one.start
        lane.pending = RangeSet(one.pending)
        lane.queries = list(queries)
        for first, stop in one.delivery.ranges:
            lane.delivery.deliver(first, stop)
        lane.misses = list(one.misses)
        lane.asking.since = one.asking.since
        lane.held_back, lane.handed_at = HeldBack(one.held_back.since), one.handed_at
        return lane

    def advance(self, at_ns: int) -> None:
        if self.waiting is not None and at_ns - self.waiting.at_ns > self._grace_ns:
            self.over = True

    def finish(self) -> None:
        """Nothing to close."""
        self.delivery.over(self.touched, self.handed_at)

    def _note(self, first: int, stop: int, arrival: Arrival) -> None:
        """No gaps of its own."""

    def _agree(self, query: Query, first: int) -> None:
        if self.last is not None and first > self.last + 1:
            self.pending.remove(self.last + 1, first)
            self.delivery.deliver(self.last + 1, first)
            self.last = first - 1
            self._deliver_pending(query.asked)


class Lanes:
    """The lanes of one subscriber machine; none before two identical queries stand side by side.

    Attributes:
        several: whose a query is cannot be told, as several subscribers may send them: periodic
            ones sent together, or beside the subscription of one that recovers by heartbeats, which
            sends none, or behind others that stood side by side; or one asks for less than before.
    """

    def __init__(self, one: Subscriber) -> None:
        self.one = one
        self.all: list[Lane] = []
        self.several = False
        self._blurred = False  # whose a query is cannot be told
        self._asked_from = 0  # the highest sn that a query began with

    @property
    def living(self) -> list[Lane]:
        return [lane for lane in self.all if not lane.over]

    def waited(self, close: Mark | None = None) -> bool:
        """Whether samples wait for one of them, or did until a Close that came to it.

        Args:
            close: null: none did.
        """
        return any(
            one.pending or (close is not None and one.handed_at == close)
            for one in (self.one, *self.all)
        )

    def query(self, query: Query) -> None:
        """Before ``one`` gets it."""
        beside = [q for q in self.one.queries if _same(q, query)]
        at_once = any(query.asked.at_ns - q.asked.at_ns <= BESIDE_NS for q in beside)
        if query.first is not None:
            self.several |= not self.all and query.first < self._asked_from
            self._asked_from = max(self._asked_from, query.first)
        if query.sort is Sort.PERIODIC:
            self.several |= self.one.around.asks_from(self.one.life.since) is not None or any(
                query.asked.at_ns - q.asked.at_ns <= TOGETHER_NS and q.sort is Sort.PERIODIC
                for q in beside
            )
        if query.sort is Sort.PERIODIC or (beside and not at_once) or self.one.history:
            # only periodic ones pile up; what waits for a history waits for no query of its own
            self.several |= bool(self.all) or (self.one.history and at_once)
            self._blurred = True
            self.all.clear()
        if self._blurred:
            return
        if not self.all:
            if not at_once or any(q.replies for q in beside):
                return
            self.all.append(Lane.like(self.one, self.one.queries))
        free = [lane for lane in self.living if not any(_same(q, query) for q in lane.queries)]
        agreeing = [lane for lane in free if lane.last is not None and query.first == lane.last + 1]
        if free and not agreeing and all(_above(query, lane) for lane in free):
            self.several = self._blurred = True
            self.all.clear()
            return
        lane = next(iter(agreeing or free), None)
        if lane is None:
            if len(self.all) >= MAX_LANES or not self.living:
                return
            model = self.living[0]
            if any(q.replies for q in model.queries):
                return
            lane = Lane.like(model, [q for q in model.queries if not _same(q, query)])
            self.all.append(lane)
        lane.query(query)

    def sample(self, first: int, stop: int, arrival: Arrival, reply: Query | None) -> None:
        """Live: to all; a reply: to the one that asked."""
        for lane in self.living:
            if reply is None or reply in lane.queries:
                lane.sample(first, stop, arrival, reply)

    def query_ended(self, query: Query, mark: Mark) -> None:
        for lane in self.living:
            lane.query_ended(query, mark)

    def advance(self, at_ns: int) -> None:
        for lane in self.living:
            lane.advance(at_ns)

    def finish(self) -> None:
        """Their node is gone, or the capture over."""
        for lane in self.all:
            lane.finish()


def _above(query: Query, lane: Lane) -> bool:
    """It cannot be this one's, which lacks what lies below: or that was handed on unseen."""
    return lane.last is not None and query.first is not None and query.first > lane.last + 1


def _same(one: Query, other: Query) -> bool:
    return one.key == other.key and one.text == other.text
