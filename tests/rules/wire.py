"""Datagrams one after another as a capture file."""

from collections.abc import Callable

from seqaudit.decoders.contract.events import Flag
from tests.decoders.network.builders import ethernet, ipv4, pcap, udp

#: What makes a capture, and the options of its audit.
Made = tuple[Callable[[], bytes], tuple[str, ...]]

MS = 1_000_000


class Wire:
    """A capture that is being written: each datagram 1 ms after the one before."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._times: list[int] = []
        self._now = 0

    def wait(self, ms: int) -> None:
        """Nothing is captured for so long."""
        self._now += ms * MS

    def send(
        self, payload: bytes, by: str, to: str, ports: tuple[int, int], ident: int | None = None
    ) -> None:
        """A UDP datagram; without ``ident`` an atomic one, whose id says nothing."""
        self._now += MS
        datagram = udp(payload, *ports, checksum=0)
        packet = ipv4(datagram, by, to, ident=ident or 0, dont_fragment=ident is None)
        self._frames.append(ethernet(packet))
        self._times.append(self._now)

    def at(self, at_ns: int) -> None:
        """What is sent next is captured at this time."""
        self._now = at_ns - MS

    def again(self) -> None:
        """The network brings the last datagram once more."""
        self._now += MS
        self._frames.append(self._frames[-1])
        self._times.append(self._now)

    def end(self) -> bytes:
        """The file; its last frame is of somebody else, so that pauses at the end count."""
        self.send(b"?", "192.0.2.1", "192.0.2.2", (9, 9))
        return pcap(self._frames, times_ns=self._times)


def is_repeat(flags: int) -> bool:
    """Whether the network had brought a datagram before."""
    return bool(flags & Flag.NETWORK_DUPLICATE)
