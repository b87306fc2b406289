"""Records put in order across the borders of chunks and of pieces (replay/README.md 3).

A piece also reads what stands before and behind it in its section of its file, and in the files
before and behind of a capture that was written in turns. All of it is put in order together, and
the piece has those places that its own records have in the file: a record that belongs before the
border is decoded by the piece before, which reads it as well. So the order does not depend on where
a capture is cut. Some megabytes are held, not more: where a record belongs further back than that,
it is named as one that was not put in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.order import COLUMNS, Arrangement, PieceOrder, arrangement, filled

#: The last bytes that were read are not handed on: what comes may belong before them.
HELD_BYTES: Final = 1 << 20
#: So much of what was handed on is kept: it tells whether what comes is late.
KNOWN_BYTES: Final = 1 << 20
#: What is read before some of it is handed on, and what a record waits for at most.
TAKEN_BYTES: Final = 6 << 20
MOST_BYTES: Final = 16 << 20
#: Read behind a piece; what is read before it is what duplicates are sought in.
AHEAD_BYTES: Final = 2 << 20


def every_row(chunks: Iterable[Records]) -> Iterator[tuple[Records, Int64s]]:
    """Chunks of which all rows are taken."""
    return ((records, np.arange(records.count)) for records in chunks)


def in_order(chunks: Iterable[tuple[Records, Int64s]], order: PieceOrder) -> Iterator[Records]:
    """The records of a piece in the order of their times.

    Args:
        chunks: the piece's own, and before and behind them others with frame 0, and which rows of
            each are taken: others keep their numbers, of which nothing is handed on.
        order: is told what was out of order.
    """
    order.overlapping = True
    held = _RecentRecords(order)
    section: int | None = None
    for chunk, rows in chunks:
        if not chunk.count:
            continue
        if chunk.section != section and section is not None:
            yield from held.handed_on(at_end=True)
        section = chunk.section
        held.take(chunk, rows)
        if held.bytes_taken > TAKEN_BYTES:
            yield from held.handed_on()
    yield from held.handed_on(at_end=True)


class _RecentRecords:
    """Records that were read and are needed yet, in the order of the file.

    Records are numbered from 0, from the first that was read before the piece, with those that are
    not taken.

    Attributes:
        bytes_taken: read since some were handed on.
    """

    def __init__(self, order: PieceOrder) -> None:
        self.bytes_taken = 0
        self._begun_at: int | None = None  # where in the file that began
        self._order = order
        self._parts: list[Records] = []
        self._numbers = np.zeros(0, np.int64)  # of their rows
        self._done = np.zeros(0, np.bool_)  # which of them were handed on; others follow
        self._handed = 0  # how many of those were
        self._read = 0  # number of the next that is read
        self._counted = 0  # number of the next that was not counted
        self._before: int | None = None  # records before the piece; null: its own have not begun
        self._own = 0

    def take(self, chunk: Records, rows: Int64s) -> None:
        """The next records of the file, and which rows of them are taken."""
        if chunk.frame[0] > 0:
            if self._before is None:
                self._before = self._read
            self._own += chunk.count
        if len(rows):
            self._numbers = np.concatenate([self._numbers, self._read + rows])
            taken = chunk.only(rows)
            if self._begun_at is None:
                self._begun_at = int(taken.offset[0])
            self.bytes_taken = int(taken.offset[-1]) - self._begun_at
            self._parts.append(_copied(taken))
        self._read += chunk.count

    def handed_on(self, *, at_end: bool = False) -> Iterator[Records]:
        """Records whose places are certain.

        Args:
            at_end: nothing follows in this section.
        """
        self.bytes_taken, self._begun_at = 0, None
        if not self._parts:
            return
        records = _joined(self._parts)
        done = np.pad(self._done, (0, records.count - len(self._done)))
        found = arrangement(records, filled(records))
        waiting = found.order[~done[found.order]]
        settled = records.count if at_end else self._settled(records)
        self._count(records, found, waiting, settled)
        rows = waiting[: self._certain(records.offset[waiting], settled, records)]
        self._note_torn(found, done, rows)
        yield from self._placed(records, rows)
        done[rows] = True
        left = np.flatnonzero(~done)
        if at_end or not len(left):
            kept = records.count if at_end else self._known(records, records.count - 1)
        else:
            kept = self._known(records, int(left[0]))
        self._parts = [_from(records, kept)] if kept < records.count else []
        self._done, self._numbers = done[kept:], self._numbers[kept:]
        self._handed = int(np.count_nonzero(self._done))

    def _settled(self, records: Records) -> int:
        """The first row of those that are read yet again with what follows."""
        return int(np.searchsorted(records.offset, records.offset[-1] - HELD_BYTES))

    def _known(self, records: Records, row: int) -> int:
        """The first row that is kept, as it tells something of this one and what follows."""
        first = int(np.searchsorted(records.offset, records.offset[row] - KNOWN_BYTES))
        return min(first, row)

    @staticmethod
    def _certain(offsets: Int64s, settled: int, records: Records) -> int:
        """How many of those that wait, in their order, are handed on."""
        if settled == records.count:
            return len(offsets)
        fresh = np.flatnonzero(offsets >= records.offset[settled])
        certain = int(fresh[0]) if len(fresh) else len(offsets)
        overdue = np.flatnonzero(offsets < records.offset[-1] - MOST_BYTES)
        return max(certain, int(overdue[-1]) + 1 if len(overdue) else 0)

    def _number(self, row: int) -> int:
        """The piece's number of a record; below 1 before it."""
        return int(self._numbers[row]) - (self._before or 0) + 1

    def _note_torn(self, found: Arrangement, done: np.ndarray, rows: Int64s) -> None:
        """Name the piece's records that belong before what was handed on."""
        if not done.any() or not len(rows):
            return
        place = np.empty(len(found.order), np.int64)
        place[found.order] = np.arange(len(found.order))
        for row in rows[place[rows] < place[: len(done)][done].max()].tolist():
            number = self._number(row)
            if self._before is not None and 1 <= number <= self._own:
                self._order.tears(number)

    def _count(self, records: Records, found: Arrangement, waiting: Int64s, settled: int) -> None:
        """Tell ``order`` of the piece's own rows up to one, each once."""
        if self._before is None:
            return
        own = max(self._counted, self._before), self._before + self._own
        first, stop = map(int, np.searchsorted(self._numbers, own))
        stop = min(settled, stop)
        if stop <= first:
            return
        self._counted = int(self._numbers[stop - 1]) + 1
        times = filled(records)
        order = self._order
        order.begins(int(times[first]), int(times[first]))
        within = (found.late >= first) & (found.late < stop)
        if within.any() and not order.late:
            row = int(found.late[within][0])
            order.first_late = self._number_of(waiting, row)
            order.first_late_ns = int(times[row])
        order.count(found.by_ns[within])
        for row, step in found.steps:
            if first <= row < stop:
                order.stepped(step)
        for row in found.guessed:
            if first <= row < stop:
                order.guess(self._number_of(waiting, row), self._number(row))
        border = max((row for row in found.borders if first <= row < stop), default=first)
        high = int(times[border:stop].max())
        if border == first and first not in found.borders and order.high_ns is not None:
            high = max(high, order.high_ns)
        order.high_ns = high

    def _number_of(self, waiting: Int64s, row: int) -> int:
        """The piece's number of where a row is put; of one that could not wait, where it stood."""
        place = np.flatnonzero(waiting == row)
        return self._number(self._handed + int(place[0]) if len(place) else row)

    def _placed(self, records: Records, rows: Int64s) -> Iterator[Records]:
        """Rows in their order, with their places as frames; none of those behind the piece."""
        stop = self._handed + len(rows)
        frames = records.frame[self._handed : stop]
        places = self._numbers[self._handed : stop]
        self._handed = stop
        own = frames > 0
        elsewhere = np.flatnonzero(own & (places != self._numbers[rows]))
        if len(elsewhere):
            shift = 1 - (self._before or 0)
            self._order.move(frames[elsewhere], self._numbers[rows[elsewhere]] + shift)
        before = ~own & (self._before is None or places < self._before)
        if before.any():
            yield _picked(records, rows[before], np.zeros(int(before.sum()), np.int64))
        if own.any():
            yield _picked(records, rows[own], frames[own])


