"""What came when a member had said its last word: it read it, or had died (jgroups.md 4.4, P2).

Rows are runs, of which only the first and the last message have times: of a run that goes on behind
a member's last word nobody can tell how much of it came before.
"""

from collections.abc import Iterable

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.unicast.receiver_facts import ReceiveEntry
from seqaudit.replay.jgroups.unicast.streams import Stream
from seqaudit.replay.sequence.ranges import RangeSet

Waiting = Iterable[tuple[Event, Stream]]


def came_behind(waiting: Waiting, last_own_ns: int) -> Event | None:
    """The first row with a message that came when the member said nothing more."""
    return next(
        (
            event
            for event, _ in waiting
            if event.kind is Kind.DATA and event.last_mark().at_ns > last_own_ns
        ),
        None,
    )


def unread(
    waiting: Waiting, entry: ReceiveEntry, last_own_ns: int, crossing_ns: int
) -> tuple[int, int] | None:
    """How far an entry had delivered at least and at most; null: that is the same.

    Args:
        crossing_ns: how long before its last word a member may not have read what came.
    """
    read, late = RangeSet(), RangeSet()
    for event, stream in waiting:
        if stream is not entry.stream or event.seqno is None or event.stop_seqno is None:
            continue
        if event.last_mark().at_ns <= last_own_ns - crossing_ns:
            read.add(event.seqno, event.stop_seqno)
            continue
        if event.at_ns <= last_own_ns - crossing_ns:
            read.add(event.seqno, event.seqno + 1)
        late.add(event.seqno, event.stop_seqno)
    low, high = entry.window.deliverable(read), entry.window.deliverable(read | late)
    return (low, high) if high > low else None
