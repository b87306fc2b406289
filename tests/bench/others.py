"""Captures of ordinary traffic, nothing of which seqaudit replays: what most captures are of.

``python -m tests.bench.others web 300k OUT.pcap`` writes one; without a file it times tshark (six
fields) and seqaudit on one, ``all 300k`` on one of each kind, and prints a table. Kinds: ``web``
(HTTP-like connections from SYN to FIN), ``tls`` (long ones of random bytes), ``middle`` (200 flows
caught in the middle, the rule in ring buffers), ``short`` (a connection for every few bytes),
``dns`` (UDP questions and answers), ``scan`` (connections without a byte), ``bulk`` (datagrams of
60,000 bytes in IP fragments), ``tunnels`` (web, TLS and DNS in VXLAN), ``narrow`` (the same in a
tunnel whose way is too narrow for it), ``mixed`` (none of these four) and ``merged`` (the same, of
captures that were put together piece by piece). Ethernet, IPv4, little-endian pcap with
microseconds; the same kind and size give the same bytes.
"""

import argparse
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.bench.__main__ import FIELDS
from tests.bench.__main__ import count as number_of
from tests.bench.measure import Run, read_once, run

SYN, ACK, PSH, FIN = 2, 16, 8, 1
STEP_US: Final = 20
FLOWS: Final = 200
MSS: Final = 1_400
MERGED_FRAMES: Final = 100  # of one capture in a row
_LINKS: Final = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
#: Makes the frames of one flow.
Made = Callable[[random.Random, int], Iterator[bytes]]
_PAGE: Final = b"<p>the quick brown fox jumps over the lazy dog, again and again</p>\r\n"


class Host:
    """Makes the frames of one flow; ``sequence`` numbers go on by themselves."""

    def __init__(self, chance: random.Random, number: int, port: int) -> None:
        self._ends = (
            (struct.pack(">I", 0x0A000000 + number % 60_000), 1024 + number % 60_000),
            (struct.pack(">I", 0xC0A80000 + number % 250), port),
        )
        self._next = [chance.getrandbits(32), chance.getrandbits(32)]
        self._ident = chance.getrandbits(16)

    def tcp(self, direction: int, payload: bytes = b"", flags: int = ACK) -> bytes:
        """A segment with the bytes that follow."""
        (source, port), (destination, to) = self._ends[direction], self._ends[1 - direction]
        acked = self._next[1 - direction] if flags & ACK else 0
        header = struct.pack(
            ">HHIIBBHHH", port, to, self._next[direction], acked, 0x50, flags, 65_000, 0, 0
        )
        grown = len(payload) + (flags & (SYN | FIN) > 0)
        self._next[direction] = (self._next[direction] + grown) & 0xFFFFFFFF
        return self._ip(6, source, destination, header + payload)

    def udp(self, direction: int, payload: bytes) -> bytes:
        """A datagram."""
        (source, port), (destination, to) = self._ends[direction], self._ends[1 - direction]
        header = struct.pack(">HHHH", port, to, 8 + len(payload), 0)
        return self._ip(17, source, destination, header + payload)

    def _ip(self, protocol: int, source: bytes, destination: bytes, data: bytes) -> bytes:
        self._ident = (self._ident + 1) & 0xFFFF
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(data), self._ident, 0, 64, protocol, 0)
        return _LINKS + head + source + destination + data


def web(chance: random.Random, number: int) -> Iterator[bytes]:
    """A connection with requests in text, and pages."""
    host = Host(chance, number, 80)
    yield from _opened(host)
    for page in range(chance.randrange(1, 4)):
        yield host.tcp(0, b"GET /%d HTTP/1.1\r\nHost: example.net\r\n\r\n" % page, ACK | PSH)
        body = _PAGE * chance.randrange(20, 200)
        text = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        yield from _sent(host, 1, text)
    yield from _closed(host)


