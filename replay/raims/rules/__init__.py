"""The rules about raims, a file a theme: what they say, and the functions that judge them."""

from typing import Final

from seqaudit.replay.contract.rule import Rule
from seqaudit.replay.raims.rules import clients, daemons, frames, joins, losses, notices

RAIMS: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (rule for theme in (clients, daemons, frames, joins, losses, notices)
         for rule in theme.RULES),
        key=lambda rule: rule.code,
    )
)  # fmt: skip
