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

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network.account_rows import PieceOrderDetail
from seqaudit.decoders.network.sent_order import COMPARED, SentOrder

#: Queues of network cards are apart by no more than this.
HORIZON_NS: Final = 20_000_000
#: A single record is late by no more than this, if nothing else tells.
SINGLE_NS: Final = 1_000_000_000
#: Time stamps that were rounded go back by so little.
ROUNDED_NS: Final = 1_000
#: Late stretches of a bucket of the file that are looked at one by one; of more the horizon alone
#: decides where it can, and of still more the horizon in any case.
BUCKET_BITS: Final = 20
LOOKED_AT: Final = 16
MOST_LOOKED_AT: Final = 64
#: Steps, and records that stand elsewhere, that are named; the others are counted.
NAMED_STEPS: Final = 100
NAMED_MOVES: Final = 200_000
_NO_ROWS: Final = np.zeros(0, np.int64)

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
    borders, steps = [0], []
    late, by_ns = [_NO_ROWS], [_NO_ROWS]
    stretches = _LateStretches(records, times)
    falls = np.flatnonzero(times[1:] < times[:-1]) + 1
    first, begin, high = _after(falls, 0), 0, int(times[0])
    while first < records.count:
        high = max(high, int(times[first - 1]))
        step = stretches.step(begin, first, high)
        if step is None:
            end = stretches.end(first, high)
            late.append(np.arange(first, end))
            by_ns.append(high - times[first:end])
            fell = end < records.count and times[end] < high
            first = end if fell else _after(falls, end)
        else:
            begin, high = first, int(times[first])
            borders.append(begin)
            steps += [(begin, said) for said in step if said is not None]
            first = _after(falls, begin)
    parts = pairwise([*borders, records.count])
    order = [start + np.argsort(times[start:stop], kind="stable") for start, stop in parts]
    return Arrangement(
        np.concatenate(order),
        np.concatenate(late),
        np.concatenate(by_ns),
        borders,
        steps,
        stretches.guessed,
    )


def _after(falls: Int64s, row: int) -> int:
    """The next record behind one at which time goes back; behind all if there is none."""
    at = int(np.searchsorted(falls, row, side="right"))
    return int(falls[at]) if at < len(falls) else np.iinfo(np.int64).max


class _LateStretches:
    """Late records in a row, and whether the clock was set before them."""

    def __init__(self, records: Records, times: Int64s) -> None:
        self._records = records
        self._times = times
        self._sent = SentOrder(records, times)
        self._looked: dict[int, int] = {}
        self._clocks = _InterfaceClocks(records.interface)
        self.guessed: list[int] = []

    def end(self, first: int, high: int, most: int | None = None) -> int:
        """Where a stretch ends that begins at a record: with one that is not late, or where time
        goes back by more than the horizon.

        Args:
            high: the time before it.
            most: records that are looked at.
        """
        stop = len(self._times) if most is None else min(first + most, len(self._times))
        begin, reach = first + 1, 64
        while begin < stop:
            own = self._times[begin - 1 : min(begin + reach, stop)]
            ends = (own[1:] >= high) | (own[:-1] - own[1:] > HORIZON_NS)
            at = int(ends.argmax())
            if ends[at]:
                return begin + at
            begin, reach = begin + reach, 2 * reach
        return stop

    def step(self, begin: int, first: int, high: int) -> tuple[Backstep | None] | None:
        """What is said of the step before a stretch, if anything is; null if its records are only
        out of order.

        Args:
            begin: the record behind the step before it.
        """
        times, records = self._times, self._records
        near = self.end(first, high, COMPARED)
        back = high - int(times[first:near].min())
        # so that how many are looked at does not depend on where a piece begins
        bucket = int(records.offset[first]) >> BUCKET_BITS
        looked = self._looked[bucket] = self._looked.get(bucket, 0) + 1
        if looked > LOOKED_AT and back <= HORIZON_NS:
            return None
        agree, against = (
            self._sent.votes(begin, first, self.end(first, high) - 1)
            if looked <= MOST_LOOKED_AT
            else (0, 0)
        )
        if against and not agree:
            return None
        if not agree and back <= (SINGLE_NS if near == first + 1 else HORIZON_NS):
            if back > HORIZON_NS:
                self.guessed.append(first)
            return None
        back = high - int(times[first])
        if back <= ROUNDED_NS or self._clocks.is_other(times, first):
            return (None,)
        return (Backstep(int(records.frame[first]), int(times[first]), back, agree, against),)


class _InterfaceClocks:
    """Interfaces, whose clocks or resolutions differ."""

    def __init__(self, interfaces: Int64s) -> None:
        self._interfaces = interfaces

    def is_other(self, times: Int64s, row: int) -> bool:
        """Whether time goes back only against other interfaces."""
        before, count = self._before
        same = int(before[row])
        return int(count[row]) < row and (same < 0 or bool(times[same] <= times[row]))

    @cached_property
    def _before(self) -> tuple[Int64s, Int64s]:
        """Of each record the last of its interface before it, or -1, and how many there are."""
        order = np.argsort(self._interfaces, kind="stable")
        places = np.arange(len(order))
        own = self._interfaces[order]
        again = np.append(False, own[1:] == own[:-1])
        before, count = np.empty_like(order), np.empty_like(order)
        before[order] = np.where(again, order[places - 1], -1)
        count[order] = places - np.maximum.accumulate(np.where(again, 0, places))
        return before, count


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
