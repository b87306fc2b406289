"""A member's time in a cluster: is it in, and where do its windows begin (jgroups.md 5.4)?

What came before its JOIN_RSP waits; the digest in it says how far its coordinator had delivered
what the others sent. Of the coordinator's own messages that is all that it had sent. Of another
member's it may have lacked some: what was sent before the join no path lost for this member, and
only a capture that goes back before the digest was made shows what that was.
"""

from collections import deque
from typing import Final

from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.members import View
from seqaudit.replay.sequence.gaps import Mark

#: Messages before a join: no digest is older than these.
MOST_WAITING: Final = 1_000


class JoinQueue:
    """Not yet a server: messages wait for the join (R1). The latest of them."""

    __slots__ = ("_rows", "messages")

    def __init__(self) -> None:
        self._rows: deque[Event] = deque()
        self.messages = 0

    def add(self, event: Event) -> None:
        """It came before the join."""
        self._rows.append(event)
        self.messages += event.count
        while self.messages - self._rows[0].count >= MOST_WAITING:
            self.messages -= self._rows.popleft().count

    def of(self, sender: str) -> list[Event]:
        """What waits of one sender."""
        return [event for event in self._rows if event.source == sender]

    def may_exceed(self, size: int) -> bool:
        """May more have come than a queue of this size holds? What the capture lacks between the
        messages of a sender may have come as well."""
        stops: dict[str | None, int] = {}
        lacking = 0
        for event in self._rows:
            assert event.seqno is not None
            stop = stops.get(event.source, event.seqno)
            lacking += max(event.seqno - stop, 0)
            stops[event.source] = max(event.seqno + event.count, stop)
        return self.messages + lacking > size

    def take(self) -> deque[Event]:
        """All that waits, which it does no more."""
        rows, self._rows, self.messages = self._rows, deque(), 0
        return rows


class Epoch:
    """One membership of the member at this point, from a join on.

    Attributes:
        joined: it is known to have windows.
        bases: where a window begins that has not been opened yet, by sender.
        based_at: when the last view told so; null: none did.
        let_in: senders that a view let in: what came of them before it was installed was dropped.
        waiting: what came before.
    """

    __slots__ = ("_behind", "based_at", "bases", "joined", "let_in", "waiting")

    def __init__(self) -> None:
        self.joined = False
        self.bases: dict[str, int] = {}
        self.based_at: Mark | None = None
        self.let_in: set[str] = set()
        self.waiting = JoinQueue()
        self._behind: set[str] = set()  # senders of which a digest may not have all

    def begins(self, join: Event, view: View) -> None:
        """A JOIN_RSP has come, with its digest."""
        self.joined, self.bases = True, {}
        self.based(join)
        self.bases = dict.fromkeys(view.members, 0) | self.bases

    def based(self, event: Event) -> None:
        """A digest, if it has one, says where windows begin that are not open yet."""
        for member, levels in (event.details().get("digest") or {}).items():
            if member not in self.bases:
                self.bases[member] = int(levels[0])
                if member != event.source:
                    self._behind.add(member)

    def lets_in(self, event: Event, view: View, newcomers: set[str]) -> None:
        """A view is installed that may have members which had no windows here. Who is not in it has
        none; one that nothing was heard of yet is replaced by a merge as any other (R15, R19)."""
        merged = event.details().get("digest") if event.details().get("merge") else None
        for member in set(self.bases) - set(view.members):
            del self.bases[member]
        for member, levels in (merged or {}).items():
            if self.bases.get(member, int(levels[0])) < int(levels[0]):
                del self.bases[member]
        known = set(self.bases)
        self.based(event)
        self.bases = dict.fromkeys(newcomers, 0) | self.bases
        self.let_in |= self.bases.keys() - known

    def tells_all(self, sender: str) -> bool:
        """Does its base say what a sender had sent by then? Who is new had sent nothing."""
        return sender not in self._behind
