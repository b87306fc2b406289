"""A capture of raims publishers at a subscriber: fresh messages in order, nothing is lost.

``python -m tests.bench.raims FILE --messages 1M`` writes it. Publishers number, stamp and bundle
their messages as raims does (raims.md 2, 8): a time frame ends when it is older than 10 s, the
clock ticks each 40 ms, a packet holds what fits into 1428 bytes, SPMs come each 5 s and after
pauses. So the audit must find every message, and nothing else.
"""

import argparse
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.__main__ import count
from tests.decoders.raims.builders import caba, data, odata, spm

START_NS: Final = 1_795_214_460_000_000_000
TICK_NS: Final = 40_000_000
WINDOW_NS: Final = 10_000_000_000
FRAME_SHIFT: Final = 33
BASE_BITS: Final = 35
TSDU_BYTES: Final = 1428
#: After data without any more (raims.md 2); then one each 5 s.
PAUSES_NS: Final = (10_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000)
AMBIENT_NS: Final = 5_000_000_000
BEAT_NS: Final = 10_000_000_000
#: Messages wait so long for others to share their packet.
QUEUED_NS: Final = 1_000_000
SECOND_NS: Final = 1_000_000_000
OBSERVER: Final = "10.77.0.100"


#: Time in ns, IP address of the sender, PGM packet.
Sent = tuple[int, bytes, bytes]


@dataclass(frozen=True, slots=True)
class Shape:
    """What to write: ``rate`` messages a second of all publishers together."""

    messages: int
    subjects: int = 1000
    publishers: int = 1
    rate: int = 50_000
    seed: int = 1


