"""What the findings of all engines are made with: rows of results, evidence, texts
(replay/README.md 3)."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, Generic, Protocol, TypeVar, cast

from seqaudit.replay.contract.finding import Certainty, Evidence, Finding, Severity
from seqaudit.replay.contract.parameters import EngineParameters, Value
from seqaudit.replay.contract.report_rows import What, WindowFigures
from seqaudit.replay.contract.results import (
    FINDING,
    GAP,
    JUDGED,
    PARAMETER,
    WINDOW,
    D,
    Result,
    ResultKind,
    Row,
)
from seqaudit.replay.contract.story import doubts_over
from seqaudit.replay.contract.worth import Claim, Worth
from seqaudit.replay.sequence.fills import Fill
from seqaudit.replay.sequence.gap_rows import GapFigures
from seqaudit.replay.sequence.gaps import Gap, Mark, Outcome, Part
from seqaudit.replay.sequence.notes import Note, Times
from seqaudit.replay.sequence.ranges import Range, RangeSet

MAX_RANGES: Final = 10_000  # of seqnos listed in a stream; the counts are complete
MAX_EVIDENCE: Final = 8
MAX_NAMED: Final = 4  # ranges that a line of evidence names
#: Less than this at once is no picture: one message is always under way.
LEAST_FILL: Final = 2


class Subject(Protocol):
    """A stream that a finding can be about."""

    key: str
    system: str
    sender: str


S = TypeVar("S", bound=Subject)


class Reporter(Generic[S]):
    """Makes the results of one conversation in one capture.

    Args:
        default_system: of rows that are about no stream.
        worth: what the capture is worth over this conversation; null: nothing was noticed.
    """

    def __init__(
        self,
        capture: int,
        conversation: str,
        parameters: EngineParameters,
        default_system: str,
        worth: Worth | None = None,
    ) -> None:
        self.capture = capture
        self.conversation = conversation
        self.parameters = parameters
        self.default_system = default_system
        self.fired: set[str] = set()
        self.worth = Worth() if worth is None else worth

    def receiver_of(self, stream: S) -> str | None:
        """The member that a stream's findings call the receiver; null if there is no one."""
        raise NotImplementedError

    def receiver_at(self, stream: S, frame: int) -> str | None:
        """Who that was at a frame, where another process may have taken its place."""
        return self.receiver_of(stream)

    def _receivers(self, stream: S, marks: Iterable[Mark]) -> str | list[str | None] | None:
        """Who that was at these moments, one or several in turn."""
        found = list(dict.fromkeys(self.receiver_at(stream, mark.frame) for mark in marks))
        if not found:
            return self.receiver_of(stream)
        return found[0] if len(found) == 1 else found

    # -- rows ------------------------------------------------------------------------------------

    def row(self, kind: ResultKind[D], row: D, stream: S | None = None) -> Result:
        """A row that is no finding."""
        detail: Row = dict(row)
        if kind == GAP:
            detail |= self._for_the_story(cast(GapFigures, row), stream)
        return Result(
            self.capture,
            kind,
            self.conversation,
            self.default_system if stream is None else stream.system,
            detail,
            stream=None if stream is None else stream.key,
            frame=detail.get("frame", detail.get("revealed_frame")),
            at_ns=detail.get("at_ns", detail.get("revealed_at_ns")),
        )

    def filled(
        self, what: What, member: str | None, limit: int | None, fill: Fill,
        stream: S | None = None, begin_ns: int | None = None,
    ) -> Iterator[Result]:  # fmt: skip
        """How full something was over time; nothing where it hardly held anything.

        Args:
            member: whose window it is.
            begin_ns: when it was known to be empty; null: nobody knows.
        """
        if fill.most < LEAST_FILL:
            return
        points = fill.points()
        if begin_ns is not None and points[0][0] > begin_ns:
            points.insert(0, [begin_ns, 0])
        detail: WindowFigures = {
            "what": what, "member": member, "limit": limit, "most": fill.most,
            "thinned": fill.thinned, "points": points,
        }  # fmt: skip
        yield self.row(WINDOW, detail, stream)

    def _for_the_story(self, gap: GapFigures, stream: S | None) -> Row:
        """What a gap's story needs and its row does not say (``contract.story``)."""
        receiver = None if stream is None else self.receiver_at(stream, gap["revealed_frame"])
        doubts = doubts_over(gap, self.worth, None if stream is None else stream.key)
        return {"receiver": receiver} | ({"doubts": doubts} if doubts else {})

    def finding(self, finding: Finding, stream: S | None) -> Result:
        self.fired.add(finding.rule)
        return Result(
            self.capture,
            FINDING,
            self.conversation,
            self.default_system if stream is None else stream.system,
            finding.detail(),
            stream=None if stream is None else stream.key,
            frame=finding.frame,
            at_ns=finding.at_ns,
            rule=finding.rule,
        )

    def judged(self, code: str, why: str | None) -> Result:
        """Whether a rule was judged here; ``why`` not, null if it was."""
        return Result(
            self.capture,
            JUDGED,
            self.conversation,
            self.default_system,
            {"rule": code, "judged": why is None or code in self.fired, "why": why},
            rule=code,
        )

    def parameter(self, name: str, value: Value | None, origin: str) -> Result:
        """A parameter that was used, and who said so."""
        return Result(
            self.capture,
            PARAMETER,
            self.conversation,
            self.default_system,
            {"name": f"{self.parameters.system}.{name}", "value": value, "origin": origin},
        )

    def parameters_used(self, names: Iterable[str]) -> Iterator[Result]:
        """Parameters as they were given or by default."""
        for name in names:
            yield self.parameter(name, self.parameters.value(name), self.parameters.origin(name))

    # -- findings --------------------------------------------------------------------------------

    def make(
        self,
        stream: S,
        rule: str,
        claim: Claim | Certainty,
        text: str,
        *,
        seqnos: Iterable[Range] = (),
        mark: Mark | None = None,
        evidence: Iterable[tuple[Mark, str]] = (),
        facts: Mapping[str, object] | None = None,
        default: str | None = None,
        holds: dict[str, int] | None = None,
        severity: Severity | None = None,
    ) -> Finding:
        """A finding about a stream, as sure as its claim is in this capture.

        Args:
            claim: what it rests on; a bare certainty is a claim that rests on nothing else.
            default: a parameter that it rests on; not given, the finding says so.
        """
        if not isinstance(claim, Claim):
            claim = Claim(claim)
        evidence = list(evidence)
        moments = [at for at, _ in evidence] + ([] if mark is None else [mark])
        verdict = self.worth.judge(claim, stream.key)
        if default is not None and not self.parameters.is_given(default):
            name = f"{self.parameters.system}.{default}"
            text += f" ({name} is not given: judged by its default.)"
        if verdict.reasons:
            text += f" ({'; '.join(verdict.reasons)}.)"
        if verdict.in_hole:
            severity = Severity.INFO
        return Finding(
            rule,
            verdict.certainty,
            text,
            rests=claim.rests,
            system=stream.system,
            stream=stream.key,
            frame=None if mark is None else mark.frame,
            at_ns=None if mark is None else mark.at_ns,
            seqnos=list(seqnos),
            evidence=[Evidence(at.frame, shows) for at, shows in evidence],
            facts={
                "sender_member": stream.sender,
                "receiver_member": self._receivers(stream, moments),
                **(facts or {}),
            },
            holds=holds or {},
            severity=severity,
        )

    def note(
        self,
        stream: S,
        rule: str,
        note: Note | Times,
        claim: Claim | Certainty,
        text: str,
        shows: str,
        severity: Severity | None = None,
        **facts: object,
    ) -> Iterator[Finding]:
        """A finding about noticed seqnos, or what happened several times; none if nothing is."""
        if note:
            yield self.make(
                stream,
                rule,
                claim,
                text,
                seqnos=listed(note.ranges),
                mark=note.marks[0] if note.marks else None,
                evidence=[(mark, shows) for mark in note.marks[:MAX_EVIDENCE]],
                facts={**note.facts(), **facts},
                severity=severity,
            )

    def gap_finding(
        self,
        stream: S,
        rule: str,
        gaps: list[Gap],
        ranges: Iterable[Range],
        text: str,
        *,
        claim: Claim | Certainty = Certainty.PROVEN,
        holds: dict[str, int] | None = None,
        severity: Severity | None = None,
        **facts: object,
    ) -> Finding:
        """A finding about gaps, with what revealed them, the request and the repair as evidence."""
        seqnos = RangeSet(ranges)
        evidence: list[tuple[Mark, str]] = []
        for gap in gaps[: MAX_EVIDENCE // 2]:
            these = are(span(gap))
            evidence.append((gap.revealed, f"{gap.revealed_by} shows that {these} missing"))
            if gap.requested is not None:
                number = next((ask.number or 0 for ask in gap.asks), 0)
                if 0 < number < gap.stop - gap.first:
                    these = f"{number} of {span(gap)} {'is' if number == 1 else 'are'}"
                evidence.append((gap.requested, f"{these} asked for"))
            for outcome, part in gap.parts.items():
                if part.last is not None:
                    evidence.append((part.last, _shown(outcome, part)))
        return self.make(
            stream,
            rule,
            claim,
            text,
            seqnos=listed(seqnos),
            mark=gaps[0].revealed,
            evidence=evidence[: 2 * MAX_EVIDENCE],
            facts={
                "count": seqnos.total(),
                "receiver_member": self._receivers(stream, [gap.revealed for gap in gaps]),
            }
            | facts,
            holds=holds,
            severity=severity,
        )


def parts_of(gaps: Iterable[Gap], outcome: Outcome) -> list[Range]:
    """The ranges of gaps that ended this way."""
    return [r for gap in gaps if outcome in gap.parts for r in gap.parts[outcome].ranges]


def listed(ranges: RangeSet) -> list[Range]:
    """The first ranges of a set, as many as a report lists."""
    return [r for r, _ in zip(ranges, range(MAX_RANGES), strict=False)]


def span(gap: Gap) -> str:
    """A gap's seqnos in a text."""
    return spelled((gap.first, gap.stop))


def _shown(outcome: Outcome, part: Part) -> str:
    """What the last frame of a part shows: of these seqnos, as others of the gap may end
    otherwise."""
    named = [spelled(r) for r in islice(part.ranges, MAX_NAMED)]
    rest = len(part.ranges) - len(named)
    seqnos = ", ".join(named) + (f" and {rest} more ranges" if rest > 0 else "")
    if outcome in (Outcome.UNCAPTURED, Outcome.REPAIRED):
        return f"shows that {seqnos} had arrived"
    return f"{are(seqnos)} complete"


def are(seqnos: str) -> str:
    """``5 is``, ``5-9 are``, ``5, 7 are``."""
    return f"{seqnos} {'is' if seqnos.isdecimal() else 'are'}"


def spelled(part: Range) -> str:
    """``5``, ``5-9``."""
    first, last = part[0], part[1] - 1
    return f"{first}" if first == last else f"{first}-{last}"
