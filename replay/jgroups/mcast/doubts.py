"""What of the deliveries of one multicast window no frame of the capture tells."""

from dataclasses import dataclass, field

from seqaudit.replay.sequence.ranges import RangeSet


@dataclass(slots=True)
class DeliveryDoubts:
    """Of one window.

    Attributes:
        unsure: came before anything shows that the member was there, or about when it cast the view
            with their sender.
        may_have: delivered if what nobody had asked for when its window ended had come.
        untold: a merge moved it, or a view ended it, and nothing tells what it had then, or had at
            its end.
        behind: its member said last that it lacks something from before the capture.
        lacks_below: it lacks some of what is below, by a request that cannot be read; 0: none does.
        undelivered: it lacked what had come, and nobody can tell to the end or not.
    """

    unsure: RangeSet = field(default_factory=RangeSet)
    may_have: RangeSet = field(default_factory=RangeSet)
    untold: bool = False
    behind: bool = False
    lacks_below: int = 0
    undelivered: bool = False

    def had(self, floor: int, stop: int) -> None:
        """Its member has all below ``stop``, of a window that begins behind ``floor``."""
        self.unsure.remove(floor + 1, stop)
        if stop >= self.lacks_below:
            self.lacks_below = 0

    def end(self) -> None:
        """Nothing more is heard of it, or a merge moves it."""
        self.untold |= self.behind or self.lacks_below > 0
