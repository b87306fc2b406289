"""A first look at TCP connections by columns: most are of others, and their first bytes show it
(decoders/README.md 3).

A connection whose begin was captured is nobody's once every system has refused the first bytes that
either side sends; ``flows`` would say so as well, a Python object a connection. Here those of a
chunk are looked at together. One whose handshake is in one chunk and whose first bytes are in the
next is *held*: its segments, none of which has payload, wait here. So does what was caught in the
middle, with its bytes, as long as every segment goes on, until there are enough to judge it or no
more come. What is not plainly refused goes on to ``flows`` from its first segment on, and what
comes of it there is the same.

Plainly refused: SYNs of either side that repeat themselves at most, then bytes that follow the SYN
of their direction, before which the other side was not silent for long (``connection``), and which
every system refuses; or an end (a RST, both FINs) before any bytes. No second connection begins
there within the chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.contract.arrow import distinct
from seqaudit.decoders.contract.event_columns import grouped
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.network.checksum_kernels import WRONG
from seqaudit.decoders.network.packets import Packets
from seqaudit.decoders.tcp.connection import SILENT_NS
from seqaudit.decoders.tcp.flows import MIDDLE_BYTES, UNDECIDED_BYTES, Placed
from seqaudit.decoders.tcp.framing import Match, StreamSystem, choose
from seqaudit.decoders.tcp.runs import NEVER, NONE, Links
from seqaudit.decoders.tcp.segments import (
    COLUMNS,
    FRESH,
    LEFT,
    MARK_MASK,
    MARK_SHIFT,
    MIDDLE,
    REFUSED,
    WANTED,
    WIRE_SHIFT,
    Key,
    SegmentFinder,
    Segments,
    ends_of,
)
from seqaudit.decoders.tcp.traces import Heads, TraceSearch
from seqaudit.decoders.tcp.wire import ACK, FIN, MASK, RST, SYN

#: Segments that are held at most: of half-open connections there may be any number. 50 MB.
HELD: Final = 1 << 19
#: Bytes of connections caught in the middle that are judged together.
LOOK_TOGETHER: Final = 4 << 20
#: Bytes of connections caught in the middle that are held at most.
MIDDLE_TOTAL: Final = 64 << 20
#: Of one that goes on it is judged with so many, and then with twice as many again and again: most
#: systems refuse a direction by 96 KiB.
MIDDLE_LOOK: Final = 256 << 10

Bools = npt.NDArray[np.bool_]


@dataclass(slots=True)
class _WaitingSegments:
    """Segments that wait; ``ends``: the key of each one's destination, as ``Flows`` has it."""

    segments: Segments
    ends: Int64s

    def take(self, rows: Int64s) -> _WaitingSegments:
        """Only some of them."""
        return _WaitingSegments(self.segments.take(rows), self.ends[rows])


