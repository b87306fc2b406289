"""Feeds that show one FD rule each: MoldUDP64 where it will do, else what has the field.

A story is a list of datagrams and pauses (ms). Session S1 goes from 10.0.0.1 to 233.54.12.1; a
re-request server at 10.0.0.2 answers a client at 10.0.0.7.
"""

import struct
from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from tests.decoders.feeds.builders import mold, rtp
from tests.decoders.feeds.connections import soup_connection
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp
from tests.rules.wire import Made, Wire

SENDER, SERVER, CLIENT = "10.0.0.1", "10.0.0.2", "10.0.0.7"
A: Final = "233.54.12.1"
B: Final = "233.54.13.1"
OTHER: Final = "233.54.14.1"
PORT: Final = 26400
MOLD: Final = ("--feed", f"moldudp64,server={SERVER}:6000")
LINES: Final = ("--lines", f"A={A}:{PORT},B={B}:{PORT}")


class Datagram(NamedTuple):
    """One on its way; ``again``: the network brings the one before once more."""

    payload: bytes
    by: str = SENDER
    to: str = A
    ports: tuple[int, int] = (5000, PORT)
    again: bool = False


Story = Iterable[Datagram | int]


def capture(story: Story) -> bytes:
    """A capture of a story; every datagram has an IP id of its own."""
    wire = Wire()
    for number, step in enumerate(story, 1):
        if isinstance(step, int):
            wire.wait(step)
        elif step.again:
            wire.again()
        else:
            wire.send(step.payload, step.by, step.to, step.ports, number & 0xFFFF)
    return wire.end()


def data(seqno: int, count: int = 1, *, to: str = A, session: str = "S1") -> Datagram:
    return Datagram(mold(session, seqno, [b"m" * 9] * count), to=to)


def beat(following: int, *, to: str = A) -> Datagram:
    return Datagram(mold(seqno=following), to=to)


def end(following: int) -> Datagram:
    return Datagram(mold(seqno=following, count=0xFFFF))


def ask(seqno: int, count: int = 1) -> Datagram:
    return Datagram(mold(seqno=seqno, count=count), CLIENT, SERVER, (40000, 6000))


def repair(seqno: int) -> Datagram:
    return Datagram(mold(seqno=seqno, messages=[b"m" * 9]), SERVER, CLIENT, (6000, 40000))


def on_both(*seqnos: int) -> list[Datagram | int]:
    return [data(n, to=line) for n in seqnos for line in (A, B)]


def voice(number: int) -> Datagram:
    return Datagram(rtp(number, 160 * number), ports=(5000, 6004))


def eobi(number: int, *, reset: bool = False) -> Datagram:
    """Eurex EOBI: the packet header, which may say that numbers begin anew."""
    head = struct.pack("<HHIIIBBB", 24, 13003, 0, number, 1, 2, 0, reset)
    return Datagram(head.ljust(24, b"\0"), ports=(5000, 59000))


def many_gaps() -> bytes:
    """Two that follow each other, more gaps than are kept, each of a message, and then one of the
    first of them."""
    packet = bytearray(ethernet(ipv4(udp(mold(messages=[b"m" * 9]), 5000, PORT), SENDER, A)))
    parts = [pcap([])]
    for number, seqno in enumerate([1, *range(2, 2 * (1 << 17) + 40, 2), 3]):
        packet[18:20] = (number & 0xFFFF).to_bytes(2, "big")  # IP id
        packet[52:60] = seqno.to_bytes(8, "big")
        head = struct.pack("<IIII", 1_795_000_000, number * 1000, len(packet), len(packet))
        parts.append(head + packet)
    return b"".join(parts)


def came_back() -> bytes:
    """A client of SoupBinTCP is sent 1 to 9, and logs in again at 15."""
    talks = soup_connection("S1", 1, 9), soup_connection("S1", 15, 3, 40_002)
    return pcap([frame for talk in talks for frame in talk.frames])


def _with(story: Story, *options: str) -> Made:
    return partial(capture, list(story)), options or MOLD


def feeds() -> dict[str, Made]:
    """FD rules."""
    said_wrong = mold(seqno=2, messages=[b"m" * 9], count=2)
    steady: list[Datagram | int] = [beat(5), 1000]
    steady *= 30
    old = [data(n) for n in range(5000, 5200)]
    new: list[Datagram | int] = [x for n in range(1, 101) for x in (data(n), 20)]
    mixed = [x for n in range(50) for x in (data(5200 + n), data(101 + n))]
    paired: list[Datagram | int] = [*on_both(*range(1, 30))]
    alone: list[Datagram | int] = [x for n in range(2, 9) for x in (data(n), 1000)]
    jittery: list[Datagram | int] = [
        voice(0),
        19,
        voice(1),
        90,
        voice(2),
        19,
        voice(3),
        90,
        voice(4),
    ]
    both = (*MOLD, *LINES)
    return {
        "FD001": _with([data(1), data(3), ask(2), repair(2), 2000, data(4)]),
        "FD002": _with([data(1), data(3), 2000, data(4)]),
        "FD003": _with([data(1), data(3), data(2), 2000, data(4), data(5)]),
        "FD004": _with([data(1), data(3), 1500, data(2), 2000, data(4), data(5)]),
        "FD005": _with([data(1), data(2), data(2)._replace(again=True), data(3)]),
        "FD006": _with([data(1), data(2), data(2), data(3)]),
        "FD007": _with([data(1), beat(3), 2000, beat(3)]),
        "FD008": _with([*(data(n) for n in range(500, 700)), *new]),
        "FD009": _with(
            [eobi(7), eobi(8), eobi(0, reset=True), eobi(1)], "--feed", f"eurex-eobi@{A}"
        ),
        "FD010": _with([*old, *new, *mixed]),
        "FD011": _with([data(1), data(2), data(1 << 40), data(3), data(4)]),
        "FD012": _with([data(1), data(2), end(3), data(3)]),
        "FD013": _with([data(1), data(2), data(1, session="S2"), data(2, session="S2")]),
        "FD014": _with([data(1), data(4), ask(2, 2), repair(2), 1500, data(5)]),
        "FD015": _with([data(1), data(2), ask(2), repair(2), data(3)]),
        "FD016": _with([data(1), data(2), repair(2), data(3)]),
        "FD017": _with([data(1), data(2), data(4)]),
        "FD018": _with([data(1), 3500, data(9), 2000, data(10)]),
        "FD019": _with([data(4), *steady, 15_000, *steady]),
        "FD020": _with(
            [voice(1), voice(2), voice(4003), 2000, voice(4004)], "--feed", f"rtp@{A}:6004"
        ),
        "FD021": (many_gaps, MOLD),
        "FD022": _with([*on_both(1, 2, 4), 2000, *on_both(5)], *both),
        "FD023": _with([*on_both(1, 2), data(3), *on_both(4), 2000, *on_both(5)], *both),
        "FD024": _with([*on_both(1), *alone], *both),
        "FD025": _with(jittery, "--feed", f"rtp@{A}:6004", "--param", "feed.max_jitter_us=1000"),
        "FD026": _with(paired, *both, "--param", "feed.max_lag_us=999"),
        "FD027": _with([data(1), Datagram(said_wrong), data(4)]),
        "FD028": _with(
            [*(data(n, to=to) for n in (1, 3) for to in (A, OTHER)), repair(2), 2000, data(4)]
        ),
        "FD029": (came_back, ("--feed", "soupbintcp@:9000")),
    }
