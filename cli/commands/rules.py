"""``seqaudit rules``: the registry of rules, or some explained (replay/README.md 3)."""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.output.terminal import render
from seqaudit.cli.output.text import safe

if TYPE_CHECKING:
    from seqaudit.replay.contract.rule import Rule


@click.command("rules")
@click.argument("words", nargs=-1, metavar="[CODE|NAME]...")
def command(words: tuple[str, ...]) -> int:
    """List the rules with their codes, or explain some: meaning, detection, the parameters in it,
    what to do, and an example from a capture.

    A rule is named by its code or its name; several by how their codes begin.

    \b
    Examples:
      seqaudit rules
      seqaudit rules MC001
      seqaudit rules lost-recovered ZN00
    """
    from seqaudit.replay.stages.systems import RULES

    rules = [rule for _, rule in sorted(RULES.items())]
    if words:
        meant = {rule.code: rule for word in words for rule in _meant(word, rules)}
        if len(meant) == len(words):
            from rich.text import Text

            render([Text("\n\n".join(_explained(rule) for rule in meant.values()))])
            return ExitCode.CLEAN
        rules = list(meant.values())
    from seqaudit.cli.output.listing import Column, Listing

    rows = [[rule.code, str(rule.severity), rule.name] for rule in rules]
    render([Listing("Rules", [Column("code"), Column("severity"), Column("name")], rows)])
    return ExitCode.CLEAN


def _meant(word: str, rules: Iterable["Rule"]) -> list["Rule"]:
    """The rule of a code or name, or all whose codes begin so."""
    exact = [rule for rule in rules if word.upper() == rule.code or word.lower() == rule.name]
    found = exact or [rule for rule in rules if word and rule.code.startswith(word.upper())]
    if not found:
        known = {name.lower(): name for rule in rules for name in (rule.code, rule.name)}
        near = difflib.get_close_matches(word.lower(), known, 1)
        advice = f"did you mean {known[near[0]]}?" if near else "seqaudit rules lists them"
        raise click.UsageError(f"no rule is called {safe(word)}; {advice}")
    return found


def _explained(rule: "Rule") -> str:
    from seqaudit.cli.output.rule_text import explained

    lines = [f"{title}: {text}" for title, text in explained(rule)]
    return "\n".join([f"{rule.code} {rule.name} ({rule.severity})", "", *lines])
