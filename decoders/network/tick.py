"""How coarse the clock of a capture is, by the times of its records (replay/README.md 3).

A clock that ticks every 15.6 ms, whole seconds in a converted file, times that were left out: then
the times of all records are multiples of the tick from one of them, and several records share one.
"""

from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np

from seqaudit.decoders.capture.reader import Records
from seqaudit.decoders.network.account_rows import PieceTick
from seqaudit.decoders.network.order import filled

#: Timers of protocols are longer than a tick of less; nothing more is looked at then.
COARSE_NS: Final = 10_000_000
#: Of a coarse clock so many records have the time of the one before.
LEAST_TIES: Final = 10
#: Records that are looked at before the rest of their chunk.
FEW: Final = 64


def is_fine(tick_ns: int) -> bool:
    """Is a tick too short to matter? Of 0, all times are the same."""
    return 0 < tick_ns < COARSE_NS


@dataclass(slots=True)
class TimeTick:
    """What the times of one piece's records say, as long as they are coarse.

    Attributes:
        tick_ns: they are apart by multiples of it; 0: all are the same.
        ties: records that have the time of the one before.
        first_ns, last_ns: null without records.
    """

    tick_ns: int = 0
    ties: int = 0
    first_ns: int | None = None
    last_ns: int | None = None

    def takes(self, records: Records) -> None:
        """A chunk, in the order of its records."""
        if is_fine(self.tick_ns) or not records.count:
            return
        times = records.at_ns if records.plain else filled(records)
        times = times[records.frame > 0]  # the others are of another piece
        if not len(times):
            return
        first_ns = self.first_ns = int(times[0]) if self.first_ns is None else self.first_ns
        for some in (times[:FEW], times):
            self.tick_ns = gcd(self.tick_ns, int(np.gcd.reduce(some - first_ns)))
            if is_fine(self.tick_ns):
                return
        self.ties += int((times[1:] == times[:-1]).sum()) + int(times[0] == self.last_ns)
        self.last_ns = int(times[-1])

    def account(self) -> PieceTick:
        """As an ACCOUNT row carries it."""
        return {
            "tick_ns": self.tick_ns, "ties": self.ties, "first_ns": self.first_ns,
            "last_ns": self.last_ns,
        }  # fmt: skip
