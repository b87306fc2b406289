"""``seqaudit config``: what is in force, and where from."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.options.captures import format_option
from seqaudit.cli.options.configuration import NOTHING, Configuration, keyed
from seqaudit.cli.output.terminal import emit, render
from seqaudit.cli.output.text import safe


@dataclass(frozen=True, slots=True)
class InForce:
    """One option of one command.

    Attributes:
        command: its words.
        key: the option in a configuration file.
        value: what it is; null: nothing unless it is given.
        source: ``default``, an environment variable, or the file.
    """

    command: str
    key: str
    value: object
    source: str


@click.command("config")
@click.option("--all", "everything", is_flag=True, help="Options that have their defaults as well.")
@format_option("A table for people, or JSON for programs.")
@click.pass_context
def command(ctx: click.Context, everything: bool, shape: str) -> int:
    """Show which options are in force, and where from.

    Options are read from seqaudit.yaml, or from [tool.seqaudit] of a pyproject.toml, in this folder
    or the nearest above it that has one. A key is an option without its dashes; below the name of
    a command it is for that command alone. The command line goes before everything.

    \b
    Example of a seqaudit.yaml:
      fail-on: warning
      names: names.yaml          # found from the folder of this file
      at: {a.pcap: A, b.pcap: B}
      param: {mcast.capacity: 2048}
      check:
        budget: ci/budget.yaml
    """
    found = ctx.find_object(Configuration) or NOTHING
    rows = [row for row in in_force(found) if everything or row.source != "default"]
    if shape == "json":
        emit(json.dumps({"file": found.file or None, "options": list(map(asdict, rows))}, indent=1))
        return ExitCode.CLEAN
    if not rows:
        where = f"{found.file} says nothing" if found.file else "there is no configuration file"
        from rich.text import Text

        advice = "seqaudit config --all lists them"
        render([Text(f"Every option has its default: {safe(where)}. {advice}.")])
        return ExitCode.CLEAN
    from seqaudit.cli.output.listing import Column, Listing

    columns = [Column("key"), Column("value"), Column("from"), Column("commands")]
    render([Listing("Options in force", columns, list(_grouped(rows)))])
    return ExitCode.CLEAN


def _grouped(rows: Iterable[InForce]) -> Iterator[list[str]]:
    """A line for each key and value: commands that agree stand together."""
    commands: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        commands.setdefault((row.key, _text(row.value), row.source), []).append(row.command)
    for (key, value, source), names in commands.items():
        yield [key, value, source, ", ".join(names)]


def in_force(configuration: Configuration) -> Iterator[InForce]:
    """Every option of every command, in the order of the help."""
    from seqaudit.cli.main import all_commands
    from seqaudit.pipeline.engine_choice import MASTER, REMOTE

    variables = {"master": MASTER, "remote": REMOTE}  # options that the environment sets as well
    for path, member in all_commands().items():
        if isinstance(member, click.Group):
            continue
        context = click.Context(member)
        given = configuration.given(path, member)
        for key, option in keyed(member):
            variable = variables.get(key, "")
            if os.environ.get(variable):
                yield InForce(path, key, os.environ[variable], variable)
            elif configuration.has(path, key):
                yield InForce(path, key, given[option.name or key], configuration.file)
            else:
                yield InForce(path, key, _default(option, context), "default")


def _default(option: click.Option, context: click.Context) -> object:
    value = option.get_default(context)
    return value if isinstance(value, str | int | float | bool) else None


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(safe, value))
    if isinstance(value, bool):
        return str(value).lower()  # as a file has it
    return "-" if value is None else safe(value)
