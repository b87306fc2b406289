"""Runs of TCP segments that only go on: taken together, without a Python object a segment.

Most segments of a connection begin where the one before has ended, acknowledge nothing that was not
captured and carry no SYN, FIN or RST. ``Runs`` finds these by columns, all connections at once;
the others are *odd* and go through ``tcp.Flow`` one by one, as do those behind an odd one until the
connection is in order again. What comes out is the same, byte for byte: a run gives a flow the
state that its segments would have given it one after the other.

A segment is compared with what those before it in the same columns say, and the first ones with the
state of the flow. That holds only while a flow really is where the columns think, so after an odd
segment ``goes_on`` asks for the flow's own state before a run begins again.

Positions here are of two orders: *rows*, in the order of the capture, and *places*, by connection
and then in the order of the capture.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.contract.event_columns import grouped
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.checksum_kernels import BARE, MARKS
from seqaudit.decoders.tcp.connection import SILENT_NS
from seqaudit.decoders.tcp.flows import NOBODY, OURS, UNDECIDED, Tracked
from seqaudit.decoders.tcp.segments import (
    MARK_MASK,
    MARK_SHIFT,
    MORE_SHIFT,
    OUTGOING_BIT,
    WIRE_MASK,
    WIRE_SHIFT,
    Key,
    Segments,
)
from seqaudit.decoders.tcp.wire import ACK, FARTHEST, FIN, MASK, RST, SYN, Segment

#: Segments are taken one by one where there are fewer than these: of all, and of a run.
FEW: Final = 64
SHORT: Final = 6
#: Odd rows become Python numbers so many at once.
BLOCK: Final = 32
#: No position; and a time after any other.
NONE: Final = -1
NEVER: Final = (1 << 63) - 1

Bools = npt.NDArray[np.bool_]


class SegmentRow(NamedTuple):
    """One segment."""

    flow: int  # number in ``Runs.keys``
    place: int
    next_row: int  # of the same connection; the number of rows: none
    segment: Segment


class Runs:
    """Segments of any connections, and how far each connection has taken them in.

    Attributes:
        keys: of the connections.
        tracked: their flows; null: none is open. Whoever opens one says so here.
    """

    def __init__(self, segments: Segments, flows: Mapping[Key, Tracked]) -> None:
        self._segments = segments
        self.count = segments.count
        numbers, flow = grouped(segments.flow)
        self.keys = [segments.keys[number] for number in numbers.tolist()]
        self._numbers = {key: number for number, key in enumerate(self.keys)}
        self.tracked = [flows.get(key) for key in self.keys]
        self._find_order(flow)
        states = np.array([_state(one) for one in self.tracked], np.int64).T
        self._links = Links(segments, self._order, self._flow, self._starts, states)
        self._expected = self._links.expected
        self._odd = bytearray(self.count + 1)
        marks = np.frombuffer(self._odd, np.uint8)
        marks[self._order[self._links.odd]] = 1
        marks[:-1][segments.facts >> MORE_SHIFT > 0] = 1
        #: Whose bytes wait to be decoded; those of others are counted nowhere.
        self._counted = [tracked is not None and tracked.state == OURS for tracked in self.tracked]
        ours = np.array(self._counted, np.bool_)
        self._rows_before = _sums(ours[flow])
        self._bytes = _sums(np.where(ours[flow], segments.length, 0))
        self._bytes_by_place = _sums(segments.length[self._order])
        for number, tracked in enumerate(self.tracked):
            if tracked is None or not (tracked.state == NOBODY or tracked.flow.is_usual()):
                self._odd[self._order[self._starts[number]]] = 1
            else:
                self._judge_next(tracked, number)
        self._undecided_bytes = 0
        self._block: list[SegmentRow] = []
        self._block_at = 0

    def _find_order(self, flow: Int64s) -> None:
        if len(self.keys) == 1:
            self._order = np.arange(self.count)
        else:  # a stable sort of small numbers takes no comparisons
            small = len(self.keys) < 1 << 16
            self._order = np.argsort(flow.astype(np.uint16) if small else flow, kind="stable")
        self._flow = flow[self._order]
        borders = np.searchsorted(self._flow, np.arange(len(self.keys) + 1))
        self._starts: list[int] = borders.tolist()
        self._done = self._starts[:-1]  # place, by connection
        place = np.empty(self.count, np.int64)
        place[self._order] = np.arange(self.count)
        next_row = np.full(self.count, self.count)
        next_row[self._order[:-1]] = np.where(
            self._flow[1:] == self._flow[:-1], self._order[1:], self.count
        )
        self._columns = (flow, place, next_row, *self._segments.columns()[1:])

    def next_odd(self, row: int) -> int:
        """The first odd row from ``row`` on; the number of rows: none."""
        found = self._odd.find(1, row, self.count)
        return self.count if found < 0 else found

    def bytes_of(self, row: int, stop: int) -> int:
        """Payload bytes on the wire of rows [row, stop), of flows that are decoded."""
        return int(self._bytes[stop] - self._bytes[row])

    def row_with(self, row: int, size: int) -> int:
        """The first row from ``row`` on of a flow that is decoded with which there are ``size``
        bytes; there is one."""
        sums, wanted = (self._bytes, size) if size > 0 else (self._rows_before, 1)
        return int(np.searchsorted(sums, int(sums[row]) + wanted, "left")) - 1

    def any_counted(self, row: int, stop: int) -> bool:
        """Whether any of rows [row, stop) is of a flow that is decoded."""
        return bool(self._rows_before[stop] > self._rows_before[row])

    def row(self, number: int) -> SegmentRow:
        at = number - self._block_at
        if at != len(self._block):
            if 0 <= at < len(self._block):
                return self._block[at]
            stop = number + 1
        else:  # odd ones come in a row
            stop = min(number + BLOCK, self.count)
        self._block, self._block_at = self._rows(slice(number, stop)), number
        return self._block[0]

    def _rows(self, rows: slice | Int64s) -> list[SegmentRow]:
        data = self._segments.data
        found = zip(*(column[rows].tolist() for column in self._columns), strict=True)
        return [
            SegmentRow(flow, place, next_row, Segment._make((*values, bytes(data[start:stop]))))
            for flow, place, next_row, *values, start, stop in found
        ]

    def goes_on(self, row: SegmentRow) -> None:
        """After an odd row was taken in: what follows it is odd too, unless all is in order."""
        self._done[row.flow] = row.place + 1
        self._note(row)
        tracked = self.tracked[row.flow]
        if tracked is not None and (tracked.state == OURS) != self._counted[row.flow]:
            self._count_bytes(row.flow, ours=tracked.state == OURS)
        if tracked is None or not self._in_order(tracked, row.flow):
            self._odd[row.next_row] = 1
        else:
            self._judge_next(tracked, row.flow)

    def _count_bytes(self, number: int, *, ours: bool) -> None:
        """From its next row on the bytes of a flow count, or do not."""
        self._counted[number] = ours
        rows = self._order[self._done[number] : self._starts[number + 1]]
        if len(rows):
            sign = 1 if ours else -1
            more = np.zeros((2, self.count + 1), np.int64)
            more[0, rows + 1] = sign
            more[1, rows + 1] = sign * self._segments.length[rows]
            more = np.cumsum(more, axis=1)
            self._rows_before = self._rows_before + more[0]
            self._bytes = self._bytes + more[1]

    def _judge_next(self, tracked: Tracked, number: int) -> None:
        """The row with which an undecided flow has bytes enough to be judged again is odd."""
        if tracked.state != UNDECIDED:
            return
        begin = self._done[number]
        wanted = int(self._bytes_by_place[begin]) + tracked.next_try - tracked.pending
        place = max(begin, int(np.searchsorted(self._bytes_by_place, wanted, "left")) - 1)
        if place < self._starts[number + 1]:
            self._odd[self._order[place]] = 1

    def _note(self, row: SegmentRow) -> None:
        """What the columns think of a flow behind a row."""
        segment = row.segment
        moved = segment.length + (segment.flags & SYN > 0)
        if moved and not segment.flags & RST:
            self._expected[segment.direction][row.flow] = (segment.seq + moved) & MASK

    def _in_order(self, tracked: Tracked, number: int) -> bool:
        """Whether a flow is where the columns think that it is; nobody's is anywhere."""
        if tracked.state == NOBODY:
            return True
        flow = tracked.flow
        if not flow.is_usual():
            return False
        for direction, expected in zip(flow.directions, self._expected, strict=True):
            known = NONE if direction.next is None else direction.next & MASK
            if known != expected[number]:
                return False
        return True

    def undecided_bytes(self) -> int:
        """Bytes that undecided flows took in since this was asked last."""
        taken, self._undecided_bytes = self._undecided_bytes, 0
        return taken

    def take_all(self, row: int) -> None:
        """Every flow takes in what it has before ``row``."""
        for number, (start, stop) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            if self._done[number] < stop:
                if row < self.count:
                    stop = start + int(np.searchsorted(self._order[start:stop], row))
                self.take(number, stop)

    def end(self, key: Key, row: int) -> None:
        """A flow takes in what it has before ``row``, and ends."""
        number = self._numbers.get(key)
        if number is None:
            return
        start, stop = self._starts[number : number + 2]
        following = start + int(np.searchsorted(self._order[start:stop], row))
        self.take(number, following)
        self.tracked[number] = None
        if following < stop:
            self._odd[self._order[following]] = 1

    def take(self, number: int, stop: int) -> None:
        """A flow takes in its segments up to the place ``stop``, none of which is odd."""
        begin = self._done[number]
        if begin >= stop:
            return
        self._done[number] = stop
        tracked = self.tracked[number]
        assert tracked is not None, "rows without a flow are odd"
        if tracked.state == NOBODY:
            self._count(tracked, begin, stop)
            return
        if tracked.state == UNDECIDED:
            self._undecided_bytes += int(self._bytes_by_place[stop] - self._bytes_by_place[begin])
        together = self._links.answered(begin, stop)
        if together - begin < SHORT:
            together = begin
        else:
            self._follow(tracked, number, begin, together)
        if together < stop:
            for row in self._rows(self._order[together:stop]):
                tracked.feed(row.segment)
                self._note(row)
            if stop < self._starts[number + 1] and not self._in_order(tracked, number):
                self._odd[self._order[stop]] = 1

    def _count(self, tracked: Tracked, begin: int, stop: int) -> tuple[int, ...]:
        """Count frames and what their headers say; how many each direction has."""
        links = self._links
        counts = []
        for direction, lane in enumerate(links.lanes):
            count = int(lane.counts[stop] - lane.counts[begin])
            counts.append(count)
            if not count:
                continue
            tracked.count_run(
                direction, count, lane.wire_bytes(begin, stop), lane.marks(begin, stop)
            )
            if links.is_news(tracked, direction):
                tracked.note_headers(direction, lane.facts(begin, stop))
        return tuple(counts)

    def _follow(self, tracked: Tracked, number: int, begin: int, stop: int) -> None:
        """A flow takes in a run."""
        segments, links, flow = self._segments, self._links, tracked.flow
        counts = self._count(tracked, begin, stop)
        for direction, lane in enumerate(links.lanes):
            if not counts[direction]:
                continue
            last = self._order[lane.latest[stop - 1]]
            flow.spoke_ns[direction] = int(segments.at_ns[last])
            rows = self._order[lane.data_places(begin, stop)]
            if len(rows):
                own = flow.directions[direction]
                own.follow(
                    segments.frame[rows],
                    segments.at_ns[rows],
                    segments.length[rows],
                    segments.payloads(rows),
                )
                tracked.kept += len(rows)
                assert own.next is not None
                self._expected[direction][number] = own.next & MASK
        last = self._order[stop - 1]
        flow.last_frame, flow.last_at = int(segments.frame[last]), int(segments.at_ns[last])


