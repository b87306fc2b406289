"""Options that choose what of an audit is shown."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, cast

import click

from seqaudit.cli.exit_codes import Command
from seqaudit.cli.output.selection import Moment, Selection
from seqaudit.cli.output.terminal import note
from seqaudit.cli.output.text import safe
from seqaudit.replay.contract.report_rows import Report

_NS: Final = 1_000_000_000
_NAMES: Final = ("systems", "members", "streams", "since", "until", "select", "ignore")

_OPTIONS: Final = (
    click.option("--system", "systems", multiple=True, metavar="SYSTEM",
                 help="Show streams of this system only (nakack4, unicast*). May be repeated."),
    click.option("--member", "members", multiple=True, metavar="NAME|IP",
                 help="Show streams from or to this member only. May be repeated."),
    click.option("--stream", "streams", multiple=True, metavar="TEXT",
                 help="Show streams with this in their id, subject or key. May be repeated."),
    click.option("--since", metavar="TIME|+S|FRAME",
                 help="Show what ends no earlier: a time in UTC, seconds from the capture's first "
                 "frame, or a frame's number (FILE:FRAME in a capture of several files)."),
    click.option("--until", metavar="TIME|+S|FRAME", help="Show what begins no later."),
    click.option("--select", multiple=True, metavar="RULE",
                 help="Show and count findings of these rules only: codes, beginnings of codes "
                 "(MC, ZN00) or names, separated by commas."),
    click.option("--ignore", multiple=True, metavar="RULE",
                 help="Neither show nor count findings of these rules."),
)  # fmt: skip


def selection_options(function: Command) -> Command:
    """Filters of what is shown."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def selected(
    report: Report, selection: Selection, *, whole: bool = True
) -> tuple[Report, str | None]:
    """What is to be shown, and one line on what is left out, which is said; null: nothing is
    filtered.

    Args:
        whole: what is named should be there; not in a report of what was known at Ctrl-C.

    Raises:
        click.UsageError: a filter is the name of nothing in the report; one line.
    """
    if not selection:
        return report, None
    if whole and (problem := selection.fits_nothing(report)):
        raise click.UsageError(safe(problem))
    chosen = selection.of(report)
    left_out = selection.left_out(report, chosen)
    note(left_out)
    return chosen, left_out


def selection_from(given: dict[str, object]) -> Selection:
    """What ``selection_options`` say, taken out of a command's options."""
    return selection_of(**cast(Any, {name: given.pop(name) for name in _NAMES}))


def selection_of(
    *,
    systems: Iterable[str],
    members: Iterable[str],
    streams: Iterable[str],
    since: str | None,
    until: str | None,
    select: Iterable[str],
    ignore: Iterable[str],
) -> Selection:
    """What ``selection_options`` say.

    Raises:
        click.UsageError: a moment or a rule that is none; one line.
    """
    return Selection(
        tuple(systems),
        tuple(members),
        tuple(streams),
        _moment("--since", since),
        _moment("--until", until),
        _rules("--select", select),
        _rules("--ignore", ignore),
    )


def _moment(option: str, text: str | None) -> Moment | None:
    if text is None:
        return None
    if text.isdecimal():
        return Moment("frame", int(text))
    seconds = re.fullmatch(r"\+(\d+)(?:\.(\d{1,9}))?s?", text)
    if seconds:
        parts = int(seconds[1]), int((seconds[2] or "").ljust(9, "0"))
        return Moment("after", parts[0] * _NS + parts[1])
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        in_file = re.fullmatch(r"(.+):(\d+)", text)
        if in_file:
            return Moment("frame", int(in_file[2]), in_file[1])
        raise click.UsageError(
            f"{option} {safe(text)}: is no time, frame or number of seconds; try "
            "2026-11-20T22:18:45Z, 102 or +12.5"
        ) from None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    whole = int(at.replace(microsecond=0).timestamp())
    return Moment("time", whole * _NS + at.microsecond * 1000)


def _rules(option: str, texts: Iterable[str]) -> tuple[str, ...]:
    from seqaudit.replay.stages.systems import RULES

    named = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    names = {rule.name for rule in RULES.values()}
    for text in named:
        known = text.lower() in names or any(code.startswith(text.upper()) for code in RULES)
        if not known:
            raise click.UsageError(
                f"{option} {safe(text)}: no rule is called so; seqaudit rules lists them"
            )
    return tuple(named)
