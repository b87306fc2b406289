"""The PGM engine: one TSI at one point of capture (raims.md 2; RFC 3208).

At a receiver its window is replayed (``replay.pgm.window``): what was lost, repaired, given up. At
the sender, and where nobody knows who looks on, only what passes is counted.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.engine import Row
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.finding import Certainty
from seqaudit.replay.contract.parameters import EngineParameters, Given
from seqaudit.replay.contract.report_rows import NOT_VISIBLE, Side, directed
from seqaudit.replay.contract.settings import MEMBER, Vantage
from seqaudit.replay.pgm.both_ends import TsiEnds
from seqaudit.replay.pgm.holes import GIVEN_UP, UNTOLD, Fate, Hole, Inside
from seqaudit.replay.pgm.parameters import PARAMETERS
from seqaudit.replay.pgm.report_rows import PgmStreamRow
from seqaudit.replay.pgm.waiting import Waiting
from seqaudit.replay.pgm.window import SLACK_NS, SQNS, PgmWindow, WindowSettings, step_of
from seqaudit.replay.sequence.durations import Durations
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

MAX_HOLES: Final = 10_000
MAX_MARKS: Final = 100
#: Sqns that are asked for by receivers, of each of which the NAKs are counted.
MAX_ASKED: Final = 10_000
#: Packets of which each is a row of its own, wherever the capture is cut.
NEVER_JOINED: Final = ("SPM", "NAK", "NCF", "SPMR")
#: Flags of datagrams that came before with all their bytes.
_AGAIN: Final = Flag.NETWORK_DUPLICATE | Flag.ALIKE
#: Nothing that others have overtaken is later.
LATE_NS: Final = 1_000_000_000
#: An NCF is followed by its RDATA; by this time at the latest, or its receiver asks again.
ANSWERED_NS: Final = 500_000_000
#: No receiver asks sooner for what it just learned to be missing (0.29 ms is the soonest recorded).
SOONEST_NAK_NS: Final = 250_000
IP_UDP_BYTES: Final = 28
NOT_TOLD: Final = (
    "packets are not in this capture; whether the receiver had them cannot be told (CP007)"
)
INSIDE: Final = "packets were dropped inside the receiver's host after they had arrived (PG009)"
UNASKED_LATE: Final = (
    "an original came late, and no NAK of this receiver for it is in this capture: whether it had "
    "asked for it, or had a repair before, cannot be told"
)
ANEW: Final = (
    "its source may number its packets anew under the same TSI (a start of it, or another source): "
    "which of them came again, or never, cannot be told"
)
NO_SPM: Final = (
    "no SPM of its source is in this capture, as where only one of its ports was captured: NAKs "
    "and repairs may be missing as well, so that what came late and was asked for cannot be told"
)
#: A source that is there sends SPMs so often (raims.md 2).
SPM_NS: Final = 5_000_000_000
PARITY: Final = "parity packets (FEC) were sent; whether receivers repaired with them is not told"


@dataclass(slots=True)
class NotedSqns:
    """Sqns that something was noticed about."""

    ranges: RangeSet = field(default_factory=RangeSet)
    count: int = 0
    marks: list[Mark] = field(default_factory=list)

    def add(self, first: int, stop: int, mark: Mark) -> None:
        """[first, stop) was noticed."""
        self.ranges.add(first, stop)
        self.count += stop - first
        if len(self.marks) < MAX_MARKS:
            self.marks.append(mark)


@dataclass(slots=True)
class Requester:
    """NAKs of one receiver, and the sqns that it lacked."""

    requests: int = 0
    naks: Counter[int] = field(default_factory=Counter)  # of each of the first sqns
    lacked: NotedSqns = field(default_factory=NotedSqns)


class PgmEngine:
    """Replays one TSI."""

    def __init__(
        self, conversation: str, given: Mapping[str, Given], vantage: Vantage,
        ends: TsiEnds | None = None,
    ) -> None:  # fmt: skip
        self.conversation = conversation
        self.tsi = conversation.partition("|")[2]
        self.parameters = EngineParameters("pgm", PARAMETERS, given)
        self.mtu: int = self.parameters.value("mtu")
        self.vantage = vantage
        self.ends = ends  # where there are captures of other hosts as well
        self.sender: str | None = None
        self.of_raims = False  # it carries raims, which fixes how often a receiver asks
        self._elapsed = Elapsed()
        self.window = PgmWindow(window_settings(self.parameters), self._elapsed)
        self.packets: dict[str, int] = {}
        self.by_source: dict[str, dict[str, int]] = {}
        self.requesters: dict[str, Requester] = {}
        self.seen = RangeSet()
        self.arrivals = 0
        self.bytes = 0
        self.first: Mark | None = None
        self.last: Mark | None = None
        self.copies = NotedSqns()
        self.network_duplicates = 0  # the same datagram, captured again
        self.oversized = NotedSqns()
        self.refused = NotedSqns()  # of those, the receiver asked again behind their repair
        self._repaired_ns: dict[int, int] = {}  # of those, when a repair came last
        self.asked = RangeSet()
        self.confirmed = NotedSqns()
        self.unanswered = NotedSqns()  # confirmed, and asked for again long after
        self._confirmed_ns: dict[int, int] = {}  # sqn -> its last NCF
        self.parity = 0  # packets of forward error correction, which is not replayed
        self.repaired = 0
        self.useful = 0
        self.needless = 0
        self.holes: list[Hole] = []
        self.overtaken = NotedSqns()  # their repair came, and then they did
        self._repaired = RangeSet()
        self.asked_late = 0  # their original came late, and this receiver asked for them
        self.unasked_late = RangeSet()  # of the others those for which its NAK may not be captured
        self._soon_late = RangeSet()  # and those for which it had no time to ask
        self.fates: dict[Fate, int] = dict.fromkeys(Fate, 0)
        self._more_unsure = False  # one that is not listed was given up, and may have come
        self.recovery = Durations()
        self.unlisted = 0
        #: Its source has begun to number its packets anew, or may have: an original comes long
        #: after its number did, and nothing says that it is the same datagram.
        self.anew: Mark | None = None
        self._spm: tuple[int, int, int] | None = None  # the last: its number, lead, and time
        self.waiting = Waiting()

    @property
    def receiving(self) -> bool:
        """Was the capture taken at a receiver?"""
        return self.vantage.kind == MEMBER and self.vantage.address != self.sender

    @property
    def sending(self) -> bool:
        """Was it taken at the sender?"""
        return self.vantage.kind == MEMBER and self.vantage.address == self.sender

    def takes(self, row: Row) -> bool:
        """A row with which nothing happens, without an event of it: the next ODATA, or an SPM that
        says nothing new, while nothing is missing; false: it has to be fed.

        Args:
            row: as ``stage`` has it.
        """
        count, word, seqno, size = row[15], row[12], row[13], row[19]
        if self.first is None or self.sender is None or seqno is None:
            return False
        if word == "LARGE":
            return bool(size + IP_UDP_BYTES <= self.mtu)
        last = Mark(row[3], row[5])
        if word == "ODATA":
            came = self.window.goes_on(seqno, seqno + count, last)
            if came is None:
                return False
            self.seen.add(*came)
            if self.ends is not None:
                self.ends.came(came, Mark(row[1], row[4]), last)
            self.arrivals += count
            self.bytes += size
        elif word != "SPM" or not self._goes_on(row[16], seqno, row[4]):
            return False
        else:
            self._elapsed.saw(Mark(row[1], row[4]))
        self.last = last
        self.packets[word] = self.packets.get(word, 0) + count
        mine = self.by_source.setdefault(row[9] or "", {})
        mine[word] = mine.get(word, 0) + count
        return True

    def feed(self, event: Event) -> None:
        """One row of the TSI."""
        mark, last = event.first_mark(), event.last_mark()
        if event.kind is Kind.MEMBER:
            self.of_raims = True
            return
        if event.wire_kind == "LARGE":
            self._large(event, mark)
            return
        if self.window.holes and self.last is not None:
            self.window.pause(event.at_ns - self.last.at_ns)
        if event.wire_kind in NEVER_JOINED:
            self._elapsed.saw(mark)
        self._give_up(step_of(event.at_ns), event.frame)
        self.window.ids.sent(event)
        self.first = self.first or mark
        self.last = last
        if event.wire_kind == "TRAIL":
            self.window.told_trail(self.window.unwrap(event.stamp or 0), mark)
            self._collect()
            return
        word, before = event.wire_kind, self.window.lead
        self.packets[word] = self.packets.get(word, 0) + event.count
        self.parity += event.count if word.startswith("PARITY_") else 0
        mine = self.by_source.setdefault(event.source or "", {})
        mine[word] = mine.get(word, 0) + event.count
        if word in ("ODATA", "RDATA", "SPM"):
            self.sender = self.sender or event.source
        if event.kind in (Kind.DATA, Kind.RETRANSMISSION):
            self._data(event, mark, last)
        elif word == "SPM":
            lead = (event.stamp or 0) - 1 if event.seqno is None else event.seqno
            if self._begins_anew(event.conn_id, lead, event.at_ns):
                self.anew = self.anew or mark
            self._spm = event.conn_id or 0, lead, event.at_ns
            if self.ends is not None:
                self.ends.passed(event, ())
            if self.window.start is not None and event.stamp is not None:
                self.window.told_trail(self.window.unwrap(event.stamp), mark)
            if event.seqno is not None or event.stamp is not None:
                self.window.told_lead(self.window.unwrap(lead), mark)
        elif word in ("NAK", "NCF"):
            self._request(event, mark)
        self._collect()
        shown = self.window.lead  # by the first of them
        if event.kind is Kind.DATA and event.seqno is not None and shown is not None:
            shown = max(before or 0, shown - event.count + 1)
        self.waiting.saw(self.window, mark.at_ns, last.at_ns, shown)

    def _goes_on(self, number: int | None, lead: int, at_ns: int) -> bool:
        """Does an SPM say nothing new? Then it is the last one; else nothing has happened."""
        if self.ends is not None or not self.window.knows(lead):
            return False
        if self._begins_anew(number, lead, at_ns):
            return False
        self._spm = number or 0, lead, at_ns
        return True

    def _begins_anew(self, number: int | None, lead: int, at_ns: int) -> bool:
        """Does an SPM count SPMs from lower on than one before it, and packets from elsewhere? One
        that is only late has both lower."""
        if self._spm is None or number is None:
            return False
        late = 0 < (self._spm[1] - lead) % SQNS < SQNS // 2 and at_ns - self._spm[2] < LATE_NS
        lower = 0 < (self._spm[0] - number) % SQNS < SQNS // 2
        return lower and lead != self._spm[1] and not late

    def close(self) -> None:
        if self.last is not None:
            self.window.resume(self.last.at_ns)
            self._give_up(self.last.at_ns - SLACK_NS)
            self.waiting.close()
        self._collect()
        if self.ends is not None:
            self.ends.sender, self.ends.first, self.ends.last = self.sender, self.first, self.last
            self.ends.start = self.window.start if self.receiving else None
            self.ends.hidden = sum(self.fates[fate] for fate in UNTOLD)

    def _give_up(self, at_ns: int, frame: int | None = None) -> None:
        """What is due by then."""
        if self.window.holes:
            self.window.give_up(at_ns, frame)
            for hole in self.window.ended[-1:]:
                if hole.ended is not None:
                    due_ns = hole.ended.at_ns
                    self.waiting.saw(self.window, due_ns, due_ns, self.window.lead)

    @property
    def unsure(self) -> bool:
        """Was one given up that may have come? To be asked when nothing follows."""
        return self._more_unsure or any(map(_may_have_come, self.holes))

    def missing(self) -> list[Hole]:
        """Holes still open at the end."""
        return list(self.window.holes.values())

    def _data(self, event: Event, mark: Mark, last: Mark) -> None:
        if event.seqno is None:
            return
        first = self.window.unwrap(event.seqno)
        stop = first + event.count
        repair = event.kind is Kind.RETRANSMISSION
        self.arrivals += event.count
        self.bytes += event.size
        trail = None if event.stamp is None else self.window.unwrap(event.stamp)
        if trail is not None and self.window.start is not None:
            self.window.told_trail(trail, mark)
        known = self.seen.within(first, stop)
        if known and not (repair or event.flags & _AGAIN):
            came = self.window.came_at(known[0][0])
            if came is None or mark.at_ns - came.at_ns >= LATE_NS:
                self.anew = self.anew or mark
        fresh = sum(b - a for a, b in self.seen.add(first, stop))
        lacked = sum(b - a for a, b in self.window.refused.within(first, stop))
        if self.ends is not None and repair:
            self.ends.passed(event, range(first, stop))
        elif self.ends is not None:
            self.ends.came((first, stop), mark, last)
        for low, high in known if repair else ():
            self._asked_unseen(low, high, mark)
        self.window.accept(first, stop, mark, last, repair=repair)
        if trail is not None:  # of what it reveals its sender has no more what is below
            self.window.told_trail(trail, mark)
        if repair:
            self.repaired += event.count
            self.useful += fresh + lacked
            self.needless += event.count - fresh - lacked
        elif known:
            for low, high in known:
                self.copies.add(low, high, mark)
            for low, high in self._repaired.within(first, stop):
                self._repaired.remove(low, high)
                self.overtaken.add(low, high, mark)
            if event.flags & Flag.NETWORK_DUPLICATE:
                self.network_duplicates += event.count
        if repair and event.count == 1:
            self._large(event, mark)

    def _asked_unseen(self, low: int, high: int, mark: Mark) -> None:
        """Sqns are repaired that had come in their order, and neither a NAK nor an NCF of them was
        captured, without which none is: this receiver may have asked just before they came."""
        patience_ns = self.window.rounds_ns()
        for first, stop in self.confirmed.ranges.missing(low, high):
            for sqn in range(first, stop):
                came = self.window.came_at(sqn)
                seen = sqn in self.asked or sqn in self._soon_late
                if came is not None and mark.at_ns - came.at_ns <= patience_ns and not seen:
                    self.unasked_late.add(sqn, sqn + 1)

    def _large(self, event: Event, mark: Mark) -> None:
        """One packet, which may be too large: runs of originals are told of beside theirs."""
        if event.seqno is not None and event.size + IP_UDP_BYTES > self.mtu:
            sqn = self.window.unwrap(event.seqno)
            self.oversized.add(sqn, sqn + 1, mark)
            known = sqn in self._repaired_ns or len(self._repaired_ns) < MAX_ASKED
            if event.kind is Kind.RETRANSMISSION and known:
                self._repaired_ns[sqn] = event.at_ns

    def _request(self, event: Event, mark: Mark) -> None:
        sqns = [self.window.unwrap(a) for a, _ in event.ranges()]
        if self.ends is not None:
            self.ends.passed(event, sqns)
        if event.wire_kind == "NCF":
            for sqn in sqns:
                self.confirmed.add(sqn, sqn + 1, mark)
                if len(self._confirmed_ns) < MAX_ASKED or sqn in self._confirmed_ns:
                    self._confirmed_ns[sqn] = event.at_ns
            self.window.confirmed(sqns, mark)
            return
        asker = self.requesters.setdefault(event.source or "", Requester())
        asker.requests += event.count
        own = event.source == self.vantage.address
        for sqn in sqns:
            asker.lacked.add(sqn, sqn + 1, mark)
            self.asked.add(sqn, sqn + 1)
            if len(asker.naks) < MAX_ASKED or sqn in asker.naks:
                asker.naks[sqn] += event.count
            if event.at_ns - self._confirmed_ns.get(sqn, event.at_ns) >= ANSWERED_NS:
                self.unanswered.add(sqn, sqn + 1, mark)
            if self.receiving and own and sqn in self._repaired_ns:
                since_ns = event.at_ns - self._repaired_ns[sqn]
                if since_ns > self.window.settings.back_off_ns:  # no NAK was under way so long
                    self.refused.add(sqn, sqn + 1, mark)
        if own:  # it met the original on the way
            for late in (self.unasked_late, self._soon_late):
                self.asked_late += sum(len(late.remove(sqn, sqn + 1)) for sqn in sqns)
        if not self.receiving or own:
            self.window.asked(sqns, mark, None if self.receiving else event.source)

    def _collect(self) -> None:
        if self.window.reopened:
            self._reopen()
        for fate, refuted in self.window.refuted:
            self.fates[fate] -= 1
            self.fates[refuted.fate or fate] += 1
        self.window.refuted.clear()
        for hole in self.window.take_ended():
            if hole.fate is None or hole.ended is None:
                continue
            self.fates[hole.fate] += hole.count
            if hole.fate is Fate.LATE and hole.naks:
                self.asked_late += 1
            elif hole.fate is Fate.LATE:
                soon = 0 <= hole.ended.at_ns - hole.revealed.at_ns <= SOONEST_NAK_NS
                late = self._soon_late if soon else self.unasked_late
                late.add(hole.sqn, hole.sqn + 1)
            if hole.fate is Fate.REPAIRED:
                self._repaired.add(hole.sqn, hole.sqn + hole.count)
                self.recovery.add(hole.ended.at_ns - hole.revealed.at_ns)
            if len(self.holes) < MAX_HOLES:
                self.holes.append(hole)
            else:
                self.unlisted += 1
                self._more_unsure |= _may_have_come(hole)

    def _reopen(self) -> None:
        """Holes that had ended are open again."""
        for fate, _ in self.window.reopened:
            self.fates[fate] -= 1
        again = {id(hole) for _, hole in self.window.reopened}
        listed = [hole for hole in self.holes if id(hole) not in again]
        self.unlisted -= len(again) - (len(self.holes) - len(listed))
        self.holes = listed
        self.window.reopened.clear()


def _may_have_come(hole: Hole) -> bool:
    """Was it given up, and may have come?"""
    return hole.fate in GIVEN_UP and hole.loss is not Certainty.PROVEN


def dropped_inside(engine: PgmEngine) -> list[Inside]:
    """Packets that came to this receiver's host and not to the receiver; but those that it cannot
    take because they are too large."""
    found = engine.window.inside.values() if engine.receiving else ()
    return [one for one in found if one.sqn not in engine.oversized.ranges]


def window_settings(parameters: EngineParameters) -> WindowSettings:
    """Timers and limits of a receiver, as the parameters of PGM state them."""
    value = parameters.value
    return WindowSettings(
        value("rxw_sqns"),
        value("nak_data_retries"),
        value("nak_ncf_retries"),
        value("nak_rdata_wait_ms") * 1_000_000,
        value("nak_repeat_ms") * 1_000_000,
        value("nak_back_off_ms") * 1_000_000,
    )


def summary(engine: PgmEngine) -> PgmStreamRow:
    """The stream of a TSI in the report."""
    receiving = engine.receiving and not engine.parity
    lost_for_good = sum(engine.fates[fate] for fate in GIVEN_UP)
    # by NAKs alone: of a repair and a late original the capture may lack the one that came first
    recovered = engine.fates[Fate.REPAIRED] + engine.asked_late
    hidden = PARITY if engine.parity else NOT_VISIBLE
    unknown = {} if receiving else dict.fromkeys(("lost", "recovered", "unrecovered"), hidden)
    if receiving and (engine.unsure or any(engine.fates[fate] for fate in UNTOLD)):
        unknown |= dict.fromkeys(("lost", "recovered", "unrecovered"), NOT_TOLD)
    if receiving and engine.fates[Fate.FOREIGN]:
        unknown |= dict.fromkeys(("lost", "recovered"), NOT_TOLD)
    if receiving and engine.unasked_late:
        unknown |= dict.fromkeys(("lost", "recovered"), UNASKED_LATE)
    first, last = engine.first, engine.last
    spans = first is not None and last is not None and last.at_ns - first.at_ns > SPM_NS
    if receiving and spans and "SPM" not in engine.packets:
        unknown |= dict.fromkeys(("lost", "recovered"), NO_SPM)
    if receiving and engine.anew is not None:
        unknown |= dict.fromkeys(("lost", "recovered", "unrecovered"), ANEW)
    if receiving and dropped_inside(engine):
        unknown |= dict.fromkeys(("lost", "recovered", "unrecovered"), INSIDE)

    def told(name: str, count: int) -> int | None:
        return None if name in unknown else count

    asked = sum(r.requests for r in engine.requesters.values())
    asked_sqns = sum(r.lacked.count for r in engine.requesters.values())
    side: Side = "sent" if engine.receiving else "arrived" if engine.sending else "passed"
    return {
        "role": "receiver" if engine.receiving else "sender" if engine.sending else "between",
        "sender": engine.sender,
        "receiver": engine.vantage.address if engine.receiving else None,
        "conn_id": None,
        "first_seqno": engine.seen.first() if engine.seen else None,
        "last_seqno": engine.seen.stop() - 1 if engine.seen else None,
        "first_frame": engine.first.frame if engine.first else None,
        "last_frame": engine.last.frame if engine.last else None,
        "first_ns": engine.first.at_ns if engine.first else None,
        "last_ns": engine.last.at_ns if engine.last else None,
        "messages": engine.seen.total(),
        "arrivals": engine.arrivals,
        "copies": engine.arrivals - engine.seen.total(),
        "network_duplicates": engine.network_duplicates,
        "bytes": engine.bytes,
        "by_wire_kind": dict(sorted(engine.packets.items())),
        "by_source": {k: dict(sorted(v.items())) for k, v in sorted(engine.by_source.items())},
        "gaps": len(engine.holes) + engine.unlisted + len(engine.window.holes),
        "unlisted_gaps": engine.unlisted
        + max(len(engine.holes) + len(engine.window.holes) - MAX_HOLES, 0),
        "reordered": engine.fates[Fate.LATE],
        "recovered": told("recovered", recovered),
        "unrecovered": told("unrecovered", lost_for_good),
        "lost": told("lost", recovered + lost_for_good),
        "open": len(engine.window.holes),
        "requests": directed(side, asked),
        "requested_seqnos": directed(side, asked_sqns),
        "retransmissions": {
            "useful": engine.useful if receiving else None,
            "needless": engine.needless if receiving else None,
            "undecidable": 0 if receiving else engine.repaired,
        },
        "recovery_ns": engine.recovery.percentiles(),
        "peers": {
            address: {"requests": r.requests, "requested_seqnos": r.lacked.count}
            for address, r in sorted(engine.requesters.items())
        },
        "unknown": unknown,
    }
