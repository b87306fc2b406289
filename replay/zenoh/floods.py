"""Datagrams that may have found the buffer of their receiver's socket full.

No frame says that a host dropped a datagram there. It does so when those that its node has not read
fill the buffer, which few large ones do, and some hundreds of small ones. All sessions of a node
that listens share a socket.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from seqaudit.decoders.contract.zenoh_detail import FULL, LARGE, ROOM, TIGHT
from seqaudit.replay.contract.event import Event
from seqaudit.replay.contract.results import Row
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.zenoh.lives import LAG_NS
from seqaudit.replay.zenoh.reasons import FIGURES, FLOODED

#: A large datagram takes up to so many times its size of it.
TAKES: Final = 3
MAX_KEPT: Final = 100_000


class Floods:
    """At one endpoint of UDP."""

    def __init__(self) -> None:
        self._lately: deque[tuple[int, int]] = deque()  # large ones: when, and what they take
        self._unread = 0
        self._full = _Overflows()  # when it may have been full
        self._tight = _Overflows()  # when one came for which there may have been no room left

    def came(self, event: Event) -> None:
        """A message, or several of one datagram; or a run of frames, each in a datagram."""
        if event.size >= LARGE:
            if event.frame == event.last_mark().frame:
                self._came(event.at_ns, TAKES * event.size)
        elif event.wire_kind in ("Frame", "Fragment") and event.detail is not None:
            crowd = event.details().get("crowd", 0)
            if crowd >= TIGHT:
                self._tight.note(event.at_ns, event.last_mark().at_ns)
            if crowd >= FULL:
                self._full.note(event.at_ns, event.last_mark().at_ns)

    def _came(self, at_ns: int, takes: int) -> None:
        while self._lately and at_ns - self._lately[0][0] > LAG_NS:
            self._unread -= self._lately.popleft()[1]
        if self._unread > ROOM:
            self._full.note(at_ns, at_ns)
        self._lately.append((at_ns, takes))
        self._unread += takes
        if self._unread > ROOM:
            self._tight.note(at_ns, at_ns)

    def full(self, first: Mark | None, last: Mark | None) -> bool:
        """Whether what came between two moments, or one of it, may have been dropped; null: nothing
        came."""
        return self._full.meet(first, last)

    def tight(self, first: Mark | None, last: Mark | None) -> bool:
        """The same, if a datagram for which there is not all the room is dropped as well."""
        return self._tight.meet(first, last)

    @property
    def span_ns(self) -> list[int] | None:
        """From when to when the buffer may have been full; null: it never was."""
        return self._full.span_ns


class _Overflows:
    """From when to when, with ``LAG_NS`` behind each; the same however rows are cut, as one has no
    pause that is longer."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def note(self, first_ns: int, last_ns: int) -> None:
        if self._ends and first_ns <= self._ends[-1]:
            self._begins[-1] = min(self._begins[-1], first_ns)
            self._ends[-1] = max(self._ends[-1], last_ns + LAG_NS)
        elif len(self._ends) < MAX_KEPT:
            self._begins.append(first_ns)
            self._ends.append(last_ns + LAG_NS)

    def meet(self, first: Mark | None, last: Mark | None) -> bool:
        if first is None or last is None:
            return False
        place = bisect_left(self._ends, first.at_ns)
        return place < len(self._ends) and self._begins[place] <= last.at_ns

    @property
    def span_ns(self) -> list[int] | None:
        return [self._begins[0], self._ends[-1]] if self._ends else None


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
