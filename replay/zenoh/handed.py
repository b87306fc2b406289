"""What a subscriber was handed, and how much of it frames show that it was (zenoh.md 9.4).

A node reads what came up to ``LAG_NS`` late, may drop a subscriber meanwhile, and the message that
says so may not be in the capture. So a sample is surely handed on only if its node says something
so much later, and nothing that it had said until then can be missing unseen.
"""

from collections import deque
from typing import Final

from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import DeliveryOrder, RangeSet
from seqaudit.replay.zenoh.lives import LAG_NS

#: Signs of one end that wait for a later one.
MAX_RECENT: Final = 10_000


class Signs:
    """Messages of one end of a leg before which none of its own is missing unseen.

    Attributes:
        number: how many there were.
        shown: number of the last one that another followed when its node had read all before it.
        last: when the last one was; null: there was none.
    """

    __slots__ = ("_elapsed", "_recent", "last", "number", "shown")

    def __init__(self, elapsed: Elapsed) -> None:
        self._elapsed = elapsed
        self.number = self.shown = 0
        self.last: Mark | None = None
        self._recent: deque[tuple[int, Mark]] = deque(maxlen=MAX_RECENT)

    def came(self, mark: Mark) -> None:
        """One more."""
        self.number, self.last = self.number + 1, mark
        self._recent.append((self.number, mark))
        while self.read_by(self._recent[0][1]):
            self.shown, _ = self._recent.popleft()

    def read_by(self, mark: Mark) -> bool:
        """Whether what had come by then was read when the last sign was sent."""
        return self.last is not None and self._elapsed.at_least(mark, self.last) >= LAG_NS


class Handed(DeliveryOrder):
    """The samples that one subscriber was handed as they came, in their order.

    Attributes:
        sure: of these, how many of the first ones it surely was handed; told when it is over.
    """

    __slots__ = ("_begun", "_signs", "sure")

    def __init__(self, signs: Signs) -> None:
        super().__init__()
        self.sure = 0
        self._signs = signs
        #: Number of signs, and how many samples had been handed on before the first behind these.
        self._begun: deque[tuple[int, int]] = deque()

    def deliver(self, first: int, stop: int) -> None:
        """[first, stop) was delivered in this order."""
        while self._begun and self._begun[0][0] < self._signs.shown:
            self._begun.popleft()
        if not self._begun or self._begun[-1][0] < self._signs.number:
            self._begun.append((self._signs.number, self.count))
        super().deliver(first, stop)

    def over(self, came: Mark | None, handed: Mark | None) -> None:
        """Its subscriber, or the capture, ended.

        Args:
            came, handed: when the last sample came, and was handed on; null: none was.
        """
        last = max(filter(None, (came, handed)), default=None)
        later = [count for number, count in self._begun if number >= self._signs.shown]
        behind = bool(self._begun) and self._begun[-1][0] < self._signs.number
        read = behind and last is not None and self._signs.read_by(last)
        self.sure = self.count if read or not later else later[0]

    def unsure(self, passed: int) -> RangeSet:
        """What nothing shows that it was handed.

        Args:
            passed: its own requests show that it had gone so far.
        """
        found, left = RangeSet(), self.count - self.unlisted - self.sure
        for first, stop in reversed(self.ranges):
            if left <= 0:
                break
            found.add(max(first, stop - left, passed), max(stop, passed))
            left -= stop - first
        return found