def tls(chance: random.Random, number: int) -> Iterator[bytes]:
    """A connection of records that nobody can read."""
    host = Host(chance, number, 443)
    yield from _opened(host)
    yield host.tcp(0, b"\x16\x03\x01\x02\x00\x01" + chance.randbytes(511), ACK | PSH)
    yield from _sent(host, 1, b"\x16\x03\x03\x0f\xa0\x02" + chance.randbytes(3_999))
    for _ in range(chance.randrange(5, 40)):
        yield from _sent(host, chance.randrange(2), _record(chance))
    yield from _closed(host)


def middle(chance: random.Random, number: int) -> Iterator[bytes]:
    """200 segments of a connection that began before the capture, and goes on after it."""
    host = Host(chance, number, 443)
    frames = 0
    while True:
        for frame in _sent(host, chance.randrange(2), _record(chance)[chance.randrange(9) :]):
            yield frame
            frames += 1
            if frames == 200:
                return


def short(chance: random.Random, number: int) -> Iterator[bytes]:
    """A connection for a question of a few bytes."""
    host = Host(chance, number, 8080)
    yield from _opened(host)
    yield host.tcp(0, b"ping %d\n" % number, ACK | PSH)
    yield host.tcp(1, b"pong %d\n" % number, ACK | PSH)
    yield from _closed(host)


def dns(chance: random.Random, number: int) -> Iterator[bytes]:
    """A question and its answer."""
    host = Host(chance, number, 53)
    name = b"\x05host%d\x07example\x03net\x00\x00\x01\x00\x01" % (number % 10)
    ident = chance.randbytes(2)
    yield host.udp(0, ident + bytes.fromhex("01000001000000000000") + name)
    answer = bytes.fromhex("c00c0001000100000e100004") + chance.randbytes(4)
    yield host.udp(1, ident + bytes.fromhex("81800001000100000000") + name + answer)


