"""Caches of missed-samples recovery: what a query gets back (zenoh.md 9.3, 10).

``PublicationCache`` is the shipped AdvancedCache, of one publisher; ``ReliabilityCache`` is the
design document's, one queue a key expression and source, in the publisher or anywhere. Rows C1 to
C11 and D12 to D18 of ``tests.replay.zenoh.rows``. sns are unwrapped, so comparing them is
wrap-aware (C1).
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from seqaudit.replay.sequence.ranges import Range, RangeSet
from seqaudit.replay.zenoh.keys import ALL_SOURCES, Parameters, matches

#: Default depth of the prototype; the document gives none (zenoh.md 10).
DOCUMENT_DEPTH: Final = 1024


class Cached(NamedTuple):
    """A sample in a cache; ``sn`` is null without SourceInfo, ``stamp_ns`` without timestamp."""

    sn: int | None
    stamp_ns: int | None = None


def chosen(
    samples: Iterable[Cached], asked: Parameters, since_ns: int | None = None
) -> list[Cached]:
    """Of a queue, what a query gets: oldest first (C9); the newest of it for ``_max`` (C6).

    Args:
        since_ns: begin of ``_time``; samples without timestamp pass (C7).
    """
    found = list(samples)
    if asked.has_range:
        found = [s for s in found if _within(s, asked.first, asked.last)]
    if since_ns is not None:
        found = [s for s in found if s.stamp_ns is None or s.stamp_ns >= since_ns]
    if asked.newest is not None:
        found = found[-asked.newest :] if asked.newest else []
    return found


def _within(sample: Cached, first: int | None, last: int | None) -> bool:
    """Both ends included, either may be open (C2, C3, C4), no sn is in no bounded range (C10)."""
    if sample.sn is None:
        return first is None and last is None
    return (first is None or sample.sn >= first) and (last is None or sample.sn <= last)


class PublicationCache:
    """The last ``depth`` samples of one publisher (C8, C11)."""

    def __init__(self, depth: int) -> None:
        self._queue: deque[Cached] = deque(maxlen=depth)

    def publish(self, sample: Cached) -> None:
        """Before it is sent, so the sample that reveals a gap takes a place too."""
        self._queue.append(sample)

    def reply(self, asked: Parameters, since_ns: int | None = None) -> list[Cached]:
        """One Response each, then ResponseFinal."""
        return chosen(self._queue, asked, since_ns)


def evicted(published: RangeSet, depth: int, first: int, stop: int) -> RangeSet:
    """Of [first, stop), what a cache of that depth no longer had when these were published."""
    left = depth
    floor = None
    for a, b in reversed(list(published)):
        if b - a >= left:
            floor = b - left
            break
        left -= b - a
    if floor is None:
        return RangeSet()
    return RangeSet(published.within(first, min(stop, floor)))


class Stored(NamedTuple):
    """Samples [first, stop) of one key expression and source."""

    key: str
    source: str
    first: int
    stop: int


@dataclass(slots=True)
class _Queue:
    """The newest samples of one key expression and source, as runs in the order they came."""

    runs: deque[Range] = field(default_factory=deque)
    count: int = 0
    ever: RangeSet = field(default_factory=RangeSet)

    def push(self, first: int, stop: int, history: int) -> None:
        """At the end; the oldest go (D14)."""
        self.ever.add(first, stop)
        self.count += stop - first
        if self.runs and self.runs[-1][1] == first:
            first = self.runs.pop()[0]
        self.runs.append((first, stop))
        while self.count > history:
            first, stop = self.runs.popleft()
            left = min(stop - first, self.count - history)
            self.count -= left
            if first + left < stop:
                self.runs.appendleft((first + left, stop))


@dataclass(slots=True)
class ReliabilityCache:
    """The document's cache.

    Attributes:
        key: its key expression.
        local: the source id of the session it is in.
        origin: whose samples it stores: the local publisher's, or all that match.
        enabled: ``with_cache(false)`` leaves it out.
        history: length of each queue.
    """

    key: str
    local: str
    origin: Literal["local", "any"] = "local"
    enabled: bool = True
    history: int = DOCUMENT_DEPTH
    queues: dict[tuple[str, str], _Queue] = field(default_factory=dict)

    def store(self, key: str, source: str | None, sn: int | None, stop: int | None = None) -> None:
        """Samples [sn, stop), or one, came by: D12, D13, D14, D17, D18."""
        if not self.enabled or source is None or sn is None or not matches(self.key, key):
            return
        if self.origin == "local" and source != self.local:
            return
        queue = self.queues.setdefault((key, source), _Queue())
        queue.push(sn, sn + 1 if stop is None else stop, self.history)

    def reply(self, source: str, key: str, asked: Parameters) -> list[Stored]:
        """The samples asked for; ``source`` may be ``*`` for all (D15, D16)."""
        first = -(2**63) if asked.first is None else asked.first
        stop = 2**63 if asked.last is None else asked.last + 1
        return [
            Stored(stored, whose, max(a, first), min(b, stop))
            for (stored, whose), queue in sorted(self.queues.items())
            if source in (ALL_SOURCES, whose) and (matches(key, stored) or matches(stored, key))
            for a, b in queue.runs
            if max(a, first) < min(b, stop)
        ]

    def ever_had(self, source: str, first: int, stop: int) -> bool:
        """Whether any of [first, stop) was stored at some time."""
        return any(
            queue.ever.within(first, stop)
            for (_, whose), queue in self.queues.items()
            if whose == source
        )
