"""A slow, obvious NAKACK4: three members that multicast over bad paths, and what is true of them.

Written from jgroups.md 5.3 and 5.4 alone, one message at a time. A and C multicast, B and the
other of them receive; B joins at the beginning, so its windows begin at 0. The auditor sees what a
capture at one member would hold; ``Truth`` is what really happened there.
"""

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any, Final

from seqaudit.decoders.contract.events import Flag
from seqaudit.replay.contract.event import Event
from tests.replay.builders import MS, A, B, C, ack, highest, join_rsp, msg, xmit_req, xmit_rsp

TICK: Final = 500
MEMBERS: Final = (A, B, C)
SENDERS: Final = (A, C)
Way = tuple[str, str]  # sender, receiver


@dataclass(frozen=True)
class Plan:
    """One run. Times in ms."""

    seed: int
    sends: tuple[int, ...]  # when A or C multicasts
    loss: float = 0.0
    discard: float = 0.0  # arrived, and dropped inside the receiver
    duplication: float = 0.0
    spread: int = 0  # most that a datagram is delayed
    multicast_repairs: bool = True
    pauses: tuple[tuple[str, int, int], ...] = ()  # member, from when to when it reads nothing
    joins: int = 0  # when B joins
    early: int = 400  # for how long its interface is in the group before


@dataclass
class Truth:
    """What really happened between a sender and a receiver."""

    came: dict[Way, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))  # ms
    copies: dict[Way, set[int]] = field(default_factory=lambda: defaultdict(set))
    lost: dict[Way, set[int]] = field(default_factory=lambda: defaultdict(set))  # the first copy
    overtaken: dict[Way, set[int]] = field(default_factory=lambda: defaultdict(set))
    doubled: dict[Way, set[int]] = field(default_factory=lambda: defaultdict(set))
    discarded: dict[Way, set[int]] = field(default_factory=lambda: defaultdict(set))
    lacked: dict[Way, set[int]] = field(default_factory=lambda: defaultdict(set))  # when asked for
    path: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # lost: what, from, to
    delivered: dict[Way, list[int]] = field(default_factory=lambda: defaultdict(list))
    base: dict[Way, int] = field(default_factory=lambda: defaultdict(int))  # where windows begin


class Window:
    """One receiver's for one sender; it has had all up to ``low`` (jgroups.md 5.4)."""

    def __init__(self, low: int = 0) -> None:
        self.hd = self.high = low
        self.stored: set[int] = set()
        self.flag = False
        self.mark: int | None = None

    def missing(self) -> list[int]:
        return [n for n in range(self.hd + 1, self.high) if n not in self.stored]

    def due(self) -> list[int]:
        """At a tick: what was missing at the one before, too."""
        missing = self.missing()
        wanted = [n for n in missing if self.mark is not None and n <= self.mark]
        self.mark = max([*missing, self.mark or 0]) if missing else None
        return wanted


