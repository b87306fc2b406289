"""Members that come and go, by the rules of jgroups.md 5, captured at one host of their cluster.

``python -m tests.degraded.jgroups_world --seeds 1-20`` plays worlds in which members of NAKACK4
join, leave, crash, start again at the same address, and are cut off and merge. Who joins asks again
when no answer comes in time, and what a merge collects is older than its view. The capture at one
host is spoiled in every way, and what is said of it is held against what was so.

Written one message at a time and without the code under test; what the world leaves out (capacity,
flow control, ACKs of unicasts) no rule here depends on.
"""

import heapq
import random
import re
import sys
import tempfile
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.decoders.jgroups.builders import (
    EMPTY,
    OBJECT,
    bits,
    data3,
    header,
    i16,
    i64,
    msg4,
    single,
    sized,
    vlong,
    vpair,
    who,
    whos,
)
from tests.decoders.network.builders import ethernet, ipv4, pcap, summed, udp
from tests.degraded import auditing, claims
from tests.degraded.captures import read
from tests.degraded.ways import Spoiled, Subject, Way, asked, text_of
from tests.replay.jgroups.mcast.world import Window

MS: Final = 1_000_000
T0: Final = 1_795_000_000_000_000_000
TICK: Final = 500
#: A member that says nothing is put out after so long, and one that is cut off merges.
SUSPECTED: Final = 2_500
LENGTH: Final = 25_000
CALM: Final = 6_000  # at the end, without trouble
GROUP: Final = "239.8.8.8"
PORT: Final = 7800
OOB, NO_RELIABILITY = 1, 16
JOIN_REQ, JOIN_RSP, VIEW, INSTALL_MERGE_VIEW = 1, 2, 5, 8
BURSTS: Final = (1, 3, 12)
#: Between two attempts to join, and from a merge's digests to its views.
JOIN_TIMEOUTS: Final = (700, 1_500, 3_000)
COLLECTED: Final = (5, 5, 400, 1_600)
Pair = tuple[str, str]  # sender, receiver
ViewId = tuple[str, int]


class Truth:
    """What was so, by sender and receiver."""

    def __init__(self) -> None:
        self.delivered: dict[Pair, list[int]] = defaultdict(list)
        self.lacked: dict[Pair, set[int]] = defaultdict(set)  # when it was asked for
        self.copies: dict[Pair, set[int]] = defaultdict(set)  # came behind the first
        self.came: dict[Pair, set[int]] = defaultdict(set)
        self.overtaken: dict[Pair, set[int]] = defaultdict(set)
        self.lost: dict[Pair, set[int]] = defaultdict(set)  # the first copy, on the path
        self.views: set[ViewId] = set()


