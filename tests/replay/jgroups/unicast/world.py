"""A slow, obvious UNICAST3: sender A and receiver B over a bad path, and what is true of it.

Written from jgroups.md 4.3 and 4.4 alone, one message at a time. The auditor sees the events that a
capture at A or at B would hold; ``Truth`` is what really happened.
"""

import heapq
import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag, Kind
from seqaudit.replay.contract.event import Event
from tests.replay.builders import CLUSTER, MS, A, B, ranges

TICK: Final = 500
SYNC: Final = 2000


@dataclass(frozen=True)
class Plan:
    """One run. Times in ms."""

    seed: int
    sends: tuple[int, ...]  # when A's application sends
    loss: float = 0.0
    duplication: float = 0.0
    spread: int = 0  # most that a datagram is delayed
    drops: tuple[int, ...] = ()  # when B loses its window
    closes: tuple[int, ...] = ()  # when A closes its connection, if all is acknowledged
    obeys_timestamps: bool = True
    pauses: tuple[tuple[int, int], ...] = ()  # from when to when B reads nothing


@dataclass
class Truth:
    """What really happened, by (conn_id, seqno) where nothing else is said."""

    sent: list[tuple[int, int]] = field(default_factory=list)
    first_copy_lost: set[tuple[int, int]] = field(default_factory=set)
    arrived: set[tuple[int, int]] = field(default_factory=set)
    delivered: list[tuple[int, int]] = field(default_factory=list)
    windows_lost: int = 0  # with something delivered before
    reasons: Counter[str] = field(default_factory=Counter)
    purged: set[tuple[int, int]] = field(default_factory=set)  # by a stale ACK, not delivered again
    lacked: set[tuple[int, int]] = field(default_factory=set)  # by its window, when it asked
    acks_lost: int = 0
    sent_after_arrival: Counter[int] = field(default_factory=Counter)  # copies, by conn_id
    quick_losses: int = 0  # of windows that were hardly open
    happened: Counter[str] = field(default_factory=Counter)  # in words
    longest_gap: int = 0  # ms from a higher seqno's arrival to this one's
    silent_reopenings: int = 0  # a lost window came back by seqno 1, without any SEND_FIRST_SEQNO

    def redelivered(self) -> int:
        """Deliveries of what had been delivered before."""
        return len(self.delivered) - len(set(self.delivered))


