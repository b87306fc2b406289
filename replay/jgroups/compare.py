"""What the captures at both ends of a stream say together, of UNICAST and MCAST alike."""

from functools import partial
from typing import TYPE_CHECKING

from seqaudit.replay.contract.both_ends import BothEnds, EndsMeeting, two_ends
from seqaudit.replay.contract.engine import Detail, Opening, Replayed

if TYPE_CHECKING:
    from seqaudit.replay.jgroups.both_ends import MemberEnds


def meeting(conversation: str) -> "EndsMeeting[MemberEnds]":
    """The captures of one conversation that were taken at its members' interfaces."""
    from seqaudit.replay.jgroups import both_ends, both_ends_findings

    met = both_ends.JGroupsMeeting(conversation)
    return EndsMeeting(met.add, partial(both_ends_findings.results, met))


def ends_of(told: Opening) -> "MemberEnds | None":
    """Where an engine writes what only both ends show; null if there are not two."""
    from seqaudit.replay.jgroups.both_ends import MemberEnds

    return MemberEnds(told.capture) if two_ends(told) else None


class JGroupsEnds(BothEnds):
    """Streams of both; of UNICAST's also which copies were needless."""

    def copies_sent(self, row: Detail, replayed: Replayed) -> tuple[int | None, str | None]:
        from seqaudit.replay.jgroups.both_ends_findings import settled

        return settled(row, *replayed.extents[row["receiver_capture"]])
