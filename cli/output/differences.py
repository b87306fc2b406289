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
    ONLY_BOUNDS,
    Budget,
    BudgetLine,
    BudgetResult,
    Unit,
    at_least,
    at_most,
    judged,
    measured,
    named,
    shown_bounds,
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


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of one side.

    Attributes:
        least: null where it cannot be told; with what was lost, or not captured.
        most: null where nothing bounds it.
        why: why it cannot be told; empty otherwise.
        unproven: how much of it was lost, or not captured.
    """

    least: int | None
    most: int | None
    why: str = ""
    unproven: int = 0

    def shown(self, figure: str) -> str:
        if self.least is None:
            return "?"
        return shown_bounds(figure, self.least - self.unproven, self.most)

    def is_above(self, other: "_Figure") -> bool:
        """Surely: its least is more than the other's most."""
        return self.least is not None and other.most is not None and self.least > other.most


def _of_systems(good: Report, bad: Report) -> Iterable[Change]:
    sides = [_by_system(report) for report in (good, bad)]
    for system in sorted({*sides[0], *sides[1]}):
        both = [side.get(system, []) for side in sides]
        if not all(both):
            yield _only("system", system, both[0] or both[1], here=bool(both[0]))
            continue
        yield from _counted("system", system, "messages", *(_messages(s) for s in both))
        for figure in _SUMMED:
            yield from _compared("system", system, figure, *(_sum(s, figure) for s in both))


def _by_system(report: Report) -> dict[str, list[StreamRow]]:
    found: dict[str, list[StreamRow]] = {}
    for stream in report["streams"]:
        if "again" not in stream:
            found.setdefault(stream["system"], []).append(stream)
    return found


def _messages(streams: Iterable[StreamRow]) -> int:
    return sum(int(stream.get("messages") or 0) for stream in streams)


def _sum(streams: Sequence[StreamRow], figure: str) -> _Figure:
    least, most, unproven = 0, 0, 0
    bounded = True
    for stream in streams:
        one = _of(stream, figure)
        if one.least is None:
            return one
        least += one.least
        bounded = bounded and one.most is not None
        most += one.most or 0
        unproven += one.unproven
    return _Figure(least, most if bounded else None, unproven=unproven)


def _of(stream: StreamRow, figure: str) -> _Figure:
    value, why = measured(stream, figure)
    unproven = 0 if value is None else value - (at_least(stream, figure) or 0)
    return _Figure(value, at_most(stream, figure), why, unproven)


def _of_streams(good: Report, bad: Report) -> Iterable[Change]:
    sides = [_by_key(report) for report in (good, bad)]
    for key in {**sides[0], **sides[1]}:
        present = [side[key] for side in sides if key in side]
        about = named(present[0])
        if len(present) == 1:
            yield _only("stream", about, present, here=key in sides[0])
            continue
        yield from _counted("stream", about, "messages", *(_messages([s]) for s in present))
        for figure in _COMPARED:
            yield from _compared("stream", about, figure, *(_of(s, figure) for s in present))


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
    lost = _sum(streams, "lost")
    seen = "seen" if not lost.least and not lost.most else f"seen, {lost.shown('lost')} lost"
    there = (seen, _NEVER_SEEN) if here else (_NEVER_SEEN, seen)
    return Change(part, about, part, *there, Grade.OTHER, False, 90, 1)


def _counted(part: str, about: str, figure: str, good: int, bad: int) -> Iterable[Change]:
    if good != bad:
        size = abs(bad - good)
        yield Change(part, about, figure, f"{good:,}", f"{bad:,}", Grade.OTHER, False, 80, size)


def _compared(part: str, about: str, figure: str, good: _Figure, bad: _Figure) -> Iterable[Change]:
    """Nothing where both are the same, bounds and all; worse or better only where one is above the
    other whatever it is within its bounds."""
    before, after = good.least, bad.least
    if (before, good.most) == (after, bad.most):
        return
    rank, texts = 10 * list(_COMPARED).index(figure), (good.shown(figure), bad.shown(figure))
    if before is None or after is None or not (good.is_above(bad) or bad.is_above(good)):
        yield Change(
            part, about, figure, *texts, Grade.UNKNOWN, False, rank, 0,
            good.why or bad.why or ONLY_BOUNDS,
        )  # fmt: skip
        return
    if FIGURES[figure] is Unit.TIME and _alike(before, after):
        return
    grade = Grade.WORSE if bad.is_above(good) else Grade.BETTER
    yield Change(part, about, figure, *texts, grade, _COMPARED[figure], rank, abs(after - before))


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