class World:
    """Plays a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.truth = Truth()
        self.random = Random(plan.seed)
        self.now = 0
        self.at_a: list[Event] = []
        self.at_b: list[Event] = []
        self._queue: list[tuple[int, int, Any, tuple[Any, ...]]] = []
        self._ticket = count()
        self._ids = count(1)
        # the sender: one entry at a time
        self.conn = -1
        self.open = False
        self.next = 1
        self.acked = 0
        self.last_stamp = 0
        self.watermark = (0, 0)
        # the receiver
        self.window: int | None = None  # its conn_id
        self.hd = 0
        self.stored: set[int] = set()
        self.flag = False
        self.mark: int | None = None
        self.cache: list[tuple[int, int, bool]] = []
        self.stamp = 0
        self.last_sync: int | None = None
        self.opened: set[int] = set()  # conn_ids
        self.came: dict[int, dict[int, int]] = {}  # conn_id -> seqno -> when it came first
        self.opened_at = 0
        self.asked = False  # a SEND_FIRST_SEQNO went out since the window was lost

    def play(self) -> "World":
        """To the end, the last 20 s without trouble on the path."""
        plan = self.plan
        for at in plan.sends:
            self._at(at, self._application_sends)
        for at in plan.drops:
            self._at(at, self._lose_window)
        for at in plan.closes:
            self._at(at, self._close)
        self.calm = max((*plan.sends, *plan.drops, *plan.closes)) + 1
        end = self.calm + 20_000
        a_phase, b_phase = self.random.randrange(TICK), self.random.randrange(TICK)
        for at in range(0, end, TICK):
            self._at(at + a_phase, self._sender_tick)
            self._at(at + b_phase, self._receiver_tick)
        while self._queue:
            self.now, _, what, arguments = heapq.heappop(self._queue)
            what(*arguments)
        return self

    # -- the sender (4.3) --------------------------------------------------------------------------

    def _application_sends(self) -> None:
        if not self.open:
            self.conn, self.open = self.conn + 1, True
            self.next, self.acked, self.last_stamp, self.watermark = 1, 0, 0, (0, 0)
        seqno, self.next = self.next, self.next + 1
        self.truth.sent.append((self.conn, seqno))
        self._data(seqno, first=seqno == 1, reason="")

    def _data(self, seqno: int, *, first: bool, reason: str) -> None:
        if reason:
            self.truth.reasons[reason] += 1
            if (self.conn, seqno) in self.truth.arrived:
                self.truth.sent_after_arrival[self.conn] += 1
        fresh_id = next(self._ids) % 65536
        fields = {"seqno": seqno, "conn": self.conn, "first": first, "fresh_id": fresh_id}
        self._tap(self.at_a, "DATA", A, B, **fields)
        lost = not self._travel(self._data_arrives, A, fields)
        if lost and not reason:
            self.truth.first_copy_lost.add((self.conn, seqno))

    def _sender_tick(self) -> None:
        if not self.open:
            return
        pair = (self.acked, self.next - 1)
        if pair[0] < pair[1] and pair == self.watermark:
            self._data(pair[1], first=pair[1] == 1, reason="highest_sent")
        self.watermark = pair

    def _ack_arrives(self, seqno: int, conn: int, stamp: int) -> None:
        self._tap(self.at_a, "ACK", B, A, seqno=seqno, conn=conn, stamp=stamp)
        if not self.open or conn != self.conn:
            self.truth.happened["ACK of another connection"] += 1
            return
        self.truth.happened["ACK that is not newer"] += stamp <= self.last_stamp
        if stamp <= self.last_stamp and self.plan.obeys_timestamps:
            return
        stale = stamp <= self.last_stamp
        self.last_stamp = max(stamp, self.last_stamp)
        level = min(seqno, self.next - 1)
        if stale and level > self.acked:
            held = self.stored | set(range(1, self.hd + 1)) if self.window == conn else set()
            missing = set(range(self.acked + 1, level + 1)) - held
            self.truth.purged |= {(conn, n) for n in missing}
        self.acked = max(self.acked, level)

    def _sync_arrives(self, stamp: int) -> None:
        self._tap(self.at_a, "SEND_FIRST_SEQNO", B, A, stamp=stamp)
        self.truth.happened["SEND_FIRST_SEQNO came"] += 1
        if not self.open or (stamp <= self.last_stamp and self.plan.obeys_timestamps):
            return
        self.last_stamp = max(stamp, self.last_stamp)
        if self.acked < self.next - 1:
            self._data(self.acked + 1, first=True, reason="sync_answer")

    def _request_arrives(self, seqnos: tuple[int, ...]) -> None:
        self._tap(self.at_a, "XMIT_REQ", B, A, seqnos=seqnos)
        for seqno in seqnos:
            if self.open and self.acked < seqno < self.next:
                self._data(seqno, first=seqno == 1, reason="requested")

    def _close(self) -> None:
        if self.open and self.acked == self.next - 1:
            self.open = False
            self._tap(self.at_a, "CLOSE", A, B, conn=self.conn)
            self.truth.happened["CLOSE sent"] += 1
            self._travel(self._close_arrives, A, {"conn": self.conn})

    # -- the receiver (4.4) ------------------------------------------------------------------------

    def _data_arrives(
        self, seqno: int, conn: int, first: bool, fresh_id: int, duplicate: bool = False
    ) -> None:
        self._tap(
            self.at_b, "DATA", A, B,
            seqno=seqno, conn=conn, first=first, fresh_id=fresh_id, duplicate=duplicate,
        )  # fmt: skip
        self._note_arrival(seqno, conn, duplicate=duplicate)
        self._when_awake(lambda: self._data_read(seqno, conn, first))

    def _data_read(self, seqno: int, conn: int, first: bool) -> None:
        if (self.window is None or self.window != conn) and first:
            self.truth.silent_reopenings += conn in self.opened and not self.asked
            self.opened.add(conn)
            self.opened_at = self.now
            self.window, self.hd, self.stored = conn, seqno - 1, set()
            self.mark = None
        if self.window != conn:
            self.cache.append((seqno, conn, first))
            if self.last_sync is None or self.now - self.last_sync >= SYNC:
                self.last_sync = self.now
                self.asked = True
                self.truth.lacked |= {(conn, n) for n in range(1, seqno + 1)}
                self.stamp += 1
                self._tap(self.at_b, "SEND_FIRST_SEQNO", B, A, stamp=self.stamp)
                self.truth.happened["SEND_FIRST_SEQNO sent"] += 1
                self._travel(self._sync_arrives, B, {"stamp": self.stamp})
            return
        self._accept(seqno)
        kept, self.cache = self.cache, []
        for old, of, _ in kept:
            if of == conn:
                self._accept(old)

    def _note_arrival(self, seqno: int, conn: int, *, duplicate: bool) -> None:
        happened = self.truth.happened
        if duplicate:
            happened["network duplicate"] += 1
        elif (conn, seqno) in self.truth.arrived:
            happened["copy of what had come"] += 1
        higher = [at for n, at in self.came.get(conn, {}).items() if n > seqno]
        if (conn, seqno) not in self.truth.arrived and higher:
            happened["after a later one"] += 1
            self.truth.longest_gap = max(self.truth.longest_gap, self.now - min(higher))
        self.truth.arrived.add((conn, seqno))
        self.came.setdefault(conn, {}).setdefault(seqno, self.now)

    def _accept(self, seqno: int) -> None:
        self.flag = True
        if seqno <= self.hd or seqno in self.stored:
            return
        self.stored.add(seqno)
        while self.hd + 1 in self.stored:
            self.hd += 1
            self.stored.discard(self.hd)
            self.truth.delivered.append((self.window or 0, self.hd))

    def _receiver_tick(self) -> None:
        if self._awake() > self.now:
            return
        self._send_pending_ack()
        missing = [
            n for n in range(self.hd + 1, max(self.stored, default=0)) if n not in self.stored
        ]
        if self.window is None or not missing:
            self.mark = None
        elif self.mark is None:
            self.mark = missing[-1]
        else:
            wanted = tuple(n for n in missing if n <= (self.mark or 0))
            self.mark = max(self.mark, missing[-1])
            self.truth.lacked |= {(self.window, n) for n in wanted}
            self._tap(self.at_b, "XMIT_REQ", B, A, seqnos=wanted)
            self._travel(self._request_arrives, B, {"seqnos": wanted})

    def _send_pending_ack(self) -> None:
        if self.window is None or not self.flag:
            return
        self.flag = False
        self.stamp += 1
        fields = {"seqno": self.hd, "conn": self.window, "stamp": self.stamp}
        self._tap(self.at_b, "ACK", B, A, **fields)
        if not self._travel(self._ack_arrives, B, fields):
            self.truth.acks_lost += 1

    def _lose_window(self) -> None:
        if self._awake() > self.now:
            self._at(self._awake(), self._lose_window)
        elif self.window is not None:
            self._send_pending_ack()  # as when it is reaped
            self.truth.windows_lost += 1
            self.truth.quick_losses += self.now - self.opened_at < 50
            self.window, self.stored, self.mark, self.asked = None, set(), None, False

    def _close_arrives(self, conn: int) -> None:
        self._tap(self.at_b, "CLOSE", A, B, conn=conn)
        self.truth.happened["CLOSE came"] += 1
        self._when_awake(lambda: self._close_read(conn))

    def _close_read(self, conn: int) -> None:
        if self.window == conn:
            self.window, self.stored, self.mark = None, set(), None

    def _awake(self) -> int:
        """When B reads next: now, or at the end of its pause."""
        ends = [end for begin, end in self.plan.pauses if begin <= self.now < end]
        return max(ends, default=self.now)

    def _when_awake(self, what: Any) -> None:
        if self._awake() > self.now:
            self._at(self._awake(), what)
        else:
            what()

    # -- the path and the taps ---------------------------------------------------------------------

    def _at(self, at: int, what: Any, *arguments: Any) -> None:
        heapq.heappush(self._queue, (at, next(self._ticket), what, arguments))

    def _travel(self, arrives: Any, source: str, fields: dict[str, Any]) -> bool:
        """Send a datagram; whether it arrives."""
        plan, calm = self.plan, self.now >= self.calm
        if not calm and self.random.random() < plan.loss:
            return False
        delay = 2 if calm or not plan.spread else 2 + self.random.randrange(plan.spread)
        self._at(self.now + delay, lambda: arrives(**fields))
        if source == A and "seqno" in fields and self.random.random() < plan.duplication:
            again = self.now + delay + 1 + self.random.randrange(20)
            self._at(again, lambda: arrives(**fields, duplicate=True))
        return True

    def _tap(self, capture: list[Event], wire_kind: str, source: str, to: str, **f: Any) -> None:
        """What a capture records of a message."""
        kinds = {
            "DATA": Kind.DATA, "ACK": Kind.ACK, "SEND_FIRST_SEQNO": Kind.SYNC,
            "XMIT_REQ": Kind.REQUEST, "CLOSE": Kind.CLOSE,
        }  # fmt: skip
        flags = Flag(0)
        if f.get("first"):
            flags |= Flag.FIRST
        if f.get("duplicate"):
            flags |= Flag.NETWORK_DUPLICATE
        wanted = ranges(f.get("seqnos", ()))
        seqno = f.get("seqno", wanted[0][0] if wanted else None)
        stop = None if seqno is None else wanted[-1][1] if wanted else seqno + 1
        conn = f.get("conn")
        capture.append(
            Event(
                frame=len(capture) + 1, last_frame=len(capture) + 1,
                at_ns=self.now * MS, last_at_ns=self.now * MS,
                kind=kinds[wire_kind], wire_kind=wire_kind, system="unicast3",
                stream=f"{CLUSTER}|{A}|{B}|{'' if conn is None else conn}",
                source=source, destination=to, seqno=seqno, stop_seqno=stop,
                count=len(f["seqnos"]) if "seqnos" in f else 1, conn_id=conn,
                stamp=f.get("stamp"), flags=flags, size=60, fresh_id=f.get("fresh_id"),
                last_fresh_id=f.get("fresh_id"),
                detail=json.dumps(wanted) if "seqnos" in f else None,
            )
        )  # fmt: skip
