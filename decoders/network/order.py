"""Records in the order of their times, and where the clock was set (replay/README.md 3).

Several queues of a network card, ``-i any`` and merged files write records a little out of order;
a clock that is set back makes all that follows look late. Times alone cannot tell the two apart:
the IP ids of a flow can, as its sender counts them up. Where nothing tells, a single late record or
one that is late by no more than the horizon is out of order, and anything else is a step.

Records that are out of order are put in order within their chunk, so that runs are made of what was
sent in a row. A frame is then its place in that order; ``Order.moved`` has Wireshark's numbers.
A chunk that is in order costs one comparison a record.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.kernels.loader import Int64s

#: Queues of network cards are apart by no more than this.
HORIZON_NS: Final = 20_000_000
#: A single record is late by no more than this, if nothing else tells.
SINGLE_NS: Final = 1_000_000_000
#: Time stamps that were rounded go back by so little.
ROUNDED_NS: Final = 1_000
#: Records of a late stretch, and before it, that are compared.
COMPARED: Final = 200
#: Late stretches that are looked at one by one; where there are more, the horizon alone decides.
LOOKED_AT: Final = 1_000
#: Steps, and records that stand elsewhere, that are named; the others are counted.
NAMED_STEPS: Final = 100
NAMED_MOVES: Final = 200_000

#: Offset of the IP header by link type; Ethernet has tags between.
_NETWORK: Final = {0: 4, 12: 0, 101: 0, 108: 4, 113: 16, 228: 0, 276: 20}
_ETHERNET: Final = 1
_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100})
_TCP: Final = 6

_COLUMNS: Final = (
    "start", "captured", "original", "at_ns", "link", "interface", "offset", "status",
)  # fmt: skip


@dataclass(slots=True)
class Step:
    """A place at which time goes back and the order of records is right, or nobody knows.

    Attributes:
        frame, at_ns: first record behind it, its place in the order, and its time.
        back_ns: how far time goes back.
        agree, against: flows whose IP ids say that the clock was set, and that they do not.
    """

    frame: int
    at_ns: int
    back_ns: int
    agree: int
    against: int


@dataclass(slots=True)
class Order:
    """What the times of one piece's records say; ``arranged`` is given its chunks in their order.

    Attributes:
        late: records that stood behind a later one and were put in order.
        most_ns: how late at most; first_late: the place in the order of the first of them.
        first_ns, high_ns: time of the first record, and the highest so far.
        moved: (place in the order, number in the file) of records that stand elsewhere.
        torn: places of chunks that begin with a record which belongs into the chunk before.
    """

    late: int = 0
    most_ns: int = 0
    first_late: int = 0
    first_late_ns: int | None = None
    first_ns: int | None = None
    high_ns: int | None = None
    moved: list[tuple[int, int]] = field(default_factory=list)
    moved_more: int = 0
    steps: list[Step] = field(default_factory=list)
    steps_more: int = 0
    torn: list[int] = field(default_factory=list)
    _looked_at: int = 0
    _first: int = -1  # place in the chunk of the first late record

    def arranged(self, records: Records) -> Records:
        """A chunk in the order of its times."""
        if not records.count or records.frame[0] <= 0:  # of another piece
            return records
        times = records.at_ns if records.plain else _filled(records)
        if self.first_ns is None:
            self.first_ns = int(times[0])
        high = self.high_ns
        if not (times[1:] < times[:-1]).any() and (high is None or int(times[0]) >= high):
            self.high_ns = int(times[-1])
            return records
        borders = self._segments(records, times)
        order = np.concatenate(
            [
                begin + np.argsort(times[begin:stop], kind="stable")
                for begin, stop in pairwise(borders)
            ]
        )
        self.high_ns = int(times[borders[-2] :].max())
        if self._first >= 0:
            self.first_late = int(records.frame[np.flatnonzero(order == self._first)[0]])
            self.first_late_ns = int(times[self._first])
            self._first = -1
        return self._moved(records, order)

    def account(self) -> dict[str, Any]:
        """As an ACCOUNT row carries it."""
        return {
            "late": self.late,
            "most_ns": self.most_ns,
            "first_late": self.first_late,
            "first_late_ns": self.first_late_ns,
            "first_ns": self.first_ns,
            "high_ns": self.high_ns,
            "moved": [list(pair) for pair in self.moved],
            "moved_more": self.moved_more,
            "steps": [[s.frame, s.at_ns, s.back_ns, s.agree, s.against] for s in self.steps],
            "steps_more": self.steps_more,
            "torn": self.torn,
        }

    def _segments(self, records: Records, times: Int64s) -> list[int]:
        """Borders of stretches within which records are put in order: steps lie between them."""
        borders = [0]
        floor = self.high_ns
        begin = 0
        while True:
            own = times[begin:]
            highs = np.maximum.accumulate(own)
            if floor is not None:
                highs = np.maximum(highs, floor)
            late = np.flatnonzero(own < highs)
            step = self._step(records, times, highs, late, begin)
            kept = late if step is None else late[late < step - begin]
            if len(kept):
                self._count(records, kept + begin, highs[kept] - own[kept])
            if len(kept) and kept[0] == 0 and floor is not None and len(self.torn) < NAMED_STEPS:
                self.torn.append(int(records.frame[begin]))
            if step is None:
                return [*borders, records.count]
            if step > borders[-1]:
                borders.append(step)
            begin, floor = step, None

    def _step(
        self, records: Records, times: Int64s, highs: Int64s, late: Int64s, begin: int
    ) -> int | None:
        """The first record behind a step, null if records are only out of order."""
        if not len(late):
            return None
        falls = times[begin + late[:-1]] - times[begin + late[1:]] > HORIZON_NS
        breaks = np.flatnonzero((np.diff(late) > 1) | falls) + 1
        for stretch in np.split(late, breaks):
            first = int(stretch[0])
            back = int((highs[stretch] - times[begin + stretch]).max())
            if self._looked_at >= LOOKED_AT and back <= HORIZON_NS:
                continue
            self._looked_at += 1
            agree, against = _votes(records, times, begin + first, begin + int(stretch[-1]))
            if against and not agree:
                continue
            if not agree and back <= (SINGLE_NS if len(stretch) == 1 else HORIZON_NS):
                continue
            back = int(highs[first] - times[begin + first])
            if back > ROUNDED_NS and not _of_other_clock(records, times, begin + first):
                frame, at = int(records.frame[begin + first]), int(times[begin + first])
                self._add(Step(frame, at, back, agree, against))
            return begin + first
        return None

    def _add(self, step: Step) -> None:
        if len(self.steps) < NAMED_STEPS:
            self.steps.append(step)
        else:
            self.steps_more += 1

    def _count(self, records: Records, late: Int64s, by_ns: Int64s) -> None:
        if not self.late:
            self._first = int(late[0])
        self.late += len(late)
        self.most_ns = max(self.most_ns, int(by_ns.max()))

    def _moved(self, records: Records, order: Int64s) -> Records:
        elsewhere = np.flatnonzero(order != np.arange(records.count))
        if not len(elsewhere):
            return records
        pairs = zip(
            records.frame[elsewhere].tolist(), records.frame[order[elsewhere]].tolist(), strict=True
        )
        room = NAMED_MOVES - len(self.moved)
        if len(elsewhere) <= room:
            self.moved += pairs
        else:
            self.moved_more += len(elsewhere)
        columns = {name: getattr(records, name)[order] for name in _COLUMNS}
        return replace(records, frame=records.frame.copy(), **columns)


def _of_other_clock(records: Records, times: Int64s, row: int) -> bool:
    """Whether time goes back only against other interfaces, whose clocks or resolutions differ."""
    same = records.interface[:row] == records.interface[row]
    own = times[:row][same]
    return bool(len(own) < row and (not len(own) or own[-1] <= times[row]))


def _filled(records: Records) -> Int64s:
    """Times; where a record has none that of the one before."""
    known = records.status == 0
    if known.all():
        return records.at_ns
    at = np.where(known, np.arange(records.count), 0)
    times: Int64s = records.at_ns[np.maximum.accumulate(at)]
    if not known[0]:
        first = np.flatnonzero(known)
        times[: first[0] if len(first) else records.count] = (
            records.at_ns[first[0]] if len(first) else 0
        )
    return times


def _votes(records: Records, times: Int64s, first: int, last: int) -> tuple[int, int]:
    """Flows whose IP ids say that a late stretch was sent after what stands before it, and before.

    Of each flow the first record of the stretch is compared with the last one before it that has a
    later time.
    """
    before: dict[object, int] = {}
    for row in range(max(0, first - COMPARED), first):
        told = _identified(records, row)
        if told is not None:
            before[told[0]] = row
    agree = against = 0
    for row in range(first, min(last + 1, first + COMPARED)):
        told = _identified(records, row)
        if told is None:
            continue
        earlier = before.get(told[0])
        if earlier is None or times[earlier] <= times[row]:
            continue
        del before[told[0]]
        known = _identified(records, earlier)
        assert known is not None, "a record that was identified is so again"
        apart = (told[1] - known[1]) & 0xFFFF
        agree += 0 < apart < 0x8000
        against += apart > 0x8000
    return agree, against


def _identified(records: Records, row: int) -> tuple[object, int] | None:
    """The flow of an IPv4 packet and its id; null if there is none, or the sender counts none."""
    start = int(records.start[row])
    packet = bytes(records.data[start : start + min(int(records.captured[row]), 96)])
    link = int(records.link[row])
    at = _NETWORK.get(link, -1)
    if link == _ETHERNET:
        at = 12
        while len(packet) > at + 4 and int.from_bytes(packet[at : at + 2]) in _TAGS:
            at += 4
        if packet[at : at + 2] != b"\x08\x00":
            return None
        at += 2
    header = packet[at:] if at >= 0 else b""
    if len(header) < 24 or header[0] >> 4 != 4:
        return None
    ident = int.from_bytes(header[4:6])
    fragment = int.from_bytes(header[6:8]) & 0x1FFF
    if not ident or fragment:
        return None
    size = 4 * (header[0] & 15)
    ports = header[size : size + 4] if header[9] == _TCP else b""
    return (header[9], header[12:20], ports), ident