class FirstLook:
    """Parts the segments of a piece into those of others and those that have to be followed.

    Args:
        account: of the piece; what is followed is handed over.
        finder: whose numbers of connections and ``states`` these are.
        whole: there is no other piece of the capture, in which more may have come or come yet.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        systems: Mapping[str, StreamSystem],
        account: Account,
        finder: SegmentFinder,
        *,
        whole: bool,
        compile_it: bool,
    ) -> None:
        self._whole = whole
        self._systems = [one for name, one in systems.items() if name not in settings.no_decode]
        self._ports = np.array(
            [port for transport, port, _ in settings.decode_as if transport == "tcp"], np.int64
        )
        self._placed = Placed(settings, systems)
        self._carriers = settings.carriers
        self._account = account
        self._finder = finder
        self._held: _WaitingSegments | None = None
        self._middle = _Middle(self._systems, compile_it=compile_it)

    def feed(
        self, packets: Packets, segments: Segments, rows: Int64s
    ) -> tuple[list[Segments], Iterable[Key]]:
        """Segments to be followed, in order, and connections that were refused, as their keys are
        asked for.

        Args:
            rows: of ``packets`` that these segments are.
        """
        ends = packets.columns[k.FLOW][rows]
        keys = packets.flows.table()[ends, 0]
        states = self._finder.states
        state = states[segments.flow]
        fresh = np.flatnonzero(state == FRESH)
        if not len(fresh):
            self._hand_over(ends, packets.record_column("original")[rows])
            on, waits = np.flatnonzero(state != MIDDLE), np.flatnonzero(state == MIDDLE)
            if not len(waits):
                return [segments], []
            parts, others = self._wait(_WaitingSegments(segments.take(waits), keys[waits]))
            return [segments.take(on), *parts] if len(on) else parts, others
        candidates = segments.take(fresh)
        held = self._awake(candidates.flow)
        together = candidates if held is None else _joined(held.segments, candidates)
        fates = _Fates(together, 0 if held is None else held.segments.count)
        forced = self._forced(fates.numbers)
        refused = fates.refused(self._systems, unopened=self._whole) & ~forced
        waiting = fates.waiting & ~forced
        asleep = 0 if self._held is None else self._held.segments.count
        if asleep + np.count_nonzero(waiting[fates.group]) > HELD:
            waiting[:] = False
        middle = fates.middle & ~forced & ~fates.ends  # what a RST ends goes on with a SYN only
        states[fates.numbers] = np.where(refused, REFUSED, np.where(waiting, FRESH, WANTED))
        states[fates.numbers[refused & fates.ends]] = LEFT  # bytes may have come in IP fragments
        states[fates.numbers[middle]] = MIDDLE
        handed = np.flatnonzero(states[segments.flow] < LEFT)
        self._hand_over(ends[handed], segments.facts[handed] >> WIRE_SHIFT)
        out, others = self._divided(segments, keys, held, fates, refused, waiting)
        return out, chain(map(segments.keys.__getitem__, fates.numbers[refused].tolist()), others)

    def finish(self) -> tuple[list[Segments], list[Key]]:
        """No more segments: those that go on, and connections that are refused."""
        found = self._middle.finish(0 if self._whole else MIDDLE_BYTES)
        out, refused = self._settle(*found, self._finder.keys)
        if self._whole and self._held is not None:  # no byte of them will come
            self._take_back(self._held)
            self._held = None
        return [*out, *self.renumbered()], refused

    def renumbered(self) -> list[Segments]:
        """Connections get other numbers from now on: what is held goes on."""
        held, self._held = self._held, None
        found = []
        if held is not None:
            found.append(held.segments.take(np.argsort(held.segments.frame, kind="stable")))
        found += [part.segments for part in self._middle.renumbered()]
        for segments in found:
            self._finder.states[segments.flow] = WANTED
        return found

    def _awake(self, flows: Int64s) -> _WaitingSegments | None:
        """What is held of some connections, of which more has come; it is held no longer."""
        held = self._held
        if held is None:
            return None
        named = np.zeros(len(self._finder.states), np.bool_)
        named[flows] = True
        awake = named[held.segments.flow]
        if not awake.any():
            return None
        asleep = np.flatnonzero(~awake)
        self._held = held.take(asleep) if len(asleep) else None
        return held.take(np.flatnonzero(awake))

    def _hold(self, kept: _WaitingSegments) -> None:
        """More that waits, of other connections than what is held."""
        held = self._held
        if held is not None:
            ends = np.append(held.ends, kept.ends)
            kept = _WaitingSegments(_joined(held.segments, kept.segments), ends)
        self._held = kept

    def _divided(
        self,
        segments: Segments,
        ends: Int64s,
        held: _WaitingSegments | None,
        fates: _Fates,
        refused: Bools,
        waiting: Bools,
    ) -> tuple[list[Segments], list[Key]]:
        """What goes on, and who else is refused. What waits is kept, and what is refused stays the
        account's own."""
        fate = np.where(self._finder.states == MIDDLE, 3, 0)
        fate[fates.numbers[refused]] = 1
        fate[fates.numbers[waiting]] = 2
        now = fate[segments.flow]
        out = []
        waits = np.flatnonzero(now == 2)
        kept, kept_ends = segments.take(waits), ends[waits]
        middle = np.flatnonzero(now == 3)
        caught, caught_ends = segments.take(middle), ends[middle]
        if held is not None:
            before = fate[held.segments.flow]
            back = np.flatnonzero(before == 1)
            if len(back):
                self._take_back(held.take(back))
            on = np.flatnonzero(before == 0)
            if len(on):
                out.append(held.segments.take(on))
            still = np.flatnonzero(before == 2)
            kept = _joined(held.segments.take(still), kept)
            kept_ends = np.append(held.ends[still], kept_ends)
            early = np.flatnonzero(before == 3)
            caught = _joined(held.segments.take(early), caught)
            caught_ends = np.append(held.ends[early], caught_ends)
        if kept.count:
            self._hold(_WaitingSegments(_without_bytes(kept), kept_ends))
        on = np.flatnonzero(now == 0)
        if len(on):
            out.append(segments if len(on) == segments.count else segments.take(on))
        parts, others = self._wait(_WaitingSegments(caught, caught_ends))
        return [*out, *parts], others

    def _wait(self, caught: _WaitingSegments) -> tuple[list[Segments], list[Key]]:
        """More of connections caught in the middle: the segments of those that are followed from
        now on, and those that are nobody's."""
        if not len(caught.ends):
            return [], []
        found = self._middle.feed(caught, len(self._finder.states))
        return self._settle(*found, caught.segments.keys)

    def _settle(
        self, leaving: Int64s, refused: Int64s, keys: Sequence[Key]
    ) -> tuple[list[Segments], list[Key]]:
        """The same, of connections that are not kept any more."""
        states = self._finder.states
        states[leaving], states[refused] = WANTED, LEFT
        for part in self._middle.taken(refused):
            self._take_back(part)
        parts = [part.segments for part in self._middle.taken(leaving)]
        return parts, [keys[number] for number in refused.tolist()]

    def _take_back(self, refused: _WaitingSegments) -> None:
        """Segments that were handed over and are nobody's."""
        sizes = refused.segments.facts >> WIRE_SHIFT
        self._account.take_back(refused.ends, sizes)

    def _hand_over(self, ends: Int64s, sizes: Int64s) -> None:
        if len(ends):
            self._account.hand_over(ends, sizes)

    def _forced(self, numbers: Int64s) -> Bools:
        """Connections whose system is known before their first byte."""
        forced = np.zeros(len(numbers), np.bool_)
        if len(self._ports):
            for ports in self._finder.ports(numbers):
                forced |= np.isin(ports, self._ports)
        if self._carriers or self._placed:
            keys = [self._finder.keys[one] for one in numbers.tolist()]
            named = (
                key in self._carriers or self._placed.of(ends_of(key[1])) is not None
                for key in keys
            )
            forced |= np.fromiter(named, np.bool_, len(keys))
        return forced


