"""Are datagrams of a sender missing between those that are here, by their IP ids (raims.md 2)?

A sender counts them up for its group, and passes fewer over than its timer ticked since the packet
before (Linux: ``ip_idents_reserve``, 250 ticks a second on most). Where more are passed over, or it
has no ids, others may be missing. That fewer are shows nothing.
"""

from typing import Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ip_ids import MASK

#: Packets that only the sender of a TSI sends.
FROM_SENDER: Final = frozenset({"ODATA", "RDATA", "SPM", "NCF"})
#: And a row of its own for what one of them tells.
_SENT: Final = FROM_SENDER | {"TRAIL"}
#: Between two ticks of the timer by which a sender's host passes ids over.
JIFFY_NS: Final = 4_000_000


class SenderIds:
    """Of what one sender sends to its group, as it came.

    Attributes:
        stepped: the last packet before which, or in whose run, others may be missing.
    """

    __slots__ = ("_frame", "_last", "_last_ns", "stepped")

    def __init__(self) -> None:
        self.stepped: Mark | None = None
        self._last = self._last_ns = -1
        self._frame = -1

    def sent(self, event: Event) -> None:
        """A row of the link, perhaps of its packets; several rows may be of one frame."""
        if event.wire_kind not in _SENT or event.flags & Flag.NETWORK_DUPLICATE:
            return
        arrival, end = event.arrival(), event.last_mark()
        first, last = arrival.fresh_id or 0, arrival.last_fresh_id or 0
        due = self._last if event.frame == self._frame else (self._last + 1) & MASK
        ticks = (event.at_ns - self._last_ns) // JIFFY_NS
        data = event.kind in (Kind.DATA, Kind.RETRANSMISSION)
        between = event.count - 1 if data else 0  # of a run: as if it were sent evenly
        ticks_each = (end.at_ns - event.at_ns) // between // JIFFY_NS if between > 0 else 0
        within = (last - first) & MASK
        if (
            not first
            or self._last < 0
            or (first - due) & MASK > max(ticks, 0)
            or not between <= within <= between * (1 + ticks_each)
        ):
            self.stepped = end
        self._last, self._last_ns, self._frame = last, end.at_ns, end.frame