class Publisher:
    """One daemon: its packets in the order in which it sends them."""

    def __init__(self, number: int, shape: Shape) -> None:
        self.address = bytes([10, 77, 0, 1 + number])
        self.bridge = bytes([number + 1]) * 16
        self._gsi = bytes([number + 1]) * 6
        self._sqn = 0
        self._spm = 0
        self._queue: list[bytes] = []
        self._queued_ns = START_NS  # the first of them
        self._sent_ns = START_NS
        self._told_ns = START_NS  # the last SPM
        self._subjects = [f"_7500.BENCH.P{number}.S{n}" for n in range(shape.subjects)]
        self._last: dict[int, int] = {}
        self._parts: dict[int, tuple[bytes, bytes, bytes]] = {}

    def until(self, now_ns: int) -> Iterator[Sent]:
        """What it sends before a time: the queue after a while, then SPMs."""
        if self._queue and now_ns - self._queued_ns >= QUEUED_NS:
            yield self.flushed(self._queued_ns + QUEUED_NS)
        pauses = (self._sent_ns + pause for pause in PAUSES_NS)
        for at_ns in (*pauses, self._told_ns + AMBIENT_NS):
            if self._told_ns < at_ns < now_ns:
                self._told_ns = at_ns
                self._spm += 1
                body = spm(self._spm, max(0, self._sqn - 4000), self._sqn - 1)
                yield at_ns, self.address, self._own(body)

    def hello(self, now_ns: int, word: str) -> Iterator[Sent]:
        """A heartbeat, or the first."""
        yield from self.sent(caba(
            f"_X.{word}", ("user", f"pub{self.address[3]}"), ("seqno", 1 + now_ns // BEAT_NS),
            ("time", now_ns), ("start", START_NS), ("interval", 10), ("converge", START_NS),
            sort=3, options=16, path=1 if word == "HELO" else 2, bridge=self.bridge,
        ), now_ns)  # fmt: skip

    def sent(self, message: bytes, now_ns: int) -> Iterator[Sent]:
        """A message, with others in one packet while there is room."""
        yield from self.until(now_ns)
        if sum(map(len, self._queue)) + len(message) > TSDU_BYTES:
            yield self.flushed(now_ns)
        if not self._queue:
            self._queued_ns = now_ns
        self._queue.append(message)

    def flushed(self, now_ns: int) -> Sent:
        """What waits, as one packet."""
        made = odata(self._sqn, *self._queue, trail=max(0, self._sqn - 4000))
        self._sqn += 1
        self._sent_ns = now_ns
        self._queue = []
        return now_ns, self.address, self._own(made)

    def message(self, subject: int, now_ns: int) -> bytes:
        """The next message of a subject (raims.md 8)."""
        now_ns -= now_ns % TICK_NS
        last = self._last.get(subject)
        fresh = (now_ns >> FRAME_SHIFT << BASE_BITS) + 1
        chain = None
        if last is None:
            seqno = fresh
        elif last >> BASE_BITS <= now_ns - WINDOW_NS >> FRAME_SHIFT:
            seqno, chain = fresh, last
        else:
            seqno = last + 1
        self._last[subject] = seqno
        if chain is not None:
            return data(
                self._subjects[subject], seqno, time=now_ns, chain=chain, bridge=self.bridge
            )
        if subject not in self._parts:
            mark = 0x7172737475767778
            made = data(self._subjects[subject], mark, time=mark + 1, bridge=self.bridge)
            head, rest = made.split(mark.to_bytes(8, "big"))
            middle, tail = rest.split((mark + 1).to_bytes(8, "big"))
            self._parts[subject] = (head, middle, tail)
        head, middle, tail = self._parts[subject]
        return head + seqno.to_bytes(8, "big") + middle + now_ns.to_bytes(8, "big") + tail

    def _own(self, packet: bytes) -> bytes:
        return packet[:8] + self._gsi + packet[14:]


def packets(shape: Shape) -> Iterator[Sent]:
    """All that is sent, of each publisher in order."""
    chosen = random.Random(shape.seed)
    publishers = [Publisher(number, shape) for number in range(shape.publishers)]
    observer = Publisher(99, shape)
    everybody = (observer, *publishers)
    for sender in everybody:
        yield from sender.hello(START_NS, "HELO")
    pattern = caba(
        "_P.PSUB._7500.", ("pattern", "_7500.>"), ("seqno", 1), ("fmt", 0), ("ref_cnt", 1),
        sort=2, bridge=observer.bridge,
    )  # fmt: skip
    yield from observer.sent(pattern, START_NS)
    beat_ns = START_NS
    for number in range(shape.messages):
        now_ns = START_NS + 100_000_000 + number * 1_000_000_000 // shape.rate
        if now_ns - beat_ns >= BEAT_NS:
            beat_ns = now_ns
            for sender in everybody:
                yield from sender.hello(now_ns, "HB")
        sender = publishers[chosen.randrange(shape.publishers)]
        yield from sender.sent(sender.message(chosen.randrange(shape.subjects), now_ns), now_ns)
    for sender in everybody:
        yield from sender.until(now_ns + SECOND_NS)


def write(shape: Shape, path: Path) -> None:
    """The capture, times in order."""
    ethernet = bytes.fromhex("01005e4d000102000a4d00010800")
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for number, (now_ns, source, body) in enumerate(sorted(packets(shape), key=_time)):
            size = len(body) + 28
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, number & 0xFFFF, 0, 16, 17, 0,
                             source, bytes([239, 77, 0, 1]))  # fmt: skip
            udp = struct.pack(">HHHH", 50_000, 7239, len(body) + 8, 0)
            frame = ethernet + ip + udp + body
            out.write(struct.pack("<IIII", *divmod(now_ns, 10**9), len(frame), len(frame)))
            out.write(frame)


def _time(packet: Sent) -> int:
    return packet[0]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.raims", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--messages", type=count, default=500_000)
    parser.add_argument("--subjects", type=int, default=1000)
    parser.add_argument("--publishers", type=int, default=1)
    parser.add_argument("--rate", type=int, default=50_000, help="messages a second")
    given = parser.parse_args()
    write(Shape(given.messages, given.subjects, given.publishers, given.rate), given.file)


if __name__ == "__main__":
    main()
