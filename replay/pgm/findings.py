"""What a replayed TSI says: its stream, holes as gaps, findings PG (design 4.5; raims.md 2)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from seqaudit.replay.contract.finding import Certainty, Finding
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, Reporter
from seqaudit.replay.contract.results import GAP, STREAM, Result
from seqaudit.replay.pgm.engine import MAX_HOLES, PARITY, PgmEngine, summary
from seqaudit.replay.pgm.rules import PGM as RULES
from seqaudit.replay.pgm.window import Fate, Hole
from seqaudit.replay.sequence.gaps import between
from seqaudit.replay.sequence.ranges import RangeSet

_NO_RECEIVER: Final = "the capture was not taken at a receiver (design 4.7)"
_NEEDS_RECEIVER: Final = frozenset({"PG001", "PG002"})
_LOST: Final = (Fate.RETRIES, Fate.TRAIL, Fate.FULL)
_PARAMETERS: Final = ("rxw_sqns", "nak_data_retries", "nak_rdata_wait_ms", "mtu")


def results(engine: PgmEngine, capture: int, end_ns: int) -> list[Result]:
    """Everything there is to say about one TSI in one capture."""
    return list(_Reporter(engine, capture).rows())


@dataclass(slots=True)
class _Subject:
    key: str
    sender: str
    system: str = "pgm"


class _Reporter(Reporter):
    def __init__(self, engine: PgmEngine, capture: int) -> None:
        super().__init__(capture, engine.conversation, engine.parameters, "pgm")
        self.engine = engine
        self.about = _Subject(engine.tsi, engine.sender or "")

    def receiver_of(self, stream: Any) -> str | None:
        return self.engine.vantage.address if self.engine.receiving else None

    def rows(self) -> Iterator[Result]:
        yield self.row(STREAM, summary(self.engine), self.about)
        for hole in self.engine.holes:
            yield self.row(GAP, _gap(hole), self.about)
        for hole in self.engine.missing()[: MAX_HOLES - len(self.engine.holes)]:
            yield self.row(GAP, _gap(replace(hole, fate=Fate.OPEN)), self.about)
        for finding in self._findings():
            yield self.finding(finding, self.about)
        for rule in RULES:
            if rule.code.startswith("PG"):
                why = None
                if rule.code in _NEEDS_RECEIVER:
                    why = PARITY if self.engine.parity else None
                    why = why if self.engine.receiving else _NO_RECEIVER
                yield self.judged(rule.code, why)
        if self.engine.receiving:
            yield self.judged("CP007", None)
        yield from self.parameters_used(_PARAMETERS)

    def _findings(self) -> Iterator[Finding]:
        engine = self.engine
        if engine.receiving and not engine.parity:
            yield from self._holes(
                "PG001", (Fate.REPAIRED,), "{count:packet} of {sender_member} {count|was|were} "
                "lost and came again as RDATA.",
            )  # fmt: skip
            yield from self._holes(
                "PG002", _LOST, "{count:packet} of {sender_member} never came; {receiver_member} "
                "{why}.",
            )  # fmt: skip
            yield from self._holes(
                "CP007", (Fate.UNASKED,), "{count:packet} of {sender_member} {count|is|are} not in "
                "this capture, and no NAK of {receiver_member} for {count|it|them} either: it had "
                "{count|it|them} and the capture missed {count|it|them}, or the capture missed the "
                "NAKs; whether {count|it was|they were} lost cannot be told.",
                certainty=Certainty.UNDECIDABLE,
            )  # fmt: skip
        yield from self._holes(
            "PG003", (Fate.LATE,), "{count:packet} of {sender_member} came late, as "
            "{count|it was|they were} sent first.",
        )  # fmt: skip
        for rule, noted, text in (
            ("PG004", engine.copies, "{count:packet} of {sender_member} came more than once."),
            (
                "PG006", engine.oversized,
                "{count:packet} of {sender_member} {count|is|are} larger than pgm.mtu: no receiver "
                "can take {count|it|them}.",
            ),
        ):  # fmt: skip
            if noted.count:
                yield self.make(
                    self.about, rule, Certainty.PROVEN, text,
                    seqnos=list(noted.ranges)[:1000], mark=noted.marks[0],
                    evidence=[(mark, "here") for mark in noted.marks[:MAX_EVIDENCE]],
                    facts={"count": noted.count},
                    default="mtu" if rule == "PG006" else None,
                )  # fmt: skip
        if engine.sending and engine.confirmed.count and not engine.repaired:
            yield self.make(
                self.about, "PG005", Certainty.PROVEN,
                "{count:request} {count|was|were} confirmed and none was answered.",
                seqnos=list(engine.confirmed.ranges)[:1000], mark=engine.confirmed.marks[0],
                facts={"count": engine.confirmed.count},
            )  # fmt: skip
        if engine.vantage.kind == "unknown" and engine.window.holes:
            yield self.make(
                self.about, "PG007", Certainty.UNDECIDABLE,
                "{count:packet} of {sender_member} {count|is|are} missing here.",
                facts={"count": len(engine.window.holes)},
            )  # fmt: skip

    def _holes(
        self, rule: str, fates: tuple[Fate, ...], text: str,
        certainty: Certainty = Certainty.PROVEN,
    ) -> Iterator[Finding]:  # fmt: skip
        holes = [hole for hole in self.engine.holes if hole.fate in fates]
        if not holes:
            return
        evidence = []
        for hole in holes[: MAX_EVIDENCE // 2]:
            evidence.append((hole.revealed, f"{hole.revealed_by} shows that {hole.sqn} is missing"))
            if hole.ended is not None and hole.fate is not None:
                evidence.append((hole.ended, f"{hole.sqn}: {hole.fate}"))
        why = sorted({str(hole.fate) for hole in holes})
        yield self.make(
            self.about, rule, certainty, text,
            seqnos=list(RangeSet((h.sqn, h.sqn + h.count) for h in holes))[:1000],
            mark=holes[0].revealed, evidence=evidence,
            facts={"count": sum(self.engine.fates[fate] for fate in fates), "why": "; ".join(why)},
        )  # fmt: skip


def _gap(hole: Hole) -> dict[str, Any]:
    """One hole as a row of ``gaps``."""
    outcome = "unrecovered" if hole.fate in _LOST else str(hole.fate)
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
        "repaired_after_ns": between(hole.revealed, ended) if came else None,
        "ended_at_ns": ended.at_ns if ended else None,
        "delivered_frame": None,
        "delivered_after_ns": None,
    }
