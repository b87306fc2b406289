"""A PGM segment with raims daemons as it runs by their rules, captured at one of them, and what
that one lost: a world of whose losses all is known (raims.md 2, 7 to 10).

``python -m tests.degraded.raims_world --seeds 1-20`` spoils such worlds in every way and prints
proven findings that are not so. Publishers share subjects, start again, number per subject and per
path; packets are lost in bursts on the way here, or dropped inside this host; NAKs, NCFs and RDATA
are lost as well. What the daemon counts and tells is a model of its own of the decision table.
Each seed has another world of odd shape: daemons that are paused, several publishers on one host,
senders that can repair little, a daemon that starts again, captures of publishers' own interfaces.
"""

import heapq
import random
import struct
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.decoders.network.builders import added, ethernet, ipv4, pcap, udp
from tests.decoders.raims.builders import caba, data, inbox, inbox_subject, pgm
from tests.degraded import auditing, claims
from tests.degraded import figures as compared
from tests.degraded.captures import Capture, read
from tests.degraded.ways import Spoiled, Subject, Way, asked, text_of

SECOND: Final = 1_000_000_000
MS: Final = 1_000_000
T0: Final = 1_795_215_202 * SECOND
TICK: Final = 40 * MS
FRAME: Final = 33
BASE: Final = 35
GROUP: Final = "239.77.0.1"
PORT: Final = 7239
HERE: Final = "10.77.0.2"
ODATA, RDATA, SPM, NAK, NCF = 4, 5, 0, 8, 10
#: After data without any more.
SPMS: Final = (10, 100, 250, 500, 1000, 2000, 4000)
ROUNDS: Final = 10
#: Packets that wait at a socket.
SOCKET: Final = 30
#: From a publisher's interface to the observer's.
WAY: Final = 200_000
SUBJECTS: Final = ("_1.A", "_1.B", "_1.C.D", "_7500.LONG.SUBJECT")
PATHS: Final = ("_nats.X", "_nats.Y")


@dataclass(frozen=True)
class Message:
    """What a publisher sent: per subject, or with a number of its path."""

    bridge: str
    subject: str
    seqno: int
    chain: int | None = None
    by_path: bool = False