class Links:
    """How segments follow those before them in the same connection. Arrays are by place.

    Args:
        order, flow, starts: rows by place, the connection of each, and where each one begins.
        states: (4, connections) of each direction what ``expected`` is before them, and when it
            spoke last.
        anywhere: the first bytes of a direction of which nothing is known go on.

    Attributes:
        expected: by direction and connection, the 32 bits that the flow's next byte has behind the
            segments before these; NONE: nothing came yet, or nobody knows.
        odd: whether a segment does anything but go on.
        lanes: the segments of each direction.
    """

    def __init__(
        self,
        segments: Segments,
        order: Int64s,
        flow: Int64s,
        starts: list[int],
        states: Int64s,
        *,
        anywhere: bool = False,
    ) -> None:
        direction, seq, ack, flags, length, facts, at_ns = (
            column[order]
            for column in (
                segments.direction, segments.seq, segments.ack, segments.flags, segments.length,
                segments.facts, segments.at_ns,
            )
        )  # fmt: skip
        first = np.array(starts[:-1], np.int64)[flow]
        forth = direction == 0
        ttl = facts & 0xFF
        self._low_ttl, self._high_ttl = int(ttl.min()), int(ttl.max())
        self._outgoing = bool((facts & OUTGOING_BIT).any())
        self.expected: list[list[int]] = states[:2].tolist()
        self.lanes = [_DirectionSegments(mine, length, facts) for mine in (forth, ~forth)]
        # where the last segment before that moved each direction's next byte has put it
        syn = flags & SYN > 0
        moves = ((length > 0) | syn) & (flags & RST == 0)  # what a RST says is not of the stream
        end = (seq + length + syn) & MASK
        self._end, self._moved = end, [_latest(moves & lane.mine) for lane in self.lanes]
        one, other = self._moved
        theirs = np.where(forth, other, one)
        acked = np.where(theirs >= first, end[theirs], states[:2][1 - direction, flow])
        one, other = (np.append(NONE, latest[:-1]) for latest in (one, other))
        own = np.where(forth, one, other)
        following = np.where(own >= first, end[own], states[:2][direction, flow])
        beyond = (ack - acked) & MASK
        self.odd = flags & (SYN | FIN | RST) > 0
        self.odd |= (segments.stop - segments.start)[order] != length
        self.odd |= (length > 0) & (seq != following) & ~(anywhere & (following == NONE))
        self.odd |= (flags & ACK > 0) & (acked >= 0) & (beyond > 0) & (beyond < FARTHEST)
        # which segments have to wait for a word of the other side (``Flow``), and where that is
        self._spoken = np.where(forth, self.lanes[1].latest, self.lanes[0].latest)
        spoke_ns = np.where(
            self._spoken >= first, at_ns[self._spoken], states[2:][1 - direction, flow]
        )
        silent = (at_ns > spoke_ns) & ((at_ns - spoke_ns > SILENT_NS) | (at_ns - spoke_ns < 0))
        self._waiting: list[int] = np.flatnonzero(silent & (length > 0)).tolist()

    def behind(self, starts: list[int]) -> Int64s:
        """(2, connections) what is expected behind all of them."""
        found = np.array(self.expected, np.int64)
        first, last = np.array(starts[:-1], np.int64), np.array(starts[1:], np.int64) - 1
        for direction, moved in enumerate(self._moved):
            at = moved[last]
            found[direction] = np.where(at >= first, self._end[at], found[direction])
        return found

    def is_news(self, tracked: Tracked, direction: int) -> bool:
        """Whether any header, of whatever connection, says what none of this flow's said before."""
        return (
            self._low_ttl < tracked.low_ttl[direction]
            or self._high_ttl > tracked.high_ttl[direction]
            or (self._outgoing and not tracked.outgoing[direction])
        )

    def answered(self, begin: int, stop: int) -> int:
        """The place in [begin, stop], of one connection, up to which nothing waits for an answer
        that has not come before ``stop``."""
        if not self._waiting:
            return stop
        since = max(begin, int(self._spoken[stop - 1]) + 1)
        first = bisect_left(self._waiting, since)
        return min(stop, self._waiting[first]) if first < len(self._waiting) else stop


