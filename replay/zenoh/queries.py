"""Queries for missing and for historical samples, from Request to end (zenoh.md 9.1, 9.3)."""

from collections.abc import Iterable
from typing import Final

from seqaudit.decoders.contract.zenoh_detail import Detail
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.parameters import EngineParameters
from seqaudit.replay.contract.worth import END, Doubt
from seqaudit.replay.sequence.gaps import Arrival, Mark, MarkOfTimer
from seqaudit.replay.zenoh.audience import Audience
from seqaudit.replay.zenoh.cache import evicted
from seqaudit.replay.zenoh.declarations import Declarations
from seqaudit.replay.zenoh.hearing import hear_heartbeats
from seqaudit.replay.zenoh.keys import (
    UNRESOLVED,
    Advanced,
    Parameters,
    advanced,
    document_query,
    parameters,
)
from seqaudit.replay.zenoh.link import Link, first_hop
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.moments import Moments
from seqaudit.replay.zenoh.query import FOR_MISSING, Query, Sort
from seqaudit.replay.zenoh.reasons import CROSSED, SHARED, STRAY
from seqaudit.replay.zenoh.sources import Source, placed
from seqaudit.replay.zenoh.subscriber import Subscriber
from seqaudit.replay.zenoh.timers import SETTLED_NS, Identity, OpenQueries, Timers

#: Queries kept apart; a hostile capture may name millions.
MAX_QUERIES: Final = 100_000
#: Finals of queries that were not open.
MAX_EARLY: Final = 2_000


