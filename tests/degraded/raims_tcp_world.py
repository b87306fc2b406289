"""raims daemons joined by TCP as they run by their rules, captured at one of them (raims.md 4).

``python -m tests.degraded.raims_tcp_world --seeds 1-20`` plays worlds of other topologies than
``raims_world``: a mesh of connections, two of them between the same daemons, daemons in a line of
which the observed one is the end or the middle, and some on TCP while others are on PGM. They are
spoiled in every way, and what is said of them is held against what was so. Connections are closed
and opened again; what is published meanwhile is sent to nobody.
"""

import random
import struct
import sys
from typing import Any, Final

from tests.decoders.network.builders import added, ipv4
from tests.decoders.raims.builders import caba, inbox_subject
from tests.degraded.raims_world import (
    HERE,
    MS,
    ODATA,
    SECOND,
    Daemon,
    Message,
    Observer,
    Shape,
    World,
    played,
)

PORT: Final = 9000
TOPOLOGIES: Final = ("mesh", "double", "end of a line", "middle of a line", "mixed")
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CODES: Final = {"auth": 16, "ping": 18, "sync_rpy": 25, "loss": 37}


class Side:
    """One end of a connection: where it is, and what it has sent."""

    def __init__(self, address: str, port: int, sent: int) -> None:
        self.address, self.port, self.sent = address, port, sent


