"""A member's time in a cluster: is it in, and where do its windows begin (jgroups.md 5.4)?

What came before its JOIN_RSP waits; the digest in it says how far its coordinator had delivered
what the others sent, and what it had sent itself. What was sent before the join no path lost for
this member, and only a capture that goes back before the digest was made shows what that was. An
answer may be long on its way: no digest is older than what asked for it.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.members import View
from seqaudit.replay.sequence.gaps import Mark

#: Messages before a join: no digest is older than these.
MOST_WAITING: Final = 1_000
#: Before all that was captured.
EVER: Final = Mark(-1, 0)


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


class Skipped(NamedTuple):
    """What a merge moved a window past of which nothing was heard: [low + 1, level]."""

    low: int
    level: int
    mark: Mark  # of the view


class Epoch:
    """One membership of the member at this point, from a join on.

    Attributes:
        since: when its process began at the latest: what ended before was another one's.
        joined: it is known to have windows.
        bases: where a window begins that has not been opened yet, by sender.
        based_at: when the last view told so; null: none did.
        asked: when this member first asked to join; null: the capture may not have that.
        let_in: senders that a view let in: what came of them before it was installed was dropped.
        skipped: what merges moved windows past that have not been opened yet, by sender.
        waiting: what came before.
    """

    __slots__ = (
        "_has_asked", "_out", "_told", "asked", "based_at", "bases", "joined", "let_in", "since",
        "skipped", "waiting",
    )  # fmt: skip

    def __init__(self, since: Mark = EVER) -> None:
        self.since = since
        self.joined = False
        self.bases: dict[str, int] = {}
        self.based_at: Mark | None = None
        self.asked: Mark | None = None
        self._has_asked = False
        self.let_in: set[str] = set()
        self.waiting = JoinQueue()
        self.skipped: dict[str, Skipped] = {}
        self._out: dict[str, int] = {}  # bases of who is out of the view
        self._told: dict[str, Mark | None] = {}  # by a digest that is not older than this

    def asks(self, event: Event, local: str | None) -> None:
        """Somebody asks to join. One whose request is not the first that its process sent may have
        asked before: an answer to that may come behind this one, and is older (ClientGmsImpl asks
        again when a ``join_timeout`` is over)."""
        if event.source == local and not self._has_asked:
            self._has_asked = True
            self.asked = event.first_mark() if event.details().get("first") else None

    def tells(self, answer: Event) -> None:
        """This member lets another one in, which had sent nothing when it was told so first."""
        assert answer.destination is not None
        self.bases.setdefault(answer.destination, 0)
        self._told.setdefault(answer.destination, answer.first_mark())
        self.based_at = answer.first_mark()

    def begins(self, join: Event, view: View) -> None:
        """A JOIN_RSP has come, with its digest."""
        self.joined, self.bases = True, {}
        self._based(join, self.asked)
        self.bases = dict.fromkeys(view.members, 0) | self.bases

    def _based(self, event: Event, asked: Mark | None) -> None:
        """A digest, if it has one, says where windows begin that are not open yet."""
        for member, levels in (event.details().get("digest") or {}).items():
            if member not in self.bases:
                self.bases[member], self._told[member] = int(levels[0]), asked

    def lets_in(self, event: Event, view: View, newcomers: set[str], part: set[str] | None) -> None:
        """A view is installed that may have members which had no windows here. Who is not in it has
        none; one that nothing was heard of yet is replaced by a merge as any other (R15, R19).

        Args:
            part: who was in this member's part of the cluster, if the view merges; null: not told.
        """
        merged = event.details().get("digest") if event.details().get("merge") else None
        for member in set(self.bases) - set(view.members):
            self._out[member] = self.bases.pop(member)
        for member, levels in (merged or {}).items():
            self._moves(
                member, int(levels[0]), event.first_mark(), cut_off=member not in (part or ())
            )
        known = set(self.bases)
        self._based(event, None)
        self.bases = dict.fromkeys(newcomers, 0) | self.bases
        self.let_in |= self.bases.keys() - known
        self._out = {who: low for who, low in self._out.items() if who not in self.bases}

    def _moves(self, member: str, level: int, mark: Mark, *, cut_off: bool) -> None:
        """A merge says where the window of a sender begins that nothing was heard of.

        Args:
            cut_off: it was in another part. What one in this member's own has sent and nobody heard
                is not in the capture.
        """
        low = self.bases.get(member, self._out.get(member, level))
        if low >= level:
            return
        if cut_off:
            before = self.skipped.get(member)
            self.skipped[member] = Skipped(low if before is None else before.low, level, mark)
        self.bases.pop(member, None)

    def tells_all(self, sender: str, long_before: Callable[[Mark], bool]) -> bool:
        """Does its base say what a sender had sent before the capture began? Who is new had sent
        nothing; of what asked for a digest the capture has to show that it was not asked before."""
        if sender not in self._told:
            return True
        asked = self._told[sender]
        return asked is not None and long_before(asked)
