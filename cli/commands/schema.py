"""``seqaudit schema``: the JSON schema of the report."""

import json

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.output.terminal import emit


@click.command("schema")
def command() -> int:
    """Print the JSON schema of the report, with the meaning of every field.

    \b
    Example:
      seqaudit schema > report.schema.json
    """
    from seqaudit.pipeline.report.schema import schema

    emit(json.dumps(schema(), indent=1))
    return ExitCode.CLEAN
