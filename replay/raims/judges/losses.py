"""Losses of messages, and copies of them (raims.md 9)."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.finding import Certainty, Finding, Rests, Severity
from seqaudit.replay.contract.reporter import MAX_EVIDENCE, MAX_RANGES
from seqaudit.replay.contract.results import Row
from seqaudit.replay.contract.worth import LIKELY, SHOWN, Claim
from seqaudit.replay.raims import own_words
from seqaudit.replay.raims.bounds import bounds_of
from seqaudit.replay.raims.gaps import known_seqnos
from seqaudit.replay.raims.links import PGM
from seqaudit.replay.raims.missing import rests_of
from seqaudit.replay.raims.reporting import HELD_UP, About, RaimsReporter
from seqaudit.replay.raims.seqno import shown
from seqaudit.replay.raims.streams import ELSEWHERE, RaimsStream, RepeatedMessage, ReportedVerdict
from seqaudit.replay.raims.truth import BY_BASE, BY_NOTHING, BY_SQNS
from seqaudit.replay.sequence.gaps import Mark

_OF_UNKNOWN_SIZE: Final = ("raims-9.12", "raims-14.1-11")
_UNSEEN_BEFORE: Final = Claim(
    Certainty.LIKELY, why="what came just before it is not all in this capture, or was not read"
)
_TOO_OLD: Final = "whether the message behind them was too old for the window goes by clocks"
_LATE_ORIGINAL: Final = Claim(
    Certainty.LIKELY, Rests(ordered=True), why="what came late was not captured before"
)
#: Behind packets that they gave up before others some daemons take nothing, and count nothing.
_IF_IT_WENT_ON: Final = (
    "; whether raims counts {lower|it|them} cannot be told: nothing shows that the daemon went on "
    "behind packets that it had given up before others."
)

_NOT_HERE: Final = (
    "{lower:message} of {sender_member} did not come before what follows {lower|it|them}: lost, "
    "late, or not captured."
)
#: While their publisher seemed to be dropped.
_CAME_UNTAKEN: Final = (
    "Whether this daemon took {lower:message} of {sender_member} cannot be told, nor what it "
    "counts."
)

_COUNTS: Final = (
    "raims counts {counted:message} of {sender_member} as lost that {counted|was|were} not."
)
_MAY_COUNT: Final = "raims may count messages of {sender_member} as lost that were not."


def findings(report: RaimsReporter, stream: RaimsStream, about: About) -> Iterator[Finding]:
    yield from _glsno(report, stream, about)
    yield from _restarts(report, stream, about)
    if not report.known:
        return
    steps = stream.steps
    real = [s for s in steps if s.loss is not None and s.loss.lower]
    # what the daemon tells the publisher of it has counted, whatever the replay makes of it; of a
    # loss of unknown size that is 1, as its notice says as well, however many it was
    told = [s for s in real if s.loss and s.loss.told and (
            s.verdict.row not in _OF_UNKNOWN_SIZE or
            (s.loss.upper == s.loss.lower and s.loss.known_by != BY_BASE))]  # fmt: skip
    unsized = [s for s in told if s.loss and s.loss.upper != s.loss.lower]
    sized = [s for s in real if s.verdict.row in ("raims-9.7", "raims-9.10") or s in told]
    # no step counts more than MAX_LOSS, nor by a chain what the new frame lacks at its beginning
    partly = [s for s in sized if s.loss and s not in told and s.verdict.counted < s.loss.lower]
    yield from _steps(
        report, stream, about, "RA001", [s for s in sized if s not in unsized and s not in partly],
        "{lower:message} of {sender_member} {lower|was|were} lost; raims counts {lower|it|them}.",
    )  # fmt: skip
    yield from _steps(
        report, stream, about, "RA001", partly,
        "{lower:message} of {sender_member} {lower|was|were} lost; raims counts {counted}.",
    )  # fmt: skip
    yield from _steps(
        report, stream, about, "RA001", unsized,
        "At least {lower:message} of {sender_member} {lower|was|were} lost; raims counts a loss "
        "there.",
    )  # fmt: skip
    yield from _steps(
        report, stream, about, "RA002",
        [s for s in real if s.verdict.row in _OF_UNKNOWN_SIZE and s not in told],
        "{bounds:message} of {sender_member} {bounds|was|were} lost; raims counts {counted}.",
    )  # fmt: skip
    yield from _steps(
        report, stream, about, "RA003",
        [s for s in real if not s.verdict.counted and s not in told],
        "{bounds:message} of {sender_member} {bounds|was|were} lost; raims counts nothing.",
    )  # fmt: skip
    yield from _false_losses(report, stream, about)
    yield from _repeats(report, stream, about)


def _restarts(report: RaimsReporter, stream: RaimsStream, about: About) -> Iterator[Finding]:
    """RA007, by the numbers alone: what the daemon's window still knew then depends on when it
    rotated. They show it wherever they were captured, and at a receiver what was lost there."""
    restarts = [(s, not _is_unread(stream, s) and
                 (s.loss.upper == 0 or report.sure(s.loss)[0] is Certainty.PROVEN))
                for s in stream.steps
                if s.loss and s.loss.known_by in (BY_NOTHING, BY_SQNS)]  # fmt: skip
    lost = ": {bounds:message} {bounds|was|were} lost there."
    shown = [s for s, whole in restarts if whole]
    for claim, some in (
        (Claim(rests=_rests(report, stream, shown), certified=True), shown),
        (_UNSEEN_BEFORE, [s for s, whole in restarts if not whole]),
    ):
        yield from _step(
            report, stream, about, "RA007", some, claim,
            "The numbering of {sender_member} restarted {times:time}"
            + (lost if report.known else "."),
        )  # fmt: skip


def _false_losses(report: RaimsReporter, stream: RaimsStream, about: About) -> Iterator[Finding]:
    """RA005: the daemon's own notice of a copy whose original was captured too."""
    false = [s for s in stream.steps if s.verdict.counted and s.loss is None]
    told = [s for s in false if report.told(stream, s.verdict.seqno)]
    untold = [s for s in false if s not in told]
    doubt = report.doubt(stream, report.observer) if untold else None
    why = doubt.why if doubt else report.uncounted(stream) if untold else None
    for some, claim, text in (
        ([s for s in told if s.again], SHOWN, _COUNTS),
        ([s for s in told if not s.again], _LATE_ORIGINAL, _COUNTS),
        (untold, Claim(Certainty.UNDECIDABLE, why=why), _MAY_COUNT)
        if why
        else (untold, report.of_window(stream), _COUNTS),
    ):
        yield from _step(report, stream, about, "RA005", some, claim, text)


