"""What datagrams are known by that may stand in a capture twice: by itself, and in a tunnel whose
packets came in IP fragments (decoders/README.md 3).

The packet kernel finds what came twice among the packets that are whole. A packet that a tunnel
carried in fragments is put together elsewhere, so there it is held against the prints of all
datagrams in the capture. The rule is the kernel's: the same ends, IP id, length and bytes, within
2 s. Which of both came first does not matter: the one in fragments is the copy. Without an IP id
each has one at most: what was sent twice came twice in the tunnel.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from seqaudit.decoders.contract.events import Flag
from seqaudit.decoders.kernels.loader import Int64s
from seqaudit.decoders.network import packet_kernels as k
from seqaudit.decoders.network.packets import Datagrams

#: A print that is of no datagram: one that was captured in part only.
NO_PRINT: Final = 0
#: In prints of datagrams with an IP id; without one the same bytes may have been sent twice.
WITH_ID: Final = 1
#: Bytes of a datagram that its print is of: a copy with the same IP id may be cut by a snap length.
PRINT_BYTES: Final = 256
WINDOW_NS: Final = k.WINDOW_NS
#: Datagrams that wait at once; beyond it the oldest is held against what is known by then.
MOST_WAITING: Final = 65_536

_COLUMNS: Final = 3

T = TypeVar("T")


class Prints(NamedTuple):
    """Prints of datagrams of one capture, in the order of the capture.

    Attributes:
        frame: (count,) int64, of the job.
        at_ns: (count,) int64.
        told: (count,) int64; never ``NO_PRINT``.
    """

    capture: int
    carrier: str
    frame: Int64s
    at_ns: Int64s
    told: Int64s

    def packed(self) -> bytes:
        """As ``read`` takes it."""
        return np.concatenate(self[2:]).astype("<i8").tobytes()

    @classmethod
    def read(cls, capture: int, carrier: str, packed: bytes) -> "Prints":
        return cls(capture, carrier, *np.frombuffer(packed, "<i8").reshape(_COLUMNS, -1))


def prints_of(datagrams: Datagrams, rows: Int64s) -> Int64s:
    """The prints of some rows, (count,) int64."""
    hosts, data = datagrams.hosts, memoryview(datagrams.data)
    columns = (
        datagrams.source, datagrams.destination, datagrams.source_port, datagrams.destination_port,
        datagrams.ip_id, datagrams.length, datagrams.start, datagrams.stop,
    )  # fmt: skip
    found = np.zeros(len(rows), np.int64)
    for at, row in enumerate(zip(*(column[rows].tolist() for column in columns), strict=True)):
        source, destination, *ends, ip_id, length, start, stop = row
        least = min(length, PRINT_BYTES) if ip_id >= 0 else length
        if stop - start >= least:
            named = (hosts[source], hosts[destination], *ends, ip_id, length)
            head = crc32(repr(named).encode())
            whole = crc32(data[start : start + least], head)
            found[at] = (head & 0x3FFFFFFF) << 33 | whole << 1 | (WITH_ID if ip_id >= 0 else 0)
    return found


@dataclass(slots=True)
class SteppedClock:
    """Times of one capture in its order, which a step back by more than a window sets apart."""

    latest: int = 0
    _moved: int = 0

    def read(self, at_ns: int) -> int:
        """A time, moved behind the latest where the clock stepped back."""
        at_ns += self._moved
        if at_ns < self.latest - WINDOW_NS:
            self._moved += (apart := self.latest + 4 * WINDOW_NS - at_ns)
            at_ns += apart
        self.latest = max(self.latest, at_ns)
        return at_ns


class SoughtCopies(Generic[T]):
    """Datagrams that were put together, until all is known that came within 2 s of each.

    Of one capture. All comes in the order of frames, and prints are told no later than what is
    asked behind the first of them.
    """

    def __init__(self) -> None:
        self._clock = SteppedClock()
        self._ahead: deque[tuple[int, int, int]] = deque()  # prints behind what came last
        self._known: deque[tuple[int, int]] = deque()  # time and print of those before
        self._times: dict[int, list[int]] = {}  # of each of these prints
        self._asked: deque[tuple[int, int, T]] = deque()

    def tell(self, prints: Prints) -> Iterator[tuple[T, int]]:
        """More prints; yields what is decided by now, and its flags, as the kernel has them."""
        self._pass(int(prints.frame[0]))
        self._ahead.extend(zip(*(column.tolist() for column in prints[2:]), strict=True))
        yield from self._decided()

    def ask(self, frame: int, at_ns: int, told: int, one: T) -> Iterator[tuple[T, int]]:
        """A datagram that was put together; yields as ``tell`` does."""
        self._pass(frame)
        self._asked.append((self._clock.read(at_ns), told, one))
        yield from self._decided()

    def finish(self) -> Iterator[tuple[T, int]]:
        """No more is to come of this capture."""
        if self._ahead:
            self._pass(self._ahead[-1][0] + 1)
        yield from self._decided(at_most=0)

    def _pass(self, frame: int) -> None:
        """What stands before a frame, and forget what nothing can be near to any more."""
        while self._ahead and self._ahead[0][0] < frame:
            _, at_ns, told = self._ahead.popleft()
            at_ns = self._clock.read(at_ns)
            self._known.append((at_ns, told))
            self._times.setdefault(told, []).append(at_ns)
        latest = self._clock.latest
        oldest = min(latest, self._asked[0][0]) if self._asked else latest
        gone = oldest - 2 * WINDOW_NS  # no time is a window or more behind those before it
        while self._known and self._known[0][0] < gone:
            at_ns, told = self._known.popleft()
            times = self._times.get(told, [])
            if at_ns in times:
                times.remove(at_ns)
            if not times:
                self._times.pop(told, None)

    def _decided(self, at_most: int = MOST_WAITING) -> Iterator[tuple[T, int]]:
        """What nothing can be near to that is still to come; the oldest, where more wait."""
        while self._asked:
            at_ns, told, one = self._asked[0]
            if at_ns >= self._clock.latest - 2 * WINDOW_NS and len(self._asked) <= at_most:
                return
            self._asked.popleft()
            yield one, self._flags(at_ns, told)

    def _flags(self, at_ns: int, told: int) -> int:
        """Of a datagram, as the kernel has them."""
        times = self._times.get(told, [])
        near = [time for time in times if abs(time - at_ns) <= WINDOW_NS]
        if not near:
            return 0
        if told & WITH_ID:
            return int(Flag.NETWORK_DUPLICATE)
        times.remove(min(near, key=lambda time: abs(time - at_ns)))  # of one each is the copy
        return int(Flag.ALIKE) | k.ONCE_BEFORE
