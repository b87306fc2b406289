"""The design document's machine beside what passes on one leg (zenoh.md 10)."""

from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.worth import BEGINNING
from seqaudit.replay.sequence.gaps import Arrival, Mark
from seqaudit.replay.sequence.ranges import Range
from seqaudit.replay.zenoh.causes import Cause
from seqaudit.replay.zenoh.document import DocumentWorld
from seqaudit.replay.zenoh.document_subscriber import DocumentSubscriber
from seqaudit.replay.zenoh.link import Link
from seqaudit.replay.zenoh.sources import Source
from seqaudit.replay.zenoh.subscriber import Subscriber


class InDocument:
    """Of one leg; ``world`` is null where the shipped machine is replayed, or the document's own
    traffic (D22)."""

    def __init__(self, world: DocumentWorld | None, link: Link) -> None:
        self.world = world
        self._link = link
        self._next_due = 2**63

    def passed(self, source: Source, first: int, event: Event, before: Mark | None) -> None:
        """A sample of a source passes: what is missing below it was published as well (D21)."""
        if self.world is None:
            return
        zid, _, entity = source.source.partition("/")
        since = BEGINNING if before is None else before.frame
        on_link = any(
            counter.passed_over(since, event.frame) or counter.threw_away(since, event.frame)
            for counter in self._link.ways(source.sender, source.receiver)
        )
        self.world.missing(source.sender, zid, entity, source.key or "", first, on_link=on_link)

    def publish(self, source: Source, first: int, stop: int) -> None:
        """Samples are certain to have left their publisher."""
        if self.world is not None:
            zid, _, entity = source.source.partition("/")
            self.world.publish(source.sender, zid, entity, source.key or "", first, stop)

    def live(self, source: Source, subscriber: Subscriber, run: Range, came: Arrival) -> None:
        """A run to a subscriber; the first of it is in the cache when it is asked (D4)."""
        assert self.world is not None and isinstance(subscriber, DocumentSubscriber)
        first, stop = run
        entity, key = source.source.partition("/")[2], source.key or ""
        for a, b in ((first, first + 1), (first + 1, stop)):
            if a < b:
                self.publish(source, a, b)
                self.world.live(subscriber, source.receiver, entity, key, (a, b), came)
        self._next_due = min(self._next_due, self.world.next_ns())

    def shown(self, source: Source, sn: int) -> None:
        """A reply of today's caches brings a sample."""
        if self.world is not None:
            self.world.shown(source.node, sn, sn + 1)
            self.publish(source, sn, sn + 1)

    def cause(self, who: Subscriber, first: int, stop: int) -> Cause | None:
        """Why [first, stop) would not have come back."""
        if self.world is None:
            return None
        assert isinstance(who, DocumentSubscriber)
        return self.world.cause(who, first, stop)

    def advance(self, at_ns: int) -> None:
        """Time has come to this point."""
        if self.world is not None and at_ns >= self._next_due:
            self.world.advance(at_ns)
            self._next_due = self.world.next_ns()
