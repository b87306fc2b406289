"""Pieces of fragmented messages that made none at their receiver (zenoh.md 8.3, 8.5)."""

from dataclasses import dataclass
from typing import Final

from seqaudit.decoders.contract.zenoh_detail import Detail

#: Pieces that one counter remembers.
MAX_UNTAKEN: Final = 4_096


@dataclass(slots=True)
class PieceRun:
    """Pieces [first, stop) of one message.

    Attributes:
        begins, ends: its First is among them, and its final one.
        told: what the message is, as its First says; null: that is too short.
    """

    first: int
    stop: int
    begins: bool
    ends: bool
    told: tuple[str, Detail] | None


class UntakenPieces:
    """Pieces that the receiver threw away, as their sn was not newer, or ignored, as one before
    them was missing.

    Their message came if all of them did, in whatever order; who repeats one of its pieces, or
    its first, repeats no message. Each piece is told apart by its unwrapped sn, and counts once.
    """

    def __init__(self) -> None:
        self._sns: set[int] = set()
        self._by_first: dict[int, PieceRun] = {}
        self._by_stop: dict[int, PieceRun] = {}

    def add(
        self, sn: int, *, begins: bool, ends: bool, told: tuple[str, Detail] | None
    ) -> PieceRun | None:
        """One more piece; the message that it completes, if it does (H17)."""
        if sn in self._sns:
            return None
        self._sns.add(sn)
        run = PieceRun(sn, sn + 1, begins, ends, told)
        before = None if begins else self._by_stop.get(sn)
        if before is not None and not before.ends:
            self._remove(before)
            run.first, run.begins, run.told = before.first, before.begins, before.told
        behind = None if ends else self._by_first.get(sn + 1)
        if behind is not None and not behind.begins:
            self._remove(behind)
            run.stop, run.ends = behind.stop, behind.ends
        if run.begins and run.ends:
            self._sns.difference_update(range(run.first, run.stop))
            return run
        self._by_first[run.first] = self._by_stop[run.stop] = run
        while len(self._sns) > MAX_UNTAKEN:  # the oldest
            run = next(iter(self._by_first.values()))
            self._remove(run)
            self._sns.difference_update(range(run.first, run.stop))
        return None

    def _remove(self, run: PieceRun) -> None:
        del self._by_first[run.first], self._by_stop[run.stop]
