"""What a rule is (replay/README.md 3)."""

from dataclasses import dataclass

from seqaudit.replay.contract.finding import Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        code: for ever.
        name: in kebab case, as tables and machine formats show it.
        severity: what a finding has unless it says otherwise.
        meaning: what has happened when it fires.
        detection: how it is told from a capture, and where it cannot be.
        action: what to do.
        source: section of a reference or design document.
    """

    code: str
    name: str
    severity: Severity
    meaning: str
    detection: str
    action: str
    source: str


def info(code: str, name: str, *texts: str) -> Rule:
    """A rule whose findings are for information."""
    return Rule(code, name, Severity.INFO, *texts)


def warning(code: str, name: str, *texts: str) -> Rule:
    """A rule whose findings want a look."""
    return Rule(code, name, Severity.WARNING, *texts)


def error(code: str, name: str, *texts: str) -> Rule:
    """A rule whose findings are real loss or a violated protocol."""
    return Rule(code, name, Severity.ERROR, *texts)
