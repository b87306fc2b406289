"""How time grows with how many there are of what an engine keeps: ``python -m tests.bench.growth``.

A capture for each row and size, a few frames for each one of what grows; the whole command on the
direct engine, CPU seconds, the least of ``RUNS``. "Growth" is the factor to the size before, which
is half of it, of the time above that of a capture with nothing in it: 2 is linear. What is compiled
once is compiled before. Name kinds to print some only.
"""

import argparse
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seqaudit.decoders.tcp.wire import ACK, SYN
from seqaudit.decoders.zenoh.messages import zid_text
from tests.bench.measure import read_once, run
from tests.bench.others import Host
from tests.decoders.jgroups import builders as jgroups
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp
from tests.decoders.raims import builders as raims
from tests.decoders.zenoh import builders as zenoh

SIZES: Final = (8_000, 16_000, 32_000, 64_000)
#: A goal is missed where twice as many cost more than so many times as much.
MOST_TIMES: Final = 2.2
#: Of a size; other work on the machine makes some of them slow.
RUNS: Final = 2
GROUP: Final = "239.1.0.1"
MOLD: Final = ("--feed", "moldudp64@:26400")

Frames = Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Kind:
    """What grows, and what the command is told."""

    frames: Callable[[int], Frames]
    options: tuple[str, ...] = ()


def _datagram(
    payload: bytes,
    source: str = "10.77.0.1",
    destination: str = "10.77.0.2",
    ports: tuple[int, int] = (50_000, 7447),
    ident: int = 0,
) -> bytes:
    inner = ipv4(udp(payload, *ports), source, destination, ident=ident & 0xFFFF)
    return ethernet(inner)


def _address(number: int) -> str:
    return f"10.{80 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _session() -> Frames:
    yield _datagram(zenoh.init())
    yield _datagram(zenoh.opened(0))


def _zid(number: int) -> bytes:
    return bytes([1 + number % 200, 7, 7, 7, *number.to_bytes(4, "little"), *range(8, 16)])