def _repeats(report: RaimsReporter, stream: RaimsStream, about: About) -> Iterator[Finding]:
    """RA008: both are in the capture; or the window says so, whose size nobody has said."""
    whole = own_words.is_whole(report.engine.state, report.observer) is None
    if report.engine.links.apart:
        return
    if taken := report.unsure_of_taking(stream, report.observer):
        yield from _again(report, about, stream.repeats, Claim(Certainty.UNDECIDABLE, why=taken))
        return
    shown_twice: list[RepeatedMessage] = []
    of_window: list[RepeatedMessage] = []
    rest: list[RepeatedMessage] = []
    for repeat in stream.repeats:
        if repeat.verdict.row == "raims-9.0":
            of_window.append(repeat)
        elif whole and repeat.known and not _is_unread(stream, repeat):
            shown_twice.append(repeat)
        else:
            rest.append(repeat)
    for some, claim in (
        (shown_twice, SHOWN), (of_window, report.of_window(stream)), (rest, LIKELY),
    ):  # fmt: skip
        yield from _again(report, about, some, claim)


def _again(
    report: RaimsReporter, about: About, some: list[RepeatedMessage], claim: Claim
) -> Iterator[Finding]:
    """RA008 of some copies."""
    if not some:
        return
    unsure = claim.best is Certainty.UNDECIDABLE
    yield report.make(
        about, "RA008", claim,
        "{count:message} of {sender_member} came again"
        + ("; whether this daemon took any of them cannot be told." if unsure
           else " and were dropped."),
        mark=some[0].mark,
        evidence=[(r.mark, f"{shown(r.verdict.seqno)} again") for r in some[:MAX_EVIDENCE]],
        facts={"count": sum(r.verdict.stop - r.verdict.seqno for r in some)},
        severity=Severity.INFO if unsure else None,
    )  # fmt: skip


def _steps(
    report: RaimsReporter, stream: RaimsStream, about: About, rule: str,
    steps: list[ReportedVerdict], text: str,
) -> Iterator[Finding]:  # fmt: skip
    """Losses, each group as sure as what lies between the messages on both sides."""
    groups: dict[tuple[Certainty, str, bool, bool], list[ReportedVerdict]] = {}
    changes = [*report.observer.changes.told_of(stream.subjects)] if steps else []
    for step in steps:
        if step.loss is None:
            continue
        sure, why = report.sure(step.loss)
        if step.loss.told is not None:
            pass  # the daemon says so itself
        elif taken := report.unsure_of_taking(stream, report.observer):
            sure, why = Certainty.UNDECIDABLE, taken
        elif sure is Certainty.PROVEN:
            near = report.engine.links.waits_over(stream, changes, step.mark)
            why = HELD_UP if near else _otherwise(stream, step)
            sure = Certainty.LIKELY if why else sure
        stands = step.loss.told is None and step.verdict.counted > 0
        stands = stands and report.stands(stream, step.loss.mark.frame)
        groups.setdefault((sure, why, stands, step.loss.untaken > 0), []).append(step)
    for (sure, why, stands, came), some in groups.items():
        if sure is Certainty.UNDECIDABLE:
            yield from _step(
                report, stream, about, rule, some, Claim(sure, why=why),
                _CAME_UNTAKEN if came else _NOT_HERE, Severity.INFO,
            )  # fmt: skip
        else:
            claim = Claim(sure, _rests(report, stream, some), certified=True, why=why)
            lost = text.partition(";")[0] + _IF_IT_WENT_ON if stands else text
            yield from _step(report, stream, about, rule, some, claim, lost)


