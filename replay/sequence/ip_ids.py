"""Which of two datagrams of one sender was sent first, by their IP ids (jgroups.md 6).

IP ids are 16 bits and a sender counts them up for each destination, so they tell a late original
from a resend: the resend's id is newer than that of the message which revealed the gap. They are
comparable over a short distance only, and not at all where a sender's ids do not count up.
"""

from typing import Final

from seqaudit.replay.sequence.gaps import Arrival, Gap, Mark

ID_SPAN_NS: Final = 5_000_000_000
ID_SPAN_MESSAGES: Final = 10_000


class IpIds:
    """The IP ids of one sender's messages, as they arrived in order."""

    __slots__ = ("_backward", "_forward", "_last")

    def __init__(self) -> None:
        self._forward = 0
        self._backward = 0
        self._last: int | None = None

    def note(self, arrival: Arrival) -> None:
        """A first send arrived; do this sender's ids count up?"""
        if self._last is not None and arrival.fresh_id is not None:
            if (arrival.fresh_id - self._last) % 65536 < 32768:
                self._forward += 1
            else:
                self._backward += 1
        self._last = arrival.last_fresh_id

    def is_newer(self, gap: Gap, fresh_id: int | None, mark: Mark, arrived: int) -> bool | None:
        """Was the datagram sent after the one that revealed the gap? Null: not to be told.

        Args:
            arrived: messages of the stream that have arrived by now.
        """
        if fresh_id is None or gap.reveal_id is None:
            return None
        if mark.at_ns - gap.revealed.at_ns > ID_SPAN_NS:
            return None
        if arrived - gap.arrivals_before > ID_SPAN_MESSAGES:
            return None
        if self._backward * 20 > self._forward:
            return None
        return (fresh_id - gap.reveal_id) % 65536 < 32768
