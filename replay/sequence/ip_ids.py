"""Which of two datagrams of one sender was sent first, by their IP ids (jgroups.md 6).

IP ids are 16 bits and a sender counts them up for each destination, so they tell a late original
from a resend: the resend's id is newer than that of the message which revealed the gap. They are
comparable over a short distance only, and not at all where a sender's ids do not count up, nor with
IPv6, where only fragments have one, of 32 bits and drawn by lot (RFC 7739): that tells which
datagram it is, and not when it was sent.
"""

from typing import Final

from seqaudit.replay.sequence.gaps import Arrival, Gap, Mark
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.sequence.unwrap import unwrap

MASK: Final = 0xFFFF
#: Datagrams of a socket for each id that it passes over, at least: else it does not count them.
COUNTED: Final = 2
MAX_PASSED_OVER: Final = 1_000
ID_SPAN_NS: Final = 5_000_000_000
ID_SPAN_MESSAGES: Final = 10_000


def sent_later(fresh_id: int | None, than: int | None) -> bool | None:
    """Was a datagram sent after another one of the same sender? Null: their ids do not tell."""
    if fresh_id is None or than is None or (fresh_id != than and max(fresh_id, than) > MASK):
        return None
    return 0 < (fresh_id - than) & MASK < 32768


def newest(fresh_id: int | None, so_far: int | None) -> int | None:
    """The id of the datagram that was sent last, if ids tell."""
    return fresh_id if so_far is None or sent_later(fresh_id, so_far) else so_far


class IpIds:
    """The IP ids of one sender's messages, as they arrived in order."""

    __slots__ = ("_backward", "_forward", "_last")

    def __init__(self) -> None:
        self._forward = 0
        self._backward = 0
        self._last: int | None = None

    def note(self, arrival: Arrival) -> None:
        """A first send arrived; do this sender's ids count up?"""
        later = sent_later(arrival.fresh_id, self._last)
        if later or (later is False and arrival.fresh_id == self._last):
            self._forward += 1
        elif later is False:
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
        return fresh_id == gap.reveal_id or sent_later(fresh_id, gap.reveal_id)


class SocketIds:
    """The IP ids of a socket that sends to one place alone: it counts its datagrams by one.

    Linux does for a connected socket of UDP whose datagrams may not be fragmented; a socket that
    sends to several takes ids of a counter that jumps with the time.
    """

    __slots__ = ("_count", "_last", "_passed_over")

    def __init__(self) -> None:
        self._last: int | None = None
        self._count = 0
        self._passed_over = RangeSet()

    def note(self, first: int, last: int, count: int) -> None:
        """A row of its datagrams: the ids of the first and the last of these, and how many messages
        they are of, of which each has a datagram of its own, or shares one."""
        if self._last is None:
            self._last = first - 1
        begin = unwrap(first, self._last, MASK)
        end = begin + ((last - first) & MASK)
        if end - begin >= count:  # one is missing within, wherever
            self._pass_over(end - (end - begin - count + 1), end)
        if begin > self._last + 1:
            self._pass_over(self._last + 1, begin)
        elif begin < self._last:
            self._passed_over.remove(begin, end + 1)
        if end > self._last:
            self._count += end - max(self._last, begin - 1)
            self._last = end

    def _pass_over(self, first: int, stop: int) -> None:
        if len(self._passed_over) < MAX_PASSED_OVER:
            self._passed_over.add(first, stop)

    @property
    def counts(self) -> bool:
        """They go up by one, so that none of its datagrams is missing since the first."""
        return self._count > COUNTED and not self._passed_over

    @property
    def lack(self) -> bool:
        """A datagram between two of its datagrams is not here."""
        return 0 < COUNTED * self._passed_over.total() <= self._count
