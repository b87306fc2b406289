"""What single frames prove, whatever else is missing in the capture (jgroups.md 4.2, 4.4, 6).

``Stamps``: a member numbers its own ACKs and SEND_FIRST_SEQNO 1, 2, 3 ... over all its peers, so
those that its own interface's capture lacks are counted. One for a peer whose address it does not
know yet has its number as well, and never leaves.

``Life``: a member that sends has not stopped, so it has read what came to it before.

``Beginning``: what was sent before the capture began, and delivered, may be asked for once more by
a window that was lost and built again. So of a stream only what is certain to have been sent first
within the capture can be called lost.
"""

from collections import deque
from typing import Final, NamedTuple

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.worth import END
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import GapTracker, Mark
from seqaudit.replay.sequence.ranges import Range, RangeSet

#: Within this capturing machines and threads may exchange two frames.
HORIZON_NS: Final = 20_000_000
#: What comes this shortly before a member sends something it may not have read by then.
CROSSING_NS: Final = 20_000_000
#: No network overtakes by more; a clock that was set forward between two frames does.
LATEST_NS: Final = 1_000_000_000
SECOND_NS: Final = 1_000_000_000
#: Members that have nothing to say are this quiet between their heartbeats and ticks.
QUIET_NS: Final = 5_000_000_000
MAX_HOLES: Final = 1_000
MAX_PEERS: Final = 10_000
#: Own frames of a member that are remembered.
LAST_OWN: Final = 8

_WRAP: Final = 1 << 32


def in_order(elapsed: Elapsed, one: Mark, other: Mark) -> bool:
    """Are two frames further apart than capturing machines exchange them?

    A pause counts as it is: to make a wrong order of it the clock would have to be set forward just
    where two frames were exchanged. Only of what is longer than members are quiet nothing is said.
    """
    return elapsed.at_least(one, other, trusted_ns=QUIET_NS) > HORIZON_NS


def two_ticks_ns(tick_ns: int) -> int:
    """Longer than any two ticks of a member take, which are up to a fifth late."""
    return tick_ns * 24 // 10 + 50_000_000


def read_between(elapsed: Elapsed, came: Mark, sent: Mark) -> bool:
    """Had a member time to read what came before it sent something?

    A clock that was set forward in between makes a pause of no time at all, so one pause does not
    tell.
    """
    return elapsed.at_least(came, sent) > HORIZON_NS


class Overdue(NamedTuple):
    """Something that a member should have sent sooner."""

    since: Mark
    seen: Mark  # that it had not sent it before
    late_ns: int  # it took as long at least


def overdue(elapsed: Elapsed, since: Mark | None, now: Mark, allowed_ns: int) -> Overdue | None:
    """What was due so long after a moment; null: it is in time.

    A pause counts as it is, unless it is longer than members are quiet: then a clock that was set,
    or a capture that had stopped, makes it as well.
    """
    if since is None:
        return None
    late_ns = elapsed.at_least(since, now, trusted_ns=QUIET_NS)
    return Overdue(since, now, late_ns) if late_ns > allowed_ns else None


class Life:
    """When a member showed that it runs: by its own frames.

    Attributes:
        first, last: its first and last own frame; null: none was captured.
    """

    __slots__ = ("_elapsed", "_marks", "first", "last")

    def __init__(self, elapsed: Elapsed) -> None:
        self.first: Mark | None = None
        self.last: Mark | None = None
        self._elapsed = elapsed
        self._marks: deque[Mark] = deque(maxlen=LAST_OWN)

    def spoke(self, mark: Mark) -> None:
        """It sent something. A run is told when it ends, behind later frames of other streams."""
        self._marks.append(mark)
        self.first = self.first or mark
        if self.last is None or mark.frame > self.last.frame:
            self.last = mark

    def until(self, end_ns: int) -> int:
        """When it spoke last, by then."""
        return end_ns if self.last is None else min(end_ns, self.last.at_ns)

    def ended_before(self, mark: Mark | None) -> bool:
        """Did it say nothing more from then on? Null: never."""
        return self.last is not None and mark is not None and self.last.frame < mark.frame

    def began_behind(self, arrived: GapTracker) -> bool:
        """Did it speak for the first time behind the first message of a stream? Then it may have
        joined after that message."""
        came, first = arrived.first, self.first
        return came is not None and first is not None and came.first.frame < first.frame

    def read(self, came: Mark, until: Mark) -> bool:
        """Has it read what came, and had time to answer? One that is paused sends nothing, and
        reads all that came meanwhile when it goes on."""
        return any(
            came.frame < own.frame and read_between(self._elapsed, own, until)
            for own in self._marks
        )


class Uncaptured(NamedTuple):
    """Own messages that are not in the capture: which, and the ones around them."""

    stamps: Range
    before: Mark
    after: Mark


