"""Copies that came though their receiver had acknowledged them (UC005, MC004)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from seqaudit.replay.contract.event import Event
from seqaudit.replay.jgroups.evidence import in_order
from seqaudit.replay.sequence.elapsed import Elapsed
from seqaudit.replay.sequence.gaps import Mark
from seqaudit.replay.sequence.ip_ids import sent_later
from seqaudit.replay.sequence.notes import Note
from seqaudit.replay.sequence.ranges import Range, RangeSet


class OwnLevel(NamedTuple):
    """Up to where a member says that it has everything.

    Attributes:
        level: the highest that it said; before it has, where its window begins.
        since: when it said so first; null: it has not.
        newest_id: of the datagrams that came before it did.
    """

    level: int = 0
    since: Mark | None = None
    newest_id: int | None = None

    def long_before(self, part: Range, event: Event, elapsed: Elapsed) -> bool:
        """Did it say so of a part of ``event`` well before this was sent?"""
        return (
            self.since is not None
            and part[1] - 1 <= self.level
            and sent_later(event.fresh_id, self.newest_id) is True
            and in_order(elapsed, self.since, event.first_mark())
        )


@dataclass(slots=True)
class AckedCopies:
    """Of one stream, those that came in another datagram, well after its receiver's ACK.

    Attributes:
        note: the messages.
        count: the copies.
    """

    note: Note = field(default_factory=Note)
    count: int = 0

    def came(self, part: Range, mark: Mark, unseen: RangeSet) -> bool:
        """One of them. What the capture lacks the first copy of, ``unseen``, came in this one
        perhaps, twice: returns whether anything else is in it."""
        pieces = unseen.missing(*part)
        for piece in pieces:
            self.note.add(*piece, mark)
            self.count += piece[1] - piece[0]
        return bool(pieces)
