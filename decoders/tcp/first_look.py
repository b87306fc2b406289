"""A first look at TCP connections by columns: most are of others, and their first bytes show it
(decoders/README.md 3).

A connection whose begin was captured is nobody's once every system has refused the first bytes that
either side sends; ``flows`` would say so as well, a Python object a connection. Here those of a
chunk are looked at together. One whose handshake is in one chunk and whose first bytes are in the
next is *held*: its segments, none of which has payload, wait here. What is not plainly refused goes
on to ``flows`` from its first segment on, and what comes of it there is the same.

Plainly refused: SYNs of either side that repeat themselves at most, then bytes that follow the SYN
of their direction, before which the other side was not silent for long (``connection``), and which
every system refuses; or an end (a RST, both FINs) before any bytes. No second connection begins
there within the chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.contract.event_columns import grouped
from seqaudit.decoders.contract.settings import DecodeSettings
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.account import Account
from seqaudit.decoders.network.packets import Packets
from seqaudit.decoders.tcp.connection import SILENT_NS
from seqaudit.decoders.tcp.flows import Placed
from seqaudit.decoders.tcp.framing import Heads, StreamSystem
from seqaudit.decoders.tcp.segments import (
    COLUMNS,
    FRESH,
    LEFT,
    WANTED,
    WIRE_SHIFT,
    Key,
    SegmentFinder,
    Segments,
    ends_of,
)
from seqaudit.decoders.tcp.wire import ACK, FIN, MASK, RST, SYN

#: Segments that are held at most: of half-open connections there may be any number.
HELD: Final = 1 << 16

Bools = npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Held:
    """Segments that wait, without payload; ``ends``: the kernel's number of each one's end."""

    segments: Segments
    ends: Int64s


class FirstLook:
    """Parts the segments of a piece into those of others and those that have to be followed.

    Args:
        account: of the piece; what is followed is handed over.
        finder: whose numbers of connections and ``states`` these are.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        systems: Mapping[str, StreamSystem],
        account: Account,
        finder: SegmentFinder,
    ) -> None:
        self._systems = [one for name, one in systems.items() if name not in settings.no_decode]
        self._ports = np.array(
            [port for transport, port, _ in settings.decode_as if transport == "tcp"], np.int64
        )
        self._placed = Placed(settings, systems)
        self._carriers = settings.carriers
        self._account = account
        self._finder = finder
        self._held: _Held | None = None

    def feed(
        self, packets: Packets, segments: Segments, rows: Int64s
    ) -> tuple[list[Segments], Iterable[Key]]:
        """Segments to be followed, in order, and connections that were refused, as their keys are
        asked for.

        Args:
            rows: of ``packets`` that these segments are.
        """
        ends = packets.columns[k.FLOW][rows]
        states = self._finder.states
        fresh = np.flatnonzero(states[segments.flow] == FRESH)
        if not len(fresh):
            self._hand_over(ends, packets.record_column("original")[rows])
            return [segments], []
        candidates = segments.take(fresh)
        held = self._held
        if held is not None and not held.segments.count:
            held = None
        self._held = None
        together = candidates if held is None else _joined(held.segments, candidates)
        fates = _Fates(together, 0 if held is None else held.segments.count)
        refused = fates.refused(self._systems) & ~self._forced(fates.numbers)
        waiting = fates.waiting & ~self._forced(fates.numbers)
        if np.count_nonzero(waiting[fates.group]) > HELD:
            waiting[:] = False
        states[fates.numbers] = np.where(refused, LEFT, np.where(waiting, FRESH, WANTED))
        out = self._divided(segments, ends, held, fates, refused, waiting)
        return out, (segments.keys[number] for number in fates.numbers[refused].tolist())

    def renumbered(self) -> list[Segments]:
        """Connections get other numbers from now on, or nothing follows: what is held goes on."""
        held, self._held = self._held, None
        if held is None or not held.segments.count:
            return []
        self._finder.states[held.segments.flow] = WANTED
        return [held.segments]

    def _divided(
        self,
        segments: Segments,
        ends: Int64s,
        held: _Held | None,
        fates: _Fates,
        refused: Bools,
        waiting: Bools,
    ) -> list[Segments]:
        """What goes on. What waits is kept, and what is refused stays the account's own."""
        fate = np.zeros(len(self._finder.states), np.int8)
        fate[fates.numbers[refused]] = 1
        fate[fates.numbers[waiting]] = 2
        now = fate[segments.flow]
        handed = np.flatnonzero(now != 1)
        self._hand_over(ends[handed], segments.facts[handed] >> WIRE_SHIFT)
        out = []
        waits = np.flatnonzero(now == 2)
        kept, kept_ends = segments.take(waits), ends[waits]
        if held is not None:
            before = fate[held.segments.flow]
            back = np.flatnonzero(before == 1)
            if len(back):
                sizes = held.segments.facts[back] >> WIRE_SHIFT
                self._account.hand_over(held.ends[back], sizes, back=True)
            on = np.flatnonzero(before == 0)
            if len(on):
                out.append(held.segments.take(on))
            still = np.flatnonzero(before == 2)
            kept = _joined(held.segments.take(still), kept)
            kept_ends = np.append(held.ends[still], kept_ends)
        if kept.count:
            self._held = _Held(_without_bytes(kept), kept_ends)
        on = np.flatnonzero(now == 0)
        if len(on):
            out.append(segments if len(on) == segments.count else segments.take(on))
        return out

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
        opens = by[0][0] | by[0][1]
        first_syn = np.minimum.reduceat(np.where(before & syn, places, none), starts)
        good &= ~opens | bare[np.minimum(first_syn, none - 1)]
        self.waiting = good & (first == none)
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
        self._ends = self._decides & (closes | reset) & ~syn[at]
        speaks = self._decides & ~self._ends & ~syn[at] & follows & ~silent
        speaks &= ~np.logical_or.reduceat(before & fin, starts)
        row = order[at]
        self._speaks = speaks & (segments.stop[row] > segments.start[row])
        self._row = row
        assert not np.any(self._speaks & (row < held)), "what is held has no bytes"

    def refused(self, systems: Sequence[StreamSystem]) -> Bools:
        """Connections that are nobody's."""
        speaking = np.flatnonzero(self._speaks)
        refused = self._ends.copy()
        if len(speaking):
            segments, row = self._segments, self._row[speaking]
            heads = Heads.of(segments.data, segments.start[row], segments.stop[row])
            by_all = np.ones(len(speaking), np.bool_)
            for system in systems:
                by_all &= system.refuses(heads)
            refused[speaking] = by_all
        return refused


def _joined(one: Segments, other: Segments) -> Segments:
    """Segments without payload, and those behind them with the bytes of theirs."""
    columns = zip(one.columns(), other.columns(), strict=True)
    return Segments(other.keys, other.data, *(np.concatenate(pair) for pair in columns))


def _without_bytes(segments: Segments) -> Segments:
    columns = {name: getattr(segments, name) for name in COLUMNS}
    columns |= dict.fromkeys(("start", "stop"), np.zeros(segments.count, np.int64))
    return Segments(segments.keys, b"", **columns)
