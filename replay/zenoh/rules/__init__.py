"""The rules about zenoh, a file a theme: what they say, and the functions that judge them."""

from typing import Final

from seqaudit.replay.contract.rule import Rule
from seqaudit.replay.zenoh.rules import (
    document,
    frames,
    legs,
    losses,
    places,
    queries,
    samples,
)

ZENOH: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (rule for theme in (document, frames, legs, losses, places, queries, samples)
         for rule in theme.RULES),
        key=lambda rule: rule.code,
    )
)  # fmt: skip
