"""The design document's machine on a capture of today's system (zenoh.md 10; rows D of the tables).

No traffic of today has its queries, so they are made here: what its ReliableSubscriber would have
asked for, and what its ReliabilityCaches would have answered, from the samples that the capture
shows. Every query and every answer gets through, at once; a sample counts as published when the
capture first shows it, or shows that it is missing. So this is what that machine could do at best.

A cache is in the publisher (origin "local"), or at the node at the sender's end of the captured
link (origin "any"): that one has what was lost on the link, not what was lost before it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from seqaudit.replay.contract.parameters import EngineParameters
from seqaudit.replay.sequence.gaps import Arrival, Mark
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.zenoh.cache import ReliabilityCache
from seqaudit.replay.zenoh.causes import Cause
from seqaudit.replay.zenoh.document_subscriber import DocumentSubscriber
from seqaudit.replay.zenoh.keys import ALL_SOURCES, Parameters, parameters
from seqaudit.replay.zenoh.query import Query, Sort

#: Queries of one subscriber that are kept; the rest is counted.
MAX_KEPT: Final = 10_000


def passed_on(source_id: str | None, source_sn: int | None) -> bool:
    """Without SourceInfo, or with half of it, a sample goes to the user as it comes (D1, D10)."""
    return source_id is None or source_sn is None


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """What the document lets one choose.

    Attributes:
        origin: whose samples a cache stores, and so where it is.
        enabled: ``with_cache``.
        history: length of each of its queues.
        period_ns: of periodic queries; null: none.
        past: ask for historical data first.
    """

    origin: Literal["local", "any"]
    enabled: bool
    history: int
    period_ns: int | None
    past: bool

    @classmethod
    def of(cls, given: EngineParameters) -> "DocumentSettings":
        period = given.value("periodic_query_ms")
        return cls(
            given.value("cache_origin"),
            given.value("cache_enabled"),
            given.value("cache_history"),
            None if not period else period * 1_000_000,
            given.value("history_query"),
        )


@dataclass(slots=True)
class SubscriberQueries:
    """The queries of one subscriber for one source."""

    queries: list[Query] = field(default_factory=list)
    count: int = 0
    replies: int = 0
    idle: int = 0  # periodic ones that brought nothing
    next_ns: int | None = None  # when the next periodic one is due
    entities: set[str] = field(default_factory=set)  # publishers that share its source id
    collided: Note = field(default_factory=Note)  # samples taken for repeats of another's

    @property
    def control(self) -> int:
        """Messages: each query, each reply, each final."""
        return 2 * (self.count + self.idle) + self.replies


class DocumentWorld:
    """Caches of one session leg, and the queries that its subscribers send them."""

    def __init__(self, settings: DocumentSettings) -> None:
        self.settings = settings
        self._caches: dict[tuple[str, str], ReliabilityCache] = {}
        self._asked: dict[int, SubscriberQueries] = {}
        self._subscribers: dict[int, tuple[DocumentSubscriber, str, str]] = {}
        self._shown: dict[str, RangeSet] = {}  # by replies of today's caches
        self._published: dict[tuple[str, str], RangeSet] = {}

    def asked(self, subscriber: DocumentSubscriber) -> SubscriberQueries:
        return self._asked.setdefault(id(subscriber), SubscriberQueries())

    # -- what the caches get ---------------------------------------------------------------------

    def publish(self, node: str, zid: str, entity: str, key: str, first: int, stop: int) -> None:
        """Samples of a publisher pass here, or are known to have left it (D11, D13, D18).

        Args:
            node: at the sender's end of the link.
            entity: number of the publisher in its session; all of a session share ``zid``.
        """
        known = self._published.setdefault((zid, entity), RangeSet())
        for a, b in known.add(first, stop):
            self._cache(node, zid, key).store(key, zid, a, b)

    def missing(
        self, node: str, zid: str, entity: str, key: str, first: int, *, on_link: bool
    ) -> None:
        """Everything below ``first`` was published; a cache elsewhere has it if it was there."""
        known = self._published.get((zid, entity))
        if known is None or not known or first <= known.stop():
            return
        start = known.stop()
        known.add(start, first)
        if self.settings.origin == "local" or on_link:
            self._cache(node, zid, key).store(key, zid, start, first)

    def _cache(self, node: str, zid: str, key: str) -> ReliabilityCache:
        local = self.settings.origin == "local"
        place = (zid, key) if local else (node, "")
        cache = self._caches.get(place)
        if cache is None:
            cache = self._caches[place] = ReliabilityCache(
                key if local else "**",
                zid if local else node,
                self.settings.origin,
                self.settings.enabled,
                self.settings.history,
            )
        return cache

    # -- what the subscribers do -----------------------------------------------------------------

    def live(
        self,
        subscriber: DocumentSubscriber,
        requester: str,
        entity: str,
        key: str,
        run: Range,
        came: Arrival,
    ) -> None:
        """Samples [first, stop) came; a first one that is not expected is asked for (D4, D20)."""
        first, stop = run
        asked = self.asked(subscriber)
        last = subscriber.last
        self._subscribers.setdefault(id(subscriber), (subscriber, requester, key))
        asked.entities.add(entity)
        if len(asked.entities) > 1 and last is not None and first <= last:  # D11
            for a, b in subscriber.recovered.missing(first, min(stop, last + 1)):
                asked.collided.add(a, b, came.first)
        if last is None:
            self._past(subscriber, requester, key, first, came.first)
            if self.settings.period_ns is not None:
                asked.next_ns = came.first.at_ns + self.settings.period_ns
        if last is not None and first > last + 1:
            subscriber.sample(first, first + 1, came, None)
            self._ask(subscriber, requester, key, Sort.RECOVERY, last, first, came.first)
            first += 1
        if first < stop:
            subscriber.sample(first, stop, came, None)

    def shown(self, zid: str, first: int, stop: int) -> None:
        """Replies of today's caches show samples older than what subscribers began with (D9)."""
        self._shown.setdefault(zid, RangeSet()).add(first, stop)

    def advance(self, at_ns: int) -> None:
        """Periodic queries that are due by now (D8)."""
        period = self.settings.period_ns
        if period is None:
            return
        for subscriber, requester, key in self._subscribers.values():
            asked = self.asked(subscriber)
            while asked.next_ns is not None and asked.next_ns <= at_ns:
                assert subscriber.last is not None
                mark = Mark(subscriber.last_frame, asked.next_ns)
                brought = self._ask(
                    subscriber, requester, key, Sort.PERIODIC, subscriber.last + 1, None, mark
                )
                asked.next_ns += period
                if not brought:  # nor will the next ones before a message shows something new
                    idle = max(0, (at_ns - asked.next_ns) // period + 1)
                    asked.idle += idle
                    asked.next_ns += idle * period

    def next_ns(self) -> int:
        """When the next periodic query is due."""
        due = [asked.next_ns for asked in self._asked.values() if asked.next_ns is not None]
        return min(due, default=2**63)

    def finish(self) -> None:
        """The capture is over: what a query for historical data would have brought (D9)."""
        if not self.settings.past or not self.settings.enabled:
            return
        for subscriber, _, _ in self._subscribers.values():
            asked, start = self.asked(subscriber), subscriber.start
            if start is None:
                continue
            shown = self._shown.get(subscriber.source, RangeSet())
            older = shown.within(start - self.settings.history, start)
            count = sum(b - a for a, b in older)
            asked.replies += count
            asked.queries[0].replies = count
            for a, b in older:
                asked.queries[0].replied.add(a, b)
            subscriber.before(older)

    def cause(self, subscriber: DocumentSubscriber, first: int, stop: int) -> Cause:
        """Why [first, stop) would not have come back."""
        if not self.settings.enabled:
            return Cause.NO_CACHE  # D17
        for cache in self._caches.values():
            if cache.ever_had(subscriber.source, first, stop):
                return Cause.EVICTED  # D14
        return Cause.EMPTY

    def _past(
        self, subscriber: DocumentSubscriber, requester: str, key: str, first: int, mark: Mark
    ) -> None:
        if self.settings.past:
            asked = self.asked(subscriber)
            asked.count += 1
            subject = subscriber.subject or key
            asked.queries.append(
                _query(asked, requester, f"{ALL_SOURCES}/{subject}", "", Sort.HISTORY, None, mark)
            )

    def _ask(
        self,
        subscriber: DocumentSubscriber,
        requester: str,
        key: str,
        sort: Sort,
        first: int,
        last: int | None,
        mark: Mark,
    ) -> bool:
        """A query, its replies and its end; whether it brought anything (D5 to D7, D15, D16)."""
        asked = self.asked(subscriber)
        text = f"_sn={first}..{'' if last is None else last}"
        wanted, zid = parameters(text), subscriber.source
        subject = subscriber.subject or key
        answers = [
            (cache.local, self._reply(cache, zid, subject, wanted)) for cache in self._near()
        ]
        answers = [(place, runs) for place, runs in answers if runs]
        if sort is Sort.PERIODIC and not answers:
            asked.idle += 1
            return False
        asked.count += 1
        query = _query(asked, requester, f"{zid}/{subject}", text, sort, zid, mark)
        query.first, query.last = first, last
        query.responders = {place for place, _ in answers}
        if len(asked.queries) < MAX_KEPT:
            asked.queries.append(query)
        subscriber.query(query)
        for _, runs in answers:
            for a, b in runs:
                query.replies += b - a
                query.replied.add(a, b)
                subscriber.sample(a, b, Arrival(mark, mark, True, None, None), query)
        asked.replies += query.replies
        query.ended = mark
        subscriber.query_ended(query, mark)
        return True

    def _near(self) -> Iterable[ReliabilityCache]:
        return [cache for _, cache in sorted(self._caches.items())]

    def _reply(
        self, cache: ReliabilityCache, zid: str, subject: str, wanted: Parameters
    ) -> list[Range]:
        return [(a, b) for _, _, a, b in cache.reply(zid, subject, wanted)]


def _query(
    asked: SubscriberQueries,
    requester: str,
    key: str,
    text: str,
    sort: Sort,
    source: str | None,
    mark: Mark,
) -> Query:
    return Query(
        asked.count, requester, key, text, sort, source, None, None, mark, mark.at_ns, ended=mark
    )