class Stamps:
    """The numbers of one member's own ACKs and SEND_FIRST_SEQNO."""

    __slots__ = (
        "_below", "_last", "_last_mark", "_met", "_sent", "first", "first_mark", "holes",
        "unlisted",
    )  # fmt: skip

    def __init__(self) -> None:
        self.first: int | None = None
        self.first_mark: Mark | None = None
        self.holes: list[Uncaptured] = []
        self.unlisted = 0
        self._last = self._below = 0
        self._last_mark: Mark | None = None
        self._met: dict[str, int] = {}  # peer -> frame of the first unicast with it, either way
        self._sent: dict[str, int] = {}  # peer -> of the first to it

    def met(self, peer: str, frame: int, *, own: bool) -> None:
        """A unicast from a peer, or an own one to it."""
        if peer not in self._met and len(self._met) < MAX_PEERS:
            self._met[peer] = frame
        if own and peer in self._met:
            self._sent.setdefault(peer, frame)

    def unaddressed(self) -> RangeSet:
        """Frames in which nothing shows that it knew the addresses of all who spoke to it."""
        found = RangeSet()
        for peer, frame in self._met.items():
            sent = self._sent.get(peer, END)
            if frame < sent:
                found.add(frame, sent)
        return found

    def shown(self, hole: Uncaptured) -> bool:
        """Do two frames say so? One number may have been damaged where no checksum tells: then no
        higher ones follow it before those that seemed to be left out."""
        return hole.stamps[1] <= self._below

    def saw(self, stamp: int, mark: Mark) -> None:
        """An own message with this number."""
        if self._last_mark is None:
            self.first, self.first_mark = stamp, mark
            self._last, self._last_mark = stamp, mark
            return
        step = (stamp - self._last) % _WRAP
        if step >= _WRAP // 2:  # behind: its record stands out of order, or it came again
            self._found(self._last - (_WRAP - step))
            return
        if step > 1 and len(self.holes) < MAX_HOLES:
            self.holes.append(
                Uncaptured((self._last + 1, self._last + step), self._last_mark, mark)
            )
        elif step > 1:
            self.unlisted += 1
        self._below = self._last if step else self._below
        self._last += step
        self._last_mark = mark

    def _found(self, stamp: int) -> None:
        for place, hole in enumerate(self.holes):
            first, stop = hole.stamps
            if first <= stamp < stop:
                parts = [(first, stamp), (stamp + 1, stop)]
                self.holes[place : place + 1] = [
                    hole._replace(stamps=part) for part in parts if part[0] < part[1]
                ]
                return

    def none_missing(self, since: Mark, until: Mark) -> bool:
        """Are all own messages between two moments in the capture? Those that it lacks the next
        ones tell, so some have to be before and behind."""
        first, last = self.first_mark, self._last_mark
        if first is None or last is None or last.frame < until.frame:
            return False
        return not self.lacks(since, until)

    def lacks(self, since: Mark, until: Mark) -> bool:
        """Do the numbers of those that came show that one may be missing which was sent between two
        moments? Before the first of all, that has a higher number than 1, any may be."""
        first = self.first_mark
        if first is not None and self.first != 1 and first.frame > since.frame:
            return True
        return bool(self.unlisted) or any(
            hole.before.frame < until.frame and since.frame < hole.after.frame
            for hole in self.holes
        )


class Beginning:
    """Up to which seqno messages of a stream may have been sent before the capture began.

    Args:
        began: when the conversation's capture did.

    Attributes:
        bound: that seqno; null: nothing shows it yet, so it may be any.
    """

    __slots__ = (
        "_asked_at", "_asked_stop", "_began", "_elapsed", "_least", "_top", "_top_at", "bound",
    )  # fmt: skip

    def __init__(self, began: Mark, elapsed: Elapsed, bound: int | None = None) -> None:
        self.bound = bound
        self._began = began
        self._elapsed = elapsed
        self._least = 0  # highest that was named or acknowledged
        self._asked_stop = 0
        self._asked_at: Mark | None = None
        self._top = -1
        self._top_at: Mark | None = None

    def named(self, stop: int, mark: Mark) -> None:
        """The receiver asked for seqnos below ``stop``."""
        self._asked_stop = max(self._asked_stop, stop)
        self._asked_at = mark
        self._least = max(self._least, stop - 1)

    def acknowledged(self, seqno: int) -> None:
        """The receiver said that it has everything up to it."""
        self._least = max(self._least, seqno)

    def begins(self, level: int) -> None:
        """Its window may begin as late as behind ``level``: what was before it may not have had."""
        if self.bound is not None:
            self.bound = max(self.bound, level)
        self._least = max(self._least, level)

    def arrived(self, event: Event) -> None:
        """A message or run came: is one of it certain to be an original?

        It is if it is above all that was seen, the one below it came just before in a datagram of
        its own, and nobody can have asked for it.
        """
        if self.bound is not None or event.kind is Kind.RETRANSMISSION:
            return
        assert event.seqno is not None and event.stop_seqno is not None
        first, last = event.first_mark(), event.last_mark()
        original: int | None = None
        if event.seqno > self._top:
            before = self._top_at if event.seqno == self._top + 1 else None
            if (
                before is not None
                and before.frame != first.frame
                and first.at_ns - before.at_ns < SECOND_NS
            ):
                original = event.seqno
            elif event.count > 1 and last.frame > first.frame and not event.flags & Flag.LISTED:
                original = event.seqno + 1
        if event.stop_seqno - 1 > self._top:
            self._top, self._top_at = event.stop_seqno - 1, last
        if original is not None and self._unasked(original, first):
            self.bound = max(original - 1, self._least)

    def _unasked(self, seqno: int, mark: Mark) -> bool:
        if self._asked_at is not None:
            # A request leaves out what was had below the last it names, so what is above that
            # was not asked for at the tick before.
            return (
                seqno >= self._asked_stop
                or self._elapsed.at_least(self._asked_at, mark) >= SECOND_NS
            )
        return self._elapsed.at_least(self._began, mark) >= SECOND_NS