class World:
    """Plays a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.truth = Truth()
        self.random = Random(plan.seed)
        self.now = 0
        self.at: dict[str, list[Event]] = {name: [] for name in MEMBERS}
        self.sent = dict.fromkeys(SENDERS, 0)
        self.acked = {(of, by): 0 for of in SENDERS for by in MEMBERS if by != of}
        self.idle = dict.fromkeys(SENDERS, False)
        self.windows = {way: Window() for way in self.acked}
        self.newest = dict.fromkeys(self.acked, 0)  # IP id that came
        self.waiting: list[Event] | None = None if plan.joins == 0 else []  # for B to join
        self._ids = dict.fromkeys(SENDERS, 0)
        self._queue: list[tuple[int, int, Any, tuple[Any, ...]]] = []
        self._ticket = count()

    def play(self) -> "World":
        """To the end, the last 10 s without trouble on the path."""
        for name in MEMBERS:
            if name != B or self.waiting is None:
                self._tap(name, join_rsp("ABC", 2, to=name, digest=dict.fromkeys("ABC", (0, 0))))
        self._at(self.plan.joins, self._join)
        for number, at in enumerate(self.plan.sends):
            self._at(at + 10, self._multicast, SENDERS[number % 3 == 2])
        self.calm = max(self.plan.sends) + 1
        for name in MEMBERS:
            phase = self.random.randrange(TICK)
            for at in range(0, self.calm + 10_000, TICK):
                self._at(at + phase, self._tick, name)
        while self._queue:
            self.now, _, what, arguments = heapq.heappop(self._queue)
            what(*arguments)
        return self

    def _join(self) -> None:
        """B joins; the digest is what its coordinator, A, has sent and delivered."""
        if self.waiting is None:
            return
        levels = {A: self.sent[A], B: 0, C: self.windows[C, A].hd}
        digest = {name: (level, level) for name, level in levels.items()}
        self._tap(B, join_rsp("ABC", 3, to=B, digest=digest))
        for by in SENDERS:
            window = self.windows[by, B]
            window.hd = window.high = self.truth.base[by, B] = levels[by]
            self.acked[by, B] = levels[by]
        waiting, self.waiting = self.waiting, None
        for event in waiting:
            self._message(event, B, str(event.source))

    def _is_in(self, name: str) -> bool:
        return name != B or self.waiting is None

    # -- the sender (5.3) --------------------------------------------------------------------------

    def _multicast(self, by: str) -> None:
        awake = self._awake(by)
        if awake > self.now:
            self._at(awake, self._multicast, by)
            return
        self.sent[by] += 1
        self.idle[by] = False
        self._to_all(by, self.sent[by], first=True)

    def _to_all(self, by: str, seqno: int, *, first: bool = False) -> None:
        self._ids[by] = self._ids[by] % 65535 + 1
        event = msg(seqno, by=by, ip_id=self._ids[by])
        self._tap(by, event)
        for to in MEMBERS:
            if to != by and not self._travel(to, event, self._message) and first:
                self.truth.lost[by, to].add(seqno)

    def _asked(self, event: Event, to: str, by: str) -> None:
        for first, stop in event.ranges():
            for seqno in range(first, stop):
                if self.plan.multicast_repairs:
                    self._to_all(to, seqno)
                else:
                    repair = xmit_rsp(seqno, by=to, for_=by)
                    self._tap(to, repair)
                    self._travel(by, repair, self._message)

    def _acknowledged(self, event: Event, to: str, by: str) -> None:
        self.acked[to, by] = max(self.acked[to, by], event.seqno or 0)

    # -- the receiver (5.4) ------------------------------------------------------------------------

    def _note(self, event: Event, to: str) -> None:
        """A message came to a member's interface."""
        way, seqno, truth = (str(event.source), to), event.seqno or 0, self.truth
        if event.flags & Flag.NETWORK_DUPLICATE:
            truth.doubled[way].add(seqno)
        elif seqno in truth.came[way]:
            truth.copies[way].add(seqno)
        truth.came[way].setdefault(seqno, self.now)
        if event.fresh_id:
            if event.fresh_id < self.newest[way]:
                truth.overtaken[way].add(seqno)
            self.newest[way] = max(self.newest[way], event.fresh_id)

    def _message(self, event: Event, to: str, by: str) -> None:
        way, seqno, truth = (by, to), event.seqno or 0, self.truth
        window = self.windows[way]
        if self.now < self.calm and self.random.random() < self.plan.discard:
            truth.discarded[way].add(seqno)
            return
        window.high = max(window.high, seqno)
        if seqno <= window.hd or seqno in window.stored:
            return
        window.stored.add(seqno)
        while window.hd + 1 in window.stored:
            window.hd += 1
            truth.delivered[way].append(window.hd)
            window.flag = True

    def _highest(self, event: Event, to: str, by: str) -> None:
        window, seqno = self.windows[by, to], event.seqno or 0
        if seqno > window.high:
            self._ask(by, to, (seqno,))
        window.flag = True

    def _ask(self, of: str, by: str, seqnos: tuple[int, ...]) -> None:
        self.truth.lacked[of, by].update(seqnos)
        request = xmit_req(*seqnos, by=by, of=of)
        self._tap(by, request)
        self._travel(of, request, self._asked)

    def _tick(self, name: str) -> None:
        if self._awake(name) > self.now or not self._is_in(name):
            return
        for (of, to), window in self.windows.items():
            if to != name:
                continue
            if window.flag:
                window.flag = False
                told = ack(window.hd, by=name, of=of)
                self._tap(name, told)
                self._travel(of, told, self._acknowledged)
            if wanted := window.due():
                self._ask(of, name, tuple(wanted))
        if name in SENDERS and self.sent[name]:
            low = min(self.acked[name, by] for by in MEMBERS if by != name and self._is_in(by))
            if self.idle[name] and low < self.sent[name]:
                event = highest(self.sent[name], by=name)
                self._tap(name, event)
                for to in MEMBERS:
                    if to != name:
                        self._travel(to, event, self._highest)
            self.idle[name] = True

    # -- the paths and the taps --------------------------------------------------------------------

    def _at(self, at: int, what: Any, *arguments: Any) -> None:
        heapq.heappush(self._queue, (at, next(self._ticket), what, arguments))

    def _travel(self, to: str, event: Event, arrives: Any) -> bool:
        """Send a datagram; whether it arrives."""
        plan, calm = self.plan, self.now >= self.calm
        if not calm and self.random.random() < plan.loss:
            self.truth.path[event.wire_kind, str(event.source), to] += 1
            return False
        at = self.now + (2 if calm or not plan.spread else 2 + self.random.randrange(plan.spread))
        self._at(at, self._arrives, to, event, arrives)
        if arrives == self._message and event.fresh_id and self.random.random() < plan.duplication:
            again = replace(event, flags=event.flags | Flag.NETWORK_DUPLICATE)
            self._at(at + 1, self._arrives, to, again, arrives)
        return True

    def _arrives(self, to: str, event: Event, arrives: Any) -> None:
        if not self._is_in(to):
            if self.now >= self.plan.joins - self.plan.early and event.destination is None:
                self._tap(to, event)
                if arrives == self._message and self.waiting is not None:
                    self._note(event, to)
                    self.waiting.append(event)
            return
        self._tap(to, event)
        if arrives == self._message:
            self._note(event, to)
        awake = self._awake(to)
        if awake > self.now:
            self._at(awake, arrives, event, to, event.source)
        else:
            arrives(event, to, event.source)

    def _awake(self, name: str) -> int:
        """When a member reads next: now, or at the end of its pause."""
        ends = [
            end for of, begin, end in self.plan.pauses if of == name and begin <= self.now < end
        ]
        return max(ends, default=self.now)

    def _tap(self, at: str, event: Event) -> None:
        frame, at_ns = len(self.at[at]) + 1, self.now * MS
        self.at[at].append(
            replace(event, frame=frame, last_frame=frame, at_ns=at_ns, last_at_ns=at_ns)
        )
