"""A NAKACK4 (MCAST) sender as its ACKs show it: ack map, minimum, full window, blocking.

Replays jgroups.md 5.3 for one sender from the messages it sent and the ACKs that reached the point
of capture. The sender's own ACK is on no wire (5.3), so the minimum seen here is at or above the
true one: a window that is full by it is full, one that is not may be.

    event                     row of 5.3 (tests.replay.jgroups.mcast.rows)                   here
    MSG, new seqno            S3 store, high = max; S1 blocks if there is no room   _send, _resume
                              S14 never more than capacity (D1: the document's)     limit, _measure
    ACK(n) from P             S4 not in the map: ignored; S5, S16 only a higher n   _ack
                              S6 the minimum grows: purge (S7: the own is unseen)   _purge
    VIEW                      S8 leavers out, S9 (D7) joiners in with 0             _membership
    HIGHEST_SEQNO             S13 not all ACKs at a tick                            _ask

A sender takes a leaver out of its map when it *installs* the view, and what had been blocked goes
out before the VIEW itself is on the wire [n4-crash-leave-1: 7 ms]. So events wait for a moment
(``LOOK_AHEAD_NS``) before they are replayed, and a view that removes members is put before the
first message that the old membership cannot explain.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final, NamedTuple

from seqaudit.replay.jgroups.report_rows import StallRow
from seqaudit.replay.sequence.fills import Fill
from seqaudit.replay.sequence.gaps import Mark

LOOK_AHEAD_NS: Final = 100_000_000
MAX_QUEUED: Final = 10_000
#: Pauses of a sender that tell its pace.
LAST_PAUSES: Final = 4
#: A pause that is not its pace is so many times longer.
LONGER: Final = 2
MAX_STALLS: Final = 1_000
MIN_SILENCE_NS: Final = 20_000_000
ASKING_NS: Final = 5_000_000_000  # a member that asked for repairs this recently may well be late


class _Sent(NamedTuple):
    first: int
    stop: int
    start: Mark
    end: Mark


class _Acked(NamedTuple):
    member: str
    seqno: int
    mark: Mark


class _ViewMembers(NamedTuple):
    members: frozenset[str]
    mark: Mark


class _Highest(NamedTuple):
    seqno: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class Stall:
    """From the window being full, by the ACKs seen, to the first new seqno (S1, V4)."""

    full: Mark  # the message that filled the window
    filled_by: int  # its seqno
    raised: Mark  # the ACK (or view) that made room
    raised_by: str | None  # who sent it; null: a member left
    resumed: Mark  # the first new seqno after it
    outstanding: int  # unacknowledged messages while it was full
    proven: bool  # the new seqno followed closely, and later than at its pace: it was not idle

    def row(self) -> StallRow:
        """As the report's stream shows it."""
        return {
            "full_frame": self.full.frame,
            "full_at_ns": self.full.at_ns,
            "filled_by": self.filled_by,
            "raised_frame": self.raised.frame,
            "raised_by_member": self.raised_by,
            "resumed_frame": self.resumed.frame,
            "blocked_ns": self.resumed.at_ns - self.full.at_ns,
            "outstanding": self.outstanding,
            "proven": self.proven,
        }


@dataclass(slots=True)
class LateAck:
    """A member whose ACK came only after the sender had asked by HIGHEST_SEQNO."""

    member: str
    asked: Mark
    highest: int
    came: Mark | None = None
    value: int | None = None


class _Full(NamedTuple):
    """The window is full by the ACKs seen."""

    mark: Mark
    filled_by: int
    outstanding: int


class _Raised(NamedTuple):
    """The first rise of the minimum since the window was full."""

    mark: Mark
    member: str | None  # whose ACK; null: a view


