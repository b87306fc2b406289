"""One TCP connection put together from its segments (RFC 9293), without any I/O.

In: segments of both directions in capture order. Out, per direction: its bytes in order and once,
each part with the capture frame that made it available, and the holes between them.

What a capture shows is not what the receiver saw: segments may be missing here that arrived there.

- The first bytes that come for a position stay; other bytes for it are counted (``conflicts``).
- A stretch that never came while later bytes did is a *hole* once the other side has acknowledged
  it and it has not come within ``GRACE_NS`` (mirrors put an ACK before its data at times), or when
  more than ``EARLY_BYTES`` or ``EARLY_NS`` of later bytes wait for it. What a snap length cut off
  is a hole at once.
- Bytes behind a gap that nobody acknowledged by the end of the capture were not delivered to anyone
  yet: they stay unread (``unread_bytes``).
- Bytes that came while the other side was silent for ``SILENT_NS``, or had ended its own direction,
  wait for its next word: where that is a RST, the connection was gone there. They were sent, and
  nobody was given them (``refused``). Recorded with a link that was cut for longer than the lease.
- Bytes in front of a FIN, or of the number of a RST, that never came are a hole that nobody has
  acknowledged. Whoever says more than ``GRACE_NS`` behind a RST has not sent it: it was forged, or
  of an older connection.
- A SYN with another initial seqno begins a new connection on the same ports (``begins_anew``).

Positions are sequence numbers without wrapping: the 32 bits of the wire plus what wraps added.
"""

from typing import Final

from seqaudit.decoders.contract.events import Ending
from seqaudit.decoders.tcp.direction import GRACE_NS, Direction, MissingBytes
from seqaudit.decoders.tcp.wire import ACK, FIN, HALF, MASK, RST, SYN, Segment

#: Segments that wait for the other side's word.
EARLY_SEGMENTS: Final = 64
#: ACKs are delayed by 0.5 s at most (RFC 9293 3.8.6.3), and by 0.2 s by the systems that there are.
SILENT_NS: Final = 200_000_000

COUNTERS: Final = (
    "retransmitted_segments",  # all bytes had come already
    "overlaps",  # some bytes had
    "conflicts",  # repeated bytes that differ from those that came first
    "out_of_order",
    "keep_alives",
    "strays",
    "holes",
    "hole_bytes",
    "unacked_holes",  # of these, given up before anybody acknowledged them
    "unacked_hole_bytes",
    "unread_bytes",
    "refused_bytes",
)


