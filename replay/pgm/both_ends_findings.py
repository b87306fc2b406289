"""What the report says of a TSI whose sender's and a receiver's captures are both given."""

from collections.abc import Mapping, Sequence
from typing import Final

from seqaudit.replay.contract.engine import MetEnds
from seqaudit.replay.contract.passage_rows import MISSING, TOO_MUCH, UNSENT, ends_row, passage
from seqaudit.replay.contract.report_rows import PassageKind
from seqaudit.replay.contract.results import PathDetail
from seqaudit.replay.pgm.both_ends import (
    DATA,
    NAKS,
    NCFS,
    REPAIRS,
    SPMS,
    TsiEnds,
    passed,
)
from seqaudit.replay.sequence.passages import Passed

OF_MULTICASTS: Final = "copies of multicasts are not judged by both ends"
#: Its receiver neither goes on asking for them, nor are they in its capture.
HIDES: Final = "its receiver did not go on asking for {} that it does not hold"
#: What the wire calls it.
WORDS: Final[Mapping[PassageKind, str]] = {
    DATA: "packet", REPAIRS: "repair", NCFS: "NCF", SPMS: "SPM", NAKS: "NAK"
}  # fmt: skip


class PgmEnds(TsiEnds):
    """What a capture says of a TSI together with those at its other ends."""

    def sent(self) -> list[str]:
        self.flush()
        return [self.tsi] if self.sending else []

    def met(self, stream: str, there: TsiEnds) -> MetEnds | None:
        if there.sending or there.start is None:
            return None
        there.flush()
        assert self.first is not None, "it holds packets"
        assert self.sender is not None and there.local is not None, "hosts at their interfaces"
        path = [_passage(self, there, word, own) for word, own in passed(self, there).items()]
        row = ends_row(
            self.sender, there.local, (self.capture, there.capture), path,
            self.clocks_to(there), self.first.at_ns, OF_MULTICASTS,
        )  # fmt: skip
        return MetEnds("pgm", self.first, row)

    def judges(self) -> tuple[str, Sequence[str]]:
        return "pgm", (MISSING, UNSENT)


def _passage(here: TsiEnds, there: TsiEnds, word: PassageKind, own: Passed) -> PathDetail:
    full = here.passages.full or there.passages.full
    return passage(
        word, WORDS[word], own,
        back=word == NAKS,
        numbered=word in (DATA, REPAIRS),
        hidden=there.hidden if word == DATA else 0,
        hides=HIDES,
        why=TOO_MUCH if full else None,
    )  # fmt: skip
