"""ACKs that do not wait for the tick (jgroups.md 4.4, B13 and B14).

    UNICAST3    a batch (list) of at least ack_threshold messages of the stream, also duplicates;
                each message if ack_threshold <= 1
    UNICAST4    ack_threshold counted deliveries: a message of a list counts once, one that came
                alone twice (when stored and when delivered)

This counts what there was at least, and so errs towards silence. A UNICAST3 batch is seen where a
run is one frame. When a message that came alone counts for the second time is not visible: in
u4-window-full-2 A sends ACK(0) 407 ms after message 1 came, so its delivery was not counted yet;
all messages count once here. The ACK that the tick sends does not reset UNICAST4's counter; here
every ACK does.
"""

from typing import Final

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import Range

#: An ACK that is due at once may wait so long for a thread.
PATIENCE_NS: Final = 200_000_000


class AcksAtOnce:
    """One receiver's.

    Args:
        threshold: ack_threshold; null: not known (UNICAST4), so nothing is due at once.
    """

    __slots__ = ("_counted", "_due", "_threshold", "_unicast4")

    def __init__(self, threshold: int | None, *, unicast4: bool) -> None:
        self._threshold = threshold
        self._unicast4 = unicast4
        self._counted = 0
        self._due: Mark | None = None

    def accepted(self, event: Event, delivered: Range | None) -> None:
        """Messages were accepted; ``delivered`` is what became deliverable by them."""
        if self._threshold is None:
            return
        if self._unicast4:
            self._counted += 0 if delivered is None else delivered[1] - delivered[0]
            due = self._counted >= self._threshold
        else:
            batch = event.flags & Flag.LISTED and event.last_mark().frame == event.frame
            due = self._threshold <= 1 or bool(batch and event.count >= self._threshold)
        if due and self._due is None:
            self._due = event.last_mark()

    def acked(self) -> Mark | None:
        """An ACK was sent; returns since when it was due, null if it was not."""
        due, self._due, self._counted = self._due, None, 0
        return due
