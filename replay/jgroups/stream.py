"""What every point of capture can count of a JGroups stream, whoever's window is replayed there."""

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.mcast.passing import PassingModel
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet


class NumberedStream:
    """One numbered stream of one sender.

    Attributes:
        by_wire_kind, bytes_by_wire_kind: events of each kind and their bytes.
        first_seqno, last_seqno: the lowest and the highest captured; null before any message.
        first, last: where its first and its last event were captured; null before any.
        ever: every seqno captured, member or not.
        arrivals: messages, all copies included.
        network_duplicates: messages in a datagram that was captured shortly before as well.
        twice: which.
        outside_membership: messages that came before the join, after the end, or from a non-member.
        passing: what passed, where no window is replayed.
    """

    def __init__(self, key: str, system: str, sender: str) -> None:
        self.key = key
        self.system = system
        self.sender = sender
        self.by_wire_kind: dict[str, int] = {}
        self.bytes_by_wire_kind: dict[str, int] = {}
        self.first_seqno: int | None = None
        self.last_seqno: int | None = None
        self.first: Mark | None = None
        self.last: Mark | None = None
        self.ever = RangeSet()
        self.arrivals = 0
        self.network_duplicates = 0
        self.twice = Note()
        self.outside_membership = 0
        self.passing: PassingModel | None = None

    def count(self, event: Event) -> list[Range]:
        """Count a message or run; returns the seqnos that were never captured before."""
        assert event.seqno is not None and event.stop_seqno is not None
        self.saw(event)
        self.arrivals += event.count
        if event.flags & Flag.NETWORK_DUPLICATE:
            self.network_duplicates += event.count
            self.twice.add(event.seqno, event.stop_seqno, event.first_mark())
        if self.first_seqno is None or event.seqno < self.first_seqno:
            self.first_seqno = event.seqno
        self.last_seqno = max(event.stop_seqno - 1, self.last_seqno or 0)
        return self.ever.add(event.seqno, event.stop_seqno)

    def saw(self, event: Event) -> None:
        """Count any event of this stream by its wire kind."""
        self._saw(event, event.count)

    def _saw(self, event: Event, number: int) -> None:
        kind = event.wire_kind
        self.by_wire_kind[kind] = self.by_wire_kind.get(kind, 0) + number
        self.bytes_by_wire_kind[kind] = self.bytes_by_wire_kind.get(kind, 0) + event.size
        self.first = self.first or event.first_mark()
        self.last = event.last_mark()
