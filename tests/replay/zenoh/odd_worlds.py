"""Worlds in which more happens than one publisher and one subscriber: several publishers on a key,
several subscribers of a node, sessions that end and begin again, subscribers that come and go, and
publishers that begin again under their ids. Both ends are captured.
"""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final

from seqaudit.replay.contract.results import FINDING, Result
from seqaudit.replay.zenoh.cache import Cached, PublicationCache
from seqaudit.replay.zenoh.keys import parameters
from tests.decoders.zenoh import builders as z
from tests.replay.zenoh.test_certificates import HASHED
from tests.replay.zenoh.test_engine import SUBSCRIBER_ZID, ZID, Session
from tests.replay.zenoh.test_world import DROP, LATE, LOSE, PASS, Subscriber

KEY: Final = "demo/sensor"
TIMEOUT_S: Final = 10.0
STEP_S: Final = 0.01


@dataclass
class Machine:
    """One subscriber: its key expression, and what it holds of each source."""

    key: str
    recovery: bool
    heartbeats: bool
    period_s: float | None
    of: dict[int, Subscriber] = field(default_factory=dict)
    live: dict[int, set[int]] = field(default_factory=dict)
    periodic: set[int] = field(default_factory=set)
    gone: bool = False

    def state(self, eid: int) -> Subscriber:
        self.live.setdefault(eid, set())
        return self.of.setdefault(eid, Subscriber(self.recovery, self.heartbeats, None))


@dataclass
class Publisher:
    """One numbered publisher; ``fates`` of everything it ever sent live."""

    eid: int
    depth: int
    newest: int = -1
    fates: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cache = PublicationCache(self.depth)

    @property
    def token(self) -> str:
        return f"{KEY}/@adv/pub/{ZID}/{self.eid}/_"


@dataclass
class Asked:
    """An open query."""

    number: int
    machine: Machine
    eid: int
    text: str


