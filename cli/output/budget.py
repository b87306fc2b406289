"""Budgets: what of a report a team puts up with, and whether it was kept.

A budget is a limit of one figure for the streams that a scope fits. Of several scopes that fit a
stream the last one in the file that names the figure decides. A figure that cannot be told from the
capture is *too little to judge*: that is neither kept nor exceeded.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, cast

from seqaudit.cli.output.cells import hop_lane, subject_of
from seqaudit.cli.output.ci import kinds
from seqaudit.cli.output.outcomes import failing
from seqaudit.cli.output.several import with_parts
from seqaudit.cli.output.text import frame_at
from seqaudit.cli.output.times import duration
from seqaudit.replay.contract.report_rows import (
    Certainty,
    FindingRow,
    Report,
    Severity,
    StreamRow,
    more_lost,
    unproven_lost,
)
from seqaudit.replay.contract.rule import Rule, error

SCHEMA: Final = "seqaudit/check/1"


class Unit(StrEnum):
    """What a figure is measured in."""

    COUNT = "count"
    SHARE = "share"  # parts per million inside, percent in files and texts
    TIME = "time"  # nanoseconds


#: Figures that a budget can limit, and how each is written.
FIGURES: Final[Mapping[str, Unit]] = {
    "lost": Unit.COUNT,
    "loss_share": Unit.SHARE,
    "unrecovered": Unit.COUNT,
    "repeats": Unit.COUNT,
    "repeat_share": Unit.SHARE,
    "requests": Unit.COUNT,
    "recovery_p50": Unit.TIME,
    "recovery_p99": Unit.TIME,
    "recovery_max": Unit.TIME,
}

_COUNTED: Final[Mapping[str, str]] = {
    "lost": "messages that did not come when they should have",
    "loss_share": "share of the messages that did not come when they should have",
    "unrecovered": "messages that never came",
    "repeats": "copies of messages that were sent again",
    "repeat_share": "copies that were sent again, for each message",
    "requests": "requests for messages that were missing",
    "recovery_p50": "time until half of what was missing had come",
    "recovery_p99": "time until all but one in a hundred of what was missing had come",
    "recovery_max": "time until the last of what was missing had come",
}

#: A budget line as CI services know rules; of lines of findings their own rules are.
FIGURE_RULES: Final[Mapping[str, Rule]] = {
    rule.code: rule
    for figure, words in _COUNTED.items()
    for rule in [
        error(
            f"budget-{figure.replace('_', '-')}",
            f"{figure.replace('_', '-')}-over-budget",
            f"More than the budget allows of a stream: {words}.",
            "By the figure of the stream in the report; where it cannot be told, it is too little "
            "to judge.",
            "Look at the stream's gaps (seqaudit show gaps); where the figure is what you put up "
            f"with, raise {figure} in the budget file.",
            "",
        )
    ]
}

#: What a scope can ask of a stream; each value is a pattern.
ASKED: Final = ("system", "member", "subject", "stream", "capture")

#: Why a figure is neither within a limit nor above it, nor above another.
ONLY_BOUNDS: Final = "only bounds are known"

#: Figures of which only bounds may be known.
_LOSSES: Final = ("lost", "unrecovered", "loss_share")
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Scope:
    """Limits for the streams that fit all patterns.

    Attributes:
        match: of ``ASKED`` a pattern each; empty fits every stream.
        limits: figure to its largest value: a count, parts per million, or nanoseconds.
    """

    match: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Budget:
    """All scopes, and which findings fail a check.

    Attributes:
        allow, forbid: codes of rules or their beginnings; what is allowed never fails.
        fail_on: the least severity that fails.
    """

    scopes: Sequence[Scope] = ()
    allow: Sequence[str] = ()
    forbid: Sequence[str] = ()
    fail_on: str = "error"


class BudgetResult(StrEnum):
    """How a budget line ended."""

    KEPT = "kept"
    EXCEEDED = "exceeded"
    UNKNOWN = "too little to judge"


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One budget line of one stream, or one finding that fails.

    Attributes:
        capture: its number; ``path`` its path.
        about: the stream in words; empty for a finding that is of none.
        figure: of ``FIGURES``, or the rule's code and name.
        limit, measured: in words.
        why: why it cannot be told, or what the finding says; empty otherwise.
        stream: its id; null for a line of a finding.
        finding: its row; null for a line of a stream.
    """

    capture: int
    path: str
    about: str
    figure: str
    limit: str
    measured: str
    result: BudgetResult
    why: str = ""
    stream: str | None = None
    finding: FindingRow | None = None


def judged(report: Report, budget: Budget, known: Set[str] = frozenset()) -> list[BudgetLine]:
    """All budget lines of a report, streams first, in the report's order.

    Args:
        known: kinds of findings that do not fail.
    """
    paths = {capture["capture"]: capture["path"] for capture in report["captures"]}
    return [
        *_of_streams(report["streams"], paths, budget.scopes),
        *_of_nobody(report["streams"], paths, budget.scopes),
        *_of_findings(report, paths, budget, known),
    ]


