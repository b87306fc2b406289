"""What the report says of a TSI whose sender's and a receiver's captures are both given."""

from collections.abc import Iterator
from typing import Final

from seqaudit.replay.contract.passage_rows import TOO_MUCH, PathRow, ends_row, judged_at, passage
from seqaudit.replay.contract.results import BOTH_ENDS, Result, Row
from seqaudit.replay.pgm.both_ends import (
    DATA,
    NAKS,
    NCFS,
    REPAIRS,
    SPMS,
    PgmMeeting,
    TsiEnds,
    passed,
)
from seqaudit.replay.sequence.passages import Passed

OF_MULTICASTS: Final = "copies of multicasts are not judged by both ends"
#: Its receiver neither goes on asking for them, nor are they in its capture.
HIDES: Final = "its receiver did not go on asking for {} that it does not hold"
#: What the wire calls it.
WORDS: Final = {
    DATA: "packet", REPAIRS: "repair", NCFS: "NCF", SPMS: "SPM", NAKS: "NAK"
}  # fmt: skip


def results(meeting: PgmMeeting) -> Iterator[Result]:
    """A row for every receiver with both ends, and where that was judged."""
    tsi = meeting.conversation.partition("|")[2]
    judged: set[int] = set()
    for here, there in meeting.met():
        judged |= {here.capture, there.capture}
        first = here.first
        assert first is not None, "it holds packets"
        yield Result(
            here.capture, BOTH_ENDS, meeting.conversation, "pgm", _row(here, there), tsi,
            first.frame, first.at_ns,
        )  # fmt: skip
    for ends in meeting.captures:
        yield from judged_at(ends.capture, judged, meeting.conversation, "pgm")


def _row(here: TsiEnds, there: TsiEnds) -> Row:
    clocks = here.clocks_to(there)
    offset = None if here.first is None else clocks.at(here.first.at_ns)
    path = [_passage(here, there, word, own) for word, own in passed(here, there).items()]
    captures = here.capture, there.capture
    row = ends_row(here.sender, there.local, captures, path, offset, clocks.matched())
    return row | {"why": OF_MULTICASTS}


def _passage(here: TsiEnds, there: TsiEnds, word: str, own: Passed) -> PathRow:
    full = here.passages.full or there.passages.full
    return passage(
        word, WORDS[word], own,
        back=word == NAKS,
        numbered=word in (DATA, REPAIRS),
        hidden=there.hidden if word == DATA else 0,
        hides=HIDES,
        why=TOO_MUCH if full else None,
    )  # fmt: skip
