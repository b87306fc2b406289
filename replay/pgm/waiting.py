"""How many packets wait in a receive window over time (raims.md 2)."""

from seqaudit.replay.pgm.window import PgmWindow
from seqaudit.replay.sequence.fills import Fill


class Waiting:
    """Packets from the first missing one on, which have to fit in the window.

    Said where the first missing one changes: how many they had become, and are then. In between
    each packet is one more, and of a run of them nobody knows when each came.
    """

    def __init__(self) -> None:
        self.fill = Fill()
        self._low: int | None = None  # the first missing one
        self._reached = (0, 0)  # when the last of them came, and how many they were

    def saw(self, window: PgmWindow, at_ns: int, last_ns: int, lead: int | None) -> None:
        """Packets came from one time to another; behind the first of them sqns were known up to
        ``lead``."""
        low = window.next if window.holes else None
        if low != self._low:
            self.fill.set(*self._reached)
            self.fill.set(at_ns, 0 if low is None or lead is None else lead - low)
        count = 0 if low is None or window.lead is None else window.lead - low
        if low != self._low or count != self._reached[1]:
            self._reached = last_ns, count
        self._low = low

    def close(self) -> None:
        """Nothing follows."""
        self.fill.set(*self._reached)