def check_of(lines: Sequence[BudgetLine]) -> dict[str, object]:
    """A check for programs: its result, and its lines."""
    rows = [asdict(line) | {"result": str(line.result)} for line in lines]
    return {"schema": SCHEMA, "result": str(verdict_of(lines)), "lines": rows}


def as_findings(lines: Iterable[BudgetLine], report: Report) -> Report:
    """The report with what did not keep its budget as its findings: what is exceeded is an error,
    what is too little to judge a warning."""
    failed = [line for line in lines if line.result is not BudgetResult.KEPT]
    findings = [_finding(line) for line in failed]
    codes = {finding["rule"] for finding in findings}
    rules = [rule for rule in report["rules"] if rule["rule"] in codes] + [
        {"rule": rule.code, "name": rule.name, "judged": [], "not_judged": [], "findings": 0}
        for rule in FIGURE_RULES.values()
        if rule.code in codes
    ]
    return with_parts(report, {"findings": findings, "rules": rules})


def _finding(line: BudgetLine) -> FindingRow:
    severity: Severity = "error" if line.result is BudgetResult.EXCEEDED else "warning"
    if line.finding is not None:
        return {**line.finding, "severity": severity}
    rule = FIGURE_RULES[f"budget-{line.figure.replace('_', '-')}"]
    return {
        "capture": line.capture, "rule": rule.code, "name": rule.name, "severity": severity,
        "certainty": cast(Certainty, str(line.result)), "system": None, "stream": line.stream,
        "frame": None, "at_ns": None, "seqnos": [], "evidence": [], "filter": "",
        "text": f"{line.about}: {measured_text(line)}",
    }  # fmt: skip


def measured_text(line: BudgetLine) -> str:
    """``lost: 66, the budget is 65``, and why, if there is a reason."""
    if line.finding is not None:
        return f"{line.figure}: {line.measured}, the budget is {line.limit} ({line.why})"
    if line.result is BudgetResult.UNKNOWN:
        return f"{line.figure}: {line.result}, the budget is {line.limit} ({line.why})"
    return f"{line.figure}: {line.measured}, the budget is {line.limit}"


def verdict_of(lines: Iterable[BudgetLine]) -> BudgetResult:
    """Of the whole: the worst there is."""
    results = {line.result for line in lines}
    for worst in (BudgetResult.EXCEEDED, BudgetResult.UNKNOWN):
        if worst in results:
            return worst
    return BudgetResult.KEPT


def _of_streams(
    streams: Iterable[StreamRow], paths: Mapping[int, str], scopes: Sequence[Scope]
) -> Iterator[BudgetLine]:
    for stream in streams:
        limits: dict[str, int] = {}
        for scope in scopes:
            if _fits(scope.match, stream, paths[stream["capture"]]):
                limits |= scope.limits
        for figure in FIGURES:
            if figure in limits:
                yield _line(stream, paths[stream["capture"]], figure, limits[figure])


def _of_nobody(
    streams: Sequence[StreamRow], paths: Mapping[int, str], scopes: Sequence[Scope]
) -> Iterator[BudgetLine]:
    """Limits of a name that no stream of any capture has: a renamed host would keep a check green
    for ever. That a system is not there is no news. The first capture stands for all."""
    for scope in scopes:
        fitting = (s for s in streams if _fits(scope.match, s, paths[s["capture"]]))
        if paths and scope.match.keys() - {"system"} and next(fitting, None) is None:
            asked = ", ".join(f"{key}: {text}" for key, text in scope.match.items())
            for figure, limit in scope.limits.items():
                yield BudgetLine(
                    min(paths), paths[min(paths)], asked, figure, shown(figure, limit), "-",
                    BudgetResult.UNKNOWN, "no stream fits",
                )  # fmt: skip


def _line(stream: StreamRow, path: str, figure: str, limit: int) -> BudgetLine:
    value, why = measured(stream, figure)
    most = at_most(stream, figure)
    outcome = BudgetResult.KEPT if value is not None and value <= limit else BudgetResult.EXCEEDED
    result = BudgetResult.UNKNOWN if value is None else outcome
    if result is BudgetResult.KEPT and (most is None or most > limit):
        result, why = BudgetResult.UNKNOWN, f"more may have been lost: {ONLY_BOUNDS}"
    least = at_least(stream, figure)
    if result is BudgetResult.EXCEEDED and least is not None and least <= limit:
        why = "lost, or not captured: no frame shows which"
    return BudgetLine(
        stream["capture"], path, named(stream), figure, shown(figure, limit),
        "-" if least is None else shown_bounds(figure, least, most), result, why, stream["id"],
    )  # fmt: skip


