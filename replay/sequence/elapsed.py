"""How much time passed at least between two moments, whatever the capturing machine's clock did."""

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from seqaudit.replay.sequence.gaps import Mark

#: A clock that goes back by less may be none that was set: capturing machines exchange frames.
STEP_NS: Final = 1_000_000_000


@dataclass(slots=True)
class Watch:
    """A time that is to pass.

    Attributes:
        reached: the first event by which it certainly has; null: none so far.
    """

    since: Mark
    span_ns: int
    reached: Mark | None = None

    def by(self, mark: Mark) -> bool:
        """Whether it had passed by then."""
        return self.reached is not None and self.reached.frame <= mark.frame


class Elapsed:
    """How much time passed at least between two moments of one conversation.

    No record tells a pause from a clock that was set forward, so the longest pause between two of
    its events is not counted: one such step makes no time. (A step back only makes it less.) Where
    little is said a pause is all there is; one that traffic may well have can be trusted.
    """

    __slots__ = ("_frames", "_last", "_pauses", "_set_back", "_steps", "_watched")

    def __init__(self) -> None:
        self._last: Mark | None = None
        self._frames: list[int] = []  # of events after pauses longer than all that came later
        self._pauses: list[tuple[int, int]] = []  # how long, and when that event began
        self._set_back: list[int] = []  # frames of events that began earlier than the one before
        self._steps: list[tuple[int, int]] = []  # of these: set back, and by how much
        self._watched: dict[int, deque[Watch]] = {}  # how long -> those that wait, as they began

    def saw(self, mark: Mark, *, sure: bool = False) -> None:
        """An event began.

        Args:
            sure: something shows that the pause before it is as long as it seems.
        """
        if self._last is not None and mark.at_ns > self._last.at_ns and not sure:
            pause = mark.at_ns - self._last.at_ns
            while self._pauses and self._pauses[-1][0] <= pause:
                self._pauses.pop()
                self._frames.pop()
            self._pauses.append((pause, mark.at_ns))
            self._frames.append(mark.frame)
        if self._last is not None and mark.at_ns < self._last.at_ns:
            self._set_back.append(mark.frame)
            if (step := self._last.at_ns - mark.at_ns) >= STEP_NS:
                self._steps.append((mark.frame, step))
        self._last = mark
        for span_ns, waiting in self._watched.items():
            while waiting and self.at_least(waiting[0].since, mark) >= span_ns:
                waiting.popleft().reached = mark

    def watch(self, since: Mark, span_ns: int) -> Watch:
        """Tells when so much time has passed at least; ``since`` is no earlier than that of any
        other that waits for as much."""
        watch = Watch(since, span_ns)
        if self._last is not None and self.at_least(since, self._last) >= span_ns:
            watch.reached = self._last
        else:
            self._watched.setdefault(span_ns, deque()).append(watch)
        return watch

    def set_back_since(self, frame: int) -> int | None:
        """The first frame behind one by which the clock had been set back, as its times show; null:
        it was not. From there on it does not tell whether what was due then has happened."""
        place = bisect_right(self._set_back, frame)
        return self._set_back[place] if place < len(self._set_back) else None

    def passed(self, since: Mark, until: Mark) -> int:
        """In ns by the clock, were it not set back in between."""
        place = bisect_right(self._steps, since.frame, key=itemgetter(0))
        return until.at_ns - since.at_ns + sum(step for _, step in self._steps[place:])

    def just_before(self, now: Mark, span_ns: int) -> int:
        """A time: since an event of it or before so much has surely passed by now; since one behind
        it less may have."""
        place = bisect_right(self._pauses, now.at_ns - span_ns, key=_ended)
        longest = self._pauses[place][0] if place < len(self._pauses) else 0
        return now.at_ns - span_ns - longest

    def at_least(self, since: Mark, until: Mark, *, trusted_ns: int = 0) -> int:
        """In ns; below zero if the clock went back. ``until`` is now, or as good as now.

        Args:
            trusted_ns: pauses up to this are no steps.
        """
        place = bisect_right(self._frames, since.frame)
        longest = max(  # the first of them may have begun before
            (min(pause, ended - since.at_ns) for pause, ended in self._pauses[place : place + 2]),
            default=0,
        )
        return until.at_ns - since.at_ns - (longest if longest > trusted_ns else 0)


def _ended(pause: tuple[int, int]) -> int:
    return pause[1]