class Process:
    """One start of a member."""

    def __init__(self, world: "World", host: str, at: int) -> None:
        self.world, self.host = world, host
        self.uuid = str(uuid.UUID(int=world.rng.getrandbits(128), version=4))
        self.sent: dict[int, bytes] = {}  # headers and payload, as they are sent again
        self.acked: dict[str, int] = {}
        self.windows: dict[str, Window] = {}
        self.view: tuple[ViewId, tuple[str, ...]] | None = None
        self.queue: list[tuple[str, int, bytes]] = []  # until it has joined (R1)
        self.unicasts: dict[str, tuple[int, int]] = {}  # conn_id and highest seqno, by peer
        self.heard: set[tuple[str, int]] = set()  # unicasts that came
        self.alive, self.idle = True, True
        self.awake = 0  # it reads nothing before
        world.at(at + world.rng.randrange(TICK), self.tick)

    # -- sending -----------------------------------------------------------------------------------

    def multicast(self, *headers: bytes, payload: bytes = b"data") -> None:
        seqno = len(self.sent) + 1
        frame = single(*headers, msg4(seqno), by=self.uuid, payload=sized(payload))
        self.sent[seqno] = frame
        self.idle = False
        got = self.world.send(self, frame, None, "message", self.uuid, seqno, frame)
        for to in {one.uuid for one in self.world.living()} - got - {self.uuid}:
            self.world.truth.lost[self.uuid, to].add(seqno)

    def to(self, member: str, body: bytes, word: str, *told: Any, **rest: Any) -> None:
        frame = single(body, by=self.uuid, to=member, **rest)
        self.world.send(self, frame, member, word, self.uuid, *told)

    def reliably(self, member: str, body: bytes, word: str, *told: Any, **rest: Any) -> None:
        """By UNICAST3: with every tick again until it has come (4.1, 4.3)."""
        conn_id, last = self.unicasts.get(member, (len(self.unicasts), 0))
        self.unicasts[member] = conn_id, (seqno := last + 1)
        numbered = data3(seqno, conn_id, first=seqno == 1)
        frame = single(body, numbered, by=self.uuid, to=member, **rest)
        self._again(member, frame, seqno, word, told)

    def _again(self, member: str, frame: bytes, seqno: int, word: str, told: tuple[Any, ...]
               ) -> None:  # fmt: skip
        other = self.world.process(member)
        if self.alive and other.alive and (self.uuid, seqno) not in other.heard:
            self.world.send(self, frame, member, "unicast", self.uuid, seqno, word, told)
            self.world.at(self.world.now + TICK, self._again, member, frame, seqno, word, told)

    def unicast(self, by: str, seqno: int, word: str, told: tuple[Any, ...]) -> None:
        """What comes again is no news; out of band, so in any order."""
        if (by, seqno) not in self.heard:
            self.heard.add((by, seqno))
            getattr(self, word)(by, *told)

    def ask(self, member: str, seqnos: list[int]) -> None:
        """XMIT_REQ (2.4, 2.5)."""
        self.world.truth.lacked[member, self.uuid].update(seqnos)
        told = b"\1" + i16(15) + bits(seqnos, seqnos[0], seqnos[-1] - seqnos[0] + 1)
        body = header(77, 99, b"\2" + who(member))
        self.to(member, body, "request", seqnos, kind=OBJECT, payload=told, flags=5)

    def tick(self) -> None:
        world = self.world
        if not self.alive:
            return
        world.at(world.now + TICK, self.tick)
        if self.view is None or world.now < self.awake:
            return
        for member, window in self.windows.items():
            if window.flag:
                window.flag = False
                body = header(77, 99, b"\5" + vlong(window.hd))
                self.to(member, body, "ack", window.hd, kind=EMPTY, flags=OOB, payload=b"")
            if wanted := window.due():
                self.ask(member, wanted)
        others = [self.acked.get(m, 0) for m in self.view[1] if m != self.uuid]
        if self.idle and others and min(others) < len(self.sent):
            body = header(77, 99, b"\4" + vlong(len(self.sent)))
            frame = single(body, by=self.uuid, kind=EMPTY, flags=5, payload=b"")
            world.send(self, frame, None, "highest", self.uuid, len(self.sent))
        self.idle = True

    # -- receiving ---------------------------------------------------------------------------------

    def message(self, by: str, seqno: int, frame: bytes) -> None:
        if self.view is None:
            self.queue = [*self.queue, (by, seqno, frame)][:50]
            return
        window, truth = self.windows.get(by), self.world.truth
        if window is None:
            return
        window.high = max(window.high, seqno)
        if seqno <= window.hd or seqno in window.stored:
            return
        window.stored.add(seqno)
        while window.hd + 1 in window.stored:
            window.hd += 1
            window.flag = True
            truth.delivered[by, self.uuid].append(window.hd)
            cast = self.world.casts.get((by, window.hd))
            if cast is not None:
                self.install(*cast)
            if self.windows.get(by) is not window:
                return

    def highest(self, by: str, seqno: int) -> None:
        window = self.windows.get(by)
        if window is not None:
            window.flag = True
            if seqno > window.high:
                self.ask(by, [seqno])

    def ack(self, by: str, seqno: int) -> None:
        self.acked[by] = max(seqno, self.acked.get(by, 0))

    def request(self, by: str, seqnos: list[int]) -> None:
        for seqno in seqnos:
            if seqno in self.sent:
                frame = self.sent[seqno]
                self.world.send(self, frame, None, "message", self.uuid, seqno, frame)

    # -- views -------------------------------------------------------------------------------------

    def install(self, view: ViewId, members: tuple[str, ...], digest: Mapping[str, int]) -> None:
        """A view was delivered (5.4 "view", "digest"); a digest is that of a merge."""
        own = self.view
        if self.uuid not in members or (own is not None and view[1] <= own[0][1]):
            return
        self.view = view, members
        for member in [one for one in self.windows if one not in members]:
            del self.windows[member]
        for member in members:
            window = self.windows.get(member)
            if member == self.uuid:
                continue
            if window is None or window.hd < digest.get(member, 0):
                self.windows[member] = Window(digest.get(member, 0))

    def joined(self, by: str, view: ViewId, members: tuple[str, ...], digest: Mapping[str, int]
               ) -> None:  # fmt: skip
        """The JOIN_RSP came: only the first one counts."""
        if self.view is None:
            self.install(view, members, digest)
            for row in self.queue:
                self.message(*row)
            self.queue.clear()

    def digest(self) -> dict[str, int]:
        return {m: w.hd for m, w in self.windows.items()} | {self.uuid: len(self.sent)}

    def asked(self, by: str) -> None:
        """JOIN_REQ: as coordinator JOIN_RSP, and the new view; who is in it is told again."""
        joiner = self.world.process(by)
        if self.view is None or self.view[1][0] != self.uuid or not joiner.alive:
            return
        if self.world.merging or self.world.cut:
            self.world.at(self.world.now + 100, self.asked, by)
            return
        view, members = self.view
        if joiner.uuid not in members:
            view, members = (self.uuid, view[1] + 1), (*members, joiner.uuid)
        digest = {member: self.digest().get(member, 0) for member in members}
        pairs = b"".join(vpair(low, low) for low in digest.values())
        told = b"\1\3" + _written(view, members) + i16(len(members)) + pairs
        self.reliably(joiner.uuid, _gms(JOIN_RSP), "joined", view, members, digest,
                      payload=sized(told), flags=OOB)  # fmt: skip
        if view != self.view[0]:
            self.cast(members)

    def cast(self, members: tuple[str, ...]) -> None:
        """As coordinator: a new view."""
        assert self.view is not None
        view = self.uuid, self.view[0][1] + 1
        self.world.truth.views.add(view)
        self.install(view, members, {})  # before it is on the wire (S8)
        self.world.casts[self.uuid, len(self.sent) + 1] = view, members, {}
        self.multicast(_gms(VIEW), payload=i16(0x11) + _written(view, members))

    def merge(self, parts: list["Process"], members: tuple[str, ...]) -> None:
        """The leader of a merge: each part's coordinator casts the view, with the digest of all."""
        number = max(one.view[0][1] for one in parts if one.view is not None) + 1
        view = self.uuid, number
        self.world.truth.views.add(view)
        digest: dict[str, int] = {}
        groups = b""
        for one in parts:
            assert one.view is not None
            (_, old), mine = one.view
            digest |= {m: low for m, low in one.digest().items() if m in mine}
            at = b"".join(i16(members.index(m)) for m in mine)
            groups += i16(members.index(one.uuid)) + i64(old) + i16(len(mine)) + at
        pairs = b"".join(vpair(digest[m], digest[m]) for m in members)
        told = i16(0x17) + _written(view, members) + i16(len(parts)) + groups
        told += whos(*members) + pairs
        for one in parts:
            if one is not self:
                self.to(one.uuid, _gms(INSTALL_MERGE_VIEW), "told", payload=sized(told),
                        flags=NO_RELIABILITY)  # fmt: skip
        self.world.merging = len(parts)
        late = self.world.rng.choice(COLLECTED)
        for place, one in enumerate(parts):
            when = self.world.now + late + 5 * place
            self.world.at(when, one.cast_merged, view, members, digest, told)

    def cast_merged(self, view: ViewId, members: tuple[str, ...], digest: Mapping[str, int],
                    told: bytes) -> None:  # fmt: skip
        again = self.cast_merged, view, members, digest, told
        if self.alive and self.world.sleeps([self], *again):
            return
        self.world.merging -= 1
        if self.alive:
            self.install(view, members, digest)
            self.world.casts[self.uuid, len(self.sent) + 1] = view, members, digest
            self.multicast(_gms(VIEW), payload=told)

    def told(self, by: str) -> None:
        """INSTALL_MERGE_VIEW: it casts the view then."""