def at_most(stream: StreamRow, figure: str) -> int | None:
    """The most that a figure can be, where ``measured`` knows the least; null where nothing bounds
    it."""
    more = more_lost(stream) if figure in _LOSSES else 0
    if more is None:
        return None
    most = stream.copy()
    if more and most["lost"] is not None:
        most["lost"] += more
        most["unrecovered"] = (most["unrecovered"] or 0) + more
    return measured(most, figure)[0]


def at_least(stream: StreamRow, figure: str) -> int | None:
    """What of a figure frames prove, where ``measured`` has what was lost or not captured in it."""
    least = stream.copy()
    if figure in _LOSSES and (unproven := unproven_lost(stream)):
        for key in ("lost", "unrecovered"):
            least[key] = max((stream[key] or 0) - unproven, 0)
    return measured(least, figure)[0]


def measured(stream: StreamRow, figure: str) -> tuple[int | None, str]:
    """A figure of a stream; null and why where it cannot be told."""
    unknown = stream.get("unknown") or {}
    if figure.startswith("recovery_"):
        times = cast(Mapping[str, int | None], stream.get("recovery_ns") or {})
        took = times.get(figure.removeprefix("recovery_"))
        if took is not None:
            return took, ""
        # Without anything recovered nothing was slow.
        return (0, "") if stream.get("recovered") == 0 else (None, _why(unknown, "recovered"))
    if figure == "requests":
        asked = cast(Mapping[str, int | None], stream.get("requests") or {})
        counts = [count for count in asked.values() if count is not None]
        return (sum(counts), "") if counts else (None, _why(unknown, "requests"))
    key = {"loss_share": "lost", "repeats": "copies", "repeat_share": "copies"}.get(figure, figure)
    count = cast(Mapping[str, int | None], stream).get(key)
    if count is None:
        return None, _why(unknown, key)
    if FIGURES[figure] is Unit.COUNT:
        return count, ""
    whole = stream.get("messages") or 0
    if figure == "loss_share":
        whole += stream.get("unrecovered") or 0
    if not whole:
        return None, "nothing was sent"
    return -(-count * _MILLION // whole), ""  # rounded up: a share is never called smaller


def _why(unknown: Mapping[str, str], key: str) -> str:
    return str(unknown.get(key) or unknown.get("lost") or "not visible in this capture")


def shown(figure: str, value: int) -> str:
    """A value as people write it: ``12``, ``0.1 %``, ``500.0 ms``."""
    unit = FIGURES[figure]
    if unit is Unit.TIME:
        return duration(value)
    if unit is Unit.COUNT:
        return f"{value:,}"
    return f"{value / 10_000:.4f}".rstrip("0").rstrip(".") + " %"


def shown_bounds(figure: str, least: int, most: int | None) -> str:
    """A value of which bounds are known: ``12``, ``12 to 15``, ``12 or more``."""
    if least == most:
        return shown(figure, least)
    if most is None:
        return f"{shown(figure, least)} or more"
    return f"{shown(figure, least)} to {shown(figure, most)}"


def named(stream: StreamRow) -> str:
    """A stream in words: system, sender, receiver, subject."""
    ends = f"{stream.get('sender_name') or '-'} > {stream.get('receiver_name') or 'all'}"
    subject = subject_of(stream) or stream.get("key") or hop_lane(stream)
    return " ".join(part for part in (stream["system"], ends, subject) if part)


def _fits(match: Mapping[str, str], stream: StreamRow, path: str) -> bool:
    texts: dict[str, list[str | None]] = {
        "system": [stream["system"]],
        "member": [stream.get("sender"), stream.get("sender_name"), stream.get("receiver"),
                   stream.get("receiver_name")],
        "subject": [stream.get("subject"), stream.get("key")],
        "stream": [stream["id"]],
        "capture": [path, path.rpartition("/")[2]],
    }  # fmt: skip
    return all(
        any(text is not None and fnmatchcase(str(text), pattern) for text in texts[asked])
        for asked, pattern in match.items()
    )


def _of_findings(
    report: Report, paths: Mapping[int, str], budget: Budget, known: Set[str]
) -> Iterator[BudgetLine]:
    fails = failing(budget.fail_on)
    streams = {(row["capture"], row["id"]): named(row) for row in report["streams"]}
    for finding, kind in zip(report["findings"], kinds(report), strict=True):
        code = finding["rule"]
        if kind in known or code.startswith(tuple(budget.allow)):
            continue
        at = None if finding["frame"] is None else frame_at(finding)
        forbidden = code.startswith(tuple(budget.forbid))
        if forbidden or finding["severity"] in fails:
            yield BudgetLine(
                finding["capture"],
                paths[finding["capture"]],
                streams.get((finding["capture"], finding["stream"] or ""), ""),
                f"{code} {finding['name']}",
                "forbidden" if forbidden else "none",
                finding["severity"],
                BudgetResult.EXCEEDED,
                finding["text"] if at is None else f"frame {at}: {finding['text']}",
                finding=finding,
            )