class _Fates:
    """What the segments of fresh connections say together. Arrays are by connection, unless they
    are by place: an order by connection, then by capture.

    Attributes:
        numbers: of the connections.
        group: connection of each place.
        waiting: nothing speaks against it, and no byte has come.
        ends: it ends before any byte.
    """

    def __init__(self, segments: Segments, held: int) -> None:
        numbers, flow = grouped(segments.flow)
        order = np.argsort(flow, kind="stable")
        self._segments = segments
        self._order = order
        self.numbers = numbers
        self.group = group = flow[order]
        count = len(numbers)
        starts = np.searchsorted(group, np.arange(count))
        places = np.arange(len(group))
        none = len(group)
        flags, length, direction, seq, at_ns = (
            column[order]
            for column in (
                segments.flags, segments.length, segments.direction, segments.seq, segments.at_ns,
            )
        )  # fmt: skip
        syn = flags & SYN > 0
        deciding = (length > 0) | (flags & RST > 0)
        fin = flags & FIN > 0
        first = np.minimum.reduceat(np.where(deciding, places, none), starts)
        closed = np.zeros(count, np.int64)  # where both have ended
        for one in (0, 1):
            mine = direction == one
            ends = np.minimum.reduceat(np.where(fin & mine & ~syn, places, none), starts)
            opened = np.minimum.reduceat(np.where(syn & mine, places, none), starts) < ends
            closed = np.maximum(closed, np.where(opened, ends, none))
        closes = closed < first
        first = np.minimum(first, closed)
        before = places < first[group]
        # SYNs before it: of each direction the same, a bare one in front
        bare = syn & (flags & ACK == 0)
        good = ~np.logical_or.reduceat(bare & ~before, starts)
        good &= ~np.logical_or.reduceat(syn & fin, starts)
        seqs = []
        for one in (0, 1):
            mine = before & syn & (direction == one)
            low = np.minimum.reduceat(np.where(mine, seq, MASK + 1), starts)
            high = np.maximum.reduceat(np.where(mine, seq, -1), starts)
            good &= (high < 0) | (low == high)
            seqs.append(high)
        opening = before & bare
        answering = before & syn & ~bare
        by = [
            [np.logical_or.reduceat(kind & (direction == one), starts) for one in (0, 1)]
            for kind in (opening, answering)
        ]
        for one in (0, 1):
            good &= ~(by[0][one] & (by[0][1 - one] | by[1][one]))
        self._opens = opens = by[0][0] | by[0][1]
        self._begins = opens & (by[1][0] | by[1][1])
        first_syn = np.minimum.reduceat(np.where(before & syn, places, none), starts)
        good &= ~opens | bare[np.minimum(first_syn, none - 1)]
        self.waiting = good & (first == none)
        self.middle = ~np.logical_or.reduceat(syn, starts) & (first < none)
        # the deciding segment
        self._decides = good & (first < none)
        at = np.minimum(first, none - 1)
        other = 1 - direction[at]
        spoke = np.maximum.reduceat(
            np.where(before & (direction == other[group]), places, -1), starts
        )
        silent = (spoke >= 0) & (at_ns[at] - at_ns[np.maximum(spoke, 0)] > SILENT_NS)
        begun = np.where(direction[at] == 0, seqs[0], seqs[1])
        follows = (begun >= 0) & ((begun + 1) & MASK == seq[at])
        reset = flags[at] & RST > 0
        self.ends = self._decides & (closes | reset) & ~syn[at]
        speaks = self._decides & ~self.ends & ~syn[at] & follows & ~silent
        speaks &= ~np.logical_or.reduceat(before & fin, starts)
        row = order[at]
        self._speaks = speaks & (segments.stop[row] > segments.start[row])
        self._row = row
        assert not np.any(self._speaks & (row < held)), "what is held has no bytes"

    def refused(self, systems: Sequence[StreamSystem], *, unopened: bool) -> Bools:
        """Connections that are nobody's.

        Args:
            unopened: also those of which a SYN did not come.
        """
        speaking = np.flatnonzero(self._speaks & (unopened | self._begins))
        refused = self.ends & (unopened | self._opens)
        if len(speaking):
            segments, row = self._segments, self._row[speaking]
            heads = Heads.of(segments.data, segments.start[row], segments.stop[row])
            # by damaged bytes nothing is refused: what comes of it ``flows`` counts
            by_all = segments.facts[row] >> MARK_SHIFT & MARK_MASK != WRONG
            for system in systems:
                by_all &= system.refuses(heads)
            refused[speaking] = by_all
        return refused