def _copied(chunk: Records) -> Records:
    """A chunk that holds when the next one is read, without what is not of its records."""
    low = int(chunk.start.min())
    high = int((chunk.start + chunk.captured).max())
    columns = {name: getattr(chunk, name).copy() for name in COLUMNS}
    columns["start"] -= low
    data = bytes(chunk.data[low:high])
    return replace(chunk, data=data, frame=chunk.frame.copy(), **columns)


def _joined(parts: Sequence[Records]) -> Records:
    """Parts of one section as one."""
    if len(parts) == 1:
        return parts[0]
    shifts = np.cumsum([0, *(len(part.data) for part in parts[:-1])])
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*COLUMNS, "frame")
        if name != "start"
    }
    start = np.concatenate([part.start + shift for part, shift in zip(parts, shifts, strict=True)])
    return Records(
        b"".join(part.data for part in parts),
        len(start),
        parts[0].section,
        start=start,
        plain=all(part.plain for part in parts),
        **columns,
    )


def _from(records: Records, row: int) -> Records:
    """The rows from one on, with no more data than they need."""
    rest = np.arange(row, records.count)
    return _copied(_picked(records, rest, records.frame[rest]))


def _picked(records: Records, rows: Int64s, frames: Int64s) -> Records:
    return replace(records.taken(rows), frame=frames)
