"""What captures at the sender and at receivers of a TSI say together."""

from typing import TYPE_CHECKING

from seqaudit.replay.contract.both_ends import BothEnds, two_ends
from seqaudit.replay.contract.engine import Opening

if TYPE_CHECKING:
    from seqaudit.replay.pgm.both_ends_findings import PgmEnds


def ends_of(told: Opening) -> "PgmEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    if not two_ends(told):
        return None
    from seqaudit.replay.pgm.both_ends_findings import PgmEnds

    return PgmEnds(told.capture, told.conversation.partition("|")[2], told.vantage.address)


class PgmComparison(BothEnds):
    """TSIs of which the captures at their sender and at a receiver are given."""

    may_leave = True
