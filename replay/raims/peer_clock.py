"""The clock of one other daemon beside the capture's (raims.md 15.6)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.raims.changes import TELLING_NS
from seqaudit.replay.sequence.gaps import Mark

#: Clocks of two daemons may differ by so much before anything is said.
SKEW_NS: Final = 2_000_000_000
#: A daemon's time is no older than this when it sends a message (recordings: 42 ms).
TICK_NS: Final = 50_000_000
#: Words of a publisher that are asked, each on its own, whether time passed.
MAX_ASKED: Final = 10
#: Jumps of two daemons by the same differ by no more: ticks, and ways.
ALIKE_NS: Final = 300_000_000


def beyond(ahead_ns: int) -> int:
    """How far a clock is ahead of another; 0 where they agree."""
    return ahead_ns if abs(ahead_ns) > SKEW_NS else 0


def off(skew: Sequence[int]) -> int | None:
    """How far a clock is off; null where it agrees.

    Capture time less its own is at least 0 and at most a timer's tick, plus the way.

    Args:
        skew: the least and the most of that.
    """
    least, most = skew
    ahead_ns = max(beyond(least), 0) or min(beyond(most), 0)
    return -ahead_ns or None


def spread(extremes: list[int], value: int) -> None:
    """The least and the most of values so far."""
    if not extremes:
        extremes += [value, value]
    elif value < extremes[0]:
        extremes[0] = value
    elif value > extremes[1]:
        extremes[1] = value


@dataclass(slots=True)
class ChangeBehind:
    """A change of subscriptions that was told so soon behind a stream's last message that the
    message may have come behind the change, if the capture's clock was set in between.

    Attributes:
        gap_ns: between both, by the capture's clock.
        least_ns: how far that clock was ahead of the stream's publisher before; null: not known.
        apart: the publisher's own clock says that the change was made later than the message came.
    """

    gap_ns: int
    least_ns: int | None
    apart: bool = False

    def hears(self, ahead_ns: int) -> None:
        """A word of the publisher behind it, and how far the capture's clock is ahead of that: by
        so much more than before it may have been set in between."""
        if self.least_ns is not None:
            set_ns = max(ahead_ns - self.least_ns + TICK_NS, 0)
            self.apart = self.gap_ns - set_ns >= TELLING_NS


@dataclass(slots=True)
class PeerClock:
    """A peer's clock beside the capture's.

    Attributes:
        skew: capture time less the peer's, ns: least and most of messages that did not wait.
        pairs: how many these are.
        off: the first of them of which that was large.
        beat_ns: the same of its last heartbeat, which is sent when its time is taken.
        least_beat_ns: the least of that of its heartbeats.
        behind: changes told just behind messages of it, and how many of its words were asked.
    """

    skew: list[int] = field(default_factory=list)
    pairs: int = 0
    off: Mark | None = None
    beat_ns: int | None = None
    least_beat_ns: int | None = None
    behind: list[ChangeBehind] = field(default_factory=list)
    asked: int = 0

    @property
    def ahead_ns(self) -> int:
        """Capture time less its time, for what its messages' age is told by: of its last heartbeat,
        before one of its first messages, where those show that the clocks do not agree."""
        if self.beat_ns is not None:
            return self.beat_ns
        return beyond(self.skew[0]) if self.skew else 0

    @property
    def all_ahead(self) -> list[int]:
        """The least and the most of messages, and the least of its heartbeats."""
        return [*self.skew, *(() if self.least_beat_ns is None else (self.least_beat_ns,))]

    def hears(self, ahead_ns: int) -> None:
        """A message that did not wait."""
        spread(self.skew, ahead_ns)
        self.pairs += 1
        if self.behind:
            self._tells(ahead_ns)

    def beats(self, ahead_ns: int) -> None:
        """A heartbeat that did not wait."""
        self.beat_ns = ahead_ns
        least_ns = self.least_beat_ns
        self.least_beat_ns = ahead_ns if least_ns is None else min(least_ns, ahead_ns)
        self._tells(ahead_ns)

    def told_behind(self, gap_ns: int, before: ChangeBehind | None) -> ChangeBehind:
        """A change was told so long behind a message of it.

        Args:
            before: an earlier one of the same stream; if the two are not told apart yet, the new
                one stands for both.
        """
        known = [*self.skew[:1], *(() if self.beat_ns is None else (self.beat_ns,))]
        told = ChangeBehind(gap_ns, min(known, default=None))
        if before is not None and not before.apart:
            told.gap_ns = min(gap_ns, before.gap_ns)
            if told.least_ns is not None and before.least_ns is not None:
                told.least_ns = min(told.least_ns, before.least_ns)
            else:
                told.least_ns = None
        self.behind.append(told)
        self.asked = 0
        return told

    def _tells(self, ahead_ns: int) -> None:
        for change in self.behind:
            change.hears(ahead_ns)
        self.asked += 1
        self.behind = [] if self.asked == MAX_ASKED else [x for x in self.behind if not x.apart]