class Flow:
    """Both directions of one connection."""

    __slots__ = (
        "_resets", "_unanswered", "closed", "counts", "directions", "holes", "last_at",
        "last_frame", "opener", "spoke_ns", "unkept",
    )  # fmt: skip

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.directions = (Direction(0, self.counts), Direction(1, self.counts))
        self.opener: int | None = None
        self.closed = False  # a RST, or the FINs of both
        self._resets: list[tuple[int, int] | None] = [None, None]  # by who sent it
        self.holes: list[MissingBytes] = []  # since the caller has last emptied it
        self.last_frame = 0
        self.last_at = 0
        self.unkept = 0  # of those said to be kept, how many are not after all
        self.spoke_ns: list[int | None] = [None, None]  # last segment of each direction
        self._unanswered: tuple[list[Segment], list[Segment]] = ([], [])

    @property
    def reset(self) -> tuple[int, int] | None:
        """Frame and time of the first RST."""
        return min((reset for reset in self._resets if reset is not None), default=None)

    @property
    def began(self) -> bool:
        """Whether the begin of a direction was captured."""
        one, other = self.directions
        return one.began or other.began

    @property
    def opened(self) -> bool:
        """Whether its first SYN was captured, not only the answer to it."""
        return self.opener is not None and self.directions[self.opener].began

    def begins_anew(self, segment: Segment) -> bool:
        """Whether a segment is the first of another connection on the same ports."""
        direction, seq = segment.direction, segment.seq
        if not segment.flags & SYN:
            return False
        own, other = self.directions[direction], self.directions[1 - direction]
        if own.isn is not None:
            return own.isn != seq
        if own.base is not None:
            return own.base != (seq + 1) & MASK
        return not segment.flags & ACK and other.next is not None

    def feed(self, segment: Segment) -> bool:
        """Take a segment in. Whether its capture frame belongs to bytes that ``take`` will show."""
        direction, frame, at_ns, ack, flags = (
            segment.direction, segment.frame, segment.at_ns, segment.ack, segment.flags,
        )  # fmt: skip
        own, other = self.directions[direction], self.directions[1 - direction]
        self.last_frame, self.last_at = frame, at_ns
        kept = False
        if self._unanswered[1 - direction]:
            if flags & RST:
                self._refuse(1 - direction, ack if flags & ACK else None)
            else:
                self._answered(1 - direction)
        self.spoke_ns[direction] = at_ns
        reset = self._resets[direction]
        if reset is not None and not flags & (SYN | RST) and at_ns - reset[1] > GRACE_NS:
            self._resets[direction], own.sent = None, 0  # its host still knows the connection
        if flags & (SYN | RST):
            if flags & RST:
                self.closed = True
                self._resets[direction] = reset or (frame, at_ns)
                own.resets(segment.seq)
                segment = segment._replace(length=0)  # why it is, in words; not of the stream
            else:
                if self.opener is None:
                    self.opener = 1 - direction if flags & ACK else direction
                own.synchronise(segment.seq)
                segment = segment._replace(seq=(segment.seq + 1) & MASK)
        if segment.length and self._waits(direction, at_ns):
            held = self._unanswered[direction]
            held.append(segment)
            kept = True
            if len(held) > EARLY_SEGMENTS:  # at most 64 KiB each: memory is bounded
                self._answered(direction)
        else:
            kept = self._data(segment)
        if flags & ACK:
            if (
                other.next is not None
                and other.fin is not None
                and (ack - 1) & MASK == (other.fin & MASK)
            ):
                ack -= 1  # of the FIN
            other.acknowledged(ack, at_ns)
        if own.late:
            own.give_up(frame, at_ns, self.holes)
        if other.late:
            other.give_up(frame, at_ns, self.holes)
        return kept

    def is_usual(self) -> bool:
        """Whether nothing waits, is missing or has ended: the next segments may ``follow``."""
        one, other = self.directions
        return not (
            self._unanswered[0]
            or self._unanswered[1]
            or one.late
            or other.late
            or one.fin is not None
            or other.fin is not None
            or self._resets != [None, None]
        )

    def _waits(self, direction: int, at_ns: int) -> bool:
        """Whether the other side may be gone, so that its next word has to be waited for."""
        spoke_ns = self.spoke_ns[1 - direction]
        if self._unanswered[direction]:
            return True
        return spoke_ns is not None and (
            at_ns - spoke_ns > SILENT_NS or self.directions[1 - direction].fin is not None
        )

    def _data(self, segment: Segment, *, refused: bool = False) -> bool:
        own = self.directions[segment.direction]
        other = self.directions[1 - segment.direction]
        kept = False
        if segment.length:
            kept = own.data(
                segment.frame, segment.at_ns, segment.seq, segment.length, segment.payload,
                self.holes, refused=refused,
            )  # fmt: skip
        if segment.flags & FIN and own.next is not None:
            own.fin = own.next + ((segment.seq + segment.length - own.next) & MASK)
            self.closed = self.closed or other.fin is not None
        return kept

    def _answered(self, direction: int) -> None:
        """The other side is there: what waited for its word is of the stream."""
        held = self._unanswered[direction]
        own = self.directions[direction]
        for segment in held:
            if not self._data(segment):
                self.unkept += 1
            if own.late:
                own.give_up(segment.frame, segment.at_ns, self.holes)
        held.clear()

    def _refuse(self, direction: int, acked: int | None) -> None:
        """A RST answers: what waited, and is not acknowledged by it, was given to nobody."""
        held = self._unanswered[direction]
        for segment in held:
            stop = segment.seq + segment.length
            refused = acked is None or 0 < (stop - acked) & MASK < HALF
            self.counts["refused_bytes"] += segment.length if refused else 0
            self.unkept += not self._data(segment, refused=refused)
        held.clear()

    def wait_no_longer(self) -> None:
        """No more segments: what waited for the other side's word is of the stream."""
        for direction in (0, 1):
            self._answered(direction)

    def endings(self) -> tuple[Ending, Ending]:
        """How each direction ended, where nothing follows; before ``finish``."""
        one, other = (self._ending(direction) for direction in (0, 1))
        return one, other

    def _ending(self, direction: int) -> Ending:
        own = self.directions[direction]
        if self.reset is not None:
            return Ending.RESET
        if own.fin is not None and own.next is not None and own.next >= own.fin:
            return Ending.CLOSED
        asked = [segment.seq for segment in self._unanswered[1 - direction]]
        return Ending.SILENT if len(set(asked)) < len(asked) else Ending.UNSEEN

    def finish(self) -> list[int]:
        """No more segments: the frames of what nobody will read."""
        self.wait_no_longer()
        return [
            frame
            for direction in self.directions
            for frame in direction.finish(self.last_frame, self.last_at, self.holes)
        ]
