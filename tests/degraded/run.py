"""Every recording spoiled in every way, audited, and judged by the whole capture and the truth."""

import json
import multiprocessing
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, cast

from seqaudit.replay.contract.report_rows import Report
from tests.degraded import auditing, claims, figures
from tests.degraded.auditing import Audited
from tests.degraded.subjects import Recording, find
from tests.degraded.truths import refuted, refuted_figures, speaks_of
from tests.degraded.ways import WAYS, Rotation, Spoiled, Subject, Way, text_of
from tests.report_sense import contradictions

Kind = Literal["refuted", "new", "contradiction", "figure", "crash", "unlikely"]

#: Keys of a report whose values are frames of note.
_FRAMES: Final = re.compile(r"(^|_)frame$")

#: Ways that show more than one of the recording's captures.
_SEVERAL: Final = frozenset(
    ("with-translated", "merged", "together", "skewed", "mirror", "one-host")
)

#: Ways that change bytes, of which a figure may be made: nothing shows it where no checksum does.
_CHANGED: Final = re.compile(r"^(bytes|bits)-")

#: Where spoiled files are written: memory, if there is such a place.
_MEMORY: Final = Path("/dev/shm")


@dataclass(frozen=True)
class Violation:
    """One thing that a spoiled capture's report should not say."""

    kind: Kind
    way: str
    choice: str
    subject: str
    rule: str
    severity: str
    text: str
    why: str

    @property
    def repro(self) -> str:
        """What to give to this command to see it again."""
        scenario, _, file = self.subject.partition("/")
        variant = shlex.quote(self.choice)
        return f"--match {scenario} --file {file} --way {self.way} --variant {variant}"


@dataclass(frozen=True)
class Choice:
    """What of all that could be done is done."""

    ways: tuple[Way, ...] = tuple(way for way in WAYS if not way.only_named)
    sample: int = 4
    seed: int = 1
    small: int = 0
    file: str | None = None
    variant: str | None = None
    write: Path | None = None


@dataclass
class Outcome:
    """What came of some spoiled captures.

    Attributes:
        captures: that were spoiled.
        proven: findings that are called so, and speak of messages.
        by_truth: of those the ones of which the truth says something; the whole capture's report is
            all that the others are held against.
        figures: of spoiled captures that were held against the truth or the whole capture's.
        likely: findings that are called likely and of which the truth says something, by way and
            rule.
        unlikely: those of them that it refutes. None of them is wrong: likely is not proven; a
            rule that has many of them calls too much likely.
    """

    captures: int = 0
    spoiled: int = 0
    proven: int = 0
    by_truth: int = 0
    figures: int = 0
    likely: Counter[tuple[str, str]] = field(default_factory=Counter)
    unlikely: list[Violation] = field(default_factory=list)
    by_way: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        self.captures += other.captures
        self.spoiled += other.spoiled
        self.proven += other.proven
        self.by_truth += other.by_truth
        self.figures += other.figures
        self.likely += other.likely
        self.unlikely += other.unlikely
        self.by_way += other.by_way
        self.violations += other.violations

    def count(self, kind: Kind) -> int:
        return sum(violation.kind == kind for violation in self.violations)


def run(top: Path, match: str, choice: Choice, jobs: int = 1) -> Iterator[tuple[str, Outcome]]:
    """Outcomes by subject as they come, in order."""
    recordings = list(find(top, match))
    tasks = [
        (number, file)
        for number, recording in enumerate(recordings)
        for file in recording.places
        if choice.file in (None, file)
    ]
    names = [f"{recordings[number].name}/{file}" for number, file in tasks]
    if jobs == 1:
        for name, (number, file) in zip(names, tasks, strict=True):
            yield name, spoil_all(recordings[number], file, choice)
        return
    forked = multiprocessing.get_context("fork")
    with forked.Pool(jobs, _inherit, (recordings, choice), maxtasksperchild=20) as pool:
        yield from zip(names, pool.imap(_task, tasks), strict=True)


#: What a forked process works on: ways are functions, which no pipe carries.
_inherited: tuple[list[Recording], Choice]


def _inherit(recordings: list[Recording], choice: Choice) -> None:
    global _inherited
    _inherited = recordings, choice


def _task(task: tuple[int, str]) -> Outcome:
    recordings, choice = _inherited
    number, file = task
    return spoil_all(recordings[number], file, choice)


