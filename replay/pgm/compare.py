"""What captures at the sender and at receivers of a TSI say together."""

from functools import partial
from typing import TYPE_CHECKING

from seqaudit.replay.contract.both_ends import BothEnds, EndsMeeting, two_ends
from seqaudit.replay.contract.engine import Opening

if TYPE_CHECKING:
    from seqaudit.replay.pgm.both_ends import TsiEnds


def meeting(conversation: str) -> "EndsMeeting[TsiEnds]":
    """The captures of one TSI that were taken at a host of its own."""
    from seqaudit.replay.pgm import both_ends, both_ends_findings

    met = both_ends.PgmMeeting(conversation)
    return EndsMeeting(met.add, partial(both_ends_findings.results, met))


def ends_of(told: Opening) -> "TsiEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    from seqaudit.replay.pgm.both_ends import TsiEnds

    return TsiEnds(told.capture, told.vantage.address) if two_ends(told) else None


class PgmEnds(BothEnds):
    """TSIs of which the captures at their sender and at a receiver are given."""

    may_leave = True