@dataclass
class Truth:
    """What became of everything at the daemon that was captured at.

    Attributes:
        lacked, given_up, inside: sqns by TSI: that it asked for, that never came to it, and of
            which a copy was dropped inside its host.
        lost: seqnos by publisher and subject that it wanted and never had; of numbers by path the
            subject is ``#0``, and all that it never had.
        inside_ns: when the last packet was dropped inside.
        delivered: how many it had.
        counted: by publisher, as its console says.
        again: a publisher started again.
    """

    lacked: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    given_up: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    inside: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    lost: dict[tuple[str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    delivered: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    counted: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    again: bool = False
    inside_ns: int = 0


def checked(packet: bytes, source: str, *, made: bool) -> bytes:
    """A UDP datagram with its checksum, or with that of the pseudo-header for a card to complete,
    in IP."""
    destination, ports, payload = packet[:4], packet[4:8], packet[8:]
    by = bytes(map(int, source.split(".")))
    size = 8 + len(payload)
    pseudo = by + destination + struct.pack(">HH", 17, size)
    bare = ports + struct.pack(">HH", size, 0) + payload
    told = added(pseudo + bare) ^ 0xFFFF if made else added(pseudo)
    datagram = udp(payload, *struct.unpack(">HH", ports), checksum=told or 0xFFFF)
    to = ".".join(map(str, destination))
    return ipv4(datagram, source, to, ident=0, dont_fragment=True)


def with_checksum(packet: bytes) -> bytes:
    """A PGM packet with its own."""
    told = (added(packet) ^ 0xFFFF) or 0xFFFF
    return packet[:6] + struct.pack(">H", told) + packet[8:]


class Daemon:
    """One start of a daemon on the segment."""

    def __init__(self, world: "World", name: str, address: str, at_ns: int) -> None:
        self.world, self.name, self.address, self.start_ns = world, name, address, at_ns
        self.bridge = bytes(world.rng.randrange(256) for _ in range(16))
        self.gsi = bytes(world.rng.randrange(256) for _ in range(6))
        self.tsi = f"{self.gsi.hex()}.4711"
        self.alive = True
        self.sent: list[tuple[bytes, tuple[Message, ...]]] = []
        self.last: dict[str, int] = {}
        self.path = self.beats = self.changes = self._spm = self._quiet = 0
        self.port = 49_001

    @property
    def trail(self) -> int:
        """The least sqn that it can repair."""
        return max(0, len(self.sent) - self.world.shape.window)

    def transmit(self, at_ns: int, tsdu: bytes, *messages: Message, safe: bool = False) -> None:
        """The next ODATA, and SPMs behind it."""
        sqn = len(self.sent)
        self.sent.append((tsdu, messages))
        self.world.cast(self, at_ns, ODATA, sqn, safe=safe)
        self._quiet += 1
        quiet = self._quiet
        for wait_ms in SPMS:
            self.world.at(at_ns + wait_ms * MS, lambda now: self._lead(now, quiet))

    def _lead(self, at_ns: int, quiet: int) -> None:
        if quiet == self._quiet and self.alive and not self.world.pauses(self, at_ns):
            self._spm += 1
            self.world.cast(self, at_ns, SPM, len(self.sent) - 1)

    def beat(self, at_ns: int, word: str = "HB") -> None:
        """A heartbeat, or another word with the same in it, which the network does not lose."""
        if not self.alive or self.world.later(self, at_ns, self.beat):
            return
        self.beats += 1
        host = int.from_bytes(bytes(map(int, self.address.split("."))), "little")
        told = caba(
            f"_X.{word}", ("user", self.name), ("host_id", host), ("seqno", self.beats),
            ("time", self.start_ns if word == "HELO" else at_ns), ("start", self.start_ns),
            ("interval", 10), ("converge", T0 - 60 * SECOND),
            ("sub_seqno", self.changes), sort=3, bridge=self.bridge,
        )  # fmt: skip
        self.transmit(at_ns, told, safe=True)
        if word == "HB":
            self.world.at(at_ns + 10 * SECOND, self.beat)

    def publish(self, at_ns: int) -> None:
        """One to four messages in a packet (raims.md 8)."""
        rng, stamp = self.world.rng, at_ns // TICK * TICK
        if not self.alive or self.world.pauses(self, at_ns):
            return
        tsdu, messages = b"", []
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            if rng.random() < self.world.by_path:
                self.path += 1
                subject = rng.choice(PATHS)
                tsdu += caba(
                    subject, ("seqno", self.path), ("fmt", 2), ("data", b"x" * 9), options=8,
                    bridge=self.bridge,
                )  # fmt: skip
                messages.append(Message(self.bridge.hex(), subject, self.path, by_path=True))
                continue
            subject = rng.choice(SUBJECTS[: self.world.subjects])
            before, chain = self.last.get(subject), None
            number = (stamp >> FRAME << BASE) + 1
            if before is not None and before >> BASE > (stamp - 10 * SECOND) >> FRAME:
                number = before + 1
            elif before is not None:
                chain = before
            self.last[subject] = number
            tsdu += data(subject, number, time=stamp, chain=chain, bridge=self.bridge)
            messages.append(Message(self.bridge.hex(), subject, number, chain))
        self.transmit(at_ns, tsdu, *messages)


@dataclass
class Missing:
    """A sqn that the receiver asks for."""

    confirmed: int = 0
    unconfirmed: int = 0
    round: int = 0


class Receiver:
    """The receive window of one TSI at the observed daemon."""

    def __init__(self, world: "World", sender: Daemon) -> None:
        self.world, self.sender = world, sender
        self.next: int | None = None
        self.lead = -1
        self.have: set[int] = set()
        self.missing: dict[int, Missing] = {}
        self.alive = True
        self._waiting = 0

    def takes(self, at_ns: int, sort: int, sqn: int, trail: int) -> None:
        """A packet is at its socket, which holds ``SOCKET`` of them while the daemon is paused."""
        world = self.world
        if not self.alive:
            return
        if world.pauses(world.observer.daemon, at_ns):
            if self._waiting >= SOCKET:
                if sort in (ODATA, RDATA):
                    world.drops_inside(at_ns, self.sender, sqn)
                return
            self._waiting += 1
        if world.later(world.observer.daemon, at_ns, lambda now: self.takes(now, sort, sqn, trail)):
            return
        self._waiting = 0
        if sort == NCF:
            self.confirmed(at_ns, sqn)
            return
        if sort == SPM:
            self.leads(at_ns, sqn)
        elif sort in (ODATA, RDATA):
            self.came(at_ns, sqn)
        for below in [sqn for sqn in self.missing if sqn < trail]:
            del self.missing[below]
            world.truth.given_up[self.sender.tsi].add(below)
            self._hand_on(at_ns)

    def came(self, at_ns: int, sqn: int) -> None:
        """ODATA or RDATA."""
        if self.next is None:
            self.next, self.lead = sqn, sqn - 1
        if sqn < self.next or sqn in self.have:
            return
        self.have.add(sqn)
        self.missing.pop(sqn, None)
        self.leads(at_ns, sqn)
        self._hand_on(at_ns)

    def leads(self, at_ns: int, lead: int) -> None:
        """A packet or SPM names a sqn."""
        if self.next is None:
            self.next, self.lead = lead + 1, lead
        for sqn in range(self.lead + 1, lead + 1):
            if sqn not in self.have:
                self.missing[sqn] = Missing()
                self._ask(at_ns + self._back_off(), sqn, 0)
        self.lead = max(self.lead, lead)

    def _back_off(self) -> int:
        return self.world.rng.randrange(1, 50) * MS

    def _ask(self, at_ns: int, sqn: int, turn: int) -> None:
        self.world.at(at_ns, lambda now: self._nak(now, sqn, turn))

    def _nak(self, at_ns: int, sqn: int, turn: int) -> None:
        one = self.missing.get(sqn)
        if one is None or one.round != turn or not self.alive:
            return
        if self.world.later(
            self.world.observer.daemon, at_ns, lambda now: self._nak(now, sqn, turn)
        ):
            return
        if ROUNDS in (one.confirmed, one.unconfirmed):
            del self.missing[sqn]
            self.world.truth.given_up[self.sender.tsi].add(sqn)
            self._hand_on(at_ns)
            return
        self.world.truth.lacked[self.sender.tsi].add(sqn)
        one.round += 1
        heard = self.world.asks(at_ns, self.sender, sqn)
        if heard:
            one.confirmed += 1
            wait = 500 * MS + (0 if one.confirmed == ROUNDS else self._back_off())
        else:
            one.unconfirmed += 1
            wait = 200 * MS
        self._ask(at_ns + wait, sqn, one.round)

    def confirmed(self, at_ns: int, sqn: int) -> None:
        """An NCF for another receiver: this one waits for the RDATA, and asks later."""
        one = self.missing.get(sqn)
        if one is None or ROUNDS in (one.confirmed, one.unconfirmed):
            return
        one.round, one.confirmed = one.round + 1, one.confirmed + 1
        wait = 500 * MS + (0 if one.confirmed == ROUNDS else self._back_off())
        self._ask(at_ns + wait, sqn, one.round)

    def _hand_on(self, at_ns: int) -> None:
        if self.next is None:
            return
        given_up = self.world.truth.given_up[self.sender.tsi]
        while self.next <= self.lead and (self.next in self.have or self.next in given_up):
            if self.next in self.have:
                for message in self.sender.sent[self.next][1]:
                    self.world.observer.had(at_ns, message, self.sender)
            else:  # what is behind it may be held up still, and be wanted then
                self.world.gone(at_ns, self.sender.sent[self.next][1])
            self.next += 1

    def end(self, at_ns: int) -> None:
        """What was given up never came, whether what is behind it was handed on by then or not."""
        for sqn in self.world.truth.given_up[self.sender.tsi]:
            if self.next is not None and sqn >= self.next:
                self.world.gone(at_ns, self.sender.sent[sqn][1])


class Observer:
    """The daemon that is captured at: its subscriptions, window, counters and notices."""

    def __init__(self, world: "World", at_ns: int = T0 - SECOND) -> None:
        self.world = world
        self.daemon = Daemon(world, "R", HERE, at_ns)
        self.wants: dict[str, int] = {}
        self._last: dict[tuple[str, str], tuple[int, int]] = {}  # L and its subscription
        self._lost_ns: dict[str, int] = {}
        self._known: dict[str, bool] = {}
        self._inbox: dict[str, int] = defaultdict(int)
        self._words: dict[tuple[str, str], int] = defaultdict(int)

    def subscribe(self, at_ns: int, subject: str, *, join: bool) -> None:
        """JOIN or LEAV."""
        if not self.daemon.alive or self.world.later(
            self.daemon, at_ns, lambda now: self.subscribe(now, subject, join=join)
        ):
            return
        if join == (subject in self.wants):
            return
        me = self.daemon
        me.changes += 1
        word = "JOIN" if join else "LEAV"
        told = caba(
            f"_S.{word}.{subject}", ("seqno", me.changes), ("subject", subject), sort=2,
            bridge=me.bridge,
        )  # fmt: skip
        me.transmit(at_ns, told)
        if join:
            self.wants[subject] = me.changes
        else:
            del self.wants[subject]

    def tell(self, at_ns: int, peer: Daemon, word: str, code: int, **fields: Any) -> None:
        """Point to point; each word is numbered by itself."""
        self._inbox[peer.tsi] += 1
        self._words[peer.bridge.hex(), word] += 1
        message = caba(
            inbox_subject(peer.bridge, word), ("seqno", self._words[peer.bridge.hex(), word]),
            *fields.items(), bridge=self.daemon.bridge, sort=1, options=16, path=code,
        )  # fmt: skip
        to = bytes(map(int, peer.address.split(".")))
        start = len(
            self.world.truths
        )  # another one calls its connections otherwise, and those with another one
        place = [daemon.tsi for daemon in self.world._daemons].index(peer.tsi)
        packet = inbox(self._inbox[peer.tsi], message, ident=6 + start + 20 * place)
        self.world.capture(at_ns, to + struct.pack(">HH", 49_002, peer.port) + packet, HERE)

    def had(self, at_ns: int, message: Message, sender: Daemon) -> None:
        """A message in its order (raims.md 9)."""
        truth = self.world.truth
        wanted = self.wants.get(message.subject)
        if wanted is None:
            return
        stream = "#0" if message.by_path else message.subject
        truth.delivered[message.bridge, stream] += 1
        if message.by_path:
            return
        at, s, c = (message.bridge, message.subject), message.seqno, message.chain or 0
        last, since = self._last.get(at, (0, 0))
        if not last or since != wanted:
            if last and since != wanted:  # all publishers of the subject are forgotten, once
                self._last = {
                    k: v for k, v in self._last.items() if k[1] != message.subject or v[1] == wanted
                }
            self._last[at] = s, wanted
            return
        self._last[at] = s, wanted
        lost: int | None = 0
        if s >> BASE == last >> BASE:
            lost = s - last - 1
        elif c == last:
            lost = 0
        elif c >> BASE == last >> BASE:
            lost = c - last
        elif s % (1 << BASE) != 1:
            lost = None
        if lost == 0:
            return
        truth.counted[message.bridge] += 1 if lost is None else lost
        known = self._known.get(message.bridge, False) or lost is not None
        before = self._lost_ns.get(message.bridge)
        self._lost_ns[message.bridge] = at_ns
        self._known[message.bridge] = known
        if before is not None and at_ns - before < 10 * SECOND:
            return
        self._known[message.bridge] = False
        restart = {} if known else {"idl_restart": True}
        self.tell(
            at_ns, sender, "loss", 37, subject=message.subject, idl_msg_loss=lost or 1, **restart,
            ms_tot=truth.counted[message.bridge], ref_seqno=s,
        )  # fmt: skip


@dataclass
class Shape:
    """What is odd about a world.

    Attributes:
        paused: by the daemon's name, from when to when.
        window: packets that a sender can repair.
        of_a_host: publishers on one host.
        restart_ns: when the observed daemon ends, and starts again a second later.
        beside: at how many publishers' interfaces there are captures as well.
    """

    paused: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    window: int = 1 << 30
    of_a_host: int = 1
    restart_ns: int | None = None
    beside: int = 0

    @classmethod
    def drawn(cls, seed: int, length_s: int) -> "Shape":
        rng = random.Random(f"shape {seed}")
        shape = cls()
        for name in ("R", "P0", "P1"):
            if rng.random() < 0.4:
                start = T0 + rng.randrange(2, length_s) * SECOND
                shape.paused[name] = [(start, start + rng.randrange(200, 9000) * MS)]
        shape.window = rng.choice((1 << 30, 1 << 30, 40, 10))
        shape.of_a_host = rng.choice((1, 2, 3))
        if rng.random() < 0.3:
            shape.restart_ns = T0 + rng.randrange(4, length_s - 4) * SECOND
        shape.beside = rng.choice((0, 1, 1, 2))
        return shape


class World:
    """The segment, event by event."""

    def __init__(self, seed: int, *, shaped: bool = False) -> None:
        self.rng = rng = random.Random(f"raims {seed}")
        self.truth = Truth()
        self.frames: list[tuple[int, bytes]] = []
        self._events: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = 0
        self._burst_ns = 0
        self.subjects = rng.randrange(1, len(SUBJECTS) + 1)
        self.by_path = rng.choice((0.0, 0.0, 0.2))
        self.loss = rng.choice((0.0, 0.01, 0.05))
        self.repair_loss = rng.choice((0.05, 0.4, 0.85))
        self.inside = rng.choice((0.0, 0.0, 0.02))
        self.foreign = rng.choice((0.0, 0.0, 0.05))  # another receiver asks for what it lost
        self.length_s = rng.choice((15, 25, 40))
        self.ends_ns = T0 + rng.randrange(5, 20) * SECOND if rng.random() < 0.2 else None
        self.shape = Shape.drawn(seed, self.length_s) if shaped else Shape()
        self.observer = Observer(self)
        self.truths = {self.observer.daemon.bridge.hex(): self.truth}
        self.beside: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self._daemons: list[Daemon] = []
        self._receivers: dict[str, Receiver] = {}

    def at(self, at_ns: int, do: Callable[[int], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (at_ns, self._order, do))

    def pauses(self, daemon: Daemon, at_ns: int) -> int | None:
        """When a daemon that is paused then goes on; null: it is not."""
        spans = self.shape.paused.get(daemon.name, ())
        return next((stop for start, stop in spans if start <= at_ns < stop), None)

    def later(self, daemon: Daemon, at_ns: int, do: Callable[[int], None]) -> bool:
        """Is it paused? Then it is done when it goes on."""
        goes_on = self.pauses(daemon, at_ns)
        if goes_on is not None:
            self.at(goes_on, do)
        return goes_on is not None

    def drops_inside(self, at_ns: int, sender: Daemon, sqn: int) -> None:
        """Of a packet that has come to its host."""
        self.truth.inside[sender.tsi].add(sqn)
        self.truth.inside_ns = at_ns

    def _restart(self, at_ns: int) -> None:
        """The observed daemon ends, and another starts."""
        self.observer.daemon.alive = False
        for receiver in self._receivers.values():
            receiver.end(at_ns)
            receiver.alive = False

        def begin(now: int) -> None:
            self.truth = Truth(again=True, inside_ns=self.truth.inside_ns)
            self.observer = Observer(self, now)
            self.truths[self.observer.daemon.bridge.hex()] = self.truth
            self._receivers = {d.tsi: Receiver(self, d) for d in self._daemons}
            self.observer.daemon.beat(now, "HELO")
            self.observer.daemon.beat(now + MS)
            for subject in (*SUBJECTS[: self.subjects], *(PATHS if self.by_path else ())):
                after = self.rng.randrange(2 * SECOND)
                self.at(now + after, self._changes(subject, join=True))

        self.at(at_ns + SECOND, begin)

    def run(self) -> bytes:
        """The capture."""
        rng, end_ns = self.rng, T0 + self.length_s * SECOND
        self.at(T0, self.observer.daemon.beat)
        if self.shape.restart_ns is not None:
            self.at(self.shape.restart_ns, self._restart)
        for subject in (*SUBJECTS[: self.subjects], *(PATHS if self.by_path else ())):
            joins = [rng.uniform(0, 4)]
            if rng.random() < 0.3:
                joins += [rng.uniform(5, self.length_s), rng.uniform(5, self.length_s)]
            for number, after_s in enumerate(sorted(joins)):
                self.at(T0 + int(after_s * SECOND), self._changes(subject, join=not number % 2))
        for number in range(rng.choice((1, 2, 3, 5))):
            host = 10 + number // self.shape.of_a_host
            self._start(
                f"P{number}", f"10.77.0.{host}", T0 + rng.randrange(SECOND), 49_001 + number
            )
        while self._events and self._events[0][0] < end_ns:
            now_ns, _, do = heapq.heappop(self._events)
            do(now_ns)
        self.shape.paused.pop("R", None)
        self.observer.daemon.beat(end_ns)  # it is captured to the end
        for receiver in self._receivers.values():
            receiver.end(end_ns)
        return self._written(self.frames)

    def captures(self) -> dict[str, bytes]:
        """What was captured at publishers' interfaces, by the host's address."""
        return {host: self._written(frames) for host, frames in self.beside.items()}

    @staticmethod
    def _written(frames: list[tuple[int, bytes]]) -> bytes:
        frames = sorted(frames, key=lambda frame: frame[0])
        times = [frame[0] for frame in frames]
        for place in range(1, len(times)):
            times[place] = max(times[place], times[place - 1] + 1000)
        return pcap([ethernet(packet) for _, packet in frames], times_ns=times, first_ns=0)

    def _changes(self, subject: str, *, join: bool) -> Callable[[int], None]:
        return lambda now: self.observer.subscribe(now, subject, join=join)

    def _start(self, name: str, address: str, at_ns: int, port: int = 49_001) -> None:
        """A publisher begins, publishes at its pace, and perhaps starts again."""
        rng = self.rng
        daemon = Daemon(self, name, address, at_ns)
        daemon.port = port
        if len(self.beside) < self.shape.beside:
            self.beside.setdefault(address, [])
        self._daemons.append(daemon)
        self._receivers[daemon.tsi] = Receiver(self, daemon)
        self.at(at_ns, daemon.beat)
        pace = rng.choice((30 * MS, 200 * MS, 2 * SECOND))

        def go_on(now: int) -> None:
            daemon.publish(now)
            if daemon.alive:
                self.at(now + 1 + int(rng.expovariate(1 / pace)), go_on)

        def ping(now: int) -> None:
            if self.later(self.observer.daemon, now, ping):
                return
            if daemon.alive:
                if self.observer.daemon.alive:
                    self.observer.tell(now, daemon, "ping", 18)
                self.at(now + rng.randrange(SECOND, 4 * SECOND), ping)

        self.at(at_ns + rng.randrange(2 * SECOND), go_on)
        self.at(at_ns + 500 * MS, ping)
        together = self.ends_ns is not None and at_ns < self.ends_ns
        if together or rng.random() < 0.2:
            stop_ns = at_ns + rng.randrange(5 * SECOND, 20 * SECOND)
            stop_ns = self.ends_ns if together and self.ends_ns is not None else stop_ns

            def end(now: int) -> None:
                daemon.alive = False
                self.truth.again = True
                self._start(name, address, now + SECOND, port)

            self.at(stop_ns, end)

    def capture(self, at_ns: int, packet: bytes, source: str) -> None:
        """A datagram, as destination, ports and payload, passes the observer's interface."""
        to = ".".join(map(str, packet[:4]))
        if source == HERE:
            for host, frames in self.beside.items():
                if to in (GROUP, host):
                    frames.append((at_ns + WAY, checked(packet, source, made=True)))
        self.frames.append((at_ns, checked(packet, source, made=source != HERE)))

    def cast(
        self, sender: Daemon, at_ns: int, sort: int, number: int, *, safe: bool = False
    ) -> None:
        """A packet of a sender to the group: it is lost, dropped inside, or comes."""
        own = sender.address == HERE
        trail = sender.trail
        lost, inside = self._fate(at_ns, sort) if not own and not safe else (False, False)
        if lost and not self.beside:
            return
        if sort == SPM:
            body, tsdu = struct.pack(">IIIHH4s", number + 1, trail, number, 1, 0, bytes(4)), b""
        elif sort == NCF:
            nla = struct.pack(">HH4s", 1, 0, bytes(4))
            body, tsdu = struct.pack(">I", number) + nla + nla, b""
        else:
            body, tsdu = struct.pack(">II", number, trail), sender.sent[number][0]
        packet = with_checksum(pgm(sort, body, tsdu, gsi=sender.gsi))
        to = bytes(map(int, GROUP.split(".")))
        packet = to + struct.pack(">HH", 50_000, PORT) + packet
        if sender.address in self.beside:
            sent = checked(packet, sender.address, made=False)
            self.beside[sender.address].append((at_ns - WAY, sent))
        if lost:
            return
        self.capture(at_ns, packet, sender.address)
        if own:
            return
        if sort == ODATA and self.rng.random() < self.foreign:
            self._asked_elsewhere(sender, number, at_ns + self.rng.randrange(20, 80) * MS)
        receiver = self._receivers[sender.tsi]
        if inside and sort in (ODATA, RDATA):
            self.drops_inside(at_ns, sender, number)
        elif sort != NCF:
            receiver.takes(at_ns, sort, number, trail)

    def _asked_elsewhere(self, sender: Daemon, sqn: int, at_ns: int) -> None:
        """Another receiver's NAKs, which do not pass here, are confirmed and answered."""

        def answer(now: int) -> None:
            before = len(self.frames)
            if sender.alive and not self.pauses(sender, now):
                self.cast(sender, now, NCF, sqn)
                self._repair(sender, now + MS, sqn)
            if len(self.frames) > before:
                self._receivers[sender.tsi].takes(now, NCF, sqn, sender.trail)

        for turn in range(self.rng.choice((1, 1, 3))):
            self.at(at_ns + turn * 520 * MS, answer)

    def _repair(self, sender: Daemon, at_ns: int, sqn: int) -> None:
        """RDATA, of what the sender has still."""

        def send(now: int) -> None:
            if sqn >= sender.trail:
                self.cast(sender, now, RDATA, sqn)

        self.at(at_ns, send)

    def _fate(self, at_ns: int, sort: int) -> tuple[bool, bool]:
        rng = self.rng
        if sort == RDATA:
            return rng.random() < self.repair_loss, rng.random() < self.inside
        if sort != ODATA:
            return rng.random() < 0.02, False
        if at_ns < self._burst_ns:
            return True, False
        if rng.random() < self.loss:
            self._burst_ns = at_ns + rng.choice((1, 1, 100 * MS, SECOND, 9 * SECOND))
            return True, False
        return False, rng.random() < self.inside

    def asks(self, at_ns: int, sender: Daemon, sqn: int) -> bool:
        """A NAK of the observer; whether it is confirmed. A repair follows, if it comes."""
        nla = struct.pack(">HH4s", 1, 0, bytes(4))
        body = struct.pack(">I", sqn) + nla + nla
        packet = with_checksum(pgm(NAK, body, gsi=sender.gsi))
        to = bytes(map(int, sender.address.split(".")))
        packet = to + struct.pack(">HH", 50_001, PORT) + packet
        if not sender.alive or self.rng.random() < 0.1:
            self.frames.append((at_ns, checked(packet, HERE, made=False)))
            return False
        self.capture(at_ns, packet, HERE)
        if self.pauses(sender, at_ns):
            return False
        before = len(self.frames)
        self.cast(sender, at_ns + MS, NCF, sqn)
        self._repair(sender, at_ns + 2 * MS, sqn)
        return len(self.frames) > before

    def gone(self, at_ns: int, messages: tuple[Message, ...]) -> None:
        """Messages of a packet that was given up."""
        for message in messages:
            if message.by_path or message.subject in self.observer.wants:
                stream = "#0" if message.by_path else message.subject
                self.truth.lost[message.bridge, stream].add(message.seqno)


#: Rules of which nothing in such a world makes a proven one, and why.
NEVER: Final[Mapping[str, str]] = {
    "RA005": "nothing came twice to the daemon",
    "RA007": "no publisher forgets a subject",
    "RA010": "nothing that is told point to point is lost",
    "RA012": "every notice is as the table has it",
    "RA015": "times are in their frames", "RA016": "there is one clock",
    "RA017": "frames follow each other", "RA018": "there is one clock",
    "RA020": "frames begin by their age", "RA023": "nothing is in pieces",
    "RA024": "there is no client", "RA027": "every loss is told",
    "RA028": "notices are ten seconds apart",
}  # fmt: skip


def whole_truth(truths: Iterable[Truth]) -> Truth:
    """What was so at any start of the observed daemon."""
    told = Truth()
    for truth in truths:
        told.again |= truth.again
        told.inside_ns = max(told.inside_ns, truth.inside_ns)
        for name in ("lacked", "given_up", "inside", "lost"):
            for key, some in getattr(truth, name).items():
                getattr(told, name)[key] |= some
    return told


def refuted(found: claims.Finding, truth: Truth) -> str | None:
    """Why a proven finding is not so; null: it is, or nobody can say."""
    if found.rule in NEVER:
        return NEVER[found.rule]
    if found.rule == "RA022":
        return None if truth.again else "nobody started again"
    packets = {"PG001": (truth.lacked,), "PG002": (truth.given_up,), "PG009": (truth.inside,),
               "PG010": (truth.lacked, truth.given_up, truth.inside)}  # fmt: skip
    if found.rule in packets:
        wrong = found.seqnos.difference(*(some[found.stream] for some in packets[found.rule]))
        return f"not so of {claims.shown(wrong)}" if wrong else None
    if found.rule in ("RA001", "RA002", "RA003", "RA004", "RA013"):
        bridge, subject = [*found.stream.split("|"), ""][:2]  # behind them the receiver's start
        lost = truth.lost.get((bridge, subject), set())
        wrong = found.seqnos - lost
        if wrong:
            return f"it had {claims.shown(wrong)}"
        if found.count is not None and found.stream and found.count > len(lost):
            return f"it lost {len(lost)}"
    return None


def figures(report: Mapping[str, Any], truths: Mapping[str, Truth], end_ns: int) -> Iterator[str]:
    """What the report of a whole capture tells otherwise than it was; of what was dropped inside
    right before its end nothing tells."""
    if any(truth.inside_ns > end_ns - SECOND for truth in truths.values()):
        return
    for row in report.get("tables", {}).get("raims", {}).get("loss", ()):
        truth = truths.get(row["observer"])
        if truth is None:
            continue
        if row["msg_loss"] is not None and row["msg_loss"] != truth.counted[row["bridge"]]:
            yield f"msg loss {row['msg_loss']} of {truth.counted[row['bridge']]}"
    for row in report.get("streams", ()):
        if row["system"] != "raims" or row["role"] != "receiver" or row["delivered"] is None:
            continue
        if row["numbering"] != "per subject":
            continue
        if row["receiver"] not in truths:
            continue
        truth = truths[row["receiver"]]
        had = sum(int(b, 16) - int(a, 16) + 1 for a, b in row["delivered"])
        expected = truth.delivered[row["sender"], row["subject"]]
        if had != expected:
            yield f"delivered {had} of {expected} on {row['subject']}"


def thinned(capture: Capture, rng: random.Random) -> Capture:
    """A publisher's own capture, every other time without some frames, or a part of them."""
    share = rng.choice((0.0, 0.0, 0.01, 0.1))
    records = [record for record in capture.records if rng.random() >= share]
    if rng.random() < 0.3:
        first, last = sorted(rng.randrange(len(records)) for _ in range(2))
        records = records[first:] if rng.random() < 0.5 else records[: max(last, 1)]
    return capture.of(records)


def spoiled(
    seed: int, ways: tuple[Way, ...], sample: int, *, shaped: bool = False,
    tally: Counter[str] | None = None, made_as: type["World"] | None = None,
) -> Iterator[tuple[str, str, str]]:  # fmt: skip
    """(way, choice, what is wrong) of one world.

    Args:
        tally: counts what was looked at; where it is given, figures of spoiled captures are
            compared as well.
        made_as: the kind of world; null: ``World``.
    """
    world = (made_as or World)(seed, shaped=shaped)
    content = world.run()
    truth = whole_truth(world.truths.values())
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "R.pcap"
        path.write_bytes(content)
        places, beside = {"R.pcap": HERE}, []
        for host, written in world.captures().items():
            aside = Path(name) / f"{host}.pcap"
            aside.write_bytes(written)
            places[aside.name] = host
            beside.append((aside.name, read(aside)))
        subject = Subject(f"raims world {seed}", "R.pcap", HERE, read(path))
        whole = auditing.audit(
            Spoiled((("R.pcap", subject.capture), *beside), "each"), places, {}, Path(name)
        )
        for way in ways:
            for choice in way.picked(subject, sample, seed):
                made: Spoiled = way.spoil(subject, choice)
                if beside and made.at == HERE and len(made.files) == 1:
                    rng = random.Random(f"{seed} {way.name} {text_of(choice)}")
                    others = [(name, thinned(capture, rng)) for name, capture in beside]
                    made = replace(made, files=(*made.files, *others), at="each")
                done = auditing.audit(made, places, {}, Path(name))
                if tally is not None:
                    tally["spoiled"] += 1
                    tally["proven findings"] += len(claims.proven(claims.findings(done.report)))
                if done.crash is not None:
                    yield way.name, text_of(choice), done.crash
                    continue
                if way.name == "whole":
                    for what in figures(
                        done.report, world.truths, subject.capture.records[-1].at_ns
                    ):
                        yield way.name, text_of(choice), what
                elif tally is not None and dict(made.files).keys() == {"R.pcap", *dict(beside)}:
                    timed = compared.CLOCKS.isdisjoint(made.ways or (way.name,))
                    told = compared.beside(whole.report, done.report, timed=timed)
                    tally["figures compared"] += told.figures
                    for figure, of, says in told.wrong:
                        yield way.name, text_of(choice), f"{figure} of {of}: {says}"
                for found in claims.proven(claims.findings(done.report)):
                    why = refuted(found, truth)
                    if why is not None:
                        yield way.name, text_of(choice), f"{found.rule} {found.text} ({why})"


def played(says: str | None, made_as: type[World]) -> int:
    """Worlds of a kind as they are asked for; exit code 1 if anything is wrong, or if nothing was
    proven or compared."""
    seeds, sample, ways = asked(says)
    wrong, tally = 0, Counter[str]()
    for seed, shaped in ((seed, shaped) for seed in seeds for shaped in (False, True)):
        tally["worlds"] += 1
        for way, choice, what in spoiled(
            seed, ways, sample, shaped=shaped, tally=tally, made_as=made_as
        ):
            wrong += 1
            shape = " of odd shape" if shaped else ""
            print(f"seed {seed}{shape}  {way}  {choice}: {what}", flush=True)
    print(", ".join(f"{what} {count}" for what, count in tally.items()) + f"; wrong {wrong}")
    return int(wrong > 0 or not tally["proven findings"])


def main() -> int:
    """Exit code 1 if anything is wrong, or if nothing was proven or compared."""
    return played(__doc__, World)


if __name__ == "__main__":
    sys.exit(main())