class _Middle:
    """Connections caught in the middle, as long as all goes on: in each part segments of some time,
    by connection and direction, with bytes of their own."""

    def __init__(self, systems: Sequence[StreamSystem], *, compile_it: bool) -> None:
        self._systems = systems
        self._look = TraceSearch(systems, compile_it=compile_it)
        self._parts: list[_WaitingSegments] = []
        self._states = np.zeros((4, 0), np.int64)  # as ``Links`` has them, by connection
        self._bytes = self._enough = np.zeros(0, np.int64)

    def feed(self, held: _WaitingSegments, count: int) -> tuple[Int64s, Int64s]:
        """More segments: connections that are to be followed, and those that are nobody's.

        Args:
            count: how many connections have numbers.
        """
        more = count - len(self._bytes)
        fresh = np.repeat(np.array([[NONE], [NONE], [NEVER], [NEVER]]), more, axis=1)
        self._states = np.append(self._states, fresh, axis=1)
        self._bytes = np.append(self._bytes, np.zeros(more, np.int64))
        self._enough = np.append(self._enough, np.full(more, MIDDLE_LOOK))
        segments = held.segments
        numbers, flow = grouped(segments.flow)
        order = np.argsort(flow, kind="stable")
        starts: list[int] = np.searchsorted(flow[order], np.arange(len(numbers) + 1)).tolist()
        states = self._states[:, numbers]
        links = Links(segments, order, flow[order], starts, states, anywhere=True)
        odd = np.logical_or.reduceat(links.odd, starts[:-1])
        self._states[:2, numbers] = links.behind(starts)
        self._bytes[numbers] += np.add.reduceat(segments.length[order], starts[:-1])
        sort = np.argsort(_sides(segments), kind="stable")
        self._parts.append(_WaitingSegments(segments.take(sort).copied(), held.ends[sort]))
        full = ~odd & (self._bytes >= self._enough)[numbers]
        leaving, refused = self._judged(numbers[full])
        self._enough[numbers[full]] *= 2
        if sum(len(part.segments.data) for part in self._parts) > MIDDLE_TOTAL:
            eldest = distinct(self._parts[0].segments.flow)
            eldest = eldest[~np.isin(eldest, numbers[odd])]
            few = self._bytes[eldest] < MIDDLE_BYTES  # of these more bytes may tell
            ours, others = self._judged(eldest[~few], final=True)
            leaving = _both(leaving, np.append(eldest[few], ours))
            refused = _both(refused, others)
        return _both(leaving, numbers[odd]), refused

    def finish(self, few: int) -> tuple[Int64s, Int64s]:
        """As ``feed``, of all; those of fewer bytes are followed."""
        numbers = np.flatnonzero(self._bytes)
        enough = self._bytes[numbers] >= few
        leaving, refused = self._judged(numbers[enough], final=True)
        return _both(leaving, numbers[~enough]), refused

    def taken(self, numbers: Int64s) -> list[_WaitingSegments]:
        """The segments of some connections, which are not kept any more."""
        gone = np.zeros(len(self._bytes), np.bool_)
        gone[numbers] = True
        found: list[_WaitingSegments] = []
        left: list[_WaitingSegments] = []
        for part in self._parts:
            here = gone[part.segments.flow]
            for some, into in ((here, found), (~here, left)):
                if some.all():
                    into.append(part)
                elif some.any():
                    into.append(part.take(np.flatnonzero(some)))
        self._parts = left
        self._states[:, numbers] = np.array([[NONE], [NONE], [NEVER], [NEVER]])
        self._bytes[numbers], self._enough[numbers] = 0, MIDDLE_LOOK
        return [part.take(np.argsort(part.segments.frame, kind="stable")) for part in found]

    def renumbered(self) -> list[_WaitingSegments]:
        """All of them: connections get other numbers from now on."""
        found = self.taken(np.arange(len(self._bytes)))
        self._states, self._bytes, self._enough = np.zeros((4, 0), np.int64), _NONE, _NONE
        return found

    def _judged(self, numbers: Int64s, *, final: bool = False) -> tuple[Int64s, Int64s]:
        """Of some connections those that are some system's, or likely to be, and nobody's.

        Args:
            final: no more bytes will come, so these have to be enough.
        """
        groups = np.cumsum(self._bytes[numbers]) // LOOK_TOGETHER
        parts = np.split(numbers, np.flatnonzero(np.diff(groups)) + 1)
        verdicts = np.concatenate([self._verdicts(part) for part in parts])
        nobody = verdicts <= (Match.UNDECIDED if final else Match.NO)
        nobody |= (verdicts == Match.UNDECIDED) & (self._bytes[numbers] > 2 * UNDECIDED_BYTES)
        return numbers[verdicts > Match.UNDECIDED], numbers[nobody]

    def _verdicts(self, numbers: Int64s) -> Int64s:
        """What the systems say of the bytes of connections, each direction by itself."""
        data, stops = self._bytes_of((numbers[:, None] << 1 | np.arange(2)).reshape(-1))
        starts = np.append(np.zeros(1, np.int64), stops[:-1])
        spoke = np.flatnonzero(stops > starts)
        asked = np.zeros(len(stops), np.bool_)
        asked[spoke] = self._look.finds(data, starts[spoke], stops[spoke])
        few = (stops > starts) & (stops - starts < self._look.searched)
        verdicts = np.where(few.reshape(-1, 2).any(axis=1), Match.UNDECIDED, Match.NO)
        for place in np.flatnonzero(asked.reshape(-1, 2).any(axis=1)).tolist():
            prefixes = [
                ((direction, 0), data[starts[side] : stops[side]], False)
                for direction, side in enumerate((2 * place, 2 * place + 1))
                if stops[side] > starts[side]
            ]
            verdicts[place] = choose(self._systems, prefixes, set())[0]
        return verdicts

    def _bytes_of(self, sides: Int64s) -> tuple[bytes, Int64s]:
        """The bytes of directions, end to end, and where each one's stop."""
        found: list[list[memoryview]] = [[] for _ in sides]
        sizes = np.zeros(len(sides), np.int64)
        for part in self._parts:
            segments = part.segments
            own = _sides(segments)
            low, high = np.searchsorted(own, sides), np.searchsorted(own, sides, "right")
            here = np.flatnonzero(low < high)
            first, stop = segments.start[low[here]], segments.stop[high[here] - 1]
            sizes[here] += stop - first
            view = memoryview(segments.data)
            for place, begin, end in zip(here.tolist(), first.tolist(), stop.tolist(), strict=True):
                found[place].append(view[begin:end])
        return b"".join(chain.from_iterable(found)), np.cumsum(sizes)


_NONE: Final = np.zeros(0, np.int64)


def _both(some: Int64s, more: Int64s) -> Int64s:
    """The numbers in either, in order."""
    return distinct(np.concatenate((some, more)))


def _sides(segments: Segments) -> Int64s:
    """A number for each connection and direction."""
    return segments.flow << 1 | segments.direction


def _joined(one: Segments, other: Segments) -> Segments:
    """Segments without payload, and those behind them with the bytes of theirs."""
    columns = zip(one.columns(), other.columns(), strict=True)
    return Segments(other.keys, other.data, *(np.concatenate(pair) for pair in columns))


def _without_bytes(segments: Segments) -> Segments:
    columns = {name: getattr(segments, name) for name in COLUMNS}
    columns |= dict.fromkeys(("start", "stop"), np.zeros(segments.count, np.int64))
    return Segments(segments.keys, b"", **columns)
