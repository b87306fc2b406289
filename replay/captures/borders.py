"""What was under way when a capture began and when it ended (replay/README.md 3).

Counted over the rows of streams as they go by: what came before the first message of a stream that
had begun no rule can tell, nor what became of messages that were missing when the capture ended in
the middle of their stream. Where nothing was missing then, the end costs no judgement.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seqaudit.replay.contract.report_rows import StreamRow

#: A stream goes on at the end of a capture if it was silent for no longer than so many of its
#: messages were apart on average, and for no longer than this.
SPACINGS: Final = 2
LATE_NS: Final = 1_000_000_000
#: Messages that tell how far they are apart.
FEW: Final = 5
#: Messages that end what they are part of.
ENDS: Final = frozenset({"CLOSE", "BYE", "END"})
#: What streams say of messages that were missing to the end.
_MISSING: Final = ("open", "open_at_end", "unrecovered", "no_longer_asked_for", "not_asked_for")


@dataclass(slots=True)
class Border:
    """Streams of one capture.

    Attributes:
        known: of which it can be told whether they began in it; begun: that had begun before.
        timed: of which the time of the last message is known; going_on: that went on at its end,
            and lacked messages then.
    """

    known: int = 0
    begun: int = 0
    timed: int = 0
    going_on: int = 0


class Borders:
    """Streams of all captures.

    Args:
        ends_ns: of each capture.
        from_one, endless: words in the column ``system``, see ``System``.
    """

    def __init__(
        self, ends_ns: Sequence[int | None], from_one: Container[str], endless: Container[str]
    ) -> None:
        self._ends_ns = ends_ns
        self._from_one = from_one
        self._endless = endless
        self._found: dict[int, Border] = {}

    def each(self, rows: Iterable[StreamRow]) -> Iterator[StreamRow]:
        """The rows of streams, unchanged."""
        for row in rows:
            self._count(row)
            yield row

    def of(self, capture: int) -> Border:
        """What was counted of a capture."""
        return self._found.get(capture, Border())

    def _count(self, row: StreamRow) -> None:
        border = self._found.setdefault(row["capture"], Border())
        begun = _begun_before(row, from_one=row["system"] in self._from_one)
        if begun is not None:
            border.known += 1
            border.begun += begun
        last, end = row.get("last_ns"), self._ends_ns[row["capture"]]
        if last is None or end is None or row["system"] in self._endless:
            return
        border.timed += 1
        border.going_on += _goes_on(row, last, end)


def _begun_before(row: StreamRow, *, from_one: bool) -> bool | None:
    """Whether a stream had begun before the capture; null if nobody can tell."""
    for known in (row.get("start_known"), row.get("session_start_captured")):
        if known is not None:
            return not known
    first = row["first_seqno"]
    if from_one and isinstance(first, int):
        return first > 1
    return None


def _goes_on(row: StreamRow, last_ns: int, end_ns: int) -> bool:
    first_ns, messages = row.get("first_ns"), row["messages"]
    if not any(row.get(missing) for missing in _MISSING):
        return False
    if first_ns is None or messages < FEW or ENDS & set(row.get("by_wire_kind") or ()):
        return False
    spacing = (last_ns - first_ns) // (messages - 1)
    return end_ns - last_ns <= min(SPACINGS * spacing, LATE_NS)
