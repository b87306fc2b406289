"""What changed from one report to another: by system, stream, rule and budget line.

A change is worse only where the figure can be told on both sides. Streams are matched by what
outlives another recording of the same test: system, role, names and subject.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seqaudit.cli.output.budget import (
    FIGURES,
    Budget,
    BudgetLine,
    BudgetResult,
    Unit,
    judged,
    measured,
    named,
    shown,
)
from seqaudit.cli.output.ci import lasting
from seqaudit.replay.contract.report_rows import Report, StreamRow


class Grade(StrEnum):
    """What a change means."""

    WORSE = "worse"
    BETTER = "better"
    OTHER = "changed"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        part: system, stream, rule or budget.
        about: which one, in words.
        figure: what is counted or measured.
        good, bad: the figure on both sides, in words.
        counts: it makes the command fail if it is worse.
        rank: what matters more has a lower one.
        size: how much of it, to order what matters as much.
        why: why it cannot be told; empty otherwise.
    """

    part: str
    about: str
    figure: str
    good: str
    bad: str
    grade: Grade
    counts: bool
    rank: int
    size: int
    why: str = ""


#: Figures of streams and systems, what matters most first, and whether a rise fails the command.
_COMPARED: Final[Mapping[str, bool]] = {
    "unrecovered": True,
    "lost": True,
    "recovery_p99": False,
    "recovery_max": False,
    "requests": False,
    "repeats": False,
}
_SUMMED: Final = ("unrecovered", "lost", "requests", "repeats")
#: Times that differ by less, in parts and ns, are the same: another run never takes as long.
_TIME_PARTS: Final = 2
_TIME_NS: Final = 10_000_000

_NEVER_SEEN: Final = "-"


def differences(good: Report, bad: Report, budget: Budget | None = None) -> list[Change]:
    """All changes, those that matter first."""
    changes = [
        *_of_systems(good, bad),
        *_of_streams(good, bad),
        *_of_rules(good, bad),
        *(_of_budget(good, bad, budget) if budget is not None else ()),
    ]
    order = list(Grade)
    return sorted(
        changes,
        key=lambda c: (order.index(c.grade), not c.counts, c.rank, -c.size, c.part, c.about),
    )


def is_worse(changes: Iterable[Change]) -> bool:
    """Whether anything that counts got worse."""
    return any(change.counts and change.grade is Grade.WORSE for change in changes)


def _of_systems(good: Report, bad: Report) -> Iterable[Change]:
    sides = [_by_system(report) for report in (good, bad)]
    for system in sorted({*sides[0], *sides[1]}):
        both = [side.get(system, []) for side in sides]
        if not all(both):
            yield _only("system", system, both[0] or both[1], here=bool(both[0]))
            continue
        yield from _counted(
            "system", system, "messages", *(_sum(streams, "messages") for streams in both)
        )
        for figure in _SUMMED:
            yield from _compared("system", system, figure, *(_sum(s, figure) for s in both))


def _by_system(report: Report) -> dict[str, list[StreamRow]]:
    found: dict[str, list[StreamRow]] = {}
    for stream in report["streams"]:
        found.setdefault(stream["system"], []).append(stream)
    return found


def _sum(streams: Sequence[StreamRow], figure: str) -> tuple[int | None, str]:
    if figure == "messages":
        return sum(int(stream["messages"] or 0) for stream in streams), ""
    total = 0
    for stream in streams:
        value, why = measured(stream, figure)
        if value is None:
            return None, why
        total += value
    return total, ""


def _of_streams(good: Report, bad: Report) -> Iterable[Change]:
    sides = [_by_key(report) for report in (good, bad)]
    for key in {**sides[0], **sides[1]}:
        present = [side[key] for side in sides if key in side]
        about = named(present[0])
        if len(present) == 1:
            yield _only("stream", about, present, here=key in sides[0])
            continue
        yield from _counted(
            "stream", about, "messages", *((s.get("messages") or 0, "") for s in present)
        )
        for figure in _COMPARED:
            yield from _compared("stream", about, figure, *(measured(s, figure) for s in present))


