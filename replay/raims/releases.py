"""Releases of raims whose rules differ (raims.md 14.1).

A release is named by the day before which it was made; each has the differences of all later ones
as well. That nothing before October 2023 sends GLSNO shows on the wire and needs no rule.
"""

from enum import IntEnum
from typing import Final


class RaimsRelease(IntEnum):
    """In order."""

    BEFORE_2022_08_03 = 0
    BEFORE_2023_10_25 = 1
    BEFORE_2024_04_01 = 2
    BEFORE_2024_12_22 = 3
    CURRENT = 4

    @property
    def word(self) -> str:
        """As a parameter states it."""
        return self.name.lower().replace("_", "-")


CURRENT: Final = RaimsRelease.CURRENT
#: What is below has the rules of before that month.
AUGUST_2022: Final = RaimsRelease.BEFORE_2023_10_25
OCTOBER_2023: Final = RaimsRelease.BEFORE_2024_04_01
APRIL_2024: Final = RaimsRelease.BEFORE_2024_12_22
DECEMBER_2024: Final = RaimsRelease.CURRENT

WORDS: Final = {release.word: release for release in RaimsRelease}
