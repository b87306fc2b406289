"""What frames do not tell of what a subscriber was handed: why, since when, of which figures."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seqaudit.replay.contract.worth import BEGINNING
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ranges import RangeSet
from seqaudit.replay.zenoh.reasons import FIGURES


class Untold(NamedTuple):
    """One reason.

    Attributes:
        why: in the report's words.
        since: job frame from which on nothing tells; what was handed on before is told.
        figures: of its row that are null.
        sample: the last one that is in doubt, not where one before it was brought, too; null: any.
    """

    why: str
    since: int = BEGINNING
    figures: Sequence[str] = FIGURES
    sample: int | None = None


class Doubts:
    """All of one subscriber, each reason once."""

    def __init__(self) -> None:
        self._all: dict[str, Untold] = {}

    def add(
        self,
        why: str,
        *,
        since: int = BEGINNING,
        figures: Sequence[str] = FIGURES,
        sample: int | None = None,
    ) -> None:
        """One more; of one that stands already the earlier beginning counts."""
        before = self._all.get(why)
        if before is None or since < before.since:
            self._all[why] = Untold(why, since, figures, sample)

    def join(self, others: "Doubts") -> None:
        """Those of one of several that this stands for."""
        for one in others._all.values():
            self.add(one.why, since=one.since, figures=one.figures, sample=one.sample)

    def drop(self, *reasons: str) -> None:
        """These turned out to be none."""
        for why in reasons:
            self._all.pop(why, None)

    def over(self, why: str) -> bool:
        """Whether this one stands."""
        return why in self._all

    def standing(self, handed: RangeSet, at: Mark | None) -> Iterator[Untold]:
        """Those that matter.

        Args:
            handed: what the subscriber was handed.
            at: when the last of it was; null: nothing was.
        """
        for one in self._all.values():
            late = one.since > BEGINNING and (at is None or at.frame < one.since)
            if late or (one.sample is not None and _brought(one.sample, handed)):
                continue
            yield one


def _brought(sample: int, handed: RangeSet) -> bool:
    """Whether a sample and the one before it were brought."""
    return not handed.missing(max(0, sample - 1), sample + 1)