class OddWorld:
    """Everything happens at a time of its own, in order.

    Attributes:
        at_subscriber, at_publisher: what each end captures.
        everyone: all machines that ever were.
    """

    def __init__(self, rng: random.Random, often: float, harm: list[str], answer: float) -> None:
        self.rng, self.often, self.harm, self.answer = rng, often, harm, answer
        self.at_subscriber = Session(opened=False)
        self.at_publisher = Session(opened=False)
        self.now = 0.0
        self.sns = dict(HASHED)
        self.publishers = [Publisher(6 + 2 * n, rng.choice([1, 3, 100])) for n in range(3)]
        self.publishers = self.publishers[: rng.choice([1, 1, 2, 3])]
        self.machines: list[Machine] = []
        self.everyone: list[Machine] = []
        self.asked: dict[int, Asked] = {}
        self.ran_out = 0
        self._numbers, self._order, self._ids = count(1), count(), count(1)
        self._declared: dict[str, int] = {}
        self._late: list[tuple[bytes, Callable[[], None]]] = []
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self.opens(first=True)

    # -- frames ------------------------------------------------------------------------------------

    def _frame(self, *messages: bytes, back: bool = False) -> bytes:
        self.sns[back] += 1
        return z.frame(self.sns[back] - 1, *messages)

    def _seen(self, session: Session, payload: bytes, *, back: bool = False) -> None:
        session.now = self.now
        session.raw(payload, back=back)

    def both(self, payload: bytes, *, back: bool = False) -> None:
        """Something that comes over."""
        self.now += STEP_S
        for session in (self.at_subscriber, self.at_publisher):
            self._seen(session, payload, back=back)

    def sends(self, fate: str, message: bytes, comes: Callable[[], None]) -> None:
        """A frame of the publisher's node."""
        if fate == DROP:
            return
        payload = self._frame(message)
        if fate != PASS:
            self.now += STEP_S
            self._seen(self.at_publisher, payload)
            if fate == LATE:
                self._late.append((payload, comes))
            return
        self.both(payload)
        comes()
        for late, _ in self._late:
            self.now += STEP_S
            self._seen(self.at_subscriber, late)
        self._late.clear()

    # -- sessions ----------------------------------------------------------------------------------

    def opens(self, *, first: bool = False) -> None:
        """A session begins; queries of the one before are over."""
        if not first and self.rng.random() < 0.5:
            self.both(b"\x03\x00")
        for number in list(self.asked):
            self.ended(number)
        self._late.clear()
        if not first:
            for publisher in self.publishers:  # while there is no session
                for _ in range(self.rng.choice([0, 0, 1, 4])):
                    self._publish(publisher)
        self.now += self.rng.choice([0.5, 3.0])
        cookie = bytes([next(self._ids) & 255]) * 49
        self.sns = dict(HASHED)
        self.both(z.init())
        self.both(z.init(SUBSCRIBER_ZID, ack=True).replace(b"c" * 49, cookie), back=True)
        self.both(z.opened(HASHED[False]).replace(b"c" * 49, cookie))
        self.both(z.opened(HASHED[True], ack=True), back=True)
        self.both(self._frame(z.declare(0, 1, 0, KEY)))
        for place, publisher in enumerate(self.publishers):
            self.both(self._frame(z.declare(4, 20 + place, 0, publisher.token)))
        self._declared.clear()
        for machine in self.machines:
            self._declares(machine)

    def begins_again(self) -> None:
        """The publishers' node starts anew with the same zid: they number from 0."""
        for one in self.publishers:
            one.newest = -1
            one.cache = PublicationCache(one.depth)
        self.opens()

    def _declares(self, machine: Machine) -> None:
        keys = [machine.key] + [f"{machine.key}/@adv/pub/**"] * machine.heartbeats
        for key in keys:
            if key not in self._declared:
                self._declared[key] = next(self._ids)
                self.both(
                    self._frame(z.declare(2, self._declared[key], 0, key), back=True), back=True
                )

    def subscribes(self, machine: Machine) -> None:
        self.machines.append(machine)
        self.everyone.append(machine)
        self._declares(machine)

    def unsubscribes(self, machine: Machine) -> None:
        """What is sent to it, or answered, goes nowhere from now on."""
        machine.gone = True
        self.machines.remove(machine)
        left = {key for one in self.machines for key in (one.key, f"{one.key}/@adv/pub/**")}
        for key in (f"{machine.key}/@adv/pub/**", machine.key):
            if key not in left and key in self._declared:
                number = self._declared.pop(key)
                undeclared = b"\x9e\x21\x08\x03" + z.zint(number)
                self.both(self._frame(undeclared, back=True), back=True)

    # -- samples, heartbeats, queries --------------------------------------------------------------

    def _publish(self, publisher: Publisher) -> int:
        publisher.newest += 1
        publisher.cache.publish(Cached(publisher.newest))
        return publisher.newest

    def put(self, publisher: Publisher) -> None:
        sn, fate = self._publish(publisher), self._fate()
        if not self.machines:
            return  # it is not sent
        publisher.fates.setdefault(sn, set()).add(fate)
        message = z.push(z.put(sn, eid=publisher.eid))
        self.sends(fate, message, lambda: self._live(publisher.eid, sn))

    def beat(self, publisher: Publisher) -> None:
        told = publisher.newest
        if told >= 0 and any(machine.heartbeats for machine in self.machines):
            body = b"\x01\x04" + told.to_bytes(4, "little")
            message = z.push(body, 0, publisher.token)
            self.sends(self._fate(), message, lambda: self._heard(publisher, told))

    def _fate(self) -> str:
        return self.rng.choice(self.harm) if self.rng.random() < self.often else PASS

    def _live(self, eid: int, sn: int) -> None:
        for machine in self.machines:
            state = machine.state(eid)
            if state.last is None or sn > state.last:
                machine.live[eid].add(sn)
            state.now = self.now
            asked = state.sample(sn, live=True)
            if machine.period_s is not None and eid not in machine.periodic:
                machine.periodic.add(eid)
                self._later(machine.period_s, partial(self._periodic, machine, eid))
            if asked is not None:
                self._asks(machine, eid, f"{machine.key}/@adv/*/{ZID}/{eid}/**", asked)

    def _heard(self, publisher: Publisher, told: int) -> None:
        for machine in self.machines:
            asked = machine.state(publisher.eid).heartbeat(told) if machine.heartbeats else None
            if asked is not None:
                self._asks(machine, publisher.eid, publisher.token, asked)

    def _periodic(self, machine: Machine, eid: int) -> None:
        assert machine.period_s is not None
        if not machine.gone:
            state = machine.of[eid]
            state.pending_q += 1
            assert state.last is not None
            self._asks(machine, eid, f"{machine.key}/@adv/*/{ZID}/{eid}/**", f"{state.last + 1}..")
            self._later(machine.period_s, partial(self._periodic, machine, eid))

    def _asks(self, machine: Machine, eid: int, key: str, sns: str) -> None:
        number = next(self._numbers)
        text = f"_sn={sns};_anyke"
        self.asked[number] = Asked(number, machine, eid, text)
        payload = self._frame(z.request(number, key, text, 0), back=True)
        self.now += STEP_S / 10
        self._seen(self.at_subscriber, payload, back=True)
        self._later(TIMEOUT_S, lambda: self.ended(number, ran_out=True))
        if self.rng.random() < self.answer or self.rng.random() < 0.5:
            self._seen(self.at_publisher, payload, back=True)
            self._later(self.rng.choice([0.0, 0.0, 0.05, 0.4]), lambda: self._answers(number))

    def _answers(self, number: int) -> None:
        asked = self.asked.get(number)
        if asked is None:
            return
        (publisher,) = (p for p in self.publishers if p.eid == asked.eid)
        sns = [s.sn for s in publisher.cache.reply(parameters(asked.text)) if s.sn is not None]
        replies = [z.response(number, z.put(sn, eid=publisher.eid)) for sn in sns]
        together = self.rng.random() < 0.5
        parts = [[*replies, z.final(number)]] if together else [replies, [z.final(number)]]
        for part in (p for p in parts if p):
            fate = PASS if self.rng.random() < self.answer else LOSE
            for message in [part] if together else [[m] for m in part]:
                payload = self._frame(*message)
                if fate == LOSE:
                    self.now += STEP_S
                    self._seen(self.at_publisher, payload)
                else:
                    self.both(payload)
            if fate == PASS:
                state = asked.machine.of[asked.eid]
                state.now = self.now
                for sn in sns if part[0] in replies and not asked.machine.gone else ():
                    state.sample(sn, live=False)
                if z.final(number) in part:
                    self.ended(number)

    def ended(self, number: int, *, ran_out: bool = False) -> None:
        asked = self.asked.pop(number, None)
        if asked is not None:
            self.ran_out += ran_out
            state = asked.machine.of[asked.eid]
            state.now = self.now
            if not asked.machine.gone:
                state.ended()

    # -- time --------------------------------------------------------------------------------------

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + seconds, next(self._order), what))

    def until(self, at: float) -> None:
        while self._due and self._due[0][0] <= at:
            when, _, what = heapq.heappop(self._due)
            self.now = max(self.now, when)
            what()
        self.now = max(self.now, at)