#: Segments by mark, counted side by side in one number; so many bits hold those of any batch.
MARK_BITS: Final = 20
_SHIFTS: Final = range(0, MARK_BITS * (MARKS - BARE), MARK_BITS)
_ONE_OF: Final = np.array([*[0] * BARE, *(1 << shift for shift in _SHIFTS)], np.int64)


class _DirectionSegments:
    """The segments of one direction, of all connections. Arrays are by place.

    Attributes:
        mine: which they are.
        counts: how many there are before a place.
        latest: the last of them up to here.
    """

    def __init__(self, mine: Bools, length: Int64s, facts: Int64s) -> None:
        self.mine = mine
        self.counts = _sums(mine)
        self.latest = _latest(mine)
        self._facts = facts
        self._wire = _sums(np.where(mine, facts >> WIRE_SHIFT & WIRE_MASK, 0))
        self._marks = _sums(np.where(mine, _ONE_OF[facts >> MARK_SHIFT & MARK_MASK], 0))
        data = mine & (length > 0)
        self._data = np.flatnonzero(data)
        self._data_counts = _sums(data)

    def data_places(self, begin: int, stop: int) -> Int64s:
        """Those of [begin, stop) that have payload."""
        return self._data[self._data_counts[begin] : self._data_counts[stop]]

    def wire_bytes(self, begin: int, stop: int) -> int:
        """Bytes of their frames."""
        return int(self._wire[stop] - self._wire[begin])

    def marks(self, begin: int, stop: int) -> list[int]:
        """How many have each mark."""
        together = int(self._marks[stop] - self._marks[begin])
        judged = [together >> shift & (1 << MARK_BITS) - 1 for shift in _SHIFTS]
        return [*[0] * BARE, *judged]  # nobody asks for the others

    def facts(self, begin: int, stop: int) -> Int64s:
        """Of those in [begin, stop)."""
        return self._facts[begin:stop][self.mine[begin:stop]]


def _state(tracked: Tracked | None) -> tuple[int, int, int, int]:
    """Of a flow and each direction: the 32 bits of its next byte, when it spoke last."""
    if tracked is None:
        return NONE, NONE, NEVER, NEVER
    one, other = (
        NONE if direction.next is None else direction.next & MASK
        for direction in tracked.flow.directions
    )
    spoke, answered = (NEVER if at_ns is None else at_ns for at_ns in tracked.flow.spoke_ns)
    return one, other, spoke, answered


def _sums(values: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Int64s:
    """The sum of all before each place; one more than there are."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _latest(mask: Bools) -> Int64s:
    """The last place up to each where a mask is true; NONE: there is none."""
    found: Int64s = np.maximum.accumulate(np.where(mask, np.arange(len(mask)), NONE))
    return found
