"""Merges that a capture may lack."""

from typing import Final

from seqaudit.decoders.contract.events import Kind
from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.members import SeenViews
from seqaudit.replay.sequence.gaps import Mark

_MULTICAST: Final = frozenset({Kind.DATA, Kind.VIEW, Kind.HIGHEST})


class Merges:
    """When a merge may have replaced windows of the member at this point (jgroups.md 5.4: R19).

    It replaces those of senders that were never out of the view as well, where messages of theirs
    are missing. But there is one only if somebody is out of the view, which another view tells
    before; and it comes as a multicast.
    """

    def __init__(self, seen: SeenViews) -> None:
        self._seen = seen
        self._heard: Mark | None = None  # the last multicast, or a repair behind one

    def saw(self, event: Event) -> None:
        """Any event of the cluster."""
        heard = event.kind in _MULTICAST or (
            # it goes to one: a capture of what two members exchange has repairs alone
            self._heard is not None and event.kind is Kind.RETRANSMISSION
        )
        if heard and event.seqno is not None:
            self._heard = event.last_mark()

    def may_lack(self, since: Mark) -> bool:
        """May one have come since then that the capture lacks?"""
        heard = self._heard is not None and self._heard.frame > since.frame
        return not (heard and self._seen.all_are_in)
