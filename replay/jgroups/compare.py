"""What the captures at both ends of a stream say together, of UNICAST and MCAST alike."""

from typing import TYPE_CHECKING

from seqaudit.replay.contract.both_ends import BothEnds, two_ends
from seqaudit.replay.contract.engine import Opening, Replayed
from seqaudit.replay.contract.results import EndsDetail

if TYPE_CHECKING:
    from seqaudit.replay.jgroups.both_ends_findings import JGroupsEnds


def ends_of(told: Opening) -> "JGroupsEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    if not two_ends(told):
        return None
    from seqaudit.replay.jgroups.both_ends_findings import JGroupsEnds

    return JGroupsEnds(told.capture)


class JGroupsComparison(BothEnds):
    """Streams of both; of UNICAST's also which copies were needless."""

    def copies_sent(self, row: EndsDetail, replayed: Replayed) -> tuple[int | None, str | None]:
        from seqaudit.replay.jgroups.both_ends_findings import settled

        return settled(row, *replayed.extents[row["receiver_capture"]])
