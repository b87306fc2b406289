"""Worlds of feeds for what a feed file can say of carriers and units: VLANs, tunnels, IP protocols,
Ethernet, TCP, several units in a datagram, numbers at the end, in multiples and of bytes.

Beside ``feed_worlds``, whose ``Book`` is the truth here too. What each frame holds is known by its
bytes, so the truth of a capture that lacks frames is that of the frames that are left.
"""

import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.decoders.feeds.connections import Talk
from tests.decoders.network.builders import UDP, ethernet, ipv4, summed, udp
from tests.pipeline.feed_worlds import BEAT, DATA, MS, REPAIR, START_NS, US, Book, Packet
from tests.pipeline.test_networks import in_gre, in_vlan, in_vxlan

GROUP, SENDER, CLIENT = "239.8.0.1", "10.0.0.1", "10.0.0.7"
PORT: Final = 26_400
KINDS: Final = {DATA: 0, BEAT: 1, REPAIR: 4}
NETWORKS: Final = {"vlan": in_vlan, "vxlan": in_vxlan, "gre": in_gre}
#: How worlds differ.
CARRIED: Final = (
    "plain", "end", "steps", "bytes", "size", "length", "count", "ip", "ethernet", *NETWORKS,
)  # fmt: skip
SEVERAL: Final = ("size", "length", "count")
#: How a unit says what it is: key, kind, number, count, size; big-endian.
HEAD: Final = ">BBIHH"
HEAD_SIZE: Final = struct.calcsize(HEAD)
SIZE: Final = 24

_MATCH: Final = f"match: [{{destination: {GROUP}, port: {PORT}}}]\n"
_KEYED: Final = "stream: [destination, port, key]\n"
_FIELDS: Final = "key: {{offset: {0}, width: 1}}, kind: {{offset: {1}, width: 1}}, "
_NUMBERS: Final = "number: {{offset: {2}, width: 4}}, count: {{offset: {3}, width: 2}}, "
_SIZED: Final = "size: {{offset: {4}, width: 2}}"
_REPAIRS: Final = "  - {name: REPAIR, when: {kind: 4}, is: repair}\n"


@dataclass(frozen=True)
class Rates:
    """Chances of a datagram."""

    loss: float = 0.0
    late: float = 0.0
    duplicates: float = 0.0
    copies: float = 0.0
    repairs: float = 0.0


@dataclass
class Carried:
    """A capture and its feed file.

    Attributes:
        holds: what each frame's bytes say: (key, kind, first number, how many).
        by: the part of a stream's name that is the key.
        repeats: whether a copy of the network is told from one of the sender.
    """

    shape: str
    feed: str
    frames: list[tuple[int, bytes]]
    holds: dict[bytes, list[tuple[int, str, int, int]]]
    by: str
    repeats: bool

    def books(self, frames: Sequence[tuple[int, bytes]]) -> dict[int, Book]:
        """What these frames of it say, by key."""
        books: dict[int, Book] = {}
        seen: set[bytes] = set()
        for number, (at_ns, data) in enumerate(frames, 1):
            made = "duplicate" if data in seen else "original"
            seen.add(data)
            for key, kind, first, count in self.holds.get(data, ()):
                if kind == REPAIR and key not in books:
                    continue  # of a stream that has not begun
                book = books.setdefault(key, Book(v6=not self.repeats))
                if kind == REPAIR:
                    book.reveal(first + count, number, at_ns, "a repair")
                book.take(Packet(at_ns, kind, first, count, made, [data]), number)
        for book in books.values():
            book.close()
        return books


def feed_of(shape: str) -> str:
    """The feed file of a world."""
    places = [0, 1, 2, 6, 8]
    if shape == "end":
        places = [place - HEAD_SIZE for place in places]
    fields = (_FIELDS + _NUMBERS + _SIZED).format(*places)
    if shape == "count":
        fields += ", units: {offset: 1, width: 1, of: datagram}"
    match, stream = _MATCH, _KEYED
    if shape == "ip":
        match, stream = (
            f"protocol: 99\nmatch: [{{destination: {GROUP}}}]\n",
            ("stream: [destination, key]\n"),
        )
    elif shape == "ethernet":
        match, stream = "ethertype: 0x9998\n", "stream: [source, key]\n"
    elif shape in NETWORKS:
        stream = f"stream: [destination, port, {'vlan' if shape == 'vlan' else 'vni'}]\n"
    elif shape == "tcp":
        match = f"framing: {{offset: 8, width: 2}}\nmatch: [{{port: {PORT}}}]\n"
    text = f"feed: carried\n{match}fields: {{{fields}}}\n{stream}seqno: number\n"
    text += {
        "steps": "step: 4\ncount: count\n",
        "bytes": f"count: {{bytes: {HEAD_SIZE}}}\n",
        "size": f"count: count\nrepeat: {{size: {SIZE}}}\n",
        "length": "count: count\nrepeat: {first: 3, length: size}\n",
        "count": f"count: count\nrepeat: {{first: 2, size: {SIZE}, count: units}}\n",
    }.get(shape, "count: count\n")
    text += "messages:\n  - {name: BEAT, when: {kind: 1}, is: heartbeat, says: next}\n"
    return text + _REPAIRS