def zenoh_sources(count: int) -> Frames:
    """Publishers behind one link, each with two samples."""
    yield from _session()
    for sn in range(2 * count):
        body = zenoh.put(sn // count, zid=_zid(sn % count))
        yield _datagram(zenoh.frame(sn, zenoh.push(body, 0, f"demo/{sn % count}")), ident=sn)


def zenoh_keys(count: int) -> Frames:
    """Keys that are declared, and a sample of each."""
    yield from _session()
    for sn in range(count):
        declared = zenoh.declare(0, sn + 1, 0, f"demo/{sn}")
        sample = zenoh.push(zenoh.put(sn), sn + 1)
        yield _datagram(zenoh.frame(sn, declared, sample), ident=sn)


def zenoh_queries(count: int) -> Frames:
    """Requests on one link, each with its answer."""
    yield from _session()
    for sn in range(count):
        asked = zenoh.request(sn, "demo/sensor/@adv/**", "_sn=3..5")
        yield _datagram(zenoh.frame(sn, asked), ident=sn)
        answer = zenoh.frame(sn, zenoh.response(sn, zenoh.put(3)), zenoh.final(sn))
        yield _datagram(answer, "10.77.0.2", "10.77.0.1", (7447, 50_000), ident=sn)


def zenoh_sessions(count: int) -> Frames:
    """Links of as many nodes."""
    for number in range(count):
        ends = _address(number), "10.77.0.2"
        yield _datagram(zenoh.init(_zid(number)), *ends)
        for sn in range(2):
            sample = zenoh.push(zenoh.put(sn, zid=_zid(number)), 0, "demo")
            yield _datagram(zenoh.frame(sn, sample), *ends)


def zenoh_subscribers(count: int) -> Frames:
    """Subscribers of one node, one after the other: each is undeclared, and asks on."""
    yield from _session()
    back = "10.77.0.2", "10.77.0.1", (7447, 50_000)
    for sn in range(count):
        begins = zenoh.declare(2, sn + 1, 0, "demo")
        yield _datagram(zenoh.frame(2 * sn, begins), *back, ident=2 * sn)
        sample = zenoh.push(zenoh.put(sn), 0, "demo")
        yield _datagram(zenoh.frame(sn, sample), ident=sn)
        ends = b"\x9e\x21\x08\x03" + zenoh.zint(sn + 1)
        key = f"demo/@adv/*/{zid_text(zenoh.ZID)}/6/**"
        asked = zenoh.request(sn, key, f"_sn={sn + 1}..", 0)
        yield _datagram(zenoh.frame(2 * sn + 1, ends, asked), *back, ident=2 * sn + 1)


def _unicast(seqno: int, conn: int, ident: int, ends: tuple[str, str] = ("a", "b")) -> bytes:
    made = jgroups.single(
        jgroups.data3(seqno, conn, first=seqno == 1), version=jgroups.V4_2_22, to=jgroups.B
    )
    return _datagram(made, "10.77.0.1", "10.77.0.2", (7800, 7800), ident=ident)


def zenoh_holes(count: int) -> Frames:
    """Bytes of one TCP connection that are acknowledged and not here, four samples between two."""
    host = Host(random.Random(1), 1, 7447)

    def batch(message: bytes) -> bytes:
        return len(message).to_bytes(2, "little") + message

    yield from (host.tcp(0, flags=SYN), host.tcp(1, flags=SYN | ACK), host.tcp(0))
    for direction, message in (
        (0, zenoh.init()), (1, zenoh.init(_zid(1), ack=True)),
        (0, zenoh.opened(0)), (1, zenoh.opened(0, ack=True)),
    ):  # fmt: skip
        yield host.tcp(direction, batch(message))
    for sn in range(5 * count):
        sample = zenoh.push(zenoh.put(sn), 0, "demo")
        frame = host.tcp(0, batch(zenoh.frame(sn, sample)))
        if sn % 5:
            yield frame
        yield host.tcp(1)


def jgroups_connections(count: int) -> Frames:
    """Connection ids of one pair of members, one after the other."""
    for number in range(2 * count):
        yield _unicast(1 + number % 2, number // 2, number)


def jgroups_members(count: int) -> Frames:
    """Members that each send two messages to the group."""
    for number in range(2 * count):
        member = f"00000000-0000-0001-8000-{number % count:012x}"
        made = jgroups.single(jgroups.msg4(1 + number // count), by=member)
        yield _datagram(made, _address(number % count), "228.8.8.8", (45_588, 45_588), number)


def pgm_sessions(count: int) -> Frames:
    """PGM senders, each with two packets."""
    for number in range(2 * count):
        sent = raims.odata(number // count, raims.data(f"A.B.{number % count}", 1 + number))
        own = sent[:8] + (number % count).to_bytes(6, "big") + sent[14:]
        yield _datagram(own, "10.77.0.1", "239.77.0.1", (50_000, raims.PORT), number)


def _mold(number: int, session: int = 0, group: str = GROUP, ident: int = 0) -> bytes:
    payload = f"{session:010d}".encode() + struct.pack(">QH", number, 1) + b"\0\4abcd"
    return _datagram(payload, "10.1.0.1", group, (9_000, 26_400), ident)


def feed_sessions(count: int) -> Frames:
    """Sessions of one feed, one after the other."""
    for number in range(2 * count):
        yield _mold(1 + number % 2, number // 2, ident=number)


def feed_flows(count: int) -> Frames:
    """Groups of one feed."""
    for number in range(2 * count):
        at = number % count
        yield _mold(1 + number // count, 0, f"239.{1 + (at >> 16)}.{at >> 8 & 255}.{at & 255}")


def feed_gaps(count: int) -> Frames:
    """Every other number of one stream is missing."""
    for number in range(count):
        yield _mold(1 + 2 * number, ident=number)


def feed_requests(count: int) -> Frames:
    """As many gaps, each asked for, and its repair."""
    for number in range(count):
        yield _mold(1 + 2 * number, ident=number)
        if number:
            asked = f"{0:010d}".encode() + struct.pack(">QH", 2 * number, 1)
            yield _datagram(asked, "10.1.0.9", "10.1.0.1", (40_000, 26_500), number)
            again = f"{0:010d}".encode() + struct.pack(">QH", 2 * number, 1) + b"\0\4abcd"
            yield _datagram(again, "10.1.0.1", "10.1.0.9", (26_500, 40_000), number)


KINDS: Final[dict[str, Kind]] = {
    "zenoh-sources": Kind(zenoh_sources),
    "zenoh-keys": Kind(zenoh_keys),
    "zenoh-queries": Kind(zenoh_queries),
    "zenoh-sessions": Kind(zenoh_sessions),
    "zenoh-holes": Kind(zenoh_holes),
    "zenoh-subscribers": Kind(zenoh_subscribers),
    "jgroups-connections": Kind(jgroups_connections),
    "jgroups-members": Kind(jgroups_members),
    "pgm-sessions": Kind(pgm_sessions),
    "feed-sessions": Kind(feed_sessions, MOLD),
    "feed-flows": Kind(feed_flows, MOLD),
    "feed-gaps": Kind(feed_gaps, MOLD),
    "feed-requests": Kind(feed_requests, ("--feed", "moldudp64@:26400,server=10.1.0.1:26500")),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; 1 if anything grows faster than it may."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help=", ".join(KINDS))
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    given = parser.parse_args(arguments)
    print("| what grows | how many | CPU s | growth | peak MB |\n|---|---:|---:|---:|---:|")
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        capture = Path(name) / "growth.pcap"
        for kind in given.kinds or KINDS:
            options = KINDS[kind].options
            _write(capture, list(KINDS[kind].frames(max(given.sizes))))
            _measured(capture, options, 1)
            _write(capture, [_datagram(b"none")])
            start_s, _ = _measured(capture, options)
            before: float | None = None
            for size in given.sizes:
                _write(capture, list(KINDS[kind].frames(size)))
                cpu_s, peak = _measured(capture, options)
                own = max(cpu_s - start_s, 0.05)
                times_as_much = "" if before is None else f"{own / before:.2f}"
                wrong += before is not None and own > MOST_TIMES * before
                before = own
                shown = f"| {kind} | {size:,} | {cpu_s:.2f} | {times_as_much} | {peak / 1e6:,.0f} |"
                print(shown, flush=True)
    return int(bool(wrong))


def _write(capture: Path, frames: list[bytes]) -> None:
    """10 us apart: nothing is given up for having waited long."""
    first = 1_795_000_000_000_000_000
    times = range(first, first + 10_000 * len(frames), 10_000)
    capture.write_bytes(pcap(frames, times_ns=times))


def _measured(capture: Path, options: Sequence[str], runs: int = RUNS) -> tuple[float, int]:
    """CPU seconds and the most that a process held."""
    seqaudit = str(Path(sys.executable).parent / "seqaudit")
    command = [seqaudit, "audit", "--format", "json", "--exit-zero", "--engine", "direct"]
    read_once(capture)
    done = [run([*command, *options, str(capture)], keep=False) for _ in range(runs)]
    if wrong := [each.code for each in done if each.code not in (0, 2)]:
        raise SystemExit(f"{' '.join(command)}: exit code {wrong[0]}")
    return min(each.cpu_s for each in done), min(each.largest_bytes for each in done)


if __name__ == "__main__":
    sys.exit(main())
