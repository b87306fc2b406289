"""The daemons' clocks beside the capture's (raims.md 15.6).

Each data message and heartbeat has its sender's time. How far the capture's clock is ahead of it
changes by no more than a timer's tick and the way here; where it jumps for all daemons at once, by
the same, the capture's clock was set. For one alone it may be that daemon's, or a delay. Clocks
that differ by no more than ``SKEW_NS`` agree.
"""

from dataclasses import dataclass, field
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.link_table import link_of
from seqaudit.replay.raims.links import PGM
from seqaudit.replay.raims.peer_clock import ALIKE_NS, beyond
from seqaudit.replay.sequence.gaps import Mark

#: No tick and no way is as long as this.
JUMP_NS: Final = 1_000_000_000
#: Daemons that have to agree; the observer's own may be set with the capture's.
LEAST_DAEMONS: Final = 2
MAX_JUMPS: Final = 1_000


def ahead_of(event: Event) -> int:
    """How far the capture's clock is ahead of who sent a HELO or HB; 0 where they agree. A HELO has
    the time of its sender's start, so that it shows only a clock that is behind."""
    ahead_ns = 0 if event.stamp is None else beyond(event.at_ns - event.stamp)
    return 0 if event.wire_kind == "HELO" and ahead_ns > 0 else ahead_ns


@dataclass(slots=True)
class Clock:
    """One daemon's.

    Attributes:
        ahead_ns: capture time less its own, of its last message that did not wait.
        first, frame: of the first such message, and of the last one.
    """

    ahead_ns: int
    first: int
    frame: int

    def goes_on(self, ahead_ns: int) -> bool:
        """Is a message's time what is expected?"""
        return -JUMP_NS < ahead_ns - self.ahead_ns < JUMP_NS


@dataclass(frozen=True, slots=True)
class ClockJump:
    """Between two messages of one daemon."""

    bridge: str
    before: int  # frame
    mark: Mark
    by_ns: int


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The capture's clock was set forward.

    Attributes:
        before, mark: the frames between which it was.
        by_ns: about, the least that a daemon shows.
        daemons: that show it.
    """

    before: int
    mark: Mark
    by_ns: int
    daemons: int


@dataclass(slots=True)
class DaemonClocks:
    """Those of all daemons that were heard on links without a delay of their own (PGM)."""

    of: dict[str, Clock] = field(default_factory=dict)
    jumps: list[ClockJump] = field(default_factory=list)

    def heard(self, event: Event) -> None:
        """A message that did not wait; on other links it may have been delayed."""
        if event.stamp is None or event.source is None or not link_of(event).startswith(PGM):
            return
        bridge, mark, ahead_ns = event.source, event.first_mark(), event.at_ns - event.stamp
        clock = self.of.get(bridge)
        if clock is None:
            self.of[bridge] = Clock(ahead_ns, mark.frame, mark.frame)
            return
        if not clock.goes_on(ahead_ns) and len(self.jumps) < MAX_JUMPS:
            self.jumps.append(ClockJump(bridge, clock.frame, mark, ahead_ns - clock.ahead_ns))
        clock.ahead_ns, clock.frame = ahead_ns, mark.frame

    def steps(self, own: str | None) -> list[ClockStep]:
        """Where the capture's clock was set forward, for good; records and IP ids tell where it
        was set back.

        Args:
            own: the observer, whose clock may be the capture's.
        """
        found: list[ClockStep] = []
        for seed in self.jumps:
            if seed.by_ns < 0 or (found and seed.before < found[-1].mark.frame):
                continue
            step = self._agreed(seed, own)
            if step is not None:
                found.append(step)
        return found

    def _agreed(self, seed: ClockJump, own: str | None) -> ClockStep | None:
        agree = {seed.bridge: seed}
        before, mark = seed.before, seed.mark
        for jump in self.jumps:
            alike = abs(jump.by_ns - seed.by_ns) <= ALIKE_NS
            if alike and max(before, jump.before) < min(mark, jump.mark).frame:
                agree.setdefault(jump.bridge, jump)
                before, mark = max(before, jump.before), min(mark, jump.mark)
        others = {
            bridge
            for bridge, clock in self.of.items()
            if clock.first <= before and clock.frame >= mark.frame and bridge != own
        }
        if len(agree) < LEAST_DAEMONS or others - agree.keys() or self._is_undone(agree):
            return None
        return ClockStep(before, mark, min(jump.by_ns for jump in agree.values()), len(agree))

    def _is_undone(self, agree: dict[str, ClockJump]) -> bool:
        """Did any of them go back afterwards? Then it was a delay."""
        return any(
            jump.bridge in agree
            and jump.mark.frame > agree[jump.bridge].mark.frame
            and abs(jump.by_ns + agree[jump.bridge].by_ns) <= ALIKE_NS
            for jump in self.jumps
        )