def odd_world(rng: random.Random) -> OddWorld:
    """Of some kind, and all that happens in it."""
    harm = rng.choice([[LOSE], [LATE], [DROP], [LOSE, LATE, DROP]])
    found = OddWorld(rng, rng.choice([0.0, 0.05, 0.3]), harm, rng.choice([1.0, 0.6]))
    for _ in range(rng.choice([1, 1, 2, 3])):
        found.subscribes(_machine(rng))
    odd = rng.choice([0.0, 0.02, 0.06])
    for _ in range(rng.randint(5, 80)):
        found.until(found.now + rng.choice([0.0, 0.0, 0.02, 0.1, 0.8]))
        publisher = rng.choice(found.publishers)
        if rng.random() < odd:
            what = rng.choice(["open", "again", "leave", "come"])
            if what == "open":
                found.opens()
            elif what == "again":
                found.begins_again()
            elif what == "leave" and found.machines:
                found.unsubscribes(rng.choice(found.machines))
            elif what == "come" and len(found.machines) < 4:
                found.subscribes(_machine(rng))
        elif rng.random() < 0.15:
            found.beat(publisher)
        else:
            found.put(publisher)
    for _ in range(5):
        found.until(found.now + 2.5)
        found.both(b"\x04")
    return found


def _machine(rng: random.Random) -> Machine:
    sort = rng.choice(["none", "recovery", "heartbeats", "periodic"])
    period = rng.choice([0.3, 2.0]) if sort == "periodic" else None
    return Machine(rng.choice([KEY, KEY, "demo/*"]), sort != "none", sort == "heartbeats", period)


def refuted(found: OddWorld, results: list[Result]) -> Iterator[str]:
    """Proven findings that are not so: no subscriber of that key expression shows them."""
    for result in results:
        if result.kind != FINDING or result.detail["certainty"] != "proven":
            continue
        claimed = {sn for a, b in result.detail["seqnos"] for sn in range(a, b + 1)}
        told = [part for part in (result.stream or "").split("|") if not part.isdecimal()]
        wrong: set[int] | bool = False
        if result.rule in ("ZN001", "ZN002", "ZN004", "ZN006", "ZN022", "CP007"):
            eid = int(told[1].partition("/")[2])
            fates = next((p.fates for p in found.publishers if p.eid == eid), {})
            right: set[int] = set()
            if result.rule in ("ZN004", "ZN006"):
                fate = DROP if result.rule == "ZN004" else LATE
                right = {sn for sn, all_ in fates.items() if fate in all_}
            for machine in found.everyone if result.rule not in ("ZN004", "ZN006") else ():
                state = machine.of.get(eid)
                if state is None or (len(told) > 2 and told[2] != machine.key):
                    continue
                had = set(state.out)
                missed = {sn for first, stop, _ in state.misses for sn in range(first, stop)}
                right |= {
                    "ZN001": had - machine.live[eid], "ZN002": missed, "ZN022": missed,
                    "CP007": had,
                }[result.rule]  # fmt: skip
            wrong = claimed - right
        elif result.rule == "ZN013":
            wrong = not found.ran_out
        if wrong:
            yield f"{result.rule} {wrong} of {sorted(claimed)}: {result.detail['text']}"