class Connection:
    """A TCP connection between a publisher and the observed daemon."""

    def __init__(self, world: "TcpWorld", address: str, port: int, at_ns: int) -> None:
        self.world = world
        self._last_ns = 0
        self.here = Side(HERE, PORT, world.rng.randrange(1 << 31))
        self.there = Side(address, port, world.rng.randrange(1 << 31))
        self._segment(at_ns - 3000, self.there, SYN)
        self._segment(at_ns - 2000, self.here, SYN | ACK)
        self._segment(at_ns - 1000, self.there, ACK)

    def send(self, at_ns: int, content: bytes, *, own: bool) -> None:
        """Bytes in segments, and their ACK."""
        side = self.here if own else self.there
        for start in range(0, len(content), 1400):
            self._segment(at_ns, side, PSH | ACK, content[start : start + 1400])
        self._segment(at_ns + MS // 10, self.there if own else self.here, ACK)

    def close(self, at_ns: int) -> None:
        if self.there.sent % 2:  # some reset it instead, when all has been read
            self._segment(at_ns, self.there, RST | ACK)
            return
        self._segment(at_ns, self.there, FIN | ACK)
        self._segment(at_ns + 1000, self.here, FIN | ACK)
        self._segment(at_ns + 2000, self.there, ACK)

    def _segment(self, at_ns: int, side: Side, flags: int, content: bytes = b"") -> None:
        other = self.there if side is self.here else self.here
        self._last_ns = at_ns = max(at_ns, self._last_ns + 1000)
        head = struct.pack(
            ">HHIIHHHH", side.port, other.port, side.sent % (1 << 32),
            other.sent % (1 << 32) if flags & ACK else 0, 5 << 12 | flags, 65_000, 0, 0,
        )  # fmt: skip
        addresses = b"".join(bytes(map(int, x.address.split("."))) for x in (side, other))
        pseudo = addresses + struct.pack(">HH", 6, len(head) + len(content))
        told = added(pseudo + head + content) ^ 0xFFFF
        segment = head[:16] + struct.pack(">H", told) + head[18:] + content
        packet = ipv4(segment, side.address, other.address, protocol=6, ident=0, dont_fragment=True)
        self.world.frames.append((at_ns, packet))
        side.sent += len(content) + bool(flags & (SYN | FIN))


class TcpObserver(Observer):
    """The observed daemon, whose words go over TCP."""

    world: "TcpWorld"

    def tell(self, at_ns: int, peer: Daemon, word: str, code: int, **fields: Any) -> None:
        if not self.world.has_tcp(peer):
            super().tell(at_ns, peer, word, code, **fields)
            return
        self._words[peer.bridge.hex(), word] += 1
        numbered = {"seqno": self._words[peer.bridge.hex(), word]} | fields
        link = self.world.link(peer)
        if link is not None:
            link.send(at_ns, to_peer(self.daemon, peer, word, **numbered), own=True)


def to_peer(sender: Daemon, peer: Daemon, word: str, **fields: Any) -> bytes:
    """A message from one daemon to another."""
    return caba(inbox_subject(peer.bridge, word), *fields.items(), bridge=sender.bridge, sort=1,
                options=16, path=CODES[word])  # fmt: skip


def messages_of(content: bytes) -> list[bytes]:
    """Messages back to back."""
    found = []
    while content:
        size = 8 + (int.from_bytes(content[2:4], "big"))
        found.append(content[:size])
        content = content[size:]
    return found


class TcpWorld(World):
    """Daemons on connections, event by event."""

    def __init__(self, seed: int, *, shaped: bool = False) -> None:
        self.links: dict[str, list[Connection]] = {}  # by the publisher's name
        self._ports = 40_000
        super().__init__(seed)
        rng = random.Random(f"tcp {seed} {shaped}")
        self.topology = rng.choice(TOPOLOGIES)
        self.breaks = rng.choice((0.0, 0.3, 0.8))
        self.shape, self.ends_ns, self.foreign, self.inside = Shape(), None, 0.0, 0.0
        self.by_path = 0.0
        if self.topology != "mixed":
            self.loss = 0.0
        self.observer = TcpObserver(self)
        self.truths = {self.observer.daemon.bridge.hex(): self.truth}

    def has_tcp(self, daemon: Daemon) -> bool:
        """Do its messages come over TCP?"""
        return self.topology != "mixed" or daemon.name in ("P0", "P2")

    def link(self, daemon: Daemon, place: int = 0) -> Connection | None:
        """The connection that leads to a daemon; null: it is closed."""
        name = "P0" if self.topology == "end of a line" else daemon.name
        links = self.links.get(name, [])
        return links[place % len(links)] if links else None

    def _start(self, name: str, address: str, at_ns: int, port: int = 49_001) -> None:
        super()._start(name, address, at_ns, port)
        daemon = self._daemons[-1]
        if not self.has_tcp(daemon):
            return
        if self.topology == "end of a line" and name != "P0":
            self.at(at_ns - MS, lambda now: self._presents(now, daemon))
            return
        self.at(at_ns - MS, lambda now: self._joins(now, daemon))

    def _presents(self, at_ns: int, daemon: Daemon) -> None:
        """A daemon behind another: that one tells of it."""
        first, link = self._daemons[0], self.link(self._daemons[0])
        if link is None:
            return
        me = self.observer.daemon
        told = {
            "session": bytes(16) + daemon.bridge,
            "user": daemon.name,
            "sync_bridge": daemon.bridge,
        }
        tells = caba("_Z.ADD", ("seqno", 1), ("sync_bridge", daemon.bridge), ("user", daemon.name),
                      bridge=first.bridge, sort=2)  # fmt: skip
        link.send(at_ns, tells, own=False)
        link.send(at_ns + MS // 2, to_peer(first, me, "sync_rpy", seqno=1, **told), own=False)

    def _joins(self, at_ns: int, daemon: Daemon) -> None:
        """Connections are made, and both daemons say who they are."""
        if not daemon.alive:
            return
        me = self.observer.daemon
        links = []
        for _ in range(2 if self.topology == "double" else 1):
            self._ports += 1
            links.append(Connection(self, daemon.address, self._ports, at_ns))
            host = int.from_bytes(bytes(map(int, daemon.address.split("."))), "little")
            own = int.from_bytes(bytes(map(int, HERE.split("."))), "little")
            about: dict[str, Any] = {
                "user": daemon.name,
                "host_id": host,
                "start": daemon.start_ns,
                "interval": 10,
            }
            hello = caba("_X.HELO", *about.items(), ("seqno", 1), ("uptime", SECOND),
                         bridge=daemon.bridge, sort=3, options=16, path=1)  # fmt: skip
            links[-1].send(at_ns, hello, own=False)
            mine = {"user": "R", "host_id": own, "start": me.start_ns, "interval": 10,
                    "sub_seqno": me.changes}  # fmt: skip
            links[-1].send(at_ns + 200_000, to_peer(me, daemon, "auth", seqno=1, **mine), own=True)
            links[-1].send(
                at_ns + 400_000, to_peer(daemon, me, "auth", seqno=1, **about), own=False
            )
        self.links[daemon.name] = links
        if self.rng.random() < self.breaks:
            self.at(at_ns + self.rng.randrange(2 * SECOND, 12 * SECOND),
                    lambda now: self._breaks(now, daemon))  # fmt: skip

    def _breaks(self, at_ns: int, daemon: Daemon) -> None:
        for link in self.links.pop(daemon.name, []):
            link.close(at_ns)
        self.at(at_ns + self.rng.randrange(100 * MS, 4 * SECOND),
                lambda now: self._joins(now, daemon))  # fmt: skip

    def cast(
        self, sender: Daemon, at_ns: int, sort: int, number: int, *, safe: bool = False
    ) -> None:
        own = sender.address == HERE
        if (own and self.topology == "mixed") or not (own or self.has_tcp(sender)):
            super().cast(sender, at_ns, sort, number, safe=safe)
        if sort != ODATA or not (own or self.has_tcp(sender)):
            return
        content, messages = sender.sent[number]
        if own:
            for links in list(self.links.values()):
                for link in links:
                    link.send(at_ns, content, own=True)
            return
        for place, part in enumerate(messages_of(content)):
            message = messages[place] if messages else None
            if message is None and self.topology == "end of a line" and sender.name != "P0":
                continue  # heartbeats end at the next daemon
            self._sends(at_ns, sender, part, message)

    def _sends(self, at_ns: int, sender: Daemon, part: bytes, message: Message | None) -> None:
        if message is None:  # a heartbeat, without which either connection would time out
            for place in range(2 if self.topology == "double" else 1):
                if (link := self.link(sender, place)) is not None:
                    link.send(at_ns, part, own=False)
            return
        link = self.link(sender, sum(message.subject.encode()))
        if link is None:
            self.gone(at_ns, (message,))
            return
        link.send(at_ns, part, own=False)
        self.observer.had(at_ns, message, sender)
        if self.topology == "middle of a line":  # it hands on what the others want
            for name, links in list(self.links.items()):
                if name != sender.name:
                    links[0].send(at_ns + MS // 5, part, own=True)


def main() -> int:
    """Exit code 1 if anything is wrong, or if nothing was proven or compared."""
    return played(__doc__, TcpWorld)


if __name__ == "__main__":
    sys.exit(main())
