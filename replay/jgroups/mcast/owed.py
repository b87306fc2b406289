"""ACKs that a member owes for what it has delivered, and how late they were (jgroups.md 5.4)."""

from typing import Final, NamedTuple

from seqaudit.replay.contract.parameters import DEFAULT, EngineParameters
from seqaudit.replay.jgroups.evidence import Overdue, overdue
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.notes import MAX_KEPT_MARKS

LONGEST_DEFAULT_INTERVAL_MS: Final = 1_000  # NAKACK4's own default (5.1)
THRESHOLD_PATIENCE_NS: Final = 200_000_000


class AckSchedule(NamedTuple):
    """When delivered messages are acknowledged (5.4): at the tick, or after enough deliveries."""

    tick_ns: int
    threshold: int | None

    @classmethod
    def of(cls, parameters: EngineParameters) -> "AckSchedule":
        """Without a given interval the longest default is assumed."""
        interval = parameters.value("xmit_interval_ms")
        if parameters.origin("xmit_interval_ms") == DEFAULT:
            interval = LONGEST_DEFAULT_INTERVAL_MS
        threshold, capacity = parameters.value("ack_threshold"), parameters.value("capacity")
        if threshold is None and capacity is not None:
            threshold = capacity // 4
        return cls(interval * 1_000_000, threshold)

    def due_ns(self) -> int:
        """Latest time from a delivery to its ACK, with the jitter that section 6 allows."""
        return self.tick_ns * 12 // 10 + 50_000_000


class OwedAcks:
    """One window's.

    Args:
        schedule: null: its protocol sends none.

    Attributes:
        overdue: since the longest-known delivery; the first of them.
        count: how many there were.
    """

    __slots__ = (
        "_elapsed", "_level", "_silent_since", "_threshold_at", "_unacked", "count", "overdue",
        "schedule",
    )  # fmt: skip

    def __init__(self, schedule: AckSchedule | None, level: int, elapsed: Elapsed) -> None:
        self.schedule = schedule
        self._elapsed = elapsed
        self.overdue: list[Overdue] = []
        self.count = 0
        self.begin(level)

    def begin(self, level: int) -> None:
        """A window that has delivered everything up to ``level``."""
        self._level = level
        self._unacked: Mark | None = None  # since when there is something to acknowledge
        self._threshold_at: Mark | None = None  # when ack_threshold deliveries had been made
        self._silent_since: int | None = None  # the level at which overdue was said last

    def was_due(self, came: Mark, now: Mark) -> bool:
        """Would a window that had taken what came then have acknowledged it before now?"""
        return self.schedule is not None and now.at_ns - came.at_ns > self.schedule.due_ns()

    def acked(self, level: int, low: int, mark: Mark) -> None:
        """The member said that it has everything up to ``level``; by its window, up to ``low``."""
        self._level = level
        self._unacked = mark if low > level else None
        self._threshold_at = mark if self._reached(low) else None

    def delivered(self, low: int, mark: Mark) -> None:
        """Everything up to ``low`` was: an ACK is owed (R7 threshold, R8 flag, D4; not R3)."""
        if self.schedule is None or self._silent_since == self._level:
            return
        if self._unacked is None:
            self._unacked = mark
        if self._reached(low):
            self._threshold_at = self._threshold_at or mark

    def _reached(self, low: int) -> bool:
        threshold = None if self.schedule is None else self.schedule.threshold
        return threshold is not None and low - self._level >= threshold

    def see(self, mark: Mark) -> None:
        """Is one overdue by now (R7, R9)? Said once for each stretch without one."""
        if self.schedule is None or self._unacked is None:
            return
        late = overdue(self._elapsed, self._unacked, mark, self.schedule.due_ns())
        late = late or overdue(self._elapsed, self._threshold_at, mark, THRESHOLD_PATIENCE_NS)
        if late is not None:
            self.count += 1
            if len(self.overdue) < MAX_KEPT_MARKS:
                self.overdue.append(late)
            self._unacked = self._threshold_at = None
            self._silent_since = self._level
