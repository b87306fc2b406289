"""How coarse the clock of a capture is."""

from dataclasses import dataclass

from seqaudit.replay.sequence.gaps import Mark


@dataclass(slots=True)
class Tick:
    """How coarse the capture's clock is, by the times of requests, confirmations and repairs.

    Attributes:
        least_ns: by which the time of a frame differs from that of the frame before.
        stands: two frames had the same time.
    """

    last: Mark | None = None
    least_ns: int = 0
    stands: bool = False

    @property
    def ns(self) -> int:
        """Frames that are no further apart may be in another order."""
        return self.least_ns if self.stands else 0

    def shows(self, mark: Mark) -> None:
        """The time of another frame."""
        if self.last is not None and mark.frame != self.last.frame:
            apart_ns = mark.at_ns - self.last.at_ns
            self.stands = self.stands or not apart_ns
            if apart_ns > 0:
                self.least_ns = min(apart_ns, self.least_ns or apart_ns)
        self.last = mark