class SenderModel:
    """One sender's window.

    Args:
        capacity: messages in the ring; null: not known, learned at the end.
        proof_ns: a new seqno this soon after what made room shows that the sender waited for it.
        document: the MCAST document's rule, one message fewer fits (5.6).

    Attributes:
        high: highest seqno sent.
        low: minimum over the members' ACKs that are known; it only grows (a purge is not undone).
        max_outstanding: most messages that were unacknowledged at once; null: no ACK level known.
        overrun: first moment at which more were unacknowledged than the capacity allows.
        ignored_acks: ACKs from members that are not in the map.
        fill: unacknowledged messages over time, as far as an ACK level is known.
        late_acks: members whose ACK came only after HIGHEST_SEQNO.
    """

    def __init__(self, capacity: int | None, proof_ns: int, *, document: bool = False) -> None:
        self.capacity = capacity
        self.high = 0
        self.low = 0
        self.max_outstanding: int | None = None
        self.overrun: tuple[Mark, int] | None = None
        self.ignored_acks = 0
        self.late_acks: list[LateAck] = []
        self._proof_ns = proof_ns
        self._document = document
        self._acks: dict[str, int | None] = {}  # null: a member not heard since the capture began
        self._view_known = False
        self._from_one = False  # the capture holds the sender's first message
        self._queue: deque[_Sent | _Acked | _ViewMembers | _Highest] = deque()
        self._full: _Full | None = None
        self._raised: _Raised | None = None
        self._last_sent: Mark | None = None
        self._stalls: list[Stall] = []
        self._unlisted = 0
        self.fill = Fill()  # unacknowledged messages, once an ACK level is known
        self._spacing_ns = 0  # time between sends that were no stalls, in all, and their number
        self._spacings = 0
        self._pauses: deque[int] = deque(maxlen=LAST_PAUSES)  # of these, the latest
        self._waiting: dict[str, LateAck] = {}
        self._asking: dict[str, Mark] = {}

    # -- what the stream saw ------------------------------------------------------------------

    def sent(self, first: int, stop: int, start: Mark, end: Mark) -> None:
        """New seqnos [first, stop) went out."""
        self._put(_Sent(first, stop, start, end), end.at_ns)

    def acked(self, member: str, seqno: int, mark: Mark) -> None:
        self._put(_Acked(member, seqno, mark), mark.at_ns)

    def requested(self, member: str, mark: Mark) -> None:
        """A member asked for a retransmission: that its ACK is late is no riddle then."""
        self._asking[member] = mark
        self._waiting.pop(member, None)

    def highest_told(self, seqno: int, mark: Mark) -> None:
        """The sender multicast HIGHEST_SEQNO: it has not all ACKs at a tick (S13)."""
        self._put(_Highest(seqno, mark), mark.at_ns)

    def members_are(self, members: frozenset[str], sender: str, mark: Mark) -> None:
        """A view is installed at the sender."""
        view = _ViewMembers(members - {sender}, mark)
        self._replay_until(mark.at_ns)
        if self._queue and self._current_members() - view.members:
            self._replay_around(view)
        else:
            self._put(view, mark.at_ns)

    def finish(self) -> None:
        """No more events."""
        while self._queue:
            self._replay(self._queue.popleft())

    # -- results ------------------------------------------------------------------------------

    def learned_capacity(self) -> int | None:
        """The largest number of unacknowledged messages, if it shows to be the window (V4).

        Reached once, it may be chance [n4-join-leave-1: 51 of 128]. Reached, left by an ACK that a
        new seqno follows at once, and reached again, at least once with a silence that is not the
        sender's usual pace, it is the window (5.3, 6).
        """
        at_once = [stall for stall in self._stalls if self._at_once(stall.raised, stall.resumed)]
        usual_ns = self._spacing_ns // self._spacings if self._spacings else 0
        silence_ns = max(4 * usual_ns, MIN_SILENCE_NS)
        if len(at_once) < 2 or all(s.resumed.at_ns - s.full.at_ns <= silence_ns for s in at_once):
            return None
        return self.max_outstanding

    def stalls(self) -> list[Stall]:
        """Blocks by the capacity that is known or was learned; empty if there is none."""
        if self.capacity is not None or self.learned_capacity() is not None:
            return self._stalls
        return []

    def unlisted_stalls(self) -> int:
        """Blocks that were only counted, past the first thousand."""
        return self._unlisted

    # -- replay -------------------------------------------------------------------------------

    def _put(self, event: _Sent | _Acked | _ViewMembers | _Highest, now_ns: int) -> None:
        self._queue.append(event)
        self._replay_until(now_ns)

    def _replay_until(self, now_ns: int) -> None:
        while self._queue and (
            len(self._queue) > MAX_QUEUED or _time(self._queue[0]) < now_ns - LOOK_AHEAD_NS
        ):
            self._replay(self._queue.popleft())

    def _current_members(self) -> set[str]:
        for event in reversed(self._queue):
            if isinstance(event, _ViewMembers):
                return set(event.members)
        return set(self._acks)

    def _replay_around(self, view: _ViewMembers) -> None:
        """Replay what waits, the view before the first message that only it explains."""
        while self._queue:
            event = self._queue[0]
            if isinstance(event, _Sent) and self._unexplained(event):
                break
            self._replay(self._queue.popleft())
        self._replay(view)
        while self._queue:
            self._replay(self._queue.popleft())

    def _unexplained(self, event: _Sent) -> bool:
        room = self.max_outstanding if self.capacity is None else self.limit()
        return room is not None and event.stop - 1 - self.low > room

    def limit(self) -> int | None:
        """Most messages that can be unacknowledged (S14; one fewer by the document, D1)."""
        if self.capacity is None:
            return None
        return self.capacity - 1 if self._document else self.capacity

    def _replay(self, event: _Sent | _Acked | _ViewMembers | _Highest) -> None:
        if isinstance(event, _Sent):
            self._send(event)
        elif isinstance(event, _Acked):
            self._ack(event)
        elif isinstance(event, _ViewMembers):
            self._membership(event)
        else:
            self._ask(event)

    def _send(self, event: _Sent) -> None:
        if event.stop - 1 <= self.high:
            return  # sent out of order: it took its place in the window earlier
        if event.first == 1 and self.high == 0:
            self._from_one = True
            self._acks = {member: level or 0 for member, level in self._acks.items()}
        if self._full is not None and self._raised is not None:
            self._resume(self._full, self._raised, event.start)
        elif self._last_sent is not None:
            self._paused(event.start.at_ns - self._last_sent.at_ns, 1)
        if event.stop - event.first > 1:
            self._paused(event.end.at_ns - event.start.at_ns, event.stop - event.first - 1)
        if any(level is not None for level in self._acks.values()):
            self.fill.set(event.start.at_ns, self.high + 1 - self.low)
        self.high = event.stop - 1
        self._last_sent = event.end
        self._full = self._raised = None
        if any(level is not None for level in self._acks.values()):
            self._measure(event.end)

    def _paused(self, all_ns: int, times: int) -> None:
        """So long in all between messages, with room in the window."""
        self._spacing_ns += all_ns
        self._spacings += times
        self._pauses.append(all_ns // times)

    def _measure(self, mark: Mark) -> None:
        outstanding = self.high - self.low
        self.fill.set(mark.at_ns, outstanding)
        limit = self.limit()
        if limit is not None and outstanding > limit and self.overrun is None:
            self.overrun = (mark, outstanding)  # V5
        if self.max_outstanding is None or outstanding > self.max_outstanding:
            self.max_outstanding = outstanding
            if limit is None:
                self._stalls.clear()  # what was full by a smaller maximum was not full
                self._unlisted = 0
        if outstanding and outstanding >= (self.max_outstanding if limit is None else limit):
            self._full = _Full(mark, self.high, outstanding)

    def _resume(self, full: _Full, raised: _Raised, start: Mark) -> None:
        paused_ns = start.at_ns - full.mark.at_ns
        if len(self._stalls) >= MAX_STALLS:
            self._unlisted += 1
            return
        self._stalls.append(
            Stall(
                full.mark,
                full.filled_by,
                raised.mark,
                raised.member,
                start,
                full.outstanding,
                proven=self._at_once(raised.mark, start)
                and paused_ns > LONGER * max(self._pauses, default=0),
            )
        )

    def _at_once(self, raised: Mark, resumed: Mark) -> bool:
        return resumed.at_ns - raised.at_ns <= self._proof_ns

    def _ack(self, event: _Acked) -> None:
        if event.member not in self._acks:
            if self._view_known:
                self.ignored_acks += 1  # S4; before JGRP-2904 it created an entry
                return
            self._acks[event.member] = 0 if self._from_one else None
        waiting = self._waiting.get(event.member)
        if waiting is not None and event.seqno >= waiting.highest:
            del self._waiting[event.member]
            waiting.came, waiting.value = event.mark, event.seqno
            if len(self.late_acks) < MAX_STALLS:
                self.late_acks.append(waiting)
        level = self._acks[event.member]
        if level is None or event.seqno > level:  # S5, S16
            self._acks[event.member] = event.seqno
            self._purge(event.mark, event.member)

    def _membership(self, event: _ViewMembers) -> None:
        if not self._acks and (self._view_known or self._from_one):
            self.low = self.high  # it was alone: only its own ACK counted (S7)
        for member in set(self._acks) - event.members:
            del self._acks[member]  # S8
            self._waiting.pop(member, None)
        # Joiners enter with 0 (S9, D7); of members that were there before, nothing is known yet.
        fresh = 0 if self._view_known or self._from_one else None
        for member in sorted(event.members - set(self._acks)):
            self._acks[member] = fresh
        self._view_known = True
        self._purge(event.mark, None)

    def _purge(self, mark: Mark, member: str | None) -> None:
        levels = [level for level in self._acks.values() if level is not None]
        unheard = 0 if self._acks else self.high  # nobody else is left: its own ACK alone (S7)
        lowest = min(min(levels, default=unheard), self.high)
        if lowest > self.low:  # S6; after a join the minimum may be lower, low stays (S9)
            self.low = lowest
            self.fill.set(mark.at_ns, self.high - lowest)
            if self._full is not None and self._raised is None:
                self._raised = _Raised(mark, member)

    def _ask(self, event: _Highest) -> None:
        for member, level in self._acks.items():
            if level is not None and level < event.seqno and member not in self._waiting:
                asked = self._asking.get(member)
                if asked is None or event.mark.at_ns - asked.at_ns > ASKING_NS:
                    self._waiting[member] = LateAck(member, event.mark, event.seqno)


def _time(event: _Sent | _Acked | _ViewMembers | _Highest) -> int:
    return event.start.at_ns if isinstance(event, _Sent) else event.mark.at_ns
