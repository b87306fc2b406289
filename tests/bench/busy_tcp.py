"""A raims capture over TCP made busy: its data messages again and again, each in a segment.

``python -m tests.bench.busy_tcp mesh-plain-1/A.pcap 60 OUT.pcap`` writes the capture without its
end, then its data messages in their order until there are so many MB, with an ACK of the other end
for every second one, as the capture has it. Ethernet, IPv4, little-endian pcap with nanoseconds.
``python -m tests.bench.decode OUT.pcap`` decodes it.
"""

import argparse
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seqaudit.decoders.raims.messages import SHORTEST, TYPE_MCAST, is_message, message_size
from seqaudit.decoders.tcp.wire import ACK, FIN, MASK, RST, SYN

PCAP_HEADER_BYTES: Final = 24
IP: Final = 14
STEP_NS: Final = 10_000

Ends = tuple[bytes, bytes]  # address and port of source and destination


@dataclass(slots=True)
class Frame:
    """One frame with a TCP segment."""

    at_ns: int
    data: bytearray

    @property
    def tcp(self) -> int:
        return IP + (self.data[IP] & 15) * 4

    @property
    def payload(self) -> bytes:
        stop = IP + int.from_bytes(self.data[IP + 2 : IP + 4], "big")
        return bytes(self.data[self.tcp + (self.data[self.tcp + 12] >> 4) * 4 : stop])

    @property
    def flags(self) -> int:
        return self.data[self.tcp + 13]

    @property
    def ends(self) -> Ends:
        host, port = IP + 12, self.tcp
        source = self.data[host : host + 4] + self.data[port : port + 2]
        destination = self.data[host + 4 : host + 8] + self.data[port + 2 : port + 4]
        return bytes(source), bytes(destination)

    @property
    def after(self) -> int:
        """The sequence number behind it."""
        (seq,) = struct.unpack_from(">I", self.data, self.tcp + 4)
        return int(seq + len(self.payload) + (self.flags & SYN > 0)) & MASK

    def record(self) -> bytes:
        size = len(self.data)
        return struct.pack("<IIII", *divmod(self.at_ns, 10**9), size, size) + self.data

    def again(self, at_ns: int, seq: int, ack: int) -> "Frame":
        """The same with other numbers."""
        copy = Frame(at_ns, bytearray(self.data))
        struct.pack_into(">II", copy.data, self.tcp + 4, seq, ack)
        return copy


def read(content: bytes) -> Iterator[Frame]:
    """The frames with TCP, but those that end a connection."""
    at = PCAP_HEADER_BYTES
    while at < len(content):
        second, fraction, size, _ = struct.unpack_from("<IIII", content, at)
        frame = Frame(second * 10**9 + fraction, bytearray(content[at + 16 : at + 16 + size]))
        at += 16 + size
        is_tcp = size >= IP + 40 and frame.data[IP] >> 4 == 4 and frame.data[IP + 9] == 6
        if is_tcp and not frame.flags & (FIN | RST):
            yield frame


def is_data(payload: bytes) -> bool:
    """Whether it is one data message of raims."""
    return (
        len(payload) >= SHORTEST
        and is_message(payload)
        and payload[0] >> 5 & 3 == TYPE_MCAST
        and message_size(payload) == len(payload)
    )


def busy(content: bytes, size: int) -> Iterator[bytes]:
    """The capture, made busy, record by record."""
    frames = list(read(content))
    following = {frame.ends: frame.after for frame in frames}
    pure = {frame.ends: frame for frame in frames if frame.flags == ACK and not frame.payload}
    data = [frame for frame in frames if is_data(frame.payload)]
    assert data, "no data messages, each in a segment of its own"
    yield content[:PCAP_HEADER_BYTES]
    for frame in frames:
        yield frame.record()
    at_ns, written, number = frames[-1].at_ns, 0, 0
    while written < size:
        for frame in data:
            back = frame.ends[::-1]
            at_ns += STEP_NS
            number += 1
            found = [frame.again(at_ns, following[frame.ends], following.get(back, 0))]
            following[frame.ends] = found[0].after
            if number % 2 == 0 and back in pure:
                answer = pure[back].again(at_ns + 1, following[back], following[frame.ends])
                found.append(answer)
            for one in found:
                written += len(one.data)
                yield one.record()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.busy_tcp", description=__doc__)
    parser.add_argument("source", type=Path, help="a raims capture over TCP, pcap")
    parser.add_argument("megabytes", type=float)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    with given.out.open("wb") as file:
        for record in busy(given.source.read_bytes(), int(given.megabytes * 1e6)):
            file.write(record)


if __name__ == "__main__":
    main()
