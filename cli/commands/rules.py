"""``seqaudit rules``: the registry of rules, or one rule explained (replay/README.md 3)."""

import click

from seqaudit.cli.exit_codes import ExitCode
from seqaudit.cli.output.terminal import emit, render


@click.command("rules")
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """List the rules with their codes, or explain one: meaning, detection, what to do.

    \b
    Examples:
      seqaudit rules
      seqaudit rules MC001
    """
    from seqaudit.replay.stages.rules import RULES

    if code is None:
        from seqaudit.cli.output.listing import Column, Listing

        rows = [[rule.code, str(rule.severity), rule.name] for _, rule in sorted(RULES.items())]
        render([Listing("Rules", [Column("code"), Column("severity"), Column("name")], rows)])
        return ExitCode.CLEAN
    rule = RULES.get(code.upper())
    if rule is None:
        raise click.UsageError(f"no rule has the code {code!r}; seqaudit rules lists them")
    emit(
        "\n".join(
            [
                f"{rule.code} {rule.name} ({rule.severity})",
                "",
                f"Meaning: {rule.meaning}",
                f"Detected: {rule.detection}",
                f"What to do: {rule.action}",
            ]
        )
    )
    return ExitCode.CLEAN
