"""What is due when: timeouts of queries, and gaps that no query follows.

A heap, so that a session with thousands of sources costs each message its logarithm.
"""

from heapq import heappop, heappush
from itertools import count
from typing import Final

from seqaudit.replay.zenoh.query import Query
from seqaudit.replay.zenoh.subscriber import Subscriber

#: Concurrent put() calls may send out of the order of sns; never by more than this.
SETTLED_NS: Final = 50_000_000
#: Queries without an end whose end may come after all.
MAX_LAPSED: Final = 10_000
#: Of one query: its requester's endpoint and its request id.
Identity = tuple[str, int]


class OpenQueries:
    """Queries that have not ended, by requester and request id."""

    def __init__(self) -> None:
        self._open: dict[Identity, Query] = {}
        self._asked: dict[tuple[str, str], int] = {}  # requester and key -> how many of RECOVERY
        self._lapsed: dict[Identity, Query] = {}

    def get(self, identity: Identity) -> Query | None:
        """The open query of that id."""
        return self._open.get(identity)

    def add(self, identity: Identity, query: Query) -> None:
        """It was asked; there must be none of that id."""
        self._open[identity] = query
        if query.recovers:
            key = query.requester, query.key
            self._asked[key] = self._asked.get(key, 0) + 1

    def pop(self, identity: Identity) -> Query | None:
        query = self._open.pop(identity, None)
        if query is not None and query.recovers:
            key = query.requester, query.key
            self._asked[key] -= 1
            if not self._asked[key]:
                del self._asked[key]
        return query

    def lapse(self, identity: Identity) -> None:
        """Its time was up, by the capturing machine's clock."""
        query = self.pop(identity)
        if query is not None and len(self._lapsed) < MAX_LAPSED:
            self._lapsed[identity] = query

    def lapsed(self, identity: Identity) -> Query | None:
        return self._lapsed.get(identity)

    def recovering(self, requester: str, key: str) -> bool:
        """Whether a recovery query of this key stands open."""
        return self._asked.get((requester, key), 0) > 0

    def all(self) -> list[Identity]:
        """Those that are open, as they were asked."""
        return list(self._open)


class Timers:
    """Queries and subscribers by the time at which something is due for them."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Identity | Subscriber, Query | None]] = []
        self._order = count()
        self._watched: dict[int, int] = {}  # id of a subscriber -> when it is due

    @property
    def next_ns(self) -> int:
        """When the first of them is due."""
        return self._heap[0][0] if self._heap else 1 << 63

    def add_query(self, identity: Identity, query: Query) -> None:
        heappush(self._heap, (query.deadline_ns, next(self._order), identity, query))

    def add_subscriber(self, subscriber: Subscriber, at_ns: int) -> None:
        """It waits for a query until then."""
        if self._watched.get(id(subscriber)) != at_ns:
            self._watched[id(subscriber)] = at_ns
            heappush(self._heap, (at_ns, next(self._order), subscriber, None))

    def due(self, at_ns: int) -> tuple[Identity | Subscriber, Query | None] | None:
        """The next that is due by now; null: none is."""
        if not self._heap or self._heap[0][0] > at_ns:
            return None
        _, _, what, query = heappop(self._heap)
        if query is None:
            self._watched.pop(id(what), None)
        return what, query
