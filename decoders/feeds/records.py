"""How many data records an IPFIX message holds (RFC 7011): its numbers count them.

A message is *sets* behind a header of 16 bytes. A set of data has records one after the other, laid
out by a *template* that came before in a set of templates of the same session: the same ends and
observation domain. So what a message takes of the numbers is known of messages behind their
templates only; a piece of a capture is told the templates that pieces before it saw
(``DecodeSettings.templates``).

All messages of a chunk are walked together, set by set, and records of variable size record by
record; only templates are read one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from seqaudit.decoders.contract.templates import ExportSession, Template, Widths
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.packets import Datagrams

VERSION: Final = 10
HEADER: Final = 16
SET_HEADER: Final = 4
#: Identifiers of sets (RFC 7011 3.3.2): templates, templates of options, and from here on data.
TEMPLATES: Final = 2
OPTIONS: Final = 3
DATA: Final = 256
#: A field's width that its value says (7).
VARIABLE: Final = 65_535
OF_VARIABLE: Final = -1

#: Sets of one message that are walked, of more it is none; records of one set of variable ones.
MOST_SETS: Final = 512
MOST_RECORDS: Final = 8_192
#: Templates that are kept; what further ones lay out is unknown.
MOST_TEMPLATES: Final = 1 << 16

#: Zeros behind the last record of a set fill it up to a multiple of 4 or 8 (3.3.1); MikroTik fills
#: up to 4 with whatever there is. What else is left says that the records are of another template,
#: which is not in the capture.
MOST_PADDING: Final = 7
ALIGNMENT: Final = 4

#: Instead of how many records there are: a template is not known, or it is no message.
UNKNOWN: Final = -1
BROKEN: Final = -2

#: Bits of a set's place in a chunk.
_PLACE_BITS: Final = 32


class _Sets(NamedTuple):
    """Sets of several messages in the order in which they stand. Columns are (count,) int64."""

    message: Int64s  # row of it
    number: Int64s
    start: Int64s  # of what is behind the header
    stop: Int64s


class RecordCounter:
    """Counts the records of messages of one piece, in capture order.

    Args:
        known: templates that came before.
    """

    def __init__(self, known: Iterable[Template] = ()) -> None:
        self._layouts: dict[Widths, int] = {(): 0}  # numbered in this order; 0: unknown
        self._laid_out: dict[tuple[ExportSession, int], int] = {}
        self._said: dict[tuple[ExportSession, int], int] = {}  # of these, what this piece has
        for template in known:
            self._learn(*template)
        self._said.clear()

    def templates(self) -> Iterator[Template]:
        """What was said in this piece, the last of each."""
        widths = list(self._layouts)
        for (session, number), layout in self._said.items():
            yield Template(session, number, widths[layout])

    def counts(self, datagrams: Datagrams) -> Int64s:
        """Records of each datagram, (count,); UNKNOWN, BROKEN; 0 of what is no message."""
        counts = np.zeros(datagrams.count, np.int64)
        data = np.frombuffer(datagrams.data, np.uint8)
        rows = _messages(datagrams, data)
        if not len(rows):
            return counts
        sets, broken = _walk(datagrams, data, rows)
        own = np.flatnonzero(sets.number >= DATA)
        layouts = self._layouts_of(data, sets, own, *_sessions(datagrams, data, rows))
        records = self._records(data, sets, own, layouts)
        told = np.zeros(len(rows), np.int64)
        np.add.at(told, sets.message[own], np.maximum(records, 0))
        told[sets.message[own[records == UNKNOWN]]] = UNKNOWN
        told[broken] = BROKEN
        counts[rows] = told
        return counts

    def _learn(self, session: ExportSession, number: int, widths: Widths) -> int:
        """Take a template in; returns the number of its layout."""
        key = session, number
        if key not in self._laid_out and len(self._laid_out) >= MOST_TEMPLATES:
            return 0
        layout = self._layouts.setdefault(widths, len(self._layouts))
        self._laid_out[key] = self._said[key] = layout
        return layout

    def _layouts_of(
        self,
        data: npt.NDArray[np.uint8],
        sets: _Sets,
        own: Int64s,
        sessions: list[ExportSession],
        session_of: Int64s,
    ) -> Int64s:
        """The layout of each set of data (``own``), by what came before it; 0: unknown.

        Args:
            session_of: of each message, a place in ``sessions``.
        """
        asked = session_of[sets.message[own]] << 16 | sets.number[own]
        keys: list[int] = np.unique(asked).tolist()
        places = [-1] * len(keys)
        layouts = [self._laid_out.get((sessions[key >> 16], key & 0xFFFF), 0) for key in keys]
        for place in np.flatnonzero((sets.number == TEMPLATES) | (sets.number == OPTIONS)).tolist():
            session = int(session_of[sets.message[place]])
            raw = data[int(sets.start[place]) : int(sets.stop[place])].tobytes()
            for number, widths in _templates(raw, options=int(sets.number[place]) == OPTIONS):
                named = [number]
                if number < DATA:  # all of that session are withdrawn
                    named = [n for whose, n in self._laid_out if whose == sessions[session]]
                for one in named:
                    keys.append(session << 16 | one)
                    places.append(place)
                    layouts.append(self._learn(sessions[session], one, widths))
        number_of, dense = np.unique(np.array(keys, np.int64), return_inverse=True)
        said = dense.reshape(-1) << _PLACE_BITS | np.array(places, np.int64) + 1
        order = np.argsort(said, kind="stable")
        want = np.searchsorted(number_of, asked) << _PLACE_BITS | own + 1
        at = np.searchsorted(said[order], want) - 1
        found: Int64s = np.array(layouts, np.int64)[order][at]
        return found

    def _records(
        self, data: npt.NDArray[np.uint8], sets: _Sets, own: Int64s, layouts: Int64s
    ) -> Int64s:
        """How many records there are in each set of data."""
        records = np.full(len(own), UNKNOWN, np.int64)
        widths = list(self._layouts)
        start, stop = sets.start[own], sets.stop[own]
        for layout in np.unique(layouts).tolist():
            here = np.flatnonzero(layouts == layout)
            if not layout:
                continue
            if OF_VARIABLE in widths[layout]:
                found, end = _counted(data, start[here], stop[here], widths[layout])
            else:
                found = (stop[here] - start[here]) // widths[layout][0]
                end = start[here] + found * widths[layout][0]
            size = SET_HEADER + stop[here] - start[here]
            records[here] = np.where(_is_padding(data, end, stop[here], size), found, UNKNOWN)
        return records


def _sessions(
    datagrams: Datagrams, data: npt.NDArray[np.uint8], rows: Int64s
) -> tuple[list[ExportSession], Int64s]:
    """The sessions of messages, and of each message the place of its own among them."""
    columns = (
        datagrams.source[rows], datagrams.source_port[rows], datagrams.destination[rows],
        datagrams.destination_port[rows], _number(data, datagrams.start[rows] + 12, 4),
    )  # fmt: skip
    ends, own = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    hosts = datagrams.hosts
    found = [
        ExportSession(hosts[source], source_port, hosts[destination], port, domain)
        for source, source_port, destination, port, domain in ends.tolist()
    ]
    return found, own.reshape(-1)


def _number(data: npt.NDArray[np.uint8], at: Int64s, width: int) -> Int64s:
    """Big-endian numbers; 0 for bytes that are not there."""
    found = np.zeros(len(at), np.int64)
    for place in range(width):
        found = found << 8 | np.take(data, at + place, mode="clip")
    return found


def _messages(datagrams: Datagrams, data: npt.NDArray[np.uint8]) -> Int64s:
    """Rows of what may be whole messages: their header says so, and how long they are."""
    if not len(data):
        return np.zeros(0, np.int64)
    start, length = datagrams.start, datagrams.length
    large = (datagrams.stop - start >= HEADER) & (datagrams.stop - start == length)
    large &= (datagrams.barrier == 0) & (datagrams.outcome == 0)
    rows: Int64s = np.flatnonzero(large)
    rows = rows[np.flatnonzero(_number(data, start[rows], 2) == VERSION)]
    told: Int64s = rows[np.flatnonzero(_number(data, start[rows] + 2, 2) == length[rows])]
    return told


def _walk(
    datagrams: Datagrams, data: npt.NDArray[np.uint8], rows: Int64s
) -> tuple[_Sets, npt.NDArray[np.bool_]]:
    """The sets of messages, and which of these are none as their sets do not fill them."""
    cursor = datagrams.start[rows] + HEADER
    end = datagrams.start[rows] + datagrams.length[rows]
    broken = np.zeros(len(rows), np.bool_)
    found: list[tuple[Int64s, ...]] = []
    left = np.flatnonzero(cursor < end)
    for _ in range(MOST_SETS):
        if not len(left):
            break
        at = cursor[left]
        size = _number(data, at + 2, 2)
        good = (size >= SET_HEADER) & (at + size <= end[left])
        broken[left[~good]] = True
        left, at, size = left[good], at[good], size[good]
        found.append((left, _number(data, at, 2), at + SET_HEADER, at + size))
        cursor[left] += size
        left = left[cursor[left] < end[left]]
    broken[left] = True
    columns = [np.concatenate(parts) for parts in zip(*found, strict=True)] or [
        np.zeros(0, np.int64)
    ] * 4
    order = np.argsort(columns[2], kind="stable")  # messages lie in capture order
    message, number, start, stop = (column[order] for column in columns)
    whole = ~broken[message]
    return _Sets(message[whole], number[whole], start[whole], stop[whole]), broken


def _templates(raw: bytes, *, options: bool) -> Iterator[tuple[int, Widths]]:
    """Templates in a set of them (3.4): the number and the widths; none: it is withdrawn, where the
    number is a set's all of that sort are. What cannot be read ends it."""
    at = 0
    while at + 4 <= len(raw):
        number, fields = struct.unpack_from(">HH", raw, at)
        at += 4
        withdraws = fields == 0 and number in (TEMPLATES, OPTIONS)
        if number < DATA and not withdraws:
            return  # padding
        if options and fields:
            at += 2  # how many of them say of what the others tell
        widths: list[int] = []
        for _ in range(fields):
            if at + 4 > len(raw):
                return
            element, width = struct.unpack_from(">HH", raw, at)
            at += 8 if element & 0x8000 else 4  # with the number of an enterprise
            if width == VARIABLE:
                widths.append(OF_VARIABLE)
            elif widths and widths[-1] != OF_VARIABLE:
                widths[-1] += width
            else:
                widths.append(width)
        if at > len(raw):
            return
        yield number, tuple(widths) if any(widths) else ()