def _otherwise(stream: RaimsStream, step: ReportedVerdict) -> str:
    """Why the daemon may see it otherwise than its numbers are; empty: it does not."""
    if stream.unread is not None and _is_unread(stream, step):
        return stream.unread[1]
    return _TOO_OLD if step.verdict.row == "raims-9.0" else ""


def _is_unread(stream: RaimsStream, step: ReportedVerdict | RepeatedMessage) -> bool:
    """May it be otherwise at the daemon, which may not have read what came then, or before?"""
    return stream.unread is not None and step.mark.frame > stream.unread[0]


def _rests(report: RaimsReporter, stream: RaimsStream, steps: list[ReportedVerdict]) -> Rests:
    return report.rests_of(stream, [step.loss for step in steps if step.loss is not None])


def _step(
    report: RaimsReporter, stream: RaimsStream, about: About, rule: str,
    steps: list[ReportedVerdict], claim: Claim, text: str, severity: Severity | None = None,
) -> Iterator[Finding]:  # fmt: skip
    if not steps:
        return
    uppers = [s.loss.upper for s in steps if s.loss is not None]
    upper = None if None in uppers else sum(u for u in uppers if u is not None)
    evidence: list[tuple[Mark, str]] = []
    for step in steps[:MAX_EVIDENCE]:
        word = "missing" if claim.best is Certainty.UNDECIDABLE else "lost"
        evidence.append((step.came, _step_text(step, word)))
        if step.loss is not None and step.loss.told is not None:
            evidence.append((step.loss.told, "the daemon tells the publisher of it"))
    losses = [s.loss for s in steps if s.loss is not None and s.loss.lower]
    ranges = [(a, b + 1) for loss in losses for a, b in known_seqnos(loss)]
    yield report.make(
        about, rule, claim, text, severity=severity, mark=steps[0].mark,
        seqnos=ranges[:MAX_RANGES],
        evidence=evidence[: 2 * MAX_EVIDENCE],
        facts={
            **bounds_of(sum(s.loss.lower for s in steps if s.loss is not None), upper),
            "counted": sum(s.verdict.counted for s in steps),
            "times": len(steps),
        } | _places(stream, steps),
    )  # fmt: skip


def _places(stream: RaimsStream, steps: list[ReportedVerdict]) -> Row:
    """Where the losses of a finding are in the list of its stream, and when they were, as other
    captures may tighten their bounds; nothing where some are not listed."""
    places = {id(loss): place for place, loss in enumerate(stream.truth.losses)}
    losses = [step.loss for step in steps if step.loss is not None]
    found = [(places[id(x)], x.mark.at_ns) for x in losses if id(x) in places]
    return {"losses": found} if found and len(found) == len(losses) else {}


def _glsno(report: RaimsReporter, stream: RaimsStream, about: About) -> Iterator[Finding]:
    """On a PGM segment, where every message of a publisher and path passes (raims.md 7.3);
    without a packet that is missing, one was never sent here."""
    if not stream.glsno or not stream.link.startswith(PGM):
        return
    for sure in (Certainty.PROVEN, Certainty.LIKELY, Certainty.UNDECIDABLE):
        gaps = [g for g in stream.gaps if g.missing.count and g.missing.certainty is sure]
        if not gaps:
            continue
        elsewhere = sure is Certainty.PROVEN and stream.elsewhere
        told = sure is not Certainty.UNDECIDABLE
        yield report.make(
            about, "RA004",
            Claim(Certainty.LIKELY, why=ELSEWHERE) if elsewhere else
            Claim(sure, rests_of(gap.missing for gap in gaps), certified=True,
                  why="" if told else gaps[0].missing.reason),
            "{count:message} of {sender_member} {count|was|were} lost on the way here; raims "
            "counts none." if told else
            "{count:number} of {sender_member} {count|is|are} not in this capture; no packet "
            "was surely given up.",
            seqnos=[(gap.first, gap.stop) for gap in gaps[:MAX_RANGES]],
            mark=gaps[0].mark,
            evidence=[(gap.mark, f"#{gap.stop} after #{gap.first - 1}")
                      for gap in gaps[:MAX_EVIDENCE]],
            facts={"count": sum(gap.stop - gap.first for gap in gaps)},
            severity=None if told else Severity.INFO,
        )  # fmt: skip


def _step_text(step: ReportedVerdict, word: str) -> str:
    last = step.verdict.last if step.loss is None else step.loss.after
    text = f"{shown(step.verdict.seqno)} after {shown(last) if last is not None else 'nothing'}"
    if step.loss is not None:
        lower, upper = step.loss.lower, step.loss.upper
        most = "" if lower == upper else f" to {'an unknown number' if upper is None else upper}"
        text += f": {lower}{most} {word}, by {step.loss.known_by}"
    return text