def _by_key(report: Report) -> dict[tuple[object, ...], StreamRow]:
    found: dict[tuple[object, ...], StreamRow] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    places = {c["capture"]: lasting(c["vantage"]["name"]) for c in report["captures"]}
    for stream in report["streams"]:
        key = (
            places[stream["capture"]], stream["system"], stream.get("role"),
            lasting(stream.get("sender_name")), lasting(stream.get("receiver_name")),
            stream.get("subject") or stream.get("key") or stream.get("feed"),
        )  # fmt: skip
        seen[key] += 1
        found[*key, seen[key]] = stream
    return found


def _only(part: str, about: str, streams: Sequence[StreamRow], *, here: bool) -> Change:
    lost = _sum(streams, "lost")[0]
    seen = f"seen, {lost:,} lost" if lost else "seen"
    there = (seen, _NEVER_SEEN) if here else (_NEVER_SEEN, seen)
    return Change(part, about, part, *there, Grade.OTHER, False, 90, 1)


def _counted(
    part: str, about: str, figure: str, good: tuple[int | None, str], bad: tuple[int | None, str]
) -> Iterable[Change]:
    if good[0] != bad[0]:
        before, after = int(good[0] or 0), int(bad[0] or 0)
        size = abs(after - before)
        yield Change(part, about, figure, f"{before:,}", f"{after:,}", Grade.OTHER, False, 80, size)


def _compared(
    part: str, about: str, figure: str, good: tuple[int | None, str], bad: tuple[int | None, str]
) -> Iterable[Change]:
    rank = 10 * list(_COMPARED).index(figure)
    before, after = good[0], bad[0]
    if before is None or after is None:
        if before is not after:
            texts = ["?" if v is None else shown(figure, v) for v in (before, after)]
            yield Change(
                part, about, figure, texts[0], texts[1], Grade.UNKNOWN, False, rank, 0,
                good[1] or bad[1],
            )  # fmt: skip
        return
    if before == after or (FIGURES[figure] is Unit.TIME and _alike(before, after)):
        return
    grade = Grade.WORSE if after > before else Grade.BETTER
    yield Change(
        part, about, figure, shown(figure, before), shown(figure, after), grade,
        _COMPARED[figure], rank, abs(after - before),
    )  # fmt: skip


def _alike(one: int, other: int) -> bool:
    low, high = sorted((one, other))
    return high - low < _TIME_NS or high < _TIME_PARTS * low


def _of_rules(good: Report, bad: Report) -> Iterable[Change]:
    sides = [
        Counter((f["rule"], f["name"], f["severity"]) for f in report["findings"])
        for report in (good, bad)
    ]
    for key in sorted({*sides[0], *sides[1]}):
        before, after = sides[0][key], sides[1][key]
        if before == after:
            continue
        code, name, severity = key
        worse = severity != "info"
        grade = Grade.OTHER
        if worse:
            grade = Grade.WORSE if after > before else Grade.BETTER
        rank = {"error": 5, "warning": 15}.get(severity, 70)
        yield Change(
            "rule", f"{code} {name} ({severity})", "findings", f"{before:,}",
            f"{after:,}", grade, worse, rank, abs(after - before),
        )  # fmt: skip


def _of_budget(good: Report, bad: Report, budget: Budget) -> Iterable[Change]:
    sides = [_lines_of(report, budget) for report in (good, bad)]
    for key in {**sides[0], **sides[1]}:
        before, after = (side.get(key) for side in sides)
        line = after or before
        assert line is not None, "a key is of a line on one side at least"
        results = [BudgetResult.KEPT if one is None else one.result for one in (before, after)]
        if results[0] is results[1]:
            continue
        grade = {
            BudgetResult.EXCEEDED: Grade.WORSE,
            BudgetResult.KEPT: Grade.BETTER,
            BudgetResult.UNKNOWN: Grade.UNKNOWN,
        }[results[1]]
        if results == [BudgetResult.UNKNOWN, BudgetResult.KEPT]:
            grade = Grade.OTHER
        yield Change(
            "budget", line.about or line.figure, f"{line.figure}, limit {line.limit}",
            str(results[0]), str(results[1]), grade, True, 3, 1, line.why,
        )  # fmt: skip


def _lines_of(report: Report, budget: Budget) -> dict[tuple[str, str, int], BudgetLine]:
    """Budget lines by stream in words, figure, and which of several alike it is; what fails for a
    finding by its rule."""
    lines: dict[tuple[str, str, int], BudgetLine] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for line in judged(report, budget):
        key = (line.about if line.figure in FIGURES else "", line.figure)
        seen[key] += 1
        lines[*key, seen[key]] = line
    return lines
