"""What a command of captures does: what it was given becomes a run, and its progress is shown."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from seqaudit.cli.exit_codes import STOPPED, ExitCode
from seqaudit.cli.options.captures import engine_of, inputs_of, options_of
from seqaudit.cli.output.terminal import ShownProgress, note

if TYPE_CHECKING:
    from seqaudit.pipeline.engine_choice import Choice
    from seqaudit.pipeline.options import EventViewer
    from seqaudit.pipeline.shared.events_file import Decoded
    from seqaudit.pipeline.shared.plan import CaptureInput
    from seqaudit.replay.contract.report_rows import Report


def audited(
    given: Mapping[str, object],
    *,
    quiet: bool = False,
    look: "EventViewer | None" = None,
    measured: bool = False,
) -> "Report":
    """The report.

    Args:
        given: what the options say by which captures are read and judged.
        look: is shown the events that are replayed.
        measured: the report says what the run took as well.

    Raises:
        StoppedError: Ctrl-C.
    """
    _without_pandas()
    from seqaudit.pipeline.audit import audit

    inputs, at, choice, rest = _parted(given)
    options = replace(options_of(choice, at=at, **rest), look=look, measured=measured)
    with ShownProgress(choice.line, quiet=quiet) as progress:
        return audit(inputs, options, progress)


def decoded(given: Mapping[str, object]) -> "Decoded":
    """The events.

    Raises:
        StoppedError: Ctrl-C.
    """
    _without_pandas()
    from seqaudit.pipeline.audit import decode

    inputs, _, choice, rest = _parted(given)
    with ShownProgress(choice.line) as progress:
        return decode(inputs, options_of(choice, **rest), progress)


def audited_whole(
    given: Mapping[str, object], look: "EventViewer | None" = None, *, quiet: bool = False
) -> "Report":
    """The report; an interruption is said, and ends the command with its code: now if nothing is
    known, else once it has shown what is."""
    from seqaudit.pipeline.shared.progress import StoppedError

    try:
        return audited(given, look=look, quiet=quiet)
    except StoppedError as stopped:
        note(str(stopped))
        if stopped.report is None:
            raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
        click.get_current_context().meta[STOPPED] = True
        return stopped.report


def _parted(
    given: Mapping[str, object],
) -> "tuple[list[CaptureInput], str | None, Choice, dict[str, Any]]":
    """The captures, the place of all of them, what runs the command, and the other options."""
    told = cast(dict[str, Any], dict(given))
    names = told.pop("captures"), told.pop("at", ()), told.pop("one_capture", None)
    inputs, at = inputs_of(*names)
    return inputs, at, *engine_of([path for one in inputs for path in one.files], **told)


def _without_pandas() -> None:
    """Before the imports of a run: none of them has a use for pandas, wherever it is there."""
    from seqaudit.pipeline.shared.without_pandas import keep_pandas_out

    keep_pandas_out()


def tell_unjudged(report: "Report") -> bool:
    """Say on stderr which captures could not be judged; whether there are any."""
    from seqaudit.cli.output.outcomes import unjudged

    problems = list(unjudged(report))
    for _, problem in problems:
        note(f"error: {problem}")
    return bool(problems)


def judged_or_not(report: "Report") -> ExitCode:
    """How a command ends that only shows: 2 if a capture could not be judged, which is said."""
    return ExitCode.NOT_JUDGED if tell_unjudged(report) else ExitCode.CLEAN
