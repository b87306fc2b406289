"""What a replayed TSI says: its stream, holes as gaps, findings PG (replay/README.md 5; raims.md
2)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, MAX_NAMED, Reporter
from seqaudit.replay.contract.results import GAP, STREAM, Result
from seqaudit.replay.contract.settings import MEMBER
from seqaudit.replay.contract.story import BETWEEN, RECEIVER, Where, by_outcome, placed
from seqaudit.replay.contract.worth import (
    LIKELY,
    PLACED_HERE,
    SHOWN,
    TIMED,
    UNDECIDABLE,
    Claim,
    absence,
)
from seqaudit.replay.pgm.engine import (
    ANEW,
    MAX_HOLES,
    PARITY,
    NotedSqns,
    PgmEngine,
    dropped_inside,
    summary,
)
from seqaudit.replay.pgm.holes import GIVEN_UP, Fate, Hole
from seqaudit.replay.pgm.rules import PGM as RULES
from seqaudit.replay.sequence.gap_rows import GapFigures, Step
from seqaudit.replay.sequence.gaps import Mark, Outcome, between
from seqaudit.replay.sequence.ranges import RangeSet

_NO_RECEIVER: Final = "the capture was not taken at a receiver"
#: Of a run of smaller packets only the bytes of all are known.
LEAST_MTU: Final = 1_500
_SMALL_MTU: Final = "pgm.mtu is less than 1500, and smaller packets are not measured one by one"
_NEEDS_RECEIVER: Final = frozenset({"PG001", "PG002", "PG008", "PG009"})
#: Ends of packets that are in the capture.
_CAME: Final = (Fate.LATE, Fate.REPAIRED, Fate.FOREIGN, Fate.PASSED)
_LEAKY: Final = "the capture lacks other packets of it, perhaps the last repair as well"
_BEGUN: Final = "or the receiver was started behind them, and its window began with a repair"
#: The order of captured frames is all there is.
_IN_ORDER: Final = Claim(Certainty.LIKELY, Rests(ordered=True))
#: A request so shortly before the end may be answered behind it.
END_NS: Final = 1_000_000_000
_PARAMETERS: Final = ("rxw_sqns", "nak_data_retries", "nak_rdata_wait_ms", "mtu")


def results(engine: PgmEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one TSI in one capture."""
    return list(_PgmFindings(engine, capture).rows())


@dataclass(slots=True)
class _PgmSubject:
    key: str
    sender: str
    system: str = "pgm"


