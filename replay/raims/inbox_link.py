"""One direction of an inbox connection, which puts its messages in order (raims.md 3)."""

import heapq

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.raims.links import INBOX, MAX_HELD, Ready
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet

Life = tuple[int, int]  # what an inbox connection's sender and receiver call it; 0: not learned


class InboxLink:
    """One direction of an inbox connection: in order, once (raims.md 3).

    A number that the receiver has acknowledged it had, whether the capture holds it or not: what
    waits behind it goes on.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.packets = 0
        self.repairs = 0
        self.duplicates = 0
        self.acks = 0
        self.uncaptured = 0  # packets that the receiver had, and the capture does not hold
        self.sent = RangeSet()  # numbers that were captured, in the connection's latest life
        self.sent_ns: list[tuple[int, int]] = []  # when the highest number grew: (time, number)
        self.doubted_frame = -1  # where something was last found to be missing
        self._life: Life | None = None
        self._again = False  # it had another before, so its numbers begin at 1
        self._next = 0  # numbers begin at 1; 0: nothing came yet
        self._had = 0  # the receiver says that it has had everything up to this
        self._accepted = False
        self._held: list[tuple[int, int, Event]] = []
        self._order = 0
        self._waiting: set[int] = set()

    @property
    def source(self) -> str:
        """The address that sends."""
        return self.name.removeprefix(INBOX).partition(">")[0].rpartition(":")[0].strip("[]")

    def reverse(self) -> str:
        """The name of the other direction."""
        source, _, destination = self.name.removeprefix(INBOX).partition(">")
        return f"inbox:{destination}>{source}"

    def packet(self, event: Event) -> list[Ready]:
        """The header of an inbox datagram."""
        if event.kind is Kind.ACK:
            self.acks += event.count
            return []
        if event.seqno is None:
            return []
        if self.count(event):
            self._had_to(self._had, event.frame)  # nothing followed what it had last
            if self._waiting:  # nobody can tell whether they were taken
                self.doubted_frame = event.frame
            self._held = []
            self._next = 1 if self._next else event.seqno
            self._had = 0
            self._waiting.clear()
        first, stop = event.seqno, event.seqno + event.count
        if self._had < first:
            self._had_to(self._had, event.frame)
        self._accepted = stop > self._next and first not in self._waiting
        if not self._accepted:
            self.duplicates += event.count
            return []
        if first > self._next:
            self._waiting.update(range(first, min(stop, first + 1000)))
            return []
        self._next = max(self._next, stop)
        self._join()
        return self._ready(event.first_mark(), first)

    def count(self, event: Event) -> bool:
        """A data packet was captured, whoever gets it.

        Returns:
            Do its numbers begin anew: does one of both ends call the connection by another name?
        """
        if event.seqno is None:
            return False
        life = (event.conn_id or 0) & 1023, int(event.details().get("dest_id") or 0)
        anew = self._life is None or life != (self._life[0], self._life[1] or life[1])
        if anew:
            self._again = self._life is not None
            self.sent, self.sent_ns = RangeSet(), []
        self._life = life
        self.packets += event.count
        self.repairs += event.count if event.kind is Kind.RETRANSMISSION else 0
        grows = not self.sent or event.seqno >= self.sent.stop()
        if grows and len(self.sent_ns) < MAX_HELD:
            self.sent_ns.append((event.at_ns, event.seqno))
        self.sent.add(event.seqno, event.seqno + event.count)
        return anew

    @property
    def lacks(self) -> bool:
        """Are numbers missing in between, so far?"""
        return len(self.sent) > 1 or (self._again and bool(self.sent) and self.sent.first() > 1)

    def whole(self, from_ns: int, to_ns: int) -> tuple[int, int] | None:
        """The numbers sent from before one time to behind another, if the capture holds them all;
        null: it does not, or nobody can tell.
        """
        before = [number for at_ns, number in self.sent_ns if at_ns <= from_ns]
        behind = [number for at_ns, number in self.sent_ns if at_ns >= to_ns]
        if not behind or (not before and behind[0] != 1 and self.sent.first() != 1):
            return None
        first = before[-1] if before else 1
        if first > behind[0] or self.sent.missing(first, behind[0] + 1):
            return None
        return first, behind[0]

    def answers(self, event: Event) -> bool:
        """Is this packet of the other direction of the same life?"""
        return self._life is not None and event.details().get("dest_id") == self._life[0]

    def acknowledged(self, seqno: int, mark: Mark) -> list[Ready]:
        """The receiver says that it had everything up to this number."""
        self._had = max(self._had, seqno)
        if not self._next or seqno < self._next or not self._waiting:
            return []
        had = {n for n in self._waiting if n <= seqno}
        self._waiting -= had
        self._had_to(seqno, mark.frame, len(had))
        self._join()
        return self._ready(mark, self._next)

    def _had_to(self, seqno: int, frame: int, captured: int = 0) -> None:
        """The receiver had all up to a number; so many of what is new of it are captured."""
        if 0 < self._next <= seqno:
            self.uncaptured += seqno + 1 - self._next - captured
            self.doubted_frame = frame
            self._next = seqno + 1

    def message(self, event: Event) -> list[Ready]:
        """A message of the datagram whose header came last."""
        if not self._accepted:
            return []
        seqno = event.fresh_id or 0
        heapq.heappush(self._held, (seqno, self._order, event))
        self._order += 1
        ready: list[Ready] = []
        while self._held and self._held[0][0] < self._next:
            waited = self._held[0][0] != seqno
            ready.append((heapq.heappop(self._held)[2], event.first_mark(), waited))
        return ready

    def _join(self) -> None:
        while self._next in self._waiting:
            self._waiting.discard(self._next)
            self._next += 1

    def _ready(self, mark: Mark, below: int) -> list[Ready]:
        """What waited and is in order now, below a number whose messages come yet."""
        ready: list[Ready] = []
        while self._held and self._held[0][0] < min(self._next, below):
            ready.append((heapq.heappop(self._held)[2], mark, True))
        return ready
