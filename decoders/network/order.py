"""Records in the order of their times, and where the clock was set (replay/README.md 3).

Several queues of a network card, ``-i any`` and merged files write records a little out of order;
a clock that is set back makes all that follows look late. Times alone cannot tell the two apart:
the IP ids of a flow can, as its sender counts them up. Where nothing tells, a single late record or
one that is late by no more than the horizon is out of order, and anything else is a step.

Records that are out of order are put in order, so that runs are made of what was sent in a row. A
frame is then its place in that order; ``PieceOrder.moved`` has Wireshark's numbers. A chunk that is
in order costs one comparison a record, and chunks are put in order one by one; where one shows that
its border tears records that belong together, the capture is decoded again by ``overlap``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.account_rows import PieceOrderDetail

#: Queues of network cards are apart by no more than this.
HORIZON_NS: Final = 20_000_000
#: A single record is late by no more than this, if nothing else tells.
SINGLE_NS: Final = 1_000_000_000
#: Time stamps that were rounded go back by so little.
ROUNDED_NS: Final = 1_000
#: Records of a late stretch, and before it, that are compared.
COMPARED: Final = 200
#: Late stretches of a bucket of the file that are looked at one by one; of more the horizon alone
#: decides where it can, and of still more the horizon in any case.
BUCKET_BITS: Final = 20
LOOKED_AT: Final = 16
MOST_LOOKED_AT: Final = 64
#: Steps, and records that stand elsewhere, that are named; the others are counted.
NAMED_STEPS: Final = 100
NAMED_MOVES: Final = 200_000

#: Offset of the IP header by link type; Ethernet has tags between.
_NETWORK: Final = {0: 4, 12: 0, 101: 0, 108: 4, 113: 16, 228: 0, 276: 20}
_ETHERNET: Final = 1
_TAGS: Final = frozenset({0x8100, 0x88A8, 0x9100})
_TCP: Final = 6

#: Columns of records that go with them; ``frame`` is the place.
COLUMNS: Final = (
    "start", "captured", "original", "at_ns", "link", "interface", "offset", "status",
)  # fmt: skip


@dataclass(slots=True)
class Backstep:
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
class Arrangement:
    """How some records in a row have to be put in order.

    Attributes:
        order: row by row, which record stands there.
        late, by_ns: records that stand behind a later one, and by how much.
        borders: records at which stretches begin within which records were put in order.
        steps: (record, what is said of the step before it).
        guessed: late records, further than the horizon, of which nothing tells that they are not
            behind a step.
    """

    order: Int64s
    late: Int64s
    by_ns: Int64s
    borders: list[int]
    steps: list[tuple[int, Backstep]]
    guessed: list[int]

    def position(self, row: int) -> int:
        """Where a record stands now."""
        return int(np.flatnonzero(self.order == row)[0])


@dataclass(slots=True)
class PieceOrder:
    """What the times of one piece's records say; ``arranged`` is given its chunks in their order.

    Numbers are those of the piece's records, from 1; what overlaps (``overlap``) has numbers below
    1 and above the last.

    Attributes:
        late: records that stood behind a later one and were put in order.
        most_ns: how late at most; first_late: the place in the order of the first of them.
        first_ns, high_ns: time of the first record, and the highest since the last step.
        low_ns: the lowest before the first step or the end of the first chunk.
        moved: (place in the order, number in the file) of records that stand elsewhere.
        guessed: places from where a late record was put to where it stood, if the clock may have
            been set back there as well.
        torn: numbers of records where a chunk begins too late, or all that is held: one of those
            behind belongs before it, or might if more were known.
        begins_unsure, ends_unsure: something is out of order so near to the first or last record
            that what stands before or behind them would tell more of it.
        beyond: first and last number between which those lie that are not named; null: all are.
        overlapping: whether records were put in order across the borders of chunks and pieces.
    """

    late: int = 0
    most_ns: int = 0
    first_late: int = 0
    first_late_ns: int | None = None
    first_ns: int | None = None
    high_ns: int | None = None
    low_ns: int | None = None
    moved: list[tuple[int, int]] = field(default_factory=list)
    moved_more: int = 0
    steps: list[Backstep] = field(default_factory=list)
    steps_more: int = 0
    guessed: list[tuple[int, int]] = field(default_factory=list)
    torn: list[int] = field(default_factory=list)
    beyond: tuple[int, int] | None = None
    begins_unsure: bool = False
    ends_unsure: bool = False
    overlapping: bool = False

    def arranged(self, records: Records) -> Records:
        """A chunk in the order of its times."""
        if not records.count or records.frame[0] <= 0:  # of another piece
            return records
        times = records.at_ns if records.plain else filled(records)
        high = self.high_ns
        if self.ends_unsure:
            self.tears(int(records.frame[0]))
            self.ends_unsure = False
        if not (times[1:] < times[:-1]).any() and (high is None or int(times[0]) >= high):
            self.begins(int(times[0]), int(times[0]))
            self.high_ns = int(times[-1])
            return records
        found = arrangement(records, times)
        odd = np.concatenate([found.late, found.borders[1:]])
        near = bool(len(odd)) and int(odd.min()) < COMPARED
        self.ends_unsure = bool(len(odd)) and int(odd.max()) + COMPARED > records.count
        if high is None:
            self.begins_unsure = near
        elif near or int(times.min()) < high:
            self.tears(int(records.frame[0]))
        whole = [*found.borders, records.count]
        self.begins(int(times[0]), int(times[: whole[1]].min()))
        self.high_ns = int(times[whole[-2] :].max())
        if len(found.late) and not self.late:
            self.first_late = int(records.frame[found.position(found.late[0])])
            self.first_late_ns = int(times[found.late[0]])
        self.count(found.by_ns)
        for _, step in found.steps:
            self.stepped(step)
        for late in found.guessed:
            self.guess(int(records.frame[found.position(late)]), int(records.frame[late]))
        elsewhere = np.flatnonzero(found.order != np.arange(records.count))
        if not len(elsewhere):
            return records
        self.move(records.frame[elsewhere], records.frame[found.order[elsewhere]])
        columns = {name: getattr(records, name)[found.order] for name in COLUMNS}
        return replace(records, frame=records.frame.copy(), **columns)

    def account(self) -> PieceOrderDetail:
        """As an ACCOUNT row carries it."""
        return {
            "late": self.late,
            "most_ns": self.most_ns,
            "first_late": self.first_late,
            "first_late_ns": self.first_late_ns,
            "first_ns": self.first_ns,
            "high_ns": self.high_ns,
            "low_ns": self.low_ns,
            "moved": [list(pair) for pair in self.moved],
            "moved_more": self.moved_more,
            "steps": [[s.frame, s.at_ns, s.back_ns, s.agree, s.against] for s in self.steps],
            "steps_more": self.steps_more,
            "guessed": [list(pair) for pair in self.guessed],
            "torn": self.torn,
            "beyond": self.beyond,
            "unsure": [self.begins_unsure, self.ends_unsure],
            "overlapping": self.overlapping,
        }

    def begins(self, first_ns: int, low_ns: int) -> None:
        """The first records of the piece."""
        if self.first_ns is None:
            self.first_ns, self.low_ns = first_ns, low_ns

    def count(self, by_ns: Int64s) -> None:
        """Records that are late by so much."""
        if len(by_ns):
            self.late += len(by_ns)
            self.most_ns = max(self.most_ns, int(by_ns.max()))

    def stepped(self, step: Backstep) -> None:
        """A step; so many are named."""
        if len(self.steps) < NAMED_STEPS:
            self.steps.append(step)
        else:
            self.steps_more += 1
            self._not_named(step.frame, step.frame)

    def guess(self, place: int, stood: int) -> None:
        """A late record that may stand behind a step."""
        if len(self.guessed) < NAMED_STEPS:
            self.guessed.append((place, stood))
        else:
            self._not_named(place, stood)

    def tears(self, number: int) -> None:
        """A record behind which one stands that belongs before it, and was not put there."""
        if len(self.torn) < NAMED_STEPS:
            self.torn.append(number)
        else:
            self._not_named(number, number)

    def _not_named(self, first: int, last: int) -> None:
        low, high = self.beyond or (first, last)
        self.beyond = min(low, first), max(high, last)

    def move(self, places: Int64s, numbers: Int64s) -> None:
        """Records that stand in other places than in the file."""
        if len(places) <= NAMED_MOVES - len(self.moved):
            self.moved += zip(places.tolist(), numbers.tolist(), strict=True)
        else:
            self.moved_more += len(places)


def arrangement(records: Records, times: Int64s) -> Arrangement:
    """How records in a row are put in order.

    Args:
        times: see ``filled``.
    """
    borders, late, by_ns, steps = [0], [], [], []
    guessed: list[int] = []
    looked: dict[int, int] = {}
    begin = 0
    while True:
        own = times[begin:]
        highs = np.maximum.accumulate(own)
        behind = np.flatnonzero(own < highs)
        found = _step(records, times, highs, behind, begin, looked, guessed)
        kept = behind if found is None else behind[behind < found[0] - begin]
        late.append(kept + begin)
        by_ns.append(highs[kept] - own[kept])
        if found is None:
            break
        begin, step = found
        if begin > borders[-1]:
            borders.append(begin)
        if step is not None:
            steps.append((begin, step))
    parts = pairwise([*borders, records.count])
    order = [first + np.argsort(times[first:stop], kind="stable") for first, stop in parts]
    return Arrangement(
        np.concatenate(order), np.concatenate(late), np.concatenate(by_ns), borders, steps, guessed
    )


def _step(
    records: Records,
    times: Int64s,
    highs: Int64s,
    late: Int64s,
    begin: int,
    looked: dict[int, int],
    guessed: list[int],
) -> tuple[int, Backstep | None] | None:
    """The first record behind a step, and what is said of it; null if records are only out of
    order.

    Args:
        looked: late stretches that were looked at, by bucket of the file, so that how many are does
            not depend on where a piece begins.
        guessed: is given single records of which nothing tells on which side they belong.
    """
    if not len(late):
        return None
    falls = times[begin + late[:-1]] - times[begin + late[1:]] > HORIZON_NS
    breaks = np.flatnonzero((np.diff(late) > 1) | falls) + 1
    for stretch in np.split(late, breaks):
        first = int(stretch[0])
        near = stretch[:COMPARED]
        back = int((highs[near] - times[begin + near]).max())
        bucket = int(records.offset[begin + first]) >> BUCKET_BITS
        looked[bucket] = looked.get(bucket, 0) + 1
        if looked[bucket] > LOOKED_AT and back <= HORIZON_NS:
            continue
        agree, against = (
            _votes(records, times, begin, begin + first, begin + int(stretch[-1]))
            if looked[bucket] <= MOST_LOOKED_AT
            else (0, 0)
        )
        if against and not agree:
            continue
        if not agree and back <= (SINGLE_NS if len(stretch) == 1 else HORIZON_NS):
            if back > HORIZON_NS:
                guessed.append(begin + first)
            continue
        back = int(highs[first] - times[begin + first])
        row = begin + first
        if back <= ROUNDED_NS or _of_other_clock(records, times, row):
            return row, None
        return row, Backstep(int(records.frame[row]), int(times[row]), back, agree, against)
    return None


def _of_other_clock(records: Records, times: Int64s, row: int) -> bool:
    """Whether time goes back only against other interfaces, whose clocks or resolutions differ."""
    same = records.interface[:row] == records.interface[row]
    own = times[:row][same]
    return bool(len(own) < row and (not len(own) or own[-1] <= times[row]))


def filled(records: Records) -> Int64s:
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


def _votes(records: Records, times: Int64s, begin: int, first: int, last: int) -> tuple[int, int]:
    """Flows whose IP ids say that a late stretch was sent after what stands before it, and before.

    Of each flow all that is late is compared with all before it, from ``begin`` (the last step) on,
    that has a later time. A network that lets single datagrams pass others speaks for either, so
    most of these pairs decide, and they are more than the datagrams that pass others there anyway.
    """
    before = _by_flow(records, times, max(begin, first - COMPARED), first)
    behind_it = _by_flow(records, times, last + 1, min(last + 1 + COMPARED, len(times)))
    pairs: dict[object, list[int]] = {}
    for row in range(first, min(last + 1, first + COMPARED)):
        told = _identified(records, row)
        if told is None:
            continue
        at_ns, counts = int(times[row]), pairs.setdefault(told[0], [0, 0])
        for earlier_ns, ident in before.get(told[0], ()):
            apart = (told[1] - ident) & 0xFFFF
            if earlier_ns > at_ns and apart:
                counts[apart > 0x8000] += 1
    agree = against = 0
    for flow, (behind, ahead) in pairs.items():
        most = max((behind + ahead) * 3 / 4, 0.5)
        passed = sum(_passing(rows.get(flow, ())) for rows in (before, behind_it))
        agree += behind >= most and behind > passed
        against += ahead >= most and ahead > passed
    return agree, against


def _by_flow(
    records: Records, times: Int64s, first: int, stop: int
) -> dict[object, list[tuple[int, int]]]:
    """Times and IP ids of records [first, stop), by flow."""
    found: dict[object, list[tuple[int, int]]] = {}
    for row in range(first, stop):
        told = _identified(records, row)
        if told is not None:
            found.setdefault(told[0], []).append((int(times[row]), told[1]))
    return found


def _passing(flow: Sequence[tuple[int, int]]) -> int:
    """Datagrams of one flow that came, in time, behind one that was sent after them."""
    return sum(
        one[0] < other[0] and (other[1] - one[1]) & 0xFFFF > 0x8000 for one, other in pairwise(flow)
    )


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
