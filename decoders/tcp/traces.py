"""Traces: what a system's stream shows somewhere, wherever the capture begins in it.

Most directions that were caught in the middle are of others, and asking each system about each of
them costs half a millisecond. So all directions of a chunk are looked at in one call of a kernel
first, by tables that the systems supply; only where a trace is are they asked. What they say
without one is known: NO, or UNDECIDED of fewer bytes than ``searched``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.kernels.loader import Int64s, argument, data_argument, is_kept, kernel
from seqaudit.decoders.tcp import trace_kernels as wire

_FILE: Final = "tcp.trace_kernels"
#: Directions from which on compiling the kernel is worth it: it takes as long as asking about them.
PATIENCE: Final = 500
_ROOM: Final = 4_096


@dataclass(frozen=True, slots=True)
class BytePattern:
    """Bytes at some distances: of each what it may be.

    Attributes:
        anchor: the place of one that is rare together with the one behind it.
        size: at least so many bytes have to be there.
    """

    may_be: Mapping[int, Collection[int]]
    anchor: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class LengthChain:
    """Lengths that lead from one to the next, little endian and below 64 KiB.

    Attributes:
        width: bytes of each.
        times: how many.
        within: first bytes of a direction that all of it has to be in.
        begins: what a byte behind a length may be.
        reads: whether what they lead along is the system's: of bytes, a place in them, the width.
    """

    width: int
    times: int
    within: int
    begins: Collection[int]
    reads: Callable[[bytes, int, int], bool]


@dataclass(frozen=True, slots=True)
class Traces:
    """Of a system: without any of them, and with first bytes that it refuses, it recognises
    nothing.

    Attributes:
        searched: a direction with so many bytes is not the system's then.
    """

    searched: int
    marks: Sequence[BytePattern] = ()
    lengths: Sequence[LengthChain] = ()


#: First bytes of a direction that ``StreamSystem.refuses`` looks at.
HEAD_BYTES: Final = 16


@dataclass(slots=True)
class Heads:
    """The first captured bytes of several directions, each from the first byte of the stream.

    Attributes:
        raw: (count, HEAD_BYTES) uint8, 0 where there are fewer.
        sizes: (count,) how many there are, all of them counted.
    """

    raw: npt.NDArray[np.uint8]
    sizes: Int64s

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview, start: Int64s, stop: Int64s) -> Heads:
        """The bytes of ``data`` at [start, stop)."""
        raw = np.frombuffer(data, np.uint8)
        places = start[:, None] + np.arange(HEAD_BYTES)
        there = places < stop[:, None]
        found = np.where(there, raw[np.minimum(places, len(raw) - 1)], 0)
        return cls(found.astype(np.uint8, copy=False), stop - start)

    def begin_like(self, text: bytes) -> npt.NDArray[np.bool_]:
        """Whether what there is of the first ``len(text)`` bytes is what ``text`` begins with."""
        wanted = np.frombuffer(text, np.uint8)
        beyond = np.arange(len(text)) >= self.sizes[:, None]
        alike: npt.NDArray[np.bool_] = ((self.raw[:, : len(text)] == wanted) | beyond).all(axis=1)
        return alike

    def number(self, offset: int, size: int) -> Int64s:
        """A big-endian number; 0 for what is not there."""
        found = np.zeros(len(self.sizes), np.int64)
        for place in range(offset, offset + size):
            found = found << 8 | self.raw[:, place]
        return found


class Traced(Protocol):
    """As much of a ``StreamSystem`` as is needed here."""

    @property
    def traces(self) -> Traces: ...

    def refuses(self, heads: Heads) -> npt.NDArray[np.bool_]: ...


class TraceSearch:
    """One look for the traces of all systems."""

    def __init__(self, systems: Sequence[Traced], *, compile_it: bool) -> None:
        self._systems = systems
        self._compile_it = compile_it
        self._patience = PATIENCE
        self._marks = [mark for system in systems for mark in system.traces.marks]
        self._lengths = [row for system in systems for row in system.traces.lengths]

    @property
    def searched(self) -> int:
        """Bytes of a direction without a trace that make it nobody's."""
        return max((system.traces.searched for system in self._systems), default=0)

    def finds(self, data: bytes, starts: Int64s, stops: Int64s) -> npt.NDArray[np.bool_]:
        """Of directions with the bytes [start, stop) of ``data``, each of which was caught in the
        middle: whether any system has to be asked. True of all, where that is not worth a look."""
        found = np.ones(len(starts), np.bool_)
        if not self._compile_it or not len(starts):
            return found
        self._patience -= len(starts)
        if self._patience > 0 and not is_kept(_FILE):
            return found
        heads = Heads.of(data, starts, stops)
        refused = [system.refuses(heads) for system in self._systems]
        found = ~np.logical_and.reduce(refused) if refused else ~found
        told = self._traced(data, starts, stops)
        marks = len(self._marks)
        lead = [each for each in told if each[1] >= marks and each[2] != wire.ANYWHERE]
        found[[each[0] for each in told if each[1] < marks or each[2] == wire.ANYWHERE]] = True
        for direction, row, place in lead:
            if not found[direction]:
                lengths, start = self._lengths[row - marks], int(starts[direction])
                seen = data[start : min(int(stops[direction]), start + lengths.within)]
                found[direction] = lengths.reads(seen, place - start, lengths.width)
        return found

    def _traced(self, data: bytes, starts: Int64s, stops: Int64s) -> list[list[int]]:
        """Traces: direction, row and place."""
        found: list[list[int]] = []
        module = kernel(_FILE, compile_it=True)
        out = np.empty(wire.TOLD * _ROOM, np.int64)
        begin, count = 0, len(starts)
        raw = data_argument(data, compile_it=True)
        arrays = [argument(one, compile_it=True) for one in (starts, stops)]
        table = argument(self.table, compile_it=True)
        while begin < count:
            begin, told = module.look(raw, *arrays, begin, count, table, out, _ROOM)
            found += out[: wire.TOLD * told].reshape(-1, wire.TOLD).tolist()
        return found

    @cached_property
    def table(self) -> Int64s:
        """Of the kernel: the traces of all systems."""
        marks, lengths = self._marks, self._lengths
        size = wire.ROWS + len(marks) * wire.MARK + len(lengths) * wire.LENGTH
        table = np.zeros(size, np.int64)
        table[wire.MARKS], table[wire.LENGTHS] = len(marks), len(lengths)
        fulfils = table[wire.FULFILS : wire.MARKS]
        bits: dict[frozenset[int], int] = {}

        def bit(values: Collection[int]) -> int:
            own = bits.setdefault(frozenset(values), 1 << len(bits))
            fulfils[list(values)] |= own
            return own

        at = wire.ROWS
        for number, mark in enumerate(marks):
            row = table[at : at + wire.MARK]
            first, second = row[wire.FIRST], row[wire.SECOND] = 1 << 2 * number, 2 << 2 * number
            row[wire.ANCHOR] = mark.anchor
            row[wire.SIZE] = max(mark.size, max(mark.may_be) + 1)
            row[wire.CONDITIONS] = len(mark.may_be)
            pairs = [word for place, values in mark.may_be.items() for word in (place, bit(values))]
            assert len(pairs) <= 2 * wire.MOST_CONDITIONS
            row[wire.PAIRS : wire.PAIRS + len(pairs)] = pairs
            own, following = (list(mark.may_be[mark.anchor + n]) for n in (0, 1))
            by_byte = table[: wire.FULFILS].reshape(3, 256)  # ANCHORS, BEFORE, BEHIND
            by_byte[0, own] |= first
            by_byte[0, following] |= second
            by_byte[1, own] |= second
            by_byte[2, following] |= first
            at += wire.MARK
        for one in lengths:
            table[at : at + wire.LENGTH] = (one.width, one.times, one.within, bit(one.begins))
            at += wire.LENGTH
        assert max(len(bits), 2 * len(marks)) < 63
        return table
