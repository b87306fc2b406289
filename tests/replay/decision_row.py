"""A row of a decision table, as data: one row, one id (CONTRIBUTING.md 4)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a decision table.

    Attributes:
        id: letter of the table and number in it; for ever.
        text: the row, short.
        source: where it is written down.
        not_visible: why no capture can show it; empty for rows that are replayed.
    """

    id: str
    text: str
    source: str
    not_visible: str = ""
