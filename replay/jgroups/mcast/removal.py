"""When and why a receive window of a multicast stream was removed (jgroups.md 5.4: R15, W3, W5)."""

from dataclasses import dataclass
from typing import Final

from seqaudit.replay.sequence.gaps import Mark

SENDER_LEFT: Final = "its sender left the view"


@dataclass(slots=True)
class Removal:
    """Why a window is no longer there, until its member has one for the stream again.

    Attributes:
        at: where the view or the process came that ended it.
        why: for a report.
        installed: when the view was that ended it, as far as this capture shows: rows are in order
            within a stream only, so some that came before it may be replayed yet; null: none are.
        held_up: it may have been before, as what it waited for here was had.
        finished: all that came before it has been replayed, and what is missing never comes.
    """

    at: Mark
    why: str
    installed: Mark | None = None
    held_up: bool = False
    finished: bool = False

    def was_there_at(self, last: Mark) -> bool:
        """Was the window still there when something came that is replayed only now?"""
        return (
            not self.finished and self.installed is not None and last.frame < self.installed.frame
        )

    def may_precede(self, last: Mark) -> bool:
        """May the window have been removed before something came that was replayed before it? A
        clock that ticks slowly tells no order."""
        return last.at_ns == self.at.at_ns or (self.held_up and last.frame > self.at.frame)