def _unit(shape: str, part: tuple[int, str, int, int], chance: random.Random) -> bytes:
    key, kind, first, count = part
    body = chance.randbytes(chance.randint(4, 30))
    if shape in SEVERAL and shape != "length":
        body = chance.randbytes(SIZE - HEAD_SIZE)
    if shape == "bytes":
        body = chance.randbytes(count if kind != BEAT else 0)
    number = first * 4 if shape == "steps" else first
    head = struct.pack(
        HEAD, key, KINDS[kind], number & 0xFFFFFFFF, 0 if kind == BEAT else count,
        HEAD_SIZE + len(body),
    )  # fmt: skip
    return body + head if shape == "end" else head + body


@dataclass
class _Network:
    """What carries datagrams from a sender to where they are captured."""

    shape: str
    chance: random.Random
    ident: int = 0
    holds: dict[bytes, list[tuple[int, str, int, int]]] = field(default_factory=dict)

    def datagram(self, parts: Sequence[tuple[int, str, int, int]]) -> bytes:
        """The payload of one."""
        units = b"".join(_unit(self.shape, part, self.chance) for part in parts)
        if self.shape == "length":
            return self.chance.randbytes(3) + units
        if self.shape == "count":
            return bytes([9, len(parts)]) + units + self.chance.randbytes(self.chance.randrange(9))
        return units

    def frame(self, payload: bytes, parts: Sequence[tuple[int, str, int, int]]) -> bytes:
        """Another frame with it, which says what is in it."""
        self.ident = (self.ident + 1) & 0xFFFF
        if self.shape == "ethernet":
            tags = [(), (0x8100,), (0x88A8, 0x8100)][self.ident % 3]
            frame = ethernet(payload, 0x9998, tags)
        elif self.shape == "ip":
            frame = ethernet(ipv4(payload, SENDER, GROUP, protocol=99, ident=self.ident))
        else:
            carried = summed(udp(payload, 5_000, PORT), UDP, SENDER, GROUP)
            frame = ethernet(ipv4(carried, SENDER, GROUP, ident=self.ident))
        if self.shape in NETWORKS:
            frame = NETWORKS[self.shape](frame, parts[0][0])
        self.holds[frame] = list(parts)
        return frame


