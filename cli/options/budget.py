"""A budget file: YAML that says what a check puts up with."""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from seqaudit.cli.output.budget import ASKED, FIGURES, Budget, Scope, Unit
from seqaudit.cli.output.outcomes import NEVER, SEVERITIES
from seqaudit.cli.output.text import safe
from seqaudit.replay.contract.yaml_text import NotYamlError, yaml_values

_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000}
_TOP: Final = ("streams", "rules", "fail_on")

EXAMPLE: Final = """\
# What is put up with: each limit is the largest value that is fine.
lost: 100
unrecovered: 0
loss_share: 0.1 %
recovery_p99: 500 ms
streams:                  # narrower; of several that fit the last decides
  - match: {system: nakack*, member: B}
    lost: 1000
rules:
  allow: [CP005]             # never fails
  forbid: [MC013]            # fails whatever its severity
fail_on: error               # findings of this severity or worse fail
"""


def read_budget(path: str) -> Budget:
    """The budget in a file.

    Raises:
        click.UsageError: not YAML, an unknown key, or a value that is none; one line.
    """
    try:
        loaded = yaml_values(Path(path).read_text(encoding="utf-8"))
    except NotYamlError as problem:
        raise click.UsageError(
            f"{safe(path)}{problem.where}: is not YAML; seqaudit check --help shows a budget"
        ) from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise click.UsageError(f"{safe(path)}: cannot be read as text ({problem})") from problem
    return budget_of(loaded if loaded is not None else {}, safe(path))


def budget_of(loaded: object, where: str) -> Budget:
    """A budget as YAML has it.

    Raises:
        click.UsageError: an unknown key, or a value that is none; one line.
    """
    top = _map(loaded, where)
    _known(top, (*FIGURES, *_TOP), where)
    scopes = [Scope({}, _limits(top, where))]
    for number, entry in enumerate(_list(top.get("streams"), f"{where}: streams"), 1):
        label = f"{where}: streams, entry {number}"
        given = _map(entry, label)
        _known(given, (*FIGURES, "match"), label)
        match = _map(given.get("match", {}), f"{label}: match")
        _known(match, ASKED, f"{label}: match")
        if not match:
            raise click.UsageError(f"{label}: has no match; try match: {{system: nakack*}}")
        scopes.append(
            Scope({str(key): str(value) for key, value in match.items()}, _limits(given, label))
        )
    rules = _map(top.get("rules", {}), f"{where}: rules")
    _known(rules, ("allow", "forbid"), f"{where}: rules")
    fail_on = top.get("fail_on", "error")
    if fail_on not in (*SEVERITIES, NEVER):
        raise click.UsageError(
            f"{where}: fail_on: {safe(fail_on)} is none of {', '.join((*SEVERITIES, NEVER))}"
        )
    allow, forbid = (_codes(rules.get(key), f"{where}: rules.{key}") for key in ("allow", "forbid"))
    budget = Budget(tuple(scopes), allow, forbid, fail_on)
    if not any(scope.limits for scope in scopes) and not forbid and fail_on == NEVER:
        raise click.UsageError(f"{where}: limits nothing; seqaudit check --help shows a budget")
    return budget


def _limits(entry: Mapping[object, object], where: str) -> dict[str, int]:
    return {
        figure: _value(figure, entry[figure], f"{where}: {figure}")
        for figure in FIGURES
        if figure in entry
    }


def _value(figure: str, given: object, where: str) -> int:
    """A limit in the unit of its figure."""
    unit = FIGURES[figure]
    text = "" if isinstance(given, bool) else str(given).strip().replace("_", "")
    if unit is Unit.COUNT:
        if re.fullmatch(r"\d{1,18}", text):
            return int(text)
        raise click.UsageError(f"{where}: {safe(given)} is no count; try {figure}: 100")
    if unit is Unit.SHARE:
        share = re.fullmatch(r"(\d{1,3})(?:\.(\d{1,4}))?\s*%", text)
        if share:
            return int(share[1]) * 10_000 + int((share[2] or "").ljust(4, "0"))
        raise click.UsageError(f"{where}: {safe(given)} is no percentage; try {figure}: 0.1 %")
    time = re.fullmatch(r"(\d{1,9})(?:\.(\d{1,9}))?\s*(ns|us|ms|s|min)", text)
    if time:
        whole, parts = int(time[1]) * _NS[time[3]], (time[2] or "").ljust(9, "0")
        return whole + int(parts) * _NS[time[3]] // 1_000_000_000
    raise click.UsageError(f"{where}: {safe(given)} is no duration; try {figure}: 500 ms")


def _codes(given: object, where: str) -> tuple[str, ...]:
    from seqaudit.replay.stages.systems import RULES

    codes = tuple(str(code).upper() for code in _list(given, where))
    for code in codes:
        if not code or not any(known.startswith(code) for known in RULES):
            raise click.UsageError(
                f"{where}: no rule is called {safe(code)}; seqaudit rules lists them"
            )
    return codes


def _map(value: object, where: str) -> Mapping[object, object]:
    if isinstance(value, dict):
        return value
    raise click.UsageError(f"{where}: is no map; seqaudit check --help shows a budget")


def _list(value: object, where: str) -> Sequence[object]:
    if value is None:
        return ()
    if isinstance(value, list):
        return value
    raise click.UsageError(f"{where}: is no list; seqaudit check --help shows a budget")


def _known(entry: Mapping[object, object], keys: Sequence[str], where: str) -> None:
    for key in entry:
        if key not in keys:
            near = difflib.get_close_matches(str(key), keys, 1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(keys)}"
            raise click.UsageError(f"{where}: nothing is called {safe(key)}; {advice}")