def spoil_all(recording: Recording, file: str, choice: Choice) -> Outcome:
    """One capture in every way."""
    folder = _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) else Path("/tmp")
    audit = partial(
        auditing.audit,
        places=recording.places,
        parameters=recording.parameters.get(file, {}),
        folder=folder,
    )
    bare = recording.subject(file)
    outcome = Outcome()
    if not bare.frames:
        return outcome
    outcome.captures = 1
    wholes = _Wholes(recording, audit)
    subject = recording.subject(file, _marks(wholes.report(file)))
    for way in choice.ways:
        if choice.variant is not None:
            picked = way.named(subject, choice.variant)
        elif subject.frames <= choice.small and way.every_frame:
            picked = list(way.choices(subject))
        else:
            picked = way.picked(subject, choice.sample, choice.seed)
        for one in picked:
            spoiled = way.spoil(subject, one)
            ways = spoiled.ways or (way.name,)
            ways += ("no-at",) if spoiled.at is None and "no-at" not in ways else ()
            whole = wholes.of(ways, file)
            audited = audit(spoiled)
            places = _places(recording, file, ways, spoiled)
            found = judge(recording, file, places, whole, audited, way.name, text_of(one), ways)
            made = any(_CHANGED.search(name) for name in ways)
            compared = [] if made else list(refuted_figures(recording, audited.report))
            others = [(name, of, why) for name, of, why in compared if why is not None]
            others += _others(way, one, spoiled, wholes.report(file), audited)
            named = [place for place in places if place in recording.places]
            if len(named) == len(places) and not made and not found:
                both = wholes.report(*named), audited.report
                for number in range(len(places)):
                    here = (of_one(report, number) for report in both)
                    beside = figures.beside(*here, timed=figures.CLOCKS.isdisjoint(ways))
                    outcome.figures += beside.figures
                    others += beside.wrong
            found += [
                Violation("figure", way.name, text_of(one), subject.name, name, "error", of, why)
                for name, of, why in others
            ]
            told = claims.findings(audited.report)
            proven = claims.proven(told)
            if not made:
                stated = claims.stated((way.name, *ways))
                usual = [one for one in told if one.rule not in stated]
                weighed = list(_likely(recording, file, places, usual))
                outcome.likely.update((way.name, told.rule) for told, _ in weighed)
                outcome.unlikely += [
                    _violation("unlikely", way.name, text_of(one), subject.name, told, why, ways)
                    for told, why in weighed
                    if why
                ]
            outcome.spoiled += 1
            outcome.by_way[way.name] += 1
            outcome.figures += len(compared)
            outcome.proven += len(proven)
            outcome.by_truth += sum(speaks_of(recording, one) for one in proven)
            outcome.violations += found
            if found and choice.write is not None:
                _write(choice.write, subject, spoiled, recording, audited, found)
    return outcome


def _likely(
    recording: Recording,
    file: str,
    places: tuple[str | None, ...],
    told: Iterable[claims.Finding],
) -> Iterator[tuple[claims.Finding, str | None]]:
    """The likely findings that the truth speaks of, and why it refutes one, were it proven."""
    for one in told:
        if one.certainty == "likely" and speaks_of(recording, one):
            at = file if one.capture is None or one.capture >= len(places) else places[one.capture]
            yield one, refuted(recording, at, replace(one, certainty=claims.PROVEN))


def _others(
    way: Way, choice: object, spoiled: Spoiled, whole: Mapping[str, Any], audited: Audited
) -> Iterator[tuple[str, str, str]]:
    """What should be as in the whole capture's report and is not."""
    if way.name == "no-at" and spoiled.at is None:
        yield from figures.differences(whole, audited.report)
    tells = way.name == "rotated" and isinstance(choice, Rotation) and choice.tells
    entire = way.name == "fragmented" and isinstance(choice, tuple) and not choice[-1]
    if tells or entire or way.name == "mirrored":
        for rule, how in figures.other_findings(whole, audited.report):
            if not (entire and rule == "CP013"):  # it counts records, and there are more
                yield rule, "the report is another", how


def _places(
    recording: Recording, file: str, ways: tuple[str, ...], spoiled: Spoiled
) -> tuple[str | None, ...]:
    """The recording's capture that each capture of the report is of; null for several in one."""
    if "merged" in ways or "one-host" in ways:
        return (None,) * len(spoiled.files)
    if "mirror" in ways:
        return (file, None)
    names = [name for name, _ in spoiled.files]
    return tuple(name if name in recording.places else file for name in names)


def of_one(report: Mapping[str, Any], capture: int) -> Mapping[str, Any]:
    """The rows of a report and of its tables that are of one of its captures, and those that are of
    none."""
    return {name: _rows_of(part, capture) for name, part in report.items()}


def _rows_of(part: Any, capture: int) -> Any:
    if isinstance(part, Mapping):
        return of_one(part, capture)
    if isinstance(part, list) and all(isinstance(row, Mapping) for row in part):
        return [row for row in part if row.get("capture", capture) in (capture, None)]
    return part