def draw_carried(seed: int, shape: str, *, size: int = 300, rates: Rates | None = None) -> Carried:
    """Everything from a seed."""
    chance = random.Random(f"{seed} {shape}")
    if rates is None:
        few = [0.0, 0.02, 0.1, 0.3]
        loss, late, duplicates, copies = (chance.choice(few) for _ in range(4))
        rates = Rates(loss, late, duplicates, copies, chance.choice([0.0, 0.5, 1.0]))
    network = _Network(shape, chance)
    keys = chance.sample(range(5, 40), 1 + seed % 3 if shape not in NETWORKS else 2)
    following = {key: chance.choice([1, 0, 70_000, 900_000_000]) for key in keys}
    shots: list[tuple[int, int, bytes]] = []
    turns, now = size, START_NS
    for turn in range(turns):
        now += chance.choice([20, 90, 700]) * US
        parts = []
        for key in chance.choices(keys, k=chance.randint(1, 4) if shape in SEVERAL else 1):
            if turn > 8 and chance.random() < 0.1:
                parts.append((key, BEAT, following[key], 0))
                continue
            count = chance.randint(1, 40 if shape == "bytes" else 3)
            parts.append((key, DATA, following[key], count))
            following[key] += count
        payload = network.datagram(parts)
        sure = turn <= 12 or turn > turns - 12 or len({kind for _, kind, _, _ in parts}) > 1
        late_ns = chance.randint(1, 6) * MS if not sure and chance.random() < rates.late else 0
        if sure or chance.random() >= rates.loss:
            shots.append((now + late_ns, len(shots), network.frame(payload, parts)))
        elif parts[0][1] == DATA and chance.random() < rates.repairs:
            again = [(key, REPAIR, first, count) for key, _, first, count in parts]
            repair = network.datagram(again)
            shots.append((now + 30 * MS, len(shots), network.frame(repair, again)))
        for rate, made in ((rates.duplicates, "duplicate"), (rates.copies, "copy")):
            if not sure and chance.random() < rate and shots and not late_ns:
                when = now + chance.randint(7, 20) * MS
                frame = shots[-1][2] if made == "duplicate" else network.frame(payload, parts)
                if network.holds[frame] == parts:
                    shots.append((when, len(shots), frame))
    now += 60 * MS
    for key in keys:
        part = (key, BEAT, following[key], 0)
        shots.append((now, len(shots), network.frame(network.datagram([part]), [part])))
    other = ethernet(ipv4(udp(b"?" * 9, 9, 9), "192.0.2.1", "192.0.2.2"))
    frames = [(at_ns, frame) for at_ns, _, frame in sorted(shots)]
    frames.append((now + 5_000 * MS, other))
    by = {"vlan": "vlan", "vxlan": "vni", "gre": "vni"}.get(shape, "key")
    return Carried(shape, feed_of(shape), frames, network.holds, by, shape != "ethernet")


@dataclass
class Connections:
    """Connections of TCP; by (client's port, key) what came, and what the sender left out."""

    feed: str
    frames: list[tuple[int, bytes]]
    truth: dict[tuple[int, int], tuple[int, int]]


def draw_connections(seed: int) -> Connections:
    """Frames of a length that they say, in segments of any size."""
    chance = random.Random(seed)
    talks = [Talk((CLIENT, 40_000 + n), (SENDER, PORT)) for n in range(chance.randint(1, 3))]
    truth: dict[tuple[int, int], tuple[int, int]] = {}
    for talk in talks:
        following = {key: chance.choice([1, 0, 900_000]) for key in chance.sample(range(9), 2)}
        sent = b""
        for turn in range(200):
            key, count = chance.choice([*following]), chance.randint(1, 3)
            came, left_out = truth.get((talk.client[1], key), (0, 0))
            if came and turn < 180 and chance.random() < 0.05:
                truth[talk.client[1], key] = came, left_out + count
            else:
                truth[talk.client[1], key] = came + count, left_out
                sent += _unit("tcp", (key, DATA, following[key], count), chance)
            following[key] += count
        for key, number in following.items():
            sent += _unit("tcp", (key, BEAT, number, 0), chance)
        talk.server_says(sent, chance.choice([7, 100, 536, 1460]))
    turns = [number for number, talk in enumerate(talks) for _ in talk.frames]
    chance.shuffle(turns)
    rest = [iter(talk.frames) for talk in talks]
    frames = [(START_NS + MS * at, next(rest[turn])) for at, turn in enumerate(turns)]
    other = ethernet(ipv4(udp(b"?" * 9, 9, 9), "192.0.2.1", "192.0.2.2"))
    return Connections(feed_of("tcp"), [*frames, (frames[-1][0] + 5_000 * MS, other)], truth)


#: What is compared, of each stream.
FIGURES: Final = (
    "messages", "arrivals", "copies", "network_duplicates", "reordered", "recovered", "unrecovered",
    "gaps",
)  # fmt: skip


def differences(
    world: Carried, frames: Sequence[tuple[int, bytes]], report: Mapping[str, Any]
) -> Iterator[str]:
    """Each figure of a stream that is not what these frames say."""
    books = world.books(frames)
    streams: dict[int, Any] = {}
    for stream in report["streams"]:
        words = dict(word.split("=") for word in stream["id"].split("|")[1].split(",") if word)
        streams[int(words[world.by])] = stream
    if streams.keys() != books.keys():
        yield f"streams {sorted(streams)}, not {sorted(books)}"
    for key in streams.keys() & books.keys():
        row, truth = streams[key], books[key].figures
        for name in FIGURES:
            told = row[name] + (row["open_at_end"] if name == "unrecovered" else 0)
            if name == "network_duplicates" and not world.repeats:
                continue
            if told != truth[name]:
                yield f"{key}: {name} {truth[name]}, reported {told}"
