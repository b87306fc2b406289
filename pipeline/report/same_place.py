"""Streams that several captures of one place show: a copy of a file, or two captures at once on one
host. Each row is true by itself; a sum of them would count what was lost there twice."""

from collections.abc import Iterable, Iterator, Sequence

from seqaudit.replay.contract.report_rows import StreamRow
from seqaudit.replay.contract.settings import MEMBER, CaptureSettings, Vantage

#: Rows of a stream: capture, when it was seen first and last, messages, and whether loss is known.
_Seen = tuple[int, int, int, int, bool]


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
        seen: dict[tuple[str, str, str], list[_Seen]] = {}
        for row in streams:
            first, last = row.get("first_ns"), row.get("last_ns")
            if first is not None and last is not None:
                key = self._networks[row["capture"]], row["system"], row["id"]
                told = row["capture"], first, last, row.get("messages") or 0
                seen.setdefault(key, []).append((*told, row.get("lost") is not None))
        again: dict[tuple[int, str, str], tuple[int, bool]] = {}
        for (_, system, stream), rows in seen.items():
            for capture, other, beyond in self._again(rows):
                again[capture, system, stream] = other, beyond
        return self._with(streams, again) if again else streams

    def _again(self, rows: list[_Seen]) -> Iterator[tuple[int, int, bool]]:
        """(capture, that whose row counts, whether it shows some of another time)."""
        counting: list[_Seen] = []
        for row in sorted(rows, key=lambda row: (not row[4], -row[3], row[0])):
            same = next((one for one in counting if self._is_one_place(row, one)), None)
            if same is None:
                counting.append(row)
            else:
                yield row[0], same[0], row[1] < same[1] or same[2] < row[2]

    def _is_one_place(self, one: _Seen, other: _Seen) -> bool:
        place = self._places[one[0]]
        if place != self._places[other[0]]:
            return False
        if place is None:  # of copies of one capture all is the same, to the nanosecond
            return one[1:] == other[1:]
        return one[1] <= other[2] and other[1] <= one[2]

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
