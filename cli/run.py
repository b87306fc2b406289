"""An audit for a command that shows a part of its report."""

from collections.abc import Mapping
from typing import Any

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import begin, inputs_of, options_of
from seqaudit.cli.output.terminal import ShownProgress, note


def audited(
    captures: tuple[str, ...],
    at: tuple[str, ...],
    one_capture: bool | None,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """The report; an interruption is said and ends the command with its code."""
    begin(given)
    from seqaudit.pipeline.audit import StoppedError, audit

    inputs, shared_at = inputs_of(captures, at, one_capture)
    options = options_of(at=shared_at, **given)
    try:
        with ShownProgress() as progress:
            return audit(inputs, options, progress)
    except StoppedError as stopped:
        note(str(stopped))
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
