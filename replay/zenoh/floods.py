"""Datagrams that may have found the buffer of their receiver's socket full.

No frame says that a host dropped a datagram there. It does so when those that its node has not read
fill the buffer, which few large ones do, and some hundreds of small ones. All sessions of a node
that listens share a socket.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from seqaudit.decoders.contract.zenoh_detail import LARGE
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import Row
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.reasons import FIGURES, FLOODED

#: Bytes of memory that Linux gives a socket.
ROOM: Final = 212_992
#: A large datagram takes up to so many times its size of it.
TAKES: Final = 3
#: Bytes of memory that a small one takes at least: its description and the smallest buffer; and as
#: a rule at most, in a buffer of its network card for any frame.
LEAST: Final = 768
MOST: Final = 2_304
MAX_KEPT: Final = 100_000


class Floods:
    """At one endpoint of UDP."""

    def __init__(self) -> None:
        self._lately: deque[tuple[int, int]] = deque()  # large ones: when, and what they take
        self._unread = 0
        self._full: list[int] = []  # when it may have been full, never falling
        self._tight: list[int] = []  # when one came for which there may have been no room left

    def came(self, event: Event) -> None:
        """A message, or several of one datagram; or a run of frames, each in a datagram."""
        if event.size >= LARGE:
            if event.frame == event.last_mark().frame:
                self._came(event.at_ns, TAKES * event.size)
        elif event.wire_kind in ("Frame", "Fragment") and event.detail is not None:
            crowd = event.details().get("crowd", 0)
            for at_ns in (event.at_ns, event.last_mark().at_ns):
                _note(self._full, at_ns, filled=(crowd - 1) * LEAST > ROOM)
                _note(self._tight, at_ns, filled=crowd * MOST > ROOM)

    def _came(self, at_ns: int, takes: int) -> None:
        while self._lately and at_ns - self._lately[0][0] > LAG_NS:
            self._unread -= self._lately.popleft()[1]
        _note(self._full, at_ns, filled=self._unread > ROOM)
        self._lately.append((at_ns, takes))
        self._unread += takes
        _note(self._tight, at_ns, filled=self._unread > ROOM)

    def full(self, first: Mark | None, last: Mark | None) -> bool:
        """Whether what came between two moments, or one of it, may have been dropped; null: nothing
        came."""
        return _meet(self._full, first, last)

    def tight(self, first: Mark | None, last: Mark | None) -> bool:
        """The same, if a datagram for which there is not all the room is dropped as well."""
        return _meet(self._tight, first, last)

    @property
    def span_ns(self) -> list[int] | None:
        """From when to when the buffer may have been full; null: it never was."""
        return [self._full[0], self._full[-1] + LAG_NS] if self._full else None


def _note(times: list[int], at_ns: int, *, filled: bool) -> None:
    if filled and len(times) < MAX_KEPT:
        times.append(max(at_ns, times[-1] if times else 0))


def _meet(times: list[int], first: Mark | None, last: Mark | None) -> bool:
    if first is None or last is None:
        return False
    place = bisect_left(times, first.at_ns - LAG_NS)
    return place < len(times) and times[place] <= last.at_ns


def at_others(
    rows: Mapping[tuple[int, str], Row],
) -> Iterator[tuple[tuple[int, str], Row]]:
    """Figures that are null, as datagrams of other sessions may have filled the socket by which the
    samples came.

    Args:
        rows: (capture, stream) to its figures.
    """
    spans: dict[tuple[int, str], dict[str, list[int]]] = {}  # by receiver, of its sessions
    for (capture, _), row in rows.items():
        if row.get("kind") == "samples" and row["flooded_ns"]:
            at = spans.setdefault((capture, row["receiver_endpoint"]), {})
            at[row["leg"]] = row["flooded_ns"]
    for place, row in rows.items():
        if row.get("kind") != "samples" or row["delivered"] is None:
            continue
        there = spans.get((place[0], row["receiver_endpoint"]), {})
        if any(
            leg != row["leg"] and begin <= row["last_ns"] and row["first_ns"] <= end
            for leg, (begin, end) in there.items()
        ):
            unknown = row["unknown"] | dict.fromkeys(FIGURES, FLOODED)
            yield place, dict.fromkeys(FIGURES) | {"unknown": unknown}