def _written(view: ViewId, members: tuple[str, ...]) -> bytes:
    """A view (2.6)."""
    return who(view[0]) + vlong(view[1]) + whos(*members)


def _gms(kind: int) -> bytes:
    return header(12, 55, bytes([kind]) + i16(0) + who(None))


class World:
    """A cluster, and what one of its hosts captures.

    Attributes:
        here: the host of the capture.
        casts: views by the multicast that tells them.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.hosts = [f"10.80.0.{number}" for number in range(1, rng.choice((3, 4, 5)))]
        self.here = rng.choice(self.hosts)
        self.loss = rng.choice((0.0, 0.02, 0.1, 0.3))
        self.spread = rng.choice((1, 1, 8, 40))
        self.pauses = rng.random() < 0.3
        self.now = 0
        self.truth = Truth()
        self.casts: dict[tuple[str, int], tuple[ViewId, tuple[str, ...], Mapping[str, int]]] = {}
        self.running: dict[str, Process] = {}  # by host
        self.ever: list[Process] = []
        self.merging = 0  # parts that have not cast the view of a merge yet
        self.join_timeout = rng.choice(JOIN_TIMEOUTS)
        self.cut: set[str] = set()  # hosts that nobody else hears, nor they others
        self.frames: list[tuple[int, bytes]] = []
        self._ids: Counter[tuple[str, str]] = Counter()
        self._newest: Counter[Pair] = Counter()  # what came, as it was sent
        self._queue: list[tuple[int, int, Any, tuple[Any, ...]]] = []
        self._ticket = count()

    def at(self, at: int, what: Any, *told: Any) -> None:
        heapq.heappush(self._queue, (at, next(self._ticket), what, told))

    def living(self) -> list[Process]:
        return [one for one in self.running.values() if one.alive]

    def process(self, member: str) -> Process:
        return next(one for one in self.ever if one.uuid == member)

    def run(self) -> bytes:
        """The capture."""
        rng = self.rng
        for place, host in enumerate(self.hosts):
            self.at(400 * place + rng.randrange(300), self._starts, host)
        for _ in range(rng.choice((1, 2, 4))):
            kind = rng.choice((self._leaves, self._crashes, self._is_cut, self._crashes))
            self.at(rng.randrange(3_000, LENGTH - CALM), kind, rng.choice(self.hosts))
        for _ in range(rng.choice((10, 25, 60))):
            self.at(rng.randrange(500, LENGTH - CALM), self._bursts, rng.choice(self.hosts))
        if self.pauses:
            self.at(rng.randrange(3_000, LENGTH - CALM), self._is_paused, rng.choice(self.hosts))
        while self._queue and self.now < LENGTH:
            self.now, _, what, told = heapq.heappop(self._queue)
            what(*told)
        ordered = sorted(self.frames, key=lambda frame: frame[0])
        return pcap([f for _, f in ordered], times_ns=[T0 + at for at, _ in ordered])

    # -- who is there ------------------------------------------------------------------------------

    def _starts(self, host: str) -> None:
        if host in self.running and self.running[host].alive:
            return
        one = Process(self, host, self.now)
        self.running[host] = one
        self.ever.append(one)
        self._joins(one)

    def _joins(self, one: Process) -> None:
        """It asks until it is let in; the first of all founds the cluster."""
        if one.view is not None or not one.alive:
            return
        members = [p for p in self.living() if p.view is not None]
        coordinator = next((p for p in members if p.view and p.view[1][0] == p.uuid), None)
        if not members and all(p.view is None for p in self.living()):
            one.view = (one.uuid, 0), (one.uuid,)
            self.truth.views.add((one.uuid, 0))
        elif coordinator is None or self.cut:
            self.at(self.now + 500, self._joins, one)
        else:
            if self.pauses and self.rng.random() < 0.5:  # so that the answer is late
                coordinator.awake = self.now + self.rng.choice((1_000, 3_500))
            one.reliably(coordinator.uuid, _gms(JOIN_REQ), "asked", payload=sized(None))
            self.at(self.now + self.join_timeout, self._joins, one)

    def _bursts(self, host: str) -> None:
        one = self.running.get(host)
        if one is None or not one.alive or one.view is None:
            return
        for place in range(self.rng.choice(BURSTS)):
            self.at(self.now + 3 * place, self._sends, one)

    def _sends(self, one: Process) -> None:
        if one.alive and one.view is not None and self.now >= one.awake:
            one.multicast()

    def _is_paused(self, host: str) -> None:
        if host in self.running:
            self.running[host].awake = self.now + self.rng.choice((300, 1_500))

    def sleeps(self, members: list[Process], what: Any, *told: Any) -> bool:
        """Is one of them paused? Then it is done when all read again."""
        awake = max((one.awake for one in members), default=0)
        if awake > self.now:
            self.at(awake + 1, what, *told)
        return awake > self.now

    def _leaves(self, host: str) -> None:
        self._ends(host, after=20)

    def _crashes(self, host: str) -> None:
        self._ends(host, after=SUSPECTED)

    def _ends(self, host: str, *, after: int) -> None:
        """It is put out by the coordinator; and may start again, sooner or later."""
        one = self.running.get(host)
        if one is None or not one.alive or len(self.living()) < 2 or self.cut or self.merging:
            return
        one.alive = False
        self.at(self.now + after, self._put_out, one.uuid)
        if self.rng.random() < 0.7:
            self.at(self.now + self.rng.choice((100, 900, 4_000)) + after, self._starts, host)

    def _put_out(self, gone: str) -> None:
        there = [p for p in self.living() if p.view is not None and gone in p.view[1]]
        if self.merging:
            self.at(self.now + 100, self._put_out, gone)
            return
        if self.sleeps(there, self._put_out, gone):
            return
        if there:
            eldest = min(there, key=lambda p: p.view[1].index(p.uuid) if p.view else 0)
            assert eldest.view is not None
            living = {p.uuid for p in self.living()}
            members = tuple(m for m in eldest.view[1] if m != gone and m in living)
            eldest.cast(members)

    def _is_cut(self, host: str) -> None:
        one = self.running.get(host)
        if self.cut or self.merging or one is None or not one.alive or one.view is None:
            return
        if len(self.living()) < 2 or any(p.view is None for p in self.living()):
            return
        self.cut = {host}
        self.at(self.now + SUSPECTED, self._parts, one)

    def _parts(self, one: Process) -> None:
        """Each side puts the other out."""
        others = [p for p in self.living() if p is not one and p.view is not None]
        if not others or not one.alive or one.view is None:
            self.cut = set()
            return
        if self.sleeps([one, *others], self._parts, one):
            return
        for side in ([one], others):
            eldest = min(side, key=lambda p: p.view[1].index(p.uuid) if p.view else 0)
            assert eldest.view is not None
            inside = {p.uuid for p in side}
            eldest.cast(tuple(m for m in eldest.view[1] if m in inside))
        self.at(self.now + self.rng.choice((1_000, 4_000)), self._heals, one)

    def _heals(self, one: Process) -> None:
        self.cut = set()
        self.at(self.now + 1_000, self._merges, one)

    def _merges(self, one: Process) -> None:
        parts = [p for p in self.living() if p.view is not None and p.view[1][0] == p.uuid]
        if len(parts) < 2 or one not in parts or self.sleeps(parts, self._merges, one):
            return
        self.rng.shuffle(parts)
        members = [m for p in parts if p.view is not None for m in p.view[1]]
        if len(set(members)) == len(members):
            parts[0].merge(parts, tuple(members))

    # -- the paths ---------------------------------------------------------------------------------

    def send(self, by: Process, frame: bytes, to: str | None, word: str, *told: Any) -> set[str]:
        """A datagram to one or all; the members that it reaches."""
        calm = self.now >= LENGTH - CALM
        reached: set[str] = set()
        target = next((p for p in self.ever if p.uuid == to), None)
        address = GROUP if target is None else target.host
        self._ids[by.host, address] += 1
        datagram = udp(frame, PORT, 45588 if target is None else PORT)
        packet = ethernet(
            ipv4(
                summed(datagram, 17, by.host, address), by.host, address,
                ident=self._ids[by.host, address] % 65536,
            )
        )  # fmt: skip
        if by.host == self.here:
            self._capture(self.now, packet)
        for one in self.living() if target is None else [target]:
            if one is by or (not calm and self.rng.random() < self.loss):
                continue
            if not {one.host, by.host}.isdisjoint(self.cut) and one.host != by.host:
                continue
            delay = 1 if calm else 1 + self.rng.randrange(self.spread)
            reached.add(one.uuid)
            sent = self._ids[by.host, address]
            self.at(self.now + delay, self._arrives, one, packet, word, told, sent)
        return reached

    def _arrives(
        self, one: Process, packet: bytes, word: str, told: tuple[Any, ...], sent: int
    ) -> None:
        if one.host == self.here:
            self._capture(self.now, packet)
        if not one.alive:
            return
        if word == "message":
            way, seqno = (told[0], one.uuid), told[1]
            again = seqno in self.truth.came[way]
            (self.truth.copies if again else self.truth.came)[way].add(seqno)
            if sent < self._newest[way]:
                self.truth.overtaken[way].add(seqno)
            self._newest[way] = max(sent, self._newest[way])
        if self.now < one.awake:
            self.at(one.awake, self._reads, one, word, told)
        else:
            self._reads(one, word, told)

    def _reads(self, one: Process, word: str, told: tuple[Any, ...]) -> None:
        if one.alive:
            getattr(one, word)(*told)

    def _capture(self, at: int, packet: bytes) -> None:
        self.frames.append((at * MS + len(self.frames) % 1_000 * 100, packet))


#: What each proven finding says of its seqnos, by the truth of its sender and receiver.
_SAYS: Final[Mapping[str, str]] = {
    "CP007": "came", "MC001": "lacked", "MC002": "lacked", "MC003": "lacked", "MC004": "copies",
    "MC011": "overtaken", "MC014": "lacked", "MC024": "lacked",
}  # fmt: skip
_ASKER: Final = re.compile(r"([0-9a-f]{8}) asked for ")
#: Of the capture, or of nothing that the world knows.
_OF_OTHERS: Final = ("CP", "UC")


def refuted(found: claims.Finding, world: World, *ways: str) -> str | None:
    """Why a proven finding is not so."""
    of_others = found.unicast or found.rule.startswith(_OF_OTHERS)
    if of_others and (found.unicast or found.rule != "CP007"):
        return None
    if found.rule == "MC009":
        more = (found.count or 0) > len(world.truth.views)
        return f"{found.count} of {len(world.truth.views)} views" if more else None
    if found.rule in claims.stated(ways):
        return None
    says = _SAYS.get(found.rule)
    if says is None:
        return "nothing of the kind happens here"
    asker = _ASKER.match(found.text)
    sender = found.stream.rpartition("|")[2]
    here = [p.uuid for p in world.ever if p.host == world.here]
    if asker is not None:
        here = [p.uuid for p in world.ever if p.uuid.startswith(asker[1])]
    true = {n for to in here for n in getattr(world.truth, says)[sender, to]}
    false = found.seqnos - true
    return f"{claims.shown(false)} {says} not so" if false else None


def wrong_figures(report: Mapping[str, Any], world: World) -> Iterator[str]:
    """Figures of receivers that are not so."""
    for row in report.get("streams", ()):
        way = row["sender"], row["receiver"]
        if row["role"] != "receiver" or not row["system"].startswith("nakack"):
            continue
        here = [(way[0], p.uuid) for p in world.ever if p.host == world.here]
        lost = {n for of in here for n in (*world.truth.lost[of], *world.truth.lacked[of])}
        more = set(_numbers(row["lost_seqnos"])) - lost
        if more:
            yield f"{row['id']}: lost {claims.shown(more)}"
        unsure = set(_numbers(row["delivered_unsure"]))
        told = set(_numbers(row["delivered"])) - unsure
        if not told or "delivered" in row["unknown"]:
            continue
        so = [n for of in here for n in world.truth.delivered[of]]
        between = {n for n in so if min(told) <= n <= max(told)} - unsure
        if told != between:
            yield (
                f"{row['id']}: delivered {claims.shown(told - between)} were not, "
                f"{claims.shown(between - told)} were"
            )


def _numbers(ranges: list[list[int]] | None) -> list[int]:
    return [n for first, last in ranges or () for n in range(first, last + 1)]


def spoiled(
    seed: int, ways: tuple[Way, ...], sample: int, tally: Counter[str] | None = None
) -> Iterator[tuple[str, str, str]]:
    """(way, choice, what is wrong) of one world."""
    world = World(seed)
    content = world.run()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "R.pcap"
        path.write_bytes(content)
        subject = Subject(f"jgroups world {seed}", "R.pcap", world.here, read(path))
        for way in ways:
            for choice in way.picked(subject, sample, seed):
                made: Spoiled = way.spoil(subject, choice)
                names = made.ways or (way.name,)
                done = auditing.audit(made, {"R.pcap": world.here}, {}, Path(name))
                found = claims.findings(done.report)
                if tally is not None:
                    tally["spoiled"] += 1
                    tally["proven findings"] += len(claims.proven(found))
                if done.crash is not None:
                    yield way.name, text_of(choice), done.crash
                    continue
                for one in found:
                    why = refuted(one, world, *names) if one.certainty == "proven" else None
                    if why is not None:
                        yield way.name, text_of(choice), f"{one.rule}: {one.text} ({why})"
                made_up = any(name.startswith(("bytes-", "bits-")) for name in names)  # of figures
                for what in wrong_figures(done.report, world) if made.at and not made_up else ():
                    yield way.name, text_of(choice), what


def main() -> int:
    """Exit code 1 if anything is wrong, or if nothing was proven."""
    seeds, sample, ways = asked(__doc__)
    wrong, tally = 0, Counter[str]()
    for seed in seeds:
        tally["worlds"] += 1
        for way, choice, what in spoiled(seed, ways, sample, tally):
            wrong += 1
            print(f"seed {seed}  {way}  {choice}: {what}", flush=True)
    print(", ".join(f"{what} {count}" for what, count in tally.items()) + f"; wrong {wrong}")
    return int(wrong > 0 or not tally["proven findings"])


if __name__ == "__main__":
    sys.exit(main())