def _is_padding(
    data: npt.NDArray[np.uint8], start: Int64s, stop: Int64s, size: Int64s
) -> npt.NDArray[np.bool_]:
    """Whether bytes may be what fills a set up to its size."""
    zeros = stop - start <= MOST_PADDING
    for place in range(MOST_PADDING):
        zeros &= (start + place >= stop) | (_number(data, start + place, 1) == 0)
    zeros |= (stop - start < ALIGNMENT) & (size % ALIGNMENT == 0)
    return zeros


def _counted(
    data: npt.NDArray[np.uint8], start: Int64s, stop: Int64s, widths: Widths
) -> tuple[Int64s, Int64s]:
    """Records of variable size in sets of one layout, and where they end; UNKNOWN: they do not end
    in the set, so they are of another layout."""
    least = sum(1 if width == OF_VARIABLE else width for width in widths)
    records = np.zeros(len(start), np.int64)
    cursor = start.copy()
    left = np.flatnonzero(cursor + least <= stop)
    for _ in range(MOST_RECORDS):
        if not len(left):
            break
        at = cursor[left]
        for width in widths:
            if width != OF_VARIABLE:
                at = at + width
                continue
            size = _number(data, at, 1)
            long = size == 255
            at = at + np.where(long, 3 + _number(data, at + 1, 2), 1 + size)
        good = at <= stop[left]
        records[left[~good]] = UNKNOWN
        left, at = left[good], at[good]
        records[left] += 1
        cursor[left] = at
        left = left[at + least <= stop[left]]
    records[left] = UNKNOWN
    return records, cursor
