"""Connections of TCP as frames of a capture, and what feeds send on them."""

import struct
from dataclasses import dataclass

from tests.decoders.network.builders import ethernet, ipv4

SYN, FIN, ACK = 2, 1, 16
SERVER, CLIENT = ("10.0.0.1", 9000), ("10.0.0.7", 40_001)


@dataclass
class Talk:
    """One connection; ``frames`` are its segments so far."""

    client: tuple[str, int] = CLIENT
    server: tuple[str, int] = SERVER

    def __post_init__(self) -> None:
        self.frames: list[bytes] = []
        self._seq = [1000, 70_000]  # of the client, of the server
        self._send(0, b"", SYN)
        self._send(1, b"", SYN | ACK)

    def client_says(self, data: bytes, size: int = 1460) -> None:
        self._says(0, data, size)

    def server_says(self, data: bytes, size: int = 1460) -> None:
        self._says(1, data, size)

    def end(self) -> None:
        self._send(1, b"", FIN | ACK)
        self._send(0, b"", FIN | ACK)

    def _says(self, by: int, data: bytes, size: int) -> None:
        for at in range(0, len(data), size):
            self._send(by, data[at : at + size], ACK)

    def _send(self, by: int, payload: bytes, flags: int) -> None:
        ends = (self.client, self.server)[:: 1 - 2 * by]
        seq, ack = self._seq[by], self._seq[1 - by]
        header = struct.pack(
            ">HHIIBBHHH", ends[0][1], ends[1][1], seq, ack if flags & ACK else 0, 0x50, flags,
            8192, 0, 0,
        )  # fmt: skip
        self.frames.append(ethernet(ipv4(header + payload, ends[0][0], ends[1][0], protocol=6)))
        self._seq[by] += len(payload) + bool(flags & (SYN | FIN))


def soup(kind: bytes, payload: bytes = b"") -> bytes:
    """A SoupBinTCP packet."""
    return struct.pack(">H", 1 + len(payload)) + kind + payload


def accepted(session: str, following: int) -> bytes:
    """Login Accepted: session and number are padded with spaces, on the right and on the left."""
    return soup(b"A", session.ljust(10).encode() + str(following).rjust(20).encode())


def sequenced(count: int) -> bytes:
    return b"".join(soup(b"S", bytes([65 + n % 26]) * (1 + n % 40)) for n in range(count))


def soup_connection(
    session: str, first: int, count: int, port: int = 40_001, *, size: int = 97, ends: bool = False
) -> Talk:
    """A client logs in at ``first`` and is sent ``count`` messages."""
    talk = Talk((CLIENT[0], port))
    talk.client_says(soup(b"L", b"user  password  " + session.rjust(10).encode() + b"1".rjust(20)))
    half = count // 2
    said = accepted(session, first) + sequenced(half) + soup(b"H") + soup(b"+", b"a debug packet")
    talk.server_says(said + sequenced(count - half) + soup(b"U", b"beside all numbers"), size)
    talk.client_says(soup(b"R"))
    talk.server_says(soup(b"Z") if ends else soup(b"H"))
    talk.end()
    return talk


def interleaved(channel: int, packet: bytes) -> bytes:
    """A packet in a connection of RTSP (RFC 2326 10.12)."""
    return struct.pack(">cBH", b"$", channel, len(packet)) + packet
