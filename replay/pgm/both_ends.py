"""One TSI at its sender and at a receiver: which packets, repairs and NAKs the path lost.

Every capture writes into its ``TsiEnds`` what passed, bounded; they meet when all of the TSI's
captures were replayed. ODATA counts once for each sqn, as a sender sends it once; RDATA, NCF and
NAK as often as they were captured. A receiver is only held against what was sent from the first sqn
and SPM on that it met: before, it may not have joined the group.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.report_rows import PassageKind
from seqaudit.replay.sequence.clocks import Clocks, Sightings
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.passages import NumberRun, Passages, Passed
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: Packets that follow each other within this time are one row.
RUN_NS: Final = 100_000_000
SQNS: Final = 1 << 32

DATA: Final[PassageKind] = "messages"
REPAIRS: Final[PassageKind] = "repairs"
NCFS: Final[PassageKind] = "confirmations"
SPMS: Final[PassageKind] = "highest"
NAKS: Final[PassageKind] = "requests"
#: What the sender sends to all receivers.
_THERE: Final = (DATA, REPAIRS, NCFS, SPMS)
_WORDS: Final = {"RDATA": REPAIRS, "NCF": NCFS, "SPM": SPMS, "NAK": NAKS}


@dataclass(slots=True)
class TsiEnds:
    """What one capture knows of a TSI.

    Attributes:
        tsi: its name.
        local: the host at whose interface it was taken; ``sender``: the TSI's; null: not known.
        start: the first sqn that its receiver counts; null: at the sender, or nothing came.
        hidden: sqns that its receiver did not go on asking for and that did not come here.
        first, last: of everything of the TSI.
        passages: packets by word, NAKs also by who asks and whom.
    """

    capture: int
    tsi: str
    local: str | None
    sender: str | None = None
    start: int | None = None
    hidden: int = 0
    first: Mark | None = None
    last: Mark | None = None
    passages: Passages = field(default_factory=Passages)
    _spms: int | None = None
    _there: Sightings = field(default_factory=Sightings)
    _back: dict[str, Sightings] = field(default_factory=dict)
    _part: NumberRun | None = None  # the ODATA that came last
    _run: NumberRun | None = None
    _had: RangeSet = field(default_factory=RangeSet)  # of ODATA, whether RDATA came first or not

    @property
    def sending(self) -> bool:
        """Was it taken at the sender?"""
        return self.local is not None and self.local == self.sender

    def came(self, sqns: Range, mark: Mark, last: Mark) -> None:
        """ODATA, from ``mark`` to ``last``; a run of them may come in parts."""
        first, stop = sqns
        part = self._part
        if part is not None and part.stop == first:
            self._part = part._replace(stop=stop, last_frame=last.frame, to_ns=last.at_ns)
            return
        self._settle()
        self._part = NumberRun(first, stop, mark.frame, last.frame, mark.at_ns, last.at_ns)

    def _settle(self) -> None:
        """The run of ODATA is over."""
        part, self._part = self._part, None
        if part is None:
            return
        for first, stop in self._had.add(part.first, part.stop):
            self._there.saw((0, first % SQNS), part.from_ns)
            if stop - 1 > first:
                self._there.saw((0, (stop - 1) % SQNS), part.to_ns)
            run, own = self._run, part._replace(first=first, stop=stop)
            if run is not None and run.stop == first and part.to_ns - run.from_ns <= RUN_NS:
                self._run = run._replace(stop=stop, last_frame=own.last_frame, to_ns=own.to_ns)
                continue
            self._flush()
            self._run = own

    def flush(self) -> None:
        """Nothing goes on."""
        self._settle()
        self._flush()

    def _flush(self) -> None:
        if self._run is not None:
            self.passages.saw((DATA,), self._run)
            self._run = None

    def passed(self, event: Event, sqns: Sequence[int]) -> None:
        """Another packet: of a repair, NAK or NCF the sqns, as they grow."""
        self._settle()
        word = _WORDS.get(event.wire_kind)
        if word is None or event.flags & Flag.NETWORK_DUPLICATE:
            return
        lane: tuple[str, ...] = (word,)
        numbers = (sqns[0], sqns[-1] + 1) if sqns else None
        if word == SPMS:
            numbers = None if event.conn_id is None else (event.conn_id, event.conn_id + 1)
            if event.conn_id is not None:
                least = event.conn_id if self._spms is None else min(self._spms, event.conn_id)
                self._spms = least
                self._there.saw((1, event.conn_id), event.at_ns)
        elif word != REPAIRS and numbers is not None:
            numbers = numbers[0], numbers[0] + 1
        if word == NAKS:
            source = event.source or ""
            lane = word, source, event.destination or ""
            if event.fresh_id:  # an IP id of 0 is none (RFC 6864)
                key = (event.fresh_id, *(sqn % SQNS for sqn in sqns))
                self._back.setdefault(source, Sightings()).saw(key, event.at_ns)
        if numbers is not None:
            mark, last = event.first_mark(), event.last_mark()
            self.passages.saw(
                lane, NumberRun(*numbers, mark.frame, last.frame, mark.at_ns, last.at_ns)
            )

    def begins(self, word: str) -> int | None:
        """The first number of a word that a receiver here is held against; null: of none."""
        return self._spms if word == SPMS else self.start

    def clocks_to(self, other: "TsiEnds") -> Clocks:
        """From the sender's, which this is, to a receiver's."""
        back = other.local or ""
        here, there = self._back.get(back, Sightings()), other._back.get(back, Sightings())
        return Clocks(self._there.common(other._there), there.common(here))


def passed(here: TsiEnds, there: TsiEnds) -> dict[PassageKind, Passed]:
    """What came over of everything that went either way, by the word for it.

    Args:
        here, there: the captures at the sender and at the receiver.
    """
    assert None not in (here.first, here.last, there.first, there.last), "both hold packets"
    clocks, turn = here.clocks_to(there), _turn(here, there)
    spans = [(0, 0) if e.first is None or e.last is None else (e.first.at_ns, e.last.at_ns)
             for e in (here, there)]  # fmt: skip
    found: dict[PassageKind, Passed] = {}
    for word in _THERE:
        by = 0 if word == SPMS else turn
        begins = there.begins(word)
        if begins is None:
            continue
        sent = [row for r in here.passages.rows((word,)) if (row := r.since(begins + by))]
        came = [row for r in there.passages.rows((word,)) if (row := r.since(begins))]
        told = Passed()
        told.add(sent, [r.moved(by) for r in came], clocks, spans[0], (None, spans[1][1]))
        found[word] = told
    told = Passed()
    for lane in sorted({*here.passages.lanes(), *there.passages.lanes()}, key=str):
        if lane[0] == NAKS and lane[1] == there.local:
            came = [r.moved(-turn) for r in here.passages.rows(lane)]
            told.add(there.passages.rows(lane), came, clocks.reversed(), spans[1], spans[0])
    found[NAKS] = told
    return {word: own for word, own in found.items() if own.sent or own.came}


def _turn(here: TsiEnds, there: TsiEnds) -> int:
    """What is added to a sqn at the receiver to get the sender's, where one capture has seen the
    sqns wrap and the other has not."""
    stops = [rows[-1].stop for e in (here, there) if (rows := e.passages.rows((DATA,)))]
    return round((stops[0] - stops[1]) / SQNS) * SQNS if len(stops) == 2 else 0
