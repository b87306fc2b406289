"""Whether an audit of spoiled captures is sound: it ends, accounts for every frame, and is the same
in both modes of the kernels, wherever the captures are cut, and in every format.

Several captures are audited together, which costs half; what fails is looked for one by one.
"""

import contextlib
import json
import os
import signal
import traceback
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from seqaudit.cli.output.documents import Shown, of_audit
from seqaudit.cli.output.writers import FORMATS, TABLE, write
from seqaudit.decoders.contract.errors import SeqauditError
from seqaudit.decoders.contract.feed_layout import Feed
from seqaudit.pipeline.audit import audit
from seqaudit.pipeline.options import Options
from seqaudit.pipeline.report.json_text import to_json
from seqaudit.pipeline.shared.plan import CaptureInput
from seqaudit.pipeline.shared.spark_address import SparkAddress
from seqaudit.replay.contract.settings import BETWEEN
from seqaudit.replay.contract.story import Where
from tests.degraded.captures import NOTHING
from tests.hostile.mutate import Mutant

#: An audit of a few kilobytes that computes for so long hangs.
HANGS_SECONDS: Final = 120

#: Captures so small are not worth another process.
ONE_CORE: Final = SparkAddress(master="local[1]")

SHAPES: Final = (TABLE, *FORMATS)

#: How a report has to be the same: with interpreted kernels, with captures in two pieces.
OTHERWISE: Final = ("modes", "cuts")

#: Of crowds: a receive window of PGM in which a number torn to an extreme
#: leaves few gaps, not 4,096 rows.
_FOR_LITTLE: Final = {"pgm.rxw_sqns": (16, "tests.hostile")}

#: Sections of a report whose rows are of one conversation.
_OF_ONE: Final = ("streams", "connections", "gaps", "queries", "windows")


#: A place in a report and what is there in one and in another.
_Difference = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong: its kind (crash, hang, account, isolation, modes, cuts) and one line of it, by
    which failures with one cause are told from others."""

    kind: str
    why: str
    detail: str = ""

    @property
    def cause(self) -> tuple[str, str]:
        return self.kind, self.why


class _HangError(Exception):
    """The alarm of ``_limited``."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def late(*_: object) -> None:
        raise _HangError

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, HANGS_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def failure(
    mutants: Sequence[Mutant], folder: Path, *, feeds: tuple[Feed, ...] = (), shape: str = "html",
    otherwise: Collection[str] = OTHERWISE,
) -> Failure | None:  # fmt: skip
    """What is wrong with an audit of these captures; null if nothing is.

    Args:
        otherwise: how they are audited a second time, which has to give the same report.
    """
    paths = _written(mutants, folder)
    given = _given(mutants, paths)
    options = Options(
        engine="direct", place=ONE_CORE, compile_it=True, feeds=feeds,
        parameters=_FOR_LITTLE if any(one.crowded for one in mutants) else {},
    )  # fmt: skip
    try:
        with _limited():
            report = _report(given, options)
            if report is None:
                return None
            wrong = _account(mutants, paths, report) or _format(report, shape, folder)
            if wrong:
                return wrong
            if any(one.sound for one in mutants):
                alone = _report(_given(mutants, _sound(mutants, folder)), options)
                if missing := _missing(alone, report):
                    return Failure("isolation", *missing)
            if otherwise:  # all at once; which of them it is, is asked where it fails
                modes, cuts = {"compile_it": False}, {"cuts": _cuts(mutants, paths)}
                changes: dict[str, dict[str, Any]] = {
                    "modes": modes, "cuts": cuts, " and ".join(OTHERWISE): {**modes, **cuts},
                }  # fmt: skip
                together = " and ".join(otherwise)
                other = replace(options, **changes[together])
                if differs := _differences(report, _report(given, other)):
                    for kind in otherwise if len(otherwise) > 1 else ():
                        other = replace(options, **changes[kind])
                        if alike := _differences(report, _report(given, other)):
                            return Failure(kind, *alike)
                    return Failure(together, *differs)
    except _HangError:
        return Failure("hang", f"longer than {HANGS_SECONDS} s", traceback.format_exc())
    except Exception as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        ours = [f for f in frames if f"{os.sep}tests{os.sep}" not in f.filename] or frames
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return Failure("crash", f"{type(problem).__name__} at {place}", traceback.format_exc())
    return None


def _written(mutants: Sequence[Mutant], folder: Path) -> list[str]:
    paths = []
    for number, one in enumerate(mutants):
        path = folder / f"{number}.pcap"
        path.write_bytes(one.data)
        paths.append(str(path))
    return paths


def _given(mutants: Sequence[Mutant], paths: Sequence[str]) -> list[CaptureInput]:
    """Captures; where one of a conversation that is sound was taken is not left to the others."""
    return [
        CaptureInput(path, at=BETWEEN if one.sound else None)
        for one, path in zip(mutants, paths, strict=True)
    ]


def _sound(mutants: Sequence[Mutant], folder: Path) -> list[str]:
    """Files in which all but what is sound says nothing."""
    silent = [replace(one, data=one.sound or NOTHING.written()) for one in mutants]
    (folder / "sound").mkdir()
    return _written(silent, folder / "sound")


