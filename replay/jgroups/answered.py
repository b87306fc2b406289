"""Resends that filled parts of gaps, and the copies behind them."""

from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.sequence.gaps import Gap
from seqaudit.replay.sequence.ranges import Range

#: Answered requests that are remembered, to see a second copy for the same request.
ANSWERED: Final = 256


@dataclass(slots=True)
class Answered:
    """A resend that filled a part of a gap.

    Attributes:
        took_ns: to come.
        resent: by its IP id, newer than that of the message which revealed the gap. Else only time
            says that it is none but the late original.
    """

    part: Range
    gap: Gap
    fresh_id: int | None
    took_ns: int
    resent: bool
    _copies: list[Range] = field(default_factory=list)

    def copied(self, part: Range, asked: int) -> bool:
        """Another datagram with a part of it came: may the original be among them, as these are
        more than the requests for it?"""
        self._copies.append(part)
        return sum(first <= part[0] < stop for first, stop in self._copies) >= asked
