"""How late originals come, by those of a stream that came behind what showed them to be missing."""

from dataclasses import dataclass

from seqaudit.replay.sequence.gaps import Arrival


@dataclass(slots=True)
class Lateness:
    """Of one stream.

    Attributes:
        least_ns: nobody asks sooner for what is missing.
        latest_ns: so long after it showed to be missing the latest original came; 0: none did.
        surely_ns: the same, of those that can be nothing but originals.
    """

    least_ns: int
    latest_ns: int = 0
    surely_ns: int = 0

    def came(self, after_ns: int, *, sure: bool) -> None:
        """An original came.

        Args:
            sure: its IP id says so, or that it is one more than was asked for; else it is one if it
                came when it could have been asked for, and was not.
        """
        self.latest_ns = max(self.latest_ns, after_ns)
        if sure or after_ns >= self.least_ns:
            self.surely_ns = max(self.surely_ns, after_ns)


@dataclass(frozen=True, slots=True)
class Filling:
    """What fills a gap, as it is judged.

    Attributes:
        original: its IP id is older than that of what revealed the gap.
        overtaken: the same, and by more than a capture may exchange.
        resent: it is marked as a repair, or its IP id is newer.
    """

    arrival: Arrival
    original: bool = False
    overtaken: bool = False
    resent: bool = False