class _Wholes:
    """What the unspoiled captures of a recording prove, audited once each."""

    def __init__(self, recording: Recording, audit: Any) -> None:
        self._recording = recording
        self._audit = audit
        self._reports: dict[tuple[str, ...], Mapping[str, Any]] = {}
        self._wholes: dict[tuple[str, ...], claims.Whole] = {}

    def report(self, *files: str) -> Mapping[str, Any]:
        if files not in self._reports:
            captures = tuple((file, self._recording.captures[file]) for file in files)
            self._reports[files] = self._audit(Spoiled(captures, "each")).report
        return self._reports[files]

    def of(self, ways: tuple[str, ...], file: str) -> claims.Whole:
        """Of the capture; where another one is in it or beside it, of all and all together: two
        vantages merged prove what only a third one proves alone."""
        several = not _SEVERAL.isdisjoint(ways)
        files = tuple(self._recording.places) if several else (file,)
        if files not in self._wholes:
            whole = claims.Whole()
            for some in [(one,) for one in files] + ([files] if several else []):
                whole.add(self.report(*some))
            self._wholes[files] = whole
        return self._wholes[files]


def judge(
    recording: Recording,
    file: str,
    places: tuple[str | None, ...],
    whole: claims.Whole,
    audited: Audited,
    way: str,
    choice: str,
    ways: tuple[str, ...] = (),
) -> list[Violation]:
    """What of a spoiled capture's report is refuted, new, contradicts itself, or is no report."""
    name = f"{recording.name}/{file}"

    def violation(kind: Kind, found: claims.Finding, why: str) -> Violation:
        return _violation(kind, way, choice, name, found, why, ways)

    if audited.crash is not None:
        return [Violation("crash", way, choice, name, "", "error", "", audited.crash)]
    found = claims.findings(audited.report)
    usual = claims.stated((way, *ways))
    violations = []
    for one in found:
        at = file if one.capture is None or one.capture >= len(places) else places[one.capture]
        why = refuted(recording, at, one)
        if why == "":
            continue
        if why is not None:
            violations.append(violation("refuted", one, why))
            continue
        stated = one.of_the_capture or one.rule in usual
        news = whole.news(one) if claims.proven([one]) and not stated else None
        if news is not None:
            violations.append(violation("new", one, news))
    violations += [
        violation("contradiction", one, why) for one, why in claims.contradictions(found)
    ]
    if "totals" in audited.report:  # the whole report, not what a test made of one
        violations += [
            Violation("contradiction", way, choice, name, "", "error", text, "")
            for text in contradictions(cast(Report, audited.report))
        ]
    return violations


def _violation(
    kind: Kind,
    way: str,
    choice: str,
    subject: str,
    found: claims.Finding,
    why: str,
    ways: tuple[str, ...],
) -> Violation:
    """A finding that should not be there, and in which ways together the capture was spoiled."""
    why += f" [{', '.join(ways)}]" if len(ways) > 1 else ""
    return Violation(kind, way, choice, subject, found.rule, found.severity, found.text, why)


def _marks(report: Mapping[str, Any]) -> tuple[int, ...]:
    """Frames that the whole capture's report names: gaps, requests, repairs, evidence."""
    found: set[int] = set()

    def look(value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if isinstance(inner, int) and _FRAMES.search(key):
                    found.add(inner)
                else:
                    look(inner)
        elif isinstance(value, list):
            for inner in value:
                look(inner)

    for part in ("gaps", "queries", "findings"):
        look(report.get(part, ()))
    return tuple(sorted(found))


def _write(
    top: Path,
    subject: Subject,
    spoiled: Spoiled,
    recording: Recording,
    audited: Audited,
    found: Iterable[Violation],
) -> None:
    """The spoiled files, how they were audited, the report, and what is wrong with it."""
    first = next(iter(found))
    plain = re.sub(r"[^\w.+-]+", "_", f"{subject.name} {first.way} {first.choice}")[:150]
    folder = top / plain
    folder.mkdir(parents=True, exist_ok=True)
    auditing.written(spoiled, folder)
    given = auditing.options(spoiled, recording.places, recording.parameters.get(subject.file, {}))
    files = [name for name, _ in spoiled.files]
    lines = [shlex.join(["seqaudit", "audit", "--engine", "direct", *given, *files])]
    lines += [f"{v.kind} {v.rule} {v.severity}: {v.text} ({v.why})" for v in found]
    (folder / "why.txt").write_text("\n".join(lines) + "\n")
    (folder / "report.json").write_text(json.dumps(audited.report, indent=1, sort_keys=True))