class _PgmFindings(Reporter[_PgmSubject]):
    def __init__(self, engine: PgmEngine, capture: int) -> None:
        super().__init__(capture, engine.conversation, engine.parameters, "pgm")
        self.engine = engine
        self.about = _PgmSubject(engine.tsi, engine.sender or "")

    def receiver_of(self, stream: _PgmSubject) -> str | None:
        return self.engine.vantage.address if self.engine.receiving else None

    def rows(self) -> Iterator[Result]:
        yield self.row(STREAM, summary(self.engine), self.about)
        for hole in self.engine.holes:
            yield self.row(GAP, self._gap(hole), self.about)
        for hole in self.engine.missing()[: MAX_HOLES - len(self.engine.holes)]:
            yield self.row(GAP, self._gap(replace(hole, fate=Fate.OPEN)), self.about)
        if self.engine.receiving:
            limit = self.parameters.value("rxw_sqns")
            receiver = self.receiver_of(self.about)
            yield from self.filled(
                "packets from the first missing one on",
                receiver,
                limit,
                self.engine.waiting.fill,
                self.about,
            )
        for finding in self._findings():
            yield self.finding(finding, self.about)
        for rule in RULES:
            if rule.code.startswith("PG"):
                why = None
                if rule.code == "PG006" and self.engine.mtu < LEAST_MTU:
                    why = _SMALL_MTU
                if rule.code in _NEEDS_RECEIVER:
                    why = PARITY if self.engine.parity else None
                    why = why if self.engine.receiving else _NO_RECEIVER
                yield self.judged(rule.code, why)
        if self.engine.receiving:
            yield self.judged("CP007", None)
        yield from self.parameters_used(_PARAMETERS)

    def _gap(self, hole: Hole) -> GapFigures:
        """One hole as a row of ``gaps``, with what its story needs."""
        role = RECEIVER if self.engine.receiving else BETWEEN
        asks = [ask.step() for ask in hole.asks]
        ncf: list[Step] = [] if hole.ncf is None else [
            {
                "step": "confirmed", "frame": hole.ncf.frame, "at_ns": hole.ncf.at_ns,
                "by": self.engine.sender, "says": "NCF: the sender heard it",
            }
        ]  # fmt: skip
        row = _gap(hole)
        row["placed"] = placed(*_lost_where(hole, role))
        if asks or ncf:
            row |= {"heard": asks + ncf, "heard_more": max(hole.naks - len(hole.asks), 0)}
        return row

    def _findings(self) -> Iterator[Finding]:
        engine = self.engine
        if engine.receiving and not engine.parity:
            yield from self._of_receiver()
        elif engine.vantage.kind != MEMBER:
            yield from self._of_nobody()
        late = [hole for hole in engine.holes if hole.fate is Fate.LATE]
        yield from self._holes(
            "PG003", [h for h in late if h.naks and engine.receiving], SHOWN,
            "{count:packet} of {sender_member} came late, as {count|it was|they were} sent first.",
        )  # fmt: skip
        yield from self._holes(
            "PG003", [h for h in late if not (h.naks and engine.receiving)], _IN_ORDER,
            "{count:packet} of {sender_member} {count|was|were} captured behind later ones.",
        )  # fmt: skip
        if engine.overtaken.count and engine.receiving:
            yield self._noted(
                "PG003", engine.overtaken, SHOWN,
                "{count:packet} of {sender_member} came behind {count|its|their} repair: late, "
                "and not lost.",
            )  # fmt: skip
        if engine.copies.count:
            again = SHOWN if engine.anew is None else Claim(Certainty.UNDECIDABLE, why=ANEW)
            yield self._noted(
                "PG004", engine.copies, again,
                "{count:packet} of {sender_member} {count|was|were} captured more than once.",
            )  # fmt: skip
        yield from self._asked_elsewhere()
        yield from self._oversized()
        yield from self._unanswered()

    def _of_receiver(self) -> Iterator[Finding]:
        """What became of the packets that the observer lacked."""
        by_fate: dict[Fate | None, list[Hole]] = {}
        for hole in self.engine.holes:
            by_fate.setdefault(hole.fate, []).append(hole)
        yield from self._holes(
            "PG001", by_fate.get(Fate.REPAIRED, []), SHOWN, "{count:packet} of {sender_member} "
            "{count|was|were} lost or late, and came again as RDATA.",
        )  # fmt: skip
        gone = [hole for fate in GIVEN_UP for hole in by_fate.get(fate, [])]
        for sure in (Certainty.PROVEN, Certainty.LIKELY):
            some = [hole for hole in gone if self._loss(hole) is sure]
            by_rounds = any(hole.fate is Fate.RETRIES for hole in some)
            full = any(hole.fate is Fate.FULL for hole in some)
            yield from self._holes(
                "PG002", some, self._given_up(some, sure),
                "{count:packet} of {sender_member} never came; {receiver_member} {why}.",
                "rxw_sqns" if full else self._rounds if by_rounds else None,
            )  # fmt: skip
        yield from self._holes(
            "CP007", by_fate.get(Fate.ASKED, []), LIKELY,
            "{receiver_member} asked {most:time} for {count:packet} of {sender_member} and no "
            "more: {count|it|they} came, and the capture missed {count|it|them}; or it ended, or "
            "the sender had {count|it|them} no more.",
            self._rounds,
        )  # fmt: skip
        yield from self._holes(
            "PG003", by_fate.get(Fate.PASSED, []), UNDECIDABLE,
            "{count:packet} of {sender_member} came when {receiver_member} seemed to have given "
            "{count|it|them} up: whether it took {count|it|them} cannot be told.",
        )  # fmt: skip
        unasked = [*by_fate.get(Fate.UNASKED, []), *(h for h in gone if h.loss is UNDECIDABLE.best)]
        jumps = [hole for hole in unasked if hole.is_jump]
        yield from self._holes(
            "CP007", jumps, UNDECIDABLE,
            "The numbers of {sender_member} jump over {count:packet}, more than a receiver can ask "
            "for: {receiver_member} or this capture missed {count|it|them}, or the source began to "
            "number its packets anew under the same TSI. Which of these cannot be told.",
        )  # fmt: skip
        yield from self._holes(
            "CP007", [hole for hole in unasked if not hole.is_jump], UNDECIDABLE,
            "{count:packet} of {sender_member} {count|is|are} not in this capture, and no NAK of "
            "{receiver_member} for {count|it|them} either: it had {count|it|them} and the capture "
            "missed {count|it|them}, or the capture missed the NAKs; whether {count|it was|they "
            "were} lost cannot be told.",
        )  # fmt: skip
        yield from self._holes(
            "CP007", by_fate.get(Fate.FOREIGN, []), UNDECIDABLE,
            "{count:packet} of {sender_member} {count|is|are} in this capture as RDATA alone, and "
            "no NAK of {receiver_member} for {count|it|them}: another receiver asked for "
            "{count|it|them}, or the capture missed its NAKs.",
        )  # fmt: skip
        yield from self._inside()
        yield from self._holes(
            "PG008", [hole for hole in self.engine.missing() if hole.naks], UNDECIDABLE,
            "{count:packet} of {sender_member} {count|was|were} asked for and {count|is|are} open "
            "at the end.",
        )  # fmt: skip

    @property
    def _rounds(self) -> str | None:
        """The parameter that says how often a receiver asks, if the default stands in for it; raims
        fixes it."""
        given = self.engine.of_raims or self.parameters.is_given("nak_data_retries")
        return None if given else "nak_data_retries"

    def _loss(self, hole: Hole) -> Certainty:
        """How sure it is that a packet that was given up never came."""
        by_default = hole.fate is Fate.RETRIES and self._rounds is not None
        return Certainty.LIKELY if by_default else hole.loss

    def _given_up(self, holes: list[Hole], sure: Certainty) -> Claim:
        """Shown by NAKs that are counted, and by what did not come in the last wait; below a trail
        by the time that was left to ask, too: it tells what was had from what was given up."""
        if sure is Certainty.PROVEN and holes:
            waits = [hole.last_wait for hole in holes]
            first, last = min(wait[0] for wait in waits), max(wait[1] for wait in waits)
            timed = any(hole.fate is Fate.TRAIL for hole in holes)
            return absence(first, last, certified=True, timed=timed)
        leaky = any(hole.leaks.count for hole in holes)
        return Claim(sure, why=_LEAKY if leaky else "")

    def _inside(self) -> Iterator[Finding]:
        """PG009: what had come, and was asked for long afterwards."""
        found = dropped_inside(self.engine)
        for sure in (Certainty.PROVEN, Certainty.LIKELY):
            some = [one for one in found if one.loss is sure]
            if not some:
                continue
            evidence: list[tuple[Mark, str]] = []
            for one in some[: MAX_EVIDENCE // 2]:
                evidence += [(one.came, f"{one.sqn} arrives"), (one.asked, f"a NAK for {one.sqn}")]
            yield self.make(
                self.about, "PG009",
                PLACED_HERE if sure is Certainty.PROVEN else
                Claim(sure, why=_BEGUN if any(one.begun for one in some) else ""),
                "{count:packet} of {sender_member} had arrived at the interface of "
                "{receiver_member} when it asked for {count|it|them}: dropped inside.",
                seqnos=list(RangeSet((one.sqn, one.sqn + 1) for one in some))[:1000],
                mark=some[0].asked, evidence=evidence, facts={"count": len(some)},
            )  # fmt: skip

    def _of_nobody(self) -> Iterator[Finding]:
        """What is missing here, and who lacked it too: a NAK is one wherever it passes."""
        engine = self.engine
        holes = [h for h in engine.holes if h.fate not in _CAME]
        holes += engine.missing()
        if not holes:
            return
        missing = RangeSet((h.sqn, h.sqn + h.count) for h in holes)
        text = "{count:packet} of {sender_member} {count|is|are} missing here"
        facts: dict[str, object] = {"count": missing.total()}
        evidence = [(h.revealed, f"{h.revealed_by} shows that {h.sqn} is missing")
                    for h in holes[: MAX_EVIDENCE // 2]]  # fmt: skip
        asked = 0
        for address, requester in sorted(engine.requesters.items()):
            wanted = {sqn: n for sqn, n in requester.naks.items() if sqn in missing}
            if wanted and asked < MAX_NAMED:
                text += (f"; {{asker{asked}_member}} asked {{times{asked}:time}} for "
                         f"{{wanted{asked}}} of them")  # fmt: skip
                facts |= {f"asker{asked}_member": address, f"times{asked}": sum(wanted.values()),
                          f"wanted{asked}": len(wanted)}  # fmt: skip
                evidence.append((requester.lacked.marks[0], f"a NAK of {address}"))
                asked += 1
        text += ", and no RDATA passed." if asked else "; nobody was seen to ask for them."
        yield self.make(
            self.about, "PG007", UNDECIDABLE, text, seqnos=list(missing)[:1000],
            mark=holes[0].revealed, evidence=evidence, facts=facts,
        )  # fmt: skip

    def _asked_elsewhere(self) -> Iterator[Finding]:
        """PG010: whoever asks lacks what it asks for, wherever its NAK passes."""
        for address, requester in sorted(self.engine.requesters.items()):
            here = self.engine.receiving and address == self.engine.vantage.address
            if requester.lacked.count and not here:  # what was cut off does not say for which
                yield self._noted(
                    "PG010", requester.lacked, SHOWN,
                    "{asker_member} lacked {count:packet} of {sender_member} and asked for "
                    "{count|it|them}: lost or late on the way, dropped inside it, or from before "
                    "it joined; its own capture shows which, and what came.",
                    shows="a NAK", distinct=True, asker_member=address,
                )  # fmt: skip

    def _oversized(self) -> Iterator[Finding]:
        """Packets that no receiver can take: shown by one that asks for what came to it."""
        engine = self.engine
        if not engine.oversized.count or engine.mtu < LEAST_MTU:
            return
        shown = engine.refused.count
        claim = TIMED if shown else LIKELY
        yield self._noted(
            "PG006", engine.refused if shown else engine.oversized, claim,
            "{count:packet} of {sender_member} {count|is|are} larger than pgm.mtu: no receiver "
            "can take {count|it|them}.",
            default="mtu", distinct=True,
        )  # fmt: skip

    def _unanswered(self) -> Iterator[Finding]:
        """NAKs that the sender confirmed and did not answer; those of the end may be yet.

        A capture without the packets that were asked for (a filter, a full buffer) is not one that
        would have their repairs, which are as large.
        """
        engine = self.engine
        if not engine.sending or engine.repaired or engine.last is None:
            return
        until_ns = engine.last.at_ns - END_NS
        due = [mark for mark in engine.confirmed.marks if mark.at_ns < until_ns]
        if not due:
            return
        sent = (engine.seen.within(*asked) for asked in engine.unanswered.ranges)
        again = sum(stop - start for found in sent for start, stop in found) > 1
        yield self._noted(
            "PG005", engine.confirmed,
            absence(due[0].frame, engine.last.frame, certified=again, here=True),
            "{count:request} {count|was|were} confirmed and none was answered.",
        )  # fmt: skip

    def _noted(
        self, rule: str, noted: NotedSqns, claim: Claim, text: str, default: str | None = None,
        *, distinct: bool = False, shows: str = "here", **facts: object,
    ) -> Finding:  # fmt: skip
        return self.make(
            self.about, rule, claim, text,
            seqnos=list(noted.ranges)[:1000], mark=noted.marks[0],
            evidence=[(mark, shows) for mark in [*dict.fromkeys(noted.marks)][:MAX_EVIDENCE]],
            facts={"count": noted.ranges.total() if distinct else noted.count} | facts,
            default=default,
        )  # fmt: skip

    def _holes(
        self, rule: str, holes: list[Hole], claim: Claim, text: str, default: str | None = None
    ) -> Iterator[Finding]:
        if not holes:
            return
        evidence = []
        for hole in holes[: MAX_EVIDENCE // 2]:
            evidence.append((hole.revealed, f"{hole.revealed_by} shows that {hole.sqn} is missing"))
            if hole.ended is not None and hole.fate is not None:
                rounds = f" (requests for it: {hole.naks})" if hole.fate in GIVEN_UP else ""
                evidence.append((hole.ended, f"{hole.sqn}: {hole.fate}{rounds}"))
        why = sorted({str(hole.fate) for hole in holes})
        count = sum(hole.count for hole in holes)
        if len(self.engine.holes) >= MAX_HOLES and rule != "PG008":  # the rest is only counted
            fates = {hole.fate for hole in holes}
            count = max(count, sum(self.engine.fates[fate] for fate in fates if fate is not None))
        yield self.make(
            self.about, rule, claim, text,
            seqnos=list(RangeSet((h.sqn, h.sqn + h.count) for h in holes))[:1000],
            mark=holes[0].revealed, evidence=evidence,
            facts={"count": count, "why": "; ".join(why), "most": max(h.naks for h in holes)},
            default=default,
        )  # fmt: skip


def _lost_where(hole: Hole, role: str) -> tuple[Where, str]:
    """Where the packets of a hole were lost, and what says so."""
    if hole.fate is Fate.LATE:
        return by_outcome(Outcome.REORDERED, role, hole.naks)
    if hole.fate is Fate.REPAIRED or (hole.fate in GIVEN_UP and hole.naks):
        return by_outcome(Outcome.UNRECOVERED, role, hole.naks)
    if hole.fate is Fate.FOREIGN:
        return Where.UNTOLD, "it was repaired for another receiver; this one did not ask for it"
    if hole.fate is Fate.PASSED:
        return Where.UNTOLD, "it came when it seemed to be given up"
    if hole.fate is Fate.OPEN:
        return by_outcome(Outcome.GONE, RECEIVER, hole.naks)
    asked = Outcome.STOPPED if hole.naks else Outcome.UNASKED
    return by_outcome(asked, RECEIVER, hole.naks)


def _gap(hole: Hole) -> GapFigures:
    outcome = "unrecovered" if hole.fate in GIVEN_UP else str(hole.fate)
    came = hole.fate in (Fate.LATE, Fate.REPAIRED)
    ended = hole.ended
    return {
        "seqnos": [[hole.sqn, hole.sqn + hole.count - 1]],
        "count": hole.count,
        "outcome": outcome,
        "why": None if came else str(hole.fate),
        "lost_after_frame": hole.before.frame if hole.before else None,
        "revealed_frame": hole.revealed.frame,
        "revealed_at_ns": hole.revealed.at_ns,
        "revealed_by": hole.revealed_by,
        "revealed_after_ns": between(hole.before, hole.revealed),
        "requested_frame": hole.asked.frame if hole.asked else None,
        "requested_after_ns": between(hole.revealed, hole.asked),
        "requests": hole.naks,
        "repaired_frame": ended.frame if came and ended else None,
        "repaired_after_ns": between(hole.asked or hole.revealed, ended) if came else None,
        "ended_at_ns": None if ended is None or hole.sooner else ended.at_ns,
        "delivered_frame": None,
        "delivered_after_ns": None,
    }
