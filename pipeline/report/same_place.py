"""Streams that several captures of one place show: a copy of a file, or two captures at once on one
host. Each row is true by itself; a sum of them would count what was lost there twice."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from seqaudit.replay.contract.report_rows import StreamRow
from seqaudit.replay.contract.settings import MEMBER, CaptureSettings, Vantage


class _Sighting(NamedTuple):
    """What a row says of when a stream was seen, and of how much."""

    capture: int
    first_ns: int
    last_ns: int
    messages: int
    lost_known: bool


class SamePlace:
    """Which row of a stream counts, where several captures show it at one place at one time.

    Args:
        vantages: of each capture.
        captures: settings of each; of different networks nothing is the same.
    """

    def __init__(self, vantages: Sequence[Vantage], captures: Sequence[CaptureSettings]) -> None:
        networks = [capture.network for capture in captures]
        networks += [""] * (len(vantages) - len(networks))
        self._networks = networks
        self._places = [vantage.address if vantage.kind == MEMBER else None for vantage in vantages]

    def marked(self, streams: Sequence[StreamRow]) -> Iterable[StreamRow]:
        """The same rows; those that count in another capture have ``again``."""
        if len(self._places) < 2:
            return streams
        seen: dict[tuple[str, str, str], list[_Sighting]] = {}
        for row in streams:
            first, last = row.get("first_ns"), row.get("last_ns")
            if first is not None and last is not None:
                key = self._networks[row["capture"]], row["system"], row["id"]
                lost_known = row.get("lost") is not None
                told = _Sighting(row["capture"], first, last, row.get("messages") or 0, lost_known)
                seen.setdefault(key, []).append(told)
        again: dict[tuple[int, str, str], tuple[int, bool]] = {}
        for (_, system, stream), rows in seen.items():
            for capture, other, beyond in self._again(rows):
                again[capture, system, stream] = other, beyond
        return self._with(streams, again) if again else streams

    def _again(self, rows: list[_Sighting]) -> Iterator[tuple[int, int, bool]]:
        """(capture, that whose row counts, whether it shows some of another time)."""
        rows.sort(key=lambda row: (not row.lost_known, -row.messages, row.capture))
        copies: dict[tuple[object, ...], _Sighting] = {}
        counting: dict[str, list[tuple[int, int, _Sighting]]] = {}  # first, rank; of no time twice
        for rank, row in enumerate(rows):
            place = self._places[row.capture]
            if place is None:  # of copies of one capture all is the same, to the nanosecond
                same = copies.setdefault(row[1:], row)
            else:
                same = _taken(counting.setdefault(place, []), row, rank)
            if same is not row:
                beyond = row.first_ns < same.first_ns or same.last_ns < row.last_ns
                yield row.capture, same.capture, beyond

    @staticmethod
    def _with(
        streams: Iterable[StreamRow], again: dict[tuple[int, str, str], tuple[int, bool]]
    ) -> Iterator[StreamRow]:
        for row in streams:
            other = again.get((row["capture"], row["system"], row["id"]))
            if other is not None:
                row = row.copy()
                row["again"] = {"capture": other[0], "beyond": other[1]}
            yield row


def _taken(counting: list[tuple[int, int, _Sighting]], row: _Sighting, rank: int) -> _Sighting:
    """The row of the same time that counts at a place; this one, if there is none."""
    place = bisect_right(counting, row.last_ns, key=lambda one: one[0])
    at_once = []
    while place > 0 and counting[place - 1][2].last_ns >= row.first_ns:
        place -= 1
        at_once.append(counting[place])
    if at_once:
        return min(at_once, key=lambda one: one[1])[2]
    counting.insert(place, (row.first_ns, rank, row))
    return row