class Queries:
    """Of one leg.

    Attributes:
        all: the first ``MAX_QUERIES`` of them, as they were asked.
    """

    def __init__(
        self,
        link: Link,
        moments: Moments,
        declared: Declarations,
        audience: Audience,
        timers: Timers,
        given: EngineParameters,
    ) -> None:
        self.all: list[Query] = []
        self._unlisted = 0
        self._link = link
        self._moments = moments
        self._declared = declared
        self._audience = audience
        self._depth = given.value("cache_depth")
        self._timeout_ms = given.value("query_timeout_ms")
        self._document = given.value("rules") == "document"
        self._open = OpenQueries()
        self._early_finals: dict[Identity, Mark] = {}  # of queries that were not open
        self._strays: dict[str, Mark] = {}  # requester -> its last Request for nothing known here
        self._asked_by: dict[int, list[Subscriber]] = {}
        self._handed_on: dict[int, int] = {}  # subscriber -> when what its history brought was
        self._timers = timers

    def began(self) -> None:
        """A new session."""
        self._early_finals.clear()

    def get(self, identity: Identity) -> Query | None:
        """The open query of that requester and id."""
        return self._open.get(identity)

    def request(self, detail: Detail, event: Event) -> None:
        """A Request; one that asks for nothing that was missed, or is older, is none of these."""
        assert event.source is not None and event.destination is not None
        requester = event.source
        key = self._declared.keys.resolve(requester, event.destination, detail["key"])
        told = advanced(key)
        asked = parameters(detail["parameters"])
        if told is None and (asked.has_range or self._document):
            told = document_query(key)  # D19
        known = told is not None and self._audience.asked_sources(requester, told.source)
        if not known:
            self._strays[requester] = event.first_mark()
        if told is None or told.role == "sub":
            return  # not of missed-samples recovery
        mark = event.first_mark()
        subscribers = self._audience.asking(requester, event.destination, told, asked, mark)
        if not subscribers:  # of one that was undeclared, as it seems
            self._strays[requester] = mark
        place = next((s for s in self._audience.asked_sources(requester, told.source)), None)
        sort = self._sort(told, asked, subscribers, requester, key, place)
        hop = self._link.hop(event, first_hop(event))
        number = len(self.all) + self._unlisted
        timeout_ns = 1_000_000 * detail.get("timeout_ms", self._timeout_ms)
        query = Query(
            number, requester, key, detail["parameters"], sort, told.source,
            placed(place, asked.first), placed(place, asked.last), mark, mark.at_ns + timeout_ns,
            request_id=detail["id"],
            lasted=self._moments.elapsed.watch(mark, timeout_ns),
            newest=place.live.stop() - 1 if place is not None and place.live else None,
            asked_by=hop,
            stray=self._strays.get(requester),
            preceded=self._moments.whole_since(hop, mark, timeout_ns),
            shared=self._shared(told, sort, subscribers, requester, place),
        )  # fmt: skip
        query.beside = len(subscribers) - 1
        came = place is not None and bool(place.live or place.replied)
        query.blind = not came and sort is not Sort.HEARTBEAT
        if self._depth is not None and place is not None and asked.has_range:
            stop = 2**63 if query.last is None else query.last + 1
            query.evicted = evicted(place.live, self._depth, query.first or 0, stop)
        if len(self.all) < MAX_QUERIES:
            self.all.append(query)
            for subscriber in () if sort is Sort.HISTORY else subscribers:
                subscriber.asking.listed.append(query)
        else:
            self._unlisted += 1
        before = self._open.pop((requester, detail["id"]))
        if before is not None:
            before.timed_out = True
            self._end(before, event.first_mark())
        answered = self._early_finals.pop((requester, detail["id"]), None)
        if answered is not None:  # no id is used twice in a session
            why = "an answer stands before its request"
            self._moments.doubt(Doubt.OUT_OF_ORDER, answered.frame, event.frame, why)
        self._open.add((requester, detail["id"]), query)
        self._timers.add_query((requester, detail["id"]), query)
        if sort is Sort.HISTORY:
            self._audience.asks_history(told.subject, query)
            return
        self._asked_by[number] = subscribers
        for subscriber in subscribers:
            over_ns = self._handed_on.get(id(subscriber))
            if sort is Sort.LATE and over_ns is not None and event.at_ns - over_ns < LAG_NS:
                subscriber.untold.add(CROSSED)
            here = len(subscribers) == 1 and not query.begins_below(subscriber.start)
            if answered is not None and here:
                subscriber.untold.drop(STRAY)  # it only stands behind its answer
            if len(subscribers) == 1:  # else nobody says whose query it is
                self._audience.lanes_of(subscriber).query(query)
            subscriber.query(query)
        if answered is not None:
            self._open.pop((requester, detail["id"]))
            self._end(query, event.first_mark())

    def _sort(
        self,
        told: Advanced,
        asked: Parameters,
        subscribers: list[Subscriber],
        requester: str,
        key: str,
        source: Source | None,
    ) -> Sort:
        if told.role == "":
            return Sort.HISTORY
        if told.role == "pub":
            return Sort.HEARTBEAT if asked.has_range else Sort.LATE
        if any(s.waiting is not None or s.last is None for s in subscribers):
            return Sort.RECOVERY
        first = placed(source, asked.first)
        if source is not None and source.live and first is not None and first < source.live.stop():
            return Sort.RECOVERY  # it lacks what has passed here
        if self._open.recovering(requester, key):
            return Sort.RECOVERY
        return Sort.PERIODIC

    def by_this_link(self, sources: Iterable[Source]) -> bool:
        """All samples, and all that is said of them, came by one of the links that the session may
        have: no final is here without its query, and no hole."""
        return not self._early_finals and all(
            source.live and self._link.all_here(source.sender, source.receiver)
            for source in sources
        )

    def replied(self, detail: Detail, event: Event) -> Query | None:
        """A Response: the query that it is for, if that is open."""
        assert event.destination is not None
        query = self._open.get((event.destination, detail["id"]))
        if query is not None:
            query.replies += 1
            query.reply_bytes += event.size
            by_numbers = query.first is not None or query.last is not None
            if by_numbers and "source" not in detail and not detail.get("error"):
                self._moments.damaged("a reply says no number, and its request asks by numbers")
            if "responder" in detail:
                query.responders.add("{}/{}".format(*detail["responder"]))
        return query

    def thrown_away(self, detail: Detail, event: Event) -> None:
        """A Response in a frame that the transport does not take."""
        told = detail.get("source")
        if told is None or event.source is None or event.destination is None:
            return
        query = self._open.get((event.destination, detail["id"]))
        source = self._audience.source(event.source, event.destination, f"{told[0]}/{told[1]}")
        if query is not None:
            query.refused += 1
            sn = placed(source, told[2])
            assert sn is not None, "as it was given"
            query.thrown.add(sn, sn + 1)

    def _shared(
        self, told: Advanced, sort: Sort, subscribers: list[Subscriber], requester: str,
        place: Source | None,
    ) -> bool:  # fmt: skip
        """Whether another one of its node may have sent a query."""
        if len(subscribers) > 1:
            return True
        if told.subject.startswith(UNRESOLVED) and any(one.subject for one in subscribers):
            return True  # the declaration of its key is not here, nor may its subscriber's be
        if sort is Sort.LATE and self._declared.anybody_left(requester):
            return True  # who was undeclared asks on (9.4)
        if told.role != "pub" or place is None:
            return False
        hear = () if sort is Sort.LATE else hear_heartbeats(self._audience.of(place))
        return requester in self._declared.unnamed or len(hear) > 1

    def brought(self, source: Source, sn: int, query: Query | None, event: Event) -> None:
        """A Response brought this sample, of a query that is open or of none that is."""
        assert event.destination is not None
        arrival = Arrival(event.first_mark(), event.first_mark(), True, event.fresh_id, None)
        if query is None:
            subscribers = self._audience.of(source)
            query = Query(
                -1, event.destination, "", "", Sort.RECOVERY, source.source, None, None,
                event.first_mark(), event.at_ns,
            )  # fmt: skip
        else:
            if not query.asks_for(source.source, sn):
                self._moments.damaged("a reply brings what its request did not ask for")
            query.replied.add(sn, sn + 1)
            query.all_lost = self._all_lost(source, query)
            if query.sort is not Sort.HISTORY:  # history may be limited, and of several sources
                newest = max(query.replied.stop() - 1, sn if query.newest is None else query.newest)
                source.depth = max(source.depth or 0, newest - query.replied.first() + 1)
            subscribers = self._asked_by.get(query.number, [])
            if query.sort is Sort.HISTORY:
                subject = _history_subject(query)
                unknown = subject.startswith(UNRESOLVED)
                subscribers = [
                    one
                    for one in self._audience.of(source)
                    if unknown or one.subject in (None, subject)
                ]
        for subscriber in subscribers:
            mine = subscriber.source == self._audience.machine(source)
            if mine and not subscriber.life.over:
                new = subscriber.last is None or sn > subscriber.last
                before = subscriber.start is not None and sn < subscriber.start
                if query.number < 0 and (new or before):
                    subscriber.untold.add(STRAY)
                if query.shared and query.sort in FOR_MISSING:
                    subscriber.asking.brought(query, sn, new=new)
                elif new and query.shared:
                    subscriber.untold.add(SHARED)
                subscriber.sample(sn, sn + 1, arrival, query)
                self._audience.lanes_of(subscriber).sample(sn, sn + 1, arrival, query)

    def _all_lost(self, source: Source, query: Query) -> bool:
        """A heartbeat's query for a source of which nothing came: its samples were lost.

        A late joiner sends the same query; but then no frames are missing since the session began.
        """
        if query.sort is not Sort.HEARTBEAT or query.first is not None or query.last is None:
            return False
        missing = sum(
            counter.lost.total()
            for (sender, receiver, _), counter in self._link.counters.items()
            if (sender, receiver) == (source.sender, source.receiver) and counter.known_start
        )
        return not source.live and missing > query.last - query.replied.first()

    def final(self, detail: Detail, event: Event) -> None:
        assert event.destination is not None
        identity, mark = (event.destination, detail["id"]), event.first_mark()
        query, lapsed = self._open.pop(identity), self._open.lapsed(identity)
        if lapsed is not None:
            lapsed.late_final = mark
        elif query is None and len(self._early_finals) < MAX_EARLY:
            self._early_finals[identity] = mark
        if query is not None:
            query.settled = self._moments.elapsed.watch(mark, SETTLED_NS)
            query.answered_by = self._link.hop(event, first_hop(event))
            query.reply_gap = self._gap_since(query)
            self._end(query, mark)

    def lapse(self, identity: Identity, query: Query) -> None:
        """Its time is up, by the capturing machine's clock."""
        if self._open.get(identity) is not query:
            return
        query.timed_out = True
        query.reply_gap = self._gap_since(query)
        self._open.lapse(identity)
        self._end(query, MarkOfTimer(query.asked.frame, query.deadline_ns))

    def close(self, mark: Mark) -> None:
        """The session ended."""
        for identity in self._open.all():
            query = self._open.pop(identity)
            assert query is not None
            query.gone, query.lived = True, self._outlived(query)
            query.reply_gap = self._gap_since(query)
            self._end(query, mark)

    def _outlived(self, query: Query) -> bool:
        """Whether the other end lived on for so long that it had answered."""
        alive = [self._moments.alive_ns(end) for end in self._link.ends if end != query.requester]
        return any(at is not None and at - query.asked.at_ns > LAG_NS for at in alive)

    def _end(self, query: Query, mark: Mark) -> None:
        query.ended = mark
        if query.sort is Sort.HISTORY:
            for subscriber in self._audience.history_ended(query, _history_subject(query)):
                if subscriber.history:
                    if subscriber.pending and not subscriber.queries:
                        self._handed_on[id(subscriber)] = mark.at_ns
                    subscriber.history_ended(mark)
            return
        for subscriber in self._asked_by.pop(query.number, []):
            if subscriber.life.over:
                continue
            subscriber.query_ended(query, mark)
            self._audience.lanes_of(subscriber).query_ended(query, mark)

    def _gap_since(self, query: Query) -> bool:
        """Transport sns were passed over on the way to its requester since it was asked."""
        ways = self._link.ways(None, query.requester)
        return any(counter.passed_over(query.asked.frame, END) for counter in ways)


def _history_subject(query: Query) -> str:
    """The key expression of the subscriber that an initial history query is of."""
    told = advanced(query.key) or document_query(query.key)
    return "" if told is None else told.subject