def scan(chance: random.Random, number: int) -> Iterator[bytes]:
    """A connection that is opened, and left."""
    yield from _opened(Host(chance, number // 20, chance.randrange(1, 1 << 16)))


def bulk(chance: random.Random, number: int) -> Iterator[bytes]:
    """Large datagrams, as of a test of bandwidth."""
    host = Host(chance, number, 5001)
    for _ in range(4):
        yield from _in_parts(host.udp(0, chance.randbytes(60_000)), 1_500)


def _tunnelled(made: Made, longest: int = 65_535) -> Made:
    """The same in VXLAN.

    Args:
        longest: packet that comes in one piece.
    """

    def carried(chance: random.Random, number: int) -> Iterator[bytes]:
        ends = Host(chance, number % 8, 4789)
        for frame in made(chance, number):
            header = struct.pack(">II", 0x08000000, 7 << 8)
            yield from _in_parts(ends.udp(0, header + frame), longest)

    return carried


def _in_parts(frame: bytes, longest: int) -> Iterator[bytes]:
    """A frame, or those of the fragments of its packet."""
    if len(frame) - 14 <= longest:
        yield frame
        return
    carried, step = frame[34:], (longest - 20) // 8 * 8
    for at in range(0, len(carried), step):
        part = carried[at : at + step]
        place = at >> 3 | (0x2000 if at + step < len(carried) else 0)
        head = frame[14:16] + struct.pack(">H", 20 + len(part)) + frame[18:20]
        yield frame[:14] + head + struct.pack(">H", place) + frame[22:34] + part


_CARRIED: Final = (web, tls, dns)
_ALL: Final = (web, tls, middle, short, dns, dns)
KINDS: Final[dict[str, tuple[Made, ...]]] = {
    "web": (web,),
    "tls": (tls,),
    "middle": (middle,),
    "short": (short,),
    "dns": (dns,),
    "scan": (scan,),
    "bulk": (bulk,),
    "tunnels": tuple(_tunnelled(made) for made in _CARRIED),
    "narrow": tuple(_tunnelled(made, 1_440) for made in _CARRIED),
    "mixed": _ALL,
    "merged": _ALL,
}


def frames(kind: str, count: int, seed: int = 1) -> Iterator[bytes]:
    """So many frames of a kind, of ``FLOWS`` flows at a time; others begin as they end."""
    chance = random.Random(f"{kind} {seed}")
    made = 0
    number = 0
    live: list[Iterator[bytes]] = []
    while made < count:
        while len(live) < FLOWS:
            live.append(KINDS[kind][number % len(KINDS[kind])](chance, number))
            number += 1
        place = chance.randrange(FLOWS)
        frame = next(live[place], None)
        if frame is None:
            live[place] = live[-1]
            live.pop()
            continue
        yield frame
        made += 1


def write(kind: str, count: int, path: Path) -> None:
    """A capture of so many frames."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1))
        for place, frame in enumerate(frames(kind, count)):
            apart = place // MERGED_FRAMES % 7 * 3_600_000_000 if kind == "merged" else 0
            seconds, micros = divmod(1_700_000_000_000_000 + apart + place * STEP_US, 1_000_000)
            out.write(struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame)


def _opened(host: Host) -> Iterator[bytes]:
    yield host.tcp(0, flags=SYN)
    yield host.tcp(1, flags=SYN | ACK)
    yield host.tcp(0)


def _closed(host: Host) -> Iterator[bytes]:
    yield host.tcp(0, flags=FIN | ACK)
    yield host.tcp(1, flags=FIN | ACK)
    yield host.tcp(0)


def _sent(host: Host, direction: int, data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), MSS):
        yield host.tcp(direction, data[at : at + MSS], ACK | PSH)
        if at // MSS % 2:
            yield host.tcp(1 - direction)


def _record(chance: random.Random) -> bytes:
    size = chance.choice([60, 300, 1_200, 8_000, 16_000])
    return b"\x17\x03\x03" + size.to_bytes(2, "big") + chance.randbytes(size)


#: Of each command; the least counts, as other work on the machine makes some of them slow.
RUNS: Final = 3


def table(kinds: Sequence[str], size: int, folder: Path) -> None:
    """CPU seconds of whole commands on a capture of each kind, side by side."""
    print("| kind | frames | tshark | audit | × | info | × | audit, Spark | × | peak MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind in kinds:
        capture = folder / f"{kind}.pcap"
        write(kind, size, capture)
        fields = [word for name in FIELDS for word in ("-e", name)]
        tshark = _least(["tshark", "-n", "-r", str(capture), "-T", "fields", *fields], capture)
        row = [kind, f"{size:,}", f"{tshark.cpu_s:.1f}"]
        direct = _least(_seqaudit("audit", "direct", capture), capture)
        for done in (
            direct,
            _least(_seqaudit("info", "direct", capture), capture),
            _least(_seqaudit("audit", "spark", capture), capture),
        ):
            row += [f"{done.cpu_s:.2f}", f"{tshark.cpu_s / done.cpu_s:.1f}"]
        print(f"| {' | '.join(row)} | {direct.largest_bytes / 1e6:,.0f} |", flush=True)
        capture.unlink()


def _seqaudit(command: str, engine: str, capture: Path) -> list[str]:
    seqaudit = str(Path(sys.executable).parent / "seqaudit")
    return [seqaudit, command, "--engine", engine, "--format", "json", str(capture)]


def _least(command: Sequence[str], capture: Path) -> Run:
    """Of nothing that is replayed an audit says so, with exit code 2."""
    runs = []
    for _ in range(RUNS):
        read_once(capture)
        runs.append(run(command, keep=False))
        if runs[-1].code not in (0, 2):
            raise SystemExit(f"{' '.join(command)}: exit code {runs[-1].code}")
    return min(runs, key=lambda one: one.cpu_s)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.others", description=__doc__)
    parser.add_argument("kind", choices=["all", *sorted(KINDS)])
    parser.add_argument("count")
    parser.add_argument("out", type=Path, nargs="?")
    told = parser.parse_args()
    if told.out is not None and told.kind == "all":
        parser.error("a file is of one kind")
    if told.out is not None:
        write(told.kind, number_of(told.count), told.out)
    else:
        with tempfile.TemporaryDirectory() as name:
            wanted = sorted(KINDS) if told.kind == "all" else [told.kind]
            table(wanted, number_of(told.count), Path(name))