def _missing(alone: dict[str, Any], among: dict[str, Any]) -> _Difference | None:
    """What is said of conversations that are sound must be said where others are spoiled; but for
    their damage nobody may know any more where a message was lost. Behind a stretch that was
    skipped frames have other numbers."""
    if any(capture["skipped_bytes"] for capture in among["captures"]):
        return None
    for section in _OF_ONE:
        told = defaultdict(list)
        for one in among[section] if alone[section] else ():
            told[_named(_of_file(one, among))].append(_of_file(one, among))
        for given in alone[section]:
            row = _of_file(given, alone)
            others = told[_named(row)]
            where = f"report.{section}[]"
            if not others:
                return where, str(row)
            if not any(_in_doubt(row, one) == one for one in others):
                return _first_difference(_in_doubt(row, others[0]), others[0], where)
    return None


def _of_file(row: Any, report: dict[str, Any]) -> Any:
    """A row that names the file: networks apart, of which each is a capture, move numbers; and end
    each with its own last frame, to which a gap may be open. What members are called anybody may
    tell, and another file of the job does."""
    capture = report["captures"][row["capture"]]
    named = {key: value for key, value in row.items() if not key.endswith("_name")}
    named["capture"] = capture["files"][0].rpartition("/")[2]
    if story := row.get("story"):
        steps = [step if step["frame"] or step["at_ns"] != capture["last_ns"] else {
                 "step": step["step"], "at": "the end"} for step in story["steps"]]  # fmt: skip
        named["story"] = story | {"steps": steps}
    return named


def _in_doubt(row: Any, other: Any) -> Any:
    """A gap of which the place is not known, where that of another is not."""
    story = other.get("story")
    if not story or story["where"] != Where.UNTOLD:
        return row
    untold = {key: told for key, told in story.items() if key.startswith("where")}
    return row | {"story": row["story"] | untold}


def _named(row: Any) -> tuple[Any, ...]:
    named = (row.get(key) for key in ("capture", "id", "stream", "first_frame"))
    return *named, to_json(row.get("seqnos"))


def _report(given: Sequence[CaptureInput], options: Options) -> Any:
    """Null: nothing could be read, and one line said so."""
    try:
        return audit(given, options)
    except SeqauditError as problem:
        assert str(problem).strip(), "a refusal says why"
        return None


def cut_at(one: Mutant) -> tuple[int, ...]:
    """Where a file is cut; empty: nowhere."""
    return one.cuts[len(one.cuts) // 2 :][:1]


def _cuts(mutants: Sequence[Mutant], paths: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Two pieces of each file."""
    return {path: cut_at(one) for one, path in zip(mutants, paths, strict=True) if one.cuts}


def _account(
    mutants: Sequence[Mutant], paths: Sequence[str], report: dict[str, Any]
) -> Failure | None:
    """Every frame has one outcome, and there are as many as there are records, unless some were
    skipped, which is said."""
    unread = {entry["path"] for entry in report["unreadable"]}
    frames = {path: one.frames for one, path in zip(mutants, paths, strict=True)}
    seen: Counter[str] = Counter()
    skipped = set()
    for capture in report["captures"]:
        counted, by = capture["frames"], sum(capture["frames_by"].values())
        if counted != by:
            return Failure("account", "frames have no outcome", f"{counted} frames, {by} outcomes")
        path = capture["files"][0]  # of one file, networks apart are a capture each
        seen[path] += counted
        if capture["skipped_bytes"]:
            skipped.add(path)
    for path, counted in seen.items():
        wanted = frames.pop(path)
        if wanted not in (None, counted) and path not in skipped:
            return Failure("account", "frames are lost", f"{counted} of {wanted} frames")
    lost = {path for path, wanted in frames.items() if wanted is not None} - unread
    return Failure("account", "a capture is lost", str(sorted(lost))) if lost else None


def _format(report: Any, shape: str, folder: Path) -> Failure | None:
    shown = Shown(limit=100, everything=True)
    write(of_audit(report, shown), [(shape, str(folder / "report.out"))])
    if shape == "sarif":
        json.loads((folder / "report.out").read_text())
    return None


def _differences(one: dict[str, Any], other: dict[str, Any] | None) -> _Difference | None:
    """The first part of a report that is another; null if none is."""
    if other is None:
        return "no report", ""
    if to_json(one) == to_json(other):
        return None
    return _first_difference(one, other, "report")


def _first_difference(one: Any, other: Any, path: str) -> _Difference:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if one.get(key) != other.get(key):
                return _first_difference(one.get(key), other.get(key), f"{path}.{key}")
    if isinstance(one, list) and isinstance(other, list):
        for mine, theirs in zip(one, other, strict=False):
            if mine != theirs:
                return _first_difference(mine, theirs, f"{path}[]")
        return f"{path}: as many", f"{len(one)} and {len(other)}"
    return path, f"{str(one)[:200]} and {str(other)[:200]}"
