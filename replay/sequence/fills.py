"""How full something is over time, in bounded memory, whatever cuts a capture has."""

from typing import Final

#: Steps that are kept; of more, every second one is left out, the lower of each two.
MAX_STEPS: Final = 512


class Fill:
    """A quantity that changes in steps.

    Attributes:
        most: the highest it was.
        thinned: steps were left out; what is kept still has the highest ones and the last.
    """

    __slots__ = ("_steps", "most", "thinned")

    def __init__(self) -> None:
        self._steps: list[tuple[int, int]] = []
        self.most = 0
        self.thinned = False

    def set(self, at_ns: int, value: int) -> None:
        """It is so much from now on; a time before the last one is the last one."""
        steps = self._steps
        if not steps:
            if not value:
                return  # nothing was there before either
        elif steps[-1][1] == value:
            return
        else:
            at_ns = max(at_ns, steps[-1][0])
        self.most = max(self.most, value)
        steps.append((at_ns, value))
        if len(steps) > 2 * MAX_STEPS:
            self._thin()

    def points(self) -> list[list[int]]:
        """[time, how much from then on], in order."""
        return [[at_ns, value] for at_ns, value in self._steps]

    def _thin(self) -> None:
        """Keep the higher of each two steps, and the last."""
        last = self._steps.pop()
        pairs = zip(self._steps[::2], self._steps[1::2], strict=True)
        self._steps = [one if one[1] >= other[1] else other for one, other in pairs]
        self._steps.append(last)
        self.thinned = True
